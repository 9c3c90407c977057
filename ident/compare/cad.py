"""CAD against identified: on the combinations that torque can show, and parameter by parameter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from ident.arrays import Array
from ident.compare.difference import LEVEL, Difference, contradicted, differences
from ident.errors import ModelError, nearest
from ident.estimate.estimate import Estimate
from ident.model.model import Model
from ident.model.terms import kinds
from ident.shown import Shown, shows
from ident.spatial.inertia import INERTIAL, pseudo_inertia

Verdict = Literal["agrees", "contradicted", "not determined", "not comparable"]
DecidedBy = Literal["data", "data and prior", "prior"]

# A moment that CAD puts at zero still has a size: this share of the largest that its body's other numbers allow.
_SHARE = 0.1


@shows
@dataclass(frozen=True, eq=False)
class Comparison:
    """CAD (`source`) against an estimate; `kind` and `dof` of the covariance that the error bars come from.

    theta (p,): CAD's standard parameters, NaN where it says nothing. `boundary`: |difference| / standard error from
    which on rows count as contradicted, None when none was tested.
    `notes` say what weakens the comparison.
    """

    source: str
    rows: tuple[Difference, ...]
    theta: Array
    kind: str
    dof: int
    level: float = LEVEL
    boundary: float | None = None
    notes: tuple[str, ...] = ()

    def shown(self) -> Shown:
        """Return each base parameter with its verdict."""
        cad = ["n/a" if np.isnan(r.reference) else f"{r.reference:.4g}" for r in self.rows]
        rows = [(r.name, c, f"{r.identified:.4g}", r.verdict) for r, c in zip(self.rows, cad, strict=True)]
        told = ", ".join(f"{self.count(v)} {v}" for v in get_args(Verdict))
        return f"Against {self.source}: {told}", ("base parameter", "CAD", "identified", "verdict"), rows

    def count(self, verdict: str) -> int:
        """Return how many base parameters got this verdict."""
        return sum(row.verdict == verdict for row in self.rows)


def compare_with(
    estimate: Estimate, inertials: ArrayLike, joint_values: Mapping[str, float], source: str
) -> Comparison:
    """Compare K theta_cad with the identified base parameters.

    inertials (n, 10): CAD's numbers of the links, NaN rows where it says nothing; joint_values: joint parameters that
    CAD states, such as {"joint1.drive_inertia": 0.004} [SI]. The verdicts, the first that applies:

    - "not comparable": CAD does not state a parameter of the combination. A drive inertia that CAD does not
      give is unknown, not zero.
    - "contradicted": |difference| / standard error is too large for Student's t with the covariance's degrees of
      freedom, by Holm's rule at a level of 1 % for all rows together.
    - "not determined": the logs leave it open, or half the 95 % interval is wider than sum_k |K_k| s_k, with s_k the
      size of CAD's parameter k: its absolute value, at least a tenth of sqrt(J_aa J_bb) for the entry J_ab of
      the pseudo-inertia, the largest that it could be.
    - "agrees": else.

    Raises ModelError for inertials of another shape or a joint parameter that the estimate does not have.
    """
    theta, size = _stated(estimate, inertials, joint_values)
    K, covariance = estimate.base.K, estimate.covariance
    cad = np.array([row[used] @ theta[used] for row, used in zip(K, K != 0, strict=True)])
    scale = np.array([np.abs(row[used]) @ size[used] for row, used in zip(K, K != 0, strict=True)])
    rows = differences(estimate.base, cad, estimate.phi, covariance.standard_errors, covariance.dof)
    off, boundary = contradicted([r.standard_errors for r in rows], covariance.dof)
    judged = tuple(_judged(row, bad, float(s)) for row, bad, s in zip(rows, off, scale, strict=True))
    notes = []
    if estimate.weight and estimate.prior:
        notes.append(
            f"The fit was drawn towards its prior ({estimate.prior}) with weight {estimate.weight:g}. Where that is "
            "this CAD table, differences are smaller than the data alone would have them."
        )
    if estimate.covariance.kind == "classical":
        notes.append(
            "The error bars take residuals as independent from sample to sample; on filtered logs they are too small "
            "and contradictions too many. Five segments or more give error bars that hold."
        )
    return Comparison(source, judged, theta, covariance.kind, covariance.dof, LEVEL, boundary, tuple(notes))


def decided_by(estimate: Estimate) -> dict[str, DecidedBy]:
    """Return who decided on each standard parameter: "data" alone; "data and prior", where torque shows only a sum
    that it is part of; "prior", where these logs say nothing about it (no torque of this robot, or no motion, does).
    """
    by_data = set(estimate.fixed_by_data)
    shown = np.isfinite(estimate.covariance.standard_errors)
    in_sum = (estimate.base.K[shown] != 0).any(axis=0)
    return {
        name: "data" if name in by_data else "data and prior" if seen else "prior"
        for name, seen in zip(estimate.base.standard, in_sum, strict=True)
    }


def cad_theta(model: Model, inertials: ArrayLike, joint_values: Mapping[str, float]) -> tuple[Array, tuple[str, ...]]:
    """Return theta (p,) as CAD has it, and the names of the joint terms that it does not state, set to zero.

    For the prediction that one would make without identification. Raises ModelError when a link has no inertial, its
    shape is wrong, or a joint parameter is not the model's.
    """
    theta = _theta(model.names, model.robot.n, inertials, joint_values)
    absent = np.isnan(theta)
    if absent[: model.n_rigid].any():
        first = model.names[int(np.flatnonzero(absent)[0])]
        raise ModelError(f"CAD says nothing of '{first}', so it predicts no torque", fix="Give every link an inertial")
    return np.where(absent, 0.0, theta), tuple(np.array(model.names)[absent].tolist())


def _judged(row: Difference, off: bool, scale: float) -> Difference:
    if np.isnan(row.reference):
        return replace(row, verdict="not comparable")
    verdict = "contradicted" if off else "agrees" if row.half_width <= scale else "not determined"
    return replace(row, scale=scale, verdict=verdict)


def _stated(estimate: Estimate, inertials: ArrayLike, joint_values: Mapping[str, float]) -> tuple[Array, Array]:
    """Return theta (p,) as CAD states it, NaN where it does not, and the size (p,) of each parameter."""
    n = len(estimate.links)
    theta = _theta(estimate.base.standard, n, inertials, joint_values)
    size = np.abs(theta)
    for i in range(n):
        J = pseudo_inertia(theta[10 * i : 10 * i + 10])
        d = np.sqrt(np.abs(np.diag(J)))
        largest = {(a, b): d[a] * d[b] for a, b in ((0, 3), (1, 3), (2, 3), (0, 1), (0, 2), (1, 2))}
        for part, where in zip(("hx", "hy", "hz", "Ixy", "Ixz", "Iyz"), largest, strict=True):
            k = 10 * i + INERTIAL.index(part)
            size[k] = max(size[k], _SHARE * largest[where])
    return theta, size


def _theta(standard: tuple[str, ...], n: int, inertials: ArrayLike, joint_values: Mapping[str, float]) -> Array:
    rows = np.asarray(inertials, dtype=np.float64)
    if rows.shape != (n, 10):
        raise ModelError(f"CAD's link parameters must have shape ({n}, 10), got {rows.shape}")
    theta = np.full(len(standard), np.nan)
    theta[: 10 * n] = rows.ravel()
    for name, value in joint_values.items():
        if name in standard:
            theta[standard.index(name)] = value
        elif name.rpartition(".")[2] not in kinds():
            raise ModelError(f"the model has no parameter '{name}'{nearest(name, standard)}")
    return theta
