"""Friction that grows with the load on the joint: its column, what a fit makes of it, and who takes it."""

from __future__ import annotations

from dataclasses import replace

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
from ident.model.term import columns, names, pull_back
from ident.pipelines.identify import run, validate
from ident.pipelines.loaded import load
from ident.pipelines.select import SETTLED, identified_load
from ident.regression import compress
from ident.report.drawings import friction_law
from ident.simulation import plant


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
    with pytest.raises(ModelError, match="a simulation does not know load friction, which needs the load"):
        plant(model, theta)
    with pytest.raises(ModelError, match="motions are designed without load friction"):
        pull_back(model.terms[-1], c.robot, *np.zeros((3, 2, 3)), np.zeros((3, 2)))
    with pytest.raises(ModelError, match="inertials of the load"):
        LoadFriction.of([[np.nan] * 10], Coulomb())
    v = np.linspace(-1, 1, 9)
    np.testing.assert_allclose(friction_law(model, theta, 1, v), friction_law(without, theta[:-3], 1, v), atol=1e-12)
    estimate = estimated(
        model, compress(model, moved("x", model, theta, 5)), Prior(c.inertials, "cad", {}), weight=1e-6
    )
    done = export_to("c", estimate, tmp_path / "x.h", robot=c.robot, unvalidated=True)
    assert any("lift.load_friction" in note and "has to add it" in note for note in done.notes)


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


@pytest.mark.slow
def test_an_experiment_without_cad_identifies_the_load_and_reads_it_back(tmp_path, sketched):
    folder = written(tmp_path, "load_friction = true")
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
    file = folder / "experiment.toml"
    file.write_text(file.read_text().replace('cad = "cad.csv"\n', ""))
    result = run(read_experiment(folder))
    for name, value in RUBBING.items():
        assert result.estimate.value(name) == pytest.approx(value, abs=0.02)
    assert any("grows with the load of the fitted links" in str(w) for w in result.warnings)
    again = validate(result.path, read_experiment(folder))
    assert again.validation.total("identified").relative_total == result.validation.total("identified").relative_total
