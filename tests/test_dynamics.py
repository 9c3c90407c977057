"""Regressor and inverse dynamics against Pinocchio, MuJoCo and themselves."""

from __future__ import annotations

from dataclasses import replace

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import mujoco_torque, pin_regressor, pin_torque, pin_tree, random_bodies, random_tree
from random_robots import pinocchio_model, random_pair
from seeds import cases

from ident.dynamics.rigid_body import inverse_dynamics, regressor
from ident.errors import ModelError
from ident.jit import kernel_threads
from ident.robot import DHJoint, MDHJoint, Robot, from_dh, from_mdh
from ident.spatial.inertia import Pose, pseudo_inertia, transformed

TREES = 300
STATES = 50


def states(rng: np.random.Generator, n: int, samples: int = STATES) -> tuple[np.ndarray, ...]:
    return rng.uniform(-3, 3, (samples, n)), rng.normal(0, 2, (samples, n)), rng.normal(0, 5, (samples, n))


def largest_relative(a: np.ndarray, b: np.ndarray) -> float:
    """Return max |a - b| relative to the largest entry of the same sample and joint (N, n, p) or sample (N, n)."""
    return float((np.abs(a - b).max(axis=-1) / np.abs(b).max(axis=-1)).max())


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, TREES, 50))
def test_regressor_and_inverse_dynamics_agree_with_pinocchio_on_random_trees(first: int) -> None:
    kinds = set()
    for seed in range(first, first + cases(50)):
        rng = np.random.default_rng(seed)
        text, robot = random_pair(rng, 1 + seed % 12)
        kinds |= {j.kind for j in robot.joints} | {"branch" for p in robot.parents if robot.parents.count(p) > 1}
        kinds |= {"fixed"} if robot.fixed else set()
        model, order = pinocchio_model(text, robot)
        q, qd, qdd = states(rng, robot.n)
        expected = pin_regressor(model, order, q, qd, qdd)
        Y = regressor(robot, q, qd, qdd)
        assert largest_relative(Y, expected) < 1e-10, seed
        back = np.argsort(order)
        torque = pin_torque(model, q[:, back], qd[:, back], qdd[:, back])[:, order]
        assert largest_relative(inverse_dynamics(robot, robot.inertials, q, qd, qdd), torque) < 1e-10, seed
        theta = rng.normal(size=(robot.n, 10))  # any numbers, not only bodies
        assert largest_relative(inverse_dynamics(robot, theta, q, qd, qdd), expected @ theta.ravel()) < 1e-10, seed
    assert kinds == {"revolute", "prismatic", "fixed", "branch"}


def test_joints_beside_their_frames_agree_with_pinocchio() -> None:
    for seed in range(30):
        rng = np.random.default_rng(seed)
        robot = random_tree(rng, 1 + seed % 9, points=True)
        assert np.abs(robot.joints[-1].point).max() > 0
        x = states(rng, robot.n, 10)
        theta = random_bodies(rng, robot.n)
        torque = pin_torque(pin_tree(robot, theta), *x)
        assert largest_relative(inverse_dynamics(robot, theta, *x), torque) < 1e-10, seed
        assert largest_relative(regressor(robot, *x) @ theta.ravel(), torque) < 1e-10, seed


def test_inverse_dynamics_agrees_with_mujoco_on_twenty_trees() -> None:
    for seed in range(20):
        rng = np.random.default_rng(1000 + seed)
        _, robot = random_pair(rng, 1 + seed % 12)
        x = states(rng, robot.n)
        torque = mujoco_torque(robot, robot.inertials, *x)
        assert largest_relative(inverse_dynamics(robot, robot.inertials, *x), torque) < 1e-8, seed
        assert largest_relative(regressor(robot, *x) @ robot.inertials.ravel(), torque) < 1e-8, seed


def test_mujoco_agrees_on_joints_beside_their_frames() -> None:
    for seed in range(5):
        rng = np.random.default_rng(seed)
        robot = random_tree(rng, 6, points=True)
        x = states(rng, robot.n)
        torque = mujoco_torque(robot, robot.inertials, *x)
        assert largest_relative(inverse_dynamics(robot, robot.inertials, *x), torque) < 1e-8, seed


def dh_rows(rng: np.random.Generator, n: int) -> list[dict]:
    return [
        {
            "a": rng.uniform(-0.5, 0.5),
            "alpha": rng.uniform(-np.pi, np.pi),
            "d": rng.uniform(-0.5, 0.5),
            "theta": rng.uniform(-np.pi, np.pi),
            "offset": rng.uniform(-1, 1),
            "sign": int(rng.choice([-1, 1])),
            "kind": "prismatic" if rng.random() < 0.3 else "revolute",
        }
        for _ in range(n)
    ]


def as_modified(rows: list[dict]) -> list[MDHJoint]:
    """The same arm with each link's frame on its own joint: a and alpha belong to the row after."""
    before = [{"a": 0.0, "alpha": 0.0}, *rows[:-1]]
    return [MDHJoint(**{**row, "a": b["a"], "alpha": b["alpha"]}) for row, b in zip(rows, before, strict=True)]


def test_standard_dh_equals_the_same_arm_in_modified_dh() -> None:
    for seed in range(20):
        rng = np.random.default_rng(seed)
        rows = dh_rows(rng, 1 + seed % 8)
        standard, modified = from_dh("s", [DHJoint(**r) for r in rows]), from_mdh("m", as_modified(rows))
        theta = random_bodies(rng, len(rows))  # in the standard frames, which lie at the links' far ends
        x = states(rng, len(rows))
        at_zero = zip(standard.poses(np.zeros(len(rows))), modified.poses(np.zeros(len(rows))), strict=True)
        moved = [transformed(body, m.inverse() @ s) for body, (s, m) in zip(theta, at_zero, strict=True)]
        expected = inverse_dynamics(modified, np.array(moved), *x)
        assert largest_relative(inverse_dynamics(standard, theta, *x), expected) < 1e-10, seed
        assert largest_relative(pin_torque(pin_tree(standard, theta), *x), expected) < 1e-10, seed


def two_link_arm() -> Robot:
    return from_mdh("planar", [MDHJoint(), MDHJoint(a=0.7)], gravity=(0.0, -9.81, 0.0))


def test_closed_form_of_a_planar_arm() -> None:
    """Craig, Introduction to Robotics, equation 6.58, with point masses at the links' ends."""
    l1, l2, m1, m2, g = 0.7, 0.4, 3.0, 2.0, 9.81
    (q1, q2), (v1, v2), (a1, a2) = q, v, a = np.array([[0.3, -1.1], [0.9, -0.4], [-2.0, 1.7]])
    c1, c12, c2, s2 = np.cos(q1), np.cos(q1 + q2), np.cos(q2), np.sin(q2)
    second = m2 * l2 * (l2 * (a1 + a2) + l1 * c2 * a1 + l1 * s2 * v1**2 + g * c12)
    first = (
        m2 * l2**2 * (a1 + a2)
        + m2 * l1 * l2 * c2 * (2 * a1 + a2)
        + (m1 + m2) * l1**2 * a1
        - m2 * l1 * l2 * s2 * (v2**2 + 2 * v1 * v2)
        + m2 * l2 * g * c12
        + (m1 + m2) * l1 * g * c1
    )
    point = [[m, m * x, 0, 0, 0, 0, 0, m * x**2, 0, m * x**2] for m, x in ((m1, l1), (m2, l2))]
    tau = inverse_dynamics(two_link_arm(), point, q[None], v[None], a[None])
    np.testing.assert_allclose(tau[0], [first, second], rtol=1e-13)


@settings(max_examples=cases(30))
@given(st.integers(0, 10**6), st.integers(1, 8))
def test_a_link_appears_only_in_the_torque_of_joints_that_carry_it(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    robot = random_tree(rng, n)
    Y = regressor(robot, *states(rng, n, 3)).reshape(3, n, n, 10)
    for j in range(n):
        others = [i for i in range(n) if i not in robot.carried_by(j)]
        assert not Y[:, j, others].any()


@settings(max_examples=cases(30))
@given(st.integers(0, 10**6), st.integers(1, 8))
def test_power_equals_the_change_of_energy(seed: int, n: int) -> None:
    """qd . tau = dE/dt along a motion with constant acceleration, E from the poses alone."""
    rng = np.random.default_rng(seed)
    robot = random_tree(rng, n, points=True)
    q, qd, qdd = (x[0] for x in states(rng, n, 1))
    qdd = 0.2 * qdd

    def energy(t: float) -> float:
        dt = 1e-4
        now, ahead, behind = (robot.poses(q + qd * s + qdd * s * s / 2) for s in (t, t + dt, t - dt))
        total = 0.0
        for body, x, a, b in zip(robot.inertials, now, ahead, behind, strict=True):
            # the pseudo-inertia integrates x x' over the mass, so the kinetic energy is tr(T' J T'^T) / 2
            speed = (a.matrix - b.matrix) / (2 * dt)
            total += 0.5 * np.trace(speed @ pseudo_inertia(body) @ speed.T)
            total -= robot.gravity @ (x.rotation @ body[1:4] + x.position * body[0])
        return total

    step = 1e-3
    power = (energy(step) - energy(-step)) / (2 * step)
    tau = inverse_dynamics(robot, robot.inertials, q[None], qd[None], qdd[None])[0]
    assert power == pytest.approx(qd @ tau, abs=1e-3 * (1 + np.abs(qd * tau).sum()))


def test_defect_1_rows_do_not_mix_when_samples_or_joints_change() -> None:
    """Sample s and joint j of a batch are those of the sample alone, for numbers of joints other than 6 too."""
    for n in (1, 2, 5, 6, 7, 9):
        rng = np.random.default_rng(n)
        robot = random_tree(rng, n)
        q, qd, qdd = states(rng, n, 700)  # more than two of the kernel's chunks
        Y, tau = regressor(robot, q, qd, qdd), inverse_dynamics(robot, robot.inertials, q, qd, qdd)
        assert Y.shape == (700, n, 10 * n)
        for s in (0, 1, 255, 256, 511, 512, 699):
            one = slice(s, s + 1)
            np.testing.assert_array_equal(regressor(robot, q[one], qd[one], qdd[one])[0], Y[s])
            np.testing.assert_array_equal(
                inverse_dynamics(robot, robot.inertials, q[one], qd[one], qdd[one])[0], tau[s]
            )


def test_defect_8_nothing_is_remembered_of_another_robot() -> None:
    rng = np.random.default_rng(5)
    robot, x = random_tree(rng, 4), states(rng, 4)
    before = regressor(robot, *x)
    turned = regressor(robot.with_gravity([1.0, 2.0, 3.0]), *x)
    assert largest_relative(turned, before) > 0.1
    np.testing.assert_array_equal(regressor(robot, *x), before)


def test_the_number_of_threads_does_not_change_a_bit() -> None:
    rng = np.random.default_rng(1)
    robot, x = random_tree(rng, 7), states(rng, 7, 3000)
    many = regressor(robot, *x)
    threads = numba.get_num_threads()
    try:
        numba.set_num_threads(1)
        np.testing.assert_array_equal(regressor(robot, *x), many)
    finally:
        numba.set_num_threads(threads)


def test_one_state_is_a_row_of_many_and_leaves_the_threads_as_they_were() -> None:
    rng = np.random.default_rng(1)
    robot, x = random_tree(rng, 7), states(rng, 7, 300)
    bodies = random_bodies(rng, 7)
    threads, many = numba.get_num_threads(), inverse_dynamics(robot, bodies, *x)
    for k in (0, 299):
        np.testing.assert_array_equal(inverse_dynamics(robot, bodies, *(v[k : k + 1] for v in x))[0], many[k])
    assert numba.get_num_threads() == threads
    with pytest.raises(ZeroDivisionError), kernel_threads(1):
        _ = 1 / 0
    assert numba.get_num_threads() == threads


def test_out_is_filled_completely() -> None:
    rng = np.random.default_rng(2)
    robot, x = random_tree(rng, 5), states(rng, 5)
    out = np.full((STATES, 5, 50), np.nan)
    assert regressor(robot, *x, out=out) is out
    np.testing.assert_array_equal(out, regressor(robot, *x))


def test_mounting_turns_gravity() -> None:
    rng = np.random.default_rng(3)
    robot, x = random_tree(rng, 5), states(rng, 5)
    turn = Pose.identity().rotation[[1, 2, 0]]
    mounted = robot.with_gravity(turn.T @ [0, 0, -9.81])
    # the same arm on a turned base: first placements turned instead of gravity
    base = Pose(turn, np.zeros(3))
    joints = [replace(j, placement=base @ j.placement) if j.parent < 0 else j for j in robot.joints]
    other = replace(robot, joints=tuple(joints)).with_gravity((0, 0, -9.81))
    np.testing.assert_allclose(regressor(mounted, *x), regressor(other, *x), atol=1e-10)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda q, qd, qdd: (q[:, :3], qd, qdd), "q must have shape (any, 4), got (50, 3)."),
        (lambda q, qd, qdd: (q, qd[0], qdd), "qd must have shape (any, 4), got (4,)."),
        (lambda q, qd, qdd: (q, qd, qdd[:7]), "q, qd and qdd must be equally long, got [50, 50, 7] samples."),
        (lambda q, qd, qdd: (q, qd * np.nan, qdd), "qd[0, 0] is nan, wanted a finite number."),
        (lambda q, qd, qdd: (q, qd, [["a"]]), "qdd must be numbers, got [['a']]."),
        (lambda q, qd, qdd: (q, qd, [[1j]]), "qdd must be numbers, got [[1j]]."),
    ],
)
def test_states_that_do_not_fit_are_refused(change, message: str) -> None:
    rng = np.random.default_rng(4)
    robot = random_tree(rng, 4)
    with pytest.raises(ModelError) as caught:
        regressor(robot, *change(*states(rng, 4)))
    assert str(caught.value) == message
    with pytest.raises(ModelError) as caught:
        inverse_dynamics(robot, robot.inertials, *change(*states(rng, 4)))
    assert str(caught.value) == message


def test_out_and_parameters_of_another_shape_are_refused() -> None:
    rng = np.random.default_rng(4)
    robot, x = random_tree(rng, 4), states(rng, 4)
    with pytest.raises(ModelError, match=r"out must be a C-contiguous float64 array of shape \(50, 4, 40\)"):
        regressor(robot, *x, out=np.empty((50, 4, 10)))
    with pytest.raises(ModelError, match=r"inertials must have shape \(4, 10\), got \(4, 9\)"):
        inverse_dynamics(robot, np.zeros((4, 9)), *x)


def test_no_samples_give_empty_arrays() -> None:
    robot = two_link_arm()
    none = np.empty((0, 2))
    assert regressor(robot, none, none, none).shape == (0, 2, 20)
    assert inverse_dynamics(robot, np.zeros((2, 10)), none, none, none).shape == (0, 2)
