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
    """A figure, made when it is asked for: a name that suits a file, where it belongs, what it shows.

    chart: (recording, joint) of the page's zoomable chart that stands for it.
    """

    name: str
    section: str
    title: str
    description: str
    figure: Callable[[], Figure]
    chart: tuple[int, int] | None = None

    @property
    def svg(self) -> str:
        """The figure as <svg> for the page."""
        return figures.svg(self.figure(), self.description)


def drawing(
    name: str,
    section: str,
    title: str,
    description: str,
    figure: Callable[..., Figure],
    *given: Any,
    chart: tuple[int, int] | None = None,
    **more: Any,
) -> Drawing:
    """Return the drawing of figure(*given, title=title, **more)."""
    spoken = title.replace(r"\$", "$")  # `plain` escapes what matplotlib would read as mathematics
    return Drawing(name, section, spoken, description, partial(figure, *given, title=title, **more), chart)


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
class Report:
    """All that a report shows.

    hints: sentences on the residuals, None where none could be judged; notes: sentences by section; tables by name;
    recordings: title and note of each recording drawn; data: what the page's charts draw.
    """

    robot: str
    verdict: text.Judgement
    sentences: tuple[str, ...]
    cards: tuple[Card, ...]
    warnings: tuple[str, ...]
    hints: tuple[str, ...]
    notes: dict[str, tuple[str, ...]]
    tables: dict[str, text.Table]
    drawings: tuple[Drawing, ...]
    map: tuple[tuple[str, tuple[Cell, ...]], ...]
    recordings: tuple[tuple[str, str], ...]
    data: str

    def of(self, section: str) -> list[Drawing]:
        """Return the drawings of a section."""
        return [d for d in self.drawings if d.section == section]
