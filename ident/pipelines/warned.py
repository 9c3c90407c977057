"""What the user of a log should know before believing what comes of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from ident.logs import Log, LogReport, Motion, Processing
from ident.logs.process import rounding_share
from ident.pipelines.loaded import Loaded

#: A delay is worth a warning when taking it out leaves less than this share of the residual.
WORTH = 0.98


#: The rounding of positions is worth a warning above this share of the acceleration: 1 % of an inertia.
ROUNDED = 0.1


#: Kinds of `Warned` that say what is so without anything being wrong.
NOTES = ("coarse position", "repeated position", "irregular sampling", "torque filter", "export", "reading")


#: Kinds of findings of torques that are no measurement of what the motors did: no fit makes up for them.
UNUSABLE = ("constant torque", "copied torque", "start transient")


@dataclass(frozen=True)
class Warned:
    """Something that the user should know: about which recording (or part of the work), what kind, and the sentence."""

    about: str
    kind: str
    message: str

    def __str__(self) -> str:
        return f"{self.about}: {self.message}"


def findings_of(name: str, report: LogReport, processing: Processing) -> list[Warned]:
    """Return what is odd about a recording, except for what the processing takes care of."""
    answered = {"coarse position"}  # told by what is left of it
    if processing.resample_hz is not None:
        answered |= {"irregular sampling"}
    left = [f for f in report.findings if f.kind not in answered]
    cut = processing.left_out(report.dt_median) / report.dt_median  # rows
    return [Warned(name, f.kind, f.message) for f in left if f.kind != "start transient" or len(f.rows) > cut]


def unusable(warned: Iterable[Warned]) -> tuple[str, ...]:
    """Return a sentence on each torque that is no measurement."""
    return tuple(str(w) for w in warned if w.kind in UNUSABLE)


def rounded(log: Log, report: LogReport, processing: Processing) -> Iterator[Warned]:
    """Say how much of a recording's (or its first part's) accelerations is the rounding of coarse positions."""
    if processing.velocity == "measured" or not any(f.kind == "coarse position" for f in report.findings):
        return
    shares = rounding_share(log, processing, [step or 0.0 for step in report.quantum])
    told = [f"'{j}' {100 * s:.2g} %" for j, s in zip(log.joints, shares, strict=True) if s > 0.0]
    if told:
        message = f"of the acceleration, as processed, the steps of the position are {', '.join(told)}"
        worst = min(float(np.nanmax(shares)), 1.0)
        if worst > ROUNDED:
            message += f": inertias come out up to {100 * worst**2:.2g} % too small; low-pass the position more"
        yield Warned(log.name, "rounded position" if worst > ROUNDED else "coarse position", message)


def delayed(loaded: Loaded, motion: Motion) -> Iterator[Warned]:
    """Warn where torque lags position, or leads it, by more than half a sample, and the residual shows it."""
    from ident.compare.delay import delays

    step = float(np.median(np.diff(motion.t)))
    found = delays(loaded.model, motion, base=loaded.base)
    for joint, delay, gain in zip(loaded.robot.joint_names, found.seconds, found.gain, strict=True):
        if abs(delay) > 0.5 * step and gain < WORTH:
            verb = "lags" if delay > 0 else "leads"
            yield Warned(
                motion.name,
                "delay",
                f"torque of '{joint}' {verb} position by {abs(delay) * 1e3:.3g} ms ({abs(delay) / step:.1f} samples;"
                f" without it the residual falls by {100 * (1 - gain):.0f} %); set delay_s if the recorder causes it",
            )
