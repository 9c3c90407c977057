"""Forward dynamics and external wrenches against Pinocchio, the mass-matrix route and each other."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from oracles import pin_tree, random_bodies, random_tree
from random_robots import pinocchio_model, random_pair
from seeds import cases

from ident.dynamics import bias, forward_dynamics, gravity_load, inverse_dynamics, jacobian, mass_matrix, regressor
from ident.errors import ModelError


def states(rng: np.random.Generator, n: int, samples: int) -> tuple[np.ndarray, ...]:
    return rng.uniform(-3, 3, (samples, n)), rng.normal(0, 2, (samples, n)), rng.normal(0, 5, (samples, n))


def difference(ours: np.ndarray, theirs: np.ndarray) -> float:
    """Return the largest difference relative to the largest acceleration of the same sample."""
    return float((np.abs(ours - theirs).max(axis=1) / np.abs(theirs).max(axis=1)).max())


@pytest.mark.slow
def test_random_trees_against_pinocchio() -> None:
    rng = np.random.default_rng(11)
    worst = 0.0
    for trial in range(cases(300)):
        text, robot = random_pair(rng, 1 + trial % 12)
        model, order = pinocchio_model(text, robot)
        theta = np.asarray(robot.inertials)
        q, qd, tau = states(rng, robot.n, 5)
        data, back = model.createData(), np.argsort(order)
        theirs = [pin.aba(model, data, *(x[back] for x in state))[order] for state in zip(q, qd, tau, strict=True)]
        worst = max(worst, difference(forward_dynamics(robot, theta, q, qd, tau), np.array(theirs)))
    assert worst < 1e-8


@pytest.mark.parametrize("seed", range(6))
def test_joint_lines_beside_the_frames_and_the_mass_matrix_route(seed: int) -> None:
    rng = np.random.default_rng(seed)
    robot = random_tree(rng, 2 + seed, points=True, branches=False)
    theta = random_bodies(rng, robot.n)
    q, qd, tau = states(rng, robot.n, 21)  # not a multiple of the eight samples that go together
    ours = forward_dynamics(robot, theta, q, qd, tau)
    model = pin_tree(robot, theta)
    data = model.createData()
    theirs = np.array([pin.aba(model, data, *x).copy() for x in zip(q, qd, tau, strict=True)])
    solved = np.linalg.solve(mass_matrix(robot, theta, q), (tau - bias(robot, theta, q, qd))[..., None])[..., 0]
    assert difference(ours, theirs) < 1e-8
    assert difference(ours, solved) < 1e-8
    assert np.allclose(inverse_dynamics(robot, theta, q, qd, ours), tau, rtol=0, atol=1e-9 * np.abs(tau).max())


def test_drive_inertia_adds_to_the_diagonal_of_the_mass_matrix() -> None:
    rng = np.random.default_rng(3)
    robot = random_tree(rng, 6)
    theta, armature = random_bodies(rng, 6), rng.uniform(0, 2, 6)
    q, qd, tau = states(rng, 6, 30)
    d = mass_matrix(robot, theta, q) + np.diag(armature)
    solved = np.linalg.solve(d, (tau - bias(robot, theta, q, qd))[..., None])[..., 0]
    assert difference(forward_dynamics(robot, theta, q, qd, tau, armature=armature), solved) < 1e-9


@pytest.mark.slow
def test_wrenches_act_through_the_jacobian() -> None:
    """tau = D qdd + C qd + g - sum J^T w, the wrenches being given in link axes."""
    rng = np.random.default_rng(4)
    robot = random_tree(rng, 7, points=True)
    theta = random_bodies(rng, 7)
    q, qd, qdd = states(rng, 7, 19)
    wrenches = rng.normal(0, 20, (19, 7, 6))
    free = inverse_dynamics(robot, theta, q, qd, qdd)
    pushed = inverse_dynamics(robot, theta, q, qd, qdd, wrenches)
    work = np.zeros_like(free)
    for s in range(19):
        for i, pose in enumerate(robot.poses(q[s])):
            J = jacobian(robot, q[s : s + 1], robot.links[i])[0]
            world = np.concatenate([pose.rotation @ wrenches[s, i, :3], pose.rotation @ wrenches[s, i, 3:]])
            work[s] += J.T @ world
    assert np.allclose(pushed, free - work, rtol=0, atol=1e-11 * np.abs(free).max())
    back = forward_dynamics(robot, theta, q, qd, pushed, wrenches)
    assert difference(back, qdd) < 1e-9


def test_inverse_dynamics_is_the_regressor_times_parameters_at_any_angle() -> None:
    """The kernels' own sine and cosine: far from zero too, and on multiples of a quarter turn."""
    rng = np.random.default_rng(5)
    robot = random_tree(rng, 5)
    theta = random_bodies(rng, 5)
    q, qd, qdd = states(rng, 5, 400)
    q[:100] *= 1e4
    q[100:200] = np.round(q[100:200]) * np.pi / 2
    direct = inverse_dynamics(robot, theta, q, qd, qdd)
    assert np.allclose(regressor(robot, q, qd, qdd) @ theta.ravel(), direct, rtol=0, atol=1e-12 * np.abs(direct).max())
    model = pin_tree(robot, theta)
    data = model.createData()
    theirs = np.array([pin.rnea(model, data, *x).copy() for x in zip(q, qd, qdd, strict=True)])
    assert np.abs(theirs - direct).max() < 1e-10 * np.abs(direct).max()


def test_a_weightless_last_link_is_named() -> None:
    rng = np.random.default_rng(6)
    robot = random_tree(rng, 4, branches=False)
    theta = random_bodies(rng, 4)
    theta[3] = 0.0
    q, qd, tau = states(rng, 4, 3)
    with pytest.raises(ModelError, match="joint 'joint4' moves nothing that has inertia"):
        forward_dynamics(robot, theta, q, qd, tau)
    assert np.isfinite(forward_dynamics(robot, theta, q, qd, tau, armature=[0, 0, 0, 0.1])).all()


def test_a_negative_mass_is_named() -> None:
    rng = np.random.default_rng(7)
    robot = random_tree(rng, 3, branches=False)
    theta = random_bodies(rng, 3)
    theta[2] *= -1
    q, qd, tau = states(rng, 3, 3)
    with pytest.raises(ModelError, match="joint 'joint3' moves an inertia of -"):
        forward_dynamics(robot, theta, q, qd, tau)


def test_shapes_are_checked() -> None:
    rng = np.random.default_rng(8)
    robot, theta = random_tree(rng, 2), random_bodies(rng, 2)
    q = np.zeros((3, 2))
    with pytest.raises(ModelError, match=r"tau must have shape \(any, 2\), got \(3, 3\)"):
        forward_dynamics(robot, theta, q, q, np.zeros((3, 3)))
    with pytest.raises(ModelError, match=r"q, qd and tau must be equally long, got \[3, 3, 2\] samples"):
        forward_dynamics(robot, theta, q, q, q[:2])
    with pytest.raises(ModelError, match=r"wrenches must have shape \(3, 2, 6\), got \(3, 6\)"):
        inverse_dynamics(robot, theta, q, q, q, np.zeros((3, 6)))
    wrenches = np.zeros((3, 2, 6))
    wrenches[0, 1, 2] = np.nan
    with pytest.raises(ModelError, match=r"wrenches\[0, 1, 2\] is nan, wanted a finite number"):
        inverse_dynamics(robot, theta, q, q, q, wrenches)


def test_gravity_load_is_what_holds_the_arm() -> None:
    rng = np.random.default_rng(9)
    robot, theta = random_tree(rng, 5), random_bodies(rng, 5)
    q = rng.uniform(-3, 3, (10, 5))
    still = forward_dynamics(robot, theta, q, np.zeros_like(q), gravity_load(robot, theta, q))
    assert np.abs(still).max() < 1e-9
