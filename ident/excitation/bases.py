"""Bases of motions, motions in them that start and end at rest, and extremes of which none is missed.

There are finite Fourier series, alone or plus a polynomial.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import ArrayLike

from ident.arrays import Array, frozen
from ident.errors import ExcitationError

SLACK = 1e-13  # of the magnitude: where rounding begins
NOTHING = 1e-280  # where underflow begins
_NUMBERS = 4_000_000  # looked at in one go, so that memory is flat
_NEWTON = 6  # steps; three suffice from where the function is known to be concave


class Basis(Protocol):
    """Functions of time b_k(t), k = 1..size, of which every joint's motion q(t) = sum_k c_k b_k(t) is made."""

    @property
    def duration(self) -> float:
        """Length of the motion [s]."""

    @property
    def periodic(self) -> bool:
        """Whether the motion repeats itself after `duration`."""

    @property
    def size(self) -> int:
        """Number of coefficients of one joint."""

    def values(self, t: Array, order: int) -> Array:
        """Return the time derivatives of order 0..4 at t (N,) [s], exact up to rounding, (N, size)."""

    def extremes(self, coefficients: Array, order: int) -> tuple[Array, Array]:
        """Return the least and greatest value (n,) of each joint's derivative of order 0..3 over the whole duration.

        coefficients (n, size). Values that are reached, found so that none in between is missed: they differ from the
        true extremes by at most 1e-12 of the largest that the coefficients' magnitudes allow.
        """


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
    periodic: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "base", positive(self.base, "the base frequency [rad/s]"))
        object.__setattr__(self, "harmonics", count(self.harmonics, "the number of harmonics", 1))

    @property
    def duration(self) -> float:
        """The period 2 pi / base [s]."""
        return 2 * np.pi / self.base

    @property
    def size(self) -> int:
        """Number of coefficients of one joint, 1 + 2 harmonics."""
        return 1 + 2 * self.harmonics

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
        out = np.empty((len(t), 1 + 2 * self.harmonics))
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
        return np.asarray(amplitude + np.abs(coefficients[:, 0]) if order == 0 else amplitude)

    def extremes(self, coefficients: Array, order: int) -> tuple[Array, Array]:
        """Return the least and greatest value (n,) of the derivative of that order over the whole duration."""
        n = len(coefficients)
        best = greatest(self, np.concatenate([-coefficients, coefficients]), order, 32 * self.harmonics)
        return -best[:n], best[n:]


DEGREE = 5  # position, velocity and acceleration at two ends


@dataclass(frozen=True)
class FourierAndPolynomial(Fourier):
    """One period of `Fourier(base, harmonics)` plus sum_k p_k (t / T)^k, k = 1..5, with T the period.

    Coefficients in the order c, a_1, b_1, ..., a_L, b_L, p_1, ..., p_5; p_k in rad or m. Not periodic. `resting` leaves
    start and end posture free, `ident.excitation.through` fixes them.
    Source: Park, "Fourier-based optimal excitation trajectories for the dynamic identification of robots", Robotica 24
    (2006).
    Raises ExcitationError for a base that is not positive or harmonics below 1.
    """

    periodic: ClassVar[bool] = False

    @property
    def size(self) -> int:
        """Number of coefficients of one joint, 1 + 2 harmonics + 5."""
        return super().size + DEGREE

    def values(self, t: Array, order: int) -> Array:
        """Return the derivatives of any order at t (N,), (N, size)."""
        return np.concatenate([super().values(t, order), self._powers(t, order)], axis=1)

    def on_grid(self, coefficients: Array, order: int, intervals: int) -> Array:
        """Return the derivative (intervals + 1, n) at equally spaced times from 0 to T."""
        series, polynomial = np.split(coefficients, [super().size], axis=1)
        powers = self._powers(np.linspace(0.0, self.duration, intervals + 1), order)
        return super().on_grid(series, order, intervals) + powers @ polynomial.T

    def _powers(self, t: Array, order: int) -> Array:
        """Return the derivatives of (t / T)^k, k = 1..5, (N, 5)."""
        out, s = np.zeros((len(t), DEGREE)), t / self.duration
        for k in range(max(order, 1), DEGREE + 1):
            out[:, k - 1] = math.perm(k, order) * s ** (k - order) / self.duration**order
        return out

    def magnitude(self, coefficients: Array, order: int) -> Array:
        """Return a bound (n,) on the derivative's magnitude for t in [0, T]."""
        series, polynomial = np.split(coefficients, [super().size], axis=1)
        factor = np.array([math.perm(k, order) for k in range(1, DEGREE + 1)]) / self.duration**order
        return super().magnitude(series, order) + np.abs(polynomial) @ factor


def greatest(basis: Fourier, coefficients: Array, order: int, intervals: int) -> Array:
    """Return the greatest value (n,) of p_j = sum_k c_jk b_k^(order) over the whole duration; coefficients c (n, size).

    It begins with that many equal intervals. The value returned is reached, and no other exceeds it by more than 1e-13
    of magnitude(order).

    Each interval [m - h, m + h] is dropped once a bound says that it holds nothing better: Taylor's
    p(m) + h |p'(m)| + h^2/2 max|p''|, or, where p'' < 0 throughout because p''(m) + h max|p'''| < 0, the tangent at the
    point that Newton's method reaches, as a concave function lies below its tangents. Others are halved.
    """
    slack = SLACK * basis.magnitude(coefficients, order) + NOTHING
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


def null_space(rows: Array) -> Array:
    """Return orthonormal columns (size, free) that span {c: rows @ c = 0}; rows (m, size) of any scale."""
    _, s, vt = np.linalg.svd(_unit(rows))
    rank = int(np.count_nonzero(s > 1e-10 * s[0])) if len(s) else 0
    return np.ascontiguousarray(vt[rank:].T)


def end_conditions(basis: Basis, orders: tuple[int, ...]) -> Array:
    """Return rows (2 len(orders), size): the derivatives of those orders at time 0, then at `duration`."""
    ends = np.array([0.0, basis.duration])
    values = [basis.values(ends, order) for order in orders]
    return np.array([v[0] for v in values] + [v[1] for v in values])


def resting(basis: Basis) -> Array:
    """Return columns (size, free) that span, orthonormally, the coefficients of motions at rest at both ends.

    At rest: with zero velocity and acceleration; the ends are the times 0 and `duration`.
    """
    return null_space(end_conditions(basis, (1, 2)))


def through(basis: Basis, start: ArrayLike, end: ArrayLike) -> tuple[Array, Array]:
    """Return the motions that begin at rest at `start` (n,) and end at rest at `end` (n,) [rad; m].

    They are particular (n, size) + z @ free.T with free (size, k) orthonormal and z (n, k) anything; `particular` has
    the smallest coefficients. Raises ExcitationError when there is no such motion in the basis: a periodic one ends
    where it starts.
    """
    start = frozen(start, (None,), "the start posture", ExcitationError)
    end = frozen(end, start.shape, "the end posture", ExcitationError)
    rows = end_conditions(basis, (0, 1, 2))
    wanted = np.zeros((6, len(start)))
    wanted[0], wanted[3] = start, end
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    found, *_ = np.linalg.lstsq(_unit(rows), wanted / length, rcond=1e-10)
    missed = np.abs(rows @ found - wanted)[[0, 3]].max(axis=0)
    if (missed > 1e-9 * (np.abs(start) + np.abs(end))).any():
        j = int(np.argmax(missed))
        fix = "Start and end a periodic motion at the same posture, or use FourierAndPolynomial"
        raise ExcitationError(f"no such motion at rest goes from {start[j]:g} to {end[j]:g} (joint {j + 1})", fix=fix)
    return np.ascontiguousarray(found.T), null_space(rows)


def positive(value: float, name: str) -> float:
    """Return `value` as a float; ExcitationError unless it is positive and of a magnitude that a robot can have."""
    number = float(frozen(value, (), name, ExcitationError))
    if number <= 0:
        raise ExcitationError(f"{name} must be positive, got {number:g}")
    if not 1e-6 <= number <= 1e6:  # so that derivatives neither over- nor underflow
        raise ExcitationError(f"{name} must lie between 1e-6 and 1e6, got {number:g}", fix="Check its unit")
    return number


def count(value: int, name: str, least: int, most: int | None = None) -> int:
    """Return `value`; ExcitationError unless it is a whole number from `least` to `most`."""
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not whole or value < least or (most is not None and value > most):
        end = "on" if most is None else f"to {most}"
        raise ExcitationError(f"{name} must be a whole number from {least} {end}, got {value!r:.40}")
    return int(value)


def _unit(rows: Array) -> Array:
    """Return rows of length one, so that velocities and accelerations count alike."""
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))
