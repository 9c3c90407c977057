"""Is the width of Coulomb friction that logs choose worth it on a motion never seen?

    python experiments/benchmarks/friction_width.py [SEED] [LOGS]

Arms and motions of `automatic.py` whose friction is the plain sign of the speed (a third of them), or a tanh of 0.002
to 0.1 times the largest speed; positions with noise of 1e-5 to 1e-4 rad, torques with 0.3 to 10 %. The error on
another motion with the width that was chosen, relative to that with the plain sign.

Set on seeds 8001 to 8101 (94 logs) and the fitted recordings of six real logs. Drawn after it was frozen, seed 8303
(60 logs): of 47 with wide friction 46 chosen, median 0.21 times the error, 2 above 1.05 (1.44 at most); of 13 with
the plain sign 4 chosen, 3 above 1.05 (from 0.11 to 0.48 % at worst).
"""

from __future__ import annotations

import sys

import numpy as np
from arm7 import bodies
from automatic import ROWS, error, fourier, point_to_point

from ident.compare.coulomb_width import wide
from ident.logs import Log, Motion, process
from ident.logs.automatic import chosen
from ident.model import Coulomb, DriveInertia, Model, Offset, SmoothCoulomb, Viscous, torque
from ident.robot.file import MDHJoint, from_mdh


def case(rng: np.random.Generator) -> tuple[str, bool, bool, float]:
    """Return one drawn case in words, whether its friction is wide, whether that is claimed, and the gain."""
    n, rate, duration = int(rng.choice([2, 3, 6])), float(rng.choice([100, 200, 500])), float(rng.uniform(20, 40))
    robot = from_mdh("arm", [MDHJoint(a=a, alpha=alpha, d=d) for a, alpha, d in ROWS[:n]])
    others = (DriveInertia(), Viscous(), Offset())
    friction = np.concatenate([np.full(n, 0.5), rng.uniform(1, 5, n), np.zeros(n), rng.uniform(1, 5, n)])
    theta = np.concatenate([(bodies(n) * rng.uniform(0.7, 1.3, (n, 1))).ravel(), friction])
    curves = [fourier(rng, n), point_to_point(rng, n, duration)][:: int(rng.choice([1, -1]))]
    t = np.arange(int(duration * rate)) / rate
    fastest = float(np.abs(curves[0](t)[1]).max())
    width = 0.0 if rng.random() < 1 / 3 else 10 ** rng.uniform(-2.7, -1) * fastest
    truth = Model(robot, (*others, SmoothCoulomb(width) if width else Coulomb()))

    def true(k: int, times: np.ndarray) -> Motion:
        x = curves[k](times)
        return Motion("true", times, *x, torque(truth, theta, *x), np.ones(x[0].shape, dtype=bool))

    told, unseen = true(0, t), true(1, t[:: max(1, len(t) // 1500)])
    noise = 10 ** rng.uniform(-2.5, -1) * told.tau.std(axis=0)
    read = told.q + rng.normal(size=told.q.shape) * 10 ** rng.uniform(-5, -4)
    log = Log("drawn", t, read, told.tau + rng.normal(size=told.tau.shape) * noise)
    fit, judged = chosen([log])
    plain = Model(robot, (*others, Coulomb()))
    model, _ = wide(plain, [process(log, fit)], [process(log, judged)])
    errors = [error(m, process(log, fit), unseen) for m in (plain, model)]
    words = f"{n} joints {rate:3.0f} Hz {duration:2.0f} s, width {width / fastest:.3f}"
    words += f", {errors[0]:.2%} to {errors[1]:.2%}"
    return words, width > 0, model is not plain, errors[1] / errors[0]


def main() -> None:
    seed, logs = (int(x) for x in (*sys.argv[1:], *("2026", "60")[len(sys.argv) - 1 :]))
    rng, found = np.random.default_rng(seed), []
    for _ in range(logs):
        words, *judged = case(rng)
        found.append(judged)
        print(f"{words}  {'chosen' if judged[1] else 'sign  '}  {judged[2]:.3f}", flush=True)
    for words, rows in (("wide", [f for f in found if f[0]]), ("plain sign", [f for f in found if not f[0]])):
        gains = np.array([f[2] for f in rows])
        print(f"{words}: {len(rows)} logs, a width chosen in {sum(f[1] for f in rows)}; error relative to the sign's:")
        print(f"  median {np.median(gains):.3f}, largest {gains.max():.3f}, above 1.05 in {np.sum(gains > 1.05)}")


if __name__ == "__main__":
    main()
