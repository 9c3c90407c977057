"""The CAD doctor: which known mistakes of a CAD table explain the logs, and which could not be told."""

from ident.compare.doctor.doctor import (
    CorrectedNumber,
    Diagnosis,
    Fault,
    Undecidable,
    doctor,
    other_convention,
    searching,
    settled_by,
)
from ident.compare.doctor.hypotheses import TOLERANCES

__all__ = [
    "TOLERANCES",
    "CorrectedNumber",
    "Diagnosis",
    "Fault",
    "Undecidable",
    "doctor",
    "other_convention",
    "searching",
    "settled_by",
]
