"""What one sheet tells by itself, in words, and what a table of links does: conventions, contradictions, physical
consistency of the body. A declared reading is never changed by it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from ident.cad.check import GYRATION, check_cad
from ident.cad.convention import PRODUCTS, TENSOR_AT
from ident.cad.sheets.readings import (
    SAID,
    UNDECIDED,
    Decision,
    central,
    decide,
    declared,
    printed_as_zero,
    ratio_of_shifts,
    why_undecided,
)
from ident.cad.sheets.sheet import Products, Range, Sheet, values
from ident.cad.table import Cad, cad_of

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


@dataclass(frozen=True)
class Finding:
    """One answer: what it is about, its verdict, the value ("cannot be decided from this sheet" where it cannot), and
    the evidence in one sentence with numbers. `line`: where it shows, if in one place.
    """

    about: str
    verdict: Verdict
    value: str
    evidence: str
    line: int | None = None

    def __str__(self) -> str:
        """Return what it is about, its value and the evidence in one sentence."""
        return f"{self.about}: {self.value}; {self.evidence}"


def examine(sheet: Sheet) -> tuple[Finding, ...]:
    """Return what the sheet tells about its own conventions and numbers, in a fixed order."""
    decision = decide(sheet)
    return (
        *_blocks(sheet, decision),
        _products(sheet, decision),
        *_notation(sheet, decision),
        _point(sheet, decision),
        _body(sheet, decision),
        *_density(sheet),
        _gyration(sheet),
        *_remarks(sheet),
    )


def examine_together(sheets: Mapping[str, Sheet]) -> tuple[Finding, ...]:
    """Return what the sheets of several links, by the link's name, tell only when seen side by side."""
    found = []
    own = {link: r.frame for link, r in sheets.items() if r.frame is not None}
    default = [link for link, frame in own.items() if frame.lower() in ("default", "默认")]
    named = [f"{link} in '{frame}'" for link, frame in own.items() if link not in default]
    for link, r in sheets.items():
        other = next((x for x in sheets if x.lower() == _part(r.name) and x != link), None)
        if other is not None and _part(r.name) != link.lower():
            text = f"which is the name of another link; is it the report of {other}, saved under the wrong name?"
            found.append(Finding("links", "problem", f"the report of {link} is about '{r.name}'", text))
    if default and named:
        text = f"the others are not ({', '.join(named)}); ask whether it is the link's own frame"
        found.append(Finding("output frames", "undecided", f"{', '.join(default)} printed in the default frame", text))
    for link, frame in own.items():
        if frame in sheets and frame != link:
            text = "which has the name of another link; print it in its own frame, or give the frame's pose"
            found.append(Finding("output frames", "problem", f"{link} printed in the frame '{frame}'", text))
    for frame in dict.fromkeys(own[link] for link in own if link not in default):
        links = [link for link in own if own[link] == frame]
        if len(links) > 1 and frame not in sheets:
            what = f"{' and '.join(links)} printed in the same frame '{frame}'"
            found.append(Finding("output frames", "undecided", what, "two links have two frames; ask whose it is"))
    alike: dict[tuple[str, ...], list[str]] = {}
    for link, r in sheets.items():
        alike.setdefault(tuple(n.text for n in r.numbers()), []).append(link)
    for links in alike.values():
        if len(links) > 1:
            what = f"{' and '.join(links)} print the same numbers"
            found.append(Finding("links", "undecided", what, "equal parts, or one report saved under several names"))
    return tuple(found)


def _part(name: str) -> str:
    """Return a part's name in small letters, without the ending of SolidWorks' files."""
    return re.sub(r"\.sld(?:prt|asm)$", "", name.strip().lower())


def _tensors(sheet: Sheet) -> Mapping[str, object]:
    """Return what tells of the tensor by its name, None where it is not printed."""
    at = {"tensor at the centre": sheet.at_center, "tensor at the output frame": sheet.at_origin}
    return at | {"principal moments": sheet.moments, "principal axes": sheet.axes}


def _blocks(sheet: Sheet, decision: Decision) -> list[Finding]:
    given = [name for name, block in _tensors(sheet).items() if block is not None]
    if decision.contradictory:
        return [Finding("blocks", "problem", "contradict one another", decision.least_bad() + ratio_of_shifts(sheet))]
    if len(given) == 1:
        return [Finding("blocks", "undecided", UNDECIDED, f"only the {given[0]} is given, nothing to compare it with")]
    return [Finding("blocks", "agrees", "agree within rounding", ", ".join(given) + ", mass and centre")]


def _products(sheet: Sheet, decision: Decision) -> Finding:
    line = sheet.tensor[1].line
    if decision.contradictory:
        return Finding("products", "undecided", UNDECIDED, "the numbers contradict one another under both signs", line)
    if decision.products is None:
        return Finding("products", "undecided", UNDECIDED, why_undecided(sheet), line)
    other: Products = "tensor" if decision.products == "positive" else "positive"
    slope = _slope(sheet)
    evidence = f"were they {SAID[other].split(' (')[0]}, {decision.refuted(other)}"
    return Finding("products", "decided", SAID[decision.products], evidence + slope, line)


def _slope(sheet: Sheet) -> str:
    """Return the slope of (I_O - I_C) over m x y for the products, +1 for positive ones, -1 for entries of a tensor."""
    if sheet.at_center is None or sheet.at_origin is None:
        return ""
    x, y, z = values(sheet.center)
    expected = float(sheet.mass.value) * np.array([x * y, x * z, y * z])
    if not expected.any():
        return ""
    printed = (values(sheet.at_origin) - values(sheet.at_center))[[1, 2, 4]]
    return f"; the slope over m x y, m x z, m y z is {float(printed @ expected / (expected @ expected)):+.4f}"


def _notation(sheet: Sheet, decision: Decision) -> list[Finding]:
    said, where = declared(sheet)
    if said is None:
        return []
    about = "notation text" if sheet.stated else "documented sign"
    if decision.products is None:
        return [Finding(about, "note", SAID[said], f"{where} so; the numbers do not check it", sheet.stated_line)]
    if decision.products == said:
        return [Finding(about, "agrees", SAID[said], f"{where} so, and the numbers agree", sheet.stated_line)]
    evidence = f"{where} so, and the numbers refute it: {decision.refuted(said)}"
    return [Finding(about, "problem", f"not {SAID[said]}", evidence, sheet.stated_line)]


def _point(sheet: Sheet, decision: Decision) -> Finding:
    line = sheet.tensor[0].line
    if decision.as_named is None:
        if decision.contradictory:
            why = "the numbers contradict one another about both points"
        elif sheet.at_center is not None and sheet.at_origin is not None:
            why = "the tensors are equal within rounding"
        else:
            why = "a body could exist about either point"
        return Finding("point", "undecided", UNDECIDED, f"{why}; the report names it", line)
    verdict: Verdict = "decided" if decision.as_named else "problem"
    value = f"the tensors are {'' if decision.as_named else 'not '}about the points that the report names"
    other = "were it otherwise" if decision.as_named else "as named"
    return Finding("point", verdict, value, f"{other}, {decision.refuted_point(not decision.as_named)}", line)


def _body(sheet: Sheet, decision: Decision) -> Finding:
    """Say whether the body can exist, within rounding, as the sheet names its points."""
    named = [r for r in decision.readings if r.as_named and decision.products in (None, r.products)]
    matter = [[a for a in r.against if a[0] == "matter"] for r in named]
    line = sheet.tensor[0].line
    if all(matter):
        return Finding("body", "problem", "cannot exist", matter[0][0][2], line)
    sign = next(r.products for r, m in zip(named, matter, strict=True) if not m)
    mass, _, inertia = central(sheet, sign)
    a, b, c = np.linalg.eigvalsh(inertia) / float(sheet.tensor[0].factor)
    text = f"{a:.6g} + {b:.6g} against {c:.6g} {sheet.tensor[0].unit}"
    within = "" if a + b >= c and a >= 0 else ", within the rounding of the digits"
    return Finding("body", "agrees", f"can exist{within}", f"principal moments {text}, mass {mass:.6g} kg", line)


def _density(sheet: Sheet) -> list[Finding]:
    """Compare mass over volume with the printed density, and with those of materials."""
    if sheet.volume is None or sheet.volume.range.lo <= 0:
        return []
    mass, volume = sheet.mass.range, sheet.volume.range
    low, high = mass.lo / volume.hi, mass.hi / volume.lo
    middle = float(sheet.mass.value / sheet.volume.value)
    text = f"mass over volume is {middle:.5g} kg/m^3"
    hint = " (the mass is overridden)" if sheet.mass.overridden else ""
    if sheet.density is not None and not Range(low, high).meets(sheet.density.range):
        text += f", the density is printed as {float(sheet.density.value):.5g} kg/m^3{hint}"
        what = "mass, volume and density contradict one another"
        found = [Finding("density", "problem", what, text, sheet.density.line)]
    elif high < DENSITIES[0] or low > DENSITIES[1]:
        text += f", and materials have {DENSITIES[0]:g} to {DENSITIES[1]:g}; ask for the units of both"
        found = [Finding("density", "problem", f"{middle:.5g} kg/m^3 is no material's", text)]
    elif sheet.program == "SolidWorks" and low <= UNASSIGNED <= high < 1.01 * low:
        text += ", which SolidWorks takes where no material is assigned; ask what the part is made of"
        found = [Finding("density", "undecided", f"{UNASSIGNED:g} kg/m^3", text)]
    else:
        found = [Finding("density", "agrees", f"{middle:.5g} kg/m^3", text + " and could be a material's")]
    named = [x for word, x in MATERIALS.items() if re.search(word, sheet.material, re.IGNORECASE)]
    if len(named) == 1 and (high < named[0][0] or low > named[0][1]):
        has = f"{middle:.5g} kg/m^3{hint}, and {sheet.material} has {named[0][0]:g} to {named[0][1]:g}"
        found.append(Finding("material", "problem", f"the density is not that of {sheet.material}", has))
    return found


def _gyration(sheet: Sheet) -> Finding:
    """Compare sqrt(I / m) with what volume and surface allow, or with the size of links where these are not given.

    A uniform body has integral of r^2 dm >= 3/5 m R^2 with R of the sphere of its volume. A wire of volume V and area A
    is A^2 / (4 pi V) long, and no connected body of them is much longer. In a bounding box, no mass is farther from the
    centre of mass, in the mean of squares, than half its diagonal.
    """
    about, line = "radius of gyration", sheet.tensor[0].line
    if sheet.lost:
        what = f"{printed_as_zero(sheet)}, and no body has moments of zero"
        return Finding("digits", "problem", "print more decimals, or smaller units", what, line)
    mass, _, inertia = central(sheet, decide(sheet).products or "tensor")
    k = math.sqrt(max(float(np.trace(inertia)), 0.0) / 2 / mass)
    low, high, of = *GYRATION, "links of robots"
    if sheet.volume is not None and sheet.volume.value > 0:
        v = float(sheet.volume.value)
        low, of = 0.5 * math.sqrt(0.6) * (3 * v / (4 * math.pi)) ** (1 / 3), "a body of its volume"
        if sheet.area is not None and sheet.area.value > 0:
            high = 2 * float(sheet.area.value) ** 2 / (4 * math.pi * v)
            of = "a body of its volume and surface"
    if sheet.box is not None:
        diagonal = math.sqrt(sum(float(edge.value + edge.half) ** 2 for edge in sheet.box))
        if diagonal / 2 < high:
            high, of = diagonal / 2, "a body in its bounding box"
            low = min(low, high)
    text = f"sqrt(I / m) is {k:.4g} m, for {of} it is {low:.2g} to {high:.2g} m"
    if low <= k <= high:
        return Finding(about, "agrees", f"{k:.4g} m", text, line)
    middle = math.sqrt(low * high)
    power = 3 * round(math.log10((middle / k) ** 2) / 3) if k > 0 else 0
    if power:
        text += f"; with moments of inertia 1e{power} times as large it would be {k * 10 ** (power / 2):.3g} m"
    return Finding(about, "problem", "ask for the unit of the moments of inertia", text, line)


def _remarks(sheet: Sheet) -> list[Finding]:
    found = []
    over = {"mass": sheet.mass, "centre": sheet.center[0], "density": sheet.density, "volume": sheet.volume}
    names = [name for name, n in over.items() if n is not None and n.overridden]
    if names:
        text = "the tensors may belong to other values: the CAD program computed them, or scaled them, by its own rule"
        found.append(Finding("overridden", "note", f"{' and '.join(names)} set by a user", text))
    if sheet.frame is not None:
        text = "centre and tensors are along and about this frame; give its pose in the link's frame if it is another"
        found.append(Finding("output frame", "note", f"'{sheet.frame}'", text))
    printed = ("principal moments", "tensor at the centre", "tensor at the output frame")
    missing = [name for name in printed if _tensors(sheet)[name] is None and sheet.program == "SolidWorks"]
    if missing:
        text = "SolidWorks prints them; the report may be cut off"
        found.append(Finding("missing", "undecided", f"no {' and no '.join(missing)}", text))
    for note in sheet.notes:
        if re.search(r"^\*.*(?:hidden|隐藏)", note):
            text = "hidden parts are counted in; they must belong to the link"
            found.append(Finding("hidden parts", "note", f"'{note.strip('* ')}'", text))
        elif note.startswith("*"):
            found.append(Finding("note", "note", f"'{note.strip('* ')}'", "printed by the CAD program"))
    return found


_AT = {"center_of_mass": "about the centre of mass", "link_origin": "about the link's origin"}


def examine_table(cad: Cad) -> tuple[Finding, ...]:
    """Return what the numbers of a table with printed numbers tell about its declared convention.

    A reading is refuted by a link that could not exist under it, beyond the rounding of its digits.
    """
    if cad.table is None:
        return ()
    declared = cad.table.convention
    impossible: dict[tuple[str, str], list[str]] = {}
    for at in TENSOR_AT:
        for sign in PRODUCTS:
            convention = replace(declared, tensor_at=at, products=sign)  # type: ignore[arg-type]
            read = cad_of(replace(cad.table, convention=convention), cad.source)
            impossible[at, sign] = [v.link for v in check_cad(read) if v.status == "impossible"]
    left = [key for key, links in impossible.items() if not links]

    def finding(about: str, k: int, given: str, said: Mapping[str, str]) -> Finding:
        worst = {word: min(len(links) for key, links in impossible.items() if key[k] == word) for word in said}
        counts = "; ".join(f"{said[word]}: {n} of {len(cad.links)} links impossible" for word, n in worst.items())
        words = {key[k] for key in left}
        if len(words) != 1:
            return Finding(about, "undecided", UNDECIDED.replace("report", "table"), f"{counts}; declared is {given}")
        (word,) = words
        if word == given:
            return Finding(about, "decided", said[word], f"{counts}; it is declared so")
        return Finding(about, "problem", f"{said[word]}, not {said[given]} as declared", counts)

    return finding("point", 0, declared.tensor_at, _AT), finding("products", 1, declared.products, SAID)
