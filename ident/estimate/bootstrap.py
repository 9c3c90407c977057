"""The bootstrap: the fit once more for torques that other noise might have left, with all that the fit was asked.

Least squares would be off by sum_s u_s d_s sqrt((G - 1) / G), d_s the jackknife's change without segment s and u_s
standard normal: errors with the covariance of `cluster`. The torque of the estimate with such an error is fitted as the
logs were, at the same noise levels: a wild bootstrap over clusters, with scores from the jackknife (MacKinnon, Nielsen,
Webb, J. Appl. Econometrics 2023). Each draw can exist. Where nothing but the logs decides, standard errors are those of
the segments; where links are at the edge of what can exist they are smaller, for the edge cuts errors off. There a
bootstrap is no more than nearly right (Andrews, Econometrica 2000): experiments/benchmarks/bootstrap.py has how nearly.

A prior narrows no error bar, for nobody knows its own error: it has a weight in the draws that leaves to the logs
whatever they show.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ident.arrays import Array
from ident.errors import EstimationError, ModelError
from ident.estimate.cones import ADVICE
from ident.estimate.covariance import Bootstrap, Covariance, determined, effective_samples, jackknife
from ident.estimate.estimate import Estimate
from ident.estimate.least_squares import solve
from ident.estimate.problem import Entropic, Quadratic
from ident.regression.regression import Regression

#: How many draws `covariance = "bootstrap"` takes, and fewer than how many segments are too few.
DRAWS, SEGMENTS = 200, 5
#: How far off, relatively, the draws take the prior's bodies to be: it says nothing of what the logs show.
UNKNOWN = 10.0


def bootstrapped(
    found: Estimate, regression: Regression, problem: Entropic | Quadratic | None, draws: int, seed: int
) -> Estimate:
    """Return an estimate from these factors with the covariance of so many draws, and the draws.

    problem: what was solved, None for least squares. Raises ModelError for fewer than two draws,
    EstimationError for fewer than SEGMENTS segments or where a draw is not solved.
    """
    if draws < 2:
        raise ModelError(f"draws is {draws}, wanted 2 or more", fix="200 give standard errors within 5 %")
    count = len(regression.segments)
    sigma = np.ones(regression.n_joints) if found.estimator == "ols" else found.sigma  # as it was weighed
    if count < SEGMENTS:
        few = f"a bootstrap needs {SEGMENTS} segments or more, these logs have {count}."
        fix = "Cut them into shorter ones, or use covariance = 'classical'."
        raise EstimationError(f"{few} {fix}", estimate=found)
    least = solve(regression, sigma)
    changes = np.sqrt((count - 1) / count) * jackknife(regression, sigma, least)
    phi, theta = found.phi + np.random.default_rng(seed).normal(size=(draws, count)) @ changes, None
    if problem is not None:
        weight = min(found.weight or 0.0, 1.0 / (effective_samples(regression, sigma) * UNKNOWN**2))
        theta = np.array([_solved(found, problem, regression.shifted(one - least), weight) for one in phi])
        phi = theta @ regression.base.K.T
    known = determined(regression.factor(sigma))
    matrix = np.where(known[:, None] & known, np.cov(phi.T), np.nan)
    covariance = Covariance("bootstrap", matrix, count - 1, count)
    return replace(
        found, covariance=covariance, bootstrap=Bootstrap(regression.base, found.phi, phi, theta, covariance)
    )


def _solved(found: Estimate, problem: Entropic | Quadratic, regression: Regression, weight: float) -> Array:
    """Return theta (p,) of one draw, with the digits that are written."""
    solution = problem.again(regression, weight)
    if not solution.accurate:
        raise EstimationError(f"a draw of the bootstrap did not converge ({solution.solver}). {ADVICE}", estimate=found)
    return problem.task.written(solution.theta, regression)
