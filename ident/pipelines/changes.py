"""Estimates against the first of them: before and after a service, one arm and its sister."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ident.estimate.storage import load_estimate
from ident.files import short_names
from ident.robot import read_robot

if TYPE_CHECKING:
    from ident.compare.difference import Change
    from ident.report.parts import Report


def report_changes(
    estimates: Sequence[Path],
    out: str | Path,
    *,
    robot: Path | None = None,
    figures: Path | None = None,
    command: str = "",
) -> tuple[Sequence[Change], Report]:
    """Write how estimates differ from the first of them to `out` (.html, .pdf); return their changes and the report.

    robot: theirs, which gives friction its units. figures: as for `report`. Raises InputError for another ending,
    ModelError for estimates of different models.
    """
    from ident.compare.difference import changes
    from ident.report.page import known_format, write_report
    from ident.report.several import gather_changes

    known_format(out, figures)
    named = tuple(zip(short_names(estimates), map(load_estimate, estimates), strict=True))
    found, slides = changes(named), None if robot is None else read_robot(robot).slides
    report = gather_changes(named, found, command=command, prismatic=slides)
    write_report(report, out, figures)
    return found, report
