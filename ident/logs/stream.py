"""Long recordings in parts: memory stays flat, and no row is counted twice or lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from math import ceil, prod
from typing import Any

import numpy as np

from ident.errors import LogError
from ident.logs.check import Finding, LogReport, check_log
from ident.logs.clock import Clock, find_clock, on_clock
from ident.logs.decimate import memory as thinning_memory
from ident.logs.log import Log, read_parts
from ident.logs.manifest import Manifest
from ident.logs.motion import Motion
from ident.logs.process import Processing, memory, motion, prepare, repeats
from ident.logs.readers.request import EVERYTHING
from ident.robot import Robot

_ROWS = ("t", "q", "tau", "qd", "numbers")  # of a log, row by row


def read_whole(manifest: Manifest, recording: str, robot: Robot, numbers: int | None) -> Log | None:
    """Return a recording as `read_log` does, or None when it has more than so many numbers (rows times columns).

    What it claims to hold is not asked: no more than twice as many numbers are ever read.
    """
    rows = EVERYTHING if numbers is None else max(3, numbers // (3 * robot.n + 1))
    parts = read_parts(manifest, recording, robot, rows)
    first = next(parts)
    return None if next(parts, None) else first


def iter_logs(manifest: Manifest, recording: str, robot: Robot, rows: int = 100_000, overlap: int = 0) -> Iterator[Log]:
    """Yield a recording in consecutive logs of about `rows` rows of their own.

    Each also has up to `overlap` rows of its neighbours on either side; `Log.margin` says how many. Raises what
    `read_log` raises.
    """
    if rows < 3 or overlap < 0:
        raise LogError(f"rows is {rows} and overlap {overlap}, wanted at least 3 and 0", key=recording)
    parts = read_parts(manifest, recording, robot, rows)
    held: list[Log] = []  # consecutive parts; `own` of their rows have been yielded, counted from `start`
    start, own, ended = 0, 0, False
    while True:
        end = start + sum(len(p.t) for p in held)
        while not ended and end < own + rows + overlap + 2:  # 2 rows more: no part of fewer than 3 is left over
            part = next(parts, None)
            if part is None:
                ended = True
            else:
                held.append(part)
                end += len(part.t)
        log = held[0] if len(held) == 1 else _joined(held)
        stop = end if ended and end - own < rows + max(3, rows // 2) else own + rows
        a, b = max(start, own - overlap), min(end, stop + overlap)
        yield _cut(log, a - start, b - start, (own - a, b - stop))
        own = stop
        if own >= end:
            return
        held, start = [_cut(log, max(start, own - overlap) - start, end - start, (0, 0))], max(start, own - overlap)


def check_parts(manifest: Manifest, recording: str, robot: Robot) -> LogReport:
    """Return what `check_log` says of a long recording, part by part: of each kind, the findings of its first part.

    The median step and the quanta are those of the first part. Raises what `read_log` and `check_log` raise.
    """
    report, steps, findings, last = None, Counter[float](), list[Finding](), 0.0
    for log in iter_logs(manifest, recording, robot):
        part = check_log(log, robot)
        report, last = report or replace(part, samples=0), float(log.t[-1])
        steps.update(dict(part.steps))
        kinds, said = {f.kind for f in findings} - {"reading"}, {f.message for f in findings}
        findings += [f for f in part.findings if f.kind not in kinds and f.message not in said]
        report = replace(
            report,
            samples=report.samples + part.samples,
            dt_min=min(report.dt_min, part.dt_min),
            dt_max=max(report.dt_max, part.dt_max),
        )
    assert report is not None
    note = "was checked in parts; of each kind of finding, those of the first part that has one are told"
    return replace(
        report,
        duration=last,
        dt_mean=last / (report.samples - 1),
        steps=tuple(steps.most_common()),
        findings=(Finding("reading", (), note), *findings),
    )


def iter_motions(
    manifest: Manifest, recording: str, robot: Robot, processing: Processing, rows: int = 100_000
) -> Iterator[Motion]:
    """Yield the motion of a recording in parts that together are `process` of the whole.

    Each part is filtered with as much of its neighbours as the filters remember, which is then cut off. With
    decimation, the rows that the thinning remembers stay in each motion, beginning at a whole step of the thinning,
    but only the part's own rows are in `keep` and `blocks`. Clock and period are looked for in the first part.
    The mean rate comes from a first pass over the time stamps, unless it is given (`rate_hz` of the manifest,
    `nominal_rate_hz`). Raises LogError as `process` does, and for a Fourier fit,
    which needs the whole recording at once.
    """
    if processing.derivative == "fourier":
        raise LogError(
            "needs the whole recording at once and cannot be streamed",
            key="derivative = 'fourier'",
            fix="Use read_log and process, or derivative = 'central'",
        )
    rate = processing.nominal_rate_hz or manifest.recording(recording).time.rate_hz
    if rate is None:
        rate = _mean_rate(manifest, recording, robot, rows)
    thin = prod(processing.decimation)
    grid = 1.0 if processing.resample_hz is None else rate / processing.resample_hz  # rows per sample
    lead = thinning_memory(processing.decimation) + thin if thin > 1 else 0
    edge = max(np.max(processing.edge_s) * rate, np.max(processing.edge_samples) * grid)
    overlap = memory(processing, rate) + ceil(lead * grid + edge)  # an edge may be longer than the last part
    done, every = 0, None  # samples of the motion that have been yielded; after how many it repeats itself
    clock, read = None if processing.clock == "auto" else Clock(), 0
    for log in iter_logs(manifest, recording, robot, rows, overlap):
        clock = clock or find_clock(log)
        own_rows = len(log.t) - sum(log.margin)
        log, read = on_clock(log, clock, read - log.margin[0]), read + own_rows  # noqa: PLW2901
        ready = prepare(log, processing, rate, (log.margin[0] < overlap, log.margin[1] < overlap))
        own = ready.stop - ready.first
        if own <= 0:
            continue
        before = min(ready.first - ready.begin, lead, done)
        before -= (before - done) % thin  # the part begins where the thinning of the whole has a row
        after = min(ready.end - ready.stop, lead)
        every = repeats(ready, processing) if done == 0 else every
        part = motion(log.name, ready, processing, ready.first - before, ready.stop + after, every, done)
        done += own
        yield part


def _mean_rate(manifest: Manifest, recording: str, robot: Robot, rows: int) -> float:
    count, first, last = 0, 0.0, 0.0
    for log in read_parts(manifest, recording, robot, rows):
        first = first if count else float(log.t[0])
        count, last = count + len(log.t), float(log.t[-1])
    return (count - 1) / (last - first)


def _joined(parts: list[Log]) -> Log:
    first = parts[0]
    stacked: dict[str, Any] = {
        f: np.concatenate([getattr(p, f) for p in parts]) for f in _ROWS if getattr(first, f) is not None
    }
    return replace(first, **stacked, notes=tuple(dict.fromkeys(n for p in parts for n in p.notes)), margin=(0, 0))


def _cut(log: Log, start: int, stop: int, margin: tuple[int, int]) -> Log:
    cut: dict[str, Any] = {f: getattr(log, f)[start:stop] for f in _ROWS if getattr(log, f) is not None}
    line = None if log.first_line is None else log.first_line + start
    return replace(log, **cut, first_row=log.first_row + start, first_line=line, margin=margin)
