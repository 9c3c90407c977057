"""Where reports go: a page of this folder's templates, and every figure as a file."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ident.errors import InputError
from ident.files import write_whole
from ident.report import figures
from ident.report.parts import Drawing
from ident.spatial.inertia import INERTIAL

#: Endings of a report.
FORMATS = (".html", ".htm", ".pdf")


def known_format(path: str | Path) -> Path:
    """Return the path; raises InputError for an ending that no report has."""
    path = Path(path)
    if path.suffix.lower() not in FORMATS:
        raise InputError(f"a report ends in {', '.join(FORMATS)}, got '{path.suffix}'", file=path)
    return path


def write_pictures(folder: str | Path, drawings: Iterable[Drawing]) -> list[Path]:
    """Write every figure as PNG and as SVG on white to a folder; raises InputError when that cannot be written."""
    written = []
    for drawing in drawings:
        figure = drawing.figure()
        written.append(write_whole(Path(folder) / f"{drawing.name}.png", figures.png(figure)))
        written.append(write_whole(Path(folder) / f"{drawing.name}.svg", figures.svg_file(figure, drawing.description)))
    return written


def page(template: str, **shown: Any) -> str:
    """Return a page of this folder's templates, with the script whose hash lets it run."""
    import base64
    import hashlib

    from jinja2 import Environment, PackageLoader, StrictUndefined

    script = Path(__file__).with_name("report.js").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    environment = Environment(
        loader=PackageLoader("ident.report", ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(template).render(
        script=script,
        script_hash=f"sha256-{digest}",
        colours=figures.COLOURS,
        states=figures.STATES,
        parameters=INERTIAL,
        **shown,
    )
