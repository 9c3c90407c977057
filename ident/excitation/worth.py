"""What a motion will be worth: predicted standard errors of the base parameters, before the robot moves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ident.arrays import Array
from ident.regression.base import BaseParameters

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
    def weak(self) -> tuple[str, ...]:
        """Base parameters whose predicted error is larger than what CAD says they are; none without CAD."""
        if self.values is None:
            return ()
        found = zip(self.base.names, self.errors, self.values, strict=True)
        return tuple(name for name, e, value in found if np.isfinite(e) and e > abs(value))

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
