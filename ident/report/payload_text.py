"""Tables of a load and of drive gains."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ident.logs.manifest import RAW, kind_of
from ident.report.text import MISSING, Table, number, table, with_error

if TYPE_CHECKING:
    from ident.logs.manifest import Signal
    from ident.payload.drive_gains import DriveGains
    from ident.payload.payload import IdentifiedPayload, PayloadFigures
    from ident.robot import Robot


def figures_rows(found: IdentifiedPayload, figures: PayloadFigures) -> Table:
    """Return mass, centre and tensor about it, each with its 95 % error."""
    rows, tones = [], []
    kept = found.known_mass

    def told(name: str, value: float, error: float, unit: str) -> None:
        half = float(figures.half_width(error))
        known = bool(np.isfinite(half))
        rows.append((name, with_error(value, half) if known else MISSING, unit))
        tones.append("" if known else "unknown")

    if kept:
        rows.append(("mass", f"{figures.mass:g} (given)", "kg"))
        tones.append("")
    else:
        told("mass", figures.mass, figures.mass_error, "kg")
    for axis, value, error in zip("xyz", figures.com, figures.com_error, strict=True):
        told(f"centre {axis}", value, error, "m")
    for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)):
        told(f"I{'xyz'[i]}{'xyz'[j]} about the centre", figures.inertia[i, j], figures.inertia_error[i, j], "kg m²")
    return table("", ("number", "value ± 95 %", "unit"), rows, tones)  # type: ignore[arg-type]


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
