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
from ident.report.figures import AMBER, BLUE, GREEN, INK, MUTED, PALE, RED, figure_of
from ident.report.picture import WIDE, Axis, Dots, Line, Mark, Panel, Picture, Strip, short
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


def spectra(log: Log, processing: Processing, robot: Robot) -> Iterator[Picture]:
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
        yield Picture(title, tuple(panels)).called(f"spectrum_{j + 1}", about)


_TRIED = re.compile(r"(\S+) Hz (\S+?)(?:,|$)")


def errors_by_cut_off(tried: str, chosen_hz: float | None) -> Iterator[Picture]:
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
        yield Picture("Error of what is left out by cut-off; dashed: the one taken", (panel,)).called("cut_offs", about)


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


#: Kinds of findings whose rows are marked in the torques, and in the steps between rows.
MARKED = ("spikes", "start transient", "end transient", "repeated rows")
CLOCK = ("gap", "dropped rows", "short step", "repeated rows")
_HEADS = (
    "spectrum of the velocity (shaded: motion; red: noise begins)",
    "velocity: grey from positions, blue as logged",
    "torque; red: rows that findings name",
)


def log_figure(log: Log, findings: Sequence[Finding] = ()) -> Figure:
    """Return a log as a picture: the steps between its rows, and for each joint spectrum, velocity and torque.

    Spectrum of the velocity: the band of the motion (99 % of its power) is shaded, and the frequency marked above which
    noise outweighs the motion. Velocity: from positions, and as logged. Rows that `findings` name are marked.
    """
    clock, steps = find_clock(log), np.diff(log.t) * 1e3
    read = freshly_read(log, clock)
    band = band_of(read) if len(read.t) > SHORT else None
    slope, panels = central(read.q, read.t), list[Panel]()
    between = Line(log.t[1:], steps, BLUE, width=0.9), *_marked(log, findings, CLOCK)
    size = Axis("step", "ms", (0.0, 1.1 * float(steps.max())))
    about = "steps between rows; red: lost, late or repeated"
    panels.append(Panel(Axis("time", "s"), size, between, 170.0, about, whole=True))
    for j, joint in enumerate(log.joints):
        f, amplitude = amplitudes(slope[:, j], read.rate_hz)
        seen: list[Mark] = [Line(f, amplitude, BLUE, width=1.1)]
        if band is not None and band.motion_hz[j] > 0.0:
            seen.insert(0, Strip("x", float(f[0]), float(band.motion_hz[j]), PALE, opacity=0.6))
            seen.append(Strip("x", float(band.cut_hz[j]), float(band.cut_hz[j]), RED, dash="--"))
        logged = [] if log.qd is None else [Line(log.t, log.qd[:, j], BLUE, width=0.9)]
        own = [x for x in findings if f"'{joint}'" in x.message or x.kind == "repeated rows"]
        torque = Line(log.t, log.tau[:, j], BLUE), *_marked(log, own, MARKED)
        speeds = Line(read.t, slope[:, j], MUTED, width=2.4), *logged
        last = j == log.n - 1
        hz, time = (Axis("frequency", "Hz", scale="log"), Axis("time", "s")) if last else (Axis(scale="log"), Axis())
        row: tuple[tuple[Axis, Axis, Sequence[Mark]], ...] = (
            (hz, Axis(short(joint, 14), scale="log"), seen),
            (time, Axis("rad/s; m/s"), speeds),
            (time, Axis("N m; N"), torque),
        )
        for head, (x, y, marks) in zip(_HEADS, row, strict=True):
            panels.append(Panel(x, y, tuple(marks), 150.0 + 30.0 * last, "" if j else head))
    title = f"{log.name}: {len(log.t)} rows, {log.rate_hz:.5g} Hz; {clock}"
    return figure_of(Picture(title, tuple(panels), 3, width=1.3 * WIDE))


def _marked(log: Log, findings: Sequence[Finding], kinds: Sequence[str]) -> Iterator[Mark]:
    """Yield a line at each row that findings of some kinds name, at most one in each 500th of the log."""
    numbers = np.asarray(log.rows(np.arange(len(log.t))))
    named = np.array(sorted({row for f in findings if f.kind in kinds for row in f.rows}), dtype=int)
    at = log.t[np.flatnonzero(np.isin(numbers, named))]
    apart = (log.t[-1] - log.t[0]) / 500.0
    first = np.unique((at / max(apart, 1e-12)).astype(int), return_index=True)[1]
    yield from (Strip("x", x, x, RED) for x in at[first].tolist())
