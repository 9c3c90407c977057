"""Zero-phase low-pass filters, given in Hz, and thinning, alike for regressor and torque ("parallel decimation")."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from math import asinh, ceil, log, pi, prod, sqrt, tan

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ident.arrays import Array
from ident.errors import LogError

FORGOTTEN = 1e-11  # a filter's answer to a sample counts as gone when it has decayed to this
LOWEST = 1e-6  # cut-off relative to the sampling rate, below which the filter's coefficients round to nothing
LARGEST = 13  # scipy's advice for its IIR filter; larger factors are split
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


def chebyshev(cutoff: float, order: int, ripple_db: float) -> LowPass:
    """Return the filter whose gain ripples by `ripple_db` up to `cutoff`, as a share of the sampling rate."""
    ripple = sqrt(10 ** (ripple_db / 10) - 1)
    m = np.arange(1 - order, order, 2)
    poles = -np.sinh(asinh(1 / ripple) / order + 1j * pi * m / (2 * order))
    return LowPass(_digital(poles, cutoff), 1.0 if order % 2 else 1 / sqrt(1 + ripple**2))


def _digital(prototype: NDArray[np.complex128], cutoff: float) -> NDArray[np.complex128]:
    """Return the poles of a low-pass of cut-off 1 rad/s by the bilinear transform (Oppenheim, Schafer, section 7.1)."""
    s = prototype * tan(pi * cutoff)
    return np.asarray((1 + s) / (1 - s))


def reflected(x: Array, at: int, rows: int) -> Array:
    """Return `rows` rows before the first (at = 0) or after the last row (at = -1) of x (N, k), by point reflection."""
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
    found, N = butterworth(cutoff_hz / rate_hz, order), len(x)
    pad = min(N - 1, max(3 * (order + 1), ceil(2 * rate_hz / cutoff_hz)))
    y = in_eights(np.concatenate([reflected(x, 0, pad), x, reflected(x, -1, pad)]))
    panels = np.empty((y.shape[1] // 8, len(y), 8))
    found.forwards(y, found.settled(y[0]), panels, 0)
    return np.ascontiguousarray(found.backwards(panels, len(y), pad, pad + N)[:, : x.shape[1]])


def in_eights(x: Array) -> Array:
    """Return x (N, k) as (N, 8 g), with columns of zeros."""
    return np.pad(x, ((0, 0), (0, -x.shape[1] % 8)))


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
    whole = np.asarray(array, dtype=np.float64)
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
    found = _filter(factor)
    begun = [next(blocks, np.empty((0, 8)))]
    while sum(map(len, begun)) <= _PAD and (block := next(blocks, None)) is not None:
        begun.append(block)
    beginning = np.concatenate(begun)
    if len(beginning) <= _PAD:
        raise LogError(
            f"{len(beginning)} rows are too few to be thinned by {factor}",
            key="decimation",
            fix="Use a longer recording or smaller factors",
        )
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
            raise LogError(
                f"a decimation factor is {factor}, wanted a whole number from 2 to {LARGEST}",
                key="decimation",
                fix="Split a large factor: [10, 10] thins by 100",
            )
    return tuple(int(f) for f in factors)


def thinned_band(rate_hz: float, factors: Sequence[int]) -> float:
    """Return up to where [Hz] thinning by `factors` keeps signals of this rate."""
    return BAND / 2 * rate_hz / prod(factors)


def thinning_memory(factors: Sequence[int]) -> int:
    """Return how many rows before thinning the filters of `factors` remember together."""
    rows, step = 0, 1
    for factor in factors:
        rows += step * _filter(factor).memory
        step *= factor
    return rows


def _filter(factor: int) -> LowPass:
    return chebyshev(BAND / (2 * factor), ORDER, RIPPLE)
