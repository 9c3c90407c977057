"""The commands `ident init`, `check`, `select`, `doctor` and `fleet`."""

from __future__ import annotations

import sys
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from select import select as ready
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ident import pipelines
from ident.cli.cad import show_checked
from ident.cli.console import (
    PROBLEMS,
    ExperimentPath,
    answer,
    asked,
    command_line,
    progress,
    say,
    show,
    show_notes,
    tell_aside,
)
from ident.errors import plural
from ident.pipelines.answers import checked, parts_of
from ident.pipelines.wishes import Sharing
from ident.tell import LOG

if TYPE_CHECKING:
    from ident.compare.causes.causes import Cause
    from ident.logs import LogReport
    from ident.pipelines.checks import CheckedRobot
    from ident.pipelines.questions import Question


def select(experiment: ExperimentPath) -> None:
    """Choose friction and other joint terms by what they predict of parts of the logs left out."""
    from ident.report.outcome_text import selection_sentences, tried_rows

    with progress() as tell:
        found = pipelines.select(experiment, tell)
    own, structure = ("before", "after", "honest", "segments", "folds", "note"), found.selection.structure
    tried = [parts_of(t, "candidate", "gain", "error", "reason") for t in structure.tried]
    shapes = [asdict(shape) for shape in structure.shapes]
    answer(**parts_of(structure, *own), tried=tried, shapes=shapes, lines=found.lines)
    e = found.loaded.experiment
    say(e.heading, style="bold")
    if structure.tried:
        show(tried_rows(structure))
    say(*selection_sentences(structure))
    if found.lines and asked().text:
        say(f"{'Add to' if e.own_model else 'Write into'} {e.file.name}:")
        for line in ("[model]", *found.lines):
            typer.echo(line)


def doctor(experiment: ExperimentPath) -> None:
    """Find what is wrong with the robot file, logs, model or CAD table of an experiment, and say what to change."""
    from ident.report.outcome_text import examination_sentences

    with progress() as tell:
        found = pipelines.doctor(experiment, tell)
    own = None if found.own is None else parts_of(found.own, "what", "mend", "total")
    causes = [_told(c) for c in found.examination.causes]
    answer(**parts_of(found.examination, "error", "asked"), own_model=own, causes=causes)
    e = found.loaded.experiment
    say(e.heading, style="bold")
    for sentence in examination_sentences(found.examination, pipelines.files_of(found.loaded), e.fit, found.own):
        say(sentence, style="red" if sentence.startswith("PROBLEM") else "")
    if found.own or any(not cause.ordinary for cause in found.examination.causes):
        raise typer.Exit(PROBLEMS)


def _told(cause: Cause) -> dict[str, Any]:
    told = parts_of(cause, "what", "mend", "asserted", "ordinary", "log_odds", "before", "after", "rivals")
    told |= parts_of(cause, "joints", "joints_before", "joints_after")
    return {"kind": cause.mistake.kind, "where": cause.where, "file": cause.mistake.file, **told}


def check(
    file: Annotated[Path, typer.Argument(help="Robot, CAD table, dataset.toml, log file or experiment")],
    robot: Annotated[Path | None, "Robot that a CAD table or a log belongs to"] = None,
    recording: Annotated[str | None, "Only this recording of a data set"] = None,
    plot: Annotated[Path | None, "Folder for a picture of each recording"] = None,
) -> None:
    """Say what a file is and whether it can be used; exit code 4 when there are problems."""
    from ident.pipelines.checks import CheckedExperiment, CheckedLogs, CheckedRobot

    found = pipelines.check(file, robot=robot, recording=recording, plot=plot)
    answer(**checked(found))
    if isinstance(found, CheckedRobot):
        _show_robot(found)
    elif isinstance(found, CheckedLogs):
        for report in found.reports:
            _show_log(report)
        say(*(f"wrote {picture}" for picture in found.pictures))
    elif isinstance(found, CheckedExperiment):
        e, own = found.loaded.experiment, found.loaded
        say(f"experiment {e.heading}")
        parameters = f"{len(own.model.names)} parameters, {len(own.base.names)} base parameters"
        say(f"robot '{own.robot.name}', {parameters}")
        say(f"fit on {', '.join(e.fit)}; validate on {', '.join(e.validate) or 'nothing'}; prior: {own.prior.source}")
        show_notes(own)
    else:
        show_checked(found)
    if found.problems:
        tell_aside(f"{plural(found.problems, 'problem')} found")
        raise typer.Exit(PROBLEMS)


def _show_robot(found: CheckedRobot) -> None:
    from ident.report.checked_text import robot_rows

    robot, (kept, dropped) = found.robot, found.margin
    gravity = " ".join(f"{g:g}" for g in robot.gravity)
    say(f"robot '{robot.name}': {plural(robot.n, 'joint')}, gravity {gravity} m/s^2 in the base frame")
    say(f"torque can show {plural(found.combinations, 'combination')} of its {10 * robot.n} link parameters")
    say(f"(singular values down to {kept:.1g} of the largest count, those up to {dropped:.0e} of it are zero)")
    if found.doubtful:
        LOG.info(
            "the number of combinations hangs on the last digits of the description: angles or lengths that just "
            "miss zero, a right angle or each other make combinations that no log can tell from noise"
        )
    for note in robot.notes:
        LOG.info(note)
    show(robot_rows(robot, found.verdicts))


def _show_log(found: LogReport) -> None:
    from ident.logs.check import NOTES
    from ident.report.checked_text import step_rows

    say(f"recording '{found.name}' ({found.file}): {found.samples} rows, {found.duration:.6g} s")
    show(step_rows(found))
    for kind in dict.fromkeys(f.kind for f in found.findings):
        same, note = [f for f in found.findings if f.kind == kind], kind in NOTES
        for f in same[:1] if note else same:  # notes are alike from joint to joint
            more = f" ({len(same) - 1} more like it: all by --json)" if note and len(same) > 1 else ""
            say(f"  {'note' if note else 'PROBLEM'} ({kind}): {f.message}{more}", style="" if note else "bold red")
    if all(f.kind in NOTES for f in found.findings):
        say("  no problem", style="green")


#: Robots that failed, and such as are printed by name.
_NAMED = 10


def fleet(
    file: Annotated[Path, typer.Argument(metavar="FLEET", help="fleet.toml: robots with an experiment or logs each")],
    share: Sharing,
    out: Annotated[Path | None, "Folder to write, instead of fleets/NAME", "--out -o"] = None,
    against: Annotated[Path | None, "Earlier fleet.parquet, from which drift is told", "TABLE"] = None,
) -> None:
    """Identify every robot of a fleet: a table of all parameters, and a page of those who stand out or have drifted."""
    from ident.report.several import farthest

    with progress() as tell:
        found = pipelines.fleet(file, out, tell, command_line(), against=against, share=share)
    own = parts_of(found, "title", "failed", "standing_out", "drifted", "path")
    answer(**own, table=found.table.to_dict("records"))
    for name, why in list(found.failed.items())[:_NAMED]:
        tell_aside(f"not fitted: {name}: {why}")
    if len(found.failed) > _NAMED:
        tell_aside(f"not fitted: {len(found.failed) - _NAMED} more; see the table")
    fitted = int(found.table["robot"].nunique())
    moved = "" if against is None else f", {len(found.drifted)} drifted since {against.name}"
    told = f"{plural(fitted, 'robot')} fitted, {len(found.failed)} not; {len(found.standing_out)} stand out{moved}"
    say(f"{found.title}: {told}", style="bold")
    for which, off in (("stands_out", "deviation"), ("drifted", "drift")):
        say(*farthest(found.table[found.table[which]], off))
    say(f"wrote {', '.join(sorted(p.name for p in found.path.iterdir()))} to {found.path}")
    if found.failed:
        raise typer.Exit(PROBLEMS)


def init(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILES", help="Robot, logs, and a CAD table or a folder of reports if there is one"),
    ],
    yes: Annotated[bool, "Take every guess, and ask nothing", "--yes -y"] = False,
    into: Annotated[Path, "Folder to write; logs lie in it, or below $IDENT_DATA", "FOLDER"] = Path(),
) -> None:
    """Look at raw logs, and write the files that `ident run` needs; answers may be piped in, a line each."""
    ask = None if yes else _asked if sys.stdin.isatty() else _piped
    found = pipelines.init(files[0], files[1:], into=into, ask=ask)
    answers = [{**parts_of(q, "key", "text", "guess", "why"), "answer": given} for q, given in found.answers]
    answer(files=found.files, answers=answers, told=found.told)
    say(*found.told)
    for question, given in found.answers if ask is not _asked else ():
        how = "guessed" if question.key in found.guessed else "answered"
        LOG.info(f"{how}: {question.text} {given} ({question.why})")
    say(*(f"wrote {path}" for path in found.files))
    say(f"Next: {found.next}")


#: So long [s] an answer is waited for where they are piped in.
PATIENCE = 2.0


def _piped(question: Question) -> str | None:
    """Return the next line of what is piped in, None after the last one, and where nothing comes."""
    try:
        comes = bool(ready([sys.stdin], [], [], PATIENCE)[0])  # a pipe that nobody writes to is not waited for
    except (OSError, ValueError):  # no pipe, or on Windows
        comes = True
    with suppress(OSError):
        if comes and (line := sys.stdin.readline()):
            return line.strip()
    return None


def _asked(question: Question) -> str:
    """Return what the user answers, nothing for Enter, which takes the guess; ask again for what is no answer."""
    tell_aside(f"{question.text} ({question.why})")
    choices = question.choices
    for number, choice in enumerate(choices, start=1):
        tell_aside(f"  {number}: {choice}")
    while True:
        given = str(typer.prompt(f"Answer [{question.guess}]", default="", show_default=False, err=True))
        given = choices[int(given) - 1] if given.isdigit() and 1 <= int(given) <= len(choices) else given
        if not given.strip() or not (wanted := question.wanted_instead(given.strip())):
            return given
        tell_aside(f"'{given.strip()}' is no answer. {wanted}.")
