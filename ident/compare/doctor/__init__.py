"""The CAD doctor: which known mistakes of a CAD table explain the logs, and which could not be told."""

from ident.compare.doctor.doctor import CorrectedNumber, Diagnosis, Fault, Undecidable, doctor, searching
from ident.compare.doctor.hypotheses import TOLERANCES
from ident.compare.doctor.outside import other_convention, settled

__all__ = [
    "TOLERANCES",
    "CorrectedNumber",
    "Diagnosis",
    "Fault",
    "Undecidable",
    "doctor",
    "other_convention",
    "searching",
    "settled",
]
