"""Estimators, their covariance and their result."""

from ident.estimate.bounds import Bounds
from ident.estimate.confidence_region import ConfidenceRegion, confidence_region
from ident.estimate.constrained import closest_to_prior, constrained, cross_validated
from ident.estimate.covariance import Covariance, classical, cluster
from ident.estimate.density_realisable import Ellipsoid
from ident.estimate.estimate import Estimate
from ident.estimate.fitted_model import fitted_model
from ident.estimate.interval import Allowed, Intervals, intervals, verdicts
from ident.estimate.least_squares import ols, wls
from ident.estimate.metric import ConstantPullback, Euclidean, Tolerances
from ident.estimate.prior import Prior, cad_prior, neutral_prior, solid_bodies
from ident.estimate.refine import (
    Refined,
    RefinedNumber,
    refine_constant,
    refine_cross_validated,
    refine_entropic,
    refine_weighted,
)

__all__ = [
    "Allowed",
    "Bounds",
    "ConfidenceRegion",
    "ConstantPullback",
    "Covariance",
    "Ellipsoid",
    "Estimate",
    "Euclidean",
    "Intervals",
    "Prior",
    "Refined",
    "RefinedNumber",
    "Tolerances",
    "cad_prior",
    "classical",
    "closest_to_prior",
    "cluster",
    "confidence_region",
    "constrained",
    "cross_validated",
    "fitted_model",
    "intervals",
    "neutral_prior",
    "ols",
    "refine_constant",
    "refine_cross_validated",
    "refine_entropic",
    "refine_weighted",
    "solid_bodies",
    "verdicts",
    "wls",
]
