"""Text files whose header says who wrote them: the columns are found by name, wherever they stand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ident.errors import LogError
from ident.logs.manifest import TextFormat
from ident.logs.units import Quantity


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


def read_header(path: Path, name: str) -> tuple[list[str], str]:
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


def find_channels(
    header: Sequence[str], known: Mapping[str, tuple[str, Quantity, str]], pattern: str, joints: int, name: str
) -> tuple[Channel, ...]:
    """Return the known signals that the header has; `known`: variable -> (label, quantity, unit).

    `pattern` makes a column's name of variable and joint, such as "{}_{}". Raises LogError when some of a signal's
    columns are missing or one is there twice.
    """
    channels = []
    for variable, (label, quantity, unit) in known.items():
        columns = tuple(pattern.format(variable, i) for i in range(joints))
        there = [c for c in columns if c in header]
        for column in columns:
            if there and header.count(column) != 1:
                what = "twice" if column in there else "not there"
                raise LogError(f"column '{column}' is {what}", file=name, line=1, fix=f"It has: {', '.join(there)}")
        if there:
            channels.append(Channel(label, quantity, unit, columns))
    return tuple(channels)


def require_clock(header: Sequence[str], clock: str, name: str, fix: str) -> None:
    """Raise LogError unless the header has the clock, once."""
    if header.count(clock) != 1:
        what = "twice" if clock in header else "not there"
        raise LogError(f"column '{clock}', the clock, is {what}", file=name, line=1, fix=fix)


def unused(header: Sequence[str], clock: str, channels: Sequence[Channel]) -> tuple[str, ...]:
    """Return the columns that no signal uses."""
    used = {clock} | {column for channel in channels for column in channel.columns}
    return tuple(column for column in header if column not in used)
