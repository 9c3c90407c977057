"""The command `ident init`: from raw files to an experiment."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ident import pipelines
from ident.cli.answers import answer, parts_of
from ident.cli.console import RobotPath, guarded, say, tell_aside, tell_note

if TYPE_CHECKING:
    from ident.pipelines.questions import Question


@guarded
def init(
    robot: RobotPath,
    files: Annotated[
        list[Path], typer.Argument(metavar="FILES", help="Logs, and a CAD table or a folder of reports if there is one")
    ],
    yes: Annotated[bool, "Take every guess, and ask nothing", "--yes -y"] = False,
    into: Annotated[Path, "Folder to write; logs lie in it, or below $IDENT_DATA", "FOLDER"] = Path(),
) -> None:
    """Look at raw logs, and write the files that `ident run` needs."""
    ask = None if yes or not sys.stdin.isatty() else _asked
    found = pipelines.init(robot, files, into=into, ask=ask)
    answers = [{**parts_of(q, "key", "text", "guess", "why"), "answer": given} for q, given in found.answers]
    answer(files=found.files, answers=answers, told=found.told)
    for line in found.told:
        say(line)
    for question, given in found.answers if ask is None else ():
        tell_note(f"guessed: {question.text} {given} ({question.why})")
    for path in found.files:
        say(f"wrote {path}")
    say(f"Next: ident run {into}")


def _asked(question: Question) -> str:
    """Return what the user answers, the guess for a mere Enter."""
    tell_aside(f"{question.text} ({question.why})")
    choices = question.choices
    for number, choice in enumerate(choices, start=1):
        tell_aside(f"  {number}: {choice}")
    given = str(typer.prompt("Answer", default=question.guess, err=True))
    return choices[int(given) - 1] if given.isdigit() and 1 <= int(given) <= len(choices) else given
