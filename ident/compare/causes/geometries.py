"""What describes a robot, and other robots that the description may have meant, by what is wrong with the file then.

First how a file says gravity, zeros and couplings, in words to be pasted into it. The others are those with other rows
of a Denavit-Hartenberg table or other frames of a URDF; and those that a CAD table is tried with: a zero, an axis or a
length that is off, lengths in another unit. Bodies that are free make up for these, so that torques alone hardly tell;
numbers that are right do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ident.compare.doctor.search import MARGIN, Search
from ident.errors import IdentError, RobotError
from ident.files import data_path
from ident.robot.file import robot_from
from ident.robot.robot import Joint, Robot
from ident.robot.urdf import read_description
from ident.robot.xml import parse_xml, read_bytes
from ident.spatial.inertia import Pose, axis_angle, roll_pitch_yaw
from ident.tables import below, read_toml

#: Which file is to be changed: the robot's, the one that says what the log is, the experiment's, a CAD table.
File = Literal["robot", "log", "model", "table"]


@dataclass(frozen=True)
class Described:
    """What describes a robot: a Denavit-Hartenberg table ("dh"), a URDF or an MJCF, and that file's name.

    toml: whether a .toml has the table or names that file, and so takes further keys.
    """

    form: Literal["dh", "urdf", "mjcf"] = "dh"
    name: str = "robot.toml"
    toml: bool = True

    @property
    def offset(self) -> str:
        """How a zero is put right in the file of `offset_in`."""
        return "its offset" if self.form == "dh" else "its position, its `offset`, rad or m"

    @property
    def offset_in(self) -> File:
        """Which file a zero is put right in: a Denavit-Hartenberg table, else what the log is said to be."""
        return "robot" if self.form == "dh" else "log"

    @property
    def turned_in(self) -> File:
        """Which file a tilt is put right in: a URDF has no gravity, and the experiment finds it."""
        return "model" if self.form == "urdf" and not self.toml else "robot"

    def gravity(self, gravity: Iterable[float]) -> str:
        """Return gravity (3,) [m/s^2] in the base as it is written."""
        words = [f"{x + 0.0:.4g}" for x in gravity]
        if self.form == "mjcf" and not self.toml:
            return f'<option gravity="{" ".join(words)}"/>'
        return self.keys(f"`gravity = [{', '.join(words)}]`")

    def turned(self, about: str) -> str:
        """Return where gravity is turned by `{}` degrees about an axis."""
        found = below("calibrate", "gravity = true")
        if self.turned_in == "model":
            return f"{found}; a URDF has no gravity to turn"
        return f"turn gravity by {{}} degrees about {about}; or {found} in experiment.toml"

    def keys(self, said: str) -> str:
        """Return keys of a robot.toml with the file that they stand in, where there is none yet."""
        if self.toml:
            return f"{said} at its top" if said.startswith("`") else said
        what = "an MJCF" if self.form == "mjcf" else "a URDF"
        beside = "write a robot.toml beside it, and name that as robot in experiment.toml"
        return f'{what} has no place for that; {beside}: `urdf = "{self.name}"`, then {said}'

    def axis(self, xyz: Iterable[float]) -> str:
        """Return a joint's axis (3,) as it is written."""
        text = " ".join(f"{x:g}" for x in xyz)
        return f'axis="{text}"' if self.form == "mjcf" else f'<axis xyz="{text}"/>'


#: A Denavit-Hartenberg table.
DH = Described()


def described_by(robot_file: str | Path) -> Described:
    """Return what describes the robot of a robot file. Raises RobotError, InputError where it cannot be read."""
    path = Path(robot_file)
    toml = path.suffix.lower() == ".toml"
    named = read_toml(path, RobotError).get("urdf") if toml else path.name
    if not isinstance(named, str):
        return Described("dh", path.name)
    file = data_path(named, path.parent)
    root = parse_xml(read_bytes(file), file=file.name)
    return Described("mjcf" if root.tag == "mujoco" else "urdf", named, toml)


#: The numbers of a row that belong to the geometry, whichever joint it is.
_GEOMETRY = ("a", "alpha", "d", "theta")
#: Cosine below which an axis lies across another.
_ACROSS = 0.5


@dataclass(frozen=True, eq=False)
class Geometry:
    """Another robot that a file may have meant, and what to change in the file."""

    robot: Robot
    mend: str


def geometries(robot_file: str | Path, robot: Robot) -> dict[str, Geometry]:
    """Return other robots than a file describes, by what is mistaken in it; robot: the one that it describes.

    Of a Denavit-Hartenberg table those with other rows, of a URDF those with frames or axes turned by quarters. Raises
    RobotError for a table that cannot be read.
    """
    path = Path(robot_file)
    data = read_toml(path, RobotError) if path.suffix.lower() == ".toml" else {}
    if data.get("convention") not in ("dh", "mdh"):
        return dict(_turned(path, robot))
    found = dict[str, Geometry]()
    for what, changed, mend in _changed(data):
        with suppress(RobotError):  # such a table is none
            found[what] = Geometry(robot_from(data | changed, path), mend)
    return found


def _turned(path: Path, robot: Robot) -> Iterator[tuple[str, Geometry]]:
    """Yield what may be mistaken in one joint's rpy or axis, and the robot without it."""
    written, described = {}, Described("urdf")
    with suppress(IdentError, OSError):
        described = described_by(path)
        if described.form == "urdf":  # an MJCF gives its frames in other words
            written = {name: each.origin for name, each in read_description(path).joints.items()}
    for j, joint in enumerate(robot.joints):
        for k, letter in enumerate("xyz"):
            along = np.eye(3)[k]
            across = abs(float(along @ joint.axis)) < _ACROSS
            for turn in (90, -90, 180) if across else ():
                by = axis_angle(along, np.deg2rad(turn))
                changed = replace(joint, placement=Pose(joint.placement.rotation @ by, joint.placement.position))
                what = f"the frame of {joint.name} has to be turned by {turn} degrees about its {letter}"
                mend = f"turn the frame of that joint by {turn} degrees about its own {letter}"
                if joint.name in written:
                    angles = " ".join(f"{x:.6g}" for x in roll_pitch_yaw(written[joint.name].rotation @ by))
                    mend = f'rpy="{angles}" in the <origin> of that joint'
                yield what, Geometry(with_joint(robot, j, changed), mend)
            if across and not joint.point.any():
                what = f"the axis of {joint.name} is {letter}, not as described"
                mend = f"{described.axis(along)} in that joint"
                yield what, Geometry(with_joint(robot, j, replace(joint, axis=along)), mend)


def with_joint(robot: Robot, j: int, joint: Joint) -> Robot:
    """Return a robot with another joint in the place of its j-th."""
    return replace(robot, joints=(*robot.joints[:j], joint, *robot.joints[j + 1 :]))


def _changed(data: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Yield what may be mistaken, the keys of the file without the mistake, and what to change in it."""
    other, name = ("mdh", "modified") if data["convention"] == "dh" else ("dh", "standard")
    yield f"its table is a {name} Denavit-Hartenberg table", {"convention": other}, f'convention = "{other}"'
    rows = [dict(row) for row in data.get("joint", ())]
    names = [row.get("name", f"joint{i + 1}") for i, row in enumerate(rows)]
    for i, row in enumerate(rows):
        for key in ("a", "alpha", "d"):
            if row.get(key):
                flipped = [*rows[:i], row | {key: -row[key]}, *rows[i + 1 :]]
                yield f"{key} of {names[i]} has the other sign", {"joint": flipped}, f"{key} = {-row[key]:.6g}"
    for i in range(len(rows) - 1):
        (one, two), rest = rows[i : i + 2], [{k: v for k, v in r.items() if k not in _GEOMETRY} for r in rows]
        swapped = [*rows]
        swapped[i] = rest[i] | {k: two[k] for k in _GEOMETRY if k in two}
        swapped[i + 1] = rest[i + 1] | {k: one[k] for k in _GEOMETRY if k in one}
        if swapped != rows:
            what, mend = f"the rows of {names[i]} and {names[i + 1]} are swapped", "swap their a, alpha, d and theta"
            yield what, {"joint": swapped}, mend


#: What is said of an axis, of a zero and of a length, and how far off that of any robot may be [deg; share, m].
_ZERO, _ZERO_OFF = "its zero is off by {:g} degrees", 1.5
REVERSED = "its axis points the other way, in the robot file or in the log"
_LENGTH, _LENGTH_OFF = "its distance of {:.4g} m along {} from the joint before is off by {:.3g} %", (0.02, 0.003)
#: Units of length that a robot file may be in where another is declared.
_UNITS = {"a thousandth of that": 1e-3, "a thousand times that": 1e3, "in inches": 0.0254, "in metres": 1 / 0.0254}
#: Lengths [m] of which it is asked, where numbers differ from the logs by so many standard deviations; by which share
#: each is off at first, and then those that this helps most; so many of them.
_SHORTEST, _DOUBTED, _TRIED, _FINER, _MOST = 0.02, 1.2, 0.05, np.arange(0.0, 0.27, 0.02), 3


def usual_ones(robot: Robot) -> dict[str, Robot]:
    """Return the robot with lengths in another unit, or a zero a quarter or half a turn off, by what it then is."""
    found = {}
    for words, factor in _UNITS.items():
        if 0.02 < robot.reach * factor < 20.0:
            places = (Pose(j.placement.rotation, factor * j.placement.position) for j in robot.joints)
            joints = (replace(j, placement=place) for j, place in zip(robot.joints, places, strict=True))
            found[f"that with all lengths {words}"] = replace(robot, joints=tuple(joints))
    turning = (j for j, joint in enumerate(robot.joints) if not joint.slides)
    return found | dict(_off(robot, j, turn) for j in turning for turn in (90.0, -90.0, 180.0))


def asked_for(found: Search, searched: Callable[[Mapping[str, Robot]], Search], robot: Robot) -> dict[str, Robot]:
    """Return the robot with the zeros, axes and lengths that a table asks for, each alone, by what is mistaken.

    found: the search so far; searched: makes one that knows other geometries.
    """
    start = found.space.start(found.table)
    zeros = found.zeros_asked(start)
    asked = dict(_off(robot, j, round(float(np.rad2deg(angle)), 1)) for j, angle in zeros.items())
    if found.deviation(start, found.tolerance(start)) < _DOUBTED:
        return asked
    reversed_ones = [
        (f"{joint.name}: {REVERSED}", with_joint(robot, j, replace(joint, axis=-joint.axis)))
        for j, joint in enumerate(robot.joints)
    ]
    worth = _worth(searched, reversed_ones)
    asked |= dict(each for each, gain in zip(reversed_ones, worth, strict=True) if gain > MARGIN)
    places = [
        (j, k) for j, joint in enumerate(robot.joints) for k in range(3) if abs(joint.placement.position[k]) > _SHORTEST
    ]
    gains: dict[tuple[int, int, float], float] = {}
    for sign in (-1.0, 1.0):
        worth = _worth(searched, [_longer(robot, *place, 1.0 + sign * _TRIED) for place in places])
        gains |= {(*place, sign): gain for place, gain in zip(places, worth, strict=True)}
    best = sorted((place for place in gains if gains[place] > MARGIN), key=lambda place: -gains[place])
    for j, k, sign in best[:_MOST]:
        worth = [0.0, *_worth(searched, [_longer(robot, j, k, 1.0 + sign * x) for x in _FINER[1:]])]
        at = min(int(np.argmax(worth)), len(worth) - 2)
        left, top, right = worth[at - 1], worth[at], worth[at + 1]
        share = _FINER[at] + 0.5 * _FINER[1] * (left - right) / min(left - 2.0 * top + right, -1e-9)
        asked |= dict([_longer(robot, j, k, 1.0 + sign * float(share))])
    return asked


def size_of(what: str) -> tuple[float, bool]:
    """Return by how much a zero [deg] or a length (share) is off by these words, else 0; whether any robot's is."""
    if what.startswith("its zero is off"):
        degrees = float(what.split()[-2])
        return degrees, abs(degrees) <= _ZERO_OFF
    if what.startswith("its distance of"):
        share, along = float(what.split()[-2]) / 100.0, float(what.split()[3])
        return share, abs(share) <= max(_LENGTH_OFF[0], _LENGTH_OFF[1] / abs(along))
    return 0.0, False


def _worth(searched: Callable[[Mapping[str, Robot]], Search], robots: list[tuple[str, Robot]]) -> list[float]:
    """Return how much likelier [log] a table is as it is with each of some robots."""
    search = searched(dict(robots))
    start, views = search.space.start(search.table), {view.name: view for view in search.space.views}
    base = search.score(start)
    return [search.score(search.space.after(start, views[name])) - base for name, _ in robots]


def _off(robot: Robot, j: int, degrees: float) -> tuple[str, Robot]:
    """Return what is mistaken of a joint whose zero is off by so much, and the robot with it."""
    placement = robot.joints[j].pose(np.deg2rad(degrees))
    return f"{robot.joints[j].name}: {_ZERO.format(degrees)}", _placed(robot, j, placement)


def _longer(robot: Robot, j: int, k: int, factor: float) -> tuple[str, Robot]:
    """Return what is mistaken of a joint whose distance along an axis is to be multiplied by so much, and the robot."""
    place = robot.joints[j].placement
    along = place.position[k]
    words = _LENGTH.format(along, "xyz"[k], 100.0 * (factor - 1.0))
    longer = place.position + (factor - 1.0) * along * np.eye(3)[k]
    return f"{robot.joints[j].name}: {words}", _placed(robot, j, Pose(place.rotation, longer))


def _placed(robot: Robot, j: int, placement: Pose) -> Robot:
    return with_joint(robot, j, replace(robot.joints[j], placement=placement))
