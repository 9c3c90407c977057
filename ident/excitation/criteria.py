"""How good an experiment is: functions of the information M = R^T R, each with its slope G, df = tr(G dM).

Small is good. Only `d_optimal` does not depend on units and on the choice of base parameters (Pukelsheim 1993; Lee et
al. 2021). A criterion is any function of R (b, b), upper triangular, that returns a number and G (b, b).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ident.arrays import Array

Criterion = Callable[[Array], tuple[float, Array]]


def d_optimal(r: Array) -> tuple[float, Array]:
    """Return -log det M / b, minus the mean log information, and its slope."""
    inverse = _inverse(r)
    b = len(r)
    return -2.0 * float(np.log(np.abs(np.diag(r))).sum()) / b, -(inverse @ inverse.T) / b


def a_optimal(r: Array) -> tuple[float, Array]:
    """Return log(tr M^-1), the log of the summed variances, and its slope."""
    inverse = _inverse(r)
    covariance = inverse @ inverse.T
    trace = float(np.trace(covariance))
    return float(np.log(trace)), -(covariance @ covariance) / trace


def e_optimal(r: Array) -> tuple[float, Array]:
    """Return -log of the least singular value of R, and its slope (of the smallest one, where two are equal)."""
    _, s, vt = np.linalg.svd(r)
    return -float(np.log(s[-1])), -0.5 * np.outer(vt[-1], vt[-1]) / s[-1] ** 2


def condition(r: Array) -> tuple[float, Array]:
    """Return the log of the condition number of R in SI units, and its slope."""
    _, s, vt = np.linalg.svd(r)
    slope = 0.5 * (np.outer(vt[0], vt[0]) / s[0] ** 2 - np.outer(vt[-1], vt[-1]) / s[-1] ** 2)
    return float(np.log(s[0] / s[-1])), slope


def scaled_condition(r: Array) -> tuple[float, Array]:
    """Return the log of the condition number of R with columns of length one, and its slope."""
    size = np.linalg.norm(r, axis=0)
    value, inner = condition(r / size)
    # M_ij / (d_i d_j) with d_i^2 = M_ii: the diagonal also acts through every entry of its row
    slope = inner / np.outer(size, size)
    slope[np.diag_indices(len(r))] -= np.einsum("ij,ij->i", slope, r.T @ r) / size**2
    return value, slope


def worst_error(r: Array) -> tuple[float, Array]:
    """Return about the log of the largest standard error (the 8-norm of the variances, halved), and its slope."""
    p = 8.0
    inverse = _inverse(r)
    covariance = inverse @ inverse.T
    variance = np.diag(covariance)
    share = (variance / variance.max()) ** p
    value = 0.5 * (np.log(variance.max()) + np.log(share.sum()) / p)
    weight = 0.5 * share / share.sum() / variance
    return float(value), -(covariance * weight) @ covariance


CRITERIA: dict[str, Criterion] = {
    "d": d_optimal,
    "a": a_optimal,
    "e": e_optimal,
    "condition": condition,
    "scaled-condition": scaled_condition,
    "worst-error": worst_error,
}


def _inverse(r: Array) -> Array:
    from scipy.linalg import solve_triangular

    return np.asarray(solve_triangular(r, np.eye(len(r))))
