"""A log file as it is, without a manifest: every column of numbers in it, as a dataset.toml can ask for it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ident.arrays import Array
from ident.errors import LogError
from ident.logs.manifest import Column as Reference
from ident.logs.manifest import TextFormat
from ident.logs.readers.formats import Request, format_of, is_bag, read_chunks

#: Lines of a text file that are looked at, and the fewest rows of a log.
LOOKED, FEWEST = 40, 50
#: Columns of an array that is wider are no signals of joints.
WIDEST = 200
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|nan|inf|-inf|null|", re.IGNORECASE)


@dataclass(frozen=True, eq=False)
class Column:
    """A column of numbers: its file, its name or number there, in which array, and its values (rows,).

    label: what it is called, for people and for whoever reads meanings from it; "" where it has only a number.
    """

    file: Path
    reference: Reference
    array: str | None
    label: str
    values: Array

    @property
    def shown(self) -> str:
        """The name, or else the number, of the column."""
        return self.label or f"column {self.reference}"


@dataclass(frozen=True, eq=False)
class RawTable:
    """Columns of one length from one file; `text` says how a text file is written, None for another."""

    file: Path
    columns: tuple[Column, ...]
    text: TextFormat | None = None

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.columns[0].values)


def read_raw(path: Path) -> tuple[RawTable, ...]:
    """Return the tables of a log file: one, or for NPZ and MAT one for each length of its arrays, the widest first.

    Raises LogError for a file that is none, is damaged, or holds no table of numbers.
    """
    if is_bag(path):
        fix = f"Make a table of it first: ident logs convert {path.name} --out {path.stem}.parquet"
        raise LogError("is a bag, whose columns have names and units of their own", file=path, fix=fix)
    if not path.is_file():
        raise LogError("there is no such file", file=path, fix="Give log files: .csv, .txt, .npz, .mat, .parquet")
    found = format_of(path)
    if found is not None and found.lines:
        read = [_text_table(path)]
    elif path.suffix.lower() == ".parquet":
        read = [_parquet_table(path)]
    else:
        read = _array_tables(path)
    tables = tuple(t for t in read if t.columns and t.rows >= FEWEST)
    if not tables:
        raise LogError(f"holds no table of numbers of {FEWEST} rows or more", file=path, fix="Is it a log?")
    return tables


def _text_table(path: Path) -> RawTable:
    text, names, numbers = sniffed(path)
    wanted: list[tuple[str | None, Reference | None]] = [(None, k + 1) for k in numbers]
    parts = list(read_chunks(Request(path, str(path), {"all": wanted}, text)))
    values = [np.concatenate(c).astype(np.float64) for c in zip(*(part["all"] for part in parts), strict=True)]
    once = Counter(names)
    columns = []
    for k, value in zip(numbers, values, strict=True):
        name = names[k] if names else ""
        by_name = text.header and name and once[name] == 1
        columns.append(Column(path, name if by_name else k + 1, None, name, value))
    return RawTable(path, tuple(columns), text)


def sniffed(path: Path) -> tuple[TextFormat, list[str], list[int]]:
    """Return how a text file is written, the names of its columns ([] without) and the places of those of numbers.

    The header is the last line before the rows that has as many fields as they have. A line of units between is
    joined to the names, and columns then go by their numbers. Raises LogError where there are no rows of numbers.
    """
    try:
        with path.open("rb") as stream:
            lines = [stream.readline(1 << 20).decode("utf-8-sig").rstrip("\r\n") for _ in range(LOOKED * 2)]
    except (UnicodeDecodeError, OSError) as cause:
        problem = "is not UTF-8 text" if isinstance(cause, UnicodeDecodeError) else f"cannot be read ({cause.strerror})"
        raise LogError(problem, file=path, fix="Save it as UTF-8 text") from None
    while lines and not lines[-1].strip():
        lines.pop()
    best: tuple[int, str, str] = (0, ",", ".")
    for mark in (",", ";", "\t", "|", " "):
        for decimal in (".", ",") if mark != "," else (".",):
            count = len(_filled(lines[-1:], mark, decimal)) and _filled(lines[-1:], mark, decimal)[0][1]
            best = max(best, (count, mark, decimal), key=lambda b: b[0])
    count, mark, decimal = best
    if count == 0:
        raise LogError("no line of numbers is found", file=path, fix="Is it a table of numbers, one row a line?")
    width = len(_split(lines[-1], mark))
    first = len(lines)
    while first > 0 and _is_row(_split(lines[first - 1], mark), width, decimal):
        first -= 1
    heads = [_split(line, mark) for line in lines[:first]]
    named = [k for k, head in enumerate(heads) if len(head) == width and any(map(str.strip, head))]
    names = [""] * width if named else []
    for k in named[-2:]:
        names = [f"{a} {b}".strip() if a != b else a for a, b in zip(names, heads[k], strict=True)]
    names = [name.strip() for name in names]
    header = len(named) == 1 and named[0] == first - 1
    rows = [_split(line, mark) for line in lines[first:]]
    numbers = [k for k in range(width) if all(_NUMBER.fullmatch(row[k].strip().replace(decimal, ".")) for row in rows)]
    return TextFormat(mark, header, decimal, first - header), names, numbers


def _filled(lines: Sequence[str], mark: str, decimal: str) -> list[tuple[str, int]]:
    """Return each line with how many numbers it has between these marks."""
    found = []
    for line in lines:
        cells = [cell.strip().replace(decimal, ".") for cell in _split(line, mark)]
        found.append((line, sum(bool(cell and _NUMBER.fullmatch(cell)) for cell in cells)))
    return found


def _split(line: str, mark: str) -> list[str]:
    import csv

    return line.split() if mark == " " else next(csv.reader([line], delimiter=mark), [""])


def _is_row(cells: Sequence[str], width: int, decimal: str) -> bool:
    """Return whether a line is a row: as many fields, and one number at least, no fewer than words."""
    numbers = [bool(c.strip() and _NUMBER.fullmatch(c.strip().replace(decimal, "."))) for c in cells]
    return len(cells) == width and 2 * sum(numbers) >= max(len(numbers), 1)


def _parquet_table(path: Path) -> RawTable:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        schema = pq.read_schema(path)
    except (pa.ArrowException, OSError) as cause:
        raise LogError(f"cannot be read as Parquet ({type(cause).__name__})", file=path) from None
    once = Counter(schema.names)
    names = [
        field.name
        for field in schema
        if once[field.name] == 1 and (pa.types.is_floating(field.type) or pa.types.is_integer(field.type))
    ]
    if not names:
        return RawTable(path, ())
    parts = list(read_chunks(Request(path, str(path), {"all": [(None, name) for name in names]})))
    values = [np.concatenate(c).astype(np.float64) for c in zip(*(part["all"] for part in parts), strict=True)]
    return RawTable(path, tuple(Column(path, n, None, n, v) for n, v in zip(names, values, strict=True)))


def _array_tables(path: Path) -> list[RawTable]:
    from ident.logs.readers.read_arrays import shapes

    found = shapes(Request(path, str(path), {}))
    lengths: dict[int, list[str]] = {}
    for name, shape in found.items():
        if max(shape) >= FEWEST and np.prod(shape) <= WIDEST * max(shape):
            lengths.setdefault(max(shape), []).append(name)
    tables = []
    for names in lengths.values():
        got = next(iter(read_chunks(Request(path, str(path), {name: [(name, None)] for name in names}))))
        columns: list[Column] = []
        for name, parts in got.items():
            for k, part in enumerate(parts, start=1):
                value = np.asarray(part, dtype=np.float64)
                if len(parts) == 1:
                    columns.append(Column(path, name, None, name, value))
                else:
                    columns.append(Column(path, k, name, f"{name}[{k}]", value))
        tables.append(RawTable(path, tuple(columns)))
    return sorted(tables, key=lambda table: -len(table.columns))
