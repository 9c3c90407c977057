"""What a signal engineer looks at in a log: spectra, with the band of its motion and the cut-offs of its filters, and
as one picture steps between rows, spectra, velocities and torques, odd rows marked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ident.arrays import Array
from ident.logs.automatic import band_of
from ident.logs.check import Finding
from ident.logs.clock import find_clock, freshly_read
from ident.logs.filter import central, thinned_band
from ident.logs.log import Log
from ident.logs.process import Processing, noise_share
from ident.logs.readings import resting
from ident.report import text
from ident.report.figures import AMBER, BLUE, GREEN, INK, MUTED, PALE, RED, empty, plain
from ident.report.parts import Drawing
from ident.report.picture import Axis, Dots, Line, Panel, Picture, Strip, envelope, short
from ident.robot.robot import Robot

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: In logs with fewer rows no spectrum is drawn.
SHORT = 100
_BINS, _DEPTH = 300, 1e-6  # stretches of frequency; what is smaller than this share of the largest peak is left out
#: Keys of `Processing` -> what is cut off there, and its colour.
_CUTS = {
    "position_hz": ("positions", RED), "velocity_hz": ("velocities", AMBER),
    "acceleration_hz": ("accelerations", AMBER), "torque_hz": ("torque", GREEN),
}  # fmt: skip


def spectra(log: Log, processing: Processing, robot: Robot) -> Iterator[Drawing]:
    """Yield each joint's spectra, as logged: position, its slopes, torque; nothing for a short log.

    With how much of the acceleration is noise of the positions, white, as it is processed.
    """
    read = freshly_read(log, find_clock(log))
    if len(read.t) <= SHORT:
        return
    band, slope, still = band_of(read), central(read.q, read.t), resting(log.q)
    curve, shares = central(slope, read.t), noise_share(log, processing, band.noise)
    cuts = tuple(_cut_offs(processing.at(log.rate_hz), log.rate_hz))
    for j, joint in enumerate(robot.joints):
        moves, noisy = 0.0 if still[j] else float(band.motion_hz[j]), float(band.cut_hz[j])
        lowest, highest = 1.0 / (read.t[-1] - read.t[0]), 0.5 * log.rate_hz
        behind = (Strip("x", lowest, moves, PALE, "motion", opacity=0.6), *cuts) if moves else cuts
        panels = list[Panel]()
        for name, x, rate in (("position", read.q, read.rate_hz), ("velocity", slope, read.rate_hz),
                              ("acceleration", curve, read.rate_hz), ("torque", log.tau, log.rate_hz)):  # fmt: skip
            f, size = amplitudes(x[:, j], rate)
            known = behind if not panels else tuple(replace(mark, label="") for mark in behind)
            label = "frequency" if name == "torque" else ""
            below = Axis(label, "Hz" if label else "", (lowest, highest), "log", link=f"spectrum {j}")
            low = Axis(name.replace("acceleration", "accel."), joint.unit(name), scale="log")
            panels.append(Panel(below, low, (*known, Line(f, size, INK, width=0.9)), 150.0 if below.label else 118.0))
        told = f"moves below {text.number(moves, 2)} Hz, noise above {text.number(noisy, 2)} Hz"
        told += f", {text.percent(float(shares[j]))} of the acceleration" if np.isfinite(shares[j]) else ""
        about = f"Spectra of position to acceleration, and torque, of {joint.name}, its motion's band and all cut-offs"
        title = f"{short(joint.name)}: {told if moves else 'rests'}"
        yield Drawing(f"spectrum_{j + 1}", about, Picture(title, tuple(panels)))


_TRIED = re.compile(r"(\S+) Hz (\S+?)(?:,|$)")


def errors_by_cut_off(tried: str, chosen_hz: float | None) -> Iterator[Drawing]:
    """Yield how the error of what was left out depends on the cut-off of the positions; tried: as provenance has it."""
    found = np.array([[float(x) for x in pair] for pair in _TRIED.findall(tried)])
    if len(found) > 1:
        hz, error = found.T
        at = () if chosen_hz is None else (Strip("x", chosen_hz, chosen_hz, RED, "taken", "--"),)
        marks = (*at, Line(hz, error, INK), Dots(hz, error, INK))
        ticks = tuple((x, text.number(x, 2)) for x in hz.tolist())
        below = Axis("cut-off of the positions", "Hz", (0.9 * hz[0], 1.1 * hz[-1]), "log", ticks=ticks)
        panel = Panel(below, Axis("left-out error / least"), marks)
        about = "Error of stretches that were left out over the cut-off of the positions, relative to the least"
        yield Drawing(
            "cut_offs", about, Picture("Error of what is left out by cut-off; dashed: the one taken", (panel,))
        )


def _cut_offs(processing: Processing, rate_hz: float) -> Iterator[Strip]:
    """Yield a line at each cut-off, thinning's included."""
    for key, (what, colour) in _CUTS.items():
        at = getattr(processing, key)
        if at is not None:
            yield Strip("x", at, at, colour, f"{what} below {text.number(at, 3)} Hz", "--")
    if processing.decimation:
        at = thinned_band(processing.resample_hz or rate_hz, processing.decimation)
        yield Strip("x", at, at, BLUE, f"regressor and torque below {text.number(at, 3)} Hz", ":")


def amplitudes(x: Array, rate_hz: float) -> tuple[Array, Array]:
    """Return frequencies (k,) [Hz] and the amplitude of x (N,) there: its peak in each of at most _BINS stretches."""
    window = np.hanning(len(x))
    size = np.abs(np.fft.rfft((x - x.mean()) * window))[1:] / window.sum()
    f = np.fft.rfftfreq(len(x), 1.0 / rate_hz)[1:]
    bins = np.unique(np.geomspace(1, len(f), _BINS).astype(int)) - 1
    return f[bins], np.maximum(np.maximum.reduceat(size, bins), _DEPTH * size.max() + 1e-300)


_POINTS = 1500
#: Kinds of findings whose rows are marked in the torques, and in the steps between rows.
MARKED = ("spikes", "start transient", "end transient", "repeated rows")
CLOCK = ("gap", "dropped rows", "short step", "repeated rows")
#: What stands above and below each column of a log's picture.
_COLUMNS = (
    ("spectrum of the velocity (shaded: motion; red: noise begins)", "frequency [Hz]"),
    ("velocity [rad/s; m/s]: grey from positions, blue as logged", "time [s]"),
    ("torque [N m; N]; red: rows that findings name", "time [s]"),
)


def log_figure(log: Log, findings: Sequence[Finding] = ()) -> Figure:
    """Return a log as a picture: the steps between its rows, and for each joint spectrum, velocity and torque.

    Spectrum of the velocity: the band of the motion (99 % of its power) is shaded, and the frequency marked above which
    noise outweighs the motion. Velocity: from positions, and as logged. Rows that `findings` name are marked.
    """
    clock, n = find_clock(log), log.n
    figure = empty(13.0, 2.2 + 1.7 * n)
    grid = figure.add_gridspec(n + 1, 3, height_ratios=[1.1, *[1.0] * n])
    steps = figure.add_subplot(grid[0, :])
    steps.plot(*envelope(log.t[1:], np.diff(log.t) * 1e3, _POINTS), color=BLUE, linewidth=0.7)
    for at in _times(log, findings, CLOCK):
        steps.axvline(at, color=RED, linewidth=0.8, alpha=0.5)
    steps.set_ylim(0.0, 1.1e3 * float(np.diff(log.t).max()))
    steps.set_title("steps between rows [ms]; red: lost, late or repeated", fontsize=9, color=INK)
    steps.tick_params(labelsize=7)
    read = freshly_read(log, clock)
    band = band_of(read) if len(read.t) > SHORT else None
    slope = central(read.q, read.t)
    for j, joint in enumerate(log.joints):
        spectrum, velocity, torque = (figure.add_subplot(grid[j + 1, k]) for k in range(3))
        f, size = amplitudes(slope[:, j], read.rate_hz)
        spectrum.loglog(f, size, color=BLUE, linewidth=0.8)
        if band is not None and band.motion_hz[j] > 0.0:
            spectrum.axvspan(float(f[0]), float(band.motion_hz[j]), color=BLUE, alpha=0.12)
            spectrum.axvline(float(band.cut_hz[j]), color=RED, linewidth=1.0, linestyle="--")
        spectrum.set_ylabel(plain(joint, 14), fontweight="bold")
        velocity.plot(*envelope(read.t, slope[:, j], _POINTS), color=MUTED, linewidth=1.8, label="from positions")
        if log.qd is not None:
            velocity.plot(*envelope(log.t, log.qd[:, j], _POINTS), color=BLUE, linewidth=0.7, label="as logged")
        torque.plot(*envelope(log.t, log.tau[:, j], _POINTS), color=BLUE, linewidth=0.7)
        own = [x for x in findings if f"'{joint}'" in x.message or x.kind == "repeated rows"]
        for at in _times(log, own, MARKED):
            torque.axvline(at, color=RED, linewidth=0.8, alpha=0.5)
        for axes, (above, below) in zip((spectrum, velocity, torque), _COLUMNS, strict=True):
            axes.tick_params(labelsize=7)
            if j == 0:
                axes.set_title(above, fontsize=9, color=INK)
            if j < n - 1:
                axes.set_xticklabels([])
            else:
                axes.set_xlabel(below, fontsize=8)
    figure.suptitle(f"{plain(log.name)}: {len(log.t)} rows, {log.rate_hz:.5g} Hz; {clock}", fontsize=10, color=INK)
    return figure


def _times(log: Log, findings: Sequence[Finding], kinds: Sequence[str]) -> list[float]:
    """Return when [s] the rows are that findings of some kinds name, at most one in each 500th of the log."""
    numbers = np.asarray(log.rows(np.arange(len(log.t))))
    named = np.array(sorted({row for f in findings if f.kind in kinds for row in f.rows}), dtype=int)
    at = log.t[np.flatnonzero(np.isin(numbers, named))]
    apart = (log.t[-1] - log.t[0]) / 500.0
    first = np.unique((at / max(apart, 1e-12)).astype(int), return_index=True)[1]
    return [float(x) for x in at[first]]
