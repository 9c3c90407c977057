"""Where reports go: a page of this folder's template that draws its pictures itself, a PDF, figures as files.

Pictures stand in the page as JSON, for its script to draw: numbers that many pictures share are there once.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ident.arrays import Array
from ident.errors import InputError, need
from ident.export.text import templates
from ident.files import write_whole
from ident.report import figures
from ident.report.parts import Report
from ident.report.pdf import pdf
from ident.report.picture import Line, Picture, stretched
from ident.spatial.inertia import INERTIAL

#: Bytes that all curves of a page take together, before base64 makes them a third longer.
BUDGET = 1_800_000
_LISTED = 400  # so many numbers or fewer stand there as text, and matrices


def stretches(samples: int, curves: int) -> int:
    """Return how many stretches a curve over samples, one of some, is cut into at most: a page keeps its budget."""
    return max(1000, min(samples, BUDGET // (4 * max(curves, 1))))


def page_data(pictures: Sequence[Picture]) -> str:
    """Return pictures as JSON that may stand inside <script>.

    Arrays stand as {"a": place in "arrays"}. There they are lists, or base64 of little-endian numbers: {"f4"} as they
    are, {"i2", "lo", "hi"} in 65536 steps from the least to the largest. A line with k values of y for each of x has
    the least and the largest of stretches.
    """
    arrays: dict[str, int] = {}
    shown = [_plain(picture, arrays) for picture in pictures]
    text = "[" + ",".join(arrays) + "]"
    return f'{{"arrays":{text},"pictures":{_json(shown)}}}'.replace("<", "\\u003c")


def _plain(thing: Any, arrays: dict[str, int]) -> Any:
    """Return what JSON can hold: objects as tables of what is not as it is by default."""
    if isinstance(thing, Line):
        return _line(thing, arrays)
    if isinstance(thing, np.ndarray):
        short = thing.size <= _LISTED or thing.ndim == 2
        return _place(_listed(thing) if short else _json({"f4": _coded(thing, "<f4")}), arrays)
    if is_dataclass(thing):
        own = {f.name: getattr(thing, f.name) for f in fields(thing) if getattr(thing, f.name) is not f.default}
        return {"kind": type(thing).__name__.lower()} | {name: _plain(x, arrays) for name, x in own.items()}
    if isinstance(thing, tuple):
        return [_plain(x, arrays) for x in thing]
    return figures.COLOURS.get(thing, thing) if isinstance(thing, str) else thing


def _line(line: Line, arrays: dict[str, int]) -> dict[str, Any]:
    x, y = np.asarray(line.x, dtype=np.float64), np.asarray(line.y, dtype=np.float64)
    starts, ends = stretched(y, line.most)
    y = ends.ravel()
    kept = _plain(y, arrays) if y.size <= _LISTED or np.isnan(y).any() else _place(_steps(y), arrays)
    look = {"colour": figures.COLOURS[line.colour], "label": line.label, "width": line.width, "dash": line.dash}
    return {"kind": "line", "x": _plain(x[starts], arrays), "y": kept} | look


def _place(text: str, arrays: dict[str, int]) -> dict[str, int]:
    return {"a": arrays.setdefault(text, len(arrays))}


def _listed(array: Array) -> str:
    if array.ndim == 2:
        return "[" + ",".join(_listed(row) for row in array) + "]"
    return "[" + ",".join(f"{x:.6g}" if np.isfinite(x) else "null" for x in array.tolist()) + "]"


def _coded(array: NDArray[Any], kind: str) -> str:
    return base64.b64encode(array.astype(kind).tobytes()).decode()


def _steps(y: Array) -> str:
    """Return numbers in 65536 steps from the least to the largest."""
    lo, hi = float(y.min()), float(y.max())
    whole = np.round((y - lo) * (65535.0 / (hi - lo) if hi > lo else 0.0)) - 32768.0
    return _json({"lo": lo, "hi": hi, "i2": _coded(whole, "<i2")})


def _json(thing: Any) -> str:
    return json.dumps(thing, allow_nan=False, separators=(",", ":"))


#: Endings of a report.
FORMATS = (".html", ".htm", ".pdf")
_SCRIPTS = ("shared.js", "picture.js", "space.js", "tables.js", "report.js")


def known_format(path: str | Path, pictures: str | Path | None = None) -> Path:
    """Return the path; raises InputError for an ending that no report has, or a package that it or pictures lack."""
    path = Path(path)
    if path.suffix.lower() not in FORMATS:
        raise InputError(f"a report ends in {', '.join(FORMATS)}, got '{path.suffix}'", file=path)
    printed = path.suffix.lower() == ".pdf"
    for package in (*(["matplotlib"] if printed or pictures is not None else []), *(["fpdf"] if printed else [])):
        need(package)
    return path


def write_report(report: Report, path: str | Path, pictures: str | Path | None = None) -> Path:
    """Write a report by its ending as HTML or PDF, whole or not at all, and its figures to a folder of `pictures`.

    The figures are written as PNG and as SVG on white. Raises InputError for another ending or when a file cannot be
    written.
    """
    path = known_format(path, pictures)
    for drawn in report.drawings if pictures is not None else ():
        figure, place = figures.figure_of(drawn), Path(pictures or "")
        figures.save_figure(figure, place / f"{drawn.name}.png", 150)
        write_whole(place / f"{drawn.name}.svg", figures.svg_file(figure, drawn.about))
    return write_whole(path, pdf(report) if path.suffix.lower() == ".pdf" else _page(report))


def _page(report: Report) -> str:
    """Return the page, with the script whose hash lets it run."""
    script = "".join(Path(__file__).with_name(name).read_text(encoding="utf-8") for name in _SCRIPTS)
    pictures = {d.name: Picture(d.title, d.panels, d.columns) for d in report.drawings if not d.instead}
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    page = templates("ident.report", autoescape=True).get_template("page.html.j2")
    return page.render(
        script=script,
        script_hash=f"sha256-{digest}",
        colours=figures.COLOURS,
        states=figures.STATES,
        parameters=INERTIAL,
        report=report,
        pictures={name: place for place, name in enumerate(pictures)},
        data=page_data(list(pictures.values())),
    )
