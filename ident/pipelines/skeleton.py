"""A robot.toml to be filled in, where no file describes the robot: how many joints it has is what the logs tell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from ident.logs.raw import RawTable, read_raw
from ident.logs.readers.formats import is_bag
from ident.logs.recognised import families, named
from ident.pipelines.questions import Asked

_HEAD = """\
# Written by `ident init`: no file describes the robot. Put values in the place of every "?".
name = "robot"
convention = "?"            # "dh": Rz(theta) Tz(d) Tx(a) Rx(alpha); "mdh" (Craig): Rx(alpha) Tx(a) Rz(theta) Tz(d)
length = "?"                # "m" or "mm"
angle = "?"                 # "rad" or "deg"
gravity = [0, 0, -9.81]     # in the base's frame, here with its z axis up
"""
_JOINT = """
[[joint]]{why}
kind = "revolute"           # or "prismatic", with theta = ..., its fixed angle
a = "?"
alpha = "?"
d = "?"
offset = 0                  # the table's angle (of a slide: its length d) less the position in the log
"""


def skeleton(logs: Iterable[Path]) -> tuple[str, int]:
    """Return the text of such a robot.toml, of one joint where no column has a name, and how many logs have, 0 then."""
    tables = (table for path in logs if not is_bag(path) for table in read_raw(path))
    found = [(count, table.file.name) for table in tables for count in _joints(table)]
    count, file = Counter(found).most_common(1)[0][0] if found else (0, "")
    why = f"                   # {count}, as {file} has positions or torques" if file else ""
    why = why or "                   # one such table for each joint, from the base to the flange"
    return _HEAD + _JOINT.format(why=why) + _JOINT.format(why="") * (count - 1), count


def axis(asked: Asked) -> str:
    """Return the robot.toml of a robot of one joint by two answers, "" where nobody gives them."""
    kind = asked("kind", "Does the joint turn or slide?", "turns", "no log says it", ("turns", "slides"))
    text = "Which angle is between its axis and the vertical [deg], 0 if it points upwards?"
    (alpha,) = asked.numbers("axis", text, (90.0,), "a horizontal axis, which is the usual one")
    found = _HEAD.replace('. Put values in the place of every "?".', "; its axis is as answered.")
    for value in ("mdh", "m", "deg"):  # convention, length, angle
        found = found.replace('"?"', f'"{value}"', 1)
    row = f'\n[[joint]]\nkind = "{"prismatic" if kind == "slides" else "revolute"}"\nalpha = {alpha:g}\n'
    return "" if {"kind", "axis"} & {*asked.guessed} else found + row


def _joints(table: RawTable) -> list[int]:
    """Return how many columns each of the table's families of positions and torques has."""
    hint = named(table.file.stem, ()).quantity
    found = families(table.columns, (), hint if hint in ("position", "torque", "current") else "")
    return [len(f.columns) for f in found if f.quantity in ("position", "torque", "current")]
