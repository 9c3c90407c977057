"""Compiled kernels, the threads that they run on, and their cache on disk, which knows every kernel source.

Numba keys a cached kernel by its own file's content and path, so a kernel that inlines a step of another file outlives
a change of that step, and a copy of the package compiles anew. Here all kernels share one folder named by the hash of
all kernel sources. Small work runs on one thread: for few states, waking the others takes longer than the work.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from ident.tell import LOG

_PACKAGE = Path(__file__).parent
#: The files in which kernels, and what they inline, are written.
SOURCES = ("dynamics/*.py", "*/*kernel*.py")


def cached_njit(**options: Any) -> Callable[[Any], Any]:
    """Return `numba.njit(**options)` with its machine code kept on disk, in `cache_folder()`."""
    import numba
    from numba.core.caching import IndexDataCacheFile

    def compiled(function: Any) -> Any:
        dispatcher = numba.njit(**options)(function)
        folder, before = cache_folder(), numba.config.CACHE_DIR
        if folder is not None:
            numba.config.CACHE_DIR = str(folder)
            try:
                dispatcher.enable_caching()
            finally:
                numba.config.CACHE_DIR = before
            kept = dispatcher._cache
            kept.load_overload = _sought(kept)
            name = f"{Path(function.__code__.co_filename).parent.name}.{kept._impl.filename_base}"
            kept._cache_file = IndexDataCacheFile(str(folder), name, source_stamp=None)  # the folder's name tells
        return dispatcher

    return compiled


def _sought(kept: Any) -> Callable[..., Any]:
    """Return what looks for a kernel in the cache `kept`, and says so where there is none.

    Numba would first import all that one may compile with (0.15 s), which whoever compiles does by itself.
    """
    from numba.core.runtime import rtsys

    def loaded(signature: Any, context: Any) -> Any:
        rtsys.initialize(context)
        with kept._guard_against_spurious_io_errors():
            found = kept._load_overload(signature, context)
        if found is None:
            _tell_compiling()
        return found

    return loaded


@cache
def _tell_compiling() -> None:
    """Say once why nothing seems to happen."""
    LOG.info("compiling, once on this machine: it takes up to a minute")


@cache
def cache_folder() -> Path | None:
    """Return the folder of these sources' kernels; None where none can be written.

    It stands in $NUMBA_CACHE_DIR where that is set, else in the package, else in the user's cache. Those of other
    sources are removed: beside it in the package at once, elsewhere, for other copies, a month after their last use.
    """
    import numba

    files = sorted({file for pattern in SOURCES for file in _PACKAGE.glob(pattern)})
    content = hashlib.sha256(numba.__version__.encode())
    for file in files:
        content.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    for parent in _parents():
        folder = parent / content.hexdigest()[:16]
        try:
            folder.mkdir(parents=True, exist_ok=True)
            os.utime(folder)
        except OSError:
            continue
        if os.access(folder, os.W_OK):
            unused = time.time() - (0 if parent.is_relative_to(_PACKAGE) else 30 * 86400)
            for other in parent.iterdir():
                if other != folder and other.stat().st_mtime <= unused:
                    shutil.rmtree(other, ignore_errors=True)
            return folder
    return None


def _parents() -> list[Path]:
    """Return where kernels may stand, each a folder for them alone."""
    given = os.environ.get("NUMBA_CACHE_DIR")
    if given:
        return [Path(given) / "ident"]
    places = [_PACKAGE / "__pycache__" / "kernels"]
    if not os.access(_PACKAGE, os.W_OK):
        import platformdirs

        places.append(platformdirs.user_cache_path("ident") / "kernels")
    return places


#: So many states are work for one thread.
FEW = 128


@contextlib.contextmanager
def kernel_threads(states: int) -> Iterator[None]:
    """Run kernels on one thread where there are few states: on busy cores others keep the caller waiting for long."""
    import numba

    before = numba.get_num_threads()
    if states > FEW or before == 1:
        yield
        return
    numba.set_num_threads(1)
    try:
        yield
    finally:
        numba.set_num_threads(before)


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Run kernels and BLAS on one thread."""
    with kernel_threads(0), _blas().limit(limits=1):
        yield


@cache
def _blas() -> Any:
    """Return the BLAS libraries of NumPy and SciPy; to look for them takes a millisecond."""
    import scipy.linalg  # noqa: F401
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas")
