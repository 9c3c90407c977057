"""DH tables against the product of elementary matrices, sample by sample."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from seeds import cases

from ident.errors import RobotError
from ident.robot.file import DHJoint, MDHJoint, from_dh, from_mdh, read_robot
from ident.robot.robot import Limits, frame_poses
from ident.spatial.inertia import Pose, rpy


def rz(t):
    return np.array([[np.cos(t), -np.sin(t), 0, 0], [np.sin(t), np.cos(t), 0, 0], [0, 0, 1, 0], [0, 0, 0, 1.0]])


def rx(t):
    return np.array([[1, 0, 0, 0], [0, np.cos(t), -np.sin(t), 0], [0, np.sin(t), np.cos(t), 0], [0, 0, 0, 1.0]])


def shift(x, z):
    out = np.eye(4)
    out[0, 3], out[2, 3] = x, z
    return out


def link_matrix(row, q):
    model = row.sign * q + row.offset
    theta = row.theta + (model if row.kind == "revolute" else 0.0)
    d = row.d + (model if row.kind == "prismatic" else 0.0)
    if isinstance(row, DHJoint):
        return rz(theta) @ shift(0, d) @ shift(row.a, 0) @ rx(row.alpha)
    return rx(row.alpha) @ shift(row.a, 0) @ rz(theta) @ shift(0, d)


LENGTH = st.floats(-1.0, 1.0)
ANGLE = st.floats(-4.0, 4.0)


def rows_of(kind):
    row = st.builds(
        kind, a=LENGTH, alpha=ANGLE, d=LENGTH, theta=ANGLE, offset=ANGLE, sign=st.sampled_from([1, -1]),
        kind=st.sampled_from(["revolute", "prismatic"]),
    )  # fmt: skip
    return st.lists(row, min_size=1, max_size=7)


@settings(max_examples=cases(80), derandomize=True)
@given(rows=st.one_of(rows_of(DHJoint), rows_of(MDHJoint)), data=st.data())
def test_frames_are_products_of_the_conventions_matrices(rows, data):
    base = Pose(rpy(*data.draw(st.tuples(ANGLE, ANGLE, ANGLE))), np.array(data.draw(st.tuples(LENGTH, LENGTH, LENGTH))))
    make = from_dh if isinstance(rows[0], DHJoint) else from_mdh
    robot = make("arm", rows, base=base)
    q = np.array(data.draw(st.lists(ANGLE, min_size=len(rows), max_size=len(rows))))
    expected = base.matrix
    frames = frame_poses(robot, q)
    for i, row in enumerate(rows):
        expected = expected @ link_matrix(row, q[i])
        np.testing.assert_allclose(frames[f"link{i + 1}"].matrix, expected, rtol=0, atol=1e-12)


def test_the_two_conventions_describe_one_arm():
    """Shifting a and alpha by one row turns a standard table into a modified one; the tool frame stays."""
    a, alpha, d = [0.1, 0.4, 0.05], [math.pi / 2, 0.0, -math.pi / 2], [0.3, 0.1, 0.2]
    standard = from_dh("arm", [DHJoint(a=x, alpha=y, d=z) for x, y, z in zip(a, alpha, d, strict=True)])
    modified = from_mdh(
        "arm", [MDHJoint(a=x, alpha=y, d=z) for x, y, z in zip([0.0, *a[:2]], [0.0, *alpha[:2]], d, strict=True)]
    )
    q = np.array([0.3, -1.1, 2.0])
    tool = rx(alpha[2]) @ shift(a[2], 0)
    np.testing.assert_allclose(standard.poses(q)[2].matrix, modified.poses(q)[2].matrix @ tool @ np.eye(4), atol=1e-14)


def test_the_axis_of_a_standard_dh_joint_stays_where_it_is():
    row = DHJoint(a=0.4, alpha=0.7, d=0.2, theta=0.3, sign=-1)
    joint = from_dh("arm", [row]).joints[0]
    for q in (-2.0, 0.0, 1.3):
        pose = joint.pose(q)
        np.testing.assert_allclose(pose.rotation @ joint.axis, [0, 0, -1], atol=1e-15)
        np.testing.assert_allclose((pose.rotation @ joint.point + pose.position)[:2], [0, 0], atol=1e-15)


def test_names_limits_and_gravity_arrive():
    limits = Limits(-1.0, 2.0, 3.0, 4.0, 5.0)
    robot = from_mdh("arm", [MDHJoint(limits=limits, name="hip", link="thigh"), MDHJoint()], gravity=[9.81, 0, 0])
    assert robot.joint_names == ("hip", "joint2")
    assert robot.links == ("thigh", "link2")
    assert robot.joints[0].limits == limits
    assert robot.gravity.tolist() == [9.81, 0, 0]
    assert robot.inertials is None


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: DHJoint(a=math.nan), "a: a is nan, wanted a finite number"),
        (lambda: MDHJoint(sign=2), "sign: sign is 2, wanted 1 or -1"),
        (lambda: MDHJoint(kind="sliding"), "kind: kind is 'sliding', wanted 'revolute' or 'prismatic'"),
        (lambda: from_dh("arm", [MDHJoint()]), "row 1 of the table is a MDHJoint, wanted a DHJoint"),
        (lambda: from_mdh("arm", []), "robot 'arm' has no moving joint"),
        (lambda: from_mdh("arm", [MDHJoint(name="x"), MDHJoint(name="x")]), "joint name 'x' is used more than once"),
    ],
)
def test_rows_that_are_none_are_refused(make, message):
    with pytest.raises(RobotError) as caught:
        make()
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("convention", ["dh", "mdh"])
def test_joints_of_a_table_are_held_where_a_file_says(tmp_path, convention):
    rows = [
        "a = 200\nd = 400\nalpha = 90\noffset = 30\nsign = -1",
        'kind = "prismatic"\nalpha = -90\nd = 50',
        "a = 30\ntheta = 20\noffset = -10",
        "a = 100\nalpha = 45",
        "d = 80\nalpha = 90",
    ]
    head = f'convention = "{convention}"\nlength = "mm"\nangle = "deg"\nflange = {{ xyz = [0, 0, 90] }}\n'
    text = head + "".join(f"[[joint]]\n{row}\n" for row in rows)

    def robot(more=""):
        (tmp_path / "arm.toml").write_text(more + text)
        return read_robot(tmp_path / "arm.toml")

    whole, rng = robot(), np.random.default_rng(1)
    for more, at in (
        ("lock = { joint2 = 120, joint5 = 35 }\n", {"joint2": 0.12, "joint5": np.deg2rad(35)}),
        ('lock = ["joint1"]\n', {"joint1": 0.0}),
        ('keep = ["joint[24]"]\n', {"joint1": 0.0, "joint3": 0.0, "joint5": 0.0}),
    ):
        held, q = robot(more), rng.uniform(-1, 1, 5)
        q = np.array([at.get(name, x) for name, x in zip(whole.joint_names, q, strict=True)])
        moves = [name not in at for name in whole.joint_names]
        assert held.joint_names == tuple(np.array(whole.joint_names)[moves])
        expected, found = frame_poses(whole, q), frame_poses(held, q[moves])
        assert found.keys() == expected.keys()
        for name, pose in expected.items():
            np.testing.assert_allclose(found[name].matrix, pose.matrix, rtol=0, atol=1e-14)
    for more, message in (
        ('lock = ["jont2"]\n', "there is no joint 'jont2' to lock; did you mean 'joint2'"),
        ('lock = ["joint2"]\nkeep = ["joint*"]\n', "joint 'joint2' stands in lock and in keep"),
        ('lock = ["*"]\n', "lock: holds all joints. Leave one to move"),
        ("keep = []\n", "keep: is an empty list"),
    ):
        with pytest.raises(RobotError, match=message):
            robot(more)
