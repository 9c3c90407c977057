"""Writing back into a URDF: the numbers arrive, the bodies can exist, every other byte stays."""

from __future__ import annotations

import re
from fractions import Fraction

import numpy as np
import pinocchio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from logs_data import real_data
from random_robots import cloud, pinocchio_model, random_pair
from seeds import cases

from ident.errors import InfeasibleError, RobotError
from ident.robot.urdf import parse_urdf, read_joint_dynamics, read_urdf
from ident.robot.urdf_write import com_numbers, without_outweighed, write_urdf
from ident.spatial.inertia import from_com, is_positive_semidefinite, pseudo_inertia_exact, transformed


def new_inertials(rng, robot):
    """Return inertials (n, 10) of bodies that can exist, with room for what is fixed to each link."""
    rows = np.array([from_com(*cloud(rng)) for _ in range(robot.n)])
    for body in robot.fixed:
        if body.link >= 0 and body.inertial is not None:
            rows[body.link] += transformed(body.inertial, body.pose)
    return rows


def without_numbers(data: bytes) -> bytes:
    """Blank what may change: the values inside <inertial> and <dynamics>, by text alone."""

    def blank(found: re.Match) -> bytes:
        values = rb"""(xyz|rpy|value|i[xyz][xyz]|damping|friction)(\s*=\s*)("[^"]*"|'[^']*')"""
        return re.sub(values, rb"\1\2", found[0])

    return re.sub(rb"<inertial\b.*?</inertial>|<dynamics\b[^>]*>", blank, data, flags=re.S)


def disguised(text: str, rng: np.random.Generator) -> bytes:
    """Return the same document in another dress: newlines, quotes, comments, tabs, BOM, namespaces, entities."""
    if rng.random() < 0.5:
        text = text.replace('"', "'")
    if rng.random() < 0.5:
        text = text.replace("<inertial>", "<inertial >\n<!-- <mass value='7'/> --> <![CDATA[ <inertial> ]]>")
    if rng.random() < 0.5:
        text = text.replace("<mass value=", "<mass note='é &gt; > ü' xmlns:k='urn:k' k:value='3'\n\t value = ")
    if rng.random() < 0.5:
        text = text.replace(
            "</robot>", "<gazebo><plugin>&lt; \u4e2d </plugin></gazebo><?pi <link ?></robot>\n<!-- end -->"
        )
    if rng.random() < 0.5:
        text = text.replace("</joint>", "<dynamics  friction = '0.25'></dynamics ></joint>")
    if rng.random() < 0.5:
        text = text.replace("\n", "\r\n")
    return (b"\xef\xbb\xbf" if rng.random() < 0.3 else b"") + text.encode()


@settings(max_examples=cases(60), derandomize=True)
@given(seed=st.integers(0, 2**31), n=st.integers(1, 6))
def test_numbers_arrive_and_every_other_byte_stays(seed, n):
    rng = np.random.default_rng(seed)
    text, _ = random_pair(rng, n)
    source = disguised(text, rng)
    robot = parse_urdf(source)
    inertials = new_inertials(rng, robot)
    has_dynamics = b"<dynamics" in source
    names = re.findall(r"<joint name=.(\w+)", source.decode()) if has_dynamics else []
    dynamics = {name: (float(rng.random()), float(rng.random())) for name in names}
    written = write_urdf(source, robot, inertials, dynamics)
    again = parse_urdf(written)
    np.testing.assert_allclose(again.inertials, inertials, rtol=0, atol=1e-12 * max(1.0, abs(inertials).max()))
    assert again.fingerprint() == robot.fingerprint()
    expected = without_numbers(source)
    if has_dynamics:
        assert without_numbers(written) == re.sub(
            rb"<dynamics  friction = (?=></dy)", b"<dynamics  friction =  damping=", expected
        )
    else:
        assert without_numbers(written) == expected
    for body, before in zip(again.fixed, robot.fixed, strict=True):
        assert (body.inertial is None) == (before.inertial is None)
        if body.inertial is not None:
            np.testing.assert_array_equal(body.inertial, before.inertial)


@pytest.mark.parametrize("seed", range(cases(10)))
def test_pinocchio_feels_the_torques_of_what_was_written(seed):
    rng = np.random.default_rng(seed)
    text, robot = random_pair(rng, 5, missing=0.2)
    inertials = new_inertials(rng, robot)
    written = write_urdf(text.encode(), robot, inertials).decode()
    model, order = pinocchio_model(written, robot)
    given_model, _ = pinocchio_model(text, robot)
    for joint, p in zip(robot.joint_names, inertials, strict=True):
        given_model.inertias[given_model.getJointId(joint)] = pinocchio.Inertia.FromDynamicParameters(
            np.array([*p[:4], p[4], p[5], p[7], p[6], p[8], p[9]])
        )
    for _ in range(5):
        q, qd, qdd = rng.normal(size=(3, model.nq))
        ours = pinocchio.rnea(model, model.createData(), q, qd, qdd)
        wanted = pinocchio.rnea(given_model, given_model.createData(), q, qd, qdd)
        np.testing.assert_allclose(ours[order], wanted[order], rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(
    "file", ["pendubot/planar_manip.urdf", "staubli_tx40/tx40_mdh_modified.urdf", "ur10e/ur10e.urdf"]
)
def test_real_files_take_new_numbers_and_keep_the_rest(file, tmp_path):
    robot = read_urdf(real_data() / file)
    inertials = np.array([from_com(*cloud(np.random.default_rng(i))) for i in range(robot.n)])
    dynamics = {robot.joint_names[0]: (1.25, 0.5), robot.joint_names[1]: None}
    written = write_urdf(real_data() / file, robot, inertials, dynamics)
    (tmp_path / "new.urdf").write_bytes(written)
    again = read_urdf(tmp_path / "new.urdf")
    np.testing.assert_allclose(again.inertials, inertials, rtol=0, atol=1e-12)
    assert again.fingerprint() == robot.fingerprint()
    assert read_joint_dynamics(tmp_path / "new.urdf")[robot.joint_names[0]] == (1.25, 0.5)
    source = (real_data() / file).read_bytes()
    if b"<dynamics" in source:
        assert without_numbers(written) == without_numbers(source)
    else:
        inserted = re.compile(rb'\n\s*<dynamics damping="1.25" friction="0.5"/>')
        assert without_numbers(inserted.sub(b"", written)) == without_numbers(source)
    # a second writing of the same numbers changes nothing
    assert write_urdf(written, robot, inertials, dynamics) == written


HAND = (
    b'<?xml version="1.0"?>\r\n<robot name="hand">\r\n\t<link name="base"/>\r\n\t<link name="a"/> <!-- none yet -->\r\n'
    b'\t<link name="b"><visual/></link>\r\n\t<link name="c"></link>\r\n\t<link name="d">\r\n\t\t<inertial>\r\n'
    b'\t\t\t<mass value="2"/>\r\n\t\t\t<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/>\r\n\t\t</inertial>'
    b"\r\n\t</link>\r\n"
    + b"".join(
        b'\t<joint name="j%s" type="continuous"><parent link="base"/><child link="%s"/></joint>\r\n' % (x, x)
        for x in (b"a", b"b", b"c", b"d")
    )
    + b"</robot>\r\n"
)


def test_missing_inertials_and_dynamics_are_inserted_with_the_files_indentation():
    robot = parse_urdf(HAND)
    row = from_com(2.0, [0.5, 0.0, 0.0], np.diag([1.0, 1.5, 2.0]))
    written = write_urdf(HAND, robot, [row] * 4, {"ja": (0.5, 0.0)})
    block = (
        '{i}<inertial>\r\n{i}\t<origin xyz="0.5 0.0 0.0" rpy="0.0 0.0 0.0"/>\r\n{i}\t<mass value="2.0"/>\r\n'
        '{i}\t<inertia ixx="1.0" ixy="0.0" ixz="0.0" iyy="1.5" iyz="0.0" izz="2.0"/>\r\n{i}</inertial>'
    )
    two, one = block.replace("{i}", "\t\t").encode(), block.replace("{i}", "\t").encode()
    expected = HAND.replace(b'<link name="a"/>', b'<link name="a">\r\n' + two + b"\r\n\t</link>")
    expected = expected.replace(b'"b"><visual/>', b'"b"><visual/>\r\n' + one)
    expected = expected.replace(b'"c"></link>', b'"c">\r\n' + two + b"\r\n\t</link>")
    # link d keeps its mass and the moments that do not change
    expected = expected.replace(
        b'iyy="1" iyz="0" izz="1"/>\r\n',
        b'iyy="1.5" iyz="0" izz="2.0"/>\r\n\t\t\t<origin xyz="0.5 0.0 0.0" rpy="0.0 0.0 0.0"/>\r\n',
    )
    expected = expected.replace(
        b'<child link="a"/></joint>', b'<child link="a"/>\r\n\t<dynamics damping="0.5" friction="0.0"/></joint>'
    )
    assert written == expected
    np.testing.assert_allclose(parse_urdf(written).inertials, [row] * 4, rtol=0, atol=1e-15)


TOOL = (
    b'<robot name="t"><link name="r"/><link name="a"/><link name="tool"><inertial><mass value="3"/>'
    b'<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>'
    b'<joint name="j" type="continuous"><parent link="r"/><child link="a"/></joint>'
    b'<joint name="w" type="fixed"><parent link="a"/><child link="tool"/></joint></robot>'
)


def test_a_link_lighter_than_what_is_fixed_to_it_is_refused():
    robot = parse_urdf(TOOL)
    with pytest.raises(InfeasibleError) as caught:
        write_urdf(TOOL, robot, [from_com(2.0, np.zeros(3), np.eye(3))])
    assert str(caught.value) == (
        "link 'a' cannot be written: its 2 kg include what is fixed to it, 'tool' (3 kg), and without these as the "
        "file has them the rest cannot exist: m > 0 fails: m = -1 kg. Correct the <inertial> of the fixed bodies in "
        "the URDF."
    )
    assert parse_urdf(write_urdf(TOOL, robot, robot.inertials)).inertials.tolist() == robot.inertials.tolist()


def test_only_what_outweighs_its_link_loses_its_mass_to_it():
    """Link 'b' carries a body of 0.5 kg that leaves 1.5 kg of it, link 'a' tools of 3 kg of which it has 2."""
    light = TOOL.partition(b'<link name="tool">')[2].partition(b"</link>")[0].replace(b'"3"', b'"0.5"')
    light = light.replace(b'="1"', b'="0.01"')
    more = b"".join((
        b'<link name="b"/><link name="box">', light, b"</link>",
        b'<joint name="k" type="continuous"><parent link="a"/><child link="b"/><origin xyz="0 0 1"/></joint>',
        b'<joint name="v" type="fixed"><parent link="b"/><child link="box"/></joint></robot>',
    ))  # fmt: skip
    source = TOOL.replace(b"</robot>", more)
    robot = parse_urdf(source)
    wanted = [from_com(2.0, np.zeros(3), np.eye(3)), from_com(2.0, [0.1, 0, 0], np.eye(3))]
    left, told = without_outweighed(source, robot, wanted)
    assert told == ("Link 'a' has all of its 2 kg; 'tool', fixed to it, no mass.",)
    again = parse_urdf(write_urdf(left, robot, wanted))
    np.testing.assert_allclose(again.inertials, wanted, atol=1e-14)
    assert {body.name: body.inertial is None for body in again.fixed} == {"tool": True, "box": False}


def test_bodies_that_cannot_exist_are_refused():
    robot = parse_urdf(TOOL.replace(b'<mass value="3"', b'<mass value="0"').replace(b'="1"', b'="0"'))
    with pytest.raises(InfeasibleError, match=r"link 'a' cannot be written, .*triangle inequality fails: .* 0.5 kg"):
        write_urdf(TOOL, parse_urdf(TOOL), [from_com(5.0, np.zeros(3), np.diag([1.0, 1.0, 2.5]))])
    with pytest.raises(RobotError, match="other links, axes or placements"):
        write_urdf(
            TOOL.replace(b'<child link="a"/>', b'<child link="a"/><origin xyz="0 0 1"/>'), robot, np.zeros((1, 10))
        )


@pytest.mark.parametrize("seed", range(cases(20)))
def test_a_link_that_is_nothing_but_what_is_fixed_to_it_stays_without_inertial(seed):
    rng = np.random.default_rng(seed)
    text = '<robot name="t"><link name="r"/><link name="a"/>'
    text += '<joint name="j" type="continuous"><parent link="r"/><child link="a"/></joint>'
    for i in range(4):
        m, x = rng.uniform(0.1, 1.0), rng.normal(size=3).tolist()
        text += f'<link name="b{i}"><inertial><mass value="{m!r}"/>'
        text += '<inertia ixx="0" ixy="0" ixz="0" iyy="0" iyz="0" izz="0"/></inertial></link>'
        text += f'<joint name="w{i}" type="fixed"><origin xyz="{x[0]!r} {x[1]!r} {x[2]!r}"/>'
        text += f'<parent link="a"/><child link="b{i}"/></joint>'
    source = (text + "</robot>").encode()
    robot = parse_urdf(source)
    assert write_urdf(source, robot, robot.inertials) == source


@pytest.mark.parametrize(
    ("inertials", "dynamics", "message"),
    [
        (np.full((1, 10), np.nan), {}, r"inertials\[0, 0\] is nan"),
        (np.zeros((2, 10)), {}, r"inertials must have shape \(1, 10\)"),
        (None, {"jj": (0.0, 0.0)}, "there is no joint 'jj' to give damping and friction; did you mean 'j'"),
        (None, {"j": (-1.0, 0.0)}, "joint 'j': damping and friction are -1 and 0"),
        (None, {"j": (0.0, np.inf)}, "joint 'j': damping and friction are 0 and inf"),
    ],
)
def test_numbers_that_are_none_are_refused(inertials, dynamics, message):
    robot = parse_urdf(TOOL)
    with pytest.raises(RobotError, match=message):
        write_urdf(TOOL, robot, robot.inertials if inertials is None else inertials, dynamics)


def test_another_robot_is_refused():
    _, other = random_pair(np.random.default_rng(0), 2)
    with pytest.raises(RobotError, match="the file has no joint 'joint"):
        write_urdf(TOOL, other, np.zeros((2, 10)))


@settings(max_examples=cases(300), derandomize=True)
@given(seed=st.integers(0, 2**31), points=st.integers(1, 4))
def test_bodies_on_the_edge_of_what_can_exist_are_written_as_ones_that_can(seed, points):
    """One to three point masses have a singular pseudo-inertia: rounding alone would make many of them impossible."""
    rng = np.random.default_rng(seed)
    m, x = rng.uniform(0.1, 2.0, points), rng.normal(size=(points, 3))
    p = np.array(
        [
            m.sum(),
            *(m @ x),
            m @ (x[:, 1] ** 2 + x[:, 2] ** 2),
            -m @ (x[:, 0] * x[:, 1]),
            -m @ (x[:, 0] * x[:, 2]),
            m @ (x[:, 0] ** 2 + x[:, 2] ** 2),
            -m @ (x[:, 1] * x[:, 2]),
            m @ (x[:, 0] ** 2 + x[:, 1] ** 2),
        ]
    )
    mass, com, about = com_numbers(p)
    exact = pseudo_inertia_exact([mass, 0.0, 0.0, 0.0, *about])
    assert is_positive_semidefinite(exact)
    assert exact[3][3] == Fraction(mass) > 0
    xx, xy, xz, yy, yz, zz = about
    back = from_com(mass, com, [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    np.testing.assert_allclose(back, p, rtol=0, atol=1e-12 * max(1.0, abs(p).max()))


def test_nothing_can_be_written_as_nothing():
    assert com_numbers(np.zeros(10)) == (0.0, [0.0] * 3, [0.0] * 6)
    for p in ([0.0, 1.0, *[0.0] * 8], [1e-310, 1.0, *[0.0] * 8], [-1.0, *[0.0] * 9]):
        with pytest.raises(InfeasibleError):
            com_numbers(p)
