"""Principal axes of inertia as a proper rotation that does not depend on chance."""

from __future__ import annotations

import itertools
import math

import numpy as np
from numpy.typing import ArrayLike

from ident.arrays import Array, frozen
from ident.spatial.pose import axis_angle

#: Moments and products closer than this share of the largest moment count as equal and as zero.
RELATIVE = 1e-9
_SAME = 1e-9  # two rotations whose traces differ by less are equally near to the frame


def principal_axes(inertia: ArrayLike) -> tuple[Array, Array]:
    """Return the principal moments (3,) [kg m^2] and axes R (3, 3), det R = +1, with inertia = R diag(moments) R^T.

    inertia (3, 3): a symmetric tensor; columns of R are the axes seen from the tensor's frame. Of the 24 proper
    rotations that diagonalise it R is the one nearest to the identity, and where several are equally near, the one
    with the larger first entries; so moment k is the one about the axis nearest to the frame's axis k. Moments that
    differ by at most 1e-9 of the largest count as equal, and R turns no further than the others demand: it is the
    identity when all products are as small or all three moments are equal. The diagonal of R^T inertia R is what is
    returned. Raises InputError for another shape or numbers that are not finite.
    """
    given = frozen(inertia, (3, 3), "inertia")
    tensor = (given + given.T) / 2
    axes = _axes(tensor, RELATIVE * float(np.abs(tensor).max()))
    return np.einsum("ik,ij,jk->k", axes, tensor, axes), axes


def _axes(tensor: Array, close: float) -> Array:
    if np.abs(tensor[[0, 0, 1], [1, 2, 2]]).max() <= close:
        return np.eye(3)
    moments, vectors = np.linalg.eigh(tensor)
    low, high = moments[1] - moments[0] <= close, moments[2] - moments[1] <= close
    if low and high:
        return np.eye(3)
    if low or high:  # one axis is determined, the other two are not
        return _least_turn(vectors[:, 2 if low else 0])
    candidates = [
        vectors[:, order] * signs
        for order in itertools.permutations(range(3))
        for signs in itertools.product((1.0, -1.0), repeat=3)
    ]
    proper = [c for c in candidates if np.linalg.det(c) > 0]
    most = max(float(np.trace(c)) for c in proper)
    nearest = [c for c in proper if np.trace(c) > most - _SAME]
    return max(nearest, key=lambda c: tuple(np.round(c.ravel(), 6)))


def _least_turn(axis: Array) -> Array:
    """Return the smallest rotation that takes a frame's axis, the one nearest to `axis`, to +-axis."""
    size = np.abs(axis)
    k = int(np.argmax(size > size.max() - _SAME))
    to = axis * math.copysign(1.0, axis[k])
    across = np.cross(np.eye(3)[k], to)
    sine = float(np.linalg.norm(across))
    return axis_angle(across / sine, math.atan2(sine, to[k])) if sine > 0 else np.eye(3)


def quaternion(rotation: ArrayLike) -> Array:
    """Return (w, x, y, z) of a rotation matrix (3, 3), w >= 0 (and the first of x, y, z positive where w = 0)."""
    r = frozen(rotation, (3, 3), "rotation")
    # 4 q q^T from the matrix; its longest column loses no digits
    t = np.trace(r)
    outer = np.empty((4, 4))
    outer[0, 0] = 1 + t
    outer[1:, 1:] = r + r.T + (1 - t) * np.eye(3)
    outer[0, 1:] = outer[1:, 0] = [r[2, 1] - r[1, 2], r[0, 2] - r[2, 0], r[1, 0] - r[0, 1]]
    q = outer[:, int(np.argmax(np.diag(outer)))]
    q = q / np.linalg.norm(q)
    q = np.where(np.abs(q) < 1e-15, 0.0, q)
    first = next(x for x in q if abs(x) > 1e-12)
    return np.asarray(q * math.copysign(1.0, first) + 0.0)
