"""Torques that are cut off are found, told and left out of the fit; others are not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from test_logs_check import LIMITED

from ident.logs import Log, Processing, process
from ident.logs.check import check_log
from ident.logs.readings import saturated, unsigned


def log(seed: int, rows: int = 4000) -> Log:
    rng, t = np.random.default_rng(seed), np.arange(rows) / 200
    n = LIMITED.n
    phase, rate = rng.uniform(0, 6, (2, n))
    q, tau = np.sin(np.outer(t, rate) + phase), 5 * np.cos(np.outer(t, rate) + phase)
    tau = tau + rng.normal(size=n) + 0.05 * rng.normal(size=(rows, n))
    return Log(name="a", joints=LIMITED.joint_names, t=t, q=q, tau=tau)


@pytest.mark.parametrize("seed", range(5))
def test_what_is_cut_off_is_left_out(seed: int) -> None:
    whole = log(seed)
    low, high = np.quantile(whole.tau[:, 0], [0.1, 0.95])
    tau = whole.tau.copy()
    tau[:, 0] = np.clip(tau[:, 0], low, high)
    cut = saturated(tau)
    np.testing.assert_array_equal(cut[:, 0], (tau[:, 0] == low) | (tau[:, 0] == high))
    assert not cut[:, 1:].any()
    spoilt = replace(whole, tau=tau)
    (found,) = (f for f in check_log(spoilt, LIMITED).findings if f.kind == "cut-off torque")
    assert f"{int(cut.sum())} of 4000 rows" in found.message
    assert len(found.rows) == cut.sum()
    seldom = replace(whole, tau=np.minimum(whole.tau, np.quantile(whole.tau, 0.97, axis=0)))
    assert {f.kind for f in check_log(seldom, LIMITED).findings} >= {"saturated torque"}
    for factors in ((), (4,)):
        motion = process(spoilt, Processing(decimation=factors))
        thin = 4 if factors else 1
        assert not motion.keep[cut[::thin]].any()
        assert motion.keep[:, 1:].all()
        assert 0.6 < motion.keep[:, 0].mean() < 0.9


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("step", [0.0, 0.02, 0.5])
def test_right_torques_stay_however_coarse(seed: int, step: float) -> None:
    tau = log(seed).tau
    tau = np.round(tau / step) * step if step else tau
    assert not saturated(tau).any()
    off = tau.copy()
    off[: len(off) // 3] = 0.0
    assert not saturated(np.abs(off)).any()  # off is no end


def test_what_is_cut_off_most_of_the_time_is_no_less_so_but_a_joint_that_rests_is_not() -> None:
    tau = log(0).tau
    cut = np.maximum(tau, np.quantile(tau, 0.7, axis=0))
    assert saturated(cut).mean() == pytest.approx(0.7, abs=0.01)
    resting = tau.copy()
    resting[1000:] = tau.max(axis=0) + 0.1
    assert not saturated(resting).any()


@pytest.mark.parametrize("noise", [0.0, 0.02])
@pytest.mark.parametrize("way", [1, -1])
def test_torques_without_their_sign_are_told_and_those_that_only_pull_one_way_are_not(noise: float, way: int) -> None:
    rng, t = np.random.default_rng(1), np.arange(4000) / 200
    both = np.column_stack([np.sin(3 * t) + 0.3 * np.sin(7 * t), 1.2 + np.sin(2 * t), (1 - np.cos(2 * t)) ** 2])
    both = both + noise * rng.normal(size=both.shape)
    lost = np.column_stack([way * np.abs(both[:, 0]), way * both[:, 1], both[:, 2]])
    assert unsigned(both).tolist() == [False, False, False]
    assert unsigned(lost).tolist() == [True, False, False]
    spoilt = replace(log(0), tau=np.column_stack([lost[:, 0], log(0).tau[:, 1:]]))
    (found,) = (f for f in check_log(spoilt, LIMITED).findings if f.kind == "unsigned torque")
    assert LIMITED.joint_names[0] in found.message
