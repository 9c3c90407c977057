"""The public names: one page for each room of the package, from its docstrings."""

from __future__ import annotations

import ast
import types
from pathlib import Path

import ident


def rooms() -> dict[str, types.ModuleType]:
    """Return the packages that `ident` shows."""
    return {name: x for name in ident.__all__ if isinstance(x := getattr(ident, name), types.ModuleType)}


def names(package: types.ModuleType) -> list[str]:
    """Return the public names of a package, in the order in which its stub (or `__init__.py`) declares them."""
    file = Path(str(package.__file__)).with_suffix(".pyi")
    file = file if file.is_file() else file.with_suffix(".py")
    declared = [
        alias.asname or alias.name
        for node in ast.parse(file.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    ]
    found = [n for n in dict.fromkeys(declared) if not n.startswith("_") and hasattr(package, n)]
    return [n for n in found if not isinstance(getattr(package, n), types.ModuleType)]


def public() -> dict[str, list[str]]:
    """Return every public name by its page."""
    found = {"python/index.md": names(ident)}
    return found | {f"python/{room}.md": names(package) for room, package in rooms().items()}


def pages() -> dict[str, str]:
    """Return the pages of `ident` and of all its rooms."""
    found = {"python/index.md": _page("ident", ident)}
    return found | {f"python/{room}.md": _page(f"ident.{room}", package) for room, package in rooms().items()}


def _page(dotted: str, package: types.ModuleType) -> str:
    lines = [f"# {dotted}", "", (package.__doc__ or "").strip(), ""]
    if package is ident:
        lines += [f"Its rooms: {', '.join(f'[{room}]({room}.md)' for room in rooms())}.", ""]
    for name in names(package):
        home = _home(package, name)
        place = "index.md" if dotted == "ident" else f"{dotted.removeprefix('ident.')}.md"
        first = next((page for page, known in _homes().items() if home in known), f"python/{place}")
        if first == f"python/{place}":
            lines += [f"::: {home}", "    options:", f"      heading: {name}", ""]
        else:
            lines += [f"## {name}", "", f"See [ident.{name}]({first.removeprefix('python/')}#{home}).", ""]
    return "\n".join(lines)


def _homes() -> dict[str, list[str]]:
    """Return where the names of `ident` itself are defined: they stand on its page, rooms point there."""
    return {"python/index.md": [_home(ident, name) for name in names(ident)]}


def _home(package: types.ModuleType, name: str) -> str:
    """Return where a name is defined."""
    value = getattr(package, name)
    module, own = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    if module and own and module.startswith("ident."):
        return f"{module}.{own}"
    for node in ast.parse(Path(str(package.__file__)).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom) and name in [alias.name for alias in node.names]:
            return f"{node.module}.{name}"
    return next(
        f"{node.module}.{name}" if not node.level else f"{package.__name__}.{node.module}.{name}"
        for node in ast.parse(Path(str(package.__file__)).with_suffix(".pyi").read_text(encoding="utf-8")).body
        if isinstance(node, ast.ImportFrom) and name in [alias.name for alias in node.names]
    )
