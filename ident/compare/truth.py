"""Truth against identified, where a simulation knows the truth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ident.compare.difference import Difference, differences
from ident.errors import ModelError
from ident.estimate.estimate import Estimate


@dataclass(frozen=True)
class TruthComparison:
    """Every base parameter against the truth."""

    rows: tuple[Difference, ...]

    @property
    def largest(self) -> float | None:
        """Largest |z|, None when nothing is determined."""
        return max((abs(r.standard_errors) for r in self.rows if not np.isnan(r.standard_errors)), default=None)

    @property
    def coverage(self) -> float | None:
        """Share of 95 % intervals that hold the truth, None when nothing is determined."""
        judged = [r.within_95 for r in self.rows if r.within_95 is not None]
        return sum(judged) / len(judged) if judged else None


def compare_truth(estimate: Estimate, truth: Mapping[str, float]) -> TruthComparison:
    """Return phi against K theta_true.

    truth: every standard parameter by name [SI]; those that torque never shows may be left out.
    Raises ModelError when one that torque shows is missing.
    """
    K = estimate.base.K
    missing = [n for n, column in zip(estimate.base.standard, K.T, strict=True) if column.any() and n not in truth]
    if missing:
        raise ModelError(f"the truth does not state '{missing[0]}'", fix="Give every standard parameter, 0 included")
    true = K @ np.array([truth.get(name, 0.0) for name in estimate.base.standard])
    errors = estimate.covariance.standard_errors
    known = np.where(errors > 0, errors, np.nan)
    return TruthComparison(differences(estimate.base, true, estimate.phi, known, estimate.covariance.dof))
