"""One clock in two columns, whole seconds and what is left in ms, us or ns, as ROS and timeval have it."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np

from ident.logs.manifest import si_factor
from ident.logs.raw import Column, RawTable
from ident.logs.recognised import named

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
