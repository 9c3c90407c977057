"""The residual of one joint over time, velocity and position, and for how long it is correlated with itself."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ident.arrays import Array
from ident.report.figures import BLUE, INK, MUTED, PALE, RED, blank, envelope

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LAGS = 300


def residual_figure(
    t: ArrayLike,
    residual: ArrayLike,
    velocity: ArrayLike,
    position: ArrayLike,
    *,
    title: str,
    unit: str = "N m",
    position_unit: str = "rad",
    points: int = 500,
    starts: Sequence[int] = (0,),
) -> Figure:
    """Return measured - predicted torque (N,) [unit] over t [s], velocity and position (N,), and its autocorrelation.

    Over velocity and position: median and the middle 90 % of the samples in each of 40 bins. starts: first sample of
    each recording, increasing from 0; several are drawn one after the other, with a line between.
    """
    figure, rows = blank(3.6, title, rows=(1.0, 1.0), columns=2)
    t, residual = np.asarray(t, dtype=np.float64), np.asarray(residual, dtype=np.float64)
    time, alike, by_velocity, by_position = rows
    figure.set_layout_engine(None)  # four panels of one size need none, and it is what takes time
    figure.subplots_adjust(left=0.15, right=0.985, bottom=0.12, top=0.88, wspace=0.48, hspace=0.42)
    shown = one_after_another(t, starts)
    time.plot(*envelope(shown, residual, points), color=RED, linewidth=0.7)
    time.axhline(0.0, color=MUTED, linewidth=0.6)
    for start in starts[1:]:
        time.axvline(float(shown[start]), color=MUTED, linewidth=1.0, linestyle=(0, (2, 1.5)))
    time.set_xlabel("time [s]" if len(starts) == 1 else f"time [s], {len(starts)} recordings")
    _spread(by_velocity, velocity, residual, f"velocity [{position_unit}/s]")
    _spread(by_position, position, residual, f"position [{position_unit}]")
    for axes in (time, by_velocity, by_position):
        axes.set_ylabel(f"residual [{unit}]")
        axes.ticklabel_format(axis="y", scilimits=(-2, 4))  # long ones would push the label off the figure
        axes.yaxis.get_offset_text().set(fontsize=7.5, color=INK)
    shortest = min(np.diff([*starts, len(residual)]))
    r = autocorrelation(residual, min(_LAGS, max(int(shortest) // 4, 1)), starts)
    r = r[: max(50, 4 * int(np.argmax(r < 0.2)) if (r < 0.2).any() else len(r))]
    step = float(np.median(np.diff(t))) if len(t) > 1 else 1.0
    chance = 1.96 / np.sqrt(max(len(residual), 1))
    alike.axhspan(-chance, chance, color=PALE, linewidth=0)
    alike.plot(1e3 * step * np.arange(len(r)), r, color=BLUE, linewidth=1.2)
    alike.axhline(0.0, color=MUTED, linewidth=0.6)
    alike.set(xlabel="lag [ms]", ylabel="autocorrelation [-]")
    alike.set_ylim(min(-0.25, 1.1 * float(r.min(initial=0.0))), 1.05)
    return figure


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


def _spread(axes: Axes, x: ArrayLike, residual: Array, label: str) -> None:
    centres, quantiles = binned(x, residual)
    axes.fill_between(centres, quantiles[:, 0], quantiles[:, 2], color=PALE, linewidth=0)
    axes.plot(centres, quantiles[:, 1], color=BLUE, linewidth=1.4)
    axes.axhline(0.0, color=MUTED, linewidth=0.6)
    axes.set_xlabel(label)
