"""Units of CAD tables, each with its exact SI value."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from ident.errors import CadError, nearest

_LB = Fraction("0.45359237")  # kg, international pound
_IN = Fraction("0.0254")  # m, international inch
_G0 = Fraction("9.80665")  # m/s^2, standard gravity

#: Value of each mass unit [kg].
MASS: Mapping[str, Fraction] = {
    "kg": Fraction(1),
    "g": Fraction(1, 1000),
    "mg": Fraction(1, 10**6),
    "t": Fraction(1000),
    "lb": _LB,
    "oz": _LB / 16,
    "slug": _LB * _G0 / (12 * _IN),
}

#: Value of each length unit [m].
LENGTH: Mapping[str, Fraction] = {
    "m": Fraction(1),
    "cm": Fraction(1, 100),
    "mm": Fraction(1, 1000),
    "um": Fraction(1, 10**6),
    "in": _IN,
    "ft": 12 * _IN,
}

#: Value of each unit of inertia [kg m^2]: every mass times every squared length, and three that weigh with a force.
INERTIA: Mapping[str, Fraction] = {
    **{f"{m} {length}^2": a * b * b for m, a in MASS.items() for length, b in LENGTH.items()},
    "kgf cm s^2": _G0 / 100,
    "lbf in s^2": _LB * _G0 * _IN,
    "lbf ft s^2": _LB * _G0 * 12 * _IN,
}


def normal(unit: str) -> str:
    """Return a unit as it is spelled here: "kg*mm²" and "kg mm2" become "kg mm^2"."""
    text = unit.replace("²", "^2").replace("*", " ").replace("·", " ")
    words = text.split()
    return " ".join(w[:-1] + "^2" if len(w) > 1 and w[-1] == "2" and w[-2] != "^" else w for w in words)


def factor(unit: str, known: Mapping[str, Fraction], key: str, file: str | None = None) -> Fraction:
    """Return the SI value of `unit`, one of `known`; raises CadError naming the nearest one."""
    name = normal(unit)
    if name not in known:
        shown = '"kg m^2", "kg mm^2", "g mm^2", "lb in^2" and others'
        if known is not INERTIA:
            shown = ", ".join(f'"{u}"' for u in known)
        raise CadError(f"unknown unit '{unit}'{nearest(name, known)}", file=file, key=key, fix=f"Write one of {shown}")
    return known[name]
