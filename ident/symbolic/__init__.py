"""The equations of motion in symbols: closed forms to read, programs to evaluate, code to take elsewhere.

`closed_form` and `planar` give sympy matrices of small robots; `functions` gives straight-line programs of any robot,
which `ident.export.code` writes down.
"""

from ident.symbolic.closed_form import ClosedForm, closed_form, planar, planar_arm
from ident.symbolic.functions import controller_functions, functions
from ident.symbolic.program import Program

__all__ = ["ClosedForm", "Program", "closed_form", "controller_functions", "functions", "planar", "planar_arm"]
