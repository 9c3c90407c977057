"""Where reports go: a page of this folder's template that draws its pictures itself, a PDF, figures as files."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path

from ident.errors import InputError
from ident.export.text import templates
from ident.files import write_whole
from ident.report import figures
from ident.report.embed import page_data
from ident.report.parts import Report
from ident.report.pdf import pdf
from ident.report.picture import Picture
from ident.spatial.inertia import INERTIAL

#: Endings of a report.
FORMATS = (".html", ".htm", ".pdf")
_SCRIPTS = ("shared.js", "picture.js", "space.js", "tables.js", "report.js")


def known_format(path: str | Path) -> Path:
    """Return the path; raises InputError for an ending that no report has."""
    path = Path(path)
    if path.suffix.lower() not in FORMATS:
        raise InputError(f"a report ends in {', '.join(FORMATS)}, got '{path.suffix}'", file=path)
    return path


def write(report: Report, path: Path, pictures: str | Path | None = None) -> Path:
    """Write a report by its ending as HTML or PDF, whole or not at all, and its figures to a folder of `pictures`.

    The figures are written as PNG and as SVG on white. Raises InputError when a file cannot be written.
    """
    for drawing in report.drawings if pictures is not None else ():
        figure, place = drawing.figure(), Path(pictures or "")
        figures.save_figure(figure, place / f"{drawing.name}.png", 150)
        write_whole(place / f"{drawing.name}.svg", figures.svg_file(figure, drawing.description))
    return write_whole(path, pdf(report) if path.suffix.lower() == ".pdf" else _page(report))


def _page(report: Report) -> str:
    """Return the page, with the script whose hash lets it run."""
    script = "".join(Path(__file__).with_name(name).read_text(encoding="utf-8") for name in _SCRIPTS)
    pictures = {d.name: d.shown for d in report.drawings if isinstance(d.shown, Picture)}
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return (
        templates("ident.report", autoescape=True)
        .get_template("page.html.j2")
        .render(
            script=script,
            script_hash=f"sha256-{digest}",
            colours=figures.COLOURS,
            states=figures.STATES,
            parameters=INERTIAL,
            report=report,
            pictures={name: place for place, name in enumerate(pictures)},
            data=page_data(list(pictures.values())),
        )
    )
