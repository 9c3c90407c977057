"""Where the rate of a log changes midway."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ident.arrays import Array

#: Steps whose median is told together; a rate that lasts for fewer than so many such blocks is lost rows or a pause.
BLOCK, LASTING = 25, 4
#: Rates differ where their steps do by this factor.
OTHER = 1.3


def usual_steps(dt: Array) -> tuple[Array, NDArray[np.int_]]:
    """Return how long each of the steps dt (N,) [s] usually is, and the first step of each other rate (k,).

    The usual step is the median; where the rate changes midway, that of the stretch.
    """
    blocks = len(dt) // BLOCK
    whole = np.full(len(dt), np.median(dt))
    if blocks < 2 * LASTING:
        return whole, np.zeros(0, dtype=int)
    medians = np.median(dt[: blocks * BLOCK].reshape(blocks, BLOCK), axis=1)
    leaps = np.flatnonzero(np.abs(np.diff(np.log(medians))) > np.log(OTHER)) + 1
    runs = [(a, b) for a, b in zip([0, *leaps], [*leaps, blocks], strict=True) if b - a >= LASTING]
    levels = [float(np.median(dt[a * BLOCK : b * BLOCK])) for a, b in runs]
    changes = list[int]()
    for (a, _), (_, b), old, new in zip(runs, runs[1:], levels, levels[1:], strict=False):
        if max(old / new, new / old) > OTHER:
            start = max(a * BLOCK, changes[-1] if changes else 0)
            is_new = np.abs(np.log(dt[start : b * BLOCK] / old)) > np.abs(np.log(dt[start : b * BLOCK] / new))
            changes.append(start + int(np.argmax(np.cumsum(np.where(is_new, -1, 1)))) + 1)
    parts = np.split(np.arange(len(dt)), changes)
    for part in parts if changes else ():
        whole[part] = np.median(dt[part])
    return whole, np.array(changes, dtype=int)
