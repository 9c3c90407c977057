"""Compiled batch simulation: eight rollouts at a time by Runge-Kutta 4, spread over the cores."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, prange

from ident.dynamics.articulated_body import SIZE, articulated_body
from ident.dynamics.packs import LANES, gather, load, pack_of, scatter, store
from ident.jit import cached_njit


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
