"""What a prediction leaves of measured torques, one recording after the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ident.arrays import Array
from ident.logs.motion import Motion
from ident.model.model import Model, torque


@dataclass(frozen=True, eq=False)
class Residuals:
    """Recordings put one after the other: t (N,) [s] of each one's own clock, its states q, qd and residual (N, n).

    names: the recordings, starts: their first rows.
    """

    names: tuple[str, ...]
    starts: tuple[int, ...]
    t: Array
    q: Array
    qd: Array
    residual: Array

    def rms(self) -> Array:
        """Return the root mean square of each joint's residual in each recording (k, n) [N m; N]."""
        parts = pairwise((*self.starts, len(self.t)))
        return np.array([np.sqrt(np.mean(self.residual[a:b] ** 2, axis=0)) for a, b in parts])


def residuals(model: Model, theta: Array, motions: Sequence[Motion]) -> Residuals:
    """Return measured less predicted torque of motions that have samples, at least one of them."""
    left = [m.tau - torque(model, theta, m.q, m.qd, m.qdd, signals=m.signals()) for m in motions]
    starts = np.cumsum([0, *(len(m.t) for m in motions[:-1])])
    return Residuals(
        tuple(m.name for m in motions),
        tuple(starts.tolist()),
        np.concatenate([m.t for m in motions]),
        np.concatenate([m.q for m in motions]),
        np.concatenate([m.qd for m in motions]),
        np.concatenate(left),
    )
