"""Poses: a rotation and a position of one frame seen from another."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ident.arrays import Array, frozen


def skew(v: ArrayLike) -> Array:
    """Return the 3x3 matrix [v]x with [v]x u = v x u."""
    x, y, z = np.asarray(v, dtype=np.float64)
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def axis_angle(axis: ArrayLike, angle: float) -> Array:
    """Return the rotation matrix (3, 3) about the unit vector `axis` by `angle` [rad] (Rodrigues)."""
    a = skew(axis)
    return np.asarray(np.eye(3) + np.sin(angle) * a + (1.0 - np.cos(angle)) * (a @ a))


def rpy(roll: float, pitch: float, yaw: float) -> Array:
    """Return Rz(yaw) Ry(pitch) Rx(roll), URDF's fixed-axis roll, pitch, yaw [rad]."""
    return np.asarray(axis_angle([0, 0, 1], yaw) @ axis_angle([0, 1, 0], pitch) @ axis_angle([1, 0, 0], roll))


def roll_pitch_yaw(rotation: Array) -> Array:
    """Return (roll, pitch, yaw) [rad] with Rz(yaw) Ry(pitch) Rx(roll) = rotation, to rounding everywhere.

    The yaw is taken out before the others are read, so that near pitch = 90 deg the three still belong together.
    """
    level = math.hypot(rotation[0, 0], rotation[1, 0])  # 0: any yaw will do
    yaw = math.atan2(rotation[1, 0], rotation[0, 0]) if level > 1e-14 else 0.0
    left = axis_angle([0, 0, 1], -yaw) @ rotation
    return np.array([math.atan2(-left[1, 2], left[1, 1]), math.atan2(-left[2, 0], left[0, 0]), yaw])


def z_along(axis: Array) -> Array:
    """Return the smallest rotation (3, 3) whose third column is `axis`, a unit vector."""
    across = np.cross([0.0, 0.0, 1.0], axis)
    sine = float(np.linalg.norm(across))
    if sine < 1e-12:
        return np.eye(3) if axis[2] > 0 else np.diag([1.0, -1.0, -1.0])
    return axis_angle(across / sine, float(np.arctan2(sine, axis[2])))


@dataclass(frozen=True, eq=False)
class Pose:
    """Frame B seen from frame A: a point x_B of B is `rotation @ x_B + position` in A.

    rotation (3, 3); position (3,) [m]. Raises InputError when rotation is not a rotation.
    """

    rotation: Array
    position: Array

    def __post_init__(self) -> None:
        from ident.errors import InputError

        object.__setattr__(self, "rotation", frozen(self.rotation, (3, 3), "rotation"))
        object.__setattr__(self, "position", frozen(self.position, (3,), "position"))
        r = self.rotation
        if np.abs(r @ r.T - np.eye(3)).max() > 1e-9 or np.linalg.det(r) < 0:
            raise InputError("rotation must be a proper rotation matrix (orthogonal, determinant +1)")

    @staticmethod
    def identity() -> Pose:
        """Return the pose of a frame seen from itself."""
        return Pose(np.eye(3), np.zeros(3))

    def __matmul__(self, other: Pose) -> Pose:
        """Return C seen from A for self = B seen from A and other = C seen from B."""
        rotation = self.rotation @ other.rotation
        return Pose(rotation, self.rotation @ other.position + self.position)

    def inverse(self) -> Pose:
        """Return the inverse pose: frame A seen from frame B."""
        return Pose(self.rotation.T, -self.rotation.T @ self.position)

    @property
    def matrix(self) -> Array:
        """The homogeneous matrix (4, 4)."""
        out = np.eye(4)
        out[:3, :3] = self.rotation
        out[:3, 3] = self.position
        return out
