"""The constrained fit from factors at 7, 16 and 30 links, beside cvxpy as its users write it and Clarabel itself.

OPENBLAS_NUM_THREADS=1 NUMBA_NUM_THREADS=1 python experiments/benchmarks/fit.py [LINKS ...]

Processor time of one thread, least and median. Ours is the whole estimate: noise levels, fit, error bars, the exact
check of what is written. The peers are given the factor at these noise levels and solve, nothing else. Residuals are
compared: |R K theta - z|^2 above the least of all three, in units of it.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from arm7 import RIGHT, bodies
from scipy.sparse import block_diag, csc_matrix, vstack

from ident.estimate import Bounds, Prior, estimated
from ident.estimate.problem import Entropic, Task
from ident.logs import Motion
from ident.model import Coulomb, DriveInertia, Model, Offset, Viscous, torque
from ident.regression import Regression, compress
from ident.robot.file import MDHJoint, from_mdh
from ident.spatial.inertia import PSEUDO_INERTIA_MAP, pseudo_inertia

WEIGHT = 1e-3


def chain(n: int) -> Model:
    """Return a chain of n links with friction, the first seven those of an arm of human size."""
    rows = [(0, 0, 0.33), (0, -RIGHT, 0), (0, RIGHT, 0.32), (0.08, RIGHT, 0), (-0.08, -RIGHT, 0.38), (0, RIGHT, 0)]
    rows += [(0.09, RIGHT, 0.1), *((0.05, RIGHT, 0.1) if i % 2 else (0.02, -RIGHT, 0.05) for i in range(7, n))]
    robot = from_mdh(f"arm{n}", [MDHJoint(a=a, alpha=alpha, d=d) for a, alpha, d in rows[:n]])
    return Model(robot, (DriveInertia(), Viscous(), Coulomb(), Offset()))


def links(n: int) -> np.ndarray:
    """Return plain bodies (n, 10), those past the seventh like it."""
    return bodies(7)[np.minimum(np.arange(n), 6)]


def factors(arm: Model) -> Regression:
    """Return the factors of 20 s of a Fourier series with five harmonics and white noise."""
    n, count = arm.robot.n, 10_000
    rng = np.random.default_rng(0)
    t = np.arange(count) * 2e-3
    q, qd, qdd = np.zeros((3, count, n))
    for k in range(1, 6):
        w = 2 * np.pi * k / 20
        a, b = rng.normal(size=(2, n)) * 0.5 / k
        s, c = np.sin(w * t)[:, None], np.cos(w * t)[:, None]
        q, qd, qdd = q + a * s + b * c, qd + w * (a * c - b * s), qdd - w * w * (a * s + b * c)
    friction = np.concatenate([np.full(n, 0.5), np.full(n, 2.0), np.full(n, 3.0), np.zeros(n)])
    tau = torque(arm, np.concatenate([links(n).ravel(), friction]), q, qd, qdd) + rng.normal(size=q.shape)
    blocks = tuple((k, k + 500) for k in range(0, count, 500))
    return compress(arm, Motion("fit", t, q, qd, qdd, tau, np.ones(q.shape, dtype=bool), (), blocks))


def times(work: Callable[[], Any], repeat: int) -> str:
    """Return the least and the median processor time of `repeat` runs, after one that is not counted."""
    work()
    found = []
    for _ in range(repeat):
        start = time.process_time()
        work()
        found.append(time.process_time() - start)
    return f"{min(found):8.3f} {np.median(found):8.3f}"


def by_cvxpy(arm: Model, A: np.ndarray, z: np.ndarray, prior: Prior, weight: float) -> np.ndarray:
    """Return theta as a user of cvxpy finds it."""
    import cvxpy as cp

    theta = cp.Variable(A.shape[1])
    J = [cp.reshape(PSEUDO_INERTIA_MAP @ theta[10 * i : 10 * i + 10], (4, 4), order="C") for i in range(arm.robot.n)]
    cost = cp.sum_squares(A @ theta - z)
    if weight > 0.0:
        towards = np.linalg.inv(pseudo_inertia(prior.inertials))
        cost += weight * sum(cp.trace(P @ Q) - cp.log_det(Q) for P, Q in zip(towards, J, strict=True))
    signs = [theta[10 * arm.robot.n :][arm.nonnegative] >= 0]
    cp.Problem(cp.Minimize(cost), [*(Q >> 0 for Q in J), *signs]).solve(solver="CLARABEL")
    return np.asarray(theta.value)


def by_clarabel(arm: Model, A: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Return theta from Clarabel itself: least |r|^2 with r = A theta - z."""
    import clarabel

    rows, p = A.shape
    triangle = [(i, j) for j in range(4) for i in range(j + 1)]
    one = np.array([PSEUDO_INERTIA_MAP[4 * i + j] * (1.0 if i == j else np.sqrt(2.0)) for i, j in triangle])
    n, signs = arm.robot.n, np.eye(p)[10 * arm.robot.n :][arm.nonnegative]
    cones = [clarabel.ZeroConeT(rows), clarabel.NonnegativeConeT(len(signs))]
    cones += [clarabel.PSDTriangleConeT(4)] * n
    body = block_diag([one] * n)
    parts = np.concatenate([signs, np.column_stack([body.toarray(), np.zeros((10 * n, p - 10 * n))])])
    G = vstack([csc_matrix(np.column_stack([A, -np.eye(rows)])), csc_matrix(np.pad(-parts, ((0, 0), (0, rows))))])
    P = csc_matrix(np.diag(np.append(np.zeros(p), 2.0 * np.ones(rows))))
    settings = clarabel.DefaultSettings()
    settings.verbose, settings.max_threads = False, 1
    b = np.append(z, np.zeros(len(parts)))
    return np.array(clarabel.DefaultSolver(P, np.zeros(p + rows), csc_matrix(G), b, cones, settings).solve().x)[:p]


def main(sizes: list[int]) -> None:
    """Print the times, and how far each residual is above the least."""
    for n in sizes:
        arm, prior = chain(n), Prior(1.2 * links(n), "bodies 20 % too heavy")
        known = factors(arm)
        merged = known.joint_factors
        sigma = estimated(arm, known, prior, weight=0.0).sigma
        R = known.factor(sigma) / np.sqrt(known.rows.sum())
        A, z = R[:-1, :-1] @ known.base.K, R[:-1, -1]

        def ours(weight: Any, arm: Model = arm, prior: Prior = prior, known: Regression = known) -> np.ndarray:
            fresh = replace(known)  # nothing is kept from one run to the next but each joint's factor
            fresh.__dict__["joint_factors"] = merged  # noqa: B023
            found = estimated(arm, fresh, prior, weight=weight).theta
            assert found is not None
            return found

        def alone(weight: float, arm: Model = arm, prior: Prior = prior, known: Regression = known) -> np.ndarray:
            return Entropic(Task(arm, known, prior, Bounds(), sigma)).solved(weight).theta  # noqa: B023

        repeat = 5 if n < 20 else 2
        print(f"{n} links                          least   median   residual above the least")
        for weight, name in ((0.0, "plain"), (WEIGHT, "log-det prior")):
            rows = [("ident", lambda w=weight: ours(w)), ("its solver", lambda w=weight: alone(w))]
            rows.append(("cvxpy", lambda w=weight: by_cvxpy(arm, A, z, prior, w)))  # noqa: B023
            if weight == 0.0:
                rows.append(("Clarabel", lambda: by_clarabel(arm, A, z)))  # noqa: B023
            squares = [float(np.sum((A @ work() - z) ** 2) + R[-1, -1] ** 2) for _, work in rows]
            for (peer, work), square in zip(rows, squares, strict=True):
                print(f"  {name:16s} {peer:10s} {times(work, repeat)}   {square / min(squares) - 1.0:.1e}", flush=True)
        print(f"  cross-validated  ident      {times(lambda: ours('cross-validated'), 2)}", flush=True)


if __name__ == "__main__":
    main([int(x) for x in sys.argv[1:]] or [7, 16, 30])
