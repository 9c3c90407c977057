"""Bounds that hold at every instant of a motion, from bounds on short intervals of time."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ident.arrays import Array

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
