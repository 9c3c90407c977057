"""Other robots that a Denavit-Hartenberg table may have meant, by what is wrong with the table then."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ident.errors import RobotError
from ident.robot.file import robot_from
from ident.robot.robot import Robot
from ident.tables import read_toml

#: The numbers of a row that belong to the geometry, whichever joint it is.
_GEOMETRY = ("a", "alpha", "d", "theta")


def geometries(robot_file: str | Path) -> dict[str, Robot]:
    """Return other robots than a Denavit-Hartenberg table gives, by what is mistaken; none for a URDF.

    Raises RobotError for a file that cannot be read.
    """
    path = Path(robot_file)
    data = read_toml(path, RobotError) if path.suffix.lower() == ".toml" else {}
    if data.get("convention") not in ("dh", "mdh"):
        return {}
    found = dict[str, Robot]()
    for what, changed in _changed(data):
        try:
            found[what] = robot_from(data | changed, path)
        except RobotError:  # such a table is none
            continue
    return found


def _changed(data: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield what may be mistaken, and the keys of the file without the mistake."""
    other, name = ("mdh", "modified") if data["convention"] == "dh" else ("dh", "standard")
    yield f"its table is a {name} Denavit-Hartenberg table", {"convention": other}
    rows = [dict(row) for row in data.get("joint", ())]
    names = [row.get("name", f"joint{i + 1}") for i, row in enumerate(rows)]
    for i, row in enumerate(rows):
        for key in ("a", "alpha", "d"):
            if row.get(key):
                flipped = [*rows[:i], row | {key: -row[key]}, *rows[i + 1 :]]
                yield f"{key} of {names[i]} has the other sign", {"joint": flipped}
    for i in range(len(rows) - 1):
        (one, two), rest = rows[i : i + 2], [{k: v for k, v in r.items() if k not in _GEOMETRY} for r in rows]
        swapped = [*rows]
        swapped[i] = rest[i] | {k: two[k] for k in _GEOMETRY if k in two}
        swapped[i + 1] = rest[i + 1] | {k: one[k] for k in _GEOMETRY if k in one}
        if swapped != rows:
            yield f"the rows of {names[i]} and {names[i + 1]} are swapped", {"joint": swapped}
