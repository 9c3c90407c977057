"""Compiled kernels and their cache on disk, which knows the content of every kernel source.

Numba keys a cached kernel by its own file alone, so a kernel that inlines a step of another file outlives a change of
that step. Here all kernels share one folder named by the hash of all kernel sources.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

_PACKAGE = Path(__file__).parent
#: The files in which kernels, and what they inline, are written.
SOURCES = ("dynamics/*.py", "*/*kernel*.py")


def cached_njit(**options: Any) -> Callable[[Any], Any]:
    """Return `numba.njit(**options)` with its machine code kept on disk, in `cache_folder()`."""
    import numba

    def compiled(function: Any) -> Any:
        dispatcher = numba.njit(**options)(function)
        folder, before = cache_folder(), numba.config.CACHE_DIR
        if folder is not None:
            numba.config.CACHE_DIR = str(folder)
            try:
                dispatcher.enable_caching()
            finally:
                numba.config.CACHE_DIR = before
        return dispatcher

    return compiled


@cache
def cache_folder() -> Path | None:
    """Return the folder of these sources' kernels, without those of earlier sources; None where none can be written.

    It stands in $NUMBA_CACHE_DIR where that is set, else in the package, else in the user's cache.
    """
    files = sorted({file for pattern in SOURCES for file in _PACKAGE.glob(pattern)})
    content = hashlib.sha256()
    for file in files:
        content.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    for parent in _parents():
        folder = parent / content.hexdigest()[:16]
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(folder, os.W_OK):
            for other in parent.iterdir():
                if other != folder:
                    shutil.rmtree(other, ignore_errors=True)
            return folder
    return None


def _parents() -> list[Path]:
    """Return where this installation's kernels may stand, each a folder of its own."""
    own = "ident-" + hashlib.sha256(str(_PACKAGE).encode()).hexdigest()[:8]
    given = os.environ.get("NUMBA_CACHE_DIR")
    if given:
        return [Path(given) / own]
    places = [_PACKAGE / "__pycache__" / "kernels"]
    if not os.access(_PACKAGE, os.W_OK):
        import pooch

        places.append(Path(pooch.os_cache("ident")) / own)
    return places
