"""The time of a recording's rows in seconds, from one column or from several of one clock (seconds and nanoseconds)."""

from __future__ import annotations

from math import isfinite

import numpy as np

from ident.logs.manifest import DATES, Signal, si_factor
from ident.logs.readers.formats import Chunk

#: s of a day.
_DAY = 86400.0


def units(time: Signal) -> tuple[str, ...]:
    """Return the unit of each column of a clock."""
    return (time.unit,) if isinstance(time.unit, str) else time.unit


def first_stamp(columns: Chunk) -> tuple[int | float, ...]:
    """Return the clock's first row as the file has it; 0 where no number is there."""
    found: list[int | float] = [c[0].item() for c in columns]
    return tuple(x if isfinite(x) else 0 for x in found)


def seconds(columns: Chunk, time: Signal, first: tuple[int | float, ...]) -> tuple[float, np.ndarray]:
    """Return a recording's first stamp in seconds, and the seconds of rows since then.

    It is subtracted before the clock becomes a float: ns need 61 bits.
    """
    start, since = 0.0, np.zeros(len(columns[0]))
    for column, unit, begun in zip(columns, units(time), first, strict=True):
        small = column.dtype.kind in "biu" and column.itemsize < 8  # differences of small integers may not fit them
        size, whole = si_factor(unit, "time"), column.astype(np.int64) if small else column
        with np.errstate(all="ignore"):  # what is not finite is refused with its rows, by Log
            start, since = start + begun * size, since + (whole - begun) * size
    if DATES in units(time) and since[0] < 0:
        since += _DAY  # a part after midnight, of clock times alone
    return start, since
