"""What may touch and what must not: capsules and points on links, planes and boxes fixed to the base."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from ident.arrays import Array, frozen
from ident.errors import RobotError
from ident.spatial.pose import Pose


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
            object.__setattr__(
                self, key, frozen(getattr(self, key), (3,), f"{key} of capsule '{self.name}'", RobotError)
            )
        if not (math.isfinite(self.radius) and self.radius > 0):
            raise RobotError(f"the radius of capsule '{self.name}' is {self.radius:g} m, wanted a number above 0")

    @property
    def volume(self) -> float:
        """Volume of the capsule [m^3]."""
        length = float(np.linalg.norm(self.end - self.start))
        return math.pi * self.radius**2 * (length + 4.0 / 3.0 * self.radius)


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
        object.__setattr__(
            self, "position", frozen(self.position, (3,), f"position of point '{self.name}'", RobotError)
        )
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
