"""Viscous friction."""

from __future__ import annotations

from dataclasses import dataclass

from ident.arrays import Array
from ident.model.term import chosen, joint_names, one_per_joint, own_joint
from ident.robot.robot import Robot


@dataclass(frozen=True)
class Viscous:
    """tau_j = Fv_j qd_j [N m s/rad; N s/m].

    joints: names of the joints that have it, None for all.
    """

    joints: tuple[str, ...] | None = None
    nonnegative: bool = True

    @property
    def shape(self) -> dict[str, float]:
        """None."""
        return {}

    def names(self, robot: Robot) -> tuple[str, ...]:
        """Return `JOINT.viscous` for each joint."""
        return joint_names(self.joints, robot, "viscous")

    def entries(self, robot: Robot) -> tuple[tuple[int, int], ...]:
        """Return one entry per joint, in its own equation."""
        return one_per_joint(self.joints, robot)

    def columns(self, robot: Robot, q: Array, qd: Array, qdd: Array) -> Array:
        """Return qd of each joint, (n_joints, N)."""
        return qd.T[chosen(self.joints, robot)]

    def pull_back(self, robot: Robot, q: Array, qd: Array, qdd: Array, weights: Array) -> Array:
        """Return the derivative of sum(weights * columns) with respect to q, qd, qdd: (3, N, n)."""
        return own_joint(self.joints, 1, weights, q, robot)
