"""Recordings in parts: memory stays flat, and no row is counted twice or lost. A short one is a single part."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass
from itertools import chain, islice
from math import ceil, prod

import numpy as np

from ident.errors import LogError
from ident.logs.check import LogReport, check_log, together
from ident.logs.clock import Clock, find_clock, on_clock, rate_of
from ident.logs.filter import thinning_memory
from ident.logs.log import Log, read_parts, span
from ident.logs.manifest import Manifest
from ident.logs.motion import MANY, USUAL, Motion
from ident.logs.process import Prepared, Processing, memory, motion, prepare, repeats, window
from ident.logs.readers.formats import EVERYTHING, format_of, locate
from ident.logs.readings import gaps
from ident.robot import Robot

#: Numbers (rows times columns) of a part.
NUMBERS = 3 * 2**19
#: Numbers of a recording that has `motion.MANY` segments, as its factors stay few.
LONG = 2**23


def part_rows(robot: Robot) -> int:
    """Return how many rows of a robot's recording are a part."""
    return NUMBERS // (3 * robot.n + 1)


def iter_logs(
    manifest: Manifest, recording: str, robot: Robot, rows: int | None = None, overlap: int = 0
) -> Iterator[Log]:
    """Yield a recording in consecutive logs of about `rows` rows of their own.

    Each also has up to `overlap` rows of its neighbours on either side; `Log.margin` says how many. Raises what
    `read_log` raises.
    """
    rows = part_rows(robot) if rows is None else rows
    if rows < 3 or overlap < 0:
        raise LogError(f"rows is {rows} and overlap {overlap}, wanted at least 3 and 0", key=recording)
    return _overlapping(read_parts(manifest, recording, robot, rows), rows, overlap)


def _overlapping(parts: Iterator[Log], rows: int, overlap: int) -> Iterator[Log]:
    held: list[Log] = []  # consecutive parts; `own` of their rows have been yielded, counted from `start`
    start, own, ended = 0, 0, False
    while True:
        end = start + sum(len(p.t) for p in held)
        while not ended and end < own + rows + max(overlap, rows // 2) + 3:  # far enough to know whether to take all
            part = next(parts, None)
            if part is None:
                ended = True
            else:
                held.append(part)
                end += len(part.t)
        log = held[0] if len(held) == 1 else _joined(held)
        stop = _stop(own, rows, end) if ended else own + rows
        a, b = max(start, own - overlap), min(end, stop + overlap)
        yield _cut(log, a - start, b - start, (own - a, b - stop))
        own = stop
        if own >= end:
            return
        held, start = [_cut(log, max(start, own - overlap) - start, end - start, (0, 0))], max(start, own - overlap)


def _stop(own: int, rows: int, samples: int) -> int:
    """Return where the part ends that begins at row `own` of so many: after `rows` rows, or half as many more."""
    return samples if samples - own < rows + max(3, rows // 2) else own + rows


def check_recording(manifest: Manifest, recording: str, robot: Robot) -> LogReport:
    """Return what `check_log` says of a recording, of a long one part by part (`check.together`).

    Raises what `read_log` and `check_log` raise.
    """
    report: LogReport | None = None
    for log in iter_logs(manifest, recording, robot):
        report = together(report, check_log(log, robot), float(log.t[-1]))
    assert report is not None
    return report


def iter_motions(
    manifest: Manifest,
    recording: str,
    robot: Robot,
    processing: Processing,
    rows: int | None = None,
    heard: Callable[[Log], object] | None = None,
) -> Iterator[Motion]:
    """Yield the motion of a recording, of a long one in parts that together are `process` of the whole.

    Each part is filtered with as much of its neighbours as the filters remember, which is then cut off. With
    decimation, the rows that the thinning remembers stay in each motion, beginning at a whole step of the thinning,
    but only the part's own rows are in `keep` and `blocks`. Clock and period are looked for in the first part. Mean
    rate and length come from a first pass over the time stamps, where there are several parts. A Fourier fit has the
    whole recording in one part. heard: is given the rows of each part, without its neighbours', before its motion is
    yielded. Raises LogError as `process` does.
    """
    rows = EVERYTHING if processing.derivative == "fourier" else rows or part_rows(robot)
    parts = read_parts(manifest, recording, robot, rows)
    begun = list(islice(parts, 2))
    length = span(manifest, recording, robot, rows) if len(begun) == 2 else (0, 0.0)
    plan = _planned(begun[0], robot, processing, rows, length)
    done, every, read = 0, None, 0  # samples of the motion, after how many it repeats itself, rows
    for log in _overlapping(chain(begun, parts), rows, plan.overlap):
        if heard is not None:
            heard(without_margin(log))
        ready, read = plan.prepared(log, read - log.margin[0]), read + len(log.t) - sum(log.margin)
        own = ready.stop - ready.first
        if own <= 0:
            continue
        every = repeats(ready, processing) if done == 0 else every
        yield plan.motion(ready, done, every, whole=len(log.t) - sum(log.margin) == plan.samples)
        done += own
    if done == 0:
        raise plan.nothing_left()


# ---- parts by themselves, whoever reads them -------------------------------------------------------------------------


@dataclass(frozen=True)
class Plan:
    """How a recording becomes a motion in parts: what its first rows, its length and the processing settle.

    rows: of a part; samples: rows of the recording, 0 where it is one part; rate [Hz], for which filters are designed;
    lead: rows that the thinning remembers, overlap: all that is read of the neighbours; total: samples of the motion;
    usual: segments.
    """

    name: str
    file: str | None
    processing: Processing
    rows: int
    samples: int
    clock: Clock
    rate: float
    lead: int
    overlap: int
    total: float | None
    usual: int

    @property
    def parts(self) -> list[tuple[int, int]]:
        """The rows (start, stop) of each part, from 0 on."""
        found, own = [], 0
        while own < self.samples:
            found.append((own, _stop(own, self.rows, self.samples)))
            own = found[-1][1]
        return found

    def prepared(self, log: Log, before: int) -> Prepared:
        """Return the filtered signals of a part, which has `before` rows of the recording before its first one."""
        ends = (log.margin[0] < self.overlap, log.margin[1] < self.overlap)
        return prepare(on_clock(log, self.clock, before), self.processing, self.rate, ends)

    def motion(self, ready: Prepared, done: int, every: float | None, *, whole: bool = False) -> Motion:
        """Return the motion of a part, `done` samples after the recording's first, repeated after `every` of them."""
        thin = prod(self.processing.decimation)
        before = min(ready.first - ready.begin, self.lead, done)
        before -= (before - done) % thin  # the part begins where the thinning of the whole has a row
        after = min(ready.end - ready.stop, self.lead)
        rows, total = (ready.first - before, ready.stop + after), None if whole else self.total
        return motion(self.name, ready, self.processing, rows, every, total, done, self.usual)

    def nothing_left(self) -> LogError:
        """Return the error of a recording none of whose parts has a sample."""
        return LogError("nothing is left after edges and window", file=self.file, key=self.name)


def _planned(first: Log, robot: Robot, processing: Processing, rows: int, length: tuple[int, float]) -> Plan:
    """Return the plan of a recording with this first part; length: its rows and seconds, 0 where it is one part."""
    clock = find_clock(first) if processing.clock == "auto" else Clock()
    samples, duration = length
    steady = samples and not len(gaps(first.t)[0])
    mean = (samples - 1) / duration if steady else rate_of(on_clock(first, clock))
    rate = processing.nominal_rate_hz or mean
    processing = processing.at(rate)
    thin = prod(processing.decimation)
    grid = 1.0 if processing.resample_hz is None else rate / processing.resample_hz  # rows per sample
    lead = thinning_memory(processing.decimation) + thin if thin > 1 else 0
    edge = max(np.max(processing.edge_s) * rate, np.max(processing.edge_samples) * grid)
    overlap = memory(processing, rate) + ceil(lead * grid + edge)  # an edge may be longer than the last part
    total = window(processing, duration, mean) if samples else None
    segments = MANY if samples * (3 * robot.n + 1) > LONG else USUAL
    return Plan(first.name, first.file, processing, rows, samples, clock, rate, lead, overlap, total, segments)


def plan_parts(manifest: Manifest, recording: str, robot: Robot, processing: Processing) -> Plan | None:
    """Return the plan of a long recording each part of which can be read by itself (`read_part`); None for others."""
    record = manifest.recording(recording)
    formats = [format_of(locate(manifest, file)) for file in record.files]
    together = record.drops_rows or processing.derivative == "fourier"
    if together or not formats or not all(found is not None and found.anywhere for found in formats):
        return None
    rows = part_rows(robot)
    first = next(read_parts(manifest, recording, robot, rows))
    if len(first.t) < rows:
        return None
    plan = _planned(first, robot, processing, rows, span(manifest, recording, robot, rows))
    return plan if len(plan.parts) > 1 else None


def read_part(manifest: Manifest, robot: Robot, plan: Plan, number: int) -> Log:
    """Return one part of a recording with its neighbours' rows, as `iter_motions` has it."""
    start, stop = plan.parts[number]
    first, last = max(start - plan.overlap, 0), min(stop + plan.overlap, plan.samples)
    (log,) = read_parts(manifest, plan.name, robot, last - first, within=(first, last))
    return _cut(log, 0, last - first, (start - first, last - stop))


def without_margin(log: Log) -> Log:
    """Return a part's own rows."""
    return _cut(log, log.margin[0], len(log.t) - log.margin[1], (0, 0))


def _joined(parts: list[Log]) -> Log:
    rows = [part.each(np.asarray) for part in parts]
    log = _with_rows(parts[0], {name: np.concatenate([part[name] for part in rows]) for name in rows[0]})
    object.__setattr__(log, "notes", tuple(dict.fromkeys(n for p in parts for n in p.notes)))
    object.__setattr__(log, "margin", (0, 0))
    return log


def _cut(log: Log, start: int, stop: int, margin: tuple[int, int]) -> Log:
    if (start, stop, margin) == (0, len(log.t), log.margin):
        return log
    part = _with_rows(log, log.each(lambda x: x[start:stop].copy("K")))
    object.__setattr__(part, "first_row", log.first_row + start)
    object.__setattr__(part, "first_line", None if log.first_line is None else log.first_line + start)
    object.__setattr__(part, "margin", margin)
    return part


def _with_rows(log: Log, rows: dict[str, np.ndarray]) -> Log:
    """Return a log with other rows, which are known to be sound: they are not checked once more."""
    found = copy(log)
    for name, values in rows.items():
        values.setflags(write=False)
        object.__setattr__(found, name, values)
    return found
