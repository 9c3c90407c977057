"""An experiment examined: what is wrong with its robot file or its logs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ident.compare.causes.causes import Examination, examined
from ident.compare.causes.geometries import geometries
from ident.compare.causes.mistakes import ROBOT
from ident.errors import LogError
from ident.estimate.estimate import NamedCause
from ident.experiment import Experiment
from ident.logs.motion import Motion
from ident.pipelines.friction import with_friction
from ident.pipelines.loaded import Loaded, load
from ident.pipelines.steps import Result, Warned, first_parts, processing_of
from ident.tell import Tell, logged

#: Least squares that are so much better than links that can exist: the robot may be another one.
_BETTER = 0.1
_CERTAIN = 2000.0  # log odds above it are not told apart
#: An error on motions never seen that is so many times that of the fit, and so much of the torque, is looked into.
_WORSE, _SEEN = 2.0, 0.03
#: An error of the fit that is so large is looked into.
_LARGE = 0.1
_CONTRADICTED = 0.5
#: What is left of a torque, squared, is so many times its noise: half of it is the model's, or the files', and so much
#: of the torque or more.
_NOISES, _FELT = 2.0, 0.01


@dataclass(frozen=True, eq=False)
class Examined:
    """An experiment with all that it names read, and what is wrong with its robot file or its logs."""

    loaded: Loaded
    examination: Examination


def doctor(experiment: Experiment | str | Path, tell: Tell = logged) -> Examined:
    """Weigh what may be wrong with an experiment's robot file and fitted logs, whatever its CAD table says.

    Raises what `load` raises, LogError for the logs.
    """
    loaded = with_friction(load(experiment), list[Warned]())
    return Examined(loaded, examination(loaded, tell))


def examination(
    loaded: Loaded, tell: Tell = logged, motions: Sequence[Motion] = (), *, kept: bool = False
) -> Examination:
    """Return what is wrong with a loaded experiment. Raises LogError where no recording has rows.

    motions: its fitted ones where they are at hand; kept: whether those for validation are examined, too.
    """
    fit, judged = processing_of(loaded)
    names = loaded.experiment.fit + (loaded.experiment.validate if kept else ())
    given = motions or first_parts(loaded, names, replace(fit, position_hz=judged.position_hz) if kept else fit)
    parts = [m for m in given if m.keep.any()]
    if not parts:
        raise LogError("no row of the fitted recordings is left", fix="Does the robot move? Check masks and window")
    others = geometries(loaded.experiment.robot, loaded.robot) if loaded.robot.transmission is None else {}
    return examined(loaded.model, parts, loaded.prior, others, tell)


def suspicious(result: Result) -> bool:
    """Return whether a result is such that somebody should look for the cause: what `examination` is for."""
    from ident.estimate.least_squares import joint_noise, solve

    estimate, regression, comparison = result.estimate, result.regression, result.comparison
    if estimate.implausible or any("at zero" in a for a in estimate.active):
        return True
    if badly_predicted(result):
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


def causes_of(found: Examination, loaded: Loaded) -> tuple[NamedCause, ...]:
    """Return each cause that is no ordinary one."""
    return tuple(
        NamedCause(
            c.where,
            c.what,
            (loaded.experiment.robot if c.mistake.kind in ROBOT else loaded.experiment.data).name,
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
        if not c.ordinary
    )
