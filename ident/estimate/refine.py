"""CAD refined: the links that can exist, agree with the logs and are closest to a CAD table.

closest               trade-off                                          function
log-det divergence    least residual first, then closest                 refine_entropic
a constant metric     least residual first, then closest                 refine_constant
CAD's tolerances      residual and differences by their own variances    refine_weighted
log-det divergence    the weight that predicts left-out recordings best  refine_cross_validated
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ident.arrays import Array
from ident.estimate.bounds import Bounds
from ident.estimate.cones import (
    RIDGE,
    Block,
    ball,
    feasible,
    least_norm,
    require_possible,
    semidefinite_rows,
)
from ident.estimate.confidence_region import ConfidenceRegion, confidence_region
from ident.estimate.constrained import VANISHING, WEIGHTS, closest_to_prior, cross_validated, finish, noise, samples
from ident.estimate.data_share import data_share, data_share_first
from ident.estimate.estimate import Estimate
from ident.estimate.interval import number_names, triangular
from ident.estimate.metric import ConstantPullback, Metric, Tolerances, natural_jacobian
from ident.estimate.prior import Prior
from ident.estimate.program import EDGE, Coordinates, Solution, edge, interior
from ident.model.model import Model
from ident.regression.regression import Regression
from ident.spatial.inertia import PSEUDO_INERTIA_MAP, pseudo_inertia, to_com


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


def refine_entropic(
    model: Model,
    regression: Regression,
    prior: Prior,
    *,
    bounds: Bounds | None = None,
    sigma: ArrayLike | None = None,
) -> Refined:
    """Return the links of least residual (within 1e-6 of its square) that have the least divergence from the prior.

    No body is at the edge of what can exist unless the logs put it there. sigma (n,): torque noise of each joint
    [N m; N], by default `joint_noise`. Raises EstimationError when no solver succeeds, InfeasibleError when the
    numbers as written could not exist (Lee, Wensing, Park, T-RO 2020).
    """
    estimate = closest_to_prior(model, regression, prior, bounds=bounds, sigma=sigma)
    return _refined(model, regression, prior, estimate, ConstantPullback(), None)


def refine_cross_validated(
    model: Model,
    regression: Regression,
    prior: Prior,
    *,
    weights: Sequence[float] = WEIGHTS,
    bounds: Bounds | None = None,
    sigma: ArrayLike | None = None,
) -> Refined:
    """Return the links at the weight of the divergence that predicts left-out recordings best (`cross_validated`)."""
    estimate = cross_validated(model, regression, prior, weights=weights, bounds=bounds, sigma=sigma)
    assert estimate.weight is not None
    # mean squared residual + weight * divergence, which is half the squared metric
    relative = 2.0 / (estimate.weight * samples(regression))
    return _refined(model, regression, prior, estimate, ConstantPullback(), relative)


def refine_constant(
    model: Model,
    regression: Regression,
    prior: Prior,
    metric: Metric,
    *,
    bounds: Bounds | None = None,
    sigma: ArrayLike | None = None,
) -> Refined:
    """Return the links of least residual (within 1e-6 of its square) that are closest to the prior in a metric.

    Arguments and errors as in `refine_entropic`.
    """
    setting = _Setting(model, regression, prior, bounds or Bounds(), noise(regression, sigma))

    def closest(at: _Centred) -> Array:
        _, distance = least_norm(at.rows, at.centre, at.blocks, RIDGE * samples(regression))
        radius = np.sqrt(distance**2 + VANISHING * (setting.region.residual + distance**2))
        return least_norm(*at.metric_rows(metric), [*at.blocks, ball(at.rows, at.centre, float(radius))])[0]

    estimate = setting.solve(closest)
    return _refined(model, regression, prior, estimate, metric, None)


def refine_weighted(
    model: Model,
    regression: Regression,
    prior: Prior,
    tolerances: Tolerances,
    *,
    bounds: Bounds | None = None,
    sigma: ArrayLike | None = None,
) -> Refined:
    """Return the most probable links when CAD's errors have the stated tolerances as standard deviations.

    The residual counts by its effective number of samples: its square is divided by the inflation of the confidence
    region. A wide tolerance would let bodies shrink to sticks and points: no radius of gyration of the mass along any
    axis falls below 1 / (2 + 2 t) of the prior's, t being the tolerance of the tensor, but in links with bounds.
    Arguments and errors as in `refine_entropic`.
    """
    setting = _Setting(model, regression, prior, bounds or Bounds(), noise(regression, sigma))
    inflation = np.sqrt(setting.region.inflation)

    def likely(at: _Centred) -> Array:
        root, origin = at.metric_rows(tolerances)
        stacked = np.concatenate([at.rows / inflation, root]), np.concatenate([at.centre / inflation, origin])
        return least_norm(*triangular(*stacked), [*at.blocks, *at.stout(tolerances)])[0]

    estimate = setting.solve(likely, weight=1.0)
    return _refined(model, regression, prior, estimate, tolerances, 1.0 / setting.region.inflation)


class _Setting:
    """What is given."""

    def __init__(self, model: Model, regression: Regression, prior: Prior, bounds: Bounds, sigma: Array):
        self.model, self.regression, self.prior, self.bounds, self.sigma = model, regression, prior, bounds, sigma
        self.region: ConfidenceRegion = confidence_region(regression, sigma)

    def solve(self, solved: Callable[[_Centred], Array], weight: float = 0.0) -> Estimate:
        """Return the Estimate at the x that `solved` returns; once more from there where it is not accurate."""
        links = self.model.n_rigid
        start = Coordinates.of(self.model, self.prior, self.regression.factor(self.sigma), self.regression.base)
        require_possible(self.model, self.bounds, start)
        theta = start.T @ solved(_Centred(self, start))
        if edge(theta[:links], self.prior) < -EDGE * start.size:
            again = start.at(interior(theta[:links], self.prior))
            theta = again.T @ solved(_Centred(self, again))
        solution = Solution(theta, "CLARABEL", edge(theta[:links], self.prior) > -EDGE * start.size)
        return finish(self.model, self.regression, self.prior, self.bounds, self.sigma, solution, weight=weight)


class _Centred:
    """It in coordinates: |rows @ x - centre|^2 is the squared weighted residual above least squares."""

    def __init__(self, setting: _Setting, coordinates: Coordinates):
        self._setting, self._coordinates = setting, coordinates
        self.blocks = feasible(setting.model, setting.bounds, coordinates)
        W, K = setting.region.W, setting.regression.base.K
        self.rows, self.centre = triangular(W @ K @ coordinates.T, W @ setting.region.centre)

    def stout(self, tolerances: Tolerances) -> list[Block]:
        """Return [[S - k m S_0 / m_0, h], [h^T, m]] >= 0: S = integral r r^T dm, S_0 the prior's about its centre."""
        setting, found = self._setting, []
        prior = setting.prior.inertials
        bounded = setting.bounds.shaped()
        each = np.broadcast_to(tolerances.tensor, len(prior))
        for i, (link, body, share) in enumerate(zip(setting.model.robot.links, prior, each, strict=True)):
            if link in bounded:
                continue
            m, c, _ = to_com(body)
            J = pseudo_inertia(body)
            taken = np.zeros((4, 4))
            taken[:3, :3] = (J[:3, :3] / m - np.outer(c, c)) / (2.0 + 2.0 * share) ** 2
            less = PSEUDO_INERTIA_MAP - np.outer(taken.ravel(), np.eye(10)[0])
            D = np.linalg.inv(np.linalg.cholesky(J))
            A = semidefinite_rows(np.kron(D, D) @ less) @ self._coordinates.T[10 * i : 10 * i + 10]
            found.append(Block(np.column_stack([A, np.zeros(10)]), np.zeros(10), "semidefinite"))
        return found

    def metric_rows(self, metric: Metric) -> tuple[Array, Array]:
        """Return root and origin with |root @ x - origin| the distance of links and stated joint terms from CAD's."""
        root, theta = joined(self._setting.model, self._setting.prior, metric)
        return root @ self._coordinates.T, root @ theta


def joined(model: Model, prior: Prior, metric: Metric) -> tuple[Array, Array]:
    """Return a root (m, p) of the metric on theta, with |y / y_0 - 1| for stated joint terms, and theta_0 (p,)."""
    stated = np.array([prior.joint_values.get(name, 0.0) for name in model.names[model.n_rigid :]])
    known = np.flatnonzero(stated)
    links = metric.root(prior)
    share = metric.joint if isinstance(metric, Tolerances) else 1.0
    root = np.zeros((len(links) + len(known), len(model.names)))
    root[: len(links), : model.n_rigid] = links
    root[len(links) + np.arange(len(known)), model.n_rigid + known] = 1.0 / (share * np.abs(stated[known]))
    return root, np.append(prior.inertials.ravel(), stated)


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
    upper = np.asarray(np.linalg.qr(root[:, stated], mode="r"))
    slopes = _slopes(estimate.inertials, len(stated))
    if weight is None:
        shares = data_share_first(data, upper, slopes)
    else:
        shares = data_share(np.sqrt(weight) * data, upper, slopes)
    cad, refined = (np.ravel([_central(body) for body in bodies]) for bodies in (prior.inertials, estimate.inertials))
    numbers = zip(number_names(model), cad.tolist(), refined.tolist(), shares.tolist(), strict=True)
    excess = float(np.sum((region.W @ (estimate.phi - region.centre)) ** 2)) / samples(regression)
    return Refined(estimate, tuple(RefinedNumber(*number) for number in numbers), excess)


def _central(body: Array) -> Array:
    """Return m, c and the tensor about it (10,)."""
    m, c, inertia = to_com(body)
    return np.concatenate([[m], c, inertia[np.triu_indices(3)]])


def _slopes(bodies: Array, columns: int) -> Array:
    """Return the slopes (10 n, columns) of m, c = h / m and I about c in theta, links first."""
    out = np.zeros((bodies.size, columns))
    for i, body in enumerate(bodies):
        m, c, _ = to_com(body)
        at = slice(10 * i, 10 * i + 10)
        out[at, at] = np.linalg.inv(natural_jacobian(m, c)) if m > 0 else np.eye(10)
    return out
