"""The command `ident export`."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from ident.console import guarded, say, show, tell_aside


def _list(wanted: bool) -> None:
    if wanted:
        from ident.export.formats import listing
        from ident.report.text import table

        show(table("", ("format", "ending", "what it is"), listing()))
        raise typer.Exit


@guarded
def export(
    form: Annotated[str, typer.Argument(metavar="FORMAT", help="What to write; --list explains each")],
    estimate: Annotated[Path, typer.Argument(metavar="ESTIMATE", help="estimate.json that `run` or `fit` wrote")],
    out: Annotated[Path | None, typer.Option("--out", "-o", help="File to write, instead of ROBOT + ending")] = None,
    robot: Annotated[
        Path | None, typer.Option("--robot", help="Robot that was identified (.urdf, .toml); a URDF is edited for urdf")
    ] = None,
    edit: Annotated[
        Path | None, typer.Option("--edit", help="URDF, MJCF or SDF whose numbers are exchanged, the rest kept")
    ] = None,
    unvalidated: Annotated[
        bool, typer.Option("--unvalidated", help="Export although no validation passed, and say so in the file")
    ] = False,
    date: Annotated[str | None, typer.Option("--date", help="Date in the file's head, instead of today's")] = None,
    listed: Annotated[
        bool, typer.Option("--list", callback=_list, is_eager=True, help="Explain every format and stop")
    ] = False,
) -> None:
    """Write the identified parameters for a controller, simulator or toolbox."""
    from ident.estimate.storage import load_estimate
    from ident.export.formats import export_to, file_name, format_named
    from ident.pipeline import urdf_source
    from ident.robot import read_robot

    known = format_named(form)
    result = load_estimate(estimate)
    if edit is None and robot is not None and form == "urdf":
        edit = urdf_source(robot)
    done = export_to(
        form,
        result,
        out or Path(file_name(known, result.robot)),
        robot=None if robot is None else read_robot(robot),
        source=edit,
        when=datetime.now(UTC).strftime("%Y-%m-%d") if date is None else date,
        unvalidated=unvalidated,
    )
    for note in done.notes:
        tell_aside(f"note: {note}")
    say(f"wrote {done.path}")
