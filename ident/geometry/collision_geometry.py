"""The <collision> shapes of a URDF as points that enclose them, for each moving link and the base.

Meshes are read as untrusted data: STL, OBJ and COLLADA, inside one folder, nothing that they refer to.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import numpy as np

from ident.arrays import Array
from ident.errors import InputError, RobotError
from ident.geometry.mesh import mesh_points
from ident.geometry.scene import frames
from ident.geometry.shapes import Box
from ident.robot.file import data_path
from ident.robot.robot import Robot
from ident.robot.urdf import At, Urdf
from ident.robot.xml import Element

SHAPES = ("box", "cylinder", "sphere", "capsule", "mesh")
_SIDES = 32  # of the prism around a cylinder, which is 0.5 % wider


@dataclass(frozen=True, eq=False)
class Cloud:
    """Balls around points (k, 3) with radii (k,) [m] whose convex hull holds a body."""

    points: Array
    radii: Array

    def surface(self) -> Array:
        """Return points (j, 3) of the balls' surfaces, 26 of each that has a radius [m]."""
        grid = np.stack(np.meshgrid(*[(-1.0, 0.0, 1.0)] * 3), axis=-1).reshape(-1, 3)
        around = np.delete(grid, 13, axis=0)  # not the middle
        around /= np.linalg.norm(around, axis=1, keepdims=True)
        round_ = self.radii > 0
        shell = self.points[round_, None] + self.radii[round_, None, None] * around
        return np.concatenate([self.points[~round_], shell.reshape(-1, 3)])

    @staticmethod
    def joined(clouds: list[Cloud]) -> Cloud:
        """Return one cloud of the balls of all clouds."""
        return Cloud(np.concatenate([c.points for c in clouds]), np.concatenate([c.radii for c in clouds]))


def collision_clouds(urdf: Urdf, robot: Robot, folder: str | Path) -> dict[str, Cloud]:
    """Return by link what encloses its <collision> shapes and those of everything fixed to it, in its frame.

    `robot` is the one read from `urdf`; links without any shape are left out. A mesh's file name is relative to
    `folder`, or package://NAME/PATH, which is NAME/PATH or PATH in it.
    Raises RobotError, with link, line and file name, for a mesh that is missing, leads out of the folder, or is no STL,
    OBJ or COLLADA file that is whole, and for shapes that are none.
    """
    clouds: dict[str, list[Cloud]] = {name: [] for name in (robot.base, *robot.links)}
    placed = frames(robot)
    for name, link in urdf.links.items():
        carrier, pose = placed[name]
        at = At(urdf.file, f"link '{name}'")
        for collision in link.element.all("collision"):
            cloud = _cloud(at, at.need(collision, "geometry"), Path(folder))
            place = pose @ at.origin(collision)
            moved = Cloud(cloud.points @ place.rotation.T + place.position, cloud.radii)
            clouds[robot.base if carrier < 0 else robot.links[carrier]].append(moved)
    return {name: Cloud.joined(found) for name, found in clouds.items() if found}


def _cloud(at: At, geometry: Element, folder: Path) -> Cloud:
    shapes = [child for child in geometry.children if child.tag in SHAPES]
    if len(shapes) != 1:
        found = ", ".join(f"<{child.tag}>" for child in geometry.children) or "nothing"
        raise at.error(f"<geometry> holds {found}, wanted one of {', '.join(SHAPES)}", geometry)
    (shape,) = shapes
    if shape.tag == "mesh":
        points = _mesh_points(at, shape, folder)
        return Cloud(points, np.zeros(len(points)))
    if shape.tag == "box":
        size = at.numbers(shape, "size", 3)
        if min(size) <= 0:
            raise at.error(f"<box> has an edge of {min(size):g} m, wanted lengths above 0", shape)
        return Cloud(Box("box", np.array(size)).corners, np.zeros(8))
    radius = at.number(shape, "radius")
    length = 0.0 if shape.tag == "sphere" else at.number(shape, "length")
    if radius <= 0 or length < 0:
        raise at.error(f"<{shape.tag}> has radius {radius:g} m and length {length:g} m, wanted above 0", shape)
    if shape.tag == "cylinder":
        turns = np.arange(_SIDES) * (2 * math.pi / _SIDES)
        rim = radius / math.cos(math.pi / _SIDES) * np.stack([np.cos(turns), np.sin(turns)], axis=1)
        ends = [np.column_stack([rim, np.full(_SIDES, z)]) for z in (-length / 2, length / 2)]
        return Cloud(np.concatenate(ends), np.zeros(2 * _SIDES))
    points = np.array([[0, 0, -length / 2], [0, 0, length / 2]])
    return Cloud(points, np.full(2, radius))


def _mesh_points(at: At, mesh: Element, folder: Path) -> Array:
    """Return the vertices (k, 3) [m] of a <mesh>."""
    name = at.text(mesh, "filename")
    path = _mesh_path(at, mesh, name, folder)
    scale = np.array(at.numbers(mesh, "scale", 3)) if "scale" in mesh.attributes else np.ones(3)
    try:
        points = mesh_points(path)
    except RobotError as cause:
        line = "" if cause.line is None else f" (line {cause.line})"
        raise at.error(f"the mesh '{name}'{line}: {cause.problem}", mesh, cause.fix) from cause
    return points * scale


def _mesh_path(at: At, mesh: Element, name: str, folder: Path) -> Path:
    scheme, _, rest = name.rpartition("://")
    if scheme not in ("", "package"):
        raise at.error(f"the mesh '{name}' is named by {scheme}://, wanted package:// or a relative path", mesh)
    rest = rest.replace("\\", "/")
    if rest.startswith("$") or PurePosixPath(rest).is_absolute():
        raise at.error(f"the mesh '{name}' is named by an absolute path", mesh, "Give it relative to the mesh folder")
    tries = [rest, rest.partition("/")[2]] if scheme else [rest]
    for text in filter(None, tries):
        try:
            path = data_path(text, folder)
        except InputError as cause:
            raise at.error(f"the mesh '{name}': {cause.problem}", mesh, cause.fix) from cause
        if path.is_file():
            return path
    raise at.error(f"the mesh '{name}' is not in '{folder.name}'", mesh, "Give the folder that holds the meshes")
