"""Readings that leap away and back are found where there are some, and nothing else is."""

import numpy as np
import pytest
from identified import NOISE, case
from logs_data import smooth
from seeds import cases

import ident
from ident.logs import Log, Processing, check_log, process
from ident.logs.automatic import chosen
from ident.logs.readings import interpolated, spikes
from ident.model import torque

T = np.arange(12_000) / 400


@pytest.mark.parametrize("seed", range(cases(12)))
def test_spikes_are_found_and_nothing_else(seed):
    rng = np.random.default_rng(seed)
    noise = 10 ** rng.uniform(-4, -1)
    x = smooth(T)[0] + np.sign(smooth(T)[1]) + noise * rng.normal(size=(len(T), 2))
    if seed % 3 == 0:  # coarse readings
        x = np.round(x / noise) * noise
    assert not spikes(x).any()
    least = max(20 * noise, 0.05 * x[:, 1].std())
    at = 100 + 40 * rng.choice(290, 60, replace=False)
    for long in (0, 1):
        leapt = x.copy()
        leapt[at + long, 1] += rng.choice([-1, 1], 60) * rng.uniform(2, 10, 60) * least
        leapt[at, 1] = leapt[at + long, 1]
        found = spikes(leapt)
        assert not found[:, 0].any()
        assert found[at, 1].mean() > 0.9
        assert found[:, 1].sum() <= 60 * (1 + long)
        assert np.abs(interpolated(T, leapt) - x)[at][found[at]].max() < 0.2 + 10 * noise


@pytest.mark.parametrize("noise", [0.0, 1e-3])
def test_steps_corners_and_slow_rates_are_no_spikes(noise):
    rng = np.random.default_rng(0)
    t = np.arange(2000) / 20  # ten samples a period
    x = np.column_stack([np.sin(4 * np.pi * t), np.sign(np.sin(t)), np.abs(np.sin(t)), np.round(3 * np.sin(t))])
    assert not spikes(x + noise * rng.normal(size=x.shape)).any()


def test_what_leaps_often_is_no_error_of_a_reader():
    x = np.random.default_rng(1).normal(size=(4000, 1)) * 1e-3
    x[::20] += 1.0
    assert not spikes(x).any()


def crane(spiked):
    """Return a log of the crane, 1 % of whose torques leap by 20 N m where it is spiked."""
    c, rng = case(), np.random.default_rng(3)
    q, qd, qdd = (np.hstack([x, x[:, :1]])[::4] for x in smooth(T))
    q, qd, qdd = (x * [1.0, 0.7, 0.3] for x in (q, qd, qdd))
    tau = torque(c.model, c.theta, q, qd, qdd) + NOISE * rng.normal(size=q.shape)
    at = 10 + 30 * rng.choice(95, 30, replace=False)
    tau[at, 1] += 20.0 * spiked
    return Log("log", T[::4], q, tau), at


def test_they_are_named_and_taken_out_without_a_word_of_the_user():
    c, (log, at) = case(), crane(True)
    found = [f for f in check_log(log, c.robot).findings if f.kind == "spikes"]
    assert [f.rows for f in found] == [log.rows(sorted(at.tolist()))]
    assert "torque of 'joint 2' leaps away from its neighbours and back in 30 rows" in found[0].message
    fit, judged = chosen([log])
    assert (fit.spikes, judged.spikes) == ("interpolated", "interpolated")
    assert chosen([crane(False)[0]])[0].spikes == "kept"


def test_error_bars_are_those_without_spikes():
    c = case()
    widths = []
    for spiked, words in ((False, "kept"), (True, "kept"), (True, "interpolated")):
        motion = process(crane(spiked)[0], Processing(spikes=words, edge_s=0.1))
        fit = ident.fit(c.model, [motion], loss="wls", feasible=False)
        widths.append(fit.std_errors.to_numpy())
    assert np.max(widths[1] / widths[0]) > 3
    assert np.max(widths[2] / widths[0]) < 1.3
