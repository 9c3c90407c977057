"""check_log finds what was planted, with the rows of the file, and nothing else."""

import logging
import re
from dataclasses import replace

import numpy as np
import pytest
from logs_data import TWO, made_up, smooth
from oracles import random_bodies, random_tree
from scipy.signal import lfilter

from ident.dynamics.rigid_body import inverse_dynamics
from ident.errors import LogError
from ident.logs import Processing, check_log, process
from ident.logs.automatic import chosen
from ident.logs.filter import decimate
from ident.logs.log import spans
from ident.logs.process import noise_share
from ident.logs.readings import position_quantum
from ident.logs.unscaled import weight
from ident.pipelines.steps import Warned, findings_of, log_warned
from ident.pipelines.steps import rounded as _rounded
from ident.robot import Limits
from ident.spatial.inertia import from_com

T = np.arange(2000) / 250
LIMITED = replace(
    TWO, joints=tuple(replace(j, limits=Limits(lower=-1.5, upper=1.5, velocity=8.0, effort=3.0)) for j in TWO.joints)
)


def kinds(log, robot=LIMITED):
    return [f.kind for f in check_log(log, robot).findings]


def finding(log, kind, robot=LIMITED):
    (found,) = [f for f in check_log(log, robot).findings if f.kind == kind]
    return found


def test_a_sound_log_has_no_findings():
    report = check_log(made_up(T), LIMITED)
    assert report.findings == ()
    assert report.steps == ((pytest.approx(0.004), 1999),)
    assert report.dt_median == pytest.approx(0.004)
    assert report.duration == pytest.approx(7.996)
    assert report.quantum == (None, None)


def test_dropped_rows_gap_and_short_step():
    keep = np.r_[0:500, 503:2000]
    log = made_up(T[keep], first_row=10)
    found = finding(log, "dropped rows")
    assert found.rows == (509,)
    assert found.message == "3 rows seem to be missing after row 509 (16 ms), where 4 ms is usual"
    late = T.copy()
    late[800:] += 0.0026
    found = finding(made_up(late), "gap")
    assert found.rows == (800,)
    assert found.message == "a gap after row 800 (6.6 ms), where 4 ms is usual"
    early = T.copy()
    early[700] = early[699] + 1e-3
    assert finding(made_up(early), "short step").rows == (701,)


def test_irregular_sampling():
    steps = np.where(np.arange(1999) % 3 == 0, 0.012, 0.010)
    log = made_up(np.r_[0, np.cumsum(steps)])
    assert kinds(log) == ["irregular sampling"]
    assert finding(log, "irregular sampling").message.startswith(
        "the time steps differ: 10 ms 1332 times, 12 ms 667 times"
    )


def test_repeats():
    log = made_up(T)
    twice = np.r_[0:300, 299, 300:1999]
    doubled = replace(log, q=log.q[twice], qd=log.qd[twice], tau=log.tau[twice])
    assert finding(doubled, "repeated rows").rows == (301,)
    stale = replace(log, q=log.q[twice])
    assert finding(stale, "repeated position").rows == (301,)


def test_limits():
    log = made_up(T)
    tight = replace(LIMITED, joints=(replace(LIMITED.joints[0], limits=Limits(-0.9, 1.5, 8.0, 3.0)), LIMITED.joints[1]))
    found = finding(log, "position limit", tight)
    assert found.rows == tuple(int(i) + 1 for i in np.flatnonzero(log.q[:, 0] < -0.9 - 1e-6 - 1.5e-3))
    assert "position of 'joint1' reaches" in found.message
    weak = Limits(-1.5, 1.5, 1.0, 1.9)
    weak = replace(LIMITED, joints=tuple(replace(j, limits=weak) for j in LIMITED.joints))
    assert kinds(log, weak) == ["effort limit", "velocity limit"] * 2


@pytest.mark.parametrize(
    ("scale", "zero", "said"),
    [
        (1.0, -90.0, r"is about -\d+.*is it, or its zero \(`offset`\), in degrees or on"),
        (57.3, 0.0, r"reaches \d+.*: is it in degrees or on the motor side\?"),
        (1.0, 0.0, ""),
        (1.0, 1.5, ""),
    ],
)
def test_a_joint_that_stands_where_it_cannot_has_its_zero_in_degrees(scale, zero, said):
    log = made_up(T)
    log = replace(log, q=log.q * [scale, 1.0] + [zero, 0.0], qd=None)
    found = [f.message for f in check_log(log, LIMITED).findings if f.kind == "unit"]
    assert len(found) == bool(said)
    assert all(re.search(said, text) for text in found)


@pytest.mark.parametrize(("factor", "said"), [(1.03, "2.91 % less"), (0.9, "11.1 % more"), (1.005, ""), (1.0, "")])
def test_time_that_velocities_contradict(factor, said):
    log = made_up(T)
    told = [f.message for f in check_log(replace(log, t=factor * log.t), LIMITED).findings if f.kind == "clock"]
    assert len(told) == bool(said)
    assert all(f"the motion took {said} time than is logged" in text for text in told)
    assert all(f"rate_hz = {1 / (T[1] - T[0]):.4g}" in text for text in told)
    one = replace(log, qd=log.qd * [1.03, 1.0])  # of one joint it is that joint's
    lagging = np.apply_along_axis(lambda x: lfilter([0.1], [1.0, -0.9], x), 0, log.qd)  # a filter takes from all
    assert not {"clock"} & {*kinds(one), *kinds(replace(log, qd=lagging))}


def test_units():
    log = made_up(T)
    degrees = replace(log, q=np.rad2deg(log.q), qd=np.rad2deg(log.qd))
    assert "is it in degrees" in next(f.message for f in check_log(degrees, LIMITED).findings if f.kind == "unit")
    speed = replace(log, qd=np.rad2deg(log.qd) / 20, q=log.q / 20)
    messages = [f.message for f in check_log(speed, LIMITED).findings if f.kind == "unit"]
    assert messages[0] == "velocity of 'joint1' is 57.3 times the change of its position per second (degrees?)"
    flipped = replace(log, qd=-log.qd)
    assert kinds(flipped) == ["sign", "sign"]
    raw = replace(log, tau=log.tau / 100)
    assert "is it a current without its gain" in check_log(raw, LIMITED).findings[0].message
    lone = replace(log, tau=log.tau / [100, 1])  # of several joints one may carry little
    assert "unit" not in kinds(lone)
    heavy = replace(LIMITED, inertials=[from_com(m, [0.3, 0, 0], 0.1 * np.eye(3)) for m in (2.0, 1.0)])
    heavy = heavy.with_gravity([0, 9.81, 0])
    assert weight(heavy, log.q).max() > 3.0
    assert "torque of 'joint1' stays below 1 % of its limit" in finding(lone, "unit", heavy).message
    light = replace(heavy, inertials=0.001 * heavy.inertials)  # what its bodies weigh is what was logged, or less
    assert "unit" not in kinds(raw, light)
    big = replace(log, tau=log.tau * 1000)
    assert [f.kind for f in check_log(big, LIMITED).findings].count("unit") == 2


def test_the_weight_of_links_is_what_holds_them():
    rng = np.random.default_rng(5)
    for points in (False, True):
        robot = random_tree(rng, 6, points=points)
        bodies, q = random_bodies(rng, 6), rng.uniform(-2, 2, (4, 6))
        held = np.abs(inverse_dynamics(robot, bodies, q, 0 * q, 0 * q)).max(axis=0)
        np.testing.assert_allclose(weight(replace(robot, inertials=bodies), q), held, rtol=1e-9, atol=1e-12)
        assert not weight(replace(robot, inertials=None), q).any()


def test_what_is_alike_in_several_recordings_is_told_once(caplog):
    told = [Warned(name, "unit", "small") for name in "ab"] + [Warned("a", "chosen", x) for x in "xyx"]
    with caplog.at_level(logging.INFO, logger="ident"):
        log_warned(told)
    assert caplog.messages == ["a, b: small", "a: x (1 more like it: in the report)"]


def test_quantum():
    q = made_up(T).q[:, 0]
    assert position_quantum(q) is None
    for step in (1e-4, 2 * np.pi / 4096, 5e-8):
        coarse = np.round(q * step / 1e-4 / step) * step
        assert position_quantum(coarse) == pytest.approx(step, rel=1e-6)
    log = made_up(T)
    found = [f for f in check_log(replace(log, q=np.round(log.q, 3)), LIMITED).findings if f.kind == "coarse position"]
    assert found[0].message == (
        "position of 'joint1' comes in steps of 0.001 rad (noise of 0.00029 rad rms);"
        " one step per sample is 0.25 rad/s: low-pass it"
    )


def test_another_robot_is_refused():
    with pytest.raises(LogError, match="run: has 2 joints, robot 'one' has 1"):
        check_log(made_up(T), replace(TWO, name="one", joints=TWO.joints[:1], links=TWO.links[:1], inertials=None))


def test_spans():
    assert spans([3, 7, 8, 9]) == "3, 7-9"
    assert spans(range(1, 41, 2)) == "1, 3, 5, 7, 9, 11 and 14 more"


def noisy(t=T):
    return made_up(t).tau + 0.02 * np.random.default_rng(3).normal(size=(len(t), 2))


@pytest.mark.parametrize(("value", "message"), [
    (0.0, "torque of 'joint2' is 0 in all 2000 rows (rows 11-2010): was it recorded? A joint without"
     " motor has the gain 0, an unknown torque nan"),
    (1.5, "torque of 'joint2' is 1.5 in all 2000 rows (rows 11-2010): is it the right column?"),
])  # fmt: skip
def test_constant_torque(value, message):
    tau = noisy()
    tau[:, 1] = value
    log = made_up(T, tau=tau, first_row=11)
    assert finding(log, "constant torque", TWO).message == message
    assert finding(log, "constant torque", TWO).rows == (11, 2010)
    assert "constant torque" not in kinds(replace(log, passive=("joint2",)), TWO)


def test_a_torque_that_is_no_number_is_refused_with_joint_and_rows():
    tau = noisy()
    tau[:, 1] = np.nan
    with pytest.raises(LogError, match=r"torque of joint2: no finite number at 2000 rows: 11-2010\."):
        made_up(T, tau=tau, first_row=11)


def test_a_copied_torque():
    tau = noisy()
    tau[:, 1] = -3 * tau[:, 0]
    found = finding(made_up(T, tau=tau), "copied torque", TWO)
    assert found.message == (
        "torque of 'joint2' is -3 times that of 'joint1' in all 2000 rows (rows 1-2000): is a column named twice?"
    )


@pytest.mark.parametrize("kind", ["zero", "offset", "noise", "decay"])
def test_start_transient(kind):
    tau, rows = noisy(), 30
    tau[:rows, 1] = {
        "zero": 0.0,
        "offset": tau[:rows, 1] + 4,
        "noise": tau[:rows, 1] + np.random.default_rng(5).normal(size=rows),
        "decay": tau[:rows, 1] + 6 * np.exp(-np.arange(rows) / 6),
    }[kind]
    found = finding(made_up(T, tau=tau, first_row=5), "start transient", TWO)
    last = found.rows[-1]
    assert found.message == (
        f"torque of 'joint2' in the first {last - 4} rows (5-{last}) is unlike the rest: cut them off with"
        " rows = [first, last]"
    )
    assert (15 if kind == "decay" else 31) <= last <= 34
    assert "start transient" not in kinds(made_up(T + 1e-9, tau=tau), TWO)  # a later part of a long recording


@pytest.mark.parametrize("rows", [30, 180])  # the first ones that are looked at are 60
def test_torques_of_a_first_motion_faster_than_all_after_it_are_no_start_transient(rows):
    log, row = made_up(T), np.arange(len(T))[:, None]
    q, tau = log.q * np.where(row < rows, 8.0, 1.0), log.tau * np.where(row < 30, 8.0, 1.0)
    assert "start transient" in kinds(made_up(T, tau=tau), TWO)
    assert not any(f.kind == "start transient" and f.message.startswith("torque") for f in check_log(
        made_up(T, q=q, qd=None, tau=tau), TWO).findings)  # fmt: skip


def test_position_that_begins_as_zeros():
    log = made_up(T)
    q = log.q + 1.0
    q[:20] = 0
    assert [f.message.split(" in the")[0] for f in check_log(made_up(T, q=q, qd=None), TWO).findings
            if f.kind == "start transient"] == ["position of 'joint1'", "position of 'joint2'"]  # fmt: skip


def test_no_false_start():
    """Sound logs: smooth, noisy, quantised, starting at rest, and with friction that jumps."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        tau = np.cos(rng.uniform(0.5, 3, 2) * T[:, None] + rng.uniform(0, 6, 2))
        tau += 0.3 * np.sign(np.sin(rng.uniform(0.5, 3) * T))[:, None] + 0.05 * rng.normal(size=tau.shape)
        if seed % 2:
            tau = np.round(tau, 1)
        found = {f.kind for f in check_log(made_up(T, tau=tau), TWO).findings}
        assert not found & {"constant torque", "copied torque", "start transient", "end transient"}


def test_how_much_of_the_acceleration_is_rounding():
    """Against the very same motion read without an encoder; 2^13 counts, filters at 5 to 40 Hz and none."""
    t = np.arange(4000) / 200.0
    true = made_up(t)
    step = 2 * np.pi / 2**13
    coarse = replace(true, q=np.round(true.q / step) * step)
    before = 0.0
    for cut in (5.0, 15.0, 40.0, None):
        how = Processing(position_hz=cut)
        read, smooth = process(coarse, how).qdd, process(true, how).qdd
        wanted = np.sqrt(np.sum((read - smooth) ** 2, axis=0) / np.sum(read**2, axis=0))
        share = noise_share(coarse, how, [step / 12**0.5] * 2)
        np.testing.assert_allclose(share, wanted, rtol=0.3)
        assert (share > before).all()
        before = share
    how = Processing(decimation=(5, 2), edge_samples=50)
    thinned = noise_share(coarse, how, [step / 12**0.5] * 2)
    read, smooth = (decimate(process(x, how).qdd, how.decimation)[1:-1] for x in (coarse, true))
    wanted = np.sqrt(np.sum((read - smooth) ** 2, axis=0) / np.sum(read**2, axis=0))
    np.testing.assert_allclose(thinned, wanted, rtol=0.3)
    assert (thinned < 0.3 * before).all()
    assert not noise_share(coarse, Processing(), [0.0, 0.0]).any()


def test_a_low_pass_does_not_silence_the_encoder():
    """The finding of the raw log becomes the figure of what is left of it, a warning where it bends the inertias."""
    t = np.arange(4000) / 200.0
    step = 2 * np.pi / 2**10
    true = made_up(t)
    coarse = replace(true, q=np.round(true.q / step) * step)
    report = check_log(coarse, TWO)
    told = {cut: list(_rounded(coarse, report, Processing(position_hz=cut))) for cut in (5.0, None)}
    assert [[w.kind for w in found] for found in told.values()] == [["coarse position"], ["rounded position"]]
    share = noise_share(coarse, Processing(position_hz=5.0), [step / 12**0.5] * 2)
    each = f"{100 * share[0]:.2g} % at 'joint1', {100 * share[1]:.2g} % at 'joint2'"
    assert told[5.0][0].message == f"part of the accelerations is the encoders' resolution: {each}"
    assert "% too small" in told[None][0].message
    assert not list(_rounded(true, check_log(true, TWO), Processing()))


def test_white_noise_of_positions_is_told_where_it_is_much_of_the_accelerations():
    true, rng = made_up(np.arange(4000) / 400), np.random.default_rng(0)
    noisy = replace(true, q=true.q + 3e-5 * rng.normal(size=true.q.shape))
    report, raw = check_log(noisy, TWO), Processing()
    (found,) = _rounded(noisy, report, raw)
    clean, spoilt = (process(x, raw).qdd for x in (true, noisy))
    shares = np.linalg.norm(spoilt - clean, axis=0) / np.linalg.norm(spoilt, axis=0)
    said = [float(x) for x in re.findall(r"(\S+) % at", found.message)]
    assert found.message.startswith("part of the accelerations is noise of the positions")
    np.testing.assert_allclose(said, 100 * shares, rtol=0.15)
    assert not list(_rounded(noisy, report, Processing(position_hz=8.0)))


@pytest.mark.parametrize(
    ("factor", "word"), [(1e3, "is the time in milliseconds?"), (1e-3, "declared as milliseconds?")]
)
def test_time_in_another_unit_is_asked_about(factor, word):
    t = np.arange(400) / 125.0
    assert not [f for f in check_log(made_up(t), TWO).findings if f.kind == "unit"]
    found = [f.message for f in check_log(replace(made_up(t), t=factor * t), TWO).findings if f.kind == "unit"]
    assert found[0].endswith(word)


def test_a_recording_of_which_nothing_is_left_has_no_share_of_rounding():
    assert np.isnan(
        noise_share(made_up(np.arange(400) / 200), Processing(edge_s=1.5, decimation=(5,)), [1e-3, 1e-3])
    ).all()


@pytest.mark.parametrize("slower", [5, 2, 0.5])
def test_a_rate_that_changes_midway_is_no_loss_of_rows(slower):
    steps = np.r_[np.full(900, 0.004), np.full(700, 0.004 * slower)]
    steps[300] *= 3
    log = made_up(np.r_[0.0, np.cumsum(steps)])
    assert kinds(log) == ["dropped rows", "rate change"]
    assert (
        finding(log, "dropped rows").message == "2 rows seem to be missing after row 301 (12 ms), where 4 ms is usual"
    )
    told = finding(log, "rate change")
    assert told.rows == (901,)
    assert told.message == f"the rate changes from 250 to {250 / slower:g} Hz at 3.608 s, row 901"


def test_a_pause_and_rows_lost_often_are_no_other_rate():
    paused = T.copy()
    paused[800:] += 1.0
    rng = np.random.default_rng(0)
    lost = T[rng.random(len(T)) > 0.3]
    assert all("rate change" not in kinds(made_up(t)) for t in (paused, lost))


def test_what_was_found_about_the_clock_is_said_though_rows_go_onto_a_grid():
    steps = np.where(np.arange(1999) % 3 == 0, 0.012, 0.010)
    report = check_log(made_up(np.r_[0, np.cumsum(steps)]), LIMITED)
    (said,) = findings_of("run", report, Processing(resample_hz=100.0))
    assert said.kind == "irregular sampling"


@pytest.mark.parametrize("late", [-0.03, 0.0, 0.002, 0.04, 0.16])
def test_velocities_that_are_late_are_named_with_how_much(late):
    t = np.arange(6000) / 250
    rng = np.random.default_rng(0)
    q, qd = smooth(t)[0], smooth(t - late)[1] * [1.0, 1.02]
    log = made_up(t, q=q + 1e-4 * rng.normal(size=q.shape), qd=qd + 1e-2 * rng.normal(size=q.shape))
    found = [f for f in check_log(log, TWO).findings if f.kind == "late velocity"]
    assert len(found) == (abs(late) > 0.01)
    said = [float(x) for f in found for x in re.findall(r"' by (\S+) ms", f.message)]
    np.testing.assert_allclose(said, [1e3 * late] * 2 if found else [], rtol=0.03)


def test_velocities_that_are_none_of_their_positions_are_not_told_late():
    t = np.arange(3000) / 250
    noise = np.random.default_rng(1).normal(size=(len(t), 2))
    for qd in (noise, np.zeros_like(noise), smooth(3.0 * t)[1]):
        assert "late velocity" not in [f.kind for f in check_log(made_up(t, qd=qd), TWO).findings]


@pytest.mark.parametrize("kind", ["zero", "offset", "decay"])
def test_an_end_unlike_the_rest_is_named_and_cut_off(kind):
    tau, rows = noisy(), 30
    tau[-rows:, 1] = {
        "zero": 0.0,
        "offset": tau[-rows:, 1] + 4,
        "decay": tau[-rows:, 1] + 6 * np.exp(np.arange(1 - rows, 1) / 6),
    }[kind]
    log = made_up(T, tau=tau)
    assert "start transient" not in kinds(log, TWO)
    found = finding(log, "end transient", TWO)
    assert found.rows[-1] == len(T)
    assert (15 if kind == "decay" else 30) <= len(found.rows) <= 34
    assert re.match(rf"torque of 'joint2' in the last {len(found.rows)} rows \(\d+-2000\) is unlike", found.message)
    edges = chosen([log])[0].edge_s
    assert edges[1] - edges[0] == pytest.approx(len(found.rows) / 250, abs=0.01)
    report = check_log(log, TWO)
    told = [findings_of("run", report, Processing(edge_s=(0.0, s))) for s in (0.2, 0.0)]
    assert [[w.kind for w in each] for each in told] == [["left out"], ["end transient"]]
