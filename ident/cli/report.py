"""The commands `ident report` and `ident export`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ident import pipelines
from ident.cli.answers import answer, outcome
from ident.cli.console import EstimatePath, command_line, guarded, out_option, progress, say, show, tell_note
from ident.errors import InputError, plural
from ident.pipelines.wishes import ExportWishes


@guarded
def report(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="ESTIMATE [EXPERIMENT] | ESTIMATE ESTIMATE ...",
            help="estimate.json, or its folder, and its experiment, found where it was; or two estimates or more,"
            " compared with the first",
        ),
    ],
    out: Annotated[Path, out_option("report.html", "File to write, .html or .pdf")] = Path("report.html"),
    robot: Annotated[Path | None, "Robot of the estimates that are compared: gives friction its units"] = None,
    figures: Annotated[Path | None, "Folder for every figure as PNG and SVG"] = None,
    summary: Annotated[bool, "One page: verdict, main figures, one picture", "--summary"] = False,
) -> None:
    """Write the report of an estimate, or the comparison of several: HTML or PDF, by the ending of --out."""
    from ident.report.change_report import judgement, sentences
    from ident.report.page import known_format

    known_format(out)
    if summary and len(files) > 1 and all(_is_estimate(f) for f in files):
        raise InputError("is of one estimate", key="--summary", fix="Give an estimate and its experiment")
    if len(files) >= 2 and all(_is_estimate(f) for f in files):
        found = pipelines.report_changes(files, out, robot=robot, figures=figures, command=command_line())
        answer(changes=found.changes, path=out)
        first = found.estimates[0][0]
        judged = judgement(first, found.changes)
        say(f"{judged.headline}: {judged.reason}", style="bold")
        say(*sentences(first, found.changes, found.slides))
    elif len(files) <= 2 and _is_estimate(files[0]):
        experiment = files[1] if len(files) == 2 else None
        with progress() as tell:
            done = pipelines.report(
                files[0], experiment, out, figures=figures, summary=summary, tell=tell, command=command_line()
            )
        answer(**outcome(done))
    else:
        raise InputError(
            f"wanted an estimate and its experiment, or two estimates or more, got {plural(len(files), 'path')}",
            fix="Such as: ident report estimate.json experiments/NAME",
        )
    say(f"wrote {out}" + (f" and its figures to {figures}" if figures else ""))


def _is_estimate(file: Path) -> bool:
    """Return whether a path is an estimate or the folder of results that holds one, and no experiment."""
    return file.suffix.lower() == ".json" or (
        (file / "estimate.json").is_file() and not (file / "experiment.toml").is_file()
    )


def _list(wanted: bool) -> None:
    if wanted:
        from ident.export.formats import listing
        from ident.report.text import table

        show(table("", ("format", "ending", "what it is"), listing()))
        raise typer.Exit


@guarded
def export(
    form: Annotated[
        str, typer.Argument(metavar="FORMAT", help="What to write, one or several such as urdf,c; --list explains each")
    ],
    estimate: EstimatePath,
    wishes: ExportWishes,
    out: Annotated[
        str | None, "File, or folder of ROBOT + ending; of several formats a folder", "--out -o PATH"
    ] = None,
    listed: Annotated[
        bool, typer.Option("--list", callback=_list, is_eager=True, help="Explain every format and stop")
    ] = False,
) -> None:
    """Write the identified parameters for a controller, simulator or toolbox."""
    names = [name.strip().lower() for name in form.split(",")]
    done = pipelines.export([name for name in names if name or len(names) == 1], estimate, out, wishes)
    answer(files=done)
    for file in done:
        for note in file.notes:
            tell_note(note if len(done) == 1 else f"{file.path.name}: {note}")
        say(f"wrote {file.path}")
