"""Refined links in the form in which the table came: reports rewritten, tables, side by side, bills of materials."""

from __future__ import annotations

import csv

import numpy as np
import pytest
from random_robots import random_pair
from sheet_corpus import Body, corpus, fixed, onshape, random_body, solidworks

from ident.cad import Cad, Convention, check_cad, parse_sheet, read_cad, read_sheets, to_inertials, write_cad
from ident.cad.back_to_cad import (
    changes,
    printed,
    refined_cad,
    sheet_text,
    write_bill_of_materials,
    write_changes,
    write_intervals,
    write_reports,
)
from ident.cad.sheets.readings import decide, products_of
from ident.cad.sheets.sheet import half_widths, values
from ident.cad.table import COLUMNS
from ident.errors import CadError
from ident.report.body_figures import ellipse, link_figure
from ident.report.figures import svg_file
from ident.robot import DHJoint, from_dh
from ident.spatial.inertia import consistency, from_com, pseudo_inertia, transformed

CORPUS = list(corpus())


@pytest.mark.parametrize("k", range(0, len(CORPUS), 3))
def test_reports_are_rewritten_in_place(k):
    report = parse_sheet(CORPUS[k].text)
    rng = np.random.default_rng(k)
    try:
        products = products_of(report)
    except CadError:
        products = "positive"
    own = to_inertials(report, products)
    m = own[0] * 1.25
    c = own[1:4] / own[0] + rng.normal(0, 0.01, 3)
    central = np.linalg.norm(rng.normal(size=(3, 3))) * np.diag([1.0, 1.3, 1.7]) * own[4:].max() * 0.2
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    other = from_com(m, c, turn @ central @ turn.T)
    text = sheet_text(CORPUS[k].text, report, other, products)
    again = parse_sheet(text)
    # every line keeps its words, every number its decimals, and all blocks hold the new body within their rounding
    assert len(text.splitlines()) == len(CORPUS[k].text.splitlines())
    assert [n.line for n in again.numbers()] == [n.line for n in report.numbers()]
    assert [n.unit for n in again.numbers()] == [n.unit for n in report.numbers()]
    for a, b in zip(again.numbers(), report.numbers(), strict=True):
        assert len(a.text.rstrip("0123456789")) >= 0
        assert ("," in a.text) == ("," in b.text)
    assert float(again.mass.value) == pytest.approx(m, abs=2 * float(again.mass.half))
    np.testing.assert_array_less(np.abs(values(again.center) - c), 2 * half_widths(again.center) + 1e-15)
    full = turn @ central @ turn.T
    about = full + m * (c @ c * np.eye(3) - np.outer(c, c))
    sign = 1.0 if products == "tensor" else -1.0
    for six, tensor in ((again.at_center, full), (again.at_origin, about)):
        if six is not None:
            wanted = tensor[np.triu_indices(3)] * [1, sign, sign, 1, sign, 1]
            np.testing.assert_array_less(np.abs(values(six) - wanted), 2 * half_widths(six) + 1e-15)
    if again.moments is not None:
        np.testing.assert_allclose(
            np.sort(values(again.moments)), np.linalg.eigvalsh(full), atol=2 * half_widths(again.moments).max()
        )
    assert not decide(again).contradictory


def heavy(report, factor=1.0):
    """Return the body of a report (products as printed by `solidworks`), `factor` times as heavy."""
    return factor * to_inertials(report, "positive")


@pytest.mark.parametrize(
    ("old", "new"),
    [("-", "\u2212"), ("-", "\u2013"), ("\n", "\r\n"), ("\n", "\r"), ("\n", "\v"), (" = ", "\u00a0=\u00a0"),
     ("4", "\uff14"), ("Mass properties", "\f\nMass properties")],
)  # fmt: skip
def test_signs_and_lines_of_word_processors_come_back(old, new):
    body = random_body(np.random.default_rng(11))
    text = solidworks(body, mass="g", show=fixed(6)).text.replace(old, new)
    report = parse_sheet(text)
    again = parse_sheet(sheet_text(text, report, heavy(report, 1.5), "positive"))
    assert not decide(again).contradictory
    np.testing.assert_allclose(to_inertials(again, "positive"), heavy(report, 1.5), rtol=1e-5, atol=1e-9)


def test_equal_numbers_of_one_line_come_back_each_in_its_place():
    """An axis such as (0.000, 1.000, 0.000), whose first number stays as it is and whose third does not."""
    body = from_com(2.0, np.array([0.1, 0.0, 0.1]), np.diag([0.01, 0.02, 0.025]))
    plain = Body(2.0, np.array([0.1, 0.0, 0.1]), np.diag([0.01, 0.02, 0.025]), 1e-3, 0.1)
    text = solidworks(plain, length="m").text
    report = parse_sheet(text)
    assert sheet_text(text, report, body, "positive") == text  # axes keep their side, a zero has no sign
    turn = np.array([[1.0, 0, 0], [0, np.cos(0.3), np.sin(0.3)], [0, -np.sin(0.3), np.cos(0.3)]])
    central = turn @ np.diag([0.01, 0.02, 0.025]) @ turn.T
    again = parse_sheet(sheet_text(text, report, from_com(2.0, body[1:4] / 2.0, central), "positive"))
    axes = np.array([values(axis) for axis in again.axes])
    np.testing.assert_allclose(np.abs(axes), np.abs(turn.T), atol=5.1e-4)
    np.testing.assert_allclose(axes @ axes.T, np.eye(3), atol=2e-3)
    assert "-0.000 " not in sheet_text(text, report, from_com(2.0, body[1:4] / 2.0, central), "positive")


def test_numbers_below_their_headings_come_back():
    text = onshape(random_body(np.random.default_rng(12)), mass="g", length="mm").text
    report = parse_sheet(text)
    assert text.split("\n")[report.mass.line - 1].strip().startswith(report.mass.text)
    again = parse_sheet(sheet_text(text, report, heavy(report, 2.0), "positive"))
    assert float(again.mass.value) == pytest.approx(2 * float(report.mass.value), rel=1e-9)


def test_a_number_that_is_not_found_again_is_an_error_and_no_half_report():
    written = solidworks(random_body(np.random.default_rng(13)))
    report = parse_sheet(written.text, "arm.txt")
    with pytest.raises(CadError, match=r"arm.txt, line \d+: '.*' is not found again"):
        sheet_text(
            written.text.replace("Mass =", "Mass is").replace(written.printed["mass"], "?"),
            report,
            heavy(report),
            "positive",
        )


def test_folders_of_reports_come_back_in_their_own_frames(tmp_path):
    rng = np.random.default_rng(5)
    source = tmp_path / "reports"
    source.mkdir()
    for name in ("link1", "link2"):
        written = solidworks(random_body(rng))
        (source / f"{name}.txt").write_text(written.text, encoding="utf-8")
    from ident.spatial.inertia import Pose, rpy

    frames = {"link2": Pose(rpy(0.1, 0.2, 0.3), np.array([0.1, 0.0, -0.2]))}
    cad = read_sheets(source, frames=frames)
    heavier = Cad(cad.links, 1.1 * np.array(cad.inertials))
    files = write_reports(source, heavier, tmp_path, frames)
    assert [f.name for f in files] == ["link1.txt", "link2.txt"]
    (tmp_path / "back").mkdir()
    for f in files:
        f.rename(tmp_path / "back" / f.name)
    again = read_sheets(tmp_path / "back", frames=frames)
    np.testing.assert_allclose(again.inertials, heavier.inertials, rtol=1e-3, atol=1e-4)


def test_tables_side_by_side_and_bill_of_materials(tmp_path):
    rng = np.random.default_rng(6)
    bodies = np.array([from_com(b.mass, b.center, b.inertia) for b in (random_body(rng), random_body(rng))])
    convention = Convention("lb", "in", "lb in^2", "link_origin", "positive")
    write_cad(Cad(("a", "b"), bodies), convention, tmp_path / "cad.csv")
    cad = read_cad(tmp_path / "cad.csv")
    refined = Cad(cad.links, np.array([1.0, 1.02])[:, None] * cad.inertials)
    write_cad(refined, cad.convention, tmp_path / "refined.csv")
    again = read_cad(tmp_path / "refined.csv")
    assert again.table is not None
    assert again.table.convention == convention
    np.testing.assert_allclose(again.inertials, refined.inertials, rtol=1e-12)
    found = changes(cad, refined, {"b.m": "2 % from the logs"})
    assert [c.unit for c in found[:5]] == ["lb", "in", "in", "in", "lb in^2"]
    assert found[10].why == "2 % from the logs"
    assert found[10].given == pytest.approx(bodies[1, 0] / 0.45359237)
    for c, row in zip(found, [n for r in cad.table.rows for n in r.numbers], strict=True):
        assert c.given == pytest.approx(float(row.value), rel=1e-9, abs=1e-12)
    write_changes(found, tmp_path / "side.csv")
    rows = list(csv.DictReader((tmp_path / "side.csv").open(encoding="utf-8")))
    assert rows[10]["change"] == "+2.00 %"
    write_bill_of_materials(cad, refined, tmp_path / "bom.csv")
    bill = list(csv.reader((tmp_path / "bom.csv").open(encoding="utf-8")))
    assert bill[0][:4] == ["part", "count", "mass given [lb]", "mass refined [lb]"]
    total = (bodies[0, 0] + 1.02 * bodies[1, 0]) / 0.45359237
    assert float(bill[-1][3]) == pytest.approx(total, rel=1e-5)
    np.testing.assert_allclose(printed(bodies[0], convention)[0], bodies[0, 0] / 0.45359237)


def test_intervals_are_in_the_tables_units_and_sign_about_the_links_origin(tmp_path):
    _, robot = random_pair(np.random.default_rng(0), 1)
    body = from_com(2.0, [0.1, 0.2, 0.3], np.diag([0.1, 0.2, 0.25]))
    write_cad(
        Cad(robot.links, body[None]),
        Convention("g", "mm", "g mm^2", "center_of_mass", "positive"),
        tmp_path / "cad.csv",
    )
    cad = read_cad(tmp_path / "cad.csv")
    (link,) = robot.links
    allowed = {f"{link}.{part}": (-1.0, 2.0) for part in COLUMNS} | {f"{link}.m": (0.0, np.inf)}
    said = {f"{link}.Ixy": ("contradicted", "confirmed")}
    write_intervals(cad, robot, 1.5 * body[None], allowed, said, tmp_path / "intervals.csv")
    rows = {r["number"]: r for r in csv.DictReader((tmp_path / "intervals.csv").open(encoding="utf-8"))}
    assert list(rows) == [*COLUMNS[:4], *(f"{part} about the link's origin" for part in COLUMNS[4:])]
    rows = {name.partition(" ")[0]: row for name, row in rows.items()}
    assert (rows["m"]["lowest"], rows["m"]["highest"]) == ("0", "")
    assert (rows["cy"]["given"], rows["cy"]["lowest"], rows["cy"]["highest"]) == ("200", "-1000", "2000")
    assert (rows["Ixx"]["lowest"], rows["Ixx"]["highest"]) == ("-1e+09", "2e+09")
    assert (rows["Ixy"]["lowest"], rows["Ixy"]["highest"]) == ("-2e+09", "1e+09")  # +integral of x y dm
    assert float(rows["Ixy"]["given"]) == pytest.approx(2.0 * 0.1 * 0.2 * 1e9)
    assert float(rows["Ixy"]["corrected"]) == pytest.approx(3.0 * 0.1 * 0.2 * 1e9)
    assert (rows["Ixy"]["given is"], rows["Ixy"]["corrected is"]) == ("contradicted", "confirmed")


def test_refined_numbers_are_as_short_as_the_tables_and_can_exist(tmp_path):
    """What did not change stays as printed; a thin body at the edge gets the digits that it needs to exist."""
    rod = from_com(1.25, [0.1, 0.2, 0.3], np.diag([0.0, 0.0123456, 0.0123456]))
    (tmp_path / "cad.csv").write_text(
        '# mass = "g"\n# length = "mm"\n# inertia = "g mm^2"\n# tensor_at = "center_of_mass"\n# products = "positive"\n'
        "link,m,cx,cy,cz,Ixx,Ixy,Ixz,Iyy,Iyz,Izz\na,1000.0,1.0,2.00,3,10000,10,20.5,11000,30,12000\n"
        "b,1000,1,2,3,10000,10,20,11000,30,12000\n"
    )
    robot = from_dh("two", [DHJoint(a=0.1, link="a"), DHJoint(a=0.1, link="b")])
    cad = read_cad(tmp_path / "cad.csv")
    for k, wanted in enumerate(
        (cad.inertials[1] * 1.0123456789, rod + 1e-9 * np.array([0, 0, 0, 0, 1, 0, 0, 1, 0, 1]))
    ):
        refined = refined_cad(cad, robot, np.array([cad.inertials[0], wanted]))
        write_cad(refined, cad.convention, tmp_path / "refined.csv")
        lines = [line for line in (tmp_path / "refined.csv").read_text().splitlines() if not line.startswith("#")]
        assert lines[1] == "a,1000.0,1.0,2.0,3.0,10000.0,10.0,20.5,11000.0,30.0,12000.0"
        again = read_cad(tmp_path / "refined.csv")
        np.testing.assert_allclose(again.inertials[1], wanted, rtol=1e-4, atol=1e-9)
        assert consistency(again.inertials[1]).consistent
        if k == 0:
            assert lines[2] == "b,1012.35,1.0,2.0,3.0,10123.46,10.12,20.25,11135.8,30.37,12148.15"


def test_a_body_that_no_digits_keep_inside_grows_by_less_than_a_billionth(tmp_path):
    point = np.array([
        0.338595761944, 0.0, -0.00470267207806, 0.00216611805854,
        7.917167055920001e-05, 0.0, 0.0, 1.3857431104900008e-05, 3.0084673397e-05, 6.531423945430001e-05,
    ])  # fmt: skip
    assert consistency(point).consistent
    (tmp_path / "cad.csv").write_text(
        '# mass = "kg"\n# length = "mm"\n# inertia = "kg m^2"\n# tensor_at = "center_of_mass"\n'
        '# products = "positive"\nlink,m,cx,cy,cz,Ixx,Ixy,Ixz,Iyy,Iyz,Izz\n'
        "a,1.000,1.000,2.000,3.000,100.000,0.100,0.100,110.000,0.100,120.000\n"
    )
    cad = read_cad(tmp_path / "cad.csv")
    refined = refined_cad(cad, from_dh("one", [DHJoint(a=0.1, link="a")]), [point])
    write_cad(refined, cad.convention, tmp_path / "refined.csv")
    again = read_cad(tmp_path / "refined.csv")
    assert check_cad(again)[0].status == "possible"
    assert consistency(again.inertials[0]).consistent
    np.testing.assert_allclose(again.inertials[0], point, rtol=1e-5, atol=1e-9)


def test_fixed_bodies_are_taken_off_their_link():
    for seed in range(30):
        _, robot = random_pair(np.random.default_rng(seed), 3)
        welded = [b for b in robot.fixed if b.link >= 0 and b.inertial is not None]
        if welded:
            break
    links = (*robot.links, *(b.name for b in welded))
    rows = {b.name: b.inertial for b in welded}
    own = []
    for i in range(robot.n):
        own.append(robot.inertials[i] - sum(transformed(b.inertial, b.pose) for b in welded if b.link == i))
    cad = Cad(links, np.array([*own, *rows.values()]))
    np.testing.assert_allclose(cad.for_robot(robot), robot.inertials, atol=1e-12)
    refined = refined_cad(cad, robot, 1.05 * np.array(robot.inertials))
    np.testing.assert_allclose(refined.for_robot(robot), 1.05 * np.array(robot.inertials), rtol=1e-5, atol=2e-5)
    np.testing.assert_allclose(refined.inertials[robot.n :], cad.inertials[robot.n :], rtol=1e-14, atol=1e-16)
    with pytest.raises(CadError, match="less than the bodies fixed to it"):
        refined_cad(cad, robot, 0.01 * np.array(robot.inertials))


def test_ellipses_are_shadows_of_the_solid_ellipsoid_with_the_same_inertia():
    a, b, c = 0.3, 0.1, 0.05
    m = 2.0
    body = from_com(m, [0.5, 0.2, -0.1], m / 5 * np.diag([b * b + c * c, a * a + c * c, a * a + b * b]))
    for plane, half in {(0, 1): (a, b), (0, 2): (a, c), (1, 2): (b, c)}.items():
        around = ellipse(body, plane)
        middle = pseudo_inertia(body)[:3, 3][list(plane)] / m
        np.testing.assert_allclose(np.sum(((around - middle) / half) ** 2, axis=1), 1.0, rtol=1e-9)
    assert ellipse(from_com(1.0, np.zeros(3), np.diag([1.0, 1.0, 3.0])), (0, 1)) is None
    assert ellipse(-body, (0, 1)) is None


@pytest.mark.slow
def test_figures_of_links_name_every_source():
    body = from_com(1.0, [0.1, 0, 0], np.diag([0.01, 0.02, 0.02]))
    cube = np.array([[x, y, z] for x in (-0.1, 0.2) for y in (-0.1, 0.1) for z in (-0.1, 0.1)])
    figure = link_figure("link1", {"CAD": body, "identified": 1.1 * body, "refined": 1.05 * body}, cube)
    labels = [t.get_text() for t in figure.legends[0].get_texts()]
    assert "CAD: 1 kg" in labels
    assert "refined: 1.05 kg" in labels
    assert "identified without CAD: 1.1 kg" in labels
    assert "shape of the link" in labels
    assert len(figure.axes) == 3
    figure.canvas.draw()


@pytest.mark.slow
def test_chinese_names_get_a_font_that_has_them(monkeypatch):
    from ident.report import figures

    monkeypatch.setattr(figures, "_installed", lambda: ("WenQuanYi Zen Hei",))
    body = from_com(2.0, [0.1, 0.02, 0.01], np.diag([0.01, 0.03, 0.025]))
    figure = figures.legible(link_figure("连杆1", {"CAD": body}))
    title = figure._suptitle
    assert title.get_fontfamily() == ["DejaVu Sans", "WenQuanYi Zen Hei"]
    assert all("WenQuanYi Zen Hei" not in text.get_fontfamily() for text in figure.axes[0].get_xticklabels())
    assert "WenQuanYi Zen Hei" in svg_file(figure, "link")
