"""C99: one header of inline functions that needs nothing but math.h, in double or float.

Source of the method: `ident.symbolic.controller`; confirmed by gcc in the tests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from ident.arrays import Array
from ident.export.controller import (
    MEANING,
    Controller,
    body_line,
    c_comment,
    c_string,
    controller,
)
from ident.export.identified import Identified, Written
from ident.export.text import number
from ident.symbolic.controller import PER_WIDTH
from ident.symbolic.program import Program, Style


def write_c_header(item: Identified) -> Written:
    """Return a C99 header with parameters, functions, self test and example; raises ModelError without robot."""
    made = controller(item, "C code")
    name, big, n = made.name, made.name.upper(), made.n
    real = f"{name}_real"
    lines = [
        *c_comment(made.about),
        "// Include this file and call its functions. They allocate nothing; results may stand on arguments.",
        f"// Numbers are double, or float with -D{big}_FLOAT. To try it, include it in try.c, and",
        f"// gcc -std=c99 -O2 -D{big}_EXAMPLE try.c -o try -lm && ./try",
        f"#ifndef {big}_H",
        f"#define {big}_H",
        "",
        "#include <math.h>",
        "",
        f"#ifdef {big}_FLOAT",
        *_arithmetic(made, "float", "f", "1e-5f"),
        "#else",
        *_arithmetic(made, "double", "", "1e-9"),
        "#endif",
        f"#ifndef {big}_COULOMB_WIDTH",
        f"#define {big}_COULOMB_WIDTH {made.width!r} // rad/s (m/s); the self test holds for this one",
        "#endif",
        f"#define {big}_JOINTS {n}",
        f"#define {big}_BASE_PARAMETERS {len(made.phi)}",
        "",
        f"static const char *const {name}_joint_names[{n}] = {{",
        *(f"    {c_string(joint)}," for joint in made.robot.joint_names),
        "};",
        "",
        "// base parameters phi: what each is made of, and its standard error",
        f"static const {real} {name}_phi[{len(made.phi)}] = {{",
        *table(made.phi, made.phi_lines(), lambda x: cast(x, real)),
        "};",
        "",
        f"static const {real} {name}_links[{n}][10] = {{",
        *links(made, lambda x: cast(x, real)),
        "};",
        "",
    ]
    for program in made.functions:
        arguments = [f"const {real} *{array}" for array in program.inputs if array != PER_WIDTH]
        lines += [
            meaning(program),
            f"static inline void {name}_{program.name}({', '.join(arguments)}, {real} *{program.output})",
            "{",
            *body(
                program,
                real,
                f"{big}_COULOMB_WIDTH",
                Style(
                    number=lambda x: cast(x, real),
                    call=lambda function, argument: f"{big}_{function.upper()}({argument})",
                    power=lambda x, p: f"{big}_COPYSIGN({big}_POW({big}_FABS({x}), {p}), {x})",
                ),
            ),
            "}",
            "",
        ]
    lines += [
        f"static inline int {name}_differs(const {real} *found, const {real} *expected, int size, {real} scale)",
        "{",
        "    int wrong = 0;",
        "    for (int k = 0; k < size; ++k)",
        f"        wrong |= !({big}_FABS(found[k] - expected[k]) <= {big}_TOLERANCE * scale);",
        "    return wrong;",
        "}",
        "",
        *SELF_TEST,
        f"static inline int {name}_self_test(void)",
        "{",
        *self_test(made, real, "static const", f"{name}_"),
        "}",
        "",
        f"#ifdef {big}_EXAMPLE",
        "#include <stdio.h>",
        "",
        "int main(void)",
        "{",
        f"    {real} q[{n}] = {{0}}, qd[{n}] = {{0}}, qdd[{n}] = {{0}}, tau[{n}], f[{n}];",
        f"    const int wrong = {name}_self_test();",
        '    printf("self test: %s (%d)\\n", wrong ? "WRONG" : "ok", wrong);',
        f"    for (int j = 0; j < {n}; ++j) qd[j] = ({real})0.1;",
        f"    {name}_inverse_dynamics(q, qd, qdd, tau); // what a controller feeds forward is the sum",
        f"    {name}_friction(qd, f);",
        f"    for (int j = 0; j < {n}; ++j)",
        f'        printf("%s: %g\\n", {name}_joint_names[j], (double)(tau[j] + f[j]));',
        "    return wrong;",
        "}",
        "#endif",
        "",
        "#endif",
        "",
    ]
    return Written("\n".join(lines), made.notes)


def _arithmetic(made: Controller, real: str, suffix: str, tolerance: str) -> list[str]:
    name, big = made.name, made.name.upper()
    used = ["sin", "cos", "tanh", "fabs", *(["pow", "copysign"] if made.has_power else [])]
    functions = [f"#define {big}_{f.upper()} {f}{suffix}" for f in used]
    return [f"typedef {real} {name}_real;", *functions, f"#define {big}_TOLERANCE {tolerance}"]


# ---- what C and C++ share ---------------------------------------------------------------------------------------

SELF_TEST = (
    "// Return 0 when all functions give what other code computed for one state, or else the number of the first",
    "// that does not: 1 inverse_dynamics, 2 gravity, 3 mass_matrix, 4 friction, 5 regressor.",
)


def cast(x: float, real: str) -> str:
    """Return a constant of the type `real` in C."""
    return f"({real}){number(x)}" if x >= 0 else f"-({real}){number(-x)}"


def table(values: Array, beside: Iterable[str], write: Callable[[float], str]) -> list[str]:
    """Return the entries of an array, one a line, with what each is beside it."""
    return [f"    {write(float(v))}, {c_comment([text])[0]}" for v, text in zip(values, beside, strict=True)]


def links(made: Controller, write: Callable[[float], str]) -> list[str]:
    """Return the ten parameters of each link, one link a line."""
    rows = zip(made.robot.links, made.bodies, strict=True)
    return [f"    {{{', '.join(map(write, row.tolist()))}}}, {c_comment([body_line(link)])[0]}" for link, row in rows]


def meaning(program: Program) -> str:
    """Return the comment above a function."""
    shape = "".join(f"[{k}]" for k in program.entries.shape)
    return (
        f"// {program.output}{shape}{', row by row' if len(program.entries.shape) > 1 else ''}: {MEANING[program.name]}"
    )


def body(program: Program, real: str, width: str, style: Style) -> list[str]:
    """Return the statements of a function; where most of the result is 0, all of it is set to 0 first."""
    assignments, entries = program.lines(style)
    lines = []
    for array, labels in program.inputs.items():
        used = [(k, label) for k, label in enumerate(labels) if label in program.used]
        if array == PER_WIDTH:
            lines += [f"    const {real} {PER_WIDTH} = ({real})(1.0 / {width});"] if used else []
            continue
        lines += [f"    const {real} {label} = {array}[{k}];" for k, label in used]
        if not used:
            lines.append(f"    (void){array};")
    lines += [f"    const {real} {left} = {right};" for left, right in assignments]
    empty = sum(x == 0.0 for x in program.flat if isinstance(x, float))
    sparse = 2 * empty > len(entries)
    if sparse:
        lines.append(f"    for (int k = 0; k < {len(entries)}; ++k) {program.output}[k] = 0;")
    for k, (x, entry) in enumerate(zip(program.flat, entries, strict=True)):
        if not (sparse and isinstance(x, float) and x == 0.0):
            lines.append(f"    {program.output}[{k}] = {entry};")
    return lines


def self_test(made: Controller, real: str, constant: str, prefix: str) -> list[str]:
    """Return the statements of the self test; functions are called by their names with the prefix."""
    n, b = made.n, len(made.phi)
    expected = made.expected
    torques = [expected[key] for key in ("inverse_dynamics", "gravity", "friction")]
    scale, inertia = (
        cast(float(f"{abs(x).max():.3g}"), real) for x in (np.concatenate(torques), expected["mass_matrix"])
    )

    def array(what: str, values: Array) -> list[str]:
        numbers = [cast(float(x), real) for x in values.ravel()]
        rows = [", ".join(numbers[k : k + 5]) for k in range(0, len(numbers), 5)]
        return [f"    {constant} {real} {what}[{len(numbers)}] = {{", *(f"        {row}," for row in rows), "    };"]

    lines = []
    for what, x in zip(("q", "qd", "qdd"), made.state, strict=True):
        lines += array(what, x)
    for what, x in expected.items():
        lines += array(f"expected_{what}", x)
    return [
        *lines,
        f"    {real} scale = {scale};",
        f"    {real} found[{max(n * n, n * b)}], torque[{n}];",
        f"    {prefix}inverse_dynamics(q, qd, qdd, found);",
        f"    if ({prefix}differs(found, expected_inverse_dynamics, {n}, scale)) return 1;",
        f"    {prefix}gravity(q, found);",
        f"    if ({prefix}differs(found, expected_gravity, {n}, scale)) return 2;",
        f"    {prefix}mass_matrix(q, found);",
        f"    if ({prefix}differs(found, expected_mass_matrix, {n * n}, {inertia})) return 3;",
        f"    {prefix}friction(qd, found);",
        f"    if ({prefix}differs(found, expected_friction, {n}, scale)) return 4;",
        f"    {prefix}regressor(q, qd, qdd, found);",
        f"    for (int j = 0; j < {n}; ++j) {{ // Y phi - friction, to the size of the terms of its sum",
        "        torque[j] = -expected_friction[j];",
        f"        for (int k = 0; k < {b}; ++k) {{",
        f"            const {real} term = found[{b} * j + k] * ({real}){prefix}phi[k];",
        "            torque[j] += term;",
        "            if (term > scale) scale = term;",
        "        }",
        "    }",
        f"    return {prefix}differs(torque, expected_inverse_dynamics, {n}, scale) ? 5 : 0;",
    ]
