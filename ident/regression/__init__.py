"""Base parameters and the factors of a regression."""

from ident.regression.base import BaseParameters as BaseParameters
from ident.regression.base import base_parameters as base_parameters
from ident.regression.base import rank_margin as rank_margin
from ident.regression.compress import compress as compress
from ident.regression.given import regression_from as regression_from
from ident.regression.regression import Regression as Regression
from ident.regression.regression import Segment as Segment
from ident.regression.repeats import repeats_joined as repeats_joined
from ident.regression.storage import load_regression as load_regression
from ident.regression.storage import save_regression as save_regression
