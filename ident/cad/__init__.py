"""CAD tables and mass-property reports: conventions, units, what they tell by themselves, physical consistency."""

from ident.cad.back_to_cad import changes, refined_cad, write_cad, write_cad_toml
from ident.cad.check import LinkVerdict, check_cad, require_consistent
from ident.cad.convention import SI, Convention
from ident.cad.read import read_cad
from ident.cad.robot_inertials import read_inertials
from ident.cad.sheets.evidence import Finding, examine, examine_together
from ident.cad.sheets.read import parse_sheet, read_frames, read_sheet, read_sheets
from ident.cad.sheets.readings import Decision, decide, to_inertials
from ident.cad.sheets.sheet import Sheet
from ident.cad.source import read_source
from ident.cad.table import Cad, Printed, Row, Table, cad_of
from ident.cad.table_evidence import examine_table

__all__ = [
    "SI",
    "Cad",
    "Convention",
    "Decision",
    "Finding",
    "LinkVerdict",
    "Printed",
    "Row",
    "Sheet",
    "Table",
    "cad_of",
    "changes",
    "check_cad",
    "decide",
    "examine",
    "examine_table",
    "examine_together",
    "parse_sheet",
    "read_cad",
    "read_frames",
    "read_inertials",
    "read_sheet",
    "read_sheets",
    "read_source",
    "refined_cad",
    "require_consistent",
    "to_inertials",
    "write_cad",
    "write_cad_toml",
]
