"""Recordings without a manifest, in flat memory: what they hold, and the table and manifest made of them.

What they hold: duration, rate, joints, signals, and where the clock is odd, in one pass.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ident.errors import LogError, need, plural
from ident.files import whole_file, write_whole
from ident.logs.check import GAP
from ident.logs.manifest import si_factor
from ident.logs.readers import bag
from ident.logs.readers.formats import is_bag, rebatched
from ident.logs.readers.recorded import Recorded, joint_units, open_recorded, parts
from ident.logs.readings import BREAK_S
from ident.robot import Robot
from ident.tell import Tell, logged

LISTED = 20  # places that are listed of each kind; all are counted
WHOLE = 0.15  # a gap this near to a whole number of usual steps lost messages
ENDINGS = (".parquet", ".csv")
WRITTEN = 65_536  # written together


def _step(step: float) -> str:
    return f"{step * 1e3:.4g} ms" if abs(step) < 1 else f"{step:.6g} s"


@dataclass(frozen=True)
class Places:
    """Where something is odd: how often, and the first of them as (message or row from 1 on, step to it [s])."""

    count: int = 0
    first: tuple[tuple[int, float], ...] = ()

    def __str__(self) -> str:
        text = ", ".join(f"{number} ({_step(step)})" for number, step in self.first[:5])
        more = self.count - len(self.first[:5])
        return text + (f" and {more} more" if more > 0 else "")

    def and_at(self, here: np.ndarray, step: np.ndarray, number: np.ndarray) -> Places:
        """Return these places and those where `here` holds."""
        more = np.flatnonzero(here)[: LISTED - len(self.first)].tolist()
        return Places(self.count + int(here.sum()), self.first + tuple((int(number[i]), float(step[i])) for i in more))


@dataclass
class Steps:
    """The steps of a clock, counted part by part.

    `usual` (the median step of the beginning) and `elapsed` in s. `lost`: messages missing in gaps of a whole number of
    steps. `gaps`, `repeats` (of the clock), `jumps` (of the clock, back).
    """

    unit: float
    usual: float | None = None
    elapsed: float = 0.0
    lost: int = 0
    counts: Counter[int] = field(default_factory=Counter)
    gaps: Places = Places()
    repeats: Places = Places()
    jumps: Places = Places()
    _last: np.ndarray | None = None

    @property
    def histogram(self) -> tuple[tuple[float, int], ...]:
        """(step [s], how often), most frequent first, the step rounded to 1 % of the usual one."""
        return tuple((value / 100 * (self.usual or 0.0), count) for value, count in self.counts.most_common())

    def add(self, clock: np.ndarray, number: np.ndarray) -> None:
        """Count the steps to these rows; `number` says where they are."""
        if self._last is not None:
            clock = np.concatenate([self._last, clock])
        else:
            number = number[1:]
        self._last = clock[-1:]
        step = np.diff(clock) * self.unit  # whole ticks are subtracted before they become seconds
        self.elapsed += float(step.sum())
        onward = step > 0
        if self.usual is None and onward.any():
            self.usual = float(np.median(step[onward]))
        self.jumps = self.jumps.and_at(step < 0, step, number)
        self.repeats = self.repeats.and_at(step == 0, step, number)
        if self.usual is not None:
            ratio = np.clip(step / self.usual, -1e9, 1e9)
            values, counts = np.unique(np.round(ratio * 100).astype(np.int64), return_counts=True)
            self.counts.update(dict(zip(values.tolist(), counts.tolist(), strict=True)))
            wide = ratio > GAP
            self.gaps = self.gaps.and_at(wide, step, number)
            whole = wide & (np.abs(ratio - np.round(ratio)) < WHOLE)
            self.lost += int((np.round(ratio[whole]) - 1).sum())


@dataclass(frozen=True)
class LogInfo:
    """A recording at a glance.

    `seen`: of the messages of the topic (rows of a text file), how many there are, how many carry all joints and arrays
    and what the others lack. `steps` of its clock. `nan`: label -> rows that hold NaN, per joint. `topics` of a bag.
    """

    recorded: Recorded
    topics: tuple[bag.Topic, ...]
    seen: bag.Seen
    steps: Steps
    nan: dict[str, tuple[int, ...]]

    @property
    def rate_hz(self) -> float | None:
        """Mean rate [Hz] of the rows whose clock goes on; None with fewer than two."""
        rows = self.seen.rows - self.steps.repeats.count
        return (rows - 1) / self.steps.elapsed if rows > 1 and self.steps.elapsed > 0 else None

    @property
    def usable(self) -> tuple[str, ...]:
        """The labels of the signals that hold numbers, for every joint."""
        return tuple(c.label for c in self.recorded.channels if max(self.nan[c.label]) < self.seen.rows)

    def holes(self, label: str) -> str:
        """Return a sentence on where a signal is NaN, or "" where it is not."""
        if self.seen.rows and min(self.nan[label]) == self.seen.rows:
            return f"{label} is NaN in every row"
        found = [
            f"of '{joint}' in {'every row' if count == self.seen.rows else plural(count, 'row')}"
            for joint, count in zip(self.recorded.named, self.nan[label], strict=True)
            if count
        ]
        return f"{label} is NaN, {', '.join(found)}" if found else ""

    def sentences(self) -> tuple[str, ...]:
        """What a user should know before using the recording."""
        r, steps, said = self.recorded, self.steps, list[str]()
        row = "message" if r.topic else "row"
        announced = next((t.messages for t in self.topics if t.name == r.topic), self.seen.messages)
        if announced != self.seen.messages:
            said.append(f"the bag's index lists {plural(announced, 'message')}, {self.seen.messages} are there")
        if r.clock == "received":
            said.append("every header stamp is 0: time is the bag's time of arrival, which jitters")
        if self.seen.partial:
            said.append(f"{plural(self.seen.partial, 'message')} skipped: not all of {', '.join(r.joints)} in them")
        for label, count in self.seen.without.items():
            if count:
                said.append(f"{plural(count, 'message')} skipped: no {label} in them")
        if r.ignored:
            shown = ", ".join(r.ignored[:30]) + (f" and {len(r.ignored) - 30} more" if len(r.ignored) > 30 else "")
            said.append(f"{'joints' if r.topic else 'columns'} not used: {shown}")
        said += [holes for label in self.nan if (holes := self.holes(label))]
        if r.torque is None or r.torque not in self.usable:
            what = "effort" if r.topic else "current or torque"
            said.append(f"no {what} is recorded: nothing can be identified from it alone")
        if steps.lost:
            said.append(f"{plural(steps.lost, row)} lost, by the steps of the clock")
        if steps.gaps.count:
            said.append(f"{plural(steps.gaps.count, 'gap')} before {row} {steps.gaps}")
            if max(step for _, step in steps.gaps.first) > BREAK_S:
                said.append(
                    "so long a gap is a pause, or a clock that was set forward: give its sides as two recordings"
                )
        if steps.repeats.count:
            said.append(f"the clock repeats {plural(steps.repeats.count, 'time')}, at {row} {steps.repeats}")
        if steps.jumps.count:
            said.append(f"the clock jumps back {plural(steps.jumps.count, 'time')}, at {row} {steps.jumps}")
        return tuple(said)


def log_info(
    path: str | Path, *, topic: str = "", joints: Sequence[str] = (), robot: Robot | None = None, tell: Tell = logged
) -> LogInfo:
    """Return what a bag, an RTDE recording or a libfranka log holds; see `open_recorded`.

    The whole file is read once. Raises LogError for files that are damaged or of another kind, and for joints that are
    not in it (with the nearest names).
    """
    path = Path(path)
    topics = bag.topics(path, path.name) if path.exists() and is_bag(path) else ()
    recorded = open_recorded(path, topic=topic, joints=joints, robot=robot)
    total = next((t.messages for t in topics if t.name == recorded.topic), 0)
    seen, steps = recorded.seen(), Steps(si_factor(recorded.clock_unit, "time"))
    nan = {c.label: np.zeros(len(recorded.named), dtype=np.int64) for c in recorded.channels}
    for part in parts(recorded, seen):
        steps.add(part.clocks[recorded.clock], part.number)
        for label, values in part.values.items():
            nan[label] += (~np.isfinite(values)).sum(axis=0)
        tell(f"reading {path.name}", seen.messages, max(total, seen.messages))
    if seen.rows == 0:
        seen.require_rows(path.name, recorded.topic)
        raise LogError("has no rows", file=path, fix="Record it again, or name another file")
    return LogInfo(recorded, topics, seen, steps, {label: tuple(counts.tolist()) for label, counts in nan.items()})


@dataclass(frozen=True)
class Converted:
    """A table that was written: its path, that of its manifest and the manifest's text, rows written and dropped."""

    path: Path
    manifest: Path
    stanza: str
    rows: int
    dropped: int
    info: LogInfo


def convert(
    path: str | Path,
    out: str | Path,
    *,
    topic: str = "",
    joints: Sequence[str] = (),
    robot: Robot | None = None,
    tell: Tell = logged,
) -> Converted:
    """Write a recording as a table (.parquet or .csv) and, beside it, the manifest (.toml) that reads it.

    Columns: `time` as the recording's own clock, then `LABEL.JOINT`. Numbers are those of the recording. Rows whose
    clock repeats the row before are dropped and counted. Raises LogError, before anything is written, for a recording
    without position or without effort (torque, current), for a clock that jumps back (with the messages' numbers), a
    manifest that is there already, and all that `log_info` refuses.
    """
    path, out = Path(path), Path(out)
    manifest = out.with_suffix(".toml")
    if out.suffix not in ENDINGS:
        raise LogError(f"ends in '{out.suffix}'", file=out, fix=f"Choose one of {', '.join(ENDINGS)}")
    if out.resolve() == path.resolve():
        raise LogError("would be written over itself", file=out, fix="Give another --out")
    if manifest.exists():
        raise LogError("is there already, perhaps with your gains in it", file=manifest, fix="Remove it, or give"
                       " another --out")  # fmt: skip
    info = log_info(path, topic=topic, joints=joints, robot=robot, tell=tell)
    with whole_file(out) as temporary:
        dropped = _written(info, temporary, out.suffix, tell)
        text = stanza(info, out.name, robot, dropped)
        write_whole(manifest, text)
    return Converted(out, manifest, text, info.seen.rows - dropped, dropped, info)


def as_table(path: Path, out: Path) -> Path:
    """Write a recording as a table alone, as `convert` does; raise LogError as that, or where `out` is there."""
    if out.exists():
        raise LogError("is there already, and is not overwritten", file=out, fix=f"Remove it, or give it for {path}")
    info = log_info(path)
    with whole_file(out) as temporary:
        _written(info, temporary, out.suffix, logged)
    return out


def _written(info: LogInfo, path: Path, ending: str, tell: Tell) -> int:
    """Write the table of a recording that can be used; return how many rows are dropped."""
    _require_usable(info)
    return _write(info, path, ending, tell)


def _require_usable(info: LogInfo) -> None:
    r = info.recorded
    where = r.topic or None
    for label in ("position", r.torque):
        if label is None or label not in info.usable:
            what = label or ("effort" if r.topic else "current and no torque")
            problem = info.holes(label) if label else f"carries no {what}"
            wanted = "Positions" if label == "position" else "Torque or current"
            raise LogError(problem, file=r.name, key=where, fix=f"{wanted} must be recorded for every joint")
    if info.steps.jumps.count:
        row = "message" if r.topic else "row"
        raise LogError(
            f"the clock '{r.clock}' jumps back {plural(info.steps.jumps.count, 'time')}, at {row} {info.steps.jumps}",
            file=r.name,
            key=where,
            fix="Cut the recording there; nothing is reordered silently",
        )
    if info.seen.rows - info.steps.repeats.count < 3:
        raise LogError("has fewer than 3 rows", file=r.name, key=where)


def stanza(info: LogInfo, table: str, robot: Robot | None = None, dropped: int = 0) -> str:
    """Return the text of a manifest that reads the converted `table`, units declared."""
    r = info.recorded
    stem = re.sub(r"[^A-Za-z0-9._+-]+", "_", Path(table).stem).lstrip("._+-")[:100] or "log"
    note = f"clock: {r.clock}"
    if dropped:
        note += f"; {plural(dropped, 'row')} dropped whose clock repeats"
    where = f", topic {r.topic}" if r.topic else ""
    lines = [
        "[dataset]",
        f"name = {_quoted(stem)}",
        f"source = {_quoted(f'{r.name} ({r.kind}{where})')}",
        f"note = {_quoted(note)}",
        "",
        "[signals]",
        f'time = {{ column = "time", unit = "{r.clock_unit}" }}',
    ]
    quantities = {"position": "position", "velocity": "velocity", r.torque: "torque"}
    for channel in r.channels:
        if channel.label not in info.usable:
            continue
        units = joint_units(channel, robot)
        unit = _quoted(units[0]) if len(set(units)) == 1 else f"[{', '.join(_quoted(u) for u in units)}]"
        columns = ", ".join(_quoted(f"{channel.label}.{joint}") for joint in r.named)
        quantity = quantities.get(channel.label)
        if channel.unit == "A" and quantity:
            lines.append("# add gain = [...], in N m per A, one per joint and with its sign; it can be identified, too")
            lines.append(f"torque = {{ columns = [{columns}], unit = {unit} }}")
        elif quantity:
            if channel.label == "effort":
                lines.append("# some drivers publish motor current as effort: then unit = 'A' and gain = [N m per A]")
            lines.append(f"{quantity} = {{ columns = [{columns}], unit = {unit} }}")
        else:
            lines.append(f"# also there, in {channel.unit}: {columns}")
    lines += ["", "[[recording]]", f"name = {_quoted(stem)}", f"file = {_quoted(table)}", ""]
    return "\n".join(lines)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _write(info: LogInfo, path: Path, ending: str, tell: Tell) -> int:
    """Write the table; return how many rows were dropped because their clock repeats."""
    need("pyarrow")
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    r, seen = info.recorded, info.recorded.seen()
    labels = [c.label for c in r.channels if c.label in info.usable]
    names = ["time", *(f"{label}.{joint}" for label in labels for joint in r.named)]
    kind = pyarrow.parquet.ParquetWriter if ending == ".parquet" else pyarrow.csv.CSVWriter
    columns = ([p.clocks[r.clock], *(x for label in labels for x in p.values[label].T)] for p in parts(r, seen))
    writer: Any = None
    last: Any = None
    dropped = 0
    try:
        for clock, *values in rebatched(columns, WRITTEN):
            new = clock > np.append(clock[0] - 1 if last is None else last, clock[:-1])
            last = clock[-1]
            dropped += int((~new).sum())
            table = pa.table([x[new] for x in (clock, *values)], names=names)
            writer = writer or kind(path, table.schema)
            writer.write_table(table)
            tell(f"writing {r.name}", seen.messages, max(info.seen.messages, seen.messages))
    finally:
        if writer is not None:
            writer.close()
    return dropped
