"""What is proven of a motion at every instant, from bounds on short intervals of time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ident.arrays import Array


@dataclass(frozen=True)
class Guarantee:
    """`what` never goes beyond `reached`, and has to stay within `limit`, both in `unit`; at_least: has to stay above.

    method: how it is known to hold between samples.
    """

    what: str
    reached: float
    limit: float
    unit: str
    method: str
    at_least: bool = False

    @property
    def holds(self) -> bool:
        """Whether what is reached keeps the limit."""
        return self.reached >= self.limit if self.at_least else self.reached <= self.limit

    def __str__(self) -> str:
        wanted = "at least" if self.at_least else "at most"
        return f"{self.what}: {self.reached:.6g} {self.unit}, wanted {wanted} {self.limit:.6g} {self.unit}"


_FIRST = 1000  # intervals to begin with
_HALVINGS = 12
_MOST = 200_000  # intervals that are looked at in one go


def greatest_bound(bound: Callable[[Array, Array], tuple[Array, Array]], duration: float, limit: Array) -> Array:
    """Return for each of m quantities a value (m,) that it does not exceed at any time from 0 to `duration`.

    bound(a, b): upper bounds (K, m) over the intervals [a_k, b_k], and what is reached (K, m) at one of their ends.
    Where a bound lies above limit (m,), and nothing reached does, the interval is halved, up to 12 times, so that the
    result is above the limit only if the limit is reached or nearly so.
    """
    edges = np.linspace(0.0, duration, _FIRST + 1)
    a, b = edges[:-1], edges[1:]
    greatest = np.full(len(limit), -np.inf)
    for halving in range(_HALVINGS + 1):
        found, reached = bound(a, b)
        open_ = np.asarray(((found > limit) & (reached <= limit)).any(axis=1))
        if halving == _HALVINGS or 2 * np.count_nonzero(open_) > _MOST:
            open_[:] = False
        if (~open_).any():
            greatest = np.maximum(greatest, found[~open_].max(axis=0))
        if not open_.any():
            break
        a, b = a[open_], b[open_]
        middle = (a + b) / 2
        a, b = np.concatenate([a, middle]), np.concatenate([middle, b])
    return greatest
