"""Recursions from link to link: Newton and Euler (Luh, Walker, Paul, J. Dyn. Syst. Meas. Control 102, 1980).

The Coriolis matrix comes as traces of 4x4 matrices (Uicker 1965; Paul, Robot Manipulators, 1981, chapter 6).

T_p is link p's frame seen from the base, A_p seen from its parent's. A joint's motion is generated in its own frame,
after its own transform: dA_j/dq_j = A_j Q_j, so that U_pj = dT_p/dq_j = T_j Q_j A_j+1 .. A_p, which holds for standard
and modified DH alike. With S_j = T_j Q_j T_j^-1 this is U_pj = S_j T_p, the second derivative is
U_pjk = S_j S_k T_p for j before k, and

    D_ij = sum_p tr(U_pj J_p U_pi^T), h_ijk = sum_p tr(U_pjk J_p U_pi^T), g_i = -sum_p m_p g^T U_pi r_p

sum over the links that all the joints named carry. These sums are taken first: W_m = sum_p T_p J_p T_p^T over the links
that joint m carries leaves D_ij = tr(S_j W_m S_i^T), h_ijk = tr(S_j S_k W_m S_i^T) with m the last of the joints.
h_ijk are the Christoffel symbols of D, so C_ij = sum_k h_ijk qd_k.
"""

from __future__ import annotations

import numpy as np

from ident.spatial.inertia import symmetric, upper
from ident.symbolic.mechanism import Mechanism, cross, skew, zeros
from ident.symbolic.program import Objects


def inverse_dynamics(arm: Mechanism, inertials: Objects, q: Objects, qd: Objects, qdd: Objects) -> Objects:
    """Return tau (n,) of links with inertials (n, 10); q, qd, qdd (n,)."""
    poses, rates = _outward(arm, q, qd, qdd)
    forces, moments = [], []
    for (w, wd, B, a), (m, *rest) in zip(rates, inertials, strict=True):
        h, inertia = np.array(rest[:3], dtype=object), symmetric(np.array(rest[3:], dtype=object))
        forces.append(m * a + B @ h)
        moments.append(inertia @ wd + cross(w, inertia @ w) + cross(h, a))
    tau = zeros(arm.n)
    for i in reversed(range(arm.n)):
        f, n = forces[i], moments[i]
        axis, point = arm.axes[i], arm.points[i]
        tau[i] = axis @ n + cross(point, axis) @ f if arm.revolute[i] else axis @ f
        if arm.parents[i] >= 0:
            rotation, position = poses[i]
            f = rotation @ f
            forces[arm.parents[i]] = forces[arm.parents[i]] + f
            moments[arm.parents[i]] = moments[arm.parents[i]] + rotation @ n + cross(position, f)
    return tau


def regressor(arm: Mechanism, q: Objects, qd: Objects, qdd: Objects) -> Objects:
    """Return Y (n, 10 n): the torque per unit of each link parameter.

    The wrench of link p on itself is f = m a + B h, n = I wd + w x I w + h x a; joint j, which carries it and moves its
    frame with angular velocity u and velocity v per unit of qd, takes u.n + v.f of it.
    """
    poses, rates = _outward(arm, q, qd, qdd)
    Y = zeros(arm.n, 10 * arm.n)
    moved: list[dict[int, tuple[Objects, Objects]]] = []  # of each link: joint -> u, v in the link's frame
    for p in range(arm.n):
        rotation, position = poses[p]
        before = moved[arm.parents[p]] if arm.parents[p] >= 0 else {}
        twists = {j: (rotation.T @ u, rotation.T @ (v + cross(u, position))) for j, (u, v) in before.items()}
        twists[p] = _twist(arm, p)
        moved.append(twists)
        w, wd, B, a = rates[p]
        for j, (u, v) in twists.items():
            uw = cross(u, w)
            Y[j, 10 * p] = v @ a
            Y[j, 10 * p + 1 : 10 * p + 4] = B.T @ v + cross(a, u)  # u . (h x a) = h . (a x u)
            full = np.outer(u, wd) + np.outer(uw, w)  # u . (w x I w) = (u x w) . I w
            Y[j, 10 * p + 4 : 10 * p + 10] = [
                full[r, c] + full[c, r] if r != c else full[r, r] for r in range(3) for c in range(r, 3)
            ]
    return Y


def gravity(arm: Mechanism, inertials: Objects, q: Objects) -> Objects:
    """Return g (n,): the torque that holds the arm still.

    All that joint i carries weighs like one body of mass m and first moment h, which has to accelerate upwards by a:
    g_i = u.(h x a) + v.(m a) for the joint's twist (u, v).
    """
    bodies, g = composites(arm, inertials[:, :4], q), zeros(arm.n)
    accelerations: list[Objects] = []
    for i in range(arm.n):
        rotation, _ = arm.placed(i, q)
        a = rotation.T @ (accelerations[arm.parents[i]] if arm.parents[i] >= 0 else -arm.gravity)
        accelerations.append(a)
        u, v = _twist(arm, i)
        g[i] = a @ (cross(u, bodies[i][1:4]) + bodies[i][0] * v)
    return g


def mass_matrix(arm: Mechanism, inertials: Objects, q: Objects) -> Objects:
    """Return D (n, n): column i holds what the joints before take when joint i alone accelerates all that it carries.

    Composite bodies: Walker, Orin, J. Dyn. Syst. Meas. Control 104 (1982), method 3.
    """
    bodies, D = composites(arm, inertials, q), zeros(arm.n, arm.n)
    for i in range(arm.n):
        m, h, inertia = bodies[i][0], bodies[i][1:4], symmetric(bodies[i][4:])
        u, v = _twist(arm, i)
        f, n = m * v + cross(u, h), inertia @ u + cross(h, v)
        for j in reversed(arm.carriers(i)):
            u, v = _twist(arm, j)
            D[i, j] = D[j, i] = u @ n + v @ f
            rotation, position = arm.placed(j, q)
            f = rotation @ f
            n = rotation @ n + cross(position, f)
    return D


def composites(arm: Mechanism, inertials: Objects, q: Objects) -> list[Objects]:
    """Return of each link the parameters of all that it carries, itself included, in its frame.

    inertials (n, 10), or (n, 4) for mass and first moment alone, which is what is returned then.
    """
    bodies = [np.array(body, dtype=object) for body in inertials]
    for i in reversed(range(arm.n)):
        if arm.parents[i] >= 0:
            before = bodies[arm.parents[i]]
            bodies[arm.parents[i]] = before + _seen_from(bodies[i], *arm.placed(i, q))
    return bodies


def _seen_from(body: Objects, rotation: Objects, position: Objects) -> Objects:
    """Return a body's parameters in another frame: h' = R h + m p, I' = R I R^T + what the shift adds."""
    m, turned = body[0], rotation @ body[1:4]
    moved = np.concatenate([body[:1], turned + m * position])
    if len(body) == 4:
        return moved
    inertia = rotation @ symmetric(body[4:]) @ rotation.T
    # r r^T summed over the mass grows by p h'^T + (R h) p^T
    spread = np.outer(position, moved[1:4]) + np.outer(turned, position)
    tensor = inertia + np.trace(spread) * np.eye(3).astype(object) - spread
    return np.concatenate([moved, upper(tensor)])


def _twist(arm: Mechanism, i: int) -> tuple[Objects, Objects]:
    """Return the angular velocity of link i, and the velocity of its frame's origin, per unit of its joint's speed."""
    axis = arm.axes[i]
    return (axis, cross(arm.points[i], axis)) if arm.revolute[i] else (zeros(3), axis)


def _outward(
    arm: Mechanism, q: Objects, qd: Objects, qdd: Objects
) -> tuple[list[tuple[Objects, Objects]], list[tuple[Objects, ...]]]:
    """Return each link's pose in its parent, and its rates w, wd, B, a in its own frame.

    w, wd: angular velocity and acceleration; B = [wd x] + [w x]^2, so that a + B r is the acceleration of a point r of
    the link, a that of its origin; the base accelerates upwards in place of gravity.
    """
    poses = [arm.placed(i, q) for i in range(arm.n)]
    rates: list[tuple[Objects, ...]] = []
    for i, (rotation, position) in enumerate(poses):
        axis, point = arm.axes[i], arm.points[i]
        if arm.parents[i] >= 0:
            w, wd, B, a = rates[arm.parents[i]]
            w, wd = rotation.T @ w, rotation.T @ wd
        else:
            w, wd, B, a = zeros(3), zeros(3), zeros(3, 3), -arm.gravity
        if arm.revolute[i]:
            start = arm.positions[i] + arm.rotations[i] @ point  # a point of the joint's line, in the parent
            a = rotation.T @ (a + B @ start)
            wd = wd + axis * qdd[i] + cross(w, axis) * qd[i]
            w = w + axis * qd[i]
            B = _spread(w, wd)
            a = a - B @ point
        else:
            a = rotation.T @ (a + B @ position) + axis * qdd[i] + 2.0 * cross(w, axis) * qd[i]
            B = _spread(w, wd)
        rates.append((w, wd, B, a))
    return poses, rates


def _spread(w: Objects, wd: Objects) -> Objects:
    """Return [wd x] + [w x]^2."""
    ww = np.outer(w, w)
    return np.asarray(skew(wd) + ww - np.trace(ww) * np.eye(3).astype(object))


def coriolis_matrix(arm: Mechanism, inertials: Objects, q: Objects, qd: Objects) -> Objects:
    """Return C (n, n), that of the Christoffel symbols: dD/dt - 2 C is skew."""
    S, W = generators_and_composites(arm, inertials, q)
    C = zeros(arm.n, arm.n)
    for m in range(arm.n):
        chain = arm.carriers(m)
        for a, j in enumerate(chain):
            for k in chain[a:]:
                # the last of i and k is m
                SSW = S[j] @ (S[k] @ W[m])
                for i in chain if k == m else [m]:
                    h = trace(SSW, S[i])
                    C[i, j] = C[i, j] + h * qd[k]
                    if j != k:
                        C[i, k] = C[i, k] + h * qd[j]
    return C


def generators_and_composites(arm: Mechanism, inertials: Objects, q: Objects) -> tuple[list[Objects], list[Objects]]:
    """Return S_i and W_i of every joint, 4x4 in the base frame."""
    T: list[Objects] = []
    S: list[Objects] = []
    W: list[Objects] = []
    for i in range(arm.n):
        A = zeros(4, 4)
        A[:3, :3], A[:3, 3] = arm.placed(i, q)
        A[3, 3] = 1.0
        T.append(T[arm.parents[i]] @ A if arm.parents[i] >= 0 else A)
        S.append(zeros(4, 4))
        axis = T[i][:3, :3] @ arm.axes[i]
        if arm.revolute[i]:
            S[i][:3, :3] = skew(axis)
            S[i][:3, 3] = cross(T[i][:3, :3] @ arm.points[i] + T[i][:3, 3], axis)
        else:
            S[i][:3, 3] = axis
        W.append(_symmetrized(T[i] @ pseudo_inertia(inertials[i]), T[i]))
    for i in reversed(range(arm.n)):
        if arm.parents[i] >= 0:
            W[arm.parents[i]] = W[arm.parents[i]] + W[i]
    return S, W


def pseudo_inertia(inertials: Objects) -> Objects:
    """Return J (4, 4) of one link's parameters (10,)."""
    inertia = symmetric(inertials[4:])
    J = zeros(4, 4)
    J[:3, :3] = 0.5 * np.trace(inertia) * np.eye(3).astype(object) - inertia
    J[:3, 3] = J[3, :3] = inertials[1:4]
    J[3, 3] = inertials[0]
    return J


def _symmetrized(left: Objects, right: Objects) -> Objects:
    """Return left right^T, known to be symmetric, from its upper half."""
    out = zeros(4, 4)
    for r in range(4):
        for c in range(r, 4):
            out[r, c] = out[c, r] = left[r] @ right[c]
    return out


def trace(left: Objects, right: Objects) -> object:
    """Return tr(left right^T)."""
    return (left * right).sum()
