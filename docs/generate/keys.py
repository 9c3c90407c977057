"""Which keys a file may have, what each takes and means: asked of the readers themselves while they read an example."""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import inspect
import math
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from ident.errors import IdentError
from ident.tables import Table


@dataclass
class Key:
    """A key: what it takes and defaults to, in words, and what it means."""

    takes: str = ""
    default: str = ""
    means: str = ""


def asked(read: Callable[[Path], object], file: Path, named: tuple[str, ...] = ()) -> dict[str, Key]:
    """Return every key that a reader of `file` knows, by its path; `named`: tables whose keys are names, written NAME.

    An error of the file's content ends the reading: what it had asked for by then counts.
    """
    found: dict[str, Key] = {}

    def path(table: Table, key: str) -> str:
        above = re.sub(r"\[\d+\]", "", table.path)
        for outer in named:
            above = re.sub(rf"^{re.escape(outer)}{'.' if outer else ''}[^.]+", f"{outer}.NAME".lstrip("."), above)
        key = "NAME" if above in named else re.sub(r"\[\d+\]", "", key)
        return f"{above}.{key}".lstrip(".")

    def note(table: Table, key: str, reader: Any = None, default: Any = None) -> None:
        if table.file.resolve() != file.resolve():
            return  # of another file that this one names
        entry = found.setdefault(path(table, key), Key())
        entry.takes = entry.takes or (_wanted(reader) if reader else "")
        entry.default = entry.default or ("" if key == "name" else shown(default))  # a name's default is another name

    known, one, values = Table.known, Table.read, Table.values

    def with_known(self: Table, keys: Any) -> None:
        keys = keys if isinstance(keys, Mapping) else list(keys)
        for key in keys:
            note(self, key)
            if isinstance(keys, Mapping) and isinstance(keys[key], str) and path(self, key) in found:
                found[path(self, key)].means = keys[key]
        known(self, keys)

    def with_read(self: Table, key: str, reader: Any, default: Any = None) -> Any:
        note(self, key, reader, default)
        return one(self, key, reader, default)

    def with_values(self: Table, required: Mapping[str, Any], optional: Mapping[str, Any]) -> dict[str, Any]:
        for key, reader in {**required, **optional}.items():
            note(self, key, reader)
            if key in required and path(self, key) in found:
                found[path(self, key)].default = "(required)"
        return values(self, required, optional)

    with (
        patch.object(Table, "known", with_known),
        patch.object(Table, "read", with_read),
        patch.object(Table, "values", with_values),
        contextlib.suppress(IdentError),
    ):
        read(file)
    return found


def _wanted(reader: Callable[[Any], Any]) -> str:
    """Return what a reader asks for, in the words of its message."""
    try:
        reader(object())
    except ValueError as cause:
        return str(cause)
    except Exception:
        return ""
    return "a table"


def shown(value: Any) -> str:
    """Return a default as it would stand in TOML; nothing where it says nothing."""
    if value is None or value == () or (isinstance(value, float) and not math.isfinite(value)):
        return ""
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, str):
        return f'`"{value}"`' if value else ""
    return f"`{value:.6g}`" if isinstance(value, int | float) else ""


def of_fields(kind: Any) -> Iterator[tuple[str, Key]]:
    """Yield the fields of a dataclass with their default and the text that stands under them."""
    body = ast.parse(textwrap.dedent(inspect.getsource(kind))).body[0].body  # type: ignore[attr-defined]
    defaults = {f.name: f.default for f in dataclasses.fields(kind)}
    for node, after in zip(body, [*body[1:], None], strict=True):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            told = after.value.value if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) else ""
            name = node.target.id
            missing = defaults.get(name, dataclasses.MISSING) is dataclasses.MISSING
            default = "" if missing else shown(defaults[name])
            yield name, Key(default=default, means=re.sub(r"\s+", " ", str(told)).strip())
