"""What a report is made of: figures, numbers, sentences and tables, before they are a page or a PDF."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from ident.report import figures, text

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class Drawing:
    """A figure, made when it is asked for: a name that suits a file, what it shows.

    joint: of the page's zoomable chart that stands for it.
    """

    name: str
    title: str
    description: str
    figure: Callable[[], Figure]
    joint: int | None = None

    @property
    def svg(self) -> str:
        """The figure as <svg> for the page."""
        return figures.svg(self.figure(), self.description)


def drawing(
    name: str,
    title: str,
    description: str,
    figure: Callable[..., Figure],
    *given: Any,
    joint: int | None = None,
    **more: Any,
) -> Drawing:
    """Return the drawing of figure(*given, title=title, **more)."""
    spoken = title.replace(r"\$", "$")  # `plain` escapes what matplotlib would read as mathematics
    return Drawing(name, spoken, description, partial(figure, *given, title=title, **more), joint)


@dataclass(frozen=True)
class Card:
    """One number of the first screen."""

    label: str
    value: str
    note: str
    tone: text.Tone = ""


@dataclass(frozen=True)
class Cell:
    """One parameter of the identifiability map: its state and what to say about it."""

    state: str
    sign: str
    say: str


@dataclass(frozen=True, eq=False)
class Block:
    """A part of a section, shown in this order: a small title, words, sentences, a note, figures or charts, a table.

    recording: the place in the page's data of the recording whose zoomable charts the drawings are. map: cells of the
    links, which stand for the drawings on a page. opened: whether the page shows the table at once.
    """

    title: str = ""
    words: str = ""
    items: tuple[str, ...] = ()
    note: str = ""
    drawings: tuple[Drawing, ...] = ()
    recording: int | None = None
    map: tuple[tuple[str, tuple[Cell, ...]], ...] = ()
    table: text.Table | None = None
    opened: bool = True


@dataclass(frozen=True, eq=False)
class Section:
    """Blocks under a title; name: of the page's anchor; short: in its menu, "" for none."""

    name: str
    title: str
    blocks: tuple[Block, ...]
    short: str = ""


@dataclass(frozen=True, eq=False)
class Report:
    """All that a report shows: its first screen (verdict, cards, sentences, hints on what lacks, warnings), sections.

    lead: figures of the first screen; note: a remark below it; data: what the page's charts draw.
    """

    title: str
    verdict: text.Judgement
    cards: tuple[Card, ...]
    sentences: tuple[str, ...]
    sections: tuple[Section, ...]
    lead: tuple[Drawing, ...] = ()
    hints: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    note: str = ""
    data: str = ""

    @property
    def drawings(self) -> tuple[Drawing, ...]:
        """All figures."""
        return (*self.lead, *(d for s in self.sections for b in s.blocks for d in b.drawings))
