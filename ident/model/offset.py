"""Torque offset."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ident.arrays import Array
from ident.model.term import Kind, constant


@dataclass(frozen=True)
class Offset:
    """tau_j = F0_j [N m; N]: current offset of the amplifier, asymmetry of Coulomb friction.

    joints: names of the joints that have it, None for all.
    """

    joints: tuple[str, ...] | None = None
    nonnegative: ClassVar[bool] = False
    kind: ClassVar[Kind] = Kind("offset", "offset", "constant torque", ("N m", "N"), standard=True)

    def column(self, q: Array, qd: Array, qdd: Array) -> Array:
        """Return ones, as the offset is constant."""
        return 0.0 * qd + 1.0  # arithmetic alone, which symbols do like numbers

    slopes = constant(0.0, 0.0, 0.0)
    symbol = column

    def energy(self, q: Array) -> Array:
        """Return the potential energy per parameter, which is q [rad; m]."""
        return q
