"""Text files whose header says who wrote them: the columns are found by name, wherever they stand.

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

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ident.errors import LogError
from ident.logs.manifest import Quantity, TextFormat


@dataclass(frozen=True)
class Channel:
    """One signal of all joints: its `label`, what it measures in which `unit`, and its column for each joint."""

    label: str
    quantity: Quantity
    unit: str
    columns: tuple[str, ...]


@dataclass(frozen=True)
class Recorder:
    """A file of a known recorder: how its text is written, its clock with its unit, and its signals.

    `channels`: position first; `torque` is the label of the one that is meant for torque, None where there is none.
    `unused`: the other columns, in the file's order.
    """

    kind: str
    text: TextFormat
    clock: str
    clock_unit: str
    channels: tuple[Channel, ...]
    torque: str | None
    unused: tuple[str, ...]


@dataclass(frozen=True)
class Known:
    """What a recorder writes, and how its header is told from others.

    `signals`: variable -> (label, quantity, unit), the position first; `column` makes a column's name of variable and
    joint. The header has `all_of` these names and, where there are such, `any_of` these variables. `torque`: labels
    that are meant for torque, the first that is there. `fixes`: what to do without the clock, without the position.
    `spaced`: its kind where blanks part the columns, if that is another.
    """

    kind: str
    joints: int
    column: str
    clock: str
    clock_unit: str
    signals: Mapping[str, tuple[str, Quantity, str]]
    torque: tuple[str, ...]
    fixes: tuple[str, str]
    any_of: tuple[str, ...] = ()
    all_of: tuple[str, ...] = ()
    spaced: str = ""


_WHOLE = ("Write the whole of logToCSV, its header included", "Write the whole of logToCSV")
_RTDE: dict[str, tuple[str, Quantity, str]] = {
    "actual_q": ("position", "position", "rad"),
    "actual_qd": ("velocity", "velocity", "rad/s"),
    "actual_current": ("current", "torque", "A"),
    "actual_current_as_torque": ("torque", "torque", "N m"),  # from PolyScope 5.23 and 10.11 on
    "target_moment": ("target_moment", "torque", "N m"),  # of the controller's model: not measured
}
_FIRST_FRANKA: dict[str, tuple[str, Quantity, str]] = {
    "q": ("position", "position", "rad"),
    "dq": ("velocity", "velocity", "rad/s"),
    "tau_J": ("torque", "torque", "N m"),
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


def recognise(path: Path, name: str) -> Recorder:
    """Return how a text file of a known recorder is read.

    Raises LogError for another file, and where columns of the clock or of a joint are missing or there twice.
    """
    header, delimiter = _header(path, name)
    for known in RECORDERS:
        written = [known.column.format(variable, i) for variable in known.any_of for i in range(known.joints)]
        if set(header) >= set(known.all_of) and (not written or set(header) & set(written)):
            return _recorder(known, header, delimiter, name)
    fix = "RTDE (actual_q_0, timestamp) and libfranka (state.q[0], time) are known; describe others in a dataset.toml"
    problem = f"has the header of no known recorder: {', '.join(header[:12])[:200]}"
    raise LogError(problem, file=path, line=1, fix=fix)


def _header(path: Path, name: str) -> tuple[list[str], str]:
    """Return the names in the first line of a text file and their delimiter. Raises LogError when it is no text."""
    try:
        with path.open("rb") as stream:
            line = stream.readline(1 << 20).removeprefix(b"\xef\xbb\xbf").decode("utf-8").strip()
    except UnicodeDecodeError:
        raise LogError("is not UTF-8 text", file=name, line=1, fix="Save it as UTF-8") from None
    except OSError as cause:
        raise LogError(f"cannot be read ({cause.strerror})", file=name) from None
    delimiter = next((mark for mark in (",", ";", "\t") if mark in line), " ")
    fields = line.split() if delimiter == " " else line.split(delimiter)
    return [field.strip().strip('"') for field in fields], delimiter


def _recorder(known: Known, header: Sequence[str], delimiter: str, name: str) -> Recorder:
    clock, kind = known.clock, known.spaced if known.spaced and delimiter == " " else known.kind
    if header.count(clock) != 1:
        problem = f"column '{clock}', the clock, is {'twice' if clock in header else 'not there'}"
        raise LogError(problem, file=name, line=1, fix=known.fixes[0])
    channels = []
    for variable, (label, quantity, unit) in known.signals.items():
        columns = tuple(known.column.format(variable, i) for i in range(known.joints))
        there = [c for c in columns if c in header]
        for column in columns:
            if there and header.count(column) != 1:
                what = "twice" if column in there else "not there"
                raise LogError(f"column '{column}' is {what}", file=name, line=1, fix=f"It has: {', '.join(there)}")
        if there:
            channels.append(Channel(label, quantity, unit, columns))
        elif label == "position":
            raise LogError(f"has no {columns[0]} ... {columns[-1]}", file=name, line=1, fix=known.fixes[1])
    torque = next((label for label in known.torque if label in [c.label for c in channels]), None)
    used = {clock, *(column for channel in channels for column in channel.columns)}
    unused = tuple(column for column in header if column not in used)
    return Recorder(kind, TextFormat(delimiter, True), clock, known.clock_unit, tuple(channels), torque, unused)
