"""How many of 500 noisy random problems end in bodies that can exist, verified exactly on the digits written.

Run: python experiments/benchmarks/feasible.py [COUNT]
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

from noisy_problems import KINDS, fitted, infeasible

from ident.errors import EstimationError


def main(count: int) -> None:
    start = time.perf_counter()
    tried: Counter[str] = Counter()
    feasible: Counter[str] = Counter()
    second: list[int] = []
    for seed in range(count):
        kind = KINDS[seed % 3]
        tried[kind] += 1
        try:
            model, estimate = fitted(seed)
        except EstimationError as raised:
            print(f"problem {seed}, {kind}: {type(raised).__name__}: {raised}", flush=True)
            continue
        wrong = infeasible(model, estimate.theta)
        if wrong:
            print(f"problem {seed}, {kind}: cannot exist: {', '.join(wrong)}", flush=True)
        else:
            feasible[kind] += 1
        if any("solver" in told for told in estimate.warnings):
            second.append(seed)
    for kind in KINDS:
        print(f"{kind}: {feasible[kind]} of {tried[kind]} feasible")
    print(f"all: {feasible.total()} of {count} feasible, {time.perf_counter() - start:.0f} s")
    print(f"needed the second solver: {len(second)} {second}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 500)
