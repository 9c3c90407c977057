"""The command `ident report`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ident.cli.console import command_line, guarded, progress, say, warn
from ident.cli.options import file_out


@guarded
def report(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="ESTIMATE EXPERIMENT | ESTIMATE ESTIMATE ...",
            help="estimate.json, or its folder, and its experiment; or two estimates or more, compared with the first",
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(
            "--out", "-o", parser=file_out("report.html"), metavar="PATH", help="File to write, .html or .pdf"
        ),
    ] = Path("report.html"),
    robot: Annotated[
        Path | None, typer.Option("--robot", help="Robot of the estimates that are compared: gives friction its units")
    ] = None,
    figures: Annotated[Path | None, typer.Option("--figures", help="Folder for every figure as PNG and SVG")] = None,
) -> None:
    """Write the report of an estimate, or the comparison of several: HTML or PDF, by the ending of --out."""
    from ident.errors import InputError
    from ident.report.report import known_format

    known_format(out)
    if len(files) >= 2 and all(_is_estimate(f) for f in files):
        _compare(files, out, robot, figures)
        return
    if len(files) != 2 or not _is_estimate(files[0]):
        raise InputError(
            f"wanted an estimate and its experiment, or two estimates or more, got {len(files)} path"
            f"{'s' if len(files) != 1 else ''}",
            fix="Such as: ident report estimate.json experiments/NAME",
        )
    _single(files[0], files[1], out, figures)


def _is_estimate(file: Path) -> bool:
    """Return whether a path is an estimate or the folder of results that holds one, and no experiment."""
    return file.suffix.lower() == ".json" or (
        (file / "estimate.json").is_file() and not (file / "experiment.toml").is_file()
    )


def _single(estimate: Path, experiment: Path, out: Path, figures: Path | None) -> None:
    from ident.estimate.storage import load_estimate
    from ident.experiment import read_experiment
    from ident.pipelines import steps as pipeline
    from ident.pipelines.loaded import load

    found, warned = load_estimate(estimate), list[Any]()
    with progress() as tell:
        loaded = load(read_experiment(experiment))
        pipeline.require_same_model(loaded, found)
        pipeline.reported(
            loaded,
            found,
            out,
            comparison=pipeline.compared(loaded, found),
            validation=pipeline.validated(loaded, found, None, warned, tell),
            truth=pipeline.truth_of(loaded, found),
            command=command_line(),
            pictures=figures,
        )
    warn(warned)
    say(f"wrote {out}" + (f" and its figures to {figures}" if figures else ""))


def _compare(files: list[Path], out: Path, robot: Path | None, figures: Path | None) -> None:
    from ident.compare.change import changes
    from ident.estimate.storage import load_estimate
    from ident.report.change_report import judgement, sentences, write_comparison
    from ident.robot import read_robot

    named = list(zip(_names(files), [load_estimate(f) for f in files], strict=True))
    slides = None
    if robot is not None:
        slides = frozenset(j.name for j in read_robot(robot).joints if j.kind == "prismatic")
    write_comparison(out, named, command=command_line(), pictures=figures, prismatic=slides)
    found = changes(named)
    judged = judgement(named[0][0], found)
    say(f"{judged.headline}: {judged.reason}", "bold")
    for told in sentences(named[0][0], found, slides):
        say(told)
    say(f"wrote {out}" + (f" and its figures to {figures}" if figures else ""))


def _names(files: list[Path]) -> list[str]:
    """Return short names that tell the files apart: their stems, with folders where stems are equal."""
    resolved = [f.resolve() for f in files]
    for depth in range(1, max(len(f.parts) for f in resolved) + 1):
        names = ["/".join([*f.parts[-depth:-1], f.stem]) for f in resolved]
        if len(set(names)) == len(names):
            return names
    return [str(f) for f in files]  # one file twice: `changes` says so
