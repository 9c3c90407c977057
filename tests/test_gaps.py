"""Logs that lack rows for a while: filters see what is put in, and no row counts that they bring together with it."""

from dataclasses import replace
from math import prod

import numpy as np
import pytest
from logs_data import TWO, made_up, smooth
from seeds import cases

from ident.logs import Processing, check_log, decimate, iter_motions, process, read_manifest
from ident.logs.automatic import chosen
from ident.logs.clock import filled, rate_of
from ident.logs.filter import thinned_band
from ident.logs.log import Log

T = np.arange(12_000) / 400


def without(log: Log, *spans: tuple[int, int]) -> tuple[Log, np.ndarray]:
    """The log without some rows, and which of its rows are left."""
    there = np.ones(len(log.t), dtype=bool)
    for a, b in spans:
        there[a:b] = False
    return made_up(log.t[there], q=log.q[there], qd=None, tau=log.tau[there]), there


def test_rows_are_put_in_at_their_time_and_on_the_motion():
    whole = made_up(T)
    cut, there = without(whole, (3000, 3020), (7000, 7200))
    found, new = filled(cut)
    np.testing.assert_allclose(found.t, whole.t, atol=1e-12)
    np.testing.assert_array_equal(new, ~there)
    np.testing.assert_array_equal(found.q[there], whole.q[there])
    short, long = slice(3000, 3020), slice(7000, 7200)
    assert np.abs(found.q[short] - whole.q[short]).max() < 1e-4
    assert np.abs(found.q[long] - whole.q[long]).max() < 0.3  # half a second of a motion of 0.6 Hz: smooth, not right
    assert np.abs(np.diff(found.q, axis=0)).max() < 1.2 * np.abs(np.diff(whole.q, axis=0)).max()
    assert rate_of(cut) == pytest.approx(400.0, rel=1e-9)
    assert list(found.numbers[[2999, 3000, 3019, 3020]]) == [3000, 3000, 3000, 3001]


def test_a_joint_that_stays_still_stays():
    q = smooth(T)[0]
    q[:, 1] = 0.1 + 0.2  # no float of its own
    cut, _ = without(made_up(T, q=q), (3000, 3400))
    cut = replace(cut, q=np.column_stack([cut.q[:, 0], np.full(len(cut.t), 0.1 + 0.2)]))
    assert (filled(cut)[0].q[:, 1] == 0.1 + 0.2).all()


@pytest.mark.parametrize("steps", [1, 5])
def test_few_rows_are_filled_and_all_others_count(steps):
    """A filter that takes the rows on both sides for neighbours sees a leap."""
    whole = made_up(T)
    spans = [(a, a + steps) for a in range(1000, 11_000, 500)]
    cut, _ = without(whole, *spans)
    p = Processing(position_hz=20.0, edge_s=0.1)
    a, b = process(whole, p), process(cut, p)
    assert b.keep.all() == a.keep.all()
    assert np.abs(b.qdd - a.qdd).max() < 1e-3 * np.abs(a.qdd).max()
    late = np.where(np.arange(len(T)) == 5000, 0.0015, 0.0)
    assert filled(made_up(T + late))[0].t.shape == T.shape  # one that comes late is not one that lacks


def test_rows_that_come_now_and_then_are_no_gaps():
    rng = np.random.default_rng(1)
    t = np.cumsum(rng.exponential(0.0025, len(T)) + 1e-6)
    log = made_up(t)
    assert filled(log)[0] is log


@pytest.mark.parametrize("seed", range(cases(8)))
def test_rows_that_count_are_those_of_the_log_that_lacks_none(seed):
    """Whatever the filters: what is near a gap does not count, and what is not is as if no row were lost."""
    rng = np.random.default_rng(seed)
    starts = np.sort(rng.choice(np.arange(2, 22), 3, replace=False)) * 500
    spans = [(int(a), int(a + rng.integers(100, 400))) for a in starts]
    hz = float(rng.choice([8.0, 20.0, 60.0]))
    thin = ((), (5,), (4, 5))[seed % 3]
    resample_hz = (None, 400.0, 200.0)[seed // 3 % 3]
    edge = 2.0 / min(hz, thinned_band(resample_hz or 400.0, thin))
    p = Processing(position_hz=hz, decimation=thin, edge_s=edge, resample_hz=resample_hz)
    whole = made_up(T, q=smooth(T)[0] + 1e-5 * rng.normal(size=(len(T), 2)))
    cut, _ = without(whole, *spans)
    a, b = process(whole, p), process(cut, p)
    assert a.t.shape == b.t.shape
    assert b.keep.sum() < a.keep.sum()
    counts = b.keep.all(axis=1)
    for what in ("q", "qd", "qdd", "tau"):
        x, y = (decimate(getattr(m, what), thin)[counts] for m in (a, b))
        assert np.abs(x - y).max() < 1e-2 * np.abs(x).max(), what
    lost = sum(n - m for m, n in spans) / 400
    spent = (a.keep[:, 0].sum() - b.keep[:, 0].sum()) * prod(thin) / (resample_hz or 400.0)
    assert spent < lost + 3 * (2 * edge + 0.3)


def test_parts_of_a_log_with_gaps_are_the_whole(tmp_path):
    cut, _ = without(made_up(T), (1490, 1520), (5000, 5350), (8000, 8040))
    table = np.column_stack([cut.t, cut.q, cut.tau])
    np.savetxt(tmp_path / "run.csv", table, delimiter=",", header="t,q1,q2,tau1,tau2", comments="", fmt="%.17g")
    (tmp_path / "dataset.toml").write_text(
        'dataset.name = "gaps"\n[signals]\n'
        'time = { column = "t", unit = "s" }\nposition = { columns = ["q1", "q2"], unit = "rad" }\n'
        'torque = { columns = ["tau1", "tau2"], unit = "N m" }\n'
        '[[recording]]\nname = "run"\nfile = "run.csv"\n',
        encoding="utf-8",
    )
    manifest = read_manifest(tmp_path / "dataset.toml")
    for p in (Processing(position_hz=30, edge_s=0.2), Processing(position_hz=30, decimation=(5,), edge_s=0.2)):
        whole = process(cut, p)
        parts = list(iter_motions(manifest, "run", TWO, p, rows=1500))
        assert len(parts) > 1
        for what in ("t", "q", "qd", "qdd", "tau"):
            own = [decimate(getattr(m, what), p.decimation)[m.blocks[0][0] : m.blocks[-1][1]] for m in parts]
            reference = decimate(getattr(whole, what), p.decimation)
            assert np.abs(np.concatenate(own) - reference).max() < 1e-9 * np.abs(reference).max(), what
        keep = np.concatenate([m.keep[m.blocks[0][0] : m.blocks[-1][1]] for m in parts])
        np.testing.assert_array_equal(keep, whole.keep)


def test_a_gap_changes_no_choice_of_filters():
    """A leap of the positions across it would look like motion up to the highest frequency."""
    noisy = made_up(T, q=smooth(T)[0] + 1e-4 * np.random.default_rng(2).normal(size=(len(T), 2)), qd=None)
    cut = without(noisy, (5000, 5400))[0]
    (a, _), (b, _) = chosen([noisy]), chosen([cut])
    assert b.position_hz == pytest.approx(a.position_hz, rel=0.3)
    assert b.decimation == a.decimation


def test_it_is_told_what_becomes_of_a_gap():
    cut, _ = without(made_up(T), (3000, 3400))
    (told,) = (f.message for f in check_log(cut, TWO).findings if f.kind == "dropped rows")
    assert told.startswith("400 rows seem to be missing after row 3000 (1003 ms)")
    assert told.endswith("no row counts that filters bring together across a long gap")
    few, _ = without(made_up(T), (3000, 3003))
    (told,) = (f.message for f in check_log(few, TWO).findings if f.kind == "dropped rows")
    assert "across" not in told
