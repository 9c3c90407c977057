"""How a robot file and a log are read: what joints, torques and time are if some of it is mistaken.

    q = positions q_log + zeros,   tau = exp(-fading x) y (1 - bent (y / largest y)^2),   y = torques tau_log,
    friction exp(warming x) times that of the model,   t = clock t_log,   torques are logged `late` after positions, and
    by `parting` more with each second

x from -1/2 at the beginning of a recording to 1/2 at its end,

with another robot (gravity, lengths, axes) where that is mistaken.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from math import prod

import numpy as np
from numpy.typing import NDArray

from ident.arrays import Array
from ident.logs.filter import decimate
from ident.logs.motion import Motion
from ident.model.term import RECORDED, Term
from ident.robot.robot import Robot

#: Rows that are looked at, of all recordings together: at first, and closely.
ROUGH, ROWS = 2000, 4000
#: Samples of which they are thinned, at most.
SAMPLES = 20_000
#: Stretches that are left out in turn.
STRETCHES = 10
#: The largest torque is that of this share of samples: above it there are spikes.
_LARGEST = 0.995
#: No torque that is logged changes more than the inverse of this times as much as the torque itself.
_STEEPEST = 0.05
#: Of a thinned row: the share of samples of a stretch that it may hold without belonging to it.
_PARTLY = 0.05


@dataclass(frozen=True, eq=False)
class Rows:
    """Samples of some recordings, one after the other: t (M,) [s]; q, qd, qdd, tau (M, n); each recording's first one.

    thinning: by which factors columns and torques of each recording are thinned, and every how many rows are looked at.
    keep (N, n): which of the rows that are left count; stretches: where STRETCHES parts of them begin and end.
    signals: what joint terms may need besides, which all the recordings have.
    """

    t: Array
    q: Array
    qd: Array
    qdd: Array
    tau: Array
    starts: tuple[int, ...]
    thinning: tuple[tuple[tuple[int, ...], int], ...]
    keep: NDArray[np.bool_]
    stretches: tuple[tuple[int, int], ...]
    signals: dict[str, Array]

    @property
    def parts(self) -> list[slice]:
        """Samples of each recording."""
        return [slice(a, b) for a, b in zip(self.starts, (*self.starts[1:], len(self.t)), strict=True)]

    @property
    def passed(self) -> Array:
        """How much of its recording has passed at each sample (M,), from -1/2 to 1/2."""
        found = np.empty(len(self.t))
        for part in self.parts:
            t = self.t[part] - self.t[part][0]
            found[part] = t / max(float(t[-1]), 1e-9) - 0.5
        return found

    @cached_property
    def integrals(self) -> Array:
        """Positions integrated over each recording (M, n) [rad s; m s], zero on average."""
        found = np.zeros_like(self.q)
        for part in self.parts:
            steps = np.diff(self.t[part])[:, None] * (self.q[part][1:] + self.q[part][:-1]) / 2.0
            found[part][1:] = np.cumsum(steps, axis=0)
            found[part] -= found[part].mean(axis=0)
        return found

    def within(self, stretches: Sequence[tuple[int, float, float]]) -> NDArray[np.bool_]:
        """Return which of the rows that are left (N,) lie in one of some stretches: recording, begin and end [s]."""
        own = np.zeros((len(self.t), 1))
        for k, begin, end in stretches:
            part = self.parts[k]
            own[part, 0] = np.maximum(own[part, 0], (self.t[part] >= begin) & (self.t[part] <= end))
        return np.asarray(np.abs(self.left(own)[:, 0]) > _PARTLY)

    def left(self, x: Array) -> Array:
        """Return the rows (N, k) that are left of columns x (M, k)."""
        if all(how == ((), 1) for how in self.thinning):
            return x
        return np.concatenate([_left(x[part], *how) for part, how in zip(self.parts, self.thinning, strict=True)])


def _left(x: Array, factors: tuple[int, ...], every: int) -> Array:
    return (decimate(x, factors) if factors else x)[::every]


def rows_of(motions: Sequence[Motion], *, thinned: bool) -> Rows:
    """Return rows of some motions: thinned as a fit thins them, or samples here and there, which costs far less."""
    found: list[tuple[Array, ...]] = []
    keeps, thinning, signals = list[Array](), list[tuple[tuple[int, ...], int]](), list[dict[str, Array]]()
    for motion in motions:
        count = min(len(motion.t), max(SAMPLES // len(motions), 1))
        step = prod(motion.decimation)
        if thinned:
            keep, sampled = motion.keep[: -(-count // step)], slice(0, count)
        else:
            every = max(1, -(-count * len(motions) // ROUGH))
            keep, sampled = np.repeat(motion.keep, step, axis=0)[:count:every], slice(0, count, every)
        factors, most = motion.decimation if thinned else (), 1
        if thinned:
            most = max(1, -(-len(keep) * len(motions) // ROWS))
            keep = keep[::most]
        found.append(tuple(x[sampled] for x in (motion.t, motion.q, motion.qd, motion.qdd, motion.tau)))
        signals.append(motion.signals(sampled))
        keeps.append(keep)
        thinning.append((factors, most))
    t, q, qd, qdd, tau = (np.concatenate(x) for x in zip(*found, strict=True))
    starts = tuple(np.cumsum([0, *(len(x[0]) for x in found[:-1])]).tolist())
    keep = np.concatenate(keeps).astype(bool)
    ends = np.linspace(0, len(keep), STRETCHES + 1).astype(int).tolist()
    common = [name for name in RECORDED if all(name in own for own in signals)]
    beside = {name: np.concatenate([own[name] for own in signals]) for name in common}
    return Rows(t, q, qd, qdd, tau, starts, tuple(thinning), keep, tuple(pairwise(ends)), beside)


@dataclass(frozen=True, eq=False)
class Reading:
    """A robot and how a log of it is read: positions, torques (n, n), zeros (n,) [rad; m], clock, late [s].

    fading, warming (n,): by which exponent torques as they are logged, and friction, are larger at a recording's end.
    drifting (n,): by which share of its usual torque each torque's zero is larger there. bent (n,): by which share the
    largest torque is smaller than it is logged, as where a torque constant falls with the current; smaller ones less.
    parting: by how many seconds torques come later with each second of a recording, as by another clock.
    rubbing: by which exponents (n,) friction is larger in some recording alone, with its index.
    weightless (n,): whether a joint's torque is logged without that of gravity. loads: what the last link carries in
    some stretches alone: these, as of `ignored`, and the body (10,). blurred [s]: time constant of a filter that
    torques alone went through. speeds (n,): whether a joint's position is its velocity. ignored: stretches that do not
    count, each with the index of its recording, begin and end [s]. terms: joint terms beside those of the model.
    """

    robot: Robot
    positions: Array
    zeros: Array
    torques: Array
    clock: float
    late: float
    weightless: NDArray[np.bool_]
    fading: Array
    warming: Array
    drifting: Array
    bent: Array
    speeds: NDArray[np.bool_]
    parting: float = 0.0
    loads: tuple[tuple[tuple[tuple[int, float, float], ...], Array], ...] = ()
    apart: tuple[tuple[int, Array, Array], ...] = ()
    turned: tuple[tuple[int, int], ...] = ()
    rubbing: tuple[tuple[int, Array], ...] = ()
    blurred: float = 0.0
    ignored: tuple[tuple[int, float, float], ...] = ()
    terms: tuple[Term, ...] = ()

    @staticmethod
    def plain(robot: Robot) -> Reading:
        """Return how robot and log stand in their files."""
        n = robot.n
        none, no = np.zeros(n), np.zeros(n, dtype=bool)
        return Reading(robot, np.eye(n), none, np.eye(n), 1.0, 0.0, no, none, none, none, none, no)

    @property
    def moved(self) -> tuple[object, ...]:
        """What tells it from readings whose states differ."""
        zeros = tuple((k, more.tobytes()) for k, more, _ in self.apart)
        arrays = (self.positions, self.zeros, self.speeds)
        return *(x.tobytes() for x in arrays), zeros, self.clock, self.late, self.parting

    def of(self, rows: Rows) -> Rows:
        """Return the samples as they are if this reading is right."""
        q, qd, qdd = rows.q, rows.qd, rows.qdd
        if self.speeds.any():
            q, qd, qdd = np.where(self.speeds, [rows.integrals, q, qd], [q, qd, qdd])
        if self.late or self.parting:  # states are smooth, torques jump: the states of before
            q, qd, qdd = (_earlier(x, rows, self.late, self.parting) for x in (q, qd, qdd))
        tau, P = rows.tau @ self.torques.T, self.positions.T
        if self.bent.any():
            tau = tau * (1.0 - self.bent * _of_largest(tau) ** 2)
        if self.drifting.any():
            tau = tau - rows.passed[:, None] * self.drifting * np.sqrt(np.mean(tau**2, axis=0))
        if self.fading.any():
            tau = tau * np.exp(-rows.passed[:, None] * self.fading)
        q = q @ P + self.zeros
        for k, zeros, exponents in self.apart:
            q[rows.parts[k]] += zeros
            tau[rows.parts[k]] *= np.exp(exponents)
        for k, j in self.turned:
            tau[rows.parts[k], j] *= -1.0
        return replace(rows, t=self.clock * rows.t, q=q, qd=qd @ P / self.clock, qdd=qdd @ P / self.clock**2, tau=tau)

    def steeper(self, rows: Rows) -> Array:
        """Return by which exponent a change of each torque (N, n) is larger than in the log, of rows that are left."""
        found = np.zeros((len(rows.keep), self.robot.n))
        for k, _, exponents in self.apart:
            found += rows.within([(k, -np.inf, np.inf)])[:, None] * exponents
        if self.bent.any():
            slope = 1.0 - 3.0 * self.bent * rows.left(_of_largest(rows.tau @ self.torques.T)) ** 2
            found += np.log(np.maximum(slope, _STEEPEST))
        return found

    def motion(self, motion: Motion) -> Motion:
        """Return a motion as it is if this reading is right, but for what is not in its samples."""
        none = Rows(motion.t, motion.q, motion.qd, motion.qdd, motion.tau, (0,), (((), 1),), motion.keep, (), {})
        read = self.of(none)
        return replace(motion, t=read.t, q=read.q, qd=read.qd, qdd=read.qdd, tau=read.tau)


def _of_largest(tau: Array) -> Array:
    """Return torques (M, n) as shares of the largest of each joint, those of nearly all samples."""
    most = np.quantile(np.abs(tau), _LARGEST, axis=0)
    return np.asarray(np.clip(tau / np.maximum(most, 1e-300), -1.0, 1.0))


def _earlier(x: Array, rows: Rows, late: float, parting: float) -> Array:
    """Return states (M, n) as they were `late` [s] before, and `parting` more with each second of their recording.

    By cubic splines: straight lines between samples would take noise away from accelerations, at any delay.
    """
    from scipy.interpolate import make_interp_spline

    found = np.empty_like(x)
    for part in rows.parts:
        t = rows.t[part]
        before = np.clip(t - late - parting * (t - t[0]), t[0], t[-1])
        found[part] = make_interp_spline(t, x[part])(before) if len(t) > 3 else x[part]
    return found
