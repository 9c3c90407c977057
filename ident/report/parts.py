"""What a report is made of: figures, numbers, sentences and tables, before they are a page or a PDF."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ident.report import text
from ident.report.picture import Picture
from ident.report.verdict import Judgement

if TYPE_CHECKING:
    pass


@dataclass(frozen=True)
class Card:
    """One number of the first screen."""

    label: str
    value: str
    note: str
    tone: text.Tone = ""


#: Of each link its name, and the state of each parameter with what to say about it.
Map = tuple[tuple[str, tuple[tuple[str, str], ...]], ...]


@dataclass(frozen=True, eq=False)
class Block:
    """A part of a section, shown in this order: a small title, words, sentences, lines to paste, note, figures, table.

    link: of the pictures' axes that buttons zoom together. map: what stands for the drawings on
    a page. opened: whether the page shows the table at once.
    """

    title: str = ""
    words: str = ""
    items: tuple[str, ...] = ()
    paste: str = ""
    note: str = ""
    drawings: tuple[Picture, ...] = ()
    link: str = ""
    map: Map = ()
    table: text.Table | None = None
    opened: bool = True


@dataclass(frozen=True, eq=False)
class Section:
    """Blocks under a title; name: of the page's anchor; short: in its menu, "" for the title."""

    name: str
    title: str
    blocks: tuple[Block, ...]
    short: str = ""


@dataclass(frozen=True, eq=False)
class Report:
    """All that a report shows: its first screen (verdict, cards, sentences, what stands out, warnings), sections.

    lead: figures of the first screen; note: a remark below it; elsewhere: what to do where a browser runs no scripts.
    """

    title: str
    verdict: Judgement
    cards: tuple[Card, ...]
    sentences: tuple[str, ...]
    sections: tuple[Section, ...]
    lead: tuple[Picture, ...] = ()
    odd: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    note: str = ""
    elsewhere: str = "the report as PDF has them, too"

    @property
    def summary(self) -> Report:
        """The first page alone."""
        return replace(self, sections=(), note="")

    @property
    def drawings(self) -> tuple[Picture, ...]:
        """All figures."""
        return (*self.lead, *(d for s in self.sections for b in s.blocks for d in b.drawings))
