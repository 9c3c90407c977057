"""Columns of numbers out of Parquet files, in parts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ident.errors import nearest
from ident.logs.readers.request import DAMAGED, Chunk, Request, numbers


def read_parquet(request: Request) -> Iterator[dict[str, Chunk]]:
    """Yield the wanted columns of a Parquet file; see `formats.read_chunks`."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:  # without these two arguments it holds the whole file
        with pq.ParquetFile(request.path, pre_buffer=False, buffer_size=1 << 20) as source:
            wanted = _wanted(request, source.schema_arrow)
            batches = source.iter_batches(batch_size=min(request.chunk, 16384), columns=list(dict.fromkeys(wanted)))
            yield from request.named(request.rebatched([_numpy(b, c) for c in wanted] for b in batches))
    except UnicodeDecodeError:
        raise request.error("has column names that are not UTF-8", "Save it with names in UTF-8") from None
    except (pa.ArrowException, OSError, MemoryError) as cause:
        raise request.error(f"cannot be read as Parquet ({type(cause).__name__})", DAMAGED) from None


def _wanted(request: Request, schema: Any) -> list[str]:
    """Return the names of the wanted columns, which hold numbers."""
    import pyarrow as pa

    wanted = []
    for array, reference in request.columns:
        if array is not None or reference is None:
            raise request.error(f"is a Parquet file and has no array '{array}'", "Remove array")
        column = reference
        if isinstance(column, int):
            column = str(schema.names[request.place(column, len(schema.names))])
        if schema.names.count(column) != 1:
            problem = f"column '{column}' is not there{nearest(column, schema.names)}"
            raise request.error(problem, f"It has: {', '.join(schema.names[:40])}")
        kind = schema.field(column).type
        if not (pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind)):
            raise request.error(f"column '{column}' holds {kind}, wanted numbers")
        wanted.append(column)
    return wanted


def _numpy(batch: Any, column: str) -> np.ndarray:
    values = batch.column(column)
    if values.null_count:  # missing values become NaN and are reported
        return np.array(values.cast("float64").to_pylist(), dtype=np.float64)
    return numbers(values)
