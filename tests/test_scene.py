"""Which pairs a scene keeps apart, its file, and capsules fitted to collision shapes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import trimesh
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from seeds import cases
from test_distance import arm, scene_of_arm

from ident.errors import InputError, RobotError
from ident.geometry.capsules import fit_capsules, link_capsules, smallest_capsule
from ident.geometry.distance import clearances, collisions
from ident.geometry.scene import Box, Capsule, Plane, Point, Scene
from ident.geometry.scene_file import read_scene
from ident.robot import DHJoint, MDHJoint, from_dh, from_mdh, read_urdf
from ident.spatial.inertia import Pose, rpy

# ---- pairs ---------------------------------------------------------------------------------------------------------


def test_neighbours_and_bodies_of_one_link_may_touch() -> None:
    assert scene_of_arm().names(arm()) == (
        "base - upper",
        "base - fore",
        "base - gripper",
        "column - fore",
        "column - gripper",
        *(f"{capsule} - {k}" for capsule in ("column", "upper", "fore", "gripper") for k in ("table", "shelf")),
        "tip - cell",
    )


@pytest.mark.parametrize(
    ("ignored", "gone"),
    [
        (("column", "table"), {"column - table"}),
        (("table", "column"), {"column - table"}),
        (("fore", "column"), {"column - fore", "column - gripper"}),  # all that the link carries
        (("gripper", "column"), {"column - gripper"}),
        (("tool", "base"), {"base - gripper"}),
    ],
)
def test_ignored_pairs(ignored: tuple[str, str], gone: set[str]) -> None:
    every = set(scene_of_arm().names(arm()))
    assert every - set(scene_of_arm(ignored=(ignored,)).names(arm())) == gone


def test_margins_stand_beside_the_clearances() -> None:
    scene = scene_of_arm(self_margin=0.01, environment_margin=0.02, workspace_margin=0.03)
    kinds = {"self": 0.01, "environment": 0.02, "workspace": 0.03}
    assert scene.margins(arm()).tolist() == [kinds[pair.kind] for pair in scene.pairs(arm())]
    assert scene.margins(arm()).shape == clearances(scene, arm(), np.zeros((1, 3)))[0].shape


def test_a_point_stays_within_what_it_names() -> None:
    rooms = (Plane("floor", [0, 0, 1]), Box("cell", [1, 1, 1]))
    free = Scene(points=(Point("tip", "tool", [0, 0, 0]),), workspace=rooms)
    bound = Scene(points=(Point("tip", "tool", [0, 0, 0], within=("cell",)),), workspace=rooms)
    assert free.names(arm()) == ("tip - floor", "tip - cell")
    assert bound.names(arm()) == ("tip - cell",)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Capsule("a", [0, 0, 0], [1, 0, 0], 0.0), "the radius of capsule 'a' is 0 m"),
        (lambda: Capsule("a", [0, 0, 0], [1, 0, np.inf], 0.1), r"end of capsule 'a'\[2\] is inf"),
        (lambda: Capsule("a", [0, 0], [1, 0, 0], 0.1, "arm"), r"start of capsule 'arm' must have shape \(3\)"),
        (lambda: Plane("table", [0, 0, 0]), "plane 'table' has a zero normal"),
        (lambda: Plane("table", [0, 0, 1], np.nan), "the offset of plane 'table' is nan"),
        (lambda: Box("wall", [1, 0, 1]), "box 'wall' has an edge of 0 m"),
        (lambda: Scene(planes=(Plane("a", [0, 0, 1]),), boxes=(Box("a", [1, 1, 1]),)), "'a' is used more than once"),
        (lambda: Scene(self_margin=-0.1), "self_margin is -0.1 m"),
        (
            lambda: Scene(points=(Point("tip", "tool", [0, 0, 0], ("cel",)),), workspace=(Box("cell", [1, 1, 1]),)),
            "within 'cel', which is no plane or box of the workspace; did you mean 'cell'",
        ),
        (lambda: Scene(ignored=(("colunm", "base"),)).pairs(arm()), "'colunm' .* did you mean 'column'"),
    ],
)
def test_shapes_that_cannot_be(make: object, words: str) -> None:
    with pytest.raises(RobotError, match=words):
        make()  # type: ignore[operator]


# ---- capsules around points ----------------------------------------------------------------------------------------


def beyond(capsule: Capsule, points: np.ndarray, radii: np.ndarray | float = 0.0) -> float:
    """Return by how much balls stick out of a capsule, negative when none does."""
    along = capsule.end - capsule.start
    length = along @ along
    t = np.clip((points - capsule.start) @ along / length, 0, 1) if length > 0 else np.zeros(len(points))
    return float((np.linalg.norm(points - capsule.start - t[:, None] * along, axis=1) + radii).max()) - capsule.radius


@pytest.mark.slow
@settings(max_examples=cases(8), suppress_health_check=list(HealthCheck))
@given(st.integers(0, 10**6), st.integers(1, 40), st.sampled_from([0.0, 1e-3, 1.0, 50.0]), st.integers(0, 3))
def test_every_ball_is_inside(seed: int, many: int, away: float, flat: int) -> None:
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(many, 3)) * rng.uniform(0.01, 1, 3)
    points[:, :flat] = 0.0  # in a plane, on a line, all the same
    points = points + away * rng.normal(size=3)
    radii = rng.uniform(0, 0.2, many) * rng.integers(0, 2, many)
    radii[0] += 1e-3
    assert beyond(smallest_capsule(points, radii), points, radii) <= 0.0
    if many > 1 and flat < 3:
        assert beyond(smallest_capsule(points), points) <= 0.0


def volume(capsule: Capsule) -> float:
    length = float(np.linalg.norm(capsule.end - capsule.start))
    return np.pi * capsule.radius**2 * (length + 4 / 3 * capsule.radius)


@pytest.mark.slow
def test_a_capsule_is_found_again() -> None:
    rng = np.random.default_rng(0)
    for _ in range(3):
        start, end, radius = rng.normal(size=3), rng.normal(size=3), rng.uniform(0.05, 0.5)
        ball = rng.normal(size=(4000, 3))
        surface = radius * ball / np.linalg.norm(ball, axis=1)[:, None] + np.where(
            rng.random((4000, 1)) < 0.5, start, end
        )
        found = smallest_capsule(surface)
        true = Capsule("link", start, end, radius)
        assert beyond(found, surface) <= 0.0
        assert volume(found) < 1.01 * volume(true)


@pytest.mark.slow
def test_no_capsule_on_a_grid_of_axes_is_much_smaller() -> None:
    rng = np.random.default_rng(1)
    for _ in range(4):
        points = Box("box", rng.uniform(0.1, 1.0, 3), Pose(rpy(*rng.uniform(-3, 3, 3)), rng.normal(size=3))).corners
        axes = rng.normal(size=(4000, 3))
        axes /= np.linalg.norm(axes, axis=1)[:, None]
        x = points - points.mean(axis=0)  # by symmetry the axis goes through the middle
        heights = axes @ x.T
        aside = np.sqrt(np.maximum((x**2).sum(axis=1) - heights**2, 0))
        least = np.inf
        for grow in np.linspace(1.0, 1.6, 25):
            r = aside.max(axis=1, keepdims=True) * grow
            half = np.maximum((heights - np.sqrt(r**2 - aside**2)).max(axis=1), 0)
            least = min(least, float((np.pi * r[:, 0] ** 2 * (2 * half + 4 / 3 * r[:, 0])).min()))
        assert volume(smallest_capsule(points)) < 1.02 * least


# ---- capsules around a URDF's links --------------------------------------------------------------------------------

URDF = """<?xml version="1.0"?>
<robot name="lamp">
  <link name="stand">
    <collision><geometry><box size="0.2 0.2 0.1"/></geometry></collision>
  </link>
  <link name="arm">
    <collision><origin xyz="0.2 0 0" rpy="0 1.5707963267948966 0"/>
      <geometry><cylinder radius="0.03" length="0.4"/></geometry></collision>
  </link>
  <link name="shade">
    <collision><geometry><mesh filename="MESH" scale="0.001 0.001 0.002"/></geometry></collision>
  </link>
  <link name="bulb">
    <collision><origin xyz="0 0 0.1"/><geometry><sphere radius="0.02"/></geometry></collision>
  </link>
  <link name="switch"/>
  <joint name="swing" type="revolute">
    <parent link="stand"/><child link="arm"/><axis xyz="0 0 1"/>
    <limit lower="-1" upper="1" effort="1" velocity="1"/>
  </joint>
  <joint name="weld" type="fixed"><parent link="arm"/><child link="shade"/><origin xyz="0.4 0 0"/></joint>
  <joint name="nod" type="revolute">
    <parent link="shade"/><child link="bulb"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" effort="1" velocity="1"/>
  </joint>
  <joint name="click" type="prismatic">
    <parent link="stand"/><child link="switch"/><axis xyz="0 0 1"/>
    <limit lower="0" upper="0.01" effort="1" velocity="1"/>
  </joint>
</robot>
"""


def lamp(folder: Path, mesh: str = "meshes/shade.stl", text: str = URDF) -> Path:
    path = folder / "lamp.urdf"
    path.write_text(text.replace("MESH", mesh))
    return path


def fitted(path: Path, **held: object) -> dict[str, Capsule]:
    return {c.name: c for c in fit_capsules(path, read_urdf(path, **held))}


def shade() -> trimesh.Trimesh:
    return trimesh.creation.cone(radius=60.0, height=80.0, sections=24)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["stl", "stl_ascii", "obj"])
@pytest.mark.parametrize("named", ["meshes/shade.", "package://lamp/meshes/shade.", "package://meshes/shade."])
def test_capsules_hold_the_collision_shapes(tmp_path: Path, kind: str, named: str) -> None:
    (tmp_path / "meshes").mkdir()
    ending = kind.removesuffix("_ascii")
    data = shade().export(file_type=kind)
    (tmp_path / "meshes" / f"shade.{ending}").write_bytes(data.encode() if isinstance(data, str) else data)
    found = fitted(lamp(tmp_path, named + ending))
    assert list(found) == ["stand", "arm", "bulb"]  # the switch has no shape
    assert beyond(found["stand"], Box("", [0.2, 0.2, 0.1]).corners) <= 0
    angle = np.linspace(0, 2 * np.pi, 200)
    rim = 0.03 * np.stack([0 * angle, np.cos(angle), np.sin(angle)], axis=1)
    assert beyond(found["arm"], np.concatenate([rim, rim + np.array([0.4, 0, 0])])) <= 0
    mesh = shade().vertices * [0.001, 0.001, 0.002] + [0.4, 0, 0]
    assert beyond(found["arm"], mesh) <= 1e-8  # single precision
    assert found["arm"].link == "arm"
    bulb = found["bulb"]
    assert bulb.start == pytest.approx([0, 0, 0.1])
    assert bulb.end == pytest.approx([0, 0, 0.1])
    assert bulb.radius == pytest.approx(0.02)


@pytest.mark.slow
def test_a_locked_joint_makes_one_body_of_two(tmp_path: Path) -> None:
    text = URDF.replace("MESH", "x.stl")
    start = text.index('  <link name="shade">')
    text = text[:start] + '  <link name="shade"/>\n' + text[text.index('  <link name="bulb">') :]
    found = fitted(lamp(tmp_path, text=text), lock=["nod"])
    assert list(found) == ["stand", "arm"]
    assert beyond(found["arm"], np.array([[0.4, 0, 0.1]]), 0.02) <= 0


@pytest.mark.parametrize(
    ("mesh", "words"),
    [
        (
            "meshes/none.stl",
            r"lamp.urdf, line 11, link 'shade': the mesh 'meshes/none.stl' is not in '.*'\. Give the folder",
        ),
        ("package://lamp/none.stl", "the mesh 'package://lamp/none.stl' is not in"),
        ("../outside.stl", "leads out of its folder"),
        ("package://../outside.stl", "leads out of its folder"),
        ("package://lamp/../../outside.stl", "leads out of its folder"),
        ("/etc/passwd", "named by an absolute path"),
        ("package:///etc/passwd", "named by an absolute path"),
        ("file:///etc/passwd", "named by file://, wanted package://"),
        ("http://example.org/x.stl", "named by http://"),
        ("$HOME/x.stl", "absolute path"),
        ("shade.dae", r"the mesh 'shade.dae' \(line 1\): the file does not begin with <COLLADA>"),
        ("short.stl", "'short.stl': cannot be read as STL"),
        ("text.stl", "'text.stl': cannot be read as STL"),
        ("cut.stl", "'cut.stl': cannot be read as STL"),
        ("empty.obj", "'empty.obj': cannot be read as OBJ"),
        ("words.obj", "'words.obj': cannot be read as OBJ"),
        ("nan.stl", "'nan.stl': cannot be read as STL"),
        ("outlink.stl", "leads out of its folder"),
    ],
)
def test_meshes_that_cannot_be_read(tmp_path: Path, mesh: str, words: str) -> None:
    folder = tmp_path / "robot"
    folder.mkdir()
    whole = shade().export(file_type="stl")
    (tmp_path / "outside.stl").write_bytes(whole)
    (folder / "outlink.stl").symlink_to(tmp_path / "outside.stl")
    (folder / "shade.dae").write_text("<COLLADA/>")
    (folder / "short.stl").write_bytes(whole[:-20])
    (folder / "text.stl").write_text("solid x\nvertex 1 2 three\nendsolid x")
    (folder / "cut.stl").write_text("solid x\nvertex 1 2 3\nvertex 2")
    (folder / "empty.obj").write_text("o shade\n")
    (folder / "words.obj").write_text("v 1 2 x\n")
    (folder / "nan.stl").write_bytes(whole[:96] + b"\xff" * 12 + whole[108:])
    with pytest.raises(RobotError, match=words):
        fitted(lamp(folder, mesh))


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('<box size="0.2 0.2 0.1"/>', '<box size="0.2 0 0.1"/>', "link 'stand': <box> has an edge of 0 m"),
        ('<box size="0.2 0.2 0.1"/>', "<cone/>", "<geometry> holds <cone>, wanted one of box, cylinder"),
        ('<box size="0.2 0.2 0.1"/>', "", "<geometry> holds nothing"),
        ('<sphere radius="0.02"/>', '<sphere radius="-1"/>', "link 'bulb': <sphere> has radius -1 m"),
        ('<sphere radius="0.02"/>', "<sphere/>", "<sphere> has no radius"),
    ],
)
def test_collision_shapes_that_are_none(tmp_path: Path, old: str, new: str, words: str) -> None:
    (tmp_path / "shade.stl").write_bytes(shade().export(file_type="stl"))
    with pytest.raises(RobotError, match=words):
        fitted(lamp(tmp_path, "shade.stl", URDF.replace(old, new)))


def test_capsules_along_the_links_of_dh_tables() -> None:
    rows = [{"d": 0.3, "alpha": np.pi / 2}, {"a": 0.4}, {"a": 0.2}]
    dh = from_dh("arm", [DHJoint(**row) for row in rows])
    found = {c.name: c for c in link_capsules(dh, 0.05)}
    ends = [
        np.stack([dh.poses(np.zeros(3))[i].matrix @ [*e, 1] for e in (c.start, c.end)])
        for i, c in enumerate(found.values())
    ]
    chain = np.array([[0, 0, 0], [0, 0, 0.3], [0.4, 0, 0.3], [0.6, 0, 0.3]])
    assert list(found) == ["link1", "link2", "link3"]
    for k, got in enumerate(ends):
        assert got[:, :3] == pytest.approx(chain[k : k + 2], abs=1e-12)
    mdh = link_capsules(from_mdh("arm", [MDHJoint(), MDHJoint(a=0.4)]), 0.05)
    assert mdh[0].end == pytest.approx([0.4, 0, 0])
    assert mdh[1].start == pytest.approx(mdh[1].end)  # nothing says how far the last link reaches


# ---- scene files ---------------------------------------------------------------------------------------------------

FILE = """
length = "mm"
angle = "deg"
margins = { self = 5, environment = 10 }
ignored = [["column", "table"]]
link_radius = 50

[[capsule]]
link = "fore"
start = [0, 0, 0]
end = [400, 0, 0]
radius = 40
name = "fore arm"

[[plane]]
name = "table"
normal = [0, 0, 2]
offset = -100

[[box]]
name = "shelf"
size = [200, 1000, 200]
xyz = [600, 0, 900]
rpy = [0, 0, 90]

[[point]]
name = "tip"
link = "tool"
position = [0, 0, 100]
within = ["cell"]

[[workspace.box]]
name = "cell"
size = [2000, 2000, 1500]
xyz = [0, 0, 750]

[[workspace.plane]]
name = "floor"
normal = [0, 0, 1]
"""


@pytest.mark.slow
def test_a_scene_file_takes_a_joint_that_mimics_where_the_robot_holds_it(tmp_path: Path) -> None:
    start, end = URDF.index("    <collision><geometry><mesh"), URDF.index('  </link>\n  <link name="bulb">')
    text = (URDF[:start] + URDF[end:]).replace('<axis xyz="0 1 0"/>', '<axis xyz="0 1 0"/><mimic joint="swing"/>')
    robot = read_urdf(lamp(tmp_path, text=text), lock={"nod": 0.5})
    arm = {c.name: c for c in read_scene(written(tmp_path, 'fit = "lamp.urdf"\n'), robot).capsules}["arm"]
    ball = np.array([[0.4 + 0.1 * np.sin(0.5), 0.0, 0.1 * np.cos(0.5)]])
    assert -1e-6 < beyond(arm, ball, 0.02) <= 0


def test_what_a_urdf_fixes_to_a_link_need_not_be_in_the_robot(tmp_path: Path) -> None:
    whole = read_urdf(lamp(tmp_path, text=URDF.replace('<mesh filename="MESH"', '<box size="100 100 50"')))
    path = tmp_path / "lamp.urdf"
    known, lacking = ({c.name: c for c in fit_capsules(path, r)} for r in (whole, replace(whole, fixed=())))
    assert lacking["arm"].end == pytest.approx(known["arm"].end)
    assert beyond(lacking["arm"], np.array([[0.4 + 50, 50, 25]])) <= 0


def written(folder: Path, text: str) -> Path:
    path = folder / "scene.toml"
    path.write_text(text)
    return path


def test_a_scene_file_in_its_own_units(tmp_path: Path) -> None:
    scene = read_scene(written(tmp_path, FILE), arm())
    assert [c.name for c in scene.capsules] == ["column", "upper", "fore arm"]
    assert [c.radius for c in scene.capsules] == pytest.approx([0.05, 0.05, 0.04])
    assert scene.capsules[2].end == pytest.approx([0.4, 0, 0])
    assert (scene.self_margin, scene.environment_margin, scene.workspace_margin) == (0.005, 0.01, 0.0)
    assert scene.planes[0].normal.tolist() == [0, 0, 1]
    assert scene.planes[0].offset == -0.1
    assert scene.boxes[0].corners.max(axis=0) == pytest.approx([1.1, 0.1, 1.0])
    assert [room.name for room in scene.workspace] == ["floor", "cell"]
    assert scene.names(arm())[-1] == "tip - cell"
    assert "column - table" not in scene.names(arm())
    assert collisions(scene, arm(), [0, 1.0, 1.0])[0].startswith("capsule")


def test_a_table_is_three_lines(tmp_path: Path) -> None:
    text = 'link_radius = 0.04\nignored = [["column", "table"]]\n[[plane]]\nname = "table"\nnormal = [0, 0, 1]\n'
    scene = read_scene(written(tmp_path, text), arm())
    assert scene.names(arm()) == ("column - fore", "upper - table", "fore - table")


@pytest.mark.slow
def test_a_scene_file_fits_the_collision_shapes(tmp_path: Path) -> None:
    (tmp_path / "meshes").mkdir()
    (tmp_path / "meshes" / "shade.stl").write_bytes(shade().export(file_type="stl"))
    robot = read_urdf(lamp(tmp_path, "shade.stl"))
    scene = read_scene(written(tmp_path, 'fit = "lamp.urdf"\nmeshes = "meshes"\n'), robot)
    assert [c.name for c in scene.capsules] == ["stand", "arm", "bulb"]
    assert scene.names(robot) == ("stand - bulb",)
    with pytest.raises(RobotError, match=r"lamp.urdf, line 11, link 'shade': the mesh 'shade.stl' is not in"):
        read_scene(written(tmp_path, 'fit = "lamp.urdf"\n'), robot)
    with pytest.raises(RobotError, match=r"scene.toml, fit: robot 'arm' has no link 'stand'"):
        read_scene(written(tmp_path, 'fit = "lamp.urdf"\nmeshes = "meshes"\n'), arm())


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("link_radius", "link_radios", r"scene.toml, link_radios: is not a known key here; did you mean 'link_radius'"),
        (
            'link = "fore"',
            'link = "four"',
            r"scene.toml, capsule\[1\].link: robot 'arm' has no link 'four'; did you .*'fore'",
        ),
        ('link = "tool"', 'link = "tol"', r"point\[1\].link: robot 'arm' has no link 'tol'; did you mean 'tool'"),
        ("radius = 40\n", "radius = -40\n", r"capsule\[1\]: the radius of capsule 'fore arm' is -0.04 m"),
        ("radius = 40\n", "radius = '40'\n", r"capsule\[1\].radius: is '40', wanted a number"),
        ("radius = 40\n", "", r"capsule\[1\].radius: is missing, wanted a number"),
        ("end = [400, 0, 0]", "end = [400, 0]", r"capsule\[1\].end: has 2 entries, wanted 3 numbers"),
        ("end = [400, 0, 0]", "end = [400, 0, nan]", r"capsule\[1\].end\[3\]: is nan, wanted a finite number"),
        ("normal = [0, 0, 2]", "normal = [0, 0, 0]", r"plane\[1\]: plane 'table' has a zero normal"),
        ("normal = [0, 0, 2]", "norm = [0, 0, 0]", r"plane\[1\].norm: is not a known key here; did you mean 'normal'"),
        ("size = [200, 1000, 200]", "size = [200, -1, 200]", r"box\[1\]: box 'shelf' has an edge of -0.001 m"),
        ("self = 5", "self = -5", "margins.self: is -5, wanted 0 or more"),
        ("self = 5", "table = 5", "margins.table: is not a known key here"),
        ('["column", "table"]', '["column"]', r"ignored\[1\]: has 1 names, wanted 2"),
        ('["column", "table"]', '["column", "tabel"]', "'tabel' in the ignored pair .* did you mean 'table'"),
        ('[["column", "table"]]', "3", "ignored: must be a list of pairs of names"),
        ('within = ["cell"]', 'within = ["shelf"]', "kept within 'shelf', which is no plane or box of the workspace"),
        ('name = "shelf"', 'name = "table"', "the name 'table' is used more than once"),
        ("[[workspace.box]]", "[[workspace.sphere]]", "workspace.sphere: is not a known key here"),
        ("[[plane]]", "[plane]", "plane: is .* wanted tables"),
        ('"mm"', '"cm"', "length: is 'cm', wanted one of 'm', 'mm'"),
        ("link_radius = 50", "link_radius = 50\nfit = 'x.urdf'", "link_radius: stands beside fit"),
        ("link_radius = 50", "meshes = 'x'", "meshes: is given without fit"),
        ("link_radius = 50", "fit = '../x.urdf'", "fit: the path '../x.urdf' leads out of its folder"),
        ("link_radius = 50", "link_radius = 0", "radius of capsule 'column' is 0 m"),
        ("margins =", "margins", "the file is not valid TOML"),
    ],
)
def test_scene_files_that_cannot_be(tmp_path: Path, old: str, new: str, words: str) -> None:
    assert old in FILE
    with pytest.raises(RobotError, match=words) as caught:
        read_scene(written(tmp_path, FILE.replace(old, new, 1)), arm())
    assert str(caught.value).startswith("scene.toml")


@settings(max_examples=cases(60), suppress_health_check=list(HealthCheck))
@given(st.data())
def test_broken_scene_files_end_in_a_sentence(tmp_path: Path, data: st.DataObject) -> None:
    words = FILE.split(" ")
    for _ in range(data.draw(st.integers(1, 3))):
        k = data.draw(st.integers(0, len(words) - 1))
        words[k] = data.draw(
            st.sampled_from(["", "[]", "{}", "-1", "1e400", "true", '"x"', "[[", "nan", "=", words[k - 1]])
        )
    path = written(tmp_path, " ".join(words))
    try:
        scene = read_scene(path, arm())
    except InputError:
        return
    assert clearances(scene, arm(), np.zeros((1, 3))).shape == (1, len(scene.names(arm())))


def test_a_missing_scene_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(RobotError, match=r"nowhere.toml: the file cannot be read"):
        read_scene(tmp_path / "nowhere.toml", arm())
