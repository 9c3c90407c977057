"""MATLAB: one function file for a MATLAB Function block of Simulink, MATLAB Coder or MATLAB itself.

Source of the method: `ident.symbolic.controller`. Source of the form: MathWorks, "MATLAB Language Features Supported
for C/C++ Code Generation": arithmetic, subscripts, local functions, double and single. All outputs are always assigned;
generated code drops what nobody uses.
"""

from __future__ import annotations

from ident.export.controller import MEANING, body_line, controller
from ident.export.identified import Identified, Written
from ident.export.text import comment, matlab, number, numbers
from ident.symbolic.controller import PER_WIDTH
from ident.symbolic.functions import places
from ident.symbolic.program import Program, Style


def function_name(robot: str) -> str:
    """Return the name of the function, and so of its file, of a robot whose name is an identifier."""
    return f"{robot}_dynamics"


def write_matlab_function(item: Identified) -> Written:
    """Return a MATLAB function [tau, f, g, M, Y] = NAME_dynamics(q, qd, qdd); raises ModelError without robot."""
    made = controller(item, "a MATLAB function")
    name, n = function_name(made.name), made.n
    by_name = {program.name: program for program in made.functions}
    outputs = ("inverse_dynamics", "friction", "gravity", "mass_matrix", "regressor")
    letters = [by_name[f].output for f in outputs]
    lines = [
        f"function [{', '.join(letters)}] = {name}(q, qd, qdd)",
        *comment((f"{name.upper()} Dynamics of {n} joints; save this file as {name}.m.", *made.about), "%"),
        f"% Joints, in the order of q ({n}x1, as qd and qdd): "
        + ", ".join(matlab(joint) for joint in made.robot.joint_names),
        *(f"% {by_name[f].output}: {MEANING[f]}" for f in outputs),
        "% Outputs are double, or single where q is. Feed forward tau + f.",
        "%",
        "% Base parameters phi: what each is made of, and its standard error:",
        *comment(
            (
                f"phi({k}) = {number(x)}: {t}"
                for k, (x, t) in enumerate(zip(made.phi, made.phi_lines(), strict=True), 1)
            ),
            "%",
        ),
        "% Links:",
        *comment(
            (f"{body_line(link)} = {numbers(b)}" for link, b in zip(made.robot.links, made.bodies, strict=True)), "%"
        ),
        "%",
        "% Test vector, computed by other code:",
        *(f"% {letter} = [{numbers(x)}]';" for letter, x in zip(("q", "qd", "qdd"), made.state, strict=True)),
        *(f"% {by_name[f].output} = [{numbers(made.expected[f].ravel())}]';" for f in outputs[:3]),
        "%#codegen",
        *(f"{by_name[f].output} = {_call(f, by_name)};" for f in outputs),
    ]
    lines += ["end", ""]
    for f in outputs:
        lines += _function(by_name[f], made.width)
    return Written("\n".join(lines), made.notes)


def _call(name: str, by_name: dict[str, Program]) -> str:
    return f"{name}({', '.join(x for x in by_name[name].inputs if x != PER_WIDTH)})"


def _function(program: Program, width: float) -> list[str]:
    body, entries = program.lines(Style(number=number, power=lambda x, p: f"sign({x})*abs({x})^{p}"))
    arrays = [array for array in program.inputs if array != PER_WIDTH]
    rows, columns = (*program.entries.shape, 1)[:2]
    lines = [f"function {program.output} = {program.name}({', '.join(arrays)})", f"% {MEANING[program.name]}"]
    for array in arrays:
        used = [(k, label) for k, label in enumerate(program.inputs[array], 1) if label in program.used]
        lines += [f"{label} = {array}({k});" for k, label in used]
    if PER_WIDTH in program.used:
        lines.append(f"{PER_WIDTH} = 1/{width!r}; % one over the width of the tanh")
    lines += [f"{left} = {right};" for left, right in body]
    lines.append(f"{program.output} = zeros({rows}, {columns}, 'like', {arrays[0]});")
    for place, x, entry in zip(places(program), program.flat, entries, strict=True):
        if not (isinstance(x, float) and x == 0.0):
            lines.append(f"{program.output}({', '.join(str(k + 1) for k in place)}) = {entry};")
    return [*lines, "end", ""]
