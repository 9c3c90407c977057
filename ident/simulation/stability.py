"""How fast friction settles near standstill, and whether a fixed step can follow."""

from __future__ import annotations

import numpy as np

from ident.arrays import Array
from ident.simulation.acceleration import mass_matrices
from ident.simulation.plant import Plant

#: RK4 is stable for y' = -rate y while step * rate is below this: the real root of the stability function's |R| = 1.
RK4_BOUND = 2.785


def settling_rate(plant: Plant, q: Array) -> tuple[float, int]:
    """Return the greatest rate [1/s] at which friction ends a small motion at q (n,), and the element that does most.

    Near standstill all friction is viscous, F = sum_k d_k d_k^T slope_k with slope = viscous + coulomb / width +
    nonlinear width^(power - 1): the greatest eigenvalue of D^-1 F. 0 and -1 without friction.
    """
    slope = _slope(plant)
    if not slope.any():
        return 0.0, -1
    G = np.sqrt(slope)[:, None] * plant.directions
    rates, shapes = np.linalg.eigh(G @ np.linalg.solve(mass_matrices(plant, q[None])[0], G.T))
    return float(rates[-1]), int(np.argmax(np.abs(shapes[:, -1])))


def too_stiff(plant: Plant, q: Array, step: float) -> tuple[str, str] | None:
    """Return what is wrong, and what to do, when RK4 would chatter in friction at q (n,); None when it would not."""
    rate, k = settling_rate(plant, q)
    if rate * step < RK4_BOUND:
        return None
    what = (
        f"friction of '{plant.elements[k]}' settles at {rate:.3g} 1/s near standstill, and steps of {step:g} s would"
        f" make it chatter (step x rate is {step * rate:.3g}, RK4 allows {RK4_BOUND:.3g})"
    )
    ways = [f"steps below {_floor(RK4_BOUND / rate):g} s"]
    allowed = _slope(plant)[k] * RK4_BOUND / (rate * step) - plant.viscous[k]
    bent = plant.nonlinear[k] if plant.power[k] < 1 else 0.0  # below a width of 1, width^(power - 1) < 1 / width
    if plant.coulomb[k] + bent > 0 and allowed > 0:
        ways.append(f"a friction width above {_ceil((plant.coulomb[k] + bent) / allowed):g}")
    return what, f"Use {', '.join(ways)}, or simulate(), whose default solver for friction is implicit"


def _slope(plant: Plant) -> Array:
    """Return the slope (m,) of each element's friction at standstill."""
    bent = plant.nonlinear * plant.width ** (plant.power - 1.0)
    return np.asarray(plant.viscous + plant.coulomb / plant.width + bent)


def _floor(x: float) -> float:
    """Return x rounded down to two digits."""
    unit = 10.0 ** (np.floor(np.log10(x)) - 1)
    return float(f"{np.floor(x / unit) * unit:.2g}")


def _ceil(x: float) -> float:
    """Return x rounded up to two digits."""
    unit = 10.0 ** (np.floor(np.log10(x)) - 1)
    return float(f"{np.ceil(x / unit) * unit:.2g}")
