"""A CAD program's mass-property report of one body: every number as it is printed, with its unit and its rounding.

Units are read as reports print them, English and Chinese words or symbols, each with its exact SI value.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Literal

import numpy as np

from ident.arrays import Array
from ident.cad.convention import LENGTH, MASS
from ident.cad.table import Printed

Kind = Literal["mass", "length", "area", "volume", "density", "inertia"]

#: Powers of mass and length of each kind of number.
_POWERS: Mapping[Kind, tuple[int, int]] = {
    "mass": (1, 0),
    "length": (0, 1),
    "area": (0, 2),
    "volume": (0, 3),
    "density": (1, -3),
    "inertia": (1, 2),
}

#: Value of each mass unit [kg], of each length unit [m].
_MASS: Mapping[str, Fraction] = {**MASS, "ug": Fraction(1, 10**9)}
_LENGTH: Mapping[str, Fraction] = {
    **LENGTH,
    "nm": Fraction(1, 10**9),
    "angstrom": Fraction(1, 10**10),
    "mil": LENGTH["in"] / 1000,
    "uin": LENGTH["in"] / 10**6,
}

#: The words for each unit; English ones also with an s behind.
_WORDS: Mapping[str, tuple[str, ...]] = {
    "kg": ("kg", "kilogram", "千克", "公斤"),
    "g": ("g", "gram", "克"),
    "mg": ("mg", "milligram", "毫克"),
    "ug": ("ug", "μg", "microgram", "微克"),
    "t": ("tonne", "公吨"),
    "lb": ("lb", "lbm", "lbmass", "pound", "磅"),
    "oz": ("oz", "ounce", "盎司"),
    "slug": ("slug", "斯勒格"),
    "m": ("m", "meter", "metre", "米"),
    "cm": ("cm", "centimeter", "centimetre", "厘米"),
    "mm": ("mm", "millimeter", "millimetre", "毫米"),
    "um": ("um", "μm", "micron", "micrometer", "micrometre", "微米"),
    "nm": ("nm", "nanometer", "nanometre", "纳米"),
    "angstrom": ("angstrom", "埃"),
    "in": ("in", "inch", "inches", "英寸"),
    "ft": ("ft", "foot", "feet", "英尺"),
    "mil": ("mil", "密耳"),
    "uin": ("uin", "microinch", "microinches", "微英寸"),
}
_UNITS = {word: unit for unit, words in _WORDS.items() for word in (*words, *(w + "s" for w in words if len(w) > 2))}

_POWER = {"square": 2, "cubic": 3, "平方": 2, "立方": 3}
_TOKEN = re.compile(r"(square |cubic |平方 ?|立方 ?)?([^\W\d_]+)(?: ?\^? ?([23]))?")


def printed_unit(text: str, kind: Kind) -> tuple[str, Fraction]:
    """Return the unit's own short name (such as "kg mm^2") and its SI value.

    `text` is as printed: "pounds * square feet", "千克 *  平方毫米", "Kg.m^2", "g / mm^3". Raises ValueError when it is
    no unit of that kind.
    """
    over, *under = re.split(r"/|\bper\b|每", text)
    powers: dict[str, int] = {}
    for part, sign in ((over, 1), *((u, -1) for u in under)):
        rest = " ".join(re.sub(r"[*·.()]", " ", part).split())
        while rest:
            token = _TOKEN.match(rest)
            word = token[2] if token and token[2] not in ("Mg", "MG") else ""  # megagram or milligram?
            unit = _UNITS.get(word.lower())
            if token is None or unit is None or (token[1] and token[3]):
                raise ValueError(text)
            power = _POWER[token[1].strip()] if token[1] else int(token[3] or 1)
            powers[unit] = powers.get(unit, 0) + sign * power
            rest = rest[token.end() :].strip()
    masses, lengths = [u for u in powers if u in _MASS], [u for u in powers if u in _LENGTH]
    if len(masses) > 1 or len(lengths) > 1:
        raise ValueError(text)
    of_mass, of_length = (powers[masses[0]] if masses else 0), (powers[lengths[0]] if lengths else 0)
    if (of_mass, of_length) != _POWERS[kind]:
        raise ValueError(text)
    value = (_MASS[masses[0]] if masses else Fraction(1)) * (_LENGTH[lengths[0]] ** of_length if lengths else 1)
    if kind == "density":
        return f"{masses[0]}/{lengths[0]}^3", value
    length = "" if not lengths else lengths[0] if of_length == 1 else f"{lengths[0]}^{of_length}"
    return " ".join([*masses, *([length] if length else [])]), value


Products = Literal["tensor", "positive"]
Six = tuple["Number", "Number", "Number", "Number", "Number", "Number"]
Three = tuple["Number", "Number", "Number"]

#: Names of the six entries of a tensor, in the order in which they are kept.
ENTRIES = ("xx", "xy", "xz", "yy", "yz", "zz")


@dataclass(frozen=True)
class Range:
    """The numbers from `lo` to `hi`; sums and products hold all that those of their members can be."""

    lo: float
    hi: float

    def __add__(self, other: Range) -> Range:
        return Range(self.lo + other.lo, self.hi + other.hi)

    def __neg__(self) -> Range:
        return Range(-self.hi, -self.lo)

    def __sub__(self, other: Range) -> Range:
        return self + -other

    def __mul__(self, other: Range) -> Range:
        ends = [a * b for a in (self.lo, self.hi) for b in (other.lo, other.hi)]
        return Range(min(ends), max(ends))

    def square(self) -> Range:
        """Return what the squares can be."""
        ends = (self.lo**2, self.hi**2)
        return Range(0.0 if self.lo <= 0 <= self.hi else min(ends), max(ends))

    def meets(self, other: Range) -> bool:
        """Return whether the two have a number in common."""
        return self.lo <= other.hi and other.lo <= self.hi

    def gap(self, other: Range) -> float:
        """Return how far they are apart, negative where they overlap."""
        return max(self.lo - other.hi, other.lo - self.hi)


@dataclass(frozen=True)
class Number:
    """One printed number. `text`: as it stands in the file; `unit`: its short name, "" for a direction's component;
    `factor`: the unit's SI value; `line`: where it stands (1-based); `overridden`: the sheet says a user set it.
    """

    text: str
    unit: str
    factor: Fraction
    line: int
    overridden: bool = False

    @cached_property
    def printed(self) -> Printed:
        """The number with a decimal point."""
        return Printed(self.text.replace(",", "."))

    @cached_property
    def value(self) -> Fraction:
        """The printed number in SI, as an exact fraction."""
        return self.printed.value * self.factor

    @property
    def range(self) -> Range:
        """What the number was before it was rounded, in SI."""
        value, half = float(self.value), float(self.half)
        return Range(value - half, value + half)

    @cached_property
    def half(self) -> Fraction:
        """Half a unit of the last printed digit, in SI: how far rounding can have moved the number."""
        return Fraction(10) ** self.printed.last_digit / 2 * self.factor


@dataclass(frozen=True, eq=False)
class Sheet:
    """What one sheet says.

    program, language: of the layout. name: of the body; configuration, frame: as printed, None where they are not;
    frame is the coordinate system of the output. box: edges of the bounding box; material: its name. mass; center: x,
    y, z; at_center, at_origin: tensors in the order of ENTRIES about the centre of mass and about the output frame's
    origin, both along the output frame's axes, products with the printed sign; moments: principal, about the centre;
    axes[k]: direction of moment k in the output frame. At least one tensor is there. stated: the sign that the sheet's
    own notation text declares ("positive": Ixy = +integral of x y dm) and stated_line. documented: the sign that the
    maker documents for this layout, and documented_by. notes: lines that hold no number and were not understood, or say
    what is included.
    """

    program: str
    language: str
    mass: Number
    center: Three
    name: str = ""
    configuration: str | None = None
    frame: str | None = None
    density: Number | None = None
    volume: Number | None = None
    area: Number | None = None
    box: Three | None = None
    material: str = ""
    at_center: Six | None = None
    at_origin: Six | None = None
    moments: Three | None = None
    axes: tuple[Three, Three, Three] | None = None
    stated: Products | None = None
    stated_line: int | None = None
    documented: Products | None = None
    documented_by: str = ""
    notes: tuple[str, ...] = ()
    source: str = ""
    sha256: str = ""

    @property
    def tensor(self) -> Six:
        """The tensor that is converted: the one about the centre where it is given, it is rounded least."""
        given = self.at_center or self.at_origin
        assert given is not None  # a reader makes sure of it
        return given

    @property
    def lost(self) -> tuple[str, ...]:
        """Which moments of inertia are nothing but rounding: printed as zero, which no body has."""
        return tuple(f"I{e}" for e, n in zip(ENTRIES, self.tensor, strict=True) if e[0] == e[1] and not n.value)

    def numbers(self) -> tuple[Number, ...]:
        """Return every number of the sheet, in the order of the lines."""
        groups: list[Sequence[Number] | None] = [self.box, self.center, self.at_center, self.at_origin, self.moments]
        groups += self.axes or ()
        single = [n for n in (self.mass, self.density, self.volume, self.area) if n is not None]
        return tuple(sorted([*single, *(n for g in groups if g for n in g)], key=lambda n: n.line))


def values(numbers: Sequence[Number]) -> Array:
    """Return the numbers (n,) in SI."""
    return np.array([float(n.value) for n in numbers])


def half_widths(numbers: Sequence[Number]) -> Array:
    """Return how far rounding can have moved each number (n,) in SI."""
    return np.array([float(n.half) for n in numbers])
