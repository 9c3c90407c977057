"""The region of base parameters that the logs allow, honest about correlated noise.

    {phi : |W (phi - phi_hat)|^2 <= radius^2},   W'W = Y' S^-1 Y, the factor of the regression,

so that it is a bound on the weighted squared residual. With F the covariance of W phi_hat, |W (phi_hat - phi)|^2 is a
sum of chi-squares with the eigenvalues of F as weights; tr F times Fisher's F with nu = (tr F)^2 / tr F^2 and
(G - 1) nu degrees of freedom has its first two moments (Box 1954; Brunner, Dette, Munk, JASA 1997). F comes from the
jackknife over G segments; the formula needs no inverse of it, and so no more segments than parameters. With the
classical covariance it is the classical ellipsoid.

The region holds phi at the stated level, so every interval drawn from it holds at once. Intervals with the chi-square
quantile of one degree of freedom would be shorter, but under constraints such as J >= 0 they can miss their level:
the conjecture of Burrus is false (Batlle, Stanley, Patil, Kuusela, Owhadi, arXiv 2310.02461).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ident.arrays import Array
from ident.estimate.covariance import jackknife
from ident.estimate.least_squares import solve
from ident.regression.regression import Regression, weighted_rows

#: The confidence at which intervals are given.
LEVEL = 0.997
_SINGULAR = 1e-9
#: Least inflation: logs without any residual, all torques zero for one, still have their rounding.
_LEAST = 1e-12


@dataclass(frozen=True, eq=False)
class ConfidenceRegion:
    """{phi : |W (phi - centre)| <= radius}; W (b, b), centre (b,).

    inflation: mean variance of W phi_hat, 1 where the noise is white and of the given size: the number of samples
    over the effective number. residual: the least weighted squared residual.
    """

    W: Array
    centre: Array
    radius: float
    inflation: float
    residual: float
    level: float
    kind: str


def confidence_region(regression: Regression, sigma: ArrayLike, level: float = LEVEL) -> ConfidenceRegion:
    """Return the region that holds phi at this level. sigma (n,): torque noise of each joint [N m; N]."""
    from scipy.stats import f as fisher

    factor = regression.factor(sigma)
    W, centre = factor[:-1, :-1], solve(regression, sigma)
    residual = float(np.sum((W @ centre - factor[:-1, -1]) ** 2) + factor[-1, -1] ** 2)
    columns = np.linalg.norm(W, axis=0)
    spectrum = np.linalg.svd(W / np.where(columns > 0, columns, 1.0), compute_uv=False)
    rank = int(np.sum(spectrum > _SINGULAR * spectrum[0]))
    G = len(regression.segments)
    if G >= 5:
        kind, d = "cluster-by-segment", jackknife(regression, sigma, centre) @ W.T
        spectrum = np.linalg.eigvalsh((G - 1) / G * d @ d.T)
        trace = float(spectrum.sum())
        nu = trace**2 / float(np.sum(spectrum**2)) if trace > 0.0 else float(rank)
        dof = (G - 1) * nu
    else:
        kind, dof, nu = "classical", max(float(regression.rows.sum()) - rank, 1.0), float(rank)
        trace = rank * residual / dof
    trace = max(trace, _LEAST * rank)
    radius = float(np.sqrt(trace * fisher.ppf(level, nu, dof)))
    return ConfidenceRegion(W, centre, radius, trace / rank, residual, level, kind)


def effective_samples(regression: Regression, sigma: ArrayLike) -> float:
    """Return how many independent samples of noise sigma (n,) [N m; N] would leave phi as uncertain as the logs do.

    The number of samples over the design effect (Kish 1965) in the directions of the regressor: with H the Gram matrix
    and g_s the segments' scores at least squares, sum_s g_s' H^-1 g_s has the mean effect * sum_s tr(h_s - h_s^2),
    h_s = H^-1 H_s, where segments are independent. All samples, with fewer than two segments.
    """
    factor, phi, count = regression.factor(sigma), solve(regression, sigma), float(regression.rows.sum())
    columns = np.linalg.norm(factor[:, :-1], axis=0)
    scale = np.where(columns > 0, columns, 1.0)
    _, s, vt = np.linalg.svd(factor[:, :-1] / scale, full_matrices=False)
    good = s > _SINGULAR * s[0]
    white = vt[good].T / s[good] / scale[:, None]  # white @ white.T = H^-1
    spread = freedom = 0.0
    for segment in regression.segments:
        rows = weighted_rows(regression, segment.factors, sigma)
        x = rows[:, :-1] @ white
        h, score = x.T @ x, x.T @ (rows[:, :-1] @ phi - rows[:, -1])
        spread, freedom = spread + score @ score, freedom + np.trace(h) - np.sum(h * h)
    return count * freedom / spread if spread > 0.0 and freedom > 1e-6 else count
