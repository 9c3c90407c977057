"""An experiment examined: what is wrong with its robot file, its logs, its model or its CAD table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ident.cad import Cad
from ident.cad.source import read_source
from ident.compare.causes.causes import Examination, examined
from ident.compare.causes.geometries import geometries
from ident.compare.causes.hidden import Screened, screened
from ident.compare.causes.tables import Table, table_search
from ident.compare.doctor import other_convention, settled_by
from ident.compare.doctor.doctor import exact_search
from ident.compare.doctor.search import MARGIN
from ident.errors import CadError, LogError
from ident.estimate.estimate import NamedCause
from ident.experiment import Experiment, read_experiment
from ident.logs.motion import Motion
from ident.pipelines.checked_cad import words_of
from ident.pipelines.loaded import Loaded, load
from ident.pipelines.select import with_terms
from ident.pipelines.steps import Result, Warned, first_parts, processing_of
from ident.pipelines.wishes import CadWishes
from ident.robot import Robot
from ident.tell import Tell, logged

#: Least squares that are so much better than links that can exist: the robot may be another one.
_BETTER = 0.1
_CERTAIN = 2000.0  # log odds above it are not told apart
#: An error on motions never seen that is so many times that of the fit, and so much of the torque, is looked into.
_WORSE, _SEEN = 2.0, 0.01
#: An error of the fit that is so large is looked into.
_LARGE = 0.1
_CONTRADICTED = 0.5
#: What is left of a torque, squared, is so many times its noise: the rest is the model's, or the files', and what is
#: left is so much of the torque or more.
_NOISES, _FELT = 1.4, 0.01
_STATED = CadWishes()


@dataclass(frozen=True, eq=False)
class Examined:
    """An experiment with all that it names read, and what is wrong with it."""

    loaded: Loaded
    examination: Examination


def doctor(experiment: Experiment | str | Path, tell: Tell = logged) -> Examined:
    """Weigh what may be wrong with an experiment's robot file, fitted logs, model and CAD table.

    Raises what `load` raises, CadError for a table that cannot be read, LogError for the logs.
    """
    experiment = experiment if isinstance(experiment, Experiment) else read_experiment(experiment)
    try:
        found = load(experiment)
    except CadError:  # a table that cannot exist is examined, no prior
        found = load(replace(experiment, cad="none"))
    loaded = with_terms(found, list[Warned](), tell)
    return Examined(loaded, examination(loaded, tell, table=stated_table(replace(loaded, experiment=experiment))))


def stated_table(loaded: Loaded) -> Table | None:
    """Return the CAD table to examine, a file or the robot's own bodies; None without, or where it lacks numbers.

    Raises what `table_of` raises.
    """
    experiment = loaded.experiment
    given = experiment.cad != "none" and (isinstance(experiment.cad, Path) or loaded.cad is not None)
    return whole_table(experiment, loaded.robot) if given else None


def whole_table(experiment: Experiment, robot: Robot) -> Table | None:
    """Return the CAD table to examine, None where it lacks numbers. Raises what `table_of` raises."""
    cad, source = table_of(experiment, robot)
    if not np.isfinite(cad.for_robot(robot)).all():
        return None
    return Table(cad, settled_in(source), other_convention(experiment.robot))


def contradicted(result: Result) -> Table | None:
    """Return the CAD file's table where a known mistake in it is likelier than it is as given, by the fit's factors."""
    experiment, regression = result.loaded.experiment, result.regression
    if regression is None or not isinstance(experiment.cad, Path):
        return None
    table = whole_table(experiment, result.loaded.robot)
    if table is None:
        return None
    search = table_search(result.loaded.model, regression, table)
    for each in (search, exact_search(search) or search):
        start = each.space.start(each.table)
        options = each.options(start)
        if options and options[0].score > each.score(start) + MARGIN:
            return table
    return None


def table_of(experiment: Experiment, robot: Robot, wishes: CadWishes = _STATED) -> tuple[Cad, Path | None]:
    """Return the CAD table to examine, and where it comes from: None for the robot's own description.

    Raises CadError where there is none, or it cannot be read.
    """
    given = wishes.cad or (experiment.cad if isinstance(experiment.cad, Path) else None)
    if given is not None:
        return read_source(given, robot, *words_of(wishes.frames, wishes.products)), given
    if robot.inertials is None:
        raise CadError("gives no inertials to examine", file=experiment.robot, fix="Add --cad with a CAD table")
    return Cad(robot.links, robot.inertials, experiment.robot.name), None


def settled_in(source: Path | None) -> tuple[tuple[str, str], ...]:
    """Return what a folder of reports decides by itself: `ident.compare.doctor.settled_by`."""
    return settled_by(source) if source is not None and source.is_dir() else ()


def examination(
    loaded: Loaded,
    tell: Tell = logged,
    motions: Sequence[Motion] = (),
    *,
    kept: bool = False,
    table: Table | None = None,
) -> Examination:
    """Return what is wrong with a loaded experiment. Raises LogError where no recording has rows.

    motions: its fitted ones where they are at hand; kept: whether those for validation are examined, too; table: of
    CAD, where that is examined.
    """
    fit, judged = processing_of(loaded)
    names = loaded.experiment.fit + (loaded.experiment.validate if kept else ())
    given = motions or first_parts(loaded, names, replace(fit, position_hz=judged.position_hz) if kept else fit)
    parts = [m for m in given if m.keep.any()]
    if not parts:
        raise LogError("no row of the fitted recordings is left", fix="Does the robot move? Check masks and window")
    others = geometries(loaded.experiment.robot, loaded.robot) if loaded.robot.transmission is None else {}
    return examined(loaded.model, parts, loaded.prior, others, tell, table)


def screening(loaded: Loaded) -> Screened:
    """Return what slopes say of an experiment's lengths, zeros and gains, and what its fitted logs do not tell."""
    fit, _ = processing_of(loaded)
    parts = [m for m in first_parts(loaded, loaded.experiment.fit, fit) if m.keep.any()]
    return screened(loaded.model, parts, loaded.prior) if parts else Screened(False, "")


def suspicious(result: Result) -> bool:
    """Return whether a result is such that somebody should look for the cause: what `examination` is for."""
    from ident.estimate.least_squares import joint_noise, solve

    estimate, regression, comparison = result.estimate, result.regression, result.comparison
    if estimate.implausible or any("at zero" in a for a in estimate.active):
        return True
    if badly_predicted(result) or (result.validation and result.validation.opposed):
        return True
    if comparison is not None and comparison.count("contradicted") > _CONTRADICTED * max(len(comparison.rows), 1):
        return True
    if regression is None:
        return estimate.relative_total > _LARGE
    if estimate.floor is not None and np.any(
        (estimate.floor > 0) & (estimate.rms**2 > _NOISES * estimate.floor**2) & (estimate.missed > _FELT)
    ):
        return True
    sigma = joint_noise(regression)
    least = float(np.sum(regression.squared_residuals(solve(regression, sigma)) / sigma**2))
    squares = float(np.sum(regression.squared_residuals(estimate.phi) / sigma**2))
    return estimate.relative_total > _LARGE or squares > (1.0 + _BETTER) * least


def badly_predicted(result: Result) -> bool:
    """Return whether recordings that were not fitted are so badly predicted that something may be wrong with them.

    All joints together, or one joint beyond the noise of its readings.
    """
    total = result.validation.total("identified") if result.validation else None
    if result.validation is None or total is None:
        return False
    if total.relative_total > max(_WORSE * result.estimate.relative_total, _SEEN):
        return True
    missed, fitted = result.validation.missed("identified"), np.minimum(result.estimate.relative, 1.0)
    return bool(np.any(missed > np.maximum(_WORSE * fitted, _SEEN)))


def files_of(loaded: Loaded) -> dict[str, str]:
    """Return the name of each file that a mistake may be in."""
    e = loaded.experiment
    cad = e.cad if isinstance(e.cad, Path) else e.robot
    return {"robot": e.robot.name, "log": e.data.name, "model": e.file.name, "table": cad.name}


def causes_of(found: Examination, loaded: Loaded, *, terms: bool = True) -> tuple[NamedCause, ...]:
    """Return each cause that is no ordinary one; terms: also joint terms that the model lacks.

    Where a choice of terms has been made, or a [model] given, what is lacking shows in what is predicted.
    """
    return tuple(
        NamedCause(
            c.where,
            c.what,
            files_of(loaded)[c.mistake.file],
            c.mend,
            c.rivals,
            loaded.robot.joint_names,
            c.joints_before,
            c.joints_after,
            (c.before, c.after),
            min(c.log_odds, _CERTAIN),
            c.trace,
        )
        for c in found.causes
        if not c.ordinary and (terms or c.mistake.kind != "term")
    )


def with_bodies(loaded: Loaded, tell: Tell) -> tuple[Examination, tuple[NamedCause, ...]]:
    """Return what is wrong with robot file and logs if CAD's bodies are about right; what they lack is no cause."""
    seen = examination(loaded, tell, table=stated_table(loaded))
    beside = replace(seen, causes=tuple(c for c in seen.causes if c.mistake.file != "table"))
    return seen, causes_of(beside, loaded, terms=False)
