"""Torques that are so small that they may be currents without a gain, or torques on the motor's side of a gear."""

from __future__ import annotations

from math import isfinite

import numpy as np

from ident.arrays import Array
from ident.logs.log import Log
from ident.robot import Robot

#: Of its limit, a torque that may be none.
SMALL = 0.01
#: The weight of the links is so many times what was logged.
LACKS = 3.0
#: Postures of a log at which it is looked on.
_POSTURES = 20


def unscaled(log: Log, robot: Robot) -> list[str]:
    """Return the joints whose torques are small, and smaller than the links' weight or, where that is not known, at
    most of the joints: one that carries little is no sign.
    """
    largest = np.abs(log.tau).max(axis=0)
    efforts = np.array([joint.limits.effort if isfinite(joint.limits.effort) else 0.0 for joint in robot.joints])
    small = (largest > 0) & (largest < SMALL * efforts)
    if small.any():
        pulled = weight(robot, log.q[:: -(-len(log.q) // _POSTURES)])
        told = pulled > LACKS * largest
        small &= told if pulled.any() else np.full(robot.n, 2 * small.sum() > robot.n)
    return [joint for joint, its in zip(robot.joint_names, small, strict=True) if its]


def weight(robot: Robot, q: Array) -> Array:
    """Return the largest torque (n,) [N m; N] that holds the links of the description against gravity at q (N, n).

    0 where it gives no bodies.
    """
    if robot.inertials is None:
        return np.zeros(robot.n)
    from ident.dynamics import inverse_dynamics  # which compiles

    still = np.zeros_like(q)
    return np.asarray(np.abs(inverse_dynamics(robot, np.nan_to_num(robot.inertials), q, still, still)).max(axis=0))
