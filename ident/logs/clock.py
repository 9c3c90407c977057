"""When the rows of a log were taken: as their stamps say, evenly, or as the positions tell where rows were lost; and
with the rows that gaps in its time lack.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from ident.arrays import Array
from ident.logs.filter import bend, interpolate
from ident.logs.log import Log
from ident.logs.readings import ENOUGH, SAME, gaps, leap, position_quantum

#: Rows at either side of a step from which a cubic says how the joints move across it, one of these; its terms.
SIDES, TERMS = (6, 12, 24, 48), 4
#: What such a cubic misses of a quick move is no loss of rows: at the first one a polynomial of these terms agrees.
MORE = 7
#: A step is looked at where one more would be so many standard deviations of what is seen,
CLEAR = 4.0
#: and no more rows are taken where most of them are so many.
PLAIN = 20.0
#: at more than this share of the speed of the fast ones.
SLOW = 0.03
#: The steps that are missing are a whole number within this, and no more than so many at once.
WHOLE, MOST_STEPS = 0.4, 20
#: The logarithm of the odds that a cubic gives to another count,
ODDS = 12.0
#: and, of the first one that is found, leaves at most so many times the variance of the noise.
ROUGH = 4.0
#: Where this share of the steps is odd, it is no loss of rows.
MOST = 0.05
#: Rows that are the same in every signal are so many times as frequent as chance has it.
CHANCE = 5.0
#: The scatter is told from this quantile, beyond which rows may be missing (a normal deviate's).
TAIL, _DEVIATE = 0.9, 1.645
#: How often steps are looked at anew, beside those that were found before.
_ROUNDS = 4
#: Rows that are looked at for the steps in which readings come.
_SEEN = 20_000
#: What was found, as long as the log is there: it is processed many times while filters are chosen.
_FOUND: WeakKeyDictionary[Log, tuple[Array, NDArray[np.bool_]] | None] = WeakKeyDictionary()


def silent_steps(log: Log) -> tuple[Array, NDArray[np.bool_]] | None:
    """Return after how many steps each row of a log was taken, and which rows are to be kept (N,).

    None where every row follows one step after the other. A cubic that leaps in the middle is fitted to the rows around
    each step; its leap over its slope, all joints together, is the number of rows lost, where a cubic through the rows
    as they came is so much worse. Noise and motion say how many rows are best. What was found is taken out, and
    the rest is looked at again. Rows that repeat the one before were written twice, or in place of the right one.
    """
    if log not in _FOUND:
        _FOUND[log] = _silent_steps(log)
    return _FOUND[log]


def _silent_steps(log: Log) -> tuple[Array, NDArray[np.bool_]] | None:
    q = log.q
    steps = np.array([position_quantum(x) or _least_step(x) for x in q[:_SEEN].T])
    count, sound = np.ones(len(q) - 1), np.ones(len(q), dtype=bool)
    for rows, better in _repeated(log, steps):
        sound[rows + 1], count[rows] = False, better
    for known in (False, *[True] * _ROUNDS):
        more = _lost(q[sound], np.concatenate([[0.0], np.cumsum(count)])[sound], steps, known)
        if np.mean(more > 0) > MOST:
            return None
        count[np.flatnonzero(sound)[1:][more > 0] - 1] += more[more > 0]
        if not more.any():
            break
    if sound.all() and (count == 1.0).all():
        return None
    return np.concatenate([[0.0], np.cumsum(count)]), sound


def _least_step(x: Array) -> float:
    """Return the least change of readings (N,) from row to row, where they change."""
    change = np.abs(np.diff(x))
    return float(change[change > SAME].min(initial=np.inf)) if (change > SAME).any() else 0.0


def _lost(q: Array, time: Array, steps: Array, known: bool) -> Array:
    """Return how many steps lie between rows q (N, n) beside those that their time (N,) tells (N - 1,).

    known: whether rows were lost elsewhere; then what is left may be rough, for losses may be near each other. Where
    rows at the best distance show none, two of them may be nearer than that: more rows are looked at.
    """
    row = np.arange(time[-1] + 1.0)
    even = q if len(row) == len(q) else np.column_stack([np.interp(row, time, x) for x in q.T])
    more = np.zeros(len(q) - 1)
    for sides in (SIDES, *((side,) for side in SIDES if known)):
        if 4 * sides[0] <= len(q) and (more := _lost_among(even, time, steps, (known, sides))).any():
            break
    return more


def _lost_among(even: Array, time: Array, steps: Array, how: tuple[bool, Sequence[int]]) -> Array:
    """Return how many steps lie between rows beside those of their time (N,), as `even` rows (M, n) show it.

    how: whether rows were lost elsewhere; how many rows at a side are tried, where a single number is another scale
    than the best one, at which quick motion has to be told from a loss again.
    """
    known, sides = how
    more = np.zeros(len(time) - 1)
    side, noise, size, along = _leaps(even, steps, sides)
    across = 2 * side - 1
    moved = np.abs(even[across:] - even[: len(size)])
    quick = (moved > STEPS * across * steps).any(axis=1)  # steps beat with slow ones
    clear = quick & (size > CLEAR**2) & (size > SLOW**2 * np.percentile(size, 95.0))
    ratio = along / np.where(clear, size, 1.0)
    odds = along * ratio / 2.0
    found = np.flatnonzero(clear & (ratio > 1.0 - WHOLE) & (ratio < MOST_STEPS) & (odds > ODDS))
    if len(found) > MOST * len(even):
        return more
    taken = np.zeros(len(size), dtype=bool)
    for k in found[np.argsort(-odds[found], kind="stable")].tolist():  # the surest one of those nearby
        if taken[max(0, k - side) : k + side + 1].any():
            continue
        around, whole = even[k : k + 2 * side] / noise, max(1, round(float(ratio[k])))
        left = {c: _left(around, 1.0 + c, True) for c in (0, whole - 1, whole, whole + 1)}
        extra = min(left, key=lambda c: left[c])
        better = min(_better(around, 1.0 + extra, terms) for terms in (TERMS, MORE))
        smooth = better > ODDS and (known or left[extra] < ROUGH)
        if extra and (smooth or (known and len(sides) > 1)):
            taken[k] = True
            more[min(int(np.searchsorted(time, k + side - 1.0, side="right")) - 1, len(more) - 1)] += extra
    return more


def _leaps(q: Array, steps: Array, sides: Sequence[int] = SIDES) -> tuple[int, Array, Array, Array]:
    """Return of each step between rows q (N, n) how large it is and how much the rows leap along it (N + 1 - 2 side,).

    First with how many rows at a side steps are largest, over the scatter of leaps, and the noise (n,) that this is.
    """
    best, most = None, -np.inf
    for side in (s for s in sides if 4 * s <= len(q)):
        x = (np.arange(2.0 * side) - side + 0.5) / side
        cubic = np.linalg.pinv(np.column_stack([np.vander(x, TERMS, increasing=True), x > 0]))
        kernels = (cubic[TERMS], cubic[1] / side)
        leap, move = _correlated(q, kernels)
        gain, slope = np.linalg.norm(cubic[TERMS]), np.linalg.norm(cubic[1] / side)
        noise = np.maximum(np.quantile(np.abs(leap), TAIL, axis=1) / _DEVIATE / gain, steps / np.sqrt(12.0))
        noise[noise < SAME] = np.inf  # a joint at rest
        move /= (noise * gain)[:, None]
        leap *= move
        leap /= (noise * gain)[:, None]
        size = np.einsum("jk,jk->k", move, move)
        usual = float(np.median(size)) - q.shape[1] * (slope / gain) ** 2  # noise has a slope, too
        if usual > most:
            best, most = (side, noise, size, leap.sum(axis=0)), usual
        if usual > PLAIN**2:
            break
    assert best is not None
    return best


def _correlated(q: Array, kernels: Sequence[Array]) -> list[Array]:
    """Return the sums (n, N + 1 - taps) of rows q (N, n) weighted by kernels (taps,), as products of matrices."""
    taps, found = len(kernels[0]), len(q) + 1 - len(kernels[0])
    blocks = -(-found // taps)  # each of so many sums, from twice as many rows
    rows = np.zeros((q.shape[1], (blocks + 1) * taps))
    rows[:, : len(q)] = q.T
    apart = rows.reshape(len(rows), -1, taps)
    shifted = [np.stack([np.pad(k, (i, taps - i)) for i in range(taps)], axis=1) for k in kernels]
    each = (apart[:, :-1] @ s[:taps] + apart[:, 1:] @ s[taps:] for s in shifted)
    return [sums.reshape(len(rows), -1)[:, :found] for sums in each]


def _repeated(log: Log, steps: Array) -> Iterator[tuple[NDArray[np.int_], float]]:
    """Yield after which rows one repeats it though the joints move, and how many steps later it came: none, or one.

    Rows that repeat every signal more often than by chance are all alike.
    """
    signals = [x for x in (log.q, log.tau, log.qd) if x is not None]
    same = [np.asarray((np.diff(x, axis=0) == 0.0).all(axis=1)) for x in signals]
    if not same[0].any():
        return
    side, noise, *_ = _leaps(log.q, steps)
    near = SIDES[0]
    usual = np.zeros((len(same[0]), log.n))
    usual[near - 1 : -near] = (log.q[2 * near :] - log.q[: -2 * near]) / (2 * near)
    usual[: side - 1] = usual[-side:] = 0.0
    size = ((usual / np.maximum(noise, steps)) ** 2).sum(axis=1)
    fast = size > SLOW**2 * np.percentile(size, 95.0)  # at rest, readings stay by themselves
    whole, moved = np.logical_and.reduce(same) & fast, fast & ~same[0]
    chance = np.sum(fast & same[0]) * np.mean(np.logical_and.reduce(same[1:])[moved]) if moved.any() else np.inf
    groups = [np.flatnonzero(whole)] if CHANCE * chance < whole.sum() < MOST * len(whole) else []
    clear = (np.abs(np.diff(log.q, axis=0)) > STEPS * steps) & (np.diff(log.q, axis=0) != 0.0)
    within = np.zeros_like(fast)
    within[1:-1] = (clear[:-2] & clear[2:]).any(axis=1)  # it moved just before and just after
    alone = np.flatnonzero(same[0] & within & (size > CLEAR**2) & ~(whole if groups else False))
    for rows in (*groups, *(alone[:, None] if len(alone) < MOST * len(whole) else ())):
        around = [log.q[k + 1 - side : k + 1 + side] / noise for k in rows.tolist()]
        left = [sum(_left(part, *each) for part in around) for each in ((0.0, False), (1.0, False), (1.0, True))]
        if len(rows) > 1 or min(left[:2]) < left[2] * np.exp(-2.0 * ODDS / around[0].size):
            yield rows, 0.0 if left[0] < left[1] else 1.0


def _better(q: Array, steps: float, terms: int) -> float:
    """Return the logarithm of the odds that rows q (2 side, n) have so many steps in their middle, and not one."""
    return float(np.log(_left(q, 1.0, True, terms) / max(_left(q, steps, True, terms), 1e-300)) * q.size / 2.0)


def _left(q: Array, steps: float, keep: bool, terms: int = TERMS) -> float:
    """Return the mean squared distance of rows from a polynomial, with so many steps between those in the middle."""
    side = len(q) // 2
    time = np.arange(2.0 * side) - side
    time[side:] += steps - 1.0
    chosen = np.ones(2 * side, dtype=bool)
    chosen[side] = keep
    powers = np.vander(time[chosen] / side, terms)
    apart = q[chosen] - powers @ np.linalg.lstsq(powers, q[chosen], rcond=None)[0]
    return float(np.sum(apart**2) / ((chosen.sum() - terms) * q.shape[1]))


Rows = Literal["stamps", "even", "counted", "moved"]

NEIGHBOURS = (-3, -2, -1, 1, 2, 3)  # rows from which a position is predicted
#: By this logarithm the error has to be smaller without the stamps' jitter (experiments/benchmarks/clock.py).
LESS = 0.05
REGULAR = 1e-3  # steps that spread by less than this share of their median do not jitter
#: Stamps whose steps differ by less than this share are of rows that follow one another, as far as they know.
LATE = 0.5
#: Rows from which the grid of jittering stamps is told first.
FEW = 16
#: Positions are held where so large a share of the rows of a fast motion repeats that of the row before;
HELD = 0.3
#: fast: by more than so many steps of the encoder a row, over so many rows on either side.
STEPS, AROUND = 2.0, 5


@dataclass(frozen=True)
class Clock:
    """When the rows of a recording were taken.

    `rows`: "stamps" (as written), "even" (row k at start + k step), "counted" (start + c step with a whole number c
    for each row: between the stamps of some rows whole steps are missing) or "moved" (even, but for rows that were lost
    or written twice, as the positions show: `silent_steps`). `start`, `step` [s]. `jitter` [s]: root mean
    square of the stamps about that time; `gain`: by which factor positions follow from their neighbours better with it.
    `held`: positions are read once in so many rows.
    """

    rows: Rows = "stamps"
    start: float = 0.0
    step: float = 0.0
    jitter: float = 0.0
    gain: float = 1.0
    held: int = 1

    def __str__(self) -> str:
        if self.held > 1:
            return f"positions are read once in {self.held} rows, and held between: they are interpolated"
        if self.rows == "stamps":
            return "rows are as far apart as their time stamps say"
        if self.rows == "moved":
            return "rows were lost, or written twice, without a gap in time: counted by how far the joints move"
        missing = ", or several of these where rows are missing" if self.rows == "counted" else ""
        smoother = f"{min(self.gain, 1000.0):.3g} times smoother"
        return (
            f"time stamps jitter by {self.jitter * 1e3:.2g} ms rms, positions do not (they are {smoother} without it):"
            f" rows are {self.step * 1e3:.5g} ms apart{missing}"
        )


def find_clock(log: Log) -> Clock:
    """Return the time on which the positions of a log move most smoothly, its stamps where others are no better.

    Each position is predicted by the polynomial through three rows before and three after it (Lagrange), on each
    time; the logarithm of the root mean square error, mean over the joints, decides.
    """
    t, q = log.t[:ENOUGH], log.q[:ENOUGH]
    if len(t) < 10 * len(NEIGHBOURS) or leap(t) is not None:
        return Clock()
    held = _held(q)
    if held > 1:
        fresh = _fresh(q, held)
        return replace(_smoothest(t[fresh], q[fresh]), held=held) if fresh.sum() > 10 * len(NEIGHBOURS) else Clock()
    found, looked_at = _smoothest(t, q), log if len(t) == len(log.t) else only(log, np.arange(len(log.t)) < ENOUGH)
    steps = np.diff(t)
    regular = found.rows == "even" or bool(np.abs(steps / np.median(steps) - 1.0).max() < LATE)
    if regular and silent_steps(looked_at) is not None:
        step = found.step or float(np.median(steps))
        return Clock("moved", float(t[0]), step, found.jitter, found.gain)
    return found


def _smoothest(t: Array, q: Array) -> Clock:
    """Return the clock on which positions q (N, n) with stamps t (N,) are predicted best from their neighbours."""
    steps = np.diff(t)
    usual = float(np.median(steps))
    if np.ptp(np.percentile(steps, [2.5, 97.5])) <= REGULAR * usual:
        return Clock()
    best, stamped = Clock(), prediction_errors(t, q)
    counts: dict[Rows, Array] = {"even": np.arange(len(t), dtype=np.float64), "counted": _counts(t, *_grid(t, usual))}
    for rows, count in counts.items():
        step, start = np.polyfit(count, t, 1)
        errors = prediction_errors(step * count, q)
        moved = (stamped > 0) & (errors > 0)
        gain = float(np.exp(np.mean(np.log(stamped[moved] / errors[moved])))) if moved.any() else 1.0
        if gain > best.gain * np.exp(LESS):
            best = Clock(rows, float(start), float(step), float(np.std(t - start - step * count)), gain)
    return best


def on_clock(log: Log, clock: Clock, before: int = 0) -> Log:
    """Return a log, or the part of one that has `before` rows of the recording before it, with its rows' true time.

    Positions that are held are interpolated between the rows at which they were read; rows that were written twice are
    left out of a whole log. In a part that begins later, rows lost in silence are taken as even.
    """
    if clock.rows == "moved" and not before and log.margin == (0, 0):
        return _moved(log, clock)
    if clock.held > 1:
        log = replace(log, q=_between(log.t, log.q, _fresh(log.q, clock.held)))
        clock = replace(clock, step=clock.step / clock.held)
    if clock.rows == "stamps":
        return log
    if clock.rows == "counted":
        count = _counts(log.t, clock.start, clock.step)
    else:
        count = np.arange(before, before + len(log.t), dtype=float)
    return replace(log, t=clock.start + clock.step * count)


def freshly_read(log: Log, clock: Clock) -> Log:
    """Return a log on its clock; of one whose positions are held only the rows at which they were read."""
    on = on_clock(log, clock)
    return on if clock.held == 1 else only(on, _fresh(log.q, clock.held))


def _moved(log: Log, clock: Clock) -> Log:
    found = silent_steps(log)
    if found is None:
        return log
    count, sound = found
    return replace(only(log, sound), t=clock.start + clock.step * count[sound])


def only(log: Log, rows: NDArray[np.bool_]) -> Log:
    """Return some rows of a log."""
    return replace(log, **log.each(lambda x: x[rows]) | {"numbers": log.numbered[rows]})


def _held(q: Array) -> int:
    """Return in how many rows the positions q (N, n) are read once; 1 where that is in each."""
    same = np.asarray((np.diff(q, axis=0) == 0.0).all(axis=1))
    if np.mean(same) < HELD / 10:
        return 1
    coarse = np.array([position_quantum(x) or SAME for x in q.T])
    speed = np.abs(q[2 * AROUND :] - q[: -2 * AROUND]) / (2 * AROUND)
    fast = np.zeros(len(same), dtype=bool)
    fast[AROUND - 1 : AROUND - 1 + len(speed)] = (speed > STEPS * coarse).any(axis=1)
    if fast.sum() < AROUND * len(NEIGHBOURS) or np.mean(same[fast]) < HELD:
        return 1
    changes = np.flatnonzero(fast & ~same)
    return max(1, int(np.median(np.diff(changes)))) if len(changes) > 1 else 1


def _fresh(q: Array, held: int) -> NDArray[np.bool_]:
    """Return at which rows (N,) the positions were read: where one changes, and every so many rows where none does."""
    changed = np.concatenate([[True], (np.diff(q, axis=0) != 0).any(axis=1)])
    rows = np.arange(len(q))
    last = np.maximum.accumulate(np.where(changed, rows, 0))
    return np.asarray((rows - last) % held == 0)


def _between(t: Array, q: Array, fresh: NDArray[np.bool_]) -> Array:
    """Return positions (N, n) between those that were read; after the last one they stay."""
    read = t[fresh]
    return interpolate(read, q[fresh], np.minimum(t, read[-1]), "cubic")


def _grid(t: Array, step: float) -> tuple[float, float]:
    """Return start and step of the even grid about which stamps jitter, some of whose points have none.

    From few rows at first, with their mean phase, for a step that is a little off counts late rows wrongly after many.
    """
    start, stop = float(t[0] + step * np.angle(np.mean(np.exp(2j * np.pi * (t[:FEW] - t[0]) / step))) / 2 / np.pi), FEW
    while stop < 2 * len(t):
        step, start = np.polyfit(_counts(t[:stop], start, step), t[:stop], 1)
        stop *= 2
    return float(start), float(step)


def _counts(t: Array, start: float, step: float) -> Array:
    """Return how many steps after the start each row was taken, no two at one time: stamps are late more than early."""
    rows = np.arange(len(t))
    return np.asarray(np.minimum.accumulate((np.round((t - start) / step) - rows)[::-1])[::-1] + rows)


def prediction_errors(t: Array, q: Array) -> Array:
    """Return the root mean square error (n,) of positions q (N, n) predicted from their neighbours at times t (N,)."""
    k = np.arange(NEIGHBOURS[-1], len(t) + NEIGHBOURS[0])
    away = {i: t[k + i] - t[k] for i in NEIGHBOURS}
    error = q[k].copy()
    for i in NEIGHBOURS:
        weight = np.prod([away[j] / (away[j] - away[i]) for j in NEIGHBOURS if j != i], axis=0)
        error -= weight[:, None] * q[k + i]
    return np.asarray(np.sqrt(np.mean(error**2, axis=0)))


def rate_of(log: Log) -> float:
    """Return the mean rate [Hz] at which rows of a log are taken, its gaps left out."""
    at, steps, _ = gaps(log.t)
    return (len(log.t) - 1 - len(at)) / float(log.t[-1] - log.t[0] - steps.sum()) if len(at) else log.rate_hz


def filled(log: Log) -> tuple[Log, NDArray[np.bool_]]:
    """Return a log with the rows that its gaps lack, and which of its rows (N,) these are.

    Filters count rows. Positions are on a cubic (`bend`), all else is on a straight line.
    """
    at, _, count = gaps(log.t)
    if not len(at):
        return log, np.zeros(len(log.t), dtype=bool)
    after = np.repeat(at, count)
    share = np.concatenate([np.arange(1, n + 1) / (n + 1) for n in count])
    order = np.argsort(np.concatenate([np.arange(len(log.t)), after + share]), kind="stable")

    def line(x: Array) -> Array:
        between = share.reshape(-1, *[1] * (x.ndim - 1))
        return np.asarray(np.concatenate([x, x[after] + between * (x[after + 1] - x[after])])[order])

    rows, new = log.each(line), order >= len(log.t)
    each = zip(at.tolist(), count.tolist(), strict=True)
    rows["q"][new] += np.concatenate([bend(log.t, log.q, *gap) for gap in each])
    rows["numbers"] = np.concatenate([log.numbered, log.numbered[after]])[order]
    before, behind = log.margin
    margin = (before + int(np.sum(after < before)), behind + int(np.sum(after >= len(log.t) - behind)))
    return replace(log, margin=margin, **rows), new
