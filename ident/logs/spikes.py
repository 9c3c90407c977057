"""Samples that leap away from their neighbours and back within a sample or two: errors of a reader, not motion."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ident.arrays import Array
from ident.logs.readings import least_noise

#: A spike is this many samples long at most; so many on either side are its neighbours.
LONGEST, SIDE = 2, 3
#: It is farther from their median than so many standard deviations of the noise, and times their own spread,
NOISES, SPREADS = 20.0, 5.0
#: and than this share of the standard deviation of all that is read.
SHARE = 0.05
#: What leaps in more than this share of the samples is no error of a reader.
MOST = 0.03


def spikes(x: Array) -> NDArray[np.bool_]:
    """Return which readings (N, n) are spikes.

    Hampel's identifier where a second difference stands out of the noise of the whole signal (`least_noise`): the
    distance from the median of a window, its usual slope taken out, against that noise and the spread of the window,
    its LONGEST largest distances left out. That keeps turning points, corners and steps from counting as spikes. A
    signal that leaps often has none. Parts of a long recording have a noise of their own each. The limits are tried in
    `experiments/benchmarks/spikes.py`.
    """
    found = np.zeros(x.shape, dtype=bool)
    if len(x) < 10 * (2 * SIDE + 1):
        return found
    least = np.maximum(NOISES * least_noise(x), SHARE * x.std(axis=0))
    for j, signal in enumerate(x.T):
        apart = signal[:-2] - 2.0 * signal[1:-1] + signal[2:]
        far = np.flatnonzero(np.abs(apart, out=apart) > least[j]) + 1
        far = far[(far >= SIDE) & (far < len(x) - SIDE)]
        if len(far) > (LONGEST + 2) * MOST * len(x):
            continue
        around = np.arange(-SIDE, SIDE + 1)
        window = signal[far[:, None] + around]
        window = window - np.median(np.diff(window, axis=1), axis=1, keepdims=True) * around
        distance = np.abs(window - np.median(window, axis=1, keepdims=True))
        spread = np.sort(distance, axis=1)[:, -LONGEST - 1]
        odd = far[distance[:, SIDE] > np.maximum(least[j], SPREADS * spread)]
        if len(odd) <= MOST * len(x):
            found[odd, j] = True
    return found


def interpolated(t: Array, x: Array) -> Array:
    """Return readings x (N, n) at times t (N,) with straight lines in place of the spikes."""
    found = spikes(x)
    if not found.any():
        return x
    return np.column_stack([np.interp(t, t[~odd], own[~odd]) for own, odd in zip(x.T, found.T, strict=True)])
