"""Spectra of a log's positions, velocities and torques, with the band of its motion and the cut-offs of its filters."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ident.arrays import Array
from ident.logs.automatic import band_of
from ident.logs.clock import find_clock, freshly_read
from ident.logs.filter import central, thinned_band
from ident.logs.log import Log
from ident.logs.process import Processing
from ident.logs.readings import resting
from ident.report import text
from ident.report.figures import AMBER, BLUE, GREEN, INK, PALE, RED
from ident.report.parts import Drawing, pictured
from ident.report.picture import Axis, Line, Panel, Picture, Strip, short
from ident.robot.robot import Robot

#: In logs with fewer rows no spectrum is drawn.
SHORT = 100
_BINS, _DEPTH = 300, 1e-6  # stretches of frequency; what is smaller than this share of the largest peak is left out
#: Keys of `Processing` -> what is cut off there, and its colour.
_CUTS = {
    "position_hz": ("positions", RED), "velocity_hz": ("velocities", AMBER),
    "acceleration_hz": ("accelerations", AMBER), "torque_hz": ("torque", GREEN),
}  # fmt: skip


def spectra(log: Log, processing: Processing, robot: Robot) -> Iterator[Drawing]:
    """Yield each joint's spectra, as logged: position, its slope, torque; nothing for a short log."""
    read = freshly_read(log, find_clock(log))
    if len(read.t) <= SHORT:
        return
    band, slope, still = band_of(read), central(read.q, read.t), resting(log.q)
    cuts = tuple(_cut_offs(processing, log.rate_hz))
    for j, joint in enumerate(robot.joints):
        moves, noisy = 0.0 if still[j] else float(band.motion_hz[j]), float(band.cut_hz[j])
        lowest, highest = 1.0 / (read.t[-1] - read.t[0]), 0.5 * log.rate_hz
        behind = (Strip("x", lowest, moves, PALE, "motion", opacity=0.6), *cuts) if moves else cuts
        panels = list[Panel]()
        for name, x, rate in (("position", read.q, read.rate_hz), ("velocity", slope, read.rate_hz),
                              ("torque", log.tau, log.rate_hz)):  # fmt: skip
            f, size = amplitudes(x[:, j], rate)
            known = behind if not panels else tuple(replace(mark, label="") for mark in behind)
            label = "frequency" if name == "torque" else ""
            below = Axis(label, "Hz", (lowest, highest), "log", link=f"spectrum {j}")
            low = Axis(name, joint.unit(name), scale="log")
            panels.append(Panel(below, low, (*known, Line(f, size, INK, width=0.9)), 150.0 if below.label else 110.0))
        told = f"moves below {text.number(moves, 3)} Hz, noise prevails above {text.number(noisy, 3)} Hz"
        about = f"Spectra of position, velocity and torque of {joint.name}, with its motion's band and all cut-offs"
        title = f"{short(joint.name)}: {told if moves else 'rests'}"
        yield pictured(f"spectrum_{j + 1}", about, Picture(title, tuple(panels)))


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
