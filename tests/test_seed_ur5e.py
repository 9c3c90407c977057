"""The simplified UR5e of the page: formulas against derivations, contradictions and errors as the README has them."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

from ident.cad import read_cad, require_consistent
from ident.dynamics import coriolis_matrix, gravity_load, inverse_dynamics, jacobian, mass_matrix
from ident.robot import read_robot

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "experiments" / "seed_ur5e"


def script(name: str):
    spec = importlib.util.spec_from_file_location(f"seed_ur5e_{name}", FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


sweep, control = script("sweep"), script("control")
page = sweep.page


def states(samples: int = 300, seed: int = 5) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(seed)
    return rng.uniform(-np.pi, np.pi, (samples, 3)), rng.normal(0, 1, (samples, 3)), rng.normal(0, 2, (samples, 3))


# ---- the data set --------------------------------------------------------------------------------------------------


def test_the_data_set_is_the_manufacturers():
    robot = read_robot(ROOT / "datasets" / "ur5e" / "robot.toml")
    cad = read_cad(ROOT / "datasets" / "ur5e" / "cad.csv", robot.links)
    require_consistent(cad)
    parameters = cad.for_robot(robot)
    np.testing.assert_allclose(parameters[:, 0], [3.761, 8.058, 2.846, 1.37, 1.3, 0.365])
    centres = [[0, -0.02561, 0.00193], [0.2125, 0, 0.11336], [0.15, 0, 0.0265]]
    centres += [[0, -0.0018, 0.01634], [0, 0.0018, 0.01634], [0, 0, -0.001159]]
    np.testing.assert_allclose(parameters[:, 1:4] / parameters[:, :1], centres, atol=1e-15)
    # stretched along -x: the sums of the table's lengths
    flange = robot.poses(np.zeros(6))[5].position
    np.testing.assert_allclose(flange, [-0.425 - 0.3922, -0.1333 - 0.0996, 0.1625 - 0.0997], atol=1e-12)
    up = robot.poses(np.radians([0, -90, 0, 0, 0, 0]))[2].position
    np.testing.assert_allclose(up, [0, 0, 0.1625 + 0.425 + 0.3922], atol=1e-12)


def test_the_constants_are_those_of_the_data_set():
    robot, parameters = page.ur5e()
    np.testing.assert_allclose([page.M2, page.M3, page.ME], [*parameters[1:3, 0], parameters[3:, 0].sum()])
    z = np.zeros(6)
    np.testing.assert_allclose(robot.poses(z)[2].position, [-page.L2 - page.L3, 0, page.D1], atol=1e-12)


# ---- the formulas --------------------------------------------------------------------------------------------------


def test_the_formulas_equal_ident_on_the_equivalent_arm():
    q, qd, qdd = states()
    arm = page.equivalent()
    inertia, velocity, gravity = page.parts(q, qd, qdd)
    np.testing.assert_allclose(inertia, np.einsum("sij,sj->si", mass_matrix(*arm, q), qdd), atol=1e-12)
    np.testing.assert_allclose(gravity, gravity_load(*arm, q), atol=1e-12)
    # joints 2 and 3 alone: with joint 1 at rest
    still = qd * [0, 1, 1]
    exact = np.einsum("sij,sj->si", coriolis_matrix(*arm, q, still), still)
    np.testing.assert_allclose(velocity, exact, atol=1e-12)
    # what is forgotten when it is not: half the slope of the inertia about axis 1, on both sides
    lost = np.einsum("sij,sj->si", coriolis_matrix(*arm, q, qd), qd) - velocity
    h = 1e-6
    slope = np.stack(
        [
            (page.single_link(page.theta_of(q + h * e)) - page.single_link(page.theta_of(q - h * e))) / (2 * h)
            for e in np.eye(3)
        ],
        -1,
    )
    wanted = -0.5 * slope * qd[:, :1] ** 2
    wanted[:, 0] = (slope * qd).sum(axis=1) * qd[:, 0]
    np.testing.assert_allclose(lost, wanted, atol=1e-7)


@pytest.mark.slow
def test_the_formulas_follow_from_the_page_velocities():
    """Lagrange's equations by sympy from the page's v2, v3, ve and potential energies, rods integrated."""
    import sympy as sp

    t, r = sp.symbols("t r")
    a, b = (sp.Function(name)(t) for name in ("a", "b"))
    l2, l3, m2, m3, me, g = (sp.Float(x, 30) for x in (page.L2, page.L3, page.M2, page.M3, page.ME, page.G))

    def squared(along, first):
        x, y = first * sp.cos(a) + along * sp.cos(a + b), first * sp.sin(a) + along * sp.sin(a + b)
        return sp.expand(x.diff(t) ** 2 + y.diff(t) ** 2)

    kinetic = m2 / l2 * sp.integrate((r * a.diff(t)) ** 2, (r, 0, l2)) / 2
    kinetic += m3 / l3 * sp.integrate(squared(r, l2), (r, 0, l3)) / 2 + me * squared(l3, l2) / 2
    potential = m2 * g * l2 * sp.sin(a) / 2 + m3 * g * (l2 * sp.sin(a) + l3 * sp.sin(a + b) / 2)
    potential += me * g * (l2 * sp.sin(a) + l3 * sp.sin(a + b))
    L = kinetic - potential
    equations = [L.diff(x.diff(t)).diff(t) - L.diff(x) for x in (a, b)]
    for q, qd, qdd in zip(*states(4, 1), strict=True):
        theta = page.theta_of(q)
        at = [(a.diff(t, 2), -qdd[1]), (b.diff(t, 2), -qdd[2]), (a.diff(t), -qd[1]), (b.diff(t), -qd[2])]
        at += [(a, theta[1]), (b, theta[2])]
        derived = [float(e.subs(at).evalf()) for e in equations]
        formulas = sum(page.parts(q[None], qd[None], qdd[None]))[0]
        np.testing.assert_allclose(-formulas[1:], derived, rtol=1e-10, atol=1e-10)


def test_the_inertia_about_axis_1_follows_from_the_page_definition():
    """Integral of the squared distance over both rods; so E2 and E3 with l3' = l3 c23, and Ee."""
    x, weight = np.polynomial.legendre.leggauss(8)
    x, weight = (x + 1) / 2, weight / 2
    for theta in page.theta_of(states(20)[0]):
        c2, c23 = np.cos(theta[1]), np.cos(theta[1] + theta[2])
        rods = page.M2 * weight @ (x * page.L2 * c2) ** 2
        rods += page.M3 * weight @ (page.L2 * c2 + x * page.L3 * c23) ** 2
        point = page.ME * (page.L2 * c2 + page.L3 * c23) ** 2
        assert page.single_link(theta) == pytest.approx(rods + point, rel=1e-12)
        assert page.single_link(theta, "as printed") == pytest.approx(rods, rel=1e-12)


def test_the_jacobian_is_that_of_the_end_of_link_3_of_the_real_arm():
    q = states()[0]
    robot, _ = page.ur5e()
    exact = jacobian(robot, np.hstack([q, np.zeros_like(q)]), "link3")[:, :3, :3]
    np.testing.assert_allclose(page.code_jacobian(q), exact, atol=1e-14)
    wrist = page.position(page.theta_of(q[0])) + np.array([0, 0, page.D1])
    np.testing.assert_allclose(wrist, robot.poses(np.append(q[0], np.zeros(3)))[2].position, atol=1e-14)


# ---- contradictions ------------------------------------------------------------------------------------------------


def test_the_code_has_the_inertia_torque_of_joints_2_and_3_the_wrong_way():
    q, qd, qdd = states()
    inertia, velocity, gravity = page.parts(q, qd, qdd, single="code")
    code = page.code_torque(q, qd, qdd)
    np.testing.assert_allclose(code[:, 1:], (velocity + gravity - inertia)[:, 1:], atol=1e-12)
    flipped = page.code_torque(q, qd, qdd * [1, -1, -1])  # a caller who flips the sign
    np.testing.assert_allclose(flipped[:, 1:], (velocity + gravity + inertia)[:, 1:], atol=1e-12)
    off, part = sweep.code_errors()
    np.testing.assert_allclose(off[1:], [11.169, 4.347], atol=2e-3)
    np.testing.assert_allclose(part[1:], [5.584, 2.173], atol=2e-3)


def test_the_four_inertias_about_axis_1_differ_as_in_the_readme():
    found = sweep.single_link_versions()
    assert found["as printed"] == pytest.approx((-49.5, 68.1), abs=0.06)
    assert found["energies"] == pytest.approx((-4.8, 25.9), abs=0.06)
    assert found["code"] == pytest.approx((-16.1, 82.6), abs=0.06)
    straight = np.array([0.3, 0.0, 0.0])  # stretched level arm: c3 = c23, so only m_e can be missing
    assert page.single_link(straight, "code") == page.single_link(straight) == page.single_link(straight, "energies")
    assert page.single_link(straight, "as printed") == pytest.approx(
        page.single_link(straight) - page.ME * (page.L2 + page.L3) ** 2
    )


# ---- errors over the workspace -------------------------------------------------------------------------------------

README = {
    "link 1 dropped": [0.013, 0, 0, 0, 0, 0, 0, 0, 0],
    "links 4-6 a point at the end of link 3": [0.516, 0.528, 0, 0.570, 0.208, 1.321, 0.413, 0.166, 1.321],
    "links 2, 3 uniform rods": [0.156, 0.121, 0, 0.276, 0.137, 0.907, 0.198, 0.107, 0.907],
    "planes' offsets dropped": [0.781, 0.706, 0, 0.660, 0, 0, 0.252, 0, 0],
    "joint 1 not coupled with 2, 3": [0.715, 2.162, 0, 0.660, 1.512, 0, 0.252, 0.855, 0],
    "all: the page's formulas": [0.894, 2.162, 0, 0.854, 1.522, 1.594, 0.494, 0.882, 1.594],
    "not the page's: no tensors": [0.220, 0.083, 0, 0.353, 0.068, 0, 0.119, 0.021, 0],
}


@pytest.mark.slow
def test_errors_of_each_simplification_are_those_of_the_readme():
    full, found = sweep.errors()
    wanted = [3.605, 2.162, 0, 5.937, 2.211, 34.281, 2.461, 1.508, 13.052]
    np.testing.assert_allclose(full.T.ravel(), wanted, atol=6e-4)
    assert found.keys() == README.keys()
    for name, value in README.items():
        np.testing.assert_allclose(found[name].T.ravel(), value, atol=6e-4, err_msg=name)


def test_the_parts_sum_to_the_torque_and_all_simplifications_together_are_the_page():
    q, qd, qdd = sweep.states(200, seed=4)
    robot, parameters = page.ur5e()
    parts = sweep.torque_parts(robot, parameters, q, qd, qdd)
    torque = inverse_dynamics(robot, parameters, q, qd, qdd)[:, :3]
    np.testing.assert_allclose(sum(parts), torque, atol=1e-10)
    changes = (sweep.uniform_rods, sweep.one_plane, sweep.wrist_as_point, sweep.without_link_1)
    assert set(changes) == set(sweep.ALONE.values())
    for change in changes:  # the point mass after the rods, which replace what is there
        robot, parameters = change(robot, parameters)
    together = sweep.uncoupled(robot, parameters, q, qd, qdd)
    for part, formula in zip(together, page.parts(q[:, :3], qd[:, :3], qdd[:, :3]), strict=True):
        np.testing.assert_allclose(part, formula, atol=1e-10)


# ---- the closed loop -----------------------------------------------------------------------------------------------


def test_the_locked_arm_is_the_six_joint_arm_with_its_wrist_at_rest():
    q, qd, qdd = states(50)
    six = [np.hstack([q, np.tile(control.WRIST, (50, 1))]), *(np.hstack([x, 0 * x]) for x in (qd, qdd))]
    torque = inverse_dynamics(*page.ur5e(), *six)[:, :3]
    np.testing.assert_allclose(inverse_dynamics(*control.locked(), q, qd, qdd), torque, atol=1e-11)


def test_inverse_kinematics_and_slopes():
    t = np.linspace(0, control.DURATION, 50)
    p = control.desired(t)
    q = control.joints_at(p)
    np.testing.assert_allclose(page.position(page.theta_of(q)), p, atol=1e-12)
    velocity, acceleration = control.slopes(np.sin, t)
    np.testing.assert_allclose(velocity, np.cos(t), atol=1e-10)
    np.testing.assert_allclose(acceleration, -np.sin(t), atol=1e-8)


@pytest.fixture(scope="module")
def run():
    """The README's run with five times its step; the figures hold to a hundredth of a mm."""
    return control.simulate(step=5e-3)


@pytest.mark.slow
def test_tracking_errors_are_those_of_the_readme(run):
    found = {name: control.figures(error) for name, error in run[1].items()}
    assert found["PD alone"] == pytest.approx((31.39, 41.70), abs=0.02)
    assert found["PD + simplified model's gravity"] == pytest.approx((7.20, 14.43), abs=0.02)
    assert found["PD + page's code as printed"] == pytest.approx((8.84, 20.19), abs=0.02)
    assert found["PD + simplified model (formulas)"] == pytest.approx((3.97, 6.40), abs=0.02)
    assert found["PD + full model"][1] < 1e-3


@pytest.mark.slow
def test_at_rest_gravity_and_stiffness_balance(run):
    """At the end J^T Kp e is what the feed-forward leaves of the gravity load, at the pose that the arm has sunk to."""
    t, errors = run
    robot, parameters = control.locked()
    wanted = control.desired(t[-1:])
    forwards = control.feed_forwards(t[-1:])
    for name in ("PD alone", "PD + simplified model (formulas)"):
        q = control.joints_at(wanted + errors[name][-1:])
        left = gravity_load(robot, parameters, q) - forwards[name]
        pull = -control.KP * page.code_jacobian(q)[0].T @ errors[name][-1]
        np.testing.assert_allclose(pull, left[0], atol=0.3, err_msg=name)  # N m; the last motion has not died out
