"""Against CAD, against the truth, and on other recordings."""

from ident.compare.difference import Comparison as Comparison
from ident.compare.difference import Difference as Difference
from ident.compare.difference import TruthComparison as TruthComparison
from ident.compare.difference import cad_theta as cad_theta
from ident.compare.difference import compare_truth as compare_truth
from ident.compare.difference import compare_with as compare_with
from ident.compare.validate import Predicted as Predicted
from ident.compare.validate import ValidatedRecording as ValidatedRecording
from ident.compare.validate import Validation as Validation
from ident.compare.validate import validate as validate
