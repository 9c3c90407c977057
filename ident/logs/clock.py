"""When the rows of a log were taken: as their stamps say, evenly, or as the positions tell where rows were lost."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ident.arrays import Array
from ident.logs.filter import interpolate
from ident.logs.log import Log
from ident.logs.readings import ENOUGH, SAME, leap, position_quantum

#: Rows at either side of a step from which a cubic says how the joints move across it; its terms.
SIDE, TERMS = 6, 4
#: A step is looked at that is so far from one usual step, where one more would be so many standard deviations.
APART, CLEAR = 0.6, 4.0
#: All joints take part: of how far it is from the usual step, an odd one is so much from that step's multiple.
ALONG = 0.5
#: Steps slower than this share of the fast ones are not looked at.
SLOW = 0.03
#: The logarithm of the odds that a cubic gives to another count, and how many times better it fits, in squares.
ODDS, BETTER = 12.0, 1.5
#: Most steps at once; where this share of the steps is odd, it is no loss of rows.
MOST_STEPS, MOST = 20, 0.05
#: Rows that are the same in every signal are so many times as frequent as chance has it, and this share of those with
#: the same positions: where positions often stay, as those of coarse encoders do, now and then torques do as well.
CHANCE, AMONG = 5.0, 0.1
#: The scatter is told from this quantile, beyond which rows may be missing (a normal deviate's); an odd step is so many
#: times as far from the usual one as this share of all.
TAIL, _DEVIATE, FAR = 0.9, 1.645, 3.0
#: Rows that are looked at for the steps in which readings come.
_SEEN = 20_000


def silent_steps(log: Log) -> tuple[Array, NDArray[np.bool_]] | None:
    """Return after how many steps each row of a log was taken, and which rows are to be kept (N,).

    None where every row follows one step after the other. The move from row to row, over the median of the two before
    and the two after it, each joint over its usual scatter, is 2 where a row was lost and 0 where one was written
    twice. It counts where a cubic through the rows around agrees: that the row is there twice, or that it came in place
    of the right one. Rows that repeat the one before in every signal are one or the other, all alike.
    """
    q, moves = log.q, np.diff(log.q, axis=0)
    if len(moves) < 4 * SIDE:
        return None
    usual = _median_of_four(moves[:-4], moves[1:-3], moves[3:-1], moves[4:])  # one leap nearby is none of it
    own = moves[2:-2]
    steps = np.array([position_quantum(x) or 0.0 for x in q[:_SEEN].T])
    scatter = np.maximum(np.quantile(np.abs(own - usual), TAIL, axis=0) / _DEVIATE, steps)  # coarse readings leap
    weight = np.zeros(log.n)
    weight[scatter > SAME] = 1.0 / scatter[scatter > SAME] ** 2
    size = (usual**2) @ weight
    fast = size > SLOW**2 * np.percentile(size, 95.0)  # at rest, steps are those of the encoders
    clear = fast & (size > CLEAR**2)
    ratio = ((own * usual) @ weight) / np.where(clear, size, 1.0)
    again = _written_twice(log)
    again[2:-2] &= fast  # where it hardly moves, readings stay by themselves
    again[:2] = again[-2:] = False
    apart = np.sqrt(((own - usual) ** 2) @ weight)
    far = apart > FAR * np.quantile(apart, TAIL)
    along = np.sqrt(((own - ratio[:, None] * usual) ** 2) @ weight) < ALONG * apart
    odd = clear & far & along & (np.abs(ratio - 1.0) > APART) & (np.abs(ratio) < MOST_STEPS)
    found = np.flatnonzero(odd & ~again[2:-2]) + 2
    found = found[(found >= SIDE - 1) & (found < len(q) - SIDE)]
    if len(found) > MOST * len(moves):
        return None
    count, sound = np.ones(len(moves)), np.ones(len(q), dtype=bool)
    scaled = q * np.sqrt(weight)
    for k in found.tolist():
        count[k], sound[k + 1] = _counted(scaled[k - SIDE + 1 : k + SIDE + 1], float(ratio[k - 2]))
    twice = np.flatnonzero(again)
    sound[twice + 1] = False
    around = [scaled[k - SIDE + 1 : k + SIDE + 1] for k in twice.tolist() if SIDE <= k + 1 <= len(q) - SIDE]
    if sum(_left(part, 0.0, False) - _left(part, 1.0, False) for part in around) < 0.0:
        count[twice] = 0.0
    if sound.all() and (count == 1.0).all():
        return None
    return np.concatenate([[0.0], np.cumsum(count)]), sound


def _median_of_four(a: Array, b: Array, c: Array, d: Array) -> Array:
    """Return the median, number by number: `np.median` takes ten times as long to sort four at a time."""
    low = np.maximum(np.minimum(a, b), np.minimum(c, d))
    return np.asarray((low + np.minimum(np.maximum(a, b), np.maximum(c, d))) / 2.0)


def _written_twice(log: Log) -> NDArray[np.bool_]:
    """Return after which rows (N - 1,) one comes with the same numbers, where that is no chance and the robot moves."""
    same = [np.asarray((np.diff(x, axis=0) == 0.0).all(axis=1)) for x in (log.q, log.tau)]
    both = same[0] & same[1]
    if log.qd is not None:
        both &= (np.diff(log.qd, axis=0) == 0.0).all(axis=1)
    share = float(np.mean(both))
    chance = max(CHANCE * np.mean(same[0]) * np.mean(same[1]), AMONG * np.mean(same[0]))
    return both if chance < share < MOST else np.zeros_like(both)


def _counted(q: Array, ratio: float) -> tuple[float, bool]:
    """Return how many steps lie between the two rows in the middle of q (2 SIDE, n), and whether to keep the latter."""
    whole = max(round(ratio), 0)
    tried = [(float(c), True) for c in (whole - 1, whole, whole + 1) if c > 1]
    if whole == 0:
        tried = [(0.0, False), (1.0, False)]
    left = {each: _left(q, *each) for each in tried}
    best = min(tried, key=lambda each: left[each])
    better = np.log(_left(q, 1.0, True) / max(left[best], 1e-300))
    return best if better > max(np.log(BETTER), 2.0 * ODDS / q.size) else (1.0, True)


def _left(q: Array, steps: float, keep: bool) -> float:
    """Return the mean squared distance of rows from a cubic, with so many steps between those in the middle."""
    time = np.arange(2.0 * SIDE) - SIDE
    time[SIDE:] += steps - 1.0
    chosen = np.ones(2 * SIDE, dtype=bool)
    chosen[SIDE] = keep
    powers = np.vander(time[chosen] / SIDE, TERMS)
    apart = q[chosen] - powers @ np.linalg.lstsq(powers, q[chosen], rcond=None)[0]
    return float(np.sum(apart**2) / ((chosen.sum() - TERMS) * q.shape[1]))


Rows = Literal["stamps", "even", "counted", "moved"]

NEIGHBOURS = (-3, -2, -1, 1, 2, 3)  # rows from which a position is predicted
#: By this logarithm the error has to be smaller without the stamps' jitter (experiments/benchmarks/clock.py).
LESS = 0.05
REGULAR = 1e-3  # steps that spread by less than this share of their median do not jitter
#: Stamps whose steps differ by less than this share are of rows that follow one another, as far as they know.
LATE = 0.5
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
    found, looked_at = _smoothest(t, q), log if len(t) == len(log.t) else _only(log, np.arange(len(log.t)) < ENOUGH)
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
    whole = np.concatenate([[0.0], np.cumsum(np.round(steps / usual))])
    for _ in range(3):  # a late row counts one too many and the next one too few
        step, start = np.polyfit(whole, t, 1)
        whole = _counts(t, start, step)
    counts: dict[Rows, Array] = {"even": np.arange(len(t), dtype=np.float64), "counted": whole}
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
    return on if clock.held == 1 else _only(on, _fresh(log.q, clock.held))


def _moved(log: Log, clock: Clock) -> Log:
    found = silent_steps(log)
    if found is None:
        return log
    count, sound = found
    return replace(_only(log, sound), t=clock.start + clock.step * count[sound])


def _only(log: Log, rows: NDArray[np.bool_]) -> Log:
    """Return some rows of a log."""
    numbers = np.arange(len(log.t)) + log.first_row if log.numbers is None else log.numbers
    return replace(
        log,
        t=log.t[rows],
        q=log.q[rows],
        tau=log.tau[rows],
        qd=None if log.qd is None else log.qd[rows],
        temperature=None if log.temperature is None else log.temperature[rows],
        numbers=numbers[rows],
    )


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
