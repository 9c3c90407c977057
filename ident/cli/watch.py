"""Waiting until a file changes that an experiment is made of."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from ident.errors import IdentError

#: How often files are looked at [s].
EVERY = 1.0


def changes(experiment: Path) -> Iterator[None]:
    """Yield at once, and again whenever a file of an experiment is another one than when that was last yielded."""
    while True:
        before = stamps(experiment)
        yield
        seen = before
        while seen == before or seen != stamps(experiment):  # a file may be half written
            seen = stamps(experiment)
            time.sleep(EVERY)


def stamps(experiment: Path) -> dict[Path, tuple[int, int] | None]:
    """Return time of change [ns] and size of each file that an experiment reads, None where it is missing."""
    found: dict[Path, tuple[int, int] | None] = {}
    for path in files_of(experiment):
        found[path] = None
        with suppress(OSError):
            there = path.stat()
            found[path] = (there.st_mtime_ns, there.st_size)
    return found


def files_of(experiment: Path) -> list[Path]:
    """Return the files of an experiment: its own, robot, data set, logs, tables; of a broken one those that it names.

    A folder of CAD reports stands for the files in it.
    """
    from ident.experiment import read_experiment
    from ident.logs import read_manifest
    from ident.pipelines.loaded import urdf_source
    from ident.robot.file import data_path

    found = [experiment / "experiment.toml" if experiment.is_dir() else experiment]
    with suppress(IdentError):
        read = read_experiment(experiment)
        found += [read.robot, read.data, *(p for p in (read.cad, read.truth) if isinstance(p, Path))]
        source = urdf_source(read.robot)
        found += [] if source is None else [source]
        manifest = read_manifest(read.data)
        folder = data_path(manifest.folder, read.data.parent)
        found += [folder / file for r in manifest.recordings for file in r.files]
    inside = [file for path in found if path.is_dir() for file in sorted(path.rglob("*"))]
    return list(dict.fromkeys([*found, *inside]))
