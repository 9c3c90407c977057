"""Left-out errors of any set of candidates, from factors that hold the columns of all.

The fit is ridge regression towards the prior's bodies in their own metric, at the weight that the noise asks for, with
friction that must not be negative held at zero: what the constrained fit does, but for bodies that cannot exist.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ident.arrays import Array
from ident.estimate.covariance import effective_samples
from ident.estimate.estimators import NEUTRAL_TOLERANCE, TOLERANCE
from ident.estimate.least_squares import joint_noise
from ident.estimate.prior import ConstantPullback, Prior
from ident.model import Model
from ident.regression.base import BaseParameters
from ident.regression.regression import Regression, merged, r_factor

#: Short segments that are one cluster of the noise.
TOGETHER = 5
#: What joint terms and sums that nothing determines are held by, relative to their column.
_RIDGE = 1e-9

Indices = NDArray[np.intp]


def with_columns(base: BaseParameters, model: Model, wide: Model) -> BaseParameters:
    """Return the base parameters of a model with more terms at its end, each of which is one by itself."""
    more = len(wide.names) - len(model.names)
    b, p = base.K.shape
    K = np.zeros((b + more, p + more))
    K[:b, :p], K[b:, p:] = base.K, np.eye(more)
    extra = tuple(range(p, p + more))
    return BaseParameters((*base.names, *wide.names[p:]), (*base.kept, *extra), K, wide.names)


def restricted(regression: Regression, base: BaseParameters) -> Regression:
    """Return the factors of the first base parameters alone, which are those of `base`."""
    b = len(base.names)
    own = [[c for c, k in enumerate(columns) if k < b] for columns in regression.parameters]
    segments = regression.mapped(lambda j, F: r_factor(F[:, [*own[j], -1]]))
    parameters = tuple(tuple(k for k in columns if k < b) for columns in regression.parameters)
    return replace(regression, base=base, parameters=parameters, segments=segments)


class Judge:
    """Fits and left-out errors of a model with any columns beside its own, by the factors of all.

    wide: the model with all of them; prior: of its bodies; regression: of `wide`, in short segments; base: those of
    the model's own columns; fold (s,): of each segment.
    """

    def __init__(self, wide: Model, prior: Prior, regression: Regression, base: BaseParameters, fold: Indices):
        plain = restricted(regression, base)
        self.sigma = joint_noise(plain)
        self.fold, self.K = fold, regression.base.K
        self.own = np.arange(base.K.shape[1])
        self.nonnegative = np.append(np.zeros(wide.n_rigid, dtype=bool), wide.nonnegative)
        self.effective = effective_samples(_joined(plain), self.sigma)
        self.inflation = float(regression.rows.sum()) / self.effective
        self.energy = float(regression.squared_torques.sum())
        self._columns = [np.array(columns) for columns in regression.parameters]
        self._factors = [np.array([s.factors[j] for s in regression.segments]) for j in range(regression.n_joints)]
        self._grams = [self._gram(fold == k) for k in range(fold.max() + 1)]
        self._prior = self._drawn(wide, prior)

    def _gram(self, at: NDArray[np.bool_]) -> Array:
        """Return the weighted Gram matrix (p + 1, p + 1) of some segments, in standard parameters and the torque."""
        b = len(self.K)
        gram = np.zeros((b + 1, b + 1))
        for columns, factors, sigma in zip(self._columns, self._factors, self.sigma, strict=True):
            rows = factors[at].reshape(-1, factors.shape[2]) / sigma
            gram[np.ix_([*columns, b], [*columns, b])] += rows.T @ rows
        to = np.zeros((b + 1, self.K.shape[1] + 1))
        to[:b, :-1], to[b, -1] = self.K, 1.0
        return np.asarray(to.T @ gram @ to)

    def _drawn(self, wide: Model, prior: Prior) -> Array:
        """Return the Gram matrix of the prior's rows at the weight that the noise asks for."""
        tolerance = NEUTRAL_TOLERANCE if all(prior.neutral) else TOLERANCE
        root = ConstantPullback().root(prior)
        rows = np.column_stack([root, root @ prior.inertials.ravel()]) * np.sqrt(0.5 * self.inflation) / tolerance
        places = [*range(wide.n_rigid), self.K.shape[1]]
        found = np.zeros((self.K.shape[1] + 1,) * 2)
        found[np.ix_(places, places)] = rows.T @ rows
        return found

    def fitted(self, more: Sequence[int] | Indices, folds: Sequence[int]) -> tuple[Array, Array, Indices]:
        """Return theta (p,) of the model's own columns and some more, fitted to some folds.

        And the inverse of their Gram matrix with the columns that it is of: those not held at zero.
        """
        from scipy.linalg import cho_factor, cho_solve

        gram = self._prior + sum(self._grams[k] for k in folds)
        left = np.append(self.own, np.asarray(more, dtype=np.intp))
        while True:
            size = np.sqrt(np.diag(gram)[left])
            size = np.where(size > 0, size, 1.0)
            scaled = gram[np.ix_(left, left)] / np.outer(size, size) + _RIDGE * np.eye(len(left))
            factor = cho_factor(scaled, check_finite=False)
            x = cho_solve(factor, gram[left, -1] / size, check_finite=False) / size
            negative = self.nonnegative[left] & (x < 0)
            if not negative.any():
                break
            left = left[~negative]
        theta = np.zeros(self.K.shape[1])
        theta[left] = x
        inverse = cho_solve(factor, np.eye(len(left)), check_finite=False) / np.outer(size, size)
        return theta, inverse, left

    def left_out(self, more: Sequence[int] | Indices, folds: Sequence[int]) -> Array:
        """Return the squared error (s, n) [(N m)^2; N^2] of each segment of some folds, fitted to the other ones."""
        errors = np.zeros((len(self.fold), len(self.sigma)))
        for k in folds:
            theta = self.fitted(more, [f for f in folds if f != k])[0]
            errors[self.fold == k] = self.errors(theta, [k])
        return errors[np.isin(self.fold, folds)]

    def errors(self, theta: Array, folds: Sequence[int]) -> Array:
        """Return the squared error (s, n) [(N m)^2; N^2] at theta (p,) of each segment of some folds."""
        phi, at = self.K @ theta, np.isin(self.fold, folds)
        each = [
            np.sum((factors[at] @ np.append(phi[columns], -1.0)) ** 2, axis=1)
            for columns, factors in zip(self._columns, self._factors, strict=True)
        ]
        return np.array(each).T

    @property
    def folds(self) -> list[int]:
        """Numbers of the folds."""
        return list(range(len(self._grams)))


def _joined(regression: Regression) -> Regression:
    """Return the regression with neighbours among its segments as one: the noise of short ones is alike."""
    segments = regression.segments
    parts = [segments[k : k + TOGETHER] for k in range(0, len(segments), TOGETHER)]
    return replace(regression, segments=tuple(merged(*part) for part in parts))
