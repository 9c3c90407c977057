"""Positions that are read late are found from the log itself, to a fraction of a sample, whatever the friction."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from identified import NOISE, case, moved

from ident.compare import delays as detector
from ident.compare.delays import Delays, delays
from ident.model import torque
from ident.regression.base import base_parameters
from ident.regression.compress import packed_columns

STEP = 0.005  # seconds per sample
SAMPLES = 3001


def arm_motion(late, torque_late=0.0, law=lambda qd: 0.0 * qd):
    """Return a motion of the crane whose joint j is read late[j] seconds late, with noise in the torque."""
    c = case()
    t = np.arange(SAMPLES) * STEP
    rng = np.random.default_rng(3)
    w, a, phase = rng.uniform(1.0, 8.0, (6, 1, 3)), rng.uniform(0.1, 0.3, (6, 1, 3)), rng.uniform(0, 6, (6, 1, 3))

    def at(time):
        x = w * time[..., None] + phase if time.ndim == 1 else w * time + phase
        return (a * np.sin(x)).sum(0), (a * w * np.cos(x)).sum(0), -(a * w**2 * np.sin(x)).sum(0)

    true = at(t - torque_late)
    tau = torque(c.model, c.theta, *true) + law(true[1])
    tau += NOISE * rng.normal(size=tau.shape)
    q, qd, qdd = at(t[:, None] - np.asarray(late))
    keep = np.ones((SAMPLES, 3), bool)
    made = moved("late", c.model, c.theta, 0)
    return replace(made, t=t, q=q, qd=qd, qdd=qdd, tau=tau, keep=keep, blocks=())


@pytest.mark.parametrize("samples", [(0, 0, 0), (0, 1.3, 0), (-1.2, 0, 2.5), (3.1, -2.6, 0.8)])
def test_late_positions_are_found_within_a_fifth_of_a_sample(samples):
    late = np.array(samples) * STEP
    found = delays(case().model, arm_motion(late))
    np.testing.assert_allclose(found.seconds / STEP, samples, atol=0.2)
    assert (found.seconds[late == 0] == 0).all()
    assert found.gain < 0.8 if late.any() else found.gain == 1.0


@pytest.mark.parametrize("late", [(0, 0, 0), (0, 1.3, 0)])
def test_times_that_are_samples_need_no_spline(late, monkeypatch):
    """One joint is late by no whole number of samples: it has its spline, the others are moved by a sample."""
    c, motion = case(), arm_motion((0, 0, 0))
    columns = packed_columns(c.model, base := base_parameters(c.model))
    given = (columns, motion, detector._States(motion), np.array(late) * STEP, base.K @ c.theta)
    shifted = detector._rows(*given)
    monkeypatch.setattr(detector, "_SAME", 0.0)
    for rows, by_splines in zip(shifted, detector._rows(*given), strict=True):
        np.testing.assert_allclose(rows, by_splines, atol=1e-10 * np.abs(by_splines).max())


def test_thinned_logs_show_the_same_delay():
    late = np.array([1.3, 0.0, -2.5]) * STEP
    rows = -(-SAMPLES // 4)
    thinned = replace(arm_motion(late), decimation=(4,), keep=np.ones((rows, 3), bool), blocks=((0, rows),))
    np.testing.assert_allclose(delays(case().model, thinned).seconds / STEP, late / STEP, atol=0.2)


def test_late_torques_are_positions_that_are_all_early():
    found = delays(case().model, arm_motion((0, 0, 0), torque_late=1.7 * STEP))
    np.testing.assert_allclose(found.seconds / STEP, -1.7, atol=0.2)


@pytest.mark.parametrize("width", [0.02, 0.3])
def test_a_law_of_friction_that_the_model_lacks_is_no_delay(width):
    def stribeck(qd):
        return np.tanh(qd / width) * (1.0 + 3.0 * np.exp(-((qd / 0.2) ** 2))) + 0.5 * (qd > 0)

    assert not delays(case().model, arm_motion((0, 0, 0), law=stribeck)).seconds.any()


def memory(way, size=8.0):
    """Return a law of friction of one speed (N, n) that lags a way [rad] behind, as Dahl has it, by its integral."""

    def law(qd):
        found, z = np.zeros_like(qd), np.sign(qd[0])
        for k, travel in enumerate(qd * STEP):
            z = found[k] = np.sign(travel) + (z - np.sign(travel)) * np.exp(-np.abs(travel) / way)
        return size * found

    return law


@pytest.mark.parametrize("late", [0.0, 0.015, 0.03, 0.05])
@pytest.mark.parametrize("way", [0.0, 0.003])
def test_friction_that_turns_around_hides_no_delay_of_all_joints(late, way):
    """Without a memory a straight line tells little of a long delay; with one it lags by itself."""
    law = memory(way) if way else lambda qd: 8.0 * np.tanh(qd / 0.02)
    found = delays(case().model, arm_motion((0, 0, 0), torque_late=late, law=law))
    np.testing.assert_allclose(found.seconds, -late, atol=0.1 * late)


def test_joints_at_rest_tell_nothing():
    c, motion = case(), arm_motion((0, 0, 0))
    for still in ([0, 1, 2], [0, 1]):
        q, qd, qdd = motion.q.copy(), motion.qd.copy(), motion.qdd.copy()
        q[:, still], qd[:, still], qdd[:, still] = q[0, still], 0.0, 0.0
        tau = torque(c.model, c.theta, q, qd, qdd)
        tau += NOISE * np.random.default_rng(1).normal(size=tau.shape)
        assert not delays(c.model, replace(motion, q=q, qd=qd, qdd=qdd, tau=tau)).seconds.any()


@pytest.mark.parametrize("late", [0.05, 0.03])
def test_a_delay_beyond_reach_is_not_told(late):
    """Reach are five samples here, 25 ms."""
    assert not delays(case().model, arm_motion((late, 0, 0))).seconds.any()


def test_torques_in_other_units_show_the_same_delays():
    motion = arm_motion((0, 1.3 * STEP, 0))
    found = [delays(case().model, replace(motion, tau=unit * motion.tau)).seconds for unit in (1.0, 1024.0)]
    assert found[0].any()
    np.testing.assert_allclose(found[1], found[0], rtol=1e-6)


def test_too_few_samples_tell_nothing():
    motion = arm_motion((0, 2 * STEP, 0))
    keep = np.zeros((SAMPLES, 3), bool)
    keep[:5] = True
    for part in (replace(motion, keep=keep), replace(motion, keep=np.zeros((SAMPLES, 3), bool))):
        assert not delays(case().model, part).seconds.any()


def test_delays_of_which_one_motion_of_two_knows_nothing_are_not_taken(monkeypatch):
    from ident.compare import delays as detector

    seen = iter([[0.004, 0.004, -0.002], [0.005, 0.0, 0.003]])
    monkeypatch.setattr(detector, "delays", lambda *_, **__: Delays(np.array(next(seen))))
    monkeypatch.setattr(detector, "out_of_reach", lambda *_: ())
    motion = type("M", (), {"q": None})()
    model = type("M", (), {"robot": None})()
    assert detector.late_positions(model, [motion, motion]) == (0.004, 0.0, 0.0)
