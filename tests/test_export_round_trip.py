"""Every exported model, read by its consumer or by a reader of its language, predicts the same torques."""

from __future__ import annotations

import csv
import json
import re

import export_readers as readers
import numpy as np
import pinocchio as pin
import pytest
import scipy.io
import yaml
from export_examples import Example, chain, tree
from export_readers import Read, mujoco_torque
from oracles import pin_torque, pin_tree
from random_robots import pinocchio_model
from seeds import cases

from ident.export.formats import FORMATS, export_to
from ident.export.identified import deserved_base

SEEDS = range(cases(20))


@pytest.mark.parametrize("seed", SEEDS)
def test_urdf_is_read_by_pinocchio(tmp_path, seed):
    x = tree(seed)
    text = x.text("urdf", tmp_path)
    model, order = pinocchio_model(text, x.robot)
    if model.nq != model.nv:  # without limits a revolute joint is continuous: cos and sin
        q = np.zeros((len(x.q), model.nq))
        for name, column in zip(x.robot.joint_names, x.q.T, strict=True):
            k = model.getJointId(name)
            at = model.joints[k].idx_q
            both = np.stack([np.cos(column), np.sin(column)], axis=1)
            q[:, at : at + model.joints[k].nq] = both if model.joints[k].nq == 2 else column[:, None]
    else:
        q = x.q[:, np.argsort(order)]
    data, back = model.createData(), np.argsort(order)
    rows = zip(q, x.qd[:, back], x.qdd[:, back], strict=True)
    x.close(np.array([pin.rnea(model, data, *s)[order] for s in rows]))


@pytest.mark.parametrize("seed", SEEDS)
def test_urdf_is_read_by_mujoco(tmp_path, seed):
    """MuJoCo drops the mass of a URDF's root link; nothing of what is identified hangs on it."""
    x = tree(seed)
    text = x.text("urdf", tmp_path)
    compiler = '<mujoco><compiler fusestatic="true" discardvisual="true"/></mujoco></robot>'
    found, model = mujoco_torque(text.replace("</robot>", compiler), x.robot.joint_names, x.q, x.qd, x.qdd)
    assert abs(model.body_mass.sum() - x.bodies[:, 0].sum()) < 1e-9
    # MuJoCo gives a URDF no gravity but its own: add what the robot's is more
    standard = pin_torque(pin_tree(x.robot.with_gravity([0, 0, -9.81]), x.bodies), x.q, x.qd, x.qdd)
    x.close(found - standard + x.rigid, viscous=True)


@pytest.mark.parametrize("seed", SEEDS)
def test_mjcf_is_read_by_mujoco(tmp_path, seed):
    x = tree(seed)
    found, model = mujoco_torque(x.text("mjcf", tmp_path), x.robot.joint_names, x.q, x.qd, x.qdd)
    x.close(found, drive=True, viscous=True)
    order = [int(model.jnt_dofadr[model.joint(name).id]) for name in x.robot.joint_names]
    assert np.allclose(model.dof_frictionloss[order], x.coulomb, rtol=1e-12)
    assert abs(model.body_mass.sum() - x.bodies[:, 0].sum()) < 1e-9


@pytest.mark.parametrize("seed", SEEDS)
def test_sdf(tmp_path, seed):
    x = tree(seed)
    reads, gravity = readers.sdf_read(x.text("sdf", tmp_path), x.robot.gravity)
    x.close(x.torque(reads, gravity), viscous=True)
    assert [r.coulomb for r in reads] == x.coulomb.tolist()


@pytest.mark.parametrize("seed", SEEDS)
def test_pinocchio_script(tmp_path, seed):
    x = tree(seed)
    space: dict = {}
    exec(compile(x.text("pinocchio", tmp_path), "model.py", "exec"), space)
    model = space["build_model"]()
    assert list(model.names)[1:] == list(x.robot.joint_names)
    x.close(pin_torque(model, x.q, x.qd, x.qdd), drive=True)
    assert np.allclose(model.damping, x.viscous)
    assert list(space["FRICTION"].values()) == x.coulomb.tolist()
    with pytest.raises(ValueError, match="no joint"):
        space["apply_to"](pin.Model())


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", ["spatial-v2", "rigid-body-tree", "kdl"])
def test_scripts_of_trees(tmp_path, name, seed):
    x = tree(seed)
    read = {"spatial-v2": readers.spatial_v2, "rigid-body-tree": readers.rigid_body_tree, "kdl": readers.kdl}[name]
    reads, gravity = read(x.text(name, tmp_path))
    if name != "kdl":  # depth first there
        assert [r.joint for r in reads] == list(x.robot.joint_names)
    x.close(x.torque(reads, gravity), drive=name == "kdl", viscous=name == "kdl")


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", ["rtb-python", "rtb-matlab"])
def test_robotics_toolbox(tmp_path, name, seed):
    x = chain(seed)
    read = {"rtb-python": readers.rtb_python, "rtb-matlab": readers.rtb_matlab}[name]
    reads, gravity = read(x.text(name, tmp_path), x.robot.joint_names)
    x.close(x.torque(reads, gravity), drive=True, viscous=True)
    assert [r.coulomb for r in reads] == x.coulomb.tolist()


@pytest.mark.parametrize("seed", range(cases(8)))
def test_what_the_robotics_toolbox_gets_wrong_is_said(tmp_path, seed):
    x = chain(seed)
    slides = [joint.kind == "prismatic" for joint in x.robot.joints]
    text = x.text("rtb-matlab", tmp_path)
    assert ("has an offset" in text) == any(slides)
    assert ("first joint is prismatic" in text) == slides[0]
    assert ("first joint is prismatic" in x.text("rtb-python", tmp_path)) == slides[0]
    weight = re.search(r"base is tilted, .* robot\.gravity to (\[.*\])\.", text)
    standard = seed % 2 == 0
    assert not (weight and not standard)
    if weight:
        text = re.sub(r"'base', \[.*?\]", "'base', [1 0 0 0; 0 1 0 0; 0 0 1 0; 0 0 0 1]", text)
        text = re.sub(r"'gravity', \[.*?\]", f"'gravity', {weight[1]}", text)
        reads, gravity = readers.rtb_matlab(text, x.robot.joint_names)
        x.close(x.torque(reads, gravity), drive=True, viscous=True)


def with_geometry(x: Example, bodies) -> list[Read]:
    """Return the robot's own geometry with bodies given as mass, centre and tensor about it."""
    return [
        Read(
            j.name, j.kind, j.parent, j.placement.rotation, j.placement.position, j.axis, *body, point=j.point
        )
        for j, body in zip(x.robot.joints, bodies, strict=True)
    ]  # fmt: skip


def from_origin(m, h, inertia):
    com = np.asarray(h) / m
    return m, com, readers.about_com(m, com, inertia)


@pytest.mark.parametrize("seed", SEEDS)
def test_data_files(tmp_path, seed):
    """JSON, YAML, CSV, MAT and Simscape state bodies in the links' own frames."""
    x = tree(seed)
    found = {}
    data = json.loads(x.text("json", tmp_path))
    found["json"] = [
        (b["mass_kg"], b["com_m"], readers.six(*b["about_com"].values())) for b in data["links"]
    ]  # fmt: skip
    ros = yaml.safe_load(x.text("ros2", tmp_path))["/**"]["ros__parameters"]["identified"]
    assert ros["joint_names"] == list(x.robot.joint_names)
    found["ros2"] = [
        from_origin(b["mass"], b["first_moment"], readers.six(*b["inertia"])) for b in ros["links"].values()
    ]
    assert [j["coulomb"] for j in ros["joints"].values()] == x.coulomb.tolist()
    rows = [r for r in x.text("csv", tmp_path).splitlines() if not r.startswith("#")]
    values = {r["parameter"]: float(r["value"]) for r in csv.DictReader(rows)}
    assert values[f"{x.robot.joint_names[0]}.drive_inertia"] == x.drive[0]
    found["csv"] = [
        from_origin(v[0], v[1:4], readers.six(*v[4:]))
        for v in np.array(list(values.values())[: 10 * x.robot.n]).reshape(-1, 10)
    ]
    path = export_to("mat", x.estimate, tmp_path / "o.mat", robot=x.robot).path
    mat = scipy.io.loadmat(path)
    found["mat"] = [from_origin(v[0], v[1:4], readers.six(*v[4:])) for v in mat["links"]]
    assert [str(s[0]) for s in mat["names"].ravel()] == list(x.model.names)
    text = x.text("simscape", tmp_path)
    links = dict(re_findall(text))
    found["simscape"] = []
    for k in range(1, x.robot.n + 1):
        mass, com, (xx, yy, zz), (yz, zx, xy) = (
            readers.matlab_value(links[f"link({k}).{part}"])
            for part in ("Mass", "CenterOfMass", "MomentsOfInertia", "ProductsOfInertia")
        )
        found["simscape"].append((mass, com, readers.six(xx, xy, zx, yy, yz, zz)))
    for bodies in found.values():
        x.close(x.torque(with_geometry(x, bodies), x.robot.gravity))


def re_findall(text: str) -> list[tuple[str, str]]:
    return re.findall(r"^(\S+) = (.*);$", text, re.M)


@pytest.mark.parametrize("seed", SEEDS)
def test_mat_of_a_rigid_body_tree(tmp_path, seed):
    x = tree(seed)
    mat = scipy.io.loadmat(export_to("rigid-body-tree-mat", x.estimate, tmp_path / "o.mat", robot=x.robot).path)
    names = [str(s[0]) for s in mat["body"].ravel()]
    reads = []
    for i in range(x.robot.n):
        parent = str(mat["parent"].ravel()[i][0])
        xx, yy, zz, yz, xz, xy = mat["Inertia"][i]
        m, c, t = float(mat["Mass"][i, 0]), mat["CenterOfMass"][i], mat["fixedTransform"][:, :, i]
        reads.append(
            Read(
                str(mat["joint"].ravel()[i][0]), str(mat["jointType"].ravel()[i][0]),
                names.index(parent) if parent in names else -1, t[:3, :3], t[:3, 3], mat["jointAxis"][i],
                m, c, readers.about_com(m, c, readers.six(xx, xy, xz, yy, yz, zz)),
            )
        )  # fmt: skip
    x.close(x.torque(reads, mat["Gravity"].ravel()))


def test_base_parameters_with_error_bars(tmp_path):
    x = tree(0)
    rows = [r for r in x.text("csv-base", tmp_path).splitlines() if not r.startswith("#")]
    read = list(csv.DictReader(rows))
    assert [r["base_parameter"] for r in read] == list(x.estimate.base.names)
    assert [float(r["value"]) for r in read] == deserved_base(x.estimate, x.estimate.base.K @ x.theta).tolist()
    assert {float(r["standard_error"]) for r in read} == {1.0}


def test_every_format_is_tested_here():
    tested = {"urdf", "mjcf", "sdf", "pinocchio", "spatial-v2", "rigid-body-tree", "kdl", "rtb-python", "rtb-matlab"}
    tested |= {"json", "ros2", "csv", "mat", "simscape", "rigid-body-tree-mat", "csv-base"}
    tested |= {"c", "cpp", "python", "jax", "casadi", "matlab"}  # in test_export_controllers.py
    assert tested == {f.name for f in FORMATS}
