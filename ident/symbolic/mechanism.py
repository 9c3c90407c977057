"""A robot's geometry for formulas: tidy numbers, each link's frame seen from its parent's, names as identifiers."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ident.robot.robot import Robot
from ident.spatial.inertia import INERTIAL
from ident.symbolic.program import Objects

#: Sines and cosines of multiples of pi/12, and the direction cosine of a cube's diagonal.
_EXACT = np.array(
    [0.0, 0.25881904510252074, 0.5, 0.5**0.5, 0.75**0.5, 0.9659258262890683, 1.0, (1 / 3) ** 0.5, (2 / 3) ** 0.5]
)
_ROUNDING = 1e-14


def tidy_cosine(x: float) -> float:
    """Return the number of `_EXACT` that x is but for rounding, or else x: cos(pi/2) becomes 0."""
    k = int(np.argmin(np.abs(_EXACT - abs(x))))
    return math.copysign(_EXACT[k], x) if abs(_EXACT[k] - abs(x)) < _ROUNDING else tidy(x)


def tidy(x: float, scale: float = 1.0) -> float:
    """Return x without the digits that rounding left: 0 below 1e-15 of scale, 0.3 for 0.1 + 0.2."""
    if abs(x) < 0.1 * _ROUNDING * scale:
        return 0.0
    short = float(f"{x:.13g}")
    return short if abs(short - x) <= 2.0 * math.ulp(x) else float(x)


def _each(function: Callable[[float], float], values: ArrayLike) -> Objects:
    return np.asarray(np.vectorize(function, otypes=[object])(np.asarray(values, dtype=float)))


@dataclass(frozen=True, eq=False)
class Mechanism:
    """Joints i = 0 .. n-1 as in `Robot`, entries numbers or symbols.

    parents (n); revolute (n); rotations (n, 3, 3), positions (n, 3): placements in the parent's frame;
    axes (n, 3), points (n, 3): the joints' lines in their own link's frame; gravity (3,) in the base frame.
    """

    parents: tuple[int, ...]
    revolute: tuple[bool, ...]
    rotations: Objects
    positions: Objects
    axes: Objects
    points: Objects
    gravity: Objects

    @property
    def n(self) -> int:
        """Number of joints."""
        return len(self.parents)

    def carriers(self, link: int) -> list[int]:
        """Return the joints that carry a link, from the base on, the link's own joint last."""
        found = [link]
        while self.parents[found[0]] >= 0:
            found.insert(0, self.parents[found[0]])
        return found

    def placed(self, i: int, q: Objects) -> tuple[Objects, Objects]:
        """Return rotation (3, 3) and position (3,) of link i's frame seen from its parent's at joint positions q."""
        placement, position, axis, point = self.rotations[i], self.positions[i], self.axes[i], self.points[i]
        if not self.revolute[i]:
            return placement, position + (placement @ axis) * q[i]
        c, s = np.cos(q[i : i + 1])[0], np.sin(q[i : i + 1])[0]
        along = np.outer(axis, axis)
        still, across = placement @ along, placement @ (np.eye(3).astype(object) - along)
        turned = placement @ skew(axis)
        still, across, turned = (_each(tidy_cosine, x) for x in (still, across, turned))  # products of cosines
        rotation = still + c * across + s * turned  # Rodrigues
        return rotation, position + placement @ point - rotation @ point


def mechanism(robot: Robot) -> Mechanism:
    """Return the geometry of a robot with tidy numbers."""
    joints = robot.joints
    return Mechanism(
        parents=robot.parents,
        revolute=tuple(not joint.slides for joint in joints),
        rotations=_each(tidy_cosine, [joint.placement.rotation for joint in joints]),
        positions=_each(tidy, [joint.placement.position for joint in joints]),
        axes=_each(tidy_cosine, [joint.axis for joint in joints]),
        points=_each(tidy, [joint.point for joint in joints]),
        gravity=_each(lambda x: tidy(x, float(np.linalg.norm(robot.gravity))), robot.gravity),
    )


def cross(a: Objects, b: Objects) -> Objects:
    """Return a x b."""
    return np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]], dtype=object)


def skew(a: Objects) -> Objects:
    """Return the matrix of a x."""
    return np.array([[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]], dtype=object)


def zeros(*shape: int) -> Objects:
    """Return an array of the number 0."""
    return np.zeros(shape).astype(object)


_LONGEST = 40


def identifier(text: str, default: str) -> str:
    """Return `text` with all but ASCII letters and digits turned into `_`, `default` in front where it cannot begin so.

    At most 40 characters, never empty.
    """
    safe = re.sub(r"[^A-Za-z0-9]+", "_", text).strip("_")[:_LONGEST].rstrip("_")
    return safe if safe and not safe[0].isdigit() else f"{default}_{safe}".rstrip("_")


def link_identifiers(robot: Robot) -> tuple[str, ...]:
    """Return one identifier per link; those that would be alike get the link's number behind."""
    safe = [identifier(link, "link") for link in robot.links]
    numbered = [f"{name}_{i + 1}" if safe.count(name) > 1 else name for i, name in enumerate(safe)]
    return tuple(numbered) if len(set(numbered)) == len(numbered) else tuple(f"link{i + 1}" for i in range(robot.n))


def parameter_names(robot: Robot) -> tuple[str, ...]:
    """Return `link2_hx` for `link2.hx` and so on, (10 n) in the order of the standard parameters."""
    return tuple(f"{link}_{part}" for link in link_identifiers(robot) for part in INERTIAL)


def joint_names(letter: str, n: int) -> tuple[str, ...]:
    """Return q1 .. qn, or qd1 .., qdd1 .."""
    return tuple(f"{letter}{i + 1}" for i in range(n))
