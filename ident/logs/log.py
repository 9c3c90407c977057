"""Log: one recording as measured, on the joint side and in SI units; nothing filtered, nothing repaired."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import inf, isfinite, pi
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ident.arrays import Array
from ident.errors import LogError, plural
from ident.files import file_sha256
from ident.logs.manifest import DATES, RAW, Manifest, Recording, Signal, kind_of, si_factor
from ident.logs.readers import formats
from ident.logs.readers.formats import EVERYTHING, Chunk, Reference, Request, is_bag, locate, read_chunks, seconds
from ident.logs.readings import continued, left_out
from ident.robot import Robot
from ident.shown import shows

LARGEST = 1e12  # s, rad, m, N m: beyond it nothing is a measurement, and sums of squares lose their meaning
SHORTEST = 1e-9  # s between two rows


@dataclass(frozen=True)
class Source:
    """A file that a log was read from: its name in the data set and the SHA-256 of its content."""

    file: str
    sha256: str


@shows
@dataclass(frozen=True, eq=False)
class Log:
    """One recording as measured.

    t (N,) [s] from the recording's first row on; q, qd (N, n) [rad, rad/s] ([m, m/s] for prismatic joints), qd None
    where it was not measured; tau (N, n) [N m] ([N]) on the joint side; temperature (N, n) [degC], None likewise.
    `first_row` is the row of the file (1-based, header not counted) of the first sample and `first_line` its line in a
    text file; `clock` [s] the file's own time at t = 0. `margin`: this many rows at the start and at the end are shared
    with the neighbouring parts of a streamed recording. `notes`: how the files were read, where that is not obvious.
    `passive`: joints without motor, whose torque has gain 0; `unknown`: those whose torque is not known (gain nan), of
    whom no row counts. `numbers` (N,): the rows of the file where rows were left
    out, None where they follow one another. Raises LogError, with the rows, for numbers that are not finite, for time
    that does not increase, and for shapes that do not fit.
    """

    name: str
    t: Array
    q: Array
    tau: Array
    qd: Array | None = None
    joints: tuple[str, ...] = ()
    first_row: int = 1
    first_line: int | None = None
    clock: float = 0.0
    sources: tuple[Source, ...] = ()
    margin: tuple[int, int] = (0, 0)
    notes: tuple[str, ...] = ()
    passive: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    numbers: np.ndarray | None = None
    temperature: Array | None = None

    def __post_init__(self) -> None:
        q = np.asarray(self.q)
        if q.ndim != 2 or 0 in q.shape:
            raise LogError(f"q must have shape (samples, joints), got {q.shape}", key=self.name)
        joints = tuple(self.joints) or tuple(f"joint {i}" for i in range(1, q.shape[1] + 1))
        if len(joints) != q.shape[1]:
            raise LogError(f"has {q.shape[1]} columns for {len(joints)} joints", key=self.name)
        object.__setattr__(self, "joints", joints)
        for what in ("t", "q", "qd", "tau", "temperature"):
            value, shape = getattr(self, what), q.shape[:1] if what == "t" else q.shape
            if value is not None or what not in ("qd", "temperature"):
                object.__setattr__(self, what, self._checked(what, value, shape))
        stuck = np.flatnonzero(np.diff(self.t) < SHORTEST)
        if len(stuck):
            at, again = int(stuck[0]), (np.diff(self.t)[stuck] == 0.0).all()
            twice = ", or leave out what was logged twice (drop_repeated = true in its [[recording]])" if again else ""
            fix = f"Correct the time stamps or cut the rows out{twice}; nothing is reordered silently"
            if 2 * len(stuck) > len(self.t):  # without these rows hardly any would be left
                fix = "These are no time stamps: name another column, or give the rate, time = { rate_hz = ... }"
            raise LogError(
                f"does not increase at {self.where(stuck + 1)}: {self.t[at + 1] + self.clock:.12g} s after"
                f" {self.t[at] + self.clock:.12g} s",
                file=self.file,
                key="time",
                fix=fix,
            )

    def _checked(self, what: str, value: ArrayLike, shape: tuple[int, ...]) -> Array:
        try:
            array = np.array(value, dtype=np.float64, order="F")  # joints are looked at one by one
        except (TypeError, ValueError):
            raise LogError(f"{what} must be numbers", key=self.name) from None
        if array.shape != shape:
            raise LogError(f"{what} must have shape {shape}, got {array.shape}", key=self.name)
        bad = ~(np.abs(array.reshape(len(array), -1)) < LARGEST)
        if bad.any():
            column = int(np.flatnonzero(bad.any(axis=0))[0])
            label = {"t": "time", "q": "position", "qd": "velocity", "tau": "torque"}.get(what, what)
            finite = np.isfinite(array.reshape(len(array), -1)[:, column]).all()
            raise LogError(
                f"{f'beyond {LARGEST:g}' if finite else 'no finite number'} at"
                f" {self.where(np.flatnonzero(bad[:, column]))}",
                file=self.file,
                key=label if what == "t" else f"{label} of {self.joints[column]}",
                fix="Correct the file, cut the rows out with rows = [first, last], or leave out single ones"
                " (drop_missing = true in its [[recording]]); nothing is filled in silently",
            )
        array.setflags(write=False)
        return array

    @property
    def n(self) -> int:
        """Number of joints."""
        return int(self.q.shape[1])

    @property
    def file(self) -> str | None:
        """The recording's own file, or None for a log that was not read from one."""
        return self.sources[0].file if self.sources else None

    @property
    def sha256(self) -> str | None:
        """The SHA-256 of the content of that file."""
        return self.sources[0].sha256 if self.sources else None

    @property
    def rate_hz(self) -> float:
        """Mean sampling rate [Hz]."""
        if len(self.t) < 2:
            raise LogError("has one row only", file=self.file, key=self.name)
        return float((len(self.t) - 1) / (self.t[-1] - self.t[0]))

    @property
    def numbered(self) -> np.ndarray:
        """The row of the file (N,), 1-based, of each sample."""
        return np.arange(len(self.t)) + self.first_row if self.numbers is None else self.numbers

    def rows(self, samples: ArrayLike) -> tuple[int, ...]:
        """Return the rows of the file (1-based) of samples counted from 0."""
        at = np.atleast_1d(np.asarray(samples, dtype=np.int64))
        return tuple((at + self.first_row if self.numbers is None else self.numbers[at]).tolist())

    def each(self, change: Callable[[np.ndarray], np.ndarray]) -> dict[str, Any]:
        """Return by name what `change` makes of everything that has a number, or some, for each sample."""
        samples = {name: getattr(self, name) for name in ("t", "q", "tau", "qd", "numbers", "temperature")}
        return {name: change(x) for name, x in samples.items() if x is not None}

    def where(self, samples: ArrayLike) -> str:
        """Return the rows of the file, and the line of the first one, as text for a message."""
        rows = self.rows(samples)
        line = "" if self.first_line is None else f" (line {rows[0] - self.first_row + self.first_line})"
        return f"row {rows[0]}{line}" if len(rows) == 1 else f"{len(rows)} rows: {spans(rows)}"


def spans(rows: Sequence[int], most: int = 6) -> str:
    """Return ascending row numbers as text: "3, 7-9 and 12 more"."""
    runs = np.split(np.asarray(rows), np.flatnonzero(np.diff(rows) != 1) + 1)
    text = ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs[:most])
    left = sum(map(len, runs[most:]))
    return f"{text} and {left} more" if left else text


def read_log(manifest: Manifest, recording: str, robot: Robot) -> Log:
    """Read one recording of a data set, its columns in the order of the robot's joints.

    Signals of side "motor" go through the robot's transmission: q = R^-1 q_motor, qd = R^-1 qd_motor,
    tau = R^T tau_motor; then the position offsets are added. Raises LogError (see `Log`, `read_chunks`, `locate`), also
    for a number of columns that is not the robot's, units that do not fit a joint's kind, and a motor side without a
    transmission.
    """
    (log,) = read_parts(manifest, recording, robot, EVERYTHING)
    return log


def read_parts(
    manifest: Manifest, recording: str, robot: Robot, rows: int, within: tuple[int, int] | None = None
) -> Iterator[Log]:
    """Yield a recording in consecutive logs of `rows` rows (the last one shorter), as `read_log` would read it.

    within: only these of its rows (start, stop), counted from 0; the files' SHA-256 are then left out. Of a file that
    changes meanwhile that is said, whatever else is wrong with it.
    """
    before = {} if within else hashed(manifest, recording)
    try:
        yield from _parts(manifest, recording, robot, rows, within, before)
    except LogError:
        require_unchanged(manifest, recording, before)
        raise


def hashed(manifest: Manifest, recording: str) -> dict[str, str]:
    """Return file -> SHA-256 of a recording's files."""
    return {file: file_sha256(locate(manifest, file)) for file in manifest.recording(recording).files}


def require_unchanged(manifest: Manifest, recording: str, before: Mapping[str, str]) -> None:
    """Raise LogError that names a file of a recording that is not as it was; before: as `hashed` returned it."""
    for file in before:
        if file_sha256(locate(manifest, file)) != before[file]:
            raise changed(file)


def changed(file: str | None) -> LogError:
    """Return the error of a file that changed while it was read."""
    return LogError("changed while it was read", file=file, fix="Wait until its recorder is done with it")


def _parts(
    manifest: Manifest,
    recording: str,
    robot: Robot,
    rows: int,
    within: tuple[int, int] | None,
    hashes: Mapping[str, str],
) -> Iterator[Log]:
    record = manifest.recording(recording)
    sources = tuple(Source(f, hashes.get(f, "")) for f in record.files)
    if not sources:
        raise LogError("all its signals are made up: no file is read", file=manifest.file, key=recording)
    line = formats.line_of_first_row(locate(manifest, sources[0].file), manifest.text)
    row = record.rows[0] if record.rows else 1
    clock: tuple[int | float, ...] | None = None
    done, last = 0, -np.inf
    if within is not None and record.time.rate_hz is None:
        (begun,) = _chunks(manifest, _clock(_only(record, (0, 1))), 1, robot.joint_names, [])
        clock = formats.first_stamp(begun["time"])
    if within is not None:
        done, record = within[0], _only(record, within)
    notes: list[str] = []
    before: dict[str, Chunk] = {}
    turned: Chunk = []
    gains = np.broadcast_to(record.torque.gain, robot.n) if np.size(record.torque.gain) in (1, robot.n) else ()
    for chunk in _chunks(manifest, record, rows, robot.joint_names, notes):
        raw = chunk
        size = len(next(iter(raw.values()))[0])
        if record.time.rate_hz is not None:
            start, t = 0.0, np.arange(done, done + size) / record.time.rate_hz
        else:
            clock = clock or formats.first_stamp(raw["time"])
            start, t = seconds(raw["time"], record.time, clock)
        t, numbers, told = np.asarray(t, dtype=np.float64), None, list(notes)
        if record.drops_rows:
            out = left_out(raw, before, record)
            before = {k: [c[-1:] for c in columns] for k, columns in raw.items()}
            keep = ~np.any(list(out.values()), axis=0)
            numbers, t = row + done + np.flatnonzero(keep), t[keep]
            raw = {k: [c[keep] for c in columns] for k, columns in raw.items()}
            for why, which in out.items():
                left = (row + done + np.flatnonzero(which)).tolist()
                told += [f"{plural(len(left), 'row')} {why} left out: {spans(left)}"] if left else []
            if not keep.any():
                done += size
                continue
        raw["position"], wrapped = continued(raw["position"], _turns(record.position, robot.n), turned)
        turned = [c[-1:] for c in raw["position"]]
        told += [f"position of '{robot.joint_names[j]}' wraps after a whole turn: taken on" for j in wrapped]
        log = Log(
            name=record.name,
            t=t,
            q=_joint_values(record.position, raw["position"], robot, manifest),
            tau=_joint_values(record.torque, raw["torque"], robot, manifest),
            qd=_joint_values(record.velocity, raw["velocity"], robot, manifest) if record.velocity else None,
            temperature=_temperatures(record, raw, robot, manifest),
            joints=robot.joint_names,
            first_row=row + done,
            first_line=None if line is None else line + row - 1 + done,
            clock=float(start),
            sources=sources,
            notes=tuple(told),
            numbers=numbers,
            passive=tuple(j for j, g in zip(robot.joint_names, gains, strict=True) if g == 0),
            unknown=_unknown(gains, record.torque, robot),
        )
        if log.t[0] <= last:
            raise LogError(f"does not increase at {log.where(0)}", file=log.file, key="time")
        last, done = float(log.t[-1]), done + size
        yield log


def span(manifest: Manifest, recording: str, robot: Robot, rows: int) -> tuple[int, float]:
    """Return how many rows a recording has and how long it is [s], `rows` rows at a time, by its clock alone if it can.

    A log is counted once, as long as its files stay as they are. Raises LogError as `read_parts` does.
    """
    record = manifest.recording(recording)
    return _span(manifest, record, robot, rows, tuple(hashed(manifest, recording).values()))


@lru_cache(maxsize=64)
def _span(
    manifest: Manifest, record: Recording, robot: Robot, rows: int, _content: tuple[str, ...]
) -> tuple[int, float]:
    files = [locate(manifest, f) for f in record.files]
    count, length = 0, np.nan
    if record.time.rate_hz is None and not record.drops_rows and not any(is_bag(f) for f in files):
        clock = _clock(record)
        ends = _ends(files[0], clock, manifest) if len(files) == 1 and record.rows is None else None
        first: Chunk = []
        times = (chunk["time"] for chunk in _chunks(manifest, clock, rows, robot.joint_names, []))
        parts = ((len(time[0]), [c[:1] for c in time], [c[-1:] for c in time]) for time in times)
        for size, begin, last in [ends] if ends else parts:
            first = first or begin
            count, length = count + size, float(seconds(last, record.time, formats.first_stamp(first))[1][-1])
    if not (isfinite(length) and length > 0):  # rows are left out, or what is wrong is told
        count, start = 0, 0.0
        for log in read_parts(manifest, record.name, robot, rows):
            start = start if count else float(log.t[0])
            count, length = count + len(log.t), float(log.t[-1]) - start
    return count, length


def _ends(path: Path, clock: Recording, manifest: Manifest) -> tuple[int, Chunk, Chunk] | None:
    """Return how many rows a text file has, and its clock in the first and the last; None for others, and odd ones."""
    if formats.line_of_first_row(path, manifest.text) is None:
        return None
    from ident.logs.readers.read_tables import text_ends

    wanted: dict[str, list[Reference]] = {"time": [(clock.time.array, c) for c in clock.time.columns]}
    return text_ends(Request(path, clock.file, wanted, manifest.text, dated=_dated(clock)))


def read_columns(manifest: Manifest, recording: str, robot: Robot) -> dict[str, Chunk]:
    """Return {signal: its columns} of a recording as its files have them: nothing is checked, counted or converted."""
    parts = list(_chunks(manifest, manifest.recording(recording), EVERYTHING, robot.joint_names, []))
    return {key: [np.concatenate(c) for c in zip(*(part[key] for part in parts), strict=True)] for key in parts[0]}


def _only(record: Recording, within: tuple[int, int]) -> Recording:
    """Return a recording of some of its rows (start, stop), counted from 0."""
    first = record.rows[0] if record.rows else 1
    return replace(record, rows=(first + within[0], first + within[1] - 1))


def _clock(record: Recording) -> Recording:
    """Return a recording whose signals are all its clock."""
    time = record.time
    return replace(record, file=time.file or record.file, position=time, torque=time, velocity=None, temperature=None)


def _dated(record: Recording) -> frozenset[str]:
    """Return the signals of a recording that are dates as text."""
    return frozenset(("time",) if DATES in record.time.units() else ())


def _chunks(
    manifest: Manifest, record: Recording, rows: int, joints: tuple[str, ...], notes: list[str]
) -> Iterator[dict[str, Chunk]]:
    """Yield {signal: its columns}; each file is read once, files side by side. Bags have the joints' own names."""
    readers = []
    for file in record.files:
        path = locate(manifest, file)
        named = joints if is_bag(path) else (None,)
        wanted: dict[str, list[Reference]] = {
            s.quantity: [(s.array, c) for c in s.columns or ((None,) if s.quantity == "time" else named)]
            for s in record.signals
            if s.file == file and s.rate_hz is None
        }
        topic = record.topic if file == record.file else ""
        first, last = record.rows or (1, EVERYTHING)
        dated = _dated(record) & wanted.keys()
        readers.append(read_chunks(Request(path, file, wanted, manifest.text, first, last, rows, topic, notes, dated)))
    for parts in itertools.zip_longest(*readers):
        sizes = [len(next(iter(p.values()))[0]) if p else 0 for p in parts]
        if len(set(sizes)) > 1:
            short, long = record.files[int(np.argmin(sizes))], record.files[int(np.argmax(sizes))]
            problem = f"has fewer rows than '{long}', from which '{record.name}' takes other signals"
            fix = "Give rows = [first, last] that both files have, if their rows belong together"
            raise LogError(problem, file=short, fix=fix)
        yield {quantity: columns for part in parts for quantity, columns in part.items()}


def _turns(position: Signal, n: int) -> list[float]:
    """Return what one turn is in each column of the positions, as it is written; infinite of lengths."""
    return [
        2.0 * pi / si_factor(u, "position") if kind_of(u, "position") == "angle" else inf for u in position.units(n)
    ]


def _temperatures(record: Recording, raw: dict[str, Chunk], robot: Robot, manifest: Manifest) -> Array | None:
    """Return the temperatures of the joints (rows, n) [degC], None where none were measured; one column is for all."""
    if record.temperature is None:
        return None
    columns = raw["temperature"]
    if len(columns) not in (1, robot.n) or np.size(record.temperature.gain) not in (1, len(columns)):
        fix = f"Name one column per joint, in the order {', '.join(robot.joint_names)}, or one for all"
        has = f"temperature has {plural(len(columns), 'column')}, robot '{robot.name}' has {robot.n} joints"
        raise LogError(has, file=manifest.file, fix=fix)
    values = np.column_stack([np.asarray(c, dtype=np.float64) for c in columns]) * record.temperature.gain
    return np.broadcast_to(values, (len(values), robot.n))


def _unknown(gains: ArrayLike, torque: Signal, robot: Robot) -> tuple[str, ...]:
    """Return the joints whose torques are not known, as their gains, or those of motors that drive them, are nan."""
    none = np.isnan(np.asarray(gains, dtype=np.float64))
    if torque.side == "motor" and robot.transmission:
        none = none @ (robot.transmission.matrix != 0)
    return tuple(joint for joint, no in zip(robot.joint_names, none, strict=False) if no)


def _joint_values(signal: Signal, columns: Chunk, robot: Robot, manifest: Manifest) -> Array:
    """Return a signal on the joint side in SI units as (rows, n), checked against the robot's joints."""
    n = robot.n
    if len(columns) != n:
        problem = f"{signal.quantity} has {plural(len(columns), 'column')}, robot '{robot.name}' has {n} joints"
        fix = f"Name one column per joint, in the order {', '.join(robot.joint_names)}"
        raise LogError(problem, file=manifest.file, fix=fix)
    units = signal.units(n)
    gains = np.broadcast_to(np.asarray(signal.gain), (n,)) if np.size(signal.gain) in (1, n) else None
    if gains is None or len(units) != n:
        raise LogError(f"unit or gain of {signal.quantity} is not one per joint", file=manifest.file)
    if signal.side == "motor" and robot.transmission is None:
        problem = f"{signal.quantity} is on the motor side, but robot '{robot.name}' has no transmission"
        raise LogError(problem, file=manifest.file, fix="Give the robot a [transmission], or set side = 'joint'")
    for joint, unit in zip(robot.joints, units, strict=True):
        kind = kind_of(unit, signal.quantity)
        if signal.side == "joint" and kind not in {RAW, "length" if joint.slides else "angle"}:
            problem = f"{signal.quantity} of {joint.kind} joint '{joint.name}' cannot be in '{unit}'"
            raise LogError(problem, file=manifest.file)
    if np.size(signal.offset) not in (1, n):
        raise LogError("offset of position is not one per joint", file=manifest.file)
    if np.size(signal.saturation) not in (1, n):
        raise LogError("saturation of torque is not one per joint", file=manifest.file)
    values = np.empty((n, len(columns[0]))).T
    factors = np.nan_to_num(gains) * [si_factor(u, signal.quantity) for u in units]
    with np.errstate(all="ignore"):  # what is not finite is refused with its rows, by Log
        for j, column in enumerate(columns):
            np.multiply(column, factors[j], out=values[:, j], dtype=np.float64, casting="unsafe")
    if np.any(signal.saturation):
        values *= 1.0 - np.asarray(signal.saturation) * values**2
    if signal.side == "motor" and robot.transmission:
        torque, to_joint = signal.quantity == "torque", robot.transmission
        values = to_joint.joint_torque(values) if torque else to_joint.joint_position(values)
    values += np.asarray(signal.offset)
    return values
