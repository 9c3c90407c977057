"""Exported numbers have the digits that their standard errors deserve, and their bodies still exist."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest
from export_readers import estimate_of
from noisy_problems import fitted, infeasible
from oracles import random_bodies, random_tree
from random_robots import random_pair
from seeds import cases

from ident.export.identified import FINEST, SHARE, _body, deserved, deserved_base, exportable, identified
from ident.model import Coulomb, Model, Viscous
from ident.robot.urdf_write import com_numbers
from ident.spatial.inertia import from_com


def example(seed: int, size: float = 0.02):
    """Return a robot with numbers and a correlated covariance of about `size` times them."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 8))
    robot = random_tree(rng, n, points=True)
    theta = np.concatenate([random_bodies(rng, n).ravel(), rng.uniform(0.1, 3.0, 2 * n)])
    estimate = estimate_of(robot, Model(robot, (Viscous(), Coulomb())), theta)
    b = len(estimate.phi)
    root = (np.eye(b) + 0.3 / np.sqrt(b) * rng.normal(size=(b, b))) * size * (np.abs(estimate.phi) + 0.01)
    return robot, with_covariance(estimate, root.T @ root)


def with_covariance(estimate, matrix):
    return replace(estimate, covariance=replace(estimate.covariance, matrix=matrix))


def significant(value: float) -> int:
    """Return how many digits a number is written with."""
    return len(Decimal(repr(float(value))).normalize().as_tuple().digits)


@pytest.mark.parametrize("seed", range(cases(20)))
def test_rounding_moves_no_combination_by_more_than_a_tenth_of_its_standard_error(seed):
    robot, estimate = example(seed)
    change = estimate.base.K @ (exportable(estimate, robot) - estimate.theta)
    assert change.any()
    matrix = estimate.covariance.matrix
    worst = np.linalg.solve(matrix, change)  # the combination that is moved most, against its standard error
    some = np.vstack([worst, np.eye(len(change)), np.random.default_rng(seed).normal(size=(200, len(change)))])
    errors = np.sqrt(np.einsum("ab,bc,ac->a", some, matrix, some))
    assert (np.abs(some @ change) <= SHARE * errors * (1 + 1e-9)).all()


@pytest.mark.parametrize("seed", range(5))
def test_parameters_that_are_known_far_better_together_keep_what_is_known(seed):
    robot, estimate = example(seed)
    errors = estimate.covariance.standard_errors
    some = np.random.default_rng(seed).normal(size=len(errors))
    some /= np.linalg.norm(some)
    axes = np.eye(len(errors)) - (1 - 1e-4) * np.outer(some, some)  # this combination of scaled numbers to 1e-4
    matrix = errors[:, None] * (axes @ axes) * errors
    change = estimate.base.K @ (exportable(with_covariance(estimate, matrix), robot) - estimate.theta)
    assert change @ np.linalg.solve(matrix, change) <= SHARE**2 * (1 + 1e-6)


@pytest.mark.parametrize("seed", range(cases(20)))
def test_numbers_known_to_two_percent_are_short(seed):
    robot, estimate = example(seed)
    theta = exportable(estimate, robot)
    n = 10 * robot.n
    for body in theta[:n].reshape(-1, 10):
        mass, com, about_com = com_numbers(body)
        assert significant(mass) <= 6
        assert max(map(significant, com)) <= 7
        assert np.median([significant(x) for x in about_com]) <= 7
    assert max(map(significant, theta[n:])) <= 5
    sharper = exportable(with_covariance(estimate, 1e-6 * estimate.covariance.matrix), robot)
    more = [significant(a) - significant(b) for a, b in zip(sharper[n:], theta[n:], strict=True)]
    assert np.median(more) in (2, 3, 4)  # standard errors a thousand times smaller


@pytest.mark.slow
@pytest.mark.parametrize("seed", [(k + 9) % 40 for k in range(cases(40))])  # the quick ones first
def test_real_fits_stay_feasible(seed):
    """Fits of bad logs lie on the edge of what can exist, where every rounding has to be turned inwards."""
    model, estimate = fitted(seed)
    theta = deserved(estimate)
    assert infeasible(model, theta, digits=17) == []
    known = np.isfinite(estimate.covariance.standard_errors)
    change = estimate.base.K @ (theta - estimate.theta)
    assert (np.abs(change) <= SHARE * estimate.covariance.standard_errors)[known].all()


@pytest.mark.parametrize(
    "body",
    [
        from_com(1.2345678, [0.1234567, 0, 0], np.zeros((3, 3))),  # a point
        from_com(1.2345678, [0.1, 0.2, 0.3], np.diag([0.0, 0.0123456, 0.0123456])),  # a rod
        from_com(1.2345678, [0.1, 0.2, 0.3], np.diag([0.0123456, 0.0023456, 0.0146912])),  # a plate
        from_com(1.2345678e-3, [0.1, 0.2, 0.3], 1e-9 * np.diag([1.23456, 2.34567, 3.45678])),
        np.zeros(10),
    ],
)
def test_bodies_at_the_edge(body):
    robot = random_tree(np.random.default_rng(0), 1)
    body[[4, 7, 9]] += 1e-11 * body[0]  # what the 12 digits of a fit cannot say of the edge
    estimate = estimate_of(robot, Model(robot), body)
    for size in (1e-9, 1e-4, 1.0, 1e3):
        matrix = size**2 * np.diag(np.maximum(np.abs(estimate.phi), 1e-6) ** 2)
        theta = exportable(with_covariance(estimate, matrix))
        mass, com, about_com = com_numbers(theta)
        assert abs(mass - body[0]) <= 1e-3 * body[0]
        assert np.abs(theta - body).max() <= 0.01 * np.abs(body).max()
        assert max(map(significant, (mass, *com, *about_com))) <= 12


def test_what_no_standard_error_speaks_of_keeps_six_digits():
    robot = random_tree(np.random.default_rng(1), 3, branches=False)
    rng = np.random.default_rng(2)
    bodies = random_bodies(rng, 3)
    bodies[0] = from_com(3.21456, [0.012345, 0, 0], np.diag([0.0123456, 0.0212345, 0.0201234]))
    estimate = estimate_of(robot, Model(robot), bodies.ravel())
    unknown = [k for k, name in enumerate(estimate.base.names) if name.startswith("link1")]
    matrix = np.array(estimate.covariance.matrix)
    matrix[unknown] = matrix[:, unknown] = np.nan
    unseen = ~np.delete(estimate.base.K, unknown, axis=0)[:, :10].any(axis=0)
    assert unseen[4]  # Ixx of the first link
    theta = exportable(with_covariance(estimate, matrix))
    assert np.abs(theta[:10] - bodies[0])[unseen].max() <= 1e-6 * np.abs(bodies[0]).max()


@pytest.mark.parametrize("distance", [0.5, 0.1, 0.02])
def test_moments_of_what_is_nearly_a_point_are_written_against_its_distance(distance):
    """A millionth of m r^2 is what six digits of a tensor about the link's origin can tell from none."""
    scale = 1e-6 * 1.0 * distance**2
    moments = np.array([0.0412345678, 0.0512345678, 0.0612345678]) * scale
    body = from_com(1.0, [distance, 0.0, 0.0], np.diag(moments))
    *_, tensor = com_numbers(_body(body, np.zeros((1, 10)), np.array([np.inf]), 0))
    last = 10.0 ** np.floor(np.log10(FINEST * scale))
    np.testing.assert_allclose(np.array(tensor)[[0, 3, 5]], last * np.round(moments / last), rtol=0, atol=0.1 * last)


def test_without_standard_errors_twelve_digits_and_the_file_says_so():
    _, estimate = example(3)
    unknown = with_covariance(estimate, np.full_like(estimate.covariance.matrix, np.nan))
    assert np.allclose(exportable(unknown), unknown.theta, rtol=1e-11, atol=0)
    assert np.allclose(deserved_base(unknown, unknown.phi), unknown.phi, rtol=1e-11, atol=0)
    assert "Numbers have 12 digits: their standard errors are not known." in identified(unknown).head
    assert any("no combination of base parameters moves by over 0.1" in line for line in identified(estimate).head)


def test_a_parameter_at_its_bound_is_kept():
    robot, estimate = example(4)
    theta = estimate.theta.copy()
    theta[-1] = 0.0
    matrix = np.array(estimate.covariance.matrix)
    matrix[-1] = matrix[:, -1] = 0.0
    bound = with_covariance(replace(estimate, theta=theta, phi=estimate.base.K @ theta), matrix)
    assert exportable(bound, robot)[-1] == 0.0


def test_a_joint_parameter_that_is_hardly_known_is_not_rounded_away():
    robot, estimate = example(5)
    theta = exportable(with_covariance(estimate, 1e8 * estimate.covariance.matrix), robot)
    first = 10 * robot.n
    assert (np.abs(theta - estimate.theta)[first:] <= 0.5 * estimate.theta[first:]).all()
    assert max(map(significant, theta[first:])) == 1


def test_links_that_carry_fixed_bodies_keep_theirs_for_the_file_takes_them_away():
    robots = [random_pair(np.random.default_rng(seed), 4)[1] for seed in range(8)]
    carried = [{b.link for b in r.fixed if b.link >= 0 and b.inertial is not None} for r in robots]
    robot, carriers = next((r, c) for r, c in zip(robots, carried, strict=True) if 0 < len(c) < 4)
    estimate = estimate_of(robot, Model(robot), random_bodies(np.random.default_rng(0), 4).ravel())
    theta = exportable(estimate, robot).reshape(-1, 10)
    same = [np.allclose(a, b, rtol=1e-11, atol=0) for a, b in zip(theta, estimate.inertials, strict=True)]
    assert {i for i, kept in enumerate(same) if kept} == carriers


@pytest.mark.parametrize("seed", range(cases(10)))
def test_base_parameters_by_the_same_rule(seed):
    robot, estimate = example(seed)
    phi = deserved_base(estimate, estimate.base.K @ exportable(estimate, robot))  # rounded twice
    change = phi - estimate.phi
    assert change @ np.linalg.solve(estimate.covariance.matrix, change) <= SHARE**2 * (1 + 1e-9)
    assert np.median([significant(x) for x in phi]) <= 5
