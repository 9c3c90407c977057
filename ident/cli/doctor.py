"""The command `ident doctor`: what is wrong with a robot file or a log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from ident import pipelines
from ident.cli.answers import answer, parts_of
from ident.cli.console import PROBLEMS, ExperimentPath, guarded, progress, say

if TYPE_CHECKING:
    from ident.compare.causes.causes import Cause


@guarded
def doctor(experiment: ExperimentPath) -> None:
    """Find what is wrong with the robot file or the logs of an experiment, and say what to change."""
    from ident.report.doctor_text import examination_sentences

    with progress() as tell:
        found = pipelines.doctor(experiment, tell)
    answer(**parts_of(found.examination, "error", "asked"), causes=[_told(c) for c in found.examination.causes])
    e = found.loaded.experiment
    say(e.heading, "bold")
    for sentence in examination_sentences(found.examination, e.robot.name, e.data.name, e.fit):
        say(sentence, "red" if sentence.startswith("PROBLEM") else "")
    if any(not cause.ordinary for cause in found.examination.causes):
        raise typer.Exit(PROBLEMS)


def _told(cause: Cause) -> dict[str, Any]:
    told = parts_of(cause, "what", "mend", "asserted", "ordinary", "log_odds", "before", "after", "rivals")
    return {"kind": cause.mistake.kind, "where": cause.where, **told}
