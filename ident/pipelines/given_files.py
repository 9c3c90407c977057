"""What each of the files given to `ident init` is: the robot's, a CAD table or a folder of reports, or a log."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path

from ident.errors import IdentError, InputError
from ident.files import file_sha256
from ident.logs.readers.formats import format_of
from ident.robot.robot import DESCRIPTIONS
from ident.tables import read_toml


def description(given: Sequence[Path], folder: Path) -> tuple[Path | None, list[Path]]:
    """Return the file that describes the robot, and the other ones; None where there is none.

    It is the first of those given, unless that is a log or a folder; then the first other one that describes a robot,
    or else a robot.toml that is in the folder already.
    """
    first = given[0]
    if format_of(first) is None and not first.is_dir():
        return first, list(given[1:])
    found = next(filter(_describes, [*given[1:], folder / "robot.toml"]), None)
    return found, [file for file in given if file != found]


def _describes(file: Path) -> bool:
    if file.suffix.lower() != ".toml" or not file.is_file():
        return file.suffix.lower() in DESCRIPTIONS
    with contextlib.suppress(IdentError):
        return bool(read_toml(file, InputError).keys() & {"joint", "urdf"})
    return False


def parted(files: Sequence[Path]) -> tuple[Path | None, list[Path]]:
    """Return the CAD table, URDF or folder of reports among the files, and the logs."""
    cad = [f for f in files if f.is_dir() and not (f / "metadata.yaml").is_file()]
    cad += [f for f in files if f.suffix.lower() in (".toml", *DESCRIPTIONS) or _is_table_of_cad(f)]
    if len(cad) > 1:
        raise InputError(f"'{cad[0]}' and '{cad[1]}' are both CAD tables or folders of reports", fix="Give one of them")
    logs = [f for f in files if f not in cad]
    if not logs:
        raise InputError("no log is given", fix="Give one log file or more, such as a .csv, .mat or .parquet")
    return cad[0] if cad else None, logs


def without_copies(logs: Sequence[Path]) -> tuple[list[Path], list[str]]:
    """Return the logs, each content once, and what is left out: a copy is predicted as well as what was fitted."""
    first: dict[str, Path] = {}
    for log in logs:
        first.setdefault(file_sha256(log) if log.is_file() else str(log), log)
    kept = list(first.values())
    same = {path: first[file_sha256(path)] for path in logs if path not in kept}
    return kept, [f"{copy.name}: LEFT OUT: it is a copy of {path.name}" for copy, path in same.items()]


def _is_table_of_cad(file: Path) -> bool:
    if file.suffix.lower() != ".csv" or not file.is_file():
        return False
    with file.open("rb") as stream:
        lines = stream.read(4096).decode("utf-8", "replace").lower().splitlines()
    head = next((line for line in lines if line.strip() and not line.startswith("#")), "")
    words = {word.strip() for word in head.split(",")}
    return "link" in words and bool(words & {"m", "mass", "ixx"})
