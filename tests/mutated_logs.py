"""Logs with damage of every kind through check and fit: which mutants end in anything but one sentence.

python tests/mutated_logs.py SEED NUMBER      prints the counts, each escape, and the peak of memory
"""

from __future__ import annotations

import contextlib
import io
import os
import resource
import sys
import tempfile
import traceback
import warnings
from collections import Counter
from pathlib import Path

import numpy as np

from ident.errors import IdentError
from ident.experiment import read_experiment
from ident.logs.stream import check_recording
from ident.pipelines.identify import fit
from ident.pipelines.loaded import load

FORMATS = ("csv", "parquet", "mat", "npz")
COLUMNS = ["t", "q1", "q2", "m1", "m2"]
ROBOT = 'name = "two"\nconvention = "mdh"\nlength = "m"\nangle = "rad"\n[[joint]]\n[[joint]]\na = 1.0\n'
DATASET = """
[dataset]
name = "two"
[signals]
time = {{ column = "t", unit = "s" }}
position = {{ columns = ["q1", "q2"], unit = "rad" }}
torque = {{ columns = ["m1", "m2"], unit = "N m" }}
[[recording]]
name = "run"
file = "x.{kind}"
"""
EXPERIMENT = """
[experiment]
title = "mutant"
robot = "robot.toml"
data = "dataset.toml"
[recordings]
fit = ["run"]
[fit]
feasible = false
"""
#: Half of the mutants have this besides; for the others processing is chosen.
PROCESSING = """
[processing]
position_hz = 10
torque_hz = 10
"""


def table(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Return a small sound log as columns by name."""
    t = np.arange(int(rng.integers(60, 900))) / 100
    q = np.sin(np.outer(t, rng.uniform(1, 6, 2)) + rng.uniform(0, 6, 2))
    tau = 3 * np.cos(q) + rng.normal(0, 0.1, q.shape)
    return dict(zip(COLUMNS, (t, *q.T, *tau.T), strict=True))


def changed(rng: np.random.Generator, columns: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the columns with a fault in their content: numbers, types, shapes or names."""
    name = str(rng.choice(COLUMNS))
    x = columns[name].copy()
    at = rng.integers(0, len(x), 3)
    odd = float(rng.choice([np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324, 1e20, 0.0]))
    kind = int(rng.integers(12))
    if kind == 0:
        x[at] = odd
    elif kind == 1:
        x[:] = odd
    elif kind == 2:
        x = x[::-1].copy()
    elif kind == 3:
        x = x[: int(rng.integers(0, 5))]
    elif kind == 4:
        x = x.astype(rng.choice(["int8", "uint64", "float16", "complex128", "bool", "float32", "S3", "U5"]))
    elif kind == 5:
        x = x.reshape(1, -1) if rng.random() < 0.5 else np.tile(x, (2, 3))
    elif kind == 6:
        return {k: v for k, v in columns.items() if k != name}
    elif kind == 7:
        return {(f'{k}\n=\t,"' if k == name else k): v for k, v in columns.items()}
    elif kind == 8:
        x = x * 10.0 ** rng.integers(-300, 300)
    elif kind == 9:
        return {k: v[: int(rng.integers(0, 6))] for k, v in columns.items()}
    elif kind == 10:
        x = columns[str(rng.choice(COLUMNS))].copy()
    else:
        x = np.repeat(x[at], len(x) // 3 + 1)[: len(x)]
    return columns | {name: x}


def write(path: Path, columns: dict[str, np.ndarray], compressed: bool) -> None:
    """Write the columns as they are, whatever they are; what a format cannot hold is left as text."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if path.suffix == ".npz":
            (np.savez_compressed if compressed else np.savez)(path, **columns)
        elif path.suffix == ".mat":
            import scipy.io

            scipy.io.savemat(path, columns, do_compression=compressed)
        elif path.suffix == ".parquet" and len({np.shape(c) for c in columns.values()}) == 1:
            import pyarrow as pa
            import pyarrow.parquet as pq

            sound = {k: v if v.ndim == 1 and v.dtype.kind != "c" else [str(x) for x in v] for k, v in columns.items()}
            pq.write_table(pa.table(sound), path, compression="zstd" if compressed else "none")
        else:
            rows = [[str(v) for v in np.ravel(c)] for c in columns.values()]
            lines = [",".join(columns)] + [
                ",".join(r[i] for r in rows if i < len(r)) for i in range(max(map(len, rows), default=0))
            ]
            path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def damaged(rng: np.random.Generator, content: bytes) -> bytes:
    """Return the bytes with flips, a cut, a piece doubled or overwritten; often in the head, where sizes stand."""
    data = bytearray(content)
    for _ in range(int(rng.integers(1, 4))):
        if not data:
            return b""
        reach = min(len(data), int(rng.choice([64, 300, len(data)])))
        at = int(rng.integers(0, reach)) if rng.random() < 0.7 else len(data) - 1 - int(rng.integers(0, reach))
        size = int(rng.integers(1, 9))
        kind = int(rng.integers(7))
        if kind == 0:
            data[at] ^= 1 << int(rng.integers(8))
        elif kind == 1:
            data[at : at + size] = rng.bytes(size)
        elif kind == 2:
            data[at : at + size] = b"\xff" * size if rng.random() < 0.5 else b"\x00" * size
        elif kind == 3:
            del data[at : at + size]
        elif kind == 4:
            del data[at:]
        elif kind == 5:
            data[at:at] = data[at : at + 50]
        else:
            digits = [i for i, b in enumerate(data) if 48 <= b <= 57]
            if digits:
                data[digits[int(rng.integers(len(digits)))]] = int(rng.choice(list(b'09eE-,.;"\n')))
    return bytes(data)


def run(seed: int, number: int) -> tuple[Counter[str], list[str]]:
    """Return how the mutants ended, and what escaped: anything but an IdentError, and every warning."""
    ends, escapes = Counter[str](), []
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "robot.toml").write_text(ROBOT)
        for k in range(number):
            rng = np.random.default_rng([seed, k])
            kind = FORMATS[k % len(FORMATS)]
            path = folder / f"x.{kind}"
            given = k // len(FORMATS) % 2 == 0
            (folder / "experiment.toml").write_text(EXPERIMENT + PROCESSING * given)
            (folder / "dataset.toml").write_text(DATASET.format(kind=kind))
            columns = table(rng)
            inside = rng.random() < 0.4
            write(path, changed(rng, columns) if inside else columns, bool(rng.random() < 0.5))
            if not inside or rng.random() < 0.3:
                path.write_bytes(damaged(rng, path.read_bytes()))
            for step in ("check", "fit"):
                with warnings.catch_warnings(record=True) as said, contextlib.redirect_stderr(io.StringIO()):
                    warnings.simplefilter("always")
                    try:
                        if step == "check":
                            loaded = load(read_experiment(folder))
                            check_recording(loaded.manifest, "run", loaded.robot)
                        else:
                            fit(folder)
                        ends[f"{step}: passed"] += 1
                    except IdentError as cause:
                        ends[f"{step}: one sentence"] += 1
                        if "\n" in str(cause) or len(str(cause)) > 1000:
                            escapes.append(f"mutant {k} ({kind}), {step}: no one sentence: {str(cause)[:300]!r}")
                    except Exception:  # what is counted here
                        ends[f"{step}: traceback"] += 1
                        escapes.append(f"mutant {k} ({kind}), {step}: {traceback.format_exc(limit=-3)}")
                escapes += [f"mutant {k} ({kind}), {step}: warning {w.message} {w.filename}:{w.lineno}" for w in said]
    return ends, escapes


def peak_megabytes() -> float:
    """Return the largest memory of this process and of its children [MB]."""
    used = (resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return max(used) / 1024


if __name__ == "__main__":
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    ends, escapes = run(int(sys.argv[1]), int(sys.argv[2]))
    print(*escapes, sep="\n")
    for end, count in sorted(ends.items()):
        print(f"{end:22} {count}")
    print(f"escapes {len(escapes)}, peak of memory {peak_megabytes():.0f} MB")
