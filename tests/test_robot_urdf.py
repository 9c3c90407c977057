"""URDF against Pinocchio: frames, merged inertias, torques, limits, on random trees and on real files."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import numpy as np
import pinocchio
import pytest
from logs_data import real_data
from random_robots import pinocchio_model, random_pair, random_robot
from seeds import cases

from ident.errors import RobotError
from ident.pipelines.checked_cad import cad_check
from ident.pipelines.checks import check
from ident.robot.file import read_robot
from ident.robot.robot import Limits, frame_poses
from ident.robot.urdf import parse_document, parse_urdf, read_joint_dynamics, read_urdf, to_robot
from ident.robot.urdf_write import write_urdf
from ident.spatial.inertia import from_com, tensor

BROKEN = Path(__file__).parent / "broken" / "robot"
EXPECTED = tomllib.loads((BROKEN / "expected.toml").read_text(encoding="utf-8"))


def check_against_pinocchio(model, robot, rng, samples=5):
    data = model.createData()
    order = np.array([model.joints[model.getJointId(j)].idx_v for j in robot.joint_names])
    for _ in range(samples):
        q = rng.uniform(-2.0, 2.0, robot.n)
        q_pin = np.zeros(model.nq)
        q_pin[order] = q
        pinocchio.framesForwardKinematics(model, data, q_pin)
        ours = frame_poses(robot, q)
        for name, pose in ours.items():
            theirs = data.oMf[model.getFrameId(name, pinocchio.FrameType.BODY)].homogeneous
            np.testing.assert_allclose(pose.matrix, theirs, rtol=0, atol=1e-12, err_msg=name)
    for joint, row in zip(robot.joint_names, robot.inertials, strict=True):
        inertia = model.inertias[model.getJointId(joint)]
        theirs = from_com(inertia.mass, inertia.lever, inertia.inertia)
        np.testing.assert_allclose(np.nan_to_num(row), theirs, rtol=0, atol=1e-12 * max(1.0, abs(theirs).max()))
    for i, joint in enumerate(robot.joints):
        at = order[i]
        assert joint.limits.lower == model.lowerPositionLimit[at]
        assert joint.limits.upper == model.upperPositionLimit[at]
        assert joint.limits.velocity == model.velocityLimit[at]
        assert joint.limits.effort == model.effortLimit[at]


@pytest.mark.parametrize("seed", range(cases(60)))
def test_random_trees_have_pinocchios_frames_and_inertias(seed):
    rng = np.random.default_rng(seed)
    text, robot = random_pair(rng, int(rng.integers(1, 13)), missing=0.3 if seed % 3 == 0 else 0.0)
    model, order = pinocchio_model(text, robot)
    assert sorted(order) == list(range(robot.n))
    check_against_pinocchio(model, robot, rng)


@pytest.mark.parametrize(
    "file", ["pendubot/planar_manip.urdf", "staubli_tx40/tx40_mdh_modified.urdf", "ur10e/ur10e.urdf"]
)
def test_real_robots_have_pinocchios_frames_and_inertias(file):
    robot = read_urdf(real_data() / file, literal_angles=True)  # as Pinocchio does
    model = pinocchio.buildModelFromXML((real_data() / file).read_text())
    check_against_pinocchio(model, robot, np.random.default_rng(1))


def test_a_link_that_weighs_only_what_is_fixed_to_it_is_said():
    own = '<inertial><mass value="0.25"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    text = (
        f'<robot name="r"><link name="a"/><link name="b"/><link name="cam">{own}</link>'
        '<joint name="j" type="continuous"><parent link="a"/><child link="b"/></joint>'
        '<joint name="weld" type="fixed"><parent link="b"/><child link="cam"/></joint></robot>'
    )
    said = "link 'b' has no inertial of its own, and weighs what is fixed to it: 0.25 kg"
    assert said in parse_urdf(text.encode()).notes
    assert said not in parse_urdf(text.replace('<link name="b"/>', f'<link name="b">{own}</link>').encode()).notes


def test_order_is_depth_first_as_the_document_lists_the_joints():
    def joint(name, parent, child, kind="continuous"):
        return f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/></joint>'

    text = (
        '<robot name="tree">'
        + "".join(f'<link name="{x}"/>' for x in "rabcdef")
        + joint("c", "b", "c")
        + joint("d", "r", "d")
        + joint("b", "a", "b")
        + joint("e", "d", "e", "fixed")
        + joint("a", "r", "a")
        + joint("f", "e", "f")
        + "</robot>"
    )
    robot = parse_urdf(text.encode())
    assert robot.base == "r"
    assert robot.joint_names == ("d", "f", "a", "b", "c")
    assert robot.parents == (-1, 0, -1, 2, 3)
    assert [(b.name, b.link) for b in robot.fixed] == [("e", 0)]
    assert np.isnan(robot.inertials).all()
    assert robot.joints[0].axis.tolist() == [1.0, 0.0, 0.0]  # the standard's default
    assert robot.joints[0].limits.upper == np.inf


@pytest.mark.parametrize("seed", range(cases(10)))
def test_locked_joints_are_the_ones_that_pinocchio_reduces(seed):
    rng = np.random.default_rng(seed)
    text = random_robot(rng, 6)
    full = pinocchio.buildModelFromXML(text)
    at = rng.uniform(-1.0, 1.0, 2)
    for lock in (["joint1", "joint4"], {"joint1": at[0], "joint4": at[1]}):
        robot = parse_urdf(text.encode(), lock=lock)
        held, q = [full.getJointId(j) for j in lock], pinocchio.neutral(full)
        for i, x in zip(held, at if isinstance(lock, dict) else (), strict=False):
            joint = full.joints[i]
            q[joint.idx_q : joint.idx_q + joint.nq] = x if joint.nq == 1 else (np.cos(x), np.sin(x))
        assert robot.n == 4
        check_against_pinocchio(pinocchio.buildReducedModel(full, held, q), robot, rng)
        same = parse_urdf(write_urdf(text.encode(), robot, robot.inertials), lock=lock)
        np.testing.assert_allclose(same.inertials, robot.inertials, rtol=0, atol=1e-11 * robot.inertials[:, 0].max())


def test_fixed_bodies_keep_their_own_inertial_and_the_base_is_not_counted():
    text, _ = random_pair(np.random.default_rng(3), 5)
    robot = parse_urdf(text.encode())
    root_mass = sum(b.inertial[0] for b in robot.fixed if b.link < 0 and b.inertial is not None)
    model = pinocchio.buildModelFromXML(text)
    everything = robot.inertials[:, 0].sum() + root_mass
    base = next(line for line in text.split("<link ") if line.startswith('name="base"'))
    if "<mass" in base:
        everything += float(base.split('<mass value="')[1].split('"')[0])
    # Pinocchio's joint 0 holds what is fixed to the root
    assert everything == pytest.approx(sum(i.mass for i in model.inertias), rel=1e-12)
    assert robot.inertials[:, 0].sum() == pytest.approx(sum(i.mass for i in list(model.inertias)[1:]), rel=1e-12)


def test_a_mimic_or_floating_joint_can_be_locked():
    robot = parse_urdf(
        b'<robot name="g"><link name="r"/><link name="a"/><link name="b"/><link name="c"/>'
        b'<joint name="j" type="continuous"><parent link="r"/><child link="a"/></joint>'
        b'<joint name="m" type="prismatic"><parent link="a"/><child link="b"/><mimic joint="j"/></joint>'
        b'<joint name="f" type="floating"><parent link="b"/><child link="c"/></joint></robot>',
        lock=["m", "f"],
    )
    assert robot.joint_names == ("j",)
    assert [(b.name, b.link) for b in robot.fixed] == [("b", 0), ("c", 0)]


def test_the_first_of_two_origins_counts_as_in_pinocchio_and_the_reader_says_so():
    text = (
        '<robot name="g"><link name="r"/><link name="a"/><joint name="j" type="revolute"><parent link="r"/>'
        '<child link="a"/><limit lower="-2" upper="2" effort="1" velocity="1"/>\n'
        '<origin xyz="1 2 3" rpy="0.1 0 0"/>\n<origin xyz="4 5 6"/></joint></robot>'
    )
    robot = parse_urdf(text.encode())
    np.testing.assert_array_equal(robot.joints[0].placement.position, [1, 2, 3])
    check_against_pinocchio(pinocchio.buildModelFromXML(text), robot, np.random.default_rng(0), samples=1)
    assert robot.notes == ("joint 'j' has 2 <origin>: the first, in line 2, counts, as in other parsers",)


def test_joints_to_lock_or_to_keep_are_given_by_name_or_pattern():
    names = ("arm_1", "arm_2", "finger[l]", "finger[r]")
    text = '<robot name="g"><link name="l0"/>' + "".join(
        f'<link name="l{i}"/><joint name="{name}" type="continuous"><parent link="l{i - 1}"/>'
        f'<child link="l{i}"/></joint>'
        for i, name in enumerate(names, start=1)
    )
    urdf = parse_document(
        (
            text
            + '<link name="t"/><joint name="weld" type="fixed"><parent link="l4"/><child link="t"/></joint></robot>'
        ).encode()
    )
    for options, left in (
        ({"lock": ["finger*"]}, names[:2]),
        ({"lock": ["finger[l]"]}, (*names[:2], names[3])),  # a name is a name first
        ({"keep": ["arm_?"]}, names[:2]),
        ({"keep": ["arm_*", "finger[[]r]"]}, (*names[:2], names[3])),
        ({"keep": "arm_2"}, ("arm_2",)),
        ({"lock": ["arm_1"], "keep": ["arm_2"]}, ("arm_2",)),
    ):
        assert to_robot(urdf, **options).joint_names == left, options
    for options, message in (
        ({"keep": ["hand_*"]}, "there is no joint 'hand_*' to keep"),
        ({"keep": ["weld"]}, "joint 'weld' cannot be kept moving: it is fixed"),
        ({"lock": ["weld*"]}, "there is no joint 'weld*' to lock; did you mean 'weld'?"),
        ({"lock": ["arm_*"], "keep": ["arm_1"]}, "joint 'arm_1' stands in lock and in keep. Leave it in one of them."),
        ({"lock": ["*"]}, "the robot has no revolute, continuous or prismatic joint that is not locked"),
    ):
        with pytest.raises(RobotError, match=re.escape(message)):
            to_robot(urdf, **options)


def test_limits_of_zero_as_exporters_write_them_are_none_and_the_reader_says_so():
    robot = parse_urdf(
        b'<robot name="g"><link name="r"/><link name="a"/><link name="b"/>'
        b'<joint name="j" type="revolute"><parent link="r"/><child link="a"/>'
        b'<limit lower="0" upper="0" effort="0" velocity="0"/></joint>'
        b'<joint name="k" type="prismatic"><parent link="a"/><child link="b"/>'
        b'<limit lower="0" upper="0.4" effort="20" velocity="1"/></joint></robot>'
    )
    assert robot.joints[0].limits == Limits()
    assert robot.joints[1].limits == Limits(0.0, 0.4, velocity=1.0, effort=20.0)
    assert robot.notes == ("limits of 1 joint are zero, and are taken as not given: 'j'",)


@pytest.mark.parametrize(
    ("soft", "allowed"),
    [
        ('soft_lower_limit="-0.5" soft_upper_limit="0.75"', (-0.5, 0.75)),
        ('soft_lower_limit="-5" soft_upper_limit="0.75"', (-1.0, 0.75)),
        ('soft_lower_limit="0" soft_upper_limit="0"', (-1.0, 1.0)),
        ("", (-1.0, 1.0)),  # the standard's defaults are zeros
    ],
)
def test_soft_limits_stand_beside_the_hard_ones(soft, allowed):
    robot = parse_urdf(
        b'<robot name="g"><link name="r"/><link name="a"/>'
        b'<joint name="j" type="revolute"><parent link="r"/><child link="a"/>'
        b'<limit lower="-1" upper="1" effort="2" velocity="1"/>'
        + f'<safety_controller k_velocity="1" {soft}/></joint></robot>'.encode()
    )
    limits = robot.joints[0].limits
    assert (limits.lower, limits.upper) == (-1.0, 1.0)
    assert limits.allowed == allowed


def test_a_mass_of_zero_is_a_number_and_not_a_missing_one():
    robot = parse_urdf(
        b'<robot name="g"><link name="r"/><link name="a"><inertial><mass value="0"/>'
        b'<inertia ixx="0" ixy="0" ixz="0" iyy="0" iyz="0" izz="0"/></inertial></link>'
        b'<joint name="j" type="continuous"><parent link="r"/><child link="a"/></joint></robot>'
    )
    assert not robot.inertials.any()
    assert np.isfinite(robot.inertials).all()


def test_a_massless_frame_is_no_impossible_body(tmp_path):
    """The second link is a frame; the first has mass, the third no <inertial>."""
    body = '<link name="l{0}">{1}</link>'
    body += '<joint name="j{0}" type="continuous"><parent link="l{2}"/><child link="l{0}"/></joint>'
    inertial = '<inertial><mass value="{0}"/>'
    inertial += '<inertia ixx="0.0{0}" ixy="0" ixz="0" iyy="0.0{0}" iyz="0" izz="0.0{0}"/></inertial>'
    links = [body.format(i + 1, inertial.format(m) if m else "", i) for i, m in enumerate(("2", "0", ""))]
    (tmp_path / "r.urdf").write_text(f'<robot name="r"><link name="l0"/>{"".join(links)}</robot>')
    found = check(tmp_path / "r.urdf")
    assert found.verdicts == ("can exist", "massless frame", "no inertial")
    assert found.problems == 0
    cad = cad_check(tmp_path / "r.urdf")
    assert "link 'l2' is a frame without mass" in [str(v) for v in cad.verdicts]
    assert cad.problems == 0


def test_a_body_that_cannot_exist_is_read_as_it_stands():
    robot = parse_urdf(
        b'<robot name="g"><link name="r"/><link name="a"><inertial><mass value="-2"/>'
        b'<inertia ixx="9" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>'
        b'<joint name="j" type="continuous"><parent link="r"/><child link="a"/></joint></robot>'
    )
    assert robot.inertials[0, 0] == -2
    assert tensor(robot.inertials[0])[0, 0] == 9


@pytest.mark.slow
def test_a_chain_of_thousands_of_links_is_read():
    n = 4000
    text = '<robot name="snake"><link name="l0"/>' + "".join(
        f'<link name="l{i}"/><joint name="j{i}" type="{"continuous" if i == n else "fixed"}">'
        f'<parent link="l{i - 1}"/><child link="l{i}"/></joint>'
        for i in range(1, n + 1)
    )
    assert parse_urdf((text + "</robot>").encode()).joint_names == (f"j{n}",)


def test_joint_dynamics_are_read(tmp_path):
    (tmp_path / "r.urdf").write_text(
        '<robot name="g"><link name="r"/><link name="a"/><link name="b"/>'
        '<joint name="j" type="continuous"><parent link="r"/><child link="a"/><dynamics damping="0.5"/></joint>'
        '<joint name="k" type="continuous"><parent link="a"/><child link="b"/></joint></robot>'
    )
    assert read_joint_dynamics(tmp_path / "r.urdf") == {"j": (0.5, 0.0), "k": None}


@pytest.mark.parametrize("name", sorted(p.name for p in BROKEN.iterdir() if p.name != "expected.toml"))
def test_broken_robots_say_what_is_wrong(name, monkeypatch):
    monkeypatch.delenv("IDENT_DATA", raising=False)
    with pytest.raises(RobotError) as caught:
        read_robot(BROKEN / name)
    assert str(caught.value) == EXPECTED[name]


def test_every_broken_example_has_its_message():
    assert set(EXPECTED) == {p.name for p in BROKEN.iterdir()} - {"expected.toml"}
