"""A recording as its files have it: tables of columns, what these are, where its clock restarts and joints move."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ident.arrays import Array, runs
from ident.errors import plural
from ident.logs.left_out import GAP, lost
from ident.logs.raw import RawTable
from ident.logs.readings import resting
from ident.pipelines.signals import Signals

#: The signals of a recording.
COLUMNS = ("time", "position", "velocity", "torque")
#: A joint moves where it is faster than this share of its usual highest speed.
MOVES = 0.02
#: A clock that goes back by so many of its usual steps has started again.
BACK = 20
#: A stretch between missing numbers is used where it has this share of a log's rows, and any where it has so many.
STRETCH, SHORT = 0.1, 200


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
        kept, cause = stretches(whole, used["time"][0].values if used["time"] else np.arange(float(len(whole))))
        if not kept:
            return [self], []
        found = []
        for k, (a, b) in enumerate(kept, start=1):
            cut = {key: tuple(replace(c, read=c.read[a:b]) for c in columns) for key, columns in used.items()}
            signals = replace(self.signals, **cut)  # type: ignore[arg-type]
            rows = None if (a, b) == (0, len(whole)) else (a + 1, b)
            name, holes = part_name(self.name, k, len(kept)), not whole[a:b].all()
            found.append(replace(self, name=name, signals=signals, rows=rows, holes=holes))
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


def part_name(name: str, k: int, count: int) -> str:
    """Return the name of the k-th of so many parts of a recording."""
    return name if count == 1 else f"{name}-part{k}"


def stretches(whole: NDArray[np.bool_], time: Array) -> tuple[list[tuple[int, int]], str]:
    """Return the rows (start, stop) of a log's long stretches, and why it has any; none where it is one.

    whole (rows,): whether no number is missing; time (rows,): its clock, which may start again. A stretch begins and
    ends with a whole row, and has at most GAP others at a time.
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
        said += [f"its clock starts again, {plural(len(again), 'time')}: rows {kept} are recordings of their own"]
    elif found != [(0, len(whole))]:
        said += [f"numbers are missing{' for longer' if left else ''}, and only rows {kept} are used"]
    return found, "; ".join(said)


def _restarts(time: Array) -> NDArray[np.int_]:
    """Return the rows, from 0 on, at which a clock (rows,) starts again."""
    steps = np.diff(time)
    return np.asarray(np.flatnonzero(steps < -BACK * max(float(np.median(steps)), 0.0)) + 1)
