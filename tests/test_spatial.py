"""Poses, pseudo-inertias, what can exist, the log-det divergence."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_robots import cloud

from ident.errors import InputError
from ident.spatial.inertia import (
    INERTIAL,
    PSEUDO_INERTIA_MAP,
    Pose,
    axis_angle,
    consistency,
    from_com,
    from_pseudo_inertia,
    is_positive_semidefinite,
    pseudo_inertia,
    pseudo_inertia_exact,
    rpy,
    skew,
    tensor,
    to_com,
    transformed,
)

seeds = st.integers(0, 2**32 - 1)


def random_pose(rng: np.random.Generator) -> Pose:
    return Pose(rpy(*rng.uniform(-4, 4, 3)), rng.normal(0, 0.5, 3))


def random_body(rng: np.random.Generator) -> np.ndarray:
    return from_com(*cloud(rng))


# poses


@given(seeds)
def test_poses_compose_like_their_matrices(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = random_pose(rng), random_pose(rng)
    np.testing.assert_allclose((a @ b).matrix, a.matrix @ b.matrix, atol=1e-14)
    np.testing.assert_allclose((a @ a.inverse()).matrix, np.eye(4), atol=1e-14)
    np.testing.assert_allclose(a.inverse().matrix, np.linalg.inv(a.matrix), atol=1e-13)
    np.testing.assert_array_equal(Pose.identity().matrix, np.eye(4))


@given(seeds)
def test_rotations_agree_with_scipy(seed: int) -> None:
    from scipy.spatial.transform import Rotation

    rng = np.random.default_rng(seed)
    axis, angle = rng.normal(size=3), rng.uniform(-7, 7)
    axis /= np.linalg.norm(axis)
    np.testing.assert_allclose(axis_angle(axis, angle), Rotation.from_rotvec(axis * angle).as_matrix(), atol=1e-13)
    angles = rng.uniform(-4, 4, 3)  # URDF: about the fixed x, then y, then z
    np.testing.assert_allclose(rpy(*angles), Rotation.from_euler("xyz", angles).as_matrix(), atol=1e-13)
    v, u = rng.normal(size=(2, 3))
    np.testing.assert_allclose(skew(v) @ u, np.cross(v, u), atol=1e-14)


@pytest.mark.parametrize("matrix", [np.diag([1.0, 1.0, -1.0]), 1.001 * np.eye(3), np.ones((3, 3)), np.zeros((3, 3))])
def test_what_is_no_rotation_is_refused(matrix: np.ndarray) -> None:
    with pytest.raises(InputError, match="rotation must be a proper rotation matrix"):
        Pose(matrix, np.zeros(3))


def test_poses_cannot_be_written_to() -> None:
    with pytest.raises(ValueError, match="read-only"):
        Pose.identity().rotation[0, 0] = 2.0


# parameters


def test_the_order_is_the_one_agreed() -> None:
    assert INERTIAL == ("m", "hx", "hy", "hz", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")


def test_one_point_mass_by_hand() -> None:
    """2 kg at (1, 2, 3) m: the products of inertia of the tensor are negative."""
    body = from_com(2.0, [1, 2, 3], np.zeros((3, 3)))
    np.testing.assert_array_equal(body, [2, 2, 4, 6, 26, -4, -6, 20, -12, 10])
    x = np.array([1.0, 2.0, 3.0, 1.0])
    np.testing.assert_array_equal(pseudo_inertia(body), 2 * np.outer(x, x))


@given(seeds)
def test_pseudo_inertia_integrates_x_xt_over_the_mass(seed: int) -> None:
    rng = np.random.default_rng(seed)
    m, x = rng.uniform(0, 1, 6), rng.normal(size=(6, 3))
    body = sum(from_com(mi, xi, np.zeros((3, 3))) for mi, xi in zip(m, x, strict=True))
    lifted = np.column_stack([x, np.ones(6)])
    np.testing.assert_allclose(pseudo_inertia(body), (m[:, None] * lifted).T @ lifted, atol=1e-13)
    np.testing.assert_allclose(
        tensor(body), sum(-mi * skew(xi) @ skew(xi) for mi, xi in zip(m, x, strict=True)), atol=1e-13
    )


@given(st.lists(st.floats(-1e3, 1e3), min_size=10, max_size=10))
def test_pseudo_inertia_and_back(numbers: list[float]) -> None:
    body = np.array(numbers)
    np.testing.assert_allclose(from_pseudo_inertia(pseudo_inertia(body)), body, atol=1e-12)
    np.testing.assert_allclose((PSEUDO_INERTIA_MAP @ body).reshape(4, 4), pseudo_inertia(body), atol=0)
    stacked = np.array([[body, 2 * body], [3 * body, 0 * body]])
    np.testing.assert_allclose(from_pseudo_inertia(pseudo_inertia(stacked)), stacked, atol=1e-11)
    assert pseudo_inertia(stacked).shape == (2, 2, 4, 4)


@given(seeds)
def test_centre_of_mass_form_and_back(seed: int) -> None:
    rng = np.random.default_rng(seed)
    mass, com, inertia = cloud(rng)
    found = to_com(from_com(mass, com, inertia))
    assert found[0] == mass
    np.testing.assert_allclose(found[1], com, atol=1e-15)
    np.testing.assert_allclose(found[2], inertia, atol=1e-14)


def test_a_massless_body_has_its_centre_at_the_origin() -> None:
    mass, com, inertia = to_com(np.zeros(10))
    assert (mass, com.tolist(), inertia.tolist()) == (0.0, [0, 0, 0], np.zeros((3, 3)).tolist())


@given(seeds)
def test_another_frame_is_steiner_and_a_turn(seed: int) -> None:
    rng = np.random.default_rng(seed)
    body, pose = random_body(rng), random_pose(rng)
    mass, com, inertia = to_com(body)
    r = pose.rotation
    expected = from_com(mass, r @ com + pose.position, r @ inertia @ r.T)
    np.testing.assert_allclose(transformed(body, pose), expected, atol=1e-12)
    np.testing.assert_allclose(transformed(transformed(body, pose), pose.inverse()), body, atol=1e-12)


@given(seeds)
def test_a_transformed_body_has_the_same_energy(seed: int) -> None:
    """Kinetic energy is tr(T' J T'^T) / 2 for the rate of change T' of the body's frame."""
    rng = np.random.default_rng(seed)
    body, pose = random_body(rng), random_pose(rng)
    w, v = rng.normal(size=(2, 3))
    rate = np.zeros((4, 4))
    rate[:3, :3], rate[:3, 3] = skew(w), v
    moved = rate @ pose.matrix
    before = np.trace(moved @ pseudo_inertia(body) @ moved.T)
    assert np.trace(rate @ pseudo_inertia(transformed(body, pose)) @ rate.T) == pytest.approx(before, rel=1e-10)


# what can exist


@given(seeds)
def test_clouds_of_mass_can_exist_and_lose_it_by_any_condition(seed: int) -> None:
    rng = np.random.default_rng(seed)
    mass, com, inertia = cloud(rng)
    assert consistency(from_com(mass, com, inertia)).consistent
    assert consistency(from_com(mass, com, inertia)).failures() == []
    moments, axes = np.linalg.eigh(inertia)

    negative = consistency(from_com(-mass, com, inertia))
    assert not negative.consistent
    assert negative.failures()[0] == f"m > 0 fails: m = {-mass:.6g} kg"

    flipped = consistency(from_com(mass, com, axes @ np.diag([-moments[0], moments[1], moments[2]]) @ axes.T))
    assert not flipped.consistent
    assert flipped.failures()[0].startswith("I_c > 0 fails: smallest principal moment about the centre of mass = -")


@given(seeds, st.floats(1e-6, 0.5))
def test_defect_3_the_triangle_inequality_is_enforced_with_positive_moments(seed: int, excess: float) -> None:
    rng = np.random.default_rng(seed)
    mass, com, inertia = cloud(rng)
    a, b, _ = np.linalg.eigvalsh(inertia)
    axes = rpy(*rng.uniform(-3, 3, 3))
    c = (a + b) * (1 + excess)
    impossible = consistency(from_com(mass, com, axes @ np.diag([a, b, c]) @ axes.T))
    assert not impossible.consistent
    assert impossible.moments[0] > 0
    assert impossible.triangle_gap == pytest.approx(-(a + b) * excess, rel=1e-3)
    assert [f.split(" fails")[0] for f in impossible.failures()] == ["triangle inequality"]
    within = axes @ np.diag([a, b, b + (1 - excess) * a]) @ axes.T
    assert consistency(from_com(mass, com, within)).consistent


def test_consistency_is_exact_at_the_edge() -> None:
    """A point mass is at the edge: one unit in the last place decides, which no eigenvalue solver can see."""
    edge = from_com(2.0, [1, 2, 3], np.zeros((3, 3)))
    assert consistency(edge).consistent
    for k, to in ((0, -1), (1, 1), (2, 1), (3, 1), (4, -1), (4, 1), (5, -1), (6, 1), (7, 1), (8, -1), (9, 1)):
        moved = edge.copy()
        moved[k] = np.nextafter(moved[k], to * np.inf)
        assert not consistency(moved).consistent, INERTIAL[k]
    moved = edge.copy()
    moved[[4, 7, 9]] += 2.0**-48  # a little ball around it
    assert consistency(moved).consistent


def test_massless_bodies_are_judged_exactly() -> None:
    almost = consistency([1e-253, 1.0, 0, 0, 1, 0, 0, 1, 0, 1])  # its centre is farther off than numbers go
    assert not almost.consistent
    assert any("I_c > 0 fails" in text for text in almost.failures())
    assert consistency(np.zeros(10)).consistent
    assert not consistency([0, 1e-300, 0, 0, 1, 0, 0, 1, 0, 1]).consistent
    assert not consistency([0, 0, 0, 0, 1, 0, 0, 1, 0, np.nextafter(2.0, 3.0)]).consistent
    assert consistency([0, 0, 0, 0, 1, 0, 0, 1, 0, 2.0]).consistent


@given(seeds, st.integers(1, 5), st.integers(0, 5))
def test_definiteness_agrees_with_all_principal_minors(seed: int, n: int, rank: int) -> None:
    """A symmetric matrix is positive semidefinite exactly when no principal minor is negative; integers are exact."""
    rng = np.random.default_rng(seed)
    f = rng.integers(-2, 3, (n, min(rank, n)))
    a = f @ f.T - (rng.random() < 0.4) * np.diag(rng.integers(0, 2, n))
    chosen = [list(c) for k in range(1, n + 1) for c in combinations(range(n), k)]
    expected = all(round(float(np.linalg.det(a[np.ix_(c, c)]))) >= 0 for c in chosen)
    exact = [[Fraction(int(x)) for x in row] for row in a]
    assert is_positive_semidefinite(exact) == expected
    assert exact == [[Fraction(int(x)) for x in row] for row in a]  # the argument is left alone


@given(st.lists(st.floats(-1e3, 1e3), min_size=10, max_size=10))
def test_exact_pseudo_inertia_is_the_same_matrix(numbers: list[float]) -> None:
    exact = np.array([[float(x) for x in row] for row in pseudo_inertia_exact(numbers)])
    np.testing.assert_allclose(exact, pseudo_inertia(numbers), atol=1e-12)
