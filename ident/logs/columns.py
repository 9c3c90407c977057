"""Columns of numbers out of text, NPZ, MAT and Parquet files and bags, in chunks of rows; nothing is ever unpickled."""

from __future__ import annotations

import contextlib
import csv
import io
import itertools
import shutil
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ident.errors import LogError, nearest
from ident.logs import bag
from ident.logs.manifest import Column, TextFormat
from ident.logs.tables import plural

Window = tuple[int, int, int]  # first row, last row, rows per chunk
Reference = tuple[str | None, Column | None]  # array and column
Chunk = list[np.ndarray]  # one (rows,) array per column; integers stay integers, so that clocks in ns keep their digits
TEXT = (".csv", ".txt", ".dat", ".tsv")
EVERYTHING = sys.maxsize
LINE = 2**22  # bytes of the longest line of a text file
MOST = 2**31  # bytes that the wanted arrays of an NPZ or MAT file may need; these formats cannot be read in parts


DAMAGED = "It is damaged, or of another kind than its ending says: save it again"


def read_chunks(
    path: Path,
    name: str,
    wanted: Mapping[str, Sequence[Reference]],
    text: TextFormat,
    *,
    rows: tuple[int, int] | None = None,
    chunk: int = EVERYTHING,
    topic: str = "",
    notes: list[str] | None = None,
) -> Iterator[dict[str, Chunk]]:
    """Yield the wanted columns of a file, `chunk` rows at a time (the last one may be shorter).

    `wanted`: for each signal its (array, column) references; the array only for NPZ, MAT and bags, column None for all
    columns of that array; a field of a MATLAB structure is the array "rec.q". `rows`: first and last row, 1-based.
    `topic`: of a bag, "" for its only one of joint states. `name` is what messages call the file. What the user
    should know of how the file was read is added to `notes`.
    Raises LogError for a file of another kind, damaged or holding objects; a column that is not there; text where
    numbers are wanted; a line with another number of columns; fewer rows than `rows` asks for.
    """
    suffix = path.suffix.lower()
    window = (*(rows or (1, EVERYTHING)), chunk)
    flat = [reference for references in wanted.values() for reference in references]
    widths = [len(references) for references in wanted.values()]
    if suffix in (*TEXT, ".parquet", ".npz", ".mat", *bag.ENDINGS) and path.is_file() and path.stat().st_size == 0:
        raise LogError("is empty, not one byte long", file=name, fix="Record it again, or name another file")
    if topic and not bag.is_bag(path):
        raise LogError(f"is no bag and has no topic '{topic}'", file=name, fix="Remove topic")
    with contextlib.ExitStack() as stack:
        if bag.is_bag(path):
            parts = _rebatched(bag.read_columns(path, name, flat, topic), window)
        elif suffix in TEXT:
            parts = _text(path, name, flat, text, window)
        elif suffix == ".parquet":
            parts = _parquet(path, name, flat, window)
        elif suffix in (".npz", ".mat"):
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True)))
            arrays = (_npz if suffix == ".npz" else _mat)(path, name, flat, folder)
            arrays = _samples_as_rows(arrays, name, [] if notes is None else notes)
            picked = [_pick(arrays, name, references) for references in wanted.values()]
            widths = [len(p) for p in picked]
            parts = _slices(_same_length([c for p in picked for c in p], name), window)
        else:
            fix = "Use .csv, .txt, .npz, .mat or .parquet, or a bag (.bag, .db3, .mcap)"
            raise LogError(f"'{suffix}' files cannot be read", file=name, fix=fix)
        ends = list(itertools.accumulate(widths))
        got = 0
        for part in parts:
            got += len(part[0])
            yield {key: part[end - width : end] for key, end, width in zip(wanted, ends, widths, strict=True)}
    if rows and got < rows[1] - rows[0] + 1:
        raise LogError(
            f"ends before row {rows[1]}, the last of rows = [{rows[0]}, {rows[1]}]",
            file=name,
            fix="Correct the rows in the manifest",
        )
    if got == 0:
        raise LogError("has no rows", file=name, fix="Record it again, or name another file")


def line_of_first_row(path: Path, text: TextFormat) -> int | None:
    """Return the line of a text file on which row 1 stands; None for other files."""
    return text.skip_lines + text.header + 1 if path.suffix.lower() in TEXT else None


# Text -----------------------------------------------------------------------------------------------------------------


def _text(path: Path, name: str, columns: Sequence[Reference], text: TextFormat, window: Window) -> Iterator[Chunk]:
    first, last, chunk = window
    with path.open("rb") as stream:
        for skipped in range(text.skip_lines):
            _first_line(stream, name, skipped + 1)
        header = None
        line = text.skip_lines + text.header + 1
        if text.header:
            header = [c.strip() for c in _fields(_first_line(stream, name, line - 1), name, line - 1, text)]
        head = _first_line(stream, name, line)
        if not head.strip():
            return
        fields = _fields(head, name, line, text)
        width = len(header) if header else len(fields)
        if 1 in (width, len(fields)) and len(set(columns)) > 1:
            mark = next((m for m in ";\t,| " if m != text.decimal and m.encode() in head.strip()), None)
            raise LogError(
                f"has one value per line, {len(set(columns))} columns are wanted",
                file=name,
                line=line,
                fix="Write the values of a row on one line" if mark is None else f"Set delimiter = {mark!r} in [text]",
            )
        wanted = [_text_column(name, array, column, header, width) for array, column in columns]
        lines = itertools.islice(itertools.chain([head], stream), first - 1, None if last == EVERYTHING else last)
        line += first - 1
        while block := list(itertools.islice(lines, None if chunk == EVERYTHING else chunk)):
            block = _without_blank_end(block, lines, name, line)
            if not block:
                return
            _check_width(block, name, line, width, text)
            yield _parse(block, name, line, wanted, text)
            line += len(block)


def _first_line(stream: io.BufferedReader, name: str, line: int) -> bytes:
    found = stream.readline(LINE)
    if b"\r" in found.rstrip(b"\r\n"):
        raise LogError("its lines end with CR alone", file=name, line=line, fix="Save it with line ends LF or CR LF")
    if len(found) == LINE:
        raise LogError(f"the line has more than {LINE:,} bytes", file=name, line=line, fix="Is it a text file?")
    return found


def _text_column(name: str, array: str | None, column: Column | None, header: list[str] | None, width: int) -> int:
    if array is not None or column is None:
        raise LogError(
            f"is a text file and has no array '{array}'", file=name, fix="Remove array, give columns = [...]"
        )
    if isinstance(column, str):
        if header is None:
            raise LogError(
                f"column '{column}' is asked for by name",
                file=name,
                fix="Set header = true in [text], or use column numbers",
            )
        if header.count(column) != 1:
            what = "twice" if column in header else f"not there{nearest(column, header)}"
            raise LogError(f"column '{column}' is {what}", file=name, fix=f"It has: {', '.join(header[:40])}")
        return header.index(column)
    return _numbered(name, column, width)


def _numbered(name: str, column: int, width: int) -> int:
    if column > width:
        raise LogError(
            f"has {plural(width, 'column')}, column {column} is asked for",
            file=name,
            fix="Columns count from 1",
        )
    return column - 1


def _without_blank_end(block: list[bytes], rest: Iterator[bytes], name: str, line: int) -> list[bytes]:
    """Drop blank lines at the end of the file; a blank line between rows is an error."""
    filled = [i for i, row in enumerate(block) if row.strip()]
    end = filled[-1] + 1 if filled else 0
    if len(filled) < end or (end < len(block) and any(row.strip() for row in rest)):
        blank = next(i for i, row in enumerate(block) if not row.strip())
        raise LogError("the line is empty", file=name, line=line + blank, fix="Remove it, or put the lost row back")
    return block[:end]


def _check_width(block: list[bytes], name: str, line: int, width: int, text: TextFormat) -> None:
    mark = text.delimiter.encode()
    for i, row in enumerate(block):
        if b'"' in row:
            found = len(_fields(row, name, line + i, text))
        else:
            found = len(row.split()) if text.delimiter == " " else row.count(mark) + 1
        if found != width:
            raise LogError(
                f"has {plural(found, 'column')}, the lines before have {width}",
                file=name,
                line=line + i,
                fix="Repair the line, or end rows = [first, last] before it",
            )


def _parse(block: list[bytes], name: str, line: int, wanted: list[int], text: TextFormat) -> Chunk:
    import pandas as pd

    def read(dtype: Any) -> pd.DataFrame:
        return pd.read_csv(
            io.BytesIO(b"".join(block).removeprefix(b"\xef\xbb\xbf")),
            header=None,
            sep=r"\s+" if text.delimiter == " " else text.delimiter,
            decimal=text.decimal,
            usecols=sorted(set(wanted)),
            dtype=dtype,
            skip_blank_lines=False,
            index_col=False,
            encoding="utf-8",
        )

    try:
        try:
            frame = read(dict.fromkeys(wanted, np.float64))
        except ValueError:
            raise _text_found(block, name, line, wanted, text) from None
        largest = frame.abs().max(skipna=False)
        big = {c: np.int64 for c in wanted if 2.0**53 < largest[c] < 2.0**63}
        if big:  # clocks in ns: read their digits again as integers
            with contextlib.suppress(ValueError):  # they were not written as integers
                frame = read(dict.fromkeys(wanted, np.float64) | big)
    except (pd.errors.ParserError, UnicodeDecodeError, OverflowError) as cause:
        raise LogError(f"cannot be read as a table ({cause})", file=name, line=line) from None
    return [frame[c].to_numpy() for c in wanted]


def _text_found(block: list[bytes], name: str, line: int, wanted: list[int], text: TextFormat) -> LogError:
    for i, row in enumerate(block):
        fields = _fields(row, name, line + i, text)
        for c in wanted:
            field = fields[c].strip()
            try:
                float(field.replace(text.decimal, "."))
            except ValueError:
                if field.lower() not in ("", "na", "n/a", "nan", "null", "none"):
                    hint = "Set header = true in [text]" if i == 0 and not text.header else "Repair the line"
                    return LogError(
                        f"column {c + 1} is '{field[:40]}', wanted a number", file=name, line=line + i, fix=hint
                    )
    return LogError("holds something that is no number", file=name, line=line)


def _fields(row: bytes, name: str, line: int, text: TextFormat) -> list[str]:
    decoded = _decode(row, name, line)
    if text.delimiter == " ":
        return decoded.split()
    try:
        return next(csv.reader([decoded.rstrip("\r\n")], delimiter=text.delimiter), [""])
    except csv.Error as cause:
        raise LogError(f"cannot be split into columns ({cause})", file=name, line=line) from None


def _decode(row: bytes, name: str, line: int) -> str:
    try:
        decoded = row.removeprefix(b"\xef\xbb\xbf").decode("utf-8")
    except UnicodeDecodeError:
        raise LogError("is not UTF-8 text", file=name, line=line, fix="Save it as UTF-8") from None
    if "\0" in decoded:
        raise LogError("is not a text file", file=name, line=line)
    return decoded


# Arrays ---------------------------------------------------------------------------------------------------------------


def _npz(path: Path, name: str, columns: Sequence[Reference], folder: Path) -> dict[str, np.ndarray]:
    try:
        with zipfile.ZipFile(path) as archive:
            members = {m.filename.removesuffix(".npy"): m for m in archive.infolist()}
            names = _arrays(name, columns, list(members))
            if sum(members[a].file_size for a in names) > MOST:
                raise _too_large(name)
            for k, a in enumerate(names):
                with archive.open(members[a]) as packed, (folder / f"{k}.npy").open("wb") as unpacked:
                    shutil.copyfileobj(packed, unpacked, 1 << 20)
        return _mapped(folder, names)
    except ValueError as cause:
        if "pickle" in str(cause) or "Python objects" in str(cause):
            raise LogError(
                "holds Python objects, which are never loaded", file=name, fix="Save plain arrays of numbers"
            ) from None
        raise LogError(f"cannot be read as NPZ ({cause})", file=name, fix=DAMAGED) from None
    except (
        OSError,
        EOFError,
        zipfile.BadZipFile,
        zlib.error,
        MemoryError,
        RuntimeError,
    ) as cause:  # encrypted: Runtime
        raise LogError(f"cannot be read as NPZ ({type(cause).__name__})", file=name, fix=DAMAGED) from None


def _mapped(folder: Path, names: Sequence[str]) -> dict[str, np.ndarray]:
    """Return the arrays of 0.npy, 1.npy ... by name, left on the disk, so that memory stays flat."""
    return {a: np.load(folder / f"{k}.npy", mmap_mode="r", allow_pickle=False) for k, a in enumerate(names)}


def _too_large(name: str) -> LogError:
    return LogError(
        f"its arrays need more than {MOST / 2**30:.0f} GB of memory",
        file=name,
        fix="Save them as Parquet, which is read in parts, or in several files",
    )


# scipy's reader is compiled code that damaged files can bring down with the whole process: it has one of its own, with
# a bound on its memory where the system has such bounds. It saves the arrays, or prints the names that there are.
_READER = """
import sys, json, warnings
warnings.simplefilter("ignore")
import numpy, scipy.io
try:
    import resource
    resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[1]), int(sys.argv[1])))
except (ImportError, ValueError, OSError):
    pass
path, folder, *names = sys.argv[2:]
def arrays(found, before=""):
    for name, value in found.items():
        if name is None or name.startswith("__") or not hasattr(value, "dtype"):
            continue
        if value.dtype.names and value.size == 1 and value.dtype[0] == object:
            yield from arrays({f: value[f].item() for f in value.dtype.names}, before + name + ".")
        else:
            yield before + name, value
try:
    found = dict(arrays(scipy.io.loadmat(path, variable_names=[n.split(".")[0] for n in names])))
    if set(names) - set(found):
        print(json.dumps([n for n, _ in arrays(scipy.io.loadmat(path))]))
    else:
        found = [numpy.asarray(found[n]) for n in names]
        if any(a.dtype.hasobject for a in found):
            sys.exit("Objects")
        for k, a in enumerate(found):
            numpy.save(f"{folder}/{k}.npy", a)
except Exception as cause:
    sys.exit(type(cause).__name__)
"""


def _mat(path: Path, name: str, columns: Sequence[Reference], folder: Path) -> dict[str, np.ndarray]:
    import json
    import subprocess

    names = _wanted_arrays(name, columns)
    command = [sys.executable, "-I", "-c", _READER, str(MOST), str(path), str(folder), *names]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    why = done.stderr.strip().splitlines()[-1] if done.stderr.strip() else f"exit {done.returncode}"
    if done.returncode == 0:
        if done.stdout:
            _arrays(name, columns, json.loads(done.stdout))
        return _mapped(folder, names)
    if why == "NotImplementedError":
        raise LogError("is a MAT file of version 7.3", file=name, fix="Save it with save(..., '-v7')")
    if why == "Objects":
        raise LogError("holds structures or cells where numbers are wanted", file=name, fix="Save plain arrays")
    if why.endswith("MemoryError"):
        raise _too_large(name)
    raise LogError(f"cannot be read as MAT ({why})", file=name, fix=DAMAGED)


def _arrays(name: str, columns: Sequence[Reference], there: Sequence[str]) -> list[str]:
    wanted = _wanted_arrays(name, columns)
    for array in wanted:
        if array not in there:
            raise LogError(
                f"there is no array '{array}'{nearest(array, there)}",
                file=name,
                fix=f"It has: {', '.join(list(there)[:40])}",
            )
    return wanted


def _wanted_arrays(name: str, columns: Sequence[Reference]) -> list[str]:
    return list(dict.fromkeys(_array_of(name, array, column) for array, column in columns))


def _array_of(name: str, array: str | None, column: Column | None) -> str:
    if array is not None:
        return array
    if isinstance(column, str):
        return column
    raise LogError(f"column {column} of which array?", file=name, fix="Give array = '...' beside the column numbers")


def _samples_as_rows(arrays: dict[str, np.ndarray], name: str, notes: list[str]) -> dict[str, np.ndarray]:
    """Return the arrays as (samples, columns). As many samples as the longest vector has, or else the longest side."""
    for key, table in arrays.items():
        if table.ndim not in (1, 2):
            raise LogError(f"array '{key}' has shape {table.shape}, wanted rows and columns", file=name)
    vectors = [a.size for a in arrays.values() if a.size == max(a.shape)]
    samples = max(vectors or [max(a.shape) for a in arrays.values()])
    upright = {}
    for key, table in arrays.items():
        lies = table.ndim == 2 and table.shape[1] == samples != table.shape[0]
        if lies and table.shape[0] > 1:
            notes.append(f"array '{key}' has its {samples} samples along the columns and was transposed")
        upright[key] = table[:, None] if table.ndim == 1 else table.T if lies else table
    return upright


def _pick(arrays: dict[str, np.ndarray], name: str, columns: Sequence[Reference]) -> Chunk:
    picked: Chunk = []
    for array, column in columns:
        key = _array_of(name, array, column)
        table = arrays[key]
        if table.dtype.kind not in "fiub":
            raise LogError(f"array '{key}' holds {table.dtype}, wanted real numbers", file=name)
        if array is not None and isinstance(column, str):
            raise LogError(
                f"columns of array '{key}' have no names", file=name, fix="Use column numbers, which count from 1"
            )
        if array is None or column is None:
            if array is None and table.shape[1] != 1:
                raise LogError(
                    f"array '{key}' has {table.shape[1]} columns, wanted one",
                    file=name,
                    fix=f"Give array = '{key}' with columns = [...]",
                )
            picked.extend(table.T)
        else:
            assert isinstance(column, int)
            picked.append(table[:, _numbered(name, column, table.shape[1])])
    return picked


def _same_length(columns: Chunk, name: str) -> Chunk:
    lengths = sorted({len(c) for c in columns})
    if len(lengths) > 1:
        raise LogError(f"its arrays have {' and '.join(map(str, lengths))} rows", file=name)
    return columns


def _slices(columns: Chunk, window: Window) -> Iterator[Chunk]:
    first, last, chunk = window
    stop = min(last, len(columns[0]))
    for start in range(first - 1, stop, chunk):
        yield [c[start : min(start + chunk, stop)] for c in columns]


# Parquet --------------------------------------------------------------------------------------------------------------


def _parquet(path: Path, name: str, columns: Sequence[Reference], window: Window) -> Iterator[Chunk]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path, pre_buffer=False, buffer_size=1 << 20) as source:  # else it holds the whole file
            schema = source.schema_arrow
            wanted = []
            for array, reference in columns:
                if array is not None or reference is None:
                    raise LogError(f"is a Parquet file and has no array '{array}'", file=name, fix="Remove array")
                if isinstance(reference, int):
                    column = str(schema.names[_numbered(name, reference, len(schema.names))])
                else:
                    column = reference
                if schema.names.count(column) != 1:
                    raise LogError(
                        f"column '{column}' is not there{nearest(column, schema.names)}",
                        file=name,
                        fix=f"It has: {', '.join(schema.names[:40])}",
                    )
                kind = schema.field(column).type
                if not (pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind)):
                    raise LogError(f"column '{column}' holds {kind}, wanted numbers", file=name)
                wanted.append(column)
            batches = source.iter_batches(batch_size=min(window[2], 65536), columns=list(dict.fromkeys(wanted)))
            yield from _rebatched(([_numpy(b, c) for c in wanted] for b in batches), window)
    except UnicodeDecodeError:
        raise LogError("has column names that are not UTF-8", file=name, fix="Save it with names in UTF-8") from None
    except (pa.ArrowException, OSError, MemoryError) as cause:
        raise LogError(f"cannot be read as Parquet ({type(cause).__name__})", file=name, fix=DAMAGED) from None


def _numpy(batch: Any, column: str) -> np.ndarray:
    values = batch.column(column)
    if values.null_count:
        values = values.cast("float64")  # missing values become NaN and are reported
    return np.asarray(values.to_numpy(zero_copy_only=False))


def _rebatched(parts: Iterator[Chunk], window: Window) -> Iterator[Chunk]:
    """Cut batches of any size into chunks of equal size within a window of rows."""
    first, last, chunk = window
    held: list[Chunk] = []
    size, row = 0, 1  # rows held, and the row at which the next batch begins
    for part in parts:
        at, stop = max(0, first - row), min(len(part[0]), last - row + 1)
        row += len(part[0])
        while at < stop:
            take = min(stop - at, chunk - size)
            held.append([c[at : at + take] for c in part])
            at, size = at + take, size + take
            if size == chunk:
                yield [np.concatenate(c) for c in zip(*held, strict=True)]
                held, size = [], 0
        if row > last:
            break
    if held:
        yield [np.concatenate(c) for c in zip(*held, strict=True)]
