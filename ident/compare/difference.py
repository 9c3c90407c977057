"""Base parameters as identified against other values of them: CAD's, the truth's, or an earlier result's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ident.arrays import Array
from ident.errors import InputError, ModelError
from ident.estimate.covariance import half_widths
from ident.estimate.estimate import Estimate
from ident.model import Offset
from ident.model.coulomb import COULOMB, SIGN
from ident.model.term import rubs
from ident.model.terms import kinds, restored
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
    columns = np.transpose([references, phi, errors, half_widths(errors, dof)]).tolist()
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


@dataclass(frozen=True)
class Change:
    """A result against the first one; boundary: standard errors from which on a row counts as changed.

    Verdicts: "changed", "same" (within 95 %), "unclear" (between the two), "not determined" where a result leaves it
    open.
    """

    name: str
    rows: tuple[Difference, ...]
    boundary: float | None
    level: float = LEVEL

    def count(self, verdict: str) -> int:
        """Return how many base parameters got this verdict."""
        return sum(row.verdict == verdict for row in self.rows)


def changes(named: Sequence[tuple[str, Estimate]]) -> tuple[Change, ...]:
    """Return each further result against the first one.

    Results count as independent: their covariances are added. A base parameter changed when its difference is too large
    for Student's t, by Holm's rule at 1 % for all rows of a comparison, with the fewer degrees of freedom of the two.
    Raises InputError for fewer than two results or equal names, ModelError when their base parameters differ.
    """
    if len(named) < 2:
        raise InputError("one result cannot be compared", fix="Give two or more estimates")
    names = [name for name, _ in named]
    if len(set(names)) < len(names):
        twice = next(n for n in names if names.count(n) > 1)
        raise InputError(f"two results are called '{twice}'", fix="Give each result once, under a name of its own")
    first_name, first = named[0]
    for name, other in named[1:]:
        _same(first_name, first, name, other)
    return tuple(_change(name, first, other) for name, other in named[1:])


def _same(a: str, first: Estimate, b: str, second: Estimate) -> None:
    if first.base.standard != second.base.standard:
        strange = sorted(set(first.base.standard) ^ set(second.base.standard))
        which = f", such as '{strange[0]}'" if strange else ""
        raise ModelError(f"'{a}' and '{b}' have other parameters{which}", fix="Fit both with the same robot and terms")
    alike = first.base.names == second.base.names and np.allclose(first.base.K, second.base.K, rtol=1e-9, atol=1e-12)
    if not alike:
        raise ModelError(
            f"'{a}' and '{b}' have other base parameters, so their robots differ in geometry",
            fix="Fit both with the same robot file",
        )


def _change(name: str, first: Estimate, second: Estimate) -> Change:
    errors = np.hypot(first.covariance.standard_errors, second.covariance.standard_errors)
    dof = min(first.covariance.dof, second.covariance.dof)
    rows = differences(first.base, first.phi, second.phi, errors, dof)
    off, boundary = contradicted([r.standard_errors for r in rows], dof)
    words = {True: "same", False: "unclear", None: "not determined"}
    judged = (replace(r, verdict="changed" if bad else words[r.within_95]) for r, bad in zip(rows, off, strict=True))
    return Change(name, tuple(judged), boundary)


def friction_curve(estimate: Estimate, joint: str, velocity: Array) -> tuple[Array, Array] | None:
    """Return torque (m,) and its standard error (m,) of friction at velocity (m,) [rad/s; m/s].

    Offset included, Coulomb friction as a jump. None when the result holds neither as base parameters of their own.
    """
    used, rubbing = list[tuple[int, Array]](), False
    still = np.zeros_like(velocity)
    for k, name in enumerate(estimate.base.names):
        owner, _, kind = name.rpartition(".")
        term = SIGN if kind == COULOMB.name else restored(kind, estimate.shapes.get(name, {}), (joint,))
        if owner == joint and term is not None and (rubs(term) or term.kind == Offset.kind):
            rubbing |= term.kind.friction
            used.append((k, term.column(still, velocity, still)))
    if not rubbing:
        return None
    at = [k for k, _ in used]
    columns = np.array([c for _, c in used])
    covariance = estimate.covariance.matrix[np.ix_(at, at)]
    variance = np.einsum("im,ik,km->m", columns, covariance, columns)
    return estimate.phi[at] @ columns, np.sqrt(np.maximum(variance, 0.0))
