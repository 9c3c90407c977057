"""Torque offset."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ident.arrays import Array
from ident.model.term import chosen, joint_names, one_per_joint, own_joint
from ident.robot.robot import Robot


@dataclass(frozen=True)
class Offset:
    """tau_j = F0_j [N m; N]: current offset of the amplifier, asymmetry of Coulomb friction.

    joints: names of the joints that have it, None for all.
    """

    joints: tuple[str, ...] | None = None
    nonnegative: bool = False

    @property
    def shape(self) -> dict[str, float]:
        """None."""
        return {}

    def names(self, robot: Robot) -> tuple[str, ...]:
        """Return `JOINT.offset` for each joint."""
        return joint_names(self.joints, robot, "offset")

    def entries(self, robot: Robot) -> tuple[tuple[int, int], ...]:
        """Return one entry per joint, in its own equation."""
        return one_per_joint(self.joints, robot)

    def columns(self, robot: Robot, q: Array, qd: Array, qdd: Array) -> Array:
        """Return ones of each joint, (n_joints, N)."""
        return np.ones((len(chosen(self.joints, robot)), len(qd)))

    def pull_back(self, robot: Robot, q: Array, qd: Array, qdd: Array, weights: Array) -> Array:
        """Return the derivative of sum(weights * columns) with respect to q, qd, qdd: (3, N, n)."""
        return own_joint(self.joints, 0, np.zeros_like(weights), q, robot)
