"""Readings that leap away and back, planted into logs of `automatic.py`: how many are found, and what they cost.

    python experiments/benchmarks/spikes.py [SEED] [LOGS]

Up to 1 % of the rows of one joint's torque leap by 0.2 to 2 of its standard deviations, and as many of its positions by
0.02 to 0.5 rad, for one sample or two. The error of torque on an unseen motion, as a multiple of that without spikes,
filters chosen by the log: spikes kept, and interpolated.

The limits were set on real logs, those of validation among them, and on tests/test_spikes.py; drawn after they were
frozen, seed 9101 (40 logs): kept 8.0 times the error in the median, 448 at the 95th percentile, interpolated 1.01 and
2.1; 98 % of the positions' spikes and 55 % of the torques' found (the rest within 20 standard deviations of the noise),
one other reading taken for a spike, no alarm on the 40 logs without any.
"""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
from automatic import drawn, error

from ident.errors import IdentError
from ident.logs import process
from ident.logs.automatic import chosen
from ident.logs.readings import spikes


def planted(rng: np.random.Generator, x: np.ndarray, low: float, high: float) -> tuple[np.ndarray, np.ndarray]:
    """Return readings (N,) with spikes of that size, and which they are."""
    count = 1 + int(rng.uniform(0, 0.01) * len(x))
    at = 10 + 8 * rng.choice((len(x) - 20) // 8, count, replace=False)
    odd = np.zeros(len(x), dtype=bool)
    x = x.copy()
    for k in at:
        rows = slice(k, k + 1 + int(rng.random() < 0.3))
        odd[rows] = True
        x[rows] += rng.choice([-1, 1]) * rng.uniform(low, high)
    return x, odd


def main() -> None:
    seed, logs = (int(x) for x in (*sys.argv[1:], *("2026", "40")[len(sys.argv) - 1 :]))
    rng = np.random.default_rng(seed)
    alarms, found, wrong, costs = 0, {"torque": [0, 0], "position": [0, 0]}, 0, []
    for _ in range(logs):
        made = drawn(rng)
        log, j = made.log, int(rng.integers(made.log.n))
        alarms += bool(spikes(log.q).any() or spikes(log.tau).any())
        tau, q = log.tau.copy(), log.q.copy()
        tau[:, j], odd = planted(rng, tau[:, j], 0.2 * tau[:, j].std(), 2.0 * tau[:, j].std())
        q[:, j], moved = planted(rng, q[:, j], 0.02, 0.5)
        leapt = replace(log, q=q, tau=tau)
        for name, x, rows in (("torque", tau, odd), ("position", q, moved)):
            told = spikes(x)
            found[name][0] += int(told[rows, j].sum())
            found[name][1] += int(rows.sum())
            wrong += int(told.sum() - told[rows, j].sum())
        multiples = []
        for given, kept in ((log, False), (leapt, True), (leapt, False)):
            fit = chosen([given])[0]
            try:
                fit = replace(fit, spikes="kept") if kept else fit
                multiples.append(error(made.model, process(given, fit), made.unseen))
            except IdentError:
                multiples.append(np.inf)
        costs.append((multiples[1] / multiples[0], multiples[2] / multiples[0]))
        print(f"{costs[-1][0]:8.2f} {costs[-1][1]:6.2f}   {made.words}", flush=True)
    for name, (hits, all_of_them) in found.items():
        print(f"{name}: {hits} of {all_of_them} spikes found")
    print(f"{wrong} other readings taken for spikes; alarms on {alarms} of {logs} logs without any")
    for name, column in zip(("kept", "interpolated"), np.array(costs).T, strict=True):
        print(f"{name:13} median {np.median(column):7.2f}, 95th percentile {np.percentile(column, 95):7.2f}")


if __name__ == "__main__":
    main()
