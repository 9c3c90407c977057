"""Viscous friction that differs by direction, beside `Viscous`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ident.arrays import Array
from ident.model.term import Kind


@dataclass(frozen=True)
class ViscousAsymmetry:
    """tau_j = Fa_j |qd_j| [N m s/rad; N s/m]: half of what viscous friction is more forwards than backwards.

    joints: as in `Coulomb`. Coulomb friction that differs by direction is Coulomb friction and an `Offset`.
    """

    joints: tuple[str, ...] | None = None
    nonnegative: ClassVar[bool] = False
    kind: ClassVar[Kind] = Kind(
        "viscous_asymmetry",
        "viscous friction that differs by direction",
        "torque = value * |qd|",
        ("N m s/rad", "N s/m"),
        friction=True,
    )

    def column(self, q: Any, qd: Any, qdd: Any) -> Any:
        """Return the speed of the joint without its sign."""
        return np.abs(qd)

    def slopes(self, q: Array, qd: Array, qdd: Array) -> tuple[float, Array, float]:
        """Return the derivatives of the column by q, qd, qdd."""
        return 0.0, np.sign(qd), 0.0

    symbol = column
