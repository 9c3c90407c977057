"""Zero-phase low-pass filters, given in Hz."""

from __future__ import annotations

from math import ceil, log
from typing import Any

import numpy as np

from ident.arrays import Array
from ident.errors import LogError

FORGOTTEN = 1e-11  # a filter's answer to a sample counts as gone when it has decayed to this
LOWEST = 1e-6  # cut-off relative to the sampling rate, below which the filter's coefficients round to nothing


def low_pass(x: Array, cutoff_hz: float, rate_hz: float, order: int, key: str = "cutoff_hz") -> Array:
    """Return x (N, k) through a Butterworth filter of `order`, forwards and backwards, so that nothing is delayed.

    Gain at `cutoff_hz` is 1/2: 1/sqrt(2) in each direction, as with filtfilt of the published recipes. The ends are
    continued by point reflection. Raises LogError when `cutoff_hz` is not below the Nyquist frequency of `rate_hz`.
    """
    from scipy.signal import sosfiltfilt

    sos = _design(cutoff_hz, rate_hz, order, key)
    pad = min(len(x) - 1, max(3 * (order + 1), ceil(2 * rate_hz / cutoff_hz)))
    return np.asarray(sosfiltfilt(sos, x, axis=0, padlen=pad), dtype=np.float64)


def memory(cutoff_hz: float, rate_hz: float, order: int) -> int:
    """Return after how many samples the filter has forgotten an input (its slowest pole decayed to 1e-11)."""
    return decay(_poles(cutoff_hz, rate_hz, order))


def _design(cutoff_hz: float, rate_hz: float, order: int, key: str) -> Any:
    from scipy.signal import butter

    if not cutoff_hz < rate_hz / 2:
        raise LogError(
            f"a cut-off of {cutoff_hz:g} Hz is not below the Nyquist frequency {rate_hz / 2:g} Hz of a recording"
            f" sampled at {rate_hz:g} Hz",
            key=key,
            fix=f"Choose a cut-off below {rate_hz / 2:g} Hz, or leave the filter out",
        )
    if cutoff_hz < LOWEST * rate_hz:
        raise LogError(
            f"a cut-off of {cutoff_hz:g} Hz is less than a millionth of the sampling rate of {rate_hz:g} Hz",
            key=key,
            fix="Correct the unit of the time stamps, or choose a higher cut-off",
        )
    return butter(order, cutoff_hz, fs=rate_hz, output="sos")


def _poles(cutoff_hz: float, rate_hz: float, order: int) -> Any:
    from scipy.signal import butter

    return butter(order, cutoff_hz, fs=rate_hz, output="zpk")[1]


def decay(poles: Any) -> int:
    """Return after how many samples a filter with these poles has forgotten an input: `FORGOTTEN` of it is left."""
    radius = float(np.abs(poles).max())
    return ceil(log(FORGOTTEN) / log(radius)) if radius > FORGOTTEN else 1
