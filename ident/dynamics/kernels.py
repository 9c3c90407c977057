"""Compiled sweeps over the tree, one sample at a time, samples spread over the cores.

For link i with angular velocity w, angular acceleration al and acceleration a of its frame's origin
(gravity subtracted), the wrench that its parameters (m, h, I) ask for at that origin is

    f = m a + al x h + w x (w x h)            n = I al + w x (I w) + h x a

or f = m a + B h, n = G I + h x a, linear in the parameters. Joint j, whose unit twist seen in frame i is
(u, v), feels u.n + v.f. Collected by parameter:

    m: v.a     h: a x u + B^T v     I: G^T u

which is one row of ten numbers for every pair of a link and a joint that carries it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, prange

# Multiply-adds may be fused; nothing else is reordered, so results do not depend on the machine's mood.
_FAST = {"contract"}
_CHUNK = 256


@njit(inline="always")
def _link_pose(tree: Any, i: int, q: float, rot: Any, pos: Any) -> None:
    """Write link i's frame seen from its parent's frame into rot (3, 3) and pos (3,)."""
    r0 = tree.rotation[i]
    x, y, z = tree.axis[i, 0], tree.axis[i, 1], tree.axis[i, 2]
    if tree.turning[i] == 1:
        s, c = np.sin(q), np.cos(q)
        k = 1.0 - c
        e00, e01, e02 = c + k * x * x, k * x * y - s * z, k * x * z + s * y
        e10, e11, e12 = k * x * y + s * z, c + k * y * y, k * y * z - s * x
        e20, e21, e22 = k * x * z - s * y, k * y * z + s * x, c + k * z * z
        px, py, pz = tree.point[i, 0], tree.point[i, 1], tree.point[i, 2]
        dx = px - (e00 * px + e01 * py + e02 * pz)
        dy = py - (e10 * px + e11 * py + e12 * pz)
        dz = pz - (e20 * px + e21 * py + e22 * pz)
        for a in range(3):
            rot[a, 0] = r0[a, 0] * e00 + r0[a, 1] * e10 + r0[a, 2] * e20
            rot[a, 1] = r0[a, 0] * e01 + r0[a, 1] * e11 + r0[a, 2] * e21
            rot[a, 2] = r0[a, 0] * e02 + r0[a, 1] * e12 + r0[a, 2] * e22
            pos[a] = tree.position[i, a] + r0[a, 0] * dx + r0[a, 1] * dy + r0[a, 2] * dz
    else:
        for a in range(3):
            for b in range(3):
                rot[a, b] = r0[a, b]
            pos[a] = tree.position[i, a] + (r0[a, 0] * x + r0[a, 1] * y + r0[a, 2] * z) * q


@njit(inline="always")
def _cross(ax: float, ay: float, az: float, bx: float, by: float, bz: float) -> Any:
    return ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx


@njit(inline="always")
def _into(rot: Any, x: float, y: float, z: float) -> Any:
    """Return rot^T (x, y, z): a vector of the parent's frame seen in the child's."""
    return (
        rot[0, 0] * x + rot[1, 0] * y + rot[2, 0] * z,
        rot[0, 1] * x + rot[1, 1] * y + rot[2, 1] * z,
        rot[0, 2] * x + rot[1, 2] * y + rot[2, 2] * z,
    )


@njit(inline="always")
def _motion(tree: Any, i: int, qd: float, qdd: float, rot: Any, pos: Any, w: Any, al: Any, a: Any) -> None:
    """Write w, al, a of link i (rows i of (n, 3)) from those of its parent."""
    p = tree.parent[i]
    ux, uy, uz = tree.angular[i, 0], tree.angular[i, 1], tree.angular[i, 2]
    vx, vy, vz = tree.linear[i, 0], tree.linear[i, 1], tree.linear[i, 2]
    if p < 0:
        g = tree.gravity
        wx = wy = wz = lx = ly = lz = 0.0
        ax, ay, az = _into(rot, -g[0], -g[1], -g[2])
    else:
        qx, qy, qz = w[p, 0], w[p, 1], w[p, 2]
        px, py, pz = pos[0], pos[1], pos[2]
        cx, cy, cz = _cross(qx, qy, qz, px, py, pz)
        dx, dy, dz = _cross(qx, qy, qz, cx, cy, cz)
        tx, ty, tz = _cross(al[p, 0], al[p, 1], al[p, 2], px, py, pz)
        ax, ay, az = _into(rot, a[p, 0] + tx + dx, a[p, 1] + ty + dy, a[p, 2] + tz + dz)
        wx, wy, wz = _into(rot, qx, qy, qz)
        lx, ly, lz = _into(rot, al[p, 0], al[p, 1], al[p, 2])
    ex, ey, ez = _cross(wx, wy, wz, ux * qd, uy * qd, uz * qd)
    fx, fy, fz = _cross(wx, wy, wz, vx * qd, vy * qd, vz * qd)
    gx, gy, gz = _cross(ux, uy, uz, vx, vy, vz)
    w[i, 0], w[i, 1], w[i, 2] = wx + ux * qd, wy + uy * qd, wz + uz * qd
    al[i, 0], al[i, 1], al[i, 2] = lx + ex + ux * qdd, ly + ey + uy * qdd, lz + ez + uz * qdd
    a[i, 0] = ax + 2.0 * fx + vx * qdd + gx * qd * qd
    a[i, 1] = ay + 2.0 * fy + vy * qdd + gy * qd * qd
    a[i, 2] = az + 2.0 * fz + vz * qdd + gz * qd * qd


@njit(parallel=True, cache=True, fastmath=_FAST, error_model="numpy")
def regressor_rows(tree: Any, q: Any, qd: Any, qdd: Any, column: Any, out: Any) -> None:
    """Write the rigid-body regressor of every sample into the rows of out (N, n_columns).

    column (n, n, 10), unsigned: where parameter k of link i in the equation of joint j goes; columns that
    no pair of link and carrying joint names become 0.
    """
    n = q.shape[1]
    samples = q.shape[0]
    chunks = (samples + _CHUNK - 1) // _CHUNK
    for chunk in prange(chunks):
        rot = np.empty((3, 3))
        pos = np.empty(3)
        w = np.empty((n, 3))
        al = np.empty((n, 3))
        a = np.empty((n, 3))
        u = np.empty((n, n, 3))  # u[i, j], v[i, j]: unit twist of joint j in frame i
        v = np.empty((n, n, 3))
        row = np.zeros(out.shape[1])  # filled here, in the cache, and written out in one go
        for s in range(chunk * _CHUNK, min(samples, (chunk + 1) * _CHUNK)):
            for i in range(n):
                _link_pose(tree, i, q[s, i], rot, pos)
                _motion(tree, i, qd[s, i], qdd[s, i], rot, pos, w, al, a)
                p = tree.parent[i]
                j = p
                while j >= 0:
                    ux, uy, uz = u[p, j, 0], u[p, j, 1], u[p, j, 2]
                    cx, cy, cz = _cross(ux, uy, uz, pos[0], pos[1], pos[2])
                    u[i, j, 0], u[i, j, 1], u[i, j, 2] = _into(rot, ux, uy, uz)
                    v[i, j, 0], v[i, j, 1], v[i, j, 2] = _into(rot, v[p, j, 0] + cx, v[p, j, 1] + cy, v[p, j, 2] + cz)
                    j = tree.parent[j]
                for k in range(3):
                    u[i, i, k] = tree.angular[i, k]
                    v[i, i, k] = tree.linear[i, k]
                wx, wy, wz = w[i, 0], w[i, 1], w[i, 2]
                lx, ly, lz = al[i, 0], al[i, 1], al[i, 2]
                ax, ay, az = a[i, 0], a[i, 1], a[i, 2]
                # B = [al]x + [w]x [w]x, so that f = m a + B h
                xx, yy, zz, xy, xz, yz = wx * wx, wy * wy, wz * wz, wx * wy, wx * wz, wy * wz
                b00, b01, b02 = -yy - zz, xy - lz, xz + ly
                b10, b11, b12 = xy + lz, -xx - zz, yz - lx
                b20, b21, b22 = xz - ly, yz + lx, -xx - yy
                # I al + w x (I w) = G (Ixx, Ixy, Ixz, Iyy, Iyz, Izz)
                g01, g02, g03, g04, g05 = ly - xz, lz + xy, -yz, yy - zz, yz
                g10, g11, g12, g14, g15 = xz, lx + yz, zz - xx, lz - xy, -xz
                g20, g21, g22, g23, g24 = -xy, xx - yy, lx - yz, xy, ly + xz
                j = i
                while j >= 0:
                    ux, uy, uz = u[i, j, 0], u[i, j, 1], u[i, j, 2]
                    vx, vy, vz = v[i, j, 0], v[i, j, 1], v[i, j, 2]
                    to = column[j, i]
                    row[to[0]] = vx * ax + vy * ay + vz * az
                    row[to[1]] = ay * uz - az * uy + vx * b00 + vy * b10 + vz * b20
                    row[to[2]] = az * ux - ax * uz + vx * b01 + vy * b11 + vz * b21
                    row[to[3]] = ax * uy - ay * ux + vx * b02 + vy * b12 + vz * b22
                    row[to[4]] = ux * lx + uy * g10 + uz * g20
                    row[to[5]] = ux * g01 + uy * g11 + uz * g21
                    row[to[6]] = ux * g02 + uy * g12 + uz * g22
                    row[to[7]] = ux * g03 + uy * ly + uz * g23
                    row[to[8]] = ux * g04 + uy * g14 + uz * g24
                    row[to[9]] = ux * g05 + uy * g15 + uz * lz
                    j = tree.parent[j]
            for k in range(row.size):
                out[s, k] = row[k]


@njit(parallel=True, cache=True, fastmath=_FAST, error_model="numpy")
def inverse_dynamics_rows(tree: Any, parameters: Any, q: Any, qd: Any, qdd: Any, out: Any) -> None:
    """Write the joint torques of every sample into out (N, n), from parameters (n, 10)."""
    n = q.shape[1]
    samples = q.shape[0]
    chunks = (samples + _CHUNK - 1) // _CHUNK
    for chunk in prange(chunks):
        rot = np.empty((n, 3, 3))
        pos = np.empty((n, 3))
        w = np.empty((n, 3))
        al = np.empty((n, 3))
        a = np.empty((n, 3))
        f = np.empty((n, 3))
        t = np.empty((n, 3))
        for s in range(chunk * _CHUNK, min(samples, (chunk + 1) * _CHUNK)):
            for i in range(n):
                _link_pose(tree, i, q[s, i], rot[i], pos[i])
                _motion(tree, i, qd[s, i], qdd[s, i], rot[i], pos[i], w, al, a)
                m, hx, hy, hz, xx, xy, xz, yy, yz, zz = parameters[i]
                wx, wy, wz = w[i, 0], w[i, 1], w[i, 2]
                lx, ly, lz = al[i, 0], al[i, 1], al[i, 2]
                ax, ay, az = a[i, 0], a[i, 1], a[i, 2]
                cx, cy, cz = _cross(lx, ly, lz, hx, hy, hz)
                dx, dy, dz = _cross(wx, wy, wz, hx, hy, hz)
                dx, dy, dz = _cross(wx, wy, wz, dx, dy, dz)
                f[i, 0], f[i, 1], f[i, 2] = m * ax + cx + dx, m * ay + cy + dy, m * az + cz + dz
                ix, iy, iz = xx * wx + xy * wy + xz * wz, xy * wx + yy * wy + yz * wz, xz * wx + yz * wy + zz * wz
                cx, cy, cz = _cross(wx, wy, wz, ix, iy, iz)
                dx, dy, dz = _cross(hx, hy, hz, ax, ay, az)
                t[i, 0] = xx * lx + xy * ly + xz * lz + cx + dx
                t[i, 1] = xy * lx + yy * ly + yz * lz + cy + dy
                t[i, 2] = xz * lx + yz * ly + zz * lz + cz + dz
            for i in range(n - 1, -1, -1):
                out[s, i] = (
                    tree.angular[i, 0] * t[i, 0]
                    + tree.angular[i, 1] * t[i, 1]
                    + tree.angular[i, 2] * t[i, 2]
                    + tree.linear[i, 0] * f[i, 0]
                    + tree.linear[i, 1] * f[i, 1]
                    + tree.linear[i, 2] * f[i, 2]
                )
                p = tree.parent[i]
                if p >= 0:
                    r = rot[i]
                    for b in range(3):
                        f[p, b] += r[b, 0] * f[i, 0] + r[b, 1] * f[i, 1] + r[b, 2] * f[i, 2]
                        t[p, b] += r[b, 0] * t[i, 0] + r[b, 1] * t[i, 1] + r[b, 2] * t[i, 2]
                    gx = r[0, 0] * f[i, 0] + r[0, 1] * f[i, 1] + r[0, 2] * f[i, 2]
                    gy = r[1, 0] * f[i, 0] + r[1, 1] * f[i, 1] + r[1, 2] * f[i, 2]
                    gz = r[2, 0] * f[i, 0] + r[2, 1] * f[i, 1] + r[2, 2] * f[i, 2]
                    cx, cy, cz = _cross(pos[i, 0], pos[i, 1], pos[i, 2], gx, gy, gz)
                    t[p, 0] += cx
                    t[p, 1] += cy
                    t[p, 2] += cz
