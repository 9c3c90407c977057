"""Fourier series plus a polynomial, for motions that start and end at rest anywhere."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ident.arrays import Array
from ident.excitation.basis import resting
from ident.excitation.extrema import extremes
from ident.excitation.fourier import Fourier

DEGREE = 5  # position, velocity and acceleration at two ends


@dataclass(frozen=True)
class FourierAndPolynomial:
    """One period of `Fourier(base, harmonics)` plus sum_k p_k (t / T)^k, k = 1..5, with T the period.

    Coefficients in the order c, a_1, b_1, ..., a_L, b_L, p_1, ..., p_5; p_k in rad or m. Not periodic. `resting` leaves
    start and end posture free, `ident.excitation.through` fixes them.
    Source: Park, "Fourier-based optimal excitation trajectories for the dynamic identification of robots", Robotica 24
    (2006).
    Raises ExcitationError for a base that is not positive or harmonics below 1.
    """

    base: float
    harmonics: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "base", self.fourier.base)
        object.__setattr__(self, "harmonics", self.fourier.harmonics)

    @cached_property
    def fourier(self) -> Fourier:
        """The Fourier series, without the polynomial."""
        return Fourier(self.base, self.harmonics)

    @property
    def duration(self) -> float:
        """Length of the motion, T = 2 pi / base [s]."""
        return self.fourier.duration

    @property
    def periodic(self) -> bool:
        """False: the polynomial does not repeat itself."""
        return False

    @property
    def size(self) -> int:
        """Number of coefficients of one joint, 1 + 2 harmonics + 5."""
        return self.fourier.size + DEGREE

    @cached_property
    def resting(self) -> Array:
        """Motions at rest at both ends, (size, size - 4); see `Basis.resting`."""
        return resting(self)

    def values(self, t: Array, order: int) -> Array:
        """Return the derivatives of any order at t (N,), (N, size)."""
        return np.concatenate([self.fourier.values(t, order), self._powers(t, order)], axis=1)

    def on_grid(self, coefficients: Array, order: int, intervals: int) -> Array:
        """Return the derivative (intervals + 1, n) at equally spaced times from 0 to T."""
        split = self.fourier.size
        powers = self._powers(np.linspace(0.0, self.duration, intervals + 1), order)
        found: Array = (
            self.fourier.on_grid(coefficients[:, :split], order, intervals) + powers @ coefficients[:, split:].T
        )
        return found

    def _powers(self, t: Array, order: int) -> Array:
        """Return the derivatives of (t / T)^k, k = 1..5, (N, 5)."""
        out, s = np.zeros((len(t), DEGREE)), t / self.duration
        for k in range(max(order, 1), DEGREE + 1):
            out[:, k - 1] = math.perm(k, order) * s ** (k - order) / self.duration**order
        return out

    def magnitude(self, coefficients: Array, order: int) -> Array:
        """Return a bound (n,) on the derivative's magnitude for t in [0, T]."""
        split = self.fourier.size
        factor = np.array([math.perm(k, order) for k in range(1, DEGREE + 1)]) / self.duration**order
        polynomial: Array = np.abs(coefficients[:, split:]) @ factor
        return self.fourier.magnitude(coefficients[:, :split], order) + polynomial

    def extremes(self, coefficients: Array, order: int) -> tuple[Array, Array]:
        """Return the least and greatest value (n,) of the derivative of that order for t in [0, T]."""
        return extremes(self, coefficients, order, 32 * self.harmonics)
