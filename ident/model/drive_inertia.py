"""Drive (reflected rotor) inertia."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ident.arrays import Array
from ident.model.term import Kind, constant


@dataclass(frozen=True)
class DriveInertia:
    """tau_j = Ia_j qdd_j, with Ia the rotor's inertia times the squared reduction ratio [kg m^2; kg].

    joints: names of the joints that have it, None for all.
    """

    joints: tuple[str, ...] | None = None
    nonnegative: ClassVar[bool] = True
    kind: ClassVar[Kind] = Kind(
        "drive_inertia",
        "drive inertia",
        "torque = value * qdd: rotor inertia seen at the joint",
        ("kg m^2", "kg"),
        standard=True,
    )

    def column(self, q: Array, qd: Array, qdd: Array) -> Array:
        """Return the acceleration qdd of the joint."""
        return qdd

    slopes = constant(0.0, 0.0, 1.0)
    symbol = column
