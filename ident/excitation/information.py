"""What a motion tells about the identifiable (base) parameters: factor R of the weighted regressor, and its reverse.

M = sum over samples and joints of Y_j^T Y_j / s_j^2 = R^T R is the Fisher information of phi at independent torque
noise of standard deviations s_j; its inverse is the covariance of weighted least squares. Only factors are kept.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from ident.arrays import Array, frozen
from ident.errors import ModelError
from ident.model.model import Model
from ident.regression.base import BaseParameters, base_parameters
from ident.regression.compress import Columns, packed_columns, pull_back, state_rows
from ident.regression.regression import Regression, r_factor

_CHUNK = 4096


@dataclass(frozen=True, eq=False)
class Information:
    """Where information about a model's base parameters comes from.

    noise (n,): standard deviation of each joint's torque in one sample [N m; N]. prior (b, b): a factor of the
    information that logs already taken hold, or None.
    """

    columns: Columns
    noise: Array
    prior: Array | None = field(default=None)

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
                wide[:, self.columns.parameters[j]] = _triangle(rows[:, start : stop - 1])
                parts.append(wide * (np.sqrt(share) / self.noise[j]))
        return r_factor(np.concatenate(parts))

    def pull_back(self, states: tuple[Array, ...], slope: Array, share: float = 1.0) -> Array:
        """Return the derivative (3, N, n) of tr(slope M) with respect to q, qd, qdd; slope (b, b) symmetric."""
        q, qd, qdd = states[:3]
        found = np.empty((3, *q.shape))
        for first in range(0, len(q), _CHUNK):
            part = slice(first, first + _CHUNK)
            rows = state_rows(self.columns, q[part], qd[part], qdd[part])
            weights = np.zeros_like(rows)
            for j, (start, stop) in enumerate(self.columns.span):
                own = np.ix_(self.columns.parameters[j], self.columns.parameters[j])
                weights[:, start : stop - 1] = rows[:, start : stop - 1] @ (
                    2.0 * share / self.noise[j] ** 2 * slope[own]
                )
            found[:, part] = pull_back(self.columns, q[part], qd[part], qdd[part], weights)
        return found


def information(
    model: Model, noise: ArrayLike, *, base: BaseParameters | None = None, prior: Regression | None = None
) -> Information:
    """Return the source of information about a model's base parameters at torque noise (n,) [N m; N].

    prior: factors of logs already taken, of the same model. Raises ModelError when noise is not positive or the
    prior belongs to another model.
    """
    noise = frozen(noise, (model.robot.n,), "noise", ModelError)
    for joint, s in zip(model.robot.joint_names, noise, strict=True):
        if not s > 0:
            raise ModelError(f"the torque noise of joint '{joint}' is {s:g}, wanted a positive standard deviation")
    columns = packed_columns(model, base or base_parameters(model))
    if prior is None:
        return Information(columns, noise)
    if prior.model != model.fingerprint():
        raise ModelError(
            "the prior log was compressed for another model", fix="Compress it with this model's robot and terms"
        )
    parts = []
    for segment in prior.segments:
        for j, f in enumerate(segment.factors):
            wide = np.zeros((len(f) - 1, len(columns.base.names)))
            wide[:, columns.parameters[j]] = f[:-1, :-1]
            parts.append(wide / noise[j])
    return Information(columns, noise, r_factor(np.concatenate(parts)))


def _triangle(a: Array) -> Array:
    return np.asarray(np.linalg.qr(a, mode="r"))
