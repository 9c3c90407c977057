"""What a robot of a fleet costs: small simulated logs of one kind of arm, read, compressed and fitted one by one.

OPENBLAS_NUM_THREADS=1 NUMBA_NUM_THREADS=1 python experiments/benchmarks/fleet.py [ROBOTS [WORKERS ...]]

Each robot has a log of 6 joints of its own (13 columns, 10 s at 100 Hz) and bodies that differ by 1 % from the others';
every hundredth has a worn joint. Times are of `ident fleet`, whole, by each number of workers (0: this process).
"""

from __future__ import annotations

import os
import resource
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

RATE, ROWS, JOINTS = 100.0, 1000, 6
ROBOT = """
name = "arm6"
convention = "mdh"
length = "m"
angle = "rad"
"""
ALPHAS, D = (0.0, -np.pi / 2, np.pi / 2, np.pi / 2, -np.pi / 2, np.pi / 2), (0.33, 0.0, 0.32, 0.0, 0.38, 0.0)
DATASET = """
[dataset]
name = "{name}"
[signals]
time = {{ column = "t", unit = "s" }}
position = {{ columns = {q}, unit = "rad" }}
torque = {{ columns = {tau}, unit = "N m" }}
[[recording]]
name = "log"
file = "log.parquet"
"""
EXPERIMENT = """
[experiment]
title = "A small log"
robot = "robot.toml"
data = "robots/0000/dataset.toml"
[recordings]
fit = ["log"]
[processing]
position_hz = 10
decimation = [2]
[model]
coulomb = { tanh = 0.05 }
[fit]
weight = "vanishing"
"""
FLEET = """
[fleet]
title = "Simulated arms"
experiment = "experiment.toml"
data = ["robots/*/dataset.toml"]
"""


def write(folder: Path, robots: int) -> None:
    """Write the fleet's files to a folder."""
    from arm7 import bodies

    from ident.experiment import build_model, read_experiment
    from ident.model import torque
    from ident.robot import read_robot

    joints = "".join(f"[[joint]]\nalpha = {a}\nd = {d}\n" for a, d in zip(ALPHAS, D, strict=True))
    (folder / "robot.toml").write_text(ROBOT + joints)
    names = [[f"{what}{i}" for i in range(1, JOINTS + 1)] for what in ("q", "tau")]
    for k in range(robots):
        place = folder / "robots" / f"{k:04d}"
        place.mkdir(parents=True)
        (place / "dataset.toml").write_text(DATASET.format(name=f"arm{k:04d}", q=names[0], tau=names[1]))
    (folder / "experiment.toml").write_text(EXPERIMENT)
    (folder / "fleet.toml").write_text(FLEET)
    arm = build_model(read_experiment(folder), read_robot(folder / "robot.toml"))
    rest = len(arm.names) - arm.n_rigid
    t = np.arange(ROWS) / RATE
    for k in range(robots):
        rng = np.random.default_rng(k)
        w = 2 * np.pi * np.array([[0.15], [0.4], [0.9]]) * rng.uniform(0.8, 1.2, (3, JOINTS))
        size, phase = np.array([[0.8], [0.4], [0.15]]), rng.uniform(0, 2 * np.pi, (3, JOINTS))
        angle = t[:, None, None] * w + phase
        q = (size * np.sin(angle)).sum(axis=1)
        qd, qdd = (size * w * np.cos(angle)).sum(axis=1), -(size * w**2 * np.sin(angle)).sum(axis=1)
        theta = np.concatenate([bodies(JOINTS).ravel() * rng.normal(1.0, 0.01), np.full(rest, 0.8)])
        theta[arm.n_rigid :] *= rng.normal(1.0, 0.03, rest)
        if k % 100 == 50:
            theta[arm.names.index("joint2.coulomb")] *= 2.0
        tau = torque(arm, theta, q, qd, qdd) + 0.05 * rng.normal(size=q.shape)
        columns = dict(zip(("t", *names[0], *names[1]), [t, *q.T, *tau.T], strict=True))
        pq.write_table(pa.table(columns), folder / "robots" / f"{k:04d}" / "log.parquet")


def main() -> None:
    robots = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    counts = [int(word) for word in sys.argv[2:]] or [0, 1, 2]
    from ident import pipelines

    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), robots)
        for count in counts:
            before = sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
            share = pipelines.Sharing(workers=count or None)
            start, own = time.perf_counter(), time.process_time()
            found = pipelines.fleet(f"{folder}/fleet.toml", f"{folder}/out{count}", share=share)
            took, own = time.perf_counter() - start, time.process_time() - own
            left = resource.getrusage(resource.RUSAGE_CHILDREN)
            workers, load = left.ru_utime + left.ru_stime - before, os.getloadavg()[0]
            print(
                f"{robots} robots, {count} workers: {took:.1f} s; processor {own:.1f} s here, {workers:.1f} s in them,"
                f" {1e3 * (own + workers) / robots:.1f} ms a robot; load {load:.1f};"
                f" {len(found.failed)} failed, {len(found.standing_out)} stand out"
            )


if __name__ == "__main__":
    main()
