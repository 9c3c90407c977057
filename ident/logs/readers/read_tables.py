"""Columns of numbers out of text and Parquet files, in parts, by Arrow where it is installed.

Blocks of text that are no plain table of numbers are read line by line.
"""

from __future__ import annotations

import codecs
import csv
import io
import itertools
import re
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from ident.errors import nearest, need, plural
from ident.logs.manifest import Column
from ident.logs.readers.formats import DAMAGED, Chunk, Request, is_date, nanoseconds, rebatched

LINE = 2**22  # bytes of the longest line of a text file
BLOCK = 2**20  # bytes that are read together
HELD = 2**26  # bytes of a Parquet file that may be held whole
#: Words, in lower case, for a number that is missing.
MISSING = ("", "-", "--", "na", "n/a", "n.a.", "#n/a", "nan", "null", "none")
_MISSING = sorted({form(word) for word in MISSING for form in (str, str.upper, str.title)} | {"NaN"})
#: What lines that are no UTF-8 are taken for: what Excel and other programs write on Windows in Europe's west.
WESTERN = "cp1252"
#: What no line of text in it has: control characters, and three of its further characters side by side, as other
#: alphabets and files of numbers do.
_NO_TEXT = re.compile(rb"[\x00-\x08\x0e-\x1f\x7f]|[\x80-\xff]{3}")
#: Marks at the beginning of files: of some in UTF-8, of those in UTF-16.
MARK, _MARKS_16 = b"\xef\xbb\xbf", (b"\xff\xfe", b"\xfe\xff")
#: What is said of lines that are no rows.
_NO_ROWS = "that repeat what stands above the rows, or begin with #: left out"


def read_text(request: Request) -> Iterator[dict[str, Chunk]]:
    """Yield the wanted columns of a text file; see `formats.read_chunks`."""
    return request.named(rebatched(_parts(request), request.chunk))  # no other rows than the wanted ones are checked


def text_ends(request: Request) -> tuple[int, Chunk, Chunk] | None:
    """Return how many rows a text file has, and its wanted columns (1,) in the first and in the last of them.

    Lines are counted, no others are looked at; None where the first and the last one are not plain rows of numbers.
    """
    with opened(request.path) as stream:
        begun = _begun(stream, request)
        if begun is None:
            return None
        head, _, width, wanted = begun
        rows, before, last = 1, b"", head
        while block := stream.read(BLOCK):
            rows, before, last = rows + _line_ends(block), last, block
    end = (before + last).removesuffix(b"\n")
    rows += not last.endswith(b"\n")
    line = end[end.rfind(b"\n") + 1 :]
    ends = [_plain(row + b"\n", request, 1, width, wanted) for row in (head.rstrip(b"\n"), line) if row.strip()]
    return (rows, ends[0], ends[1]) if rows > 1 and len(ends) == 2 and ends[0] and ends[1] else None


def _line_ends(block: bytes) -> int:
    """Return how many line ends there are, in a quarter of the time that bytes take to count short lines."""
    return int(np.count_nonzero(np.frombuffer(block, np.uint8) == ord("\n")))


def _begun(stream: BinaryIO, request: Request) -> tuple[bytes, list[bytes], int, list[int]] | None:
    """Return a file's first row, the lines above, how many columns there are and which are wanted; None for no row."""
    text, columns = request.text, request.columns
    line = text.skip_lines + text.header + 1
    above = [_first_line(stream, request, k) for k in range(1, line)]
    header = [c.strip() for c in _fields(above[-1], request, line - 1)] if text.header else None
    head = _first_line(stream, request, line)
    if not head.strip():
        return None
    fields = _fields(head, request, line)
    width = len(header) if header else len(fields)
    if 1 in (width, len(fields)) and len(set(columns)) > 1:
        mark = next((m for m in ";\t,| " if m != text.decimal and m.encode() in head.strip()), None)
        raise request.error(
            f"has one value per line, {len(set(columns))} columns are wanted",
            "Write the values of a row on one line" if mark is None else f"Set delimiter = {mark!r} in [text]",
            line,
        )
    wanted = [_place(request, array, column, header, width) for array, column in columns]
    return head.removeprefix(MARK), above, width, wanted


def _parts(request: Request) -> Iterator[Chunk]:
    with opened(request.path) as stream:
        begun = _begun(stream, request)
        if begun is None:
            return
        head, above, width, wanted = begun
        line, no_rows = len(above) + 1, {row.removeprefix(MARK).strip() for row in above}
        skip, left = request.first - 1, request.last - request.first + 1
        block = head + stream.read(BLOCK) + stream.readline()
        while block and left > 0:
            lines = _line_ends(block) + (not block.endswith(b"\n"))
            if skip or left < lines:
                block = b"".join(io.BytesIO(block).readlines()[skip : skip + left])
            line, skip, lines = line + min(skip, lines), max(skip - lines, 0), max(min(lines - skip, left), 0)
            if lines:
                left -= lines
                part = _plain(block, request, lines, width, wanted)
                if part is None:
                    rest = itertools.islice(stream, left)
                    part = _line_by_line(io.BytesIO(block).readlines(), rest, request, line, width, wanted, no_rows)
                    if not len(part[0]):
                        return
                yield part
                line += lines
            block = stream.read(BLOCK) + stream.readline()


def _plain(block: bytes, request: Request, lines: int, width: int, wanted: list[int]) -> Chunk | None:
    """Return the columns of a block whose lines are nothing but so many numbers each, None for any other."""
    if find_spec("pyarrow") is None:
        return _plainly(block, request, lines, width, wanted)
    import pyarrow as pa
    import pyarrow.csv

    text = request.text
    if text.delimiter == " ":
        block = b"\n".join(b" ".join(row.split()) for row in block.splitlines())
    names, dated = [str(c) for c in range(width)], _dated(request, wanted)
    kinds = {str(c): pa.string() if c in dated else pa.float64() for c in wanted}

    def read() -> dict[str, np.ndarray]:
        found = pyarrow.csv.read_csv(
            pa.BufferReader(block),
            pyarrow.csv.ReadOptions(use_threads=False, block_size=len(block) + 1, column_names=names),
            pyarrow.csv.ParseOptions(delimiter=text.delimiter, ignore_empty_lines=False),
            pyarrow.csv.ConvertOptions(
                column_types=kinds, include_columns=list(kinds), decimal_point=text.decimal, null_values=_MISSING
            ),
        )
        blank = any(c.null_count for c in found.columns) and not all(map(bytes.strip, block.splitlines()))
        sound = found.num_rows == lines and not blank
        got = {c: _numbers(found[c].combine_chunks()) for c in kinds} if sound else {}
        return {c: values for c, values in got.items() if values is not None}

    try:
        found = read()
        exact = {c for c, values in found.items() if values.dtype != np.int64 and np.abs(values).max() > 2.0**53}
        big = {c: pa.int64() for c in exact if int(c) not in dated}
        if big:  # clocks in ns: read their digits again as integers
            kinds |= big
            found = read()
    except pa.ArrowException:
        return None
    return [found[str(c)] for c in wanted] if len(found) == len(kinds) else None


def _dated(request: Request, wanted: list[int]) -> set[int]:
    """Return which of the wanted columns are of dates."""
    return {c for c, dated in zip(wanted, request.dates, strict=True) if dated}


def _plainly(block: bytes, request: Request, lines: int, width: int, wanted: list[int]) -> Chunk | None:
    """Return the same without Arrow, in ten times its time."""
    text = request.text
    rows = block.decode("utf-8", "replace").splitlines()
    mark = None if text.delimiter == " " else text.delimiter
    if request.dated or len(rows) != lines or {len(row.split(mark)) for row in rows} != {width}:
        return None
    if text.decimal != ".":
        rows = [row.replace(text.decimal, ".") for row in rows]
    given: dict[str, Any] = {"delimiter": mark, "comments": None, "ndmin": 2}
    try:
        found = list(np.loadtxt(rows, usecols=wanted, unpack=True, **given))
        for k, values in enumerate(found):
            if np.abs(values).max() > 2.0**53:  # clocks in ns: read their digits again as integers
                found[k] = np.loadtxt(rows, usecols=[wanted[k]], dtype=np.int64, unpack=True, **given)[0]
    except (ValueError, OverflowError):
        return None
    return found


def _first_line(stream: BinaryIO, request: Request, line: int) -> bytes:
    found = stream.readline(LINE)
    if b"\r" in found.rstrip(b"\r\n"):
        raise request.error("its lines end with CR alone", "Save it with line ends LF or CR LF", line)
    if len(found) == LINE:
        raise request.error(f"the line has more than {LINE:,} bytes", "Is it a text file?", line)
    return found


def _place(request: Request, array: str | None, column: Column | None, header: list[str] | None, width: int) -> int:
    if array is not None or column is None:
        raise request.error(f"is a text file and has no array '{array}'", "Remove array, give columns = [...]")
    if not isinstance(column, str):
        return request.place(column, width)
    if header is None:
        fix = "Set header = true in [text], or use column numbers"
        raise request.error(f"column '{column}' is asked for by name", fix)
    if header.count(column) != 1:
        what = "twice" if column in header else f"not there{nearest(column, header)}"
        raise request.error(f"column '{column}' is {what}", f"It has: {', '.join(header[:40])}")
    return header.index(column)


def _line_by_line(
    block: list[bytes],
    rest: Iterator[bytes],
    request: Request,
    line: int,
    width: int,
    wanted: list[int],
    no_rows: set[bytes],
) -> Chunk:
    """Return the columns of lines that are more than numbers; blank ones at the end of the file are dropped.

    no_rows: lines that are none, as those that begin with #: their numbers are missing, so that rows stay lines.

    Raises LogError, with the line, for a blank one between rows, another number of columns, and text.
    """
    filled = [i for i, row in enumerate(block) if row.strip()]
    end = filled[-1] + 1 if filled else 0
    if len(filled) < end or (end < len(block) and any(row.strip() for row in rest)):
        blank = next(i for i, row in enumerate(block) if not row.strip())
        raise request.error("the line is empty", "Remove it, or put the lost row back", line + blank)
    values: list[list[Any]] = [[] for _ in wanted]
    dated, aside = _dated(request, wanted), 0
    for at, row in enumerate(block[:end], start=line):
        if row.lstrip().startswith(b"#") or row.strip() in no_rows:
            fields, aside = [""] * width, aside + 1
        else:
            fields = _fields(row, request, at)
        if len(fields) != width:
            problem = f"has {plural(len(fields), 'column')}, the lines before have {width}"
            raise request.error(problem, "Repair the line, or end rows = [first, last] before it", at)
        for column, c in zip(values, wanted, strict=True):
            found = _date(fields[c]) if c in dated else _number(fields[c].strip().replace(request.text.decimal, "."))
            if found is None:
                hint = "Set header = true in [text]" if at == line and not request.text.header else "Repair the line"
                what = "a date and time such as 2026-03-04T10:11:12.005" if c in dated else "a number"
                raise request.error(f"column {c + 1} is '{fields[c].strip()[:40]}', wanted {what}", hint, at)
            column.append(found)
    _tell_aside(aside, request.notes)
    return [_array(column, request, line) for column in values]


def _tell_aside(count: int, notes: list[str]) -> None:
    """Add lines that are no rows to the note of those before, which there is one of."""
    before = next((note for note in notes if note.endswith(_NO_ROWS)), "")
    if before:
        notes.remove(before)
    count += int(before.split()[0]) if before else 0
    notes += [f"{plural(count, 'line')} {_NO_ROWS}"] if count else []


def _date(text: str) -> str | None:
    """Return a time stamp, "" for a word that says there is none, None for what is none."""
    return text if is_date(text) else "" if np.isnan(_number(text.strip()) or 0.0) else None


def _array(column: list[Any], request: Request, line: int) -> np.ndarray:
    if any(isinstance(x, str) for x in column):
        if (found := nanoseconds(column)) is None:
            at = next(k for k, text in enumerate(column) if nanoseconds([text]) is None)
            raise request.error(f"there is no such date as '{column[at]}'", "Repair the line", line + at)
        return found
    return np.array(column, dtype=np.int64 if _counts(column) else np.float64)


def _number(text: str) -> float | None:
    """Return the number that a text is, NaN for a word that says there is none, None for any other."""
    if text.lower() in MISSING:
        return np.nan
    try:
        return int(text) if re.fullmatch(r"[+-]?[0-9]{1,19}", text) else float(text) if "_" not in text else None
    except ValueError:
        return None


def _counts(column: list[float]) -> bool:
    """Return whether numbers are whole, and some too large for a float to keep their digits: clocks in ns."""
    return all(isinstance(x, int) for x in column) and 2**53 < max(map(abs, column), default=0) < 2**63


def _fields(row: bytes, request: Request, line: int) -> list[str]:
    """Return the fields of a line. Raises LogError where it is no text, or cannot be split."""
    try:
        text, encoding = decoded(row)
    except UnicodeDecodeError:
        raise request.error("is not UTF-8 text", "Save it as UTF-8", line) from None
    if "\0" in text:
        raise request.error("is not a text file", line=line)
    if (told := note(encoding)) and told not in request.notes:
        request.notes.append(told)
    if request.text.delimiter == " ":
        return text.split()
    try:
        return next(csv.reader([text.rstrip("\r\n")], delimiter=request.text.delimiter), [""])
    except csv.Error as cause:
        raise request.error(f"cannot be split into columns ({cause})", line=line) from None


def read_parquet(request: Request) -> Iterator[dict[str, Chunk]]:
    """Yield the wanted columns of a Parquet file; see `formats.read_chunks`."""
    need("pyarrow")
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:  # without these two arguments it holds the whole file; where that is small, no page can claim to be larger
        streamed = BLOCK // 8 if request.path.stat().st_size > HELD else 0
        with pq.ParquetFile(request.path, pre_buffer=False, buffer_size=streamed) as source:
            wanted = _parquet_columns(request, source.schema_arrow)
            groups, before = _row_groups(request, source)
            names, size = list(dict.fromkeys(wanted)), min(request.chunk, 16384)
            batches = source.iter_batches(size, row_groups=groups, columns=names)
            each = [(c, None if a is None else k) for c, (a, k) in zip(wanted, request.columns, strict=True)]
            parts = ([_whole(request, c, b.column(c), place) for c, place in each] for b in batches)
            yield from request.named(rebatched(parts, request.chunk, request.first - before, request.last - before))
    except UnicodeDecodeError:
        raise request.error("has column names that are not UTF-8", "Save it with names in UTF-8") from None
    except (pa.ArrowException, OSError, MemoryError) as cause:
        raise request.error(f"cannot be read as Parquet ({type(cause).__name__})", DAMAGED) from None


def _row_groups(request: Request, source: Any) -> tuple[list[int], int]:
    """Return the groups of rows that hold wanted ones, and how many rows come before them."""
    stops = np.cumsum([source.metadata.row_group(k).num_rows for k in range(source.metadata.num_row_groups)])
    starts = np.concatenate([[0], stops[:-1]]) if len(stops) else stops
    groups = np.flatnonzero((stops >= request.first) & (starts < request.last)).tolist()
    return groups, int(starts[groups[0]]) if groups else 0


def _parquet_columns(request: Request, schema: Any) -> list[str]:
    """Return the names of the wanted columns, which hold numbers, or lists of numbers where an array is wanted."""
    import pyarrow as pa

    wanted = []
    for (array, reference), dated in zip(request.columns, request.dates, strict=True):
        column = reference if array is None else array
        if column is None or (array is not None and not isinstance(reference, int)):
            problem = (
                f"is a Parquet file, in which an array is a column of lists; '{array}' is asked for without numbers"
            )
            raise request.error(problem, "Give columns = [1, ...] beside array, or remove array")
        if isinstance(column, int):
            column = str(schema.names[request.place(column, len(schema.names))])
        if schema.names.count(column) != 1:
            problem = f"column '{column}' is not there{nearest(column, schema.names)}"
            raise request.error(problem, f"It has: {', '.join(schema.names[:40])}")
        kind = schema.field(column).type
        if array is not None and (kind := value_type(kind)) is None:
            raise request.error(f"column '{column}' holds no lists", "Remove array")
        dates = pa.types.is_timestamp(kind) or pa.types.is_string(kind) or pa.types.is_large_string(kind)
        number = pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind)
        if not (dates if dated else number):
            raise request.error(f"column '{column}' holds {kind}, wanted {'dates' if dated else 'numbers'}")
        wanted.append(column)
    return wanted


def value_type(kind: Any) -> Any:
    """Return the Arrow type of the elements of lists of one, None for what is no list."""
    import pyarrow as pa

    listed = pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
    return kind.value_type if listed else None


def _whole(request: Request, name: str, array: Any, place: Any = None) -> np.ndarray:
    """Return the numbers of a column; place: of its lists' elements those at that place, from 1 on."""
    if place is not None:
        import pyarrow.compute as pc

        sizes = pc.unique(pc.list_value_length(array).drop_null()).to_pylist()
        if len(sizes) > 1 or place > min(sizes, default=place):
            told = " and ".join(map(str, sorted(sizes)[:2]))
            raise request.error(f"column '{name}' holds lists of {told} numbers", "Columns count from 1, in all rows")
        array = pc.list_element(array, place - 1)
    if (found := _numbers(array)) is None:
        raise request.error(f"column '{name}' has text that is no date and time", "Correct it")
    return found


def _numbers(array: Any) -> np.ndarray | None:
    """Return the numbers of an Arrow array, of dates in ns since 1970, NaN where one is missing; None for other text.

    Without `to_numpy`, which takes half a second and 40 MB to import pandas.
    """
    kind = str(array.type)
    if "string" in kind:
        return nanoseconds([text or "" for text in array.to_pylist()])
    if kind.startswith("timestamp"):
        array = array.cast("timestamp[ns]").cast("int64")
    if array.null_count:
        array = array.cast("float64").fill_null(np.nan)
    return np.asarray(array.to_pylist()) if str(array.type) == "bool" else np.from_dlpack(array)


# ---- the text of bytes, whose encoding no file says -----------------------------------------------------------------


def opened(path: Path) -> BinaryIO:
    """Return a file of text to read as bytes; one in UTF-16, which its mark says, as if it were in UTF-8."""
    stream = path.open("rb")
    mark = stream.read(2)
    stream.seek(0)
    return codecs.EncodedFile(stream, "utf-8", "utf-16", errors="replace") if mark in _MARKS_16 else stream


def decoded(line: bytes) -> tuple[str, str]:
    """Return the text of a line, without a mark of UTF-8 before it, and its encoding: "utf-8", or else WESTERN.

    Raises UnicodeDecodeError for a line that is text in neither.
    """
    try:
        return line.removeprefix(MARK).decode("utf-8"), "utf-8"
    except UnicodeDecodeError:
        if line.startswith(_MARKS_16) or _NO_TEXT.search(line):
            raise
        return line.decode(WESTERN), WESTERN


def note(encoding: str) -> str:
    """Return what the user should know of a file with lines in an encoding, "" for nothing."""
    return "" if encoding == "utf-8" else "no UTF-8 text, and read as Windows-1252, as Excel writes it"
