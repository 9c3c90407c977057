"""The load that a robot carries, from recordings with it and without it.

A load fixed to link l adds its ten parameters p to that link's, so that with K_l the link's columns of K

    without:  tau = Y phi,        with:  tau = Y (phi + K_l p).

Robot and friction are shared: one weighted least-squares problem in phi and p, on the factors that any fit uses. With
phi eliminated, |R (p - p_free)|^2 is left, and its least value among bodies that can exist, the 4 x 4 pseudo-inertia
of p positive semidefinite, is a cone program in ten numbers (Khalil, Gautier, Lemoine, ICRA 2007: the payload as ten
more parameters of the last link; Wensing, Kim, Slotine, RA-L 2018: the constraint). p can be known where the robot's
own last link cannot: it is a difference, and nothing is regrouped into it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from ident.arrays import Array
from ident.errors import EstimationError, InfeasibleError, ModelError, RegressionError, require_known
from ident.estimate.cones import Block, ball, least_norm
from ident.estimate.covariance import half_widths, jackknife
from ident.estimate.estimate import Estimate, rounded
from ident.estimate.least_squares import joint_noise
from ident.estimate.prior import natural_jacobian
from ident.model.model import Model
from ident.regression.base import BaseParameters
from ident.regression.regression import Regression, Segment, lengths, torque_columns, weighted_rows
from ident.spatial.inertia import (
    INERTIAL,
    Pose,
    consistency,
    from_com,
    from_pseudo_inertia,
    pseudo_inertia,
    tensor,
    to_com,
    transformed,
)


@dataclass(frozen=True, eq=False)
class PayloadFigures:
    """Mass [kg], centre (3,) [m] and tensor about the centre (3, 3) [kg m^2] of a load, seen from one frame.

    *_error: standard errors, NaN where the logs do not determine the number. dof: of Student's t for intervals.
    """

    mass: float
    com: Array
    inertia: Array
    mass_error: float
    com_error: Array
    inertia_error: Array
    dof: int

    def half_width(self, error: ArrayLike) -> Array:
        """Return half the width of the 95 % interval for standard errors of any shape."""
        return half_widths(error, self.dof)


@dataclass(frozen=True, eq=False)
class IdentifiedPayload:
    """A load fixed to a link, ten parameters about the LINK FRAME's origin in its axes.

    body (10,): can exist, checked in exact arithmetic; free (10,): least squares without that constraint, edge: they
    differ because the free one cannot exist. covariance (10, 10) of `free`, its kind and dof. undetermined (10, k):
    orthonormal directions (columns of scaled length, see `scale` (10,)) that the logs do not show. by_joint (n, 10):
    what each joint's torque contributes to `free`, which is their sum: the change of `free` per relative error of a
    drive gain. phi (b,): base parameters of the robot alone; loaded_phi (b,): with the load, and terms of its own.
    sigma (n,): noise used as weights. known_mass: the mass was given, not identified.
    """

    link: str
    body: Array
    free: Array
    covariance: Array
    kind: str
    dof: int
    undetermined: Array
    scale: Array
    by_joint: Array
    phi: Array
    loaded_phi: Array
    sigma: Array
    edge: bool
    known_mass: bool = False

    @property
    def shows_mass(self) -> bool:
        """Whether the recordings determine the load's mass, or it was given."""
        return self.known_mass or bool(np.linalg.norm(self.undetermined[0]) <= OPEN)

    @property
    def seen(self) -> bool:
        """Whether the mass differs from zero by more than its 95 % interval, so that there is a centre to speak of."""
        half = half_widths(np.sqrt(max(self.covariance[0, 0], 0.0)), self.dof)
        return self.known_mass or (self.shows_mass and bool(self.free[0] > half))

    def at(self, frame: Pose | None = None, *, gain_error: float = 0.0) -> PayloadFigures:
        """Return mass, centre and tensor with standard errors, seen from a frame fixed to the link (its own: None).

        frame: that frame seen from the link's. gain_error: relative standard error of the drive gains, which shows in
        no log; as nobody knows how the joints' errors hang together, their effects add up. Where no load is seen,
        centre and tensor are not determined.
        """
        own = (frame or Pose.identity()).inverse()
        T = np.column_stack([transformed(unit, own) for unit in np.eye(10)])
        mass, com, inertia = to_com(T @ self.body)
        slopes = np.linalg.inv(natural_jacobian(mass, com)) @ T if self.seen else T[:1]
        variance = np.einsum("ij,jk,ik->i", slopes, self.covariance, slopes)
        errors = np.hypot(np.sqrt(np.maximum(variance, 0.0)), gain_error * np.abs(self.by_joint @ slopes.T).sum(axis=0))
        scaled = slopes / self.scale
        along = np.linalg.norm(scaled @ self.undetermined, axis=1)
        errors[along > OPEN * np.linalg.norm(scaled, axis=1)] = np.nan
        errors[0] = 0.0 if self.known_mass else errors[0]
        errors = np.append(errors, np.full(10 - len(errors), np.nan))
        spread = tensor(np.append(np.zeros(4), errors[4:]))
        return PayloadFigures(mass, com, inertia, float(errors[0]), errors[1:4], spread, self.dof)


@dataclass(frozen=True, eq=False)
class LoadedErrors:
    """Torque errors ||residual|| / ||torque|| on loaded recordings, of each joint (n,) and of all.

    with_load: of robot and load; without: of the robot alone.
    """

    recordings: tuple[str, ...]
    with_load: Array
    with_load_total: float
    without: Array
    without_total: float

    @property
    def passed(self) -> bool:
        """Whether the load makes the prediction better, and every joint's better than none."""
        known = self.with_load[np.isfinite(self.with_load)]
        return bool(self.with_load_total < self.without_total and (known < 1).all())


def identify_payload(
    model: Model, unloaded: Regression, loaded: Regression, *, link: str | None = None, own: Iterable[str] = ()
) -> IdentifiedPayload:
    """Return the load of the loaded recordings, from one fit of both groups that shares robot and friction.

    unloaded, loaded: factors of the same model. link: that carries the load, by default the last one. own: kinds of
    joint terms ("offset", "coulomb" ...) whose values may differ between the groups.
    Error bars are a jackknife over segments from five segments a group on, else classical (`kind`).
    Raises RegressionError for another model's factors or a recording in both groups, ModelError for an unknown link
    or term, EstimationError where the loaded recordings carry less than the others or the cone program fails.
    """
    require_apart(unloaded, loaded)
    carrier = carrying_link(model, link)
    L = loaded_columns(loaded.base, own, carrier)
    extended = with_load(unloaded, loaded, L)
    sigma = joint_noise(extended)
    fit = LoadFit.of(extended, weighted_rows(extended, extended.joint_factors, sigma))
    kind, dof, V = load_covariance(fit, extended, sigma, (unloaded, loaded))
    body, edge = existing(fit, V)
    phi, others = np.split(fit.others_at(body), [len(L)])
    loaded_phi = phi + L @ np.append(others, body)
    return IdentifiedPayload(
        model.robot.links[carrier], body, fit.free, V, kind, dof, fit.undetermined, fit.scale, fit.by_joint,
        phi, loaded_phi, sigma, edge,
    )  # fmt: skip


def identify_payload_against(
    model: Model, estimate: Estimate, loaded: Regression, *, link: str | None = None, own: Iterable[str] = ()
) -> IdentifiedPayload:
    """Return the load of the loaded recordings against a robot that is identified already.

    The carrying link is compared with its own identified values: p is fitted to what the estimate leaves of the
    torque, and the estimate's covariance is carried over. Arguments and errors as for `identify_payload`.
    """
    if estimate.base.standard != model.names or loaded.model != model.fingerprint():
        problem = "estimate, model and factors are not of one and the same robot and terms"
        raise RegressionError(problem, fix="Give the experiment that the estimate comes from")
    carrier = carrying_link(model, link)
    L = loaded_columns(loaded.base, own, carrier)
    rest = _left_over(loaded, L, estimate.phi)
    sigma = joint_noise(rest)
    extended = with_load(None, loaded, L)
    rows = weighted_rows(extended, extended.joint_factors, sigma)
    Y, rows = rows[:, : len(L)], rows[:, len(L) :]
    rows[:, -1] -= Y @ estimate.phi
    fit = LoadFit.of(extended, rows)
    kind, dof, V = load_covariance(fit, rest, sigma, (loaded,))
    # p = B (tau - Y phi), so that an error of phi passes on as -B Y
    D = _solution(fit.R, fit.scale, Y)
    known = np.isfinite(np.diag(estimate.covariance.matrix))
    V = V + D[:, known] @ estimate.covariance.matrix[np.ix_(known, known)] @ D[:, known].T
    lost = fit.scale[:, None] * (D / lengths(Y))[:, ~known]
    fit = replace(fit, undetermined=joined(fit.undetermined, lost))
    body, edge = existing(fit, V)
    loaded_phi = estimate.phi + L @ np.append(fit.others_at(body), body)
    return IdentifiedPayload(
        model.robot.links[carrier], body, fit.free, V, kind, min(dof, estimate.covariance.dof), fit.undetermined,
        fit.scale, fit.by_joint, estimate.phi, loaded_phi, sigma, edge,
    )  # fmt: skip


def loaded_errors(payload: IdentifiedPayload, loaded: Regression) -> LoadedErrors:
    """Return how well loaded recordings are predicted with the load and without it."""
    energy = loaded.squared_torques
    found = [loaded.squared_residuals(phi) for phi in (payload.loaded_phi, payload.phi)]
    with np.errstate(divide="ignore", invalid="ignore"):
        each = [np.sqrt(f / energy) for f in found]
        total = [float(np.sqrt(f.sum() / energy.sum())) for f in found]
    return LoadedErrors(loaded.recordings, each[0], total[0], each[1], total[1])


# ---- the columns of the load ---------------------------------------------------------------------------------------


def require_apart(unloaded: Regression, loaded: Regression) -> None:
    """Raise RegressionError for factors of two models, and for a recording with and without load."""
    if loaded.model != unloaded.model:
        problem = "the recordings with load belong to another model than those without (robot, gravity or terms differ)"
        raise RegressionError(problem, fix="Compress both with one and the same model")
    for name in loaded.recordings:
        if name in unloaded.recordings:
            fix = "The load is what differs between recordings: give each to one group"
            raise RegressionError(f"recording '{name}' is given with load and without", fix=fix)


def carrying_link(model: Model, link: str | None) -> int:
    """Return the index of the link that carries the load, by default the last one.

    Raises ModelError for an unknown link, and where the robot has several ends.
    """
    links = model.robot.links
    if link is not None:
        require_known([link], links, ModelError, "the robot has no moving link", fix=f"It has {', '.join(links)}")
        return links.index(link)
    ends = [i for i in range(len(links)) if i not in model.robot.parents]
    if len(ends) > 1:
        problem = f"the robot has {len(ends)} ends: {', '.join(links[i] for i in ends)}"
        raise ModelError(problem, fix="Say which one carries the load")
    return ends[0]


def own_columns(base: BaseParameters, own: Iterable[str]) -> Array:
    """Return (b, k): a unit column per base parameter that is a joint term of the given kinds; ModelError for none."""
    kinds = [name.rpartition(".")[2] for name in base.names]
    wanted = list(dict.fromkeys(own))
    terms = sorted(set(kinds) - set(INERTIAL))
    known = f"It has {', '.join(terms) or 'none'}"
    require_known(wanted, terms, ModelError, "the model has no joint term", fix=known)
    return np.eye(len(kinds))[:, [kind in wanted for kind in kinds]]


def loaded_columns(base: BaseParameters, own: Iterable[str], link: int) -> Array:
    """Return L (b, k + 10): what joint terms of their own, and ten parameters more of a link, change in phi (b,)."""
    return np.column_stack([own_columns(base, own), base.K[:, 10 * link : 10 * link + 10]])


def with_load(unloaded: Regression | None, loaded: Regression, L: Array) -> Regression:
    """Return both groups' factors with the columns Y L (zero without load) between those of phi and the torque."""
    b, k = L.shape
    names = tuple(f"load{i}" for i in range(k))
    wider = loaded.base.widened((*loaded.base.standard, *names))

    def segments(group: Regression, carries: float) -> tuple[Segment, ...]:
        of = [carries * L[list(own)] for own in loaded.parameters]
        return group.mapped(lambda j, F: np.column_stack([F[:, :-1], F[:, :-1] @ of[j], F[:, -1]]))

    without = segments(unloaded, 0.0) if unloaded else ()
    parameters = tuple((*of, *range(b, b + k)) for of in loaded.parameters)
    return Regression(f"{loaded.model}|load", wider, parameters, without + segments(loaded, 1.0))


def _left_over(loaded: Regression, L: Array, phi: Array) -> Regression:
    """Return the factors of tau - Y phi in the columns Y L alone."""
    every = tuple(range(L.shape[1]))

    def left(j: int, F: Array) -> Array:
        of = list(loaded.parameters[j])
        return np.column_stack([F[:, :-1] @ L[of], F[:, -1] - F[:, :-1] @ phi[of]])

    base = BaseParameters.each([f"load{i}" for i in every])
    return Regression(f"{loaded.model}|left", base, (every,) * loaded.n_joints, loaded.mapped(left))


#: Segments with and without load from which on error bars come from the differences between segments.
ENOUGH = 5
#: Radius of gyration [m] of the body that an undetermined part of the load is drawn to, and that sets the scale.
GYRATION = 0.1
#: Share of a number's direction along what the logs do not show, above which it is not determined.
OPEN = 1e-6
_SINGULAR = 1e-9  # of the largest singular value, columns scaled
_NEAR, _FAR = 1e-6, 1e-3  # relative: how much the torque's fit may lose to what it does not show, and at most
_EDGE = 1e-4  # of the load's torque: the free load and the one that can exist differ by more
_UPPER = [(i, j) for j in range(4) for i in range(j + 1)]  # of a 4 x 4 matrix, in the cone solver's order


@dataclass(frozen=True, eq=False)
class LoadFit:
    """Least squares in weighted rows: A1 x + A2 p = z, p the load.

    R: A2 without its part in the span of A1; scale (10,): column norms of A2; undetermined, free, by_joint as in the
    result; residual: least sum of squares; rank: how many numbers are determined.
    """

    A1: Array
    A2: Array
    z: Array
    R: Array
    scale: Array
    undetermined: Array
    free: Array
    by_joint: Array
    residual: float
    rank: int

    @staticmethod
    def of(regression: Regression, rows: Array) -> LoadFit:
        """Return the fit of weighted rows of these factors: A1, A2 and z beside each other."""
        A1, A2, z = rows[:, :-11], rows[:, -11:-1], rows[:, -1]
        torques, U = torque_columns(regression, z), _range(A1 / lengths(A1))
        R = A2 - U @ (U.T @ A2)
        R = R - U @ (U.T @ R)  # twice is enough
        scale = lengths(A2)
        _, s, vt = np.linalg.svd(R / scale, full_matrices=False)
        good = s > _SINGULAR
        R = (R / scale) @ vt[good].T @ vt[good] * scale  # without the rounding in the other directions
        by_joint = _solution(R, scale, torques).T
        free = by_joint.sum(axis=0)
        left = z - U @ (U.T @ z) - R @ free
        rank = U.shape[1] + int(good.sum())
        return LoadFit(A1, A2, z, R, scale, vt[~good].T, free, by_joint, float(left @ left), rank)

    @property
    def shows_mass(self) -> bool:
        """Whether the recordings determine the load's mass."""
        return bool(np.linalg.norm(self.undetermined[0]) <= OPEN)

    def others_at(self, body: Array) -> Array:
        """Return the x that fits best beside a given load (10,)."""
        return _solution(self.A1, lengths(self.A1), self.z - self.A2 @ body)


def existing(fit: LoadFit, V: Array, mass: float | None = None) -> tuple[Array, bool]:
    """Return the load (10,) nearest to the free one, in the metric of the logs, that can exist; whether they differ.

    What no log shows is taken from a body of GYRATION about the centre. Raises EstimationError for a negative mass.
    """
    free, error = fit.free, float(np.sqrt(max(V[0, 0], 0.0)))
    if mass is None and free[0] < -4.0 * error and fit.shows_mass:
        raise EstimationError(
            f"the loaded recordings carry {-free[0]:.4g} kg (standard error {error:.2g}) less than the unloaded ones."
            " Are the two groups swapped?"
        )
    size = mass if mass is not None else max(float(free[0]), error, 1e-3)
    centre = free[1:4] / size
    centre = centre / max(1.0, float(np.linalg.norm(centre)))
    reference = from_com(size, centre, size * GYRATION**2 * np.eye(3))
    C = np.linalg.cholesky(pseudo_inertia(reference))
    T = np.empty((10, 10))  # p = T x with x the upper entries of Q, J = C Q C'
    for k, (a, c) in enumerate(_UPPER):
        Q = np.zeros((4, 4))
        Q[a, c] = Q[c, a] = 1.0
        T[:, k] = from_pseudo_inertia(C @ Q @ C.T)
    logs, target = fit.R @ T, fit.R @ free
    open_ = (fit.scale[:, None] * fit.undetermined).T @ T
    triangle = np.diag([1.0 if a == c else np.sqrt(2.0) for a, c in _UPPER])
    blocks = [Block(np.column_stack([triangle, np.zeros(10)]), np.zeros(10), "semidefinite")]
    if mass is not None:
        blocks.append(Block(np.append(T[0], -mass)[None] / mass, np.zeros(1), "zero"))
    unit = float(lengths(logs).max())
    x, distance = least_norm(logs / unit, target / unit, blocks)
    if distance > _NEAR:  # again in units of that distance: the error goes with its root
        unit *= distance
        x, distance = least_norm(logs / unit, target / unit, blocks)
    if len(open_):
        units = lengths(open_.T)
        rows, aim = open_ / units[:, None], open_ @ np.linalg.solve(T, reference) / units
        for share in (_NEAR, 10.0 * _NEAR, 100.0 * _NEAR, _FAR):  # the solver may see no room in the least
            room = float(np.hypot(distance, share * (1.0 + np.linalg.norm(target / unit))))
            try:
                x, _ = least_norm(rows, aim, [*blocks, ball(logs / unit, target / unit, room)])
                break
            except EstimationError:
                if share == _FAR:
                    raise
    body = _written(T @ x, reference, mass)
    return body, bool(np.linalg.norm(fit.R @ (body - free)) > _EDGE * np.linalg.norm(target))


def _written(body: Array, reference: Array, mass: float | None) -> Array:
    """Return the numbers that are written: rounded, and moved inside by the least power of ten that is needed."""
    for share in (0.0, *10.0 ** np.arange(-14.0, -2.9)):
        found = body + share * reference
        found = rounded(found if mass is None else found * (mass / found[0]))
        if consistency(found).consistent:
            return found
    raise InfeasibleError(f"the load cannot exist ({'; '.join(consistency(found).failures())}) and was not written")


def load_covariance(
    fit: LoadFit, regression: Regression, sigma: Array, groups: tuple[Regression, ...]
) -> tuple[str, int, Array]:
    """Return kind, degrees of freedom and covariance (10, 10) of the free load; the smaller group decides."""
    fewest = min(len(group.segments) for group in groups)
    if fewest >= ENOUGH:
        d = jackknife(regression, sigma, np.append(fit.others_at(fit.free), fit.free))[:, -10:]
        return "cluster-by-segment", fewest - 1, np.asarray((len(d) - 1) / len(d) * d.T @ d)
    dof = max(int(regression.rows.sum()) - fit.rank, 1)
    W = np.linalg.pinv(fit.R / fit.scale, rcond=_SINGULAR) / fit.scale[:, None]
    return "classical", dof, np.asarray(fit.residual / dof * W @ W.T)


def _range(columns: Array) -> Array:
    """Return an orthonormal basis of the columns' span."""
    U, s, _ = np.linalg.svd(columns, full_matrices=False)
    return np.asarray(U[:, s > _SINGULAR * s.max(initial=_SINGULAR)])


def joined(undetermined: Array, more: Array) -> Array:
    """Return an orthonormal basis of directions (10, k), and more that count where they are longer than OPEN."""
    return _range(np.column_stack([undetermined, np.where(np.abs(more) > OPEN, more, 0.0)]))


def _solution(columns: Array, scale: Array, right: Array) -> Array:
    return np.asarray((np.linalg.lstsq(columns / scale, right, rcond=_SINGULAR)[0].T / scale).T)
