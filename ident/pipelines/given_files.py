"""What each of the files given to `ident init` is: the robot's, a CAD table or a folder of reports, or a log.

Where none describes the robot there is a robot.toml to be filled in: how many joints it has is what the logs tell.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from ident.cad.read import column_of, separator_of
from ident.errors import InputError
from ident.files import file_sha256
from ident.logs.raw import RawTable, read_raw
from ident.logs.readers.formats import format_of, is_bag
from ident.logs.recognised import families
from ident.pipelines.questions import Asked
from ident.robot.robot import DESCRIPTIONS


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


def parted(files: Sequence[Path]) -> tuple[Path | None, list[Path]]:
    """Return the CAD table, URDF or folder of reports among the files, and the logs."""
    cad = [f for f in files if f.is_dir() and not (f / "metadata.yaml").is_file()]
    cad += [f for f in files if f.suffix.lower() in (".toml", *DESCRIPTIONS) or _is_table_of_cad(f)]
    if len(cad) > 1:
        raise InputError(f"'{cad[0]}' and '{cad[1]}' are both CAD tables or folders of reports", fix="Give one of them")
    logs = [f for f in files if f not in cad]
    if not logs:
        raise InputError("no log is given", fix="Give one log file or more, such as a .csv, .mat or .parquet")
    return cad[0] if cad else None, logs


def without_copies(logs: Sequence[Path]) -> tuple[list[Path], list[str]]:
    """Return the logs, each content once, and what is left out: a copy is predicted as well as what was fitted."""
    first: dict[str, Path] = {}
    for log in logs:
        first.setdefault(file_sha256(log) if log.is_file() else str(log), log)
    kept = list(first.values())
    same = {path: first[file_sha256(path)] for path in logs if path not in kept}
    return kept, [f"{copy.name}: LEFT OUT: it is a copy of {path.name}" for copy, path in same.items()]


def _is_table_of_cad(file: Path) -> bool:
    if file.suffix.lower() != ".csv" or not file.is_file():
        return False
    with file.open("rb") as stream:
        lines = stream.read(4096).decode("utf-8", "replace").lower().splitlines()
    head = next((line for line in lines if line.strip() and not line.lstrip('" ').startswith("#")), "")
    columns = {column_of(word.strip('" '))[0] for word in head.split(separator_of(head))}
    return "link" in columns and bool(columns & {"m", "Ixx"})


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
    return [len(f.columns) for f in families(table.columns, ()) if f.quantity in ("position", "torque", "current")]
