"""The command `ident fleet`: many robots beside each other."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ident import pipelines
from ident.cli.answers import answer, parts_of
from ident.cli.console import PROBLEMS, command_line, guarded, progress, say, tell_aside
from ident.errors import plural
from ident.pipelines.wishes import Sharing

#: Robots that failed, and such as are printed by name.
_NAMED = 10


@guarded
def fleet(
    file: Annotated[Path, typer.Argument(metavar="FLEET", help="fleet.toml: robots with an experiment or logs each")],
    share: Sharing,
    out: Annotated[Path | None, "Folder to write, instead of results/NAME", "--out -o"] = None,
    against: Annotated[Path | None, "Earlier fleet.parquet, from which drift is told", "TABLE"] = None,
) -> None:
    """Identify every robot of a fleet: a table of all parameters, and a page of those who stand out or have drifted."""
    from ident.report.fleet_report import sentences

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
    say(f"{found.title}: {told}", "bold")
    for which, off in (("stands_out", "deviation"), ("drifted", "drift")):
        for line in sentences(found.table[found.table[which]], off):
            say(line)
    say(f"wrote {', '.join(sorted(p.name for p in found.path.iterdir()))} to {found.path}")
    if found.failed:
        raise typer.Exit(PROBLEMS)
