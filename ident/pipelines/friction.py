"""The law of Coulomb friction that the logs ask for, where an experiment has no [model]."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ident.arrays import Array
from ident.estimate.least_squares import joint_noise, squared_left_out, stretch_factors
from ident.logs import Motion
from ident.model import Model, SmoothCoulomb
from ident.model.coulomb import SIGN
from ident.pipelines.loaded import Loaded
from ident.pipelines.steps import Warned, first_parts, processing_of
from ident.regression import Regression, base_parameters, compress

#: Widths of tanh that are tried, relative to each joint's speed (99th percentile).
WIDTHS = (0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.256)
#: A width is taken where it takes this share from the error of what is left out, in all but one of so many stretches.
GAIN, STRETCHES = 0.05, 10
#: The same share of rows at which joints surely move.
MOVING = 0.01


def with_friction(loaded: Loaded, warned: list[Warned]) -> Loaded:
    """Return the experiment with Coulomb friction as wide near standstill as its fitted logs ask for, and say so.

    An experiment with a [model] stays as it is. Raises LogError for the logs.
    """
    if loaded.experiment.own_model or SIGN not in loaded.model.terms:
        return loaded
    processing = processing_of(loaded)
    moving, all_rows = (list(first_parts(loaded, loaded.experiment.fit, p)) for p in processing)
    model, gain = wide(loaded.model, moving, all_rows)
    if model is loaded.model:
        return loaded
    laws = [term for term in model.terms if isinstance(term, SmoothCoulomb)]
    told = ", ".join(f"{{ tanh = {law.tanh:g}, joints = {list(law.joints or ())} }}".replace("'", '"') for law in laws)
    message = f"chosen by what is left out, whose error falls by {gain:.0%}: coulomb = [{told}] in [model]"
    warned.append(Warned("friction", "chosen", message))
    return replace(loaded, model=model, base=base_parameters(model), processing=processing)


def with_widths(model: Model, shapes: Mapping[str, Mapping[str, float]]) -> Model:
    """Return the model with the widths that another one's `shapes` have in place of its sign of the speed."""
    named = [f"{joint}.{SIGN.kind.name}" for joint in model.robot.joint_names]
    widths = [shapes[name]["tanh"] for name in named if "tanh" in shapes.get(name, {})]
    return _smooth(model, np.array(widths)) if SIGN in model.terms and len(widths) == len(named) else model


def wide(model: Model, moving: Sequence[Motion], motions: Sequence[Motion]) -> tuple[Model, float]:
    """Return the model with a tanh in place of the sign of the speed, and the share of the error that this takes.

    Each width, and the sign, is fitted by least squares without one stretch of the motions after the other, which it
    then predicts. The model as it is, and 0, where no width takes GAIN in all stretches but one, where rows of joints
    that surely move (`moving`) gain nothing (at rest, the sign is that of noise), or where stretches are too few.
    The limits were set on simulated arms and real logs (`experiments/benchmarks/friction_width.py`).
    """
    plain = _regression(model, motions)
    if len(plain.segments) < STRETCHES // 2:
        return model, 0.0
    fastest = np.max([np.percentile(np.abs(m.qd), 99, axis=0) for m in motions], axis=0)
    models = [_smooth(model, np.maximum(width * fastest, 1e-6)) for width in WIDTHS]
    noise = joint_noise(plain)
    sign, *errors = (_left_out(r, noise) for r in (plain, *(_regression(m, motions) for m in models)))
    best = int(np.argmin([e.sum() for e in errors]))
    gain = 1.0 - float(np.sqrt(errors[best].sum() / sign.sum()))
    if gain < GAIN or np.sum(errors[best] < sign) < len(sign) - 1:
        return model, 0.0
    surely, so = (_left_out(_regression(m, moving), noise).sum() for m in (models[best], model))
    return (models[best], gain) if surely < (1.0 - MOVING) ** 2 * so else (model, 0.0)


def _smooth(model: Model, widths: Array) -> Model:
    """Return the model with a tanh of these widths (n,), to two digits, in place of the sign of the speed."""
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
