"""CasADi: the functions of an identified robot as `casadi.Function`, to be differentiated, optimised over or compiled.

Source of the method: `ident.symbolic.functions`; confirmed by running it in the tests.
"""

from __future__ import annotations

from ident.export.code.controller import controller
from ident.export.identified import Identified, Written
from ident.export.text import comment, filled, number, numbers, plain
from ident.symbolic.functions import PER_WIDTH
from ident.symbolic.program import Program, Style

_STYLE = Style(number=number, power=lambda x, p: f"sign({x}) * fabs({x}) ** {p}")


def write_casadi(item: Identified) -> Written:
    """Return a module of `casadi.Function` with parameters and self test; raises ModelError without robot."""
    made = controller(item, "a CasADi module")
    arguments = {"inverse_dynamics": "q, qd, qdd", "gravity": "q", "mass_matrix": "q", "friction": "qd"}
    text = filled(
        "code/casadi.py.j2",
        made=made,
        about=comment(made.about, "#"),
        joints=[plain(x) for x in made.robot.joint_names],
        phi=[(number(value), comment([told], "#")[0]) for value, told in zip(made.phi, made.phi_lines, strict=True)],
        functions=[_function(program) for program in made.functions],
        names=[program.name for program in made.functions],
        state=", ".join(f"[{numbers(x, ', ')}]" for x in made.state),
        checks=[(f, arguments[f], numbers(x.ravel(), ", ")) for f, x in made.expected.items()],
    )
    return Written(text, made.notes)


def _function(program: Program) -> str:
    """Return the function that makes one `casadi.Function`."""
    body, entries = program.lines(_STYLE)
    arrays = [array for array in program.inputs if array != PER_WIDTH]
    lines = [f'"""Return {program.output}: {program.meaning}."""']
    for array in arrays:
        lines.append(f'{array} = SX.sym("{array}", {len(program.inputs[array])})')
        used = [(k, label) for k, label in enumerate(program.inputs[array]) if label in program.used]
        lines += [f"{label} = {array}[{k}]" for k, label in used]
    if PER_WIDTH in program.used:
        lines.append(f"{PER_WIDTH} = 1.0 / COULOMB_WIDTH")
    lines += [f"{left} = {right}" for left, right in body]
    lines.append(f"{program.output} = SX.zeros({', '.join(map(str, program.entries.shape))})")
    lines += [f"{program.output}[{', '.join(map(str, place))}] = {entry}" for place, entry in program.not_zero(entries)]
    names = ", ".join(f'"{array}"' for array in arrays)
    lines.append(
        f'return Function("{program.name}", [{", ".join(arrays)}], [{program.output}], [{names}], ["{program.output}"])'
    )
    return "\n    ".join([f"def _{program.name}():", *lines])
