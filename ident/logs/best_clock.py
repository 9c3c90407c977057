"""Which of the clocks of a log its positions follow, and why a column that is called time is none.

One clock may be two columns, whole seconds and what is left in ms, us or ns, as ROS and timeval have it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ident.arrays import Array
from ident.logs.clock import LESS, NEIGHBOURS, prediction_errors
from ident.logs.manifest import si_factor
from ident.logs.names import named
from ident.logs.raw import Column, RawTable
from ident.logs.readings import ENOUGH

_WORD = re.compile(r"(?<![a-z])(?:m|u|n|milli|micro|nano)?(?:s|secs?|seconds)(?![a-z])", re.IGNORECASE)


def with_whole_clocks(table: RawTable) -> RawTable:
    """Return a table in which a column of seconds and one of the rest of them are one column, in seconds."""
    columns = list(table.columns)
    clocks = [c for c in columns if named(c.label, ()).quantity == "time" and _WORD.search(c.label)]
    for whole in clocks:
        if named(whole.label, ()).unit != "s" or not _counts_seconds(whole):
            continue
        for rest in clocks:
            unit = named(rest.label, ()).unit
            alike = rest.array == whole.array and _WORD.sub("", rest.label) == _WORD.sub("", whole.label)
            if unit in ("ms", "us", "ns") and alike and _is_rest(rest, si_factor(unit, "time")):
                read = whole.read - whole.values[0] + rest.read * si_factor(unit, "time")
                parts = (replace(whole, unit="s"), replace(rest, unit=unit))
                columns[columns.index(whole)] = replace(whole, read=read, unit="s", parts=parts)
                columns.remove(rest)
                break
    return replace(table, columns=tuple(columns))


def _counts_seconds(column: Column) -> bool:
    return bool(np.all(column.values % 1.0 == 0.0) and np.all(np.diff(column.values) >= 0.0))


def _is_rest(column: Column, unit: float) -> bool:
    """Return whether a column is less than a second throughout."""
    return bool(np.all((column.values >= 0.0) & (column.values * unit < 1.0)) and np.ptp(column.values) > 0.0)


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
