"""Are joints that are read late found, and only those?

    python experiments/benchmarks/skew.py [SEED] [LOGS]

Arms and motions of `automatic.py`, 20 to 40 s; friction that the model does not have (Stribeck's, unlike in the two
directions, rounded near zero) on all joints; half of the logs have a joint, or two, that is read 0.5 to 2 samples
late. Processed as chosen for the log itself. Right: nothing claimed of a log without, each late joint within 0.3
samples and no other of a log with.

Set on seed 7001 (40 logs): 0 of 21 false alarms, 9 of 19 found whole, 1 wrong. Drawn after it was frozen, seed 7404
(60 logs): 0 of 26 false alarms; 8 of 34 found whole, none wrong. So what it claims is there, and where the model misses
much it claims little.
"""

from __future__ import annotations

import sys

import numpy as np
from arm7 import bodies
from automatic import ROWS, Curve, fourier, point_to_point

from ident.compare.delay import delays
from ident.logs import Log, process
from ident.logs.automatic import chosen
from ident.model import Coulomb, DriveInertia, Model, Offset, Viscous, torque
from ident.robot.file import MDHJoint, from_mdh


def case(rng: np.random.Generator) -> tuple[str, np.ndarray, np.ndarray]:
    """Return one drawn case in words, its delays and those claimed, both (n,) in samples."""
    n, rate = int(rng.choice([2, 3, 6, 7])), float(rng.choice([100, 125, 200, 250, 500]))
    duration, kind = float(rng.uniform(20, 40)), str(rng.choice(["Fourier", "points"]))
    robot = from_mdh("arm", [MDHJoint(a=a, alpha=alpha, d=d) for a, alpha, d in ROWS[:n]])
    model = Model(robot, (DriveInertia(), Viscous(), Coulomb(), Offset()))
    law = np.concatenate([np.full(n, 0.5), *rng.uniform(1, 5, (2, n)), np.zeros(n)])
    theta = np.concatenate([(bodies(n) * rng.uniform(0.7, 1.3, (n, 1))).ravel(), law])
    t = np.arange(int(duration * rate)) / rate
    curve: Curve = fourier(rng, n) if kind == "Fourier" else point_to_point(rng, n, duration)
    q, qd, qdd = curve(t)
    tau = torque(model, theta, q, qd, qdd)
    v = qd / np.abs(qd).max(axis=0)
    size, width = rng.uniform(0, 4, (3, n)), rng.uniform(0.01, 0.1, n)
    tau += np.tanh(v / width) * (size[0] * np.exp(-((v / 0.1) ** 2)) + size[1] * (v > 0) - size[2] * np.sqrt(np.abs(v)))
    tau += rng.normal(size=tau.shape) * 10 ** rng.uniform(-2.5, -1) * tau.std(axis=0)
    late = np.zeros(n)
    if rng.random() < 0.5:
        joints = rng.choice(n, size=int(rng.integers(1, min(n, 3))), replace=False)
        late[joints] = rng.uniform(0.5, 2.0, len(joints)) * rng.choice([-1, 1], len(joints))
    read = np.column_stack([curve(t - d / rate)[0][:, j] for j, d in enumerate(late)])
    read += rng.normal(size=read.shape) * 10 ** rng.uniform(-5, -3.5)
    log = Log("drawn", t, read, tau)
    found = delays(model, process(log, chosen([log])[0])).seconds * rate
    return f"{n} joints {rate:3.0f} Hz {duration:2.0f} s {kind:8}", late, found


def main() -> None:
    seed, logs = (int(x) for x in (*sys.argv[1:], *("2026", "100")[len(sys.argv) - 1 :]))
    rng = np.random.default_rng(seed)
    clean, false, late, missed, wrong = 0, 0, 0, 0, 0
    for _ in range(logs):
        words, true, found = case(rng)
        claimed, there = found != 0, true != 0
        if there.any():
            late += 1
            missed += not claimed[there].all()
            wrong += bool((claimed & ~there).any() or (np.abs(found - true)[claimed & there] > 0.3).any())
        else:
            clean += 1
            false += bool(claimed.any())
        print(words, np.round(true, 2), np.round(found, 2), flush=True)
    print(f"{clean} sound logs, {false} false alarms; {late} with late joints: {missed} missed one, {wrong} wrong")


if __name__ == "__main__":
    main()
