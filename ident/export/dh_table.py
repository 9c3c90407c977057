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
    """One row: lengths [m], angles [rad]; theta and d are those at zero joint position."""

    a: float
    alpha: float
    d: float
    theta: float


@dataclass(frozen=True, eq=False)
class Table:
    """A DH table whose joints all count along their axis z, and frame 0 seen from the base frame.

    A joint of the robot that counts against z has its frame (standard DH: the one before it) turned by half a turn
    about x: `turned` says so of each link's frame, `base` includes that of frame 0.
    """

    modified: bool
    rows: tuple[Row, ...]
    turned: tuple[bool, ...]
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
    rows, signs, base = [], [], Pose.identity()
    for i, joint in enumerate(robot.joints):
        row_of = _modified if modified else _standard
        fits = [(*x, sign) for sign in (1, -1) if (x := row_of(joint, sign, i == 0)) is not None]
        if not fits:
            return joint.name
        row, before, sign = min(fits, key=lambda x: float(np.abs(x[1].matrix - np.eye(4)).max()) > _CLOSE)
        rows.append(row)
        signs.append(sign)
        if i == 0:
            base = before
    return _along(modified, rows, signs, base)


def _along(modified: bool, rows: list[Row], signs: list[int], base: Pose) -> Table:
    """Return the table with every joint along its axis: with X = Rx(pi), X Rz(theta) Tz(d) = Rz(-theta) Tz(-d) X."""
    against = [sign < 0 for sign in signs]
    frames = [False, *against] if modified else [*against, False]  # frame 0 ... n: is it turned?
    made = [
        Row(row.a, math.remainder(row.alpha + math.pi * (after - before), 2 * math.pi), sign * row.d, sign * row.theta)
        for row, sign, before, after in zip(rows, signs, frames[:-1], frames[1:], strict=True)
    ]
    half = Pose(np.diag([1.0, -1.0, -1.0]), np.zeros(3))
    return Table(modified, tuple(made), tuple(frames[1:]), base @ half if frames[0] else base)


def _standard(joint: Joint, sign: int, first: bool) -> tuple[Row, Pose] | None:
    """Return the row of A = Rz(theta) Tz(d) Tx(a) Rx(alpha) whose axis z, seen from the child, is sign * axis."""
    x, y, z = sign * joint.axis
    alpha = math.atan2(y, z)
    a, off, d = axis_angle(_X, alpha) @ -joint.point
    if abs(x) > _CLOSE or abs(off) > _CLOSE:
        return None
    beyond = Pose(np.eye(3), np.array([a, 0.0, d])) @ Pose(axis_angle(_X, alpha), np.zeros(3))
    return _turned(joint.placement @ beyond.inverse(), Row(float(a), alpha, float(d), 0.0), first)


def _turned(left: Pose, row: Row, first: bool) -> tuple[Row, Pose] | None:
    """Return the row with the theta of a rotation about z; of the first joint anything else is frame 0."""
    theta = math.atan2(left.rotation[1, 0], left.rotation[0, 0])
    rest = left @ Pose(axis_angle(_Z, -theta), np.zeros(3))
    if np.abs(rest.matrix - np.eye(4)).max() < _CLOSE:
        return Row(row.a, row.alpha, row.d, theta), Pose.identity()
    return (row, left) if first else None


def _modified(joint: Joint, sign: int, first: bool) -> tuple[Row, Pose] | None:
    """Return the row of A = Rx(alpha) Tx(a) Rz(theta) Tz(d)."""
    if np.abs(sign * joint.axis - _Z).max() > _CLOSE or np.abs(joint.point).max() > _CLOSE:
        return None
    r: Array = joint.placement.rotation
    alpha, theta = math.atan2(-r[1, 2], r[2, 2]), math.atan2(-r[0, 1], r[0, 0])
    a, _, d = axis_angle(_X, -alpha) @ joint.placement.position
    row = Row(float(a), alpha, float(d), theta)
    made = Pose(axis_angle(_X, alpha), np.array([a, 0.0, 0.0])) @ Pose(axis_angle(_Z, theta), np.array([0.0, 0.0, d]))
    if np.abs(made.matrix - joint.placement.matrix).max() < _CLOSE:
        return row, Pose.identity()
    return (Row(0.0, 0.0, 0.0, 0.0), joint.placement) if first else None
