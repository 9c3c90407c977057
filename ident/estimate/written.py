"""The numbers that are written out: rounded, and consistent in exact arithmetic."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ident.arrays import Array
from ident.errors import InfeasibleError
from ident.model.model import Model
from ident.spatial.inertia import consistency

#: Significant digits of the parameters in every file.
DIGITS = 12


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


def _inside(body: Array, interior: Array, digits: int, link: str) -> Array:
    for share in (0.0, *10.0 ** np.arange(-14.0, -4.9)):
        candidate = rounded(body + share * interior, digits)
        if consistency(candidate).consistent:
            return candidate
    failures = "; ".join(consistency(rounded(body, digits)).failures())
    raise InfeasibleError(f"{link}: the solver's result cannot exist ({failures}) and was not written")
