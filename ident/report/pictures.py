"""The pictures of a report: each function takes arrays and returns a Picture that says one thing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from ident.arrays import Array
from ident.report.figures import AMBER, BAND, BLUE, GREEN, INK, MEASURED, MUTED, RED
from ident.report.picture import (
    LONG,
    Axis,
    Band,
    Bars,
    Cells,
    Dots,
    Line,
    Mark,
    Note,
    Panel,
    Picture,
    Strip,
    rows,
    short,
    sparse,
)

#: Errors [%] from which on the error of predicting no torque is drawn beside them.
NO_TORQUE_SHOWN = 40.0
_VERDICTS = {"agrees": (GREEN, "o"), "contradicted": (RED, "D"), "not determined": (MUTED, "s")}
_ROW, _AROUND = 16.0, 48.0  # px: a named row, and what is above and below all of them


def torque_picture(
    t: ArrayLike,
    measured: ArrayLike,
    predicted: ArrayLike,
    *,
    title: str,
    unit: str = "N m",
    link: str = "",
    most: int = LONG,
) -> Picture:
    """Return measured and predicted torque (N,) [unit] over t (N,) [s], and the residual below.

    link: pictures of one name are zoomed together; most: how many stretches of a longer recording are kept.
    """
    t, measured, predicted = (np.asarray(x, dtype=np.float64) for x in (t, measured, predicted))
    curves = (
        Line(t, measured, MEASURED, "measured", 2.6, most=most),
        Line(t, predicted, BLUE, "predicted", 1.1, most=most),
    )
    left = Strip("y", 0.0, 0.0, MUTED), Line(t, measured - predicted, RED, "residual", 0.9, most=most)
    above = Panel(Axis(link=link), Axis("torque", unit), curves, 146.0)
    return Picture(title, (above, Panel(Axis("time", "s", link=link), Axis("residual", unit), left, 100.0)))


def friction_picture(
    velocity: ArrayLike,
    torque: ArrayLike,
    grid: ArrayLike,
    law: ArrayLike,
    *,
    title: str,
    unit: str = "N m",
    velocity_unit: str = "rad/s",
) -> Picture:
    """Return friction data (N,) over velocity (N,), and the fitted law (m,) on grid (m,).

    torque: measured, less all that the model explains otherwise.
    """
    dots = Dots(*sparse(velocity, torque), MEASURED, "measured less rigid body", 2.0)
    return _friction(title, unit, velocity_unit, dots, Line(np.asarray(grid), np.asarray(law), BLUE, "fitted law", 2.2))


def friction_change_picture(
    velocity: ArrayLike,
    curves: Sequence[tuple[str, Array, Array]],
    *,
    title: str,
    unit: str = "N m",
    velocity_unit: str = "rad/s",
) -> Picture:
    """Return friction curves (name, torque (m,), standard error (m,)) over velocity (m,), in bands of 95 %."""
    velocity, marks = np.asarray(velocity), list[Mark]()
    for k, (name, law, error) in enumerate(curves):
        colour = (BLUE, RED, GREEN, AMBER, MUTED)[k % 5]
        marks.append(Band(velocity, law - 1.96 * error, law + 1.96 * error, colour, opacity=0.25))
        marks.append(Line(velocity, law, colour, short(name), 1.8, ("", "--", ":")[k % 3]))
    return _friction(title, unit, velocity_unit, *marks)


def _friction(title: str, unit: str, velocity_unit: str, *marks: Mark) -> Picture:
    axes = Strip("y", 0.0, 0.0, MUTED), Strip("x", 0.0, 0.0, MUTED)
    panel = Panel(Axis("velocity", velocity_unit), Axis("friction", unit), (*marks[:1], *axes, *marks[1:]), 230.0)
    return Picture(title, (panel,))


def comparison_picture(
    names: Sequence[str],
    standard_errors_off: ArrayLike,
    verdicts: Sequence[str],
    boundary: float | None,
    *,
    title: str,
    label: str = "(identified − CAD) / standard error",
    words: tuple[str, str, str] = ("agrees", "contradicted", "not determined"),
) -> Picture:
    """Return (identified - CAD) / standard error of each base parameter, largest first, coloured by verdict.

    boundary: where "contradicted" begins; the axis is linear up to it and logarithmic beyond. words: what the legend
    calls the verdicts "agrees", "contradicted" and "not determined".
    """
    off = np.asarray(standard_errors_off, dtype=np.float64)
    order = np.argsort(-np.abs(off))
    edge = round(boundary or 3.0, 1)
    value = np.clip(off[order], -1e6, 1e6)
    reach = max(2.0 * edge, 1.6 * float(np.abs(value).max(initial=0.0)))
    far = [10.0**k for k in range(7) if 3.0 * edge < 10.0**k < reach] or [float(round(reach / 1.6))]
    far = [x for x in far if x > 2.0 * edge][-1::-2][::-1]  # every other one: labels must not touch
    ticks = tuple((x, _signed(x)) for x in (*(-x for x in reversed(far)), -edge, 0.0, edge, *far))
    axis = Axis(label, limits=(-reach, reach), scale="symlog", edge=edge, ticks=ticks)
    named = [names[k] for k in order], [verdicts[k] for k in order]
    return _bars(title, axis, *named, np.zeros(len(value)), value, value, words, Strip("x", -edge, edge, BAND))


def interval_picture(
    names: Sequence[str], differences: ArrayLike, half_widths: ArrayLike, verdicts: Sequence[str], *, title: str
) -> Picture:
    """Return (identified - CAD) of each base parameter (b,) with its 95 % interval, as shares of CAD's size.

    The order of `names` is kept, from top to bottom. An interval that holds zero does not contradict CAD.
    """
    x = np.clip(100.0 * np.asarray(differences, dtype=np.float64), -1e6, 1e6)
    half = np.clip(100.0 * np.asarray(half_widths, dtype=np.float64), 0.0, 1e6)
    reach = max(15.0, 1.3 * float((np.abs(x) + half).max(initial=0.0)))
    sizes = [10.0**k for k in range(1, 7) if 10.0**k < 0.8 * reach]
    sizes = sizes if len(sizes) <= 3 else sizes[::2]
    ticks = tuple((t, f"{_signed(t)} %" if t else "0") for t in (*(-t for t in reversed(sizes)), 0.0, *sizes))
    label = "(identified − CAD) / size of CAD ± 95 %"
    axis = Axis(label, limits=(-reach, reach), scale="symlog", edge=10.0, ticks=ticks)
    return _bars(title, axis, names, verdicts, x - half, x + half, x, tuple(_VERDICTS))


def error_picture(
    joints: Sequence[str],
    relative: Mapping[str, ArrayLike],
    *,
    title: str,
    colours: tuple[str, ...] = (BLUE, AMBER, MUTED, GREEN),
) -> Picture:
    """Return the relative error (n,) of each prediction as bars per joint; 100 % is a prediction of no torque."""
    thick = 0.8 / len(relative)
    marks, largest = list[Mark](), 0.0
    for k, (name, values) in enumerate(relative.items()):
        share = 100.0 * np.asarray(values, dtype=np.float64)
        place = np.arange(len(joints), dtype=np.float64) + (k - (len(relative) - 1) / 2) * thick
        known = np.where(np.isfinite(share), share, 0.0)
        texts = tuple(f"{x:#.3g}".rstrip(".") + " %" if np.isfinite(x) else "n/a" for x in share)
        marks.append(Bars(place, known, texts, colours[k % len(colours)], short(name), 0.92 * thick))
        largest = max(largest, float(known.max(initial=0.0)))
    if largest > NO_TORQUE_SHOWN:
        marks.append(Strip("x", 100.0, 100.0, INK, "no torque", "--"))
        largest = max(largest, 100.0)
    axis = Axis("norm of error / norm of torque", "%", limits=(0.0, 1.22 * largest or 1.0))
    height = _AROUND + 23.0 * len(joints) * len(relative)
    return Picture(title, (Panel(axis, rows(joints), tuple(marks), height),))


def selection_picture(weights: ArrayLike, errors: ArrayLike, chosen: float, *, title: str) -> Picture:
    """Return the cross-validation error (w,), above the least one in percent, over the prior's weight (w,)."""
    weights, errors = np.asarray(weights, dtype=np.float64), np.asarray(errors, dtype=np.float64)
    excess = 100.0 * (errors / np.nanmin(errors) - 1.0)
    at = float(np.interp(np.log(chosen), np.log(weights), excess))  # it may lie between those tried
    marks = (
        Line(weights, excess, BLUE, "tried", 1.6),
        Dots(weights, excess, BLUE, size=5.0),
        Dots(np.array([chosen]), np.array([at]), RED, f"chosen: {chosen:.2g}", 9.0, "D"),
    )
    axis = Axis("error above the least", "%")
    most = float(excess[np.isfinite(excess)].max(initial=0.0))
    if most > 100.0:
        ticks = (0.0, 10.0, *(10.0**k for k in range(2, 7) if 10.0**k <= 2.0 * most))
        named = tuple((x, f"{x:g}") for x in ticks)
        axis = Axis(axis.label, "%", (-3.0, 1.5 * most), "symlog", edge=10.0, ticks=named)
    return Picture(title, (Panel(Axis("weight of the prior", "-", scale="log"), axis, marks, 200.0),))


def path_picture(
    names: Sequence[str],
    missed: ArrayLike,
    errors: ArrayLike,
    others: Sequence[ArrayLike],
    *,
    title: str,
    honest: float = float("nan"),
) -> Picture:
    """Return the torque missed on what is left out, missed (k,), after each step of a choice, with paired errors (k,).

    names: of the steps; others: what else was tried, none at the first one. honest: what is missed where the choice is
    made without what it is judged on, NaN for unknown. All are shares.
    """
    x, error = 100.0 * np.asarray(missed, dtype=np.float64), 200.0 * np.asarray(errors, dtype=np.float64)
    place = np.arange(len(x), dtype=np.float64)
    rest = [100.0 * np.asarray(values, dtype=np.float64) for values in others]
    at = np.repeat(place, [len(values) for values in rest])
    ends = np.column_stack([x - error, x + error, np.full(len(x), np.nan)]).ravel()
    reach = [*x, *np.concatenate(rest), *ends[np.isfinite(ends)], *([100.0 * honest] if np.isfinite(honest) else [])]
    span = (max(reach) - min(reach)) or 1.0
    marks: list[Mark] = [Strip("x", 100.0 * honest, 100.0 * honest, GREEN, "chosen by other parts", "--")]
    marks += [
        Dots(np.concatenate(rest), at, MUTED, "tried, not taken", 5.0),
        Line(x, place, BLUE, width=1.0, dash=":"),
        Line(ends, np.repeat(place, 3), BLUE, "± 2 standard errors", 1.7),
        Dots(x, place, BLUE, "taken", 8.0, "D"),
        *(Note(value, k - 0.3, f"{value:#.3g} %", INK) for k, value in enumerate(x)),
    ]
    shown = marks if np.isfinite(honest) else marks[1:]
    axis = Axis("torque missed on what is left out", "%", (min(reach) - 0.05 * span, max(reach) + 0.32 * span))
    return Picture(title, (Panel(axis, rows(names), tuple(shown), _AROUND + 30.0 * len(names)),))


def correlation_picture(names: Sequence[str], covariance: Array, *, title: str) -> Picture:
    """Return the correlations of estimates with covariance (b, b); what is not determined is left empty."""
    values = correlations(covariance)
    ticks = tuple((float(k), short(name)) for k, name in enumerate(names))
    axis = Axis(limits=(-0.5, len(names) - 0.5), ticks=ticks, named=True)
    height = 2.0 * _AROUND + 12.0 * len(names)
    return Picture(title, (Panel(axis, replace(axis, limits=(len(names) - 0.5, -0.5)), (Cells(values),), height),))


def correlations(covariance: Array) -> Array:
    """Return the correlations (b, b) of a covariance, NaN for what is not determined and on the diagonal."""
    sizes = np.sqrt(np.diag(covariance))
    with np.errstate(divide="ignore", invalid="ignore"):
        values = covariance / np.outer(sizes, sizes)
    np.fill_diagonal(values, np.nan)
    return np.asarray(np.where(np.isfinite(values), values, np.nan))


def _bars(
    title: str,
    axis: Axis,
    names: Sequence[str],
    verdicts: Sequence[str],
    start: Array,
    stop: Array,
    at: Array,
    words: Sequence[str],
    *behind: Mark,
) -> Picture:
    """Return named bars from start to stop (b,), each with a sign at `at`, in the look of its verdict.

    words: what the legend calls the verdicts.
    """
    marks: list[Mark] = [*behind, Strip("x", 0.0, 0.0, MUTED)]
    for word, (verdict, (colour, sign)) in zip(words, _VERDICTS.items(), strict=True):
        own = np.array([k for k, v in enumerate(verdicts) if v == verdict], dtype=int)
        gap = np.full(len(own), np.nan)
        ends = np.column_stack([start[own], stop[own], gap]).ravel()
        marks.append(Line(ends, np.repeat(own.astype(float), 3), colour, width=1.7))
        marks.append(Dots(at[own], own.astype(float), colour, f"{word} ({len(own)})", 6.0, sign))
    return Picture(title, (Panel(axis, rows(names), tuple(marks), _AROUND + _ROW * len(names)),))


def _signed(x: float) -> str:
    """Return a round number with its sign, thousands as k."""
    size = f"{abs(x) / 1e3:g}k" if abs(x) >= 1e3 else f"{abs(x):.3g}"
    return f"{'+' if x > 0 else '−'}{size}" if x else "0"
