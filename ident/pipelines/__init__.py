"""One function for each command of `ident`, whole: it takes files, does all the work, and returns what was found."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ident.pipelines.identify import run as run

_HOMES = {"identify": ("run",)}


def __getattr__(name: str) -> Any:
    for module, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"ident.pipelines.{module}"), name)
    raise AttributeError(f"module 'ident.pipelines' has no attribute '{name}'")
