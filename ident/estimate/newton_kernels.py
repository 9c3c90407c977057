"""Compiled steps of Newton's method on links, 4 x 4 matrices each, and their ten coordinates (`SYMMETRIC`).

Singular values and eigenvalues come from Jacobi's rotations, which keep small ones as accurate as large ones
(Demmel, Veselic, SIAM J. Matrix Anal. 1992).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ident.jit import cached_njit

_SWEEPS = 30
_TINY = 1e-30  # squared cosine of the angle between two columns that are orthogonal; five sweeps are usual
_HALF = 0.5**0.5


@cached_njit(error_model="numpy")
def _rotation(a: float, b: float, c: float) -> tuple[float, float]:
    """Return cosine and sine that make [[a, c], [c, b]] diagonal."""
    zeta = (b - a) / (2.0 * c)
    t = np.copysign(1.0, zeta) / (abs(zeta) + np.sqrt(1.0 + zeta * zeta))
    cosine = 1.0 / np.sqrt(1.0 + t * t)
    return cosine, cosine * t


@cached_njit(error_model="numpy")
def _orthogonal(M: Any, V: Any) -> None:
    """Turn the columns of M (4, 4), and of V with them, until they are orthogonal (Hestenes)."""
    for _ in range(_SWEEPS):
        done = True
        for p in range(3):
            for q in range(p + 1, 4):
                a = b = c = 0.0
                for i in range(4):
                    a += M[i, p] * M[i, p]
                    b += M[i, q] * M[i, q]
                    c += M[i, p] * M[i, q]
                if not c * c > _TINY * a * b:
                    continue
                done = False
                cosine, sine = _rotation(a, b, c)
                for i in range(4):
                    x, y = M[i, p], M[i, q]
                    M[i, p], M[i, q] = cosine * x - sine * y, sine * x + cosine * y
                    x, y = V[i, p], V[i, q]
                    V[i, p], V[i, q] = cosine * x - sine * y, sine * x + cosine * y
        if done:
            return


@cached_njit(error_model="numpy")
def _least(M: Any) -> float:
    """Return the least eigenvalue of a symmetric M (4, 4), which is lost."""
    for _ in range(_SWEEPS):
        done = True
        for p in range(3):
            for q in range(p + 1, 4):
                c = M[p, q]
                if abs(c) <= 1e-9 * (abs(M[p, p]) + abs(M[q, q])):
                    continue
                done = False
                cosine, sine = _rotation(M[p, p], M[q, q], c)
                for i in range(4):
                    x, y = M[i, p], M[i, q]
                    M[i, p], M[i, q] = cosine * x - sine * y, sine * x + cosine * y
                for i in range(4):
                    x, y = M[p, i], M[q, i]
                    M[p, i], M[q, i] = cosine * x - sine * y, sine * x + cosine * y
        if done:
            break
    return float(min(M[0, 0], M[1, 1], M[2, 2], M[3, 3]))


@cached_njit(error_model="numpy")
def _congruence(B: Any, C: Any) -> None:
    """Write C (10, 10) with the coordinates of B S B' = C @ those of S."""
    column = 0
    for b in range(4):
        for a in range(b + 1):
            row = 0
            for j in range(4):
                for i in range(j + 1):
                    if a == b:
                        C[row, column] = B[i, a] * B[j, a] * (1.0 if i == j else 2.0 * _HALF)
                    else:
                        x = B[i, a] * B[j, b] + B[i, b] * B[j, a]
                        C[row, column] = x * (_HALF if i == j else 1.0)
                    row += 1
            column += 1


@cached_njit(error_model="numpy")
def scaled(L: Any, R: Any, rows: Any, ends: Any, out: Any) -> Any:
    """Return the coordinates of Nesterov and Todd for links L L', multipliers R R' (n, 4, 4); write rows in them.

    B, its inverse transposed (n, 4, 4) and v (n, 4) with B' R R' B = B^-1 L L' B'^-1 = diag v; out (m, 10 n and more)
    gets rows (m, p) times the blocks C (10, 10) with the coordinates of B S B' = C @ those of S; columns past the
    links' stay. ends (n, 2): from which row of link i to which one all are zero; there `out` stays.
    """
    n, m = L.shape[0], rows.shape[0]
    B, inverse, v = np.empty_like(L), np.empty_like(L), np.empty((n, 4))
    C, V, M, total = np.empty((10, 10)), np.empty((4, 4)), np.empty((4, 4)), np.empty(10)
    for i in range(n):
        for a in range(4):
            for b in range(4):
                V[a, b] = 1.0 if a == b else 0.0
                M[a, b] = 0.0
                for k in range(4):
                    M[a, b] += R[i, k, a] * L[i, k, b]
        _orthogonal(M, V)
        for b in range(4):
            size = np.sqrt(M[0, b] ** 2 + M[1, b] ** 2 + M[2, b] ** 2 + M[3, b] ** 2)
            v[i, b], root = size, np.sqrt(size)
            for a in range(4):
                left = right = 0.0
                for k in range(4):
                    left += L[i, a, k] * V[k, b]
                    right += R[i, a, k] * M[k, b]
                B[i, a, b], inverse[i, a, b] = left / root, right / (size * root)
        _congruence(B[i], C)
        for part in range(2):
            for r in range(0 if part == 0 else ends[i, 1], ends[i, 0] if part == 0 else m):
                total[:] = 0.0
                for k in range(10):
                    x = rows[r, 10 * i + k]
                    for j in range(10):
                        total[j] += x * C[k, j]
                for j in range(10):
                    out[r, 10 * i + j] = total[j]
    return B, inverse, v


@cached_njit(error_model="numpy")
def _times_root(B: Any, M: Any) -> None:
    """Replace M (4, 4) by B times its Cholesky factor."""
    for j in range(4):
        for i in range(j, 4):
            x = M[i, j]
            for k in range(j):
                x -= M[i, k] * M[j, k]
            M[i, j] = np.sqrt(x) if i == j else x / M[j, j]
    column = np.empty(4)
    for b in range(4):
        for a in range(4):
            column[a] = 0.0
            for k in range(b, 4):
                column[a] += B[a, k] * M[k, b]
        for a in range(4):
            M[a, b] = column[a]


@cached_njit(error_model="numpy")
def _changes(i: int, v: Any, d: Any, shift: Any, S: Any, T: Any) -> None:
    """Write S, which d (10 n,) says of link i, and T = `shift` - diag v - S: the multiplier's change with it."""
    k = 10 * i
    for b in range(4):
        for a in range(b + 1):
            unit = 1.0 if a == b else _HALF
            S[a, b] = S[b, a] = d[k] * unit
            T[a, b] = T[b, a] = (shift[k] - d[k]) * unit
            k += 1
        T[b, b] -= v[i, b]


@cached_njit(error_model="numpy")
def _relative(M: Any, v: Any, work: Any) -> float:
    """Return the least eigenvalue of M (4, 4) between diag v^-1/2."""
    for a in range(4):
        for b in range(4):
            work[a, b] = M[a, b] / np.sqrt(v[a] * v[b])
    return float(_least(work))


@cached_njit(error_model="numpy")
def second_order(v: Any, d: Any, shift: Any) -> Any:
    """Return what S T of a step d (10 n,) in `scaled` coordinates takes from `shift` (10 n,), and how far d may go.

    (diag v + S) o (diag v + T) is to be what is aimed at, o being the symmetric product (Mehrotra 1992; Todd, Toh,
    Tutuncu 1998).
    """
    n = len(v)
    out, S, T, work = np.empty(10 * n), np.empty((4, 4)), np.empty((4, 4)), np.empty((4, 4))
    fall = 0.0
    for i in range(n):
        _changes(i, v, d, shift, S, T)
        k = 10 * i
        for b in range(4):
            for a in range(b + 1):
                x = 0.0
                for c in range(4):
                    x += S[a, c] * T[c, b] + T[a, c] * S[c, b]
                out[k] = x / (v[i, a] + v[i, b]) * (1.0 if a == b else 2.0 * _HALF)
                k += 1
        fall = min(fall, _relative(S, v[i], work), _relative(T, v[i], work))
    return out, fall


@cached_njit(error_model="numpy")
def moved(B: Any, inverse: Any, v: Any, d: Any, shift: Any, fall: float, inside: float) -> Any:
    """Return links L and multipliers R (n, 4, 4) after a step d (10 n,) in `scaled` coordinates, and the step's length.

    shift: diag(v)^-1 times what L L' R R' is to be; fall: the most negative relative change of what else must stay
    positive; inside: the share of the way to the edge that may be gone. The multipliers of each link go their own way.
    """
    n = len(v)
    S, T, work = np.empty((n, 4, 4)), np.empty((n, 4, 4)), np.empty((4, 4))
    least = np.empty(n)
    for i in range(n):
        _changes(i, v, d, shift, S[i], T[i])
        fall = min(fall, _relative(S[i], v[i], work))
        least[i] = _relative(T[i], v[i], work)
    step = inside / max(-fall, inside)
    for i in range(n):
        own = inside / max(-least[i], inside)
        for a in range(4):
            for b in range(4):
                S[i, a, b] *= step
                T[i, a, b] *= own
            S[i, a, a] += v[i, a]
            T[i, a, a] += v[i, a]
        _times_root(B[i], S[i])
        _times_root(inverse[i], T[i])
    return S, T, step
