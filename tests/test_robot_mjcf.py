"""Robots from MJCF against MuJoCo itself: frames, torques, limits; what is refused, and what is told."""

from __future__ import annotations

from functools import partial

import mujoco
import numpy as np
import pytest
from oracles import mjcf, random_bodies, random_tree
from seeds import cases

from ident.dynamics import inverse_dynamics
from ident.errors import RobotError
from ident.pipelines.checks import check
from ident.robot import read_joint_dynamics, read_robot
from ident.robot.mjcf import Mjcf
from ident.robot.robot import frame_poses
from ident.robot.urdf import read_urdf
from ident.robot.xml import parse_xml
from ident.spatial.inertia import from_com

#: As people keep their models: classes, euler angles, a tool, a gripper whose fingers move together, a camera's site.
ARM = """<mujoco model="arm"><compiler angle="radian" eulerseq="xyz" meshdir="assets"/>
<option integrator="implicitfast"/>
<default><default class="arm"><joint armature="0.1" damping="1 " axis="0 0 1" range="-2.9 2.9"/>
  <general biastype="affine" forcerange="-87 87"/>
  <default class="finger"><joint axis="0 1 0" type="slide" range="0 0.04"/></default>
  <default class="seen"><geom type="mesh" contype="0" density="0"/></default></default></default>
<asset><mesh name="tin" file="tin.stl"/></asset>
<worldbody><light pos="0 0 3"/>
  <body name="foot" childclass="arm" pos="0.1 0 0"><inertial mass="3" pos="0 0 0.1" diaginertia="0.3 0.3 0.2"/>
    <geom class="seen" mesh="tin"/>
    <body name="upper" pos="0 0 0.33" quat="1 -1 0 0">
      <inertial mass="4.9" pos="0.004 -0.01 0.02" quat="0.9 0.1 -0.2 0.3" diaginertia="0.07 0.06 0.02"/>
      <joint name="shoulder" frictionloss="0.4"/>
      <body name="lower" pos="0.1 -0.3 0" euler="1.5708 0 0.3">
        <frame pos="0 0.02 0" euler="0 0.5236 0"><joint name="elbow" pos="0 0 0.1" range="-1.5 2"/></frame>
        <inertial mass="2" pos="0 0.1 0" fullinertia="0.011 0.012 0.013 0.001 -0.002 0.0015"/>
        <site name="flange" pos="0 0 0.2" axisangle="0 0 1 0.785398"/>
        <body name="hand" pos="0 0 0.2" axisangle="0 0 1 0.7854">
          <inertial mass="0.7" pos="0 0 0.03" diaginertia="0.002 0.002 0.001"/>
          <body name="left" pos="0 0 0.06"><inertial mass="0.05" pos="0 0 0" diaginertia="1e-5 1e-5 1e-5"/>
            <joint name="finger1" class="finger"/></body>
          <body name="right" pos="0 0 0.06" quat="0 0 0 1"><joint name="finger2" class="finger"/>
            <inertial mass="0.05" pos="0 0 0" diaginertia="1e-5 1e-5 1e-5"/></body>
        </body></body></body></body>
  <body name="ball"><freejoint/><geom size="0.02"/></body>
</worldbody>
<equality><joint joint1="finger2" joint2="finger1"/></equality>
<actuator><general class="arm" name="a1" joint="shoulder"/>
  <motor name="a2" joint="elbow" ctrlrange="-3 3" gear="20"/></actuator></mujoco>"""

#: The joint of the ball, which has no name.
FREE = ["freejoint*"]


def loaded(text):
    model = mujoco.MjModel.from_xml_string(text)
    return model, mujoco.MjData(model)


def torques(model, data, robot, q, qd, qdd):
    """Return MuJoCo's inverse dynamics, without what the model has of friction, damping and armature."""
    model.dof_damping[:], model.dof_armature[:], model.dof_frictionloss[:] = 0, 0, 0
    order = [int(model.jnt_dofadr[model.joint(name).id]) for name in robot.joint_names]
    back = [int(model.jnt_qposadr[model.joint(name).id]) for name in robot.joint_names]
    out = np.empty_like(q)
    for s in range(len(q)):
        data.qpos[back], data.qvel[order], data.qacc[order] = q[s], qd[s], qdd[s]
        mujoco.mj_inverse(model, data)
        out[s] = data.qfrc_inverse[order]
    return out


def same_frames(model, data, robot, q, tolerance):
    for x in q:
        data.qpos[[int(model.jnt_qposadr[model.joint(name).id]) for name in robot.joint_names]] = x
        mujoco.mj_kinematics(model, data)
        for name, pose in frame_poses(robot, x).items():
            if "/" not in name:
                seen = data.site(name) if name == "flange" else data.body(name)
                np.testing.assert_allclose(pose.position, seen.xpos, rtol=0, atol=tolerance)
                np.testing.assert_allclose(pose.rotation, seen.xmat.reshape(3, 3), rtol=0, atol=tolerance)


@pytest.mark.parametrize("seed", range(cases(40)))
def test_random_trees_are_those_of_mujoco(tmp_path, seed):
    rng = np.random.default_rng(seed)
    made = random_tree(rng, int(rng.integers(1, 9)), points=True)
    text = mjcf(made, random_bodies(rng, made.n))
    (tmp_path / "robot.xml").write_text(text)
    robot = read_robot(tmp_path / "robot.xml")
    np.testing.assert_allclose(robot.gravity, made.gravity, rtol=1e-12)
    q, qd, qdd = rng.uniform(-2, 2, (3, 5, robot.n))
    model, data = loaded(text.replace("<option ", '<option><flag contact="disable"/></option><option '))
    same_frames(model, data, robot, q, 1e-12)
    ours = inverse_dynamics(robot, robot.inertials, q, qd, qdd)
    theirs = torques(model, data, robot, q, qd, qdd)
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-10 * np.abs(theirs).max())


def test_a_model_as_people_keep_it(tmp_path):
    (tmp_path / "arm.xml").write_text(ARM)
    keep = ["shoulder", "elbow"]
    literal = read_urdf(tmp_path / "arm.xml", keep=keep, literal_angles=True)
    robot = read_urdf(tmp_path / "arm.xml", keep=keep)
    text = ARM.replace('<geom class="seen" mesh="tin"/>', "").replace('<mesh name="tin" file="tin.stl"/>', "")
    model, data = loaded(text)
    data.qpos[:3] = 5.0, 5.0, 5.0  # the ball, out of the way
    rng = np.random.default_rng(1)
    q, qd, qdd = rng.uniform(-1, 1, (3, 6, 2))
    data.qpos[:] = 0
    held = {name: pose for name, pose in frame_poses(literal, q[0]).items() if name not in ("ball", "world")}
    assert set(held) == {"foot", "upper", "lower", "hand", "left", "right", "flange"}
    same_frames(model, data, literal, q, 1e-12)
    same_frames(model, data, robot, q, 1e-5)
    assert abs(robot.joints[1].placement.rotation[2, 2]) < 1e-15 < abs(literal.joints[1].placement.rotation[2, 2])
    assert "these: 'elbow' (1.5708), 'hand (fixed)' (0.7854)" in robot.notes[-1]
    ours = inverse_dynamics(literal, literal.inertials, q, qd, qdd)
    np.testing.assert_allclose(ours, torques(model, data, literal, q, qd, qdd), rtol=0, atol=1e-9)
    assert robot.links == ("upper", "lower")
    assert [joint.limits.ends for joint in robot.joints] == [(-2.9, 2.9), (-1.5, 2.0)]
    assert [joint.limits.effort for joint in robot.joints] == [87.0, 60.0]
    assert read_joint_dynamics(tmp_path / "arm.xml")["shoulder"] == (1.0, 0.4)
    assert "MuJoCo makes the mass of some bodies of their geoms, and here they have none: ball" in robot.notes[0]
    with pytest.raises(RobotError, match=r"arm.xml, line 22, joint 'finger2': joints that mimic another.*Lock it"):
        read_robot(tmp_path / "arm.xml")


def test_several_joints_of_a_body_and_where_they_are_held(tmp_path):
    text = """<mujoco><worldbody><body name="cart" pos="0 0 1" euler="10 20 30"><inertial mass="3" pos="0.1 0 0.2"
      diaginertia="0.1 0.2 0.25"/><joint name="x" type="slide" axis="1 0 0"/><joint name="turn" pos="0.3 0 0"
      axis="0 1 1" range="-90 45"/><joint name="tilt" axis="1 2 0" pos="0 0 0.1"/></body></worldbody></mujoco>"""
    (tmp_path / "cart.xml").write_text(text)
    robot = read_robot(tmp_path / "cart.xml")
    assert robot.links == ("cart/x", "cart/turn", "cart")
    np.testing.assert_allclose(robot.joints[1].limits.ends, np.deg2rad([-90, 45]))
    rng = np.random.default_rng(2)
    q, qd, qdd = rng.uniform(-1, 1, (3, 5, 3))
    model, data = loaded(text)
    same_frames(model, data, robot, q, 1e-12)
    ours = inverse_dynamics(robot, robot.inertials, q, qd, qdd)
    np.testing.assert_allclose(ours, torques(model, data, robot, q, qd, qdd), rtol=0, atol=1e-10)
    (tmp_path / "robot.toml").write_text('urdf = "cart.xml"\nangle = "rad"\nlock = { turn = 0.4 }\n')
    held = read_robot(tmp_path / "robot.toml")
    data.qpos[:] = 0.2, 0.4, -0.3
    mujoco.mj_kinematics(model, data)
    np.testing.assert_allclose(held.poses([0.2, -0.3])[-1].position, data.body("cart").xpos, atol=1e-12)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("<equality>", '<equality><weld body1="hand" body2="foot"/>', "line 27: <weld> closes a chain. Closed chains"),
        (
            "<worldbody>",
            '<include file="hand.xml"/><worldbody>',
            "<include> is not followed. Give 'hand.xml' if that is",
        ),
        ('name="shoulder"', "", r"line 13: a joint that moves has no name\. Name it"),
        ('name="upper"', "", r"line 11: a body that moves has no name\. Name it"),
        ('name="shoulder"', 'name="shoulder" ref="0.3"', "line 13: a joint has a ref. Set it to 0"),
        ('name="shoulder"', 'name="shoulder" type="ball"', "joints of type ball are not modelled. Lock it at zero"),
        ("<freejoint/>", '<freejoint name="float"/>', "joints of type floating are not modelled. Lock .*'float'"),
        ('range="-1.5 2"', 'range="-1.5"', "range of <joint> is '-1.5', wanted 2 numbers"),
        ('gear="20"', 'gear="much"', "gear of <motor> is 'much', wanted 1 number"),
        ('damping="1 "', 'damping="x"', '<dynamics> has damping="x", wanted a finite number'),
        ("<option ", '<option gravity="0 0" ', "gravity of <option> is '0 0', wanted 3 numbers"),
        ("<default>", '<default class="">', None),
    ],
)
def test_what_is_refused(tmp_path, old, new, message):
    assert old in ARM
    text = ARM.replace(old, new, 1)
    (tmp_path / "arm.xml").write_text(text)
    if message is None:
        assert read_urdf(tmp_path / "arm.xml", keep=["shoulder"]).n == 1
        return
    read = (
        read_joint_dynamics if "damping" in old else partial(read_urdf, lock=["finger*", *FREE[: "freejoint/" in text]])
    )
    with pytest.raises(RobotError, match=message):
        read(tmp_path / "arm.xml")


def test_gravity_that_the_file_has_is_taken_and_told(tmp_path):
    (tmp_path / "arm.xml").write_text(ARM.replace("<option ", '<option gravity="0 0 9.81" '))
    (tmp_path / "robot.toml").write_text('urdf = "arm.xml"\nkeep = ["shoulder", "elbow"]\n')
    found = check(tmp_path / "robot.toml").robot
    assert found.gravity.tolist() == [0, 0, 9.81]
    assert found.notes[0] == "gravity is 0, 0, 9.81 m/s^2 in the world, as <option> has it"
    with (tmp_path / "robot.toml").open("a") as file:
        file.write("gravity = [0, 0, -9.81]\n")
    assert read_robot(tmp_path / "robot.toml").gravity.tolist() == [0, 0, -9.81]


@pytest.mark.parametrize(
    ("setting", "harmless"),
    [
        ('boundmass="0.0"', True),
        ('settotalmass="-2"', True),
        ('boundmass="1e-3"', False),
        ('balanceinertia="0"', False),
    ],
)
def test_settings_that_change_inertials_are_refused_and_their_zeros_are_not(setting, harmless):
    root = parse_xml(f"<mujoco><compiler {setting}/><worldbody/></mujoco>".encode())
    if harmless:
        assert Mjcf("arm.xml", root).bodies == {}
        return
    with pytest.raises(RobotError, match=f"{setting.partition('=')[0]}="):
        Mjcf("arm.xml", root)


def test_an_inertial_without_moments_is_a_point():
    text = b'<mujoco><worldbody><body name="a"><inertial mass="2" pos="0 0 0.1"/></body></worldbody></mujoco>'
    found = Mjcf("arm.xml", parse_xml(text)).bodies["a"].inertial
    np.testing.assert_allclose(found, from_com(2.0, np.array([0.0, 0.0, 0.1]), np.zeros((3, 3))))


@pytest.mark.parametrize("setting", ["", 'autolimits="true"', 'autolimits="false"'])
@pytest.mark.parametrize("own", ["", 'limited="auto"', 'limited="true"', 'limited="false"'])
def test_a_range_limits_a_joint_where_mujoco_has_it_limited(tmp_path, setting, own):
    joint = f'<joint name="j" range="-1 2" {own}/><inertial mass="1" pos="0 0 0" diaginertia="1 1 1"/>'
    body = f'<worldbody><body name="a">{joint}</body></worldbody>'
    text = f'<mujoco><compiler angle="radian" {setting}/>{body}</mujoco>'
    (tmp_path / "a.xml").write_text(text)
    limited = False
    if "false" in setting and own in ("", 'limited="auto"'):
        with pytest.raises(ValueError, match="`range` but not `limited`"):  # MuJoCo wants it said
            mujoco.MjModel.from_xml_string(text)
    else:
        limited = bool(mujoco.MjModel.from_xml_string(text).jnt_limited[0])
    assert (read_robot(tmp_path / "a.xml").joints[0].limits.ends is not None) == limited
