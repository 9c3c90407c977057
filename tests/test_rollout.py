"""Short simulations under the logged torques: exact where the model is, as wrong as the torque where it is not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from identified import case, moved

from ident.compare.rollout import KEPT, MOST_WINDOWS, Rollout, rollout
from ident.errors import ModelError
from ident.logs.motion import Motion
from ident.model import Dahl, DriveInertia, LoadFriction, Model, SmoothCoulomb, Viscous, torque
from ident.report.report import gather
from ident.simulation.plant import mass_matrices, plant

MODEL = Model(case().model.robot, (DriveInertia(), Viscous(), SmoothCoulomb(tanh=0.2)))
THETA = np.concatenate([case().theta[: MODEL.n_rigid], [0.3, 0.2, 0.4], [1.0, 0.8, 2.0], [0.5, 0.4, 0.6]])


def recorded(samples: int = 3001) -> Motion:
    """Return a recording of 15 s without noise."""
    m = moved("log", MODEL, THETA, 5, samples, blocks=())
    return replace(m, tau=torque(MODEL, THETA, m.q, m.qd, m.qdd))


def test_a_true_model_moves_as_the_robot_did() -> None:
    found = rollout(MODEL, THETA, recorded())
    assert found.t.shape == (30, KEPT + 1)
    np.testing.assert_allclose(found.t[0, [0, -1]], [0.0, 0.5], atol=1e-12)
    assert found.off(0.0).max() == 0.0
    assert found.off(0.5).max() < 1e-3 * np.median(found.moved)


def test_a_wrong_torque_becomes_half_of_its_acceleration_times_time_squared() -> None:
    log, extra = recorded(), 0.05
    wrong = rollout(MODEL, THETA, replace(log, tau=log.tau + np.array([extra, 0.0, 0.0])))
    true = rollout(MODEL, THETA, log)
    start = np.array([np.interp(true.t[:, 0], log.t, column) for column in log.q.T]).T
    D = mass_matrices(plant(MODEL, THETA), start)
    expected = 0.5 * 0.025**2 * extra * np.linalg.inv(D)[:, 0, 0]
    turned = (wrong.simulated - true.simulated)[:, 1, 0]
    np.testing.assert_allclose(turned, expected, rtol=0.1)  # friction and the other joints change it


def test_a_long_recording_is_taken_in_its_middle() -> None:
    log = recorded()
    slow = replace(log, t=4.0 * log.t, qd=log.qd / 4.0, qdd=log.qdd / 16.0)
    found = rollout(MODEL, THETA, slow)
    assert len(found.t) == MOST_WINDOWS
    assert found.t[0, 0] + found.t[-1, -1] == pytest.approx(slow.t[0] + slow.t[-1])


def test_rigid_bodies_alone_need_not_exist_where_the_mass_matrix_does() -> None:
    c = case()
    assert c.wls.theta is None
    found = rollout(c.model, c.wls.for_torque, c.other)
    assert np.median(found.off(0.5), axis=0) == pytest.approx(np.zeros(3), abs=0.02)


def test_what_depends_on_load_or_time_acts_as_it_did() -> None:
    bodies = tuple(map(tuple, THETA[: MODEL.n_rigid].reshape(-1, 10)))
    model = Model(MODEL.robot, (LoadFriction(bodies, SmoothCoulomb(tanh=0.2)), *MODEL.terms))
    theta = np.insert(THETA, MODEL.n_rigid, [0.1, 0.05, 0.2])
    log = recorded()
    log = replace(log, tau=torque(model, theta, log.q, log.qd, log.qdd))
    assert np.abs(log.tau - recorded().tau).max() > 0.5
    found = rollout(model, theta, log)
    assert found.law.endswith("; load friction as at the recorded motion")
    assert found.off(0.5).max() < 1e-3 * np.median(found.moved)


def test_what_cannot_be_simulated_says_why() -> None:
    log = recorded()
    lost = replace(log, tau=log.tau * [1.0, 0.0, 1.0])
    with pytest.raises(ModelError, match="'log' has no torque of 'lift'"):
        rollout(MODEL, THETA, lost)
    for rows in (90, 0):
        parts = (x[:rows] for x in (log.t, log.q, log.qd, log.qdd, log.tau))
        brief = Motion("brief", *parts, keep=log.keep[:rows])
        with pytest.raises(ModelError, match="is shorter than"):
            rollout(MODEL, THETA, brief)
    with pytest.raises(ModelError, match="mass matrix is not positive"):
        rollout(MODEL, -np.abs(THETA) * (np.arange(len(THETA)) < MODEL.n_rigid + 3), log)
    stiff = THETA * np.where(np.arange(len(THETA)) < MODEL.n_rigid + 6, 1.0, 1e5)
    with pytest.raises(ModelError, match="stops the joint faster than steps can follow"):
        rollout(MODEL, stiff, log)


def test_the_report_shows_it_or_says_why_not() -> None:
    c = case()
    section = {s.name: s for s in gather(c.constrained, model=c.model, fit=[c.fit], held_out=c.other).sections}
    (block,) = section["simulation"].blocks
    assert [d.name for d in block.drawings] == ["simulation_1", "simulation_2", "simulation_3"]
    assert block.title == "“other”, 30 starts"
    assert block.table is not None
    assert [row[:2] for row in block.table.rows] == [("turn", "rad"), ("lift", "rad"), ("reach", "m")]
    off, coasted = (np.array([float(row[k]) for row in block.table.rows]) for k in (5, 7))
    assert (off < 0.1 * coasted).all()
    silent = replace(c.other, tau=c.other.tau * [1.0, 1.0, 0.0])
    (block,) = next(
        s.blocks
        for s in gather(c.constrained, model=c.model, fit=[], held_out=silent).sections
        if s.name == "simulation"
    )
    assert block.words == "This model was not simulated: 'other' has no torque of 'reach'."
    assert "simulation" not in [s.name for s in gather(c.constrained, model=c.model, fit=[], held_out=None).sections]


def test_friction_with_a_state_is_simulated_as_its_sign() -> None:
    dahl, smooth = (Model(MODEL.robot, (*MODEL.terms[:2], term)) for term in (Dahl(1e-4), SmoothCoulomb(tanh=0.01)))
    assert plant(dahl, THETA).friction_law == plant(smooth, THETA).friction_law
    qd = np.array([[0.2, -0.1, 0.001]])
    np.testing.assert_array_equal(plant(dahl, THETA).friction(qd), plant(smooth, THETA).friction(qd))
    log = recorded()
    log = replace(log, tau=torque(dahl, THETA, log.q, log.qd, log.qdd))
    assert np.median(rollout(dahl, THETA, log).off(0.5)) < 2e-3


def test_how_far_off_is_asked_at_the_kept_time_since_the_start_of_the_window() -> None:
    far = np.arange(4.0)[None, :, None]
    found = Rollout("log", np.array([[10.0, 10.1, 10.2, 10.3]]), 0.0 * far, far, np.zeros((1, 1)), "")
    assert [found.off(seconds).item() for seconds in (0.0, 0.12, 0.3)] == [0.0, 1.0, 3.0]
