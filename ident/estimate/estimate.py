"""The result of an identification, and its numbers as they are written out: rounded, consistent in exact arithmetic,
inside their bounds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ident.arrays import Array
from ident.errors import EstimationError, InfeasibleError, ModelError
from ident.estimate.bounds import Bounds
from ident.estimate.cones import IDENTITY, Coordinates, feasible, least_norm, size_of
from ident.estimate.covariance import Bootstrap, Covariance
from ident.estimate.least_squares import columns_factor
from ident.estimate.prior import Prior
from ident.model.model import Model
from ident.model.standard import Coulomb, DriveInertia, Viscous
from ident.model.term import Term
from ident.regression.base import BaseParameters
from ident.regression.regression import Regression
from ident.robot.robot import Robot
from ident.shown import shows
from ident.spatial.inertia import can_exist, consistency

if TYPE_CHECKING:
    from ident.robot.unknown import Calibrated


@dataclass(frozen=True)
class Trace:
    """What is left of one joint's torque with a mistake in a file and without it, at some samples (k,).

    joint: its name, torque_unit: of before, after (k,). along: what explains their difference best, such as "position
    of lift"; x (k,) [unit]: that; t (k,) [s]: time, of recordings one after the other.
    """

    joint: str
    torque_unit: str
    along: str
    unit: str
    t: tuple[float, ...]
    x: tuple[float, ...]
    before: tuple[float, ...]
    after: tuple[float, ...]


#: A cause after which this share of the error of all joints is left shows by that of one joint.
HARDLY = 0.95


@dataclass(frozen=True)
class NamedCause:
    """A mistake that explains the logs.

    where: joint or file part; what: is wrong there; file: that it is in; mend: what to change in it; rivals: what
    explains the logs as well. joints: names; before, after (n,): their errors on stretches left out, relative to the
    torque, and total: those of all joints together. log_odds: against no mistake, trace: of the joint that shows it
    best; both None in files of earlier versions. by_table: whether errors are of what the CAD table predicts, in place
    of stretches left out.
    """

    where: str
    what: str
    file: str
    mend: str
    rivals: tuple[str, ...]
    joints: tuple[str, ...]
    before: tuple[float, ...]
    after: tuple[float, ...]
    total: tuple[float, float]
    log_odds: float | None = None
    trace: Trace | None = None
    by_table: bool = False

    @property
    def short(self) -> str:
        """Where it is, and what."""
        return f"{self.where}: {self.what}"

    def __str__(self) -> str:
        shares, at = self.total, ""
        fell = [b - a for b, a in zip(self.before, self.after, strict=True)]
        if shares[1] > HARDLY * shares[0] and max(fell, default=0.0) > 0.0:  # it shows at a light joint alone
            k = fell.index(max(fell))
            shares, at = (self.before[k], self.after[k]), f" of {self.joints[k]}"
        before, after = (f"{100 * x:.3g} %" for x in shares)
        rival = f"; or {self.rivals[0]}" if self.rivals else ""
        of = f"what CAD predicts{at} misses" if self.by_table else f"error{at} on stretches left out"
        evidence = f" ({of} {before}, without that {after})" * (before != after)
        return f"{self.short}{evidence}{rival}; {self.file}: {self.mend}"


@dataclass(frozen=True)
class TriedTerm:
    """Joint terms of one kind that were tried beside others, in words.

    kind: the ending of their parameters. gain: by what share the left-out error falls, error: its standard error;
    missed: share of the torque that is missed with it on what is left out; reason: why it is not taken, "" where it is.
    """

    candidate: str
    kind: str
    gain: float
    error: float
    missed: float = float("nan")
    reason: str = ""


@dataclass(frozen=True)
class FittedShape:
    """A number of joint terms that was fitted beside the parameters, such as a speed, a width, a power or a travel.

    kind: of the terms; number: its key in [model]; parameters: names of those that have it, values: of each, in one
    ratio. error: standard error of its logarithm; half: half the width of its 95 % interval. told: whether the logs
    tell it; else the usual values stand.
    """

    kind: str
    number: str
    parameters: tuple[str, ...]
    values: tuple[float, ...]
    error: float
    half: float
    told: bool = True


@dataclass(frozen=True)
class Structure:
    """How joint terms were chosen beside a model's own (`ident.structure`).

    before, after, honest: share of the torque missed on what is left out: without them, with them, and with terms that
    were chosen without what they are judged on. segments, folds: how many there were; note: why nothing was tried.
    lines: the terms taken, as [model] asks for them. tried: the best of each kind, beside all that are taken. steps:
    the way there: what was tried beside none, beside the first, and so on, of which the best one is the next.
    shapes: the fitted numbers of the terms taken.
    """

    before: float = float("nan")
    after: float = float("nan")
    honest: float = float("nan")
    segments: int = 0
    folds: int = 0
    note: str = ""
    lines: tuple[str, ...] = ()
    tried: tuple[TriedTerm, ...] = ()
    steps: tuple[tuple[TriedTerm, ...], ...] = ()
    shapes: tuple[FittedShape, ...] = ()


@shows
@dataclass(frozen=True, eq=False)
class Estimate:
    """Identified parameters and what is known about them.

    estimator: "ols", "wls" or "constrained". robot: its name; links, joints: names.
    base: the base parameters' meaning; phi (b,) their values; theta (p,) standard parameters named base.standard, or
    None where the estimator determines phi only. covariance of phi with its kind; sigma (n,): noise used as weights.
    rms (n,) [N m; N] and relative (n,): residual of each joint on the fitted logs, relative to the torque's norm;
    floor (n,): the noise of its readings [N m; N], None where that is not known.
    condition, condition_scaled: of the regressor in SI units, and with columns scaled to unit length and noise weights.
    active: constraints at their bound. prior: what theta was drawn to, in words; weight: how strongly;
    selection: (weight, cross-validation error) pairs that were tried. solver: which one and how it ended.
    feasible: exact check of theta's physical consistency. implausible: links that can exist but not be believed, and
    torques that are no measurement, in words. causes: what is wrong with the robot file or the logs, as far as it
    explains them (`ident.compare.causes`); noted: mistakes in the CAD table that spoil neither bodies nor predictions.
    hidden: which of them the logs do not tell, in words, "" for none.
    warnings: what a user must not overlook; notes: what was decided, and what
    is ordinary about the logs. provenance: versions and input hashes. shapes: what friction
    and spring parameters mean beyond their names, as `Model.shapes`. calibration: what was found of robot and log.
    structure: how joint terms were chosen, None where nothing was looked for. bootstrap: the draws that the covariance
    comes from, None where it comes from elsewhere, and in files.
    """

    estimator: str
    robot: str
    links: tuple[str, ...]
    joints: tuple[str, ...]
    base: BaseParameters
    phi: Array
    theta: Array | None
    covariance: Covariance
    sigma: Array
    rows: Array
    rms: Array
    relative: Array
    relative_total: float
    condition: float
    condition_scaled: float
    active: tuple[str, ...] = ()
    prior: str | None = None
    weight: float | None = None
    selection: tuple[tuple[float, float], ...] = ()
    solver: str | None = None
    feasible: bool | None = None
    implausible: tuple[str, ...] = ()
    causes: tuple[NamedCause, ...] = ()
    noted: tuple[NamedCause, ...] = ()
    hidden: str = ""
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    provenance: Mapping[str, str] = field(default_factory=dict)
    shapes: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    calibration: tuple[Calibrated, ...] = ()
    structure: Structure | None = None
    floor: Array | None = None
    bootstrap: Bootstrap | None = None

    def corrected(self, robot: Robot) -> Robot:
        """Return the robot, as its file describes it, as it was calibrated."""
        if not self.calibration:
            return robot
        from ident.robot.unknown import applied, corrected_robot

        used, values = applied(self.calibration)
        return corrected_robot(robot, used, values) if used else robot

    @property
    def missed(self) -> Array:
        """What the model misses of each torque (n,), relative to its norm: the residual without the readings' noise."""
        if self.floor is None:
            return self.relative
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.sqrt(np.maximum(1.0 - (self.floor / self.rms) ** 2, 0.0))
        return np.asarray(np.where(self.rms > 0, share, 0.0) * self.relative)

    @property
    def fixed_by_data(self) -> tuple[str, ...]:
        """Standard parameters that these logs determine by themselves, prior or not."""
        known = dict(zip(self.base.names, np.isfinite(self.covariance.standard_errors), strict=True))
        return tuple(name for name in self.base.identifiable if known[name])

    @property
    def undetermined(self) -> tuple[str, ...]:
        """Joint terms that these logs do not determine: theta holds the prior's value for them, 0 without one."""
        open_ = (self.base.K[np.isfinite(self.covariance.standard_errors)] == 0).all(axis=0)
        return tuple(name for name, o in list(zip(self.base.standard, open_, strict=True))[10 * len(self.links) :] if o)

    @property
    def still(self) -> NDArray[np.bool_]:
        """Which joints (n,) never move in these logs: no row of theirs counts, or nothing is known of any of their
        terms that need motion."""
        open_, standard = self.undetermined, self.base.standard
        moved = [[name for k in _MOVED if (name := f"{joint}.{k}") in standard] for joint in self.joints]
        return np.array(
            [not rows or (bool(own) and set(own) <= set(open_)) for rows, own in zip(self.rows, moved, strict=True)]
        )

    @property
    def for_torque(self) -> Array:
        """A theta (p,) that predicts what phi predicts: theta itself, or phi on the parameters kept and 0 else."""
        return self.base.theta(self.phi) if self.theta is None else self.theta

    @property
    def inertials(self) -> Array | None:
        """The inertials of the links (n, 10), or None when theta is not known."""
        return None if self.theta is None else self.theta[: 10 * len(self.links)].reshape(-1, 10)

    def value(self, name: str) -> float | None:
        """Return one standard parameter, or None when theta is not known."""
        return None if self.theta is None else float(self.theta[self.base.standard.index(name)])


def undetermined_told(names: tuple[str, ...], standard: tuple[str, ...], theta: Array | None) -> list[str]:
    """Return a sentence on the joint terms that logs do not determine, and on what stands for them in theta."""
    value = {} if theta is None else dict(zip(standard, theta.tolist(), strict=True))
    told = [f"{name} ({value[name]:.4g} stands there)" if value.get(name) else name for name in names]
    return [f"not determined by these logs, so no result: {', '.join(told)}"] if told else []


def fit_figures(regression: Regression, phi: Array, sigma: Array) -> dict[str, Array | float]:
    """Return rows, rms, relative, relative_total and condition numbers of phi on these logs."""
    ssr = regression.squared_residuals(phi)
    energy = regression.squared_torques
    R = columns_factor(regression, np.ones(regression.n_joints))
    W = regression.factor(sigma)[:, :-1]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return {
            "rows": np.array(regression.rows),
            "rms": np.sqrt(ssr / regression.rows),
            "relative": np.sqrt(ssr / energy),
            "relative_total": float(np.sqrt(ssr.sum() / energy.sum())),
            "floor": np.array(regression.least_noise),
            "condition": _condition(R),
            "condition_scaled": _condition(W / np.linalg.norm(W, axis=0)),
        }


def _condition(matrix: Array) -> float:
    """Return the 2-norm condition number, infinite for a singular or empty column."""
    if not np.isfinite(matrix).all():
        return float("inf")
    least, *_, most = np.linalg.eigvalsh(matrix.T @ matrix)  # half of the work, and eight digits where it is used
    return float(np.sqrt(most / least) if least > 1e-8 * most else np.linalg.cond(matrix))


def fitted_model(estimate: Estimate, robot: Robot) -> Model:
    """Return the model that was fitted, so that torque(model, estimate.theta, q, qd, qdd) is its prediction.

    robot: the one that was identified, as its file describes it. Raises ModelError for another robot, for a joint term
    that is not known here, or
    where the estimate does not say what a parameter means (such as the width of Coulomb friction's tanh).
    """
    require_same(estimate, robot)
    terms = restored_terms(estimate.shapes, robot, estimate.base.standard[10 * robot.n :])
    model = Model(estimate.corrected(robot), terms)
    if model.names != estimate.base.standard:
        raise ModelError(f"the joint terms of '{estimate.robot}' have names that its joints and motors do not explain")
    return model


def restored_terms(
    shapes: Mapping[str, Mapping[str, float]], robot: Robot, parameters: Sequence[str]
) -> tuple[Term, ...]:
    """Return the joint terms with these parameters and `Model.shapes`; raises ModelError as `fitted_model` does."""
    from ident.model.coupling import Coupled, coupled_drives, coupled_motors
    from ident.model.terms import restored

    motors = {drive.motor: drive.shares for drive in coupled_drives(robot) if drive.motor in coupled_motors(robot)}
    named = [(*name.rpartition(".")[::2], shapes.get(name, {})) for name in parameters]
    terms: list[Term] = []
    for (motor, kind, shape), group in groupby(named, key=lambda x: (x[0] if x[0] in motors else "", x[1], x[2])):
        owners = tuple(dict.fromkeys(owner for owner, _, _ in group))
        law = restored(kind, shape, owners)
        if law is None:
            told = ", ".join(f"{k} {v:g}" for k, v in shape.items()) or "no numbers"
            problem = f"'{owners[0]}.{kind}' with {told} beside it is no joint term that is known"
            raise ModelError(problem, fix="Fit again")
        terms.append(Coupled(motor, motors[motor], law) if motor else law)
    return tuple(terms)


def require_same(estimate: Estimate, robot: Robot) -> None:
    """Raise ModelError when the estimate's links or joints are not the robot's."""
    for what, own, others in (("links", estimate.links, robot.links), ("joints", estimate.joints, robot.joint_names)):
        if own != others:
            first, second = (", ".join([*names[:6], *(["..."] if len(names) > 6 else [])]) for names in (own, others))
            problem = f"the estimate of '{estimate.robot}' has {what} {first}, robot '{robot.name}' has {second}"
            raise ModelError(problem, fix="Give the robot that was identified, with its joints in that order")


#: Terms of a joint that show themselves as soon as it moves.
_MOVED = (Viscous.kind.name, Coulomb.kind.name, DriveInertia.kind.name)
#: Significant digits of the parameters in every file.
DIGITS = 12
#: How far outside of a bound, in units of the link itself, equalities may lie by rounding, and bounds without any room.
_EQUAL, _NO_ROOM = 1e-9, 1e-7
_MARGINS = (1e-8, 1e-7, 1e-6, 0.0)
#: Unit of a change against the solver's gap.
_COST = 1e3


def rounded(values: ArrayLike, digits: int = DIGITS) -> Array:
    """Return the doubles that stand in a file where `values` are printed with so many significant digits."""
    array = np.asarray(values, dtype=np.float64)
    return np.array([float(f"{x:.{digits - 1}e}") for x in array.ravel()]).reshape(array.shape)


def written(model: Model, theta: ArrayLike, interior: ArrayLike, digits: int = DIGITS) -> Array:
    """Return theta (p,) rounded to `digits`, every link consistent, friction and drive inertia non-negative.

    A solver stops on either side of the edge by its own tolerance; a link that rounding leaves outside is moved
    towards `interior` (n, 10) by the least power of ten that brings it inside.
    Raises InfeasibleError, naming the link, when more than 1e-5 of that body is needed.
    """
    theta = np.array(theta, dtype=np.float64)
    interior = np.asarray(interior, dtype=np.float64)
    n = model.robot.n
    for i in range(n):
        place = slice(10 * i, 10 * i + 10)
        theta[place] = _inside(theta[place], interior[i], digits, model.robot.links[i])
    terms = theta[10 * n :]
    terms = np.where(model.nonnegative & (terms < 0), 0.0, terms)
    theta[10 * n :] = rounded(terms, digits)
    return theta


def written_within(model: Model, theta: Array, prior: Prior, bounds: Bounds) -> Array:
    """Return theta (p,) as `written`, with every inequality of the bounds kept by these very numbers.

    A solver's error is a share of the whole robot; of a link that weighs next to nothing it can be centimetres. So
    where a bound is broken, theta becomes the nearest one inside, every link being measured in units of itself.
    Raises InfeasibleError, naming the bounds, where they cannot be kept within 1e-7 of that.
    """
    rows = bounds.on(model)
    size = max(1.0, size_of(theta[: model.n_rigid], prior))  # a solver's error goes with the largest link
    numbers = written(model, theta, size * prior.inertials)
    if not len(rows.sides):
        return numbers
    own = Coordinates.around(theta, prior)
    E = rows.rows @ own.T
    unit = np.linalg.norm(E, axis=1)
    E, start = E[: rows.equal] / unit[: rows.equal, None], np.linalg.solve(own.T, theta)

    def over(candidate: Array) -> Array:
        excess = (rows.rows @ candidate - rows.sides) / unit
        excess[: rows.equal] = np.maximum(np.abs(excess[: rows.equal]) - _EQUAL, 0.0)
        return np.asarray(excess)

    identity = np.tile(IDENTITY, model.robot.n)
    centres = own.T[: model.n_rigid, : model.n_rigid] @ identity
    # what a link's change costs goes with its share of the prior's link: a speck is free to move, the others are not
    share = (own.trace[: model.n_rigid] * identity).reshape(-1, 10).sum(axis=1)
    cost = np.ones(len(start))
    cost[: model.n_rigid] = np.repeat(np.minimum(share, 1.0), 10)
    cost *= _COST
    for margin in _MARGINS:
        if over(numbers).max() <= 0.0:
            return numbers
        try:
            x, _ = least_norm(np.diag(cost), cost * start, feasible(model, bounds, own, margin))
            x -= np.linalg.lstsq(E, E @ x - rows.sides[: rows.equal] / unit[: rows.equal])[0]
            candidate = written(model, own.T @ x, centres.reshape(-1, 10))
        except (EstimationError, InfeasibleError):  # no room for this margin
            continue
        if over(candidate).max() < over(numbers).max():
            numbers = candidate
    if over(numbers).max() > _NO_ROOM:
        broken = dict.fromkeys(label for label, x in zip(rows.labels, over(numbers), strict=True) if x > _NO_ROOM)
        raise InfeasibleError(f"the solver's result breaks its bounds ({'; '.join(broken)}) and was not written")
    return numbers


def _inside(body: Array, interior: Array, digits: int, link: str) -> Array:
    for share in (0.0, *10.0 ** np.arange(-14.0, -4.9)):
        candidate = rounded(body + share * interior, digits)
        if can_exist(candidate.tolist()):
            return candidate
    failures = "; ".join(consistency(rounded(body, digits)).failures())
    raise InfeasibleError(f"{link}: the solver's result cannot exist ({failures}) and was not written")
