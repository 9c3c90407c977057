"""Sums of parameters in short: symbols with the link's number in place of names, the robot's lengths in place of
coefficients, equal ones before brackets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations, groupby, product

import numpy as np

from ident.model.standard import DriveInertia
from ident.regression.base import BaseParameters
from ident.report.text import Table, table
from ident.robot.robot import Robot
from ident.spatial.inertia import INERTIAL

_COLUMNS = ("number", "link", "joint", "lengths [m]")
_ONE = 1e-9  # a coefficient that is nearer to 1 is not written
_SAME = 1e-9  # a coefficient is a product of lengths up to rounding
#: What `expression` says of a base parameter -> the same in short.
Short = dict[str, str]
_SHORT = {DriveInertia.kind.name: "Ia"}


def numbered(links: Sequence[str], joints: Sequence[str], lengths: Mapping[str, float] = {}) -> Table:
    """Return the table of numbers in symbols: each link, the joint that moves it, and where that stands [m]."""
    rows = []
    for k, names in enumerate(zip(links, joints, strict=True), 1):
        own = [f"{symbol} = {size:.6g}" for symbol, size in lengths.items() if symbol[1:] == str(k)]
        rows.append((str(k), *names, ", ".join(own)))
    about = "Numbers in symbols: m3 is the mass of link 3, Ia3 the drive inertia of its joint, x3 how far along x that"
    return table(f"{about} stands from the one before (equal lengths have one symbol)", _COLUMNS, rows)


def lengths(robot: Robot) -> dict[str, float]:
    """Return how far [m] joints stand along x, y and z of the link before, without sign: each length once."""
    found: dict[str, float] = {}
    for k, joint in enumerate(robot.joints, 1):
        for axis, size in zip("xyz", np.abs(joint.placement.position).tolist(), strict=True):
            if joint.parent >= 0 and size > _SAME and all(abs(size - x) > _SAME * x for x in found.values()):
                found[f"{axis}{k}"] = size
    return found


def in_short(
    base: BaseParameters, links: Sequence[str], joints: Sequence[str], lengths: Mapping[str, float] = {}
) -> Short:
    """Return each base parameter in short, such as `Ixx2 - Iyy2 - x3 (m3 + ... + m7)`, by what `expression` says."""
    known = _products(lengths)
    of_link, of_joint = ({name: k for k, name in enumerate(names, 1)} for names in (links, joints))
    symbols = []
    for name in base.standard:
        owner, _, part = name.rpartition(".")
        k = (of_link if part in INERTIAL else of_joint).get(owner)
        symbols.append(name if k is None else f"{_SHORT.get(part, part)}{k}")
    return {base.expression(k): _sum(base, k, symbols, known) for k in range(len(base.names))}


def _products(lengths: Mapping[str, float]) -> dict[str, tuple[int, float]]:
    """Return what coefficients are made of, the simplest first: powers of a metre, and size.

    Lengths, their squares and products, twice those, sums and differences of squares; reciprocals; how far joints stand
    from each other along one direction, as sums of two lengths of it, then of three.
    """
    pairs = list(combinations(lengths.items(), 2))
    found = {a: (1, x) for a, x in lengths.items()} | {f"{a}²": (2, x * x) for a, x in lengths.items()}
    found |= {f"{a} {b}": (2, x * y) for (a, x), (b, y) in pairs}
    found |= {f"2 {a}": (n, 2.0 * x) for a, (n, x) in found.items()}
    for pair in pairs:
        (b, y), (a, x) = sorted(pair, key=lambda own: own[1])
        found |= {f"({a}² + {b}²)": (2, x * x + y * y), f"({a}² - {b}²)": (2, x * x - y * y)}
    for three in combinations(lengths.items(), 3):
        found[f"({' + '.join(f'{a}²' for a, _ in three)})"] = 2, sum(x * x for _, x in three)
    found |= {f"{a}{power}": (n, x**n) for a, x in lengths.items() for power, n in (("⁻¹", -1), ("⁻²", -2))}
    for count in (2, 3):
        for name, x in _along(lengths, count).items():
            found |= {name: (1, x), f"2 {name}": (1, 2.0 * x), f"{name}²": (2, x * x)}
            found |= {f"{a} {name}": (2, x * y) for a, y in lengths.items()}
    return found


def _along(lengths: Mapping[str, float], count: int) -> dict[str, float]:
    """Return sums of so many lengths along one direction, with whatever signs, that are above zero."""
    found = {}
    for own in combinations(lengths.items(), count):
        for signs in product((1.0, -1.0), repeat=count) if len({symbol[0] for symbol, _ in own}) == 1 else ():
            parts = sorted(zip(signs, own, strict=True), key=lambda part: -part[0])  # one with a plus first
            size = sum(sign * x for sign, (_, x) in parts)
            if size > _SAME:
                found[f"({_joined([(sign > 0, symbol) for sign, (symbol, _) in parts])})"] = size
    return found


def _sum(base: BaseParameters, k: int, symbols: Sequence[str], known: Mapping[str, tuple[int, float]]) -> str:
    """Return a sum with its coefficients as lengths or three digits, the parameter that names it first."""
    groups: dict[str, list[tuple[bool, str]]] = {}
    for i in (base.kept[k], *(int(i) for i in np.flatnonzero(base.K[k]) if i != base.kept[k])):
        c = float(base.K[k, i])
        metres = _metres(base.standard[base.kept[k]]) - _metres(base.standard[i])
        exact = (symbol for symbol, (n, x) in known.items() if n == metres and abs(abs(c) - x) < _SAME * x)
        size = "" if abs(abs(c) - 1.0) < _ONE else next(exact, f"{abs(c):.3g}")
        groups.setdefault(size, []).append((c > 0, symbols[i]))
    parts = []
    for size, members in groups.items():
        if not size or len(members) == 1:
            parts += [(up, f"{size} {symbol}".lstrip()) for up, symbol in members]
        else:
            parts.append((members[0][0], f"{size} ({_joined([(up == members[0][0], s) for up, s in members])})"))
    return _joined(parts)


def _metres(name: str) -> int:
    """Return the power of a metre in the unit of a parameter: of a mass 0, of h 1, of what is about rotation 2."""
    part = name.rpartition(".")[2]
    return 0 if part == "m" else 1 if part[0] == "h" else 2


def _joined(parts: Sequence[tuple[bool, str]]) -> str:
    """Return parts with their signs, the first has none; of one symbol for links in a row the first and the last."""
    runs = groupby(enumerate(parts), lambda at: (at[1][0], at[1][1].rstrip("0123456789"), _number(at[1][1]) - at[0]))
    said: list[tuple[bool, str]] = []
    for (_, name, _), run in runs:
        own = [part for _, part in run]
        skipped = len(own) > 3 and name.isalpha()
        said += [own[0], (own[0][0], "..."), own[-1]] if skipped else own
    return said[0][1] + "".join(f" {'+' if up else '-'} {part}" for up, part in said[1:])


def _number(symbol: str) -> int:
    digits = symbol[len(symbol.rstrip("0123456789")) :]
    return int(digits) if digits else 0
