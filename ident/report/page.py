"""Where reports go: a page of this folder's template, which draws recordings itself, a PDF, every figure as a file."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ident.arrays import Array
from ident.errors import InputError
from ident.export.text import templates
from ident.files import write_whole
from ident.report import figures
from ident.report.parts import Report
from ident.report.pdf import pdf
from ident.spatial.inertia import INERTIAL

#: Endings of a report.
FORMATS = (".html", ".htm", ".pdf")
#: Bytes that all recordings of a page take together, before base64 makes them a third longer.
BUDGET = 1_800_000


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
    script = Path(__file__).with_name("report.js").read_text(encoding="utf-8")
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
        )
    )


def stretches(samples: int, joints: int, recordings: int) -> int:
    """Return how many stretches a recording is cut into at most, so that a page stays within its budget."""
    return max(1000, min(samples, BUDGET // (12 * max(joints, 1) * max(recordings, 1))))


def recording_data(
    t: ArrayLike, measured: ArrayLike, predicted: ArrayLike, units: Sequence[str], *, most: int
) -> dict[str, Any]:
    """Return a recording as the page's script reads it: t (N,) [s]; measured, predicted (N, n) [units].

    At most `most` stretches are kept; no peak is lost.
    """
    t, measured, predicted = (np.asarray(x, dtype=np.float64) for x in (t, measured, predicted))
    count = min(len(t), most)
    starts = (np.arange(count) * len(t)) // max(count, 1)
    k = 1 if count == len(t) else 2

    def series(y: Array) -> dict[str, Any]:
        lo, hi = (float(y.min()), float(y.max())) if len(y) else (0.0, 0.0)
        ends = np.stack([np.minimum.reduceat(y, starts), np.maximum.reduceat(y, starts)], 1) if k == 2 else y[:, None]
        whole = np.round((ends - lo) * (65535.0 / (hi - lo) if hi > lo else 0.0)) - 32768.0
        return {"lo": lo, "hi": hi, "data": _text(whole.astype("<i2"))}

    joints = [
        {
            "unit": unit,
            "measured": series(measured[:, j]),
            "predicted": series(predicted[:, j]),
            "residual": series(measured[:, j] - predicted[:, j]),
        }
        for j, unit in enumerate(units)
    ]
    return {"k": k, "t": _text(t[starts].astype("<f4")), "joints": joints}


def page_data(recordings: Sequence[dict[str, Any]]) -> str:
    """Return the recordings as JSON that may stand inside <script>."""
    return json.dumps(list(recordings), allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")


def _text(array: Any) -> str:
    return base64.b64encode(array.tobytes()).decode()
