"""Tilt, zeros, gains, delays and lengths, estimated together with the parameters: Gauss-Newton on whole logs.

Each pass takes the regressor and the slopes of all unknowns at the current ones, compresses the logs and solves the
normal equations, segment by segment, for parameters and unknowns together. Bodies are drawn to the prior within its
tolerance, unknowns to their nominal values within their spreads: so a common factor of all gains and all masses, which
no torque shows, is shared out by what is known of each. Unknowns that the log hardly narrows down stay nominal, and are
named with the reason.

Error bars: what the segments' residuals say, however they are correlated within a segment, plus what the knowledge
itself leaves open, H^-1 P H^-1, plus what the unknowns that stay nominal may be off (Schmidt 1966, "considered"
parameters). None is wider than what was known beforehand, which no log takes away.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ident.arrays import Array, or_one
from ident.calibrate.slopes import At, corrected_model, corrected_motion, with_slopes, without_jumps
from ident.errors import InputError
from ident.estimate.covariance import effective_samples, half_widths
from ident.estimate.estimators import NEUTRAL_TOLERANCE, TOLERANCE
from ident.estimate.least_squares import joint_noise
from ident.estimate.prior import ConstantPullback, Prior, neutral_prior
from ident.logs.motion import Motion
from ident.model.model import Model
from ident.regression.base import BaseParameters, base_parameters
from ident.regression.compress import compress
from ident.regression.regression import Regression, repeats_joined, restricted, weighted_gram
from ident.robot.unknown import Unknown, nominal, spreads

#: Passes at most, and the step, in standard errors, below which there is none left to do.
PASSES, SETTLED = 6, 0.1
#: An unknown whose standard deviation stays above this share of the one beforehand is not told by the log.
TOLD = 0.75
_HALVINGS = 4
_HIDDEN = "most rows of its joint are near turns, where friction jumps and hides it"
_UNSETTLED = "the sum of squares does not fall where its slope says so"
_FEWEST = 5  # segments of a jackknife


@dataclass(frozen=True)
class Untold:
    """An unknown that the log does not tell, and why not."""

    unknown: Unknown
    reason: str


@dataclass(frozen=True, eq=False)
class Calibration:
    """What a calibration found. model: with the corrected robot; motions: with gains and delays taken out.

    unknowns, values (k,), covariance (k, k) [SI], dof (k,): of Student's t. untold: those that stay nominal. passes:
    over the log. given: the model as described; normal: the equations at the end, all unknowns in them.
    """

    given: Model
    model: Model
    motions: tuple[Motion, ...]
    unknowns: tuple[Unknown, ...]
    values: Array
    covariance: Array
    dof: Array
    untold: tuple[Untold, ...]
    passes: int
    normal: Normal

    @property
    def errors(self) -> Array:
        """Standard error of each unknown (k,)."""
        return np.sqrt(np.diag(self.covariance))

    def half_widths(self, level: float = 0.95) -> Array:
        """Return half the width of each unknown's interval (k,) at this level."""
        return half_widths(self.errors, self.dof, level)

    def spread_of_parameters(self) -> Array:
        """Return what the unknowns' errors add to the covariance (b, b) of the base parameters."""
        normal = self.normal
        p, names = len(normal.at.theta), [u.name for u in normal.at.unknowns]
        own = [p + names.index(u.name) for u in self.unknowns]
        H, _ = normal.whole
        K = base_parameters(self.model).K
        change = K @ inverse(H[:p, :p]) @ H[:p, own]
        return np.asarray(change @ self.covariance @ change.T)

    def value(self, name: str) -> float:
        """Return an unknown's value, the nominal one where it is not told."""
        known = dict(zip((u.name for u in self.unknowns), self.values.tolist(), strict=True))
        other = {u.unknown.name: u.unknown.nominal for u in self.untold}
        return float(known.get(name, other.get(name, np.nan)))


def calibrated(
    model: Model,
    motions: Motion | Iterable[Motion],
    prior: Prior | None,
    unknowns: Sequence[Unknown],
    considered: Sequence[Unknown] = (),
    together: Array | None = None,
) -> Calibration:
    """Return the values of the unknowns that explain the motions best, and the model and motions corrected by them.

    prior: of the bodies; None: neutral ones. Motions are those of the model as described, and are kept in memory.
    considered: unknowns that stay nominal, and may be off by their spreads: so much wider are the error bars of others;
    together (c, c): the covariance of that, each by itself where it is not given.
    Raises InputError where nothing is unknown, what `compress` raises.
    """
    if not unknowns:
        raise InputError("no unknown is given to calibrate", fix="Name tilts, zeros, gains, skews or lengths")
    given = (motions,) if isinstance(motions, Motion) else tuple(motions)
    towards = neutral_prior(model.robot) if prior is None else prior
    wanted = (*unknowns, *considered)
    t = given[0].t
    at = At(model, wanted, nominal(wanted), np.zeros(len(model.names)), float(np.median(np.diff(t))))
    seen, hidden = without_jumps(model, given, wanted)
    at, _ = _alone(at, seen, towards)
    normal, weighing = normal_at(at, _corrected(at, seen), towards)
    given_up = dict.fromkeys(np.flatnonzero(hidden).tolist(), _HIDDEN)
    free, passes, most = _told(normal, ~hidden & (np.arange(len(wanted)) < len(unknowns))), 1, PASSES
    while free.any():
        step = _step(normal, free)[normal.unknowns]
        share = np.abs(step) / _left(normal, free)
        there = None if share.max() < SETTLED or passes >= most else _advanced(normal, step, seen, towards, weighing)
        if there is None:
            out = share >= 1.0
            if not out.any():
                break
            free, most = free & ~out, passes + PASSES
            given_up |= dict.fromkeys(np.flatnonzero(out).tolist(), _UNSETTLED)
            there, _ = _alone(replace(at, values=np.where(out, nominal(wanted), at.values)), seen, towards, weighing)
        at, passes = there, passes + 1
        normal, weighing = normal_at(at, _corrected(at, seen), towards)
    off = np.diag(spreads(wanted) ** 2)
    if together is not None:
        off[len(unknowns) :, len(unknowns) :] = together
    return _finished(given, normal, free, passes, len(unknowns), given_up, off)


def _corrected(at: At, motions: Sequence[Motion]) -> tuple[Motion, ...]:
    return tuple(corrected_motion(at.model.robot, motion, at.unknowns, at.values) for motion in motions)


def _alone(
    at: At, motions: Sequence[Motion], prior: Prior, weighing: tuple[Array, float] | None = None
) -> tuple[At, float]:
    """Return the same place with the best parameters, unknowns as they are, and the least sum of squares."""
    corrected = replace(at, model=corrected_model(at.model, at.unknowns, at.values), unknowns=(), values=np.zeros(0))
    if weighing is not None:
        weighing = weighing[0] / at.gains, weighing[1]
    normal, _ = normal_at(corrected, _corrected(at, motions), prior, weighing)
    H, g = normal.whole
    x = inverse(H) @ g
    return replace(at, theta=x), _cost(normal, x, at)


def _step(normal: Normal, free: NDArray[np.bool_]) -> Array:
    """Return x (m,): theta, and how far the free unknowns are from where slopes were taken."""
    return solved(*normal.whole, free_of(normal, free), normal.pinned)


def _cost(normal: Normal, x: Array, at: At) -> float:
    """Return the sum of squares at x (m,), what is known of the unknowns of `at` among them."""
    H, g = normal.whole
    off = (at.values - nominal(at.unknowns)) / spreads(at.unknowns)
    return float(x @ H @ x - 2.0 * g @ x + normal.c.sum() + off @ off)


def _advanced(
    normal: Normal, by: Array, motions: Sequence[Motion], prior: Prior, weighing: tuple[Array, float]
) -> At | None:
    """Return where the step `by` (k,) leads, halved as often as the sum of squares gets less; None where it only rises.

    Parameters are the best ones there.
    """
    at, none, found = normal.at, np.zeros(len(by), dtype=bool), None
    least = _cost(normal, solved(*normal.whole, free_of(normal, none), np.zeros(len(normal.r))), at) * (1.0 + 1e-9)
    for halving in range(_HALVINGS):
        values = at.values + by / 2.0**halving
        if (values[[u.kind == "gain" for u in at.unknowns]] <= 0.0).any():
            continue
        there, cost = _alone(replace(at, values=values), motions, prior, weighing)
        if cost <= least:
            found, least = there, cost
        elif found is not None:
            break
    return found


def _left(normal: Normal, free: NDArray[np.bool_]) -> Array:
    """Return the standard deviations (k,) of free unknowns that the equations leave, infinite of those not free."""
    entries, found = free_of(normal, free), np.full(len(free), np.inf)
    H = normal.whole[0][np.ix_(entries, entries)]
    found[free] = np.sqrt(np.diag(inverse(H))[len(normal.at.theta) :])
    return found


def _told(normal: Normal, asked: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which of the unknowns that are asked for the log narrows down (k,), the worst left out first."""
    beforehand, free = spreads(normal.at.unknowns), asked.copy()
    while free.any():
        share = np.where(free, _left(normal, free) / beforehand, 0.0)
        if share.max() <= TOLD:
            break
        free[int(np.argmax(share))] = False
    return free


def _finished(
    given: Sequence[Motion],
    normal: Normal,
    free: NDArray[np.bool_],
    passes: int,
    first: int,
    given_up: Mapping[int, str],
    off: Array,
) -> Calibration:
    at, model, kept = normal.at, normal.at.model, np.flatnonzero(free)
    covariance, dof = covariance_of(normal, free, off)
    chosen = tuple(at.unknowns[k] for k in kept)
    values = at.values[kept]
    reasons = {k: given_up.get(k) or _reason(normal, k) for k in np.flatnonzero(~free[:first]).tolist()}
    untold = tuple(Untold(at.unknowns[k], reason) for k, reason in reasons.items())
    return Calibration(
        model,
        corrected_model(model, chosen, values),
        tuple(corrected_motion(model.robot, motion, chosen, values) for motion in given),
        chosen,
        values,
        covariance,
        dof,
        untold,
        passes,
        normal,
    )


def covariance_of(normal: Normal, free: NDArray[np.bool_], off: Array) -> tuple[Array, Array]:
    """Return the covariance of the free unknowns [SI] and the degrees of freedom of their variances' estimates.

    off (k, k): covariance of what unknowns that are not free may be off. Of a sum of variances, those of segments with
    one degree of freedom each and what is known beforehand with none to lose, Satterthwaite's number (1946), less one
    for the mean of the segments.
    """
    entries, p = free_of(normal, free), len(normal.at.theta)
    both, whole = np.ix_(entries, entries), normal.whole[0]
    turned = inverse(whole[both])
    fixed = np.flatnonzero(~entries)
    across = turned @ whole[np.ix_(entries, fixed)]
    known = turned @ normal.P[both] @ turned + across @ off[np.ix_(~free, ~free)] @ across.T
    if len(normal.c) >= _FEWEST:
        each = np.array([np.einsum("ij,jk,ik->i", turned[p:], h[both], turned[p:]) for h in normal.H])
        d = _changes(normal, entries)
        all_of = each.sum(axis=0) + np.diag(known)[p:]
        dof = np.maximum(all_of**2 / np.maximum((each**2).sum(axis=0), 1e-300) - 1.0, 1.0)
        found = d.T @ d + known
    else:
        found = turned @ normal.H.sum(axis=0)[both] @ turned + known
        dof = np.full(int(free.sum()), max(int(normal.share * normal.c.sum()), 1))
    found = found[p:, p:]
    least = np.minimum(spreads(normal.at.unknowns)[free] / np.maximum(np.sqrt(np.diag(found)), 1e-300), 1.0)
    return np.asarray(found * np.outer(least, least)), dof


def _changes(normal: Normal, entries: NDArray[np.bool_]) -> Array:
    """Return what each segment adds (G, f) to the error of the free entries: H^-1 (1 - H_s H^-1)^-1/2 g_s.

    With the root of the share of a segment that the others leave, the squares' mean is right for independent samples
    (Bell, McCaffrey 2002, CV2); without a root, as in a jackknife, they are too large.
    """
    both, x = np.ix_(entries, entries), _step(normal, entries[len(normal.at.theta) :])
    whole = normal.whole[0][both]
    unit = or_one(np.sqrt(np.diag(whole)))
    scaled = whole / np.outer(unit, unit)
    scaled[np.diag_indices_from(scaled)] += _RIDGE
    white = np.linalg.inv(np.linalg.cholesky(scaled)) / unit  # white' white = H^-1
    found = []
    for h, score in zip(normal.H, (normal.g - normal.H @ x)[:, entries], strict=True):
        share, way = np.linalg.eigh(white @ h[both] @ white.T)
        left = np.sqrt(np.clip(1.0 - share, _RIDGE, None))
        found.append(white.T @ (way @ (way.T @ (white @ score) / left)))
    return np.array(found)


def _reason(normal: Normal, k: int) -> str:
    """Return why the log does not tell unknown k."""
    p, unknown = len(normal.at.theta), normal.at.unknowns[k]
    H, at = normal.H.sum(axis=0), len(normal.at.theta) + k
    if H[at, at] * unknown.spread**2 < 1.0:
        return "it hardly changes any torque of these logs"
    bodies = slice(0, p)
    known = (H + normal.P)[bodies, bodies]
    left = H[at, at] - H[at, bodies] @ inverse(known) @ H[bodies, at]
    if left * unknown.spread**2 < 1.0:
        return "bodies that are a little different explain the same torques"
    C = inverse(H + normal.P)[p:, p:]
    alike = np.abs(C[k]) / np.sqrt(np.diag(C) * C[k, k])
    alike[k] = 0.0
    return f"it cannot be told from {normal.at.unknowns[int(np.argmax(alike))].name}"


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
