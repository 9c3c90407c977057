"""Columns of numbers out of the arrays of NPZ, MAT and HDF5 files; nothing is ever unpickled."""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ident.errors import LogError, need, require_known
from ident.logs.readers.formats import DAMAGED, Chunk, Reference, Request

MOST = 2**31  # bytes that the wanted arrays of a file may need; these formats cannot be read in parts
DEEPEST = 8  # groups within groups of an HDF5 file that are looked into
Arrays = dict[str, np.ndarray]


def read_arrays(request: Request) -> Iterator[dict[str, Chunk]]:
    """Yield the wanted columns of an NPZ, MAT or HDF5 file; see `formats.read_chunks`.

    Arrays are unpacked as 0.npy, 1.npy ..., where they stay, so that memory is flat.
    """
    ending = request.path.suffix.lower()
    unpack = _npz if ending == ".npz" else _mat if ending == ".mat" and not _is_hdf5(request.path) else _hdf5
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        unpack(request, Path(folder))
        saved = enumerate(_names(request))
        arrays = {a: np.load(f"{folder}/{k}.npy", mmap_mode="r", allow_pickle=False) for k, a in saved}
        arrays = _samples_as_rows(request, arrays)
        columns = {signal: _picked(request, arrays, references) for signal, references in request.wanted.items()}
        lengths = sorted({len(c) for picked in columns.values() for c in picked})
        if len(lengths) > 1:
            raise request.error(f"its arrays have {' and '.join(map(str, lengths))} rows")
        stop = min(request.last, lengths[0])
        for start in range(request.first - 1, stop, request.chunk):
            rows = slice(start, min(start + request.chunk, stop))
            yield {signal: [c[rows] for c in picked] for signal, picked in columns.items()}


def _npz(request: Request, folder: Path) -> None:
    try:
        with zipfile.ZipFile(request.path) as archive:
            members = {m.filename.removesuffix(".npy"): m for m in archive.infolist()}
            _require(request, list(members))
            if sum(members[a].file_size for a in _names(request)) > MOST:
                raise _too_large(request)
            for k, a in enumerate(_names(request)):
                with archive.open(members[a]) as packed, (folder / f"{k}.npy").open("wb") as unpacked:
                    shutil.copyfileobj(packed, unpacked, 1 << 20)
                np.load(folder / f"{k}.npy", mmap_mode="r", allow_pickle=False)  # refuses what is damaged, or objects
    except ValueError as cause:
        if "pickle" in str(cause) or "Python objects" in str(cause):
            problem = "holds Python objects, which are never loaded"
            raise request.error(problem, "Save plain arrays of numbers") from None
        raise request.error(f"cannot be read as NPZ ({cause})", DAMAGED) from None
    except (OSError, EOFError, zipfile.BadZipFile, zlib.error, MemoryError, RuntimeError) as cause:  # or encrypted
        raise request.error(f"cannot be read as NPZ ({type(cause).__name__})", DAMAGED) from None


# scipy's reader is compiled code that damaged files can bring down with the whole process: it has one of its own, with
# a bound on its memory where the system has such bounds. It saves the arrays, or prints the names that there are.
_READER = """
import sys, json, math, warnings
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
        if name.startswith("__") or not hasattr(value, "dtype") or isinstance(value, scipy.io.matlab.MatlabOpaque):
            continue
        if value.dtype.names and value.size == 1 and value.dtype[0] == object:
            yield from arrays({f: value[f].item() for f in value.dtype.names}, before + name + ".")
        else:
            yield before + name, value
def claimed(path, wanted):
    try:
        return sum(8 * math.prod(shape) for name, shape, _ in scipy.io.whosmat(path) if name in wanted)
    except TypeError:  # objects, to scipy, have no shape
        return 0
try:
    if not names:
        there = {n: v.shape for n, v in arrays(scipy.io.loadmat(path)) if v.dtype.kind in "fiub" and v.ndim == 2}
        print(json.dumps(there))
        sys.exit()
    wanted = [n.split(".")[0] for n in names]
    if claimed(path, wanted) > int(sys.argv[1]):
        raise MemoryError
    found = dict(arrays(scipy.io.loadmat(path, variable_names=wanted)))
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


def shapes(request: Request) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the arrays of numbers, of one or two dimensions, of a file, by their names."""
    if request.path.suffix.lower() in {".h5", ".hdf5"} or _is_hdf5(request.path):
        with _datasets(request) as there:
            return {name: a.shape for name, a in there.items() if a.dtype.kind in "fiub" and a.ndim in (1, 2)}
    if request.path.suffix.lower() == ".mat":
        return {name: tuple(shape) for name, shape in json.loads(_scipy(request, Path())).items()}
    found = {}
    try:
        with zipfile.ZipFile(request.path) as archive:
            for member in archive.infolist():
                with archive.open(member) as packed, contextlib.suppress(ValueError):  # what is no array of numbers
                    read = np.lib.format.read_array_header_1_0
                    if np.lib.format.read_magic(packed) != (1, 0):
                        read = np.lib.format.read_array_header_2_0
                    shape, _, kind = read(packed)
                    if kind.kind in "fiub" and len(shape) in (1, 2):
                        found[member.filename.removesuffix(".npy")] = shape
    except (OSError, EOFError, zipfile.BadZipFile, zlib.error, RuntimeError) as cause:
        raise request.error(f"cannot be read as NPZ ({type(cause).__name__})", DAMAGED) from None
    return found


def _mat(request: Request, folder: Path) -> None:
    there = _scipy(request, folder)
    if there:
        _require(request, json.loads(there))


def _scipy(request: Request, folder: Path) -> str:
    """Return what the reader of MAT files prints, of the arrays that are wanted; where none is, of all."""
    command = [sys.executable, "-I", "-c", _READER, str(MOST), str(request.path), str(folder), *_names(request)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    why = done.stderr.strip().splitlines()[-1] if done.stderr.strip() else f"exit {done.returncode}"
    if done.returncode == 0:
        return done.stdout
    if why == "Objects":
        raise request.error("holds structures or cells where numbers are wanted", "Save plain arrays")
    if why.endswith("MemoryError"):
        raise _too_large(request)
    raise request.error(f"cannot be read as MAT ({why})", DAMAGED)


def _is_hdf5(path: Path) -> bool:
    """Return whether a file is HDF5, as MATLAB's of version 7.3 are after 512 bytes of their own."""
    with path.open("rb") as file:
        return b"\x89HDF\r\n\x1a\n" in (file.read(8), file.seek(512) and file.read(8))


@contextlib.contextmanager
def _datasets(request: Request) -> Iterator[dict[str, Any]]:
    """Give the arrays of an HDF5 file by their paths, "log.q" for /log/q; none whose numbers are in another file."""
    need("h5py")
    import h5py

    def found(group: Any, before: str = "") -> Iterator[tuple[str, Any]]:
        for name in group:
            if isinstance(group.get(name, getlink=True), h5py.HardLink) and not name.startswith("#"):
                item = group[name]
                if isinstance(item, h5py.Dataset) and not item.is_virtual and not item.external:
                    yield before + name, item
                elif isinstance(item, h5py.Group) and before.count(".") < DEEPEST:  # a group may hold itself
                    yield from found(item, f"{before}{name}.")

    try:
        with h5py.File(request.path, "r") as file:
            yield dict(found(file))
    except (OSError, RuntimeError, KeyError, ValueError, TypeError, UnicodeDecodeError) as cause:
        raise request.error(f"cannot be read as HDF5 ({type(cause).__name__})", DAMAGED) from None


def _hdf5(request: Request, folder: Path) -> None:
    with _datasets(request) as there:
        _require(request, list(there))
        wanted = [there[name] for name in _names(request)]
        if sum(a.size * a.dtype.itemsize for a in wanted) > MOST:
            raise _too_large(request)
        for k, a in enumerate(wanted):
            if a.dtype.kind not in "fiub":
                raise request.error(f"array '{_names(request)[k]}' holds {a.dtype}, wanted real numbers")
            np.save(folder / f"{k}.npy", a[()])


def _too_large(request: Request) -> LogError:
    fix = "Save them as Parquet, which is read in parts, or in several files"
    return request.error(f"its arrays need more than {MOST / 2**30:.0f} GB of memory", fix)


def _require(request: Request, there: Sequence[str]) -> None:
    has = f"It has: {', '.join(there[:40])}"
    require_known(_names(request), there, request.error, "there is no array", fix=has)


def _names(request: Request) -> list[str]:
    """Return the names of the wanted arrays."""
    return list(dict.fromkeys(_array_of(request, reference) for reference in request.columns))


def _array_of(request: Request, reference: Reference) -> str:
    array, column = reference
    if array is not None:
        return array
    if isinstance(column, str):
        return column
    raise request.error(f"column {column} of which array?", "Give array = '...' beside the column numbers")


def _samples_as_rows(request: Request, arrays: Arrays) -> Arrays:
    """Return the arrays as (samples, columns). As many samples as the longest vector has, or else the longest side."""
    for key, table in arrays.items():
        if table.ndim not in (1, 2):
            raise request.error(f"array '{key}' has shape {table.shape}, wanted rows and columns")
    vectors = [a.size for a in arrays.values() if a.size == max(a.shape)]
    samples = max(vectors or [max(a.shape) for a in arrays.values()])
    upright = {}
    for key, table in arrays.items():
        lies = table.ndim == 2 and table.shape[1] == samples != table.shape[0]
        if lies and table.shape[0] > 1:
            request.notes.append(f"array '{key}' has its {samples} samples along the columns and was transposed")
        upright[key] = table[:, None] if table.ndim == 1 else table.T if lies else table
    return upright


def _picked(request: Request, arrays: Arrays, columns: Sequence[Reference]) -> Chunk:
    picked: Chunk = []
    for array, column in columns:
        key = _array_of(request, (array, column))
        table = arrays[key]
        if table.dtype.kind not in "fiub":
            raise request.error(f"array '{key}' holds {table.dtype}, wanted real numbers")
        if array is not None and isinstance(column, str):
            raise request.error(f"columns of array '{key}' have no names", "Use column numbers, which count from 1")
        if isinstance(column, int):
            picked.append(table[:, request.place(column, table.shape[1])])
            continue
        if array is None and table.shape[1] != 1:
            problem = f"array '{key}' has {table.shape[1]} columns, wanted one"
            raise request.error(problem, f"Give array = '{key}' with columns = [...]")
        picked.extend(table.T)
    return picked
