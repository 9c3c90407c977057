"""Balancers: cylinders and coil springs on a crank, with their geometry given, or only the joint that has one."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import pytest
from identified import require_lossless
from oracles import random_tree
from seeds import cases
from test_cli import BROKEN, EXPERIMENT
from test_export_controllers import c_library, module

from ident.errors import ConfigError, ModelError
from ident.estimate import cad_prior, estimated, fitted_model
from ident.estimate.storage import load_estimate, save_estimate
from ident.experiment import read_experiment
from ident.export.formats import export_to
from ident.logs.motion import Motion
from ident.model import Balancer, BalancerSpring, DriveInertia, Model, torque
from ident.model.springs import upright
from ident.model.term import pull_back
from ident.pipelines.loaded import load
from ident.regression import compress
from ident.simulation import plant, simulate_fixed

#: KUKA KR300 R2500 ultra: distances [m], dead point, gas volume over piston area (README of its data).
KR300 = Balancer(np.radians(-95.0), 0.8, 0.2, 0.00096 / (np.pi * (0.055**2 - 0.030**2) / 4))


def drawn(rng: np.random.Generator) -> Balancer:
    fixed, crank = rng.uniform(0.3, 1.0), rng.uniform(0.05, 0.25)
    return Balancer(rng.uniform(-3, 3), fixed, crank, float(rng.choice([0.0, 2.5 * crank, -crank])))


@pytest.mark.parametrize("seed", range(cases(6)))
def test_torque_is_the_slope_of_the_energy(seed):
    rng = np.random.default_rng(seed)
    gas = drawn(rng)
    q, still, step = rng.uniform(-4, 4, 50), np.zeros(50), 1e-6
    for term in (gas, BalancerSpring(gas.dead, gas.fixed, gas.crank)):
        slope = (term.energy(q + step) - term.energy(q - step)) / (2 * step)
        np.testing.assert_allclose(term.column(q, still, still), slope, rtol=1e-6, atol=1e-9)
        assert term.energy(np.array([term.dead])) == pytest.approx(0.0, abs=1e-12)
        robot = random_tree(rng, 1)
        slope = pull_back(
            term, robot, *q.reshape(1, -1, 1) * np.array([1.0, 0.0, 0.0])[:, None, None], np.ones((1, 50))
        )
        ahead = term.column(q + 1e-30j, still, still).imag / 1e-30
        np.testing.assert_allclose(slope[0, :, 0], ahead, rtol=1e-5, atol=1e-8)
        assert not slope[1:].any()


def test_an_accumulator_is_its_pressure_times_its_piston():
    """The law as the README of the data prints it: pressure of the gas, piston area, lever of the cylinder."""
    q = np.radians(np.linspace(-140, 40, 50))
    delta, D, k, rest, area = q + np.radians(95.0), 0.8, 0.2, 0.6, np.pi * (0.055**2 - 0.030**2) / 4
    longer = np.sqrt(D**2 + k**2 - 2 * D * k * np.cos(delta)) - rest
    pressure = 1.01 * 296.8 * 328 * 0.159 / (0.00096 - longer * area)
    printed = D * k * np.sin(delta) / (longer + rest) * pressure * area
    force = 1.01 * 296.8 * 328 * 0.159 / 0.00096 * area
    np.testing.assert_allclose(force * KR300.column(q, q, q), printed, rtol=1e-9)


def test_where_the_gas_has_no_room_it_is_said():
    robot = random_tree(np.random.default_rng(0), 1, sliding=False)
    model, still = Model(robot, (Balancer(0.0, 0.5, 0.2, 0.3),)), np.zeros((1, 1))
    with pytest.raises(ModelError, match=r"at 3\.142 rad the balancer is longer than its gas has room for \(0\.3 m\)"):
        model.term_columns(still + np.pi, still, still)
    arm = plant(model, [*robot.inertials.ravel(), 900.0])  # where the joint never is, nothing is refused
    assert np.isfinite(simulate_fixed(arm, [0.1], [0.0], 0.1, 1e-3).q).all()
    with pytest.raises(ModelError, match=r"two different lengths above 0, got 0\.2 and 0\.2"):
        Balancer(0.0, 0.2, 0.2)
    with pytest.raises(ModelError, match="dead point is not given"):
        Model(robot, (Balancer(),)).term_columns(still, still, still)


@pytest.mark.parametrize("seed", range(cases(4)))
def test_upright_is_where_the_potential_energy_of_the_links_is_highest(seed):
    robot = random_tree(np.random.default_rng(seed), 3, branches=False)
    arm = plant(Model(robot), robot.inertials.ravel())
    for joint in range(3):
        if robot.joints[joint].slides:
            for term in (Balancer(joints=(robot.joint_names[joint],)), BalancerSpring(0.0, 0.5, 0.2)):
                with pytest.raises(ModelError, match="slides, and a balancer's crank turns"):
                    term.at_work((), robot, robot.inertials)
            continue
        q = np.zeros((721, 3))
        q[:, joint] = np.linspace(-np.pi, np.pi, 721)
        found = np.zeros((1, 3))
        found[0, joint] = upright(robot, robot.inertials, joint)
        assert arm.potential(found)[0] >= arm.potential(q).max() - 1e-9


@pytest.fixture(scope="module")
def fitted():
    """Return an estimate and its model: two balancers on one joint of an arm, found in a motion."""
    rng = np.random.default_rng(7)
    robot = random_tree(rng, 2, branches=False, sliding=False)
    joint = (robot.joint_names[1],)
    terms = (DriveInertia(), Balancer(0.3, 0.6, 0.15, 0.5, joint), BalancerSpring(0.3, 0.6, 0.15, joint))
    model = Model(robot, terms)
    theta = np.concatenate([robot.inertials.ravel(), [0.4, 0.4, 900.0, 4000.0]])
    q, qd, qdd = rng.uniform(-2, 2, (3, 2000, 2))
    tau = torque(model, theta, q, qd, qdd)
    motion = Motion("log", np.arange(2000) * 0.01, q, qd, qdd, tau, np.ones(q.shape, dtype=bool))
    prior = cad_prior(robot, robot.inertials, "CAD")
    return estimated(model, compress(model, [motion]), prior), model


def test_the_fit_finds_the_force_and_the_file_keeps_the_geometry(fitted, tmp_path):
    estimate, model = fitted
    assert estimate.theta[-2:] == pytest.approx([900.0, 4000.0], rel=1e-3)
    again = load_estimate(save_estimate(estimate, tmp_path / "e.json"))
    assert fitted_model(again, model.robot).terms[1:] == model.terms[1:]


def test_a_simulation_has_it(fitted):
    estimate, model = fitted
    require_lossless(model, estimate.theta, [0.0, 0.5], seconds=0.2, step=1e-4)


@pytest.mark.slow
def test_code_has_it(fitted, tmp_path):
    estimate, model = fitted
    forms = (("c", "h"), ("python", "py"), ("cpp", "hpp"), ("casadi", "casadi.py"), ("matlab", "m"))
    done = [export_to(f, estimate, tmp_path / f"arm.{e}", robot=model.robot, unvalidated=True) for f, e in forms]
    assert all(one.notes == () for one in done)
    library, python = c_library(done[0].path), module(done[1].path)
    for state in np.random.default_rng(1).normal(0, 0.5, (20, 3, 2)):
        found = np.empty(2)
        library("inverse_dynamics")(*(ctypes.c_void_p(x.ctypes.data) for x in (*state, found)))
        expected = torque(model, estimate.theta, *state[:, None])[0]
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-2)  # written with fewer digits
        np.testing.assert_allclose(python.inverse_dynamics(*state), found, rtol=1e-9, atol=1e-9)


def written(folder: Path, model: str, upright: bool = True) -> Path:
    for file in ("robot.toml", "dataset.toml", "cad.csv"):
        (folder / file).write_bytes((BROKEN / "experiment" / file).read_bytes())
    flat = (folder / "robot.toml").read_text(encoding="utf-8")
    (folder / "robot.toml").write_text(
        f"mounting_rpy = [1.5707963, 0, 0]\n{flat}" if upright else flat, encoding="utf-8"
    )
    text = EXPERIMENT[: EXPERIMENT.index("[processing]")].replace('truth = "truth.toml"\n', "")
    (folder / "experiment.toml").write_text(f"{text}[model]\n{model}\n", encoding="utf-8")
    return folder


def test_a_joint_alone_is_enough_and_what_is_assumed_is_said(tmp_path):
    loaded = load(written(tmp_path, 'balancer = { joints = ["shoulder"] }'))
    (found,) = (term for term in loaded.model.terms if isinstance(term, Balancer))
    assert found.joints == ("shoulder",)
    assert found.dead == pytest.approx(upright(loaded.robot, loaded.cad, 0), abs=1e-3)
    assert any("balancer of 'shoulder' is taken to have no lever at" in note for note in loaded.notes)
    assert not loaded.experiment.own_model  # the logs have their say in the other terms


def test_a_geometry_that_is_given_is_taken(tmp_path):
    loaded = load(written(tmp_path, "balancer = { dead = -1.6, fixed = 0.4, crank = 0.1, gas = 0.3 }\ncoulomb = true"))
    assert Balancer(-1.6, 0.4, 0.1, 0.3) in loaded.model.terms
    assert not any("balancer" in note for note in loaded.notes)
    assert loaded.experiment.own_model


def test_arms_that_cannot_be_are_named(tmp_path):
    with pytest.raises(ConfigError, match=r"model\.balancer: a balancer's arms must be two different lengths"):
        read_experiment(written(tmp_path, "balancer = { dead = 0.0, fixed = 0.4, crank = 0.4 }"))


@pytest.mark.parametrize("geometry", ["dead = -1.6", "dead = -1.6, crank = 0.2", "fixed = 0.4"])
def test_a_part_of_the_geometry_is_refused(tmp_path, geometry):
    with pytest.raises(ConfigError, match="alone says too little") as caught:
        read_experiment(written(tmp_path, f"balancer = {{ {geometry} }}"))
    assert caught.value.key == "model.balancer"


def test_where_gravity_turns_nothing_the_dead_point_has_to_be_given(tmp_path):
    folder = written(tmp_path, 'balancer = { joints = ["elbow"] }', upright=False)
    with pytest.raises(ConfigError, match=r"model\.balancer: gravity does not turn joint 'elbow'"):
        load(folder)
