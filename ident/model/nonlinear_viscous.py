"""Viscous friction that bends with speed, as a power of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ident.arrays import Array
from ident.errors import ModelError
from ident.model.term import Kind, setting


@dataclass(frozen=True)
class NonlinearViscous:
    """tau_j = Fn_j sign(qd_j) |qd_j|^power [N m (s/rad)^power; N (s/m)^power].

    power: between 0 (Coulomb friction) and 1 (viscous friction), or up to 3, for drag. Below 1, beside `Viscous`, it
    is the grease of gears, harmonic drives above all, which drags less the faster it is sheared. joints: as in
    `Coulomb`. Source: Olsson, Astrom, Canudas de Wit, Gafvert, Lischinsky, "Friction models and friction compensation",
    European Journal of Control 4, 1998; for harmonic drives Wolf and Iskandar, ICRA 2018.
    """

    power: float = setting("a power of the speed, above 0 and at most 3", gt=0, le=3)
    joints: tuple[str, ...] | None = None
    nonnegative: ClassVar[bool] = True
    kind: ClassVar[Kind] = Kind(
        "nonlinear_viscous",
        "nonlinear viscous friction",
        "torque = value * sign(qd) |qd|^power, with the power that was fitted",
        ("N m (s/rad)^power", "N (s/m)^power"),
        friction=True,
        example="{ power = 0.3 }",
        numbers="Powers of the speed",
    )

    def __post_init__(self) -> None:
        if self.power == 1:
            raise ModelError("the power 1 is plain viscous friction", fix="Use viscous for it")
        if not 0 < self.power <= 3:
            raise ModelError(
                f"the power of nonlinear viscous friction must be above 0, at most 3 and not 1, got {self.power}",
                fix="Use Viscous for 1 and Coulomb for 0",
            )

    def column(self, q: Array, qd: Array, qdd: Array) -> Array:
        """Return sign(qd) |qd|^power."""
        return np.copysign(np.abs(qd) ** self.power, qd)

    def slopes(self, q: Array, qd: Array, qdd: Array) -> tuple[float, Array, float]:
        """Return the derivatives of the column by q, qd, qdd; 0 at standstill."""
        speed = np.abs(qd)
        slope = np.where(speed > 0, self.power * np.where(speed > 0, speed, 1.0) ** (self.power - 1.0), 0.0)
        return 0.0, slope, 0.0

    def continuous(self, q: Array, qd: Array, width: float) -> Array:
        """Return qd (qd^2 + width^2)^((power - 1) / 2), which is the column but for speeds below the width."""
        return qd * (qd * qd + width * width) ** (0.5 * (self.power - 1.0))

    def symbol(self, q: Any, qd: Any, qdd: Any) -> Any:
        """Return sign(qd) |qd|^power."""
        return qd.power(self.power)
