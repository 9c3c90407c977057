"""What a figure shows: panels with axes and marks, as plain numbers. A browser or matplotlib draws it.

Colours are those of `ident.report.figures`; sizes are in pixels of a page, 96 of them to the inch. Outlines, of panels
titles, equal scales and whole rows, of pictures notes and widths are for paper alone: no page shows what has them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ident.arrays import Array

Scale = Literal["linear", "log", "symlog"]
#: Longer lines are kept as the least and the largest value of stretches, so that no peak is lost.
LONG = 1500
#: Widths of pictures: one of two beside each other on a desk, or on a telephone; and a sheet of paper.
NARROW, WIDE = 451.0, 922.0
_CELLS = (300, 160)  # a cloud of dots keeps one in each cell of such a grid: more would not show


@dataclass(frozen=True)
class Axis:
    """What an axis shows: a label and a unit; no numbers stand at an axis without label.

    limits: None for those of the data; (high, low) counts downwards. scale: "symlog" is linear up to `edge` and
    logarithmic beyond, to both sides. ticks: (place, text) instead of round numbers; named: they are names.
    link: axes of one name are zoomed together.
    """

    label: str = ""
    unit: str = ""
    limits: tuple[float, float] | None = None
    scale: Scale = "linear"
    edge: float = 1.0
    ticks: tuple[tuple[float, str], ...] | None = None
    named: bool = False
    link: str = ""

    @property
    def words(self) -> str:
        """Label and unit."""
        return f"{self.label} [{self.unit}]" if self.unit else self.label


@dataclass(frozen=True, eq=False)
class Line:
    """A curve y (N,) over x (N,), which increases or has NaN where the curve is interrupted.

    most: how many stretches of a longer curve are kept; label: "" for none in the legend; dash: "", "--" or ":".
    """

    x: Array
    y: Array
    colour: str
    label: str = ""
    width: float = 1.3
    dash: str = ""
    most: int = LONG


@dataclass(frozen=True, eq=False)
class Dots:
    """Signs at x (N,), y (N,): "o", "D" (a diamond) or "s" (a square), `size` wide."""

    x: Array
    y: Array
    colour: str
    label: str = ""
    size: float = 5.0
    sign: str = "o"


@dataclass(frozen=True, eq=False)
class Band:
    """What lies between low (N,) and high (N,) over x (N,)."""

    x: Array
    low: Array
    high: Array
    colour: str
    label: str = ""
    opacity: float = 1.0


@dataclass(frozen=True, eq=False)
class Bars:
    """Bars from zero to value (N,) at the rows `place` (N,), `thick` of a row, with their texts at the end."""

    place: Array
    value: Array
    texts: tuple[str, ...]
    colour: str
    label: str = ""
    thick: float = 0.8


@dataclass(frozen=True)
class Strip:
    """All between two places of an axis; a line where they are the same."""

    axis: Literal["x", "y"]
    low: float
    high: float
    colour: str
    label: str = ""
    dash: str = ""
    opacity: float = 1.0


@dataclass(frozen=True, eq=False)
class Outline:
    """A curve through points (N, 2) in their order; with a colour to fill it, of such opacity, it is closed."""

    points: Array
    colour: str
    fill: str = ""
    label: str = ""
    width: float = 1.3
    dash: str = ""
    opacity: float = 1.0


@dataclass(frozen=True)
class Note:
    """A text at (x, y), to the left or to the right of it, or upon it."""

    x: float
    y: float
    text: str
    colour: str
    side: Literal["left", "right", "center"] = "right"


@dataclass(frozen=True, eq=False)
class Cells:
    """A matrix (r, c) of numbers from -1 to 1, coloured by sign and size; NaN is left empty."""

    values: Array


Mark = Line | Dots | Band | Bars | Strip | Outline | Note | Cells


@dataclass(frozen=True, eq=False)
class Panel:
    """Marks over two axes, the first one lowest; height: with its numbers and labels.

    equal: both axes have one scale, and no frame where they have no labels. whole: it takes a row by itself.
    """

    x: Axis
    y: Axis
    marks: tuple[Mark, ...]
    height: float = 200.0
    title: str = ""
    equal: bool = False
    whole: bool = False


@dataclass(frozen=True, eq=False)
class Picture:
    """Panels under a title that says what they show, and a note that explains it, row by row in so many columns.

    name: suits a file; about: a description for those who do not see it. instead: what a page shows in its place, what
    `in_space` returns as JSON, or "map" for that of its block.
    """

    title: str
    panels: tuple[Panel, ...]
    columns: int = 1
    note: str = ""
    width: float = NARROW
    name: str = ""
    about: str = ""
    instead: str = ""

    @property
    def grid(self) -> list[list[Panel]]:
        """The panels row by row."""
        found = list[list[Panel]]()
        for panel in self.panels:
            if not found or panel.whole or found[-1][0].whole or len(found[-1]) == self.columns:
                found.append([])
            found[-1].append(panel)
        return found

    def called(self, name: str, about: str, instead: str = "") -> Picture:
        """Return the picture with a name and a description."""
        return replace(self, name=name, about=about, instead=instead)


def stretched(y: Array, most: int) -> tuple[NDArray[np.intp], Array]:
    """Return the first place of each of at most `most` stretches of y (N,), and its least and largest value (m, 2).

    As many samples as stretches are returned as they are, (N, 1), and so are those with NaN among them.
    """
    count = len(y) if np.isnan(y).any() else min(len(y), most)
    starts = (np.arange(count) * len(y) // max(count, 1)).astype(np.intp)
    if count == len(y):
        return starts, y[:, None]
    return starts, np.stack([np.minimum.reduceat(y, starts), np.maximum.reduceat(y, starts)], 1)


def sparse(x: Array, y: Array) -> tuple[Array, Array]:
    """Return the dots (x, y) of which each stands alone in a cell of a fine grid: a cloud looks the same without."""
    if len(x) == 0:
        return x, y
    cells = np.zeros(len(x), dtype=np.int64)
    for values, count in zip((x, y), _CELLS, strict=True):
        span = float(np.ptp(values)) or 1.0
        cells = cells * (count + 1) + ((values - values.min()) * (count / span)).astype(np.int64)
    first = np.sort(np.unique(cells, return_index=True)[1])
    return x[first], y[first]


def short(text: str, longest: int = 28) -> str:
    """Return a name that is not too long."""
    return text if len(text) <= longest else text[: longest - 1] + "…"


def rows(names: Sequence[str], longest: int = 28) -> Axis:
    """Return the axis of named rows, the first on top."""
    ticks = tuple((float(k), short(name, longest)) for k, name in enumerate(names))
    return Axis(limits=(len(names) - 0.4, -0.6), ticks=ticks, named=True)
