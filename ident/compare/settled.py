"""How logs are processed where nobody says it: filters, bands and delays of positions, each in view of the others.

Cut-offs that positions alone suggest are checked on the torque: of the positions, and of both sides of a fit. And how
much depends on the cut-off of the positions: a low-pass takes the corners that friction puts into accelerations away,
and leaves them in friction's own columns. Where a fit looks above it, parameters are biased by that, which no
covariance knows. A second fit that looks at the motion's band alone, with twice the cut-off, is hardly biased; it knows
as much of what lies in that band.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from math import inf, prod

import numpy as np
from numpy.typing import NDArray

from ident.arrays import Array
from ident.compare.delays import late_positions
from ident.compare.difference import contradicted
from ident.errors import IdentError
from ident.estimate.covariance import jackknife
from ident.estimate.least_squares import joint_noise, solve, squared_left_out, stretch_factors
from ident.logs.automatic import OPEN, Hand, band_alone, chosen
from ident.logs.filter import HIGHEST, factors_below
from ident.logs.log import Log
from ident.logs.motion import Motion
from ident.logs.process import Processing, noise_share, process
from ident.model.model import Model
from ident.regression.base import BaseParameters, base_parameters
from ident.regression.compress import Columns, compress, compress_any
from ident.regression.regression import repeats_joined
from ident.structure.widths import smoothed

#: The second fit's cut-off of the positions, relative to the first one's.
HIGHER = 2.0
#: Segments that tell the variance of a difference, at least.
FEWEST_SEGMENTS = 5


@dataclass(frozen=True)
class CutOffs:
    """Cut-offs [Hz] that were tried and the error of stretches left out, relative to the least."""

    errors: tuple[tuple[float, float], ...]

    def __str__(self) -> str:
        return ", ".join(f"{hz:.3g} Hz {error:.4f}" for hz, error in self.errors)


def relative(errors: Mapping[float, Array]) -> CutOffs:
    """Return cut-offs with their errors; errors: squared, of each stretch left out."""
    total = {hz: float(errors[hz].sum()) for hz in sorted(errors)}
    least = min(total.values())
    return CutOffs(tuple((hz, float(np.sqrt(x / least))) for hz, x in total.items()) if least > 0.0 else ())


@dataclass(frozen=True, eq=False)
class Drift:
    """Base parameters (b,) of a fit and of a second one in the motion's band; what chance leaves of their difference.

    bias (b,): the root of d^2 - Var d, with the sign of d, 0 where that is negative or the second fit knows too little.
    shown (b,): where chance does not explain d, and bias is larger than the standard error.
    """

    first: Array
    second: Array
    bias: Array
    shown: NDArray[np.bool_]


def in_the_band(fit: Processing, judged: Processing) -> Processing | None:
    """Return the processing of the second fit: both sides as where a fit is judged, positions up to HIGHER; None where
    that is no narrower band.
    """
    if prod(judged.decimation) <= prod(fit.decimation):
        return None
    higher, rate = HIGHER * (fit.position_hz or inf), fit.resample_hz or fit.meant_hz or inf
    return replace(fit, decimation=judged.decimation, position_hz=higher if higher < HIGHEST * rate else None)


def drift(columns: Columns, pairs: Iterable[tuple[Motion, Motion]], variances: Array) -> Drift:
    """Return how far base parameters drift from a first to a second processing of the same logs.

    pairs: a motion of each log both ways; variances (b,): of the base parameters as they are found. After Hausman
    (Econometrica 1978): the difference d of two least-squares fits, of which the second is consistent, is the first
    one's bias but for chance, and E d^2 = bias^2 + Var d, here by leaving each segment out of both (jackknife), which
    needs neither fit to be efficient. Where Var d is larger than the variance in question, the second fit knows too
    little of a parameter to be asked, unless chance does not explain d (Holm's rule). Set on simulated logs
    (`experiments/benchmarks/drift.py`).
    """
    found = [(compress_any(columns, motion), compress_any(columns, _cut_as(other, motion))) for motion, other in pairs]
    segments = (tuple(chain.from_iterable(r.segments for r in each)) for each in zip(*found, strict=True))
    both = [repeats_joined(replace(found[0][0], segments=own)) for own in segments]
    none = np.zeros(len(variances))
    if any(len(r.segments) < FEWEST_SEGMENTS for r in both):
        return Drift(none, none, none, none > 0.0)
    sigma = joint_noise(both[0])
    own, other = (solve(r, sigma) for r in both)
    without, there = (
        dict(zip((s.name for s in r.segments), jackknife(r, sigma, phi), strict=True))
        for r, phi in zip(both, (own, other), strict=True)
    )
    each = np.array([change - there.get(name, 0.0) for name, change in without.items()])
    variance, d = (len(each) - 1) / len(each) * np.sum(each**2, axis=0), own - other
    known = (variance > 0.0) & np.isfinite(variances)
    sizes = np.where(known, d, np.nan) / np.sqrt(np.where(known, variance, 1.0))
    beyond = np.array(contradicted(sizes.tolist(), len(each) - 1)[0])
    told = known & ((variance < variances) | beyond)
    bias = np.sign(d) * np.sqrt(np.maximum(d**2 - variance, 0.0)) * told
    return Drift(own, other, bias, beyond & (bias**2 > variances))


def _cut_as(motion: Motion, like: Motion) -> Motion:
    """Return a motion with the segments of another processing of the same log."""
    t, own = (m.t[:: prod(m.decimation)] for m in (motion, like))
    at = np.searchsorted(t, np.append(own, inf))
    return replace(motion, blocks=tuple((int(at[a]), int(at[b])) for a, b in like.blocks), stretches=like.stretches)


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
#: Of cut-offs that leave the same error but for this share, the highest whose accelerations hold less noise than that.
ALIKE, NOISY = 0.01, 0.1
#: A cut-off, a band, is taken where it takes this share from the error of what is left out, in so many stretches.
LOWER_GAIN, NARROWER_GAIN, AGREED, STRETCHES = 0.1, 0.05, 9, 10


#: What is told of the cut-offs that were tried.
Tried = Callable[[CutOffs], object]


def _nobody(_: CutOffs) -> None:
    """Hear what was tried, and do nothing."""


def checked(
    model: Model,
    logs: Sequence[Log],
    spectral: tuple[Processing, Processing],
    late: tuple[float, ...] = (),
    hands: tuple[Hand, Hand] = OPEN,
    tried: Tried = _nobody,
) -> tuple[Processing, Processing]:
    """Return the processing, in a fit and where it is judged, that predicts stretches left out best, in one band.

    spectral: what the positions' spectra ask for (`chosen`), which stays where no lower cut-off is better in nearly
    all stretches, and where logs are short. late (n,): delays of positions [s]. hands: what is set by hand, which
    stays. tried: told what was. The limits were set on simulated arms (`experiments/benchmarks/automatic.py`).
    """
    fit, judged = spectral
    given = fit.position_hz or HIGHEST * min(fit.resample_hz or log.rate_hz for log in logs)
    duration = min(float(log.t[-1] - log.t[0]) for log in logs)
    longest = duration / (2.0 * STRETCHES) - fit.left_out(0.0)
    lowest = [times for times in LOWER if times * given * longest >= 1.0]
    if len(lowest) < FEWEST:
        return spectral
    edge = fit.left_out(0.0) + 1.0 / (lowest[-1] * given)
    known_late = late or fit.position_delay_s
    same = replace(fit, edge_s=edge, segment_s=duration / (2.0 * STRETCHES), position_delay_s=known_late)
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

    lower = best([times * given for times in lowest if "position_hz" in hands[0].left])
    cut = given if lower == given else best([times * lower for times in BESIDE])
    if "position_hz" in hands[0].left:
        as_good = (c for c in sorted(errors, reverse=True) if c <= cut and _as_good(errors[c], errors[cut]))
        uses = ((c, replace(same, position_hz=fit.position_hz if c == given else c)) for c in as_good)
        cut = _quiet(logs, uses) or cut
    found, judged = (cut != given and chosen(logs, cut, hands)) or spectral
    tried(relative(errors))
    usual, shares = prod(found.decimation), NARROWER if "decimation" in hands[0].left else ()
    thinned = [found.decimation, *(factors_below(usual / share) for share in shares)]
    # whatever is fitted, all are judged alike
    left = [squared_left_out(factors(found.position_hz, each), known[cut]) for each in thinned]
    least = int(np.argmin([e.sum() for e in left]))
    if _gainful(left[least], left[0], NARROWER_GAIN):
        found = replace(found, decimation=thinned[least])
    return found, judged


def _as_good(errors: Array, best: Array) -> bool:
    return bool(errors.sum() <= (1.0 + ALIKE) ** 2 * best.sum())


def _quiet(logs: Sequence[Log], uses: Iterable[tuple[float, Processing]]) -> float | None:
    """Return the first cut-off at which no joint's acceleration holds more noise than NOISY; None for none."""
    noises = [(log, band.noise) for log in logs if (band := band_alone(log)) is not None]
    for cut, use in uses:
        if not any((noise_share(log, use, noise) > NOISY).any() for log, noise in noises):
            return cut
    return None


def _gainful(errors: Array, before: Array, gain: float) -> bool:
    """Return whether errors, given as squares by stretches, are lower by that share, in AGREED stretches."""
    return bool(errors.sum() < (1.0 - gain) ** 2 * before.sum() and np.sum(errors < before) >= AGREED)


#: How often cut-off and delays of positions are chosen in turn, at most.
_ROUNDS = 3


def settled(
    model: Model,
    logs: Sequence[Log],
    base: BaseParameters | None = None,
    hands: tuple[Hand, Hand] = OPEN,
    tried: Tried = _nobody,
) -> tuple[Processing, Processing]:
    """Return the processing that logs ask for, in a fit and where its prediction is judged.

    base: the model's base parameters, where they are known; hands: what is set by hand; tried: told which cut-offs
    were. Raises LogError for logs that cannot be processed.
    """
    spectral = chosen(logs, hands=hands)
    if spectral is None:
        return hands[0].processing, hands[1].processing
    late: tuple[float, ...] = ()
    last: Processing | None = None
    for _ in range(_ROUNDS):  # a delay changes which cut-off is best, and the other way round
        before = late
        fit, judged = checked(model, logs, spectral, late, hands, tried)
        if fit == last:
            break
        if "position_delay_s" not in hands[0].left:
            return fit, judged
        found = late_positions(model, [process(log, fit) for log in logs], base)
        late, last = found if any(found) else (), fit
        if late == before:
            break
    delayed = replace(fit, position_delay_s=late or 0.0)
    return delayed, replace(judged, position_delay_s=hands[1].of("position_delay_s", delayed.position_delay_s))
