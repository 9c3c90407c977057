"""What the readings of a log show by themselves: steps of an encoder, noise, joints at rest, when they were taken."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import comb
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ident.arrays import Array
from ident.logs.log import Log

Rows = Literal["stamps", "even", "counted"]

NEIGHBOURS = (-3, -2, -1, 1, 2, 3)  # rows from which a position is predicted
#: By this logarithm the error has to be smaller without the stamps' jitter (experiments/benchmarks/clock.py).
LESS = 0.05
REGULAR = 1e-3  # steps that spread by less than this share of their median do not jitter
ENOUGH = 200_000  # rows that are looked at
BREAK_S, BREAK_STEPS = 10.0, 100  # a step that is longer than both parts a recording in two
#: Readings closer than this [rad; m] are one and the same: no encoder tells them apart, rounding does.
SAME = 1e-9
#: An encoder that flickers shows its count and both neighbours.
COUNTS = 3
#: Noise of a position sensor stays within this [rad; m]; what goes farther from row to row is a fast motion.
NOISE = 5e-3
#: Rows that are looked at, in the middle of a log.
_ROWS = 2**14
#: Highest order of the differences of neighbours.
_ORDER = 8
#: A normal deviate's median distance from its mean.
_MEDIAN = 0.6745


def position_quantum(q: Array) -> float | None:
    """Return the step [rad or m] in which the readings q (N,) come, or None where none shows.

    Neighbouring distinct readings are whole multiples of the step; that it is one is believed when nearly all of the
    smaller distances are multiples of their smallest.
    """
    levels = np.unique(q)
    scale = float(np.abs(q).max())
    gaps = np.diff(levels)
    gaps = gaps[gaps > 1e-9 * scale]  # rounding of floating point is no step
    if len(gaps) < 3:
        return None
    step = float(np.sort(gaps)[: max(1, len(gaps) // 100)].mean())
    near = gaps[gaps < 20.5 * step]
    if len(near) < 0.5 * len(gaps):
        return None
    multiple = np.round(near / step)
    step = float(near.sum() / multiple.sum())  # the smallest alone carries the rounding of the file
    multiple = near / step
    return step if np.mean(np.abs(multiple - np.round(multiple)) < 0.1) > 0.95 else None


def least_noise(tau: Array) -> Array:
    """Return a floor (n,) of the standard deviation of the noise in readings tau (N, n), 0 where none shows.

    The larger of two: the rounding of readings that come in steps, a step / sqrt(12); and what differences of
    neighbours leave. The k-th difference of white noise has comb(2 k, k) times its variance, that of a motion falls
    with k, so the least of the first eight counts (Gasser, Sroka, Jennen-Steinmetz 1986, of order two). Medians keep
    the jumps of friction out.
    """
    middle = len(tau) // 2
    part = tau[max(0, middle - _ROWS // 2) : middle + _ROWS // 2]
    steps = np.array([position_quantum(x) or 0.0 for x in part.T]) / np.sqrt(12.0)
    if len(part) < 4 * _ORDER:
        return np.asarray(steps)
    found, apart = np.full(part.shape[1], np.inf), part
    for k in range(1, _ORDER + 1):
        apart = np.diff(apart, axis=0)
        found = np.minimum(found, np.median(np.abs(apart), axis=0) / _MEDIAN / np.sqrt(comb(2 * k, k)))
    return np.asarray(np.maximum(found, steps))


def resting(q: Array) -> NDArray[np.bool_]:
    """Return which joints (n,) rest in the readings q (N, n) [rad; m].

    A joint rests whose readings stay within NOISE and are at most three numbers, or differ from row to row by so much
    that its motion is less than three times their noise: the mean squared difference of neighbours over twice the
    variance is 1 for white noise and 0 for a motion (von Neumann 1941).
    """
    return np.array([bool(np.ptp(x) < NOISE) and (_few(x) or _noisy(x)) for x in q.T])


def _few(x: Array) -> bool:
    for _ in range(COUNTS):
        x = x[np.abs(x - x[0]) > SAME]
        if not len(x):
            return True
    return False


def _noisy(x: Array) -> bool:
    return bool(np.mean(np.diff(x) ** 2) / 2 > np.var(x) / (1 + 3**2))


def moving(qd: Array, min_speed: Array, standstill: Array) -> np.ndarray:
    """Return keep (N, n), bool, from velocities qd (N, n).

    A joint's row is dropped where the joint is slower than its `min_speed` (n,) [rad/s or m/s], because the sign of
    its friction is not known there. All rows of a sample are dropped where every joint is slower than its
    `standstill` (n,), because a robot at rest tells little and its stiction is not modelled.
    """
    speed = np.abs(qd)
    resting = (speed < standstill).all(axis=1, keepdims=True)
    return np.asarray((speed >= min_speed) & ~resting)


@dataclass(frozen=True)
class Clock:
    """When the rows of a recording were taken.

    `rows`: "stamps" (as written), "even" (row k at start + k step) or "counted" (start + c step with a whole number c
    for each row: between the stamps of some rows whole steps are missing). `start`, `step` [s]. `jitter` [s]: root mean
    square of the stamps about that time; `gain`: by which factor positions follow from their neighbours better with it.
    """

    rows: Rows = "stamps"
    start: float = 0.0
    step: float = 0.0
    jitter: float = 0.0
    gain: float = 1.0

    def __str__(self) -> str:
        if self.rows == "stamps":
            return "rows are as far apart as their time stamps say"
        missing = ", or several of these where rows are missing" if self.rows == "counted" else ""
        smoother = f"{min(self.gain, 1000.0):.3g} times smoother"
        return (
            f"time stamps jitter by {self.jitter * 1e3:.2g} ms rms, positions do not (they are {smoother} without it):"
            f" rows are {self.step * 1e3:.5g} ms apart{missing}"
        )


def find_clock(log: Log) -> Clock:
    """Return the time on which the positions of a log move most smoothly, its stamps where others are no better.

    Each position is predicted by the polynomial through three rows before and three after it (Lagrange), on each
    time; the logarithm of the root mean square error, mean over the joints, decides.
    """
    t, q = log.t[:ENOUGH], log.q[:ENOUGH]
    if len(t) < 10 * len(NEIGHBOURS) or leap(t) is not None:
        return Clock()
    steps = np.diff(t)
    usual = float(np.median(steps))
    if np.ptp(np.percentile(steps, [2.5, 97.5])) <= REGULAR * usual:
        return Clock()
    best, stamped = Clock(), prediction_errors(t, q)
    whole = np.concatenate([[0.0], np.cumsum(np.round(steps / usual))])
    for _ in range(3):  # a late row counts one too many and the next one too few
        step, start = np.polyfit(whole, t, 1)
        whole = _counts(t, start, step)
    counts: dict[Rows, Array] = {"even": np.arange(len(t), dtype=np.float64), "counted": whole}
    for rows, count in counts.items():
        step, start = np.polyfit(count, t, 1)
        errors = prediction_errors(step * count, q)
        moved = (stamped > 0) & (errors > 0)
        gain = float(np.exp(np.mean(np.log(stamped[moved] / errors[moved])))) if moved.any() else 1.0
        if gain > best.gain * np.exp(LESS):
            best = Clock(rows, float(start), float(step), float(np.std(t - start - step * count)), gain)
    return best


def on_clock(log: Log, clock: Clock, before: int = 0) -> Log:
    """Return a log, or the part of one that has `before` rows of the recording before it, with its rows' true time."""
    if clock.rows == "stamps":
        return log
    if clock.rows == "even":
        count = np.arange(before, before + len(log.t), dtype=float)
    else:
        count = _counts(log.t, clock.start, clock.step)
    return replace(log, t=clock.start + clock.step * count)


def leap(t: Array) -> int | None:
    """Return the row after which the clock leaps forward so far that no derivative can go across, None for none."""
    steps = np.diff(t)
    at = int(np.argmax(steps)) if len(steps) else 0
    return at if len(steps) and steps[at] > max(BREAK_S, BREAK_STEPS * np.median(steps)) else None


def _counts(t: Array, start: float, step: float) -> Array:
    """Return how many steps after the start each row was taken, no two at one time: stamps are late more than early."""
    rows = np.arange(len(t))
    return np.asarray(np.minimum.accumulate((np.round((t - start) / step) - rows)[::-1])[::-1] + rows)


def prediction_errors(t: Array, q: Array) -> Array:
    """Return the root mean square error (n,) of positions q (N, n) predicted from their neighbours at times t (N,)."""
    k = np.arange(NEIGHBOURS[-1], len(t) + NEIGHBOURS[0])
    away = {i: t[k + i] - t[k] for i in NEIGHBOURS}
    error = q[k].copy()
    for i in NEIGHBOURS:
        weight = np.prod([away[j] / (away[j] - away[i]) for j in NEIGHBOURS if j != i], axis=0)
        error -= weight[:, None] * q[k + i]
    return np.asarray(np.sqrt(np.mean(error**2, axis=0)))
