"""What every basis of motions offers, and the motions in it that start and end at rest."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from ident.arrays import Array, frozen
from ident.errors import ExcitationError


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

    @property
    def resting(self) -> Array:
        """(size, free): columns span, orthonormally, the coefficients with zero velocity and acceleration at both ends.

        "Ends" are the times 0 and `duration`.
        """

    def values(self, t: Array, order: int) -> Array:
        """Return the time derivatives of order 0..4 at t (N,) [s], exact up to rounding, (N, size)."""

    def extremes(self, coefficients: Array, order: int) -> tuple[Array, Array]:
        """Return the least and greatest value (n,) of each joint's derivative of order 0..3 over the whole duration.

        coefficients (n, size). Values that are reached, found so that none in between is missed: they differ from the
        true extremes by at most 1e-12 of the largest that the coefficients' magnitudes allow.
        """


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
    """Return `Basis.resting`, (size, free)."""
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
        raise ExcitationError(
            f"no such motion at rest goes from {start[j]:g} to {end[j]:g} (joint {j + 1})",
            fix="Start and end a periodic motion at the same posture, or use FourierAndPolynomial",
        )
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
    unit: Array = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit
