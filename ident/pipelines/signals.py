"""The signals of a log decided: time, positions, velocities, torques, with units, gains and the reason for each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf, pi
from pathlib import Path

import numpy as np

from ident.arrays import Array
from ident.errors import LogError
from ident.logs.manifest import DATES, UNITS, si_factor
from ident.logs.names import SIGNALS, named
from ident.logs.raw import Column
from ident.logs.readings import NOISE, continued, resting
from ident.logs.recognised import (
    ALIKE,
    LATE_ROWS,
    Family,
    Related,
    belongs,
    best_clock,
    beyond,
    clocks,
    counts,
    fitting_units,
    rate_by_limits,
    runs_slowly,
    scales,
    time_unit,
    unit_of,
    units_of,
    why_none,
    windows,
    within,
)
from ident.pipelines.gears import (
    MOTORS,
    Arm,
    Sided,
    counts_of,
    least_ratios,
    logged_joints,
    side_of,
    unit_or_ratios,
    zeros,
)
from ident.pipelines.questions import Asked, one_of, ranked
from ident.pipelines.torques import Logged, State, torques
from ident.robot import Robot

#: Positions that are no farther than this [rad] when read in degrees are in radians.
STILL = 0.15
#: Whole numbers beyond the first are no angles, in whichever unit; beyond the second likelier counts.
COUNTED, FAR = 5000.0, 720.0


@dataclass(frozen=True, eq=False)
class Signals:
    """Columns, units and gains as a dataset.toml has them; `why`: a reason for each quantity.

    time (): rows at `rate_hz`. gain: one a joint, 0 without motor; () for none. guessed: of which
    quantities gains or units, which joints they are of, or the rate are guesses.
    zeros: of the joints' positions [rad; m], () for none. count: what an encoder counts [rad; m], () without.
    """

    robot: Robot
    time: tuple[Column, ...]
    time_unit: tuple[str, ...]
    rate_hz: float
    position: tuple[Column, ...]
    position_unit: tuple[str, ...]
    side: str
    velocity: tuple[Column, ...]
    velocity_unit: tuple[str, ...]
    torque: tuple[Column, ...]
    torque_unit: tuple[str, ...]
    gain: tuple[float, ...]
    guessed: frozenset[str]
    zeros: tuple[float, ...] = ()
    count: tuple[float, ...] = ()
    why: dict[str, str] = field(default_factory=dict)

    def angles(self) -> Array:
        """Return the joints' positions (rows, n) [rad; m]."""
        scale = scales(self.position_unit) * (self.count or 1.0)
        return _angles(self.position, scale, self.robot, self.side, self.zeros)

    def of_joints(self, robot: Robot) -> Signals:
        """Return the signals of a robot that has some of the joints only."""
        left = [self.robot.joint_names.index(name) for name in robot.joint_names]
        each = ("position", "position_unit", "velocity", "velocity_unit", "torque", "torque_unit", "gain")
        own = {
            key: tuple(getattr(self, key)[k] for k in left) for key in (*each, "zeros", "count") if getattr(self, key)
        }
        return replace(self, robot=robot, **own)  # type: ignore[arg-type]


def _angles(columns: Sequence[Column], scale: Array, robot: Robot, side: str, zeros: Sequence[float]) -> Array:
    """Return the joints' positions (rows, n) [rad; m] without leaps by a whole turn; scale: SI of what is written."""
    turns = [inf if joint.slides else 2.0 * pi for joint in robot.joints]
    q = np.column_stack(continued([c.values * x for c, x in zip(columns, scale, strict=True)], turns, [])[0])
    transmission = robot.transmission
    q = np.asarray(transmission.joint_position(q)) if side == "motor" and transmission else q
    return np.asarray(q + zeros) if zeros else q


def decide(families: Sequence[Family], arm: Arm, asked: Asked, more: Sequence[Mapping[Column, Column]] = ()) -> Signals:
    """Return what the columns of a log are. Raises LogError where positions or torques are not found.

    more: the columns of further logs, by those of this one.
    """
    why: dict[str, str] = {}
    given, n = families, len(arm.names)
    slides = [joint.slides for joint in arm.of(arm.names).joints]
    # one column a joint, and no more: others are of axes and grippers that the robot file does not have
    families = [f.of_joints(slides) if f.quantity in SIGNALS else f for f in given]
    time = next(iter(clocks(families)), None)
    rows = len(families[0].columns[0].values)
    raw = _stamps(time, rows)
    position = _positions(families, arm, raw, asked, why)
    whole = next((f.columns for f in given if set(position.columns) <= set(f.columns)), ())
    if over := [c for c in whole if c not in position.columns]:
        why["position"] += (
            f"; NOTE: the robot has {n} joints that move by themselves, so {', '.join(c.shown for c in over)} and the"
            " like are not used"
        )
    why["position"] += f"; {arm.said}" * bool(arm.said)
    robot = arm.of(logged_joints(position, families, raw, arm, asked))
    position = position.like(robot.joint_names)
    time, beside = best_clock(clocks(families, position.columns[0].label), position.values)
    raw = _stamps(time, rows)
    velocity, relation = _velocities(families, position, raw)
    known = "" if velocity is None else velocity.unit
    described = robot
    sided = side_of(position, families, raw, robot, asked, why)
    unit, side, robot = _position_unit(position, robot, asked, why, known, relation, time, sided)
    count = counts_of(position.shown, robot, asked) if unit == "count" else ()
    unsure = sided.guessed or (side == "motor" and robot is not described and not asked.typed)  # of ratios
    units = units_of(unit, robot, position.sliding or _sliding_unit(position.values, unit, robot, side, why))
    unit = units[0] if "," in unit else unit  # which a clock is compared with
    scale = scales(units) * (count or 1.0)
    q = _angles(position.columns, scale, robot, side, ())
    offset = () if robot is described and not count else zeros(robot, q, asked)
    q = q + (offset or 0.0)
    time, word, rate = _clock(time, relation, unit, known, (q, robot), asked, why)
    why["time"] += beside
    if time is None and (called := [f.columns[0] for f in families if f.quantity == "time"]):
        why["time"] = why["time"].replace("no column of time", why_none(called[0]))
    seconds = 1.0 / rate if time is None else si_factor(word, "time")
    t = _stamps(time, rows) * seconds
    speed = _velocity_unit(velocity, relation, scale / seconds, robot, why)
    used = (*position.columns, *(velocity.columns if velocity else ()), *([time] if time else []))
    bodies = arm.bodies(robot) if side == "joint" else None  # what motors feel of them is not known here
    states = [
        State(
            _stamps(each[time] if time else None, len(each[position.columns[0]].values)) * seconds,
            _angles([each[c] for c in position.columns], scale, robot, side, offset),
            each,
        )
        for each in more
        if all(c in each for c in (*position.columns, *([time] if time else [])))
    ]
    way = np.ones(robot.n)
    if side == "motor" and robot.transmission is not None:
        way = np.sign(np.diag(robot.transmission.matrix))
    torque = torques(families, used, Logged(robot, t, q, bodies, states), position, asked, way)
    why["torque"] = torque.why
    guesses = {"torque": torque.guessed or unsure, "position": "joints" in asked.guessed}
    guesses["time"] = time is None and velocity is None and "rate" in asked.guessed
    return Signals(
        robot, (time,) if time else (), (word,), rate, position.columns, units, side,
        velocity.columns if velocity and speed else (), speed, torque.columns, torque.unit,
        torque.gain or (1.0,) * robot.n * unsure, frozenset(k for k, guess in guesses.items() if guess), offset, count,
        why,
    )  # fmt: skip


def _stamps(time: Column | None, rows: int) -> Array:
    """Return the time since the first row in the column's unit; where it does not grow evenly, or is none, by rows."""
    even = np.arange(rows, dtype=np.float64)
    if time is None:
        return even
    raw = np.asarray(time.values - time.values[0])
    steps = np.diff(raw)
    usual = float(np.mean(steps) if np.all(steps >= 0) else np.median(steps))
    return raw if np.all(steps > 0) else even * max(usual, 1e-12)


def _positions(families: Sequence[Family], arm: Arm, t: Array, asked: Asked, why: dict[str, str]) -> Family:
    """Return the positions: by name, else because other columns are how fast they change, else what is answered."""
    named = [f for f in families if f.quantity == "position" and len(f.columns) <= len(arm.names)]
    if measured := ranked([f for f in named if f.origin != "commanded"], len(arm.names)):
        aside = [f.shown for same in measured[1:] for f in same if f.of != (0,)]
        why["position"] = "by their names" + f" (not used: {', '.join(aside[:4])})" * bool(aside)
        return one_of(measured[0], "positions", asked, "names tell no more")
    unnamed = [f for f in families if f.columns[0] not in clocks(families)[:1]]
    speeds = [f for f in families if f.quantity == "velocity" and f.origin != "commanded"]
    for size in dict.fromkeys((len(arm.names), len(arm.turning()))):
        every = windows(unnamed, size)
        pairs = [(p, v) for p in every for v in (*every, *speeds) if not set(p.columns) & set(v.columns)]
        found = [(alike, p, v) for p, v in pairs if (alike := belongs(t, p, v)[0]) > ALIKE]
        speed = {c for *_, v in found for c in v.columns}  # whose own change is an acceleration
        if found := [f for f in found if not speed & {*f[1].columns}] or found:
            _, best, v = max(found, key=lambda f: f[0])
            rivals = [best, *dict.fromkeys(p for _, p, _ in found if not set(p.columns) & set(best.columns))]
            why["position"] = f"without names: {v.shown} are how fast they change"
            return one_of(
                rivals, "positions", asked, f"{v.shown} are how fast they change, commanded ones perhaps, too"
            )
    joints, columns = arm.names, sum(len(f.columns) for f in unnamed if not f.quantity)
    if columns % len(joints) and arm.turning():
        joints = arm.turning()
    forces = [len(f.columns) for f in families if f.quantity in ("torque", "current")]
    if forces and columns == min(forces) < len(joints):
        joints = joints[:columns]
    whole = any(len(f.columns) == len(joints) for f in unnamed if not f.quantity)
    if not forces and not whole and 2 < columns < 2 * len(joints) and columns % 2 == 0:  # a gripper is seldom logged
        joints = joints[: columns // 2]
    every = tuple(sorted(windows(unnamed, len(joints)), key=lambda w: w.origin == "commanded"))
    fits = [w for w in every if fitting_units(w.values, arm.of(joints))]
    choices = [*fits, *(w for w in every if w not in fits), *named]
    if not choices:
        fix = "Name the columns in a header, or write a dataset.toml by hand"
        raise LogError("no columns are found that are positions", file=families[0].columns[0].file, fix=fix)
    chosen = next(iter([*fits, *named]), choices[0])
    reason = "no name says it; they are the first within the joints' limits"
    if chosen in named:
        reason = "they are COMMANDED ones, for there are no measured ones"
    why["position"] = reason
    return one_of([chosen, *(c for c in choices if c is not chosen)], "positions", asked, reason, alone=True)


def _velocities(
    families: Sequence[Family], position: Family, t: Array
) -> tuple[Family | None, tuple[Related | None, ...]]:
    """Return the measured velocities, and how each belongs to its position; None where there are none."""
    named = [f for f in families if f.quantity == "velocity" and f.origin != "commanded"]
    if not any(f.quantity for f in families if f.quantity not in ("time", "index")):
        named = list(windows(families, len(position.columns)))
    found: list[tuple[float, int, Family, tuple[Related | None, ...]]] = []
    for k, other in enumerate(f for f in named if not set(f.columns) & set(position.columns)):
        family = other.like(position.of)
        alike, relations = belongs(t, position, family)
        found.append((alike, -k, family, relations))
    best = max(found, default=None, key=lambda f: f[:2])
    if best is None or best[0] < (0.9 if best[2].quantity else ALIKE):
        return None, ()
    return best[2], best[3]


def _typical(relations: Sequence[Related | None]) -> float:
    return float(np.median([r.ratio for r in relations if r is not None and r.alike > ALIKE] or [np.nan]))


def _position_unit(
    position: Family,
    robot: Robot,
    asked: Asked,
    why: dict[str, str],
    speed: str,
    relations: Sequence[Related | None],
    time: Column | None,
    sided: Sided,
) -> tuple[str, str, Robot]:
    """Return unit and side of the positions: by their name, the velocity's unit, the joints' limits; and the robot.

    That has a transmission where somebody says so.
    """
    raw, side = position.values, sided.side
    if sided.unit:
        return sided.unit, side, robot
    if side == "motor" and robot.transmission is not None:
        raw = np.asarray(robot.transmission.joint_position(raw))
    fits = fitting_units(raw, robot)
    if position.unit in UNITS["position"]:
        unit, geared, told = _named_unit(position, raw, fits, robot, asked)
        why["position"] += told
        return unit, side if geared is robot else "motor", geared
    word = time.unit or time_unit(time) if time is not None else ""
    ratio = _typical(relations)
    # a position is ratio times the integral of what counts `speed` over what counts `word`
    value = si_factor(speed, "velocity") * si_factor(word, "time") / ratio if speed and word else np.nan
    if found := unit_of(value, "position"):
        why["position"] += f"; {found}, as the velocity in {speed} shows"
        return found, side, robot
    turning = [k for k, j in enumerate(robot.joints) if not j.slides]
    if not turning:
        return ("m" if within(raw, robot) else "mm"), side, robot
    for unit, turn in (("rad", 2.0 * pi), ("deg", 360.0)):
        if continued(list(raw[:, turning].T), [turn] * len(turning), [])[1]:
            why["position"] += f"; {unit}, as they leap by a whole turn in it"
            return unit, side, robot
    far = beyond(raw, robot)
    if 2 * np.sum((np.ptp(np.deg2rad(raw), axis=0) < STILL)[turning] & ~far[turning]) > len(turning):
        names = ", ".join(robot.joint_names[k] for k in turning if far[k])
        note = f"; NOTE: {names} leaves its limits: are these, its zero and its unit right?" if names else ""
        why["position"] += f"; rad, for in deg they would hardly move{note}"
        return "rad", side, robot
    if not fits and np.abs(raw[:, turning]).max() > COUNTED and not np.any(raw[:, turning] % 1.0):
        why["position"] += "; whole numbers far beyond the joints' limits: an encoder's counts"
        return "count", side, robot
    guess, reason = "deg" if np.abs(raw[:, turning]).max() > 10 else "rad", "both keep the joints' limits"
    if "rad" not in fits and MOTORS.search(position.shown):
        guess, reason = least_ratios(raw, robot), "motors by their names, and so they keep the joints' limits"
    elif fits == ("deg",):
        guess, reason = "deg", "in rad they would leave the joints' limits (if they are not those of motors)"
    elif not fits:
        reason = "neither keeps the joints' limits: motors, or another zero?"
        if np.abs(raw[:, turning]).max() > FAR and not np.any(raw[:, turning] % 1.0):
            guess, reason = "count", "whole numbers beyond the joints' limits, as encoders count"
    unit, geared = unit_or_ratios(guess, reason, robot, asked)
    told = f"{guess}: {reason}" if (guess, *fits) == ("deg", "deg") else f"{guess} is a guess: {reason}"
    why["position"] += f"; {asked.because(told)}"
    return unit, side if geared is robot else "motor", geared


def _sliding_unit(raw: Array, unit: str, robot: Robot, side: str, why: dict[str, str]) -> str:
    """Return the unit of positions (rows, n) that slide where the usual one beside `unit` leaves limits; "" else."""
    slides = np.array([joint.slides for joint in robot.joints])
    if not slides.any() or slides.all() or side != "joint" or "," in unit:
        return ""
    usual = units_of(unit, robot)[int(np.argmax(slides))]
    far = {x: beyond(raw * si_factor(x, "position"), robot)[slides] for x in ("m", "mm")}
    other = {"m": "mm", "mm": "m"}.get(usual, "")
    if not other or not far[usual].any() or far[other].any():
        return ""
    why["position"] += f"; {other} where they slide, for in {usual} they would leave their limits"
    return other


def _named_unit(
    position: Family, raw: Array, fits: Sequence[str], robot: Robot, asked: Asked
) -> tuple[str, Robot, str]:
    """Return the unit that positions (rows, n) are called, or what is answered in its place, the robot, and why.

    fits: which of rad and deg keep the limits. The robot has a transmission where none could turn as they do.
    """
    unit = position.unit
    if unit in ("rad", "deg") and fits and unit not in fits:
        reason = f"the name says {unit}, but only in {fits[0]} do they keep the limits"
        answer = asked("position unit", "In which unit are the positions?", unit, reason, ("rad", "deg"))
        return answer, robot, f"; {asked.because(reason)}"
    q, told = raw * si_factor(unit, "position"), f"; {unit} by their name"
    of_motors = robot.transmission is None and (unit == "rev" or MOTORS.search(position.shown) is not None)
    if not of_motors or not beyond(q, robot).all():
        return unit, robot, told
    reason = f"in {unit} all would leave their limits: of motors then, and so they keep them"
    _, geared = unit_or_ratios(least_ratios(q, robot), reason, robot, asked)
    return unit, geared, f"{told}; {asked.because(f'the ratios are a guess: {reason}')}"


def _clock(
    time: Column | None,
    relations: Sequence[Related | None],
    unit: str,
    speed: str,
    log: tuple[Array, Robot],
    asked: Asked,
    why: dict[str, str],
) -> tuple[Column | None, str, float]:
    """Return the column of time with its unit, or None and the rate: from the velocity, else guessed from limits."""
    q, robot = log
    velocity = si_factor(speed or ("deg/s" if unit == "deg" else "rad/s"), "velocity")
    per_unit = _typical(relations) * si_factor(unit, "position") / velocity  # seconds in one unit of the clock
    only_counts = time is not None and counts(time.values)
    if time is not None:
        word, said = named(time.label, ()).unit, named(time.label, ()).quantity
        by_speed = [u for u in UNITS["time"] if abs(per_unit / si_factor(u, "time") - 1) < 0.1]
        if time.unit:
            parts = " and ".join(c.shown for c in time.parts)
            why["time"] = "dates and clock times" if time.unit == DATES else f"{parts} are one clock"
            return time, time.unit, 0.0
        if word in UNITS["time"] and not (only_counts and runs_slowly(time, word)):  # sample numbers are called so, too
            why["time"] = f"{word} by its name"
            return time, word, 0.0
        if by_speed:
            off = 100.0 * abs(per_unit / si_factor(by_speed[0], "time") - 1.0)
            why["time"] = f"{by_speed[0]}: the velocity is the change of the position in it"
            why["time"] += f", but for {off:.2g} %" if off > 1.0 else ""
            return time, by_speed[0], 0.0
        word = time_unit(time)
        if word and said != "index" and not (only_counts and said != "time"):
            step = float(np.median(np.diff(time.values))) * si_factor(word, "time")
            why["time"] = f"{word}: {1 / step:.4g} Hz then"
            if only_counts:
                word = asked("time unit", "In which unit is the time?", word, why["time"], ("s", "ms", "us", "ns"))
                why["time"] = asked.because(why["time"])
            return time, word, 0.0
    if np.isfinite(per_unit) and per_unit > 0:
        rate = float(f"{1 / per_unit:.3g}")
        why["time"] = "no column of time; the velocity is the change of the position at this rate"
        if speed:
            return None, "s", rate
        why["time"] += ", if both have one unit of angle"
    else:
        rate = rate_by_limits(q, robot) or 1000.0
        why["time"] = "no column of time: a GUESS, the highest usual rate that keeps the joints' limits of velocity"
    rate = asked.number("rate", "At how many Hz was the log recorded?", rate, why["time"])
    why["time"] = asked.because(why["time"])
    return None, "s", rate


def _velocity_unit(
    velocity: Family | None, relations: Sequence[Related | None], scale: Array, robot: Robot, why: dict[str, str]
) -> tuple[str, ...]:
    """Return the velocities' units, () where they are better left out; `why` says it.

    scale (n,): what a ratio of raw numbers is multiplied by to be that of SI units.
    """
    if velocity is None:
        return ()
    known = velocity.unit if velocity.unit in UNITS["velocity"] else ""
    sizes = [r.ratio * k if r is not None and r.alike > ALIKE else None for r, k in zip(relations, scale, strict=True)]
    moving = [(joint.slides, x) for joint, x in zip(robot.joints, sizes, strict=True) if x is not None]
    turning = [unit_of(x, "velocity") for slides, x in moving if not slides]
    usual = turning[0] if turning else known or "rad/s"
    sliding = [unit_of(x, "velocity", "length") for slides, x in moving if slides] or [velocity.sliding or "m/s"]
    units = tuple(sliding[0] if joint.slides else usual for joint in robot.joints)
    why["velocity"] = f"left out: {velocity.shown} are not how fast the positions change, in no known unit"
    if len(set(turning)) > 1 or len(set(sliding)) > 1 or not usual or not sliding[0]:
        return ()
    late = float(np.median([r.late for r in relations if r is not None and r.alike > ALIKE] or [0]))
    if late > LATE_ROWS:
        why["velocity"] = f"left out: {velocity.shown} are {late:.0f} rows later than the positions"
        return ()
    why["velocity"] = "the change of the positions"
    return units


def parked(logs: Sequence[Signals], robot: Path) -> tuple[dict[str, float], list[str]]:
    """Return the joints of a URDF that rest in every log and where [rad; m], none where all do; what is to be told."""
    names = logs[0].robot.joint_names
    if any(log.robot.joint_names != names or log.side == "motor" for log in logs):
        return {}, []
    each = [log.angles() for log in logs]
    still = np.all([resting(q) for q in each], axis=0)
    places = np.array([np.median(q, axis=0) for q in each])
    one = (np.ptp(places, axis=0) < NOISE) & (robot.suffix.lower() != ".toml")
    if still.all():
        return {}, []
    held = {name: round(float(places[0, j]), 4) + 0.0 for j, name in enumerate(names) if still[j] and one[j]}
    told = [f"{name} rests in every log, at {at:g}: robot.toml locks it there" for name, at in held.items()]
    free = ", ".join(name for name, rests in zip(names, still, strict=True) if rests and name not in held)
    told += [f"{free} rests in every log, and stays free: nothing is found of its friction and drive"] * bool(free)
    return held, told
