"""Base parameters as identified against other values: CAD's, the truth's, an earlier result's, or other robots'."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from ident.arrays import Array
from ident.dynamics.rigid_body import inverse_dynamics
from ident.errors import InputError, ModelError, nearest
from ident.estimate.covariance import half_widths
from ident.estimate.estimate import Estimate
from ident.model import Offset
from ident.model.model import Model
from ident.model.standard import COULOMB, SIGN
from ident.model.term import rubs
from ident.model.terms import kind_of, restored
from ident.regression.base import BaseParameters
from ident.robot import Robot
from ident.shown import Shown, shows
from ident.spatial.inertia import INERTIAL, pseudo_inertia

if TYPE_CHECKING:
    import pandas as pd


#: Chance that any difference of one comparison is called more than chance, when there is none throughout.
LEVEL = 0.01

Verdict = Literal["agrees", "contradicted", "not determined", "not comparable"]
DecidedBy = Literal["data", "data and prior", "prior"]

# A moment that CAD puts at zero still has a size: this share of the largest that its body's other numbers allow.
_SHARE = 0.1
#: Masses, centres and tensors that are all off by 5 % move no combination by more: m c c is off by 15 %.
FAR = 0.15
#: Of tables within 5 % so many numbers were (60 simulated arms), of those with a mistake that spoilt bodies more.
SOME = 0.1
#: A common factor is off 1 by more than the first share, and each joint off it by no more than the second one of that:
#: 0.04 at most where all torques were counted wrongly (6 robots), 2 with a tool that the table lacks. It is looked for
#: in so many postures, at joints with more than the last share of the largest torque.
SCALED, ALIKE, _POSTURES, _PULLED = 0.05, 0.3, 200, 0.02
#: And so many of the numbers that logs tell so well are within this share of it: a heavy link moves two joints alike.
MOST, NEAR = 0.7, 0.2
#: What all masses are like that are off by one factor.
GAIN_OF_ALL = "all torques: they are counted so many times too large or too small (constants, gears, unit)"


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
        kind = kind_of(self.name)
        return kind is not None and (kind.friction or kind == Offset.kind)


def differences(base: BaseParameters, references: Array, phi: Array, errors: Array, dof: int) -> tuple[Difference, ...]:
    """Return phi (b,) against references (b,), NaN where not known; errors (b,): of the differences, NaN likewise."""
    columns = np.transpose([references, phi, errors, half_widths(errors, dof)]).tolist()
    return tuple(Difference(name, base.expression(k), *columns[k]) for k, name in enumerate(base.names))


def contradicted(standard_errors: Sequence[float], dof: int) -> tuple[list[bool], float | None]:
    """Return which differences, in standard errors, chance does not explain, and the size from which that holds.

    Holm's rule with Student's t (Holm 1979). NaN is not tested and never contradicted.
    """
    from scipy.special import stdtr, stdtrit

    size = np.abs(np.asarray(standard_errors, dtype=np.float64))
    tested, p = np.flatnonzero(~np.isnan(size)).tolist(), (2.0 * stdtr(dof, -size)).tolist()
    found = [False] * len(standard_errors)
    left = len(tested)
    for k in sorted(tested, key=lambda k: p[k]):
        if p[k] > LEVEL / left:
            break
        found[k] = True
        left -= 1
    return found, -float(stdtrit(dof, LEVEL / max(left, 1) / 2.0)) if tested else None


@shows
@dataclass(frozen=True, eq=False)
class Comparison:
    """CAD (`source`) against an estimate; `kind` and `dof` of the covariance that the error bars come from.

    theta (p,): CAD's standard parameters, NaN where it says nothing. `boundary`: |difference| / standard error from
    which on rows count as contradicted, None when none was tested.
    `notes` say what weakens the comparison. factor: how many times CAD's links weigh at each joint alike, as where
    torques are counted wrongly; 1 where joints differ.
    """

    source: str
    rows: tuple[Difference, ...]
    theta: Array
    kind: str
    dof: int
    level: float = LEVEL
    boundary: float | None = None
    notes: tuple[str, ...] = ()
    factor: float = 1.0

    def shown(self) -> Shown:
        """Return each base parameter with its verdict."""
        cad = ["n/a" if np.isnan(r.reference) else f"{r.reference:.4g}" for r in self.rows]
        rows = [(r.name, c, f"{r.identified:.4g}", r.verdict) for r, c in zip(self.rows, cad, strict=True)]
        told = ", ".join(f"{self.count(v)} {v}" for v in get_args(Verdict))
        return f"Against {self.source}: {told}", ("base parameter", "CAD", "identified", "verdict"), rows

    def count(self, verdict: str) -> int:
        """Return how many base parameters got this verdict."""
        return sum(row.verdict == verdict for row in self.rows)

    @property
    def tested(self) -> int:
        """How many base parameters the logs tell well enough for a verdict."""
        return self.count("agrees") + self.count("contradicted")

    @property
    def far(self) -> tuple[Difference, ...]:
        """The rows that are contradicted by more than right numbers are off: FAR of their size."""
        return tuple(r for r in self.rows if r.verdict == "contradicted" and abs(r.difference) > FAR * r.scale)

    @property
    def wrong(self) -> tuple[Difference, ...]:
        """The rows that are far off, where these are more of those that the logs tell than SOME."""
        return self.far if len(self.far) > SOME * self.tested else ()


def common_factor(robot: Robot, cad: Array, bodies: Array, rows: Sequence[Difference]) -> float:
    """Return how many times the weight of CAD's links (n, 10) is that of the bodies (n, 10), at each joint alike.

    1 where joints, or the rows, differ, as of links that are wrong, or fewer than two joints are pulled by gravity.
    """
    limits = np.array([(joint.limits.lower, joint.limits.upper) for joint in robot.joints])
    low, high = np.where(np.isfinite(limits), limits, [-np.pi, np.pi]).T
    q = np.random.default_rng(0).uniform(low, high, (_POSTURES, robot.n))
    stated, found = (inverse_dynamics(robot, x, q, 0.0 * q, 0.0 * q) for x in (cad, bodies))
    squares = np.sum(stated**2, axis=0)
    pulled = squares > _PULLED**2 * squares.max(initial=0.0)
    if pulled.sum() < 2:
        return 1.0
    each = np.sum(stated * found, axis=0)[pulled] / squares[pulled]
    middle = float(np.median(each))
    told = (r for r in rows if r.half_width < NEAR * abs(r.reference) and not r.friction)
    near = [abs(r.identified / r.reference - middle) < NEAR * middle for r in told]
    alike = np.abs(each - middle).max() < ALIKE * abs(middle - 1.0) and sum(near) >= MOST * len(near)
    return middle if alike and middle > 0.0 and abs(middle - 1.0) > SCALED else 1.0


def compare_with(
    estimate: Estimate, inertials: ArrayLike, joint_values: Mapping[str, float], source: str, robot: Robot | None = None
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

    robot: whose gravity tells one factor of all weights, where all links have inertials.
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
    factor = 1.0
    if robot is not None and not np.isnan(theta[: 10 * robot.n]).any():
        own, found = (x[: 10 * robot.n].reshape(-1, 10) for x in (theta, estimate.base.theta(estimate.phi)))
        factor = common_factor(robot, own, found, judged)
    return Comparison(source, judged, theta, covariance.kind, covariance.dof, LEVEL, boundary, tuple(notes), factor)


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
        elif kind_of(name) is None:
            raise ModelError(f"the model has no parameter '{name}'{nearest(name, standard)}")
    return theta


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
        problem = f"'{a}' and '{b}' have other base parameters, so their robots differ in geometry"
        raise ModelError(problem, fix="Fit both with the same robot file")


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


#: Columns of a fleet's table, a row for each base parameter of each robot [SI], beside those that `compared` adds.
COLUMNS = ("robot", "parameter", "unit", "value", "standard_error", "dof", "torque_error", "verdict", "reason")
#: Robots without which nobody knows what is usual.
ROBOTS = 5
#: Of the median distance from the median to the standard deviation, of normal numbers.
_NORMAL = 1.4826


def compared(table: pd.DataFrame, earlier: pd.DataFrame | None = None) -> pd.DataFrame:
    """Return a fleet's table with what sets robots apart.

    table: with COLUMNS. median, spread: of each parameter over the robots, by medians, which strangers do not move;
    deviation: distance from the median in spreads, or in own standard errors where these are larger; stands_out:
    whether chance does not explain it, all comparisons considered (Holm's rule at 1 %). earlier: an older table; its
    value, the drift since in standard errors of the difference, and whether chance does not explain it. NaN: not
    determined, or too few robots.
    """
    table = table.copy()
    known = table["value"].where(table["standard_error"] > 0)
    by = table["parameter"]
    table["median"] = known.groupby(by).transform("median")
    off = known - table["median"]
    table["spread"] = _NORMAL * off.abs().groupby(by).transform("median")
    counts = known.groupby(by).transform("count")
    size = np.maximum(table["spread"], table["standard_error"])
    table["deviation"] = (off / size).where((counts >= ROBOTS) & (size > 0))
    robots = int(table["robot"].nunique())
    table["stands_out"] = contradicted(table["deviation"].tolist(), max(robots - 1, 1))[0]
    old = None if earlier is None else earlier.drop_duplicates(["robot", "parameter"]).set_index(["robot", "parameter"])
    if old is None:
        table["earlier"], table["drift"] = np.nan, np.nan
    else:
        places = list(zip(table["robot"], table["parameter"], strict=True))
        was = old.reindex(places)[["value", "standard_error", "dof"]].to_numpy(dtype=np.float64)
        table["earlier"] = was[:, 0]
        error = np.hypot(table["standard_error"], was[:, 1])
        table["drift"] = ((known - was[:, 0]) / error).where(error > 0)
        table["dof"] = np.fmin(table["dof"], was[:, 2])
    tested = table["dof"][table["drift"].notna()]
    table["drifted"] = contradicted(table["drift"].tolist(), max(int(tested.min()), 1) if len(tested) else 1)[0]
    return table
