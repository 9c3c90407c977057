"""How much depends on the cut-off of the positions: what is left out, and base parameters.

A low-pass of the positions takes the corners that friction puts into accelerations away, and leaves them in friction's
own columns. Where a fit looks above it, parameters are biased by that, which no covariance knows. A second fit that
looks at the motion's band alone, with twice the cut-off, is hardly biased; it knows as much of what lies in that band.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from math import inf, prod

import numpy as np
from numpy.typing import NDArray

from ident.arrays import Array
from ident.compare.difference import contradicted
from ident.estimate.covariance import jackknife
from ident.estimate.least_squares import joint_noise, solve
from ident.logs.filter import HIGHEST
from ident.logs.motion import Motion
from ident.logs.process import Processing
from ident.regression.compress import Columns, compress_any
from ident.regression.regression import repeats_joined

#: The second fit's cut-off of the positions, relative to the first one's.
HIGHER = 2.0
#: Segments that tell the variance of a difference, at least.
FEWEST = 5


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
    if any(len(r.segments) < FEWEST for r in both):
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
