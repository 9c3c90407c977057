"""CAD tables refined by logs whose gains and zeros are off as in any robot: nearer to the truth than they were?

python experiments/benchmarks/refined_tables.py [FIRST LAST [KIND]], seeds such as 100 130; KIND of a mistake: `KINDS`

Random arms of 3 to 7 joints (`tests/doctor_cases.py`) with CAD off by up to 3 % in every number; four of five logs have
gains off by 3 %, four of five zeros off by 0.25 degrees (standard deviations). A table is right, or one link of it
lacks a component, counts one twice, or has another density or mass. Each is examined and refined as `ident cad refine`
does. Errors are shares of the mass, of the radius of gyration and of half the trace of the tensor, summed over all
numbers of a table, and averaged over the tables: of the link with the mistake, and of the others; first as given, then
refined by logs that are taken for exact, then with their usual errors.

200 260, drawn after the errors' sizes were set (4 %, 0.29 degrees: those that the search counts with):

| the table | its link: given, exact, usual | the others |
|---|---|---|
| is right (21) | 0.07, 0.11, 0.07 | 0.26, 0.37, 0.28 |
| has another density of one link (9) | 2.34, 0.64, 0.59 | 0.29, 0.56, 0.43 |
| has another mass of one link (10) | 0.69, 0.93, 0.85 | 0.29, 0.60, 0.44 |
| lacks a component (7) | 0.80, 0.69, 0.69 | 0.36, 0.61, 0.53 |
| counts a component twice (13) | 4.57, 3.35, 3.39 | 0.22, 0.63, 0.51 |
"""

from __future__ import annotations

import os
import sys
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

import numpy as np  # noqa: E402
from doctor_cases import Case, case  # noqa: E402

from ident.arrays import Array  # noqa: E402
from ident.compare.doctor.doctor import doctor, searching  # noqa: E402
from ident.compare.doctor.evidence import usual_errors  # noqa: E402
from ident.errors import IdentError  # noqa: E402
from ident.estimate import Tolerances, cad_prior, refine_cad, solid_bodies  # noqa: E402
from ident.logs.motion import Motion  # noqa: E402
from ident.regression import compress  # noqa: E402
from ident.spatial.inertia import from_com, pseudo_inertia, to_com, upper  # noqa: E402

KINDS = ("right", "right", "lacks a component", "counts one twice", "density", "mass")
GAINS, ZEROS = 0.03, np.deg2rad(0.25)
USUAL = {"gain_error": 0.04, "zero_error": 0.005}


def drawn(seed: int, kind: str | None) -> tuple[Case, Motion, Array, str, int]:
    """Return an arm, its log with gains and zeros that are off, a table, its mistake and the link that has it."""
    rng, c = np.random.default_rng([seed, 77]), case(1000 + seed, 0)
    n = c.model.robot.n
    gains, zeros = (x * rng.standard_normal(n) * (rng.random() < 0.8) for x in (GAINS, ZEROS))
    motion = replace(c.motion, tau=c.motion.tau * (1.0 + gains), q=c.motion.q + zeros)
    kind, i, table = kind or str(rng.choice(KINDS)), int(rng.integers(1, n)), c.cad.copy()
    mass, centre, _ = to_com(c.bodies[i])
    if kind == "density":
        table[i] *= rng.choice([2.7, 1 / 2.7, 0.6, 1.6])
    elif kind == "mass":
        own, about, tensor = to_com(table[i])
        table[i] = from_com(own * rng.choice([0.5, 0.7, 1.4, 2.0]), about, tensor)
    elif kind != "right":
        sign = -1.0 if kind.startswith("lacks") else 1.0
        for _ in range(400):  # until both the link and what is left of it can exist
            own = mass * rng.uniform(0.1, 0.5)
            radius = rng.uniform(0.015, 0.05)
            body = from_com(own, centre + rng.normal(0.0, 0.08, 3), 0.8 * own * radius**2 * np.eye(3))
            if np.linalg.eigvalsh(pseudo_inertia(table[i] + sign * body)).min() > 1e-5:
                table[i] += sign * body
                break
        else:
            kind = "right"
    return c, motion, table, kind, i


def refined(c: Case, motion: Motion, table: Array) -> list[Array]:
    """Return links (n, 10) of a table that is refined by logs that are exact, and that have their usual errors."""
    model, regression = c.model, compress(c.model, motion)
    found = doctor(searching(model, regression, table, motions=[motion], density_error=0.04, **USUAL))
    links = model.robot.links
    bodies = solid_bodies(model.robot, found.corrected, list(found.unknown))
    for link, (body, _) in found.left.items():
        bodies[links.index(link)] = body
    prior = cad_prior(model.robot, bodies, "corrected")
    shares = np.where(np.array([link in found.unknown for link in links])[:, None], 1.0, found.shares)
    mass, centre, tensor = (Tolerances.shares(prior, share) for share in shares.T)
    left = {links.index(link): covariance for link, (_, covariance) in found.left.items()}
    metric = Tolerances(mass.mass, centre.centre, tensor.tensor, covariances=left)
    usual = usual_errors(model, regression, *found.errors, [motion])
    both = (refine_cad(model, regression, prior, metric=metric, errors=errors) for errors in (None, usual))
    return [np.asarray(each.estimate.inertials) for each in both]


def errors(bodies: Array, truth: Array) -> Array:
    """Return the sum of the errors of each link's numbers (n,)."""
    found = []
    for body, true in zip(bodies, truth, strict=True):
        (m, c, about), (mass, centre, tensor) = to_com(body), to_com(true)
        half = np.trace(tensor) / 2.0
        off = abs(m - mass) / mass + np.abs(c - centre).sum() / np.sqrt(2.0 * half / mass)
        found.append(off + np.abs(upper(about) - upper(tensor)).sum() / half)
    return np.array(found)


def main(first: int = 0, last: int = 30, only: str | None = None) -> None:
    """Print the sums of errors, as given and refined, for each kind of mistake."""
    tables = defaultdict[str, list[list[float]]](list)
    for seed in range(first, last):
        c, motion, table, kind, i = drawn(seed, only)
        try:
            each = [errors(x, c.bodies) for x in (table, *refined(c, motion, table))]
        except IdentError as failed:
            print(f"seed {seed}, {kind}: {failed}")
            continue
        tables[kind].append([x for e in each for x in (e[i], e.sum() - e[i])])
    for kind, found in tables.items():
        own, others = (" -> ".join(f"{x:.2f}" for x in np.mean(found, axis=0)[k::2]) for k in (0, 1))
        print(f"{kind} ({len(found)}): its link {own}; the others {others}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]), *sys.argv[3:4])
