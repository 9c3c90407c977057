"""Rows of a recording that are left out: what was logged twice, and what was lost on the way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ident.arrays import runs
from ident.logs.manifest import Recording
from ident.logs.readers.formats import Chunk

#: So many rows with missing numbers, one after the other, are left out as rows that were lost; more end a stretch.
GAP = 5
#: A position leaps to zero, and back, by so many times its usual step.
LEAPS = 5.0


def left_out(raw: Mapping[str, Chunk], before: Mapping[str, Chunk], record: Recording) -> dict[str, NDArray[np.bool_]]:
    """Return which rows (rows,) of a part are left out, by what is said of them.

    before: the row before the part, {} for none.
    """
    found = dict[str, NDArray[np.bool_]]()
    if record.drop_repeated:
        alike = {}
        for key, columns in raw.items():
            held = before.get(key, [c[:1] for c in columns])
            joined = [np.concatenate([b, c]) for b, c in zip(held, columns, strict=True)]
            alike[key] = np.all([c[1:] == c[:-1] for c in joined], axis=0)
            alike[key][:1] &= bool(before)
        same = np.all([a for key, a in alike.items() if key != "time"], axis=0)
        found["like the row before"] = same
        found["with the time stamp of the row before"] = alike.get("time", same) & ~same
    if record.drop_missing:
        missing = ~np.all([np.isfinite(c) for own in raw.values() for c in own], axis=0)
        found["in which a number is missing"] = missing
        others = [c for key, own in raw.items() if key != "time" for c in own]
        found["in which all signals are zero, though the robot moves,"] = lost(others, raw["position"]) & ~missing
    return found


def lost(signals: Sequence[np.ndarray], position: Sequence[np.ndarray]) -> NDArray[np.bool_]:
    """Return which rows (rows,) are zero in all signals, at most GAP at a time, with positions far from it around."""
    zero = np.all([c == 0.0 for c in signals], axis=0)
    edges = runs(zero)
    steps = [np.nanmedian(np.abs(np.diff(q.astype(np.float64)))) for q in position] if len(edges) else []
    for a, b in edges.tolist():
        around = [k for k in (a - 1, b) if 0 <= k < len(zero)]
        leaps = any(np.all(np.abs(q[around]) > LEAPS * step) for q, step in zip(position, steps, strict=True))
        zero[a:b] &= b - a <= GAP and bool(around) and leaps
    return np.asarray(zero)
