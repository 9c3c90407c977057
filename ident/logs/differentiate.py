"""Time derivatives of sampled signals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ident.arrays import Array
from ident.errors import LogError


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

    step = uniform_step(t, "derivative = 'savgol'")
    if len(t) < window:
        raise LogError(f"{len(t)} samples are fewer than the window of {window}", key="savgol_window")
    return np.asarray(savgol_filter(x, window, degree, deriv=derivative, delta=step, axis=0, mode="interp"))


def uniform_step(t: Array, wanted_by: str) -> float:
    """Return the mean time step [s]. Raises LogError when a step differs from it by more than 0.1 %."""
    steps = np.diff(t)
    mean = float((t[-1] - t[0]) / (len(t) - 1))
    if np.abs(steps - mean).max() > 1e-3 * mean:
        raise LogError(
            f"{wanted_by} needs uniform samples, but the time steps go from {steps.min():.4g} to {steps.max():.4g} s",
            fix="Set resample_hz, or use derivative = 'central', which takes the measured steps",
        )
    return mean


@dataclass(frozen=True, eq=False)
class FourierFit:
    """x(t) = mean + sum over h of cosine_h cos(h w t) + sine_h sin(h w t), w = 2 pi / period [s].

    mean (k,), cosine and sine (harmonics, k), in the unit of x.
    """

    period: float
    mean: Array
    cosine: Array
    sine: Array

    def __call__(self, t: Array, derivative: int = 0) -> Array:
        """Return x or its exact derivative of any order at t (M,) [s], as (M, k)."""
        h = np.arange(1, len(self.cosine) + 1) * 2 * np.pi / self.period
        angle = np.outer(t, h) + derivative * np.pi / 2  # each derivative turns by a quarter and scales by h w
        value = (np.cos(angle) * h**derivative) @ self.cosine + (np.sin(angle) * h**derivative) @ self.sine
        return np.asarray(value + self.mean if derivative == 0 else value)


def fourier_fit(t: Array, x: Array, period: float, harmonics: int) -> FourierFit:
    """Fit a Fourier series to x (N, k) at the measured times t (N,) [s] by least squares, for periodic motion.

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
    angle = np.outer(t, np.arange(1, harmonics + 1)) * (2 * np.pi / period)
    columns = np.column_stack([np.ones(len(t)), np.cos(angle), np.sin(angle)])
    c = np.linalg.lstsq(columns, x, rcond=None)[0]
    return FourierFit(period, c[0], c[1 : harmonics + 1], c[harmonics + 1 :])
