"""Least squares with the load's columns apart, and the load nearest to it that is physically consistent.

With the robot's own parameters eliminated, |R (p - p_free)|^2 is left; its least value among bodies whose 4 x 4
pseudo-inertia is positive semidefinite is a cone program in ten numbers (Wensing, Kim, Slotine, RA-L 2018).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ident.arrays import Array
from ident.errors import EstimationError, InfeasibleError
from ident.estimate.cones import Block, ball, least_norm
from ident.estimate.covariance import jackknife
from ident.estimate.written import rounded
from ident.regression.regression import Regression, lengths, torque_columns
from ident.spatial.inertia import consistency, from_com, from_pseudo_inertia, pseudo_inertia

#: Segments with and without load from which on error bars come from the differences between segments.
ENOUGH = 5
#: Radius of gyration [m] of the body that an undetermined part of the load is drawn to, and that sets the scale.
GYRATION = 0.1
#: Share of a number's direction along what the logs do not show, above which it is not determined.
OPEN = 1e-6
_SINGULAR = 1e-9  # of the largest singular value, columns scaled
_NEAR = 1e-6  # relative: how much the torque's fit may lose to what it does not show
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
    def of(regression: Regression, rows: Array, others: int) -> LoadFit:
        """Return the fit of weighted rows (k, others + 11) of these factors: A1, A2 and z beside each other."""
        A1, A2, z = rows[:, :others], rows[:, others:-1], rows[:, -1]
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

    def load_of(self, columns: Array) -> Array:
        """Return the load (10, k) that columns (rows, k) in the place of the torque would give."""
        return _solution(self.R, self.scale, columns)


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
        room = float(np.hypot(distance, _NEAR * (1.0 + np.linalg.norm(target / unit))))
        as_near = ball(logs / unit, target / unit, room)
        at_reference = np.linalg.solve(T, reference)
        x, _ = least_norm(open_ / units[:, None], open_ @ at_reference / units, [*blocks, as_near])
    body = _written(T @ x, reference, mass)
    return body, bool(np.linalg.norm(fit.R @ (body - free)) > _EDGE * np.linalg.norm(target))


def _written(body: Array, reference: Array, mass: float | None) -> Array:
    """Return the numbers that are written: rounded, and moved inside by the least power of ten that is needed."""
    for share in (0.0, *10.0 ** np.arange(-14.0, -3.9)):
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
