"""Dahl friction: Coulomb friction that turns around over a short way and keeps its force at standstill."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ident.arrays import Array, checked
from ident.errors import ModelError
from ident.model.term import chosen, joint_names, one_per_joint, own_joint
from ident.robot.robot import Robot


@dataclass(frozen=True)
class Dahl:
    """tau_j = Fc_j z_j with dz/dq = (1 - z sign(qd)) / way, so -1 <= z <= 1 [N m; N].

    way [rad; m]: travel in which z comes nearer to the sign of the speed by the factor e; where the joint stands
    still, z stays. Samples have to be in the order of time; z starts at the sign of the first movement, which is
    forgotten after a few ways. joints: as in `Coulomb`. Encoder noise is travel, too: filter the position.
    Source: Dahl, "A solid friction model", Aerospace Corporation TOR-0158(3107-18)-1, 1968.
    """

    way: float
    joints: tuple[str, ...] | None = None
    nonnegative: bool = True

    def __post_init__(self) -> None:
        if not self.way > 0:
            raise ModelError(f"the way of Dahl friction must be positive, got {self.way}")

    @property
    def shape(self) -> dict[str, float]:
        """The way over which friction turns around."""
        return {"dahl": self.way}

    def names(self, robot: Robot) -> tuple[str, ...]:
        """Return `JOINT.coulomb` for each joint."""
        return joint_names(self.joints, robot, "coulomb")

    def entries(self, robot: Robot) -> tuple[tuple[int, int], ...]:
        """Return one entry per joint, in its own equation."""
        return one_per_joint(self.joints, robot)

    def columns(self, robot: Robot, q: Array, qd: Array, qdd: Array) -> Array:
        """Return z of each joint, (n_joints, N)."""
        from ident.model.dahl_kernel import dahl_states

        travel = checked(q.T[chosen(self.joints, robot)], (None, None), "q", ModelError)
        out = np.empty(travel.shape)
        dahl_states(travel, self.way, out)
        return out

    def pull_back(self, robot: Robot, q: Array, qd: Array, qdd: Array, weights: Array) -> Array:
        """Return zeros (3, N, n): between reversals z hardly changes, and reversals depend on the whole past."""
        return own_joint(self.joints, 0, np.zeros_like(weights), q, robot)
