"""The Coriolis matrix as traces of 4x4 matrices (Uicker 1965; Paul, Robot Manipulators, 1981, chapter 6).

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

from ident.symbolic.mechanism import Mechanism, cross, skew, symmetric, zeros
from ident.symbolic.tape import Objects


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
