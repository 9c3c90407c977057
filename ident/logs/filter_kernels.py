"""Compiled second-order sections, eight columns at a time: forwards into panels of eight, backwards out of them.

Four sections are passed at once, with what they remember in registers (transposed direct form II).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import prange

from ident.dynamics.packs import load, store
from ident.jit import cached_njit


@cached_njit(fastmath={"contract"}, error_model="numpy")
def _pass(
    source: Any, at: Any, target: Any, to: Any, rows: int, sections: Any, state: Any, g: int, groups: int
) -> None:
    """Pass packs of `source` through four sections into `target`, with group g's packs of the state.

    at, to: the place of the first pack, and the step to the next one.
    """
    b00, b01, b02, a01, a02 = sections[0]
    b10, b11, b12, a11, a12 = sections[1]
    b20, b21, b22, a21, a22 = sections[2]
    b30, b31, b32, a31, a32 = sections[3]
    p0, q0 = load(state, g), load(state, g + groups)
    p1, q1 = load(state, g + 2 * groups), load(state, g + 3 * groups)
    p2, q2 = load(state, g + 4 * groups), load(state, g + 5 * groups)
    p3, q3 = load(state, g + 6 * groups), load(state, g + 7 * groups)
    for i in range(rows):
        u = load(source, at[0] + i * at[1])
        y = b00 * u + p0
        p0, q0 = b01 * u + q0 - a01 * y, b02 * u - a02 * y
        u = b10 * y + p1
        p1, q1 = b11 * y + q1 - a11 * u, b12 * y - a12 * u
        y = b20 * u + p2
        p2, q2 = b21 * u + q2 - a21 * y, b22 * u - a22 * y
        u = b30 * y + p3
        p3, q3 = b31 * y + q3 - a31 * u, b32 * y - a32 * u
        store(target, to[0] + i * to[1], u)
    store(state, g, p0)
    store(state, g + groups, q0)
    store(state, g + 2 * groups, p1)
    store(state, g + 3 * groups, q1)
    store(state, g + 4 * groups, p2)
    store(state, g + 5 * groups, q2)
    store(state, g + 6 * groups, p3)
    store(state, g + 7 * groups, q3)


@cached_njit(parallel=True, fastmath={"contract"}, error_model="numpy")
def run_forwards(x: Any, sections: Any, state: Any, panels: Any, at: int) -> None:
    """Write x (N, 8 g), filtered, into panels (g, rows, 8) from row `at` on.

    sections (4 s, 5) of b0, b1, b2, a1, a2; state (4 s, 2, 8 g): what they remember, of before and then of after x.
    """
    N, groups, rows = x.shape[0], panels.shape[0], panels.shape[1]
    numbers, line, memory = x.reshape(-1), panels.reshape(-1), state.reshape(-1)
    size = 8 * groups
    for g in prange(groups):
        place = (g * rows + at, 1)
        _pass(numbers, (g, groups), line, place, N, sections[:4], memory[: 8 * size], g, groups)
        for s in range(4, sections.shape[0], 4):
            _pass(line, place, line, place, N, sections[s : s + 4], memory[2 * s * size :], g, groups)


@cached_njit(parallel=True, fastmath={"contract"}, error_model="numpy")
def run_backwards(panels: Any, stop: int, sections: Any, state: Any, first: int, step: int, out: Any) -> None:
    """Write rows first, first + step ... of panels (g, rows, 8), filtered backwards from `stop`, to out (M, 8 g)."""
    groups, rows, M = panels.shape[0], panels.shape[1], out.shape[0]
    numbers, memory, written = panels.reshape(-1), state.reshape(-1), out.reshape(-1)
    count = stop - first
    size = 8 * groups
    for g in prange(groups):
        line = np.empty(8 * count)
        place = (count - 1, -1)
        _pass(numbers, (g * rows + stop - 1, -1), line, place, count, sections[:4], memory[: 8 * size], g, groups)
        for s in range(4, sections.shape[0], 4):
            _pass(line, place, line, place, count, sections[s : s + 4], memory[2 * s * size :], g, groups)
        for m in range(M):
            store(written, m * groups + g, load(line, m * step))
