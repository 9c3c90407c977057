"""Models: every term's columns against its formula, torque against regressor, the power of a transmission."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import random_bodies, random_tree
from seeds import cases

from ident.dynamics.rigid_body import inverse_dynamics
from ident.dynamics.rigid_body import regressor as rigid_regressor
from ident.errors import IdentError, ModelError, RobotError
from ident.logs import Motion
from ident.model import (
    Coulomb,
    Coupled,
    Dahl,
    DriveInertia,
    Hysteresis,
    LoadFriction,
    Model,
    NonlinearViscous,
    Offset,
    RelativeCoulomb,
    RippleSine,
    SmoothCoulomb,
    Spring,
    Stribeck,
    Thermal,
    Viscous,
    ViscousAsymmetry,
    WarmUp,
    coupled_drive,
    coupled_drives,
    regressor,
    torque,
)
from ident.model.term import columns
from ident.model.terms import restored
from ident.regression import base_parameters, compress
from ident.robot import Robot, Transmission
from ident.spatial.inertia import INERTIAL


def robot_of(n: int, seed: int = 0) -> Robot:
    return random_tree(np.random.default_rng(seed), n)


def states(n: int, samples: int = 40, seed: int = 1) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(seed)
    qd = rng.normal(0, 1, (samples, n))
    qd[0] = 0.0
    return rng.uniform(-3, 3, (samples, n)), qd, rng.normal(0, 3, (samples, n))


def all_terms(n: int) -> tuple:
    """Every term at once; Coulomb friction of two kinds on different joints."""
    names = tuple(f"joint{i + 1}" for i in range(n))
    shares = tuple(float(x) for x in np.arange(n) % 3)
    return (
        DriveInertia(),
        Viscous(names[::-1]),
        Coulomb(0.1, names[: n // 2]),
        SmoothCoulomb(0.05, names[n // 2 : -1]),
        Dahl(0.02, names[-1:]),
        NonlinearViscous(0.3, names[:-1], 0.8),
        NonlinearViscous(2.0, names, element=2),
        Stribeck(0.2, 0.03, names[2:]),
        Stribeck(0.4, 0.03, names[1:2], 1.0),
        Hysteresis(0.01, names[1:]),
        Hysteresis(0.1, names[-1:], 2),
        ViscousAsymmetry(names[:1]),
        Offset(names[-1:]),
        Spring(names[1:], 0.3),
        *coupled_drive("motor", shares, SmoothCoulomb(0.2)),
    )


@settings(max_examples=cases(25))
@given(st.integers(2, 9), st.integers(0, 10**6))
def test_regressor_times_theta_is_the_torque(n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    model = Model(random_tree(rng, n, points=True), all_terms(n))
    theta, x = rng.normal(size=len(model.names)), states(n, seed=seed)
    Y = regressor(model, *x)
    assert Y.shape == (40, n, len(model.names))
    tau = torque(model, theta, *x)
    np.testing.assert_allclose(Y @ theta, tau, atol=1e-11 * np.abs(Y).max() * np.abs(theta).max())


def test_torque_is_inverse_dynamics_plus_the_terms() -> None:
    n = 5
    robot = robot_of(n)
    model = Model(robot, (DriveInertia(), Viscous(), Coulomb(), Offset()))
    theta = np.random.default_rng(3).normal(size=len(model.names))
    q, qd, qdd = states(n)
    ia, fv, fc, f0 = theta[50:].reshape(4, n)
    expected = inverse_dynamics(robot, theta[:50].reshape(n, 10), q, qd, qdd)
    expected = expected + ia * qdd + fv * qd + fc * np.sign(qd) + f0
    np.testing.assert_allclose(torque(model, theta, q, qd, qdd), expected, atol=1e-12)


def column(model: Model, name: str, x: tuple[np.ndarray, ...]) -> np.ndarray:
    """Return the regressor's column (N, n) of one parameter."""
    return regressor(model, *x)[:, :, model.index(name)]


@pytest.mark.parametrize(
    ("term", "name", "formula"),
    [
        (DriveInertia(), "joint2.drive_inertia", lambda q, qd, qdd: qdd),
        (Viscous(), "joint2.viscous", lambda q, qd, qdd: qd),
        (NonlinearViscous(0.4), "joint2.nonlinear_viscous", lambda q, qd, qdd: np.sign(qd) * np.abs(qd) ** 0.4),
        (
            NonlinearViscous(0.5, top=0.25),
            "joint2.nonlinear_viscous",
            lambda q, qd, qdd: (
                np.sign(qd) * np.where(np.abs(qd) < 0.25, np.abs(qd) ** 0.5, 0.5 + (np.abs(qd) - 0.25) * 1.0)
            ),
        ),
        (Coulomb(), "joint2.coulomb", lambda q, qd, qdd: np.sign(qd)),
        (Coulomb(0.5), "joint2.coulomb", lambda q, qd, qdd: np.where(np.abs(qd) > 0.5, np.sign(qd), 0.0)),
        (SmoothCoulomb(0.03), "joint2.coulomb", lambda q, qd, qdd: np.tanh(qd / 0.03)),
        (Stribeck(0.2, 0.03), "joint2.stribeck", lambda q, qd, qdd: np.exp(-((qd / 0.2) ** 2)) * np.tanh(qd / 0.03)),
        (
            Stribeck(0.2, 0.03, exponent=1.0),
            "joint2.stribeck",
            lambda q, qd, qdd: np.exp(-np.abs(qd / 0.2)) * np.tanh(qd / 0.03),
        ),
        (ViscousAsymmetry(), "joint2.viscous_asymmetry", lambda q, qd, qdd: np.abs(qd)),
        (Offset(), "joint2.offset", lambda q, qd, qdd: np.ones_like(qd)),
        (Spring(), "joint2.stiffness", lambda q, qd, qdd: q),
        (Spring(rest=-0.7), "joint2.stiffness", lambda q, qd, qdd: q + 0.7),
    ],
)
def test_each_column_is_its_formula_in_its_own_joint_only(term, name: str, formula) -> None:
    x = states(3)
    found = column(Model(robot_of(3), (term,)), name, x)
    expected = np.zeros((40, 3))
    expected[:, 1] = formula(*(part[:, 1] for part in x))
    np.testing.assert_array_equal(found, expected)


def test_elements_of_hysteresis_stand_side_by_side_on_one_joint() -> None:
    """Two of them turn around in two ways: their sum is that of both, and each has a parameter of its own."""
    q = (0.02 * np.sin(np.linspace(0.0, 20.0, 400)))[:, None]
    x = (q, np.gradient(q, axis=0), 0.0 * q)
    pair = (Hysteresis(2e-4), Hysteresis(5e-3, element=2))
    model = Model(robot_of(1), pair)
    assert model.names[10:] == ("joint1.hysteresis", "joint1.hysteresis2")
    each = [columns(Hysteresis(way), model.robot, *x)[0] for way in (2e-4, 5e-3)]
    theta = np.concatenate([np.zeros(10), [3.0, 1.0]])
    np.testing.assert_allclose(torque(model, theta, *x)[:, 0], 3.0 * each[0] + each[1])
    found = [
        restored("hysteresis2", {"way": 5e-3, "element": 2.0}, ("joint1",)),
        restored("hysteresis", {"way": 1.0}, ()),
    ]
    assert found == [Hysteresis(5e-3, ("joint1",), 2.0), Hysteresis(1.0, ())]
    with pytest.raises(ModelError, match="a whole number from 1 to 9"):
        Model(robot_of(1), (Hysteresis(1e-3, element=1.5),))


def test_powers_of_the_speed_on_one_joint_are_a_polynomial() -> None:
    """Viscous friction and powers of 2 and 3 are told apart, and are the columns v, v |v| and v^3."""
    q, qd, qdd = states(1)
    model = Model(robot_of(1), (Viscous(), NonlinearViscous(2.0), NonlinearViscous(3.0, element=2)))
    assert model.names[10:] == ("joint1.viscous", "joint1.nonlinear_viscous", "joint1.nonlinear_viscous2")
    found = regressor(model, q, qd, qdd)[:, 0, 10:]
    np.testing.assert_allclose(found, np.concatenate([qd, qd * np.abs(qd), qd**3], axis=1))
    assert set(model.names[10:]) <= set(base_parameters(model).identifiable)


def test_driving_and_being_driven_differ_by_a_gain_of_the_links_torque() -> None:
    """Why gear efficiency is no term: beside load friction its column is in the span of the rigid bodies' columns."""
    q, qd, qdd = states(3)
    robot = robot_of(3)
    inertials = np.array(random_bodies(np.random.default_rng(0), 3))
    load, rigid = inverse_dynamics(robot, inertials, q, qd, qdd), regressor(Model(robot), q, qd, qdd)
    moving = qd[:, 0] != 0.0
    for j in range(3):
        rubs = np.abs(load[:, j]) * np.sign(qd[:, j])
        driving = (rubs * (load[:, j] * qd[:, j] > 0.0))[moving]
        beside = np.column_stack([rigid[moving, j], rubs[moving]])
        left = driving - beside @ np.linalg.lstsq(beside, driving, rcond=1e-10)[0]
        assert np.linalg.norm(left) < 1e-9 * np.linalg.norm(driving)


def test_smooth_coulomb_reaches_76_percent_at_its_width() -> None:
    none = np.zeros((1, 1))
    share = columns(SmoothCoulomb(0.3), robot_of(1), none, np.array([[0.3]]), none)[0, 0]
    assert share == pytest.approx(0.7616, abs=1e-4)


def test_dahl_friction_solves_its_equation() -> None:
    from scipy.integrate import solve_ivp

    t = np.linspace(0.0, 6.0, 3001)
    q, speed = 0.02 * np.sin(2.0 * t), 0.04 * np.cos(2.0 * t)
    found = columns(Dahl(0.005), robot_of(1), q[:, None], speed[:, None], 0.0 * q[:, None])[0]
    beside = columns(Hysteresis(0.005), robot_of(1), q[:, None], speed[:, None], 0.0 * q[:, None])[0]
    np.testing.assert_array_equal(beside, found)

    def rate(time: float, z: np.ndarray) -> np.ndarray:
        v = 0.04 * np.cos(2.0 * time)
        return (v - z * abs(v)) / 0.005

    expected = solve_ivp(rate, (0.0, 6.0), [1.0], t_eval=t, rtol=1e-9, atol=1e-9, max_step=0.01).y[0]
    np.testing.assert_allclose(found, expected, atol=2e-4)
    assert found.min() < -0.99


def test_dahl_friction_holds_its_force_at_standstill_and_whole_motions_are_one_history() -> None:
    moving = np.concatenate([np.linspace(0.0, 1.0, 50), np.full(9000, 1.0), np.linspace(1.0, 0.9, 50)])
    z = columns(Dahl(0.01), robot_of(1), moving[:, None], 0.0 * moving[:, None], 0.0 * moving[:, None])[0]
    np.testing.assert_allclose(z[:9050], 1.0)
    assert z[-1] == pytest.approx(-1.0, abs=1e-3)
    # compressed in pieces of 8192 rows, the standstill remembers the movement before it
    motion = Motion("m", np.arange(9100.0), q=moving[:, None], qd=np.zeros((9100, 1)),
                    qdd=np.zeros((9100, 1)), tau=3.0 * z[:, None], keep=np.ones((9100, 1), bool))  # fmt: skip
    weightless = robot_of(1).with_gravity([0, 0, 0])
    regression = compress(Model(weightless, (Dahl(0.01),)), motion)
    factor = regression.segments[0].factors[0]
    place = regression.parameters[0].index(regression.base.names.index("joint1.coulomb"))
    assert factor[place, -1] / factor[place, place] == pytest.approx(3.0)


def test_terms_of_some_joints_keep_the_order_given() -> None:
    model = Model(robot_of(4), (Viscous(("joint3", "joint1")), Offset(("joint4",))))
    assert model.names[40:] == ("joint3.viscous", "joint1.viscous", "joint4.offset")
    assert model.term_entries == ((2, 40), (0, 41), (3, 42))
    x = states(4)
    np.testing.assert_array_equal(column(model, "joint3.viscous", x)[:, 2], x[1][:, 2])


def test_names_are_links_in_the_agreed_order_then_terms() -> None:
    model = Model(robot_of(2), (Offset(), Viscous()))
    rigid = [f"link{i}.{part}" for i in (1, 2) for part in INERTIAL]
    assert list(model.names) == [*rigid, "joint1.offset", "joint2.offset", "joint1.viscous", "joint2.viscous"]
    assert model.nonnegative.tolist() == [False, False, True, True]
    assert model.index("link2.Ixx") == 14


# motors that turn with several joints


def coupled_robot(seed: int = 0) -> Robot:
    matrix = np.diag([32.0, -48.0, 45.0, 32.0])
    matrix[3, 2] = 32.0
    return replace(robot_of(4, seed), transmission=Transmission(("m1", "m2", "m3", "m4"), matrix))


def test_coupled_drives_are_found_in_the_transmission() -> None:
    drives = coupled_drives(coupled_robot(), Coulomb(0.1))
    assert drives == tuple(Coupled("m4", (0.0, 0.0, 1.0, 1.0), x) for x in (DriveInertia(), Viscous(), Coulomb(0.1)))
    names = Model(coupled_robot(), drives).names[40:]
    assert names == ("m4.drive_inertia", "m4.viscous", "m4.coulomb")
    assert coupled_drives(robot_of(4)) == ()


def test_coupled_columns_are_their_formula() -> None:
    robot = coupled_robot()
    _, qd, qdd = x = states(4)
    v, a = qd[:, 2] + 0.5 * qd[:, 3], qdd[:, 2] + 0.5 * qdd[:, 3]
    model = Model(robot, coupled_drive("m", (0.0, 0.0, 1.0, 0.5), Coulomb(0.2)))
    for name, motor in (
        ("m.drive_inertia", a),
        ("m.viscous", v),
        ("m.coulomb", np.where(np.abs(v) > 0.2, np.sign(v), 0.0)),
    ):
        expected = np.zeros((40, 4))
        expected[:, 2], expected[:, 3] = motor, 0.5 * motor
        np.testing.assert_allclose(column(model, name, x), expected, atol=1e-15)


@settings(max_examples=cases(20))
@given(st.integers(0, 10**6))
def test_no_power_is_lost_or_made_between_motors_and_joints(seed: int) -> None:
    """qd_motor . tau_motor = qd_joint . tau_joint, and a motor's inertia and friction mean the same on either side."""
    rng = np.random.default_rng(seed)
    robot = coupled_robot(seed)
    matrix = robot.transmission.matrix
    q, qd, qdd = states(4, seed=seed)
    motor_speed, motor_acceleration = qd @ matrix.T, qdd @ matrix.T
    tau_motor = rng.normal(size=(40, 4))
    tau = robot.transmission.joint_torque(tau_motor)
    np.testing.assert_allclose(np.sum(tau * qd, axis=1), np.sum(tau_motor * motor_speed, axis=1), atol=1e-9)
    np.testing.assert_allclose(robot.transmission.joint_position(motor_speed), qd, atol=1e-12)

    # the coupled motor with rotor inertia J and friction fv, fc on its own shaft, reflected by its ratio squared
    J, fv, fc = rng.uniform(0, 1e-3, 3)
    ratio = matrix[3, 3]
    at_motor = np.zeros((40, 4))
    at_motor[:, 3] = J * motor_acceleration[:, 3] + fv * motor_speed[:, 3] + fc * np.sign(motor_speed[:, 3])
    model = Model(robot, coupled_drives(robot))
    theta = np.zeros(len(model.names))
    theta[-3:] = J * ratio**2, fv * ratio**2, fc * ratio
    np.testing.assert_allclose(torque(model, theta, q, qd, qdd), robot.transmission.joint_torque(at_motor), atol=1e-9)


def test_coulomb_friction_always_takes_power() -> None:
    robot = coupled_robot()
    terms = (Coulomb(0.05), *coupled_drives(robot, SmoothCoulomb(0.1)))
    model = Model(robot, terms)
    theta = np.zeros(len(model.names))
    theta[model.n_rigid :] = np.where(
        [n.endswith(("coulomb", "viscous")) for n in model.names[model.n_rigid :]], 1.0, 0.0
    )
    q, qd, qdd = states(4)
    assert (np.sum(torque(model, theta, q, qd, 0 * qdd) * qd, axis=1) >= 0).all()


# fingerprints


def test_fingerprint_tells_robots_and_terms_apart() -> None:
    robot = robot_of(3)
    models = [
        Model(robot),
        Model(robot, (Viscous(),)),
        Model(robot, (Viscous(("joint1",)),)),
        Model(robot, (Coulomb(),)),
        Model(robot, (Coulomb(0.1),)),
        Model(robot, (Spring(),)),
        Model(robot, (Spring(rest=0.1),)),
        Model(robot, (Viscous(), Coulomb())),
        Model(robot, (Coulomb(), Viscous())),
        Model(robot.with_gravity([0, 0, 9.81])),
        Model(robot_of(3, seed=1)),
        Model(replace(robot, joints=(replace(robot.joints[0], name="other"), *robot.joints[1:]))),
    ]
    assert len({m.fingerprint() for m in models}) == len(models)
    assert Model(robot, (Viscous(), Coulomb())).fingerprint() == models[7].fingerprint()


# errors


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda r: Model(r, (Coulomb(), SmoothCoulomb(0.1))),
            "parameter 'joint1.coulomb' comes from two terms. Give each joint one of them.",
        ),
        (lambda r: Model(r, (Viscous(("jiont2",)),)), "robot 'tree' has no joint 'jiont2'; did you mean 'joint2'?"),
        (
            lambda r: Model(r, (Viscous(("joint1", "joint1")),)),
            "parameter 'joint1.viscous' comes from two terms. Give each joint one of them.",
        ),
        (lambda r: coupled_drive("m6", (0.0, float("inf"))), "shares[1] is inf, wanted a finite number."),
        (lambda r: Model(r).index("link2.hX"), "the model has no parameter 'link2.hX'; did you mean 'link2.hz'?"),
        (lambda r: torque(Model(r), np.zeros(29), *states(3)), "theta must have shape (30), got (29,)."),
        (lambda r: regressor(Model(r), *states(4)), "q must have shape (any, 3), got (40, 4)."),
        (
            lambda r: regressor(Model(r, coupled_drive("m", (1.0, 1.0))), *states(3)),
            "motor 'm' names 2 joints, the robot has 3.",
        ),
        (
            lambda r: coupled_drives(
                replace(r, transmission=Transmission(("a", "b", "c"), [[0, 1, 1], [1, 0, 0], [0, 0, 1]]))
            ),
            "motor 'a' does not turn with its own joint 'joint1'.",
        ),
    ],
)
def test_mistakes_are_named(make, message: str) -> None:
    with pytest.raises(ModelError) as caught:
        make(robot_of(3))
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("term", "message"),
    [
        (Coulomb(-0.1), "dead_zone of Coulomb friction is -0.1, wanted a speed that is 0 or more"),
        (Coulomb(float("nan")), "dead_zone of Coulomb friction is nan, wanted a speed that is 0 or more"),
        (LoadFriction(law=Dahl(0.0)), "dahl of Coulomb friction is 0, wanted a travel above 0"),
        (Coupled("m", (0, 1, 1), SmoothCoulomb(-1.0)), "tanh of Coulomb friction is -1, wanted a speed above 0"),
        (Spring(rest=float("inf")), "rest of spring is inf, wanted a position"),
        (SmoothCoulomb(0.0), "tanh of Coulomb friction is 0, wanted a speed above 0"),
        (Stribeck(0.1, exponent=1.5), "exponent of Stribeck friction is 1.5, wanted 1 or 2"),
        (Stribeck(0.1, width=0.0), "width of Stribeck friction is 0, wanted a speed above 0"),
        (Hysteresis(0.0), "way of hysteresis friction is 0, wanted a travel above 0"),
        (Hysteresis(1e-3, element=1.5), "element of hysteresis friction is 1.5, wanted a whole number from 1 to 9"),
        (NonlinearViscous(2.0, top=-1.0), "top of nonlinear viscous friction is -1, wanted a speed that is 0 or more"),
        (NonlinearViscous(3.5), "power of nonlinear viscous friction is 3.5, wanted a power of the speed, above 0 and"),
        (WarmUp(-1.0), "time of viscous friction that falls while a joint warms up is -1, wanted a time above 0"),
        (Thermal(float("nan")), "reference of viscous friction that changes with temperature is nan, wanted a temp"),
        (RippleSine(-1.0), "per_turn of ripple, sine is -1, wanted a number of waves above 0 and below 1e"),
        (RelativeCoulomb(0.0, ("joint1", "joint2")), "ratio of Coulomb friction between two joints is 0, wanted a num"),
    ],
)
def test_numbers_that_no_term_takes_are_named(term, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        Model(robot_of(3), (term,))


def test_a_transmission_of_another_size_is_refused() -> None:
    with pytest.raises(RobotError, match="the transmission is for 2 joints, the robot has 3"):
        replace(robot_of(3), transmission=Transmission(("a", "b"), np.eye(2)))
    with pytest.raises(RobotError, match="some joint is moved by no motor"):
        Transmission(("a", "b"), [[1.0, 1.0], [1.0, 1.0]])
    assert issubclass(RobotError, IdentError)


def test_the_regressor_is_that_of_the_bodies_beside_the_terms_bit_for_bit():
    robot = random_tree(np.random.default_rng(1), 4)
    names = robot.joint_names
    terms = (Viscous(), Coulomb(joints=names[1:]), Offset(joints=names[:1]), RelativeCoulomb(0.5, joints=names[2:]))
    model = Model(robot, terms)
    for samples in (1, 7, 300):
        q, qd, qdd = x = np.random.default_rng(samples).normal(size=(3, samples, 4))
        expected = np.zeros((samples, 4, len(model.names)))
        expected[:, :, : model.n_rigid] = rigid_regressor(robot, q, qd, qdd)
        for (j, k), column in zip(model.term_entries, model.term_columns(q, qd, qdd), strict=True):
            expected[:, j, k] += column
        out = np.full(expected.shape, np.nan)
        assert regressor(model, *x, out=out) is out
        np.testing.assert_array_equal(out, expected)
        np.testing.assert_array_equal(regressor(model, *x), expected)
    with pytest.raises(ModelError, match=r"out must be a C-contiguous float64 array of shape \(300, 4, \d+\)"):
        regressor(model, *x, out=out[:, :, 1:])
