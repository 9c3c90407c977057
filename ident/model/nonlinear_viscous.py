"""Viscous friction that bends with speed, as a power of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ident.arrays import Array
from ident.errors import ModelError
from ident.model.term import chosen, joint_names, one_per_joint, own_joint
from ident.robot.robot import Robot


@dataclass(frozen=True)
class NonlinearViscous:
    """tau_j = Fn_j sign(qd_j) |qd_j|^power [N m (s/rad)^power; N (s/m)^power].

    power: between 0 (Coulomb friction) and 1 (viscous friction), or up to 3, for drag. Below 1, beside `Viscous`, it
    is the grease of gears, harmonic drives above all, which drags less the faster it is sheared. joints: as in
    `Coulomb`. Source: Olsson, Astrom, Canudas de Wit, Gafvert, Lischinsky, "Friction models and friction compensation",
    European Journal of Control 4, 1998; for harmonic drives Wolf and Iskandar, ICRA 2018.
    """

    power: float
    joints: tuple[str, ...] | None = None
    nonnegative: bool = True

    def __post_init__(self) -> None:
        if not (0 < self.power <= 3 and self.power != 1):
            raise ModelError(
                f"the power of nonlinear viscous friction must be above 0, at most 3 and not 1, got {self.power}",
                fix="Use Viscous for 1 and Coulomb for 0",
            )

    @property
    def shape(self) -> dict[str, float]:
        """The power of the speed."""
        return {"power": self.power}

    def names(self, robot: Robot) -> tuple[str, ...]:
        """Return `JOINT.nonlinear_viscous` for each joint."""
        return joint_names(self.joints, robot, "nonlinear_viscous")

    def entries(self, robot: Robot) -> tuple[tuple[int, int], ...]:
        """Return one entry per joint, in its own equation."""
        return one_per_joint(self.joints, robot)

    def columns(self, robot: Robot, q: Array, qd: Array, qdd: Array) -> Array:
        """Return sign(qd) |qd|^power of each joint, (n_joints, N)."""
        v = qd.T[chosen(self.joints, robot)]
        return np.copysign(np.abs(v) ** self.power, v)

    def pull_back(self, robot: Robot, q: Array, qd: Array, qdd: Array, weights: Array) -> Array:
        """Return the derivative of sum(weights * columns) with respect to q, qd, qdd: (3, N, n); 0 at standstill."""
        speed = np.abs(qd.T[chosen(self.joints, robot)])
        slope = np.where(speed > 0, self.power * np.where(speed > 0, speed, 1.0) ** (self.power - 1.0), 0.0)
        return own_joint(self.joints, 1, weights * slope, q, robot)
