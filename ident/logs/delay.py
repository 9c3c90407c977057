"""A constant delay between position and torque."""

from __future__ import annotations

import numpy as np

from ident.arrays import Array
from ident.logs.resample import Interpolation, interpolate


def undelayed(t: Array, tau: Array, delay: Array, kind: Interpolation) -> tuple[Array, slice]:
    """Return tau (N, n) with its delay (n,) [s] taken out, and the samples for which that is known.

    A positive delay means that torque lags position: the torque that belongs to q(t) was recorded at t + delay,
    so the result at t is tau(t + delay), interpolated between the time stamps. Samples that would need torque from
    before or after the recording are left out of the slice; what stands there is the end value.
    """
    if not delay.any():
        return tau, slice(0, len(t))
    shifted = np.column_stack(
        [interpolate(t, tau[:, [j]], np.clip(t + d, t[0], t[-1]), kind)[:, 0] for j, d in enumerate(delay)]
    )
    start = int(np.searchsorted(t + min(delay.min(), 0.0), t[0] - 1e-9))
    stop = int(np.searchsorted(t + max(delay.max(), 0.0), t[-1] + 1e-9, side="right"))
    return shifted, slice(start, stop)
