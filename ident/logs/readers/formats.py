"""What is asked of a log file, where it is (under the data set's folder, or fetched once from its public address), and
every format of those that can be read: one registry, from which endings and errors are made; and the time of rows in
seconds, from one column or from several of one clock (seconds and nanoseconds).

A new format is one file with a function that yields the columns of a `Request`, and one entry of FORMATS.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from math import isfinite
from pathlib import Path

import numpy as np

from ident.errors import LogError, need, plural
from ident.files import file_sha256
from ident.logs.manifest import DATES, Column, Manifest, Signal, TextFormat, si_factor

Reference = tuple[str | None, Column | None]  # array and column
Chunk = list[np.ndarray]  # one (rows,) array per column; integers stay integers, so that clocks in ns keep their digits
EVERYTHING = sys.maxsize
DAMAGED = "It is damaged, or of another kind than its ending says: save it again"


@dataclass(frozen=True)
class Request:
    """The columns that are wanted of a file, from row `first` to row `last` (1-based), `chunk` rows at a time.

    `name` is what messages call the file. `wanted`: for each signal its (array, column) references; the array only for
    NPZ, MAT, HDF5, bags and lists in Parquet, column None for all columns of that array; a field of a MATLAB structure
    is the array "rec.q", and so is a data set of an HDF5 group.
    `topic`: of a bag, "" for its only one of joint states. `notes`: what the user should know of how it was read.
    `dated`: signals whose columns are dates as text, wanted in ns since 1970.
    """

    path: Path
    name: str
    wanted: Mapping[str, Sequence[Reference]]
    text: TextFormat = field(default_factory=TextFormat)
    first: int = 1
    last: int = EVERYTHING
    chunk: int = EVERYTHING
    topic: str = ""
    notes: list[str] = field(default_factory=list)
    dated: frozenset[str] = frozenset()

    @property
    def dates(self) -> list[bool]:
        """Of each reference whether its column is of dates."""
        return [signal in self.dated for signal, references in self.wanted.items() for _ in references]

    @property
    def columns(self) -> list[Reference]:
        """All references, one after the other."""
        return [reference for references in self.wanted.values() for reference in references]

    def error(self, problem: str, fix: str | None = None, line: int | None = None) -> LogError:
        """Return the error that names the file."""
        return LogError(problem, file=self.name, line=line, fix=fix)

    def place(self, column: int, width: int) -> int:
        """Return the place from 0 on of a column numbered from 1 on. Raises LogError when there are fewer."""
        if column > width:
            raise self.error(f"has {plural(width, 'column')}, column {column} is asked for", "Columns count from 1")
        return column - 1

    def named(self, parts: Iterator[Chunk]) -> Iterator[dict[str, Chunk]]:
        """Yield by signal the columns that come one after the other."""
        for part in parts:
            columns = iter(part)
            yield {signal: [next(columns) for _ in references] for signal, references in self.wanted.items()}

    def rebatched(self, parts: Iterable[Chunk]) -> Iterator[Chunk]:
        """Yield batches of any size as chunks of equal size within the wanted rows."""
        return rebatched(parts, self.chunk, self.first, self.last)


def rebatched(parts: Iterable[Chunk], size: int, first: int = 1, last: int = EVERYTHING) -> Iterator[Chunk]:
    """Yield batches of any size as chunks of `size` rows (the last one shorter), of rows first..last from 1 on."""
    held: list[Chunk] = []
    rows, row = 0, 1  # rows held, and the row at which the next batch begins
    for part in parts:
        at, stop = max(0, first - row), min(len(part[0]), last - row + 1)
        row += len(part[0])
        while at < stop:
            take = min(stop - at, size - rows)
            held.append([c[at : at + take] for c in part])
            at, rows = at + take, rows + take
            if rows == size:
                yield [np.concatenate(c) for c in zip(*held, strict=True)]
                held, rows = [], 0
        if row > last:
            break
    if held:
        yield [np.concatenate(c) for c in zip(*held, strict=True)]


@dataclass(frozen=True)
class Format:
    """A format: the endings of its files, and the function that yields the columns that are wanted.

    `folder`: a file by which a folder of this format is known. `messages`: rows are the messages of a topic, columns
    have the joints' own names. `lines`: rows are lines of text. `anywhere`: rows are read without
    those before them.
    """

    endings: tuple[str, ...]
    read: Callable[[Request], Iterator[dict[str, Chunk]]]
    folder: str = ""
    messages: bool = False
    lines: bool = False
    anywhere: bool = False


def _later(file: str, function: str) -> Callable[[Request], Iterator[dict[str, Chunk]]]:
    """Return a reader of this folder; its file is imported when it is first used."""

    def read(request: Request) -> Iterator[dict[str, Chunk]]:
        yield from getattr(import_module(f"ident.logs.readers.{file}"), function)(request)

    return read


FORMATS = (
    Format((".bag", ".db3", ".mcap"), _later("bag", "read_bag"), folder="metadata.yaml", messages=True),
    Format((".csv", ".txt", ".dat", ".tsv"), _later("read_tables", "read_text"), lines=True),
    Format((".npz", ".mat", ".h5", ".hdf5"), _later("read_arrays", "read_arrays")),
    Format((".parquet",), _later("read_tables", "read_parquet"), anywhere=True),
)


def format_of(path: Path) -> Format | None:
    """Return the format of a file or folder, by its ending or by what the folder holds; None for an unknown one."""
    suffix = path.suffix.lower()
    known = (f for f in FORMATS if suffix in f.endings or (f.folder and (path / f.folder).is_file()))
    return next(known, None)


def endings() -> str:
    """Return the endings of the files that can be read, as messages list them."""
    return ", ".join(ending for f in FORMATS for ending in f.endings)


def is_bag(path: Path) -> bool:
    """Return whether the path is that of a file or folder of messages."""
    found = format_of(path)
    return found is not None and found.messages


def read_chunks(request: Request) -> Iterator[dict[str, Chunk]]:
    """Yield the wanted columns of a file, `chunk` rows at a time (the last one may be shorter).

    Raises LogError for a file of another kind, damaged or holding objects; a column that is not there; text where
    numbers are wanted; a line with another number of columns; fewer rows than were asked for.
    """
    path, found = request.path, format_of(request.path)
    if found is not None and path.is_file() and path.stat().st_size == 0:
        raise request.error("is empty, not one byte long", "Record it again, or name another file")
    if request.topic and not (found and found.messages):
        raise request.error(f"is no bag and has no topic '{request.topic}'", "Remove topic")
    if found is None:
        raise request.error(
            f"'{path.suffix.lower()}' files cannot be read", f"Use one of: {endings()}; a spreadsheet saves .csv"
        )
    if request.dated and not (found.lines or found.anywhere):
        raise request.error("has no dates as text", "Give time the unit of its numbers")
    got, parts = 0, found.read(request)
    if request.dated:
        parts = past_midnight(parts, request.dated)
    for part in parts:
        got += len(next(columns for columns in part.values() if columns)[0])
        yield part
    if request.last != EVERYTHING and got < request.last - request.first + 1:
        problem = f"ends before row {request.last}, the last of rows = [{request.first}, {request.last}]"
        raise request.error(problem, "Correct the rows in the manifest")
    if got == 0:
        raise request.error("has no rows", "Record it again, or name another file")


def line_of_first_row(path: Path, text: TextFormat) -> int | None:
    """Return the line of a text file on which row 1 stands; None for other files."""
    found = format_of(path)
    return text.skip_lines + text.header + 1 if found and found.lines else None


VARIABLE = "IDENT_DATA"


def locate(manifest: Manifest, file: str) -> Path:
    """Return the path of `file`, a name relative to the data set's folder.

    When the folder begins with $IDENT_DATA and that is not set, a file with a [[remote]] is fetched over https, its
    SHA-256 checked, and kept in the user's cache; so is what an address names (`remote.fetched`).
    Raises LogError when the file is missing, lies outside the folder (by a link, say), or is not the one whose SHA-256
    the manifest gives.
    """
    if "://" in file:
        from ident.logs.readers.remote import fetched

        return fetched(file, manifest.file)
    remotes = {r.file: r for r in manifest.remotes}
    inside, data = manifest.folder.removeprefix(f"${VARIABLE}"), os.environ.get(VARIABLE)
    public = inside != manifest.folder
    if public and not data:
        if file not in remotes:
            problem = f"'{file}' has no [[remote]] address and ${VARIABLE} is not set"
            fix = f"Set the environment variable {VARIABLE} to the folder that holds {manifest.name}'s folder"
            raise LogError(problem, file=manifest.file, fix=fix)
        return _fetch(manifest.name, file, remotes[file].url, remotes[file].sha256, manifest.file)
    folder = Path(data) / inside.lstrip("/") if public and data else manifest.file.parent / manifest.folder
    root, path = folder.resolve(), (folder / file).resolve()
    if not path.is_relative_to(root):
        raise LogError(f"'{file}' lies outside the data folder", file=manifest.file, fix="Put the file itself there")
    if path.is_dir() and format_of(path):
        if not all(p.resolve().is_relative_to(root) for p in path.iterdir()):
            raise LogError(f"'{file}' links to outside the data folder", file=manifest.file, fix="Put the files there")
        return path
    if not path.is_file():
        hint = f", or unset {VARIABLE} to have it fetched" if file in remotes and VARIABLE in manifest.folder else ""
        raise LogError(f"there is no file '{file}' in the data folder", file=manifest.file, fix=f"Put it there{hint}")
    if file in remotes and file_sha256(path) != remotes[file].sha256:
        problem = f"'{file}' is not the published file: its SHA-256 differs from [[remote]]"
        fix = "Take the published file, or remove its [[remote]] table if yours is meant"
        raise LogError(problem, file=manifest.file, fix=fix)
    return path


def _fetch(name: str, file: str, url: str, sha256: str, manifest: Path) -> Path:
    need("pooch")
    import pooch

    pooch.get_logger().setLevel("ERROR")  # what goes wrong is raised below
    folder = Path(pooch.os_cache("robot-ident")) / name / Path(file).parent
    try:
        return Path(pooch.retrieve(url, f"sha256:{sha256}", fname=Path(file).name, path=folder))
    except ValueError:
        raise LogError(f"'{file}' fetched from {url} has another SHA-256 than [[remote]] says", file=manifest) from None
    except OSError as cause:  # network errors of requests are OSError
        problem = f"'{file}' could not be fetched from {url} ({type(cause).__name__})"
        fix = f"Try again later, or set the environment variable {VARIABLE} to a folder that holds it"
        raise LogError(problem, file=manifest, fix=fix) from None


#: ns of a day.
_DAY = 86_400_000_000_000
_STAMP = re.compile(
    r"(?:(\d{4})[-/](\d\d)[-/](\d\d)[T ]|(\d\d?)\.(\d\d?)\.(\d{4})[T ])?(\d\d:\d\d:\d\d)(?:[.,](\d{1,9})\d*)?"
    r" ?(Z|[+-]\d\d:?\d\d)?"
)


def is_date(text: str) -> bool:
    """Return whether a text is a time stamp."""
    return _STAMP.fullmatch(text.strip()) is not None


def nanoseconds(texts: Sequence[str]) -> np.ndarray | None:
    """Return time stamps (rows,) in ns since 1970, UTC where they say no zone; None where one of them is none.

    Clock times without a date are of 1970-01-01. Whole numbers; where texts say that a number is missing, with NaN.
    """
    import pandas as pd  # half a second, for these files alone

    found = [_iso(text.strip()) for text in texts]
    if any(iso is None for iso in found):
        return None
    try:
        stamps = pd.to_datetime(pd.Series(found, dtype=object), format="ISO8601", utc=True)
        whole = stamps.dt.as_unit("ns").to_numpy(dtype="datetime64[ns]").astype(np.int64)
    except ValueError:  # a month 13, or a year that ns do not reach
        return None
    missing = stamps.isna().to_numpy()
    return np.where(missing, np.nan, whole) if missing.any() else whole


def _iso(text: str) -> str | None:
    """Return a time stamp by ISO 8601, "" for one that is missing, None for what is none."""
    parts = _STAMP.fullmatch(text)
    if parts is None:
        return None if text else ""
    year, month, day, own_day, own_month, own_year, clock, rest, zone = parts.groups()
    date = f"{year or own_year or 1970}-{month or own_month or '01':0>2}-{day or own_day or '01':0>2}"
    return f"{date}T{clock}.{rest or 0}{zone or 'Z'}"


def past_midnight(parts: Iterable[dict[str, Chunk]], dated: frozenset[str]) -> Iterator[dict[str, Chunk]]:
    """Yield parts of a file, in whose `dated` signals clock times without a date count on after midnight."""
    days, last = 0, np.nan
    for part in parts:
        for key in dated & part.keys():
            (stamps,) = part[key]
            if np.nanmin(stamps, initial=_DAY) >= 0 and np.nanmax(stamps, initial=0) < _DAY:
                held = np.concatenate([[last], stamps])
                there = np.isfinite(held)
                since = np.maximum.accumulate(np.where(there, np.arange(len(held)), 0))
                added = days + np.cumsum(np.diff(held[since], prepend=np.nan) < -_DAY / 2)[1:]
                part[key] = [stamps + added * _DAY]
                days, last = int(added[-1]), float(held[since[-1]])
        yield part


def first_stamp(columns: Chunk) -> tuple[int | float, ...]:
    """Return the clock's first row as the file has it; 0 where no number is there."""
    found: list[int | float] = [c[0].item() for c in columns]
    return tuple(x if isfinite(x) else 0 for x in found)


def seconds(columns: Chunk, time: Signal, first: tuple[int | float, ...]) -> tuple[float, np.ndarray]:
    """Return a recording's first stamp in seconds, and the seconds of rows since then.

    It is subtracted before the clock becomes a float: ns need 61 bits.
    """
    start, since = 0.0, np.zeros(len(columns[0]))
    for column, unit, begun in zip(columns, time.units(), first, strict=True):
        small = column.dtype.kind in "biu" and column.itemsize < 8  # differences of small integers may not fit them
        size, whole = si_factor(unit, "time"), column.astype(np.int64) if small else column
        with np.errstate(all="ignore"):  # what is not finite is refused with its rows, by Log
            start, since = start + begun * size, since + (whole - begun) * size
    if DATES in time.units() and since[0] < 0:
        since += _DAY * 1e-9  # a part after midnight, of clock times alone
    return start, since
