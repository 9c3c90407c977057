"""Newton's method for the log-det prior against the conic solver, with bounds and without."""

from __future__ import annotations

import numpy as np
import pytest
from refine_cases import Case, arm5, small_arm

from ident.estimate import Bounds, Prior
from ident.estimate.cones import Coordinates
from ident.estimate.estimators import WEIGHTS, noise
from ident.estimate.log_det_newton import LogDetNewton
from ident.estimate.newton_kernels import _orthogonal
from ident.estimate.problem import Program, samples

FALLING = WEIGHTS[::-1]


def paths(case: Case, bounds: Bounds, weights: tuple[float, ...] = FALLING) -> tuple[list[np.ndarray], list[float]]:
    """Return theta by Newton at each weight, and how much lower its objective is than the conic solver's, relative."""
    sigma = noise(case.regression, None)
    factor, count = case.regression.factor(sigma), samples(case.regression)
    coordinates = Coordinates.of(case.model, case.prior, factor, case.regression.base)
    newton = LogDetNewton(case.model, case.regression.base, coordinates, bounds)
    assert newton.interior
    found = newton.path(factor, count, weights)
    assert len(found) == len(weights)
    cvxpy = Program(case.model, case.regression.base, coordinates, bounds)
    conic = [cvxpy.stated(factor, count, *at) for at in zip(weights, found, strict=True)]
    stated = [case.prior.joint_values.get(name, 0.0) for name in case.model.names[case.model.n_rigid :]]
    lower = []
    for weight, theta, other in zip(weights, found, conic, strict=True):
        values = []
        for t in (theta, other.theta):
            Q = np.linalg.solve(pseudo(case.prior.inertials.ravel()), pseudo(t[: case.model.n_rigid]))
            far = np.trace(Q, axis1=1, axis2=2).sum() - np.linalg.slogdet(Q)[1].sum()
            y = np.array([v / s for v, s in zip(t[case.model.n_rigid :], stated, strict=True) if s > 0])
            far += float(np.sum(y - np.log(y)))
            residual = factor @ np.append(case.regression.base.K @ t, -1.0)
            values.append(float(residual @ residual) / count + weight * far)
        lower.append((values[1] - values[0]) / (abs(values[1]) + weight))
    return found, lower


def pseudo(links: np.ndarray) -> np.ndarray:
    from ident.spatial.inertia import pseudo_inertia

    return pseudo_inertia(links.reshape(-1, 10))


def test_zeros_below_the_steps_need_no_squares(monkeypatch: pytest.MonkeyPatch) -> None:
    """In bands of three rows, and with a bound, whose rows are full."""
    case = small_arm(0)
    mass = Bounds(mass={case.model.robot.links[0]: (0.0, 1.01 * case.prior.inertials[0, 0])})
    factor = case.regression.factor(noise(case.regression, None))
    coordinates = Coordinates.of(case.model, case.prior, factor, case.regression.base)
    found = []
    for rows in (3, 1000):
        monkeypatch.setattr("ident.estimate.log_det_newton._BAND", rows)
        newton = LogDetNewton(case.model, case.regression.base, coordinates, mass)
        found.append(newton.path(factor, samples(case.regression), (1e-2, 1e-3)))
    np.testing.assert_allclose(found[0], found[1], rtol=1e-9)
    assert len(found[0]) == 2


@pytest.mark.slow
@pytest.mark.parametrize("case", [arm5(0), small_arm(0), small_arm(5)], ids=["arm5", "arm", "slender"])
def test_at_every_weight_it_is_as_low_as_the_conic_solver(case):
    """small_arm(5) needs weights in between: its bodies grow to hundreds of times the prior's."""
    found, lower = paths(case, Bounds())
    assert min(lower) > -1e-8
    assert max(lower) < 1e-4
    joint = np.array([theta[case.model.n_rigid :][case.model.nonnegative] for theta in found])
    assert (joint > 0).all()


@pytest.mark.slow
def test_a_stated_joint_term_is_drawn_to_its_value():
    case = small_arm(1)
    names = case.model.names[case.model.n_rigid :]
    prior = Prior(case.prior.inertials, "cad", dict(zip(names[:4], (0.1, 0.2, 0.3, 0.4), strict=True)))
    case = Case(case.model, case.regression, prior, case.theta)
    found, lower = paths(case, Bounds())
    assert min(lower) > -1e-8
    assert max(lower) < 1e-4
    at = case.model.n_rigid
    assert np.abs(found[0][at : at + 4] - (0.1, 0.2, 0.3, 0.4)).max() < 0.1
    assert np.abs(found[-1][at : at + 4] - (0.1, 0.2, 0.3, 0.4)).max() > 0.05


def test_bounds_are_kept_from_an_interior_start():
    case = small_arm(2)
    first, second, third, *_ = case.model.robot.links
    m = case.prior.inertials[:, 0]
    bounds = Bounds(mass={first: (1.3 * m[0], 1.5 * m[0])}, pinned={f"{third}.m": 1.1 * m[2]}, equal=((first, second),))
    found, lower = paths(case, bounds, (1.0, 1e-2, 1e-4))
    assert max(np.abs(lower)) < 1e-5
    for theta in found:
        assert 1.3 * m[0] < theta[0] < 1.5 * m[0]
        assert theta[20] == pytest.approx(1.1 * m[2], rel=1e-6)
        np.testing.assert_allclose(theta[:10], theta[10:20], rtol=1e-5, atol=1e-6)


def test_bounds_that_cannot_be_met_have_no_path():
    case = small_arm(0)
    factor = case.regression.factor(noise(case.regression, None))
    coordinates = Coordinates.of(case.model, case.prior, factor, case.regression.base)
    bounds = Bounds(mass={case.model.robot.links[0]: (1.0, 2.0)}, total_mass=(0.1, 0.5))
    newton = LogDetNewton(case.model, case.regression.base, coordinates, bounds)
    assert not newton.interior
    assert newton.path(factor, samples(case.regression), (1.0,)) == []


def test_targets_that_follow_start_where_others_ended_and_end_where_they_would_alone():
    case = small_arm(0)
    factor = case.regression.factor(noise(case.regression, None))
    coordinates = Coordinates.of(case.model, case.prior, factor, case.regression.base)
    other = factor.copy()
    other[:, -1] *= 1.2
    newton, fresh = (LogDetNewton(case.model, case.regression.base, coordinates, Bounds()) for _ in range(2))
    count = samples(case.regression)
    newton.path(factor, count, FALLING)
    for found, alone in zip(newton.path(other, count, FALLING), fresh.path(other, count, FALLING), strict=True):
        np.testing.assert_allclose(found, alone, rtol=1e-4, atol=1e-6 * np.abs(alone).max())


def test_columns_become_orthogonal_by_turning_and_nothing_beside_them_changes():
    rng = np.random.default_rng(3)
    M, V = np.full((5, 4), 7.0), np.full((5, 4), 7.0)
    M[:4], V[:4] = rng.normal(size=(4, 4)), np.eye(4)
    given = M[:4].copy()
    _orthogonal(M[:4], V[:4])
    gram = M[:4].T @ M[:4]
    np.testing.assert_allclose(gram, np.diag(np.diag(gram)), atol=1e-12 * np.trace(gram))
    np.testing.assert_allclose(given @ V[:4], M[:4], atol=1e-13)
    np.testing.assert_allclose(V[:4].T @ V[:4], np.eye(4), atol=1e-13)
    assert (M[4] == 7.0).all()
    assert (V[4] == 7.0).all()
