"""One function for each command of `ident`, whole: it takes files, does all the work, and returns what was found."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ident.pipelines.cad_checks import cad_check as cad_check
    from ident.pipelines.cad_checks import cad_read as cad_read
    from ident.pipelines.cad_tables import cad_doctor as cad_doctor
    from ident.pipelines.cad_tables import cad_refine as cad_refine
    from ident.pipelines.cad_tables import cad_report as cad_report
    from ident.pipelines.excitation import excite as excite
    from ident.pipelines.identify import run as run
    from ident.pipelines.loads import payload as payload
    from ident.pipelines.moves import postures as postures
    from ident.pipelines.moves import sweep as sweep
    from ident.pipelines.wishes import CadWishes as CadWishes
    from ident.pipelines.wishes import ExciteWishes as ExciteWishes
    from ident.pipelines.wishes import MoveWishes as MoveWishes
    from ident.pipelines.wishes import PayloadWishes as PayloadWishes
    from ident.pipelines.wishes import PostureWishes as PostureWishes
    from ident.pipelines.wishes import RefineWishes as RefineWishes

_HOMES = {
    "cad_checks": ("cad_check", "cad_read"),
    "cad_tables": ("cad_doctor", "cad_refine", "cad_report"),
    "excitation": ("excite",),
    "identify": ("run",),
    "loads": ("payload",),
    "moves": ("postures", "sweep"),
    "wishes": ("CadWishes", "ExciteWishes", "MoveWishes", "PayloadWishes", "PostureWishes", "RefineWishes"),
}


def __getattr__(name: str) -> Any:
    for module, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"ident.pipelines.{module}"), name)
    raise AttributeError(f"module 'ident.pipelines' has no attribute '{name}'")
