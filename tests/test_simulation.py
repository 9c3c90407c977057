"""Simulations: against closed forms, Pinocchio and MuJoCo; energy, order, friction, limits, controllers, mistakes."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pinocchio as pin
import pytest
from oracles import mjcf, pin_tree, random_bodies, random_tree

from ident.dynamics import inverse_dynamics
from ident.errors import IdentError, InputError, LogError, ModelError
from ident.logs import read_log, read_manifest
from ident.model import (
    Coulomb,
    DriveInertia,
    Model,
    NonlinearViscous,
    Offset,
    SmoothCoulomb,
    Spring,
    Viscous,
    coupled_drive,
    torque,
)
from ident.robot import Joint, Limits, MDHJoint, Robot, from_mdh
from ident.simulation import (
    ComputedTorque,
    Plant,
    SampledTorque,
    Simulation,
    acceleration,
    plant,
    read_torques,
    rollouts,
    simulate,
    simulate_fixed,
    to_frame,
    without_friction,
    write_simulation,
)
from ident.spatial.inertia import Pose, from_com

RIGHT = np.pi / 2
FREE = Limits()


def arm7() -> Plant:
    """A seven-joint arm of human size, frictionless."""
    rows = [(0, 0, 0.33), (0, -RIGHT, 0), (0, RIGHT, 0.32), (0.08, RIGHT, 0), (-0.08, -RIGHT, 0.38), (0, RIGHT, 0)]
    rows.append((0.09, RIGHT, 0.1))
    robot = from_mdh("arm7", [MDHJoint(a=a, alpha=alpha, d=d) for a, alpha, d in rows])
    bodies = [from_com(4.0 - 0.4 * i, [0.01, -0.02, 0.05], np.diag([0.03, 0.025, 0.02])) for i in range(7)]
    return plant(Model(robot), np.ravel(bodies))


def slide(
    mass: float = 2.0, *, gravity: float = 0.0, limits: Limits = FREE, terms: tuple = (), values: tuple = ()
) -> Plant:
    """A block on a vertical rail, z upwards."""
    joint = Joint("lift", "prismatic", -1, Pose.identity(), np.array([0.0, 0.0, 1.0]), limits=limits)
    robot = Robot("rail", (joint,), ("block",), gravity=np.array([0.0, 0.0, -gravity]))
    body = from_com(mass, np.zeros(3), 0.01 * np.eye(3))
    return plant(Model(robot, terms), np.append(body, values), friction_width=0.001)


def two_links(terms: tuple = (), values: tuple = (), *, tip: float = 1.0, friction_width: float = 0.01) -> Plant:
    """Two links of 0.5 m in a vertical plane, each a point mass with a little inertia at its end."""
    robot = from_mdh("two", [MDHJoint(alpha=RIGHT), MDHJoint(a=0.5)])
    bodies = [from_com(m, [0.5, 0.0, 0.0], 0.002 * min(m, 1.0) * np.eye(3)) for m in (1.0, tip)]
    return plant(Model(robot, terms), np.concatenate([np.ravel(bodies), values]), friction_width)


# the plant


def all_terms(n: int, coupled: bool) -> tuple:
    names = tuple(f"joint{i + 1}" for i in range(n))
    motors = coupled_drive("motor", (0.0,) * (n - 2) + (1.0, 0.5), SmoothCoulomb(0.2)) if coupled else ()
    return (
        DriveInertia(names[1:]),
        Viscous(names[::-1]),
        SmoothCoulomb(0.1, names[: n // 2]),
        SmoothCoulomb(0.3, names[n // 2 :]),
        Offset(names[-1:]),
        Spring(names[:2], 0.4),
        *motors,
    )


@pytest.mark.parametrize("coupled", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_acceleration_undoes_the_torque_of_the_model(seed: int, coupled: bool) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 8))
    robot = random_tree(rng, n, points=True)
    model = Model(robot, all_terms(n, coupled))
    theta = np.append(random_bodies(rng, n).ravel(), rng.uniform(0.1, 1.0, len(model.names) - 10 * n))
    q, qd, qdd = rng.normal(0, 1, (3, 20, n))
    p = plant(model, theta)
    assert (p.drive is None) == coupled
    np.testing.assert_allclose(acceleration(p, q, qd, torque(model, theta, q, qd, qdd)), qdd, rtol=1e-8, atol=1e-8)
    wrenches = rng.normal(0, 1, (20, n, 6))
    pushed = inverse_dynamics(robot, p.inertials, q, qd, qdd, wrenches) + qdd @ p.armature + p.static(q)
    bare = without_friction(p)
    np.testing.assert_allclose(acceleration(bare, q, qd, pushed, wrenches), qdd, rtol=1e-8, atol=1e-8)


def test_without_friction_keeps_drive_inertia_springs_and_offsets() -> None:
    model = Model(arm7().robot, all_terms(7, True))
    theta = np.append(arm7().inertials.ravel(), np.linspace(0.1, 1.0, len(model.names) - 70))
    p = plant(model, theta)
    bare = without_friction(p)
    assert bare.friction_law == "no friction"
    assert not bare.friction(np.ones((1, 7))).any()
    for name in ("inertials", "armature"):
        np.testing.assert_array_equal(getattr(bare, name), getattr(p, name))
    q = np.linspace(-1.0, 1.0, 7)
    np.testing.assert_array_equal(bare.static(q), p.static(q))
    offset, stiffness = theta[model.index("joint7.offset")], theta[model.index("joint1.stiffness")]
    np.testing.assert_allclose(bare.static(q)[[0, 6]], [stiffness * (q[0] - 0.4), offset], rtol=1e-12)
    assert p.armature[5, 6] == theta[model.index("motor.drive_inertia")] * 0.5
    assert {x for part in p.frictions for x in part.owners} == {*model.robot.joint_names, "motor"}


def test_a_sign_becomes_a_tanh_and_the_law_is_said() -> None:
    p = two_links((Coulomb(0.1, ("joint1",)), SmoothCoulomb(0.05, ("joint2",)), Viscous()), (3.0, 4.0, 1.0, 2.0))
    v = np.array([[0.02, -0.03]])
    expected = [[3 * np.tanh(2.0) + 0.02, 4 * np.tanh(-0.6) - 0.06]]
    np.testing.assert_allclose(p.friction(v), expected, rtol=1e-12)
    assert p.friction_law == (
        "Coulomb friction is Fc tanh(v / w) in place of Fc sign(v), with w = 0.01 rad/s for joint1 and w = 0.05 rad/s "
        "for joint2: a joint that friction holds creeps at a speed below w instead of sticking; viscous friction "
        "besides"
    )
    assert two_links((Viscous(),), (1.0, 1.0)).friction_law == "viscous friction only"
    assert "w = 0.001 m/s for lift" in slide(terms=(Coulomb(),), values=(1.0,)).friction_law


# closed forms


def both(p: Plant, q: Any, qd: Any, duration: float, step: float, **options: Any) -> tuple[Simulation, Simulation]:
    """Return the same motion by the adaptive solver and by fixed steps, at the same times."""
    fixed = simulate_fixed(p, q, qd, duration, step, **options)
    times = np.arange(round(duration / step) + 1) * step
    return simulate(p, q, qd, times, rtol=1e-11, atol=1e-11, **options), fixed


def test_a_falling_block() -> None:
    for s in both(slide(gravity=9.81), [1.0], [2.0], 1.0, 0.01):
        np.testing.assert_allclose(s.q[:, 0], 1.0 + 2.0 * s.t - 9.81 / 2 * s.t**2, atol=1e-12)
        np.testing.assert_allclose(s.qd[:, 0], 2.0 - 9.81 * s.t, atol=1e-12)
        np.testing.assert_allclose(s.qdd, -9.81, rtol=1e-12)
        np.testing.assert_allclose(s.kinetic, s.qd[:, 0] ** 2, rtol=1e-12)
        np.testing.assert_allclose(s.energy, s.energy[0], rtol=1e-12)
        assert s.stopped is None
        assert not s.tau.any()


@pytest.mark.slow
def test_a_block_on_a_spring_with_drive_inertia_and_offset() -> None:
    p = slide(terms=(DriveInertia(), Spring(rest=0.3), Offset()), values=(1.0, 12.0, 6.0))
    # 3 q'' = -12 (q - 0.3) - 6: about q = -0.2 with 2 rad/s
    for s in both(p, [0.5], [0.0], 3.0, 0.002):
        np.testing.assert_allclose(s.q[:, 0], -0.2 + 0.7 * np.cos(2 * s.t), atol=1e-9)
        np.testing.assert_allclose(s.energy, s.energy[0], atol=1e-9)


def test_viscous_friction_slows_a_block_exponentially() -> None:
    p = slide(terms=(Viscous(),), values=(3.0,))
    for s in both(p, [0.0], [1.0], 2.0, 0.01):
        np.testing.assert_allclose(s.qd[:, 0], np.exp(-1.5 * s.t), atol=1e-9)


@pytest.mark.slow
def test_friction_of_the_root_of_the_speed_stops_a_block_in_time() -> None:
    p = slide(terms=(NonlinearViscous(0.5),), values=(3.0,))
    for s in both(p, [0.0], [1.0], 1.0, 0.001):  # sqrt(v) falls by 3 / (2 * 2) a second
        np.testing.assert_allclose(s.qd[:, 0], (1.0 - 0.75 * s.t) ** 2, atol=1e-5)
        assert s.friction_law == "nonlinear viscous friction only"
    late = simulate_fixed(p, [0.0], [1.0], 3.0, 0.001)
    assert 0 <= late.qd[-1, 0] < 1e-6


# energy and order


@pytest.mark.slow
def test_energy_of_the_seven_joint_arm_stays() -> None:
    rng = np.random.default_rng(1)
    p = arm7()
    s = simulate(p, rng.normal(size=7), 0.5 * rng.normal(size=7), np.linspace(0, 10, 501), rtol=1e-10, atol=1e-10)
    assert np.ptp(s.kinetic) > 50.0
    assert np.abs(s.energy - s.energy[0]).max() < 1e-8 * np.ptp(s.kinetic)
    assert s.method == "DOP853, rtol 1e-10, atol 1e-10"


def test_order_of_runge_kutta_is_four() -> None:
    p, q, qd = arm7(), np.linspace(-0.5, 1.0, 7), np.linspace(0.3, -0.3, 7)
    exact = simulate(p, q, qd, [0.0, 0.4], rtol=1e-13, atol=1e-13)
    steps = np.array([0.01, 0.005, 0.0025, 0.00125])
    errors = []
    for h in steps:
        s = simulate_fixed(p, q, qd, 0.4, h)
        errors.append(np.linalg.norm(np.append(s.q[-1] - exact.q[-1], s.qd[-1] - exact.qd[-1])))
    order = np.polyfit(np.log(steps), np.log(errors), 1)[0]
    assert abs(order - 4.0) < 0.1, (order, errors)


@pytest.mark.slow
def test_work_of_the_drives_is_energy_and_friction() -> None:
    p = two_links((Viscous(), SmoothCoulomb(0.3), Spring()), (0.3, 0.2, 0.5, 0.4, 2.0, 1.0))
    s = simulate(
        p, [0.3, -0.2], [0.0, 1.0], np.linspace(0, 2, 2001), lambda t, q, qd: np.array([5 * np.sin(3 * t), 2 - q[1]])
    )
    from scipy.integrate import simpson

    work = simpson((s.tau * s.qd).sum(axis=1), x=s.t)
    lost = simpson((p.friction(s.qd) * s.qd).sum(axis=1), x=s.t)
    assert lost > 0.5
    assert work == pytest.approx(s.energy[-1] - s.energy[0] + lost, abs=1e-6)


# other programs


@pytest.mark.slow
def test_agrees_with_an_integration_of_pinocchio() -> None:
    """A damped tree with drive inertia and tanh friction, the same equations put together from Pinocchio's aba."""
    from scipy.integrate import solve_ivp

    rng = np.random.default_rng(3)
    n = 6
    robot = random_tree(rng, n, branches=True)
    bodies = random_bodies(rng, n)
    ia, fv, fc = rng.uniform(0.05, 0.5, n), rng.uniform(0.1, 1.0, n), rng.uniform(0.1, 1.0, n)
    p = plant(
        Model(robot, (DriveInertia(), Viscous(), SmoothCoulomb(0.05))), np.concatenate([bodies.ravel(), ia, fv, fc])
    )
    model = pin_tree(robot, bodies)
    model.armature = ia
    data = model.createData()
    q, qd = rng.normal(0, 1, (2, n))

    def drive(t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        return np.sin(3.0 * t + np.arange(n))

    def slope(t: float, y: np.ndarray) -> np.ndarray:
        x, v = y[:n].copy(), y[n:].copy()
        return np.append(v, pin.aba(model, data, x, v, drive(t, x, v) - fv * v - fc * np.tanh(v / 0.05)))

    times = np.linspace(0.0, 1.0, 11)
    theirs = solve_ivp(slope, (0.0, 1.0), np.append(q, qd), "LSODA", times, rtol=1e-11, atol=1e-11).y.T
    ours = simulate(p, q, qd, times, drive, rtol=1e-10, atol=1e-10)
    assert ours.method.startswith("Radau")
    np.testing.assert_allclose(ours.q, theirs[:, :n], atol=1e-7)
    np.testing.assert_allclose(ours.qd, theirs[:, n:], atol=1e-6)
    assert np.abs(ours.q[-1] - q).max() > 0.1


def test_steps_like_the_runge_kutta_of_mujoco() -> None:
    import mujoco

    rng = np.random.default_rng(4)
    n = 5
    robot, bodies = random_tree(rng, n), random_bodies(rng, n)
    ia, fv, k = rng.uniform(0.05, 0.5, n), rng.uniform(0.1, 0.5, n), rng.uniform(1, 3, n)
    p = plant(Model(robot, (DriveInertia(), Viscous(), Spring())), np.concatenate([bodies.ravel(), ia, fv, k]))
    q, qd = rng.normal(0, 1, (2, n))
    ours = simulate_fixed(p, q, qd, 0.5, 0.001, every=500)

    model = mujoco.MjModel.from_xml_string(mjcf(robot, bodies))
    order = np.array([int(model.jnt_dofadr[model.joint(name).id]) for name in robot.joint_names])
    model.opt.integrator, model.opt.timestep = mujoco.mjtIntegrator.mjINT_RK4, 0.001
    model.dof_armature[order], model.dof_damping[order] = ia, fv
    passive = np.zeros(n)
    passive[order] = k
    data = mujoco.MjData(model)
    data.qpos[order], data.qvel[order] = q, qd
    model.jnt_stiffness[:] = passive
    model.qpos_spring[:] = 0.0
    for _ in range(500):
        mujoco.mj_step(model, data)
    np.testing.assert_allclose(ours.q[-1], data.qpos[order], atol=1e-9)
    np.testing.assert_allclose(ours.qd[-1], data.qvel[order], atol=1e-9)


# friction


def test_a_sliding_block_stops_where_coulomb_friction_says() -> None:
    p = slide(terms=(Coulomb(),), values=(4.0,))  # 2 kg at 1 m/s under 4 N: 0.5 s, 0.25 m
    s = simulate(p, [0.0], [1.0], np.linspace(0, 5, 501))
    assert s.method.startswith("Radau")
    assert s.q[-1, 0] == pytest.approx(0.25, abs=1e-3)  # and it creeps on for a width times a time constant
    assert 0 <= s.qd[s.t > 0.52].max() < 1e-6
    np.testing.assert_allclose(s.qd[s.t < 0.49, 0], 1 - 2 * s.t[s.t < 0.49], atol=1e-6)
    assert s.evaluations < 1500


@pytest.mark.slow
@pytest.mark.parametrize("width", [1e-2, 1e-4, 1e-6])
def test_stiction_neither_stalls_nor_chatters(width: float) -> None:
    """A pendulum that friction catches on its way down, for widths of any smallness."""
    p = two_links((Coulomb(),), (12.0, 4.0), friction_width=width)
    s = simulate(
        p, [-0.3, 0.2], [0.0, 0.0], np.linspace(0, 3, 301), lambda t, q, qd: np.array([8.0 * np.sin(4 * t), 0])
    )
    assert s.stopped is None
    assert s.evaluations < 60_000
    held = np.abs(s.qd) < width
    assert held.mean() > 0.2
    reversals = np.count_nonzero(np.diff(np.sign(s.qd[:, 0])) != 0)
    assert reversals < 20


def test_a_held_joint_creeps_as_the_law_says() -> None:
    p = slide(terms=(Coulomb(),), values=(4.0,))
    s = simulate(p, [0.0], [0.0], np.linspace(0, 1, 11), lambda t, q, qd: np.array([2.0]))
    assert s.qd[-1, 0] == pytest.approx(0.001 * np.arctanh(0.5), rel=1e-5)


def test_fixed_steps_too_long_for_friction_are_refused_with_what_would_do() -> None:
    p = slide(terms=(Coulomb(), Viscous()), values=(4.0, 1.0))  # (4 / 0.001 + 1) / 2 = 2000.5 1/s
    with pytest.raises(ModelError) as caught:
        simulate_fixed(p, [0.0], [1.0], 1.0, 0.01)
    assert str(caught.value) == (
        "friction of 'lift' settles at 2e+03 1/s near standstill, and steps of 0.01 s would make it chatter "
        "(step x rate is 20, RK4 allows 2.79). Use steps below 0.0013 s, a friction width above 0.0072, or simulate(), "
        "whose default solver for friction is implicit."
    )
    for s in (
        simulate_fixed(p, [0.0], [1.0], 1.0, 0.00125),
        simulate_fixed(replace(p, acting=tuple(replace(x, width=0.0073) for x in p.acting)), [0.0], [1.0], 1.0, 0.01),
    ):
        late = s.qd[s.t > 0.7, 0]
        assert np.abs(late[-1]) < 1e-4
        assert np.all(np.diff(np.abs(late)) <= 0)  # it settles, and does not chatter


def test_fixed_steps_too_long_for_a_power_of_the_speed_are_refused() -> None:
    p = slide(terms=(NonlinearViscous(0.5),), values=(4.0,))  # 4 / sqrt(0.001) / 2 = 63 1/s
    with pytest.raises(
        ModelError, match=r"settles at 63\.2 1/s .* Use steps below 0\.044 s, a friction width above 0\.0"
    ):
        simulate_fixed(p, [0.0], [1.0], 1.0, 0.1)
    late = simulate_fixed(p, [0.0], [1.0], 4.0, 0.04).qd[-20:, 0]
    assert np.all(np.diff(np.abs(late)) <= 0)


def test_friction_that_becomes_too_stiff_on_the_way_stops_the_simulation() -> None:
    """A block slides in along a turning rail: r = 1 - t / 2, and turning gets as light as r^2 + 0.01."""
    turn = Joint("turn", "revolute", -1, Pose.identity(), np.array([0.0, 0.0, 1.0]))
    reach = Joint("reach", "prismatic", 0, Pose.identity(), np.array([1.0, 0.0, 0.0]))
    robot = Robot("rail", (turn, reach), ("rail", "block"), gravity=np.zeros(3))
    bodies = [np.zeros(10), from_com(1.0, np.zeros(3), 0.01 * np.eye(3))]
    p = plant(Model(robot, (Coulomb(joints=("turn",)),)), np.append(np.ravel(bodies), 1.0))
    s = simulate_fixed(p, [0.0, 1.0], [0.0, -0.5], 2.0, 0.01)  # 1 / 0.01 / (r^2 + 0.01) * 0.01 = 2.785 at t = 0.818
    assert s.stopped == (
        "friction of 'turn' settles at 309 1/s near standstill, and steps of 0.01 s would make it chatter (step x rate "
        "is 3.09, RK4 allows 2.79) at t = 0.88 s. Use steps below 0.009 s, a friction width above 0.012, or "
        "simulate(), whose default solver for friction is implicit"
    )
    assert s.t[-1] == pytest.approx(0.88)
    np.testing.assert_allclose(s.q[:, 1], 1 - 0.5 * s.t, atol=1e-12)
    assert simulate(p, [0.0, 1.0], [0.0, -0.5], [0.0, 1.9]).stopped is None


@pytest.mark.slow
def test_a_narrow_tanh_by_both_ways_is_the_same_motion() -> None:
    p = two_links((SmoothCoulomb(0.2), Viscous()), (2.0, 1.0, 0.1, 0.1))
    a, b = both(p, [0.5, 0.1], [0.0, 0.0], 1.0, 0.0005)
    np.testing.assert_allclose(a.q, b.q, atol=1e-7)
    explicit = simulate(p, [0.5, 0.1], [0.0, 0.0], a.t, method="DOP853", rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(a.q, explicit.q, atol=1e-8)


def test_every_may_be_a_number_of_numpy() -> None:
    p = two_links()
    assert simulate_fixed(p, [0, 0], [0, 0], 1.0, 0.1, every=np.int64(5)).t.tolist() == [0.0, 0.5, 1.0]
    assert rollouts(p, [[0, 0]], [[0, 0]], np.zeros((11, 2)), 0.1, every=np.int64(5)).t.tolist() == [0.0, 0.5, 1.0]


def test_rollouts_take_the_same_steps() -> None:
    model = Model(arm7().robot, (*all_terms(7, False), NonlinearViscous(0.3, ("joint2", "joint4"))))
    p = plant(model, np.append(arm7().inertials.ravel(), np.linspace(0.1, 1.0, len(model.names) - 70)))
    times = np.arange(101) * 0.002
    tau = np.sin(3 * times[:, None] + np.arange(7))
    qd = np.array([np.ones(7), np.linspace(-1, 1, 7)])
    many = rollouts(p, np.zeros((2, 7)), qd, tau, 0.002)
    for k in range(2):
        one = simulate_fixed(p, np.zeros(7), qd[k], 0.2, 0.002, SampledTorque(times, tau))
        np.testing.assert_allclose(many.q[k], one.q, atol=1e-13)
        np.testing.assert_allclose(many.qd[k], one.qd, atol=1e-12)


# torques over time


def test_sampled_torques_are_linear_in_between() -> None:
    times = np.linspace(0.0, 1.0, 11)
    push = SampledTorque(times, np.sin(5 * times)[:, None])
    s = simulate(slide(), [0.0], [0.0], np.linspace(0, 1, 101), push, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(s.tau[:, 0], np.interp(s.t, times, np.sin(5 * times)), atol=1e-14)
    exact = np.append(0.0, np.cumsum(0.05 * (np.sin(5 * times[1:]) + np.sin(5 * times[:-1])))) / 2.0
    np.testing.assert_allclose(s.qd[::10, 0], exact, atol=1e-12)


@pytest.mark.slow
def test_a_pulse_of_one_sample_is_not_stepped_over() -> None:
    tau = np.zeros((301, 1))
    tau[150] = 100.0
    s = simulate(slide(), [0.0], [0.0], [0.0, 0.3], SampledTorque(np.linspace(0, 0.3, 301), tau))
    assert s.qd[-1, 0] == pytest.approx(100.0 * 0.001 / 2.0, rel=1e-9)


def test_a_control_period_holds_the_torque_and_asks_once() -> None:
    asked: list[float] = []

    def law(t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        asked.append(t)
        return np.array([2.0 * len(asked), 0.0])

    p = two_links()
    ways = (
        lambda: simulate(p, [0.0, 0.0], [0.0, 0.0], np.linspace(0, 0.5, 51), law, control_period=0.1),
        lambda: simulate_fixed(p, [0.0, 0.0], [0.0, 0.0], 0.5, 0.01, law, control_period=0.1),
    )
    for way in ways:
        asked.clear()
        s = way()
        np.testing.assert_allclose(asked, [0.0, 0.1, 0.2, 0.3, 0.4], atol=1e-12)
        np.testing.assert_array_equal(s.tau[:50, 0], np.repeat([2.0, 4.0, 6.0, 8.0, 10.0], 10))


@pytest.mark.slow
def test_a_held_controller_by_both_ways_is_the_same_motion() -> None:
    p = two_links((Viscous(),), (0.2, 0.2))
    control = ComputedTorque(p, 60.0, 8.0, lambda t: (np.array([0.4, -0.3]), np.zeros(2), np.zeros(2)))
    a, b = both(p, [0.0, 0.0], [0.0, 0.0], 1.0, 0.001, torque=control, control_period=0.01)
    np.testing.assert_allclose(a.q, b.q, atol=1e-9)
    np.testing.assert_allclose(a.tau, b.tau, atol=1e-6)
    assert len(np.unique(a.tau[:1000, 0])) == 100


@pytest.mark.slow
def test_dense_output_lies_on_the_motion() -> None:
    p = two_links()
    at = np.linspace(0, 1, 137)
    fine = simulate(p, [0.5, 0.1], [0.0, 1.0], at, rtol=1e-11, atol=1e-11)
    coarse = simulate(p, [0.5, 0.1], [0.0, 1.0], [0.0, 1.0], rtol=1e-10, atol=1e-10)
    steps = simulate_fixed(p, [0.5, 0.1], [0.0, 1.0], 1.0, 0.002)
    for s, close in ((coarse, 1e-8), (steps, 1e-7)):
        q, qd = s.at(at)
        np.testing.assert_allclose(q, fine.q, atol=close)
        np.testing.assert_allclose(qd, fine.qd, atol=10 * close)
    with pytest.raises(ModelError, match=r"t = 1\.5 s is outside the simulation, 0 s to 1 s"):
        coarse.at([0.5, 1.5])


def test_progress_is_told() -> None:
    for way in ("adaptive", "fixed"):
        told: list[tuple[str, int, int]] = []

        def tell(*x: Any, told: list = told) -> None:
            told.append(x)

        if way == "adaptive":
            simulate(two_links(), [0, 0], [0, 0], np.linspace(0, 1, 101), tell=tell)
        else:
            simulate_fixed(two_links(), [0, 0], [0, 0], 1.0, 0.01, tell=tell)
        assert told[-1] == ("simulating", 101, 101)
        done = [x[1] for x in told]
        assert done == sorted(done)
        assert len(done) > 5


# limits


def test_a_simulation_stops_at_a_limit_and_says_which_and_when() -> None:
    p = slide(gravity=10.0, limits=Limits(lower=-1.25, upper=2.0))
    fixed = simulate_fixed(p, [0.0], [0.0], 1.0, 0.01)
    for s in (fixed, simulate(p, [0.0], [0.0], np.linspace(0, 1, 11))):
        assert s.stopped == "joint 'lift' reached its lower limit -1.25 m at t = 0.5 s"
        assert s.t[-1] == pytest.approx(0.5, abs=1e-9)
        assert s.q[-1, 0] == pytest.approx(-1.25, abs=1e-9)
        assert s.qd[-1, 0] == pytest.approx(-5.0, abs=1e-8)
        assert np.all(np.diff(s.t) > 0)
        assert len(s.t) == len(s.q) == len(s.tau) == len(s.energy)
    up = simulate(p, [1.9], [2.0], [0.0, 0.5, 1.0])
    assert up.stopped == "joint 'lift' reached its upper limit 2 m at t = 0.0585786 s"
    assert up.t.tolist() == [0.0, pytest.approx(0.2 - np.sqrt(0.02), abs=1e-9)]
    assert simulate(p, [0.0], [0.0], [0.0, 1.0], stop_at_limits=False).q[-1, 0] == pytest.approx(-5.0)


def test_a_limit_that_is_crossed_and_left_within_one_step_counts() -> None:
    p = slide(gravity=10.0, limits=Limits(upper=0.45))  # thrown up to 0.5 m and back
    s = simulate(p, [0.0], [np.sqrt(10.0)], [0.0, 0.6])
    assert s.stopped is not None
    assert s.stopped.startswith("joint 'lift' reached its upper limit 0.45 m at t = 0.2162")


def test_resting_on_a_limit_is_allowed() -> None:
    p = slide(gravity=10.0, limits=Limits(lower=0.0))
    lifted = simulate(p, [0.0], [0.0], [0.0, 1.0], lambda t, q, qd: np.array([20.0]))
    assert lifted.stopped is None
    falling = simulate(p, [0.0], [0.0], [0.0, 1.0])
    assert falling.stopped is not None
    assert falling.t[-1] < 1e-4


# controllers


@pytest.mark.slow
def test_computed_torque_makes_the_error_a_chosen_oscillator() -> None:
    """With kp = 25, kd = 6: e = exp(-3 t) (cos 4 t + 3/4 sin 4 t) e(0), on a plant with everything."""
    model = Model(arm7().robot, all_terms(7, True))
    p = plant(model, np.append(arm7().inertials.ravel(), np.linspace(0.1, 1.0, len(model.names) - 70)))

    def reference(t: float) -> tuple[np.ndarray, ...]:
        phase = 2 * t + np.arange(7)
        return 0.3 * np.sin(phase), 0.6 * np.cos(phase), -1.2 * np.sin(phase)

    e0 = np.linspace(0.1, 0.4, 7)
    q, qd, _ = reference(0.0)
    s = simulate(p, q - e0, qd, np.linspace(0, 1.5, 31), ComputedTorque(p, 25.0, 6.0, reference), rtol=1e-9, atol=1e-9)
    error = np.array([reference(t)[0] for t in s.t]) - s.q
    share = np.exp(-3 * s.t) * (np.cos(4 * s.t) + 0.75 * np.sin(4 * s.t))
    np.testing.assert_allclose(error, share[:, None] * e0, atol=1e-6)


# tables and logs


def manifest(robot: Robot, file: str) -> str:
    def signal(letters: str, quantity: str) -> str:
        units = robot.units(quantity)
        names = [f"{j.name}.{letters} [{unit}]" for j, unit in zip(robot.joints, units, strict=True)]
        return f"{{ columns = {names}, unit = {list(units)} }}".replace("'", '"')

    return (
        f'[dataset]\nname = "drop"\n[signals]\ntime = {{ column = "t [s]", unit = "s" }}\n'
        f"position = {signal('q', 'position')}\nvelocity = {signal('qd', 'velocity')}\n"
        f'torque = {signal("tau", "torque")}\n[[recording]]\nname = "drop"\nfile = "{file}"\n'
    )


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_simulation_is_read_back_as_a_log(tmp_path: Any, ending: str) -> None:
    rng = np.random.default_rng(7)
    robot = random_tree(rng, 4, branches=False)
    assert {j.kind for j in robot.joints} == {"revolute", "prismatic"}
    p = plant(Model(robot, (Viscous(),)), np.append(random_bodies(rng, 4).ravel(), [0.5] * 4))
    s = simulate(p, np.zeros(4), np.ones(4), np.linspace(0, 0.5, 26), lambda t, q, qd: -q)
    write_simulation(s, tmp_path / f"motion.{ending}")
    (tmp_path / "dataset.toml").write_text(manifest(robot, f"motion.{ending}"))
    log = read_log(read_manifest(tmp_path / "dataset.toml"), "drop", robot)
    for name in ("t", "q", "qd", "tau"):
        np.testing.assert_array_equal(getattr(log, name), getattr(s, name))
    frame = to_frame(s)
    slides = next(j.name for j in robot.joints if j.kind == "prismatic")
    assert f"{slides}.qdd [m/s^2]" in frame.columns
    assert f"{slides}.tau [N]" in frame.columns
    assert frame.columns[0] == "t [s]"
    assert list(frame.columns)[-2:] == ["kinetic [J]", "potential [J]"]


GOOD = {"t [s]": [0.0, 0.1, 0.3], "lift.tau [N]": [1.0, 2.0, -4.0], "lift.q [m]": [np.nan, 0.0, 0.0]}


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_torques_are_read_from_a_table(tmp_path: Any, ending: str) -> None:
    def read(**columns: Any) -> SampledTorque:
        frame = pd.DataFrame({name: x for name, x in (GOOD | columns).items() if x is not None})
        file = tmp_path / f"push.{ending}"
        frame.to_csv(file, index=False) if ending == "csv" else frame.to_parquet(file)
        return read_torques(file, slide().robot)

    push = read()
    np.testing.assert_array_equal(push.t, GOOD["t [s]"])
    np.testing.assert_array_equal(push.tau[:, 0], GOOD["lift.tau [N]"])
    for columns, message in (
        (
            {"lift.tau [N]": None, "lift.tau": [1.0, 2.0, 3.0]},
            "column 'lift.tau [N]' is not there; did you mean 'lift.tau'? It has: t [s], lift.q [m], lift.tau.",
        ),
        (
            {"t [s]": None, "time [s]": [0.0, 0.1, 0.2]},
            "column 't [s]' is not there; did you mean 'time [s]'? It has: lift.tau [N], lift.q [m], time [s].",
        ),
        ({"lift.tau [N]": [1.0, np.nan, 3.0]}, "lift.tau [N]: row 2 is nan, wanted a finite number."),
        ({"t [s]": [0.0, 0.1, np.inf]}, "t [s]: row 3 is inf, wanted a finite number."),
        ({"t [s]": [0.0, 0.2, 0.1]}, "t [s]: the times of the torques do not increase: 0.1 s comes after 0.2 s."),
        (
            {"t [s]": [0.0], "lift.tau [N]": [1.0], "lift.q [m]": None},
            "t [s]: the times of the torques must be two or more, got 1.",
        ),
    ):
        with pytest.raises(LogError) as caught:
            read(**columns)
        assert str(caught.value).partition(".")[2][len(ending) :].lstrip(":, ") == message


def test_torques_of_no_table_are_refused(tmp_path: Any) -> None:
    for name, message in (
        ("push.csv", "push.csv: there is no such file."),
        ("push.mat", "push.mat: ends in '.mat'. Give a .csv or .parquet file, or one that a dataset.toml names."),
        ("empty.csv", "empty.csv: is empty, not one byte long. Record it again, or name another file."),
        ("text.csv", "text.csv, line 3: column 2 is 'much', wanted a number. Repair the line."),
    ):
        (tmp_path / "empty.csv").write_text("")
        (tmp_path / "text.csv").write_text("t [s],lift.tau [N]\n0,1\n1,much\n")
        with pytest.raises(LogError) as caught:
            read_torques(tmp_path / name, slide().robot)
        assert str(caught.value) == message


def test_a_table_of_another_ending_is_refused(tmp_path: Any) -> None:
    s = simulate(slide(), [0.0], [0.0], [0.0, 1.0])
    with pytest.raises(InputError) as caught:
        write_simulation(s, tmp_path / "motion.xlsx")
    assert str(caught.value) == "motion.xlsx: ends in '.xlsx'. Choose a name that ends in .csv or .parquet."
    assert not list(tmp_path.iterdir())


# what stops on the way


def pushing(t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
    """A controller with the wrong sign."""
    return np.array([50.0 * qd[0] + q[0] + 1.0])


def test_a_runaway_keeps_what_it_has() -> None:
    s = simulate(slide(), [0.0], [0.0], np.linspace(0, 5, 501), pushing)
    assert s.stopped is not None
    assert s.stopped.startswith("joint 'lift' ran away: ")  # qd = (exp(25 t) - 1) / 50: 10 km/s at 0.525 s
    assert 0.52 < float(s.stopped.split()[-2]) < 0.6
    assert 0.45 < s.t[-1] < 0.6
    assert np.isfinite(s.q).all()
    fixed = simulate_fixed(slide(), [0.0], [0.0], 5.0, 0.01, pushing)
    assert fixed.stopped is not None
    assert fixed.stopped.startswith("the step of 0.01 s from t = 0.")
    assert "diverged: joint 'lift' ran away: " in fixed.stopped
    assert 0.45 < fixed.t[-1] < 0.6


def test_a_step_that_overflows_names_joint_and_time() -> None:
    p = two_links((Spring(),), (1.0, 1e12))
    s = simulate_fixed(p, [0.0, 0.5], [0.0, 0.0], 10.0, 1.0)
    assert s.stopped is not None
    assert s.stopped.startswith("the step of 1 s from t = 0 s diverged: joint 'joint2' ran away: 0 rad/s, then ")
    assert s.stopped.endswith(" at t = 1 s")
    assert s.t.tolist() == [0.0]
    assert s.q.tolist() == [[0.0, 0.5]]


def refuses(t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
    return SampledTorque([0.0, 1.0], [[0.0, 0.0], [0.0, np.inf]])(t, q, qd)


def lost_reference(t: float) -> Any:
    return np.zeros(2), np.zeros(2)


def three(t: float) -> Any:
    return np.zeros((3, 3))


BROKEN = {
    "short": (lambda *x: np.zeros(1), "the torque function returned 1 number at {t}, wanted 2, one per joint. {order}"),
    "matrix": (
        lambda *x: np.zeros((1, 2)),
        "the torque function returned an array of shape (1, 2) at {t}, wanted 2, one per joint. {order}",
    ),
    "nothing": (lambda *x: None, "the torque function returned nothing at {t}, wanted 2, one per joint. {order}"),
    "text": (lambda *x: ["a", 1.0], "the torque at {t} must be 2 numbers, got \"['a', 1.0]\""),
    "nan": (lambda *x: [0.0, np.nan], "the torque of joint 'joint2' is nan at {t}"),
    "infinite": (lambda *x: [-np.inf, 0.0], "the torque of joint 'joint1' is -inf at {t}"),
    "refused": (refuses, "the torque function failed at {t}: tau[1, 1] is inf, wanted a finite number"),
    "controller": (
        ComputedTorque(two_links(), 1.0, 1.0, lost_reference),
        "the torque function failed at {t}: the reference gave arrays of shapes (2,), (2,) at {t}, "
        "wanted (2,), (2,), (2,)",
    ),
}
WAYS = {
    "adaptive": lambda law: simulate(two_links(), [0.1, 0.2], [0, 0], np.linspace(0, 1, 101), law),
    "stiff": lambda law: simulate(two_links(), [0.1, 0.2], [0, 0], np.linspace(0, 1, 101), law, method="BDF"),
    "fixed": lambda law: simulate_fixed(two_links(), [0.1, 0.2], [0, 0], 1.0, 0.01, law),
    "fixed, every 8th": lambda law: simulate_fixed(two_links(), [0.1, 0.2], [0, 0], 1.0, 0.0025, law, every=8),
    "held": lambda law: simulate(two_links(), [0.1, 0.2], [0, 0], np.linspace(0, 1, 101), law, control_period=0.05),
    "fixed, held": lambda law: simulate_fixed(two_links(), [0.1, 0.2], [0, 0], 1.0, 0.01, law, control_period=0.05),
}


def good(t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
    return np.array([np.sin(9 * t), 1.0 - q[1] - 0.1 * qd[1]])


@cache
def undisturbed(way: str) -> Any:
    return WAYS[way](good)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("fault", BROKEN)
@pytest.mark.slow
def test_a_torque_function_that_fails_on_the_way_ends_the_simulation(way: str, fault: str) -> None:
    """It keeps the samples of a motion that nothing disturbs; at the start the same message is an error."""
    broken, message = BROKEN[fault]
    order = "Return them in the order joint1, joint2"
    failed: list[float] = []

    def law(t: float, q: np.ndarray, qd: np.ndarray) -> Any:
        if t <= 0.305:
            return good(t, q, qd)
        failed.append(t)
        return broken(t, q, qd)

    s, whole = WAYS[way](law), undisturbed(way)
    assert whole.stopped is None
    assert s.stopped == message.format(t=f"t = {failed[0]:g} s", order=order)
    assert s.t[-1] == pytest.approx(0.35) if "held" in way else 0.2 < s.t[-1] <= 0.305
    for name in ("q", "qd", "qdd", "tau", "kinetic", "potential"):
        assert np.isfinite(getattr(s, name)).all()
        assert len(getattr(s, name)) == len(s.t)
    np.testing.assert_array_equal(s.t[:-1], whole.t[: len(s.t) - 1])
    q, qd = whole.at(s.t)
    np.testing.assert_allclose(s.q, q, atol=1e-5)
    np.testing.assert_allclose(s.qd, qd, atol=1e-4)
    np.testing.assert_allclose(s.tau[:-1], whole.tau[: len(s.t) - 1], atol=1e-5)

    with pytest.raises(ModelError) as caught:
        WAYS[way](broken)
    at_once = message.format(t="t = 0 s", order=order).removeprefix("the torque function failed at t = 0 s: ")
    assert str(caught.value).rstrip(".") == at_once


@pytest.mark.parametrize("way", WAYS)
def test_a_controller_that_gives_up_after_so_many_calls_loses_nothing(way: str) -> None:
    calls: list[float] = []

    last = 5 if "held" in way else 120

    def law(t: float, q: np.ndarray, qd: np.ndarray) -> list[float]:
        calls.append(t)
        return [1.0, 0.0] if len(calls) <= last else [1.0]

    s = WAYS[way](law)
    assert s.stopped is not None
    assert s.stopped.startswith(f"the torque function returned 1 number at t = {calls[last]:g} s")
    assert len(s.t) > 2
    np.testing.assert_array_equal(s.tau, np.tile([1.0, 0.0], (len(s.t), 1)))


def test_a_torque_that_fails_only_where_the_motion_got_to_ends_it_there() -> None:
    """A controller that knows only one side: no sample lies on the other, whatever the steps between were."""

    def law(t: float, q: np.ndarray, qd: np.ndarray) -> Any:
        return [0.0, 0.0] if q[0] > -0.5 else None

    for way, tight in (("adaptive", 0.1), ("stiff", 0.1), ("fixed", 0.05), ("fixed, every 8th", 0.05)):
        s = WAYS[way](law)
        assert s.stopped is not None
        assert s.stopped.startswith("the torque function returned nothing at t = 0.")
        assert -0.5 < s.q[:, 0].min() < -0.5 + 2 * tight
        assert np.isfinite(s.tau).all()


@pytest.mark.slow
def test_a_torque_function_may_use_one_array_again() -> None:
    own = np.zeros(2)

    def law(t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        own[:] = t
        return own

    for way in WAYS:
        np.testing.assert_allclose(WAYS[way](law).tau[:5, 0], WAYS[way](lambda t, q, qd: [t, t]).tau[:5, 0])


def test_a_joint_that_moves_nothing_is_named() -> None:
    """A point of mass that turns about itself."""
    lift = Joint("reach", "prismatic", -1, Pose.identity(), np.array([1.0, 0.0, 0.0]))
    spin = Joint("spin", "revolute", 0, Pose.identity(), np.array([0.0, 0.0, 1.0]))
    robot = Robot("point", (lift, spin), ("rod", "point"), gravity=np.zeros(3))
    bodies = [from_com(1.0, np.zeros(3), 0.01 * np.eye(3)), from_com(1.0, np.zeros(3), np.zeros((3, 3)))]
    with pytest.raises(ModelError) as caught:
        simulate(plant(Model(robot), np.ravel(bodies)), [0, 0], [0, 0], [0, 1])
    assert str(caught.value) == (
        "the mass matrix is singular: joint 'spin' moves nothing that has inertia (link 'point' and on). "
        "Give the link mass and inertia, or the joint drive inertia."
    )
    armed = Model(robot, (DriveInertia(("spin",)),))
    assert simulate(plant(armed, [*np.ravel(bodies), 0.1]), [0, 0], [0, 1], [0, 1]).stopped is None


def test_a_mass_matrix_that_becomes_singular_on_the_way_ends_the_simulation() -> None:
    """A point of mass slides on a rail through the axis that it turns about."""
    turn = Joint("turn", "revolute", -1, Pose.identity(), np.array([0.0, 0.0, 1.0]))
    reach = Joint("reach", "prismatic", 0, Pose.identity(), np.array([1.0, 0.0, 0.0]))
    robot = Robot("rail", (turn, reach), ("rail", "bead"), gravity=np.zeros(3))
    p = plant(Model(robot), np.append(np.zeros(10), from_com(1.0, np.zeros(3), np.zeros((3, 3)))))
    s = simulate_fixed(p, [0.0, 1.0], [0.0, -1.0], 2.0, 0.125)
    assert s.stopped == (
        "the mass matrix is singular: joint 'turn' moves nothing that has inertia (link 'rail' and on) at t = 1 s"
    )
    assert s.t[-1] == 1.0 - 0.125
    np.testing.assert_allclose(s.q[-1], [0.0, 0.125], atol=1e-12)


# mistakes


TIMES = np.linspace(0, 1, 11)
MASSLESS = (
    "the mass matrix is singular: joint 'joint2' moves nothing that has inertia (link 'link2' and on). "
    "Give the link mass and inertia, or the joint drive inertia."
)


def massless() -> Plant:
    p = two_links()
    return replace(p, inertials=np.array([p.inertials[0], np.zeros(10)]))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: simulate(two_links(), [0.0], [0, 0], TIMES), "q must have shape (2), got (1,)."),
        (lambda: simulate(two_links(), [0, 0], [0, np.nan], TIMES), "qd[1] is nan, wanted a finite number."),
        (lambda: simulate_fixed(two_links(), [0, np.inf], [0, 0], 1, 0.1), "q[1] is inf, wanted a finite number."),
        (lambda: simulate(two_links(), ["a", 0], [0, 0], TIMES), "q must be numbers, got ['a', 0]."),
        (lambda: simulate(two_links(), [0, 0], [0, 0], [0.0]), "times must be two or more, got 1."),
        (
            lambda: simulate(two_links(), [0, 0], [0, 0], [0.0, 0.2, 0.1]),
            "times do not increase: 0.1 s comes after 0.2 s.",
        ),
        (
            lambda: simulate(two_links(), [0, 0], [0, 0], TIMES, method="DOP835"),
            "'DOP835' is no solver; did you mean 'DOP853'? It is one of RK23, RK45, DOP853, Radau, BDF, LSODA; "
            "simulate_fixed takes fixed steps of RK4.",
        ),
        (
            lambda: simulate(two_links(), [0, 0], [0, 0], TIMES, rtol=0.0),
            "rtol must be between 2.22045e-14 and 1, got 0.0.",
        ),
        # SciPy would take a coarser one and `method` would say what is not so
        (
            lambda: simulate(two_links(), [0, 0], [0, 0], TIMES, rtol=1e-20),
            "rtol must be between 2.22045e-14 and 1, got 1e-20.",
        ),
        (
            lambda: simulate(two_links(), [0, 0], [0, 0], TIMES, np.zeros((11, 2))),  # type: ignore[arg-type]
            "torque must be a function of t, q and qd, got ndarray. "
            "Wrap torques over time, (N, n) at the times (N,), as SampledTorque(times, torques).",
        ),
        (
            lambda: simulate_fixed(two_links(), [0, 0], [0, 0], 1.0, 0.1, [0.0, 1.0]),  # type: ignore[arg-type]
            "torque must be a function of t, q and qd, got list. "
            "Wrap torques over time, (N, n) at the times (N,), as SampledTorque(times, torques).",
        ),
        (
            lambda: rollouts(two_links(), [[0, 0]], [[0, 0]], np.zeros((11, 2)), 0.1, every=0),
            "every must be a whole number of steps from 1 on, got 0.",
        ),
        (lambda: simulate(two_links(), [0, 0], [0, 0], TIMES, atol=np.nan), "atol must be between 0 and 1, got nan."),
        (
            lambda: simulate(two_links(), [0, 0], [0, 0], TIMES, control_period=0.0),
            "control_period must be a positive time [s], got 0.0.",
        ),
        (
            lambda: simulate(two_links(), [0, 0], [0, 0], TIMES, lambda t, q, qd: np.zeros(3)),
            "the torque function returned 3 numbers at t = 0 s, wanted 2, one per joint. "
            "Return them in the order joint1, joint2.",
        ),
        (
            lambda: simulate(two_links(), [0, 0], [0, 0], TIMES, lambda t, q, qd: 0.0),
            "the torque function returned an array of shape () at t = 0 s, wanted 2, one per joint. "
            "Return them in the order joint1, joint2.",
        ),
        (
            lambda: simulate(two_links(), [0, 0], [0, 0], TIMES, lambda t, q, qd: None),
            "the torque function returned nothing at t = 0 s, wanted 2, one per joint. "
            "Return them in the order joint1, joint2.",
        ),
        (
            lambda: simulate(two_links(), [0, 0], [0, 0], TIMES, lambda t, q, qd: ["a", "b"]),
            "the torque at t = 0 s must be 2 numbers, got \"['a', 'b']\".",
        ),
        (
            lambda: simulate(two_links(), [0, 0], [0, 0], TIMES, lambda t, q, qd: [0.0, np.nan]),
            "the torque of joint 'joint2' is nan at t = 0 s.",
        ),
        (
            lambda: simulate(two_links(), [0, 0], [0, 0], TIMES, SampledTorque(TIMES, np.zeros((11, 3)))),
            "the sampled torques have 3 columns, the robot has 2 joints.",
        ),
        (
            lambda: simulate(two_links(), [0, 0], [0, 0], [0.0, 2.0], SampledTorque(TIMES, np.zeros((11, 2)))),
            "the sampled torques cover 0 s to 1 s, the simulation 0 s to 2 s. "
            "Simulate a shorter time, or give torques for all of it.",
        ),
        (lambda: SampledTorque(TIMES, np.zeros((10, 2))), "tau must have shape (11, any), got (10, 2)."),
        (
            lambda: SampledTorque([0.0, 0.0], np.zeros((2, 2))),
            "the times of the torques do not increase: 0 s comes after 0 s.",
        ),
        (lambda: simulate(massless(), [0, 0], [0, 0], TIMES), MASSLESS),
        (lambda: simulate_fixed(massless(), [0, 0], [0, 0], 1.0, 0.1), MASSLESS),
        (lambda: acceleration(massless(), np.zeros((3, 2)), np.zeros((3, 2)), np.zeros((3, 2))), MASSLESS),
        (
            lambda: simulate(replace(two_links(), inertials=-two_links().inertials), [0, 0], [0, 0], TIMES),
            "the mass matrix is not positive: joint 'joint2' moves an inertia of -0.252 kg m^2. "
            "Give the link mass and inertia, or the joint drive inertia.",
        ),
        (
            lambda: simulate(slide(limits=Limits(lower=-1, upper=1)), [1.5], [0], TIMES),
            "joint 'lift' starts at 1.5 m, outside its limits -1 to 1 m. Start inside, or set stop_at_limits=False.",
        ),
        (
            lambda: simulate_fixed(two_links(), [0, 0], [0, 0], 1.0, 0.3),
            "the duration 1 s is not a whole number of steps of 0.3 s.",
        ),
        (lambda: simulate_fixed(two_links(), [0, 0], [0, 0], 1.0, -0.1), "step must be a positive time [s], got -0.1."),
        (
            lambda: simulate_fixed(two_links(), [0, 0], [0, 0], 1.0, 0.1, control_period=0.25),
            "the control period 0.25 s is not a whole number of steps of 0.1 s. Choose a step that divides it.",
        ),
        (
            lambda: simulate_fixed(two_links(), [0, 0], [0, 0], 1.0, 0.1, every=0),
            "every must be a whole number of steps from 1 on, got 0.",
        ),
        (
            lambda: two_links((Coulomb(),), (1.0, -0.2)),
            "Coulomb friction of 'joint2' is -0.2, and negative friction drives. "
            "Set it to 0, or use the constrained fit, which keeps friction positive.",
        ),
        (
            lambda: two_links((Coulomb(),), (1.0, 1.0), friction_width=0.0),
            "friction_width must be a positive speed, got 0.0.",
        ),
        (lambda: plant(Model(two_links().robot), np.zeros(19)), "theta must have shape (20), got (19,)."),
        (lambda: plant(Model(two_links().robot), [np.nan] * 20), "theta[0] is nan, wanted a finite number."),
        (
            lambda: acceleration(two_links(), np.zeros((3, 2)), np.zeros((3, 2)), np.zeros((2, 2))),
            "q, qd and tau must be equally long, got [3, 3, 2] samples.",
        ),
        (
            lambda: ComputedTorque(two_links(), [1.0, 2.0, 3.0], 1.0, lost_reference),
            "kp must have shape (2), got (3,).",
        ),
        (
            lambda: simulate(two_links(), [0, 0], [0, 0], TIMES, ComputedTorque(two_links(), 1.0, 1.0, three)),
            "the reference gave arrays of shapes (3,), (3,), (3,) at t = 0 s, wanted (2,), (2,), (2,).",
        ),
        (
            lambda: simulate(two_links(), [0, 0], [0, 0], TIMES, ComputedTorque(two_links(), 1.0, 1.0, lambda t: None)),
            "the reference gave None at t = 0 s, wanted arrays of numbers.",
        ),
    ],
)
def test_mistakes_are_named(make: Any, message: str) -> None:
    with pytest.raises(IdentError) as caught:
        make()
    assert str(caught.value) == message
    assert type(caught.value) is ModelError
