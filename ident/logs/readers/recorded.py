"""Recordings that name their own joints and signals: bags, RTDE and libfranka logs, in parts, before any manifest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np

from ident.arrays import Array
from ident.errors import LogError
from ident.logs.manifest import Quantity
from ident.logs.readers import bag
from ident.logs.readers.bag import Seen
from ident.logs.readers.formats import format_of, is_bag, read_chunks
from ident.logs.readers.joint_state import ARRAYS
from ident.logs.readers.recorder import Channel, Recorder, recognise
from ident.logs.readers.request import Reference, Request
from ident.robot import Robot

FIRST = 16  # batches of messages from which joints and arrays are taken where nobody names them
ROWS = 65_536  # of text read together
QUANTITIES: dict[str, Quantity] = {"position": "position", "velocity": "velocity", "effort": "torque"}


@dataclass(frozen=True)
class Recorded:
    """A recording as its file describes it.

    `joints`: as the file names them ("" where it numbers them only), `named`: as they are called from here on.
    `clock` and `channels` are the columns; `torque` the label of the channel meant for torque, or None.
    `ignored`: joints (bags) or columns (text) that are not taken. `recorder`: of a text file.
    """

    path: Path
    kind: str
    joints: tuple[str, ...]
    named: tuple[str, ...]
    clock: str
    clock_unit: str
    channels: tuple[Channel, ...]
    torque: str | None
    ignored: tuple[str, ...]
    topic: str = ""
    recorder: Recorder | None = None

    @property
    def name(self) -> str:
        """Name by which messages call the file."""
        return self.path.name

    def seen(self) -> Seen:
        """Return a new count of what is read."""
        return Seen(self.joints, [c.label for c in self.channels])


@dataclass(frozen=True, eq=False)
class Part:
    """Consecutive rows: `number` (k,) of the message or row from 1 on, `clock` (k,) in the file's own unit, `values`
    label -> (k, joints) in the channel's unit."""

    number: np.ndarray
    clock: np.ndarray
    values: dict[str, Array]


def open_recorded(path: Path, *, topic: str = "", joints: Sequence[str] = (), robot: Robot | None = None) -> Recorded:
    """Return what a bag or a recorder's text file holds, as `joints` of it or as the joints of `robot`.

    `joints` are names in a bag, names to be given to the joints of a text file. Only the beginning is read. Raises
    LogError for files of another kind, a topic that is missing or of another type, and joints that do not fit.
    """
    if not path.exists():
        raise LogError("there is no such file", file=path)
    if path.is_dir() and not is_bag(path):
        raise LogError("is a folder without a metadata.yaml, no bag", file=path.resolve())
    if path.is_file() and path.stat().st_size == 0:
        raise LogError("is empty, not one byte long", file=path, fix="Record it again, or name another file")
    if robot and joints and len(joints) != robot.n:
        raise LogError(f"{len(joints)} joints are named, robot '{robot.name}' has {robot.n}", key="--joints")
    if is_bag(path):
        return _bag(path, topic, tuple(joints), robot)
    found = format_of(path)
    if found is not None and found.lines:
        if topic:
            raise LogError("is no bag and has no topics", file=path, key=topic)
        return _text(path, tuple(joints), robot)
    raise LogError(
        "is no recording that names its own signals",
        file=path,
        fix="Give a bag (.bag, .db3, .mcap or folder), or a CSV of RTDE or libfranka; describe others in a"
        " dataset.toml",
    )


def parts(recorded: Recorded, seen: Seen) -> Iterator[Part]:
    """Yield the rows of a recording; `seen` counts them and what is left out."""
    if recorded.recorder is not None:
        yield from _text_parts(recorded, recorded.recorder, seen)
        return
    for rows in bag.read_rows(recorded.path, recorded.name, recorded.topic, seen):
        if recorded.clock == "received" and rows.stamp.any():
            first = rows.number[np.flatnonzero(rows.stamp)[0]]
            raise LogError(f"the header stamps are 0 up to message {first - 1} only", file=recorded.name, key="stamp")
        yield Part(rows.number, rows.stamp if recorded.clock == "stamp" else rows.received, rows.values)


def _bag(path: Path, topic: str, joints: tuple[str, ...], robot: Robot | None) -> Recorded:
    chosen = bag.choose_topic(path, path.name, topic).name
    alike = [a for batch in islice(bag.batches(path, path.name, chosen), FIRST) for a in batch]
    names = Counter[tuple[str, ...]]()
    for a in alike:
        names[a.layout.names] += len(a.number)
    if not names:
        raise LogError("has no messages", file=path, key=chosen, fix="Record it again, or name another topic")
    wanted = joints or (robot.joint_names if robot else max(names, key=lambda n: names[n]))
    if not wanted:
        raise LogError("its messages name no joints", file=path, key=chosen)
    whole = [a for a in alike if set(wanted) <= set(a.layout.names)]
    arrays = [array for array in ARRAYS if any(a.layout.has(array) for a in whole)]
    named = robot.joint_names if robot else wanted
    kinds = [robot.joints[i].kind if robot else "revolute" for i in range(len(wanted))]
    channels = tuple(Channel(a, QUANTITIES[a], _unit(a, kinds), wanted) for a in arrays)
    clock = "stamp" if any(a.stamps().any() for a in alike) else "received"
    ignored = tuple(dict.fromkeys(n for some in names for n in some if n not in wanted))
    torque = "effort" if "effort" in arrays else None
    kind = f"ROS {1 if path.suffix.lower() == '.bag' and path.is_file() else 2} bag"
    return Recorded(path, kind, wanted, named, clock, "ns", channels, torque, ignored, chosen)


def _unit(array: str, kinds: Sequence[str]) -> str:
    """Return the SI unit that sensor_msgs/JointState gives an array; "" where joints of both kinds share it."""
    units = {"position": ("rad", "m"), "velocity": ("rad/s", "m/s"), "effort": ("N m", "N")}[array]
    used = {units[kind == "prismatic"] for kind in kinds}
    return used.pop() if len(used) == 1 else ""


def joint_units(channel: Channel, robot: Robot | None) -> tuple[str, ...]:
    """Return the unit of each joint's column."""
    if channel.unit or robot is None:
        return (channel.unit,) * len(channel.columns)
    return tuple(_unit(channel.label, [joint.kind]) for joint in robot.joints)


def _text(path: Path, joints: tuple[str, ...], robot: Robot | None) -> Recorded:
    found = recognise(path, path.name)
    n = len(found.channels[0].columns)
    named = joints or (robot.joint_names if robot else tuple(f"joint{i}" for i in range(1, n + 1)))
    if robot and joints:
        named = robot.joint_names
    if len(named) != n:
        whose = f"robot '{robot.name}' has" if robot and not joints else "names are given for"
        raise LogError(f"is a recording of {n} joints, {whose} {len(named)}", file=path)
    return Recorded(
        path, found.kind, found.channels[0].columns, named, found.clock, found.clock_unit, found.channels,
        found.torque, found.unused, recorder=found,
    )  # fmt: skip


def _text_parts(recorded: Recorded, recorder: Recorder, seen: Seen) -> Iterator[Part]:
    wanted: dict[str, list[Reference]] = {"": [(None, recorder.clock)]}
    wanted |= {c.label: [(None, column) for column in c.columns] for c in recorder.channels}
    for chunk in read_chunks(Request(recorded.path, recorded.name, wanted, recorder.text, chunk=ROWS)):
        clock = chunk[""][0]
        number = np.arange(seen.messages + 1, seen.messages + len(clock) + 1)
        seen.messages = seen.rows = int(number[-1])
        if not np.isfinite(clock).all():
            bad = int(number[~np.isfinite(clock)][0])
            raise LogError(f"no finite number in '{recorder.clock}'", file=recorded.name, line=bad + 1)
        values = {label: np.column_stack(columns) for label, columns in chunk.items() if label}
        for label, array in values.items():
            seen.finite[label] = seen.finite[label] or not np.isnan(array).all()
        yield Part(number, clock, values)
