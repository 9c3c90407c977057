"""Processing: zero phase, derivative orders, thinning, delay, resampling, masks, edges, segments, streaming."""

from dataclasses import replace
from itertools import pairwise
from math import comb
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from logs_data import TWO, made_up, smooth
from scipy.stats import norm
from seeds import cases

from ident.errors import LogError
from ident.estimate import estimated
from ident.logs import Log, Processing, decimate, iter_logs, iter_motions, process, read_log, read_manifest
from ident.logs.filter import central, fourier_fit, low_pass, memory, resample, savitzky_golay, thinned
from ident.logs.motion import period, segment_length, split, stretches
from ident.logs.process import memory as process_memory
from ident.logs.readings import least_noise, moving
from ident.model import Dahl, LoadFriction, Model, Offset, Viscous
from ident.regression import compress
from ident.robot import read_robot

ARM5 = Path(__file__).parents[1] / "datasets" / "arm5"


@settings(max_examples=cases(40))
@given(st.integers(1, 8), st.floats(5, 100), st.floats(0.3, 2.0), st.floats(0, 6.28))
def test_filter_is_zero_phase_with_the_squared_butterworth_gain(order, cutoff, ratio, phase):
    """A sine comes out with gain 1 / (1 + (f / fc)^(2 n)), bilinear frequencies, and no delay at all."""
    rate, f = 1000.0, ratio * cutoff
    t = np.arange(6000) / rate
    x = np.sin(2 * np.pi * f * t + phase)
    y = low_pass(x[:, None], cutoff, rate, order)[:, 0]
    middle = slice(2500, 3500)
    basis = np.exp(-2j * np.pi * f * t[middle]) * np.hanning(1000)
    response = (y[middle] @ basis) / (x[middle] @ basis)
    warped = np.tan(np.pi * f / rate) / np.tan(np.pi * cutoff / rate)
    assert response.real == pytest.approx(1 / (1 + warped ** (2 * order)), abs=2e-4)
    assert abs(response.imag) < 2e-4


def test_filter_forgets_after_its_memory():
    x = np.zeros((4001, 1))
    x[2000] = 1.0
    y = np.abs(low_pass(x, 20.0, 1000.0, 4)[:, 0])
    m = memory(20.0, 1000.0, 4)
    assert y[: 2000 - m].max() < 1e-10 < y[2000 - m // 2]


def test_cut_off_above_nyquist_is_refused():
    with pytest.raises(LogError) as caught:
        process(made_up(np.arange(100) / 100), Processing(torque_hz=50))
    assert str(caught.value) == (
        "torque_hz: a cut-off of 50 Hz is not below the Nyquist frequency 50 Hz of a recording sampled at 100 Hz."
        " Choose a cut-off below 50 Hz, or leave the filter out."
    )


@pytest.mark.parametrize("of_load", [False, True])
def test_friction_that_remembers_its_way_begins_in_the_rows_that_are_cut_off(of_load):
    robot = read_robot(ARM5 / "robot.toml")
    term = Dahl(0.3)
    if of_load:
        term = LoadFriction(tuple(map(tuple, np.eye(10)[[0] * 5].tolist())), law=term)
    model, rng = Model(robot, (term,)), np.random.default_rng(3)
    t = np.arange(800) / 100
    q = 0.4 * np.sin(rng.uniform(0.5, 3, 5) * t[:, None] + rng.uniform(0, 6, 5))
    whole, part = (process(Log("a", t, q, 0 * q), Processing(edge_s=edge)) for edge in (0.0, 2.0))
    (z, cut), rows = (model.term_columns(m.q, m.qd, m.qdd, signals=m.signals()) for m in (whole, part)), slice(200, 600)
    np.testing.assert_allclose(cut, z[:, rows], rtol=0, atol=1e-12 * np.abs(z).max())
    turned = replace(part, q=part.q + 0.5)  # another zero changes no way
    if not of_load:
        again = model.term_columns(turned.q, turned.qd, turned.qdd, signals=turned.signals())
        np.testing.assert_allclose(again, cut, rtol=0, atol=1e-12)
    alone = model.term_columns(part.q, part.qd, part.qdd)  # from nowhere
    assert np.abs(alone - cut).max() > 0.1 * np.abs(cut).max()


def test_a_clock_that_leaps_forward_is_refused():
    t = np.arange(300) / 100
    t[200:] += 1000.0
    log = made_up(t)
    with pytest.raises(LogError, match=r"the clock leaps forward by 1000.01 s after row 200.* where 10 ms is usual"):
        process(log, Processing())
    with pytest.raises(LogError, match="two recordings, with rows = "):
        process(log, Processing(position_hz=20))
    t[200:] -= 999.0
    process(made_up(t), Processing())  # a second is a gap that `check_log` tells of


@pytest.mark.parametrize("jitter", [0.0, 0.3])
def test_central_difference_is_of_second_order(jitter):
    errors = []
    for n in (200, 400, 800):
        t = np.linspace(0, 2, n)
        t = t + jitter / n * np.sin(50 * np.linspace(0, 2, n))  # smooth, so that the steps shrink alike
        q, qd, _ = smooth(t)
        errors.append(np.abs(central(q, t) - qd).max())
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert np.all((orders > 1.8) & (orders < 2.3))


@given(st.lists(st.floats(1e-4, 1.0), min_size=3, max_size=30), st.floats(-5, 5), st.floats(-5, 5))
def test_central_difference_is_exact_for_parabolas_on_any_steps(steps, a, b):
    t = np.cumsum(steps)
    q = (a * t**2 + b * t)[:, None]
    np.testing.assert_allclose(central(q, t)[:, 0], 2 * a * t + b, atol=1e-8 * (1 + t[-1]) ** 2 / min(steps))


def test_savitzky_golay_is_exact_for_its_polynomials():
    t = np.arange(60) / 50
    q = np.column_stack([t**3 - t, 2 * t**2])
    np.testing.assert_allclose(savitzky_golay(q, t, 9, 3, 1), np.column_stack([3 * t**2 - 1, 4 * t]), atol=1e-10)
    np.testing.assert_allclose(savitzky_golay(q, t, 9, 3, 2), np.column_stack([6 * t, 0 * t + 4]), atol=1e-8)
    with pytest.raises(LogError, match=r"needs uniform samples, but the time steps go from 0.01 to 0.03 s"):
        savitzky_golay(q, np.where(np.arange(60) == 30, t - 0.01, t), 9, 3, 1)


def test_fourier_fit_is_exact_on_irregular_times():
    rng = np.random.default_rng(0)
    t = np.sort(rng.uniform(0, 5, 400))
    w = 2 * np.pi / 4
    q = 0.3 + np.sin(w * t) - 0.2 * np.cos(5 * w * t)
    x, dx, ddx = fourier_fit(t, q[:, None], 4.0, 5)
    np.testing.assert_allclose(x[:, 0], q, atol=1e-12)
    np.testing.assert_allclose(dx[:, 0], w * np.cos(w * t) + w * np.sin(5 * w * t), atol=1e-10)
    np.testing.assert_allclose(ddx[:, 0], -(w**2) * np.sin(w * t) + 5 * w**2 * np.cos(5 * w * t), atol=1e-9)
    with pytest.raises(LogError, match="less than the period of 6 s"):
        fourier_fit(t, q[:, None], 6.0, 5)
    with pytest.raises(LogError, match="is not below the Nyquist frequency"):
        fourier_fit(t, q[:, None], 4.0, 500)


@settings(max_examples=cases(25))
@given(st.lists(st.integers(2, 13), min_size=1, max_size=2), st.integers(600, 900), st.integers(0, 2**31))
def test_thinning_commutes_with_linear_combinations(factors, rows, seed):
    """Which is why regressor and torque are thinned alike: decimate(Y) theta = decimate(Y theta)."""
    rng = np.random.default_rng(seed)
    Y, theta = rng.standard_normal((rows, 2, 5)), rng.standard_normal(5)
    thin = decimate(Y, factors)
    np.testing.assert_allclose(thin @ theta, decimate(Y @ theta, factors), atol=1e-11)
    left = rows
    for factor in factors:
        left = -(-left // factor)
    assert thin.shape == (left, 2, 5)


def test_thinning_keeps_slow_and_drops_fast_signals_in_phase():
    t = np.arange(20000) / 1000
    x = np.column_stack([np.sin(2 * np.pi * 3 * t), np.sin(2 * np.pi * 120 * t), np.ones_like(t)])
    y, middle = decimate(x, [10]), slice(300, -300)
    assert np.abs(y[middle, 0] - x[::10, 0][middle]).max() < 0.012  # 0.05 dB ripple, twice
    assert np.abs(y[middle, 1]).max() < 1e-3
    assert len(y) == 2000
    for bad in (1, 14, 2.5, True):
        with pytest.raises(LogError, match="wanted a whole number from 2 to 13"):
            decimate(x, [bad])
    with pytest.raises(LogError, match="1 row cannot be thinned by 2"):
        decimate(x[:1], [2])


@pytest.mark.parametrize("rows", [2, 5, 27, 28, 60])
def test_a_short_recording_is_thinned_as_far_as_it_goes(rows):
    line = np.column_stack([np.ones(rows), np.linspace(0.0, 1.0, rows)])
    thin = decimate(line, [3])
    assert len(thin) == -(-rows // 3)
    np.testing.assert_allclose(thin[:, 0], 1.0, atol=0.012)  # 0.05 dB ripple, twice
    np.testing.assert_allclose(thin[:, 1], line[::3, 1], atol=0.03)


@settings(max_examples=cases(30))
@given(st.floats(-0.03, 0.03), st.booleans())
def test_delay_is_taken_out(delay, irregular):
    """tau recorded `delay` late comes back in step with q, fractions of a sample included."""
    rng = np.random.default_rng(3)
    t = np.arange(400) / 200 + (rng.uniform(-1e-3, 1e-3, 400) if irregular else 0)
    t = t - t[0]
    log = made_up(t, tau=np.cos(smooth(t - delay)[0]))
    motion = process(log, Processing(delay_s=delay))
    np.testing.assert_allclose(motion.tau, np.cos(motion.q), atol=2e-4 if irregular else 2e-5)
    assert len(motion.t) >= len(t) - np.ceil(abs(delay) * 200 * (1.3 if irregular else 1) + 2)


def test_delay_by_whole_samples_is_exact_and_per_joint():
    t = np.arange(100) / 100
    tau = np.random.default_rng(0).standard_normal((100, 2))
    motion = process(made_up(t, tau=tau), Processing(delay_s=(0.03, -0.02)))
    np.testing.assert_allclose(motion.t, t[2:-3], atol=1e-12)
    np.testing.assert_allclose(motion.tau[:, 0], tau[5:, 0], atol=1e-11)
    np.testing.assert_allclose(motion.tau[:, 1], tau[:-5, 1], atol=1e-11)


def test_resampling_does_not_fold():
    rng = np.random.default_rng(2)
    t = np.arange(5000) / 1000 + rng.uniform(-2e-4, 2e-4, 5000)
    t -= t[0]
    slow, fast = np.sin(2 * np.pi * 2 * t), np.sin(2 * np.pi * 97 * t)
    grid, x = resample(t, np.column_stack([slow, fast]), 100.0, "cubic", 1000.0)
    np.testing.assert_allclose(grid * 100, np.round(grid * 100), atol=1e-9)
    middle = slice(60, -60)
    assert np.abs(x[middle, 0] - np.sin(4 * np.pi * grid[middle])).max() < 1e-4
    assert np.abs(x[middle, 1]).max() < 2e-3  # would be a 3 Hz sine of amplitude 1 by plain interpolation
    up, y = resample(t, slow[:, None], 2500.0, "cubic", 1000.0)
    assert np.abs(y[5:-5, 0] - np.sin(4 * np.pi * up[5:-5])).max() < 1e-7


def test_cubic_over_a_burst_is_refused():
    t = np.r_[np.arange(50), 49.001] / 100
    with pytest.raises(LogError, match=r"a cubic through their noise would swing. Set interpolation = 'linear'"):
        process(made_up(t), Processing(resample_hz=100))
    assert process(made_up(t), Processing(resample_hz=100, interpolation="linear")).q.shape == (50, 2)


def test_derivatives_of_a_filtered_motion():
    t = np.arange(4000) / 500
    _, qd, qdd = smooth(t)
    for p in (
        Processing(position_hz=60),
        Processing(velocity="measured", velocity_hz=60, acceleration_hz=60),
        Processing(derivative="savgol", savgol_window=15, savgol_degree=4),
        Processing(velocity="measured", derivative="savgol", savgol_window=15, savgol_degree=4),
    ):
        motion = process(made_up(t), p)
        middle = slice(200, -200)
        assert np.abs(motion.qd[middle] - qd[middle]).max() < 2e-3
        assert np.abs(motion.qdd[middle] - qdd[middle]).max() < 2e-2


def test_measured_velocity_must_be_there():
    with pytest.raises(LogError, match="velocity = 'measured': no velocity was measured"):
        process(made_up(np.arange(50) / 50, qd=None), Processing(velocity="measured"))


def test_edges_and_window():
    t = np.arange(1000) / 100
    log = made_up(t)
    np.testing.assert_allclose(process(log, Processing(edge_samples=(50, 10))).t, t[50:-10])
    np.testing.assert_allclose(process(log, Processing(edge_s=0.5)).t, t[50:-50])
    one = process(log, Processing(position_hz=5, start_s=1.0, stop_s=5.0))
    two = process(log, Processing(position_hz=5, start_s=5.0))
    np.testing.assert_allclose(np.r_[one.t, two.t], t[100:])  # no sample in both, none lost
    np.testing.assert_allclose(np.r_[one.q, two.q], process(log, Processing(position_hz=5)).q[100:])
    with pytest.raises(LogError, match="run: nothing is left after edges and window"):
        process(log, Processing(edge_s=6))


def test_masks_work_on_the_thinned_velocity():
    t = np.arange(3000) / 300
    motion = process(made_up(t), Processing(decimation=(5, 2), min_speed=(0.5, 0.8), standstill=0.3))
    slow = decimate(motion.qd, (5, 2))
    assert motion.keep.shape == (300, 2)
    np.testing.assert_array_equal(motion.keep, (np.abs(slow) >= [0.5, 0.8]))
    keep = moving(np.array([[0.0, 0.0], [0.0, 1.0], [0.2, 0.0]]), np.zeros(2), np.array([0.1, 0.1]))
    assert keep.tolist() == [[False, False], [True, True], [True, True]]


def test_a_joint_that_begins_at_rest_counts_from_where_it_has_moved_by_some_presliding_travels():
    t = np.arange(400) / 100
    late, never = 0.4 * np.maximum(t - 1.0, 0.0), np.zeros_like(t)
    log = Log("run", t, np.column_stack([np.sin(t), late, never]), np.ones((400, 3)))
    whole, cut = (process(log, Processing(run_in=travel, edge_s=0.2)).keep for travel in (0.0, 0.05))
    assert whole.all()
    assert cut[:, [0, 2]].all()  # one that moves already, one that never does
    assert t[20:][np.argmax(cut[:, 1])] == pytest.approx(1.0 + 0.05 / 0.4, abs=0.011)
    assert (np.diff(cut[:, 1].astype(int)) >= 0).all()


@given(st.integers(0, 500), st.integers(1, 5000), st.floats(0.1, 6000))
def test_segments_share_out_all_rows(first, rows, length):
    blocks, which = split(first, first + rows, length)
    assert which == tuple(range(len(blocks)))
    assert blocks[0][0] == first
    assert blocks[-1][1] == first + rows
    assert all(a[1] == b[0] for a, b in pairwise(blocks))
    sizes = [b - a for a, b in blocks]
    assert max(sizes) - min(sizes) <= 1
    assert len(blocks) == 1 or min(sizes) >= np.floor(length)


def test_segment_rule():
    assert segment_length(9.0, np.inf) == 1.0
    assert segment_length(60.0, 100.0) == 4.0
    assert segment_length(10.0, 2.5) == 2.0
    t = np.arange(6000) / 100
    assert len(process(made_up(t), Processing(position_hz=10)).blocks) == 15
    assert len(process(made_up(t), Processing(segment_s=2.0)).blocks) == 30
    assert process(made_up(t), Processing(decimation=(10,))).blocks[-1][1] == 600


def periodic(t, every, rng):
    w = 2 * np.pi * np.arange(1, 4)[:, None] / every
    a, phase = rng.normal(0.0, 0.5, (3, 2)), rng.uniform(0, 6, (3, 2))
    return (a * np.sin(t[:, None, None] * w + phase)).sum(axis=1)


@pytest.mark.parametrize("seed", range(cases(10)))
def test_a_period_is_found_where_there_is_one(seed):
    rng = np.random.default_rng(seed)
    every, times = rng.uniform(2.0, 20.0), rng.uniform(1.4, 6.0)
    t = np.arange(0.0, times * every, 0.004)
    q = periodic(t, every, rng) + rng.uniform(-2, 2, 2)
    noisy = q + 0.02 * q.std(axis=0) * rng.normal(size=q.shape)
    still = np.column_stack([noisy, 1e-4 * rng.normal(size=len(q))])  # and a joint that rests
    assert period(still) * 0.004 == pytest.approx(every, rel=0.01)
    assert period(np.column_stack([q[:, 0], periodic(t, 1.618 * every, rng)[:, 0]])) is None
    rest = np.zeros((len(q), 2))
    assert period(np.concatenate([rest, q[: len(q) // 3] - q[0], rest])) is None
    assert period(np.zeros((500, 2))) is None


@given(st.integers(0, 300), st.integers(20, 3000), st.floats(5.0, 500.0), st.floats(20.0, 900.0), st.integers(0, 5000))
def test_stretches_cut_every_period_at_the_same_phases(first, rows, length, every, elapsed):
    blocks, which = stretches(first, first + rows, length, every, elapsed)
    assert blocks[0][0] == first
    assert blocks[-1][1] == first + rows
    assert all(a[1] == b[0] for a, b in pairwise(blocks))
    number = max(int(every / length + 1e-9), 5)
    for (a, b), phase in zip(blocks, which, strict=True):
        middle = ((a + b) / 2 - first + elapsed) % every / every * number
        assert abs((middle - phase - 0.5 + number / 2) % number - number / 2) <= 0.5 + number / every


def test_a_streamed_period_is_cut_as_the_whole(tmp_path):
    import pandas as pd

    t = np.arange(9000) / 1000
    q = periodic(t, 2.0, np.random.default_rng(1))
    frame = pd.DataFrame(np.column_stack([t, q, q, np.cos(q)]))
    frame.to_csv(tmp_path / "x.csv", header=False, index=False)
    (tmp_path / "dataset.toml").write_text(MANIFEST)
    manifest = read_manifest(tmp_path / "dataset.toml")
    p = Processing(segment_s=0.25, decimation=(10,))
    whole = process(read_log(manifest, "csv", TWO), p)
    assert set(whole.stretches) == set(range(8))
    parts = list(iter_motions(manifest, "csv", TWO, p, rows=3000))
    assert len(parts) > 1

    def stretch_of_rows(motion):
        return np.concatenate([[s] * (b - a) for (a, b), s in zip(motion.blocks, motion.stretches, strict=True)])

    streamed = np.concatenate([stretch_of_rows(m) for m in parts])
    assert np.mean(streamed != stretch_of_rows(whole)) < 0.02
    assert process(read_log(manifest, "csv", TWO), Processing(period_s=0)).stretches == ()
    given = process(read_log(manifest, "csv", TWO), Processing(period_s=4.0, segment_s=0.5))
    assert set(given.stretches) == set(range(8))


@pytest.mark.parametrize(("settings_", "message"), [
    ({"position_hz": -1}, "position_hz: is -1, wanted a number above 0"),
    ({"derivative": "spline"}, "derivative: is 'spline', wanted one of: central, savgol, fourier"),
    ({"derivative": "fourier"}, "derivative = 'fourier': needs fourier_period_s and fourier_harmonics"),
    ({"derivative": "fourier", "fourier_period_s": 1.0, "fourier_harmonics": 2, "position_hz": 5.0},
     "derivative = 'fourier': takes velocity and acceleration from the fitted series"),
    ({"derivative": "savgol", "savgol_window": 10}, "savgol_window: a window of 10 samples and degree 3 do not fit"),
    ({"decimation": (20,)}, "decimation: a decimation factor is 20, wanted a whole number from 2 to 13"),
    ({"edge_s": (1, 2, 3)}, "edge_s: has 3 values, wanted one or (start, end)"),
    ({"start_s": 3.0, "stop_s": 3.0}, "start_s: start_s 3 is not before stop_s 3"),
    ({"min_speed": (0.1, -0.1)}, "min_speed: is (0.1, -0.1), wanted numbers that are 0 or more"),
    ({"delay_s": float("nan")}, "delay_s: is nan, wanted finite numbers"),
    ({"order": 0}, "order: is 0, wanted 1 to 20"),
    ({"period_s": -1.0}, "period_s: is -1.0, wanted a time, or 0 for none"),
])  # fmt: skip
def test_processing_refuses(settings_, message):
    with pytest.raises(LogError) as caught:
        Processing(**settings_)
    assert str(caught.value).startswith(message)


def test_values_per_joint_must_fit():
    with pytest.raises(LogError, match="min_speed: has 3 values, the recording has 2 joints"):
        process(made_up(np.arange(50) / 50), Processing(min_speed=(1, 2, 3)))


# Streaming ------------------------------------------------------------------------------------------------------------

MANIFEST = """
[dataset]
name = "long"
[signals]
time = { column = 1, unit = "s" }
position = { columns = [2, 3], unit = "rad" }
velocity = { columns = [4, 5], unit = "rad/s" }
torque = { columns = [6, 7], unit = "N m" }
[[recording]]
name = "parquet"
file = "x.parquet"
[[recording]]
name = "csv"
file = "x.csv"
[[recording]]
name = "cut"
file = "x.csv"
rows = [11, 9011]
"""


@pytest.fixture(scope="module")
def long(tmp_path_factory):
    import pandas as pd

    folder, rng, n = tmp_path_factory.mktemp("long"), np.random.default_rng(5), 12001
    t = np.arange(n) / 1000 + rng.uniform(-2e-4, 2e-4, n)
    q, qd, _ = smooth(t)
    table = np.column_stack([t, q, qd, np.cos(q)]) + np.r_[0, 1e-5 * np.ones(4), 0.1, 0.1] * rng.standard_normal((n, 7))
    frame = pd.DataFrame(table, columns=list("tabcdef"))
    frame.to_parquet(folder / "x.parquet", row_group_size=700)
    frame.to_csv(folder / "x.csv", header=False, index=False)
    (folder / "dataset.toml").write_text(MANIFEST)
    return read_manifest(folder / "dataset.toml")


@pytest.mark.parametrize("recording", ["parquet", "csv", "cut"])
@pytest.mark.parametrize(("rows", "overlap"), [(1000, 0), (1700, 300), (500, 1200), (50_000, 10), (3000, 1)])
def test_parts_are_the_whole_log(long, recording, rows, overlap):
    whole = read_log(long, recording, TWO)
    parts = list(iter_logs(long, recording, TWO, rows, overlap))
    own = [slice(p.margin[0], len(p.t) - p.margin[1]) for p in parts]
    for what in ("t", "q", "qd", "tau"):
        joined = np.concatenate([getattr(p, what)[s] for p, s in zip(parts, own, strict=True)])
        np.testing.assert_array_equal(joined, getattr(whole, what))
    for p in parts:
        np.testing.assert_array_equal(p.q, whole.q[p.first_row - whole.first_row :][: len(p.t)])
        assert p.margin[0] == min(overlap, p.first_row + p.margin[0] - whole.first_row)
    assert parts[-1].margin[1] == 0


@pytest.mark.parametrize("p", [
    Processing(),
    Processing(position_hz=30, torque_hz=50, edge_samples=50),
    Processing(position_hz=30, decimation=(10,)),
    Processing(position_hz=30, decimation=(5, 4), edge_s=0.3, min_speed=0.4, run_in=0.05, delay_s=0.00225),
    Processing(resample_hz=200, position_hz=20, decimation=(5,)),
    Processing(resample_hz=1000, velocity="measured", velocity_hz=30, acceleration_hz=30, start_s=3, stop_s=8),
    Processing(derivative="savgol", resample_hz=500, delay_s=-0.01),
    Processing(position_hz=40, edge_s=(2.9, 4.1), decimation=(10,)),
], ids=str)  # fmt: skip
def test_streamed_motions_are_the_whole_motion(long, p):
    whole = process(read_log(long, "parquet", TWO), p)
    parts = list(iter_motions(long, "parquet", TWO, p, rows=2500))
    assert len(parts) > 1

    def own(motion, what):
        return decimate(getattr(motion, what), p.decimation)[motion.blocks[0][0] : motion.blocks[-1][1]]

    for what in ("t", "q", "qd", "qdd", "tau"):
        streamed = np.concatenate([own(m, what) for m in parts])
        reference = decimate(getattr(whole, what), p.decimation)
        assert streamed.shape == reference.shape
        error = np.abs(streamed - reference).max() / np.abs(reference).max()
        assert error < 1e-9, (what, error)
    keep = np.concatenate([m.keep[m.blocks[0][0] : m.blocks[-1][1]] for m in parts])
    assert np.mean(keep != whole.keep) < 1e-3
    for m in parts:
        outside = np.ones(m.rows, dtype=bool)
        outside[m.blocks[0][0] : m.blocks[-1][1]] = False
        assert not m.keep[outside].any()  # no row is counted twice


@pytest.mark.parametrize("p", [
    Processing(position_hz=20, velocity_hz=30, acceleration_hz=10),
    Processing(torque_hz=5, order=2),
    Processing(resample_hz=100),
    Processing(resample_hz=30, position_hz=5, delay_s=0.02),
], ids=str)  # fmt: skip
def test_no_step_remembers_a_row_beyond_its_memory(p):
    t = np.arange(20001) / 1000
    log, most = made_up(t), process_memory(p, 1000.0)
    q, tau = log.q.copy(), log.tau.copy()
    q[10000], tau[10000] = q[10000] + 1.0, tau[10000] + 1.0
    plain, other = process(log, p), process(replace(log, q=q, tau=tau), p)
    rows = np.abs(plain.t - 10.0) * 1000
    for what in ("q", "qd", "qdd", "tau"):
        apart = np.abs(getattr(other, what) - getattr(plain, what)).max(axis=1)
        assert apart[rows > most].max() < 1e-9 * apart.max()


@pytest.mark.parametrize("recording", ["csv", "parquet"])
def test_streamed_factors_are_those_of_the_whole(long, recording):
    """The same estimate to 1e-10, and as many segments, wherever the parts begin."""
    model = Model(TWO, (Viscous(), Offset()))
    p = Processing(position_hz=30, decimation=(5,), edge_s=0.2)
    whole = compress(model, process(read_log(long, recording, TWO), p))
    for rows in (1500, 4000):
        streamed = compress(model, iter_motions(long, recording, TWO, p, rows=rows))
        assert (streamed.rows == whole.rows).all()
        assert len(streamed.segments) == len(whole.segments)
        a, b = (estimated(model, found, loss="ols", feasible=False).phi for found in (whole, streamed))
        np.testing.assert_allclose(b, a, rtol=1e-10, atol=1e-10 * np.abs(a).max())


@pytest.mark.parametrize("factors", [(2,), (5,), (13,), (10, 10), (3, 4)])
def test_thinning_is_that_of_scipy_in_blocks_of_any_size(factors):
    from scipy.signal import decimate as thin

    rng = np.random.default_rng(0)
    x = np.cumsum(rng.normal(size=(9000, 8)), axis=0)
    wanted = x
    for factor in factors:
        wanted = thin(wanted, factor, axis=0, zero_phase=True)
    cuts = np.sort(rng.integers(0, len(x), 12))
    for blocks in ([x], np.split(x, cuts), np.split(x, [5, 11, 40, 8990])):
        found = np.concatenate(list(thinned([b.copy() for b in blocks if len(b)], factors)))
        assert np.abs(found - wanted).max() < 1e-12 * np.abs(x).max()
    np.testing.assert_allclose(decimate(x[:28], [2]), thin(x[:28], 2, axis=0, zero_phase=True), rtol=1e-11)


@pytest.mark.parametrize("order", [1, 2, 3, 4, 7, 12, 20])
def test_low_pass_is_scipys(order):
    from scipy.signal import butter, sosfiltfilt

    x = np.cumsum(np.random.default_rng(order).normal(size=(3000, 3)), axis=0)
    for cutoff in (5.0, 60.0, 450.0):
        pad = max(3 * (order + 1), int(np.ceil(2000 / cutoff)))
        wanted = sosfiltfilt(butter(order, cutoff, fs=1000, output="sos"), x, axis=0, padlen=pad)
        assert np.abs(low_pass(x, cutoff, 1000.0, order) - wanted).max() < 1e-9 * np.abs(x).max()


def test_fourier_fit_has_the_whole_recording_in_one_part(long):
    p = Processing(derivative="fourier", fourier_period_s=4.0, fourier_harmonics=3)
    (motion,) = iter_motions(long, "csv", TWO, p, rows=2500)
    assert motion.fingerprint() == process(read_log(long, "csv", TWO), p).fingerprint()


def test_faults_across_parts_are_found(tmp_path):
    lines = [f"{i / 10},0,{i},0,0,1,1" for i in range(60)]
    lines[30] = lines[30].replace("3.0,", "2.9,", 1)
    (tmp_path / "x.csv").write_text("\n".join(lines))
    (tmp_path / "dataset.toml").write_text(MANIFEST)
    with pytest.raises(LogError, match=r"x.csv, time: does not increase at row 31 \(line 31\)"):
        list(iter_logs(read_manifest(tmp_path / "dataset.toml"), "csv", TWO, rows=10))


@pytest.mark.parametrize(("groups", "share"), [(20, 0.4), (1, 0.7)])
def test_parquet_is_not_held_in_memory(tmp_path, monkeypatch, groups, share):
    """Nor is a single group of rows where the file is not small: more than 3 kB here, in place of 64 MB."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from ident.logs.readers import read_tables
    from ident.logs.readers.formats import Request, read_chunks

    if groups == 1:
        monkeypatch.setattr(read_tables, "HELD", 3000)
        monkeypatch.setattr(read_tables, "BLOCK", 2**16)
    n = 400_000
    columns = {name: np.random.default_rng(0).standard_normal(n) for name in "abcde"}
    pq.write_table(pa.table(columns), tmp_path / "x.parquet", row_group_size=n // groups, use_dictionary=groups > 1)
    before = pa.total_allocated_bytes()
    held = [
        pa.total_allocated_bytes() - before
        for _ in read_chunks(Request(tmp_path / "x.parquet", "x", {"all": [(None, c) for c in "abcde"]}, chunk=10_000))
    ]
    assert len(held) == 40
    assert max(held) < share * n * 5 * 8


def test_noise_is_the_least_that_the_first_eight_differences_leave():
    t = np.arange(4000) / 1000.0
    tau = np.column_stack([np.sin(2 * np.pi * 180 * t), np.sin(3 * t)])
    tau += 1e-3 * np.random.default_rng(0).normal(size=tau.shape)
    each = [
        np.median(np.abs(np.diff(tau, k, axis=0)), axis=0) / (norm.ppf(0.75) * np.sqrt(comb(2 * k, k)))
        for k in range(1, 9)
    ]
    assert np.argmin(each, axis=0)[0] == 7  # a fast motion falls to the last of them
    np.testing.assert_allclose(least_noise(tau), np.min(each, axis=0), rtol=1e-3)
    assert least_noise(tau)[1] == pytest.approx(1e-3, rel=0.1)
    assert (least_noise(tau[:31]) == 0.0).all()
    assert (least_noise(tau[:32]) > 0.0).all()


@pytest.mark.parametrize("columns", [3, 8, 16])
def test_columns_that_are_stored_one_after_the_other_are_filtered_as_rows_are(columns):
    x = np.random.default_rng(columns).normal(size=(400, columns))
    for filtered in (lambda y: low_pass(y, 20.0, 200.0, 3), lambda y: decimate(y, (4,))):
        np.testing.assert_array_equal(filtered(np.asfortranarray(x)), filtered(x))
