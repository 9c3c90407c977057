"""Coordinates in which the links' cones are of order one, and how far links are from the edge of what can exist.

Links are written as J_i = C_i Q_i C_i' around a centre C_i C_i', joint terms in units of what one of them alone would
explain. A link is physically consistent (can exist) where its pseudo-inertia J_i, and so Q_i, is positive semidefinite.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ident.arrays import Array
from ident.estimate.prior import Prior
from ident.model.model import Model
from ident.regression.base import BaseParameters
from ident.spatial.inertia import from_pseudo_inertia, pseudo_inertia

#: vec(M) (16,) = SYMMETRIC @ x: an orthonormal basis of the symmetric matrices, in the conic solver's order.
SYMMETRIC = np.array(
    [
        [(1.0 if i == j else np.sqrt(0.5)) * ((i, j) in {(a, b), (b, a)}) for b in range(4) for a in range(b + 1)]
        for i in range(4)
        for j in range(4)
    ]
)
#: The x of the identity.
IDENTITY = np.eye(4).ravel() @ SYMMETRIC
#: Beyond this ratio of what the logs hold to what the prior explains, either way, the start is scaled to the logs.
_FAR = 100.0


@dataclass(frozen=True, eq=False)
class Coordinates:
    """theta = T @ x: ten numbers of each Q_i (`SYMMETRIC`), then joint terms. trace @ x = sum_i tr(J0_i^-1 J_i).

    scale: unit of each joint term; size: of the links that the logs speak of against the prior's, 1 at least; prior:
    bodies and joint values that the divergence is counted from.
    """

    T: Array
    trace: Array
    scale: Array
    size: float
    prior: Prior

    @staticmethod
    def of(model: Model, prior: Prior, factor: Array, base: BaseParameters) -> Coordinates:
        """Return coordinates centred at the prior, all of it scaled alike where it is of another size than the logs."""
        links = factor[:, :-1] @ (base.K[:, : model.n_rigid] @ prior.inertials.ravel())
        column = np.linalg.norm(factor[:, :-1] @ base.K[:, model.n_rigid :], axis=0)
        target = np.linalg.norm(factor[:, -1])
        scale = np.where(column > 0, 0.1 * target / np.where(column > 0, column, 1.0), 1.0)
        size = float(target / np.linalg.norm(links)) if links.any() and target > 0 else 1.0
        size = 1.0 if 1.0 / _FAR < size < _FAR else size
        return _centred(np.where(scale > 0, scale, 1.0), max(size, 1.0), prior, size * prior.inertials)

    @staticmethod
    def around(theta: Array, prior: Prior) -> Coordinates:
        """Return coordinates in which every link and joint term of theta (p,) is of order one, however light it is."""
        links = 10 * len(prior.inertials)
        values, root = _spectrum(theta[:links], prior)
        values = np.maximum(values, np.maximum(1e-4 * np.abs(values).max(axis=1, keepdims=True), 1e-15))
        terms = np.abs(theta[links:])
        return _centred(np.where(terms > 0, terms, 1.0), 1.0, prior, _bodies(values, root))

    def at(self, inertials: Array) -> Coordinates:
        """Return the same coordinates centred at other inertials (n, 10), which must be positive definite."""
        return _centred(self.scale, self.size, self.prior, inertials)


def _centred(scale: Array, size: float, prior: Prior, inertials: Array) -> Coordinates:
    n = len(inertials)
    T = np.zeros((10 * n + len(scale), 10 * n + len(scale)))
    C = np.linalg.cholesky(pseudo_inertia(inertials))
    J = np.einsum("nij,nkl->nikjl", C, C).reshape(n, 16, 16) @ SYMMETRIC
    bodies = from_pseudo_inertia(J.mT.reshape(n, 10, 4, 4))
    for i, body in enumerate(bodies):
        T[10 * i : 10 * i + 10, 10 * i : 10 * i + 10] = body.T
    trace = np.zeros(len(T))
    trace[: 10 * n] = (np.linalg.inv(pseudo_inertia(prior.inertials)).reshape(n, 1, 16) @ J).ravel()
    T[10 * n :, 10 * n :] = np.diag(scale)
    return Coordinates(T, trace, scale, size, prior)


def stated(model: Model, coordinates: Coordinates) -> Array:
    """Return the prior's value of each joint term in its unit, NaN where it says nothing or the sign is free."""
    values = [coordinates.prior.joint_values.get(name, np.nan) for name in model.names[model.n_rigid :]]
    return np.where(model.nonnegative, np.array(values, dtype=np.float64) / coordinates.scale, np.nan)


def interior(links: Array, prior: Prior) -> Array:
    """Return the inertials (n, 10), those at the edge moved inside so far that they can be a centre."""
    values, root = _spectrum(links, prior)
    # a solver's error goes with the largest eigenvalue
    return _bodies(np.maximum(values, 1e-7 * np.maximum(values[:, -1:], 1.0)), root)


def size_of(links: Array, prior: Prior) -> float:
    """Return the greatest eigenvalue of any link (n, 10) against its prior."""
    return float(_spectrum(links, prior)[0].max())


def edge(links: Array, prior: Prior) -> float:
    """Return the least eigenvalue of any link (n, 10) against its prior: 0 at the edge of what can exist."""
    return float(_spectrum(links, prior)[0].min())


def _spectrum(links: Array, prior: Prior) -> tuple[Array, Array]:
    """Return ascending eigenvalues (n, 4) against the prior, and R (n, 4, 4) with J_i = R_i diag(values) R_i'."""
    half = np.linalg.cholesky(pseudo_inertia(prior.inertials))
    inverse = np.linalg.inv(half)
    values, vectors = np.linalg.eigh(inverse @ pseudo_inertia(links.reshape(-1, 10)) @ inverse.mT)
    return values, half @ vectors


def _bodies(values: Array, root: Array) -> Array:
    return from_pseudo_inertia((root * values[:, None, :]) @ root.mT)
