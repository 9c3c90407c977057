"""Long recordings as data for the page: least and largest value of each stretch, in 16 bit."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ident.arrays import Array

#: Bytes that all recordings of a page take together, before base64 makes them a third longer.
BUDGET = 1_800_000


def stretches(samples: int, joints: int, recordings: int) -> int:
    """Return how many stretches a recording is cut into at most, so that a page stays within its budget."""
    return max(1000, min(samples, BUDGET // (12 * max(joints, 1) * max(recordings, 1))))


def recording_data(
    t: ArrayLike, measured: ArrayLike, predicted: ArrayLike, units: Sequence[str], *, most: int
) -> dict[str, Any]:
    """Return a recording as the page's script reads it: t (N,) [s]; measured, predicted (N, n) [units].

    At most `most` stretches are kept; no peak is lost.
    """
    t, measured, predicted = (np.asarray(x, dtype=np.float64) for x in (t, measured, predicted))
    count = min(len(t), most)
    starts = (np.arange(count) * len(t)) // max(count, 1)
    k = 1 if count == len(t) else 2

    def series(y: Array) -> dict[str, Any]:
        lo, hi = (float(y.min()), float(y.max())) if len(y) else (0.0, 0.0)
        ends = np.stack([np.minimum.reduceat(y, starts), np.maximum.reduceat(y, starts)], 1) if k == 2 else y[:, None]
        whole = np.round((ends - lo) * (65535.0 / (hi - lo) if hi > lo else 0.0)) - 32768.0
        return {"lo": lo, "hi": hi, "data": _text(whole.astype("<i2"))}

    joints = [
        {
            "unit": unit,
            "measured": series(measured[:, j]),
            "predicted": series(predicted[:, j]),
            "residual": series(measured[:, j] - predicted[:, j]),
        }
        for j, unit in enumerate(units)
    ]
    return {"k": k, "t": _text(t[starts].astype("<f4")), "joints": joints}


def page_data(recordings: Sequence[dict[str, Any]]) -> str:
    """Return the recordings as JSON that may stand inside <script>."""
    return json.dumps(list(recordings), allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")


def _text(array: Any) -> str:
    return base64.b64encode(array.tobytes()).decode()
