"""Motors and joints: gear ratios, zeros and counts in a turn, which no log says, answered as lists; whose a log is."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from ident.arrays import Array
from ident.compare.columns import unexplained
from ident.errors import IdentError, InputError
from ident.logs.check import out_of_reach
from ident.logs.names import apart
from ident.logs.recognised import Family, fitting_units, leave, scales, units_of, within
from ident.pipelines.questions import Asked, numbers_in
from ident.robot import Robot
from ident.robot.robot import Transmission

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
