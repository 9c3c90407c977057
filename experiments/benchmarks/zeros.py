"""Zeros and lengths that are off, beside a CAD table: named, and no right robot accused?

    python experiments/benchmarks/zeros.py FIRST LAST [--lengths]

Cases of `tests/doctor_cases.py` (3 to 7 joints, correlated noise of 3 %, Stribeck friction that the model lacks) whose
numbers of CAD are off by up to 0.5, 3 or 6 %; every zero is off by up to 0.5 degrees, in odd cases one by 2 to 15
degrees. Bodies that are turned make up for a zero, so that the torques alone hardly tell: the table does.

Set on one log of another simulator; drawn then, 7000:7040 and 7100:7140, 10 s a case: 40 right robots, all silent; of
40 zeros 9 are about a vertical axis, which nothing shows (silent), 23 named, 6 silent (2 to 8 degrees), and of two
another joint's length or zero is named by the torques alone, as before. Without the table's zeros 6 were named where it
is 10 of the first 14 that are not vertical.

With --lengths: one distance between joints is 6 to 23 % off in the robot file. Set on one log of another simulator
(10 % of a forearm, CAD exact: named, 0.9075 for 0.909); drawn then, 7200:7240: 20 right robots silent; of 20 lengths 5
of the first joint, which nothing shows, 5 named (4 without the table's), 9 silent (all but 1 also where it is asked of
every table), 1 told as an extra body.
"""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

import numpy as np
from doctor_cases import Case, case

from ident.cad.table import Cad
from ident.compare.causes.causes import examined
from ident.compare.causes.tables import Table
from ident.estimate import neutral_prior
from ident.spatial.inertia import Pose


def one(seed: int) -> str:
    """Return what came of a case, and print it."""
    rng = np.random.default_rng([77, seed])
    c = case(seed, 0, share=float(rng.choice([0.005, 0.03, 0.06])))
    robot, off, j = c.model.robot, 0.0, int(rng.integers(c.model.robot.n))
    if seed % 2:
        off = float(rng.choice([-1, 1]) * rng.uniform(2.0, 15.0))
    if LENGTHS:
        return length(seed, c, off / 75.0, j)
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


def length(seed: int, c: Case, off: float, j: int) -> str:
    """Return what came of a case whose joint j is farther off along one axis, and print it."""
    robot, place = c.model.robot, c.model.robot.joints[j].placement
    k = int(np.argmax(np.abs(place.position)))
    farther = Pose(place.rotation, place.position * (1.0 + (off + 0.03 * np.sign(off)) * np.eye(3)[k]))
    joints = (*robot.joints[:j], replace(robot.joints[j], placement=farther), *robot.joints[j + 1 :])
    given = replace(c.model, robot=replace(robot, joints=joints))
    table = Table(Cad(robot.links, c.cad, "cad.csv"))
    causes = [x for x in examined(given, [c.motion], neutral_prior(robot), table=table).causes if not x.ordinary]
    causes = [x for x in causes if x.mistake.kind != "term"]
    own = f"its distance of {farther.position[k]:.4g} m along {'xyz'[k]}"
    named = [x for x in causes if x.where == robot.joint_names[j] and x.what.startswith(own)]
    among = [x for x in causes if any(own in rival for rival in x.rivals)]
    told = "named" if named else "rival" if among else "silent" if not causes else "WRONG"
    told = f"first joint {told}" if off and j == 0 else told if off else f"right {told}"
    words = [f"{x.where}: {x.what}" for x in causes]
    print(seed, robot.n, robot.joint_names[j], own, f"{off:.3f}", told, *words, flush=True)
    return told


if __name__ == "__main__":
    LENGTHS = sys.argv[-1] == "--lengths"
    print(dict(Counter(map(one, range(*map(int, sys.argv[1:3]))))))
