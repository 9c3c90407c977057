"""What a motion tells about the identifiable (base) parameters: factor R of the weighted regressor, and its reverse.

M = sum over samples and joints of Y_j^T Y_j / s_j^2 = R^T R is the Fisher information of phi at independent torque
noise of standard deviations s_j; its inverse is the covariance of weighted least squares. Only factors are kept.

A criterion says how good an experiment is, small being good: any function of R (b, b), upper triangular, that returns a
number f and its slope G (b, b), df = tr(G dM). Only `d_optimal` does not depend on units and on the choice of base
parameters (Pukelsheim 1993; Lee et al. 2021).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ident.arrays import Array, frozen
from ident.errors import ModelError
from ident.model.model import Model
from ident.regression.base import BaseParameters, base_parameters, r_factor
from ident.regression.compress import Columns, packed_columns, pull_back, state_rows
from ident.regression.regression import Regression

_CHUNK = 4096


@dataclass(frozen=True, eq=False)
class Information:
    """Where information about a model's base parameters comes from.

    noise (n,): standard deviation of each joint's torque in one sample [N m; N]. prior (b, b): a factor of the
    information that logs already taken hold, or None.
    """

    columns: Columns
    noise: Array
    prior: Array | None = None

    @property
    def base(self) -> BaseParameters:
        """The base parameters that it is about."""
        return self.columns.base

    def factor(self, states: tuple[Array, ...], share: float = 1.0) -> Array:
        """Return R (b, b), upper triangular, of the motion's q, qd, qdd (N, n) and the prior.

        share: how many independent samples each state stands for.
        """
        q, qd, qdd = states[:3]
        parts = [] if self.prior is None else [self.prior]
        b = len(self.base.names)
        for first in range(0, len(q), _CHUNK):
            part = slice(first, first + _CHUNK)
            rows = state_rows(self.columns, q[part], qd[part], qdd[part])
            for j, (start, stop) in enumerate(self.columns.span):
                wide = np.zeros((min(len(rows), stop - 1 - start), b))
                wide[:, self.columns.parameters[j]] = np.linalg.qr(rows[:, start : stop - 1], mode="r")
                parts.append(wide * (np.sqrt(share) / self.noise[j]))
        return r_factor(np.concatenate(parts))

    def pull_back(self, states: tuple[Array, ...], slope: Array, share: float = 1.0) -> Array:
        """Return the derivative (3, N, n) of tr(slope M) by q, qd, qdd (adjoint); slope (b, b) symmetric."""
        q, qd, qdd = states[:3]
        found = np.empty((3, *q.shape))
        for first in range(0, len(q), _CHUNK):
            part = slice(first, first + _CHUNK)
            rows = state_rows(self.columns, q[part], qd[part], qdd[part])
            weights = np.zeros_like(rows)
            for j, (start, stop) in enumerate(self.columns.span):
                own = np.ix_(self.columns.parameters[j], self.columns.parameters[j])
                weigh = 2.0 * share / self.noise[j] ** 2 * slope[own]
                weights[:, start : stop - 1] = rows[:, start : stop - 1] @ weigh
            found[:, part] = pull_back(self.columns, q[part], qd[part], qdd[part], weights)
        return found


def information(model: Model, noise: ArrayLike, *, prior: Regression | None = None) -> Information:
    """Return the source of information about a model's base parameters at torque noise (n,) [N m; N].

    prior: factors of logs already taken, of the same model. Raises ModelError when noise is not positive or the
    prior belongs to another model.
    """
    noise = frozen(noise, (model.robot.n,), "noise", ModelError)
    for joint, s in zip(model.robot.joint_names, noise, strict=True):
        if not s > 0:
            raise ModelError(f"the torque noise of joint '{joint}' is {s:g}, wanted a positive standard deviation")
    columns = packed_columns(model, base_parameters(model))
    if prior is None:
        return Information(columns, noise)
    if prior.model != model.fingerprint():
        fix = "Compress it with this model's robot and terms"
        raise ModelError("the prior log was compressed for another model", fix=fix)
    return Information(columns, noise, prior.factor(noise)[:-1, :-1])


Criterion = Callable[[Array], tuple[float, Array]]


def d_optimal(r: Array) -> tuple[float, Array]:
    """Return -log det M / b, minus the mean log information, and its slope."""
    b = len(r)
    return -2.0 * float(np.log(np.abs(np.diag(r))).sum()) / b, -_covariance(r) / b


def a_optimal(r: Array) -> tuple[float, Array]:
    """Return log(tr M^-1), the log of the summed variances, and its slope."""
    covariance = _covariance(r)
    trace = float(np.trace(covariance))
    return float(np.log(trace)), -(covariance @ covariance) / trace


def e_optimal(r: Array) -> tuple[float, Array]:
    """Return -log of the least singular value of R, and its slope (of the smallest one, where two are equal)."""
    _, s, vt = np.linalg.svd(r)
    return -float(np.log(s[-1])), -0.5 * np.outer(vt[-1], vt[-1]) / s[-1] ** 2


def condition(r: Array) -> tuple[float, Array]:
    """Return the log of the condition number of R in SI units, and its slope."""
    _, s, vt = np.linalg.svd(r)
    slope = 0.5 * (np.outer(vt[0], vt[0]) / s[0] ** 2 - np.outer(vt[-1], vt[-1]) / s[-1] ** 2)
    return float(np.log(s[0] / s[-1])), slope


def scaled_condition(r: Array) -> tuple[float, Array]:
    """Return the log of the condition number of R with columns of length one, and its slope."""
    size = np.linalg.norm(r, axis=0)
    value, inner = condition(r / size)
    # M_ij / (d_i d_j) with d_i^2 = M_ii: the diagonal also acts through every entry of its row
    slope = inner / np.outer(size, size)
    slope[np.diag_indices(len(r))] -= np.einsum("ij,ij->i", slope, r.T @ r) / size**2
    return value, slope


def worst_error(r: Array) -> tuple[float, Array]:
    """Return about the log of the largest standard error (the 8-norm of the variances, halved), and its slope."""
    p = 8.0
    covariance = _covariance(r)
    variance = np.diag(covariance)
    share = (variance / variance.max()) ** p
    value = 0.5 * (np.log(variance.max()) + np.log(share.sum()) / p)
    weight = 0.5 * share / share.sum() / variance
    return float(value), -(covariance * weight) @ covariance


CRITERIA: dict[str, Criterion] = {
    "d": d_optimal,
    "a": a_optimal,
    "e": e_optimal,
    "condition": condition,
    "scaled-condition": scaled_condition,
    "worst-error": worst_error,
}


def _covariance(r: Array) -> Array:
    from scipy.linalg import solve_triangular

    inverse = solve_triangular(r, np.eye(len(r)))
    return np.asarray(inverse @ inverse.T)


_BLIND = 1e-9  # singular values below this share of the largest (of a factor with columns of length one) tell nothing


@dataclass(frozen=True, eq=False)
class Worth:
    """errors (b,): predicted standard error of each base parameter [its unit], infinite where the motion tells nothing.

    values (b,): what CAD says of them, or None. They hold for independent torque noise of the stated size at every
    logged sample, weighted least squares, and a model that is right: the least that can be expected.
    """

    base: BaseParameters
    errors: Array
    values: Array | None = None

    @property
    def hidden(self) -> tuple[str, ...]:
        """Base parameters that this motion cannot show, though another one could: limits, or too few harmonics."""
        return tuple(name for name, e in zip(self.base.names, self.errors, strict=True) if not np.isfinite(e))

    @property
    def structural(self) -> tuple[str, ...]:
        """Standard parameters that no motion of this robot can show."""
        return self.base.unidentifiable

    @property
    def combined(self) -> tuple[str, ...]:
        """Standard parameters that no motion shows by themselves, only in combinations with others."""
        alone = {*self.base.identifiable, *self.base.unidentifiable}
        return tuple(name for name in self.base.standard if name not in alone)


def worth(base: BaseParameters, factor: Array, theta: Array | None = None) -> Worth:
    """Return the predicted errors from the information's factor R (b, b); theta (p,): CAD values, or None."""
    size = np.linalg.norm(factor, axis=0)
    blind = size == 0.0
    size[blind] = 1.0
    _, s, vt = np.linalg.svd(factor / size)
    seen = s > _BLIND * s[0]
    errors = np.sqrt(((vt[seen].T / s[seen]) ** 2).sum(axis=1)) / size
    lost = (np.abs(vt[~seen]) > 1e-6).any(axis=0) | blind
    errors[lost] = np.inf
    return Worth(base, errors, None if theta is None else np.asarray(base.K @ theta))
