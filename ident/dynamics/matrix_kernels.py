"""Compiled sums over the tree for D, C and the Christoffel symbols, and the places of links, in the axes of the base.

T_l (4, 4) is the frame of link l, J_l its pseudo-inertia and S_i (4, 4) the twist of joint i, all seen from the base.
Joint i moves every link l it carries by dT_l/dq_i = S_i T_l, and with i nearer the base than j, or equal to it,
d2T_l/dq_i dq_j = S_i S_j T_l. The kinetic energy is sum_l tr(T_l' J_l T_l'^T) / 2, so with M_l = T_l J_l T_l^T

    d_jk  = sum_l tr(S_j M_l S_k^T)                           over the links carried by both
    c_ijk = sum_l tr(S_i S_j M_l S_k^T)                       over the links carried by all three
    c_kj  = sum_l tr((S_j' + S_j V_l) M_l S_k^T)              = sum_i c_ijk qd_i, V_l the twist of link l

(Uicker 1965 for the trace form; Echeandia and Wensing, J. Comput. Nonlinear Dyn. 16 (2021), for the sums carried up
the tree, which make C cost n times the depth). For any M, tr(S_j M S_k^T) is the twist (u, v) of joint k times the
wrench that M and joint j make: `_wrench`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import prange

from ident.jit import cached_njit

_FAST = {"contract"}
_CHUNK = 64


@cached_njit(fastmath=_FAST, error_model="numpy")
def place_links(tree: Any, q: Any, pose: Any, twist: Any) -> None:
    """Write the links' frames seen from the base into pose (n, 3, 4) and the joints' twists into twist (n, 6).

    A twist is the angular velocity, then the linear velocity of the point passing the base's origin, per unit of qd.
    """
    move = np.empty((3, 4))  # the joint's own motion, seen in the link's frame at q = 0
    at = np.empty((3, 4))  # the link's frame seen from its parent's
    for i in range(q.size):
        x, y, z = tree.axis[i]
        if tree.turning[i] == 1:
            s, c = np.sin(q[i]), np.cos(q[i])
            k = 1.0 - c
            px, py, pz = tree.point[i]
            move[0, 0], move[0, 1], move[0, 2] = c + k * x * x, k * x * y - s * z, k * x * z + s * y
            move[1, 0], move[1, 1], move[1, 2] = k * x * y + s * z, c + k * y * y, k * y * z - s * x
            move[2, 0], move[2, 1], move[2, 2] = k * x * z - s * y, k * y * z + s * x, c + k * z * z
            for a in range(3):
                move[a, 3] = tree.point[i, a] - (move[a, 0] * px + move[a, 1] * py + move[a, 2] * pz)
        else:
            for a in range(3):
                for b in range(3):
                    move[a, b] = 1.0 if a == b else 0.0
                move[a, 3] = tree.axis[i, a] * q[i]
        p = tree.parent[i]
        to = pose[i] if p < 0 else at
        r = tree.rotation[i]
        for a in range(3):
            for b in range(4):
                to[a, b] = r[a, 0] * move[0, b] + r[a, 1] * move[1, b] + r[a, 2] * move[2, b]
            to[a, 3] += tree.position[i, a]
        t = pose[i]
        if p >= 0:
            r = pose[p]
            for a in range(3):
                for b in range(4):
                    t[a, b] = r[a, 0] * at[0, b] + r[a, 1] * at[1, b] + r[a, 2] * at[2, b]
                t[a, 3] += r[a, 3]
        for a in range(3):
            u, v = tree.angular[i], tree.linear[i]
            twist[i, a] = t[a, 0] * u[0] + t[a, 1] * u[1] + t[a, 2] * u[2]
            twist[i, 3 + a] = t[a, 0] * v[0] + t[a, 1] * v[1] + t[a, 2] * v[2]
        cx, cy, cz = _cross(t[0, 3], t[1, 3], t[2, 3], twist[i, 0], twist[i, 1], twist[i, 2])
        twist[i, 3] += cx
        twist[i, 4] += cy
        twist[i, 5] += cz


@cached_njit(fastmath=_FAST, error_model="numpy")
def _cross(ax: float, ay: float, az: float, bx: float, by: float, bz: float) -> Any:
    return ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx


@cached_njit(fastmath=_FAST, error_model="numpy")
def _velocities(tree: Any, twist: Any, qd: Any, velocity: Any, drift: Any) -> None:
    """Write the links' twists V and the rates of the joints' twists, S_i' = V_i S_i - S_i V_i, each (n, 6)."""
    for i in range(qd.size):
        p = tree.parent[i]
        for a in range(6):
            velocity[i, a] = twist[i, a] * qd[i] + (velocity[p, a] if p >= 0 else 0.0)
        wx, wy, wz, vx, vy, vz = velocity[i]
        ux, uy, uz, lx, ly, lz = twist[i]
        drift[i, 0], drift[i, 1], drift[i, 2] = _cross(wx, wy, wz, ux, uy, uz)
        ax, ay, az = _cross(wx, wy, wz, lx, ly, lz)
        bx, by, bz = _cross(vx, vy, vz, ux, uy, uz)
        drift[i, 3], drift[i, 4], drift[i, 5] = ax + bx, ay + by, az + bz


@cached_njit(fastmath=_FAST, error_model="numpy")
def _moments(pseudo_inertias: Any, pose: Any, moment: Any) -> None:
    """Write M = T J T^T of every link into moment (n, 4, 4); pseudo_inertias (n, 4, 4) are the J."""
    half = np.empty((3, 4))
    for i in range(len(pseudo_inertias)):
        j, t, m = pseudo_inertias[i], pose[i], moment[i]
        for a in range(3):
            for b in range(4):
                half[a, b] = t[a, 0] * j[0, b] + t[a, 1] * j[1, b] + t[a, 2] * j[2, b] + t[a, 3] * j[3, b]
        for a in range(3):
            for b in range(a + 1):
                m[a, b] = half[a, 0] * t[b, 0] + half[a, 1] * t[b, 1] + half[a, 2] * t[b, 2] + half[a, 3] * t[b, 3]
                m[b, a] = m[a, b]
            m[a, 3] = m[3, a] = half[a, 3]
        m[3, 3] = j[3, 3]


@cached_njit(fastmath=_FAST, error_model="numpy")
def _times(twist: Any, m: Any, out: Any) -> None:
    """Write S M into out (4, 4) for the twist S = [[u]x, v; 0, 0]."""
    ux, uy, uz, vx, vy, vz = twist
    for b in range(4):
        cx, cy, cz = _cross(ux, uy, uz, m[0, b], m[1, b], m[2, b])
        out[0, b], out[1, b], out[2, b], out[3, b] = cx + vx * m[3, b], cy + vy * m[3, b], cz + vz * m[3, b], 0.0


@cached_njit(fastmath=_FAST, error_model="numpy")
def _wrench(m: Any, twist: Any) -> Any:
    """Return (n, f) with tr(S M S_k^T) = u_k.n + v_k.f: for M = [[A, h], [g^T, m]]

    n = tr(A) u - A u + g x v        f = u x h + m v
    """
    ux, uy, uz, vx, vy, vz = twist
    trace = m[0, 0] + m[1, 1] + m[2, 2]
    nx, ny, nz = _cross(m[3, 0], m[3, 1], m[3, 2], vx, vy, vz)
    fx, fy, fz = _cross(ux, uy, uz, m[0, 3], m[1, 3], m[2, 3])
    return (
        trace * ux - (m[0, 0] * ux + m[0, 1] * uy + m[0, 2] * uz) + nx,
        trace * uy - (m[1, 0] * ux + m[1, 1] * uy + m[1, 2] * uz) + ny,
        trace * uz - (m[2, 0] * ux + m[2, 1] * uy + m[2, 2] * uz) + nz,
        fx + m[3, 3] * vx,
        fy + m[3, 3] * vy,
        fz + m[3, 3] * vz,
    )


@cached_njit(fastmath=_FAST, error_model="numpy")
def _dot(twist: Any, w: Any) -> Any:
    return twist[0] * w[0] + twist[1] * w[1] + twist[2] * w[2] + twist[3] * w[3] + twist[4] * w[4] + twist[5] * w[5]


@cached_njit(fastmath=_FAST, error_model="numpy")
def _gather(tree: Any, moment: Any) -> None:
    """Add the matrices (n, 4, 4) of all links that a joint carries to that of its own link."""
    for i in range(len(moment) - 1, -1, -1):
        p = tree.parent[i]
        if p >= 0:
            for a in range(4):
                for b in range(4):
                    moment[p, a, b] += moment[i, a, b]


@cached_njit(parallel=True, fastmath=_FAST, error_model="numpy")
def mass_rows(tree: Any, pseudo_inertias: Any, q: Any, out: Any) -> None:
    """Write D of every sample into out (N, n, n), zero before."""
    samples, n = q.shape
    for chunk in prange((samples + _CHUNK - 1) // _CHUNK):
        pose, twist, moment = np.empty((n, 3, 4)), np.empty((n, 6)), np.empty((n, 4, 4))
        for s in range(chunk * _CHUNK, min(samples, (chunk + 1) * _CHUNK)):
            place_links(tree, q[s], pose, twist)
            _moments(pseudo_inertias, pose, moment)
            _gather(tree, moment)
            for j in range(n):
                w = _wrench(moment[j], twist[j])
                k = j
                while k >= 0:
                    out[s, j, k] = out[s, k, j] = _dot(twist[k], w)
                    k = tree.parent[k]


@cached_njit(parallel=True, fastmath=_FAST, error_model="numpy")
def coriolis_rows(tree: Any, pseudo_inertias: Any, q: Any, qd: Any, out: Any) -> None:
    """Write C of every sample into out (N, n, n), zero before."""
    samples, n = q.shape
    for chunk in prange((samples + _CHUNK - 1) // _CHUNK):
        pose, twist, moment = np.empty((n, 3, 4)), np.empty((n, 6)), np.empty((n, 4, 4))
        velocity, drift, rate = np.empty((n, 6)), np.empty((n, 6)), np.empty((n, 4, 4))
        for s in range(chunk * _CHUNK, min(samples, (chunk + 1) * _CHUNK)):
            place_links(tree, q[s], pose, twist)
            _velocities(tree, twist, qd[s], velocity, drift)
            _moments(pseudo_inertias, pose, moment)
            for i in range(n):
                _times(velocity[i], moment[i], rate[i])  # V M
            _gather(tree, moment)
            _gather(tree, rate)
            for i in range(n):
                own = _wrench(moment[i], twist[i])
                back = _wrench(rate[i].T, twist[i])
                left, right = _wrench(moment[i], drift[i]), _wrench(rate[i], twist[i])
                out[s, i, i] = _dot(twist[i], left) + _dot(twist[i], right)
                k = tree.parent[i]
                while k >= 0:
                    out[s, k, i] = _dot(twist[k], left) + _dot(twist[k], right)
                    out[s, i, k] = _dot(drift[k], own) + _dot(twist[k], back)
                    k = tree.parent[k]


@cached_njit(parallel=True, fastmath=_FAST, error_model="numpy")
def christoffel_rows(tree: Any, pseudo_inertias: Any, q: Any, out: Any) -> None:
    """Write c_ijk of every sample into out (N, n, n, n), zero before."""
    samples, n = q.shape
    for chunk in prange((samples + _CHUNK - 1) // _CHUNK):
        pose, twist, moment = np.empty((n, 3, 4)), np.empty((n, 6)), np.empty((n, 4, 4))
        product = np.empty((4, 4))
        for s in range(chunk * _CHUNK, min(samples, (chunk + 1) * _CHUNK)):
            place_links(tree, q[s], pose, twist)
            _moments(pseudo_inertias, pose, moment)
            _gather(tree, moment)
            for last in range(n):  # the farthest of the three joints from the base
                j = last
                while j >= 0:
                    _times(twist[j], moment[last], product)
                    i = j
                    while i >= 0:
                        w = _wrench(product, twist[i])
                        k = last
                        while k >= 0:
                            out[s, i, j, k] = out[s, j, i, k] = _dot(twist[k], w)
                            k = tree.parent[k] if j == last else -1
                        i = tree.parent[i]
                    j = tree.parent[j]


@cached_njit(parallel=True, fastmath=_FAST, error_model="numpy")
def place_rows(tree: Any, q: Any, pose: Any, twist: Any) -> None:
    """Write the links' frames of every sample into pose (N, n, 3, 4), and the joints' twists into twist (N, n, 6)."""
    samples = q.shape[0]
    for chunk in prange((samples + _CHUNK - 1) // _CHUNK):
        for s in range(chunk * _CHUNK, min(samples, (chunk + 1) * _CHUNK)):
            place_links(tree, q[s], pose[s], twist[s])
