"""Segments of a recording: one R factor and one cluster of the covariance each.

Rule for their length, where none is given: a cluster-robust covariance takes the errors of different
segments for independent, so a segment must be long against everything that makes neighbouring errors alike. A
zero-phase low-pass at f correlates samples over about 1 / (2 f) s; with segments ten times as long, about a tenth of
the rows of a segment still know its neighbour: length >= 5 / f for the lowest cut-off f, decimation included. The
model's own error follows the motion, which changes over about a second: length >= 1 s. Longer recordings get about 15
segments, enough clusters for a covariance and few enough to keep: length >= duration / 15. So

    length = max(1 s, 5 / f, duration / 15),

and the rows are shared out evenly over floor(duration / length) segments, at least one. A recording of
millions of rows gets 30, wherever the parts in which it is read begin.

A motion that repeats itself shows what the model leaves out once more in every period: periods of one motion are
repeats, not new motions. So a segment is then a stretch of the period with all its repeats, and the rule takes the
period for the duration; a short period is cut into five all the same.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from ident.arrays import Array

SHORTEST_S, CUTOFF_PERIODS, USUAL, MANY, FEWEST = 1.0, 5.0, 15, 30, 5
#: Mean squared distance of the positions from those one period before, against their variance, below which they repeat.
REPEATS = 0.01
#: Samples of the positions that the search for a period looks at, at most.
_SEARCHED = 8192


def segment_length(duration: float, lowest_cutoff_hz: float, usual: int = USUAL) -> float:
    """Return the length [s] of a segment by the rule above; `duration` [s], cut-off [Hz] (infinite: none)."""
    return max(SHORTEST_S, CUTOFF_PERIODS / lowest_cutoff_hz, duration / usual)


def split(
    first: int, stop: int, rows_per_segment: float, total: float | None = None, elapsed: float = 0.0
) -> tuple[tuple[tuple[int, int], ...], tuple[int, ...]]:
    """Share `total` rows evenly over segments of at least `rows_per_segment` rows; one if there are fewer.

    Return the blocks of the rows first..stop-1, which come after `elapsed` of them (by default they are all), and which
    segment each is.
    """
    total = float(stop - first) if total is None else total
    number = max(1, int(total / max(rows_per_segment, 1.0) + 1e-9))
    return _cut(first, stop, total / number, elapsed, lambda k: min(k, number - 1))


def stretches(
    first: int, stop: int, rows_per_segment: float, period: float, elapsed: float = 0.0
) -> tuple[tuple[tuple[int, int], ...], tuple[int, ...]]:
    """Cut the rows first..stop-1 at the same phases of every period; return the blocks, and each one's stretch.

    period: rows of one (not always whole); elapsed: rows from a period's beginning to the row `first`.
    """
    number = max(int(period / max(rows_per_segment, 1.0) + 1e-9), min(FEWEST, int(period)), 1)
    return _cut(first, stop, period / number, elapsed, lambda k: k % number)


def _cut(
    first: int, stop: int, step: float, elapsed: float, segment: Callable[[int], int]
) -> tuple[tuple[tuple[int, int], ...], tuple[int, ...]]:
    k = np.arange(np.floor(elapsed / step), np.ceil((elapsed + stop - first) / step) + 1)
    edges = np.clip((first - elapsed + k * step).round().astype(int), first, stop).tolist()
    found = [((a, b), segment(int(i))) for (a, b), i in zip(pairwise(edges), k, strict=False) if b > a]
    return tuple(block for block, _ in found), tuple(number for _, number in found)


def period(q: Array) -> float | None:
    """Return after how many samples the positions q (N, n) repeat themselves, None where they do not.

    Each joint's mean squared distance from itself some samples later is compared with its variance over the samples
    that overlap, at least a fifth of all; joints that hardly move are left out. The distances at all shifts are sums of
    squares and one correlation, by the fast Fourier transform.
    """
    every = -(-len(q) // _SEARCHED)
    x = q[::every] - q.mean(axis=0)
    N, spread = len(x), x.std(axis=0)
    x = x[:, spread > 0.01 * spread.max(initial=0.0)]
    if not x.shape[1] or N < 4 * FEWEST:
        return None
    left = N - np.arange(int(0.8 * N))  # samples that overlap at each shift
    apart = np.zeros(len(left))
    for y in x.T:
        both = np.fft.irfft(np.abs(np.fft.rfft(y, 2 * N)) ** 2, 2 * N)[: len(left)]
        sums, squares = np.cumsum(np.append(0.0, y)), np.cumsum(np.append(0.0, y * y))
        ahead, behind = squares[left], squares[N] - squares[N - left]
        variance = np.array([ahead, behind]) / left - (np.array([sums[left], sums[N] - sums[N - left]]) / left) ** 2
        distance = (ahead + behind - 2.0 * both) / left / np.maximum(variance.sum(axis=0), 1e-300)
        apart = np.maximum(apart, np.where(variance.min(axis=0) > 0.2 * y.var(), distance, 1.0))
    away = np.flatnonzero(apart > 0.5)
    near = np.flatnonzero(apart < REPEATS)
    near = near[near > away[0]] if len(away) else near[:0]
    if not len(near):
        return None
    last = near[0] + int(np.argmax(np.append(np.diff(near) > 1, True)))  # of the first shifts in a row that are near
    best = near[0] + int(np.argmin(apart[near[0] : last + 1]))
    return float(every * best)
