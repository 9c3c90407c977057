"""How exactly the logs tell the numbers that were fitted beside the parameters: widths, speeds, powers, travels.

At its least misfit over a shape s (variable projection: Golub, Pereyra, "The differentiation of pseudo-inverses and
nonlinear least squares problems whose variables separate", SIAM J. Numerical Analysis 10, 1973) the fit is that of a
model with one more column, d tau / d log s. That column's parameter has the standard error of log s, and by as much as
the others move with it their covariance is wider. The error's square is the mean of two: what segments scatter, and
what independent samples would leave, times the design effect that all parameters have together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ident.arrays import Array
from ident.estimate.covariance import classical, default_covariance, effective_samples, half_widths
from ident.estimate.estimate import FittedShape
from ident.estimate.least_squares import joint_noise, solve
from ident.logs.motion import Motion
from ident.model import Model
from ident.model.term import Term, names
from ident.regression import BaseParameters, Regression, compress
from ident.regression.regression import r_factor
from ident.structure.candidates import Candidate
from ident.structure.judge import joined, restricted, with_columns
from ident.structure.slope import Slope

#: Standard deviation of a shape's logarithm before the logs are seen: of one anywhere between 1 and 60.
BEFORE = 1.2
#: A 95 % interval from less than a third to more than three times the shape is none that the logs tell.
TOLD = float(np.log(3.0))

#: A law goes on where nothing was logged if its number's 95 % interval is within this of its logarithm.
SURE = float(np.log(1.7))

#: Terms whose numbers, by name, are fitted in one ratio.
Group = tuple[Sequence[Term], tuple[str, ...]]


def together(terms: Sequence[Term], candidate: Candidate) -> list[Group]:
    """Return those of a candidate's terms that share a fitted number: all, or sine and cosine of one wave."""
    if candidate.shape is not None or not candidate.numbers:
        return [(terms, candidate.numbers)] if terms and candidate.numbers else []
    waves: dict[object, list[Term]] = {}
    for term in terms:
        values = tuple(getattr(term, x) for x in candidate.numbers)
        waves.setdefault((term.joints, *values) if candidate.slopes else values, []).append(term)
    return [(own, candidate.numbers) for own in waves.values()]


def fitted_shapes(
    model: Model, base: BaseParameters, short: Sequence[Motion], groups: Sequence[Group]
) -> tuple[tuple[FittedShape, ...], Mapping[str, tuple[float, ...]]]:
    """Return the shapes of a model's terms with their errors, and how the base parameters move with them.

    base: the model's; short: motions as `shortened` cuts them. The second has for each base parameter's name its
    changes (k,) with k independent errors of the shapes: their products are what its covariance is wider by.
    """
    if not groups:
        return (), {}
    slopes = [[Slope(term, numbers) for term in terms] for terms, numbers in groups]
    wide = replace(model, terms=(*model.terms, *(s for own in slopes for s in own)))
    regression = compress(wide, short, base=with_columns(base, model, wide))
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
    called = tuple(f"{k}" for k in range(to.shape[1]))
    return replace(
        regression,
        base=BaseParameters(called, tuple(range(len(called))), np.eye(len(called)), called),
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
