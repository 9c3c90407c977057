"""The fit with a log-det prior by Newton's method, where many weights and factors follow each other.

    f(x) = |A x - z|^2 / N + weight * sum_i (tr(J0_i^-1 J_i) - log det Q_i)     with G x <= h, E x = e

in the coordinates of `program`. log det keeps links inside of what can exist, so f is smooth: no conic solver is needed
and nothing is compiled. A step is primal-dual (Boyd, Vandenberghe 2004, 11.7): multipliers Z_i, y aim at Q_i Z_i =
weight, and at y (h - G x) = mu, which falls by tenths. It is taken in the coordinates of Nesterov and Todd (1997),
Q + B S B' with B' Z B = B^-1 Q B'^-1 diagonal, where the links' Hessian is the identity however near the edge they are.
Each weight starts at the solution of the one before; where that is too far, at one between the two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ident.arrays import Array
from ident.estimate.bounds import Bounds
from ident.estimate.cones import feasible, least_excess
from ident.estimate.coordinates import IDENTITY, SYMMETRIC, Coordinates, stated
from ident.jit import one_thread
from ident.model.model import Model
from ident.regression.base import BaseParameters

#: What the last step and the multipliers mu may still change of f, relative to it.
ACCURACY = 1e-10
#: Steps from one weight to the next (five to ten are usual), and how often the way may be halved.
STEPS = 150
HALVINGS = 5
#: Share of the way to the edge that a step may go.
_INSIDE = 0.95
#: mu at the start relative to f, far from the solution and near it; a tenth of the weight at most.
_COLD, _WARM = 1e-2, 1e-7

#: The factors L (n, 4, 4) of the links' Q = L L', and the joint terms.
_Point = tuple[Array, Array]


@dataclass(frozen=True, eq=False)
class _Target:
    """|A x - z|^2 + constant: the mean squared weighted residual."""

    A: Array
    z: Array
    constant: float


class LogDetNewton:
    """The program of a model, prior and bounds.

    `interior` is False where no links that can exist lie strictly inside of the bounds; then it has no path.
    """

    def __init__(self, model: Model, base: BaseParameters, coordinates: Coordinates, bounds: Bounds):
        self._base, self._coordinates = base, coordinates
        self._links, p = model.n_rigid, len(coordinates.T)
        blocks = feasible(model, bounds, coordinates)
        rows = {cone: np.concatenate([o.A for o in blocks if o.cone == cone]) for cone in ("zero", "nonnegative")}
        self._E = rows["zero"][:, :p]
        signs = rows["nonnegative"][rows["nonnegative"][:, :p].any(axis=1)]
        self._G, self._h = -signs[:, :p], signs[:, p]
        # a joint term with a positive prior has the same divergence, of one number: its own row aims at the weight
        known = stated(model, coordinates)
        self._linear = coordinates.trace.copy()
        self._linear[self._links + np.flatnonzero(known > 0)] = 1.0 / known[known > 0]
        self._stated = np.zeros(len(signs), dtype=bool)
        self._stated[: model.nonnegative.sum()] = known[model.nonnegative] > 0
        self._start, self.interior = np.append(np.tile(IDENTITY, model.robot.n), np.ones(p - self._links)), True
        if len(bounds.on(model).sides):
            deepest = least_excess(blocks)
            self._start, self.interior = deepest.v[:p], bool(deepest.upper < -1e-6)

    def path(self, factor: Array, samples: float, weights: Sequence[float]) -> list[Array]:
        """Return theta (p,) at each of the falling weights, up to the first that is not reached."""
        if not self.interior:
            return []
        with one_thread():
            return self._path(factor, samples, weights)

    def _path(self, factor: Array, samples: float, weights: Sequence[float]) -> list[Array]:
        b, scale = len(self._base.names), 1.0 / np.sqrt(samples)
        A = factor[:b, :b] @ self._base.K @ self._coordinates.T * scale
        target = _Target(A, factor[:b, b] * scale, float((factor[b, b] * scale) ** 2))
        L = np.asarray(np.linalg.cholesky(_matrices(self._start[: self._links])), dtype=np.float64)
        start = L, self._start[self._links :]
        x = self._minimised(target, weights[0], start, weights[0], _COLD)
        if x is None:  # too far: from a weight so large that the solution is near the start, down by decades
            largest = weights[0] + float(np.sum((A @ self._start - target.z) ** 2))
            fall = np.geomspace(largest, weights[0], 2 + int(np.log10(largest / weights[0])))
            x = self._minimised(target, largest, start, largest, _COLD)
            for before, weight in pairwise(fall.tolist()):
                x = None if x is None else self._reached(target, weight, x, before, HALVINGS)
        found = []
        for before, weight in zip((weights[0], *weights), weights, strict=False):
            x = None if x is None else self._reached(target, weight, x, before, HALVINGS)
            if x is None:
                break
            found.append(self._coordinates.T @ _joined(x))
        return found

    def _reached(self, target: _Target, weight: float, x: _Point, before: float, halvings: int) -> _Point | None:
        """Return the minimum from that at the weight `before`, by one between where need be."""
        if weight == before:
            return x
        reached = self._minimised(target, weight, x, before, _WARM)
        if reached is None and halvings:
            middle = float(np.sqrt(weight * before))
            between = self._reached(target, middle, x, before, halvings - 1)
            return None if between is None else self._reached(target, weight, between, middle, halvings - 1)
        return reached

    def _minimised(self, target: _Target, weight: float, x: _Point, before: float, share: float) -> _Point | None:
        """Return the minimum from an interior x with Q Z = before, or None where it is not reached."""
        links, linear = self._links, weight * self._linear
        L, terms = x
        r, s = target.A @ _joined(x) - target.z, self._h - self._G @ _joined(x)
        size = float(r @ r) + target.constant + weight
        mu = min(share * size, 0.1 * before)
        y = np.where(self._stated, weight, mu) / s
        R = np.sqrt(before) * np.linalg.inv(L).mT  # Q = L L', Z = R R': both stay positive, however thin a body gets
        for _ in range(STEPS):
            size = float(r @ r) + target.constant + weight
            last = ACCURACY * size / max(len(s), 1)
            mu = max(mu, last)
            B, inverse, v = _nesterov_todd(L, R)
            turn = _congruence(B)
            A, G, E, c = (_onto(rows, turn) for rows in (target.A, self._G, self._E, linear[None]))
            aim = np.where(self._stated, weight, mu)
            gradient = 2.0 * (r @ A) + c[0] + (aim / s) @ G
            gradient[:links] -= weight * (_diagonal(1.0 / v).reshape(-1, 16) @ SYMMETRIC).ravel()
            root = np.eye(links, A.shape[1])
            d = _step(np.concatenate([np.sqrt(2.0) * A, np.sqrt(y / s)[:, None] * G, root]), gradient, E)
            if mu <= last and -float(gradient @ d) < ACCURACY * size:
                return L, terms
            S = _matrices(d[:links])
            rest = weight / v - v
            T = _diagonal(rest) - S  # B' dZ B
            ds = -G @ d
            dy = (aim - y * ds) / s - y
            half = 1.0 / np.sqrt(v)
            shrunk = np.concatenate([half[:, :, None] * S * half[:, None, :], half[:, :, None] * T * half[:, None, :]])
            fall = min(np.linalg.eigvalsh(shrunk).min(), (ds / s).min(initial=0.0), (dy / y).min(initial=0.0))
            step = min(1.0, _INSIDE / max(-float(fall), _INSIDE))
            middle = _diagonal(v)
            L, R = B @ np.linalg.cholesky(middle + step * S), inverse @ np.linalg.cholesky(middle + step * T)
            terms = terms + step * d[links:]
            r, s, y = r + step * (A @ d), s + step * ds, y + step * dy
            if step > 0.5:
                mu *= 0.1
        return None


def _matrices(links: Array) -> Array:
    """Return the symmetric matrices (n, 4, 4) of coordinates (10 n,)."""
    return np.asarray((links.reshape(-1, 10) @ SYMMETRIC.T).reshape(-1, 4, 4))


def _diagonal(v: Array) -> Array:
    """Return diagonal matrices (n, 4, 4)."""
    return np.asarray(v[:, :, None] * np.eye(4))


def _joined(point: _Point) -> Array:
    """Return x (p,): the coordinates of each Q = L L', and the joint terms."""
    L, terms = point
    return np.append((L @ L.mT).reshape(-1, 16) @ SYMMETRIC, terms)


def _nesterov_todd(L: Array, R: Array) -> tuple[Array, Array, Array]:
    """Return B, its inverse transposed (n, 4, 4) and v (n, 4) with B' R R' B = B^-1 L L' B'^-1 = diag v."""
    left, v, right = np.linalg.svd(R.mT @ L)
    root = np.sqrt(v)[:, None, :]
    return L @ right.mT / root, R @ left / root, v


def _congruence(B: Array) -> Array:
    """Return C (n, 10, 10) with the coordinates of B S B' = C @ those of S."""
    kron = np.einsum("nij,nkl->nikjl", B, B).reshape(-1, 16, 16)
    return np.asarray(SYMMETRIC.T @ kron @ SYMMETRIC)


def _onto(rows: Array, turn: Array) -> Array:
    """Return rows (m, p) @ blockdiag(turn, 1)."""
    n, m = len(turn), len(rows)
    turned = rows[:, : 10 * n].reshape(m, n, 10).transpose(1, 0, 2) @ turn
    return np.concatenate([turned.transpose(1, 0, 2).reshape(m, 10 * n), rows[:, 10 * n :]], axis=1)


def _step(root: Array, gradient: Array, E: Array) -> Array:
    """Return argmin gradient @ d + |root @ d|^2 / 2 with E @ d = 0."""
    from scipy.linalg import cho_solve

    unit = np.linalg.norm(root, axis=0)
    unit[unit == 0.0] = 1.0
    root, E = root / unit, E / unit
    try:
        R = np.linalg.cholesky(root.T @ root).T
    except np.linalg.LinAlgError:
        R = np.zeros((1, 1))
    if np.diag(R).min() < 1e-5:  # the square has lost half of the digits
        R = np.asarray(np.linalg.qr(root, mode="r"))
        np.fill_diagonal(R, np.where(np.abs(np.diag(R)) < 1e-13, 1.0, np.diag(R)))
    solved = cho_solve((R, False), np.column_stack([gradient / unit, E.T]), check_finite=False)
    d, C = solved[:, 0], solved[:, 1:]
    if len(E):
        d = d - C @ np.linalg.lstsq(E @ C, E @ d)[0]
    return np.asarray(-d / unit)
