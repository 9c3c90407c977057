"""The Denavit-Hartenberg table of a robot whose link frames follow one, standard or modified."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ident.arrays import Array
from ident.errors import ModelError
from ident.robot.robot import Joint, Robot
from ident.spatial.pose import Pose, axis_angle

_X, _Z = np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, 1.0])
_CLOSE = 1e-9


@dataclass(frozen=True)
class Row:
    """One row: lengths [m], angles [rad]; theta and d are those at zero joint position, sign as in DHJoint."""

    a: float
    alpha: float
    d: float
    theta: float
    sign: int


@dataclass(frozen=True)
class Table:
    """A DH table, and frame 0 seen from the base frame."""

    modified: bool
    rows: tuple[Row, ...]
    base: Pose


def dh_table(robot: Robot) -> Table:
    """Return the table that the robot's link frames follow; standard is tried first.

    Raises ModelError, naming the first joint that fits neither, for trees and for frames of a URDF that are no DH
    frames. Frame 0 may stand anywhere, so the first joint always fits as far as theta and (standard DH) d go.
    """
    for i, joint in enumerate(robot.joints):
        if joint.parent != i - 1:
            raise ModelError(f"a DH table describes a chain, and joint '{joint.name}' branches off", fix=_OTHERS)
    for modified in (False, True):
        found = _table(robot, modified)
        if isinstance(found, Table):
            return found
    raise ModelError(f"the frame of joint '{found}' follows neither standard nor modified DH", fix=_OTHERS)


_OTHERS = "Export a format with free frames, such as urdf, or describe the robot by a DH table"


def _table(robot: Robot, modified: bool) -> Table | str:
    rows, base = [], Pose.identity()
    for i, joint in enumerate(robot.joints):
        fits = [x for sign in (1, -1) if (x := (_modified if modified else _standard)(joint, sign, i == 0)) is not None]
        if not fits:
            return joint.name
        row, before = min(fits, key=lambda x: float(np.abs(x[1].matrix - np.eye(4)).max()) > _CLOSE)
        rows.append(row)
        if i == 0:
            base = before
    return Table(modified, tuple(rows), base)


def _standard(joint: Joint, sign: int, first: bool) -> tuple[Row, Pose] | None:
    """Return the row of A = Rz(theta) Tz(d) Tx(a) Rx(alpha) whose axis z, seen from the child, is sign * axis."""
    x, y, z = sign * joint.axis
    alpha = math.atan2(y, z)
    a, off, d = axis_angle(_X, alpha) @ -joint.point
    if abs(x) > _CLOSE or abs(off) > _CLOSE:
        return None
    beyond = Pose(np.eye(3), np.array([a, 0.0, d])) @ Pose(axis_angle(_X, alpha), np.zeros(3))
    return _turned(joint.placement @ beyond.inverse(), Row(float(a), alpha, float(d), 0.0, sign), first)


def _turned(left: Pose, row: Row, first: bool) -> tuple[Row, Pose] | None:
    """Return the row with the theta of a rotation about z; of the first joint anything else is frame 0."""
    theta = math.atan2(left.rotation[1, 0], left.rotation[0, 0])
    rest = left @ Pose(axis_angle(_Z, -theta), np.zeros(3))
    if np.abs(rest.matrix - np.eye(4)).max() < _CLOSE:
        return Row(row.a, row.alpha, row.d, theta, row.sign), Pose.identity()
    return (row, left) if first else None


def _modified(joint: Joint, sign: int, first: bool) -> tuple[Row, Pose] | None:
    """Return the row of A = Rx(alpha) Tx(a) Rz(theta) Tz(d)."""
    if np.abs(sign * joint.axis - _Z).max() > _CLOSE or np.abs(joint.point).max() > _CLOSE:
        return None
    r: Array = joint.placement.rotation
    alpha, theta = math.atan2(-r[1, 2], r[2, 2]), math.atan2(-r[0, 1], r[0, 0])
    a, _, d = axis_angle(_X, -alpha) @ joint.placement.position
    row = Row(float(a), alpha, float(d), theta, sign)
    made = Pose(axis_angle(_X, alpha), np.array([a, 0.0, 0.0])) @ Pose(axis_angle(_Z, theta), np.array([0.0, 0.0, d]))
    if np.abs(made.matrix - joint.placement.matrix).max() < _CLOSE:
        return row, Pose.identity()
    return (Row(0.0, 0.0, 0.0, 0.0, sign), joint.placement) if first else None
