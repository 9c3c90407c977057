"""What an estimate's file says of the experiment that it comes from: how its logs are read, and with which terms."""

from __future__ import annotations

import tomllib
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from ident.errors import IdentError, InputError
from ident.estimate import Estimate, fitted_model
from ident.estimate.storage import load_estimate
from ident.experiment import Experiment
from ident.files import file_sha256
from ident.logs import Processing, locate
from ident.logs.automatic import as_toml
from ident.pipelines.loaded import Loaded
from ident.pipelines.steps import as_calibrated, processing_of, reaching_kept, require_same_model

#: The entries of an estimate's provenance that say how logs were processed, in a fit and where it is judged.
PROCESSED = ("processing", "processing to validate")


def results_folder(experiment: Experiment) -> Path:
    """Return where the results go unless told otherwise: results/NAME beside the experiment's file."""
    return experiment.folder / "results" / experiment.name


def processing_told(processing: tuple[Processing, Processing]) -> dict[str, str]:
    """Return the entries of the provenance that say how logs were processed."""
    return dict(zip(PROCESSED, map(as_toml, processing), strict=True))


def as_estimated(loaded: Loaded, estimate: Estimate) -> Loaded:
    """Return the experiment as it was fitted: with the estimate's joint terms, where its file has no [model], and its
    processing, where the same logs chose it.

    Raises ConfigError for an estimate of another model.
    """
    links = loaded.model.n_rigid
    chosen = not loaded.experiment.own_model and estimate.base.standard[:links] == loaded.model.names[:links]
    if not chosen:
        require_same_model(loaded, estimate)
    stored = _stored(loaded, estimate)
    if stored is not None:
        loaded = replace(loaded, processing=stored)
    if chosen:
        model = replace(fitted_model(estimate, loaded.robot), robot=loaded.robot)
        loaded = replace(loaded, model=model, base=estimate.base, processing=processing_of(loaded))
    found = as_calibrated(loaded, estimate.calibration)
    return found if stored is None else replace(found, processing=stored)  # which has calibrated delays already


def as_run(loaded: Loaded) -> Loaded:
    """Return the experiment with its logs read as its last run read them, where there is one of the same logs."""
    with suppress(IdentError):
        return replace(loaded, processing=_stored(loaded, load_estimate(results_folder(loaded.experiment))))
    return loaded


def _stored(loaded: Loaded, estimate: Estimate) -> tuple[Processing, Processing] | None:
    """Return the estimate's processing, None where the experiment says its own or its fitted logs are others."""
    experiment, origin = loaded.experiment, estimate.provenance
    if experiment.processing is not None or any(key not in origin for key in PROCESSED):
        return None
    files = {f: locate(loaded.manifest, f) for name in experiment.fit for f in loaded.manifest.recording(name).files}
    if experiment.by_hand is not None:
        files[experiment.file.name] = experiment.file
    if any(origin.get(f"sha256 {name}") != file_sha256(file) for name, file in files.items()):
        return None
    fit, judged = (_processing(key, origin[key]) for key in PROCESSED)
    return fit, judged if experiment.by_hand is not None else reaching_kept(loaded, judged)


def _processing(key: str, text: str) -> Processing:
    try:
        return Processing(**tomllib.loads(f"given = {{ {text} }}")["given"])
    except (TypeError, ValueError, IdentError) as cause:
        fix = "Do not edit the estimate by hand; fit again"
        raise InputError("is no processing of logs", key=f"provenance.{key}", fix=fix) from cause
