"""Reads mass-property reports of CAD programs, one or a folder of them; a layout that is not known is refused."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from ident import tables
from ident.cad.convention import LENGTH, MASS, Convention
from ident.cad.sheets.layout import LINE_END, follow, matches, plain
from ident.cad.sheets.programs import CHINESE, LAYOUTS, ONSHAPE
from ident.cad.sheets.readings import products_of, to_inertials
from ident.cad.sheets.sheet import Products, Sheet
from ident.cad.table import Cad, Row, Table, read_bytes
from ident.errors import CadError, nearest
from ident.robot.robot import Robot
from ident.spatial.inertia import Pose, rpy

#: Programs whose sheets are recognised and refused, because no public sample or document fixes their layout.
UNCONFIRMED: Mapping[str, str] = {
    "Inventor": r"iProperties|^Physical Properties for |Mass Moments of Inertia with respect to|negative integral",
    "Solid Edge": r"Solid Edge|^Principal Axes Orientation|^Radii of Gyration",
    "NX or CATIA": r"\bUnigraphics\b|\bCATIA\b|^Measured Mass Properties",
}

MAX_BYTES = 1_000_000

#: How files begin that hold a sheet and are no text, what they are, and what to do.
_NO_TEXT: tuple[tuple[bytes, str, str], ...] = (
    (b"%PDF", "a PDF", "Copy the report out of it into a text file"),
    (b"PK\x03\x04", "a document of Word or Excel, or a packed folder", "Save a report as plain text, a table as .csv"),
    (b"\xd0\xcf\x11\xe0", "a document of Word or Excel", "Save a report as plain text, a table as .csv"),
    (b"{\\rtf", "formatted text (RTF)", "Save it as plain text"),
    (b"\x89PNG", "a picture", "Print the report as text"),
    (b"\xff\xd8\xff", "a picture", "Print the report as text"),
)


def read_sheet(path: str | Path) -> Sheet:
    """Read the mass-property report of one body (text in UTF-8, UTF-16 with a byte order mark, or GB18030).

    Raises CadError naming file and line, what was understood and what was not: for an unknown program or language, a
    cut-off sheet, two sheets in one file, mixed units or decimal marks, an asymmetric tensor, a mass that is not
    positive.
    """
    path = Path(path)
    data = read_bytes(path, MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise CadError("the file is larger than 1 MB, which no mass-property report is", file=path)
    sheet = parse_sheet(decoded(data, path.name), path.name)
    return replace(sheet, sha256=hashlib.sha256(data).hexdigest())


def parse_sheet(text: str, file: str = "report") -> Sheet:
    """Return the sheet that a text holds; raises CadError as `read_sheet` does."""
    lines = [plain(line) for line in LINE_END.split(text)[::2]]
    if not any(lines):
        raise CadError("the file is empty", file=file, fix="Print the report again")
    found = [layout for layout in LAYOUTS if matches(layout, lines)]
    unconfirmed = [p for p, mark in UNCONFIRMED.items() if any(re.search(mark, line) for line in lines)]
    if len(found) > 1:
        names = " and ".join(f"{x.program} in {x.language}" for x in found)
        raise CadError(f"the file holds lines of {names}", file=file, fix="Keep one report in each file")
    if not found:
        raise _unknown(lines, unconfirmed, file)
    if found[0] is ONSHAPE:
        lines = _joined(lines)
    return follow(found[0], lines, file)


def decoded(data: bytes, file: str) -> str:
    """Return the text of a sheet; raises CadError for another encoding than the three that are read."""
    for begin, what, fix in _NO_TEXT:
        if data.startswith(begin):
            raise CadError(f"the file is {what}, no text", file=file, fix=fix)
    try:
        if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
            return data.decode("utf-16")
        if b"\0" in data:
            raise CadError("the file holds zero bytes and is no text", file=file, fix="Save it as text in UTF-8")
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as cause:
        try:
            text = data.decode("gb18030")
        except UnicodeDecodeError:
            text = ""
        if any(re.search(mark, line) for mark in CHINESE.marks for line in map(plain, text.split("\n"))):
            return text  # many bytes would pass as GB18030, so it must also make sense
        problem = "the text is neither UTF-8 nor UTF-16 with a byte order mark nor GB18030"
        line = data.count(b"\n", 0, cause.start) + 1
        raise CadError(problem, file=file, line=line, fix="Save it in UTF-8") from cause


def _unknown(lines: list[str], unconfirmed: list[str], file: str) -> CadError:
    known = ", ".join(f"{x.program} ({x.language})" for x in LAYOUTS)
    entries = [(n, m[0]) for n, line in enumerate(lines, 1) if (m := re.search(r"\b[IL][xyz]{2}\b", line))]
    first = next((n for n, line in enumerate(lines, 1) if line), None)
    if unconfirmed:
        problem = f"the file looks like a report of {unconfirmed[0]}, whose layout no public sample confirms"
    elif entries:
        problem = (
            f"the file is a mass-property report in a language or layout that is not known: understood are only the "
            f"names of entries ({entries[0][1]} in line {entries[0][0]} to {entries[-1][1]} in line {entries[-1][0]}), "
            f"not line {first}, '{lines[first - 1][:60] if first else ''}'"
        )
    else:
        problem = "the file is no mass-property report that is known; nothing in it was understood"
    fix = f"Known are {known}; or write a table, as docs/guide/files.md shows (cad.csv)"
    return CadError(problem, file=file, line=first if entries and not unconfirmed else None, fix=fix)


def _joined(lines: list[str]) -> list[str]:
    """Return lines in which a number has the heading above it in its own line; the count of lines stays."""
    out = list(lines)
    for n, line in enumerate(out):
        if re.fullmatch(r"(?:Mass|Volume|Surface area|Density) ?:", line):
            below = next((k for k in range(n + 1, len(out)) if out[k]), None)
            if below is not None and re.match(r"[+-]?\d", out[below]):
                out[n], out[below] = "", f"{line} {out[below]}"
    return out


# ---- folders of sheets ------------------------------------------------------------------------------------------

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
            problem = "is no text of a report, whose name ends in .txt, .text or .m_p"
            raise CadError(problem, file=path, fix="Move it out of the folder of reports, or save it as text")
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
    digits: tuple[set[int], ...] = (set(), set(), set())  # of mass, centre and tensor
    for link, r in sheets.items():
        if r.mass.unit not in MASS or r.center[0].unit not in LENGTH:
            return None
        point = "center_of_mass" if r.at_center else "link_origin"
        conventions.add((r.mass.unit, r.center[0].unit, r.tensor[0].unit, point, products or products_of(r)))
        groups = [r.mass], r.center, r.tensor
        rows.append(Row(link, tuple(n.printed for group in groups for n in group)))
        for found, group in zip(digits, groups, strict=True):
            plain = [n.printed.last_digit for n in group if not n.printed.scientific]
            found.update([min(plain)] if plain else [])
    if len(conventions) > 1 or any(len(found) > 1 for found in digits):
        return None
    mass, length, inertia, at, sign = conventions.pop()
    return Table(Convention(mass, length, inertia, at, sign), tuple(rows))  # type: ignore[arg-type]


_FRAME = {"position": "Of the frame's origin [m].", "rpy": "Its turn about fixed x, y and z axes [rad], as in URDF."}


def read_frames(path: str | Path) -> dict[str, Pose]:
    """Read the poses of the CAD output frames, each seen from its link frame, of a TOML file; CadError names keys."""
    top = tables.Table(tables.read_toml(path, CadError), "", Path(path), CadError)
    found = {}
    for link in top.data:
        entry = top.table(link)
        entry.known(_FRAME)
        position, turn = (entry.numbers(k, 3) if k in entry.data else np.zeros(3) for k in ("position", "rpy"))
        if np.abs(turn).max() > 2 * math.pi:
            raise entry.error("rpy", "an angle is more than a turn", "Write it in radians")
        found[link] = Pose(rpy(*turn), position)
    return found
