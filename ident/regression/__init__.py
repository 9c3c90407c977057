"""Base parameters and the factors of a regression."""

from ident.regression.base import BaseParameters, base_parameters, rank_margin
from ident.regression.compress import compress
from ident.regression.given import regression_from
from ident.regression.regression import Regression, Segment
from ident.regression.repeats import repeats_joined
from ident.regression.storage import load_regression, save_regression

__all__ = [
    "BaseParameters",
    "Regression",
    "Segment",
    "base_parameters",
    "compress",
    "load_regression",
    "rank_margin",
    "regression_from",
    "repeats_joined",
    "save_regression",
]
