"""Two or more results of one robot: what changed between them, more than chance explains."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ident.arrays import Array
from ident.compare.difference import LEVEL, Difference, contradicted, differences
from ident.errors import InputError, ModelError
from ident.estimate.estimate import Estimate
from ident.model import Offset
from ident.model.coulomb import COULOMB, SIGN
from ident.model.term import rubs
from ident.model.terms import restored


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
