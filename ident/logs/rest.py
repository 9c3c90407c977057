"""Joints that rest throughout a log, whose readings filters and derivatives turn into noise; and rows that count."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ident.arrays import Array

#: Readings closer than this [rad; m] are one and the same: no encoder tells them apart, rounding does.
SAME = 1e-9
#: An encoder that flickers shows its count and both neighbours.
COUNTS = 3
#: Noise of a position sensor stays within this [rad; m]; what goes farther from row to row is a fast motion.
NOISE = 5e-3


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
