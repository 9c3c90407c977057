"""Convex programs over links that can exist, stacked row by row for the conic solver.

Each program is: minimise q @ v subject to A_k @ v + b_k in K_k, with K_k one of zero, v >= 0, |v_1..| <= v_0, and
positive semidefinite 4 x 4 matrices. Building it takes less than a millisecond, and it is solved again for another q
without being built again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ident.arrays import Array
from ident.estimate.bounds import Bounds
from ident.estimate.program import Coordinates
from ident.model.model import Model

Cone = Literal["zero", "nonnegative", "second-order", "semidefinite"]
Status = Literal["optimal", "inaccurate", "unbounded", "infeasible", "failed"]

#: How far apart a minimum and its dual bound may stop, relative to their size where that is above 1.
GAP = 1e-7
#: Residual of the dual at which its value counts as a bound.
FEASIBLE = 1e-6

_STATUS: dict[str, Status] = {
    "Solved": "optimal",
    "AlmostSolved": "inaccurate",
    "DualInfeasible": "unbounded",
    "AlmostDualInfeasible": "unbounded",
    "PrimalInfeasible": "infeasible",
    "AlmostPrimalInfeasible": "infeasible",
}


@dataclass(frozen=True, eq=False)
class Block:
    """Rows A @ v + b (rows,) that lie in a cone."""

    A: Array
    b: Array
    cone: Cone


@dataclass(frozen=True, eq=False)
class Optimum:
    """v, and q @ v between `lower` (the dual's value) and `upper`, up to the solver's tolerance."""

    v: Array
    lower: float
    upper: float
    status: Status


class ConeProgram:
    """The blocks of a program, compiled; solved for any number of objectives."""

    def __init__(self, blocks: list[Block]):
        import clarabel
        from scipy.sparse import csc_matrix

        cones = []
        for block in blocks:
            if len(block.b):
                kind = {
                    "zero": clarabel.ZeroConeT,
                    "nonnegative": clarabel.NonnegativeConeT,
                    "second-order": clarabel.SecondOrderConeT,
                    "semidefinite": lambda _: clarabel.PSDTriangleConeT(4),
                }[block.cone]
                cones.append(kind(len(block.b)))
        A = np.concatenate([block.A for block in blocks])
        b = np.concatenate([block.b for block in blocks])
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.max_threads = 1
        settings.presolve_enable = settings.chordal_decomposition_enable = False  # so that q can be replaced
        settings.tol_gap_abs = settings.tol_gap_rel = GAP
        size = A.shape[1]
        self._solver: Any = clarabel.DefaultSolver(
            csc_matrix((size, size)), np.zeros(size), csc_matrix(-A), b, cones, settings
        )

    def minimise(self, q: Array) -> Optimum:
        """Return the minimum of q @ v, infinite where it is unbounded, NaN where no v exists."""
        self._solver.update(q=np.ascontiguousarray(q))
        found = self._solver.solve()
        status = _STATUS.get(str(found.status), "failed")
        lower, upper = float(found.obj_val_dual), float(found.obj_val)
        if status == "unbounded":
            lower = upper = -np.inf
        elif status == "failed":
            upper = np.nan
            lower = (
                lower if found.r_dual < FEASIBLE else np.nan
            )  # what is dual feasible bounds the minimum, done or not
        elif status == "infeasible":
            lower = upper = np.nan
        return Optimum(np.array(found.x), lower, upper, status)


def feasible(model: Model, bounds: Bounds, coordinates: Coordinates) -> list[Block]:
    """Return the cones that v = (x, s) keeps, x / s being coordinates of links that can exist and keep the bounds.

    With s = 1 they are those of x itself; with another normalisation, ratios of linear functions become linear
    (Charnes, Cooper 1962).
    """
    n, p = model.robot.n, len(model.names)
    blocks = []
    for i in range(n):
        A = np.zeros((10, p + 1))
        A[:, 10 * i : 10 * i + 10] = _TRIANGLE
        blocks.append(Block(A, np.zeros(10), "semidefinite"))
    signs = np.eye(p + 1)[10 * n : p][model.nonnegative]
    signs = np.concatenate([signs, np.eye(p + 1)[p:]])
    blocks.append(Block(signs, np.zeros(len(signs)), "nonnegative"))
    found = bounds.on(model)
    rows = np.column_stack([-found.rows @ coordinates.T, found.sides])
    rows /= np.linalg.norm(rows[:, :p], axis=1)[:, None]
    blocks.append(Block(rows[: found.equal], np.zeros(found.equal), "zero"))
    blocks.append(Block(rows[found.equal :], np.zeros(len(rows) - found.equal), "nonnegative"))
    return blocks


def ball(rows: Array, centre: Array, radius: float) -> Block:
    """Return |rows @ x - centre s| <= radius s for v = (x, s); equality for radius 0."""
    stacked = np.column_stack([rows, -centre])
    if radius == 0.0:
        return Block(stacked, np.zeros(len(stacked)), "zero")
    first = np.append(np.zeros(rows.shape[1]), radius)
    return Block(np.concatenate([first[None], stacked]), np.zeros(len(stacked) + 1), "second-order")


def fixed(row: Array, value: float) -> Block:
    """Return row @ v = value."""
    return Block(row[None], np.array([-value]), "zero")


def least_norm(rows: Array, centre: Array, blocks: list[Block]) -> tuple[Array, float, Status]:
    """Return x with least |rows @ x - centre|, that norm, and how the solver ended; blocks are for v = (x, s)."""
    p = rows.shape[1]
    wider = [Block(np.column_stack([b.A, np.zeros(len(b.b))]), b.b, b.cone) for b in blocks]
    first = np.zeros((1, p + 2))
    first[0, -1] = 1.0
    stacked = np.column_stack([rows, -centre, np.zeros(len(rows))])
    cone = Block(np.concatenate([first, stacked]), np.zeros(len(rows) + 1), "second-order")
    found = ConeProgram([*wider, fixed(np.eye(p + 2)[p], 1.0), cone]).minimise(first[0])
    x = found.v[:p]
    return x, float(np.linalg.norm(rows @ x - centre)), found.status


def _triangle() -> Array:
    """Return S (10, 10): from the upper entries of Q, row by row, to the solver's: column by column, sqrt(2) off it."""
    entries = [(i, j) for i in range(4) for j in range(i, 4)]
    S = np.zeros((10, 10))
    for row, (a, b) in enumerate((i, j) for j in range(4) for i in range(j + 1)):
        S[row, entries.index((a, b))] = 1.0 if a == b else np.sqrt(2.0)
    return S


_TRIANGLE = _triangle()
