"""Which time rows were taken at: stamps that jitter while positions do not, rows that are late, rows that are lost."""

import numpy as np
import pandas as pd
import pytest
from logs_data import TWO, made_up, smooth
from seeds import cases

from ident.logs import Processing, check_log, iter_motions, process, read_manifest
from ident.logs.clock import Clock, find_clock, on_clock, prediction_errors
from ident.logs.log import Log

STEP, ROWS = 0.004, 6000


def stamped(seed: int, share: float = 0.1) -> tuple[np.ndarray, np.ndarray]:
    """Return even times and the same, late by some share of a step."""
    even = np.arange(ROWS) * STEP
    late = np.random.default_rng(seed).exponential(share, ROWS).clip(0, 0.8) * STEP
    return even, even + late - late[0]


@pytest.mark.parametrize("seed", range(cases(12)))
def test_stamps_that_jitter_alone_are_not_believed(seed):
    even, stamps = stamped(seed)
    log = made_up(stamps, q=smooth(even)[0], qd=None)
    found = find_clock(log)
    assert found.rows == "even"
    assert found.step == pytest.approx(STEP, rel=1e-5)
    assert found.jitter == pytest.approx(np.std(stamps - even), rel=1e-2)
    acceleration = smooth(even)[2]
    right, wrong = (process(log, Processing(clock=clock, edge_samples=5)) for clock in ("auto", "stamps"))
    part = slice(5, -5)
    errors = [np.linalg.norm(m.qdd - acceleration[part]) / np.linalg.norm(acceleration) for m in (right, wrong)]
    assert errors[0] < 1e-3
    assert errors[1] > 0.05


@pytest.mark.parametrize("seed", range(cases(12)))
def test_rows_that_are_late_are_believed(seed):
    _, stamps = stamped(seed)
    log = made_up(stamps)
    assert find_clock(log).rows == "stamps"
    assert on_clock(log, find_clock(log)) is log


def test_noise_hides_which_it_is_and_the_stamps_stay():
    even, stamps = stamped(1, 0.003)
    q = smooth(even)[0] + np.random.default_rng(2).normal(size=(ROWS, 2)) * 1e-3
    assert find_clock(made_up(stamps, q=q, qd=None)).rows == "stamps"


@pytest.mark.parametrize("seed", range(cases(4)))
def test_lost_rows_are_counted_however_much_stamps_jitter(seed):
    even, stamps = stamped(3, 0.05)
    if seed:
        stamps = even + np.random.default_rng(seed).normal(size=ROWS).clip(-2, 2) * 0.2 * STEP
    keep = np.random.default_rng(4).random(ROWS) > 0.01
    keep[0] = True
    log = made_up(stamps[keep], q=smooth(even)[0][keep], qd=None)
    found = find_clock(log)
    assert found.rows == "counted"
    np.testing.assert_allclose(np.diff(on_clock(log, found).t), np.diff(even[keep]), rtol=1e-4)


def test_a_leap_and_even_stamps_are_left_alone():
    even, stamps = stamped(5)
    stamps[3000:] += 1000.0
    assert find_clock(made_up(stamps, q=smooth(even)[0], qd=None)).rows == "stamps"
    assert find_clock(made_up(even)).rows == "stamps"


def test_prediction_from_neighbours_is_exact_for_polynomials():
    t = np.sort(np.random.default_rng(6).uniform(0, 1, 50))
    q = np.column_stack([t**5 - 2 * t**3, 1 + t])
    assert (prediction_errors(t, q) < 1e-12).all()
    assert (prediction_errors(t, (t**6)[:, None]) > 1e-12).all()


def test_check_says_which_it_is_in_one_sentence():
    even, stamps = stamped(7)
    said = [f.message for f in check_log(made_up(stamps, q=smooth(even)[0], qd=None), TWO).findings]
    assert len(said) == 1
    assert "ms rms, positions do not" in said[0]
    assert "rows are 4 ms apart; taken so unless clock = 'stamps'" in said[0]


def test_parts_of_a_long_recording_have_one_clock(tmp_path):
    even, stamps = stamped(8)
    q = smooth(even)[0]
    frame = pd.DataFrame(np.column_stack([stamps, q, np.cos(q)]), columns=["t", "a", "b", "c", "d"])
    frame.to_csv(tmp_path / "x.csv", index=False)
    (tmp_path / "dataset.toml").write_text(
        '[dataset]\nname = "x"\n[signals]\ntime = { column = "t", unit = "s" }\n'
        'position = { columns = ["a", "b"], unit = "rad" }\ntorque = { columns = ["c", "d"], unit = "N m" }\n'
        '[[recording]]\nname = "x"\nfile = "x.csv"\n'
    )
    parts = list(iter_motions(read_manifest(tmp_path / "dataset.toml"), "x", TWO, Processing(), rows=2000))
    assert len(parts) == 3
    joined = np.concatenate([m.qdd for m in parts])
    expected = smooth(even)[2]
    assert len(joined) == ROWS
    assert np.abs(joined - expected)[10:-10].max() < 2e-2 * np.abs(expected).max()
    times = np.concatenate([m.t for m in parts])
    np.testing.assert_allclose(np.diff(times), STEP, rtol=1e-3)


def test_a_position_is_predicted_by_three_rows_on_either_side():
    """A bump of one row is wrong there and, by Lagrange's weights of the neighbours, in three rows around it."""
    t, q = np.arange(60) * STEP, np.zeros((60, 1))
    q[30] = 1.0
    weights = np.array([1.0, -6.0, 15.0, 15.0, -6.0, 1.0]) / 20.0
    np.testing.assert_allclose(prediction_errors(t, q), np.sqrt((1.0 + weights @ weights) / 54), rtol=1e-9)


@pytest.mark.parametrize("seed", range(cases(4)))
def test_rows_lost_in_silence_are_counted_by_how_far_the_joints_move(seed):
    rng = np.random.default_rng(seed)
    even = np.arange(ROWS) * STEP
    kept = rng.random(ROWS) > 0.003
    q = smooth(even)[0][kept] + rng.normal(size=(kept.sum(), 2)) * 1e-4
    log = made_up(even[: kept.sum()], q=q, qd=None)
    found = find_clock(log)
    assert found.rows == "moved"
    missed = np.diff(on_clock(log, found).t) - np.diff(even[kept])
    assert np.mean(np.abs(missed) > 1e-9) < 5e-4
    assert any("rows were lost" in f.message for f in check_log(log, TWO).findings)


@pytest.mark.parametrize("seed", range(cases(6)))
def test_joints_that_move_one_after_the_other_read_in_steps_lose_no_rows(seed):
    """Where a move begins and ends, rows repeat; a slow one beats with the encoder's steps; a quick one is no cubic."""
    rng = np.random.default_rng(seed)
    rate, n, step = float(rng.choice([125, 250, 1000])), int(rng.integers(2, 6)), 2 * np.pi / 2 ** rng.integers(12, 20)
    q, at = [np.zeros((int(0.5 * rate), n))], np.zeros(n)
    for k in range(3 * n):
        u = np.arange(int(rng.uniform(0.4, 3.0) * rate))[:, None] / rate
        u = u / (u[-1] + 1.0 / rate)
        goal = at + rng.uniform(-1.5, 1.5) * (np.arange(n) == k % n)
        rest = np.tile(goal, (int(rng.uniform(0.1, 0.5) * rate), 1))
        q += [at + (10 * u**3 - 15 * u**4 + 6 * u**5) * (goal - at), rest]
        at = goal
    rows = np.round(np.concatenate(q) / step) * step
    assert find_clock(Log("moves", np.arange(len(rows)) / rate, rows, rng.normal(size=rows.shape))).rows == "stamps"


@pytest.mark.parametrize("seed", range(cases(3)))
def test_rows_lost_near_each_other_and_among_noise_are_counted(seed):
    """At 1 kHz a row is worth two standard deviations of a joint's noise; three of four losses show all the same."""
    rng = np.random.default_rng(seed)
    even = np.arange(20_000) * 0.001
    kept = np.ones(len(even), dtype=bool)
    lost = rng.choice(len(even) - 200, 40, replace=False) + 100
    kept[lost] = kept[lost[:15] + 9] = False
    q = smooth(even)[0][kept]
    missing = np.diff(even[kept]) / 0.001 - 1.0
    for noise, share in ((1e-6, 0.95), (2e-4, 0.75)):
        log = made_up(even[: kept.sum()], q=q + rng.normal(size=q.shape) * noise, qd=None)
        found = np.diff(on_clock(log, find_clock(log)).t) / 0.001 - 1.0
        fast = np.abs(smooth(even[kept])[1]).max(axis=1)[1:] > 0.3
        assert np.sum((found > 0.5) & (missing > 0.5) & fast) > share * np.sum((missing > 0.5) & fast)
        assert abs(found.sum() - missing.sum()) < 0.3 * missing.sum()


@pytest.mark.parametrize("seed", range(cases(3)))
def test_two_rows_lost_three_rows_apart_are_both_counted(seed):
    rng = np.random.default_rng(seed)
    even = np.arange(20_000) * 0.001
    kept = rng.random(len(even)) > 0.002
    for row in (5000, 12000):
        kept[row - 12 : row + 12] = np.isin(np.arange(-12, 12), (0, 3), invert=True)
    q = np.sin(even[:, None] * rng.uniform(4, 6, 6) + rng.uniform(0, 6, 6)) * 0.5
    log = Log("pairs", even[: kept.sum()], (q + rng.normal(size=q.shape) * 1e-4)[kept], rng.normal(size=q[kept].shape))
    np.testing.assert_allclose(np.diff(on_clock(log, find_clock(log)).t), np.diff(even[kept]), rtol=1e-6)


def test_rows_written_twice_in_silence_are_left_out():
    even = np.arange(ROWS) * STEP
    again = np.sort(np.concatenate([np.arange(ROWS), np.arange(50, ROWS, 311)]))
    q = (smooth(even)[0] + np.random.default_rng(1).normal(size=(ROWS, 2)) * 1e-5)[again]
    log = made_up(np.arange(len(again)) * STEP, q=q, qd=None)
    found = on_clock(log, find_clock(log))
    assert len(found.t) == ROWS
    np.testing.assert_allclose(found.t, even, atol=1e-9)
    assert set(range(1, len(again) + 1)) - set(found.rows(range(ROWS))) == set(np.flatnonzero(np.diff(again) == 0) + 2)


@pytest.mark.parametrize("every", [2, 3, 5])
def test_positions_that_are_held_are_interpolated(every):
    even = np.arange(ROWS) * STEP
    q = np.round(smooth(even[np.arange(ROWS) // every * every])[0], 4)
    log = made_up(even, q=q, qd=None)
    found = find_clock(log)
    assert found.held == every
    assert np.abs(on_clock(log, found).q - smooth(even)[0])[: -2 * every].max() < 2e-4


def test_coarse_encoders_and_rest_are_no_held_values():
    even = np.arange(ROWS) * STEP
    q = np.round(smooth(even)[0] * 500) / 500
    q[1000:2000] = q[1000]
    assert find_clock(made_up(even, q=q, qd=None)) == Clock()
