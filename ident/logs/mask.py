"""Which rows count: standstill and low speeds."""

from __future__ import annotations

import numpy as np

from ident.arrays import Array


def moving(qd: Array, min_speed: Array, standstill: Array) -> np.ndarray:
    """Return keep (N, n), bool, from velocities qd (N, n).

    A joint's row is dropped where the joint is slower than its `min_speed` (n,) [rad/s or m/s], because the sign of
    its friction is not known there. All rows of a sample are dropped where every joint is slower than its
    `standstill` (n,), because a robot at rest tells little and its stiction is not modelled.
    """
    speed = np.abs(qd)
    resting = (speed < standstill).all(axis=1, keepdims=True)
    return np.asarray((speed >= min_speed) & ~resting)
