"""Static postures, tours between them, and sweeps at constant velocity."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from seeds import cases

from ident.errors import ExcitationError
from ident.excitation.moves import PEAKS, STEP, Moves, posture_tour, static_postures, velocity_sweep
from ident.model import Model, Offset, Viscous, regressor
from ident.robot import Limits, MDHJoint, Robot, from_mdh

LIMITS = (
    Limits(-2.0, 1.0, 2.0, 50.0, 8.0),
    Limits(0.5, 2.5, 1.5, 50.0, 4.0),  # a range without zero
    Limits(-0.1, 0.4, 0.5, 200.0, 3.0, 20.0),
    Limits(-3.0, 3.0, 3.0, 10.0, 20.0),
)


def robot(limits: tuple[Limits, ...] = LIMITS) -> Robot:
    """Revolute, revolute, prismatic, revolute; gravity acts on the last three."""
    table = (
        MDHJoint(d=0.3, limits=limits[0]),
        MDHJoint(alpha=np.pi / 2, limits=limits[1]),
        MDHJoint(a=0.4, alpha=np.pi / 2, kind="prismatic", limits=limits[2]),
        MDHJoint(a=0.1, alpha=-np.pi / 2, limits=limits[3]),
    )
    return from_mdh("crane", table)


ROBOT = robot()
MIDDLE = np.array([-0.5, 1.5, 0.1, 0.0])


def information(model: Model, q: np.ndarray) -> np.ndarray:
    """Eigenvalues, descending, of Y^T Y at rest."""
    Y = regressor(model, q, 0 * q, 0 * q).reshape(-1, len(model.names))
    return np.linalg.svd(Y, compute_uv=False) ** 2


def test_postures_show_all_that_gravity_can_and_more_than_random_ones() -> None:
    model = Model(ROBOT, (Offset(), Viscous()))
    q = static_postures(model, 15, seed=3)
    assert q.shape == (15, 4)
    lower, upper = (np.array([getattr(x, which) for x in LIMITS]) for which in ("lower", "upper"))
    assert ((q >= lower) & (q <= upper)).all()
    rng = np.random.default_rng(0)
    many = information(model, rng.uniform(lower, upper, (500, 4)))
    rank = int((many > 1e-10 * many[0]).sum())
    assert rank >= 8
    chosen = np.log(information(model, q)[:rank]).sum()
    others = [np.log(information(model, rng.uniform(lower, upper, (15, 4)))[:rank]).sum() for _ in range(100)]
    assert chosen > max(others)


def test_the_first_posture_is_the_best_single_one() -> None:
    """The one of greatest leverage, for a single joint."""
    pendulum = from_mdh("pendulum", (MDHJoint(alpha=np.pi / 2, limits=Limits(0.2, 1.5, 1.0, 1.0, 1.0)),))
    model = Model(pendulum)
    (q,) = static_postures(model, 1, candidates=3000)
    rows = np.linspace(0.2, 1.5, 3000)[:, None]
    Y = regressor(model, rows, 0 * rows, 0 * rows)[:, 0]
    Y = Y[:, np.linalg.norm(Y, axis=0) > 1e-9]
    leverage = (Y @ np.linalg.inv(Y.T @ Y) * Y).sum(axis=1)
    assert np.interp(q[0], rows[:, 0], leverage) > 0.99 * leverage.max()
    assert np.median(leverage) < 0.7 * leverage.max()
    assert static_postures(model, 20, margin=0.3).min() >= 0.5


def test_postures_come_in_short_moves() -> None:
    q = static_postures(Model(ROBOT), 6, seed=1)
    span = np.array([x.upper - x.lower for x in LIMITS])

    def length(path: tuple[int, ...]) -> float:
        return float((np.abs(np.diff(q[list(path)], axis=0)) / span).max(axis=1).sum())

    every = sorted(length(path) for path in itertools.permutations(range(6)))
    assert length((0, 1, 2, 3, 4, 5)) <= every[len(every) // 50]  # among the shortest 2 %


def test_postures_with_noise_seed_and_obstacles() -> None:
    model = Model(ROBOT)
    np.testing.assert_array_equal(static_postures(model, 5), static_postures(model, 5))
    q = static_postures(model, 5, allowed=lambda x: x[:, 3] > 2.0)
    assert (q[:, 3] > 2.0).all()
    assert not np.array_equal(static_postures(model, 5, noise=[1, 1, 1, 1e-3]), static_postures(model, 5))


def within_limits(m: Moves, limits: tuple[Limits, ...] = LIMITS) -> None:
    for j, x in enumerate(limits):
        assert m.q[:, j].min() >= x.lower - 1e-12
        assert m.q[:, j].max() <= x.upper + 1e-12
        assert np.abs(m.qd[:, j]).max() <= x.velocity * (1 + 1e-12)
        assert np.abs(m.qdd[:, j]).max() <= x.acceleration * (1 + 1e-12)


def consistent(m: Moves) -> None:
    """Velocity and acceleration integrate to position and velocity (Simpson's rule over pairs of steps)."""
    h = m.t[1]
    jerk = np.abs(np.diff(m.qdd, axis=0)).max() / h  # it may step within the two intervals
    for x, rate, error in ((m.q, m.qd, jerk * h**3), (m.qd, m.qdd, jerk * h**2)):
        step = h / 3 * (rate[:-2] + 4 * rate[1:-1] + rate[2:])
        assert np.abs(x[2:] - x[:-2] - step).max() < error
        assert error < 0.1 * np.abs(step).max()


def test_sweeps() -> None:
    speeds = {"joint2": [0.2, 0.7], "joint4": [0.5], "joint3": [0.1]}
    m = velocity_sweep(ROBOT, speeds, MIDDLE, 500)
    within_limits(m)
    consistent(m)
    np.testing.assert_allclose(np.diff(m.t), 1 / 500, atol=1e-9)
    np.testing.assert_array_equal(m.q[[0, -1]], [MIDDLE, MIDDLE])
    np.testing.assert_array_equal(m.qd[[0, -1]], 0)
    np.testing.assert_array_equal(m.qdd[m.constant | m.resting], 0)
    np.testing.assert_array_equal(m.qd[m.resting], 0)
    assert (m.q[:, 0] == MIDDLE[0]).all()  # was not asked for
    assert ((m.qd != 0).sum(axis=1) <= 1).all()
    for j, name in enumerate(m.joints):
        v = m.qd[m.constant, j]
        seen = np.unique(np.round(v[v != 0], 12))
        wanted = sorted([s for x in speeds.get(name, []) for s in (x, -x)])
        np.testing.assert_allclose(seen, wanted, rtol=1e-9)
        for speed in wanted:
            rows = m.constant & (np.abs(m.qd[:, j] - speed) < 1e-9)
            covered = m.q[rows, j].max() - m.q[rows, j].min()
            span = LIMITS[j].upper - LIMITS[j].lower
            ramps = max(PEAKS[0] * speed**2 / LIMITS[j].acceleration, 0)
            if not np.isfinite(LIMITS[j].jerk):
                assert covered == pytest.approx(span - ramps, abs=2.1 * abs(speed) / 500)
            assert covered > 0.5 * span


def test_a_sweep_with_a_jerk_limit_keeps_it() -> None:
    m = velocity_sweep(ROBOT, {"joint3": [0.15]}, MIDDLE, 2000)
    jerk = np.diff(m.qdd[:, 2]) * 2000
    assert np.abs(jerk).max() <= 20.0 * (1 + 1e-9)
    assert np.abs(jerk).max() > 0.9 * 20.0


def test_a_tour_rests_at_each_posture() -> None:
    q = static_postures(Model(ROBOT), 4)
    m = posture_tour(ROBOT, q, 200, hold=0.5)
    within_limits(m)
    consistent(m)
    stops = m.q[m.resting]
    np.testing.assert_array_equal(stops[np.r_[True, np.any(np.diff(stops, axis=0) != 0, axis=1)]], q)
    for posture in q:
        assert (m.q[m.resting] == posture).all(axis=1).sum() in (99, 100, 101)
    assert not m.constant.any()
    moving = ~m.resting
    assert np.abs(m.qd[moving]).max() > 0.3


def test_the_quickest_move_reaches_a_limit() -> None:
    """In turn: velocity, acceleration and jerk."""
    for k, (velocity, acceleration, jerk) in enumerate([(0.1, 9.0, np.inf), (9.0, 0.1, np.inf), (9.0, 9.0, 0.1)]):
        limits = (Limits(-2.0, 2.0, velocity, 1.0, acceleration, jerk), *LIMITS[1:])
        m = posture_tour(robot(limits), [[-1.0, 1, 0, 0], [1.0, 1, 0, 0]], 1000, hold=0.0)
        reached = [m.qd[:, 0], m.qdd[:, 0], np.diff(m.qdd[:, 0]) * 1000][k]
        assert np.abs(reached).max() == pytest.approx(0.1, rel=1e-2)
        assert np.abs(reached).max() <= 0.1 * (1 + 1e-9)


def test_peaks_of_the_step() -> None:
    s = np.linspace(0, 1, 100_001)
    for r, peak in enumerate(PEAKS):
        assert np.abs(STEP.deriv(r + 1)(s)).max() == pytest.approx(peak, rel=1e-9)


@settings(max_examples=cases(30))
@given(st.floats(0.05, 3.0), st.floats(0.05, 30.0), st.floats(0.5, 500.0), st.floats(0.2, 3.0), st.floats(0.0, 1.0))
def test_sweeps_stay_within_any_limits(speed: float, acceleration: float, jerk: float, half: float, at: float) -> None:
    limits = (Limits(1.0 - half, 1.0 + half, speed, 1.0, acceleration, jerk), *LIMITS[1:])
    posture = np.array([limits[0].lower + at * (limits[0].upper - limits[0].lower), *MIDDLE[1:]])
    try:
        m = velocity_sweep(robot(limits), {"joint1": [speed, speed / 3]}, posture, 50)
    except ExcitationError as error:
        assert "no room to move" in str(error)  # noqa: PT017
        quickest = max(PEAKS[0] * speed / acceleration, np.sqrt(PEAKS[1] * speed / jerk))
        assert 2 * half - speed * quickest < 2 * speed / 50
    else:
        within_limits(m, limits)
        jerks = np.diff(m.qdd, axis=0) * 50
        assert np.abs(jerks[:, 0]).max() <= jerk * (1 + 1e-6)
        assert {1, -1} <= set(np.sign(m.qd[m.constant, 0]))


def without(j: int, **change: float) -> Robot:
    return robot(tuple(replace(x, **change) if i == j else x for i, x in enumerate(LIMITS)))


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: static_postures(Model(without(1, upper=np.inf)), 5), "'joint2' goes from 0.5 to inf, wanted finite"),
        (lambda: static_postures(Model(ROBOT), 0), "number of postures"),
        (lambda: static_postures(Model(ROBOT), 5, candidates=4), "number of candidates .* from 5"),
        (lambda: static_postures(Model(ROBOT), 5, margin=0.3), "'joint3' .* no room at a margin of 0.3"),
        (lambda: static_postures(Model(ROBOT), 5, margin=-1), "margin must be .* not negative"),
        (lambda: static_postures(Model(ROBOT), 5, noise=[1, 0, 1, 1]), "noise must be positive"),
        (
            lambda: static_postures(Model(ROBOT), 5, allowed=lambda q: q[:, 0] > 9),
            "only 0 of 2000 .* allowed, wanted 5",
        ),
        (lambda: static_postures(Model(ROBOT), 5, allowed=lambda q: [True]), "one answer for each"),
        (lambda: static_postures(Model(ROBOT.with_gravity([0, 0, 0])), 5), "gravity acts on no joint"),
        (lambda: posture_tour(ROBOT, [[0.0, 0.0, 0.0, 0.0]], 100), "'joint2' of the posture is at 0, outside 0.5"),
        (lambda: posture_tour(ROBOT, [MIDDLE, MIDDLE + 9], 100), "'joint1' of posture 2 is at 8.5"),
        (lambda: posture_tour(ROBOT, np.zeros((0, 4)), 100), "no posture"),
        (lambda: posture_tour(ROBOT, [MIDDLE], 100, hold=0), "no duration"),
        (lambda: posture_tour(ROBOT, [MIDDLE], 1e5, hold=1000), "more than 1e7 samples"),
        (lambda: posture_tour(ROBOT, [MIDDLE], 100, hold=np.nan), "time at each posture"),
        (
            lambda: posture_tour(without(0, velocity=np.inf), [MIDDLE], 9),
            "'joint1' .* velocity of inf.*velocity=, --velocity",
        ),
        (lambda: velocity_sweep(ROBOT, {"joint1": [2.1]}, MIDDLE, 100), "'joint1' .* at 2.1, .* limit 2"),
        (lambda: velocity_sweep(ROBOT, {"joint1": [-0.1]}, MIDDLE, 100), "'joint1' .* at -0.1"),
        (lambda: velocity_sweep(ROBOT, {"joint1": [np.nan]}, MIDDLE, 100), "speeds of joint 'joint1'.* nan"),
        (lambda: velocity_sweep(ROBOT, {"joint1": []}, MIDDLE, 100), "no speed for joint 'joint1'"),
        (lambda: velocity_sweep(ROBOT, {}, MIDDLE, 100), "no joint is to be swept"),
        (lambda: velocity_sweep(ROBOT, {"joint9": [1]}, MIDDLE, 100), "no joint 'joint9'; did you mean"),
        (
            lambda: velocity_sweep(ROBOT, {"joint3": [0.5]}, MIDDLE, 100, acceleration=0.5),
            "'joint3' has no room .* constant 0.5: starting and stopping take 0.938 of its range of 0.5",
        ),
        (lambda: velocity_sweep(ROBOT, {"joint1": [1]}, MIDDLE + 2, 100), "'joint1' of the posture is at 1.5"),
        (lambda: velocity_sweep(ROBOT, {"joint1": [1]}, MIDDLE, 0), "rate"),
        (lambda: velocity_sweep(ROBOT, {"joint1": [1]}, MIDDLE, 100, pause=-1), "pause"),
        (
            lambda: velocity_sweep(without(0, acceleration=np.inf), {"joint1": [1]}, MIDDLE, 100),
            "'joint1' has a limit of acceleration of inf.*acceleration=, --acceleration",
        ),
    ],
)
def test_refused(make: object, problem: str) -> None:
    with pytest.raises(ExcitationError, match=problem):
        make()


def test_a_missing_acceleration_limit_can_be_given() -> None:
    m = velocity_sweep(without(0, acceleration=np.inf), {"joint1": [1.0]}, MIDDLE, 100, acceleration=2.5)
    assert np.abs(m.qdd).max() == pytest.approx(2.5, rel=0.05)
    assert np.abs(m.qdd).max() <= 2.5
