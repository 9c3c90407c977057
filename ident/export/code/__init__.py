"""Code and equations: one emitter per language, of any robot (`ident codegen`) and of an identified one."""

from ident.export.code.c import write_c, write_trajectory
from ident.export.code.latex import write_latex
from ident.export.code.python import write_python

__all__ = ["write_c", "write_latex", "write_python", "write_trajectory"]
