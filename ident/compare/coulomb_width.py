"""How wide Coulomb friction is near standstill: a tanh in place of the sign of the speed, as the logs ask for."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ident.arrays import Array
from ident.estimate.least_squares import UNTOLD, joint_noise, solve, squared_left_out, stretch_factors
from ident.logs.motion import Motion
from ident.model import Model, SmoothCoulomb
from ident.model.standard import SIGN
from ident.regression import Regression, base_parameters, compress

#: Widths of tanh that are tried, relative to each joint's speed (99th percentile).
WIDTHS = (0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.256)
#: A width is taken where it takes this share from the error of what is left out, in all but one of so many stretches.
GAIN, STRETCHES = 0.05, 10
#: Fewest segments from which it is.
FEWEST = STRETCHES // 2
#: The same share of rows at which joints surely move.
MOVING = 0.01


def wide(model: Model, moving: Sequence[Motion], motions: Sequence[Motion]) -> tuple[Model, float]:
    """Return the model with a tanh in place of the sign of the speed, and the share of the error that this takes.

    Each width, and the sign, is fitted by least squares without one stretch of the motions after the other, which it
    then predicts; where stretches have too little in common for that, what the fit leaves of each counts. The model as
    it is, and 0, where no width takes GAIN in all stretches but one, where rows of joints that surely move (`moving`)
    gain nothing (at rest, the sign is that of noise), or where segments are too few.
    The limits were set on simulated arms and real logs (`experiments/benchmarks/friction_width.py`).
    """
    plain = _regression(model, motions)
    if len(plain.segments) < FEWEST:
        return model, 0.0
    fastest = np.max([np.percentile(np.abs(m.qd), 99, axis=0) for m in motions], axis=0)
    models = [smoothed(model, np.maximum(width * fastest, 1e-6)) for width in WIDTHS]
    noise = joint_noise(plain)
    judged = _left_out if _left_out(plain, noise).sum() < UNTOLD**2 * _left(plain, noise).sum() else _left
    sign, *errors = (judged(r, noise) for r in (plain, *(_regression(m, motions) for m in models)))
    best = int(np.argmin([e.sum() for e in errors]))
    gain = 1.0 - float(np.sqrt(errors[best].sum() / sign.sum()))
    if gain < GAIN or np.sum(errors[best] < sign) < len(sign) - 1:
        return model, 0.0
    surely, so = (judged(_regression(m, moving), noise).sum() for m in (models[best], model))
    return (models[best], gain) if surely < (1.0 - MOVING) ** 2 * so else (model, 0.0)


def smoothed(model: Model, widths: Array) -> Model:
    """Return the model with a tanh of these widths (n,), to two digits, in place of the sign of the speed, if any."""
    if SIGN not in model.terms:
        return model
    digits = [float(f"{width:.2g}") for width in widths]
    names = model.robot.joint_names
    laws = [SmoothCoulomb(w, (joint,)) for w, joint in zip(digits, names, strict=True)]
    if len(set(digits)) == 1:
        laws = [SmoothCoulomb(digits[0], names)]
    at = model.terms.index(SIGN)
    return Model(model.robot, (*model.terms[:at], *laws, *model.terms[at + 1 :]))


def _regression(model: Model, motions: Sequence[Motion]) -> Regression:
    return compress(model, motions, base=base_parameters(model))


def _left_out(regression: Regression, noise: Array) -> Array:
    """Return the squared error of each stretch of the segments when it is left out."""
    return squared_left_out(stretch_factors(regression, noise, STRETCHES))


def _left(regression: Regression, noise: Array) -> Array:
    """Return the squared error of each stretch of the segments in a fit of all."""
    phi = np.append(solve(regression, noise), -1.0)
    return np.array([np.sum((factor @ phi) ** 2) for factor in stretch_factors(regression, noise, STRETCHES)])
