"""Ripple: torques that repeat with a joint's position, several waves on one joint."""

from __future__ import annotations

import ctypes
import json

import numpy as np
import pytest
from identified import require_lossless
from oracles import random_tree
from seeds import cases
from test_balancer import written
from test_export_controllers import c_library, module

from ident.errors import ConfigError, ModelError
from ident.estimate import cad_prior, estimated, fitted_model
from ident.estimate.storage import load_estimate, save_estimate
from ident.experiment import read_experiment
from ident.export.formats import export_to
from ident.logs.motion import Motion
from ident.model import DriveInertia, Model, RippleCosine, RippleSine, torque
from ident.model.term import pull_back
from ident.model.terms import kind_of
from ident.regression import compress
from ident.report.text import unit

WAVES = np.array([1.5, -0.7, 0.4, 0.3])


@pytest.mark.parametrize("seed", range(cases(4)))
def test_torque_is_the_slope_of_the_energy_and_the_same_after_a_turn(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 12))
    robot = random_tree(rng, 1)
    q, still, step = rng.uniform(-4, 4, 50), np.zeros(50), 1e-6
    for term, wave in (
        (RippleSine(n), lambda x: np.exp(1j * n * x).imag),
        (RippleCosine(n), lambda x: np.exp(1j * n * x).real),
    ):
        column = term.column(q, still, still)
        np.testing.assert_allclose(column, wave(q), atol=1e-12)
        np.testing.assert_allclose(column, term.column(q + 2 * np.pi, still, still), atol=1e-10)
        slope = (term.energy(q + step) - term.energy(q - step)) / (2 * step)
        np.testing.assert_allclose(column, slope, atol=1e-8)
        assert term.energy(np.zeros(1)) == 0.0
        motion = (q[:, None], still[:, None], still[:, None])
        found = pull_back(term, robot, *motion, np.ones((1, 50)))
        np.testing.assert_allclose(found[0, :, 0], (wave(q + step) - wave(q - step)) / (2 * step), atol=1e-7)
        assert not found[1:].any()


@pytest.fixture(scope="module")
def fitted():
    """Return an estimate and its model: waves of 3 and of 256.857 per turn on one joint, found in a motion."""
    rng = np.random.default_rng(3)
    robot = random_tree(rng, 2, branches=False, sliding=False)
    joint = (robot.joint_names[1],)
    waves = tuple(kind(n, joint) for n in (3.0, 256.857) for kind in (RippleSine, RippleCosine))
    model = Model(robot, (DriveInertia(), *waves))
    theta = np.concatenate([robot.inertials.ravel(), [0.4, 0.4], WAVES])
    q, qd, qdd = rng.uniform(-2, 2, (3, 3000, 2))
    tau = torque(model, theta, q, qd, qdd) + 0.05 * rng.standard_normal(q.shape)
    motion = Motion("log", np.arange(3000) * 0.01, q, qd, qdd, tau, np.ones(q.shape, dtype=bool))
    return estimated(model, compress(model, [motion]), cad_prior(robot, robot.inertials, "CAD")), model


def test_the_fit_finds_each_wave_and_the_file_keeps_it(fitted, tmp_path):
    estimate, model = fitted
    assert model.names[-2:] == ("joint2.ripple_sine256_857", "joint2.ripple_cosine256_857")
    assert estimate.theta[-4:] == pytest.approx(WAVES, abs=0.01)
    errors = estimate.covariance.standard_errors[[estimate.base.names.index(name) for name in model.names[-4:]]]
    assert (np.abs(estimate.theta[-4:] - WAVES) < 4 * errors).all()
    again = load_estimate(save_estimate(estimate, tmp_path / "e.json"))
    assert fitted_model(again, model.robot).terms[1:] == model.terms[1:]
    assert unit(model.names[-1]) == "N m"


def test_a_simulation_has_it(fitted):
    estimate, model = fitted
    require_lossless(model, estimate.theta, [0.0, 0.1], seconds=0.1, step=1e-4)


@pytest.mark.slow
def test_files_have_it(fitted, tmp_path):
    estimate, model = fitted
    forms = (("c", "h"), ("python", "py"), ("cpp", "hpp"), ("casadi", "casadi.py"), ("matlab", "m"), ("json", "json"))
    done = [export_to(f, estimate, tmp_path / f"arm.{e}", robot=model.robot, unvalidated=True) for f, e in forms]
    assert all(one.notes == () for one in done)
    assert "joint2.ripple_sine3 (per_turn 3)" in done[0].path.read_text()
    told = {x["name"]: x for x in json.loads(done[-1].path.read_text())["joint_terms"]}
    assert told["joint2.ripple_cosine256_857"]["meaning"] == "torque = value * cos(waves per turn * q)"
    note, *_ = export_to("mjcf", estimate, tmp_path / "arm.xml", robot=model.robot, unvalidated=True).notes
    assert "ripple_sine: torque = value * sin(waves per turn * q)" in note
    library, python = c_library(done[0].path), module(done[1].path)
    for state in np.random.default_rng(1).normal(0, 0.5, (20, 3, 2)):
        found = np.empty(2)
        library("inverse_dynamics")(*(ctypes.c_void_p(x.ctypes.data) for x in (*state, found)))
        np.testing.assert_allclose(found, torque(model, estimate.theta, *state[:, None])[0], rtol=1e-2, atol=1e-2)
        np.testing.assert_allclose(python.inverse_dynamics(*state), found, rtol=1e-9, atol=1e-9)


def test_a_table_asks_for_both_phases_of_each_wave(tmp_path):
    experiment = read_experiment(written(tmp_path, 'ripple = [{ per_turn = 1 }, { per_turn = 6, joints = ["elbow"] }]'))
    own = [term for term in experiment.terms if term.kind.key == "ripple"]
    assert own == [RippleSine(1.0), RippleCosine(1.0), RippleSine(6.0, ("elbow",)), RippleCosine(6.0, ("elbow",))]


def test_waves_that_cannot_be_are_named(tmp_path):
    for given, message in (
        ("{ per_turn = 0 }", r"model\.ripple\.per_turn: is 0, wanted a number of waves above 0"),
        ("true", r"model\.ripple: is true, wanted a table such as \{ per_turn = 6 \}, or a list of such tables"),
        ("{ joints = ['elbow'] }", r"model\.ripple\.per_turn: is missing, wanted a number of waves above 0"),
    ):
        with pytest.raises(ConfigError, match=message):
            read_experiment(written(tmp_path, f"ripple = {given}"))
    with pytest.raises(ModelError, match=r"parameter 'joint1\.ripple_sine2' comes from two terms"):
        Model(random_tree(np.random.default_rng(0), 1), (RippleSine(2.0), RippleSine(2.0)))
    assert kind_of("joint1.ripple_sinus3") is None
