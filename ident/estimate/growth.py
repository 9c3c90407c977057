"""Whether a number has a least value over the links that can exist and explain the logs, at whatever level.

The set {x: J_i >= 0, rows >= 0, |W K x - z| <= r}, where it has a point inside, goes on for ever just as

    {d: J_i(d) >= 0, rows d >= 0, |W K d| <= 1}      (rows d >= -1 for bounds that are numbers, such as of masses)

does, which has neither level nor noise in it: the first lies in a multiple of the second, and holds a smaller multiple,
shifted. So a linear function is bounded below on both or on neither; and h / m where h is on the d with m <= 1, if m
stays away from 0. Both are asked by looking at bodies ten times as large, and again: what is bounded comes to rest,
what is not gains at least the root of ten as much each time, as the sides of a parabola do, which no recession
direction shows.
"""

from __future__ import annotations

import numpy as np

from ident.arrays import Array
from ident.estimate.cones import Block, ConeProgram
from ident.estimate.coordinates import Coordinates

#: How large bodies may get, against the prior's; and how far from the logs, against their torques: 1e6 times as little.
REACHES = (1e1, 1e2, 1e3, 1e4)
ALLOWED = 1e-3
#: A gain against the one before: about 0.1 for what is bounded, 3.2 or 10 for what is not.
_GAIN = 2.0
#: What counts as no gain at all, in all and against the value; and the solver's gap.
_REST, _SHARE, _GAP = 3e-4, 1e-3, 1e-5


class Growth:
    """The cones of bodies, bounds and logs; rows (m, p), centre (m,): |rows @ x - centre| is the distance from them."""

    def __init__(self, coordinates: Coordinates, blocks: list[Block], rows: Array, centre: Array):
        n, p = len(coordinates.prior.inertials), len(coordinates.T)
        # a bound that is a number leaves room on its inner side
        room = {"nonnegative": 1.0}
        self._blocks = [Block(o.A[:, :p], room.get(o.cone, 0.0) * (o.A[:, p] != 0.0), o.cone) for o in blocks]
        unit = ALLOWED * (float(np.linalg.norm(centre)) or 1.0)
        stacked = np.concatenate([np.zeros((1, p)), rows / unit])
        self._logs = Block(stacked, np.append(1.0, np.zeros(len(rows))), "second-order")
        traces = np.zeros((n, p))
        for i in range(n):
            traces[i, 10 * i : 10 * i + 10] = coordinates.trace[10 * i : 10 * i + 10] / 4.0
        joints = np.eye(p)[10 * n :]
        self._ends = np.concatenate([-traces, joints, -joints])
        self._masses = coordinates.T[: 10 * n : 10] / coordinates.prior.inertials[:, :1]
        self._programs: dict[tuple[int | None, bool], list[ConeProgram]] = {}
        self._known: dict[tuple[bytes, int | None, bool], bool] = {}

    def bounded(self, q: Array, *, per_mass: int | None = None, logs: bool = True) -> bool:
        """Return whether q @ x is bounded below; per_mass: whether it is per mass of that link; logs: if they count."""
        asked = q.tobytes(), per_mass, logs
        if asked not in self._known:
            self._known[asked] = self._rests(q, (per_mass, logs))
        return self._known[asked]

    def _rests(self, q: Array, key: tuple[int | None, bool]) -> bool:
        if key not in self._programs:
            self._programs[key] = [self._program(*key, reach) for reach in REACHES]
        values: list[float] = []
        for program in self._programs[key]:
            values.append(-program.minimise(q / np.linalg.norm(q)).upper)
            if len(values) > 2:
                before, gain = np.diff(values[-3:])
                if gain < max(_REST, _SHARE * values[-1]):
                    return True
                if gain > _GAIN * before:
                    return False
        return True

    def _program(self, per_mass: int | None, logs: bool, reach: float) -> ConeProgram:
        blocks = [*self._blocks, Block(self._ends, np.full(len(self._ends), reach), "nonnegative")]
        if per_mass is not None:
            blocks.append(Block(-self._masses[per_mass][None], np.ones(1), "nonnegative"))
        return ConeProgram([*blocks, self._logs] if logs else blocks, _GAP)
