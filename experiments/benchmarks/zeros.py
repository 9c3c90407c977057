"""Zeros that are off, beside a CAD table: named, and no right robot accused?

    python experiments/benchmarks/zeros.py FIRST LAST

Cases of `tests/doctor_cases.py` (3 to 7 joints, correlated noise of 3 %, Stribeck friction that the model lacks) whose
numbers of CAD are off by up to 0.5, 3 or 6 %; every zero is off by up to 0.5 degrees, in odd cases one by 2 to 15
degrees. Bodies that are turned make up for a zero, so that the torques alone hardly tell: the table does.

Set on one log of another simulator; drawn then, 7000:7040 and 7100:7140, 10 s a case: 40 right robots, all silent; of
40 zeros 9 are about a vertical axis, which nothing shows (silent), 23 named, 6 silent (2 to 8 degrees), and of two
another joint's length or zero is named by the torques alone, as before. Without the table's zeros 6 were named where it
is 10 of the first 14 that are not vertical.
"""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

import numpy as np
from doctor_cases import case

from ident.cad.table import Cad
from ident.compare.causes.causes import examined
from ident.compare.causes.tables import Table
from ident.estimate import neutral_prior


def one(seed: int) -> str:
    """Return what came of a case, and print it."""
    rng = np.random.default_rng([77, seed])
    c = case(seed, 0, share=float(rng.choice([0.005, 0.03, 0.06])))
    robot, off, j = c.model.robot, 0.0, int(rng.integers(c.model.robot.n))
    if seed % 2:
        off = float(rng.choice([-1, 1]) * rng.uniform(2.0, 15.0))
    q = c.motion.q + np.deg2rad(rng.uniform(-0.5, 0.5, robot.n) - off * np.eye(robot.n)[j])
    table = Table(Cad(robot.links, c.cad, "cad.csv"))
    found = examined(c.model, [replace(c.motion, q=q)], neutral_prior(robot), table=table)
    causes = [x for x in found.causes if not x.ordinary and x.mistake.kind != "term"]
    named = [x for x in causes if x.where == robot.joint_names[j] and x.what.startswith("its zero")]
    told = "named" if named else "silent" if not causes else "WRONG"
    told = f"vertical {told}" if off and j == 0 else told if off else f"right {told}"
    print(
        seed, robot.n, robot.joint_names[j], f"{off:.1f}", told, *(f"{x.where}: {x.what}" for x in causes), flush=True
    )
    return told


if __name__ == "__main__":
    print(dict(Counter(map(one, range(*map(int, sys.argv[1:]))))))
