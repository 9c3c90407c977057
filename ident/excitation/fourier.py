"""Finite Fourier series with a common base frequency, alone or plus a polynomial that ends at rest anywhere."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ident.arrays import Array
from ident.excitation.basis import count, extremes, positive, resting


@dataclass(frozen=True)
class Fourier:
    """q(t) = c + sum_l a_l / (w l) sin(w l t) - b_l / (w l) cos(w l t), l = 1..harmonics, w = base.

    So qd(t) = sum_l a_l cos(w l t) + b_l sin(w l t): a_l and b_l are velocities [rad/s; m/s], c a position [rad; m].
    Coefficients in the order c, a_1, b_1, a_2, b_2, ... base [rad/s].
    Source: Swevers et al., "Optimal robot excitation and identification", IEEE T-RA 13 (1997).
    Raises ExcitationError for a base that is not positive or harmonics below 1.
    """

    base: float
    harmonics: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "base", positive(self.base, "the base frequency [rad/s]"))
        object.__setattr__(self, "harmonics", count(self.harmonics, "the number of harmonics", 1))

    @property
    def duration(self) -> float:
        """The period 2 pi / base [s]."""
        return 2 * np.pi / self.base

    @property
    def periodic(self) -> bool:
        """True: it repeats itself after `duration`."""
        return True

    @property
    def size(self) -> int:
        """Number of coefficients of one joint, 1 + 2 harmonics."""
        return 1 + 2 * self.harmonics

    @cached_property
    def resting(self) -> Array:
        """(size, size - 2): sum_l a_l = 0 and sum_l l b_l = 0."""
        return resting(self)

    def values(self, t: Array, order: int) -> Array:
        """Return the derivatives of any order at t (N,), (N, size)."""
        harmonic = np.arange(1.0, self.harmonics + 1)
        frequency = self.base * harmonic
        turns = (t / self.duration)[:, None]
        # whole turns are taken off without rounding, so that a high harmonic is as exact as the first
        short = np.rint(turns * 2.0**20) / 2.0**20
        phase = short * harmonic
        phase -= np.rint(phase)
        phase += (turns - short) * harmonic
        phase *= 2 * np.pi
        factor = frequency ** (order - 1) * (-1.0 if order % 4 > 1 else 1.0)
        # the derivatives of sin are sin, cos, -sin, -cos, and those of -cos are -cos, sin, cos, -sin
        first, second, sign = (np.sin, np.cos, -1.0) if order % 2 == 0 else (np.cos, np.sin, 1.0)
        out = np.empty((len(t), self.size))
        out[:, 0] = 1.0 if order == 0 else 0.0
        out[:, 1::2] = factor * first(phase)
        out[:, 2::2] = sign * factor * second(phase)
        return out

    def on_grid(self, coefficients: Array, order: int, intervals: int) -> Array:
        """Return the derivative (intervals + 1, n) at equally spaced times from 0 to the period, by one FFT.

        a sin(x) - b cos(x) = Re((-b - i a) e^ix); harmonics that the grid cannot tell apart add up in one place.
        """
        harmonic = np.arange(1, self.harmonics + 1)
        wave = -(coefficients[:, 2::2] + 1j * coefficients[:, 1::2]) * 1j**order * (self.base * harmonic) ** (order - 1)
        spectrum = np.zeros((intervals, len(coefficients)), dtype=np.complex128)
        np.add.at(spectrum, harmonic % intervals, wave.T)
        if order == 0:
            spectrum[0] += coefficients[:, 0]
        found = np.fft.ifft(spectrum, axis=0, norm="forward").real
        return np.concatenate([found, found[:1]])

    def magnitude(self, coefficients: Array, order: int) -> Array:
        """Return a bound (n,) on the derivative's magnitude: sum_l (w l)^(order - 1) hypot(a_l, b_l), plus |c|."""
        frequency = self.base * np.arange(1, self.harmonics + 1)
        amplitude = np.hypot(coefficients[:, 1::2], coefficients[:, 2::2]) @ frequency ** (order - 1)
        bound: Array = amplitude + np.abs(coefficients[:, 0]) if order == 0 else amplitude
        return bound

    def extremes(self, coefficients: Array, order: int) -> tuple[Array, Array]:
        """Return the least and greatest value (n,) of the derivative of that order over the period."""
        return extremes(self, coefficients, order, 32 * self.harmonics)


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
