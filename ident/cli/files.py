"""The commands that look into files: `ident check`, `ident logs info` and `ident logs convert`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ident import pipelines
from ident.cli.answers import answer, checked, parts_of
from ident.cli.cad import show_checked
from ident.cli.console import PROBLEMS, ended, guarded, out_option, progress, say, show, show_notes, show_steps
from ident.errors import InputError, plural
from ident.tell import LOG

if TYPE_CHECKING:
    from ident.logs import LogReport
    from ident.logs.readers.info import LogInfo
    from ident.pipelines.checks import CheckedRobot
    from ident.pipelines.loaded import Loaded
    from ident.robot import Robot


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


logs = typer.Typer(no_args_is_help=True, help="Look into recordings: ROS bags, MCAP, RTDE and libfranka CSV.")

RecordingPath = Annotated[Path, typer.Argument(metavar="FILE", help="Bag (.bag, .db3, .mcap, folder), or CSV")]
TopicName = Annotated[str, "Topic of sensor_msgs/JointState; without: the only one"]
JointNames = Annotated[str, "Joints in the order wanted, as 'a,b,c'"]
RobotPath = Annotated[Path | None, "Robot (.urdf, .xml, .toml) whose joints are wanted"]


@logs.command()
@guarded
def info(file: RecordingPath, topic: TopicName = "", joints: JointNames = "", robot: RobotPath = None) -> None:
    """Say what a recording holds: duration, rate, joints, signals, lost and repeated messages."""
    from ident.logs.readers.info import log_info

    with progress() as tell:
        found = log_info(file, topic=topic, joints=_names(joints), robot=_robot(robot), tell=tell)
    answer(**_told(found))
    _show(found)


@logs.command()
@guarded
def convert(
    file: RecordingPath,
    out: Annotated[Path, out_option("log.parquet", "Table to write, .parquet or .csv")],
    topic: TopicName = "",
    joints: JointNames = "",
    robot: RobotPath = None,
) -> None:
    """Write a recording as a table, with the dataset.toml that reads it."""
    from ident.logs.readers.info import convert as write

    with progress() as tell:
        done = write(file, out, topic=topic, joints=_names(joints), robot=_robot(robot), tell=tell)
    answer(**parts_of(done, "path", "manifest", "stanza", "rows", "dropped"), info=_told(done.info))
    for note in done.info.sentences():
        LOG.info(note)
    if done.dropped:
        LOG.info(f"{done.dropped} dropped, because their clock repeats")
    say(done.stanza)
    say(f"wrote {done.rows} rows to {done.path} and their description to {done.manifest}")


def _names(joints: str) -> tuple[str, ...]:
    """Return the names of a list such as "a, b"."""
    names = tuple(name.strip() for name in joints.split(",")) if joints.strip() else ()
    if not all(names) or len(set(names)) < len(names):
        raise InputError(f"'{joints}' is no list of different names", key="--joints", fix="Give it as 'a,b,c'")
    return names


def _robot(path: Path | None) -> Robot | None:
    from ident.robot import read_robot

    return None if path is None else read_robot(path)


def _told(found: LogInfo) -> dict[str, Any]:
    """Return a recording at a glance, for programs."""
    r, steps = found.recorded, found.steps
    units = {c.label: c.unit or "SI" for c in r.channels}
    return {
        **parts_of(r, "name", "kind", "topic", "clock"),
        **parts_of(found.seen, "rows", "messages"),
        "rate_hz": found.rate_hz,
        "duration": steps.elapsed,
        "lost": steps.lost,
        "joints": r.named,
        "signals": {label: units[label] for label in found.usable},
        "topics": found.topics,
        "told": found.sentences(),
    }


def _show(found: LogInfo) -> None:
    """Print a recording at a glance."""
    from ident.report.text import MISSING, table

    r, seen, steps = found.recorded, found.seen, found.steps
    what = "messages" if r.topic else "rows"
    say(f"{r.name}: {r.kind}{f', topic {r.topic}' if r.topic else ''}", style="bold")
    if len(found.topics) > 1:
        show(table("", ("topic", "type", "messages"), [(t.name, t.type, str(t.messages)) for t in found.topics]))
    rate = MISSING if found.rate_hz is None else f"{found.rate_hz:.6g} Hz"
    say(f"{seen.rows} rows of {seen.messages} {what}, {steps.elapsed:.6g} s, {rate} by the clock '{r.clock}'")
    say(f"joints: {', '.join(r.named)}")
    units = {c.label: c.unit or "SI" for c in r.channels}
    say(f"signals: {', '.join(f'{label} [{units[label]}]' for label in found.usable) or 'none'}")
    show_steps(steps.histogram, steps.counts.total())
    for sentence in found.sentences():
        odd = any(word in sentence for word in ("lost", "gap", "repeats", "jumps", "NaN", "no effort", "no current"))
        say(f"  {sentence}", style="bold red" if odd else "")
