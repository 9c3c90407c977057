"""Sums of parameters in short: symbols with the link's number in place of names, equal coefficients before brackets."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ident.model.standard import DriveInertia
from ident.regression.base import BaseParameters
from ident.report.text import Table, table
from ident.spatial.inertia import INERTIAL

_COLUMNS = ("number", "link", "joint")
_ONE = 1e-9  # a coefficient that is nearer to 1 is not written
_SHORT = {DriveInertia.kind.name: "Ia"}


def numbered(links: Sequence[str], joints: Sequence[str]) -> Table:
    """Return the table of numbers in symbols: each link and the joint that moves it."""
    rows = [(str(k), *names) for k, names in enumerate(zip(links, joints, strict=True), 1)]
    return table("Numbers in symbols: m3 is the mass of link 3, Ia3 the drive inertia of its joint", _COLUMNS, rows)


def in_short(base: BaseParameters, links: Sequence[str], joints: Sequence[str]) -> dict[str, str]:
    """Return each base parameter in short, such as `Ixx2 - Iyy2 - 0.375 (m3 + m4)`, by what `expression` says."""
    of_link, of_joint = ({name: k for k, name in enumerate(names, 1)} for names in (links, joints))
    symbols = []
    for name in base.standard:
        owner, _, part = name.rpartition(".")
        k = (of_link if part in INERTIAL else of_joint).get(owner)
        symbols.append(name if k is None else f"{_SHORT.get(part, part)}{k}")
    return {base.expression(k): _sum(base, k, symbols) for k in range(len(base.names))}


def _sum(base: BaseParameters, k: int, symbols: Sequence[str]) -> str:
    """Return a sum with three digits of its coefficients, the parameter that names it first."""
    groups: dict[str, list[tuple[bool, str]]] = {}
    for i in (base.kept[k], *(int(i) for i in np.flatnonzero(base.K[k]) if i != base.kept[k])):
        c = float(base.K[k, i])
        size = "" if abs(abs(c) - 1.0) < _ONE else f"{abs(c):.3g}"
        groups.setdefault(size, []).append((c > 0, symbols[i]))
    parts = []
    for size, members in groups.items():
        if not size or len(members) == 1:
            parts += [(up, f"{size} {symbol}".lstrip()) for up, symbol in members]
        else:
            parts.append((members[0][0], f"{size} ({_joined([(up == members[0][0], s) for up, s in members])})"))
    return _joined(parts)


def _joined(parts: Sequence[tuple[bool, str]]) -> str:
    """Return parts with their signs; the first has none."""
    return parts[0][1] + "".join(f" {'+' if up else '-'} {part}" for up, part in parts[1:])
