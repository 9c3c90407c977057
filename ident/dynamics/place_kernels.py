"""The places of links, in the axes of the base, and the twists of the joints that carry them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import prange

from ident.dynamics.packs import cross
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
        cx, cy, cz = cross((t[0, 3], t[1, 3], t[2, 3]), (twist[i, 0], twist[i, 1], twist[i, 2]))
        twist[i, 3] += cx
        twist[i, 4] += cy
        twist[i, 5] += cz


@cached_njit(parallel=True, fastmath=_FAST, error_model="numpy")
def place_rows(tree: Any, q: Any, pose: Any, twist: Any) -> None:
    """Write the links' frames of every sample into pose (N, n, 3, 4), and the joints' twists into twist (N, n, 6)."""
    samples = q.shape[0]
    for chunk in prange((samples + _CHUNK - 1) // _CHUNK):
        for s in range(chunk * _CHUNK, min(samples, (chunk + 1) * _CHUNK)):
            place_links(tree, q[s], pose[s], twist[s])
