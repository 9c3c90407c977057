"""The normal equations of a calibration: parameters and unknowns together, segment by segment, with what is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ident.arrays import Array, or_one
from ident.calibrate.slopes import At, with_slopes
from ident.estimate.covariance import effective_samples
from ident.estimate.estimators import NEUTRAL_TOLERANCE, TOLERANCE
from ident.estimate.least_squares import joint_noise
from ident.estimate.prior import ConstantPullback, Prior
from ident.logs.motion import Motion
from ident.regression.base import BaseParameters
from ident.regression.compress import compress
from ident.regression.regression import Regression, repeats_joined, restricted, weighted_gram
from ident.robot.unknown import nominal, spreads

_RIDGE = 1e-9  # of each column's square: joint terms that no row shows stay where they are
_ROUNDS = 2  # of noise and fit in turn


@dataclass(frozen=True, eq=False)
class Normal:
    """x = (theta, du): du (k,) is how far the unknowns are from `at`. Numbers of a sum x'H x - 2 g'x + c.

    H (G, m, m), g (G, m), c (G,): of each segment's squared residuals over the noise, times `share`, the effective
    share of independent samples. P (m, m), r (m,): of what is known beforehand. sigma (n,): noise. names: of segments.
    recordings: which one each segment is of.
    """

    at: At
    H: Array
    g: Array
    c: Array
    P: Array
    r: Array
    sigma: Array
    share: float
    recordings: tuple[str, ...]

    @property
    def whole(self) -> tuple[Array, Array]:
        """H (m, m) and g (m,) of all segments, with what is known beforehand."""
        return self.H.sum(axis=0) + self.P, self.g.sum(axis=0) + self.r

    @property
    def unknowns(self) -> slice:
        """Where the unknowns stand in x."""
        return slice(len(self.at.theta), len(self.r))

    @property
    def pinned(self) -> Array:
        """x (m,) at which every unknown is nominal, theta 0."""
        x = np.zeros(len(self.r))
        x[self.unknowns] = nominal(self.at.unknowns) - self.at.values
        return x


def free_of(normal: Normal, unknowns: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which entries (m,) of x are free: theta, and these unknowns (k,)."""
    return np.concatenate([np.ones(len(normal.at.theta), dtype=bool), unknowns])


def solved(H: Array, g: Array, free: NDArray[np.bool_], x: Array) -> Array:
    """Return x (m,) of least x'H x - 2 g'x, entries that are not free as they are given."""
    found = np.where(free, 0.0, x)
    found[free] = inverse(H[np.ix_(free, free)]) @ (g - H @ found)[free]
    return found


def inverse(H: Array) -> Array:
    """Return the inverse of a positive matrix, columns scaled, what nothing shows held where it is."""
    unit = or_one(np.sqrt(np.diag(H)))
    scaled = H / np.outer(unit, unit)
    scaled[np.diag_indices_from(scaled)] += _RIDGE
    return np.asarray(np.linalg.inv(scaled) / np.outer(unit, unit))


def normal_at(
    at: At, motions: Sequence[Motion], prior: Prior, weighing: tuple[Array, float] | None = None
) -> tuple[Normal, tuple[Array, float]]:
    """Return the equations where slopes are taken at corrected motions, and their weighing: noise (n,), share.

    weighing: noise of the torques as measured, and share; None for what the residuals say, unknowns free.
    """
    model, base, plain = with_slopes(at)
    regression = repeats_joined(compress(model, motions, base=base))
    P, r = _known(at, prior, base)
    if weighing is None:
        weighing = _weighing(at, regression, base, plain, P, r)
    sigma, share = weighing[0] / at.gains, weighing[1]
    H, g, c = _segments(regression, base, sigma, share)
    names = tuple(segment.recording for segment in regression.segments)
    return Normal(at, H, g, c, P, r, sigma, share, names), weighing


def _weighing(
    at: At, regression: Regression, base: BaseParameters, plain: BaseParameters, P: Array, r: Array
) -> tuple[Array, float]:
    """Return each joint's noise and the share of independent samples, as left by parameters and unknowns together.

    How noisy joints are against each other is decided without unknowns: a gain would explain a joint by itself.
    """
    outset = joint_noise(replace(restricted(regression, range(len(plain.kept))), base=plain))
    sigma, share, k = outset, 1.0, len(at.unknowns)
    for _ in range(_ROUNDS):
        H, g, _ = (x.sum(axis=0) for x in _segments(regression, base, sigma, share))
        free = np.ones(len(r), dtype=bool)
        phi = base.K @ solved(H + P, g + r, free, np.zeros(len(r)))
        bound = free.copy()
        bound[len(r) - k :] = False
        before = base.K @ solved(H + P, g + r, bound, np.zeros(len(r)))
        squares = [np.maximum(regression.squared_residuals(x), 1e-300) for x in (phi, before)]
        smaller = np.sqrt(np.minimum(squares[0] / squares[1], 1.0))
        sigma = np.maximum(outset * smaller, regression.least_noise)
        share = min(effective_samples(regression, sigma) / float(regression.rows.sum()), 1.0)
    return sigma * at.gains, share


def _segments(regression: Regression, base: BaseParameters, sigma: Array, share: float) -> tuple[Array, Array, Array]:
    grams = [share * weighted_gram(regression, s.factors, sigma) for s in regression.segments]
    H = np.array([base.K.T @ gram[:-1, :-1] @ base.K for gram in grams])
    g = np.array([base.K.T @ gram[:-1, -1] for gram in grams])
    return H, g, np.array([gram[-1, -1] for gram in grams])


def _known(at: At, prior: Prior, base: BaseParameters) -> tuple[Array, Array]:
    """Return what is known beforehand: bodies within the prior's tolerance, unknowns within their spreads."""
    m, rigid = len(base.standard), at.model.n_rigid
    P, r = np.zeros((m, m)), np.zeros(m)
    neutral = np.repeat(prior.neutral, 16)
    tolerance = np.where(neutral, NEUTRAL_TOLERANCE, TOLERANCE)
    # -2 log likelihood: the divergence, half the squared distance, over the tolerance's square
    root = ConstantPullback().root(prior) / (np.sqrt(2.0) * tolerance)[:, None]
    P[:rigid, :rigid] = root.T @ root
    r[:rigid] = P[:rigid, :rigid] @ prior.inertials.ravel()
    k = m - len(at.unknowns)
    weight = spreads(at.unknowns) ** -2.0
    P[k:, k:] = np.diag(weight)
    r[k:] = weight * (nominal(at.unknowns) - at.values)
    return P, r
