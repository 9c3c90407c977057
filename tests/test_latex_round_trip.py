"""The LaTeX that is written, read by SymPy's ANTLR parser, has the numbers of the compiled batch functions.

The parser (of the kind that reads what people write, strict) knows nothing of how the document was made; it lacks only
`\\dot`, for which a letter stands in here.
"""

from __future__ import annotations

import functools
import re
import warnings
from pathlib import Path

import numpy as np
import pytest
import sympy
from matplotlib.font_manager import FontProperties
from matplotlib.mathtext import MathTextParser
from oracles import random_bodies, random_tree
from seeds import ALL, cases
from symbolic_robots import four, motion, relative
from sympy.parsing.latex import parse_latex

from ident import dynamics
from ident.errors import ModelError
from ident.export.code import latex, write_latex
from ident.robot import DHJoint, MDHJoint, Robot, from_dh, from_mdh
from ident.spatial.inertia import INERTIAL
from ident.symbolic import planar, planar_arm

pytestmark = pytest.mark.slow

SAMPLES = 20
#: Each joint of the SCARA arm once; the second turning one makes three times as much to read.
THREE = [DHJoint(a=0.325, d=0.4), DHJoint(kind="prismatic", alpha=np.pi, d=0.05), DHJoint(a=0.225, d=0.03)]
TITLES = {"Mass matrix, $D_{ji} = D_{ij}$": "D", "Coriolis matrix": "C", "Gravity": "g"}
LEFT = re.compile(r"([a-zA-Z])_\{([\d,]+)\}")


@functools.cache
def parsed(text: str) -> sympy.Expr:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return parse_latex(text.replace(r"\dot{q}", "w"), strict=True, backend="antlr")


def sections(text: str) -> dict[str, list[tuple[str, str]]]:
    """Return the equations of each section of a document, left and right sides, as a typesetter sees them."""
    assert text.isascii()
    body = re.fullmatch(r"\\documentclass.*?\\begin\{document\}\n(.*)\\end\{document\}\n", text, re.DOTALL)
    assert body
    _, *parts = re.split(r"\\subsection\*\{(.*)\}\n", body[1])
    found = {}
    for title, part in zip(parts[::2], parts[1::2], strict=True):
        outside, equations = "", []
        for k, block in enumerate(re.split(r"\\begin\{align\*\}\n|\n\\end\{align\*\}", part)):
            if k % 2 == 0:
                outside += block
                continue
            for line in block.split(" \\\\\n"):
                left, mark, right = line.partition("&")
                if left:
                    assert left.endswith(" ={}")
                    equations.append((left.removesuffix(" ={}"), right.strip()))
                else:
                    equations[-1] = (equations[-1][0], f"{equations[-1][1]} {right.strip()}")
                assert mark
                assert "&" not in right
        assert outside.strip() == ""
        found[TITLES[title]] = equations
    assert list(found) == ["D", "C", "g"]
    return found


def long(*arguments: object) -> None:
    """Stand for `closed_form` where the entries are too long."""
    raise ModelError("too large")


def evaluated(equations: list[tuple[str, str]], given: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the value (samples,) of each left side, every line in terms of those before it."""
    values = {str(parsed(name)): x for name, x in given.items()}
    found = {}
    for left, right in equations:
        expression = parsed(right)
        symbols = sorted(expression.free_symbols, key=str)
        assert not expression.atoms(sympy.core.function.AppliedUndef), right  # a product that reads like s(x)
        x = sympy.lambdify(symbols, expression, "numpy")(*(values[str(s)] for s in symbols))
        found[left] = values[str(parsed(left))] = np.broadcast_to(x, (SAMPLES,))
    return found


def matrix(found: dict[str, np.ndarray], letter: str, n: int) -> np.ndarray:
    """Return D, C (samples, n, n) or g (samples, n); D has its upper triangle alone."""
    out = np.full((SAMPLES, n, n) if letter != "g" else (SAMPLES, n), np.nan)
    for left, x in found.items():
        name, index = LEFT.fullmatch(left).groups()
        if name == letter:
            places = [index] if letter == "g" else index.split(",") if "," in index else index
            place = tuple(int(k) - 1 for k in places)
            assert np.isnan(out[:, *place]).all(), left
            out[:, *place] = x
            if letter == "D":
                assert place[0] <= place[1]
                out[:, *place[::-1]] = x
    return out


def compare(text: str, robot: Robot, theta: np.ndarray, given: dict[str, np.ndarray]) -> None:
    n, state = robot.n, motion(robot.n, samples=SAMPLES)
    given = given | {f"q_{{{j + 1}}}": state["q"][:, j] for j in range(n)}
    given |= {rf"\dot{{q}}_{{{j + 1}}}": state["qd"][:, j] for j in range(n)}
    expected = {
        "D": dynamics.mass_matrix(robot, theta, state["q"]),
        "C": dynamics.coriolis_matrix(robot, theta, state["q"], state["qd"]),
        "g": dynamics.gravity_load(robot, theta, state["q"]),
    }
    for letter, equations in sections(text).items():
        assert relative(matrix(evaluated(equations, given), letter, n), expected[letter]) < 1e-12, letter


def links(theta: np.ndarray) -> dict[str, np.ndarray]:
    """Return the parameters of each link by the names that `write_latex` promises."""
    return {f"{p[0]}_{{{i + 1}{p[1:]}}}": x for i, row in enumerate(theta) for p, x in zip(INERTIAL, row, strict=True)}


def test_a_planar_arm_in_its_own_symbols(tmp_path: Path) -> None:
    a, m, g = [1.1, 0.7], [2.0, 0.3], 3.7
    names = {f"a_{{{i + 1}}}": x for i, x in enumerate(a)} | {f"m_{{{i + 1}}}": x for i, x in enumerate(m)}
    arm = planar_arm(2, a, m, g)
    compare(write_latex(tmp_path / "p.tex", planar(2)).read_text(), arm, arm.inertials, names | {"g_{0}": g})


@pytest.mark.parametrize("short", [False, True])
def test_a_robot_with_symbols(short: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Entries written out, and the assignments by which those of larger robots are written."""
    if short:
        monkeypatch.setattr(latex, "closed_form", long)
    robot = four()["scara"] if cases(ALL) == ALL else from_dh("three", THREE)
    theta = random_bodies(np.random.default_rng(0), robot.n)
    text = write_latex(tmp_path / "robot.tex", robot).read_text()
    assert ("v_{1} =" in text) == short
    compare(text, robot, theta, links(theta))


@pytest.mark.parametrize("short", [False, True])
def test_a_robot_with_numbers_worked_in(short: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Milligrammes, whose numbers need powers of ten."""
    if short:
        monkeypatch.setattr(latex, "closed_form", long)
    robot = from_mdh("two", [MDHJoint(alpha=np.pi / 2, d=0.2), MDHJoint(a=0.5, alpha=np.pi / 2, offset=0.7)])
    theta = random_bodies(np.random.default_rng(5), 2) * 1e-6
    text = write_latex(tmp_path / "robot.tex", robot, theta).read_text()
    assert r" \cdot 10^{-" in text
    compare(text, robot, theta, {})


def test_gravity_of_twelve_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Joints from the tenth on have two digits."""
    monkeypatch.setattr(latex, "closed_form", long)
    arm = planar_arm(12)
    text = write_latex(tmp_path / "arm.tex", arm, arm.inertials).read_text()
    found = sections(text)
    assert len([left for left, _ in found["D"] if left.startswith("D")]) == 78
    assert {"C_{1,12}", "C_{12,1}", "C_{11}", "C_{99}", "C_{11,11}"} <= {left for left, _ in found["C"]}
    q = motion(12, samples=SAMPLES)["q"]
    g = matrix(evaluated(found["g"], {f"q_{{{j + 1}}}": q[:, j] for j in range(12)}), "g", 12)
    assert relative(g, dynamics.gravity_load(arm, arm.inertials, q)) < 1e-12


def points_wide(line: str) -> float:
    """Return how wide Matplotlib sets a line of ten points in Computer Modern [pt]."""
    width: float = MathTextParser("path").parse(f"${line}$", 72, FontProperties(size=10, math_fontfamily="cm")).width
    return width


def test_the_longest_lines_fit_the_page(tmp_path: Path) -> None:
    """The text is 17 cm (484 pt) wide on A4 paper; another typesetter than TeX reads and measures the lines."""
    rng = np.random.default_rng(0)
    arm = random_tree(rng, 6, points=True, branches=False)
    texts = [
        write_latex(tmp_path / "entries.tex", four()["arm5"], random_bodies(rng, 5)).read_text(),
        write_latex(tmp_path / "assignments.tex", arm, random_bodies(rng, 6)).read_text(),
    ]
    assert [t.count("v_{1} =") for t in texts] == [0, 3]
    for text in texts:
        blocks = re.findall(r"\\begin\{align\*\}\n(.*?)\n\\end", text, re.DOTALL)
        lines = [line.replace("&", "").removesuffix(r"\\") for block in blocks for line in block.split("\n")]
        lines.sort(key=lambda line: len(re.sub(r"\\[a-z]+|[^0-9a-zA-Z+=-]", "", line)))
        assert max(map(points_wide, lines[-15:])) < 450
