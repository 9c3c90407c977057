"""How the numbers of a CAD table are meant: units with their exact SI values, point of the tensor, sign of products."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any, Literal

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


TENSOR_AT = ("center_of_mass", "link_origin")
PRODUCTS = ("tensor", "positive")
ROWS = ("links", "parts")

_UNITS = {"mass": MASS, "length": LENGTH, "inertia": INERTIA}
_WORDS = {"tensor_at": TENSOR_AT, "products": PRODUCTS, "rows": ROWS}

#: What to write for each key, when it is missing.
_WANTED = {
    "mass": '"kg", or "g", "lb" and others',
    "length": '"mm", or "m", "in" and others',
    "inertia": '"kg mm^2", or "kg m^2", "g mm^2", "lb in^2" and others',
    "tensor_at": '"center_of_mass" or "link_origin", the point that the tensor is taken at',
    "products": '"tensor" where Ixy = -integral of x y dm, or "positive" where Ixy = +integral of x y dm',
    "rows": '"parts" where several rows may be parts of one link, else "links"',
}


@dataclass(frozen=True)
class Convention:
    """What one table declares; nothing about its numbers has a default. Raises CadError for an unknown unit or word."""

    mass: str
    """Unit of masses."""
    length: str
    """Unit of centres."""
    inertia: str
    """Unit of inertias."""
    tensor_at: Literal["center_of_mass", "link_origin"]
    """The point that the tensor is taken at; its axes are the link frame's."""
    products: Literal["tensor", "positive"]
    """"tensor" where Ixy = -integral of x y dm; "positive" where Ixy = +integral of x y dm, as SolidWorks prints by
    default.
    """
    rows: Literal["links", "parts"] = "links"
    """"parts" where a link may have several rows, the parts of it, all in the link's frame: they are added up."""

    def __post_init__(self) -> None:
        check(asdict(self))

    @property
    def units(self) -> tuple[str, ...]:
        """The units of the ten numbers m, c and the tensor."""
        return (self.mass, *[self.length] * 3, *[self.inertia] * 6)

    @property
    def factors(self) -> tuple[Fraction, Fraction, Fraction]:
        """SI values of the mass [kg], length [m] and inertia [kg m^2] unit, exact."""
        mass, length, inertia = (known[normal(getattr(self, key))] for key, known in _UNITS.items())
        return mass, length, inertia

    @property
    def scales(self) -> tuple[Fraction, ...]:
        """What one of each of the ten numbers is in SI with tensor signs, exact: negative for positive products."""
        mass, length, inertia = self.factors
        product = inertia if self.products == "tensor" else -inertia
        return (mass, *[length] * 3, inertia, product, product, inertia, product, inertia)


#: Makes the error of a place, such as a file or one of its lines.
Error = Callable[..., CadError]


def refuse_unknown(keys: Iterable[str], known: Iterable[str], of: str, error: Error, prefix: str = "") -> None:
    """Raise the error for a key that is none of `known`, the keys `of` something, with the nearest one."""
    names = list(known)
    for key in keys:
        if key not in names:
            fix = f"The keys{of} are {', '.join(names)}"
            raise error(f"unknown key{nearest(key, names)}", key=prefix + key, fix=fix)


def check(given: Mapping[str, Any], error: Error = CadError, prefix: str = "", sign: str = "") -> None:
    """Raise the error unless `given` declares everything, with known units and words.

    `prefix` begins the keys named, `sign` the line to write ("# " in a CSV file).
    """
    refuse_unknown(given, _WANTED, " of the convention", error, prefix)
    lines = {key: f"{sign}{key} = {wanted}" for key, wanted in _WANTED.items()}
    if missing := [key for key in _WANTED if key not in (*given, "rows")]:
        fix = f"Write {'; '.join(lines[key] for key in missing)}"
        raise error("not declared, and nothing is assumed", key=", ".join(prefix + key for key in missing), fix=fix)
    for key, value in given.items():
        wrong, fix = partial(error, key=prefix + key), f"Write {lines[key]}"
        if not isinstance(value, str):
            raise wrong("wanted a text in quotes", fix=fix)
        if key in _WORDS and value not in _WORDS[key]:
            raise wrong(f"unknown word '{value}'", fix=fix)
        if key in _UNITS and normal(value) not in _UNITS[key]:
            units = ", ".join(f'"{u}"' for u in _UNITS[key])
            some = '"kg m^2", "kg mm^2", "g mm^2", "lb in^2" and others' if key == "inertia" else units
            raise wrong(f"unknown unit '{value}'{nearest(normal(value), _UNITS[key])}", fix=f"Write one of {some}")


def convention_from(given: Mapping[str, Any], error: Error, prefix: str = "", sign: str = "") -> Convention:
    """Return the convention declared by a TOML table; raises the error naming the key and what to write."""
    check(given, error, prefix, sign)
    return Convention(**given)


#: Units and signs of this package; a table has the centre of mass in place of the first moments.
SI = Convention(mass="kg", length="m", inertia="kg m^2", tensor_at="link_origin", products="tensor")

#: How tables are written that have no convention of their own, such as a URDF's inertials.
PLAIN = replace(SI, tensor_at="center_of_mass")
