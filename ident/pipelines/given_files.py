"""What each of the files given to `ident init` is: the robot's, a CAD table or a folder of reports, or a log.

Where none describes the robot there is a robot.toml to be filled in: how many joints it has is what the logs tell. A DH
table (.csv) becomes a robot file; what it does not say is asked.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import pi
from pathlib import Path

import numpy as np

from ident.cad.read import column_of, separator_of
from ident.errors import InputError, RobotError
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
    return ("link" in columns and bool(columns & {"m", "Ixx"})) or {"Ixx", "Iyy", "Izz"} <= columns


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


# ---- DH tables ------------------------------------------------------------------------------------------------

#: What the columns of such a table are called.
CALLED = {
    "a": "a r length", "alpha": "alpha α twist", "d": "d", "theta": "theta θ offset theta0 thetaoffset",
    "name": "joint name link i j", "kind": "type kind sigma",
}  # fmt: skip
#: Lengths [m] and angles [rad] that are larger are in mm, and in degrees.
_FAR, _ROUND = 10.0, 2.0 * pi + 0.01
_NUMBER = re.compile(r"(?P<sign>[-+]?)(?P<times>\d*\.?\d*(?:e[-+]?\d+)?)\*?(?P<pi>pi|π)?(?:/(?P<by>\d+\.?\d*))?", re.I)


def dh_table_among(files: Iterable[Path]) -> Path | None:
    """Return the file that is a DH table: a .csv whose columns are called so; None where there is none."""
    tables = (f for f in files if f.suffix.lower() == ".csv" and f.is_file())
    return next((f for f in tables if len(_ASKED & {*_columns(f)[0]}) >= 3), None)


_ASKED = {"a", "alpha", "d", "theta"}


def robot_of_table(file: Path, asked: Asked) -> str:
    """Return the text of a robot.toml of a DH table, a row a joint, by its convention, which is asked.

    Lengths are in m or mm, angles in rad or degrees, as headers or sizes say. Raises RobotError for what is no number,
    without a row, and without one of the columns.
    """
    (columns, units), rows = _columns(file), _rows(file)
    if lacks := sorted(_ASKED - {*columns}) or ["row"] * (not rows):
        kind = "row below its header" if not rows and lacks == ["row"] else f"column {' and '.join(lacks)}"
        raise RobotError(f"this DH table has no {kind}", file=file, fix="Write a, alpha, d and theta of each joint")
    known = {key: [_value(row, k, file) for row in rows] for key, k in columns.items() if key in _ASKED}
    length = units.get("d") or units.get("a") or _unit(known["a"] + known["d"], _FAR, "m", "mm")
    angle = units.get("alpha") or units.get("theta") or _unit(known["alpha"] + known["theta"], _ROUND, "rad", "deg")
    still = [not known["a"][k] and not known["alpha"][k] for k in (0, -1)]  # nothing before the first, behind the last
    guess = "mdh" if still == [True, False] else "dh"
    text = f"Which convention has {file.name}: dh, Rz(theta) Tz(d) Tx(a) Rx(alpha), or mdh (Craig), Rx Tx Rz Tz?"
    why = "a and alpha of its first row are 0" if guess == "mdh" else "most tables are of that one"
    convention = asked("convention", text, guess, why, ("dh", "mdh"))
    lines = [f"# Written by `ident init` from {file.name}; gravity is a guess: the base's z axis up.", 'name = "robot"']
    lines += [
        f'convention = "{convention}"',
        f'length = "{length}"',
        f'angle = "{angle[:3]}"',
        "gravity = [0, 0, -9.81]",
    ]
    for j, row in enumerate(rows):
        slides = "kind" in columns and row[columns["kind"]].strip().lower() in (
            "p",
            "prismatic",
            "1",
            "slide",
            "linear",
        )
        a, alpha, d, theta = (f"{known[key][j]:.15g}" for key in ("a", "alpha", "d", "theta"))
        lines += ["", "[[joint]]", f'kind = "{"prismatic" if slides else "revolute"}"', f"a = {a}", f"alpha = {alpha}"]
        lines += [f"theta = {theta}", f"offset = {d}"] if slides else [f"d = {d}", f"offset = {theta}"]
        word = row[columns["name"]].strip() if "name" in columns else ""
        lines += [f'name = "{word}"'] if re.fullmatch(r"[A-Za-z_][\w.-]*", word) else []
    return "\n".join([*lines, ""])


def _columns(file: Path) -> tuple[Mapping[str, int], Mapping[str, str]]:
    """Return where the columns of a table stand, and their units where its header says these."""
    with file.open(encoding="utf-8", errors="replace") as stream:
        head = stream.readline(4096)
    columns, units = dict[str, int](), dict[str, str]()
    for k, cell in enumerate(head.split(separator_of(head))):
        found = re.match(r"\s*(\w+?)_?(?:i|i-1)?\s*(?:[\[(](\w+)[\])])?\s*$", cell.strip("\ufeff \"'"))
        key = next((key for key, words in CALLED.items() if found and found[1].lower() in words.split()), "")
        if found and key:
            columns.setdefault(key, k)
            units |= {key: found[2]} if found[2] in ("m", "mm", "rad", "deg", "degrees") else {}
    return columns, units


def _rows(file: Path) -> list[list[str]]:
    """Return the cells of the rows below the header; numbers may have commas where semicolons stand between them."""
    with file.open(encoding="utf-8", errors="replace", newline="") as stream:
        separator = separator_of(stream.readline(4096))
        rows = [row for row in csv.reader(stream, delimiter=separator) if any(map(str.strip, row))]
    return [[cell.replace(",", ".") for cell in row] for row in rows] if separator == ";" else rows


def _value(row: Sequence[str], k: int, file: Path) -> float:
    """Return a number, such as 0.3 or -pi/2; 0 for the joint's own variable, such as q1 or theta_1."""
    cell = row[k].strip().replace(" ", "") if k < len(row) else ""
    if re.fullmatch(r"(q|theta|θ|d)_?\d*\*?", cell):
        return 0.0
    found = _NUMBER.fullmatch(cell)
    if not found or not (found["times"] or found["pi"]) or (found["by"] and not float(found["by"])):
        fix = "Write a number, such as 0.3, -90 or pi/2, there"
        raise RobotError(f"'{cell}' in the row {','.join(row)} is no number", file=file, fix=fix)
    size = float(found["times"] or 1.0) * (pi if found["pi"] else 1.0) / float(found["by"] or 1.0)
    return -size if found["sign"] == "-" else size


def _unit(values: Sequence[float], most: float, small: str, large: str) -> str:
    return large if float(np.abs(values).max(initial=0.0)) > most else small
