"""The commands `ident cad read` and `ident cad check`: what a CAD report or table says, and what is wrong with it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from ident.console import PROBLEMS, guarded, say, show

if TYPE_CHECKING:
    from ident.cad.mass_report import MassReport
    from ident.cad.report_evidence import Finding
    from ident.cad.table import Cad

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
ProductsOption = Annotated[
    str | None,
    typer.Option(
        "--products",
        help="Sign of the printed products, where it is known: 'tensor' (-integral of x y dm) or 'positive'",
    ),
]


@app.command()
@guarded
def read(
    source: Source,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Table to write, .csv or .toml")] = None,
    products: ProductsOption = None,
    frames: Annotated[
        Path | None, typer.Option("--frames", help="Poses of the CAD output frames in their link frames (.toml)")
    ] = None,
    robot: Annotated[Path | None, typer.Option("--robot", help="Robot whose links the table must have")] = None,
) -> None:
    """Print what a report, a folder of reports or a table says; --out writes it as a table."""
    from ident.errors import InputError

    if out is not None and out.suffix not in (".csv", ".toml"):
        raise InputError(f"ends in '{out.suffix}'", file=out, fix="Choose .csv or .toml")
    if _is_report(source):
        from ident.cad.read_report import read_report

        _show_report(read_report(source))
        if out is None and frames is None and robot is None:
            return
    cad = _cad(source, products, frames, robot)
    _show_cad(cad)
    if out is not None:
        _write(cad, out)


@app.command()
@guarded
def check(source: Source) -> None:
    """Say what the numbers tell about their own signs, points and units; needs no log and no robot."""
    if source.is_dir() or _is_report(source):
        problems = _check_reports(source)
    else:
        problems = _check_table(_cad(source, None, None, None))
    if problems:
        raise typer.Exit(PROBLEMS)


def _is_report(source: Path) -> bool:
    return not source.is_dir() and source.suffix.lower() not in (".csv", ".toml", ".urdf", ".xml", ".mjcf")


def _sign(products: str | None) -> Literal["tensor", "positive"] | None:
    from ident.errors import CadError

    if products in (None, "tensor", "positive"):
        return products  # type: ignore[return-value]
    raise CadError(f"unknown word '{products}'", key="--products", fix="Write tensor or positive")


def _cad(source: Path, products: str | None, frames: Path | None, robot: Path | None) -> Cad:
    """Return any source as a table of links."""
    from ident.cad.read import read_cad
    from ident.cad.read_reports import read_frames, read_reports
    from ident.errors import CadError
    from ident.robot import read_robot

    arm = None if robot is None else read_robot(robot)
    poses = None if frames is None else read_frames(frames)
    sign, suffix = _sign(products), source.suffix.lower()
    if source.is_dir() or _is_report(source):
        return read_reports(source, arm, poses, sign)
    if products is not None or poses is not None:
        option = "--products" if products is not None else "--frames"
        raise CadError("is for reports; a table declares its own convention", key=option, file=source)
    if suffix in (".urdf", ".xml", ".mjcf"):
        from ident.cad.robot_inertials import read_inertials

        cad = read_inertials(source)
    else:
        cad = read_cad(source)
    if arm is not None:
        cad.for_robot(arm)
    return cad


def _check_reports(source: Path) -> int:
    """Print the findings of every report; return how many problems there are. A report that cannot be read is one."""
    from ident.cad.read_report import read_report
    from ident.cad.read_reports import find_reports
    from ident.cad.report_evidence import examine
    from ident.errors import CadError

    problems = 0
    for link, path in (find_reports(source) if source.is_dir() else {source.stem: source}).items():
        try:
            report = read_report(path)
        except CadError as cause:
            if not source.is_dir():
                raise
            say(f"{path.name}: PROBLEM: {cause}", "bold red")
            problems += 1
            continue
        name = f" '{report.name}'" if report.name else ""
        say(f"{link}: {report.program} ({report.language}){name}, mass {report.mass.text} {report.mass.unit}", "bold")
        problems += _show_findings(examine(report))
    return problems


def _check_table(cad: Cad) -> int:
    from ident.cad.check import check_cad
    from ident.cad.table_evidence import examine_table

    problems = 0
    say(f"{cad.source}: {len(cad.links)} links", "bold")
    for verdict in check_cad(cad):
        bad = verdict.status == "impossible"
        problems += bad
        say(f"  {verdict}", "bold red" if bad else "")
        for doubt in verdict.doubts:
            problems += 1
            say(f"  PROBLEM (unit): link '{verdict.link}': {doubt}", "bold red")
    return problems + _show_findings(examine_table(cad))


def _show_findings(findings: tuple[Finding, ...]) -> int:
    styles = {"decided": "green", "agrees": "green", "problem": "bold red", "undecided": "yellow", "note": ""}
    for f in findings:
        word = "PROBLEM " if f.verdict == "problem" else ""
        line = f" (line {f.line})" if f.line is not None else ""
        say(f"  {word}{f}{line}", styles[f.verdict])
    return sum(f.verdict == "problem" for f in findings)


def _show_report(report: MassReport) -> None:
    """Print every number of one report as it is printed, with its unit, its rounding in SI and its line."""
    from ident.cad.mass_report import ENTRIES
    from ident.report.text import number, table

    about = [("title", report.name), ("configuration", report.configuration), ("output frame", report.frame)]
    said = ", ".join(f"{k} '{v}'" for k, v in about if v)
    say(f"{report.source}: {report.program} ({report.language}){': ' if said else ''}{said}")
    named = [("mass", report.mass), ("density", report.density), ("volume", report.volume), ("area", report.area)]
    named += list(zip(("centre x", "centre y", "centre z"), report.center, strict=True))
    for what, six in (("centre", report.at_center), ("output frame", report.at_origin)):
        named += [(f"I{e} at {what}", n) for e, n in zip(ENTRIES, six, strict=True)] if six else []
    for k, n in enumerate(report.moments or (), 1):
        named.append((f"principal moment {k}", n))
        for j, a in zip("xyz", report.axes[k - 1] if report.axes else (), strict=False):
            named.append((f"its axis {j}", a))
    rows = [
        (name, n.text, n.unit, f"± {number(float(n.half), 2)}", str(n.line), "set by a user" if n.overridden else "")
        for name, n in named
        if n is not None
    ]
    show(table("", ("number", "printed", "unit", "rounding [SI]", "line", ""), rows))
    sign = {
        "positive": "+integral of x y dm",
        "tensor": "-integral of x y dm (entries of the tensor)",
        None: "not stated",
    }
    say(f"products: {sign[report.stated]}")
    for note in report.notes:
        say(f"not read: {note}")


def _show_cad(cad: Cad) -> None:
    """Print the links in SI: mass, centre, and tensor about the centre with tensor signs."""
    from ident.report.text import number, table
    from ident.spatial.inertia import to_com

    rows = []
    for link, p in zip(cad.links, cad.parameters, strict=True):
        mass, center, i = to_com(p)
        six = (i[0, 0], i[0, 1], i[0, 2], i[1, 1], i[1, 2], i[2, 2])
        rows.append((link, number(mass), *(number(float(x), 4) for x in (*center, *six))))
    columns = ("link", "m [kg]", "cx [m]", "cy", "cz", "Ixx [kg m^2]", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")
    show(table("Links in their frames, tensor about the centre of mass, Ixy = -integral of x y dm", columns, rows))


def _write(cad: Cad, out: Path) -> None:
    from dataclasses import replace

    from ident.cad.convention import SI
    from ident.cad.write import write_cad

    convention = cad.table.convention if cad.table else replace(SI, tensor_at="center_of_mass")
    if out.suffix == ".csv":
        write_cad(cad, convention, out)
    else:
        from ident.cad.write import write_cad_toml

        write_cad_toml(cad, convention, out)
    say(f"wrote {out.name}, {len(cad.links)} links")
