"""Rows that do not belong: weights by Huber's loss, found in turn with the parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import tee

import numpy as np
from numpy.typing import NDArray

from ident.arrays import Array
from ident.estimate.least_squares import joint_noise, solve
from ident.logs.motion import Motion
from ident.model.model import Model
from ident.regression.base import BaseParameters, base_parameters
from ident.regression.compress import Columns, compress, packed_columns, pieces
from ident.regression.regression import Regression

#: Residuals beyond so many standard deviations count by their size, not its square: 95 % efficient on normal noise.
TUNING = 1.345
#: A row of so small a weight, more than TUNING / FAR standard deviations off, is told.
FAR = 0.25
#: A stretch does not belong where more than this share of its rows is that far off, for so long [s].
MOSTLY, STRETCH_S = 0.6, 0.2
#: Weights and parameters are found in turn so often.
ROUNDS = 5
#: A normal deviate's median distance from its mean.
_MEDIAN = 0.6745


@dataclass(frozen=True)
class Stretch:
    """A stretch of a recording, from `start` to `stop` [s], in which a joint's torque does not belong to the rest."""

    recording: str
    joint: str
    start: float
    stop: float

    def __str__(self) -> str:
        return f"'{self.joint}' from {self.start:.2f} to {self.stop:.2f} s"


@dataclass(frozen=True, eq=False)
class Reweighted:
    """Factors whose rows have the weights of Huber's loss.

    far (n,): rows of each joint that count for less than FAR; odd: stretches of STRETCH_S or more in which most do.
    """

    regression: Regression
    far: Array
    odd: tuple[Stretch, ...]


def reweighted(model: Model, motions: Callable[[], Iterable[Motion]], base: BaseParameters | None = None) -> Reweighted:
    """Return the factors of motions, each row weighed by how far it is from the fit of all (Huber 1981).

    Iteratively reweighted least squares of the base parameters, from least squares on; each joint's scale is the median
    of its residuals. What is fitted to the factors, with constraints or a prior, has the loss of those parameters as
    its own. motions is called once a round, so that logs larger than memory can be read again.
    Raises what `compress` raises, and EstimationError where no torque can be explained.
    """
    base = base or base_parameters(model)
    columns = packed_columns(model, base)
    found = Reweighted(compress(model, motions(), base=base), np.zeros(model.robot.n), ())
    sigma = joint_noise(found.regression)
    for _ in range(ROUNDS):
        found, sigma = _weighed(columns, motions(), solve(found.regression, sigma), sigma)
    return found


def _weighed(columns: Columns, motions: Iterable[Motion], phi: Array, sigma: Array) -> tuple[Reweighted, Array]:
    """Return the factors with the weights of one round, and the scale of the residuals (n,)."""
    scales, counts, far, odd = list[Array](), list[Array](), np.zeros(len(sigma)), list[Stretch]()

    def weights(motion: Motion) -> Array:
        left = np.abs(residuals(columns, motion, phi))
        rows = zip(left.T, motion.keep.T, strict=True)
        scales.append(np.array([np.median(x[k]) if k.any() else 0.0 for x, k in rows]) / _MEDIAN)
        counts.append(motion.keep.sum(axis=0))
        own = TUNING * sigma / np.maximum(left, TUNING * sigma)
        far[:] += np.sum((own < FAR) & motion.keep, axis=0)
        odd.extend(_stretches(columns.model.robot.joint_names, motion, (own < FAR) & motion.keep))
        return np.asarray(own)

    fitted, weighed = tee(motions)  # the second is never more than a motion behind
    regression = compress(columns.model, fitted, base=columns.base, weights=map(weights, weighed))
    scale = np.sum(np.array(scales) * counts, axis=0) / np.maximum(np.sum(counts, axis=0), 1)
    found = Reweighted(regression, far, tuple(odd))
    return found, np.asarray(np.maximum(np.where(scale > 0.0, scale, sigma), regression.least_noise))


def _stretches(joints: Sequence[str], motion: Motion, far: NDArray[np.bool_]) -> Iterator[Stretch]:
    """Yield where most rows (rows, n) of a window are far, as long as a window or longer."""
    t = motion.t[:: max(1, -(-len(motion.t) // len(far)))][: len(far)]
    window = max(3, round(STRETCH_S * (len(t) - 1) / (t[-1] - t[0]))) if len(t) > 1 else len(t) + 1
    if window > len(t):
        return
    for joint, own in zip(joints, far.T, strict=True):
        most = np.convolve(own, np.full(window, 1.0 / window), mode="same") > MOSTLY
        edges = np.flatnonzero(np.diff(np.concatenate([[False], most, [False]]).astype(int)))
        for first, stop in edges.reshape(-1, 2):
            if stop - first >= window / 2:
                yield Stretch(motion.name, joint, float(t[first]), float(t[stop - 1]))


def residuals(columns: Columns, motion: Motion, phi: Array) -> Array:
    """Return what base parameters phi leave of each joint's torque (rows, n), thinned, where rows are not kept too."""
    found = []
    for piece in pieces(columns, motion):
        left = [
            piece[:, start : stop - 1] @ phi[list(own)] - piece[:, stop - 1]
            for (start, stop), own in zip(columns.span, columns.parameters, strict=True)
        ]
        found.append(np.column_stack(left))
    return np.concatenate(found)
