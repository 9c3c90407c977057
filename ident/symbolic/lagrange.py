"""What Lagrange's equations are made of: energies of links, and the velocities that joints give them."""

from __future__ import annotations

import numpy as np

from ident.symbolic.mechanism import Mechanism, cross, symmetric, zeros
from ident.symbolic.tape import Objects, Scalar


def potential_energy(arm: Mechanism, theta: Objects, q: Objects) -> Scalar:
    """Return P = -sum g . (m p + R h) [J] of links at p with orientation R."""
    total: Scalar = 0.0
    poses: list[tuple[Objects, Objects]] = []
    for i in range(arm.n):
        rotation, position = arm.placed(i, q)
        if arm.parents[i] >= 0:
            before, start = poses[arm.parents[i]]
            rotation, position = before @ rotation, start + before @ position
        poses.append((rotation, position))
        total = total - arm.gravity @ (theta[i, 0] * position + rotation @ theta[i, 1:4])
    return total


def twice_kinetic(body: Objects, one: tuple[Objects, Objects], other: tuple[Objects, Objects]) -> Scalar:
    """Return the symmetric bilinear form whose half is a body's kinetic energy at equal twists (v, w).

    m v.v' + v.(w' x h) + v'.(w x h) + w.(I w'), all in the body's frame, v that of its origin.
    """
    (v, w), (v2, w2) = one, other
    h, inertia = body[1:4], symmetric(body[4:])
    found: Scalar = body[0] * (v @ v2) + v @ cross(w2, h) + v2 @ cross(w, h) + w @ (inertia @ w2)
    return found


def jacobians(arm: Mechanism, q: Objects) -> list[dict[int, tuple[Objects, Objects]]]:
    """Return of every link, for each joint that carries it, the link's velocity v of its origin and w per unit of qd.

    In the link's frame, where they depend only on the joints in between.
    """
    found = []
    for p in range(arm.n):
        rotation, position = np.eye(3).astype(object), zeros(3)  # link p's frame seen from link j's
        columns: dict[int, tuple[Objects, Objects]] = {}
        for j in reversed(arm.carriers(p)):
            axis = arm.axes[j]
            arm_of = position - arm.points[j]
            w = rotation.T @ axis if arm.revolute[j] else zeros(3)
            v = rotation.T @ (cross(axis, arm_of) if arm.revolute[j] else axis)
            columns[j] = (v, w)
            turn, shift = arm.placed(j, q)
            rotation, position = turn @ rotation, shift + turn @ position
        found.append(columns)
    return found
