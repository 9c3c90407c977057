"""The constant delay between position and torque, found from the log itself."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ident.arrays import Array
from ident.logs.filter import decimate
from ident.logs.motion import Motion
from ident.model.model import Model
from ident.regression.base import BaseParameters, base_parameters
from ident.regression.compress import packed_columns, pieces

_MAX_SAMPLES = 60_000


@dataclass(frozen=True, eq=False)
class Delays:
    """Per joint: seconds (n,) by which torque lags position (negative: leads), NaN where it cannot be told.

    gain (n,): the residual at that delay over the residual without one; 1 where nothing is gained.
    """

    seconds: Array
    gain: Array


def delays(model: Model, motion: Motion, *, base: BaseParameters | None = None, reach: float = 0.02) -> Delays:
    """Return the delay that makes each joint's own least-squares residual smallest, within +-reach [s].

    The torque is shifted over a grid, all shifts are solved as right-hand sides of one factorisation, and a parabola
    through the three best refines the minimum. A minimum at the end of the grid, or of a joint that does not move,
    gives NaN. Looks at the first 60,000 samples.
    """
    columns = packed_columns(model, base or base_parameters(model))
    last = min(len(motion.q), _MAX_SAMPLES)
    rows = np.concatenate(list(pieces(columns, motion, last)))
    t, tau = motion.t[:last], motion.tau[:last]
    keep = motion.keep
    seconds, gain = np.full(model.robot.n, np.nan), np.ones(model.robot.n)
    keep = keep[: len(rows)]
    grid = np.linspace(-reach, reach, 41)
    for j, (start, stop) in enumerate(columns.span):
        mask = keep[:, j]
        Y = rows[mask, start : stop - 1]
        if len(Y) <= Y.shape[1] + 1:
            continue
        size = np.linalg.norm(Y, axis=0)
        Q, s, _ = np.linalg.svd(Y[:, size > 0] / size[size > 0], full_matrices=False)
        Q = Q[:, s > 1e-9 * s[0]]
        shifted = np.stack([np.interp(t + shift, t, tau[:, j]) for shift in grid], axis=1)
        if motion.decimation:
            shifted = decimate(shifted, motion.decimation)
        shifted = shifted[mask]
        rss = np.sum(shifted**2, axis=0) - np.sum((Q.T @ shifted) ** 2, axis=0)
        k = int(np.argmin(rss))
        # Interpolation smooths noise, so noise alone has a minimum too: what Y explains must stand out of it.
        signal = len(Y) * np.var(Q @ (Q.T @ shifted[:, k])) / Q.shape[1]
        noise = max(rss[k], 1e-18 * np.sum(shifted[:, k] ** 2)) / (len(Y) - Q.shape[1])
        if 0 < k < len(grid) - 1 and signal > 10.0 * noise:
            a, b, c = rss[k - 1 : k + 2]
            seconds[j] = grid[k] + 0.5 * (a - c) / (a - 2 * b + c) * (grid[1] - grid[0])
            gain[j] = np.sqrt(rss[k] / rss[len(grid) // 2])
    return Delays(seconds, gain)
