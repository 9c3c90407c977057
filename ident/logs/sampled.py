"""Sampled signals: interpolation, a constant delay, a uniform grid that folds no frequencies down, derivatives."""

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


def central(x: Array, t: Array) -> Array:
    """Return dx/dt (N, k) by central differences with the measured time steps; t (N,) [s].

    Second order also where the steps differ (exact for parabolas), one-sided of second order at both ends.
    """
    if len(t) < 3:
        raise LogError("a derivative needs at least 3 samples")
    return np.asarray(np.gradient(x, t, axis=0, edge_order=2), dtype=np.float64)


def savitzky_golay(x: Array, t: Array, window: int, degree: int, derivative: int) -> Array:
    """Return the derivative (1 or 2) of x (N, k) by polynomials of `degree` fitted over `window` samples (odd).

    Raises LogError when the samples are not uniform within 0.1 %, or fewer than the window.
    """
    from scipy.signal import savgol_filter

    steps = np.diff(t)
    step = float((t[-1] - t[0]) / (len(t) - 1))
    if np.abs(steps - step).max() > 1e-3 * step:
        raise LogError(
            f"derivative = 'savgol' needs uniform samples, but the time steps go from {steps.min():.4g} to"
            f" {steps.max():.4g} s",
            fix="Set resample_hz, or use derivative = 'central', which takes the measured steps",
        )
    if len(t) < window:
        raise LogError(f"{len(t)} samples are fewer than the window of {window}", key="savgol_window")
    return np.asarray(savgol_filter(x, window, degree, deriv=derivative, delta=step, axis=0, mode="interp"))


def fourier_fit(t: Array, x: Array, period: float, harmonics: int) -> tuple[Array, Array, Array]:
    """Return a Fourier series (N, k), fitted to x (N, k) at the measured times t (N,) [s] by least squares, and its
    two exact derivatives, for periodic motion.

    Raises LogError when t covers less than one period, or the highest harmonic is not below the Nyquist frequency.
    """
    rate = (len(t) - 1) / (t[-1] - t[0])
    if t[-1] - t[0] < period * (1 - 1.5 / (rate * period)):
        raise LogError(f"covers {t[-1] - t[0]:.4g} s, less than the period of {period:g} s", key="fourier_period_s")
    if not harmonics / period < rate / 2:
        raise LogError(
            f"harmonic {harmonics} at {harmonics / period:g} Hz is not below the Nyquist frequency {rate / 2:g} Hz",
            key="fourier_harmonics",
        )
    w = np.arange(1, harmonics + 1) * (2 * np.pi / period)
    cosine, sine = np.cos(np.outer(t, w)), np.sin(np.outer(t, w))
    c = np.linalg.lstsq(np.column_stack([np.ones(len(t)), cosine, sine]), x, rcond=None)[0]
    a, b = c[1 : harmonics + 1], c[harmonics + 1 :]
    return c[0] + cosine @ a + sine @ b, (cosine * w) @ b - (sine * w) @ a, -(cosine * w**2) @ a - (sine * w**2) @ b
