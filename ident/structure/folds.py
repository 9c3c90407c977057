"""What is left out together to judge a model: recordings, or short segments of like pose and speed.

Contiguous stretches of one motion are much like the rest of it: a model that they choose may fail on a faster motion.
Segments of like pose and speed, left out together, are what the rest of the motion has not seen.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ident.arrays import Array, or_one
from ident.logs.motion import Motion, split
from ident.regression.regression import Regression, repeats_joined

#: Short segments of all logs together, and clusters of them: more where few say nothing of each other.
SEGMENTS, CLUSTERS = 72, (6, 12, 24)
#: Rows that a segment has at least.
LEAST_ROWS = 4
_STARTS, _ROUNDS = 10, 50


def shortened(motions: Sequence[Motion]) -> tuple[list[Motion], Array]:
    """Return motions cut into short segments, shared out by rows, and each segment's pose and speed (s, 2 n)."""
    spans = [(m.blocks[0][0], m.blocks[-1][1]) for m in motions]
    rows = max(sum(stop - first for first, stop in spans) / SEGMENTS, LEAST_ROWS)
    cut, levels = [], []
    for motion, (first, stop) in zip(motions, spans, strict=True):
        each = [(a, b) for a, b in split(first, stop, rows)[0] if motion.keep[a:b].any()]
        thinning = int(np.prod(motion.decimation, dtype=int))
        for a, b in each:
            part = slice(a * thinning, b * thinning)
            levels.append([*motion.q[part].mean(axis=0), *np.abs(motion.qd[part]).mean(axis=0)])
        cut.append(replace(motion, blocks=tuple(each), stretches=()))
    return cut, np.array(levels)


def folds(regression: Regression, levels: Array) -> Iterator[NDArray[np.intp]]:
    """Yield which fold each segment (s,) is in: its recording's where three or more differ, else its cluster's.

    The fewest folds first. regression: of base parameters alone, its segments in the order of `levels` (s, d), as
    `shortened` returns both.
    """
    own = [segment.recording for segment in regression.segments]
    first = repeats_joined(regression).recordings
    if len(first) >= 3 and len(first) == len(regression.recordings):
        yield np.array([min(first.index(name), len(first) - 1) for name in own])
    else:
        yield from (clustered(levels, min(number, len(levels))) for number in CLUSTERS)


def clustered(points: Array, number: int) -> NDArray[np.intp]:
    """Return the cluster (s,) of each point (s, d), columns brought to one spread: k-means, the best of some starts.

    Starts are drawn with a fixed seed, each point with the square of its distance from those before (Arthur,
    Vassilvitskii, "k-means++", SODA 2007).
    """
    spread = points.std(axis=0)
    x = (points - points.mean(axis=0)) / or_one(spread)
    rng = np.random.default_rng(0)
    best, least = np.zeros(len(x), dtype=np.intp), np.inf
    for _ in range(_STARTS):
        centres = x[[rng.integers(len(x))]]
        while len(centres) < number:
            away = _squares(x, centres).min(axis=1)
            chances = away / away.sum() if away.sum() > 0 else None
            centres = np.concatenate([centres, x[[rng.choice(len(x), p=chances)]]])
        for _ in range(_ROUNDS):
            label = _squares(x, centres).argmin(axis=1)
            means = [x[label == k].mean(axis=0) if (label == k).any() else c for k, c in enumerate(centres)]
            if np.array_equal(means, centres):
                break
            centres = np.array(means)
        cost = float(_squares(x, centres).min(axis=1).sum())
        if cost < least:
            best, least = label, cost
    return np.unique(best, return_inverse=True)[1].astype(np.intp)


def _squares(x: Array, centres: Array) -> Array:
    return np.asarray(((x[:, None] - centres) ** 2).sum(axis=2))
