"""The command that looks into files: `ident check`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ident import pipelines
from ident.cli.answers import answer, checked
from ident.cli.cad import show_checked
from ident.cli.console import PROBLEMS, ended, guarded, say, show, show_notes, show_steps
from ident.errors import plural
from ident.tell import LOG

if TYPE_CHECKING:
    from ident.logs import LogReport
    from ident.pipelines.checks import CheckedRobot
    from ident.pipelines.loaded import Loaded


@guarded
def check(
    file: Annotated[Path, typer.Argument(help="Robot, CAD table, dataset.toml, log file or experiment")],
    robot: Annotated[Path | None, "Robot that a CAD table or a log belongs to"] = None,
    recording: Annotated[str | None, "Only this recording of a data set"] = None,
    plot: Annotated[Path | None, "Folder for a picture of each recording"] = None,
) -> None:
    """Say what a file is and whether it can be used; exit code 4 when there are problems."""
    from ident.pipelines.checks import CheckedExperiment, CheckedLogs, CheckedRobot

    found = pipelines.check(file, robot=robot, recording=recording, plot=plot)
    answer(**checked(found))
    if isinstance(found, CheckedRobot):
        _show_robot(found)
    elif isinstance(found, CheckedLogs):
        for report in found.reports:
            _show_log(report)
        say(*(f"wrote {picture}" for picture in found.pictures))
    elif isinstance(found, CheckedExperiment):
        _show_experiment(found.loaded)
    else:
        show_checked(found)
    if found.problems:
        raise ended(f"{plural(found.problems, 'problem')} found", PROBLEMS)


def _show_robot(found: CheckedRobot) -> None:
    import numpy as np

    from ident.report.text import number, table

    robot, (kept, dropped) = found.robot, found.margin
    gravity = " ".join(f"{g:g}" for g in robot.gravity)
    say(f"robot '{robot.name}': {plural(robot.n, 'joint')}, gravity {gravity} m/s^2 in the base frame")
    say(f"torque can show {plural(found.combinations, 'combination')} of its {10 * robot.n} link parameters")
    say(f"(singular values down to {kept:.1g} of the largest count, those up to {dropped:.0e} of it are zero)")
    if found.doubtful:
        LOG.info(
            "the number of combinations hangs on the last digits of the description: angles or lengths that just "
            "miss zero, a right angle or each other make combinations that no log can tell from noise"
        )
    for note in robot.notes:
        LOG.info(note)
    masses = np.full(robot.n, np.nan) if robot.inertials is None else robot.inertials[:, 0]
    rows = []
    for joint, link, mass, verdict in zip(robot.joints, robot.links, masses, found.verdicts, strict=True):
        parent = robot.base if joint.parent < 0 else robot.links[joint.parent]
        limits = f"{number(joint.limits.lower, 3)} to {number(joint.limits.upper, 3)}"
        shown = number(None if verdict == "no inertial" else float(mass))
        rows.append((joint.name, joint.kind, f"{parent} - {link}", limits, shown, verdict))
    columns = ("joint", "kind", "between", "range [rad; m]", "mass [kg]", "link")
    show(table("", columns, rows, ["bad" if v.startswith("cannot") else "" for v in found.verdicts]))


def _show_log(found: LogReport) -> None:
    from ident.logs.check import NOTES
    from ident.report.text import number

    say(f"recording '{found.name}' ({found.file}): {found.samples} rows, {found.duration:.6g} s")
    span = f"others, {number(found.dt_min * 1e3)} to {number(found.dt_max * 1e3)}"
    show_steps(found.steps, found.samples - 1, span)
    for kind in dict.fromkeys(f.kind for f in found.findings):
        same, note = [f for f in found.findings if f.kind == kind], kind in NOTES
        for f in same[:1] if note else same:  # notes are alike from joint to joint
            more = f" ({len(same) - 1} more like it: all by --json)" if note and len(same) > 1 else ""
            say(f"  {'note' if note else 'PROBLEM'} ({kind}): {f.message}{more}", style="" if note else "bold red")
    if all(f.kind in NOTES for f in found.findings):
        say("  no problem", style="green")


def _show_experiment(loaded: Loaded) -> None:
    e = loaded.experiment
    say(f"experiment {e.heading}")
    say(f"robot '{loaded.robot.name}', {len(loaded.model.names)} parameters, {len(loaded.base.names)} base parameters")
    say(f"fit on {', '.join(e.fit)}; validate on {', '.join(e.validate) or 'nothing'}; prior: {loaded.prior.source}")
    show_notes(loaded)
