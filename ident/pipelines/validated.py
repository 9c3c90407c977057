"""The recordings that were kept from a fit, predicted: which of them say something of motions never seen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ident.estimate import Estimate
from ident.files import FITTED, file_sha256
from ident.logs import Motion
from ident.logs.readers.formats import locate
from ident.pipelines.loaded import Loaded
from ident.pipelines.steps import Warned, motions, processing_of, require_same_model, unusable
from ident.regression import Regression
from ident.tell import Tell, logged

if TYPE_CHECKING:
    from ident.compare import Validation

#: A torque that begins unlike the rest is a measurement where no more than this share of its recording is missed.
PREDICTED = 0.1


def validated(
    loaded: Loaded, estimate: Estimate, fitted: Regression | None, warned: list[Warned], tell: Tell = logged
) -> Validation | None:
    """Return how well estimate and CAD predict the recordings kept for validation, None when there are none.

    fitted: the factors of the fit, where they are at hand; else the estimate's provenance says what it was fitted on.
    """
    from ident.compare import cad_theta
    from ident.compare import validate as predicted

    experiment = loaded.experiment
    if not experiment.validate:
        return None
    require_same_model(loaded, estimate)
    predictions = {"identified": estimate.phi}
    if loaded.cad is not None and not np.isnan(loaded.cad).any():
        predictions["CAD"], _ = cad_theta(loaded.model, loaded.cad, loaded.joint_values)
    seen, told = estimate.provenance.get(FITTED), len(warned)
    fit, judged = processing_of(loaded)
    validation = predicted(
        loaded.model,
        _that_moved(motions(loaded, experiment.validate, judged, warned, tell), estimate),
        predictions,
        fitted=fitted or (None if seen is None else seen.split(", ")),
        base=loaded.base,
        standing=fit.min_speed,
    )
    validation = _seen(loaded, estimate, validation, anew=fitted is None)
    well = {r.recording for r in validation.recordings if r.of("identified").relative_total <= PREDICTED}
    for k, w in enumerate(warned[told:], start=told):
        if w.kind == "start transient" and w.about in well:
            warned[k] = Warned(w.about, "predicted start", f"{w.message.rsplit(':', 1)[0]}, but predicted")
    warned += [Warned("validation", "validation", message) for message in validation.warnings]
    fits, kept = (
        {f for n in names for f in loaded.manifest.recording(n).files}
        for names in (experiment.fit, experiment.validate)
    )
    return replace(validation, unusable=unusable(warned[told:]), apart=not kept <= fits)


def _seen(loaded: Loaded, estimate: Estimate, validation: Validation, *, anew: bool) -> Validation:
    """Return a validation in which copies of fitted recordings, and anew repeats known from the run, are called so."""
    from ident.export.gate import AGAIN

    def content(name: str) -> tuple[object, ...]:
        record = loaded.manifest.recording(name)
        return record.rows, *(file_sha256(locate(loaded.manifest, file)) for file in record.files)

    known = {content(name): name for name in loaded.experiment.fit}
    again = estimate.provenance.get(AGAIN, "").split(", ") if anew else ()
    found, told = [], list[str]()
    for r in validation.recordings:
        same = known.get(content(r.recording))
        if same not in (None, r.recording):
            told.append(f"Same recording: the file of '{r.recording}' is a copy of that of '{same}', which was fitted.")
        held_out = False if same not in (None, r.recording) else r.held_out
        found.append(replace(r, held_out=held_out, again=r.again or r.recording in again))
    return replace(validation, recordings=tuple(found), warnings=(*validation.warnings, *told))


def _that_moved(every: Iterable[Motion], estimate: Estimate) -> Iterator[Motion]:
    """Yield motions without the rows of joints that rest, as in the fit: what their friction holds nobody knows."""
    still = estimate.still
    for motion in every:
        rests = still & ~motion.qd.any(axis=0)
        yield replace(motion, keep=motion.keep & ~rests) if rests.any() else motion
