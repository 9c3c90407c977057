"""Noisy random problems: every result can exist, in exact arithmetic, on the digits written."""

from __future__ import annotations

import json

import numpy as np
import pytest
from identified import case
from noisy_problems import KINDS, fitted, infeasible, problem
from seeds import cases

from ident.errors import InfeasibleError
from ident.estimate.estimate import DIGITS, rounded, written
from ident.estimate.storage import save_estimate
from ident.spatial.inertia import consistency

pytestmark = pytest.mark.slow

COUNT = 45


@pytest.mark.parametrize("kind", range(3), ids=KINDS)
def test_every_noisy_problem_ends_in_bodies_that_can_exist(kind):
    failed = {}
    for k in range(cases(COUNT // 3)):  # from the third on: to the first two a solver takes ten seconds
        seed = kind + 3 * ((k + 2) % (COUNT // 3))
        model, estimate = fitted(seed)
        if wrong := infeasible(model, estimate.theta):
            failed[seed] = wrong
        assert estimate.feasible
        assert (estimate.theta == rounded(estimate.theta)).all()
        np.testing.assert_array_equal(estimate.phi, estimate.base.K @ estimate.theta)
    assert failed == {}


def test_the_problems_are_hard():
    """Slides, branches, joints at rest, few samples: and least squares alone ends in bodies that cannot exist."""
    slides = branches = still = 0
    joints = set()
    for seed in range(COUNT):
        model, regression, _ = problem(seed)
        robot = model.robot
        joints.add(robot.n)
        slides += any(j.kind == "prismatic" for j in robot.joints)
        parents = [j.parent for j in robot.joints]
        branches += len(set(parents)) < len(parents)
        still += bool(regression.unseen()) or np.linalg.matrix_rank(regression.factor(np.ones(robot.n))) < len(
            regression.base.names
        )
    assert joints == set(range(1, 9))
    assert min(slides, branches, still) > COUNT // 4


def test_the_file_holds_the_numbers_that_were_checked(tmp_path):
    c = case()
    path = save_estimate(c.constrained, tmp_path / "e.json")
    text = path.read_text()
    for x in c.constrained.theta:
        assert any(form in text for form in (repr(float(x)), f"{x:.{DIGITS - 1}e}", json.dumps(float(x))))
    assert infeasible(c.model, c.constrained.theta) == []


def test_the_check_of_these_tests_sees_what_cannot_exist():
    c = case()
    for place, value in ((0, -1e-9), (14, 2.0), (c.model.n_rigid, -1e-300)):
        theta = c.theta.copy()
        theta[place] = value
        assert len(infeasible(c.model, theta)) == 1


def edge(rng: np.random.Generator, rank: int) -> np.ndarray:
    """Return ten numbers of a body of 1 to 3 point masses, singular up to rounding."""
    m, x = rng.uniform(0.1, 2.0, rank), rng.normal(0, 0.3, (rank, 3))
    S = (m[:, None] * x).T @ x
    inertia = np.trace(S) * np.eye(3) - S
    return np.concatenate([[m.sum()], m @ x, inertia[[0, 0, 0, 1, 1, 2], [0, 1, 2, 1, 2, 2]]])


@pytest.mark.parametrize("digits", [9, DIGITS])
def test_bodies_at_the_edge_are_written_inside_and_hardly_moved(digits):
    c = case()
    rng = np.random.default_rng(0)
    outside = 0
    for rank in (1, 2, 3) * 10:
        theta = c.theta.copy()
        theta[:30] = np.concatenate([edge(rng, rank) for _ in range(3)])
        outside += sum(not consistency(b).consistent for b in rounded(theta[:30], digits).reshape(3, 10))
        theta[30] = -1e-12
        numbers = written(c.model, theta, c.inertials, digits)
        assert infeasible(c.model, numbers, digits) == []
        np.testing.assert_allclose(numbers, theta, rtol=10.0 ** (1 - digits), atol=1e4 * 10.0**-digits)
    assert outside > 45


def test_a_body_far_outside_is_refused_by_name():
    c = case()
    theta = c.theta.copy()
    theta[10] = -0.5
    with pytest.raises(InfeasibleError, match=r"arm: .*m > 0 fails: m = -0\.5 kg"):
        written(c.model, theta, c.inertials)


def test_a_least_residual_that_is_found_in_its_own_units_only():
    """Problem 401: the cone program of the least residual fails until its norm is scaled."""
    model, estimate = fitted(401)
    assert infeasible(model, estimate.theta) == []
