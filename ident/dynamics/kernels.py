"""Compiled sweeps over the tree: the regressor and inverse dynamics, eight samples at a time, spread over the cores.

For link i with angular velocity w, angular acceleration al and acceleration a of its frame's origin
(gravity subtracted), the wrench that its inertials (m, h, I) ask for at that origin is

    f = m a + al x h + w x (w x h)            n = I al + w x (I w) + h x a

or f = m a + B h, n = G I + h x a, linear in the inertials. Joint j, whose unit twist seen in frame i is
(u, v), feels u.n + v.f. Collected by parameter:

    m: v.a     h: a x u + B^T v     I: G^T u

which is one row of ten numbers for every pair of a link and a joint that carries it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, prange

from ident.dynamics.packs import LANES, gather, scatter
from ident.dynamics.sweeps import (
    add,
    cross,
    dot,
    link_motion,
    link_pose,
    link_twists,
    load3,
    load9,
    minus,
    row,
    store3,
    symmetric,
    turn,
)
from ident.jit import cached_njit

CHUNK = 256


@njit(error_model="numpy")
def _regressor_block(tree: Any, q: Any, qd: Any, qdd: Any, column: Any, s: int, work: Any, rows: Any) -> None:
    """Write the regressor of samples s to s + 7 into rows (LANES, n_columns)."""
    n = q.shape[1]
    rotation, position, w, al, a, u, v = work
    for i in range(n):
        link_pose(tree, i, gather(q, s, i), rotation, position)
        r, p = load9(rotation, 9 * i), load3(position, 3 * i)
        link_motion(tree, i, gather(qd, s, i), gather(qdd, s, i), r, p, w, al, a)
        link_twists(tree, i, n, r, p, u, v)
        wx, wy, wz = load3(w, 3 * i)
        lx, ly, lz = load3(al, 3 * i)
        ax, ay, az = load3(a, 3 * i)
        # B = [al]x + [w]x [w]x, so that f = m a + B h
        xx, yy, zz, xy, xz, yz = wx * wx, wy * wy, wz * wz, wx * wy, wx * wz, wy * wz
        b00, b01, b02 = -yy - zz, xy - lz, xz + ly
        b10, b11, b12 = xy + lz, -xx - zz, yz - lx
        b20, b21, b22 = xz - ly, yz + lx, -xx - yy
        # I al + w x (I w) = G (Ixx, Ixy, Ixz, Iyy, Iyz, Izz)
        g01, g02, g04 = ly - xz, lz + xy, yy - zz
        g11, g12, g14 = lx + yz, zz - xx, lz - xy
        g21, g22, g24 = xx - yy, lx - yz, ly + xz
        j = i
        while j >= 0:
            ux, uy, uz = load3(u, 3 * (n * i + j))
            vx, vy, vz = load3(v, 3 * (n * i + j))
            to = column[j, i]
            scatter(rows, 0, to[0], vx * ax + vy * ay + vz * az)
            scatter(rows, 0, to[1], ay * uz - az * uy + vx * b00 + vy * b10 + vz * b20)
            scatter(rows, 0, to[2], az * ux - ax * uz + vx * b01 + vy * b11 + vz * b21)
            scatter(rows, 0, to[3], ax * uy - ay * ux + vx * b02 + vy * b12 + vz * b22)
            scatter(rows, 0, to[4], ux * lx + uy * xz - uz * xy)
            scatter(rows, 0, to[5], ux * g01 + uy * g11 + uz * g21)
            scatter(rows, 0, to[6], ux * g02 + uy * g12 + uz * g22)
            scatter(rows, 0, to[7], uy * ly + uz * xy - ux * yz)
            scatter(rows, 0, to[8], ux * g04 + uy * g14 + uz * g24)
            scatter(rows, 0, to[9], ux * yz - uy * xz + uz * lz)
            j = tree.parent[j]


@cached_njit(parallel=True, error_model="numpy")
def regressor_rows(tree: Any, q: Any, qd: Any, qdd: Any, column: Any, out: Any) -> None:
    """Write the rigid-body regressor of every sample into the rows of out (N, n_columns).

    column (n, n, 10): where parameter k of link i in the equation of joint j goes; columns that
    no pair of link and carrying joint names become 0.
    """
    n = q.shape[1]
    samples = q.shape[0]
    for chunk in prange((samples + CHUNK - 1) // CHUNK):
        each = 3 * n * LANES
        vectors = (
            np.empty(each),
            np.empty(each),
            np.empty(each),
            np.empty(each),
            np.empty(n * each),
            np.empty(n * each),
        )
        work = (np.empty(3 * each), *vectors)
        rows = np.zeros((LANES, out.shape[1]))  # filled here, in the cache, and written out in one go
        for s in range(chunk * CHUNK, min(samples, (chunk + 1) * CHUNK), LANES):
            _regressor_block(tree, q, qd, qdd, column, s, work, rows)
            for lane in range(min(LANES, samples - s)):
                for k in range(rows.shape[1]):
                    out[s + lane, k] = rows[lane, k]


@njit(error_model="numpy")
def _inverse_dynamics_block(
    tree: Any, inertials: Any, q: Any, qd: Any, qdd: Any, wrenches: Any, s: int, work: Any, out: Any
) -> None:
    """Write the joint torques of samples s to s + 7 into out (N, n)."""
    n = q.shape[1]
    rotation, position, w, al, a, f, t = work
    for i in range(n):
        link_pose(tree, i, gather(q, s, i), rotation, position)
        r, p = load9(rotation, 9 * i), load3(position, 3 * i)
        link_motion(tree, i, gather(qd, s, i), gather(qdd, s, i), r, p, w, al, a)
        wi, ali, ai = load3(w, 3 * i), load3(al, 3 * i), load3(a, 3 * i)
        m, hx, hy, hz, xx, xy, xz, yy, yz, zz = inertials[i]
        h, inertia = (hx, hy, hz), (xx, xy, xz, yy, yz, zz)
        force = add((m * ai[0], m * ai[1], m * ai[2]), add(cross(ali, h), cross(wi, cross(wi, h))))
        moment = add(symmetric(inertia, ali), add(cross(wi, symmetric(inertia, wi)), cross(h, ai)))
        if wrenches.shape[0] > 0:
            force = minus(
                force, (gather(wrenches, s, 6 * i), gather(wrenches, s, 6 * i + 1), gather(wrenches, s, 6 * i + 2))
            )
            k = 6 * i + 3
            moment = minus(moment, (gather(wrenches, s, k), gather(wrenches, s, k + 1), gather(wrenches, s, k + 2)))
        store3(f, 3 * i, force)
        store3(t, 3 * i, moment)
    for i in range(n - 1, -1, -1):
        force, moment = load3(f, 3 * i), load3(t, 3 * i)
        scatter(out, s, i, dot(row(tree.angular, i), moment) + dot(row(tree.linear, i), force))
        parent = tree.parent[i]
        if parent >= 0:
            r, p = load9(rotation, 9 * i), load3(position, 3 * i)
            carried = turn(r, force)
            store3(f, 3 * parent, add(load3(f, 3 * parent), carried))
            store3(t, 3 * parent, add(load3(t, 3 * parent), add(turn(r, moment), cross(p, carried))))


@cached_njit(parallel=True, error_model="numpy")
def inverse_dynamics_rows(tree: Any, inertials: Any, q: Any, qd: Any, qdd: Any, wrenches: Any, out: Any) -> None:
    """Write the joint torques of every sample into out (N, n), from inertials (n, 10).

    wrenches (N, 6 n) on the links by their surroundings, or (0, 6 n) for none.
    """
    n = q.shape[1]
    samples = q.shape[0]
    for chunk in prange((samples + CHUNK - 1) // CHUNK):
        each = 3 * n * LANES
        vectors = (np.empty(each), np.empty(each), np.empty(each), np.empty(each), np.empty(each), np.empty(each))
        work = (np.empty(3 * each), *vectors)
        for s in range(chunk * CHUNK, min(samples, (chunk + 1) * CHUNK), LANES):
            _inverse_dynamics_block(tree, inertials, q, qd, qdd, wrenches, s, work, out)
