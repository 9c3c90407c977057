"""The derivative of a joint term's column by the logarithm of its numbers, as a joint term of its own."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ident.arrays import Array
from ident.model.term import Kind

#: Relative step of the differences; columns are smooth in their numbers, so that 1e-8 of the derivative is lost.
_STEP = 1e-4


@dataclass(frozen=True)
class Slope:
    """d column / d log x, where the term's numbers (names) are all multiplied by x."""

    term: Any
    numbers: tuple[str, ...]

    @property
    def kind(self) -> Kind:
        """The kind of the term, with another name."""
        own: Kind = self.term.kind
        return replace(own, name=f"{own.name}'")

    def column(self, q: Array, qd: Array, qdd: Array, **signals: Array) -> Array:
        """Return the central difference of the columns of slightly larger and slightly smaller numbers."""
        ahead, behind = (
            replace(self.term, **{x: (1.0 + way) * getattr(self.term, x) for x in self.numbers}).column(
                q, qd, qdd, **signals
            )
            for way in (_STEP, -_STEP)
        )
        return np.asarray((ahead - behind) / (2.0 * _STEP))

    def __getattr__(self, name: str) -> Any:
        """Return what the term has."""
        if name in ("term", "numbers") or name.startswith("__"):  # a copy asks before there is one
            raise AttributeError(name)
        return getattr(self.term, name)
