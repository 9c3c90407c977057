"""Reads CAD numbers from whatever holds them, tables in CSV and TOML files first of all.

CSV: lines that begin with `#` above the header hold the convention as TOML (a remark begins with `##`), then a header,
its columns in any order, and one row per link, as `docs/examples/cad.csv` (with rows = "parts" one per part); units may
stand in the header, and cells may be separated by semicolons or tabs, then with commas in numbers. TOML: the same keys
in a table [convention];
one [[link]] per link with `name` and the ten numbers, or `table = "FILE.csv"` beside it, which may declare them itself;
and joint values [joint.NAME], where CAD or data sheets give them, always in SI, as `docs/examples/cad.toml`.

`read_source` also takes the inertials of a URDF or MJCF, read as untrusted data, and mass-property sheets.
"""

from __future__ import annotations

import csv
import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ident.arrays import Array
from ident.cad.convention import Convention, Error, convention_from, normal, refuse_unknown
from ident.cad.table import COLUMNS, Cad, Printed, Row, Table, cad_of, printed, read_bytes
from ident.errors import CadError, RobotError, cut, require_known
from ident.files import csv_name
from ident.model.standard import Offset
from ident.model.terms import plain
from ident.robot.robot import DESCRIPTIONS, Robot
from ident.spatial.inertia import Pose
from ident.tables import parse_toml

if TYPE_CHECKING:
    from ident.cad.sheets.sheet import Products
    from ident.robot.xml import Element


def read_cad(path: str | Path, robot_links: Sequence[str] | None = None) -> Cad:
    """Read a CAD table (.csv or .toml) and convert it to the ten inertials per link in SI.

    Units, the point of the tensor and the sign of its products must be declared in the file. Given `robot_links`,
    the table must have exactly these links. Whether the bodies can exist is asked by `ident.cad.check_cad`.
    Raises CadError naming file, line, column or key, and what to write.
    """
    path = Path(path)
    data = read_bytes(path)
    suffix = path.suffix.lower()
    if suffix == ".csv":
        table = _added(_read_csv(_text(data, path), path.name), path.name)
        cad = cad_of(table, path.name, hashlib.sha256(data).hexdigest())
    elif suffix == ".toml":
        cad = _read_toml(data, path)
    else:
        raise CadError(f"a CAD table must be a .csv or .toml file, got '{suffix}'", file=path)
    if robot_links is not None:
        cad.require_links(robot_links, robot_links)
    return cad


def _read_toml(data: bytes, path: Path) -> Cad:
    file, text = path.name, _text(data, path)
    error = partial(CadError, file=file)
    given = _toml(text, file, "the file is not valid TOML", "Repair that line")
    refuse_unknown(given, ("convention", "link", "table", "joint"), "", error)
    for key in ("convention", "joint"):
        if not isinstance(given.get(key, {}), dict):
            raise error("wanted a table", key=key, fix=f"Begin it with a line [{key}]")
    if ("table" in given) == ("link" in given):
        what = "both [[link]] and 'table' are given" if "table" in given else "there is no link"
        raise error(what, fix='Write either one [[link]] per link or table = "FILE.csv"')
    joint_values = _joint_values(given.get("joint", {}), error)
    if "table" in given:
        inner = _inside(given["table"], path)
        more = read_bytes(inner)
        table = _added(_read_csv(_text(more, inner), inner.name, file, given.get("convention", {})), inner.name)
        return cad_of(table, inner.name, hashlib.sha256(data + more).hexdigest(), joint_values)
    convention = convention_from(given.get("convention", {}), error, "convention.")
    table = _added(Table(convention, _toml_rows(given["link"], text, error)), file)
    return cad_of(table, file, hashlib.sha256(data).hexdigest(), joint_values)


def _toml_rows(links: Any, text: str, error: Error) -> tuple[Row, ...]:
    if not isinstance(links, list) or not all(isinstance(x, dict) for x in links):
        raise error("wanted one table per link", key="link", fix="Begin each with a line [[link]]")
    lines = [n for n, line in enumerate(text.splitlines(), 1) if re.match(r"\s*\[\[\s*link\s*\]\]", line)]
    rows: list[Row] = []
    for i, entry in enumerate(links):
        line = lines[i] if len(lines) == len(links) else None
        wrong = partial(error, line=line)
        refuse_unknown(entry, ("name", *COLUMNS), " of a link", wrong, "link.")
        if not isinstance(entry.get("name"), str):
            raise wrong("the link has no name", key="link.name", fix='Write name = "link1"')
        for key in COLUMNS:
            if key not in entry:
                raise wrong(f"link '{entry['name']}' has no {key}", fix="Write it too, also where it is 0")
        numbers = tuple(_number(_literal(entry[key]), f"link.{key}", wrong) for key in COLUMNS)
        rows.append(Row(_name(entry["name"], wrong), numbers, line))
    return _checked(rows, error)


def _joint_values(joints: Mapping[str, Any], error: Error) -> dict[str, float]:
    values = {}
    known = plain()
    for joint, entry in joints.items():
        if not isinstance(entry, dict):
            raise error("wanted a table", key=f"joint.{joint}", fix=f"Write a line [joint.{joint}]")
        refuse_unknown(entry, known, " of a joint", error, f"joint.{joint}.")
        for key, value in entry.items():
            where = f"joint.{joint}.{key}"
            number = float(_number(_literal(value), where, error).value)
            if number < 0 and key != Offset.kind.name:
                raise error(f"must not be negative, got {number:g}", key=where)
            values[f"{joint}.{key}"] = number
    return values


def _read_csv(text: str, file: str, outer: str = "", declared: Mapping[str, Any] | None = None) -> Table:
    """Return a table; `declared`: what the TOML file `outer` that names it declares of its convention."""
    error = partial(CadError, file=file)
    if not text.strip():
        raise error("the file is empty", fix="Save the table again")
    lines = [_unquoted(line) for line in text.splitlines()]
    above = 0  # number of lines above the header
    while above < len(lines) and (not lines[above].strip() or lines[above].lstrip().startswith("#")):
        above += 1
    for n, line in enumerate(lines[above:], above + 1):
        if line.lstrip().startswith("#"):
            raise error("a line with # below the header", line=n, fix="Move it above the header")
    head = "\n".join(line.lstrip()[1:] for line in lines[:above])
    given = _toml(head, file, "the lines above the header are not valid TOML", "Begin a remark with two signs, ##")
    separator = separator_of(lines[above]) if above < len(lines) else ","
    reader = csv.reader(lines[above:], strict=True, delimiter=separator)
    try:
        numbered = [(above + reader.line_num, [c.strip() for c in cells]) for cells in reader]
    except csv.Error as cause:
        raise error(f"not valid CSV: {cause}", line=above + reader.line_num) from cause
    named = [column_of(cell) for cell in numbered[0][1]] if numbered else []
    convention = _convention(given, named, declared or {}, outer, error)
    if not numbered:
        raise error("there is no header", fix=f"Write a line link,{','.join(COLUMNS)}")
    header = _header([name for name, _ in named], partial(error, line=above + 1))
    rows = []
    for n, cells in numbered[1:]:
        if not any(cells):
            continue
        wrong = partial(error, line=n)
        if len(cells) != len(header):
            fix = "Write one number for each column, with a point in it and no comma"
            raise wrong(f"{len(cells)} cells where the header has {len(header)}", fix=fix)
        cell = dict(zip(header, cells, strict=True))
        point = {c: cell[c] if separator == "," or "." in cell[c] else cell[c].replace(",", ".") for c in COLUMNS}
        rows.append(Row(_name(cell["link"], wrong), tuple(_number(point[c], c, wrong) for c in COLUMNS), n))
    return Table(convention, _checked(rows, error))


def separator_of(header: str) -> str:
    """Return what separates the cells of a header: a comma, or a semicolon or tab as where numbers have commas."""
    return max(",;\t", key=header.count)


def column_of(cell: str) -> tuple[str, str]:
    """Return the column that a cell of a header names, and its unit, "" for none: "Mass [kg]" is m in kg."""
    found = re.fullmatch(r"(.*?)\s*(?:\[([^\[\]]+)\]|\(([^()]+)\))", cell)
    name, unit = (found[1], (found[2] or found[3]).strip()) if found else (cell, "")
    word = re.sub(r"[\s_.]", "", name).lower()
    if axis := re.fullmatch(r"(?:c|com|cog|cent(?:re|er)(?:ofmass)?)([xyz])|([xyz])(?:com|cog)", word):
        return f"c{axis[1] or axis[2]}", unit
    if axes := re.fullmatch(r"[ijl]([xyz])([xyz])", word):
        return f"I{''.join(sorted(axes[1] + axes[2]))}", unit
    return {"name": "link", "body": "link", "part": "link", "link": "link", "mass": "m", "m": "m"}.get(word, name), unit


def _convention(
    given: Mapping[str, Any], named: Sequence[tuple[str, str]], declared: Mapping[str, Any], outer: str, error: Error
) -> Convention:
    """Return the convention that the lines above the header, units in the header, and the TOML file `outer` declare."""
    keys = {"m": "mass", "c": "length", "I": "inertia"}
    units = [(keys[name[0]], unit) for name, unit in named if unit and name in COLUMNS]
    said = [*((key, value, outer) for key, value in declared.items()), *((*each, "the header") for each in units)]
    known = dict(given)
    for key, value, where in said:
        if normal(str(known.setdefault(key, value))) != normal(str(value)):
            problem = f"is '{known[key]}' here and '{value}' in {where}"
            raise error(problem, key=key, fix="Delete one of the two lines" if where == outer else "Keep one of them")
    if declared and not given:
        return convention_from(known, partial(CadError, file=outer), "convention.")
    return convention_from(known, error, sign="# ")


def _unquoted(line: str) -> str:
    """Return a line of the convention as it was before a spreadsheet put it into quotes and added empty cells."""
    if not line.lstrip(' "').startswith("#"):
        return line
    for separator in ",;\t":
        try:
            cells = next(csv.reader([line], delimiter=separator, strict=True), [])
        except csv.Error:
            continue
        if len(cells) > 1 and not any(c.strip() for c in cells[1:]):
            return cells[0]
    return line


def _header(cells: list[str], error: Error) -> list[str]:
    wanted = ("link", *COLUMNS)
    require_known(cells, wanted, error, "unknown column", fix=f"The columns are {', '.join(wanted)}, in any order")
    for i, cell in enumerate(cells):
        if cell in cells[:i]:
            raise error(f"column '{cell}' is given twice", fix="Delete one of them")
    missing = [c for c in wanted if c not in cells]
    if missing:
        raise error(f"no column {', '.join(missing)}", fix="Add it, also where all its numbers are 0")
    return cells


def _checked(rows: list[Row], error: Error) -> tuple[Row, ...]:
    if not rows:
        raise error("the table has no links", fix="Write one row for each link")
    return tuple(rows)


def _added(table: Table, file: str) -> Table:
    """Return a table whose rows are parts as one of links: those of one link added up about its origin, 12 digits each.

    Raises CadError for parts that cannot exist, which a sum hides, and for one that is given twice.
    """
    if table.convention.rows == "links":
        return table
    convention, bodies, found = replace(table.convention, rows="links"), table.bodies(), dict[str, list[int]]()
    for i, row in enumerate(table.rows):
        if any((bodies[k] == bodies[i]).all() for k in found.get(row.link, [])):
            raise CadError(
                f"a part of link '{row.link}' is given twice", file=file, line=row.line, fix="Keep one of them"
            )
        found.setdefault(row.link, []).append(i)
    parts = [(f"{link}, part {n}", k) for link, of in found.items() if len(of) > 1 for n, k in enumerate(of, 1)]
    if parts:
        from ident.cad.check import require_consistent

        require_consistent(cad_of(Table(convention, tuple(replace(table.rows[k], link=n) for n, k in parts)), file))
    sums = [(table.rows[of[0]], of, printed(bodies[of].sum(axis=0), convention)) for of in found.values()]
    rows = (
        replace(row, numbers=tuple(Printed(f"{x:.11e}") for x in total)) if len(of) > 1 else row
        for row, of, total in sums
    )
    return Table(convention, tuple(rows))


def _name(text: str, error: Error) -> str:
    name = csv_name(text.strip())
    if not name or not name.isprintable():
        raise error("the link has no name that can be printed", key="link")
    return name


def _number(text: str, key: str, error: Error) -> Printed:
    try:
        return Printed(text)
    except ValueError as cause:
        problem = f"wanted a finite number, got {cut(text, 60)}" if text else "there is no number"
        raise error(problem, key=key, fix="Write it with digits and a point, such as 0.25") from cause


def _literal(value: Any) -> str:
    """Return a value of a TOML file as it is written there, as far as it is a number."""
    return value.text if isinstance(value, _Float) else repr(value)


class _Float:
    """A float of a TOML file, kept as it is written."""

    def __init__(self, text: str) -> None:
        self.text = text.replace("_", "")


def _toml(text: str, file: str, problem: str, fix: str) -> dict[str, Any]:
    try:
        return parse_toml(text, file, CadError, parse_float=_Float)
    except CadError as cause:
        raise CadError(problem, file=file, line=cause.line, fix=fix) from cause


def _inside(name: Any, path: Path) -> Path:
    """Return the file `name` beside `path`; it must not lead out of that folder."""
    folder = path.resolve().parent
    if not isinstance(name, str) or "\0" in name:
        raise CadError("wanted a file name in quotes", file=path, key="table")
    inner = (folder / name).resolve()
    if not inner.is_relative_to(folder) or inner.suffix.lower() != ".csv":
        raise CadError(f"'{name}' is no .csv file inside the folder of this file", file=path, key="table")
    return inner


def _text(data: bytes, path: Path) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as cause:
        fix = "Save the file as text with UTF-8 encoding"
        raise CadError(f"byte {cause.start} is not UTF-8 text", file=path, fix=fix) from cause


# ---- any source -----------------------------------------------------------------------------------------------------


def is_sheet(source: Path) -> bool:
    """Tell whether a path is one mass-property report, and no table, description or folder."""
    return not source.is_dir() and source.suffix.lower() not in (".csv", ".toml", *DESCRIPTIONS)


def read_source(
    source: Path, robot: Robot | None = None, frames: Mapping[str, Pose] | None = None, products: Products | None = None
) -> Cad:
    """Return any source as a table of links; `frames` and `products` are for sheets, see `read_sheets`.

    Given `robot`, it must have these links. Raises CadError.
    """
    if source.is_dir() or is_sheet(source):
        from ident.cad.sheets.read import read_sheets

        return read_sheets(source, robot, frames, products)
    if products is not None or frames is not None:
        option = "--products" if products is not None else "--frames"
        raise CadError("is for reports; a table declares its own convention", key=option, file=source)
    cad = read_inertials(source) if source.suffix.lower() in DESCRIPTIONS else read_cad(source)
    if robot is not None:
        cad.for_robot(robot)
    return cad


def read_inertials(path: str | Path) -> Cad:
    """Return the links of a URDF or the bodies of an MJCF file that have an <inertial>; the root element tells which.

    Bodies of an MJCF file without one get their inertia from geoms in MuJoCo and are left out. Raises CadError naming
    line and element, also for what would change an MJCF's numbers unseen, see `Mjcf`.
    """
    from ident.robot import xml
    from ident.robot.urdf import parse_document

    path = Path(path)
    try:
        data = xml.read_bytes(path)
        root = xml.parse_xml(data, file=path.name)
        if root.tag == "mujoco":
            given = dict(_bodies(root, path.name))
        else:
            links = parse_document(data, file=path.name).links.values()
            given = {link.name: link.inertial for link in links if link.inertial is not None}
    except RobotError as cause:
        raise CadError(cause.problem, file=path, line=cause.line, key=cause.key, fix=cause.fix) from cause
    if not given:
        kind, fix = ("body", "Save the compiled model, which has them") if root.tag == "mujoco" else ("link", None)
        raise CadError(f"no {kind} has an <inertial>", file=path, fix=fix)
    return Cad(tuple(given), np.array(list(given.values())), path.name, hashlib.sha256(data).hexdigest())


def _bodies(root: Element, file: str) -> Iterator[tuple[str, Array]]:
    """Yield name and inertial (10,) of each body of an MJCF file that has one, in its own frame."""
    from ident.robot.mjcf import Mjcf

    found = Mjcf(file, root)
    for name, body in found.bodies.items():
        if body.inertial is not None:
            element = found.elements[name]
            inertial = element.all("inertial")[0]
            if "name" not in element.attributes:
                raise found.at.error("a body with <inertial> has no name", element, "Name it")
            if not {"diaginertia", "fullinertia"} & inertial.attributes.keys():
                raise found.at.error("<inertial> wants one of diaginertia and fullinertia", inertial)
            yield name, body.inertial
