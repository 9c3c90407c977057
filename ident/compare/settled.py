"""How logs are processed where nobody says it: filters, bands and delays of positions, each in view of the others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from ident.compare.cut_off import checked
from ident.compare.delay import delays
from ident.logs.automatic import chosen
from ident.logs.check import out_of_reach
from ident.logs.log import Log
from ident.logs.motion import Motion
from ident.logs.process import Processing, process
from ident.model.model import Model
from ident.regression.base import BaseParameters

#: How often cut-off and delays of positions are chosen in turn, at most.
_ROUNDS = 3


def settled(model: Model, logs: Sequence[Log], base: BaseParameters | None = None) -> tuple[Processing, Processing]:
    """Return the processing that logs ask for, in a fit and where its prediction is judged.

    base: the model's base parameters, where they are known. Raises LogError for logs that cannot be processed.
    """
    spectral = fit, judged = chosen(logs)
    if fit == Processing():
        return fit, judged
    late: tuple[float, ...] = ()
    for _ in range(_ROUNDS):  # a delay changes which cut-off is best, and the other way round
        before = late
        fit, judged = checked(model, logs, spectral, late)
        found = late_positions(model, [process(log, fit) for log in logs], base)
        late = found if any(found) else ()
        if late == before:
            break
    return (replace(fit, position_delay_s=late), replace(judged, position_delay_s=late)) if late else (fit, judged)


def late_positions(model: Model, motions: Iterable[Motion], base: BaseParameters | None = None) -> tuple[float, ...]:
    """Return by how much the positions of each joint are late [s], as more than half of the motions show it."""
    # in another unit nothing that the residual shows is a delay
    sound = [m for m in motions if not out_of_reach(m.q, model.robot)]
    found = [delays(model, m, base=base).seconds for m in sound]
    if not found:
        return ()
    ranked = np.sort(found, axis=0)
    middle = ranked[[(len(found) - 1) // 2, len(found) // 2]]  # of two motions that differ neither is believed
    agreed = np.where(np.prod(middle, axis=0) > 0, np.sign(middle[0]) * np.abs(middle).min(axis=0), 0.0)
    return tuple(float(f"{x:.2g}") for x in agreed)
