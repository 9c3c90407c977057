"""Base parameters: the combinations of standard parameters that torque can show, from structure alone.

phi = K theta with K = [1 B] up to order: a standard parameter is kept when its column is not spanned by
the columns before it (in the order of the names), and the others are regrouped into the kept ones
(Gautier, Khalil 1990; Gautier 1991). Order decides, never the size of a pivot, so the same robot gives the same
base parameters on every machine.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ident.arrays import Array
from ident.model.model import Model, regressor

_DEPENDENT = 1e-9  # what is left of a unit column that others span is about 1e-15
_ZERO = 1e-11
_NOISE = 1e3  # times the rounding error of a grouping's coefficient; true ones lie above 1e7 times


@dataclass(frozen=True, eq=False)
class BaseParameters:
    """phi = K @ theta.

    names: of the kept standard parameters, one per base parameter; kept: their places in theta;
    K (b, p); standard: names of theta.
    """

    names: tuple[str, ...]
    kept: tuple[int, ...]
    K: Array
    standard: tuple[str, ...]

    def expression(self, k: int) -> str:
        """Return base parameter k as a sum, such as `link2.Ixx - link2.Iyy - 0.0506 link3.m`."""
        parts: list[str] = []
        order = [self.kept[k], *(int(i) for i in np.flatnonzero(self.K[k]) if i != self.kept[k])]
        for i in order:
            c = float(self.K[k, i])
            size = "" if abs(abs(c) - 1.0) < _ZERO else f"{abs(c):.6g} "
            sign = ("" if c > 0 else "-") if not parts else (" + " if c > 0 else " - ")
            parts.append(f"{sign}{size}{self.standard[i]}")
        return "".join(parts)

    @property
    def identifiable(self) -> tuple[str, ...]:
        """Standard parameters that are a base parameter by themselves: the only ones that torque alone can fix."""
        alone = [k for k in range(len(self.kept)) if np.count_nonzero(self.K[k]) == 1]
        return tuple(self.names[k] for k in alone)

    @property
    def unidentifiable(self) -> tuple[str, ...]:
        """Standard parameters that no torque of this robot ever shows."""
        return tuple(name for name, column in zip(self.standard, self.K.T, strict=True) if not column.any())


def base_parameters(model: Model) -> BaseParameters:
    """Return the base parameters of a model, from its structure (random states, fixed seed, no log)."""
    p = len(model.names)
    n = model.robot.n
    rng = np.random.default_rng(20210605)
    samples = 2 * p // n + 50
    q, qd, qdd = rng.uniform(-3.0, 3.0, size=(3, samples, n))
    Y = regressor(model, q, 2.0 * qd, 5.0 * qdd).reshape(-1, p)
    size = np.linalg.norm(Y, axis=0)
    unit = Y / np.where(size > _ZERO * size.max(), size, np.inf)

    kept: list[int] = []
    basis = np.empty((len(Y), 0))
    for k in range(p):
        left = unit[:, k]
        if not left.any():
            continue
        for _ in range(2):  # twice is enough to be orthogonal to rounding
            left = left - basis @ (basis.T @ left)
        norm = np.linalg.norm(left)
        if norm > _DEPENDENT:
            kept.append(k)
            basis = np.column_stack([basis, left / norm])

    # unit = unit[:, kept] @ X, undone for the scaling of columns
    X, *_ = np.linalg.lstsq(unit[:, kept], unit, rcond=None)
    K = X * size[None, :] / size[kept][:, None]
    # A column's rounding error, eps (1 + sum |X|), reaches row k of X through row k of the inverse factor: with nearly
    # dependent columns this is far above eps, and a grouping must not gain parameters from it.
    inverse = np.linalg.inv(np.linalg.qr(unit[:, kept], mode="r"))
    rounding = np.finfo(float).eps * np.outer(np.linalg.norm(inverse, axis=1), 1.0 + np.abs(X).sum(axis=0))
    K[np.abs(X) < np.maximum(_ZERO, _NOISE * rounding)] = 0.0
    K[:, kept] = np.eye(len(kept))
    K = _significant(K, 12)  # groupings are products of lengths and cosines: this takes the noise of lstsq away
    K.setflags(write=False)
    return BaseParameters(tuple(model.names[k] for k in kept), tuple(kept), K, model.names)


def _significant(a: Array, digits: int) -> Array:
    """Return `a` rounded to so many significant digits."""
    power = np.where(a == 0.0, 0.0, np.floor(np.log10(np.abs(a), where=a != 0.0, out=np.zeros_like(a))))
    scale = 10.0 ** (digits - 1 - power)
    return np.asarray(np.round(a * scale) / scale)
