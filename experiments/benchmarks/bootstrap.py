"""Error bars of the segments and of the bootstrap against the truth, where links are at the edge of what can exist.

python experiments/benchmarks/bootstrap.py [SEED [LOGS]]

A chain of three links with friction, a motion of 12 s, torque noise of 2 N m with a correlation of 0.9 from sample to
sample, LOGS times; every other log is bootstrapped. Standard errors, root mean square over logs, relative to how much
the fit really scatters (median, least and most of the base parameters), and the share of 95 % intervals that hold the
truth (all, and of the parameter with the fewest). "thin": bodies with a twentieth of their second moments. Without a
prior five constraints are active. Then processor time of 200 draws for an arm of seven joints (`fit.py`).
"""

from __future__ import annotations

import sys
import time

import numpy as np
from fit import chain, factors, links
from scipy.signal import lfilter

import ident
from ident.estimate import Prior
from ident.model import Model, torque
from ident.regression import Regression, compress
from ident.spatial.inertia import from_com, to_com

COUNT, DT, PIECES = 6000, 2e-3, 20
RHO, NOISE = 0.9, 2.0


def thinned(inertials: np.ndarray, share: float) -> np.ndarray:
    """Return bodies (n, 10) of the same masses and centres with this share of their second moments about these."""
    found = []
    for body in inertials:
        m, c, tensor = to_com(body)
        second = share * (0.5 * np.trace(tensor) * np.eye(3) - tensor)
        found.append(from_com(m, c, np.trace(second) * np.eye(3) - second))
    return np.array(found)


def logs(arm: Model, theta: np.ndarray, seed: int, count: int) -> list[Regression]:
    """Return the factors of one motion with torques of theta and noise of its own each time."""
    n, rng = arm.robot.n, np.random.default_rng(seed)
    t = np.arange(COUNT) * DT
    q, qd, qdd = np.zeros((3, COUNT, n))
    for k in range(1, 6):
        w = 2 * np.pi * k / (COUNT * DT)
        a, b = rng.normal(size=(2, n)) * 0.5 / k
        s, c = np.sin(w * t)[:, None], np.cos(w * t)[:, None]
        q, qd, qdd = q + a * s + b * c, qd + w * (a * c - b * s), qdd - w * w * (a * s + b * c)
    tau, size = torque(arm, theta, q, qd, qdd), COUNT // PIECES
    blocks = tuple((k, k + size) for k in range(0, COUNT, size))
    found = []
    for k in range(count):
        white = np.random.default_rng((seed, k)).normal(size=q.shape)
        noise = NOISE * lfilter([np.sqrt(1 - RHO**2)], [1, -RHO], white, axis=0)
        motion = ident.Motion("log", t, q, qd, qdd, tau + noise, np.ones(q.shape, dtype=bool), (), blocks)
        found.append(compress(arm, motion))
    return found


def judged(name: str, share: float, weight: float | None, seed: int, count: int) -> None:
    """Print standard errors against scatter, and how many intervals hold the truth."""
    n = 3
    arm, bodies = chain(n), thinned(links(n), share)
    theta = np.concatenate([bodies.ravel(), np.repeat([0.02, 2.0, 3.0, 0.0], n)])
    prior = Prior(bodies if weight == 0.0 else 1.2 * bodies, "bodies")
    values, errors, held = [], {"segments": [], "bootstrap": []}, {"segments": [], "bootstrap": []}
    for k, regression in enumerate(logs(arm, theta, seed, count)):
        fit = ident.fit(arm, regression, prior, weight=weight)
        truth = regression.base.K @ theta
        values.append(fit.params)
        tables = {"segments": fit.to_frame()} | ({} if k % 2 else {"bootstrap": fit.bootstrap().to_frame()})
        for kind, table in tables.items():
            errors[kind].append(table["std_error"])
            held[kind].append((table["lower"] <= truth) & (truth <= table["upper"]))
    scatter = np.std(values, axis=0, ddof=1)
    print(f"{name}, seed {seed}, {count} logs")
    for kind, found in errors.items():
        ratio, right = np.sqrt(np.mean(np.square(found), axis=0)) / scatter, np.mean(held[kind], axis=0)
        print(
            f"  {kind:10s} error / scatter {np.median(ratio):5.2f} ({ratio.min():.2f} to {ratio.max():.2f})", end="  "
        )
        print(f"coverage {right.mean():.1%}, least {right.min():.0%}", flush=True)


def timed() -> None:
    """Print the processor time of 200 draws, from factors, after one bootstrap that is not counted."""
    arm, bodies = chain(7), links(7)
    known = factors(arm)
    for weight in (0.0, 1e-3, None, "vanishing"):
        fit = ident.fit(arm, known, Prior(1.2 * bodies, "bodies 20 % too heavy"), weight=weight)
        fit.bootstrap(20)
        found = []
        for seed in range(3):
            start = time.process_time()
            fit.bootstrap(seed=seed)
            found.append(time.process_time() - start)
        print(f"200 draws of 7 links, weight {weight}: {min(found):.2f} s")


if __name__ == "__main__":
    given = [int(x) for x in sys.argv[1:]]
    seed, count = (given + [1, 100][len(given) :])[:2]
    judged("bodies as they are, no prior", 1.0, 0.0, seed, count)
    judged("thin bodies, no prior", 0.05, 0.0, seed, count)
    judged("bodies as they are, prior 20 % too heavy, cross-validated", 1.0, None, seed, count)
    timed()
