"""Which time the rows of a log were taken at: as stamped, or evenly while the stamps jitter."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from ident.arrays import Array
from ident.logs.log import Log

Rows = Literal["stamps", "even", "counted"]

NEIGHBOURS = (-3, -2, -1, 1, 2, 3)  # rows from which a position is predicted
LESS = (
    0.05  # by this logarithm the error has to be smaller without the stamps' jitter (experiments/benchmarks/clock.py)
)
REGULAR = 1e-3  # steps that spread by less than this share of their median do not jitter
ENOUGH = 200_000  # rows that are looked at
BREAK_S, BREAK_STEPS = 10.0, 100  # a step that is longer than both parts a recording in two


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
