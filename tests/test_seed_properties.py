"""The properties of the equations of motion that seed 004 lists, on random robots."""

from __future__ import annotations

import importlib.util
import re
import sys
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from logs_data import ROOT
from oracles import random_bodies, random_tree
from seeds import cases

from ident.dynamics import christoffel, coriolis_matrix, mass_matrix
from ident.robot import MDHJoint, from_mdh
from ident.spatial.inertia import skew

FOLDER = ROOT / "experiments" / "seed_properties"


def _load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("seed_properties", FOLDER / "properties.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


properties = _load()
NOT_ERRORS = {"D positive definite", "the same of another C", "passive"}


@settings(max_examples=cases(40), derandomize=True)
@given(st.integers(0, 10**6), st.integers(1, 12))
def test_every_property_holds_on_random_trees(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    robot = random_tree(rng, n, points=True)
    found = properties.measure(robot, robot.inertials, rng, states=5)
    assert set(found) == set(properties.PROPERTIES)
    assert found["D positive definite"] > 1e-12
    assert found["passive"] > 0
    assert {k: v for k, v in found.items() if k not in NOT_ERRORS and not v < 1e-10} == {}


@settings(max_examples=cases(15), derandomize=True)
@given(st.integers(0, 10**6), st.integers(1, 8))
def test_every_property_holds_on_random_dh_tables_and_trees(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    robot = properties.random_robot(rng, n)
    found = properties.measure(robot, properties.random_bodies(rng, n), rng, states=5)
    assert found["D positive definite"] > 1e-12
    assert found["passive"] > 0
    assert {k: v for k, v in found.items() if k not in NOT_ERRORS and not v < 1e-10} == {}


def test_another_matrix_with_the_same_torque_is_not_skew() -> None:
    """By as much as the entries are large: the check can fail."""
    rng = np.random.default_rng(0)
    robot = random_tree(rng, 6, branches=False)
    found = properties.measure(robot, robot.inertials, rng)
    assert found["Ddot - 2C skew"] < 1e-12
    assert found["the same of another C"] > 0.1


def test_only_the_symmetry_of_the_symbols_singles_out_the_christoffel_matrix() -> None:
    """With three joints C + [qd]x has the same C qd and leaves Ddot - 2C skew, but c_ijk = c_jik no longer holds."""
    rng = np.random.default_rng(0)
    robot = random_tree(rng, 3, branches=False)
    q, qd = rng.uniform(-3, 3, (1, 3)), rng.normal(size=(1, 3))
    theta = robot.inertials

    def other(v: np.ndarray) -> np.ndarray:
        return coriolis_matrix(robot, theta, q, v[None])[0] + skew(v)

    slopes = properties.slopes(lambda x: mass_matrix(robot, theta, x), robot, q)[:, 0]
    difference = np.einsum("ikj,i->kj", slopes, qd[0]) - 2 * other(qd[0])
    np.testing.assert_allclose(difference, -difference.T, atol=1e-13)
    np.testing.assert_allclose(other(qd[0]) @ qd[0], coriolis_matrix(robot, theta, q, qd)[0] @ qd[0], atol=1e-13)
    first, second = np.eye(3)[:2]
    assert np.abs(other(first) @ second - other(second) @ first).max() > 0.1


def test_bodies_that_cannot_exist_break_only_what_they_must() -> None:
    """With negative masses D is not positive definite, but everything linear still holds."""
    rng = np.random.default_rng(1)
    robot = random_tree(rng, 4)
    found = properties.measure(robot, -robot.inertials, rng)
    assert found["D positive definite"] < 0
    assert found["c_ijk from D"] < 1e-12


def test_a_massless_last_link_leaves_the_mass_matrix_singular() -> None:
    """The seed calls D positive definite for any arm; it needs every joint to move some inertia."""
    rng = np.random.default_rng(2)
    robot = random_tree(rng, 5, branches=False)
    theta = random_bodies(rng, 5)
    theta[-1] = 0.0
    D = mass_matrix(robot, theta, rng.uniform(-3, 3, (20, 5)))
    assert np.abs(D[:, 4]).max() == 0.0
    assert np.linalg.eigvalsh(D[:, :4, :4]).min() > 0


def test_symmetries_hold_to_the_bit() -> None:
    rng = np.random.default_rng(3)
    robot = random_tree(rng, 9, points=True)
    q = rng.uniform(-3, 3, (50, 9))
    D, c = mass_matrix(robot, robot.inertials, q), christoffel(robot, robot.inertials, q)
    np.testing.assert_array_equal(D, D.transpose(0, 2, 1))
    np.testing.assert_array_equal(c, c.transpose(0, 2, 1, 3))


def test_joints_of_different_branches_do_not_couple() -> None:
    for seed in range(10):
        rng = np.random.default_rng(seed)
        robot = random_tree(rng, 8)
        q, qd = rng.uniform(-3, 3, (3, 8)), rng.normal(size=(3, 8))
        chained = np.array([[j in robot.carried_by(i) or i in robot.carried_by(j) for j in range(8)] for i in range(8)])
        assert not chained.all()
        for matrix in (mass_matrix(robot, robot.inertials, q), coriolis_matrix(robot, robot.inertials, q, qd)):
            assert not matrix[:, ~chained].any()
        c = christoffel(robot, robot.inertials, q)
        assert not c[:, ~(chained[:, :, None] & chained[:, None, :] & chained[None, :, :])].any()


def test_christoffel_symbols_of_the_two_link_arm() -> None:
    """Spong, Hutchinson, Vidyasagar, section 7.3: all are 0 or +-h with h = -m2 l1 lc2 sin q2."""
    l1, c2, m2 = 0.7, 0.25, 2.0
    robot = from_mdh("planar", [MDHJoint(), MDHJoint(a=l1)], gravity=(0.0, -9.81, 0.0))
    body = [3.0, 0.9, 0, 0, 0.1, 0, 0, 0.4, 0, 0.4], [m2, m2 * c2, 0, 0, 0.1, 0, 0, 0.3, 0, 0.3]
    q = np.array([[0.3, 0.9], [-1.0, 2.0]])
    expected = np.zeros((2, 2, 2, 2))
    h = -m2 * l1 * c2 * np.sin(q[:, 1])
    expected[:, 0, 1, 0] = expected[:, 1, 0, 0] = expected[:, 1, 1, 0] = h
    expected[:, 0, 0, 1] = -h
    np.testing.assert_allclose(christoffel(robot, body, q), expected, atol=1e-15)


def test_the_script_prints_the_table_of_the_readme(monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    monkeypatch.setattr(sys, "argv", ["properties.py", "6"])
    properties.main()
    rows = [re.split(r" ?\| ?", line)[1:4] for line in capsys.readouterr().out.splitlines() if line.startswith("| ")]
    stored = (FOLDER / "README.md").read_text(encoding="utf-8")
    written = [re.split(r" ?\| ?", line.strip())[1:4] for line in stored.splitlines() if line.strip().startswith("| ")]
    assert [row[:2] for row in rows] == [row[:2] for row in written]
    for name, _, figure in written[1:]:
        assert float(figure) < 1e-10 or name in NOT_ERRORS
