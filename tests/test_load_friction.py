"""Friction that grows with the load on the joint: its column, what a fit makes of it, and who takes it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import complex_dynamics
import numpy as np
import pytest
from identified import case, moved
from oracles import pin_torque, pin_tree, random_bodies, random_tree
from seeds import cases
from test_balancer import written
from test_cli import TRUE
from test_config import GOOD, beside
from test_warm_up import moved as swung

from ident.errors import ConfigError, ModelError
from ident.estimate import Prior, estimated, neutral_prior
from ident.experiment import read_experiment
from ident.export.formats import export_to
from ident.model import Coulomb, Dahl, DriveInertia, LoadFriction, Model, Offset, SmoothCoulomb, Viscous, torque
from ident.model.term import columns, entries, names, pull_back
from ident.pipelines.identify import run, validate
from ident.pipelines.loaded import load
from ident.pipelines.select import SETTLED, identified_load
from ident.regression import compress
from ident.report.drawings import friction_law
from ident.simulation import ComputedTorque, acceleration, plant, rollouts, simulate, simulate_fixed


@pytest.mark.parametrize("seed", range(cases(10)))
def test_the_column_is_the_load_by_pinocchio_times_the_law(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 7))
    robot = random_tree(rng, n, points=True)
    bodies = random_bodies(rng, n)
    q, qd, qdd = rng.uniform(-2, 2, (3, 40, n))
    own = tuple(rng.choice(robot.joint_names, size=int(rng.integers(1, n + 1)), replace=False).tolist())
    at = [robot.joint_names.index(joint) for joint in own]
    load_ = np.abs(pin_torque(pin_tree(robot, bodies), q, qd, qdd))[:, at].T
    for law, shape in (
        (Coulomb(0.2, own), np.sign(qd) * (np.abs(qd) > 0.2)),
        (SmoothCoulomb(0.3, own), np.tanh(qd / 0.3)),
    ):
        term = LoadFriction.of(bodies, law)
        assert names(term, robot) == tuple(f"{joint}.load_friction" for joint in own)
        np.testing.assert_allclose(columns(term, robot, q, qd, qdd), load_ * shape[:, at].T, rtol=1e-10, atol=1e-10)
    dahl = Dahl(1e-3, own)
    column = columns(LoadFriction.of(bodies, dahl), robot, q, qd, qdd)
    np.testing.assert_allclose(column, load_ * columns(dahl, robot, q, qd, qdd), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("seed", range(cases(10)))
def test_the_way_back_from_its_column_is_that_of_the_complex_step(seed):
    """The load is that of a regressor written in the base's frame, its magnitude the load or minus the load."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 7))
    robot = random_tree(rng, n, points=True)
    bodies = random_bodies(rng, n)
    own = tuple(rng.choice(robot.joint_names, size=int(rng.integers(1, n + 1)), replace=False).tolist())
    at = [robot.joint_names.index(joint) for joint in own]
    x = rng.normal(size=(3, 11, n)) * np.array([1.0, 2.0, 5.0])[:, None, None]
    slow = lambda qd: np.tanh(qd / 0.3)  # noqa: E731
    for law, shape in ((SmoothCoulomb(0.3, own), slow), (Coulomb(0.2, own), lambda qd: np.sign(qd.real) * 1.0)):
        if isinstance(law, Coulomb):
            x[1] = np.where(np.abs(x[1]) > 0.2, x[1], 0.3)
        term = LoadFriction.of(bodies, law)
        weights = rng.normal(size=(len(entries(term, robot)), 11))
        found = pull_back(term, robot, *x, weights)
        for order in range(3):
            for j in range(n):
                moved = x.astype(complex)
                moved[order, :, j] += 1j * complex_dynamics.STEP
                load_ = (complex_dynamics.rigid_regressor(robot, *moved) @ bodies.ravel())[:, at]
                column = np.sign(load_.real) * load_ * shape(moved[1])[:, at]
                wanted = (weights.T * np.imag(column)).sum(axis=1) / complex_dynamics.STEP
                np.testing.assert_allclose(found[order, :, j], wanted, rtol=0, atol=1e-9 * np.abs(found).max())


@pytest.mark.parametrize("seed", range(cases(10)))
def test_accelerations_under_load_take_the_torque_of_pinocchio(seed):
    """Other bodies load the joints than those that move; a coupled drive and every law of Coulomb friction beside."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 7))
    robot = random_tree(rng, n, points=True)
    bodies = random_bodies(rng, n)
    heavy = bodies * rng.uniform(0.7, 1.3)
    law = (SmoothCoulomb(0.3), Coulomb(), Dahl(0.01))[seed % 3]
    model = Model(robot, (DriveInertia(), Viscous(), law, LoadFriction.of(heavy, law)))
    inertia, viscous, coulomb, share = values = rng.uniform(0, 0.4, (4, n))
    p = plant(model, np.append(bodies.ravel(), values))
    q, qd, tau = rng.uniform(-2, 2, (3, 40, n)) * np.array([1.0, 1.0, 20.0])[:, None, None]
    qdd = acceleration(p, q, qd, tau)
    rigid, load_ = (pin_torque(pin_tree(robot, b), q, qd, qdd) for b in (bodies, heavy))
    turned = np.tanh(qd / (0.3 if seed % 3 == 0 else 0.01))
    again = rigid + inertia * qdd + viscous * qd + (coulomb + share * np.abs(load_)) * turned
    np.testing.assert_allclose(again, tau, rtol=0, atol=1e-11 * np.abs(tau).max())


def test_a_simulation_takes_the_torque_that_the_model_predicts_of_it():
    _, model, _, theta, *_ = problem(1.2)
    p = plant(model, theta)
    assert p.friction_law.endswith("; viscous and load friction besides")

    def drive(t, q, qd):
        return np.array([30, 90, 60]) * (0.4 * np.sin(3 * t + np.arange(3)) - q) - 3 * qd

    start = np.array([0.1, 0.2, -0.1]), np.array([0.5, -0.4, 0.1])
    run_ = simulate(p, *start, np.linspace(0, 1, 101), drive)
    assert run_.stopped is None
    assert run_.method.startswith("Radau")
    np.testing.assert_allclose(torque(model, theta, run_.q, run_.qd, run_.qdd), run_.tau, rtol=0, atol=1e-9)
    applied = np.array([drive(t, q, qd) for t, q, qd in zip(run_.t, run_.q, run_.qd, strict=True)])
    np.testing.assert_array_equal(run_.tau, applied)
    fixed = simulate_fixed(p, *start, 1.0, 1e-3, drive, every=10)
    np.testing.assert_allclose(fixed.q, run_.q, rtol=0, atol=1e-5)
    without = simulate(plant(model, np.append(theta[:-3], [0, 0, 0])), *start, run_.t, drive)
    assert np.abs(without.q - run_.q).max() > 0.05  # that it is there matters
    change = np.gradient(run_.energy, run_.t)  # the drives' power less what friction takes
    power = (run_.qd * (run_.tau - p.friction(run_.qd, run_.q, run_.qdd))).sum(axis=1)
    np.testing.assert_allclose(change[1:-1], power[1:-1], atol=0.05 * np.abs(power).max())


def test_computed_torque_counts_with_it():
    _, model, _, theta, *_ = problem(1.0)
    p = plant(model, theta)
    wanted = np.array([[0.3, 0.2, 0.1], [0.4, -0.5, 0.2], [2.0, -3.0, 1.0]])
    tau = ComputedTorque(p, 0.0, 0.0, lambda t: tuple(wanted))(0.0, *wanted[:2])
    np.testing.assert_allclose(acceleration(p, wanted[:1], wanted[1:2], tau[None])[0], wanted[2], rtol=1e-9)


def test_a_joint_that_its_load_locks_is_named():
    _, model, _, theta, *_ = problem(1.0)
    p = plant(model, np.append(theta[:-3], [0.0, 3.0, 0.0]))
    q, qd = np.array([[0.1, 0.2, 0.1]]), np.array([[0.5, -1.0, 0.2]])
    with pytest.raises(ModelError, match="no acceleration of joint 'lift' agrees with its friction"):
        acceleration(p, q, qd, np.array([[0.0, 60.0, 0.0]]))
    found = simulate(p, q[0], qd[0], [0.0, 1.0], lambda t, q, qd: np.array([0.0, 300.0 * t - 28.0, 0.0]))
    assert found.stopped.startswith("no acceleration of joint 'lift' agrees")
    assert found.stopped.endswith("at a share of the load near 1 a joint locks itself")


def problem(factor: float):
    """Return a model whose load is that of bodies wrong by a factor, one without the term, and recordings."""
    c = case()
    friction = SmoothCoulomb(0.05)
    terms = (DriveInertia(), Viscous(), friction, Offset())
    truth = Model(c.robot, (*terms, LoadFriction.of(c.inertials, friction)))
    theta = np.concatenate([c.theta, [0.08, 0.15, 0.05]])
    assert truth.names[-3:] == ("turn.load_friction", "lift.load_friction", "reach.load_friction")
    model = Model(c.robot, (*terms, LoadFriction.of(factor * c.inertials, friction)))
    return c, model, Model(c.robot, terms), theta, moved("fit", truth, theta, 1), moved("other", truth, theta, 2)


@pytest.mark.parametrize("factor", [1.0, 0.8, 1.3])
def test_a_fit_finds_the_share_and_a_wrong_load_hardly_matters(factor):
    c, model, without, theta, fit, other = problem(factor)
    prior = Prior(c.inertials, "cad.csv", {})
    estimate = estimated(model, compress(model, fit), prior, weight=1e-6)
    found = np.array([estimate.value(f"{joint}.load_friction") for joint in c.robot.joint_names])
    known = estimate.covariance.standard_errors[
        [estimate.base.names.index(f"{j}.load_friction") for j in ("lift", "reach")]
    ]
    assert (np.abs(found[1:] - theta[-2:] / factor) < 4 * known + 0.02 / factor).all()
    plain = estimated(without, compress(without, fit), prior, weight=1e-6)

    def error(m, value):
        return np.sqrt(np.mean((torque(m, value, other.q, other.qd, other.qdd) - other.tau) ** 2, axis=0))

    assert (error(model, estimate.theta) < 1.05 * 0.02).all()  # the noise
    assert (error(without, plain.theta)[1] > 3 * error(model, estimate.theta)[1]).all()


def test_it_is_never_negative():
    c, model, *_, fit, _ = problem(1.0)
    backwards = replace(fit, tau=2 * torque(model, np.append(c.theta, [0, 0, 0]), fit.q, fit.qd, fit.qdd) - fit.tau)
    estimate = estimated(model, compress(model, backwards), Prior(c.inertials, "cad.csv", {}), weight=1e-6)
    assert all(estimate.value(f"{joint}.load_friction") >= 0 for joint in c.robot.joint_names)
    assert estimate.active


def test_who_takes_it_and_who_says_no(tmp_path):
    c, model, without, theta, *_ = problem(1.0)
    with pytest.raises(ModelError, match="inertials of load friction must have shape"):
        plant(Model(c.robot, (LoadFriction(),)), np.append(c.inertials.ravel(), np.ones(3)))
    with pytest.raises(ModelError, match="rollouts do not take load friction, which the load decides"):
        rollouts(plant(model, theta), np.zeros((1, 3)), np.zeros((1, 3)), np.zeros((2, 3)), 1e-3)
    with pytest.raises(ModelError, match="inertials of the load"):
        LoadFriction.of([[np.nan] * 10], Coulomb())
    v = np.linspace(-1, 1, 9)
    np.testing.assert_allclose(friction_law(model, theta, 1, v), friction_law(without, theta[:-3], 1, v), atol=1e-12)
    estimate = estimated(
        model, compress(model, moved("x", model, theta, 5)), Prior(c.inertials, "cad", {}), weight=1e-6
    )
    for form, left in (("c", False), ("urdf", True)):
        notes = export_to(form, estimate, tmp_path / form, robot=c.robot, unvalidated=True).notes
        assert any("lift.load_friction" in note and "has to add it" in note for note in notes) == left


def test_the_experiment_names_its_joints_and_each_keeps_its_law(tmp_path):
    text = GOOD.replace(
        "coulomb = { tanh = 0.01 }", 'coulomb = [{ tanh = 0.01, joints = ["shoulder"] }]\nload_friction = {}'
    )
    for said, laws in (
        ("true", (SmoothCoulomb(0.01, ("shoulder",)), Coulomb(joints=("elbow",)))),
        ('["elbow"]', (Coulomb(joints=("elbow",)),)),
        ("false", ()),
    ):
        loaded = load(read_experiment(beside(tmp_path, text.replace("load_friction = {}", f"load_friction = {said}"))))
        terms = [t for t in loaded.model.terms if isinstance(t, LoadFriction)]
        assert tuple(t.law for t in terms) == laws
        assert all(np.array_equal(t.inertials, loaded.prior.inertials) for t in terms)
    with pytest.raises(
        ConfigError, match=r"model.load_friction: robot 'two' has no joint 'elbwo'; did you mean 'elbow'"
    ):
        load(read_experiment(beside(tmp_path, text.replace("load_friction = {}", 'load_friction = ["elbwo"]'))))


@pytest.mark.parametrize("share", [0.05, 0.3])
def test_without_cad_the_load_is_that_of_the_links_that_are_fitted(share):
    c, model, _, theta, _, _ = problem(1.0)
    theta[-3:] = share
    fit, other = (moved(name, model, theta, seed) for name, seed in (("fit", 1), ("other", 2)))
    found, change = identified_load(Model(c.robot, model.terms), [fit], neutral_prior(c.robot))
    assert change <= SETTLED
    estimate = estimated(found, compress(found, fit), neutral_prior(c.robot))
    names_ = [f"{j}.load_friction" for j in ("lift", "reach")]
    errors = estimate.covariance.standard_errors[[estimate.base.names.index(name) for name in names_]]
    assert (np.abs([estimate.value(name) - share for name in names_]) < 4 * errors + SETTLED * share).all()
    known = estimated(model, compress(model, fit), neutral_prior(c.robot))
    own, best = (
        np.sqrt(np.mean((torque(m, e.theta, other.q, other.qd, other.qdd) - other.tau) ** 2, axis=0))
        for m, e in ((found, estimate), (model, known))
    )
    size = np.sqrt(np.mean(other.tau**2, axis=0))
    assert (np.sqrt(np.maximum(own**2 - best**2, 0.0)) < 2e-3 * size).all()  # as with the true load


RUBBING = {"shoulder.load_friction": 0.1, "elbow.load_friction": 0.2}


def rubbing_logs(folder: Path) -> Path:
    """Return an experiment, its logs those of an arm with friction that grows with load, its [model] with that."""
    written(folder, "load_friction = true")
    known = load(read_experiment(folder))
    truth = TRUE | RUBBING
    bodies = np.array([truth[x] for x in known.model.names[: known.model.n_rigid]]).reshape(-1, 10)
    others = tuple(t for t in known.model.terms if not isinstance(t, LoadFriction))
    rubbing = next(t for t in known.model.terms if isinstance(t, LoadFriction))
    model = Model(known.robot, (*others, LoadFriction.of(bodies, rubbing.law)))
    for seed, name in enumerate(("circle", "steps")):
        t, *x = swung(seed)
        tau = torque(model, [truth[name] for name in model.names], *x)
        tau += 0.02 * np.random.default_rng(seed).standard_normal(tau.shape)
        np.savetxt(folder / f"{name}.csv", np.column_stack([t, x[0], tau]), fmt="%.9g", delimiter=",")
    return folder


@pytest.mark.slow
def test_friction_is_chosen_anew_with_the_load_of_a_table_whose_mistake_is_sure(tmp_path, sketched):
    folder = rubbing_logs(tmp_path)
    file, cad = folder / "experiment.toml", folder / "cad.csv"
    file.write_text(file.read_text().partition("[model]")[0])
    cad.write_text(cad.read_text().replace("lower,1.0", "lower,1000"))
    result = run(read_experiment(folder))
    assert [cause.where for cause in result.estimate.noted] == ["lower"]
    for name, value in RUBBING.items():
        assert result.estimate.value(name) == pytest.approx(value, abs=0.03)


@pytest.mark.slow
def test_an_experiment_without_cad_identifies_the_load_and_reads_it_back(tmp_path, sketched):
    folder = rubbing_logs(tmp_path)
    file = folder / "experiment.toml"
    file.write_text(file.read_text().replace('cad = "cad.csv"\n', ""))
    result = run(read_experiment(folder))
    for name, value in RUBBING.items():
        assert result.estimate.value(name) == pytest.approx(value, abs=0.02)
    assert any("grows with the load of the fitted links" in str(w) for w in result.warnings)
    again = validate(result.path, read_experiment(folder))
    assert again.validation.total("identified").relative_total == result.validation.total("identified").relative_total
    file.write_text(file.read_text().partition("[model]")[0])
    chosen = run(read_experiment(folder))  # nobody says that friction grows with load
    for name, value in RUBBING.items():
        assert chosen.estimate.value(name) == pytest.approx(value, abs=0.03)
    missed = (x.validation.total("identified").relative_total for x in (chosen, result))
    assert next(missed) < 1.3 * next(missed)
