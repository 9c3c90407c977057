"""Compiled batch simulation: eight rollouts at a time by Runge-Kutta 4, spread over the cores."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, prange

from ident.dynamics.articulated_body import SIZE, articulated_body
from ident.dynamics.packs import LANES, gather, load, pack_of, scatter, store
from ident.jit import cached_njit


@njit(error_model="numpy")
def _acceleration(
    tree: Any, parameters: Any, drive: Any, joint: Any, friction: Any, directions: Any, x: Any, tau: Any, work: Any
) -> None:
    """Write the acceleration of eight rollouts into packs 0 to n - 1 of work's last array.

    x: q then qd (2 n packs); tau (n packs). joint (3, n): offset, stiffness, rest. friction (5, m): viscous, Coulomb,
    width, nonlinear, (power - 1) / 2 of the elements, whose speeds are directions (m, n) @ qd.
    """
    n = tree.parent.size
    rotation, position, links, torque, speed, wrench, out = work
    for i in range(n):
        store(speed, i, load(x, n + i))
        store(torque, i, load(tau, i) - joint[0, i] - joint[1, i] * (load(x, i) - joint[2, i]))
    for k in range(directions.shape[0]):
        v = pack_of(0.0)
        for i in range(n):
            v = v + directions[k, i] * load(speed, i)
        store(out, 0, v / friction[2, k])
        for lane in range(LANES):
            out[lane] = np.tanh(out[lane])
        drag = friction[0, k] * v + friction[1, k] * load(out, 0)
        if friction[3, k] != 0.0:
            store(out, 0, v * v + friction[2, k] * friction[2, k])
            for lane in range(LANES):
                out[lane] = out[lane] ** friction[4, k]
            drag = drag + friction[3, k] * v * load(out, 0)
        for i in range(n):
            store(torque, i, load(torque, i) - directions[k, i] * drag)
    articulated_body(tree, parameters, drive, x, speed, torque, wrench, (rotation, position, links), out)


@cached_njit(parallel=True, error_model="numpy")
def rollout_rows(
    tree: Any,
    parameters: Any,
    drive: Any,
    joint: Any,
    friction: Any,
    directions: Any,
    start: Any,
    tau: Any,
    step: float,
    every: int,
    q_out: Any,
    qd_out: Any,
) -> None:
    """Write every `every`-th state of R rollouts into q_out, qd_out (R, K n), the first of them being the start.

    start (R, 2 n): q, qd. tau ((1 or R), (steps + 1) n): torques at the ends of the steps, linear in between.
    """
    n = tree.parent.size
    steps = tau.shape[1] // n - 1
    half = 0.5 * step
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
            np.empty(each),
        )
        a = work[6]
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
                _acceleration(tree, parameters, drive, joint, friction, directions, point, torque, work)
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
