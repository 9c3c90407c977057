"""The numbers that are written out: rounded, consistent in exact arithmetic, and inside their bounds."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ident.arrays import Array
from ident.errors import EstimationError, InfeasibleError
from ident.estimate.bounds import Bounds
from ident.estimate.cones import feasible, least_norm
from ident.estimate.coordinates import IDENTITY, Coordinates, size_of
from ident.estimate.prior import Prior
from ident.model.model import Model
from ident.spatial.inertia import consistency, is_positive_semidefinite, pseudo_inertia_exact

#: Significant digits of the parameters in every file.
DIGITS = 12
#: How far outside of a bound, in units of the link itself, equalities may lie by rounding, and bounds without any room.
_EQUAL, _NO_ROOM = 1e-9, 1e-7
_MARGINS = (1e-8, 1e-7, 1e-6, 0.0)
#: Unit of a change against the solver's gap.
_COST = 1e3


def rounded(values: ArrayLike, digits: int = DIGITS) -> Array:
    """Return the doubles that stand in a file where `values` are printed with so many significant digits."""
    array = np.asarray(values, dtype=np.float64)
    return np.array([float(f"{x:.{digits - 1}e}") for x in array.ravel()]).reshape(array.shape)


def written(model: Model, theta: ArrayLike, interior: ArrayLike, digits: int = DIGITS) -> Array:
    """Return theta (p,) rounded to `digits`, every link consistent, friction and drive inertia non-negative.

    A solver stops on either side of the edge by its own tolerance; a link that rounding leaves outside is moved
    towards `interior` (n, 10) by the least power of ten that brings it inside.
    Raises InfeasibleError, naming the link, when more than 1e-5 of that body is needed.
    """
    theta = np.array(theta, dtype=np.float64)
    interior = np.asarray(interior, dtype=np.float64)
    n = model.robot.n
    for i in range(n):
        place = slice(10 * i, 10 * i + 10)
        theta[place] = _inside(theta[place], interior[i], digits, model.robot.links[i])
    terms = theta[10 * n :]
    terms = np.where(model.nonnegative & (terms < 0), 0.0, terms)
    theta[10 * n :] = rounded(terms, digits)
    return theta


def written_within(model: Model, theta: Array, prior: Prior, bounds: Bounds) -> Array:
    """Return theta (p,) as `written`, with every inequality of the bounds kept by these very numbers.

    A solver's error is a share of the whole robot; of a link that weighs next to nothing it can be centimetres. So
    where a bound is broken, theta becomes the nearest one inside, every link being measured in units of itself.
    Raises InfeasibleError, naming the bounds, where they cannot be kept within 1e-7 of that.
    """
    rows = bounds.on(model)
    size = max(1.0, size_of(theta[: model.n_rigid], prior))  # a solver's error goes with the largest link
    numbers = written(model, theta, size * prior.inertials)
    if not len(rows.sides):
        return numbers
    own = Coordinates.around(theta, prior)
    E = rows.rows @ own.T
    unit = np.linalg.norm(E, axis=1)
    E, start = E[: rows.equal] / unit[: rows.equal, None], np.linalg.solve(own.T, theta)

    def over(candidate: Array) -> Array:
        excess = (rows.rows @ candidate - rows.sides) / unit
        excess[: rows.equal] = np.maximum(np.abs(excess[: rows.equal]) - _EQUAL, 0.0)
        return np.asarray(excess)

    identity = np.tile(IDENTITY, model.robot.n)
    centres = own.T[: model.n_rigid, : model.n_rigid] @ identity
    # what a link's change costs goes with its share of the prior's link: a speck is free to move, the others are not
    share = (own.trace[: model.n_rigid] * identity).reshape(-1, 10).sum(axis=1)
    cost = np.ones(len(start))
    cost[: model.n_rigid] = np.repeat(np.minimum(share, 1.0), 10)
    cost *= _COST
    for margin in _MARGINS:
        if over(numbers).max() <= 0.0:
            return numbers
        try:
            x, _ = least_norm(np.diag(cost), cost * start, feasible(model, bounds, own, margin))
            x -= np.linalg.lstsq(E, E @ x - rows.sides[: rows.equal] / unit[: rows.equal])[0]
            candidate = written(model, own.T @ x, centres.reshape(-1, 10))
        except (EstimationError, InfeasibleError):  # no room for this margin
            continue
        if over(candidate).max() < over(numbers).max():
            numbers = candidate
    if over(numbers).max() > _NO_ROOM:
        broken = dict.fromkeys(label for label, x in zip(rows.labels, over(numbers), strict=True) if x > _NO_ROOM)
        raise InfeasibleError(f"the solver's result breaks its bounds ({'; '.join(broken)}) and was not written")
    return numbers


def _inside(body: Array, interior: Array, digits: int, link: str) -> Array:
    for share in (0.0, *10.0 ** np.arange(-14.0, -4.9)):
        candidate = rounded(body + share * interior, digits)
        if is_positive_semidefinite(pseudo_inertia_exact(candidate)):
            return candidate
    failures = "; ".join(consistency(rounded(body, digits)).failures())
    raise InfeasibleError(f"{link}: the solver's result cannot exist ({failures}) and was not written")
