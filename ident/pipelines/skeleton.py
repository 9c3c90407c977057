"""A robot.toml to be filled in, where no file describes the robot: how many joints it has is what the logs tell."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from ident.logs.raw import RawTable, read_raw
from ident.logs.readers.formats import format_of, is_bag
from ident.logs.recognised import families, named
from ident.robot.robot import DESCRIPTIONS

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


def description_among(files: Sequence[Path]) -> tuple[Path | None, list[Path]]:
    """Return the robot's file, the first unless that is a log or a table, and the others in their order."""
    first, *others = files
    if format_of(first) is None:
        return first, others
    robot = next((f for f in others if _describes(f)), None)
    return robot, [f for f in files if f is not robot]


def _describes(file: Path) -> bool:
    if file.suffix.lower() == ".toml" and file.is_file():
        return re.search(rb"\burdf\b|\[\[joint\]\]", file.read_bytes()) is not None
    return file.suffix.lower() in DESCRIPTIONS


def skeleton(logs: Iterable[Path]) -> tuple[str, int]:
    """Return the text of such a robot.toml, and its number of joints; one joint where no column has a name."""
    tables = (table for path in logs if not is_bag(path) for table in read_raw(path))
    found = [(count, table.file.name) for table in tables for count in _joints(table)]
    count, file = Counter(found).most_common(1)[0][0] if found else (1, "")
    why = f"                   # {count}, as {file} has positions or torques" if file else ""
    why = why or "                   # one such table for each joint, from the base to the flange"
    return _HEAD + _JOINT.format(why=why) + _JOINT.format(why="") * (count - 1), count


def _joints(table: RawTable) -> list[int]:
    """Return how many columns each of the table's families of positions and torques has."""
    hint = named(table.file.stem, ()).quantity
    found = families(table.columns, (), hint if hint in ("position", "torque", "current") else "")
    return [len(f.columns) for f in found if f.quantity in ("position", "torque", "current")]
