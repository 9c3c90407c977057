"""Recordings of an experiment whose numbers are missing, or whose clock starts again: cut as `ident init` cuts them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from ident.errors import IdentError, LogError
from ident.estimate import Estimate
from ident.logs.log import read_columns
from ident.logs.manifest import Recording
from ident.logs.readers.formats import Chunk, first_stamp, seconds
from ident.pipelines.estimated import as_estimated
from ident.pipelines.loaded import Loaded
from ident.pipelines.raw_recording import part_name, stretches
from ident.pipelines.steps import Warned
from ident.pipelines.validated import validated
from ident.tell import Tell

if TYPE_CHECKING:
    from ident.compare import Validation

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


def validated_anew(loaded: Loaded, estimate: Estimate, tell: Tell) -> tuple[Loaded, Validation | None, list[Warned]]:
    """Return the experiment as it was fitted, how well an estimate of it predicts, and what is to be known."""

    def judged(loaded: Loaded, warned: list[Warned]) -> tuple[Loaded, Validation | None, list[Warned]]:
        loaded = as_estimated(loaded, estimate)
        return loaded, validated(loaded, estimate, None, warned, tell), warned

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
