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
from ident.estimate.cones import Block, ConeProgram, feasible, fixed
from ident.estimate.program import Coordinates, stated
from ident.model.model import Model
from ident.regression.base import BaseParameters
from ident.threads import one_thread

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

_UPPER = [(i, j) for i in range(4) for j in range(i, 4)]
_I, _J = (np.array(k) for k in zip(*_UPPER, strict=True))
_DIAGONAL = (_I == _J).astype(np.float64)


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
        self._links = links = model.n_rigid
        given = stated(model, coordinates)[model.nonnegative]
        rows = bounds.on(model)
        R = rows.rows @ coordinates.T
        unit = np.linalg.norm(R, axis=1)
        R, sides = R / unit[:, None], rows.sides / unit
        positive = links + np.flatnonzero(model.nonnegative)
        self._E = R[: rows.equal]
        self._G = np.concatenate([-np.eye(len(coordinates.T))[positive], R[rows.equal :]])
        self._h = np.concatenate([np.zeros(len(positive)), sides[rows.equal :]])
        # a joint term with a positive prior has the same divergence, of one number: its own row aims at the weight
        known = given > 0
        self._stated = np.append(known, np.zeros(len(sides) - rows.equal, dtype=bool))
        self._linear = np.append(coordinates.trace[:links], np.zeros(len(coordinates.T) - links))
        self._linear[positive[known]] = 1.0 / given[known]
        if len(sides):
            self._start, depth = _deepest(feasible(model, bounds, coordinates))
            self.interior = depth > 1e-6
        else:
            self._start = np.append(np.tile(_DIAGONAL, model.robot.n), np.ones(len(coordinates.T) - links))
            self.interior = True

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
        last = ACCURACY * size / max(len(s), 1)
        mu = max(min(share * size, 0.1 * before), last)
        y = np.where(self._stated, weight, mu) / s
        R = np.sqrt(before) * np.linalg.inv(L).mT  # Q = L L', Z = R R': both stay positive, however thin a body gets
        for _ in range(STEPS):
            B, inverse, v = _nesterov_todd(L, R)
            turn = _congruence(B)
            A, G, E, c = (_onto(rows, turn) for rows in (target.A, self._G, self._E, linear[None]))
            aim = np.where(self._stated, weight, mu)
            gradient = 2.0 * (r @ A) + c[0] + (aim / s) @ G
            gradient[:links] -= weight * (_DIAGONAL / v[:, _I]).ravel()
            root = np.zeros((links, A.shape[1]))
            np.fill_diagonal(root, np.tile(np.sqrt(2.0 - _DIAGONAL), len(v)))
            d = _step(np.concatenate([np.sqrt(2.0) * A, np.sqrt(y / s)[:, None] * G, root]), gradient, E)
            if mu <= last and -float(gradient @ d) < ACCURACY * size:
                return L, terms
            S = _matrices(d[:links])
            rest = weight / v - v
            T = rest[:, :, None] * np.eye(4) - S  # B' dZ B
            ds = -G @ d
            dy = (aim - y * ds) / s - y
            half = 1.0 / np.sqrt(v)
            shrunk = np.concatenate([half[:, :, None] * S * half[:, None, :], half[:, :, None] * T * half[:, None, :]])
            fall = min(np.linalg.eigvalsh(shrunk).min(), (ds / s).min(initial=0.0), (dy / y).min(initial=0.0))
            step = min(1.0, _INSIDE / max(-float(fall), _INSIDE))
            middle = v[:, :, None] * np.eye(4)
            L, R = B @ np.linalg.cholesky(middle + step * S), inverse @ np.linalg.cholesky(middle + step * T)
            terms = terms + step * d[links:]
            r, s, y = r + step * (A @ d), s + step * ds, y + step * dy
            if step > 0.5:
                mu = max(0.1 * mu, last)
        return None


def _matrices(links: Array) -> Array:
    """Return the symmetric matrices (n, 4, 4) of their upper entries (10 n,)."""
    Q = np.empty((len(links) // 10, 4, 4))
    Q[:, _I, _J] = Q[:, _J, _I] = links.reshape(-1, 10)
    return Q


def _joined(point: _Point) -> Array:
    """Return x (p,): the upper entries of each Q = L L', and the joint terms."""
    L, terms = point
    return np.append((L @ L.mT)[:, _I, _J], terms)


def _nesterov_todd(L: Array, R: Array) -> tuple[Array, Array, Array]:
    """Return B, its inverse transposed (n, 4, 4) and v (n, 4) with B' R R' B = B^-1 L L' B'^-1 = diag v."""
    left, v, right = np.linalg.svd(R.mT @ L)
    root = np.sqrt(v)[:, None, :]
    return L @ right.mT / root, R @ left / root, v


def _congruence(B: Array) -> Array:
    """Return C (n, 10, 10) with the upper entries of B S B' = C @ those of S."""
    straight = B[:, _I[:, None], _I] * B[:, _J[:, None], _J]
    return np.asarray(straight + (1.0 - _DIAGONAL) * B[:, _I[:, None], _J] * B[:, _J[:, None], _I])


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


def _deepest(blocks: list[Block]) -> tuple[Array, float]:
    """Return the x of v = (x, 1) farthest inside all cones, and how far (at most 1): least eigenvalue or distance."""
    p = blocks[0].A.shape[1] - 1
    inside = {"semidefinite": (_I == _J)[np.lexsort((_I, _J))], "nonnegative": True, "zero": False}
    depth = [-1.0 * np.broadcast_to(inside[block.cone], block.b.shape) for block in blocks]
    wider = [Block(np.column_stack([o.A, column]), o.b, o.cone) for o, column in zip(blocks, depth, strict=True)]
    found = ConeProgram([*wider, fixed(np.eye(p + 2)[p], 1.0)]).minimise(-np.eye(p + 2)[p + 1])
    return found.v[:p], float(found.v[p + 1])
