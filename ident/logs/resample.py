"""Signals between their samples: interpolation, a constant delay, a uniform grid that folds no frequencies down."""

from __future__ import annotations

from math import ceil, floor
from typing import Literal

import numpy as np

from ident.arrays import Array
from ident.errors import LogError
from ident.logs.filter import low_pass

Interpolation = Literal["cubic", "linear"]


def interpolate(t: Array, x: Array, at: Array, kind: Interpolation) -> Array:
    """Return x (N, k), sampled at t (N,) [s], at the times `at` (M,), which lie within t.

    "cubic": the not-a-knot spline. Raises LogError when two stamps are so close together (under a tenth of
    the median step) that a cubic through noisy samples would swing.
    """
    if kind == "linear" or len(t) < 4:
        return np.column_stack([np.interp(at, t, column) for column in x.T])
    step = np.diff(t)
    if step.min() < 0.1 * np.median(step):
        raise LogError(
            f"two rows are only {step.min():.2g} s apart, where {np.median(step):.2g} s is usual:"
            " a cubic through their noise would swing",
            fix="Set interpolation = 'linear'",
        )
    from scipy.interpolate import CubicSpline

    return np.asarray(CubicSpline(t, x, axis=0)(at), dtype=np.float64)


def resample(t: Array, x: Array, hz: float, kind: Interpolation, rate_hz: float) -> tuple[Array, Array]:
    """Return the times k / hz within t and x (M, k) there.

    The grid is anchored at t = 0, so that parts of one recording share it. When `hz` is below the mean rate `rate_hz`
    of the recording, x is first interpolated on a grid a whole number of times finer, low-passed (zero phase, at 0.8 of
    the new Nyquist frequency) and then thinned; all signals alike, so that position and torque stay in step.
    """
    fine = max(1, ceil(rate_hz / hz - 0.01))
    rate = fine * hz
    first, last = ceil(t[0] * rate - 1e-6), floor(t[-1] * rate + 1e-6)
    first, last = -(-first // fine) * fine, last // fine * fine  # whole steps of the coarse grid
    if last - first < 2 * fine:
        raise LogError(f"the recording holds fewer than 3 samples at {hz:g} Hz", key="resample_hz")
    grid = np.arange(first, last + 1) / rate
    values = interpolate(t, x, np.clip(grid, t[0], t[-1]), kind)
    if fine > 1:
        values = low_pass(values, 0.4 * hz, rate, 8, "resample_hz")
    return grid[::fine], values[::fine]


def undelayed(t: Array, tau: Array, delay: Array, kind: Interpolation) -> tuple[Array, slice]:
    """Return tau (N, n) with its delay (n,) [s] taken out, and the samples for which that is known.

    A positive delay means that torque lags position: the torque that belongs to q(t) was recorded at t + delay,
    so the result at t is tau(t + delay), interpolated between the time stamps. Samples that would need torque from
    before or after the recording are left out of the slice; what stands there is the end value.
    """
    if not delay.any():
        return tau, slice(0, len(t))
    shifted = np.column_stack(
        [interpolate(t, tau[:, [j]], np.clip(t + d, t[0], t[-1]), kind)[:, 0] for j, d in enumerate(delay)]
    )
    start = int(np.searchsorted(t + min(delay.min(), 0.0), t[0] - 1e-9))
    stop = int(np.searchsorted(t + max(delay.max(), 0.0), t[-1] + 1e-9, side="right"))
    return shifted, slice(start, stop)
