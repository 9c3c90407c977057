"""The steps of seed 004 from a particle to the inertia tensor, each against another way."""

from __future__ import annotations

import importlib.util
import sys

import numpy as np
import pytest
from logs_data import ROOT

from ident.dynamics import inverse_dynamics
from ident.robot import MDHJoint, from_mdh
from ident.spatial.inertia import from_com, rpy

spec = importlib.util.spec_from_file_location(
    "seed_principles", ROOT / "experiments" / "seed_principles" / "principles.py"
)
principles = importlib.util.module_from_spec(spec)
sys.modules[spec.name] = principles
spec.loader.exec_module(principles)

ROD = principles.Rod()
MASSES = np.array([ROD.m1, ROD.m2])


def test_a_particle_is_a_prismatic_joint():
    slide = from_mdh("slide", [MDHJoint(kind="prismatic")])
    force = inverse_dynamics(slide, [[2.0, 0, 0, 0, 0, 0, 0, 0, 0, 0]], [[0.4]], [[1.0]], [[3.0]])
    assert principles.particle_force(2.0, 3.0) == pytest.approx(force[0, 0], rel=1e-14) == 25.62


def test_virtual_displacements_are_all_that_the_rod_allows_and_its_force_does_no_work():
    rng = np.random.default_rng(0)
    for _ in range(20):
        q = rng.normal(size=5)
        r, moved = principles.places(ROD, q), principles.virtual_displacements(ROD, q)
        e = r[0] - r[1]
        assert e @ e == pytest.approx(ROD.length**2, rel=1e-14)
        for j in range(5):  # the slopes of the places
            step = 1e-6 * np.eye(5)[j]
            slope = (principles.places(ROD, q + step) - principles.places(ROD, q - step)) / 2e-6
            np.testing.assert_allclose(moved[j], slope, atol=1e-9)
        np.testing.assert_allclose((moved[:, 0] - moved[:, 1]) @ e, 0, atol=1e-15)
        assert np.linalg.matrix_rank(moved.reshape(5, 6)) == 5


def test_the_rods_pull_keeps_its_length_and_is_that_of_the_spin():
    rng = np.random.default_rng(1)
    for _ in range(20):
        q, qd = rng.normal(size=(2, 5))
        r, moved = principles.places(ROD, q), principles.virtual_displacements(ROD, q)
        v = np.einsum("jik,j->ik", moved, qd)
        a, pull = principles.free_rod(ROD, r, v)
        e, u = r[0] - r[1], v[0] - v[1]
        assert e @ (a[0] - a[1]) + u @ u == pytest.approx(0, abs=1e-12)
        forces = MASSES[:, None] * (a + np.array([0, 0, principles.G]))
        np.testing.assert_allclose(forces[0], -pull * e / ROD.length, atol=1e-12)
        np.testing.assert_allclose(forces.sum(axis=0), 0, atol=1e-12)  # the centre of mass falls freely
        np.testing.assert_allclose(np.einsum("ik,jik->j", forces, moved), 0, atol=1e-14 * (1 + pull))
        spin = np.linalg.norm(np.cross(e, u)) / ROD.length**2
        assert pull == pytest.approx(ROD.m1 * ROD.m2 / (ROD.m1 + ROD.m2) * ROD.length * spin**2, rel=1e-12)
    share = ROD.length * np.array([[ROD.m2], [-ROD.m1]]) / MASSES.sum()
    _, pull = principles.free_rod(ROD, share * [1.0, 0, 0], share * [0, 4.0, 0])
    assert pull == pytest.approx(13.44, rel=1e-12)  # the README's


def test_a_coin_comes_back_to_its_angles_but_not_to_its_place():
    radius, rolled, turned, steps = 0.1, np.pi, np.pi / 2, 1000
    place, heading = np.zeros(2), 0.0
    for roll, turn in ((rolled, 0), (0, turned), (-rolled, 0), (0, -turned)):
        for _ in range(steps):
            place = place + radius * roll / steps * np.array([np.cos(heading), np.sin(heading)])
            heading += turn / steps
    assert abs(heading) < 1e-12
    np.testing.assert_allclose(principles.coin(radius, rolled, turned), place, atol=1e-12)
    assert np.linalg.norm(place) == pytest.approx(0.444, abs=3e-4)


def test_virtual_work_holds_the_ladder():
    for angle in np.radians([5.0, 30.0, 60.0, 89.0]):
        held = principles.ladder_hold(ROD, angle)
        assert principles.ladder_with_forces(ROD, angle, 0.0, held)["acceleration"] == pytest.approx(0, abs=1e-11)
        assert held == pytest.approx(-ROD.m1 * principles.G / np.tan(angle), rel=1e-14)
    angle = np.radians(60.0)
    forces = principles.ladder_with_forces(ROD, angle, 0.0, principles.ladder_hold(ROD, angle))
    assert [forces[k] for k in ("wall", "floor", "thrust")] == pytest.approx([11.328, 49.05, 22.655], abs=6e-4)


def test_dalemberts_equation_is_newtons_four_and_sympys_euler_lagrange():
    import sympy as sp

    t = sp.symbols("t")
    x = sp.Function("x")(t)
    m1, m2, length, g = (sp.Rational(str(value)) for value in (ROD.m1, ROD.m2, ROD.length, principles.G))
    y1, x2 = length * sp.sin(x), length * sp.cos(x)
    L = (m1 * y1.diff(t) ** 2 + m2 * x2.diff(t) ** 2) / 2 - m1 * g * y1
    equation = L.diff(x.diff(t)).diff(t) - L.diff(x)
    solved = sp.lambdify((x, x.diff(t)), sp.solve(equation, x.diff(t, 2))[0])
    rng = np.random.default_rng(2)
    for _ in range(20):
        angle, rate = rng.uniform(0.1, 1.4), rng.normal(0, 3)
        found = principles.ladder_acceleration(ROD, angle, rate)
        assert found == pytest.approx(principles.ladder_with_forces(ROD, angle, rate)["acceleration"], rel=1e-12)
        assert found == pytest.approx(solved(angle, rate), rel=1e-12)
    assert principles.ladder_acceleration(ROD, np.radians(60.0), 0.0) == pytest.approx(-5.0961, abs=6e-5)


def test_the_falling_ladder_keeps_its_energy():
    angle, rate = principles.ladder_fall(ROD, np.radians(80.0), 0.5)
    kinetic = ROD.length**2 * rate**2 * (ROD.m1 * np.cos(angle) ** 2 + ROD.m2 * np.sin(angle) ** 2) / 2
    energy = kinetic + ROD.m1 * principles.G * ROD.length * np.sin(angle)
    np.testing.assert_allclose(energy, energy[0], rtol=1e-9)
    assert kinetic[-1] > 0.1


@pytest.mark.slow
def test_the_tensor_is_that_of_exact_integrals():
    import sympy as sp

    x, y, z = sp.symbols("x y z")
    (a, b, c), (low, high) = ([sp.Rational(str(v)) for v in values] for values in principles.WEDGE)
    density = low + (high - low) * z / c

    def integral(f):
        inner = sp.integrate(sp.expand(f * density), (y, 0, b * (1 - x / a)))
        return float(sp.integrate(sp.expand(inner), (x, 0, a), (z, 0, c)))

    points, masses = principles.wedge_points(*principles.WEDGE)
    found = principles.tensor(points, masses)
    exact = [y**2 + z**2, x**2 + z**2, x**2 + y**2, -x * y, -x * z, -y * z]
    wanted = [integral(f) for f in exact]
    entries = [found[i] for i in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))]
    np.testing.assert_allclose(entries, wanted, rtol=1e-13)
    np.testing.assert_allclose(entries, [0.065, 0.115, 0.13, -0.03, -0.035, -0.0233333], rtol=1e-5)  # the README's
    assert masses.sum() == pytest.approx(integral(sp.Integer(1)), rel=1e-14) == pytest.approx(6.0)
    # parallel axes, by ident
    centre = masses @ points / masses.sum()
    about = principles.tensor(points - centre, masses)
    moved = from_com(masses.sum(), centre, about)
    np.testing.assert_allclose(moved[4:], found[np.triu_indices(3)], rtol=1e-12)
    assert about[0, 1] == pytest.approx(0.01, rel=1e-12)


def test_products_vanish_with_the_mirror_image_beside_it():
    points, masses = principles.wedge_points(*principles.WEDGE)
    both = principles.tensor(np.vstack([points, points * [1, -1, 1]]), np.tile(masses, 2))
    np.testing.assert_allclose(both[[0, 1], [1, 2]], 0, atol=1e-17)
    assert both[0, 2] == pytest.approx(2 * -0.035, rel=1e-12)


def test_a_turned_tensor_and_the_energy_of_a_thrown_body():
    rng = np.random.default_rng(3)
    points, masses = principles.wedge_points(*principles.WEDGE)
    arms = points - masses @ points / masses.sum()
    I, R = principles.tensor(arms, masses), rpy(*rng.normal(size=3))  # noqa: E741
    np.testing.assert_allclose(principles.tensor(arms @ R.T, masses), R @ I @ R.T, atol=1e-15)
    v, w = rng.normal(size=(2, 3))
    moving = v + np.cross(w, arms @ R.T)
    energy = masses.sum() * v @ v / 2 + w @ R @ I @ R.T @ w / 2
    assert (masses * (moving**2).sum(axis=1)).sum() / 2 == pytest.approx(energy, rel=1e-13)
