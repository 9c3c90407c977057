"""A model of cost, from small measurements: long logs by workers of Dask, and fleets of small logs.

OPENBLAS_NUM_THREADS=1 NUMBA_NUM_THREADS=1 python experiments/benchmarks/cost.py [ROWS [ROBOTS]]

A log of 7 joints at 1 kHz in Parquet, filtered and thinned (README's recipe), is compressed by this process, by one
worker and by two; then so many robots with a small log each are fitted one by one. Processor times are those of the
processes themselves, so they hold on a machine that others use, but for what these take from caches; times by the clock
are only compared with each other. Extrapolations are stated as such.
"""

from __future__ import annotations

import os
import pickle
import sys
import tempfile
import time
from math import ceil, log
from pathlib import Path

import fleet
import memory
import numpy as np

from ident.logs.stream import NUMBERS
from ident.pipelines import Sharing
from ident.pipelines.cluster import sharing
from ident.pipelines.compressed import compressed
from ident.pipelines.factors import fitted
from ident.pipelines.fleet import Member, _loaded, _read
from ident.pipelines.loaded import load
from ident.regression.compress import ARITY, joined

ROUNDS = 3


def spent() -> float:
    return time.process_time()


def log_by_workers(rows: int) -> float:
    """Print what a long log costs, and return the processor time of a row [us] on one worker."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        memory.write(folder, "parquet", rows)
        size = (folder / "log.parquet").stat().st_size
        loaded = load(folder)
        compressed(loaded)  # kernels
        own, clock = spent(), time.perf_counter()
        alone = compressed(loaded)
        own, clock = spent() - own, time.perf_counter() - clock
        print(f"{rows:.0e} rows, {size / rows:.0f} bytes a row; load {os.getloadavg()[0]:.1f}")
        print(f"  this process   processor {1e6 * own / rows:.2f} us a row, clock {clock:.1f} s")
        clocks, costs = {}, {}
        with sharing(Sharing(workers=1)) as one, sharing(Sharing(workers=2)) as two:
            clients = {1: one, 2: two}
            for client in clients.values():
                compressed(loaded, client=client)
            for _ in range(ROUNDS):
                for number, client in clients.items():
                    before, clock = sum(client.run(spent).values()), time.perf_counter()
                    found = compressed(loaded, client=client)
                    clocks.setdefault(number, []).append(time.perf_counter() - clock)
                    costs.setdefault(number, []).append(sum(client.run(spent).values()) - before)
                    for a, b in zip(alone.regression.segments, found.regression.segments, strict=True):
                        assert all(np.array_equal(x, y) for x, y in zip(a.factors, b.factors, strict=True))
        for number in clients:
            cost, least, middle = min(costs[number]), min(clocks[number]), float(np.median(clocks[number]))
            told = f"processor {1e6 * cost / rows:.2f} us a row, clock {least:.1f} s at least, {middle:.1f} s median"
            print(f"  {number} worker{'s' * (number > 1)}       {told}")
        ratio = np.array(clocks[1]) / np.array(clocks[2])
        print(f"  one worker's clock / two workers': {', '.join(f'{r:.2f}' for r in ratio)}; the same digits")
        return 1e6 * min(costs[1]) / rows


def joining(rows: int) -> tuple[float, int]:
    """Return the processor time [s] of joining ARITY pieces of one segment each, and a piece's size in bytes."""
    with tempfile.TemporaryDirectory() as name:
        memory.write(Path(name), "parquet", 100_000)
        segments = compressed(load(Path(name))).regression.segments
    pieces = [{("log", 0): s} for s in segments[:ARITY]]
    start = spent()
    for _ in range(20):
        joined(pieces)
    return (spent() - start) / 20, len(pickle.dumps(pieces[0]))


def robot(robots: int) -> tuple[float, float]:
    """Return the processor times [s] of a small log, read and compressed, and of a robot's fit."""
    with tempfile.TemporaryDirectory() as name:
        fleet.write(Path(name), robots)
        _, template, members = _read(Path(name) / "fleet.toml")
        assert template is not None
        one(template, members[0])
        found = np.array([one(template, member) for member in members])
    return tuple(np.median(found, axis=0).tolist())


def one(template, member: Member) -> tuple[float, float]:
    start = spent()
    loaded = _loaded(template, member)
    factors = compressed(loaded)
    middle = spent()
    fitted(loaded, factors, [])
    return middle - start, spent() - middle


def main() -> None:
    rows, robots = [int(float(word)) for word in sys.argv[1:]] + [2_000_000, 40][len(sys.argv) - 1 :]
    row = log_by_workers(rows)
    join, size = joining(rows)
    part = NUMBERS // 22
    print(f"  joining {ARITY} pieces of {size / 1e3:.0f} kB: {1e3 * join:.1f} ms; a part is {part} rows")
    print("extrapolated: rows x processor time a row / workers + depth of the tree x (joining, sending at 100 MB/s)")
    for total, workers in ((1e9, 2), (1e9, 100), (1e11, 100), (1e11, 1000)):
        depth = ceil(log(total / part, ARITY))
        reduce = depth * (join + ARITY * size / 1e8)
        seconds = total * row * 1e-6 / workers + reduce
        print(
            f"  {total:.0e} rows, {workers} workers: {seconds / 60:.1f} min, of which {reduce:.2f} s are {depth} levels"
        )
    a, b = robot(robots)
    print(
        f"a robot of a fleet: {1e3 * a:.0f} ms for each small log (read, filtered, compressed), {1e3 * b:.0f} ms to fit"
    )
    print(f"  extrapolated: 1,000 robots x 10 logs {1000 * (10 * a + b) / 60:.1f} min of processor time")


if __name__ == "__main__":
    main()
