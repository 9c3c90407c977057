"""Friction near standstill that is lost with speed, beside any law of Coulomb friction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ident.arrays import Array
from ident.errors import ModelError
from ident.model.term import Kind, setting


@dataclass(frozen=True)
class Stribeck:
    """tau_j = Fs_j exp(-(qd_j / speed)^2) tanh(qd_j / width) [N m; N]: what friction has more near standstill.

    speed, width [rad/s; m/s]: at which a third of it is left; of the tanh, below it. joints: as in `Coulomb`. Source:
    Armstrong-Helouvry, Dupont, Canudas de Wit, "A survey of models, analysis tools and compensation methods for the
    control of machines with friction", Automatica 30(7), 1994, section 2.1 (Tustin's and the Gaussian form).
    """

    speed: float = setting("a speed above 0", gt=0)
    width: float = setting("a speed above 0", default=0.01, gt=0)
    joints: tuple[str, ...] | None = None
    nonnegative: ClassVar[bool] = True
    kind: ClassVar[Kind] = Kind(
        "stribeck",
        "Stribeck friction",
        "torque = value * exp(-(qd / speed)^2) tanh(qd / width)",
        ("N m", "N"),
        friction=True,
        example="{ speed = 0.1 }",
        numbers="Speeds of Stribeck friction",
    )

    def __post_init__(self) -> None:
        if not (self.speed > 0 and self.width > 0):
            raise ModelError(f"the speeds of Stribeck friction must be above 0, got {self.speed} and {self.width}")

    def column(self, q: Any, qd: Any, qdd: Any) -> Any:
        """Return exp(-(qd / speed)^2) tanh(qd / width)."""
        return np.exp(-((qd / self.speed) ** 2)) * np.tanh(qd / self.width)

    def slopes(self, q: Array, qd: Array, qdd: Array) -> tuple[float, Array, float]:
        """Return the derivatives of the column by q, qd, qdd."""
        rise, bell = np.tanh(qd / self.width), np.exp(-((qd / self.speed) ** 2))
        return 0.0, bell * ((1.0 - rise**2) / self.width - 2.0 * qd / self.speed**2 * rise), 0.0

    symbol = column
