"""Python: a module of batch functions that needs nothing but numpy, of any robot or of an identified one; of the latter
also for JAX, and as `casadi.Function`, to be differentiated, optimised over or compiled.

Source of the method: `ident.symbolic.functions`; confirmed by running it in the tests.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from numpy.typing import ArrayLike

from ident.errors import InputError
from ident.export.code.controller import controller
from ident.export.identified import Identified, Written
from ident.export.text import comment, filled, number
from ident.files import write_whole
from ident.robot.robot import Robot
from ident.symbolic.functions import PER_WIDTH, arrays_of, code_parameters, functions
from ident.symbolic.newton_euler import identifier
from ident.symbolic.program import Program, Style

#: Of numpy; of JAX, where copysign has no slope; of CasADi.
_STYLE = Style(number=number)
_JAX = Style(number=number, power=lambda x, p: f"jnp.sign({x}) * jnp.abs({x}) ** {p}")
_CASADI = Style(number=number, power=lambda x, p: f"sign({x}) * fabs({x}) ** {p}")


def _module(item: Identified, target: str, function: Callable[[Program], str]) -> Written:
    """Return a module with parameters, functions and self test; raises ModelError without robot."""
    made = controller(item, target)
    arguments = {program.name: ", ".join(arrays_of(program)) for program in made.functions}
    text = filled(
        "code/identified.py.j2",
        casadi="CasADi" in target,
        jax="JAX" in target,
        made=made,
        about=comment(made.about, "#"),
        phi=list(zip(map(number, made.phi), comment(made.phi_lines, "#"), strict=True)),
        functions=[function(program) for program in made.functions],
        arguments=arguments,
    )
    return text, made.notes


def write_python(path: str | Path, robot: Robot, inertials: ArrayLike | None = None) -> Path:
    """Write a module with inverse_dynamics, regressor, base_regressor, mass_matrix, coriolis_matrix and gravity.

    They take q, qd, qdd (..., n), any number of samples or one, and return (..., n), (..., n, 10 n), (..., n, b),
    (..., n, n). Without `inertials` they take the standard parameters theta, (10 n) or (n, 10), too; inertials
    (n, 10) are worked into the code. Raises ModelError when inertials do not fit, InputError when the path does not
    end in .py or cannot be written to.
    """
    path = Path(path)
    if path.suffix != ".py":
        raise InputError(f"a Python module ends in .py, not in '{path.suffix}'", file=path)
    made = [_function(program) for program in functions(robot, inertials)]
    name = identifier(robot.name, "robot")
    return write_whole(
        path, filled("code/robot.py.j2", name=name, robot=robot, base=code_parameters(robot), functions=made)
    )


def _function(program: Program, style: Style = _STYLE, np: str = "np") -> str:
    """Return a function of arrays; np: the name of their namespace, in which those of jnp are never changed."""
    body, entries = program.lines(style)
    arrays, shape = arrays_of(program), "".join(f", {k}" for k in program.entries.shape)
    lines = [f'"""Return {program.output} (...{shape}): {program.meaning}."""']
    for array in arrays:
        size, flat = len(program.inputs[array]), array == "theta"
        lines.append(f"{array} = {np}.asarray({array}, dtype=float){'.reshape(-1)' if flat else ''}")
        lines.append(f"if {array}.shape[-1:] != ({size},):")
        what = f"{array} must hold {size} numbers" if flat else f"the last axis of {array} must be {size}"
        lines.append(f'    raise ValueError("{what}")')
    lines += [f"{label} = {array}[..., {k}]" for array, used in arrays.items() for k, label in used]
    if PER_WIDTH in program.used:
        lines.append(f"{PER_WIDTH} = 1.0 / COULOMB_WIDTH")
    lines += [f"{left} = {right}" for left, right in body]
    samples = ", ".join(f"{array}.shape[:-1]" for array in arrays if array != "theta")
    lines.append(f"{program.output} = {np}.zeros((*{np}.broadcast_shapes({samples}){shape}))")
    put = "{0}[..., {1}] = {2}" if np == "np" else "{0} = {0}.at[..., {1}].set({2})"
    not_zero = program.not_zero(entries)
    lines += [put.format(program.output, ", ".join(map(str, place)), entry) for place, entry in not_zero]
    lines.append(f"return {program.output}")
    return "\n    ".join([f"def {program.name}({', '.join(arrays)}):", *lines])


def _symbolic(program: Program) -> str:
    """Return the function that makes one `casadi.Function`."""
    body, entries = program.lines(_CASADI)
    arrays, lines = arrays_of(program), [f'"""Return {program.output}: {program.meaning}."""']
    for array, used in arrays.items():
        lines.append(f'{array} = SX.sym("{array}", {len(program.inputs[array])})')
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


write_module = partial(_module, target="a Python module", function=_function)
write_jax = partial(_module, target="a JAX module", function=partial(_function, style=_JAX, np="jnp"))
write_casadi = partial(_module, target="a CasADi module", function=_symbolic)
