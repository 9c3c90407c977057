"""What the readings of a log show by themselves: steps of an encoder, noise, joints at rest, leaps, gaps and rates of
the clock, samples that leap away and back, torques that are cut off, positions that start again after a whole turn; and
rows that are left out: what was logged twice, and what was lost on the way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import comb

import numpy as np
from numpy.typing import NDArray

from ident.arrays import Array, runs
from ident.logs.manifest import Recording
from ident.logs.readers.formats import Chunk

ENOUGH = 200_000  # rows that are looked at
BREAK_S, BREAK_STEPS = 10.0, 100  # a step that is longer than both parts a recording in two
#: Readings closer than this [rad; m] are one and the same: no encoder tells them apart, rounding does.
SAME = 1e-9
#: An encoder that flickers shows its count and both neighbours.
COUNTS = 3
#: Noise of a position sensor stays within this [rad; m]; what goes farther from row to row is a fast motion.
NOISE = 5e-3
#: Rows that are looked at, in the middle of a log.
_ROWS = 2**14
#: Highest order of the differences of neighbours.
_ORDER = 8
#: A normal deviate's median distance from its mean.
_MEDIAN = 0.6745


def position_quantum(q: Array) -> float | None:
    """Return the step [rad or m] in which the readings q (N,) come, or None where none shows.

    Neighbouring distinct readings are whole multiples of the step; that it is one is believed when nearly all of the
    smaller distances are multiples of their smallest.
    """
    levels = np.sort(q)
    scale = max(abs(float(levels[0])), abs(float(levels[-1])))
    gaps = np.diff(levels)
    gaps = gaps[gaps > 1e-9 * scale]  # rounding of floating point is no step
    if len(gaps) < 3:
        return None
    few = max(1, len(gaps) // 100)
    step = float(np.sort(np.partition(gaps, few - 1)[:few]).mean())
    near = gaps[gaps < 20.5 * step]
    if len(near) < 0.5 * len(gaps):
        return None
    multiple = np.round(near / step)
    step = float(near.sum() / multiple.sum())  # the smallest alone carries the rounding of the file
    multiple = near / step
    return step if np.mean(np.abs(multiple - np.round(multiple)) < 0.1) > 0.95 else None


def least_noise(tau: Array) -> Array:
    """Return a floor (n,) of the standard deviation of the noise in readings tau (N, n), 0 where none shows.

    The larger of two: the rounding of readings that come in steps, a step / sqrt(12); and what differences of
    neighbours leave. The k-th difference of white noise has comb(2 k, k) times its variance, that of a motion falls
    with k, so the least of the first eight counts (Gasser, Sroka, Jennen-Steinmetz 1986, of order two). Medians keep
    the jumps of friction out.
    """
    middle = len(tau) // 2
    part = tau[max(0, middle - _ROWS // 2) : middle + _ROWS // 2]
    steps = np.array([position_quantum(x) or 0.0 for x in part.T]) / np.sqrt(12.0)
    if len(part) < 4 * _ORDER:
        return np.asarray(steps)
    found, apart = np.full(part.shape[1], np.inf), [np.ascontiguousarray(part.T)]
    for _ in range(_ORDER):
        apart.append(np.diff(apart[-1], axis=1))
    for k in range(_ORDER, 0, -1):  # the highest order is the least of a smooth signal
        size, usual = np.abs(apart[k]), _MEDIAN * np.sqrt(comb(2 * k, k))
        lower = 2 * np.count_nonzero(size < (found * usual)[:, None], axis=1) >= size.shape[1]  # a median takes longer
        found[lower] = np.minimum(found[lower], np.median(size[lower], axis=1, overwrite_input=True) / usual)
    return np.asarray(np.maximum(found, steps))


def resting(q: Array) -> NDArray[np.bool_]:
    """Return which joints (n,) rest in the readings q (N, n) [rad; m].

    A joint rests whose readings stay within NOISE and are at most three numbers, or differ from row to row by so much
    that its motion is less than three times their noise: the mean squared difference of neighbours over twice the
    variance is 1 for white noise and 0 for a motion (von Neumann 1941).
    """
    return np.array([bool(np.ptp(x) < NOISE) and (_few(x) or _noisy(x)) for x in q.T])


def _few(x: Array) -> bool:
    for _ in range(COUNTS):
        x = x[np.abs(x - x[0]) > SAME]
        if not len(x):
            return True
    return False


def _noisy(x: Array) -> bool:
    return bool(np.mean(np.diff(x) ** 2) / 2 > np.var(x) / (1 + 3**2))


#: A joint is at rest below this speed [rad/s; m/s].
AT_REST = 0.01


def moving(qd: Array, min_speed: Array, standstill: Array) -> np.ndarray:
    """Return keep (N, n), bool, from velocities qd (N, n).

    A joint's row is dropped where the joint is slower than its `min_speed` (n,) [rad/s or m/s], because the sign of
    its friction is not known there. All rows of a sample are dropped where every joint is slower than its
    `standstill` (n,), because a robot at rest tells little and its stiction is not modelled.
    """
    speed = np.abs(qd)
    resting = (speed < standstill).all(axis=1, keepdims=True)
    return np.asarray((speed >= min_speed) & ~resting)


def run_in(q: Array, qd: Array, travel: float) -> NDArray[np.bool_]:
    """Return keep (N, n) from the first positions q and velocities qd (N, n) of a recording [rad, rad/s; m, m/s].

    A joint that begins at rest, and moves, counts from where it has moved by `travel` [rad; m], a few of the presliding
    travel: before, the state of its friction is that of a motion that was not logged.
    """
    moved = np.maximum.accumulate(np.abs(q - q[:1]), axis=0) >= travel
    return np.asarray(moved | ~moved[-1:] | (np.abs(qd[:1]) > AT_REST))


def leap(t: Array) -> int | None:
    """Return the row after which the clock leaps forward so far that no derivative can go across, None for none."""
    steps = np.diff(t)
    at = int(np.argmax(steps)) if len(steps) else 0
    return at if len(steps) and steps[at] > max(BREAK_S, BREAK_STEPS * np.median(steps)) else None


#: Steps whose median is told together; a rate that lasts for fewer than so many such blocks is lost rows or a pause.
BLOCK, LASTING = 25, 4
#: Rates differ where their steps do by this factor.
OTHER = 1.3


def usual_steps(dt: Array) -> tuple[Array, NDArray[np.int_]]:
    """Return how long each of the steps dt (N,) [s] usually is, and the first step of each other rate (k,).

    The usual step is the median; where the rate changes midway, that of the stretch.
    """
    blocks = len(dt) // BLOCK
    whole = np.full(len(dt), np.median(dt))
    if blocks < 2 * LASTING:
        return whole, np.zeros(0, dtype=int)
    medians = np.median(dt[: blocks * BLOCK].reshape(blocks, BLOCK), axis=1)
    leaps = np.flatnonzero(np.abs(np.diff(np.log(medians))) > np.log(OTHER)) + 1
    runs = [(a, b) for a, b in zip([0, *leaps], [*leaps, blocks], strict=True) if b - a >= LASTING]
    levels = [float(np.median(dt[a * BLOCK : b * BLOCK])) for a, b in runs]
    changes = list[int]()
    for (a, _), (_, b), old, new in zip(runs, runs[1:], levels, levels[1:], strict=False):
        if max(old / new, new / old) > OTHER:
            start = max(a * BLOCK, changes[-1] if changes else 0)
            is_new = np.abs(np.log(dt[start : b * BLOCK] / old)) > np.abs(np.log(dt[start : b * BLOCK] / new))
            changes.append(start + int(np.argmax(np.cumsum(np.where(is_new, -1, 1)))) + 1)
    parts = np.split(np.arange(len(dt)), changes)
    for part in parts if changes else ():
        whole[part] = np.median(dt[part])
    return whole, np.array(changes, dtype=int)


#: Gaps are looked for where they are at no more than this share of the rows.
FEW_GAPS = 0.005
#: Steps that are longer than so many usual ones lack rows, a whole number of them within this, where steps differ less
#: than so much: where each is another, a long one is no loss.
_MISSING, _WHOLE, _EVEN = 1.75, 0.25, 0.5


def gaps(t: Array) -> tuple[NDArray[np.int_], Array, NDArray[np.int_]]:
    """Return after which of the rows at t (N,) [s] some are missing, how long that lasts [s] and how many.

    A step of several usual ones, or of more than GAP, whole or not. Where more than FEW_GAPS of the rows are at
    one it is no stream of rows that lacks some: then those longer than GAP alone, and none where these are many, too.
    """
    steps = np.diff(t)
    none = np.zeros(0, dtype=int)
    if len(steps) < 2 * BLOCK or steps.max() <= _MISSING * np.median(steps):
        return none, np.zeros(0), none
    usual = usual_steps(steps)[0]
    count = np.round(steps / usual).astype(int) - 1
    long = steps > (GAP + 1.5) * usual
    even = np.ptp(np.percentile(steps / usual, [2.5, 97.5])) < _EVEN
    whole = (count > 0) & (np.abs(steps / usual - count - 1) < _WHOLE) & even
    for at in (whole | long, long):
        if at.sum() <= FEW_GAPS * len(steps):
            k = np.flatnonzero(at)
            return k, steps[k], count[k]
    return none, np.zeros(0), none


#: A spike is this many samples long at most; so many on either side are its neighbours.
LONGEST, SIDE = 2, 3
#: It is farther from their median than so many standard deviations of the noise, and times their own spread,
NOISES, SPREADS = 20.0, 5.0
#: and than this share of the standard deviation of all that is read.
SHARE = 0.05
#: What leaps in more than this share of the samples is no error of a reader.
LEAPS = 0.03


def spikes(x: Array) -> NDArray[np.bool_]:
    """Return which readings (N, n) are spikes.

    Hampel's identifier where a second difference stands out of the noise of the whole signal (`least_noise`): the
    distance from the median of a window, its usual slope taken out, against that noise and the spread of the window,
    its LONGEST largest distances left out. That keeps turning points, corners and steps from counting as spikes. A
    signal that leaps often has none. Parts of a long recording have a noise of their own each. The limits are tried in
    `experiments/benchmarks/spikes.py`.
    """
    found = np.zeros(x.shape, dtype=bool)
    if len(x) < 10 * (2 * SIDE + 1):
        return found
    signals = np.ascontiguousarray(x.T)
    least = np.maximum(NOISES * least_noise(x), [SHARE * signal.std() for signal in signals])
    for j, signal in enumerate(signals):
        apart = signal[:-2] - 2.0 * signal[1:-1] + signal[2:]
        far = np.flatnonzero(np.abs(apart, out=apart) > least[j]) + 1
        far = far[(far >= SIDE) & (far < len(x) - SIDE)]
        if len(far) > (LONGEST + 2) * LEAPS * len(x):
            continue
        around = np.arange(-SIDE, SIDE + 1)
        window = signal[far[:, None] + around]
        window = window - np.median(np.diff(window, axis=1), axis=1, keepdims=True) * around
        distance = np.abs(window - np.median(window, axis=1, keepdims=True))
        spread = np.sort(distance, axis=1)[:, -LONGEST - 1]
        odd = far[distance[:, SIDE] > np.maximum(least[j], SPREADS * spread)]
        if len(odd) <= LEAPS * len(x):
            found[odd, j] = True
    return found


def interpolated(t: Array, x: Array) -> Array:
    """Return readings x (N, n) at times t (N,) with straight lines in place of the spikes."""
    found = spikes(x)
    if not found.any():
        return x
    return np.column_stack([np.interp(t, t[~odd], own[~odd]) for own, odd in zip(x.T, found.T, strict=True)])


#: So many rows one after the other stand at an end, so many in all, and so many times those at the value beside it.
RUN, AT_END, TIMES = 5, 20, 10
#: Where this share of all rows does, it is no end that is reached now and then; nor beyond half of them where it is
#: reached fewer times than VISITS: a joint that holds one torque while it rests.
SELDOM, VISITS = 0.9, 5


def saturated(tau: Array) -> NDArray[np.bool_]:
    """Return which torques tau (N, n) stand at the largest or the smallest value of their joint because it is cut off.

    Zero is no such end: a motor that is off has no torque.
    """
    found = np.zeros(tau.shape, dtype=bool)
    for j, x in enumerate(np.ascontiguousarray(tau.T)):
        for end, beside in ((x.max(), np.max), (x.min(), np.min)):
            at = x == end
            rows = int(np.count_nonzero(at))
            if not end or not AT_END <= rows <= SELDOM * len(x):
                continue
            near = int(np.sum(x == beside(x[~at])))
            stays = runs(at)
            held = rows > len(x) / 2 and len(stays) < VISITS
            if rows > TIMES * near and np.diff(stays).max() >= RUN and not held:
                found[:, j] |= at
    return found


#: A torque without its sign comes below the first share of its usual size so many times, from above the second one; it
#: has noise of more than the third, or turns there so many times as sharply as it usually does.
LOW, HIGH, RETURNS, NOISY, SHARP = 0.05, 0.5, 4, 0.005, 5.0


def unsigned(tau: Array) -> NDArray[np.bool_]:
    """Return which joints (n,) have torques tau (N, n) without their sign: they come back to zero and never pass it."""
    found = np.zeros(tau.shape[1], dtype=bool)
    for j, x in enumerate(np.abs(tau.T)):
        size = float(np.sqrt(np.mean(x**2)))
        if not size or (tau[:, j].min() < 0.0 < tau[:, j].max()):
            continue
        turns = np.abs(np.diff(x, 2)) / size
        low, high = x[1:-1] < LOW * size, x[1:-1] > HIGH * size
        seen = low[low | high]
        usual = float(np.median(turns[high])) if high.any() else 0.0
        kinks = low.any() and float(np.max(turns[low])) > SHARP * usual
        found[j] = np.count_nonzero(np.diff(seen.astype(int)) > 0) >= RETURNS and bool(kinks or usual > NOISY)
    return found


#: A step from one reading to the next is a whole turn where it differs from one by less than this share of it; where
#: more of the steps than so many are neither that nor as small, the joint is that fast, or the unit another one.
NEAR, UNCLEAR = 0.2, 1e-3


def continued(columns: Chunk, turns: Sequence[float], before: Chunk) -> tuple[Chunk, tuple[int, ...]]:
    """Return columns (N,) each without their leaps by a whole turn, and which have any.

    turns: what one turn is in each column, infinite where there is none. before: the last readings (1,) of the part
    before, as they were returned; [] for the first. No joint turns by so much from row to row.
    """
    found, wrapped = list[np.ndarray](), list[int]()
    for j, (column, turn) in enumerate(zip(columns, turns, strict=False)):
        held = before[j] if before else column[:1]
        steps = np.nan_to_num(np.diff(np.concatenate([held, column]).astype(np.float64)) / turn)
        leaps = np.round(steps)
        clear = np.abs(steps - leaps) < NEAR
        leaps = np.where(clear, leaps, 0.0)
        if leaps.any() and np.mean(~clear) < UNCLEAR:
            wrapped.append(j)
            found.append(column - turn * np.cumsum(leaps))
        else:
            found.append(column)
    return [*found, *columns[len(found) :]], tuple(wrapped)


#: So many rows with missing numbers, one after the other, are left out as rows that were lost; more end a stretch.
GAP = 5
#: A position leaps to zero, and back, by so many times its usual step.
LEAPS_TO_ZERO = 5.0


def left_out(raw: Mapping[str, Chunk], before: Mapping[str, Chunk], record: Recording) -> dict[str, NDArray[np.bool_]]:
    """Return which rows (rows,) of a part are left out, by what is said of them.

    before: the row before the part, {} for none.
    """
    found = dict[str, NDArray[np.bool_]]()
    if record.drop_repeated:
        alike = {}
        for key, columns in raw.items():
            held = before.get(key, [c[:1] for c in columns])
            joined = [np.concatenate([b, c]) for b, c in zip(held, columns, strict=True)]
            alike[key] = np.all([c[1:] == c[:-1] for c in joined], axis=0)
            alike[key][:1] &= bool(before)
        same = np.all([a for key, a in alike.items() if key != "time"], axis=0)
        found["like the row before"] = same
        found["with the time stamp of the row before"] = alike.get("time", same) & ~same
    if record.drop_missing:
        missing = ~np.all([np.isfinite(c) for own in raw.values() for c in own], axis=0)
        found["in which a number is missing"] = missing
        others = [c for key, own in raw.items() if key != "time" for c in own]
        found["in which all signals are zero, though the robot moves,"] = lost(others, raw["position"]) & ~missing
    return found


def lost(signals: Sequence[np.ndarray], position: Sequence[np.ndarray]) -> NDArray[np.bool_]:
    """Return which rows (rows,) are zero in all signals, at most GAP at a time, with positions far from it around."""
    zero = np.all([c == 0.0 for c in signals], axis=0)
    edges = runs(zero)
    steps = [np.nanmedian(np.abs(np.diff(q.astype(np.float64)))) for q in position] if len(edges) else []
    for a, b in edges.tolist():
        around = [k for k in (a - 1, b) if 0 <= k < len(zero)]
        leaps = any(np.all(np.abs(q[around]) > LEAPS_TO_ZERO * step) for q, step in zip(position, steps, strict=True))
        zero[a:b] &= b - a <= GAP and bool(around) and leaps
    return np.asarray(zero)
