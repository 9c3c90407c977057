"""Convex programs over physically consistent links (such as can exist: an LMI each), stacked row by row for Clarabel.

Each program is: minimise q @ v subject to A_k @ v + b_k in K_k, with K_k one of zero, v >= 0, |v_1..| <= v_0, and
positive semidefinite 4 x 4 matrices. Building it takes less than a millisecond, and it is solved again for another q
without being built again.

Cones are of order one in `Coordinates`: links are J_i = C_i Q_i C_i' around a centre C_i C_i', joint terms in units of
what one of them alone would explain. A link is physically consistent (can exist) where its pseudo-inertia J_i, and so
Q_i, is positive semidefinite.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from ident.arrays import Array, or_one
from ident.errors import EstimationError
from ident.estimate.bounds import Bounds
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
_OTHER_SIZE = 100.0


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
        scale = np.where(column > 0, 0.1 * target / or_one(column), 1.0)
        size = float(target / np.linalg.norm(links)) if links.any() and target > 0 else 1.0
        size = 1.0 if 1.0 / _OTHER_SIZE < size < _OTHER_SIZE else size
        return _centred(or_one(scale), max(size, 1.0), prior, size * prior.inertials)

    @staticmethod
    def around(theta: Array, prior: Prior) -> Coordinates:
        """Return coordinates in which every link and joint term of theta (p,) is of order one, however light it is."""
        links = 10 * len(prior.inertials)
        values, root = _spectrum(theta[:links], prior)
        values = np.maximum(values, np.maximum(1e-4 * np.abs(values).max(axis=1, keepdims=True), 1e-15))
        terms = np.abs(theta[links:])
        return _centred(or_one(terms), 1.0, prior, _bodies(values, root))

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
    """Return the least of the `edges`."""
    return float(edges(links, prior).min())


def edges(links: Array, prior: Prior) -> Array:
    """Return the least eigenvalue of each link (n, 10) against its prior (n,): 0 at the edge of what can exist."""
    return _spectrum(links, prior)[0][:, 0]


def _spectrum(links: Array, prior: Prior) -> tuple[Array, Array]:
    """Return ascending eigenvalues (n, 4) against the prior, and R (n, 4, 4) with J_i = R_i diag(values) R_i'."""
    half = np.linalg.cholesky(pseudo_inertia(prior.inertials))
    inverse = np.linalg.inv(half)
    values, vectors = np.linalg.eigh(inverse @ pseudo_inertia(links.reshape(-1, 10)) @ inverse.mT)
    return values, half @ vectors


def _bodies(values: Array, root: Array) -> Array:
    return from_pseudo_inertia((root * values[:, None, :]) @ root.mT)


Cone = Literal["zero", "nonnegative", "second-order", "semidefinite"]
Status = Literal["optimal", "inaccurate", "unbounded", "infeasible", "out of time", "failed"]

#: Processor time [s] that a solver may take.
SECONDS = 20.0
ADVICE = "Check the units of the torques and that the CAD values are of the right size, or give the prior more weight."
#: What |x|^2 adds to a squared residual per sample where only the least is wanted: without it, the least may be where
#: links have grown for ever; a link as large as the prior's costs nothing that could be seen.
RIDGE = 1e-11
#: How far apart a minimum and its dual bound may stop, relative to their size where that is above 1.
GAP = 1e-7
#: How far apart, in these, the value and what the dual proves may be before a program is solved again around its end.
_FAR = 100.0
#: Residual of the dual, against an objective of unit length, above which its value proves nothing.
RESIDUAL = 1e-4
#: How often it is solved again; how thin a body is taken to be there, against its largest direction; the least number.
_AGAIN, _THIN, _LEAST = 2, 1e-5, 1e-6
#: How exactly rows are kept, and how exactly where a solver can get no further.
_EXACT, _EASY = 1e-10, 1e-8

_STATUS: dict[str, Status] = {
    "Solved": "optimal",
    "AlmostSolved": "inaccurate",
    "DualInfeasible": "unbounded",
    "AlmostDualInfeasible": "unbounded",
    "PrimalInfeasible": "infeasible",
    "AlmostPrimalInfeasible": "infeasible",
    "MaxTime": "out of time",
}


@dataclass(frozen=True, eq=False)
class Block:
    """Rows A @ v + b (rows,) that lie in a cone."""

    A: Array
    b: Array
    cone: Cone


@dataclass(frozen=True, eq=False)
class Optimum:
    """v, and the minimum between `lower`, which the dual proves, and `upper` = q @ v, up to v's own feasibility.

    dual: the multipliers of all rows, block after block.
    """

    v: Array
    dual: Array
    lower: float
    upper: float
    status: Status


class ConeProgram:
    """The blocks of a program, compiled; solved for any number of objectives up to a gap, each in SECONDS at most."""

    def __init__(self, blocks: list[Block], gap: float = GAP):
        self._blocks = [block for block in blocks if len(block.b)]
        self._A = np.concatenate([-block.A for block in self._blocks])
        self._b = np.concatenate([block.b for block in self._blocks])
        self._gap = gap
        self._solver: Any = None

    def minimise(self, q: Array) -> Optimum:
        """Return the minimum of q @ v, infinite where it is unbounded, NaN where no v exists or the solver failed.

        The solver's steps stall where the solution is far larger or thinner than the coordinates' bodies. Then it is
        solved again in coordinates around the point where they ended.
        """
        start = time.process_time()
        self._solver = self._solver or self._compiled(self._A, self._b, SECONDS)
        best = found = self._solved(self._solver, self._A, self._b, q)
        for _ in range(_AGAIN):
            if self._settled(best) or not np.isfinite(found.v).all():
                break
            D, M = self._around(found.v)
            A, b, unit = D @ self._A @ M, D @ self._b, float(np.linalg.norm(q @ M))
            solver = self._compiled(A, b, SECONDS - (time.process_time() - start))
            end = self._solved(solver, A, b, q @ M / unit)
            found = Optimum(M @ end.v, unit * (end.dual @ D), unit * end.lower, unit * end.upper, end.status)
            best = found if self._settled(found) or found.lower > best.lower else best
        return best if np.isfinite(best.lower) or self._settled(best) else replace(best, lower=np.nan, upper=np.nan)

    def _settled(self, found: Optimum) -> bool:
        """Return whether another attempt would find nothing else."""
        if found.status in ("unbounded", "infeasible"):
            return True
        near = found.upper - found.lower < _FAR * self._gap * (1.0 + abs(found.upper))
        return found.status in ("optimal", "inaccurate") and near

    def _solved(self, solver: Any, A: Array, b: Array, q: Array) -> Optimum:
        found = _end(solver, q) or _end(self._compiled(A, b, SECONDS, _EASY), q)
        if found is None:
            return Optimum(np.full(len(q), np.nan), np.full(len(b), np.nan), np.nan, np.nan, "failed")
        status = _STATUS.get(str(found.status), "failed")
        x, z = np.array(found.x), np.array(found.z)
        if status == "unbounded":
            return Optimum(x, z, -np.inf, -np.inf, status)
        if status == "infeasible":
            return Optimum(x, z, np.nan, np.nan, status)
        # weak duality: q @ v >= dual value + (q + A' z) @ v for every v of the program; here v of the size of x
        residual = np.abs(q + z @ A)
        slack = float(residual @ (1.0 + np.abs(x)))
        proved = residual.max() < RESIDUAL * np.linalg.norm(q)
        return Optimum(x, z, float(found.obj_val_dual) - slack if proved else -np.inf, float(found.obj_val), status)

    def _around(self, v: Array) -> tuple[Array, Array]:
        """Return D and M: rows D @ (A M v + b) of size one, where bodies at v become identities and other unknowns one.

        The first semidefinite rows that hold ten unknowns make them a body, where these are its own coordinates.
        """
        from scipy.linalg import block_diag

        M = np.diag(np.maximum(np.abs(v), _LEAST))
        matrices = [block for block in self._blocks if block.cone == "semidefinite"]
        turns = {id(block): _congruence(block.A @ v + block.b) for block in matrices}
        bodies: set[int] = set()
        for block in matrices:
            ten = np.flatnonzero(block.A.any(axis=0))[:10]
            body = turns[id(block)] @ block.A[:, ten]
            if np.linalg.matrix_rank(body) == 10 and not bodies.intersection(ten.tolist()):
                M[np.ix_(ten, ten)] = np.linalg.inv(body)
                bodies.update(ten.tolist())
        return block_diag(*(turns.get(id(block), _normed(block.A @ M, block.cone)) for block in self._blocks)), M

    def _compiled(self, A: Array, b: Array, seconds: float, feasibility: float = _EXACT) -> Any:
        import clarabel
        from scipy.sparse import csc_matrix

        kinds: dict[Cone, Any] = {
            "zero": clarabel.ZeroConeT,
            "nonnegative": clarabel.NonnegativeConeT,
            "second-order": clarabel.SecondOrderConeT,
            "semidefinite": lambda _: clarabel.PSDTriangleConeT(4),
        }
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.max_threads = 1
        settings.presolve_enable = settings.chordal_decomposition_enable = False  # so that q can be replaced
        settings.tol_feas = feasibility
        settings.tol_gap_abs = settings.tol_gap_rel = self._gap
        settings.time_limit = max(seconds, 1e-9)
        size = A.shape[1]
        cones = [kinds[block.cone](len(block.b)) for block in self._blocks]
        return clarabel.DefaultSolver(csc_matrix((size, size)), np.zeros(size), csc_matrix(A), b, cones, settings)


def _end(solver: Any, q: Array) -> Any:
    """Return where the solver ends, None where it panics: over eigenvalues of steps that are nothing but rounding."""
    solver.update(q=np.ascontiguousarray(q))
    try:
        return solver.solve()
    except BaseException as cause:  # a Rust panic is no Exception
        if type(cause).__name__ != "PanicException":
            raise
        return None


def _normed(rows: Array, cone: Cone) -> Array:
    """Return the diagonal matrix that gives rows, or all rows of a cone that does not let them apart, the norm one."""
    size = np.linalg.norm(rows, axis=1)
    size = np.full(len(size), np.linalg.norm(size)) if cone == "second-order" else size
    return np.diag(1.0 / or_one(size))


def _congruence(s: Array) -> Array:
    """Return the congruence (10, 10), on the solver's rows, that makes the matrix of s (10,) the identity."""
    values, vectors = np.linalg.eigh((SYMMETRIC @ s).reshape(4, 4))
    C = vectors.T / np.sqrt(np.maximum(values, _THIN * max(values[-1], _LEAST)))[:, None]
    return np.asarray(SYMMETRIC.T @ np.kron(C, C) @ SYMMETRIC)


def feasible(model: Model, bounds: Bounds, coordinates: Coordinates, margin: float = 0.0) -> list[Block]:
    """Return the cones that v = (x, s) keeps, x / s being coordinates of links that can exist and keep the bounds.

    With s = 1 they are those of x itself; with another normalisation, ratios of linear functions become linear
    (Charnes, Cooper 1962). margin: how far inside, in units of the coordinates, links and inequalities stay.
    """
    n, p = model.robot.n, len(model.names)
    unit = np.eye(p + 1)
    inside = margin * np.outer(IDENTITY, unit[p])
    blocks = [Block(unit[10 * i : 10 * i + 10] - inside, np.zeros(10), "semidefinite") for i in range(n)]
    signs = np.concatenate([unit[10 * n : p][model.nonnegative], unit[p:]])
    blocks.append(Block(signs, np.zeros(len(signs)), "nonnegative"))
    found = bounds.on(model)
    rows = np.column_stack([-found.rows @ coordinates.T, found.sides])
    rows /= np.linalg.norm(rows[:, :p], axis=1)[:, None]
    rows[found.equal :, p] -= margin
    blocks.append(Block(rows[: found.equal], np.zeros(found.equal), "zero"))
    blocks.append(Block(rows[found.equal :], np.zeros(len(rows) - found.equal), "nonnegative"))
    return blocks


def require_possible(model: Model, bounds: Bounds, coordinates: Coordinates) -> None:
    """Raise EstimationError where no links that can exist keep the bounds, naming bounds that exclude each other.

    What proves it is a certificate (Farkas), checked by numpy: multipliers z_k of the cones' rows, in the cones
    themselves, with sum A_k' z_k = (g, -1) and g next to 0; the sum of z_k' A_k (x, 1) could not be negative for an x
    that keeps all. They come from the least t by which all rows are kept once t is added to them. Bounds
    on the shape of a link hold where it has no mass; so they are tried by themselves, at its prior's mass.
    """
    masses = dict(zip(model.robot.links, coordinates.prior.inertials[:, 0], strict=True))
    for link in [name for name in masses if name in bounds.shaped()]:
        _require_possible(model, bounds.shape(link, masses[link]), coordinates, {f"{link}: mass at its bound"})
    _require_possible(model, bounds, coordinates, set())


def _require_possible(model: Model, bounds: Bounds, coordinates: Coordinates, unnamed: set[str]) -> None:
    names = tuple(dict.fromkeys(bounds.on(model).labels))
    blame = _conflict(model, bounds, coordinates, names)
    if blame is None:
        return
    for name in sorted(blame, key=blame.__getitem__):  # without the least important ones, one by one
        fewer = _conflict(model, bounds, coordinates, tuple(n for n in blame if n != name))
        blame = blame if fewer is None else fewer
    blame = {name: share for name, share in blame.items() if name not in unnamed}
    said = "; ".join(name.replace(" at its bound", "") for name in blame)
    raise EstimationError(
        f"no links that can exist keep these bounds{' together' if len(blame) > 1 else ''}: {said}. Loosen"
        f" {'one of them' if len(blame) > 1 else 'it'}; this was proved, whatever the logs say."
    )


def _conflict(
    model: Model, bounds: Bounds, coordinates: Coordinates, names: tuple[str, ...]
) -> dict[str, float] | None:
    """Return the bounds among `names` with a share in a proof that they exclude each other, None without a proof."""
    found = bounds.on(model)
    n, p = len(found.sides), len(model.names)
    if not n:
        return None
    chosen = np.isin(found.labels, names)
    *links, signs, equal, most = feasible(model, bounds, coordinates)
    rows = np.concatenate([equal.A, -equal.A, most.A])
    of = np.concatenate([np.arange(found.equal), np.arange(n)])
    rows, of = rows[chosen[of]], of[chosen[of]]
    if not len(rows):
        return None
    size = np.abs(rows[:, p]).max() or 1.0  # of the links that the bounds speak of
    relaxed = [*links, Block(np.concatenate([signs.A, rows]), np.zeros(len(signs.b) + len(rows)), "nonnegative")]
    unit = np.append(np.ones(p), 1.0 / size)
    blocks = [Block(b.A * unit, b.b, b.cone) for b in relaxed]
    least = least_excess(blocks)
    if not least.upper > 0.0:
        return None
    z, at, total = least.dual, 0, np.zeros(p + 1)
    for block in blocks:
        part = _in_cone(z[at : at + len(block.b)], block.cone)
        total += block.A.T @ part
        at += len(part)
    if not -total[p] > 1e6 * np.abs(total[:p]).max():  # nothing up to a million times the links' size
        return None
    shares = np.maximum(z[at - len(rows) : at], 0.0) * np.abs(rows).max(axis=1)
    blame = {name: float(shares[[found.labels[i] == name for i in of]].sum()) for name in names}
    return {name: share for name, share in blame.items() if share > 1e-6 * shares.max()}


def least_excess(blocks: list[Block]) -> Optimum:
    """Return v = (x, 1, t) of least t, which may be negative: x is so far outside of the cones, along their middles."""
    p = blocks[0].A.shape[1] - 1
    middle = {"semidefinite": IDENTITY, "nonnegative": 1.0, "zero": 0.0}
    wider = [Block(np.column_stack([b.A, middle[b.cone] + np.zeros(len(b.b))]), b.b, b.cone) for b in blocks]
    return ConeProgram([*wider, fixed(np.eye(p + 2)[p], 1.0)]).minimise(np.eye(p + 2)[p + 1])


def _in_cone(z: Array, cone: Cone) -> Array:
    """Return the multipliers moved into their cone, where rounding has left them outside."""
    if cone != "semidefinite":
        return np.maximum(z, 0.0)
    return np.asarray(z + max(0.0, -float(np.linalg.eigvalsh((SYMMETRIC @ z).reshape(4, 4))[0])) * IDENTITY)


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


def least_norm(
    rows: Array, centre: Array, blocks: list[Block], ridge: float = 0.0, linear: Array | None = None, gap: float = GAP
) -> tuple[Array, float]:
    """Return x with least |rows @ x - centre| + linear @ x, and that norm; blocks are for v = (x, s).

    ridge: what |x|^2 adds to the square; without both, the least may be where some links have grown for ever.
    Raises EstimationError where the blocks have no point in common, or the solver fails.
    """
    p = rows.shape[1]
    whole, aim = rows, centre
    if ridge > 0.0:
        whole, aim = np.concatenate([rows, np.sqrt(ridge) * np.eye(p)]), np.append(centre, np.zeros(p))
    wider = [Block(np.column_stack([b.A, np.zeros(len(b.b))]), b.b, b.cone) for b in blocks]
    first = np.eye(p + 2)[p + 1]
    # the norm as it is, in units of its value at x = 0, and of its growth with x
    for size in (1.0, *(float(s) for s in (np.linalg.norm(aim), np.linalg.norm(whole)) if s > 0)):
        stacked = np.column_stack([whole / size, -aim / size, np.zeros(len(whole))])
        cone = Block(np.concatenate([first[None], stacked]), np.zeros(len(whole) + 1), "second-order")
        q = first if linear is None else np.concatenate([linear / size, first[p:]])
        found = ConeProgram([*wider, fixed(np.eye(p + 2)[p], 1.0), cone], gap).minimise(q)
        if found.status in ("optimal", "inaccurate"):
            break
    else:
        raise EstimationError(
            f"the solver failed ('{found.status}') where the links that explain the logs best are sought. {ADVICE}"
        )
    x = found.v[:p]
    return x, float(np.linalg.norm(rows @ x - centre))
