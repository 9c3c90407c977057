"""The files that results are made from, which no result is written over."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from ident.errors import IdentError, InputError
from ident.experiment import Experiment
from ident.files import data_path, file_sha256
from ident.logs import read_manifest
from ident.pipelines.loaded import described_in
from ident.robot.robot import DESCRIPTIONS
from ident.robot.xml import read_bytes

#: What a URDF or an MJCF says of its meshes, textures and parts.
_NAMED = re.compile(rb"""\bfile(?:name)?\s*=\s*["']([^"']+)["']""")


def sources_of(experiment: Experiment) -> Iterator[Path]:
    """Yield the files and folders that an experiment names, logs and the robot's description among them."""
    yield from (experiment.file, experiment.robot, experiment.data)
    yield from (path for path in (experiment.cad, experiment.truth) if isinstance(path, Path))
    with suppress(IdentError):
        found = read_manifest(experiment.data)
        folder = data_path(found.folder, found.file.parent)
        yield from (folder / file for recording in found.recordings for file in recording.files)


def require_apart(out: str | Path, sources: Iterable[Path | None], known: Iterable[str] = ()) -> None:
    """Raise InputError where `out` is one of these files, lies in such a folder, or is a mesh that a robot file names.

    known: SHA-256 of what was read, wherever it lies. What is not there yet may always be written.
    """
    out = Path(out)
    if out.is_file() and (_is_one(out.resolve(), sources) or file_sha256(out) in known):
        raise InputError(
            "is one of the files that this is made from, and would be lost",
            file=out,
            fix=f"Write it elsewhere, such as --out new/{out.name}",
        )


def _is_one(out: Path, sources: Iterable[Path | None]) -> bool:
    for source in (path.resolve() for path in sources if path is not None):
        described = None
        with suppress(IdentError):
            described = described_in(source) if source.suffix.lower() in (".toml", *DESCRIPTIONS) else None
        if out in (source, described and described.resolve()) or (source.is_dir() and source in out.parents):
            return True
        named = _NAMED.findall(read_bytes(described)) if described and described.is_file() else []
        if out.name in (Path(name.decode(errors="replace").replace("\\", "/")).name for name in named):
            return True
    return False
