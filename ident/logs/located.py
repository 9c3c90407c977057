"""Where a log's files are: under the data set's folder, or fetched once from their public address."""

from __future__ import annotations

import hashlib
import os
from functools import lru_cache
from pathlib import Path

from ident.errors import LogError
from ident.logs.manifest import Manifest
from ident.logs.readers.formats import format_of

VARIABLE = "IDENT_DATA"


def locate(manifest: Manifest, file: str) -> Path:
    """Return the path of `file`, a name relative to the data set's folder.

    When the folder begins with $IDENT_DATA and that is not set, a file with a [[remote]] is fetched over https, its
    SHA-256 checked, and kept in the user's cache. Raises LogError when the file is missing, lies outside the folder
    (by a link, say), or is not the one whose SHA-256 the manifest gives.
    """
    remotes = {r.file: r for r in manifest.remotes}
    inside, data = manifest.folder.removeprefix(f"${VARIABLE}"), os.environ.get(VARIABLE)
    public = inside != manifest.folder
    if public and not data:
        if file not in remotes:
            raise LogError(
                f"'{file}' has no [[remote]] address and ${VARIABLE} is not set",
                file=manifest.file,
                fix=f"Set the environment variable {VARIABLE} to the folder that holds {manifest.name}'s folder",
            )
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
        raise LogError(
            f"'{file}' is not the published file: its SHA-256 differs from [[remote]]",
            file=manifest.file,
            fix="Take the published file, or remove its [[remote]] table if yours is meant",
        )
    return path


def file_sha256(path: Path) -> str:
    """Return the SHA-256 (hex) of the file's content; of a bag's folder, that of its files' names and SHA-256s."""
    if path.is_dir():
        lines = (f"{p.name} {file_sha256(p)}\n" for p in sorted(path.iterdir()) if p.is_file())
        return hashlib.sha256("".join(lines).encode()).hexdigest()
    now = path.stat()
    return _content_sha256(path, now.st_size, now.st_mtime_ns)


@lru_cache(maxsize=1024)
def _content_sha256(path: Path, _size: int, _changed: int) -> str:
    """Return the hash of a file as it is now, which is worked out once as long as size and time of change stay."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _fetch(name: str, file: str, url: str, sha256: str, manifest: Path) -> Path:
    import pooch

    pooch.get_logger().setLevel("ERROR")  # what goes wrong is raised below
    folder = Path(pooch.os_cache("robot-ident")) / name / Path(file).parent
    try:
        return Path(pooch.retrieve(url, f"sha256:{sha256}", fname=Path(file).name, path=folder))
    except ValueError:
        raise LogError(f"'{file}' fetched from {url} has another SHA-256 than [[remote]] says", file=manifest) from None
    except OSError as cause:  # network errors of requests are OSError
        raise LogError(
            f"'{file}' could not be fetched from {url} ({type(cause).__name__})",
            file=manifest,
            fix=f"Try again later, or set the environment variable {VARIABLE} to a folder that holds it",
        ) from None
