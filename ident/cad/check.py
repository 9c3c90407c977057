"""Physical consistency of a CAD table: can its bodies exist? Decided exactly, on the numbers as they are printed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from ident.arrays import Array
from ident.cad.convention import Convention
from ident.cad.table import COLUMNS, Cad, Exact, Table, printed
from ident.errors import CadError
from ident.spatial.inertia import can_exist, nearest_possible, steiner, symmetric

#: Radii of gyration of links: outside of them, the unit of the moments of inertia is doubted [m].
GYRATION = (1e-4, 2.0)
#: Densities of bodies: no material is denser (osmium has 22,600), and none of a robot lighter than air [kg/m^3].
DENSITIES = (1.2, 25_000.0)
#: No centre of mass is so far from its link's frame [m], and no link so many times heavier than all others together.
FARTHEST, HEAVIEST = 5.0, 30.0
#: How far off a tensor may be, against its largest entry, for the nearest possible one to be offered.
NEAR = 0.05


@dataclass(frozen=True)
class LinkVerdict:
    """What one link's ten numbers say about whether it can exist.

    status: "possible"; "rounded" when a condition fails, as a thin plate's may, but holds for numbers that are printed
    so, each rounded at its own last digit; "impossible". `failures`: one phrase per condition that fails, with the
    amount in the table's units and in SI. mass [kg]; moments: principal, about the centre of mass, ascending [kg m^2];
    triangle_gap = smallest + middle - largest [kg m^2], both None without a mass (a URDF's frame of zeros is possible).
    file and line: where the link stands.
    doubts: what is possible but odd, such as a radius of gyration that is no link's and tells of a wrong unit.
    nearest: of a link that is not far from possible, the entries of the nearest tensor that can exist, in words.
    """

    link: str
    status: Literal["possible", "rounded", "impossible"]
    failures: tuple[str, ...]
    mass: float
    moments: tuple[float, float, float] | None
    triangle_gap: float | None
    file: str | None = None
    line: int | None = None
    doubts: tuple[str, ...] = ()
    nearest: str = ""

    def __str__(self) -> str:
        """Return the verdict as one sentence."""
        if self.status == "possible":
            return f"link '{self.link}' {'can exist' if self.mass else 'is a frame without mass'}"
        what = "cannot exist" if self.status == "impossible" else "can exist only within the rounding of its digits"
        where = f" (line {self.line})" if self.line is not None else ""
        nearest = f"; the nearest that can exist: {self.nearest}" if self.nearest else ""
        return f"link '{self.link}'{where} {what}: {'; '.join(self.failures)}{nearest}"


def check_cad(cad: Cad) -> tuple[LinkVerdict, ...]:
    """Examine every link: m > 0, positive principal moments about the centre of mass, triangle inequality.

    A body of positive density exists exactly when m > 0 and tr(I_c)/2 E - I_c is positive semidefinite (Wensing, Kim,
    Slotine, RA-L 2018), which contains both other conditions.
    """
    found = [_verdict(cad, i, exact) for i, exact in enumerate(cad.exact())]
    total = sum(v.mass for v in found)
    for i, v in enumerate(found):
        others = total - v.mass
        if len(found) > 1 and v.mass > HEAVIEST * others > 0:
            doubt = f"it weighs {v.mass:.4g} kg, all others together {others:.4g} kg: {_MASS}"
            found[i] = replace(v, doubts=(*v.doubts, doubt))
    return tuple(found)


def require_consistent(cad: Cad) -> tuple[LinkVerdict, ...]:
    """Return the verdicts of `check_cad`; raises CadError that lists every impossible link, if there is one."""
    verdicts = check_cad(cad)
    bad = [v for v in verdicts if v.status == "impossible"]
    if bad:
        problem = f"{len(bad)} of {len(verdicts)} links cannot exist:\n  " + "\n  ".join(map(str, bad))
        raise CadError(problem, file=cad.source or None, fix=_advice(cad, len(bad)))
    return verdicts


def _verdict(cad: Cad, i: int, exact: Exact) -> LinkVerdict:
    unit, mass = cad.convention, exact[0]
    made = LinkVerdict(cad.links[i], "possible", (), float(mass), None, None, cad.source or None, cad.line(i))
    if cad.table is None and not any(exact):  # in a URDF a body of zeros is a mere frame, in a table it is forgotten
        return made
    if mass <= 0:
        return replace(made, status="impossible", failures=("m > 0 fails: m = " + _in_units(mass, unit, "mass"),))
    central = symmetric(exact[4:]) - steiner(mass, [h / mass for h in exact[1:4]])
    a, b, c = (float(x) for x in np.linalg.eigvalsh(central.astype(np.float64)))
    gap = float(a + b - c)
    far = float(np.linalg.norm([float(h / mass) for h in exact[1:4]]))
    made = replace(made, moments=(a, b, c), triangle_gap=gap, doubts=_doubts(float(mass), far, (a, b, c)))
    if can_exist(exact):
        return made
    failures = []
    if a < 0:
        failures.append(f"I_c > 0 fails: the smallest principal moment is {_in_units(a, unit, 'inertia')}")
    least, middle, largest = (f"{moment / float(unit.factors[2]):.6g}" for moment in (a, b, c))
    failures.append(
        f"triangle inequality fails: the smaller principal moments {least} + {middle} are "
        f"{_in_units(-gap, unit, 'inertia')} less than the largest {largest}"
    )
    if cad.table is not None:
        explained = cad.table.within_rounding(i) is not None
    else:  # numbers without digits are rounded to double precision
        precision = 16 * np.finfo(float).eps * float(np.abs(cad.inertials[i, 4:]).max())
        explained = bool(-gap / 2 <= precision)  # the least moment of r r^T
    made = replace(made, status="rounded" if explained else "impossible", failures=tuple(failures))
    return made if explained else replace(made, nearest=nearest_tensor(cad.inertials[i], unit))


def nearest_tensor(inertials: Array, convention: Convention) -> str:
    """Return the entries of the nearest tensor that can exist with this mass and centre (10,), in a convention's words.

    Nothing where that is more than NEAR of the largest away: then the numbers are wrong, not inexact.
    """
    central = replace(convention, tensor_at="center_of_mass")
    body = nearest_possible(inertials)
    given, near = (printed(p, central)[4:] for p in (inertials, body))
    if not 0 <= np.abs(near - given).max() < NEAR * near.max():
        return ""
    decimals = max(0, 7 - math.ceil(math.log10(near.max())))
    entries = zip(COLUMNS[4:], printed(body, convention)[4:], strict=True)
    return f"{', '.join(f'{name} = {x:z.{decimals}f}' for name, x in entries)} {convention.inertia}"


_BALL = 4.0 / 3.0 * math.pi * 5.0**1.5  # volume of a ball whose integral of x^2 is that of its volume
_MASS = "ask for the unit and the decimal point of its mass"


def densities(mass: ArrayLike, moments: ArrayLike) -> tuple[Array, Array]:
    """Return the least density that a body's densest part has, and that of an ellipsoid of its moments [kg/m^3].

    mass (...), moments (..., 3): principal, about the centre, ascending. Of all bodies whose density has a bound,
    a ball of that density has the least of the largest integral of x^2 dm; so thin ones, and their rounding, do not
    matter. inf for a point.
    """
    with np.errstate(all="ignore"):
        m, each = np.asarray(mass, dtype=np.float64), np.asarray(moments, dtype=np.float64)
        spread = np.maximum(each.sum(axis=-1, keepdims=True) / 2 - each, 0.0) / m[..., None]  # of x^2, descending
        return m / (_BALL * spread[..., 0] ** 1.5), m / (_BALL * np.sqrt(np.prod(spread, axis=-1)))


def _doubts(mass: float, far: float, moments: Sequence[float]) -> tuple[str, ...]:
    """Return what no link of a robot has: radius of gyration, density, distance of the centre; wrong units do that."""
    radius, found = max(moments[-1] / mass, 0.0) ** 0.5, []
    if not GYRATION[0] <= radius <= GYRATION[1]:
        usual = f"links of robots have {GYRATION[0]:g} to {GYRATION[1]:g} m"
        ask = "ask for the unit of the moments of inertia"
        found.append(f"the radius of gyration is {radius:.3g} m, and {usual}: {ask}")
    least, even = densities(mass, moments)
    both = f"{mass:.4g} kg with a radius of gyration of {radius:.3g} m"
    if radius >= GYRATION[0] and least > DENSITIES[1]:
        found.append(f"{both} are {least:.2g} kg/m^3 or more, and no material is so dense: {_MASS}, or of its inertia")
    elif radius <= GYRATION[1] and even < DENSITIES[0]:
        found.append(f"{both} are {even:.2g} kg/m^3, lighter than air: {_MASS}, or of its inertia")
    if far > FARTHEST:
        found.append(f"the centre of mass is {far:.3g} m from the link's frame: ask for the unit of the centre")
    return tuple(found)


def _advice(cad: Cad, bad: int) -> str:
    """Return what to do: another reading of the same table under which every link can exist, where there is one."""
    general = "Check the units, the point of the tensor and the digits of these rows against the CAD program's report"
    if cad.table is None:
        return general
    convention = cad.table.convention
    other: Literal["center_of_mass", "link_origin"]
    other = "link_origin" if convention.tensor_at == "center_of_mass" else "center_of_mass"
    read = Cad(cad.links, cad.inertials, table=Table(replace(convention, tensor_at=other), cad.table.rows))
    still = sum(v.status == "impossible" for v in check_cad(read))
    if still < bad:
        can = "every link can exist" if still == 0 else f"{still} would still be impossible"
        return f'{general}. Read with tensor_at = "{other}", {can}'
    return general


def _in_units(value: float | Fraction, convention: Convention, what: Literal["mass", "inertia"]) -> str:
    """Return the value in the table's unit, and in SI where that is another one."""
    mass, _, inertia = convention.factors
    unit, own, si = (convention.mass, mass, "kg") if what == "mass" else (convention.inertia, inertia, "kg m^2")
    shown = f"{float(value) / float(own):.6g} {unit}"
    return shown if own == 1 else f"{shown} ({float(value):.6g} {si})"
