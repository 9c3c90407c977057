"""One segment of a log as triangular factors, one per joint."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np

from ident.arrays import Array
from ident.errors import RegressionError


@dataclass(frozen=True, eq=False)
class Segment:
    """R factors of [Y_j | tau_j] over one stretch of a recording, with its repeats where the motion is periodic.

    factors[j] (k_j + 1, k_j + 1), upper triangular: its first k_j columns belong to the base parameters that joint
    j's torque can show, the last to the measured torque. rows[j]: how many samples went in.
    `identity` (hex) names the very numbers, so that nothing is counted twice.
    """

    identity: str
    name: str
    recording: str
    rows: tuple[int, ...]
    factors: tuple[Array, ...]


def merged(a: Segment, b: Segment) -> Segment:
    """Return the segment that holds the rows of both."""
    identity = hashlib.sha256(f"{a.identity}|{b.identity}".encode()).hexdigest()
    rows = tuple(m + n for m, n in zip(a.rows, b.rows, strict=True))
    factors = tuple(r_factor(np.concatenate(pair)) for pair in zip(a.factors, b.factors, strict=True))
    return Segment(identity, a.name, a.recording, rows, factors)


def once(segment: Segment, seen: dict[str, str]) -> None:
    """Add a segment's identity and name to those `seen`; raises RegressionError when it is there already."""
    if segment.identity in seen:
        raise RegressionError(
            f"segment '{segment.name}' holds the same numbers as '{seen[segment.identity]}'",
            fix="Give each recording once; counting it twice makes error bars too small",
        )
    seen[segment.identity] = segment.name


def r_factor(a: Array) -> Array:
    """Return R (k, k) of a (rows, k) = Q R, by Householder reflections; padded with zeros when rows < k."""
    r = np.linalg.qr(a, mode="r") if len(a) else np.zeros((0, a.shape[1]))
    if len(r) < a.shape[1]:
        r = np.vstack([r, np.zeros((a.shape[1] - len(r), a.shape[1]))])
    return np.asarray(r)
