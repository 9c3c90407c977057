"""Python: a module of batch functions that needs nothing but numpy.

Source of the method: `ident.symbolic.controller`; confirmed by running it in the tests.
"""

from __future__ import annotations

from ident.export.controller import MEANING, Controller, controller
from ident.export.identified import Identified, Written
from ident.export.text import comment, number, numbers, plain
from ident.symbolic.controller import PER_WIDTH
from ident.symbolic.functions import places
from ident.symbolic.program import Program, Style


def write_python_module(item: Identified) -> Written:
    """Return a numpy module with parameters, functions and self test; raises ModelError without robot."""
    made = controller(item, "a Python module")
    lines = [
        *comment(made.about, "#"),
        "# q, qd, qdd (..., n): one sample or any number; results (..., n), (..., n, n), (..., n, b).",
        "import numpy as np",
        "from numpy import cos, sin, tanh",
        "",
        f"JOINTS = ({' '.join(f'{plain(x)!r},' for x in made.robot.joint_names)})",
        f"COULOMB_WIDTH = {made.width!r}  # rad/s (m/s)",
        "#: Base parameters: what each is made of, and its standard error.",
        "PHI = np.array([",
        *(
            f"    {number(value)},  {comment([text], '#')[0]}"
            for value, text in zip(made.phi, made.phi_lines(), strict=True)
        ),
        "])",
        "#: m, hx, hy, hz, Ixx, Ixy, Ixz, Iyy, Iyz, Izz of each link.",
        "LINKS = {",
        *(
            f"    {plain(link)!r}: ({numbers(body, ', ')}),"
            for link, body in zip(made.robot.links, made.bodies, strict=True)
        ),
        "}",
        "",
    ]
    for program in made.functions:
        lines += _function(program)
    return Written("\n".join([*lines, *_self_test(made)]), made.notes)


def _function(program: Program) -> list[str]:
    body, entries = program.lines(Style(number=number))
    arrays = [array for array in program.inputs if array != PER_WIDTH]
    shape = "".join(f", {k}" for k in program.entries.shape)
    lines = ["", f"def {program.name}({', '.join(arrays)}):"]
    lines.append(f'    """Return {program.output} (...{shape}): {MEANING[program.name]}."""')
    for array in arrays:
        labels = program.inputs[array]
        lines.append(f"    {array} = np.asarray({array}, dtype=float)")
        lines.append(f"    if {array}.shape[-1:] != ({len(labels)},):")
        lines.append(f'        raise ValueError("the last axis of {array} must be {len(labels)}")')
    for array in arrays:
        used = [(k, label) for k, label in enumerate(program.inputs[array]) if label in program.used]
        lines += [f"    {label} = {array}[..., {k}]" for k, label in used]
    if PER_WIDTH in program.used:
        lines.append(f"    {PER_WIDTH} = 1.0 / COULOMB_WIDTH")
    lines += [f"    {left} = {right}" for left, right in body]
    samples = ", ".join(f"{array}.shape[:-1]" for array in arrays)
    lines.append(f"    {program.output} = np.zeros((*np.broadcast_shapes({samples}){shape}))")
    for place, x, entry in zip(places(program), program.flat, entries, strict=True):
        if not (isinstance(x, float) and x == 0.0):
            lines.append(f"    {program.output}[..., {', '.join(map(str, place))}] = {entry}")
    return [*lines, f"    return {program.output}", ""]


def _self_test(made: Controller) -> list[str]:
    q, qd, qdd = (f"[{numbers(x, ', ')}]" for x in made.state)
    calls = {
        "inverse_dynamics": "q, qd, qdd",
        "gravity": "q",
        "mass_matrix": "q",
        "friction": "qd",
    }
    lines = [
        "",
        "def self_test():",
        '    """Raise AssertionError where a function differs from what other code computed for one state."""',
        f"    q, qd, qdd = {q}, {qd}, {qdd}",
        "    total = inverse_dynamics(q, qd, qdd) + friction(qd)",
        "    scale = np.abs(total).max() + np.abs(gravity(q)).max()",
        "    terms = regressor(q, qd, qdd) * PHI",
        "    checks = {'regressor': np.abs(terms.sum(axis=-1) - total).max() / max(scale, np.abs(terms).max())}",
    ]
    for function, arguments in calls.items():
        values = numbers(made.expected[function].ravel(), ", ")
        found = f"{function}({arguments}).ravel()"
        size = "np.abs(expected).max()" if function == "mass_matrix" else "scale"
        lines.append(f"    expected = np.array([{values}])")
        lines.append(f"    checks[{function!r}] = np.abs({found} - expected).max() / {size}")
    lines += [
        "    wrong = [name for name, error in checks.items() if not error <= 1e-9]",
        "    if wrong:",
        "        raise AssertionError(f\"wrong: {', '.join(wrong)}\")",
    ]
    return [*lines, "", "", 'if __name__ == "__main__":', "    self_test()", '    print("self test: ok")', ""]
