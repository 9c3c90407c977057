"""Against CAD, against the truth, and on other recordings."""

from ident.compare.cad import Compared, Comparison, StandardRow, cad_theta, compare_standard, compare_with
from ident.compare.truth import TrueValue, TruthComparison, compare_truth
from ident.compare.validate import Predicted, ValidatedRecording, Validation, validate

__all__ = [
    "Compared",
    "Comparison",
    "Predicted",
    "StandardRow",
    "TrueValue",
    "TruthComparison",
    "ValidatedRecording",
    "Validation",
    "cad_theta",
    "compare_standard",
    "compare_truth",
    "compare_with",
    "validate",
]
