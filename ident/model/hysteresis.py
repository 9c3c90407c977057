"""Friction that turns around over a short way, beside any law of Coulomb friction on the same joint."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ident.arrays import Array
from ident.errors import ModelError
from ident.model.standard import Dahl
from ident.model.term import Kind, constant, element, element_suffix, setting


@dataclass(frozen=True)
class Hysteresis:
    """tau_j = Fh_j z_j [N m; N] with Dahl's z, as `Dahl` has it: a second law beside that of `coulomb`.

    way [rad; m]: of presliding; joints: as in `Coulomb`; element: 2 to 9 for further ones on the same joint, such as
    `joint1.hysteresis2` of another way. Gears slide at some contacts while others still stick, so that one law, of the
    speed or of the way, is half of their friction. Source: Al-Bender, Lampaert, Swevers, "The generalized Maxwell-slip
    model", IEEE Transactions on Automatic Control 50(11), 2005 (elements side by side).
    """

    way: float = setting("a travel above 0", gt=0)
    joints: tuple[str, ...] | None = None
    element: float = element()
    nonnegative: ClassVar[bool] = True
    since: ClassVar[frozenset[str]] = frozenset({"element"})  # numbers that older files of estimates lack
    kind: ClassVar[Kind] = Kind(
        "hysteresis",
        "hysteresis friction",
        "torque = value * z, dz/dq = (1 - z sign(qd)) / way",
        ("N m", "N"),
        friction=True,
        example="{ way = 0.001 }",
    )

    def __post_init__(self) -> None:
        if not self.way > 0:
            raise ModelError(f"the way of hysteresis friction must be above 0, got {self.way}")
        element_suffix(self)

    suffix = property(element_suffix)

    def column(self, q: Array, qd: Array, qdd: Array) -> Array:
        """Return Dahl's state z in -1..1."""
        return Dahl(self.way).column(q, qd, qdd)

    slopes = constant(0.0, 0.0, 0.0)  # as Dahl's

    def continuous(self, q: Array, qd: Array, width: float) -> Array:
        """Return tanh(qd / width): a simulation carries no z."""
        return Dahl(self.way).continuous(q, qd, width)
