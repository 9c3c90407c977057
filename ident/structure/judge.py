"""What is left out together to judge a model, and the errors there with any set of candidates, from one regression.

Recordings are left out, or short segments. Contiguous stretches of one motion are much like the rest of it: a model
that they choose may fail on a faster motion. Segments of like pose and speed, left out together, are what the rest of
the motion has not seen.

The fit is ridge regression towards the prior's bodies in their own metric, at the weight that the noise asks for, with
friction that must not be negative held at zero: what the constrained fit does, but for bodies that cannot exist. What a
candidate takes from these errors is compared, and why that is too little.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ident.arrays import Array, or_one
from ident.estimate.covariance import effective_samples
from ident.estimate.estimate import TriedTerm
from ident.estimate.estimators import NEUTRAL_TOLERANCE, TOLERANCE
from ident.estimate.least_squares import UNTOLD, joint_noise
from ident.estimate.prior import ConstantPullback, Prior
from ident.logs.motion import Motion, split
from ident.model import Model
from ident.model.term import BENDS, bends, names
from ident.regression import compress
from ident.regression.base import BaseParameters
from ident.regression.compress import Known
from ident.regression.regression import Regression, merged, repeats_joined, restricted
from ident.structure.candidates import Candidate, Renamed

#: Short segments of all logs together, and clusters of them: more where few say nothing of each other.
SEGMENTS, CLUSTERS = 72, (6, 12, 24)
#: Rows that a segment has at least.
LEAST_ROWS = 4
_STARTS, _ROUNDS = 10, 50
#: Short segments that are one cluster of the noise.
TOGETHER = 5
#: What joint terms and sums that nothing determines are held by, relative to their column.
_RIDGE = 1e-9

#: A joint term alone is no larger than so many times the torque of its joint: no balancer leaves less of gravity.
CANCELS = 30.0
#: Why what passed at first is not taken in the end.
GROWS = "the error grows"

Indices = NDArray[np.intp]


def joined(regression: Regression) -> Regression:
    """Return the factors with neighbouring short segments as one, long enough for the noise of each to be its own."""
    every = regression.segments
    parts = (merged(*every[k : k + TOGETHER]) for k in range(0, len(every), TOGETHER))
    return replace(regression, segments=tuple(parts))


def shortened(motions: Sequence[Motion]) -> tuple[list[Motion], Array]:
    """Return motions cut into short segments, shared out by rows, and each segment's pose and speed (s, 2 n)."""
    spans = [(m.blocks[0][0], m.blocks[-1][1]) for m in motions]
    rows = max(sum(stop - first for first, stop in spans) / SEGMENTS, LEAST_ROWS)
    cut, levels = [], []
    for motion, (first, stop) in zip(motions, spans, strict=True):
        each = [(a, b) for a, b in split(first, stop, rows)[0] if motion.keep[a:b].any()]
        thinning = int(np.prod(motion.decimation, dtype=int))
        for a, b in each:
            part = slice(a * thinning, b * thinning)
            levels.append([*motion.q[part].mean(axis=0), *np.abs(motion.qd[part]).mean(axis=0)])
        cut.append(replace(motion, blocks=tuple(each), stretches=()))
    return cut, np.array(levels)


def folds(regression: Regression, levels: Array) -> Iterator[Indices]:
    """Yield which fold each segment (s,) is in: its recording's where three or more differ, else its cluster's.

    The fewest folds first. regression: of base parameters alone, its segments in the order of `levels` (s, d), as
    `shortened` returns both.
    """
    own = [segment.recording for segment in regression.segments]
    first = repeats_joined(regression).recordings
    if len(first) >= 3 and len(first) == len(regression.recordings):
        yield np.array([min(first.index(name), len(first) - 1) for name in own])
    else:
        yield from (clustered(levels, min(number, len(levels))) for number in CLUSTERS)


def clustered(points: Array, number: int) -> Indices:
    """Return the cluster (s,) of each point (s, d), columns brought to one spread: k-means, the best of some starts.

    Starts are drawn with a fixed seed, each point with the square of its distance from those before (Arthur,
    Vassilvitskii, "k-means++", SODA 2007).
    """
    spread = points.std(axis=0)
    x = (points - points.mean(axis=0)) / or_one(spread)
    rng = np.random.default_rng(0)
    best, least = np.zeros(len(x), dtype=np.intp), np.inf
    for _ in range(_STARTS):
        centres = x[[rng.integers(len(x))]]
        while len(centres) < number:
            away = _squares(x, centres).min(axis=1)
            chances = away / away.sum() if away.sum() > 0 else None
            centres = np.concatenate([centres, x[[rng.choice(len(x), p=chances)]]])
        for _ in range(_ROUNDS):
            label = _squares(x, centres).argmin(axis=1)
            means = [x[label == k].mean(axis=0) if (label == k).any() else c for k, c in enumerate(centres)]
            if np.array_equal(means, centres):
                break
            centres = np.array(means)
        cost = float(_squares(x, centres).min(axis=1).sum())
        if cost < least:
            best, least = label, cost
    return np.unique(best, return_inverse=True)[1].astype(np.intp)


def _squares(x: Array, centres: Array) -> Array:
    return np.asarray(((x[:, None] - centres) ** 2).sum(axis=2))


@dataclass(frozen=True, eq=False)
class Evidence:
    """The logs with the columns of all candidates: a model with all of them, its factors in short segments.

    own: number of standard parameters of the model without candidates, whose base parameters come first; prior: of
    its bodies; fold (s,): of each segment.
    """

    wide: Model
    own: int
    prior: Prior
    regression: Regression
    fold: Indices

    @property
    def folds(self) -> list[int]:
        """Numbers of the folds."""
        return list(range(int(self.fold.max()) + 1))

    @cached_property
    def factors(self) -> list[Array]:
        """Each joint's factors (s, k, k) of all segments."""
        return [np.array([s.factors[j] for s in self.regression.segments]) for j in range(self.regression.n_joints)]

    @cached_property
    def grams(self) -> list[list[Array]]:
        """The Gram matrix (k, k) of each joint's columns, in each fold."""
        each = [[factors[self.fold == k].reshape(-1, factors.shape[2]) for factors in self.factors] for k in self.folds]
        return [[rows.T @ rows for rows in joints] for joints in each]

    def noise(self, more: Sequence[int]) -> tuple[Array, float]:
        """Return the noise of each joint (n,) and the effective number of samples, with some candidates' columns."""
        b = self.regression.base.K.shape[0] - self.regression.base.K.shape[1] + self.own
        found = restricted(self.regression, [*range(b), *(c - self.own + b for c in sorted(more))])
        sigma = joint_noise(found)
        return sigma, effective_samples(joined(found), sigma)


class Judge:
    """Fits and left-out errors of a model with any columns beside its own.

    settled: those columns with which the noise is what the fit leaves; noise: that, where it is known.
    """

    def __init__(self, evidence: Evidence, settled: Sequence[int] = (), noise: tuple[Array, float] | None = None):
        self.evidence, self.folds, regression = evidence, evidence.folds, evidence.regression
        self.sigma, self.effective = noise or evidence.noise(settled)
        self.inflation = float(regression.rows.sum()) / self.effective
        self.nonnegative = np.append(np.zeros(evidence.wide.n_rigid, dtype=bool), evidence.wide.nonnegative)
        self._K = regression.base.K
        self._columns = regression.columns
        self._grams = [self._gram(joints) for joints in evidence.grams]
        self._prior = self._drawn(evidence.wide, evidence.prior)
        self._summed: dict[tuple[int, ...], Array] = {}

    def _gram(self, joints: Sequence[Array]) -> Array:
        """Return the weighted Gram matrix (p + 1, p + 1) of all joints, in standard parameters and the torque."""
        b, p = self._K.shape
        gram = np.zeros((b + 1, b + 1))
        for columns, own, sigma in zip(self._columns, joints, self.sigma, strict=True):
            gram[np.ix_(columns, columns)] += own / sigma**2
        to = np.zeros((b + 1, p + 1))
        to[:b, :-1], to[b, -1] = self._K, 1.0
        return np.asarray(to.T @ gram @ to)

    def _drawn(self, wide: Model, prior: Prior) -> Array:
        """Return the Gram matrix of the prior's rows at the weight that the noise asks for."""
        tolerance = NEUTRAL_TOLERANCE if all(prior.neutral) else TOLERANCE
        root = ConstantPullback().root(prior)
        rows = np.column_stack([root, root @ prior.inertials.ravel()]) * np.sqrt(0.5 * self.inflation) / tolerance
        p = self._K.shape[1]
        places = [*range(wide.n_rigid), p]
        found = np.zeros((p + 1, p + 1))
        found[np.ix_(places, places)] = rows.T @ rows
        regression = self.evidence.regression
        size = np.sqrt(regression.squared_torques / np.maximum(regression.rows, 1))
        for j, at, D in bends(wide.terms, wide.robot):
            places = [wide.n_rigid + k for k in at]
            found[np.ix_(places, places)] += self.inflation * D.T @ D / max(BENDS * size[j], 1e-12) ** 2
        return found

    def fitted(self, more: Sequence[int], folds: Sequence[int]) -> Array:
        """Return theta (p,) of the model's own columns and some more, fitted to some folds."""
        return self._solved(more, folds)[0]

    def misfit(self, more: Sequence[int]) -> float:
        """Return the least squares of all folds and of the prior, weighed with the noise, with some columns."""
        gram = self.gram(self.folds)
        return float(gram[-1, -1] - gram[-1, :-1] @ self.fitted(more, self.folds))

    def squared_wald(self, columns: Sequence[int], folds: Sequence[int]) -> Array:
        """Return the squared ratio of each column's parameter to its standard error (k,), 0 for one held at zero.

        It is 0, too, for what is CANCELS times as large as the torque: others make up for it on these logs alone.
        """
        from scipy.linalg import cho_solve

        theta, left, size, factor = self._solved(columns, folds)
        inverse = cho_solve((factor, False), np.eye(len(left)), check_finite=False)
        errors = np.full(len(theta), np.inf)
        errors[left] = np.sqrt(self.inflation * np.diag(inverse)) / size
        at = list(columns)
        return np.where(self.shares(theta)[at] > CANCELS, 0.0, (theta[at] / errors[at]) ** 2)

    def shares(self, theta: Array) -> Array:
        """Return the torque of each parameter at theta (p,) as a share of that of its joint, root mean square."""
        return np.asarray(np.abs(theta) * (self._shares @ np.abs(self._K)))

    @cached_property
    def _shares(self) -> Array:
        """Length of each base parameter's column (b,) against the torque of its joint."""
        found = np.zeros(len(self._K) + 1)
        for columns, parts in zip(self._columns, zip(*self.evidence.grams, strict=True), strict=True):
            squares = np.diag(np.sum(parts, axis=0))
            found[columns] = np.maximum(found[columns], np.sqrt(squares / (squares[-1] or np.inf)))
        return found[:-1]

    def _solved(self, more: Sequence[int], folds: Sequence[int]) -> tuple[Array, Indices, Array, Array]:
        """Return theta (p,), the columns not held at zero, their size, and the Cholesky factor of unit columns."""
        from scipy.linalg.lapack import dposv

        gram = self.gram(folds)
        left = np.append(np.arange(self.evidence.own), np.asarray(more, dtype=np.intp))
        while True:
            size = or_one(np.sqrt(np.diag(gram)[left]))
            scaled = gram[np.ix_(left, left)] / np.outer(size, size) + _RIDGE * np.eye(len(left))
            factor, x, _ = dposv(scaled, gram[left, -1] / size)
            negative = self.nonnegative[left] & (x < 0)
            if not negative.any():
                break
            left = left[~negative]
        theta = np.zeros(len(gram) - 1)
        theta[left] = x / size
        return theta, left, size, factor

    def gram(self, folds: Sequence[int]) -> Array:
        """Return the Gram matrix (p + 1, p + 1) of all columns and the torque, of some folds and the prior."""
        key = tuple(folds)
        if key not in self._summed:
            self._summed[key] = self._prior + sum(self._grams[k] for k in key)
        return self._summed[key]

    def weighed(self, errors: Array) -> Array:
        """Return errors (s, n) of each segment (2, s): joints weighed with their noise, and all torques alike."""
        return np.array([np.sum(errors / self.sigma**2, axis=1), np.sum(errors, axis=1)])

    def left_out(self, more: Sequence[int], folds: Sequence[int]) -> Array:
        """Return the squared error (s, n) [(N m)^2; N^2] of each segment of some folds, fitted to the other ones."""
        errors = np.zeros((len(self.evidence.fold), len(self.sigma)))
        for k in folds:
            theta = self.fitted(more, [f for f in folds if f != k])
            errors[self.evidence.fold == k] = self.errors(theta, [k])
        return errors[np.isin(self.evidence.fold, folds)]

    def errors(self, theta: Array, folds: Sequence[int]) -> Array:
        """Return the squared error (s, n) [(N m)^2; N^2] at theta (p,) of each segment of some folds."""
        phi, at = np.append(self._K @ theta, -1.0), np.isin(self.evidence.fold, folds)
        each = [
            np.sum((factors[at] @ phi[columns]) ** 2, axis=1)
            for columns, factors in zip(self._columns, self.evidence.factors, strict=True)
        ]
        return np.array(each).T


def told_by_the_rest(model: Model, prior: Prior, regression: Regression, levels: Array) -> Judge | None:
    """Return a judge by the largest folds that the rest predicts within UNTOLD times of a fit of all, None for none."""
    for fold in folds(regression, levels):
        judge = Judge(Evidence(model, len(model.names), prior, regression, fold))
        left_out, left = judge.left_out((), judge.folds), judge.errors(judge.fitted((), judge.folds), judge.folds)
        if np.sum(left_out / judge.sigma**2) < UNTOLD**2 * np.sum(left / judge.sigma**2):
            return judge
    return None


@dataclass(frozen=True, eq=False)
class Logs:
    """A model with its base parameters and prior, motions in short segments, and the fold of each (s,).

    known: what is kept of these motions.
    """

    model: Model
    short: tuple[Motion, ...]
    prior: Prior
    base: BaseParameters
    fold: Indices
    known: Known = field(default_factory=Known)

    def evidence(self, pool: Sequence[Candidate]) -> Evidence:
        """Return the logs with the columns of all candidates."""
        every = renamed(pool)
        wide = replace(self.model, terms=(*self.model.terms, *every))
        regression = compress(wide, self.short, base=self.base.widened(wide.names), known=self.known)
        return Evidence(wide, len(self.model.names), self.prior, regression, self.fold)

    def places(self, pool: Sequence[Candidate]) -> list[list[int]]:
        """Return where each candidate's columns stand in theta."""
        counts = [sum(len(names(term, self.model.robot)) for term in candidate.terms) for candidate in pool]
        starts = np.cumsum([len(self.model.names), *counts])
        return [list(range(start, start + count)) for start, count in zip(starts.tolist(), counts, strict=False)]


def renamed(pool: Sequence[Candidate]) -> tuple[Renamed, ...]:
    """Return the terms of all candidates, each candidate's under names of their own."""
    return tuple(Renamed(term, k) for k, candidate in enumerate(pool) for term in candidate.terms)


def size(errors: Array) -> float:
    """Return one number for errors (2, s) in both weighings, whatever their units: the sum of logarithms."""
    return float(np.log(np.maximum(errors.sum(axis=1), 1e-300)).sum())


def compared(candidate: Candidate, before: Array, after: Array) -> TriedTerm:
    """Return what a candidate takes from the errors (2, s), and why that is too little.

    One weighing that asks for it is enough, where the other one's gain is not below zero by more than its error.
    """
    each = [_step(candidate, *both) for both in zip(before, after, strict=True)]
    best = min(each, key=lambda one: (bool(one.reason), -one.gain))
    if not best.reason and any(one.gain < -one.error for one in each):
        return replace(next(one for one in each if one.reason), reason=GROWS)
    return best


def _step(candidate: Candidate, before: Array, after: Array) -> TriedTerm:
    gains = before - after
    most = float(np.abs(gains).max()) or 1.0  # the square of an absurd one overflows
    error = most * float(np.sqrt(len(gains)) * (gains / most).std(ddof=1))
    total, whole = float(gains.sum()), float(before.sum())
    share = 1.0 - float(np.sqrt(after.sum() / whole))
    relative = share * error / total if total else 0.0  # as many errors as of the squares
    found = TriedTerm(candidate.words, candidate.kind.name, share, relative)
    if total <= 0.0:
        return replace(found, reason=GROWS)
    if total < candidate.errors * error:
        return replace(found, reason=f"less than {candidate.errors:g} standard errors")
    if share < candidate.share:
        return replace(found, reason=f"less than {100 * candidate.share:g} %")
    return found
