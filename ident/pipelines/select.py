"""The joint terms that an experiment's fitted logs support."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ident.errors import LogError
from ident.experiment import Experiment
from ident.model.standard import SIGN
from ident.model.term import Term
from ident.pipelines.friction import restored, with_friction
from ident.pipelines.loaded import Loaded, load
from ident.pipelines.steps import Warned, first_parts, processing_of
from ident.regression import base_parameters
from ident.report.text import percent
from ident.structure import Selection, selected
from ident.structure.lines import lines
from ident.tell import Tell, logged


@dataclass(frozen=True, eq=False)
class Selected:
    """An experiment with the model that its logs support, the choice, and that model as lines of [model].

    lines: all that [model] takes where the experiment has none, else what is to be added to it.
    """

    loaded: Loaded
    selection: Selection
    lines: tuple[str, ...]


def select(experiment: Experiment | str | Path, tell: Tell = logged) -> Selected:
    """Choose joint terms beside an experiment's own by what its fitted recordings predict of parts left out.

    Recordings kept for validation are not read. Raises what `load` raises, LogError for the logs.
    """
    loaded = with_friction(load(experiment), list[Warned]())
    selection = selection_of(loaded, tell)
    own = () if loaded.experiment.own_model else _smooth(loaded)
    model = selection.model
    chosen = replace(loaded, model=model, base=base_parameters(model), processing=processing_of(loaded))
    return Selected(chosen, selection, lines((*own, *selection.terms)))


def with_selection(loaded: Loaded, warned: list[Warned], tell: Tell = logged) -> Loaded:
    """Return the experiment with the joint terms that its fitted logs support beside the usual ones, and say so.

    An experiment with a [model] stays as it is. Raises LogError for the logs.
    """
    if loaded.experiment.own_model:
        return loaded
    found = selection_of(loaded, tell)
    loaded = replace(loaded, structure=found.structure)
    if not found.terms:
        return loaded
    shares = f"{percent(found.structure.before)} to {percent(found.structure.honest)}"
    taken = "; ".join(found.structure.lines)
    told = f"chosen by what is left out, whose error falls from {shares}: {taken} in [model]"
    more = "error bars take the choice as given; `ident select` says why, a [model] of your own replaces it"
    warned.append(Warned("model", "chosen", f"{told}; {more}"))
    model = restored(loaded.model, found.model.shapes, found.model.names)
    return replace(loaded, model=model, base=base_parameters(model), processing=processing_of(loaded))


def selection_of(loaded: Loaded, tell: Tell = logged) -> Selection:
    """Return which joint terms a loaded experiment's fitted logs support; of long recordings the first part."""
    parts = list(first_parts(loaded, loaded.experiment.fit, processing_of(loaded)[0]))
    if not any(motion.keep.any() for motion in parts):
        raise LogError("no row of the fitted recordings is left", fix="Does the robot move? Check masks and window")
    cad = loaded.cad
    inertials = None if cad is None else np.where(np.isnan(cad), loaded.prior.inertials, cad)
    return selected(loaded.model, parts, loaded.prior, loaded.base, inertials, tell)


def _smooth(loaded: Loaded) -> tuple[Term, ...]:
    """Return the Coulomb friction of joints that is not the plain sign."""
    return tuple(t for t in loaded.model.terms if t.kind == SIGN.kind and t != SIGN and not hasattr(t, "along"))
