"""Units as mass-property reports print them, English and Chinese words or symbols, each with its exact SI value."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Literal

from ident.cad.convention import LENGTH, MASS

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
