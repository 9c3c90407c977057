"""Logs whose signals, or joints, stand in different files, taken at different times: joined to one table each."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ident.arrays import Array
from ident.errors import LogError, plural
from ident.files import write_whole
from ident.logs.manifest import UNITS, si_factor
from ident.logs.names import SIGNALS, named
from ident.logs.names import apart as named_apart
from ident.logs.raw import Column, RawTable
from ident.logs.recognised import LOGGED_HZ, clocks, families, time_unit
from ident.pipelines.gears import Arm
from ident.pipelines.raw_recording import quantities

#: Rows farther from a reading of the other file than so many of its usual steps are left out.
NEAR = 2.5
#: Two files are one recording where they have this share of the shorter one's time in common.
COMMON = 0.5
#: Clocks of as many rows whose spans differ by a power of 1,000, to this share, count one time in two units.
SAME_ROWS = 0.01


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
    dense, sparse = sorted((states, torques), key=_step)
    t, clock = _seconds(dense), _clock(dense)
    assert t is not None
    rows, read = _read_at(t, sparse)
    values = np.column_stack([t, *(c.read for c in dense.columns if c is not clock), read])[rows]
    labels = [c.shown for table in (dense, sparse) for c in _beside_clock(table)]
    stems = dict.fromkeys((states.file.stem, torques.file.stem))
    out = _written(folder / f"{'-'.join(stems)}{'-joined' * (len(stems) == 1)}.csv", labels, values)
    what = "torques" if sparse is torques else "positions"
    said = f"{out.name} has the {what} of '{sparse.file.name}' interpolated at the times of '{dense.file.name}'"
    return out, f"{said}: {int(rows.sum())} of {len(t)} rows"


def by_joint(logs: Sequence[Sequence[RawTable]], joints: Sequence[str]) -> dict[str, dict[str, RawTable]]:
    """Return the files of each recording, by joint, where each file has one joint of it, as its name says; else {}.

    Files of one recording have as many rows and one time, or times in common; more than one recording may be given.
    Raises LogError where all files but one have a torque, or its times are in another unit.
    """
    tables = [only[0] for only in logs if len(only) == 1]
    stems = [table.file.stem for table in tables]
    if len(tables) < max(len(logs), 2):
        return {}
    found: dict[str, dict[str, RawTable]] = {}
    for table, named_so in zip(tables, named_apart(stems, joints), strict=True):
        rest, joint = named_so if named_so[1] else _numbered(table.file.stem, joints)
        found.setdefault(rest.strip(" _-."), {})[str(joint)] = table
    each = [set(own) for own in found.values()]
    whole = len(each[0]) > 1 and each[0] <= set(joints) and all(own == each[0] for own in each)
    whole &= sum(map(len, each)) == len(tables)
    if not whole or not _of_one_joint_each(tables):
        return {}
    return found if all(map(_of_one_time, found.values())) else {}


def _of_one_joint_each(tables: Sequence[RawTable]) -> bool:
    """Return whether each file has a joint's position and torque. Raises LogError where one alone lacks the latter."""
    has = {table: {quantity for quantity, _ in _of_one(table)} for table in tables}
    if not all(has.values()) or max(map(len, has.values())) < 2:
        return False
    for table, own in has.items():
        lacks = [q for q in ("torque", "current") if q not in own and sum(q in x for x in has.values()) > len(has) / 2]
        if lacks:
            raise LogError(
                f"no column is found that is a {lacks[0]}, which the files of the other joints have",
                file=table.file,
                fix="Add it, call it by the name that it has in the other files, or leave this joint's file out",
            )
    return True


def _numbered(stem: str, joints: Sequence[str]) -> tuple[str, str]:
    """Return a file's name without the number at its end, and the joint that this counts from 1; "" for none."""
    number = re.search(r"\d+$", stem)
    if number is None or int(number[0]) not in range(1, len(joints) + 1):
        return stem, ""
    return stem[: number.start()], joints[int(number[0]) - 1]


def side_by_side(name: str, files: Mapping[str, RawTable], folder: Path) -> tuple[Path, str]:
    """Write a table (.csv) of files with a joint each at the times of the fastest; return it, and what to say."""
    t = _seconds(min(files.values(), key=_step))
    assert t is not None
    rows, columns, labels = np.full(len(t), True), [t], list[str]()
    for joint, table in files.items():
        near, read = _read_at(t, table)
        rows &= near
        columns += [*read.T]
        labels += [f"{joint} {c.shown}" for c in _beside_clock(table)]
    out = _written(folder / f"{name or 'joints'}.csv", labels, np.column_stack(columns)[rows])
    given = ", ".join(f"'{table.file.name}'" for table in files.values())
    return out, f"{out.name} has the joints of {given} side by side: {int(rows.sum())} of {len(t)} rows"


def _of_one(table: RawTable) -> dict[tuple[str, str], Column]:
    """Return the signals of a table that has one column of each, by quantity and origin; {} of another."""
    said = [(c, named(c.label, ())) for c in _beside_clock(table)]
    found: dict[tuple[str, str], Column] = {
        (words.quantity, words.origin): c for c, words in said if words.quantity in SIGNALS
    }
    alone = len(found) == sum(words.quantity in SIGNALS for _, words in said)
    return found if alone and _seconds(table) is not None and "position" in {q for q, _ in found} else {}


def _of_one_time(files: Mapping[str, RawTable]) -> bool:
    """Return whether the clocks of some files are one. Raises LogError where one of them has another unit."""
    times = [_seconds(table) for table in files.values()]
    first, *others = (t for t in times if t is not None)
    for table, t in zip([*files.values()][1:], others, strict=True):
        ratio = float(np.ptp(t)) / max(float(np.ptp(first)), 1e-300) if len(t) == len(first) else 1.0
        if any(abs(ratio / 10.0**n - 1.0) < SAME_ROWS for n in (-6, -3, 3, 6)):
            other = next(iter(files.values())).file.name
            problem = f"its times span {ratio:g} times those of '{other}', in as many rows"
            raise LogError(problem, file=table.file, fix="Give both times in one unit, or name it: time_s, time_ms")
    alike = all(len(t) == len(first) for t in others)
    return all(np.array_equal(t, first) if alike else _together(first, t) for t in others)


def _read_at(t: Array, table: RawTable) -> tuple[NDArray[np.bool_], Array]:
    """Return which times (rows,) [s] lie between near readings of a table, and its signals there, by cubic splines."""
    from scipy.interpolate import CubicSpline

    s, read = _seconds(table), np.column_stack([c.read for c in _beside_clock(table)])
    assert s is not None
    if np.array_equal(s, t):
        return np.full(len(t), True), read
    whole = np.isfinite(read).all(axis=1) & np.concatenate([[True], s[1:] > np.maximum.accumulate(s)[:-1]])
    s, read = s[whole], read[whole]
    after = np.clip(np.searchsorted(s, t), 1, len(s) - 1)
    near = np.maximum(s[after] - t, t - s[after - 1]) < NEAR * float(np.median(np.diff(s)))
    return near & (t >= s[0]) & (t <= s[-1]), np.asarray(CubicSpline(s, read)(t))


def _written(out: Path, labels: Sequence[str], values: Array) -> Path:
    """Write a table of times [s] and signals. Raises LogError where the file is there."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(["time_s", *labels])
    np.savetxt(text, values, delimiter=",", fmt="%.16g")
    if out.exists():
        raise LogError("is there already, and is not overwritten", file=out, fix="Remove it, or give it as the log")
    return write_whole(out, text.getvalue())


def _beside_clock(table: RawTable) -> list[Column]:
    clock = _clock(table)
    return [c for c in table.columns if c is not clock]


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
