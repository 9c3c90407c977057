"""The constrained fit of a seven-joint arm from its factors, cvxpy's compilation included.

python experiments/benchmarks/fit.py
"""

from __future__ import annotations

import time

import numpy as np
from arm7 import bodies, model, seconds

from ident.estimate import Prior, estimated
from ident.logs import Motion
from ident.model import torque
from ident.regression import compress


def main() -> None:
    arm = model()
    n, count = arm.robot.n, 10_000
    rng = np.random.default_rng(0)
    t = np.arange(count) * 2e-3
    q, qd, qdd = np.zeros((3, count, n))
    for k in range(1, 6):  # a Fourier series of five harmonics, 20 s
        w = 2 * np.pi * k / 20
        a, b = rng.normal(size=(2, n)) * 0.5 / k
        s, c = np.sin(w * t)[:, None], np.cos(w * t)[:, None]
        q, qd, qdd = q + a * s + b * c, qd + w * (a * c - b * s), qdd - w * w * (a * s + b * c)
    friction = np.concatenate([np.full(n, 0.5), np.full(n, 2.0), np.full(n, 3.0), np.zeros(n)])
    tau = torque(arm, np.concatenate([bodies(n).ravel(), friction]), q, qd, qdd) + rng.normal(size=q.shape)
    blocks = tuple((k, k + 500) for k in range(0, count, 500))
    factors = compress(arm, Motion("fit", t, q, qd, qdd, tau, np.ones(q.shape, dtype=bool), (), blocks))
    prior = Prior(1.2 * bodies(n), "bodies 20 % too heavy")

    start = time.perf_counter()
    estimated(arm, factors, prior, weight=0.0)
    print(f"first call, cvxpy imported with it {time.perf_counter() - start:.3f} s")
    print(f"plain                              {seconds(lambda: estimated(arm, factors, prior, weight=0.0)):.3f} s")
    print(f"with log-det prior                 {seconds(lambda: estimated(arm, factors, prior, weight=1e-3)):.3f} s")
    chosen = seconds(lambda: estimated(arm, factors, prior, weight="cross-validated"), 2)
    print(f"cross-validated, 10 weights, 5 folds {chosen:.2f} s")


if __name__ == "__main__":
    main()
