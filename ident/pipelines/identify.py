"""An experiment from its file to the folder of its results."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ident.cad import read_cad, require_consistent
from ident.errors import CadError, ConfigError, IdentError, InputError, UnusableError
from ident.estimate import Estimate
from ident.experiment import Experiment
from ident.files import whole_folder
from ident.pipelines.loaded import Loaded, load, urdf_source
from ident.pipelines.steps import compared, fitted, reported, truth_of, validated
from ident.pipelines.warned import Warned
from ident.regression import Regression, save_regression
from ident.robot import read_robot
from ident.tell import Tell, silent

if TYPE_CHECKING:
    from ident.compare import Comparison, TruthComparison, Validation

#: The step of a run that may fail after the fit and is no file.
VALIDATION = "validation"
FILES = ("estimate.json", "parameters.json", "robot.urdf", "factors.npz", "report.html")


@dataclass(frozen=True)
class Failed:
    """What could not be made of a finished fit, a file or its validation, and why."""

    name: str
    cause: IdentError

    @property
    def refused(self) -> bool:
        """Whether it could be made, and the gate of the exports forbids it."""
        return isinstance(self.cause, UnusableError)


@dataclass(frozen=True, eq=False)
class Result:
    """What `run` found, what could not be made of it, and the folder that it wrote."""

    loaded: Loaded
    estimate: Estimate
    regression: Regression
    comparison: Comparison | None
    validation: Validation | None
    truth: TruthComparison | None
    warnings: tuple[Warned, ...]
    failed: tuple[Failed, ...]
    folder: Path


@dataclass(frozen=True, eq=False)
class Fitted:
    """An estimate, the experiment and the factors that it comes from, and what to look at."""

    loaded: Loaded
    estimate: Estimate
    regression: Regression
    warnings: tuple[Warned, ...]


@dataclass(frozen=True, eq=False)
class Validated:
    """An estimate with the verdict of its validation, which is kept in `file` (None: it says nothing new)."""

    estimate: Estimate
    validation: Validation
    file: Path | None
    warnings: tuple[Warned, ...]


def run(
    experiment: Experiment | str | Path, out: str | Path | None = None, tell: Tell = silent, command: str = ""
) -> Result:
    """Do it all: read, check, fit, compare, validate, export, report. Files go to `out`, whole or not at all.

    `out`: by default results/NAME beside the experiment. Raises IdentError of some kind when there is no fit; then
    nothing is left behind. A fit is kept, with what could not be made of it in the result's `failed`.
    """
    from ident.estimate.storage import save_estimate
    from ident.export import with_validation

    loaded, warned, failed = load(experiment), list[Warned](), list[Failed]()
    where = Path(out) if out else results_folder(loaded.experiment)
    with whole_folder(where, FILES) as folder:
        estimate, regression = fitted(loaded, warned, tell, command)
        comparison = compared(loaded, estimate)
        validation = None
        try:
            validation = validated(loaded, estimate, regression, warned, tell)
        except IdentError as cause:
            failed.append(Failed(VALIDATION, cause))
        estimate = with_validation(estimate, validation)  # a passed one lets the numbers out
        truth = truth_of(loaded, estimate)
        tell("writing results", 0, 1)
        save_regression(regression, folder / "factors.npz")
        save_estimate(estimate, folder / "estimate.json")
        warned += export_results(loaded, estimate, folder, failed)
        try:
            reported(
                loaded,
                estimate,
                folder / "report.html",
                comparison=comparison,
                validation=validation,
                truth=truth,
                command=command,
                regression=regression,
            )
        except IdentError as cause:
            failed.append(Failed("report.html", cause))
        tell("writing results", 1, 1)
    return Result(loaded, estimate, regression, comparison, validation, truth, tuple(warned), tuple(failed), where)


def fit(
    experiment: Experiment | str | Path, out: str | Path | None = None, tell: Tell = silent, command: str = ""
) -> Fitted:
    """Fit an experiment, and write the estimate to the file `out`, where one is named.

    Raises what `load` raises, LogError for the logs, EstimationError when the fit does not succeed.
    """
    from ident.estimate.storage import save_estimate

    loaded, warned = load(experiment), list[Warned]()
    estimate, regression = fitted(loaded, warned, tell, command)
    if out is not None:
        save_estimate(estimate, out)
    return Fitted(loaded, estimate, regression, tuple(warned))


def compare(estimate: str | Path, robot: str | Path | None, cad: str | Path | None = None) -> Comparison:
    """Compare an estimate (estimate.json or its folder) with CAD, on the combinations that torque can show.

    robot: its robot file, whose own inertials are compared with unless `cad` names a table. Raises InputError without
    a robot, RobotError, CadError, and ModelError for an estimate of another robot.
    """
    from ident.compare import compare_with
    from ident.estimate.storage import load_estimate

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


def validate(estimate: str | Path, experiment: Experiment | str | Path, tell: Tell = silent) -> Validated:
    """Predict the recordings that an experiment keeps for validation, and keep the verdict in the estimate's file.

    Raises ConfigError where none are kept or the estimate is of another model, and what `load` raises.
    """
    from ident.estimate.storage import estimate_file, load_estimate, save_estimate
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
    return Validated(judged, validation, kept, tuple(warned))


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
