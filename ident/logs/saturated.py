"""Torques that a drive or a recorder cuts off: many rows at one end of all values, where hardly any is near it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ident.arrays import Array

#: So many rows one after the other stand at an end, so many in all, and so many times those at the value beside it.
RUN, ROWS, TIMES = 5, 20, 10
#: Where this share of all rows does, it is no end that is reached now and then.
MOST = 0.5


def saturated(tau: Array) -> NDArray[np.bool_]:
    """Return which torques tau (N, n) stand at the largest or the smallest value of their joint because it is cut off.

    Zero is no such end: a motor that is off has no torque.
    """
    found = np.zeros(tau.shape, dtype=bool)
    for j, x in enumerate(tau.T):
        for end, beside in ((x.max(), np.max), (x.min(), np.min)):
            at = x == end
            rows = int(at.sum())
            if not end or not ROWS <= rows <= MOST * len(x):
                continue
            near = int(np.sum(x == beside(x[~at])))
            edges = np.flatnonzero(np.diff(np.concatenate([[False], at, [False]])))
            if rows > TIMES * near and np.diff(edges)[::2].max() >= RUN:
                found[:, j] |= at
    return found
