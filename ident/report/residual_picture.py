"""The residual of one joint over time, velocity and position, its correlation with itself and its distribution."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from ident.arrays import Array
from ident.report.figures import BLUE, INK, MUTED, PALE, RED
from ident.report.picture import Axis, Band, Dots, Line, Mark, Panel, Picture, Strip

_LAGS = 300
_HEIGHT = 165.0  # px


def residual_picture(
    t: ArrayLike,
    residual: ArrayLike,
    velocity: ArrayLike,
    position: ArrayLike,
    *,
    title: str,
    unit: str = "N m",
    position_unit: str = "rad",
    starts: Sequence[int] = (0,),
) -> Picture:
    """Return measured - predicted torque (N,) [unit] over t [s], velocity and position (N,), and how it is distributed.

    Over velocity and position: median and the middle 90 % of the samples in each of 40 bins. Besides, autocorrelation,
    histogram, and quantiles against those of a normal distribution. starts: first sample of each recording, increasing
    from 0; several are drawn one after the other, with a line between.
    """
    t, residual = np.asarray(t, dtype=np.float64), np.asarray(residual, dtype=np.float64)
    shown, left = one_after_another(t, starts), Axis("residual", unit)
    between = (Strip("x", float(shown[start]), float(shown[start]), MUTED, dash="--") for start in starts[1:])
    curve = Line(shown, residual, RED, width=0.9), Strip("y", 0.0, 0.0, MUTED)
    time = Axis("time" if len(starts) == 1 else f"time of {len(starts)} recordings", "s")
    panels = (
        Panel(time, left, (*curve, *between), _HEIGHT),
        _alike(t, residual, starts),
        Panel(Axis("velocity", f"{position_unit}/s"), left, _spread(velocity, residual), _HEIGHT),
        Panel(Axis("position", position_unit), left, _spread(position, residual), _HEIGHT),
        *_distributed(residual),
    )
    return Picture(title, panels, 2)


def trace_picture(
    t: ArrayLike,
    x: ArrayLike,
    before: ArrayLike,
    after: ArrayLike,
    *,
    title: str,
    unit: str = "N m",
    along: str,
    along_unit: str,
) -> Picture:
    """Return residuals (k,) [unit] with a mistake and without it over t (k,) [s] and x (k,), what explains it best.

    The line is the mean of what the mistake adds, in stretches of x.
    """
    t, x, before, after = (np.asarray(values, dtype=np.float64) for values in (t, x, before, after))
    centres, means = _means(x, before - after)
    left, zero = Axis("residual", unit), Strip("y", 0.0, 0.0, MUTED)
    dots = Dots(x, before, RED, "as the files are", 4.0), Dots(x, after, BLUE, "without the mistake", 4.0)
    line = Line(centres, means, INK, "what the mistake explains", 2.2)
    over = Panel(Axis(along, along_unit), left, (zero, *dots, line), 230.0)
    curves = Line(t, before, RED, width=1.1), Line(t, after, BLUE, width=1.1)
    return Picture(title, (over, Panel(Axis("time", "s"), left, (zero, *curves), 150.0)))


def _means(x: Array, y: Array, bins: int = 16) -> tuple[Array, Array]:
    """Return the means of x and of y (N,) in stretches of x that hold equally many."""
    order = np.argsort(x, kind="stable")
    parts = [part for part in np.array_split(order, bins) if len(part)]
    return np.array([x[p].mean() for p in parts]), np.array([y[p].mean() for p in parts])


def _alike(t: Array, residual: Array, starts: Sequence[int]) -> Panel:
    """Return the autocorrelation of a residual, with what chance gives shaded."""
    shortest = min(np.diff([*starts, len(residual)]))
    r = autocorrelation(residual, min(_LAGS, max(int(shortest) // 4, 1)), starts)
    r = r[: max(50, 4 * int(np.argmax(r < 0.2)) if (r < 0.2).any() else len(r))]
    step = float(np.median(np.diff(t))) if len(t) > 1 else 1.0
    chance = 1.96 / np.sqrt(max(len(residual), 1))
    marks = (
        Strip("y", -chance, chance, PALE),
        Strip("y", 0.0, 0.0, MUTED),
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
    marks = Band(corners, np.zeros(len(corners)), heights, PALE), Strip("y", 0.0, 0.0, MUTED), bell
    yield Panel(Axis("residual / rms", "-"), Axis("density", "-"), marks, _HEIGHT)
    reach = min(4.0, float(-ndtri(0.5 / len(residual))))
    normal = np.linspace(-reach, reach, 121)
    straight = Line(normal, normal, MUTED, width=1.0, dash="--")
    found = Line(normal, np.quantile(residual / rms, ndtr(normal)), RED, width=1.8)
    yield Panel(Axis("normal quantile", "-"), Axis("residual / rms", "-"), (straight, found), _HEIGHT)


def _spread(x: ArrayLike, residual: Array) -> tuple[Mark, ...]:
    centres, quantiles = binned(x, residual)
    around = Band(centres, quantiles[:, 0], quantiles[:, 2], PALE)
    return around, Strip("y", 0.0, 0.0, MUTED), Line(centres, quantiles[:, 1], BLUE, width=1.8)


def one_after_another(t: ArrayLike, starts: Sequence[int]) -> Array:
    """Return the times (N,) [s] of recordings put one after the other: each begins a step after the one before."""
    t = np.asarray(t, dtype=np.float64)
    step = float(np.median(np.diff(t))) if len(t) > 1 else 0.0
    shown, end = t.copy(), None
    for a, b in pairwise([*starts, len(t)]):
        if end is not None:
            shown[a:b] += end + step - t[a]
        end = float(shown[b - 1]) if b > a else end
    return shown


def autocorrelation(x: ArrayLike, lags: int, starts: Sequence[int] = (0,)) -> Array:
    """Return the autocorrelation (lags + 1,) of x (N,) about its mean, zeros where x is constant.

    starts: first sample of each recording; products across recordings are left out, each has its own mean.
    """
    values = np.asarray(x, dtype=np.float64)
    found, energy = np.zeros(lags + 1), 0.0
    for a, b in pairwise([*starts, len(values)]):
        part = values[a:b] - (values[a:b].mean() if b > a else 0.0)
        size = 1 << int(2 * max(len(part), 1) - 1).bit_length()
        own = np.fft.irfft(np.abs(np.fft.rfft(part, size)) ** 2, size)[: min(lags + 1, max(len(part), 1))]
        found[: len(own)] += own
        energy += float(part @ part)
    return np.asarray(found / energy) if energy > 0 else np.zeros(len(found))


def alike_for(t: ArrayLike, residual: ArrayLike, starts: Sequence[int] = (0,)) -> tuple[float, float]:
    """Return for how long [s] a residual stays alike, and how many samples count as one independent value.

    The first is the lag from which its autocorrelation is below 0.2, the second 1 + 2 sum of the autocorrelations up to
    the first one that is not positive. starts: first sample of each recording.
    """
    t, residual = np.asarray(t, dtype=np.float64), np.asarray(residual, dtype=np.float64)
    longest = int(max(np.diff([*starts, len(residual)])))
    r = autocorrelation(residual, max(longest // 4, 1), starts)
    below, ends = np.flatnonzero(r < 0.2), np.flatnonzero(r <= 0)
    step = float(np.median(np.diff(t))) if len(t) > 1 else 0.0
    stop = int(ends[0]) if len(ends) else len(r)
    return step * float(below[0] if len(below) else len(r)), float(1.0 + 2.0 * r[1:stop].sum())


def binned(x: ArrayLike, y: ArrayLike, bins: int = 40, least: int = 8) -> tuple[Array, Array]:
    """Return bin centres (k,) of x and the 5, 50 and 95 % quantiles (k, 3) of y in bins of `least` samples or more."""
    x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if len(x) == 0 or np.ptp(x) == 0:
        return np.empty(0), np.empty((0, 3))
    edges = np.linspace(x.min(), x.max(), bins + 1)
    order = np.argsort(x, kind="stable")
    places = np.searchsorted(x[order], edges[1:-1])
    parts = np.split(y[order], places)
    full = [k for k, part in enumerate(parts) if len(part) >= least]
    centres = (edges[:-1] + edges[1:]) / 2.0
    return centres[full], np.array([np.quantile(parts[k], (0.05, 0.5, 0.95)) for k in full]).reshape(-1, 3)
