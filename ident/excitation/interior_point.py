"""Quasi-Newton minimisation of a function that is infinite outside its domain (BFGS; Nocedal, Wright, chapter 6).

scipy's BFGS and L-BFGS-B interpolate through infinite values and break down there; this line search only halves.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ident.arrays import Array

_ARMIJO, _CURVATURE = 1e-4, 0.9
_TRIALS = 30

Merit = Callable[[Array], tuple[float, Array]]


def minimise(
    merit: Merit, z: Array, inverse: Array | None, steps: int, gain: float, stop: Callable[[], bool]
) -> tuple[Array, Array]:
    """Return where `merit` is (locally) least, starting from z where it is finite, and the inverse Hessian found.

    merit(z): value and gradient, of the shape of z. inverse (z.size, z.size): from an earlier run, or None.
    Ends after `steps` steps, ten steps that gain less than `gain` together, or when stop() says so.
    """
    value, gradient = merit(z)
    history = [value]
    first = inverse is None
    if inverse is None:
        inverse = np.eye(z.size) * (0.1 / max(float(np.linalg.norm(gradient)), 1e-300))
    for _ in range(steps):
        if stop():
            break
        step = -(inverse @ gradient.ravel()).reshape(z.shape)
        slope = float((step * gradient).sum())
        if slope >= 0.0:
            break
        found = _line_search(merit, z, value, step, slope)
        if found is None:
            break
        length, value, after = found
        s, y = length * step.ravel(), (after - gradient).ravel()
        curvature = float(s @ y)
        if curvature > 1e-12 * np.linalg.norm(s) * np.linalg.norm(y):
            if first:
                inverse = np.eye(z.size) * (curvature / float(y @ y))
                first = False
            inverse = _updated(inverse, s, y, curvature)
        z, gradient = z + length * step, after
        history.append(value)
        if len(history) > 10 and history[-11] - value < gain:
            break
    return z, inverse


def _line_search(merit: Merit, z: Array, value: float, step: Array, slope: float) -> tuple[float, float, Array] | None:
    """Return a length that satisfies the weak Wolfe conditions, value and gradient there; None when there is none."""
    shortest, longest, length = 0.0, np.inf, 1.0
    best: tuple[float, float, Array] | None = None
    for _ in range(_TRIALS):
        found, gradient = merit(z + length * step)
        if not found <= value + _ARMIJO * length * slope:
            longest = length
        else:
            best = (length, found, gradient)
            if float((gradient * step).sum()) >= _CURVATURE * slope:
                break
            shortest = length
        length = (shortest + longest) / 2.0 if np.isfinite(longest) else 2.0 * length
    return best


def _updated(inverse: Array, s: Array, y: Array, curvature: float) -> Array:
    """Return the BFGS update of an inverse Hessian."""
    hy = inverse @ y
    scale = (1.0 + float(y @ hy) / curvature) / curvature
    return np.asarray(inverse + scale * np.outer(s, s) - (np.outer(hy, s) + np.outer(s, hy)) / curvature)
