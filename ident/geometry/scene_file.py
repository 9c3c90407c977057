"""Scene files, `scene.toml`: capsules, planes, boxes, points, a workspace, margins, and pairs that may touch.

`docs/examples/scene.toml` has every key.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ident.errors import RobotError
from ident.files import data_path
from ident.geometry.capsules import fit_capsules, link_capsules
from ident.geometry.scene import Box, Capsule, Plane, Point, Scene, carrier
from ident.robot.file import ANGLE, LENGTH
from ident.robot.robot import Robot
from ident.spatial.inertia import Pose, rpy
from ident.tables import Table, read_toml

# The keys of each table, and what they mean.
_KEYS = {
    "length": "Unit of all lengths of the file.",
    "angle": "Unit of all angles of the file.",
    "margins": "Clearances that are kept.",
    "ignored": "Pairs of names of links, capsules, planes or boxes that may touch.",
    "link_radius": "Radius of capsules along all links.",
    "fit": "Instead of link_radius: a URDF whose <collision> shapes get one capsule for each link.",
    "meshes": "Folder of that URDF's meshes; without, the URDF's own.",
    "capsule": "Capsules of one link, instead of those made by link_radius or fit.",
    "plane": "Free where normal . p >= offset, in the base frame.",
    "box": "Obstacles, in the base frame.",
    "point": "Points of links that stay within the workspace.",
    "workspace": "What points stay within: planes and boxes.",
}
_WORKSPACE = {"plane": "On whose free side points stay.", "box": "Inside which points stay."}
_MARGINS = {
    "self": "Between two links.",
    "environment": "Between links and planes or boxes.",
    "workspace": "Between points and the workspace's ends.",
}
_CAPSULE = {
    "link": "The link, or a frame fixed to it.",
    "start": "One end of its axis, in that frame.",
    "end": "The other end; without, a ball.",
    "radius": "Of the capsule.",
    "name": "Without, the link's.",
}
_POINT = {
    "name": "Of the point.",
    "link": "The link, or a frame fixed to it.",
    "position": "In that frame.",
    "within": "Names of the workspace's planes and boxes; without, all of them.",
}
_PLANE = {"name": "Of the plane.", "normal": "Towards the free side.", "offset": "Along the normal, of length 1."}
_BOX = {"name": "Of the box.", "size": "Three lengths.", "xyz": "Its centre.", "rpy": "Its turn; without, none."}


def read_scene(path: str | Path, robot: Robot) -> Scene:
    """Return the scene of a .toml file for `robot`; lengths in m and angles in rad unless it says so.

    `fit` names a URDF inside the file's folder (or $IDENT_DATA/...), whose <collision> shapes give one capsule for each
    link; `meshes` the folder of their meshes, by default the URDF's own. Links with capsules of their own get no other;
    joints that `robot` holds are held.
    Raises RobotError with file and key for what is unknown (with the nearest known name), missing or of a wrong type,
    and for links that the robot does not have.
    """
    path = Path(path)
    top = Table(read_toml(path, RobotError), "", path, RobotError)
    with top.place():
        top.known(_KEYS)
        units = _Units(top)
        room = top.inner("workspace")
        room.known(_WORKSPACE)
        capsules = [units.capsule(t, robot) for t in top.tables("capsule", optional=True)]
        own = {carrier(robot, capsule.link)[0] for capsule in capsules}
        fitted = [c for c in _fitted(top, robot, units.length) if carrier(robot, c.link)[0] not in own]
        scene = Scene(
            capsules=(*fitted, *capsules),
            planes=tuple(units.plane(t) for t in top.tables("plane", optional=True)),
            boxes=tuple(units.box(t) for t in top.tables("box", optional=True)),
            points=tuple(units.point(t, robot) for t in top.tables("point", optional=True)),
            workspace=(
                *(units.plane(t) for t in room.tables("plane", optional=True)),
                *(units.box(t) for t in room.tables("box", optional=True)),
            ),
            ignored=_ignored(top),
            **units.margins(top),
        )
        scene.pairs(robot)  # knows the names that are ignored
        return scene


def _ignored(top: Table) -> tuple[tuple[str, str], ...]:
    if "ignored" not in top.data:
        return ()
    pairs = top.data["ignored"]
    if not isinstance(pairs, list):
        raise top.error("ignored", "must be a list of pairs of names")
    found = []
    entries = top.entries("ignored")
    for key in entries.data:
        names = entries.texts(key)
        if len(names) != 2:
            raise entries.error(key, f"has {len(names)} names, wanted 2")
        found.append((names[0], names[1]))
    return tuple(found)


def _fitted(top: Table, robot: Robot, length: float) -> tuple[Capsule, ...]:
    if "link_radius" in top.data:
        if "fit" in top.data:
            raise top.error("link_radius", "stands beside fit, and both give capsules: keep one of the two")
        return link_capsules(robot, top.number("link_radius") / length)
    if "fit" not in top.data:
        if "meshes" in top.data:
            raise top.error("meshes", "is given without fit", "Name the URDF: fit = 'robot.urdf'")
        return ()
    with top.place("fit"):
        urdf = data_path(top.text("fit"), top.file.parent)
    folder = None
    if "meshes" in top.data:
        with top.place("meshes"):
            folder = data_path(top.text("meshes"), top.file.parent)
    with top.place("fit"):
        return fit_capsules(urdf, robot, folder=folder)


class _Units:
    """Reads shapes in the file's units."""

    def __init__(self, top: Table) -> None:
        self.length = LENGTH[top.choice("length", LENGTH, "m")]
        self.angle = ANGLE[top.choice("angle", ANGLE, "rad")]

    def margins(self, top: Table) -> dict[str, float]:
        table = top.inner("margins")
        table.known(_MARGINS)
        for key in table.data:
            if table.number(key) < 0:
                raise table.error(key, f"is {table.number(key):g}, wanted 0 or more")
        return {f"{key}_margin": table.number(key) / self.length for key in table.data}

    def capsule(self, table: Table, robot: Robot) -> Capsule:
        table.known(_CAPSULE)
        link = _link(table, robot)
        start = table.numbers("start", 3)
        end = table.numbers("end", 3) if "end" in table.data else start
        radius = table.number("radius") / self.length
        with table.place():
            return Capsule(link, start / self.length, end / self.length, radius, table.text("name", link))

    def point(self, table: Table, robot: Robot) -> Point:
        table.known(_POINT)
        within = tuple(table.texts("within")) if "within" in table.data else None
        return Point(table.text("name"), _link(table, robot), table.numbers("position", 3) / self.length, within)

    def plane(self, table: Table) -> Plane:
        table.known(_PLANE)
        with table.place():
            return Plane(table.text("name"), table.numbers("normal", 3), table.number("offset", 0.0) / self.length)

    def box(self, table: Table) -> Box:
        table.known(_BOX)
        turn = table.numbers("rpy", 3) / self.angle if "rpy" in table.data else np.zeros(3)
        with table.place():
            at = table.numbers("xyz", 3) / self.length
            return Box(table.text("name"), table.numbers("size", 3) / self.length, Pose(rpy(*turn), at))


def _link(table: Table, robot: Robot) -> str:
    link = table.text("link")
    with table.place("link"):
        carrier(robot, link)
    return link
