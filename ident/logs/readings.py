"""What the readings of a log show by themselves: steps of an encoder, noise, joints at rest, leaps of the clock."""

from __future__ import annotations

from math import comb

import numpy as np
from numpy.typing import NDArray

from ident.arrays import Array

ENOUGH = 200_000  # rows that are looked at
BREAK_S, BREAK_STEPS = 10.0, 100  # a step that is longer than both parts a recording in two
#: Readings closer than this [rad; m] are one and the same: no encoder tells them apart, rounding does.
SAME = 1e-9
#: An encoder that flickers shows its count and both neighbours.
COUNTS = 3
#: Noise of a position sensor stays within this [rad; m]; what goes farther from row to row is a fast motion.
NOISE = 5e-3
#: Rows that are looked at, in the middle of a log.
_ROWS = 2**14
#: Highest order of the differences of neighbours.
_ORDER = 8
#: A normal deviate's median distance from its mean.
_MEDIAN = 0.6745


def position_quantum(q: Array) -> float | None:
    """Return the step [rad or m] in which the readings q (N,) come, or None where none shows.

    Neighbouring distinct readings are whole multiples of the step; that it is one is believed when nearly all of the
    smaller distances are multiples of their smallest.
    """
    levels = np.unique(q)
    scale = float(np.abs(q).max())
    gaps = np.diff(levels)
    gaps = gaps[gaps > 1e-9 * scale]  # rounding of floating point is no step
    if len(gaps) < 3:
        return None
    step = float(np.sort(gaps)[: max(1, len(gaps) // 100)].mean())
    near = gaps[gaps < 20.5 * step]
    if len(near) < 0.5 * len(gaps):
        return None
    multiple = np.round(near / step)
    step = float(near.sum() / multiple.sum())  # the smallest alone carries the rounding of the file
    multiple = near / step
    return step if np.mean(np.abs(multiple - np.round(multiple)) < 0.1) > 0.95 else None


def least_noise(tau: Array) -> Array:
    """Return a floor (n,) of the standard deviation of the noise in readings tau (N, n), 0 where none shows.

    The larger of two: the rounding of readings that come in steps, a step / sqrt(12); and what differences of
    neighbours leave. The k-th difference of white noise has comb(2 k, k) times its variance, that of a motion falls
    with k, so the least of the first eight counts (Gasser, Sroka, Jennen-Steinmetz 1986, of order two). Medians keep
    the jumps of friction out.
    """
    middle = len(tau) // 2
    part = tau[max(0, middle - _ROWS // 2) : middle + _ROWS // 2]
    steps = np.array([position_quantum(x) or 0.0 for x in part.T]) / np.sqrt(12.0)
    if len(part) < 4 * _ORDER:
        return np.asarray(steps)
    found, apart = np.full(part.shape[1], np.inf), part
    for k in range(1, _ORDER + 1):
        apart = np.diff(apart, axis=0)
        found = np.minimum(found, np.median(np.abs(apart), axis=0) / _MEDIAN / np.sqrt(comb(2 * k, k)))
    return np.asarray(np.maximum(found, steps))


def resting(q: Array) -> NDArray[np.bool_]:
    """Return which joints (n,) rest in the readings q (N, n) [rad; m].

    A joint rests whose readings stay within NOISE and are at most three numbers, or differ from row to row by so much
    that its motion is less than three times their noise: the mean squared difference of neighbours over twice the
    variance is 1 for white noise and 0 for a motion (von Neumann 1941).
    """
    return np.array([bool(np.ptp(x) < NOISE) and (_few(x) or _noisy(x)) for x in q.T])


def _few(x: Array) -> bool:
    for _ in range(COUNTS):
        x = x[np.abs(x - x[0]) > SAME]
        if not len(x):
            return True
    return False


def _noisy(x: Array) -> bool:
    return bool(np.mean(np.diff(x) ** 2) / 2 > np.var(x) / (1 + 3**2))


def moving(qd: Array, min_speed: Array, standstill: Array) -> np.ndarray:
    """Return keep (N, n), bool, from velocities qd (N, n).

    A joint's row is dropped where the joint is slower than its `min_speed` (n,) [rad/s or m/s], because the sign of
    its friction is not known there. All rows of a sample are dropped where every joint is slower than its
    `standstill` (n,), because a robot at rest tells little and its stiction is not modelled.
    """
    speed = np.abs(qd)
    resting = (speed < standstill).all(axis=1, keepdims=True)
    return np.asarray((speed >= min_speed) & ~resting)


def leap(t: Array) -> int | None:
    """Return the row after which the clock leaps forward so far that no derivative can go across, None for none."""
    steps = np.diff(t)
    at = int(np.argmax(steps)) if len(steps) else 0
    return at if len(steps) and steps[at] > max(BREAK_S, BREAK_STEPS * np.median(steps)) else None
