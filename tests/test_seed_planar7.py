"""The seven-link planar arm: two ways to one motion, the balance of energy, the paper's printed terms."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

from ident.dynamics import gravity_load
from ident.simulation import SampledTorque, simulate_fixed

SCRIPT = Path(__file__).parents[1] / "experiments" / "seed_planar7" / "planar7.py"
spec = importlib.util.spec_from_file_location("seed_planar7", SCRIPT)
planar7 = importlib.util.module_from_spec(spec)
sys.modules[spec.name] = planar7
spec.loader.exec_module(planar7)


def test_the_arm_is_the_papers():
    robot, _ = planar7.arm()
    mass, h, moment = robot.inertials[:, 0], robot.inertials[:, 1:4], robot.inertials[:, 9]
    np.testing.assert_array_equal(mass, 2.0)
    np.testing.assert_allclose(h, np.tile([-1.0, 0, 0], (7, 1)))
    np.testing.assert_allclose(moment, 2 / 3)  # m l^2 / 3
    assert gravity_load(robot, robot.inertials, np.zeros((1, 7)))[0, 0] == pytest.approx(14 * 9.81 * 3.5)
    assert np.abs(planar7.by_kernel().tau).max() == pytest.approx(20.0)


@pytest.mark.slow
def test_generated_c_and_kernel_agree():
    q, qd, _ = planar7.by_c()
    run = planar7.by_kernel()
    assert run.stopped is None
    assert q.shape == run.q.shape == (1001, 7)
    np.testing.assert_allclose(q, run.q, rtol=0, atol=1e-9)
    np.testing.assert_allclose(qd, run.qd, rtol=0, atol=1e-9)


def test_rollouts_differ_by_the_sampled_sine_alone():
    batch, run = planar7.by_rollouts(), planar7.by_kernel()
    np.testing.assert_allclose(batch.q[0], run.q, rtol=0, atol=2e-5)
    times = np.arange(planar7.STEPS + 1) * planar7.STEP
    sampled = SampledTorque(times, np.array([planar7.torque(t, *np.zeros((2, 7))) for t in times]))
    same = simulate_fixed(planar7.arm()[1], np.zeros(7), np.zeros(7), planar7.DURATION, planar7.STEP, sampled)
    np.testing.assert_allclose(batch.q[0], same.q, rtol=0, atol=1e-10)


@pytest.mark.slow
def test_work_of_the_torques_is_the_change_of_energy():
    run, halved = planar7.by_kernel(), planar7.by_kernel(planar7.STEP / 2)
    assert np.abs(planar7.residual(run)).max() < 2e-7
    assert np.abs(planar7.residual(run)).max() / np.abs(planar7.residual(halved)).max() == pytest.approx(16, rel=0.1)
    assert planar7.work(run)[-1] == pytest.approx(66.03385, abs=1e-5)
    assert run.kinetic[-1] == pytest.approx(482.9039, abs=1e-4)
    # kinetic energy of points along the rods, by differences of their positions: no library code but the angles
    share = (np.arange(400) + 0.5) / 400
    h = run.t[1] - run.t[0]
    joints = {k: planar7.points(run.q[k]) for k in (799, 801)}
    bodies = {k: p[:-1, None] + share[:, None] * np.diff(p, axis=0)[:, None] for k, p in joints.items()}
    v = (bodies[801] - bodies[799]) / (2 * h)
    assert (v**2).sum() * 2.0 / 400 / 2 == pytest.approx(run.kinetic[800], rel=1e-4)


@pytest.mark.slow
def test_runge_kutta_has_order_four():
    best = planar7.tight().q[-1]
    errors = [np.abs(planar7.by_kernel(step).q[-1] - best).max() for step in (4e-3, 2e-3, 1e-3)]
    assert np.log2(errors[0] / errors[2]) / 2 == pytest.approx(4.0, abs=0.1)
    assert errors[2] < 2e-9


def test_the_readmes_motion():
    run = planar7.by_kernel()
    end = [-80.693, 0.079, 7.544, 6.441, 1.281, 69.957, 27.114]
    np.testing.assert_allclose(np.degrees(run.q[-1]), end, atol=6e-4)
    np.testing.assert_allclose(np.abs(run.qd).max(axis=0), [2.73, 1.90, 3.74, 3.61, 7.15, 6.98, 20.09], atol=6e-3)
    # figures 2 and 3: rapid but continuous; figure 4: the tip falls, pose after pose
    assert np.abs(np.diff(run.q, axis=0)).max() < 0.021
    depth = [planar7.points(run.q[k])[:, 1].mean() for k in range(0, 1001, 250)]
    assert np.all(np.diff(depth) < 0)


@pytest.mark.slow
def test_printed_terms_stand_in_the_mass_matrix_but_for_one():
    found = [planar7.entries(line) for line in planar7.PRINTED]
    assert found[0] == [(1, 3), (1, 4), (2, 3), (2, 4)]
    assert found[1] == []
    assert found[2] == found[4] == [(1, 4), (2, 4), (3, 4)]
    assert len(found[3]) == 10
    assert found[5] == [(1, 5), (2, 5), (3, 5), (4, 5)]
    wrong = "m7a5a7cos(q5+q6)"
    assert planar7.entries(wrong) == []
    assert planar7.entries(planar7.PRINTED[1].replace(wrong, "m7a5a7cos(q6+q7)")) == found[3]


def test_the_closed_form_is_derived_and_has_the_readmes_size():
    assert [planar7.derivation(n)[1] for n in (2, 3, 7)] == [9, 39, 1218]


def test_velocity_terms_vanish_at_low_speed_beside_gravity_but_never_beside_inertia():
    found = {speed: planar7.shares(speed) for speed in (0.1, 0.3, 1.0, 3.0)}
    readme = {0.1: (0.56, 1.7, 0.52, 0.63), 0.3: (5.0, 15, 4.6, 5.7), 1.0: (43, 82, 25, 47), 3.0: (67, 95, 29, 72)}
    for speed, (velocity, inertia) in found.items():
        figures = [100 * f(x) for x in (velocity, inertia) for f in (np.min, np.max)]
        assert figures == pytest.approx(readme[speed], rel=0.02)
        np.testing.assert_allclose(velocity / inertia, np.divide(*found[1.0]), rtol=1e-9)
    ratio = np.divide(*found[1.0])
    assert (ratio.min(), ratio.max()) == pytest.approx((0.93, 3.24), abs=0.01)


@pytest.mark.parametrize(
    ("factors", "figures"), [((1.0, 1.0), (159, 0, 0)), ((0.5, 1.0), (350, 293, 166)), ((1.0, 0.9), (156, 15.5, 39.1))]
)
@pytest.mark.slow
def test_a_wrong_model_stays_smooth_and_only_the_energy_tells(factors, figures):
    found = planar7.mistaken(*factors, step=4e-3)
    np.testing.assert_allclose(found, figures, rtol=0.01, atol=0.02)
