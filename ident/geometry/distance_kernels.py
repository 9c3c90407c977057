"""Compiled clearances of a scene, spread over the cores.

A contact is (c, n, x, y): the clearance, the unit normal and the closest points x of the first shape's axis and y of
the second, in the base frame, x - y being parallel to n. Then (envelope theorem)

    dc/dt = n . (velocity of x with the first body - velocity of y with the second)

so that a weight w on c is a force w n at x on the first body and its opposite on the second, and sum_m w_m dc_m/dq_j
is the twist of joint j times the wrench on all bodies that it carries.

The squared distance of a point that runs along a segment to a convex set is convex, and here piecewise quadratic: its
slope is halved in at its breaks, then zero of a straight line. Inside a box the clearance is the negative of the
shortest way out, perpendicular to a face of the box or to an edge and the segment.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import prange

from ident.dynamics.packs import LANES, cross, dot, minus, row
from ident.dynamics.place_kernels import place_links, place_room
from ident.jit import cached_njit

CAPSULE, PLANE, BOX, ROOM = 0, 1, 2, 3  # the second shape; a room is a box to stay inside
CHUNK = 16
_TOUCH = 1e-9  # m; below it the direction between closest points is lost to rounding


@cached_njit(error_model="numpy")
def _along(a: Any, u: Any, s: float) -> Any:
    return (a[0] + s * u[0], a[1] + s * u[1], a[2] + s * u[2])


@cached_njit(error_model="numpy")
def _zero(low: float, high: float, at_low: float, at_high: float) -> Any:
    """Return where a straight rising line through the two values is zero, or the nearer end."""
    if at_low >= 0.0:
        return low
    if at_high <= 0.0:
        return high
    return low + (high - low) * at_low / (at_low - at_high)


@cached_njit(error_model="numpy")
def _foot(c: Any, v: Any, x: Any) -> Any:
    """Return the point of the segment from c to c + v nearest to x."""
    vv = dot(v, v)
    if vv == 0.0:
        return c
    t = (dot(x, v) - dot(c, v)) / vv
    return _along(c, v, min(max(t, 0.0), 1.0))


@cached_njit(error_model="numpy")
def _slope(a: Any, u: Any, c: Any, v: Any, s: float) -> Any:
    """Return half the slope of the squared distance from a + s u to the segment from c to c + v."""
    x = _along(a, u, s)
    return dot(u, minus(x, _foot(c, v, x)))


@cached_njit(error_model="numpy")
def _between_segments(a: Any, b: Any, c: Any, d: Any) -> Any:
    """Return the contact of two segments from a to b and from c to d."""
    u, v = minus(b, a), minus(d, c)
    low, high = 0.0, 1.0
    uv, at = dot(u, v), dot(minus(a, c), v)
    for k in range(2):  # where the foot reaches c, and d
        s = (k * dot(v, v) - at) / uv
        if low < s < high:
            if _slope(a, u, c, v, s) <= 0.0:
                low = s
            else:
                high = s
    s = _zero(low, high, _slope(a, u, c, v, low), _slope(a, u, c, v, high))
    x = _along(a, u, s)
    y = _foot(c, v, x)
    n = minus(x, y)
    distance = np.sqrt(dot(n, n))
    if distance > _TOUCH:
        return distance, (n[0] / distance, n[1] / distance, n[2] / distance), x, y
    n = cross(u, v)  # the axes cross: across both is a way apart
    length = np.sqrt(dot(n, n))
    if length > 0.0:
        return distance, (n[0] / length, n[1] / length, n[2] / length), x, y
    return distance, (0.0, 0.0, 1.0), x, y


@cached_njit(error_model="numpy")
def _clip(x: float, half: float) -> Any:
    return min(max(x, -half), half)


@cached_njit(error_model="numpy")
def _box_slope(a: Any, u: Any, h: Any, s: float) -> Any:
    """Return half the slope of the squared distance from a + s u to the box of half edges h around the origin."""
    x = _along(a, u, s)
    return dot(u, (x[0] - _clip(x[0], h[0]), x[1] - _clip(x[1], h[1]), x[2] - _clip(x[2], h[2])))


@cached_njit(error_model="numpy")
def _to_box(a: Any, b: Any, h: Any) -> Any:
    """Return clearance, normal and parameter of the closest point of a segment to a box, in the box's frame."""
    u = minus(b, a)
    low, high = 0.0, 1.0
    for k in range(6):
        i, side = k // 2, 2.0 * (k % 2) - 1.0
        s = (side * h[i] - a[i]) / u[i]
        if low < s < high:
            if _box_slope(a, u, h, s) <= 0.0:
                low = s
            else:
                high = s
    s = _zero(low, high, _box_slope(a, u, h, low), _box_slope(a, u, h, high))
    x = _along(a, u, s)
    n = (x[0] - _clip(x[0], h[0]), x[1] - _clip(x[1], h[1]), x[2] - _clip(x[2], h[2]))
    distance = np.sqrt(dot(n, n))
    if distance > _TOUCH:
        return distance, (n[0] / distance, n[1] / distance, n[2] / distance), s
    # the facets of box - segment: across a face of the box, or across one of its edges and the segment
    depth, n, s = np.inf, (0.0, 0.0, 1.0), 0.0
    for k in range(12):
        i, side = k // 2 % 3, 2.0 * (k % 2) - 1.0
        e = (1.0 * (i == 0), 1.0 * (i == 1), 1.0 * (i == 2))
        m = e
        if k >= 6:
            m = cross(u, e)
            length = np.sqrt(dot(m, m))
            if length <= 1e-9 * np.sqrt(dot(u, u)):
                continue
            m = (m[0] / length, m[1] / length, m[2] / length)
        m = (side * m[0], side * m[1], side * m[2])
        at_a, at_b = dot(m, a), dot(m, b)
        way = abs(m[0]) * h[0] + abs(m[1]) * h[1] + abs(m[2]) * h[2] - min(at_a, at_b)
        if way < depth:
            depth, n = way, m
            s = 0.0 if at_a <= at_b else 1.0
            if k >= 6:  # nearest to the box's edge along e
                w = cross(m, e)
                corner = (np.copysign(h[0], m[0]), np.copysign(h[1], m[1]), np.copysign(h[2], m[2]))
                s = min(max(dot(w, minus(corner, a)) / dot(w, u), 0.0), 1.0)
    return -depth, n, s


@cached_njit(error_model="numpy")
def _turned(r: Any, x: Any) -> Any:
    return (dot(r[0], x), dot(r[1], x), dot(r[2], x))


@cached_njit(error_model="numpy")
def _ends(geometry: Any, pose: Any, start: Any, end: Any) -> None:
    """Write where the bodies' segments start and end, in the base frame, into start and end (k, 3)."""
    for k in range(geometry.link.size):
        i = geometry.link[k]
        for a in range(3):
            if i < 0:
                start[k, a], end[k, a] = geometry.start[k, a], geometry.end[k, a]
            else:
                start[k, a] = dot(pose[i, a], geometry.start[k]) + pose[i, a, 3]
                end[k, a] = dot(pose[i, a], geometry.end[k]) + pose[i, a, 3]


@cached_njit(error_model="numpy")
def _contact(geometry: Any, start: Any, end: Any, m: int) -> Any:
    """Return the contact of pair m; its clearance is between surfaces."""
    kind, j, k = geometry.kind[m], geometry.first[m], geometry.second[m]
    a, b = row(start, j), row(end, j)
    if kind == CAPSULE:
        distance, n, x, y = _between_segments(a, b, row(start, k), row(end, k))
        return distance - geometry.radius[j] - geometry.radius[k], n, x, y
    if kind == PLANE:
        n = row(geometry.normal, k)
        x = a if dot(n, a) <= dot(n, b) else b
        return dot(n, x) - geometry.offset[k] - geometry.radius[j], n, x, x
    r, centre, h = geometry.rotation[k], row(geometry.centre, k), row(geometry.half, k)
    p = _turned(r.T, minus(a, centre))
    if kind == BOX:
        clearance, n, s = _to_box(p, _turned(r.T, minus(b, centre)), h)
        x = _along(a, minus(b, a), s)
        return clearance - geometry.radius[j], _turned(r, n), x, x
    i = 0  # the nearest face of the room
    for f in range(1, 3):
        if h[f] - abs(p[f]) < h[i] - abs(p[i]):
            i = f
    side = -np.copysign(1.0, p[i])
    return h[i] - abs(p[i]), (side * r[0, i], side * r[1, i], side * r[2, i]), a, a


@cached_njit(parallel=True, error_model="numpy")
def clearance_rows(tree: Any, geometry: Any, q: Any, out: Any) -> None:
    """Write the clearances of every posture q (N, n) into the rows of out (N, m)."""
    samples, n = q.shape
    bodies = geometry.link.size
    for chunk in prange((samples + CHUNK - 1) // CHUNK):
        work, poses, twists = place_room(n), np.empty((LANES, 12 * n)), np.empty((LANES, 6 * n))
        start, end = np.empty((bodies, 3)), np.empty((bodies, 3))
        for s in range(chunk * CHUNK, min(samples, (chunk + 1) * CHUNK)):
            if s % LANES == 0:
                place_links(tree, q, s, 0, work, poses, twists)
            _ends(geometry, poses[s % LANES].reshape(n, 3, 4), start, end)
            for m in range(geometry.kind.size):
                out[s, m] = _contact(geometry, start, end, m)[0]


@cached_njit(parallel=True, error_model="numpy")
def pull_back_rows(tree: Any, geometry: Any, q: Any, weights: Any, out: Any) -> None:
    """Write sum_m weights[s, m] dc_m/dq of every posture q (N, n) into the rows of out (N, n)."""
    samples, n = q.shape
    bodies = geometry.link.size
    for chunk in prange((samples + CHUNK - 1) // CHUNK):
        work, poses, twists = place_room(n), np.empty((LANES, 12 * n)), np.empty((LANES, 6 * n))
        start, end, wrench = np.empty((bodies, 3)), np.empty((bodies, 3)), np.empty((n, 6))
        for s in range(chunk * CHUNK, min(samples, (chunk + 1) * CHUNK)):
            if s % LANES == 0:
                place_links(tree, q, s, 0, work, poses, twists)
            _ends(geometry, poses[s % LANES].reshape(n, 3, 4), start, end)
            twist = twists[s % LANES].reshape(n, 6)
            wrench[:] = 0.0  # moment about the base's origin, force
            for m in range(geometry.kind.size):
                w = weights[s, m]
                if w == 0.0:
                    continue
                _, normal, x, _ = _contact(geometry, start, end, m)
                force = (w * normal[0], w * normal[1], w * normal[2])
                moment = cross(x, force)  # at y the same, y lies on the force's line
                i = geometry.link[geometry.first[m]]
                j = geometry.link[geometry.second[m]] if geometry.kind[m] == CAPSULE else -1
                for a in range(3):
                    if i >= 0:
                        wrench[i, a] += moment[a]
                        wrench[i, 3 + a] += force[a]
                    if j >= 0:
                        wrench[j, a] -= moment[a]
                        wrench[j, 3 + a] -= force[a]
            for i in range(n - 1, -1, -1):
                total = 0.0
                parent = tree.parent[i]
                for a in range(6):
                    total += twist[i, a] * wrench[i, a]
                    if parent >= 0:
                        wrench[parent, a] += wrench[i, a]
                out[s, i] = total
