"""Sign, point and contradictions of mass-property reports: decided where an independent oracle says that the digits
allow it, never wrongly; published numbers.
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from seeds import cases
from sheet_corpus import Body, corpus, creo, fixed, fusion, onshape, principal, random_body, scientific, solidworks

from ident.cad.sheets.evidence import examine
from ident.cad.sheets.read import parse_sheet
from ident.cad.sheets.readings import decide, products_of, to_inertials
from ident.cad.sheets.sheet import Number, Sheet, values
from ident.errors import CadError
from ident.pipelines.checked_cad import cad_check
from ident.spatial.inertia import Pose, rpy, symmetric, transformed

CORPUS = list(corpus())
#: A tensor [kg m^2] that is a body's with either sign of its products.
ROUND = np.array([[0.010, 0.001, -0.002], [0.001, 0.011, 0.0015], [-0.002, 0.0015, 0.012]])
SIX = ([0, 0, 0, 1, 1, 2], [0, 1, 2, 1, 2, 2])


def printed(x: float, digits: int) -> Number:
    return Number(f"{x:.{digits}f}", "kg", Fraction(1), 1)


def report_of(body: Body, digits: int, products: str, exchanged: bool, with_axes: bool, scale: float) -> Sheet:
    """A sheet of `body` in units of 1 / scale, all numbers with so many decimals."""

    def n(x: float) -> Number:
        return printed(x * scale, digits)

    sign = np.where(np.eye(3) > 0, 1, -1 if products == "positive" else 1)
    tensors = [tuple(n(x) for x in (sign * i)[SIX]) for i in (body.inertia, body.about_origin)]
    moments, axes = principal(body)
    return Sheet(
        program="SolidWorks",
        language="English",
        mass=printed(body.mass * scale, digits),
        center=tuple(printed(x, digits + 2) for x in body.center),  # type: ignore[arg-type]
        at_center=tensors[exchanged],  # type: ignore[arg-type]
        at_origin=tensors[not exchanged],  # type: ignore[arg-type]
        moments=tuple(n(p) for p in moments) if with_axes else None,  # type: ignore[arg-type]
        axes=tuple(tuple(printed(x, digits) for x in a) for a in axes) if with_axes else None,  # type: ignore[arg-type]
    )


def signs_left(r: Sheet) -> set[str]:
    """Oracle by corners in floats: the signs that the shifts of the six entries allow about either point."""
    ends = [[float(n.value - n.half), float(n.value + n.half)] for n in (r.mass, *r.center)]
    corners = np.array(list(itertools.product(*ends)))
    m, x, y, z = corners.T
    sides = [np.unique([0.0 if a <= 0 <= b else min(a * a, b * b), max(a * a, b * b)]) for a, b in ends[1:]]
    xx, yy, zz = np.array(list(itertools.product(*(s if len(s) > 1 else np.repeat(s, 2) for s in sides)))).T
    low, high = ends[0]
    diagonal = [yy + zz, xx + zz, xx + yy]
    left = set()
    for as_named, sign in itertools.product((True, False), ("tensor", "positive")):
        c, o = (r.at_center, r.at_origin) if as_named else (r.at_origin, r.at_center)
        assert c is not None
        assert o is not None
        fits = True
        for k, product in ((1, x * y), (2, x * z), (4, y * z)):
            shift = m * product * (1 if sign == "positive" else -1)
            fits &= between(o[k], c[k], shift.min(), shift.max())
        for k, square in zip((0, 3, 5), diagonal, strict=True):
            ends_k = [low * square.min(), high * square.max()]
            fits &= between(o[k], c[k], min(ends_k), max(ends_k))
        if fits:
            left.add(sign)
    return left


def between(o: Number, c: Number, low: float, high: float) -> bool:
    """Whether o - c can lie in [low, high], up to a thousandth of the rounding (so that ties do not matter)."""
    half = float(o.half + c.half)
    difference = float(o.value - c.value)
    return difference + 1.001 * half >= low and difference - 1.001 * half <= high


@pytest.mark.slow
def test_thousands_of_random_reports_are_decided_where_digits_allow_and_never_wrongly():
    rng = np.random.default_rng(11)
    decided = allowed = points = 0
    for k in range(cases(2400)):
        off = float(10 ** rng.uniform(-4, 0.5)) * (k % 40 != 0)
        body = random_body(rng, off)
        if k % 4 == 1:  # on an axis: one product at most
            body = replace(body, center=body.center * np.eye(3)[k % 3])
        digits = int(rng.integers(1, 10))
        truth, exchanged = ("tensor", "positive")[k % 2], k % 5 == 4
        sheet = report_of(body, digits, truth, exchanged, k % 3 == 0, scale=float(10 ** rng.uniform(0, 2)))
        if float(sheet.mass.value) <= 0:
            continue
        decision = decide(sheet)
        assert not decision.contradictory, (k, examine(sheet))
        assert decision.products in (None, truth), k
        assert decision.as_named in (None, not exchanged), k
        possible = signs_left(sheet)
        assert truth in possible
        if possible == {truth}:
            assert decision.products == truth, k
            allowed += 1
        decided += decision.products is not None
        points += decision.as_named is not None
    assert decided >= allowed >= cases(1000)  # the property is not empty
    assert points >= cases(1500)
    assert decided < cases(2400)


@pytest.mark.parametrize("written", CORPUS, ids=lambda w: w.name)
def test_sign_and_point_of_the_corpus(written):
    sheet = parse_sheet(written.text)
    decision = decide(sheet)
    assert decision.products in (None, written.products)
    assert decision.as_named in (None, True)
    assert not decision.contradictory
    if sheet.at_center and sheet.at_origin and signs_left(sheet) == {written.products}:
        assert decision.products == written.products
    assert not [f for f in examine(sheet) if f.verdict == "problem"]
    if written.name.startswith("solidworks"):
        assert decision.products == written.products


def published(mass, center, at_center, at_origin, unit) -> Sheet:
    def n(text: str, u: str) -> Number:
        factor = {"kg": 1, "g": Fraction(1, 1000), "mm": Fraction(1, 1000), "": 1}
        value = {"kg mm^2": Fraction(1, 10**6), "g mm^2": Fraction(1, 10**9)}.get(u) or Fraction(factor[u])
        return Number(text, u, value, 1)

    tensors = [tuple(n(t, f"{unit} mm^2") for t in block.split()) for block in (at_center, at_origin)]
    c = tuple(n(t, "mm") for t in center.split())
    return Sheet("p", "l", n(mass, unit), c, at_center=tensors[0], at_origin=tensors[1])  # type: ignore[arg-type]


#: Numbers of public sheets: a multirotor (SolidWorks, Chinese, stated positive), a knob and a motor (Fusion 360).
MULTIROTOR = published(
    "32.135", "3.942 26.556 3.941",
    "1444494.726 2261.822 -60090.172 2471063.054 2211.339 1444504.540",
    "1467656.991 5625.578 -59590.923 2472061.553 5574.990 1467666.836", "kg",
)  # fmt: skip
KNOB = published(
    "43.721", "-47.344 63.319 69.742", "5517.548 1.705 2.032 6080.789 -1.716 10728.587",
    "393467.087 131068.333 144363.928 316738.207 -193074.622 284019.488", "g",
)  # fmt: skip
MOTOR = published(
    "379.229", "-3.83152 104.733 8.51491", "2.440E+06 3.221E+04 -1.799E+04 4.456E+05 -3.243E+05 2.615E+06",
    "6.627E+06 1.844E+05 -5621.705 4.787E+05 -6.625E+05 6.780E+06", "g",
)  # fmt: skip


@pytest.mark.parametrize(("sheet", "sign"), [(MULTIROTOR, "positive"), (KNOB, "tensor"), (MOTOR, "tensor")])
def test_signs_of_published_reports(sheet, sign):
    decision = decide(sheet)
    assert (decision.products, decision.as_named) == (sign, True)
    (finding,) = [f for f in examine(sheet) if f.about == "products"]
    assert f"is {1 if sign == 'positive' else -1:+}.0000" in finding.evidence
    assert products_of(sheet) == sign


def test_principal_moments_of_the_multirotor_tell_its_sign_as_published():
    """1384409.459 against 1384400.254 kg mm^2 with the other sign (computed from the published tensor)."""
    tensor = symmetric(values(MULTIROTOR.tensor)) * 1e6
    right, wrong = (np.linalg.eigvalsh(np.where(np.eye(3) > 0, tensor, s * tensor))[0] for s in (-1, 1))
    assert right == pytest.approx(1384409.4596, abs=1e-3)
    assert wrong == pytest.approx(1384400.254, abs=1e-2)
    moments = [Number(t, "kg mm^2", Fraction(1, 10**6), 1) for t in ("1384409.459", "1504579.454", "2471073.407")]
    sheet = replace(MULTIROTOR, at_origin=None, moments=tuple(moments))
    assert decide(sheet).products == "positive"


def test_one_tensor_with_axes_tells_the_sign_one_without_does_not():
    body = random_body(np.random.default_rng(3))
    for blocks, sign in ((("principal", "center"), "positive"), (("principal", "origin"), "positive")):
        sheet = parse_sheet(solidworks(body, notation=None, blocks=blocks, show=fixed(5)).text)
        assert decide(sheet).products == sign
    body = replace(body, inertia=ROUND)
    sheet = parse_sheet(solidworks(body, notation=None, blocks=("center",), show=fixed(5)).text)
    assert decide(sheet).products is None
    with pytest.raises(CadError, match="sign of the products of inertia cannot be decided from this report"):
        to_inertials(sheet)
    found = {f.about: f for f in examine(sheet)}
    assert found["products"].value == "cannot be decided from this report"
    assert found["blocks"].verdict == "undecided"
    stated = parse_sheet(solidworks(body, blocks=("center",), show=fixed(5)).text)
    assert products_of(stated) == "positive"
    assert {f.about: f.verdict for f in examine(stated)}["notation text"] == "note"
    documented = parse_sheet(fusion(body, form="engineering", mass="kg", length="m").text)
    assert decide(documented).products is None
    assert products_of(documented) == "tensor"


def test_without_products_the_sign_does_not_matter():
    body = random_body(np.random.default_rng(3))
    aligned = Body(body.mass, np.array([0.1, 0, 0]), np.diag(np.diag(body.inertia)), body.volume, body.area)
    sheet = parse_sheet(solidworks(aligned, notation=None).text)
    assert decide(sheet).products is None
    assert products_of(sheet) == "tensor"


def test_the_user_can_say_the_sign_and_a_wrong_word_is_refused():
    body = replace(random_body(np.random.default_rng(3)), inertia=ROUND)
    sheet = parse_sheet(solidworks(body, notation=None, blocks=("center",), show=fixed(5)).text)
    tensor, positive = to_inertials(sheet, "tensor"), to_inertials(sheet, "positive")
    assert not np.allclose(tensor, positive)
    with pytest.raises(CadError, match="unknown word 'negative'"):
        to_inertials(sheet, "negative")  # type: ignore[arg-type]


@settings(max_examples=cases(30))
@given(st.integers(0, 2**32 - 1))
def test_parameters_in_the_link_frame(seed):
    rng = np.random.default_rng(seed)
    body = random_body(rng)
    frame = Pose(rpy(*rng.uniform(-3, 3, 3)), rng.normal(size=3))
    sheet = parse_sheet(solidworks(body, show=scientific(13)).text)
    in_link = to_inertials(sheet, frame=frame)
    i = body.about_origin
    truth = np.array([body.mass, *(body.mass * body.center), *i[SIX]])
    np.testing.assert_allclose(in_link, transformed(truth, frame), rtol=1e-9, atol=1e-9)
    center = frame.rotation @ body.center + frame.position
    np.testing.assert_allclose(in_link[1:4] / in_link[0], center, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("factor", [1e-6, 1e-3, 1e3, 1e6])
def test_a_wrong_unit_of_inertia_is_asked_about(factor):
    body = random_body(np.random.default_rng(4), off=0.0)
    scaled = replace(body, inertia=body.inertia * factor)
    sheet = parse_sheet(solidworks(scaled, blocks=("center",), show=scientific(6)).text)
    (found,) = [f for f in examine(sheet) if f.about == "radius of gyration"]
    if factor in (1e-6, 1e6):
        assert found.verdict == "problem"
        assert "ask for the unit" in found.value
        assert f"1e{-round(np.log10(factor))} times" in found.evidence
    else:
        assert found.verdict in ("problem", "agrees")


def test_a_wrong_unit_of_one_tensor_contradicts_the_centre():
    body = random_body(np.random.default_rng(4))
    text = solidworks(body).text.replace("*  square millimeters", "*  square MM")
    wrong = parse_sheet(solidworks(replace(body, center=body.center * 1000)).text)
    sheet = replace(wrong, center=parse_sheet(solidworks(body).text).center)
    assert "square MM" in text
    (found,) = [f for f in examine(sheet) if f.about == "blocks"]
    assert found.verdict == "problem"
    assert "differ by 1e+06 times" in found.evidence or "differ by 1.0" in found.evidence


def test_density_is_compared_with_the_printed_one_and_with_materials():
    body = random_body(np.random.default_rng(4))
    text = solidworks(body, over=("mass",), show=fixed(9)).text
    printed_mass = parse_sheet(text).mass.text
    sheet = parse_sheet(text.replace(f"= {printed_mass}", f"= {2 * float(printed_mass):.9f}"))
    (found,) = [f for f in examine(sheet) if f.about == "density"]
    assert (found.verdict, "overridden" in found.evidence) == ("problem", True)
    light = parse_sheet(solidworks(replace(body, volume=body.volume * 1000), show=fixed(9)).text)
    assert [f.verdict for f in examine(light) if f.about == "density"] == ["problem"]


def test_the_density_of_no_material_is_told_as_such():
    body = random_body(np.random.default_rng(4))
    unassigned = replace(body, volume=body.mass / 1000)
    for text, verdict in (
        (solidworks(unassigned, show=fixed(9)).text, "undecided"),
        (solidworks(replace(unassigned, volume=body.mass / 1020), show=fixed(9)).text, "agrees"),
        (fusion(unassigned).text, "agrees"),  # another program's default is another
    ):
        (found,) = [f for f in examine(parse_sheet(text)) if f.about == "density"]
        assert (found.verdict, "where no material is assigned" in str(found)) == (verdict, verdict == "undecided")


@pytest.mark.slow
def test_thin_plates_exist_within_rounding_and_impossible_bodies_do_not():
    """A plate's largest moment is the sum of the others; any rounding may push it over."""
    rng = np.random.default_rng(8)
    for k in range(60):
        a, b = rng.uniform(0.001, 0.01, 2)
        turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        plate = Body(1.5, rng.normal(size=3), turn @ np.diag([a, b, a + b]) @ turn.T, 1e-3, 0.1)
        sheet = parse_sheet(solidworks(plate, show=fixed(k % 5)).text)
        assert [f.verdict for f in examine(sheet) if f.about == "body"] == ["agrees"]
    impossible = Body(1.5, rng.normal(size=3), np.diag([0.01, 0.02, 0.05]), 1e-3, 0.1)
    found = {f.about: f for f in examine(parse_sheet(solidworks(impossible).text))}
    assert found["body"].value == "cannot exist"
    assert found["body"].verdict == found["blocks"].verdict == "problem"


def test_moments_that_are_printed_as_zero_ask_for_more_decimals():
    """In kg and m with two decimals."""
    small = Body(0.8, np.array([0.01, -0.02, 0.05]), 1e-3 * np.diag([2.0, 2.5, 1.5]), 3e-4, 0.05)
    written = solidworks(small, length="m", show=fixed(2))
    sheet = parse_sheet(written.text)
    (told,) = [f for f in examine(sheet) if f.verdict == "problem"]
    assert (told.about, told.value) == ("digits", "print more decimals, or smaller units")
    assert told.evidence.startswith("Ixx, Iyy, Izz printed as 0.00 kg m^2")
    with pytest.raises(CadError, match=r"printed as 0.00 kg m\^2, and rounding hides what they are"):
        to_inertials(sheet)


def test_contradictions_of_declared_signs_are_reported():
    body = random_body(np.random.default_rng(4))
    for text, about in (
        (solidworks(body, notation="positive", products="tensor").text, "notation text"),
        (solidworks(body, language="zh", notation="tensor", products="positive").text, "notation text"),
        (fusion(body, products="positive").text, "documented sign"),
        (creo(body, products="positive").text, "documented sign"),
    ):
        found = {f.about: f for f in examine(parse_sheet(text))}
        assert found[about].verdict == "problem"
        with pytest.raises(CadError, match="the numbers refute it"):
            to_inertials(parse_sheet(text))


def test_findings_say_what_was_printed_beside_the_numbers():
    body = random_body(np.random.default_rng(4))
    sheet = parse_sheet(solidworks(body, frame="L1FCS", hidden=True, over=("mass", "center")).text)
    sentences = [str(f) for f in examine(sheet)]
    assert any(s.startswith("output frame: 'L1FCS'") for s in sentences)
    assert any(s.startswith("hidden parts: 'Includes the mass") and "must belong to the link" in s for s in sentences)
    assert not any(s.startswith("missing") for s in sentences)
    chinese = parse_sheet(solidworks(body, language="zh", hidden=True).text)
    assert any(f.about == "hidden parts" for f in examine(chinese))
    assert any(s.startswith("overridden: mass and centre set by a user") for s in sentences)


def test_blocks_that_solidworks_would_print_are_missed():
    """A sheet cut off behind its first tensor holds whole blocks only."""
    text = solidworks(random_body(np.random.default_rng(4))).text
    cut = text[: text.rindex("Moments of inertia")]
    missing = {f.about: f for f in examine(parse_sheet(cut))}["missing"]
    assert missing.verdict == "undecided"
    assert str(missing).startswith("missing: no tensor at the output frame; SolidWorks prints them")


def test_radius_of_gyration_and_density_against_the_bounding_box_and_the_material_that_fusion_prints():
    """A cube of steel with edges of 100 mm, whose bounding box or material is another one's."""
    cube = Body(7.85, np.zeros(3), np.eye(3) * 7.85 * 0.01 / 6, 1e-3, 0.06)
    plain = fusion(cube, form="equals").text
    edges = "".join(f"\t{name} \t {{0}} mm\n" for name in ("Length", "Width", "Height"))
    text = plain.replace("\tLength \t 187.8 mm\n", edges)
    text = text.replace("Bounding Box", "Physical Material\t{1}\nBounding Box")
    sheet = parse_sheet(text.format("100.00", "Steel, Mild"))
    assert [float(n.value) for n in sheet.box] == [0.1] * 3
    assert sheet.material == "Steel, Mild"
    found = {f.about: f for f in examine(sheet)}
    assert "material" not in found
    assert found["radius of gyration"].verdict == "agrees"
    assert "for a body in its bounding box it is" in str(found["radius of gyration"])
    found = {f.about: f for f in examine(parse_sheet(text.format("40.00", "Aluminum 6061")))}
    assert found["radius of gyration"].verdict == "problem"
    assert "for a body in its bounding box it is" in str(found["radius of gyration"])
    assert found["material"].verdict == "problem"
    assert "7850 kg/m^3, and Aluminum 6061 has 2500 to 2950" in str(found["material"])
    for unknown in ("(Various)", "Aluminum Bronze", "unobtainium"):
        assert "material" not in {f.about for f in examine(parse_sheet(text.format("100.00", unknown)))}
    with pytest.raises(CadError, match="Width of the bounding box is given twice"):
        parse_sheet(text.format("100.00", "Steel").replace("Length", "Width"))


@pytest.mark.parametrize(
    ("material", "density"),
    [
        ("Alumina 99.5 %", 3900), ("Nylon 66, 50 % glass", 1570), ("Polycarbonate, 40 % glass", 1520),
        ("Delrin, 30 % glass", 1600), ("Beryllium copper", 8250), ("Iron nickel alloy (Invar)", 8100),
    ],
)  # fmt: skip
def test_kinds_of_a_material_have_its_density(material, density):
    mass = density * 1e-3
    text = fusion(Body(mass, np.zeros(3), np.eye(3) * mass * 0.01 / 6, 1e-3, 0.06), form="equals").text
    sheet = parse_sheet(text.replace("Bounding Box", f"Physical Material\t{material}\nBounding Box"))
    assert sheet.material == material
    assert "material" not in {f.about for f in examine(sheet)}


def test_a_mass_that_a_user_set_over_tensors_of_another_is_said_and_never_taken():
    body = random_body(np.random.default_rng(6))
    written = solidworks(body, mass="g", length="mm", over=("mass",))
    text = written.text.replace(f"= {written.printed['mass']} grams", f"= {1.4 * body.mass * 1000:.3f} grams")
    sheet = parse_sheet(text, "arm.txt")
    assert sheet.mass.overridden
    (problem,) = (f for f in examine(sheet) if f.about == "blocks")
    assert problem.verdict == "problem"
    assert f"the tensors are those of a body of {body.mass * 1000:.5g} g, and a user set the mass (line 7)" in str(
        problem
    )
    for products in (None, "positive", "tensor"):
        with pytest.raises(CadError, match=r"contradict one another.*Take off in the CAD program what a user set"):
            to_inertials(sheet, products)


def test_check_says_which_reports_cannot_be_read_before_their_sign_is_said(tmp_path):
    written = onshape(random_body(np.random.default_rng(1)))
    (tmp_path / "arm.txt").write_text(written.text, encoding="utf-8")
    assert cad_check(tmp_path).unsigned == ("arm",)
    (tmp_path / "arm.txt").write_text(solidworks(random_body(np.random.default_rng(1))).text, encoding="utf-8")
    assert cad_check(tmp_path).unsigned == ()
