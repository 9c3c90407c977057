"""Recordings that name their own joints and signals: bags, RTDE and libfranka logs, in parts, before any manifest.

Text files whose header says who wrote them have their columns found by name, wherever they stand.

RTDE of Universal Robots, by `ur_rtde` (startFileRecording) and by UR's own client (record.py): one header line, a
vector `actual_q` as actual_q_0 ... actual_q_5, base to wrist 3, a scalar under its own name; `ur_rtde` separates by
commas, UR's client by blanks unless told otherwise. `timestamp` [s] runs since the controller's start. `ur_rtde` writes
from a thread of its own at its own rate, so that a state may stand there twice or be missing. Sources:
RTDE_Python_Client_Library, rtde/csv_writer.py and examples/record.py; ur_rtde, src/rtde_receive_interface.cpp; the RTDE
guide of Universal Robots (names and units).

libfranka, `franka::logToCSV` of the log in a ControlException: one header line, parted by commas (older releases: comma
and blank): `time` [ms], state.q[0] ... [rad], state.dq [rad/s], state.tau_J [N m], the measured link-side torque. The
first releases name them duration, q[0], dq, tau_J, have q_d and dq_d twice, of state and of command, and an empty
column "sent commands" between. A row holds the command of step n and the state of step n + 1. Sources: libfranka,
src/log.cpp (both kinds) and src/logging/robot_state_log.cpp (names, time in ms), issue 87 (the names that are there
twice), robot state of its reference (units). Of franka_ros there is no CSV format: record its /joint_states as a bag.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import numpy as np

from ident.errors import LogError
from ident.logs.manifest import TextFormat
from ident.logs.readers import bag
from ident.logs.readers.bag import Rows, Seen
from ident.logs.readers.encodings import decoded
from ident.logs.readers.formats import Reference, Request, format_of, is_bag, read_chunks
from ident.logs.readers.joint_state import ARRAYS
from ident.robot import Robot
from ident.robot.robot import UNITS

FIRST = 16  # batches of messages from which joints and arrays are taken where nobody names them
ROWS = 65_536  # of text read together


@dataclass(frozen=True)
class Channel:
    """One signal of all joints: its `label`, its `unit`, and its column for each joint."""

    label: str
    unit: str
    columns: tuple[str, ...]


@dataclass(frozen=True)
class Recorded:
    """A recording as its file describes it.

    `joints`: as the file names them ("" where it numbers them only), `named`: as they are called from here on.
    `clock` and `channels` are the columns, position first; `torque` the label of the channel meant for torque, or None.
    `ignored`: joints (bags) or columns (text) that are not taken. `topic`: of a bag, `text`: how a file is written.
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
    text: TextFormat | None = None

    @property
    def name(self) -> str:
        """Name by which messages call the file."""
        return self.path.name

    def seen(self) -> Seen:
        """Return a new count of what is read."""
        return Seen(self.joints, [c.label for c in self.channels])


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
    fix = "Give a bag (.bag, .db3, .mcap or folder), or a CSV of RTDE or libfranka; describe others in a dataset.toml"
    raise LogError("is no recording that names its own signals", file=path, fix=fix)


def parts(recorded: Recorded, seen: Seen) -> Iterator[Rows]:
    """Yield the rows of a recording; `seen` counts them and what is left out."""
    if recorded.text is not None:
        yield from _text_parts(recorded, recorded.text, seen)
        return
    for rows in bag.read_rows(recorded.path, recorded.name, recorded.topic, seen):
        stamped = np.flatnonzero(rows.clocks["stamp"])
        if recorded.clock == "received" and len(stamped):
            before = rows.number[stamped[0]] - 1
            raise LogError(f"the header stamps are 0 up to message {before} only", file=recorded.name, key="stamp")
        yield rows


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
    channels = tuple(Channel(a, _unit(a, kinds), wanted) for a in arrays)
    clock = "stamp" if any(a.stamps().any() for a in alike) else "received"
    ignored = tuple(dict.fromkeys(n for some in names for n in some if n not in wanted))
    torque = "effort" if "effort" in arrays else None
    kind = f"ROS {1 if path.suffix.lower() == '.bag' and path.is_file() else 2} bag"
    return Recorded(path, kind, wanted, named, clock, "ns", channels, torque, ignored, chosen)


def _unit(array: str, kinds: Sequence[str]) -> str:
    """Return the SI unit that sensor_msgs/JointState gives an array; "" where joints of both kinds share it."""
    units = UNITS["torque" if array == "effort" else array]
    used = {units[kind == "prismatic"] for kind in kinds}
    return used.pop() if len(used) == 1 else ""


def joint_units(channel: Channel, robot: Robot | None) -> tuple[str, ...]:
    """Return the unit of each joint's column."""
    if channel.unit or robot is None:
        return (channel.unit,) * len(channel.columns)
    return tuple(_unit(channel.label, [joint.kind]) for joint in robot.joints)


def _text(path: Path, joints: tuple[str, ...], robot: Robot | None) -> Recorded:
    found = recognise(path)
    n = len(found.joints)
    named = robot.joint_names if robot else joints or found.named
    if len(named) != n:
        whose = f"robot '{robot.name}' has" if robot and not joints else "names are given for"
        raise LogError(f"is a recording of {n} joints, {whose} {len(named)}", file=path)
    return replace(found, named=named)


def _text_parts(recorded: Recorded, text: TextFormat, seen: Seen) -> Iterator[Rows]:
    wanted: dict[str, list[Reference]] = {"": [(None, recorded.clock)]}
    wanted |= {c.label: [(None, column) for column in c.columns] for c in recorded.channels}
    for chunk in read_chunks(Request(recorded.path, recorded.name, wanted, text, chunk=ROWS)):
        clock = chunk[""][0]
        number = np.arange(seen.messages + 1, seen.messages + len(clock) + 1)
        seen.messages = seen.rows = int(number[-1])
        if not np.isfinite(clock).all():
            bad = int(number[~np.isfinite(clock)][0])
            raise LogError(f"no finite number in '{recorded.clock}'", file=recorded.name, line=bad + 1)
        values = {label: np.column_stack(columns) for label, columns in chunk.items() if label}
        for label, array in values.items():
            seen.finite[label] = seen.finite[label] or not np.isnan(array).all()
        yield Rows(number, {recorded.clock: clock}, values)


# Recorders -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Known:
    """What a recorder writes, and how its header is told from others.

    `signals`: variable -> (label, unit), the position first; `column` makes a column's name of variable and
    joint. The header has `all_of` these names and, where there are such, `any_of` these variables. `torque`: labels
    that are meant for torque, the first that is there. `fixes`: what to do without the clock, without the position.
    `spaced`: its kind where blanks part the columns, if that is another.
    """

    kind: str
    joints: int
    column: str
    clock: str
    clock_unit: str
    signals: Mapping[str, tuple[str, str]]
    torque: tuple[str, ...]
    fixes: tuple[str, str]
    any_of: tuple[str, ...] = ()
    all_of: tuple[str, ...] = ()
    spaced: str = ""


_WHOLE = ("Write the whole of logToCSV, its header included", "Write the whole of logToCSV")
_RTDE: dict[str, tuple[str, str]] = {
    "actual_q": ("position", "rad"),
    "actual_qd": ("velocity", "rad/s"),
    "actual_current": ("current", "A"),
    "actual_current_as_torque": ("torque", "N m"),  # from PolyScope 5.23 and 10.11 on
    "target_moment": ("target_moment", "N m"),  # of the controller's model: not measured
}
_FIRST_FRANKA: dict[str, tuple[str, str]] = {
    "q": ("position", "rad"),
    "dq": ("velocity", "rad/s"),
    "tau_J": ("torque", "N m"),
}
_FRANKA = {f"state.{name}": meaning for name, meaning in _FIRST_FRANKA.items()}

RECORDERS = (
    Known(
        "RTDE recording (ur_rtde or UR's client)", 6, "{}_{}", "timestamp", "s", _RTDE, ("current", "torque"),
        ("Record the output 'timestamp' too", "Record the output 'actual_q' too"), any_of=(*_RTDE, "target_q"),
        spaced="RTDE recording (UR's client)",
    ),
    Known("libfranka log", 7, "{}[{}]", "time", "ms", _FRANKA, ("torque",), _WHOLE, any_of=tuple(_FRANKA)),
    Known(
        "libfranka log", 7, "{}[{}]", "duration", "ms", _FIRST_FRANKA, ("torque",), _WHOLE,
        all_of=("duration", "sent commands"),
    ),
)  # fmt: skip


def recognise(path: Path) -> Recorded:
    """Return what a text file of a known recorder holds, its joints numbered.

    Raises LogError for another file, and where columns of the clock or of a joint are missing or there twice.
    """
    header, delimiter = _header(path)
    for known in RECORDERS:
        written = [known.column.format(variable, i) for variable in known.any_of for i in range(known.joints)]
        if set(header) >= set(known.all_of) and (not written or set(header) & set(written)):
            return _recorded(known, header, delimiter, path)
    fix = "RTDE (actual_q_0, timestamp) and libfranka (state.q[0], time) are known; describe others in a dataset.toml"
    problem = f"has the header of no known recorder: {', '.join(header[:12])[:200]}"
    raise LogError(problem, file=path, line=1, fix=fix)


def _header(path: Path) -> tuple[list[str], str]:
    """Return the names in the first line of a text file and their delimiter. Raises LogError when it is no text."""
    try:
        with path.open("rb") as stream:
            line = decoded(stream.readline(1 << 20))[0].strip()
    except UnicodeDecodeError:
        raise LogError("is not UTF-8 text", file=path, line=1, fix="Save it as UTF-8") from None
    except OSError as cause:
        raise LogError(f"cannot be read ({cause.strerror})", file=path) from None
    delimiter = next((mark for mark in (",", ";", "\t") if mark in line), " ")
    fields = line.split() if delimiter == " " else line.split(delimiter)
    return [field.strip().strip('"') for field in fields], delimiter


def _recorded(known: Known, header: Sequence[str], delimiter: str, path: Path) -> Recorded:
    clock, kind = known.clock, known.spaced if known.spaced and delimiter == " " else known.kind
    if header.count(clock) != 1:
        problem = f"column '{clock}', the clock, is {'twice' if clock in header else 'not there'}"
        raise LogError(problem, file=path, line=1, fix=known.fixes[0])
    channels = []
    for variable, (label, unit) in known.signals.items():
        columns = tuple(known.column.format(variable, i) for i in range(known.joints))
        there = [c for c in columns if c in header]
        for column in columns:
            if there and header.count(column) != 1:
                what = "twice" if column in there else "not there"
                raise LogError(f"column '{column}' is {what}", file=path, line=1, fix=f"It has: {', '.join(there)}")
        if there:
            channels.append(Channel(label, unit, columns))
        elif label == "position":
            raise LogError(f"has no {columns[0]} ... {columns[-1]}", file=path, line=1, fix=known.fixes[1])
    torque = next((label for label in known.torque if label in [c.label for c in channels]), None)
    used = {clock, *(column for channel in channels for column in channel.columns)}
    unused = tuple(column for column in header if column not in used)
    return Recorded(
        path, kind, channels[0].columns, tuple(f"joint{i}" for i in range(1, known.joints + 1)), clock,
        known.clock_unit, tuple(channels), torque, unused, text=TextFormat(delimiter, True),
    )  # fmt: skip
