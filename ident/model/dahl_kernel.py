"""Compiled recursion of Dahl's friction."""

from __future__ import annotations

from typing import Any

import numpy as np

from ident.jit import cached_njit


@cached_njit(error_model="numpy")
def dahl_states(q: Any, way: float, out: Any) -> None:
    """Write z of every joint and sample into out (n, N), from positions q (n, N) in the order of time.

    Between two samples the joint moves one way: z = s + (z0 - s) exp(-|dq| / way) with s its direction.
    """
    for j in range(q.shape[0]):
        z = 0.0
        for k in range(1, q.shape[1]):
            if q[j, k] != q[j, 0]:
                z = np.sign(q[j, k] - q[j, 0])
                break
        for k in range(q.shape[1]):
            step = q[j, k] - q[j, k - 1] if k > 0 else 0.0
            s = np.sign(step)
            if s != 0.0:
                z = s + (z - s) * np.exp(-abs(step) / way)
            out[j, k] = z
