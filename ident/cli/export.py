"""The command `ident export`."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from ident.cli.console import guarded, say, show, tell_aside
from ident.cli.options import is_folder


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
    estimate: Annotated[
        Path, typer.Argument(metavar="ESTIMATE", help="estimate.json that `run` or `fit` wrote, or its folder")
    ],
    out: Annotated[
        str | None,
        typer.Option(
            "--out", "-o", metavar="PATH", help="File, or folder of ROBOT + ending; of several formats a folder"
        ),
    ] = None,
    robot: Annotated[
        Path | None, typer.Option("--robot", help="Robot that was identified (.urdf, .toml); a URDF is edited for urdf")
    ] = None,
    edit: Annotated[
        Path | None, typer.Option("--edit", help="URDF, MJCF or SDF whose numbers are exchanged, the rest kept")
    ] = None,
    unvalidated: Annotated[
        bool, typer.Option("--unvalidated", help="Export although no validation passed, and say so in the file")
    ] = False,
    fixed_massless: Annotated[
        bool,
        typer.Option("--fixed-massless", help="urdf: links outweighed by what is fixed to them take all of its mass"),
    ] = False,
    date: Annotated[str | None, typer.Option("--date", help="Date in the file's head, instead of today's")] = None,
    listed: Annotated[
        bool, typer.Option("--list", callback=_list, is_eager=True, help="Explain every format and stop")
    ] = False,
) -> None:
    """Write the identified parameters for a controller, simulator or toolbox."""
    from ident.errors import InputError
    from ident.estimate.storage import load_estimate
    from ident.export.formats import export_to, file_name, format_named
    from ident.files import write_whole
    from ident.pipelines.loaded import urdf_source
    from ident.robot import read_robot

    names = [name.strip().lower() for name in form.split(",")]
    known = [format_named(name) for name in dict.fromkeys(names) if name or len(names) == 1]
    several = len(known) > 1
    if fixed_massless and all(one.name != "urdf" for one in known):
        raise InputError("is for urdf, which is not asked for", key="--fixed-massless", fix="Leave it out")
    if several and edit is not None:
        raise InputError("is for one format", key="--edit", fix="Export that one by itself")
    if several and out is not None and Path(out).is_file():
        raise InputError("is a file, and several formats are written", key="--out", fix="Name a folder")
    result = load_estimate(estimate)
    arm = None if robot is None else read_robot(robot)
    folder = Path() if out is None else Path(out) if several or is_folder(out) else None
    with TemporaryDirectory() as work:  # all of them, or none
        made = []
        for one in known:
            source = urdf_source(robot) if edit is None and robot is not None and one.name == "urdf" else edit
            done = export_to(
                one.name,
                result,
                Path(work) / one.name,
                robot=arm,
                source=source,
                when=datetime.now(UTC).strftime("%Y-%m-%d") if date is None else date,
                unvalidated=unvalidated,
                fixed_massless=fixed_massless and one.name == "urdf",
            )
            place = Path(out or "") if folder is None else folder / file_name(one, result.robot)
            made.append((place, done.path.read_bytes(), done.notes))
    for place, content, notes in made:
        for note in notes:
            tell_aside(f"note: {note}" if not several else f"note: {place.name}: {note}")
        say(f"wrote {write_whole(place, content)}")
