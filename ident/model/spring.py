"""Joint springs."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from ident.arrays import Array
from ident.errors import ModelError
from ident.model.term import chosen, joint_names, one_per_joint, own_joint
from ident.robot.robot import Robot


@dataclass(frozen=True)
class Spring:
    """tau_j = k_j (q_j - rest) [N m; N], with k in N m/rad or N/m.

    rest [rad; m]: position at which the spring is slack; joints: names of the joints that have it, None for all.
    Joints whose springs rest elsewhere get a Spring of their own. An `Offset` beside it takes up an unknown rest.
    nonnegative: whether k must not be negative, which that of an over-centre spring or a balancer is.
    """

    joints: tuple[str, ...] | None = None
    rest: float = 0.0
    nonnegative: bool = field(default=False, repr=False)  # no column depends on it

    def __post_init__(self) -> None:
        if not math.isfinite(self.rest):
            raise ModelError(f"the rest position of a spring must be a finite number, got {self.rest}")

    @property
    def shape(self) -> dict[str, float]:
        """Where the spring is slack."""
        return {"rest": self.rest}

    def names(self, robot: Robot) -> tuple[str, ...]:
        """Return `JOINT.stiffness` for each joint."""
        return joint_names(self.joints, robot, "stiffness")

    def entries(self, robot: Robot) -> tuple[tuple[int, int], ...]:
        """Return one entry per joint, in its own equation."""
        return one_per_joint(self.joints, robot)

    def columns(self, robot: Robot, q: Array, qd: Array, qdd: Array) -> Array:
        """Return q - rest of each joint, (n_joints, N)."""
        return q.T[chosen(self.joints, robot)] - self.rest

    def pull_back(self, robot: Robot, q: Array, qd: Array, qdd: Array, weights: Array) -> Array:
        """Return the derivative of sum(weights * columns) with respect to q, qd, qdd: (3, N, n)."""
        return own_joint(self.joints, 0, weights, q, robot)
