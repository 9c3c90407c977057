"""The pictures of a report: each function takes arrays and returns a Picture that says one thing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ident.arrays import Array
from ident.compare.validate import Residuals
from ident.report.figures import AMBER, BAND, BLUE, GREEN, INK, MUTED, PAGE, PALE, RED, STATES
from ident.report.picture import Axis, Band, Bars, Dots, Line, Mark, Note, Panel, Picture, Strip, rows, short
from ident.robot.robot import Joint

#: Errors [%] from which on the error of predicting no torque is drawn beside them.
NO_TORQUE_SHOWN = 40.0
Words = tuple[str, str, str]
WORDS: Words = ("agrees", "contradicted", "not determined")
_LOOKS = (GREEN, "o"), (RED, "D"), (MUTED, "s")  # of these verdicts
_OFF = "(identified − CAD) / standard error"
ROW, AROUND = 16.0, 48.0  # px: a named row, and what is above and below all of them
_COLOURS = (BLUE, AMBER, MUTED, GREEN)  # of predictions
#: The line at zero.
AT_ZERO = Strip("y", 0.0, 0.0, MUTED)
_LAGS = 300
_HEIGHT = 165.0  # px: a panel of a residual


def friction_picture(title: str, unit: str, velocity_unit: str, *marks: Mark) -> Picture:
    """Return friction [unit] over velocity: the first mark lowest, both axes, the other marks."""
    axes = AT_ZERO, Strip("x", 0.0, 0.0, MUTED)
    panel = Panel(Axis("velocity", velocity_unit), Axis("friction", unit), (*marks[:1], *axes, *marks[1:]), 230.0)
    return Picture(title, (panel,))


def comparison_picture(
    off: Sequence[tuple[str, float, str]], edge: float | None, *, title: str, label: str = _OFF, words: Words = WORDS
) -> Picture:
    """Return (identified - CAD) / standard error of each base parameter, largest first, coloured by verdict.

    off: name, number of standard errors and verdict of each. edge: where "contradicted" begins; the axis is linear
    up to it and logarithmic beyond. words: the verdicts that stand for "agrees", "contradicted" and "not determined".
    """
    off = sorted(off, key=lambda one: -abs(one[1]))
    edge = round(edge or 3.0, 1)
    value = np.clip([size for _, size, _ in off], -1e6, 1e6)
    reach = max(2.0 * edge, 1.6 * float(np.abs(value).max(initial=0.0)))
    far = [10.0**k for k in range(7) if 3.0 * edge < 10.0**k < reach] or [float(round(reach / 1.6))]
    far = [x for x in far if x > 2.0 * edge][-1::-2][::-1]  # every other one: labels must not touch
    ticks = tuple((x, signed(x)) for x in (*(-x for x in reversed(far)), -edge, 0.0, edge, *far))
    axis = Axis(label, limits=(-reach, reach), scale="symlog", edge=edge, ticks=ticks)
    named = [(name, verdict) for name, _, verdict in off]
    return bars(title, axis, named, (np.zeros(len(value)), value, value), words, Strip("x", -edge, edge, BAND))


def error_picture(
    joints: Sequence[str], relative: Mapping[str, ArrayLike], *, title: str, colours: Sequence[str] = _COLOURS
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
    height = AROUND + 23.0 * len(joints) * len(relative)
    return Picture(title, (Panel(axis, rows(joints), tuple(marks), height),))


def bars(
    title: str, axis: Axis, named: Sequence[tuple[str, str]], ends: Sequence[Array], words: Words, *behind: Mark
) -> Picture:
    """Return bars with their names and verdicts, in the look of the verdict: one of `words`.

    ends: start and stop of each (b,), and where its sign is.
    """
    names, verdicts = [name for name, _ in named], [verdict for _, verdict in named]
    looks = {w: (*look, f"{w} ({verdicts.count(w)})") for w, look in zip(words, _LOOKS, strict=True)}
    marks = *behind, Strip("x", 0.0, 0.0, MUTED), *judged(verdicts, ends, looks)
    return Picture(title, (Panel(axis, rows(names), marks, AROUND + ROW * len(named)),))


def judged(verdicts: Sequence[str], ends: Sequence[Array], looks: Mapping[Any, tuple[str, str, str]]) -> Iterator[Mark]:
    """Yield a bar with a sign for each row whose verdict has a look: colour, sign and label; ends: as for `bars`."""
    for verdict, (colour, sign, label) in looks.items():
        own = np.flatnonzero(np.array(verdicts) == verdict)
        start, stop, at = (x[own] for x in ends)
        reach = np.column_stack([start, stop, np.full(len(own), np.nan)]).ravel()
        yield Line(reach, np.repeat(own.astype(float), 3), colour, width=1.7)
        yield Dots(at, own.astype(float), colour, label, 6.0, sign)


def signed(x: float) -> str:
    """Return a round number with its sign, thousands as k."""
    size = f"{abs(x) / 1e3:g}k" if abs(x) >= 1e3 else f"{abs(x):.3g}"
    return f"{'+' if x > 0 else '−'}{size}" if x else "0"


def states_picture(
    links: Sequence[str], parameters: Sequence[str], states: Sequence[Sequence[str]], *, title: str
) -> Picture:
    """Return links x parameters; states[i][k]: "alone", "sum", "logs" or "never", as the legend explains them."""
    found, marks = np.array(states), list[Mark]()
    for state, (colour, sign, means) in STATES.items():
        at = np.argwhere(found == state)
        if len(at):
            x, y = at[:, 1].astype(float), at[:, 0].astype(float)
            marks.append(Dots(x, y, colour, f"{sign} {means}", 22.0, "s"))
            ink = INK if state == "never" else PAGE if state == "alone" else "black"
            marks += [Note(k, i, sign, ink, "center") for i, k in at.tolist()]
    ticks = tuple((float(k), name) for k, name in enumerate(parameters))
    across = Axis(limits=(-0.5, len(parameters) - 0.5), ticks=ticks, named=True)
    return Picture(title, (Panel(across, rows(links), tuple(marks), AROUND + 27.0 * len(links)),))


# ---- what is left of a joint's torque ------------------------------------------------------------------------------


def residual_picture(left: Residuals, j: int, joint: Joint, *, title: str) -> Picture:
    """Return what is left of the j-th joint's torque over time, velocity and position, and how it is distributed.

    Over velocity and position: median and the middle 90 % of the samples in each of 40 bins. Besides, autocorrelation,
    histogram, and quantiles against those of a normal distribution. Recordings are drawn one after the other, with a
    line between.
    """
    residual, starts = left.residual[:, j], left.starts
    shown, axis = one_after_another(left.t, starts), Axis("residual", joint.unit("torque"))
    between = (Strip("x", float(shown[start]), float(shown[start]), MUTED, dash="--") for start in starts[1:])
    curve = Line(shown, residual, RED, width=0.9), AT_ZERO
    time = Axis("time" if len(starts) == 1 else f"time of {len(starts)} recordings", "s")
    panels = (
        Panel(time, axis, (*curve, *between), _HEIGHT),
        _alike(left.t, residual, starts),
        Panel(Axis("velocity", joint.unit("velocity")), axis, _spread(left.qd[:, j], residual), _HEIGHT),
        Panel(Axis("position", joint.unit("position")), axis, _spread(left.q[:, j], residual), _HEIGHT),
        *_distributed(residual),
    )
    return Picture(title, panels, 2)


def _alike(t: Array, residual: Array, starts: Sequence[int]) -> Panel:
    """Return the autocorrelation of a residual, with what chance gives shaded."""
    shortest = min(np.diff([*starts, len(residual)]))
    r = autocorrelation(residual, min(_LAGS, max(int(shortest) // 4, 1)), starts)
    r = r[: max(50, 4 * int(np.argmax(r < 0.2)) if (r < 0.2).any() else len(r))]
    step = float(np.median(np.diff(t))) if len(t) > 1 else 1.0
    chance = 1.96 / np.sqrt(max(len(residual), 1))
    marks = (
        Strip("y", -chance, chance, PALE),
        AT_ZERO,
        Line(1e3 * step * np.arange(len(r), dtype=np.float64), r, BLUE, width=1.6),
    )
    limits = min(-0.25, 1.1 * float(r.min(initial=0.0))), 1.05
    return Panel(Axis("lag", "ms"), Axis("autocorrelation", "-", limits), marks, _HEIGHT)


def _distributed(residual: Array) -> Iterator[Panel]:
    """Yield the histogram of a residual over its rms, and its quantiles against those of a normal distribution."""
    from scipy.special import ndtr, ndtri

    rms = float(np.sqrt(np.mean(residual**2))) if len(residual) else 0.0
    if not rms:
        return
    edges = np.linspace(-4.0, 4.0, 41)
    counts = np.histogram(residual / rms, edges)[0] / (len(residual) * (edges[1] - edges[0]))
    corners, heights = np.repeat(edges, 2)[1:-1], np.repeat(counts, 2)
    grid = np.linspace(-4.0, 4.0, 121)
    bell = Line(grid, np.exp(-0.5 * grid**2) / np.sqrt(2.0 * np.pi), BLUE, width=1.6)
    marks = Band(corners, np.zeros(len(corners)), heights, PALE), AT_ZERO, bell
    yield Panel(Axis("residual / rms", "-"), Axis("density", "-"), marks, _HEIGHT)
    reach = min(4.0, float(-ndtri(0.5 / len(residual))))
    normal = np.linspace(-reach, reach, 121)
    straight = Line(normal, normal, MUTED, width=1.0, dash="--")
    found = Line(normal, np.quantile(residual / rms, ndtr(normal)), RED, width=1.8)
    yield Panel(Axis("normal quantile", "-"), Axis("residual / rms", "-"), (straight, found), _HEIGHT)


def _spread(x: Array, residual: Array) -> tuple[Mark, ...]:
    centres, quantiles = binned(x, residual)
    around = Band(centres, quantiles[:, 0], quantiles[:, 2], PALE)
    return around, AT_ZERO, Line(centres, quantiles[:, 1], BLUE, width=1.8)


def one_after_another(t: Array, starts: Sequence[int]) -> Array:
    """Return the times (N,) [s] of recordings put one after the other: each begins a step after the one before."""
    step = float(np.median(np.diff(t))) if len(t) > 1 else 0.0
    shown, end = t.copy(), None
    for a, b in pairwise([*starts, len(t)]):
        if end is not None:
            shown[a:b] += end + step - t[a]
        end = float(shown[b - 1]) if b > a else end
    return shown


def autocorrelation(x: Array, lags: int, starts: Sequence[int] = (0,)) -> Array:
    """Return the autocorrelation (lags + 1,) of x (N,) about its mean, zeros where x is constant.

    starts: first sample of each recording; products across recordings are left out, each has its own mean.
    """
    found, energy = np.zeros(lags + 1), 0.0
    for a, b in pairwise([*starts, len(x)]):
        part = x[a:b] - (x[a:b].mean() if b > a else 0.0)
        size = 1 << int(2 * max(len(part), 1) - 1).bit_length()
        own = np.fft.irfft(np.abs(np.fft.rfft(part, size)) ** 2, size)[: min(lags + 1, max(len(part), 1))]
        found[: len(own)] += own
        energy += float(part @ part)
    return np.asarray(found / energy) if energy > 0 else np.zeros(len(found))


def alike_for(t: Array, residual: Array, starts: Sequence[int] = (0,)) -> tuple[float, float]:
    """Return for how long [s] a residual stays alike, and how many samples count as one independent value.

    The first is the lag from which its autocorrelation is below 0.2, the second 1 + 2 sum of the autocorrelations up to
    the first one that is not positive. starts: first sample of each recording.
    """
    longest = int(max(np.diff([*starts, len(residual)])))
    r = autocorrelation(residual, max(longest // 4, 1), starts)
    below, ends = np.flatnonzero(r < 0.2), np.flatnonzero(r <= 0)
    step = float(np.median(np.diff(t))) if len(t) > 1 else 0.0
    stop = int(ends[0]) if len(ends) else len(r)
    return step * float(below[0] if len(below) else len(r)), float(1.0 + 2.0 * r[1:stop].sum())


def binned(x: Array, y: Array, bins: int = 40, least: int = 8) -> tuple[Array, Array]:
    """Return bin centres (k,) of x and the 5, 50 and 95 % quantiles (k, 3) of y in bins of `least` samples or more."""
    if len(x) == 0 or np.ptp(x) == 0:
        return np.empty(0), np.empty((0, 3))
    edges = np.linspace(x.min(), x.max(), bins + 1)
    order = np.argsort(x, kind="stable")
    places = np.searchsorted(x[order], edges[1:-1])
    parts = np.split(y[order], places)
    full = [k for k, part in enumerate(parts) if len(part) >= least]
    centres = (edges[:-1] + edges[1:]) / 2.0
    return centres[full], np.array([np.quantile(parts[k], (0.05, 0.5, 0.95)) for k in full]).reshape(-1, 3)
