"""One estimator, chosen by independent words: loss, feasibility, prior with its metric and weight, bounds, covariance.

    mean squared residual, weighted by each joint's noise + weight * distance from the prior

over links that can exist (or any numbers) within bounds: least squares regularised towards a prior (regularization)
under linear matrix inequalities. The distance is the entropic (log-det) divergence or half the square of a constant
metric. Weight zero is the plain LMI fit; "vanishing" means least residual first, then closest to the prior at that
residual.
Without prior, bounds and feasibility it is ordinary or weighted least squares of the base parameters.

Cross-validation follows the one-standard-error rule (Breiman et al. 1984; here of the difference, fold by fold): the
largest weight whose error cannot be told from the least. It is at least 1 / (N_eff tolerance^2), N_eff the
`effective_samples`: -2 log likelihood is N_eff times the mean squared residual, and the divergence is about
|Q - 1|^2 / 2, so this is the prior of bodies whose centres are off by `tolerance` radii of gyration, and whose masses
by 0.7 of it: TOLERANCE with CAD, NEUTRAL_TOLERANCE without. Neutral bodies first get the common scale, within SCALE, at
which they explain the logs best. Metrics with units have no such floor.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from ident.arrays import Array
from ident.errors import EstimationError, ModelError
from ident.estimate.bootstrap import DRAWS, bootstrapped
from ident.estimate.bounds import Bounds
from ident.estimate.cones import ADVICE, edges
from ident.estimate.covariance import classical, default_covariance, effective_samples
from ident.estimate.estimate import Estimate, fit_figures, undetermined_told
from ident.estimate.least_squares import joint_noise, residual_sigma, solve, torque_findings, unexplained
from ident.estimate.prior import ConstantPullback, Euclidean, Metric, Prior, implausible, neutral_prior, weightless
from ident.estimate.problem import VANISHING, Entropic, Quadratic, Solution, Task, samples
from ident.model.model import Model
from ident.regression.regression import Regression, left_out, lengths, repeats_joined

Loss = Literal["ols", "wls", "huber"]
Weight = float | Literal["cross-validated", "vanishing"]
MetricName = Literal["entropic", "pull-back", "euclidean"]
CovarianceName = Literal["segments", "classical", "bootstrap"]

#: Weights that cross-validation tries, per sample of the mean squared weighted residual.
WEIGHTS = tuple(float(w) for w in 10.0 ** np.arange(-7.0, 2.01, 1.0))
#: Into how many parts recordings are grouped at most.
FOLDS = 30
#: How far off, relatively, CAD's bodies are taken to be, and neutral ones.
TOLERANCE, NEUTRAL_TOLERANCE = 0.3, 1.0
#: How much lighter or heavier than first drawn neutral bodies may be, all together.
SCALE = 10.0
#: What is said of neutral bodies that are not heavy enough.
HEAVIER = "neutral bodies explain the logs best above"
_CONSTANT: dict[str, Metric] = {"pull-back": ConstantPullback(), "euclidean": Euclidean()}


def estimated(
    model: Model,
    regression: Regression,
    prior: Prior | None = None,
    *,
    loss: Loss = "wls",
    feasible: bool = True,
    weight: Weight | None = None,
    metric: MetricName | Metric | None = None,
    residual_bound: float = VANISHING,
    bounds: Bounds | None = None,
    covariance: CovarianceName = "segments",
    sigma: ArrayLike | None = None,
    weights: Sequence[float] = WEIGHTS,
    draws: int = DRAWS,
    seed: int = 0,
) -> Estimate:
    """Return the estimate that the words describe; each may be chosen whatever the others are.

    loss: "wls" divides each joint's residual by its noise, sigma (n,) [N m; N] or by default `joint_noise`; "ols"
    counts all alike; "huber" is "wls" of factors whose rows have its weights (`reweighted`). feasible: whether
    links must be able to exist, and friction and drive inertia be non-negative (Sousa, Cortesao, IJRR 2014; Wensing,
    Kim, Slotine, RA-L 2018). prior: what is drawn to; None is nothing, or neutral bodies where links need a scale.
    weight: a number that is 0 or more; "vanishing", the point closest to the prior among those whose squared residual
    is within `residual_bound`, relatively, of the least; "cross-validated", which leaves parts of the logs out and
    tries `weights` (the result's `selection` holds their mean squared weighted errors); None: cross-validated where
    there are three recordings or four segments, else the least that cross-validation may choose (vanishing in metrics
    with units). Recordings of one motion count as one.
    metric: "entropic" (where links must be able to exist; Lee, Wensing, Park, T-RO 2020), "pull-back" (the default
    elsewhere), "euclidean", or any `Metric`. covariance: "segments" is robust to any correlation within a segment, from
    five segments on; "classical" takes residuals as independent; "bootstrap" draws the fit anew (`bootstrap.py`).

    Least squares alone (not feasible, no prior, no bounds) determines phi only: theta is None.
    Raises EstimationError when no solver succeeds, when four segments are missing that cross-validation needs, or when
    least squares alone does not determine a base parameter; InfeasibleError when the result is not consistent;
    ModelError for words that contradict each other.
    """
    regression, limits = repeats_joined(regression), bounds or Bounds()
    plain = not feasible and prior is None and limits == Bounds()
    compatible(loss, feasible, weight, metric, covariance)
    if loss == "ols" and sigma is not None:
        raise ModelError("sigma is given, but loss = 'ols' counts all joints alike", fix="Use loss = 'wls'")
    if plain and (weight not in (None, 0, "vanishing") or metric is not None):
        raise ModelError("metric or weight is given, but no prior to draw to", fix="Give a prior, or leave it out")
    size = _noise(regression, loss, sigma, plain)
    if plain:
        found = _least_squares(model, regression, loss, size, covariance)
        return found if covariance != "bootstrap" else bootstrapped(found, regression, None, draws, seed)
    towards = neutral_prior(model.robot) if prior is None else prior
    by = constant(metric or ("entropic" if feasible else "pull-back"))
    said: tuple[str, ...] = ()
    if weight in (None, "cross-validated") and all(towards.neutral):
        towards, said = _scaled(model, regression, towards, size)
    task = Task(model, regression, towards, limits, size, feasible)
    weight = _usual_weight(task, by) if weight is None else weight
    problem: Entropic | Quadratic = Entropic(task) if by is None else Quadratic(task, by)
    solution, used, selection, more = _solved(problem, weight, residual_bound, weights)
    name = ("constrained" if feasible else "regularised") + (" ols" if loss == "ols" else "")
    found = finished(name, task, solution, covariance)
    found = replace(found, weight=used, selection=selection, warnings=(*said, *more, *found.warnings))
    if not solution.accurate:
        why = f"{solution.solver} stopped short of its tolerance, as did all others"
        raise EstimationError(f"the constrained fit did not converge: {why}. {ADVICE}", estimate=found)
    return found if covariance != "bootstrap" else bootstrapped(found, regression, problem, draws, seed)


def _usual_weight(task: Task, by: Metric | None) -> Weight:
    if len(task.regression.recordings) >= 3 or len(task.regression.segments) >= 4:
        return "cross-validated"
    return _floor(task) if _relative(by) else "vanishing"


def _relative(by: Metric | None) -> bool:
    """Return whether a metric has no units: the entropic divergence, None, and its second-order part."""
    return by is None or isinstance(by, ConstantPullback)


def _solved(
    problem: Entropic | Quadratic, weight: Weight, residual_bound: float, weights: Sequence[float]
) -> tuple[Solution, float, tuple[tuple[float, float], ...], tuple[str, ...]]:
    """Return the solution, the weight that was used, the errors of the weights that were tried, and what to say."""
    if weight == "vanishing":
        solution, used = problem.closest(residual_bound)
        return solution, used, (), ()
    if weight != "cross-validated":
        return problem.solved(float(weight)), float(weight), (), ()
    falling = tuple(sorted((float(w) for w in weights), reverse=True))
    if not falling or not all(0.0 < w < np.inf for w in falling):
        raise ModelError(
            f"are {', '.join(f'{w:g}' for w in falling) or 'none'}, wanted one or more numbers above 0",
            key="weights",
            fix="For a fit without a prior, use weight = 0",
        )
    errors = _left_out(problem, falling)
    best = falling[int(np.argmax(_within_one_error(errors)))]
    relative = _relative(None if isinstance(problem, Entropic) else problem.metric)
    used = max(best, _floor(problem.task) if relative else 0.0)
    solution = problem.solved(used, (*(w for w in falling if w > used), used))
    selection = tuple((w, float(e)) for w, e in zip(falling[::-1], errors.sum(axis=1)[::-1], strict=True))
    return solution, used, selection, _at_the_edge(best, falling, used)


def _floor(task: Task) -> float:
    """Return the least weight that cross-validation may choose: what the noise asks for."""
    tolerance = NEUTRAL_TOLERANCE if all(task.prior.neutral) else TOLERANCE
    return 1.0 / (effective_samples(task.regression, task.sigma) * tolerance**2)


def constant(metric: MetricName | Metric) -> Metric | None:
    """Return the constant metric of that name, None for the entropic divergence."""
    return _CONSTANT.get(metric) if isinstance(metric, str) else metric


def compatible(
    loss: str, feasible: bool, weight: Weight | None, metric: MetricName | Metric | None, covariance: str = "segments"
) -> None:
    """Raise ModelError for a word that is not known, or that another one leaves without meaning."""
    known: dict[str, tuple[str, tuple[str, ...]]] = {
        "loss": (loss, ("wls", "ols", "huber")),
        "covariance": (covariance, ("segments", "classical", "bootstrap")),
    }
    if isinstance(weight, str):
        known["weight"] = (weight, ("cross-validated", "vanishing"))
    elif weight is not None and not 0.0 <= weight < np.inf:
        problem = f"is {weight:g}, wanted 'cross-validated', 'vanishing' or a number that is 0 or more"
        raise ModelError(problem, key="weight")
    if isinstance(metric, str):
        known["metric"] = (metric, ("entropic", *_CONSTANT))
    for name, (word, words) in known.items():
        if word not in words:
            raise ModelError(f"is '{word}', wanted {' or '.join(repr(w) for w in words)}", key=name)
    if metric == "entropic" and not feasible:
        problem = "is 'entropic', finite only for links that can exist, and feasible is false"
        raise ModelError(problem, key="metric", fix="Use metric = 'pull-back', or let feasible be true")


def _noise(regression: Regression, loss: Loss, sigma: ArrayLike | None, plain: bool) -> Array:
    """Return each joint's noise (n,) [N m; N] as the loss has it: one for all joints of ordinary least squares."""
    if loss != "ols":
        return noise(regression, sigma)
    ones = np.ones(regression.n_joints)
    if plain:
        return ones
    return ones * float(np.sqrt(np.mean(residual_sigma(regression, solve(regression, ones)) ** 2)))


def noise(regression: Regression, sigma: ArrayLike | None) -> Array:
    """Return the given torque noise (n,), or `joint_noise`."""
    return joint_noise(regression) if sigma is None else np.asarray(sigma, dtype=np.float64)


def _left_out(given: Entropic | Quadratic, falling: tuple[float, ...]) -> Array:
    """Return each part's (columns) share of the mean squared weighted error at each weight (rows), fitted without it.

    The parts are those of `folds`; everything happens on the factors.
    """
    regression, parts = given.task.regression, folds(given.task.regression)
    errors = np.zeros((len(falling), len(parts)))
    for f, (train, test) in enumerate(left_out(regression, parts)):
        for k, solution in enumerate(given.along(falling, train)):
            squares = test.squared_residuals(regression.base.K @ solution.theta)
            errors[k, f] = np.sum(squares / given.task.sigma**2) / samples(regression)
    return errors


def _scaled(model: Model, regression: Regression, prior: Prior, sigma: Array) -> tuple[Prior, tuple[str, ...]]:
    """Return neutral bodies at the common scale, within SCALE, that explains the logs best, and what to know."""
    scale = _scale(model, regression, prior, sigma)
    if 1.0 / SCALE < scale < SCALE:
        return prior.scaled(scale), ()
    best = f"{HEAVIER} {scale:g}" if scale > 1.0 else f"neutral bodies explain the logs best below {scale:g}"
    told = (
        f"{best} times their size, which is as far as they go:"
        " masses that the logs do not determine are a guess; CAD values would tell"
    )
    return prior.scaled(scale), (told,)


def _scale(model: Model, regression: Regression, prior: Prior, sigma: Array) -> float:
    """Return the common factor of the prior's bodies that explains the logs best, joint terms being free."""
    factor, K, rigid = regression.factor(sigma), regression.base.K, model.n_rigid
    bodies = K[:, :rigid] @ prior.inertials.ravel()
    A = factor[:, :-1] @ np.column_stack([bodies, K[:, rigid:]])
    unit = lengths(A)
    low = np.append(0.0, np.where(model.nonnegative, 0.0, -np.inf))
    x = np.linalg.lstsq(A / unit, factor[:, -1], rcond=-1)[0]
    if (x < low).any():
        from scipy.optimize import lsq_linear  # half of SciPy, for friction that is below zero alone

        x = lsq_linear(A / unit, factor[:, -1], (low, np.inf)).x
    return float(np.clip(x[0] / unit[0], 1.0 / SCALE, SCALE))


def _within_one_error(errors: Array) -> Array:
    """Return which rows of errors (k, folds) sum to no more than the least and the standard error of the difference."""
    apart = errors - errors[np.argmin(errors.sum(axis=1))]
    apart /= np.maximum(np.abs(apart).max(axis=1, keepdims=True), 1e-300)  # squares of absurd ones overflow
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


def folds(regression: Regression) -> list[list[str]]:
    """Return the identities of the segments to leave out together, fold by fold.

    Recordings are left out one at a time where there are three or more, in FOLDS groups where there are more than
    that; else five stretches of consecutive segments.
    """
    recordings = regression.recordings
    if len(recordings) >= 3:
        number = min(len(recordings), FOLDS)
        fold = {recording: k * number // len(recordings) for k, recording in enumerate(recordings)}
        parts: list[list[str]] = [[] for _ in range(number)]
        for segment in regression.segments:
            parts[fold[segment.recording]].append(segment.identity)
        return parts
    identities = [s.identity for s in regression.segments]
    if len(identities) < 4:
        raise EstimationError(
            f"cross-validation needs at least four segments, the logs have {len(identities)}. "
            "Cut them into shorter segments, or use the vanishing weight."
        )
    return [list(part) for part in np.array_split(identities, min(5, len(identities)))]


def finished(name: str, task: Task, solution: Solution, covariance: CovarianceName) -> Estimate:
    """Return the Estimate at theta; links that must be able to exist are checked as the very numbers to be written."""
    model, regression, prior, solver = task.model, task.regression, task.prior, solution.solver
    numbers = task.written(solution.theta, regression)
    found = _figured(name, model, regression, regression.base.K @ numbers, task.sigma, covariance)
    open_ = found.undetermined
    told = (*([f"first solver failed: {solver}"] if "after" in solver else []), *found.warnings)
    estimate = replace(
        found,
        theta=numbers,
        active=_active(task, numbers, open_),
        prior=prior.source,
        solver=solver,
        feasible=True if task.exist else None,
        warnings=(*told, *undetermined_told(open_, model.names, numbers)),
    )
    if not task.exist:
        return estimate
    bodies = numbers[: model.n_rigid].reshape(-1, 10)
    told_of = unexplained(regression) & (np.array(regression.rows) > 0)
    known = () if told_of.any() else estimate.fixed_by_data  # zero torques decide on masses, wrongly
    doubts = implausible(model.robot, bodies, prior, known)
    reasons = weightless(model.robot, regression, prior) if doubts else ()
    return replace(estimate, implausible=(*found.implausible, *reasons, *doubts))


def _figured(
    name: str, model: Model, regression: Regression, phi: Array, sigma: Array, covariance: CovarianceName
) -> Estimate:
    """Return what is said of any base parameters phi (b,), without theta."""
    names, n = model.robot.joint_names, regression.n_joints
    # of a regressor given as numbers there may be more or fewer torques than links
    joints = names if len(names) == n else tuple(f"torque{j + 1}" for j in range(n))
    told, unusable = torque_findings(regression, joints)
    least = solve(regression, sigma)
    errors = classical(regression, sigma) if covariance == "classical" else default_covariance(regression, sigma, least)
    return Estimate(
        estimator=name,
        robot=model.robot.name,
        links=model.robot.links,
        joints=joints,
        shapes=model.shapes,
        base=regression.base,
        phi=phi,
        theta=None,
        covariance=errors,
        sigma=sigma,
        implausible=unusable,
        warnings=(*told, *unusable),
        **fit_figures(regression, phi, sigma),  # type: ignore[arg-type]
    )


def _least_squares(
    model: Model, regression: Regression, loss: Loss, sigma: Array, covariance: CovarianceName
) -> Estimate:
    """Return the base parameters of least residual, and no theta."""
    phi = solve(regression, sigma)
    estimate = _figured("ols" if loss == "ols" else "wls", model, regression, phi, sigma, covariance)
    if loss == "ols":
        estimate = replace(estimate, sigma=residual_sigma(regression, phi))
    errors = estimate.covariance.standard_errors
    open_ = [n for n, se in zip(regression.base.names, errors, strict=True) if not np.isfinite(se)]
    if open_:
        open_ = [*estimate.undetermined, *(n for n in open_ if n not in estimate.undetermined)]
        names = f"{', '.join(open_[:6])}{', ...' if len(open_) > 6 else ''}"
        problem = f"the logs do not determine {len(open_)} of {len(phi)} base parameters: {names}."
        fix = "Use the constrained fit, which needs no full excitation, or a motion that moves every joint."
        raise EstimationError(f"{problem} {fix}", estimate=estimate)
    return estimate


def _active(task: Task, theta: Array, open_: tuple[str, ...]) -> tuple[str, ...]:
    """Return one phrase per constraint that theta sits on; open_: joint terms that the logs do not determine."""
    model, found = task.model, list[str]()
    if not task.exist:
        return task.bounds.on(model).active(theta)
    for link, least in zip(model.robot.links, edges(theta[: model.n_rigid], task.prior), strict=True):
        if least < 1e-6:
            found.append(f"{link}: pseudo-inertia at the edge of what can exist")
    terms = model.names[model.n_rigid :]
    scale = np.abs(theta[model.n_rigid :]).max(initial=0.0)
    for name, value, bounded in zip(terms, theta[model.n_rigid :], model.nonnegative, strict=True):
        if bounded and value <= 1e-6 * scale and name not in open_:
            found.append(f"{name} at zero")
    return (*found, *task.bounds.on(model).active(theta))
