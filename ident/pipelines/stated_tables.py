"""The CAD table of an experiment that is examined: a file, or the bodies of the robot's own description."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ident.cad import Cad
from ident.cad.read import read_source
from ident.compare.causes.geometries import described_by
from ident.compare.causes.tables import Table
from ident.compare.doctor import other_convention, settled_by
from ident.errors import CadError
from ident.experiment import Experiment
from ident.pipelines.checked_cad import words_of
from ident.pipelines.loaded import Loaded
from ident.pipelines.wishes import CadWishes
from ident.robot import Robot

_STATED = CadWishes()


def stated_table(loaded: Loaded) -> Table | None:
    """Return the CAD table to examine, a file or the robot's own bodies; None without, or where it lacks numbers.

    Raises what `table_of` raises.
    """
    experiment = loaded.experiment
    given = experiment.cad != "none" and (isinstance(experiment.cad, Path) or loaded.cad is not None)
    return whole_table(experiment, loaded.robot) if given else None


def whole_table(experiment: Experiment, robot: Robot) -> Table | None:
    """Return the CAD table to examine, None where it lacks numbers. Raises what `table_of` raises."""
    if not isinstance(experiment.cad, Path) and _without_numbers(robot):
        return None
    cad, source = table_of(experiment, robot)
    if not np.isfinite(cad.for_robot(robot)).all():
        return None
    return Table(cad, settled_in(source), other_convention(experiment.robot), described_by(experiment.robot))


def table_of(experiment: Experiment, robot: Robot, wishes: CadWishes = _STATED) -> tuple[Cad, Path | None]:
    """Return the CAD table to examine, and where it comes from: None for the robot's own description.

    Raises CadError where there is none, or it cannot be read.
    """
    given = wishes.cad or (experiment.cad if isinstance(experiment.cad, Path) else None)
    if given is not None:
        return read_source(given, robot, *words_of(wishes.frames, wishes.products)), given
    lacking = _without_numbers(robot)
    if lacking or robot.inertials is None:
        problem = f"gives no inertials of {', '.join(lacking)} to examine"
        raise CadError(problem, file=experiment.robot, fix="Add --cad with a CAD table")
    return Cad(robot.links, robot.inertials, experiment.robot.name), None


def _without_numbers(robot: Robot) -> list[str]:
    """Return the links whose description lacks inertials."""
    if robot.inertials is None:
        return list(robot.links)
    return [link for link, own in zip(robot.links, robot.inertials, strict=True) if np.isnan(own).any()]


def settled_in(source: Path | None) -> tuple[tuple[str, str], ...]:
    """Return what a folder of reports decides by itself: `ident.compare.doctor.settled_by`."""
    return settled_by(source) if source is not None and source.is_dir() else ()
