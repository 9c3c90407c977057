"""Mistakes in a robot file and in what a log is said to be, each with how both are read without it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from math import cos, exp, log, pi, radians

import numpy as np

from ident.arrays import Array
from ident.compare.causes import undone
from ident.compare.causes.geometries import DH, Described, File, Geometry
from ident.compare.causes.undone import Without
from ident.robot.robot import Robot
from ident.tables import below

#: How probable a mistake of each kind is beforehand; they sum to 1.
PRIOR = {
    "gravity": 0.06, "weightless": 0.02, "tilt": 0.05, "zero": 0.09, "direction": 0.04, "signs": 0.02, "geometry": 0.06,
    "length": 0.06, "lengths": 0.04, "joint order": 0.05, "coupling": 0.02, "columns": 0.06, "torque sign": 0.06,
    "hand": 0.01, "torque gain": 0.04, "gear": 0.02, "position sign": 0.04, "position scale": 0.01, "angle unit": 0.05,
    "clock": 0.03, "clocks": 0.005, "delay": 0.01, "load": 0.02, "fading": 0.01, "drifting": 0.01, "warming": 0.01,
    "crosstalk": 0.005, "blur": 0.01, "velocity": 0.01, "touch": 0.01, "term": 0.04, "apart": 0.02, "saturation": 0.01,
}  # fmt: skip
#: Those that are mended in the robot file where nothing else is said; the others in what the log is said to be.
ROBOT = {"gravity", "tilt", "zero", "direction", "geometry", "length", "lengths", "coupling"}
#: Gravity that is nearer to an axis of the base than this is along it, or the base is tilted.
_ALONG = cos(radians(20))
#: What may look like a torque that is too small.
WEIGHTLESS = "its torque is without gravity, as where a balancer or its drive takes it out"
#: Positions of all joints [rad; m] at which it is looked on which gravity acts.
_POSTURES = (0.0, 0.7, -1.1)
_DEGREE = pi / 180
#: Shortest and longest logs [s], rates [Hz], and reaches of robots [m], that are.
_DURATIONS, _RATES, _REACHES = (1.0, 1e5), (5.0, 5e4), (0.1, 20.0)
#: Words after values above 0, and after those below.
_OPPOSITES = {"larger": "smaller", "more": "less", "% more": "% less", "longer": "shorter", "ms late": "ms early"}
#: Arms do not turn a joint by more than this [rad]: where it would, its position is in no other unit.
_TURNS = 8 * pi
#: Lengths [m] that are thought to be in another unit where they are not between these, and a thousandth or a thousand
#: times as long is within the others.
_USUAL, _POSSIBLE = (0.05, 1.0), (1e-3, 5.0)


#: What torques are that follow the motion late.
LATE, BLURRED, STAMPED = "torques come", "torques are blurred", "torques are stamped by another clock"


@dataclass(frozen=True)
class Size:
    """What values a mistake has: usually about `usual`; up to `ordinary` they are no mistake, but what any robot has.

    unit: what a value is told in; None: it is the logarithm of a factor, told in percent. least: no smaller one shows;
    far: spreads beyond which no value is looked for.
    """

    usual: float
    ordinary: float
    unit: float | None = None
    least: float = 0.0
    far: float = 5.0

    @property
    def most(self) -> float:
        """The largest value that is looked for."""
        return self.far * self.usual

    def said(self, text: str, value: float) -> str:
        """Return a text with a value for `{}`, the same in SI for `{si}` and `{-si}`, and its factor for `{factor}`."""
        factor = exp(value) if self.unit is None else 1.0
        told = value / self.unit if self.unit else 100 * (factor - 1)
        for more, less in _OPPOSITES.items():
            if f"{{}} {more}" in text:
                text, told = text.replace(f"{{}} {more}", f"{{}} {more if told > 0 else less}"), abs(told)
        text = text.replace("{}", f"{told:.3g}" if self.unit else f"{told:.3g} %").replace("{si}", f"{value:.4g}")
        text = text.replace("{-si}", f"{-value:.4g}")
        return text.replace("{factor}", f"{factor:.4g}")


@dataclass(frozen=True, eq=False)
class Mistake:
    """One mistake: its kind, where it is, what it is, what to change.

    In the latter `{}` stands for its value where it has one, `{factor}` for what that makes of 1. without: the reading
    without it, from a reading and its value. size: of its values, None where it has none. slight: what explains no more
    than this share of any joint's torque is what any robot has. changed: which file to change, where not its kind says.
    """

    kind: str
    where: str
    what: str
    mend: str
    without: Without
    size: Size | None = None
    slight: float = 0.0
    changed: File | None = None

    @property
    def file(self) -> File:
        """Which file to change."""
        if self.changed is not None:
            return self.changed
        if self.kind in ROBOT:
            return "robot"
        if self.kind in ("term", "elastic", "load"):
            return "model"
        return "table" if self.kind.startswith("CAD ") else "log"

    def words(self, value: float) -> tuple[str, str]:
        """Return what it is, and what to change."""
        if self.size is None:
            return self.what, self.mend
        return self.size.said(self.what, value), self.size.said(self.mend, value)


def mistakes(
    robot: Robot,
    geometries: Mapping[str, Geometry] | None = None,
    duration: float = 60.0,
    rate_hz: float = 100.0,
    described: Described = DH,
    travel: Array | None = None,
) -> tuple[Mistake, ...]:
    """Return every mistake that is thought of; geometries: other robots by what was mistaken in theirs.

    duration [s], rate_hz: of the log, as they are declared; described: what the robot is described by; travel (n,): how
    far its joints go in the log [rad; m], by default nowhere.
    """
    others = (
        Mistake("geometry", "robot", what, other.mend, undone.robot(other.robot))
        for what, other in (geometries or {}).items()
    )
    found = (
        _gravity(robot, described), others, _lengths(robot), _joints(robot, described), _pairs(robot, described),
        _columns(robot), _whole_log(robot, duration, rate_hz),
        _channels(robot, np.zeros(robot.n) if travel is None else travel),
    )  # fmt: skip
    return tuple(mistake for each in found for mistake in each)


def _gravity(robot: Robot, described: Described) -> Iterator[Mistake]:
    size = float(np.linalg.norm(robot.gravity))
    usual = size if 5.0 < size < 15.0 else 9.81

    for axis, letter in enumerate("xyz"):
        for sign, word in ((1.0, "+"), (-1.0, "-")):
            gravity = sign * usual * np.eye(3)[axis]
            if gravity @ robot.gravity < _ALONG * usual * size or not size:
                what = f"gravity points along {word}{letter} of the base, not as described"
                yield Mistake("gravity", "robot", what, described.gravity(gravity), undone.gravity(gravity))
    if not size:
        return
    for times, what in (
        (0.0, "the torques are without gravity, as after a drive that takes it out"),
        (2.0, "the torques hold gravity twice, as where what a drive adds against it is added once more"),
    ):
        gravity = times * robot.gravity
        yield Mistake("gravity", "all joints", what, described.gravity(gravity), undone.gravity(gravity))
    what = "the torques are those that hold the robot, none of what moves it, as where a hand does"
    yield Mistake("hand", "all joints", what, "log motions that the drives make by themselves", undone.at_rest)
    for j in np.flatnonzero(pulled(robot)):
        name = robot.joint_names[j]
        mend = "log its whole torque, or leave it out, with its `gain` nan: without gravity it tells nothing of masses"
        yield Mistake("weightless", name, WEIGHTLESS, mend, undone.weightless(np.arange(robot.n) == j))
    if 0.9 < size < 1.1:
        gravity = 9.81 * robot.gravity / size
        yield Mistake(
            "gravity", "robot", "gravity is a direction alone", described.gravity(gravity), undone.gravity(gravity)
        )


def pulled(robot: Robot) -> Array:
    """Return whether gravity acts on each joint (n,): more than a tilted base makes it act on any, in some posture."""
    found = np.zeros(robot.n)
    for posture in _POSTURES:
        for j, (joint, pose) in enumerate(zip(robot.joints, robot.poses(np.full(robot.n, posture)), strict=True)):
            axis = pose.rotation @ joint.axis
            share = axis @ robot.gravity if joint.slides else np.linalg.norm(np.cross(axis, robot.gravity))
            found[j] = max(found[j], abs(float(share)))
    return np.asarray(found > (1.0 - _ALONG**2) ** 0.5 * np.linalg.norm(robot.gravity))


def _lengths(robot: Robot) -> Iterator[Mistake]:
    every = {j: np.ones(3) for j in range(robot.n)}
    for factor, word in (
        (1e-3, "millimetres, not metres"), (1e3, "metres, not millimetres"), (0.0254, "inches, not metres"),
        (1 / 0.0254, "metres, not inches"),
    ):  # fmt: skip
        if _REACHES[0] < robot.reach * factor < _REACHES[1]:
            change = undone.fixed(undone.longer(every), log(factor))
            yield Mistake("lengths", "robot", f"all lengths are in {word}", f"multiply them by {factor:.5g}", change)
    # what moves the first joint as a whole changes no torque
    for j in range(1, robot.n):
        for axis, letter in enumerate("xyz"):
            along = float(robot.joints[j].placement.position[axis])
            if abs(along) < _POSSIBLE[0]:
                continue
            name, which = robot.joints[j].name, undone.longer({j: np.eye(3)[axis]})
            its = f"its distance of {along:.4g} m along {letter} from the joint before"
            size = Size(0.1, max(0.003 / abs(along), 0.02))
            yield Mistake("length", name, f"{its} is off by {{}}", "multiply it by {factor}", which, size)
            for factor in (1e-3, 1e3):
                odd = not _USUAL[0] < abs(along) < _USUAL[1]
                if odd and _POSSIBLE[0] < abs(along) * factor < _POSSIBLE[1]:
                    mend = f"make that distance {along * factor:.4g} m"
                    change = undone.fixed(which, log(factor))
                    yield Mistake("length", name, f"{its} is in another unit", mend, change)


def _joints(robot: Robot, described: Described) -> Iterator[Mistake]:
    for j, joint in enumerate(robot.joints):
        one = np.eye(robot.n)[j]
        yield from (zero(joint.name, j, quarter, described) for quarter in (90, -90, 180) if not joint.slides)
        word = "mm" if joint.slides else "degrees"
        size = Size(0.02, 0.005, 1e-3) if joint.slides else Size(3 * _DEGREE, 1.5 * _DEGREE, _DEGREE)
        same = "{si} m" if joint.slides else "{si} rad"
        mend = f"add {{}} {word} ({same}) to {described.offset}; or {_calibrated('zeros', joint.name)}"
        what = f"its zero is off by {{}} {word}"
        yield Mistake("zero", joint.name, what, mend, undone.more("zeros", j), size, changed=described.offset_in)
        way = "slides" if joint.slides else "turns"
        what, mend = f"it {way} the other way than the robot file says", "change its sign, or turn its axis round"
        yield Mistake("direction", joint.name, what, mend, undone.joints(np.diag(1.0 - 2.0 * one)))


def zero(name: str, j: int, degrees: float, described: Described) -> Mistake:
    """Return that the zero of joint j is off by so much, and no other value."""
    what = f"its zero is off by {degrees:g} degrees"
    mend = f"add {degrees:g} degrees ({degrees * _DEGREE:.4g} rad) to {described.offset}"
    change = undone.fixed(undone.more("zeros", j), degrees * _DEGREE)
    return Mistake("zero", name, what, mend, change, changed=described.offset_in)


def _calibrated(what: str, joint: str) -> str:
    line = f"{what} = true" if joint == "all joints" else f'{what} = ["{joint}"]'
    return f"{below('calibrate', line)} in experiment.toml"


def _pairs(robot: Robot, described: Described) -> Iterator[Mistake]:
    n, names = robot.n, robot.joint_names
    for a, b in combinations(range(n), 2):
        what, mend = "the log has them in the other order", "swap their columns of position, velocity and torque"
        yield Mistake("joint order", f"{names[a]} and {names[b]}", what, mend, undone.joints(_swap(n, a, b)))
    for a in range(n - 1):
        for sign, word in ((1.0, "plus"), (-1.0, "minus")):
            matrix = np.eye(n)
            matrix[a + 1, a] = sign
            coupled = f"also moves with {names[a]}: coupled {word} one to one"
            mend = described.keys(below("transmission", *transmission(names, {(a + 1, a): f"{sign:.0f}"})))
            torque_alone = "its torque, not its position, is that of a drive that"
            for what, whose in (("its drive", "position and torque"), (torque_alone, "torque")):
                both = f'{mend}, and `side = "motor"` for {whose} in dataset.toml'
                change = undone.motors(matrix, positions=whose != "torque")
                yield Mistake("coupling", names[a + 1], f"{what} {coupled}", both, change)
        yield from _differential(names, a, described)


def _differential(names: Sequence[str], a: int, described: Described) -> Iterator[Mistake]:
    """Yield that the drives of joints a and a + 1 move both, one with their sum and one with their difference."""
    pair, where = (a, a + 1), f"{names[a]} and {names[a + 1]}"
    for j, k in product(pair, pair):
        matrix = np.eye(len(names))
        matrix[np.ix_(pair, pair)] = 1.0
        matrix[j, k] = -1.0
        others = {at: f"{matrix[at]:.0f}" for at in (pair, pair[::-1])}
        mend = described.keys(below("transmission", *transmission(names, others, np.diag(matrix).astype(int).tolist())))
        for what, whose in (("their drives", "position and torque"), ("their torques, not their positions,", "torque")):
            own = what if whose != "torque" else f"{what} are those of drives that"
            words = f"{own} move both: motor{j + 1} with the difference of the two, the other with their sum"
            change = undone.motors(matrix, positions=whose != "torque")
            yield Mistake("coupling", where, words, f'{mend}, and `side = "motor"` for {whose} in dataset.toml', change)


def transmission(
    joints: Sequence[str], coupled: Mapping[tuple[int, int], str], ratios: Sequence[int] = ()
) -> tuple[str, ...]:
    """Return the lines of a robot file for drives that move with other joints too.

    coupled: ratio of drive j to joint k, as text or a field "{...}" for `str.format`; ratios: to their own, all 1.
    """
    motors = [f"motor{j + 1}" for j in range(len(joints))]
    each = (f'{{ motor = "{motors[j]}", joint = "{joints[k]}", ratio = {ratio} }}' for (j, k), ratio in coupled.items())
    own = [*ratios] or [1] * len(motors)
    return f"motors = {motors}".replace("'", '"'), f"ratios = {own}", f"coupling = [{', '.join(each)}]"


def _columns(robot: Robot) -> Iterator[Mistake]:
    n, names = robot.n, robot.joint_names
    kinds = {"torques": (False, True), "positions": (True, False), "positions and torques": (True, True)}
    for a, b in combinations(range(n), 2):
        for what, which in list(kinds.items())[:2]:
            words, mend = f"their columns of {what} are swapped", f"swap the columns of {what}"
            change = undone.columns(_swap(n, a, b), *which)
            yield Mistake("columns", f"{names[a]} and {names[b]}", words, mend, change)
    for shift in (1, -1) if n > 2 else ():
        for what, which in kinds.items():
            words, mend = f"the columns of {what} are shifted by one joint", f"shift them by {-shift:+d}"
            change = undone.columns(np.roll(np.eye(n), shift, axis=0), *which)
            yield Mistake("columns", "all joints", words, mend, change)


def _swap(n: int, a: int, b: int) -> Array:
    order: Sequence[int] = [b if k == a else a if k == b else k for k in range(n)]
    return np.eye(n)[order]


def _whole_log(robot: Robot, duration: float, rate_hz: float) -> Iterator[Mistake]:
    n, turning = robot.n, np.array([not joint.slides for joint in robot.joints])
    what, mend = "torques have the other sign", "multiply all torques by -1, their `gain`"
    yield Mistake("torque sign", "all joints", what, mend, undone.torques(-np.ones(n)))
    for factor, was, said in ((_DEGREE, "degrees", "rad"), (1 / _DEGREE, "rad", "degrees")):
        change = undone.positions(np.where(turning, factor, 1.0))
        what, mend = f"angles are in {was}, not in {said}", f'`unit = "{was[:3]}"`'
        yield Mistake("angle unit", "all joints", what, mend, change)
    for factor, was in ((1e-3, "milliseconds"), (1e-6, "microseconds"), (1e3, "seconds, declared as milliseconds")):
        if _DURATIONS[0] < duration * factor < _DURATIONS[1] and _RATES[0] < rate_hz / factor < _RATES[1]:
            change = undone.fixed(undone.longer_seconds, log(factor))
            yield Mistake("clock", "time", f"time is in {was}", f"multiply time by {factor:g}", change)
    what = "the rate is wrong: the motion took {} longer than the log's time says"
    mend = "multiply its time by {factor}, or its rate by the inverse; the file of a robot of another size looks alike"
    yield Mistake("clock", "time", what, mend, undone.longer_seconds, Size(0.1, 0.04))  # less is made up for by gains
    what = f"{LATE} {{}} ms late"
    mend = (
        "`ident run` reads them so where the experiment has no [processing] of its own; else delay_s there, {} ms late"
    )
    yield Mistake("delay", "all joints", what, mend, undone.late, Size(0.005, 0.002, 1e-3))
    what = f"{STAMPED} than positions: they get {{}} ms late with each second"
    mend = "log both by one clock, or correct the time of one before they are put into one table"
    yield Mistake("clocks", "time", what, mend, undone.parting, Size(0.003, 2e-4, 1e-3))
    what = f"{BLURRED} by a filter with a time constant of {{}} ms, positions are not"
    mend = "log them unfiltered, or positions through the same filter, measured, not commanded ones; elastic joints do"
    mend += " the same: move more slowly"
    size = Size(0.05, 0.004, 1e-3, 2.0 / rate_hz)  # what is quicker than two rows is a delay as well
    yield Mistake("blur", "all joints", what, mend, undone.blurred, size)
    yield _saturation("all joints", np.ones(n))


def _saturation(where: str, which: Array) -> Mistake:
    what = "the largest torques are logged {} % more than they are, small ones are not: motors or sensors saturate"
    mend = "log less current or torque, or say so: " + _calibrated("saturation", where)
    return Mistake("saturation", where, what, mend, undone.bent(which), Size(0.1, 0.05, 1e-2, far=3.0))


def _channels(robot: Robot, travel: Array) -> Iterator[Mistake]:
    for j, joint in enumerate(robot.joints):
        one, name = np.eye(robot.n)[j], joint.name
        mend = "multiply its torque by -1, its `gain`"
        yield Mistake("torque sign", name, "its torque has the other sign", mend, undone.torques(1 - 2 * one))
        what, mend = "its position has the other sign, its torque has not", "multiply its position by -1, its `gain`"
        yield Mistake("position sign", name, what, mend, undone.positions(1 - 2 * one))
        for factor, was in () if joint.slides else ((_DEGREE, "degrees"), (1 / _DEGREE, "rad")):
            if travel[j] * factor > _TURNS:
                continue
            change, mend = undone.positions(np.where(one > 0, factor, 1.0)), f'`unit = "{was[:3]}"` for its column'
            yield Mistake("angle unit", name, f"its position is in {was}", mend, change)
        what = "its torque has to be {} larger (torque constant, gear ratio, unit)"
        mend = f"multiply its torque by {{factor}}, its `gain`; or {_calibrated('gains', name)}"
        yield Mistake("torque gain", name, what, mend, undone.larger_torque(j), Size(0.2, 0.11))
        what = "its torque counts {} more at a recording's end than at its beginning, for the same motion"
        mend = "find what warms or fades there (amplifier, gauge), and log it anew"
        yield Mistake("fading", name, what, mend, undone.more("fading", j), Size(0.1, 0.04))
        what = "its torque's zero moves by {} % of its usual torque from a recording's beginning to its end"
        mend = "let drive and gauge warm up before the log, or log it anew"
        yield Mistake("drifting", name, what, mend, undone.more("drifting", j), Size(0.1, 0.04, 1e-2))
        what = "its friction is {} larger at a recording's end than at its beginning"
        mend = "warm it up before the log, or begin later: start_s in [processing]"
        yield Mistake("warming", name, what, mend, undone.more("warming", j), Size(0.2, 0.3))
        yield _saturation(name, one)
        what, mend = "its position has to be {} larger (gear ratio)", "multiply its position by {factor}, its `gain`"
        yield Mistake("position scale", name, what, mend, undone.larger_position(j), Size(0.1, 0.06))
