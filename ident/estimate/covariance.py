"""Covariance of the base parameters, computed from the factors alone and chosen apart from the estimator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ident.arrays import Array
from ident.regression.regression import Regression, squared_residuals, weighted_rows

_SINGULAR = 1e-9  # of the largest singular value of the column-scaled factor


@dataclass(frozen=True, eq=False)
class Covariance:
    """Covariance of phi with its kind.

    matrix (b, b); NaN in the rows and columns of base parameters that the logs do not determine.
    kind: "classical" takes residuals as independent, "cluster-by-segment" lets them be correlated
    in any way within a segment. dof: degrees of freedom of Student's t for intervals.
    """

    kind: Literal["classical", "cluster-by-segment"]
    matrix: Array
    dof: int
    clusters: int

    def __repr__(self) -> str:
        known = int(np.isfinite(self.standard_errors).sum())
        return f"Covariance({self.kind}, {self.clusters} segments, {known} of {len(self.matrix)} determined)"

    @property
    def standard_errors(self) -> Array:
        """Standard error of each base parameter (b,), NaN where not determined."""
        return np.sqrt(np.diag(self.matrix))

    def half_widths(self, level: float = 0.95) -> Array:
        """Return half the width of each base parameter's interval (b,) at this level."""
        from scipy.stats import t

        return np.asarray(t.ppf(0.5 + level / 2, self.dof) * self.standard_errors)


def classical(regression: Regression, sigma: ArrayLike) -> Covariance:
    """Return s^2 (Y' S^-1 Y)^-1, valid only when residuals are independent from sample to sample.

    sigma (n,): torque noise of each joint [N m; N]. On filtered logs such errors are several times too small.
    """
    sigma = np.asarray(sigma, dtype=np.float64)
    scale, inverse, known = _information(regression.factor(sigma))
    dof = max(int(regression.rows.sum()) - int(known.sum()), 1)
    rss = regression.factor(sigma)[-1, -1] ** 2  # what no phi explains
    matrix = rss / dof * inverse / np.outer(scale, scale)
    return Covariance("classical", _masked(matrix, known), dof, len(regression.segments))


def cluster(regression: Regression, sigma: ArrayLike, phi: ArrayLike) -> Covariance:
    """Return the jackknife over segments, robust to any correlation inside a segment.

    V = (G - 1)/G sum_s d_s d_s', d_s = (H - H_s)^-1 g_s: the change of phi when segment s is left out, with H the
    weighted Gram matrix and g_s the segment's score at phi (Bell, McCaffrey 2002; MacKinnon, Nielsen,
    Webb 2023, CV3). sigma (n,), phi (b,). Needs two segments at least.
    """
    changes = jackknife(regression, sigma, phi)
    G = len(changes)
    matrix = (G - 1) / G * changes.T @ changes
    return Covariance("cluster-by-segment", _masked(matrix, determined(regression.factor(sigma))), G - 1, G)


def jackknife(regression: Regression, sigma: ArrayLike, phi: ArrayLike) -> Array:
    """Return d (G, b): the change of phi (b,), about its mean, when each segment in turn is left out."""
    sigma = np.asarray(sigma, dtype=np.float64)
    phi = np.asarray(phi, dtype=np.float64)
    scale = _column_scale(regression.factor(sigma)[:, :-1])
    rows = [weighted_rows(regression, s.factors, sigma) for s in regression.segments]
    grams = np.array([(f[:, :-1] / scale).T @ (f[:, :-1] / scale) for f in rows])
    scores = np.array([(f[:, :-1] / scale).T @ (f[:, :-1] @ phi - f[:, -1]) for f in rows])
    scores -= scores.mean(axis=0)  # their sum is zero for least squares; constraints and priors shift it
    return np.asarray(_solved(grams.sum(axis=0) - grams, scores) / scale)


def default_covariance(regression: Regression, sigma: ArrayLike, phi: ArrayLike) -> Covariance:
    """Return the cluster covariance from five segments on, else the classical one (which says so in its kind)."""
    if len(regression.segments) >= 5:
        return cluster(regression, sigma, phi)
    return classical(regression, sigma)


def residual_sigma(regression: Regression, phi: ArrayLike) -> Array:
    """Return each joint's residual standard deviation (n,) at phi, one degree of freedom taken per column."""
    phi = np.asarray(phi, dtype=np.float64)
    ssr = squared_residuals(regression, regression.joint_factors, phi)
    seen = [np.count_nonzero(np.abs(np.diag(r)[:-1]) > 1e-9 * np.abs(r).max()) for r in regression.joint_factors]
    sigma = np.sqrt(ssr / np.maximum(regression.rows - np.array(seen), 1))
    # An exact fit leaves rounding only; weights then need a floor to stay finite.
    floor = 1e-9 * np.sqrt(regression.squared_torques / np.maximum(regression.rows, 1)) + 1e-15
    return np.asarray(np.maximum(sigma, floor))


def determined(factor: ArrayLike) -> NDArray[np.bool_]:
    """Return which base parameters (b,) a factor (b + 1, b + 1) determines."""
    return _information(np.asarray(factor, dtype=np.float64))[2]


def _information(factor: Array) -> tuple[Array, Array, NDArray[np.bool_]]:
    """Return column scale (b,), pseudo-inverse of the scaled Gram matrix (b, b), and which phi are determined (b,)."""
    R = factor[:, :-1]
    scale = _column_scale(R)
    _, s, vt = np.linalg.svd(R / scale, full_matrices=False)
    good = s > _SINGULAR * s[0]
    inverse = (vt[good].T / s[good] ** 2) @ vt[good]
    return scale, inverse, np.linalg.norm(vt[~good], axis=0) < 1e-6


def _column_scale(R: Array) -> Array:
    scale = np.linalg.norm(R, axis=0)
    return np.where(scale > 0, scale, 1.0)


def _solved(grams: Array, scores: Array) -> Array:
    """Return H_s^-1 g_s (G, b), by pseudo-inverses (six times slower) where some H_s is singular to rounding."""
    try:
        if np.linalg.cholesky(grams).diagonal(axis1=1, axis2=2).min() > 1e-6:
            return np.asarray(np.linalg.solve(grams, scores[..., None])[..., 0])
    except np.linalg.LinAlgError:  # a segment without which something is not determined
        pass
    return np.asarray((np.linalg.pinv(grams, hermitian=True) @ scores[..., None])[..., 0])


def _masked(matrix: Array, known: NDArray[np.bool_]) -> Array:
    out = matrix.copy()
    out[~known] = np.nan
    out[:, ~known] = np.nan
    out.setflags(write=False)
    return out
