"""What a command answers to a program: one JSON document, described by `answers.schema.json`.

A changed meaning, or a key that goes, is a new number behind the command's name; a new key is not.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ident.errors import IdentError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ident.cad import Cad, Sheet
    from ident.compare import Comparison, TruthComparison, Validation
    from ident.pipelines.cad_tables import Examined, RefinedTable
    from ident.pipelines.checked_cad import CheckedCad
    from ident.pipelines.checks import CheckedExperiment, CheckedLogs, CheckedRobot
    from ident.pipelines.steps import Result

#: The number behind a command's name where it is not 1.
VERSIONS: dict[str, int] = {}


@dataclass
class Asked:
    """How one command shall answer, and the parts of its answer."""

    json: bool = False
    quiet: bool = False
    parts: dict[str, Any] = field(default_factory=dict)

    @property
    def text(self) -> bool:
        """Whether results are printed for people."""
        return not (self.json or self.quiet)

    def document(self, command: str, code: int, failed: BaseException | None) -> str:
        """Return the answer of a command (such as "cad read") that ended with an exit code, or its error."""
        name = "error" if failed is not None else command.replace(" ", ".")
        head = {"schema": f"ident.{name}/{VERSIONS.get(name, 1)}", "exit_code": code}
        return json.dumps(head | (self.parts if failed is None else plain(failed)), ensure_ascii=False)


_ASKED: ContextVar[Asked] = ContextVar("asked", default=Asked())  # noqa: B039  what nobody changes


def asked() -> Asked:
    """Return how the command that runs shall answer."""
    return _ASKED.get()


@contextmanager
def answering(as_json: bool, quiet: bool) -> Iterator[Asked]:
    """Let what runs inside answer so."""
    before = _ASKED.set(Asked(as_json, quiet))
    try:
        yield _ASKED.get()
    finally:
        _ASKED.reset(before)


def answer(**parts: Any) -> None:
    """Add parts to the answer of the command that runs, where a program reads it."""
    if asked().json:
        asked().parts |= plain(parts)


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


# What commands found, without what they read --------------------------------------------------------------------------


def outcome(result: Result) -> dict[str, Any]:
    """Return the answer of a command that made or judged an estimate."""
    from ident.report.verdict import verdict

    e = result.loaded.experiment
    return {
        "experiment": e.name,
        "verdict": verdict(result.estimate, result.validation),
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
