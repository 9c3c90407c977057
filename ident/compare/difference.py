"""Base parameters as identified against other values of them: CAD's, the truth's, or an earlier result's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ident.arrays import Array
from ident.model import Offset
from ident.model.terms import kinds
from ident.regression.base import BaseParameters

#: Chance that any difference of one comparison is called more than chance, when there is none throughout.
LEVEL = 0.01


@dataclass(frozen=True)
class Difference:
    """One base parameter, in the unit of its name: the `reference` is what it is compared with.

    standard_error and half_width (of the 95 % interval): of the difference. NaN stands for what is not known, and for
    what the logs do not determine. scale: the size that the reference's parameters have, where that counts.
    """

    name: str
    expression: str
    reference: float
    identified: float
    standard_error: float
    half_width: float
    scale: float = np.nan
    verdict: str = ""

    @property
    def difference(self) -> float:
        """Identified less reference."""
        return self.identified - self.reference

    @property
    def standard_errors(self) -> float:
        """The difference in standard errors."""
        if self.standard_error:
            return self.difference / self.standard_error
        return self.difference * np.inf if self.difference else 0.0

    @property
    def within_95(self) -> bool | None:
        """Whether the 95 % interval holds the reference; None where that is not known."""
        return None if np.isnan(self.difference * self.half_width) else abs(self.difference) <= self.half_width

    @property
    def friction(self) -> bool:
        """Whether it is friction or an offset of a joint, which wear, temperature and grease change."""
        kind = kinds().get(self.name.rpartition(".")[2])
        return kind is not None and (kind.friction or kind == Offset.kind)


def differences(base: BaseParameters, references: Array, phi: Array, errors: Array, dof: int) -> tuple[Difference, ...]:
    """Return phi (b,) against references (b,), NaN where not known; errors (b,): of the differences, NaN likewise."""
    from scipy.stats import t

    columns = np.transpose([references, phi, errors, t.ppf(0.975, dof) * errors]).tolist()
    return tuple(Difference(name, base.expression(k), *columns[k]) for k, name in enumerate(base.names))


def contradicted(standard_errors: Sequence[float], dof: int, level: float = LEVEL) -> tuple[list[bool], float | None]:
    """Return which differences, in standard errors, chance does not explain, and the size from which that holds.

    Holm's rule with Student's t (Holm 1979). NaN is not tested and never contradicted.
    """
    from scipy.stats import t

    tested = [k for k, off in enumerate(standard_errors) if not np.isnan(off)]
    p = {k: 2.0 * float(t.sf(abs(standard_errors[k]), dof)) for k in tested}
    found = [False] * len(standard_errors)
    left = len(tested)
    for k in sorted(tested, key=lambda k: p[k]):
        if p[k] > level / left:
            break
        found[k] = True
        left -= 1
    return found, float(t.isf(level / max(left, 1) / 2.0, dof)) if tested else None
