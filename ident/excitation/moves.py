"""Motions made of moves from rest to rest, straight stretches and pauses, within the joints' limits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.polynomial import Polynomial
from numpy.typing import NDArray

from ident.arrays import Array
from ident.errors import ExcitationError
from ident.robot.robot import Joint, Robot

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
    """q(u) = start + way s(u) for 0 <= u <= duration [s], with start, way (n,); `name` says where in a sentence."""

    start: Array
    way: Array
    s: Polynomial
    duration: float
    name: str

    @property
    def degree(self) -> int:
        """Of q in time: 0 at rest, 1 at constant velocity."""
        return int(self.s.degree())


def pause(at: Array, duration: float, name: str) -> Piece:
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
    return Piece(start, end - start, STEP(Polynomial([0, 1 / T])), T, name) if T > 0 else pause(start, 0.0, name)


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
            raise ExcitationError(problem, fix=f"State it in the robot's file, or give one ({what}=, --{what})")
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
    """Return the lower and upper ends (n,) of each joint's range, `margin` [rad; m] inside its limits.

    Raises ExcitationError, naming the joint, when it has no limits or the margin leaves nothing.
    """
    nonnegative(margin, "the margin")
    lower = np.array([joint.limits.lower for joint in robot.joints])
    upper = np.array([joint.limits.upper for joint in robot.joints])
    for joint, low, high in zip(robot.joints, lower, upper, strict=True):
        where = f"joint '{joint.name}' goes from {low:g} to {high:g}"
        if not np.isfinite(high - low):
            raise ExcitationError(f"{where}, wanted finite position limits", fix="State them in the robot's file")
        if low + margin >= high - margin:
            problem = f"{where}, which leaves no room at a margin of {margin:g}"
            raise ExcitationError(problem, fix="Lower the margin or widen the limits")
    return lower + margin, upper - margin


def require_inside(robot: Robot, q: Array, lower: Array, upper: Array) -> None:
    """Raise ExcitationError, naming joint and number, unless lower <= q <= upper; q (N, n)."""
    outside = np.argwhere((q < lower) | (q > upper))
    if len(outside):
        k, j = outside[0]
        which = f" of posture {k + 1}" if len(q) > 1 else " of the posture"
        raise ExcitationError(
            f"joint '{robot.joint_names[j]}'{which} is at {q[k, j]:g}, outside {lower[j]:g} to {upper[j]:g}",
            fix="Choose postures within the limits and the margin",
        )


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
        degree[part] = piece.degree
    return Moves(robot.joint_names, t, q, qd, qdd, degree == 0, degree == 1, tuple(pieces))
