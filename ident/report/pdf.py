"""The report as PDF: A4 pages of sentences and tables, and the figures as vector graphics, two beside each other."""

from __future__ import annotations

import io
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ident.report.figures import AMBER, GREEN, INK, LINE, MUTED, RED, WIDTH, plain
from ident.report.text import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ident.report.report import Drawing, Report

PAPER = (8.27, 11.69)  # inch: A4
_MARGIN, _GAP = 0.55, 0.14
_SCALE = (PAPER[0] - 2 * _MARGIN - _GAP) / (2 * WIDTH)
_LETTER = 0.6  # width of a letter, in heights
_TONES = {"good": GREEN, "bad": RED, "unknown": AMBER, "": INK}


def pdf(report: Report) -> bytes:
    """Return the whole report as PDF; the same report gives the same bytes."""
    book = Book(f"{report.robot}: identified parameters")
    book.say(f"{report.robot}: identified parameters", 16, bold=True)
    book.say(report.verdict.headline, 15, bold=True, colour=_TONES[report.verdict.tone])
    book.say(report.verdict.reason, 10)
    book.space(0.1)
    for card in report.cards:
        book.say(f"{card.label}: {card.value}" + (f" ({card.note})" if card.note else ""), 9, colour=_TONES[card.tone])
    book.space(0.1)
    book.items(report.sentences)
    book.titled("What the residuals hint at", report.hints)
    book.titled("Please note", report.warnings)
    book.figures([*report.of("errors"), *report.of("cad")[1:]])
    for place, (title, _) in enumerate(report.recordings):
        book.head(title)
        book.figures([d for d in report.drawings if d.chart is not None and d.chart[0] == place])
    tables = report.tables
    for name in ("validation", "residual"):
        if name in tables:
            book.table(tables[name])
    for head, section in (("What is left over", "residual"), ("Friction", "friction")):
        if report.of(section):
            book.head(head)
            book.figures(report.of(section))
        if section == "residual" and "recordings" in tables:
            book.table(tables["recordings"])
    book.head("Base parameters: what the data say")
    book.items(report.notes["cad"])
    book.figures(report.of("cad")[:1])
    book.table(tables["compared"])
    if "truth" in tables:
        book.items(report.notes["truth"])
        book.table(tables["truth"])
    book.head("What is identifiable")
    book.figures([*report.of("map"), *report.of("inertia")])
    book.items(report.notes["links"])
    book.titled("What the logs show worst", report.notes["weak"])
    book.table(tables["standard"])
    book.head("About the fit")
    book.figures(report.of("selection"))
    book.table(tables["numbers"])
    book.table(tables["provenance"])
    return book.bytes()


class Book:
    """Pages that fill from top to bottom: sentences, tables and rows of two figures."""

    def __init__(self, title: str) -> None:
        import matplotlib.backends.backend_pdf as backend

        self.buffer = io.BytesIO()
        new: Any = backend.PdfFile
        self.file = new(self.buffer, metadata={"Title": title, "CreationDate": None})
        self.placed: list[tuple[Figure, float, float]] = []
        self._new()

    def say(self, text: str, size: float = 8.5, *, bold: bool = False, colour: str = INK, indent: float = 0.0) -> None:
        """Write a paragraph."""
        width = PAPER[0] - 2 * _MARGIN - indent
        for line in textwrap.wrap(text, int(width * 72 / (_LETTER * size))) or [""]:
            height = 1.35 * size / 72
            self.room(height)
            self._text(line, _MARGIN + indent, size, bold, colour)
            self.y -= height

    def items(self, said: Sequence[str]) -> None:
        """Write sentences, each on lines of its own."""
        for sentence in said:
            self.say(f"• {sentence}")

    def titled(self, title: str, said: Sequence[str]) -> None:
        """Write sentences under a small title, nothing where there are none."""
        if said:
            self.space(0.1)
            self.say(title, 10, bold=True)
            self.items(said)

    def head(self, title: str) -> None:
        """Begin a section, with room for a row of figures under its title."""
        self.room(3.4)
        self.space(0.2)
        self.say(title, 13, bold=True)
        self.space(0.05)

    def space(self, height: float) -> None:
        """Leave some room [inch]."""
        self.y -= height

    def figures(self, drawings: Sequence[Drawing]) -> None:
        """Place figures, two in a row."""
        for k in range(0, len(drawings), 2):
            row = [d.figure() for d in drawings[k : k + 2]]
            height = _SCALE * max(float(f.get_size_inches()[1]) for f in row) + _GAP
            self.room(height)
            for column, figure in enumerate(row):
                x = _MARGIN + column * (_SCALE * WIDTH + _GAP)
                self.placed.append((figure, x, self.y - _SCALE * float(figure.get_size_inches()[1])))
            self.y -= height

    def table(self, table: Table, size: float = 6.3) -> None:
        """Write a table; columns are as wide as their texts, long texts are folded, long tables go on overleaf."""
        self.room(0.9)
        self.space(0.1)
        self.say(table.title, 9, bold=True)
        letter, step = _LETTER * size / 72, 1.35 * size / 72
        shown = [r for r in (table.columns, *table.rows) if any(r)]
        wanted = np.array([max(len(r[c]) for r in shown) + 2 for c in range(len(table.columns))], dtype=float)
        whole = (PAPER[0] - 2 * _MARGIN) / letter
        if wanted.sum() > whole:  # the widest columns give way
            level = next(x for x in np.arange(wanted.max(), 3.0, -1.0) if np.minimum(wanted, x).sum() <= whole)
            wanted = np.minimum(wanted, level)
        left = _MARGIN + letter * np.concatenate([[0.0], np.cumsum(wanted)[:-1]])
        rows = [(table.columns, "", True)] if any(table.columns) else []
        rows += [(row, tone, False) for row, tone in zip(table.rows, table.tones, strict=True)]
        for cells, tone, bold in rows:
            folded = [textwrap.wrap(c, max(int(w) - 1, 4)) or [""] for c, w in zip(cells, wanted, strict=True)]
            height = step * max(map(len, folded)) + 0.02
            self.room(height)
            for x, lines in zip(left, folded, strict=True):
                for k, line in enumerate(lines):
                    self._text(line, float(x), size, bold, _TONES[tone] if x == left[0] else INK, k * step)
            self.y -= height
            rule = self._up(self.y + step - 0.02 - 0.25 * step)
            self.page.add_artist(_rule(_MARGIN / PAPER[0], 1 - _MARGIN / PAPER[0], rule))

    def room(self, height: float) -> None:
        """Begin a new page unless this one has room for `height` [inch]."""
        if self.y - height < _MARGIN and self.y < PAPER[1] - _MARGIN:
            self._end()
            self._new()

    def bytes(self) -> bytes:
        """Return the file."""
        self._end()
        self.file.finalize()
        return self.buffer.getvalue()

    def _new(self) -> None:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        self.page = Figure(figsize=PAPER)
        FigureCanvasAgg(self.page)
        self.placed = []
        self.y = PAPER[1] - _MARGIN
        self.number = getattr(self, "number", 0) + 1

    def _end(self) -> None:
        """Draw the page: its texts, then each figure moved and scaled to its place."""
        import matplotlib.backends.backend_pdf as backend

        self.page.text(0.5, 0.3 / PAPER[1], str(self.number), fontsize=7, color=MUTED, ha="center")
        self.file.newPage(*PAPER)
        draws: Any = backend.RendererPdf
        for figure, x, y in [(self.page, 0.0, 0.0), *self.placed]:
            figure.dpi = 72
            width, height = figure.get_size_inches()
            renderer = draws(self.file, 72, float(height), float(width))
            scale = 1.0 if figure is self.page else _SCALE
            self.file.output(backend.Op.gsave, scale, 0, 0, scale, 72 * x, 72 * y, backend.Op.concat_matrix)
            figure.draw(renderer)
            renderer.finalize()
            self.file.output(backend.Op.grestore)
        self.file.endStream()

    def _text(self, line: str, x: float, size: float, bold: bool, colour: str, below: float = 0.0) -> None:
        at = self._up(self.y - below)
        weight = "bold" if bold else "normal"
        shown = plain(line, 1000)
        self.page.text(x / PAPER[0], at, shown, fontsize=size, color=colour, va="top", weight=weight)

    @staticmethod
    def _up(y: float) -> float:
        return y / PAPER[1]


def _rule(left: float, right: float, y: float) -> Any:
    from matplotlib.lines import Line2D

    return Line2D([left, right], [y, y], color=LINE, linewidth=0.4)
