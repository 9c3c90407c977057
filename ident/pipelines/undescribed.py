"""A robot.toml for logs that come without one: of one axis by answers, of more joints to be filled in."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ident.errors import InputError, plural
from ident.files import file_word, write_whole
from ident.logs.manifest import UNITS
from ident.logs.raw import RawTable
from ident.logs.recognised import Family, families
from ident.pipelines.questions import Asked
from ident.robot.file import UNKNOWN
from ident.robot.robot import DESCRIPTIONS

_HEAD = """# Written by `ident init`, as no robot file was given. {todo}
# A URDF or MJCF given to `ident init` does as well: remove this file then.
name = "{name}"
convention = "{convention}"  # "dh": Rz(theta) Tz(d) Tx(a) Rx(alpha); "mdh" (Craig's): Rx(alpha) Tx(a) Rz(theta) Tz(d)
length = "m"  # or "mm"
angle = "deg"
gravity = [0, 0, -9.81]  # in the base frame [m/s^2]: here its z points up
"""
_ROW = """
[[joint]]  # {name}
kind = "{kind}"  # "revolute" if it turns, "prismatic" if it slides
a = "{unknown}"
alpha = "{unknown}"
d = "{unknown}"
offset = "{unknown}"  # where the joint stands, as the table counts, when the log says 0: the zero of its encoder
# limits = {{ lower = -180, upper = 180, velocity = 100, effort = 200 }}  # of the logged position; effort in N m, or N
"""
_AXIS = """
[[joint]]
kind = "{kind}"  # {why}
alpha = {alpha:g}  # between its axis and the vertical; 0: upwards
"""


def written_robot(tables: Sequence[RawTable], folder: Path, asked: Asked) -> Path:
    """Write the robot.toml of an axis that is asked about, or one to be filled in, and return its path.

    tables: of the logs. Raises InputError for one to be filled in: lengths and angles of more
    joints than one are no question, and how an axis moves is no guess.
    """
    found = [f for table in tables for f in families(table.columns, ())]
    positions = [f for f in found if f.quantity == "position"]
    n = _joints(found, positions, asked)
    name, path = file_word(folder.resolve().name, "robot"), folder / "robot.toml"
    if n == 1 and (axis := _axis(positions, asked)):
        return write_whole(path, _HEAD.format(todo="Every line may be changed.", name=name, convention="mdh") + axis)
    todo = f'Put what is right in place of each "{UNKNOWN}":'
    todo += "\n# one [[joint]] for each joint that the logs have, from the base on; add some, or take some out."
    head = _HEAD.format(todo=todo, name=name, convention=UNKNOWN)
    kind = "revolute" if n > 1 else UNKNOWN
    rows = [_ROW.format(name=f"joint{k + 1}", kind=kind, unknown=UNKNOWN) for k in range(n)]
    write_whole(path, head + "".join(rows))
    problem = f"no file describes the robot ({', '.join(DESCRIPTIONS)}, or .toml with a DH table)"
    fix = f"Add one; or fill in '{path}', just written for {plural(n, 'joint')}, and call the same again"
    fix += "; or answer the questions, without --yes" * (n == 1)
    raise InputError(problem, fix=fix)


def _axis(positions: Sequence[Family], asked: Asked) -> str:
    """Return the only joint as lines of a robot file, "" where nobody answers how it moves."""
    said = {UNITS["position"][f.unit][0] for f in positions if f.unit in UNITS["position"]}
    way, why = "slides" if "length" in said else "turns", "as the unit of its position says"
    if not said & {"length", "angle"}:
        way, why = (
            asked("kind", "Does the joint turn or slide?", way, "no log says it", ("turns", "slides")),
            "answered",
        )
    text = "Which angle is between its axis and the vertical [deg], 0 if it points upwards?"
    (alpha,) = asked.numbers("axis", text, (90.0,), "a horizontal axis, which is the usual one")
    if {"kind", "axis"} & {*asked.guessed}:
        return ""
    return _AXIS.format(kind={"turns": "revolute", "slides": "prismatic"}[way], alpha=alpha, why=why)


def _joints(found: Sequence[Family], positions: Sequence[Family], asked: Asked) -> int:
    """Return how many joints logs have: as many as positions by name, or else columns of one name; else asked."""
    sizes = [len(f.columns) for f in positions] or [len(f.columns) for f in found if len(f.columns) > 1]
    if sizes:
        return max(sizes)
    columns = sum(len(f.columns) for f in found if not f.quantity)
    why = "a GUESS from the number of columns, which have no names"  # of time, positions, velocities and torques
    answer = asked.number("number of joints", "How many joints does the robot have?", max(1, (columns - 1) // 3), why)
    return min(max(1, round(answer)), max(1, columns))
