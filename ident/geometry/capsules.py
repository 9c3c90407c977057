"""Capsules around links: the smallest ones that hold a URDF's <collision> shapes, or along the links of a DH table.

Meshes are read as untrusted data: STL, OBJ and COLLADA, inside one folder, nothing that they refer to.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ident.arrays import Array, frozen
from ident.errors import InputError, RobotError
from ident.files import data_path
from ident.geometry.mesh import mesh_points
from ident.geometry.scene import Box, Capsule, carrier
from ident.robot.robot import Robot
from ident.robot.urdf import parse_document, read_description
from ident.robot.xml import At, Element, Urdf, read_bytes


def fit_capsules(urdf: str | Path, robot: Robot, *, folder: str | Path | None = None) -> tuple[Capsule, ...]:
    """Return one capsule around each link that has <collision> shapes, its own and those of what is fixed to it.

    The base's comes first, then the moving links' in the order of the joints. `folder` holds the meshes (default: the
    URDF's own), see `collision_clouds`. Raises RobotError for no URDF, and as `collision_clouds` does.
    """
    path = Path(urdf)
    document = parse_document(read_bytes(path), file=path.name)
    clouds = collision_clouds(document, robot, path.parent if folder is None else folder)
    return tuple(smallest_capsule(cloud.points, cloud.radii, link) for link, cloud in clouds.items())


def link_capsules(robot: Robot, radius: float) -> tuple[Capsule, ...]:
    """Return capsules of one radius [m] along the links, from a link's joint to each of the joints that it carries.

    For a robot that says nothing about its shape. A link that carries no joint reaches to its frame's origin and to
    the frames fixed to it; the base has none. A link with several is followed by the name of the far end.
    Raises RobotError for a radius that is not positive.
    """
    found = []
    for i, link in enumerate(robot.links):
        own = robot.joints[i]
        carried = [joint for joint in robot.joints if joint.parent == i]
        ends = {j.name: j.placement.rotation @ j.point + j.placement.position for j in carried}
        if not ends:
            ends = {"tip": np.zeros(3)} | {body.name: body.pose.position for body in robot.fixed if body.link == i}
        far = {name: end for name, end in ends.items() if np.linalg.norm(end - own.point) > 1e-9}
        for name, end in (far or dict(list(ends.items())[:1])).items():
            title = link if len(far) < 2 else f"{link} to {name}"
            found.append(Capsule(link, own.point, end, radius, title))
    return tuple(found)


def smallest_capsule(points: ArrayLike, radii: ArrayLike | None = None, link: str = "link") -> Capsule:
    """Return a capsule that holds all balls around points (k, 3) with radii (k,) [m], by default 0.

    Its volume is a local minimum over axis and radius, the least of several starts. That it holds the balls does not
    depend on the search: the radius and the ends follow from the axis. Raises RobotError for no points, or points that
    are not finite.
    """
    from scipy.optimize import minimize

    points = frozen(points, (None, 3), "points", RobotError)
    radii = np.zeros(len(points)) if radii is None else frozen(radii, (len(points),), "radii", RobotError)
    if len(points) == 0:
        raise RobotError(f"link '{link}' has no points to put a capsule around")
    middle = (points.max(axis=0) + points.min(axis=0)) / 2
    size = float(np.linalg.norm(points - middle, axis=1).max() + radii.max())
    if size == 0.0:
        raise RobotError(f"link '{link}' is a single point without extent")
    scaled, thick = (points - middle) / size, radii / size
    outer, balls = _outer(scaled, thick)

    def searched(axis: Array) -> tuple[float, Array, Array]:
        """Return the least volume from an axis on, the frame of the capsule there, and the rest of its numbers."""
        frame = _frame(axis)

        def volume(x: Array) -> float:
            a, b, r = _around(outer, balls, frame, x)
            return math.pi * r**2 * (float(np.linalg.norm(b - a)) + 4.0 / 3.0 * r)

        x = np.array([0.0, 0.0, *(frame[:2] @ (outer.max(axis=0) + outer.min(axis=0)) / 2), 0.0])
        for step in (0.15, 0.03):  # the second time because a simplex may have collapsed
            options: Any = {"initial_simplex": np.concatenate([x[None], x + step * np.eye(5)]), "maxfev": 1500}
            found = minimize(volume, x, method="Nelder-Mead", options=options | {"xatol": 1e-5, "fatol": 1e-8})
            x = found.x
        return float(found.fun), _axes(frame, x), np.array([0.0, 0.0, *x[2:]])

    _, _, axes = np.linalg.svd(outer - outer.mean(axis=0), full_matrices=True)
    _, frame, x = min(map(searched, axes), key=itemgetter(0))
    a, b, r = _around(scaled, thick, frame, x)
    return Capsule(link, middle + size * a, middle + size * b, size * max(r, 1e-6) * (1 + 1e-9), link)


def _around(points: Array, radii: Array, frame: Array, x: Array) -> tuple[Array, Array, float]:
    """Return start, end and radius of the shortest capsule on an axis that holds all balls.

    x (5,): two tilts of the axis frame[2], the axis's place across, and by how much the radius is above its least.
    """
    axes = _axes(frame, x)
    seen = points @ axes.T
    aside = np.hypot(seen[:, 0] - x[2], seen[:, 1] - x[3])
    radius = float((aside + radii).max()) * (1.0 + x[4] ** 2)
    # a ball at the height z is held when an end is at most `reach` from it
    reach = np.sqrt(np.maximum((radius - radii) ** 2 - aside**2, 0.0))
    low, high = float((seen[:, 2] + reach).min()), float((seen[:, 2] - reach).max())
    if low > high:
        low = high = (low + high) / 2  # a sphere holds them
    foot = x[2] * axes[0] + x[3] * axes[1]
    return foot + low * axes[2], foot + high * axes[2], radius


def _axes(frame: Array, x: Array) -> Array:
    """Return the frame (3, 3), rows its axes, with its third axis tilted."""
    axis = frame[2] + x[0] * frame[0] + x[1] * frame[1]
    return _frame(axis, frame[0])


def _frame(axis: Array, hint: Array | None = None) -> Array:
    """Return three perpendicular unit vectors (3, 3), the last along `axis`, the first near `hint`."""
    axis = axis / np.linalg.norm(axis)
    hint = np.eye(3)[np.argmin(np.abs(axis))] if hint is None else hint
    first = hint - (hint @ axis) * axis
    first = first / np.linalg.norm(first)
    return np.array([first, np.cross(axis, first), axis])


def _outer(points: Array, radii: Array) -> tuple[Array, Array]:
    """Return the balls that can touch the capsule: corners of the hull, where all are points and it has a volume."""
    from scipy.spatial import ConvexHull, QhullError

    if len(points) > 8 and not radii.any():
        with suppress(QhullError):  # of what is flat
            corners = ConvexHull(points).vertices
            return points[corners], radii[corners]
    return points, radii


SHAPES = ("box", "cylinder", "sphere", "capsule", "mesh")
_DIRECTIONS = 150  # of an outline
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

    def outline(self) -> Array:
        """Return the points (j, 3) of the balls that are farthest in evenly spread directions."""
        k = np.arange(_DIRECTIONS) + 0.5
        z, turn = 1.0 - 2.0 * k / _DIRECTIONS, k * np.pi * (3.0 - 5.0**0.5)
        spread = np.column_stack([np.cos(turn) * np.sqrt(1.0 - z * z), np.sin(turn) * np.sqrt(1.0 - z * z), z])
        far = np.argmax(self.points @ spread.T + self.radii[:, None], axis=0)
        return np.unique(self.points[far] + self.radii[far, None] * spread, axis=0)


def collision_clouds(urdf: Urdf, robot: Robot, folder: str | Path) -> dict[str, Cloud]:
    """Return by link what encloses its <collision> shapes and those of everything fixed to it, in its frame.

    `robot` has the links of `urdf`, some of its joints held; what the URDF fixes to a link need not be in it. Links
    without any shape are left out. A mesh's file name is relative to `folder`, or package://NAME/PATH, which is
    NAME/PATH or PATH in it.
    Raises RobotError, with link, line and file name, for a mesh that is missing, leads out of the folder, or is no STL,
    OBJ or COLLADA file that is whole, for shapes that are none, and for links that the robot does not have.
    """
    found: dict[str, list[Cloud]] = {name: [] for name in (robot.base, *robot.links)}
    for name, at, element in _described(urdf, "collision"):
        link, cloud = _placed(urdf, robot, name, at, element, Path(folder))
        found[link].append(cloud)
    return {
        link: Cloud(np.concatenate([c.points for c in clouds]), np.concatenate([c.radii for c in clouds]))
        for link, clouds in found.items()
        if clouds
    }


def link_shapes(path: str | Path, robot: Robot) -> dict[str, list[Array]]:
    """Return by link points (k, 3) [m] around each of its <collision> shapes, in its frame, as `collision_clouds`.

    A URDF without such shapes gives the <visual> ones that are no meshes. What cannot be read is left out: meshes are
    often not beside a description.
    """
    path, found = Path(path), dict[str, list[Array]]()
    document = read_description(path)
    for tag in ("collision", "visual"):
        for name, at, element in _described(document, tag):
            with suppress(RobotError):
                if tag == "visual" and at.need(element, "geometry").all("mesh"):
                    continue
                link, cloud = _placed(document, robot, name, at, element, path.parent)
                found.setdefault(link, []).append(cloud.outline())
        if found:
            break
    return found


def _described(urdf: Urdf, tag: str) -> Iterator[tuple[str, At, Element]]:
    """Yield each link with each of its elements of a tag."""
    for name, link in urdf.links.items():
        yield from ((name, At(urdf.file, f"link '{name}'"), element) for element in link.element.all(tag))


def _placed(urdf: Urdf, robot: Robot, name: str, at: At, element: Element, folder: Path) -> tuple[str, Cloud]:
    """Return the moving link (or base) that carries a link's shape, and the shape in its frame."""
    cloud, place = _cloud(at, at.need(element, "geometry"), folder), at.origin(element)
    holds = {joint.child: joint for joint in urdf.joints.values() if joint.kind == "fixed"}
    while name not in robot.frames and name in holds:
        name, place = holds[name].parent, holds[name].origin @ place
    link, pose = carrier(robot, name)
    place = pose @ place
    moved = Cloud(cloud.points @ place.rotation.T + place.position, cloud.radii)
    return robot.base if link < 0 else robot.links[link], moved


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
