"""What the numbers of one link are without each mistake that a table may have."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ident.arrays import Array
from ident.compare.doctor.evidence import spread
from ident.compare.doctor.hypotheses import Space, can_exist
from ident.compare.doctor.mistakes import Mistake, inertials_of

_ALIKE = 0.3  # tolerances within which two readings are the same


@dataclass(frozen=True, eq=False)
class Readings:
    """Mistakes (k), inertials (k, 10) without them, and their `spread` (k, 10, 11)."""

    mistakes: tuple[Mistake, ...]
    inertials: Array
    spreads: Array

    def beside(self, body: Array, share: float) -> Readings:
        """Return those that are another one than a body's inertials (10,), whose numbers are off by a share."""
        near = _within(body, self.inertials, _sizes(spread(body)), _sizes(self.spreads), share)
        new = np.flatnonzero(~near)
        return Readings(tuple(self.mistakes[k] for k in new), self.inertials[new], self.spreads[new])


def readings(space: Space, i: int, body: Array, view: str) -> Readings:
    """Return what link i's numbers (10,) are without each mistake, where that can exist, in a geometry."""
    setting, asked = space.setting_in(view), space.asked_of(i)
    mended = np.array([m.undone(body, i, setting) for m in asked]).reshape(-1, 10)
    kept = np.flatnonzero(can_exist(mended, setting.about_origin))
    inertials = inertials_of(mended[kept], setting.about_origin)
    return Readings(tuple(asked[k] for k in kept), inertials, spread(inertials))


def same(a: Array, b: Array, share: float) -> bool:
    """Return whether two bodies' inertials (10,) are alike within a part of the tolerance of the smaller of them."""
    return bool(_within(a, b, _sizes(spread(a)), _sizes(spread(b)), share))


def _sizes(roots: Array) -> Array:
    """Return by how much each parameter (..., 10) changes if all numbers are off by a share of 1; (..., 10, 11)."""
    return np.asarray(np.sqrt(np.sum(roots[..., :10] ** 2, axis=-1)))


def _within(a: Array, b: Array, size_a: Array, size_b: Array, share: float) -> NDArray[np.bool_]:
    masses = np.abs(a[..., 0] - b[..., 0]) <= _ALIKE * share * np.minimum(np.abs(a[..., 0]), np.abs(b[..., 0]))
    alike = np.abs(a - b) <= _ALIKE * share * np.minimum(size_a, size_b) + 1e-12
    return np.asarray(masses & alike.all(axis=-1))
