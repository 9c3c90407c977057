"""Numbers of joint terms that are fitted beside the parameters: widths, speeds, powers, travels; how exact they are.

Steps of Gauss and Newton go to where the whole fit misses least, all numbers together (variable projection): each step
fits the parameters and, beside them, the columns' derivatives by the logarithms of the shapes (Golub, Pereyra, "The
differentiation of pseudo-inverses and nonlinear least squares problems whose variables separate", SIAM J. Numerical
Analysis 10, 1973).

At its least misfit over a shape s the fit is that of a model with one more column, d tau / d log s. That column's
parameter has the standard error of log s, and by as much as the others move with it their covariance is wider. The
error's square is the mean of two: what segments scatter, and what independent samples would leave, times the design
effect that all parameters have together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ident.arrays import Array, or_one
from ident.estimate.covariance import classical, default_covariance, effective_samples, half_widths
from ident.estimate.estimate import FittedShape
from ident.estimate.least_squares import joint_noise, solve
from ident.logs.motion import Motion
from ident.model import Balancer, Model
from ident.model.term import Term, chosen, names
from ident.regression import BaseParameters, Regression, compress
from ident.regression.base import r_factor
from ident.regression.compress import Known
from ident.regression.regression import restricted
from ident.structure.candidates import Candidate, Slope
from ident.structure.judge import Judge, Logs, joined

#: Standard deviation of a shape's logarithm before the logs are seen: of one anywhere between 1 and 60.
BEFORE = 1.2
#: A 95 % interval from less than a third to more than three times the shape is none that the logs tell.
TOLD = float(np.log(3.0))

#: A law goes on where nothing was logged if its number's 95 % interval is within this of its logarithm.
SURE = float(np.log(1.7))

#: Terms whose numbers, by name, are fitted in one ratio.
Group = tuple[Sequence[Term], tuple[str, ...]]
#: Steps at most, how far one goes in the logarithm of a shape, and one that is none.
PASSES, FARTHEST, NEAR = 8, 0.5, 0.01
#: Shapes that go together, in one ratio: terms by their places, and which of their numbers.
Places = tuple[tuple[int, str], ...]


def together(terms: Sequence[Term], candidate: Candidate) -> list[Group]:
    """Return those of a candidate's terms that share a fitted number: all, or those of one wave, of one balancer."""
    if candidate.kind == Balancer.kind:
        pulls = {joints: [t for t in terms if t.joints == joints] for joints in (t.joints for t in terms)}
        return [(own, (number,)) for own in pulls.values() for number in ("dead", "crank")]
    if candidate.shape is not None or not candidate.numbers:
        return [(terms, candidate.numbers)] if terms and candidate.numbers else []
    waves: dict[object, list[Term]] = {}
    for term in terms:
        values = tuple(getattr(term, x) for x in candidate.numbers)
        waves.setdefault((term.joints, *values) if candidate.slopes else values, []).append(term)
    return [(own, candidate.numbers) for own in waves.values()]


def fitted_shapes(
    model: Model, base: BaseParameters, short: Sequence[Motion], groups: Sequence[Group], known: Known | None = None
) -> tuple[tuple[FittedShape, ...], Mapping[str, tuple[float, ...]]]:
    """Return the shapes of a model's terms with their errors, and how the base parameters move with them.

    base: the model's; short: motions as `shortened` cuts them; known: what is kept of them. The second has for each
    base parameter's name its changes (k,) with k independent errors of the shapes: their products are what its
    covariance is wider by.
    """
    if not groups:
        return (), {}
    slopes = [[Slope(term, numbers) for term in terms] for terms, numbers in groups]
    wide = replace(model, terms=(*model.terms, *(s for own in slopes for s in own)))
    regression = compress(wide, short, base=base.widened(wide.names), known=known)
    b = len(base.names)
    plain = restricted(regression, range(b))
    sigma = joint_noise(plain)
    to = _moved(model, regression, dict(zip(base.names, solve(plain, sigma).tolist(), strict=True)), slopes)
    found = joined(_combined(regression, to))
    phi = solve(found, sigma)
    covariance = default_covariance(found, sigma, phi)
    # Segments are few beside the parameters of a long arm: their scatter alone is too small there by a quarter.
    pooled = float(found.rows.sum()) / effective_samples(found, sigma) * classical(found, sigma).matrix
    spread = _spread(0.5 * (covariance.matrix + pooled)[b:, b:], phi[b:])
    errors = np.sqrt(np.diag(spread))
    half = half_widths(errors, covariance.dof)
    shapes = [
        FittedShape(
            terms[0].kind.name,
            numbers[0],
            tuple(name for term in terms for name in names(term, model.robot)),
            tuple(float(getattr(term, numbers[0])) for term in terms for _ in names(term, model.robot)),
            float(error),
            float(h),
            told=bool(h <= TOLD),
        )
        for (terms, numbers), error, h in zip(groups, errors, half, strict=True)
    ]
    R = found.factor(sigma)[:b]
    unit = np.maximum(np.linalg.norm(R[:, :b], axis=0), 1e-300)
    moves = np.linalg.lstsq(R[:, :b] / unit, R[:, b:-1], rcond=1e-9)[0] / unit[:, None]
    moves[~found.seen[:b]] = 0.0  # a joint that rests has columns of rounding, if any
    pulls = moves @ np.linalg.cholesky(spread)
    return tuple(shapes), dict(zip(base.names, map(tuple, pulls.tolist()), strict=True))


def beyond(terms: Sequence[Term], found: Sequence[FittedShape]) -> tuple[Term, ...]:
    """Return terms whose law goes on above the top speed where its number is SURE; straight on elsewhere."""
    sure = {shape.kind for shape in found if shape.half <= SURE}
    each: list[Any] = list(terms)
    return tuple(replace(t, top=0.0) if t.kind.name in sure and hasattr(t, "top") else t for t in each)


def as_usual(found: Sequence[FittedShape], untold: Sequence[FittedShape]) -> tuple[FittedShape, ...]:
    """Return shapes with those untold that the logs do not tell, whose usual values stand in the model.

    Of a kind whose shapes differ from joint to joint, those of the same joints.
    """
    every = [shape.kind for shape in found]

    def of(s: FittedShape) -> FittedShape:
        alike = (x for x in untold if x.kind == s.kind and (x.parameters == s.parameters or every.count(s.kind) == 1))
        why = next(alike, None)
        return s if why is None else replace(s, error=why.error, half=why.half, told=False)

    return tuple(map(of, found))


def _moved(model: Model, regression: Regression, phi: Mapping[str, float], slopes: Sequence[Sequence[Slope]]) -> Array:
    """Return what makes base parameters (b + slopes, b + k) of b and of k relative changes of the shapes."""
    every = regression.base.names
    b, place = len(phi), {name: i for i, name in enumerate(every)}
    to = np.zeros((len(every), b + len(slopes)))
    to[:b, :b] = np.eye(b)
    for s, own in enumerate(slopes):
        for slope in own:
            for ahead, name in zip(names(slope, model.robot), names(slope.term, model.robot), strict=True):
                to[place[ahead], b + s] = phi.get(name, 0.0)
    return to


def _combined(regression: Regression, to: Array) -> Regression:
    """Return the factors of parameters (k,) of which `to` (b, k) makes the base parameters."""
    own = [to[list(columns)] for columns in regression.parameters]
    kept = [np.flatnonzero((part != 0.0).any(axis=0)) for part in own]
    return replace(
        regression,
        base=BaseParameters.each([f"{k}" for k in range(to.shape[1])]),
        parameters=tuple(tuple(map(int, columns)) for columns in kept),
        segments=regression.mapped(lambda j, F: r_factor(np.column_stack([F[:, :-1] @ own[j][:, kept[j]], F[:, -1]]))),
    )


def _spread(matrix: Array, left: Array) -> Array:
    """Return the covariance (k, k) of the shapes' logarithms, none wider than BEFORE.

    left (k,): how far each still is from the least misfit, which is an error of its own.
    """
    known = np.isfinite(np.diag(matrix))
    inverse = np.eye(len(left)) / BEFORE**2
    at = np.ix_(known, known)
    inverse[at] += np.linalg.pinv(matrix[at] + np.diag(left[known] ** 2), hermitian=True)
    return np.asarray(np.linalg.inv(inverse))


def refined(
    logs: Logs,
    terms: Sequence[Any],
    groups: Sequence[Places],
    spread: Array,
    away: Array,
    moved: Callable[[Sequence[Any], Array], list[Any]],
    near: float = NEAR,
) -> list[Any]:
    """Return terms, of one joint each, with the shapes at which the whole fit misses least.

    logs: of a model without them; spread (g,): standard deviations of the groups' logarithms before the logs are seen,
    away (g,): how far they are from where they are expected. moved: returns terms with shapes times exp(moves (g,)), or
    as far as these may go. near: a step that is none.
    """

    def at(terms: Sequence[Any]) -> Array:
        return np.array([np.log(getattr(terms[group[0][0]], group[0][1])) for group in groups])

    found, best, least, noise = list(terms), list(terms), np.inf, None
    begun = at(terms) - away
    for _ in range(PASSES):
        moves, misfit, noise = _step(logs, found, groups, spread, at(found) - begun, noise)
        if misfit < least:
            best, least = found, misfit
        if np.abs(moves).max(initial=0.0) < near:
            break
        last, found = found, moved(found, np.clip(moves, -FARTHEST, FARTHEST))
        if found == last:  # all are as far as they may go
            break
    return best


def _step(
    logs: Logs,
    terms: Sequence[Term],
    groups: Sequence[Places],
    spread: Array,
    away: Array,
    noise: tuple[Array, float] | None,
) -> tuple[Array, float, tuple[Array, float]]:
    """Return a step from terms of one joint each; noise: that of the first step, so that misfits can be compared.

    It has the changes of shapes' logarithms (g,), the misfit from which they go, in squared standard deviations, and
    the noise.
    """
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
    unit = or_one(np.sqrt(np.diag(gram)[:-1]))
    x = np.linalg.solve(gram[:-1, :-1] / np.outer(unit, unit) + 1e-9 * np.eye(len(unit)), gram[:-1, -1] / unit) / unit
    misfit = judge.misfit(own) / judge.inflation + float(np.sum((away / spread) ** 2))
    return x[len(kept) :], misfit, (judge.sigma, judge.effective)


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
