"""The reverse of the regressor and of every joint term: against differences, and exactly against the complex step."""

from __future__ import annotations

import complex_dynamics
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import random_tree
from seeds import cases

from ident.dynamics.rigid_body import regressor as rigid_regressor
from ident.model import Coulomb, DriveInertia, Model, Offset, SmoothCoulomb, Spring, Viscous, coupled_drive, regressor
from ident.model import term as each
from ident.model.term import Term
from ident.regression.base import BaseParameters, base_parameters
from ident.regression.compress import packed_columns, pull_back, state_rows
from ident.robot import Robot

WIDTH = 0.3


def everything(model: Model) -> BaseParameters:
    """Return base parameters that keep all columns, so that every one is tested."""
    names = model.names
    return BaseParameters(names, tuple(range(len(names))), np.eye(len(names)), names)


def random_states(rng: np.random.Generator, n: int, samples: int) -> np.ndarray:
    return rng.normal(size=(3, samples, n)) * np.array([1.0, 2.0, 5.0])[:, None, None]


def close(found: np.ndarray, wanted: np.ndarray) -> float:
    """Return the largest difference as a share of the largest entry."""
    return float(np.abs(found - wanted).max() / np.abs(wanted).max())


def complex_step(columns: object, weights: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return d sum(weights * columns(q, qd, qdd)) / dx (3, N, n): samples do not see each other, so n at a time."""
    found = np.empty(x.shape)
    for order in range(3):
        for j in range(x.shape[2]):
            moved = x.astype(complex)
            moved[order, :, j] += 1j * complex_dynamics.STEP
            found[order, :, j] = (weights * np.imag(columns(*moved))).sum(axis=tuple(range(1, weights.ndim)))  # type: ignore[operator]
    return found / complex_dynamics.STEP


@pytest.mark.parametrize("points", [False, True])
def test_the_complex_regressor_is_a_regressor(points: bool) -> None:
    rng = np.random.default_rng(5)
    for n in range(1, 8):
        robot = random_tree(rng, n, points=points)
        x = random_states(rng, n, 20)
        assert close(complex_dynamics.rigid_regressor(robot, *x), rigid_regressor(robot, *x)) < 1e-13


@given(st.integers(0, 10**6), st.integers(1, 8))
@settings(max_examples=cases(25))
def test_regressor_against_the_complex_step(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    robot = random_tree(rng, n, points=bool(seed % 2), branches=bool(seed % 3))
    columns = packed_columns(Model(robot), everything(Model(robot)))
    x = random_states(rng, n, 11)  # packs hold eight: one full, one not
    weights = rng.normal(size=(11, n, 10 * n))
    packed = packed_weights(columns.span, columns.parameters, weights, columns.width)
    wanted = complex_step(lambda *y: complex_dynamics.rigid_regressor(robot, *y), weights, x)
    assert close(pull_back(columns, *x, packed), wanted) < 1e-10


def packed_weights(span: object, parameters: object, weights: np.ndarray, width: int) -> np.ndarray:
    """Return weights (N, n, p) in the packed layout, with nonsense where the torques stand and in the waste column."""
    packed = np.full((len(weights), width), 7.0)
    for j, ((start, stop), own) in enumerate(zip(span, parameters, strict=True)):  # type: ignore[call-overload]
        packed[:, start : stop - 1] = weights[:, j, list(own)]
    return packed


@pytest.mark.slow
def test_regressor_of_a_long_chain_in_many_chunks() -> None:
    rng = np.random.default_rng(0)
    robot = random_tree(rng, 12, points=True, branches=False)
    columns = packed_columns(Model(robot), everything(Model(robot)))
    x = random_states(rng, 12, 200)
    weights = rng.normal(size=(200, 12, 120))
    packed = packed_weights(columns.span, columns.parameters, weights, columns.width)
    wanted = complex_step(lambda *y: complex_dynamics.rigid_regressor(robot, *y), weights, x)
    assert close(pull_back(columns, *x, packed), wanted) < 1e-10


def shares(n: int) -> tuple[float, ...]:
    return tuple(float(s) for s in np.resize([1.0, -0.5, 0.0], n))


def terms(robot: Robot) -> tuple[Term, ...]:
    some = robot.joint_names[::2]
    return (
        Viscous(),
        SmoothCoulomb(WIDTH, some),
        Offset(),
        Spring(some, rest=0.4),
        DriveInertia(some),
        *coupled_drive("motor", shares(robot.n), SmoothCoulomb(WIDTH)),
    )


def complex_terms(robot: Robot, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
    """Return Y (N, n, p) of the joint terms of `terms`, by their definitions."""
    n, c = robot.n, np.array(shares(robot.n))
    parts = []
    for signal, joints in (
        (qd, range(n)),
        (np.tanh(qd / WIDTH), range(0, n, 2)),
        (np.ones_like(qd), range(n)),
        (q - 0.4, range(0, n, 2)),
        (qdd, range(0, n, 2)),
    ):
        for j in joints:
            column = np.zeros((len(q), n), complex)
            column[:, j] = signal[:, j]
            parts.append(column)
    motor = [qdd @ c, qd @ c, np.tanh(qd @ c / WIDTH)]
    parts += [np.outer(signal, c) for signal in motor]
    return np.stack(parts, -1)


@given(st.integers(0, 10**6), st.integers(1, 6))
@settings(max_examples=cases(20))
def test_whole_model_against_the_complex_step(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    robot = random_tree(rng, n, points=True)
    model = Model(robot, terms(robot))
    columns = packed_columns(model, base_parameters(model))  # some parameters are not kept
    x = random_states(rng, n, 9)
    kept = list(columns.base.kept)

    def both(*y: np.ndarray) -> np.ndarray:
        return np.concatenate([complex_dynamics.rigid_regressor(robot, *y), complex_terms(robot, *y)], axis=2)[
            :, :, kept
        ]

    rows = state_rows(columns, *x)
    dense = both(*x.astype(complex)).real
    assert np.abs(dense - regressor(model, *x)[:, :, kept]).max() < 1e-11 * np.abs(dense).max()
    weights = np.zeros_like(dense)
    for j, ((start, stop), own) in enumerate(zip(columns.span, columns.parameters, strict=True)):
        assert np.abs(rows[:, start : stop - 1] - dense[:, j, list(own)]).max() < 1e-12 * np.abs(dense).max()
        weights[:, j, list(own)] = rng.normal(size=(9, len(own)))
    packed = packed_weights(columns.span, columns.parameters, weights, columns.width)
    assert close(pull_back(columns, *x, packed), complex_step(both, weights, x)) < 1e-10


def test_every_joint_term_alone_against_the_complex_step_and_differences() -> None:
    rng = np.random.default_rng(3)
    robot = random_tree(rng, 5)
    x = random_states(rng, 5, 30)
    for term in terms(robot):
        entries = each.entries(term, robot)
        weights = rng.normal(size=(len(entries), 30))
        found = each.pull_back(term, robot, *x, weights)
        whole = np.empty_like(found)
        for order in range(3):
            for j in range(5):
                ahead, behind = x.copy(), x.copy()
                ahead[order, :, j] += 1e-5
                behind[order, :, j] -= 1e-5
                change = each.columns(term, robot, *ahead) - each.columns(term, robot, *behind)
                whole[order, :, j] = (weights * change).sum(axis=0) / 2e-5
        assert np.abs(found - whole).max() < 1e-6
        at = Model(robot, (term,)).term_entries
        dense = np.zeros((30, 5, len(each.names(term, robot))))
        for e, (j, k) in enumerate(at):
            dense[:, j, k - 50] = weights[e]
        first = sum(len(each.names(t, robot)) for t in terms(robot)[: terms(robot).index(term)])
        own = slice(first, first + dense.shape[2])
        wanted = complex_step(lambda *y, own=own: complex_terms(robot, *y)[:, :, own], dense, x)
        assert np.abs(found - wanted).max() < 1e-10 * max(np.abs(wanted).max(), 1.0)


def test_the_sign_has_no_slope() -> None:
    rng = np.random.default_rng(4)
    robot = random_tree(rng, 4)
    x = random_states(rng, 4, 50)
    for term in (Coulomb(0.1), Coulomb(joints=robot.joint_names[:2])):
        assert not each.pull_back(term, robot, *x, rng.normal(size=(len(each.entries(term, robot)), 50))).any()
    *_, motor = coupled_drive("motor", shares(4))  # with the sign instead of tanh
    assert not each.pull_back(motor, robot, *x, rng.normal(size=(len(each.entries(motor, robot)), 50))).any()


def test_regressor_against_differences() -> None:
    rng = np.random.default_rng(6)
    for n in (1, 3, 7):
        robot = random_tree(rng, n, points=True)
        model = Model(robot, terms(robot))
        columns = packed_columns(model, base_parameters(model))
        x = random_states(rng, n, 17)
        weights = rng.normal(size=(17, columns.width))
        for _, stop in columns.span:
            weights[:, stop - 1] = 0.0
        weights[:, -1] = 0.0
        found = pull_back(columns, *x, weights.copy())
        wanted = np.empty_like(found)
        for order in range(3):
            for j in range(n):
                ahead, behind = x.copy(), x.copy()
                ahead[order, :, j] += 1e-5
                behind[order, :, j] -= 1e-5
                change = state_rows(columns, *ahead)[:, :-1] - state_rows(columns, *behind)[:, :-1]
                for _, stop in columns.span:
                    change[:, stop - 1] = 0.0  # torques: not written here
                wanted[order, :, j] = (weights[:, :-1] * change).sum(axis=1) / 2e-5
        assert close(found, wanted) < 1e-6


def test_linear_in_the_weights() -> None:
    rng = np.random.default_rng(7)
    robot = random_tree(rng, 4)
    columns = packed_columns(Model(robot), base_parameters(Model(robot)))
    x = random_states(rng, 4, 70)
    a, b = rng.normal(size=(2, 70, columns.width))
    both = pull_back(columns, *x, a + 3.0 * b)
    assert close(pull_back(columns, *x, a.copy()) + 3.0 * pull_back(columns, *x, b.copy()), both) < 1e-12


def test_arrays_that_are_not_contiguous() -> None:
    rng = np.random.default_rng(8)
    robot = random_tree(rng, 4)
    columns = packed_columns(Model(robot, (Viscous(),)), base_parameters(Model(robot, (Viscous(),))))
    wide = random_states(rng, 8, 40)
    weights = rng.normal(size=(20, columns.width))
    views, copies = wide[:, ::2, ::2], wide[:, ::2, ::2].copy()
    kept = weights.copy()
    assert np.array_equal(pull_back(columns, *views, weights), pull_back(columns, *copies, weights))
    assert np.array_equal(weights, kept)  # the caller's weights stay as they are
    assert np.array_equal(state_rows(columns, *views)[:, :-1], state_rows(columns, *copies)[:, :-1])
