"""The constrained fit as one convex program on the compressed factor.

In whitened coordinates Q_i = L_i^-1 J_i L_i^-T with L_i L_i' the prior's pseudo-inertia of link i, the
divergence from the prior is tr Q - log det Q - 4 and every number is of order one. Joint terms are scaled by what
one of them alone would explain. The program is

    minimise  ||A x - z||^2 / N + weight * sum_i D(Q_i)      subject to  Q_i >= 0, friction >= 0, bounds,

with D = 0 where no prior is wanted, or: the least D among all x with ||A x - z|| <= radius.
log det Q is the largest sum of log diag(Z) with Z lower triangular and [[Q, Z], [Z', diag Z]] >= 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ident.arrays import Array
from ident.errors import EstimationError
from ident.estimate.bounds import Bounds
from ident.estimate.prior import Prior
from ident.model.model import Model
from ident.regression.base import BaseParameters
from ident.spatial.inertia import from_pseudo_inertia, pseudo_inertia

Goal = Literal["residual", "residual and prior", "prior within residual"]

_UPPER = [(i, j) for i in range(4) for j in range(i, 4)]
_LOWER = [(i, j) for i in range(4) for j in range(i + 1)]
_MARGIN = 1e-9  # Q >= margin: keeps the plain fit's bodies off the edge by more than rounding
SOLVERS = ("CLARABEL", "SCS")
_OPTIONS: dict[str, dict[str, Any]] = {
    "CLARABEL": {},
    "SCS": {"eps_abs": 1e-9, "eps_rel": 1e-9, "max_iters": 200_000},
}


@dataclass(frozen=True, eq=False)
class Coordinates:
    """theta = T @ x for the whitened, scaled unknowns x (p,); n_links links, then the joint terms."""

    T: Array
    n_links: int
    nonnegative: np.ndarray
    joint_prior: Array  # the prior's joint terms in x, NaN where it says nothing

    @staticmethod
    def of(model: Model, prior: Prior, factor: Array, base: BaseParameters) -> Coordinates:
        """Whiten links by the prior; scale joint terms by what one alone would explain of the torque."""
        p, n = len(model.names), model.robot.n
        T = np.zeros((p, p))
        for i, body in enumerate(prior.inertials):
            L = np.linalg.cholesky(pseudo_inertia(body))
            for k, (a, b) in enumerate(_UPPER):
                Q = np.zeros((4, 4))
                Q[a, b] = Q[b, a] = 1.0
                T[10 * i : 10 * i + 10, 10 * i + k] = from_pseudo_inertia(L @ Q @ L.T)
        column = np.linalg.norm(factor[:, :-1] @ base.K[:, model.n_rigid :], axis=0)
        target = np.linalg.norm(factor[:, -1])
        scale = np.where(column > 0, 0.1 * target / np.where(column > 0, column, 1.0), 1.0)
        scale = np.where(scale > 0, scale, 1.0)
        T[model.n_rigid :, model.n_rigid :] = np.diag(scale)
        known = np.array([prior.joint_values.get(name, np.nan) for name in model.names[model.n_rigid :]])
        return Coordinates(T, n, model.nonnegative, known / scale)


class Program:
    """The compiled program: built once for a model, prior and bounds, solved for many factors and weights.

    goal: "residual" is the plain LMI fit, "residual and prior" the weighted sum, "prior within residual" the
    point closest to the prior at a given residual.
    """

    def __init__(self, model: Model, base: BaseParameters, coordinates: Coordinates, bounds: Bounds, goal: Goal):
        import cvxpy as cp

        bounds.check(model.robot)
        self.base, self.coordinates, self.goal = base, coordinates, goal
        n, p, b = coordinates.n_links, len(model.names), len(base.names)
        x = cp.Variable(p)
        self._x = x
        self._A, self._z = cp.Parameter((b, p)), cp.Parameter(b)
        self._weight, self._radius = cp.Parameter(nonneg=True), cp.Parameter(nonneg=True)
        friction = x[10 * n :]
        constraints = [friction[coordinates.nonnegative] >= 0] if coordinates.nonnegative.any() else []
        constraints += _bounded(model, coordinates, bounds, x)
        residual = self._A @ x - self._z
        if goal == "residual":
            E, unit = _psd_map()
            constraints += [
                cp.reshape(E @ x[10 * i : 10 * i + 10], (4, 4), order="C") >> _MARGIN * unit for i in range(n)
            ]
            objective = cp.sum_squares(residual)
        else:
            divergence, more = self._divergence(x, friction)
            constraints += more
            if goal == "residual and prior":
                objective = cp.sum_squares(residual) + self._weight * divergence
            else:
                objective = divergence
                constraints.append(cp.norm(residual) <= self._radius)
        self._problem = cp.Problem(cp.Minimize(objective), constraints)

    def _divergence(self, x: Any, friction: Any) -> tuple[Any, list[Any]]:
        """Return sum_i tr Q_i - log det Q_i, plus y - log y for joint terms with a positive prior, and constraints."""
        import cvxpy as cp

        n = self.coordinates.n_links
        Z = cp.Variable(10 * n)
        M = _logdet_map()
        blocks = [cp.hstack([x[10 * i : 10 * i + 10], Z[10 * i : 10 * i + 10]]) for i in range(n)]
        constraints = [cp.reshape(M @ block, (8, 8), order="C") >> 0 for block in blocks]
        diagonal = [10 * i + k for i in range(n) for k, (a, b) in enumerate(_LOWER) if a == b]
        trace = [10 * i + k for i in range(n) for k, (a, b) in enumerate(_UPPER) if a == b]
        divergence = cp.sum(x[trace]) - cp.sum(cp.log(Z[diagonal]))
        known = np.flatnonzero((self.coordinates.joint_prior > 0) & self.coordinates.nonnegative)
        if len(known):
            y = cp.multiply(1.0 / self.coordinates.joint_prior[known], friction[known])
            divergence += cp.sum(y) - cp.sum(cp.log(y))
        return divergence, constraints

    def solve(self, factor: Array, samples: float, *, weight: float = 0.0, radius: float = 0.0) -> tuple[Array, str]:
        """Return theta (p,) and the name of the solver for the weighted factor (b + 1, b + 1) of `samples` rows.

        weight multiplies the divergence against the mean squared weighted residual; radius bounds the norm
        of the residual (in units of sigma, over all samples) that phi can change. Raises EstimationError when every
        solver fails.
        """
        b = len(self.base.names)
        per_sample = 1.0 / np.sqrt(samples)
        A = factor[:b, :b] @ self.base.K @ self.coordinates.T * per_sample
        self._A.value, self._z.value = A, factor[:b, b] * per_sample
        self._weight.value, self._radius.value = weight, radius * per_sample
        told: list[str] = []
        for solver in SOLVERS:
            status = _attempt(self._problem, solver)
            if status in ("optimal", "optimal_inaccurate") and self._x.value is not None:
                theta = self.coordinates.T @ self._x.value
                if status == "optimal":
                    return theta, solver if not told else f"{solver} (after {'; '.join(told)})"
            told.append(f"{solver}: {status}")
        raise EstimationError(
            f"the constrained fit was not solved ({'; '.join(told)}). "
            "Check that the bounds on masses and centres can be met, and that the CAD values are of the right size."
        )


def _attempt(problem: Any, solver: str) -> str:
    import warnings

    import cvxpy as cp

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an inaccurate solution is reported by its status
            problem.solve(solver=solver, **_OPTIONS[solver])
    except cp.error.SolverError as cause:
        return str(cause).split(".")[0]
    return str(problem.status)


def _psd_map() -> tuple[Array, Array]:
    """Return E (16, 10) with vec(Q) = E @ q, and the unit matrix."""
    E = np.zeros((16, 10))
    for k, (i, j) in enumerate(_UPPER):
        E[4 * i + j, k] = E[4 * j + i, k] = 1.0
    return E, np.eye(4)


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


def _bounded(model: Model, coordinates: Coordinates, bounds: Bounds, x: Any) -> list[Any]:
    """Return the linear constraints of `bounds` on x."""
    rows: list[Array] = []
    sides: list[float] = []

    def at_most(row: Array, side: float) -> None:
        rows.append(row @ coordinates.T)
        sides.append(side)

    unit = np.eye(len(model.names))
    mass = {link: unit[10 * i] for i, link in enumerate(model.robot.links)}
    for link, (least, most) in bounds.mass.items():
        at_most(mass[link], most)
        at_most(-mass[link], -least)
    if bounds.total_mass is not None:
        total = np.sum(list(mass.values()), axis=0)
        at_most(total, bounds.total_mass[1])
        at_most(-total, -bounds.total_mass[0])
    for link, box in bounds.com.items():
        i = model.robot.links.index(link)
        for axis, (least, most) in enumerate(box):
            moment = unit[10 * i + 1 + axis]
            at_most(moment - most * mass[link], 0.0)
            at_most(least * mass[link] - moment, 0.0)
    if not rows:
        return []
    G, h = np.array(rows), np.array(sides)
    size = np.linalg.norm(G, axis=1)
    return [(G / size[:, None]) @ x <= h / size]
