"""Five ways from q, qd, qdd to the torques of a serial arm, written plainly, in any number type.

All joints turn about z of their link's frame. An arm is given by the links' transforms T_1 ... T_n (4, 4) at q, seen
from the link before, masses, centres (4,) with a 1 at the end, pseudo-inertias J (4, 4) and tensors about the centres.
W_p = T_1 ... T_p, U_pj = dW_p/dq_j, U_pjk = d2W_p/dq_j dq_k; a derivative by q_j puts Q behind T_j.

The first four are Lagrange's equations, summed in different orders (compared by Hollerbach, IEEE Trans. SMC 10 (1980)).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]  # floats, or numbers that count


@dataclass(frozen=True, eq=False)
class Arm:
    T: list[Array]
    m: list[Any]
    r: list[Array]
    J: list[Array]
    I: list[Array]  # noqa: E741
    gravity: Array  # (4,), its last entry 0

    @property
    def n(self) -> int:
        return len(self.T)


def turned(A: Array) -> Array:
    """Return A Q with Q = [[0, -1, 0, 0], [1, 0, 0, 0], 0, 0], which only moves columns."""
    out = A * 0 if A.dtype != object else np.full(A.shape, 0.0, dtype=object)
    out[:, 0], out[:, 1] = A[:, 1], -A[:, 0]
    return out


def trace_of_product(A: Array, B: Array) -> Any:
    """Return tr(A B^T) from the 16 products that are needed."""
    return (A * B).sum()


def chains(arm: Arm) -> list[Array]:
    """Return W_1 ... W_n."""
    W = [arm.T[0]]
    for T in arm.T[1:]:
        W.append(W[-1] @ T)
    return W


def first_derivatives(arm: Arm) -> list[list[Array]]:
    """Return U_pj for j <= p."""
    U: list[list[Array]] = []
    for p, W in enumerate(chains(arm)):
        U.append([U[p - 1][j] @ arm.T[p] for j in range(p)] + [turned(W)])
    return U


def second_derivatives(arm: Arm, U: list[list[Array]]) -> list[list[list[Array]]]:
    """Return U_pjk for k <= j <= p; the other half is its mirror image."""
    V: list[list[list[Array]]] = []
    for p in range(arm.n):
        V.append([[V[p - 1][j][k] @ arm.T[p] for k in range(j + 1)] for j in range(p)])
        V[p].append([turned(U[p][k]) for k in range(p + 1)])
    return V


def lagrange(arm: Arm, qd: Array, qdd: Array) -> list[Any]:
    """O(n^4): every D_ij and D_ijk = sum_p tr(U_pjk J_p U_pi^T) as it is written (Uicker 1965, Kahn 1969)."""
    U = first_derivatives(arm)
    V = second_derivatives(arm, U)
    tau = []
    for i in range(arm.n):
        total = 0.0
        for p in range(i, arm.n):
            for j in range(p + 1):
                total = total + (U[p][j] @ arm.J[p] @ U[p][i].T).trace() * qdd[j]
                for k in range(p + 1):
                    Vjk = V[p][max(j, k)][min(j, k)]
                    total = total + (Vjk @ arm.J[p] @ U[p][i].T).trace() * (qd[j] * qd[k])
            total = total - arm.m[p] * (arm.gravity @ (U[p][i] @ arm.r[p]))
        tau.append(total)
    return tau


def lagrange_summed(arm: Arm, qd: Array, qdd: Array) -> list[Any]:
    """O(n^3): the same, over j and k first: W_p'' = sum_j U_pj qdd_j + sum_jk U_pjk qd_j qd_k, then one trace per i."""
    U = first_derivatives(arm)
    V = second_derivatives(arm, U)
    tau = [0.0] * arm.n
    for p in range(arm.n):
        W2 = sum(U[p][j] * qdd[j] for j in range(p + 1))
        for j in range(p + 1):
            for k in range(j + 1):
                W2 = W2 + V[p][j][k] * (qd[j] * qd[k] * (1 if j == k else 2))
        add(tau, arm, p, U[p], W2)
    return tau


def lagrange_waters(arm: Arm, qd: Array, qdd: Array) -> list[Any]:
    """O(n^2): W_p'' by recursion from link to link, one trace per pair of joint and link (Waters 1979)."""
    U, tau = first_derivatives(arm), [0.0] * arm.n
    for p, W2 in enumerate(accelerations(arm, chains(arm), qd, qdd)):
        add(tau, arm, p, U[p], W2)
    return tau


def lagrange_recursive(arm: Arm, qd: Array, qdd: Array) -> list[Any]:
    """O(n): W_p'' outwards, then what lies beyond a joint gathered inwards (Hollerbach 1980)."""
    W = chains(arm)
    W2 = accelerations(arm, W, qd, qdd)
    tau: list[Any] = [0.0] * arm.n
    D, c = None, None
    for i in range(arm.n - 1, -1, -1):
        own, moment = arm.J[i] @ W2[i].T, arm.r[i] * arm.m[i]
        D, c = (own, moment) if D is None else (own + arm.T[i + 1] @ D, moment + arm.T[i + 1] @ c)
        U = turned(W[i])
        tau[i] = trace_of_product(U, D.T) - arm.gravity @ (U @ c)
    return tau


def accelerations(arm: Arm, W: list[Array], qd: Array, qdd: Array) -> list[Array]:
    """Return W_1'' ... W_n'' (time derivatives), each from the link before."""
    found: list[Array] = []
    W1 = turned(W[0]) * qd[0]
    W2 = turned(W[0]) * qdd[0] + turned(turned(W[0])) * (qd[0] * qd[0])
    found.append(W2)
    for p in range(1, arm.n):
        carried = W1 @ arm.T[p]
        own = turned(W[p])
        W2 = W2 @ arm.T[p] + turned(carried) * (2 * qd[p]) + turned(own) * (qd[p] * qd[p]) + own * qdd[p]
        W1 = carried + own * qd[p]
        found.append(W2)
    return found


def add(tau: list[Any], arm: Arm, p: int, U: list[Array], W2: Array) -> None:
    """Add what link p contributes to each joint that carries it: tr(W_p'' J_p U_pi^T) - m_p g^T U_pi r_p."""
    inertia = W2 @ arm.J[p]
    for i, Ui in enumerate(U):
        tau[i] = tau[i] + trace_of_product(inertia, Ui) - arm.m[p] * (arm.gravity @ (Ui @ arm.r[p]))


def newton_euler(arm: Arm, qd: Array, qdd: Array) -> list[Any]:
    """O(n): velocities and accelerations outwards, forces and moments inwards (Luh, Walker, Paul 1980)."""
    R = [T[:3, :3] for T in arm.T]
    o = [T[:3, 3] for T in arm.T]
    c = [r[:3] for r in arm.r]
    w = al = np.zeros(3)
    a = -arm.gravity[:3]
    F, N = [], []
    for i in range(arm.n):
        if i == 0:
            a = R[0].T @ a
            w, al = np.array([0.0, 0.0, qd[0]]), np.array([0.0, 0.0, qdd[0]])
        else:
            a = R[i].T @ (a + cross(al, o[i]) + cross(w, cross(w, o[i])))
            w0, al0 = R[i].T @ w, R[i].T @ al
            # w0 x (z qd) = (w0_y qd, -w0_x qd, 0)
            al = np.array([al0[0] + w0[1] * qd[i], al0[1] - w0[0] * qd[i], al0[2] + qdd[i]])
            w = np.array([w0[0], w0[1], w0[2] + qd[i]])
        F.append((a + cross(al, c[i]) + cross(w, cross(w, c[i]))) * arm.m[i])
        N.append(arm.I[i] @ al + cross(w, arm.I[i] @ w))
    tau: list[Any] = [0.0] * arm.n
    f, t = None, None
    for i in range(arm.n - 1, -1, -1):
        own = N[i] + cross(c[i], F[i])
        if f is None:
            f, t = F[i], own
        else:
            f0 = R[i + 1] @ f
            t = own + R[i + 1] @ t + cross(o[i + 1], f0)
            f = F[i] + f0
        tau[i] = t[2]
    return tau


def cross(a: Array, b: Array) -> Array:
    return np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])
