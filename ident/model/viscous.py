"""Viscous friction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ident.arrays import Array
from ident.model.term import Kind, constant


@dataclass(frozen=True)
class Viscous:
    """tau_j = Fv_j qd_j [N m s/rad; N s/m].

    joints: names of the joints that have it, None for all.
    """

    joints: tuple[str, ...] | None = None
    nonnegative: ClassVar[bool] = True
    kind: ClassVar[Kind] = Kind(
        "viscous",
        "viscous friction",
        "torque = value * qd",
        ("N m s/rad", "N s/m"),
        friction=True,
        standard=True,
        trace="grows with speed",
    )

    def column(self, q: Array, qd: Array, qdd: Array) -> Array:
        """Return the speed qd of the joint."""
        return qd

    slopes = constant(0.0, 1.0, 0.0)
    symbol = column
