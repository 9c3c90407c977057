"""Periodic B-splines with uniform knots."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from ident.arrays import Array
from ident.excitation.basis import count, positive, resting

_SLACK = 1e-13  # of the magnitude: where rounding begins
_NOTHING = 1e-280  # where underflow begins


@dataclass(frozen=True)
class PeriodicSpline:
    """q(t) = sum_k c_k B(m t / T - k), k = 0..m-1, wrapped around the period T = duration, with m = intervals.

    B is the B-spline of `degree` d with knots 0, 1, ..., d + 1, so that c_k [rad; m] is a control point of the joint
    and q stays between the least and the greatest of them. q has d - 1 continuous derivatives: with d = 5 the jerk and
    the snap are continuous. At a knot `values` returns the derivative from the right.
    Source: de Boor, "A Practical Guide to Splines" (1978), chapter IX.
    Raises ExcitationError for a duration that is not positive, a degree outside 3..9, or intervals outside
    degree + 1..2000.
    """

    duration: float
    intervals: int
    degree: int = 5

    def __post_init__(self) -> None:
        object.__setattr__(self, "duration", positive(self.duration, "the duration [s]"))
        object.__setattr__(self, "degree", count(self.degree, "the degree of the spline", 3, 9))
        least = self.degree + 1  # so that no basis function overlaps itself
        object.__setattr__(self, "intervals", count(self.intervals, "the number of intervals", least, 2000))

    @property
    def periodic(self) -> bool:
        """True: it repeats itself after `duration`."""
        return True

    @property
    def size(self) -> int:
        """Number of coefficients of one joint, one per interval."""
        return self.intervals

    @cached_property
    def resting(self) -> Array:
        """Motions at rest at both ends, (size, size - 2); see `Basis.resting`."""
        return resting(self)

    def values(self, t: Array, order: int) -> Array:
        """Return the derivatives of any order at t (N,), (N, size)."""
        d, m = self.degree, self.intervals
        x = t * (m / self.duration)
        interval = np.floor(x)
        u = x - interval
        pieces = derivative(pieces_of_b_spline(d), order) * (m / self.duration) ** order
        local = np.vander(u, pieces.shape[1], increasing=True) @ pieces.T  # (N, d + 1)
        column = (interval.astype(np.int64)[:, None] - np.arange(d + 1)) % m  # piece i of B begins i knots after k
        out = np.zeros((len(t), m))
        np.put_along_axis(out, column, local, axis=1)
        return out

    def extremes(self, coefficients: Array, order: int) -> tuple[Array, Array]:
        """Return the least and greatest value (n,) of the derivative of that order over the period."""
        d, m = self.degree, self.intervals
        pieces = derivative(pieces_of_b_spline(d), order) * (m / self.duration) ** order
        column = (np.arange(m)[:, None] - np.arange(d + 1)) % m
        monomial = coefficients[:, column] @ pieces  # (n, m, degree + 1): a polynomial in u for each interval
        bernstein = monomial @ to_bernstein(pieces.shape[1] - 1)
        return -greatest_of_polynomials(-bernstein), greatest_of_polynomials(bernstein)


@cache
def pieces_of_b_spline(degree: int) -> Array:
    """Return the pieces of B (degree + 1, degree + 1): row i holds the powers of u of B(i + u), 0 <= u < 1.

    By Cox and de Boor's recursion B_d(x) = (x B_{d-1}(x) + (d + 1 - x) B_{d-1}(x - 1)) / d.
    """
    rows = np.array([[1.0]])
    for d in range(1, degree + 1):
        left, right = np.zeros((d + 1, d + 1)), np.zeros((d + 1, d + 1))
        left[:d, :d], right[1:, :d] = rows, rows
        i = np.arange(d + 1)[:, None]
        times_u = np.roll(left - right, 1, axis=1)
        rows = (times_u + i * left + (d + 1 - i) * right) / d
    rows.setflags(write=False)
    return rows


def derivative(polynomials: Array, order: int) -> Array:
    """Return the powers (..., max(1, d + 1 - order)) of the derivative of polynomials given by powers (..., d + 1)."""
    size = polynomials.shape[-1]
    if order >= size:
        return np.zeros((*polynomials.shape[:-1], 1))
    factor = np.array([float(math.perm(k, order)) for k in range(order, size)])
    found: Array = polynomials[..., order:] * factor
    return found


def to_bernstein(degree: int) -> Array:
    """Return (d + 1, d + 1) that takes the powers of u, as a row, to Bernstein's coefficients on [0, 1]."""
    return np.array([[math.comb(i, j) / math.comb(degree, j) for i in range(degree + 1)] for j in range(degree + 1)])


def greatest_of_polynomials(bernstein: Array) -> Array:
    """Return the greatest value (n,) of m polynomials on [0, 1] for each of n joints; bernstein (n, m, d + 1).

    The first and last coefficients are values, the greatest coefficient bounds all values: pieces whose bound exceeds
    the best value found by more than 1e-13 of the largest coefficient are halved (de Casteljau).
    """
    slack = _SLACK * np.abs(bernstein).max(axis=(1, 2)) + _NOTHING
    best: Array = bernstein[:, :, [0, -1]].max(axis=(1, 2))
    j, k = np.nonzero(bernstein.max(axis=2) > (best + slack)[:, None])
    b = bernstein[j, k]
    while len(j):
        left, right, triangle = [b[:, 0]], [b[:, -1]], b
        while triangle.shape[1] > 1:
            triangle = (triangle[:, 1:] + triangle[:, :-1]) / 2
            left.append(triangle[:, 0])
            right.append(triangle[:, -1])
        np.maximum.at(best, j, triangle[:, 0])
        b = np.concatenate([np.stack(left, axis=1), np.stack(right[::-1], axis=1)])
        j = np.concatenate([j, j])
        keep = b.max(axis=1) > best[j] + slack[j]
        b, j = b[keep], j[keep]
    return best
