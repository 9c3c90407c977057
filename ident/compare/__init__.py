"""Against CAD, against the truth, and on other recordings."""

from ident.compare.cad import Comparison, cad_theta, compare_with
from ident.compare.difference import Difference, TruthComparison, compare_truth
from ident.compare.validate import Predicted, ValidatedRecording, Validation, validate

__all__ = [
    "Comparison",
    "Difference",
    "Predicted",
    "TruthComparison",
    "ValidatedRecording",
    "Validation",
    "cad_theta",
    "compare_truth",
    "compare_with",
    "validate",
]
