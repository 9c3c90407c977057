"""The commands `ident report`, `ident export` and `ident payload`, which finds what a robot carries, and drive gains
where the load's mass is known.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ident import pipelines
from ident.cli.console import (
    STYLES,
    EstimatePath,
    answer,
    asked,
    command_line,
    file_out,
    out_option,
    progress,
    say,
    show,
)
from ident.errors import InputError
from ident.pipelines.answers import outcome, parts_of
from ident.pipelines.wishes import ExportWishes, PayloadWishes
from ident.tell import LOG


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
    from ident.report.page import known_format

    known_format(out)
    if summary and len(files) > 1 and all(_is_estimate(f) for f in files):
        raise InputError("is of one estimate", key="--summary", fix="Give an estimate and its experiment")
    if len(files) >= 2 and all(_is_estimate(f) for f in files):
        changes, page = pipelines.report_changes(files, out, robot=robot, figures=figures, command=command_line())
        answer(changes=changes, path=out)
        say(f"{page.verdict.headline}: {page.verdict.reason}", style="bold")
        say(*page.sentences)
    elif len(files) <= 2 and _is_estimate(files[0]):
        experiment = files[1] if len(files) == 2 else None
        with progress() as tell:
            done = pipelines.report(
                files[0], experiment, out, figures=figures, summary=summary, tell=tell, command=command_line()
            )
        answer(**outcome(done))
    else:
        other = next((file for file in files if not _is_estimate(file)), files[0])
        problem = f"wanted an estimate and its experiment, or two estimates or more: '{other}' is no estimate"
        raise InputError(problem, fix="Such as: ident report estimate.json experiments/NAME")
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


def export(
    form: Annotated[
        str, typer.Argument(metavar="FORMAT", help="What to write, one or several such as urdf,c; --list explains each")
    ],
    estimate: EstimatePath,
    wishes: ExportWishes,
    out: Annotated[
        str | None,
        "File, or with a slash at the end a folder of ROBOT + ending; of several formats a folder",
        "--out -o PATH",
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
            LOG.info(note if len(done) == 1 else f"{file.path.name}: {note}")
        say(f"wrote {file.path}")


def payload(
    experiment: Annotated[
        Path, typer.Argument(metavar="EXPERIMENT", help="Experiment whose fitted recordings are without the load")
    ],
    loaded: Annotated[list[str], "Recording with the load; repeat for more", "RECORDING"],
    wishes: PayloadWishes,
    out: Annotated[str | None, "File for the call, instead of the screen", "--out -o PATH"] = None,
    unvalidated: Annotated[
        bool, "Write the call although no --validate passed, and say so in it", "--unvalidated"
    ] = False,
    date: Annotated[str | None, "Date in the file's head, instead of today's"] = None,
) -> None:
    """Identify the load that some recordings carry and others do not."""
    from ident.export import payload_format_named
    from ident.files import file_word, write_whole
    from ident.report.outcome_text import figures_rows, gains_rows, load_by_joint, load_sentences

    if wishes.form is None and (out is not None or unvalidated):
        raise InputError("no controller is named", key="--format", fix="Add --format, such as --format ur")
    with progress() as tell:
        found = pipelines.payload(experiment, loaded, wishes, tell=tell)
    own = ("frame", "flange", "recordings", "origin", "figures", "errors", "warnings")
    seen = parts_of(found.payload, "link", "kind", "seen", "shows_mass", "edge", "known_mass")
    gains = None if found.gains is None else parts_of(found.gains, "joints", "scale", "errors", "dof", "mass")
    answer(**parts_of(found, *own), **seen, gains=gains, call=None, path=None)
    robot = found.loaded.robot
    what = f"{', '.join(loaded)} against {found.origin}"
    say(f"load on {found.payload.link} of {robot.name}, seen from {found.frame}: {what}", style="bold")
    show(figures_rows(found.payload, found.figures))
    for told, tone in load_sentences(found.payload, found.errors, wishes.gain_error):
        say(told, style=STYLES[tone])
    if found.gains is not None:
        signal = found.loaded.manifest.recording(found.loaded.experiment.fit[0]).torque
        show(gains_rows(found.gains, signal, robot))
        if found.gains_known:
            say("The load above belongs to these gains; put them into the data set to use them.")
        else:
            use = "Use neither the gains nor the load; give recordings that carry it and move it."
            say(f"No load of {found.gains.mass:g} kg is seen: no gain differs from zero. {use}", style="bold red")
    elif found.payload.shows_mass:
        say(*load_by_joint(found.payload, robot))
    if wishes.form is None:
        return
    text = found.call(unvalidated=unvalidated, date=date)
    answer(call=text)
    if out is not None:
        name = f"{file_word(robot.name, 'robot')}_payload{payload_format_named(wishes.form).suffix}"
        path = write_whole(file_out(name)(out), text)
        answer(path=path)
        say(f"wrote {path}")
    elif asked().text:
        typer.echo(text, nl=False)
