"""What a fit says about any reading of a CAD table: the probability of the logs, in base parameters.

A reading states theta (each number with a tolerance), so that K theta ~ N(K theta, K Sigma K'); the logs say
phi_hat ~ N(phi, C). In coordinates in which C is the unit matrix, with joint terms that CAD does not state projected
out, the reading is as probable as

    log p = -1/2 log det S - (nu + d)/2 log(1 + r' S^-1 r / nu) + const,   S = 1 + A Sigma A',  r = y - A theta,

relative to the fit itself: the logarithm of Student's t, since the scale of C and Sigma is known to some part only.
Sigma goes with the square of the tolerance; where that is not given, p is the mean over `hypotheses.TOLERANCES`.
Where the torque side changes (signs, gains, gravity), sum_j N_j / 2 log(residual of joint j) is taken off, N_j being
the effective number of samples, and friction that would have to be negative counts by its own probability.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from ident.arrays import Array
from ident.compare.doctor.hypotheses import ExtraBody
from ident.estimate.covariance import jackknife
from ident.estimate.least_squares import joint_noise, solve
from ident.estimate.prior import natural_jacobian
from ident.logs.motion import Motion
from ident.model.model import Model, regressor, torque
from ident.model.standard import DriveInertia
from ident.regression.regression import Regression, lengths, torque_columns, weighted_rows

#: Degrees of freedom of Student's t: the common scale of all errors is known within an eighth or so.
DOF = 40.0
_JOINT_TOLERANCE = 0.3  # of joint terms that CAD states
_FLAT = 1e6  # an uncertainty of so many standard errors, for numbers off by 100 %, is as good as any larger one
_SINGULAR = 1e-9
_CLUSTERS = 5
_ROWS, _SMALL = 500, 1e-5  # samples that show what a zero does, and how far off it is [rad]


@dataclass(frozen=True, eq=False)
class Evidence:
    """The logs of one view (gravity, geometry, signs of torque) in coordinates where the fit's covariance is 1.

    y (d, n): what the logs say, joint by joint with the torques multiplied by `gains` (n,); A (d, 10 n): what links add
    to it; B (d, k): joint terms that CAD states, times their tolerance, and `stated` (d,) their values; zeros (d, n):
    what a zero of each joint that is off adds [1/rad].
    residuals[j] (n, n): Gram matrix of the residual of joint j, torque by torque. friction (f, n): summed over n, what
    must not be negative, in standard errors. effective (n,): number of independent samples. kind: of the covariance.
    seen: what links have been asked for.
    """

    y: Array
    A: Array
    B: Array
    stated: Array
    residuals: tuple[Array, ...]
    friction: Array
    effective: Array
    gains: Array
    kind: str
    zeros: Array
    seen: dict[tuple[int, bytes], tuple[Array, Array]] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """Number of combinations that the logs determine and CAD states."""
        return len(self.y)

    def fit(self, gains: Array, effective: Array) -> float:
        """Return the log probability of the torques themselves, up to a constant of the logs.

        gains (n,): what the recorded torques are multiplied with before they are explained.
        """
        return float(self._fits((gains / self.gains)[:, None], gains[:, None], effective)[0])

    def fits_along(self, gains: Array, joint: int, factors: Array, effective: Array) -> Array:
        """Return `fit` (k,) with one joint's gain multiplied by each factor (k,)."""
        each = np.repeat(gains[:, None], len(factors), axis=1)
        each[joint] *= factors
        return self._fits(each / self.gains[:, None], each, effective)

    def _fits(self, relative: Array, gains: Array, effective: Array) -> Array:
        from scipy.special import log_ndtr

        # the residual of joint j is r @ relative: from its Gram matrix, so that many gains cost little
        squares = np.array([np.einsum("nk,nm,mk->k", relative, g, relative) for g in self.residuals])
        squares = np.maximum(squares, 1e-300) / gains**2
        signs = np.maximum(log_ndtr(self.friction @ relative), -50.0).sum(axis=0)
        return np.asarray(-0.5 * effective @ np.log(squares) + signs)

    def extra(self, extra: ExtraBody) -> tuple[Array, Array]:
        """Return mean (d,) and covariance (d, d) that an extra body adds."""
        A = self.A[:, 10 * extra.link : 10 * extra.link + 10]
        B = A @ extra.root
        return A @ extra.mean, B @ B.T

    def extra_body(self, residual: Array, covariance: Array, extra: ExtraBody) -> tuple[Array, Array]:
        """Return the inertials (10,) of the extra body that the residual (d,) asks for, and a root of their errors.

        covariance (d, d): of the residual without it, beside the fit's own 1.
        """
        A = self.A[:, 10 * extra.link : 10 * extra.link + 10]
        variances, axes = np.linalg.eigh(covariance + np.eye(self.size))
        whiten = (axes / np.sqrt(np.maximum(variances, 1.0))).T  # rounding of large ones would leave less than 1
        U, s, Vt = np.linalg.svd(whiten @ A @ extra.root)
        left = np.append(1.0 / (1.0 + s**2), np.ones(10 - len(s)))  # of the variances
        u = Vt[: len(s)].T @ (s * left[: len(s)] * (U.T @ whiten @ (residual - A @ extra.mean))[: len(s)])
        return extra.mean + extra.root @ u, extra.root @ (Vt.T * np.sqrt(left))

    def link(self, i: int, body: Array) -> tuple[Array, Array]:
        """Return what link i, inertials `body` (10,), adds to the mean (d,), and `roots` (d, 11) of it."""
        key = (i, body.tobytes())
        if key not in self.seen:
            A = self.A[:, 10 * i : 10 * i + 10]
            self.seen[key] = (A @ body, A @ self.roots(i, spread(body)[None])[0])
        return self.seen[key]

    def roots(self, i: int, roots: Array) -> Array:
        """Return roots (k, 10, 11) of covariances of link i's parameters, none wider than the logs can tell."""
        size = np.linalg.norm(self.A[:, 10 * i : 10 * i + 10] @ roots, axis=1)
        return np.asarray(roots * np.minimum(1.0, _FLAT / np.maximum(size, 1e-300))[:, None, :])


def log_student(
    residuals: Array,
    covariances: Array,
    d: int | None = None,
    squares: Array | float = 0.0,
    logdets: Array | float = 0.0,
) -> Array:
    """Return log p (...) of residuals (..., m) with covariances (..., m, m) under Student's t of DOF.

    Relative to N(0, 1) at its peak. squares and logdets (...): of the other d - m dimensions, if there are any.
    """
    m = covariances.shape[-1]
    residuals = np.broadcast_to(residuals, covariances.shape[:-1])
    # the Cholesky factor of [[S, r], [r', c]] has L^-1 r below that of S; c > r' S^-1 r, as S >= 1
    bordered = np.empty((*residuals.shape[:-1], m + 1, m + 1))
    bordered[..., :m, :m] = covariances
    bordered[..., m, :m] = bordered[..., :m, m] = residuals
    bordered[..., m, m] = 2.0 * np.sum(residuals**2, axis=-1) + 1.0
    L = root_of(bordered, m)
    logdets = logdets + 2.0 * np.sum(np.log(np.diagonal(L[..., :m, :m], axis1=-2, axis2=-1)), axis=-1)
    return student(squares + np.sum(L[..., m, :m] ** 2, axis=-1), logdets, m if d is None else d)


def root_of(S: Array, m: int) -> Array:
    """Return the Cholesky factor of S (..., k, k), whose first m rows are a covariance of at least 1.

    In a table that is wrong by orders of magnitude that 1 is lost in the rounding of S, which is then added to it.
    """
    try:
        return np.asarray(np.linalg.cholesky(S))
    except np.linalg.LinAlgError:
        lost = 4.0 * m * np.finfo(float).eps * np.max(np.diagonal(S, axis1=-2, axis2=-1)[..., :m], axis=-1)
        return np.asarray(np.linalg.cholesky(S + lost[..., None, None] * np.diag(np.arange(S.shape[-1]) < m)))


def student(squares: Array, logdet: ArrayLike, d: int) -> Array:
    """Return log p of squared sizes r' S^-1 r and log det S in d dimensions."""
    constant = math.lgamma((DOF + d) / 2) - math.lgamma(DOF / 2) - d / 2 * math.log(DOF / 2)
    return np.asarray(constant - 0.5 * np.asarray(logdet) - 0.5 * (DOF + d) * np.log1p(squares / DOF))


def deviations(bodies: Array, share: float) -> Array:
    """Return roots (..., 10, 10) of the covariance of bodies' inertials (..., 10), for numbers off by this share.

    Each coordinate of the centre by that share of its distance or of the radius of gyration, the larger one.
    """
    m, c, moments = _natural(bodies)
    d, far = np.sqrt(moments), np.repeat(_reach(m, c, moments)[..., None], 3, axis=-1)
    tensor = d[..., [0, 0, 0, 1, 1, 2]] * d[..., [0, 1, 2, 1, 2, 2]]
    size = share * np.concatenate([np.abs(m), far, tensor], axis=-1)
    return natural_jacobian(m[..., 0], c) * size[..., None, :]


def reach(bodies: Array) -> Array:
    """Return the distances (...) of centres from links' origins, or the radii of gyration where those are more."""
    return _reach(*_natural(bodies))


def _reach(m: Array, c: Array, moments: Array) -> Array:
    radius = np.sqrt(np.abs(moments.sum(axis=-1) / np.where(m == 0.0, np.inf, 2.0 * m)[..., 0]))
    return np.asarray(np.maximum(np.sqrt((c * c).sum(axis=-1)), radius))


def _natural(bodies: Array) -> tuple[Array, Array, Array]:
    """Return masses (..., 1), centres (..., 3) and central moments, by size: of what cannot exist they may be negative.

    A massless body has its centre at the origin.
    """
    m = bodies[..., :1]
    c = bodies[..., 1:4] / np.where(m == 0.0, np.inf, m)
    squares = m * c * c
    return m, c, np.abs(bodies[..., [4, 7, 9]] - squares.sum(axis=-1, keepdims=True) + squares)


def spread(bodies: Array) -> Array:
    """Return how inertials change (..., 10, 11) with each number and with a factor of mass and tensor, by its size."""
    return np.concatenate([deviations(bodies, 1.0), bodies[..., None]], axis=-1)


def evidence(
    model: Model,
    regression: Regression,
    joint_values: Mapping[str, float],
    gains: Array | None = None,
    motions: Sequence[Motion] = (),
) -> Evidence:
    """Return what these logs say with torques multiplied by gains (n,), with weights and covariance of their own.

    motions: those of the regression, for what zeros that are off do; without them nothing.
    """
    gains = np.ones(regression.n_joints) if gains is None else gains
    regression = regression.scaled(gains)
    sigma = joint_noise(regression)
    phi = solve(regression, sigma)
    n, b, K = regression.n_joints, len(regression.base.names), regression.base.K
    rows = weighted_rows(regression, regression.joint_factors, sigma)
    torques = torque_columns(regression, rows[:, b])
    Q, R = np.linalg.qr(rows[:, :b])
    columns = lengths(R)
    u, s, vt = np.linalg.svd(R / columns)
    good = s > _SINGULAR * s[0]
    W, z = s[good, None] * vt[good] * columns, u[:, good].T @ (Q.T @ torques)
    inverse = (vt[good].T / s[good]) / columns[:, None]  # phi = inverse @ z
    F, kind = _noise(regression, sigma, phi, W)
    values, vectors = np.linalg.eigh(F)
    whiten = vectors.T / np.sqrt(values)[:, None]
    M, y = whiten @ W @ K, whiten @ z

    names = model.names[model.n_rigid :]
    given = np.array([joint_values.get(name, np.nan) for name in names])
    known = np.isfinite(given)
    terms = M[:, model.n_rigid :]
    Qc = _complement(terms[:, ~known])
    stated = terms[:, known] @ given[known]

    Phi = inverse @ z
    residuals = []
    for j, r in enumerate(regression.joint_factors):
        left = r[:, :-1] @ Phi[list(regression.parameters[j])]
        left[:, j] -= r[:, -1]
        residuals.append(left.T @ left)
    errors = np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", inverse, F, inverse), 1e-300))
    open_ = np.linalg.norm(vt[~good], axis=0) > 1e-6
    positive = {
        n for n, p in zip(names, model.nonnegative, strict=True) if p and not n.endswith(f".{DriveInertia.kind.name}")
    }
    alone = [
        k
        for k, name in enumerate(regression.base.names)
        if name in positive and np.count_nonzero(K[k]) == 1 and not open_[k]
    ]
    inflation = float(np.trace(F)) / len(F)
    effective = np.maximum(regression.rows / max(inflation, 1.0), 2.0 * b / n)
    # a joint without motor fits the better, the smaller all other torques are said to be: that is no evidence
    effective = np.where([r[:, -1].any() for r in regression.joint_factors], effective, 0.0)
    return Evidence(
        Qc.T @ y,
        Qc.T @ M[:, : model.n_rigid],
        Qc.T @ (terms[:, known] * (_JOINT_TOLERANCE * np.abs(given[known]))),
        Qc.T @ stated,
        tuple(residuals),
        Phi[alone] / errors[alone, None],
        effective,
        gains,
        kind,
        Qc.T @ (whiten @ W @ zero_slopes(model, regression, phi, sigma, motions)),
    )


def usual_errors(
    model: Model, regression: Regression, gain_error: float, zero_error: float, motions: Sequence[Motion] = ()
) -> Array:
    """Return by how much base parameters (b, 2 n) are off for gains, and zeros [rad], with these standard deviations.

    motions: those of the regression; without them zeros count as right.
    """
    sigma = joint_noise(regression)
    rows, b = weighted_rows(regression, regression.joint_factors, sigma), len(regression.base.names)
    gains = np.linalg.lstsq(rows[:, :b], torque_columns(regression, rows[:, b]), rcond=_SINGULAR)[0]
    zeros = zero_slopes(model, regression, gains.sum(axis=1), sigma, motions)
    return np.column_stack([gain_error * gains, zero_error * zeros])


def zero_slopes(model: Model, regression: Regression, phi: Array, sigma: Array, motions: Sequence[Motion]) -> Array:
    """Return by how much base parameters phi (b,) seem to change per radian of a joint's zero that is off (b, n)."""
    base, robot, slopes = regression.base, model.robot, np.zeros((len(phi), model.robot.n))
    own = [k for k, at in enumerate(base.kept) if at < model.n_rigid]
    rigid = Model(robot)
    theta = np.zeros(model.n_rigid)
    theta[[base.kept[k] for k in own]] = phi[own]
    rows = [np.flatnonzero(m.keep.any(axis=1)) for m in motions]
    chosen = [some[:: max(sum(map(len, rows)) // _ROWS, 1)] for some in rows]
    turning = [j for j, joint in enumerate(robot.joints) if not joint.slides]
    if not sum(map(len, chosen)) or not turning:
        return slopes
    parts = zip(motions, chosen, strict=True)
    states = [(m.q[some], m.qd[some], m.qdd[some]) for m, some in parts]
    q, qd, qdd = (np.concatenate(x) for x in zip(*states, strict=True))
    Y = regressor(rigid, q, qd, qdd)[:, :, [base.kept[k] for k in own]] / sigma[:, None]
    ahead = [torque(rigid, theta, q + _SMALL * np.eye(robot.n)[j], qd, qdd) for j in turning]
    change = np.stack(ahead, axis=-1) - torque(rigid, theta, q, qd, qdd)[:, :, None]
    change = (change / (_SMALL * sigma[:, None])).reshape(-1, len(turning))
    slopes[np.ix_(own, turning)] = np.linalg.lstsq(Y.reshape(len(change), -1), change, rcond=1e-9)[0]
    return slopes


def _noise(regression: Regression, sigma: Array, phi: Array, W: Array) -> tuple[Array, str]:
    """Return the covariance (r, r) of W phi_hat.

    The jackknife over segments, drawn to its mean variance as far as its own scatter asks for (Ledoit, Wolf, JMVA 88,
    2004), since there are fewer segments than parameters; fewer than five segments: white noise.
    """
    G, r = len(regression.segments), len(W)
    if G < _CLUSTERS:
        rows = float(regression.rows.sum())
        squares = regression.squared_residuals(phi) / sigma**2
        return np.eye(r) * float(squares.sum()) / max(rows - r, 1.0), "classical"
    x = np.sqrt(G - 1) * jackknife(regression, sigma, phi) @ W.T
    F = x.T @ x / G
    mean = float(np.trace(F)) / r
    spread = float(np.sum((F - mean * np.eye(r)) ** 2))
    scatter = float(np.sum(np.sum(x**2, axis=1) ** 2) / G - np.sum(F**2)) / G
    shrink = min(1.0, scatter / spread) if spread > 0 else 1.0
    return (1 - shrink) * F + max(shrink, 1e-3) * mean * np.eye(r), "cluster-by-segment"


def _complement(columns: Array) -> Array:
    """Return an orthonormal basis (d, k) of what these columns (d, m) do not span."""
    size = np.linalg.norm(columns, axis=0)
    used = columns[:, size > 0] / size[size > 0]
    if not used.shape[1]:
        return np.eye(len(columns))
    u, s, _ = np.linalg.svd(used)
    return np.asarray(u[:, int(np.sum(s > _SINGULAR * s[0])) :])
