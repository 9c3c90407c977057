"""A sampled motion of a robot, checked, and what its files say about themselves."""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ident.arrays import Array, checked
from ident.errors import ExcitationError
from ident.robot.robot import Robot


@dataclass(frozen=True, eq=False)
class Rows:
    """t (N,) [s] ascending; q, qd, qdd (N, n) [rad, rad/s, rad/s^2; m, m/s, m/s^2]."""

    t: Array
    q: Array
    qd: Array
    qdd: Array


def checked_rows(robot: Robot, t: ArrayLike, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> Rows:
    """Return the motion's rows; ExcitationError when they do not fit the robot, or times do not ascend."""
    t = checked(t, (None,), "t", ExcitationError)
    if not len(t):
        raise ExcitationError("the motion has no samples")
    if (np.diff(t) <= 0).any() or t[0] < 0:
        raise ExcitationError("the times of a motion must ascend from zero or later")
    shape = (len(t), robot.n)
    return Rows(t, *(checked(x, shape, name, ExcitationError) for x, name in ((q, "q"), (qd, "qd"), (qdd, "qdd"))))


def ends_at_rest(rows: Rows) -> bool:
    """Return whether the first and the last row have no velocity and acceleration, to 1e-9 of their greatest."""
    return all((np.abs(x[[0, -1]]) <= 1e-9 * np.abs(x).max(axis=0)).all() for x in (rows.qd, rows.qdd))


def origin(robot: Robot) -> str:
    """Return 'robot "NAME", fingerprint HASH' in ASCII, on one line."""
    return f"robot {json.dumps(robot.name)}, fingerprint {robot.fingerprint()}"


def require_joints(joints: tuple[str, ...], robot: Robot) -> None:
    """Raise ExcitationError unless the joints are the robot's, in its order."""
    if joints != robot.joint_names:
        raise ExcitationError(
            f"the trajectory moves {', '.join(joints)}, robot {robot.name!r:.60} has {', '.join(robot.joint_names)}",
            fix="Give all joints in the robot's order",
        )
