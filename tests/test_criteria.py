"""Criteria against numpy on a dense regressor, their slopes against differences and the complex step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import complex_dynamics
import numpy as np
import pytest
from oracles import random_tree
from synthetic import random_theta, recording, states

import ident.excitation.information as criteria
from ident.errors import ModelError
from ident.excitation.bases import Basis, Fourier, FourierAndPolynomial, resting
from ident.excitation.information import Criterion, Information, information
from ident.excitation.limits import KinematicLimits
from ident.excitation.problem import Problem
from ident.model import Model, Offset, SmoothCoulomb, Viscous, regressor
from ident.regression import base_parameters, compress
from ident.regression.base import BaseParameters

ALL: dict[str, tuple[Criterion, Callable[[np.ndarray], complex]]] = {
    name: (getattr(criteria, name), getattr(complex_dynamics, name))
    for name in ("d_optimal", "a_optimal", "e_optimal", "condition", "scaled_condition", "worst_error")
}


def upper(rng: np.random.Generator, b: int) -> np.ndarray:
    """Return R of a random matrix with columns of different lengths."""
    return np.linalg.qr(rng.normal(size=(3 * b, b)) * 10.0 ** rng.uniform(-1, 1, b), mode="r")


def dense(model: Model, base: BaseParameters, noise: np.ndarray, x: tuple[np.ndarray, ...]) -> np.ndarray:
    """Return the weighted regressor of the base parameters, (N n, b)."""
    y = regressor(model, *x)[:, :, list(base.kept)] / noise[:, None]
    return y.reshape(-1, len(base.kept))


@pytest.mark.parametrize("name", ALL)
def test_slope_against_differences(name: str) -> None:
    criterion, _ = ALL[name]
    for seed in range(10):
        rng = np.random.default_rng(seed)
        r = upper(rng, 2 + seed)
        value, slope = criterion(r)
        assert np.allclose(slope, slope.T, rtol=1e-9, atol=1e-12 * np.abs(slope).max())
        way = rng.normal(size=r.shape)
        way = (way + way.T) / 2
        # M moves by t R^T way R: by a share of itself
        ahead, behind = (criterion(np.linalg.cholesky(np.eye(len(r)) + t * way).T @ r)[0] for t in (1e-5, -1e-5))
        exact = float((slope * (r.T @ way @ r)).sum())
        assert (ahead - behind) / 2e-5 == pytest.approx(exact, rel=1e-6, abs=1e-7)
        assert np.isfinite(value)


@pytest.mark.parametrize("name", ALL)
def test_slope_against_the_complex_step(name: str) -> None:
    criterion, holomorphic = ALL[name]
    for seed in range(5):
        rng = np.random.default_rng(100 + seed)
        r = np.linalg.qr(rng.normal(size=(40, 3 + seed)), mode="r")
        value, slope = criterion(r)
        m = r.T @ r
        assert np.real(holomorphic(m + 0j)) == pytest.approx(value, rel=1e-9, abs=1e-10)
        way = rng.normal(size=m.shape)
        way = way + way.T
        exact = np.imag(holomorphic(m + 1j * complex_dynamics.STEP * way)) / complex_dynamics.STEP
        assert float((slope * way).sum()) == pytest.approx(exact, rel=1e-10)


def arm(seed: int, n: int = 3) -> tuple[np.random.Generator, Model]:
    rng = np.random.default_rng(seed)
    robot = random_tree(rng, n, branches=False)
    return rng, Model(robot, (Viscous(), SmoothCoulomb(0.5), Offset()))


def test_values_against_numpy_on_a_dense_regressor() -> None:
    for seed in range(4):
        rng, model = arm(seed)
        noise = rng.uniform(0.1, 2.0, 3)
        source = information(model, noise)
        _, *x = states(rng, 3, 300)
        y = dense(model, source.base, noise, tuple(x))
        r = source.factor(tuple(x))
        assert np.allclose(np.tril(r, -1), 0)
        m, b = y.T @ y, y.shape[1]
        covariance = np.linalg.inv(m)
        assert np.abs(r.T @ r - m).max() < 1e-12 * np.abs(m).max()
        assert criteria.d_optimal(r)[0] == pytest.approx(-np.linalg.slogdet(m)[1] / b, rel=1e-9)
        assert criteria.a_optimal(r)[0] == pytest.approx(np.log(np.trace(covariance)), abs=1e-8)
        singular = np.linalg.svd(y, compute_uv=False)
        assert criteria.e_optimal(r)[0] == pytest.approx(-np.log(singular[-1]), abs=1e-10)
        assert criteria.condition(r)[0] == pytest.approx(np.log(np.linalg.cond(y)), abs=1e-10)
        scaled = np.linalg.cond(y / np.linalg.norm(y, axis=0))
        assert criteria.scaled_condition(r)[0] == pytest.approx(np.log(scaled), abs=1e-10)
        worst = np.sqrt(np.diag(covariance)).max()
        assert np.log(worst) - 1e-9 <= criteria.worst_error(r)[0] <= np.log(worst) + np.log(b) / 16 + 1e-9


def test_scaled_condition_does_not_see_units() -> None:
    rng = np.random.default_rng(1)
    r = upper(rng, 8)
    scaled = r * 10.0 ** rng.uniform(-3, 3, 8)
    assert criteria.scaled_condition(scaled)[0] == pytest.approx(criteria.scaled_condition(r)[0], abs=1e-12)
    assert abs(criteria.condition(scaled)[0] - criteria.condition(r)[0]) > 0.1


def test_d_optimality_does_not_see_the_choice_of_base_parameters() -> None:
    rng, model = arm(7)
    base = base_parameters(model)
    # another choice: phi' = T phi, whose columns are Y T^-1
    turned = model.names[::-1]
    reversed_kept = _kept(model, turned)
    assert set(reversed_kept) != set(base.kept)
    pairs = []
    for _ in range(2):
        _, *x = states(rng, 3, 200)
        y = regressor(model, *x).reshape(-1, len(model.names))
        first, second = (np.linalg.qr(y[:, list(kept)], mode="r") for kept in (base.kept, reversed_kept))
        pairs.append((first, second))
    (a, a_), (c, c_) = pairs
    difference = criteria.d_optimal(a)[0] - criteria.d_optimal(c)[0]
    assert criteria.d_optimal(a_)[0] - criteria.d_optimal(c_)[0] == pytest.approx(difference, abs=1e-9)
    other = criteria.condition(a)[0] - criteria.condition(c)[0]
    assert abs(criteria.condition(a_)[0] - criteria.condition(c_)[0] - other) > 1e-3


def _kept(model: Model, order: tuple[str, ...]) -> list[int]:
    """Return the parameters whose columns are not spanned by those before them in another order of the names."""
    rng = np.random.default_rng(0)
    y = regressor(model, *rng.normal(size=(3, 100, model.robot.n))).reshape(-1, len(model.names))
    kept: list[int] = []
    for name in order:
        k = model.index(name)
        if np.linalg.matrix_rank(y[:, [*kept, k]]) > len(kept):
            kept.append(k)
    return sorted(kept)


def test_factor_in_pieces_share_and_prior() -> None:
    rng, model = arm(9)
    noise = np.array([0.5, 0.2, 0.1])
    source = information(model, noise)
    _, *x = states(rng, 3, 9000)  # several chunks
    y = dense(model, source.base, noise, tuple(x))
    r = source.factor(tuple(x), 2.5)
    assert np.abs(r.T @ r - 2.5 * y.T @ y).max() < 1e-12 * np.abs(r.T @ r).max()
    slope = np.cov(rng.normal(size=(y.shape[1], 40)))
    found = source.pull_back(tuple(x), slope, 2.5)
    few = [a[4090:4110] for a in x]
    assert np.allclose(source.pull_back(tuple(few), slope, 2.5), found[:, 4090:4110], rtol=1e-9)

    log = recording(rng, model, random_theta(rng, model), samples=400, segments=3)
    prior = information(model, noise, prior=compress(model, log))
    before = dense(model, source.base, noise, (log.q, log.qd, log.qdd))
    both = prior.factor(tuple(x), 2.5)
    wanted = before.T @ before + 2.5 * y.T @ y
    assert np.abs(both.T @ both - wanted).max() < 1e-12 * np.abs(wanted).max()


def test_what_information_refuses() -> None:
    rng, model = arm(2)
    with pytest.raises(ModelError, match=r"the torque noise of joint 'joint2' is 0, wanted a positive standard dev"):
        information(model, [1.0, 0.0, 1.0])
    with pytest.raises(ModelError, match="noise"):
        information(model, [1.0, 1.0])
    other = Model(model.robot, (Viscous(),))
    log = recording(rng, other, random_theta(rng, other))
    with pytest.raises(ModelError, match=r"the prior log was compressed for another model\. Compress it with"):
        information(model, np.ones(3), prior=compress(other, log))


def wide(n: int) -> KinematicLimits:
    names = tuple(f"joint{j + 1}" for j in range(n))
    return KinematicLimits(names, ("revolute",) * n, np.full(n, -4.0), np.full(n, 5.0), np.full((3, n), 60.0))


def problem(source: Information, basis: Basis, criterion: Criterion) -> Problem:
    n = source.columns.model.robot.n
    return Problem(source, criterion, basis, np.zeros((n, basis.size)), resting(basis), (wide(n),), 50.0)


BASES = (Fourier(1.0, 3), FourierAndPolynomial(1.0, 4))


@pytest.mark.parametrize("basis", BASES, ids=lambda b: type(b).__name__)
@pytest.mark.parametrize("name", ALL)
def test_merit_s_gradient_against_the_complex_step(name: str, basis: Basis) -> None:
    """From the coefficients all the way to the criterion, on a dense complex regressor."""
    rng, model = arm(11, 2)
    criterion, holomorphic = ALL[name]
    noise = np.array([1.0, 0.4])
    p = problem(information(model, noise), basis, criterion)
    z = 0.3 * rng.normal(size=(2, p.free.shape[1]))
    kept = list(p.information.base.kept)
    values = [basis.values(p.times, order) @ p.free for order in range(3)]

    def f(z: np.ndarray) -> complex:
        q, qd, qdd = (v @ z.T for v in values)
        rigid = complex_dynamics.rigid_regressor(model.robot, q, qd, qdd)
        own = np.zeros((len(q), 2, 6), complex)
        for j in range(2):
            own[:, j, j], own[:, j, 2 + j], own[:, j, 4 + j] = qd[:, j], np.tanh(qd[:, j] / 0.5), 1.0
        y = np.concatenate([rigid, own], axis=2)[:, :, kept] / noise[:, None]
        y = y.reshape(-1, len(kept)) * np.sqrt(p.share)
        return holomorphic(y.T @ y)

    value, gradient = p.merit(z, 0.0, (0.0,))
    assert value == pytest.approx(np.real(f(z + 0j)), rel=1e-8)
    wanted = complex_dynamics.derivative(f, z)
    assert np.abs(gradient - wanted).max() < 1e-10 * np.abs(wanted).max()


@pytest.mark.parametrize("name", ALL)
def test_merit_s_gradient_against_differences(name: str) -> None:
    rng, model = arm(12)
    criterion, _ = ALL[name]
    log = recording(rng, model, random_theta(rng, model), samples=100)
    for source in (information(model, np.ones(3)), information(model, np.ones(3), prior=compress(model, log))):
        p = replace(problem(source, Fourier(1.0, 4), criterion), periods=3)
        z = 0.3 * rng.normal(size=(3, p.free.shape[1]))
        _, gradient = p.merit(z, 0.1, (0.01,))
        way = rng.normal(size=z.shape)
        ahead, behind = (p.merit(z + s * 1e-6 * way, 0.1, (0.01,))[0] for s in (1, -1))
        size = np.linalg.norm(gradient) * np.linalg.norm(way)
        assert abs((ahead - behind) / 2e-6 - (gradient * way).sum()) < 1e-6 * size
