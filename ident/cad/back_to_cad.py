"""Tables written in any convention; refined links in the form in which their table came, and side by side."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ident.arrays import Array, frozen
from ident.cad.check import check_cad
from ident.cad.convention import Convention
from ident.cad.table import COLUMNS, Cad, Exact, Printed, Row, Table, cad_of, printed
from ident.errors import CadError
from ident.files import csv_text, write_whole
from ident.robot.robot import Robot
from ident.spatial.inertia import consistency, steiner, transformed, upper


@dataclass(frozen=True)
class Change:
    """One number before and after, in the unit of the table; `why`: in words, "" where nothing is known of it."""

    link: str
    number: str
    unit: str
    given: float
    refined: float
    why: str = ""


def refined_cad(cad: Cad, robot: Robot, inertials: ArrayLike) -> Cad:
    """Return the table with the refined links (n, 10) in the rows of the robot's moving links.

    Rows of bodies fixed to a link stay as given and are taken off their link, since torque shows only the sum of them.
    Numbers are those of the table's convention, one digit finer than it prints or six digits of the largest of their
    kind, more where a body needs them to exist; what did not change stays as it was printed.
    Raises CadError when what is left of a link could not exist.
    """
    values = frozen(inertials, (robot.n, 10), "refined parameters", CadError)
    rows = dict(zip(cad.links, np.array(cad.inertials), strict=True))
    for i, link in enumerate(robot.links):
        welded = [b for b in robot.fixed if b.link == i and b.name in rows]
        rest = values[i] - sum((transformed(rows[b.name], b.pose) for b in welded), np.zeros(10))
        if welded and not consistency(rest).consistent:
            names = ", ".join(b.name for b in welded)
            problem = f"the refined link '{link}' is less than the bodies fixed to it ({names})"
            fix = "Give one row for the link with all that is fixed to it"
            raise CadError(problem, file=cad.source or None, fix=fix)
        rows[link] = rest
    table = Table(cad.convention, tuple(_row(cad, i, rows[link]) for i, link in enumerate(cad.links)))
    return cad_of(table, cad.source, cad.sha256, cad.joint_values)


def _row(cad: Cad, i: int, inertials: Array) -> Row:
    """Return one refined body (10,) as printed, with the digits that it needs to exist.

    Moments of a body at the edge of what can exist, which no digits keep inside, grow by at most 1e-9 of the largest.
    """
    convention = cad.convention
    before, after = printed(cad.inertials[i], convention), printed(inertials, convention)
    same = np.abs(after - before) <= 1e-9 * _scale(after)
    if same.all():
        return _printed_row(cad, i, after, same, 6)
    for share in (0.0, 1e-12, 1e-11, 1e-10, 1e-9):
        grown = np.array(inertials)
        grown[[4, 7, 9]] += share * np.abs(inertials[4:]).max()
        for digits in range(6, 18):
            row = _printed_row(cad, i, printed(grown, convention), same & (share == 0), digits)
            if _can_exist(row, convention):
                return row
    return _printed_row(cad, i, after, same, 17)  # no such body can exist


def _scale(numbers: Array) -> Array:
    """Return the largest (10,) of the mass, of the centre and of the tensor at each of their numbers."""
    kinds = (slice(0, 1), slice(1, 4), slice(4, 10))
    return np.concatenate([np.full(k.stop - k.start, np.abs(numbers[k]).max()) for k in kinds])


def _printed_row(cad: Cad, i: int, numbers: Array, same: NDArray[np.bool_], digits: int) -> Row:
    """Return numbers (10,) of link i in the table's convention with so many digits; `same` as they were printed."""
    found = []
    for k, (x, largest) in enumerate(zip(numbers, _scale(numbers), strict=True)):
        if same[k]:
            found.append(cad.table.rows[i].numbers[k] if cad.table else Printed(repr(float(x))))
            continue
        places = digits - 1 - math.floor(math.log10(largest)) if largest else 0
        if cad.table:
            places = max(places, digits - 5 - cad.table.finest(k))
        found.append(Printed(f"{x:z.{max(places, 0)}f}"))
    return Row(cad.links[i], tuple(found))


def _can_exist(row: Row, convention: Convention) -> bool:
    """Return whether a printed body can exist, in exact arithmetic and as the doubles that the numbers become."""
    one = cad_of(Table(convention, (row,)))
    return check_cad(one)[0].status == "possible" and consistency(one.inertials[0]).consistent


def changes(cad: Cad, refined: Cad, why: Mapping[str, str] | None = None) -> tuple[Change, ...]:
    """Return every number side by side, in the table's units, point and sign. why: by a name such as "link2.Ixy"."""
    convention, found = cad.convention, []
    for link, before, after in zip(cad.links, cad.inertials, refined.inertials, strict=True):
        both = zip(printed(before, convention), printed(after, convention), strict=True)
        for part, unit, (a, b) in zip(COLUMNS, convention.units, both, strict=True):
            found.append(Change(link, part, unit, float(a), float(b), (why or {}).get(f"{link}.{part}", "")))
    return tuple(found)


def write_cad(cad: Cad, convention: Convention, path: str | Path) -> None:
    """Write the links of `cad`, whole or not at all, to a .toml file or, convention above the header, to a CSV file.

    Numbers are converted exactly and written with the digits that give the same double back. Joint values have no
    place in a CSV table and are left out. Raises CadError for a link without mass but with a first moment,
    InputError when the file cannot be written.
    """
    declared = [f'{key} = "{value}"' for key, value in asdict(convention).items() if key != "rows"]
    both = zip(cad.links, cad.exact(), strict=True)
    rows = [(link, *(repr(float(x)) for x in _as_declared(link, exact, convention))) for link, exact in both]
    if Path(path).suffix != ".toml":
        above = "".join(f"# {line}\n" for line in declared)
        write_whole(path, above + csv_text(("link", *COLUMNS), rows))
        return
    text = ["[convention]", *declared]
    for link, *numbers in rows:
        text += ["", "[[link]]", f"name = {json.dumps(link, ensure_ascii=False)}"]
        text += [f"{column} = {x}" for column, x in zip(COLUMNS, numbers, strict=True)]
    for name, value in cad.joint_values.items():
        joint, _, key = name.rpartition(".")
        text += ["", f"[joint.{json.dumps(joint, ensure_ascii=False)}]", f"{key} = {value!r}"]
    write_whole(path, "\n".join(text) + "\n")


def _as_declared(link: str, exact: Exact, convention: Convention) -> Exact:
    """Return m, c and the six entries of the tensor in the convention."""
    m, h = exact[0], exact[1:4]
    if m == 0 and any(h):
        raise CadError(f"link '{link}' has a first moment but no mass, so it has no centre of mass")
    c = tuple(x / m for x in h) if m else (Fraction(0),) * 3
    shift = upper(steiner(m, c)) if convention.tensor_at == "center_of_mass" else (Fraction(0),) * 6
    tensor = (i - d for i, d in zip(exact[4:], shift, strict=True))
    return tuple(x / scale for x, scale in zip((m, *c, *tensor), convention.scales, strict=True))


def write_changes(found: tuple[Change, ...], path: str | Path) -> None:
    """Write the numbers side by side as CSV."""
    rows = []
    for c in found:
        change = f"{100 * (c.refined - c.given) / abs(c.given):+.2f} %" if c.given else ""
        rows.append((c.link, c.number, c.unit, f"{c.given:.9g}", f"{c.refined:.9g}", change, c.why))
    write_whole(path, csv_text(("link", "number", "unit", "given", "refined", "change", "why"), rows))


def write_intervals(
    cad: Cad,
    robot: Robot,
    corrected: ArrayLike,
    allowed: Mapping[str, tuple[float, float]],
    said: Mapping[str, tuple[str, str]],
    path: str | Path,
) -> None:
    """Write the interval that each number of each link may lie in, beside what the table has, as CSV.

    In the table's units and sign; tensors are about the link's origin, where torque shows them, whatever the table's
    point. corrected (n, 10): the links without the mistakes found. allowed: lower and upper end [SI], by names such as
    "link2.Ixy"; said: the verdicts on the number as given and as corrected.
    """
    convention = replace(cad.convention, tensor_at="link_origin")
    rows = []
    tables = cad.for_robot(robot), frozen(corrected, (robot.n, 10), "corrected parameters", CadError)
    for link, given, right in zip(robot.links, *tables, strict=True):
        stated = printed(given, convention) if given[0] else np.full(10, np.nan)
        both = zip(stated, printed(right, convention), strict=True)
        for k, (part, unit, (a, b)) in enumerate(zip(COLUMNS, convention.units, both, strict=True)):
            name = f"{link}.{part}"
            ends = sorted(x / float(convention.scales[k]) for x in allowed[name])
            shown = [f"{x:z.6g}" if np.isfinite(x) else "" for x in (a, b, *ends)]
            number = part if k < 4 else f"{part} about the link's origin"
            rows.append((link, number, unit, *shown, *said.get(name, ("", ""))))
    head = ("link", "number", "unit", "given", "corrected", "lowest", "highest", "given is", "corrected is")
    write_whole(path, csv_text(head, rows))
