"""CAD tables: conventions, units, and whether their bodies can exist."""

from ident.cad.check import LinkVerdict, check_cad, require_consistent
from ident.cad.convention import SI, Convention
from ident.cad.read import read_cad
from ident.cad.table import Cad, Printed, Row, Table, cad_of
from ident.cad.write import write_cad

__all__ = [
    "SI",
    "Cad",
    "Convention",
    "LinkVerdict",
    "Printed",
    "Row",
    "Table",
    "cad_of",
    "check_cad",
    "read_cad",
    "require_consistent",
    "write_cad",
]
