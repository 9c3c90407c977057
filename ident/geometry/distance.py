"""Clearances of a scene over many postures, their exact gradients, and collisions in words.

A bound on how fast they change makes samples of them a guarantee for all times between. A clearance changes by n . (z
x (x - o)) per unit of a revolute joint's speed and by n . z per unit of a prismatic joint's, where z, o are its line,
n the contact's unit normal and x either of the two closest points. So joint j contributes at most its speed times the
distance from its line to the farther point of a body, taken over all postures; of the two bodies the nearer one
counts. Joints that carry both bodies, or none, do not count.

All postures of a body are enclosed, joint by joint along the way to the other body, in a cylinder around the joint's
line, which a revolute joint leaves as it is and a prismatic one makes longer.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ident.arrays import Array, checked
from ident.dynamics.rigid_body import Ints, Tree, batch, tree
from ident.errors import ModelError
from ident.geometry.scene import Box, Capsule, Pair, Plane, Point, Scene, carrier
from ident.robot.robot import Robot


class Geometry(NamedTuple):
    """A scene as flat arrays, the form in which the compiled kernels read it.

    Bodies are capsules and points: link (k,) index of the moving link, -1 for the base; start, end (k, 3) in its frame;
    radius (k,). Planes: normal (p, 3), offset (p,). Boxes: rotation (b, 3, 3), centre (b, 3), half (b, 3) edges.
    Pairs: kind (m,) of the second shape, first (m,) a body, second (m,) a body, plane or box.
    """

    link: Ints
    start: Array
    end: Array
    radius: Array
    normal: Array
    offset: Array
    rotation: Array
    centre: Array
    half: Array
    kind: Ints
    first: Ints
    second: Ints


def clearances(scene: Scene, robot: Robot, q: ArrayLike) -> Array:
    """Return the clearance [m] of each of the scene's pairs (N, m) at q (N, n); `scene.names(robot)` names them.

    Margins are not subtracted. Negative where shapes overlap: between capsules by how far their surfaces passed each
    other on the line between the axes, down to minus the sum of the radii; for planes and boxes by the shortest way
    out; for points in a room by how far they are outside of its most violated face. Continuous, and it changes by at
    most the distance that the shapes move. Raises ModelError for q that does not fit, RobotError for unknown links.
    """
    from ident.geometry.distance_kernels import clearance_rows

    (q,) = batch(robot, q=q)
    flat, geometry = _compiled(scene, robot)
    out = np.empty((len(q), len(geometry.kind)))
    clearance_rows(flat, geometry, q, out)
    return out


def clearance_pull_back(scene: Scene, robot: Robot, q: ArrayLike, weights: ArrayLike) -> Array:
    """Return sum_m weights_m dc_m/dq (N, n) for the clearances c (N, m) at q (N, n) and weights (N, m).

    A vector-Jacobian product, exact, at the cost of one evaluation of the pairs that have a weight; where the closest
    points jump, the gradient of one of the sides. Errors as for `clearances`.
    """
    from ident.geometry.distance_kernels import pull_back_rows

    (q,) = batch(robot, q=q)
    flat, geometry = _compiled(scene, robot)
    weights = checked(weights, (len(q), len(geometry.kind)), "weights", ModelError)
    out = np.empty((len(q), robot.n))
    pull_back_rows(flat, geometry, q, weights, out)
    return out


def collisions(scene: Scene, robot: Robot, q: ArrayLike) -> list[str]:
    """Return one phrase for every pair that is nearer than its margin at one posture q (n,); empty when none is.

    Each names the bodies and says by how many mm. Errors as for `clearances`.
    """
    (found,) = clearances(scene, robot, checked(q, (robot.n,), "q", ModelError)[None])
    return [
        _phrase(robot, pair, c) for pair, c in zip(scene.pairs(robot), found.tolist(), strict=True) if c < pair.margin
    ]


def _phrase(robot: Robot, pair: Pair, clearance: float) -> str:
    first, second = _title(robot, pair.first), _title(robot, pair.second)
    amount, side = f"{1e3 * abs(clearance):.3g} mm", "apart"
    if pair.kind == "workspace":
        side = "inside"
        found = f"{first} is {amount} {'inside' if clearance >= 0 else 'outside of'} {second}"
    elif clearance >= 0:
        found = f"{first} and {second} are {amount} apart"
    elif isinstance(pair.second, Plane):
        found = f"{first} reaches {amount} beyond {second}"
    else:
        found = f"{first} and {second} overlap by {amount}"
    return f"{found}, wanted at least {1e3 * pair.margin:.3g} mm {side}"


def _title(robot: Robot, shape: Capsule | Point | Plane | Box) -> str:
    kind = type(shape).__name__.lower()
    if isinstance(shape, Plane | Box) or shape.name == shape.link:
        return f"{kind} '{shape.name}'"
    return f"{kind} '{shape.name}' of {shape.link}"


@lru_cache(maxsize=16)  # scenes and robots never change
def _compiled(scene: Scene, robot: Robot) -> tuple[Tree, Geometry]:
    from ident.geometry.distance_kernels import BOX, CAPSULE, PLANE, ROOM

    bodies: tuple[Capsule | Point, ...] = (*scene.capsules, *scene.points)
    placed = [_body(robot, body) for body in bodies]
    ends = np.array([(points[0], points[-1]) for _, points in placed]).reshape(-1, 2, 3)
    shapes: tuple[Plane | Box, ...] = (*scene.planes, *scene.boxes, *scene.workspace)
    planes = [s for s in shapes if isinstance(s, Plane)]
    boxes = [s for s in shapes if isinstance(s, Box)]
    groups: tuple[Sequence[Capsule | Point | Plane | Box], ...] = (bodies, planes, boxes)
    index = {s.name: k for group in groups for k, s in enumerate(group)}
    kinds = {"self": CAPSULE, "environment": BOX, "workspace": ROOM}
    pairs = scene.pairs(robot)
    return tree(robot), Geometry(
        link=np.array([link for link, _ in placed], dtype=np.int64),
        start=ends[:, 0].copy(),
        end=ends[:, 1].copy(),
        radius=np.array([b.radius if isinstance(b, Capsule) else 0.0 for b in bodies]),
        normal=np.array([p.normal for p in planes]).reshape(-1, 3),
        offset=np.array([p.offset for p in planes]),
        rotation=np.array([b.pose.rotation for b in boxes]).reshape(-1, 3, 3),
        centre=np.array([b.pose.position for b in boxes]).reshape(-1, 3),
        half=np.array([0.5 * b.size for b in boxes]).reshape(-1, 3),
        kind=np.array([PLANE if isinstance(p.second, Plane) else kinds[p.kind] for p in pairs], dtype=np.int64),
        first=np.array([index[p.first.name] for p in pairs], dtype=np.int64),
        second=np.array([index[p.second.name] for p in pairs], dtype=np.int64),
    )


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
        line = seen @ joint.axis
        step = math.atan2(float(np.linalg.norm(np.cross(before, line))), float(before @ line))  # [rad]
        least, most = max(0.0, low - step, step - high), min(math.pi, high + step, 2 * math.pi - low - step)
        if not joint.slides:
            sine = 1.0 if least <= math.pi / 2 <= most else max(math.sin(least), math.sin(most))
            bound[k] = levers[k] * sine
            before, low, high, seen = joint.axis, least, most, np.eye(3)
        else:
            bound[k] = max(abs(math.cos(least)), abs(math.cos(most)))
    return bound
