"""The recordings that were kept from a fit, predicted: which of them say something of motions never seen.

Recordings whose numbers are missing, or whose clock starts again, are cut as `ident init` cuts them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from ident.errors import IdentError, LogError
from ident.estimate import Estimate
from ident.files import FITTED, file_sha256
from ident.logs import Motion
from ident.logs.log import read_columns
from ident.logs.manifest import Recording
from ident.logs.motion import one_way
from ident.logs.readers.formats import Chunk, first_stamp, locate, seconds
from ident.model import WarmUp
from ident.pipelines.estimated import as_estimated
from ident.pipelines.loaded import Loaded
from ident.pipelines.raw_recording import part_name, stretches
from ident.pipelines.steps import Result, Warned, motions, processing_of, require_same_model, unusable
from ident.regression import Regression
from ident.report.text import percent
from ident.tell import Tell, logged

if TYPE_CHECKING:
    from ident.compare import Validation


#: A torque that begins unlike the rest is a measurement where no more than this share of its recording is missed.
PREDICTED = 0.1
#: A prediction by friction that has warmed up, and by how much it misses less where a recording began warm.
_WARM, _FAR_BETTER = "identified, warm", 0.5


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
    warms_up = np.array([name.endswith(f".{WarmUp.kind.name}") for name in estimate.base.names])
    if warms_up.any():
        predictions[_WARM] = np.where(warms_up, 0.0, estimate.phi)
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
        covariance=estimate.covariance,
    )
    if fitted is not None and set(fitted.recordings) <= set(experiment.fit):
        validation = _one_way(loaded, validation)
    validation = _seen(loaded, estimate, validation, anew=fitted is None)
    validation = _as_warm(validation, warned) if _WARM in predictions else validation
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


def _one_way(loaded: Loaded, validation: Validation) -> Validation:
    """Return a validation whose repeats go a way that was fitted: others move as much and as fast by chance."""
    if not any(r.again for r in validation.recordings):
        return validation

    def positions(name: str) -> list[Motion]:
        return list(motions(loaded, [name], None, []))

    fitted = [positions(name) for name in loaded.experiment.fit]
    found = (
        replace(r, again=r.again and any(one_way(positions(r.recording), other) for other in fitted))
        for r in validation.recordings
    )
    return replace(validation, recordings=tuple(found))


def _as_warm(validation: Validation, warned: list[Warned]) -> Validation:
    """Return a validation in which recordings that warm friction predicts far better begin so: no log says how warm."""
    found = []
    for r in validation.recordings:
        cold, warm = (r.of(name) for name in ("identified", _WARM))
        if warm.relative_total < _FAR_BETTER * cold.relative_total:
            missed = f"{percent(cold.relative_total)} of the torque is missed as of one that starts cold"
            warned.append(Warned(r.recording, "warm", f"predicted as of a robot that is warm from the start: {missed}"))
            cold = replace(warm, name=cold.name)
        others = (p for p in r.predictions if p.name not in (cold.name, _WARM))
        found.append(replace(r, predictions=(cold, *others)))
    names = tuple(name for name in validation.names if name != _WARM)
    return replace(validation, recordings=tuple(found), names=names)


def _that_moved(every: Iterable[Motion], estimate: Estimate) -> Iterator[Motion]:
    """Yield motions without the rows of joints that rest, as in the fit: what their friction holds nobody knows."""
    still = estimate.still
    for motion in every:
        rests = still & ~motion.qd.any(axis=0)
        yield replace(motion, keep=motion.keep & ~rests) if rests.any() else motion


_T = TypeVar("_T")


def in_stretches(loaded: Loaded, do: Callable[[Loaded, list[Warned]], _T]) -> _T:
    """Return what is done with an experiment; once more where a log cannot be used as a whole, but its stretches can.

    do: is given the experiment and what is to be told first. Raises what it raises.
    """
    try:
        return do(loaded, [])
    except LogError:
        cut, told = cut_up(loaded)
        if not told:
            raise
    return do(cut, told)


def validated_anew(loaded: Loaded, estimate: Estimate, tell: Tell) -> Result:
    """Return the experiment as it was fitted, with how well an estimate of it predicts, and what is to be known."""

    def judged(loaded: Loaded, warned: list[Warned]) -> Result:
        loaded = as_estimated(loaded, estimate)
        validation = validated(loaded, estimate, None, warned, tell)
        return Result(loaded, estimate, validation=validation, warnings=tuple(warned))

    return in_stretches(loaded, judged)


def cut_up(loaded: Loaded) -> tuple[Loaded, list[Warned]]:
    """Return the experiment with the long stretches of each of its recordings in its place, and what was cut."""
    found, told = dict[str, tuple[Recording, ...]](), list[Warned]()
    for name in (*loaded.experiment.fit, *loaded.experiment.validate):
        record, columns = loaded.manifest.recording(name), dict[str, Chunk]()
        with suppress(IdentError):  # whoever reads it for good says what is wrong
            columns = read_columns(loaded.manifest, name, loaded.robot)
        if not columns:
            found[name] = (record,)
            continue
        every = [np.asarray(c, dtype=np.float64) for own in columns.values() for c in own]
        whole = np.asarray(np.all(np.isfinite(every), axis=0))
        time = np.arange(float(len(whole)))
        if "time" in columns:
            time = seconds(columns["time"], record.time, first_stamp(columns["time"]))[1]
        runs, cause = stretches(whole, time)
        first = record.rows[0] if record.rows else 1
        found[name] = tuple(
            replace(
                record,
                name=part_name(name, k, len(runs)),
                rows=(first + a, first + b - 1),
                drop_missing=not whole[a:b].all(),
            )
            for k, (a, b) in enumerate(runs, start=1)
        ) or (record,)
        told += [Warned(name, "left out", f"CUT: {cause}")] if runs else []
    manifest = loaded.manifest
    records = [part for r in manifest.recordings for part in found.get(r.name, (r,))]
    experiment = replace(
        loaded.experiment,
        fit=tuple(part.name for name in loaded.experiment.fit for part in found[name]),
        validate=tuple(part.name for name in loaded.experiment.validate for part in found[name]),
    )
    return replace(loaded, experiment=experiment, manifest=replace(manifest, recordings=tuple(records))), told
