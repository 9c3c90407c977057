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


@cached_njit(fastmath={"reassoc"}, error_model="numpy")
def is_upper(R: Any) -> bool:
    """Return whether there are zeros only below the diagonal of R (m, k)."""
    for i in range(1, R.shape[0]):
        below = 0.0
        for x in R[i, :i]:
            below += abs(x)
        if below != 0.0:
            return False
    return True


@cached_njit(fastmath={"contract"}, error_model="numpy")
def add_square(whole: Any, R: Any, places: Any, weight: float) -> None:
    """Add weight times the upper half of R'R to these rising places of that of `whole`; R (m, k) is read four by four.

    A triangle takes a third of the work of the product. LAPACK's dlauum, which wants it turned round, is no faster.
    """
    m, k = R.shape
    rows = 0 if is_upper(R) else m
    p0, p1, p2, p3 = np.empty(k), np.empty(k), np.empty(k), np.empty(k)
    for a in range(0, k, 4):
        b, c, d = min(a + 1, k - 1), min(a + 2, k - 1), min(a + 3, k - 1)
        n, end = k - a, max(rows, min(a + 4, m))
        p0[:n] = p1[:n] = p2[:n] = p3[:n] = 0.0
        for r in range(0, end - 3, 4):
            w, x, y, z = R[r], R[r + 1], R[r + 2], R[r + 3]
            wa, wb, wc, wd = w[a], w[b], w[c], w[d]
            xa, xb, xc, xd = x[a], x[b], x[c], x[d]
            ya, yb, yc, yd = y[a], y[b], y[c], y[d]
            za, zb, zc, zd = z[a], z[b], z[c], z[d]
            w, x, y, z = w[a:], x[a:], y[a:], z[a:]
            for i in range(n):
                e, f, g, h = w[i], x[i], y[i], z[i]
                p0[i] += wa * e + xa * f + ya * g + za * h
                p1[i] += wb * e + xb * f + yb * g + zb * h
                p2[i] += wc * e + xc * f + yc * g + zc * h
                p3[i] += wd * e + xd * f + yd * g + zd * h
        for r in range(end - end % 4, end):
            w = R[r, a:]
            wa, wb, wc, wd = R[r, a], R[r, b], R[r, c], R[r, d]
            for i in range(n):
                e = w[i]
                p0[i] += wa * e
                p1[i] += wb * e
                p2[i] += wc * e
                p3[i] += wd * e
        for j, p in enumerate((p0, p1, p2, p3)):
            if a + j < k:
                row = whole[places[a + j]]
                for i in range(j, n):
                    row[places[a + i]] += weight * p[i]
