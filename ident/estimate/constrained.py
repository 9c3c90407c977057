"""Least squares under physical consistency, drawn to a prior where the data leave freedom.

Three ways to weigh the prior: `constrained` takes a given weight, `closest_to_prior` the vanishing one (least
residual first, then closest to the prior at that residual), `cross_validated` chooses one by leaving recordings out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice

import numpy as np
from numpy.typing import ArrayLike

from ident.arrays import Array
from ident.errors import EstimationError
from ident.estimate.bounds import Bounds
from ident.estimate.cones import RIDGE, feasible, least_norm, require_possible
from ident.estimate.confidence_region import effective_samples
from ident.estimate.covariance import default_covariance
from ident.estimate.estimate import Estimate, fit_figures, undetermined, undetermined_told
from ident.estimate.least_squares import joint_noise, solve, solved, torque_findings
from ident.estimate.log_det_newton import LogDetNewton
from ident.estimate.plausible import implausible
from ident.estimate.prior import Prior
from ident.estimate.program import ADVICE, Coordinates, Program, Solution, decades
from ident.estimate.undetermined import drawn_factor, settled
from ident.estimate.written import written_within
from ident.model.model import Model
from ident.regression.regression import Regression
from ident.spatial.inertia import pseudo_inertia

#: Relative excess of the squared residual that the vanishing weight may cost.
VANISHING = 1e-6
#: Weights that cross-validation tries, per sample of the mean squared weighted residual.
WEIGHTS = tuple(float(w) for w in 10.0 ** np.arange(-7.0, 2.01, 1.0))
#: How far off, relatively, CAD's bodies are taken to be, and neutral ones.
TOLERANCE, NEUTRAL_TOLERANCE = 0.3, 1.0
#: How much lighter or heavier than first drawn neutral bodies may be, all together.
SCALE = 10.0


#: A weight that stands for none: it moves the mean squared weighted residual by four times itself for each link.
_BARRIER = 1e-9
_TOWARDS_ZERO = tuple(float(w) for w in 10.0 ** -np.arange(0.0, 12.5, 1.0))


def constrained(
    model: Model,
    regression: Regression,
    prior: Prior,
    *,
    weight: float,
    bounds: Bounds | None = None,
    sigma: ArrayLike | None = None,
) -> Estimate:
    """Return argmin mean squared weighted residual + weight * divergence from the prior, over bodies that can exist.

    weight: 0 is the plain LMI fit (Sousa, Cortesao, IJRR 2014; Wensing, Kim, Slotine, RA-L 2018), positive the
    entropic one (Lee, Wensing, Park, T-RO 2020). sigma (n,) [N m; N]: torque noise of each joint, by default
    `joint_noise`. Friction and drive inertia are kept non-negative.
    Raises EstimationError when no solver succeeds, InfeasibleError when the result is not consistent.
    """
    sigma = noise(regression, sigma)
    problem = _Problem(model, regression, prior, bounds or Bounds(), sigma, with_prior=weight > 0)
    solution = problem.solved(weight)
    return finish(model, regression, prior, bounds, sigma, solution, weight=weight)


def closest_to_prior(
    model: Model,
    regression: Regression,
    prior: Prior,
    *,
    bounds: Bounds | None = None,
    sigma: ArrayLike | None = None,
) -> Estimate:
    """Return the point closest to the prior among those of least weighted residual (within 1e-6 of its square).

    That is the fit at the largest weight, by decades, which costs no more than that.
    Arguments and errors as in `constrained`.
    """
    sigma = noise(regression, sigma)
    factor, count = drawn_factor(model, regression, prior, sigma), samples(regression)

    def squared(solution: Solution) -> float:
        return float(np.sum((factor @ np.append(regression.base.K @ solution.theta, -1.0)) ** 2))

    # of links that can exist: the least residual of all plus |W (phi - phi_hat)|^2
    problem = _Problem(model, regression, prior, bounds or Bounds(), sigma, with_prior=True)
    W, centre = factor[:-1, :-1], solved(factor)
    blocks = feasible(model, bounds or Bounds(), problem.coordinates)
    _, distance = least_norm(W @ regression.base.K @ problem.coordinates.T, W @ centre, blocks, RIDGE * count)
    least = float(np.sum((factor @ np.append(centre, -1.0)) ** 2)) + distance**2
    for weight, solution in zip(_TOWARDS_ZERO, problem.along(_TOWARDS_ZERO), strict=True):
        if solution.accurate and squared(solution) <= least * (1.0 + VANISHING):
            return finish(model, regression, prior, bounds, sigma, solution, weight=weight)
    raise EstimationError("no weight of the prior is small enough to reach the least residual within 1e-6")


def cross_validated(
    model: Model,
    regression: Regression,
    prior: Prior,
    *,
    weights: Sequence[float] = WEIGHTS,
    bounds: Bounds | None = None,
    sigma: ArrayLike | None = None,
) -> Estimate:
    """Return the constrained fit at the weight that left-out recordings and the noise together ask for.

    Recordings are left out one at a time where there are three or more, else five stretches of consecutive segments;
    everything happens on the factors. One-standard-error rule (Breiman et al. 1984; here of the difference, fold by
    fold): the largest weight whose error cannot be told from the least. It is at least 1 / (N_eff tolerance^2), N_eff
    the `effective_samples`: -2 log likelihood is N_eff times the mean squared residual, and the divergence is about
    |Q - 1|^2 / 2, so this is the prior of bodies whose centres are off by `tolerance` radii of gyration, and whose
    masses by 0.7 of it: TOLERANCE with CAD, NEUTRAL_TOLERANCE without. Neutral bodies first get the common scale,
    within SCALE, at which they explain the logs best. `selection` of the result holds the weights tried and their mean
    squared weighted errors.
    Raises EstimationError when there are fewer than four segments, else as `constrained`.
    """
    groups = folds(regression)
    sigma, bounds, count = noise(regression, sigma), bounds or Bounds(), samples(regression)
    falling = tuple(sorted((float(w) for w in weights), reverse=True))
    neutral = all(prior.neutral)
    least = 1.0 / (effective_samples(regression, sigma) * (NEUTRAL_TOLERANCE if neutral else TOLERANCE) ** 2)
    said = tuple[str, ...]()
    if neutral:
        scale = _scale(model, regression, prior, sigma)
        if not 1.0 / SCALE < scale < SCALE:
            side = "above" if scale > 1.0 else "below"
            said = (
                f"neutral bodies explain the logs best {side} {scale:g} times their size, which is as far as they go:"
                " masses that the logs do not determine are a guess; CAD values would tell",
            )
        prior = prior.scaled(scale)
    problem = _Problem(model, regression, prior, bounds, sigma, with_prior=True)
    errors = np.zeros((len(falling), len(groups)))  # each fold's part of the mean squared weighted error
    for f, group in enumerate(groups):
        train = regression.without(group)
        test = regression.without([s.identity for s in train.segments])
        for k, solution in enumerate(problem.along(falling, train)):
            errors[k, f] = np.sum(test.squared_residuals(regression.base.K @ solution.theta) / sigma**2) / count
    chosen = falling[int(np.argmax(_within_one_error(errors)))]
    weight = max(chosen, least)
    solution = problem.solved(weight, (*(w for w in falling if w > weight), weight))
    selection = tuple((w, float(e)) for w, e in zip(falling[::-1], errors.sum(axis=1)[::-1], strict=True))
    said += _at_the_edge(chosen, falling, weight)
    return finish(model, regression, prior, bounds, sigma, solution, weight=weight, selection=selection, said=said)


def _scale(model: Model, regression: Regression, prior: Prior, sigma: Array) -> float:
    """Return the common factor of the prior's bodies that explains the logs best, joint terms being free."""
    from scipy.optimize import lsq_linear

    factor, K, rigid = regression.factor(sigma), regression.base.K, model.n_rigid
    bodies = K[:, :rigid] @ prior.inertials.ravel()
    A = factor[:, :-1] @ np.column_stack([bodies, K[:, rigid:]])
    unit = np.linalg.norm(A, axis=0)
    unit[unit == 0.0] = 1.0
    low = np.append(0.0, np.where(model.nonnegative, 0.0, -np.inf))
    return float(np.clip(lsq_linear(A / unit, factor[:, -1], (low, np.inf)).x[0] / unit[0], 1.0 / SCALE, SCALE))


def _within_one_error(errors: Array) -> Array:
    """Return which rows of errors (k, folds) sum to no more than the least and the standard error of the difference."""
    apart = errors - errors[np.argmin(errors.sum(axis=1))]
    return np.asarray(apart.sum(axis=1) <= np.sqrt(errors.shape[1]) * apart.std(axis=1, ddof=1))


def _at_the_edge(chosen: float, falling: tuple[float, ...], weight: float) -> tuple[str, ...]:
    """Return what to know of a choice at either end of the weights that were tried."""
    if chosen == falling[0] > falling[-1]:
        return (
            f"the strongest weight of the prior that was tried, {chosen:g}, predicts left-out parts as well as any: the"
            " logs say nothing against the prior",
        )
    if chosen == falling[-1] < falling[0]:
        return (
            f"the weakest weight of the prior that was tried, {chosen:g}, predicts left-out parts best: they are much"
            f" like the rest, or the prior is wrong; the weight is {weight:.2g}, as the noise asks for",
        )
    return ()


class _Problem:
    """What is given, and the ways to solve it: the conic program, and Newton's method where there is a prior.

    Raises EstimationError, naming the bounds, where no links that can exist keep them.
    """

    def __init__(
        self, model: Model, regression: Regression, prior: Prior, bounds: Bounds, sigma: Array, *, with_prior: bool
    ):
        self._model, self._prior, self._sigma = model, prior, sigma
        self._given = self._of(regression)
        self.coordinates = Coordinates.of(model, prior, self._given[0], regression.base)
        require_possible(model, bounds, self.coordinates)
        self._program = Program(model, regression.base, self.coordinates, bounds, with_prior)
        self._newton = LogDetNewton(model, regression.base, self.coordinates, bounds)

    def solved(self, weight: float, weights: tuple[float, ...] = ()) -> Solution:
        """Return the solution at one weight; weights: falling ones that lead there, where the way is a long one."""
        given = self._given
        near = self._newton.path(*given, weights) if weights else []
        found = self._program.direct(*given, weight, near[-1] if near else None)
        if found is not None:
            return found
        told = f" (after {self._program.told})"
        way = weights or decades(weight or _BARRIER)
        near = near or self._newton.path(*given, way)
        if near and len(near) == len(way):
            return Solution(near[-1], "NEWTON" + told, True)
        *_, last = self._program.path(*given, weights or decades(weight))
        return last

    def along(self, weights: tuple[float, ...], regression: Regression | None = None) -> Iterator[Solution]:
        """Yield the solutions at falling weights: conic ones where Newton's method does not get there."""
        given = self._given if regression is None else self._of(regression)
        found = self._newton.path(*given, weights)
        yield from (Solution(theta, "NEWTON", True) for theta in found)
        if len(found) < len(weights):
            yield from islice(self._program.path(*given, weights), len(found), None)

    def _of(self, regression: Regression) -> tuple[Array, float]:
        return drawn_factor(self._model, regression, self._prior, self._sigma), samples(regression)


def folds(regression: Regression) -> list[list[str]]:
    """Return the identities of the segments to leave out together, fold by fold."""
    if len(regression.recordings) >= 3:
        return [[s.identity for s in regression.segments if s.recording == r] for r in regression.recordings]
    identities = [s.identity for s in regression.segments]
    if len(identities) < 4:
        raise EstimationError(
            f"cross-validation needs at least four segments, the logs have {len(identities)}. "
            "Cut them into shorter segments, or use the vanishing weight."
        )
    return [list(part) for part in np.array_split(identities, min(5, len(identities)))]


def noise(regression: Regression, sigma: ArrayLike | None) -> Array:
    """Return the given torque noise (n,), or `joint_noise`."""
    return joint_noise(regression) if sigma is None else np.asarray(sigma, dtype=np.float64)


def samples(regression: Regression) -> float:
    """Return the number of rows of all joints together."""
    return float(regression.rows.sum())


def finish(
    model: Model,
    regression: Regression,
    prior: Prior,
    bounds: Bounds | None,
    sigma: Array,
    solution: Solution,
    *,
    weight: float,
    selection: tuple[tuple[float, float], ...] = (),
    said: tuple[str, ...] = (),
) -> Estimate:
    """Return the Estimate at theta, checked in exact arithmetic on the very numbers that will be written."""
    theta, solver = settled(model, regression, prior, sigma, solution.theta), solution.solver
    numbers = written_within(model, theta, prior, bounds or Bounds())
    phi = regression.base.K @ numbers
    covariance = default_covariance(regression, sigma, solve(regression, sigma))
    open_ = undetermined(regression.base, covariance, model.n_rigid)
    active = active_constraints(model, prior, bounds or Bounds(), numbers, open_)
    joints = model.robot.joint_names
    told = [f"first solver failed: {solver}"] if "after" in solver else []
    estimate = Estimate(
        estimator="constrained",
        robot=model.robot.name,
        links=model.robot.links,
        joints=joints,
        shapes=model.shapes,
        base=regression.base,
        phi=phi,
        theta=numbers,
        covariance=covariance,
        sigma=sigma,
        active=active,
        prior=prior.source,
        weight=weight,
        selection=selection,
        solver=solver,
        feasible=True,
        warnings=(*said, *told, *torque_findings(regression, joints), *undetermined_told(open_, model.names, numbers)),
        **fit_figures(regression, phi, sigma),  # type: ignore[arg-type]
    )
    doubts = implausible(model.robot, numbers[: model.n_rigid].reshape(-1, 10), prior, estimate.fixed_by_data)
    estimate = replace(estimate, implausible=doubts)
    if not solution.accurate:
        raise EstimationError(
            f"the constrained fit did not converge: {solver} stopped short of its tolerance, as did all others."
            f" {ADVICE}",
            estimate=estimate,
        )
    return estimate


def active_constraints(
    model: Model, prior: Prior, bounds: Bounds, theta: Array, open_: tuple[str, ...] = ()
) -> tuple[str, ...]:
    """Return one phrase per constraint that theta sits on; open_: joint terms that the logs do not determine."""
    found = []
    for i, link in enumerate(model.robot.links):
        half = np.linalg.inv(np.linalg.cholesky(pseudo_inertia(prior.inertials[i])))
        body = theta[10 * i : 10 * i + 10]
        if np.linalg.eigvalsh(half @ pseudo_inertia(body) @ half.T)[0] < 1e-6:
            found.append(f"{link}: pseudo-inertia at the edge of what can exist")
    terms = model.names[model.n_rigid :]
    scale = np.abs(theta[model.n_rigid :]).max(initial=0.0)
    for name, value, bounded in zip(terms, theta[model.n_rigid :], model.nonnegative, strict=True):
        if bounded and value <= 1e-6 * scale and name not in open_:
            found.append(f"{name} at zero")
    return (*found, *bounds.on(model).active(theta))
