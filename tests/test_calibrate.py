"""Tilt, zeros, gains, delays and lengths: what they change, and that they are found where the log tells them."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from identified import case
from random_robots import random_pair
from seeds import cases

from ident.arrays import Array
from ident.calibrate import calibrated, calibrated_where_worth, worthwhile
from ident.calibrate.calibrate import Normal, covariance_of, free_of, normal_at, solved
from ident.calibrate.slopes import (
    REACH,
    At,
    Slope,
    as_read,
    corrected_model,
    corrected_motion,
    drive_matrix,
    without_jumps,
)
from ident.calibrate.worth import _considered
from ident.dynamics.rigid_body import inverse_dynamics
from ident.errors import InputError
from ident.estimate import Prior, cad_prior
from ident.estimate.covariance import half_widths
from ident.logs.motion import Motion, split
from ident.model import Coulomb, DriveInertia, Model, Offset, Viscous, torque
from ident.regression import base_parameters
from ident.regression.compress import packed_columns, pull_back
from ident.robot import Robot
from ident.robot.file import DHJoint, MDHJoint, from_dh, from_mdh
from ident.robot.robot import Transmission
from ident.robot.unknown import (
    Unknown,
    by_kind,
    corrected_robot,
    gains,
    length,
    nominal,
    saturations,
    skews,
    spreads,
    tilts,
    zeros,
)
from ident.spatial.inertia import from_com

RIGHT = np.pi / 2
ROWS = (MDHJoint(d=0.3), MDHJoint(alpha=-RIGHT, d=0.05), MDHJoint(a=0.4), MDHJoint(alpha=RIGHT, a=0.05, d=0.3))


def states(n: int, seed: int, samples: int = 40) -> tuple[Array, Array, Array]:
    q, qd, qdd = np.random.default_rng(seed).normal(size=(3, samples, n))
    return q, qd, qdd


def bodies(n: int) -> Array:
    return np.array([from_com(5.0 - i, [0.1, -0.02, 0.05], np.diag([0.03, 0.025, 0.02])) for i in range(n)])


# ---- what an unknown changes ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(cases(20)))
def test_a_zero_is_a_shift_of_what_the_log_says(seed):
    rng = np.random.default_rng(seed)
    robot = random_pair(rng, 4)[1]
    off = rng.normal(0.0, 0.3, 4)
    q, qd, qdd = states(4, seed)
    shifted = inverse_dynamics(robot, bodies(4), q + off, qd, qdd)
    corrected = inverse_dynamics(corrected_robot(robot, zeros(robot), off), bodies(4), q, qd, qdd)
    np.testing.assert_allclose(corrected, shifted, atol=1e-9)


@pytest.mark.parametrize("gravity", [(0, 0, -9.81), (0, 0, 9.81), (9.81, 0, 0), (3.0, -5.0, 7.0)])
def test_tilts_turn_gravity_about_the_horizontal_axes(gravity):
    robot = from_mdh("arm", ROWS, gravity=gravity)
    two = tilts(robot)
    axes = np.array([u.direction for u in two])
    assert len(two) == 2
    np.testing.assert_allclose(axes @ axes.T, np.eye(2), atol=1e-9)
    np.testing.assert_allclose(axes @ robot.gravity, 0.0, atol=1e-9)
    found = corrected_robot(robot, two, (0.03, -0.04)).gravity
    assert np.linalg.norm(found) == pytest.approx(np.linalg.norm(gravity))
    assert np.linalg.norm(np.cross(found, gravity)) / np.dot(gravity, gravity) == pytest.approx(np.sin(0.05))


@pytest.mark.parametrize("convention", ["dh", "mdh"])
@pytest.mark.parametrize("part", ["a", "d"])
def test_a_length_of_a_table_is_that_of_the_table(convention, part):
    make, row = (from_dh, DHJoint) if convention == "dh" else (from_mdh, MDHJoint)
    rows = [
        row(a=0.1, alpha=0.7, d=0.3, theta=0.2),
        row(a=0.3, alpha=-0.4, d=0.05, offset=0.3, sign=-1),
        row(a=0.2, alpha=1.1, d=0.1, theta=0.4, kind="prismatic"),
        row(a=0.02, alpha=0.3, d=-0.2),
    ]
    robot, (q, qd, qdd) = make("arm", rows), states(4, 3)
    for k in range(4):
        changed = [replace(r, **{part: getattr(r, part) + 0.07}) if i == k else r for i, r in enumerate(rows)]
        expected = inverse_dynamics(make("arm", changed), bodies(4), q, qd, qdd)
        unknown = length(robot, f"joint{k + 1}.{part}", convention)
        found = inverse_dynamics(corrected_robot(robot, [unknown], [0.07]), bodies(4), q, qd, qdd)
        np.testing.assert_allclose(found, expected, atol=1e-9)


def test_a_length_of_a_urdf_is_that_of_a_joints_origin():
    robot = case().robot
    unknown = length(robot, "reach.x")
    assert unknown.spread == pytest.approx(0.005)
    moved = corrected_robot(robot, [unknown], [0.01])
    np.testing.assert_allclose(moved.joints[2].placement.position, [0.51, 0.0, 0.0])


@pytest.mark.parametrize("name", ["reach.a", "reach", "nothing.x"])
def test_lengths_that_are_none_are_named(name):
    with pytest.raises(InputError, match=r"reach|nothing"):
        length(case().robot, name)


# ---- slopes ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(cases(20)))
def test_slopes_of_zeros_are_those_of_the_adjoint_kernels(seed):
    rng = np.random.default_rng(seed)
    robot = random_pair(rng, 4)[1]
    model, theta = Model(robot), bodies(4).ravel()
    q, qd, qdd = states(4, seed)
    base = base_parameters(model)
    columns, phi, weights = packed_columns(model, base), base.K @ theta, rng.normal(size=(len(q), 4))
    cotangent = np.zeros((len(q), columns.width))
    for j, ((start, stop), own) in enumerate(zip(columns.span, columns.parameters, strict=True)):
        cotangent[:, start : stop - 1] = weights[:, [j]] * phi[list(own)]
    adjoint = pull_back(columns, q, qd, qdd, cotangent)[0]
    unknowns = zeros(robot)
    at = At(model, unknowns, nominal(unknowns), theta, 0.01)
    for k in range(4):
        slope = Slope(unknowns[k], k, at).torques(q, qd, qdd)
        np.testing.assert_allclose((weights * slope.T).sum(axis=1), adjoint[:, k], rtol=1e-6, atol=1e-6)


def test_slopes_are_those_of_the_corrected_torque():
    """Every kind, at values that are not nominal, coupled drives among them: what the fit sees is model less log."""
    rng = np.random.default_rng(5)
    robot = from_mdh("arm", ROWS)
    matrix = np.diag([50.0, 60.0, -40.0, 30.0])
    matrix[3, 2] = 15.0
    robot = replace(robot, transmission=Transmission(("m1", "m2", "m3", "m4"), matrix))
    model = Model(robot, (DriveInertia(), Viscous()))
    lost = saturations(robot, [40.0, 30.0, 20.0, 20.0])
    unknowns = (*tilts(robot), *zeros(robot), *gains(robot), *lost, length(robot, "joint3.a", "mdh"))
    values = nominal(unknowns) + 0.5 * rng.normal(size=len(unknowns)) * spreads(unknowns)
    theta = np.concatenate([bodies(4).ravel(), rng.uniform(0.5, 2.0, 8)])
    q, qd, qdd = states(4, 6)

    def seen(at: Array) -> Array:
        """The torque that the log would hold."""
        tau = torque(corrected_model(model, unknowns, at), theta, q, qd, qdd)
        drives, (gain, lost, _) = drive_matrix(robot), by_kind(robot, unknowns, at)
        return (as_read(tau @ np.linalg.inv(drives), lost) * gain) @ drives

    def corrected(tau: Array) -> Array:
        motion = Motion("x", np.arange(len(q)) * 0.01, q, qd, qdd, tau, np.ones(q.shape, dtype=bool))
        return corrected_motion(robot, motion, unknowns, values).tau

    at = At(model, unknowns, values, theta, 0.01)
    np.testing.assert_allclose(corrected(seen(values)), torque(at_model(at), theta, q, qd, qdd), atol=1e-9)
    for k, unknown in enumerate(unknowns):
        size = 1e-4 * unknown.spread
        step = size * np.eye(len(unknowns))[k]
        expected = (corrected(seen(values + step)) - corrected(seen(values - step))) / (2.0 * size)
        slope = Slope(unknown, k, at)
        joints = np.flatnonzero(slope.along(robot)[1][0])
        found = np.zeros_like(q)
        found[:, joints] = slope.torques(q, qd, qdd).T
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-5, err_msg=unknown.name)


def at_model(at: At) -> Model:
    return corrected_model(at.model, at.unknowns, at.values)


# ---- found ----------------------------------------------------------------------------------------------------------


def moved(robot: Robot, theta: Array, seed: int, unknowns: tuple[Unknown, ...], true: Array) -> Motion:
    """A log of an arm whose unknowns are these, read as if they were nominal."""
    rng = np.random.default_rng(seed)
    n, t = robot.n, np.arange(3000) / 100.0
    w = 2 * np.pi * 0.1 * np.arange(1, 6)[:, None, None]
    a, phase = rng.uniform(0.15, 0.4, (5, 1, n)), rng.uniform(0.0, 6.0, (5, 1, n))

    def at(late: Array) -> tuple[Array, Array, Array]:
        x = w * (t[:, None] - late) + phase
        return (a * np.sin(x)).sum(0), (a * w * np.cos(x)).sum(0), -(a * w**2 * np.sin(x)).sum(0)

    gain, lost, late = by_kind(robot, unknowns, true)
    tau = gain * as_read(torque(corrected_model(model_of(robot), unknowns, true), theta, *at(np.zeros(n))), lost)
    tau += 0.01 * tau.std(axis=0) * rng.normal(size=tau.shape)
    q, qd, qdd = at(late)
    blocks, _ = split(0, len(t), len(t) / 20)
    return Motion("moved", t, q, qd, qdd, tau, np.ones(q.shape, dtype=bool), blocks=blocks)


def model_of(robot: Robot) -> Model:
    return Model(robot, (DriveInertia(), Viscous(), Coulomb(), Offset()))


@cache
def arm(seed: int) -> tuple[Robot, Array, Prior]:
    """An arm of four joints, its parameters, and CAD that is 10 % off them."""
    rng = np.random.default_rng(seed)
    robot = from_mdh("arm", ROWS)
    true = bodies(4) * rng.uniform(0.9, 1.1, (4, 1))
    theta = np.concatenate([true.ravel(), np.full(4, 0.3), *rng.uniform(1.0, 3.0, (2, 4)), np.zeros(4)])
    return robot, theta, cad_prior(robot, bodies(4), "cad.csv")


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(cases(6)))
def test_planted_tilt_zeros_gains_and_delays_are_found_within_their_error_bars(seed):
    robot, theta, prior = arm(seed)
    unknowns = (*tilts(robot), *zeros(robot), *gains(robot), *skews(robot))
    rng = np.random.default_rng(100 + seed)
    true = nominal(unknowns) + rng.normal(size=len(unknowns)) * spreads(unknowns)
    motion = moved(robot, theta, seed, unknowns, true)
    found = calibrated(model_of(robot), motion, prior, unknowns)
    names = [u.name for u in unknowns]
    apart = [
        (found.value(u.name) - true[names.index(u.name)]) / e for u, e in zip(found.unknowns, found.errors, strict=True)
    ]
    assert len(apart) >= 12
    assert np.abs(apart).max() < 4.5
    assert {u.unknown.name for u in found.untold} >= {"joint4.zero"}
    assert found.passes <= 5
    assert all(e.gain > 0.0 for e in worthwhile(found) if e.worth)
    # and the arm as found predicts another motion much better than the arm as described
    other = moved(robot, theta, 50 + seed, unknowns, true)
    right = corrected_motion(robot, other, found.unknowns, found.values)
    assert missed(found.model, found.motions[0], right) < 0.5 * missed(model_of(robot), motion, other)


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.0, 0.15])
def test_saturation_of_torque_constants_is_found_where_it_is(share):
    """A share of the largest torque lost, beside gains: found within its error bars, and not where there is none."""
    robot, theta, prior = arm(4)
    largest = np.abs(moved(robot, theta, 11, (), np.zeros(0)).tau).max(axis=0)
    own = saturations(robot, largest)
    true = share / largest**2
    motion = moved(robot, theta, 11, own, true)
    kept, evidence, _ = calibrated_where_worth(model_of(robot), motion, prior, (*gains(robot), *own))
    assert {e.group for e in evidence if e.worth} == ({"saturation"} if share else set())
    if share:
        assert kept is not None
        told = [k for k, u in enumerate(own) if u in kept.unknowns]
        apart = [(kept.value(own[k].name) - true[k]) / e for k, e in zip(told, kept.errors, strict=True)]
        assert np.abs(apart).max() < 4.5
        assert len(told) >= 2
        other = moved(robot, theta, 60, own, true)
        right = corrected_motion(robot, other, kept.unknowns, kept.values)
        assert missed(kept.model, kept.motions[0], right) < 0.7 * missed(model_of(robot), motion, other)


def missed(model: Model, fitted: Motion, other: Motion) -> float:
    """Return the relative error of least squares on another motion."""
    import ident

    fit = ident.fit(model, [fitted], feasible=False)
    return float(np.linalg.norm(fit.predict(other) - other.tau) / np.linalg.norm(other.tau))


@pytest.mark.slow
def test_nothing_is_worth_it_where_nothing_is_wrong():
    robot, theta, prior = arm(0)
    unknowns = (*tilts(robot), *zeros(robot), *gains(robot))
    motion = moved(robot, theta, 7, unknowns, nominal(unknowns))
    kept, evidence, whole = calibrated_where_worth(model_of(robot), motion, prior, unknowns)
    assert kept is None
    assert {e.group for e in evidence} == {"tilt", "zero", "gain"}
    assert not any(e.worth for e in evidence)
    assert np.abs((whole.values - nominal(whole.unknowns)) / whole.errors).max() < 4.0


@pytest.mark.slow
def test_what_is_wrong_is_kept_and_the_rest_is_not():
    robot, theta, prior = arm(1)
    unknowns = (*tilts(robot), *zeros(robot), *gains(robot))
    true = nominal(unknowns)
    true[:2] = 0.03, -0.02
    motion = moved(robot, theta, 8, unknowns, true)
    kept, evidence, _ = calibrated_where_worth(model_of(robot), motion, prior, unknowns)
    assert kept is not None
    assert [e.group for e in evidence if e.worth] == ["tilt"]
    assert [u.name for u in kept.unknowns] == ["base.tilt_x", "base.tilt_y"]
    assert (np.abs(kept.values - true[:2]) < kept.half_widths(0.999)).all()


@pytest.mark.slow
def test_what_no_torque_shows_is_named_with_its_reason():
    robot, theta, prior = arm(2)
    motion = moved(robot, theta, 9, (), np.zeros(0))
    found = calibrated(model_of(robot), motion, prior, zeros(robot))
    reasons = {u.unknown.name: u.reason for u in found.untold}
    assert "hardly changes any torque" in reasons["joint1.zero"]
    assert "bodies" in reasons["joint4.zero"]


@pytest.mark.slow
def test_a_common_factor_of_all_gains_is_left_to_what_is_known():
    """All masses and gains together: no torque tells; its error bar says so, and is far wider than that of ratios."""
    robot, theta, prior = arm(3)
    unknowns = gains(robot)
    motion = moved(robot, theta, 10, unknowns, np.full(4, 1.05))
    found = calibrated(model_of(robot), motion, prior, unknowns)
    assert len(found.unknowns) == 4
    ratio = np.array([1.0, -1.0, 0.0, 0.0])
    assert np.sqrt(ratio @ found.covariance @ ratio) < 0.2 * np.sqrt(np.ones(4) @ found.covariance @ np.ones(4)) / 4.0
    assert found.errors.min() > 0.01


# ---- delays ---------------------------------------------------------------------------------------------------------


def stops(seed: int, n: int, late: Array, samples: int = 3000) -> tuple[Array, Array, Array]:
    """Quintics from point to point, also on in the same direction, with rests between some; read late by so much."""
    rng = np.random.default_rng(seed)
    points = np.cumsum(rng.uniform(-0.6, 0.6, (samples // 200 + 2, n)), axis=0)
    t = (np.arange(samples)[:, None] / 100.0 - late) / 2.0
    k, rest = np.clip(t.astype(int), 0, len(points) - 2), rng.choice([0.7, 1.0], n)
    x, j = np.clip((t - k) / rest, 0.0, 1.0), np.arange(n)
    by, d = points[k + 1, j] - points[k, j], 2.0 * rest
    speed, change = 30 * x**2 - 60 * x**3 + 30 * x**4, 60 * x - 180 * x**2 + 120 * x**3
    return points[k, j] + by * (10 * x**3 - 15 * x**4 + 6 * x**5), by * speed / d, by * change / d**2


@pytest.mark.parametrize("seed", range(cases(8)))
@pytest.mark.parametrize("decimation", [(), (5,)])
@pytest.mark.parametrize("zone", [0.0, 0.2])
def test_no_delay_turns_the_friction_of_a_row_that_counts(seed, decimation, zone):
    """Up to REACH standard deviations either way, in stops, rests and passages that only touch zero."""
    robot = from_mdh("arm", ROWS)
    law = Coulomb(dead_zone=zone)
    model = Model(robot, (law,))
    q, qd, qdd = stops(seed, 4, np.zeros(4))
    rows = len(q[:: decimation[0]]) if decimation else len(q)
    t, kept = np.arange(len(q)) / 100.0, np.ones((rows, 4), dtype=bool)
    motion = Motion("x", t, q, qd, qdd, 0.0 * q, kept, decimation=decimation)
    late = skews(robot, ["joint2", "joint3"])
    (seen,), hidden = without_jumps(model, [motion], late)
    assert not hidden.any()
    raw = np.repeat(seen.keep, decimation[0] if decimation else 1, axis=0)[: len(q)]
    assert seen.keep[:, [0, 3]].all()
    assert 0.3 < seen.keep[:, [1, 2]].mean() < 0.95
    for by in np.linspace(-REACH, REACH, 13) * late[0].spread:
        moved_on = corrected_motion(robot, motion, late, [by, by])
        assert (law.column(q, moved_on.qd, qdd) == law.column(q, qd, qdd))[raw].all()
    (same,), _ = without_jumps(model, [motion], zeros(robot))
    assert same.keep.all()


@pytest.mark.parametrize("seed", range(cases(8)))
def test_a_joint_read_later_moves_no_way_that_it_never_went(seed):
    """Rests stay rests, and where a joint slows down to zero and goes on, splines of its speed swing below zero."""
    robot = from_mdh("arm", ROWS)
    q, qd, qdd = stops(seed, 4, np.zeros(4))
    t = np.arange(len(q)) / 100.0
    motion = Motion("x", t, q, qd, qdd, 0.0 * q, np.ones(q.shape, dtype=bool))
    for late in (-0.004, 0.0003, 0.003):
        found = corrected_motion(robot, motion, skews(robot), np.full(4, late))
        true = stops(seed, 4, np.full(4, -late))
        assert (np.sign(found.qd) * np.sign(true[1]) >= 0.0)[2:-2].all()
        assert (np.sign(found.qd) != np.sign(true[1]))[2:-2].mean() < 0.01
        np.testing.assert_allclose(found.qd[2:-2], true[1][2:-2], atol=0.02)


def read_late(seed: int, late: Array) -> tuple[Model, Motion, Prior]:
    """A log of an arm of four joints with stops, whose positions are read late by so much."""
    robot, theta, prior = arm(seed)
    model = model_of(robot)
    tau = torque(model, theta, *stops(seed, 4, np.zeros(4)))
    tau += 0.01 * tau.std(axis=0) * np.random.default_rng(seed).normal(size=tau.shape)
    q, qd, qdd = stops(seed, 4, late)
    blocks, _ = split(0, len(q), len(q) / 20)
    t = np.arange(len(q)) / 100.0
    return model, Motion("late", t, q, qd, qdd, tau, np.ones(q.shape, dtype=bool), blocks=blocks), prior


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(cases(6)))
def test_delays_are_found_and_judged_joint_by_joint(seed):
    """Two joints of four are late, in a log with stops: the one that matters is taken, and none that is not late."""
    true = np.array([0.0, 0.008, -0.007, 0.0])
    model, motion, prior = read_late(seed, true)
    kept, evidence, whole = calibrated_where_worth(model, motion, prior, skews(model.robot))
    assert kept is not None
    names = {u.name for u in kept.unknowns}
    assert names == {e.group for e in evidence if e.worth}
    assert {"joint2.skew"} <= names <= {"joint2.skew", "joint3.skew"}
    for u, value, error in zip(whole.unknowns, whole.values, whole.errors, strict=True):
        assert abs(value - true[u.joint]) < 4.5 * error, u.name
    assert kept.errors.min() < 0.002


@pytest.mark.slow
def test_a_delay_of_a_joint_that_trembles_is_left_out_with_the_reason():
    """The speed of a joint at rest that is noise alone changes its sign in every other row."""
    model, motion, prior = read_late(0, np.array([0.0, 0.008, 0.0, 0.0]))
    qd = motion.qd.copy()
    qd[:, 3] = 1e-4 * np.random.default_rng(1).normal(size=len(qd))
    found = calibrated(model, replace(motion, qd=qd), prior, skews(model.robot))
    assert {u.unknown.name: u.reason for u in found.untold}["joint4.skew"].startswith("most rows of its joint")
    assert abs(found.value("joint2.skew") - 0.008) < 0.002


@pytest.mark.slow
def test_unknowns_whose_search_fails_are_named_and_stay_nominal(monkeypatch):
    """Jumps of friction, which `without_jumps` takes out, are left in: no step lowers the sum of squares."""
    monkeypatch.setattr(
        "ident.calibrate.calibrate.without_jumps", lambda model, motions, unknowns: (motions, np.zeros(4, dtype=bool))
    )
    model, motion, prior = read_late(0, np.array([0.0, 0.008, -0.007, 0.0]))
    found = calibrated(model, motion, prior, skews(model.robot))
    assert any("does not fall" in u.reason for u in found.untold)
    assert all(found.value(u.unknown.name) == 0.0 for u in found.untold)


@pytest.mark.slow
def test_error_bars_of_what_is_taken_know_that_the_rest_is_off_together():
    """Gains that are not worth it may all be off by a factor, which blurs no delay: not each by as much on its own."""
    model, motion, prior = read_late(0, np.array([0.0, 0.008, 0.0, 0.0]))
    unknowns = (*gains(model.robot), *skews(model.robot))
    kept, _, whole = calibrated_where_worth(model, motion, prior, unknowns)
    assert kept is not None
    assert [u.name for u in kept.unknowns] == ["joint2.skew"]
    others, together = _considered(tuple(u for u in unknowns if u not in kept.unknowns), whole)
    np.testing.assert_allclose(np.sqrt(np.diag(together)), spreads(others))
    apart = calibrated(model, motion, prior, kept.unknowns, others)
    assert abs(kept.values[0] - 0.008) < 4.5 * kept.errors[0] < 4.5 * 0.7 * apart.errors[0]


@pytest.mark.slow
def test_what_a_delay_takes_is_that_of_logs_compressed_with_and_without_it():
    """The equations at the delays say what the sum of squares is without one, as if the log were read so."""
    model, motion, prior = read_late(3, np.array([0.0, 0.004, -0.003, 0.0]))
    found = calibrated(model, motion, prior, skews(model.robot))
    normal, at = found.normal, found.normal.at
    weighing = normal.sigma, normal.share
    (seen,), _ = without_jumps(model, [motion], at.unknowns)
    for k in range(4):
        values = np.where(np.arange(4) == k, 0.0, at.values)
        there = At(model, at.unknowns, values, at.theta, at.step)
        real, _ = normal_at(there, [corrected_motion(model.robot, seen, at.unknowns, values)], prior, weighing)
        squares = []
        for equations, off in ((real, np.zeros(4)), (normal, values - at.values), (normal, np.zeros(4))):
            x = np.zeros(len(equations.r))
            x[equations.unknowns] = off
            x = solved(*equations.whole, free_of(equations, np.zeros(4, dtype=bool)), x)
            P, r = equations.P[:-4, :-4], equations.r[:-4]
            H, g, theta = equations.H.sum(axis=0), equations.g.sum(axis=0), x[:-4]
            squares.append(x @ H @ x - 2.0 * g @ x + equations.c.sum() + theta @ P @ theta - 2.0 * r @ theta)
        assert squares[1] - squares[2] == pytest.approx(squares[0] - squares[2], rel=0.05, abs=3.0)


# ---- error bars -----------------------------------------------------------------------------------------------------


def test_intervals_hold_the_truth_as_often_as_they_say():
    """Linear equations of 12 segments, unknowns drawn from what is known of them, one of which stays nominal."""
    rng = np.random.default_rng(8)
    robot, theta, _ = arm(0)
    unknowns, p, G, rows = gains(robot), 6, 12, 2
    free = np.array([True, True, True, False])
    at = At(model_of(robot), unknowns, nominal(unknowns), theta[:p], 0.01)
    spread = np.append(np.full(p, 0.5), spreads(unknowns))
    P, inside, ratio = np.diag(spread**-2.0), [], []
    for _ in range(1000):
        X = rng.normal(size=(G, rows, p + 4)) * np.append(np.ones(p), [9.0, 3.0, 1.0, 0.5])
        x = spread * rng.normal(size=p + 4)
        y = X @ x + rng.normal(size=(G, rows))
        H, g = X.transpose(0, 2, 1) @ X, np.einsum("gri,gr->gi", X, y)
        normal = Normal(at, H, g, (y**2).sum(axis=1), P, np.zeros(p + 4), np.ones(4), 1.0, ("one",) * G)
        covariance, dof = covariance_of(normal, free, np.diag(spreads(unknowns) ** 2))
        off = (solved(*normal.whole, free_of(normal, free), np.zeros(p + 4)) - x)[p : p + 3]
        errors = np.sqrt(np.diag(covariance))
        inside.append(np.abs(off) <= half_widths(errors, dof))
        ratio.append([off**2, errors**2])
    squares, said = np.mean(ratio, axis=0)
    np.testing.assert_allclose(said / squares, 1.0, atol=0.12)
    assert 0.94 < np.mean(inside) < 0.96


@pytest.mark.slow
def test_no_error_bar_is_wider_than_what_was_known_beforehand():
    """Not either where delays of 30 ms that are not looked for blur the rest."""
    robot, _, prior = arm(1)
    model, motion, _ = read_late(1, np.zeros(4))
    unknowns = (*tilts(robot), *zeros(robot), *gains(robot))
    found = calibrated(model, motion, prior, unknowns, skews(robot, spread=0.03))
    share = found.errors / spreads(found.unknowns)
    assert share.max() == pytest.approx(1.0)
    assert share.min() < 0.5


def test_nothing_to_calibrate_is_said():
    robot, theta, prior = arm(0)
    with pytest.raises(InputError, match="no unknown"):
        calibrated(model_of(robot), moved(robot, theta, 1, (), np.zeros(0)), prior, ())
