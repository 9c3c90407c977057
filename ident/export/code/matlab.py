"""MATLAB: one function file for a MATLAB Function block of Simulink, MATLAB Coder or MATLAB itself.

Source of the method: `ident.symbolic.functions`. Source of the form: MathWorks, "MATLAB Language Features Supported
for C/C++ Code Generation": arithmetic, subscripts, local functions, double and single. All outputs are always assigned;
generated code drops what nobody uses.
"""

from __future__ import annotations

from ident.export.code.controller import body_line, controller
from ident.export.identified import Identified, Written
from ident.export.text import comment, filled, number, numbers
from ident.symbolic.functions import PER_WIDTH, arrays_of
from ident.symbolic.program import Program, Style


def function_name(robot: str) -> str:
    """Return the name of the function, and so of its file, of a robot whose name is an identifier."""
    return f"{robot}_dynamics"


def write_matlab_function(item: Identified) -> Written:
    """Return a MATLAB function [tau, f, g, M, Y] = NAME_dynamics(q, qd, qdd); raises ModelError without robot."""
    made = controller(item, "a MATLAB function")
    name = function_name(made.name)
    by_name = {program.name: program for program in made.functions}
    order = ("inverse_dynamics", "friction", "gravity", "mass_matrix", "regressor", "presliding")
    outputs = [by_name[f] for f in order if f in by_name]
    told = [f"phi({k}) = {number(x)}: {t}" for k, (x, t) in enumerate(zip(made.phi, made.phi_lines, strict=True), 1)]
    rows = zip(made.robot.links, made.inertials, strict=True)
    text = filled(
        "code/matlab.m.j2",
        made=made,
        name=name,
        about=comment((f"{name.upper()} Dynamics of {made.n} joints; save this file as {name}.m.", *made.about), "%"),
        phi=comment(told, "%"),
        links=comment((f"{body_line(link)} = {numbers(b)}" for link, b in rows), "%"),
        outputs=outputs,
        arguments=lambda program: ", ".join(arrays_of(program)),
        functions=[_function(program, made.width) for program in outputs],
        vectors=[
            *((letter, numbers(x)) for letter, x in zip(("q", "qd", "qdd"), made.state, strict=True)),
            *((name, numbers(x)) for name, x in made.signals.items()),
            *((p.output, numbers(made.expected[p.name].ravel())) for p in outputs[:3]),
        ],
    )
    return text, made.notes


def _function(program: Program, width: float) -> str:
    body, entries = program.lines(Style(number=number, power=lambda x, p: f"sign({x})*abs({x})^{p}"))
    arrays = arrays_of(program)
    rows, columns = (*program.entries.shape, 1)[:2]
    lines = [f"function {program.output} = {program.name}({', '.join(arrays)})", f"% {program.meaning}"]
    lines += [f"{label} = {array}({k + 1});" for array, used in arrays.items() for k, label in used]
    if PER_WIDTH in program.used:
        lines.append(f"{PER_WIDTH} = 1/{width!r}; % one over the width of the tanh")
    lines += [f"{left} = {right};" for left, right in body]
    lines.append(f"{program.output} = zeros({rows}, {columns}, 'like', {next(iter(arrays))});")
    for place, entry in program.not_zero(entries):
        lines.append(f"{program.output}({', '.join(str(k + 1) for k in place)}) = {entry};")
    return "\n".join([*lines, "end", ""])
