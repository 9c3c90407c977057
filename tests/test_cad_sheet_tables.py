"""Folders of reports as tables, inertials of URDF and MJCF, what tables tell, and the commands `ident cad`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np
import pytest
from sheet_corpus import Body, fixed, fusion, random_body, solidworks
from typer.testing import CliRunner

from ident.cad import SI, Cad, Convention, Printed, Row, Table, cad_of, check_cad, read_cad, write_cad
from ident.cad.read import read_inertials
from ident.cad.sheets.evidence import examine_table
from ident.cad.sheets.read import find_sheets, read_frames, read_sheets
from ident.cli.cad import app
from ident.errors import CadError
from ident.robot import read_robot
from ident.spatial.inertia import Pose, from_com, rpy, to_com, transformed

ARM5 = Path(__file__).parents[1] / "datasets" / "arm5"


def truth(body: Body) -> np.ndarray:
    return from_com(body.mass, body.center, body.inertia)


def folder_of(tmp_path: Path, bodies: dict[str, Body], **kwargs: object) -> Path:
    folder = tmp_path / "reports"
    folder.mkdir()
    for link, body in bodies.items():
        text = solidworks(body, show=fixed(6), **kwargs).text  # type: ignore[arg-type]
        (folder / f"{link}.txt").write_text(text, encoding="utf-8")
    return folder


def bodies(n: int, seed: int = 0) -> dict[str, Body]:
    rng = np.random.default_rng(seed)
    return {f"link{i}": random_body(rng) for i in range(1, n + 1)}


def test_a_folder_is_a_table_of_printed_numbers(tmp_path):
    links = bodies(11)
    cad = read_sheets(folder_of(tmp_path, links))
    assert cad.links == tuple(f"link{i}" for i in range(1, 12))  # link10 behind link9
    np.testing.assert_allclose(cad.inertials, [truth(b) for b in links.values()], rtol=1e-4, atol=1e-6)
    assert cad.table is not None
    assert cad.table.convention == Convention("kg", "mm", "kg mm^2", "center_of_mass", "positive")
    np.testing.assert_allclose(cad.inertials, [[float(x) for x in row] for row in cad.exact()], rtol=1e-12, atol=1e-15)
    assert {float(r) for row in cad.table.rounding() for r in row} == {0.5e-6}
    assert [v.status for v in check_cad(cad)] == ["possible"] * 11
    assert len(cad.sha256) == 64


def test_reports_in_several_units_layouts_and_frames_are_one_table(tmp_path):
    links = bodies(3)
    folder = folder_of(tmp_path, {"link1": links["link1"]}, language="zh", mass="g")
    (folder / "link2.txt").write_text(fusion(links["link2"], form="tabs").text)
    (folder / "link3.m_p.2").write_text(solidworks(links["link3"], notation="tensor", products="tensor").text)
    frame = Pose(rpy(0.1, 0.2, 0.3), np.array([0.1, 0.0, -0.2]))
    cad = read_sheets(folder, frames={"link2": frame})
    assert (cad.links, cad.table) == (("link1", "link2", "link3"), None)
    expected = [truth(b) for b in links.values()]
    expected[1] = transformed(expected[1], frame)
    np.testing.assert_allclose(cad.inertials, expected, rtol=1e-3, atol=1e-5)
    assert read_sheets(folder).table is None


def test_a_robot_must_have_the_links(tmp_path):
    robot = read_robot(ARM5 / "robot.toml")
    links = bodies(5)
    cad = read_sheets(folder_of(tmp_path, links), robot)
    assert cad.for_robot(robot).shape == (5, 10)
    (tmp_path / "reports" / "link5.txt").rename(tmp_path / "reports" / "link6.txt")
    with pytest.raises(CadError, match="the robot has no link 'link6'; did you mean 'link"):
        read_sheets(tmp_path / "reports", robot)


def test_folders_that_cannot_be_read(tmp_path):
    with pytest.raises(CadError, match="no such file or folder"):
        read_sheets(tmp_path / "absent")
    (tmp_path / "empty").mkdir()
    with pytest.raises(CadError, match="holds no report"):
        read_sheets(tmp_path / "empty")
    folder = folder_of(tmp_path, bodies(2))
    with pytest.raises(CadError, match="a frame is given for 'link3', which has no report; did you mean"):
        read_sheets(folder, frames={"link3": Pose.identity()})
    (folder / "link2.text").write_text("x")
    with pytest.raises(CadError, match=r"link 'link2' has a second report, the first is link2\.text"):
        find_sheets(folder)
    (folder / "link2.text").rename(folder / "link2.docx")
    with pytest.raises(CadError, match=r"link2\.docx: is no text of a report"):
        find_sheets(folder)


def test_frames_files(tmp_path):
    path = tmp_path / "frames.toml"
    path.write_text("[link1]\nposition = [0, 0, 0.1]\nrpy = [0, 0, 1.5]\n[link2]\n")
    frames = read_frames(path)
    np.testing.assert_allclose(frames["link1"].position, [0, 0, 0.1])
    np.testing.assert_allclose(frames["link1"].rotation, rpy(0, 0, 1.5))
    np.testing.assert_array_equal(frames["link2"].matrix, np.eye(4))
    for text, message in (
        ("[link1", "not valid TOML"),
        ("link1 = 3", "link1: is 3, wanted a table"),
        ("[link1]\npos = [0, 0, 0]", "link1.pos: is not a known key here; did you mean 'position'"),
        ("[link1]\nrpy = [0, 0]", "link1.rpy: has 2 entries, wanted 3 numbers"),
        ("[link1]\nrpy = [0, 0, nan]", r"link1.rpy\[3\]: is nan, wanted a finite number"),
        ("[link1]\nrpy = [0, 0, 90]", "link1.rpy: an angle is more than a turn. Write it in radians"),
    ):
        path.write_text(text)
        with pytest.raises(CadError, match=message):
            read_frames(path)
    with pytest.raises(CadError, match="cannot be read: No such file"):
        read_frames(tmp_path / "absent.toml")


MJCF = """<mujoco><worldbody>
  <body name="upper" pos="0 0 1"><joint axis="0 0 1"/>
    <inertial mass="1.5" pos="0.1 -0.2 0.3" quat="0.9 0.1 0.3 -0.2" diaginertia="0.03 0.02 0.015"/>
    <body name="plain"><geom size="0.1"/><joint axis="0 1 0"/>
      <body name="lower"><joint axis="1 0 0"/>
        <inertial mass="0.5" pos="0 0.1 0" fullinertia="0.011 0.012 0.013 0.001 -0.002 0.0015"/>
      </body></body></body></worldbody></mujoco>"""


@pytest.mark.parametrize("turn", ['quat="0.9 0.1 0.3 -0.2"', 'euler="20 -30 70"', 'xyaxes="1 2 0 0 1 1"'])
def test_mjcf_inertials_are_those_of_mujoco(turn, tmp_path):
    path = tmp_path / "arm.xml"
    text = MJCF.replace('quat="0.9 0.1 0.3 -0.2"', turn)
    path.write_text(text.replace("\n", ""))
    cad = read_inertials(path)
    assert cad.links == ("upper", "lower")
    model = mujoco.MjModel.from_xml_string(text)
    for name, parameters in zip(cad.links, cad.inertials, strict=True):
        body = model.body(name)
        r = np.zeros(9)
        mujoco.mju_quat2Mat(r, body.iquat)
        r = r.reshape(3, 3)
        oracle = from_com(float(body.mass[0]), body.ipos, r @ np.diag(body.inertia) @ r.T)
        np.testing.assert_allclose(parameters, oracle, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("<worldbody>", '<compiler balanceinertia="true"/><worldbody>', "with balanceinertia='true' MuJoCo"),
        ("<worldbody>", '<compiler inertiafromgeom="true"/><worldbody>', "with inertiafromgeom='true' MuJoCo changes"),
        ("<worldbody>", '<include file="x.xml"/><worldbody>', "<include> is not followed"),
        ("quat=", "euler=", "euler of <inertial> is .*, wanted 3 numbers"),
        ('mass="1.5"', "", "<inertial> has no mass"),
        ('mass="1.5"', 'mass="x"', "line 3: mass of <inertial> is 'x'"),
        ("0.9 0.1 0.3 -0.2", "0 0 0 0", "the orientation of <inertial> is not understood"),
        ("0.9 0.1 0.3 -0.2", "1e999 0 0 0", "quat of <inertial> is .*, wanted 4 numbers"),
        ('diaginertia="0.03 0.02 0.015"', "", "wants one of diaginertia and fullinertia"),
        ('pos="0.1 -0.2 0.3"', "", "line 3: <inertial> has no pos"),
        ('name="upper"', "", "a body with <inertial> has no name"),
        ("mujoco", "robot", "the robot has no <link>"),
        ("<inertial", "<site", "no body has an <inertial>"),
        ("</body></body>", "</body>", "line 7: the file is not well-formed XML"),
        ("fullinertia=", 'quat="1 0 0 0" fullinertia=', "line 6: fullinertia and quat exclude each other"),
    ],
)
def test_mjcf_that_is_refused(tmp_path, old, new, message):
    path = tmp_path / "arm.xml"
    assert old in MJCF
    path.write_text(MJCF.replace(old, new))
    with pytest.raises(CadError, match=message):
        read_inertials(path)


URDF = """<robot name="r"><link name="base"/><link name="tip"><inertial><origin xyz="0 0 0.1" rpy="0.3 0 0"/>
<mass value="2"/><inertia ixx="0.03" ixy="0" ixz="0" iyy="0.02" iyz="0.001" izz="0.015"/></inertial></link>
<joint name="j" type="fixed"><parent link="base"/><child link="tip"/></joint></robot>"""


def test_urdf_inertials(tmp_path):
    path = tmp_path / "arm.urdf"
    path.write_text(URDF)
    cad = read_inertials(path)
    assert cad.links == ("tip",)
    mass, center, inertia = to_com(cad.inertials[0])
    r, given = rpy(0.3, 0, 0), np.array([[0.03, 0, 0], [0, 0.02, 0.001], [0, 0.001, 0.015]])
    assert mass == 2
    np.testing.assert_allclose(center, [0, 0, 0.1])
    np.testing.assert_allclose(inertia, r @ given @ r.T, atol=1e-15)
    path.write_text("<robot name='r'><link name='base'/></robot>")
    with pytest.raises(CadError, match="no link has an <inertial>"):
        read_inertials(path)
    path.write_text("<robot")
    with pytest.raises(CadError, match="not well-formed"):
        read_inertials(path)


def test_the_seed_table_is_about_the_centre_of_mass_and_its_sign_cannot_be_decided():
    cad = read_cad(ARM5 / "cad_solidworks.csv")
    found = {f.about: f for f in examine_table(cad)}
    assert found["point"].verdict == "decided"
    assert "about the link's origin: 5 of 5 links impossible" in found["point"].evidence
    assert "about the centre of mass: 0 of 5 links impossible" in found["point"].evidence
    assert found["products"].value == "cannot be decided from this table"
    assert cad.table is not None
    misread = cad_of(replace(cad.table, convention=replace(cad.table.convention, tensor_at="link_origin")))
    assert [f.verdict for f in examine_table(misread)] == ["problem", "undecided"]
    assert examine_table(Cad(("a",), [[1, 0, 0, 0, 1, 0, 0, 1, 0, 1]])) == ()


@pytest.mark.parametrize(("scale", "doubted"), [(1.0, False), (1e6, True), (1e-6, True)])
def test_a_radius_of_gyration_of_no_link_is_doubted(scale, doubted):
    numbers = [0.5, 10, 0, 0, *(scale * x for x in (900.0, 0, 0, 1200.0, 0, 1500.0))]  # 55 mm
    row = Row("link1", tuple(Printed(f"{x:.6f}") for x in numbers))
    cad = cad_of(Table(Convention("kg", "mm", "kg mm^2", "center_of_mass", "tensor"), (row,)))
    (verdict,) = check_cad(cad)
    assert verdict.status == "possible"
    assert bool(verdict.doubts) is doubted
    assert all("ask for the unit of the moments of inertia" in d for d in verdict.doubts)


def test_tables_written_as_toml_are_read_back(tmp_path):
    cad = read_cad(ARM5 / "cad_solidworks.csv")
    assert cad.table is not None
    named = Cad(cad.links, cad.inertials, joint_values={"joint1.viscous": 0.01}, table=cad.table)
    for convention in (cad.table.convention, SI):
        write_cad(named, convention, tmp_path / "out.toml")
        back = read_cad(tmp_path / "out.toml")
        np.testing.assert_allclose(back.inertials, cad.inertials, rtol=1e-12, atol=1e-18)
        assert back.joint_values == {"joint1.viscous": 0.01}
    odd = Cad(('a "b" \\c',), cad.inertials[:1])
    write_cad(odd, SI, tmp_path / "odd.toml")
    assert read_cad(tmp_path / "odd.toml").links == odd.links
    write_cad(cad, SI, tmp_path / "out.csv")


# ---- commands ------------------------------------------------------------------------------------------------------


def run(*arguments: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, [str(a) for a in arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.stdout, result.stderr


def test_read_prints_every_number_and_writes_tables(tmp_path):
    folder = folder_of(tmp_path, bodies(2))
    code, out, _ = run("read", folder / "link1.txt")
    assert code == 0
    assert "SolidWorks (English): title 'Link_1'" in out
    assert out.count("kg mm^2") == 15
    code, out, _ = run("read", folder, "--out", tmp_path / "arm.toml")
    assert code == 0
    assert "wrote arm.toml, 2 links" in out
    np.testing.assert_allclose(read_cad(tmp_path / "arm.toml").inertials, read_sheets(folder).inertials, rtol=1e-12)
    assert run("read", folder, "--out", tmp_path / "arm.csv")[0] == 0
    assert read_cad(tmp_path / "arm.csv").links == ("link1", "link2")
    code, _, err = run("read", folder, "--out", tmp_path / "arm.xlsx")
    assert (code, "Choose .csv or .toml" in err) == (2, True)
    frames = tmp_path / "frames.toml"
    frames.write_text("[link1]\nposition = [0, 0, 1]\n")
    assert run("read", folder, "--frames", frames)[0] == 0
    assert run("read", ARM5 / "cad_solidworks.csv", "--robot", ARM5 / "robot.toml")[0] == 0
    code, _, err = run("read", ARM5 / "cad_solidworks.csv", "--products", "tensor")
    assert (code, "a table declares its own convention" in err) == (2, True)


def test_read_asks_for_a_sign_that_cannot_be_decided(tmp_path):
    body = next(iter(bodies(1).values()))
    body = replace(body, inertia=np.array([[0.010, 0.001, 0.0], [0.001, 0.011, 0.0], [0.0, 0.0, 0.012]]))
    path = tmp_path / "link1.txt"
    path.write_text(solidworks(body, notation=None, blocks=("center",)).text)
    assert run("read", path)[0] == 0
    code, _, err = run("read", path, "--out", tmp_path / "a.csv")
    assert code == 2
    assert "cannot be decided from this report" in err
    assert not (tmp_path / "a.csv").exists()
    assert run("read", path, "--out", tmp_path / "a.csv", "--products", "positive")[0] == 0
    code, _, err = run("read", path, "--out", tmp_path / "a.csv", "--products", "negative")
    assert (code, "unknown word 'negative'" in err) == (2, True)


def test_read_says_which_sign_is_documented_and_prints_no_dust_of_conversions(tmp_path):
    path = tmp_path / "link1.txt"
    path.write_text(fusion(random_body(np.random.default_rng(3)), form="equals").text)
    code, out, _ = run("read", path)
    assert code == 0
    assert "title '4711_bracket v1'" in out
    assert "products: not stated here; public Fusion 360 reports" in out
    assert "not read" not in out
    path.write_text(solidworks(random_body(np.random.default_rng(3)), hidden=True).text)
    assert "note: Includes the mass properties of one or more hidden" in run("read", path)[1]
    sheet = ARM5 / "reports" / "link3.txt"
    _, out, _ = run("read", sheet, "--out", tmp_path / "a.csv")
    assert "e-2" not in out.partition("Links in their frames")[2]


def test_check_needs_no_robot_and_finds_problems(tmp_path):
    folder = folder_of(tmp_path, bodies(2))
    code, out, _ = run("check", folder)
    assert code == 0
    assert out.count("products: positive (Ixy = +integral of x y dm); were they entries of the tensor") == 2
    assert out.splitlines()[-1] == "no problem found"
    wrong = solidworks(bodies(1)["link1"], notation="tensor").text
    (folder / "link1.txt").write_text(wrong)
    (folder / "link2.txt").write_text(wrong[: len(wrong) // 2])
    code, out, _ = run("check", folder)
    assert code == 4
    assert "PROBLEM notation text: not entries of the tensor" in out
    assert "link2.txt: PROBLEM: link2.txt, line" in out
    assert out.splitlines()[-1] == "2 problems"
    code, _, err = run("check", folder / "link2.txt")
    assert (code, "link2.txt, line" in err) == (2, True)


def test_check_of_tables_and_robots(tmp_path):
    code, out, _ = run("check", ARM5 / "cad_solidworks.csv")
    assert code == 0
    assert "products: cannot be decided from this table" in out
    path = tmp_path / "arm.urdf"
    path.write_text(URDF)
    assert run("check", path)[0] == 0
    path.write_text(URDF.replace('ixx="0.03"', 'ixx="3000"').replace('iyy="0.02"', 'iyy="3000"'))
    code, out, _ = run("check", path)
    assert code == 4
    assert "radius of gyration" in out
    (tmp_path / "arm.xml").write_text(MJCF)
    assert run("check", tmp_path / "arm.xml")[0] == 0
    assert run("check", tmp_path / "absent")[0] == 2
