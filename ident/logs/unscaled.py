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
    found = np.zeros((len(q), robot.n))
    if robot.inertials is None:
        return np.zeros(robot.n)
    for own, row in zip(found, q, strict=True):
        poses = robot.poses(row)
        bodies = list(zip(poses, np.nan_to_num(robot.inertials), strict=True))
        for j, (joint, pose) in enumerate(zip(robot.joints, poses, strict=True)):
            axis, point = pose.rotation @ joint.axis, pose.rotation @ joint.point + pose.position
            mass = sum(bodies[k][1][0] for k in robot.carried_by(j))
            moment = sum(p.rotation @ b[1:4] + b[0] * p.position for p, b in (bodies[k] for k in robot.carried_by(j)))
            force = mass * robot.gravity
            own[j] = abs(axis @ (force if joint.slides else np.cross(moment - mass * point, robot.gravity)))
    return np.asarray(found.max(axis=0, initial=0.0))
