"""Which columns of a log are the time, the positions and the velocities: by name, by order, and by what they do.

Names propose: they are split into words of the quantity, the unit and the origin. What the columns do decides: time
rises, a position stays within its joint's limits, and a velocity is that whose integral is the position, which tells
units and rates as well. Of several clocks positions follow one; it may be two columns, whole seconds and what is left
in ms, us or ns, as ROS and timeval have it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import pi

import numpy as np
from numpy.typing import NDArray

from ident.arrays import Array
from ident.logs.clock import LESS, NEIGHBOURS, prediction_errors
from ident.logs.manifest import UNITS, Quantity, si_factor
from ident.logs.names import SIGNALS, UNIT_WORDS, Meaning, Named, Origin, apart, has, named, said_by, tokens
from ident.logs.raw import Column, RawTable
from ident.logs.readings import ENOUGH, continued
from ident.robot import Robot

_KINDS = {unit: kind for units in UNITS.values() for unit, (kind, _) in units.items()}
#: Rates that people choose [Hz].
RATES = (
    10, 20, 25, 40, 50, 60, 80, 100, 120, 125, 200, 240, 250,
    400, 500, 800, 1000, 1200, 2000, 2500, 4000, 5000, 8000,
)  # fmt: skip
#: A velocity's integral has this correlation with its position, and a ratio this near to that of known units.
ALIKE, NEAR = 0.97, 0.08
#: Below this correlation, it is no velocity of that position.
UNLIKE = 0.8
#: A position may pass its limits by this share of them and so much more [rad; m].
BEYOND = (0.05, 0.02)
#: A velocity that is later than its position by more rows than this is filtered, and says less than the position.
LATE_ROWS = 2.5
#: It is looked for within so many seconds.
LATEST = 0.3
#: Rates between these [Hz] make a unit of time believable.
LOGGED_HZ = 10.0, 10_000.0


@dataclass(frozen=True, eq=False)
class Family:
    """Columns of one quantity, one a joint, in the order of `of`: names of joints, numbers, or nothing (0).

    lengths: the unit of each column of a joint that slides, "" of those of joints that turn, which are in `unit`; ()
    where all are alike.
    """

    columns: tuple[Column, ...]
    of: tuple[str | int, ...]
    quantity: Meaning
    origin: Origin = ""
    unit: str = ""
    lengths: tuple[str, ...] = ()

    @property
    def sliding(self) -> str:
        """The unit of the columns of joints that slide, "" where names say none of their own."""
        return next(filter(None, self.lengths), "")

    @property
    def slide(self) -> list[bool]:
        """Whether the joint of each column slides, as its unit says; [] where no unit says it."""
        told = self.lengths or (self.unit,) * len(self.columns)
        return (
            [_KINDS.get(u, "angle") == "length" for u in told] if _KINDS.get(self.unit) != "raw" and self.unit else []
        )

    @property
    def values(self) -> Array:
        """The columns side by side (rows, m)."""
        return np.column_stack([c.values for c in self.columns])

    def like(self, of: Sequence[str | int]) -> Family:
        """Return the columns in another order of joints; as they are where one of those has none."""
        if not set(of) <= set(self.of):
            return self
        return self._at([self.of.index(x) for x in of])

    def of_joints(self, slides: Sequence[bool]) -> Family:
        """Return no more columns than joints; numbered ones by what their units say: whether a joint `slides`."""
        if not self.lengths or isinstance(self.of[0], str):
            return self._at(range(min(len(self.columns), len(slides))))
        left = {kind: [k for k, unit in enumerate(self.lengths) if bool(unit) == kind] for kind in (False, True)}
        return self._at([left[kind].pop(0) for kind in slides if left[kind]])

    def with_names(self, *joints: Sequence[str]) -> tuple[Family, ...]:
        """Return the columns where some name joints and others do not: these are the joints left, if as many.

        joints: all, then those that turn. Else the columns that name none are a family by themselves.
        """
        others = [k for k, of in enumerate(self.of) if not isinstance(of, str)]
        if len(others) in (0, len(self.of)):
            return (self,)
        for names in joints:
            if len(left := [name for name in names if name not in self.of]) == len(others):
                return (replace(self, of=tuple(x if isinstance(x, str) else left.pop(0) for x in self.of)),)
        return self._at([k for k in range(len(self.of)) if k not in others]), self._at(others)

    def _at(self, places: Sequence[int]) -> Family:
        parts = {"of": self.of, "columns": self.columns, "lengths": self.lengths}
        return replace(self, **{key: tuple(x[k] for k in places) if x else () for key, x in parts.items()})  # type: ignore[arg-type]

    @property
    def shown(self) -> str:
        """First and last column, for people."""
        first, last = self.columns[0].shown, self.columns[-1].shown
        return first if len(self.columns) == 1 else f"{first} to {last.removeprefix('column ')}"


def families(columns: Sequence[Column], joints: Sequence[str]) -> tuple[Family, ...]:
    """Return the columns grouped by what their names have in common, joints and numbers apart.

    Where names say no quantity that of their file may, by a word. Columns without a meaning stay alone, in their order.
    """
    groups: dict[tuple[object, ...], list[tuple[Column, Named]]] = {}
    for at, (column, words) in enumerate(zip(columns, apart([c.label for c in columns], joints), strict=True)):
        said = said_by(*words)
        if not said.quantity and (said.joint or said.numbers) and not column.array:
            of_file = named(column.file.stem, ()).quantity  # a unit there is none: rec_a
            hint: Meaning = of_file if of_file in SIGNALS and has(tokens(column.file.stem), of_file) else ""
            said = Named(hint, said.origin, "", said.joint, said.numbers, said.stem)
        said = replace(said, quantity="time") if column.unit else said
        alone = at if not said.quantity and (column.array or not (said.numbers or said.joint)) else -1
        groups.setdefault((said.stem, said.quantity, said.unit, said.origin, alone), []).append((column, said))
    _join_sliding(groups)
    found = []
    for group in groups.values():
        units = {column: said.unit for column, said in group}
        numbers = [said.numbers for _, said in group]
        places = range(min(map(len, numbers)))
        place = max(places, key=lambda k: (len({n[k] for n in numbers}), k), default=None)
        parts: dict[tuple[int, ...], list[tuple[str | int, Column]]] = {}
        for column, said in group:
            rest = said.numbers if place is None else said.numbers[:place] + said.numbers[place + 1 :]
            key = said.joint or (0 if place is None else said.numbers[place])
            parts.setdefault(() if said.joint else rest, []).append((key, column))
        said = group[0][1]
        for part in parts.values():
            if all(isinstance(key, int) for key, _ in part):
                part.sort(key=lambda p: int(p[0]))
            if len({key for key, _ in part}) < len(part):
                found += [Family((c,), (k,), said.quantity, said.origin, said.unit) for k, c in part]
            else:
                of, of_columns = zip(*part, strict=True)
                own = [units[c] for c in of_columns]
                lengths = tuple("" if u == said.unit else u for u in own) if len(set(own)) > 1 else ()
                found.append(Family(of_columns, of, said.quantity, said.origin, said.unit, lengths))
    return tuple(found)


def _join_sliding(groups: dict[tuple[object, ...], list[tuple[Column, Named]]]) -> None:
    """Add the columns of joints that slide to those of joints that turn: the same quantity, in a unit of lengths."""

    def alike(said: Named) -> tuple[object, ...]:
        words = tokens(said.stem)
        words = [w for w in words if len(w) > 1 and not has([w], said.quantity) and w not in UNIT_WORDS]
        return said.quantity, said.origin, words  # without letters: M1 [Nm], F3 [N]

    def kind(group: Sequence[tuple[Column, Named]]) -> str:
        return _KINDS.get(group[0][1].unit, "")

    def places(group: Sequence[tuple[Column, Named]]) -> set[tuple[str | int, tuple[int, ...]]]:
        return {(said.joint, said.numbers) for _, said in group}

    for key in [key for key, group in groups.items() if kind(group) == "length"]:
        group = groups[key]
        turn = [g for g in groups.values() if kind(g) == "angle" and alike(g[0][1]) == alike(group[0][1])]
        if len(turn) == 1 and not places(turn[0]) & places(group):
            turn[0].extend(groups.pop(key))


def windows(families: Sequence[Family], size: int) -> tuple[Family, ...]:
    """Return what may be a signal of `size` joints among columns whose names say no quantity.

    Those that count joints, and every `size` columns side by side of the others.
    """
    columns = [f.columns[0] for f in families if not f.quantity and len(f.columns) == 1]
    found = [f for f in families if not f.quantity and len(f.columns) == size > 1]
    for start in range(len(columns) - size + 1):
        part = columns[start : start + size]
        if len({c.array for c in part}) == 1 and len({c.file for c in part}) == 1:
            found.append(Family(tuple(part), tuple(range(1, size + 1)), ""))
    return tuple(found)


def counts(values: Array) -> bool:
    """Return whether a column counts rows: whole numbers, each one more than the one before."""
    return bool(np.all(np.diff(values) == 1.0))


def clocks(families: Sequence[Family], like: str = "") -> tuple[Column, ...]:
    """Return the columns that can be the time, the likeliest first; those that may only count rows last.

    like: the name of a column; a clock of the same MATLAB structure comes first.
    """
    found: list[tuple[int, bool, Column]] = []
    again = np.all([np.diff(c.values) == 0 for f in families for c in f.columns], axis=0)  # rows that are written twice
    for f in families:
        if len(f.columns) > 1 or f.quantity not in ("time", "index", ""):
            continue
        column, steps = f.columns[0], np.diff(f.columns[0].values)
        rising = bool((steps >= 0).all()) and np.mean((steps == 0) & ~again) < 0.1
        if rising or (
            f.quantity == "time" and np.median(steps) > 0
        ):  # one that jumps is the time, too: its reader says so
            rank = {"time": 0, "": 2, "index": 4}[f.quantity] + (counts(column.values) and f.quantity != "time")
            rank += 0 if rising else 5
            found.append((rank, column.label.split(".")[0] != like.split(".", maxsplit=1)[0], column))
    return tuple(column for *_, column in sorted(found, key=lambda pair: pair[:2]))


def time_unit(column: Column) -> str:
    """Return the unit in which a clock has a robot's rate, between 10 and 10 000 Hz; "" for none."""
    step = float(np.median(np.diff(column.values)))
    fits = [u for u in UNITS["time"] if LOGGED_HZ[0] <= 1.0 / (step * si_factor(u, "time")) < LOGGED_HZ[1]]
    return fits[0] if step > 0 and fits else ""


def runs_slowly(column: Column, unit: str) -> bool:
    """Return whether a clock in a unit would be of a log at less than a robot's rates."""
    return float(np.median(np.diff(column.values))) * si_factor(unit, "time") > 1.0 / LOGGED_HZ[0]


@dataclass(frozen=True)
class Related:
    """How a velocity belongs to a position: correlation with its integral, their ratio, rows that it is late."""

    alike: float
    ratio: float
    late: float


def related(t: Array, position: Array, velocity: Array) -> Related | None:
    """Return how the integral of a velocity is like a position; None where either rests.

    Both lose their mean and drift. ratio: position per integral, 1 where units agree.
    """
    q, x = _levelled(t, position, velocity)
    if not len(q):
        return None
    best = (abs(float(np.corrcoef(q, x)[0, 1])), 0)
    for late in range(-4, 41) if best[0] > UNLIKE else ():
        a, b = (q[: len(q) - late], x[late:]) if late >= 0 else (q[-late:], x[:late])
        best = max(best, (abs(float(np.corrcoef(a, b)[0, 1])) - 1e-9 * abs(late), late))
    return Related(float(np.corrcoef(q, x)[0, 1]), float(q @ x / (x @ x)), best[1])


def lateness(t: Array, position: Array, velocity: Array) -> float | None:
    """Return by how much [s] a velocity is later than its position changes; None where either rests, or they differ.

    Where the integral of the velocity is most like the position, among whole rows within LATEST; then, by steps of
    Gauss and Newton, where least squares over the position, its slope and a drift leave its slope out.
    """
    q, x = _levelled(t, position, velocity)
    step = float(np.median(np.diff(t)))
    most = min(int(LATEST / step), len(t) // 4)
    if not len(q) or most < 1:
        return None
    size = 2 * len(t)
    alike = np.fft.irfft(np.fft.rfft(x, size) * np.conj(np.fft.rfft(q, size)), size)
    rows = np.arange(-most, most + 1)
    late, inner = step * float(rows[np.argmax(np.abs(alike[rows]))]), slice(most + 1, -most - 1)
    for _ in range(4):
        then = np.interp(t - late, t, q)
        columns = np.column_stack([then, np.gradient(then, t), t, np.ones(len(t))])[inner]
        fit = np.linalg.lstsq(columns, x[inner], rcond=None)[0]
        late -= float(fit[1] / fit[0]) if fit[0] else 0.0
        late = float(np.clip(late, -LATEST, LATEST))
    left = x[inner] - columns @ fit
    return late if np.var(left) < (1.0 - UNLIKE**2) * np.var(x[inner]) else None


def _levelled(t: Array, position: Array, velocity: Array) -> Array:
    """Return a position and the integral of its velocity (2, N), without mean and drift; (2, 0) where either rests."""
    integral = np.concatenate([[0.0], np.cumsum((velocity[1:] + velocity[:-1]) / 2 * np.diff(t))])
    both, along = np.stack([position, integral]), t - t.mean()
    both -= both.mean(axis=1, keepdims=True)
    left = both - np.outer(both @ along, along) / (along @ along)
    rests = left.std(axis=1).min() <= 1e-12 * max(np.abs(position).max(), np.abs(integral).max(), 1e-300)
    return np.asarray(left[:, : 0 if rests else None])


def _unwrapped(position: Array) -> Array:
    """Return a position without leaps by a whole turn, in radians or degrees."""
    for turn in (2.0 * np.pi, 360.0):
        (position,), _ = continued([position], [turn], [])
    return position


def belongs(t: Array, position: Family, velocity: Family) -> tuple[float, tuple[Related | None, ...]]:
    """Return how like the velocities' integrals the positions are in the worst moving joint (0 where none moves)."""
    if len(position.columns) != len(velocity.columns):
        return 0.0, ()
    found: list[Related | None] = []
    for p, v in zip(position.columns, velocity.columns, strict=True):
        found.append(related(t, _unwrapped(p.values), v.values))
        if found[-1] is not None and abs(found[-1].alike) < UNLIKE:
            return 0.0, ()
    return min((abs(r.alike) for r in found if r is not None), default=0.0), tuple(found)


def unit_of(value: float, quantity: Quantity, of: str = "angle") -> str:
    """Return the unit of an angle (a "length") or of its velocity that has a value in SI, "" for none."""
    for unit, (kind, size) in UNITS[quantity].items():
        if kind == of and abs(value / size - 1.0) < NEAR:
            return unit
    return ""


def within(values: Array, robot: Robot) -> bool:
    """Return whether positions (rows, n) [rad; m] stay within what `beyond` takes for the limits."""
    return not beyond(values, robot).any()


def beyond(values: Array, robot: Robot) -> NDArray[np.bool_]:
    """Return which positions (rows, n) [rad; m] leave the limits, or a turn and a half, but for a hundredth of them."""
    return np.asarray(np.mean(leave(values, robot), axis=0) >= 0.01)


def leave(values: Array, robot: Robot) -> NDArray[np.bool_]:
    """Return where each of positions (rows, n) [rad; m] is out of its limits, or of a turn and a half.

    Joints without limits have the latter, and such as turn a whole turn either way: nothing stops them there.
    """
    ends = np.array([(j.limits.lower, j.limits.upper) for j in robot.joints]).T
    low, high = (
        np.where(np.abs(end) < 1.99 * pi, end, free) for end, free in zip(ends, (-3 * pi, 3 * pi), strict=True)
    )
    low, high = low - (BEYOND[0] * np.abs(low) + BEYOND[1]), high + (BEYOND[0] * np.abs(high) + BEYOND[1])
    return np.asarray((values < low) | (values > high))


def units_of(unit: str, robot: Robot, sliding: str = "") -> tuple[str, ...]:
    """Return the unit of each joint's position where those that turn are in `unit`.

    Those that slide are in `sliding`, where nothing says it in m, or mm beside deg. Several units with commas are of
    each joint.
    """
    if "," in unit:
        return tuple(unit.split(","))
    length = sliding or {"deg": "mm", "mm": "mm", "count": "count"}.get(unit, "m")
    return tuple(length if joint.slides else unit for joint in robot.joints)


def scales(units: Sequence[str]) -> Array:
    """Return the value of one of each unit of a position (n,) [rad; m]."""
    return np.array([si_factor(unit, "position") for unit in units])


def fitting_units(position: Array, robot: Robot) -> tuple[str, ...]:
    """Return which of rad and deg keep the joints that turn within the limits, of positions (rows, n)."""
    slides = [joint.slides for joint in robot.joints]
    middle = [np.clip(0.0, joint.limits.lower, joint.limits.upper) for joint in robot.joints]
    read = {unit: np.where(slides, middle, position * si_factor(unit, "position")) for unit in ("rad", "deg")}
    return tuple(unit for unit, q in read.items() if within(q, robot))


def rate_by_limits(position: Array, robot: Robot) -> float | None:
    """Return the highest usual rate [Hz] at which positions (rows, n) [rad; m] keep the joints' limits of velocity."""
    lag = 5
    moved = np.percentile(np.abs(position[lag:] - position[:-lag]), 99.9, axis=0) / lag
    limits = np.array([j.limits.velocity for j in robot.joints])
    sound = np.isfinite(limits) & (moved > 0)
    if not sound.any():
        return None
    most = float(np.min(limits[sound] / moved[sound])) * 1.02
    return float(max((r for r in RATES if r <= most), default=RATES[0]))


# ---- which of several clocks ----------------------------------------------------------------------------------------

_WORD = re.compile(r"(?<![a-z])(?:m|u|n|milli|micro|nano)?(?:s|secs?|seconds)(?![a-z])", re.IGNORECASE)


def with_whole_clocks(table: RawTable) -> RawTable:
    """Return a table in which a column of seconds and one of the rest of them are one column, in seconds."""
    columns = list(table.columns)
    clocks = [c for c in columns if named(c.label, ()).quantity == "time" and _WORD.search(c.label)]
    for whole in clocks:
        if named(whole.label, ()).unit != "s" or not _counts_seconds(whole):
            continue
        for rest in clocks:
            unit = named(rest.label, ()).unit
            alike = rest.array == whole.array and _WORD.sub("", rest.label) == _WORD.sub("", whole.label)
            if unit in ("ms", "us", "ns") and alike and _is_rest(rest, si_factor(unit, "time")):
                read = whole.read - whole.values[0] + rest.read * si_factor(unit, "time")
                parts = (replace(whole, unit="s"), replace(rest, unit=unit))
                columns[columns.index(whole)] = replace(whole, read=read, unit="s", parts=parts)
                columns.remove(rest)
                break
    return replace(table, columns=tuple(columns))


def _counts_seconds(column: Column) -> bool:
    return bool(np.all(column.values % 1.0 == 0.0) and np.all(np.diff(column.values) >= 0.0))


def _is_rest(column: Column, unit: float) -> bool:
    """Return whether a column is less than a second throughout."""
    return bool(np.all((column.values >= 0.0) & (column.values * unit < 1.0)) and np.ptp(column.values) > 0.0)


def best_clock(clocks: Sequence[Column], q: Array) -> tuple[Column | None, str]:
    """Return the first clock, or another one of those called time on which positions q (N, n) move more smoothly.

    And what is to be told of the others.
    """
    first = next(iter(clocks), None)
    if first is None or not _is_called_time(first):
        return first, ""
    errors = {c: e for c in clocks if _is_called_time(c) and (e := _errors(c, q)) is not None}
    if first not in errors:
        return first, ""
    roughness = {c: _log_mean(errors[first], e) for c, e in errors.items()}
    best = min(roughness, key=lambda c: roughness[c] + LESS * (c is not first))
    rougher = [c.shown for c, x in roughness.items() if x > roughness[best] + LESS]
    return best, f"; {' and '.join(rougher)} not used: positions are less smooth on it" if rougher else ""


def why_none(column: Column) -> str:
    """Say why a column that is called time cannot be the time."""
    steps = np.diff(column.values)
    same, back = 100 * float(np.mean(steps == 0)), 100 * float(np.mean(steps < 0))
    reason = f"goes back in {back:.2g} %" if back > same else f"has the stamp of the row before in {same:.2g} %"
    return f"{column.shown} cannot be the time, for it {reason} of the rows"


def _is_called_time(column: Column) -> bool:
    return bool(column.unit) or named(column.label, ()).quantity == "time"


def _errors(column: Column, q: Array) -> Array | None:
    """Return how far positions are (n,) from what those around them say on a clock, None where that is not told."""
    t = column.values[:ENOUGH]
    new = np.concatenate([[True], np.diff(t) > 0])
    return prediction_errors(t[new], q[: len(t)][new]) if new.sum() > 10 * len(NEIGHBOURS) else None


def _log_mean(first: Array, errors: Array) -> float:
    """Return the logarithm of how many times larger errors are than those of the first clock, mean over the joints."""
    moved = (first > 0) & (errors > 0)
    return float(np.mean(np.log(errors[moved] / first[moved]))) if moved.any() else 0.0
