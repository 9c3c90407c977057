"""Finite Fourier series with a common base frequency."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ident.arrays import Array
from ident.excitation.basis import count, positive, resting
from ident.excitation.extrema import extremes


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
