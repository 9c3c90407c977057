"""Figures: each function takes arrays and returns a matplotlib Figure that says one thing.

Colours are those of Okabe and Ito, which colour-blind readers can tell apart; `svg` exchanges them for variables of
the page, so that the same figure serves a light and a dark background. Without a page they suit white paper.
"""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ident.arrays import Array
from ident.files import write_whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Text

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
WIDTH = 4.7  # inch: 451 px, two beside each other on a desk, one on a telephone
_TITLE, _LEGEND = 0.27, 0.185  # inch: the title, and each row of the legend
#: Errors [%] from which on the error of predicting no torque is drawn beside them.
NO_TORQUE_SHOWN = 40.0
_VERDICTS = {"agrees": (GREEN, "o"), "contradicted": (RED, "D"), "not determined": (MUTED, "s")}
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


def torque_figure(
    t: ArrayLike, measured: ArrayLike, predicted: ArrayLike, *, title: str, unit: str = "N m", points: int = 900
) -> Figure:
    """Return measured and predicted torque (N,) [unit] over t (N,) [s], and the residual on the same scale below.

    More samples than `points` are drawn as least and largest values, so that no peak is lost.
    """
    figure, (above, below) = blank(2.9, title, rows=(2.2, 1.0))
    measured, predicted = np.asarray(measured), np.asarray(predicted)
    above.plot(*envelope(t, measured, points), color=MEASURED, linewidth=2.6, label="measured")
    above.plot(*envelope(t, predicted, points), color=BLUE, linewidth=1.0, label="predicted")
    below.plot(*envelope(t, measured - predicted, points), color=RED, linewidth=0.8, label="residual")
    below.axhline(0.0, color=MUTED, linewidth=0.6)
    above.tick_params(labelbottom=False)
    above.set_ylabel(f"torque [{unit}]")
    below.sharex(above)
    limit = float(np.abs(measured - predicted).max(initial=0.0)) or 1.0
    below.set(xlabel="time [s]", ylabel=f"residual [{unit}]", ylim=(-1.15 * limit, 1.15 * limit))
    legend(figure, 2)
    figure.align_ylabels()
    return figure


def friction_figure(
    velocity: ArrayLike,
    torque: ArrayLike,
    grid: ArrayLike,
    law: ArrayLike,
    *,
    title: str,
    unit: str = "N m",
    velocity_unit: str = "rad/s",
    points: int = 700,
) -> Figure:
    """Return friction data (N,) over velocity (N,), and the fitted law (m,) on grid (m,).

    torque: measured, less all that the model explains otherwise.
    """
    figure, axes = _friction(title, unit, velocity_unit)
    velocity, torque = np.asarray(velocity), np.asarray(torque)
    step = max(1, -(-len(velocity) // points))
    axes.plot(velocity[::step], torque[::step], ".", color=MEASURED, markersize=2.2, label="measured less rigid body")
    axes.plot(grid, law, color=BLUE, linewidth=1.8, label="fitted law")
    legend(figure, 2)
    return figure


def friction_change_figure(
    velocity: ArrayLike,
    curves: Sequence[tuple[str, Array, Array]],
    *,
    title: str,
    unit: str = "N m",
    velocity_unit: str = "rad/s",
) -> Figure:
    """Return friction curves (name, torque (m,), standard error (m,)) over velocity (m,), in bands of 95 %."""
    figure, axes = _friction(title, unit, velocity_unit)
    for k, (name, law, error) in enumerate(curves):
        colour = (BLUE, RED, GREEN, AMBER, MUTED)[k % 5]
        axes.fill_between(velocity, law - 1.96 * error, law + 1.96 * error, color=colour, alpha=0.25, linewidth=0)
        axes.plot(velocity, law, color=colour, linewidth=1.5, linestyle=("-", "--", ":")[k % 3], label=plain(name))
    legend(figure, 3)
    return figure


def _friction(title: str, unit: str, velocity_unit: str) -> tuple[Figure, Axes]:
    """Return a Figure and its axes of friction over velocity."""
    figure, (axes,) = blank(2.6, title)
    axes.axhline(0.0, color=MUTED, linewidth=0.6, zorder=2.1)
    axes.axvline(0.0, color=MUTED, linewidth=0.6, zorder=2.1)
    axes.set(xlabel=f"velocity [{velocity_unit}]", ylabel=f"friction [{unit}]")
    return figure, axes


def comparison_figure(
    names: Sequence[str],
    standard_errors_off: ArrayLike,
    verdicts: Sequence[str],
    boundary: float | None,
    *,
    title: str,
    label: str = "(identified − CAD) / standard error",
    words: tuple[str, str, str] = ("agrees", "contradicted", "not determined"),
) -> Figure:
    """Return (identified - CAD) / standard error of each base parameter, largest first, coloured by verdict.

    boundary: where "contradicted" begins; the axis is linear up to it and logarithmic beyond. words: what the legend
    calls the verdicts "agrees", "contradicted" and "not determined".
    """
    off = np.asarray(standard_errors_off, dtype=np.float64)
    order = np.argsort(-np.abs(off))[::-1]  # the axis counts upwards: largest on top
    edge = round(boundary or 3.0, 1)
    value = np.clip(off[order], -1e6, 1e6)
    reach = max(2.0 * edge, 1.6 * float(np.abs(value).max(initial=0.0)))
    far = [10.0**k for k in range(7) if 3.0 * edge < 10.0**k < reach] or [float(round(reach / 1.6))]
    far = [x for x in far if x > 2.0 * edge][-1::-2][::-1]  # every other one: labels must not touch
    ticks = {x: _signed(x) for x in (*(-x for x in reversed(far)), -edge, 0.0, edge, *far)}
    rows = [names[k] for k in order], np.zeros(len(value)), value, value, [verdicts[k] for k in order]
    figure, axes = _bars(title, *rows, words, edge, reach, ticks, label)
    axes.axvspan(-edge, edge, color=BAND, zorder=0)
    return figure


def interval_figure(
    names: Sequence[str], differences: ArrayLike, half_widths: ArrayLike, verdicts: Sequence[str], *, title: str
) -> Figure:
    """Return (identified - CAD) of each base parameter (b,) with its 95 % interval, as shares of CAD's size.

    The order of `names` is kept, from top to bottom. An interval that holds zero does not contradict CAD.
    """
    x = np.clip(100.0 * np.asarray(differences, dtype=np.float64), -1e6, 1e6)
    half = np.clip(100.0 * np.asarray(half_widths, dtype=np.float64), 0.0, 1e6)
    reach = max(15.0, 1.3 * float((np.abs(x) + half).max(initial=0.0)))
    sizes = [10.0**k for k in range(1, 7) if 10.0**k < reach]
    sizes = sizes if len(sizes) <= 3 else sizes[::2]
    ticks = {t: f"{_signed(t)} %" if t else "0" for t in (*(-t for t in reversed(sizes)), 0.0, *sizes)}
    rows = names[::-1], (x - half)[::-1], (x + half)[::-1], x[::-1], list(verdicts)[::-1]
    label = "(identified − CAD) / size of CAD, with 95 % interval"
    return _bars(title, *rows, tuple(_VERDICTS), 10.0, reach, ticks, label)[0]


def error_figure(joints: Sequence[str], relative: Mapping[str, ArrayLike], *, title: str) -> Figure:
    """Return the relative error (n,) of each prediction as bars per joint; 100 % is a prediction of no torque."""
    figure, (axes,) = blank(0.9 + 0.24 * len(joints) * len(relative), title)
    height = 0.8 / len(relative)
    colours = [BLUE, AMBER, MUTED, GREEN]
    largest = 0.0
    for k, (name, values) in enumerate(relative.items()):
        share = 100.0 * np.asarray(values, dtype=np.float64)
        place = np.arange(len(joints)) + (k - (len(relative) - 1) / 2) * height
        known = np.where(np.isfinite(share), share, 0.0)
        bars = axes.barh(place, known, 0.92 * height, color=colours[k % len(colours)], label=plain(name))
        largest = max(largest, float(known.max(initial=0.0)))
        labels = [f"{shown:#.3g}".rstrip(".") + " %" if np.isfinite(shown) else "n/a" for shown in share]
        axes.bar_label(bars, labels, padding=3, color=INK, fontsize=7.5)
    if largest > NO_TORQUE_SHOWN:
        axes.axvline(100.0, color=INK, linewidth=0.9, linestyle=(0, (3, 2)), label="no torque")
        largest = max(largest, 100.0)
    axes.set_yticks(range(len(joints)), [plain(j) for j in joints])
    axes.set(xlim=(0.0, 1.18 * largest or 1.0), ylim=(len(joints) - 0.5, -0.5))
    axes.set_xlabel("norm of error / norm of torque [%]")
    axes.grid(axis="y", visible=False)
    legend(figure, len(relative) + 1)
    return figure


def identifiability_figure(
    links: Sequence[str], parameters: Sequence[str], states: Sequence[Sequence[str]], *, title: str
) -> Figure:
    """Return links x parameters; states[i][k]: "alone", "sum", "logs" or "never", as the legend explains them."""
    from matplotlib.patches import Rectangle

    figure, (axes,) = blank(1.15 + 0.27 * len(links), title)
    for i, row in enumerate(states):
        for k, state in enumerate(row):
            colour, sign, _ = STATES[state]
            axes.add_patch(Rectangle((k - 0.46, i - 0.44), 0.92, 0.88, facecolor=colour, linewidth=0))
            dark = INK if state == "never" else PAGE if state == "alone" else "black"
            axes.text(k, i, sign, ha="center", va="center", fontsize=8, color=dark)
    axes.set_xticks(range(len(parameters)), list(parameters))
    axes.set_yticks(range(len(links)), [plain(link) for link in links])
    axes.set(xlim=(-0.5, len(parameters) - 0.5), ylim=(len(links) - 0.5, -0.5), frame_on=False)
    axes.tick_params(length=0)
    axes.grid(visible=False)
    seen = [s for s in STATES if any(s in row for row in states)]
    for state in seen:
        axes.plot([], [], "s", color=STATES[state][0], markersize=7, label=f"{STATES[state][1]} {STATES[state][2]}")
    legend(figure, 2)
    return figure


def selection_figure(weights: ArrayLike, errors: ArrayLike, chosen: float, *, title: str) -> Figure:
    """Return the cross-validation error (w,), above the least one in percent, over the prior's weight (w,)."""
    weights, errors = np.asarray(weights, dtype=np.float64), np.asarray(errors, dtype=np.float64)
    figure, (axes,) = blank(2.4, title)
    excess = 100.0 * (errors / np.nanmin(errors) - 1.0)
    axes.plot(weights, excess, "-o", color=BLUE, markersize=4, linewidth=1.4, label="tried")
    at = float(np.interp(np.log(chosen), np.log(weights), excess))  # it may lie between those tried
    axes.plot([chosen], [at], "D", color=RED, markersize=7, label=f"chosen: {chosen:.2g}")
    axes.set_xscale("log")
    finite = excess[np.isfinite(excess)]
    if finite.max(initial=0.0) > 100.0:
        axes.set_yscale("symlog", linthresh=10.0)
        axes.set_ylim(bottom=-3.0)
        axes.minorticks_off()
    axes.set(xlabel="weight of the prior [-]", ylabel="error above the least [%]")
    legend(figure, 2)
    return figure


def _bars(
    title: str,
    names: Sequence[str],
    start: Array,
    stop: Array,
    at: Array,
    verdicts: Sequence[str],
    words: tuple[str, ...],
    edge: float,
    reach: float,
    ticks: Mapping[float, str],
    label: str,
) -> tuple[Figure, Axes]:
    """Return a Figure of named bars from start to stop (b,), each with a marker at `at`, in the look of its verdict.

    words: what the legend calls the verdicts. The axis is linear up to an edge and logarithmic beyond, to both sides;
    ticks: where they are and what they say.
    """
    figure, (axes,) = blank(1.1 + 0.165 * len(names), title)
    axes.axvline(0.0, color=MUTED, linewidth=0.8)
    for word, (verdict, (colour, marker)) in zip(words, _VERDICTS.items(), strict=True):
        rows = np.array([k for k, v in enumerate(verdicts) if v == verdict], dtype=int)
        axes.hlines(rows, start[rows], stop[rows], color=colour, linewidth=1.3)
        axes.plot(at[rows], rows, marker, color=colour, markersize=4.2, label=f"{word} ({len(rows)})")
    axes.set_yticks(range(len(names)), [plain(name) for name in names])
    axes.set_xscale("symlog", linthresh=edge, linscale=1.0)
    axes.set_xticks(list(ticks), list(ticks.values()))
    axes.minorticks_off()
    axes.set(xlim=(-reach, reach), ylim=(-0.7, len(names) - 0.3), xlabel=label)
    legend(figure, 3)
    return figure, axes


def _signed(x: float) -> str:
    """Return a round number with its sign, thousands as k."""
    size = f"{abs(x) / 1e3:g}k" if abs(x) >= 1e3 else f"{abs(x):.3g}"
    return f"{'+' if x > 0 else '−'}{size}" if x else "0"


def envelope(t: ArrayLike, y: ArrayLike, points: int) -> tuple[Array, Array]:
    """Return at most `points` of the samples (t, y): of each stretch the least and the largest, in their order."""
    t, y = np.asarray(t, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if len(y) <= points:
        return t, y
    edges = np.linspace(0, len(y), points // 2 + 1).astype(int)
    places = [sorted((a + int(np.argmin(y[a:b])), a + int(np.argmax(y[a:b])))) for a, b in pairwise(edges)]
    chosen = np.unique(places)
    return t[chosen], y[chosen]


def plain(text: str, longest: int = 28) -> str:
    """Return a name as matplotlib shows it literally: no mathematics, not too long."""
    short = text if len(text) <= longest else text[: longest - 1] + "…"
    return short.replace("$", r"\$")


def svg(figure: Figure, description: str) -> str:
    """Return the figure as one <svg> element for a page that defines the variables of COLOURS."""
    from xml.sax.saxutils import quoteattr

    import matplotlib as mpl

    buffer = io.StringIO()
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "ident"}):
        legible(figure).savefig(buffer, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    text = buffer.getvalue()
    text = re.sub(r"\s*<metadata>.*?</metadata>", "", text[text.index("<svg") :], flags=re.S).replace(
        "<svg", f"<svg role='img' aria-label={quoteattr(description)}", 1
    )
    for colour, variable in COLOURS.items():
        text = text.replace(colour, f"var({variable})")
    return text


def svg_file(figure: Figure, description: str) -> str:
    """Return the figure as an SVG file on white."""
    text = svg(figure, description)
    for colour, variable in COLOURS.items():
        text = text.replace(f"var({variable})", colour)
    return text.replace("<svg", "<svg style='background: white'", 1)


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
    content = io.BytesIO()
    legible(figure).savefig(content, format=path.suffix[1:], dpi=dpi)
    return write_whole(path, content.getvalue())


@cache
def _installed() -> tuple[str, ...]:
    from matplotlib.font_manager import get_font_names

    known = set(get_font_names())
    return tuple(font for font in CJK if font in known)


def blank(height: float, title: str, rows: tuple[float, ...] = (1.0,), columns: int = 1) -> tuple[Figure, list[Axes]]:
    """Return an empty Figure of WIDTH x height [inch] with its own look, and its axes row by row.

    rows: their heights relative to each other.
    """
    figure = empty(WIDTH, height)
    shape: dict[str, Any] = {"height_ratios": rows}
    made = figure.subplots(len(rows), columns, squeeze=False, gridspec_kw=shape).ravel()
    top = 1.0 - 0.05 / height
    told = figure.text(0.01, top, title, va="top", size=9.5, weight="bold", color=INK, in_layout=False)
    _fit_title(told, 0.98 * float(figure.bbox.width))
    keep(figure, 0.0, _TITLE)
    for axes in made:
        style(axes)
    return figure, list(made)


def empty(width: float, height: float) -> Figure:
    """Return a Figure [inch] without a window."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def keep(figure: Figure, side: float, top: float) -> None:
    """Keep axes away from both sides, by a share of the width, and from the top [inch]."""
    engine = figure.get_layout_engine()
    if engine is not None:
        height = float(figure.get_size_inches()[1])
        engine.set(rect=(side, 0.0, 1.0 - 2.0 * side, 1.0 - top / height))  # type: ignore[call-arg]


def style(axes: Axes, ticks: float = 8.0) -> None:
    """Give axes the look of all figures."""
    axes.set_facecolor("none")
    axes.grid(color=LINE, linewidth=0.5)
    axes.set_axisbelow(True)
    axes.tick_params(labelsize=ticks, colors=INK, length=2.5, width=0.6)
    axes.xaxis.label.set(fontsize=8.5, color=INK)
    axes.yaxis.label.set(fontsize=8.5, color=INK)
    for side, spine in axes.spines.items():
        spine.set(color=MUTED, linewidth=0.6, visible=side in ("left", "bottom"))


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


def legend(figure: Figure, columns: int) -> None:
    """Put the legend of the first axes in rows under the title, and the axes below it, where it hides nothing."""
    height = float(figure.get_size_inches()[1])
    handles, labels = figure.axes[0].get_legend_handles_labels()
    shown = figure.legend(
        handles,
        labels,
        loc="upper left",
        bbox_to_anchor=(0.005, 1.0 - _TITLE / height),
        ncols=columns,
        frameon=False,
        fontsize=8,
        labelcolor=INK,
        borderaxespad=0.0,
        borderpad=0.2,
        handlelength=1.4,
        columnspacing=1.2,
        handletextpad=0.5,
    )
    shown.set_in_layout(False)
    keep(figure, 0.0, _TITLE + _LEGEND * -(-len(labels) // columns))
