"""Angles as descriptions round them: 1.5708 is meant as a right angle, and taken literally it makes axes that miss.

Axes that miss being parallel or square by 1e-5 make base parameters that no log can tell from noise.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from decimal import Decimal

import numpy as np

from ident.arrays import Array
from ident.errors import plural

_SAME = 1e-11  # rad: what twelve digits leave decides nothing, and stays as it is written
_COSINES = (0.0, *(math.cos(math.radians(angle)) for angle in (75, 60, 45, 30, 15)), 1.0)


def meant_angle(word: str) -> float:
    """Return the angle [rad] that a written number means.

    That is the multiple of 15 degrees of which it is the rounding, by its own digits or those of single precision, or
    the truncation; numbers of two decimals for multiples of 90 degrees only. Any other is the number itself.
    """
    value = float(word)
    turns = round(value * 12.0 / math.pi)
    target = turns * math.pi / 12.0
    if turns == 0 or abs(value - target) <= _SAME:
        return value
    decimals = _decimals(word)
    enough = decimals >= (2 if turns % 6 == 0 else 3)
    return target if enough and _is_rounded(value, target, decimals) else value


def meant_axis(words: Sequence[str], slack: float) -> Array:
    """Return the direction (3,) that three written numbers mean, not of length one.

    Cosines of multiples of 15 degrees are taken as such where all three are, and what is smaller than `slack` (the
    rounding of the angles beside it) as zero.
    """
    axis = np.array([float(word) for word in words])
    size = np.abs(axis).max()
    axis = np.where(np.abs(axis) <= 1.01 * slack * size, 0.0, axis)
    targets = np.zeros(3)
    for i, word in enumerate(words):
        target = min(_COSINES, key=lambda c: abs(abs(axis[i]) - c))
        targets[i] = math.copysign(target, axis[i])
        if axis[i] == 0.0 or abs(axis[i] - targets[i]) <= _SAME:
            continue
        decimals = _decimals(word)
        if decimals < 3 or not _is_rounded(axis[i], targets[i], decimals):
            return axis
    return targets if abs(np.linalg.norm(targets) - 1.0) < _SAME else axis


def rounding_told(rounded: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Return the sentence that tells of joints whose angles (as written) are not taken literally, none without."""
    if not rounded:
        return ()
    names = [f"'{joint}' ({', '.join(words)})" for joint, words in rounded.items()]
    shown = ", ".join([*names[:6], *([f"{len(names) - 6} more"] if len(names) > 6 else [])])
    told = (
        f"angles of {plural(len(names), 'joint')} are rounded multiples of 15 degrees, and are taken as these: {shown}"
    )
    return (f"{told}; a robot file with literal_angles = true takes them as they are written",)


def _decimals(word: str) -> int:
    exponent = Decimal(word).as_tuple().exponent
    return -exponent if isinstance(exponent, int) else 0


def _is_rounded(value: float, target: float, decimals: int) -> bool:
    unit = 10.0**-decimals
    short = abs(target) - abs(value)
    off = min(abs(short), abs(value - float(np.float32(target))))
    return off <= 0.500001 * unit or 0.0 < short < unit
