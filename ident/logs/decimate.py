"""Thinning, the same for regressor columns and for torque ("parallel decimation")."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from ident.arrays import Array
from ident.errors import LogError
from ident.logs.filter import decay

LARGEST = 13  # scipy's advice for its IIR filter; larger factors are split
ORDER, RIPPLE, BAND = 8, 0.05, 0.8  # of the Chebyshev filter of scipy.signal.decimate


def decimate(array: ArrayLike, factors: Sequence[int]) -> Array:
    """Return `array` (N, ...) low-passed (zero phase) and thinned along axis 0 by each factor in turn.

    `scipy.signal.decimate` with its Chebyshev filter of order 8: 0.05 dB ripple up to 0.8 of the new Nyquist frequency,
    in each direction. The first row stays; ceil(N / factor) rows are left each time. It is linear, so
    decimate(Y) theta = decimate(Y theta): regressor and torque are thinned alike. Raises LogError for a factor outside
    2 to 13 or too few rows.
    """
    from scipy.signal import decimate as thin

    result = np.asarray(array, dtype=np.float64)
    for factor in checked(factors):
        if len(result) <= 3 * (ORDER + 1):
            raise LogError(
                f"{len(result)} rows are too few to be thinned by {factor}",
                key="decimation",
                fix="Use a longer recording or smaller factors",
            )
        result = np.ascontiguousarray(thin(result, factor, axis=0, zero_phase=True))
    return result


def checked(factors: Sequence[int]) -> tuple[int, ...]:
    """Return the factors as integers. Raises LogError for one outside 2 to 13."""
    for factor in factors:
        if isinstance(factor, bool) or int(factor) != factor or not 2 <= factor <= LARGEST:
            raise LogError(
                f"a decimation factor is {factor}, wanted a whole number from 2 to {LARGEST}",
                key="decimation",
                fix="Split a large factor: [10, 10] thins by 100",
            )
    return tuple(int(f) for f in factors)


def memory(factors: Sequence[int]) -> int:
    """Return how many rows before thinning the filters of `factors` remember together."""
    from scipy.signal import cheby1

    rows, step = 0, 1
    for factor in factors:
        rows += step * decay(cheby1(ORDER, RIPPLE, BAND / factor, output="zpk")[1])
        step *= factor
    return rows
