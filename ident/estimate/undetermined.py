"""Joint terms that the logs do not determine: they take the prior's value, 0 where it has none.

Nothing else decides on them. What no torque depends on would stay wherever a solver stopped; of what torque shows only
in a sum (such as Coulomb friction and offset of a joint that turned one way) the parts would run away from each other:
there one part takes its value, and the others what is left of the sum.
"""

from __future__ import annotations

import numpy as np

from ident.arrays import Array
from ident.estimate.covariance import determined
from ident.estimate.prior import Prior
from ident.model.model import Model
from ident.model.offset import Offset
from ident.regression.regression import Regression
from ident.regression.segment import r_factor

#: How strongly an offset that is open is drawn to its value, against what the logs say of it in sums.
_PULL = 1e-4


def drawn_factor(model: Model, regression: Regression, prior: Prior, sigma: Array) -> Array:
    """Return the regression's factor (b + 1, b + 1) with a row for each joint term that it leaves open."""
    return _drawn(model, regression, prior, sigma)[0]


def settled(model: Model, regression: Regression, prior: Prior, sigma: Array, theta: Array) -> Array:
    """Return theta (p,) with the values, to the last digit, of the terms that the logs leave open."""
    _, pinned = _drawn(model, regression, prior, sigma)
    open_ = ~(regression.base.K[regression.seen] != 0).any(axis=0)
    open_[[regression.base.kept[k] for k in pinned]] = True
    open_[: model.n_rigid] = False
    return np.where(open_, _values(model, prior), theta)


def _drawn(model: Model, regression: Regression, prior: Prior, sigma: Array) -> tuple[Array, list[int]]:
    """Return the factor with its rows, and which base parameters were pinned: one at a time, until none is open."""
    factor, base = regression.factor(sigma), regression.base
    size = np.linalg.norm(factor[:, :-1], axis=0)
    size = np.where(size > 0, size, 1.0)
    values = base.K @ _values(model, prior)
    alone = (base.K[:, : model.n_rigid] == 0).all(axis=1)  # of joint terms, no link in the sum
    pinned: list[int] = []

    def row(k: int, weight: float) -> Array:
        found = np.zeros((1, len(factor)))
        found[0, [k, -1]] = weight * size[k], weight * size[k] * values[k]
        return found

    while True:
        open_ = [int(k) for k in np.flatnonzero(~determined(factor)) if alone[k]]
        first = [k for k in open_ if k not in pinned and not base.names[k].endswith(f".{Offset.kind.name}")]
        if not first:
            rows = [row(k, _PULL) for k in open_ if k not in pinned]
            return (r_factor(np.concatenate([factor, *rows])) if rows else factor), pinned
        pinned.append(first[0])
        factor = r_factor(np.concatenate([factor, row(first[0], 1.0)]))


def _values(model: Model, prior: Prior) -> Array:
    """Return the prior's joint terms (p,), 0 where it says nothing and for the links."""
    return np.array([prior.joint_values.get(name, 0.0) for name in model.names])
