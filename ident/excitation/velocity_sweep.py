"""Sweeps of one joint after the other at constant velocity, for friction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.polynomial import Polynomial
from numpy.typing import ArrayLike

from ident.arrays import Array, frozen
from ident.errors import ExcitationError, nearest
from ident.excitation import moves
from ident.excitation.basis import positive
from ident.excitation.moves import PEAKS, STEP, Moves, Piece
from ident.robot.robot import Joint, Robot


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
    pause = moves.nonnegative(pause, "the pause [s]")
    at = frozen(posture, (robot.n,), "the posture", ExcitationError)
    lower, upper = moves.position_range(robot, margin)
    moves.require_inside(robot, at[None], lower, upper)
    if not speeds:
        raise ExcitationError("no joint is to be swept", fix="Give a list of speeds for at least one joint")
    for name in speeds:
        if name not in robot.joint_names:
            raise ExcitationError(f"robot {robot.name!r:.60} has no joint '{name}'{nearest(name, robot.joint_names)}")

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
        limits = moves.peaks(joint, fastest, acceleration)
        low, high = at.copy(), at.copy()
        low[j], high[j] = lower[j], upper[j]
        others = [limits] * robot.n  # they do not move
        rest, to, back = (
            f"{how} joint '{joint.name}'"
            for how in (
                "at rest beside the sweeps of",
                "on the way to the sweeps of",
                "on the way back from the sweeps of",
            )
        )
        pieces += [moves.pause(at, pause, rest), moves.rest_to_rest(at, low, others, to)]
        for speed in wanted.tolist():
            for start, end in ((low, high), (high, low)):
                pieces += [moves.pause(start, pause, rest), *_sweep(joint, start, end, speed, limits, rate)]
        pieces += [
            moves.pause(low, pause, rest),
            moves.rest_to_rest(low, at, others, back),
            moves.pause(at, pause, rest),
        ]
    return moves.sampled(robot, pieces, rate)


def _sweep(
    joint: Joint, start: Array, end: Array, speed: float, limits: tuple[float, float, float], rate: float
) -> list[Piece]:
    """Return start, constant velocity and stop between two postures that differ in this joint only."""
    span = float(np.abs(end - start).max())
    T = max(PEAKS[0] * speed / limits[1], np.sqrt(PEAKS[1] * speed / limits[2]))  # of a start, which covers v T / 2
    straight = span - speed * T
    if straight < 2 * speed / rate:
        raise ExcitationError(
            f"joint '{joint.name}' has no room to move at a constant {speed:g}: starting and stopping take "
            f"{speed * T:.3g} of its range of {span:.3g}",
            fix="Lower the speed, or raise the acceleration or the sampling rate",
        )
    way = (end - start) / span
    ramp = (speed * STEP(Polynomial([0, 1 / T]))).integ()
    name = f"in the sweep of joint '{joint.name}' at {speed:g} {'rad' if joint.kind == 'revolute' else 'm'}/s"
    return [
        Piece(start, way, ramp, T, name),
        Piece(start + way * speed * T / 2, way, Polynomial([0, speed]), straight / speed, name),
        Piece(end - way * speed * T / 2, way, Polynomial([0, speed]) - ramp, T, name),
    ]
