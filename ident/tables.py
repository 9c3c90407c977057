"""TOML and JSON files read strictly: every mistake is named with its file, its line or key, and what was wanted there.

TOML, which people write, is read key by key (`Table`); JSON, which `ident` writes, by a schema (`JsonFormat`).
"""

from __future__ import annotations

import contextlib
import json
import math
import re
import tomllib
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin

import numpy as np

from ident.arrays import Array
from ident.errors import InputError, cut, nearest, plural

#: Returns a value as it is meant, or raises ValueError that says what was wanted. None, which TOML has not, is refused.
Reader = Callable[[Any], Any]
#: Bytes of a file written by hand.
LARGEST = 1_000_000


def below(header: str, *lines: str) -> str:
    """Return which lines to paste below the header of a table, each valid TOML as it stands."""
    return f"{' and '.join(f'`{line}`' for line in lines)} below [{header}]"


def read_bytes(path: str | Path, error: type[InputError], limit: int = LARGEST) -> bytes:
    """Return the content of a file; raises `error` when it cannot be read or has more than `limit` bytes."""
    try:
        with open(path, "rb") as stream:
            data = stream.read(limit + 1)
    except (OSError, ValueError) as cause:  # ValueError: a zero byte in a path
        raise error(f"the file cannot be read: {getattr(cause, 'strerror', None) or cause}", file=path) from cause
    if len(data) > limit:
        raise error(f"the file is larger than {limit / 1e6:g} MB, the most that is read", file=path)
    return data


def read_toml(path: str | Path, error: type[InputError]) -> dict[str, Any]:
    """Return the content of a TOML file; raises `error` with the line where it is none."""
    data = read_bytes(path, error)
    try:
        return parse_toml(data.decode("utf-8-sig"), path, error)
    except UnicodeDecodeError as cause:
        raise error("the file is not UTF-8 text", file=path, fix="Save it as UTF-8") from cause


def parse_toml(
    text: str, file: str | Path, error: type[InputError], parse_float: Callable[[str], Any] = float
) -> dict[str, Any]:
    """Return the content of TOML text; raises `error` with the line of `file` where it is none."""
    try:
        return tomllib.loads(text, parse_float=parse_float)
    except RecursionError as cause:
        raise error("the file is nested too deep", file=file) from cause
    except ValueError as cause:  # TOMLDecodeError, or an integer of thousands of digits
        at = re.search(r"\s*\(at (?:line (\d+)|end of document).*\)$", str(cause))
        reason, line = (str(cause)[: at.start()], at[1]) if at else (str(cause), None)
        problem = f"the file is not valid TOML: {reason}"
        raise error(problem, file=file, line=int(line) if line else None) from cause


def shown(value: Any) -> str:
    """Return a value much as TOML has it, short enough for a message."""
    try:
        return cut(str(value).lower() if isinstance(value, bool) else repr(value), 60)
    except ValueError:  # Python writes no integers of thousands of digits
        return "a number of thousands of digits"


@dataclass(frozen=True)
class Table:
    """One TOML table, its key path, the file, and the kind of error that names them."""

    data: Mapping[str, Any]
    path: str
    file: Path
    kind: type[InputError]

    def key(self, key: str) -> str:
        """Return the whole path of a key."""
        return ".".join(p for p in (self.path, key) if p)

    def error(self, key: str, problem: str, fix: str | None = None) -> InputError:
        """Return the error that names this file and key."""
        return self.kind(problem, file=self.file, key=self.key(key) or None, fix=fix)

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
        names = list(keys)
        for key in self.data:
            if key not in names:
                hint = nearest(key, names)
                fix = None if hint else f"Known here: {', '.join(names)}"
                raise self.error(key, f"is not a known key here{hint}", fix)

    def read(self, key: str, reader: Reader, default: Any = None) -> Any:
        """Return the value of a key as `reader` means it; `default`, unless that is None, where the key is absent."""
        value = self.data.get(key)
        if value is None and default is not None:
            return default
        try:
            return reader(value)
        except ValueError as wanted:
            found = "is missing" if value is None else f"is {shown(value)}"
            raise self.error(key, f"{found}, wanted {wanted}") from None

    def values(self, required: Mapping[str, Reader], optional: Mapping[str, Reader]) -> dict[str, Any]:
        """Return what all keys mean, absent ones left out; refuses unknown keys, and missing ones that are required."""
        readers = {**required, **optional}
        self.known(readers)
        return {key: self.read(key, readers[key]) for key in readers if key in required or key in self.data}

    def each(self, reader: Reader) -> dict[str, Any]:
        """Return what every key of a table of names means."""
        return {key: self.read(key, reader) for key in self.data}

    def inner(self, key: str) -> Table:
        """Return a table within this one, an empty one where it is left out."""
        return self.table(key) if key in self.data else Table({}, self.key(key), self.file, self.kind)

    def number(self, key: str, default: float | None = None) -> float:
        """Return a finite number."""
        return float(self.read(key, number, default))

    def numbers(self, key: str, count: int) -> Array:
        """Return so many finite numbers (count,)."""
        entries = self.entries(key, f"{count} numbers")
        if len(entries.data) != count:
            raise self.error(key, f"has {len(entries.data)} entries, wanted {count} numbers")
        return np.array([entries.number(k) for k in entries.data])

    def flag(self, key: str, default: bool) -> bool:
        """Return true or false."""
        return bool(self.read(key, boolean, default))

    def text(self, key: str, default: str | None = None) -> str:
        """Return a text that is not empty."""
        return str(self.read(key, string, default))

    def texts(self, key: str) -> list[str]:
        """Return a list of texts."""
        entries = self.entries(key, "a list of texts")
        return [entries.text(k) for k in entries.data]

    def choice(self, key: str, known: Iterable[str], default: str | None = None) -> str:
        """Return a text that is one of `known`."""
        names = list(known)
        wanted = "one of " + ", ".join(f"'{n}'" for n in names)
        value = self.read(key, lambda value: _text(value, wanted), default)
        if value not in names:
            raise self.error(key, f"is '{cut(value, 60)}', wanted {wanted}{nearest(value, names)}")
        return str(value)

    def table(self, key: str) -> Table:
        """Return a table within this one."""
        return Table(self.read(key, table), self.key(key), self.file, self.kind)

    def tables(self, key: str, *, optional: bool = False) -> list[Table]:
        """Return a list of tables within this one; none where it is left out and optional."""
        if optional and key not in self.data:
            return []
        entries = self.entries(key, f"tables [[{key}]]")
        return [entries.table(k) for k in entries.data]

    def entries(self, key: str, wanted: str = "a list") -> Table:
        """Return a list within this table as a table whose keys are KEY[1], KEY[2] and so on."""
        values = self.read(key, lambda value: _list(value, wanted))
        found = {f"{key}[{i + 1}]": value for i, value in enumerate(values)}
        return Table(found, self.path, self.file, self.kind)


def _list(value: Any, wanted: str) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError(wanted)
    return value


def _text(value: Any, wanted: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError(wanted)
    return value


def table(value: Any) -> dict[str, Any]:
    """Return a value that must be a table."""
    if not isinstance(value, dict):
        raise ValueError("a table")
    return value


def string(value: Any) -> str:
    """Read a text that is not empty."""
    return _text(value, "a text that is not empty")


def number(value: Any) -> float:
    """Return a value that must be a finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= 1e12:
        raise ValueError("a finite number, at most 1e12" if type(value) in (int, float) else "a number")
    return float(value)


def positive(value: Any) -> float:
    """Return a value that must be a finite number above 0."""
    if number(value) <= 0:
        raise ValueError("a number above 0")
    return float(value)


def typed(hint: Any, wanted: str, rule: Callable[[Any], bool] = lambda value: True) -> Reader:
    """Return what reads a value of a type: numbers, texts that are not empty, flags, words, lists as tuples, "none".

    Numbers are finite; `rule` says which values are sound.
    """

    def read(value: Any) -> Any:
        try:
            found = _meant(hint, value)
        except ValueError:
            raise ValueError(wanted) from None
        if not rule(found):
            raise ValueError(wanted)
        return found

    return read


def _meant(hint: Any, value: Any) -> Any:
    kind, options = get_origin(hint), get_args(hint)
    if kind in (Union, types.UnionType):
        for option in options:
            with contextlib.suppress(ValueError):
                return _meant(option, value)
    elif kind is Literal and any(
        value is option or value == option for option in options if type(value) is type(option)
    ):
        return value
    elif kind is tuple and isinstance(value, list):
        hints = options[:1] * len(value) if Ellipsis in options else options
        if len(hints) == len(value):
            return tuple(map(_meant, hints, value))
    elif hint is float:
        return number(value)
    elif (hint in (bool, int, str) and type(value) is hint and value != "") or (hint is type(None) and value == "none"):
        return None if value == "none" and hint is type(None) else value
    raise ValueError


#: Reads true or false.
boolean = typed(bool, "true or false")
#: Reads a whole number, 0 or more.
count = typed(int, "a whole number, 0 or more", lambda value: value >= 0)


def one_or_more(reader: Reader, wanted: str) -> Reader:
    """Return what reads one value, or a list of them as a tuple."""

    def read(value: Any) -> Any:
        try:
            return tuple(reader(v) for v in value) if isinstance(value, list) and value else reader(value)
        except ValueError:
            raise ValueError(wanted) from None

    return read


# ---- JSON by its schema ---------------------------------------------------------------------------------------------

#: What the types of JSON Schema are in Python, and in words.
_TYPES: dict[str, tuple[type | tuple[type, ...], str]] = {
    "object": (dict, "an object"),
    "array": (list, "a list"),
    "string": (str, "a text"),
    "number": ((int, float), "a valid number"),
    "integer": (int, "a whole number"),
    "boolean": (bool, "true or false"),
    "null": (type(None), "null"),
}


@dataclass(frozen=True)
class JsonFormat:
    """A kind of JSON file: what stands under its key "format", its noun, the file of its schema, the error it raises.

    The schema (draft 2020-12) may say type, const, enum, minimum, exclusiveMaximum, properties, required, items,
    additionalProperties, minItems, and a $ref to each of its $defs. again: what to do about a file that is broken;
    given: about one that is none.
    """

    name: str
    noun: str
    schema_file: Path
    error: type[InputError]
    again: str
    given: str

    @cached_property
    def schema(self) -> dict[str, Any]:
        """The schema, with what it defines in place of each reference to it."""
        text = self.schema_file.read_text(encoding="utf-8")
        named = {f"#/$defs/{name}": part for name, part in json.loads(text).get("$defs", {}).items()}
        found: dict[str, Any] = json.loads(text, object_hook=lambda part: named.get(part.get("$ref", ""), part))
        return found

    def read(self, path: Path) -> dict[str, Any]:
        """Return what a file holds; raises the error, naming file and key, when it is not as the schema has it."""
        try:
            text = path.read_bytes().decode("utf-8")
        except UnicodeDecodeError:
            raise self.error("is not text in UTF-8", file=path, fix=self.given) from None
        except OSError as cause:
            raise self.error(f"cannot be read: {cause.strerror}", file=path, fix="Check the path") from None
        try:
            document = json.loads(text, object_pairs_hook=_once, parse_constant=_no_constant)
            json.dumps(document, ensure_ascii=False).encode()  # half a character, as "\\ud800", cannot be written again
        except json.JSONDecodeError as cause:
            raise self.error(f"is not JSON: {cause.msg}", file=path, line=cause.lineno) from None
        except (ValueError, RecursionError) as cause:
            problem = f"is not usable JSON: {str(cause) or 'nested too deeply'}"
            raise self.error(problem, file=path, fix=self.given) from None
        if not isinstance(document, dict) or "format" not in document:
            raise self.error(f"is not {self.noun} written by ident", file=path, fix=self.given)
        if document["format"] != self.name:
            problem = f"is {document['format']!r:.60}, wanted '{self.name}'"
            fix = f"Use the version of ident that wrote the file, or {self.again[0].lower()}{self.again[1:]}"
            raise self.error(problem, file=path, key="format", fix=fix)
        self.check(document, path)
        return document

    def text(self, document: Mapping[str, Any], path: Path) -> str:
        """Return the text of a file, in the schema's order; raises the error, naming the key, for what has no place."""
        self.check(dict(document), path)
        lines = []
        for key in self.schema["properties"]:
            try:
                lines.append(f' "{key}": {_json_text(document[key], 1)}')
                lines[-1].encode()
            except (TypeError, ValueError, RecursionError) as cause:
                raise self.error(f"cannot be written as JSON: {cause}", file=path, key=key) from None
        return "{\n" + ",\n".join(lines) + "\n}\n"

    def check(self, value: Any, path: Path, schema: Mapping[str, Any] | None = None, key: str = "") -> None:
        """Raise the error unless a value, the part of a document at `key`, is as a schema (the format's own) has it."""
        for where, problem in _faults(value, self.schema if schema is None else schema, key):
            raise self.error(problem, file=path, key=where or None, fix=self.again)


def _faults(value: Any, schema: Mapping[str, Any], key: str) -> Iterator[tuple[str, str]]:
    """Yield key and problem of each place where a JSON value is not as its schema has it; all numbers are finite."""
    allowed = [schema["const"]] if "const" in schema else schema.get("enum", [])
    types = schema.get("type", [])
    types = [types] if isinstance(types, str) else types
    wanted = ""
    if allowed and value not in allowed:
        wanted = " or ".join(repr(a) for a in allowed) + (nearest(value, allowed) if isinstance(value, str) else "")
    elif types and not any(
        isinstance(value, _TYPES[t][0]) and (type(value) is not bool or t == "boolean") for t in types
    ):
        wanted = " or ".join(_TYPES[t][1] for t in types if t != "null")
    elif isinstance(value, int | float):
        if not abs(value) < 1e300:
            wanted = "a finite number"
        elif value < schema.get("minimum", -math.inf):
            wanted = "a number that is not negative" if schema["minimum"] == 0 else f"at least {schema['minimum']}"
        elif value >= schema.get("exclusiveMaximum", math.inf):
            wanted = f"a number below {schema['exclusiveMaximum']}"
    elif isinstance(value, list) and len(value) < schema.get("minItems", 0):
        wanted = f"at least {plural(schema['minItems'], 'item')}"
    if wanted:
        yield key, f"is {cut(json.dumps(value, ensure_ascii=False, default=repr), 60)}, wanted {wanted}"
    elif isinstance(value, list):
        for k, part in enumerate(value):
            yield from _faults(part, schema.get("items", {}), f"{key}[{k + 1}]")
    elif isinstance(value, dict):
        known, others = schema.get("properties", {}), schema.get("additionalProperties", {})
        for name in dict.fromkeys([*value, *schema.get("required", ())]):
            where = f"{key}.{name}" if key else str(name)
            if name not in value:
                yield where, "is missing"
            elif name not in known and others is False:
                yield where, f"unknown key{nearest(name, known)}"
            else:
                yield from _faults(value[name], known.get(name, others), where)


def _json_text(value: Any, depth: int) -> str:
    """Return JSON with a line for each entry of what a document holds, and for each row of a table in that."""
    nested = isinstance(value, list) and bool(value) and isinstance(value[0], dict | list)
    if depth > 2 or not (nested or (depth < 2 and isinstance(value, dict) and value)):
        return json.dumps(value, allow_nan=False, ensure_ascii=False)
    rows = [_json_text(part, depth + 1) for part in (value.values() if isinstance(value, dict) else value)]
    if isinstance(value, dict):
        rows = [f"{json.dumps(str(name), ensure_ascii=False)}: {row}" for name, row in zip(value, rows, strict=True)]
    start, end = "{}" if isinstance(value, dict) else "[]"
    return f"{start}\n" + ",\n".join(" " * (depth + 1) + row for row in rows) + "\n" + " " * depth + end


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"the key '{key}' stands there twice")
        found[key] = value
    return found


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is no JSON number")
