"""How fast clearances can change at most: what makes samples of them a guarantee for all times between.

A clearance changes by n . (z x (x - o)) per unit of a revolute joint's speed and by n . z per unit of a prismatic
joint's, where z, o are its line, n the contact's unit normal and x either of the two closest points. So joint j
contributes at most its speed times the distance from its line to the farther point of a body, taken over all
postures; of the two bodies the nearer one counts. Joints that carry both bodies, or none, do not count.

All postures of a body are enclosed, joint by joint along the way to the other body, in a cylinder around the joint's
line, which a revolute joint leaves as it is and a prismatic one makes longer.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike

from ident.arrays import Array, checked
from ident.errors import ModelError
from ident.geometry.scene import Pair, Scene, carrier
from ident.geometry.shapes import Box, Capsule, Plane, Point
from ident.robot.robot import Robot


def clearance_gradient_bound(scene: Scene, robot: Robot, q_range: ArrayLike) -> Array:
    """Return an upper bound (m, n) [m/rad or m/m] of |dc_m/dq_j| of each of the scene's clearances, over all postures.

    q_range (n, 2): least and greatest position of each joint [rad or m], used for prismatic joints only; revolute ones
    may turn all the way round. Between two postures of a motion, clearance m differs by at most the sum over j of
    bound_mj times the way of joint j.
    Raises ModelError for ranges that cross and arrays that do not fit or are not finite, RobotError for unknown links.
    """
    q_range = np.array(q_range, dtype=np.float64)
    slides = np.array([joint.slides for joint in robot.joints])
    if q_range.shape == (robot.n, 2):
        q_range[~slides] = 0.0  # may be infinite, and is not used
    q_range = checked(q_range, (robot.n, 2), "q_range", ModelError)
    for joint, (low, high) in zip(robot.joints, q_range.tolist(), strict=True):
        if low > high:
            raise ModelError(f"the range of joint '{joint.name}' is empty: {low:g} to {high:g} m", key="q_range")
    return np.array([_pair_bound(robot, pair, q_range) for pair in scene.pairs(robot)]).reshape(-1, robot.n)


def _pair_bound(robot: Robot, pair: Pair, q_range: Array) -> Array:
    i, points = _body(robot, pair.first)
    j, others = _body(robot, pair.second)
    levers = _levers(robot, i, j, points, q_range)
    if isinstance(pair.second, Plane):
        return _towards(robot, pair.second.normal, levers)
    if pair.kind == "workspace":  # the nearest face of the room may be any
        assert isinstance(pair.second, Box)
        return np.asarray(np.max([_towards(robot, n, levers) for n in pair.second.pose.rotation.T], axis=0))
    back = _levers(robot, j, i, others, q_range)
    bound = np.zeros(robot.n)
    for k, lever in levers.items():
        bound[k] = 1.0 if robot.joints[k].slides else min(lever, back[k])
    return bound


def _body(robot: Robot, shape: Capsule | Point | Plane | Box) -> tuple[int, Array]:
    """Return the moving link (-1: the base) of a shape and points (p, 3) in its frame that span its axis."""
    if isinstance(shape, Plane):
        return -1, np.zeros((1, 3))
    if isinstance(shape, Box):
        return -1, shape.corners
    link, pose = carrier(robot, shape.link)
    points = np.array([shape.position]) if isinstance(shape, Point) else np.array([shape.start, shape.end])
    return link, points @ pose.rotation.T + pose.position


def _way(robot: Robot, start: int, goal: int) -> Iterator[tuple[int, bool]]:
    """Yield the joints between two links, as met from the first one: index, and whether from child to parent."""

    def chain(link: int) -> list[int]:
        found = [link]
        while found[-1] >= 0:
            found.append(robot.joints[found[-1]].parent)
        return found

    up, down = chain(start), chain(goal)
    yield from ((k, True) for k in up if k not in down)
    yield from ((k, False) for k in reversed(down) if k not in up)


def _levers(robot: Robot, start: int, goal: int, points: Array, q_range: Array) -> dict[int, float]:
    """Return, for each joint between two links, the greatest distance from its line to points of the first link.

    points (p, 3) [m] in the frame of link `start`.
    """
    levers = {}
    centres, radius, around = points, 0.0, np.array([0.0, 0.0, 1.0])  # discs of a cylinder around an axis
    for k, up in _way(robot, start, goal):
        joint = robot.joints[k]
        point, axis = joint.point, joint.axis
        if not up:
            point, axis = joint.placement.rotation @ point + joint.placement.position, joint.placement.rotation @ axis
        offsets = centres - point
        heights = offsets @ axis
        levers[k] = max(_farthest(d, radius, around, axis) for d in offsets - heights[:, None] * axis)
        tilt = radius * float(np.linalg.norm(np.cross(axis, around)))
        low, high = heights.min() - tilt, heights.max() + tilt
        if joint.slides:
            slide = q_range[k] if up else -q_range[k][::-1]
            low, high = low + slide[0], high + slide[1]
        centres, radius, around = point + np.outer([low, high], axis), levers[k], axis
        place = joint.placement if up else joint.placement.inverse()
        centres, around = centres @ place.rotation.T + place.position, place.rotation @ around
    return levers


def _farthest(offset: Array, radius: float, around: Array, axis: Array) -> float:
    """Return a bound of the distance from a line to a disc; `offset` (3,) leads from the line to its centre.

    `around` is the disc's normal. Seen along the line the disc is an ellipse with half axes radius, radius |cos|.
    """
    long = np.cross(axis, around)
    sine = float(np.linalg.norm(long))
    length = float(np.linalg.norm(offset))
    if radius == 0.0 or sine < 1e-9:
        return length + radius
    along = abs(float(offset @ long)) / sine
    across = math.sqrt(max(length**2 - along**2, 0.0))
    return min(length + radius, math.hypot(along + radius, across + radius * abs(float(axis @ around))))


def _towards(robot: Robot, normal: Array, levers: dict[int, float]) -> Array:
    """Return a bound (n,) of the motion along a direction of the base frame, from the angles it makes with the joints.

    The angle between the direction and a joint's line can only change by the angle between successive lines.
    """
    bound = np.zeros(robot.n)
    before, low, high = normal, 0.0, 0.0  # the last turning line, and the angles it can make with the direction
    seen = np.eye(3)  # the frame of the joint's parent seen from the frame in which `before` is given
    for k in sorted(levers):  # from the base to the link
        joint = robot.joints[k]
        seen = seen @ joint.placement.rotation
        step = _angle(before, seen @ joint.axis)
        least, most = max(0.0, low - step, step - high), min(math.pi, high + step, 2 * math.pi - low - step)
        if not joint.slides:
            sine = 1.0 if least <= math.pi / 2 <= most else max(math.sin(least), math.sin(most))
            bound[k] = levers[k] * sine
            before, low, high, seen = joint.axis, least, most, np.eye(3)
        else:
            bound[k] = max(abs(math.cos(least)), abs(math.cos(most)))
    return bound


def _angle(a: Array, b: Array) -> float:
    """Return the angle [rad] between two vectors."""
    return math.atan2(float(np.linalg.norm(np.cross(a, b))), float(a @ b))
