"""A folder of mass-property reports, one for each link, as one CAD table; and the poses of their output frames."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ident import tables
from ident.cad.convention import Convention
from ident.cad.sheets.read_sheet import read_sheet
from ident.cad.sheets.readings import products_of, to_inertials
from ident.cad.sheets.sheet import Products, Sheet
from ident.cad.table import Cad, Row, Table
from ident.cad.units import LENGTH, MASS
from ident.errors import CadError, nearest
from ident.spatial.pose import Pose, rpy

if TYPE_CHECKING:
    from ident.robot.robot import Robot

#: Endings of the files that are taken as sheets (Creo numbers the versions of its files behind the ending).
ENDINGS = re.compile(r"\.(?:txt|text|m_p(?:\.\d+)?)$", re.IGNORECASE)


def find_sheets(folder: str | Path) -> dict[str, Path]:
    """Return the sheet file of each link, by the link's name: the file's name without its ending, link2 before link10.

    A single file stands for itself, whatever its ending. Raises CadError for a folder without sheets, with other
    files, or with two files for one link.
    """
    folder = Path(folder)
    if folder.is_file():
        return {ENDINGS.sub("", folder.name): folder}
    if not folder.is_dir():
        raise CadError("there is no such file or folder", file=folder)
    found: dict[str, Path] = {}
    files = [p for p in folder.iterdir() if p.is_file() and not p.name.startswith(".")]
    for path in sorted(files, key=lambda p: [int(x) if x.isdigit() else x for x in re.split(r"(\d+)", p.name)]):
        link, replaced = ENDINGS.subn("", path.name)
        if not replaced:
            raise CadError(
                "is no text of a report, whose name ends in .txt, .text or .m_p",
                file=path,
                fix="Move it out of the folder of reports, or save it as text",
            )
        if link in found:
            raise CadError(f"link '{link}' has a second report, the first is {found[link].name}", file=path)
        found[link] = path
    if not found:
        raise CadError("the folder holds no report", file=folder, fix="Save one report for each link, as LINK.txt")
    return found


def read_sheets(
    folder: str | Path,
    robot: Robot | None = None,
    frames: Mapping[str, Pose] | None = None,
    products: Products | None = None,
) -> Cad:
    """Read a folder of sheets (or one sheet), one for each link with the link's name as the file's, as one CAD table.

    frames: for each link whose output frame is not its link frame, the output frame seen from the link frame.
    products: the sign of the printed products in all sheets, where the user knows it; without it, what each sheet
    decides or declares. Given `robot`, it must have these links. The table keeps the printed numbers where all sheets
    share units, sign and digits and no frame is given; otherwise it holds the inertials alone.
    Raises CadError naming the sheet and what is wrong with it, such as a sign that cannot be told.
    """
    paths = find_sheets(folder)
    frames = dict(frames or {})
    for link in frames:
        if link not in paths:
            raise CadError(f"a frame is given for '{link}', which has no report{nearest(link, paths)}", file=folder)
    sheets = {link: read_sheet(path) for link, path in paths.items()}
    inertials = np.array([to_inertials(r, products, frames.get(link)) for link, r in sheets.items()])
    digest = hashlib.sha256("".join(r.sha256 for r in sheets.values()).encode()).hexdigest()
    table = None if frames else _printed(sheets, products)
    cad = Cad(tuple(sheets), inertials, Path(folder).resolve().name, digest, table=table)
    if robot is not None:
        cad.for_robot(robot)
    return cad


def _printed(sheets: Mapping[str, Sheet], products: Products | None) -> Table | None:
    """Return the printed numbers as one table, None where the sheets differ in units, sign, point or digits."""
    rows, conventions = [], set()
    digits: dict[int, set[int]] = {0: set(), 1: set(), 2: set()}
    for link, r in sheets.items():
        if r.mass.unit not in MASS or r.center[0].unit not in LENGTH:
            return None
        point = "center_of_mass" if r.at_center else "link_origin"
        conventions.add((r.mass.unit, r.center[0].unit, r.tensor[0].unit, point, products or products_of(r)))
        numbers = (r.mass, *r.center, *r.tensor)
        rows.append(Row(link, tuple(n.printed for n in numbers)))
        for quantity, group in enumerate(([r.mass], r.center, r.tensor)):
            plain = [n.printed.last_digit for n in group if not n.printed.scientific]
            digits[quantity] |= {min(plain)} if plain else set()
    if len(conventions) > 1 or any(len(found) > 1 for found in digits.values()):
        return None
    mass, length, inertia, at, sign = conventions.pop()
    return Table(Convention(mass, length, inertia, at, sign), tuple(rows))  # type: ignore[arg-type]


def read_frames(path: str | Path) -> dict[str, Pose]:
    """Read the poses of the CAD output frames, each seen from its link frame, from a TOML file::

        [link1]
        position = [0, 0, 0.1]   # m
        rpy = [0, 0, 1.5708]     # rad, fixed axes as in URDF

    Raises CadError naming the key.
    """
    top = tables.Table(tables.read_toml(path, CadError), "", Path(path), CadError)
    found = {}
    for link in top.data:
        entry = top.table(link)
        entry.known(("position", "rpy"))
        position, turn = (entry.numbers(k, 3) if k in entry.data else np.zeros(3) for k in ("position", "rpy"))
        if np.abs(turn).max() > 2 * math.pi:
            raise entry.error("rpy", "an angle is more than a turn", "Write it in radians")
        found[link] = Pose(rpy(*turn), position)
    return found
