"""Shapes of joint terms by steps of Gauss and Newton, all together, to where the whole fit misses least.

Golub and Pereyra's variable projection: each step fits the parameters and, beside them, the columns' derivatives by the
logarithms of the shapes ("The differentiation of pseudo-inverses and nonlinear least squares problems whose variables
separate", SIAM J. Numerical Analysis 10, 1973).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ident.arrays import Array
from ident.model.term import Term, chosen
from ident.structure.candidates import Candidate
from ident.structure.judge import Judge, Logs
from ident.structure.shapes import BEFORE
from ident.structure.slope import Slope

#: Steps at most, how far one goes in the logarithm of a shape, and one that is none.
PASSES, FARTHEST, NEAR = 8, 0.5, 0.01
#: Shapes that go together, in one ratio: terms by their places, and which of their numbers.
Group = tuple[tuple[int, str], ...]


@dataclass(frozen=True)
class _Step:
    """Changes of shapes' logarithms (g,), the misfit from which they go, in squared standard deviations, the noise."""

    moves: Array
    misfit: float
    noise: tuple[Array, float]


def refined(
    logs: Logs,
    terms: Sequence[Any],
    groups: Sequence[Group],
    spread: Array,
    away: Array,
    moved: Callable[[Sequence[Any], Array], list[Any]],
) -> list[Any]:
    """Return terms, of one joint each, with the shapes at which the whole fit misses least.

    logs: of a model without them; spread (g,): standard deviations of the groups' logarithms before the logs are seen,
    away (g,): how far they are from where they are expected. moved: returns terms with shapes times exp(moves (g,)), or
    as far as these may go.
    """

    def at(terms: Sequence[Any]) -> Array:
        return np.array([np.log(getattr(terms[group[0][0]], group[0][1])) for group in groups])

    found, best, least, noise = list(terms), list(terms), np.inf, None
    begun = at(terms) - away
    for _ in range(PASSES):
        step = _step(logs, found, groups, spread, at(found) - begun, noise)
        noise = step.noise
        if step.misfit < least:
            best, least = found, step.misfit
        if np.abs(step.moves).max(initial=0.0) < NEAR:
            break
        found = moved(found, np.clip(step.moves, -FARTHEST, FARTHEST))
    return best


def _step(
    logs: Logs,
    terms: Sequence[Term],
    groups: Sequence[Group],
    spread: Array,
    away: Array,
    noise: tuple[Array, float] | None,
) -> _Step:
    """Return a step from terms of one joint each; noise: that of the first step, so that misfits can be compared."""
    pool = [Candidate("", (term,)) for term in terms]
    pool += [Candidate("", (Slope(terms[k], (number,)),)) for group in groups for k, number in group]
    places = [place[0] for place in logs.places(pool)]
    own = places[: len(terms)]
    judge = Judge(logs.evidence(pool), own, noise)
    theta, gram = judge.fitted(own, judge.folds), judge.gram(judge.folds)
    kept = [*range(judge.evidence.own), *(c for c in own if theta[c] != 0.0)]
    to = np.zeros((len(gram), len(kept) + len(groups) + 1))
    to[kept, range(len(kept))] = to[-1, -1] = 1.0
    slope = iter(places[len(terms) :])
    for g, group in enumerate(groups):
        for k, _ in group:
            to[next(slope), len(kept) + g] += theta[own[k]]
    gram = to.T @ gram @ to
    free = range(len(kept), len(kept) + len(groups))
    gram[free, free] += judge.inflation / spread**2
    gram[free, -1] -= judge.inflation * away / spread**2
    unit = np.sqrt(np.diag(gram)[:-1])
    unit = np.where(unit > 0, unit, 1.0)
    x = np.linalg.solve(gram[:-1, :-1] / np.outer(unit, unit) + 1e-9 * np.eye(len(unit)), gram[:-1, -1] / unit) / unit
    misfit = judge.misfit(own) / judge.inflation + float(np.sum((away / spread) ** 2))
    return _Step(x[len(kept) :], misfit, (judge.sigma, judge.effective))


def finest(logs: Logs, taken: Sequence[Candidate]) -> list[Candidate]:
    """Return candidates with the shapes, each common to its joints, at which the whole fit misses least; settled."""
    robot, terms, places = logs.model.robot, list[Any](), dict[int, list[tuple[int, str]]]()
    for c, candidate in enumerate(taken):
        for term in candidate.terms:
            for j in chosen(term.joints, robot):
                if candidate.shape is not None:
                    places.setdefault(c, []).extend((len(terms), x) for x in candidate.numbers)
                terms.append(at_joints(term, (robot.joint_names[j],)))
    if not places:
        return list(taken)
    groups = {c: tuple(own) for c, own in places.items()}
    first = {c: _first(taken[c]) for c in groups}

    def moved(terms: Sequence[Any], moves: Array) -> list[Any]:
        found = list(terms)
        for (c, group), x in zip(groups.items(), moves, strict=True):
            now = getattr(found[group[0][0]], group[0][1])
            ratio = _first(taken[c].at(now / first[c] * float(np.exp(x)))) / now
            for k, number in group:
                found[k] = replace(found[k], **{number: ratio * getattr(found[k], number)})
        return found

    spread = np.full(len(groups), BEFORE)
    terms = refined(logs, terms, list(groups.values()), spread, np.zeros(len(groups)), moved)
    begun = list(taken)
    for c, group in groups.items():
        ratio = getattr(terms[group[0][0]], group[0][1]) / first[c]
        begun[c] = taken[c].settled_at((taken[c].shape or 0.0) * ratio)
    return begun


def _first(candidate: Candidate) -> float:
    """Return the number of a candidate's first term that it is fitted by."""
    return float(getattr(candidate.terms[0], candidate.numbers[0]))


def at_joints(term: Any, joints: tuple[str, ...]) -> Any:
    """Return a term at some of its joints."""
    if not hasattr(term, "law"):
        return replace(term, joints=joints)
    return replace(term, joints=joints, law=replace(term.law, joints=joints))
