"""Segments of a recording: one R factor and one cluster of the covariance each.

Rule for their length, where none is given: a cluster-robust covariance takes the errors of different
segments for independent, so a segment must be long against everything that makes neighbouring errors alike. A
zero-phase low-pass at f correlates samples over about 1 / (2 f) s; with segments ten times as long, about a tenth of
the rows of a segment still know its neighbour: length >= 5 / f for the lowest cut-off f, decimation included. The
model's own error follows the motion, which changes over about a second: length >= 1 s. Longer recordings get about 15
segments, enough clusters for a covariance and few enough to keep: length >= duration / 15. So

    length = max(1 s, 5 / f, duration / 15),

and the rows are shared out evenly over floor(duration / length) segments, at least one.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

SHORTEST_S, CUTOFF_PERIODS, USUAL = 1.0, 5.0, 15


def segment_length(duration: float, lowest_cutoff_hz: float) -> float:
    """Return the length [s] of a segment by the rule above; `duration` [s], cut-off [Hz] (infinite: none)."""
    return max(SHORTEST_S, CUTOFF_PERIODS / lowest_cutoff_hz, duration / USUAL)


def split(first: int, stop: int, rows_per_segment: float) -> tuple[tuple[int, int], ...]:
    """Share the rows first..stop-1 evenly over segments of at least `rows_per_segment` rows; one if there are fewer."""
    number = max(1, int((stop - first) / max(rows_per_segment, 1.0) + 1e-9))
    edges = np.linspace(first, stop, number + 1).round().astype(int).tolist()
    return tuple((a, b) for a, b in pairwise(edges) if b > a)
