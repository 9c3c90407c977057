"""Writing files whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from ident.errors import InputError


def write_whole(path: str | Path, content: bytes | str) -> Path:
    """Write `content` to `path` through a temporary file beside it, so that no half-written file is ever left.

    Missing folders are made. Text is written as UTF-8. Raises InputError when the place cannot be written to.
    """
    path = Path(path)
    data = content.encode() if isinstance(content, str) else content
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as cause:
        raise InputError(f"cannot be written: {cause.strerror}", file=path) from cause
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)
        os.replace(temporary, path)
    except BaseException as cause:
        Path(temporary).unlink(missing_ok=True)
        if isinstance(cause, OSError):
            raise InputError(f"cannot be written: {cause.strerror}", file=path) from cause
        raise
    return path
