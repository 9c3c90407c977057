"""Torques that are late or filtered are told apart, whatever friction a model has, and hysteresis is neither."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.signal import lfilter
from test_causes import arm, log

from ident.compare.causes.lags import lag, lags_below
from ident.estimate import neutral_prior
from ident.logs import Motion
from ident.model import Dahl, Model, Stribeck, Viscous


def delayed(m: Motion, value: float) -> np.ndarray:
    return np.column_stack([np.interp(m.t - value, m.t, x) for x in m.tau.T])


def filtered(m: Motion, value: float) -> np.ndarray:
    share = 1.0 - np.exp(-(m.t[1] - m.t[0]) / value)
    return np.asarray(m.tau[0] + lfilter([share], [1.0, share - 1.0], m.tau - m.tau[0], axis=0))


@pytest.mark.parametrize("value", [0.02, 0.05, 0.1])
@pytest.mark.parametrize("made", [delayed, filtered])
def test_a_delay_and_a_filter_are_found_beside_friction_that_hides_them(made, value):
    model, motion = log(np.random.default_rng(11), arm())
    remembers = Model(arm(), (Viscous(), Dahl(0.02), Stribeck(0.2)))
    for chosen in (model, remembers):
        found = lag(chosen, [replace(motion, tau=made(motion, value))], neutral_prior(arm()))
        assert found is not None
        assert found.late == (made is delayed)
        assert found.value == pytest.approx(value, rel=0.1, abs=0.004)  # rows are 0.01 s apart


@pytest.mark.parametrize("way", [0.003, 0.02])
def test_neither_a_right_log_nor_hysteresis_is_a_lag(way):
    _, motion = log(np.random.default_rng(12), arm())
    column = Dahl(way).column(motion.q, motion.qd, motion.qdd)
    remembers = replace(motion, tau=motion.tau + 1.5 * (column - np.sign(motion.qd)))
    model = Model(arm(), (Viscous(), Dahl(way)))
    for right in (motion, remembers):
        assert lag(model, [right], neutral_prior(arm())) is None


def shaken(m: Motion) -> Motion:
    """Return a motion whose positions are read with noise of 8 to 30 Hz, which the controller's damping answers."""
    w = 2.0 * np.pi * np.linspace(8.0, 30.0, 40)[:, None, None]
    waves = w * m.t[None, :, None] + np.random.default_rng(3).uniform(0.0, 6.3, (40, 1, m.q.shape[1]))
    size = 0.3 * m.qdd.std(axis=0) / np.sin(waves).sum(axis=0).std(axis=0)
    speed = -size * (np.cos(waves) / w).sum(axis=0)
    tau = m.tau - 60.0 * m.tau.std(axis=0) / m.qdd.std(axis=0) * speed
    noise = -size * (np.sin(waves) / w**2).sum(axis=0)
    return replace(m, q=m.q + noise, qd=m.qd + speed, qdd=m.qdd + size * np.sin(waves).sum(axis=0), tau=tau)


def test_a_delay_shows_where_the_motion_is_and_a_controllers_answer_to_noise_does_not():
    model, motion = log(np.random.default_rng(11), arm())
    late, answer, prior = replace(motion, tau=delayed(motion, 0.006)), shaken(motion), neutral_prior(arm())
    for m, value, below in ((late, 0.006, True), (answer, -0.006, False)):
        assert lags_below(model, [m], prior, value)
        slow = replace(m, decimation=(10,), keep=m.keep[::10], blocks=tuple((a // 10, b // 10) for a, b in m.blocks))
        assert lags_below(model, [slow], prior, value) == below
