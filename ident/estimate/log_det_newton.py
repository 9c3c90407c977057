"""The fit with a log-det prior by Newton's method, where many weights and factors follow each other.

    f(x) = |A x - z|^2 / N + weight * sum_i (tr(J0_i^-1 J_i) - log det Q_i)     with G x <= h, E x = e

in the coordinates of `program`. log det keeps links inside of what can exist, so f is smooth: no conic solver is needed
and nothing is compiled. A step is primal-dual (Boyd, Vandenberghe 2004, 11.7): multipliers Z_i, y aim at Q_i Z_i =
weight, and at y (h - G x) = mu, which falls. It is taken in the coordinates of Nesterov and Todd (1997),
Q + B S B' with B' Z B = B^-1 Q B'^-1 diagonal, where the links' Hessian is the identity however near the edge they are.
Each weight starts where another target ended at it, else at the solution of the one before; where that is too far, at
one between the two.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from ident.arrays import Array
from ident.estimate.bounds import Bounds
from ident.estimate.cones import feasible, least_excess
from ident.estimate.coordinates import IDENTITY, SYMMETRIC, Coordinates, stated
from ident.jit import one_thread
from ident.model.model import Model
from ident.regression.base import BaseParameters

#: What the last step and the multipliers mu change of f, relative to it.
ACCURACY = 1e-10
#: What the last step may change in units of the weight, in which all is of order one; what rounding changes of f.
_CONVERGED, _ROUNDING = 1e-8, 1e-16
#: Steps from one weight to the next (five to ten are usual), and how often the way may be halved.
STEPS = 150
HALVINGS = 5
#: Processor time [s] of steps that led nowhere after which all further ones are left to other solvers.
PATIENCE = 8.0
#: Share of the way to the edge that a step may go.
_INSIDE = 0.95
#: mu at the start relative to f, far from the solution and near it; a tenth of the weight at most.
_COLD = 1e-2
#: How much it falls after a step that goes well.
_FALL = 0.1


@dataclass(frozen=True, eq=False)
class _Point:
    """Factors (n, 4, 4) of the links' Q = L L' and Z = R R', which stay positive however thin a body gets; terms; y."""

    L: Array
    R: Array
    terms: Array
    y: Array


@dataclass(frozen=True, eq=False)
class _Target:
    """|A x - z|^2 + constant: the mean squared weighted residual."""

    A: Array
    z: Array
    constant: float

    @property
    def rounding(self) -> float:
        """What rounding of A x, which nearly is z, changes of it: 100 times the square of its last digit."""
        return 100.0 * (np.finfo(float).eps * float(np.linalg.norm(self.z))) ** 2


class LogDetNewton:
    """The program of a model, prior and bounds.

    `interior` is False where no links that can exist lie strictly inside of the bounds; then it has no path.
    `lost` [s]: processor time without result; where it exceeds PATIENCE, paths end.
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
        self.lost = 0.0
        self._known: dict[float, _Point] = {}  # the first solution at each weight, where the next target starts

    def path(self, factor: Array, samples: float, weights: Sequence[float]) -> list[Array]:
        """Return theta (p,) at each of the falling weights, up to the first that is not reached."""
        if not self.interior or self.lost > PATIENCE:
            return []
        with one_thread():
            return self._path(factor, samples, weights)

    def _path(self, factor: Array, samples: float, weights: Sequence[float]) -> list[Array]:
        b, scale = len(self._base.names), 1.0 / np.sqrt(samples)
        A = factor[:b, :b] @ self._base.K @ self._coordinates.T * scale
        target = _Target(A, factor[:b, b] * scale, float((factor[b, b] * scale) ** 2))
        found: list[Array] = []
        x, before = None, weights[0]
        for weight in weights:
            known = self._known.get(weight)
            near = None if known is None else self._minimised(target, weight, known, 0.0)
            if near is None:
                near = self._reached(target, weight, x, before, HALVINGS) if x else self._from_afar(target, weight)
            if near is None:
                break
            x, before = near, weight
            self._known.setdefault(weight, x)
            found.append(self._coordinates.T @ _joined(x.L, x.terms))
        return found

    def _from_afar(self, target: _Target, weight: float) -> _Point | None:
        """Return the minimum from the start; where that is too far, from a weight at which it is near, by decades."""
        x = self._minimised(target, weight, self._cold(target, weight), _COLD)
        if x is None:
            largest = weight + float(np.sum((target.A @ self._start - target.z) ** 2))
            fall = np.geomspace(largest, weight, 2 + int(np.log10(largest / weight)))
            x = self._minimised(target, largest, self._cold(target, largest), _COLD)
            for before, after in pairwise(fall.tolist()):
                x = None if x is None else self._reached(target, after, x, before, HALVINGS)
        return x

    def _cold(self, target: _Target, weight: float) -> _Point:
        """Return the start, with Q Z = weight, and y as far from its end as mu is."""
        L = np.asarray(np.linalg.cholesky(_matrices(self._start[: self._links])), dtype=np.float64)
        r, s = target.A @ self._start - target.z, self._h - self._G @ self._start
        mu = min(_COLD * (float(r @ r) + target.constant + weight), 0.1 * weight)
        y = np.where(self._stated, weight, mu) / s
        return _Point(L, np.sqrt(weight) * np.linalg.inv(L).mT, self._start[self._links :], y)

    def _reached(self, target: _Target, weight: float, x: _Point, before: float, halvings: int) -> _Point | None:
        """Return the minimum from that at the weight `before`, by one between where need be."""
        reached = self._minimised(target, weight, x, 0.0)
        if reached is None and halvings and self.lost < PATIENCE:
            middle = float(np.sqrt(weight * before))
            between = self._reached(target, middle, x, before, halvings - 1)
            return None if between is None else self._reached(target, weight, between, middle, halvings - 1)
        return reached

    def _minimised(self, target: _Target, weight: float, start: _Point, mu: float) -> _Point | None:
        """Return the minimum from an interior point, or None where it is not reached; mu: to start with, relative."""
        links, began = self._links, time.process_time()
        L, R, terms, y = start.L, start.R, start.terms, start.y
        x = _joined(L, terms)
        r, s = target.A @ x - target.z, self._h - self._G @ x
        mu *= float(r @ r) + target.constant + weight
        for _ in range(STEPS):
            size = float(r @ r) + target.constant + weight
            last = ACCURACY * size / max(len(s), 1)
            mu = max(mu, last)
            B, inverse, v = _nesterov_todd(L, R)
            turn = _congruence(B)
            A, G, E = (_onto(rows, turn) for rows in (target.A, self._G, self._E))
            aim = np.where(self._stated, weight, mu)
            gradient = 2.0 * (r @ A) + _onto(weight * self._linear[None], turn)[0] + (aim / s) @ G
            gradient[:links] -= weight * (_diagonal(1.0 / v).reshape(-1, 16) @ SYMMETRIC).ravel()
            d = _step(np.concatenate([np.sqrt(2.0) * A, np.sqrt(y / s)[:, None] * G]), links, gradient, E)
            enough = max(min(ACCURACY * size, _CONVERGED * weight), _ROUNDING * size, target.rounding)
            found = mu <= last and -float(gradient @ d) < enough
            S = _matrices(d[:links])
            T = _diagonal(weight / v - v) - S  # B' dZ B
            ds = -G @ d
            dy = (aim - y * ds) / s - y
            half = 1.0 / np.sqrt(v)
            least = np.linalg.eigvalsh(half[:, :, None] * np.array([S, T]) * half[:, None, :])[:, :, 0]
            step = float(_inside(min(least[0].min(), (ds / s).min(initial=0.0))))
            middle = _diagonal(v)
            L = B @ np.linalg.cholesky(middle + step * S)
            # each Z and y goes its own way: they only shape the quadratic model
            R = inverse @ np.linalg.cholesky(middle + _inside(least[1])[:, None, None] * T)
            terms, y = terms + step * d[links:], np.maximum(y + dy, (1.0 - _INSIDE) * y)
            if found:
                return _Point(L, R, terms, y)
            x = _joined(L, terms)
            r, s = target.A @ x - target.z, s + step * ds
            mu *= _FALL ** (2.0 * step)
        self.lost += time.process_time() - began
        return None


def _inside(fall: ArrayLike) -> Array:
    """Return the step that goes _INSIDE of the way to the edge, `fall` being the most negative relative change."""
    return np.asarray(_INSIDE / np.maximum(np.negative(fall), _INSIDE))


def _matrices(links: Array) -> Array:
    """Return the symmetric matrices (n, 4, 4) of coordinates (10 n,)."""
    return np.asarray((links.reshape(-1, 10) @ SYMMETRIC.T).reshape(-1, 4, 4))


def _diagonal(v: Array) -> Array:
    """Return diagonal matrices (n, 4, 4)."""
    return np.asarray(v[:, :, None] * np.eye(4))


def _joined(L: Array, terms: Array) -> Array:
    """Return x (p,): the coordinates of each Q = L L', and the joint terms."""
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


def _step(root: Array, links: int, gradient: Array, E: Array) -> Array:
    """Return argmin gradient @ d + |root @ d|^2 / 2 + |d[:links]|^2 / 2 with E @ d = 0."""
    from scipy.linalg.lapack import dpotrf, dpotrs

    hessian = root.T @ root
    hessian.flat[: links * (len(hessian) + 1) : len(hessian) + 1] += 1.0
    unit = np.sqrt(hessian.diagonal())
    unit[unit == 0.0] = 1.0
    R, failed = dpotrf(hessian / (unit[:, None] * unit))
    if failed or R.diagonal().min() < 1e-5:  # the square has lost half of the digits
        R = np.asarray(np.linalg.qr(np.concatenate([root, np.eye(links, len(unit))]) / unit, mode="r"))
        np.fill_diagonal(R, np.where(np.abs(np.diag(R)) < 1e-13, 1.0, np.diag(R)))
    E = E / unit
    solved, _ = dpotrs(R, np.column_stack([gradient / unit, E.T]))
    d, C = solved[:, 0], solved[:, 1:]
    if len(E):
        d = d - C @ np.linalg.lstsq(E @ C, E @ d)[0]
    return np.asarray(-d / unit)
