"""What all figures by matplotlib share: colours, frames, legends, and how they become files.

Colours are those of Okabe and Ito, which colour-blind readers can tell apart. Each has a variable of the page, which is
another one on a dark background. `figure_of` draws a picture by matplotlib, for paper.
"""

from __future__ import annotations

import io
import re
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ident.arrays import Array
from ident.errors import need
from ident.files import write_whole
from ident.report import picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Text
    from PIL import Image


#: Colour on white paper -> variable of the page.
COLOURS = {
    "#1b1b1c": "--ink",
    "#5f6063": "--muted",
    "#d8d8da": "--line",
    "#ececee": "--band",
    "#8a8b8e": "--measured",
    "#0072b2": "--blue",
    "#a6cbe3": "--pale",
    "#d55e00": "--red",
    "#00855f": "--green",
    "#b08a00": "--amber",
    "#fefefe": "--page",
}
INK, MUTED, LINE, BAND, MEASURED, BLUE, PALE, RED, GREEN, AMBER, PAGE = COLOURS
_PALETTE = 96  # colours of a picture: a quarter of the bytes of all
#: State of a link parameter -> colour, sign, what it means.
STATES = {
    "alone": (BLUE, "●", "known by the data alone"),
    "sum": (PALE, "+", "known only in a sum with others"),
    "logs": (AMBER, "!", "not shown by these logs"),
    "never": (BAND, "–", "not by any motion"),
}
#: Fonts with Chinese, Japanese and Korean signs as systems install them.
CJK = (
    "Noto Sans CJK SC", "Noto Sans CJK JP", "Source Han Sans SC", "WenQuanYi Zen Hei", "WenQuanYi Micro Hei",
    "Microsoft YaHei", "SimHei", "PingFang SC", "Hiragino Sans GB", "Heiti SC", "Arial Unicode MS",
)  # fmt: skip


def plain(text: str, longest: int = 28) -> str:
    """Return a name as matplotlib shows it literally: no mathematics, not too long."""
    return picture.short(text, longest).replace("$", r"\$")


def svg_file(figure: Figure, description: str) -> str:
    """Return the figure as an SVG file on white; the same figure gives the same text."""
    from xml.sax.saxutils import quoteattr

    import matplotlib as mpl

    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "ident"}):
        text = _saved(figure, "svg", transparent=True, metadata={"Date": None, "Creator": None}).decode()
    text = re.sub(r"\s*<metadata>.*?</metadata>", "", text[text.index("<svg") :], flags=re.S)
    return text.replace("<svg", f"<svg style='background: white' role='img' aria-label={quoteattr(description)}", 1)


def pixels(figure: Figure, dpi: int) -> Image.Image:
    """Return the figure as a picture of few colours, on white."""
    from PIL import Image

    drawn = _saved(figure, "png", dpi=dpi, pil_kwargs={"compress_level": 0})
    found = Image.open(io.BytesIO(drawn)).convert("RGB")
    found = found.quantize(_PALETTE, method=Image.Quantize.FASTOCTREE)
    palette = found.getpalette() or []
    page = int(np.argmax(np.bincount(np.asarray(found).ravel())))
    palette[3 * page : 3 * page + 3] = [255] * 3  # what is nearly white is averaged with it
    found.putpalette(bytes(palette))
    return found


def legible(figure: Figure) -> Figure:
    """Give texts beyond Latin, Greek and Cyrillic the installed fonts that may have their signs; return the figure."""
    from matplotlib.text import Text

    for text in figure.findobj(Text):
        assert isinstance(text, Text)
        if any(ord(sign) > 0x2E7F for sign in text.get_text()):
            text.set(fontfamily=["DejaVu Sans", *_installed()], fontweight="normal")  # few of them have a bold face
    return figure


def save_figure(figure: Figure, path: Path, dpi: int = 130) -> Path:
    """Write a figure to a .png, .svg or .pdf file, whole or not at all; InputError where it cannot be written."""
    return write_whole(path, _saved(figure, path.suffix[1:], dpi=dpi))


def _saved(figure: Figure, ending: str, **options: Any) -> bytes:
    content = io.BytesIO()
    legible(figure).savefig(content, format=ending, **options)
    return content.getvalue()


@cache
def _installed() -> tuple[str, ...]:
    from matplotlib.font_manager import get_font_names

    known = set(get_font_names())
    return tuple(font for font in CJK if font in known)


def empty(width: float, height: float) -> Figure:
    """Return a Figure [inch] without a window, which a notebook shows as it does those of pyplot."""
    need("matplotlib")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    setattr(figure, "_repr_png_", partial(_saved, figure, "png", dpi=110))  # noqa: B010  what a notebook asks of all that it shows
    return figure


def view(azimuth: float, elevation: float) -> Array:
    """Return the rotation (3, 3) from the base frame to what is seen: right, up, towards the eye; angles [deg]."""
    a, e = np.radians(azimuth), np.radians(elevation)
    right = [-np.sin(a), np.cos(a), 0.0]
    up = [-np.sin(e) * np.cos(a), -np.sin(e) * np.sin(a), np.cos(e)]
    return np.array([right, up, [np.cos(e) * np.cos(a), np.cos(e) * np.sin(a), np.sin(e)]])


def _fit_title(told: Text, room: float) -> None:
    """Make a title smaller, and shorten it in the end, until it is no wider than `room` [pixels]."""
    while told.get_window_extent().width > room and float(told.get_fontsize()) > 6.5:
        told.set_fontsize(float(told.get_fontsize()) - 0.25)
    while told.get_window_extent().width > room:
        told.set_text(told.get_text().removesuffix("…")[:-1] + "…")


_INCH, _POINT = 1.0 / 96.0, 0.75  # of a pixel
_POINTS = 900  # stretches of a curve
_ROOM, _NAMES = 48, 20  # characters of names that fit below a picture, and slanted names
_EDGE, _TEXT, _ROW, _SIGN = 0.05, 0.22, 0.185, 0.069  # inch: the edge, a title, a row of a legend, a character of it
_HEADS: tuple[dict[str, Any], ...] = ({"size": 9.5, "weight": "bold", "color": INK}, {"size": 8, "color": MUTED})
_LEGEND: dict[str, Any] = {
    "loc": "upper left", "frameon": False, "fontsize": 8, "labelcolor": INK, "borderaxespad": 0.0, "borderpad": 0.2,
    "handlelength": 1.4, "columnspacing": 1.2, "handletextpad": 0.5,
}  # fmt: skip


def figure_of(shown: picture.Picture) -> Figure:
    """Return a picture as a figure on white paper."""
    grid = shown.grid
    heights = [max(panel.height for panel in row) for row in grid]
    figure = empty(shown.width * _INCH, sum(heights) * _INCH)
    linked: dict[str, Axes] = {}
    places = figure.add_gridspec(len(grid), shown.columns, height_ratios=heights)
    for r, c, panel in ((r, c, panel) for r, row in enumerate(grid) for c, panel in enumerate(row)):
        axes = figure.add_subplot(places[r, :] if panel.whole else places[r, c])
        _style(axes)
        for k, mark in enumerate(panel.marks):
            _draw(axes, mark, 2.0 + 0.01 * k)
        first = linked.setdefault(panel.x.link, axes)
        if panel.x.link and first is not axes:
            axes.sharex(first)
        _axis(axes, "x", panel.x)
        _axis(axes, "y", panel.y)
        axes.set_title(plain(panel.title, 80), fontsize=8.5, color=INK)
        if panel.equal:
            axes.set_aspect("equal", adjustable="box" if panel.x.limits else "datalim")
            axes.axis("on" if panel.x.label else "off")
    _head(figure, shown)
    figure.align_ylabels()
    return figure


def _head(figure: Figure, shown: picture.Picture) -> None:
    """Put title, note and a legend, each label once, above the axes; the figure becomes as much higher."""
    labels = [axes.get_legend_handles_labels() for axes in figure.axes]
    found = {label: handle for own in labels for handle, label in zip(*own, strict=True)}
    width, height = figure.get_size_inches().tolist()
    columns = max(1, min(int(width / (_SIGN * (max(map(len, found), default=0) + 4))), len(found)))
    texts = [text for text in (shown.title, shown.note) if text]
    above = _EDGE + _TEXT * len(texts) + _ROW * -(-len(found) // columns)
    height += above + _EDGE
    figure.set_size_inches(width, height)
    for k, text in enumerate(texts):
        top = 1.0 - (_EDGE + k * _TEXT) / height
        figure.text(0.01, top, plain(text, 400), va="top", in_layout=False, **_HEADS[k])
        _fit_title(legible(figure).texts[-1], 0.98 * float(figure.bbox.width))
    place = 0.005, 1.0 - (_EDGE + _TEXT * len(texts)) / height
    legend = figure.legend(found.values(), found.keys(), bbox_to_anchor=place, ncols=columns, **_LEGEND)
    legend.set_in_layout(False)
    for line in legend.get_lines():
        line.set_markersize(min(float(line.get_markersize()), 7.0))
    if (engine := figure.get_layout_engine()) is not None:
        engine.set(rect=(0.0, 0.0, 1.0, 1.0 - above / height))  # type: ignore[call-arg]


def _style(axes: Axes) -> None:
    """Give axes the look of all figures."""
    axes.set_facecolor("none")
    axes.grid(color=LINE, linewidth=0.5)
    axes.set_axisbelow(True)
    axes.tick_params(labelsize=8.0, colors=INK, length=2.5, width=0.6)
    axes.xaxis.label.set(fontsize=8.5, color=INK)
    axes.yaxis.label.set(fontsize=8.5, color=INK)
    for side, spine in axes.spines.items():
        spine.set(color=MUTED, linewidth=0.6, visible=side in ("left", "bottom"))


def _axis(axes: Axes, which: Literal["x", "y"], axis: picture.Axis) -> None:
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


def _draw(axes: Axes, mark: picture.Mark, order: float) -> None:
    """Draw a mark; those of a higher order lie above."""
    look: dict[str, Any] = {"zorder": order}
    if not isinstance(mark, picture.Note | picture.Cells):  # a legend leaves out a label that begins with a line
        look |= {"color": mark.colour, "label": plain(mark.label, 90) if mark.label else "_"}
    match mark:
        case picture.Line():
            starts, ends = picture.stretched(mark.y, _POINTS)
            x = np.repeat(np.asarray(mark.x)[starts], ends.shape[1])
            axes.plot(x, ends.ravel(), mark.dash or "-", linewidth=_POINT * mark.width, **look)
        case picture.Dots():
            axes.plot(mark.x, mark.y, mark.sign, markersize=_POINT * mark.size, markeredgewidth=0, **look)
        case picture.Band():
            axes.fill_between(mark.x, mark.low, mark.high, alpha=mark.opacity, linewidth=0, **look)
        case picture.Bars():
            bars = axes.barh(mark.place, mark.value, mark.thick, **look)
            axes.bar_label(bars, [plain(text) for text in mark.texts], padding=3, color=INK, fontsize=7.5)
        case picture.Strip():
            line, span = (axes.axvline, axes.axvspan) if mark.axis == "x" else (axes.axhline, axes.axhspan)
            if mark.low == mark.high:
                line(mark.low, linewidth=0.8, linestyle=mark.dash or "-", **look)
            else:
                span(mark.low, mark.high, alpha=mark.opacity, linewidth=0, **look)
        case picture.Note():
            way, aside = {"left": ("right", -4), "right": ("left", 4), "center": ("center", 0)}[mark.side]
            axes.annotate(
                plain(mark.text, 60), (mark.x, mark.y), xytext=(aside, 0), textcoords="offset points",
                ha=way, va="center", size=7.5, color=mark.colour, zorder=order,
            )  # fmt: skip
        case picture.Outline():
            look |= {"linewidth": _POINT * mark.width, "linestyle": mark.dash or "-"}
            if not mark.fill:
                axes.plot(*mark.points.T, **look)
            else:
                fill = {"color": None, "edgecolor": mark.colour, "facecolor": (mark.fill, mark.opacity)}
                axes.fill(*mark.points.T, **look | fill)
        case picture.Cells():
            from matplotlib.colors import LinearSegmentedColormap

            shades = [(0.0, RED), (0.5, f"{RED}00"), (0.5, f"{BLUE}00"), (1.0, BLUE)]  # as strong as they are large
            colours = LinearSegmentedColormap.from_list("signed", shades, 21)
            axes.imshow(mark.values, colours, vmin=-1.0, vmax=1.0, aspect="auto", zorder=order)
