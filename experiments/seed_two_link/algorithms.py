"""Seven ways from motion to the torques of a serial arm, and four from torques to motion, plainly, in any number type.

All joints turn about z of their link's frame. An arm is given by the links' transforms T_1 ... T_n (4, 4) at q, seen
from the link before, masses, centres (4,) with a 1 at the end, pseudo-inertias J (4, 4) and tensors about the centres.
W_p = T_1 ... T_p, U_pj = dW_p/dq_j, U_pjk = d2W_p/dq_j dq_k; a derivative by q_j puts Q behind T_j.

The first four are Lagrange's equations, summed in different orders (compared by Hollerbach, IEEE Trans. SMC 10 (1980)),
then come Newton-Euler and Kane's equations (Kane, Levinson: Dynamics, 1985, sections 2.14 and 6.1). From torques to
motion lead Newton-Euler called n + 1 times and Gauss's principle of least constraint (Lanczos: The Variational
Principles of Mechanics, IV.8): of all accelerations that the joints allow, the true ones make Z = integral |a - f|^2
dm / 2 smallest, with f what the impressed forces alone would give to the mass.
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


# ---- Kane: partial velocities ---------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Moving:
    """A link in the base's axes. A partial velocity is what a unit speed of one joint gives."""

    axes: Array  # (3, 3), columns; the last is the joint's axis, partial angular velocity of all links it carries
    origin: Array
    centre: Array
    I: Array  # about the centre  # noqa: E741
    w: Array
    alpha: Array
    a: Array  # of the centre, less gravity


def moving(arm: Arm, qd: Array, qdd: Array) -> list[Moving]:
    """Return every link's velocities and accelerations, outwards once."""
    links: list[Moving] = []
    none = arm.gravity[:3] * 0
    o, w, al, a = none, none, none, -arm.gravity[:3]  # of the link's origin
    for W, r, I, rate, change in zip(chains(arm), arm.r, arm.I, qd, qdd, strict=True):  # noqa: E741
        R, z, step = W[:3, :3], W[:3, 2], W[:3, 3] - o
        a = a + cross(al, step) + cross(w, cross(w, step))
        o = W[:3, 3]
        al = al + z * change + cross(w, z * rate)
        w = w + z * rate
        c = R @ r[:3]
        links.append(Moving(R, o, o + c, R @ I @ R.T, w, al, a + cross(al, c) + cross(w, cross(w, c))))
    return links


def partial_velocity(links: list[Moving], p: int, j: int) -> Array:
    """Return the velocity of the centre of link p for a unit speed of joint j <= p."""
    return cross(links[j].axes[:, 2], links[p].centre - links[j].origin)


def inertia_force(link: Moving, m: Any) -> tuple[Array, Array]:
    """Return the resistance to the link's motion: force through its centre (gravity taken off), and moment."""
    return link.a * m, link.I @ link.alpha + cross(link.w, link.I @ link.w)


def kane(arm: Arm, qd: Array, qdd: Array) -> list[Any]:
    """O(n^2): active and inertia forces of every link on the partial velocities of every joint that carries it."""
    links = moving(arm, qd, qdd)
    tau: list[Any] = [0] * arm.n
    for p, link in enumerate(links):
        F, N = inertia_force(link, arm.m[p])
        for j in range(p + 1):
            tau[j] = tau[j] + F @ partial_velocity(links, p, j) + N @ links[j].axes[:, 2]
    return tau


def kane_gathered(arm: Arm, qd: Array, qdd: Array) -> list[Any]:
    """O(n): the same sums, those of all links beyond a joint gathered inwards, about the base's origin."""
    links = moving(arm, qd, qdd)
    tau: list[Any] = [0] * arm.n
    F = N = arm.gravity[:3] * 0
    for j in range(arm.n - 1, -1, -1):
        force, moment = inertia_force(links[j], arm.m[j])
        F, N = F + force, N + moment + cross(links[j].centre, force)
        tau[j] = links[j].axes[:, 2] @ (N - cross(links[j].origin, F))
    return tau


# ---- from torques to motion -----------------------------------------------------------------------------------------


def newton_euler_solved(arm: Arm, qd: Array, tau: Array) -> list[Any]:
    """O(n^3): bias and columns of D by n + 1 calls, then elimination (Walker, Orin 1982, method 1)."""
    still = Arm(arm.T, arm.m, arm.r, arm.J, arm.I, arm.gravity * 0)
    rest = [0.0] * arm.n
    D = [newton_euler(still, rest, row) for row in np.eye(arm.n)]
    return eliminate(np.array(D), np.array(tau) - np.array(newton_euler(arm, qd, rest)))


def constraint(arm: Arm, qd: Array, qdd: Array, tau: Array) -> Any:
    """Return Gauss's Z of accelerations that keep the joints, less what does not depend on them."""
    Z: Any = 0
    for link, m in zip(moving(arm, qd, qdd), arm.m, strict=True):
        Z = Z + (link.a @ link.a) * m / 2 + link.alpha @ (link.I @ link.alpha) / 2
        Z = Z + link.alpha @ cross(link.w, link.I @ link.w)
    return Z - np.array(tau) @ np.array(qdd)


def gauss(arm: Arm, qd: Array, tau: Array) -> list[Any]:
    """O(n^3): Z over the joints' accelerations. It is a quadratic form: sums over pairs of joints, then elimination."""
    links = moving(arm, qd, [0.0] * arm.n)
    D, b = np.array([[0.0] * arm.n] * arm.n, dtype=arm.T[0].dtype), np.array(tau)
    for p, link in enumerate(links):
        F, N = inertia_force(link, arm.m[p])
        V = np.array([partial_velocity(links, p, j) for j in range(p + 1)])
        A = np.array([links[j].axes[:, 2] for j in range(p + 1)])
        D[: p + 1, : p + 1] = D[: p + 1, : p + 1] + V @ (V * arm.m[p]).T + A @ (link.I @ A.T)
        b[: p + 1] = b[: p + 1] - V @ F - A @ N
    return eliminate(D, b)


def gauss_free(arm: Arm, qd: Array, tau: Array) -> tuple[list[Any], Array]:
    """O(n^3): Z over all 6 n accelerations of the links, the joints as 5 n conditions with multipliers.

    Returns also the multipliers (n, 5): minus what each joint exerts on its link, the force [N] in the base's axes and
    two moments [N m] across the axis, in the link's x and y.
    """
    n, links = arm.n, moving(arm, qd, [0.0] * arm.n)
    K = np.array([[0.0] * (11 * n)] * (11 * n), dtype=arm.T[0].dtype)
    b = K[0] * 0
    for p, link in enumerate(links):
        own, rows = slice(6 * p, 6 * p + 6), slice(6 * n + 5 * p, 6 * n + 5 * p + 5)
        K[own, own] = block(np.eye(3) * arm.m[p], np.zeros((3, 3)), np.zeros((3, 3)), link.I)
        z = link.axes[:, 2]
        b[6 * p : 6 * p + 3] = arm.gravity[:3] * arm.m[p]
        b[6 * p + 3 : 6 * p + 6] = z * tau[p] - cross(link.w, link.I @ link.w)
        if p + 1 < n:
            b[6 * p + 3 : 6 * p + 6] = b[6 * p + 3 : 6 * p + 6] - links[p + 1].axes[:, 2] * tau[p + 1]
        # the joint's point has one acceleration, and the link turns against the one before about z only
        held, across = link.origin - link.centre, link.axes[:, :2].T
        K[rows, own] = joint_rows(held, across)
        b[rows][:3] = -cross(link.w, cross(link.w, held))
        if p:
            before = links[p - 1]
            held = link.origin - before.centre
            K[rows, slice(6 * p - 6, 6 * p)] = -joint_rows(held, across)
            b[rows][:3] = b[rows][:3] + cross(before.w, cross(before.w, held))
            b[rows][3:] = across @ cross(before.w, z * qd[p])
    K[: 6 * n, 6 * n :] = K[6 * n :, : 6 * n].T
    x = np.array(eliminate(K, b))
    alpha = x[: 6 * n].reshape(n, 6)[:, 3:]
    qdd = [links[p].axes[:, 2] @ (alpha[p] - alpha[p - 1] if p else alpha[p]) for p in range(n)]
    return qdd, x[6 * n :].reshape(n, 5)


def gauss_recursive(arm: Arm, qd: Array, tau: Array) -> list[Any]:
    """O(n): Z minimised joint by joint from the tip; a quadratic form of the link before's acceleration is left.

    Bellman's dynamic programming on Gauss's principle (Vereshchagin, Engineering Cybernetics 12 (1974)); Featherstone
    found the same recursion in 1983 as articulated bodies. Accelerations (6,) are angular and of the base's origin.
    """
    links = moving(arm, qd, [0.0] * arm.n)
    V = np.concatenate([arm.gravity[:3] * 0] * 2)
    S, drift, form, linear = [], [], [], []
    for p, link in enumerate(links):
        z = link.axes[:, 2]
        S.append(np.concatenate([z, cross(link.origin, z)]))
        drift.append(np.concatenate([cross(V[:3], S[p][:3]), cross(V[:3], S[p][3:]) + cross(V[3:], S[p][:3])]) * qd[p])
        V = V + S[p] * qd[p]
        C = skew(link.centre) * arm.m[p]
        form.append(block(link.I - C @ skew(link.centre), C, -C, np.eye(3) * arm.m[p]))
        P = form[p] @ V  # momentum about the base's origin
        linear.append(np.concatenate([cross(V[:3], P[:3]) + cross(V[3:], P[3:]), cross(V[:3], P[3:])]))
    steps: list[Any] = [None] * arm.n
    for p in range(arm.n - 1, -1, -1):  # least over qdd_p of A' form A / 2 + linear A - tau qdd, A = before + S qdd
        U = form[p] @ S[p]
        d, u = S[p] @ U, tau[p] - S[p] @ linear[p]
        steps[p] = (U, d, u)
        if p:
            kept = form[p] - np.outer(U, U / d)
            linear[p - 1] = linear[p - 1] + linear[p] + kept @ drift[p] + U * (u / d)
            form[p - 1] = form[p - 1] + kept
    A = np.concatenate([arm.gravity[:3] * 0, -arm.gravity[:3]])
    qdd = []
    for p, (U, d, u) in enumerate(steps):
        A = A + drift[p]
        qdd.append((u - U @ A) / d)
        A = A + S[p] * qdd[p]
    return qdd


def joint_rows(held: Array, across: Array) -> Array:
    """Return (5, 6): acceleration of a point held from a centre, and angular acceleration along two directions."""
    return block(np.eye(3), -skew(held), np.zeros((2, 3)), across)


def block(a: Array, b: Array, c: Array, d: Array) -> Array:
    return np.concatenate([np.concatenate([a, b], axis=1), np.concatenate([c, d], axis=1)])


def skew(a: Array) -> Array:
    return np.array([[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]])


def eliminate(A: Array, b: Array) -> list[Any]:
    """Return x of A x = b by Gauss's elimination in the given order."""
    A, b, n = A.copy(), b.copy(), len(b)
    for k in range(n):
        factor = A[k + 1 :, k] / A[k, k]
        A[k + 1 :, k + 1 :] = A[k + 1 :, k + 1 :] - np.outer(factor, A[k, k + 1 :])
        b[k + 1 :] = b[k + 1 :] - factor * b[k]
    for k in range(n - 1, -1, -1):
        b[k] = (b[k] - A[k, k + 1 :] @ b[k + 1 :] if k + 1 < n else b[k]) / A[k, k]
    return list(b)
