"""What is written of estimates: `ident export`, and `ident report` of several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from ident.errors import InputError
from ident.estimate import Estimate
from ident.estimate.storage import load_estimate
from ident.files import names_folder, write_whole
from ident.pipelines.loaded import urdf_source
from ident.robot import read_robot

if TYPE_CHECKING:
    from ident.compare.change import Change


@dataclass(frozen=True)
class Written:
    """A file, and what to know of it."""

    path: Path
    notes: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Compared:
    """Estimates with short names, the first of which the others are compared with, and their changes."""

    estimates: tuple[tuple[str, Estimate], ...]
    changes: Sequence[Change]
    slides: frozenset[str] | None


def export(
    formats: Sequence[str],
    estimate: str | Path,
    out: str | Path | None = None,
    *,
    robot: Path | None = None,
    edit: Path | None = None,
    unvalidated: bool = False,
    fixed_massless: bool = False,
    date: str | None = None,
) -> tuple[Written, ...]:
    """Write identified parameters for controllers, simulators and toolboxes, in all formats or none.

    formats: names of `ident.export.formats`. out: of one format a file, else a folder of ROBOT + ending; by default
    the working folder. robot: that was identified; its URDF is what the format urdf edits. edit: a URDF, MJCF or SDF
    whose numbers are exchanged, the rest kept. unvalidated: although no validation passed. fixed_massless: of urdf,
    links outweighed by what is fixed to them take all of its mass. date: in the files' heads, by default today's.
    Raises InputError for what cannot be meant, UnusableError where the gate of the exports forbids it.
    """
    from ident.export.formats import export_to, file_name, format_named

    known = [format_named(name) for name in dict.fromkeys(formats)]
    several = len(known) > 1
    if fixed_massless and all(one.name != "urdf" for one in known):
        raise InputError("is for urdf, which is not asked for", key="--fixed-massless", fix="Leave it out")
    if several and edit is not None:
        raise InputError("is for one format", key="--edit", fix="Export that one by itself")
    if several and out is not None and Path(out).is_file():
        raise InputError("is a file, and several formats are written", key="--out", fix="Name a folder")
    found = load_estimate(estimate)
    arm = None if robot is None else read_robot(robot)
    folder = Path() if out is None else Path(out) if several or names_folder(out) else None
    when = datetime.now(UTC).strftime("%Y-%m-%d") if date is None else date
    made = []
    with TemporaryDirectory() as work:
        for one in known:
            urdf = one.name == "urdf"
            done = export_to(
                one.name,
                found,
                Path(work) / one.name,
                robot=arm,
                source=urdf_source(robot) if edit is None and robot is not None and urdf else edit,
                when=when,
                unvalidated=unvalidated,
                fixed_massless=fixed_massless and urdf,
            )
            place = Path(out or "") if folder is None else folder / file_name(one, found.robot)
            made.append((place, done.path.read_bytes(), tuple(done.notes)))
    return tuple(Written(write_whole(place, content), notes) for place, content, notes in made)


def report_changes(
    estimates: Sequence[Path],
    out: str | Path,
    *,
    robot: Path | None = None,
    figures: Path | None = None,
    command: str = "",
) -> Compared:
    """Write how estimates differ from the first of them to `out` (.html, .pdf).

    robot: theirs, which gives friction its units. figures: as for `report`. Raises InputError for another ending,
    ModelError for estimates of different models.
    """
    from ident.compare.change import changes
    from ident.report.change_report import write_comparison
    from ident.report.page import known_format

    known_format(out)
    named = tuple(zip(_names(estimates), [load_estimate(file) for file in estimates], strict=True))
    slides = None if robot is None else read_robot(robot).slides
    write_comparison(out, named, command=command, pictures=figures, prismatic=slides)
    return Compared(named, changes(named), slides)


def _names(files: Sequence[Path]) -> list[str]:
    """Return short names that tell the files apart: their stems, with folders where stems are equal."""
    resolved = [f.resolve() for f in files]
    for depth in range(1, max(len(f.parts) for f in resolved) + 1):
        names = ["/".join([*f.parts[-depth:-1], f.stem]) for f in resolved]
        if len(set(names)) == len(names):
            return names
    return [str(f) for f in files]  # one file twice: `changes` says so
