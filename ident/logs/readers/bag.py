"""Bags: ROS 1, ROS 2 (SQLite or MCAP, one file or a folder), their topics and their JointState messages.

As a table, a topic has the columns `stamp` and `received` [ns] and, under the joints' names, those of the arrays
`position`, `velocity` and `effort`; a row is a message that carries every joint asked for, whatever the order in it.
ROS 2 bags are opened by the `rosbags` package, without ROS; ROS 1 bags by `bag1`.
"""

from __future__ import annotations

import contextlib
import difflib
import importlib
import struct
import sys
import zlib
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ident.arrays import Array
from ident.errors import LogError, nearest, need, plural, require_known
from ident.files import whole_file
from ident.logs.readers import bag1
from ident.logs.readers.formats import Chunk, Request, rebatched
from ident.logs.readers.joint_state import ARRAYS, Alike, decode

CLOCKS = ("stamp", "received")
JOINT_STATE = "sensor_msgs/msg/JointState"
DAMAGED = "Was the recording cut off? Record it again, or repair it ('ros2 bag reindex', 'mcap recover')"


@dataclass(frozen=True)
class Topic:
    """A topic of a bag: its type ("package/msg/Name") and how many messages the bag says it has."""

    name: str
    type: str
    messages: int


def topics(path: Path, name: str) -> tuple[Topic, ...]:
    """Return the topics of a bag. Raises LogError when it cannot be read."""
    if path.suffix.lower() == ".bag" and not path.is_dir():
        found, counts = _opened1(path, name)
        return _merged((c.topic, c.type.replace("/", "/msg/", 1), counts.get(c.number, 0)) for c in found)
    with _faults(name), _opened2(path, name) as reader:
        return _merged((c.topic, c.msgtype, c.msgcount) for c in reader.connections)


def choose_topic(path: Path, name: str, topic: str = "") -> Topic:
    """Return the named topic of JointState messages, or the only one. Raises LogError when that is not one."""
    there = topics(path, name)
    states = [t for t in there if t.type == JOINT_STATE]
    listed = ", ".join(f"{t.name} ({t.type})" for t in there[:20]) or "no topic"
    if topic:
        named = {t.name: t for t in there}
        require_known([topic], named, LogError, "there is no topic", file=name, fix=f"It has: {listed}")
        if named[topic].type != JOINT_STATE:
            raise LogError(f"topic '{topic}' is {named[topic].type}, wanted {JOINT_STATE}", file=name)
        return named[topic]
    if not states:
        raise LogError(f"has no topic of type {JOINT_STATE}", file=name, fix=f"It has: {listed}")
    if len(states) > 1:
        problem = f"has {len(states)} topics of joint states: {', '.join(t.name for t in states)}"
        fix = "Say which is meant: topic = '...' in the recording"
        raise LogError(problem, file=name, fix=fix)
    return states[0]


def batches(path: Path, name: str, topic: str) -> Iterator[list[Alike]]:
    """Yield the messages of a topic in batches, those laid out alike together. Raises LogError for a damaged bag."""
    if path.suffix.lower() == ".bag" and not path.is_dir():
        numbers = [c.number for c in _opened1(path, name)[0] if c.topic == topic]
        yield from decode(bag1.messages(path, name, numbers), 1, name, topic)
        return
    yield from decode(_messages2(path, name, topic), 2, name, topic)


def _messages2(path: Path, name: str, topic: str) -> Iterator[tuple[int, bytes]]:
    with _faults(name), _opened2(path, name) as reader:
        wanted = [c for c in reader.connections if c.topic == topic and c.msgtype == JOINT_STATE]
        for _, received, raw in reader.messages(wanted) if wanted else ():
            yield received, bytes(raw)


@dataclass(frozen=True, eq=False)
class Rows:
    """Consecutive rows: `number` (k,) of the message from 1 on, `clocks` name -> (k,) [ns], and `values` array ->
    (k, joints) in the order of the wanted joints."""

    number: np.ndarray
    clocks: dict[str, np.ndarray]
    values: dict[str, Array]


def read_rows(path: Path, name: str, topic: str, seen: Seen) -> Iterator[Rows]:
    """Yield the messages of a topic that carry what `seen` wants, in their order; the others are counted there."""
    for batch in batches(path, name, topic):
        parts = [(alike, at) for alike in batch if (at := seen.take(alike)) is not None]
        if not parts:
            continue
        number, stamp, received = (
            np.concatenate(x) for x in zip(*((a.number, a.stamps(), a.received) for a, _ in parts), strict=True)
        )
        order = np.argsort(number)
        values = {x: np.concatenate([a.values(x)[:, at] for a, at in parts])[order] for x in seen.arrays}
        yield Rows(number[order], {"stamp": stamp[order], "received": received[order]}, values)


def read_bag(request: Request) -> Iterator[dict[str, Chunk]]:
    """Yield the columns of a topic, (array, joint) or a clock, for the messages that carry all of their joints.

    Raises LogError for a joint that no message has, an array that is empty (or all NaN) in every message, a clock that
    does not increase (with the messages' numbers) or that is zero throughout.
    """
    return request.named(request.rebatched(_columns(request)))


def _columns(request: Request) -> Iterator[Chunk]:
    path, name = request.path, request.name
    chosen = choose_topic(path, name, request.topic).name
    wanted = [_wanted(name, *reference) for reference in request.columns]
    joints = tuple(dict.fromkeys(j for _, j in wanted if j))
    seen = Seen(joints, tuple(dict.fromkeys(a for a, j in wanted if j)))
    last: tuple[int, int] | None = None  # clock and number of the last row
    for rows in read_rows(path, name, chosen, seen):
        for clock, joint in wanted:
            if not joint:
                last = _require_increasing(rows.clocks[clock], rows.number, clock, last, name, chosen)
        yield [rows.values[x][:, joints.index(joint)] if joint else rows.clocks[x] for x, joint in wanted]
    seen.require_rows(name, chosen)


class Seen:
    """What the messages of a topic carried, against the joints and arrays that are wanted."""

    def __init__(self, joints: Sequence[str], arrays: Sequence[str]) -> None:
        self.joints, self.arrays = tuple(joints), tuple(arrays)
        self.messages = self.rows = self.partial = 0
        self.without = dict.fromkeys(self.arrays, 0)
        self.finite = dict.fromkeys(self.arrays, False)
        self.names: dict[str, int] = {}  # joint -> in how many messages

    def take(self, alike: Alike) -> list[int] | None:
        """Count the messages; return the places of the wanted joints in them, or None when they are no rows."""
        size, layout = len(alike.number), alike.layout
        self.messages += size
        for joint in layout.names:
            self.names[joint] = self.names.get(joint, 0) + size
        at = {joint: i for i, joint in enumerate(layout.names)}
        if any(joint not in at for joint in self.joints):
            self.partial += size
            return None
        missing = [a for a in self.arrays if not layout.has(a)]
        for array in missing:
            self.without[array] += size
        if missing:
            return None
        columns = [at[j] for j in self.joints]
        for array in self.arrays:
            self.finite[array] = self.finite[array] or not np.isnan(alike.values(array)[:, columns]).all()
        self.rows += size
        return columns

    def require_rows(self, name: str, topic: str) -> None:
        """Raise LogError, with the reason, when no message was a row."""

        def refused(problem: str, fix: str) -> LogError:
            return LogError(problem, file=name, key=topic, fix=fix)

        if self.messages == 0:
            raise refused("has no messages", "Record it again, or name another topic")
        for joint in self.joints:
            if joint not in self.names:
                near = _near_joint(joint, self.names)
                raise refused(f"no message has the joint '{joint}'{near}", f"It has: {', '.join(self.names)}")
        if self.partial == self.messages:
            problem = f"no message carries all of {', '.join(self.joints)} together"
            raise refused(problem, "Record the topic on which the whole arm is published")
        for array in self.arrays:
            if self.rows == 0 and self.without[array]:
                raise refused(f"the messages carry no {array}", HOW[array])
            if self.rows and not self.finite[array]:
                raise refused(f"every {array} in the messages is NaN", HOW[array])


#: What to do where an array is missing.
HOW = {
    "effort": "Torque (or current) must be recorded: have the driver publish effort, or take torque from another file",
    "position": "Record a topic with positions",
    "velocity": "Leave velocity out of the manifest: it is then the derivative of the position",
}


def _near_joint(joint: str, there: Collection[str]) -> str:
    """Return the nearest names, also those that differ by a prefix of the robot's name only."""
    close = difflib.get_close_matches(joint, list(there), n=3, cutoff=0.5)
    close += [j for j in there if j not in close and (j.endswith(joint) or joint.endswith(j))]
    return f"; did you mean {' or '.join(repr(c) for c in close)}?" if close else ""


def _wanted(name: str, array: str | None, column: int | str | None) -> tuple[str, str]:
    """Return (array, joint), or (clock, "")."""
    if array is None and column in CLOCKS:
        return str(column), ""
    if array in CLOCKS and column is None:
        return str(array), ""
    if array in ARRAYS and isinstance(column, str):
        return str(array), column
    shown = array if array is not None else column
    problem = f"is a bag and has no column '{shown}'{nearest(str(shown), (*CLOCKS, *ARRAYS))}"
    fix = "Give array = 'stamp' or 'received' for time, 'position', 'velocity' or 'effort' for joints"
    raise LogError(problem, file=name, fix=f"{fix}, and joints' names as columns")


def _require_increasing(
    values: np.ndarray, number: np.ndarray, clock: str, last: tuple[int, int] | None, name: str, topic: str
) -> tuple[int, int]:
    """Return clock and number of the last row. Raises LogError where the clock does not increase."""
    if last is not None:
        values, number = np.append(last[0], values), np.append(last[1], number)
    if clock == "stamp" and not values.any():
        problem = "the header stamps are all 0"
        raise LogError(problem, file=name, key=topic, fix="Take the time of arrival: array = 'received'")
    back = np.flatnonzero(np.diff(values) <= 0)
    if len(back):
        i = int(back[0])
        step = float(values[i] - values[i + 1]) / 1e9
        what = f"jumps back by {step:.6g} s" if step > 0 else "repeats"
        more = f", and {plural(len(back) - 1, 'time')} soon after" if len(back) > 1 else ""
        problem = f"the clock '{clock}' {what} between messages {number[i]} and {number[i + 1]}{more}"
        fix = "Cut a jump out with rows = [first, last], or take the other clock; `ident init` drops repeats"
        raise LogError(problem, file=name, key=topic, fix=fix)
    return int(values[-1]), int(number[-1])


# A bag as a table, in flat memory: the joint states of one topic, the joints called as they are there ---------------

FIRST = 16  # batches of messages from which joints and arrays are taken
FEWEST = 3  # rows
WRITTEN = 65_536  # written together
_NEEDED = ("position", "effort")


@dataclass
class _States:
    """Joint states of a topic: joints and arrays that they have, and which clock; finite: whether each is a number."""

    path: Path
    topic: str
    joints: tuple[str, ...]
    arrays: list[str]
    clock: str
    finite: NDArray[np.bool_]
    rows: int = 0

    def refused(self, problem: str, fix: str | None = None) -> LogError:
        return LogError(problem, file=self.path.name, key=self.topic, fix=fix)

    def parts(self) -> Iterator[tuple[NDArray[np.int64], list[NDArray[np.float64]]]]:
        """Yield clock (N,) [ns] and arrays (N, joints), without messages that repeat the clock of the one before."""
        seen, before = Seen(self.joints, self.arrays), None
        for rows in read_rows(self.path, self.path.name, self.topic, seen):
            t = rows.clocks[self.clock]
            if self.clock == "received" and rows.clocks["stamp"].any():
                number = rows.number[np.flatnonzero(rows.clocks["stamp"])[0]]
                raise self.refused(f"the header stamps are 0 up to message {number - 1} only")
            step = np.diff(t, prepend=t[0] - 1 if before is None else before)
            if (back := np.flatnonzero(step < 0)).size:
                jump = f"jumps back by {-step[back[0]] / 1e9:.6g} s at message {rows.number[back[0]]}"
                fix = "Cut the recording there; nothing is reordered silently"
                raise self.refused(f"the clock '{self.clock}' {jump}", fix)
            before, new = t[-1], step > 0
            yield t[new], [rows.values[array][new] for array in self.arrays]
        seen.require_rows(self.path.name, self.topic)

    def survey(self) -> None:
        """Read all once, and raise LogError where there is no table to be made."""
        for t, values in self.parts():
            self.rows += len(t)
            self.finite |= np.array([np.isfinite(x).any(axis=0) for x in values])
        for array in _NEEDED:
            if (missing := np.flatnonzero(~self.finite[self.arrays.index(array)])).size:
                raise self.refused(f"every {array} of '{self.joints[missing[0]]}' is NaN", HOW[array])
        if self.rows < FEWEST:
            raise self.refused(f"has fewer than {FEWEST} rows")


def as_table(path: Path, out: Path, topic: str = "") -> Path:
    """Write a bag as a table (.parquet): `time` [ns], then `position.JOINT`, `velocity.JOINT` and `effort.JOINT`.

    topic: of sensor_msgs/JointState, where it has several. Joints are those that most of its first messages name, and
    messages without one of them are left out. Time is the header's, or that of arrival where all headers say 0.
    Messages that repeat the clock of the one before are left out. Raises LogError where `out` is there, for damaged
    bags, a clock that jumps back, and where no joint's position or effort is recorded.
    """
    if out.exists():
        raise LogError("is there already, and is not overwritten", file=out, fix=f"Remove it, or give it for {path}")
    states = _states(path, choose_topic(path, path.name, topic).name)
    states.survey()
    with whole_file(out) as temporary:
        _write(states, temporary)
    return out


def _states(path: Path, topic: str) -> _States:
    alike = [a for batch in islice(batches(path, path.name, topic), FIRST) for a in batch]
    names = Counter[tuple[str, ...]]()
    for a in alike:
        names[a.layout.names] += len(a.number)
    joints = max(names, key=lambda n: names[n]) if names else ()
    if not joints:
        problem = "its messages name no joints" if names else "has no messages"
        raise LogError(problem, file=path.name, key=topic, fix="Record it again, or name another topic")
    whole = [a for a in alike if set(joints) <= set(a.layout.names)]
    arrays = [x for x in ARRAYS if x in _NEEDED or any(a.layout.has(x) for a in whole)]
    clock = "stamp" if any(a.stamps().any() for a in alike) else "received"
    return _States(path, topic, joints, arrays, clock, np.zeros((len(arrays), len(joints)), bool))


def _write(states: _States, path: Path) -> None:
    need("pyarrow")
    import pyarrow as pa
    import pyarrow.parquet

    used = [k for k, finite in enumerate(states.finite) if finite.all()]
    names = ["time", *(f"{states.arrays[k]}.{joint}" for k in used for joint in states.joints)]
    schema = pa.schema([(name, pa.float64() if k else pa.int64()) for k, name in enumerate(names)])
    columns: Iterator[Chunk] = ([t, *(x for k in used for x in values[k].T)] for t, values in states.parts())
    with pyarrow.parquet.ParquetWriter(path, schema) as writer:
        for part in rebatched(columns, WRITTEN):
            writer.write_table(pa.table(list(part), schema=schema))


# Opening --------------------------------------------------------------------------------------------------------------


def _merged(found: Any) -> tuple[Topic, ...]:
    """Return one topic for all of its publishers."""
    merged: dict[str, Topic] = {}
    for topic, kind, count in found:
        before = merged.get(topic)
        merged[topic] = Topic(topic, kind, count + (before.messages if before else 0))
    return tuple(merged[t] for t in sorted(merged))


def _opened1(path: Path, name: str) -> tuple[tuple[bag1.Connection1, ...], dict[int, int]]:
    found, counts = bag1.connections(path, name)
    for c in found:
        if c.type == "sensor_msgs/JointState" and c.md5 not in (bag1.MD5, "*"):
            raise LogError(f"topic '{c.topic}' is a JointState of another definition ({c.md5[:40]})", file=name)
    return found, counts


def _opened2(path: Path, name: str) -> Any:
    from rosbags.rosbag2 import Reader

    for file in path.iterdir() if path.is_dir() else [path]:
        if file.suffix.lower() == ".db3":
            _require_whole(file, name)
    return Reader(path)


def _require_whole(path: Path, name: str) -> None:
    """Raise LogError when an SQLite file is shorter than its header says: SQLite would read zeros for the rest.

    The header (sqlite.org/fileformat.html, 1.3) holds the size of a page at byte 16 (1: 65536) and the number of pages
    at 28, which counts when the change counter at 24 and the one for which it is valid at 92 agree.
    """
    with path.open("rb") as stream:
        header = stream.read(100)
    if len(header) == 100 and header[24:28] == header[92:96]:
        page, pages = int.from_bytes(header[16:18], "big"), int.from_bytes(header[28:32], "big")
        whole, size = (65536 if page == 1 else page) * pages, path.stat().st_size
        if size < whole:
            raise LogError(f"is cut off: {size} bytes of {whole} are there", file=name, fix=DAMAGED)


@contextlib.contextmanager
def _faults(name: str) -> Iterator[None]:
    """Turn what `rosbags` and the packages below it raise for damaged files into one sentence."""
    need("rosbags")
    import apsw
    from rosbags.rosbag2 import ReaderError

    zstd = importlib.import_module("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd")
    damaged = (
        ReaderError, apsw.Error, zstd.ZstdError, OSError, EOFError, RuntimeError, MemoryError, struct.error, zlib.error,
        KeyError, IndexError, ValueError, TypeError, AttributeError, AssertionError, OverflowError,
    )  # fmt: skip
    try:
        yield
    except LogError:
        raise
    except damaged as cause:
        said = " ".join(str(cause).split()).rpartition(": ")[2]
        said = f" ({said[:120].rstrip('.')})" if isinstance(cause, ReaderError) and said and "/" not in said else ""
        raise LogError(f"cannot be read as a ROS 2 bag{said}", file=name, fix=DAMAGED) from None
