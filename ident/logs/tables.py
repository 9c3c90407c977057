"""Strict reading of TOML tables: unknown keys, missing keys and wrong types are errors with the place named."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ident.errors import LogError, nearest

Reader = Callable[[Any], Any]  # returns the value, or raises ValueError saying what was wanted


def read_toml(path: Path) -> dict[str, Any]:
    """Return the tables of the TOML file at `path`. Raises LogError when it cannot be read."""
    try:
        text = path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        raise LogError("there is no such file", file=path) from None
    except UnicodeDecodeError:
        raise LogError("is not UTF-8 text", file=path, fix="Save it as UTF-8") from None
    except OSError as cause:
        raise LogError(f"cannot be read ({cause.strerror})", file=path) from None
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as cause:
        found = re.search(r"\(at line (\d+)", str(cause))
        problem = str(cause).split(" (at ")[0]
        raise LogError(f"is not TOML: {problem}", file=path, line=int(found[1]) if found else None) from None
    except RecursionError:
        raise LogError("is nested too deeply", file=path) from None


def read_table(
    values: Any, file: Path, place: str, required: dict[str, Reader], optional: dict[str, Reader]
) -> dict[str, Any]:
    """Return the read values of one table; keys that are absent are absent in the result.

    Raises LogError naming `place` for an unknown key (with the nearest known one), a missing key or a wrong type.
    """
    if not isinstance(values, dict):
        raise LogError(f"wanted a table, got {shown(values)}", file=file, key=place)
    known = required | optional
    for key in values:
        if key not in known:
            raise LogError(
                f"unknown key '{key}'{nearest(key, known)}",
                file=file,
                key=place,
                fix=f"Known keys: {', '.join(known)}",
            )
    for key in required:
        if key not in values:
            raise LogError(f"the key '{key}' is missing", file=file, key=place)
    result = {}
    for key, value in values.items():
        try:
            result[key] = known[key](value)
        except ValueError as wanted:
            raise LogError(f"wanted {wanted}, got {shown(value)}", file=file, key=f"{place}.{key}") from None
    return result


def string(value: Any) -> str:
    """Read a text that is not empty."""
    if not isinstance(value, str) or not value.strip():
        raise ValueError("a text")
    return value


def boolean(value: Any) -> bool:
    """Read true or false."""
    if not isinstance(value, bool):
        raise ValueError("true or false")
    return value


def count(value: Any) -> int:
    """Read a whole number, 0 or more."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError("a whole number, 0 or more")
    return value


def number(value: Any) -> float:
    """Read a finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 1e300:
        raise ValueError("a finite number")
    return float(value)


def positive(value: Any) -> float:
    """Read a finite number above 0."""
    if number(value) <= 0:
        raise ValueError("a number above 0")
    return float(value)


def numbers(value: Any) -> float | tuple[float, ...]:
    """Read one finite number, or a list of them."""
    try:
        return tuple(number(v) for v in value) if isinstance(value, list) and value else number(value)
    except ValueError:
        raise ValueError("a finite number, or a list of them") from None


def strings(value: Any) -> str | tuple[str, ...]:
    """Read one text, or a list of them."""
    try:
        return tuple(string(v) for v in value) if isinstance(value, list) and value else string(value)
    except ValueError:
        raise ValueError("a text, or a list of texts") from None


def plural(number: int, what: str) -> str:
    """Return "1 column", "2 columns"."""
    return f"{number} {what}{'' if number == 1 else 's'}"


def shown(value: Any) -> str:
    """Return a short text of `value` for messages."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
