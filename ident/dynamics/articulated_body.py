"""Compiled forward dynamics by articulated bodies (Featherstone 2008, table 7.1), eight samples at a time.

In frame i, at its origin, link i resists as an articulated body: moment and force (n, f) it asks for at angular and
linear acceleration (al, a) are

    n = A al + B a + pn        f = B^T al + C a + pf

A, C symmetric (6 numbers), B full (9), summed from the tips to the base; then accelerations from the base to the tips.
Velocity products enter through the acceleration c that the joint's own motion adds. Base acceleration is -gravity.
`rollout_rows` integrates it by Runge-Kutta 4, eight rollouts at a time.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, prange

from ident.dynamics.kernels import CHUNK
from ident.dynamics.packs import (
    LANES,
    add,
    cross,
    dot,
    gather,
    link_pose,
    load,
    load3,
    load9,
    minus,
    pack_of,
    row,
    scatter,
    store,
    store3,
    symmetric,
    times,
    turn,
    turn_back,
    turned_symmetric,
    where_positive,
    zero_packs,
)
from ident.jit import cached_njit

# Packs per link: w 3, c 6, A 6, B 9, C 6, pn 3, pf 3, U 6, 1 / D, torque left over, al 3, a 3.
SIZE = 50
_W, _C, _A, _B, _CC, _P, _U, _D, _ACC = 0, 3, 9, 15, 24, 30, 36, 42, 44


@njit(inline="always")
def _load6(work: Any, k: int) -> Any:
    a, b = load3(work, k), load3(work, k + 3)
    return (a[0], a[1], a[2], b[0], b[1], b[2])


@njit(inline="always")
def _add_to(work: Any, k: int, values: Any) -> None:
    for j in range(len(values)):
        store(work, k + j, load(work, k + j) + values[j])


@njit(inline="always")
def _turned(r: Any, b: Any) -> Any:
    """Return R B R^T."""
    rows = (turn(r, (b[0], b[3], b[6])), turn(r, (b[1], b[4], b[7])), turn(r, (b[2], b[5], b[8])))  # columns of R B
    x = turn(r, (rows[0][0], rows[1][0], rows[2][0]))
    y = turn(r, (rows[0][1], rows[1][1], rows[2][1]))
    z = turn(r, (rows[0][2], rows[1][2], rows[2][2]))
    return (x[0], x[1], x[2], y[0], y[1], y[2], z[0], z[1], z[2])


@njit(inline="always")
def _less(s: Any, x: Any, y: Any) -> Any:
    """Return S - x y^T, which is symmetric as S is."""
    return (
        s[0] - x[0] * y[0],
        s[1] - x[0] * y[1],
        s[2] - x[0] * y[2],
        s[3] - x[1] * y[1],
        s[4] - x[1] * y[2],
        s[5] - x[2] * y[2],
    )


@njit(error_model="numpy")
def articulated_body(
    tree: Any, inertials: Any, drive: Any, q: Any, qd: Any, tau: Any, wrench: Any, work: Any, out: Any
) -> None:
    """Write qdd of eight samples into out (packs 0 to n - 1), from packs q, qd, tau (n) and wrench (6 n).

    drive (2, n): drive inertia of each joint, and the least inertia that its torque must meet (else qdd is NaN).
    work: rotation (9 n), position (3 n), the rest (SIZE n).
    """
    n = tree.parent.size
    rotation, position, x = work
    for i in range(n):
        k = SIZE * i
        link_pose(tree, i, load(q, i), rotation, position)
        r, p = load9(rotation, 9 * i), load3(position, 3 * i)
        speed = load(qd, i)
        u, v = times(speed, row(tree.angular, i)), times(speed, row(tree.linear, i))
        parent = tree.parent[i]
        if parent < 0:
            store3(x, k, u)
            zero_packs(x, k + _C, 3)
            store3(x, k + _C + 3, cross(u, v))
        else:
            wp = load3(x, SIZE * parent)
            seen = turn_back(r, wp)
            store3(x, k, add(seen, u))
            store3(x, k + _C, cross(seen, u))
            coriolis = add(times(2.0, cross(seen, v)), cross(u, v))
            store3(x, k + _C + 3, add(turn_back(r, cross(wp, cross(wp, p))), coriolis))
        wi = load3(x, k)
        m, hx, hy, hz, xx, xy, xz, yy, yz, zz = inertials[i]
        h, inertia = (hx, hy, hz), (xx, xy, xz, yy, yz, zz)
        for j in range(6):
            store(x, k + _A + j, inertia[j])
        skew = (0.0, -hz, hy, hz, 0.0, -hx, -hy, hx, 0.0)  # n = ... + h x a
        for j in range(9):
            store(x, k + _B + j, skew[j])
        mass = (m, 0.0, 0.0, m, 0.0, m)
        for j in range(6):
            store(x, k + _CC + j, mass[j])
        store3(x, k + _P, minus(cross(wi, symmetric(inertia, wi)), load3(wrench, 6 * i + 3)))
        store3(x, k + _P + 3, minus(cross(wi, cross(wi, h)), load3(wrench, 6 * i)))
    for i in range(n - 1, -1, -1):
        k = SIZE * i
        u, v = row(tree.angular, i), row(tree.linear, i)
        a, b, c = _load6(x, k + _A), load9(x, k + _B), _load6(x, k + _CC)
        pn, pf = load3(x, k + _P), load3(x, k + _P + 3)
        un = add(symmetric(a, u), turn(b, v))  # what a unit acceleration of the joint asks for
        uf = add(turn_back(b, u), symmetric(c, v))
        felt = dot(u, un) + dot(v, uf) + drive[0, i]
        inverse = where_positive(felt - drive[1, i], 1.0 / felt, pack_of(np.nan))
        left = load(tau, i) - dot(u, pn) - dot(v, pf)
        store3(x, k + _U, un)
        store3(x, k + _U + 3, uf)
        store(x, k + _D, inverse)
        store(x, k + _D + 1, left)
        parent = tree.parent[i]
        if parent >= 0:
            n_, f_ = times(inverse, un), times(inverse, uf)
            a, c = _less(a, n_, un), _less(c, f_, uf)
            b = (
                minus((b[0], b[1], b[2]), times(n_[0], uf))
                + minus((b[3], b[4], b[5]), times(n_[1], uf))
                + minus((b[6], b[7], b[8]), times(n_[2], uf))
            )
            ca, cl = load3(x, k + _C), load3(x, k + _C + 3)
            push = inverse * left
            pn = add(pn, add(add(symmetric(a, ca), turn(b, cl)), times(push, un)))
            pf = add(pf, add(add(turn_back(b, ca), symmetric(c, cl)), times(push, uf)))
            # seen in the parent's axes, then at its origin: n_p = n + p x f, and the child moves at a - p x al
            r, p = load9(rotation, 9 * i), load3(position, 3 * i)
            a, b, c = turned_symmetric(r, a), _turned(r, b), turned_symmetric(r, c)
            pn, pf = turn(r, pn), turn(r, pf)
            bx = (b[0], b[3], b[6])  # columns of B
            by = (b[1], b[4], b[7])
            bz = (b[2], b[5], b[8])
            # B + [p] C, column by column
            sx = add(bx, cross(p, (c[0], c[1], c[2])))
            sy = add(by, cross(p, (c[1], c[3], c[4])))
            sz = add(bz, cross(p, (c[2], c[4], c[5])))
            # A + [p] B^T - (B + [p] C) [p]
            tx = cross(p, (b[0], b[1], b[2]))
            ty = cross(p, (b[3], b[4], b[5]))
            tz = cross(p, (b[6], b[7], b[8]))
            gx = minus(times(p[2], sy), times(p[1], sz))  # (B + [p] C) [p], column by column
            gy = minus(times(p[0], sz), times(p[2], sx))
            gz = minus(times(p[1], sx), times(p[0], sy))
            to = SIZE * parent
            moved = (
                a[0] + tx[0] - gx[0],
                a[1] + ty[0] - gy[0],
                a[2] + tz[0] - gz[0],
                a[3] + ty[1] - gy[1],
                a[4] + tz[1] - gz[1],
                a[5] + tz[2] - gz[2],
            )
            _add_to(x, to + _A, moved)
            _add_to(x, to + _B, (sx[0], sy[0], sz[0], sx[1], sy[1], sz[1], sx[2], sy[2], sz[2]))
            _add_to(x, to + _CC, c)
            _add_to(x, to + _P, add(pn, cross(p, pf)))
            _add_to(x, to + _P + 3, pf)
    g = tree.gravity
    for i in range(n):
        k = SIZE * i
        r, p = load9(rotation, 9 * i), load3(position, 3 * i)
        parent = tree.parent[i]
        if parent < 0:
            al = load3(x, k + _C)  # zero: nothing carries the first link
            a = add(turn_back(r, (-g[0], -g[1], -g[2])), load3(x, k + _C + 3))
        else:
            alp, ap = load3(x, SIZE * parent + _ACC), load3(x, SIZE * parent + _ACC + 3)
            al = add(turn_back(r, alp), load3(x, k + _C))
            a = add(turn_back(r, add(ap, cross(alp, p))), load3(x, k + _C + 3))
        un, uf = load3(x, k + _U), load3(x, k + _U + 3)
        acceleration = load(x, k + _D) * (load(x, k + _D + 1) - dot(un, al) - dot(uf, a))
        store(out, i, acceleration)
        store3(x, k + _ACC, add(al, times(acceleration, row(tree.angular, i))))
        store3(x, k + _ACC + 3, add(a, times(acceleration, row(tree.linear, i))))


@cached_njit(parallel=True, error_model="numpy")
def forward_dynamics_rows(
    tree: Any, inertials: Any, drive: Any, q: Any, qd: Any, tau: Any, wrenches: Any, out: Any
) -> None:
    """Write the joint accelerations of every sample into out (N, n); wrenches (N, 6 n), or (0, 6 n) for none."""
    n = q.shape[1]
    samples = q.shape[0]
    for chunk in prange((samples + CHUNK - 1) // CHUNK):
        work = (np.empty(9 * n * LANES), np.empty(3 * n * LANES), np.empty(SIZE * n * LANES))
        here = (np.empty(n * LANES), np.empty(n * LANES), np.empty(n * LANES), np.empty(n * LANES))
        wrench = np.zeros(6 * n * LANES)
        for s in range(chunk * CHUNK, min(samples, (chunk + 1) * CHUNK), LANES):
            for i in range(n):
                store(here[0], i, gather(q, s, i))
                store(here[1], i, gather(qd, s, i))
                store(here[2], i, gather(tau, s, i))
            if wrenches.shape[0] > 0:
                for i in range(6 * n):
                    store(wrench, i, gather(wrenches, s, i))
            articulated_body(tree, inertials, drive, here[0], here[1], here[2], wrench, work, here[3])
            for i in range(n):
                scatter(out, s, i, load(here[3], i))


@njit(error_model="numpy")
def _passive(operations: Any, first: int, slots: Any) -> None:
    """Run a straight-line program on eight lanes; its operations' results go to the slots from `first` on."""
    for k in range(operations.shape[0]):
        op, a, b, here = operations[k, 0], operations[k, 1], operations[k, 2], (first + k) * LANES
        if op == 0:
            store(slots, first + k, load(slots, a) + load(slots, b))
        elif op == 1:
            store(slots, first + k, load(slots, a) - load(slots, b))
        elif op == 2:
            store(slots, first + k, load(slots, a) * load(slots, b))
        else:
            for lane in range(LANES):
                x, y = slots[a * LANES + lane], slots[b * LANES + lane]
                if op == 3:
                    slots[here + lane] = -x
                elif op == 4:
                    slots[here + lane] = np.sin(x)
                elif op == 5:
                    slots[here + lane] = np.cos(x)
                elif op == 6:
                    slots[here + lane] = np.tanh(x)
                elif op == 7:
                    slots[here + lane] = np.exp(x)
                else:
                    slots[here + lane] = np.copysign(np.abs(x) ** y, x)


@njit(error_model="numpy")
def _acceleration(
    tree: Any, inertials: Any, drive: Any, operations: Any, output: Any, first: int, x: Any, tau: Any, work: Any
) -> None:
    """Write the acceleration of eight rollouts into packs 0 to n - 1 of work's last array.

    x: q then qd (2 n packs); tau (n packs). operations, output: the program of the joint terms, see `rollout_rows`.
    """
    n = tree.parent.size
    rotation, position, links, torque, speed, wrench, slots, out = work
    for i in range(2 * n):
        store(slots, i, load(x, i))
    _passive(operations, first, slots)
    for i in range(n):
        store(speed, i, load(x, n + i))
        store(torque, i, load(tau, i) - load(slots, output[i]))
    articulated_body(tree, inertials, drive, x, speed, torque, wrench, (rotation, position, links), out)


@cached_njit(parallel=True, error_model="numpy")
def rollout_rows(
    tree: Any,
    inertials: Any,
    drive: Any,
    numbers: Any,
    operations: Any,
    output: Any,
    start: Any,
    tau: Any,
    step: float,
    every: int,
    q_out: Any,
    qd_out: Any,
) -> None:
    """Write every `every`-th state of R rollouts into q_out, qd_out (R, K n), the first of them being the start.

    numbers, operations, output: the joint terms' torque as a straight-line program of q, qd
    (`ident.symbolic.program.straight_line`). start (R, 2 n): q, qd. tau ((1 or R), (steps + 1) n): torques at the ends
    of the steps, linear in between.
    """
    n = tree.parent.size
    steps = tau.shape[1] // n - 1
    half, results = 0.5 * step, 2 * n + numbers.size
    for block in prange((start.shape[0] + LANES - 1) // LANES):
        s = block * LANES
        each = n * LANES
        work = (
            np.empty(9 * each),
            np.empty(3 * each),
            np.empty(SIZE * each),
            np.empty(each),
            np.empty(each),
            np.zeros(6 * each),
            np.empty((results + operations.shape[0]) * LANES),
            np.empty(each),
        )
        a = work[7]
        for k in range(numbers.size):
            store(work[6], 2 * n + k, pack_of(numbers[k]))
        x, y, total, torque = np.empty(2 * each), np.empty(2 * each), np.empty(2 * each), np.empty(each)
        for i in range(2 * n):
            store(x, i, gather(start, s, i))
        for i in range(n):
            scatter(q_out, s, i, load(x, i))
            scatter(qd_out, s, i, load(x, n + i))
        for k in range(steps):
            for stage in range(4):  # k1 at x, k2 and k3 in the middle, k4 at the end
                here = (0.0, 0.5, 0.5, 1.0)[stage]
                weight = (1.0, 2.0, 2.0, 1.0)[stage]
                ahead = (half, half, step, step)[stage]
                for i in range(n):
                    first, last = gather(tau, s, k * n + i), gather(tau, s, (k + 1) * n + i)
                    store(torque, i, (1.0 - here) * first + here * last)
                point = x if stage == 0 else y
                _acceleration(tree, inertials, drive, operations, output, results, point, torque, work)
                for i in range(n):
                    v, b = load(point, n + i), load(a, i)
                    if stage == 0:
                        store(total, i, v)
                        store(total, n + i, b)
                    else:
                        store(total, i, load(total, i) + weight * v)
                        store(total, n + i, load(total, n + i) + weight * b)
                    store(y, i, load(x, i) + ahead * v)
                    store(y, n + i, load(x, n + i) + ahead * b)
            for i in range(2 * n):
                store(x, i, load(x, i) + (step / 6.0) * load(total, i))
            if (k + 1) % every == 0:
                at = (k + 1) // every * n
                for i in range(n):
                    scatter(q_out, s, at + i, load(x, i))
                    scatter(qd_out, s, at + i, load(x, n + i))
