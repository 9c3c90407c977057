"""Torques that come late or through a filter, told apart beside friction without memory: hysteresis hides either."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ident.compare.causes import undone
from ident.compare.causes.causes import MARGIN
from ident.compare.causes.reading import Reading, rows_of
from ident.compare.causes.weighing import Weighed, Weigher
from ident.estimate.prior import Prior
from ident.jit import one_thread
from ident.logs.motion import Motion
from ident.model.model import Model
from ident.model.standard import SIGN, Viscous

#: Values [s] among which the best of each is looked for.
_GRID = np.geomspace(0.002, 0.3, 15)
#: A lag takes this share from the error; hysteresis, as Dahl's law has it, took less than 0.15 from it in 20 draws.
LEAST = 0.2
#: What explains this share of what the best one does, in log p, is alike; a delay then leaves at most so much more.
ALIKE, NEAR = 0.9, 1.1


@dataclass(frozen=True)
class Lag:
    """How torques follow the motion, value [s]: late, or through a filter of first order, which may be the other."""

    value: float
    late: bool
    alike: bool


def lag(model: Model, motions: Sequence[Motion], prior: Prior) -> Lag | None:
    """Return how torques lag behind the motions, None where nothing of the kind makes the error much smaller."""
    plain = (t for t in model.terms if not t.kind.friction)
    with one_thread():
        weigher = Weigher(Model(model.robot, (*plain, Viscous(), SIGN)), rows_of(motions, thinned=False), prior)
        reading = Reading.plain(model.robot)
        now = weigher.weighed(reading, left_out=False)
        (late, delayed), (constant, filtered) = (_best(weigher, reading, w) for w in (undone.late, undone.blurred))
    gains = delayed.log - now.log, filtered.log - now.log
    if min(delayed.relative, filtered.relative) > (1.0 - LEAST) * now.relative or max(gains) <= 0.0:
        return None
    alike = min(gains) > ALIKE * max(gains)
    is_late = delayed.relative <= NEAR * filtered.relative if alike else gains[0] > gains[1]
    return Lag(late if is_late else constant, is_late, alike)


def lags_below(model: Model, motions: Sequence[Motion], prior: Prior, value: float) -> bool:
    """Return whether torques of motions, thinned to part of their band, surely lag by a value [s], as a delay has it.

    A delay is the same at all frequencies. A controller's answer to noise of the positions is not: it is felt where
    noise outweighs the motion, and leads the accelerations by a quarter of a turn.
    """
    with one_thread():
        weigher = Weigher(model, rows_of(motions, thinned=True), prior)
        reading = Reading.plain(model.robot)
        return weigher.weighed(undone.late(reading, value)).log > weigher.weighed(reading).log + MARGIN


def _best(weigher: Weigher, reading: Reading, without: undone.Without) -> tuple[float, Weighed]:
    """Return the value [s] that explains most, and the log as it is read without it."""
    from scipy.optimize import minimize_scalar

    def weighed(value: float) -> Weighed:
        return weigher.weighed(without(reading, value), left_out=False)

    k = int(np.argmax([weighed(x).log for x in _GRID]))
    ends = _GRID[max(k - 1, 0)], _GRID[min(k + 1, len(_GRID) - 1)]
    found = minimize_scalar(lambda x: -weighed(x).log, bounds=ends, method="bounded", options={"xatol": 1e-4})
    return float(found.x), weighed(float(found.x))
