"""Rows that a recorder lost, or wrote twice, without a gap in time: told by how far the joints move in one step."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ident.arrays import Array
from ident.logs.log import Log
from ident.logs.readings import SAME, position_quantum

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
