"""Generated C, Python and LaTeX: compiled, imported, compared with the batch functions and with Pinocchio."""

from __future__ import annotations

import ctypes
import importlib.util
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from oracles import pin_torque, pin_tree, random_bodies, random_tree
from symbolic_robots import four, motion, relative, scara

from ident import dynamics
from ident.errors import InputError, ModelError
from ident.export.code import write_c, write_latex, write_python
from ident.model import Model
from ident.regression import base_parameters
from ident.robot import Joint, MDHJoint, Robot, from_mdh
from ident.symbolic import closed_form, functions, planar, planar_arm
from ident.symbolic.newton_euler import identifier, parameter_names

pytestmark = pytest.mark.slow

STRICT = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic")
RIGHT = np.pi / 2


def arm7() -> Robot:
    """The seven-joint arm of the benchmarks."""
    path = Path(__file__).parents[1] / "experiments" / "benchmarks" / "arm7.py"
    spec = importlib.util.spec_from_file_location("arm7", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.arm()


def expected(robot: Robot, theta: np.ndarray, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> dict[str, np.ndarray]:
    Y = dynamics.regressor(robot, q, qd, qdd)
    return {
        "inverse_dynamics": dynamics.inverse_dynamics(robot, theta, q, qd, qdd),
        "regressor": Y,
        "base_regressor": Y[:, :, list(base_parameters(Model(robot)).kept)],
        "mass_matrix": dynamics.mass_matrix(robot, theta, q),
        "coriolis_matrix": dynamics.coriolis_matrix(robot, theta, q, qd),
        "gravity": dynamics.gravity_load(robot, theta, q),
    }


def compiled(source: Path, *flags: str) -> Path:
    """Return the file that gcc makes of a generated source."""
    out = source.with_suffix(".bin")
    subprocess.run(["gcc", *STRICT, *flags, str(source), "-o", str(out), "-lm"], check=True)
    return out


def called(path: Path, robot: Robot, given: dict[str, np.ndarray], parameters: np.ndarray | None) -> dict:
    """Return what each function of a source or a shared library computes, sample by sample."""
    library = ctypes.CDLL(str(path if path.suffix == ".bin" else compiled(path, "-shared", "-fPIC")))
    found = {}
    for program in functions(robot, parameters):
        function = getattr(library, f"{path.stem}_{program.name}")
        samples = len(given["q"])
        out = np.full((samples, *program.entries.shape), np.nan)
        for s in range(samples):
            arrays = [np.ascontiguousarray(given[a][s if len(given[a]) == samples else 0]) for a in program.inputs]
            function(*(ctypes.c_void_p(x.ctypes.data) for x in [*arrays, out[s]]))
        found[program.name] = out
    return found


def run(program: Path) -> subprocess.CompletedProcess:
    return subprocess.run([str(program)], capture_output=True, text=True, check=False)


# C


@pytest.fixture(scope="module")
def arm(tmp_path_factory) -> tuple[Robot, Path]:
    """The seven-joint arm, and the shared library of its code."""
    robot = arm7()
    source, _ = write_c(tmp_path_factory.mktemp("arm7"), robot)
    return robot, compiled(source, "-O2", "-shared", "-fPIC")


def test_c_of_a_seven_joint_arm_is_the_batch_functions(arm) -> None:
    robot, library = arm
    theta, state = random_bodies(np.random.default_rng(0), robot.n), motion(robot.n)
    found = called(library, robot, state | {"theta": theta.reshape(1, -1)}, None)
    for name, values in expected(robot, theta, **state).items():
        assert relative(found[name], values) < 1e-12, name
    assert relative(found["inverse_dynamics"], pin_torque(pin_tree(robot, theta), *state.values())) < 1e-12


@pytest.mark.parametrize("seed", range(3))
def test_c_of_random_trees_with_numbers_worked_in(seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(40 + seed)
    robot = random_tree(rng, 2 + seed, points=True)
    theta, state = random_bodies(rng, robot.n), motion(robot.n, seed, 10)
    source, header = write_c(tmp_path, robot, theta)
    assert "theta" not in re.sub("//.*", "", header.read_text())
    found = called(source, robot, state, theta)
    for name, values in expected(robot, theta, **state).items():
        assert relative(found[name], values) < 1e-11, name


def test_c_of_ten_planar_links_evaluates_the_closed_form(tmp_path: Path) -> None:
    robot = planar_arm(10, np.linspace(0.5, 1.4, 10), 2.0)
    theta, state = robot.inertials, motion(10, samples=20)
    source, _ = write_c(tmp_path, robot, theta)
    found = called(source, robot, state, theta)
    form = planar(10, np.linspace(0.5, 1.4, 10), 2.0, 9.81)
    q, qd = state["q"], state["qd"]
    values = expected(robot, theta, **state)
    for name in ("mass_matrix", "coriolis_matrix", "gravity"):
        assert relative(found[name], values[name]) < 1e-12, name
    # two entries of the printed formulas, by hand
    symbols = dict(zip([*form.q, *form.qd], [*q[0], *qd[0]], strict=True))
    assert found["mass_matrix"][0, 3, 6] == pytest.approx(float(form.D[3, 6].subs(symbols)), rel=1e-12)
    assert found["coriolis_matrix"][0, 3, 6] == pytest.approx(float(form.C[3, 6].subs(symbols)), rel=1e-12)


@pytest.mark.parametrize(("name", "turn"), [("planar", 0), ("arm5", 1), ("scara", 0)])
def test_self_test_passes_and_can_fail(name: str, turn: int, tmp_path: Path) -> None:
    """Every function's example fails by a wrong number of one robot, and by NaN of another."""
    robot = four()[name]
    source, header = write_c(tmp_path, robot)
    flag = f"-D{source.stem.upper()}_EXAMPLE"
    done = run(compiled(source, flag))
    assert (done.returncode, done.stdout) == (0, "self test: ok (0)\n")
    text = header.read_text()
    for number, program in enumerate(functions(robot), 1):
        start = text.index(f" {source.stem}_{program.name}(")
        wrong = re.sub(r"(    \w+\[\d+\] = )(.*);", r"\1\2 + 0.001;", text[start:], count=1)
        change = (" + 0.001", " + log(-1.0)")[(number + turn) % 2]
        header.write_text(text[:start] + wrong.replace(" + 0.001", change))
        done = run(compiled(source, flag))
        assert (done.returncode, done.stdout) == (number, f"self test: WRONG ({number})\n"), program.name


def test_self_test_of_what_is_all_zero(tmp_path: Path) -> None:
    """One joint has no Coriolis matrix to speak of, and none feels gravity where there is none."""
    robot = replace(random_tree(np.random.default_rng(0), 1, points=True), name="math", gravity=np.zeros(3))
    source, header = write_c(tmp_path, robot)
    assert header.name == "robot_math.h"
    assert run(compiled(source, "-DROBOT_MATH_EXAMPLE")).returncode == 0


def test_one_sliding_joint_leaves_arguments_unused(tmp_path: Path) -> None:
    """Gravity and mass of a lift do not depend on q: still no warning, and results may stand on arguments."""
    lift = Robot("lift", (replace(scara().joints[2], parent=-1),), ("cabin",))
    source, _ = write_c(tmp_path, lift)
    assert run(compiled(source, "-DLIFT_EXAMPLE")).returncode == 0
    library = ctypes.CDLL(str(compiled(source, "-shared", "-fPIC")))
    x = np.array([0.3])
    library.lift_gravity(*(ctypes.c_void_p(a.ctypes.data) for a in (x, np.arange(1.0, 11.0), x)))
    assert abs(x[0]) == pytest.approx(9.81)


def test_results_may_stand_on_arguments(arm) -> None:
    robot, path = arm
    library = ctypes.CDLL(str(path))
    state = {name: x[0] for name, x in motion(7).items()}
    theta = random_bodies(np.random.default_rng(0), 7)
    wanted = dynamics.inverse_dynamics(robot, theta, *(x[None] for x in state.values()))[0]
    for over in state:
        given = {name: x.copy() for name, x in state.items()}
        pointers = [ctypes.c_void_p(x.ctypes.data) for x in (*given.values(), theta, given[over])]
        library.arm7_inverse_dynamics(*pointers)
        np.testing.assert_allclose(given[over], wanted, rtol=1e-11)


HOSTILE = (
    '*/ int main(void){return system("true");} /*',
    "../../etc/x",
    "int",
    "7 of 9",
    "'; import os #",
    "机器人",
    "a\nb",
)


def hostile() -> Robot:
    links = HOSTILE
    joints = [
        Joint(f"joint {name}", "revolute", i - 1, scara().joints[0].placement, np.array([0, i % 2, 1.0]))
        for i, name in enumerate(links)
    ]
    return Robot('*/ #include "x"\n\\input{y}%_\'"""', tuple(joints), links)


def test_names_do_not_become_code(tmp_path: Path) -> None:
    robot = hostile()
    source, header = write_c(tmp_path / "c", robot)
    module = write_python(tmp_path / "module.py", robot)
    document = write_latex(tmp_path / "document.tex", robot)
    assert sorted(p.name for p in (tmp_path / "c").iterdir()) == ["include_x_input_y.c", "include_x_input_y.h"]
    assert run(compiled(source, "-DINCLUDE_X_INPUT_Y_EXAMPLE")).returncode == 0
    texts = [p.read_text() for p in (source, header, module, document)]
    for text in texts:
        assert text.isascii()
        assert "system(" not in text
        assert "import os" not in text
        assert r"\input" not in text
    assert re.findall("#include.*", texts[0]) == ['#include "include_x_input_y.h"']
    assert re.findall("#include.*", texts[1]) == ["#include <math.h>", "#include <stdio.h>"]
    names = parameter_names(robot)
    assert len(set(names)) == 70
    assert all(re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*_(m|h[xyz]|I[xyz]{2})", name) for name in names)
    load(module)


def test_identifiers() -> None:
    assert [identifier(x, "link") for x in ("", "7", "a b", "__a__", "é")] == ["link", "link_7", "a_b", "a", "link"]
    assert len(identifier("x" * 500, "link")) == 40
    robot = replace(planar_arm(3), links=("a b", "a_b", "a-b"))
    assert parameter_names(robot)[::10] == ("a_b_1_m", "a_b_2_m", "a_b_3_m")
    taken = replace(planar_arm(3), links=("a", "a!", "a_1"))
    assert parameter_names(taken)[::10] == ("link1_m", "link2_m", "link3_m")


# Python


def load(path: Path):
    spec = importlib.util.spec_from_file_location("generated", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("robot", [arm7(), scara(), random_tree(np.random.default_rng(3), 5, points=True)])
def test_python_is_the_batch_functions(robot: Robot, tmp_path: Path) -> None:
    theta, state = random_bodies(np.random.default_rng(0), robot.n), motion(robot.n)
    symbolic = load(write_python(tmp_path / "symbolic.py", robot))
    numeric = load(write_python(tmp_path / "numeric.py", robot, theta))
    for program in functions(robot):
        values = expected(robot, theta, **state)[program.name]
        arrays = [state[name] for name in program.inputs if name != "theta"]
        more = [theta] if "theta" in program.inputs else []
        with_symbols: Callable = getattr(symbolic, program.name)
        assert relative(with_symbols(*arrays, *more), values) < 1e-12, program.name
        assert relative(getattr(numeric, program.name)(*arrays), values) < 1e-12, program.name
        one = with_symbols(*(x[0] for x in arrays), *more)  # one sample alone
        assert relative(one, values[0]) < 1e-11
        cube = with_symbols(*(x.reshape(4, 25, -1) for x in arrays), *more)
        assert relative(cube.reshape(values.shape), values) < 1e-12
    assert (symbolic.JOINTS, len(symbolic.PARAMETERS)) == (robot.n, 10 * robot.n)
    with pytest.raises(ValueError, match="last axis of q must be"):
        symbolic.gravity(np.zeros((5, robot.n + 1)), theta)
    with pytest.raises(ValueError, match="theta must hold"):
        symbolic.gravity(np.zeros(robot.n), theta[:-1])


def test_the_module_needs_numpy_alone(tmp_path: Path) -> None:
    path = write_python(tmp_path / "lift.py", planar_arm(1), planar_arm(1).inertials)
    code = "import lift, sys; print(lift.gravity([0.0])[0], 'ident' in sys.modules, 'sympy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=path.parent, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [repr(9.81 / 2), "False", "False"]


# LaTeX


def balanced(text: str) -> bool:
    depth = 0
    for c in re.sub(r"\\[{}]", "", text):
        depth += {"{": 1, "}": -1}.get(c, 0)
        if depth < 0:
            return False
    return depth == 0 and re.findall(r"\\begin\{(.*?)\}", text).count("align*") == text.count(r"\end{align*}")


def test_latex_of_a_planar_arm_prints_the_terms_of_the_paper(tmp_path: Path) -> None:
    text = write_latex(tmp_path / "planar.tex", planar(5)).read_text()
    assert balanced(text)
    assert r"a_{2} a_{4} m_{5} \cos{\left(q_{3} + q_{4} \right)}" in text
    assert text.count("D_{") == 15 + 2  # the upper triangle, and the heading's D_ji = D_ij
    assert text.count("C_{") == 25
    assert r"\dot{q}_{5}" in text
    assert max(map(len, text.splitlines())) < 400


@pytest.mark.parametrize("name", ["arm5", "scara"])
def test_latex_of_a_robot(name: str, tmp_path: Path) -> None:
    robot = four()[name]
    text = write_latex(tmp_path / "robot.tex", robot).read_text()
    assert balanced(text)
    assert "h_{2x}" in text
    assert "v_{" not in text
    numbers = write_latex(tmp_path / "numbers.tex", robot, random_bodies(np.random.default_rng(0), robot.n)).read_text()
    assert balanced(numbers)
    assert "h_{2x}" not in numbers


def test_latex_of_a_large_robot_is_its_assignments(tmp_path: Path) -> None:
    text = write_latex(tmp_path / "arm.tex", arm7()).read_text()
    assert balanced(text)
    assert re.search(r"^s_\{1\} =\{\}& \\sin q_\{1\} \\\\$", text, re.MULTILINE)
    assert re.search(r"^v_\{1\} =\{\}& ", text, re.MULTILINE)
    assert re.search(r"^C_\{77\} =\{\}& ", text, re.MULTILINE)
    assert not re.search(r"[a-zA-Z]\d|\de-", re.sub(r"\\section.*", "", text))  # every index and exponent is set


# Errors, repeatability


def test_wrong_arguments_are_told_so(tmp_path: Path) -> None:
    robot = planar_arm(2)
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(InputError, match="cannot be written"):
        write_c(blocked, robot)
    with pytest.raises(InputError, match=r"ends in \.py, not in '\.c'"):
        write_python(tmp_path / "x.c", robot)
    with pytest.raises(InputError, match=r"ends in \.tex, not in ''"):
        write_latex(tmp_path / "x", robot)
    with pytest.raises(InputError, match="has its parameters already"):
        write_latex(tmp_path / "x.tex", closed_form(robot), robot.inertials)
    calls: list[Callable] = [
        lambda p: write_c(tmp_path / "c", robot, p),
        lambda p: write_python(tmp_path / "x.py", robot, p),
        lambda p: write_latex(tmp_path / "x.tex", robot, p),
    ]
    for call in calls:
        with pytest.raises(ModelError, match="inertials"):
            call(np.ones((2, 9)))
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_the_same_robot_gives_the_same_text(tmp_path: Path) -> None:
    robot = from_mdh("arm", [MDHJoint(), MDHJoint(a=0.3, alpha=RIGHT), MDHJoint(a=0.2)])
    for folder in "ab":
        write_c(tmp_path / folder, robot)
        write_python(tmp_path / folder / "arm.py", robot)
        write_latex(tmp_path / folder / "arm.tex", robot)
    for path in (tmp_path / "a").iterdir():
        assert path.read_text() == (tmp_path / "b" / path.name).read_text()
