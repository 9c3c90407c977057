"""Cut-offs that positions suggest are checked on the torque: noise of positions that looks like motion."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from identified import NOISE, case

import ident
from ident import pipelines
from ident.compare import settled
from ident.compare.delays import late_positions
from ident.compare.settled import checked, drift, in_the_band
from ident.experiment import read_experiment
from ident.logs import Log, Processing, process
from ident.logs.automatic import Hand, band_alone, chosen
from ident.logs.process import noise_share
from ident.model import torque
from ident.regression.base import base_parameters
from ident.regression.compress import packed_columns

ARM5 = Path(__file__).resolve().parents[1] / "experiments" / "arm5"
RATE = 200.0
T = np.arange(8000) / RATE


def in_band(rng, low, high, shape):
    """Return noise of standard deviation 1 between two frequencies [Hz]."""
    f = np.fft.rfftfreq(shape[0], 1 / RATE)
    spectrum = np.fft.rfft(rng.normal(size=shape), axis=0) * ((f > low) & (f < high))[:, None]
    x = np.fft.irfft(spectrum, shape[0], axis=0)
    return x / x.std(axis=0)


def log_of(seed, q_noise=0.0, low=6, high=9):
    """Return a log of the crane, read with noise between two frequencies [Hz], of standard deviation `q_noise`."""
    c, rng = case(), np.random.default_rng(seed)
    w, a, phase = rng.uniform(1.0, 8.0, (6, 1, 3)), rng.uniform(0.1, 0.3, (6, 1, 3)), rng.uniform(0, 6, (6, 1, 3))
    x = w * T[:, None] + phase
    q, qd, qdd = (a * np.sin(x)).sum(0), (a * w * np.cos(x)).sum(0), -(a * w**2 * np.sin(x)).sum(0)
    tau = torque(c.model, c.theta, q, qd, qdd)
    tau += NOISE * rng.normal(size=q.shape)
    read = q + 1e-6 * rng.normal(size=q.shape) + q_noise * in_band(rng, low, high, q.shape)
    return Log("log", T, read, tau)


def test_what_the_positions_suggest_stays_where_nothing_is_wrong():
    log = log_of(0)
    assert checked(case().model, [log], chosen([log])) == chosen([log])


@pytest.mark.parametrize("seed", range(3))
def test_noise_that_looks_like_motion_is_filtered_out(seed):
    log = log_of(seed, q_noise=1e-3)
    spectral = chosen([log])
    fit, judged = checked(case().model, [log], spectral)
    assert spectral[0].position_hz > 8
    assert 2 < fit.position_hz < 6.5
    assert fit.position_hz == judged.position_hz


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("band", [(6, 9), (20, 40)])
def test_parameters_come_nearer_to_the_truth(seed, band):
    c, log = case(), log_of(seed, 3e-4, *band)
    spectral = chosen([log])
    errors = []
    for fit, _ in (spectral, checked(c.model, [log], spectral)):
        found = ident.fit(c.model, [process(log, fit)], loss="wls", feasible=False)
        errors.append(np.linalg.norm(found.estimate.phi - found.estimate.base.K @ c.theta))
    assert errors[1] < 0.8 * errors[0]


def test_where_torques_do_not_tell_the_noise_of_no_joint_is_let_through():
    """A joint that shakes asks for a cut-off at which another one's accelerations are steps of its encoder."""
    log, step, w = log_of(1), 4e-4, 2 * np.pi * 30
    q = log.q + 2e-6 * np.sin(w * T)[:, None] * [1, 0, 0]
    q[:, 2] = step * np.round(q[:, 2] / step)
    log = Log("log", T, q, log.tau + 0.3 * log.tau.std(axis=0) * np.random.default_rng(3).normal(size=q.shape))
    spectral = chosen([log])
    fit, _ = checked(case().model, [log], spectral)
    noise = band_alone(log).noise
    assert noise_share(log, fit, noise).max() <= settled.NOISY < noise_share(log, spectral[0], noise).max()


def test_a_cut_off_that_nearly_all_stretches_prefer_is_not_lost_beside_one_that_fewer_do(monkeypatch):
    log = log_of(0)
    given = chosen([log])[0].position_hz
    some = np.append(np.full(8, 0.4), [1.1, 1.1])  # the least in sum, in 8 of 10 stretches
    errors = iter([np.ones(10), np.full(10, 0.6), some, np.full(10, 5.0)])
    monkeypatch.setattr(settled, "squared_left_out", lambda *_: next(errors, np.full(10, 0.9)))
    fit, _ = checked(case().model, [log], chosen([log]))
    assert fit.position_hz == pytest.approx(0.71 * given, rel=0.05)  # two digits are kept


def test_each_band_and_each_cut_off_is_tried_once():
    """Narrower bands halve, from an eighth on; lower cut-offs fall by half an octave or so."""
    np.testing.assert_array_equal(np.diff(np.log2(settled.NARROWER)), 1.0)
    assert settled.NARROWER[-1] == 0.5
    steps = np.diff(np.log2([1.0, *settled.LOWER]))
    assert (steps > -0.6).all()
    assert (steps < -0.4).all()


def test_a_delay_that_is_set_by_hand_is_taken_out_once():
    log, rows = log_of(0), 4
    late = Log("late", T[:-rows], log.q[rows:], log.tau[:-rows])
    found = late_positions(case().model, [process(late, chosen([late])[0])])
    np.testing.assert_allclose(found, -rows / RATE, rtol=0.1)
    hand = Hand(Processing(delay_s=rows / RATE))
    for processing in settled.settled(case().model, [late], hands=(hand, hand)):
        assert (processing.delay_s, processing.position_delay_s) == (rows / RATE, 0.0)
    for delay in ((0.0, 0.01, 0.0), 0.01):
        own = Hand(Processing(position_delay_s=delay), tuple(key for key in hand.left if key != "position_delay_s"))
        assert settled.settled(case().model, [log], hands=(own, own))[0].position_delay_s == delay


def test_a_cut_off_that_is_set_by_hand_is_not_lowered():
    log = log_of(0, q_noise=1e-3)
    own = Hand(Processing(position_hz=8.0), tuple(key for key in Hand().left if key != "position_hz"))
    fit, judged = settled.settled(case().model, [log], hands=(own, own))
    assert fit.position_hz == judged.position_hz == 8.0


def test_cut_offs_that_were_tried_are_told():
    told = []
    for log in (log_of(0), log_of(0, q_noise=1e-3)):
        fit, _ = checked(case().model, [log], chosen([log]), tried=told.append)
        errors = dict(told[-1].errors)
        assert min(errors.values()) == 1.0
        assert min(abs(hz / fit.position_hz - 1.0) for hz in errors) < 0.05
    least = min(told[1].errors, key=lambda x: x[1])[0]
    assert least == pytest.approx(fit.position_hz, rel=0.05)
    assert dict(told[1].errors)[max(hz for hz, _ in told[1].errors)] > 1.5


def cornered(seed, size):
    """Return a log of the crane whose accelerations have the corners of friction above 3 Hz, of that size [rad/s^2]."""
    c, rng, log = case(), np.random.default_rng(seed), log_of(seed)
    f = np.fft.rfftfreq(len(T), 1 / RATE)[:, None]
    corners = np.fft.rfft(np.sign(np.gradient(log.q, T, axis=0)), axis=0) * (f > 3)
    w = 2j * np.pi * np.maximum(f, 1.0)
    q = log.q - size * np.fft.irfft(corners / w**2, len(T), axis=0)
    qd = np.gradient(log.q, T, axis=0) - size * np.fft.irfft(corners / w, len(T), axis=0)
    qdd = np.gradient(np.gradient(log.q, T, axis=0), T, axis=0) - size * np.fft.irfft(corners, len(T), axis=0)
    return Log("log", T, q, torque(c.model, c.theta, q, qd, qdd) + NOISE * rng.normal(size=q.shape))


@pytest.mark.parametrize("seed", range(3))
def test_a_bias_of_the_cut_off_is_told_and_no_other(seed):
    """Corners that the filter of the positions takes away, and friction's columns keep."""
    c = case()
    columns = packed_columns(c.model, base_parameters(c.model))
    fit = Processing(position_hz=8.0, edge_s=0.5, meant_hz=RATE)
    second = in_the_band(fit, replace(fit, decimation=(5, 5)))
    assert (second.position_hz, second.decimation) == (16.0, (5, 5))
    for size in (0.0, 0.5):
        log = cornered(seed, size)
        found = ident.fit(c.model, [process(log, fit)], loss="wls", feasible=False).estimate
        errors = found.covariance.standard_errors
        off = drift(columns, [(process(log, fit), process(log, second))], errors**2)
        missed = np.abs(found.phi - found.base.K @ c.theta)
        wider = np.hypot(errors, off.bias)
        friction = [name.endswith(("coulomb", "viscous")) for name in found.base.names]
        assert off.shown[friction].all() if size else not off.shown.any()
        assert (missed / errors).max() > 10.0 if size else (wider / errors).max() < 1.5
        assert (missed / wider).max() < 3.0


@pytest.mark.slow
def test_default_intervals_of_the_demo_hold_its_friction():
    """Without a [processing] the filters that its log asks for leave friction up to four standard errors off."""
    demo = replace(read_experiment(ARM5), processing=None, validation_processing=None)
    result = pipelines.fit(demo)
    found, truth = result.estimate, result.loaded.truth
    theta = np.array([truth.get(name, 0.0) for name in found.base.standard])
    off = np.abs(found.phi - found.base.K @ theta) / found.covariance.half_widths()
    friction = [name.endswith(("coulomb", "viscous", "offset")) for name in found.base.names]
    assert np.mean(off[friction] < 1.0) > 0.9
    told = [w for w in found.warnings if "the cut-off of the positions" in w]
    assert len(told) == 1
    assert re.search(
        r"joint1.coulomb and \d more base parameters depend .* as fitted, 0.04\d* \(.* % off\) with .*, decimation =",
        told[0],
    )
