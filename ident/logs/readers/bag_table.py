"""A bag as a table, in flat memory: the joint states of one topic, the joints called as they are there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ident.errors import LogError, need
from ident.files import whole_file
from ident.logs.readers import bag
from ident.logs.readers.formats import Chunk, rebatched
from ident.logs.readers.joint_state import ARRAYS

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
        seen, before = bag.Seen(self.joints, self.arrays), None
        for rows in bag.read_rows(self.path, self.path.name, self.topic, seen):
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
                raise self.refused(f"every {array} of '{self.joints[missing[0]]}' is NaN", bag.HOW[array])
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
    states = _states(path, bag.choose_topic(path, path.name, topic).name)
    states.survey()
    with whole_file(out) as temporary:
        _write(states, temporary)
    return out


def _states(path: Path, topic: str) -> _States:
    alike = [a for batch in islice(bag.batches(path, path.name, topic), FIRST) for a in batch]
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
