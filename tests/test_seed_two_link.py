"""The two point-mass pendulum term by term, and the cost of Lagrange's equations and of Newton-Euler."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

from ident.dynamics import inverse_dynamics

FOLDER = Path(__file__).parents[1] / "experiments" / "seed_two_link"


def script(name: str):
    spec = importlib.util.spec_from_file_location(f"seed_two_link_{name}", FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


two_link, cost = script("two_link"), script("cost")


def test_every_term_is_idents():
    rng = np.random.default_rng(1)
    for _ in range(50):
        p, theta = two_link.Pendulum(*rng.uniform(0.1, 3, 4)), rng.uniform(-np.pi, np.pi, 2)
        closed, found = two_link.terms(p, theta), two_link.ident_terms(p, theta)
        assert closed.keys() == found.keys() == two_link.WHAT.keys()
        scale = max(abs(x) for x in closed.values())
        for name, value in closed.items():
            assert found[name] == pytest.approx(value, abs=1e-13 * scale), name


def test_values_of_the_readme():
    found = two_link.terms(two_link.Pendulum(), np.radians([40.0, 65.0]))
    wanted = [3.122142, 0.628571, 0, -0.543785, -1.087569, 24.762889, 0.628571, 0.375, 0.543785, 0, 0, 7.106799]
    np.testing.assert_allclose(list(found.values()), wanted, atol=6e-7)
    assert two_link.largest_difference(200) < 1e-13


def test_both_equations_follow_from_the_lagrangian():
    """Derived anew by sympy: d/dt dL/dvel - dL/dtheta with the page's L, the velocities from its coordinates."""
    import sympy as sp

    t = sp.symbols("t")
    a, b = (sp.Function(name)(t) for name in ("a", "b"))
    p = two_link.Pendulum(1.3, 0.7, 0.9, 0.4)
    m1, m2, d1, d2, g = (sp.Rational(str(x)) for x in (p.m1, p.m2, p.d1, p.d2, two_link.G))
    x1, y1 = d1 * sp.sin(a), -d1 * sp.cos(a)
    x2, y2 = x1 + d2 * sp.sin(a + b), y1 - d2 * sp.cos(a + b)
    kinetic = sum(m * (x.diff(t) ** 2 + y.diff(t) ** 2) / 2 for m, x, y in ((m1, x1, y1), (m2, x2, y2)))
    L = kinetic - g * (m1 * y1 + m2 * y2)
    equations = [L.diff(q.diff(t)).diff(t) - L.diff(q) for q in (a, b)]
    rng = np.random.default_rng(2)
    for _ in range(5):
        theta, vel, acc = rng.normal(size=(3, 2))
        values = {}
        for q, *numbers in zip((a, b), acc, vel, theta, strict=True):
            values |= dict(zip((q.diff(t, 2), q.diff(t), q), numbers, strict=True))
        derived = [float(e.subs(values)) for e in equations]
        np.testing.assert_allclose(two_link.torque(p, theta, vel, acc), derived, rtol=1e-12)


@pytest.mark.parametrize("method", list(cost.METHODS))
def test_all_five_algorithms_give_idents_torques(method):
    for n in (2, 3, 5, 9, 12):
        right = inverse_dynamics(*cost.robot(n), *(x[None] for x in cost.state(n)))[0]
        np.testing.assert_allclose(cost.torque(method, n), right, rtol=0, atol=1e-13 * np.abs(right).max())


@pytest.mark.parametrize(
    ("method", "order", "at_six"),
    [
        ("Lagrange as written", 4, (73030, 56176)),
        ("Lagrange, inner sums first", 3, (6025, 4832)),
        ("Lagrange, Waters", 2, (3780, 2976)),
        ("Lagrange, recursive", 1, (2363, 1930)),
        ("Newton-Euler", 1, (670, 545)),
    ],
)
def test_the_number_of_operations_is_a_polynomial_of_the_claimed_degree(method, order, at_six):
    assert cost.METHODS[method][1] == order
    counts = [cost.operations(method, n) for n in range(2, 9)]
    assert counts[4] == at_six
    for one in zip(*counts, strict=True):
        assert cost.degree(list(one)) == order  # at seven values of n: not by construction


def test_numbers_that_count_count():
    a = cost.counting(np.arange(4.0).reshape(2, 2))
    cost.Counted.multiplications = cost.Counted.additions = 0
    product = a @ a
    assert (cost.Counted.multiplications, cost.Counted.additions) == (8, 4)
    assert [[x.value for x in row] for row in product] == [[2, 3], [6, 11]]
    _ = 2.0 * a[0, 1] - (1.0 - a[1, 1]) + (-a[0, 0])
    assert (cost.Counted.multiplications, cost.Counted.additions) == (9, 7)


def test_a_polynomial_of_a_higher_degree_is_seen():
    assert cost.degree([n**3 for n in range(2, 9)]) == 3
    assert cost.degree([7, 7, 7]) == 0
