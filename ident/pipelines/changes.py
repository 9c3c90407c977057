"""Estimates against the first of them: before and after a service, one arm and its sister."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ident.estimate import Estimate
from ident.estimate.storage import load_estimate
from ident.files import short_names
from ident.robot import read_robot

if TYPE_CHECKING:
    from ident.compare.difference import Change


@dataclass(frozen=True, eq=False)
class Compared:
    """Estimates with short names, the first of which the others are compared with, and their changes."""

    estimates: tuple[tuple[str, Estimate], ...]
    changes: Sequence[Change]
    slides: frozenset[str] | None


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
    from ident.compare.difference import changes
    from ident.report.page import known_format
    from ident.report.several import write_comparison

    known_format(out)
    named = tuple(zip(short_names(estimates), [load_estimate(file) for file in estimates], strict=True))
    slides = None if robot is None else read_robot(robot).slides
    write_comparison(out, named, command=command, pictures=figures, prismatic=slides)
    return Compared(named, changes(named), slides)
