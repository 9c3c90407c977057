"""What torques in N m say of gravity and of time, where bodies are known: is the robot mounted as its file says?"""

from __future__ import annotations

from math import log10

import numpy as np

from ident.arrays import Array
from ident.compare.columns import gravity_of, pace_of
from ident.robot import Robot

#: Gravity [m/s^2] that torques ask for is believed where it is about as large as it is, turned from the robot's own by
#: more than that cosine, and leaves so little of the torques' squares, and of those that are left with the robot's own.
GRAVITY, TURNED, LEFT = (7.7, 12.5), 0.94, (0.2, 0.2)
#: Accelerations are believed to be so near to a power of a hundred times the log's, where less than this share is left.
PACE, LESS = 2.5, 0.8


def of_gravity_and_time(robot: Robot, bodies: Array, t: Array, q: Array, tau: Array) -> tuple[Robot, str]:
    """Return the robot with the gravity that torques tau (N, n) [N m; N] ask for, and what to say where that is another
    one than its own, or where time runs otherwise; bodies (n, 10), positions q (N, n) [rad; m] at t (N,) [s].
    """
    found, before, after = gravity_of(robot, bodies, t, q, tau)
    own, size = robot.gravity, float(np.linalg.norm(found))
    turned = found @ own < TURNED * size * np.linalg.norm(own)
    if not turned or not GRAVITY[0] < size < GRAVITY[1] or after > min(LEFT[0], LEFT[1] * before):
        return robot, _of_time(robot, bodies, t, q, tau)
    said = ", ".join(f"{x:.3g}" for x in found)
    note = f"in N m they ask for gravity along ({said}) m/s^2 of the base, which the robot file has along"
    note += f" ({', '.join(f'{x:.3g}' for x in own)}): is it mounted so? In robot.toml that is `gravity = [{said}]`"
    return robot.with_gravity(found), note


def _of_time(robot: Robot, bodies: Array, t: Array, q: Array, tau: Array) -> str:
    weight, faster, before, after = pace_of(robot, bodies, t, q, tau)
    heavy = GRAVITY[0] < float(np.linalg.norm(robot.gravity)) * weight < GRAVITY[1]
    if not heavy or faster <= 0.0 or after > LESS * before:
        return ""
    times = 10.0 ** round(log10(faster) / 2.0)
    if times == 1.0 or not 1.0 / PACE < faster / times**2 < PACE:
        return ""
    rate = times * (len(t) - 1) / float(t[-1] - t[0])
    said = f"bodies as described are accelerated {faster:.3g} times as much as the log has it"
    return f"{said}: does its time run {times:g} times as fast? `time = {{ rate_hz = {rate:.4g} }}` says so"
