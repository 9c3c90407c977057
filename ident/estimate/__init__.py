"""Estimators, their covariance and their result."""

from ident.estimate.bounds import Bounds, Ellipsoid
from ident.estimate.covariance import ConfidenceRegion, Covariance, classical, cluster, confidence_region
from ident.estimate.estimate import Estimate, fitted_model
from ident.estimate.estimators import estimated
from ident.estimate.interval import Allowed, Intervals, intervals, verdicts
from ident.estimate.prior import ConstantPullback, Euclidean, Prior, Tolerances, cad_prior, neutral_prior, solid_bodies
from ident.estimate.refined import Refined, RefinedNumber, refine_cad

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
    "cluster",
    "confidence_region",
    "estimated",
    "fitted_model",
    "intervals",
    "neutral_prior",
    "refine_cad",
    "solid_bodies",
    "verdicts",
]
