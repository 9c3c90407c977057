"""What `ident codegen --latex` writes, typeset by pdfTeX and looked at: no error, nothing in the margins.

Needs pdflatex with amsmath and geometry (Debian: texlive-latex-base) and pdftoppm (poppler-utils). That the formulas
are the right ones is the matter of `test_latex_round_trip.py`.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from oracles import random_bodies, random_tree
from symbolic_robots import RIGHT, four
from typer.testing import CliRunner

from ident.cli.main import app
from ident.export.code import write_latex
from ident.robot import DHJoint, MDHJoint, Robot, from_dh, from_mdh
from ident.symbolic import planar

MARGIN = 2 / 2.54 * 72  # of the page [pt]
MOST = 5.0  # that a line may stand out [pt]
OVERFULL = re.compile(r"Overfull \\hbox \(([\d.]+)pt too wide\)")


def typeset(path: Path) -> str:
    """Return TeX's log of a document, whose PDF then lies beside it; fails at the first error."""
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", path.name]
    done = subprocess.run(command, cwd=path.parent, capture_output=True, check=False)
    log = path.with_suffix(".log").read_text(encoding="latin-1")
    assert done.returncode == 0, log[-2000:]
    return log


def pages(path: Path) -> list[np.ndarray]:
    """Return the pages of the PDF as grey pictures (height, width), a point a pixel."""
    command = ["pdftoppm", "-r", "72", "-gray", path.with_suffix(".pdf").name]
    raw = subprocess.run(command, cwd=path.parent, capture_output=True, check=True).stdout
    found = []
    while raw:
        head = re.match(rb"P5\s(\d+) (\d+)\s255\s", raw)
        assert head
        width, height = int(head[1]), int(head[2])
        end = head.end() + width * height
        found.append(np.frombuffer(raw[head.end() : end], np.uint8).reshape(height, width))
        raw = raw[end:]
    return found


def looked_at(path: Path) -> int:
    """Return the number of pages, none of which is empty or has ink beside the text's width."""
    log = typeset(path)
    assert [x for x in OVERFULL.findall(log) if float(x) > MOST] == []
    assert "LaTeX Warning" not in log
    found = pages(path)
    for page in found:
        inked = np.flatnonzero((page < 128).any(axis=0))
        assert inked[0] >= MARGIN - MOST
        assert inked[-1] <= page.shape[1] - MARGIN + MOST
        rows = np.flatnonzero((page < 128).any(axis=1))
        assert rows[0] >= MARGIN - MOST
        assert rows[-1] <= page.shape[0] - 20  # the page's number stands below the text
    return len(found)


def arm7() -> Robot:
    rows = [(0, 0, 0.33), (0, -RIGHT, 0), (0, RIGHT, 0.32), (0.08, RIGHT, 0), (-0.08, -RIGHT, 0.38), (0, RIGHT, 0)]
    rows.append((0.09, RIGHT, 0.1))
    return from_mdh("arm7", [MDHJoint(a=a, alpha=alpha, d=d) for a, alpha, d in rows])


@pytest.mark.parametrize("n", [1, 3, 5])
def test_planar_arms_in_their_own_symbols(n: int, tmp_path: Path) -> None:
    looked_at(write_latex(tmp_path / "planar.tex", planar(n)))


@pytest.mark.parametrize("numbers", [False, True])
@pytest.mark.parametrize("name", ["arm5", "scara", "arm7", "tree"])
def test_robots_with_symbols_and_with_numbers(name: str, numbers: bool, tmp_path: Path) -> None:
    """Five joints and a prismatic one: entries written out; seven, and joints beside their frames: assignments."""
    rng = np.random.default_rng(3)
    robot = {**four(), "arm7": arm7(), "tree": random_tree(rng, 6, points=True, branches=False)}[name]
    path = write_latex(tmp_path / "robot.tex", robot, random_bodies(rng, robot.n) * 1e-4 if numbers else None)
    assert (name in {"arm7", "tree"}) == (r"v_{1} ={}" in path.read_text())
    looked_at(path)


def test_the_command_writes_what_tex_takes(tmp_path: Path) -> None:
    robot = Path(__file__).parents[2] / "datasets" / "arm5" / "robot.toml"
    done = CliRunner().invoke(app, ["codegen", str(robot), "--latex", str(tmp_path / "arm5.tex")])
    assert done.exit_code == 0, done.output
    assert looked_at(tmp_path / "arm5.tex") > 2


def test_names_are_no_commands(tmp_path: Path) -> None:
    robot = from_dh(r"50% \input{x}_$^&# ~ä", [DHJoint(a=0.3, name=r"\end{document}", link="%_$")])
    assert looked_at(write_latex(tmp_path / "name.tex", robot)) == 1


def test_a_line_that_is_too_wide_is_found(tmp_path: Path) -> None:
    """Both looks see it: TeX's own and that for ink in the margin."""
    path = write_latex(tmp_path / "wide.tex", planar(2))
    path.write_text(path.read_text().replace("={}& ", "={}& " + "x + " * 60))
    assert max(float(x) for x in OVERFULL.findall(typeset(path))) > 100
    assert (pages(path)[0][:, -20:] < 128).any()
