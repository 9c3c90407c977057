"""Reads mass-property reports of CAD programs; the layout is recognised, and one that is not known is refused."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from ident.cad.sheets.creo import CREO
from ident.cad.sheets.fusion import FUSION
from ident.cad.sheets.layout import LINE_END, Layout, follow, matches, plain
from ident.cad.sheets.onshape import ONSHAPE
from ident.cad.sheets.sheet import Sheet
from ident.cad.sheets.solidworks import CHINESE, ENGLISH
from ident.errors import CadError

LAYOUTS: tuple[Layout, ...] = (ENGLISH, CHINESE, FUSION, CREO, ONSHAPE)

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
    try:
        with path.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except (OSError, ValueError) as cause:
        problem = "there is no such file" if isinstance(cause, FileNotFoundError) else "the file cannot be read"
        raise CadError(problem, file=path) from cause
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
        raise CadError(
            "the text is neither UTF-8 nor UTF-16 with a byte order mark nor GB18030",
            file=file,
            line=data.count(b"\n", 0, cause.start) + 1,
            fix="Save it in UTF-8",
        ) from cause


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
    fix = f"Known are {known}; or write a table, as the README shows (cad.csv)"
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
