"""One segment of a log as triangular factors, one per joint."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ident.arrays import Array


@dataclass(frozen=True, eq=False)
class Segment:
    """R factors of [Y_j | tau_j] over one stretch of a recording.

    factors[j] (k_j + 1, k_j + 1), upper triangular: its first k_j columns belong to the base parameters that joint
    j's torque can show, the last to the measured torque. rows[j]: how many samples went in.
    `identity` (hex) names the very numbers, so that nothing is counted twice.
    """

    identity: str
    name: str
    recording: str
    rows: tuple[int, ...]
    factors: tuple[Array, ...]


def r_factor(a: Array) -> Array:
    """Return R (k, k) of a (rows, k) = Q R, by Householder reflections; padded with zeros when rows < k."""
    r = np.linalg.qr(a, mode="r") if len(a) else np.zeros((0, a.shape[1]))
    if len(r) < a.shape[1]:
        r = np.vstack([r, np.zeros((a.shape[1] - len(r), a.shape[1]))])
    return np.asarray(r)
