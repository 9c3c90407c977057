"""Logs in object stores and on the web: what an address names is copied once to the user's cache, and read there."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import shutil
import time
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from ident.errors import LogError, need
from ident.files import whole_file

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

#: So long [s] an answer of the store counts. A log whose SHA-256 is the same before and after it was read is one log.
FRESH_S = 2.0
#: Copies are kept so long after they were last asked for.
KEPT_S = 90 * 86400.0


def fetched(url: str, manifest: Path) -> Path:
    """Return a copy of the object at an address, as it is now, with its ending.

    It is kept in the user's cache in the place of older ones, until nobody has asked for it in 90 days, and its time of
    change is the same wherever it is fetched. Raises LogError, which names the manifest, where a package is missing,
    the object is not there, the store refuses, or the object changes meanwhile; InputError where the cache cannot be
    written to.
    """
    import platformdirs

    need("fsspec")
    version = _version(url, manifest, int(time.monotonic() / FRESH_S))
    root = platformdirs.user_cache_path("robot-ident") / "remote"
    path = root / _digest(url) / f"{version}{PurePosixPath(urlsplit(url).path).suffix[:16]}"
    if path.is_file():
        with contextlib.suppress(OSError):
            os.utime(path.parent)  # when it was last asked for
        return path
    with contextlib.suppress(OSError):  # said below
        root.mkdir(mode=0o700, parents=True, exist_ok=True)  # logs of a private store
    with whole_file(path) as part:
        with _said(url, manifest):
            fs, remote = _opened(url)
            fs.get_file(remote, str(part))
            meanwhile = _asked(url)
        if meanwhile != version:
            fix = "Wait until its recorder is done with it"
            raise LogError(f"'{url}' changed while it was fetched", file=manifest, fix=fix)
        stamp = int(version[:12], 16)
        os.utime(part, ns=(stamp, stamp))
    for older in path.parent.glob("[0-9a-f]*"):
        if older != path:
            with contextlib.suppress(OSError):  # another process reads it
                older.unlink()
    for place in root.iterdir():
        with contextlib.suppress(OSError):  # another process removes it, too
            if time.time() - place.stat().st_mtime > KEPT_S:
                shutil.rmtree(place, ignore_errors=True)
    return path


@lru_cache(maxsize=256)
def _version(url: str, manifest: Path, _moment: int) -> str:
    with _said(url, manifest):
        return _asked(url)


def _opened(url: str) -> tuple[AbstractFileSystem, str]:
    from fsspec.core import url_to_fs

    fs, remote = url_to_fs(url)
    return fs, remote


def _asked(url: str) -> str:
    """Return a digest of what the store says of an object: size, time of change, tag. Raises IsADirectoryError."""
    fs, remote = _opened(url)
    found = fs.info(remote)
    if found.get("type") == "directory":
        raise IsADirectoryError(url)
    return _digest(str(sorted((str(key), str(value)) for key, value in found.items())))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]


@contextlib.contextmanager
def _said(url: str, manifest: Path) -> Iterator[None]:
    """Raise what a store's package raises, of any class, as one sentence."""
    try:
        yield
    except Exception as cause:
        if isinstance(cause, OSError) and cause.errno == errno.ENOSPC:
            raise  # of this machine's disk
        raise _sentence(url, manifest, cause) from None


def _sentence(url: str, manifest: Path, cause: Exception) -> LogError:
    http = cause.__cause__ if url.startswith("http") and isinstance(cause, FileNotFoundError) else None
    if isinstance(http, Exception) and getattr(http, "status", 0) != 404:
        cause = http  # fsspec takes whatever a web server answers for a file that is missing
    kind = type(cause).__name__
    if isinstance(cause, ImportError):
        fix = "pip install 'robot-ident[remote]'" if url.startswith(("s3", "http")) else str(cause)
        return LogError(f"'{url}' needs a package that is not installed", file=manifest, fix=fix)
    if isinstance(cause, IsADirectoryError):
        return LogError(f"'{url}' is a folder", file=manifest, fix="Name one file of it")
    if isinstance(cause, FileNotFoundError):
        return LogError(f"there is no object '{url}'", file=manifest, fix="Correct the address, or put the log there")
    if isinstance(cause, PermissionError) or "Credential" in kind or getattr(cause, "status", 0) in (401, 403):
        fix = "Set the credentials that it asks for: AWS_PROFILE, say, or FSSPEC_S3_ANON=true for a public bucket"
        return LogError(f"the store refuses '{url}' ({kind})", file=manifest, fix=fix)
    elsewhere = "; for another store than Amazon's, set AWS_ENDPOINT_URL" if url.startswith("s3") else ""
    return LogError(f"'{url}' could not be fetched ({kind})", file=manifest, fix=f"Try again later{elsewhere}")
