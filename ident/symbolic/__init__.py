"""The equations of motion in symbols: closed forms to read, programs to evaluate, code to take elsewhere.

`closed_form` and `planar` give sympy matrices of small robots; `functions` gives straight-line programs of any robot,
which `write_c`, `write_python` and `write_latex` write down.
"""

from ident.symbolic.c import write_c
from ident.symbolic.closed_form import ClosedForm, closed_form
from ident.symbolic.controller import controller_functions
from ident.symbolic.functions import functions
from ident.symbolic.latex import write_latex
from ident.symbolic.planar import planar, planar_arm
from ident.symbolic.program import Program
from ident.symbolic.python import write_python

__all__ = [
    "ClosedForm",
    "Program",
    "closed_form",
    "controller_functions",
    "functions",
    "planar",
    "planar_arm",
    "write_c",
    "write_latex",
    "write_python",
]
