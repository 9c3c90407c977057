"""A link's numbers against its own shape: where its mass can be, how far it can be spread, how dense it would be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ident.arrays import Array, frozen
from ident.errors import InputError
from ident.spatial.inertia import pseudo_inertia

#: Shapes leave out cables and covers: so much is forgiven on every side, of the shape's diagonal and in m.
MARGIN, LEAST_MARGIN = 0.05, 0.01
#: Osmium's density [kg/m^3].
DENSEST = 22_590.0


@dataclass(frozen=True)
class Misfit:
    """What does not fit a link's shape, in words. gross: beyond what a shape that is not whole could explain."""

    link: str
    what: str
    gross: bool


def against_shapes(links: Mapping[str, Array], shapes: Mapping[str, Array]) -> tuple[Misfit, ...]:
    """Return what cannot be of links with these parameters (10,) and points (k, 3) of their shapes [m].

    The centre of mass lies in the box around the shape; along each axis of length L the variance of mass is at most
    L^2 / 4; mass over the volume of the shape's convex hull is no more than a metal's density. Links without mass or
    shape are not judged. Raises InputError for points that are none.
    """
    found: list[Misfit] = []
    for link, parameters in links.items():
        if link in shapes and parameters[0] > 0:
            points = frozen(shapes[link], (None, 3), f"shape of {link}", InputError)
            found += _beyond(link, np.asarray(parameters, dtype=np.float64), points)
    return tuple(found)


def _beyond(link: str, parameters: Array, points: Array) -> list[Misfit]:
    J = pseudo_inertia(parameters)
    mass = float(parameters[0])
    with np.errstate(over="ignore", invalid="ignore"):  # of next to no mass
        centre = parameters[1:4] / mass
        variance = np.diag(J[:3, :3]) / mass - centre**2
    low, high = points.min(axis=0), points.max(axis=0)
    diagonal = float(np.linalg.norm(high - low))
    margin = MARGIN * diagonal + LEAST_MARGIN
    found = []
    out = np.maximum(low - margin - centre, centre - high - margin)
    if out.max() > 0:
        what = f"its centre of mass {_point(centre)} m is outside its shape, {_point(low)} to {_point(high)} m"
        gross = bool(out.max() > diagonal)
        found.append(Misfit(link, f"{what}: ask for the unit, and from which origin it is measured", gross))
    widest = (high - low + 2 * margin) / 2
    spread = np.sqrt(np.maximum(variance, 0.0))
    if (spread > widest).any():
        k = int(np.argmax(spread / widest))
        what = f"its mass is spread by {spread[k]:.3g} m along {'xyz'[k]}, at most {widest[k]:.3g} m fit its shape"
        gross = bool(spread[k] > 3 * widest[k])
        found.append(Misfit(link, f"{what}: ask for the unit of the tensor, and its point", gross))
    volume = _hull_volume(points)
    if volume > 0 and mass / volume > DENSEST:
        what = f"its {mass:.4g} kg in the {1e3 * volume:.3g} litres of its shape are {mass / volume:.3g} kg/m^3"
        what += ", more than any metal: ask for the unit of the mass, and of the shape"
        found.append(Misfit(link, what, mass / volume > 10 * DENSEST))
    return found


def _hull_volume(points: Array) -> float:
    from scipy.spatial import ConvexHull, QhullError

    try:
        return float(ConvexHull(points).volume)
    except (QhullError, ValueError):  # flat, or too few points
        return 0.0


def _point(x: Array) -> str:
    return "(" + ", ".join(f"{v:.3g}" for v in x) + ")"
