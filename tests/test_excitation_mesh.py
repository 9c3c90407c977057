"""COLLADA meshes of collision shapes, against scipy's rotations and trimesh (which reads with pycollada)."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
import trimesh
from scipy.spatial.transform import Rotation
from seeds import cases

from ident.errors import RobotError
from ident.geometry.capsules import collision_clouds, link_shapes
from ident.geometry.mesh import MOST_POINTS, collada_points, mesh_points
from ident.robot.urdf import parse_document, to_robot

SCHEMAS = {
    "1.4.1": "http://www.collada.org/2005/11/COLLADASchema",
    "1.5.0": "http://www.collada.org/2008/03/COLLADASchema",
}
TRIANGLE = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 7.0], [-1.0, 0.5, 0.25]])


def words(values: object) -> str:
    return " ".join(repr(float(x)) for x in np.ravel(values))


def geometry(name: str, points: np.ndarray, accessor: str | None = None) -> str:
    """A mesh whose faces use each point."""
    wanted = accessor or (
        f'<accessor source="#{name}-array" count="{len(points)}" stride="3">'
        '<param name="X" type="float"/><param name="Y" type="float"/><param name="Z" type="float"/></accessor>'
    )
    corners = " ".join(str(k) for k in range(3 * (len(points) // 3)))
    return f"""<geometry id="{name}"><mesh>
<source id="{name}-points"><float_array id="{name}-array" count="{points.size}">{words(points)}</float_array>
<technique_common>{wanted}</technique_common></source>
<vertices id="{name}-vertices"><input semantic="POSITION" source="#{name}-points"/></vertices>
<triangles count="{len(points) // 3}"><input semantic="VERTEX" source="#{name}-vertices" offset="0"/>
<p>{corners}</p></triangles></mesh></geometry>"""


def document(
    shapes: str, nodes: str, *, library: str = "", unit: str = "", up: str = "Z_UP", version: str = "1.4.1"
) -> bytes:
    return f"""<?xml version="1.0" encoding="utf-8"?>
<COLLADA xmlns="{SCHEMAS[version]}" version="{version}">
<asset><created>2020-01-01T00:00:00</created><modified>2020-01-01T00:00:00</modified>{unit}<up_axis>{up}</up_axis></asset>
<library_geometries>{shapes}</library_geometries>
<library_nodes>{library}</library_nodes>
<library_visual_scenes><visual_scene id="all">{nodes}</visual_scene></library_visual_scenes>
<scene><instance_visual_scene url="#all"/></scene>
</COLLADA>""".encode()


def plain(**wishes: str) -> bytes:
    return document(geometry("g", TRIANGLE), '<node><instance_geometry url="#g"/></node>', **wishes)


def same(got: np.ndarray, wanted: np.ndarray, within: float) -> None:
    """The same points in any order."""
    far = np.abs(got[:, None] - wanted).max(axis=2)
    assert far.min(axis=1).max() <= within
    assert far.min(axis=0).max() <= within


def by_trimesh(data: bytes) -> np.ndarray:
    """Points in the file's unit, in single precision."""
    return np.asarray(trimesh.load_scene(io.BytesIO(data), file_type="dae").to_geometry().vertices)


def affine(linear: np.ndarray, offset: np.ndarray | float = 0.0) -> np.ndarray:
    found = np.eye(4)
    found[:3, :3], found[:3, 3] = linear, offset
    return found


def drawn_transform(rng: np.random.Generator) -> tuple[str, np.ndarray]:
    kind = rng.choice(["translate", "rotate", "scale", "matrix"])
    if kind == "translate":
        offset = rng.normal(size=3)
        return f"<translate>{words(offset)}</translate>", affine(np.eye(3), offset)
    if kind == "scale":
        sizes = rng.uniform(0.5, 2.0, 3) * rng.choice([-1.0, 1.0], 3)
        return f"<scale>{words(sizes)}</scale>", affine(np.diag(sizes))
    if kind == "rotate":
        axis, degrees = rng.normal(size=3), rng.uniform(-180, 180)
        turn = Rotation.from_rotvec(np.radians(degrees) * axis / np.linalg.norm(axis)).as_matrix()
        return f"<rotate>{words(axis / np.linalg.norm(axis))} {degrees!r}</rotate>", affine(turn)
    matrix = affine(np.eye(3) + rng.normal(size=(3, 3)) / 3, rng.normal(size=3))
    return f"<matrix>\n{words(matrix)}\n</matrix>", matrix


def drawn_node(rng: np.random.Generator, depth: int) -> tuple[str, np.ndarray]:
    """A node with children and instances, and the points (k, 3) that it shows to its parent."""
    parts = [drawn_transform(rng) for _ in range(rng.integers(0, 4))]
    place = np.eye(4)
    for _, matrix in parts:
        place = place @ matrix
    inside, points = "".join(text for text, _ in parts), []
    for name in rng.permutation(list(MESHES))[: rng.integers(0, 3)]:
        inside += f'<instance_geometry url="#{name}"/>'
        points.append(MESHES[name])
    if rng.random() < 0.5:
        inside += '<instance_node url="#kept"/>'
        points.append(MESHES["small"] * [2.0, 3.0, 4.0])
    for _ in range(rng.integers(1, 3) if depth else 0):
        text, found = drawn_node(rng, depth - 1)
        inside += text
        points.append(found)
    own = np.concatenate([np.zeros((0, 3)), *points])
    return f"<node>{inside}</node>", own @ place[:3, :3].T + place[:3, 3]


MESHES = {
    "small": np.random.default_rng(1).normal(size=(3, 3)),
    "large": 10 * np.random.default_rng(2).normal(size=(9, 3)),
}


@pytest.mark.parametrize("seed", range(cases(8)))
@pytest.mark.parametrize(
    ("unit", "metres"),
    [("", 1.0), ('<unit name="inch" meter="0.0254"/>', 0.0254), ('<unit name="millimeter" meter="1e-3"/>', 0.001)],
)
def test_nested_nodes_place_their_meshes(seed: int, unit: str, metres: float) -> None:
    rng = np.random.default_rng(seed)
    text, wanted = drawn_node(rng, 3)
    text += '<node><instance_node url="#kept"/></node>'
    wanted = np.concatenate([wanted, MESHES["small"] * [2.0, 3.0, 4.0]])
    data = document(
        "".join(geometry(name, points) for name, points in MESHES.items()),
        text,
        library='<node id="kept"><scale>2 3 4</scale><instance_geometry url="#small"/></node>',
        unit=unit,
        version=["1.4.1", "1.5.0"][seed % 2],
    )
    got = collada_points(data)
    assert len(got) == len(wanted)
    size = np.abs(wanted).max()
    same(got, wanted * metres, 1e-13 * size * metres)
    if seed % 2 == 0:  # pycollada knows the namespace of 1.4 only
        same(got / metres, by_trimesh(data), 1e-5 * size)


def test_a_camera_like_place_looks_at_its_aim() -> None:
    eye, aim, up = np.array([1.0, 2.0, 3.0]), np.array([-2.0, 0.5, 4.0]), np.array([0.1, 0.0, 1.0])
    shape = np.array([[0.0, 0, 0], [0, 0, -np.linalg.norm(aim - eye)], [0, 1, 0]])
    node = f'<node><lookat>{words([eye, aim, up])}</lookat><instance_geometry url="#g"/></node>'
    origin, ahead, above = collada_points(document(geometry("g", shape), node))
    assert origin == pytest.approx(eye)
    assert ahead == pytest.approx(aim)
    assert np.linalg.norm(above - eye) == pytest.approx(1.0)
    assert (above - eye) @ (aim - eye) == pytest.approx(0.0, abs=1e-12)
    assert (above - eye) @ up > 0
    assert np.linalg.det([aim - eye, up, above - eye]) == pytest.approx(0.0, abs=1e-12)  # one plane


@pytest.mark.parametrize("up", ["X_UP", "Y_UP", "Z_UP"])
def test_the_up_axis_turns_nothing(up: str) -> None:
    data = plain(up=up)
    np.testing.assert_allclose(collada_points(data), TRIANGLE)
    same(by_trimesh(data), TRIANGLE, 1e-6)


def test_an_accessor_takes_its_numbers_out_of_a_wider_array() -> None:
    table = np.arange(1.0, 22.0)
    accessor = (
        '<accessor source="#g-array" count="3" stride="6" offset="2"><param name="Y" type="float"/>'
        '<param type="float"/><param name="X" type="float"/><param name="Z" type="float"/></accessor>'
    )
    found = collada_points(document(geometry("g", table, accessor), '<node><instance_geometry url="#g"/></node>'))
    np.testing.assert_array_equal(found, [[5, 3, 6], [11, 9, 12], [17, 15, 18]])


URDF = """<robot name="lamp">
  <link name="stand"/>
  <link name="arm">
    <collision><origin xyz="0 0 1"/><geometry><mesh filename="MESH" scale="2 1 -1"/></geometry></collision>
  </link>
  <joint name="swing" type="revolute">
    <parent link="stand"/><child link="arm"/><axis xyz="0 0 1"/>
    <limit lower="-1" upper="1" effort="1" velocity="1"/>
  </joint>
</robot>"""


@pytest.mark.parametrize("named", ["meshes/arm.DAE", "package://lamp/meshes/arm.DAE", "package://meshes/arm.DAE"])
def test_a_urdf_scales_and_places_the_points(tmp_path: Path, named: str) -> None:
    (tmp_path / "meshes").mkdir()
    (tmp_path / "meshes" / "arm.DAE").write_bytes(plain(unit='<unit meter="0.01"/>'))
    urdf = parse_document(URDF.replace("MESH", named).encode(), file="lamp.urdf")
    cloud = collision_clouds(urdf, to_robot(urdf), tmp_path)["arm"]
    np.testing.assert_allclose(cloud.points, 0.01 * TRIANGLE * [2, 1, -1] + [0, 0, 1])


SHAPES = """<robot name="lamp">
  <link name="stand"><collision><geometry><mesh filename="missing.stl"/></geometry></collision></link>
  <link name="arm"><visual><origin xyz="0 0 1"/><geometry><box size="2 4 6"/></geometry></visual>SOLID</link>
  <joint name="swing" type="revolute"><parent link="stand"/><child link="arm"/><axis xyz="0 0 1"/>
    <limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
</robot>"""


def test_shapes_are_those_that_can_be_read_else_what_is_seen(tmp_path: Path) -> None:
    file = tmp_path / "lamp.urdf"
    file.write_text(SHAPES.replace("SOLID", ""))
    robot = to_robot(parse_document(file.read_bytes()))
    ((link, (box,)),) = link_shapes(file, robot).items()
    assert link == "arm"
    assert {tuple(p) for p in np.abs(box - [0, 0, 1])} == {(1.0, 2.0, 3.0)}
    ball = '<collision><origin xyz="1 0 0"/><geometry><sphere radius="0.5"/></geometry></collision>'
    file.write_text(SHAPES.replace("SOLID", ball + ball))
    first, second = link_shapes(file, robot)["arm"]
    np.testing.assert_array_equal(first, second)
    np.testing.assert_allclose(np.linalg.norm(first - [1, 0, 0], axis=1), 0.5)
    assert len(first) > 100


NESTED = "".join(
    f'<node id="n{k}"><instance_node url="#n{k + 1}"/><instance_node url="#n{k + 1}"/></node>' for k in range(40)
)
SHOWN = '<instance_geometry url="#g"/></node>'


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("<COLLADA", '<!DOCTYPE x [<!ENTITY a "1">]><COLLADA', r"line 2\): the file holds a DOCTYPE"),
        ("<COLLADA", "<COLLADA2", "not well-formed XML"),
        ('version="1.4.1"', 'version="2.0"', "does not begin with <COLLADA> of version 1.4 or 1.5"),
        ("</COLLADA>", "", "not well-formed XML"),
        ('count="9"', 'count="900"', r"line 5\): <float_array> is '1.0 .*', wanted 900 numbers"),
        ('count="9"', 'count="-9"', "count of <float_array> is '-9', wanted a whole number"),
        ('array" count="3"', f'array" count="{10**11}"', "asks for 100000000000 points, its array of 9 numbers ends"),
        ('array" count="3"', f'array" count="1{"0" * 40}"', "wanted a whole number"),
        ('stride="3"', 'stride="2"', "does not name X, Y and Z once each within its stride of 2"),
        ('name="Z"', 'name="W"', "does not name X, Y and Z"),
        ("1.0 2.0", "nan 2.0", "<float_array> is '?.*nan 2.0 .*', wanted 9 numbers"),
        ("1.0 2.0", "INF 2.0", "<float_array> is '?.*INF 2.0 .*', wanted 9 numbers"),
        ("1.0 2.0", "one 2.0", "<float_array> is '?.*one 2.0 .*', wanted 9 numbers"),
        ("1.0 2.0", "1.0", "<float_array> is '.*', wanted 9 numbers"),
        ('url="#g"', 'url="other.dae#g"', "<instance_geometry> refers to 'other.dae#g', outside of the file"),
        ('url="#g"', 'url="file:///etc/passwd"', "outside of the file"),
        ('url="#g"', 'url="#h"', "<instance_geometry> refers to 0 <geometry> 'h', wanted one"),
        ('url="#g"', "", "<instance_geometry> has no url"),
        ('source="#g-points"', 'source="#p"', "<input> refers to 0 <source> 'p', wanted one"),
        ('source="#g-array"', 'source="#p"', "<accessor> refers to 0 <float_array> 'p', wanted one"),
        ('semantic="POSITION"', 'semantic="NORMAL"', "<geometry> holds no <mesh> with positions"),
        (SHOWN, '<instance_controller url="#g"/></node>', "<instance_controller> is not read"),
        (SHOWN, "</node>", "there are no points in the scene"),
        ('<instance_visual_scene url="#all"/>', "", "there are no points in the scene"),
        ("<asset>", '<asset><unit meter="0"/>', "<unit> states no single positive number of metres"),
        ("<asset>", '<asset><unit meter="wide"/>', "<unit> states no single positive number of metres"),
        (
            "<mesh>",
            '<asset><unit meter="2"/></asset><mesh><asset><unit/></asset>',
            "no single positive number of metres",
        ),
        (SHOWN, "<skew>1 2 3 4 5 6 7</skew>" + SHOWN, "<skew> is not read"),
        (SHOWN, "<translate>1 2</translate>" + SHOWN, "<translate> is '1 2', wanted 3 numbers"),
        (SHOWN, "<rotate>0 0 0 90</rotate>" + SHOWN, "<rotate> has no axis"),
        (SHOWN, "<lookat>0 0 0 0 0 0 0 0 1</lookat>" + SHOWN, "<lookat> has no direction"),
        (SHOWN, f"<matrix>{'1 ' * 16}</matrix>" + SHOWN, "the last row of <matrix> is not 0 0 0 1"),
        (SHOWN, "<scale>1e200 1 1</scale><scale>1e200 1 1</scale>" + SHOWN, "beyond what a number can hold"),
        (SHOWN, '</node><node id="c"><instance_node url="#c"/></node>', "a node is in itself"),
        (SHOWN, '</node><node id="c"><instance_node url="#c"/><instance_node url="#c"/></node>', "a node is in itself"),
        (SHOWN, '<instance_node url="#n0"/></node>', "or the scene has more than 100000"),
        ("<library_geometries>", "<library_geometries>" + "<a/>" * 2_000_000, "more than 2000000 tags"),
    ],
)
def test_files_that_are_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    text = plain(library=NESTED + f'<node id="n40">{SHOWN}').decode()
    head, found, tail = text.rpartition(old) if 'url="#g"' in old else text.partition(old)
    assert found
    (tmp_path / "arm.dae").write_text(head + new + tail)
    urdf = parse_document(URDF.replace("MESH", "arm.dae").encode(), file="lamp.urdf")
    with pytest.raises(RobotError, match=message) as raised:
        collision_clouds(urdf, to_robot(urdf), tmp_path)
    assert str(raised.value).startswith("lamp.urdf, line 4, link 'arm': the mesh 'arm.dae'")


def test_points_are_counted_with_every_instance() -> None:
    many = np.zeros((30_000, 3))
    instances = '<instance_geometry url="#g"/>' * (MOST_POINTS // len(many) + 1)
    with pytest.raises(RobotError, match="the scene shows more than 10000000 points"):
        collada_points(document(geometry("g", many), f"<node>{instances}</node>"))


def test_what_is_no_mesh_file(tmp_path: Path) -> None:
    (tmp_path / "arm.step").write_text("x")
    with pytest.raises(RobotError, match=r"arm.step: is none of stl, obj, dae\. Convert it"):
        mesh_points(tmp_path / "arm.step")
