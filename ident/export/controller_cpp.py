"""C++11: one header of function templates that needs nothing but <cmath>, for double, float or any number like them.

Source of the method: `ident.symbolic.controller`; confirmed by g++ in the tests.
"""

from __future__ import annotations

from ident.export.controller import c_comment, c_string, controller
from ident.export.controller_c import SELF_TEST, body, links, meaning, self_test, table
from ident.export.identified import Identified, Written
from ident.export.text import number
from ident.symbolic.controller import PER_WIDTH
from ident.symbolic.program import Style


def write_cpp_header(item: Identified) -> Written:
    """Return a C++11 header with parameters, functions, self test and example; raises ModelError without robot."""
    made = controller(item, "C++ code")
    space, big, n = f"{made.name}_dynamics", f"{made.name.upper()}_DYNAMICS", made.n  # a name alone could be a keyword
    functions = "sin, cos, tanh, fabs, pow and copysign" if made.has_power else "sin, cos and tanh"
    lines = [
        *c_comment(made.about),
        "// Include this file and call its functions. They allocate nothing; results may stand on arguments.",
        f"// Real is double, float, or any type like them that has {functions}. To try it, include it in try.cpp,",
        f"// g++ -std=c++11 -O2 -D{big}_EXAMPLE try.cpp -o try && ./try",
        f"#ifndef {big}_HPP",
        f"#define {big}_HPP",
        "",
        "#include <cmath>",
        "",
        f"namespace {space} {{",
        "",
        f"constexpr int joints = {n}, base_parameters = {len(made.phi)};",
        f"constexpr double coulomb_width = {made.width!r}; // rad/s (m/s)",
        "",
        f"constexpr const char *joint_names[{n}] = {{",
        *(f"    {c_string(joint)}," for joint in made.robot.joint_names),
        "};",
        "",
        "// base parameters: what each is made of, and its standard error",
        f"constexpr double phi[{len(made.phi)}] = {{",
        *table(made.phi, made.phi_lines(), number),
        "};",
        "",
        f"constexpr double links[{n}][10] = {{",
        *links(made, number),
        "};",
        "",
    ]
    style = Style(number=lambda x: f"Real({number(x)})", power=lambda x, p: f"copysign(pow(fabs({x}), {p}), {x})")
    for program in made.functions:
        arguments = [f"const Real *{array}" for array in program.inputs if array != PER_WIDTH]
        arguments.append(f"Real *{program.output}")
        with_width = PER_WIDTH in program.inputs
        if with_width:
            arguments.append("double width = coulomb_width")
        lines += [
            meaning(program),
            "template <typename Real>",
            f"void {program.name}({', '.join(arguments)})",
            "{",
            "    using std::sin;",
            "    using std::cos;",
            "    using std::tanh;",
            *([f"    using std::{f};" for f in ("fabs", "pow", "copysign")] if program.has_power else []),
            *(["    (void)width;"] if with_width and PER_WIDTH not in program.used else []),
            *body(program, "Real", "width", style),
            "}",
            "",
        ]
    lines += [
        "template <typename Real>",
        "bool differs(const Real *found, const Real *expected, int size, Real scale)",
        "{",
        "    const Real tolerance = Real(sizeof(Real) < sizeof(double) ? 1e-5 : 1e-9);",
        "    bool wrong = false;",
        "    for (int k = 0; k < size; ++k)",
        "        wrong |= !(std::abs(found[k] - expected[k]) <= tolerance * scale);",
        "    return wrong;",
        "}",
        "",
        *SELF_TEST,
        "template <typename Real>",
        "int self_test()",
        "{",
        *self_test(made, "Real", "const", ""),
        "}",
        "",
        f"}} // namespace {space}",
        "",
        f"#ifdef {big}_EXAMPLE",
        "#include <cstdio>",
        "",
        "int main()",
        "{",
        "    typedef double Real;",
        f"    Real q[{n}] = {{}}, qd[{n}] = {{}}, qdd[{n}] = {{}}, tau[{n}], f[{n}];",
        f"    const int wrong = {space}::self_test<Real>() + 10 * {space}::self_test<float>();",
        '    std::printf("self test: %s (%d)\\n", wrong ? "WRONG" : "ok", wrong);',
        f"    for (int j = 0; j < {n}; ++j) qd[j] = Real(0.1);",
        f"    {space}::inverse_dynamics(q, qd, qdd, tau); // what a controller feeds forward is the sum",
        f"    {space}::friction(qd, f);",
        f"    for (int j = 0; j < {n}; ++j)",
        f'        std::printf("%s: %g\\n", {space}::joint_names[j], double(tau[j] + f[j]));',
        "    return wrong;",
        "}",
        "#endif",
        "",
        "#endif",
        "",
    ]
    return Written("\n".join(lines), made.notes)
