"""Triangular factors of rows: QR, factors one below the other, and their Gram matrices."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ident.arrays import Array

#: Columns from which it pays to make use of zeros below the diagonal; columns that LAPACK turns at a time.
LARGE, BLOCK = 128, 16


def r_factor(a: Array) -> Array:
    """Return R (k, k) of a (rows, k) = Q R, by Householder reflections; padded with zeros when rows < k."""
    r = np.linalg.qr(a, mode="r") if len(a) else np.zeros((0, a.shape[1]))
    if len(r) < a.shape[1]:
        r = np.vstack([r, np.zeros((a.shape[1] - len(r), a.shape[1]))])
    return np.asarray(r)


def stacked(factors: Sequence[Array]) -> Array:
    """Return R (k, k) of factors (k, k) one below the other: a third of the work of `r_factor` where all are upper."""
    from scipy.linalg.lapack import dtpqrt

    from ident.regression.kernels import is_upper

    if factors[0].shape[1] < LARGE:
        return factors[0] if len(factors) == 1 else r_factor(np.concatenate(factors))
    first, *rest = (F if len(F) == F.shape[1] and is_upper(F) else r_factor(F) for F in factors)
    for F in rest:
        first = dtpqrt(len(F), min(BLOCK, len(F)), first, F)[0]
    return np.ascontiguousarray(first)


def gram_of(R: Array) -> Array:
    """Return R'R (k, k), its upper half at least: of a triangular R at a third of the cost of the product.

    LAPACK has U U' only: R read backwards is the transpose of such a U, and U U' read backwards is R'R.
    """
    from scipy.linalg.lapack import dlauum

    from ident.regression.kernels import is_upper

    k = R.shape[1]
    if k < LARGE or len(R) != k or not is_upper(R):
        return np.asarray(R.T @ R)
    found, _ = dlauum(np.ascontiguousarray(R).reshape(-1)[::-1].copy().reshape(k, k).T, overwrite_c=1)
    return np.asarray(found.T.reshape(-1)[::-1].reshape(k, k))
