"""Drive (reflected rotor) inertia."""

from __future__ import annotations

from dataclasses import dataclass

from ident.arrays import Array
from ident.model.term import chosen, joint_names, one_per_joint, own_joint
from ident.robot.robot import Robot


@dataclass(frozen=True)
class DriveInertia:
    """tau_j = Ia_j qdd_j, with Ia the rotor's inertia times the squared reduction ratio [kg m^2; kg].

    joints: names of the joints that have it, None for all.
    """

    joints: tuple[str, ...] | None = None
    nonnegative: bool = True

    @property
    def shape(self) -> dict[str, float]:
        """None."""
        return {}

    def names(self, robot: Robot) -> tuple[str, ...]:
        """Return `JOINT.drive_inertia` for each joint."""
        return joint_names(self.joints, robot, "drive_inertia")

    def entries(self, robot: Robot) -> tuple[tuple[int, int], ...]:
        """Return one entry per joint, in its own equation."""
        return one_per_joint(self.joints, robot)

    def columns(self, robot: Robot, q: Array, qd: Array, qdd: Array) -> Array:
        """Return qdd of each joint, (n_joints, N)."""
        return qdd.T[chosen(self.joints, robot)]

    def pull_back(self, robot: Robot, q: Array, qd: Array, qdd: Array, weights: Array) -> Array:
        """Return the derivative of sum(weights * columns) with respect to q, qd, qdd: (3, N, n)."""
        return own_joint(self.joints, 2, weights, q, robot)
