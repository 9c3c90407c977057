"""Sampled signals: zero-phase low-pass filters, given in Hz, and thinning, alike for regressor and torque ("parallel
decimation"); interpolation, a constant delay, a uniform grid that folds no frequencies down, derivatives.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from math import asinh, ceil, floor, isfinite, log, pi, prod, sqrt, tan
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ident.arrays import Array
from ident.errors import LogError, plural

FORGOTTEN = 1e-11  # a filter's answer to a sample counts as gone when it has decayed to this
LOWEST = 1e-6  # cut-off relative to the sampling rate, below which the filter's coefficients round to nothing
LARGEST = 13  # scipy's advice for its IIR filter; larger factors are split
#: Highest cut-off of positions, relative to the rate, that is worth a filter.
HIGHEST = 0.4
ORDER, RIPPLE, BAND = 8, 0.05, 0.8  # of the Chebyshev filter of scipy.signal.decimate
#: Rows that are filtered forwards at once, few enough for the cache; memories of the filter that are backwards.
BLOCK, _MEMORIES = 512, 6
#: Rows by which scipy continues either end.
_PAD = 3 * (ORDER + 1)


@dataclass(frozen=True, eq=False)
class LowPass:
    """A digital low-pass with all zeros at the Nyquist frequency: its `poles` in the z plane and its gain at 0 Hz."""

    poles: NDArray[np.complex128]
    gain: float = 1.0

    @cached_property
    def sections(self) -> Array:
        """Second-order sections (4 s, 5) of b0, b1, b2, a1, a2, the longest memory last; the first has the gain.

        They come in fours, the last ones doing nothing.
        """
        rows = []
        for z in sorted(self.poles[self.poles.imag >= 0], key=abs):
            if z.imag == 0:  # the real pole of an odd order
                g = (1 - z.real) / 2
                rows.append([g, g, 0.0, -z.real, 0.0])
            else:
                g = abs(1 - z) ** 2 / 4  # each section has the gain 1 at 0 Hz
                rows.append([g, 2 * g, g, -2 * z.real, abs(z) ** 2])
        rows[0][:3] = [self.gain * b for b in rows[0][:3]]
        return np.array(rows + [[1.0, 0.0, 0.0, 0.0, 0.0]] * (-len(rows) % 4))

    @cached_property
    def memory(self) -> int:
        """After how many samples an input is forgotten: its slowest pole has decayed to `FORGOTTEN`."""
        radius = float(np.abs(self.poles).max())
        return ceil(log(FORGOTTEN) / log(radius)) if radius > FORGOTTEN else 1

    def settled(self, x: Array) -> Array:
        """Return the state (s, 2, k) of sections that have seen nothing but the row x (k,)."""
        b0, _, b2, _, a2 = self.sections.T
        out = self.gain * np.ones(len(b0))  # of each section, for an input of 1
        into = np.append(1.0, out[:-1])
        return np.asarray(np.stack([out - b0 * into, b2 * into - a2 * out], axis=1)[:, :, None] * x)

    def forwards(self, x: Array, state: Array, panels: Array, at: int) -> None:
        """Filter x (N, 8 g) into panels (g, rows, 8) from row `at` on, and bring `state` to after its last row."""
        from ident.logs.filter_kernels import run_forwards

        run_forwards(x, self.sections, state, panels, at)

    def backwards(self, panels: Array, stop: int, first: int, last: int, step: int = 1) -> Array:
        """Return every step-th of rows first..last of panels (g, rows, 8), filtered backwards from row `stop` on."""
        from ident.logs.filter_kernels import run_backwards

        out = np.empty((-(-(last - first) // step), 8 * len(panels)))
        run_backwards(panels, stop, self.sections, self.settled(panels[:, stop - 1].ravel()), first, step, out)
        return out


def butterworth(cutoff: float, order: int) -> LowPass:
    """Return the filter of maximally flat gain, 1/sqrt(2) at `cutoff`, as a share of the sampling rate."""
    m = np.arange(1 - order, order, 2)
    return LowPass(_digital(-np.exp(1j * pi * m / (2 * order)), cutoff))


def _thinning(factor: int) -> LowPass:
    """Return the Chebyshev filter of `decimate`, of even order, whose gain ripples up to BAND of the new Nyquist."""
    ripple = sqrt(10 ** (RIPPLE / 10) - 1)
    m = np.arange(1 - ORDER, ORDER, 2)
    poles = -np.sinh(asinh(1 / ripple) / ORDER + 1j * pi * m / (2 * ORDER))
    return LowPass(_digital(poles, BAND / (2 * factor)), 1 / sqrt(1 + ripple**2))


def _digital(prototype: NDArray[np.complex128], cutoff: float) -> NDArray[np.complex128]:
    """Return the poles of a low-pass of cut-off 1 rad/s by the bilinear transform (Oppenheim, Schafer, section 7.1)."""
    s = prototype * tan(pi * cutoff)
    return np.asarray((1 + s) / (1 - s))


def reflected(x: Array, at: int, rows: int) -> Array:
    """Return `rows` rows before the first (at = 0) or after the last row (at = -1) of x (N, k), by point reflection.

    At either end in turn where x, two rows or more, is shorter.
    """
    if len(x) <= rows:
        both = np.pad(x, ((rows, rows), (0, 0)), mode="reflect", reflect_type="odd")
        return both[:rows] if at == 0 else both[-rows:]
    mirrored = x[rows:0:-1] if at == 0 else x[-2 : -rows - 2 : -1]
    return np.asarray(2 * x[at] - mirrored)


def low_pass(x: Array, cutoff_hz: float | None, rate_hz: float, order: int, key: str = "cutoff_hz") -> Array:
    """Return x (N, k) through a Butterworth filter of `order`, forwards and backwards, so that nothing is delayed.

    Gain at `cutoff_hz` is 1/2: 1/sqrt(2) in each direction, as with filtfilt of the published recipes. The ends are
    continued by point reflection. None for `cutoff_hz`: x as it is. Raises LogError when `cutoff_hz` is not below the
    Nyquist frequency of `rate_hz`.
    """
    if cutoff_hz is None:
        return x
    if not cutoff_hz < rate_hz / 2:
        nyquist = f"the Nyquist frequency {rate_hz / 2:g} Hz of a recording sampled at {rate_hz:g} Hz"
        fix = f"Choose a cut-off below {rate_hz / 2:g} Hz, or leave the filter out"
        raise LogError(f"a cut-off of {cutoff_hz:g} Hz is not below {nyquist}", key=key, fix=fix)
    if cutoff_hz < LOWEST * rate_hz:
        problem = f"a cut-off of {cutoff_hz:g} Hz is less than a millionth of the sampling rate of {rate_hz:g} Hz"
        raise LogError(problem, key=key, fix="Correct the unit of the time stamps, or choose a higher cut-off")
    found, N = butterworth(cutoff_hz / rate_hz, order), len(x)
    pad = min(N - 1, max(3 * (order + 1), ceil(2 * rate_hz / cutoff_hz)))
    y = in_eights(np.concatenate([reflected(x, 0, pad), x, reflected(x, -1, pad)]))
    panels = np.empty((y.shape[1] // 8, len(y), 8))
    found.forwards(y, found.settled(y[0]), panels, 0)
    return np.ascontiguousarray(found.backwards(panels, len(y), pad, pad + N)[:, : x.shape[1]])


def in_eights(x: Array) -> Array:
    """Return x (N, k) as (N, 8 g) row by row, with columns of zeros; x itself where it is that."""
    if x.shape[1] % 8 == 0:
        return np.ascontiguousarray(x)
    found = np.zeros((len(x), x.shape[1] + -x.shape[1] % 8))
    found[:, : x.shape[1]] = x
    return found


def memory(cutoff_hz: float, rate_hz: float, order: int) -> int:
    """Return after how many samples the filter has forgotten an input (its slowest pole decayed to 1e-11)."""
    return butterworth(cutoff_hz / rate_hz, order).memory


def decimate(array: ArrayLike, factors: Sequence[int]) -> Array:
    """Return `array` (N, ...) low-passed (zero phase) and thinned along axis 0 by each factor in turn.

    What `scipy.signal.decimate` does with its Chebyshev filter of order 8: 0.05 dB ripple up to 0.8 of the new Nyquist
    frequency, in each direction. The first row stays; ceil(N / factor) rows are left each time. It is linear, so
    decimate(Y) theta = decimate(Y theta): regressor and torque are thinned alike. Raises LogError for a factor outside
    2 to 13 or too few rows.
    """
    whole = np.ascontiguousarray(array, dtype=np.float64)
    flat = in_eights(whole.reshape(len(whole), -1))
    thin = np.concatenate(list(thinned((flat[a : a + BLOCK] for a in range(0, len(flat), BLOCK)), checked(factors))))
    return np.ascontiguousarray(thin[:, : whole[:1].size].reshape(-1, *whole.shape[1:]))


def thinned(blocks: Iterable[Array], factors: Sequence[int]) -> Iterator[Array]:
    """Yield what `decimate` returns for consecutive blocks (rows, 8 g), in blocks.

    The filter's state is carried from block to block forwards. Backwards, each block begins as many rows later as the
    filter remembers, so that the result is that of the whole but for what is `FORGOTTEN`.
    """
    for factor in factors:
        blocks = _thinned(iter(blocks), factor)
    return iter(blocks)


def _thinned(blocks: Iterator[Array], factor: int) -> Iterator[Array]:
    found = _thinning(factor)
    begun = [next(blocks, np.empty((0, 8)))]
    while sum(map(len, begun)) <= _PAD and (block := next(blocks, None)) is not None:
        begun.append(block)
    beginning = np.concatenate(begun)
    if len(beginning) < 2:
        problem = f"{plural(len(beginning), 'row')} cannot be thinned by {factor}"
        raise LogError(problem, key="decimation", fix="Use a longer recording or smaller factors")
    ends = reflected(beginning, 0, _PAD)
    state = found.settled(ends[0])
    panels = np.empty((ends.shape[1] // 8, len(beginning) + (_MEMORIES + 1) * found.memory + 2 * _PAD, 8))
    found.forwards(ends, state, panels, 0)
    # `size` rows are in the panels; from `first` on they are the recording's, beginning with its row `row`
    size, first, row, ends = _PAD, _PAD, 0, ends[:0]
    for block in chain([beginning], blocks):
        if size + len(block) + _PAD > panels.shape[1]:
            panels = np.pad(panels[:, :size], ((0, 0), (0, 2 * len(block) + _PAD), (0, 0)))
        found.forwards(block, state, panels, size)
        ends = np.concatenate([ends, block[-_PAD - 1 :]])[-_PAD - 1 :]
        size += len(block)
        ready = size - found.memory
        if ready > _MEMORIES * found.memory:
            yield found.backwards(panels, size, first + -row % factor, ready, factor)
            panels[:, : found.memory] = panels[:, ready:size]
            size, first, row = found.memory, 0, row + ready - first
    found.forwards(reflected(ends, -1, _PAD), state, panels, size)
    yield found.backwards(panels, size + _PAD, first + -row % factor, size, factor)


def checked(factors: Sequence[int]) -> tuple[int, ...]:
    """Return the factors as integers. Raises LogError for one outside 2 to 13."""
    for factor in factors:
        if isinstance(factor, bool) or int(factor) != factor or not 2 <= factor <= LARGEST:
            problem = f"a decimation factor is {factor}, wanted a whole number from 2 to {LARGEST}"
            raise LogError(problem, key="decimation", fix="Split a large factor: [10, 10] thins by 100")
    return tuple(int(f) for f in factors)


def thinned_band(rate_hz: float, factors: Sequence[int]) -> float:
    """Return up to where [Hz] thinning by `factors` keeps signals of this rate."""
    return BAND / 2 * rate_hz / prod(factors)


def factors_below(ratio: float) -> tuple[int, ...]:
    """Return factors of 2 to 10 whose product is the largest that is not above `ratio`; () below 2."""
    for whole in range(int(ratio) if isfinite(ratio) else 0, 1, -1):
        found, left = list[int](), whole
        for factor in range(10, 1, -1):
            while left % factor == 0:
                found.append(factor)
                left //= factor
        if left == 1:
            return tuple(found)
    return ()


def thinning_memory(factors: Sequence[int]) -> int:
    """Return how many rows before thinning the filters of `factors` remember together."""
    rows, step = 0, 1
    for factor in factors:
        rows += step * _thinning(factor).memory
        step *= factor
    return rows


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
        near = f"two rows are only {step.min():.2g} s apart, where {np.median(step):.2g} s is usual"
        raise LogError(f"{near}: a cubic through their noise would swing", fix="Set interpolation = 'linear'")
    from scipy.interpolate import CubicSpline

    return np.asarray(CubicSpline(t, x, axis=0)(at), dtype=np.float64)


#: Speeds beside a gap are those of a parabola through so many rows.
BESIDE = 12


def bend(t: Array, x: Array, at: int, count: int) -> Array:
    """Return by how much a cubic with the speeds of either side (Hermite) differs from a straight line (count, k).

    In so many even rows that are put in after row `at` of x (N, k), sampled at t (N,) [s].
    """
    s, step = (np.arange(1, count + 1) / (count + 1))[:, None], t[at + 1] - t[at]
    straight = (x[at + 1] - x[at]) / step
    leaves = _speed(t, x, slice(max(at + 1 - BESIDE, 0), at + 1), -1) - straight
    arrives = _speed(t, x, slice(at + 1, at + 1 + BESIDE), 0) - straight
    return np.asarray(step * s * (1.0 - s) * ((1.0 - s) * leaves - s * arrives))


def _speed(t: Array, x: Array, rows: slice, end: int) -> Array:
    """Return the speed (k,) of some rows at their first (0) or last one (-1); 0 where they are few or all the same."""
    t, x = t[rows], x[rows]
    if len(t) < 4:
        return np.zeros(x.shape[1])
    return np.asarray(np.polyfit(t - t[end], x, 2)[1] * (np.ptp(x, axis=0) > 0.0))


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
        differ = f"the time steps go from {steps.min():.4g} to {steps.max():.4g} s"
        fix = "Set resample_hz, or use derivative = 'central', which takes the measured steps"
        raise LogError(f"derivative = 'savgol' needs uniform samples, but {differ}", fix=fix)
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
