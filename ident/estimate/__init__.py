"""Estimators, their covariance and their result."""

from ident.estimate.bounds import Bounds
from ident.estimate.constrained import closest_to_prior, constrained, cross_validated
from ident.estimate.covariance import Covariance, classical, cluster
from ident.estimate.estimate import Estimate
from ident.estimate.least_squares import ols, wls
from ident.estimate.prior import Prior, cad_prior, neutral_prior

__all__ = [
    "Bounds",
    "Covariance",
    "Estimate",
    "Prior",
    "cad_prior",
    "classical",
    "closest_to_prior",
    "cluster",
    "constrained",
    "cross_validated",
    "neutral_prior",
    "ols",
    "wls",
]
