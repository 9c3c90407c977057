"""Other robots that a Denavit-Hartenberg table or a URDF may have meant, by what is wrong with the file then."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ident.compare.causes.described import Described, described_by
from ident.errors import IdentError, RobotError
from ident.robot.file import robot_from
from ident.robot.robot import Joint, Robot
from ident.robot.urdf import read_description
from ident.spatial.inertia import Pose, axis_angle, roll_pitch_yaw
from ident.tables import read_toml

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
