"""The law of Coulomb friction that the logs ask for, where an experiment has no [model]."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ident.estimate.estimate import restored_terms
from ident.logs.motion import Motion
from ident.model import Model, SmoothCoulomb
from ident.model.standard import COULOMB, SIGN
from ident.pipelines.loaded import Loaded
from ident.pipelines.steps import FirstParts, Warned, first_parts_of, processing_of
from ident.regression import base_parameters
from ident.structure.widths import smoothed, wide
from ident.tables import below


def with_friction(loaded: Loaded, warned: list[Warned], read: FirstParts | None = None) -> Loaded:
    """Return the experiment with Coulomb friction as wide near standstill as its fitted logs ask for, and say so.

    An experiment with a [model] stays as it is. read: its `first_parts_of`, where others read them too. Raises LogError
    for the logs.
    """
    if loaded.experiment.own_model or SIGN not in loaded.model.terms:
        return loaded
    processing, read = processing_of(loaded), read or first_parts_of(loaded)
    model, gain, _ = wide(loaded.model, slow_too(loaded, read), loaded.prior)
    if model is loaded.model:
        return loaded
    warned.append(told(model, f"whose error falls by {gain.gain:.0%}"))
    return replace(loaded, model=model, base=base_parameters(model), processing=processing)


def slow_too(loaded: Loaded, read: FirstParts) -> list[Motion]:
    """Return the fitted recordings, of long ones the first part, with rows too slow for the sign of the speed."""
    return read(replace(processing_of(loaded)[0], min_speed=0.0))


def told(model: Model, why: str) -> Warned:
    """Return what to say of the widths that logs chose."""
    laws = [term for term in model.terms if isinstance(term, SmoothCoulomb)]
    each = ", ".join(f"{{ tanh = {law.tanh:g}, joints = {list(law.joints or ())} }}".replace("'", '"') for law in laws)
    message = f"chosen by what is left out, {why}: {below('model', f'coulomb = [{each}]')}"
    return Warned("friction", "chosen", message)


def plain(model: Model) -> Model:
    """Return the model with the sign of the speed in place of widths that logs chose."""
    at = [k for k, term in enumerate(model.terms) if term.kind == COULOMB and isinstance(term, SmoothCoulomb)]
    if not at:
        return model
    return replace(model, terms=(*model.terms[: at[0]], SIGN, *model.terms[at[-1] + 1 :]))


def restored(model: Model, shapes: Mapping[str, Mapping[str, float]], names: Sequence[str]) -> Model:
    """Return a model with what logs chose: another one's widths in place of its sign of the speed, its further terms.

    shapes, names: `Model.shapes` and the names of the other's parameters, of the same robot.
    """
    named = [f"{joint}.{SIGN.kind.name}" for joint in model.robot.joint_names]
    widths = [shapes[name]["tanh"] for name in named if "tanh" in shapes.get(name, {})]
    if len(widths) == len(named):
        model = smoothed(model, np.array(widths))
    more = names[len(model.names) :]
    if not more or tuple(names[: len(model.names)]) != model.names:
        return model
    return replace(model, terms=(*model.terms, *restored_terms(shapes, model.robot, more)))
