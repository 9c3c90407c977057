"""What a calibration may find of a robot and its log: what an unknown is, how far off it may be, what it changes.

An unknown is a number beside the parameters of the model: the base is tilted, the zero of an encoder is off, a torque
is read too large by a factor, a position is read late, a length of the description is not the arm's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from ident.arrays import Array
from ident.errors import InputError, require_known
from ident.robot.robot import Joint, Robot
from ident.spatial.inertia import Pose, axis_angle

UnknownKind = Literal["tilt", "zero", "gain", "saturation", "skew", "length"]

#: How far off each is taken to be, as a standard deviation: tilt [rad], zero [rad; m where the joint slides], gain
#: (share), saturation (share of the largest torque), skew [s], length [m], and a length's share where that is more.
SPREADS: Mapping[str, float] = {
    "tilt": np.deg2rad(2.0),
    "zero": np.deg2rad(1.0),
    "gain": 0.1,
    "saturation": 0.1,
    "skew": 0.005,
    "length": 0.005,
}
SLIDING_ZERO_M, LENGTH_SHARE = 0.005, 0.01
#: Units of a saturation, of a joint that turns and of one that slides.
SATURATIONS = ("1/(N m)^2", "1/N^2")
_PARTS = {"x": 0, "y": 1, "z": 2}


@dataclass(frozen=True)
class Unknown:
    """One number that a calibration may find: `name` such as joint2.zero, SI `unit`, and how it is known beforehand.

    joint: its index, -1 for the base. spread: standard deviation about `nominal`, 0 but for gains, which are 1.
    direction: of a tilt, the axis in the base frame about which the base is turned; of a length, its direction in the
    parent link's frame, or in the link's own (`own`), which then moves along and leaves the joint's axis where it is.

    tilt: the base frame seen from where the description has it is turned by the tilts, as one rotation vector.
    zero: the joint stands at q + zero when the log says q. gain: the measured torque is gain times the true one.
    saturation [1/(N m)^2; 1/N^2]: the true torque is x (1 - saturation x^2) where x is read, gains taken out, as the
    torque constant falls with the current. skew: q is read so many seconds late. length: added to what the description
    says.
    """

    kind: UnknownKind
    name: str
    unit: str
    joint: int
    spread: float
    nominal: float = 0.0
    direction: tuple[float, float, float] = (0.0, 0.0, 0.0)
    own: bool = False


def tilts(robot: Robot, spread: float = SPREADS["tilt"]) -> tuple[Unknown, ...]:
    """Return the turns of the base about its two horizontal axes: x and y where gravity is along z."""
    down = robot.gravity / max(float(np.linalg.norm(robot.gravity)), 1e-300)
    level = [k for k in np.argsort(np.abs(down), kind="stable") if abs(down[k]) < 0.9][:2]
    found, axes = [], [down]
    for k in sorted(level):
        axis = np.eye(3)[k] - sum((np.eye(3)[k] @ a) * a for a in axes)
        axis = axis / np.linalg.norm(axis)
        axes.append(axis)
        x, y, z = (float(f"{a:.12g}") + 0.0 for a in axis)
        found.append(Unknown("tilt", f"base.tilt_{'xyz'[k]}", "rad", -1, spread, direction=(x, y, z)))
    return tuple(found)


def zeros(robot: Robot, joints: Sequence[str] | None = None, spread: float = SPREADS["zero"]) -> tuple[Unknown, ...]:
    """Return the zeros of some joints, None for all; InputError for a joint that the robot does not have."""
    return tuple(
        Unknown("zero", f"{j.name}.zero", j.unit("position"), i, SLIDING_ZERO_M if j.slides else spread)
        for i, j in _joints(robot, joints)
    )


def gains(robot: Robot, joints: Sequence[str] | None = None, spread: float = SPREADS["gain"]) -> tuple[Unknown, ...]:
    """Return the gains of some joints, None for all; InputError for a joint that the robot does not have."""
    return tuple(Unknown("gain", f"{j.name}.gain", "1", i, spread, 1.0) for i, j in _joints(robot, joints))


def saturations(
    robot: Robot, largest: ArrayLike, joints: Sequence[str] | None = None, spread: float = SPREADS["saturation"]
) -> tuple[Unknown, ...]:
    """Return the saturation of the drives of some joints, None for all; InputError as `zeros`.

    largest (n,) [N m; N]: torque of each drive in the logs, of which `spread` is lost, more or less.
    """
    squares = np.maximum(np.asarray(largest, dtype=np.float64), 1e-9) ** 2
    return tuple(
        Unknown("saturation", f"{j.name}.saturation", SATURATIONS[j.slides], i, spread / float(squares[i]))
        for i, j in _joints(robot, joints)
    )


def skews(robot: Robot, joints: Sequence[str] | None = None, spread: float = SPREADS["skew"]) -> tuple[Unknown, ...]:
    """Return the delays of the positions of some joints, None for all; InputError as `zeros`."""
    return tuple(Unknown("skew", f"{j.name}.skew", "s", i, spread) for i, j in _joints(robot, joints))


def length(
    robot: Robot, name: str, convention: Literal["dh", "mdh"] | None = None, spread: float | None = None
) -> Unknown:
    """Return the length of this name: joint2.x, .y or .z of a joint's origin, of a DH table joint2.a or joint2.d.

    spread [m]: by default 5 mm, or 1 % of the length where that is more. Raises InputError for any other name.
    """
    owner, _, part = name.rpartition(".")
    parts = tuple(_PARTS) if convention is None else ("a", "d")
    if part not in parts:
        problem = f"'{name}' is no length of '{robot.name}'"
        raise InputError(problem, fix=f"Its lengths are {robot.joint_names[0]}.{parts[0]} and the like")
    ((i, joint),) = _joints(robot, [owner])
    own = convention == "dh"
    if convention is None:
        direction = np.eye(3)[_PARTS[part]]
    elif part == "a":
        direction = np.array([1.0, 0.0, 0.0])
    else:  # along the axis, which a sign of the table turns round
        along = joint.placement.rotation @ joint.axis
        ahead = joint.axis[2] if not own else along[2] if i else 1.0
        direction = (1.0 if ahead >= 0.0 else -1.0) * (joint.axis if own else along)
    place = joint.placement.rotation.T @ joint.placement.position if own else joint.placement.position
    least = max(SPREADS["length"], LENGTH_SHARE * abs(float(direction @ place)))
    x, y, z = (float(a) for a in direction)
    return Unknown("length", name, "m", i, least if spread is None else spread, direction=(x, y, z), own=own)


def _joints(robot: Robot, names: Sequence[str] | None) -> list[tuple[int, Joint]]:
    if names is None:
        return list(enumerate(robot.joints))
    require_known(names, robot.joint_names, InputError, f"robot '{robot.name}' has no joint")
    return [(i, robot.joints[i]) for i in (robot.joint_names.index(name) for name in names)]


@dataclass(frozen=True)
class Calibrated:
    """An unknown with the value that was found, its standard error (NaN: not told), and what is to be said of it.

    applied: whether robot and log were corrected by it; if not, the nominal value holds.
    """

    unknown: Unknown
    value: float
    error: float
    said: str
    applied: bool


def applied(found: Sequence[Calibrated]) -> tuple[tuple[Unknown, ...], Array]:
    """Return the unknowns that were applied, and their values (k,)."""
    used = [c for c in found if c.applied]
    return tuple(c.unknown for c in used), np.array([c.value for c in used])


def nominal(unknowns: Sequence[Unknown]) -> Array:
    """Return the values (k,) of unknowns of which nothing is wrong."""
    return np.array([u.nominal for u in unknowns])


def spreads(unknowns: Sequence[Unknown]) -> Array:
    """Return the standard deviations (k,) of unknowns beforehand."""
    return np.array([u.spread for u in unknowns])


def by_kind(robot: Robot, unknowns: Sequence[Unknown], values: ArrayLike) -> tuple[Array, Array, Array]:
    """Return gain, saturation and delay of each joint (n,), nominal where they are not among the unknowns."""
    found = {"gain": np.ones(robot.n), "saturation": np.zeros(robot.n), "skew": np.zeros(robot.n)}
    for u, value in zip(unknowns, np.asarray(values, dtype=np.float64), strict=True):
        if u.kind in found:
            found[u.kind][u.joint] = value
    return found["gain"], found["saturation"], found["skew"]


def corrected_robot(robot: Robot, unknowns: Sequence[Unknown], values: ArrayLike) -> Robot:
    """Return the robot as the values (k,) of the unknowns have it; gains, saturations and skews belong to the log.

    Joint positions stay those of the log, limits theirs. A correction is no new description: bodies fixed to the base
    stay where they are.
    """
    joints, turn, tilted = list(robot.joints), np.zeros(3), False
    for u, value in zip(unknowns, np.asarray(values, dtype=np.float64), strict=True):
        if u.kind == "tilt" and value != 0.0:
            turn, tilted = turn + value * np.array(u.direction), True
        elif u.kind == "zero":
            joints[u.joint] = replace(joints[u.joint], placement=joints[u.joint].pose(value))
        elif u.kind == "length":
            joint, by = joints[u.joint], Pose(np.eye(3), value * np.array(u.direction))
            if u.own:
                joints[u.joint] = replace(joint, placement=joint.placement @ by, point=joint.point - by.position)
            else:
                joints[u.joint] = replace(joint, placement=by @ joint.placement)
    found = replace(robot, joints=tuple(joints))
    if not tilted:
        return found
    angle = float(np.linalg.norm(turn))
    return found.with_gravity(axis_angle(turn / angle, angle).T @ robot.gravity)
