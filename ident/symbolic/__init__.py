"""The equations of motion in symbols: closed forms to read, programs to evaluate, code to take elsewhere.

`closed_form` and `planar` give sympy matrices of small robots; `functions` gives straight-line programs of any robot,
which `ident.export.code` writes down.
"""

from ident.symbolic.closed_form import ClosedForm as ClosedForm
from ident.symbolic.closed_form import closed_form as closed_form
from ident.symbolic.closed_form import planar as planar
from ident.symbolic.closed_form import planar_arm as planar_arm
from ident.symbolic.functions import controller_functions as controller_functions
from ident.symbolic.functions import functions as functions
from ident.symbolic.program import Program as Program
