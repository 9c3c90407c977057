"""The demo's mass-property reports: they are the script's, and they read back to the table that they were made from."""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from typer.testing import CliRunner

from ident.cad import decide, examine_together, read_cad, read_sheet, read_sheets
from ident.cad.sheets.sheet import half_widths, values
from ident.cli.cad import app
from ident.errors import CadError
from ident.pipelines import cad_tables
from ident.robot import read_robot
from ident.spatial.inertia import from_com, tensor, to_com

ROOT = Path(__file__).parents[1]
ARM5 = ROOT / "datasets" / "arm5"
REPORTS = ARM5 / "reports"
LINKS = ("link1", "link2", "link3", "link4", "link5")
ROBOT = read_robot(ARM5 / "robot.toml")
TABLE = read_cad(ARM5 / "cad_solidworks.csv", ROBOT.links)


def _script():
    spec = importlib.util.spec_from_file_location("arm5_reports", ROOT / "experiments" / "arm5" / "make_reports.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


script = _script()


@pytest.mark.parametrize("link", LINKS)
def test_the_files_hold_what_the_script_gives(link):
    assert (REPORTS / f"{link}.txt").read_text(encoding="utf-8") == script.report(link, script.bodies()[link])


@pytest.mark.parametrize("link", ["link1", "link2"])
def test_right_reports_read_back_exactly_to_the_published_table(link):
    row = next(r for r in TABLE.table.rows if r.link == link)
    sheet = read_sheet(REPORTS / f"{link}.txt")
    milli, micro = Fraction(1, 1000), Fraction(1, 10**6)
    m, *rest = (n.value for n in row.numbers)
    assert sheet.mass.value == m
    assert [n.value for n in sheet.center] == [milli * x for x in rest[:3]]
    xx, xy, xz, yy, yz, zz = rest[3:]
    assert [n.value for n in sheet.at_center] == [micro * x for x in (xx, -xy, -xz, yy, -yz, zz)]  # positive notation
    assert decide(sheet).products == "positive"
    assert decide(sheet).as_named


@pytest.mark.parametrize("link", LINKS)
def test_every_number_is_that_of_the_body_within_its_last_digit(link):
    sheet = read_sheet(REPORTS / f"{link}.txt")
    m, c, central = to_com(script.bodies()[link])
    sign = 1.0 if link == "link3" else -1.0
    shown = np.where(np.eye(3) > 0, 1.0, sign)
    upper = np.triu_indices(3)
    wanted = [([sheet.mass], [m]), (sheet.center, c), (sheet.at_center, (shown * central)[upper])]
    if sheet.at_origin is not None:
        wanted.append((sheet.at_origin, (shown * tensor(script.bodies()[link]))[upper]))
        wanted.append((sheet.moments, np.linalg.eigvalsh(central)))
    for numbers, true in wanted:
        assert (np.abs(values(numbers) - true) <= 1.000001 * half_widths(numbers)).all()
    assert (sheet.at_origin is None) == (link == "link3")


def test_what_is_planted_is_what_the_script_says():
    read = dict(zip(LINKS, read_sheets(REPORTS, ROBOT).inertials, strict=True))
    true = dict(zip(LINKS, TABLE.for_robot(ROBOT), strict=True))
    for link in ("link1", "link2"):
        np.testing.assert_allclose(read[link], true[link], rtol=1e-12, atol=1e-18)
    # link3: read as its notation text says, the three products have the wrong sign, and the sheet cannot tell
    (m, c, wrong), (_, _, right) = to_com(read["link3"]), to_com(true["link3"])
    np.testing.assert_allclose(wrong, np.where(np.eye(3) > 0, right, -right), rtol=1e-9, atol=1e-16)
    assert decide(read_sheet(REPORTS / "link3.txt")).products is None
    # link4: the same body seen from the base, with all joints at zero
    m, c, inertia = to_com(true["link4"])
    pose = ROBOT.poses(np.zeros(5))[3]
    turned = from_com(m, pose.rotation @ c + pose.position, pose.rotation @ inertia @ pose.rotation.T)
    np.testing.assert_allclose(read["link4"], turned, atol=6e-9)  # half a digit of 421.383 mm, times 8 g times 842 mm
    # link5: 3 g at 30 mm are missing, but for half a digit of 44.805 mm, times 33 g
    missing = true["link5"] - read["link5"]
    np.testing.assert_allclose(missing, from_com(0.003, np.array([0, 0, 0.03]), np.zeros((3, 3))), atol=2e-8)


def test_a_sign_that_the_numbers_refute_is_not_taken_from_the_user():
    with pytest.raises(CadError, match=r"link1.txt, line 26: .* the numbers refute it: Ixz at the origin"):
        read_sheets(REPORTS, ROBOT, products="tensor")
    np.testing.assert_array_equal(read_sheets(REPORTS, products="positive").inertials, read_sheets(REPORTS).inertials)


@pytest.mark.slow
@pytest.mark.usefixtures("sketched")
def test_the_reports_come_back_refined_as_one_table(tmp_path, monkeypatch):
    """That the robot file and the logs are right, a third of the work, docs/tutorials/solidworks.md is run to show."""
    monkeypatch.setattr(cad_tables, "examination", lambda *_: SimpleNamespace(causes=()))
    out = tmp_path / "out"
    done = CliRunner().invoke(
        app, ["report", str(ROOT / "experiments" / "arm5"), "--cad", str(REPORTS), "-o", str(out)]
    )
    assert done.exit_code == 0, done.output
    said = (out / "findings.txt").read_text(encoding="utf-8")
    assert sum(line.startswith("PROBLEM:") for line in said.splitlines()) == 2
    assert "PROBLEM: link3: products of inertia have the other sign" in said
    assert "link3.Ixy: -14345 -> 14345 g mm^2" in said  # with the sign of the sheets
    assert "link4.cz: 421.383 -> 0 mm" in said
    assert "PROBLEM: link4: centre and tensor are in the frame of the base at zero posture" in said
    # 3 g too little at link5: seen, but a heavier link4 would explain it nearly as well
    either = said.partition("PROBLEM, of several possible:")[2]
    assert "link5: mass is off, the other numbers are right (overridden?): the logs ask for 0.035" in either
    assert "e-17" not in said  # zeros are zeros
    assert "e-24" not in said
    true = dict(zip(LINKS, TABLE.for_robot(ROBOT), strict=True))
    refined = dict(zip(LINKS, read_cad(out / "refined.csv").for_robot(ROBOT), strict=True))
    # link4 shares the blame for what the sheet of link5 lacks: 0.5 of 3 g
    for link, share in (("link1", 0.03), ("link3", 0.03), ("link4", 0.07)):
        (m, c, inertia), (m_true, c_true, inertia_true) = to_com(refined[link]), to_com(true[link])
        assert m == pytest.approx(m_true, rel=share)
        np.testing.assert_allclose(c, c_true, atol=0.0025)
        np.testing.assert_allclose(inertia, inertia_true, atol=share * np.trace(inertia_true))
    assert 0.0345 < refined["link5"][0] < 0.0365  # 33 g in the sheet, 36 g on the robot


def test_side_by_side_the_report_in_another_frame_stands_out():
    sheets = {link: read_sheet(REPORTS / f"{link}.txt") for link in LINKS}
    (finding,) = examine_together(sheets)
    assert (finding.about, finding.verdict) == ("output frames", "undecided")
    assert "link4 printed in the default frame" in str(finding)
    assert "link5 in 'link5'" in str(finding)
    assert examine_together({"link1": sheets["link1"], "link2": sheets["link2"]}) == ()
    # one sheet under two names: its frame is another link's, and the numbers are the same
    twice = examine_together({"link1": sheets["link1"], "link2": sheets["link1"]})
    assert [f.verdict for f in twice] == ["problem", "problem", "undecided"]
    assert "the report of link2 is about 'link1'; which is the name of another link" in str(twice[0])
    assert "link2 printed in the frame 'link1'" in str(twice[1])
    assert "link1 and link2 print the same numbers" in str(twice[2])


def test_side_by_side_the_names_of_parts_and_frames_tell_a_report_in_the_wrong_place():
    sheets = {link: replace(read_sheet(REPORTS / f"{link}.txt"), frame="default") for link in LINKS}
    swapped = sheets | {"link2": sheets["link3"], "link3": replace(sheets["link2"], name="LINK2.SLDPRT")}
    assert examine_together(sheets) == ()
    found = examine_together(swapped)
    assert [f.verdict for f in found] == ["problem", "problem"]
    assert "the report of link2 is about 'link3'" in str(found[0])
    assert "the report of link3 is about 'LINK2.SLDPRT'" in str(found[1])
    (finding,) = examine_together({link: replace(r, frame="base") for link, r in list(sheets.items())[:2]})
    assert finding.verdict == "undecided"
    assert "link1 and link2 printed in the same frame 'base'" in str(finding)
