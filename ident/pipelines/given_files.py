"""What each of the files given to `ident init` is: the robot's, a CAD table or a folder of reports, or a log."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from ident.errors import InputError
from ident.files import file_sha256
from ident.logs.readers.formats import format_of
from ident.robot.robot import DESCRIPTIONS


def description_among(files: Sequence[Path]) -> tuple[Path | None, list[Path]]:
    """Return the robot's file, the first unless that is a log or a table, and the others in their order."""
    first, *others = files
    if format_of(first) is None:
        return first, others
    robot = next((f for f in others if _describes(f)), None)
    return robot, [f for f in files if f is not robot]


def _describes(file: Path) -> bool:
    if file.suffix.lower() == ".toml" and file.is_file():
        return re.search(rb"\burdf\b|\[\[joint\]\]", file.read_bytes()) is not None
    return file.suffix.lower() in DESCRIPTIONS


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
