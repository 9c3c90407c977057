"""What is known beside the logs: what sheets decide by themselves, and the robot's table read in the other way."""

from __future__ import annotations

import re
import tempfile
import tomllib
from pathlib import Path

from ident.cad.sheets.read import find_sheets, read_sheet
from ident.cad.sheets.readings import decide
from ident.robot import Robot, read_robot

_OTHER = {"dh": "mdh", "mdh": "dh"}
_NAMES = {"dh": "standard", "mdh": "modified"}


def settled(sheets: str | Path) -> tuple[tuple[str, str], ...]:
    """Return the (link, kind) pairs that the sheets of a folder decide by themselves: "sign", "point".

    Raises CadError for a sheet that cannot be read.
    """
    found: list[tuple[str, str]] = []
    for link, path in find_sheets(sheets).items():
        decision = decide(read_sheet(path))
        found += [(link, "sign")] * (decision.products is not None)
        found += [(link, "point")] * (decision.as_named is not None)
    return tuple(found)


def other_convention(robot_file: str | Path) -> dict[str, Robot]:
    """Return the robot that a Denavit-Hartenberg table gives in the other convention, by what it is then called.

    Empty for a URDF. Raises RobotError for a file that cannot be read.
    """
    path = Path(robot_file)
    if path.suffix.lower() != ".toml":
        return {}
    text = path.read_text(encoding="utf-8")
    given = tomllib.loads(text).get("convention")
    if given not in _OTHER:
        return {}
    turned = re.sub(r"(?m)^(\s*convention\s*=\s*)(['\"]).*?\2", rf"\1\2{_OTHER[given]}\2", text, count=1)
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / path.name
        copy.write_text(turned, encoding="utf-8")
        name = f"that of the table read as {_NAMES[_OTHER[given]]} Denavit-Hartenberg"
        return {name: read_robot(copy)}
