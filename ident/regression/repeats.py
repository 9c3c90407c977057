"""Recordings of one motion: as periods within a recording they are repeats of it, not new motions."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce

import numpy as np

from ident.arrays import Array
from ident.regression.regression import Regression, Segment, merged

#: Root mean square difference of two recordings' moments, columns scaled to one, below which both show one motion.
#: Periods of one motion are within 0.007 of each other on real logs, different motions of a robot 0.05 or more apart.
ALIKE = 0.03


def repeats_joined(regression: Regression) -> Regression:
    """Return the regression with the recordings of one motion as one, segment by segment, named after the first.

    What a model leaves out shows once more in every repeat. So to leave one out, and to take it for independent of the
    others, would measure how well a motion is fitted that was seen.
    """
    if len(regression.recordings) == 1:
        return regression
    motions: list[tuple[Array, list[str]]] = []
    for recording in regression.recordings:
        own = _moments(regression.only([recording]))
        same = [names for other, names in motions if _apart(own, other) < ALIKE]
        if same:
            same[0].append(recording)
        else:
            motions.append((own, [recording]))
    joined = [segment for _, names in motions for segment in _joined(regression, names)]
    return regression if len(joined) == len(regression.segments) else replace(regression, segments=tuple(joined))


def _moments(regression: Regression) -> Array:
    """Return the mean products (b, b) of the columns, which the motion alone decides."""
    b = len(regression.base.names)
    found = np.zeros((b, b))
    for r, own, rows in zip(regression.joint_factors, regression.parameters, regression.rows, strict=True):
        found[np.ix_(own, own)] += r[:, :-1].T @ r[:, :-1] / max(rows, 1.0)
    return found


def _apart(a: Array, b: Array) -> float:
    size = np.sqrt((np.diag(a) + np.diag(b)) / 2)
    size = np.where(size > 0, size, 1.0)
    return float(np.sqrt(np.mean(((a - b) / np.outer(size, size)) ** 2)))


def _joined(regression: Regression, recordings: list[str]) -> list[Segment]:
    """Return as many segments as the recording with the fewest has, each with what the others have in its place."""
    each = [[s for s in regression.segments if s.recording == name] for name in recordings]
    number = min(map(len, each))
    places: list[list[Segment]] = [[] for _ in range(number)]
    for segments in each:
        for k, segment in enumerate(segments):
            places[k * number // len(segments)].append(segment)
    return [reduce(merged, place) for place in places]
