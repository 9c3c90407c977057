"""What a body that fills no more than a known ellipsoid or box must satisfy: linear in its ten parameters.

For a polynomial f(x) = (x, 1)' Q (x, 1) the body's integral of f is tr(J Q), J its pseudo-inertia. Where f >= 0 on the
shape, tr(J Q) >= 0 for every mass distribution inside it (Wensing, Kim, Slotine, RA-L 2018, section III).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from ident.arrays import Array, frozen
from ident.errors import ModelError
from ident.spatial.inertia import PSEUDO_INERTIA_MAP


@dataclass(frozen=True, eq=False)
class Ellipsoid:
    """All x with |axes^-1 (x - centre)| <= 1. centre (3,) [m]; axes (3, 3) [m], one semi-axis per column."""

    centre: Array
    axes: Array

    def __post_init__(self) -> None:
        object.__setattr__(self, "centre", frozen(self.centre, (3,), "the ellipsoid's centre", ModelError))
        object.__setattr__(self, "axes", frozen(self.axes, (3, 3), "the ellipsoid's axes", ModelError))
        s = np.linalg.svd(self.axes, compute_uv=False)
        if not s[-1] > 1e-9 * s[0]:
            raise ModelError("the ellipsoid is flat: one semi-axis is zero", fix="Give three that differ in direction")


def ellipsoid_row(ellipsoid: Ellipsoid) -> Array:
    """Return r (10,) with r @ parameters = integral of 1 - |axes^-1 (x - centre)|^2 dm [kg].

    With a positive semidefinite J, r @ parameters >= 0 is also sufficient: some distribution inside has this J.
    """
    inverse = np.linalg.inv(ellipsoid.axes)
    inside = np.column_stack([inverse, -inverse @ ellipsoid.centre])
    last = np.zeros((4, 4))
    last[3, 3] = 1.0
    return _integral(last - inside.T @ inside)


def box_rows(box: Sequence[tuple[float, float]]) -> Array:
    """Return rows r (19, 10): integrals of polynomials of second degree that are not negative on the box, unit-free.

    box: (least, most) [m] along x, y, z. The first fifteen are products of two distances to faces, in units of the
    box's sides. With J >= 0 they are sufficient for bodies in two dimensions, not in three (Anstreicher, Burer, Math.
    Program. 2010). The last four belong to three axes at once, the triangle inequalities of u in [0, 1]^3,

        1 - u1 - u2 - u3 + u1 u2 + u1 u3 + u2 u3 >= 0,    u_i - u_i u_j - u_i u_k + u_j u_k >= 0

    (Yajima, Fujie, J. Global Optim. 1998). r @ parameters >= 0 is necessary; no proof makes it sufficient, but against
    the exact condition (J a sum over the tetrahedra of a cut box, each doubly non-negative in its corners: Anstreicher,
    Burer) nothing is left in 300 random directions, where without the last four 1 in 100 is up to 0.2 % too wide.
    """
    faces = []
    for axis, (least, most) in enumerate(box):
        low, high = np.zeros(4), np.zeros(4)
        low[axis], high[axis] = 1.0, -1.0
        low[3], high[3] = -least, most
        faces.append((low / (most - least), high / (most - least)))
    pairs = [(low, high) for low, high in faces]
    pairs += [(a, b) for one, other in combinations(faces, 2) for a in one for b in other]
    products = [0.5 * (np.outer(a, b) + np.outer(b, a)) for a, b in pairs]
    one = np.zeros(4)
    one[3] = 1.0
    for a, b, c in ((0, 0, 0), (0, 1, 1), (1, 0, 1), (1, 1, 0)):  # the second with two of u counted from the far face
        u, v, w = faces[0][a], faces[1][b], faces[2][c]
        Q = np.outer(one, one - u - v - w) + np.outer(u, v) + np.outer(u, w) + np.outer(v, w)
        products.append(0.5 * (Q + Q.T))
    return np.array([_integral(Q) for Q in products])


def _integral(Q: Array) -> Array:
    """Return r (10,) with r @ parameters = tr(J Q)."""
    return np.asarray(Q.ravel() @ PSEUDO_INERTIA_MAP)
