"""The commands `ident logs info` and `ident logs convert`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ident.cli.console import guarded, progress, say, show, show_steps, tell_aside
from ident.cli.options import out_option

if TYPE_CHECKING:
    from ident.logs.readers.info import LogInfo
    from ident.robot import Robot

logs = typer.Typer(no_args_is_help=True, help="Look into recordings: ROS bags, MCAP, RTDE and libfranka CSV.")

RecordingPath = Annotated[Path, typer.Argument(metavar="FILE", help="Bag (.bag, .db3, .mcap, folder), or CSV")]
TopicName = Annotated[str, "Topic of sensor_msgs/JointState; without: the only one"]
JointNames = Annotated[str, "Joints in the order wanted, as 'a,b,c'"]
RobotPath = Annotated[Path | None, "Robot (.urdf, .toml) whose joints are wanted"]


@logs.command()
@guarded
def info(file: RecordingPath, topic: TopicName = "", joints: JointNames = "", robot: RobotPath = None) -> None:
    """Say what a recording holds: duration, rate, joints, signals, lost and repeated messages."""
    from ident.logs.readers.info import log_info

    with progress() as tell:
        found = log_info(file, topic=topic, joints=_names(joints), robot=_robot(robot), tell=tell)
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
    from ident.logs.readers.convert import convert as write

    with progress() as tell:
        done = write(file, out, topic=topic, joints=_names(joints), robot=_robot(robot), tell=tell)
    for sentence in done.info.sentences():
        tell_aside(f"note: {sentence}")
    if done.dropped:
        tell_aside(f"note: {done.dropped} dropped, because their clock repeats")
    say(done.stanza)
    say(f"wrote {done.rows} rows to {done.path} and their description to {done.manifest}")


def _names(joints: str) -> tuple[str, ...]:
    """Return the names of a list such as "a, b"."""
    from ident.errors import InputError

    names = tuple(name.strip() for name in joints.split(",")) if joints.strip() else ()
    if not all(names) or len(set(names)) < len(names):
        raise InputError(f"'{joints}' is no list of different names", key="--joints", fix="Give it as 'a,b,c'")
    return names


def _robot(path: Path | None) -> Robot | None:
    from ident.robot import read_robot

    return None if path is None else read_robot(path)


def _show(found: LogInfo) -> None:
    """Print a recording at a glance."""
    from ident.report.text import MISSING, table

    r = found.recorded
    what = "messages" if r.topic else "rows"
    say(f"{r.name}: {r.kind}{f', topic {r.topic}' if r.topic else ''}", "bold")
    if len(found.topics) > 1:
        show(table("", ("topic", "type", "messages"), [(t.name, t.type, str(t.messages)) for t in found.topics]))
    rate = MISSING if found.rate_hz is None else f"{found.rate_hz:.6g} Hz"
    say(f"{found.rows} rows of {found.messages} {what}, {found.duration:.6g} s, {rate} by the clock '{r.clock}'")
    say(f"joints: {', '.join(r.named)}")
    units = {c.label: c.unit or "SI" for c in r.channels}
    say(f"signals: {', '.join(f'{label} [{units[label]}]' for label in found.usable) or 'none'}")
    show_steps(found.histogram, sum(count for _, count in found.histogram))
    for sentence in found.sentences():
        odd = any(word in sentence for word in ("lost", "gap", "repeats", "jumps", "NaN", "no effort", "no current"))
        say(f"  {sentence}", "bold red" if odd else "")
