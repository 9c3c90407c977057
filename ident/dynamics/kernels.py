"""Compiled sweeps over the tree: the regressor and inverse dynamics, eight samples at a time, spread over the cores.

For link i with angular velocity w, angular acceleration al and acceleration a of its frame's origin
(gravity subtracted), the wrench that its inertials (m, h, I) ask for at that origin is

    f = m a + al x h + w x (w x h)            n = I al + w x (I w) + h x a

or f = m a + B h, n = G I + h x a, linear in the inertials. Joint j, whose unit twist seen in frame i is
(u, v), feels u.n + v.f. Collected by parameter:

    m: v.a     h: a x u + B^T v     I: G^T u

which is one row of ten numbers for every pair of a link and a joint that carries it.

The reverse sweep of the regressor goes from weights on its entries to weights on q, qd and qdd. For F = sum over links
i and carrying joints j of y_ij . row_ij, with y_ij read as ten parameters (m, h, I), each pair gives u.n + v.f of the
kernel of the regressor, and with a bar for the derivative of F:

    u' = n      v' = f      a' = m v + u x h      al' = I u + h x v
    w' = (I w) x u + I (u x w) + v (w.h) + h (v.w) - 2 w (v.h)

From link i to its parent the sweep runs backwards through R^T w_p, R^T al_p and R^T (a_p + al_p x p + w_p x (w_p x p)),
which change with q_i by d(R^T x) = -u x (R^T x) and dp = R v, (u, v) being the joint's own twist.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, prange

from ident.dynamics.packs import (
    LANES,
    add,
    cross,
    dot,
    gather,
    link_motion,
    link_pose,
    link_twists,
    load3,
    load9,
    minus,
    row,
    scatter,
    store3,
    symmetric,
    times,
    turn,
    turn_back,
    zero_packs,
)
from ident.jit import cached_njit

CHUNK = 256


@njit
def _room(n: int, pairs: int) -> Any:
    """Return work arrays for n links: rotations, position, w, al, a, and two with as many vectors a link as `pairs`."""
    each = 3 * n * LANES
    motion = (np.empty(3 * each), np.empty(each), np.empty(each), np.empty(each), np.empty(each))
    return (*motion, np.empty(pairs * each), np.empty(pairs * each))


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
def regressor_rows(tree: Any, q: Any, qd: Any, qdd: Any, column: Any, terms: Any, place: Any, out: Any) -> None:
    """Write the regressor of every sample, joint terms included, into the rows of out (N, n_columns).

    column (n, n, 10): where parameter k of link i in the equation of joint j goes. place (m, 2): which row of terms
    (n_entries, N) is added to which column. Columns that neither names become 0.
    """
    n = q.shape[1]
    samples = q.shape[0]
    for chunk in prange((samples + CHUNK - 1) // CHUNK):
        work = _room(n, n)
        rows = np.zeros((LANES, out.shape[1]))  # filled here, in the cache, and written out in one go
        for s in range(chunk * CHUNK, min(samples, (chunk + 1) * CHUNK), LANES):
            _regressor_block(tree, q, qd, qdd, column, s, work, rows)
            lanes = min(LANES, samples - s)
            for k in range(place.shape[0]):
                rows[:, place[k, 1]] = 0.0
            for k in range(place.shape[0]):
                for lane in range(lanes):
                    rows[lane, place[k, 1]] += terms[place[k, 0], s + lane]
            for lane in range(lanes):
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
        work = _room(n, 1)
        for s in range(chunk * CHUNK, min(samples, (chunk + 1) * CHUNK), LANES):
            _inverse_dynamics_block(tree, inertials, q, qd, qdd, wrenches, s, work, out)


_PULL_BACK_CHUNK = 64


@njit(inline="always")
def _twice_crossed(w: Any, x: Any) -> Any:
    """Return w x (w x x)."""
    return cross(w, cross(w, x))


@njit(inline="always")
def _through_spin(w: Any, x: Any, bar: Any) -> Any:
    """Return the derivative with respect to w of bar . (w x (w x x))."""
    return minus(add(times(dot(w, x), bar), times(dot(bar, w), x)), times(2.0 * dot(bar, x), w))


@njit(error_model="numpy")
def _pull_back_block(
    tree: Any, q: Any, qd: Any, qdd: Any, column: Any, cotangent: Any, s: int, work: Any, out: Any
) -> None:
    """Write the vector-Jacobian products of samples s to s + 7 into out (N, 3 n): the adjoint sweep."""
    n = q.shape[1]
    rotation, position, w, al, a, u, v, w_, al_, a_, u_, v_ = work
    zero_packs(w_, 0, 3 * n)
    zero_packs(al_, 0, 3 * n)
    zero_packs(a_, 0, 3 * n)
    zero_packs(u_, 0, 3 * n * n)
    zero_packs(v_, 0, 3 * n * n)
    for i in range(n):
        link_pose(tree, i, gather(q, s, i), rotation, position)
        r, p = load9(rotation, 9 * i), load3(position, 3 * i)
        link_motion(tree, i, gather(qd, s, i), gather(qdd, s, i), r, p, w, al, a)
        link_twists(tree, i, n, r, p, u, v)

    for i in range(n - 1, -1, -1):
        wi, ali, ai = load3(w, 3 * i), load3(al, 3 * i), load3(a, 3 * i)
        wb, alb, ab = load3(w_, 3 * i), load3(al_, 3 * i), load3(a_, 3 * i)
        own_u, own_v = row(tree.angular, i), row(tree.linear, i)
        parent = tree.parent[i]
        r, p = load9(rotation, 9 * i), load3(position, 3 * i)
        q_bar_u, q_bar_v = cross(ab, ab), cross(ab, ab)  # zero; q' = own_u . q_bar_u + own_v . q_bar_v
        j = i
        while j >= 0:
            k = 3 * (n * i + j)
            uj, vj = load3(u, k), load3(v, k)
            to = column[j, i]
            m = gather(cotangent, s, to[0])
            h = (gather(cotangent, s, to[1]), gather(cotangent, s, to[2]), gather(cotangent, s, to[3]))
            inertia = (
                gather(cotangent, s, to[4]),
                gather(cotangent, s, to[5]),
                gather(cotangent, s, to[6]),
                gather(cotangent, s, to[7]),
                gather(cotangent, s, to[8]),
                gather(cotangent, s, to[9]),
            )
            iw = symmetric(inertia, wi)
            force = add(times(m, ai), add(cross(ali, h), _twice_crossed(wi, h)))
            moment = add(symmetric(inertia, ali), add(cross(wi, iw), cross(h, ai)))
            ab = add(ab, add(times(m, vj), cross(uj, h)))
            alb = add(alb, add(symmetric(inertia, uj), cross(h, vj)))
            wb = add(wb, add(add(cross(iw, uj), symmetric(inertia, cross(uj, wi))), _through_spin(wi, h, vj)))
            if j != i:
                ub, vb = add(load3(u_, k), moment), add(load3(v_, k), force)
                q_bar_u = add(q_bar_u, add(cross(ub, uj), cross(vb, vj)))
                q_bar_v = add(q_bar_v, cross(vb, uj))
                up, vp = turn(r, ub), turn(r, vb)
                kp = 3 * (n * parent + j)
                store3(u_, kp, add(load3(u_, kp), add(up, cross(p, vp))))
                store3(v_, kp, add(load3(v_, kp), vp))
            j = tree.parent[j]

        rate = gather(qd, s, i)
        qdd_bar = dot(own_u, alb) + dot(own_v, ab)
        if parent < 0:
            g = tree.gravity
            carried = turn_back(r, (-g[0], -g[1], -g[2]))
            q_bar_u = add(q_bar_u, cross(ab, carried))
            qd_bar = dot(own_u, wb) + 2.0 * rate * dot(cross(own_u, own_v), ab)
        else:
            wp, alp, ap = load3(w, 3 * parent), load3(al, 3 * parent), load3(a, 3 * parent)
            spin, turned = turn_back(r, wp), turn_back(r, alp)
            carried = turn_back(r, add(ap, add(cross(alp, p), _twice_crossed(wp, p))))
            coriolis = add(times(2.0, cross(spin, own_v)), times(2.0 * rate, cross(own_u, own_v)))
            qd_bar = dot(own_u, wb) + dot(cross(spin, own_u), alb) + dot(coriolis, ab)
            spin_bar = add(wb, times(rate, add(cross(own_u, alb), times(2.0, cross(own_v, ab)))))
            q_bar_u = add(q_bar_u, add(cross(spin_bar, spin), add(cross(alb, turned), cross(ab, carried))))
            q_bar_v = add(q_bar_v, add(cross(ab, turned), _twice_crossed(spin, ab)))
            to_parent = turn(r, ab)
            store3(a_, 3 * parent, add(load3(a_, 3 * parent), to_parent))
            store3(al_, 3 * parent, add(load3(al_, 3 * parent), add(turn(r, alb), cross(p, to_parent))))
            wp_bar = add(turn(r, spin_bar), _through_spin(wp, p, to_parent))
            store3(w_, 3 * parent, add(load3(w_, 3 * parent), wp_bar))
        scatter(out, s, i, dot(own_u, q_bar_u) + dot(own_v, q_bar_v))
        scatter(out, s, n + i, qd_bar)
        scatter(out, s, 2 * n + i, qdd_bar)


@cached_njit(parallel=True, error_model="numpy")
def regressor_pull_back_rows(tree: Any, q: Any, qd: Any, qdd: Any, column: Any, cotangent: Any, out: Any) -> None:
    """Write d F / d(q, qd, qdd) of every sample into out (N, 3 n), for F = sum(cotangent * regressor rows).

    The adjoint of the regressor's derivative, a vector-Jacobian product (reverse mode).

    column (n, n, 10) as in `regressor_rows`; cotangent (N, n_columns), zero in columns that no pair owns.
    """
    n = q.shape[1]
    samples = q.shape[0]
    for chunk in prange((samples + _PULL_BACK_CHUNK - 1) // _PULL_BACK_CHUNK):
        each = 3 * n * LANES
        bars = (np.empty(each), np.empty(each), np.empty(each), np.empty(n * each), np.empty(n * each))
        work = (*_room(n, n), *bars)
        for s in range(chunk * _PULL_BACK_CHUNK, min(samples, (chunk + 1) * _PULL_BACK_CHUNK), LANES):
            _pull_back_block(tree, q, qd, qdd, column, cotangent, s, work, out)
