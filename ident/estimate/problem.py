"""Links that explain the logs and are near the prior, at any weight: by the entropic divergence or a constant metric.

Both ways take the squared residual from the factors of a regression, and have the same three methods.

Joint terms that the logs do not determine take the prior's value, 0 where it has none. Nothing else decides on them:
what no torque depends on would stay wherever a solver stopped; of what torque shows only in a sum (such as Coulomb
friction and offset of a joint that turned one way) the parts would run away from each other: there one part takes its
value, and the others what is left of the sum.

The entropic fit is one convex program. With links J_i = C_i Q_i C_i' in `Coordinates`, and J0_i the prior's,

    minimise    ||A x - z||^2 / N + weight * sum_i (tr(J0_i^-1 J_i) - log det Q_i)
    subject to  the cones of `feasible`: Q_i >= 0 (an LMI), friction >= 0, bounds.

The bracket is the divergence from the prior up to a constant, whatever the centre. `log_det_newton` is faster;
`Program` takes over where it fails: without a weight, Clarabel for the norm alone; then the program as cvxpy reads it,
which is the tests' second opinion too. A solver is at its best near the centre: so near a solution for another weight,
where one is known. Where it has to stand in, the time is limited: Newton's method and it may take SECONDS without
result.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ident.arrays import Array
from ident.errors import EstimationError, InputError, need
from ident.estimate.bounds import Bounds
from ident.estimate.cones import (
    ADVICE,
    RIDGE,
    SECONDS,
    SYMMETRIC,
    Block,
    Coordinates,
    ball,
    edge,
    feasible,
    interior,
    least_norm,
    require_possible,
    stated,
)
from ident.estimate.estimate import rounded, written_within
from ident.estimate.least_squares import solve, solved, triangular
from ident.estimate.log_det_newton import GAP, SLIGHT, LogDetNewton
from ident.estimate.prior import Metric, Prior, Tolerances, drawn_factor, settled, usual_factor
from ident.model.model import Model
from ident.regression.base import BaseParameters
from ident.regression.regression import Regression, lengths
from ident.spatial.inertia import PSEUDO_INERTIA_MAP, pseudo_inertia, to_com

#: How far outside of what can exist, in units of the prior's body, a solution may stop and still count as accurate.
EDGE = 1e-6
#: How far the norm of a draw may be from its least: no base parameter moves by 2e-3 of its standard error.
AGAIN = 1e-7
#: Relative excess of the squared residual that the vanishing weight may cost.
VANISHING = 1e-6
SOLVERS = ("CLARABEL", "SCS")
_OPTIONS: dict[str, dict[str, Any]] = {"CLARABEL": {}, "SCS": {"eps_abs": 1e-9, "eps_rel": 1e-9, "max_iters": 20_000}}
_LIMIT = {"CLARABEL": "time_limit", "SCS": "time_limit_secs"}


@dataclass(frozen=True, eq=False)
class Solution:
    """theta (p,); `solver` that found it, and those that failed before; `accurate`: it met its tolerances and EDGE."""

    theta: Array
    solver: str
    accurate: bool


class Program:
    """The program of a model and bounds, for many factors, weights and centres."""

    def __init__(self, model: Model, base: BaseParameters, coordinates: Coordinates, bounds: Bounds):
        self._model, self._base, self._start, self._bounds = model, base, coordinates, bounds
        self._spent = 0.0  # processor time [s] of cvxpy's solvers

    def plain(self, factor: Array, samples: float) -> Solution | None:
        """Return the accurate solution without a prior, by Clarabel itself; None where it is not found."""
        A, z = self._rows(factor, samples, self._start)
        linear = 0.5 * SLIGHT * self._start.trace
        try:
            x, _ = least_norm(A, z, feasible(self._model, self._bounds, self._start), linear=linear, gap=GAP)
        except EstimationError:
            return None
        found = self._solution(x, self._start, "CLARABEL", exact=True)
        return found if found.accurate else None

    def stated(
        self, factor: Array, samples: float, weight: float, near: Array | None = None, seconds: float = SECONDS
    ) -> Solution:
        """Return the solution by cvxpy: the first solver's accurate one, else an inaccurate one.

        factor (b + 1, b + 1): the weighted one of `samples` rows; weight multiplies the divergence against the mean
        squared weighted residual; near: a theta (p,) close to the solution; seconds: processor time that all calls
        together may take. Raises EstimationError, with the status of
        every solver, where none is found.
        """
        try:
            need("cvxpy")
        except InputError as missing:
            raise EstimationError(f"the constrained fit was not solved at weight {weight:g}: {missing}") from None
        at, inaccurate, told = self._start, None, list[str]()
        if near is not None:
            at = at.at(interior(near[: self._model.n_rigid], at.prior))
        blocks = feasible(self._model, self._bounds, at)
        problem, x = statement(blocks, *self._rows(factor, samples, at), at.trace, weight, stated(self._model, at))
        for solver in SOLVERS:
            left, start = seconds - self._spent, time.process_time()
            status = _status(problem, solver, left) if left > 0 else "out of time"
            self._spent += time.process_time() - start
            if status in ("optimal", "optimal_inaccurate") and x.value is not None:
                after = f" (after {'; '.join(told)})" if told else ""
                solution = self._solution(x.value, at, solver + after, exact=status == "optimal")
                if solution.accurate:
                    return solution
                inaccurate = inaccurate or solution
            told.append(f"{solver}: {status}")
        if inaccurate is None:
            raise EstimationError(
                f"the constrained fit was not solved at weight {weight:g} ({'; '.join(told)}). The solvers failed,"
                f" nothing says that no solution exists. {ADVICE}"
            )
        return inaccurate

    def _rows(self, factor: Array, samples: float, at: Coordinates) -> tuple[Array, Array]:
        """Return A, z with |A x - z|^2 the mean squared weighted residual above that of least squares."""
        per_sample = 1.0 / np.sqrt(samples)
        return factor[:-1, :-1] @ self._base.K @ at.T * per_sample, factor[:-1, -1] * per_sample

    def _solution(self, x: Array, at: Coordinates, solver: str, *, exact: bool) -> Solution:
        theta = at.T @ x
        inside = edge(theta[: self._model.n_rigid], at.prior) > -EDGE * at.size
        return Solution(theta, solver, exact and inside)


def statement(blocks: list[Block], A: Array, z: Array, trace: Array, weight: float, given: Array) -> tuple[Any, Any]:
    """Return the program in cvxpy's words, and its x.

    blocks: the cones of (x, 1), links first; given: the prior's value of each joint term in its unit, NaN for none.
    """
    import cvxpy as cp

    x = cp.Variable(len(trace))
    links: list[Any] = []
    constraints: list[Any] = []
    for block in blocks:
        if not len(block.b):  # cvxpy 1.6 has no empty expressions
            continue
        rows = block.A[:, :-1] @ x + block.A[:, -1]
        if block.cone == "semidefinite":
            links.append(cp.reshape(SYMMETRIC @ rows, (4, 4), order="C"))
            constraints.append(links[-1] >> 0)
        else:
            constraints.append(rows == 0 if block.cone == "zero" else rows >= 0)
    unit = max(weight, 1.0)  # of the objective: keeps it of order one
    objective = cp.sum_squares(A / np.sqrt(unit) @ x - z / np.sqrt(unit)) + (weight or SLIGHT) / unit * (trace @ x)
    if weight > 0.0:
        known = np.flatnonzero(given > 0)
        divergence = -sum(cp.log_det(Q) for Q in links)
        if len(known):
            y = cp.multiply(1.0 / given[known], x[len(trace) - len(given) + known])  # the same divergence of one number
            divergence += cp.sum(y) - cp.sum(cp.log(y))
        objective += weight / unit * divergence
    return cp.Problem(cp.Minimize(objective), constraints), x


def _status(problem: Any, solver: str, seconds: float) -> str:
    import cvxpy as cp

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an inaccurate solution is reported by its status
            problem.solve(solver=solver, **_OPTIONS[solver], **{_LIMIT[solver]: seconds})
    except cp.error.SolverError as cause:
        return str(cause).split(".", maxsplit=1)[0]
    return str(problem.status)


#: Share of the squared residual that a weight may cost where the solution without it stands for its own.
_SLIGHT = 1e-10
_TOWARDS_ZERO = tuple(float(w) for w in 10.0 ** -np.arange(0.0, 12.5, 1.0))


def samples(regression: Regression) -> float:
    """Return the number of rows of all joints together."""
    return float(regression.rows.sum())


@dataclass(frozen=True, eq=False)
class Task:
    """What a fit with a prior is about; sigma (n,) [N m; N]: noise; exist: whether links must be able to exist."""

    model: Model
    regression: Regression
    prior: Prior
    bounds: Bounds
    sigma: Array
    exist: bool = True

    @cached_property
    def drawn(self) -> tuple[Array, list[int]]:
        """What `drawn_factor` makes of the regression."""
        return drawn_factor(self.model, self.regression, self.prior, self.sigma)

    def written(self, theta: Array, regression: Regression) -> Array:
        """Return theta (p,), fitted to a regression, with the digits that are written."""
        task = self if regression is self.regression else replace(self, regression=regression)
        theta = settled(self.model, regression, self.prior, task.drawn[1], theta)
        return written_within(self.model, theta, self.prior, self.bounds) if self.exist else rounded(theta)


class Entropic:
    """The log-det divergence: Newton's method; Clarabel where it fails without a prior, cvxpy where these fail.

    Raises EstimationError, naming the bounds, where no links that can exist keep them.
    """

    def __init__(self, task: Task):
        model, base, bounds = task.model, task.regression.base, task.bounds
        self.task, self._given = task, self._of(task)
        self._coordinates = Coordinates.of(model, task.prior, self._given[0], base)
        require_possible(model, bounds, self._coordinates)
        self._program = Program(model, base, self._coordinates, bounds)
        self._newton = LogDetNewton(model, base, self._coordinates, bounds)

    def solved(self, weight: float, weights: tuple[float, ...] = ()) -> Solution:
        """Return the solution at one weight; weights: falling ones that lead there, where the way is a long one."""
        if weight > 0.0:
            *_, last = self.along(self._newton.ahead(weights or (weight,)))
            return last
        return self._plain(self._given) or self._stated(self._given, 0.0, None)

    def again(self, regression: Regression, weight: float) -> Solution:
        """Return the solution for other torques of the same motions, from where the first ones were solved."""
        if weight > 0.0:
            return next(self.along((weight,), regression))
        given = self._of(replace(self.task, regression=regression))
        return self._plain(given, AGAIN) or self._stated(given, 0.0, None)

    def along(self, weights: tuple[float, ...], regression: Regression | None = None) -> Iterator[Solution]:
        """Yield the solutions at falling weights, where Newton's method does not get there by other solvers."""
        task = self.task if regression is None else replace(self.task, regression=regression)
        factor, count = self._given if task is self.task else self._of(task)
        usual = usual_factor(task.model, task.regression, task.prior, task.sigma, factor)
        yield from self._along(weights, (usual, count))

    def _along(self, weights: tuple[float, ...], given: tuple[Array, float]) -> Iterator[Solution]:
        found = self._newton.path(*given, weights)
        yield from (Solution(theta, "NEWTON", True) for theta in found)
        near = found[-1] if found else None
        plain = self._plain(given) if len(found) < len(weights) else None
        for weight in weights[len(found) :]:
            # a barrier of four logarithms a link costs that many times its weight (Boyd, Vandenberghe 2004, 11.2.2)
            barrier = 4 * self.task.model.robot.n * weight * given[1]
            slight = plain is not None and barrier < _SLIGHT * self._squared(plain.theta, given[0])
            solution = plain if slight and plain is not None else self._stated(given, weight, near)
            yield solution
            near = solution.theta

    def closest(self, residual_bound: float) -> tuple[Solution, float]:
        """Return the solution at the largest weight, by decades, whose residual is within the bound, and the weight."""
        factor, count = self._given
        least = self._least(factor, count)
        for weight, solution in zip(_TOWARDS_ZERO, self._along(_TOWARDS_ZERO, self._given), strict=True):
            if solution.accurate and self._squared(solution.theta, factor) <= least * (1.0 + residual_bound):
                return solution, weight
        problem = f"no weight of the prior is small enough to reach the least residual within {residual_bound:g}"
        raise EstimationError(problem)

    def _least(self, factor: Array, count: float) -> float:
        """Return the least squared residual of links that can exist, those beyond all size apart."""
        theta = self._newton.plain(factor, count, RIDGE)
        if theta is None:
            blocks = feasible(self.task.model, self.task.bounds, self._coordinates)
            rows = factor[:-1, :-1] @ self.task.regression.base.K @ self._coordinates.T
            theta = self._coordinates.T @ least_norm(rows, factor[:-1, -1], blocks, RIDGE * count)[0]
        return self._squared(theta, factor)

    def _squared(self, theta: Array, factor: Array) -> float:
        return float(np.sum((factor @ np.append(self.task.regression.base.K @ theta, -1.0)) ** 2))

    def _plain(self, given: tuple[Array, float], gap: float = GAP) -> Solution | None:
        """Return the solution without a prior, None where neither Newton's method nor Clarabel finds it."""
        theta = self._newton.plain(*given, gap=gap)
        if theta is not None:
            return Solution(theta, "NEWTON", True)
        found = self._program.plain(*given)
        return None if found is None else replace(found, solver=f"{found.solver} (after NEWTON)")

    def _stated(self, given: tuple[Array, float], weight: float, near: Array | None) -> Solution:
        seconds = SECONDS - self._newton.lost
        found = self._program.stated(*given, weight, near, seconds)
        return found if found.accurate else self._program.stated(*given, weight, found.theta, seconds)

    def _of(self, task: Task) -> tuple[Array, float]:
        return task.drawn[0], samples(task.regression)


class Quadratic:
    """weight times half the square of a constant metric; the links may or may not have to exist.

    Raises EstimationError as `Entropic`.
    """

    def __init__(self, task: Task, metric: Metric):
        self.task, self.metric = task, metric
        factor = task.regression.factor(task.sigma)
        self._start = Coordinates.of(task.model, task.prior, factor, task.regression.base)
        if task.exist:
            require_possible(task.model, task.bounds, self._start)

    def solved(self, weight: float, weights: tuple[float, ...] = ()) -> Solution:
        """Return the solution at one weight."""
        return self._at(self.task.regression, weight)

    def again(self, regression: Regression, weight: float) -> Solution:
        """Return the closest solution for other torques of the same motions."""
        return self._at(regression, 0.0, VANISHING)

    def along(self, weights: tuple[float, ...], regression: Regression | None = None) -> Iterator[Solution]:
        """Yield the solutions at some weights."""
        yield from (self._at(regression or self.task.regression, weight) for weight in weights)

    def closest(self, residual_bound: float) -> tuple[Solution, float]:
        """Return the solution of least distance whose squared residual is within the bound, and 0 for its weight."""
        return self._at(self.task.regression, 0.0, residual_bound), 0.0

    def _at(self, regression: Regression, weight: float, residual_bound: float | None = None) -> Solution:
        """Return the solution, found once more from where it stopped where it is not accurate."""
        task, start, links = self.task, self._start, self.task.model.n_rigid
        theta = start.T @ self._x(start, regression, weight, residual_bound)
        if not task.exist:
            return Solution(theta, "CLARABEL", True)
        if edge(theta[:links], task.prior) < -EDGE * start.size:
            again = start.at(interior(theta[:links], task.prior))
            theta = again.T @ self._x(again, regression, weight, residual_bound)
        return Solution(theta, "CLARABEL", edge(theta[:links], task.prior) > -EDGE * start.size)

    def _x(self, at: Coordinates, regression: Regression, weight: float, residual_bound: float | None) -> Array:
        """Return the coordinates of the solution; |rows @ x - centre|^2 is the squared residual above least squares."""
        task, count = self.task, samples(regression)
        factor, phi = regression.factor(task.sigma), solve(regression, task.sigma)
        if weight > 0.0:
            factor = usual_factor(task.model, regression, task.prior, task.sigma, factor)
            phi = solved(factor)
        W = factor[:-1, :-1]
        rows, centre = triangular(W @ regression.base.K @ at.T, W @ phi)
        blocks = feasible(task.model, task.bounds, at)
        if not task.exist:
            blocks = [b for b in blocks[task.model.robot.n + 1 :] if len(b.b)]  # the bounds alone
        metric, origin = joined(task.model, task.prior, self.metric)
        metric, origin = metric @ at.T, metric @ origin
        if residual_bound is not None:
            if not blocks:
                return _nearest(rows, centre, metric, origin)
            _, distance = least_norm(rows, centre, blocks, RIDGE * count)
            residual = float(np.sum((W @ phi - factor[:-1, -1]) ** 2) + factor[-1, -1] ** 2)
            radius = float(np.sqrt(distance**2 + residual_bound * (residual + distance**2)))
            return least_norm(metric, origin, [*blocks, ball(rows, centre, radius)])[0]
        if weight > 0.0:
            unit = np.sqrt(2.0 / (weight * count))
            rows, centre = np.concatenate([unit * rows, metric]), np.append(unit * centre, origin)
        if not blocks:
            return np.asarray(np.linalg.lstsq(rows, centre, rcond=None)[0])
        blocks = [*blocks, *(self._stout(at) if task.exist else ())]
        return least_norm(*triangular(rows, centre), blocks, 0.0 if weight > 0.0 else RIDGE * count)[0]

    def _stout(self, at: Coordinates) -> list[Block]:
        """Return [[S - k m S_0 / m_0, h], [h^T, m]] >= 0: S = integral r r^T dm, S_0 the prior's about its centre.

        Under tolerances bodies would shrink to sticks and points: no radius of gyration of the mass along any axis
        falls below 1 / (2 + 2 t) of the prior's, t being the tolerance of the tensor, but in links with bounds.
        """
        if not isinstance(self.metric, Tolerances):
            return []
        found, task = [], self.task
        bounded, bodies = task.bounds.shaped(), task.prior.inertials
        each = np.broadcast_to(self.metric.tensor, len(bodies))
        for i, (link, body, share) in enumerate(zip(task.model.robot.links, bodies, each, strict=True)):
            if link in bounded:
                continue
            m, c, _ = to_com(body)
            J = pseudo_inertia(body)
            taken = np.zeros((4, 4))
            taken[:3, :3] = (J[:3, :3] / m - np.outer(c, c)) / (2.0 + 2.0 * share) ** 2
            less = PSEUDO_INERTIA_MAP - np.outer(taken.ravel(), np.eye(10)[0])
            D = np.linalg.inv(np.linalg.cholesky(J))
            A = SYMMETRIC.T @ np.kron(D, D) @ less @ at.T[10 * i : 10 * i + 10]
            found.append(Block(np.column_stack([A, np.zeros(10)]), np.zeros(10), "semidefinite"))
        return found


def joined(model: Model, prior: Prior, metric: Metric) -> tuple[Array, Array]:
    """Return a root (m, p) of the metric on theta, with |y / y_0 - 1| for stated joint terms, and theta_0 (p,)."""
    stated = np.array([prior.joint_values.get(name, 0.0) for name in model.names[model.n_rigid :]])
    known = np.flatnonzero(stated)
    links = metric.root(prior)
    share = metric.joint if isinstance(metric, Tolerances) else 1.0
    root = np.zeros((len(links) + len(known), len(model.names)))
    root[: len(links), : model.n_rigid] = links
    root[len(links) + np.arange(len(known)), model.n_rigid + known] = 1.0 / (share * np.abs(stated[known]))
    return root, np.append(prior.inertials.ravel(), stated)


def _nearest(rows: Array, centre: Array, metric: Array, origin: Array) -> Array:
    """Return x of least |metric @ x - origin| among those of least |rows @ x - centre|."""
    scale = lengths(rows)
    u, s, vt = np.linalg.svd(rows / scale)
    rank = int(np.count_nonzero(s > 1e-9 * s.max(initial=0.0)))
    x = vt[:rank].T @ ((u.T @ centre)[:rank] / s[:rank]) / scale
    free = vt[rank:].T / scale[:, None]
    return np.asarray(x + free @ np.linalg.lstsq(metric @ free, origin - metric @ x, rcond=None)[0])
