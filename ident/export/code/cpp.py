"""C++11: one header of function templates that needs nothing but <cmath>, for double, float or any number like them.

Source of the method: `ident.symbolic.functions`; confirmed by g++ in the tests.
"""

from __future__ import annotations

from ident.export.code.c import body, identified_test, meaning, shown, signature
from ident.export.code.controller import controller
from ident.export.identified import Identified, Written
from ident.export.text import filled, number
from ident.symbolic.functions import PER_WIDTH
from ident.symbolic.program import Program, Style


def write_cpp_header(item: Identified) -> Written:
    """Return a C++11 header with parameters, functions, self test and example; raises ModelError without robot."""
    made = controller(item, "C++ code")
    text = filled(
        "code/cpp.hpp.j2",
        **shown(made, number),
        **identified_test(made, "Real", "const", ""),
        real="Real",
        used=" and ".join([", ".join(["sin", "cos", "tanh", *made.rare][:-1]), ["tanh", *made.rare][-1]]),
        space=f"{made.name}_dynamics",  # a name alone could be a keyword
        big=f"{made.name.upper()}_DYNAMICS",
        functions=[_function(program) for program in made.functions],
    )
    return Written(text, made.notes)


def _function(program: Program) -> tuple[str, str, list[str]]:
    """Return what a function gives, its head, and its statements."""
    style = Style(number=lambda x: f"Real({number(x)})", power=lambda x, p: f"copysign(pow(fabs({x}), {p}), {x})")
    with_width = PER_WIDTH in program.inputs
    names = ["sin", "cos", "tanh", *program.rare]
    lines = [f"using std::{name};" for name in names]
    lines += ["(void)width;"] if with_width and PER_WIDTH not in program.used else []
    head = signature(program, "void ", "Real", *(["double width = coulomb_width"] if with_width else []))
    return meaning(program), head, [*lines, *body(program, "Real", style, "width")]
