"""How noisy the readings of a torque are at least, as they show by themselves."""

from __future__ import annotations

from math import comb

import numpy as np

from ident.arrays import Array
from ident.logs.check import position_quantum

#: Rows that are looked at, in the middle of a log.
_ROWS = 2**14
#: Highest order of the differences of neighbours.
_ORDER = 8
#: A normal deviate's median distance from its mean.
_MEDIAN = 0.6745


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
