"""A recording as its files have it: which files belong together, tables of columns, what these are, where its clock
restarts and joints move, and whether its angles are in another unit than those of other logs of its robot.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ident.arrays import Array, runs
from ident.errors import LogError, plural
from ident.files import file_word, short_names
from ident.logs.manifest import si_factor
from ident.logs.names import SIGNALS, named
from ident.logs.raw import Column, RawTable
from ident.logs.readings import BREAK_S, BREAK_STEPS, GAP, lost, resting
from ident.logs.recognised import ALIKE, BEYOND, Family, families, fitting_units, related, scales
from ident.pipelines.gears import Arm
from ident.pipelines.questions import Asked
from ident.pipelines.signals import STILL, Signals, decide

#: The signals of a recording.
COLUMNS = ("time", "position", "velocity", "torque")
#: A joint moves where it is faster than this share of its usual highest speed.
MOVES = 0.02
#: A clock that goes back by so many of its usual steps has started again.
BACK = 20
#: A stretch between missing numbers is used where it has this share of a log's rows, and any where it has so many.
STRETCH, SHORT = 0.1, 200
#: A joint has no torque where blocks of so many rows have less than this share of its usual one; at least so many rows
#: are held by brakes.
BLOCK, QUIET, LEAST = 20, 0.1, 100


@dataclass(frozen=True, eq=False)
class RawRecording:
    """One recording: its name, the tables whose rows belong together, and what their columns are.

    rows: of a part; said: what of it is unlike the other recordings; holes: whether rows with missing numbers are left
    out.
    """

    name: str
    tables: tuple[RawTable, ...]
    signals: Signals
    rows: tuple[int, int] | None = None
    said: str = ""
    holes: bool = False

    def parts(self) -> tuple[list[RawRecording], list[str]]:
        """Return the recording, or its long stretches: between missing numbers, which nobody fills in, and between
        restarts of the clock; what to tell.
        """
        used = {key: getattr(self.signals, key) for key in COLUMNS}
        whole = np.asarray(np.all([np.isfinite(c.read) for columns in used.values() for c in columns], axis=0))
        zero = lost([c.read for key in COLUMNS[1:] for c in used[key]], [c.read for c in used["position"]])
        whole &= ~zero
        first, last = held_by_brakes(*(np.column_stack([c.read for c in used[k]]) for k in ("position", "torque")))
        held, complete = last - first < len(whole), bool(whole[first:last].all())
        whole[:first] = whole[last:] = False
        time = np.arange(float(len(whole)))
        if used["time"]:
            time = used["time"][0].values * si_factor(self.signals.time_unit[0], "time")
        kept, cause = stretches(whole, time)
        if not kept:
            return [self], []
        found = []
        for k, (a, b) in enumerate(kept, start=1):
            cut = {key: tuple(replace(c, read=c.read[a:b]) for c in columns) for key, columns in used.items()}
            signals = replace(self.signals, **cut)  # type: ignore[arg-type]
            rows = None if (a, b) == (0, len(whole)) else (a + 1, b)
            name, holes = part_name(self.name, k, len(kept)), not whole[a:b].all()
            found.append(replace(self, name=name, signals=signals, rows=rows, holes=holes))
        if held:
            own = f"the robot rests without torque, as where its brakes hold it: only rows {first + 1}-{last} are used"
            cause = own if complete and len(kept) == 1 else f"{own}; {cause}"
        cause += f"; all signals are zero in {plural(int(zero.sum()), 'row')} of a moving robot" if zero.any() else ""
        return found, [f"{self.name}: CUT: {cause}"]

    def moving(self) -> tuple[int, int, NDArray[np.bool_]]:
        """Return the first and the last row (from 1 on) at which a joint moves, and which joints (n,) ever do."""
        q = self.signals.angles()
        lag, moves = max(1, len(q) // 500), ~resting(q)
        speed = np.abs(q[lag:] - q[:-lag])
        usual = np.percentile(speed, 95, axis=0)
        usual = np.where(usual > 1e-6 + 1e-4 * np.ptp(q, axis=0), usual, speed.max(axis=0))  # some move now and then
        at = np.flatnonzero(np.any((speed > MOVES * usual) & moves, axis=1))
        return (1, len(q), moves) if not len(at) else (int(at[0]) + 1, min(int(at[-1]) + lag + 1, len(q)), moves)


def held_by_brakes(q: Array, tau: Array) -> tuple[int, int]:
    """Return where rows (start, stop) of a log begin and end without those in which brakes hold the robot.

    There it rests at the log's beginning or end and no joint has a torque, though one that gravity pulls is hardly ever
    without: such rows are no statement of any body. q, tau (N, n), in any units.
    """
    size = np.sqrt(np.nanmean(tau**2, axis=0))
    loaded = np.nanmean(np.abs(tau) < QUIET * size, axis=0)
    ends = []
    for x, y in ((q, tau), (q[::-1], tau[::-1])):
        away = np.any(np.abs(x - x[0]) > QUIET**2 * np.ptp(x, axis=0), axis=1)
        rest = int(np.argmax(away)) if away.any() else 0
        blocks = y[: rest // BLOCK * BLOCK].reshape(-1, BLOCK, y.shape[1]).mean(axis=1)
        loud = np.any(~(np.abs(blocks) < QUIET * size), axis=1)
        ends.append(BLOCK * (int(np.argmax(loud)) if loud.any() else len(blocks)))
    still = sum(ends) / len(q)
    if not np.any(loaded < still + QUIET):
        return 0, len(q)
    first, last = (k if k >= LEAST else 0 for k in ends)
    return first, len(q) - last


def part_name(name: str, k: int, count: int) -> str:
    """Return the name of the k-th of so many parts of a recording."""
    return name if count == 1 else f"{name}-part{k}"


def stretches(whole: NDArray[np.bool_], time: Array) -> tuple[list[tuple[int, int]], str]:
    """Return the rows (start, stop) of a log's long stretches, and why it has any; none where it is one.

    whole (rows,): whether no number is missing; time (rows,) [s]: its clock, which may start again or leap. A stretch
    begins and ends with a whole row, and has at most GAP others at a time.
    """
    there = np.flatnonzero(whole)
    again = there[_restarts(time[there])]
    bridged = whole.copy()
    for a, b in runs(~whole):
        bridged[a:b] = b - a <= GAP and a > 0 and b < len(whole)
    edges = np.sort(np.concatenate([runs(bridged).ravel(), again, again])).reshape(-1, 2)
    shortest = SHORT if len(again) else max(STRETCH * len(whole), SHORT)
    found = [(a, b) for a, b in edges.tolist() if b - a >= shortest]
    if (whole.all() and not len(again)) or not found:
        return [], ""
    left = sum(int((~whole[a:b]).sum()) for a, b in found)
    said = [f"numbers are missing in {plural(left, 'row')}, at most {GAP} at a time: these are left out"] * bool(left)
    kept = ", ".join(f"{a + 1}-{b}" for a, b in found)
    if len(again):
        what = "starts again" if (np.diff(time[there]) < 0.0).any() else "leaps"
        said += [f"its clock {what}, {plural(len(again), 'time')}: rows {kept} are recordings of their own"]
    elif found != [(0, len(whole))]:
        said += [f"numbers are missing{' for longer' if left else ''}, and only rows {kept} are used"]
    return found, "; ".join(said)


def _restarts(time: Array) -> NDArray[np.int_]:
    """Return the rows, from 0 on, at which a clock (rows,) [s] starts again, or leaps farther than gaps are filled."""
    steps = np.diff(time)
    usual = max(float(np.median(steps)), 0.0) if len(steps) else 0.0
    again = (steps < -BACK * usual) | (steps > max(BREAK_S, BREAK_STEPS * usual))
    return np.asarray(np.flatnonzero(again) + 1)


#: Degrees in a radian, and how far the ratio of two logs' ways may be from that, or from 1.
_WIDE, _NEAR = 180.0 / np.pi, 4.0
#: No robot that is read in rad goes so far about joints without limits [rad]; one of these may spin, not so many.
_FAR, _MANY = 10.0, 3


def in_own_units(log: Signals, decided: Signals) -> tuple[Signals, str]:
    """Return what a log's columns are if its angles are in degrees where another's are in radians, or conversely.

    decided: the same columns of the other log. And the reason, "" where nothing is other.
    """
    turning = [k for k, joint in enumerate(log.robot.joints) if not joint.slides]
    units = {log.position_unit[k] for k in turning}
    if log.side != "joint" or log.count or units not in ({"rad"}, {"deg"}):
        return log, ""
    unit = units.pop()
    raw, way = _angles(log), np.ptp(_angles(decided)[:, turning], axis=0)
    ratio = float(np.median(np.ptp(raw[:, turning], axis=0)[way > 0] / way[way > 0])) if way.any() else 1.0
    fits = fitting_units(raw, log.robot)
    if any(named(log.position[k].label, log.robot.joint_names).unit == unit for k in turning):
        return log, ""
    if unit == "rad":
        like = _beyond(log, decided, turning, 1.0) and ratio > _WIDE / _NEAR
        other = "deg" if like or (fits == ("deg",) and _beyond(log, decided, turning, _NEAR)) else ""
    else:
        still = float(np.ptp(np.deg2rad(raw[:, turning]), axis=0).max()) < STILL
        like = 1.0 / _NEAR < ratio * _WIDE < _NEAR  # a log of a robot that rests goes nowhere in either unit
        other = "rad" if still and like and "rad" in fits else ""
    if not other:
        return log, ""
    own = tuple(other if k in turning else u for k, u in enumerate(log.position_unit))
    found = replace(log, position_unit=own)
    said = (
        f"angles are in {other}, a GUESS: in {unit}, as those of other logs, they would go {ratio:.2g} times as far"
        f" and reach {np.abs(raw[:, turning]).max():.3g} {unit}"
    )
    return replace(found, velocity_unit=_velocity_unit(found, turning)), said


def _beyond(log: Signals, decided: Signals, turning: list[int], times: float) -> bool:
    """Return whether angles that are read in rad reach so many times beyond the limits and what another log reaches."""
    limits = [log.robot.joints[k].limits for k in turning]
    ends = np.array([max(abs(limit.lower), abs(limit.upper)) for limit in limits])
    reach = np.maximum(np.where(np.isfinite(ends), ends, _FAR), np.abs(_angles(decided)[:, turning]).max(axis=0))
    leaves = np.abs(_angles(log)[:, turning]).max(axis=0) > times * ((1.0 + BEYOND[0]) * reach + BEYOND[1])
    return bool(leaves[np.isfinite(ends)].any() or np.sum(leaves) >= _MANY)


def _angles(log: Signals) -> Array:
    return np.column_stack([column.values for column in log.position])


def _velocity_unit(log: Signals, turning: list[int]) -> tuple[str, ...]:
    """Return the units of the velocities: whichever makes their integrals the positions."""
    if not log.velocity or not log.time:
        return log.velocity_unit
    t = log.time[0].values * si_factor(log.time_unit[0], "time")
    q = _angles(log) * scales(log.position_unit)
    swapped = {"rad/s": "deg/s", "deg/s": "rad/s"}
    found = list(log.velocity_unit)
    for k in turning:
        unit, other = found[k], swapped.get(found[k], found[k])
        scale, to = si_factor(unit, "velocity"), si_factor(other, "velocity")
        relation = related(t, q[:, k], log.velocity[k].values * scale)
        if relation is not None and relation.alike > ALIKE:
            ratios = {unit: abs(relation.ratio), other: abs(relation.ratio) * scale / to}
            found[k] = min(ratios, key=lambda u: abs(np.log(ratios[u])))
    return tuple(found)


# ---- which files are a recording, and what its columns are ----------------------------------------------------------

#: Which file of the recording, array, and name or number of a column.
_Place = tuple[int, str | None, int | str]


def recordings_of(files: Sequence[Sequence[RawTable]], arm: Arm, asked: Asked) -> list[RawRecording]:
    """Return the recordings: a file each, or files with as many rows that are no whole log by themselves.

    Raises LogError where no columns are found that are positions, or torques.
    """
    groups: list[list[RawTable]] = []
    for tables in files:
        table = max(tables, key=lambda t: len(quantities(t, arm)))
        has = quantities(table, arm)
        partner = next(
            (g for g in groups if g[0].rows == table.rows and not has & set().union(*(quantities(t, arm) for t in g))),
            None,
        )
        if partner is None or not has:
            groups.append([table])
        else:
            partner.append(table)
    decided: list[tuple[dict[Column, _Place], Signals]] = []
    found: dict[int, RawRecording] = {}
    names = _names([group[0].file for group in groups])
    every = [{(k, c.array, c.reference): c for k, table in enumerate(g) for c in table.columns} for g in groups]
    order = sorted(range(len(groups)), key=lambda k: (-groups[k][0].rows, groups[k][0].file.name))
    for at in order:  # the longest say most, whichever is given first
        group, here = groups[at], every[at]
        known = ((_moved(signals, places, here), signals) for places, signals in decided)
        signals, like = next((pair for pair in known if pair[0] is not None), (None, None))
        said = ""
        if signals is not None and like is not None:
            signals, said = in_own_units(signals, like)
        else:
            more = [
                {c: other[place] for place, c in here.items() if place in other} for other in every if other is not here
            ]
            try:
                signals = decide([f for table in group for f in _families(table, arm)], arm, asked, more)
            except LogError as cause:
                for note in dict.fromkeys(f"{table.file.name}: {table.note}" for table in group if table.note):
                    cause.add_note(note)
                raise
            decided.append(({c: place for place, c in here.items()}, signals))
        found[at] = RawRecording(names[at], tuple(group), signals, said=said)
    return [found[at] for at in sorted(found)]


def _families(table: RawTable, arm: Arm) -> tuple[Family, ...]:
    found = families(table.columns, (*arm.called, *arm.names))
    called = [replace(f, of=tuple(arm.called.get(str(name), name) for name in f.of)) for f in found]
    return tuple(part for f in called for part in f.with_names(arm.names, arm.turning()))


def quantities(table: RawTable, arm: Arm) -> set[str]:
    """Return which of positions and torques the names of the columns say."""
    found = {f.quantity for f in _families(table, arm) if f.origin != "commanded"}
    return {"torque" if q == "current" else q for q in found if q in SIGNALS}


def _moved(signals: Signals, places: Mapping[Column, _Place], here: Mapping[_Place, Column]) -> Signals | None:
    """Return the same signals where their columns are here, by the same names; None where some are missing."""
    named_alike = all(c.label for c in places) or len(places) == len(here)
    found = {key: [here.get(places[c]) for c in getattr(signals, key)] for key in COLUMNS}
    if not named_alike or any(c is None for columns in found.values() for c in columns):
        return None
    return replace(signals, **{key: tuple(columns) for key, columns in found.items()})  # type: ignore[arg-type]


def _names(files: Sequence[Path]) -> list[str]:
    names = [file_word(name, "log") for name in short_names(files)]
    return [name if names.count(name) == 1 else f"{name}-{k}" for k, name in enumerate(names, start=1)]
