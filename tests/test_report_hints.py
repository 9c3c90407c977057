"""Residuals: a planted fault is named, on the joint that has it; a log without one gets no hint."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from identified import residual_of
from random_robots import random_pair
from synthetic import blocks, random_theta, states

from ident.compare.conditioning import sentence as direction_sentence
from ident.compare.conditioning import weakest_directions
from ident.compare.residuals import _SHIFTS, Hint, _Candidate, _selected, hints_of_all, residual_hints, sentence
from ident.estimate import estimated
from ident.logs.motion import Motion
from ident.model import Coulomb, DriveInertia, Model, Offset, Viscous, torque
from ident.regression import compress
from ident.report.figures import figure_of
from ident.report.picture import Strip
from ident.report.pictures import alike_for, autocorrelation, binned, one_after_another
from ident.report.report import _hinted

FULL = (DriveInertia(), Viscous(), Coulomb(), Offset())
NOISE = 0.03


def arm(seed):
    """Return a robot of five turning joints in a row."""
    return random_pair(np.random.default_rng(seed), 5, branches=False, prismatic=False)[1]


@cache
def clean(seed, terms=FULL):
    """Return model, time, states and torque without noise; the model lacks what `terms` leaves out."""
    rng = np.random.default_rng(seed)
    full = Model(arm(seed), FULL)
    t, q, qd, qdd = states(rng, 5, 3000)
    return Model(full.robot, terms), t, q, qd, qdd, torque(full, random_theta(rng, full), q, qd, qdd)


def hints(seed, plant=None, terms=FULL, decimation=()):
    model, t, q, qd, qdd, tau = clean(seed, terms)
    rng = np.random.default_rng(seed + 1000)
    tau = tau.copy() if plant is None else plant(t, q, qd, tau.copy())
    tau = tau + NOISE * tau.std(axis=0) * rng.normal(size=tau.shape)
    rows = len(t)
    for factor in decimation:
        rows = -(-rows // factor)
    motion = Motion("log", t, q, qd, qdd, tau, np.ones((rows, 5), bool), decimation, blocks(rows, 10))
    estimate = estimated(model, compress(model, motion), feasible=False)
    return residual_hints(model, motion, estimate.for_torque, estimate.sigma, base=estimate.base)


def size(x):
    return x / x.std()


def late(j, seconds):
    def plant(t, q, qd, tau):
        tau[:, j] = np.interp(t - seconds, t, tau[:, j])
        return tau

    return plant


def larger(j, factor):
    def plant(t, q, qd, tau):
        tau[:, j] *= factor
        return tau

    return plant


def added(j, column):
    def plant(t, q, qd, tau):
        tau[:, j] += tau[:, j].std() * column(t, q, qd, tau)
        return tau

    return plant


@pytest.mark.parametrize("decimation", [(), (4,)])
@pytest.mark.parametrize("seed", range(4))
def test_nothing_is_hinted_at_without_a_fault(seed, decimation):
    assert hints(seed, decimation=decimation) == ()


@pytest.mark.parametrize("decimation", [(), (4,)])
@pytest.mark.parametrize(("seed", "j", "delay"), [(0, 1, 0.02), (1, 3, 0.02), (2, 0, -0.02)])
def test_a_delay(seed, j, delay, decimation):
    found = hints(seed, late(j, delay), decimation=decimation)
    assert (found[0].joint, found[0].kind) == (f"joint{j}", "delay")
    assert found[0].value == pytest.approx(delay, rel=0.4)
    assert ("lags" if delay > 0 else "leads") in sentence(found[0])


@pytest.mark.parametrize(("seed", "j"), [(0, 1), (1, 3), (3, 2)])
def test_a_spring(seed, j):
    found = hints(seed, added(j, lambda t, q, qd, tau: 0.3 * size(q[:, j])))
    assert [(h.joint, h.kind) for h in found] == [(f"joint{j}", "spring")]
    _, _, q, *_, tau = clean(seed)
    assert found[0].value == pytest.approx(0.3 * tau[:, j].std() / q[:, j].std(), rel=0.1)


@pytest.mark.parametrize(
    ("what", "column"),
    [
        ("at low speed", lambda v, tau: 0.8 * np.sign(v) * np.exp(-np.abs(v) / (0.1 * np.abs(v).max()))),
        ("bent", lambda v, tau: 0.3 * size(v * np.abs(v))),
        ("by direction", lambda v, tau: 0.3 * size(np.abs(v))),
        ("by load", lambda v, tau: 0.4 * np.sign(v) * size(np.abs(tau))),
    ],
)
@pytest.mark.parametrize(("seed", "j"), [(0, 1), (1, 3)])
@pytest.mark.slow
def test_friction_of_another_shape(seed, j, what, column):
    found = hints(seed, added(j, lambda t, q, qd, tau: column(qd[:, j], tau[:, j])))
    assert (found[0].joint, found[0].kind, found[0].what) == (f"joint{j}", "friction", what)
    assert {h.joint for h in found} == {f"joint{j}"}
    assert found[0].share > 0.3


@pytest.mark.parametrize(("seed", "j", "what"), [(0, 1, "sign"), (1, 3, "sign"), (2, 2, "speed")])
def test_friction_that_changes_with_time(seed, j, what):
    def warming(t, q, qd, tau):
        column = np.sign(qd[:, j]) if what == "sign" else size(qd[:, j])
        return -0.5 * column * (t - t.mean()) / np.ptp(t)

    found = hints(seed, added(j, warming))
    assert (found[0].joint, found[0].kind, found[0].what) == (f"joint{j}", "drift", what)
    *_, qd, _, tau = clean(seed)
    change = -0.5 * tau[:, j].std() / (1 if what == "sign" else qd[:, j].std())
    assert found[0].value == pytest.approx(change, rel=0.1)
    assert "friction falls by" in sentence(found[0])


@pytest.mark.parametrize(("left", "what"), [((DriveInertia(), Viscous(), Offset()), "coulomb"),
                                            ((DriveInertia(), Coulomb(), Offset()), "viscous")])  # fmt: skip
def test_a_friction_term_that_was_left_out(left, what):
    found = hints(0, terms=left)
    assert {h.what for h in found if h.kind == "friction"} == {what}
    assert len(found) >= 2


@pytest.mark.parametrize(("seed", "j", "k"), [(0, 1, 3), (1, 3, 0), (2, 2, 4)])
@pytest.mark.slow
def test_coupling_to_another_joint(seed, j, k):
    moved = hints(seed, added(j, lambda t, q, qd, tau: 0.2 * size(qd[:, k]) + 0.2 * np.sign(qd[:, k])))
    assert (moved[0].joint, moved[0].kind, moved[0].what, moved[0].other) == (
        f"joint{j}",
        "coupling",
        "movement",
        f"joint{k}",
    )
    assert f"joint{k}" in sentence(moved[0])
    crossed = hints(seed, added(j, lambda t, q, qd, tau: 0.2 * size(tau[:, k])))
    assert (crossed[0].joint, crossed[0].kind, crossed[0].other) == (f"joint{j}", "coupling", f"joint{k}")


@pytest.mark.parametrize(("seed", "j"), [(0, 1), (1, 1), (2, 2)])
def test_a_gain_error(seed, j):
    found = hints(seed, larger(j, 1.25))
    assert (found[0].joint, found[0].kind) == (f"joint{j}", "gain")
    assert found[0].value == pytest.approx(0.25, abs=0.08)
    assert "larger than the other joints allow" in sentence(found[0])


@pytest.mark.parametrize(("seed", "j"), [(1, 1), (2, 2)])
def test_a_joint_without_torque_has_none_that_is_late_or_too_small(seed, j):
    found = hints(seed, larger(j, 0.0))
    assert not [h for h in found if h.joint == f"joint{j}" and (h.kind in ("delay", "gain") or h.what == "torque")]


def test_two_faults_are_both_named():
    def plant(t, q, qd, tau):
        return added(3, lambda t, q, qd, tau: 0.3 * size(q[:, 3]))(t, q, qd, late(1, 0.02)(t, q, qd, tau))

    assert {(h.joint, h.kind) for h in hints(0, plant)} >= {("joint1", "delay"), ("joint3", "spring")}


def test_torques_that_come_early_are_looked_for_as_far_as_late_ones():
    assert tuple(-shift for shift in reversed(_SHIFTS)) == _SHIFTS


@pytest.mark.parametrize(("alike", "named"), [([1.0, 0.0, 0.0], False), ([0.0, 0.0, 1.0], True)])
def test_a_delay_is_named_where_what_looks_like_one_leaves_it_enough(alike, named):
    """The delay's column is the residual; beside what explains 99 % of both, its gain is below 5 % of what is left."""
    left = np.array([1.0, 0.1, 0.0])
    columns = np.column_stack([alike, left, left])
    gram = np.stack([columns.T @ columns] * 2)
    found = [_Candidate(0, kind, "delay", columns[:, [k]]) for k, kind in enumerate((None, "delay"))]
    assert [hint.kind for hint in _selected(("joint1",), found, [gram, gram], gram)] == ["delay"] * named


def test_a_short_log_is_not_judged():
    model, t, q, qd, qdd, tau = clean(0)
    motion = Motion("short", t[:60], q[:60], qd[:60], qdd[:60], tau[:60], np.ones((60, 5), bool))
    full = Motion("log", t, q, qd, qdd, tau + 0.1, np.ones((3000, 5), bool), (), blocks(3000, 10))
    estimate = estimated(model, compress(model, full), feasible=False)
    given = (estimate.for_torque, estimate.sigma)
    assert residual_hints(model, motion, *given, base=estimate.base) is None
    rest = [np.repeat(x[:1], 3000, axis=0) for x in (q, qd, qdd, tau)]
    for keep, decimation in ((3000, ()), (600, (5,))):
        still = Motion("rest", t, *rest, np.ones((keep, 5), bool), decimation)
        assert residual_hints(model, still, *given, base=estimate.base) is None


def part(name, states, rows, tau):
    t, q, qd, qdd = (x[rows] for x in states)
    return Motion(name, t, q, qd, qdd, tau[rows], np.ones((len(t), 5), bool), (), blocks(len(t), 6))


@pytest.mark.slow
def test_a_fault_of_one_recording_is_found_there():
    """The first recording is clean; what is wrong with the others alone is told with their names."""
    model, *moved, tau = clean(0)
    noisy = tau + NOISE * tau.std(axis=0) * np.random.default_rng(5).normal(size=tau.shape)
    spring = added(3, lambda t, q, qd, tau: 0.4 * size(q[:, 3]))(*moved[:3], noisy.copy())
    recordings = [
        part("a", moved, slice(0, 1500), noisy),
        part("b", moved, slice(1500, 3000), spring),
        part("c", moved, slice(0, 1500), late(1, 0.03)(*moved[:3], spring.copy())),
    ]
    estimate = estimated(model, compress(model, recordings), feasible=False)
    given = (estimate.for_torque, estimate.sigma)
    found = hints_of_all(model, recordings, *given, base=estimate.base)
    told = {(h.joint, h.kind): h.recordings for h in found}
    assert told["joint3", "spring"] == ("b", "c")
    assert told["joint1", "delay"] == ("c",)
    assert not any("a" in names for names in told.values())
    assert sentence(found[0]).endswith(" Seen in 2 of 3 recordings: “b”, “c”.")
    alone = hints_of_all(model, recordings[1:2], *given, base=estimate.base)
    assert alone[0].recordings == ()
    assert sentence(alone[0]).endswith("%.")
    short = part("short", moved, slice(0, 60), noisy)
    with_short = hints_of_all(model, [*recordings[1:2], short], *given, base=estimate.base)
    assert (with_short[0].recordings, with_short[0].looked_at) == (("b",), 1)
    assert hints_of_all(model, [short, short], *given, base=estimate.base) is None


@pytest.mark.parametrize(("seed", "j", "rows"), [(0, 1, 600), (1, 4, 600), (2, 1, 800), (3, 2, 800)])
def test_a_term_that_helps_other_joints_only_is_no_hint(seed, j, rows):
    """Halves of a short recording show little: a term of one joint can improve what another one's half predicts."""
    model, *moved, tau = clean(seed)
    t, q, qd, _ = moved
    off = added(j, lambda t, q, qd, tau: 0.3 * size(q[:, j]))(t, q, qd, tau.copy())
    estimate = estimated(model, compress(model, part("log", moved, slice(None), off)), feasible=False)
    noise = NOISE * tau.std(axis=0) * np.random.default_rng(seed).normal(size=tau.shape)
    short = part("short", moved, slice(0, rows), tau + noise)
    found = residual_hints(model, short, estimate.for_torque, estimate.sigma, base=estimate.base)
    assert all(hint.share > 0.02 for hint in found)


@pytest.mark.parametrize("kind", ["delay", "gain", "offset", "spring"])
def test_sentences_say_which_joint_and_how_much(kind):
    said = sentence(Hint("axis", kind, kind, -0.004, 0.5), frozenset({"axis"}))
    assert said.startswith("axis: ")
    assert said.endswith("falls by 50%.")
    assert {"delay": "leads the prediction by about 4 ms", "gain": "0.4% smaller", "offset": "-0.004 N on average",
            "spring": "-0.004 N/m"}[kind] in said  # fmt: skip


def test_autocorrelation_against_the_plain_sum():
    rng = np.random.default_rng(0)
    x = np.convolve(rng.normal(size=400), np.ones(7), "valid")
    y = x - x.mean()
    plain = [float(y[k:] @ y[: len(y) - k] / (y @ y)) for k in range(50)]
    assert np.allclose(autocorrelation(x, 49), plain, atol=1e-12)
    assert autocorrelation(np.ones(10), 3).tolist() == [0.0] * 4
    one, two = (part - part.mean() for part in (x[:150], x[150:]))
    apart = [float(one[k:] @ one[: len(one) - k] + two[k:] @ two[: len(two) - k]) for k in range(50)]
    assert np.allclose(autocorrelation(x, 49, (0, 150)), np.array(apart) / apart[0], atol=1e-12)
    short = autocorrelation(x, 300, (0, 380))  # lags beyond the second recording's 14 samples are the first one's
    one, two = (part - part.mean() for part in (x[:380], x[380:]))
    apart = [float(one[k:] @ one[: len(one) - k]) for k in range(14, 301)]
    assert np.allclose(short[14:], np.array(apart) / (one @ one + two @ two), atol=1e-12)
    white, colour = rng.normal(size=20_000), np.convolve(rng.normal(size=20_000), np.ones(9), "valid")
    t = np.arange(20_000) * 0.01
    assert alike_for(t, white)[0] == pytest.approx(0.01)
    assert alike_for(t, white)[1] == pytest.approx(1.0, abs=0.2)
    assert alike_for(t[:-8], colour)[0] == pytest.approx(0.08, abs=0.011)
    assert alike_for(t[:-8], colour)[1] == pytest.approx(9.0, abs=2.0)


def test_recordings_are_drawn_one_after_another():
    t = np.concatenate([np.arange(3) * 0.5, 7 + np.arange(4) * 0.5])
    assert one_after_another(t, (0, 3)) == pytest.approx(np.arange(7) * 0.5)
    assert one_after_another(t[:3], (0,)) == pytest.approx(t[:3])
    time = residual_of(t, t, t, t, title="two", starts=(0, 3)).panels[0]
    assert time.x.words == "time of 2 recordings [s]"
    assert [mark.low for mark in time.marks if isinstance(mark, Strip) and mark.axis == "x"] == [1.5]


@pytest.mark.parametrize("largest", [4e-7, 0.00543, 0.5, 40.0, 12_345.0])
@pytest.mark.slow
def test_labels_of_residuals_stay_in_the_figure(largest):
    t = np.linspace(0, 1, 500)
    picture = residual_of(t, largest * np.sin(40 * t), t, t, title="joint")
    figure = figure_of(picture)
    figure.canvas.draw()
    for axes in figure.axes:
        box = axes.yaxis.label.get_window_extent()
        low, high = axes.get_ylim()
        seen = (x for x in axes.get_yticklabels() if x.get_text() and low <= x.get_position()[1] <= high)
        ticks = [x.get_window_extent() for x in seen]
        assert box.x0 >= 0
        assert all(box.x1 <= tick.x0 + 1 for tick in ticks)


def test_bins_hold_the_quantiles():
    rng = np.random.default_rng(1)
    x, y = rng.uniform(-1, 1, 20_000), rng.normal(size=20_000)
    centres, quantiles = binned(x, y + 3 * (x > 0))
    assert np.allclose(quantiles[:, 1], 3 * (centres > 0), atol=0.25)
    assert np.allclose(quantiles[:, 2] - quantiles[:, 0], 2 * 1.645, atol=0.6)
    assert len(binned(np.ones(5), np.ones(5))[0]) == 0


def test_the_weakest_direction_is_the_pair_that_hardly_differs():
    model, t, q, qd, qdd, tau = clean(0)
    slow = 1e-3  # a joint that hardly moves shows its offset and its gravity moments together
    q0 = q.mean(axis=0) + slow * (q - q.mean(axis=0))
    motion = Motion("slow", t, q0, slow * qd, slow * qdd, tau, np.ones((3000, 5), bool), (), blocks(3000, 10))
    regression = compress(model, motion)
    found = weakest_directions(regression, np.ones(5))
    W = regression.factor(np.ones(5))[:-1, :-1]
    W = W / np.where(np.linalg.norm(W, axis=0) > 0, np.linalg.norm(W, axis=0), 1.0)
    assert found[0].times >= found[1].times >= found[2].times > 100
    names = regression.base.names
    places = [names.index(n) for n, _ in found[0].parts]
    assert 1.0 / found[0].times == pytest.approx(np.linalg.svd(W, compute_uv=False)[-1], rel=1e-6)
    assert len(places) >= 1
    assert all(name in direction_sentence(found[0]) for name, _ in found[0].parts)


def test_a_report_lists_the_six_best_hints_and_counts_the_rest():
    hints = tuple(Hint(f"j{k}", "offset", "offset", 1.0, 0.5 - 0.05 * k) for k in range(8))
    said = _hinted(hints, ["a"], frozenset(), {})
    assert [text.partition(":")[0] for text in said[:6]] == [f"j{k}" for k in range(6)]
    assert said[6:] == ["2 weaker hints are left out."]
    assert len(_hinted(hints[:6], ["a"], frozenset(), {})) == 6
    assert _hinted(hints[:7], ["a"], frozenset(), {})[-1] == "1 weaker hint is left out."


def test_where_nothing_is_found_all_that_was_tried_is_named():
    (said,) = _hinted((), ["a"], frozenset(), {})
    assert "no delay, friction, drift, spring, coupling, gain or offset that was tried" in said
