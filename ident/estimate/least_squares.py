"""Ordinary and weighted least squares on the compressed factor."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ident.arrays import Array
from ident.errors import EstimationError
from ident.estimate.covariance import default_covariance, residual_sigma
from ident.estimate.estimate import Estimate, fit_figures
from ident.model.model import Model
from ident.regression.regression import Regression

_ROUNDS = 5
_SINGULAR = 1e-9  # of the largest singular value of the column-scaled factor


def ols(model: Model, regression: Regression) -> Estimate:
    """Return argmin ||Y phi - tau||^2, every joint's residual counted in N m (or N) alike.

    Raises EstimationError when the logs do not determine every base parameter, naming those that they do not.
    """
    return _least_squares("ols", model, regression, np.ones(regression.n_joints))


def wls(model: Model, regression: Regression, sigma: ArrayLike | None = None) -> Estimate:
    """Return argmin sum_j ||Y_j phi - tau_j||^2 / sigma_j^2.

    sigma (n,) [N m; N]: torque noise of each joint; by default `joint_noise`. Raises EstimationError like `ols`.
    """
    if sigma is None:
        sigma = joint_noise(regression)
    return _least_squares("wls", model, regression, np.asarray(sigma, dtype=np.float64))


def joint_noise(regression: Regression) -> Array:
    """Return each joint's residual standard deviation (n,) [N m; N] under weights that it is consistent with.

    Gautier (1997) takes it from ordinary least squares, where noisy joints spoil the parameters, and so the residuals,
    of quiet ones; weighing and estimating in turn settles after a few rounds.
    """
    sigma = np.ones(regression.n_joints)
    for _ in range(_ROUNDS):
        sigma = residual_sigma(regression, solve(regression, sigma))
    return sigma


def solve(regression: Regression, sigma: ArrayLike) -> Array:
    """Return the least-squares phi (b,), of least norm (in scaled columns) where the logs leave it open."""
    return solved(regression.factor(sigma))


def solved(factor: Array) -> Array:
    """Return argmin ||R phi - z|| (b,) of a factor [R z], of least norm (in scaled columns) where it is open."""
    R, z = factor[:, :-1], factor[:, -1]
    scale = np.linalg.norm(R, axis=0)
    seen = scale > 0
    scale = np.where(seen, scale, 1.0)
    return np.asarray(np.where(seen, np.linalg.lstsq(R / scale, z, rcond=_SINGULAR)[0] / scale, 0.0))


def _least_squares(name: str, model: Model, regression: Regression, sigma: Array) -> Estimate:
    phi = solve(regression, sigma)
    covariance = default_covariance(regression, sigma, phi)
    estimate = Estimate(
        estimator=name,
        robot=model.robot.name,
        links=model.robot.links,
        joints=model.robot.joint_names,
        shapes=model.shapes,
        base=regression.base,
        phi=phi,
        theta=None,
        covariance=covariance,
        sigma=residual_sigma(regression, phi) if name == "ols" else sigma,
        **fit_figures(regression, phi, sigma),  # type: ignore[arg-type]
    )
    open_ = [n for n, se in zip(regression.base.names, covariance.standard_errors, strict=True) if not np.isfinite(se)]
    if open_:
        open_ = [*estimate.undetermined, *(n for n in open_ if n not in estimate.undetermined)]
        raise EstimationError(
            f"the logs do not determine {len(open_)} of {len(phi)} base parameters: {', '.join(open_[:6])}"
            f"{', ...' if len(open_) > 6 else ''}. Use the constrained fit, which needs no full excitation, or a "
            "motion that moves every joint.",
            estimate=estimate,
        )
    return estimate
