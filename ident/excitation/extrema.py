"""Extremes of smooth functions over an interval, found by subdivision with bounds, so that none is missed."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from ident.arrays import Array

_SLACK = 1e-13  # of the magnitude: where rounding begins
_NOTHING = 1e-280  # where underflow begins
_NUMBERS = 4_000_000  # looked at in one go, so that memory is flat
_NEWTON = 6  # steps; three suffice from where the function is known to be concave


class Bounded(Protocol):
    """A basis of functions on 0..duration whose derivatives of any order are known and bounded."""

    @property
    def duration(self) -> float:
        """Length of the interval [s]."""

    def values(self, t: Array, order: int) -> Array:
        """Return the derivatives at t (N,), (N, size)."""

    def on_grid(self, coefficients: Array, order: int, intervals: int) -> Array:
        """Return the derivatives (intervals + 1, n) of sum_k c_jk b_k at equally spaced times from 0 to duration."""

    def magnitude(self, coefficients: Array, order: int) -> Array:
        """Return bounds (n,) on the magnitude of the derivative of sum_k c_jk b_k; coefficients c (n, size)."""


def extremes(basis: Bounded, coefficients: Array, order: int, intervals: int) -> tuple[Array, Array]:
    """Return least and greatest value (n,) of each sum_k c_jk b_k^(order), starting from that many intervals."""
    n = len(coefficients)
    best = greatest(basis, np.concatenate([-coefficients, coefficients]), order, intervals)
    return -best[:n], best[n:]


def greatest(basis: Bounded, coefficients: Array, order: int, intervals: int) -> Array:
    """Return the greatest value (n,) of p_j = sum_k c_jk b_k^(order) over the whole duration; coefficients c (n, size).

    It begins with that many equal intervals. The value returned is reached, and no other exceeds it by more than 1e-13
    of magnitude(order).

    Each interval [m - h, m + h] is dropped once a bound says that it holds nothing better: Taylor's
    p(m) + h |p'(m)| + h^2/2 max|p''|, or, where p'' < 0 throughout because p''(m) + h max|p'''| < 0, the tangent at the
    point that Newton's method reaches, as a concave function lies below its tangents. Others are halved.
    """
    slack = _SLACK * basis.magnitude(coefficients, order) + _NOTHING
    second, third = (basis.magnitude(coefficients, order + r) for r in (2, 3))

    step = basis.duration / (2 * intervals)
    level = basis.on_grid(coefficients, order, 2 * intervals)  # the ends of the intervals, and their middles between
    best: Array = level.max(axis=0)
    slope = basis.on_grid(coefficients, order + 1, 2 * intervals)[1::2]
    open_ = level[1::2] + step * np.abs(slope) + step**2 / 2 * second > best + slack
    k, j = np.nonzero(open_)
    m = (2 * k + 1).astype(np.float64) * step
    h = np.full(len(k), step)

    def at(t: Array, r: int) -> Array:
        found = np.empty(len(t))
        few = max(1, _NUMBERS // coefficients.shape[1])
        for i in range(0, len(t), few):
            part = slice(i, i + few)
            found[part] = np.einsum("ks,ks->k", basis.values(t[part], order + r), coefficients[j[part]])
        return found

    while len(j):
        level, slope, curve = at(m, 0), at(m, 1), at(m, 2)
        np.maximum.at(best, j, level)
        keep = level + h * np.abs(slope) + h**2 / 2 * second[j] > best[j] + slack[j]
        j, m, h, curve = j[keep], m[keep], h[keep], curve[keep]

        concave = curve + 2 * h * third[j] < 0  # twice, to stay away from zero
        everyone, j = j, j[concave]
        t, low, high = m[concave], (m - h)[concave], (m + h)[concave]
        for _ in range(_NEWTON if len(j) else 0):
            t = np.clip(t - at(t, 1) / at(t, 2), low, high)
        reached, slope = at(t, 0), at(t, 1)
        np.maximum.at(best, j, reached)
        beyond = reached + np.maximum(slope * (low - t), slope * (high - t)) > best[j] + slack[j]
        j = everyone

        rest = ~concave
        rest[np.flatnonzero(concave)[beyond]] = True
        j, h = np.repeat(j[rest], 2), np.repeat(h[rest] / 2, 2)
        m = np.repeat(m[rest], 2) + h * np.tile([-1.0, 1.0], np.count_nonzero(rest))
    return best
