"""Limits: margins, their reverse, and what is proven between samples against a hundred times more samples."""

from __future__ import annotations

from dataclasses import replace

import complex_dynamics
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import random_tree
from seeds import cases
from synthetic import random_theta
from test_distance import random_scene

from ident.errors import ExcitationError
from ident.excitation.bases import Basis, Fourier, FourierAndPolynomial
from ident.excitation.limits import (
    ClearanceLimits,
    Guarantee,
    KinematicLimits,
    TorqueLimits,
    greatest_bound,
    kinematic_limits,
    torque_limits,
)
from ident.excitation.problem import Constraint
from ident.excitation.torque_bound import torque_curvature
from ident.excitation.trajectory import Trajectory
from ident.geometry.distance import clearances
from ident.model import Coulomb, DriveInertia, Model, Offset, SmoothCoulomb, Spring, Viscous, coupled_drive, torque
from ident.robot import Robot
from ident.robot.robot import Limits

BASES: tuple[Basis, ...] = (Fourier(0.9, 4), FourierAndPolynomial(0.9, 3))


def limited(robot: Robot, limits: Limits | list[Limits]) -> Robot:
    each = limits if isinstance(limits, list) else [limits] * robot.n
    joints = tuple(replace(joint, limits=x) for joint, x in zip(robot.joints, each, strict=True))
    return replace(robot, joints=joints)


def motion(rng: np.random.Generator, robot: Robot, basis: Basis, size: float = 0.5) -> Trajectory:
    """Return a motion of about that amplitude, of slower joints the higher their harmonic."""
    coefficients = size * rng.normal(size=(robot.n, basis.size)) / np.sqrt(basis.size)
    return Trajectory(basis, coefficients, robot.joint_names)


def fine(trajectory: Trajectory, samples: int = 10_000) -> tuple[np.ndarray, ...]:
    """Return q, qd, qdd, jerk at a hundred times more instants than a design of these bases has."""
    t = np.linspace(0.0, trajectory.duration, samples + 1)
    return (*trajectory.states(t), trajectory.derivative(t, 3))


def reverse_error(constraint: Constraint, states: tuple[np.ndarray, ...], rng: np.random.Generator) -> float:
    """Return how far the reverse of the margins is from their differences, as a share."""
    weights = rng.normal(size=constraint.margins(states).shape)
    found = constraint.pull_back(states, weights)
    assert found.shape == (4, *states[0].shape)
    worst = 0.0
    for j in range(states[0].shape[1]):
        way = np.zeros((4, *states[0].shape))
        way[:, :, j] = rng.normal(size=states[0][:, j].shape)
        ahead, behind = (
            constraint.margins(tuple(x + s * 1e-6 * w for x, w in zip(states, way, strict=True))) for s in (1, -1)
        )
        change = (weights * (ahead - behind)).sum() / 2e-6
        worst = max(worst, abs(change - (found * way).sum()) / np.linalg.norm(found))
    return worst


def random_limits(rng: np.random.Generator, n: int) -> list[Limits]:
    """Return ranges with and without zero, open on one side or both, and rates of which some are missing."""
    found = []
    for _ in range(n):
        low = rng.uniform(-3, 1.0)
        lower, upper = ((low, low + 2.0), (low, np.inf), (-np.inf, low), (-np.inf, np.inf))[int(rng.integers(4))]
        rates = rng.uniform(1, 5, 3)
        rates[1:][rng.random(2) < 0.3] = np.inf
        found.append(Limits(lower, upper, rates[0], np.inf, rates[1], rates[2]))
    return found


@given(st.integers(0, 10**6), st.integers(1, 6), st.sampled_from(BASES))
@settings(max_examples=cases(25))
def test_kinematic_limits(seed: int, n: int, basis: Basis) -> None:
    rng = np.random.default_rng(seed)
    robot = limited(random_tree(rng, n), random_limits(rng, n))
    limits = kinematic_limits(robot)
    trajectory = motion(rng, robot, basis, size=rng.uniform(0.1, 2.0))
    states = fine(trajectory, 2000)
    margins = limits.margins(states)
    assert margins.shape == (2001, len(limits.names))
    assert reverse_error(limits, tuple(x[:20] for x in states), rng) < 1e-6
    # margins are negative exactly where a limit is exceeded
    kept = {f"{what} of joint '{j.name}'": [] for what in ("position",) for j in robot.joints}
    for j, joint in enumerate(robot.joints):
        x = joint.limits
        kept[f"position of joint '{joint.name}'"] = (states[0][:, j] >= x.lower) & (states[0][:, j] <= x.upper)
        for order, what in enumerate(("velocity", "acceleration", "jerk"), start=1):
            kept[f"{what} of joint '{joint.name}'"] = np.abs(states[order][:, j]) <= getattr(x, what)
    for name, column in zip(limits.names, margins.T, strict=True):
        assert np.array_equal(column >= 0, kept.pop(name))
    assert all(np.all(rest) for rest in kept.values())  # what has no margin has no limit
    check_kinematic(limits.guarantees(trajectory), robot, fine(trajectory))


def check_kinematic(guarantees: tuple[Guarantee, ...], robot: Robot, states: tuple[np.ndarray, ...]) -> None:
    """Hold guarantees against samples: never beyond, and hardly more than what is reached."""
    by_name = {g.what: g for g in guarantees}
    assert len(by_name) == len(guarantees)
    for j, joint in enumerate(robot.joints):
        x, q = joint.limits, states[0][:, j]
        wanted = [("least position", q.min(), x.lower), ("greatest position", q.max(), x.upper)]
        rates = zip(("velocity", "acceleration", "jerk"), (x.velocity, x.acceleration, x.jerk), states[1:], strict=True)
        wanted += [(what, np.abs(s[:, j]).max(), limit) for what, limit, s in rates]
        for what, reached, limit in wanted:
            g = by_name.pop(f"{what} of joint '{joint.name}'", None)
            assert (g is None) == bool(np.isinf(limit))
            if g is None:
                continue
            beyond = g.reached - reached if g.at_least else reached - g.reached
            assert -1e-4 * (1 + abs(reached)) < beyond < 1e-9 * (1 + abs(reached))
            assert g.limit == limit
            assert g.at_least == what.startswith("least")
            assert g.holds == (g.reached >= limit if g.at_least else g.reached <= limit)
    assert not by_name


@given(st.integers(0, 10**6), st.sampled_from(BASES), st.integers(0, 3))
@settings(max_examples=cases(25))
def test_a_motion_scaled_to_its_limit_is_proven_a_little_beyond_not(seed: int, basis: Basis, order: int) -> None:
    """The exact extreme decides: 1e-9 inside holds, 1e-9 outside does not."""
    rng = np.random.default_rng(seed)
    robot = random_tree(rng, 2)
    trajectory = motion(rng, robot, basis)
    least, most = trajectory.extremes(order)
    largest = np.maximum(np.abs(least), np.abs(most))
    for share, holds in ((1 + 1e-9, True), (1 - 1e-9, False)):
        rates = np.full((3, 2), np.inf)
        lower, upper = np.full(2, -np.inf), np.full(2, np.inf)
        if order == 0:
            upper[:] = most + (share - 1) * largest
        else:
            rates[order - 1] = share * largest
        limits = KinematicLimits(robot.joint_names, ("revolute",) * 2, lower, upper, rates)
        assert [g.holds for g in limits.guarantees(trajectory)] == [holds] * 2


def test_kinematic_margins_and_what_is_refused() -> None:
    robot = random_tree(np.random.default_rng(0), 2)
    one = limited(robot, Limits(-1.0, 3.0, 2.0, 10.0, 8.0, 50.0))
    found = kinematic_limits(one, position=0.1, rates=0.25)
    assert found.lower == pytest.approx([-0.9] * 2)
    assert found.upper == pytest.approx([2.9] * 2)
    assert found.rates[:, 0] == pytest.approx([1.5, 6.0, 37.5])
    for options, message in (
        ({"position": 2.0}, r"position limits of joint 'joint1' leave no room: 1 to 1\. Check the limits, and"),
        ({"position": -1.0}, "margin of the positions must not be negative, got -1"),
        ({"rates": 1.0}, "margin of the rates is a share between 0 and 1, got 1"),
    ):
        with pytest.raises(ExcitationError, match=message):
            kinematic_limits(one, **options)
    with pytest.raises(ExcitationError, match="the acceleration limit of joint 'joint2' is 0, so it cannot move"):
        kinematic_limits(limited(robot, [one.joints[0].limits, Limits(-1, 1, 2.0, acceleration=0.0)]))
    with pytest.raises(
        ExcitationError,
        match=r"joint 'joint1' of robot 'tree' has neither a velocity nor an acceleration limit\. Give it one",
    ):
        kinematic_limits(robot)


def torque_model(rng: np.random.Generator, n: int, coupled: bool = True) -> Model:
    robot = limited(random_tree(rng, n, points=True), Limits(effort=100.0))
    shares = tuple(float(x) for x in np.resize([1.0, -0.5], n))
    terms = (Viscous(), Coulomb(), Offset(), Spring(rest=0.2), DriveInertia())
    return Model(robot, (*terms, *coupled_drive("motor", shares)) if coupled else terms)


@given(st.integers(0, 10**6), st.integers(1, 6), st.sampled_from(BASES))
@settings(max_examples=cases(20))
def test_torque_and_power(seed: int, n: int, basis: Basis) -> None:
    rng = np.random.default_rng(seed)
    model = torque_model(rng, n)
    theta = random_theta(rng, model)
    trajectory = motion(rng, model.robot, basis)
    states = fine(trajectory)
    truth = torque(model, theta, *states[:3])
    limits = torque_limits(model, theta, power=500.0)
    # friction counts at its full magnitude, so nothing that the robot does is larger
    wanted = np.abs(limits.torques(states)) + limits.coulomb
    assert (np.abs(truth) <= wanted + 1e-9).all()
    power = (np.abs(truth) * np.abs(states[1])).sum(axis=1)

    effort = wanted.max(axis=0) * rng.uniform(0.9, 1.5, n)
    open_ = rng.random(n) < 0.2
    effort[open_] = np.inf
    limits = TorqueLimits(model, theta, effort, 1.2 * float(power.max()) + 1.0)
    margins = limits.margins(states)
    assert margins.shape[1] == len(limits.names) == n + 1 - open_.sum()
    inside = (wanted <= effort)[:, ~open_]
    assert np.array_equal(margins[:, :-1] >= 0, inside)
    assert reverse_error(limits, tuple(x[::1501] for x in states), rng) < 1e-6

    guarantees = limits.guarantees(trajectory)
    assert [g.what for g in guarantees] == list(limits.names)
    for g, j in zip(guarantees, np.flatnonzero(~open_), strict=False):
        assert wanted[:, j].max() <= g.reached * (1 + 1e-12)
        assert g.limit == effort[j]
        assert "second derivative" in g.method
        if g.holds:
            assert g.reached <= effort[j]
        else:  # not proven: because it is not so, or hardly
            assert wanted[:, j].max() > 0.995 * effort[j]
    assert power.max() <= guarantees[-1].reached
    assert guarantees[-1].unit == "W"


@pytest.mark.slow
def test_torque_reverse_against_the_complex_step() -> None:
    rng = np.random.default_rng(8)
    model = torque_model(rng, 4, coupled=False)
    theta = random_theta(rng, model)
    limits = torque_limits(model, theta)
    x = rng.normal(size=(4, 12, 4))
    weights = rng.normal(size=(12, 4))
    room = limits.effort - limits.coulomb
    names = np.array(model.names[40:])

    def f(y: np.ndarray) -> complex:
        q, qd, qdd = y
        tau = complex_dynamics.rigid_regressor(model.robot, q, qd, qdd) @ theta[:40]
        for part, signal in (("viscous", qd), ("offset", 1.0), ("stiffness", q - 0.2), ("drive_inertia", qdd)):
            tau = tau + theta[40:][np.char.endswith(names, part)] * signal
        return (weights * (1.0 - (tau / room) ** 2)).sum()

    wanted = complex_dynamics.derivative(f, x[:3])
    found = limits.pull_back(tuple(x), weights)
    assert not found[3].any()
    assert np.abs(found[:3] - wanted).max() < 1e-10 * np.abs(wanted).max()


@pytest.mark.slow
@given(st.integers(0, 10**6), st.integers(1, 7))
@settings(max_examples=cases(40))
def test_no_torque_bends_more_than_its_bound(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    model = torque_model(rng, n)
    theta = random_theta(rng, model)
    theta[np.char.endswith(np.array(model.names), ".coulomb")] = 0.0
    basis = BASES[seed % 2]
    trajectory = motion(rng, model.robot, basis, size=rng.uniform(0.05, 2.0))
    t = np.linspace(0.0, trajectory.duration, 4001)
    rates = np.array([np.abs(trajectory.derivative(t, order)).max(axis=0) for order in range(5)]) * (1 + 1e-4)
    bound = torque_curvature(model, theta, rates)
    h = 1e-3 * trajectory.duration / 20
    t = t[(t > 2 * h) & (t < trajectory.duration - 2 * h)]
    far, near, here = (
        [torque(model, theta, *trajectory.states(t + s * h)) for s in (-k, k)] if k else
        [torque(model, theta, *trajectory.states(t))] for k in (2, 1, 0)
    )  # fmt: skip
    curvature = (-sum(far) / 12 + sum(near) * 4 / 3 - 2.5 * here[0]) / h**2
    assert (np.abs(curvature) <= bound * (1 + 1e-3) + 1e-4 * np.abs(curvature).max()).all()


def test_curvature_of_a_pendulum() -> None:
    """One joint: tau'' of m g l sin q and of an inertia, in closed form, is reached up to a factor of two."""
    rng = np.random.default_rng(1)
    robot = replace(random_tree(rng, 1, branches=False), gravity=np.zeros(3))
    model = Model(robot, (DriveInertia(), Viscous()))
    theta = np.concatenate([[1e-9, *np.zeros(9)], [2.0, 3.0]])
    theta[[4, 7, 9]] = 1e-9
    bound = torque_curvature(model, theta, np.array([[1.0], [2.0], [3.0], [5.0], [7.0]]))
    assert bound[0] == pytest.approx(2.0 * 7.0 + 3.0 * 5.0, rel=1e-6)


def test_what_torque_limits_refuse() -> None:
    rng = np.random.default_rng(2)
    model = torque_model(rng, 3)
    theta = random_theta(rng, model)
    for options, message in (
        ({"margin": 1.0}, "margin of the torques is a share between 0 and 1, got 1"),
        ({"power": 0.0}, "power limit is 0 W, wanted a positive number"),
    ):
        with pytest.raises(ExcitationError, match=message):
            torque_limits(model, theta, **options)
    with pytest.raises(ExcitationError, match="theta"):
        torque_limits(model, theta[:-1])
    zero = limited(model.robot, [Limits(effort=5.0), Limits(effort=0.0), Limits(effort=5.0)])
    with pytest.raises(
        ExcitationError,
        match=r"the torque limit of joint 'joint2' is zero\. Correct it, or leave it out where it is unknown\.",
    ):
        torque_limits(Model(zero, model.terms), theta)
    weak = limited(model.robot, [Limits(effort=500.0), Limits(effort=500.0), Limits(effort=0.1)])
    with pytest.raises(ExcitationError, match=r"Coulomb friction of joint 'joint3', [\d.]+, takes all of its"):
        torque_limits(Model(weak, model.terms), theta)
    smooth = Model(model.robot, (SmoothCoulomb(0.1),))
    limits = torque_limits(smooth, random_theta(rng, smooth))  # tanh counts in full, too: it stays below
    assert (limits.coulomb > 0.19).all()
    empty = theta.copy()
    empty[10] = 0.0
    with pytest.raises(ExcitationError, match="a link without mass has no centre"):
        torque_curvature(model, empty, np.ones((5, 3)))


@given(st.integers(0, 10**6), st.integers(2, 5), st.sampled_from(BASES))
@settings(max_examples=cases(12))
def test_clearances(seed: int, n: int, basis: Basis) -> None:
    rng = np.random.default_rng(seed)
    robot = random_tree(rng, n, points=True)
    trajectory = motion(rng, robot, basis, size=0.2)
    scene = random_scene(rng, robot)
    limits = ClearanceLimits(scene, robot)
    states = fine(trajectory)
    truth = clearances(scene, robot, states[0])
    margins = limits.margins(tuple(x[::100] for x in states))
    assert np.array_equal(margins >= 0, (truth - limits.wanted)[::100] >= 0)
    assert margins.max() < 1.0
    guarantees = limits.guarantees(trajectory)
    assert [g.what for g in guarantees] == [f"clearance of {name}" for name in scene.names(robot)]
    for g, least in zip(guarantees, truth.min(axis=0), strict=True):
        assert g.at_least
        assert g.reached <= least + 1e-12
        if g.limit + 0.02 < least and np.all(truth.min(axis=0) > limits.wanted + 0.02):
            assert g.holds


def test_reverse_of_clearances() -> None:
    worst = []
    for seed in range(8):  # where the nearest feature changes there is no derivative: few samples, none of them there
        rng = np.random.default_rng(seed)
        robot = random_tree(rng, 4, points=True)
        limits = ClearanceLimits(random_scene(rng, robot), robot)
        q = rng.uniform(-1, 1, (6, 4))
        worst.append(reverse_error(limits, (q, q, q, q), rng))
    assert np.median(worst) < 1e-6


@given(st.integers(0, 10**6))
@settings(max_examples=cases(10))
def test_bounds_between_samples(seed: int) -> None:
    """Of sums of sines with a known greatest slope: never below the truth, and close where the limit is near."""
    rng = np.random.default_rng(seed)
    w, a, phase = rng.uniform(1, 30, (3, 4)), rng.normal(size=(3, 4)), rng.uniform(0, 6, (3, 4))
    slope = (np.abs(a) * w).sum(axis=0)

    def f(t: np.ndarray) -> np.ndarray:
        return np.asarray((a * np.sin(w * t[:, None, None] + phase)).sum(axis=1))

    truth = f(np.linspace(0, 5, 100_001)).max(axis=0)

    def bound(start: np.ndarray, end: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        before, after = f(start), f(end)
        return (before + after) / 2 + (end - start)[:, None] * slope / 2, np.maximum(before, after)

    for above in (1.0, 0.0, -0.3):
        limit = truth + above
        found = greatest_bound(bound, 5.0, limit)
        assert (found >= truth - 1e-6).all()
        if above == 1.0:
            assert (found <= limit).all()
        if above < 0:
            assert (found > limit).all()
