"""The constrained fit as one convex program on the compressed factor.

Links are written as J_i = C_i Q_i C_i' around a centre C_i C_i', joint terms in units of what one of them alone would
explain, so that every unknown is of order one. With J0_i the prior's pseudo-inertias the program is

    minimise    ||A x - z||^2 / N + weight * sum_i (tr(J0_i^-1 J_i) - log det Q_i)
    subject to  Q_i >= 0, friction >= 0, bounds.

The bracket is the divergence from the prior up to a constant, whatever the centre. log det Q is the largest sum of
log diag(Z) with Z lower triangular and [[Q, Z], [Z', diag Z]] >= 0.

A solver is at its best when the solution is near the centre. So a small weight is reached, where the direct way fails,
by a path: from a large weight, whose solution is near the prior, down by decades, each solution being the next one's
centre.

What ends without an accurate solution may take SECONDS of processor time in all.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ident.arrays import Array
from ident.errors import EstimationError
from ident.estimate.bounds import Bounds
from ident.estimate.prior import Prior
from ident.model.model import Model
from ident.regression.base import BaseParameters
from ident.spatial.inertia import from_pseudo_inertia, pseudo_inertia

_UPPER = [(i, j) for i in range(4) for j in range(i, 4)]
_LOWER = [(i, j) for i in range(4) for j in range(i + 1)]
#: Weight of sum_i tr(J0_i^-1 J_i) where no prior is asked for: keeps links that no sample shows from growing for ever.
SLIGHT = 1e-8
#: How far outside of what can exist, in units of the prior's body, a solution may stop and still count as accurate.
EDGE = 1e-6
#: Processor time [s] that may be spent on what leads nowhere, before a fit is given up.
SECONDS = 20.0
#: Beyond this ratio of what the logs hold to what the prior explains, either way, the start is scaled to the logs.
_FAR = 100.0
ADVICE = "Check the units of the torques and that the CAD values are of the right size, or give the prior more weight."
SOLVERS = ("CLARABEL", "SCS")
_OPTIONS: dict[str, dict[str, Any]] = {
    "CLARABEL": {},
    "SCS": {"eps_abs": 1e-9, "eps_rel": 1e-9, "max_iters": 20_000},
}
_LIMIT = {"CLARABEL": "time_limit", "SCS": "time_limit_secs"}


@dataclass(frozen=True, eq=False)
class Coordinates:
    """theta = T @ x: upper entries of each Q_i, then joint terms. trace @ x = sum_i tr(J0_i^-1 J_i).

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

    def at(self, bodies: Array) -> Coordinates:
        """Return the same coordinates centred at other bodies (n, 10), which must be positive definite."""
        return _centred(self.scale, self.size, self.prior, bodies)


def _centred(scale: Array, size: float, prior: Prior, bodies: Array) -> Coordinates:
    n = len(bodies)
    T = np.zeros((10 * n + len(scale), 10 * n + len(scale)))
    trace = np.zeros(len(T))
    for i, (body, reference) in enumerate(zip(bodies, prior.inertials, strict=True)):
        C = np.linalg.cholesky(pseudo_inertia(body))
        inverse = np.linalg.inv(pseudo_inertia(reference))
        for k, (a, b) in enumerate(_UPPER):
            Q = np.zeros((4, 4))
            Q[a, b] = Q[b, a] = 1.0
            J = C @ Q @ C.T
            T[10 * i : 10 * i + 10, 10 * i + k] = from_pseudo_inertia(J)
            trace[10 * i + k] = np.sum(inverse * J)
    T[10 * n :, 10 * n :] = np.diag(scale)
    return Coordinates(T, trace, scale, size, prior)


@dataclass(frozen=True, eq=False)
class Solution:
    """theta (p,); `solver` that found it, and those that failed before; `accurate`: it met its tolerances and EDGE."""

    theta: Array
    solver: str
    accurate: bool


class Program:
    """The compiled program of a model and bounds: built once, solved for many factors, weights and centres.

    with_prior: whether the divergence is part of it; without, the weight is ignored.
    """

    def __init__(self, model: Model, base: BaseParameters, coordinates: Coordinates, bounds: Bounds, with_prior: bool):
        import cvxpy as cp

        n, p, b = model.robot.n, len(model.names), len(base.names)
        self._base, self._n, self._with_prior = base, n, with_prior
        self._start = coordinates
        self._lost, self.told = 0.0, ""  # processor time [s] without result, and how the last attempt ended
        found = bounds.on(model)
        unit = np.linalg.norm(found.rows @ coordinates.T, axis=1)  # of each row, where links are like the prior's
        self._rows = found.rows / unit[:, None]
        self._x = x = cp.Variable(p)
        self._A, self._z = cp.Parameter((b, p)), cp.Parameter(b)
        self._trace, self._weight = cp.Parameter(p), cp.Parameter(nonneg=True)
        friction = x[10 * n :]
        constraints = [friction[model.nonnegative] >= 0] if model.nonnegative.any() else []
        if len(self._rows):
            self._G = cp.Parameter((len(self._rows), p))
            sides, e = found.sides / unit, found.equal
            constraints += [self._G[:e] @ x == sides[:e]] if e else []
            constraints += [self._G[e:] @ x <= sides[e:]] if e < len(sides) else []
        objective = cp.sum_squares(self._A @ x - self._z) + self._trace @ x
        if with_prior:
            Z = cp.Variable(10 * n)
            M = _logdet_map()
            pairs = [cp.hstack([x[10 * i : 10 * i + 10], Z[10 * i : 10 * i + 10]]) for i in range(n)]
            constraints += [cp.reshape(M @ pair, (8, 8), order="C") >> 0 for pair in pairs]
            diagonal = [10 * i + k for i in range(n) for k, (a, c) in enumerate(_LOWER) if a == c]
            logarithms = cp.sum(cp.log(Z[diagonal]))
            given = stated(model, coordinates)
            known = np.flatnonzero(given > 0)
            if len(known):  # y - log y for joint terms with a positive prior: the same divergence for a single number
                y = cp.multiply(1.0 / given[known], friction[known])
                logarithms += cp.sum(cp.log(y)) - cp.sum(y)
            objective -= self._weight * logarithms
        else:
            E = _psd_map()
            constraints += [cp.reshape(E @ x[10 * i : 10 * i + 10], (4, 4), order="C") >> 0 for i in range(n)]
        self._problem = cp.Problem(cp.Minimize(objective), constraints)

    def direct(self, factor: Array, samples: float, weight: float, near: Array | None = None) -> Solution | None:
        """Return the accurate solution of the first solver for the weighted factor (b + 1, b + 1) of `samples` rows.

        weight multiplies the divergence against the mean squared weighted residual; near: a theta (p,) close to the
        solution, where known. None where it is not found.
        """
        centre = self._start if near is None else self._start.at(interior(near[: 10 * self._n], self._start.prior))
        found = self._attempt(centre, factor, samples, weight, SOLVERS[:1], rough=False)
        return found if found is not None and found.accurate else None

    def path(self, factor: Array, samples: float, weights: tuple[float, ...]) -> Iterator[Solution]:
        """Yield the solutions at falling weights, each centred at the one before.

        Raises EstimationError, with the status of every solver, where one is not found.
        """
        coordinates = self._start
        for k, weight in enumerate(weights):
            last = k == len(weights) - 1
            solution = self._attempt(coordinates, factor, samples, weight, SOLVERS, rough=True)
            if solution is not None and not solution.accurate:  # once more, from where it stopped
                coordinates = self._start.at(interior(solution.theta[: 10 * self._n], coordinates.prior))
                again = self._attempt(coordinates, factor, samples, weight, SOLVERS, rough=not last)
                solution = again or solution
            if solution is None:
                raise EstimationError(
                    f"the constrained fit was not solved at weight {weight:g} ({self.told}). The solvers failed,"
                    f" nothing says that no solution exists. {ADVICE}"
                )
            yield solution
            coordinates = self._start.at(interior(solution.theta[: 10 * self._n], coordinates.prior))

    def _attempt(
        self,
        coordinates: Coordinates,
        factor: Array,
        samples: float,
        weight: float,
        solvers: tuple[str, ...],
        *,
        rough: bool,
    ) -> Solution | None:
        """Return the first solver's accurate solution, else (at once where `rough` will do) an inaccurate one."""
        b = len(self._base.names)
        unit = max(weight, 1.0) if self._with_prior else 1.0  # of the objective: keeps it of order one
        per_sample = 1.0 / np.sqrt(samples * unit)
        self._A.value = factor[:b, :b] @ self._base.K @ coordinates.T * per_sample
        self._z.value = factor[:b, b] * per_sample
        self._weight.value = weight / unit
        self._trace.value = (weight / unit if self._with_prior else SLIGHT) * coordinates.trace
        if len(self._rows):
            self._G.value = self._rows @ coordinates.T
        inaccurate: Solution | None = None
        told: list[str] = []
        for solver in solvers:
            left, start = SECONDS - self._lost, time.process_time()
            status = _status(self._problem, solver, left) if left > 0 else "out of time"
            if status in ("optimal", "optimal_inaccurate") and self._x.value is not None:
                after = f" (after {'; '.join(told)})" if told else ""
                theta = coordinates.T @ self._x.value
                inside = edge(theta[: 10 * self._n], coordinates.prior) > -EDGE * coordinates.size
                solution = Solution(theta, solver + after, status == "optimal" and inside)
                if solution.accurate:
                    return solution
                inaccurate = inaccurate or solution
            self._lost += time.process_time() - start
            told.append(f"{solver}: {status}")
            if inaccurate is not None and rough:
                break
        self.told = "; ".join(told)
        return inaccurate


def decades(weight: float) -> tuple[float, ...]:
    """Return weights from 1 down to `weight` (or SLIGHT), at most a factor of ten apart."""
    last = max(weight, SLIGHT)
    steps = max(int(np.ceil(np.log10(1.0 / last))), 0)
    return (*(10.0 ** -np.arange(steps)), weight)


def stated(model: Model, coordinates: Coordinates) -> Array:
    """Return the prior's value of each joint term in its unit, NaN where it says nothing or the sign is free."""
    values = [coordinates.prior.joint_values.get(name, np.nan) for name in model.names[model.n_rigid :]]
    return np.where(model.nonnegative, np.array(values, dtype=np.float64) / coordinates.scale, np.nan)


def interior(links: Array, prior: Prior) -> Array:
    """Return the bodies (n, 10), those at the edge moved inside so far that they can be a centre."""
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


def _status(problem: Any, solver: str, seconds: float) -> str:
    import warnings

    import cvxpy as cp

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an inaccurate solution is reported by its status
            problem.solve(solver=solver, **_OPTIONS[solver], **{_LIMIT[solver]: seconds})
    except cp.error.SolverError as cause:
        return str(cause).split(".", maxsplit=1)[0]
    return str(problem.status)


def _psd_map() -> Array:
    """Return E (16, 10) with vec(Q) = E @ q."""
    E = np.zeros((16, 10))
    for k, (i, j) in enumerate(_UPPER):
        E[4 * i + j, k] = E[4 * j + i, k] = 1.0
    return E


def _logdet_map() -> Array:
    """Return M (64, 20) with vec([[Q, Z], [Z', diag Z]]) = M @ (q, z)."""
    M = np.zeros((8, 8, 20))
    for k, (i, j) in enumerate(_UPPER):
        M[i, j, k] = M[j, i, k] = 1.0
    for k, (i, j) in enumerate(_LOWER):
        M[i, 4 + j, 10 + k] = M[4 + j, i, 10 + k] = 1.0
        if i == j:
            M[4 + i, 4 + i, 10 + k] = 1.0
    return M.reshape(64, 20)
