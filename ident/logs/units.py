"""Units that a manifest may name, and their value in SI."""

from __future__ import annotations

from math import pi
from typing import Literal

from ident.errors import LogError, nearest

Quantity = Literal["time", "position", "velocity", "torque"]

# unit -> (what it measures, its value in SI). RAW units become SI only through a gain.
RAW = "raw"
UNITS: dict[Quantity, dict[str, tuple[str, float]]] = {
    "time": {"s": ("time", 1.0), "ms": ("time", 1e-3), "us": ("time", 1e-6), "ns": ("time", 1e-9)},
    "position": {
        "rad": ("angle", 1.0),
        "mrad": ("angle", 1e-3),
        "deg": ("angle", pi / 180),
        "rev": ("angle", 2 * pi),
        "m": ("length", 1.0),
        "mm": ("length", 1e-3),
        "um": ("length", 1e-6),
        "count": (RAW, 1.0),
    },
    "velocity": {
        "rad/s": ("angle", 1.0),
        "deg/s": ("angle", pi / 180),
        "rev/s": ("angle", 2 * pi),
        "rpm": ("angle", 2 * pi / 60),
        "m/s": ("length", 1.0),
        "mm/s": ("length", 1e-3),
        "count/s": (RAW, 1.0),
    },
    "torque": {
        "N m": ("angle", 1.0),
        "N mm": ("angle", 1e-3),
        "mN m": ("angle", 1e-3),
        "kN m": ("angle", 1e3),
        "N": ("length", 1.0),
        "kN": ("length", 1e3),
        "A": (RAW, 1.0),
        "mA": (RAW, 1.0),
        "V": (RAW, 1.0),
        "mV": (RAW, 1.0),
        "%": (RAW, 1.0),
        "count": (RAW, 1.0),
    },
}


def si_factor(unit: str, quantity: Quantity) -> float:
    """Return the value of one `unit` in s, rad or m, rad/s or m/s, N m or N; 1 for a raw unit, whose gain does it.

    Raises LogError when `quantity` is not measured in `unit`.
    """
    return _find(unit, quantity)[1]


def kind_of(unit: str, quantity: Quantity) -> str:
    """Return "angle" (rad, rad/s, N m), "length" (m, m/s, N), "time" or "raw" (A, V, counts: these need a gain)."""
    return _find(unit, quantity)[0]


def _find(unit: str, quantity: Quantity) -> tuple[str, float]:
    known = UNITS[quantity]
    if unit not in known:
        raise LogError(
            f"'{unit}' is no unit of {quantity}{nearest(unit, known)}", fix=f"Use one of: {', '.join(known)}"
        )
    return known[unit]
