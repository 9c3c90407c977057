"""How the numbers of a CAD table are meant: units with their exact SI values, point of the tensor, sign of products."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
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


def factor(unit: str, known: Mapping[str, Fraction], key: str, file: str | None = None) -> Fraction:
    """Return the SI value of `unit`, one of `known`; raises CadError naming the nearest one."""
    name = normal(unit)
    if name not in known:
        shown = '"kg m^2", "kg mm^2", "g mm^2", "lb in^2" and others'
        if known is not INERTIA:
            shown = ", ".join(f'"{u}"' for u in known)
        raise CadError(f"unknown unit '{unit}'{nearest(name, known)}", file=file, key=key, fix=f"Write one of {shown}")
    return known[name]


TENSOR_AT = ("center_of_mass", "link_origin")
PRODUCTS = ("tensor", "positive")

#: What to write for each key, when it is missing.
_WANTED = {
    "mass": '"kg", or "g", "lb" and others',
    "length": '"mm", or "m", "in" and others',
    "inertia": '"kg mm^2", or "kg m^2", "g mm^2", "lb in^2" and others',
    "tensor_at": '"center_of_mass" or "link_origin", the point that the tensor is taken at',
    "products": '"tensor" where Ixy = -integral of x y dm, or "positive" where Ixy = +integral of x y dm',
}


@dataclass(frozen=True)
class Convention:
    """What one table declares; nothing has a default.

    Raises CadError for an unknown unit or word.
    """

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

    def __post_init__(self) -> None:
        check(asdict(self))

    @property
    def units(self) -> tuple[str, ...]:
        """The units of the ten numbers m, c and the tensor."""
        return (self.mass, *[self.length] * 3, *[self.inertia] * 6)

    @property
    def factors(self) -> tuple[Fraction, Fraction, Fraction]:
        """SI values of the mass [kg], length [m] and inertia [kg m^2] unit, exact."""
        return (
            factor(self.mass, MASS, "mass"),
            factor(self.length, LENGTH, "length"),
            factor(self.inertia, INERTIA, "inertia"),
        )

    @property
    def scales(self) -> tuple[Fraction, ...]:
        """What one of each of the ten numbers is in SI with tensor signs, exact: negative for positive products."""
        mass, length, inertia = self.factors
        product = inertia if self.products == "tensor" else -inertia
        return (mass, *[length] * 3, inertia, product, product, inertia, product, inertia)


def refuse_unknown(
    keys: Iterable[str], known: Iterable[str], of: str, file: str | None, line: int | None = None, prefix: str = ""
) -> None:
    """Raise CadError for a key that is none of `known`, the keys `of` something, with the nearest one."""
    names = list(known)
    for key in keys:
        if key not in names:
            fix = f"The keys{of} are {', '.join(names)}"
            raise CadError(f"unknown key{nearest(key, names)}", file=file, line=line, key=prefix + key, fix=fix)


def check(given: Mapping[str, Any], file: str | None = None, prefix: str = "", sign: str = "") -> None:
    """Raise CadError unless `given` declares everything, with known words.

    `prefix` begins the keys named, `sign` the line to write ("# " in a CSV file).
    """
    refuse_unknown(given, _WANTED, " of the convention", file, prefix=prefix)
    for key, wanted in _WANTED.items():
        fix = f"Write {sign}{key} = {wanted}"
        if key not in given:
            raise CadError("not declared, and nothing is assumed", file=file, key=prefix + key, fix=fix)
        if not isinstance(given[key], str):
            raise CadError("wanted a text in quotes", file=file, key=prefix + key, fix=fix)
    for key, known in (("mass", MASS), ("length", LENGTH), ("inertia", INERTIA)):
        factor(given[key], known, prefix + key, file)
    for key, words in (("tensor_at", TENSOR_AT), ("products", PRODUCTS)):
        if given[key] not in words:
            raise CadError(
                f"unknown word '{given[key]}'", file=file, key=prefix + key, fix=f"Write {sign}{key} = {_WANTED[key]}"
            )


def convention_from(given: Mapping[str, Any], file: str | None = None, prefix: str = "", sign: str = "") -> Convention:
    """Return the convention declared by a TOML table; raises CadError naming the key and what to write."""
    check(given, file, prefix, sign)
    return Convention(**given)


#: Units and signs of this package; a table has the centre of mass in place of the first moments.
SI = Convention(mass="kg", length="m", inertia="kg m^2", tensor_at="link_origin", products="tensor")

#: How tables are written that have no convention of their own, such as a URDF's inertials.
PLAIN = replace(SI, tensor_at="center_of_mass")
