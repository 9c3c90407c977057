"""Whether the columns of a log are of the motors or of the joints, where the robot's file has a transmission."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ident.arrays import Array
from ident.compare.columns import unexplained
from ident.logs.names import apart
from ident.logs.recognised import Family, fitting_units, leave, scales, units_of, within
from ident.pipelines.questions import Asked
from ident.robot import Robot

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
