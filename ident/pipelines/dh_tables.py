"""A DH table (.csv) as a robot file; what it does not say is asked."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Mapping, Sequence
from math import pi
from pathlib import Path

import numpy as np

from ident.cad.read import separator_of
from ident.errors import RobotError
from ident.pipelines.questions import Asked

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
