"""Covariance and confidence region of the base parameters, computed from the factors alone, apart from the estimator.

The region of base parameters that the logs allow, honest about correlated noise.

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

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ident.arrays import Array
from ident.errors import ModelError
from ident.estimate.least_squares import regular, solve
from ident.regression.base import BaseParameters
from ident.regression.regression import Regression, lengths, upper_gram, weighted_rows

if TYPE_CHECKING:
    import pandas as pd

_SINGULAR = 1e-9  # of the largest singular value of the column-scaled factor


@dataclass(frozen=True, eq=False)
class Covariance:
    """Covariance of phi with its kind.

    matrix (b, b); NaN in the rows and columns of base parameters that the logs do not determine.
    kind: "classical" takes residuals as independent, "cluster-by-segment" lets them be correlated in any way within a
    segment, "bootstrap" as well, cut off at the edge of what can exist (`bootstrap.py`). dof: degrees of freedom of
    Student's t for intervals.
    """

    kind: Literal["classical", "cluster-by-segment", "bootstrap"]
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
        return half_widths(self.standard_errors, self.dof, level)

    def widened(self, more: Array) -> Covariance:
        """Return the sum with the covariance (b, b) of what was taken as known."""
        return replace(self, matrix=_masked(self.matrix + more, np.isfinite(self.standard_errors)))

    def errors(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
        """Return draws (*shape, b) of what the base parameters are off by: Student's t, NaN where not determined."""
        known = np.isfinite(self.standard_errors)
        drawn = np.full((*shape, len(known)), np.nan)
        normal = rng.multivariate_normal(np.zeros(known.sum()), self.matrix[np.ix_(known, known)], shape, method="eigh")
        drawn[..., known] = normal / np.sqrt(rng.chisquare(self.dof, (*shape, 1)) / self.dof)
        return drawn


@dataclass(frozen=True, eq=False)
class Bootstrap:
    """Draws of a fit: phi (draws, b); standard (draws, p), each of links that can exist, None where phi alone is known.

    base: what they are called; fitted (b,): the fit itself; covariance: of the draws.
    """

    base: BaseParameters
    fitted: Array
    phi: Array
    standard: Array | None
    covariance: Covariance

    @property
    def params(self) -> pd.DataFrame:
        """The base parameters [SI], a row a draw."""
        import pandas as pd

        return pd.DataFrame(self.phi, columns=list(self.base.names))

    @property
    def theta(self) -> pd.DataFrame:
        """The standard parameters [SI], a row a draw; what torque does not tell apart goes with the prior."""
        import pandas as pd

        if self.standard is None:
            raise ModelError("least squares without a prior determines base parameters only", fix="Take `params`")
        return pd.DataFrame(self.standard, columns=list(self.base.standard))

    def to_frame(self, level: float = 0.95) -> pd.DataFrame:
        """Return value, standard error and interval, by Student's t, of each base parameter; NaN: not determined."""
        import pandas as pd

        half = self.covariance.half_widths(level)
        columns = {"value": self.fitted, "std_error": self.covariance.standard_errors}
        columns |= {"lower": self.fitted - half, "upper": self.fitted + half}
        return pd.DataFrame(columns, index=list(self.base.names))


def half_widths(errors: ArrayLike, dof: int | Array, level: float = 0.95) -> Array:
    """Return half the width of intervals at this level, by Student's t, for standard errors of any shape."""
    from scipy.special import stdtrit

    return np.asarray(stdtrit(dof, 0.5 + level / 2) * np.asarray(errors))


def classical(regression: Regression, sigma: ArrayLike) -> Covariance:
    """Return s^2 (Y' S^-1 Y)^-1, valid only when residuals are independent from sample to sample.

    sigma (n,): torque noise of each joint [N m; N]. On filtered logs such errors are several times too small.
    """
    sigma = np.asarray(sigma, dtype=np.float64)
    scale, s, v, known = _spectrum(regression.factor(sigma))
    dof = max(int(regression.rows.sum()) - int(known.sum()), 1)
    rss = regression.factor(sigma)[-1, -1] ** 2  # what no phi explains
    matrix = rss / dof * ((v.T / s**2) @ v) / np.outer(scale, scale)
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
    phi = np.asarray(phi, dtype=np.float64)
    whole = upper_gram(regression, regression.joint_factors, sigma)
    mean = _score(whole, phi) / len(regression.segments)  # zero for least squares; constraints and priors shift it
    seen = np.flatnonzero(regression.seen)
    at = np.s_[:-1, :-1] if len(seen) == len(phi) else np.ix_(seen, seen)
    changes, unit = np.zeros((len(regression.segments), len(phi))), np.sqrt(np.diag(whole)[seen])
    for change, segment in zip(changes, regression.segments, strict=True):
        gram = upper_gram(regression, segment.factors, sigma)
        score = _score(gram, phi) - mean
        np.subtract(whole, gram, out=gram)
        change[seen] = _solved(gram[at], unit, score[seen])
    return changes


def _score(gram: Array, phi: Array) -> Array:
    """Return Y' S^-1 (Y phi - tau) (b,) from the upper half (b + 1, b + 1) of the square of S^-1/2 [Y tau]."""
    from scipy.linalg.blas import dsymv

    return np.asarray(dsymv(1.0, gram.T, np.append(phi, -1.0), lower=1)[:-1])


def default_covariance(regression: Regression, sigma: ArrayLike, phi: ArrayLike) -> Covariance:
    """Return the cluster covariance from five segments on, else the classical one (which says so in its kind)."""
    if len(regression.segments) >= 5:
        return cluster(regression, sigma, phi)
    return classical(regression, sigma)


def determined(factor: ArrayLike) -> NDArray[np.bool_]:
    """Return which base parameters (b,) a factor (b + 1, b + 1) determines."""
    factor = np.asarray(factor, dtype=np.float64)
    R = factor[:, :-1]
    return np.ones(R.shape[1], dtype=bool) if regular(R / lengths(R)) else _spectrum(factor)[3]


def deviations(factor: Array) -> Array:
    """Return the standard deviation of each base parameter (b,), of least norm where a factor leaves them open."""
    from scipy.linalg.lapack import dtrtri

    R = factor[:, :-1]
    inverse = dtrtri(R[:-1])[0] if regular(R / lengths(R)) else np.linalg.pinv(R)
    return np.asarray(np.linalg.norm(inverse, axis=1))


def _spectrum(factor: Array) -> tuple[Array, Array, Array, NDArray[np.bool_]]:
    """Return column scale (b,); of scaled columns the singular values (k,) that are none of rounding, and their right
    vectors (k, b); and which phi they determine (b,).
    """
    R = factor[:, :-1]
    scale = lengths(R)
    _, s, vt = np.linalg.svd(R / scale, full_matrices=False)
    good = s > _SINGULAR * s[0]
    return scale, s[good], vt[good], np.linalg.norm(vt[~good], axis=0) < 1e-6


def _solved(gram: Array, unit: Array, score: Array) -> Array:
    """Return H_s^-1 g_s (b,), by the pseudo-inverse where something is not determined without the segment.

    gram (b, b): the upper half of H_s; unit (b,): the lengths of columns, to compare with.
    """
    from scipy.linalg.lapack import dposv

    R, found, failed = dposv(gram.T, score, lower=1)
    if not failed and (R.diagonal() > 1e-6 * unit).all():
        return np.asarray(found)
    gram = (gram + np.triu(gram, 1).T) / np.outer(unit, unit)
    return np.asarray(np.linalg.pinv(gram, hermitian=True) @ (score / unit) / unit)


def _masked(matrix: Array, known: NDArray[np.bool_]) -> Array:
    out = matrix.copy()
    out[~known] = np.nan
    out[:, ~known] = np.nan
    out.setflags(write=False)
    return out


#: The confidence at which intervals are given.
LEVEL = 0.997
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
    from scipy.special import fdtri

    factor = regression.factor(sigma)
    W, centre = factor[:-1, :-1], solve(regression, sigma)
    residual = float(np.sum((W @ centre - factor[:-1, -1]) ** 2) + factor[-1, -1] ** 2)
    spectrum = np.linalg.svd(W / lengths(W), compute_uv=False)
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
    radius = float(np.sqrt(trace * fdtri(nu, dof, level)))
    return ConfidenceRegion(W, centre, radius, trace / rank, residual, level, kind)


def effective_samples(regression: Regression, sigma: ArrayLike) -> float:
    """Return how many independent samples of noise sigma (n,) [N m; N] would leave phi as uncertain as the logs do.

    The number of samples over the design effect (Kish 1965) in the directions of the regressor: with H the Gram matrix
    and g_s the segments' scores at least squares, sum_s g_s' H^-1 g_s has the mean effect * sum_s tr(h_s - h_s^2),
    h_s = H^-1 H_s, where segments are independent. All samples, with fewer than two segments.
    """
    from scipy.linalg.lapack import dsygst

    phi, count = solve(regression, sigma) * regression.seen, float(regression.rows.sum())
    factor = regression.factor(sigma)
    white, squares = _whitening(factor)
    white = white * regression.seen[:, None]
    spread = freedom = 0.0
    for segment in regression.segments:
        if squares:
            gram = upper_gram(regression, segment.factors, sigma)
            score = _score(gram, phi) @ white
            h = dsygst(gram[:-1, :-1].T, factor[:-1, :-1].T, lower=1)[0]  # R'^-1 H_s R^-1, its lower half
            freedom += float(np.trace(h) - 2.0 * np.sum(h * h) + np.sum(h.diagonal() ** 2))
        else:
            rows = weighted_rows(regression, segment.factors, sigma)
            x = rows[:, :-1] @ white
            score, h = (rows @ np.append(phi, -1.0)) @ x, x.T @ x
            freedom += float(np.trace(h) - np.sum(h * h))
        spread += float(score @ score)
    return count * freedom / spread if spread > 0.0 and freedom > 1e-6 else count


def _whitening(factor: Array) -> tuple[Array, bool]:
    """Return white (b, k) with white @ white.T = H^-1, and whether H is so far from singular that squares will do."""
    from scipy.linalg.lapack import dtrtri

    R = factor[:, :-1]
    if regular(R / lengths(R)):
        return np.asarray(dtrtri(R[:-1])[0]), True
    scale, s, v, _ = _spectrum(factor)
    return v.T / s / scale[:, None], False
