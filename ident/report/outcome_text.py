"""What a choice of joint terms, a calibration and the search for a load found: tables, sentences, lines to paste."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ident.errors import plural
from ident.estimate import Estimate
from ident.estimate.estimate import FittedShape, Structure, TriedTerm
from ident.logs.manifest import RAW, kind_of
from ident.model.terms import kinds
from ident.report.text import MISSING, Table, Tone, number, percent, table, with_error
from ident.robot.unknown import SATURATIONS, Calibrated

if TYPE_CHECKING:
    from ident.logs.manifest import Signal
    from ident.payload.drive_gains import DriveGains
    from ident.payload.payload import IdentifiedPayload, PayloadFigures
    from ident.robot import Robot


def tried_rows(found: Structure) -> Table:
    """Return each candidate with what it takes from the left-out error, its standard error, and why it is not taken."""
    rows = [(t.candidate, _percent(t.gain, "+.1f"), _percent(t.error, ".1f"), t.reason or "taken") for t in found.tried]
    tones: list[Tone] = ["" if t.reason else "good" for t in found.tried]
    return table("Terms tried", ("candidate", "gain", "standard error", "taken, or why not"), rows, tones)


def _percent(share: float, digits: str) -> str:
    return f"{100 * share:{digits}} %" if math.isfinite(share) else "n/a"


def selection_sentences(found: Structure) -> list[str]:
    """Return what the choice rests on, and what it is worth."""
    if found.note:
        return [f"Nothing was tried: {found.note}."]
    said = [f"Judged on {plural(found.segments, 'short segment')} left out in {plural(found.folds, 'part')}."]
    if not found.lines:
        said.append(f"No term is worth it: {percent(found.before)} of the torque is missed with the model as it is.")
        names = [tried.candidate for tried in way_to(found)]
        why = dict.fromkeys(tried.reason for tried in found.tried if tried.candidate in names)
        return [*said, *([f"Taken on the way and given up: {' and '.join(names)}; {'; '.join(why)}."] if names else [])]
    return [
        *said,
        f"Missed of the torque that is left out: {percent(found.before)} before, {percent(found.after)} with the terms"
        f" that are taken, {percent(found.honest)} where they are chosen without what they are judged on.",
        *map(shape_sentence, found.shapes),
    ]


def shape_sentence(shape: FittedShape) -> str:
    """Return a fitted number with its 95 % interval, or that the logs do not tell it."""
    values = " to ".join(f"{x:.3g}" for x in dict.fromkeys((min(shape.values), max(shape.values))))
    words = f"{shape.number} of {kinds()[shape.kind].words}"
    owners = sorted({name.rpartition(".")[0] for name in shape.parameters})
    at = f" at {', '.join(owners)}" if len(owners) < 4 else ""
    if not shape.told:
        return f"The logs do not tell the {words}{at}: {values} is taken."
    low, high = (math.exp(way * shape.half) - 1.0 for way in (-1, 1))
    return f"The {words}{at}: {values}, within {100 * low:+.3g} to {100 * high:+.3g} % at 95 %."


def way_to(found: Structure) -> list[TriedTerm]:
    """Return the terms that were taken one after the other, also those that were given up at the end."""
    return [tried for step in found.steps for tried in step if not tried.reason]


#: SI unit -> what is shown, and how many of it are one SI unit.
_SHOWN = {"rad": ("deg", 180.0 / math.pi), "m": ("mm", 1e3), "s": ("ms", 1e3), "1": ("", 1.0)}
_SHOWN |= {unit: (unit, 1.0) for unit in SATURATIONS}


#: Kind of an unknown -> what to write: of its name, value as shown, in SI, and owner.
_LINES = {
    "zero": "{0}: add {1} to its offset (a DH table: times its sign; a URDF has none: `offset` of the position in"
    " dataset.toml, in rad or m)",
    "length": "{0}: add {1}",
    "saturation": "dataset.toml, torque: saturation = {1} at {3}",
    "skew": "{0}: position_delay_s = {2:.4g} of that joint in [processing]",
}


def calibration_rows(estimate: Estimate) -> Table:
    """Return one row per unknown that was asked for: value, standard error, what is said of it."""
    rows = [(c.unknown.name, *_sized(c), c.said) for c in estimate.calibration]
    return table("Calibration", ("unknown", "value", "standard error", "said of it"), rows)


def lines_to_paste(found: Sequence[Calibrated], gains: float | Sequence[float] = ()) -> tuple[str, ...]:
    """Return what to write into the robot's file and dataset.toml so that the description itself is right.

    gains: of the data set's torque, those found taken out.
    """
    told = [
        _LINES[c.unknown.kind].format(c.unknown.name, _sized(c)[0], c.value, c.unknown.name.rpartition(".")[0])
        for c in found
        if c.applied and c.unknown.kind in _LINES
    ]
    if any(c.applied and c.unknown.kind == "gain" for c in found) and not isinstance(gains, float):
        told.append(f"dataset.toml, torque: gain = [{', '.join(f'{x:.6g}' for x in gains)}]")
    return tuple(told)


def _sized(found: Calibrated) -> tuple[str, str]:
    unit, share = _SHOWN[found.unknown.unit]
    error = number(found.error * share, 2) if math.isfinite(found.error) else ""
    return f"{number(found.value * share, 4)} {unit}".strip(), f"{error} {unit}".strip() if error else ""


def figures_rows(found: IdentifiedPayload, figures: PayloadFigures) -> Table:
    """Return mass, centre and tensor about it, each with its 95 % error."""
    told = [
        ("mass", figures.mass, figures.mass_error, "kg"),
        *((f"centre {axis}", *x, "m") for axis, *x in zip("xyz", figures.com, figures.com_error, strict=True)),
        *(
            (f"I{'xyz'[i]}{'xyz'[j]} about the centre", figures.inertia[i, j], figures.inertia_error[i, j], "kg m²")
            for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
        ),
    ]
    rows, tones = [], list[Tone]()
    for name, value, error, unit in told:
        half, given = float(figures.half_width(error)), found.known_mass and name == "mass"
        shown = f"{value:g} (given)" if given else with_error(value, half) if np.isfinite(half) else MISSING
        rows.append((name, shown, unit))
        tones.append("" if given or np.isfinite(half) else "unknown")
    return table("", ("number", "value ± 95 %", "unit"), rows, tones)


def gains_rows(gains: DriveGains, signal: Signal, robot: Robot) -> Table:
    """Return what each joint's torque, a `signal` of the data set, is to be multiplied by, and so its gain."""
    n = len(gains.joints)
    unit = (signal.unit,) * n if isinstance(signal.unit, str) else signal.unit
    given = np.broadcast_to(np.asarray(signal.gain, dtype=np.float64), n)
    rows = []
    for j, (joint, half) in enumerate(zip(gains.joints, gains.half_widths(), strict=True)):
        raw = kind_of(unit[j], "torque") == RAW
        factor, size = float(gains.scale[j]), float(given[j])
        told = with_error(factor * size, float(half) * abs(size)) if raw and np.isfinite(half) else "n/a"
        factors = with_error(factor, float(half)) if np.isfinite(half) else "n/a"
        own = f"{robot.units('torque')[j]}/{unit[j]}" if raw else ""
        rows.append((joint, factors, told, number(size) if raw else "n/a", own))
    columns = ("joint", "torque times ± 95 %", "drive gain ± 95 %", "given", "unit")
    return table(f"drive gains from a load of {gains.mass:g} kg", columns, rows)
