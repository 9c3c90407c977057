"""Exports, read again by another program: Pinocchio predicts the same torques from the files."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import jsonschema
import numpy as np
import pinocchio
import pytest
import scipy.io
import yaml
from export_readers import estimate_of
from identified import URDF, case
from oracles import random_bodies
from random_robots import pinocchio_model, random_pair

from ident.dynamics.rigid_body import inverse_dynamics
from ident.errors import EstimationError, InfeasibleError, ModelError
from ident.estimate.estimate import Estimate
from ident.export import export_to, formats
from ident.export.identified import deserved_base, exportable
from ident.export.urdf import new_urdf
from ident.model import Coulomb, LoadFriction, Model, Offset, SmoothCoulomb, Spring, Stribeck, Thermal, Viscous, torque
from ident.model.position import Curve
from ident.model.springs import Balancer
from ident.model.term import numbers
from ident.model.terms import TERMS, restored, units_of
from ident.robot import DHJoint, Joint, Limits, MDHJoint, Robot, from_dh, from_mdh
from ident.robot.urdf import parse_urdf, read_joint_dynamics, read_urdf
from ident.spatial.inertia import Pose, roll_pitch_yaw, rpy


def states(rng, n, samples=20):
    return rng.uniform(-2, 2, (3, samples, n))


def with_theta(robot, model, theta) -> Estimate:
    """Return an estimate of this robot that claims theta; only what an export reads is of meaning."""
    from ident.regression import base_parameters

    base = base_parameters(model)
    b, n = len(base.names), robot.n
    covariance = replace(case().wls.covariance, matrix=np.eye(b))
    ones = np.ones(n)
    return replace(
        case().constrained,
        **{"robot": robot.name, "links": robot.links, "joints": robot.joint_names, "base": base},
        **{"phi": base.K @ theta, "theta": theta, "covariance": covariance, "sigma": ones, "rows": ones, "rms": ones},
        relative=ones,
    )


def written(estimate, path, **options):
    """Write JSON or URDF, as the ending says."""
    return export_to(path.suffix[1:], estimate, path, unvalidated=True, **options)


def pinocchio_torque(path, robot, q, qd, qdd):
    model, order = pinocchio_model(path.read_text(), robot)
    data = model.createData()
    back = np.empty_like(order)
    back[order] = np.arange(len(order))
    return np.array([pinocchio.rnea(model, data, *(x[back] for x in s))[order] for s in zip(q, qd, qdd, strict=True)])


def test_the_source_urdf_gets_the_identified_numbers_and_predicts_the_same_torque(tmp_path):
    c = case()
    source = tmp_path / "crane.urdf"
    source.write_text(URDF)
    done = written(c.constrained, tmp_path / "out.urdf", source=source)
    q, qd, qdd = states(np.random.default_rng(0), 3)
    friction = read_joint_dynamics(done.path)
    theta = exportable(c.constrained)
    value = dict(zip(c.model.names, theta, strict=True))
    assert friction == {j: (value[f"{j}.viscous"], value[f"{j}.coulomb"]) for j in c.robot.joint_names}

    rest = np.array([[value[f"{j}.drive_inertia"], value[f"{j}.offset"]] for j in c.robot.joint_names])
    damping, coulomb = np.array(list(friction.values())).T
    found = pinocchio_torque(done.path, c.robot, q, qd, qdd) + damping * qd + coulomb * np.sign(qd)
    expected = torque(c.model, theta, q, qd, qdd)
    assert np.allclose(found + rest[:, 0] * qdd + rest[:, 1], expected, rtol=1e-10, atol=1e-10)
    assert "add it: turn.drive_inertia " in done.notes[0]
    assert "turn.viscous" not in done.notes[0]


def test_only_numbers_change_in_the_source(tmp_path):
    c = case()
    source = tmp_path / "crane.urdf"
    source.write_text(URDF.replace('<link name="base"/>', '<!-- a remark -->  <link name="base"/>'))
    written(c.constrained, tmp_path / "out.urdf", source=source, robot=c.robot)
    assert '<!-- a remark -->  <link name="base"/>' in (tmp_path / "out.urdf").read_text()


@pytest.mark.parametrize("seed", range(6))
def test_a_dh_robot_gets_a_new_urdf_that_predicts_the_same_torque(tmp_path, seed):
    rng = np.random.default_rng(seed)
    n = 4
    _, other = random_pair(rng, n, fixed=False)  # bodies that can exist
    kinds = rng.choice(["revolute", "prismatic"], n)

    def numbers():
        return dict(zip(("a", "alpha", "d", "theta"), rng.uniform(-1.5, 1.5, 4).tolist(), strict=True))

    one, make = (DHJoint, from_dh) if seed % 2 else (MDHJoint, from_mdh)
    limits = Limits(-3.0, 3.0, 1.0, 1.0)  # without them Pinocchio takes a revolute joint for continuous
    table = [
        one(
            limits=limits,
            name=f"j{i}",
            link=f"l{i}",
            kind=str(kinds[i]),
            **numbers(),
            offset=0.3,
            sign=-1 if i == 2 else 1,
        )
        for i in range(n)
    ]
    robot = make("arm", table, gravity=rng.normal(0, 6, 3))
    model = Model(robot)
    estimate = with_theta(robot, model, other.inertials.ravel())
    done = written(estimate, tmp_path / "new.urdf", robot=robot)
    q, qd, qdd = states(rng, n)
    expected = inverse_dynamics(robot, exportable(estimate, robot).reshape(-1, 10), q, qd, qdd)
    found = pinocchio_torque(done.path, robot, q, qd, qdd)
    assert np.allclose(found, expected, rtol=1e-9, atol=1e-9)
    assert "does not state gravity" in done.notes[-1]
    again = read_urdf(done.path, gravity=robot.gravity)
    assert again.joint_names == robot.joint_names
    assert again.links == robot.links


def test_limits_fixed_frames_and_names_of_a_new_urdf():
    from ident.robot.robot import FixedBody

    limited = Limits(-1.0, 2.0, 3.0, 40.0)
    joints = (
        Joint("a<b", "revolute", -1, Pose.identity(), np.array([0.0, 0, 1])),
        Joint("j2", "prismatic", 0, Pose.identity(), np.array([1.0, 0, 0]), np.array([0.1, 0.2, 0.3]), limited),
    )
    robot = Robot("r&d", joints, ("l1", "l2"), fixed=(FixedBody("tool", 1, Pose(np.eye(3), np.array([0.5, 0, 0]))),))
    data, moved = new_urdf(robot)
    again = parse_urdf(data)
    assert b'type="continuous"' in data
    assert again.joint_names == ("a<b", "j2")
    assert again.name == "r&d"
    assert again.joints[1].limits == Limits(-1.0, 2.0, 3.0, 40.0)
    assert np.isinf(again.joints[0].limits.upper)
    assert again.fixed[0].name == "tool"
    assert np.allclose(again.fixed[0].pose.position, [0.4, -0.2, -0.3])
    assert np.allclose(moved[1].position, [-0.1, -0.2, -0.3])


@pytest.mark.parametrize("pitch", [0.3, np.pi / 2, -np.pi / 2, np.pi / 2 - 1e-9, np.pi / 2 - 1e-5])
def test_roll_pitch_yaw_near_the_pole(pitch):
    for roll, yaw in np.random.default_rng(0).uniform(-3, 3, (50, 2)):
        rotation = rpy(roll, pitch, yaw)
        assert np.abs(rpy(*roll_pitch_yaw(rotation)) - rotation).max() < 1e-13


def test_json_explains_itself_and_predicts_the_same_torque(tmp_path):
    c = case()
    done = written(c.constrained, tmp_path / "p.json", robot=c.robot)
    read = json.loads(done.path.read_text())
    theta = exportable(c.constrained, c.robot)
    assert read["format"] == "ident-parameters-1"
    assert read["conventions"]["gravity_m_s2"] == [0.0, 0.0, -9.81]
    parts = ("m", "hx", "hy", "hz", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")
    assert [[link[k] for k in parts] for link in read["links"]] == theta[:30].reshape(-1, 10).tolist()
    units = {t["name"]: t["unit"] for t in read["joint_terms"]}
    assert units["lift.viscous"] == "N m s/rad"
    assert units["reach.viscous"] == "N s/m"
    assert units["reach.drive_inertia"] == "kg"
    assert [t["value"] for t in read["joint_terms"]] == theta[30:].tolist()
    phi = deserved_base(c.constrained, c.constrained.base.K @ theta)
    assert [b["value"] for b in read["base_parameters"]] == phi.tolist()
    assert read["links"][0]["decided_by"]["m"] == "prior"
    assert read["links"][2]["decided_by"]["m"] == "data"

    model, order = pinocchio_model(URDF, c.robot)
    for k, link in enumerate(read["links"]):
        i = [link["about_com"][name] for name in parts[4:]]
        tensor = np.array([[i[0], i[1], i[2]], [i[1], i[3], i[4]], [i[2], i[4], i[5]]])
        joint = model.getJointId(c.robot.joint_names[k])
        model.inertias[joint] = pinocchio.Inertia(link["mass_kg"], np.array(link["com_m"]), tensor)
    data = model.createData()
    q, qd, qdd = states(np.random.default_rng(1), 3)
    found = [pinocchio.rnea(model, data, *s)[order] for s in zip(q, qd, qdd, strict=True)]
    assert np.allclose(found, inverse_dynamics(c.robot, theta[:30].reshape(-1, 10), q, qd, qdd), rtol=1e-10, atol=1e-10)


def test_json_without_a_robot_names_both_units(tmp_path):
    read = json.loads(written(case().constrained, tmp_path / "p.json").path.read_text())
    assert read["conventions"]["gravity_m_s2"] is None
    assert {t["unit"] for t in read["joint_terms"] if t["name"].endswith("viscous")} == {"N m s/rad; N s/m"}


def test_json_gives_the_numbers_of_every_law_with_units(tmp_path):
    """A Stribeck friction or a smooth Coulomb friction means nothing without its speeds and its exponent."""
    rng = np.random.default_rng(2)
    robot = replace(case().robot, inertials=None)
    turns, slides = (next(j.name for j in robot.joints if j.slides is way) for way in (False, True))
    terms = (Viscous(), SmoothCoulomb(0.02), Stribeck(0.15, exponent=1.0), Spring((turns,), rest=0.4), Thermal())
    model = Model(robot, terms)
    loaded = LoadFriction(inertials=random_bodies(rng, robot.n), joints=(slides,))
    model = replace(model, terms=(*terms, loaded))
    theta = np.concatenate([random_bodies(rng, robot.n).ravel(), np.ones(len(model.names) - 10 * robot.n)])
    estimate = replace(estimate_of(robot, model, theta), shapes=model.shapes)
    read = json.loads(export_to("json", estimate, tmp_path / "p.json", robot=robot).path.read_text())
    jsonschema.validate(read, json.loads(Path(formats.__file__).with_name("parameters.schema.json").read_text()))
    told = {t["name"]: t for t in read["joint_terms"]}
    assert {
        name: {k: x["value"] for k, x in t["shape"].items()} for name, t in told.items() if t["shape"]
    } == model.shapes
    assert told[f"{turns}.stribeck"]["shape"] == {
        "speed": {"value": 0.15, "unit": "rad/s"},
        "width": {"value": 0.01, "unit": "rad/s"},
        "exponent": {"value": 1.0, "unit": "1"},
    }
    assert told[f"{slides}.coulomb"]["shape"] == {"tanh": {"value": 0.02, "unit": "m/s"}}
    assert told[f"{slides}.coulomb"]["meaning"] == "torque = value * tanh(qd / tanh)"
    assert told[f"{turns}.viscous"]["shape"] == {}
    assert told[f"{slides}.load_friction"]["shape"]["1 hx"]["unit"] == "kg m"
    assert told[f"{turns}.thermal_viscous"]["shape"]["reference"]["unit"] == "degC"


def told_terms(head: str, names: list[str]) -> list:
    """Return the joint terms of parameters with the numbers that a file's head tells beside them."""
    told = {}
    for line in head.splitlines():
        for those, own in re.findall(r"((?:[\w]+\.\w+, )*[\w]+\.\w+) \(([^()]*)\)(?=[;:,])", line):
            numbers = {k: float(x) for k, x in (n.rsplit(" ", 1) for n in own.split(", "))}
            told |= {name: dict(numbers) for name in those.split(", ")}
        if table := re.search(r"Table of (.+), \w+ about its frame's origin: (.*)\.", line):
            for name in (n for n in names if n in table[1] or n.endswith(f".{table[1]}")):
                told.setdefault(name, {}).update((k, float(x)) for k, x in re.findall(r"(\d+ \w+) ([^ ,]+)", table[2]))
    split = ((name, *name.rpartition(".")[::2]) for name in names)
    return [restored(kind, told.get(name, {}), (joint,)) for name, joint, kind in split]


@pytest.mark.parametrize("form", ["csv", "mat", "ros2"])
def test_a_file_of_parameters_says_all_that_its_joint_terms_need(tmp_path, form):
    """A spring's rest, a balancer's arms, widths and speeds are in the head, and the bodies of load friction."""
    rng = np.random.default_rng(4)
    robot = replace(case().robot, inertials=None)
    first, second = [j.name for j in robot.joints if not j.slides]
    terms = (Viscous(), SmoothCoulomb(0.02), Offset(), Spring((first,), rest=0.4), Spring((second,), rest=-0.1234567))
    if form != "ros2":
        loaded = LoadFriction.of(random_bodies(rng, robot.n).round(6), SmoothCoulomb(0.02, (first,)))
        terms += (Stribeck(0.15, exponent=1.0), loaded, Balancer(0.3, 0.6, 0.15, 0.5, (second,)))
        terms += tuple(Curve(-2.0, 2.0, 3.0, k, (first,)) for k in (1.0, 2.0))
    model = Model(robot, terms)
    theta = np.concatenate([random_bodies(rng, robot.n).ravel(), rng.uniform(1, 2, len(model.names) - 10 * robot.n)])
    estimate = replace(estimate_of(robot, model, theta), shapes=model.shapes)
    theta = exportable(estimate, robot)
    path = export_to(form, estimate, tmp_path / f"p.{form}", robot=robot).path
    if form == "mat":
        read = scipy.io.loadmat(path, simplify_cells=True)
        head, every = read["about"], dict(zip(read["names"], read["theta"].tolist(), strict=True))
    elif form == "csv":
        head = "\n".join(line for line in path.read_text().splitlines() if line.startswith("#"))
        lines = [line.split(",") for line in path.read_text().splitlines() if not line.startswith("#")]
        every = {name: float(value) for name, value, *_ in lines[1:]}
    else:
        head, read = path.read_text(), yaml.safe_load(path.read_text())["/**"]["ros__parameters"]["identified"]
        every = dict(zip(model.names, theta[: 10 * robot.n].tolist(), strict=False))
        every |= {f"{j}.{kind}": x for j, own in read["joints"].items() for kind, x in own.items()}
    values = list(every.values())
    found = Model(robot, tuple(told_terms(head, list(every)[10 * robot.n :])))
    q, qd, qdd = states(rng, robot.n)
    np.testing.assert_allclose(
        torque(found, values, q, qd, qdd), torque(model, theta, q, qd, qdd), rtol=1e-9, atol=1e-9
    )


@pytest.mark.parametrize("same", [True, False])
def test_the_bodies_of_a_load_are_told_once_and_can_be_read(tmp_path, same):
    rng = np.random.default_rng(5)
    robot = replace(case().robot, inertials=None)
    laws = [SmoothCoulomb(0.02, robot.joint_names[:1]), Coulomb(joints=robot.joint_names[1:])]
    tables = [random_bodies(rng, robot.n).round(6) for _ in laws]
    model = Model(robot, tuple(LoadFriction.of(tables[0 if same else k], law) for k, law in enumerate(laws)))
    theta = np.concatenate([random_bodies(rng, robot.n).ravel(), rng.uniform(1, 2, robot.n)])
    estimate = replace(estimate_of(robot, model, theta), shapes=model.shapes)
    text = export_to("csv", estimate, tmp_path / "p.csv", robot=robot).path.read_text()
    head = [line for line in text.splitlines() if line.startswith("#")]
    assert sum("1 hx -" in line or re.search(r"1 hx [\d.]", line) is not None for line in head) == 2 - same
    assert max(map(len, head)) < 500
    names = model.names[10 * robot.n :]
    found = Model(robot, tuple(told_terms("\n".join(head), names)))
    q, qd, qdd = states(rng, robot.n)
    np.testing.assert_allclose(torque(found, theta, q, qd, qdd), torque(model, theta, q, qd, qdd), rtol=1e-9)


def test_a_file_without_a_term_says_that_the_validation_had_it_and_its_law_once(tmp_path):
    rng = np.random.default_rng(4)
    robot = replace(case().robot, inertials=None)
    first = (robot.joint_names[0],)
    curve = tuple(Curve(-2.0, 2.0, 3.0, k, first) for k in (1.0, 2.0))
    loaded = LoadFriction.of(random_bodies(rng, robot.n), SmoothCoulomb(0.02, first))
    model = Model(robot, (Viscous(), loaded, *curve))
    theta = np.concatenate([random_bodies(rng, robot.n).ravel(), [0.2, 0.3, 0.4, 0.25, 1.5, 2.5]])
    estimate = replace(estimate_of(robot, model, theta), shapes=model.shapes)
    for form, words in (("csv", ""), ("c", ""), ("urdf", "load friction and curve of the pos")):
        done = export_to(form, estimate, tmp_path / "out", robot=robot)
        said = f", with {words}" if words else "."
        assert f"Validation passed: in a test{said}" in done.path.read_text()
    assert done.notes[0].startswith(
        f"Not in this file, the controller has to add it: {first[0]}.load_friction 0.2, {first[0]}.curve1 1.5, "
    )
    assert done.notes[0].count("B-spline") == 1


def test_the_numbers_of_every_law_have_units():
    every = {(term.kind.name, x): units_of(f"j.{term.kind.name}", x) for term in TERMS for x in numbers(term)}
    assert all("SI" not in units for units in every.values())
    assert every["stiffness", "rest"] == every["coulomb", "dahl"] == ("rad", "m")
    assert every["warm_up", "time"] == ("s", "s")
    assert every["balancer", "crank"] == ("m", "m")
    assert {x for (_, x), units in every.items() if units == ("1", "1")} == {
        "power", "element", "exponent", "ratio", "per_turn", "intervals"
    }  # fmt: skip


def infeasible(estimate):
    theta = estimate.theta.copy()
    theta[0] = -1.0
    return replace(estimate, theta=theta)


@pytest.mark.parametrize("ending", ["json", "urdf"])
def test_what_is_refused_leaves_no_file(tmp_path, ending):
    c = case()
    path = tmp_path / f"out.{ending}"
    with pytest.raises(EstimationError, match=r"'wls' determines base parameters only, .* Use the constrained fit"):
        written(c.wls, path, robot=c.robot)
    with pytest.raises(InfeasibleError, match=r"tower cannot exist \(m > 0 fails: m = -1 kg.*nothing was exported"):
        written(infeasible(c.constrained), path, robot=c.robot)
    other = replace(c.robot, links=("a", "b", "c"))
    with pytest.raises(ModelError, match="has links tower, arm, slider, robot 'crane' has a, b, c"):
        written(c.constrained, path, robot=other)
    assert list(tmp_path.iterdir()) == []


def test_an_inertia_that_is_infeasible_by_a_hair_is_refused(tmp_path):
    c = case()
    theta = c.constrained.theta.copy()
    theta[4:10] = [1.0, 0, 0, 1.0, 0, 2.0]  # a flat plate about its centre: the very edge
    theta[0:4] = [1.0, 0, 0, 0]
    written(replace(c.constrained, theta=theta), tmp_path / "edge.json")
    theta[9] = 2.00000000001
    with pytest.raises(InfeasibleError, match="tower cannot exist"):
        written(replace(c.constrained, theta=theta), tmp_path / "beyond.json")


def test_the_head_of_a_urdf_names_frames_that_a_simulator_gives_a_mass(tmp_path):
    from ident.robot import FixedBody

    c = case()
    robot = replace(c.robot, fixed=())
    tool = replace(robot, fixed=(FixedBody("tool", 1, Pose.identity()),))
    plain, with_tool = (
        export_to("urdf", c.constrained, tmp_path / "r.urdf", robot=r, unvalidated=True).path.read_text()
        for r in (robot, tool)
    )
    assert "PyBullet" not in plain
    assert with_tool.count("Without inertial: tool. PyBullet") == 1
    again = export_to("urdf", c.constrained, tmp_path / "s.urdf", source=tmp_path / "r.urdf", unvalidated=True)
    assert again.path.read_text().count("PyBullet") == 1


def test_other_refusals(tmp_path):
    c = case()
    with pytest.raises(ModelError, match="a URDF needs the geometry of the robot"):
        written(c.constrained, tmp_path / "out.urdf")
    negative = c.constrained.theta.copy()
    negative[c.model.index("lift.viscous")] = -0.1
    with pytest.raises(ModelError, match=r"lift\.viscous is -0\.1, wanted at least 0"):
        written(replace(c.constrained, theta=negative), tmp_path / "out.urdf", robot=c.robot)
    frame = c.constrained.theta.copy()
    frame[:10] = 0.0
    for form, who in (("sdf", "no such link"), ("mjcf", "MuJoCo moves no body")):
        with pytest.raises(InfeasibleError, match=rf"^{form}: .*{who}.* Of several formats leave this one out\.$"):
            export_to(form, replace(c.constrained, theta=frame), tmp_path / "x", robot=c.robot, unvalidated=True)
    assert list(tmp_path.iterdir()) == []
