"""The command `ident doctor`: what is wrong with a robot file or a log."""

from __future__ import annotations

import typer

from ident import pipelines
from ident.cli.console import PROBLEMS, ExperimentPath, guarded, progress, say


@guarded
def doctor(experiment: ExperimentPath) -> None:
    """Find what is wrong with the robot file or the logs of an experiment, and say what to change."""
    from ident.report.doctor_text import examination_sentences

    with progress() as tell:
        found = pipelines.doctor(experiment, tell)
    e = found.loaded.experiment
    say(e.heading, "bold")
    for sentence in examination_sentences(found.examination, e.robot.name, e.data.name, e.fit):
        say(sentence, "red" if sentence.startswith("PROBLEM") else "")
    if any(not cause.ordinary for cause in found.examination.causes):
        raise typer.Exit(PROBLEMS)
