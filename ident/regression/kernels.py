"""Compiled update of triangular factors by new rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import prange

from ident.jit import cached_njit

_ROWS = 64  # rows that are reflected at a time: one joint's block of them stays in the first-level cache


@cached_njit(fastmath={"contract", "reassoc", "nsz"}, error_model="numpy")
def _reflect(r: Any, block: Any, k: int, rows: int) -> None:
    """Turn R on top of `block` (k columns, each contiguous over rows) into a new R, by Householder reflections.

    Reflector c acts on row c of R and on the block only, because the rest of R's column is zero
    (Golub, Van Loan, section 5.2; LAPACK's tpqrt works alike).
    """
    for c in range(k):
        u = block[c]
        below = 0.0
        for s in range(rows):
            below += u[s] * u[s]
        if below == 0.0:
            continue
        head = r[c, c]
        beta = -np.copysign(np.sqrt(head * head + below), head)
        v = head - beta
        scale = -1.0 / (beta * v)  # 2 / ||(v, block_c)||^2
        for d in range(c + 1, k):
            w = block[d]
            dot = 0.0
            for s in range(rows):
                dot += u[s] * w[s]
            dot = (dot + v * r[c, d]) * scale
            r[c, d] -= dot * v
            for s in range(rows):
                w[s] -= dot * u[s]
        r[c, c] = beta


@cached_njit(parallel=True, error_model="numpy")
def update_factors(piece: Any, keep: Any, start: Any, factors: Any) -> None:
    """Add the rows of `piece` (N, width) to factors (lanes, n, k_max, k_max), lanes side by side on the cores.

    Joint j's columns are start[j]:start[j + 1] and its rows are those with keep (N, n).
    """
    lanes, n = factors.shape[0], factors.shape[1]
    for lane in prange(lanes):
        block = np.empty((factors.shape[2], _ROWS))
        first = piece.shape[0] * lane // lanes
        last = piece.shape[0] * (lane + 1) // lanes
        for j in range(n):
            k = start[j + 1] - start[j]
            s = first
            while s < last:
                rows = 0
                while rows < _ROWS and s < last:
                    if keep[s, j]:
                        for c in range(k):
                            block[c, rows] = piece[s, start[j] + c]
                        rows += 1
                    s += 1
                _reflect(factors[lane, j], block, k, rows)


@cached_njit(error_model="numpy")
def add_at(whole: Any, part: Any, places: Any, weight: float) -> None:
    """Add weight times the upper half of a symmetric part (k, k) to these rising places of that of `whole`."""
    k = len(places)
    end = np.empty(k, np.intp)  # where the run of neighbours ends that a place is in
    for a in range(k - 1, -1, -1):
        end[a] = end[a + 1] if a + 1 < k and places[a + 1] == places[a] + 1 else a + 1
    for a in range(k):
        row, b = whole[places[a]], a
        while b < end[k - 1]:
            to = row[places[b] : places[b] + end[b] - b]
            of = part[a, b : end[b]]
            for c in range(len(to)):
                to[c] += weight * of[c]
            b = end[b]


@cached_njit(error_model="numpy")
def is_upper(R: Any) -> bool:
    """Return whether there are zeros only below the diagonal of R (m, k)."""
    for i in range(1, R.shape[0]):
        for j in range(min(i, R.shape[1])):
            if R[i, j] != 0.0:
                return False
    return True
