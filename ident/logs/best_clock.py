"""Which of the clocks of a log its positions follow, and why a column that is called time is none."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ident.arrays import Array
from ident.logs.clock import LESS, NEIGHBOURS, prediction_errors
from ident.logs.raw import Column
from ident.logs.readings import ENOUGH
from ident.logs.recognised import named


def best_clock(clocks: Sequence[Column], q: Array) -> tuple[Column | None, str]:
    """Return the first clock, or another one of those called time on which positions q (N, n) move more smoothly.

    And what is to be told of the others.
    """
    first = next(iter(clocks), None)
    if first is None or not _is_called_time(first):
        return first, ""
    errors = {c: e for c in clocks if _is_called_time(c) and (e := _errors(c, q)) is not None}
    if first not in errors:
        return first, ""
    roughness = {c: _log_mean(errors[first], e) for c, e in errors.items()}
    best = min(roughness, key=lambda c: roughness[c] + LESS * (c is not first))
    rougher = [c.shown for c, x in roughness.items() if x > roughness[best] + LESS]
    return best, f"; {' and '.join(rougher)} not used: positions are less smooth on it" if rougher else ""


def why_none(column: Column) -> str:
    """Say why a column that is called time cannot be the time."""
    steps = np.diff(column.values)
    same, back = 100 * float(np.mean(steps == 0)), 100 * float(np.mean(steps < 0))
    reason = f"goes back in {back:.2g} %" if back > same else f"has the stamp of the row before in {same:.2g} %"
    return f"{column.shown} cannot be the time, for it {reason} of the rows"


def _is_called_time(column: Column) -> bool:
    return bool(column.unit) or named(column.label, ()).quantity == "time"


def _errors(column: Column, q: Array) -> Array | None:
    """Return how far positions are (n,) from what those around them say on a clock, None where that is not told."""
    t = column.values[:ENOUGH]
    new = np.concatenate([[True], np.diff(t) > 0])
    return prediction_errors(t[new], q[: len(t)][new]) if new.sum() > 10 * len(NEIGHBOURS) else None


def _log_mean(first: Array, errors: Array) -> float:
    """Return the logarithm of how many times larger errors are than those of the first clock, mean over the joints."""
    moved = (first > 0) & (errors > 0)
    return float(np.mean(np.log(errors[moved] / first[moved]))) if moved.any() else 0.0
