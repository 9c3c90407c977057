"""Which joint terms the logs of a robot support: candidates, folds, their judge, and the selection."""

from ident.structure.candidates import Candidate, candidates
from ident.structure.selection import Selection, selected

__all__ = ["Candidate", "Selection", "candidates", "selected"]
