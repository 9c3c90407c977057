"""Predicted standard errors: against dense algebra, and against what fits of noisy logs really scatter by."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from oracles import random_tree
from synthetic import random_theta, recording, states

from ident.excitation.bases import Fourier
from ident.excitation.information import d_optimal, information, worth
from ident.excitation.problem import design_problem
from ident.excitation.search import search
from ident.logs.motion import Motion
from ident.model import Coulomb, Model, Offset, SmoothCoulomb, Viscous, regressor, torque
from ident.regression import base_parameters, compress
from ident.robot.robot import Limits

FRICTION = (Viscous(), SmoothCoulomb(0.1), Offset())


def arm(seed: int, n: int = 3) -> tuple[np.random.Generator, Model]:
    rng = np.random.default_rng(seed)
    robot = random_tree(rng, n, branches=False)
    limits = Limits(-2.0, 2.0, velocity=2.0, acceleration=8.0)
    joints = tuple(replace(joint, limits=limits) for joint in robot.joints)
    return rng, Model(replace(robot, joints=joints), FRICTION)


def dense(model: Model, noise: np.ndarray, x: list[np.ndarray]) -> np.ndarray:
    y = regressor(model, *x)[:, :, list(base_parameters(model).kept)] / noise[:, None]
    return y.reshape(-1, y.shape[2])


def test_errors_are_those_of_weighted_least_squares() -> None:
    for seed in range(5):
        rng, model = arm(seed, 2 + seed % 3)
        noise = rng.uniform(0.05, 1.0, model.robot.n)
        source = information(model, noise)
        _, *x = states(rng, model.robot.n, 500)
        theta = random_theta(rng, model)
        found = worth(source.base, source.factor(tuple(x)), theta)
        y = dense(model, noise, x)
        assert found.errors == pytest.approx(np.sqrt(np.diag(np.linalg.inv(y.T @ y))), rel=1e-7)
        assert found.values == pytest.approx(source.base.K @ theta)
        assert found.hidden == ()
        many = worth(source.base, source.factor(tuple(x), 25.0))
        assert many.errors == pytest.approx(found.errors / 5.0)


def test_structure_is_named() -> None:
    _, model = arm(3)
    base = base_parameters(model)
    found = worth(base, np.eye(len(base.names)))
    assert found.structural == base.unidentifiable
    alone = {*base.identifiable, *base.unidentifiable}
    assert set(found.combined) | alone == set(model.names)
    assert not set(found.combined) & alone
    assert found.combined


@pytest.mark.slow
def test_designed_motion_achieves_what_was_predicted() -> None:
    """White noise on the torques of a designed motion, 300 logs, weighted least squares from the factors."""
    rng, model = arm(11)
    theta = random_theta(rng, model)
    noise = np.array([0.5, 0.2, 0.1])
    p = design_problem(model, Fourier(1.0, 4), noise=noise, rate_hz=50.0, periods=2)
    design = search(p, starts=1, seconds=60.0)
    predicted = worth(p.information.base, design.factor).errors
    t, q, qd, qdd = design.trajectory.sample(50.0)
    t, q, qd, qdd = np.arange(2 * len(t)) / 50.0, np.tile(q, (2, 1)), np.tile(qd, (2, 1)), np.tile(qdd, (2, 1))
    clean = torque(model, theta, q, qd, qdd)
    base = p.information.base
    fits = []
    for k in range(300):
        tau = clean + noise * rng.normal(size=q.shape)
        log = Motion(f"log{k}", t, q, qd, qdd, tau, np.ones(q.shape, bool), (), ((0, len(t)),))
        (segment,) = compress(model, log, base=base).segments
        rows = []
        for j, own in enumerate(p.information.columns.parameters):
            wide = np.zeros((len(segment.factors[j]), len(base.names) + 1))
            wide[:, [*own, -1]] = segment.factors[j]
            rows.append(wide[:-1] / noise[j])
        stacked = np.concatenate(rows)
        fits.append(np.linalg.lstsq(stacked[:, :-1], stacked[:, -1], rcond=None)[0])
    ratio = np.std(fits, axis=0) / predicted  # each known to 4 %
    assert np.abs(np.mean(fits, axis=0) - base.K @ theta).max() < 5 * predicted.max() / np.sqrt(300)
    assert 0.97 < np.median(ratio) < 1.03
    assert 0.85 < ratio.min() < ratio.max() < 1.15


def test_smooth_friction_in_the_design_predicts_the_sign_s_errors() -> None:
    """Where tanh is steep, a log fitted with the sign has the errors that the smooth design predicts."""
    rng, model = arm(12)
    signed = Model(model.robot, (Viscous(), Coulomb(), Offset()))
    steep = Model(model.robot, (Viscous(), SmoothCoulomb(0.02), Offset()))
    _, *x = states(rng, 3, 800)
    one, other = (information(m, np.ones(3)) for m in (signed, steep))
    ratio = worth(one.base, one.factor(tuple(x))).errors / worth(other.base, other.factor(tuple(x))).errors
    assert ratio == pytest.approx(np.ones(len(ratio)), abs=0.1)


def test_a_joint_that_does_not_move_hides_its_parameters() -> None:
    rng, model = arm(13)
    source = information(model, np.ones(3))
    _, q, qd, qdd = states(rng, 3, 600)
    still = np.array([1.0, 0.0, 1.0])
    found = worth(source.base, source.factor((q * still, qd * still, qdd * still)))
    assert {"joint2.viscous", "joint2.coulomb"} <= set(found.hidden)
    assert {"joint1.viscous", "joint1.coulomb", "joint3.viscous", "joint3.coulomb"}.isdisjoint(found.hidden)
    # what is shown has the error of a fit in which the hidden ones are left out: they cannot disturb it
    y = dense(model, np.ones(3), [q * still, qd * still, qdd * still])
    seen = np.isfinite(found.errors)
    covariance = np.linalg.pinv(y.T @ y, rcond=1e-13, hermitian=True)
    assert found.errors[seen] == pytest.approx(np.sqrt(np.diag(covariance))[seen], rel=1e-4)
    nothing = worth(source.base, source.factor((q * 0, qd * 0, qdd * 0)))
    assert set(nothing.hidden) >= {name for name in source.base.names if name.endswith((".viscous", ".coulomb"))}


def test_adding_a_log_makes_no_parameter_worse() -> None:
    rng, model = arm(14)
    log = recording(rng, model, random_theta(rng, model), samples=100, harmonics=1)
    noise = np.full(3, 0.3)
    prior = information(model, noise, prior=compress(model, log))
    alone = information(model, noise)
    _, *x = states(rng, 3, 300)
    before = worth(prior.base, alone.factor((log.q, log.qd, log.qdd))).errors
    after = worth(prior.base, prior.factor(tuple(x))).errors
    assert (after <= before * (1 + 1e-9)).all()
    assert (after <= worth(prior.base, alone.factor(tuple(x))).errors * (1 + 1e-9)).all()
    assert d_optimal(prior.factor(tuple(x)))[0] < d_optimal(alone.factor(tuple(x)))[0]
