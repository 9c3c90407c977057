"""Robot files in TOML, paths that stay where they belong, and bytes of any kind."""

from __future__ import annotations

import contextlib
import math
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from logs_data import real_data
from seeds import cases

import ident.robot
from ident.errors import InputError, RobotError
from ident.files import data_path
from ident.robot.file import DHJoint, from_dh, read_robot
from ident.robot.robot import Limits, declared_flange, moving_frame
from ident.robot.urdf import parse_urdf, read_urdf
from ident.robot.xml import parse_xml

URDF = (
    '<?xml version="1.0"?><robot name="arm"><link name="base"/><link name="a"><inertial><mass value="1"/>'
    '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link><link name="b"/>'
    '<joint name="j" type="revolute"><parent link="base"/><child link="a"/><origin xyz="0 0 1" rpy="0 1 0"/>'
    '<axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="5" velocity="2"/></joint>'
    '<joint name="k" type="prismatic"><parent link="a"/><child link="b"/>'
    '<limit lower="-1" upper="1" effort="5" velocity="2"/></joint></robot>'
)


def examples_of_the_readme():
    text = (Path(ident.robot.__file__).parent / "README.md").read_text(encoding="utf-8")
    return re.findall(r"```toml\n(.*?)```", text, re.S)


def test_the_readmes_dh_table_is_what_it_says(tmp_path):
    (tmp_path / "arm.toml").write_text(examples_of_the_readme()[0])
    robot = read_robot(tmp_path / "arm.toml")
    assert robot.name == "arm"
    assert robot.joint_names == ("shoulder", "joint2")
    assert robot.links == ("upper_arm", "link2")
    degree = math.pi / 180
    limits = Limits(-170 * degree, 170 * degree, 120 * degree, 50.0, 400 * degree)
    expected = from_dh(
        "arm",
        [
            DHJoint(a=0.25, d=0.4, offset=math.pi / 2, sign=-1, limits=limits, name="shoulder", link="upper_arm"),
            DHJoint(alpha=math.pi / 2, theta=-math.pi / 2, kind="prismatic", limits=Limits(0.0, 0.3)),
        ],
    )
    assert robot.joints[0].limits == limits
    assert robot.joints[1].limits == Limits(0.0, 0.3)
    for q in ([0.0, 0.0], [0.3, 0.1]):
        base = np.array([[0, -1, 0, 0], [1, 0, 0, 0], [0, 0, 1, 0.1], [0, 0, 0, 1]])
        for ours, theirs in zip(robot.poses(q), expected.poses(q), strict=True):
            np.testing.assert_allclose(ours.matrix, base @ theirs.matrix, atol=1e-15)
    np.testing.assert_allclose(robot.gravity, [0, 0, 9.81], atol=1e-14)  # hanging from the ceiling
    assert robot.flange == "flange"
    link, pose = moving_frame(robot, robot.flange)
    assert (link, pose.position.tolist(), pose.rotation.tolist()) == (1, [0, 0, 0.09], np.eye(3).tolist())


def test_the_readmes_urdf_form_reads_the_tx40(tmp_path, monkeypatch):
    monkeypatch.setenv("IDENT_DATA", str(real_data()))
    (tmp_path / "tx40.toml").write_text(examples_of_the_readme()[1])
    robot = read_robot(tmp_path / "tx40.toml")
    assert robot.fingerprint() == read_urdf(real_data("staubli_tx40") / "tx40_mdh_modified.urdf").fingerprint()
    assert robot.name == "tx40"
    expected = np.diag([32.0, 32.0, 45.0, -48.0, 45.0, 32.0])
    expected[5, 4] = 32.0
    np.testing.assert_array_equal(robot.transmission.matrix, expected)
    assert robot.transmission.motors[5] == "motor_6"
    assert robot.flange == "tool0"


def test_joints_to_keep_and_a_base_of_which_one_half_is_said(tmp_path):
    (tmp_path / "arm.urdf").write_text(URDF)
    (tmp_path / "robot.toml").write_text('urdf = "arm.urdf"\nkeep = ["j*"]\n')
    assert read_robot(tmp_path / "robot.toml").joint_names == ("j",)
    table = 'convention = "mdh"\nlength = "mm"\nangle = "deg"\nbase = { %s }\n[[joint]]\n'
    for base, position, tilt in (("rpy = [90, 0, 0]", [0, 0, 0], 0.0), ("xyz = [0, 0, 500]", [0, 0, 0.5], 1.0)):
        (tmp_path / "table.toml").write_text(table % base)
        placement = read_robot(tmp_path / "table.toml").joints[0].placement
        np.testing.assert_allclose(placement.position, position, rtol=0, atol=0)
        assert placement.rotation[2, 2] == pytest.approx(tilt, abs=1e-15)


def test_a_urdf_beside_the_file_with_lock_gravity_and_matrix(tmp_path):
    (tmp_path / "arm.urdf").write_text(URDF)
    (tmp_path / "arm.toml").write_text(
        'urdf = "arm.urdf"\nlock = ["k"]\ngravity = [0, 9.81, 0]\n[transmission]\nmotors = ["m"]\nmatrix = [[-50]]\n'
    )
    robot = read_robot(tmp_path / "arm.toml")
    assert robot.joint_names == ("j",)
    assert [(b.name, b.link) for b in robot.fixed] == [("b", 0)]
    assert robot.gravity.tolist() == [0, 9.81, 0]
    assert robot.transmission.matrix.tolist() == [[-50.0]]
    assert read_robot(tmp_path / "arm.urdf").n == 2


def test_joints_are_held_where_a_table_says(tmp_path):
    text = URDF.replace('name="k" type="prismatic"', 'name="k" type="revolute"')
    (tmp_path / "arm.urdf").write_text(text)
    for unit, at in (("deg", 45.0), ("rad", np.pi / 4)):
        (tmp_path / "arm.toml").write_text(f'urdf = "arm.urdf"\nangle = "{unit}"\nlock = {{ k = {at} }}\n')
        robot = read_robot(tmp_path / "arm.toml")
        assert (robot.joint_names, robot.fixed[0].held) == (("j",), pytest.approx(np.pi / 4))
    (tmp_path / "arm.toml").write_text('urdf = "arm.urdf"\nlock = { k = 45.0 }\n')
    with pytest.raises(InputError, match="angle"):
        read_robot(tmp_path / "arm.toml")


DH = "convention = 'dh'\nlength = 'mm'\nangle = 'deg'\n{}\n[[joint]]\n[[joint]]\n"


def test_a_flange_in_the_units_of_its_file(tmp_path):
    (tmp_path / "r.toml").write_text(DH.format("flange = { name = 'tool', xyz = [300, 0, 0], rpy = [0, 0, 90] }"))
    robot = read_robot(tmp_path / "r.toml")
    link, pose = moving_frame(robot, robot.flange)
    assert (link, robot.flange) == (1, "tool")
    np.testing.assert_allclose(pose.matrix, [[0, -1, 0, 0.3], [1, 0, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]], atol=1e-15)
    (tmp_path / "r.toml").write_text(DH.format("flange = 'link2'"))
    assert read_robot(tmp_path / "r.toml").flange == "link2"
    (tmp_path / "r.toml").write_text(DH.format(""))
    with pytest.raises(InputError, match=r"the flange of 'r' is not declared.* Name its frame: link1, link2\. Or"):
        declared_flange(read_robot(tmp_path / "r.toml"))


@pytest.mark.parametrize(
    ("flange", "message"),
    [
        ("'lnk2'", "flange: no moving frame of 'r' is called 'lnk2'; did you mean 'link2'"),
        ("3", "flange: is 3, wanted a table"),
        ("{ xyz = [1, 2] }", r"flange\.xyz"),
        ("{ name = 'link1' }", r"flange\.name: 'link1' is the name of another frame"),
        ("{ xzy = [0, 0, 1] }", "did you mean 'xyz'"),
    ],
)
def test_a_flange_that_is_none(tmp_path, flange, message):
    (tmp_path / "r.toml").write_text(DH.format(f"flange = {flange}"))
    with pytest.raises(RobotError, match=message):
        read_robot(tmp_path / "r.toml")


def test_paths_stay_in_their_folder(tmp_path, monkeypatch):
    inner, data = tmp_path / "inner", tmp_path / "data"
    for folder in (inner, data):
        folder.mkdir()
        (folder / "x.urdf").write_text(URDF)
    (inner / "link.urdf").symlink_to(data / "x.urdf")
    monkeypatch.setenv("IDENT_DATA", str(data))
    assert data_path("x.urdf", inner) == inner / "x.urdf"
    assert data_path("$IDENT_DATA/x.urdf", inner) == data / "x.urdf"
    for text in (
        "../data/x.urdf",
        str(data / "x.urdf"),
        "link.urdf",
        "$IDENT_DATA/../inner/x.urdf",
        "$IDENT_DATA//etc",
    ):
        with pytest.raises(InputError, match="leads out of its folder"):
            data_path(text, inner)
    for text in ("", "x\0.urdf"):
        with pytest.raises(InputError, match="is no path"):
            data_path(text, inner)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = " + "[" * 5000, "nested too deep"),
        ("urdf = " + "9" * 5000, "not valid TOML"),
        ("name = true\nconvention = 'dh'\nlength = 'm'\nangle = 'rad'\n[[joint]]\n", "name: is true, wanted a text"),
        ("joint = 3\nconvention = 'dh'\nlength = 'm'\nangle = 'rad'\n", r"joint: is 3, wanted tables \[\[joint\]\]"),
        ("joint = [3]\nconvention = 'dh'\nlength = 'm'\nangle = 'rad'\n", r"joint\[1\]: is 3, wanted a table"),
        (
            "convention = 'dh'\nlength = 'm'\nangle = 'rad'\n[[joint]]\na = 0x" + "f" * 5000,
            r"joint\[1\].a: is a number of thousands of digits, wanted",
        ),
        (
            "convention = 'dh'\nlength = 'm'\nangle = 'rad'\n[[joint]]\na = true",
            r"joint\[1\].a: is true, wanted a number",
        ),
        (
            "convention = 'dh'\nlength = 'm'\nangle = 'rad'\n[[joint]]\na = 425\n[[joint]]\na = 392\n",
            r"joint 'joint1' is 425 m from the one before\. Are lengths in millimetres",
        ),
        (
            "convention = 'dh'\nlength = 'm'\nangle = 'rad'\ngravity = [0, 0, -9810]\n[[joint]]\n",
            r"gravity is 9810 m/s\^2, no planet's\. Give it in m/s\^2",
        ),
    ],
)
def test_unusual_toml_is_refused(tmp_path, text, message):
    (tmp_path / "r.toml").write_text(text)
    with pytest.raises(RobotError, match=message):
        read_robot(tmp_path / "r.toml")


def test_files_that_cannot_be_read_say_so(tmp_path):
    with pytest.raises(RobotError, match=r"gone\.urdf: the file cannot be read: No such file"):
        read_robot(tmp_path / "gone.urdf")
    (tmp_path / "long.toml").write_bytes(b"#" * 1_000_001)
    with pytest.raises(RobotError, match=r"long.toml: the file is larger than 1 MB"):
        read_robot(tmp_path / "long.toml")


def test_places_in_xml_are_those_of_the_bytes():
    head = "\ufeff<?xml version='1.0'?>\r\n<!-- é <a> -->\r\n"
    data = f"{head}<r  x = 'é &lt;'\r\n\ty=\"2 > 'é'\"><b/>é<c k:d='1' ></c ></r>\r\n".encode()
    root = parse_xml(data)
    b, c = root.children
    assert data[root.start : root.end] == data[len(head.encode()) :].rstrip()
    assert data[root.start : root.start_end].endswith("'é'\">".encode())
    assert (root.attributes["x"].value, root.attributes["y"].value) == ("é <", "2 > 'é'")
    assert [data[a.start : a.end] for a in root.attributes.values()] == ["é &lt;".encode(), "2 > 'é'".encode()]
    assert (root.line, root.attributes["x"].line, root.attributes["y"].line, c.line) == (3, 3, 4, 4)
    assert (data[b.start : b.end], b.empty) == (b"<b/>", True)
    assert (data[c.start : c.end], c.empty) == (b"<c k:d='1' ></c >", False)
    assert data[c.start : c.start_end] == b"<c k:d='1' >"


@settings(max_examples=cases(300), derandomize=True)
@given(cuts=st.lists(st.tuples(st.integers(0, len(URDF)), st.integers(0, 30), st.binary(max_size=8)), max_size=4))
def test_damaged_urdfs_end_in_our_own_error_or_in_a_robot(cuts):
    data = URDF.encode()
    for at, length, new in cuts:
        data = data[:at] + new + data[at + length :]
    with contextlib.suppress(RobotError):
        assert parse_urdf(data).n >= 1


WORDS = [
    "1e308",
    "-1e308",
    "1e12",
    "nan",
    "inf",
    "0",
    "-0",
    "",
    " ",
    "1_0",
    "0x1",
    "١",
    "1e-320",
    "é",
    "a",
    "base",
    "fixed",
]


@pytest.mark.slow
@settings(max_examples=cases(300), derandomize=True)
@given(data=st.data())
def test_odd_values_end_in_our_own_error_or_in_finite_numbers(data):
    values = list(re.finditer('"([^"]*)"', URDF))
    text = URDF
    for found in sorted(data.draw(st.sets(st.sampled_from(values), min_size=1, max_size=3)), key=lambda m: -m.start()):
        words = " ".join(data.draw(st.sampled_from(WORDS)) for _ in found[1].split())
        text = text[: found.start(1)] + words + text[found.end(1) :]
    try:
        robot = parse_urdf(text.encode())
    except RobotError:
        return
    for pose in robot.poses(np.zeros(robot.n)):
        assert np.isfinite(pose.matrix).all()
    assert np.isfinite(robot.inertials[[link == "a" for link in robot.links]]).all()


KEYS = [
    "name",
    "convention",
    "length",
    "angle",
    "gravity",
    "base",
    "joint",
    "transmission",
    "mounting_rpy",
    "urdf",
    "lock",
    "flange",
]
ODD = st.recursive(
    st.sampled_from(
        ["'dh'", "'m'", "'rad'", "1", "nan", "true", "''", "1979-05-27", "[0, 0, 1]", "[[1]]", "['m']", "1e999"]
    ),
    lambda inner: (
        st.lists(inner, max_size=2).map(lambda x: "[" + ", ".join(x) + "]")
        | st.dictionaries(
            st.sampled_from(["a", "name", "limits", "lower", "motors", "ratios", "coupling", "xyz", "rpy"]),
            inner,
            max_size=2,
        ).map(lambda d: "{" + ", ".join(f"{k} = {v}" for k, v in d.items()) + "}")
    ),
    max_leaves=5,
)


@settings(max_examples=cases(300), derandomize=True)
@given(table=st.dictionaries(st.sampled_from(KEYS), ODD, min_size=1, max_size=3))
def test_odd_tables_end_in_our_own_error_or_in_a_robot(table, tmp_path_factory):
    usual = {"convention": "'dh'", "length": "'m'", "angle": "'rad'", "joint": "[{}]"}
    path = tmp_path_factory.getbasetemp() / "odd.toml"
    path.write_text("\n".join(f"{k} = {v}" for k, v in (usual | table).items()))
    with contextlib.suppress(RobotError):
        assert read_robot(path).n >= 1


def test_reading_robots_needs_no_heavy_package():
    heavy = "{'pandas', 'scipy', 'numba', 'cvxpy', 'matplotlib'} & set(sys.modules)"
    code = f"import sys, ident.robot; assert not {heavy}, {heavy}"
    subprocess.run([sys.executable, "-c", code], check=True)
