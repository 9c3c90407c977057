"""The CAD doctor: which known mistakes of a CAD table explain the logs, and which could not be told."""

from ident.compare.doctor.doctor import CorrectedNumber as CorrectedNumber
from ident.compare.doctor.doctor import Diagnosis as Diagnosis
from ident.compare.doctor.doctor import Fault as Fault
from ident.compare.doctor.doctor import Undecidable as Undecidable
from ident.compare.doctor.doctor import doctor as doctor
from ident.compare.doctor.doctor import other_convention as other_convention
from ident.compare.doctor.doctor import searching as searching
from ident.compare.doctor.doctor import settled_by as settled_by
from ident.compare.doctor.hypotheses import TOLERANCES as TOLERANCES
