"""Processor time and peak memory of `ident fit` on logs from a file: README's recipe, from the file to the estimate.

python experiments/benchmarks/memory.py [csv|parquet|npz ROWS [THREADS]]

A log of 7 joints (time, positions, torques) at 1 kHz is written to a temporary folder, fitted in a process of its own,
and deleted. ROWS such as 1e6.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from arm7 import bodies, model, peak_megabytes

from ident.model import torque

RATE, PART, NOISE = 1000.0, 100_000, 0.05
THREADS = ("NUMBA_NUM_THREADS", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS")
ROBOT = """
name = "arm7"
convention = "mdh"
length = "m"
angle = "rad"
"""
DATASET = """
[dataset]
name = "arm7"
[signals]
time = {{ column = "t", unit = "s" }}
position = {{ columns = {q}, unit = "rad" }}
torque = {{ columns = {tau}, unit = "N m" }}
[[recording]]
name = "long"
file = "log.{kind}"
"""
EXPERIMENT = """
[experiment]
title = "A long log"
robot = "robot.toml"
data = "dataset.toml"
[recordings]
fit = ["long"]
[processing]
position_hz = 20
decimation = [5]
"""
CASES = (
    ("csv", "1e5", "1"),
    ("csv", "1e6", "1"),
    ("parquet", "1e6", "1"),
    ("npz", "1e6", "1"),
    ("parquet", "1e7", "2"),
)


def parts(rows: int) -> Iterator[np.ndarray]:
    """Yield t, q and tau of the log as (rows, 15): sines whose periods have no common multiple, torque with noise."""
    arm, rng = model(), np.random.default_rng(0)
    n = arm.robot.n
    w = 2 * np.pi * np.sqrt(rng.uniform(0.01, 1.0, (3, n)))
    size, phase = rng.uniform(0.1, 0.5, (3, n)), rng.uniform(0, 2 * np.pi, (3, n))
    theta = np.concatenate([bodies(n).ravel(), np.tile([0.5, 2.0, 1.5, 0.1], n).reshape(n, 4).T.ravel()])
    for start in range(0, rows, PART):
        t = np.arange(start, min(start + PART, rows)) / RATE
        angle = t[:, None, None] * w + phase
        sine, cosine = size * np.sin(angle), size * np.cos(angle)
        q, qd, qdd = sine.sum(axis=1), (w * cosine).sum(axis=1), -(w**2 * sine).sum(axis=1)
        tau = torque(arm, theta, q, qd, qdd)
        yield np.column_stack([t, q, tau + NOISE * rng.normal(size=q.shape)])


def write(folder: Path, kind: str, rows: int) -> None:
    """Write the log and the three files that describe it."""
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    names = ["t", *(f"q{j}" for j in range(1, 8)), *(f"tau{j}" for j in range(1, 8))]
    joints = "".join(
        f"[[joint]]\na = {a}\nalpha = {alpha}\nd = {d}\n"
        for a, alpha, d in [
            (0, 0, 0.33), (0, -np.pi / 2, 0), (0, np.pi / 2, 0.32), (0.08, np.pi / 2, 0), (-0.08, -np.pi / 2, 0.38),
            (0, np.pi / 2, 0), (0.09, np.pi / 2, 0.1),
        ]
    )  # fmt: skip
    (folder / "robot.toml").write_text(ROBOT + joints)
    (folder / "dataset.toml").write_text(DATASET.format(q=names[1:8], tau=names[8:], kind=kind))
    (folder / "experiment.toml").write_text(EXPERIMENT)
    path = folder / f"log.{kind}"
    if kind == "npz":
        whole = np.concatenate(list(parts(rows)))
        np.savez(path, **{name: whole[:, k] for k, name in enumerate(names)})
        return
    schema = pa.schema([(name, pa.float64()) for name in names])
    with (pa.csv.CSVWriter if kind == "csv" else pa.parquet.ParquetWriter)(path, schema) as out:
        for part in parts(rows):
            out.write_table(pa.table([np.ascontiguousarray(c) for c in part.T], names=names))


def fit(folder: Path) -> None:
    """Fit in this process, and print what it took."""
    from ident.pipelines.identify import fit as fitted

    before, used = peak_megabytes(), processor_seconds()
    started = time.perf_counter()
    regression = fitted(folder).regression
    print(
        f"{processor_seconds():6.2f} s of processor time ({used:.2f} of it the import),"
        f" {time.perf_counter() - started:.2f} s; peak {peak_megabytes():.0f} MB (import {before:.0f});"
        f" {int(regression.rows[0]):,} rows a joint in {len(regression.segments)} segments"
    )


def processor_seconds() -> float:
    """Return the processor time of this process so far, all its threads together."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def main() -> None:
    if sys.argv[1:2] == ["write"]:
        write(Path(sys.argv[2]), sys.argv[3], int(float(sys.argv[4])))
        return
    if sys.argv[1:2] == ["fit"]:
        fit(Path(sys.argv[2]))
        return
    for kind, rows, threads in [(*sys.argv[1:], "1")[:3]] if len(sys.argv) > 2 else CASES:
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([sys.executable, __file__, "write", folder, kind, rows], check=True)
            print(f"{kind:>7} {float(rows):.0e} rows, {threads} threads: ", end="", flush=True)
            few = os.environ | dict.fromkeys(THREADS, threads)
            subprocess.run([sys.executable, __file__, "fit", folder], check=True, env=few)


if __name__ == "__main__":
    main()
