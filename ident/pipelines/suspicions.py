"""Whether a result looks as if something were wrong with its files, and how much of CAD bears it out."""

from __future__ import annotations

import numpy as np

from ident.pipelines.steps import Result

#: Least squares that are so much better than links that can exist: the robot may be another one.
_BETTER = 0.1
#: An error on motions never seen that is so many times that of the fit, and so much of the torque, is looked into.
_WORSE, _SEEN = 2.0, 0.01
#: An error of the fit that is so large is looked into.
_LARGE = 0.1
_CONTRADICTED = 0.5
#: What is left of a torque, squared, is so many times its noise: the rest is the model's, or the files', and what is
#: left is so much of the torque or more.
_NOISES, _FELT = 1.4, 0.01
#: Of CAD that is right but for a mistake elsewhere fewer numbers are contradicted than this share of those that agree.
AGREES = 1.0
#: And where it vouches for what the logs alone do not tell: than this one.
VOUCHES = 0.25


def suspicious(result: Result) -> bool:
    """Return whether a result is such that somebody should look for the cause: what `examination` is for."""
    from ident.estimate.least_squares import joint_noise, solve

    estimate, regression, comparison = result.estimate, result.regression, result.comparison
    if estimate.implausible or any("at zero" in a for a in estimate.active):
        return True
    if badly_predicted(result) or (result.validation and result.validation.opposed):
        return True
    if comparison is not None and comparison.count("contradicted") > _CONTRADICTED * max(len(comparison.rows), 1):
        return True
    if regression is None:
        return estimate.relative_total > _LARGE
    if estimate.floor is not None and np.any(
        (estimate.floor > 0) & (estimate.rms**2 > _NOISES * estimate.floor**2) & (estimate.missed > _FELT)
    ):
        return True
    sigma = joint_noise(regression)
    least = float(np.sum(regression.squared_residuals(solve(regression, sigma)) / sigma**2))
    squares = float(np.sum(regression.squared_residuals(estimate.phi) / sigma**2))
    return estimate.relative_total > _LARGE or squares > (1.0 + _BETTER) * least


def known_well(result: Result) -> bool:
    """Return whether CAD is right in most of what the logs tell and contradicted in some: then it knows the mistake."""
    comparison = result.comparison
    some = comparison.count("contradicted") if comparison is not None else 0
    return comparison is not None and 0 < some <= AGREES * comparison.count("agrees")


def vouched_for(result: Result) -> bool:
    """Return whether the logs test what CAD knows and hardly contradict it: then it tells gains and zeros."""
    comparison = result.comparison
    if comparison is None or not comparison.tested:
        return False
    return not comparison.far or comparison.count("contradicted") <= VOUCHES * comparison.count("agrees")


def harmless(result: Result) -> bool:
    """Return whether a mistake in the CAD table has spoilt neither the bodies nor what is predicted of all joints."""
    bad = result.estimate.implausible or result.estimate.relative_total > _LARGE
    return not bad and not worse_in_all(result)


def badly_predicted(result: Result) -> bool:
    """Return whether recordings that were not fitted are so badly predicted that something may be wrong with them.

    All joints together, or one joint beyond the noise of its readings.
    """
    if result.validation is None or result.validation.total("identified") is None:
        return False
    if worse_in_all(result):
        return True
    missed, fitted = result.validation.missed("identified"), np.minimum(result.estimate.relative, 1.0)
    return bool(np.any(missed > np.maximum(_WORSE * fitted, _SEEN)))


def worse_in_all(result: Result) -> bool:
    """Return whether recordings that were not fitted are badly predicted over all joints together."""
    total = result.validation.total("identified") if result.validation else None
    return total is not None and total.relative_total > max(_WORSE * result.estimate.relative_total, _SEEN)
