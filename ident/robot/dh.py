"""Serial robots from Denavit-Hartenberg tables, standard and modified (Craig), as two explicit types.

Both take the joint position as the robot's controller counts it: q_model = sign * q + offset. A revolute joint turns
by theta + q_model, a prismatic joint slides by d + q_model; the table's other numbers are constant.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from ident.arrays import Array
from ident.errors import RobotError
from ident.robot.robot import GRAVITY, Joint, Limits, Robot
from ident.spatial.pose import Pose, axis_angle

X, Z = np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, 1.0])


@dataclass(frozen=True)
class _Row:
    a: float = 0.0
    alpha: float = 0.0
    d: float = 0.0
    theta: float = 0.0
    offset: float = 0.0
    sign: int = 1
    kind: Literal["revolute", "prismatic"] = "revolute"
    limits: Limits = field(default_factory=Limits)
    name: str | None = None
    link: str | None = None

    def __post_init__(self) -> None:
        for key in ("a", "alpha", "d", "theta", "offset"):
            if not math.isfinite(getattr(self, key)):
                raise RobotError(f"{key} is {getattr(self, key)}, wanted a finite number", key=key)
        if self.sign not in (1, -1):
            raise RobotError(f"sign is {self.sign}, wanted 1 or -1", key="sign")
        if self.kind not in ("revolute", "prismatic"):
            raise RobotError(f"kind is '{self.kind}', wanted 'revolute' or 'prismatic'", key="kind")


@dataclass(frozen=True)
class DHJoint(_Row):
    """One row of a standard DH table: A = Rz(theta) Tz(d) Tx(a) Rx(alpha), the link's frame at its far end.

    a, d [m]; alpha, theta [rad]; offset [rad or m]; sign +1 or -1; `limits` in the controller's q; name and link
    default to joint1, link1 ... Raises RobotError for numbers that are not finite and other signs or kinds.
    Source: Denavit, Hartenberg, J. Appl. Mech. 22 (1955); frames as in Paul, Robot Manipulators (1981).
    """


@dataclass(frozen=True)
class MDHJoint(_Row):
    """One row of a modified DH table: A = Rx(alpha) Tx(a) Rz(theta) Tz(d), the link's frame on its own joint's axis.

    a and alpha are those that Craig writes a_(i-1), alpha_(i-1). Fields, units and errors as for DHJoint.
    Source: Craig, Introduction to Robotics, section 3.4.
    """


Row = TypeVar("Row", DHJoint, MDHJoint)


def from_dh(name: str, joints: Sequence[DHJoint], *, gravity: ArrayLike = GRAVITY, base: Pose | None = None) -> Robot:
    """Return the serial robot of a standard DH table.

    gravity (3,) [m/s^2] in the base frame; `base` is the first DH frame (frame 0) seen from the base frame.
    Raises RobotError for an empty table, repeated names or rows of the other convention.
    """

    def geometry(row: DHJoint, theta: float, d: float) -> tuple[Pose, Array, Array]:
        beyond = _screw(Z, 0.0, d) @ _screw(X, row.alpha, row.a)  # from the joint's axis to the link's far end
        # A(q) = A(0) beyond^-1 motion(q) beyond: the axis z through frame i-1, as seen from frame i
        return _screw(Z, theta, 0.0) @ beyond, beyond.rotation.T @ Z, beyond.inverse().position

    return _serial(name, joints, DHJoint, geometry, gravity=gravity, base=base)


def from_mdh(name: str, joints: Sequence[MDHJoint], *, gravity: ArrayLike = GRAVITY, base: Pose | None = None) -> Robot:
    """Return the serial robot of a modified DH table; arguments and errors as for from_dh."""

    def geometry(row: MDHJoint, theta: float, d: float) -> tuple[Pose, Array, Array]:
        return _screw(X, row.alpha, row.a) @ _screw(Z, theta, d), Z, np.zeros(3)

    return _serial(name, joints, MDHJoint, geometry, gravity=gravity, base=base)


def _serial(
    name: str,
    rows: Sequence[Row],
    wanted: type[Row],
    geometry: Callable[[Row, float, float], tuple[Pose, Array, Array]],
    *,
    gravity: ArrayLike,
    base: Pose | None,
) -> Robot:
    """Chain the rows; geometry(row, theta, d) gives A(0) and the joint's axis and a point of it in the link's frame."""
    joints = []
    for i, row in enumerate(rows):
        if not isinstance(row, wanted):
            raise RobotError(f"row {i + 1} of the table is a {type(row).__name__}, wanted a {wanted.__name__}")
        turns = row.kind == "revolute"
        theta, d = row.theta + (row.offset if turns else 0.0), row.d + (0.0 if turns else row.offset)
        at_zero, axis, point = geometry(row, theta, d)
        placement = base @ at_zero if base is not None and i == 0 else at_zero
        title = row.name or f"joint{i + 1}"
        joints.append(Joint(title, row.kind, i - 1, placement, row.sign * axis, point, row.limits))
    links = tuple(row.link or f"link{i + 1}" for i, row in enumerate(rows))
    return Robot(name, tuple(joints), links, gravity=np.asarray(gravity))


def _screw(axis: Array, angle: float, along: float) -> Pose:
    """Return the turn about and the shift along one axis."""
    return Pose(axis_angle(axis, angle), along * axis)
