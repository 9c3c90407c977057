"""The fit with a log-det prior by Newton's method, where many weights and factors follow each other.

    f(x) = |A x - z|^2 / N + weight * sum_i (tr(J0_i^-1 J_i) - log det Q_i)     with G x <= h, E x = e

in `Coordinates`. log det keeps links inside of what can exist, so f is smooth: no conic solver is needed
and nothing is compiled. A step is primal-dual (Boyd, Vandenberghe 2004, 11.7): multipliers Z_i, y aim at Q_i Z_i =
weight, and at y (h - G x) = mu, which falls. It is taken in the coordinates of Nesterov and Todd (1997),
Q + B S B' with B' Z B = B^-1 Q B'^-1 diagonal, where the links' Hessian is the identity however near the edge they are.
Each weight starts where another target ended at it, else at the solution of the one before; where that is too far, at
one between the two. From the weight before, and without any weight, the way is the central path: all products aim at
one mu first, which falls by Mehrotra's rule (1992), as in the conic solvers that stand behind this one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ident.arrays import Array
from ident.estimate.bounds import Bounds
from ident.estimate.cones import IDENTITY, SYMMETRIC, Coordinates, feasible, least_excess, stated
from ident.jit import one_thread
from ident.model.model import Model
from ident.regression.base import BLOCK, BaseParameters

#: What the last step and the multipliers mu change of f, relative to it.
ACCURACY = 1e-10
#: How far the norm may be from its least without a prior, where links at the edge of what can exist are to end there.
GAP = 1e-10
#: Weight of sum_i tr(J0_i^-1 J_i) without a prior: keeps links that no sample shows from growing for ever.
SLIGHT = 1e-8
#: The norm, in units of what the logs contradict themselves, that stands for none.
_ZERO = 1e-5
#: What the last step may change in units of the weight, in which all is of order one; what rounding changes of f.
_CONVERGED, _ROUNDING = 1e-8, 1e-16
#: Steps from one weight to the next (five to ten are usual), and how often the way may be halved.
STEPS = 150
HALVINGS = 5
#: Steps along the central path (20 are usual), and how far from what is aimed at they go by Mehrotra's rule.
CENTRAL = 60
_AFFINE = 1.5
#: Processor time [s] of steps that led nowhere after which all further ones are left to other solvers.
PATIENCE = 8.0
#: Rows of the Hessian's root that are squared at a time, each band without the columns that are zero in it.
_BAND = 96
#: Where the diagonal of a link stands among its coordinates.
_ON_DIAGONAL = np.flatnonzero(IDENTITY)
#: Share of the way to the edge that a step may go.
_INSIDE = 0.95
#: Share of the first step up to which another target's solution is too far to start from.
_STRAIGHT = 0.2
#: mu at the start relative to f, far from the solution and near it; a tenth of the weight at most.
_COLD = 1e-2
#: How much it falls after a step that goes well.
_FALL = 0.1
#: The point on a central path from which another target takes fewest steps: its mu, in roots of the last one.
_HALF = 3.0


@dataclass(frozen=True, eq=False)
class _Point:
    """Factors (n, 4, 4) of the links' Q = L L' and Z = R R', which stay positive however thin a body gets; terms; y."""

    L: Array
    R: Array
    terms: Array
    y: Array


@dataclass(frozen=True, eq=False)
class _Target:
    """|A x - z|^2 + constant: the mean squared weighted residual.

    local: gives the program at links L L' and multipliers R R', residuals r, curvature y / s of each sign; None where
    rounding leaves nothing of the product of links and multipliers.
    """

    A: Array
    z: Array
    constant: float
    local: Callable[[Array, Array, Array, Array], _Local | None]

    @cached_property
    def rounding(self) -> float:
        """What rounding of A x, which nearly is z, changes of it: 100 times the square of its last digit."""
        return 100.0 * (np.finfo(float).eps * float(np.linalg.norm(self.z))) ** 2


@dataclass(frozen=True, eq=False)
class _Local:
    """The program in `scaled` coordinates: inequalities G, linear, gradient of the square; step(gradient) solves."""

    B: Array
    inverse: Array
    v: Array
    G: Array
    linear: Array
    gradient: Array
    step: Callable[[Array], Array]


class LogDetNewton:
    """The program of a model, prior and bounds.

    `interior` is False where no links that can exist lie strictly inside of the bounds; then it has no path.
    `lost` [s]: processor time without result; where it exceeds PATIENCE, paths end.
    """

    def __init__(self, model: Model, base: BaseParameters, coordinates: Coordinates, bounds: Bounds):
        self._coordinates, self._K = coordinates, base.K @ coordinates.T
        self._links, p = model.n_rigid, len(coordinates.T)
        blocks = feasible(model, bounds, coordinates)
        rows = {cone: np.concatenate([o.A for o in blocks if o.cone == cone]) for cone in ("zero", "nonnegative")}
        self._E = rows["zero"][:, :p]
        signs = rows["nonnegative"][rows["nonnegative"][:, :p].any(axis=1)]
        self._G, self._h = -signs[:, :p], signs[:, p]
        # a sign of one joint term is the same in all coordinates, and adds to the Hessian's diagonal alone
        self._wide = self._G[:, : self._links].any(axis=1) | (np.count_nonzero(self._G, axis=1) > 1)
        self._squares = np.where(self._wide, 0.0, (self._G**2).T)[self._links :]
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
        self._halfway: dict[float, _Point] = {}  # on the first central path to each weight, likewise

    def ahead(self, weights: tuple[float, ...]) -> tuple[float, ...]:
        """Return, of falling weights, those from the last one on that another target was solved at."""
        return weights[max((k for k, weight in enumerate(weights) if weight in self._known), default=0) :]

    def path(self, factor: Array, samples: float, weights: Sequence[float]) -> list[Array]:
        """Return theta (p,) at each of the falling weights, up to the first that is not reached."""
        if not self.interior or self.lost > PATIENCE:
            return []
        found: list[Array] = []
        x, before = None, weights[0]
        with one_thread():
            target = self._target(factor, samples, self._linear)
            for weight in weights:
                known = self._known.get(weight)
                near = None if known is None else self._minimised(target, weight, known, 0.0, far=False)
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
        halfway, cold = self._halfway.get(weight), weight <= target.constant
        x = halfway and self._central(target, weight, halfway)
        x = x or (self._central(target, weight, self._cold(target, weight)) if cold else None)
        x = x or self._minimised(target, weight, self._cold(target, weight), _COLD)
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
        reached = self._central(target, weight, x) or self._minimised(target, weight, x, 0.0)
        if reached is None and halvings and self.lost < PATIENCE:
            middle = float(np.sqrt(weight * before))
            between = self._reached(target, middle, x, before, halvings - 1)
            return None if between is None else self._reached(target, weight, between, middle, halvings - 1)
        return reached

    def _minimised(
        self, target: _Target, weight: float, start: _Point, mu: float, *, far: bool = True
    ) -> _Point | None:
        """Return the minimum from an interior point, or None where it is not reached; mu: to start with, relative.

        far: whether to go on where the first step soon meets an edge.
        """
        from ident.estimate.newton_kernels import moved

        links, began = self._links, time.process_time()
        L, R, terms, y = start.L, start.R, start.terms, start.y
        x = _joined(L, terms)
        r, s = target.A @ x - target.z, self._room(x)
        mu *= float(r @ r) + target.constant + weight
        for _ in range(STEPS):
            size = float(r @ r) + target.constant + weight
            last = ACCURACY * size / max(len(s), 1)
            mu = max(mu, last)
            local = target.local(L, R, r, y / s)
            if local is None:
                break
            aim, shift = np.where(self._stated, weight, mu), _diagonal(weight / local.v)
            d, ds, dy, slope = self._direction(local, local.gradient + weight * local.linear, shift, aim, y, s)
            enough = max(min(ACCURACY * size, _CONVERGED * weight), _ROUNDING * size, target.rounding)
            found = mu <= last and -slope < enough
            L, R, step = moved(local.B, local.inverse, local.v, d, shift, _fall(ds / s), _INSIDE)
            # each Z and y goes its own way: they only shape the quadratic model
            terms, y = terms + step * d[links:], np.maximum(y + dy, (1.0 - _INSIDE) * y)
            if found:
                return _Point(L, R, terms, y)
            if not far and step < _STRAIGHT:
                return None
            far = True
            r, s = target.A @ _joined(L, terms) - target.z, s + step * ds
            mu *= _FALL ** (2.0 * step)
        self.lost += time.process_time() - began
        return None

    def plain(self, factor: Array, samples: float, ridge: float = 0.0, gap: float = GAP) -> Array | None:
        """Return theta (p,) of least |A x - z| + SLIGHT * trace / 2, without a prior; None where it is not reached.

        ridge: what |x|^2 adds to the norm's square; gap: how far the norm may be from its least.
        """
        if not self.interior or self.lost > PATIENCE:
            return None
        target, links = self._target(factor, samples, self._coordinates.trace, ridge), self._links
        r, s = target.A @ self._start - target.z, self._h - self._G @ self._start
        mu = 0.1 * float(r @ r) + 1e-3 * target.constant + 1e-9 * float(target.z @ target.z)
        mu /= 4 * links // 10 + len(s)
        L = np.asarray(np.linalg.cholesky(_matrices(self._start[:links])), dtype=np.float64)
        start = _Point(L, np.sqrt(mu) * np.linalg.inv(L).mT, self._start[links:], mu / s)
        halfway = self._halfway.get(0.0)
        found = (halfway and self._central(target, 0.0, halfway, gap)) or self._central(target, 0.0, start, gap)
        return None if found is None else self._coordinates.T @ _joined(found.L, found.terms)

    def _central(self, target: _Target, weight: float, start: _Point, gap: float = GAP) -> _Point | None:
        """Return the minimum from an interior point near the central path, or None where it is not reached.

        Far from what they aim at, all Q_i Z_i and y (h - G x) aim at one mu, which falls as Mehrotra (1992) chooses it,
        each step corrected to second order. Without a weight, the norm itself and SLIGHT of the trace are minimised.
        """
        from ident.estimate.newton_kernels import moved, second_order

        links, began = self._links, time.process_time()
        L, R, terms, y = start.L, start.R, start.terms, start.y
        x = _joined(L, terms)
        r, s = target.A @ x - target.z, self._room(x)
        count, halfway = 4 * links // 10 + len(s), start
        for _ in range(CENTRAL):
            slope, enough, last = self._aims(target, weight, float(r @ r), count, gap)
            aims = np.where(self._stated & (weight > 0.0), weight, last)
            local = target.local(L, R, r, y / s)
            if local is None:
                break
            v, now = local.v, (float(np.sum(local.v**2)) + float(y @ s)) / count
            far = now * count > _AFFINE * (4 * links // 10 * (weight or last) + aims.sum())
            if now > _HALF * np.sqrt(last):
                halfway = _Point(L, R, terms, y)
            base = local.gradient + slope * local.linear
            shift, aim = _diagonal((0.0 if far else weight or last) / v), np.zeros(len(s)) if far else aims
            d, ds, dy, change = self._direction(local, base, shift, aim, y, s)
            cross, fall = second_order(v, d, shift)
            short = 1.0 - 1.0 / max(1.0, -min(fall, _fall(ds / s), _fall(dy / y)))
            found = not far and -change < enough
            if far or short == 0.0:
                mu = max(short**3, 1e-3) * now if far else 0.0
                aim = np.maximum(mu, aims) - ds * dy
                shift = _diagonal(max(mu, weight or last) / v) - cross
            else:
                mu = short**3 * now
                aim, shift = np.maximum(mu, aims), _diagonal(max(mu, weight or last) / v)
            d, ds, dy, _ = self._direction(local, base, shift, aim, y, s)
            L, R, step = moved(local.B, local.inverse, v, d, shift, _fall(ds / s), _INSIDE)
            terms, y = terms + step * d[links:], y + dy * _INSIDE / max(-_fall(dy / y), _INSIDE)
            if found:
                self._halfway.setdefault(weight, halfway)
                return _Point(L, R, terms, y)
            r, s = target.A @ _joined(L, terms) - target.z, s + step * ds
        self.lost += time.process_time() - began
        return None

    def _room(self, x: Array) -> Array:
        """Return h - G x, no less than its own rounding, which may be more than what steps have left of it."""
        least = np.finfo(float).eps * (np.abs(self._h) + np.abs(self._G) @ np.abs(x))
        return np.asarray(np.maximum(self._h - self._G @ x, least))

    def _aims(
        self, target: _Target, weight: float, square: float, count: int, gap: float
    ) -> tuple[float, float, float]:
        """Return the slope of what is linear, what the last step may change, and the least mu of each inequality."""
        if weight:
            size = square + target.constant + weight
            enough = max(min(ACCURACY * size, _CONVERGED * weight), _ROUNDING * size, target.rounding)
            return weight, enough, ACCURACY * size / max(len(self._h), 1)
        # in the square of the norm; where the norm can be zero, SLIGHT still has a say
        norm = float(np.sqrt(square + _ZERO**2 * target.constant))
        enough = max(2.0 * gap * norm, target.rounding)
        return SLIGHT * norm, 10.0 * enough, enough / count

    def _direction(
        self, local: _Local, base: Array, shift: Array, aim: Array, y: Array, s: Array
    ) -> tuple[Array, Array, Array, float]:
        """Return the step towards links' `shift` and inequalities' `aim`, what it changes of s and y, and its slope."""
        gradient = base + (aim / s) @ local.G
        gradient[: self._links] -= shift
        d = local.step(gradient)
        ds = -local.G @ d
        return d, ds, (aim - y * ds) / s - y, float(gradient @ d)

    def _target(self, factor: Array, samples: float, linear: Array, ridge: float = 0.0) -> _Target:
        """Return the square, and ridge |x|^2 with it, where `linear` is what the weight is multiplied with."""
        from ident.estimate.newton_kernels import scaled  # which imports numba

        b, links, wide, scale = len(self._K), self._links, self._wide, 1.0 / np.sqrt(samples)
        A, z = factor[:b, :b] @ self._K * scale, factor[:b, b] * scale
        if ridge:
            A, z = np.concatenate([A, np.sqrt(ridge) * np.eye(A.shape[1])]), np.append(z, np.zeros(A.shape[1]))
        m = len(A)
        g = m + int(wide.sum())
        rows = np.concatenate([np.sqrt(2.0) * A, self._G[wide], linear[None], self._E])
        ends, turned, G = _zeros(rows[:m, :links]), rows.copy(), self._G.copy()
        bands = [*_bands(ends[:, 0], m), *([(m, 0)] if g > m else ())]

        def at(L: Array, R: Array, r: Array, curvature: Array) -> _Local | None:
            B, inverse, v = scaled(L, R, rows, ends, turned)
            if not v.min() > 0.0:
                return None
            if g > m:
                G[wide] = turned[m:g]
                turned[m:g] *= np.sqrt(curvature[wide])[:, None]
            added = np.concatenate([np.ones(links), self._squares @ curvature])
            step = _factored(turned[:g], bands, added, turned[g + 1 :])
            if g > m:
                turned[m:g, links:] = rows[m:g, links:]
            return step and _Local(B, inverse, v, G, turned[g], np.sqrt(2.0) * (r @ turned[:m]), step)

        return _Target(A, z, float((factor[b, b] * scale) ** 2), at)


def _zeros(rows: Array) -> NDArray[np.int64]:
    """Return (n, 2): from which row to which one all that stands below the ten columns of each link is zero.

    R K is upper triangular in steps: a base parameter is named after the first that it holds.
    """
    m = len(rows)
    some = np.asarray(rows.reshape(m, -1, 10).any(axis=2))
    last = m - np.argmax(some[::-1], axis=0) if m else np.zeros(some.shape[1], dtype=np.int64)
    return np.column_stack([np.where(some.any(axis=0), last, 0), np.full(some.shape[1], m)])


def _bands(ends: NDArray[np.int64], m: int) -> list[tuple[int, int]]:
    """Return from which row on each band of rows begins, and before which column all of them are zero.

    ends (n,): the row from which on the ten columns of each link are zero.
    """
    starts = range(_BAND, m, _BAND)
    return [(0, 0), *((k, 10 * int(np.argmin(np.append(ends <= k, False)))) for k in starts)]


def _fall(relative: Array) -> float:
    """Return the most negative of relative changes, 0 where none is."""
    return float(relative.min(initial=0.0))


def _diagonal(v: Array) -> Array:
    """Return the coordinates (10 n,) of diagonal matrices v (n, 4)."""
    found = np.zeros((len(v), 10))
    found[:, _ON_DIAGONAL] = v
    return found.ravel()


def _matrices(links: Array) -> Array:
    """Return the symmetric matrices (n, 4, 4) of coordinates (10 n,)."""
    return np.asarray((links.reshape(-1, 10) @ SYMMETRIC.T).reshape(-1, 4, 4))


def _joined(L: Array, terms: Array) -> Array:
    """Return x (p,): the coordinates of each Q = L L', and the joint terms."""
    return np.append((L @ L.mT).reshape(-1, 16) @ SYMMETRIC, terms)


def _factored(root: Array, bands: list[tuple[int, int]], added: Array, E: Array) -> Callable[[Array], Array] | None:
    """Return what solves for d = argmin gradient @ d + |root @ d|^2 / 2 + added @ d^2 / 2 with E @ d = 0.

    bands: as `_bands` of the rows of root. None where numbers have grown beyond all size.
    """
    from scipy.linalg.blas import dsyrk
    from scipy.linalg.lapack import dpotrf, dpotrs, dtpqrt

    hessian = dsyrk(1.0, root[: bands[1][0] if bands[1:] else len(root)].T, lower=1)
    for (k, c), (end, _) in pairwise([*bands[1:], (len(root), 0)]):
        hessian[c:, c:] += dsyrk(1.0, root[k:end, c:].T, lower=1)
    diagonal = hessian.T.reshape(-1)[:: len(hessian) + 1]
    diagonal += added
    if not diagonal.max() < 1e200:
        return None
    unit = np.sqrt(diagonal)
    L, failed = dpotrf(hessian, lower=1, overwrite_a=1, clean=0)  # a quarter faster than the upper one
    if failed or (L.diagonal() < 1e-6 * unit).any():  # the square has lost half of the digits
        unit[unit == 0.0] = 1.0
        R = dtpqrt(0, min(BLOCK, len(unit)), np.diag(np.sqrt(added) / unit), root / unit)[0]
        np.fill_diagonal(R, np.where(np.abs(np.diag(R)) < 1e-13, 1.0, np.diag(R)))
        L = (R * unit).T
    C = dpotrs(L, E.T, lower=1)[0] if len(E) else None

    def step(gradient: Array) -> Array:
        d = dpotrs(L, gradient, lower=1)[0]
        return np.asarray(-d if C is None else C @ np.linalg.lstsq(E @ C, E @ d)[0] - d)

    return step
