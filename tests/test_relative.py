"""Friction between two joints: of their relative speed, on both of them."""

from __future__ import annotations

import ctypes
import json

import numpy as np
import pytest
from oracles import random_tree
from test_balancer import written
from test_export_controllers import c_library, module

from ident.errors import ConfigError
from ident.estimate import cad_prior, estimated, fitted_model
from ident.estimate.storage import load_estimate, save_estimate
from ident.experiment import read_experiment
from ident.export.formats import export_to
from ident.logs.motion import Motion
from ident.model import Model, RelativeCoulomb, RelativeViscous, SmoothCoulomb, Viscous, torque
from ident.model.term import columns, pull_back
from ident.regression import compress
from ident.simulation import acceleration, plant

RATIO, WIDTH = -0.5, 0.2
FRICTION = np.array([0.8, 0.6, 1.2, 2.0])


@pytest.mark.parametrize("law", [lambda v: v, lambda v: np.tanh(v / WIDTH)])
def test_it_takes_power_from_the_relative_speed_alone(law) -> None:
    """By virtual power: tau_a qd_a + tau_b qd_b = F(v) v; slopes against differences."""
    rng = np.random.default_rng(0)
    robot, x = random_tree(rng, 4), rng.normal(size=(3, 50, 4))
    a, b = robot.joint_names[3], robot.joint_names[1]
    term = RelativeViscous(RATIO, (a, b)) if law(2.0) == 2.0 else RelativeCoulomb(RATIO, (a, b), WIDTH)
    model, qd = Model(robot, (term,)), x[1]
    v = qd[:, 3] - RATIO * qd[:, 1]
    tau = torque(model, np.append(np.zeros(40), 1.0), *x)
    np.testing.assert_allclose(tau[:, [3, 1]], np.stack([law(v), -RATIO * law(v)], 1), atol=1e-12)
    assert not tau[:, [0, 2]].any()
    np.testing.assert_allclose(np.sum(tau * qd, axis=1), law(v) * v, atol=1e-12)
    weights, step = rng.normal(size=(2, 50)), 1e-6
    found = pull_back(term, robot, *x, weights)
    for j in range(4):
        by = step * np.eye(4)[j]
        ahead, behind = (np.sum(weights * columns(term, robot, x[0], qd + way * by, x[2]), axis=0) for way in (1, -1))
        np.testing.assert_allclose(found[1][:, j], (ahead - behind) / (2 * step), atol=1e-6)
    assert not found[[0, 2]].any()


@pytest.fixture(scope="module")
def fitted():
    """Return an estimate and its model: jaws that rub on each other besides on their own."""
    rng = np.random.default_rng(3)
    robot = random_tree(rng, 2, branches=False, sliding=False)
    pair = robot.joint_names
    own = (Viscous(), SmoothCoulomb(0.01))
    model = Model(robot, (*own, RelativeViscous(RATIO, pair), RelativeCoulomb(RATIO, pair, 0.05)))
    theta = np.concatenate([robot.inertials.ravel(), FRICTION, FRICTION[2:]])
    q, qd, qdd = rng.uniform(-2, 2, (3, 3000, 2))
    tau = torque(model, theta, q, qd, qdd) + 0.05 * rng.standard_normal(q.shape)
    motion = Motion("log", np.arange(3000) * 0.01, q, qd, qdd, tau, np.ones(q.shape, dtype=bool))
    return model, motion, cad_prior(robot, robot.inertials, "CAD")


def test_the_fit_tells_it_from_friction_of_each_joint_and_the_file_keeps_it(fitted, tmp_path) -> None:
    model, motion, prior = fitted
    estimate = estimated(model, compress(model, [motion]), prior)
    assert model.names[-2:] == ("joint1:joint2.relative_viscous", "joint1:joint2.relative_coulomb")
    assert estimate.theta[20:] == pytest.approx([*FRICTION, *FRICTION[2:]], abs=0.02)
    again = load_estimate(save_estimate(estimate, tmp_path / "e.json"))
    assert fitted_model(again, model.robot).terms[-2:] == model.terms[-2:]
    forms = (("c", "h"), ("python", "py"), ("cpp", "hpp"), ("casadi", "casadi.py"), ("matlab", "m"), ("json", "json"))
    done = [export_to(f, estimate, tmp_path / f"arm.{e}", robot=model.robot, unvalidated=True) for f, e in forms]
    assert all(one.notes == () for one in done)
    assert "joint1:joint2.relative_coulomb (ratio -0.5, tanh 0.05)" in done[0].path.read_text()
    told = {x["name"]: x for x in json.loads(done[-1].path.read_text())["joint_terms"]}
    assert told["joint1:joint2.relative_viscous"]["meaning"].startswith("torque = value * v on the first joint")
    library, python = c_library(done[0].path), module(done[1].path)
    assert library("self_test")() == 0
    for state in np.random.default_rng(1).normal(0, 0.5, (20, 3, 2)):
        found = np.empty(2)
        library("friction")(*(ctypes.c_void_p(x.ctypes.data) for x in (state[1], found)))
        rigid = torque(Model(model.robot), estimate.theta[:20], *state[:, None])[0]
        np.testing.assert_allclose(found + rigid, torque(model, estimate.theta, *state[:, None])[0], atol=2e-2)
        np.testing.assert_allclose(python.friction(state[1]), found, rtol=1e-9, atol=1e-9)


def test_simulations_lose_the_power_that_it_takes(fitted) -> None:
    model, _, prior = fitted
    jaws = plant(model, np.concatenate([prior.inertials.ravel(), np.zeros(4), FRICTION[:2]]))
    x = np.random.default_rng(0).normal(size=(3, 20, 2))
    theta = np.concatenate([prior.inertials.ravel(), np.zeros(4), FRICTION[:2]])
    np.testing.assert_allclose(acceleration(jaws, x[0], x[1], torque(model, theta, *x)), x[2], rtol=1e-8, atol=1e-8)
    assert "between two joints" in jaws.friction_law


def test_an_experiment_asks_for_it_by_two_joints(tmp_path) -> None:
    given = 'relative_viscous = { joints = ["elbow", "shoulder"], ratio = -1 }\n'
    given += 'relative_coulomb = { joints = ["elbow", "shoulder"] }'
    own = [term for term in read_experiment(written(tmp_path, given)).terms if isinstance(term, RelativeViscous)]
    assert own == [RelativeViscous(-1.0, ("elbow", "shoulder")), RelativeCoulomb(1.0, ("elbow", "shoulder"))]
    for given, message in (
        ("true", "viscous friction between two joints needs two joints, got \\[\\]"),
        ("{ joints = ['elbow'] }", "needs two joints, got \\['elbow'\\]"),
        ("{ joints = ['elbow', 'elbow', 'shoulder', 'elbow'] }", "needs two joints, got .*Name two different joints"),
        ("{ joints = ['elbow', 'shoulder'], ratio = 0 }", r"\.ratio: is 0, wanted a number that is not 0"),
    ):
        with pytest.raises(ConfigError, match=message):
            read_experiment(written(tmp_path, f"relative_viscous = {given}"))
