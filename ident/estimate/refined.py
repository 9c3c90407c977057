"""CAD refined: the links that can exist, agree with the logs and are closest to a CAD table.

closest               trade-off                                          words
log-det divergence    least residual first, then closest                 weight="vanishing"
a constant metric     least residual first, then closest                 metric=..., weight="vanishing"
CAD's tolerances      residual and differences by their own variances    metric=Tolerances(...)
log-det divergence    the weight that predicts left-out recordings best  weight="cross-validated"

Which share of each number comes from the logs and which from CAD.

With the Hessians H_d = K' W'W K / inflation of the logs and H_p of the prior, (H_d + H_p)^-1 H_d takes the truth's
difference from CAD to the estimate's. The share of one number is how much of the prior's variance the logs remove,

    1 - [(H_d + H_p)^-1]_kk / [H_p^-1]_kk,

k a number that is linear in theta. One that is not, such as a tensor about the centre of mass, counts by its slope d
at the estimate (the delta method): [H^-1]_kk is then d H^-1 d'. The share is the diagonal of that matrix where the
prior's errors are independent (as CAD's tolerances are), and between 0 and 1 always.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from ident.arrays import Array
from ident.estimate.bounds import Bounds
from ident.estimate.covariance import confidence_region
from ident.estimate.estimate import Estimate
from ident.estimate.estimators import WEIGHTS, MetricName, Weight, constant, estimated, noise
from ident.estimate.interval import number_names
from ident.estimate.prior import ConstantPullback, Metric, Prior, Tolerances, natural_jacobian
from ident.estimate.problem import joined, samples
from ident.model.model import Model
from ident.regression.base import r_factor
from ident.regression.regression import Regression, Segment
from ident.spatial.inertia import to_com, upper


@dataclass(frozen=True)
class RefinedNumber:
    """One number of the table [SI]: CAD's value, the refined one, and the share of it that comes from the logs.

    name: such as "link2.m", "link2.cx", "link2.Ixy" (tensor about the centre of mass, in the link frame's axes). The
    share of g(theta) is that of its slope dg / dtheta at the refined body (`data_share`; the delta method).
    """

    name: str
    cad: float
    refined: float
    data_share: float


@dataclass(frozen=True, eq=False)
class Refined:
    """A refined table.

    estimate: the links as theta, with active constraints, solver, and the exact check of what is written; numbers:
    those of the table; excess: squared weighted residual above least squares, per sample.
    """

    estimate: Estimate
    numbers: tuple[RefinedNumber, ...]
    excess: float


def refine_cad(
    model: Model,
    regression: Regression,
    prior: Prior,
    *,
    metric: MetricName | Metric = "entropic",
    weight: Weight | None = None,
    bounds: Bounds | None = None,
    sigma: ArrayLike | None = None,
    weights: Sequence[float] = WEIGHTS,
    errors: ArrayLike | None = None,
) -> Refined:
    """Return the links that `estimated` draws to the table, each number with the share that comes from the logs.

    The default weight is the vanishing one; with `Tolerances` as the metric the one at which these are the most
    probable links when CAD's errors have the stated tolerances as standard deviations: the residual counts by its
    effective number of samples, its square is divided by the inflation of the confidence region. errors (b, k), with
    these: by how much base parameters may be off beside that, for k reasons such as gains and zeros. No body is at the
    edge of what can exist unless the logs put it there (Lee, Wensing, Park, T-RO 2020). Raises EstimationError when no
    solver succeeds, InfeasibleError when the numbers as written could not exist.
    """
    if weight is None and isinstance(metric, Tolerances):
        sigma = noise(regression, sigma)
        inflation = confidence_region(regression, sigma).inflation
        weight = 2.0 * inflation / samples(regression)
        if errors is not None:
            regression = widened(regression, sigma, np.asarray(errors) / np.sqrt(inflation))
    weight = "vanishing" if weight is None else weight
    found = estimated(
        model, regression, prior, metric=metric, weight=weight, bounds=bounds, sigma=sigma, weights=weights
    )
    # mean squared residual + weight * half the squared metric (of the divergence: its second-order part)
    relative = None if weight == "vanishing" or not found.weight else 2.0 / (found.weight * samples(regression))
    return _refined(model, regression, prior, found, constant(metric) or ConstantPullback(), relative)


def widened(regression: Regression, sigma: Array, errors: Array) -> Regression:
    """Return factors that know less of phi: its covariance is (R'R)^-1 + errors errors', R being the logs' factor.

    errors (b, k). They are for this sigma (n,) alone, and stand in one segment as if the first joint told them all.
    """
    factor = regression.factor(sigma)
    V = factor[:-1, :-1] @ errors
    rows = factor.copy()
    rows[:-1] = np.linalg.solve(np.linalg.cholesky(np.eye(len(V)) + V @ V.T), factor[:-1])
    factors = sigma[0] * r_factor(rows), *([np.zeros((1, 1))] * (regression.n_joints - 1))
    told = tuple(range(len(V))), *([()] * (regression.n_joints - 1))
    return replace(regression, parameters=told, segments=(Segment("", "all", "all", tuple(regression.rows), factors),))


def _refined(
    model: Model, regression: Regression, prior: Prior, estimate: Estimate, metric: Metric, weight: float | None
) -> Refined:
    """Return the result with its shares; weight: of the squared residual against the squared metric, None: first."""
    assert estimate.inertials is not None
    region = confidence_region(regression, estimate.sigma)
    root, _ = joined(model, prior, metric)
    data = region.W @ regression.base.K
    stated = np.flatnonzero(root.any(axis=0))
    u, s, _ = np.linalg.svd(data[:, ~root.any(axis=0)], full_matrices=False)
    taken = u[:, s > 1e-9 * s.max(initial=0.0)]  # by joint terms that CAD says nothing of
    data = (data - taken @ (taken.T @ data))[:, stated]
    R = np.asarray(np.linalg.qr(root[:, stated], mode="r"))
    slopes = _slopes(estimate.inertials, len(stated))
    root_weight = 1.0 if weight is None else np.sqrt(weight)
    shares = data_share(root_weight * data, R, slopes, first=weight is None)
    each = (map(to_com, bodies) for bodies in (prior.inertials, estimate.inertials))
    cad, refined = (np.ravel([np.hstack([m, c, upper(about)]) for m, c, about in bodies]) for bodies in each)
    numbers = zip(number_names(model), cad.tolist(), refined.tolist(), shares.tolist(), strict=True)
    excess = float(np.sum((region.W @ (estimate.phi - region.centre)) ** 2)) / samples(regression)
    return Refined(estimate, tuple(RefinedNumber(*number) for number in numbers), excess)


def _slopes(bodies: Array, columns: int) -> Array:
    """Return the slopes (10 n, columns) of m, c = h / m and I about c in theta, links first."""
    out = np.zeros((bodies.size, columns))
    for i, body in enumerate(bodies):
        m, c, _ = to_com(body)
        at = slice(10 * i, 10 * i + 10)
        out[at, at] = np.linalg.inv(natural_jacobian(m, c)) if m > 0 else np.eye(10)
    return out


_SINGULAR = 1e-9


def data_share(data: Array, prior: Array, directions: Array, *, first: bool = False) -> Array:
    """Return the share (k,) of the numbers directions @ theta that comes from the logs.

    data (b, p): a root of H_d; prior (p, p): a root of H_p, invertible; directions (k, p). first: the logs count first,
    the limit of a vanishing weight of the prior.
    """
    inverse = np.linalg.inv(prior)
    _, s, vt = np.linalg.svd(data @ inverse, full_matrices=False)
    kept = (s > _SINGULAR * s[0]).astype(np.float64) if first else s**2 / (1.0 + s**2)
    rows = directions @ inverse
    return np.asarray(((rows @ vt.T) ** 2 @ kept) / np.sum(rows**2, axis=1))
