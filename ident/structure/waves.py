"""Which waves per turn the residual of a fit shows: ripples that are worth being candidates.

The residual of each joint is summed over small steps of its position, once, so that a fast Fourier transform has its
least-squares spectrum over any number of waves (Scargle, "Studies in astronomical time series analysis II",
Astrophysical Journal 263, 1982, without its assumption of even sampling).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ident.arrays import Array, significant
from ident.logs.filter import decimate
from ident.logs.motion import Motion
from ident.model import Model, RippleCosine, RippleSine, torque
from ident.model.term import Term

#: Waves per joint; the least that its way has to hold, so that gravity and springs are none; the most in a turn.
WAVES, LEAST, MOST = 2, 4.0, 400.0
#: Waves per turn of one joint that differ by less than this share are one: half the width of the widest peak.
APART = 0.125
#: A step of their number goes no farther than this share of it.
FARTHEST = 0.1
#: Steps of the position in the shortest wave, and of the spectrum in the width of a peak.
_STEPS, _FINE = 8, 16
#: Percentile of the steps between rows, half the shortest wave that is looked for.
_SLOW = 25
#: Rows count that are faster than this share of the joint's 99th percentile: where it rests, one place is all waves.
_MOVING = 0.03


def waves(model: Model, motions: Sequence[Motion], theta: Array) -> dict[str, tuple[float, ...]]:
    """Return by joint the waves per turn that what theta (p,) misses of the motions shows most of, the strongest first.

    They have to be among the strongest of either half of the rows. Joints are left out that rest or turn too little.
    """
    rows = [_left(model, motion, theta) for motion in motions]
    found = {}
    for j, joint in enumerate(model.robot.joint_names):
        q, residual = (np.concatenate([part[i][:, j][keep[:, j]] for *part, keep in rows]) for i in (0, 1))
        steps = np.concatenate([np.abs(np.diff(part[0][:, j]))[part[2][1:, j]] for part in rows])
        step = float(np.percentile(steps, _SLOW)) if (steps > 0).any() else np.inf
        every, least = strongest(q, residual, step), 2.0 * np.pi * LEAST / max(_way(q), 1e-9)
        halves = [(q[part], residual[part]) for part in (slice(len(q) // 2), slice(len(q) // 2, None))]
        parts = [(strongest(*half, step, least), np.pi / max(_way(half[0]), 1e-9)) for half in halves]
        own = tuple(n for n in every if all(any(abs(n - x) < near for x in part) for part, near in parts))
        if own:
            found[joint] = own
    return found


def _left(model: Model, motion: Motion, theta: Array) -> tuple[Array, Array, NDArray[np.bool_]]:
    """Return positions and residual (M, n) of a motion as it is thinned, and which rows of them count."""
    residual = motion.tau - torque(model, theta, motion.q, motion.qd, motion.qdd, signals=motion.signals())
    q, qd = motion.q, motion.qd
    if motion.decimation:
        q, qd, residual = np.split(decimate(np.concatenate([q, qd, residual], axis=1), motion.decimation), 3, axis=1)
    speed = np.abs(qd)
    return q, residual, motion.keep & (speed > _MOVING * np.percentile(speed, 99, axis=0))


def _way(q: Array) -> float:
    return float(np.ptp(q)) if len(q) else 0.0


def strongest(q: Array, residual: Array, step: float, least: float | None = None) -> tuple[float, ...]:
    """Return which waves per turn a residual (N,) over positions (N,) has most of.

    step: between rows, of slow ones; least: waves per turn that are looked for, by default as `LEAST` has it.
    """
    least, most = least or 2.0 * np.pi * LEAST / max(_way(q), 1e-9), min(MOST, np.pi / step)
    if most <= least or not _way(q):
        return ()
    place = ((q - q.min()) * (_STEPS * most / (2.0 * np.pi))).astype(np.int64)
    cells = int(place.max()) + 1
    counts = np.bincount(place, minlength=cells).astype(np.float64)
    sums, x = np.bincount(place, residual, minlength=cells), np.linspace(-1.0, 1.0, cells)
    found, basis = list[float](), np.polynomial.legendre.legvander(x, 3)
    size = 1 << int(np.ceil(np.log2(_FINE * cells)))
    each = np.arange(size // _STEPS + 1)
    n = each * (_STEPS * most / size)
    double = np.fft.rfft(counts, size)[2 * each]
    for _ in range(WAVES):
        root = np.sqrt(counts)
        weights = np.linalg.lstsq(basis * root[:, None], sums / np.maximum(root, 1.0), rcond=None)[0]
        left = sums - counts * (basis @ weights)
        single = np.fft.rfft(left, size)[each]
        gain = _gains(single, double, counts.sum())
        gain[(n < least) | (n > most)] = 0.0
        best = int(np.argmax(gain))
        if gain[best] <= 0.0:
            break
        found.append(significant(n[best], 6))
        phase = found[-1] * np.arange(cells) * (2.0 * np.pi / (_STEPS * most))
        basis = np.column_stack([basis, np.sin(phase), np.cos(phase)])
    return tuple(dict.fromkeys(found))


def _gains(single: NDArray[np.complex128], double: NDArray[np.complex128], count: float) -> Array:
    """Return by how much sine and cosine lower the sum of squares: from sums of residuals and of rows at 2 n."""
    c, s = single.real, single.imag
    cc, ss, cs = 0.5 * (count + double.real), 0.5 * (count - double.real), 0.5 * double.imag
    area = cc * ss - cs * cs
    gain = (ss * c * c + cc * s * s - 2.0 * cs * c * s) / np.maximum(area, 1e-300)
    return np.where(area > 0.05 * count * count / 4.0, gain, 0.0)


def rippled(by_joint: Sequence[tuple[str, float]]) -> tuple[Term, ...]:
    """Return sine and cosine of each joint's waves per turn, one after the other."""
    return tuple(law(n, (joint,)) for joint, n in by_joint for law in (RippleSine, RippleCosine))


def apart(known: Sequence[tuple[str, float]], more: Sequence[tuple[str, float]]) -> list[tuple[str, float]]:
    """Return joints with waves per turn that are known, and of more those that are not one with another before."""
    found = list(known)
    for joint, n in more:
        if all(joint != other or abs(n - x) > APART * n for other, x in found):
            found.append((joint, n))
    return found


def shifted(terms: Sequence[Any], sizes: Array, slopes: Array) -> list[tuple[str, float]]:
    """Return each joint's waves per turn after a step of Gauss and Newton.

    terms: as `rippled` makes them; sizes, slopes (k,): their parameters, and those of their `Slope`s by their numbers'
    logarithms beside them.
    """
    found = []
    for k in range(0, len(terms), 2):
        power = float(sizes[k : k + 2] @ sizes[k : k + 2])
        step = float(sizes[k : k + 2] @ slopes[k : k + 2]) / power if power > 0.0 else 0.0
        n = terms[k].per_turn
        found.append((terms[k].joints[0], significant(n + n * float(np.clip(step, -FARTHEST, FARTHEST)), 6)))
    return found
