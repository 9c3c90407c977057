"""Multiplications, additions and time of Lagrange, Newton-Euler, Kane and Gauss for n = 2 ... 12 joints.

    python experiments/seed_two_link/cost.py        prints the table of README.md and draws cost.png (half a minute)

Operations are counted by numbers that count: every multiplication and addition of the same Python functions, zeros and
ones included, sines and cosines and the entries of T_j not; a division counts as a multiplication. The time is that of
those functions with floats.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import algorithms  # noqa: E402
from algorithms import Arm, Array  # noqa: E402

from ident.robot import MDHJoint, Robot, from_mdh  # noqa: E402
from ident.spatial.inertia import pseudo_inertia, to_com  # noqa: E402

JOINTS = range(2, 13)
METHODS: dict[str, tuple[Callable[..., list[Any]], int]] = {  # torques of a motion, and the order in n
    "Lagrange as written": (algorithms.lagrange, 4),
    "Lagrange, inner sums first": (algorithms.lagrange_summed, 3),
    "Lagrange, Waters": (algorithms.lagrange_waters, 2),
    "Lagrange, recursive": (algorithms.lagrange_recursive, 1),
    "Newton-Euler": (algorithms.newton_euler, 1),
    "Kane, joint by link": (algorithms.kane, 2),
    "Kane, gathered": (algorithms.kane_gathered, 1),
}
FORWARD: dict[str, tuple[Callable[..., list[Any]], int]] = {  # motion under torques
    "Newton-Euler, n + 1 times": (algorithms.newton_euler_solved, 3),
    "Gauss, free links": (lambda *state: algorithms.gauss_free(*state)[0], 3),
    "Gauss, joints": (algorithms.gauss, 3),
    "Gauss, link by link": (algorithms.gauss_recursive, 1),
}
ALL = METHODS | FORWARD
COLOURS = {"Lagrange": "#d55e00", "Newton-Euler": "#0072b2", "Kane": "#00855f", "Gauss": "#8a4fa0"}


class Counted:
    """A number that counts the multiplications and additions made with it."""

    multiplications = 0
    additions = 0

    def __init__(self, value: float) -> None:
        self.value = float(value)

    def __mul__(self, other: Any) -> Counted:
        Counted.multiplications += 1
        return Counted(self.value * _value(other))

    def __add__(self, other: Any) -> Counted:
        Counted.additions += 1
        return Counted(self.value + _value(other))

    def __sub__(self, other: Any) -> Counted:
        Counted.additions += 1
        return Counted(self.value - _value(other))

    def __rsub__(self, other: Any) -> Counted:
        Counted.additions += 1
        return Counted(_value(other) - self.value)

    def __truediv__(self, other: Any) -> Counted:
        Counted.multiplications += 1
        return Counted(self.value / _value(other))

    def __rtruediv__(self, other: Any) -> Counted:
        return Counted(_value(other)) / self

    def __neg__(self) -> Counted:
        return Counted(-self.value)

    __rmul__, __radd__ = __mul__, __add__


def _value(x: Any) -> float:
    return x.value if isinstance(x, Counted) else float(x)


def counting(x: Any) -> Any:
    """Return an array (or a list of arrays, or a number) with numbers that count."""
    if isinstance(x, list):
        return [counting(y) for y in x]
    if np.ndim(x) == 0:
        return Counted(x)
    out = np.empty(np.shape(x), dtype=object)
    for at, value in np.ndenumerate(np.asarray(x)):
        out[at] = Counted(value)
    return out


def robot(n: int) -> tuple[Robot, Array]:
    """Return an n-joint arm of no special geometry, and its parameters (n, 10)."""
    rng = np.random.default_rng(n)
    rows = [MDHJoint(a=rng.uniform(0.1, 0.5), alpha=rng.uniform(-2, 2), d=rng.uniform(-0.2, 0.2)) for _ in range(n)]
    points, masses = rng.normal(0, 0.1, (n, 6, 3)), rng.uniform(0.1, 1.0, (n, 6))
    bodies = []
    for x, m in zip(points, masses, strict=True):  # clouds of point masses
        I = np.einsum("p,pij->ij", m, (x**2).sum(1)[:, None, None] * np.eye(3) - x[:, :, None] * x[:, None, :])  # noqa: E741
        bodies.append([m.sum(), *(m @ x), I[0, 0], I[0, 1], I[0, 2], I[1, 1], I[1, 2], I[2, 2]])
    return from_mdh(f"arm{n}", rows), np.array(bodies)


def state(n: int) -> tuple[Array, Array, Array]:
    q, qd, qdd = np.random.default_rng(100 + n).normal(size=(3, n))
    return q, qd, qdd


def arm(n: int, q: Array) -> Arm:
    """Return what the algorithms are given: transforms at q and bodies."""
    chain, parameters = robot(n)
    bodies = [to_com(p) for p in parameters]
    return Arm(
        T=[joint.pose(float(x)).matrix for joint, x in zip(chain.joints, q, strict=True)],
        m=[mass for mass, _, _ in bodies],
        r=[np.append(c, 1.0) for _, c, _ in bodies],
        J=list(pseudo_inertia(parameters)),
        I=[tensor for _, _, tensor in bodies],
        gravity=np.append(chain.gravity, 0.0),
    )


def solved(method: str, n: int) -> Array:
    """Return the torques (n,) [N m] of the n-joint arm at its state, or the accelerations under `state`'s last (n,)."""
    q, qd, given = state(n)
    return np.array(ALL[method][0](arm(n, q), qd, given))


def operations(method: str, n: int) -> tuple[int, int]:
    """Return the numbers of multiplications and additions of one call."""
    q, qd, qdd = state(n)
    a = arm(n, q)
    counted = Arm(*(counting(x) for x in (a.T, a.m, a.r, a.J, a.I, a.gravity)))
    Counted.multiplications = Counted.additions = 0
    ALL[method][0](counted, counting(qd), counting(qdd))
    return Counted.multiplications, Counted.additions


def degree(counts: list[int]) -> int:
    """Return the degree of the polynomial in n through counts at consecutive n: that many differences are constant."""
    d, x = 0, np.array(counts)
    while np.any(x != x[0]):
        d, x = d + 1, np.diff(x)
    return d


def seconds(method: str, n: int, budget: float = 0.08) -> float:
    """Return the least processor time of one call [s]."""
    q, qd, qdd = state(n)
    a, best, end = arm(n, q), np.inf, time.process_time() + budget
    while (start := time.process_time()) < end:
        ALL[method][0](a, qd, qdd)
        best = min(best, time.process_time() - start)
    return best


def main() -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    n = np.array(JOINTS)
    figure, axes = plt.subplots(2, 2, figsize=(12.5, 9), sharex=True, sharey="col")
    times = dict.fromkeys(ALL, np.full(len(n), np.inf))
    for _ in range(5):  # not one after the other: a machine is slow for a while
        times |= {m: np.minimum(times[m], [1e3 * seconds(m, k) for k in JOINTS]) for m in ALL}
    print(f"{'':28s} mult, n=6   add, n=6   mult, n=12    degree   time, n=6   n=12  [ms]")
    for row, methods in zip(axes, (METHODS, FORWARD), strict=True):
        ends: tuple[dict[str, float], dict[str, float]] = ({}, {})
        for number, (method, (_, claimed)) in enumerate(methods.items()):
            counts = np.array([operations(method, k) for k in JOINTS])
            degrees = [degree(list(c)) for c in counts.T]
            print(
                f"{method:28s} {counts[4, 0]:9d} {counts[4, 1]:10d} {counts[10, 0]:12d}   {degrees[0]}, {degrees[1]}"
                f"   {times[method][4]:8.2f} {times[method][10]:8.2f}"
            )
            label = f"{method}: O(n{'' if claimed == 1 else f'$^{claimed}$'})"
            for ax, y, end in zip(row, (counts.sum(axis=1), times[method]), ends, strict=True):
                ax.loglog(n, y, "osv^D"[number % 5] + "-", color=colour(method), markersize=5)
                end[label] = float(y[-1])
        for ax, end in zip(row, ends, strict=True):
            beside(ax, end)
    for row, what in zip(axes, ("Torques of a motion", "Motion under torques"), strict=True):
        row[0].set(ylabel="multiplications and additions", title=f"{what}: operations of one call")
        row[1].set(ylabel="time of one call [ms]", title=f"{what}: time (Python, numpy)")
    for ax in axes.flat:
        ax.set_xlabel("joints n")
        ax.set_xticks([2, 3, 4, 6, 8, 10, 12], ["2", "3", "4", "6", "8", "10", "12"])
        ax.xaxis.set_tick_params(labelbottom=True)
        ax.minorticks_off()
        ax.grid(color="#e6e6e6", linewidth=0.6)
        ax.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(HERE / "cost.png", dpi=90)


def colour(method: str) -> str:
    return next(c for name, c in COLOURS.items() if method.startswith(name))


def beside(ax: Any, ends: dict[str, float]) -> None:
    """Write each line's name beside its last point; names that would overlap move apart."""
    lowest = -np.inf
    low, high = np.log(ax.get_ylim())
    for label, y in sorted(ends.items(), key=lambda item: item[1]):
        lowest = max(np.log(y), lowest + 0.045 * (high - low))
        ax.text(12.6, np.exp(lowest), label, color=colour(label), va="center", fontsize=9)


if __name__ == "__main__":
    main()
