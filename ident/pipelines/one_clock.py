"""Logs whose positions and torques stand in different files, taken at different times: joined to one table each."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ident.arrays import Array
from ident.errors import LogError, plural
from ident.files import write_whole
from ident.logs.manifest import UNITS, si_factor
from ident.logs.names import named
from ident.logs.raw import Column, RawTable
from ident.logs.recognised import LOGGED_HZ, clocks, families, time_unit
from ident.pipelines.logged_joints import Arm
from ident.pipelines.raw_recording import quantities

#: Rows farther from a reading of the other file than so many of its usual steps are left out.
NEAR = 2.5
#: Two files are one recording where they have this share of the shorter one's time in common.
COMMON = 0.5


def apart(logs: Sequence[Sequence[RawTable]], arm: Arm) -> list[tuple[RawTable, RawTable]]:
    """Return the pairs of tables with the positions and the torques of one recording, taken at other times.

    None where a log has both, or rows that belong together one by one. Raises LogError where they cannot be paired.
    """
    has = {table: quantities(table, arm) for tables in logs for table in tables}
    states, torques = ([t for t, own in has.items() if which in own] for which in ("position", "torque"))
    if not states or not torques or {*states} & {*torques} or {t.rows for t in states} & {t.rows for t in torques}:
        return []
    pairs = list(zip(_by_name(states), _by_name(torques), strict=False))
    for one, other in pairs:
        t, s = _seconds(one), _seconds(other)
        if len(states) != len(torques) or t is None or s is None or not _together(t, s):
            rows = f"{plural(one.rows, 'row')} and {plural(other.rows, 'row')}, which are not taken at the same times"
            raise LogError(
                f"'{one.file.name}' has the positions and '{other.file.name}' the torques, in {rows}",
                file=one.file,
                fix="Give each a time by one clock, its unit in its name, or write one table whose rows have both",
            )
    return pairs


def joined(states: RawTable, torques: RawTable, folder: Path) -> tuple[Path, str]:
    """Write a table (.csv) of two at the times of the one with more rows a second; return it, and what to say of it.

    Readings of the other one are taken between their neighbours by cubic splines.
    """
    from scipy.interpolate import CubicSpline

    dense, sparse = sorted((states, torques), key=_step)
    clock, other, t, s = _clock(dense), _clock(sparse), _seconds(dense), _seconds(sparse)
    assert t is not None
    assert s is not None
    read = np.column_stack([c.read for c in sparse.columns if c is not other])
    whole = np.isfinite(read).all(axis=1) & np.concatenate([[True], s[1:] > np.maximum.accumulate(s)[:-1]])
    s, read = s[whole], read[whole]
    after = np.clip(np.searchsorted(s, t), 1, len(s) - 1)
    near = np.maximum(s[after] - t, t - s[after - 1]) < NEAR * float(np.median(np.diff(s)))
    rows = near & (t >= s[0]) & (t <= s[-1])
    own = np.column_stack([c.read for c in dense.columns if c is not clock])
    values = np.column_stack([t, own, CubicSpline(s, read)(t)])[rows]
    labels = [c.shown for table, at in ((dense, clock), (sparse, other)) for c in table.columns if c is not at]
    stems = dict.fromkeys((states.file.stem, torques.file.stem))
    out = folder / f"{'-'.join(stems)}{'-joined' * (len(stems) == 1)}.csv"
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(["time_s", *labels])
    np.savetxt(text, values, delimiter=",", fmt="%.16g")
    if out.exists():
        raise LogError("is there already, and is not overwritten", file=out, fix="Remove it, or give it as the log")
    what = "torques" if sparse is torques else "positions"
    said = f"{out.name} has the {what} of '{sparse.file.name}' interpolated at the times of '{dense.file.name}'"
    return write_whole(out, text.getvalue()), f"{said}: {int(rows.sum())} of {len(t)} rows"


def _by_name(tables: Sequence[RawTable]) -> list[RawTable]:
    return sorted(tables, key=lambda table: table.file.name)


def _clock(table: RawTable) -> Column | None:
    """Return the likeliest column of time."""
    return next(iter(clocks(families(table.columns, ()))), None)


def _seconds(table: RawTable) -> Array | None:
    """Return the times (rows,) [s] of a table: in the unit that its clock's name says, else one of a robot's rates."""
    clock = _clock(table)
    if clock is None:
        return None
    unit = clock.unit or named(clock.label, ()).unit
    return clock.values * si_factor(unit if unit in UNITS["time"] else time_unit(clock) or "s", "time")


def _step(table: RawTable) -> float:
    t = _seconds(table)
    return np.inf if t is None else float(np.ptp(t)) / table.rows


def _together(t: Array, s: Array) -> bool:
    """Return whether two clocks [s] have enough time in common to be one, and both a robot's rates."""
    common = min(t.max(), s.max()) - max(t.min(), s.min())
    slowest, fastest = (1.0 / rate for rate in LOGGED_HZ)
    usual = [fastest < float(np.median(np.diff(x))) <= slowest for x in (t, s)]
    return all(usual) and bool(common > COMMON * min(np.ptp(t), np.ptp(s)))
