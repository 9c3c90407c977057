"""Capsules and points on a robot's links, planes and boxes around it, and which of them must stay apart."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from ident.arrays import Array, frozen
from ident.errors import RobotError, nearest, require_known
from ident.robot.robot import Robot
from ident.spatial.inertia import Pose


@dataclass(frozen=True, eq=False)
class Capsule:
    """All points within `radius` [m] of the segment from `start` (3,) to `end` (3,) [m]; start == end is a sphere.

    `link` names the link, fixed body or base in whose frame the segment is given and with which it moves. `name`
    defaults to it. Raises RobotError for a radius that is not positive and for numbers that are not finite.
    """

    link: str
    start: Array
    end: Array
    radius: float
    name: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.name or self.link)
        for key in ("start", "end"):
            end = frozen(getattr(self, key), (3,), f"{key} of capsule '{self.name}'", RobotError)
            object.__setattr__(self, key, end)
        if not (math.isfinite(self.radius) and self.radius > 0):
            raise RobotError(f"the radius of capsule '{self.name}' is {self.radius:g} m, wanted a number above 0")


@dataclass(frozen=True, eq=False)
class Point:
    """A point of a link, fixed body or base: `position` (3,) [m] in the frame named `link`.

    It stays within the workspace planes and boxes named in `within`, within all of them by default.
    """

    name: str
    link: str
    position: Array
    within: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        position = frozen(self.position, (3,), f"position of point '{self.name}'", RobotError)
        object.__setattr__(self, "position", position)
        if self.within is not None:
            object.__setattr__(self, "within", tuple(self.within))


@dataclass(frozen=True, eq=False)
class Plane:
    """The half-space normal . p >= offset [m] that is free, in the base frame; `normal` (3,) is scaled to length 1.

    Offset is the plane's distance from the base frame's origin along the normal. Raises RobotError for a zero normal.
    """

    name: str
    normal: Array
    offset: float = 0.0

    def __post_init__(self) -> None:
        normal = frozen(self.normal, (3,), f"normal of plane '{self.name}'", RobotError)
        length = float(np.linalg.norm(normal))
        if length < 1e-9:
            raise RobotError(f"plane '{self.name}' has a zero normal", fix="Let it point to the free side: 0 0 1")
        if not math.isfinite(self.offset):
            raise RobotError(f"the offset of plane '{self.name}' is {self.offset:g}, wanted a finite number")
        object.__setattr__(self, "normal", frozen(normal / length, (3,), "normal"))


@dataclass(frozen=True, eq=False)
class Box:
    """A solid box with edges `size` (3,) [m] along the axes of `pose`, its centre's frame seen from the base frame."""

    name: str
    size: Array
    pose: Pose = field(default_factory=Pose.identity)

    def __post_init__(self) -> None:
        size = frozen(self.size, (3,), f"size of box '{self.name}'", RobotError)
        if size.min() <= 0:
            raise RobotError(f"box '{self.name}' has an edge of {size.min():g} m, wanted three lengths above 0")
        object.__setattr__(self, "size", size)

    @property
    def corners(self) -> Array:
        """The corners (8, 3) [m] in the base frame."""
        signs = np.stack(np.meshgrid([-0.5, 0.5], [-0.5, 0.5], [-0.5, 0.5]), axis=-1).reshape(8, 3)
        return np.asarray(signs * self.size @ self.pose.rotation.T + self.pose.position)


@dataclass(frozen=True, eq=False)
class Pair:
    """Two shapes with a clearance between them: capsule and capsule ("self"), plane or box ("environment"), or a point
    and the plane or box that it stays within ("workspace"). `margin` [m] is the least clearance wanted.
    """

    kind: Literal["self", "environment", "workspace"]
    first: Capsule | Point
    second: Capsule | Plane | Box
    margin: float

    @property
    def name(self) -> str:
        """Names of the two shapes, such as "upper arm - table"."""
        return f"{self.first.name} - {self.second.name}"


@dataclass(frozen=True, eq=False)
class Scene:
    """Capsules of a robot, planes and boxes that they must not touch, points and the workspace that they stay within.

    `ignored` are pairs of names, of a capsule, a link, a plane or a box, that may touch. Margins [m] are the least
    clearances between capsules, to the environment, and of points inside the workspace.
    Raises RobotError for names given twice and for margins that are negative.
    """

    capsules: tuple[Capsule, ...] = ()
    planes: tuple[Plane, ...] = ()
    boxes: tuple[Box, ...] = ()
    points: tuple[Point, ...] = ()
    workspace: tuple[Plane | Box, ...] = ()
    ignored: tuple[tuple[str, str], ...] = ()
    self_margin: float = 0.0
    environment_margin: float = 0.0
    workspace_margin: float = 0.0

    def __post_init__(self) -> None:
        for key in ("capsules", "planes", "boxes", "points", "workspace", "ignored"):
            object.__setattr__(self, key, tuple(getattr(self, key)))
        names = self._names
        twice = {name for name in names if names.count(name) > 1}
        if twice:
            raise RobotError(f"the name '{min(twice)}' is used more than once", fix="Give each shape its own name")
        for key in ("self_margin", "environment_margin", "workspace_margin"):
            margin = getattr(self, key)
            if not (math.isfinite(margin) and margin >= 0):
                raise RobotError(f"{key} is {margin:g} m, wanted a number that is 0 or more")
        rooms = [room.name for room in self.workspace]
        for point in self.points:
            for name in point.within or ():
                if name not in rooms:
                    problem = f"point '{point.name}' is kept within '{name}', which is no plane or box of the workspace"
                    fix = f"The workspace has {', '.join(rooms) or 'none'}"
                    raise RobotError(f"{problem}{nearest(name, rooms)}", fix=fix)

    @property
    def _names(self) -> list[str]:
        """The names of all shapes."""
        return [x.name for x in (*self.capsules, *self.points, *self.planes, *self.boxes, *self.workspace)]

    def pairs(self, robot: Robot) -> tuple[Pair, ...]:
        """Return what must stay apart, in a fixed order: self, environment, workspace.

        Left out are the ignored pairs, capsules of the same link or of a link and its parent, and what stands on the
        base and never moves against the environment. Raises RobotError for a link or an ignored name that is unknown.
        """
        known = [*self._names, *robot.frames]
        for pair in self.ignored:
            for name in pair:
                if name not in known:
                    problem = f"'{name}' in the ignored pair {pair[0]} - {pair[1]} is no shape and no link of robot"
                    raise RobotError(f"{problem} '{robot.name}'{nearest(name, known)}")
        bodies: tuple[Capsule | Point, ...] = (*self.capsules, *self.points)
        on = {x.name: carrier(robot, x.link)[0] for x in bodies}
        parents = (*robot.parents, -1)  # the base, -1, is its own parent

        def kept(first: Capsule | Point, second: Capsule | Plane | Box) -> bool:
            ours, theirs = _labels(robot, first), _labels(robot, second)
            return not any((a in ours and b in theirs) or (b in ours and a in theirs) for a, b in self.ignored)

        found = []
        for a, b in itertools.combinations(self.capsules, 2):
            i, j = on[a.name], on[b.name]
            if i not in (j, parents[j]) and j != parents[i] and kept(a, b):
                found.append(Pair("self", a, b, self.self_margin))
        obstacles: tuple[Plane | Box, ...] = (*self.planes, *self.boxes)
        for a, obstacle in itertools.product(self.capsules, obstacles):
            if on[a.name] >= 0 and kept(a, obstacle):
                found.append(Pair("environment", a, obstacle, self.environment_margin))
        for point, room in itertools.product(self.points, self.workspace):
            wanted = point.within is None or room.name in point.within
            if on[point.name] >= 0 and wanted and kept(point, room):
                found.append(Pair("workspace", point, room, self.workspace_margin))
        return tuple(found)

    def names(self, robot: Robot) -> tuple[str, ...]:
        """Return the names of the pairs, in the order of the columns of `clearances`."""
        return tuple(pair.name for pair in self.pairs(robot))

    def margins(self, robot: Robot) -> Array:
        """Return the least clearance wanted of each pair (m,) [m]."""
        return np.array([pair.margin for pair in self.pairs(robot)])


def carrier(robot: Robot, frame: str) -> tuple[int, Pose]:
    """Return one of the robot's frames; raises RobotError for a name that is none of them."""
    fix = f"Its links are {', '.join(robot.frames)}"
    require_known([frame], robot.frames, RobotError, f"robot '{robot.name}' has no link", key="link", fix=fix)
    return robot.frames[frame]


def _labels(robot: Robot, shape: Capsule | Point | Plane | Box) -> set[str]:
    """Return the names under which a shape can be ignored: its own, its frame's, and that of the carrying link."""
    if isinstance(shape, Plane | Box):
        return {shape.name}
    link = carrier(robot, shape.link)[0]
    return {shape.name, shape.link, robot.base if link < 0 else robot.links[link]}
