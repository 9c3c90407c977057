"""Code for controllers: compiled, executed, and compared with the batch functions, on random robots."""

from __future__ import annotations

import ctypes
import re
import subprocess
import sys
import types
from collections.abc import Callable
from dataclasses import replace
from functools import cache, cached_property
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from export_readers import estimate_of
from oracles import pin_torque, pin_tree, random_bodies, random_tree
from random_robots import random_pair
from seeds import cases
from symbolic_derivations import evaluate, gradient, rate
from symbolic_robots import motion

from ident.dynamics import inverse_dynamics
from ident.errors import ModelError
from ident.export.code.controller import COULOMB_WIDTH
from ident.export.formats import export_to
from ident.export.identified import exportable
from ident.model import (
    Coulomb,
    DriveInertia,
    Hysteresis,
    LoadFriction,
    Model,
    NonlinearViscous,
    Offset,
    SmoothCoulomb,
    Spring,
    Stribeck,
    Thermal,
    Viscous,
    ViscousAsymmetry,
    WarmUp,
    coupled_drives,
    regressor,
    torque,
)
from ident.regression import base_parameters
from ident.robot import DHJoint, Joint, MDHJoint, Robot, from_dh, from_mdh
from ident.robot.robot import Transmission
from ident.spatial.inertia import Pose
from ident.symbolic import controller_functions
from ident.symbolic.functions import regrouped
from ident.symbolic.program import traced

pytestmark = pytest.mark.slow

STRICT = ("-O2", "-Wall", "-Wextra", "-Werror", "-pedantic", "-Wconversion", "-Wshadow")
FUNCTIONS = {
    "inverse_dynamics": ("q", "qd", "qdd"),
    "gravity": ("q",),
    "mass_matrix": ("q",),
    "friction": ("qd",),
    "regressor": ("q", "qd", "qdd"),
}


class Example:
    """A robot with numbers, states to test with, and what every function gives there by the batch functions."""

    def __init__(self, robot: Robot, terms=None, seed: int = 0, samples: int = 5) -> None:
        rng = np.random.default_rng(seed)
        n = robot.n
        terms = (DriveInertia(), Viscous(), SmoothCoulomb(COULOMB_WIDTH), Offset()) if terms is None else terms
        self.robot, self.model = robot, Model(robot, terms)
        bodies = robot.inertials if robot.inertials is not None else random_bodies(rng, n)
        values = np.concatenate([bodies.ravel(), rng.uniform(0.05, 2.0, len(self.model.names) - 10 * n)])
        self.estimate = estimate_of(robot, self.model, values)
        self.theta = exportable(self.estimate, robot)  # as it is written
        self.given = motion(n, seed, samples)
        self.given["qd"][0] = rng.uniform(-2, 2, n) * COULOMB_WIDTH  # where the tanh bends

    def torque(self, q, qd, qdd) -> np.ndarray:
        return torque(self.model, self.theta, q, qd, qdd)

    @cached_property
    def expected(self) -> dict[str, np.ndarray]:
        q, qd, qdd = self.given.values()
        n, rest = self.robot.n, np.zeros_like(q)
        friction = self.torque(q, qd, rest) - self.torque(q, -qd, rest)
        gravity = self.torque(q, rest, rest)
        columns = [self.torque(q, rest, np.tile(unit, (len(q), 1))) - gravity for unit in np.eye(n)]
        Y = regressor(self.model, q, qd, qdd)[:, :, list(self.estimate.base.kept)]
        return {
            "inverse_dynamics": self.torque(q, qd, qdd) - 0.5 * friction,
            "gravity": gravity,
            "mass_matrix": np.stack(columns, axis=2),
            "friction": 0.5 * friction,
            "regressor": Y,
        }

    def check(self, found: dict[str, np.ndarray], tolerance: float) -> None:
        expected = self.expected
        torques = max(np.abs(expected[k]).max() for k in ("inverse_dynamics", "gravity", "friction"))
        for name, values in expected.items():
            scale = np.abs(values).max() if name in ("mass_matrix", "regressor") else torques
            assert found[name].shape == values.shape
            assert np.abs(found[name] - values).max() <= tolerance * scale, name

    def write(self, form: str, path: Path) -> Path:
        return export_to(form, self.estimate, path, robot=self.robot, when="2025-03-01").path


@cache
def example(seed: int) -> Example:
    """Return trees with joints beside their frames, robots of a URDF, and chains of a DH table."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 5)) if seed % 5 else 5
    if seed % 3 == 0:
        robot = random_tree(rng, n, points=True)
    elif seed % 3 == 1:
        robot = random_pair(rng, n)[1]
    else:
        right = np.pi / 2
        table = [
            DHJoint(
                a=float(rng.choice([0.0, 0.3])), alpha=float(rng.choice([0.0, right, -right])), d=float(rng.normal()),
                offset=float(rng.choice([0.0, 1.0])), sign=int(rng.choice([-1, 1])),
                kind=str(rng.choice(["revolute", "revolute", "prismatic"])),
            )
            for _ in range(n)
        ]  # fmt: skip
        robot = from_dh(f"arm {seed}", table)
    return Example(robot, seed=seed)


def names_of(header: Path) -> str:
    found = re.search(r"typedef double (\w+)_real;|namespace (\w+) \{", header.read_text())
    assert found
    return found[1] or found[2]


def c_library(header: Path, *flags: str) -> Callable:
    """Return the functions of a C header by their names; they are static and hide behind one letter more."""
    name = names_of(header)
    text = [f'#include "{header.name}"']
    for function, arrays in FUNCTIONS.items():
        arguments = ", ".join(f"const {name}_real *{a}" for a in arrays)
        call = ", ".join([*arrays, "out"])
        text.append(f"void x_{function}({arguments}, {name}_real *out);")
        text.append(f"void x_{function}({arguments}, {name}_real *out) {{ {name}_{function}({call}); }}")
    text += ["int x_self_test(void);", f"int x_self_test(void) {{ return {name}_self_test(); }}", ""]
    library = built(header, text, ".c", ["gcc", "-std=c99"], flags)
    return lambda function: getattr(library, f"x_{function}")


def cpp_library(header: Path) -> dict[type, Callable]:
    """Return for each type of number the functions of a C++ header, by their names."""
    name = names_of(header)
    text = [f'#include "{header.name}"']
    for real in ("double", "float"):
        for function, arrays in FUNCTIONS.items():
            arguments = ", ".join(f"const {real} *{a}" for a in arrays)
            call = ", ".join([*arrays, "out"])
            text.append(
                f'extern "C" void {real}_{function}({arguments}, {real} *out) {{ {name}::{function}({call}); }}'
            )
        text.append(f'extern "C" int {real}_self_test() {{ return {name}::self_test<{real}>(); }}')
    library = built(header, [*text, ""], ".cpp", ["g++", "-std=c++11"], ())
    return {np.float64: lambda f: getattr(library, f"double_{f}"), np.float32: lambda f: getattr(library, f"float_{f}")}


def built(header: Path, text: list[str], suffix: str, compiler: list[str], flags) -> ctypes.CDLL:
    source = header.with_suffix(suffix)
    source.write_text("\n".join(text))
    out = header.with_name(f"{header.stem}{''.join(flags)}{len(list(header.parent.iterdir()))}.so")
    subprocess.run([*compiler, *STRICT, *flags, "-shared", "-fPIC", str(source), "-o", str(out), "-lm"], check=True)
    return ctypes.CDLL(str(out))


def called(library: Callable, x: Example, kind=np.float64) -> dict[str, np.ndarray]:
    found = {}
    for name, values in x.expected.items():
        out = np.full(values.shape, np.nan, dtype=kind)
        for s in range(len(out)):
            arrays = [x.given[a][s].astype(kind) for a in FUNCTIONS[name]]
            library(name)(*(ctypes.c_void_p(a.ctypes.data) for a in [*arrays, out[s]]))
        found[name] = out.astype(float)
    return found


def module(path: Path) -> types.ModuleType:
    made = types.ModuleType("exported")
    exec(compile(path.read_text(), str(path), "exec"), made.__dict__)
    return made


class Matlab:
    """The functions of a MATLAB file of assignments, translated to Python line by line."""

    def __init__(self, path: Path) -> None:
        self.text = path.read_text()
        self.space: dict = {"cos": np.cos, "sin": np.sin, "tanh": np.tanh}
        self.space |= {"abs": np.abs, "sign": np.sign, "exp": np.exp}
        lines = []
        for line in self.text.splitlines():
            line = line.partition("%")[0].strip()
            head = re.fullmatch(r"function (?:\[(.*)\]|(\w+)) = (\w+)\((.*)\)", line)
            if head:
                self.outputs = (head[1] or head[2]).split(", ")
                lines.append(f"def {head[3]}({head[4]}):")
                if head[1]:
                    self.main, self.letters = head[3], self.outputs
            elif line == "end":
                lines.append(f"    return {', '.join(self.outputs)}")
            elif line:
                lines.append("    " + self.statement(line))
        exec(compile("\n".join(lines), str(path), "exec"), self.space)

    @staticmethod
    def statement(line: str) -> str:
        assert line.endswith(";")
        line = line.rstrip(";").replace("^", "**")
        made = re.fullmatch(r"(\w+) = zeros\((\d+), (\d+), 'like', \w+\)", line)
        if made:
            return f"{made[1]} = __import__('numpy').zeros(({made[2]}, {made[3]}))"

        def index(found: re.Match) -> str:
            places = [int(k) - 1 for k in found[2].split(", ")]
            more = ", 0" if len(places) == 1 and found[1] not in ("q", "qd", "qdd", "z", "dq") else ""
            return f"{found[1]}[{', '.join(map(str, places))}{more}]"

        return re.sub(r"\b([A-Za-z]\w*)\((\d+(?:, \d+)?)\)", index, line)

    def __call__(self, q, qd, qdd) -> dict[str, np.ndarray]:
        return dict(zip(self.letters, self.space[self.main](q, qd, qdd), strict=True))


@pytest.mark.parametrize("seed", range(cases(20)))
def test_python_and_matlab_of_random_robots(tmp_path, seed):
    x = example(seed)
    made = module(x.write("python", tmp_path / "x.py"))
    x.check({name: getattr(made, name)(*(x.given[a] for a in arrays)) for name, arrays in FUNCTIONS.items()}, 1e-9)
    made.self_test()
    function = Matlab(x.write("matlab", tmp_path / "x.m"))
    letters = {"inverse_dynamics": "tau", "friction": "f", "gravity": "g", "mass_matrix": "M", "regressor": "Y"}
    rows = [function(*s) for s in zip(*x.given.values(), strict=True)]
    shapes = {name: values.shape[1:] for name, values in x.expected.items()}
    x.check({name: np.array([r[k].reshape(shapes[name]) for r in rows]) for name, k in letters.items()}, 1e-9)


class Fixed(np.ndarray):
    """An array as JAX has them: nothing is written into it, `at[place].set(value)` gives another one."""

    @property
    def at(self) -> Fixed:
        return self

    def __getitem__(self, place):
        found = np.asarray(self)[place]

        def changed(value):
            other = np.array(self)
            other[place] = value
            return fixed(other)

        return types.SimpleNamespace(set=changed) if Ellipsis in np.index_exp[place] else found


def fixed(array: np.ndarray) -> Fixed:
    array.setflags(write=False)
    return array.view(Fixed)


@pytest.mark.parametrize("seed", range(cases(20)))
def test_jax_of_random_robots(tmp_path, monkeypatch, seed):
    """By a stand-in with JAX's names and its arrays that cannot change; JAX itself takes 380 MB."""
    space = types.ModuleType("jax.numpy")
    for name in ("asarray", "broadcast_shapes", "sin", "cos", "tanh", "exp", "sign", "abs"):
        setattr(space, name, getattr(np, name))
    space.zeros = lambda shape: fixed(np.zeros(shape))
    stand_in = types.ModuleType("jax")
    stand_in.numpy = space
    monkeypatch.setitem(sys.modules, "jax", stand_in)
    monkeypatch.setitem(sys.modules, "jax.numpy", space)
    x = example(seed)
    made = module(x.write("jax", tmp_path / "x.py"))
    found = {name: getattr(made, name)(*(x.given[a] for a in arrays)) for name, arrays in FUNCTIONS.items()}
    assert {type(values) for values in found.values()} == {Fixed}
    x.check({name: np.asarray(values) for name, values in found.items()}, 1e-9)


@pytest.mark.parametrize("seed", range(cases(20)))
def test_casadi_of_random_robots(tmp_path, seed):
    casadi = pytest.importorskip("casadi")
    x = example(seed)
    made = module(x.write("casadi", tmp_path / "x.py"))
    made.self_test()
    found = {}
    for name, arrays in FUNCTIONS.items():
        function = getattr(made, name)
        assert isinstance(function, casadi.Function)
        values = [function(*state).full() for state in zip(*(x.given[a] for a in arrays), strict=True)]
        found[name] = np.array(values).reshape(x.expected[name].shape)
    x.check(found, 1e-9)
    n = x.robot.n
    q, qd, qdd = (casadi.SX.sym(name, n) for name in ("q", "qd", "qdd"))
    slope = casadi.Function("slope", [q, qd, qdd], [casadi.jacobian(made.inverse_dynamics(q, qd, qdd), qdd)])
    mass = np.array([slope(*state).full() for state in zip(*x.given.values(), strict=True)])
    np.testing.assert_allclose(mass, x.expected["mass_matrix"], atol=1e-9 * np.abs(mass).max())


@pytest.mark.parametrize("seed", range(cases(20)))
def test_c_and_cpp_of_random_robots_in_double_and_float(tmp_path, seed):
    """C for even seeds, C++ for odd ones: their functions are the same text."""
    x = example(seed)
    if seed % 2:
        header = x.write("cpp", tmp_path / "arm.hpp")
        double, single = cpp_library(header).values()
    else:
        header = x.write("c", tmp_path / "arm.h")
        double, single = c_library(header), c_library(header, f"-D{names_of(header).upper()}_FLOAT")
    assert double("self_test")() == 0
    x.check(called(double, x), 1e-9)
    assert single("self_test")() == 0
    x.check(called(single, x, np.float32), 1e-5)


# What the files say and hold


def program(header: Path, flag: str, compiler: tuple[str, ...] = ("gcc", "-std=c99")) -> subprocess.CompletedProcess:
    source = header.with_name("try.c" if "gcc" in compiler else "try.cpp")
    source.write_text(f'#include "{header.name}"\n')
    out = header.with_name("try")
    subprocess.run([*compiler, *STRICT, f"-D{flag}_EXAMPLE", str(source), "-o", str(out), "-lm"], check=True)
    return subprocess.run([str(out)], capture_output=True, text=True, check=False)


def arm3(**options) -> Example:
    right = np.pi / 2
    table = [DHJoint(d=0.3, alpha=right), DHJoint(a=0.4), DHJoint(a=0.3, alpha=right)]
    return Example(from_dh("arm3", table), **options)


def test_the_example_runs_and_fits_on_a_page(tmp_path):
    x = arm3()
    rest = np.zeros((1, 3))
    expected = x.torque(rest, rest + 0.1, rest)[0]
    for form, ending, flag, compiler in (
        ("c", "h", "ARM3", ("gcc", "-std=c99")),
        ("cpp", "hpp", "ARM3_DYNAMICS", ("g++", "-std=c++11")),
    ):
        header = x.write(form, tmp_path / f"arm.{ending}")
        main = header.read_text().partition("_EXAMPLE\n#include <")[2].partition("#endif")[0]
        assert main.count("\n") <= 20
        done = program(header, flag, compiler)
        assert done.returncode == 0
        said = done.stdout.splitlines()
        assert said[0] == "self test: ok (0)"
        found = dict(line.split(": ") for line in said[1:])
        assert list(found) == list(x.robot.joint_names)
        np.testing.assert_allclose([float(v) for v in found.values()], expected, rtol=1e-5)


def test_the_self_test_finds_each_function_that_is_wrong(tmp_path):
    header = arm3().write("c", tmp_path / "arm.h")
    text = header.read_text()
    for number, name in enumerate(FUNCTIONS, 1):
        change = (" + ({real})0.001", " + ({real})log(-1.0)")[number % 2]
        start = text.index(f"void arm3_{name}(")
        wrong = re.sub(r"(    \w+\[1\] = )(.*);", rf"\1\2{change.format(real='arm3_real')};", text[start:], count=1)
        assert wrong != text[start:]
        header.write_text(text[:start] + wrong)
        assert program(header, "ARM3").returncode == number, name
    module_text = (source := arm3().write("python", tmp_path / "arm.py")).read_text()
    source.write_text(module_text.replace("    M[..., 0, 1] = ", "    M[..., 0, 1] = 0.001 + "))
    with pytest.raises(AssertionError, match=r"^wrong: mass_matrix$"):
        module(source).self_test()


def test_results_may_stand_on_arguments_and_nothing_is_allocated(tmp_path):
    x = arm3(samples=1)
    header = x.write("c", tmp_path / "arm.h")
    code = re.sub("//.*", "", header.read_text())
    assert not re.search(r"alloc|\bnew\b|#include (?!<math.h>|<stdio.h>)", code)
    library = c_library(header)
    expected = x.expected["inverse_dynamics"][0]
    for over in x.given:
        given = {name: values[0].copy() for name, values in x.given.items()}
        library("inverse_dynamics")(*(ctypes.c_void_p(a.ctypes.data) for a in [*given.values(), given[over]]))
        np.testing.assert_allclose(given[over], expected, rtol=1e-11)


def test_phi_is_that_of_the_result_with_its_errors(tmp_path):
    x = arm3()
    made = module(x.write("python", tmp_path / "x.py"))
    np.testing.assert_allclose(made.PHI, x.estimate.base.K @ x.theta, rtol=1e-11)
    for form in ("c", "cpp", "python", "matlab"):
        text = x.write(form, tmp_path / form).read_text()
        for k in range(len(x.estimate.phi)):
            assert f"{x.estimate.base.expression(k)} (+- 1.0e+00)" in text
    unknown = replace(
        x.estimate, covariance=replace(x.estimate.covariance, matrix=np.full((len(made.PHI),) * 2, np.nan))
    )
    text = export_to("c", unknown, tmp_path / "x.h", robot=x.robot).path.read_text()
    assert text.count("(not determined by data)") == len(made.PHI)


def test_the_matlab_file_carries_its_test_vector(tmp_path):
    function = Matlab(arm3().write("matlab", tmp_path / "x.m"))
    assert function.main == "arm3_dynamics"
    assert "%#codegen" in function.text.splitlines()
    vectors = {
        name: np.array([float(v) for v in numbers.split()])
        for name, numbers in re.findall(r"^% (\w+) = \[(.*)\]';$", function.text, re.M)
    }
    found = function(*(vectors.pop(name) for name in ("q", "qd", "qdd")))
    assert set(vectors) == {"tau", "f", "g"}
    for name, values in vectors.items():
        np.testing.assert_allclose(found[name].ravel(), values, rtol=1e-9, atol=1e-9)


def test_coupled_motors(tmp_path):
    base = arm3().robot
    robot = replace(base, transmission=Transmission(("m1", "m2", "m3"), [[50, 0, 0], [0, 60, 0], [0, 30, 40]]))
    drives = coupled_drives(robot, SmoothCoulomb(COULOMB_WIDTH))
    one, two = robot.joint_names[:2]
    terms = (DriveInertia(joints=(one, two)), *drives, SmoothCoulomb(COULOMB_WIDTH, joints=(one,)), Offset())
    x = Example(robot, terms)
    made = module(x.write("python", tmp_path / "x.py"))
    x.check({name: getattr(made, name)(*(x.given[a] for a in arrays)) for name, arrays in FUNCTIONS.items()}, 1e-9)
    assert np.abs(made.friction(np.array([0.0, 1.0, 0.0]))[2]) > 0


def test_a_spring_whose_rest_is_not_known_is_left_out_and_said_so(tmp_path):
    x = arm3(terms=(Viscous(), Coulomb(), Spring(rest=0.4)))
    done = export_to("c", x.estimate, tmp_path / "x.h", robot=x.robot)
    (note,) = done.notes
    assert note.startswith("Not in this file, the controller has to add it: joint1.stiffness ")
    assert "torque = value * (q - rest position)" in note
    assert f"// {note}" in done.path.read_text()
    without = replace(x.model, terms=(Viscous(), SmoothCoulomb(COULOMB_WIDTH)))
    made = module(x.write("python", tmp_path / "x.py"))
    theta = x.theta[: len(without.names)]
    found = made.inverse_dynamics(*x.given.values()) + made.friction(x.given["qd"])
    np.testing.assert_allclose(found, torque(without, theta, *x.given.values()), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(made.regressor(*x.given.values()) @ made.PHI, found, rtol=1e-9, atol=1e-9)


def test_a_spring_whose_rest_is_known_is_part_of_the_code(tmp_path):
    x = arm3(terms=(Viscous(), SmoothCoulomb(COULOMB_WIDTH), Spring(rest=0.4)))
    estimate = replace(x.estimate, shapes=x.model.shapes)
    done = export_to("python", estimate, tmp_path / "x.py", robot=x.robot)
    assert done.notes == ()
    made = module(done.path)
    found = made.inverse_dynamics(*x.given.values()) + made.friction(x.given["qd"])
    np.testing.assert_allclose(found, x.torque(*x.given.values()), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(made.regressor(*x.given.values()) @ made.PHI, found, rtol=1e-9, atol=1e-9)


def test_each_joint_keeps_the_width_of_its_own_friction_in_every_language(tmp_path):
    x = arm3(terms=(Viscous(), *(SmoothCoulomb(0.02 * (k + 1), (f"joint{k + 1}",)) for k in range(3))))
    x.estimate = replace(x.estimate, shapes=x.model.shapes)
    x.given["qd"][0] = (0.01, 0.03, -0.05)  # where each bends
    made = module(x.write("python", tmp_path / "x.py"))
    made.self_test()
    found = {name: getattr(made, name)(*(x.given[a] for a in arrays)) for name, arrays in FUNCTIONS.items()}
    x.check(found, 1e-9)
    c = c_library(x.write("c", tmp_path / "c.h"))
    cpp = cpp_library(x.write("cpp", tmp_path / "cpp.hpp"))
    for library in (c, cpp[np.float64]):
        assert library("self_test")() == 0
        x.check(called(library, x), 1e-9)


def test_nonlinear_viscous_friction_is_part_of_the_code_of_every_language(tmp_path):
    x = arm3(terms=(Viscous(), NonlinearViscous(0.3, top=0.5), SmoothCoulomb(COULOMB_WIDTH)))
    x.estimate = replace(x.estimate, shapes=x.model.shapes)
    made = module(x.write("python", tmp_path / "x.py"))
    made.self_test()
    found = {name: getattr(made, name)(*(x.given[a] for a in arrays)) for name, arrays in FUNCTIONS.items()}
    x.check(found, 1e-9)
    c = c_library(x.write("c", tmp_path / "c.h"))
    cpp = cpp_library(x.write("cpp", tmp_path / "cpp.hpp"))
    for library in (c, cpp[np.float64]):
        assert library("self_test")() == 0
        x.check(called(library, x), 1e-9)
    x.check(called(cpp[np.float32], x, np.float32), 1e-5)
    text = x.write("c", tmp_path / "c.h").read_text()
    assert "joint2.nonlinear_viscous, joint3.nonlinear_viscous (power 0.3, top 0.5, element 1): torque = " in text
    function = Matlab(x.write("matlab", tmp_path / "x.m"))
    q, qd, qdd = (x.given[a][0] for a in ("q", "qd", "qdd"))
    np.testing.assert_allclose(function(q, qd, qdd)["f"].ravel(), made.friction(qd), rtol=1e-9, atol=1e-9)


def test_terms_of_temperature_and_time_take_them_as_arguments_in_every_language(tmp_path):
    """Compiled C and C++, MATLAB and numpy give the torque of the model; self tests compile and pass."""
    extra = (Thermal(30.0), WarmUp(100.0), ViscousAsymmetry(), Stribeck(0.5, exponent=1.0))
    terms = (Viscous(), SmoothCoulomb(COULOMB_WIDTH), *extra)
    x = arm3(terms=terms)
    x.estimate = replace(x.estimate, shapes=x.model.shapes)
    samples, n = x.given["q"].shape
    warm, t = 20.0 + 30.0 * np.random.default_rng(4).random((samples, n)), 10.0 * np.arange(samples)
    states, signals = list(x.given.values()), {"temperature": warm, "time": t}
    expected = torque(x.model, x.theta, *states, signals=signals)
    for form in ("python", "c"):
        assert export_to(form, x.estimate, tmp_path / form, robot=x.robot).notes == ()
    made = module(x.write("python", tmp_path / "x.py"))
    made.self_test()
    q, qd, qdd = states
    found = made.inverse_dynamics(q, qd, qdd) + made.friction(qd, warm, t[:, None])
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
    Y = made.regressor(q, qd, qdd, warm, t[:, None])
    np.testing.assert_allclose(Y @ made.PHI, expected, rtol=1e-9, atol=1e-9)
    header = x.write("c", tmp_path / "c.h")
    name = names_of(header)
    call = f"{name}_friction(qd, temperature, time, out)"
    arrays = "const double *qd, const double *temperature, const double *time, double *out"
    text = [f'#include "{header.name}"', f"void x_friction({arrays});", f"void x_friction({arrays}) {{ {call}; }}"]
    text += ["int x_self_test(void);", f"int x_self_test(void) {{ return {name}_self_test(); }}", ""]
    library = built(header, text, ".c", ["gcc", "-std=c99"], ())
    assert library.x_self_test() == 0
    for s in range(samples):
        out, given = np.empty(n), [np.ascontiguousarray(a) for a in (qd[s], warm[s], t[s : s + 1])]
        library.x_friction(*(ctypes.c_void_p(a.ctypes.data) for a in [*given, out]))
        np.testing.assert_allclose(out, made.friction(*given), rtol=1e-12, atol=1e-12)
    for form, compiler in (("c", ["gcc", "-std=c99"]), ("cpp", ["g++", "-std=c++11"])):
        code = x.write(form, tmp_path / f"try.{form}.h")
        big = re.search(r"-D(\w+_EXAMPLE)", code.read_text())
        source = code.with_suffix(".c" if form == "c" else ".cpp")
        source.write_text(f'#include "{code.name}"\n')
        run = [*compiler, *STRICT, f"-D{big[1]}", str(source), "-o", str(tmp_path / form), "-lm"]
        (tmp_path / form).unlink(missing_ok=True)
        subprocess.run(run, check=True)
        assert subprocess.run([str(tmp_path / form)], check=False, capture_output=True).returncode == 0
    text = x.write("matlab", tmp_path / "x.m").read_text()
    assert text.startswith("function [tau, f, g, M, Y] = arm3_dynamics(q, qd, qdd, temperature, time)")
    assert "f = friction(qd, temperature, time);" in text


def test_nonlinear_viscous_friction_without_its_power_is_left_out_and_said_so(tmp_path):
    x = arm3(terms=(Viscous(), NonlinearViscous(0.3, top=0.5), SmoothCoulomb(COULOMB_WIDTH)))
    (note,) = export_to("c", x.estimate, tmp_path / "x.h", robot=x.robot).notes
    assert note.startswith("Not in this file, the controller has to add it: joint1.nonlinear_viscous ")


def test_one_joint_without_gravity_or_friction(tmp_path):
    joint = Joint("int", "prismatic", -1, Pose.identity(), np.array([0.0, 0, 1]))
    x = Example(Robot("class", (joint,), ("x",), gravity=np.zeros(3)), terms=())
    c = c_library(x.write("c", tmp_path / "c.h"))
    cpp = cpp_library(x.write("cpp", tmp_path / "cpp.hpp"))[np.float64]
    for library in (c, cpp):
        assert library("self_test")() == 0
        x.check(called(library, x), 1e-12)
    module(x.write("python", tmp_path / "x.py")).self_test()


def test_names_do_not_become_code(tmp_path):
    evil = 'a??/"; #error ??/'
    robot = Robot("*/ #error ??/", (replace(arm3().robot.joints[0], name=evil),), ("x \\",))
    x = Example(robot, terms=(Viscous(),))
    for form, ending, compiler in (("c", "h", ("gcc", "-std=c99")), ("cpp", "hpp", ("g++", "-std=c++11"))):
        header = x.write(form, tmp_path / f"x.{ending}")
        done = program(header, "ERROR" if form == "c" else "ERROR_DYNAMICS", compiler)
        assert done.returncode == 0
        assert done.stdout.splitlines()[1].startswith(f"{evil}: ")
    for form in ("python", "casadi"):
        module(x.write(form, tmp_path / f"{form}.py")).self_test()
    Matlab(x.write("matlab", tmp_path / "x.m"))


def test_a_robot_is_needed(tmp_path):
    x = arm3()
    for form in ("c", "cpp", "python", "jax", "casadi", "matlab"):
        with pytest.raises(ModelError, match="needs the geometry of the robot"):
            export_to(form, x.estimate, tmp_path / "x")
    assert list(tmp_path.iterdir()) == []


# The programs


@pytest.mark.parametrize("seed", range(6))
def test_regrouped_bodies_have_the_same_torque_and_fewer_numbers(seed):
    robot = example(seed).robot
    bodies = random_bodies(np.random.default_rng(seed), robot.n)
    found = regrouped(robot, bodies)
    given = motion(robot.n, seed, 20).values()
    wanted = inverse_dynamics(robot, bodies, *given)
    assert np.abs(inverse_dynamics(robot, found, *given) - wanted).max() < 1e-13 * np.abs(wanted).max()
    for joint, body in zip(robot.joints, found, strict=True):
        assert np.count_nonzero(body == 0.0) >= (3 if joint.kind == "revolute" else 0)


def test_axes_in_any_direction_cost_no_digits(tmp_path):
    """With pivots by name alone the base parameters of this tree were small differences of large numbers."""
    x = example(15)
    assert np.abs(x.estimate.base.K).max() < 20
    library = cpp_library(x.write("cpp", tmp_path / "x.hpp"))
    for kind, tolerance in ((np.float64, 1e-12), (np.float32, 1e-6)):
        x.check(called(library[kind], x, kind), tolerance)


def test_fewest_operations():
    """A seven-joint arm of human size: what is counted today may only become less."""
    right = np.pi / 2
    rows = [(0, 0, 0.33), (0, -right, 0), (0, right, 0.32), (0.08, right, 0), (-0.08, -right, 0.38), (0, right, 0)]
    rows.append((0.09, right, 0.1))
    robot = from_mdh("arm7", [MDHJoint(a=a, alpha=alpha, d=d) for a, alpha, d in rows])
    model = Model(robot)
    theta = random_bodies(np.random.default_rng(0), 7).ravel()
    found = {p.name: sum(p.operations.values()) for p in controller_functions(model, base_parameters(model), theta)}
    assert found["gravity"] <= 105
    assert found["inverse_dynamics"] <= 685
    assert found["mass_matrix"] <= 430
    assert found["friction"] == 0
    assert found["regressor"] <= 1525


def test_programs_refuse_what_has_no_formula():
    x = arm3(terms=(Coulomb(),))
    with pytest.raises(ModelError, match="Coulomb has no formula"):
        controller_functions(x.model, base_parameters(x.model), x.theta)
    with pytest.raises(ModelError, match="of another model"):
        controller_functions(x.model, base_parameters(Model(x.robot)), x.theta)
    with pytest.raises(ModelError, match="theta"):
        controller_functions(Model(x.robot), base_parameters(Model(x.robot)), x.theta)


def test_tanh_and_its_slopes():
    def formula(x):
        y = np.tanh(x[0] * x[1]) + 2.0 * x[0]
        return np.array([y, *gradient(y, list(x)), *rate([y], {x[0]: 1.0, x[1]: -3.0})])

    made = traced("y", {"x": ("x", "y")}, "y", formula)
    given = np.random.default_rng(0).normal(size=(20, 2))
    a, b = given.T
    slope = 1.0 / np.cosh(a * b) ** 2
    by_a, by_b = slope * b + 2.0, slope * a
    expected = np.stack([np.tanh(a * b) + 2.0 * a, by_a, by_b, by_a - 3.0 * by_b], axis=1)
    np.testing.assert_allclose(evaluate(made, x=given), expected, rtol=1e-12, atol=1e-14)
    assert made.operations["sines and cosines"] == 1


@pytest.mark.parametrize(
    ("shapes", "width", "why"),
    [
        ({"joint1.coulomb": {"tanh": 0.05}, "joint2.coulomb": {"tanh": 0.05}}, 0.05, "as fitted"),
        (
            {"joint1.coulomb": {"tanh": 0.05}, "joint2.coulomb": {"tanh": 0.02}},
            0.05,
            "as fitted; 0.02 at joint2, narrower in the same ratio",
        ),
        ({"joint1.coulomb": {"dahl": 0.001}, "joint2.coulomb": {"dahl": 0.001}}, 0.01, "another one (dahl 0.001)"),
        ({}, 0.01, "does not say which law was fitted"),
    ],
)
def test_the_width_of_coulomb_friction_is_the_fitted_one(tmp_path, shapes, width, why):
    x = Example(random_tree(np.random.default_rng(0), 2), terms=(Viscous(), SmoothCoulomb(0.05)))
    path = tmp_path / "two.h"
    export_to("c", replace(x.estimate, shapes=shapes), path, robot=x.robot)
    text = path.read_text()
    name, found = re.search(r"#define (\w+)_COULOMB_WIDTH (\S+) // rad/s", text).groups()
    assert found == str(width)
    assert why in text
    assert program(path, name).returncode == 0


@pytest.mark.parametrize("seed", range(cases(3, 1)))
def test_load_friction_is_part_of_the_code_of_every_language(tmp_path, monkeypatch, seed):
    """Against Pinocchio: value * |torque of other bodies than the links'| * tanh, each its own width."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 5))
    robot = random_tree(rng, n, points=True)
    load, widths = random_bodies(rng, n), rng.uniform(0.02, 0.2, n)
    laws = [SmoothCoulomb(w, (joint,)) for joint, w in zip(robot.joint_names, widths, strict=True)]
    rubbing = [LoadFriction.of(load, law) for law in laws[1:]]
    x = Example(robot, (DriveInertia(), Viscous(), *laws, *rubbing), seed)
    x.estimate = replace(x.estimate, shapes=x.model.shapes)
    _, qd, qdd = states = list(x.given.values())
    qd[0] = rng.uniform(-1, 1, n) * widths  # where the tanh bends
    inertia, viscous, coulomb = x.theta[10 * n : 13 * n].reshape(3, n)
    share = np.append(0.0, x.theta[13 * n :])
    rigid, loads = (pin_torque(pin_tree(robot, b), *states) for b in (x.theta[: 10 * n].reshape(n, 10), load))
    friction = viscous * qd + (coulomb + share * np.abs(loads)) * np.tanh(qd / widths)
    scale = np.abs(rigid).max()
    np.testing.assert_allclose(rigid + inertia * qdd + friction, x.torque(*states), rtol=0, atol=1e-9 * scale)
    monkeypatch.setitem(FUNCTIONS, "friction", ("q", "qd", "qdd"))
    x.expected["friction"] = friction
    x.expected["inverse_dynamics"] = rigid + inertia * qdd
    done = export_to("python", x.estimate, tmp_path / "x.py", robot=robot)
    assert done.notes == ()
    made = module(done.path)
    made.self_test()
    x.check({name: getattr(made, name)(*(x.given[a] for a in arrays)) for name, arrays in FUNCTIONS.items()}, 1e-9)
    np.testing.assert_allclose(made.regressor(*states) @ made.PHI, x.torque(*states), rtol=0, atol=1e-9 * scale)
    c = c_library(x.write("c", tmp_path / "c.h"))
    cpp = cpp_library(x.write("cpp", tmp_path / "cpp.hpp"))
    for library in (c, cpp[np.float64]):
        assert library("self_test")() == 0
        x.check(called(library, x), 1e-9)
    assert cpp[np.float32]("self_test")() == 0
    x.check(called(cpp[np.float32], x, np.float32), 1e-5)
    function = Matlab(x.write("matlab", tmp_path / "x.m"))
    found = [function(*state)["f"].ravel() for state in zip(*states, strict=True)]
    np.testing.assert_allclose(found, friction, rtol=0, atol=1e-9 * scale)
    text = x.write("c", tmp_path / "c.h").read_text()
    assert "the load being the torque of the" in text
    big = re.search(r"-D(\w+_EXAMPLE)", text)
    (tmp_path / "try.c").write_text('#include "c.h"\n')
    run = ["gcc", "-std=c99", *STRICT, f"-D{big[1]}", str(tmp_path / "try.c"), "-o", str(tmp_path / "try"), "-lm"]
    subprocess.run(run, check=True)
    assert subprocess.run([str(tmp_path / "try")], check=False, capture_output=True).returncode == 0
    casadi = x.write("casadi", tmp_path / "y.py")
    if find_spec("casadi"):
        found = [module(casadi).friction(*state).full().ravel() for state in zip(*states, strict=True)]
        np.testing.assert_allclose(found, friction, rtol=0, atol=1e-9 * scale)


def test_hysteresis_is_a_state_that_the_code_of_every_language_carries_along(tmp_path, monkeypatch):
    """Along a path, in steps of any size: the batch model, which sees the path as a whole, gives the same torque."""
    way = [Hysteresis(0.002), Hysteresis(0.01, ("joint2",), 2.0)]
    x = arm3(terms=(Viscous(), SmoothCoulomb(COULOMB_WIDTH), *way))
    x.estimate = replace(x.estimate, shapes=x.model.shapes)
    rng = np.random.default_rng(0)
    steps = rng.normal(0, 0.003, (60, 3)) * rng.choice([0.0, 1.0, 10.0], (60, 3))
    q = np.cumsum(np.concatenate([np.zeros((1, 3)), np.full((1, 3), 0.3), steps]), axis=0)  # past at the sign
    qd, qdd = rng.normal(size=(2, *q.shape))
    expected = x.torque(q, qd, qdd)
    scale = np.abs(expected).max()
    done = export_to("python", x.estimate, tmp_path / "x.py", robot=x.robot)
    assert done.notes == ()
    assert "# z belongs to joint1.hysteresis, joint2.hysteresis, joint3.hysteresis, joint2.hysteresis2." in (
        done.path.read_text()
    )
    assert "joint2.hysteresis2" in "".join(export_to("urdf", x.estimate, tmp_path / "x.urdf", robot=x.robot).notes)
    own = [x.theta[x.model.names.index(f"joint2.{name}")] for name in ("coulomb", "hysteresis", "hysteresis2")]
    found = re.search(r'"joint2".*?friction="([^"]*)"', (tmp_path / "x.urdf").read_text(), re.DOTALL)
    assert float(found[1]) == pytest.approx(sum(own))
    made = module(done.path)
    made.self_test()
    header = x.write("c", tmp_path / "c.h")
    monkeypatch.setattr(sys.modules[__name__], "FUNCTIONS", {"presliding": ("z", "dq"), "friction": ("qd", "z")})
    c = c_library(header)
    cpp = cpp_library(x.write("cpp", tmp_path / "cpp.hpp"))
    for library in (c, cpp[np.float64], cpp[np.float32]):
        assert library("self_test")() == 0
    function = Matlab(x.write("matlab", tmp_path / "x.m"))
    z, own, last = np.zeros(4), np.zeros(4), q[0]
    for k in range(1, len(q)):
        dq, f = q[k] - last, np.empty(3)
        both = dict(zip(function.letters, function.space[function.main](q[k], qd[k], qdd[k], z, dq), strict=True))
        z = made.presliding(z, dq)
        np.testing.assert_allclose(both["z_next"].ravel(), z, rtol=0, atol=1e-12)
        c("presliding")(*(ctypes.c_void_p(a.ctypes.data) for a in (own, dq, own)))
        c("friction")(*(ctypes.c_void_p(a.ctypes.data) for a in (np.ascontiguousarray(qd[k]), own, f)))
        total = made.inverse_dynamics(q[k], qd[k], qdd[k]) + made.friction(qd[k], z)
        np.testing.assert_allclose(total, expected[k], rtol=0, atol=1e-9 * scale)
        np.testing.assert_allclose(f, made.friction(qd[k], z), rtol=0, atol=1e-9 * scale)
        np.testing.assert_allclose(made.regressor(q[k], qd[k], qdd[k], z) @ made.PHI, total, atol=1e-9 * scale)
        last = q[k]
    assert np.abs(expected - torque(Model(x.robot, x.model.terms[:2]), x.theta[:36], q, qd, qdd)).max() > 0.05
    for form, compiler in (("c", ["gcc", "-std=c99"]), ("cpp", ["g++", "-std=c++11"])):
        code = x.write(form, tmp_path / f"try.{form}.h")
        big = re.search(r"-D(\w+_EXAMPLE)", code.read_text())
        source = code.with_suffix(".c" if form == "c" else ".cpp")
        source.write_text(f'#include "{code.name}"\n')
        run = [*compiler, *STRICT, f"-D{big[1]}", str(source), "-o", str(tmp_path / form), "-lm"]
        (tmp_path / form).unlink(missing_ok=True)
        subprocess.run(run, check=True)
        assert subprocess.run([str(tmp_path / form)], check=False, capture_output=True).returncode == 0
    if find_spec("casadi"):
        found = module(x.write("casadi", tmp_path / "y.py"))
        found.self_test()
        np.testing.assert_allclose(found.presliding(own, dq).full().ravel(), made.presliding(own, dq), atol=1e-12)
