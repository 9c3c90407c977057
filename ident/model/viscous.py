"""Viscous friction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from ident.arrays import Array
from ident.model.term import Kind


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

    def slopes(self, q: Array, qd: Array, qdd: Array) -> tuple[float, float, float]:
        """Return the derivatives of the column by q, qd, qdd."""
        return 0.0, 1.0, 0.0

    def symbol(self, q: Any, qd: Any, qdd: Any, per_width: Any) -> Any:
        """Return the speed qd of the joint."""
        return qd
