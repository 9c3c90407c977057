"""An experiment from its file to the folder of its results, and what is written of estimates."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from ident.cad import read_cad, require_consistent
from ident.errors import CadError, EstimationError, IdentError, InputError, LogError, ModelError, RobotError
from ident.estimate import Estimate
from ident.estimate.storage import estimate_file, load_estimate, save_estimate
from ident.experiment import Experiment
from ident.files import dated, names_folder, whole_folder, write_whole
from ident.pipelines.calibration import with_calibration, with_late_torques
from ident.pipelines.cluster import sharing
from ident.pipelines.compressed import compressed
from ident.pipelines.estimated import experiment_of, made_from, origin_of, require_apart, results_folder, sources_of
from ident.pipelines.factors import (
    Factors,
    as_compressed,
    filtered_apart,
    fitted,
    joined,
    load_factors,
    missing,
    pooled,
    save_factors,
)
from ident.pipelines.loaded import Loaded, described_in, load
from ident.pipelines.select import loads_otherwise, with_load, with_springs, with_terms, without_idle
from ident.pipelines.steps import Failed, Result, Warned, compared, log_warned, reported, truth_of, unusable
from ident.pipelines.validated import cut_up, in_stretches, validated, validated_anew
from ident.pipelines.wishes import ExportWishes, Sharing
from ident.robot import read_robot
from ident.tell import Tell, logged

if TYPE_CHECKING:
    from distributed import Client

    from ident.compare import Comparison
    from ident.export import Exported
    from ident.pipelines.doctor import Anew

#: The step of a run that may fail after the fit and is no file.
VALIDATION = "validation"
#: How often torques are asked by how much they are late, each time with friction chosen for what was found.
LATER = 4
_UNEDITED, _ALONE = ExportWishes(), Sharing()
FILES = ("estimate.json", "parameters.json", "robot.urdf", "robot.xml", "factors.npz", "report.html")


def run(
    experiment: Experiment | str | Path,
    out: str | Path | None = None,
    tell: Tell = logged,
    command: str = "",
    *,
    share: Sharing = _ALONE,
) -> Result:
    """Do it all: read, check, fit, compare, validate, export, report. Files go to `out`, whole or not at all.

    `out`: by default results/NAME beside the experiment. share: who reads the logs. Raises IdentError of some kind when
    there is no fit; then nothing is left behind. A fit is kept, with what could not be made of it in the result's
    `failed`.
    """
    return in_stretches(load(experiment), lambda loaded, told: _run(loaded, told, out, tell, command, share))


def _run(loaded: Loaded, told: list[Warned], out: str | Path | None, tell: Tell, command: str, by: Sharing) -> Result:
    from ident.export import with_validation

    start, before = loaded, list(told)
    where = Path(out) if out else results_folder(loaded.experiment)
    for name in FILES:
        require_apart(where / name, sources_of(loaded.experiment))
    with whole_folder(where, FILES) as folder:
        with sharing(by) as client:
            loaded = with_calibration(with_terms(loaded, told, tell), told, tell)
            factors, result, anew = _judged(loaded, told, tell, command, client)
            if anew.prior is not None and loads_otherwise(anew.prior, start.prior) and start.cad is not None:
                start = replace(start, prior=anew.prior)  # friction was chosen with the load of a wrong table
                told[:] = before
                loaded = with_calibration(with_terms(start, told, tell), told, tell)
                factors, result, anew = _judged(loaded, told, tell, command, client)
            while anew.springs:  # each one that is found is in the model next time
                start = with_springs(start, anew.springs, before)
                told[:] = before
                loaded = with_calibration(with_terms(start, told, tell), told, tell)
                factors, result, anew = _judged(loaded, told, tell, command, client)
            again = _read_late(start, anew.late, before, tell, command, client) if anew.late else None
            if again is not None and _better(again[2].estimate, result.estimate):
                loaded, factors, result, told = again
            if (leaner := without_idle(loaded, result.estimate, told)) is not None:
                loaded = leaner
                factors, result, _ = _judged(loaded, told, tell, command, client)
        loaded, estimate = result.loaded, result.estimate
        warned, failed = list(result.warnings), list(result.failed)
        if not estimate.causes:
            from ident.pipelines.own_model import advised

            own, more = advised(loaded, estimate, tell)
            warned += more
            estimate = replace(estimate, causes=own, warnings=(*estimate.warnings, *map(str, more)))
        estimate = with_validation(estimate, result.validation)  # a passed one lets the numbers out
        result = replace(result, estimate=estimate, truth=truth_of(loaded, estimate), path=where)
        tell("writing results", 0, 1)
        save_factors(factors, folder / "factors.npz", command)
        save_estimate(estimate, folder / "estimate.json")
        warned += export_results(loaded, estimate, folder, failed)
        try:
            reported(result, folder / "report.html", command)
        except IdentError as cause:
            failed.append(Failed("report.html", cause))
        tell("writing results", 1, 1)
    log_warned(warned)
    return replace(result, warnings=tuple(warned), failed=tuple(failed))


def _read_late(
    start: Loaded, late: float, told: list[Warned], tell: Tell, command: str, client: Client | None
) -> tuple[Loaded, Factors, Result, list[Warned]] | None:
    """Return the experiment with torques read as so late [s], friction chosen anew, its factors, fit, and what to say.

    What friction makes up for hides a part of it, so it is asked again; None where something is still wrong then.
    """
    for _ in range(LATER):
        said = list(told)
        loaded = with_terms(with_late_torques(start, late, said), said, tell)
        factors, result, more = _judged(loaded, said, tell, command, client)
        if not more.late:
            return None if result.estimate.causes else (loaded, factors, result, said)
        late += more.late
    return None


def _better(late: Estimate, before: Estimate) -> bool:
    """Return whether torques read as late leave less than the filter that was sure before: else it is one."""
    from ident.compare.causes.mistakes import BLURRED, LATE

    filters = [c for c in before.causes if BLURRED in c.what and not any(LATE in rival for rival in c.rivals)]
    return all(late.relative_total < c.total[1] for c in filters)


def _judged(
    loaded: Loaded, told: list[Warned], tell: Tell, command: str, client: Client | None
) -> tuple[Factors, Result, Anew]:
    """Return factors, their fit with its validation and what is wrong with it, and what it is to be fitted with anew.

    Late torques where nothing else is wrong and nobody has said how signals are read; springs without a [model].
    """
    from ident.pipelines.doctor import Anew, doctored

    factors = compressed(loaded, told, tell, client)
    result = _predicting(loaded, factors, tell, command)
    anew: Anew | None = None
    # what accelerations of few rows lack looks like mistakes of many kinds
    few = any(w.kind == "few rows" for w in result.warnings)
    if not few and not unusable(result.warnings):  # a torque that is no measurement says nothing of files
        estimate, of_table, anew = doctored(result, tell)
        if anew is not None and anew.prior is not None:
            right = replace(loaded, prior=anew.prior)
            model = with_load(loaded.model, anew.prior.inertials)
            if loaded.experiment.own_model and model.terms != loaded.model.terms:  # else friction is chosen anew
                right = replace(right, model=model)
                factors = compressed(right, told, tell, client)
            result = _predicting(right, factors, tell, command)
            estimate = replace(result.estimate, noted=estimate.noted, causes=())
        estimate = replace(estimate, warnings=(*map(str, of_table), *estimate.warnings))
        result = replace(result, estimate=estimate, warnings=(*result.warnings, *of_table)).without_advice()
    experiment = loaded.experiment
    by_hand = experiment.processing or experiment.by_hand or experiment.calibrate
    late, springs, prior = (anew.late, anew.springs, anew.prior) if anew else (0.0, {}, None)
    own = experiment.own_model
    return factors, result, Anew(0.0 if by_hand else late, {} if own else springs, None if own else prior)


def _predicting(loaded: Loaded, factors: Factors, tell: Tell, command: str) -> Result:
    """Return the fit of factors with what it predicts, or with why it could not be predicted."""
    warned = list[Warned]()
    estimate = _fitted(loaded, factors, warned, tell, command)
    result = Result(loaded, estimate, factors.regression, compared(loaded, estimate))
    try:
        result = replace(result, validation=validated(loaded, estimate, factors.regression, warned, tell))
    except IdentError as cause:
        if isinstance(cause, LogError) and cut_up(loaded)[1]:
            raise
        result = replace(result, failed=(Failed(VALIDATION, cause),))
    return replace(result, warnings=tuple(warned))


def _fitted(loaded: Loaded, factors: Factors, warned: list[Warned], tell: Tell, command: str) -> Estimate:
    """Return the estimate; EstimationError that names the mistake in robot file or logs where one is found."""
    from ident.pipelines.doctor import causes_of, examination

    try:
        return fitted(loaded, factors, warned, tell, command)
    except EstimationError as failed:
        causes = causes_of(examination(loaded, tell), loaded)
        if not causes:
            raise
        raise EstimationError(f"mend first: {causes[0]}. Else {failed}", estimate=failed.estimate) from failed


def fit(
    experiment: Experiment | str | Path,
    out: str | Path | None = None,
    tell: Tell = logged,
    command: str = "",
    *,
    factors: Sequence[str | Path] = (),
    share: Sharing = _ALONE,
) -> Result:
    """Fit an experiment, and write the estimate to the file `out`, where one is named.

    factors: files of factors, or patterns such as 'many/*.npz', which are fitted in place of the experiment's own logs.
    share: who reads the logs.
    Raises what `load` raises, LogError for the logs, RegressionError for factors that cannot be used or are of another
    model, EstimationError when the fit does not succeed.
    """
    warned = list[Warned]()
    if factors:
        loaded = load(experiment)
        _require_logs(loaded)
        found = pooled(loaded, factors, tell)
        loaded = as_compressed(loaded, found)
    else:
        loaded, found = _compressed(experiment, tell, share)
    estimate = fitted(loaded, found, warned, tell, command)
    if out is not None:
        save_estimate(estimate, out)
    log_warned(warned)
    return Result(loaded, estimate, found.regression, warnings=tuple(warned), path=None if out is None else Path(out))


def compress(
    experiment: Experiment | str | Path,
    out: str | Path,
    tell: Tell = logged,
    command: str = "",
    *,
    append: str | Path | None = None,
    share: Sharing = _ALONE,
) -> Factors:
    """Compress an experiment's fitted recordings to factors and write them to the file `out` (NPZ).

    append: factors that were written before, to which those of recordings that are not in it are added; its friction
    and filters hold where the experiment leaves them open. share: who reads the logs. Raises what `load` raises,
    LogError for the logs, RegressionError where `append` cannot be used or is of another model.
    """
    _require_logs(load(experiment))
    if append is None:
        found = _compressed(experiment, tell, share)[1]
    else:
        found = load_factors(append)
        left = missing(as_compressed(load(experiment), found), found, append)
        if left is not None:
            with sharing(share) as client:
                found = joined([found, compressed(left, (), tell, client)])
    save_factors(found, out, command)
    log_warned([*found.warned, *filtered_apart(found)])
    return found


def _compressed(experiment: Experiment | str | Path, tell: Tell, share: Sharing) -> tuple[Loaded, Factors]:
    """Return an experiment, with the friction and calibration that its logs ask for, and its factors."""
    loaded, told = load(experiment), list[Warned]()
    with sharing(share) as client:
        loaded = with_calibration(with_terms(loaded, told, tell), told, tell)
        return loaded, compressed(loaded, told, tell, client)


def _require_logs(loaded: Loaded) -> None:
    """Raise ConfigError where [calibrate] would need logs that factors do not hold."""
    if loaded.experiment.calibrate is not None:
        problem = "needs the logs themselves, and factors hold the model as it is described"
        raise loaded.experiment.error(problem, "calibrate", "Leave it out, or use `ident fit` without --factors")


def robot_and_cad(
    estimate: str | Path, robot: str | Path | None, cad: str | Path | None
) -> tuple[str | Path, str | Path | None]:
    """Return a robot file and a CAD table, where none is given those of the experiment that an estimate comes from.

    Raises InputError where that is not there.
    """
    if robot is None and (origin := origin_of(estimate)) is not None:
        return origin.robot, cad or (origin.cad if isinstance(origin.cad, Path) else None)
    if robot is None:
        raise InputError("no robot is given", key="--robot", fix="Add --robot with the robot file of the estimate")
    return robot, cad


def compare(estimate: str | Path, robot: str | Path | None = None, cad: str | Path | None = None) -> Comparison:
    """Compare an estimate (estimate.json or its folder) with CAD, on the combinations that torque can show.

    robot: its robot file, whose own inertials are compared with unless `cad` names a table; without, both are those of
    the experiment that the estimate comes from, as they are now. Raises InputError where that is not there, RobotError,
    CadError, and ModelError for an estimate of another robot.
    """
    from ident.compare import compare_with

    found = load_estimate(estimate)
    robot, cad = robot_and_cad(estimate, robot, cad)
    arm = read_robot(robot)
    if cad is not None:
        table = read_cad(cad)
        require_consistent(table)
        return compare_with(found, table.for_robot(arm), table.joint_values, Path(cad).name, arm)
    if arm.inertials is None:
        raise CadError("gives no inertials to compare with", file=robot, fix="Add --cad with a CAD table")
    return compare_with(found, arm.inertials, {}, Path(robot).name, arm)


def validate(estimate: str | Path, experiment: Experiment | str | Path, tell: Tell = logged) -> Result:
    """Predict the recordings that an experiment keeps for validation, and keep the verdict in the estimate's file.

    The result's `path` is that file, None where the verdict says nothing new. Raises ConfigError where no recordings
    are kept or the estimate is of another model, and what `load` raises.
    """
    from ident.export import with_validation
    from ident.export.gate import VERDICT

    result = validated_anew(load(experiment), load_estimate(estimate), tell)
    if result.validation is None:
        raise result.loaded.experiment.error("no recording is kept for validation", "recordings.validate")
    judged, kept = with_validation(result.estimate, result.validation), None
    if VERDICT in judged.provenance:
        kept = estimate_file(estimate)
        save_estimate(judged, kept)
    result = replace(result, estimate=judged, path=kept).without_advice()
    log_warned(result.warnings)
    return result


def report(
    estimate: str | Path,
    experiment: Experiment | str | Path | None,
    out: str | Path,
    *,
    figures: Path | None = None,
    summary: bool = False,
    tell: Tell = logged,
    command: str = "",
) -> Result:
    """Write the report of an estimate on its experiment to `out` (.html, .pdf).

    experiment: None for the one that it comes from, where that is still there.
    summary: one page alone, with the verdict, the main figures and one picture. figures: folder for every figure as
    PNG and SVG. Raises InputError for another ending, ConfigError for an estimate of another model, and what `load`
    raises.
    """
    from ident.report.page import known_format

    known_format(out, figures)
    loaded = load(experiment_of(estimate) if experiment is None else experiment)
    result = validated_anew(loaded, load_estimate(estimate), tell).without_advice()
    known = result.loaded, result.estimate
    result = replace(result, comparison=compared(*known), truth=truth_of(*known), path=Path(out))
    reported(result, Path(out), command, figures, summary=summary)
    log_warned(result.warnings)
    return result


def export_results(loaded: Loaded, estimate: Estimate, folder: Path, failed: list[Failed]) -> list[Warned]:
    """Write parameters.json and robot.urdf (of an MJCF robot.xml) to `folder`; return what their user has to know.

    Least squares has no links to write. What cannot or must not be written is added to `failed`.
    """
    from ident.export import export_to

    if estimate.theta is None:
        message = f"'{estimate.estimator}' determines base parameters only: no parameters.json and no robot.urdf"
        return [Warned("export", "export", message)]
    told = list[Warned]()
    model = "urdf" if described_in(loaded.experiment.robot, "mjcf") is None else "mjcf"
    for form, name in (("json", "parameters.json"), (model, "robot.urdf" if model == "urdf" else "robot.xml")):
        try:
            source = described_in(loaded.experiment.robot, form)
            arm = loaded.described or loaded.robot
            done = export_to(form, estimate, folder / name, robot=arm, source=source)
        except IdentError as cause:
            failed.append(Failed(name, cause))
        else:
            told += [Warned(name, "export", note) for note in done.notes]
    return told


def export(
    formats: Sequence[str], estimate: str | Path, out: str | Path | None = None, wishes: ExportWishes = _UNEDITED
) -> tuple[Exported, ...]:
    """Write identified parameters for controllers, simulators and toolboxes, in all formats or none.

    formats: names of `ident.export.formats`. out: of one format a file, else a folder of ROBOT + ending; by default
    the working folder. Without a robot: the one that the estimate comes from, where that is still there. Raises
    InputError for what cannot be meant, UnusableError where the gate of the exports forbids it.
    """
    from ident.export.formats import export_to, file_name, format_named

    known = [format_named(name) for name in dict.fromkeys(formats)]
    several = len(known) > 1
    if several and wishes.edit is not None:
        raise InputError("is for one format", key="--edit", fix="Export that one by itself")
    if several and out is not None and Path(out).is_file():
        raise InputError("is a file, and several formats are written", key="--out", fix="Name a folder")
    found = load_estimate(estimate)
    origin = origin_of(estimate) if wishes.robot is None else None
    wishes = wishes if origin is None else replace(wishes, robot=origin.robot)
    arm = None if wishes.robot is None else read_robot(wishes.robot)
    folder = Path() if out is None else Path(out) if several or names_folder(out) else None
    when = dated(wishes.date)
    made, read = [], [x for key, x in found.provenance.items() if key.startswith("sha256 ")]
    sources = (*made_from(estimate), wishes.robot, wishes.edit)
    with TemporaryDirectory() as work:
        for one in known:
            source = wishes.edit or (described_in(wishes.robot, one.name) if wishes.robot else None)
            at, free = Path(work) / one.name, wishes.unvalidated
            place = Path(out or "") if folder is None else folder / file_name(one, found.robot)
            require_apart(place, sources, read)
            try:
                done = export_to(
                    one.name, found, at, robot=arm, source=source, when=when, unvalidated=free, folder=place.parent
                )
            except (ModelError, RobotError) as cause:
                problem = f"{one.name}: {cause.problem}" if several else cause.problem
                fix = cause.fix or ("Nothing was written; leave this format out" if several else None)
                if arm is None and "--robot" in (fix or ""):
                    command = ["ident", "export", ",".join(formats), str(estimate), "--robot", "robot.toml"]
                    fix = f"Give the robot that was identified: {shlex.join(command)}"
                raise type(cause)(problem, file=cause.file, line=cause.line, key=cause.key, fix=fix) from cause
            made.append((replace(done, path=place), done.path.read_bytes()))
    return tuple(replace(done, path=write_whole(done.path, content)) for done, content in made)
