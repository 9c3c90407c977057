"""A log file as it is, without a manifest: every column of numbers in it, as a dataset.toml can ask for it."""

from __future__ import annotations

import contextlib
import csv
import operator
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from pathlib import Path

import numpy as np

from ident.arrays import Array
from ident.errors import LogError, need
from ident.logs.manifest import DATES, TextFormat
from ident.logs.manifest import Column as Reference
from ident.logs.names import UNIT_WORDS, named, tokens
from ident.logs.readers.formats import DAMAGED, Request, endings, format_of, is_bag, is_date, read_chunks
from ident.logs.readers.read_tables import MISSING, decoded, note, opened, value_type

#: Lines of a text file that are looked at, and the fewest rows of a log.
LOOKED, FEWEST = 80, 50
#: Columns of an array that is wider are no signals of joints.
WIDEST = 200
#: An array and a column, as a Request has it.
Wanted = tuple[str | None, Reference | None]
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|nan|null", re.IGNORECASE)
#: A cell that holds several numbers, [0.1 0.2] or (0.1, 0.2), or begins with the first of them.
_ARRAY = re.compile(r"\s*[\[(]+\s*[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?([\s,;]|$)")
#: The index at the end of a column's name, in brackets or behind a sign.
_INDEX = re.compile(r"(?:\[|[._/])(\d+)\]?$")


@dataclass(frozen=True, eq=False)
class Column:
    """A column of numbers: its file, its name or number there, in which array, and what was read (rows,).

    label: what it is called, for people and for whoever reads meanings from it; "" where it has only a number.
    unit: what a clock's own form says, "" for nothing; parts: the columns that it is the sum of, () for one by itself.
    """

    file: Path
    reference: Reference
    array: str | None
    label: str
    read: Array
    unit: str = ""
    parts: tuple[Column, ...] = ()

    @cached_property
    def values(self) -> Array:
        """The numbers (rows,), missing ones between their neighbours: to tell what the column is, no more."""
        there = np.flatnonzero(np.isfinite(self.read))
        if len(there) in (0, len(self.read)):
            return self.read
        return np.interp(np.arange(len(self.read)), there, self.read[there])

    @property
    def shown(self) -> str:
        """The name, or else the number, of the column."""
        return self.label or f"column {self.reference}"


@dataclass(frozen=True, eq=False)
class RawTable:
    """Columns of one length from one file; `text` says how a text file is written, None for another.

    note: what the user should know of how it was read, "" for nothing.
    """

    file: Path
    columns: tuple[Column, ...]
    text: TextFormat | None = None
    note: str = ""

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.columns[0].values)


def read_raw(path: Path) -> tuple[RawTable, ...]:
    """Return the tables of a log file: for arrays one for each length, the widest first.

    Raises LogError for a file that is none, is damaged, or holds no table of numbers.
    """
    if is_bag(path):
        fix = "`ident init` makes a table of it"
        raise LogError("is a bag, whose columns have names and units of their own", file=path, fix=fix)
    if not path.is_file():
        raise LogError("there is no such file", file=path, fix=f"Give log files: {endings()}")
    if not path.stat().st_size:
        raise LogError("is empty", file=path, fix="Nothing was recorded, or the copy failed: give the whole file")
    found = format_of(path)
    if found is None:
        sheet = path.suffix.lower() in (".xlsx", ".xls", ".xlsm", ".ods")
        fix = "Save its table, of a log or of CAD, as .csv" if sheet else f"Use one of: {endings()}"
        raise LogError(f"'{path.suffix.lower()}' files cannot be read", file=path, fix=fix)
    if found.lines:
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
    lines, told = _lines(path)
    _refuse_arrays(lines, path)
    notes = [told] if told else []
    text, names, numbers, dates = _sniffed(lines, path)
    cells = [_split(line, text.delimiter) for line in lines[text.skip_lines + text.header :] if line.strip()]
    _refuse_long(cells, names, path)
    values = _read(path, [(None, k + 1) for k in numbers], text, [(None, k + 1) for k in dates], notes)
    columns, joints = [], _named_joints(cells, names)
    notes += (
        [f"the order of the joints is what its columns of names say: {', '.join(joints.values())}"] if joints else []
    )
    empty = [k for k, value in zip(numbers, values, strict=False) if np.isnan(value).all()]
    told = ", ".join(names[k] for k in empty if names and names[k])
    notes += [f"left out, for no number is in it: {told}"] if told else []
    for k, value in zip([*numbers, *dates], values, strict=True):
        if k in empty:
            continue
        name = names[k] if names else ""
        by_name = text.header and name and names.count(name) == 1
        unit = DATES if k in dates else ""
        label = _INDEX.sub(lambda at: f".{joints[at[1]]}" if at[1] in joints else at[0], name)
        columns.append(Column(path, name if by_name else k + 1, None, label, value, unit))
    return RawTable(path, tuple(columns), text, "; ".join(notes))


def _refuse_long(rows: Sequence[Sequence[str]], names: Sequence[str], path: Path) -> None:
    """Raise LogError where each row is of one joint, which a column names: the same joints again and again."""
    for k, name in enumerate(names):
        words = [row[k] for row in rows if len(row) == len(names)]
        size = len({*words})
        again = 1 < size <= len(words) // 2 and all(map(operator.eq, words, words[size:]))
        if again and {*tokens(name)} & {"joint", "name", "axis", "motor"} and not named(name, ()).quantity:
            time = next((x for x in names if named(x, ()).quantity == "time"), names[0])
            fix = f"table = table.pivot(index={time!r}, columns={name!r})"
            fix += "; table.columns = map('{0[0]} {0[1]}'.format, table.columns); table.to_csv('wide.csv')"
            problem = f"is a long table: each row is of one joint, {name!r}"
            raise LogError(problem, file=path, fix=f"Write all joints of one time into one row; in pandas: {fix}")


def _named_joints(rows: Sequence[Sequence[str]], names: Sequence[str]) -> dict[str, str]:
    """Return the joints that columns such as name[3] name, by their index, {} where those change or are alike."""
    found = {}
    for k, name in enumerate(names):
        if re.search(r"(?i)(?<![a-z])names?[\W_]*\d+\W*$", name) and (index := _INDEX.search(name)):
            words = {row[k].strip() for row in rows if len(row) == len(names)}
            if len(words) != 1 or _NUMBER.fullmatch(words.copy().pop()):
                return {}
            found[index[1]] = words.pop()
    return found if len(set(found.values())) == len(found) else {}


def _read(
    path: Path, wanted: Sequence[Wanted], text: TextFormat, dates: Sequence[Wanted], notes: list[str]
) -> list[Array]:
    """Return columns of one length (rows,), those of dates last, in ns since the first row; tell how they were read."""
    signals = {"numbers": wanted} | {f"date {k}": [date] for k, date in enumerate(dates)}
    request = Request(path, str(path), signals, text, notes=notes, dated=frozenset(list(signals)[1:]))
    parts = [[c for columns in part.values() for c in columns] for part in read_chunks(request)]
    found = [np.concatenate(column) for column in zip(*parts, strict=True)]
    ours = [x - (x[np.isfinite(x)][:1].sum() if k >= len(wanted) else 0) for k, x in enumerate(found)]
    return [x.astype(np.float64) for x in ours]


def _lines(path: Path) -> tuple[list[str], str]:
    """Return the first lines of a text file, and what to tell of their encoding. Raises LogError for no text."""
    try:
        with opened(path) as stream:
            read = [decoded(stream.readline(1 << 20)) for _ in range(LOOKED)]
    except (UnicodeDecodeError, OSError) as cause:
        problem = "is not UTF-8 text" if isinstance(cause, UnicodeDecodeError) else f"cannot be read ({cause.strerror})"
        raise LogError(problem, file=path, fix="Save it as UTF-8 text") from None
    return [line.rstrip("\r\n") for line, _ in read], next(filter(None, (note(encoding) for _, encoding in read)), "")


def _refuse_arrays(lines: Sequence[str], path: Path) -> None:
    """Raise LogError where a cell of a text file holds an array, in one line or several."""
    for mark in ",;\t|":
        rows: list[list[str]] = []
        with contextlib.suppress(csv.Error):
            rows = [row for row in csv.reader((f"{line}\n" for line in lines), delimiter=mark) if row]
        row = rows[len(rows) // 2] if rows else []
        held = [k for k, cell in enumerate(row) if _ARRAY.match(cell)]
        if held:
            above = next(other for other in rows if len(other) == len(row))
            keys = [k if _ARRAY.match(above[k]) else above[k].strip() for k in held]
            fix = f"table = table.join(table.pop({keys[0]!r}).str.extractall(r'([-+.\\de]+)')[0].unstack()"
            fix = f"Write each number into a column of its own; in pandas: {fix}.add_prefix({f'{keys[0]}_'!r}))"
            each = ", ".join(f"column {k + 1}" if k is key else repr(key) for k, key in zip(held, keys, strict=True))
            raise LogError(f"{each} {'hold' if len(held) > 1 else 'holds'} arrays", file=path, fix=fix)


def _sniffed(lines: list[str], path: Path) -> tuple[TextFormat, list[str], list[int], list[int]]:
    """Return how a text file is written, the names of its columns ([] without), the places of numbers, and of dates.

    The header is made of the lines before the rows that have as many fields as they have; where there are several,
    columns go by their numbers. Raises LogError where there are no rows of numbers.
    """
    while lines and not lines[-1].strip():
        lines.pop()
    ways = [(mark, decimal) for mark in ",;\t| " for decimal in ".," if mark != decimal]
    found = [sum(_numbers(lines[-1] if lines else "", *way)) for way in ways]
    mark, decimal = ways[int(np.argmax(found))]
    rows = [_numbers(line, mark, decimal) for line in lines]
    width, first = len(rows[-1]) if rows else 0, len(lines)
    blanks = [[cell.strip().lower() in MISSING for cell in _split(line, mark)] for line in lines]
    while first > 0 and len(rows[first - 1]) == width and any(rows[first - 1]):
        if 2 * sum(map(operator.or_, rows[first - 1], blanks[first - 1])) < width:
            break
        first -= 1
    if first == len(lines):
        fix = "Is it a table of numbers, one row a line, each joint in a column of its own?"
        raise LogError("no line of numbers is found", file=path, fix=fix)
    heads = {k: _split(lines[k], mark) for k in range(first) if len(rows[k]) == width and lines[k].strip(mark + " ")}
    names = _names(list(heads.values()))
    header = list(heads) == [first - 1]
    numbers = [
        k
        for k in range(width)
        if all(row[k] or none[k] for row, none in zip(rows[first:], blanks[first:], strict=True))
    ]
    cells = [_split(line, mark) for line in lines[first:]]
    dates = [k for k in range(width) if k not in numbers and all(is_date(row[k]) for row in cells)]
    return TextFormat(mark, header, decimal, first - header), names, numbers, dates


def _names(lines: Sequence[Sequence[str]]) -> list[str]:
    """Return the names of columns by the lines above the rows: what the last two say together, names and units.

    Where the last alone tells not all apart, a word above is that of what follows, up to the next one. Or the line that
    says most, with those of units, where that tells more columns apart.
    """

    def joined(lines: Sequence[Sequence[str]]) -> list[str]:
        return [" ".join(dict.fromkeys(filter(None, cells))) for cells in zip(*lines, strict=True)]

    def told(cells: Sequence[str]) -> int:
        return len({cell for cell in cells if any(map(str.isalpha, cell))})

    heads = [[cell.strip() for cell in cells] for cells in lines]
    if len(heads) > 1 and all(heads[-1]) and len({*heads[-1]}) < len(heads[-1]) and len({*heads[-2]}) > 2:
        filled: accumulate[str] = accumulate(heads[-2], lambda before, cell: cell or before)
        heads[-2] = list(filled)
    best = max(heads, key=told, default=[])
    if told(best) <= told(joined(heads[-2:])):
        return joined(heads[-2:])
    units = [
        cells for cells in heads if 2 * sum(bool(w := {*tokens(c)}) and w <= UNIT_WORDS for c in cells) >= len(best)
    ]
    return joined([best, *units])


def _numbers(line: str, mark: str, decimal: str) -> list[bool]:
    """Return of each field of a line whether it is a number."""
    return [bool(_NUMBER.fullmatch(cell.strip().replace(decimal, "."))) for cell in _split(line, mark)]


def _split(line: str, mark: str) -> list[str]:
    return line.split() if mark == " " else next(csv.reader([line], delimiter=mark), [""])


def _parquet_table(path: Path) -> RawTable:
    need("pyarrow")
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        schema = pq.read_schema(path)
    except (pa.ArrowException, OSError) as cause:
        raise LogError(f"cannot be read as Parquet ({type(cause).__name__})", file=path, fix=DAMAGED) from None
    once = [field for field in schema if schema.names.count(field.name) == 1]
    names = [f.name for f in once if pa.types.is_floating(f.type) or pa.types.is_integer(f.type)]
    dates = [f.name for f in once if pa.types.is_timestamp(f.type)]
    values = _read(path, [(None, n) for n in names], TextFormat(), [(None, n) for n in dates], []) if names else []
    units = [""] * len(names) + [DATES] * len(dates)
    every = zip([*names, *dates], values, units, strict=bool(names))
    columns, notes = [Column(path, n, None, n, v, unit) for n, v, unit in every], list[str]()
    for field in once:
        of = value_type(field.type)
        if of is not None and (pa.types.is_floating(of) or pa.types.is_integer(of)):
            columns += _lists(path, field.name, notes)
    return RawTable(path, tuple(columns), note="; ".join(notes))


def _lists(path: Path, name: str, notes: list[str]) -> list[Column]:
    """Return the columns that lists of one length in Parquet are; none, and a note, where they differ in length."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as source:
            first = next(source.iter_batches(1, columns=[name])).column(name)[0].as_py() or ()
        places = range(1, len(first) + 1) if len(first) <= WIDEST else ()
        values = _read(path, [(name, k) for k in places], TextFormat(), [], notes) if places else []
    except (LogError, pa.ArrowException, OSError) as cause:
        notes.append(f"left out: {cause.problem if isinstance(cause, LogError) else name}")
        return []
    return [Column(path, k, name, f"{name}[{k}]", value) for k, value in zip(places, values, strict=True)]


def _array_tables(path: Path) -> list[RawTable]:
    from ident.logs.readers.read_arrays import shapes

    found = shapes(Request(path, str(path), {}))
    lengths: dict[int, list[str]] = {}
    for name, shape in found.items():
        if max(shape) >= FEWEST and np.prod(shape) <= WIDEST * max(shape):
            lengths.setdefault(max(shape), []).append(name)
    tables = []
    for names in lengths.values():
        columns: list[Column] = []
        got = next(read_chunks(Request(path, str(path), {name: [(name, None)] for name in names})))
        for name, parts in got.items():
            values = [np.asarray(part, dtype=np.float64) for part in parts]
            alone = len(values) == 1
            columns += [
                Column(path, name if alone else k, None if alone else name, name if alone else f"{name}[{k}]", value)
                for k, value in enumerate(values, start=1)
            ]
        tables.append(RawTable(path, tuple(columns)))
    return sorted(tables, key=lambda table: -len(table.columns))
