"""Signs of several joints at once: to put one of them right may explain no more, and is no way to the others."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np

from ident.compare.causes import undone
from ident.compare.causes.described import File
from ident.compare.causes.mistakes import Mistake
from ident.compare.causes.reading import Reading
from ident.compare.causes.weighing import Weigher
from ident.estimate.prior import Prior

#: Joints of which all signs are tried; of robots with more, this many that move most torque together.
MOST = 7
#: Sets within so much log p explain the logs alike, and those of the fewest joints are told, at most so many.
_WORTH, _ALIKE = 3.0, 3
#: Known bodies predict as much by a set that misses so many times as much as by the best of these.
_AS_WELL = 1.2

_KINDS = {
    "direction": ("they move the other way than the robot file says", "change their signs, or turn their axes round"),
    "torque sign": ("their torques have the other sign", "multiply their torques by -1, their `gain`"),
    "position sign": (
        "their positions have the other sign, their torques have not",
        "multiply their positions by -1, their `gain`",
    ),
}


def signs(weigher: Weigher, reading: Reading, prior: Prior) -> Iterator[Mistake]:
    """Yield sets of two joints or more that together have another sign, of each kind, where one explains most.

    A mirrored robot explains the torques as well: of such sets those are told by which known bodies predict most.
    """
    n = reading.robot.n
    tried = range(n) if n <= MOST else np.sort(np.argsort(-weigher.plain.torques)[:MOST]).tolist()
    every = [which for size in range(len(tried) + 1) for which in combinations(tried, size)]
    for kind, (what, mend) in _KINDS.items():
        read = {which: _with(kind, n, which) for which in every}
        found = {which: weigher.weighed(read[which](reading, 0.0), left_out=False).log for which in every}
        alike = [which for which in every if found[which] > max(found.values()) - _WORTH]
        if not any(prior.neutral) and len(alike) > 1:
            left = {which: weigher.told(read[which](reading, 0.0), prior.inertials).relative for which in alike}
            alike = [which for which in alike if left[which] < _AS_WELL * min(left.values())]
        alike = [which for which in alike if not any({*less} < {*which} for less in alike)]
        changed: File = "robot" if kind == "direction" else "log"
        for which in (x for x in alike[:_ALIKE] if len(x) > 1):
            names = " and ".join(reading.robot.joint_names[j] for j in which)
            yield Mistake("signs", names, what, mend, read[which], changed=changed)


def _with(kind: str, n: int, which: tuple[int, ...]) -> undone.Without:
    sign = np.ones(n)
    sign[list(which)] = -1.0
    if kind == "direction":
        return undone.joints(np.diag(sign))
    return undone.torques(sign) if kind == "torque sign" else undone.positions(sign)
