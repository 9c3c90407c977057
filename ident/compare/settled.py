"""How logs are processed where nobody says it: filters, bands and delays of positions, each in view of the others.

Cut-offs that positions alone suggest are checked on the torque: of the positions, and of both sides of a fit.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import prod

import numpy as np

from ident.arrays import Array
from ident.compare.delay import delays
from ident.errors import IdentError
from ident.estimate.least_squares import joint_noise, squared_left_out, stretch_factors
from ident.logs.automatic import HIGHEST, chosen, factors_below
from ident.logs.check import out_of_reach
from ident.logs.log import Log
from ident.logs.motion import Motion
from ident.logs.process import Processing, process
from ident.model.model import Model
from ident.regression.base import BaseParameters, base_parameters
from ident.regression.compress import compress
from ident.structure.widths import smoothed

#: Cut-offs of the positions that are tried, relative to that of their spectra, and beside the best of them.
LOWER, BESIDE = (0.71, 0.5, 0.35, 0.25, 0.18, 0.125, 0.09, 0.06, 0.04, 0.03), (0.84, 1.19)
#: So many of them have to leave enough of a log between its edges, at least.
FEWEST = 4
#: None that is lower than one with so many times the least squared error.
TOO_LOW = 1.2
#: Bands of a fit that are tried, relative to the usual one.
NARROWER = (0.125, 0.25, 0.5)
#: Width of the tanh that stands in for Coulomb friction, relative to each joint's largest speed.
SMOOTH = 0.1
#: A cut-off, a band, is taken where it takes this share from the error of what is left out, in so many stretches.
LOWER_GAIN, NARROWER_GAIN, AGREED, STRETCHES = 0.1, 0.05, 9, 10


def checked(
    model: Model, logs: Sequence[Log], spectral: tuple[Processing, Processing], late: tuple[float, ...] = ()
) -> tuple[Processing, Processing]:
    """Return the processing, in a fit and where it is judged, that predicts stretches left out best, in one band.

    spectral: what the positions' spectra ask for (`chosen`), which stays where no lower cut-off is better in nearly
    all stretches, and where logs are short. late (n,): delays of positions [s]. The limits were set on simulated arms
    (`experiments/benchmarks/automatic.py`).
    """
    fit, judged = spectral
    given = fit.position_hz or HIGHEST * min(fit.resample_hz or log.rate_hz for log in logs)
    duration = min(float(log.t[-1] - log.t[0]) for log in logs)
    longest = duration / (2.0 * STRETCHES) - fit.left_out(0.0)
    lowest = [times for times in LOWER if times * given * longest >= 1.0]
    if len(lowest) < FEWEST:
        return spectral
    edge = fit.left_out(0.0) + 1.0 / (lowest[-1] * given)
    same = replace(fit, edge_s=edge, segment_s=duration / (2.0 * STRETCHES), position_delay_s=late or 0.0)
    motions = [process(log, same) for log in logs]
    fastest = np.max([np.percentile(np.abs(m.qd), 99, axis=0) for m in motions], axis=0)
    model = smoothed(model, np.maximum(SMOOTH * fastest, 1e-6))  # at rest, the sign of the speed is that of noise
    base, noise = base_parameters(model), None

    def factors(position_hz: float | None, decimation: tuple[int, ...]) -> list[Array]:
        nonlocal noise
        processing = replace(same, position_hz=position_hz, decimation=decimation)
        made = compress(model, (process(log, processing) for log in logs), base=base)
        noise = joint_noise(made) if noise is None else noise
        return stretch_factors(made, noise, STRETCHES)

    try:
        known = {given: factors(fit.position_hz, judged.decimation)}
    except IdentError:  # no torque that bodies explain: the fit says so
        return spectral
    errors = {given: squared_left_out(known[given])}

    def best(cuts: Sequence[float]) -> float:
        """Try cut-offs; return the best of all that are better than `given` in nearly all stretches, else that."""
        for cut in cuts:
            if cut not in errors and cut < given:
                known[cut] = factors(cut, judged.decimation)
                errors[cut] = squared_left_out(known[cut])
            least = min(errors, key=lambda cut: float(errors[cut].sum()))
            if cut < least and errors[cut].sum() > TOO_LOW * errors[least].sum():
                break
        sound = [cut for cut in errors if cut == given or _gainful(errors[cut], errors[given], LOWER_GAIN)]
        return min(sound, key=lambda cut: float(errors[cut].sum()))

    lower = best([times * given for times in lowest])
    cut = given if lower == given else best([times * lower for times in BESIDE])
    found, judged = spectral if cut == given else chosen(logs, position_hz=cut)
    usual = prod(found.decimation)
    thinned = [found.decimation, *(factors_below(usual / share) for share in NARROWER)]
    # whatever is fitted, all are judged alike
    left = [squared_left_out(factors(found.position_hz, each), known[cut]) for each in thinned]
    least = int(np.argmin([e.sum() for e in left]))
    if _gainful(left[least], left[0], NARROWER_GAIN):
        found = replace(found, decimation=thinned[least])
    return found, judged


def _gainful(errors: Array, before: Array, gain: float) -> bool:
    """Return whether errors, given as squares by stretches, are lower by that share, in AGREED stretches."""
    return bool(errors.sum() < (1.0 - gain) ** 2 * before.sum() and np.sum(errors < before) >= AGREED)


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
