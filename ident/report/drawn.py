"""A picture drawn by matplotlib, for paper: `figure_of` returns the figure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ident.report.figures import BLUE, INK, RED, blank, legend, plain
from ident.report.picture import Axis, Band, Bars, Cells, Dots, Line, Mark, Note, Picture, Strip, envelope

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_INCH, _POINT = 1.0 / 96.0, 0.75  # of a pixel
_POINTS = 900  # samples of a curve
_ROOM, _NAMES = 48, 20  # characters of names that fit below a picture, and slanted names


def figure_of(picture: Picture) -> Figure:
    """Return a picture as a figure on white paper."""
    count = picture.columns
    heights = [max(p.height for p in picture.panels[k : k + count]) for k in range(0, len(picture.panels), count)]
    figure, places = blank(sum(heights) * _INCH + 0.5, plain(picture.title, 200), tuple(heights), count)
    linked: dict[str, Axes] = {}
    for axes, panel in zip(places, picture.panels, strict=True):
        for k, mark in enumerate(panel.marks):
            _draw(axes, mark, 2.0 + 0.01 * k)
        first = linked.setdefault(panel.x.link, axes)
        if panel.x.link and first is not axes:
            axes.sharex(first)
        _axis(axes, "x", panel.x)
        _axis(axes, "y", panel.y)
    if any(axes.get_legend_handles_labels()[1] for axes in figure.axes[:1]):
        legend(figure, 3)
    figure.align_ylabels()
    return figure


def _axis(axes: Axes, which: Literal["x", "y"], axis: Axis) -> None:
    own, rescale = (axes.xaxis, axes.set_xscale) if which == "x" else (axes.yaxis, axes.set_yscale)
    if axis.scale == "symlog":
        rescale("symlog", linthresh=axis.edge, linscale=1.0)
    elif axis.scale == "log":
        rescale("log")
    if axis.ticks is not None:
        slanted = which == "x" and axis.named and sum(len(text) for _, text in axis.ticks) > _ROOM
        shown = axis.ticks[:: -(-len(axis.ticks) // _NAMES) if slanted else 1]
        own.set_ticks([at for at, _ in shown], [plain(text, 40) for _, text in shown])
        if slanted:
            axes.tick_params(axis="x", labelrotation=45)
        axes.minorticks_off()
    elif axis.scale == "linear":
        axes.ticklabel_format(axis=which, scilimits=(-2, 4))  # long ones would push the label off the figure
        own.get_offset_text().set(fontsize=7.5, color=INK)
    if axis.limits is not None:
        (axes.set_xlim if which == "x" else axes.set_ylim)(*axis.limits)
    own.set_label_text(plain(axis.words, 80))
    if not axis.label and not axis.named:
        axes.tick_params(axis=which, **{"labelbottom" if which == "x" else "labelleft": False})


def _draw(axes: Axes, mark: Mark, order: float) -> None:
    """Draw a mark; those of a higher order lie above."""
    look: dict[str, Any] = {"zorder": order}
    if not isinstance(mark, Note | Cells):  # a legend leaves out a label that begins with a line
        look |= {"color": mark.colour, "label": plain(mark.label) if mark.label else "_"}
    match mark:
        case Line():
            points = (mark.x, mark.y) if np.isnan(mark.y).any() else envelope(mark.x, mark.y, _POINTS)
            axes.plot(*points, mark.dash or "-", linewidth=_POINT * mark.width, **look)
        case Dots():
            axes.plot(mark.x, mark.y, mark.sign, markersize=_POINT * mark.size, markeredgewidth=0, **look)
        case Band():
            axes.fill_between(mark.x, mark.low, mark.high, alpha=mark.opacity, linewidth=0, **look)
        case Bars():
            bars = axes.barh(mark.place, mark.value, mark.thick, **look)
            axes.bar_label(bars, [plain(text) for text in mark.texts], padding=3, color=INK, fontsize=7.5)
        case Strip():
            line, span = (axes.axvline, axes.axvspan) if mark.axis == "x" else (axes.axhline, axes.axhspan)
            if mark.low == mark.high:
                line(mark.low, linewidth=0.8, linestyle=mark.dash or "-", **look)
            else:
                span(mark.low, mark.high, alpha=mark.opacity, linewidth=0, **look)
        case Note():
            left = mark.side == "left"
            axes.annotate(
                plain(mark.text), (mark.x, mark.y), xytext=(-4 if left else 4, 0), textcoords="offset points",
                ha="right" if left else "left", va="center", size=7.5, color=mark.colour,
            )  # fmt: skip
        case Cells():
            from matplotlib.colors import LinearSegmentedColormap

            shades = [(0.0, RED), (0.5, f"{RED}00"), (0.5, f"{BLUE}00"), (1.0, BLUE)]  # as strong as they are large
            colours = LinearSegmentedColormap.from_list("signed", shades, 21)
            axes.imshow(mark.values, colours, vmin=-1.0, vmax=1.0, aspect="auto", zorder=order)
