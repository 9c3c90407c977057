"""The command `ident check`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ident.cli.console import PROBLEMS, ended, guarded, say, show, show_notes, show_steps, tell_aside

if TYPE_CHECKING:
    from ident.logs import LogReport
    from ident.pipelines.checks import CheckedRobot, CheckedTable
    from ident.pipelines.loaded import Loaded


@guarded
def check(
    file: Annotated[Path, typer.Argument(help="Robot, CAD table, dataset.toml, log file or experiment")],
    robot: Annotated[Path | None, "Robot that a CAD table or a log belongs to"] = None,
    recording: Annotated[str | None, "Only this recording of a data set"] = None,
) -> None:
    """Say what a file is and whether it can be used; exit code 4 when there are problems."""
    from ident.pipelines import check as checked
    from ident.pipelines.checks import CheckedLogs, CheckedRobot, CheckedTable

    found = checked(file, robot=robot, recording=recording)
    if isinstance(found, CheckedRobot):
        _show_robot(found)
    elif isinstance(found, CheckedTable):
        _show_table(found)
    elif isinstance(found, CheckedLogs):
        for report in found.reports:
            _show_log(report)
    else:
        _show_experiment(found.loaded)
    if found.problems:
        raise ended(f"{found.problems} problem{'s' if found.problems > 1 else ''} found", PROBLEMS)


def _show_robot(found: CheckedRobot) -> None:
    import numpy as np

    from ident.errors import plural
    from ident.report.text import number, table

    robot, (kept, dropped) = found.robot, found.margin
    gravity = " ".join(f"{g:g}" for g in robot.gravity)
    say(f"robot '{robot.name}': {plural(robot.n, 'joint')}, gravity {gravity} m/s^2 in the base frame")
    say(f"torque can show {plural(found.combinations, 'combination')} of its {10 * robot.n} link parameters")
    say(f"(singular values down to {kept:.1g} of the largest count, those up to {dropped:.0e} of it are zero)")
    if found.doubtful:
        tell_aside(
            "note: the number of combinations hangs on the last digits of the description: angles or lengths that just "
            "miss zero, a right angle or each other make combinations that no log can tell from noise"
        )
    for note in robot.notes:
        tell_aside(f"note: {note}")
    masses = np.full(robot.n, np.nan) if robot.inertials is None else robot.inertials[:, 0]
    rows = []
    for joint, link, mass, verdict in zip(robot.joints, robot.links, masses, found.verdicts, strict=True):
        parent = robot.base if joint.parent < 0 else robot.links[joint.parent]
        limits = f"{number(joint.limits.lower, 3)} to {number(joint.limits.upper, 3)}"
        shown = number(None if verdict == "no inertial" else float(mass))
        rows.append((joint.name, joint.kind, f"{parent} - {link}", limits, shown, verdict))
    columns = ("joint", "kind", "between", "range [rad; m]", "mass [kg]", "link")
    show(table("", columns, rows, ["bad" if v.startswith("cannot") else "" for v in found.verdicts]))


def _show_table(found: CheckedTable) -> None:
    from ident.report.text import number, table

    say(f"CAD table of {len(found.cad.links)} links")
    rows = []
    for v, body in zip(found.verdicts, found.cad.inertials, strict=True):
        com = ", ".join(number(float(h / body[0]), 3) for h in body[1:4]) if body[0] > 0 else "n/a"
        moments = "n/a" if v.moments is None else ", ".join(number(x, 3) for x in v.moments)
        nearest = [f"the nearest that can exist: {v.nearest}"] if v.nearest else []
        rows.append((v.link, number(v.mass), com, moments, "; ".join([v.status, *v.failures, *nearest])))
    columns = ("link", "mass [kg]", "centre [m]", "principal moments [kg m^2]", "can it exist")
    show(table("", columns, rows, ["bad" if v.status == "impossible" else "" for v in found.verdicts]))
    say(found.fix or "every link can exist", "bold red" if found.fix else "green")
    if found.robot is not None:
        say(f"every moving link of {found.robot.name} has its row", "green")


def _show_log(found: LogReport) -> None:
    from ident.pipelines.result import NOTES
    from ident.report.text import number

    say(f"recording '{found.name}' ({found.file}): {found.samples} rows, {found.duration:.6g} s")
    span = f"others, {number(found.dt_min * 1e3)} to {number(found.dt_max * 1e3)}"
    show_steps(found.steps, found.samples - 1, span)
    for kind in dict.fromkeys(f.kind for f in found.findings):
        same, note = [f for f in found.findings if f.kind == kind], kind in NOTES
        for f in same[:1] if note else same:  # notes are alike from joint to joint
            more = f" (and {len(same) - 1} more of this kind)" if note and len(same) > 1 else ""
            say(f"  {'note' if note else 'PROBLEM'} ({kind}): {f.message}{more}", "" if note else "bold red")
    if all(f.kind in NOTES for f in found.findings):
        say("  no problem", "green")


def _show_experiment(loaded: Loaded) -> None:
    e = loaded.experiment
    say(f"experiment '{e.name}': {e.title}")
    say(f"robot '{loaded.robot.name}', {len(loaded.model.names)} parameters, {len(loaded.base.names)} base parameters")
    say(f"fit on {', '.join(e.fit)}; validate on {', '.join(e.validate) or 'nothing'}; prior: {loaded.prior.source}")
    show_notes(loaded)
