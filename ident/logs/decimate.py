"""Thinning, the same for regressor columns and for torque ("parallel decimation")."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

import numpy as np
from numpy.typing import ArrayLike

from ident.arrays import Array
from ident.errors import LogError
from ident.logs.filter import LowPass, chebyshev, in_eights, reflected

LARGEST = 13  # scipy's advice for its IIR filter; larger factors are split
ORDER, RIPPLE, BAND = 8, 0.05, 0.8  # of the Chebyshev filter of scipy.signal.decimate
#: Rows that are filtered forwards at once, few enough for the cache; memories of the filter that are backwards.
BLOCK, _MEMORIES = 512, 6
#: Rows by which scipy continues either end.
_PAD = 3 * (ORDER + 1)


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


def memory(factors: Sequence[int]) -> int:
    """Return how many rows before thinning the filters of `factors` remember together."""
    rows, step = 0, 1
    for factor in factors:
        rows += step * _filter(factor).memory
        step *= factor
    return rows


def _filter(factor: int) -> LowPass:
    return chebyshev(BAND / (2 * factor), ORDER, RIPPLE)
