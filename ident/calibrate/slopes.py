"""How torques change with the unknowns of a calibration: one column each, beside those of the parameters.

At the current unknowns u and parameters theta the measured torque is, to first order,

    tau_j = g_j (Y_j(u) theta_new + sum_k d(Y_j(u) theta)/du_k du_k),

and divided by the gain g_j it is linear in theta_new and du. So an unknown is a joint term whose column is its slope.
Slopes are central differences of inverse dynamics; gravity, zeros and lengths change the bodies' torques alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ident.arrays import Array
from ident.dynamics.rigid_body import inverse_dynamics
from ident.logs.motion import Motion
from ident.model.model import Model, torque
from ident.model.standard import Coulomb
from ident.model.term import NO_SIGNALS, Kind
from ident.regression.base import BaseParameters, base_parameters
from ident.robot.robot import Robot
from ident.robot.unknown import Unknown, by_kind, corrected_robot

_INVERSIONS = 20  # a third of the torque lost is right to 1e-4 then, a tenth to 1e-13
#: Rows of a joint count that are so many standard deviations of its delay, and a sample, away from where it turns.
REACH = 3.0
#: Share of its rows that has to be left.
CLEAR = 0.5
_STEP = 1e-5  # rad, m: truncation 1e-10, rounding 1e-11 of the torque


def corrected_model(model: Model, unknowns: Sequence[Unknown], values: ArrayLike) -> Model:
    """Return the model with the robot as the values (k,) of the unknowns have it."""
    return replace(model, robot=corrected_robot(model.robot, unknowns, values))


def corrected_motion(robot: Robot, motion: Motion, unknowns: Sequence[Unknown], values: ArrayLike) -> Motion:
    """Return the motion with gains and saturation taken out of its torques, delays out of its positions, by splines."""
    gain, lost, late = by_kind(robot, unknowns, values)
    if (gain != 1.0).any() or lost.any():
        drives = drive_matrix(robot)
        read = motion.tau @ np.linalg.inv(drives) / gain
        tau = (read * (1.0 - lost * read**2)) @ drives
        motion = replace(motion, tau=tau, noise=np.asarray(motion.noise) / gain)
    return _later(motion, late) if late.any() else motion


def near_jumps(model: Model, motion: Motion, late: Unknown) -> NDArray[np.bool_]:
    """Return which rows of a joint that may be read late are near where it turns round, starts or stops, or the ends.

    There Coulomb friction jumps, with the delay a row sooner or later: the sum of squares has a step where the slope
    has none, and in these milliseconds friction is no law of the speed anyhow. Beyond the ends nothing was read.
    """
    thin, step = prod(motion.decimation), float(np.median(np.diff(motion.t)))
    zones = {term.dead_zone for term in model.terms if isinstance(term, Coulomb)}
    speed, change, within = motion.qd[:, late.joint], motion.qdd[:, late.joint], REACH * late.spread + step
    jumps = np.isin(np.arange(len(speed)), (0, len(speed) - 1))
    for level in {0.0, *zones, *(-zone for zone in zones)}:
        jumps |= np.abs(speed - level) < within * np.abs(change)
        jumps[:-1] |= np.diff(np.sign(speed - level)) != 0.0
    reach = int(np.ceil(within / step)) + (thin if thin > 1 else 0)
    near = np.convolve(jumps, np.ones(2 * reach + 1), mode="same")[: len(jumps)] > 0.5
    return np.asarray(near[::thin])


def without_jumps(
    model: Model, motions: Sequence[Motion], unknowns: Sequence[Unknown]
) -> tuple[tuple[Motion, ...], NDArray[np.bool_]]:
    """Return the motions without rows near jumps of joints that may be read late, and whose delay they hide (k,).

    A joint most of whose rows are near jumps keeps them.
    """
    keep, hidden = [motion.keep.copy() for motion in motions], np.zeros(len(unknowns), dtype=bool)
    for k, late in enumerate(unknowns):
        if late.kind == "skew":
            far = [own[:, late.joint] & ~near_jumps(model, m, late) for own, m in zip(keep, motions, strict=True)]
            hidden[k] = sum(x.sum() for x in far) < CLEAR * sum(own[:, late.joint].sum() for own in keep)
            for own, x in zip(keep, far, strict=True):
                own[:, late.joint] = own[:, late.joint] if hidden[k] else x
    return tuple(replace(m, keep=own) for m, own in zip(motions, keep, strict=True)), hidden


def as_read(true: Array, lost: Array) -> Array:
    """Return the torque x of which the true one is x (1 - lost x^2), as far as that grows with x."""
    x = true.copy()
    for _ in range(_INVERSIONS):
        x = true / (1.0 - np.clip(lost * x * x, -1.0, 1.0 / 3.0))
    return x


def drive_matrix(robot: Robot) -> Array:
    """Return M (n, n) with tau_joint = tau_drive @ M: a gain is a drive's, and a coupled motor moves several joints.

    Rows are divided by their own joint's ratio, so that a drive that moves one joint has that joint's torque.
    """
    if robot.transmission is None or not np.diag(robot.transmission.matrix).all():
        return np.eye(robot.n)
    matrix = robot.transmission.matrix
    return np.asarray(matrix / np.diag(matrix)[:, None])


def _later(motion: Motion, late: Array) -> Motion:
    """Return the motion at later times, by cubic splines: straight lines would smooth what lies between samples.

    A joint rests nearer to a sample without speed than to one with it, and moves no other way than in the sample before
    or after: splines swing beyond a stop, and friction with them.
    """
    from scipy.interpolate import CubicSpline

    t, found = motion.t, [x.copy() for x in (motion.q, motion.qd, motion.qdd)]
    for j in np.flatnonzero(late):
        ahead, speed = np.clip(t + late[j], t[0], t[-1]), motion.qd[:, j]
        q, qd, qdd = (CubicSpline(t, x[:, j])(ahead) for x in found)
        k = np.clip(np.searchsorted(t, ahead, side="right") - 1, 0, len(t) - 2)
        swings = (qd * speed[k] <= 0.0) & (qd * speed[k + 1] <= 0.0)
        moves = np.interp(ahead, t, speed != 0.0) > 0.5
        found[0][:, j] = q
        found[1][:, j] = np.where(moves, np.where(swings, np.interp(ahead, t, speed), qd), 0.0)
        found[2][:, j] = np.where(moves, qdd, 0.0)
    return replace(motion, q=found[0], qd=found[1], qdd=found[2])


#: Unknowns that change the torque of one drive.
_OF_DRIVES = ("gain", "saturation")


@dataclass(frozen=True, eq=False)
class At:
    """Where slopes are taken: the model as described, the unknowns and their values (k,), the parameters theta (p,).

    step [s]: time between two samples of the motions.
    """

    model: Model
    unknowns: tuple[Unknown, ...]
    values: Array
    theta: Array
    step: float

    @property
    def inertials(self) -> Array:
        """The links' part of theta (n, 10)."""
        return self.theta[: self.model.n_rigid].reshape(-1, 10)

    @property
    def gains(self) -> Array:
        """The gain of each joint's torque (n,), 1 where it is not unknown."""
        return by_kind(self.model.robot, self.unknowns, self.values)[0]

    def robot(self, k: int, by: float) -> Robot:
        """Return the corrected robot with unknown k moved `by` so much more."""
        moved = self.values.copy()
        moved[k] += by
        return corrected_robot(self.model.robot, self.unknowns, moved)


@dataclass(frozen=True)
class Slope:
    """The slope of all torques by one unknown, as a joint term whose parameter is how far the unknown is from `at`."""

    unknown: Unknown
    place: int
    at: At = field(repr=False, compare=False)

    joints = None
    nonnegative = False

    @property
    def kind(self) -> Kind:
        """What it is called: the last part of the unknown's name."""
        name = self.unknown.name.rpartition(".")[2]
        return Kind(name, f"a {self.unknown.kind}", "d tau / d unknown", (self.unknown.unit, self.unknown.unit))

    def along(self, robot: Robot) -> tuple[tuple[str, ...], Array]:
        """Return its owner and the joints whose torque it changes."""
        touched = np.ones((1, robot.n))
        if self.unknown.kind in _OF_DRIVES:
            touched = (drive_matrix(robot)[[self.unknown.joint]] != 0).astype(np.float64)
        return (self.unknown.name.rpartition(".")[0],), touched

    def column(self, q: Array, qd: Array, qdd: Array) -> Array:
        """Return nothing that could be used: see `torques`."""
        raise NotImplementedError

    def torques(self, q: Array, qd: Array, qdd: Array, signals: Mapping[str, Array] = NO_SIGNALS) -> Array:
        """Return the slope (n_entries, N) at a corrected motion q, qd, qdd (N, n)."""
        at, u = self.at, self.unknown
        if u.kind in _OF_DRIVES:
            predicted = torque(corrected_model(at.model, at.unknowns, at.values), at.theta, q, qd, qdd, signals=signals)
            robot, (gain, lost, _) = at.model.robot, by_kind(at.model.robot, at.unknowns, at.values)
            drives = drive_matrix(robot)
            read = as_read((predicted @ np.linalg.inv(drives))[:, u.joint], lost[u.joint])
            more = read**3 if u.kind == "saturation" else (read - 3.0 * lost[u.joint] * read**3) / gain[u.joint]
            return np.asarray(np.outer(drives[u.joint][np.flatnonzero(drives[u.joint])], more))
        if u.kind == "skew":
            return self._by_time(q, qd, qdd, signals)
        ahead, behind = (inverse_dynamics(at.robot(self.place, by), at.inertials, q, qd, qdd) for by in (_STEP, -_STEP))
        return np.asarray((ahead - behind).T / (2.0 * _STEP))

    def _by_time(self, q: Array, qd: Array, qdd: Array, signals: Mapping[str, Array]) -> Array:
        """Return the slope by the delay of one joint."""
        model, j = corrected_model(self.at.model, self.at.unknowns, self.at.values), self.unknown.joint

        def shifted(by: int) -> Array:
            rows = np.clip(np.arange(len(q)) + by, 0, len(q) - 1)
            moved = [x.copy() for x in (q, qd, qdd)]
            for x in moved:
                x[:, j] = x[rows, j]
            return torque(model, self.at.theta, *moved, signals=signals)

        return np.asarray((shifted(1) - shifted(-1)).T / (2.0 * self.at.step))


def with_slopes(at: At) -> tuple[Model, BaseParameters, BaseParameters]:
    """Return the corrected model with its slopes as terms, its base parameters with them, and those without."""
    model = corrected_model(at.model, at.unknowns, at.values)
    terms: tuple[Any, ...] = tuple(Slope(u, k, at) for k, u in enumerate(at.unknowns))
    wider, base = replace(model, terms=(*model.terms, *terms)), base_parameters(model)
    return wider, base.widened(wider.names), base
