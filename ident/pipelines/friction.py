"""The law of Coulomb friction that the logs ask for, where an experiment has no [model]."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ident.compare.coulomb_width import FEWEST, smoothed, wide
from ident.estimate.estimate import restored_terms
from ident.model import Model, SmoothCoulomb
from ident.model.standard import SIGN
from ident.pipelines.loaded import Loaded
from ident.pipelines.steps import FirstParts, Warned, first_parts_of, processing_of
from ident.regression import base_parameters


def with_friction(loaded: Loaded, warned: list[Warned], read: FirstParts | None = None) -> Loaded:
    """Return the experiment with Coulomb friction as wide near standstill as its fitted logs ask for, and say so.

    An experiment with a [model] stays as it is. read: its `first_parts_of`, where others read them too. Raises LogError
    for the logs.
    """
    if loaded.experiment.own_model or SIGN not in loaded.model.terms:
        return loaded
    processing, read = processing_of(loaded), read or first_parts_of(loaded)
    moving, all_rows = map(read, processing)
    if sum(len(m.blocks) for m in all_rows) < FEWEST:  # a short log, thinned to its slow motion
        all_rows = read(replace(processing[0], min_speed=0.0))
        if sum(len(m.blocks) for m in all_rows) < FEWEST:
            return loaded
    model, gain = wide(loaded.model, moving, all_rows)
    if model is loaded.model:
        return loaded
    laws = [term for term in model.terms if isinstance(term, SmoothCoulomb)]
    told = ", ".join(f"{{ tanh = {law.tanh:g}, joints = {list(law.joints or ())} }}".replace("'", '"') for law in laws)
    message = f"chosen by the torque that is missed, which falls by {gain:.0%}: coulomb = [{told}] in [model]"
    warned.append(Warned("friction", "chosen", message))
    return replace(loaded, model=model, base=base_parameters(model), processing=processing)


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
