"""How the numbers of one sheet can be read: the sign of its products and the point of its tensors.

Every printed number x stands for the interval of x plus or minus half a unit of its last digit. A reading of the sheet
(which tensor is about the centre, which sign the products have) is refuted when it needs a number outside its interval:

- parallel axes: I_O - I_C = m (c.c E - c c^T), so that the products differ by + m x y when they are printed as
  +integral of x y dm and by - m x y when they are entries of the tensor;
- principal moments: they are the eigenvalues of I_C, and I_C = sum of P_k a_k a_k^T with the printed axes;
- matter: tr(I_C)/2 E - I_C is positive semidefinite: physical consistency, the body can exist (Wensing,
  Kim, Slotine, RA-L 2018).

A sign or a point is decided when all readings that are left have it; nothing else is taken as decided.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from ident.arrays import Array, frozen
from ident.cad.sheets.sheet import ENTRIES, Products, Range, Sheet, Six, half_widths, values
from ident.errors import CadError
from ident.spatial.inertia import Pose, from_com, steiner, symmetric, transformed

#: What arithmetic may add to the rounding, the CAD program's and the one here: of the largest entry of its tensors.
_ARITHMETIC = 1e-12

_SIGNS: tuple[Products, Products] = ("tensor", "positive")

#: What the two signs are called in sentences.
SAID: Mapping[str, str] = {
    "tensor": "entries of the tensor (Ixy = -integral of x y dm)",
    "positive": "positive (Ixy = +integral of x y dm)",
}

UNDECIDED = "cannot be decided from this report"


def _steiner(sheet: Sheet) -> dict[str, Range]:
    """Return what the tensor about the origin has more than the one about the centre, as tensor entries."""
    m, (x, y, z) = sheet.mass.range, (n.range for n in sheet.center)
    xx, yy, zz = x.square(), y.square(), z.square()
    return {
        "xx": m * (yy + zz), "xy": -(m * (x * y)), "xz": -(m * (x * z)),
        "yy": m * (xx + zz), "yz": -(m * (y * z)), "zz": m * (xx + yy),
    }  # fmt: skip


# ---- readings ------------------------------------------------------------------------------------------------------


#: Entry or test that refutes a reading, how far outside in units of the rounding allowed, sentence.
Refutation = tuple[str, float, str]


@dataclass(frozen=True)
class Reading:
    """One way to read a sheet: the sign of its products, whether its tensors are about the points it names, and
    `against`, what refutes it.
    """

    products: Products
    as_named: bool
    against: tuple[Refutation, ...]


def _against(
    sheet: Sheet, shift: dict[str, Range], built: dict[str, Range], products: Products, as_named: bool
) -> list[Refutation]:
    center, origin = sheet.at_center, sheet.at_origin
    if not as_named:
        center, origin = origin, center
    unit, factor = sheet.tensor[0].unit, float(sheet.tensor[0].factor)
    sign = -1 if products == "positive" else 1
    found: list[Refutation] = []
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
            given = f"the principal axes and moments give {_shown(axes, factor)} {unit} for the tensor's {entry}"
            text = f"{given}, which would be {_shown(c[entry], factor)}"
            found.append((f"axes {entry}", axes.gap(c[entry]) / width, text))
    found += _against_moments(sheet, middle, half, unit, factor)
    found += _against_matter(middle, half, unit, factor)
    return found


def _ranges(six: Six, sign: int, extra: float) -> dict[str, Range]:
    """Return the intervals of the entries of a tensor printed with this sign of its products."""
    blur = Range(-extra, extra)
    found = {e: n.range + blur for e, n in zip(ENTRIES, six, strict=True)}
    return {e: r if sign > 0 or e[0] == e[1] else -r for e, r in found.items()}


def _outside(entry: str, difference: Range, shift: Range, sign: int, unit: str, factor: float) -> tuple[float, str]:
    product = entry[0] != entry[1]
    if product and sign < 0:
        difference, shift = -difference, -shift
    moments = {"xx": "m (y^2 + z^2)", "yy": "m (x^2 + z^2)", "zz": "m (x^2 + y^2)"}
    what = moments.get(entry, f"{'+' if sign < 0 else '-'} m {entry[0]} {entry[1]}")
    width = difference.hi - difference.lo + shift.hi - shift.lo
    printed = f"I{entry} at the origin less {entry} at the centre is {_shown(difference, factor)} {unit}"
    return difference.gap(shift) / width, f"{printed}, and {what} would be {_shown(shift, factor)}"


def _shown(r: Range, factor: float) -> str:
    middle, half = (r.lo + r.hi) / 2 / factor, (r.hi - r.lo) / 2 / factor
    return f"{middle:.8g} ± {half:.2g}"


def _from_axes(sheet: Sheet) -> dict[str, Range]:
    """Return sum of P_k a_k a_k^T by entry, empty without axes.

    A multiple p of the unit matrix is taken off before and added after, which the rounding of the axes cannot blur.
    """
    if sheet.axes is None or sheet.moments is None:
        return {}
    p = float(sorted(n.value for n in sheet.moments)[1])
    middle = Range(p, p)
    moments = [n.range - middle for n in sheet.moments]
    axes = [[a.range for a in axis] for axis in sheet.axes]
    found = {}
    for entry in ENTRIES:
        i, j = "xyz".index(entry[0]), "xyz".index(entry[1])
        found[entry] = middle if i == j else Range(0.0, 0.0)
        for moment, axis in zip(moments, axes, strict=True):
            found[entry] += moment * (axis[i].square() if i == j else axis[i] * axis[j])
    return found


def _against_moments(sheet: Sheet, middle: Array, half: Array, unit: str, factor: float) -> list[Refutation]:
    """Compare the eigenvalues of I_C with the principal moments; rounding moves them by |half| at most (Weyl)."""
    if sheet.moments is None:
        return []
    printed = sorted(sheet.moments, key=lambda n: n.value)
    eigenvalues = np.linalg.eigvalsh(middle)
    exact = 1e-14 * float(np.abs(middle).max())
    allowed = float(np.linalg.norm(half, 2)) + half_widths(printed) + exact
    off = np.abs(eigenvalues - values(printed))
    k = int(np.argmax(off / allowed))
    if off[k] <= allowed[k]:
        return []
    would = f"a principal moment would be {eigenvalues[k] / factor:.10g} {unit}"
    text = f"{would}, {printed[k].text} is printed, and rounding explains {allowed[k] / factor:.2g}"
    return [("moments", float((off[k] - allowed[k]) / allowed[k]), text)]


def _against_matter(middle: Array, half: Array, unit: str, factor: float) -> list[Refutation]:
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
    the points that the sheet names. `readings`: the four readings with what refutes them.
    """

    products: Products | None
    as_named: bool | None
    readings: tuple[Reading, ...]

    @property
    def contradictory(self) -> bool:
        """Whether the numbers refute every reading."""
        return all(r.against for r in self.readings)

    def refuted(self, products: Products) -> str:
        """Return the strongest evidence against a sign, in the reading that names the points rightly if any."""
        ranked = sorted((r for r in self.readings if r.products == products), key=lambda r: not r.as_named)
        return _strongest(ranked[0].against)

    def refuted_point(self, as_named: bool) -> str:
        """Return the strongest evidence against the points, as they are named or exchanged."""
        of = [a for r in self.readings if r.as_named is as_named for a in r.against]
        plain = [a for a in of if a[0] in ("xx", "yy", "zz", "matter", "moments")]  # products tell less of the point
        return _strongest(plain or of)

    def least_bad(self) -> str:
        """Return the strongest evidence against the reading that has least against it."""
        named = [r for r in self.readings if r.as_named]
        return _strongest(min(named, key=lambda r: sum(a[1] for a in r.against)).against)


def decide(sheet: Sheet) -> Decision:
    """Return the sign and the point that all readings have which the numbers do not refute."""
    shift, built = _steiner(sheet), _from_axes(sheet)
    found = tuple(
        Reading(sign, as_named, tuple(_against(sheet, shift, built, sign, as_named)))
        for as_named in (True, False)
        for sign in _SIGNS
    )
    left = [r for r in found if not r.against]
    (sign, *signs), (point, *points) = {r.products for r in left} or (None,), {r.as_named for r in left} or (None,)
    return Decision(None if signs else sign, None if points else point, found)


def products_of(sheet: Sheet) -> Products:
    """Return the sign to read the products with: decided by the numbers, else stated in the sheet, else documented by
    the maker for its layout; "tensor" where all products are printed as 0.

    Raises CadError when none of these tells, or when what is stated is refuted by the numbers.
    """
    decision = _sound(sheet)
    said, where = declared(sheet)
    if said is not None and decision.products not in (None, said):
        problem = f"{where} that the products are {SAID[said]}, and the numbers refute it: {decision.refuted(said)}"
        fix = "Print the report again, or say which sign is meant"
        raise CadError(problem, file=sheet.source, line=sheet.stated_line, fix=fix)
    if sign := decision.products or said:
        return sign
    if not unsigned(sheet):
        return "tensor"
    problem = f"the sign of the products of inertia {UNDECIDED}: {why_undecided(sheet)}"
    which = "--products tensor where Ixy = -integral of x y dm, --products positive where it is +integral"
    fix = f'Say which, {which}: `ident cad read FOLDER --products tensor -o cad.csv`, then cad = "cad.csv"'
    raise CadError(problem, file=sheet.source, line=sheet.tensor[1].line, fix=fix)


def to_inertials(sheet: Sheet, products: Products | None = None, frame: Pose | None = None) -> Array:
    """Return the ten inertials (10,) of the body [kg, kg m, kg m^2], tensor signs, about the frame's origin.

    frame: the CAD output frame seen from the link frame; without it, the inertials are in the output frame.
    products: the sign of the printed products, where the user knows it; without it, see `products_of`.
    Raises CadError when moments are printed as zero, when the numbers contradict one another, when the sign cannot be
    told or is refuted by them, or when the tensors are not about the points that the sheet names.
    """
    moment, product = (partial(CadError, file=sheet.source, line=sheet.tensor[k].line) for k in (0, 1))
    if sheet.lost:
        problem = f"{printed_as_zero(sheet)}, and rounding hides what they are"
        raise moment(problem, fix="Print the report again with more decimals, or in smaller units")
    if products is None:
        products = products_of(sheet)
    elif products not in SAID:
        raise CadError(f"unknown word '{products}'", key="products", fix='Write "tensor" or "positive"')
    decision = _sound(sheet)
    if decision.products not in (None, products):
        refuted = f"and the numbers refute it: {decision.refuted(products)}"
        raise product(f"the products are to be read as {SAID[products]}, {refuted}", fix="Leave the sign to the report")
    if decision.as_named is False:
        problem = f"the tensors are not about the points that the report names: {decision.refuted_point(True)}"
        raise moment(problem, fix="Exchange the two, or print the report again")
    found = from_com(*central(sheet, products))
    return frozen(transformed(found, frame) if frame is not None else found, (10,), "inertials", CadError)


def printed_as_zero(sheet: Sheet) -> str:
    """Return in words which moments of inertia of a sheet are printed as zero."""
    first = sheet.tensor[0]
    return f"{', '.join(sheet.lost)} printed as {first.text} {first.unit}"


def unsigned(sheet: Sheet) -> bool:
    """Return whether nothing tells the sign of a sheet's products, and it matters: who reads it has to say."""
    undecided = decide(sheet).products is None and declared(sheet)[0] is None
    return undecided and any(sheet.tensor[k].value for k in (1, 2, 4))


def declared(sheet: Sheet) -> tuple[Products | None, str]:
    """Return the sign that the sheet states or its maker documents, and who says so."""
    if sheet.stated is not None:
        return sheet.stated, f"the report states in line {sheet.stated_line}"
    return sheet.documented, f"{sheet.documented_by} say" if sheet.documented else ""


def _strongest(against: Sequence[Refutation]) -> str:
    return max(against, key=lambda a: a[1])[2]


def why_undecided(sheet: Sheet) -> str:
    """Return why the numbers do not tell the sign of the products, in words."""
    if sheet.at_center is None or sheet.at_origin is None:
        what = "only one tensor is given" + ("" if sheet.moments else ", and no principal moments")
        return f"{what}, and both signs are possible within rounding"
    shift, factor, unit = _steiner(sheet), float(sheet.tensor[0].factor), sheet.tensor[0].unit
    entry = max(("xy", "xz", "yz"), key=lambda e: abs(shift[e].lo + shift[e].hi))
    k = ENTRIES.index(entry)
    blur = float(sheet.at_center[k].half + sheet.at_origin[k].half) / factor
    largest = f"m {entry[0]} {entry[1]} of {_shown(-shift[entry], factor)} {unit}"
    return f"the largest shift, {largest}, drowns in the rounding of {blur:.2g}"


def _sound(sheet: Sheet) -> Decision:
    """Return what the numbers decide; CadError where they contradict one another."""
    decision = decide(sheet)
    if decision.contradictory:
        fix = "Print it again"
        if sheet.mass.overridden or sheet.center[0].overridden:
            fix = "Take off in the CAD program what a user set, print it again, and bound the fit by the weighed mass"
        problem = f"its numbers contradict one another: {decision.least_bad()}{ratio_of_shifts(sheet)}"
        raise CadError(problem, file=sheet.source, fix=fix)
    return decision


def ratio_of_shifts(sheet: Sheet) -> str:
    """Return how the printed shift of the moments compares with the one that mass and centre make, when far off."""
    if sheet.at_center is None or sheet.at_origin is None:
        return ""
    shift = np.array([(r.lo + r.hi) / 2 for e, r in _steiner(sheet).items() if e[0] == e[1]])
    printed = (values(sheet.at_origin) - values(sheet.at_center))[[0, 3, 5]]
    ratio = float(printed @ shift / (shift @ shift)) if shift.any() else 1.0
    if abs(ratio - 1) < 0.01:
        return ""
    if sheet.mass.overridden and np.allclose(printed, ratio * shift, rtol=0, atol=0.01 * abs(ratio) * shift.max()):
        mass, unit = ratio * float(sheet.mass.value / sheet.mass.factor), sheet.mass.unit
        where = f"a user set the mass (line {sheet.mass.line})"
        return f"; the tensors are those of a body of {mass:.5g} {unit}, and {where}"
    return f"; the two tensors differ by {ratio:.6g} times what mass and centre make: ask for their units and points"


def central(sheet: Sheet, sign: Products) -> tuple[float, Array, Array]:
    """Return mass, centre and tensor about it, read with a sign and as the points are named."""
    printed, c, mass = symmetric(values(sheet.tensor)), values(sheet.center), float(sheet.mass.value)
    if sign == "positive":
        printed = np.where(np.eye(3) > 0, printed, -printed)
    if sheet.at_center is None:
        return mass, c, printed - steiner(mass, c)
    return mass, c, printed
