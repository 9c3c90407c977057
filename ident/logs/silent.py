"""Rows that a recorder lost, or wrote twice, without a gap in time: told by how far the joints move in one step."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ident.arrays import Array
from ident.logs.readings import SAME

#: Rows at either side of a step from which a cubic says how the joints move across it; its terms.
SIDE, TERMS = 6, 4
#: A step is looked at that is so far from one usual step, where one more would be so many standard deviations.
APART, CLEAR = 0.6, 6.0
#: The cubic fits so many times better, in squares, where the step is counted otherwise.
BETTER = 4.0
#: Most steps at once; where this share of the steps is odd, it is no loss of rows.
MOST_STEPS, MOST = 20, 0.05
#: A normal deviate's median distance from its mean.
_MEDIAN = 0.6745


def silent_steps(q: Array) -> tuple[Array, NDArray[np.bool_]] | None:
    """Return after how many steps each row of positions q (N, n) was taken, and which rows are to be kept (N,).

    None where every row follows one step after the other. The move from row to row, over the mean of the two before
    and the two after it, each joint over its usual scatter, is 2 where a row was lost and 0 where one was written
    twice. It counts where a cubic through the rows around agrees: that the row is there twice, or that it came in place
    of the right one.
    """
    moves = np.diff(q, axis=0)
    if len(moves) < 4 * SIDE:
        return None
    usual = (moves[:-4] + moves[1:-3] + moves[3:-1] + moves[4:]) / 4.0
    own = moves[2:-2]
    scatter = np.median(np.abs(own - usual), axis=0) / _MEDIAN
    weight = np.zeros(q.shape[1])
    weight[scatter > SAME] = 1.0 / scatter[scatter > SAME] ** 2
    size = (usual**2) @ weight
    clear = size > CLEAR**2
    ratio = ((own * usual) @ weight) / np.where(clear, size, 1.0)
    odd = clear & (np.abs(ratio - 1.0) > APART) & (np.abs(ratio) < MOST_STEPS)
    found = np.flatnonzero(odd) + 2
    found = found[(found >= SIDE - 1) & (found < len(q) - SIDE)]
    if not len(found) or len(found) > MOST * len(moves):
        return None
    count, sound = np.ones(len(moves)), np.ones(len(q), dtype=bool)
    for k in found.tolist():
        steps, keep = _counted(q[k - SIDE + 1 : k + SIDE + 1] * np.sqrt(weight), float(ratio[k - 2]))
        count[k], sound[k + 1] = steps, keep
    if sound.all() and (count == 1.0).all():
        return None
    return np.concatenate([[0.0], np.cumsum(count)]), sound


def _counted(q: Array, ratio: float) -> tuple[float, bool]:
    """Return how many steps lie between the two rows in the middle of q (2 SIDE, n), and whether to keep the latter."""
    whole = max(round(ratio), 0)
    tried = {(float(c), True) for c in (whole - 1, whole, whole + 1) if c > 1}
    if whole == 0:
        tried |= {(0.0, False), (1.0, False)}
    left = {(steps, keep): _left(q, steps, keep) for steps, keep in tried}
    best = min(left, key=lambda each: (left[each], each), default=(1.0, True))
    return best if best in left and BETTER * left[best] < _left(q, 1.0, True) else (1.0, True)


def _left(q: Array, steps: float, keep: bool) -> float:
    """Return the mean squared distance of rows from a cubic, with so many steps between those in the middle."""
    time = np.arange(2.0 * SIDE) - SIDE
    time[SIDE:] += steps - 1.0
    chosen = np.ones(2 * SIDE, dtype=bool)
    chosen[SIDE] = keep
    powers = np.vander(time[chosen] / SIDE, TERMS)
    apart = q[chosen] - powers @ np.linalg.lstsq(powers, q[chosen], rcond=None)[0]
    return float(np.sum(apart**2) / ((chosen.sum() - TERMS) * q.shape[1]))
