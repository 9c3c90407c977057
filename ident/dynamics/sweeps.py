"""The steps that every recursive algorithm shares, for packs of samples: vectors, link poses, link motions.

Vectors are tuples of three numbers, rotations tuples of nine, row by row; each number a pack or a float.
"""

from __future__ import annotations

from typing import Any

from numba import njit

from ident.dynamics.packs import load, pack_of, sine_cosine, store


@njit(inline="always")
def add(a: Any, b: Any) -> Any:
    """Return a + b."""
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2])


@njit(inline="always")
def minus(a: Any, b: Any) -> Any:
    """Return a - b."""
    return (a[0] - b[0], a[1] - b[1], a[2] - b[2])


@njit(inline="always")
def times(s: Any, a: Any) -> Any:
    """Return s a."""
    return (s * a[0], s * a[1], s * a[2])


@njit(inline="always")
def dot(a: Any, b: Any) -> Any:
    """Return a . b."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@njit(inline="always")
def cross(a: Any, b: Any) -> Any:
    """Return a x b."""
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


@njit(inline="always")
def turn(r: Any, a: Any) -> Any:
    """Return R a: a vector of the child's frame seen in the parent's."""
    return (
        r[0] * a[0] + r[1] * a[1] + r[2] * a[2],
        r[3] * a[0] + r[4] * a[1] + r[5] * a[2],
        r[6] * a[0] + r[7] * a[1] + r[8] * a[2],
    )


@njit(inline="always")
def turn_back(r: Any, a: Any) -> Any:
    """Return R^T a: a vector of the parent's frame seen in the child's."""
    return (
        r[0] * a[0] + r[3] * a[1] + r[6] * a[2],
        r[1] * a[0] + r[4] * a[1] + r[7] * a[2],
        r[2] * a[0] + r[5] * a[1] + r[8] * a[2],
    )


@njit(inline="always")
def symmetric(s: Any, a: Any) -> Any:
    """Return S a for the symmetric S with entries (xx, xy, xz, yy, yz, zz)."""
    return (
        s[0] * a[0] + s[1] * a[1] + s[2] * a[2],
        s[1] * a[0] + s[3] * a[1] + s[4] * a[2],
        s[2] * a[0] + s[4] * a[1] + s[5] * a[2],
    )


@njit(inline="always")
def row(table: Any, i: int) -> Any:
    """Return row i of an (n, 3) table of floats."""
    return (table[i, 0], table[i, 1], table[i, 2])


@njit(inline="always")
def load3(work: Any, k: int) -> Any:
    """Return the vector in packs k to k + 2."""
    return (load(work, k), load(work, k + 1), load(work, k + 2))


@njit(inline="always")
def store3(work: Any, k: int, a: Any) -> None:
    """Write a vector into packs k to k + 2."""
    store(work, k, a[0])
    store(work, k + 1, a[1])
    store(work, k + 2, a[2])


@njit(inline="always")
def load9(work: Any, k: int) -> Any:
    """Return the rotation in packs k to k + 8."""
    a, b, c = load3(work, k), load3(work, k + 3), load3(work, k + 6)
    return (a[0], a[1], a[2], b[0], b[1], b[2], c[0], c[1], c[2])


@njit(inline="always")
def link_pose(tree: Any, i: int, q: Any, rotation: Any, position: Any) -> None:
    """Write link i's frame seen from its parent's frame: packs 9 i of rotation, packs 3 i of position."""
    r = tree.rotation[i]
    x, y, z = row(tree.axis, i)
    if tree.turning[i] == 1:
        s, c = sine_cosine(q)
        k = 1.0 - c  # Rodrigues' formula
        e0 = (c + k * (x * x), k * (x * y) - s * z, k * (x * z) + s * y)
        e1 = (k * (x * y) + s * z, c + k * (y * y), k * (y * z) - s * x)
        e2 = (k * (x * z) - s * y, k * (y * z) + s * x, c + k * (z * z))
        p = row(tree.point, i)
        shift = (p[0] - dot(e0, p), p[1] - dot(e1, p), p[2] - dot(e2, p))
        for a in range(3):
            of_row = add(add(times(r[a, 0], e0), times(r[a, 1], e1)), times(r[a, 2], e2))
            store3(rotation, 9 * i + 3 * a, of_row)
            store(position, 3 * i + a, tree.position[i, a] + dot(row(r, a), shift))
    else:
        for a in range(3):
            store3(rotation, 9 * i + 3 * a, row(r, a))
            store(position, 3 * i + a, tree.position[i, a] + dot(row(r, a), (x, y, z)) * q)


@njit(inline="always")
def link_motion(tree: Any, i: int, qd: Any, qdd: Any, r: Any, p: Any, w: Any, al: Any, a: Any) -> None:
    """Write angular velocity w, angular acceleration al and acceleration a (gravity subtracted) of link i's origin.

    Packs 3 i of the work arrays, from those of the parent; r, p: link i's frame seen from its parent's.
    """
    parent = tree.parent[i]
    u, v = row(tree.angular, i), row(tree.linear, i)
    turning = times(qd * qd, cross(u, v))
    if parent < 0:
        g = tree.gravity
        store3(w, 3 * i, times(qd, u))
        store3(al, 3 * i, times(qdd, u))
        store3(a, 3 * i, add(turn_back(r, (-g[0], -g[1], -g[2])), add(times(qdd, v), turning)))
    else:
        wp, alp = load3(w, 3 * parent), load3(al, 3 * parent)
        carried = add(load3(a, 3 * parent), add(cross(alp, p), cross(wp, cross(wp, p))))
        wi = turn_back(r, wp)
        store3(w, 3 * i, add(wi, times(qd, u)))
        store3(al, 3 * i, add(turn_back(r, alp), add(cross(wi, times(qd, u)), times(qdd, u))))
        coriolis = times(2.0, cross(wi, times(qd, v)))
        store3(a, 3 * i, add(turn_back(r, carried), add(coriolis, add(times(qdd, v), turning))))


@njit(inline="always")
def link_twists(tree: Any, i: int, n: int, r: Any, p: Any, u: Any, v: Any) -> None:
    """Write the unit twist (u, v), seen in link i's frame, of every joint j that carries it: packs 3 (n i + j)."""
    parent = tree.parent[i]
    j = parent
    while j >= 0:
        uj, vj = load3(u, 3 * (n * parent + j)), load3(v, 3 * (n * parent + j))
        store3(u, 3 * (n * i + j), turn_back(r, uj))
        store3(v, 3 * (n * i + j), turn_back(r, add(vj, cross(uj, p))))
        j = tree.parent[j]
    store3(u, 3 * (n * i + i), row(tree.angular, i))
    store3(v, 3 * (n * i + i), row(tree.linear, i))


@njit(inline="always")
def zero_packs(work: Any, k: int, many: int) -> None:
    """Write zeros into packs k to k + many - 1."""
    for j in range(k, k + many):
        store(work, j, pack_of(0.0))
