"""Robot files: a URDF, or a TOML file with a DH table or a URDF and what a URDF cannot say (see README.md).

Denavit-Hartenberg tables, standard and modified (Craig), are two explicit types. Both take the joint position as the
robot's controller counts it: q_model = sign * q + offset. A revolute joint turns by theta + q_model, a prismatic joint
slides by d + q_model; the table's other numbers are constant.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from ident.arrays import Array
from ident.errors import RobotError
from ident.files import data_path
from ident.robot.robot import (
    DESCRIPTIONS,
    GRAVITY,
    FixedBody,
    Joint,
    Limits,
    Lock,
    Robot,
    Transmission,
    hold,
    moving_frame,
    to_hold,
)
from ident.spatial.inertia import Pose, axis_angle, rpy
from ident.tables import Table, read_toml

LENGTH = {"m": 1.0, "mm": 1e3}  # units in one metre
ANGLE = {"rad": 1.0, "deg": 180.0 / math.pi}  # units in one radian

#: What stands in a file where a value is to be filled in.
UNKNOWN = "?"
#: Lengths [m] and gravity [m/s^2] beyond which a file has them in another unit.
LONGEST, STRONGEST = 20.0, 30.0
#: Angles in rad beyond this that are multiples of 15 are in degrees: zeros of encoders are large, but not round.
TURNED, ROUND = 4 * math.pi, 15.0
# The keys of each table, and what they mean.
_COMMON = {
    "name": "Of the robot; without, the file's (a URDF's own).",
    "angle": "Unit of all angles of the file.",
    "gravity": "In the base frame [m/s^2]; without, (0, 0, -9.81) or an MJCF's own.",
    "mounting_rpy": "Instead of gravity: the base frame seen from the world, turned about its fixed x, y and z axes.",
    "transmission": "How motors turn joints: q_motor = matrix @ q_joint.",
    "literal_angles": "Whether 1.5708 is taken as it is written, not as the right angle that it means.",
    "lock": 'Moving joints to hold as if fixed, at zero or where a table says; patterns such as "finger_*" too.',
    "keep": "Instead of lock: those to leave moving; all others are held.",
    "flange": "Where tools are mounted: the name of a frame, or of a DH table a frame fixed to the last link.",
}
_URDF_KEYS = _COMMON | {
    "urdf": "The file of the description, a URDF or MJCF; it stays in this file's folder or $IDENT_DATA."
}
_DH_KEYS = _COMMON | {
    "convention": '"dh": Rz(theta) Tz(d) Tx(a) Rx(alpha); "mdh" (Craig): Rx(alpha) Tx(a) Rz(theta) Tz(d).',
    "length": "Unit of all lengths of the file.",
    "base": "First DH frame seen from the base frame.",
    "joint": "One table for each row, from the base on.",
}
_POSE = {"xyz": "Position of the frame.", "rpy": "Its turn about fixed x, y and z axes."}
_FLANGE = {"name": "Of the flange's frame."} | _POSE
_ROW = {
    "name": "Of the joint; without, joint1, joint2 and so on.",
    "link": "Name of the link that it moves; without, link1, link2 and so on.",
    "kind": "Whether it turns or slides.",
    "a": "Length along x; without, 0, as for the next three.",
    "alpha": "Angle about x.",
    "d": "Length along z.",
    "theta": "Angle about z.",
    "offset": "Added to sign * q, q as the controller counts it: a joint's zero.",
    "sign": "1, or -1 where the controller counts the other way.",
    "limits": "In the controller's q.",
}
_LIMITS = {
    "lower": "Least position.",
    "upper": "Largest position.",
    "velocity": "Largest speed.",
    "acceleration": "Largest acceleration.",
    "jerk": "Largest jerk.",
    "effort": "Largest torque [N m], or force [N].",
}
_TRANSMISSION = {
    "motors": "Names of the motors, one for each joint.",
    "ratios": "Turns of a motor for one of its joint, with sign: the diagonal of the matrix.",
    "coupling": "Entries beside the diagonal.",
    "matrix": "Instead of both: all rows.",
}
_COUPLING = {"motor": "The motor's name.", "joint": "The joint's name.", "ratio": "The entry of the matrix."}


def read_robot(path: str | Path, convention: Literal["dh", "mdh"] | None = None) -> Robot:
    """Return the robot of a URDF or MJCF (.urdf, .xml, .mjcf), or of a .toml robot file (see README.md in this folder).

    convention: what a Denavit-Hartenberg table is read in, whatever its own is. Raises RobotError with the file and the
    line or the key.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix in DESCRIPTIONS:
        from ident.robot.urdf import read_urdf

        return _in_si(read_urdf(path), path)
    if suffix != ".toml":
        raise RobotError(f"a robot file ends in .urdf, .xml, .mjcf or .toml, not in '{path.suffix}'", file=path)
    given = {} if convention is None else {"convention": convention}
    return _in_si(robot_from(read_toml(path, RobotError) | given, path), path)


def _in_si(robot: Robot, path: Path) -> Robot:
    """Return the robot; RobotError where its gravity or its lengths must be in other units than the file says."""
    size = float(np.linalg.norm(robot.gravity))
    if size > STRONGEST:
        problem = f"gravity is {size:.4g} m/s^2, no planet's"
        raise RobotError(problem, file=path, key="gravity", fix="Give it in m/s^2: 9.81")
    for joint in robot.joints:
        length = float(np.linalg.norm(joint.placement.position))
        if length > LONGEST:
            problem = f"joint '{joint.name}' is {length:.3g} m from the one before"
            raise RobotError(problem, file=path, fix="Are lengths in millimetres, where the file says metres?")
    return robot


def robot_from(data: Mapping[str, Any], path: Path) -> Robot:
    """Return the robot of what a robot file holds; path: of the file, for messages and what it names."""
    table = Table(dict(data), "", path, RobotError)
    if left := _left_open(data):
        fix = f'Put a value in place of each "{UNKNOWN}", or give a URDF or MJCF'
        raise RobotError(f"is not filled in: {left}", file=path, fix=fix)
    with table.place():
        robot = _from_urdf(table, path) if "urdf" in table.data else _from_table(table, path)
        if table.data.keys() & {"gravity", "mounting_rpy"}:
            robot = robot.with_gravity(_gravity(table))
        if "transmission" in table.data:
            robot = replace(robot, transmission=_transmission(table.table("transmission"), robot))
        if "flange" in table.data:
            robot = _with_flange(table, robot)
        return robot


def _left_open(data: Mapping[str, Any]) -> str:
    """Return which keys of a file and of its joints nobody has filled in, "" for none."""
    rows = data.get("joint")
    joints: dict[str, list[str]] = {}
    for k, row in enumerate(rows if isinstance(rows, list) else (), start=1):
        if isinstance(row, dict) and (keys := ", ".join(key for key, value in row.items() if value == UNKNOWN)):
            joints.setdefault(keys, []).append(str(row.get("name", f"joint{k}")))
    of_joints = [f"{keys} of {', '.join(names)}" for keys, names in joints.items()]
    return "; ".join([*(key for key, value in data.items() if value == UNKNOWN), *of_joints])


def _from_urdf(table: Table, path: Path) -> Robot:
    from ident.robot.urdf import read_description, read_urdf

    for key in _DH_KEYS:
        if key in table.data and key not in _URDF_KEYS:
            raise table.error(key, "stands beside urdf, and belongs to a DH table: keep one of the two")
    table.known(_URDF_KEYS)
    with table.place("urdf"):
        urdf = data_path(table.text("urdf"), path.parent)

    def slides() -> Iterable[str]:
        return [name for name, joint in read_description(urdf).joints.items() if joint.kind == "prismatic"]

    literal = table.flag("literal_angles", False)
    robot = read_urdf(urdf, lock=_lock(table, slides), keep=_keep(table), literal_angles=literal)
    return replace(robot, name=table.text("name", robot.name))


def _keep(table: Table) -> tuple[str, ...]:
    if "keep" not in table.data:
        return ()
    if not (keep := table.texts("keep")):
        raise table.error("keep", "is an empty list, which keeps no joint moving", "Name joints, or leave it out")
    return tuple(keep)


def _lock(table: Table, slides: Callable[[], Iterable[str]], length: float = 1.0) -> Lock:
    """Return the joints to hold, where they are in a table with their positions [rad; m]; slides: those that do."""
    if not isinstance(table.data.get("lock"), dict):
        return table.texts("lock") if "lock" in table.data else ()
    given, unit, sliding = table.table("lock"), ANGLE[table.choice("angle", ANGLE)], set(slides())
    return {name: given.number(name) / (length if name in sliding else unit) for name in given.data}


def _from_table(table: Table, path: Path) -> Robot:
    if not table.data.keys() & {"convention", "joint"}:
        table.known(_DH_KEYS | _URDF_KEYS)
        raise table.error("", "the file has neither a DH table nor a urdf", "Add [[joint]] tables, or urdf = 'FILE'")
    table.known(_DH_KEYS)
    convention = table.choice("convention", ("dh", "mdh"))
    length = LENGTH[table.choice("length", LENGTH)]
    angle = ANGLE[table.choice("angle", ANGLE)]
    base = _placed(table, "base", _POSE)
    rows = [_row(row, length, angle) for row in table.tables("joint")]
    name = table.text("name", path.stem)
    rounded = {}
    for i, row in enumerate(rows):
        turns = ("alpha", "theta", "offset") if row["kind"] == "revolute" else ("alpha", "theta")
        meant = {key: _meant(table, row[key]) for key in turns}
        if words := tuple(f"{key} = {row[key]:.12g}" for key in turns if meant[key] != row[key]):
            rounded[row.get("name", f"joint{i + 1}")] = words
        rows[i] = row | meant
    row_type = DHJoint if convention == "dh" else MDHJoint
    robot = _serial(name, [row_type(**row) for row in rows], row_type, GRAVITY, base)
    held = to_hold(robot.joint_names, _lock(table, lambda: robot.slides, length), _keep(table), path.name)
    if len(held) == robot.n:
        raise table.error("lock", "holds all joints", "Leave one to move")
    robot = hold(robot, held)
    if not rounded:
        return robot
    from ident.robot.angles import rounding_told

    return replace(robot, notes=rounding_told(rounded))


def _meant(table: Table, angle: float) -> float:
    """Return the angle [rad] that is meant: degrees are exact, and radians may be rounded."""
    if table.flag("literal_angles", False) or table.choice("angle", ANGLE) == "deg":
        return angle
    from ident.robot.angles import meant_angle

    return meant_angle(repr(float(angle)))


def _with_flange(table: Table, robot: Robot) -> Robot:
    """Return the robot with its flange: the name of a frame, or of a DH table a frame fixed to the last link."""
    if isinstance(table.data["flange"], str):
        with table.place("flange"):
            moving_frame(robot, table.text("flange"))
        return replace(robot, flange=table.text("flange"))
    if "urdf" in table.data:
        raise table.error("flange", "must be the name of a frame of the URDF, such as 'tool0'")
    pose = _placed(table, "flange", _FLANGE)
    name = table.table("flange").text("name", "flange")
    if name in (robot.base, *robot.links, *(body.name for body in robot.fixed)):
        raise table.table("flange").error("name", f"'{name}' is the name of another frame")
    last = table.tables("joint")[-1].text("link", f"link{len(table.tables('joint'))}")
    carrier, end = robot.frames[last]
    return replace(robot, fixed=(*robot.fixed, FixedBody(name, carrier, end @ pose)), flange=name)


def _placed(table: Table, key: str, known: Mapping[str, str]) -> Pose:
    """Return the pose { xyz, rpy } of a DH robot's file in SI units; each defaults to zero, and so does the whole."""
    given = table.inner(key)
    given.known(known)
    xyz, turn = (given.numbers(part, 3) if part in given.data else np.zeros(3) for part in ("xyz", "rpy"))
    angles = (_meant(table, a) for a in turn / ANGLE[table.choice("angle", ANGLE)])
    return Pose(rpy(*angles), xyz / LENGTH[table.choice("length", LENGTH)])


def _row(table: Table, length: float, angle: float) -> dict[str, Any]:
    """Return the fields of a DHJoint or MDHJoint in SI units."""
    table.known(_ROW)
    kind = table.choice("kind", ("revolute", "prismatic"), "revolute")
    moving = angle if kind == "revolute" else length
    units = {"a": length, "alpha": angle, "d": length, "theta": angle, "offset": moving}
    row: dict[str, Any] = {key: table.number(key, 0.0) / unit for key, unit in units.items()}
    row |= {key: table.text(key) for key in ("name", "link") if key in table.data}
    for key in ("alpha", "theta", *(("offset",) if kind == "revolute" else ())):
        if angle == 1.0 and abs(row[key]) > TURNED and row[key] % ROUND == 0.0:
            fix = f'Degrees? Write {math.radians(row[key]):.6g}, or angle = "deg" and all angles in degrees'
            raise table.error(key, f"is {row[key]:g} rad, {abs(row[key]) / (2 * math.pi):.0f} turns", fix)
    sign = table.number("sign", 1.0)
    if sign not in (1, -1):
        raise table.error("sign", f"is {sign:g}, wanted 1 or -1")
    limits = Limits()
    if "limits" in table.data:
        given = table.table("limits")
        given.known(_LIMITS)
        values = {key: given.number(key) / (1.0 if key == "effort" else moving) for key in given.data}
        if given.number("lower", -math.inf) > given.number("upper", math.inf):
            raise given.error("lower", f"is {given.data['lower']:g}, above upper = {given.data['upper']:g}")
        with given.place():
            limits = Limits(**values)
    return row | {"kind": kind, "sign": int(sign), "limits": limits}


def _gravity(table: Table) -> Array:
    if "mounting_rpy" not in table.data:
        return table.numbers("gravity", 3)
    if "gravity" in table.data:
        raise table.error("mounting_rpy", "stands beside gravity, and each gives the direction of gravity: keep one")
    unit = ANGLE[table.choice("angle", ANGLE)]
    angles = [_meant(table, a) for a in table.numbers("mounting_rpy", 3) / unit]
    return np.asarray(rpy(*angles).T @ np.array(GRAVITY))


def _transmission(table: Table, robot: Robot) -> Transmission:
    """Return q_motor = matrix @ q_joint from ratios on the diagonal and couplings beside it, or the matrix itself."""
    table.known(_TRANSMISSION)
    motors = table.texts("motors")
    if len(motors) != robot.n or len(set(motors)) != robot.n:
        raise table.error("motors", f"must be {robot.n} different names, one per joint of '{robot.name}'")
    if "matrix" in table.data:
        if "ratios" in table.data or "coupling" in table.data:
            raise table.error("matrix", "stands beside ratios or coupling: give one or the other")
        rows = table.data["matrix"]
        if not isinstance(rows, list) or len(rows) != robot.n:
            raise table.error("matrix", f"must be {robot.n} rows of {robot.n} numbers")
        holder = table.entries("matrix")
        matrix = np.array([holder.numbers(key, robot.n) for key in holder.data])
    else:
        matrix = np.diag(table.numbers("ratios", robot.n))
        for entry in table.tables("coupling", optional=True):
            entry.known(_COUPLING)
            motor, joint = entry.choice("motor", motors), entry.choice("joint", robot.joint_names)
            matrix[motors.index(motor), robot.joint_names.index(joint)] = entry.number("ratio")
    with table.place():
        return Transmission(tuple(motors), matrix)


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

    @abstractmethod
    def geometry(self, theta: float, d: float) -> tuple[Pose, Array, Array]:
        """Return A(0), and the joint's axis and a point of it in the link's frame, for theta and d with the offset."""


@dataclass(frozen=True)
class DHJoint(_Row):
    """One row of a standard DH table: A = Rz(theta) Tz(d) Tx(a) Rx(alpha), the link's frame at its far end.

    a, d [m]; alpha, theta [rad]; offset [rad or m]; sign +1 or -1; `limits` in the controller's q; name and link
    default to joint1, link1 ... Raises RobotError for numbers that are not finite and other signs or kinds.
    Source: Denavit, Hartenberg, J. Appl. Mech. 22 (1955); frames as in Paul, Robot Manipulators (1981).
    """

    def geometry(self, theta: float, d: float) -> tuple[Pose, Array, Array]:
        """Return A(0), and the joint's axis and a point of it in the link's frame, for theta and d with the offset."""
        beyond = _screw(Z, 0.0, d) @ _screw(X, self.alpha, self.a)  # from the joint's axis to the link's far end
        # A(q) = A(0) beyond^-1 motion(q) beyond: the axis z through frame i-1, as seen from frame i
        return _screw(Z, theta, 0.0) @ beyond, beyond.rotation.T @ Z, beyond.inverse().position


@dataclass(frozen=True)
class MDHJoint(_Row):
    """One row of a modified DH table: A = Rx(alpha) Tx(a) Rz(theta) Tz(d), the link's frame on its own joint's axis.

    a and alpha are those that Craig writes a_(i-1), alpha_(i-1). Fields, units and errors as for DHJoint.
    Source: Craig, Introduction to Robotics, section 3.4.
    """

    def geometry(self, theta: float, d: float) -> tuple[Pose, Array, Array]:
        """Return A(0), and the joint's axis and a point of it in the link's frame, for theta and d with the offset."""
        return _screw(X, self.alpha, self.a) @ _screw(Z, theta, d), Z, np.zeros(3)


def from_dh(name: str, joints: Sequence[DHJoint], *, gravity: ArrayLike = GRAVITY, base: Pose | None = None) -> Robot:
    """Return the serial robot of a standard DH table.

    gravity (3,) [m/s^2] in the base frame; `base` is the first DH frame (frame 0) seen from the base frame.
    Raises RobotError for an empty table, repeated names or rows of the other convention.
    """
    return _serial(name, joints, DHJoint, gravity, base)


def from_mdh(name: str, joints: Sequence[MDHJoint], *, gravity: ArrayLike = GRAVITY, base: Pose | None = None) -> Robot:
    """Return the serial robot of a modified DH table; arguments and errors as for from_dh."""
    return _serial(name, joints, MDHJoint, gravity, base)


def _serial(name: str, rows: Sequence[_Row], wanted: type[_Row], gravity: ArrayLike, base: Pose | None) -> Robot:
    joints = []
    for i, row in enumerate(rows):
        if not isinstance(row, wanted):
            raise RobotError(f"row {i + 1} of the table is a {type(row).__name__}, wanted a {wanted.__name__}")
        turns = row.kind == "revolute"
        theta, d = row.theta + (row.offset if turns else 0.0), row.d + (0.0 if turns else row.offset)
        at_zero, axis, point = row.geometry(theta, d)
        placement = base @ at_zero if base is not None and i == 0 else at_zero
        title = row.name or f"joint{i + 1}"
        joints.append(Joint(title, row.kind, i - 1, placement, row.sign * axis, point, row.limits))
    links = tuple(row.link or f"link{i + 1}" for i, row in enumerate(rows))
    return Robot(name, tuple(joints), links, gravity=np.asarray(gravity))


def _screw(axis: Array, angle: float, along: float) -> Pose:
    """Return the turn about and the shift along one axis."""
    return Pose(axis_angle(axis, angle), along * axis)
