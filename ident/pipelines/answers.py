"""What commands found, without what they read, as the tables of a JSON document (`ident/cli/answers.schema.json`)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ident.errors import IdentError

if TYPE_CHECKING:
    from ident.cad import Cad, Sheet
    from ident.compare import Comparison, TruthComparison, Validation
    from ident.pipelines.cad_tables import Examined, RefinedTable
    from ident.pipelines.checked_cad import CheckedCad
    from ident.pipelines.checks import CheckedExperiment, CheckedLogs, CheckedRobot
    from ident.pipelines.steps import Result


def plain(noun: Any) -> Any:
    """Return a noun as JSON has it: objects and tables of their fields, arrays as lists, NaN and infinity as null."""
    from ident.estimate import Estimate

    if noun is None or isinstance(noun, bool | int | str):
        return noun
    if isinstance(noun, float):
        return noun if math.isfinite(noun) else None
    if isinstance(noun, Path):
        return str(noun)
    if isinstance(noun, BaseException):
        known = ("problem", "file", "line", "key", "fix") if isinstance(noun, IdentError) else ()
        own = {key: value for key, value in vars(noun).items() if key in known}
        return {"error": type(noun).__name__, "message": str(noun)} | plain(own)
    if isinstance(noun, Estimate):
        from ident.estimate.storage import document

        return document(noun)
    if isinstance(noun, Mapping):
        return {str(key): plain(value) for key, value in noun.items()}
    if is_dataclass(noun):
        return {f.name: plain(getattr(noun, f.name)) for f in fields(noun)}
    if hasattr(noun, "tolist"):  # an array
        return plain(noun.tolist())
    if isinstance(noun, Iterable):
        return [plain(item) for item in noun]
    return plain(float(noun))  # a fraction


def parts_of(noun: Any, *names: str) -> dict[str, Any]:
    """Return some fields and properties of a noun, by their names."""
    return {name: getattr(noun, name) for name in names}


def outcome(result: Result) -> dict[str, Any]:
    """Return the answer of a command that made or judged an estimate."""
    from ident.report.verdict import verdict

    e = result.loaded.experiment
    return {
        "experiment": e.name,
        "verdict": verdict(result.estimate, result.validation, result.comparison),
        "figures": result.figures(),
        "estimate": result.estimate,
        "comparison": compared(result.comparison),
        "validation": validated(result.validation),
        "truth": compared(result.truth),
        "warnings": result.warnings,
        "notes": result.loaded.notes,
        "failed": [{"name": f.name, **plain(f.cause)} for f in result.failed],
        "path": result.path,
    }


def compared(found: Comparison | TruthComparison | None) -> dict[str, Any] | None:
    """Return what differs from CAD, or from the truth."""
    from ident.compare import Comparison

    if found is None:
        return None
    own = ("source", "level", "dof", "boundary", "notes") if isinstance(found, Comparison) else ()
    return {**parts_of(found, *own), "rows": found.rows}


def validated(found: Validation | None) -> dict[str, Any] | None:
    """Return the errors of each prediction, by recording."""
    if found is None:
        return None
    errors = ("name", "rms", "relative", "relative_total", "every_total", "raw_total")
    rows = [
        {
            **parts_of(r, "recording", "held_out", "samples"),
            "predictions": [parts_of(p, *errors) for p in r.predictions],
        }
        for r in found.recordings
    ]
    return {**parts_of(found, "joints", "units", "band_hz", "warnings", "unusable"), "recordings": rows}


def checked(found: CheckedRobot | CheckedCad | CheckedLogs | CheckedExperiment) -> dict[str, Any]:
    """Return what `ident check` found in a file."""
    from ident.pipelines.checks import CheckedExperiment, CheckedLogs, CheckedRobot

    kind = {CheckedRobot: "robot", CheckedExperiment: "experiment", CheckedLogs: "logs"}.get(type(found), "cad")
    head = {"kind": kind, "problems": found.problems}
    if isinstance(found, CheckedRobot):
        joints = [parts_of(joint, "name", "kind", "limits") for joint in found.robot.joints]
        about = {**parts_of(found.robot, "name", "links", "gravity", "notes"), "joints": joints}
        return {**head, **about, **parts_of(found, "combinations", "doubtful", "verdicts")}
    if isinstance(found, CheckedLogs):
        return {**head, **parts_of(found, "reports", "pictures")}
    if isinstance(found, CheckedExperiment):
        e, loaded = found.loaded.experiment, found.loaded
        names = {"robot": loaded.robot.name, "parameters": loaded.model.names, "base_parameters": loaded.base.names}
        return {**head, "name": e.name, **names, **parts_of(e, "fit", "validate"), "notes": loaded.notes}
    own = parts_of(found, "verdicts", "findings", "shapes", "fix", "robot")
    return {
        **head,
        **own,
        "table": cad_links(found.cad),
        "reports": {link: cad_sheet(report) for link, report in found.reports.items()},
    }


def cad_sheet(report: Sheet | IdentError) -> dict[str, Any]:
    """Return a CAD report with each number as it is printed, or why it cannot be read."""
    if isinstance(report, IdentError):
        return dict(plain(report))
    return {f.name: getattr(report, f.name) for f in fields(report) if f.name != "sha256"}


def cad_links(cad: Cad | None) -> dict[str, Any] | None:
    """Return the links of a CAD table: ten parameters each, about the link's origin, with tensor signs [SI]."""
    return None if cad is None else parts_of(cad, "source", "links", "inertials")


def diagnosed(found: Examined) -> dict[str, Any]:
    """Return what the doctor says of a CAD table."""
    diagnosis = ("undecidable", "combinations", "deviation", "tolerance", "notes", "unknown")
    own = parts_of(found.diagnosis, *diagnosis)
    fault = ("kind", "where", "what", "asserted", "log_odds", "rivals", "evidence", "slight")
    faults = [parts_of(f, *fault) for f in found.diagnosis.faults]
    return {"source": found.source, "faults": faults, **own, "outside": found.outside, "warnings": found.warnings}


def refined(done: RefinedTable) -> dict[str, Any]:
    """Return what the doctor says of a CAD table, and its numbers before and after."""
    return {**diagnosed(done.examined), **parts_of(done, "changes", "far", "odd"), "table": cad_links(done.table)}
