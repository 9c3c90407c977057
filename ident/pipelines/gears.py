"""Joints and motors of a log: which joints its columns are of; gear ratios, zeros and counts in a turn, which no log
says, answered as lists; whose positions and torques it has.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

import numpy as np

from ident.arrays import Array
from ident.compare.columns import evidence, unexplained
from ident.errors import IdentError, InputError, LogError, plural
from ident.logs.check import out_of_reach
from ident.logs.manifest import si_factor
from ident.logs.names import apart, names_joint
from ident.logs.recognised import Family, clocks, fitting_units, leave, scales, units_of, windows, within
from ident.pipelines.questions import Asked, numbers_in, words
from ident.robot import Robot
from ident.robot.robot import DESCRIPTIONS, Transmission
from ident.robot.urdf import read_description
from ident.robot.xml import At

#: Units of an angle that are answers.
_UNITS = ("rad", "deg", "rev", "count")
_TEXT = (
    "In which unit are the positions: rad, deg, rev or count (an encoder's), or which has each joint (rad, deg, ...)?"
    " Or, where they are those of motors in rad: how often does each motor turn for once its joint (such as {}{})?"
)
#: Ratios of gears that are usual.
_USUAL = (1, 2, 5, 10, 20, 30, 50, 80, 100, 120, 160, 200, 300, 500, 1000)


def unit_or_ratios(guess: str, reason: str, robot: Robot, asked: Asked) -> tuple[str, Robot]:
    """Return the unit of positions, or one of each joint with commas, and the robot: with a transmission for ratios.

    Raises InputError for an answer that is neither.
    """

    def units(answer: str) -> str:
        each = answer.replace(",", " ").split()
        known = {*_UNITS[:-1], *(("m", "mm") if any(j.slides for j in robot.joints) else ())}
        return answer if answer in _UNITS else ",".join(each) if len(each) == robot.n and {*each} <= known else ""

    def check(answer: str) -> str:
        sound = units(answer) or _geared(answer, robot) is not None
        return "" if sound else f"Answer one of {', '.join(_UNITS)}, one for each joint, or {robot.n} ratios"

    n, ratios = robot.n, ", ".join(str((100, -80, 50)[k % 3]) for k in range(robot.n))
    coupled = f"; {n}/{n - 1} 50, if motor {n} also turns 50 times with joint {n - 1}" * (n > 1)
    answer = asked("position unit", _TEXT.format(ratios, coupled), guess, reason, check=check)
    return (units(answer), robot) if units(answer) else ("rad", _geared(answer, robot) or robot)


def least_ratios(position: Array, robot: Robot) -> str:
    """Return the least usual ratio of each joint with which positions (rows, n) [rad] of motors keep its limits."""
    found = []
    for joint, q in zip(robot.joints, position.T, strict=True):
        ends = np.clip((joint.limits.lower, joint.limits.upper), -3 * np.pi, 3 * np.pi)
        both = [sign * ratio for ratio in _USUAL for sign in (1, -1)]
        found.append(next((x for x in both if ends[0] <= np.min(q / x) and np.max(q / x) <= ends[1]), _USUAL[-1]))
    return ", ".join(map(str, found))


def _geared(answer: str, robot: Robot) -> Robot | None:
    """Return the robot with the transmission that ratios and couplings make, None where an answer has none."""
    try:
        motors = tuple(f"motor_{k}" for k in range(1, robot.n + 1))
        return replace(robot, transmission=Transmission(motors, _matrix(answer, robot.n)))
    except (ValueError, IndexError, IdentError):
        return None


def counts_of(shown: str, robot: Robot, asked: Asked) -> tuple[float, ...]:
    """Return what one count of each joint's encoder is [rad; m]. Raises InputError where nobody says it."""
    text = f"{shown} are whole numbers, as encoders count: how many in a turn (a metre) of each joint, with its sign?"
    unknown = (float("nan"),) * robot.n
    found = asked.numbers("counts", text, unknown, "no log says it")
    if not np.all(np.nan_to_num(found)):
        fix = f"Run `ident init` without --yes and answer it with {robot.n} numbers, such as 13107200"
        raise InputError("nobody has said how many counts of the encoders are a turn", key="position unit", fix=fix)
    return tuple((1.0 if j.slides else 2 * np.pi) / x for j, x in zip(robot.joints, found, strict=True))


def zeros(robot: Robot, q: Array, asked: Asked) -> tuple[float, ...]:
    """Return where the joints of geared motors stand [rad; m] when the log says 0; () for all at zero.

    q (N, n) [rad; m]: positions as they are without. A zero that takes a joint beyond all that it can do is no answer.
    """

    def check(answer: str) -> str:
        zero = np.array(numbers_in(answer, robot.n))
        for joint, said in out_of_reach(q + zero, robot).items():
            j = robot.joint_names.index(joint)
            if abs(np.median(q[:, j]) + zero[j]) > abs(np.median(q[:, j])):
                return f"Wanted rad: {zero[j]:g} degrees are {np.deg2rad(zero[j]):.4g} rad; with it '{joint}' {said}"
        return ""

    text = "Where does each joint stand, as the robot's file counts, when its encoder says 0 [rad; m]?"
    why = "encoders count from anywhere, and no log says from where"
    found = asked.numbers("zeros", text, (0.0,) * robot.n, why, check=check)
    return found if any(found) else ()


def transmission_toml(transmission: Transmission, robot: Robot, why: str) -> list[str]:
    """Return a transmission as lines of a robot file, with `why` the positions are those of motors."""
    rows = [f"  [{', '.join(f'{x:g}' for x in row)}]," for row in transmission.matrix]
    about = f"# q_motor = matrix @ q_joint, of {', '.join(robot.joint_names)}"
    motors = ", ".join(f'"{name}"' for name in transmission.motors)
    return ["", "[transmission]", f"# {why}", f"motors = [{motors}]", about, "matrix = [", *rows, "]"]


def _matrix(answer: str, n: int) -> Array:
    """Return what ratios and couplings make of joints' positions (n, n); ValueError, IndexError for none."""
    ratios, *couplings = answer.strip("[] ").split(";")
    diagonal = [float(word) for word in ratios.replace(",", " ").split()]
    if len(diagonal) != n:
        raise ValueError("as many ratios as joints")
    matrix = np.diag(diagonal)
    for coupling in couplings:
        place, ratio = coupling.split()
        motor, joint = (int(word) for word in place.split("/"))
        if not (1 <= motor <= n and 1 <= joint <= n):
            raise IndexError("no such motor or joint")
        matrix[motor - 1, joint - 1] = float(ratio)
    return matrix


# ---- whether columns are of motors or of joints, where the robot's file has a transmission ---------------------------

#: One side is believed before the other where so many times less of the torques is left unexplained; else where so
#: much less of the rows leaves the limits.
CLEARER, FEWER = 1.2, 0.02
_Side = Literal["motor", "joint"]
_JOINTS = re.compile(r"(?i)(?<![a-z])(joint|link|load|gelenk)")
MOTORS = re.compile(r"(?i)(?<![a-z])(motor|moteur|mot(?![a-z]))")


@dataclass(frozen=True)
class Sided:
    """The side of a log; unit: of the positions, "" where that is still open; guessed: whether nobody has said it."""

    side: str = "joint"
    unit: str = ""
    guessed: bool = False


def side_of(
    position: Family, families: Sequence[Family], t: Array, robot: Robot, asked: Asked, why: dict[str, str]
) -> Sided:
    """Return the side of a log: as names say, as limits leave no other, else as answered; `why` says it.

    families: all columns, t (N,) [any unit].
    """
    transmission = robot.transmission
    if transmission is None or np.allclose(transmission.matrix, np.eye(robot.n)):
        return Sided()
    if named := _named(position, transmission.motors, robot.joint_names):
        why["position"] += f"; of the {named}s by their names"
        return Sided(named)
    units = (position.unit,) if position.unit else ("rad", "deg")
    raw, geared = position.values, np.asarray(transmission.joint_position(position.values))
    for unit in units:
        q, turned = (x * scales(units_of(unit, robot, position.sliding)) for x in (raw, geared))
        if not within(q, robot) and within(turned, robot):
            why["position"] += f"; of the motors in {unit}: beyond the joints' limits, within them geared down"
            return Sided("motor", unit)
    efforts = [f for f in families if f.quantity in ("torque", "current") and len(f.columns) == robot.n]
    tau = next((f.like(position.of).values for f in sorted(efforts, key=lambda f: f.origin == "commanded")), None)
    # in seconds, about: robots log at 10 Hz or more
    t = t / 1000.0 ** max(0.0, np.ceil(np.log10(float(np.median(np.diff(t))) / 0.1) / 3))
    out, left, told = {}, {}, []
    for side, q, matrix in (("joints", raw, np.eye(robot.n)), ("motors", geared, transmission.matrix)):
        fits = units if position.unit else fitting_units(q, robot) or units
        scaled = [q * scales(units_of(unit, robot, position.sliding)) for unit in fits]
        out[side] = min(float(np.mean(leave(x, robot).any(axis=1))) for x in scaled)
        told.append(f"as those of {side} {100 * out[side]:.0f} % of the rows leave the limits")
        if tau is not None:
            left[side] = min(float(np.mean(unexplained(robot, t, x, tau, matrix))) for x in scaled)
            told[-1] += f" and bodies and friction leave {100 * left[side]:.2g} % of the torques unexplained"
    better = "motors" if out["motors"] < out["joints"] - FEWER else "joints"
    if left and max(left.values()) > CLEARER * min(left.values()):
        better = min(left, key=lambda side: left[side])
    reason = ", ".join(told)
    text = f"Are {position.shown} and the torques of motors or of joints?"
    answer = asked("motors", text, better, reason, ("motors", "joints"))
    guess = "" if asked.typed else " is a GUESS"
    why["position"] += f"; of the {answer}{guess}: {asked.because(reason)}"
    return Sided(answer[:-1], guessed=not asked.typed)


def _named(position: Family, motors: Sequence[str], joints: Sequence[str]) -> _Side | None:
    """Return the side that the names of columns say: they have that word, or are those of motors, not of joints."""
    labels = [c.label for c in position.columns]
    rests, of = zip(*apart(labels, (*motors, *joints)), strict=True)
    if all(map(MOTORS.search, rests)) or ({*of} <= {*motors} and not {*of} & {*joints}):
        return "motor"
    return "joint" if all(map(_JOINTS.search, rests)) else None  # a joint's name is that of its motor, often


#: Joints explain the torques no better than others where it is by less than this share of their variance.
ALIKE = 0.02


@dataclass(frozen=True, eq=False)
class Arm:
    """The robot that a log is of: the joints that can move, the robot of those that do, and what its bodies may be.

    called: joints by what logs call them, where that is not their name; said: why these joints.
    """

    names: tuple[str, ...]
    of: Callable[[tuple[str, ...]], Robot]
    bodies: Callable[[Robot], Array | None]
    called: Mapping[str, str] = field(default_factory=dict)
    said: str = ""

    def turning(self) -> tuple[str, ...]:
        """Return the joints that turn: fingers mostly slide, and are seldom logged."""
        return tuple(joint.name for joint in self.of(self.names).joints if not joint.slides)


def of_one_side(arm: Arm, labels: Sequence[str], asked: Asked) -> Arm:
    """Return the arm with what columns call its joints, where several sets of these end alike, as answered.

    "s0" of a robot with left_s0 and right_s0, which is asked about: all columns are of the same side then.
    """
    if names_joint(labels, (*arm.called, *arm.names)):
        return arm
    sides: dict[str, dict[str, str]] = {}
    for name in arm.names:
        words_of = name.split("_")
        for k in range(1, len(words_of)):
            short = "_".join(words_of[k:])
            if any(names_joint([label], (short,)) for label in labels):
                sides.setdefault("_".join(words_of[:k]), {})[short] = name
                break
    alike = [
        side for side, of in sides.items() if len(of) > 1 and sum(of.keys() == x.keys() for x in sides.values()) > 1
    ]
    if not alike:
        return arm
    alike = [side for side in alike if sides[side].keys() == sides[alike[0]].keys()]
    shorts, why = ", ".join(sides[alike[0]]), f"{' and '.join(alike)} have such joints, and the first is a GUESS"
    side = asked("side", f"Whose joints are {shorts}?", alike[0], why, tuple(alike))
    return replace(arm, called=sides[side], said=asked.because(f"of {side}: {why}"))


def logged_joints(position: Family, families: Sequence[Family], t: Array, arm: Arm, asked: Asked) -> tuple[str, ...]:
    """Return the joints that the columns of the positions are of, in the robot's order.

    families: all columns, t (N,) [any unit]. Where names and numbers leave it open, joints in one row from the base
    outwards are the guess: those within whose limits the positions lie, and whose bodies explain the torques best.
    Raises InputError for an answer that is no joints, LogError for fewer than a robot has whose joints nobody can lock.
    """
    size = len(position.of)
    if size < len(arm.names) and len(arm.of(arm.names[:size]).joints) != size:
        shown = ", ".join(c.shown for c in position.columns)
        problem = f"{shown} are positions of {plural(size, 'joint')}, the robot file has {len(arm.names)}"
        fix = "Add the missing column, or give a URDF, whose other joints are locked"
        raise LogError(problem, file=position.columns[0].file, fix=fix)
    if all(isinstance(of, str) for of in position.of):
        return tuple(name for name in arm.names if name in position.of)
    if size == len(arm.names):
        return arm.names
    if len(arm.turning()) == size and not position.lengths:
        return arm.turning()
    guess, why = _guess(position, families, t, arm)
    text = f"Which {plural(size, 'joint')} are {position.shown} of, in their order?"
    why += f" (the robot has {len(arm.names)}; the others are locked)"
    return words(asked("joints", text, ", ".join(guess), why, joints=arm.names), arm.names)


def _guess(position: Family, families: Sequence[Family], t: Array, arm: Arm) -> tuple[tuple[str, ...], str]:
    """Return the likeliest joints, and why."""
    raw = position.values
    rows = list(dict.fromkeys(_rows(arm, raw.shape[1])))
    kinds = [[joint.slides for joint in arm.of(names).joints] for names in rows]
    like = [names for names, slides in zip(rows, kinds, strict=True) if slides == position.slide]
    fits = {names: fitting_units(raw, arm.of(names)) for names in like or rows}
    within = [names for names, units in fits.items() if units]
    left, why = within or list(fits), "their limits hold the positions" if within else "they come first"
    efforts = [f for f in families if f.quantity in ("torque", "current") and len(f.columns) == raw.shape[1]]
    if not efforts:
        clock = clocks(families)[:1]
        unnamed = [f for f in families if not f.quantity and not {*f.columns} & {*position.columns, *clock}]
        efforts = list(windows(unnamed, raw.shape[1]))
    if len(left) > 1 and efforts:
        columns = min(efforts, key=lambda f: f.origin == "commanded").values
        shares = [_explained(arm, names, t, raw, fits[names], columns) for names in left]
        best = int(np.argmax(shares)) if max(shares) > shares[0] + ALIKE else 0
        why += f", and they explain {100 * shares[best]:.0f} % of the torques"
        rivals = [n for n, share in zip(left, shares, strict=True) if share > shares[best] - ALIKE and n != left[best]]
        why += "".join(f"; {', '.join(n)} as much" for n in rivals[:1])
        return left[best], why
    return left[0], why


def _explained(arm: Arm, names: tuple[str, ...], t: Array, raw: Array, units: Sequence[str], columns: Array) -> float:
    """Return which share of the torques' variance these joints explain, in the unit that explains more."""
    robot = arm.of(names)
    bodies, turning = arm.bodies(robot), [not joint.slides for joint in robot.joints]
    positions = [np.where(turning, raw * si_factor(unit, "position"), raw) for unit in units or ("rad", "deg")]
    return max(float(np.mean(np.diag(evidence(robot, bodies, t, q, columns).explained))) for q in positions)


def _rows(arm: Arm, size: int) -> Iterator[tuple[str, ...]]:
    """Yield so many joints in one row: on the way to each end of the robot, and in the order of the file."""
    parents = arm.of(arm.names).parents
    for end in (k for k in range(len(parents)) if k not in parents):
        way = [end]
        while (parent := parents[way[0]]) >= 0:
            way.insert(0, parent)
        for first in range(len(way) - size, -1, -1):
            yield tuple(arm.names[k] for k in way[first : first + size])
    for first in range(len(arm.names) - size + 1):
        yield arm.names[first : first + size]


def misfit(cad: Path | None, robot: Robot) -> list[str]:
    """Say why a CAD table or a folder of reports is not one of this robot, or of none, if so."""
    from ident.cad import read_source, require_consistent

    if cad is None or cad.suffix.lower() in DESCRIPTIONS:
        return []
    try:
        require_consistent(read_source(cad, robot))
        doubts = [] if cad.is_dir() else doubted(cad)
    except IdentError as cause:
        return [f"PROBLEM, which `ident run` will stop at: {' '.join(str(cause).split())}"]
    return [f"PROBLEM: {cad.name}: {doubts[0]}; torques are taken without it"] if doubts else []


def doubted(cad: Path) -> list[str]:
    """Return a sentence for each body of a table that no link of a robot is, as of g where kg is declared."""
    from ident.cad import check_cad, read_cad

    return [f"link '{v.link}': {doubt}" for v in check_cad(read_cad(cad)) for doubt in v.doubts]


def mimics(urdf: Path, moving: Sequence[str]) -> list[str]:
    """Return what is to be told of the joints of a URDF that mimic those that move."""
    pairs = [(leader, follower) for leader in moving for follower, _ in followers(urdf, {leader: 0.0})]
    return [f"NOTE: {follower} mimics {leader} and is not modelled: it is locked at zero" for leader, follower in pairs]


def followers(urdf: Path, held: Mapping[str, float]) -> Iterator[tuple[str, float]]:
    """Yield the joints that mimic those that are held, and where they are then."""
    for joint in read_description(urdf).joints.values():
        for mimic in joint.element.all("mimic"):
            at = At(urdf.name, f"joint '{joint.name}'")
            if (leader := at.text(mimic, "joint")) in held:
                yield joint.name, at.number(mimic, "multiplier", 1.0) * held[leader] + at.number(mimic, "offset", 0.0)
