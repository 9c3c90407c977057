"""Motion: what the regressor needs of a recording, filtered and differentiated, and its segments.

A segment has one R factor and is one cluster of the covariance.

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

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from ident.arrays import Array, frozen
from ident.errors import LogError
from ident.logs.filter import thinned_band
from ident.shown import shows

SHORTEST_S, CUTOFF_PERIODS, USUAL, MANY, FEWEST = 1.0, 5.0, 15, 30, 5
#: Mean squared distance of the positions from those one period before, against their variance, below which they repeat.
REPEATS = 0.01
#: Samples of the positions that the search for a period looks at, at most.
_SEARCHED = 8192
#: Of the positions of two recordings at this rate [Hz], the correlation from which they go one way: of 78 pairs of
#: different motions of six-axis arms, Fourier series and moves between random points, at most 0.45.
_WAY_HZ, _ONE_WAY = 20.0, 0.8


@shows
@dataclass(frozen=True, eq=False)
class Motion:
    """One recording, processed: joint positions, velocities, accelerations and torques on the joint side.

    t (N,) [s]; q, qd, qdd (N, n) [rad, rad/s, rad/s^2] (m for prismatic joints); tau (N, n) [N m] or [N]. `decimation`:
    factors by which regressor columns and torque are low-pass filtered and thinned alike (`decimate`), one after the
    other, when the motion is compressed; () for none. With M = N / (product of the factors), rounded up, `keep` (M, n)
    says which rows of each joint count. `blocks` are the (start, stop) rows after decimation that form one segment each
    (one R factor and one cluster); rows outside all blocks only lead the thinning's filters in and out (parts of a
    streamed recording have such rows). `stretches`, where the recording repeats a period: which stretch of it each
    block is; blocks of one stretch are repeats, and one segment together. `name` says which recording it is.
    `temperature` (N, n) [degC], None where it was not measured. `noise` (n,): how noisy the torque is at least, after
    decimation; by default nothing is known. `run_up` (K, n) [rad; m]: how far from their first position joints were in
    the rows before it, oldest first, from which friction that remembers its way begins; None for nothing known.
    Raises LogError on shapes that do not fit or numbers that are not finite.
    """

    name: str
    t: Array
    q: Array
    qd: Array
    qdd: Array
    tau: Array
    keep: np.ndarray
    decimation: tuple[int, ...] = ()
    blocks: tuple[tuple[int, int], ...] = field(default=())
    stretches: tuple[int, ...] = field(default=())
    noise: ArrayLike = 0.0
    repeats: bool = False
    temperature: Array | None = None
    run_up: Array | None = None

    def __post_init__(self) -> None:
        shape = np.shape(self.q)
        if len(shape) != 2:
            raise LogError(f"q must have shape (samples, joints), got {shape}", key=self.name)
        shapes = dict.fromkeys(("q", "qd", "qdd", "tau"), shape) | {"t": shape[:1]}
        shapes |= {} if self.temperature is None else {"temperature": shape}
        shapes |= {} if self.run_up is None else {"run_up": (len(self.run_up), shape[1])}
        for what, wanted in shapes.items():
            object.__setattr__(self, what, frozen(getattr(self, what), wanted, f"{self.name}: {what}", LogError))
        object.__setattr__(self, "decimation", tuple(int(d) for d in self.decimation))
        object.__setattr__(self, "noise", np.broadcast_to(np.asarray(self.noise, dtype=np.float64), shape[1]))
        rows = self.rows
        keep = np.asarray(self.keep, dtype=bool)
        if keep.shape != (rows, shape[1]):
            raise LogError(f"keep must have shape ({rows}, {shape[1]}), got {keep.shape}", key=self.name)
        keep.setflags(write=False)
        object.__setattr__(self, "keep", keep)
        object.__setattr__(self, "blocks", tuple(self.blocks) or ((0, rows),))
        if self.stretches and len(self.stretches) != len(self.blocks):
            problem = f"{len(self.stretches)} stretches for {len(self.blocks)} blocks, wanted one each"
            raise LogError(problem, key=self.name)

    def signals(self, part: slice = slice(None)) -> dict[str, Array]:
        """Return what joint terms may need beside q, qd, qdd, of some rows, by name: `ident.model.term.RECORDED`.

        With the first row comes the `run_up` to it.
        """
        warm = {} if self.temperature is None else {"temperature": self.temperature[part]}
        whence = {} if self.run_up is None or part.start else {"run_up": self.run_up}
        return {"time": self.t[part], **warm, **whence}

    @property
    def rows(self) -> int:
        """Number of rows per joint after decimation."""
        rows = len(self.q)
        for factor in self.decimation:
            rows = -(-rows // factor)
        return rows

    @property
    def band_hz(self) -> float | None:
        """Up to where [Hz] thinning keeps regressor and torque; None where nothing is thinned."""
        return thinned_band((len(self.t) - 1) / (self.t[-1] - self.t[0]), self.decimation) if self.decimation else None

    def fingerprint(self) -> str:
        """Return a hash (hex) of all the numbers, so that the same motion is not counted twice."""
        return self._digest

    @cached_property
    def _digest(self) -> str:
        digest = hashlib.blake2b(repr((self.decimation, self.blocks, self.stretches)).encode(), digest_size=32)
        beside = (x for x in (self.temperature, self.run_up) if x is not None)
        for part in (self.t, self.q, self.qd, self.qdd, self.tau, self.keep, *beside):
            digest.update(np.ascontiguousarray(part).reshape(-1).data)
        return digest.hexdigest()


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


def one_way(first: Sequence[Motion], second: Sequence[Motion]) -> bool:
    """Return whether the parts of two recordings go one way, one of them later or for longer: positions correlate.

    Each joint counts by its own spread; the shorter one lies in the longer by half at least.
    """
    a, b = sorted((_evenly(first), _evenly(second)), key=len)
    x, y = ((q - b.mean(axis=0)) / np.where(b.std(axis=0) > 0.0, b.std(axis=0), 1.0) for q in (a, b))
    size = len(x) + len(y)
    both = np.fft.irfft((np.fft.rfft(x, size, axis=0).conj() * np.fft.rfft(y, size, axis=0)).sum(axis=1), size)
    shift = np.arange(-(len(x) // 2), len(y) - len(x) // 2)
    begin, end = np.maximum(-shift, 0), np.minimum(len(x), len(y) - shift)
    own, other = (np.append(0.0, np.cumsum(np.sum(z * z, axis=1))) for z in (x, y))
    energy = (own[end] - own[begin]) * (other[end + shift] - other[begin + shift])
    return bool(np.any(both[shift] > _ONE_WAY * np.sqrt(energy)))


def _evenly(parts: Sequence[Motion]) -> Array:
    """Return the positions (K, n) of the parts of a recording at an even rate."""
    t, q = np.concatenate([m.t for m in parts]), np.concatenate([m.q for m in parts])
    t, first = np.unique(t, return_index=True)  # parts overlap
    even = np.arange(t[0], t[-1], 1.0 / _WAY_HZ)
    return np.column_stack([np.interp(even, t, x) for x in q[first].T])
