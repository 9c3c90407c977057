"""The report as PDF: A4 pages of sentences and tables, and the figures, two beside each other.

Figures are pixels, as fine as paper shows them: as vectors they took five times as long, most of it letters.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from ident.report.figures import AMBER, BLUE, GREEN, INK, LINE, MUTED, RED, figure_of, pixels
from ident.report.parts import Block, Card, Report
from ident.report.picture import Picture
from ident.report.text import Table

_MARGIN, _GAP = 14.0, 3.5  # mm
_BESIDE = 5  # cards in a row
_DPI = 220  # of figures 4.7 inch wide, which are 3.5 inch here: 295 dots an inch of paper
_TONES = {"good": GREEN, "bad": RED, "unknown": AMBER, "": INK}


def pdf(report: Report) -> bytes:
    """Return the whole report as PDF; the same report gives the same bytes."""
    book = Book(report.title)
    book.say(report.title, 16, bold=True)
    book.say(report.verdict.headline, 15, bold=True, colour=_TONES[report.verdict.tone])
    book.say(report.verdict.reason, 10)
    book.pdf.ln(2.5)
    for k in range(0, len(report.cards), _BESIDE):
        book.cards(report.cards[k : k + _BESIDE])
    book.figures(report.lead)
    book.items(report.sentences)
    book.titled("What stands out", report.odd)
    book.titled("Please note", report.warnings)
    if report.note:
        book.say(report.note, 8, colour=MUTED)
    for section in report.sections:
        book.room(100 if section.blocks[0].drawings else 40)  # a title stands above what it is of
        book.pdf.ln(5)
        book.say(section.title, 13, bold=True)
        book.pdf.ln(1.5)
        for block in section.blocks:
            book.block(block)
    return bytes(book.pdf.output())


class Book:
    """Pages that fill from top to bottom: sentences, tables and rows of two figures; the same gives the same bytes."""

    def __init__(self, title: str) -> None:
        import matplotlib as mpl
        from fpdf import FPDF

        logging.getLogger("fpdf").setLevel(logging.ERROR)  # a name may hold signs that the font has not
        fonts = Path(mpl.get_data_path()) / "fonts" / "ttf"
        self.pdf = pdf = FPDF(format="A4")
        pdf.set_title(title)
        pdf.set_creation_date(datetime(2000, 1, 1, tzinfo=UTC))
        pdf.set_margin(_MARGIN)
        pdf.set_auto_page_break(True, _MARGIN)
        for style, file in (("", "DejaVuSans.ttf"), ("B", "DejaVuSans-Bold.ttf")):
            pdf.add_font("DejaVu Sans", style, fonts / file)
        pdf.set_draw_color(LINE)
        pdf.footer = self._number
        pdf.add_page()

    def say(
        self, text: str, size: float = 8.3, *, bold: bool = False, colour: str = INK, left: float = 0, width: float = 0
    ) -> None:
        """Write a paragraph, `left` [mm] of the margin and so wide; 0: as wide as the page allows."""
        self.pdf.set_font("DejaVu Sans", "B" if bold else "", size)
        self.pdf.set_text_color(colour)
        self.pdf.x = self.pdf.l_margin + left
        self.pdf.multi_cell(width, 0.48 * size, text, align="L", new_x="LMARGIN", new_y="NEXT")

    def cards(self, cards: Sequence[Card]) -> None:
        """Write numbers beside each other, each with what it is above and what there is to say below."""
        top, lowest = self.pdf.y, self.pdf.y
        width = self.pdf.epw / max(len(cards), 1)
        for k, card in enumerate(cards):
            self.pdf.y, place = top, {"left": k * width, "width": width - _GAP}
            self.say(card.label, 7, colour=MUTED, **place)
            self.say(card.value, 15, bold=True, colour=_TONES[card.tone], **place)
            self.say(card.note, 7, colour=MUTED, **place)
            lowest = max(lowest, self.pdf.y)
        self.pdf.y = lowest
        self.pdf.ln(2.5)

    def items(self, said: Sequence[str]) -> None:
        """Write sentences, each on lines of its own."""
        for sentence in said:
            self.say(f"• {sentence}")

    def titled(self, title: str, said: Sequence[str]) -> None:
        """Write sentences under a small title, nothing where there are none."""
        if said:
            self.pdf.ln(2.5)
            self.say(title, 10, bold=True)
            self.items(said)

    def block(self, block: Block) -> None:
        """Write a part of a section."""
        if block.drawings or block.title:
            self.room(85 if block.drawings else 20)
        if block.title:
            self.pdf.ln(2.5)
            self.say(block.title, 10, bold=True)
        if block.words:
            self.say(block.words)
        self.items(block.items)
        for line in block.paste.splitlines():
            self.say(line, colour=BLUE)
        if block.note:
            self.say(block.note, 8, colour=MUTED)
        self.figures(block.drawings)
        if block.table is not None and block.table.rows:
            self.table(block.table)

    def room(self, height: float) -> None:
        """Begin a new page unless this one has room for `height` [mm]."""
        if self.pdf.will_page_break(height):
            self.pdf.add_page()

    def figures(self, drawings: Sequence[Picture]) -> None:
        """Place figures, two in a row."""
        self.pdf.ln(1)
        width = (self.pdf.epw - _GAP) / 2
        for k in range(0, len(drawings), 2):
            row = [(d, figure_of(d)) for d in drawings[k : k + 2]]
            sizes = [figure.get_size_inches() for _, figure in row]
            height = width * max(float(y / x) for x, y in sizes)
            self.room(height)
            for column, (drawing, figure) in enumerate(row):
                left = self.pdf.l_margin + column * (width + _GAP)
                self.pdf.image(pixels(figure, _DPI), left, self.pdf.y, width, alt_text=drawing.about)
            self.pdf.y += height + _GAP

    def table(self, table: Table, size: float = 6.3) -> None:
        """Write a table; columns are as wide as their texts, long texts are folded, long tables go on overleaf."""
        from fpdf.fonts import FontFace

        self.room(23)
        self.pdf.ln(2.5)
        self.say(table.title, 9, bold=True)
        self.pdf.set_font("DejaVu Sans", "B", size)
        written = [(*row[:-1], table.short.get(row[-1], row[-1])) for row in table.rows]
        words = [max(head.split(), key=len, default="") for head in table.columns]  # heads fold between words
        heads = [self.pdf.get_string_width(word) for word in words]
        self.pdf.set_font("DejaVu Sans", "", size)
        bodies = [[self.pdf.get_string_width(row[k]) for row in written] for k in range(len(heads))]
        widths = [max(head, *body) + 2.5 for head, body in zip(heads, bodies, strict=True)]
        level = max(widths, default=0.0)
        while sum(min(w, level) for w in widths) > self.pdf.epw:  # the widest columns give way
            level -= 0.5
        widths = [min(w, level) for w in widths]
        self.pdf.set_text_color(INK)
        with self.pdf.table(
            width=sum(widths),
            col_widths=widths,
            align="L",
            text_align="L",
            borders_layout="HORIZONTAL_LINES",
            line_height=0.48 * size,
            first_row_as_headings=any(table.columns),
            headings_style=FontFace(emphasis="B"),
            padding=(0.2, 0.8, 0.2, 0.0),
        ) as made:
            if any(table.columns):
                made.row(table.columns)
            for cells, tone in zip(written, table.tones, strict=True):
                row = made.row()
                for k, cell in enumerate(cells):
                    row.cell(cell, style=None if k else FontFace(color=_TONES[tone]))

    def _number(self) -> None:
        self.pdf.set_y(-9)
        self.pdf.set_font("DejaVu Sans", "", 7)
        self.pdf.set_text_color(MUTED)
        self.pdf.cell(0, 4, str(self.pdf.page_no()), align="C")
