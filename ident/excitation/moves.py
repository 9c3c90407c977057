"""Motions made of moves from rest to rest, straight stretches and pauses: sweeps for friction, postures for gravity."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.polynomial import Polynomial
from numpy.typing import ArrayLike, NDArray

from ident.arrays import Array, frozen
from ident.errors import ExcitationError, require_known
from ident.excitation.bases import count, positive
from ident.model.model import Model, regressor
from ident.robot.robot import IN_FILE, Joint, Robot

#: 10 s^3 - 15 s^4 + 6 s^5 goes from 0 to 1 for s in 0..1 with zero first and second derivatives at both ends.
STEP = Polynomial([0, 0, 0, 10, -15, 6])
#: Greatest magnitudes of its first three derivatives: at s = 1/2, at (3 -+ sqrt 3) / 6, and at the ends.
PEAKS = (15 / 8, 10 / np.sqrt(3), 60.0)
#: Without a limit of acceleration, a joint is to take this long [s] to its greatest velocity: gentle for an arm.
RAMP = 0.5


@dataclass(frozen=True, eq=False)
class Moves:
    """t (N,) [s]; q, qd, qdd (N, n) [rad, rad/s, rad/s^2; m ...]; masks (N,) of rest and of constant velocity.

    `resting`: all joints stand still; `constant`: one moves at constant velocity, the others stand still.
    `pieces`: what the motion is made of, one after the other, from time 0 on.
    """

    joints: tuple[str, ...]
    t: Array
    q: Array
    qd: Array
    qdd: Array
    resting: NDArray[np.bool_]
    constant: NDArray[np.bool_]
    pieces: tuple[Piece, ...]


@dataclass(frozen=True, eq=False)
class Piece:
    """q(u) = start + way s(u) for 0 <= u <= duration [s], with start, way (n,); `name` says where in a sentence.

    It is a `Basis` of the functions 1 and s(u).
    """

    start: Array
    way: Array
    s: Polynomial
    duration: float
    name: str

    periodic = False
    size = 2

    def values(self, t: Array, order: int) -> Array:
        """Return the derivatives of 1 and s, (N, 2)."""
        return np.stack([np.full(len(t), float(order == 0)), self._derivative(order)(t)], axis=1)

    def extremes(self, coefficients: Array, order: int) -> tuple[Array, Array]:
        """Return the least and greatest value (n,) of each joint's derivative; coefficients (n, 2)."""
        s = self._derivative(order)
        level = s(np.clip([0.0, self.duration, *s.deriv().roots().real], 0.0, self.duration))
        both = coefficients[:, :1] * (order == 0) + coefficients[:, 1:] * [level.min(), level.max()]
        return both.min(axis=1), both.max(axis=1)

    def _derivative(self, order: int) -> Polynomial:
        return self.s.deriv(order) if order else self.s


def pause_at(at: Array, duration: float, name: str) -> Piece:
    """Return `duration` [s] of rest."""
    return Piece(at, np.zeros_like(at), Polynomial([0.0]), duration, name)


def rest_to_rest(start: Array, end: Array, peaks: Sequence[tuple[float, float, float]], name: str) -> Piece:
    """Return the quickest q(u) = start + (end - start) STEP(u / T) with velocity, acceleration, jerk within `peaks`.

    peaks: three numbers per joint.
    """
    ways = np.abs(end - start)
    T = max(
        (PEAKS[r] * way / limit[r]) ** (1 / (r + 1))
        for way, limit in zip(ways.tolist(), peaks, strict=True)
        for r in range(3)
    )
    return Piece(start, end - start, STEP(Polynomial([0, 1 / T])), T, name) if T > 0 else pause_at(start, 0.0, name)


def peaks(joint: Joint, velocity: float | None = None, acceleration: float | None = None) -> tuple[float, float, float]:
    """Return the joint's limits of velocity, acceleration and jerk, lowered to the first two where given.

    Raises ExcitationError when velocity or acceleration is then zero or infinite.
    """
    limits = joint.limits
    found = (
        limits.velocity if velocity is None else min(limits.velocity, velocity),
        limits.acceleration if acceleration is None else min(limits.acceleration, acceleration),
    )
    for what, value in zip(("velocity", "acceleration"), found, strict=True):
        if not 0 < value < np.inf:
            problem = f"joint '{joint.name}' has a limit of {what} of {value:g}, wanted a positive finite one"
            raise ExcitationError(problem, fix=f"State it: {IN_FILE.format(what)}; or give one ({what}=, --{what})")
    if limits.jerk <= 0:
        raise ExcitationError(f"joint '{joint.name}' has a jerk limit of {limits.jerk:g}, wanted a positive one")
    return (*found, limits.jerk)


def with_accelerations(robot: Robot, velocity: float | None = None) -> tuple[Robot, dict[str, float]]:
    """Return the robot with limits of acceleration, and those that its file does not state, by joint [rad/s^2; m/s^2].

    They are the limit of velocity, `velocity` where that is lower, over RAMP; none where neither is finite.
    """
    found: dict[str, float] = {}
    for joint in robot.joints:
        fastest = min(joint.limits.velocity, math.inf if velocity is None else velocity)
        if math.isinf(joint.limits.acceleration) and 0 < fastest < math.inf:
            found[joint.name] = fastest / RAMP
    limited = (
        replace(joint, limits=replace(joint.limits, acceleration=found.get(joint.name, joint.limits.acceleration)))
        for joint in robot.joints
    )
    return replace(robot, joints=tuple(limited)), found


def position_range(robot: Robot, margin: float = 0.0) -> tuple[Array, Array]:
    """Return the lower and upper ends (n,) of each joint's range, `margin` [rad; m] inside its hard and soft limits.

    Raises ExcitationError, naming the joint, when it has no limits or the margin leaves nothing.
    """
    nonnegative(margin, "the margin")
    lower, upper = np.array([joint.limits.allowed for joint in robot.joints]).T
    for joint, low, high in zip(robot.joints, lower, upper, strict=True):
        where = f"joint '{joint.name}' goes from {low:g} to {high:g}"
        if not np.isfinite(high - low):
            fix = f"State them: {IN_FILE.format('lower')}"
            raise ExcitationError(f"{where}, wanted finite position limits", fix=fix)
        if low + margin >= high - margin:
            problem = f"{where}, which leaves no room at a margin of {margin:g}"
            raise ExcitationError(problem, fix="Lower the margin or widen the limits")
    return lower + margin, upper - margin


def require_inside(robot: Robot, q: Array, lower: Array, upper: Array) -> None:
    """Raise ExcitationError, naming joint and number, unless lower <= q <= upper; q (N, n)."""
    outside = np.argwhere((q < lower) | (q > upper))
    if len(outside):
        k, j = outside[0]
        which = f"posture {k + 1}" if len(q) > 1 else "the posture"
        where = f"joint '{robot.joint_names[j]}' of {which} is at {q[k, j]:g}"
        fix = "Choose postures within the limits and the margin"
        raise ExcitationError(f"{where}, outside {lower[j]:g} to {upper[j]:g}", fix=fix)


def nonnegative(value: float, name: str) -> float:
    """Return `value`; ExcitationError unless it is a finite number that is not negative."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not 0 <= value < np.inf:
        raise ExcitationError(f"{name} must be a finite number that is not negative, got {value!r:.40}")
    return float(value)


def sampled(robot: Robot, pieces: Sequence[Piece], rate: float) -> Moves:
    """Return the pieces one after the other, sampled at k / rate from 0 on.

    Where the end falls between two times, the later one holds the end. Raises ExcitationError for no duration and
    beyond 1e7 samples.
    """
    pieces = [piece for piece in pieces if piece.duration > 0]
    if not pieces:
        raise ExcitationError("a motion of no duration cannot be sampled", fix="Rest for a while")
    begin = np.concatenate([[0.0], np.cumsum([piece.duration for piece in pieces])])
    if begin[-1] * rate > 1e7:
        raise ExcitationError(f"{begin[-1]:g} s at {rate:g} Hz are more than 1e7 samples", fix="Lower the rate")
    t = np.arange(int(np.ceil(begin[-1] * rate * (1 - 1e-12))) + 1) / rate
    q, qd, qdd = (np.zeros((len(t), robot.n)) for _ in range(3))
    degree = np.zeros(len(t), dtype=np.intp)
    bounds = np.searchsorted(t, begin)
    bounds[-1] = len(t)
    for piece, start, first, stop in zip(pieces, begin[:-1], bounds[:-1], bounds[1:], strict=True):
        part = slice(int(first), int(stop))
        u = np.minimum(t[part] - start, piece.duration)
        q[part] = piece.start + np.outer(piece.s(u), piece.way)
        qd[part] = np.outer(piece.s.deriv()(u), piece.way)
        qdd[part] = np.outer(piece.s.deriv(2)(u), piece.way)
        degree[part] = piece.s.degree()  # of q in time: 0 at rest, 1 at constant velocity
    return Moves(robot.joint_names, t, q, qd, qdd, degree == 0, degree == 1, tuple(pieces))


def velocity_sweep(
    robot: Robot,
    speeds: Mapping[str, Sequence[float]],
    posture: ArrayLike,
    rate_hz: float,
    *,
    acceleration: float | None = None,
    margin: float = 0.0,
    pause: float = 0.2,
) -> Moves:
    """Return a motion that moves each joint of `speeds` through its range at each of its speeds, there and back.

    Joints move one at a time, in the robot's order, while the others hold `posture` (n,) [rad; m]; each begins and ends
    there, with `pause` seconds of rest between moves. A sweep starts and stops at the ends of the position range, as
    quickly as the limits of acceleration and jerk allow, with a velocity of fifth degree in time whose derivatives
    vanish where it meets rest and constant velocity. Sampled at k / rate_hz from rest to rest; joint j's rows at
    constant velocity are those with `constant` and qd[:, j] != 0.
    Nothing but those limits is checked: see `require_torque` and `require_clear`.

    speeds [rad/s; m/s]: joint -> magnitudes, in the order of the moves. acceleration [rad/s^2; m/s^2]: used where it is
    below the joint's limit. margin [rad; m]: distance kept from the position limits.
    Raises ExcitationError, naming the joint and the number, when a position or acceleration limit is missing, a speed
    is beyond the velocity limit or leaves no room for two samples at constant velocity, or the posture is outside.
    """
    rate = positive(rate_hz, "the sampling rate [Hz]")
    pause = nonnegative(pause, "the pause [s]")
    at = frozen(posture, (robot.n,), "the posture", ExcitationError)
    lower, upper = position_range(robot, margin)
    require_inside(robot, at[None], lower, upper)
    if not speeds:
        raise ExcitationError("no joint is to be swept", fix="Give a list of speeds for at least one joint")
    require_known(speeds, robot.joint_names, ExcitationError, f"robot {robot.name!r:.60} has no joint")

    pieces: list[Piece] = []
    for j, joint in enumerate(robot.joints):
        if joint.name not in speeds:
            continue
        wanted = frozen(list(speeds[joint.name]), (None,), f"the speeds of joint '{joint.name}'", ExcitationError)
        if not len(wanted):
            raise ExcitationError(f"there is no speed for joint '{joint.name}'")
        fastest = float(wanted.max())
        for speed in wanted.tolist():
            if not 0 < speed <= joint.limits.velocity:
                problem = f"joint '{joint.name}' is to move at {speed:g}, wanted a speed above 0 and up to its limit"
                raise ExcitationError(f"{problem} {joint.limits.velocity:g}")
        limits = peaks(joint, fastest, acceleration)
        low, high = at.copy(), at.copy()
        low[j], high[j] = lower[j], upper[j]
        others = [limits] * robot.n  # they do not move
        sweeps = f"the sweeps of joint '{joint.name}'"
        rest, to, back = f"at rest beside {sweeps}", f"on the way to {sweeps}", f"on the way back from {sweeps}"
        pieces += [pause_at(at, pause, rest), rest_to_rest(at, low, others, to)]
        for speed in wanted.tolist():
            for start, end in ((low, high), (high, low)):
                pieces += [pause_at(start, pause, rest), *_sweep(joint, start, end, speed, limits, rate)]
        pieces += [pause_at(low, pause, rest), rest_to_rest(low, at, others, back), pause_at(at, pause, rest)]
    return sampled(robot, pieces, rate)


def _sweep(
    joint: Joint, start: Array, end: Array, speed: float, limits: tuple[float, float, float], rate: float
) -> list[Piece]:
    """Return start, constant velocity and stop between two postures that differ in this joint only."""
    span = float(np.abs(end - start).max())
    T = max(PEAKS[0] * speed / limits[1], np.sqrt(PEAKS[1] * speed / limits[2]))  # of a start, which covers v T / 2
    straight = span - speed * T
    if straight < 2 * speed / rate:
        taken = f"starting and stopping take {speed * T:.3g} of its range of {span:.3g}"
        fix = "Lower the speed, or raise the acceleration or the sampling rate"
        raise ExcitationError(f"joint '{joint.name}' has no room to move at a constant {speed:g}: {taken}", fix=fix)
    way = (end - start) / span
    ramp = (speed * STEP(Polynomial([0, 1 / T]))).integ()
    name = f"in the sweep of joint '{joint.name}' at {speed:g} {'rad' if joint.kind == 'revolute' else 'm'}/s"
    return [
        Piece(start, way, ramp, T, name),
        Piece(start + way * speed * T / 2, way, Polynomial([0, speed]), straight / speed, name),
        Piece(end - way * speed * T / 2, way, Polynomial([0, speed]) - ramp, T, name),
    ]


_SCARCE = 1e-8  # information on what the postures so far have not shown, relative to what all candidates show


def static_postures(
    model: Model,
    number: int,
    *,
    noise: ArrayLike | None = None,
    margin: float = 0.0,
    candidates: int = 2000,
    seed: int = 0,
    allowed: Callable[[Array], NDArray[np.bool_]] | None = None,
) -> Array:
    """Return `number` postures (number, n) [rad; m] whose holding torques tell most about gravity's parameters.

    Among random candidates within the joint limits, the next posture is the one that raises log det(Y^T Y) of the
    regressor at qd = qdd = 0 most (greedy D-optimal design); what no candidate shows is left out first. They come in an
    order that keeps moves short, each move counted by the joint that needs the largest share of its range.
    `posture_tour` makes a motion of them. The moves between them are not checked for collisions.

    noise (n,): standard deviation of each joint's torque [N m; N], alike when None; margin [rad; m]: distance kept from
    each position limit; allowed(q (N, n)) -> (N,): which postures may be taken, such as those free of collision.
    Raises ExcitationError when a joint has no position limits, the margin leaves it no range, fewer than `number`
    candidates are allowed, or gravity acts on no joint.
    """
    robot = model.robot
    number = count(number, "the number of postures", 1, 1000)
    seed = count(seed, "the seed", 0, 2**63)
    candidates = count(candidates, "the number of candidates", number, 100_000)
    lower, upper = position_range(robot, margin)
    q = np.random.default_rng(seed).uniform(lower, upper, (candidates, robot.n))
    if allowed is not None:
        free = np.asarray(allowed(q), dtype=bool)
        if free.shape != (len(q),):
            raise ExcitationError(f"`allowed` must give one answer for each of {len(q)} postures, gave {free.shape}")
        q = q[free]
        if len(q) < number:
            problem = f"only {len(q)} of {candidates} random postures are allowed, wanted {number}"
            raise ExcitationError(problem, fix="Try more candidates, or see which obstacle is in the way")
    Y = regressor(model, q, np.zeros_like(q), np.zeros_like(q))
    if noise is not None:
        weights = frozen(noise, (robot.n,), "the torque noise", ExcitationError)
        if (weights <= 0).any():
            raise ExcitationError("the torque noise must be positive for each joint")
        Y = Y / weights[:, None]
    chosen = _greedy(_shown(Y), number)
    return _in_short_moves(q[chosen], upper - lower)


def posture_tour(
    robot: Robot,
    postures: ArrayLike,
    rate_hz: float,
    *,
    hold: float = 1.0,
    velocity: float | None = None,
    acceleration: float | None = None,
) -> Moves:
    """Return the motion that goes from posture to posture (m, n) [rad; m] and rests `hold` seconds at each.

    Each move is straight in joint space, a quintic in time, as quick as the limits of velocity, acceleration and jerk
    of all joints allow, lowered to `velocity`, `acceleration` where given. Sampled at k / rate_hz; the rows at rest are
    those with `resting`. Nothing but those limits is checked: see `require_torque` and `require_clear`.
    Raises ExcitationError when a posture is outside the position limits or a limit is zero or missing.
    """
    rate, hold = positive(rate_hz, "the sampling rate [Hz]"), nonnegative(hold, "the time at each posture [s]")
    stops = frozen(postures, (None, robot.n), "the postures", ExcitationError)
    if not len(stops):
        raise ExcitationError("there is no posture to go to")
    limits = [joint.limits for joint in robot.joints]
    require_inside(robot, stops, np.array([x.lower for x in limits]), np.array([x.upper for x in limits]))
    allowed = [peaks(joint, velocity, acceleration) for joint in robot.joints]
    pieces = [pause_at(stops[0], hold, "at posture 1")]
    for k, (start, end) in enumerate(itertools.pairwise(stops), 1):
        way = rest_to_rest(start, end, allowed, f"on the way from posture {k} to posture {k + 1}")
        pieces += [way, pause_at(end, hold, f"at posture {k + 1}")]
    return sampled(robot, pieces, rate)


def _shown(Y: Array) -> Array:
    """Return Y (N, n, p) in coordinates (N, n, r) of what it shows, in which all candidates together show unity."""
    rows = Y.reshape(-1, Y.shape[2])
    length = np.linalg.norm(rows, axis=0)
    told = length > 1e-9 * length.max()
    rows = rows[:, told] / length[told]
    if rows.size == 0:
        raise ExcitationError("gravity acts on no joint of this robot", fix="Check gravity's direction")
    values, vectors = np.linalg.eigh(rows.T @ rows)
    seen = values > 1e-12 * values[-1]
    return np.asarray(rows @ (vectors[:, seen] / np.sqrt(values[seen]))).reshape(*Y.shape[:2], -1)


def _greedy(A: Array, number: int) -> list[int]:
    """Return the rows that, one by one, raise log det(sum A_k^T A_k) most; A (N, n, r).

    det(M + A^T A) = det(M) det(1 + A M^-1 A^T), and M^-1 is kept up to date by Woodbury's identity.
    """
    inverse = np.eye(A.shape[2]) / _SCARCE
    chosen: list[int] = []
    for _ in range(number):
        gain = np.linalg.slogdet(np.eye(A.shape[1]) + A @ inverse @ A.transpose(0, 2, 1))[1]
        gain[chosen] = -np.inf
        best = int(np.argmax(gain))
        chosen.append(best)
        P = inverse @ A[best].T
        inverse = inverse - P @ np.linalg.solve(np.eye(A.shape[1]) + A[best] @ P, P.T)
        inverse = (inverse + inverse.T) / 2
    return chosen


def _in_short_moves(q: Array, span: Array) -> Array:
    """Return the postures in the order of a short path: nearest neighbour, then 2-opt until nothing improves."""
    far = np.abs((q[:, None] - q) / span).max(axis=2)
    path = [int(np.argmin(far.max(axis=1)))]
    left = set(range(len(q))) - set(path)
    while left:
        path.append(min(left, key=lambda k: (far[path[-1], k], k)))
        left.remove(path[-1])
    better = True
    while better:
        better = False
        for i in range(len(path) - 1):
            for j in range(i + 1, len(path)):
                # turning path[i + 1 .. j] round replaces two of its moves
                gain = far[path[i], path[i + 1]] - far[path[i], path[j]]
                if j + 1 < len(path):
                    gain += far[path[j], path[j + 1]] - far[path[i + 1], path[j + 1]]
                if gain > 1e-12:
                    path[i + 1 : j + 1] = path[i + 1 : j + 1][::-1]
                    better = True
    return np.ascontiguousarray(q[path])
