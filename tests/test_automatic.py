"""Filters chosen from positions: noise, band and cut-off found, the motion kept, and what an experiment says of it."""

import tomllib
from dataclasses import replace
from math import prod

import numpy as np
import pytest
from logs_data import made_up, smooth
from seeds import cases

from ident.errors import LogError
from ident.logs import Processing, process
from ident.logs.automatic import (
    AUTOMATIC,
    Hand,
    as_lines,
    as_toml,
    band_alone,
    band_of,
    chosen,
    in_words,
    lagging,
    reaching,
)
from ident.logs.filter import factors_below

T = np.arange(12_000) / 400


@pytest.mark.parametrize("seed", range(cases(12)))
def test_noise_and_bands_are_found(seed):
    rng = np.random.default_rng(seed)
    noise = 10 ** rng.uniform(-5, -3)
    log = made_up(T, q=smooth(T)[0] + noise * rng.normal(size=(len(T), 2)), qd=None)
    found = band_of(log)
    assert (found.noise > 0.95 * noise).all()
    assert (found.noise < 1.5 * noise).all()  # the tail of the motion counts as noise where it is that low
    fastest = 3 * np.array([1.3, 2.1]) / (2 * np.pi)  # the third harmonic has 45 % of the velocity's power
    assert (found.motion_hz >= 0.9 * fastest).all()
    assert (found.motion_hz < 1.5 * fastest).all()
    assert (found.cut_hz >= found.motion_hz).all()
    np.testing.assert_allclose(found.fastest, np.percentile(np.abs(smooth(T)[1]), 99, axis=0), rtol=0.1)


@pytest.mark.parametrize("seed", range(cases(12)))
def test_the_chosen_filters_keep_the_motion_and_lose_the_noise(seed):
    rng = np.random.default_rng(100 + seed)
    _, qd, qdd = smooth(T)
    log = made_up(T, q=smooth(T)[0] + 3e-4 * rng.normal(size=qd.shape), qd=None)
    raw, kept = (process(log, p) for p in (Processing(), chosen([log])[0]))
    part = slice(400, -400)
    offset = round(kept.t[0] * 400)
    errors = [
        np.linalg.norm(m.qdd[400 - k : len(T) - 400 - k] - qdd[part]) / np.linalg.norm(qdd[part])
        for m, k in ((raw, 0), (kept, offset))
    ]
    assert errors[0] > 1.0
    assert errors[1] < 0.03


def test_steps_of_an_encoder_count_as_noise_though_it_often_stands():
    step = 2 * np.pi / 4096
    q = np.round(smooth(T)[0] / step) * step
    q[:6000] = q[0]
    assert (band_of(made_up(T, q=q, qd=None)).noise >= step / 12**0.5).all()


@pytest.mark.parametrize("harmonics", [3, 5, 8])
def test_counts_that_last_for_many_rows_are_noise_in_the_lower_octaves(harmonics):
    """At 1 kHz and 0.2 rad/s hardly any of a coarse encoder's noise is left in the highest octave."""
    rng = np.random.default_rng(3)
    t, step = np.arange(32_000) / 1000, 2 * np.pi / 4096
    phase = np.outer(t, 2 * np.pi * rng.uniform(0.05, 0.2) * np.arange(1, harmonics + 1))
    a, b = 0.1 * rng.normal(size=(2, 2, harmonics)) / np.arange(1, harmonics + 1)
    q = np.sin(phase) @ a.T + np.cos(phase) @ b.T
    assert (band_of(made_up(t, q=np.round(q / step) * step, qd=None)).cut_hz < 3.0).all()


def test_a_joint_that_hardly_moves_from_count_to_count_sets_no_band():
    """One joint moves; the other creeps over some counts of a coarse encoder, whose steps are fast."""
    step = 2 * np.pi / 8192
    q = smooth(T)[0].copy()
    q[:, 1] = 12 * step * np.sin(2 * np.pi * T / 30)
    q = np.round(q / step) * step
    assert band_of(made_up(T, q=q, qd=None)).motion_hz[1] < band_of(made_up(T, q=q, qd=None)).motion_hz[0]


def test_a_prediction_is_judged_no_narrower_than_its_motion():
    """The kept motion is six times as fast as the fitted one, whose cut-off would blur it."""
    noise = 1e-4 * np.random.default_rng(0).normal(size=(len(T), 2))
    slow, fast = (made_up(T / k, q=smooth(T)[0] + noise, qd=None) for k in (0.5, 3))
    judged = chosen([slow])[1]
    assert reaching(judged, [slow]) == reaching(judged, []) == judged
    found = reaching(judged, [fast])
    assert found.position_hz == pytest.approx(4 * band_of(fast).motion_hz.max(), rel=0.1)
    assert prod(found.decimation) <= prod(judged.decimation)
    true, part = 9 * smooth(T)[2][2000:-2000], slice(2000, -2000)
    kept, blurred = (process(fast, replace(p, edge_s=0.0)).qdd[part] - true for p in (found, judged))
    assert np.linalg.norm(kept) < 0.02 * np.linalg.norm(true)
    assert np.linalg.norm(blurred) > 0.2 * np.linalg.norm(true)


def test_a_robot_that_rests_is_left_alone():
    log = made_up(T, q=np.full((len(T), 2), 0.3), qd=None)
    assert chosen([log]) is None


def test_several_logs_get_one_processing_for_the_fastest():
    slow = made_up(T, q=smooth(T / 5)[0], qd=None)
    fast = made_up(T, qd=None)
    (both, judged), (alone, _) = chosen([slow, fast]), chosen([fast])
    assert both.decimation == alone.decimation
    assert prod(judged.decimation) > prod(both.decimation)
    assert judged == replace(both, decimation=judged.decimation, min_speed=0.0)


@pytest.mark.parametrize(("ratio", "factors"), [(1.9, ()), (2, (2,)), (13.9, (6, 2)), (100, (10, 10)), (7.5, (7,))])
def test_factors(ratio, factors):
    assert factors_below(ratio) == factors


def test_what_was_chosen_can_be_pasted():
    fit = Processing(position_hz=20.0, decimation=(5, 2))
    assert as_toml(fit) == "position_hz = 20.0, decimation = [5, 2]"
    assert as_lines(replace(fit, decimation=(5, 5)), fit) == ["decimation = [5, 5]"]
    read = tomllib.loads("\n".join(("[processing]", *as_lines(fit))))
    assert read["processing"] == {"position_hz": 20.0, "decimation": [5, 2]}


def test_rows_that_are_late_or_lost_go_onto_an_even_grid_before_any_filter():
    """Filters count rows: over uneven steps the derivative of what they leave is mostly noise."""
    rng = np.random.default_rng(9)
    late = T + rng.uniform(-0.4, 0.4, len(T)) / 400
    late = late - late[0]
    for t in (late, T[rng.random(len(T)) > 0.01]):
        q = smooth(t)[0]
        log = made_up(t, q=q + 1e-5 * rng.normal(size=q.shape), qd=None)
        processing, _ = chosen([log])
        assert processing.resample_hz == pytest.approx(400, rel=0.02)
        motion = process(log, processing)
        exact = smooth(motion.t)[2]
        assert np.linalg.norm(motion.qdd - exact) < 0.01 * np.linalg.norm(exact)
        filtered = process(log, Processing(position_hz=processing.position_hz, edge_s=processing.edge_s))
        assert np.linalg.norm(filtered.qdd - smooth(filtered.t)[2]) > 0.05 * np.linalg.norm(exact)
    assert chosen([made_up(T, qd=None)])[0].resample_hz is None


def test_a_clock_that_leaps_asks_for_no_grid_across_the_gap():
    """An even grid over 30 years of nothing would fill the memory."""
    t = T + np.where(np.arange(len(T)) < 6000, 0.0, 1e9)
    for processing in chosen([made_up(t, q=smooth(T)[0], qd=None)]):
        assert processing.resample_hz is None


def test_bursts_with_pauses_between_them_ask_for_no_grid():
    t = T + 0.08 * (np.arange(len(T)) // 10)  # ten rows, then a pause of 32 steps
    assert chosen([made_up(t, q=smooth(t)[0], qd=None)])[0].resample_hz is None


def test_a_wild_start_is_cut_off():
    rng = np.random.default_rng(3)
    tau = np.cos(T[:, None] * [1.3, 2.1]) + 0.01 * rng.normal(size=(len(T), 2))
    sound, wild = tau.copy(), tau.copy()
    wild[:200] += rng.normal(size=(200, 2)) * 5
    edges = [chosen([made_up(T, q=smooth(T)[0], tau=x, qd=None)])[0].edge_s for x in (sound, wild)]
    assert edges[1] == (pytest.approx(edges[0] + 0.5, abs=0.02), edges[0])


def both(**given):
    return (Hand(Processing(**given), tuple(key for key in AUTOMATIC if key not in given)),) * 2


def test_what_is_left_to_the_logs_suits_the_stamps_that_are_taken_as_they_are():
    """False stamps ask for an even grid where they are believed, for none where rows are even."""
    rng = np.random.default_rng(4)
    stamps = T + np.clip(0.15 * rng.normal(size=len(T)), -0.4, 0.4) / 400
    log = made_up(stamps - stamps[0], q=smooth(T)[0] + 1e-5 * rng.normal(size=(len(T), 2)), qd=None)
    even, believed = chosen([log])[0], chosen([log], hands=both(clock="stamps"))[0]
    assert even.resample_hz is None
    assert (believed.clock, believed.resample_hz) == ("stamps", pytest.approx(400, rel=0.02))
    assert reaching(believed, [log]).resample_hz == believed.resample_hz


def test_edges_and_thinning_suit_a_cut_off_that_is_set():
    rng = np.random.default_rng(5)
    log = made_up(T, q=smooth(T)[0] + 1e-4 * rng.normal(size=(len(T), 2)), qd=None)
    fit, judged = chosen([log], hands=both(position_hz=1.5))
    assert fit.position_hz == judged.position_hz == 1.5
    assert fit.edge_s == pytest.approx(1 / (0.75 * 1.5), rel=0.05)  # of the band in which errors are counted
    assert prod(judged.decimation) > prod(chosen([log])[1].decimation)
    thinned = chosen([log], hands=both(decimation=(4, 4)))
    assert [p.decimation for p in thinned] == [(4, 4), (4, 4)]


def test_beside_a_fourier_series_no_cut_off_is_chosen():
    hands = both(derivative="fourier", fourier_period_s=30.0, fourier_harmonics=30)
    assert "position_hz" not in hands[0].left
    fit, judged = chosen([made_up(T, qd=None)], hands=hands)
    assert fit.position_hz is judged.position_hz is None
    assert (fit.derivative, fit.run_in) == ("fourier", 0.05)


def test_recordings_of_other_rates_are_judged_in_about_the_same_band():
    """A tenth of the rate: its Nyquist frequency is below the cut-off of the positions that were fitted."""
    rng = np.random.default_rng(6)
    q = 1e-4 * rng.normal(size=(len(T), 2)) + np.column_stack([np.sin(9 * T), np.cos(5 * T)])
    fine = made_up(T, q=q, qd=None)
    coarse, dense = made_up(T[::20], q=q[::20], qd=None), made_up(T / 10, q=q, qd=None)
    as_central = {"derivative": "central", "savgol_window": 11, "savgol_degree": 3, "resample_hz": None}
    for pair in chosen([fine]), chosen([fine, coarse]), chosen([coarse, fine]):
        for processing in (replace(each, **as_central) for each in pair):
            assert processing == replace(reaching(processing, [coarse]), **as_central)
            own, less, more = (process(log, processing) for log in (fine, coarse, dense))
            assert processing.position_hz is not None
            assert own.decimation == processing.decimation
            assert less.band_hz is None or less.band_hz == pytest.approx(own.band_hz, rel=0.4)
            assert more.band_hz == pytest.approx(own.band_hz or 160.0, rel=0.4)
    slow = chosen([coarse], hands=both(derivative="central"))[1]
    assert process(fine, slow).band_hz == pytest.approx(process(coarse, slow).band_hz or 8.0, rel=0.4)
    with pytest.raises(LogError, match="not below the Nyquist frequency"):
        process(coarse, replace(chosen([fine])[0], position_hz=12.0, meant_hz=None))


@pytest.mark.parametrize("rate", [5.0, 8.0, 12.0])
def test_few_rows_for_a_fast_motion_get_derivatives_over_five(rate):
    t = np.arange(0.0, 60.0, 1.0 / rate)
    log = made_up(t, q=smooth(t)[0], qd=None)
    for processing in (chosen([log])[0], reaching(Processing(), [log])):
        assert processing.derivative == "savgol"
        left = [process(log, replace(processing, derivative=x, edge_s=1.0)) for x in ("savgol", "central")]
        off = [np.linalg.norm(m.qdd - smooth(m.t)[2]) / np.linalg.norm(smooth(m.t)[2]) for m in left]
        assert off[0] < 0.35 * off[1]
        assert off[0] < 0.06


def test_noise_or_many_rows_keep_central_differences():
    assert chosen([made_up(T, qd=None)])[0].derivative == "central"
    t = np.arange(0.0, 60.0, 0.08)
    noisy = smooth(t)[0] + 0.1 * np.random.default_rng(0).normal(size=(len(t), 2))
    assert chosen([made_up(t, q=noisy, qd=None)])[0].derivative == "central"
    hand = both(derivative="central")
    assert chosen([made_up(t, q=smooth(t)[0], qd=None)], hands=hand)[0].derivative == "central"


@pytest.mark.parametrize(("rate", "times"), [(2.0, 2.1), (100.0, 100.0)])
def test_how_often_rows_come_within_the_motion(rate, times):
    t = np.arange(0.0, 120.0, 1.0 / rate)
    assert band_alone(made_up(t, q=smooth(t)[0], qd=None)).rows_per_period == pytest.approx(times, rel=0.3)


def test_torques_that_all_come_long_after_positions_ask_whether_these_are_commanded() -> None:
    late = replace(Processing(), position_delay_s=(-0.03, -0.012, -0.009))
    assert lagging(late) == 0.03
    assert "are these commanded positions, or" in in_words(late)
    for delays in ((-0.03, -0.012, -0.001), (0.03, 0.03, 0.03), 0.0):
        other = replace(late, position_delay_s=delays)
        assert not lagging(other)
        assert "commanded" not in in_words(other)
