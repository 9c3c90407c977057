"""Coulomb friction: the sign of the speed with a dead zone, or a smooth tanh."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ident.arrays import Array
from ident.errors import ModelError
from ident.model.term import chosen, joint_names, one_per_joint, own_joint
from ident.robot.robot import Robot


@dataclass(frozen=True)
class Coulomb:
    """tau_j = Fc_j sign(qd_j), zero where |qd_j| <= dead_zone [N m; N].

    dead_zone [rad/s; m/s]; joints: names of the joints that have it, None for all.
    """

    dead_zone: float = 0.0
    joints: tuple[str, ...] | None = None
    nonnegative: bool = True

    def __post_init__(self) -> None:
        if not self.dead_zone >= 0:
            raise ModelError(f"the dead zone of Coulomb friction must not be negative, got {self.dead_zone}")

    @property
    def shape(self) -> dict[str, float]:
        """The dead zone of the sign."""
        return {"dead_zone": self.dead_zone}

    def names(self, robot: Robot) -> tuple[str, ...]:
        """Return `JOINT.coulomb` for each joint."""
        return joint_names(self.joints, robot, "coulomb")

    def entries(self, robot: Robot) -> tuple[tuple[int, int], ...]:
        """Return one entry per joint, in its own equation."""
        return one_per_joint(self.joints, robot)

    def columns(self, robot: Robot, q: Array, qd: Array, qdd: Array) -> Array:
        """Return the sign of each joint's speed, (n_joints, N)."""
        speed = qd.T[chosen(self.joints, robot)]
        return np.sign(speed) * (np.abs(speed) > self.dead_zone)

    def pull_back(self, robot: Robot, q: Array, qd: Array, qdd: Array, weights: Array) -> Array:
        """Return zeros (3, N, n): a sign has no slope where it has a derivative."""
        return own_joint(self.joints, 1, np.zeros_like(weights), q, robot)


@dataclass(frozen=True)
class SmoothCoulomb:
    """tau_j = Fc_j tanh(qd_j / width) [N m; N].

    width [rad/s; m/s]: speed at which 76 % of the friction is reached; joints: as in `Coulomb`.
    """

    width: float
    joints: tuple[str, ...] | None = None
    nonnegative: bool = True

    def __post_init__(self) -> None:
        if not self.width > 0:
            raise ModelError(f"the width of the tanh must be positive, got {self.width}")

    @property
    def shape(self) -> dict[str, float]:
        """The width of the tanh."""
        return {"tanh": self.width}

    def names(self, robot: Robot) -> tuple[str, ...]:
        """Return `JOINT.coulomb` for each joint."""
        return joint_names(self.joints, robot, "coulomb")

    def entries(self, robot: Robot) -> tuple[tuple[int, int], ...]:
        """Return one entry per joint, in its own equation."""
        return one_per_joint(self.joints, robot)

    def columns(self, robot: Robot, q: Array, qd: Array, qdd: Array) -> Array:
        """Return tanh(qd / width) of each joint, (n_joints, N)."""
        return np.tanh(qd.T[chosen(self.joints, robot)] / self.width)

    def pull_back(self, robot: Robot, q: Array, qd: Array, qdd: Array, weights: Array) -> Array:
        """Return the derivative of sum(weights * columns) with respect to q, qd, qdd: (3, N, n)."""
        slopes = (1.0 - self.columns(robot, q, qd, qdd) ** 2) / self.width
        return own_joint(self.joints, 1, weights * slopes, q, robot)
