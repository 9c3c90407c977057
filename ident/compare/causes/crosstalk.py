"""A torque that has a share of another joint's in it: crosstalk of two sensors, or drives that are coupled."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations

import numpy as np

from ident.compare.causes import undone
from ident.compare.causes.described import Described
from ident.compare.causes.mistakes import Mistake, Size, transmission
from ident.compare.causes.reading import Rows
from ident.robot.robot import Robot
from ident.tables import below

#: What shares usually are, of the other torque, and of its own; what any robot has, of how far its own varies, of which
#: a constant weight is no part.
USUAL, ORDINARY = 0.1, 0.04
#: Shares that are looked for: to three times what a torque is, which may be small as they cancel, in usual ones of it.
_FAR = 30.0


def crosstalk(rows: Rows, robot: Robot, described: Described) -> Iterator[Mistake]:
    """Yield each pair of joints of which the torque of the first may have a share of the second's in it.

    Torques of drives of which that of joint k moves with joint j, q_k + r q_j, have -r of the second in the first.
    """
    size, varies = np.sqrt(np.mean(rows.tau**2, axis=0)), rows.tau.std(axis=0)
    for j, k in permutations(np.flatnonzero(size > 0).tolist(), 2):
        what = f"its torque has {{}} % of that of {robot.joint_names[k]} in it"
        mend = "take that out: look for crosstalk of the two sensors, or for a drive that moves both joints"
        if abs(j - k) == 1:
            drives = described.keys(below("transmission", *transmission(robot.joint_names, {(k, j): "{-si}"})))
            mend = "take that out, where two sensors have crosstalk; where a drive moves both joints: "
            mend += f'{drives}, and `side = "motor"` for torque in dataset.toml'
        ratio = float(size[j] / size[k])
        usual = Size(USUAL * min(ratio, 1.0), ORDINARY * float(varies[j] / size[k]), 1e-2, far=_FAR * max(ratio, 1.0))
        yield Mistake("crosstalk", robot.joint_names[j], what, mend, undone.crosstalk(j, k), usual)
