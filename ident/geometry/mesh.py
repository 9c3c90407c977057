"""The vertices of mesh files, read as untrusted data: nothing that they refer to is opened.

STL and OBJ are read here: the vertices are a dozen lines, and must be all there; trimesh mends what is broken.

COLLADA files (.dae) have our own reader of positions alone, because of what trimesh needs for it: pycollada leaves out
bodies with broken references without a word, takes arrays that are cut off and NaN, and walks nested instances without
end; and neither applies the file's unit.

<unit> is applied, as RViz and Gazebo do (Coal, and with it Pinocchio, takes every file as metres).
<up_axis> is not: ROS tools place the points as they stand in the file (RViz and MoveIt's geometric_shapes undo the
turn of assimp: ros-visualization/rviz issue 1045, moveit/geometric_shapes pull request 52; Coal, Pinocchio and trimesh
ignore it), and robots' files are made for that.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from ident.arrays import Array
from ident.errors import RobotError
from ident.robot.xml import At, Element, inner_text, parse_xml, read_bytes
from ident.spatial.inertia import axis_angle

LARGEST_MESH = 200_000_000  # bytes
KINDS = ("stl", "obj", "dae")


def mesh_points(path: str | Path) -> Array:
    """Return the vertices (k, 3) of an STL or OBJ file in its own unit, of a COLLADA file in metres.

    Raises RobotError for another ending, and for a file that has none, is no such file, or is not whole.
    """
    path = Path(path)
    kind = path.suffix.lower().removeprefix(".")
    if kind not in KINDS:
        raise RobotError(f"is none of {', '.join(KINDS)}", file=path, fix="Convert it, for example with Blender")
    data = read_bytes(path, LARGEST_MESH)
    points = collada_points(data, path.name) if kind == "dae" else _vertices(data, kind)
    if points is None:
        raise RobotError(f"cannot be read as {kind.upper()}", file=path, fix="Export it again")
    return points


def _vertices(data: bytes, kind: str) -> Array | None:
    """Return the vertices (k, 3) of an STL or OBJ file, None when it has none or is no such file, or not whole."""
    if kind == "stl" and len(data) >= 84 and len(data) >= 84 + 50 * (count := int.from_bytes(data[80:84], "little")):
        facet = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])
        corners = np.frombuffer(data, facet, count, 84)["corners"].reshape(-1, 3)
        points = np.where(np.isfinite(corners), corners, np.inf).astype(np.float64)
    else:
        lines = [line.split() for line in data.splitlines() if line.strip()]
        if kind == "stl" and (not lines or lines[0][0].lower() != b"solid" or lines[-1][0].lower() != b"endsolid"):
            return None
        mark = b"vertex" if kind == "stl" else b"v"
        words = [line[1:4] for line in lines if line[0].lower() == mark]
        try:
            points = np.array([[float(w) for w in line] for line in words if len(line) == 3])
        except ValueError:
            return None
        if len(points) != len(words):
            return None
    return points if len(points) and np.isfinite(points).all() else None


MOST_TAGS = 2_000_000
MOST_POINTS = 10_000_000  # with every instance of a mesh counted
MOST_NODES = 100_000  # likewise
DEEPEST = 100  # nodes within nodes, with instances counted

_NOT_READ = ("skew", "instance_controller")
_EXPORT = "Export it again, or as STL"


def collada_points(data: bytes, file: str | None = None) -> Array:
    """Return where the scene of a COLLADA 1.4 or 1.5 file puts the vertices of its meshes, (k, 3) [m].

    All positions of a mesh count, whether a face uses them or not.
    Raises RobotError, with the line, for a file that is none, for references that lead out of the file or nowhere,
    arrays that are cut off or hold anything but finite numbers, more than MOST_POINTS points, MOST_NODES nodes or
    MOST_TAGS tags, and for what is not read: skinned meshes, splines and <skew>.
    """
    if data.count(b"<") > MOST_TAGS:
        raise RobotError(f"the file holds more than {MOST_TAGS} tags", file=file, fix=_EXPORT)
    scene = _Collada(parse_xml(data, file=file), data, At(file, fix=_EXPORT))
    with np.errstate(over="ignore", invalid="ignore"):
        points = [mesh @ place[:3, :3].T + place[:3, 3] for mesh, place in scene.meshes()]
        found = np.concatenate(points) * scene.unit if points else np.zeros((0, 3))
    if not np.isfinite(found).all():
        raise RobotError("the points in the scene are beyond what a number can hold", file=file, fix=_EXPORT)
    if not len(found):
        raise RobotError("there are no points in the scene", file=file, fix=_EXPORT)
    return found


@dataclass(frozen=True)
class _Collada:
    root: Element
    data: bytes
    at: At

    @cached_property
    def named(self) -> dict[tuple[str, str], list[Element]]:
        """The elements that have an id, by tag and id."""
        found: dict[tuple[str, str], list[Element]] = {}
        for element in self.root.everything():
            if "id" in element.attributes:
                found.setdefault((element.tag, element.attributes["id"].value), []).append(element)
        return found

    @cached_property
    def unit(self) -> float:
        """Metres in a unit of length; a part of the file cannot have its own."""
        units = [unit for e in self.root.everything() if e.tag == "asset" for unit in e.all("unit")]
        try:
            sizes = {float(unit.values.get("meter", "1")) for unit in units} or {1.0}
        except ValueError:
            sizes = {math.nan}
        size = sizes.pop()
        if sizes or not 0 < size < math.inf:
            raise self.at.error("<unit> states no single positive number of metres", units[0])
        return size

    def meshes(self) -> Iterator[tuple[Array, Array]]:
        """Return the points (k, 3) of each mesh in the scene with the place (4, 4) of its node, in the file's unit."""
        root = self.root
        if root.tag != "COLLADA" or not root.values.get("version", "").startswith(("1.4", "1.5")):
            raise self.at.error("the file does not begin with <COLLADA> of version 1.4 or 1.5", root)
        known: dict[int, Array] = {}
        points = nodes = 0
        ahead = []
        for scene in root.all("scene"):
            for shown in scene.all("instance_visual_scene"):
                ahead += [(node, np.eye(4), 1) for node in self.referred(shown, "url", "visual_scene").all("node")]
        while ahead:
            node, place, depth = ahead.pop()
            nodes += 1
            if depth > DEEPEST or nodes > MOST_NODES:
                problem = f"a node is in itself or {DEEPEST} deep, or the scene has more than {MOST_NODES}"
                raise self.at.error(problem, node)
            for child in node.children:
                place = place @ self.transform(child)
            ahead += [(child, place, depth + 1) for child in node.all("node")]
            ahead += [(self.referred(child, "url", "node"), place, depth + 1) for child in node.all("instance_node")]
            for child in node.all("instance_geometry"):
                geometry = self.referred(child, "url", "geometry")
                if geometry.start not in known:
                    known[geometry.start] = self.positions(geometry)
                points += len(known[geometry.start])
                if points > MOST_POINTS:
                    raise self.at.error(f"the scene shows more than {MOST_POINTS} points", child)
                yield known[geometry.start], place

    def transform(self, element: Element) -> Array:
        """Return (4, 4), unity for an element that is no transform."""
        found = np.eye(4)
        match element.tag:
            case "matrix":
                found = self.numbers(element, 16).reshape(4, 4)
                if not np.allclose(found[3], [0, 0, 0, 1]):
                    raise self.at.error("the last row of <matrix> is not 0 0 0 1", element)
            case "translate":
                found[:3, 3] = self.numbers(element, 3)
            case "scale":
                found[:3, :3] = np.diag(self.numbers(element, 3))
            case "rotate":
                x, y, z, degrees = self.numbers(element, 4)
                if not (length := math.hypot(x, y, z)):
                    raise self.at.error("<rotate> has no axis", element)
                found[:3, :3] = axis_angle(np.array([x, y, z]) / length, math.radians(degrees))
            case "lookat":  # from the first point, -z towards the second, with y upwards
                eye, aim, up = self.numbers(element, 9).reshape(3, 3)
                side = np.cross(aim - eye, up)
                axes = np.array([side, np.cross(side, aim - eye), eye - aim])
                lengths = np.linalg.norm(axes, axis=1)
                if not lengths.all():
                    raise self.at.error("<lookat> has no direction", element)
                found[:3, :3], found[:3, 3] = (axes / lengths[:, None]).T, eye
            case tag if tag in _NOT_READ:
                raise self.at.error(f"<{tag}> is not read", element)
        return found

    def positions(self, geometry: Element) -> Array:
        """Return the points (k, 3) of a geometry."""
        for mesh in geometry.all("mesh"):
            for vertices in mesh.all("vertices"):
                for given in vertices.all("input"):
                    if self.at.text(given, "semantic") == "POSITION":
                        return self.source(self.referred(given, "source", "source"))
        raise self.at.error("<geometry> holds no <mesh> with positions", geometry)

    def source(self, source: Element) -> Array:
        """Return the X, Y and Z (k, 3) that the accessor of a source tells to take from its array."""
        accessors = [a for technique in source.all("technique_common") for a in technique.all("accessor")]
        if len(accessors) != 1:
            raise self.at.error(f"<source> has {len(accessors)} accessors, wanted one", source)
        (accessor,) = accessors
        array = self.referred(accessor, "source", "float_array")
        values = self.numbers(array, self.whole(array, "count"))
        count, stride, offset = (self.whole(accessor, *key) for key in (("count",), ("stride", "1"), ("offset", "0")))
        names = [param.values.get("name", "") for param in accessor.all("param")] or ["X", "Y", "Z"]
        if any(names.count(axis) != 1 for axis in "XYZ") or len(names) > stride:
            problem = f"<accessor> does not name X, Y and Z once each within its stride of {stride}"
            raise self.at.error(problem, accessor)
        columns = [offset + names.index(axis) for axis in "XYZ"]
        if count and (count - 1) * stride + max(columns) >= len(values):
            problem = f"<accessor> asks for {count} points, its array of {len(values)} numbers ends"
            raise self.at.error(problem, accessor)
        return np.stack([values[c::stride][:count] for c in columns], axis=1)

    def referred(self, element: Element, key: str, tag: str) -> Element:
        """Return the only element of that tag that '#id' refers to."""
        url = self.at.text(element, key)
        if not url.startswith("#"):
            raise self.at.error(f"<{element.tag}> refers to '{url:.60}', outside of the file", element)
        found = self.named.get((tag, url[1:]), [])
        if len(found) != 1:
            raise self.at.error(f"<{element.tag}> refers to {len(found)} <{tag}> '{url[1:61]}', wanted one", element)
        return found[0]

    def numbers(self, element: Element, count: int) -> Array:
        return self.at.listed(inner_text(self.data, element), count, element)

    def whole(self, element: Element, name: str, default: str = "") -> int:
        text = self.at.text(element, name, default)
        if not (text.isascii() and text.isdecimal() and len(text) <= 12):
            raise self.at.error(f"{name} of <{element.tag}> is '{text:.40}', wanted a whole number", element)
        return int(text)
