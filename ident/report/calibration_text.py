"""What was calibrated, as a table and as lines to paste."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ident.estimate import Estimate
from ident.report.text import Table, number, table
from ident.robot.unknown import Calibrated

#: SI unit -> what is shown, and how many of it are one SI unit.
_SHOWN = {"rad": ("deg", 180.0 / math.pi), "m": ("mm", 1e3), "s": ("ms", 1e3), "1": ("", 1.0)}


def calibration_rows(estimate: Estimate) -> Table:
    """Return one row per unknown that was asked for: value, standard error, what is said of it."""
    rows = [(c.unknown.name, *_sized(c), c.said) for c in estimate.calibration]
    return table("Calibration", ("unknown", "value", "standard error", "said of it"), rows)


def lines_to_paste(found: Sequence[Calibrated], gains: float | Sequence[float] = ()) -> tuple[str, ...]:
    """Return what to write into the robot's file and dataset.toml so that the description itself is right.

    gains: of the data set's torque, those found taken out.
    """
    told = []
    for c in (c for c in found if c.applied):
        value, unit = _sized(c)[0], c.unknown.kind
        if unit == "zero":
            told.append(f"{c.unknown.name}: add {value} to its offset (a DH table: times its sign)")
        elif unit == "length":
            told.append(f"{c.unknown.name}: add {value}")
        elif unit == "skew":
            told.append(f"{c.unknown.name}: position_delay_s = {c.value:.4g} of that joint in [processing]")
    if any(c.applied and c.unknown.kind == "gain" for c in found) and not isinstance(gains, float):
        told.append(f"dataset.toml, torque: gain = [{', '.join(f'{x:.6g}' for x in gains)}]")
    return tuple(told)


def _sized(found: Calibrated) -> tuple[str, str]:
    unit, share = _SHOWN[found.unknown.unit]
    error = number(found.error * share, 2) if math.isfinite(found.error) else ""
    return f"{number(found.value * share, 4)} {unit}".strip(), f"{error} {unit}".strip() if error else ""
