"""The five-joint arm of the page: its Lagrange function with and without its faults, its surfaces and matrices."""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ident.dynamics import bias, gravity_load, mass_matrix, potential_energy

FOLDER = Path(__file__).parents[1] / "experiments" / "seed_arm5"


def script(name: str):
    spec = importlib.util.spec_from_file_location(f"seed_arm5_{name}", FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


arm5 = script("arm5")
page = arm5.page


@pytest.mark.slow
def test_the_repaired_function_equals_newton_euler():
    states = arm5.random_states(200, seed=3)
    right = arm5.newton_euler(states)
    difference = np.abs(arm5.lagrange(states, page.Faults()) - right).max(axis=1) / np.abs(right).max(axis=1)
    assert difference.max() < 1e-12


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "percent"),
    [  # README.md's table
        ("tensor about the centre of mass used at the link's origin", [16.63, 3.31, 3.01, 5.05, 0.54]),
        ("products of inertia with the other sign", [0.64, 0.02, 0.03, 0.01, 0.06]),
        ("second derivative, rotation before the link (standard DH)", [27.15, 3.34, 6.15, 7.48, 24.41]),
        ("these three", [31.30, 4.38, 6.51, 8.61, 24.36]),
    ],
)
def test_each_fault_costs_what_the_readme_says(name, percent):
    np.testing.assert_allclose(100 * arm5.fault_errors()[name], percent, atol=0.006)


def test_mixed_units_make_all_but_gravity_a_thousand_times_too_large():
    q, qd, qdd = (x[0] for x in arm5.random_states(1, seed=1))
    mixed, right, still = (
        page.torque(q, *motion, faults)
        for motion, faults in (
            ((qd, qdd), page.Faults(units_mixed=True)),
            ((qd, qdd), page.Faults()),
            ((0 * qd, 0 * qdd), page.Faults()),
        )
    )
    np.testing.assert_allclose(mixed - still, 1000 * (right - still), rtol=1e-9, atol=1e-9)


def test_second_derivatives_are_those_of_the_transform_only_when_repaired():
    """Against central differences of the first derivative."""
    q, step = arm5.random_states(1, seed=2)[0][0], 1e-6
    off = {False: 0.0, True: 0.0}
    for p in range(page.N):
        for j in range(p + 1):
            for k in range(j, p + 1):
                e = step * np.eye(page.N)[k]
                slope = page.first(page.transforms(q + e), p, j) - page.first(page.transforms(q - e), p, j)
                for faulty in (False, True):
                    found = page.second(page.transforms(q), p, j, k, page.Faults(generator_before_link=faulty))
                    off[faulty] = max(off[faulty], np.abs(found - slope / (2 * step)).max())
    assert off[False] < 1e-6
    assert off[True] > 100  # mm


def test_the_tensor_fault_is_parallel_axis_and_makes_bodies_that_cannot_exist():
    for i, row in enumerate(page.table()):
        about_origin = page.pseudo_inertia(row, page.Faults())
        assert np.linalg.eigvalsh(about_origin)[0] > 0, i
        wrong = page.pseudo_inertia(row, page.Faults(tensor_as_if_at_origin=True))
        c = np.array([row["cx"], row["cy"], row["cz"]])
        np.testing.assert_allclose((about_origin - wrong)[:3, :3], row["m"] * np.outer(c, c), rtol=1e-12, atol=1e-12)
        assert np.linalg.eigvalsh(wrong)[0] < 0, i
    assert arm5.indefinite() == pytest.approx(0.97, abs=0.01)


def test_either_sign_of_the_products_is_a_body_that_can_exist():
    """So physical consistency does not tell which sign the table means."""
    for faulty in (False, True):
        for row in page.table():
            assert np.linalg.eigvalsh(page.pseudo_inertia(row, page.Faults(products_as_integrals=faulty)))[0] > 0


def test_what_the_shape_of_the_links_says_about_the_sign():
    found = arm5.sign_evidence()
    tensor, integral = found["tensor entries"], found["+integral of x y dm"]
    np.testing.assert_allclose([x[0] for x in tensor], [13.8, 2.8, 34.3], atol=0.06)
    np.testing.assert_allclose([x[0] for x in integral], [19.6, 10.3, 73.9], atol=0.06)
    # the axis of links 2 and 3 passes the two joints together more closely the other way
    for i in (0, 1):
        assert np.hypot(*tensor[i][1:]) > np.hypot(*integral[i][1:])


def test_link_4_read_as_integrals_has_no_product_about_its_origin_in_either_table():
    found = arm5.origin_products()
    assert len(found["+integral of x y dm"]) == 2
    for low, high in found["+integral of x y dm"]:
        assert low < 0 < high
        assert high - low < 0.06
    for low, high in found["tensor entries"]:
        assert -0.94 < low < high < -0.79


def test_the_torque_at_the_page_pose():
    D, C = arm5.matrices()
    by_hand = 1e-3 * (D + C) @ np.ones(5) + arm5.gravity_signs()[0]  # kg mm^2/s^2 = 0.001 N mm
    np.testing.assert_allclose(arm5.pose_torque(), by_hand, rtol=1e-12, atol=1e-10)
    np.testing.assert_allclose(arm5.pose_torque(), [14.742, 197.065, 18.173, 10.097, 0.006], atol=6e-4)


def test_gravity_up_and_down():
    down, up = arm5.gravity_signs()
    np.testing.assert_allclose(down, [0, 175.6199, 13.6424, 8.5023, -0.0041], atol=6e-5)
    np.testing.assert_array_equal(down, -up)
    # the page's own gravity term agrees with its toolbox call for the hanging arm
    np.testing.assert_allclose(page.torque(arm5.POSE, np.zeros(5), np.zeros(5)), down, atol=1e-10)


def test_gravity_surfaces_are_slopes_of_the_potential_energy():
    q2, q3, g2, g3 = arm5.gravity_surfaces(0.2)
    assert (q2.min(), q2.max(), q3.min(), q3.max()) == pytest.approx((-10, 130, -140, 0))
    robot, parameters = arm5.arm()
    q = np.zeros((q2.size, 5))
    q[:, 1], q[:, 2] = np.radians(q2.ravel()), np.radians(q3.ravel())
    for joint, load in ((1, g2), (2, g3)):
        e = 1e-5 * np.eye(5)[joint]
        slope = (potential_energy(robot, parameters, q + e) - potential_energy(robot, parameters, q - e)) / 2e-5
        np.testing.assert_allclose(load.ravel(), 1e3 * slope, atol=1e-5)


def test_extremes_of_the_surfaces_are_those_of_the_readme():
    _, _, g2, g3 = arm5.gravity_surfaces()
    np.testing.assert_allclose([g2.min(), g2.max(), g3.min(), g3.max()], [-253.1, 544.3, -136.8, 136.8], atol=0.2)


def test_matrices():
    D, C = arm5.matrices()
    np.testing.assert_allclose(D, page.mass_matrix(arm5.POSE), rtol=1e-10, atol=1e-9)
    np.testing.assert_allclose(np.diag(D), [1787.7564, 16798.0533, 2494.8575, 86.3763, 15.3211], atol=6e-5)
    # C qd is what the repaired function has of velocities alone
    still, moving = (page.torque(arm5.POSE, v * np.ones(5), np.zeros(5), page.Faults()) for v in (0, 1))
    np.testing.assert_allclose(C.sum(axis=1), 1e3 * (moving - still), rtol=1e-9, atol=1e-8)


@pytest.mark.parametrize("slow", [1.0, 1000.0])
def test_the_simulation_obeys_the_equations_of_motion_and_work_is_energy(slow):
    t, q = arm5.simulate(0.2, slow)
    robot, parameters = arm5.arm()
    robot = replace(robot, gravity=robot.gravity / slow)
    h = t[1] - t[0]
    qd = (q[2:] - q[:-2]) / (2 * h)
    qdd = (q[2:] - 2 * q[1:-1] + q[:-2]) / h**2
    middle = q[1:-1]
    inertia = np.einsum("sij,sj->si", mass_matrix(robot, parameters, middle), qdd)
    torque = inertia + bias(robot, parameters, middle, qd)
    np.testing.assert_allclose(torque * slow, np.tile(arm5.TORQUE, (len(qd), 1)), atol=2e-4)


@pytest.mark.slow
def test_the_simulated_second_ends_as_in_the_readme():
    fast, slow = (np.degrees(arm5.simulate(slow=s)[1][-1]) for s in (1.0, 1000.0))
    np.testing.assert_allclose(fast, [0.0015, 2.1032, -1.4264, 10.0692, 0.0008], atol=2e-3)
    np.testing.assert_allclose(slow, [0.0001, 0.4748, -1.2006, 0.9223, -0.0001], atol=1e-4)


def test_ode45_takes_the_steps_that_matlab_prints_for_its_examples():
    van_der_pol = arm5.ode45(lambda _, y: np.array([y[1], (1 - y[0] ** 2) * y[1] - y[0]]), 20.0, np.array([2.0, 0]))
    rigid = arm5.ode45(
        lambda _, y: np.array([y[1] * y[2], -y[0] * y[2], -0.51 * y[0] * y[1]]), 12.0, np.array([0, 1.0, 1])
    )
    assert [(len(t) - 1, rejected) for t, _, rejected in (van_der_pol, rigid)] == [(59, 10), (19, 2)]
    assert van_der_pol[0][-1] == 20.0


@pytest.mark.slow
def test_how_many_points_the_page_had_and_what_its_torques_give():
    """65 points are 16 steps; the printed torques take 12 in the page's units and 34 in consistent ones."""
    found = [(*arm5.toolbox_run(slow, times),) for _, slow, times in arm5.RUNS]
    assert [4 * len(t) - 3 for t, _, _ in found] == [49, 49, 65, 137, 137]
    assert [rejected for _, rejected, _ in found] == [0, 0, 0, 2, 1]
    assert [error < limit for (*_, error), limit in zip(found, (1e-8, 1e-8, 0.01, 0.03, 0.03), strict=True)] == [
        True
    ] * 5
    assert found[2][2] > 1e-3  # the tolerance does show in the numbers
    assert found[3][0][16] == pytest.approx(0.38, abs=0.005)


def test_the_load_at_the_page_pose_is_that_of_9_81_not_9_8():
    robot, parameters = arm5.arm()
    less = 1e3 * gravity_load(robot.with_gravity([0, 0, 9.8]), parameters, arm5.POSE[None])[0]
    assert arm5.gravity_signs()[0][1] - less[1] == pytest.approx(0.179, abs=1e-3)
