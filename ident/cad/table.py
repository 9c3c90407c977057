"""CAD tables: mass, centre of mass and inertia of each link as printed, and as the ten inertials in SI; and whether a
body is physically consistent (can exist) within the rounding of its printed numbers, each by its digits.

Numbers p_k + r_k u_k with |u_k| <= 1 make a matrix that is linear in u,

    M(u) = [[tr(I)/2 E - I, c], [c^T, 1/m]],

positive semidefinite (a linear matrix inequality, LMI) exactly for bodies that can exist (with c = 0 where I is about
the centre of mass; m at its lower end, which is the easiest). So a body exists within the rounding exactly when the
largest lambda with M(u) >= lambda E in the box is not negative: a semidefinite program in nine numbers, solved with its
logarithmic barrier.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ident.arrays import Array, frozen
from ident.cad.convention import PLAIN, Convention
from ident.errors import CadError, require_known
from ident.shown import shows
from ident.spatial.inertia import (
    NATURAL,
    can_exist,
    consistency,
    from_com,
    pseudo_inertia_exact,
    steiner,
    tensor,
    to_com,
    transformed,
    upper,
)

if TYPE_CHECKING:
    from ident.robot.robot import Robot


#: m, c and the tensor's six entries; or the halves of their last digits [kg, m, kg m^2].
Exact = tuple[Fraction, ...]
#: The exact numbers from the first to the second.
Interval = tuple[Fraction, Fraction]

_DIAGONAL = {4: (7, 9), 7: (4, 9), 9: (4, 7)}
_ACROSS = {5: 9, 6: 7, 8: 4}  # a product, and the moment that is twice its bound
#: What counts as no lack at all, in units of the rounding.
_TIE = 1e-8


def within_rounding(numbers: Exact, halves: Exact, about_center: bool) -> Array | None:
    """Return the body (10,) within the rounding that is farthest from the edge of what can exist, None without one.

    numbers, halves (10,): m > 0, c and the tensor with tensor signs, and how far each may be off. about_center: the
    tensor is taken there. The inertials returned are about the origin [SI].
    """
    mass = numbers[0] - halves[0]
    box = [(p - r, p + r) for p, r in zip(numbers, halves, strict=True)]
    if about_center:
        box[1:4] = [(Fraction(0), Fraction(0))] * 3
    if mass <= 0 or not _tightened(box, mass):
        return None
    middle, half = [(a + b) / 2 for a, b in box], [(b - a) / 2 for a, b in box]
    nothing = [Fraction(0)] * 10
    most = [_matrix([*nothing[:k], r, *nothing[k + 1 :]], Fraction(0)) for k, r in enumerate(half)]
    T = _whitening(_matrix(middle, 1 / mass), most, box)
    exact = np.array([[Fraction(x) for x in row] for row in T.tolist()], dtype=object)
    start = (exact.T @ _matrix(middle, 1 / mass) @ exact).astype(np.float64)
    free = [k for k in range(1, 10) if half[k] > 0]
    steps = np.array([T.T @ most[k].astype(np.float64) @ T for k in free])
    u, depth = _deepest(start, steps.reshape(-1, 4, 4))
    if depth < -_TIE:
        return None
    found = np.array([float(i) for i in middle])
    found[free] += np.array([float(half[k]) for k in free]) * u
    if about_center:
        return from_com(float(numbers[0]), [float(c) for c in numbers[1:4]], tensor(found))
    for m in (float(numbers[0]), float(mass)):
        body = np.concatenate([[m], m * found[1:4], found[4:]])
        if consistency(body).consistent:
            break
    return body


def _tightened(box: list[Interval], mass: Fraction) -> bool:
    """Cut from the box, in place, what no body has, so that one coarse number hides no other; False if all of it.

    A moment is at most the sum of the other two, a product at most half a moment, m c_x^2 at most a moment across x.
    """
    for _ in range(4):  # passes until nothing changes, as two ends of three moments have it at most
        for k, (a, b) in _DIAGONAL.items():
            least = max(box[k][0], box[a][0] - box[b][1], box[b][0] - box[a][1], Fraction(0))
            box[k] = (least, min(box[k][1], box[a][1] + box[b][1]))
    for k, across in _ACROSS.items():
        box[k] = (max(box[k][0], -box[across][1] / 2), min(box[k][1], box[across][1] / 2))
    for k, (a, b) in {1: (7, 9), 2: (4, 9), 3: (4, 7)}.items():
        most = Fraction(float(max(min(box[a][1], box[b][1]), Fraction(0)) / mass) ** 0.5 * (1 + 1e-12))
        box[k] = (max(box[k][0], -most), min(box[k][1], most))
    return all(least <= most for least, most in box)


def _matrix(numbers: list[Fraction], corner: Fraction) -> Array:
    """Return M (4, 4) of exact numbers."""
    return np.array(pseudo_inertia_exact([corner, *numbers[1:]]), dtype=object)


def _whitening(middle: Array, steps: list[Array], box: list[Interval]) -> Array:
    """Return T (4, 4) that makes T'(|M(0)| + R) T the unit matrix, R being the most that the roundings add to M."""
    largest = [min(box[7][1], box[9][1]), min(box[4][1], box[9][1]), min(box[4][1], box[7][1]), middle[3, 3]]
    D = np.diag([float(x) ** -0.5 if x > 0 else 1.0 for x in largest])
    w, V = np.linalg.eigh(D @ middle.astype(np.float64) @ D)
    most = np.sum([np.abs(D @ step.astype(np.float64) @ D).sum(axis=0) for step in steps], axis=0)
    L = np.linalg.cholesky((V * np.abs(w)) @ V.T + np.diag(most) + 1e-18 * np.eye(4))
    return np.asarray(D @ np.linalg.inv(L).T)


def _deepest(start: Array, steps: Array) -> tuple[Array, float]:
    """Return u (k,) inside the box and an upper bound of the largest lambda with start + u steps >= lambda E.

    Newton's method on -lambda / mu - log det(start + u steps - lambda E) - sum log(1 - u^2), mu towards 0: the bound is
    lambda + (4 + 2 k) mu, from the dual.
    """
    k = len(steps)
    slopes = np.concatenate([steps, -np.eye(4)[None]])
    x = np.append(np.zeros(k), np.linalg.eigvalsh(start)[0] - 1.0)
    for mu in 10.0 ** -np.arange(11):
        for _ in range(100):
            inverse = np.linalg.inv(start + np.tensordot(x, slopes, 1))
            turned = inverse @ slopes
            gradient = -np.trace(turned, axis1=1, axis2=2)
            hessian = np.einsum("aij,bji->ab", turned, turned)
            u, room = x[:k], 1.0 - x[:k] ** 2
            gradient[:k] += 2.0 * u / room
            gradient[k] -= 1.0 / mu
            hessian[np.arange(k), np.arange(k)] += 2.0 * (1.0 + u**2) / room**2
            size = np.sqrt(np.diag(hessian))
            step = np.linalg.solve(hessian / np.outer(size, size) + 1e-15 * np.eye(k + 1), -gradient / size) / size
            decrement = float(np.sqrt(max(-gradient @ step, 0.0)))
            x = x + step / (1.0 + decrement)
            if decrement < 0.1:
                break
        gap = (4 + 2 * k) * mu
        if x[k] > 100 * gap or x[k] + gap < -_TIE:
            break
    return x[:k], float(x[k] + gap)


#: The ten columns of a table, beside the link's name.
COLUMNS = NATURAL

_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")
_QUANTITY = (0, 1, 1, 1, 2, 2, 2, 2, 2, 2)  # mass, length or inertia, of each column


@dataclass(frozen=True)
class Printed:
    """A number as it is printed, so that its digits tell how far it was rounded."""

    text: str

    def __post_init__(self) -> None:
        if len(self.text) > 60 or not _NUMBER.fullmatch(self.text) or not abs(float(self.text)) < 1e60:
            raise ValueError(self.text)

    @property
    def value(self) -> Fraction:
        """The printed number as an exact fraction."""
        return Fraction(self.text)

    @property
    def last_digit(self) -> int:
        """Power of ten of the last printed digit."""
        digits, _, exponent = self.text.lower().partition("e")
        return int(exponent or 0) - len(digits.partition(".")[2])

    @property
    def first_digit(self) -> int:
        """Power of ten of the first digit that is not zero."""
        return Decimal(self.text).adjusted()

    @property
    def scientific(self) -> bool:
        """Whether it is printed with an exponent."""
        return "e" in self.text.lower()


@dataclass(frozen=True)
class Row:
    """One link of a table: its ten printed numbers in the order of COLUMNS, and its line in the file."""

    link: str
    numbers: tuple[Printed, ...]
    line: int | None = None


@dataclass(frozen=True)
class Table:
    """A table as printed, with the convention it declares."""

    convention: Convention
    rows: tuple[Row, ...]

    def exact(self) -> tuple[Exact, ...]:
        """Return the ten inertials of each link in SI, exact: m, h = m c, tensor about the link's origin."""
        about_center = self.convention.tensor_at == "center_of_mass"
        found = []
        for row in self.rows:
            m, x, y, z, *tensor = self._si([n.value for n in row.numbers])
            shift = upper(steiner(m, (x, y, z))) if about_center else (Fraction(0),) * 6
            found.append((m, m * x, m * y, m * z, *(a + b for a, b in zip(tensor, shift, strict=True))))
        return tuple(found)

    def bodies(self) -> Array:
        """Return the ten inertials of each row (n, 10) in SI, bodies within the rounding of what cannot exist."""
        found = np.array([[float(x) for x in row] for row in self.exact()]).reshape(-1, 10)
        for i, exact in enumerate(self.exact()):
            if not can_exist(exact) and (body := self.within_rounding(i)) is not None:
                found[i] = body
        return found

    def within_rounding(self, i: int) -> Array | None:
        """Return a body (10,) that the numbers of link i may be rounded from, None where there is none [SI]."""
        printed, halves = self._si([n.value for n in self.rows[i].numbers]), self._si(self.rounding()[i])
        return within_rounding(printed, tuple(map(abs, halves)), self.convention.tensor_at == "center_of_mass")

    def _si(self, numbers: Sequence[Fraction]) -> Exact:
        """Return m, c and the tensor (10,) of numbers in the table's units and sign, at its point, in SI."""
        return tuple(f * x for f, x in zip(self.convention.scales, numbers, strict=True))

    def _alike(self, column: int) -> list[Printed]:
        """Return the numbers without an exponent of the quantity in a column."""
        alike = [k for k, quantity in enumerate(_QUANTITY) if quantity == _QUANTITY[column]]
        return [n for row in self.rows for n in (row.numbers[k] for k in alike) if not n.scientific]

    def finest(self, column: int) -> int:
        """Return the power of ten of the last digit of the quantity in a column, where it is printed finest."""
        return min((n.last_digit for n in self._alike(column)), default=0)

    def rounding(self) -> tuple[Exact, ...]:
        """Return half a unit of the last printed digit of each number, in the table's units.

        Numbers with an exponent are rounded at their own last digit. Spreadsheets drop trailing zeros ("13.4" for
        13.400), so plain numbers count as rounded where the table prints the same quantity finest: to as many decimals
        ("54321.100", "0.123"), or to as many digits ("54321.1", "0.123457"), whichever is coarser.
        """
        finest = [self.finest(k) for k in range(10)]
        digits = [[n.first_digit - n.last_digit + 1 for n in self._alike(k) if n.value] for k in range(10)]
        most = [max(found, default=1) for found in digits]
        return tuple(
            tuple(Fraction(10) ** _last(*of) / 2 for of in zip(row.numbers, finest, most, strict=True))
            for row in self.rows
        )


def _last(number: Printed, finest: int, most: int) -> int:
    """Return the power of ten at which a number is rounded, in a table that prints so fine and so many digits."""
    if number.scientific:
        return number.last_digit
    return max(finest, min(number.last_digit, number.first_digit + 1 - most)) if number.value else finest


def printed(inertials: Array, convention: Convention) -> Array:
    """Return m, c and the six entries of the tensor (10,) of inertials (10,) in a convention.

    What the conversion leaves of a zero, beyond the digits of the largest, is a zero.
    """
    m, c, central = to_com(inertials)
    full = central if convention.tensor_at == "center_of_mass" else tensor(inertials)
    c, six = (np.where(np.abs(x) > 1e-14 * np.abs(x).max(), x, 0.0) for x in (c, upper(full)))
    return np.concatenate([[m], c, six]) / np.array(convention.scales, dtype=np.float64) + 0.0  # no -0.0


def read_bytes(path: Path, limit: int = -1) -> bytes:
    """Return the content of a file, of at most `limit` bytes; raises CadError when it cannot be read."""
    try:
        with path.open("rb") as stream:
            return stream.read(limit)
    except (OSError, ValueError) as cause:
        problem = "there is no such file" if isinstance(cause, FileNotFoundError) else "the file cannot be read"
        raise CadError(problem, file=path) from cause


@shows
@dataclass(frozen=True, eq=False)
class Cad:
    """What CAD says about the links of a robot.

    `links`: their names; `inertials` (n, 10): m, hx, hy, hz, Ixx, Ixy, Ixz, Iyy, Iyz, Izz of each, in its link frame,
    the tensor about the link frame's origin [kg, kg m, kg m^2]. `source`: the file's name; `sha256`: of the file(s)
    read. `joint_values`: joint parameters that the file gives, such as {"joint1.viscous": 0.01} [SI].
    `table`: the printed numbers, where there are any. Raises CadError on repeated names or wrong shapes.
    """

    links: tuple[str, ...]
    inertials: Array
    source: str = ""
    sha256: str = ""
    joint_values: Mapping[str, float] = field(default_factory=dict)
    table: Table | None = None

    def __post_init__(self) -> None:
        links = tuple(self.links)
        object.__setattr__(self, "links", links)
        object.__setattr__(self, "inertials", frozen(self.inertials, (len(links), 10), "inertials", CadError))
        object.__setattr__(self, "joint_values", dict(self.joint_values))
        for i, link in enumerate(links):
            if link in links[:i]:
                error = partial(CadError, file=self.source or None, line=self.line(i))
                alike = (self.inertials[i] == self.inertials[links.index(link)]).all()
                key = f'{"# " * self.source.endswith(".csv")}rows = "parts"'
                parts = f", or, where they are parts of it, write {key} beside the units: they are added up"
                raise error(f"link '{link}' is given twice", fix="Keep one of them" + parts * (not alike))

    @property
    def convention(self) -> Convention:
        """The table's own, or how one is written that has none."""
        return self.table.convention if self.table else PLAIN

    def line(self, i: int) -> int | None:
        """Return the line of link number `i` in the file, None where it is not known."""
        return self.table.rows[i].line if self.table else None

    def exact(self) -> tuple[Exact, ...]:
        """Return the ten inertials of each link, exact: from the printed numbers, or from `inertials` as they are."""
        if self.table:
            return self.table.exact()
        return tuple(tuple(Fraction(float(x)) for x in row) for row in self.inertials)

    def require_links(self, known: Sequence[str], needed: Sequence[str]) -> None:
        """Raise CadError when a link of the table is not in `known` or one of `needed` is not in the table."""
        file, fix = self.source or None, f"The robot's links are {_listed(needed)}"
        for i, link in enumerate(self.links):
            require_known([link], known, CadError, "the robot has no link", file=file, line=self.line(i), fix=fix)
        missing = [link for link in needed if link not in self.links]
        if missing:
            wanted = "Give every moving link of the robot one row"
            raise CadError(f"no row for {_listed(missing)}", file=file, fix=wanted)

    def for_robot(self, robot: Robot) -> Array:
        """Return the inertials (n, 10) of the robot's moving links in its own order.

        A row for a body fixed to a moving link is moved into that link's frame and added to it; rows for the base and
        what is fixed to it do not matter. Raises CadError for links and joints that the robot does not have and for
        moving links without a row, with the nearest name.
        """
        fixed = {body.name: body for body in robot.fixed}
        self.require_links((*robot.links, *fixed, robot.base), robot.links)
        for name in self.joint_values:
            joint, joints = name.rpartition(".")[0], robot.joint_names
            place = {"file": self.source or None, "key": f"joint.{joint}"}
            fix = f"The robot's joints are {_listed(joints)}"
            require_known([joint], joints, CadError, "the robot has no joint", fix=fix, **place)
        found = np.zeros((robot.n, 10))
        for link, inertials in zip(self.links, self.inertials, strict=True):
            if link in robot.links:
                found[robot.links.index(link)] += inertials
            elif link in fixed and fixed[link].link >= 0:
                found[fixed[link].link] += transformed(inertials, fixed[link].pose)
        return frozen(found, (robot.n, 10), "inertials", CadError)


def cad_of(table: Table, source: str = "", sha256: str = "", joint_values: Mapping[str, float] | None = None) -> Cad:
    """Return what a table says, converted to SI.

    A body that cannot exist as printed, but within the rounding of its digits, is one that can; others stay as printed.
    """
    return Cad(tuple(r.link for r in table.rows), table.bodies(), source, sha256, joint_values or {}, table)


def _listed(names: Sequence[str]) -> str:
    quoted = [f"'{n}'" for n in names]
    return quoted[0] if len(quoted) == 1 else ", ".join(quoted[:-1]) + " and " + quoted[-1]
