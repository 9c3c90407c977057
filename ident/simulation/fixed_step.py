"""Steps of the classical Runge-Kutta method, and how fast friction settles near standstill, which they must follow."""

from __future__ import annotations

import numpy as np

from ident.arrays import Array
from ident.simulation.plant import Plant, mass_matrices
from ident.simulation.run import Slope, runaway
from ident.simulation.torques import Stop

#: Between so many steps the stability of friction is looked at.
_LOOK = 8


class FixedSteps:
    """RK4 with a fixed step h [s] from one whole number of steps to another, with the members of SciPy's solvers."""

    def __init__(self, h: float, slope: Slope, begin: float, y: Array, end: float, first_step: float | None = None):
        self.h, self.slope, self.k, self.last = h, slope, round(begin / h), round(end / h)
        self.t = self.t_old = begin
        self.y, self.before, self.begin = y, y, y
        self.status = "running"

    def step(self) -> None:
        """Go on by one step; raises Stop where friction settles faster than it can follow, or it diverges."""
        h, t, y, slope = self.h, self.k * self.h, self.y, self.slope
        if self.k % _LOOK == 0:
            stiff = too_stiff(slope.plant, y[: slope.plant.robot.n], h)
            if stiff:
                raise Stop(f"{stiff[0]} at t = {t:g} s", stiff[1])
        k1 = slope(t, y)
        k2 = slope(t + h / 2, y + h / 2 * k1)
        k3 = slope(t + h / 2, y + h / 2 * k2)
        k4 = slope(t + h, y + h * k3)
        after = np.asarray(y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4))
        reason = runaway(slope.plant, t + h, y, after)
        if reason:
            raise Stop(f"the step of {h:g} s from t = {t:g} s diverged: {reason}")
        self.k += 1
        self.t_old, self.t, self.before, self.begin, self.y = t, self.k * h, y, k1, after
        self.status = "finished" if self.k == self.last else "running"

    def dense_output(self) -> FixedSteps:
        """Return what gives the states within the last step, until the next one."""
        return self

    def __call__(self, t: float) -> Array:
        """Return the state within the last step: the cubic through both ends with their slopes."""
        x = (t - self.t_old) / self.h
        if x >= 1.0:
            return self.y
        d0, d1 = self.h * self.begin, self.h * self.slope(self.t_old + self.h, self.y)
        start, end = (1 + 2 * x) * (1 - x) ** 2 * self.before, x * x * (3 - 2 * x) * self.y
        return np.asarray(start + x * (1 - x) ** 2 * d0 + end - x * x * (1 - x) * d1)


#: RK4 is stable for y' = -rate y while step * rate is below this: the real root of the stability function's |R| = 1.
RK4_BOUND = 2.785


def settling_rate(plant: Plant, q: Array) -> tuple[float, str]:
    """Return the greatest rate [1/s] at which friction ends a small motion at q (n,), and whose friction does most.

    Near standstill all friction is viscous, F = sum_k d_k d_k^T slope_k with slope_k that of the joint's (or motor's)
    friction at q and no speed: the greatest eigenvalue of D^-1 F. 0 and "" without friction.
    """
    found = _elements(plant, q)
    if not any(slope for _, slope, _ in found.values()):
        return 0.0, ""
    G = np.array([np.sqrt(slope) * direction for direction, slope, _ in found.values()])
    rates, shapes = np.linalg.eigh(G @ np.linalg.solve(mass_matrices(plant, q[None])[0], G.T))
    return float(rates[-1]), list(found)[int(np.argmax(np.abs(shapes[:, -1])))]


def too_stiff(plant: Plant, q: Array, step: float) -> tuple[str, str] | None:
    """Return what is wrong, and what to do, when RK4 would chatter in friction at q (n,); None when it would not."""
    rate, owner = settling_rate(plant, q)
    if rate * step < RK4_BOUND:
        return None
    what = (
        f"friction of '{owner}' settles at {rate:.3g} 1/s near standstill, and steps of {step:g} s would"
        f" make it chatter (step x rate is {step * rate:.3g}, RK4 allows {RK4_BOUND:.3g})"
    )
    ways = [f"steps below {_two_digits(RK4_BOUND / rate, np.floor):g} s"]
    _, slope, steep = _elements(plant, q)[owner]
    gentle = sum(s for s, size in steep if s <= size)
    size = sum(size for s, size in steep if s > size)
    allowed = slope * RK4_BOUND / (rate * step) - gentle
    if size > 0 and allowed > 0:
        ways.append(f"a friction width above {_two_digits(size / allowed, np.ceil):g}")
    return what, f"Use {', '.join(ways)}, or simulate(), whose default solver for friction is implicit"


def _elements(plant: Plant, q: Array) -> dict[str, tuple[Array, float, list[tuple[float, float]]]]:
    """Return by joint or motor: its direction (n,), the slope of its friction at standstill, and of each of its terms
    the slope and the torque at a speed of 1, less than the slope where the term is steep at standstill."""
    found: dict[str, tuple[Array, float, list[tuple[float, float]]]] = {}
    for x in plant.frictions:
        at, little = x.directions @ q, 1e-4 * x.width
        slopes = x.values * (x.column(at, 0.0 * at + little) - x.column(at, 0.0 * at - little)) / (2.0 * little)
        sizes = x.values * np.abs(x.column(at, 0.0 * at + 1.0))
        for owner, direction, slope, size in zip(x.owners, x.directions, slopes, sizes, strict=True):
            _, before, terms = found.get(owner, (direction, 0.0, []))
            found[owner] = direction, before + max(float(slope), 0.0), [*terms, (float(slope), float(size))]
    return found


def _two_digits(x: float, whole: np.ufunc) -> float:
    """Return x rounded to two digits, down by np.floor or up by np.ceil."""
    unit = 10.0 ** (np.floor(np.log10(x)) - 1)
    return float(f"{whole(x / unit) * unit:.2g}")
