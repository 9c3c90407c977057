"""CAD refined and judged: coverage of the intervals, errors against the truth, bodies at the edge, and times.

python experiments/benchmarks/refine.py [DRAWS]

Coverage: arms of three or four joints, torque noise of 5 % with a correlation of 0.95 from sample to sample, CAD 5 to
20 % off; a case counts when every interval of it holds the truth. Errors: the five-joint arm in a log of 20 s.
- Identifiable combinations: error in base parameters over its standard error, root mean square over draws and
  parameters; the figure asks for at most 1.
- The rest: all numbers of the table (masses, centres, tensor entries), few of which torque fixes by itself; error over
  the number's size, root mean square per draw; median and 95th percentile over the draws.
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

import numpy as np  # noqa: E402

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

from arm7 import bodies, model, seconds  # noqa: E402
from refine_cases import arm5, recorded, small_arm, wrong  # noqa: E402

from ident.estimate import (  # noqa: E402
    ConstantPullback,
    Euclidean,
    Prior,
    Refined,
    Tolerances,
    confidence_region,
    intervals,
    refine_cad,
    verdicts,
)
from ident.estimate.cones import edge  # noqa: E402
from ident.estimate.interval import natural  # noqa: E402
from ident.estimate.least_squares import joint_noise  # noqa: E402
from ident.regression import compress  # noqa: E402

#: A body counts as on the boundary when the least eigenvalue of its pseudo-inertia against CAD's is below this.
EDGE = 1e-7


def planted(prior: Prior) -> Tolerances:
    """Return the planted errors as tolerances: uniform from 5 to 20 %, so a standard deviation of 13 %."""
    centres = np.linalg.norm(natural(prior.inertials)[0][:, 1:4], axis=1)
    return Tolerances(mass=0.13, centre=tuple((0.13 / np.sqrt(3) * centres).tolist()), tensor=0.13)


WAYS = {
    "weighted by tolerances": lambda c: refine_cad(c.model, c.regression, c.prior, metric=planted(c.prior)),
    "cross-validated": lambda c: refine_cad(c.model, c.regression, c.prior, weight="cross-validated"),
    "data first, entropic": lambda c: refine_cad(c.model, c.regression, c.prior),
    "data first, pull-back": lambda c: refine_cad(c.model, c.regression, c.prior, metric=ConstantPullback()),
    "data first, Euclidean": lambda c: refine_cad(c.model, c.regression, c.prior, metric=Euclidean()),
}


def covered(seed: int) -> tuple[int, int, float, Counter[str]]:
    """Return intervals that hold the truth, intervals, |phi error| / radius of the region, and verdicts on CAD."""
    case = small_arm(seed)
    found = intervals(case.model, case.regression, case.prior)
    truth = natural(case.theta[: case.model.n_rigid].reshape(-1, 10))[0].ravel()
    held = sum(a.lower <= x <= a.upper for a, x in zip(found.numbers, truth, strict=True))
    region = confidence_region(case.regression, joint_noise(case.regression))
    off = region.W @ (case.regression.base.K @ case.theta - region.centre)
    judged = Counter(verdicts(found, case.prior.inertials).values())
    return held, len(truth), float(np.linalg.norm(off)) / region.radius, judged


def errors(arguments: tuple[str, int]) -> tuple[float, np.ndarray, np.ndarray, float, float, int]:
    """Return squared error / standard error (mean), errors of numbers and of CAD's, squared residual, edge, at edge."""
    way, seed = arguments
    case = arm5(seed)
    found: Refined = WAYS[way](case)
    estimate = found.estimate
    assert estimate.inertials is not None
    z = (estimate.phi - case.regression.base.K @ case.theta) / estimate.covariance.standard_errors
    truth, size = natural(case.theta[: case.model.n_rigid].reshape(-1, 10))
    after = np.abs(natural(estimate.inertials)[0] - truth) / size
    before = np.abs(natural(case.prior.inertials)[0] - truth) / size
    residual = float(np.sum(case.regression.squared_residuals(estimate.phi) / estimate.sigma**2))
    at_edge = sum(
        edge(body, Prior(one[None], "cad")) < EDGE
        for body, one in zip(estimate.inertials, case.prior.inertials, strict=True)
    )
    return float(np.mean(z**2)), after.ravel(), before.ravel(), residual, edge(estimate.inertials, case.prior), at_edge


def main(draws: int) -> None:
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(mp_context=context) as pool:
        start = time.perf_counter()
        cases = list(pool.map(covered, range(draws), chunksize=5))
        whole = sum(held == count for held, count, *_ in cases)
        print(f"cases with the truth in every interval, 99.7 %: {whole} of {draws}", end=" ")
        print(f"({sum(c[0] for c in cases)} of {sum(c[1] for c in cases)} intervals)")
        print(f"largest |phi error| / radius of the region: {max(c[2] for c in cases):.2f}")
        print(f"verdicts on CAD: {dict(sum((c[3] for c in cases), Counter()))}")
        print(f"{time.perf_counter() - start:.0f} s")

        residuals = {}
        for way in WAYS:
            start = time.perf_counter()
            found = list(pool.map(errors, [(way, s) for s in range(draws)], chunksize=5))
            took = time.perf_counter() - start
            after, before = np.array([f[1] for f in found]), np.array([f[2] for f in found])
            residuals[way] = np.array([f[3] for f in found])
            print(f"\n{way}: {draws} draws in parallel in {took:.1f} s, logs made and compressed with it")
            print(f"  identifiable: error / standard error, rms {np.sqrt(np.mean([f[0] for f in found])):.2f}")
            rms, cad = (np.sqrt(np.mean(e**2, axis=1)) for e in (after, before))
            for name, quantile in (("median", 0.5), ("95th percentile", 0.95)):
                one, other = np.quantile(after, quantile, axis=0), np.quantile(before, quantile, axis=0)
                worse = int(np.sum(one > 1.05 * other))
                print(
                    f"  the rest, {name}: {np.quantile(rms, quantile):.2f}, CAD {np.quantile(cad, quantile):.2f};"
                    f" numbers more than 5 % worse than CAD's by themselves: {worse} of {len(one)}"
                )
            edges = np.array([f[4] for f in found])
            print(
                f"  bodies at the edge: {sum(f[5] for f in found)} of {5 * draws}; least eigenvalue {edges.min():.1e}"
            )
    first = [residuals[way] for way in WAYS if way.startswith("data first")]
    spread = max(float(np.max(np.abs(r / first[0] - 1.0))) for r in first)
    print(f"\nsquared residuals of the three with data first differ by at most {spread:.1e}")

    seven = model()
    rng = np.random.default_rng(0)
    friction = np.concatenate([np.full(7, 0.5), np.full(7, 2.0), np.full(7, 3.0), np.zeros(7)])
    motion = recorded(
        rng, seven, np.concatenate([bodies(7).ravel(), friction]), 0.03, samples=2000, segments=20, rho=0.9
    )
    factors = compress(seven, motion)
    prior = Prior(wrong(rng, bodies(7), 0.05, 0.2), "bodies 5 to 20 % off")
    print("\nseven joints, from factors:")
    print(f"  weighted       {seconds(lambda: refine_cad(seven, factors, prior, metric=planted(prior))):.3f} s")
    print(f"  pull-back      {seconds(lambda: refine_cad(seven, factors, prior, metric=ConstantPullback())):.3f} s")
    print(f"  entropic       {seconds(lambda: refine_cad(seven, factors, prior)):.3f} s")
    chosen = seconds(lambda: refine_cad(seven, factors, prior, weight="cross-validated"), 2)
    print(f"  cross-validated {chosen:.3f} s")
    print(f"  intervals, 70 numbers {seconds(lambda: intervals(seven, factors, prior), 1):.2f} s")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
