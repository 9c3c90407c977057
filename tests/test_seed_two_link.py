"""The two point-mass pendulum term by term, and the cost of Lagrange, Newton-Euler, Kane and Gauss."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

from ident.dynamics import forward_dynamics, inverse_dynamics

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


@pytest.mark.slow
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


@pytest.mark.slow
@pytest.mark.parametrize("method", ["newton_euler", "kane", "gauss"])
def test_each_method_on_symbols_gives_the_closed_form(method):
    import sympy as sp

    found = two_link.symbolic_terms(method)
    p, theta = two_link.Pendulum(1.3, 0.7, 0.9, 0.4), (0.3, -1.1)
    values = dict(
        zip(["m1", "m2", "d1", "d2", "g", "t1", "t2"], (p.m1, p.m2, p.d1, p.d2, two_link.G, *theta), strict=True)
    )
    closed = two_link.terms(p, np.array(theta))
    assert found.keys() == closed.keys()
    for name, term in found.items():
        number = term.subs({x: values[x.name] for x in term.free_symbols})
        assert float(number) == pytest.approx(closed[name], rel=1e-13, abs=1e-14), name
    d1, d2, m2, t2 = (*sp.symbols("d1 d2 m2", positive=True), sp.Symbol("t2"))
    assert found["D112"] == -2 * d1 * d2 * m2 * sp.sin(t2)
    assert found["D212"] == 0


def test_gauss_in_the_masses_coordinates_gives_motion_and_the_pull_of_the_rods():
    rng = np.random.default_rng(3)
    for _ in range(30):
        p = two_link.Pendulum(*rng.uniform(0.3, 2, 4))
        theta, vel, tau = rng.uniform(-np.pi, np.pi, 2), rng.normal(size=2), rng.normal(size=2)
        acc, pull = two_link.in_coordinates(p, theta, vel, tau)
        scale = np.abs(two_link.torque(p, theta, 0 * vel, np.abs(acc))).max() + np.abs(tau).max()
        np.testing.assert_allclose(two_link.torque(p, theta, vel, acc), tau, atol=1e-12 * scale)
        # Newton along rod 2, with the acceleration of its end from the angles
        e1, e2 = ([np.cos(x), np.sin(x)] for x in np.cumsum(theta))
        w, al = np.cumsum(vel), np.cumsum(acc)
        a2 = sum(
            d * (al[k] * np.array([-e[1], e[0]]) - w[k] ** 2 * np.array(e))
            for k, (d, e) in enumerate(((p.d1, e1), (p.d2, e2)))
        )
        along = p.m2 * (two_link.G * e2[0] - a2 @ e2)
        assert pull[1] == pytest.approx(along, abs=1e-12 * scale / min(p.d1, p.d2))
    _, pull = two_link.in_coordinates(two_link.Pendulum(), np.radians([40.0, 65.0]), np.array([1.0, -2.0]), np.zeros(2))
    np.testing.assert_allclose(pull, [18.204, 3.726], atol=6e-4)  # the README's


def test_kane_drives_a_closed_chain():
    """The crank's torque is the change of energy with its angle, and under it Gauss finds the crank unaccelerated."""
    p, rate = two_link.Pendulum(d1=0.5, d2=0.8), 3.0

    def energy(angle):
        theta, vel, _, _ = two_link.slider_crank(p, angle, rate)
        e, w = np.cumsum(theta), np.cumsum(vel)
        v1 = p.d1 * w[0] * np.array([-np.sin(e[0]), np.cos(e[0])])
        v2 = v1 + p.d2 * w[1] * np.array([-np.sin(e[1]), np.cos(e[1])])
        assert abs(v2[1]) < 1e-14  # the guide holds
        x1 = p.d1 * np.cos(e[0])
        height = p.m1 * x1 + p.m2 * (x1 + p.d2 * np.cos(e[1]))
        return (p.m1 * v1 @ v1 + p.m2 * v2 @ v2) / 2 - two_link.G * height

    for angle in np.radians([-100.0, -20.0, 40.0, 130.0, 179.0]):
        theta, vel, acc, drive = two_link.slider_crank(p, angle, rate)
        h = 1e-3
        slope = (8 * (energy(angle + h) - energy(angle - h)) - energy(angle + 2 * h) + energy(angle - 2 * h)) / (12 * h)
        assert drive == pytest.approx(slope, abs=1e-8)
        found, _ = two_link.in_coordinates(p, theta, vel, np.array([drive, 0.0]), guided=True)
        np.testing.assert_allclose(found, acc, atol=1e-11)
    theta, vel, _, drive = two_link.slider_crank(p, np.radians(40.0), rate)
    assert drive == pytest.approx(16.684555, abs=6e-7)  # the README's
    guide = two_link.in_coordinates(p, theta, vel, np.array([drive, 0.0]), guided=True)[1][2]
    assert guide == pytest.approx(9.303, abs=6e-4)


@pytest.mark.parametrize("n", [2, 3, 5, 9, 12])
@pytest.mark.parametrize("method", list(cost.ALL))
def test_every_algorithm_gives_idents_torques_or_motion(method, n):
    (robot, bodies), states = cost.robot(n), [x[None] for x in cost.state(n)]
    right = (inverse_dynamics if method in cost.METHODS else forward_dynamics)(robot, bodies, *states)[0]
    np.testing.assert_allclose(cost.solved(method, n), right, rtol=0, atol=1e-12 * np.abs(right).max())


def test_gauss_of_free_links_gives_the_forces_in_the_joints():
    """A joint carries what the links beyond it resist, by the accelerations of the motion found."""
    n, algorithms = 6, cost.algorithms
    q, qd, tau = cost.state(n)
    arm = cost.arm(n, q)
    qdd, multipliers = algorithms.gauss_free(arm, qd, tau)
    resisted = [m * link.a for m, link in zip(arm.m, algorithms.moving(arm, qd, qdd), strict=True)]
    carried = np.cumsum(resisted[::-1], axis=0)[::-1]
    np.testing.assert_allclose(-multipliers[:, :3], carried, atol=1e-11 * np.abs(carried).max())


def test_any_other_acceleration_makes_gausss_constraint_larger():
    n, rng = 5, np.random.default_rng(4)
    q, qd, tau = cost.state(n)
    arm, best = cost.arm(n, q), cost.solved("Gauss, link by link", n)
    least = cost.algorithms.constraint(arm, qd, best, tau)
    for size in (1e-3, 1.0, 100.0):
        for _ in range(20):
            assert cost.algorithms.constraint(arm, qd, best + size * rng.normal(size=n), tau) > least


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "order", "at_six"),
    [
        ("Lagrange as written", 4, (73030, 56176)),
        ("Lagrange, inner sums first", 3, (6025, 4832)),
        ("Lagrange, Waters", 2, (3780, 2976)),
        ("Lagrange, recursive", 1, (2363, 1930)),
        ("Newton-Euler", 1, (670, 545)),
        ("Kane, joint by link", 2, (1421, 1140)),
        ("Kane, gathered", 1, (1262, 1008)),
        ("Newton-Euler, n + 1 times", 3, (4800, 3906)),
        ("Gauss, free links", 3, (101593, 98998)),
        ("Gauss, joints", 3, (2325, 1897)),
        ("Gauss, link by link", 1, (2614, 2274)),
    ],
)
def test_the_number_of_operations_is_a_polynomial_of_the_claimed_degree(method, order, at_six):
    assert cost.ALL[method][1] == order
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
