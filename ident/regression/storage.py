"""Factors on disk: one NPZ file, numbers and a JSON header, no pickle."""

from __future__ import annotations

import io
import json
import tokenize
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ident.arrays import frozen
from ident.errors import RegressionError
from ident.files import write_whole
from ident.regression.base import BaseParameters
from ident.regression.regression import Regression, Segment

FORMAT = "ident-regression-1"

# What zipfile, numpy and json raise on bytes that are not theirs.
_DAMAGE = (
    ArithmeticError, AttributeError, EOFError, LookupError, MemoryError, OSError, RuntimeError, TypeError, ValueError,
    tokenize.TokenError, zipfile.BadZipFile, zlib.error,
)  # fmt: skip


def save_regression(regression: Regression, path: str | Path, about: Mapping[str, Any] | None = None) -> Path:
    """Write the factors to `path` (NPZ), whole or not at all; about: what JSON can hold of where they come from."""
    header = {
        "format": FORMAT,
        "about": dict(about or {}),
        "model": regression.model,
        "names": regression.base.names,
        "kept": regression.base.kept,
        "standard": regression.base.standard,
        "parameters": regression.parameters,
        "segments": [
            {"identity": s.identity, "name": s.name, "recording": s.recording, "rows": s.rows, "noise": s.noise}
            for s in regression.segments
        ],
    }
    upper = [np.triu_indices(len(p) + 1) for p in regression.parameters]
    packed = [np.concatenate([r[u] for r, u in zip(s.factors, upper, strict=True)]) for s in regression.segments]
    buffer = io.BytesIO()
    text = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    np.savez(buffer, header=text, K=regression.base.K, factors=np.array(packed))
    return write_whole(path, buffer.getvalue())


def load_regression(path: str | Path) -> Regression:
    """Read factors written by `save_regression`.

    Raises RegressionError, naming the file, when it is not such a file or is damaged.
    """
    return load_with_origin(path)[0]


def load_with_origin(path: str | Path) -> tuple[Regression, dict[str, Any]]:
    """Read factors as `load_regression` does, and what was written of where they come from: {} where nothing was."""
    path = Path(path)
    try:
        _require_plain(path)
        with np.load(path, allow_pickle=False) as stored:
            header = json.loads(bytes(stored["header"]))
            K, packed = stored["K"], stored["factors"]
        if header["format"] != FORMAT:
            raise RegressionError(f"format is '{header['format']}', wanted '{FORMAT}'", file=path)
        return _assemble(header, K, packed), dict(header.get("about", {}))
    except FileNotFoundError:
        raise RegressionError("no such file", file=path, fix="Check the path") from None
    except _DAMAGE as cause:
        problem = "this is not a file of factors written by ident, or it is damaged"
        raise RegressionError(problem, file=path, fix="Compress the logs again") from cause


def _require_plain(path: Path) -> None:
    """Raise ValueError where members are packed, or say that they are larger than the file that holds them."""
    with zipfile.ZipFile(path) as members:
        infos = members.infolist()
    if any(i.compress_type != zipfile.ZIP_STORED for i in infos):
        raise ValueError("a member is packed")
    if sum(i.file_size for i in infos) > path.stat().st_size:
        raise ValueError("members are larger than the file")


def _assemble(header: dict[str, Any], K: Any, packed: Any) -> Regression:
    names, standard = tuple(header["names"]), tuple(header["standard"])
    K = frozen(K, (len(names), len(standard)), "K", RegressionError)
    kept = tuple(int(k) for k in header["kept"])
    if min(kept, default=0) < 0 or names != tuple(standard[k] for k in kept):
        raise ValueError("names and places of the base parameters differ")
    if not np.array_equal(K[:, kept], np.eye(len(kept))):
        raise ValueError("a base parameter does not stand for itself")
    base = BaseParameters(names, kept, K, standard)
    parameters = tuple(tuple(int(i) for i in p) for p in header["parameters"])
    if not all(0 <= i < len(names) for p in parameters for i in p):
        raise ValueError("a factor's column belongs to no base parameter")
    if any(list(p) != sorted(set(p)) for p in parameters):
        raise ValueError("a factor's columns are out of order")
    sizes = [len(p) + 1 for p in parameters]
    lengths = [s * (s + 1) // 2 for s in sizes]
    packed = frozen(packed, (len(header["segments"]), sum(lengths)), "factors", RegressionError)
    segments = []
    for info, numbers in zip(header["segments"], packed, strict=True):
        factors, start = [], 0
        for size, length in zip(sizes, lengths, strict=True):
            r = np.zeros((size, size))
            r[np.triu_indices(size)] = numbers[start : start + length]
            factors.append(r)
            start += length
        rows, noise = tuple(map(int, info["rows"])), tuple(map(float, info.get("noise", ())))
        if len(rows) != len(parameters) or min(rows) < 0 or len(noise) not in (0, len(rows)):
            raise ValueError("each joint needs its number of rows")
        identity, name, recording = (str(info[key]) for key in ("identity", "name", "recording"))
        segments.append(Segment(identity, name, recording, rows, tuple(factors), noise))
    return Regression(str(header["model"]), base, parameters, tuple(segments))
