"""Mistakes planted in CAD tables, and how many of them the doctor names.

python experiments/benchmarks/doctor.py [CASES]

Arms of 3 to 7 joints, 20 s of motion, friction with a Stribeck part that the model lacks, torque noise of 3 % with a
correlation of 0.9 from sample to sample; CAD off by up to 3 % in every number, with none, one, two or three mistakes
of the list. A planted mistake counts as identifiable when the very same logs, with a CAD table that is exact but for
the mistakes, give it log odds of at least 20 against the table without it and against every other mistake in its
place: three standard deviations (sqrt(2 D) each) or so above the margin of log 1000 that the doctor asks for. It counts
as undecidable when those odds are below 0. Named rightly: asserted, the only explanation within the margin.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

from doctor_cases import Tally, judged  # noqa: E402

WORKERS = 2


def one(arguments: tuple[int, int]) -> Tally:
    """Return the tally of one case."""
    return judged(*arguments)


def main(cases: int) -> None:
    """Print how many mistakes are named, how many are not, and what is asserted wrongly."""
    jobs = [(seed, seed % 4) for seed in range(cases)]
    began = time.perf_counter()
    with ProcessPoolExecutor(WORKERS, mp_context=multiprocessing.get_context("spawn")) as pool:
        tallies = list(pool.map(one, jobs, chunksize=4))
    took = time.perf_counter() - began
    clean = [t for t in tallies if not t.planted]
    other = [t for t in tallies if t.planted]
    identifiable = sum(len(t.identifiable) for t in other)
    named = sum(len(t.named) for t in other)
    print(f"{cases} cases in {took:.0f} s, {sum(t.seconds for t in tallies) / cases:.1f} s each")
    print(f"without mistakes: {len(clean)} tables, {sum(bool(t.asserted) for t in clean)} with a false alarm")
    print(f"with mistakes: {len(other)} tables, {sum(len(t.planted) for t in other)} mistakes")
    print(f"  identifiable {identifiable}, of them named rightly {named} ({100 * named / max(identifiable, 1):.1f} %)")
    print(f"  undecidable {sum(t.undecidable for t in other)}, of them asserted {sum(t.overclaimed for t in other)}")
    print(f"  assertions {sum(len(t.asserted) for t in other)}, wrong {sum(len(t.wrong) for t in other)}")
    for what, found in (("identifiable", "identifiable"), ("named", "named")):
        print(f"  {what}: {dict(Counter(k for t in other for k in getattr(t, found)))}")
    for t in tallies:
        if t.wrong or len(t.named) < len(t.identifiable):
            print(f"  case {t.seed}, {len(t.planted)} mistakes: planted {t.planted}; {t.missed}; wrong {t.wrong}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
