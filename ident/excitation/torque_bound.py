"""A proven bound on the curvature of the joint torques of a motion, for what happens between two samples.

A quantity is represented by bounds on its norm and on the norms of its time derivatives, b[k] >= |x^(k)| (a jet). Jets
add, and multiply by Leibniz' rule: (x y)^(k) = sum_m binomial(k, m) x^(m) y^(k-m). A vector c fixed in a link
changes by c' = w x c. Newton's and Euler's equations of every link, taken in the base's axes, then give |tau''|.
"""

from __future__ import annotations

from math import comb

import numpy as np

from ident.arrays import Array
from ident.errors import ExcitationError
from ident.model.model import Model
from ident.spatial.inertia import to_com


def product(x: Array, y: Array) -> Array:
    """Return the jet of a product, as long as the shorter of the two."""
    return np.array([sum(comb(k, m) * x[m] * y[k - m] for m in range(k + 1)) for k in range(min(len(x), len(y)))])


def carried(spin: Array, size: float, factor: float = 1.0) -> Array:
    """Return the jet of a vector of that length fixed in a body whose angular velocity has the jet `spin`.

    factor 2: of a symmetric tensor of that norm, I' = [w] I - I [w]. One entry longer than `spin`.
    """
    jet = [size]
    for k in range(len(spin)):
        jet.append(factor * sum(comb(k, m) * spin[m] * jet[k - m] for m in range(k + 1)))
    return np.array(jet)


def torque_curvature(model: Model, theta: Array, rates: Array) -> Array:
    """Return a bound (n,) on |d^2 tau_j / dt^2| [N m/s^2; N/s^2] along any motion within bounds.

    theta (p,) without Coulomb friction; rates (5, n): bounds on |q|, |qd|, |qdd|, third and fourth derivatives.
    Raises ExcitationError for a joint term that is not linear in q, qd, qdd.
    """
    robot = model.robot
    n = robot.n
    bodies = [to_com(row) if row[0] > 0 else None for row in theta[: model.n_rigid].reshape(-1, 10)]
    if any(body is None for body in bodies):
        raise ExcitationError("a link without mass has no centre: the torque between samples cannot be bounded")
    spin: list[Array] = []  # orders 0..3 of each link's angular velocity
    axes: list[Array] = []  # orders 0..3 of each joint's axis
    offset: list[Array] = []  # orders 0..4 of the way from the parent's frame to the link's
    for i, joint in enumerate(robot.joints):
        before = spin[joint.parent] if joint.parent >= 0 else np.zeros(4)
        axis = carried(before, 1.0)[:4]
        axes.append(axis)
        place = joint.placement
        if not joint.slides:
            spin.append(before + product(axis, rates[1:5, i]))
            at_axis = float(np.linalg.norm(place.position + place.rotation @ joint.point))
            offset.append(carried(before, at_axis) + carried(spin[i], float(np.linalg.norm(joint.point))))
        else:
            spin.append(before)
            along = product(carried(before, 1.0), rates[:, i])
            offset.append(carried(before, float(np.linalg.norm(place.position))) + along)
    moved: list[Array] = []  # orders 1..4 of each link frame's position
    for i, joint in enumerate(robot.joints):
        moved.append(offset[i][1:] + (moved[joint.parent] if joint.parent >= 0 else 0.0))

    gravity = float(np.linalg.norm(robot.gravity))
    bound = np.zeros(n)
    for i, body in enumerate(bodies):
        assert body is not None
        mass, centre, tensor = body
        lever = carried(spin[i], float(np.linalg.norm(centre)))
        force = mass * (moved[i][1:] + lever[2:])  # orders 0..2 of m (c'' - g)
        force[0] += mass * gravity
        moment = product(carried(spin[i], float(np.linalg.norm(tensor, 2)), 2.0), spin[i])[1:]  # (I w)', orders 0..2
        arm, j = lever[:3], i
        while j >= 0:
            joint = robot.joints[j]
            # from the joint's line to the centre: its own point is fixed in its link
            if not joint.slides:
                reach = arm + carried(spin[j], float(np.linalg.norm(joint.point)))[:3]
                bound[j] += product(axes[j][:3], moment + product(reach, force))[2]
            else:
                bound[j] += product(axes[j][:3], force)[2]
            arm = arm + offset[j][:3]
            j = joint.parent
    return bound + _terms(model, theta, rates)


def _terms(model: Model, theta: Array, rates: Array) -> Array:
    """Return the joint terms' part: each is linear in q, qd, qdd, so its curvature is that of the signals."""
    n = model.robot.n
    bound = np.zeros(n)
    still, other = np.zeros((1, n)), np.full((1, n), 0.7)
    for e, (j, k) in enumerate(model.term_entries):
        if theta[k] == 0.0:
            continue
        one = np.zeros((len(model.term_entries), 1))
        one[e] = 1.0
        share = model.term_pull_back(still, still, still, one)[:, 0]
        if not np.allclose(share, model.term_pull_back(other, other, other, one)[:, 0]):
            raise ExcitationError(f"'{model.names[k]}' is not linear in q, qd, qdd, so its torque cannot be certified")
        bound[j] += abs(theta[k]) * float(sum(np.abs(share[o]) @ rates[o + 2] for o in range(3)))
    return bound
