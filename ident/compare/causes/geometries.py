"""Other robots that a Denavit-Hartenberg table or a URDF may have meant, by what is wrong with the file then."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ident.errors import RobotError
from ident.robot.file import robot_from
from ident.robot.robot import Joint, Robot
from ident.spatial.inertia import Pose, axis_angle
from ident.tables import read_toml

#: The numbers of a row that belong to the geometry, whichever joint it is.
_GEOMETRY = ("a", "alpha", "d", "theta")
#: Cosine below which an axis lies across another.
_ACROSS = 0.5


def geometries(robot_file: str | Path, robot: Robot) -> dict[str, Robot]:
    """Return other robots than a file describes, by what is mistaken in it; robot: the one that it describes.

    Of a Denavit-Hartenberg table those with other rows, of a URDF those with frames or axes turned by quarters. Raises
    RobotError for a file that cannot be read.
    """
    path = Path(robot_file)
    data = read_toml(path, RobotError) if path.suffix.lower() == ".toml" else {}
    if data.get("convention") not in ("dh", "mdh"):
        return dict(_turned(robot))
    found = dict[str, Robot]()
    for what, changed in _changed(data):
        try:
            found[what] = robot_from(data | changed, path)
        except RobotError:  # such a table is none
            continue
    return found


def _turned(robot: Robot) -> Iterator[tuple[str, Robot]]:
    """Yield what may be mistaken in one joint's rpy or axis, and the robot without it."""
    for j, joint in enumerate(robot.joints):
        for k, letter in enumerate("xyz"):
            along = np.eye(3)[k]
            across = abs(float(along @ joint.axis)) < _ACROSS
            for turn in (90, -90, 180) if across else ():
                rotation = joint.placement.rotation @ axis_angle(along, np.deg2rad(turn))
                changed = replace(joint, placement=Pose(rotation, joint.placement.position))
                what = f"the frame of {joint.name} has to be turned by {turn} degrees about its {letter}"
                yield what, _with(robot, j, changed)
            if across and not joint.point.any():
                what = f"the axis of {joint.name} is {letter}, not as described"
                yield what, _with(robot, j, replace(joint, axis=along))


def _with(robot: Robot, j: int, joint: Joint) -> Robot:
    return replace(robot, joints=(*robot.joints[:j], joint, *robot.joints[j + 1 :]))


def _changed(data: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield what may be mistaken, and the keys of the file without the mistake."""
    other, name = ("mdh", "modified") if data["convention"] == "dh" else ("dh", "standard")
    yield f"its table is a {name} Denavit-Hartenberg table", {"convention": other}
    rows = [dict(row) for row in data.get("joint", ())]
    names = [row.get("name", f"joint{i + 1}") for i, row in enumerate(rows)]
    for i, row in enumerate(rows):
        for key in ("a", "alpha", "d"):
            if row.get(key):
                flipped = [*rows[:i], row | {key: -row[key]}, *rows[i + 1 :]]
                yield f"{key} of {names[i]} has the other sign", {"joint": flipped}
    for i in range(len(rows) - 1):
        (one, two), rest = rows[i : i + 2], [{k: v for k, v in r.items() if k not in _GEOMETRY} for r in rows]
        swapped = [*rows]
        swapped[i] = rest[i] | {k: two[k] for k in _GEOMETRY if k in two}
        swapped[i + 1] = rest[i + 1] | {k: one[k] for k in _GEOMETRY if k in one}
        if swapped != rows:
            yield f"the rows of {names[i]} and {names[i + 1]} are swapped", {"joint": swapped}
