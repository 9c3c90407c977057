"""A robot as flat arrays, the form in which the compiled kernels read it."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ident.arrays import Array
from ident.robot.robot import Robot

Ints = NDArray[np.int64]


class Tree(NamedTuple):
    """Joint i moves link i. All vectors are in the frame of link i except `position`, in its parent's.

    parent (n,): index of the parent link, -1 for the base.
    rotation (n, 3, 3), position (n, 3): link frame seen from its parent's frame at q = 0.
    turning (n,): 1 for a revolute joint, 0 for a prismatic one.
    angular (n, 3), linear (n, 3): the joint's unit twist, linear taken at the link frame's origin.
    axis (n, 3), point (n, 3): direction of the joint and a point of its line.
    gravity (3,): in the base frame [m/s^2].
    """

    parent: Ints
    rotation: Array
    position: Array
    turning: Ints
    angular: Array
    linear: Array
    axis: Array
    point: Array
    gravity: Array


@lru_cache(maxsize=64)
def tree(robot: Robot) -> Tree:
    """Return the flat arrays of `robot`, made once for each robot; nobody may change them."""
    joints = robot.joints
    turning = np.array([not joint.slides for joint in joints], dtype=np.int64)
    axis = np.array([joint.axis for joint in joints])
    point = np.array([joint.point for joint in joints])
    # A turn about a line through `point` moves the frame's origin at point x axis (per rad/s).
    linear = np.where(turning[:, None] == 1, np.cross(point, axis), axis)
    return Tree(
        parent=np.array(robot.parents, dtype=np.int64),
        rotation=np.array([joint.placement.rotation for joint in joints]),
        position=np.array([joint.placement.position for joint in joints]),
        turning=turning,
        angular=axis * turning[:, None],
        linear=linear,
        axis=axis,
        point=point,
        gravity=np.array(robot.gravity),
    )
