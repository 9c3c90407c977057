"""MJCF, SDF and URDF files edited in place: the numbers arrive, bodies are split again, every other byte stays."""

from __future__ import annotations

import re
from dataclasses import replace

import export_readers as readers
import numpy as np
import pytest
from export_readers import estimate_of, mujoco_torque, torque_of
from oracles import mjcf, pin_torque, pin_tree, random_bodies, random_tree
from random_robots import cloud, random_pair
from seeds import cases

from ident.errors import IdentError, InfeasibleError, InputError, ModelError, RobotError
from ident.export.existing import with_paths
from ident.export.formats import export_to
from ident.export.identified import exportable
from ident.model import Coulomb, DriveInertia, Model, Spring, Viscous, torque
from ident.robot import FixedBody, Joint, Robot, read_robot
from ident.robot.mjcf import Mjcf
from ident.robot.unknown import Calibrated, zeros
from ident.robot.urdf import read_joint_dynamics
from ident.robot.xml import exchanged, first_child_edit, parse_xml
from ident.spatial.inertia import Pose, from_com, rpy, to_com, transformed

NUMBER = rb"[^\"']*"


def made(robot, rng, *, extra=None):
    """Return an estimate of new bodies (plus `extra` (n, 10)) and joint terms."""
    model = Model(robot, (DriveInertia(), Viscous(), Coulomb()))
    bodies = random_bodies(rng, robot.n) + (0 if extra is None else extra)
    theta = np.concatenate([bodies.ravel(), rng.uniform(0.1, 1, 3 * robot.n)])
    return estimate_of(robot, model, theta)


def expected(robot, estimate, q, qd, qdd, *, drive=True):
    theta = exportable(estimate, robot)  # as it is written
    tau = pin_torque(pin_tree(robot, theta[: 10 * robot.n].reshape(-1, 10)), q, qd, qdd)
    values = theta[10 * robot.n :].reshape(3, -1)
    return tau + drive * values[0] * qdd + values[1] * qd


def masses(estimate, robot):
    return exportable(estimate, robot)[: 10 * robot.n : 10].sum()


def close(found, wanted):
    assert np.abs(found - wanted).max() < 1e-9 * np.abs(wanted).max()


def blanked_mjcf(data: bytes) -> bytes:
    data = re.sub(rb"<!-- Identified parameters of.*?-->\n?", b"", data, flags=re.S)
    data = re.sub(rb"<inertial\b[^>]*/>", b"<inertial/>", data)
    return re.sub(rb'\s(armature|damping|frictionloss)="[^"]*"', b"", data)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('<a><b k="1"/><c/></a>', '<a><b k="1"><new/></b><c/></a>'),
        ("<a><b k='1' /></a>", "<a><b k='1' ><new/></b></a>"),
        ("<a><b><c/></b></a>", "<a><b><new/><c/></b></a>"),
    ],
)
def test_what_is_put_into_an_element_comes_first_in_it_and_all_else_stays(before, after):
    parent = parse_xml(before.encode()).children[0]
    assert exchanged(before.encode(), [first_child_edit(parent, "<new/>")]).decode() == after


def test_what_is_put_into_one_place_keeps_its_order():
    assert exchanged(b"<a></a>", [(7, 7, b"!"), (3, 3, b"<z/>"), (3, 3, b"<b/>")]) == b"<a><z/><b/></a>!"
    with pytest.raises(ValueError, match="overlap"):
        exchanged(b"<a></a>", [(0, 3, b""), (2, 4, b"")])


@pytest.mark.parametrize("seed", range(cases(20)))
def test_mjcf(tmp_path, seed):
    """Other frames than the robot's, welded bodies, a held joint, defaults, frames and comments."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 7))
    robot = random_tree(rng, n, points=True)
    old = random_bodies(rng, n)
    text = mjcf(robot, old).replace("<worldbody>", "<!-- mine -->\n<worldbody>\n  <light pos='0 0 3'/>", 1)
    tool = from_com(0.5, [0.1, 0.2, 0.3], np.diag([0.01, 0.02, 0.025]))
    welded = (
        '<frame pos="0 0 .1"><body name="tool" pos="0.1 0 0" euler="10 20 30"><inertial pos="0.1 0.2 0.3" mass="0.5" '
        'diaginertia="0.01 0.02 0.025"/><body name="tag"><geom type="sphere" size=".1" mass="0"/>'
        '<joint name="held" type="slide"/><inertial pos="0 0 0" mass="1e-3" diaginertia="1e-6 1e-6 1e-6"/>'
        "</body></body></frame>"
    )
    text = text.replace('angle="radian"', 'angle="degree"')
    text = text.replace("</body>", f"\n{welded}</body>", 1)
    # in which link the first </body> stands: the text before it opened as many bodies
    inside = re.findall(r'<body name="([^"]*)"', text.partition("\n<frame")[0])[-1]
    k = robot.links.index(inside)
    turn = rpy(np.radians(10), 0, 0) @ rpy(0, np.radians(20), 0) @ rpy(0, 0, np.radians(30))
    place = Pose(turn, np.array([0.1, 0, 0.1]))
    extra = np.zeros((n, 10))
    extra[k] = transformed(tool, place) + transformed(from_com(1e-3, np.zeros(3), 1e-6 * np.eye(3)), place)
    estimate = made(robot, rng, extra=extra)
    source = tmp_path / "in.xml"
    source.write_text(text)
    out = export_to("mjcf", estimate, tmp_path / "out.xml", robot=robot, source=source).path
    assert blanked_mjcf(out.read_bytes()) == blanked_mjcf(source.read_bytes())
    q, qd, qdd = rng.uniform(-2, 2, (3, 10, n))
    found, model = mujoco_torque(out.read_text(), robot.joint_names, q, qd, qdd)
    close(found, expected(robot, estimate, q, qd, qdd))
    assert abs(model.body_mass.sum() - masses(estimate, robot)) < 1e-9
    assert model.body("tool").mass == 0.5
    again = export_to("mjcf", estimate, tmp_path / "again.xml", robot=robot, source=out).path
    assert again.read_bytes() == out.read_bytes()


PYRAMID = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"


@pytest.mark.parametrize(
    ("compiler", "mesh", "becomes"),
    [
        ("", "it's/a.obj", 'meshdir="../.."'),
        ('<compiler angle="radian"/>', "it's/a.obj", 'meshdir="../.." angle="radian"'),
        ('<compiler meshdir="it\'s/"/>', "a.obj", 'meshdir="../../it&apos;s"'),
        ('<compiler assetdir="."/>', "it's/a.obj", 'assetdir="../.."'),
        ('<compiler meshdir="it\'s" strippath="true"/>', "gone/a.obj", 'meshdir="../../it&apos;s"'),
    ],
)
def test_an_mjcf_loads_from_the_folder_that_it_is_written_to(tmp_path, compiler, mesh, becomes):
    import mujoco

    rng = np.random.default_rng(5)
    robot = random_tree(rng, 2)
    (tmp_path / "it's").mkdir()
    (tmp_path / "it's" / "a.obj").write_text(PYRAMID)
    text = re.sub("<compiler[^>]*/>", compiler, mjcf(robot, random_bodies(rng, 2)))
    text = text.replace("<worldbody>", f'<asset><mesh name="a" file="{mesh}"/></asset><worldbody>', 1)
    text = text.replace("<worldbody>", '<worldbody><geom type="mesh" mesh="a"/>', 1)
    source, new = tmp_path / "in.xml", tmp_path / "results" / "in"
    source.write_text(text)
    mujoco.MjModel.from_xml_path(str(source))
    new.mkdir(parents=True)
    out = export_to("mjcf", made(robot, rng), new / "out.xml", robot=robot, source=source).path
    assert becomes in out.read_text()
    assert str(tmp_path) not in out.read_text()
    mujoco.MjModel.from_xml_path(str(out))
    beside = export_to("mjcf", made(robot, rng), tmp_path / "x", robot=robot, source=source, folder=new).path
    assert becomes in beside.read_text()
    same = export_to("mjcf", made(robot, rng), tmp_path / "same.xml", robot=robot, source=source).path
    assert blanked_mjcf(same.read_bytes()) == blanked_mjcf(source.read_bytes())


def test_paths_of_what_is_there_lead_to_it_from_another_folder_and_others_stay(tmp_path):
    for name in ("a.obj", "b.png", "c.xml"):
        (tmp_path / name).write_text(PYRAMID)
    kept = f'<mesh filename="package://p/a.obj"/><mesh filename="gone.obj"/><mesh filename="{tmp_path}/a.obj"/>'
    urdf = '<robot name="r">{}<mesh filename="{}a.obj"/><texture filename="{}b.png"/></robot>'
    moved = with_paths(urdf.format(kept, "", "./").encode(), "r.urdf", tmp_path, tmp_path / "x" / "y")
    assert moved.decode() == urdf.format(kept, "../../", "../../")
    model = '<mujoco>{}<asset><model file="{}c.xml"/><texture fileup="b.png"/><mesh file="/a.obj"/></asset></mujoco>'
    moved = with_paths(model.format("", "").encode(), "m.xml", tmp_path, tmp_path / "x")
    assert moved.decode() == model.format('<compiler texturedir=".."/>', "../")
    sdf = b"<sdf><model><uri>a.obj</uri></model></sdf>"
    assert with_paths(sdf, "m.sdf", tmp_path, tmp_path / "x") == sdf


def test_files_say_which_positions_they_take_where_a_zero_was_calibrated(tmp_path):
    """A new file has the calibrated geometry, a URDF gets it; an MJCF that is edited keeps its own and says so."""
    rng = np.random.default_rng(3)
    robot = random_tree(rng, 3, points=False)
    j = next(k for k, joint in enumerate(robot.joints) if not joint.slides)
    (zero,), value = zeros(robot, [robot.joint_names[j]]), 0.2
    estimate = replace(made(robot, rng), calibration=(Calibrated(zero, value, 0.01, "", applied=True),))
    source = tmp_path / "in.xml"
    source.write_text(mjcf(robot, random_bodies(rng, 3)))
    q, qd, qdd = rng.uniform(-1, 1, (3, 5, 3))
    wanted = expected(estimate.corrected(robot), estimate, q, qd, qdd)
    for given, more, word in ((None, 0.0, "has it"), (source, value, "as it was before")):
        text = export_to("mjcf", estimate, tmp_path / "out.xml", robot=robot, source=given).path.read_text()
        assert f"{zero.name} 0.2 rad. The geometry here {word}" in text if given is None else word in text
        close(mujoco_torque(text, robot.joint_names, q + more * np.eye(3)[j], qd, qdd)[0], wanted)
    text = export_to("urdf", estimate, tmp_path / "out.urdf", robot=robot).path.read_text()
    assert f"{zero.name} 0.2 rad. The geometry here has it" in text
    assert "Calibrated" not in export_to("csv", made(robot, rng), tmp_path / "out.csv").path.read_text()


@pytest.mark.parametrize("angle", ["", "degree", "radian"])
def test_springs_are_in_the_file_with_their_rest(tmp_path, angle):
    """MuJoCo's torque grows by stiffness * (q - rest), in a new file and in one that is edited."""
    rng = np.random.default_rng(1)  # turns, turns, slides
    robot = replace(random_tree(rng, 3), inertials=None)
    terms = (Spring(("joint1",), rest=0.4), Spring(("joint3",), rest=-0.2))
    model = Model(robot, terms)
    bodies = random_bodies(rng, 3)
    estimate = replace(estimate_of(robot, model, np.r_[bodies.ravel(), 30.0, -2.0]), shapes=model.shapes)
    source = tmp_path / "in.xml"
    text = mjcf(robot, bodies).replace(
        '<compiler angle="radian"', f'<compiler angle="{angle}"' if angle else "<compiler"
    )
    source.write_text(text)
    q, qd, qdd = rng.uniform(-1, 1, (3, 5, 3))
    theta = exportable(estimate, robot)
    expected = torque(model, theta, q, qd, qdd)
    for given in (None, source):
        done = export_to("mjcf", estimate, tmp_path / "out.xml", robot=robot, source=given)
        assert not any("stiffness" in note for note in done.notes)
        found, _ = mujoco_torque(done.path.read_text(), robot.joint_names, q, qd, qdd)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
    sdf = export_to("sdf", estimate, tmp_path / "out.sdf", robot=robot).path
    for path in (sdf, export_to("sdf", estimate, tmp_path / "again.sdf", robot=robot, source=sdf).path):
        first = parse_xml(path.read_bytes(), file="x").all("model")[0].all("joint")[0].all("axis")[0].all("dynamics")[0]
        told = {e.tag: float(path.read_bytes()[e.start : e.end].split(b">")[1].split(b"<")[0]) for e in first.children}
        assert told == {"spring_stiffness": theta[-2], "spring_reference": 0.4}
    shifted = [Calibrated(x, 0.1, 0.01, "", True) for x in zeros(robot)[:1]]
    kept = replace(estimate, calibration=tuple(shifted))  # the file counts positions from other zeros then
    note, *_ = export_to("mjcf", kept, tmp_path / "out.xml", robot=robot, source=source).notes
    assert "add it: joint1.stiffness 30" in note


def test_frames_that_differ_from_the_robots(tmp_path):
    """The file's bodies are turned and shifted, its joints are the same lines: the inertials are moved there."""
    joints = (
        Joint("a", "revolute", -1, Pose.identity(), np.array([0.0, 0, 1])),
        Joint("b", "prismatic", 0, Pose(np.eye(3), np.array([0.5, 0, 0])), np.array([0.0, 1, 0])),
    )
    robot = Robot("r", joints, ("l1", "l2"))
    text = """<mujoco><compiler eulerseq="XYZ"/><default><joint damping="7" type="slide"/>
      <default class="turn"><joint axis="0 -1 0" type="hinge" armature="3"/></default></default>
      <worldbody><body name="base" pos="1 2 3" axisangle="0 0 1 30">
        <body name="l1" zaxis="0 1 0" childclass="turn"><joint name="a"/>
          <body name="l2" pos="0.5 0 0" euler="0 90 0"><joint name="b" class="main" axis="-1 0 0"/></body>
        </body></body></worldbody></mujoco>"""
    # l1: z along base's y, so x stays, base's z is -y here. l2 in l1's axes: y is l1's z; turned by 90 deg about y
    (tmp_path / "in.xml").write_text(text)
    rng = np.random.default_rng(1)
    estimate = made(robot, rng)
    out = export_to("mjcf", estimate, tmp_path / "out.xml", robot=robot, source=tmp_path / "in.xml").path
    q, qd, qdd = rng.uniform(-2, 2, (3, 10, 2))
    found, _ = mujoco_torque(out.read_text(), robot.joint_names, q, qd, qdd)
    close(found, expected(robot, estimate, q, qd, qdd))


def test_mjcf_that_is_another_robot_or_would_change_the_numbers(tmp_path):
    rng = np.random.default_rng(3)
    robot = random_tree(rng, 3, branches=False)
    estimate = made(robot, rng)
    good = mjcf(robot, random_bodies(rng, 3))
    out = tmp_path / "out.xml"
    hinge = {"revolute": "hinge", "prismatic": "slide"}[robot.joints[0].kind]
    other = {"hinge": "slide", "slide": "hinge"}[hinge]
    for text, message in (
        (good.replace('"link2"', '"link9"'), r"in\.xml: the file has no link 'link2'.*did you mean 'link"),
        (good.replace('"joint3"', '"elbow"'), "no joint 'joint3'"),
        (good.replace(f'type="{hinge}"', f'type="{other}"', 1), "joint 'joint1' is another one .* wanted"),
        (good.replace('pos="', 'pos="1', 2), "joint '.*' is another one|wanted 3 numbers"),
        (good.replace('angle="radian"', 'angle="radian" balanceinertia="true"'), "balanceinertia='true'"),
        (good.replace('angle="radian"', 'settotalmass="3"'), "settotalmass"),
        (good.replace('angle="radian"', 'inertiafromgeom="true"'), "inertiafromgeom"),
        (good.replace("<worldbody>", '<include file="../../etc/passwd"/><worldbody>'), "<include> is not followed"),
        (good.replace("<worldbody>", '<worldbody><replicate count="3"/>'), "<replicate> is not followed"),
        (good.replace("mujoco", "robot"), "the root element is <robot>, wanted <mujoco>"),
        (good[:-20], "not well-formed"),
        ('<!DOCTYPE x [<!ENTITY a "b">]>' + good, "DOCTYPE"),
        (good.replace('name="joint2"', 'name="joint1"'), "stands already"),
        (good.replace("</body>", '<body name="t"><geom size="1"/></body></body>', 1), "MuJoCo makes its mass of its"),
        (good.replace('class="x"', "").replace("<joint ", '<joint class="x" ', 1), "no default class 'x'"),
        (good.replace("<joint ", '<joint ref="1" ', 1), "with a ref"),
        (good.replace('axis="', 'axis="nan ', 1), "wanted 3 numbers"),
    ):
        assert text != good
        (tmp_path / "in.xml").write_text(text)
        with pytest.raises(RobotError, match=message):
            export_to("mjcf", estimate, out, robot=robot, source=tmp_path / "in.xml")
        assert not out.exists()
    heavy = '<body name="rock"><inertial pos="0 0 0" mass="900" diaginertia="9 9 9"/></body></body>'
    (tmp_path / "in.xml").write_text(good.replace("</body>", heavy, 1))
    with pytest.raises(InfeasibleError, match="include 'rock', which the file fixes to it with 900 kg"):
        export_to("mjcf", estimate, out, robot=robot, source=tmp_path / "in.xml")
    assert not out.exists()


def blanked_sdf(data: bytes) -> bytes:
    data = re.sub(rb"<!-- Identified parameters of.*?-->\n?", b"", data, flags=re.S)
    data = re.sub(rb"<inertial>.*?</inertial>", b"", data, flags=re.S)
    return re.sub(rb"<dynamics>.*?</dynamics>", b"", data, flags=re.S)


@pytest.mark.parametrize("seed", range(cases(20)))
def test_sdf(tmp_path, seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 7))
    robot = random_tree(rng, n, points=True)
    old = export_to("sdf", made(robot, rng), tmp_path / "old.sdf", robot=robot).path.read_text()
    tool = from_com(0.5, [0.1, 0.2, 0.3], np.diag([0.01, 0.02, 0.025]))
    k = int(rng.integers(n))
    welded = f"""
    <frame name="mount" attached_to="{robot.links[k]}"><pose degrees="true">0.1 0 0.2 0 0 90</pose></frame>
    <link name="tool"><pose relative_to="mount"/><inertial><pose>0.1 0.2 0.3 0 0 0</pose><mass>0.5 <!-- kg --></mass>
      <inertia><ixx>0.01</ixx><iyy>0.02</iyy><izz>0.025</izz></inertia></inertial><visual name="v &lt; w"/></link>
    <joint name="weld" type="fixed"><parent>{robot.links[k]}</parent><child>tool</child></joint>
  </model>"""
    # the link's frame of the file lies on the joint's line
    place = Pose(rpy(0, 0, np.pi / 2), np.array([0.1, 0, 0.2]) + robot.joints[k].point)
    extra = np.zeros((n, 10))
    extra[k] = transformed(tool, place)
    estimate = made(robot, rng, extra=extra)
    source = tmp_path / "in.sdf"
    source.write_text(old.replace("  </model>", welded.lstrip("\n"), 1))
    out = export_to("sdf", estimate, tmp_path / "out.sdf", robot=robot, source=source).path
    assert blanked_sdf(out.read_bytes()) == blanked_sdf(source.read_bytes())
    assert out.read_text().count("<mass>0.5 <!-- kg --></mass>") == 1
    reads, gravity = readers.sdf_read(out.read_text(), robot.gravity)
    r = reads[[x.joint for x in reads].index(robot.joint_names[k])]
    both = from_com(r.mass, r.com, r.inertia) + transformed(tool, Pose(place.rotation, [0.1, 0, 0.2]))
    mass, com = both[0], both[1:4] / both[0]
    r.mass, r.com, r.inertia = mass, com, readers.about_com(mass, com, readers.six(*both[4:]))
    q, qd, qdd = rng.uniform(-2, 2, (3, 10, n))
    close(torque_of(reads, gravity, robot.joint_names, q, qd, qdd), expected(robot, estimate, q, qd, qdd, drive=False))
    again = export_to("sdf", estimate, tmp_path / "again.sdf", robot=robot, source=out).path
    assert again.read_bytes() == out.read_bytes()


@pytest.mark.parametrize(("version", "axis"), [("1.4", "0 1 0"), ("1.5", "1 0 0"), ("1.6", "1 0 0")])
def test_until_version_1_4_an_axis_is_in_the_models_frame(tmp_path, version, axis):
    robot = Robot("r", (Joint("j", "revolute", -1, Pose.identity(), np.array([0.0, 1, 0])),), ("l",))
    estimate = made(robot, np.random.default_rng(1))
    text = (
        f'<sdf version="{version}"><model name="m"><link name="base"/><link name="l"><pose>0 0 0 0 0 {np.pi / 2}</pose>'
        f'</link><joint name="j" type="revolute"><parent>base</parent><child>l</child><axis><xyz>{axis}</xyz></axis>'
        "</joint></model></sdf>"
    )
    (tmp_path / "in.sdf").write_text(text)
    out = export_to("sdf", estimate, tmp_path / "out.sdf", robot=robot, source=tmp_path / "in.sdf").path.read_text()
    mass, com, _ = to_com(exportable(estimate, robot))
    found = re.search(r"<inertial><pose>(\S+) (\S+) (\S+) .*<mass>(.*)</mass>", out)
    assert found
    assert np.allclose([float(x) for x in found.groups()], [com[1], -com[0], com[2], mass], rtol=1e-12)
    (tmp_path / "in.sdf").write_text(text.replace(axis, "1 0 0" if axis == "0 1 0" else "0 1 0"))
    with pytest.raises(RobotError, match=r"another|axis"):
        export_to("sdf", estimate, tmp_path / "out.sdf", robot=robot, source=tmp_path / "in.sdf")


def test_sdf_that_cannot_be_edited(tmp_path):
    rng = np.random.default_rng(3)
    robot = random_tree(rng, 3, branches=False)
    estimate = made(robot, rng)
    good = export_to("sdf", estimate, tmp_path / "good.sdf", robot=robot).path.read_text()
    out = tmp_path / "out.sdf"
    for text, message in (
        (good.replace("link2", "link9"), "no link 'link2'"),
        (good.replace("joint3", "elbow"), "no joint 'joint3'"),
        (good.replace('version="1.7">', 'version="1.7"><model name="two"/>'), "holds 2 models"),
        (good.replace("  </model>", "<include/></model>"), "<include> inside a model"),
        (good.replace('relative_to="joint2"', 'relative_to="link2"'), "in a circle"),
        (good.replace('relative_to="joint2"', 'relative_to="jiont2"'), "'jiont2', which is not in the model"),
        (good.replace("<parent>link1</parent>", "<parent>link3</parent>"), "loop|another one|circle"),
        (good.replace("<xyz>", "<xyz>9 "), "wanted 3 numbers"),
        (good.replace("<inertial>", '<inertial auto="true">', 1), "is automatic"),
        (good.replace("sdf", "robot"), "wanted <sdf>"),
    ):
        assert text != good
        (tmp_path / "in.sdf").write_text(text)
        with pytest.raises(RobotError, match=message):
            export_to("sdf", estimate, out, robot=robot, source=tmp_path / "in.sdf")
        assert not out.exists()


@pytest.mark.parametrize("seed", range(cases(20)))
def test_urdf_with_fixed_bodies_and_a_heavy_root(tmp_path, seed):
    """MuJoCo drops the root link's mass; the identified links lose nothing."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 7))
    text, robot = random_pair(rng, n)
    extra = np.zeros((n, 10))
    for body in robot.fixed:
        if body.link >= 0 and body.inertial is not None:
            extra[body.link] += transformed(body.inertial, body.pose)
    estimate = made(robot, rng, extra=extra)
    source = tmp_path / "in.urdf"
    source.write_text(text)
    out = export_to("urdf", estimate, tmp_path / "out.urdf", robot=robot, source=source).path
    q, qd, qdd = rng.uniform(-2, 2, (3, 10, n))
    with_root = out.read_text().replace("</robot>", '<mujoco><compiler fusestatic="true"/></mujoco></robot>')
    found, model = mujoco_torque(with_root, robot.joint_names, q, qd, qdd)
    assert abs(model.body_mass[1:].sum() - masses(estimate, robot)) < 1e-9  # 0 is the world with the root
    earth = robot.with_gravity([0, 0, -9.81])
    close(found, expected(earth, estimate, q, qd, qdd, drive=False))
    values = exportable(estimate, robot)[10 * n :].reshape(3, -1)
    assert read_joint_dynamics(out)[robot.joint_names[0]] == (values[1, 0], values[2, 0])
    again = export_to("urdf", estimate, tmp_path / "again.urdf", robot=robot, source=out).path
    assert again.read_bytes() == out.read_bytes()
    assert out.read_text().count("Identified parameters of") == 1


@pytest.mark.parametrize(
    ("words", "weighs"),
    [("", True), ('mass="2"', True), ('mass="0"', False), ('density="0"', False), ('mass="0" density="9"', False)],
)
def test_shapes_that_weigh_make_the_mass_of_a_body_of_which_mjcf_gives_none(words, weighs):
    text = f'<mujoco><worldbody><body name="a"><geom size="0.1" {words}/></body></worldbody></mujoco>'
    found = Mjcf("a.xml", parse_xml(text.encode())).bodies["a"]
    assert found.inertial is None
    assert (found.unclear == "MuJoCo makes its mass of its geoms") == weighs


def test_a_new_mjcf_says_what_was_fixed_and_refuses_a_body_without_mass(tmp_path):
    rng = np.random.default_rng(0)
    joint = Joint("j", "revolute", -1, Pose.identity(), np.array([0.0, 0, 1]))
    fixed = (FixedBody("tool & co", 0, Pose(np.eye(3), np.array([0, 0, 0.2]))), FixedBody("foot", -1, Pose.identity()))
    robot = Robot("r<d", (joint,), ("l",), fixed=fixed)
    text = export_to("mjcf", made(robot, rng), tmp_path / "new.xml", robot=robot).path.read_text()
    _, model = mujoco_torque(text, ["j"], *np.zeros((3, 1, 1)))
    assert model.site("tool & co").pos[2] == 0.2
    empty = estimate_of(robot, Model(robot), np.zeros(10))
    for name, message in (("mjcf", "MuJoCo moves no body"), ("sdf", "SDF knows no such link")):
        with pytest.raises(InfeasibleError, match=message):
            export_to(name, empty, tmp_path / "no", robot=robot)
    assert not (tmp_path / "no").exists()


@pytest.mark.parametrize("fixed", [(), (FixedBody("world_base", 0, Pose.identity()),)])
def test_a_base_that_is_called_world_gets_a_name_that_mujoco_and_gazebo_take(tmp_path, fixed):
    rng = np.random.default_rng(1)
    robot = replace(random_tree(rng, 4), base="world", fixed=fixed)
    name, bodies = f"world_base{'_' * len(fixed)}", random_bodies(rng, 4)
    estimate = estimate_of(robot, Model(robot), bodies.ravel())
    written = exportable(estimate).reshape(4, 10)
    out = export_to("mjcf", estimate, tmp_path / "new.xml", robot=robot)
    note = f"The base 'world' is called '{name}' here: in an MJCF that name is taken."
    assert note in out.notes
    assert note in out.path.read_text()
    q, qd, qdd = rng.uniform(-2, 2, (3, 5, 4))
    found, model = mujoco_torque(out.path.read_text(), robot.joint_names, q, qd, qdd)
    wanted = pin_torque(pin_tree(robot, written), q, qd, qdd)
    assert np.abs(found - wanted).max() < 1e-9 * np.abs(wanted).max()
    assert model.body(name).id == 1
    assert read_robot(out.path).joint_names == robot.joint_names
    again = export_to("mjcf", estimate, tmp_path / "again.xml", robot=robot, source=out.path)  # into what was written
    close(mujoco_torque(again.path.read_text(), robot.joint_names, q, qd, qdd)[0], wanted)
    assert not any("is called" in n for n in again.notes)
    sdf = export_to("sdf", estimate, tmp_path / "new.sdf", robot=robot)
    reads, gravity = readers.sdf_read(sdf.path.read_text(), robot.gravity)
    close(torque_of(reads, gravity, robot.joint_names, q, qd, qdd), wanted)
    assert '"world"' not in sdf.path.read_text()
    assert f"'{name}' here: in an SDF" in " ".join(sdf.notes)


def test_a_body_at_the_edge_of_what_can_exist_is_loaded_by_mujoco(tmp_path):
    rng = np.random.default_rng(5)
    joint = Joint("j", "revolute", -1, Pose.identity(), np.array([0.0, 0, 1]))
    robot = Robot("r", (joint,), ("l",))
    for _ in range(20):
        m, c, _ = cloud(rng)
        turn = rpy(*rng.uniform(-3, 3, 3))
        plate = turn @ np.diag([1.0, 2.0, 3.0]) @ turn.T
        theta = from_com(m, c, plate + 1e-13 * np.eye(3))
        try:
            text = export_to("mjcf", estimate_of(robot, Model(robot), theta), tmp_path / "o", robot=robot).path
        except InfeasibleError:
            continue
        mujoco_torque(text.read_text(), ["j"], *np.zeros((3, 1, 1)))


def test_what_else_is_refused(tmp_path):
    rng = np.random.default_rng(2)
    robot = random_tree(rng, 2)
    estimate = made(robot, rng)
    (tmp_path / "in.urdf").write_text("<robot/>")
    with pytest.raises(InputError, match=r"cannot be edited in place as 'ros2'.*That is for urdf, mjcf, sdf"):
        export_to("ros2", estimate, tmp_path / "out", robot=robot, source=tmp_path / "in.urdf")
    with pytest.raises(RobotError, match="cannot be read"):
        export_to("mjcf", estimate, tmp_path / "out", robot=robot, source=tmp_path / "none.xml")
    with pytest.raises(ModelError, match="an MJCF needs the geometry of the robot"):
        export_to("mjcf", estimate, tmp_path / "out")
    turned = Robot("tree", robot.joints, robot.links[::-1], gravity=robot.gravity)
    with pytest.raises(ModelError, match="has links link1, link2, robot 'tree' has link2, link1"):
        export_to("kdl", estimate, tmp_path / "out", robot=turned)
    branching = random_tree(np.random.default_rng(0), 4)
    with pytest.raises(ModelError, match=r"branches off|follows neither"):
        export_to("rtb-python", made(branching, rng), tmp_path / "out", robot=branching)
    negative = estimate.theta.copy()
    negative[20] = -0.5
    bad = estimate_of(robot, Model(robot, (DriveInertia(), Viscous(), Coulomb())), negative)
    for name in ("urdf", "mjcf", "pinocchio", "rtb-matlab"):
        with pytest.raises(IdentError, match=r"joint1\.drive_inertia is -0\.5|branches off|follows neither"):
            export_to(name, bad, tmp_path / "out", robot=robot)
    assert not (tmp_path / "out").exists()


def test_an_mjcf_whose_gripper_is_held_open_keeps_its_fingers_mass(tmp_path):
    text = mjcf(random_tree(np.random.default_rng(4), 2, branches=False), random_bodies(np.random.default_rng(5), 2))
    finger = (
        '<body name="finger"><joint name="open" type="slide" axis="0 1 0"/>'
        '<inertial pos="0 0 0" mass="0.01" diaginertia="1e-5 1e-5 1e-5"/></body></body>'
    )
    (tmp_path / "in.xml").write_text(text.replace("</body>", finger, 1))
    (tmp_path / "robot.toml").write_text('urdf = "in.xml"\nangle = "rad"\nlock = { open = 0.3 }\n')
    robot, rng = read_robot(tmp_path / "robot.toml"), np.random.default_rng(6)
    estimate = made(robot, rng)
    out = export_to("mjcf", estimate, tmp_path / "out.xml", robot=robot, source=tmp_path / "in.xml").path
    q, qd, qdd = rng.uniform(-2, 2, (3, 10, 2))
    sliding = '<body name="finger"><joint name="open"[^/]*/>'
    held = re.sub(sliding, '<body name="finger" pos="0 0.3 0">', out.read_text())
    assert "open" not in held
    found, _ = mujoco_torque(held, robot.joint_names, q, qd, qdd)
    close(found, expected(robot, estimate, q, qd, qdd))
