"""What one report tells by itself: sign of its products, point of its tensors, whether its numbers agree.

Every printed number x stands for the interval of x plus or minus half a unit of its last digit. A reading of the report
(which tensor is about the centre, which sign the products have) is refuted when it needs a number outside its interval:

- parallel axes: I_O - I_C = m (c.c E - c c^T), so that the products differ by + m x y when they are printed as
  +integral of x y dm and by - m x y when they are entries of the tensor;
- principal moments: they are the eigenvalues of I_C, and I_C = sum of P_k a_k a_k^T with the printed axes;
- matter: tr(I_C)/2 E - I_C is positive semidefinite (Wensing, Kim, Slotine, RA-L 2018).

A sign or a point is decided when all readings that are left have it; nothing else is taken as decided.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ident.arrays import Array, frozen
from ident.cad.check import GYRATION
from ident.cad.sheets.sheet import ENTRIES, MassReport, Number, Products, Six, half_widths, symmetric, values
from ident.errors import CadError
from ident.spatial.inertia import from_com, transformed
from ident.spatial.pose import Pose

Verdict = Literal["decided", "agrees", "problem", "undecided", "note"]

#: Outside of these, a printed mass, volume or unit is doubted: from foams to tungsten [kg/m^3].
DENSITIES = (100.0, 20000.0)

#: What SolidWorks takes where no material is assigned [kg/m^3].
UNASSIGNED = 1000.0

#: Densities of materials by their names [kg/m^3], wide enough for all their kinds, plastics with glass among them
#: (engineering handbooks).
MATERIALS: Mapping[str, tuple[float, float]] = {
    r"steel": (7400, 8200), r"\biron\b": (6800, 8200), r"alumini?um": (2500, 2950), r"brass": (8200, 8800),
    r"bronze": (7300, 9000), r"copper": (8200, 9000), r"titan": (4300, 4700), r"magnesium": (1650, 1900),
    r"\babs\b": (1000, 1400), r"\bpla\b": (1150, 1350), r"nylon|polyamide": (1000, 1800),
    r"polycarbonate": (1150, 1600), r"acetal|\bpom\b|delrin": (1350, 1800), r"rubber": (850, 1700),
}  # fmt: skip

#: What arithmetic may add to the rounding, the CAD program's and the one here: of the largest entry of its tensors.
_ARITHMETIC = 1e-12

_SIGNS: tuple[Products, Products] = ("tensor", "positive")

#: What the two signs are called in sentences.
SAID: Mapping[str, str] = {
    "tensor": "entries of the tensor (Ixy = -integral of x y dm)",
    "positive": "positive (Ixy = +integral of x y dm)",
}

UNDECIDED = "cannot be decided from this report"


@dataclass(frozen=True)
class Finding:
    """One answer: what it is about, its verdict, the value ("cannot be decided from this report" where it cannot), and
    the evidence in one sentence with numbers. `line`: where it shows, if in one place.
    """

    about: str
    verdict: Verdict
    value: str
    evidence: str
    line: int | None = None

    def __str__(self) -> str:
        """Return one sentence."""
        return f"{self.about}: {self.value}; {self.evidence}"


# ---- intervals -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Range:
    """The numbers from `lo` to `hi`."""

    lo: float
    hi: float

    def __add__(self, other: _Range) -> _Range:
        return _Range(self.lo + other.lo, self.hi + other.hi)

    def __neg__(self) -> _Range:
        return _Range(-self.hi, -self.lo)

    def __sub__(self, other: _Range) -> _Range:
        return self + -other

    def __mul__(self, other: _Range) -> _Range:
        ends = [a * b for a in (self.lo, self.hi) for b in (other.lo, other.hi)]
        return _Range(min(ends), max(ends))

    def square(self) -> _Range:
        ends = (self.lo**2, self.hi**2)
        return _Range(0.0 if self.lo <= 0 <= self.hi else min(ends), max(ends))

    def meets(self, other: _Range) -> bool:
        return self.lo <= other.hi and other.lo <= self.hi

    def gap(self, other: _Range) -> float:
        return max(self.lo - other.hi, other.lo - self.hi)


def _range(n: Number) -> _Range:
    value, half = float(n.value), float(n.half)
    return _Range(value - half, value + half)


def _steiner(report: MassReport) -> dict[str, _Range]:
    """Return what the tensor about the origin has more than the one about the centre, as tensor entries."""
    m, (x, y, z) = _range(report.mass), map(_range, report.center)
    xx, yy, zz = x.square(), y.square(), z.square()
    return {
        "xx": m * (yy + zz), "xy": -(m * (x * y)), "xz": -(m * (x * z)),
        "yy": m * (xx + zz), "yz": -(m * (y * z)), "zz": m * (xx + yy),
    }  # fmt: skip


# ---- readings ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Reading:
    """One way to read a report: the sign of its products, and whether its tensors are about the points it names.

    `against`: what refutes it, (entry or test, how far outside in units of the rounding allowed, sentence).
    """

    products: Products
    as_named: bool
    against: tuple[tuple[str, float, str], ...]


def readings(report: MassReport) -> tuple[Reading, ...]:
    """Return the four readings of a report, each with what refutes it."""
    shift, built = _steiner(report), _from_axes(report)
    return tuple(
        Reading(sign, as_named, tuple(_against(report, shift, built, sign, as_named)))
        for as_named in (True, False)
        for sign in _SIGNS
    )


def _against(
    report: MassReport, shift: dict[str, _Range], built: dict[str, _Range], products: Products, as_named: bool
) -> list[tuple[str, float, str]]:
    center, origin = report.at_center, report.at_origin
    if not as_named:
        center, origin = origin, center
    unit, factor = report.tensor[0].unit, float(report.tensor[0].factor)
    sign = -1 if products == "positive" else 1
    found: list[tuple[str, float, str]] = []
    extra = _ARITHMETIC * max(abs(float(n.value)) for six in (center, origin) if six for n in six)
    c = None if center is None else _ranges(center, sign, extra)
    o = None if origin is None else _ranges(origin, sign, extra)
    if c is not None and o is not None:
        for entry in ENTRIES:
            difference = o[entry] - c[entry]
            if not difference.meets(shift[entry]):
                found.append((entry, *_outside(entry, difference, shift[entry], sign, unit, factor)))
    if c is None:
        assert o is not None
        c = {e: o[e] - shift[e] for e in ENTRIES}
    middle = symmetric([(c[e].lo + c[e].hi) / 2 for e in ENTRIES])
    half = symmetric([(c[e].hi - c[e].lo) / 2 for e in ENTRIES])
    for entry, axes in built.items():
        if not axes.meets(c[entry]):
            width = axes.hi - axes.lo + c[entry].hi - c[entry].lo
            text = (
                f"the principal axes and moments give {_shown(axes, factor)} {unit} for the tensor's {entry}, "
                f"which would be {_shown(c[entry], factor)}"
            )
            found.append((f"axes {entry}", axes.gap(c[entry]) / width, text))
    found += _against_moments(report, middle, half, unit, factor)
    found += _against_matter(middle, half, unit, factor)
    return found


def _ranges(six: Six, sign: int, extra: float) -> dict[str, _Range]:
    """Return the intervals of the entries of a tensor printed with this sign of its products."""
    blur = _Range(-extra, extra)
    found = {e: _range(n) + blur for e, n in zip(ENTRIES, six, strict=True)}
    return {e: r if sign > 0 or e[0] == e[1] else -r for e, r in found.items()}


def _outside(entry: str, difference: _Range, shift: _Range, sign: int, unit: str, factor: float) -> tuple[float, str]:
    product = entry[0] != entry[1]
    if product and sign < 0:
        difference, shift = -difference, -shift
    what = {"xx": "m (y^2 + z^2)", "yy": "m (x^2 + z^2)", "zz": "m (x^2 + y^2)"}.get(
        entry, f"{'+' if sign < 0 else '-'} m {entry[0]} {entry[1]}"
    )
    width = difference.hi - difference.lo + shift.hi - shift.lo
    text = (
        f"I{entry} at the origin less {entry} at the centre is {_shown(difference, factor)} {unit}, "
        f"and {what} would be {_shown(shift, factor)}"
    )
    return difference.gap(shift) / width, text


def _shown(r: _Range, factor: float) -> str:
    middle, half = (r.lo + r.hi) / 2 / factor, (r.hi - r.lo) / 2 / factor
    return f"{middle:.8g} ± {half:.2g}"


def _from_axes(report: MassReport) -> dict[str, _Range]:
    """Return sum of P_k a_k a_k^T by entry, empty without axes.

    A multiple p of the unit matrix is taken off before and added after, which the rounding of the axes cannot blur.
    """
    if report.axes is None or report.moments is None:
        return {}
    p = float(sorted(n.value for n in report.moments)[1])
    middle = _Range(p, p)
    moments = [_range(n) - middle for n in report.moments]
    axes = [[_range(a) for a in axis] for axis in report.axes]
    found = {}
    for entry in ENTRIES:
        i, j = "xyz".index(entry[0]), "xyz".index(entry[1])
        found[entry] = middle if i == j else _Range(0.0, 0.0)
        for moment, axis in zip(moments, axes, strict=True):
            found[entry] += moment * (axis[i].square() if i == j else axis[i] * axis[j])
    return found


def _against_moments(
    report: MassReport, middle: Array, half: Array, unit: str, factor: float
) -> list[tuple[str, float, str]]:
    """Compare the eigenvalues of I_C with the principal moments; rounding moves them by |half| at most (Weyl)."""
    if report.moments is None:
        return []
    printed = sorted(report.moments, key=lambda n: n.value)
    eigenvalues = np.linalg.eigvalsh(middle)
    exact = 1e-14 * float(np.abs(middle).max())
    allowed = float(np.linalg.norm(half, 2)) + half_widths(printed) + exact
    off = np.abs(eigenvalues - values(printed))
    k = int(np.argmax(off / allowed))
    if off[k] <= allowed[k]:
        return []
    text = (
        f"a principal moment would be {eigenvalues[k] / factor:.10g} {unit}, {printed[k].text} is printed, "
        f"and rounding explains {allowed[k] / factor:.2g}"
    )
    return [("moments", float((off[k] - allowed[k]) / allowed[k]), text)]


def _against_matter(middle: Array, half: Array, unit: str, factor: float) -> list[tuple[str, float, str]]:
    """Check that tr(I)/2 E - I, the integral of r r^T dm, is positive semidefinite within rounding."""
    sigma = np.trace(middle) / 2 * np.eye(3) - middle
    blur = np.where(np.eye(3) > 0, np.trace(half) / 2, half)
    allowed = float(np.linalg.norm(blur, 2)) + 1e-14 * float(np.abs(middle).max())
    lowest = float(np.linalg.eigvalsh(sigma)[0])
    if lowest >= -allowed:
        return []
    a, b, c = np.linalg.eigvalsh(middle) / factor
    text = (
        f"no body could exist: its principal moments would be {a:.6g}, {b:.6g} and {c:.6g} {unit}, and a moment is "
        f"positive and no larger than the sum of the two others (rounding explains {2 * allowed / factor:.2g})"
    )
    return [("matter", (-lowest - allowed) / allowed, text)]


# ---- decisions -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Decision:
    """What the printed numbers decide, None where they do not: the sign of the products; whether the tensors are about
    the points that the report names. `readings`: the four readings with what refutes them.
    """

    products: Products | None
    as_named: bool | None
    readings: tuple[Reading, ...]

    @property
    def contradictory(self) -> bool:
        """Whether the numbers refute every reading."""
        return all(r.against for r in self.readings)


def decide(report: MassReport) -> Decision:
    """Return the sign and the point that all readings have which the numbers do not refute."""
    found = readings(report)
    left = [r for r in found if not r.against]
    signs, points = {r.products for r in left}, {r.as_named for r in left}
    return Decision(
        next(iter(signs)) if len(signs) == 1 else None, next(iter(points)) if len(points) == 1 else None, found
    )


def products_of(report: MassReport) -> Products:
    """Return the sign to read the products with: decided by the numbers, else stated in the report, else documented by
    the maker for its layout; "tensor" where all products are printed as 0.

    Raises CadError when none of these tells, or when what is stated is refuted by the numbers.
    """
    decision = decide(report)
    if decision.contradictory:
        raise _contradiction(report, decision)
    declared, where = _declared(report)
    if decision.products is not None:
        if declared is not None and declared != decision.products:
            raise CadError(
                f"{where} that the products are {SAID[declared]}, and the numbers refute it: "
                f"{_refuted(decision, declared)}",
                file=report.source,
                line=report.stated_line,
                fix="Print the report again, or say which sign is meant",
            )
        return decision.products
    if declared is not None:
        return declared
    if all(report.tensor[k].value == 0 for k in (1, 2, 4)):
        return "tensor"
    raise CadError(
        f"the sign of the products of inertia {UNDECIDED}: {_why_undecided(report)}",
        file=report.source,
        line=report.tensor[1].line,
        fix='Say which: products = "tensor" where Ixy = -integral of x y dm, or "positive" where it is +integral',
    )


def to_parameters(report: MassReport, products: Products | None = None, frame: Pose | None = None) -> Array:
    """Return the ten parameters (10,) of the body [kg, kg m, kg m^2], tensor signs, about the frame's origin.

    frame: the CAD output frame seen from the link frame; without it, the parameters are in the output frame.
    products: the sign of the printed products, where the user knows it; without it, see `products_of`.
    Raises CadError when the numbers contradict one another, when the sign cannot be told or is refuted by them, or when
    the tensors are not about the points that the report names.
    """
    if products is None:
        products = products_of(report)
    elif products not in SAID:
        raise CadError(f"unknown word '{products}'", key="products", fix='Write "tensor" or "positive"')
    decision = decide(report)
    if decision.contradictory:
        raise _contradiction(report, decision)
    if decision.products not in (None, products):
        raise CadError(
            f"the products are to be read as {SAID[products]}, and the numbers refute it: "
            f"{_refuted(decision, products)}",
            file=report.source,
            line=report.tensor[1].line,
            fix="Leave the sign to the report",
        )
    if decision.as_named is False:
        raise CadError(
            f"the tensors are not about the points that the report names: {_refuted_point(decision, True)}",
            file=report.source,
            line=report.tensor[0].line,
            fix="Exchange the two, or print the report again",
        )
    printed, center = symmetric(values(report.tensor)), values(report.center)
    if products == "positive":
        printed = np.where(np.eye(3) > 0, printed, -printed)
    mass = float(report.mass.value)
    if report.at_center is None:
        printed = printed - mass * (center @ center * np.eye(3) - np.outer(center, center))
    found = from_com(mass, center, printed)
    return frozen(transformed(found, frame) if frame is not None else found, (10,), "parameters", CadError)


def _declared(report: MassReport) -> tuple[Products | None, str]:
    if report.stated is not None:
        return report.stated, f"the report states in line {report.stated_line}"
    return report.documented, f"{report.documented_by} say" if report.documented else ""


def _strongest(against: list[tuple[str, float, str]]) -> str:
    return max(against, key=lambda a: a[1])[2]


def _refuted(decision: Decision, products: Products) -> str:
    """Return the strongest evidence against a sign, in the reading that names the points rightly where there is one."""
    ranked = sorted((r for r in decision.readings if r.products == products), key=lambda r: not r.as_named)
    return _strongest(list(ranked[0].against))


def _refuted_point(decision: Decision, as_named: bool) -> str:
    of = [a for r in decision.readings if r.as_named is as_named for a in r.against]
    plain = [a for a in of if a[0] in ("xx", "yy", "zz", "matter", "moments")]  # products tell less of the point
    return _strongest(plain or of)


def _least_bad(decision: Decision) -> str:
    named = [r for r in decision.readings if r.as_named]
    return _strongest(list(min(named, key=lambda r: sum(a[1] for a in r.against)).against))


def _why_undecided(report: MassReport) -> str:
    if report.at_center is None or report.at_origin is None:
        what = "only one tensor is given" + ("" if report.moments else ", and no principal moments")
        return f"{what}, and both signs are possible within rounding"
    shift, factor, unit = _steiner(report), float(report.tensor[0].factor), report.tensor[0].unit
    entry = max(("xy", "xz", "yz"), key=lambda e: abs(shift[e].lo + shift[e].hi))
    k = ENTRIES.index(entry)
    blur = float(report.at_center[k].half + report.at_origin[k].half) / factor
    a, b = entry[0], entry[1]
    return (
        f"the largest shift, m {a} {b} of {_shown(-shift[entry], factor)} {unit}, drowns in the rounding of {blur:.2g}"
    )


# ---- findings ------------------------------------------------------------------------------------------------------


def examine(report: MassReport) -> tuple[Finding, ...]:
    """Return what the report tells about its own conventions and numbers, in a fixed order."""
    decision = decide(report)
    return (
        *_blocks(report, decision),
        _products(report, decision),
        *_notation(report, decision),
        _point(report, decision),
        _body(report, decision),
        *_density(report),
        _gyration(report),
        *_remarks(report),
    )


def examine_together(reports: Mapping[str, MassReport]) -> tuple[Finding, ...]:
    """Return what the reports of several links, by the link's name, tell only when seen side by side."""
    found = []
    own = {link: r.frame for link, r in reports.items() if r.frame is not None}
    default = [link for link, frame in own.items() if frame.lower() in ("default", "默认")]
    named = [f"{link} in '{frame}'" for link, frame in own.items() if link not in default]
    for link, r in reports.items():
        other = next((x for x in reports if x.lower() == _part(r.name) and x != link), None)
        if other is not None and _part(r.name) != link.lower():
            text = f"which is the name of another link; is it the report of {other}, saved under the wrong name?"
            found.append(Finding("links", "problem", f"the report of {link} is about '{r.name}'", text))
    if default and named:
        text = f"the others are not ({', '.join(named)}); ask whether it is the link's own frame"
        found.append(Finding("output frames", "undecided", f"{', '.join(default)} printed in the default frame", text))
    for link, frame in own.items():
        if frame in reports and frame != link:
            text = "which has the name of another link; print it in its own frame, or give the frame's pose"
            found.append(Finding("output frames", "problem", f"{link} printed in the frame '{frame}'", text))
    for frame in dict.fromkeys(own[link] for link in own if link not in default):
        links = [link for link in own if own[link] == frame]
        if len(links) > 1 and frame not in reports:
            what = f"{' and '.join(links)} printed in the same frame '{frame}'"
            found.append(Finding("output frames", "undecided", what, "two links have two frames; ask whose it is"))
    alike: dict[tuple[str, ...], list[str]] = {}
    for link, r in reports.items():
        alike.setdefault(tuple(n.text for n in r.numbers()), []).append(link)
    for links in alike.values():
        if len(links) > 1:
            what = f"{' and '.join(links)} print the same numbers"
            found.append(Finding("links", "undecided", what, "equal parts, or one report saved under several names"))
    return tuple(found)


def _part(name: str) -> str:
    """Return a part's name in small letters, without the ending of SolidWorks' files."""
    return re.sub(r"\.sld(?:prt|asm)$", "", name.strip().lower())


def _blocks(report: MassReport, decision: Decision) -> list[Finding]:
    given = [
        name
        for name, block in (
            ("tensor at the centre", report.at_center),
            ("tensor at the output frame", report.at_origin),
            ("principal moments", report.moments),
            ("principal axes", report.axes),
        )
        if block is not None
    ]
    if decision.contradictory:
        return [Finding("blocks", "problem", "contradict one another", _least_bad(decision) + _ratio(report))]
    if len(given) == 1:
        return [Finding("blocks", "undecided", UNDECIDED, f"only the {given[0]} is given, nothing to compare it with")]
    return [Finding("blocks", "agrees", "agree within rounding", ", ".join(given) + ", mass and centre")]


def _contradiction(report: MassReport, decision: Decision) -> CadError:
    fix = "Print it again"
    if report.mass.overridden or report.center[0].overridden:
        fix = "Take off in the CAD program what a user set, print it again, and bound the fit by the weighed mass"
    problem = f"its numbers contradict one another: {_least_bad(decision)}{_ratio(report)}"
    return CadError(problem, file=report.source, fix=fix)


def _ratio(report: MassReport) -> str:
    """Return how the printed shift of the moments compares with the one that mass and centre make, when far off."""
    if report.at_center is None or report.at_origin is None:
        return ""
    shift = np.array([(r.lo + r.hi) / 2 for e, r in _steiner(report).items() if e[0] == e[1]])
    printed = (values(report.at_origin) - values(report.at_center))[[0, 3, 5]]
    ratio = float(printed @ shift / (shift @ shift)) if shift.any() else 1.0
    if abs(ratio - 1) < 0.01:
        return ""
    if report.mass.overridden and np.allclose(printed, ratio * shift, rtol=0, atol=0.01 * abs(ratio) * shift.max()):
        mass, unit = ratio * float(report.mass.value / report.mass.factor), report.mass.unit
        where = f"a user set the mass (line {report.mass.line})"
        return f"; the tensors are those of a body of {mass:.5g} {unit}, and {where}"
    return f"; the two tensors differ by {ratio:.6g} times what mass and centre make: ask for their units and points"


def _products(report: MassReport, decision: Decision) -> Finding:
    line = report.tensor[1].line
    if decision.contradictory:
        return Finding("products", "undecided", UNDECIDED, "the numbers contradict one another under both signs", line)
    if decision.products is None:
        return Finding("products", "undecided", UNDECIDED, _why_undecided(report), line)
    other: Products = "tensor" if decision.products == "positive" else "positive"
    slope = _slope(report)
    evidence = f"were they {SAID[other].split(' (')[0]}, {_refuted(decision, other)}"
    return Finding("products", "decided", SAID[decision.products], evidence + slope, line)


def _slope(report: MassReport) -> str:
    """Return the slope of (I_O - I_C) over m x y for the products, +1 for positive ones, -1 for entries of a tensor."""
    if report.at_center is None or report.at_origin is None:
        return ""
    x, y, z = values(report.center)
    expected = float(report.mass.value) * np.array([x * y, x * z, y * z])
    if not expected.any():
        return ""
    printed = (values(report.at_origin) - values(report.at_center))[[1, 2, 4]]
    return f"; the slope over m x y, m x z, m y z is {float(printed @ expected / (expected @ expected)):+.4f}"


def _notation(report: MassReport, decision: Decision) -> list[Finding]:
    declared, where = _declared(report)
    if declared is None:
        return []
    about = "notation text" if report.stated else "documented sign"
    if decision.products is None:
        return [Finding(about, "note", SAID[declared], f"{where} so; the numbers do not check it", report.stated_line)]
    if decision.products == declared:
        return [Finding(about, "agrees", SAID[declared], f"{where} so, and the numbers agree", report.stated_line)]
    evidence = f"{where} so, and the numbers refute it: {_refuted(decision, declared)}"
    return [Finding(about, "problem", f"not {SAID[declared]}", evidence, report.stated_line)]


def _point(report: MassReport, decision: Decision) -> Finding:
    line = report.tensor[0].line
    if decision.as_named is None:
        if decision.contradictory:
            why = "the numbers contradict one another about both points"
        elif report.at_center is not None and report.at_origin is not None:
            why = "the tensors are equal within rounding"
        else:
            why = "a body could exist about either point"
        return Finding("point", "undecided", UNDECIDED, f"{why}; the report names it", line)
    if decision.as_named:
        evidence = f"were it otherwise, {_refuted_point(decision, False)}"
        return Finding("point", "decided", "the tensors are about the points that the report names", evidence, line)
    evidence = f"as named, {_refuted_point(decision, True)}"
    return Finding("point", "problem", "the tensors are not about the points that the report names", evidence, line)


def _body(report: MassReport, decision: Decision) -> Finding:
    """Say whether the body can exist, within rounding, as the report names its points."""
    named = [r for r in decision.readings if r.as_named and decision.products in (None, r.products)]
    matter = [[a for a in r.against if a[0] == "matter"] for r in named]
    line = report.tensor[0].line
    if all(matter):
        return Finding("body", "problem", "cannot exist", matter[0][0][2], line)
    sign = next(r.products for r, m in zip(named, matter, strict=True) if not m)
    mass, _, inertia = _com(report, sign)
    a, b, c = np.linalg.eigvalsh(inertia) / float(report.tensor[0].factor)
    text = f"{a:.6g} + {b:.6g} against {c:.6g} {report.tensor[0].unit}"
    within = "" if a + b >= c and a >= 0 else ", within the rounding of the digits"
    return Finding("body", "agrees", f"can exist{within}", f"principal moments {text}, mass {mass:.6g} kg", line)


def _com(report: MassReport, sign: Products) -> tuple[float, Array, Array]:
    """Return mass, centre and tensor about it, read with a sign and as the points are named."""
    printed, c, mass = symmetric(values(report.tensor)), values(report.center), float(report.mass.value)
    if sign == "positive":
        printed = np.where(np.eye(3) > 0, printed, -printed)
    if report.at_center is None:
        return mass, c, printed - mass * (c @ c * np.eye(3) - np.outer(c, c))
    return mass, c, printed


def _density(report: MassReport) -> list[Finding]:
    """Compare mass over volume with the printed density, and with those of materials."""
    found = []
    volume = None if report.volume is None else _range(report.volume)
    if report.volume is not None and volume is not None and volume.lo > 0:
        mass = _range(report.mass)
        low, high = mass.lo / volume.hi, mass.hi / volume.lo
        middle = float(report.mass.value / report.volume.value)
        text = f"mass over volume is {middle:.5g} kg/m^3"
        if report.density is not None and not _Range(low, high).meets(_range(report.density)):
            hint = " (the mass is overridden)" if report.mass.overridden else ""
            printed = float(report.density.value)
            text += f", the density is printed as {printed:.5g} kg/m^3{hint}"
            what = "mass, volume and density contradict one another"
            found.append(Finding("density", "problem", what, text, report.density.line))
        elif high < DENSITIES[0] or low > DENSITIES[1]:
            evidence = f"{text}, and materials have {DENSITIES[0]:g} to {DENSITIES[1]:g}; ask for the units of both"
            found.append(Finding("density", "problem", f"{middle:.5g} kg/m^3 is no material's", evidence))
        elif report.program == "SolidWorks" and low <= UNASSIGNED <= high < 1.01 * low:
            evidence = f"{text}, which SolidWorks takes where no material is assigned; ask what the part is made of"
            found.append(Finding("density", "undecided", f"{UNASSIGNED:g} kg/m^3", evidence))
        else:
            found.append(Finding("density", "agrees", f"{middle:.5g} kg/m^3", text + " and could be a material's"))
        named = [x for word, x in MATERIALS.items() if re.search(word, report.material, re.IGNORECASE)]
        if len(named) == 1 and (high < named[0][0] or low > named[0][1]):
            hint = " (the mass is overridden)" if report.mass.overridden else ""
            has = f"{middle:.5g} kg/m^3{hint}, and {report.material} has {named[0][0]:g} to {named[0][1]:g}"
            found.append(Finding("material", "problem", f"the density is not that of {report.material}", has))
    return found


def _gyration(report: MassReport) -> Finding:
    """Compare sqrt(I / m) with what volume and surface allow, or with the size of links where these are not given.

    A uniform body has integral of r^2 dm >= 3/5 m R^2 with R of the sphere of its volume. A wire of volume V and area A
    is A^2 / (4 pi V) long, and no connected body of them is much longer. In a bounding box, no mass is farther from the
    centre of mass, in the mean of squares, than half its diagonal.
    """
    mass, _, inertia = _com(report, decide(report).products or "tensor")
    k = math.sqrt(max(float(np.trace(inertia)), 0.0) / 2 / mass)
    about, line = "radius of gyration", report.tensor[0].line
    low, high, of = *GYRATION, "links of robots"
    if report.volume is not None and report.volume.value > 0:
        v = float(report.volume.value)
        low, of = 0.5 * math.sqrt(0.6) * (3 * v / (4 * math.pi)) ** (1 / 3), "a body of its volume"
        if report.area is not None and report.area.value > 0:
            high = 2 * float(report.area.value) ** 2 / (4 * math.pi * v)
            of = "a body of its volume and surface"
    if report.box is not None:
        diagonal = math.sqrt(sum(float(edge.value + edge.half) ** 2 for edge in report.box))
        if diagonal / 2 < high:
            high, of = diagonal / 2, "a body in its bounding box"
            low = min(low, high)
    text = f"sqrt(I / m) is {k:.4g} m, for {of} it is {low:.2g} to {high:.2g} m"
    if low <= k <= high:
        return Finding(about, "agrees", f"{k:.4g} m", text, line)
    middle = math.sqrt(low * high)
    power = 3 * round(math.log10((middle / k) ** 2) / 3) if k > 0 else 0
    hint = (
        f"; with moments of inertia 1e{power} times as large it would be {k * 10 ** (power / 2):.3g} m" if power else ""
    )
    return Finding(about, "problem", "ask for the unit of the moments of inertia", text + hint, line)


def _remarks(report: MassReport) -> list[Finding]:
    found = []
    over = {"mass": report.mass, "centre": report.center[0], "density": report.density, "volume": report.volume}
    names = [name for name, n in over.items() if n is not None and n.overridden]
    if names:
        text = "the tensors may belong to other values: the CAD program computed them, or scaled them, by its own rule"
        found.append(Finding("overridden", "note", f"{' and '.join(names)} set by a user", text))
    if report.frame is not None:
        text = "centre and tensors are along and about this frame; give its pose in the link's frame if it is another"
        found.append(Finding("output frame", "note", f"'{report.frame}'", text))
    missing = [
        name
        for name, block in (
            ("principal moments", report.moments),
            ("tensor at the centre", report.at_center),
            ("tensor at the output frame", report.at_origin),
        )
        if block is None and report.program == "SolidWorks"
    ]
    if missing:
        text = "SolidWorks prints them; the report may be cut off"
        found.append(Finding("missing", "undecided", f"no {' and no '.join(missing)}", text))
    for note in report.notes:
        if re.search(r"^\*.*(?:hidden|隐藏)", note):
            text = "hidden parts are counted in; they must belong to the link"
            found.append(Finding("hidden parts", "note", f"'{note.strip('* ')}'", text))
        elif note.startswith("*"):
            found.append(Finding("note", "note", f"'{note.strip('* ')}'", "printed by the CAD program"))
    return found
