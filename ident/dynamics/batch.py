"""The arguments of the batch functions, checked."""

from __future__ import annotations

from numpy.typing import ArrayLike

from ident.arrays import Array, checked
from ident.errors import ModelError
from ident.robot.robot import Robot
from ident.spatial.inertia import pseudo_inertia


def batch(robot: Robot, **states: ArrayLike) -> tuple[Array, ...]:
    """Return q, qd and the like, given by name, as checked (N, n) arrays of equal length.

    Raises ModelError naming the array that does not fit.
    """
    arrays = tuple(checked(x, (None, robot.n), name, ModelError) for name, x in states.items())
    if len({len(x) for x in arrays}) > 1:
        *first, last = states
        names = f"{', '.join(first)} and {last}"
        raise ModelError(f"{names} must be equally long, got {[len(x) for x in arrays]} samples")
    return arrays


def pseudo_inertias(robot: Robot, inertials: ArrayLike) -> Array:
    """Return the pseudo-inertias (n, 4, 4) of checked inertials (n, 10)."""
    return pseudo_inertia(checked(inertials, (robot.n, 10), "inertials", ModelError))
