"""The physically consistent fit as one convex program: LMIs and bounds, regularised towards a prior.

With links J_i = C_i Q_i C_i' in the coordinates of `coordinates`, and J0_i the prior's pseudo-inertias,

    minimise    ||A x - z||^2 / N + weight * sum_i (tr(J0_i^-1 J_i) - log det Q_i)
    subject to  the cones of `feasible`: Q_i >= 0 (an LMI), friction >= 0, bounds.

The bracket is the divergence from the prior up to a constant, whatever the centre. `log_det_newton` is faster; here
stands what takes over where it fails: without a weight, Clarabel for the norm alone; then the program as cvxpy reads
it, which is the tests' second opinion too.

A solver is at its best when the solution is near the centre: so near a solution for another weight, where one is known.
Where it has to stand in, the time is limited, found or not: Newton's method and it may take SECONDS without result.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from ident.arrays import Array
from ident.errors import EstimationError, InputError, need
from ident.estimate.bounds import Bounds
from ident.estimate.cones import ADVICE, SECONDS, Block, feasible, least_norm
from ident.estimate.coordinates import SYMMETRIC, Coordinates, edge, interior, stated
from ident.estimate.log_det_newton import GAP, SLIGHT
from ident.model.model import Model
from ident.regression.base import BaseParameters

#: How far outside of what can exist, in units of the prior's body, a solution may stop and still count as accurate.
EDGE = 1e-6
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
