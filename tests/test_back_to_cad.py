"""Refined links in the form in which the table came, and side by side."""

from __future__ import annotations

import csv

import numpy as np
import pytest
from random_robots import random_pair
from sheet_corpus import random_body

from ident.cad import Cad, Convention, check_cad, read_cad, write_cad
from ident.cad.back_to_cad import changes, printed, refined_cad, write_changes, write_intervals
from ident.cad.table import COLUMNS
from ident.errors import CadError
from ident.report.body_figures import ellipse, link_figure
from ident.report.figures import svg_file
from ident.robot import DHJoint, from_dh
from ident.spatial.inertia import consistency, from_com, pseudo_inertia, transformed


def test_tables_side_by_side(tmp_path):
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
    title, _ = figure.texts
    assert title.get_fontfamily() == ["DejaVu Sans", "WenQuanYi Zen Hei"]
    assert all("WenQuanYi Zen Hei" not in text.get_fontfamily() for text in figure.axes[0].get_xticklabels())
    assert "WenQuanYi Zen Hei" in svg_file(figure, "link")
