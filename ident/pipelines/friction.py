"""The law of Coulomb friction that the logs ask for, where an experiment has no [model]."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ident.compare.coulomb_width import smoothed, wide
from ident.model import Model, SmoothCoulomb
from ident.model.coulomb import SIGN
from ident.pipelines.loaded import Loaded
from ident.pipelines.steps import Warned, first_parts, processing_of
from ident.regression import base_parameters


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
    return smoothed(model, np.array(widths)) if len(widths) == len(named) else model
