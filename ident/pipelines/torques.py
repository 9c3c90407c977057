"""The torques of a log decided: which columns, of which joints, in which unit, with which gains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import log10

import numpy as np

from ident.arrays import Array
from ident.compare.columns import Evidence, evidence, gravity_of, load_of, pace_of
from ident.errors import LogError
from ident.logs.manifest import si_factor
from ident.logs.raw import Column
from ident.logs.recognised import ALIKE, Family, related, windows
from ident.logs.unscaled import weight
from ident.pipelines.questions import Asked, one_of, ranked, words
from ident.pipelines.torque_units import RAW_UNITS, Counts, of_force, unit_of
from ident.robot import Robot

#: Columns whose explained share is this much below the best are no rivals of it.
RIVAL = 0.15
#: The order of columns is doubted where another one explains so much more on average.
BETTER = 0.05
#: And the other one is the guess where it explains so much more.
MUCH_BETTER = 0.3
#: Bodies contradict friction where their centre of mass is farther from the axis than this share of the robot's reach:
#: nearer, one that is a little off the described one turns the sign.
LEVER = 0.005
#: Links that weigh so many times the largest torque of their joint, and of what they do at the middle one, are held by
#: something else; at how many postures they are weighed.
WEIGHTLESS, POSTURES = 5.0, 200
#: A column that is so much like a position or its change is no torque.
COPY = 0.998


@dataclass(frozen=True, eq=False)
class Torques:
    """A column, a unit and a gain (0 without motor) for each joint, and why; gain (): all 1; guessed: whether it is."""

    columns: tuple[Column, ...]
    unit: tuple[str, ...]
    gain: tuple[float, ...]
    guessed: bool
    why: str


@dataclass(frozen=True, eq=False)
class State:
    """Where the robot was in a log, t (N,) [s] and q (N, n) [rad; m], and its columns by those of the first log."""

    t: Array
    q: Array
    columns: Mapping[Column, Column]


@dataclass(frozen=True, eq=False)
class Logged:
    """The first log, t (N,) [s] and q (N, n) [rad; m], and more that know its columns; bodies (n, 10) where known."""

    robot: Robot
    t: Array
    q: Array
    bodies: Array | None
    more: Sequence[State]

    def of(self, columns: Sequence[Column]) -> Evidence:
        """Return the evidence of the first log."""
        values = np.column_stack([c.values for c in columns])
        return evidence(self.robot, self.bodies, self.t, self.q, values)

    def of_all(self, columns: Sequence[Column]) -> Evidence:
        """Return the evidence of the first log, its ratios and signs with those of the others."""
        first = self.of(columns)
        every = [first]
        for log in self.more:
            if all(c in log.columns for c in columns):
                values = np.column_stack([log.columns[c].values for c in columns])
                every.append(evidence(self.robot, self.bodies, log.t, log.q, values))
        ratio = np.array([e.ratio for e in every])
        told = np.isfinite(ratio).any(axis=0)
        middle = np.where(told, np.nanmedian(np.where(told, ratio, 0.0), axis=0), np.nan)
        return replace(first, ratio=middle, sign=np.sign(np.sum([e.sign for e in every], axis=0)))


def torques(
    families: Sequence[Family], used: Sequence[Column], log: Logged, position: Family, asked: Asked, way: Array
) -> Torques:
    """Return the torques among the columns that are not `used`; further logs say more of gains and signs.

    way (n,): -1 where a motor turns against its joint and the torques are those of motors, else 1. Raises LogError
    where there are none.
    """
    robot, bodies = log.robot, log.bodies
    left = [f for f in families if not set(f.columns) & set(used)]
    family, why = _chosen(left, log, asked)
    log, mounted = _as_mounted(log, family)
    why += f"; NOTE: {mounted}" * bool(mounted)
    columns, why_order = _of_joints(family, position, log, asked)
    found = log.of_all([c for c in columns if c is not None])
    driven = [j for j, c in enumerate(columns) if c is not None]
    at = driven, np.arange(len(driven))
    ratio, size = (found.ratio[at], found.size[at]) if bodies is not None else (np.full(len(driven), np.nan), ())
    friction, others = (found.sign * way[:, None])[at], _of_others(found) if len(driven) == robot.n else []
    ratio[others], friction[others] = np.nan, 0.0
    ratio[(found.lever[driven] < LEVER * robot.reach) & (ratio * friction < 0)] = np.nan
    if others:
        names = " and ".join(robot.joint_names[j] for j in others)
        why_order += "; " * bool(why_order) + f"NOTE: {names} may have each other's columns, so their signs stay"
    joints = [robot.joints[j] for j in driven]
    most = np.array([np.abs(c.values).max() for c in columns if c is not None])
    known, why_known = constants(left, family)
    if known:
        unit, guessed, why_unit = family.unit or "A", False, f"currents: {why_known}"
        gain = np.array([known[c] for c in columns if c is not None])
    else:
        unit, gain, guessed, why_unit = unit_of(
            family, joints, Counts(ratio, found.swing[driven], size, friction, most), asked
        )
    first = next(c for c in columns if c is not None)
    whole, gains = tuple(c or first for c in columns), np.zeros(robot.n)
    gains[driven] = gain
    units = tuple(of_force(unit, family) if j.slides else unit for j in robot.joints)
    if bodies is not None and not guessed:
        scale = gains * [si_factor(u, "torque") for u in units]
        why_left = _leave_out_weightless(gains, np.column_stack([c.values for c in whole]) * scale, log, asked)
        why_unit += f"; NOTE: {why_left}" * bool(why_left)
    said = tuple(float(g) for g in gains)
    guessed |= "no motor" in asked.guessed
    plain = all(g == 1.0 for g in said) and unit not in RAW_UNITS
    return Torques(whole, units, () if plain else said, guessed, "; ".join(w for w in (why, why_order, why_unit) if w))


def _as_mounted(log: Logged, family: Family) -> tuple[Logged, str]:
    """Return the log with the gravity and the load that its torques ask for, where these are called so, and a note.

    Bodies tell columns and units only where both are right: one on a wall would else be logged in amperes.
    """
    named = family.quantity == "torque" and family.unit in ("", "N m") and len(family.columns) == log.robot.n
    if not named or log.bodies is None or np.isnan(log.bodies).any():
        return log, ""
    tau = np.column_stack([c.values for c in family.columns])
    robot, note = of_gravity_and_time(log.robot, log.bodies, log.t, log.q, tau)
    bodies, of_tool = of_load(robot, log.bodies, log.t, log.q, tau) if not note else (log.bodies, "")
    return replace(log, robot=robot, bodies=bodies), note or of_tool


def _leave_out_weightless(gains: Array, tau: Array, log: Logged, asked: Asked) -> str:
    """Set gains (n,) of joints to nan whose torques (N, n) [N m; N] have nothing of gravity, as answered; say why."""
    pulled = weight(replace(log.robot, inertials=log.bodies), log.q[:: max(1, len(log.q) // POSTURES)])
    largest, told = np.abs(tau).max(axis=0), []
    times = pulled / np.where(largest > 0, largest, np.inf)
    for j in np.flatnonzero(times > WEIGHTLESS * max(1.0, float(np.median(times)))):
        joint = log.robot.joints[j]
        why = f"{joint.name} reaches {largest[j]:.3g} {joint.unit('torque')} where its links weigh {pulled[j]:.3g}:"
        why += " a balancer or its drive takes gravity out, or it is in another unit"
        if asked("without gravity", f"Is the torque of {joint.name} left out?", "yes", why, ("yes", "no")) == "yes":
            gains[j] = np.nan
            told.append(f"{why}; left out (gain nan)")
    return "; ".join(told)


#: The raw unit of columns whose names say none.
def _chosen(families: Sequence[Family], log: Logged, asked: Asked) -> tuple[Family, str]:
    """Return the family of columns that are the torques: by name, else by what the robot's bodies explain."""
    n = log.robot.n
    for quantity in ("torque", "current"):
        named = [f for f in families if f.quantity == quantity and f.origin != "commanded"]
        same = next(iter(ranked(named, n)), [])
        if same:
            shares = [_share(f, log) for f in same]
            few = len(same[0].columns) < n  # then others of them may be those of the other joints
            best = [same[k] for k in np.argsort(-np.array(shares)) if few or shares[k] > max(shares) - RIVAL]
            reason = "the bodies explain " + ("these best, and they are too few" if few else "them alike")
            aside = [f.shown for f in families if f.quantity in ("torque", "current") and f not in same]
            why = "by their names" + (f" (not used: {', '.join(aside[:4])})" if aside else "")
            return one_of(best, "torques", asked, reason), why
    unnamed = [f for f in families if not f.quantity]
    every = [w for w in windows(unnamed, n) if not _copies(w, log)]
    every = [w for w in every if not _accelerations(w, log)] or every
    if not every and 0 < len(unnamed) < n:
        every = [w for w in windows(unnamed, len(unnamed)) if not _copies(w, log)]
    if every:
        shares = [_share(w, log) for w in every]
        rivals = [w for w, s in zip(every, shares, strict=True) if s > max(shares) - RIVAL]
        loud = [float(np.median(log.of(w.columns).noise / np.std(w.values, axis=0))) for w in rivals]
        guess = rivals[int(np.argmax(loud))]
        others = [w for w in rivals if not set(w.columns) & set(guess.columns)]
        reason = f"the robot's bodies and friction explain {100 * _share(guess, log):.0f} % of them"
        if others:
            reason += ", and they are the noisiest of such columns: commanded ones are smooth"
        return one_of([guess, *others], "torques or currents", asked, reason), f"without names: {reason}"
    commanded = ranked([f for f in families if f.quantity in ("torque", "current")], n)
    if commanded:
        reason = "they are COMMANDED ones, for there are no measured ones"
        return one_of(commanded[0], "torques or currents", asked, reason, alone=True), reason
    seen = f" (there are {', '.join(f.shown for f in families[:6])})" if families else ""
    fix = "Give the log that has them too, call them tau_1, tau_2, ..., or write a dataset.toml by hand"
    where = families[0].columns[0].file if families else None
    raise LogError(f"no columns are found that are torques or currents{seen}", file=where, fix=fix)


def _share(family: Family, log: Logged) -> float:
    """Return the share of the columns' variance that the joints explain, the column of each joint in its order."""
    found = log.of(family.columns).explained
    whole = len(family.columns) == log.robot.n
    return float(np.mean(np.diag(found) if whole else found.max(axis=0)))


def _copies(family: Family, log: Logged) -> bool:
    """Return whether a column is one of the positions or of their change, or does not change."""
    speed = np.gradient(log.q, log.t, axis=0)
    both = np.column_stack([log.q, speed])
    for column in family.columns:
        if np.ptp(column.values) == 0:
            return True
        with np.errstate(invalid="ignore", divide="ignore"):
            alike = np.corrcoef(np.column_stack([column.values, both]).T)[0, 1:]
        if np.nanmax(np.abs(alike), initial=0.0) > COPY:
            return True
    return False


def _accelerations(family: Family, log: Logged) -> bool:
    """Return whether columns, one a joint, are how fast velocities change; torques are that where inertia is all."""
    speed = np.gradient(log.q, log.t, axis=0).T
    found = [related(log.t, v, c.values) for v, c in zip(speed, family.columns, strict=True)]
    return float(np.median([abs(r.alike) for r in found if r is not None] or [0.0])) > ALIKE


def _of_joints(family: Family, position: Family, log: Logged, asked: Asked) -> tuple[list[Column | None], str]:
    """Return the column of each joint, None for one without, and why."""
    family = family.like(position.of)
    robot, of = log.robot, family.of
    if all(isinstance(name, str) for name in of):
        by_name = dict(zip(of, family.columns, strict=True))
        return _driven([by_name.get(name) for name in robot.joint_names], family, robot, asked)
    if len(of) > robot.n:
        problem = f"{family.shown} are torques of {len(of)} joints, and {position.shown} positions of {robot.n}"
        raise LogError(problem, file=family.columns[0].file, fix="Call the columns by their joints' names or numbers")
    explained = log.of(family.columns).explained
    if len(of) < robot.n:
        if set(of) <= set(position.of) and of != (0,):
            by_number = dict(zip(of, family.columns, strict=True))
            return _driven([by_number.get(number) for number in position.of], family, robot, asked)
        names = robot.joint_names
        guess = [names[int(j)] for j in np.argmax(explained, axis=0)]
        text = f"Which joints are {family.shown} the torques of?"
        why = "that joint explains it best; the others have no motor"
        answer = words(asked("driven", text, ", ".join(guess), why, joints=names), names)
        by_name = dict(zip(answer, family.columns, strict=True))
        return [by_name.get(name) for name in names], why
    order = _best_order(explained)
    gain = float(np.mean(explained[np.arange(robot.n), order]) - np.mean(np.diag(explained)))
    if gain < BETTER:
        return list(family.columns), ""
    shown = [", ".join(family.columns[k].shown for k in way) for way in (range(robot.n), order)]
    why = f"in the order {shown[1]} the robot explains {100 * gain:.0f} % more of them"
    # names are believed, and `ident run` doubts them
    nameless = all(c.array is not None or not c.label for c in family.columns)
    likely = shown[1] if nameless and gain > MUCH_BETTER else shown[0]
    answer_order = asked("order", "In which order are the torques those of the joints?", likely, why, tuple(shown))
    return [family.columns[k] for k in (order if answer_order == shown[1] else range(robot.n))], f"NOTE: {why}"


def _of_others(found: Evidence) -> list[int]:
    """Return the joints whose columns may be those of others: what they say of signs and gains is nothing then.

    Joints that another order explains better; and two that friction would drive, and neither of them with the other's
    column: one swap is likelier than two signs.
    """
    told, sign = found.explained, found.sign
    order = _best_order(told)
    if np.mean(told[np.arange(len(told)), order]) - np.mean(np.diag(told)) >= BETTER:
        return [j for j, k in enumerate(order) if k != j]
    for j, k in combinations(np.flatnonzero(np.diag(sign) < 0).tolist(), 2):
        swapped = sign[j, k], sign[k, j]
        if min(swapped) >= 0 < max(swapped) and told[j, k] + told[k, j] > told[j, j] + told[k, k] - BETTER:
            return [j, k]
    return []


def _best_order(explained: Array) -> Array:
    from scipy.optimize import linear_sum_assignment

    return np.asarray(linear_sum_assignment(-explained)[1])


def _driven(
    columns: list[Column | None], family: Family, robot: Robot, asked: Asked
) -> tuple[list[Column | None], str]:
    """Return the columns, and why some joints have none; LogError where those have a motor after all."""
    without = ", ".join(name for name, c in zip(robot.joint_names, columns, strict=True) if c is None)
    if not without:
        return columns, ""
    alone = not family.columns[0].label
    why = f"{family.shown} is all there is" if alone else f"no column of {family.shown} is called so"
    if asked("no motor", f"Is {without} without motor?", "yes", why, ("yes", "no")) == "no":
        fix = "Add its column to the log, or lock it in the robot's file where it rests"
        raise LogError(f"there is no torque of {without}", file=family.columns[0].file, fix=fix)
    return columns, f"NOTE: {without} taken for a joint without motor, for {why}"


# ---- what torques in N m say of gravity, a load and time, where bodies are known --------------------------------

#: Gravity [m/s^2] that torques ask for is believed where it is about as large as it is, turned from the robot's own by
#: more than that cosine, and leaves so little of the torques' squares, and of those that are left with the robot's own.
GRAVITY, TURNED, LEFT = (7.7, 12.5), 0.94, (0.2, 0.2)
#: Accelerations are believed to be so near to a power of a hundred times the log's, where less than this share is left.
PACE, LESS = 2.5, 0.8
#: A load is believed that leaves so little of the torques' squares, and of those that gains in its place leave, and
#: with which each joint's torque counts about 1 N m for one.
LOADED, AS_MUCH = (0.1, 0.8), (0.85, 1.18)


def of_gravity_and_time(robot: Robot, bodies: Array, t: Array, q: Array, tau: Array) -> tuple[Robot, str]:
    """Return the robot with the gravity that torques tau (N, n) [N m; N] ask for, and what to say where that is another
    one than its own, or where time runs otherwise; bodies (n, 10), positions q (N, n) [rad; m] at t (N,) [s].
    """
    found, before, after = gravity_of(robot, bodies, t, q, tau)
    own, size = robot.gravity, float(np.linalg.norm(found))
    turned = found @ own < TURNED * size * np.linalg.norm(own)
    if not turned or not GRAVITY[0] < size < GRAVITY[1] or after > min(LEFT[0], LEFT[1] * before):
        return robot, _of_time(robot, bodies, t, q, tau)
    said = ", ".join(f"{x:.3g}" for x in found)
    note = f"in N m they ask for gravity along ({said}) m/s^2 of the base, which the robot file has along"
    note += f" ({', '.join(f'{x:.3g}' for x in own)}): is it mounted so? In robot.toml that is `gravity = [{said}]`"
    return robot.with_gravity(found), note


def of_load(robot: Robot, bodies: Array, t: Array, q: Array, tau: Array) -> tuple[Array, str]:
    """Return bodies (n, 10) with the load on the last link that torques tau (N, n) [N m; N] ask for where this explains
    them and gains do not, and what to say of it; else the bodies as they are. Otherwise as `of_gravity_and_time`.
    """
    load, counts, left, scaled = load_of(robot, bodies, t, q, tau)
    alike = AS_MUCH[0] < counts.min() and counts.max() < AS_MUCH[1]
    if not alike or load[0] <= 0.0 or left > min(LOADED[0], LOADED[1] * scaled):
        return bodies, ""
    loaded = bodies.copy()
    loaded[-1] += load
    return loaded, f"in N m they ask for {load[0]:.3g} kg more on {robot.links[-1]}: a tool that the robot file lacks?"


def _of_time(robot: Robot, bodies: Array, t: Array, q: Array, tau: Array) -> str:
    weight, faster, before, after = pace_of(robot, bodies, t, q, tau)
    heavy = GRAVITY[0] < float(np.linalg.norm(robot.gravity)) * weight < GRAVITY[1]
    if not heavy or faster <= 0.0 or after > LESS * before:
        return ""
    times = 10.0 ** round(log10(faster) / 2.0)
    if times == 1.0 or not 1.0 / PACE < faster / times**2 < PACE:
        return ""
    rate = times * (len(t) - 1) / float(t[-1] - t[0])
    said = f"bodies as described are accelerated {faster:.3g} times as much as the log has it"
    return f"{said}: does its time run {times:g} times as fast? `time = {{ rate_hz = {rate:.4g} }}` says so"


# ---- what an ampere is, where a controller logs the torques, and the currents, that it asks for ------------------

#: Torques that are asked for differ from those of a constant by this share of their size, at most.
_PROPORTIONAL = 0.02


def constants(families: Sequence[Family], family: Family) -> tuple[Mapping[Column, float], str]:
    """Return the gain [N m or N for 1] of each column of a family of currents, and why; nothing where none is told.

    What a controller asks for as torque and as current is in proportion where it knows a constant and no more.
    """
    others = [f for f in families if f is not family and f.of == family.of]
    if family.quantity != "current" or len(set(family.of)) < len(family.of):
        return {}, ""
    for told, drives in ((a, b) for a in others for b in others if a.origin == b.origin):
        if told.quantity == "torque" and drives.quantity == "current" and told.unit in ("", "N m", "N"):
            size = np.sum(drives.values**2, axis=0)
            gains = np.sum(told.values * drives.values, axis=0) / np.where(size > 0.0, size, 1.0)
            left = np.linalg.norm(told.values - gains * drives.values, axis=0)
            if np.all(gains != 0.0) and np.all(left <= _PROPORTIONAL * np.linalg.norm(told.values, axis=0)):
                each = dict(zip(family.columns, (float(f"{g:.5g}") for g in gains), strict=True))
                return each, f"so many N m (N) of {told.shown} go with 1 of {drives.shown}"
    return {}, ""
