"""TOML files of robots and scenes, read strictly: every mistake is named with its file and key."""

from __future__ import annotations

import contextlib
import re
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ident.arrays import Array
from ident.errors import InputError, RobotError, nearest
from ident.robot.xml import read_bytes


def read_toml(path: Path) -> dict[str, Any]:
    """Return the content of a TOML file of at most 1 MB; RobotError names the line."""
    try:
        return tomllib.loads(read_bytes(path, limit=1_000_000).decode())
    except UnicodeDecodeError as cause:
        raise RobotError("the file is not UTF-8 text", file=path, fix="Save it as UTF-8") from cause
    except ValueError as cause:  # TOMLDecodeError, or an integer of thousands of digits
        where = re.search(r" \(at line (\d+), column \d+\)$", str(cause))
        reason = str(cause)[: where.start()] if where else str(cause)
        line = int(where.group(1)) if where else None
        raise RobotError(f"the file is not valid TOML: {reason}", file=path, line=line) from cause
    except RecursionError as cause:
        raise RobotError("the file is nested too deep", file=path) from cause


@dataclass(frozen=True)
class TomlTable:
    """One TOML table, its key path, and the file; reads values strictly."""

    data: dict[str, Any]
    path: str
    file: Path

    def key(self, key: str) -> str:
        """Return the whole path of a key."""
        return ".".join(p for p in (self.path, key) if p)

    def error(self, key: str, problem: str, fix: str | None = None) -> RobotError:
        """Return the error that names this file and key."""
        return RobotError(problem, file=self.file, key=self.key(key), fix=fix)

    @contextlib.contextmanager
    def place(self, key: str = "") -> Iterator[None]:
        """Give errors that do not know their file this table's file and key."""
        try:
            yield
        except InputError as cause:
            if cause.file is not None:
                raise
            raise self.error(key, cause.problem, cause.fix) from cause

    def known(self, keys: Iterable[str]) -> None:
        """Refuse keys that are none of these."""
        for key in self.data:
            if key not in keys:
                raise self.error(key, f"is not a known key here{nearest(key, keys)}")

    def _get(self, key: str, kind: type | tuple[type, ...], what: str) -> Any:
        if key not in self.data:
            raise self.error(key, f"is missing, wanted {what}")
        value = self.data[key]
        if not isinstance(value, kind) or isinstance(value, bool):
            raise self.error(key, f"is {_short(value)}, wanted {what}")
        return value

    def number(self, key: str, default: float | None = None) -> float:
        """Return a finite number."""
        if key not in self.data and default is not None:
            return default
        value = self._get(key, (int, float), "a number")
        if not abs(value) <= 1e12:  # also not a number; integers of TOML may be too large for a float
            raise self.error(key, "is not finite or too large to be true")
        return float(value)

    def numbers(self, key: str, count: int) -> Array:
        """Return so many finite numbers (count,)."""
        values = self._get(key, list, f"{count} numbers")
        if len(values) != count:
            raise self.error(key, f"has {len(values)} entries, wanted {count} numbers")
        entries = TomlTable({f"{key}[{i + 1}]": v for i, v in enumerate(values)}, self.path, self.file)
        return np.array([entries.number(k) for k in entries.data])

    def flag(self, key: str, default: bool) -> bool:
        """Return true or false."""
        value = self.data.get(key, default)
        if not isinstance(value, bool):
            raise self.error(key, f"is {_short(value)}, wanted true or false")
        return value

    def text(self, key: str, default: str | None = None) -> str:
        """Return a text that is not empty."""
        if key not in self.data and default is not None:
            return default
        value: str = self._get(key, str, "a text")
        if not value:
            raise self.error(key, "is empty")
        return value

    def texts(self, key: str) -> list[str]:
        """Return a list of texts."""
        values = self._get(key, list, "a list of texts")
        entries = TomlTable({f"{key}[{i + 1}]": v for i, v in enumerate(values)}, self.path, self.file)
        return [entries.text(k) for k in entries.data]

    def choice(self, key: str, known: Iterable[str], default: str | None = None) -> str:
        """Return a text that is one of `known`."""
        names = list(known)
        wanted = "one of " + ", ".join(f"'{n}'" for n in names)
        if key not in self.data and default is None:
            raise self.error(key, f"is missing, wanted {wanted}")
        value = self.text(key, default)
        if value not in names:
            raise self.error(key, f"is '{_short(value, str)}', wanted {wanted}{nearest(value, names)}")
        return value

    def table(self, key: str) -> TomlTable:
        """Return a table within this one."""
        return TomlTable(self._get(key, dict, "a table"), self.key(key), self.file)

    def tables(self, key: str) -> list[TomlTable]:
        """Return a list of tables within this one."""
        values = self._get(key, list, f"tables [[{key}]]")
        entries = TomlTable({f"{key}[{i + 1}]": v for i, v in enumerate(values)}, self.path, self.file)
        return [entries.table(k) for k in entries.data]


def _short(value: Any, show: Any = repr) -> str:
    text: str = show(value)
    return text if len(text) <= 40 else text[:37] + "..."
