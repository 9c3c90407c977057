"""Code for controllers: compiled, executed, and compared with the batch functions, on random robots."""

from __future__ import annotations

import ctypes
import re
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from export_readers import estimate_of
from oracles import random_bodies, random_tree
from random_robots import random_pair
from symbolic_robots import motion

from ident.export.controller import COULOMB_WIDTH
from ident.export.formats import export_to
from ident.model import DriveInertia, Model, Offset, SmoothCoulomb, Viscous, regressor, torque
from ident.regression import base_parameters
from ident.robot import DHJoint, Robot, from_dh

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
        self.theta = np.array([float(f"{x:.11e}") for x in values])
        self.estimate = estimate_of(robot, self.model, self.theta)
        self.given = motion(n, seed, samples)
        self.given["qd"][0] = rng.uniform(-2, 2, n) * COULOMB_WIDTH  # where the tanh bends

    def torque(self, q, qd, qdd) -> np.ndarray:
        return torque(self.model, self.theta, q, qd, qdd)

    def expected(self) -> dict[str, np.ndarray]:
        q, qd, qdd = self.given.values()
        n, rest = self.robot.n, np.zeros_like(q)
        friction = self.torque(q, qd, rest) - self.torque(q, -qd, rest)
        gravity = self.torque(q, rest, rest)
        columns = [self.torque(q, rest, np.tile(unit, (len(q), 1))) - gravity for unit in np.eye(n)]
        Y = regressor(self.model, q, qd, qdd)[:, :, list(base_parameters(self.model).kept)]
        return {
            "inverse_dynamics": self.torque(q, qd, qdd) - 0.5 * friction,
            "gravity": gravity,
            "mass_matrix": np.stack(columns, axis=2),
            "friction": 0.5 * friction,
            "regressor": Y,
        }

    def check(self, found: dict[str, np.ndarray], tolerance: float) -> None:
        expected = self.expected()
        torques = max(np.abs(expected[k]).max() for k in ("inverse_dynamics", "gravity", "friction"))
        for name, values in expected.items():
            scale = np.abs(values).max() if name in ("mass_matrix", "regressor") else torques
            assert found[name].shape == values.shape
            assert np.abs(found[name] - values).max() <= tolerance * scale, name

    def write(self, form: str, path: Path) -> Path:
        return export_to(form, self.estimate, path, robot=self.robot, when="2025-03-01").path


def example(seed: int, samples: int = 5) -> Example:
    """Return trees with joints beside their frames, robots of a URDF, and chains of a DH table."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 6))
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
    return Example(robot, seed=seed, samples=samples)


def names_of(header: Path) -> str:
    found = re.search(r"typedef double (\w+)_real;|namespace (\w+) \{", header.read_text())
    assert found
    return found[1] or found[2]


def c_library(header: Path, *flags: str) -> ctypes.CDLL:
    """Return the functions of a C header as a library; its own are static and hide behind one letter more."""
    name = names_of(header)
    text = [f'#include "{header.name}"']
    for function, arrays in FUNCTIONS.items():
        arguments = ", ".join(f"const {name}_real *{a}" for a in arrays)
        call = ", ".join([*arrays, "out"])
        text.append(f"void x_{function}({arguments}, {name}_real *out);")
        text.append(f"void x_{function}({arguments}, {name}_real *out) {{ {name}_{function}({call}); }}")
    text += ["int x_self_test(void);", f"int x_self_test(void) {{ return {name}_self_test(); }}", ""]
    return built(header, text, ".c", ["gcc", "-std=c99"], flags)


def cpp_library(header: Path, real: str) -> ctypes.CDLL:
    name = names_of(header)
    text = [f'#include "{header.name}"']
    for function, arrays in FUNCTIONS.items():
        arguments = ", ".join(f"const {real} *{a}" for a in arrays)
        call = ", ".join([*arrays, "out"])
        text.append(f'extern "C" void x_{function}({arguments}, {real} *out) {{ {name}::{function}({call}); }}')
    text += [f'extern "C" int x_self_test() {{ return {name}::self_test<{real}>(); }}', ""]
    return built(header, text, ".cpp", ["g++", "-std=c++11"], ())


def built(header: Path, text: list[str], suffix: str, compiler: list[str], flags) -> ctypes.CDLL:
    source = header.with_suffix(suffix)
    source.write_text("\n".join(text))
    out = header.with_name(f"{header.stem}{''.join(flags)}{len(list(header.parent.iterdir()))}.so")
    subprocess.run([*compiler, *STRICT, *flags, "-shared", "-fPIC", str(source), "-o", str(out), "-lm"], check=True)
    return ctypes.CDLL(str(out))


def called(library: ctypes.CDLL, x: Example, kind=np.float64) -> dict[str, np.ndarray]:
    found = {}
    for name, values in x.expected().items():
        out = np.full(values.shape, np.nan, dtype=kind)
        for s in range(len(out)):
            arrays = [x.given[a][s].astype(kind) for a in FUNCTIONS[name]]
            getattr(library, f"x_{name}")(*(ctypes.c_void_p(a.ctypes.data) for a in [*arrays, out[s]]))
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
        line = line.rstrip(";")
        made = re.fullmatch(r"(\w+) = zeros\((\d+), (\d+), 'like', \w+\)", line)
        if made:
            return f"{made[1]} = __import__('numpy').zeros(({made[2]}, {made[3]}))"

        def index(found: re.Match) -> str:
            places = [int(k) - 1 for k in found[2].split(", ")]
            more = ", 0" if len(places) == 1 and found[1] not in ("q", "qd", "qdd") else ""
            return f"{found[1]}[{', '.join(map(str, places))}{more}]"

        return re.sub(r"\b([A-Za-z]\w*)\((\d+(?:, \d+)?)\)", index, line)

    def __call__(self, q, qd, qdd) -> dict[str, np.ndarray]:
        return dict(zip(self.letters, self.space[self.main](q, qd, qdd), strict=True))


@pytest.mark.parametrize("seed", range(20))
def test_python_and_matlab_of_random_robots(tmp_path, seed):
    x = example(seed)
    made = module(x.write("python", tmp_path / "x.py"))
    x.check({name: getattr(made, name)(*(x.given[a] for a in arrays)) for name, arrays in FUNCTIONS.items()}, 1e-9)
    made.self_test()
    function = Matlab(x.write("matlab", tmp_path / "x.m"))
    letters = {"inverse_dynamics": "tau", "friction": "f", "gravity": "g", "mass_matrix": "M", "regressor": "Y"}
    rows = [function(*s) for s in zip(*x.given.values(), strict=True)]
    shapes = {name: values.shape[1:] for name, values in x.expected().items()}
    x.check({name: np.array([r[k].reshape(shapes[name]) for r in rows]) for name, k in letters.items()}, 1e-9)


@pytest.mark.parametrize("seed", range(20))
def test_c_and_cpp_of_random_robots_in_double_and_float(tmp_path, seed):
    """C for even seeds, C++ for odd ones: their functions are the same text."""
    x = example(seed)
    if seed % 2:
        header = x.write("cpp", tmp_path / "arm.hpp")
        double, single = cpp_library(header, "double"), cpp_library(header, "float")
    else:
        header = x.write("c", tmp_path / "arm.h")
        double, single = c_library(header), c_library(header, f"-D{names_of(header).upper()}_FLOAT")
    assert double.x_self_test() == 0
    x.check(called(double, x), 1e-9)
    assert single.x_self_test() == 0
    x.check(called(single, x, np.float32), 1e-5)
