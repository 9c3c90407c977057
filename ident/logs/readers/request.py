"""What is asked of a log file, and what its reader gives back."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ident.errors import LogError, plural
from ident.logs.manifest import Column, TextFormat

Reference = tuple[str | None, Column | None]  # array and column
Chunk = list[np.ndarray]  # one (rows,) array per column; integers stay integers, so that clocks in ns keep their digits
EVERYTHING = sys.maxsize
DAMAGED = "It is damaged, or of another kind than its ending says: save it again"


@dataclass(frozen=True)
class Request:
    """The columns that are wanted of a file, from row `first` to row `last` (1-based), `chunk` rows at a time.

    `name` is what messages call the file. `wanted`: for each signal its (array, column) references; the array only for
    NPZ, MAT and bags, column None for all columns of that array; a field of a MATLAB structure is the array "rec.q".
    `topic`: of a bag, "" for its only one of joint states. `notes`: what the user should know of how it was read.
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
