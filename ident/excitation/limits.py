"""Limits of motions, and what is proven of a motion at every instant: kinematics, clearances, torques and power."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from ident.arrays import Array, frozen
from ident.errors import ExcitationError
from ident.excitation.moves import Moves
from ident.excitation.torque_bound import torque_curvature
from ident.excitation.trajectory import Trajectory
from ident.geometry.distance import clearance_gradient_bound, clearance_pull_back, clearances
from ident.geometry.scene import Scene
from ident.model.model import Model, torque
from ident.model.standard import COULOMB
from ident.regression.base import BaseParameters
from ident.regression.compress import Columns, packed_columns, pull_back
from ident.robot.robot import IN_FILE, UNITS, Robot

ORDERS = ("position", "velocity", "acceleration", "jerk")
EXTREMES = "exact extremes"


@dataclass(frozen=True)
class Guarantee:
    """`what` never goes beyond `reached`, and has to stay within `limit`, both in `unit`; at_least: has to stay above.

    method: how it is known to hold between samples.
    """

    what: str
    reached: float
    limit: float
    unit: str
    method: str
    at_least: bool = False

    @property
    def holds(self) -> bool:
        """Whether what is reached keeps the limit."""
        return self.reached >= self.limit if self.at_least else self.reached <= self.limit

    def __str__(self) -> str:
        wanted = "at least" if self.at_least else "at most"
        return f"{self.what}: {self.reached:.6g} {self.unit}, wanted {wanted} {self.limit:.6g} {self.unit}"


_FIRST = 1000  # intervals to begin with
_HALVINGS = 12
_MOST = 200_000  # intervals that are looked at in one go


def greatest_bound(bound: Callable[[Array, Array], tuple[Array, Array]], duration: float, limit: Array) -> Array:
    """Return for each of m quantities a value (m,) that it does not exceed at any time from 0 to `duration`.

    bound(a, b): upper bounds (K, m) over the intervals [a_k, b_k], and what is reached (K, m) at one of their ends.
    Where a bound lies above limit (m,), and nothing reached does, the interval is halved, up to 12 times, so that the
    result is above the limit only if the limit is reached or nearly so.
    """
    edges = np.linspace(0.0, duration, _FIRST + 1)
    a, b = edges[:-1], edges[1:]
    greatest = np.full(len(limit), -np.inf)
    for halving in range(_HALVINGS + 1):
        found, reached = bound(a, b)
        open_ = np.asarray(((found > limit) & (reached <= limit)).any(axis=1))
        if halving == _HALVINGS or 2 * np.count_nonzero(open_) > _MOST:
            open_[:] = False
        if (~open_).any():
            greatest = np.maximum(greatest, found[~open_].max(axis=0))
        if not open_.any():
            break
        a, b = a[open_], b[open_]
        middle = (a + b) / 2
        a, b = np.concatenate([a, middle]), np.concatenate([middle, b])
    return greatest


@dataclass(frozen=True, eq=False)
class KinematicLimits:
    """lower <= q <= upper and |derivatives| <= rates, for every joint.

    lower, upper (n,) [rad; m]; rates (3, n): greatest velocity, acceleration and jerk; infinite where there is none.
    Raises ExcitationError naming the joint whose limits leave no room.
    """

    joints: tuple[str, ...]
    kinds: tuple[str, ...]
    lower: Array
    upper: Array
    rates: Array

    def __post_init__(self) -> None:
        for j, joint in enumerate(self.joints):
            if not self.lower[j] < self.upper[j]:
                room = f"{self.lower[j]:g} to {self.upper[j]:g}"
                fix = "Check the limits, and the margin that is taken from both"
                raise ExcitationError(f"the position limits of joint '{joint}' leave no room: {room}", fix=fix)
            for what, limit in zip(ORDERS[1:], self.rates[:, j], strict=True):
                if not limit > 0:
                    raise ExcitationError(f"the {what} limit of joint '{joint}' is {limit:g}, so it cannot move")

    @property
    def names(self) -> tuple[str, ...]:
        """What each margin belongs to, such as `velocity of joint 'joint3'`."""
        return tuple(f"{ORDERS[o]} of joint '{self.joints[j]}'" for o, j in self._finite)

    @property
    def _finite(self) -> list[tuple[int, int]]:
        """(order, joint) of the limits that there are."""
        bounded = np.vstack([np.isfinite(self.lower) | np.isfinite(self.upper), np.isfinite(self.rates)])
        return [(int(o), int(j)) for o, j in np.argwhere(bounded)]

    def margins(self, states: tuple[Array, ...]) -> Array:
        """Return (N, m): 1 in the middle of a range, 0 at its ends, negative beyond; states q .. jerk (N, n)."""
        return np.stack([self._margin(states[o][:, j], o, j)[0] for o, j in self._finite], axis=1)

    def pull_back(self, states: tuple[Array, ...], weights: Array) -> Array:
        """Return the derivative (4, N, n) of sum(weights * margins) with respect to the states."""
        found = np.zeros((4, *states[0].shape))
        for k, (o, j) in enumerate(self._finite):
            found[o][:, j] += weights[:, k] * self._margin(states[o][:, j], o, j)[1]
        return found

    def guarantees(self, trajectory: Trajectory) -> tuple[Guarantee, ...]:
        """Return what is proven: the exact extremes of each joint's position and derivatives over the whole motion."""
        found = []
        extremes = [trajectory.extremes(order) for order in range(4)]
        for (o, j), name in zip(self._finite, self.names, strict=True):
            least, most = (float(x[j]) for x in extremes[o])
            unit = UNITS[ORDERS[o]][self.kinds[j] == "prismatic"]
            if o > 0:
                found.append(Guarantee(name, max(-least, most), float(self.rates[o - 1, j]), unit, EXTREMES))
            if o == 0 and np.isfinite(self.lower[j]):
                found.append(Guarantee(f"least {name}", least, float(self.lower[j]), unit, EXTREMES, at_least=True))
            if o == 0 and np.isfinite(self.upper[j]):
                found.append(Guarantee(f"greatest {name}", most, float(self.upper[j]), unit, EXTREMES))
        return tuple(found)

    def _margin(self, x: Array, order: int, j: int) -> tuple[Array, Array]:
        """Return the margin of joint j's derivative x (N,) of that order, and its slope."""
        if order > 0:
            limit = self.rates[order - 1, j]
            return 1.0 - (x / limit) ** 2, -2.0 * x / limit**2
        low, high = self.lower[j], self.upper[j]
        if np.isinf(low):
            return high - x, -np.ones(len(x))
        if np.isinf(high):
            return x - low, np.ones(len(x))
        # the product of the two distances is positive between them, and negative outside on either side
        return (high - x) * (x - low) * 4.0 / (high - low) ** 2, (high + low - 2.0 * x) * 4.0 / (high - low) ** 2


def kinematic_limits(robot: Robot, *, position: float = 0.0, rates: float = 0.0) -> KinematicLimits:
    """Return a robot's own limits, less a margin; of hard and soft position limits the narrower.

    position: taken from both ends of each range [rad; m]. rates: share taken from velocity, acceleration and jerk.
    Raises ExcitationError when a joint has no limit of velocity and none of acceleration.
    """
    limits = [joint.limits for joint in robot.joints]
    for joint in robot.joints:
        if np.isinf(joint.limits.velocity) and np.isinf(joint.limits.acceleration):
            problem = f"joint '{joint.name}' of robot '{robot.name}' has neither a velocity nor an acceleration limit"
            raise ExcitationError(problem, fix=f"Give it one: {IN_FILE.format('velocity')}")
    if not 0 <= rates < 1:
        raise ExcitationError(f"the margin of the rates is a share between 0 and 1, got {rates:g}")
    if not position >= 0:
        raise ExcitationError(f"the margin of the positions must not be negative, got {position:g}")
    kinds = tuple(joint.kind for joint in robot.joints)
    each = np.array([[x.velocity, x.acceleration, x.jerk] for x in limits]).T
    lower, upper = np.array([x.allowed for x in limits]).T
    return KinematicLimits(robot.joint_names, kinds, lower + position, upper - position, each * (1.0 - rates))


def soft_told(robot: Robot) -> list[str]:
    """Return a note on the joints whose soft position limits are narrower than the hard ones, with those taken."""
    narrower = [j for j in robot.joints if j.limits.allowed != (j.limits.lower, j.limits.upper)]
    found = [f"'{j.name}' {j.limits.allowed[0]:.6g} to {j.limits.allowed[1]:.6g}" for j in narrower]
    said = "positions keep to the soft limits of <safety_controller> (rad; m), narrower than <limit>"
    return [f"{said}: {', '.join(found)}"] if found else []


CLEARANCE_RATE = "clearance at samples, and a bound on its rate between them"
_NEAR = 0.1  # m: beyond this a clearance hardly matters


@dataclass(frozen=True, eq=False)
class ClearanceLimits:
    """Each clearance of the scene is at least its margin."""

    scene: Scene
    robot: Robot

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the pairs that each column of `margins` is about."""
        return tuple(f"clearance of {name}" for name in self.scene.names(self.robot))

    @cached_property
    def wanted(self) -> Array:
        """Least clearance wanted of each pair (m,) [m]."""
        return self.scene.margins(self.robot)

    def _spare(self, states: tuple[Array, ...]) -> Array:
        return clearances(self.scene, self.robot, states[0]) - self.wanted

    def margins(self, states: tuple[Array, ...]) -> Array:
        """Return (N, m): 1 - exp(-spare / 0.1 m), about 1 far away, 0 at the margin, negative beyond."""
        return np.asarray(1.0 - np.exp(-self._spare(states) / _NEAR))

    def pull_back(self, states: tuple[Array, ...], weights: Array) -> Array:
        """Return the derivative (4, N, n) of sum(weights * margins) with respect to the states."""
        found = np.zeros((4, *states[0].shape))
        slopes = weights * np.exp(-self._spare(states) / _NEAR) / _NEAR
        found[0] = clearance_pull_back(self.scene, self.robot, states[0], slopes)
        return found

    def guarantees(self, trajectory: Trajectory) -> tuple[Guarantee, ...]:
        """Return what is proven of every pair at every instant."""
        ranges = np.stack(trajectory.extremes(0), axis=1)
        speeds = np.abs(trajectory.extremes(1)).max(axis=0)
        rate = clearance_gradient_bound(self.scene, self.robot, ranges) @ speeds

        def bound(a: Array, b: Array) -> tuple[Array, Array]:
            # two lines of the greatest slope down from the ends meet at the least that is possible between them
            before, after = (clearances(self.scene, self.robot, trajectory.derivative(t, 0)) for t in (a, b))
            return (b - a)[:, None] * rate / 2.0 - (before + after) / 2.0, -np.minimum(before, after)

        least = -greatest_bound(bound, trajectory.duration, -self.wanted)
        return tuple(
            Guarantee(name, float(reached), float(wanted), "m", CLEARANCE_RATE, at_least=True)
            for name, reached, wanted in zip(self.names, least, self.wanted, strict=True)
        )


TORQUE_CURVATURE = "torque at samples, and a bound on its second derivative between them"


@dataclass(frozen=True, eq=False)
class TorqueLimits:
    """|tau_j| <= effort_j and sum_j |tau_j qd_j| <= power, with tau = Y theta of `model`.

    theta (p,); effort (n,) [N m; N]; power [W]; infinite where there is no limit. Coulomb friction is taken at its full
    magnitude against the limit, whatever the direction: near standstill nobody knows its sign. So is beside (n,)
    [N m; N], what theta does not say of the torque. lacks: what is in neither, in words, "" for nothing.
    """

    model: Model
    theta: Array
    effort: Array
    power: float = np.inf
    beside: Array | None = None
    lacks: str = ""

    @cached_property
    def smooth(self) -> Array:
        """Theta (p,) without Coulomb friction."""
        jumps = np.array([name.endswith(f".{COULOMB.name}") for name in self.model.names])
        return np.where(jumps, 0.0, self.theta)

    @cached_property
    def coulomb(self) -> Array:
        """Greatest magnitude of each joint's Coulomb friction, with what stands beside (n,)."""
        found = np.zeros(self.model.robot.n) if self.beside is None else self.beside.copy()
        fast = np.full((2, self.model.robot.n), 1e6)  # every joint turns: each column is at its greatest
        travel = fast * [[0.0], [1.0]]
        sizes = np.abs(self.model.term_columns(travel, fast, 0.0 * fast)[:, 1])
        for (j, k), size in zip(self.model.term_entries, sizes, strict=True):
            if self.model.names[k].endswith(f".{COULOMB.name}"):
                found[j] += abs(self.theta[k]) * size
        return found

    @cached_property
    def columns(self) -> Columns:
        """All parameters' columns, for the way back from torques to states."""
        return packed_columns(self.model, BaseParameters.each(self.model.names))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the limits that each column of `margins` is about."""
        own = [f"torque of joint '{self.model.robot.joint_names[j]}'" for j in self._limited]
        own += ["total power"] if np.isfinite(self.power) else []
        return tuple(f"{name} (without {self.lacks})" if self.lacks else name for name in own)

    @property
    def _limited(self) -> list[int]:
        return [int(j) for j in np.flatnonzero(np.isfinite(self.effort))]

    def torques(self, states: tuple[Array, ...]) -> Array:
        """Return the torque without Coulomb friction, (N, n)."""
        return torque(self.model, self.smooth, *states[:3])

    def holding(self, q: Array) -> Array:
        """Return the torque (N, n) [N m; N] that each joint may need at rest in q (N, n), with friction against it."""
        still = np.zeros_like(q)
        return np.asarray(np.abs(self.torques((q, still, still))) + self.coulomb)

    def margins(self, states: tuple[Array, ...]) -> Array:
        """Return (N, m): 1 without torque, 0 at the limit less Coulomb friction, negative beyond."""
        tau, j = self.torques(states), self._limited
        found = 1.0 - (tau[:, j] / (self.effort - self.coulomb)[j]) ** 2
        if np.isinf(self.power):
            return np.asarray(found)
        power = ((np.abs(tau) + self.coulomb) * np.abs(states[1])).sum(axis=1)
        return np.column_stack([found, 1.0 - power / self.power])

    def pull_back(self, states: tuple[Array, ...], weights: Array) -> Array:
        """Return the derivative (4, N, n) of sum(weights * margins) with respect to the states."""
        q, qd, qdd = states[:3]
        tau, j = self.torques(states), self._limited
        force = np.zeros_like(tau)
        force[:, j] = -2.0 * weights[:, : len(j)] * tau[:, j] / (self.effort - self.coulomb)[j] ** 2
        found = np.zeros((4, *tau.shape))
        if np.isfinite(self.power):
            each = weights[:, -1:] / self.power
            force -= each * np.sign(tau) * np.abs(qd)
            found[1] -= each * (np.abs(tau) + self.coulomb) * np.sign(qd)
        packed = np.zeros((len(tau), self.columns.width))
        for k, (start, stop) in enumerate(self.columns.span):
            packed[:, start : stop - 1] = force[:, k : k + 1] * self.smooth[list(self.columns.parameters[k])]
        found[:3] += pull_back(self.columns, q, qd, qdd, packed)
        return found

    def guarantees(self, trajectory: Trajectory) -> tuple[Guarantee, ...]:
        """Return what is proven of the torques at every instant: samples, and the torque's curvature between them."""
        rates = np.array([np.abs(trajectory.basis.extremes(trajectory.coefficients, o)).max(axis=0) for o in range(5)])
        curvature = torque_curvature(self.model, self.smooth, rates)
        room = self.effort - self.coulomb
        limit = np.append(room, self.power)

        def bound(a: Array, b: Array) -> tuple[Array, Array]:
            ends = [trajectory.states(x) for x in (a, b)]
            span = (b - a)[:, None] ** 2 / 8.0  # a function lies within span * max|f''| of its chord
            before, after = (np.abs(self.torques(x)) for x in ends)
            tau = np.maximum(before, after) + span * curvature
            speed = np.maximum(*(np.abs(x[1]) for x in ends)) + span * rates[3]
            power = ((before + self.coulomb) * np.abs(ends[0][1])).sum(axis=1)
            most = np.column_stack([tau, ((tau + self.coulomb) * speed).sum(axis=1)])
            return most, np.column_stack([np.maximum(before, after), power])

        reached = greatest_bound(bound, trajectory.duration, limit)
        names, units = self.names, self.model.robot.units("torque")
        found = [
            Guarantee(names[k], float(reached[j] + self.coulomb[j]), float(self.effort[j]), units[j], TORQUE_CURVATURE)
            for k, j in enumerate(self._limited)
        ]
        if np.isfinite(self.power):
            found.append(Guarantee(names[-1], float(reached[-1]), self.power, "W", TORQUE_CURVATURE))
        return tuple(found)


def torque_limits(
    model: Model,
    theta: ArrayLike,
    *,
    margin: float = 0.0,
    power: float = np.inf,
    beside: Array | None = None,
    lacks: str = "",
) -> TorqueLimits:
    """Return the robot's effort limits, less a share, for the torques that theta (p,) asks for.

    power: greatest sum of the joints' powers [W]; beside, lacks: as of `TorqueLimits`. Raises ExcitationError when an
    effort limit is zero, when theta does not fit, or when gravity or Coulomb friction alone leaves nothing of a limit.
    """
    theta = frozen(theta, (len(model.names),), "theta", ExcitationError)
    if not 0 <= margin < 1:
        raise ExcitationError(f"the margin of the torques is a share between 0 and 1, got {margin:g}")
    if not power > 0:
        raise ExcitationError(f"the power limit is {power:g} W, wanted a positive number")
    for joint in model.robot.joints:
        if joint.limits.effort == 0:
            fix = "Correct it, or leave it out where it is unknown"
            raise ExcitationError(f"the torque limit of joint '{joint.name}' is zero", fix=fix)
    effort = np.array([joint.limits.effort for joint in model.robot.joints]) * (1.0 - margin)
    found = TorqueLimits(model, theta, effort, power * (1.0 - margin), beside, lacks)
    more = "" if beside is None or not beside.any() else " and what else has to be kept free"
    for name, friction, limit in zip(model.robot.joint_names, found.coulomb, effort, strict=True):
        if friction >= limit:
            problem = f"Coulomb friction{more} of joint '{name}', {friction:g}, takes all of its torque limit {limit:g}"
            raise ExcitationError(problem, fix="Check the friction values and the limit's unit")
    return found


def require_torque(limits: TorqueLimits, moves: Moves) -> float:
    """Return the greatest share of a torque limit that the motion is proven not to exceed, at most 1.

    The proof is that of `TorqueLimits.guarantees`, piece by piece, as the jerk may jump where two of them meet.
    Raises ExcitationError, naming place, time, joint and torque, where a limit may be exceeded.
    """
    begin, greatest = 0.0, 0.0
    joints = limits.model.robot.joint_names
    for piece in moves.pieces:
        motion = Trajectory(piece, np.stack([piece.start, piece.way], axis=1), joints)
        for found in limits.guarantees(motion):
            greatest = max(greatest, found.reached / found.limit)
            if not found.holds:
                where = f"{piece.name}, which begins {begin:.4g} s after the start"
                most = f"{found.reached:.4g} {found.unit}, wanted at most {found.limit:.4g} {found.unit}"
                fix = "Lower the acceleration or the velocity, or take other postures"
                raise ExcitationError(f"{where}, the {found.what} may reach {most}", fix=fix)
        begin += piece.duration
    return greatest


def require_clear(scene: Scene, robot: Robot, t: Array, q: Array) -> None:
    """Raise ExcitationError, naming pair and time, unless every clearance is proven to keep its margin.

    t (N,) [s], q (N, n): joints that move one way from sample to sample. A clearance falls by at most its gradient's
    bound times the way of each joint, so between two samples it is at least (c_k + c_k+1 - bound . |dq|) / 2.
    """
    found = clearances(scene, robot, q)
    bound = clearance_gradient_bound(scene, robot, np.stack([q.min(axis=0), q.max(axis=0)], axis=1))
    least = (found[:-1] + found[1:] - np.abs(np.diff(q, axis=0)) @ bound.T) / 2.0
    wanted = scene.margins(robot)
    short = wanted - least
    if short.size and short.max() > 0.0:
        k, m = np.unravel_index(int(np.argmax(short)), short.shape)
        may = f"the clearance of {scene.names(robot)[m]} may be {1e3 * least[k, m]:.3g} mm"
        problem = f"{t[k]:.4g} s after the start {may}, wanted {1e3 * wanted[m]:.3g} mm"
        fix = "Take other postures, a shorter range, or a higher rate where it is the proof that is short"
        raise ExcitationError(problem, fix=fix)
