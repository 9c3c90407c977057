"""A link's numbers against its own shape."""

from __future__ import annotations

import numpy as np
import pytest
from seeds import cases
from typer.testing import CliRunner

from ident.cli.main import app
from ident.compare.shape import LEAST_MARGIN, MARGIN, against_shapes
from ident.errors import InputError
from ident.spatial.inertia import from_com, from_pseudo_inertia

CORNERS = np.array(np.meshgrid([0.0, 0.4], [-0.1, 0.1], [-0.05, 0.05])).reshape(3, 8).T


def body(points: np.ndarray, masses: np.ndarray) -> np.ndarray:
    """Return the ten parameters of point masses."""
    one = np.column_stack([points, np.ones(len(points))])
    return from_pseudo_inertia((masses[:, None] * one).T @ one)


@pytest.mark.parametrize("seed", range(cases(30)))
def test_whatever_lies_in_the_shape_fits_it(seed):
    """Points on the very corners too: the conditions are necessary."""
    rng = np.random.default_rng(seed)
    inside = CORNERS[rng.integers(8, size=5)] if seed % 2 else rng.dirichlet(np.ones(8), 20) @ CORNERS
    masses = rng.uniform(0.01, 2.0, len(inside))
    assert against_shapes({"a": body(inside, masses)}, {"a": CORNERS}) == ()


@pytest.mark.parametrize("axis", range(3))
@pytest.mark.parametrize("side", [0, 1])
def test_a_centre_of_mass_may_lie_on_each_face_and_a_margin_beyond_it(axis, side):
    ends = np.array([CORNERS.min(axis=0), CORNERS.max(axis=0)])
    margin = MARGIN * np.linalg.norm(ends[1] - ends[0]) + LEAST_MARGIN
    for share, fits in ((0.0, True), (0.9, True), (1.1, False)):
        centre = ends.mean(axis=0)
        centre[axis] = ends[side, axis] + (2 * side - 1) * share * margin
        assert (against_shapes({"a": from_com(1.0, centre, 1e-6 * np.eye(3))}, {"a": CORNERS}) == ()) == fits


def test_what_cannot_be_is_told_and_how_far_off_it_is():
    rng = np.random.default_rng(0)
    right = rng.dirichlet(np.ones(8), 20) @ CORNERS
    masses = np.full(20, 0.1)
    shapes = {"a": CORNERS}

    def told(parameters):
        return [
            (m.what.partition(" is ")[0].partition(" in ")[0], m.gross)
            for m in against_shapes({"a": parameters}, shapes)
        ]

    millimetres = body(1000 * right, masses)  # taken for metres
    assert told(millimetres)[0] == (f"its centre of mass {point(1000 * right.mean(axis=0))} m", True)
    assert len(told(millimetres)) == 2
    beside = body(right + np.array([0, 0, 0.15]), masses)
    assert told(beside) == [(f"its centre of mass {point((right + np.array([0, 0, 0.15])).mean(axis=0))} m", False)]
    grown = body(right, masses)
    grown[4:] *= 1000
    ((what, gross),) = told(grown)
    assert (what.startswith("its mass"), gross) == (True, True)
    ((what, gross),) = told(1e3 * body(right, masses))
    assert (what.startswith("its 2000 kg"), gross) == (True, True)  # in 8 litres
    assert against_shapes({"a": np.zeros(10), "b": millimetres}, shapes) == ()  # no mass, no shape
    with pytest.raises(InputError, match="shape of a must have shape"):
        against_shapes({"a": millimetres}, {"a": np.zeros((3, 2))})


def point(x: np.ndarray) -> str:
    return "(" + ", ".join(f"{v:.3g}" for v in x) + ")"


URDF = """<robot name="r"><link name="base"/>
<link name="a"><inertial><origin xyz="{com} 0 0"/><mass value="2"/>
<inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial>{shape}</link>
<joint name="j" type="revolute"><parent link="base"/><child link="a"/><axis xyz="0 0 1"/>
<limit lower="-1" upper="1" effort="1" velocity="1"/></joint></robot>"""
CAPSULE = '<collision><geometry><sphere radius="0.1"/></geometry></collision>'
MESH = '<collision><geometry><mesh filename="package://far/a.stl"/></geometry></collision>'


@pytest.mark.parametrize(
    ("com", "shape", "code", "wanted"),
    [
        ("0.05", CAPSULE, 0, "shape: the numbers of 1 of 1 links fit their shapes"),
        ("0.15", CAPSULE, 0, "is outside its shape, (-0.1, -0.1, -0.1) to (0.1, 0.1, 0.1) m"),
        ("50", CAPSULE, 4, "PROBLEM (shape): link 'a': its centre of mass (50, 0, 0) m is outside"),
        ("4", "", 0, "no problem found"),
        ("4", MESH, 0, "(--meshes names another folder of meshes)"),
    ],
)
def test_the_command_holds_a_urdf_against_its_shapes(tmp_path, com, shape, code, wanted):
    (tmp_path / "r.urdf").write_text(URDF.format(com=com, shape=shape))
    said = CliRunner().invoke(app, ["cad", "check", str(tmp_path / "r.urdf")])
    assert said.exit_code == code, said.output
    assert wanted in said.output


def test_the_folder_of_missing_meshes_is_named(tmp_path, monkeypatch):
    (tmp_path / "arm").mkdir()
    (tmp_path / "arm" / "r.urdf").write_text(URDF.format(com="0", shape=MESH))
    monkeypatch.chdir(tmp_path / "arm")
    said = CliRunner().invoke(app, ["cad", "check", "r.urdf"])
    assert "the mesh 'package://far/a.stl' is not in 'arm'" in said.output


@pytest.mark.filterwarnings("error")
def test_next_to_no_mass_is_judged_without_a_warning_of_numpy():
    body = from_com(1e-320, [0.0, 0.0, 0.0], 0.01 * np.eye(3))
    (found,) = against_shapes({"a": body}, {"a": CORNERS})
    assert found.gross
    assert "its mass is spread by inf m" in found.what


def test_meshes_of_another_folder(tmp_path):
    (tmp_path / "far").mkdir()
    vertices = "".join(f"v {x} {y} {z}\n" for x, y, z in CORNERS)
    (tmp_path / "far" / "a.obj").write_text(vertices + "f 1 2 3\nf 4 5 6\nf 6 7 8\n")
    (tmp_path / "own").mkdir()
    urdf = tmp_path / "own" / "r.urdf"
    urdf.write_text(URDF.format(com="9", shape=MESH.replace("a.stl", "a.obj")))
    said = CliRunner().invoke(app, ["cad", "check", str(urdf), "--meshes", str(tmp_path)])
    assert said.exit_code == 4, said.output
    assert "PROBLEM (shape): link 'a': its centre of mass (9, 0, 0) m" in said.output
    for other in ("nowhere", str(urdf)):
        assert CliRunner().invoke(app, ["cad", "check", str(urdf), "--meshes", other]).exit_code == 2
