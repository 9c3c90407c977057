"""LaTeX: the entries of D, C and g, or the assignments that lead to them where the entries are too long to read."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ident.errors import InputError, ModelError
from ident.files import write_whole
from ident.robot.robot import Robot
from ident.spatial.inertia import INERTIAL
from ident.symbolic.closed_form import ClosedForm, closed_form
from ident.symbolic.functions import functions
from ident.symbolic.newton_euler import identifier, parameter_names
from ident.symbolic.program import Program, Style

_READABLE = 4000  # terms of D, C and g together
_GLYPHS_A_LINE = 70  # about as many as the page is wide


def write_latex(path: str | Path, robot: Robot | ClosedForm, inertials: ArrayLike | None = None) -> Path:
    r"""Write a LaTeX document (amsmath) with D, C and g of a robot, or of a closed form such as `planar(3)`.

    Symbols are q_i, \dot q_i and, without `inertials` (n, 10), m_i, h_{ix} = m_i c_{ix}, I_{ixx} of link i. A robot
    whose closed form has more than 4000 terms is written as assignments, sines s_i and cosines c_i first.
    Raises ModelError when inertials do not fit, InputError when the path does not end in .tex, cannot be written to,
    or inertials are given beside a closed form.
    """
    path = Path(path)
    if path.suffix != ".tex":
        raise InputError(f"a LaTeX document ends in .tex, not in '{path.suffix}'", file=path)
    if isinstance(robot, ClosedForm):
        if inertials is not None:
            raise InputError("a closed form has its parameters already", fix="Give parameters to closed_form")
        title, body = f"{robot.n} joints", _entries(robot)
    else:
        name = identifier(robot.name, "robot").replace("_", r"\_")
        title = rf"{name}, {robot.n} joints"
        body = _robot(robot, inertials)
    text = "\n".join(
        [
            r"\documentclass[fleqn]{article}",
            r"\usepackage[margin=2cm]{geometry}",
            r"\usepackage{amsmath}",
            r"\allowdisplaybreaks",
            r"\begin{document}",
            rf"\section*{{Equations of motion of {title}}}",
            r"\[ D(q)\,\ddot q + C(q,\dot q)\,\dot q + g(q) = \tau \]",
            *body,
            r"\end{document}",
            "",
        ]
    )
    return write_whole(path, text)


def _robot(robot: Robot, inertials: ArrayLike | None) -> list[str]:
    programs = functions(robot, inertials)  # first, for what it says of wrong inertials
    with suppress(ModelError):  # of what is too large
        form = closed_form(robot, inertials)
        if _readable(form):
            return _entries(form)
    symbols = _symbols(robot.n, parameter_names(robot))
    written = [program for program in programs if program.name in ("mass_matrix", "coriolis_matrix", "gravity")]
    said = "The sines $s_i$, cosines $c_i$ and intermediate results $v_k$ of each section are its own."
    return [said, *(line for program in written for line in _assignments(program, symbols))]


def _readable(form: ClosedForm) -> bool:
    """Return whether D, C and g have few enough terms; counted only that far, for all of them may take a minute."""
    left = _READABLE
    for x in (*form.terms.D.flat, *form.terms.g, *form.terms.christoffel.flat):
        left -= len(form.terms.written(x))
        if left < 0:
            return False
    return True


def _symbols(n: int, parameters: tuple[str, ...]) -> dict[str, str]:
    """Return how each symbol is printed; links are numbered, whatever their names are."""
    joints = {f"{letter}{i}": rf"{dots}_{{{i}}}" for i in range(1, n + 1) for letter, dots in _DOTS.items()}
    parts = [(i, part[0], part[1:]) for i in range(1, n + 1) for part in INERTIAL]
    return joints | {name: f"{letter}_{{{i}{axes}}}" for name, (i, letter, axes) in zip(parameters, parts, strict=True)}


_DOTS = {"q": "q", "qd": r"\dot{q}", "qdd": r"\ddot{q}"}


def _entries(form: ClosedForm) -> list[str]:
    n, symbols = form.n, _symbols(form.n, form.theta_names)
    pairs = list(itertools.product(range(n), repeat=2))
    return [
        r"\subsection*{Mass matrix, $D_{ji} = D_{ij}$}",
        *(_entry(f"D_{{{_index(i, j)}}}", form.D[i, j], symbols) for i, j in pairs if i <= j),
        r"\subsection*{Coriolis matrix}",
        *(_entry(f"C_{{{_index(i, j)}}}", form.C[i, j], symbols) for i, j in pairs),
        r"\subsection*{Gravity}",
        *(_entry(f"g_{{{i + 1}}}", form.g[i], symbols) for i in range(n)),
    ]


def _entry(name: str, x: Any, symbols: Mapping[str, str]) -> str:
    import sympy

    names = {s: symbols[s.name] for s in x.free_symbols if s.name in symbols}
    terms = [sympy.latex(term, symbol_names=names) for term in x.as_ordered_terms()]
    signed = [terms[0], *(f"- {t[1:].lstrip()}" if t.startswith("-") else f"+ {t}" for t in terms[1:])]
    return "\\begin{align*}\n" + f"{name} ={{}}& " + _broken(signed) + "\n\\end{align*}"


def _broken(terms: list[str]) -> str:
    """Return terms, each with its sign, in lines that fit the page."""
    lines: list[str] = []
    width = _GLYPHS_A_LINE
    for term in terms:
        glyphs = len(re.sub(r"\\(left|right|dot|frac|cdot)|[\\{}_^ ,]", "", term))
        if width + glyphs > _GLYPHS_A_LINE:
            lines, width = [*lines, term], glyphs
        else:
            lines[-1], width = f"{lines[-1]} {term}", width + glyphs
    return " \\\\\n& ".join(lines)


def _assignments(program: Program, symbols: Mapping[str, str]) -> list[str]:
    def name(text: str) -> str:
        return symbols.get(text) or re.sub(r"^([a-z])(\d+)$", r"\1_{\2}", text)

    def number(x: float) -> str:
        mantissa, _, exponent = repr(x).partition("e")
        return rf"{mantissa} \cdot 10^{{{int(exponent)}}}" if exponent else mantissa

    def line(left: str, right: str) -> str:
        unmistakable = right.replace(r"\,(", r" \cdot (")  # no function of what is in the parentheses
        return f"{left} ={{}}& {_broken(re.split(r' (?=[+-] )', unmistakable))}"

    style = Style(name, number, r"\,", lambda function, argument: rf"\{function} {argument}")
    body, entries = program.lines(style)
    lines = [line(left, right) for left, right in body]
    for place, entry in zip(np.ndindex(program.entries.shape), entries, strict=True):
        if program.name != "mass_matrix" or place[0] <= place[1]:
            lines.append(line(f"{program.output}_{{{_index(*place)}}}", entry))
    title = {"mass_matrix": "Mass matrix, $D_{ji} = D_{ij}$", "coriolis_matrix": "Coriolis matrix"}
    return [
        rf"\subsection*{{{title.get(program.name, 'Gravity')}}}",
        "\\begin{align*}\n" + " \\\\\n".join(lines) + "\n\\end{align*}",
    ]


def _index(*place: int) -> str:
    """Return the place of an entry, counted from 1; a comma where it could be read wrongly."""
    return ("," if max(place) > 8 else "").join(str(k + 1) for k in place)
