"""Tilt, zeros, gains, delays and lengths, estimated together with the parameters: Gauss-Newton on whole logs.

Each pass takes the regressor and the slopes of all unknowns at the current ones, compresses the logs and solves for
parameters and unknowns together. Bodies are drawn to the prior within its tolerance, unknowns to their nominal values
within their spreads: so a common factor of all gains and all masses, which no torque shows, is shared out by what is
known of each. Unknowns that the log hardly narrows down stay nominal, and are named with the reason.

Error bars: a jackknife over segments, plus what the knowledge itself leaves open, H^-1 P H^-1, plus what the unknowns
that stay nominal may be off (Schmidt 1966, "considered" parameters).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ident.arrays import Array
from ident.calibrate.normal import Normal, free_of, inverse, normal_at, solved
from ident.calibrate.slopes import At, corrected_model, corrected_motion
from ident.errors import InputError
from ident.estimate.covariance import half_widths
from ident.estimate.prior import Prior, neutral_prior
from ident.logs.motion import Motion
from ident.model.model import Model
from ident.regression.base import base_parameters
from ident.robot.unknown import Unknown, nominal, spreads

#: Passes at most, and the step, in standard errors, below which there is none left to do.
PASSES, SETTLED = 6, 0.1
#: An unknown whose standard deviation stays above this share of the one beforehand is not told by the log.
TOLD = 0.75
_HALVINGS = 4
_FEWEST = 5  # segments of a jackknife


@dataclass(frozen=True)
class Untold:
    """An unknown that the log does not tell, and why not."""

    unknown: Unknown
    reason: str


@dataclass(frozen=True, eq=False)
class Calibration:
    """What a calibration found. model: with the corrected robot; motions: with gains and delays taken out.

    unknowns, values (k,), covariance (k, k) [SI], dof: of Student's t. untold: those that stay nominal. passes: over
    the log. given: the model as described; normal: the equations at the end, all unknowns in them.
    """

    given: Model
    model: Model
    motions: tuple[Motion, ...]
    unknowns: tuple[Unknown, ...]
    values: Array
    covariance: Array
    dof: int
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
) -> Calibration:
    """Return the values of the unknowns that explain the motions best, and the model and motions corrected by them.

    prior: of the bodies; None: neutral ones. Motions are those of the model as described, and are kept in memory.
    considered: unknowns that stay nominal, and may be off by their spreads: so much wider are the error bars of others.
    Raises InputError where nothing is unknown, what `compress` raises.
    """
    if not unknowns:
        raise InputError("no unknown is given to calibrate", fix="Name tilts, zeros, gains, skews or lengths")
    given = (motions,) if isinstance(motions, Motion) else tuple(motions)
    towards = neutral_prior(model.robot) if prior is None else prior
    wanted = (*unknowns, *considered)
    t = given[0].t
    at = At(model, wanted, nominal(wanted), np.zeros(len(model.names)), float(np.median(np.diff(t))))
    at, _ = _alone(at, given, towards)
    normal, weighing = normal_at(at, _corrected(at, given), towards)
    free = _told(normal, len(unknowns))
    passes, skews = 1, np.array([u.kind == "skew" for u in wanted])
    stuck = np.zeros(len(wanted), dtype=bool)
    while free.any() and passes < PASSES:
        step = _step(normal, free)[normal.unknowns]
        if (np.abs(step[free]) < SETTLED * _left(normal, free)).all():
            break
        there = _advanced(normal, step, given, towards, weighing)
        if there is None and (free & skews).any():
            stuck, free = free & skews, free & ~skews  # friction jumps with them: its steps hide the slope
            at = replace(at, values=np.where(stuck, 0.0, at.values))
            normal, weighing = normal_at(at, _corrected(at, given), towards)
            continue
        if there is None:
            break
        at, passes = there, passes + 1
        normal, weighing = normal_at(at, _corrected(at, given), towards)
    return _finished(given, normal, free, passes, len(unknowns), stuck)


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
    """Return where the step `by` (k,) leads, halved until the sum of squares does not rise, None where it always does.

    Parameters are the best ones there.
    """
    at, none = normal.at, np.zeros(len(by), dtype=bool)
    before = _cost(normal, solved(*normal.whole, free_of(normal, none), np.zeros(len(normal.r))), at)
    for halving in range(_HALVINGS):
        values = at.values + by / 2.0**halving
        if (values[[u.kind == "gain" for u in at.unknowns]] <= 0.0).any():
            continue
        there, cost = _alone(replace(at, values=values), motions, prior, weighing)
        if cost <= before * (1.0 + 1e-9):
            return there
    return None


def _left(normal: Normal, free: NDArray[np.bool_]) -> Array:
    """Return the standard deviations of the free unknowns that the equations leave, segments taken for independent."""
    entries = free_of(normal, free)
    H = normal.whole[0][np.ix_(entries, entries)]
    return np.sqrt(np.diag(inverse(H))[len(normal.at.theta) :])


def _told(normal: Normal, first: int) -> NDArray[np.bool_]:
    """Return which of the first unknowns the log narrows down (k,), the worst left out first."""
    beforehand = spreads(normal.at.unknowns)
    free = np.arange(len(beforehand)) < first
    while free.any():
        share = np.zeros(len(free))
        share[free] = _left(normal, free) / beforehand[free]
        if share.max() <= TOLD:
            break
        free[int(np.argmax(share))] = False
    return free


def _finished(
    given: Sequence[Motion], normal: Normal, free: NDArray[np.bool_], passes: int, first: int, stuck: NDArray[np.bool_]
) -> Calibration:
    at, model, kept = normal.at, normal.at.model, np.flatnonzero(free)
    covariance, dof = covariance_of(normal, free)
    chosen = tuple(at.unknowns[k] for k in kept)
    values = at.values[kept]
    reasons = {k: _reason(normal, int(k)) for k in np.flatnonzero(~free[:first])}
    reasons |= dict.fromkeys(np.flatnonzero(stuck), "friction at standstill jumps with it, and hides it")
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


def covariance_of(normal: Normal, free: NDArray[np.bool_]) -> tuple[Array, int]:
    """Return the covariance of the free unknowns [SI] and the degrees of freedom of its estimate."""
    entries = free_of(normal, free)
    both, whole = np.ix_(entries, entries), normal.whole[0]
    H = whole[both]
    turned, P = inverse(H), normal.P[both]
    G, own = len(normal.c), slice(len(normal.at.theta), None)
    if G >= _FEWEST:
        x = _step(normal, free)
        scores = (normal.g - normal.H @ x)[:, entries]
        scores = scores - scores.mean(axis=0)
        d = np.array([inverse(H - h[both]) @ score for h, score in zip(normal.H, scores, strict=True)])
        found, dof = (G - 1) / G * d.T @ d + turned @ P @ turned, G - 1
    else:
        found, dof = turned, max(int(normal.share * normal.c.sum()), 1)
    fixed = np.flatnonzero(~entries)
    across = turned @ whole[np.ix_(entries, fixed)]
    off = spreads([u for u, f in zip(normal.at.unknowns, free, strict=True) if not f])
    found = found + (across * off**2) @ across.T
    return np.asarray(found[own, own]), dof


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
