"""Links in the axes of the base, eight samples at a time: places, Jacobians, mass matrices.

Every link has its rotation R, the way d from its parent's origin to its own, and its joint's unit twist (u, v) at its
own origin, all in base axes. What sums along the tree then needs no turning: a moment about the link's origin gains
d x f about the parent's, a velocity at r from the link's origin is v + u x r and the parent's origin lies d before.

Mass matrices by composite rigid bodies (Featherstone 2008, table 6.2): with mass m, first moment h and inertia I of all
that joint i carries, at link i's origin, a unit acceleration of joint i asks there for

    f = m v + u x h            n = I u + h x v

and joint j on the way to the base for D_ij = u_j . n + v_j . f, n being taken at link j's origin.
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
    row,
    scatter,
    store,
    store3,
    symmetric,
    times,
    turn,
    turned_symmetric,
)
from ident.jit import cached_njit


@njit(error_model="numpy")
def _place(tree: Any, links: int, q: Any, s: int, work: Any) -> None:
    """Write R, d, u, v of the first links at samples s to s + 7 of q (N, n): packs 9 i, 3 i, 3 i, 3 i of work."""
    rotation, way, u, v = work
    for i in range(links):
        link_pose(tree, i, gather(q, s, i), rotation, way)
        parent = tree.parent[i]
        if parent >= 0:
            r, own = load9(rotation, 9 * parent), load9(rotation, 9 * i)
            for a in range(3):
                x = turn(r, (own[a], own[3 + a], own[6 + a]))
                store(rotation, 9 * i + a, x[0])
                store(rotation, 9 * i + 3 + a, x[1])
                store(rotation, 9 * i + 6 + a, x[2])
            store3(way, 3 * i, turn(r, load3(way, 3 * i)))
        r = load9(rotation, 9 * i)
        store3(u, 3 * i, turn(r, row(tree.angular, i)))
        store3(v, 3 * i, turn(r, row(tree.linear, i)))


@njit
def place_room(n: int) -> Any:
    """Return the work arrays of `place_links` for n links."""
    return (np.empty(9 * n * LANES), np.empty(3 * n * LANES), np.empty(3 * n * LANES), np.empty(3 * n * LANES))


@njit(error_model="numpy")
def place_links(tree: Any, q: Any, s: int, first: int, work: Any, pose: Any, twist: Any) -> None:
    """Write the links' frames at samples s to s + 7 of q (N, n) into rows `first` and on of pose (M, 12 n), and twists.

    A frame is [R | origin] (3, 4). The twists (M, 6 n) of the joints: the angular velocity, then the linear velocity
    of the point passing the base's origin, per unit of qd.
    """
    n = q.shape[1]
    rotation, way, u, v = work
    _place(tree, n, q, s, work)
    for i in range(n):
        parent = tree.parent[i]
        if parent >= 0:
            store3(way, 3 * i, add(load3(way, 3 * i), load3(way, 3 * parent)))
        at, ui = load3(way, 3 * i), load3(u, 3 * i)
        passing = add(load3(v, 3 * i), cross(at, ui))
        for a in range(3):
            for b in range(3):
                scatter(pose, first, 12 * i + 4 * a + b, load(rotation, 9 * i + 3 * a + b))
        for a in range(3):
            scatter(pose, first, 12 * i + 4 * a + 3, at[a])
            scatter(twist, first, 6 * i + a, ui[a])
            scatter(twist, first, 6 * i + 3 + a, passing[a])


@cached_njit(parallel=True, error_model="numpy")
def place_rows(tree: Any, q: Any, pose: Any, twist: Any) -> None:
    """Write the links' frames and the joints' twists of every sample into pose (N, 12 n) and twist (N, 6 n)."""
    samples, n = q.shape
    for chunk in prange((samples + CHUNK - 1) // CHUNK):
        work = place_room(n)
        for s in range(chunk * CHUNK, min(samples, (chunk + 1) * CHUNK), LANES):
            place_links(tree, q, s, s, work, pose, twist)


@cached_njit(parallel=True, error_model="numpy")
def jacobian_rows(tree: Any, q: Any, link: int, point: Any, out: Any) -> None:
    """Write the Jacobian of a point (3,) of a link into out (N, 6 n) of zeros."""
    samples, n = q.shape
    for chunk in prange((samples + CHUNK - 1) // CHUNK):
        work = place_room(n)
        rotation, way, u, v = work
        for s in range(chunk * CHUNK, min(samples, (chunk + 1) * CHUNK), LANES):
            _place(tree, link + 1, q, s, work)
            r = turn(load9(rotation, 9 * link), (point[0], point[1], point[2]))
            j = link
            while j >= 0:
                spin = load3(u, 3 * j)
                moves = add(load3(v, 3 * j), cross(spin, r))
                for a in range(3):
                    scatter(out, s, n * a + j, moves[a])
                    scatter(out, s, n * (3 + a) + j, spin[a])
                r = add(r, load3(way, 3 * j))
                j = tree.parent[j]


@njit(error_model="numpy")
def _mass_block(tree: Any, inertials: Any, mass: Any, q: Any, s: int, work: Any, body: Any, out: Any) -> None:
    """Write the mass matrices of samples s to s + 7 into out (N, n n); mass (n,): of all that a joint carries."""
    n = q.shape[1]
    rotation, way, u, v = work
    _place(tree, n, q, s, work)
    for i in range(n):
        r = load9(rotation, 9 * i)
        _, hx, hy, hz, xx, xy, xz, yy, yz, zz = inertials[i]
        store3(body, 9 * i, turn(r, (hx, hy, hz)))
        inertia = turned_symmetric(r, (xx, xy, xz, yy, yz, zz))
        for a in range(6):
            store(body, 9 * i + 3 + a, inertia[a])
    for i in range(n - 1, -1, -1):
        m, h = mass[i], load3(body, 9 * i)
        upper, lower = load3(body, 9 * i + 3), load3(body, 9 * i + 6)
        inertia = (upper[0], upper[1], upper[2], lower[0], lower[1], lower[2])
        ui, vi = load3(u, 3 * i), load3(v, 3 * i)
        force = add(times(m, vi), cross(ui, h))
        moment = add(symmetric(inertia, ui), cross(h, vi))
        j = i
        while j >= 0:
            entry = dot(load3(u, 3 * j), moment) + dot(load3(v, 3 * j), force)
            scatter(out, s, n * i + j, entry)
            scatter(out, s, n * j + i, entry)
            moment = add(moment, cross(load3(way, 3 * j), force))
            j = tree.parent[j]
        parent = tree.parent[i]
        if parent >= 0:
            d = load3(way, 3 * i)
            to = 9 * parent
            store3(body, to, add(load3(body, to), add(h, times(m, d))))
            # about the parent's origin: I + 2 (d . g) 1 - d g^T - g d^T with g = h + m d / 2
            g = add(h, times(0.5 * m, d))
            x, y, z = d[0] * g[0], d[1] * g[1], d[2] * g[2]
            xx, xy, xz = 2.0 * (y + z), -(d[0] * g[1] + d[1] * g[0]), -(d[0] * g[2] + d[2] * g[0])
            yy, yz, zz = 2.0 * (x + z), -(d[1] * g[2] + d[2] * g[1]), 2.0 * (x + y)
            store3(body, to + 3, add(load3(body, to + 3), add(upper, (xx, xy, xz))))
            store3(body, to + 6, add(load3(body, to + 6), add(lower, (yy, yz, zz))))


@cached_njit(parallel=True, error_model="numpy")
def mass_matrix_rows(tree: Any, inertials: Any, q: Any, out: Any) -> None:
    """Write the mass matrix of every sample into out (N, n n) of zeros, from inertials (n, 10)."""
    samples, n = q.shape
    mass = inertials[:, 0].copy()
    for i in range(n - 1, -1, -1):
        if tree.parent[i] >= 0:
            mass[tree.parent[i]] += mass[i]
    for chunk in prange((samples + CHUNK - 1) // CHUNK):
        work, body = place_room(n), np.empty(9 * n * LANES)
        for s in range(chunk * CHUNK, min(samples, (chunk + 1) * CHUNK), LANES):
            _mass_block(tree, inertials, mass, q, s, work, body, out)
