"""C++11: one header of function templates that needs nothing but <cmath>, for double, float or any number like them.

Source of the method: `ident.symbolic.controller`; confirmed by g++ in the tests.
"""

from __future__ import annotations

from ident.export.code.c import SELF_TEST, body, identified_test, meaning, shown, signature
from ident.export.code.controller import controller
from ident.export.identified import Identified, Written
from ident.export.text import filled, number
from ident.symbolic.controller import PER_WIDTH
from ident.symbolic.program import Program, Style


def write_cpp_header(item: Identified) -> Written:
    """Return a C++11 header with parameters, functions, self test and example; raises ModelError without robot."""
    made = controller(item, "C++ code")
    text = filled(
        _HEADER,
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


_HEADER = (
    """\
{{ about | join("\\n") }}
// Include this file and call its functions. They allocate nothing; results may stand on arguments.
// Real is double, float, or any type like them that has {{ used }}. To try it, include it in try.cpp,
// g++ -std=c++11 -O2 -D{{ big }}_EXAMPLE try.cpp -o try && ./try
#ifndef {{ big }}_HPP
#define {{ big }}_HPP

#include <cmath>

namespace {{ space }} {

constexpr int joints = {{ n }}, base_parameters = {{ b }};
constexpr double coulomb_width = {{ width }}; // rad/s (m/s)

constexpr const char *joint_names[{{ n }}] = {
{% for joint in joints %}
    {{ joint }},
{% endfor %}
};

// base parameters: what each is made of, and its standard error
constexpr double phi[{{ b }}] = {
{% for x, told in phi %}
    {{ x }}, {{ told }}
{% endfor %}
};

constexpr double links[{{ n }}][10] = {
{% for row, told in links %}
    {{ "{" }}{{ row }}}, {{ told }}
{% endfor %}
};

{% for meaning, signature, body in functions %}
// {{ meaning }}
template <typename Real>
{{ signature }}
{
{% for line in body %}
    {{ line }}
{% endfor %}
}

{% endfor %}
template <typename Real>
bool differs(const Real *found, const Real *expected, int size, Real scale)
{
    const Real tolerance = Real(sizeof(Real) < sizeof(double) ? 1e-5 : 1e-9);
    bool wrong = false;
    for (int k = 0; k < size; ++k)
        wrong |= !(std::abs(found[k] - expected[k]) <= tolerance * scale);
    return wrong;
}

// Return 0 when all functions give what other code computed for one state, or else the number of the first
// that does not: 1 inverse_dynamics, 2 gravity, 3 mass_matrix, 4 friction, 5 regressor.
template <typename Real>
int self_test()
{
"""
    + SELF_TEST
    + """
}

} // namespace {{ space }}

#ifdef {{ big }}_EXAMPLE
#include <cstdio>

int main()
{
    typedef double Real;
    Real q[{{ n }}] = {}, qd[{{ n }}] = {}, qdd[{{ n }}] = {}, tau[{{ n }}], f[{{ n }}];
    const int wrong = {{ space }}::self_test<Real>() + 10 * {{ space }}::self_test<float>();
    std::printf("self test: %s (%d)\\n", wrong ? "WRONG" : "ok", wrong);
    for (int j = 0; j < {{ n }}; ++j) qd[j] = Real(0.1);
    {{ space }}::inverse_dynamics(q, qd, qdd, tau); // what a controller feeds forward is the sum
    {{ space }}::friction(qd, f);
    for (int j = 0; j < {{ n }}; ++j)
        std::printf("%s: %g\\n", {{ space }}::joint_names[j], double(tau[j] + f[j]));
    return wrong;
}
#endif

#endif
"""
)
