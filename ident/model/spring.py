"""Joint springs."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar

from ident.arrays import Array
from ident.errors import ModelError
from ident.model.term import Kind, constant, setting


@dataclass(frozen=True)
class Spring:
    """tau_j = k_j (q_j - rest) [N m; N], with k in N m/rad or N/m.

    rest [rad; m]: position at which the spring is slack; joints: names of the joints that have it, None for all.
    Joints whose springs rest elsewhere get a Spring of their own. An `Offset` beside it takes up an unknown rest.
    nonnegative: whether k must not be negative, which that of an over-centre spring or a balancer is.
    """

    joints: tuple[str, ...] | None = None
    rest: float = setting("a position", 0.0)
    nonnegative: bool = field(default=False, repr=False, metadata={"description": "true or false"})  # no column has it
    kind: ClassVar[Kind] = Kind(
        "stiffness",
        "spring",
        "torque = value * (q - rest position)",
        ("N m/rad", "N/m"),
        key="spring",
        mechanism=True,
        example="{ rest = 0.1 }",
    )

    def __post_init__(self) -> None:
        if not math.isfinite(self.rest):
            raise ModelError(f"the rest position of a spring must be a finite number, got {self.rest}")

    def column(self, q: Array, qd: Array, qdd: Array) -> Array:
        """Return the deflection q - rest of the spring."""
        return q - self.rest

    slopes = constant(1.0, 0.0, 0.0)
    symbol = column

    def energy(self, q: Array) -> Array:
        """Return the potential energy per parameter, (q - rest)^2 / 2 [rad^2; m^2]."""
        return 0.5 * (q - self.rest) ** 2
