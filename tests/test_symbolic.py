"""Symbolic equations of motion: three derivations, closed forms, planar arms, and the arithmetic below them."""

from __future__ import annotations

import itertools
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import pin_torque, pin_tree, random_bodies, random_tree
from seeds import cases
from symbolic_derivations import evaluate, gradient, lagrange, rate, traces
from symbolic_robots import four, motion, relative, scara, ur5e

from ident import dynamics
from ident.errors import ModelError
from ident.model import Coulomb, Model
from ident.regression import base_parameters
from ident.robot import MDHJoint, Robot, from_mdh
from ident.symbolic import ClosedForm, Program, closed_form, functions, planar, planar_arm
from ident.symbolic.closed_form import exact
from ident.symbolic.fourier import Fourier, Ring
from ident.symbolic.newton_euler import inverse_dynamics as newton_euler
from ident.symbolic.newton_euler import joint_names, mechanism, parameter_names, tidy, tidy_cosine
from ident.symbolic.program import Tape, traced

DERIVATIONS = (lagrange, traces, newton_euler)
ROBOTS = four()


def inverse_dynamics(robot: Robot, derivation) -> Program:
    arm, n = mechanism(robot), robot.n
    inputs = {letter: joint_names(letter, n) for letter in ("q", "qd", "qdd")} | {"theta": parameter_names(robot)}
    return traced(
        "inverse_dynamics", inputs, "tau", lambda q, qd, qdd, theta: derivation(arm, theta.reshape(n, 10), q, qd, qdd)
    )


def evaluated(form: ClosedForm, matrix: sympy.Matrix, state: dict[str, np.ndarray], theta: np.ndarray) -> np.ndarray:
    """Return a closed form's matrix (N, rows, columns) at states and standard parameters."""
    symbols = [*form.q, *form.qd, *form.qdd, *form.theta]
    values = [*state["q"].T, *state["qd"].T, *state["qdd"].T, *theta.ravel()]
    rows = sympy.lambdify(symbols, list(matrix), modules="numpy", cse=True)(*values)
    samples = len(state["q"])
    return np.stack([np.broadcast_to(x, samples) for x in rows], axis=-1).reshape(samples, *matrix.shape)


# Three derivations


@pytest.mark.parametrize("name", ROBOTS)
def test_three_derivations_agree(name: str) -> None:
    robot = ROBOTS[name]
    theta, state = random_bodies(np.random.default_rng(1), robot.n), motion(robot.n)
    taus = [evaluate(inverse_dynamics(robot, d), **state, theta=theta.reshape(1, -1)) for d in DERIVATIONS]
    for one, other in itertools.combinations(taus, 2):
        assert relative(one, other) < 1e-11
    for tau in taus:
        assert relative(tau, dynamics.inverse_dynamics(robot, theta, **state)) < 1e-11
        assert relative(tau, pin_torque(pin_tree(robot, theta), *state.values())) < 1e-11


@pytest.mark.parametrize("seed", range(cases(12)))
def test_three_derivations_agree_on_random_trees(seed: int) -> None:
    rng = np.random.default_rng(seed)
    robot = random_tree(rng, 1 + seed % 7, points=seed % 2 == 0)
    theta, state = random_bodies(rng, robot.n), motion(robot.n, seed, 10)
    expected = pin_torque(pin_tree(robot, theta), *state.values())
    for derivation in DERIVATIONS:
        tau = evaluate(inverse_dynamics(robot, derivation), **state, theta=theta.reshape(1, -1))
        assert relative(tau, expected) < 1e-11, derivation.__name__


@pytest.mark.slow
@pytest.mark.parametrize("numbers", [False, True])
@pytest.mark.parametrize("robot", [*ROBOTS.values(), random_tree(np.random.default_rng(5), 6, points=True)])
def test_programs_are_the_batch_functions(robot: Robot, numbers: bool) -> None:
    theta, state = random_bodies(np.random.default_rng(2), robot.n), motion(robot.n)
    given = state | ({} if numbers else {"theta": theta.reshape(1, -1)})
    found = {
        p.name: evaluate(p, **{array: given[array] for array in p.inputs})
        for p in functions(robot, theta if numbers else None)
    }
    q, qd = state["q"], state["qd"]
    expected = {
        "inverse_dynamics": dynamics.inverse_dynamics(robot, theta, **state),
        "regressor": dynamics.regressor(robot, **state),
        "base_regressor": dynamics.regressor(robot, **state)[:, :, list(base_parameters(Model(robot)).kept)],
        "mass_matrix": dynamics.mass_matrix(robot, theta, q),
        "coriolis_matrix": dynamics.coriolis_matrix(robot, theta, q, qd),
        "gravity": dynamics.gravity_load(robot, theta, q),
    }
    assert found.keys() == expected.keys()
    for name, values in expected.items():
        assert relative(found[name], values) < 1e-11, name


# Closed forms


@pytest.mark.slow
@pytest.mark.parametrize("name", ROBOTS)
def test_closed_form_is_the_batch_functions(name: str) -> None:
    robot = ROBOTS[name]
    theta, state = random_bodies(np.random.default_rng(3), robot.n), motion(robot.n)
    form = closed_form(robot, theta if name == "ur5e" else None)
    q, qd = state["q"], state["qd"]
    assert relative(evaluated(form, form.D, state, theta), dynamics.mass_matrix(robot, theta, q)) < 1e-11
    assert relative(evaluated(form, form.C, state, theta), dynamics.coriolis_matrix(robot, theta, q, qd)) < 1e-11
    assert relative(evaluated(form, form.g, state, theta)[..., 0], dynamics.gravity_load(robot, theta, q)) < 1e-11
    if name == "ur5e":  # numbers worked in: no parameter is left
        assert not form.D.free_symbols & set(form.theta)
        return
    base = base_parameters(Model(robot))
    Y = evaluated(form, form.Y, state, theta)
    assert relative(Y, dynamics.regressor(robot, **state)) < 1e-11
    kept = evaluated(form, form.base_regressor(base), state, theta)
    phi = evaluated(form, form.base_parameters(base), state, theta)
    assert relative((kept @ phi)[..., 0], dynamics.inverse_dynamics(robot, theta, **state)) < 1e-11


def test_closed_form_of_a_branched_tree_beside_its_frames() -> None:
    robot = random_tree(np.random.default_rng(11), 3, points=True)
    assert len(set(robot.parents)) < 3
    theta, state = random_bodies(np.random.default_rng(3), 3), motion(3)
    form = closed_form(robot)
    assert relative(evaluated(form, form.D, state, theta), dynamics.mass_matrix(robot, theta, state["q"])) < 1e-11
    assert relative(evaluated(form, form.Y, state, theta), dynamics.regressor(robot, **state)) < 1e-11


def test_closed_form_is_that_of_the_textbook() -> None:
    """Craig, Introduction to Robotics, equation 6.59 ff., two point masses; and the symbols' names."""
    robot = replace(from_mdh("arm", [MDHJoint(), MDHJoint(a=0.5)], gravity=(0, -9.81, 0)), links=("upper", "fore-arm"))
    form = closed_form(robot)
    upper, fore, hx, hy = sympy.symbols("upper_Izz fore_arm_Izz fore_arm_hx fore_arm_hy")
    m, (_, q2), (qd1, qd2) = sympy.Symbol("fore_arm_m"), form.q, form.qd
    length = sympy.Rational(1, 2)
    coupling = length * (hx * sympy.cos(q2) - hy * sympy.sin(q2))
    assert sympy.expand(form.D[0, 0] - (upper + fore + m * length**2 + 2 * coupling)) == 0
    assert sympy.expand(form.D[0, 1] - (fore + coupling)) == 0
    assert form.D[1, 1] == fore
    slope = sympy.diff(coupling, q2)
    wanted = sympy.Matrix([[slope * qd2, slope * (qd1 + qd2)], [-slope * qd1, 0]])
    assert sympy.expand(form.C - wanted) == sympy.zeros(2, 2)


@pytest.mark.slow
def test_matrices_have_the_structure_of_mechanics() -> None:
    form = closed_form(scara())
    assert form.D == form.D.T
    rate_of_D = sum((form.D.diff(q) * qd for q, qd in zip(form.q, form.qd, strict=True)), sympy.zeros(4, 4))
    skew = (rate_of_D - 2 * form.C).expand()
    assert (skew + skew.T).expand() == sympy.zeros(4, 4)
    tau = form.D * form.qdd + form.C * form.qd + form.g
    assert (form.Y * form.theta - tau).expand() == sympy.zeros(4, 1)


@pytest.mark.slow
def test_right_angles_leave_no_rounding() -> None:
    """In the closed form of the six-joint arm, cos(pi/2) is 0: every number is a product of lengths or a fraction."""
    form = closed_form(ur5e())
    sizes = {abs(float(x)) for entry in form.D for x in entry.atoms(sympy.Number)}
    assert min(sizes - {0.0}) > 1e-3
    assert {0.425, 0.3922 * 2} <= sizes
    assert form.D.has(sympy.cos(form.q[1] + form.q[2]))
    assert not form.D.has(form.q[0])  # a mass matrix does not depend on the first joint


def test_multiples_of_fifteen_degrees_are_exact() -> None:
    for k in range(-24, 25):
        assert tidy_cosine(np.cos(k * np.pi / 12) + 3e-15) == float(sympy.cos(k * sympy.pi / 12))
    rows = [MDHJoint(), MDHJoint(alpha=np.pi / 3)]
    form = closed_form(from_mdh("tilted", rows, gravity=(0, 0, -10)))
    assert sympy.sqrt(3) in {abs(x) for x in form.g[1].atoms(sympy.Pow)}
    assert exact(1 / 3) == sympy.Rational(1, 3)
    assert exact(-np.sqrt(0.5)) == -sympy.sqrt(2) / 2
    assert exact(0.0996) == sympy.Float("0.0996")
    assert tidy(0.1 + 0.2) == 0.3
    assert tidy(np.pi) == np.pi
    assert tidy_cosine(-3.67e-6) == -3.67e-6  # what a file gives as 1.5708 is not a right angle


# Planar arms


def test_planar_arm_of_the_paper() -> None:
    """Terms as the paper on planar arms with MATLAB's symbols prints them for seven links."""
    form = planar(7)
    a, m = sympy.symbols("a1:8"), sympy.symbols("m1:8")
    q = [*form.q]
    third = sympy.Rational(1, 3)

    def coefficient(x: sympy.Expr, i: int, j: int, k: int) -> sympy.Expr:
        """Of m_i a_j a_k, links counted from 1."""
        return x.coeff(m[i - 1]).coeff(a[j - 1]).coeff(a[k - 1])

    x = form.D[1, 2]
    for i in (5, 6, 7):
        assert coefficient(x, i, 2, 4) == sympy.cos(q[2] + q[3])
    assert coefficient(x, 6, 4, 6) == sympy.cos(q[4] + q[5])
    assert coefficient(x, 7, 4, 6) == 2 * sympy.cos(q[4] + q[5])
    assert coefficient(x, 5, 4, 5) == sympy.cos(q[4])
    assert coefficient(x, 6, 4, 5) == 2 * sympy.cos(q[4])
    assert coefficient(x, 7, 4, 7) == sympy.cos(q[4] + q[5] + q[6])
    assert form.D[6, 6] == third * m[6] * a[6] ** 2
    assert form.g[6] == m[6] * sympy.Symbol("g0") * a[6] * sympy.cos(sum(q)) / 2


@pytest.mark.slow
@pytest.mark.parametrize("n", [1, 2, 4])
def test_planar_arm_of_numbers_is_the_robot(n: int) -> None:
    rng = np.random.default_rng(n)
    lengths, masses = rng.uniform(0.3, 1.5, (2, n))
    robot = planar_arm(n, lengths, masses, gravity=9.7)
    state = motion(n)
    symbols, numbers = planar(n), planar(n, lengths, masses, 9.7)
    values = dict(zip(sympy.symbols(f"a1:{n + 1} m1:{n + 1} g0"), [*lengths, *masses, 9.7], strict=True))
    for form in (closed_form(robot, robot.inertials), numbers):
        assert relative(evaluated(form, form.D, state, robot.inertials), dynamics.mass_matrix(
            robot, robot.inertials, state["q"])) < 1e-11  # fmt: skip
    for matrix, expected in (
        (symbols.C, dynamics.coriolis_matrix(robot, robot.inertials, state["q"], state["qd"])),
        (symbols.g, dynamics.gravity_load(robot, robot.inertials, state["q"])[..., None]),
        (symbols.Y, dynamics.regressor(robot, **state)),
    ):
        found = evaluated(symbols, matrix.subs(values), state, robot.inertials)
        assert np.abs(found - expected).max() <= 1e-11 * max(1.0, np.abs(expected).max())


@pytest.mark.slow
def test_ten_planar_links() -> None:
    form = planar(10)
    assert len(form.D[0, 0].args) > 200
    (term,) = [t for t in form.D[0, 9].args if t.has(sympy.Symbol("a1"))]
    assert term == sympy.prod(sympy.symbols("m10 a1 a10")) * sympy.cos(sum([*form.q][1:])) / 2


# Bad input


def test_a_robot_too_large_for_a_closed_form_is_told_so() -> None:
    rows = [MDHJoint(a=0.1 * i, alpha=0.3 + i, d=0.2) for i in range(7)]
    with pytest.raises(ModelError, match="robot 'long': the closed form has an expression of more than"):
        closed_form(from_mdh("long", rows))
    with pytest.raises(ModelError, match="planar arm of 40 links"):
        planar(40)


def test_wrong_arguments_are_told_so() -> None:
    robot = planar_arm(2)
    for call in (lambda p: closed_form(robot, p), lambda p: functions(robot, p)):
        with pytest.raises(ModelError, match=r"inertials must have shape \(2, 10\)"):
            call(np.ones((3, 10)))
        with pytest.raises(ModelError, match=r"inertials\[0, 3\] is nan"):
            call(np.where(np.arange(20).reshape(2, 10) == 3, np.nan, 1.0))
    for n, lengths in ((0, 1.0), (2, [1.0, -1.0]), (2, [1.0, 2.0, 3.0])):
        for call in (planar, planar_arm):
            with pytest.raises(ModelError):
                call(n, lengths)
    for n in (2.5, "3", None):
        for call in (planar, planar_arm):
            with pytest.raises(ModelError, match=f"a planar arm has a whole number of links, got n = {n!r}"):
                call(n)
    with pytest.raises(ModelError, match="Take those of Model"):
        closed_form(robot).base_regressor(base_parameters(Model(robot, (Coulomb(),))))
    program = functions(robot)[-1]
    with pytest.raises(ModelError, match="gravity takes q, theta; got q"):
        evaluate(program, q=np.zeros((1, 2)))
    with pytest.raises(ModelError, match="theta has 3 samples"):
        evaluate(program, q=np.zeros((2, 2)), theta=np.zeros((3, 20)))


def test_importing_is_quick() -> None:
    code = "import sys, ident.symbolic; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"sympy", "numba", "scipy"} & set(done.stdout.split())


# The arithmetic


def test_a_tape_keeps_each_operation_once() -> None:
    x, y = Tape().inputs(["x", "y"])
    before = len(x.tape.nodes)
    assert x * y is y * x
    assert x + y is y + x
    assert x - x == 0.0
    assert x * 0.0 == 0.0
    assert x * 1.0 is x
    opposite = -x
    assert -opposite is x
    assert (y - x) is -(x - y) or (x - y) is -(y - x)
    assert 2.0 * x + x is 3.0 * x
    assert (-x) * (-y) is x * y
    assert 0.5 * (2.0 * x) is x
    assert 0.1 * x + 0.2 * x - 0.3 * x == 0.0
    assert len(x.tape.nodes) - before < 16


SMALL = st.floats(-2, 2).map(lambda x: round(x, 2))
TREES = st.recursive(
    st.sampled_from(["q1", "q2", "a"]) | SMALL,
    lambda inner: st.tuples(st.sampled_from(["+", "-", "*", "sin", "cos"]), inner, inner),
    max_leaves=12,
)


def formula(tree, symbols, sin, cos):
    """Return the tree's value on any kind of number; sin and cos are of q1 and q2 only."""
    if not isinstance(tree, tuple):
        return symbols.get(tree, tree) if isinstance(tree, str) else tree
    op, *inner = tree
    if op in ("sin", "cos"):
        angle = symbols["angle1" if str(inner[0]) < str(inner[1]) else "angle2"]
        return (sin if op == "sin" else cos)(angle)
    a, b = (formula(x, symbols, sin, cos) for x in inner)
    return a + b if op == "+" else a - b if op == "-" else a * b


@settings(max_examples=cases(150))
@given(TREES, SMALL, SMALL, SMALL)
def test_programs_and_their_derivatives(tree, q1: float, q2: float, a: float) -> None:
    tape = Tape()
    nodes = tape.inputs(["q1", "q2", "a"])

    def with_symbols(values) -> dict:
        return dict(zip(("q1", "q2", "a", "angle1", "angle2"), [*values, values[0], values[1]], strict=True))

    traced_tree = formula(tree, with_symbols(nodes), lambda x: x.sin(), lambda x: x.cos())
    rates = rate([traced_tree], {nodes[0]: 1.0, nodes[2]: -2.0})
    outputs = np.array([traced_tree, *gradient(traced_tree, [*nodes]), *rates], dtype=object)
    found = evaluate(Program("test", {"x": ("q1", "q2", "a")}, "y", outputs), x=[[q1, q2, a]])[0]
    x = sympy.symbols("q1 q2 a")
    expression = sympy.sympify(formula(tree, with_symbols(x), sympy.sin, sympy.cos))
    slopes = [expression.diff(s) for s in x]
    wanted = [float(e.subs(dict(zip(x, (q1, q2, a), strict=True)))) for e in (expression, *slopes)]
    np.testing.assert_allclose(found, [*wanted, wanted[1] - 2.0 * wanted[3]], rtol=1e-9, atol=1e-9)


@settings(max_examples=cases(100))
@given(TREES, SMALL, SMALL, SMALL)
def test_fourier_sums_are_exact(tree, q1: float, q2: float, a: float) -> None:
    ring = Ring((True, True), ("q1", "q2", "a"))
    (angle1, angle2), (x1, x2, xa) = ring.joints(), ring.symbols()
    symbols = {"q1": x1, "q2": x2, "a": xa, "angle1": angle1, "angle2": angle2}
    total = formula(tree, symbols, lambda x: x.sin(), lambda x: x.cos())
    numbers = {"q1": q1, "q2": q2, "a": a, "angle1": 0.3, "angle2": -1.1}
    wanted = formula(tree, numbers, np.sin, np.cos)
    terms = total.terms.items() if isinstance(total, Fourier) else {0: total}.items()
    found = 0.0
    for key, c in terms:
        k1, k2, *powers = ring.exponents(key)
        found += c * np.exp(1j * (0.3 * k1 - 1.1 * k2)) * np.prod(np.array([q1, q2, a]) ** powers)
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9)
