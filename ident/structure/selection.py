"""Forward selection of joint terms by what they take from the error of what is left out, and pruning of single ones.

A step is taken where its gain, paired segment by segment with the step before, is so many standard errors and such a
share of the error; the largest gain first. Of the terms that are taken, single columns go whose squared Wald statistic
is below the logarithm of the effective number of samples (Schwarz, "Estimating the dimension of a model", Annals of
Statistics 6, 1978). How much of the gain is the choice's own optimism is measured by choosing once more without each
fold, and predicting that fold (Cawley, Talbot, "On over-fitting in model selection", JMLR 11, 2010): where nothing is
gained so, nothing is chosen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ident.arrays import Array
from ident.estimate.prior import Prior
from ident.logs.motion import Motion
from ident.model import Model
from ident.model.term import Term, chosen, names
from ident.regression import BaseParameters, compress
from ident.structure.candidates import Candidate, Renamed, candidates
from ident.structure.folds import folds, shortened
from ident.structure.judge import Judge, restricted, with_columns
from ident.tell import Tell, silent

#: Why what passed at first is not taken in the end.
UNSEEN = "chosen without what it is judged on, nothing is gained"
PRUNED = "no joint's own number can be told from zero"
#: Fewest short segments that a choice is made with.
FEWEST = 12


@dataclass(frozen=True)
class Tried:
    """One candidate: by what share the left-out error falls, with its standard error, and why it was not taken.

    gain, error: when it was taken, or with what was taken before it; reason: "" where it was taken.
    """

    candidate: Candidate
    gain: float
    error: float
    reason: str = ""


@dataclass(frozen=True)
class Selection:
    """Joint terms that logs support beside a model's own, and the errors of what was left out, relative to its torque.

    before, after: without and with the terms; honest: with terms that were chosen without what they are judged on,
    NaN where nothing was chosen. segments, folds: how many there were. note: why nothing could be tried.
    """

    model: Model
    terms: tuple[Term, ...] = ()
    tried: tuple[Tried, ...] = ()
    before: float = float("nan")
    after: float = float("nan")
    honest: float = float("nan")
    segments: int = 0
    folds: int = 0
    note: str = ""


def selected(
    model: Model,
    motions: Sequence[Motion],
    prior: Prior,
    base: BaseParameters,
    inertials: Array | None = None,
    tell: Tell = silent,
) -> Selection:
    """Return the model with the joint terms that the motions support, and what was tried.

    prior: bodies that the fit is drawn to; base: the model's base parameters; inertials (n, 10): as `candidates` has
    them. The model as it is where segments are too few.
    """
    short, levels = shortened([m for m in motions if m.keep.any()])
    if len(levels) < FEWEST:
        return Selection(model, note=f"the logs have {len(levels)} short segments, and a choice takes {FEWEST}")
    tried = candidates(model, short, inertials)
    every = tuple(Renamed(term, k) for k, candidate in enumerate(tried) for term in candidate.terms)
    wide = replace(model, terms=(*model.terms, *every))
    tell("columns of all candidates", 0, 1)
    regression = compress(wide, short, base=with_columns(base, model, wide))
    tell("columns of all candidates", 1, 1)
    judge = Judge(wide, prior, regression, base, folds(restricted(regression, base), levels))
    places = _places(model, tried)
    search = _Search(judge, tried, [list(places[k]) for k in range(len(tried))])
    return search.run(model, tell)


def _places(model: Model, tried: Sequence[Candidate]) -> list[range]:
    """Return where each candidate's columns stand in theta."""
    found, start = [], len(model.names)
    for candidate in tried:
        count = sum(len(names(term, model.robot)) for term in candidate.terms)
        found.append(range(start, start + count))
        start += count
    return found


class _Search:
    """Forward selection, exchange of shapes, pruning and nesting, on a judge's folds."""

    def __init__(self, judge: Judge, tried: Sequence[Candidate], places: list[list[int]]):
        self.judge, self.tried, self.places = judge, tried, places

    def run(self, model: Model, tell: Tell) -> Selection:
        """Return the selection on all folds."""
        judge, every = self.judge, self.judge.folds
        taken, told = self.forward(every)
        columns = self.pruned(taken)
        before, after = (self.relative(judge.left_out(c, every)) for c in ([], columns))
        found = Selection(model, (), told, before, after, segments=len(judge.fold), folds=len(every))
        if not columns:
            return replace(found, tried=_reasoned(told, PRUNED), after=before)
        nested = []
        for number, k in enumerate(every):
            tell("choosing without each fold", number, len(every))
            rest = [f for f in every if f != k]
            own = self.pruned(self.forward(rest)[0], rest)
            nested.append(judge.errors(judge.fitted(own, rest)[0], [k]))
        tell("choosing without each fold", len(every), len(every))
        honest = self.relative(np.concatenate(nested))
        if not (honest < before and after < before):
            return replace(found, tried=_reasoned(told, UNSEEN), after=before, honest=honest)
        gone = [self.tried[k] for k in taken if not set(self.places[k]) & set(columns)]
        left = tuple(replace(t, reason=PRUNED) if t.candidate in gone else t for t in told)
        found = replace(found, tried=left)
        terms = self.terms(model, columns)
        return replace(found, model=replace(model, terms=(*model.terms, *terms)), terms=terms, honest=honest)

    def relative(self, errors: Array) -> float:
        """Return errors (s, n) relative to the torque of all segments."""
        return float(np.sqrt(errors.sum() / self.judge.energy))

    def columns(self, taken: Sequence[int]) -> list[int]:
        """Return the columns of some candidates."""
        return [c for k in taken for c in self.places[k]]

    def weighed(self, columns: Sequence[int], every: Sequence[int]) -> Array:
        """Return each segment's left-out error (s,), its joints weighed with their noise."""
        return np.asarray(np.sum(self.judge.left_out(columns, every) / self.judge.sigma**2, axis=1))

    def forward(self, every: Sequence[int]) -> tuple[list[int], tuple[Tried, ...]]:
        """Return the candidates that are taken, and each one's gain and fate, on some folds."""
        taken: list[int] = []
        told: dict[int, Tried] = {}
        error = self.weighed([], every)
        while True:
            best, least = None, error
            kinds = {self.tried[k].kind.name for k in taken}
            for k, candidate in enumerate(self.tried):
                if candidate.kind.name in kinds:
                    continue
                own = self.weighed(self.columns([*taken, k]), every)
                told[k] = _compared(candidate, error, own)
                if not told[k].reason and own.sum() < least.sum():
                    best, least = k, own
            if best is None:
                break
            taken.append(best)
            error = least
        taken = self.exchanged(taken, error, every)
        kinds = {self.tried[k].kind.name for k in taken}
        for k, one in told.items():
            if k not in taken and one.candidate.kind.name in kinds:
                told[k] = replace(one, reason="another of its kind is better")
        return taken, tuple(told[k] for k in sorted(told))

    def exchanged(self, taken: list[int], error: Array, every: Sequence[int]) -> list[int]:
        """Return candidates with the best shape of each kind, beside those of the others."""
        for place, k in enumerate(taken):
            for other, candidate in enumerate(self.tried):
                if other != k and candidate.kind == self.tried[k].kind:
                    attempt = [*taken[:place], other, *taken[place + 1 :]]
                    own = self.weighed(self.columns(attempt), every)
                    if own.sum() < error.sum():
                        taken, error = attempt, own
        return taken

    def pruned(self, taken: Sequence[int], every: Sequence[int] | None = None) -> list[int]:
        """Return the columns of candidates that the logs tell from zero, the least certain one left out at a time."""
        columns = self.columns(taken)
        while columns:
            theta, inverse, left = self.judge.fitted(columns, self.judge.folds if every is None else every)
            variance = dict(zip(left.tolist(), self.judge.inflation * np.diag(inverse), strict=True))
            wald = [theta[c] ** 2 / variance[c] if c in variance else 0.0 for c in columns]
            least = int(np.argmin(wald))
            if wald[least] >= np.log(self.judge.effective):
                break
            columns.pop(least)
        return columns

    def terms(self, model: Model, columns: Sequence[int]) -> tuple[Term, ...]:
        """Return the terms of some columns, each at the joints that they are of."""
        found: list[Any] = []
        for candidate, places in zip(self.tried, self.places, strict=True):
            start = places[0]
            for term in candidate.terms:
                joints = [model.robot.joint_names[j] for j in chosen(term.joints, model.robot)]
                kept = tuple(j for k, j in enumerate(joints) if start + k in columns)
                start += len(joints)
                if kept:
                    found.append(_at(term, kept))
        return tuple(found)


def _at(term: Any, joints: tuple[str, ...]) -> Any:
    if not hasattr(term, "law"):
        return replace(term, joints=joints)
    return replace(term, joints=joints, law=replace(term.law, joints=joints))


def _reasoned(told: tuple[Tried, ...], why: str) -> tuple[Tried, ...]:
    return tuple(replace(t, reason=t.reason or why) for t in told)


def _compared(candidate: Candidate, before: Array, after: Array) -> Tried:
    """Return what a candidate takes from each segment's error (s,), and why that is too little."""
    gains = before - after
    error = float(np.sqrt(len(gains)) * gains.std(ddof=1))
    total, whole = float(gains.sum()), float(before.sum())
    share = 1.0 - float(np.sqrt(after.sum() / whole))
    found = Tried(candidate, share, share * error / total if total else 0.0)  # as many errors as of the squares
    if total <= 0.0:
        return replace(found, reason="the error grows")
    if total < candidate.errors * error:
        return replace(found, reason=f"less than {candidate.errors:g} standard errors")
    if share < candidate.share:
        return replace(found, reason=f"less than {candidate.share:.0%}")
    return found
