"""An experiment from its file to the folder of its results."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ident.cad import read_cad, require_consistent
from ident.errors import CadError, ConfigError, IdentError, InputError
from ident.estimate import Estimate
from ident.estimate.storage import estimate_file, load_estimate, save_estimate
from ident.experiment import Experiment
from ident.files import whole_folder
from ident.pipelines.loaded import Loaded, load, urdf_source
from ident.pipelines.result import Failed, Result, Warned
from ident.pipelines.steps import compared, fitted, reported, require_same_model, truth_of, validated
from ident.regression import save_regression
from ident.robot import read_robot
from ident.tell import Tell, silent

if TYPE_CHECKING:
    from ident.compare import Comparison

#: The step of a run that may fail after the fit and is no file.
VALIDATION = "validation"
FILES = ("estimate.json", "parameters.json", "robot.urdf", "factors.npz", "report.html")


def run(
    experiment: Experiment | str | Path, out: str | Path | None = None, tell: Tell = silent, command: str = ""
) -> Result:
    """Do it all: read, check, fit, compare, validate, export, report. Files go to `out`, whole or not at all.

    `out`: by default results/NAME beside the experiment. Raises IdentError of some kind when there is no fit; then
    nothing is left behind. A fit is kept, with what could not be made of it in the result's `failed`.
    """
    from ident.export import with_validation

    loaded, warned, failed = load(experiment), list[Warned](), list[Failed]()
    where = Path(out) if out else results_folder(loaded.experiment)
    with whole_folder(where, FILES) as folder:
        estimate, regression = fitted(loaded, warned, tell, command)
        result = Result(loaded, estimate, regression, compared(loaded, estimate), path=where)
        try:
            result = replace(result, validation=validated(loaded, estimate, regression, warned, tell))
        except IdentError as cause:
            failed.append(Failed(VALIDATION, cause))
        estimate = with_validation(estimate, result.validation)  # a passed one lets the numbers out
        result = replace(result, estimate=estimate, truth=truth_of(loaded, estimate))
        tell("writing results", 0, 1)
        save_regression(regression, folder / "factors.npz")
        save_estimate(estimate, folder / "estimate.json")
        warned += export_results(loaded, estimate, folder, failed)
        try:
            reported(result, folder / "report.html", command)
        except IdentError as cause:
            failed.append(Failed("report.html", cause))
        tell("writing results", 1, 1)
    return replace(result, warnings=tuple(warned), failed=tuple(failed))


def fit(
    experiment: Experiment | str | Path, out: str | Path | None = None, tell: Tell = silent, command: str = ""
) -> Result:
    """Fit an experiment, and write the estimate to the file `out`, where one is named.

    Raises what `load` raises, LogError for the logs, EstimationError when the fit does not succeed.
    """

    loaded, warned = load(experiment), list[Warned]()
    estimate, regression = fitted(loaded, warned, tell, command)
    if out is not None:
        save_estimate(estimate, out)
    return Result(loaded, estimate, regression, warnings=tuple(warned), path=None if out is None else Path(out))


def compare(estimate: str | Path, robot: str | Path | None, cad: str | Path | None = None) -> Comparison:
    """Compare an estimate (estimate.json or its folder) with CAD, on the combinations that torque can show.

    robot: its robot file, whose own inertials are compared with unless `cad` names a table. Raises InputError without
    a robot, RobotError, CadError, and ModelError for an estimate of another robot.
    """
    from ident.compare import compare_with

    found = load_estimate(estimate)
    if robot is None:
        raise InputError("no robot is given", key="--robot", fix="Add --robot with the robot file of the estimate")
    arm = read_robot(robot)
    if cad is not None:
        table = read_cad(cad)
        require_consistent(table)
        return compare_with(found, table.for_robot(arm), table.joint_values, Path(cad).name)
    if arm.inertials is None:
        raise CadError("gives no inertials to compare with", file=robot, fix="Add --cad with a CAD table")
    return compare_with(found, arm.inertials, {}, Path(robot).name)


def validate(estimate: str | Path, experiment: Experiment | str | Path, tell: Tell = silent) -> Result:
    """Predict the recordings that an experiment keeps for validation, and keep the verdict in the estimate's file.

    The result's `path` is that file, None where the verdict says nothing new. Raises ConfigError where no recordings
    are kept or the estimate is of another model, and what `load` raises.
    """
    from ident.export import with_validation
    from ident.export.gate import VERDICT

    found, warned = load_estimate(estimate), list[Warned]()
    loaded = load(experiment)
    validation = validated(loaded, found, None, warned, tell)
    if validation is None:
        file = loaded.experiment.file
        raise ConfigError("no recording is kept for validation", file=file, key="recordings.validate")
    judged, kept = with_validation(found, validation), None
    if VERDICT in judged.provenance:
        kept = estimate_file(estimate)
        save_estimate(judged, kept)
    return Result(loaded, judged, validation=validation, warnings=tuple(warned), path=kept)


def report(
    estimate: str | Path,
    experiment: Experiment | str | Path,
    out: str | Path,
    *,
    figures: Path | None = None,
    tell: Tell = silent,
    command: str = "",
) -> Result:
    """Write the report of an estimate on its experiment to `out` (.html, .pdf).

    figures: folder for every figure as PNG and SVG. Raises InputError for another ending, ConfigError for an estimate
    of another model, and what `load` raises.
    """
    from ident.report.page import known_format

    known_format(out)
    found, warned = load_estimate(estimate), list[Warned]()
    loaded = load(experiment)
    require_same_model(loaded, found)
    validation = validated(loaded, found, None, warned, tell)
    comparison, truth = compared(loaded, found), truth_of(loaded, found)
    result = Result(loaded, found, None, comparison, validation, truth, tuple(warned), path=Path(out))
    reported(result, Path(out), command, figures)
    return result


def export_results(loaded: Loaded, estimate: Estimate, folder: Path, failed: list[Failed]) -> list[Warned]:
    """Write parameters.json and robot.urdf to `folder`, as `ident export` does; return what their user has to know.

    Least squares has no links to write. What cannot or must not be written is added to `failed`.
    """
    from ident.export import export_to

    if estimate.theta is None:
        message = f"'{estimate.estimator}' determines base parameters only: no parameters.json and no robot.urdf"
        return [Warned("export", "export", message)]
    told = list[Warned]()
    for form, name in (("json", "parameters.json"), ("urdf", "robot.urdf")):
        source = urdf_source(loaded.experiment.robot) if form == "urdf" else None
        try:
            done = export_to(form, estimate, folder / name, robot=loaded.robot, source=source)
        except IdentError as cause:
            failed.append(Failed(name, cause))
        else:
            told += [Warned(name, "export", note) for note in done.notes]
    return told


def results_folder(experiment: Experiment) -> Path:
    """Return where the results go unless told otherwise: results/NAME beside the experiment's file."""
    return experiment.folder / "results" / experiment.name
