"""Touches: torques that nothing in the model explains, in few stretches of a recording and nowhere else.

What a reading leaves of each torque is averaged over windows of some lengths. A touch stands out of all other windows
of the same joint, one of FEW at most; what the model misses everywhere, or whenever the motion is such again, does not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ident.arrays import Array
from ident.compare.causes import undone
from ident.compare.causes.mistakes import Mistake
from ident.compare.causes.reading import Reading
from ident.compare.causes.weighing import Weighed, Weigher
from ident.tables import below

#: Lengths of the windows [s].
WINDOWS_S = (0.3, 0.6, 1.2, 2.4, 4.8, 9.6)
#: A touch is so many times what the usual window has, and what any other window has.
USUAL, ANY = 8.0, 2.5
FEW = 3
#: What adds no more than this to the error of a joint, relative to its torque, is told as a note.
SLIGHT = 0.02
#: Its rows spoil the fit where they move what it tells of others by this share of what is left, or more.
BIAS = 0.5
#: It lasts as long as the average stays above this share of its largest.
LASTS = 0.2
#: What to do about it, and what else where that is not done yet.
MEND = "log it anew, or leave that out: two recordings with `rows` of one file"
ROBUST = "; or " + below("fit", 'loss = "huber"') + " in experiment.toml"
#: Rows of a window, and windows of a recording, at least.
_ROWS, _WINDOWS = 3, 5
#: Time constants of a filter after which its beginning is no matter.
_SETTLED = 10.0
#: A normal deviate's median distance from its mean.
_MEDIAN = 0.6745


@dataclass(frozen=True)
class Touch:
    """A stretch from `begin` to `end` [s] in which a joint's torque is off by `torque` [N m; N] at most."""

    joint: int
    begin: float
    end: float
    torque: float


def touches(weigher: Weigher, reading: Reading, names: Sequence[str]) -> Iterator[Mistake]:
    """Yield what touched the robot in each recording (names): all stretches, and the joints that show them."""
    state = weigher.steady(reading)
    left, kept = weigher.residual(state), weigher.kept(reading)
    t = weigher.rows.left(weigher.rows.t[:, None])[:, 0]
    for k, name in enumerate(names):
        own = weigher.rows.within([(k, -np.inf, np.inf)])
        own &= t > t[own].min(initial=np.inf) + _SETTLED * reading.blurred
        found = touched(t[own], left[own], kept[own])
        if not found:
            continue
        stretches = list[tuple[float, float]]()
        for x in sorted(found, key=lambda touch: touch.begin):
            begin, end = stretches.pop() if stretches and x.begin < stretches[-1][1] else (x.begin, x.end)
            stretches.append((begin, max(end, x.end)))
        robot, most = reading.robot, {x.joint: x.torque for x in sorted(found, key=lambda touch: touch.torque)}
        joints = ", ".join(
            f"{robot.joint_names[j]} by {most[j]:.2g} {robot.joints[j].unit('torque')}" for j in sorted(most)
        )
        when = " and ".join(f"from {begin:.1f} to {end:.1f} s" for begin, end in stretches)
        what = f"something touched the robot {when}, what is left there is off: {joints}"
        yield Mistake("touch", f"recording {name}", what, MEND + ROBUST, undone.ignored(k, stretches), slight=SLIGHT)


def spoils_little(weigher: Weigher, now: Weighed, without: Weighed, touch: Mistake) -> bool:
    """Return whether what is off in a touch's rows hardly moves the fit, as where a joint breaks away from rest.

    The fit tells the other rows otherwise for it, by less than `slight` of each joint's torque or BIAS of what is left.
    """
    if touch.kind != "touch":
        return False
    keep = weigher.kept(without.reading)
    spoilt, left = (weigher.left_in_log(replace(x, reading=without.reading)) * keep for x in (now, without))
    moved, missed = (np.sum(x**2, axis=0) / np.maximum(keep.sum(axis=0), 1) for x in (spoilt - left, left))
    return bool(np.all(moved < np.maximum(touch.slight**2 * now.channels(now.torques), BIAS**2 * missed)))


def touched(t: Array, left: Array, keep: NDArray[np.bool_]) -> list[Touch]:
    """Return each joint's touches where it has some; t (N,) [s], what is left of torques (N, n), which rows count."""
    if len(t) < _WINDOWS * _ROWS:
        return []
    step = float(np.median(np.diff(t)))
    found = list[Touch]()
    for j, (own, counts) in enumerate(zip(left.T, keep.T, strict=True)):
        if counts.sum() < _WINDOWS * _ROWS:
            continue
        off = np.where(counts, own - np.median(own[counts]), 0.0)
        each = (_one(off, counts, max(_ROWS, round(window / step))) for window in WINDOWS_S)
        _, clear = max(each, key=lambda x: x[0])
        found += [Touch(j, float(t[first]), float(t[last]), most) for first, last, most in clear]
    return found


def _one(off: Array, counts: NDArray[np.bool_], width: int) -> tuple[float, list[tuple[int, int, float]]]:
    """Return how clear the largest windows are (above 1: touches), their first and last rows, and their averages."""
    clear, found, peaks = 0.0, list[tuple[int, int, float]](), list[tuple[int, int, float]]()
    if len(off) < _WINDOWS * width:
        return clear, found
    window = np.ones(width)
    rows = np.convolve(counts, window, mode="same")
    mean = np.abs(np.convolve(off, window, mode="same")) / np.maximum(rows, 1)
    mean[rows < width / 2] = 0.0
    others = np.ones(len(mean), dtype=bool)
    while len(peaks) < FEW and (mean * others).any():
        peak = int(np.argmax(mean * others))
        outside = np.flatnonzero(mean < LASTS * mean[peak])
        first = int(max(outside[outside < peak], default=0))
        last = int(min(outside[outside > peak], default=len(mean) - 1))
        others[max(first - width, 0) : last + width] = False
        if others.sum() < len(mean) / 2:
            break
        peaks.append((first, last, float(mean[peak])))
        usual = float(np.median(mean[others])) / _MEDIAN
        now = mean[peak] / max(USUAL * usual, ANY * mean[others].max(), 1e-300)
        if now > 1.0:
            clear, found = max(clear, now), list(peaks)
    return clear, found
