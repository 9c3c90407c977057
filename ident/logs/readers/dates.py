"""Time stamps that are text: dates with a clock time, by ISO 8601 or with points, and clock times alone."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

_Chunk = list[np.ndarray]
#: ns of a day.
DAY = 86_400_000_000_000
_STAMP = re.compile(
    r"(?:(\d{4})[-/](\d\d)[-/](\d\d)[T ]|(\d\d?)\.(\d\d?)\.(\d{4})[T ])?(\d\d:\d\d:\d\d)(?:[.,](\d{1,9})\d*)?"
    r" ?(Z|[+-]\d\d:?\d\d)?"
)


def is_date(text: str) -> bool:
    """Return whether a text is a time stamp."""
    return _STAMP.fullmatch(text.strip()) is not None


def nanoseconds(texts: Sequence[str]) -> np.ndarray | None:
    """Return time stamps (rows,) in ns since 1970, UTC where they say no zone; None where one of them is none.

    Clock times without a date are of 1970-01-01. Whole numbers; where texts say that a number is missing, with NaN.
    """
    import pandas as pd  # half a second, for these files alone

    found = [_iso(text.strip()) for text in texts]
    if any(iso is None for iso in found):
        return None
    try:
        stamps = pd.to_datetime(pd.Series(found, dtype=object), format="ISO8601", utc=True)
        whole = stamps.dt.as_unit("ns").to_numpy(dtype="datetime64[ns]").astype(np.int64)
    except ValueError:  # a month 13, or a year that ns do not reach
        return None
    missing = stamps.isna().to_numpy()
    return np.where(missing, np.nan, whole) if missing.any() else whole


def _iso(text: str) -> str | None:
    """Return a time stamp by ISO 8601, "" for one that is missing, None for what is none."""
    parts = _STAMP.fullmatch(text)
    if parts is None:
        return None if text else ""
    year, month, day, own_day, own_month, own_year, clock, rest, zone = parts.groups()
    date = f"{year or own_year or 1970}-{month or own_month or '01':0>2}-{day or own_day or '01':0>2}"
    return f"{date}T{clock}.{rest or 0}{zone or 'Z'}"


def past_midnight(parts: Iterable[dict[str, _Chunk]], dated: frozenset[str]) -> Iterator[dict[str, _Chunk]]:
    """Yield parts of a file, in whose `dated` signals clock times without a date count on after midnight."""
    days, last = 0, np.nan
    for part in parts:
        for key in dated & part.keys():
            (stamps,) = part[key]
            if np.nanmin(stamps, initial=DAY) >= 0 and np.nanmax(stamps, initial=0) < DAY:
                held = np.concatenate([[last], stamps])
                there = np.isfinite(held)
                since = np.maximum.accumulate(np.where(there, np.arange(len(held)), 0))
                added = days + np.cumsum(np.diff(held[since], prepend=np.nan) < -DAY / 2)[1:]
                part[key] = [stamps + added * DAY]
                days, last = int(added[-1]), float(held[since[-1]])
        yield part
