"""One function for each command of `ident`, whole: it takes files, does all the work, and returns what was found."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ident.pipelines.cad_checks import cad_check as cad_check
    from ident.pipelines.cad_checks import cad_read as cad_read
    from ident.pipelines.cad_tables import cad_doctor as cad_doctor
    from ident.pipelines.cad_tables import cad_refine as cad_refine
    from ident.pipelines.cad_tables import cad_report as cad_report
    from ident.pipelines.checks import check as check
    from ident.pipelines.excitation import excite as excite
    from ident.pipelines.identify import compare as compare
    from ident.pipelines.identify import fit as fit
    from ident.pipelines.identify import run as run
    from ident.pipelines.identify import validate as validate
    from ident.pipelines.loads import payload as payload
    from ident.pipelines.moves import postures as postures
    from ident.pipelines.moves import sweep as sweep
    from ident.pipelines.outputs import export as export
    from ident.pipelines.outputs import report as report
    from ident.pipelines.outputs import report_changes as report_changes
    from ident.pipelines.plants import codegen as codegen
    from ident.pipelines.plants import dynamics as dynamics
    from ident.pipelines.wishes import CadWishes as CadWishes
    from ident.pipelines.wishes import ExciteWishes as ExciteWishes
    from ident.pipelines.wishes import MoveWishes as MoveWishes
    from ident.pipelines.wishes import PayloadWishes as PayloadWishes
    from ident.pipelines.wishes import PostureWishes as PostureWishes
    from ident.pipelines.wishes import RefineWishes as RefineWishes

_HOMES = {
    "cad_checks": "cad_check cad_read",
    "cad_tables": "cad_doctor cad_refine cad_report",
    "checks": "check",
    "excitation": "excite",
    "identify": "compare fit run validate",
    "loads": "payload",
    "moves": "postures sweep",
    "outputs": "export report report_changes",
    "plants": "codegen dynamics",
    "wishes": "CadWishes ExciteWishes MoveWishes PayloadWishes PostureWishes RefineWishes",
}


def __getattr__(name: str) -> Any:
    for module, names in _HOMES.items():
        if name in names.split():
            return getattr(import_module(f"ident.pipelines.{module}"), name)
    raise AttributeError(f"module 'ident.pipelines' has no attribute '{name}'")
