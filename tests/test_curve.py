"""A smooth curve of a joint's position: cubic B-splines, each element a parameter."""

from __future__ import annotations

import ctypes
from dataclasses import replace

import numpy as np
import pytest
from identified import require_lossless
from oracles import random_tree
from scipy.interpolate import BSpline
from seeds import cases
from test_balancer import written
from test_export_controllers import c_library, module

from ident.errors import ConfigError, ModelError
from ident.estimate import cad_prior, estimated, fitted_model
from ident.estimate.storage import load_estimate, save_estimate
from ident.experiment import build_model, read_experiment
from ident.export.formats import export_to
from ident.logs.motion import Motion
from ident.model import Curve, DriveInertia, Model, Offset, torque
from ident.model.term import pull_back
from ident.regression import base_parameters, compress
from ident.robot import Limits, read_robot


@pytest.mark.parametrize("seed", range(cases(4)))
def test_elements_are_scipys_b_splines_level_beyond_the_ends(seed) -> None:
    rng = np.random.default_rng(seed)
    low, m = rng.uniform(-3, 1), int(rng.integers(2, 12))
    high = low + rng.uniform(0.1, 5)
    h = (high - low) / m
    knots = low + h * np.arange(-3, m + 4)
    q, step, still = rng.uniform(low - 1, high + 1, 60), 1e-6, np.zeros(60)
    terms, inside = Curve(low, high, m).elements(), np.clip(q, low, high)
    assert len(terms) == m + 2
    for term in terms:
        k = int(term.element)
        wanted = BSpline.basis_element(knots[k : k + 5], extrapolate=False)(inside)
        np.testing.assert_allclose(term.column(q, still, still), np.nan_to_num(wanted), atol=1e-9)
        slope = (term.energy(q + step) - term.energy(q - step)) / (2 * step)
        np.testing.assert_allclose(term.column(q, still, still), slope, atol=1e-6)
    robot = random_tree(rng, 1)
    found = pull_back(terms[1], robot, *(x[:, None] for x in (inside, still, still)), np.ones((1, 60)))
    away = (inside > low + 1e-3) & (inside < high - 1e-3)
    ahead, behind = (terms[1].column(inside + way * step, still, still) for way in (1, -1))
    np.testing.assert_allclose(found[0, away, 0], ((ahead - behind) / (2 * step))[away], atol=1e-4 / h)
    assert not found[1:].any()


def cable(q: np.ndarray) -> np.ndarray:
    """Return the torque [N m] of a cable that is taut on one side."""
    return 1.5 * np.log1p(np.exp(4.0 * q)) - 2.0


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(3)
    robot = random_tree(rng, 2, branches=False, sliding=False)
    plain = Model(robot, (DriveInertia(), Offset()))
    model = replace(plain, terms=(*plain.terms, *Curve(-1.5, 1.5, 6, joints=(robot.joint_names[1],)).elements()))
    theta = np.concatenate([robot.inertials.ravel(), [0.4, 0.4, 0.1, 0.2]])

    def motion(seed: int) -> Motion:
        q, qd, qdd = np.random.default_rng(seed).uniform(-1.5, 1.5, (3, 3000, 2))
        tau = torque(plain, theta, q, qd, qdd) + 0.05 * np.random.default_rng(seed).standard_normal(q.shape)
        tau[:, 1] += cable(q[:, 1])
        return Motion("log", np.arange(3000) * 0.01, q, qd, qdd, tau, np.ones(q.shape, dtype=bool))

    prior = cad_prior(robot, robot.inertials, "CAD")
    return plain, model, prior, estimated(model, compress(model, [motion(1)]), prior), motion


def missed(model: Model, theta: np.ndarray, m: Motion) -> float:
    return float(np.sqrt(np.mean((torque(model, theta, m.q, m.qd, m.qdd) - m.tau)[:, 1] ** 2)))


def test_the_fit_follows_a_cable_and_the_file_keeps_it(fitted, tmp_path) -> None:
    plain, model, prior, estimate, motion = fitted
    assert set(model.names[20:]) <= {*base_parameters(model).identifiable, "joint1.drive_inertia"}
    other = motion(2)
    without = estimated(plain, compress(plain, [motion(1)]), prior)
    assert missed(model, estimate.theta, other) < 1.1 * 0.05  # the noise
    assert missed(plain, without.theta, other) > 8 * 0.05
    again = load_estimate(save_estimate(estimate, tmp_path / "e.json"))
    assert fitted_model(again, model.robot).terms[2:] == model.terms[2:]


def test_positions_that_no_row_has_are_bridged_by_little_bending(fitted) -> None:
    """A log without the middle of the range: there the curve goes on as it has to, and no element runs away."""
    _, model, prior, whole, motion = fitted
    log = motion(1)
    apart = np.repeat(np.abs(log.q[:, 1:] + 0.3) > 0.5, 2, axis=1)
    estimate = estimated(model, compress(model, [replace(log, keep=apart)]), prior)
    q = np.linspace(-1.5, 1.5, 50)
    curves = [
        e.theta[23] + sum(c * t.column(q, q, q) for c, t in zip(e.theta[24:], model.terms[2:], strict=True))
        for e in (estimate, whole)
    ]
    assert np.abs(curves[0] - curves[1]).max() < 0.25  # of 6 N m


@pytest.mark.slow
def test_simulations_and_files_have_it(fitted, tmp_path) -> None:
    _, model, _, estimate, _ = fitted
    require_lossless(model, estimate.theta, [0.0, 0.1], seconds=0.1, step=1e-4)
    forms = (("c", "h"), ("python", "py"), ("cpp", "hpp"), ("casadi", "casadi.py"), ("matlab", "m"), ("json", "json"))
    done = [export_to(f, estimate, tmp_path / f"arm.{e}", robot=model.robot, unvalidated=True) for f, e in forms]
    assert all(one.notes == () for one in done)
    library, python = c_library(done[0].path), module(done[1].path)
    assert library("self_test")() == 0
    for state in np.random.default_rng(1).normal(0, 1.0, (20, 3, 2)):
        found = np.empty(2)
        library("inverse_dynamics")(*(ctypes.c_void_p(x.ctypes.data) for x in (*state, found)))
        np.testing.assert_allclose(found, torque(model, estimate.theta, *state[:, None])[0], rtol=1e-2, atol=1e-2)
        np.testing.assert_allclose(python.inverse_dynamics(*state), found, rtol=1e-9, atol=1e-9)


def test_an_experiment_asks_for_a_whole_curve(tmp_path) -> None:
    given = 'curve = { low = -1, high = 2, intervals = 3, joints = ["elbow"] }'
    experiment = read_experiment(written(tmp_path, given))
    robot = read_robot(experiment.robot)
    model = build_model(experiment, robot)
    assert [n for n in model.names if "curve" in n] == [f"elbow.curve{k}" for k in range(1, 6)]
    within = replace(experiment, terms=(Curve(joints=("elbow",)),))
    joints = tuple(replace(j, limits=replace(j.limits, lower=-1.0, upper=2.0)) for j in robot.joints)
    assert build_model(within, replace(robot, joints=joints)).terms[0].low == -1.0
    free = replace(robot, joints=tuple(replace(j, limits=Limits()) for j in robot.joints))
    with pytest.raises(ConfigError, match=r"model\.curve: joint 'elbow' has no limits .*\. Give low and high"):
        build_model(within, free)
    for given, message in (
        ("{ low = 1 }", "a curve needs two ends, the lower one first, got 1 and nan"),
        ("{ low = 1, high = 1 }", "got 1 and 1"),
        ("{ intervals = 2.5 }", r"curve\.intervals: is 2.5, wanted a whole number from 2 to 50"),
        ("{ low = 0, high = 1, element = 99 }", "a curve of 5 intervals has no element 99"),
    ):
        with pytest.raises(ConfigError, match=message):
            read_experiment(written(tmp_path, f"curve = {given}"))
    with pytest.raises(ModelError, match="intervals of curve of the position is 1, wanted a whole number from 2 to 50"):
        Curve(0.0, 1.0, 1.0)
