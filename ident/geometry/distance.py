"""Clearances of a scene over many postures, their exact gradients, and collisions in words."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ident.arrays import Array, checked
from ident.dynamics.rigid_body import batch
from ident.dynamics.tree import Ints, Tree, tree
from ident.errors import ModelError
from ident.geometry.scene import Pair, Scene, carrier
from ident.geometry.shapes import Box, Capsule, Plane, Point
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
    placed = [carrier(robot, body.link) for body in bodies]
    ends = np.array([_segment(b) for b in bodies]).reshape(-1, 2, 3)
    for k, (_, pose) in enumerate(placed):
        ends[k] = ends[k] @ pose.rotation.T + pose.position
    shapes: tuple[Plane | Box, ...] = (*scene.planes, *scene.boxes, *scene.workspace)
    planes = [s for s in shapes if isinstance(s, Plane)]
    boxes = [s for s in shapes if isinstance(s, Box)]
    groups: tuple[Sequence[Capsule | Point | Plane | Box], ...] = (bodies, planes, boxes)
    index = {s.name: k for group in groups for k, s in enumerate(group)}

    def kind(pair: Pair) -> int:
        if isinstance(pair.second, Capsule):
            return CAPSULE
        return PLANE if isinstance(pair.second, Plane) else ROOM if pair.kind == "workspace" else BOX

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
        kind=np.array([kind(p) for p in pairs], dtype=np.int64),
        first=np.array([index[p.first.name] for p in pairs], dtype=np.int64),
        second=np.array([index[p.second.name] for p in pairs], dtype=np.int64),
    )


def _segment(body: Capsule | Point) -> tuple[Array, Array]:
    return (body.position, body.position) if isinstance(body, Point) else (body.start, body.end)
