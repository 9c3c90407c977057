"""The commands `ident cad read|check|doctor|refine|report`: what a CAD report or table says, what is wrong with it, and
what it should say.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ident import pipelines
from ident.cli.console import PROBLEMS, ExperimentPath, answer, out_option, progress, register, say, show
from ident.errors import plural
from ident.pipelines.answers import cad_links, cad_sheet, checked, diagnosed, refined
from ident.pipelines.wishes import CadWishes, Frames, Products, RefineWishes
from ident.tell import LOG

if TYPE_CHECKING:
    from ident.cad import Finding, Sheet
    from ident.pipelines.cad_tables import Examined, RefinedTable
    from ident.pipelines.checked_cad import CheckedCad

app = typer.Typer(
    name="cad",
    help="Read mass-property reports and tables of CAD programs, and find their mistakes.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Source = Annotated[
    Path,
    typer.Argument(
        metavar="FILE_OR_FOLDER",
        help="Report (.txt, .m_p), folder of reports LINK.txt, table (.csv, .toml), URDF or MJCF",
    ),
]
TableOut = out_option("cad.csv", "Table to write, .csv or .toml")


def read(
    source: Source,
    out: Annotated[Path | None, TableOut] = None,
    products: Products = None,
    frames: Frames = None,
    robot: Annotated[Path | None, "Robot whose links the table must have"] = None,
) -> None:
    """Print what a report, a folder of reports or a table says; --out writes it as a table."""
    from ident.cad.read import is_sheet
    from ident.cad.sheets.read import read_sheet
    from ident.pipelines.checked_cad import table_ending
    from ident.report.checked_text import cad_rows

    table_ending(out)
    if is_sheet(source):
        report = read_sheet(source)
        answer(sheet=cad_sheet(report), table=None, path=None)
        _show_sheet(report)
        if out is None and frames is None and robot is None:
            return
    cad = pipelines.cad_read(source, out, products=products, frames=frames, robot=robot)
    answer(table=cad_links(cad), path=out)
    show(cad_rows(cad))
    if out is not None:
        say(f"wrote {out.name}, {len(cad.links)} links")


def check(
    source: Source,
    meshes: Annotated[Path | None, "Folder of a URDF's meshes or of its package, where not its own"] = None,
) -> None:
    """Say what the numbers tell about their own signs, points and units; needs no log and no robot.

    Links of a URDF are also held against their own collision shapes.
    """
    found = pipelines.cad_check(source, meshes)
    answer(**checked(found))
    show_checked(found)
    none = "no problem found" + ", but the sign of the products has to be said" * bool(found.unsigned)
    say(plural(found.problems, "problem") if found.problems else none, style="bold")
    if found.unsigned:
        LOG.info(f"`ident cad read` needs --products tensor or positive: {', '.join(found.unsigned)} leave it open")
    if found.problems:
        raise typer.Exit(PROBLEMS)


def doctor(
    experiment: ExperimentPath,
    wishes: CadWishes,
    out: Annotated[
        Path | None, out_option("cad.csv", "Table to write without the mistakes that are sure, .csv or .toml")
    ] = None,
) -> None:
    """Say which known mistakes of the CAD table the experiment's logs show, and which they could not."""
    with progress() as tell:
        found = pipelines.cad_doctor(experiment, wishes, out, tell=tell)
    answer(**diagnosed(found), path=out)
    _show_diagnosis(found)
    if out is not None:
        say(f"wrote {out.name}")
    if not all(fault.slight for fault in found.diagnosis.faults):
        raise typer.Exit(PROBLEMS)


def refine(experiment: ExperimentPath, out: Annotated[Path, TableOut], wishes: CadWishes, how: RefineWishes) -> None:
    """Correct what the doctor is sure of, and write the table that agrees with the logs and is closest to CAD."""
    from ident.report.text import number, table

    with progress() as tell:
        done = pipelines.cad_refine(experiment, out, wishes, how, tell=tell)
    answer(**refined(done), path=out)
    _show_diagnosis(done.examined, freed=True)
    rows = [(c.link, c.number, c.unit, number(c.given, 6), number(c.refined, 6), c.why) for c in done.changes]
    show(table("Given and refined", ("link", "number", "unit", "given", "refined", "why"), rows))
    say(f"wrote {out.name}")
    _end(done)


def report(
    experiment: ExperimentPath,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder to write")],
    wishes: CadWishes,
    how: RefineWishes,
) -> None:
    """Write findings, the refined table as it came, numbers side by side, what the logs allow for each, and figures."""
    with progress() as tell:
        done = pipelines.cad_report(experiment, out, wishes, how, tell=tell)
    answer(**refined(done), path=out)
    _show_diagnosis(done.examined, freed=True)
    names = sorted(p.name + "/" * p.is_dir() for p in out.iterdir())
    say(f"wrote {', '.join(names)} to {out}")
    _end(done)


register(app, read, check, doctor, refine, report)


def show_checked(found: CheckedCad) -> None:
    """Print what numbers tell about themselves."""
    from ident.cad import Sheet

    for link, report in found.reports.items():
        if not isinstance(report, Sheet):
            say(f"{report.file}: PROBLEM: {report}", style="bold red")
            continue
        name = f" '{report.name}'" if report.name else ""
        say(
            f"{link}: {report.program} ({report.language}){name}, mass {report.mass.text} {report.mass.unit}",
            style="bold",
        )
        _show_findings(found.findings[link])
    if found.cad is not None:
        say(f"{found.cad.source}: {plural(len(found.cad.links), 'link')}", style="bold")
    elif found.findings[""]:
        say("all reports", style="bold")
    for verdict in found.verdicts:
        say(f"  {verdict}", style="bold red" if verdict.status == "impossible" else "")
        for doubt in verdict.doubts:
            say(f"  PROBLEM (unit): link '{verdict.link}': {doubt}", style="bold red")
    _show_findings(found.findings[""])
    shapes = found.shapes
    if shapes.untold:
        LOG.info(shapes.untold)
    for misfit in shapes.misfits:
        word, style = ("PROBLEM (shape)", "bold red") if misfit.gross else ("shape", "yellow")
        more = "" if misfit.gross else ", or the shape leaves parts out"
        say(f"  {word}: link '{misfit.link}': {misfit.what}{more}", style=style)
    if shapes.judged and not shapes.misfits:
        say(f"  shape: the numbers of {shapes.judged} of {shapes.links} links fit their shapes", style="green")
    if found.fix:
        say(found.fix, style="bold red")
    if found.robot is not None:
        say(f"every moving link of {found.robot.name} has its row", style="green")


def _end(done: RefinedTable) -> None:
    """Warn of numbers that ended far from CAD; the exit code tells of links that were freed, and of odd bodies."""
    for told in (*done.odd, *([done.far] if done.far else [])):
        LOG.warning(told)
    if done.examined.diagnosis.unknown or done.odd:
        raise typer.Exit(PROBLEMS)


def _show_diagnosis(found: Examined, freed: bool = False) -> None:
    from ident.report.outcome_text import diagnosis_sentences, freed_sentences

    for cause in found.outside:
        say(
            f"PROBLEM, not in the table: {cause}; before that is mended, what is said of the table is worth nothing",
            style="bold red",
        )
    for line in diagnosis_sentences(found.diagnosis, found.cad):
        say(line, style="bold red" if line.startswith("PROBLEM") else "yellow" if line.startswith("cannot") else "")
    say(*(freed_sentences(found.diagnosis) if freed else ()), style="bold red")


def _show_findings(findings: tuple[Finding, ...]) -> None:
    styles = {"decided": "green", "agrees": "green", "problem": "bold red", "undecided": "yellow", "note": ""}
    for f in findings:
        word = "PROBLEM " if f.verdict == "problem" else ""
        line = f" (line {f.line})" if f.line is not None else ""
        say(f"  {word}{f}{line}", style=styles[f.verdict])


def _show_sheet(report: Sheet) -> None:
    """Print every number of one report, and what it says of signs."""
    from ident.report.checked_text import sheet_rows, sheet_sentences

    about = [("title", report.name), ("configuration", report.configuration), ("output frame", report.frame)]
    about.append(("material", report.material))
    said = ", ".join(f"{k} '{v}'" for k, v in about if v)
    say(f"{report.source}: {report.program} ({report.language}){': ' if said else ''}{said}")
    show(sheet_rows(report))
    say(*sheet_sentences(report))
