"""What torques in N m say of gravity, of a load and of time, where bodies are known: is the robot as its file says?"""

from __future__ import annotations

from math import log10

import numpy as np

from ident.arrays import Array
from ident.compare.columns import gravity_of, load_of, pace_of
from ident.robot import Robot

#: Gravity [m/s^2] that torques ask for is believed where it is about as large as it is, turned from the robot's own by
#: more than that cosine, and leaves so little of the torques' squares, and of those that are left with the robot's own.
GRAVITY, TURNED, LEFT = (7.7, 12.5), 0.94, (0.2, 0.2)
#: Accelerations are believed to be so near to a power of a hundred times the log's, where less than this share is left.
PACE, LESS = 2.5, 0.8
#: A load is believed that leaves so little of the torques' squares, and of those that gains in its place leave, and
#: with which each joint's torque counts about 1 N m for one.
LOADED, AS_MUCH = (0.1, 0.8), (0.85, 1.18)


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


def of_load(robot: Robot, bodies: Array, t: Array, q: Array, tau: Array) -> tuple[Array, str]:
    """Return bodies (n, 10) with the load on the last link that torques tau (N, n) [N m; N] ask for where this explains
    them and gains do not, and what to say of it; else the bodies as they are. Otherwise as `of_gravity_and_time`.
    """
    load, counts, left, scaled = load_of(robot, bodies, t, q, tau)
    alike = AS_MUCH[0] < counts.min() and counts.max() < AS_MUCH[1]
    if not alike or load[0] <= 0.0 or left > min(LOADED[0], LOADED[1] * scaled):
        return bodies, ""
    loaded = bodies.copy()
    loaded[-1] += load
    return loaded, f"in N m they ask for {load[0]:.3g} kg more on {robot.links[-1]}: a tool that the robot file lacks?"


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
