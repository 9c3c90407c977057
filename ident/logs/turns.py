"""Positions that wrap: readings that start again after a whole turn."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ident.logs.readers.formats import Chunk

#: A step from one reading to the next is a whole turn where it differs from one by less than this share of it; where
#: more of the steps than so many are neither that nor as small, the joint is that fast, or the unit another one.
NEAR, UNCLEAR = 0.2, 1e-3


def continued(columns: Chunk, turns: Sequence[float], before: Chunk) -> tuple[Chunk, tuple[int, ...]]:
    """Return columns (N,) each without their leaps by a whole turn, and which have any.

    turns: what one turn is in each column, infinite where there is none. before: the last readings (1,) of the part
    before, as they were returned; [] for the first. No joint turns by so much from row to row.
    """
    found, wrapped = list[np.ndarray](), list[int]()
    for j, (column, turn) in enumerate(zip(columns, turns, strict=False)):
        held = before[j] if before else column[:1]
        steps = np.nan_to_num(np.diff(np.concatenate([held, column]).astype(np.float64)) / turn)
        leaps = np.round(steps)
        clear = np.abs(steps - leaps) < NEAR
        leaps = np.where(clear, leaps, 0.0)
        if leaps.any() and np.mean(~clear) < UNCLEAR:
            wrapped.append(j)
            found.append(column - turn * np.cumsum(leaps))
        else:
            found.append(column)
    return [*found, *columns[len(found) :]], tuple(wrapped)
