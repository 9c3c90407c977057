"""Where a result comes from: versions, machine, command, and the hashes of what was read."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from ident.errors import InputError
from ident.logs.located import file_sha256

#: The entry of an estimate's provenance that names the recordings it was fitted on.
FITTED = "fitted on"

PACKAGES = ("robot-ident", "numpy", "scipy", "numba", "cvxpy", "clarabel", "scs", "pandas", "pyarrow")


def provenance(inputs: Mapping[str, str], command: str) -> dict[str, str]:
    """Return versions, platform, command, and `sha256 NAME` -> hash for each input, as texts.

    inputs: name of each file read -> its SHA-256 (hex).
    """
    found = {"command": command, "python": platform.python_version()}
    found |= {package: installed(package) for package in PACKAGES}
    found |= {"platform": f"{platform.system()} {platform.machine()}"}
    return found | {f"sha256 {name}": digest for name, digest in inputs.items()}


@cache
def installed(package: str) -> str:
    """Return the installed version of a distribution (or of its slim edition NAME-base), "n/a" where there is none."""
    for name in (package, f"{package}-base"):
        try:
            return version(name)
        except PackageNotFoundError:
            continue
    return "n/a"


def hashes(*files: Path | None) -> dict[str, str]:
    """Return name -> SHA-256 (hex) of the files that there are. Raises InputError for one that cannot be read."""
    found = dict[str, str]()
    for file in files:
        try:
            found |= {} if file is None else {file.name: file_sha256(file)}
        except OSError as cause:
            raise InputError(f"cannot be read: {cause.strerror}", file=file) from None
    return found
