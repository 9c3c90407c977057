"""D, C, Christoffel symbols, g, bias and energies against Pinocchio, MuJoCo, closed forms and each other."""

from __future__ import annotations

from typing import Any

import mujoco
import numba
import numpy as np
import pinocchio as pin
import pytest
from oracles import mjcf, pin_tree, random_bodies, random_tree
from random_robots import pinocchio_model, random_pair
from seeds import cases

from ident.dynamics import (
    bias,
    christoffel,
    coriolis_matrix,
    gravity_load,
    inverse_dynamics,
    kinetic_energy,
    mass_matrix,
    potential_energy,
)
from ident.dynamics.kernels import CHUNK
from ident.errors import ModelError
from ident.robot import MDHJoint, Robot, from_mdh

TREES = 300
STATES = 4


def states(rng: np.random.Generator, n: int, samples: int = STATES) -> tuple[np.ndarray, np.ndarray]:
    return rng.uniform(-3, 3, (samples, n)), rng.normal(0, 2, (samples, n))


def relative(a: np.ndarray, b: np.ndarray, scale: np.ndarray | None = None) -> float:
    """Return max |a - b| relative to the largest |b| of the same sample, or to scale (N,)."""
    axes = tuple(range(1, b.ndim))
    return float((np.abs(a - b).max(axis=axes) / (np.abs(b).max(axis=axes) if scale is None else scale)).max())


def pinocchio_terms(model: Any, order: np.ndarray, q: np.ndarray, qd: np.ndarray) -> dict[str, np.ndarray]:
    """Return what Pinocchio finds, in this package's order of joints."""
    data, back = model.createData(), np.argsort(order)
    found: dict[str, list] = {name: [] for name in ("D", "C", "g", "bias", "K", "P")}
    for x, v in zip(q[:, back], qd[:, back], strict=True):
        upper = np.triu(pin.crba(model, data, x))
        found["D"].append((upper + np.triu(upper, 1).T)[np.ix_(order, order)])
        found["C"].append(pin.computeCoriolisMatrix(model, data, x, v)[np.ix_(order, order)])
        found["g"].append(pin.computeGeneralizedGravity(model, data, x)[order])
        found["bias"].append(pin.nonLinearEffects(model, data, x, v)[order])
        found["K"].append([pin.computeKineticEnergy(model, data, x, v)])
        found["P"].append([pin.computePotentialEnergy(model, data, x)])
    return {name: np.array(rows) for name, rows in found.items()}


def check(robot: Robot, model: Any, order: np.ndarray, theta: np.ndarray, q: np.ndarray, qd: np.ndarray) -> None:
    """Pinocchio's C is made of Christoffel symbols too, so C itself is compared, not only C qd."""
    theirs = pinocchio_terms(model, order, q, qd)
    C = coriolis_matrix(robot, theta, q, qd)
    # C of a single joint is 0, and that of few joints may nearly vanish: D qd sets the scale
    scale = np.abs(theirs["D"]).max(axis=(1, 2)) * np.abs(qd).max(axis=1)
    assert relative(mass_matrix(robot, theta, q), theirs["D"]) < 1e-10
    assert relative(C, theirs["C"], np.maximum(np.abs(theirs["C"]).max(axis=(1, 2)), 1e-3 * scale)) < 1e-10
    ours, other = (np.einsum("skj,sj->sk", x, qd) for x in (C, theirs["C"]))
    assert relative(ours, other, np.maximum(np.abs(other).max(axis=1), 1e-3 * scale * np.abs(qd).max(axis=1))) < 1e-10
    assert relative(gravity_load(robot, theta, q), theirs["g"]) < 1e-10
    assert relative(bias(robot, theta, q, qd), theirs["bias"]) < 1e-10
    assert relative(kinetic_energy(robot, theta, q, qd)[:, None], theirs["K"]) < 1e-10
    # zero at the base's origin in both; P itself may pass through zero, its terms do not
    size = np.linalg.norm(robot.gravity) * np.abs(theta[:, :4]).sum()
    assert relative(potential_energy(robot, theta, q)[:, None], theirs["P"], size) < 1e-10


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, TREES, 100))
def test_every_term_agrees_with_pinocchio_on_random_trees(first: int) -> None:
    kinds = set()
    for seed in range(first, first + cases(100)):
        rng = np.random.default_rng(seed)
        text, robot = random_pair(rng, 1 + seed % 12)
        kinds |= {j.kind for j in robot.joints} | {"branch" for p in robot.parents if robot.parents.count(p) > 1}
        kinds |= {"fixed"} if robot.fixed else set()
        check(robot, *pinocchio_model(text, robot), robot.inertials, *states(rng, robot.n))
    assert kinds == {"revolute", "prismatic", "fixed", "branch"}


def test_joints_beside_their_frames_agree_with_pinocchio() -> None:
    for seed in range(30):
        rng = np.random.default_rng(seed)
        # Pinocchio's recursions over subtrees need a joint's subtree to be numbered without gaps
        robot = random_tree(rng, 1 + seed % 9, points=True, branches=False)
        theta = random_bodies(rng, robot.n)
        check(robot, pin_tree(robot, theta), np.arange(robot.n), theta, *states(rng, robot.n))


def test_columns_of_the_mass_matrix_are_torques_of_unit_accelerations() -> None:
    """More samples than a thread takes at once, and a last pack that is not full."""
    rng = np.random.default_rng(0)
    robot = random_tree(rng, 9, points=True).with_gravity((0.0, 0.0, 0.0))
    assert len(set(robot.parents)) < robot.n
    q, _ = states(rng, robot.n, 2 * CHUNK + 3)
    still = np.zeros_like(q)
    columns = [inverse_dynamics(robot, robot.inertials, q, still, still + e) for e in np.eye(robot.n)]
    D = mass_matrix(robot, robot.inertials, q)
    assert relative(D, np.stack(columns, axis=2)) < 2e-15
    np.testing.assert_array_equal(D, D.mT)


def test_mass_matrix_and_energies_agree_with_mujoco_on_trees() -> None:
    for seed in range(20):
        rng = np.random.default_rng(seed)
        robot = random_tree(rng, 1 + seed % 12, points=True)
        q, qd = states(rng, robot.n)
        model = mujoco.MjModel.from_xml_string(mjcf(robot, robot.inertials))
        model.opt.enableflags |= mujoco.mjtEnableBit.mjENBL_ENERGY
        data = mujoco.MjData(model)
        order = [int(model.jnt_dofadr[model.joint(name).id]) for name in robot.joint_names]
        D = np.empty((STATES, robot.n, robot.n))
        energy = np.empty((STATES, 2))
        for s in range(STATES):
            data.qpos[order], data.qvel[order] = q[s], qd[s]
            mujoco.mj_forward(model, data)
            full = np.array([_column(model, data, e) for e in np.eye(robot.n)])
            D[s] = full[np.ix_(order, order)]
            energy[s] = data.energy
        assert relative(mass_matrix(robot, robot.inertials, q), D) < 1e-8, seed
        assert relative(kinetic_energy(robot, robot.inertials, q, qd)[:, None], energy[:, 1:]) < 1e-8
        P = potential_energy(robot, robot.inertials, q)
        np.testing.assert_allclose(P, energy[:, 0], rtol=1e-8, atol=1e-8 * np.abs(P).max())


def _column(model: Any, data: Any, unit: np.ndarray) -> np.ndarray:
    out = np.empty(len(unit))
    mujoco.mj_mulM(model, data, out, unit)
    return out


def test_closed_form_of_a_planar_arm() -> None:
    """Spong, Hutchinson, Vidyasagar, Robot Modeling and Control, equations 7.63 to 7.66."""
    l1, c1, c2, m1, m2, i1, i2, g = 0.7, 0.3, 0.25, 3.0, 2.0, 0.11, 0.07, 9.81
    robot = from_mdh("planar", [MDHJoint(), MDHJoint(a=l1)], gravity=(0.0, -g, 0.0))
    body = [[m, m * c, 0, 0, 0, 0, 0, m * c**2, 0, i + m * c**2] for m, c, i in ((m1, c1, i1), (m2, c2, i2))]
    q, qd = np.array([[0.4, -1.3]]), np.array([[1.7, -0.6]])
    (q1, q2), (v1, v2) = q[0], qd[0]
    d12 = m2 * (c2**2 + l1 * c2 * np.cos(q2)) + i2
    d11 = m1 * c1**2 + m2 * (l1**2 + c2**2 + 2 * l1 * c2 * np.cos(q2)) + i1 + i2
    h = -m2 * l1 * c2 * np.sin(q2)
    D, C = [[d11, d12], [d12, m2 * c2**2 + i2]], [[h * v2, h * v2 + h * v1], [-h * v1, 0.0]]
    second = m2 * c2 * g * np.cos(q1 + q2)
    first = (m1 * c1 + m2 * l1) * g * np.cos(q1) + second
    height = m1 * c1 * np.sin(q1) + m2 * (l1 * np.sin(q1) + c2 * np.sin(q1 + q2))
    np.testing.assert_allclose(mass_matrix(robot, body, q)[0], D, rtol=1e-13)
    np.testing.assert_allclose(coriolis_matrix(robot, body, q, qd)[0], C, rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(gravity_load(robot, body, q)[0], [first, second], rtol=1e-13)
    np.testing.assert_allclose(potential_energy(robot, body, q), g * height, rtol=1e-13)
    np.testing.assert_allclose(kinetic_energy(robot, body, q, qd), qd[0] @ D @ qd[0] / 2, rtol=1e-13)


def test_the_terms_add_up_to_inverse_dynamics_for_any_numbers() -> None:
    """Not only for bodies that can exist: every term is linear in the parameters."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        robot = random_tree(rng, 1 + seed % 10, points=True)
        theta, other = rng.normal(size=(2, robot.n, 10))
        q, qd = states(rng, robot.n)
        qdd = rng.normal(0, 5, q.shape)
        D, C = mass_matrix(robot, theta, q), coriolis_matrix(robot, theta, q, qd)
        parts = (D @ qdd[..., None] + C @ qd[..., None])[..., 0] + gravity_load(robot, theta, q)
        tau = inverse_dynamics(robot, theta, q, qd, qdd)
        assert relative(parts, tau) < 1e-10
        both = mass_matrix(robot, theta + 2 * other, q)
        assert relative(both, D + 2 * mass_matrix(robot, other, q)) < 1e-12


def test_gravity_is_that_of_the_robot() -> None:
    rng = np.random.default_rng(0)
    robot = random_tree(rng, 5)
    q, qd = states(rng, 5)
    up = robot.with_gravity(-robot.gravity)
    np.testing.assert_array_equal(gravity_load(up, robot.inertials, q), -gravity_load(robot, robot.inertials, q))
    np.testing.assert_array_equal(
        potential_energy(up, robot.inertials, q), -potential_energy(robot, robot.inertials, q)
    )
    none = robot.with_gravity((0, 0, 0))
    assert not gravity_load(none, robot.inertials, q).any()
    C = coriolis_matrix(robot, robot.inertials, q, qd)
    assert relative(bias(none, robot.inertials, q, qd), np.einsum("skj,sj->sk", C, qd)) < 1e-12


@pytest.mark.slow
def test_samples_do_not_mix_and_threads_do_not_change_a_bit() -> None:
    rng = np.random.default_rng(1)
    robot = random_tree(rng, 7, points=True)
    q, qd = states(rng, 7, 300)  # several of the kernels' chunks
    theta = robot.inertials
    many = [f(q, qd) for f in _functions(robot, theta)]
    for s in (0, 63, 64, 299):
        for f, whole in zip(_functions(robot, theta), many, strict=True):
            np.testing.assert_array_equal(f(q[s : s + 1], qd[s : s + 1])[0], whole[s])
    threads = numba.get_num_threads()
    try:
        numba.set_num_threads(1)
        for f, whole in zip(_functions(robot, theta), many, strict=True):
            np.testing.assert_array_equal(f(q, qd), whole)
    finally:
        numba.set_num_threads(threads)


def _functions(robot: Robot, theta: Any) -> list[Any]:
    return [
        lambda q, qd: mass_matrix(robot, theta, q),
        lambda q, qd: coriolis_matrix(robot, theta, q, qd),
        lambda q, qd: christoffel(robot, theta, q),
        lambda q, qd: kinetic_energy(robot, theta, q, qd),
        lambda q, qd: potential_energy(robot, theta, q),
    ]


def test_no_samples_give_empty_arrays() -> None:
    robot = random_tree(np.random.default_rng(0), 3)
    none = np.empty((0, 3))
    shapes = [f(none, none).shape for f in _functions(robot, robot.inertials)]
    assert shapes == [(0, 3, 3), (0, 3, 3), (0, 3, 3, 3), (0,), (0,)]
    assert gravity_load(robot, robot.inertials, none).shape == bias(robot, robot.inertials, none, none).shape == (0, 3)


ALL = {
    "mass_matrix": lambda robot, theta, q, qd: mass_matrix(robot, theta, q),
    "christoffel": lambda robot, theta, q, qd: christoffel(robot, theta, q),
    "gravity_load": lambda robot, theta, q, qd: gravity_load(robot, theta, q),
    "potential_energy": lambda robot, theta, q, qd: potential_energy(robot, theta, q),
    "coriolis_matrix": coriolis_matrix,
    "bias": bias,
    "kinetic_energy": kinetic_energy,
}


@pytest.mark.parametrize("name", ALL)
def test_what_does_not_fit_is_refused(name: str) -> None:
    robot = random_tree(np.random.default_rng(0), 4)
    q, theta = np.zeros((6, 4)), robot.inertials
    broken = theta.copy()
    broken[2, 3] = np.nan
    far = q.copy()
    far[5, 1] = np.inf
    wrong: list[tuple[Any, Any, str]] = [
        (theta, q[:, :3], "q must have shape (any, 4), got (6, 3)."),
        (theta, q[0], "q must have shape (any, 4), got (4,)."),
        (theta, far, "q[5, 1] is inf, wanted a finite number."),
        (theta, [["a"] * 4], "q must be numbers, got [['a', 'a', 'a', 'a']]."),
        (theta[:3], q, "inertials must have shape (4, 10), got (3, 10)."),
        (theta.ravel(), q, "inertials must have shape (4, 10), got (40,)."),
        (broken, q, "inertials[2, 3] is nan, wanted a finite number."),
        (None, q, "inertials must have shape (4, 10), got ()."),
    ]
    for parameters, x, message in wrong:
        with pytest.raises(ModelError) as caught:
            ALL[name](robot, parameters, x, q)
        assert str(caught.value) == message


@pytest.mark.parametrize("name", ["coriolis_matrix", "bias", "kinetic_energy"])
def test_velocities_that_do_not_fit_are_refused(name: str) -> None:
    robot = random_tree(np.random.default_rng(0), 4)
    q = np.zeros((6, 4))
    for qd, message in (
        (q[:5], "q and qd must be equally long, got [6, 5] samples."),
        (q + np.nan, "qd[0, 0] is nan, wanted a finite number."),
        (q[:, :1], "qd must have shape (any, 4), got (6, 1)."),
    ):
        with pytest.raises(ModelError) as caught:
            ALL[name](robot, robot.inertials, q, qd)
        assert str(caught.value) == message
