"""An experiment from its file to its results: one plain function per arrow of the data's way."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ident.arrays import Array
from ident.cad import read_source, require_consistent
from ident.errors import ConfigError, IdentError, InputError, ModelError, UnusableError, nearest
from ident.estimate import Estimate, Prior, cad_prior, neutral_prior
from ident.experiment import Experiment, build_model
from ident.files import whole_folder
from ident.logs import Log, LogReport, Manifest, Motion, Processing, check_log, locate, read_manifest
from ident.logs.fetch import file_sha256
from ident.logs.process import rounding_share
from ident.logs.stream import check_parts, iter_logs, iter_motions, read_whole
from ident.model import Model
from ident.model.term import KINDS
from ident.provenance import provenance, sha256
from ident.regression import BaseParameters, Regression, base_parameters, compress, save_regression
from ident.robot import Robot, read_robot, read_urdf
from ident.robot.file import data_path
from ident.robot.xml import parse_xml, read_bytes
from ident.spatial.inertia import INERTIAL

if TYPE_CHECKING:
    from ident.compare import Comparison, TruthComparison, Validation

#: A frame is another one when an axis or a point is farther off [1; m], which rounding is not.
SAME_FRAME = 1e-4
#: A delay is worth a warning when taking it out leaves less than this share of the residual.
WORTH = 0.98

#: The rounding of positions is worth a warning above this share of the acceleration: 1 % of an inertia.
ROUNDED = 0.1
#: Recordings with more numbers than this (rows times columns) are streamed in parts.
STREAM = 2**23
#: Kinds of `Warned` that say what is so without anything being wrong.
NOTES = ("coarse position", "repeated position", "irregular sampling", "torque filter", "export", "reading")
#: The step of a run that may fail after the fit and is no file.
VALIDATION = "validation"
FILES = ("estimate.json", "parameters.json", "robot.urdf", "factors.npz", "report.html")

#: The entry of an estimate's provenance that names the recordings it was fitted on.
FITTED = "fitted on"

#: Called with what is being done, how much of it is done, and how much there is.
Tell = Callable[[str, int, int], None]


def silent(doing: str, done: int, total: int) -> None:
    """Tell nobody."""


@dataclass(frozen=True, eq=False)
class Loaded:
    """An experiment with all it names read, except for the logs.

    cad (n, 10): link parameters that the result is compared with, None without; joint_values: CAD's values of joint
    terms by name; cad_source: where they come from. truth: true parameters by name. inputs: file -> SHA-256.
    notes: what was taken otherwise than it stands, or without being asked for.
    """

    experiment: Experiment
    robot: Robot
    model: Model
    base: BaseParameters
    manifest: Manifest
    prior: Prior
    cad: Array | None
    joint_values: Mapping[str, float]
    cad_source: str | None
    truth: Mapping[str, float] | None
    inputs: Mapping[str, str]
    notes: tuple[str, ...] = ()

    @property
    def slides(self) -> frozenset[str]:
        """Names of the prismatic joints."""
        return frozenset(j.name for j in self.robot.joints if j.kind == "prismatic")


@dataclass(frozen=True)
class Warned:
    """Something that the user should know: about which recording (or part of the work), what kind, and the sentence."""

    about: str
    kind: str
    message: str

    def __str__(self) -> str:
        return f"{self.about}: {self.message}"


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


def load(experiment: Experiment) -> Loaded:
    """Read the robot, the manifest, the CAD table and the truth, and check that they fit each other.

    Raises ConfigError for recordings, joints and links that the experiment names and that do not exist; RobotError,
    CadError and LogError from the files themselves.
    """
    robot = read_robot(experiment.robot)
    manifest = read_manifest(experiment.data)
    _known_recordings(experiment, manifest)
    inputs = {p.name: sha256(p) for p in (experiment.file, experiment.robot, experiment.data)}
    urdf = urdf_source(experiment.robot)
    if urdf is not None:
        inputs[urdf.name] = sha256(urdf)
    cad, joint_values, source = None, dict[str, float](), None
    notes = list(robot.notes)
    if isinstance(experiment.cad, Path):
        table = read_source(experiment.cad)
        require_consistent(table)
        cad, joint_values, source = _urdf_inertials(robot, experiment), dict(table.joint_values), experiment.cad.name
        cad = table.for_robot(robot) if cad is None else cad
        inputs[experiment.cad.name] = table.sha256
    elif experiment.cad == "robot":
        if robot.inertials is None or np.isnan(robot.inertials).all():
            raise ConfigError(
                f"is 'robot', but '{experiment.robot.name}' gives no inertials",
                file=experiment.file,
                key="experiment.cad",
                fix="Name a CAD table, or leave it out",
            )
        cad, source = robot.inertials, experiment.robot.name
    elif experiment.cad is None and robot.inertials is not None and not np.isnan(robot.inertials).all():
        cad, source, note = _own_inertials(robot, experiment.robot.name)
        notes.append(note)
    prior = neutral_prior(robot) if cad is None else cad_prior(robot, cad, source or "", joint_values)
    truth = None
    if experiment.truth is not None:
        truth = read_truth(experiment.truth, robot)
        inputs[experiment.truth.name] = sha256(experiment.truth)
    model = build_model(experiment, robot, None if cad is None else np.where(np.isnan(cad), prior.inertials, cad))
    _known_links(experiment, model)
    base = base_parameters(model)
    told = tuple(notes)
    return Loaded(experiment, robot, model, base, manifest, prior, cad, joint_values, source, truth, inputs, told)


def _own_inertials(robot: Robot, source: str) -> tuple[Array | None, str | None, str]:
    """Return the description's own inertials as CAD, where every link can exist, their source, and what to tell."""
    assert robot.inertials is not None
    try:
        cad_prior(robot, robot.inertials, source)
    except ModelError as cause:
        return None, None, f"the inertials of the robot's description are neither CAD nor prior: {cause.problem}"
    note = f"the inertials of '{source}' are the CAD column and the prior, as nothing else is given"
    return robot.inertials, source, f'{note}; cad = "FILE" in experiment.toml gives others, cad = false none'


def _urdf_inertials(robot: Robot, experiment: Experiment) -> Array | None:
    """Return the links' parameters (n, 10) where the experiment's CAD is a URDF, with all that is fixed to them.

    Raises ConfigError where its link frames are not the robot's.
    """
    path = experiment.cad
    if not isinstance(path, Path) or path.suffix.lower() not in (".urdf", ".xml"):
        return None
    if parse_xml(read_bytes(path), file=path.name).tag != "robot":
        return None
    other = read_urdf(path, keep=robot.joint_names)
    order = [other.joint_names.index(name) for name in robot.joint_names]
    for joint, found in zip(robot.joints, (other.joints[i] for i in order), strict=True):
        parts = [(joint.axis, found.axis), (joint.point, found.point)]
        if joint.parent >= 0:
            parts.append((joint.placement.matrix, found.placement.matrix))
        if any(np.abs(a - b).max() > SAME_FRAME for a, b in parts):
            raise ConfigError(
                f"the link frames of '{path.name}' are not those of '{experiment.robot.name}': joint '{joint.name}' "
                "stands elsewhere, so its numbers are about other points and axes",
                file=experiment.file,
                key="experiment.cad",
                fix=f"Use '{path.name}' as the robot, or give a CAD table in the robot's frames",
            )
    assert other.inertials is not None
    return np.asarray(other.inertials[order])


def urdf_source(robot_file: Path) -> Path | None:
    """Return the URDF that a robot file is, or names; None for a DH table."""
    if robot_file.suffix.lower() in (".urdf", ".xml"):
        return robot_file
    named = tomllib.loads(robot_file.read_text(encoding="utf-8")).get("urdf")
    return data_path(named, robot_file.parent) if isinstance(named, str) else None


def read_truth(path: Path, robot: Robot) -> dict[str, float]:
    """Return the true parameters by name [SI] from the table [parameters] of a TOML file.

    Raises ConfigError for names that belong to no link or joint of the robot, and for what is no number.
    """
    known = [f"{link}.{part}" for link in robot.links for part in INERTIAL]
    known += [f"{joint}.{term}" for joint in robot.joint_names for term in KINDS]
    try:
        given = tomllib.loads(path.read_text(encoding="utf-8")).get("parameters")
    except (OSError, ValueError, RecursionError) as cause:
        raise ConfigError(f"is no TOML file that can be read: {cause}", file=path) from None
    if not isinstance(given, dict):
        raise ConfigError("the table [parameters] is missing", file=path)
    for name, value in given.items():
        if name not in known:
            raise ConfigError(f"'{name}' is no parameter of '{robot.name}'{nearest(name, known)}", file=path)
        if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 1e12:
            raise ConfigError("wanted a finite number", file=path, key=f"parameters.{name}")
    return {name: float(value) for name, value in given.items()}


def motions(
    loaded: Loaded, recordings: Iterable[str], processing: Processing, warned: list[Warned], tell: Tell = silent
) -> Iterator[Motion]:
    """Yield the motions of some recordings, one after the other, large ones in parts, so that memory stays flat.

    What `check_log` finds is added to `warned`, except for what the processing takes care of. Raises LogError.
    """
    names = list(recordings)
    for number, name in enumerate(names):
        tell("reading logs", number, len(names))
        log, report = checked(loaded.manifest, name, loaded.robot, processing.derivative == "fourier")
        warned += _found(name, report, processing)
        warned += _rounded(log or next(iter_logs(loaded.manifest, name, loaded.robot)), report, processing)
        if log is None:
            yield from iter_motions(loaded.manifest, name, loaded.robot, processing)
        else:
            from ident.logs import process

            yield process(log, processing)
    tell("reading logs", len(names), len(names))


def checked(manifest: Manifest, name: str, robot: Robot, whole: bool = False) -> tuple[Log | None, LogReport]:
    """Return a recording, None where it is too long to be held at once (unless `whole`), and what is odd about it."""
    log = read_whole(manifest, name, robot, None if whole else STREAM)
    return log, check_parts(manifest, name, robot) if log is None else check_log(log, robot)


def fit(loaded: Loaded, warned: list[Warned], tell: Tell = silent, command: str = "") -> tuple[Estimate, Regression]:
    """Return the experiment's estimate and the factors it comes from; what to look at is added to `warned`.

    Raises LogError for the logs, EstimationError when the fit does not succeed.
    """
    experiment = loaded.experiment
    inputs = dict(loaded.inputs)
    for name in experiment.fit:
        for file in loaded.manifest.recording(name).files:
            inputs[file] = file_sha256(locate(loaded.manifest, file))
    told = len(warned)
    cut = experiment.processing.torque_hz
    if cut is not None and not experiment.processing.decimation:
        message = (
            f"the torque is low-passed (torque_hz = {cut:g}) and the model's side is not, which rounds off the corners"
            " of friction on one side only; decimation filters both alike"
        )
        warned.append(Warned("processing", "torque filter", message))

    repeated = set[str]()

    def watched() -> Iterator[Motion]:
        seen = set[str]()
        for motion in motions(loaded, experiment.fit, experiment.processing, warned, tell):
            if motion.name not in seen:
                warned.extend(_delayed(loaded, motion))
                seen.add(motion.name)
            if motion.stretches:
                repeated.add(motion.name)
            yield motion

    regression = compress(loaded.model, watched(), base=loaded.base)
    if repeated and len(regression.recordings) == 1:
        message = (
            "the log repeats one motion: segments are stretches of it with their repeats, and parts of that motion are"
            " what is left out to choose the weight of the prior; the error on others may be larger: fit more motions"
        )
        warned.append(Warned("fit on one motion", "one motion", message))
    tell("fitting", 0, 1)
    estimate = estimated(loaded, regression)
    tell("fitting", 1, 1)
    warned += [Warned("fit", message, message) for message in estimate.warnings]
    more = tuple(str(w) for w in warned[told:] if w.about != "fit")
    origin = {FITTED: ", ".join(experiment.fit)} | provenance(inputs, command or "ident fit")
    return replace(estimate, warnings=estimate.warnings + more, provenance=origin), regression


def estimated(loaded: Loaded, regression: Regression) -> Estimate:
    """Return the estimate by the experiment's estimator, weight and bounds."""
    from ident import estimate as estimators

    e = loaded.experiment
    if e.estimator == "ols":
        return estimators.ols(loaded.model, regression)
    if e.estimator == "wls":
        return estimators.wls(loaded.model, regression)
    weight = e.weight
    if weight is None:
        enough = len(regression.recordings) >= 3 or len(regression.segments) >= 4
        weight = "cross-validated" if enough else "vanishing"
    if weight == "cross-validated":
        return estimators.cross_validated(loaded.model, regression, loaded.prior, bounds=e.bounds)
    if weight == "vanishing":
        return estimators.closest_to_prior(loaded.model, regression, loaded.prior, bounds=e.bounds)
    return estimators.constrained(loaded.model, regression, loaded.prior, weight=float(weight), bounds=e.bounds)


def require_same_model(loaded: Loaded, estimate: Estimate) -> None:
    """Raise ConfigError when the estimate is of another model than the experiment's."""
    if estimate.base.standard != loaded.model.names:
        raise ConfigError(
            f"the estimate of '{estimate.robot}' has {len(estimate.base.standard)} parameters, this experiment's"
            f" model of '{loaded.robot.name}' has {len(loaded.model.names)}, and they must be the same ones",
            file=loaded.experiment.file,
            fix="Give the experiment that the estimate comes from, or fit again",
        )


def compare(loaded: Loaded, estimate: Estimate) -> Comparison | None:
    """Return CAD against the estimate, None for an experiment without CAD."""
    from ident.compare import compare_with

    if loaded.cad is None:
        return None
    require_same_model(loaded, estimate)
    return compare_with(estimate, loaded.cad, loaded.joint_values, loaded.cad_source or "")


def validate(
    loaded: Loaded, estimate: Estimate, fitted: Regression | None, warned: list[Warned], tell: Tell = silent
) -> Validation | None:
    """Return how well estimate and CAD predict the recordings kept for validation, None when there are none.

    fitted: the factors of the fit, where they are at hand; else the estimate's provenance says what it was fitted on.
    """
    from ident.compare import cad_theta
    from ident.compare import validate as predicted

    experiment = loaded.experiment
    if not experiment.validate:
        return None
    require_same_model(loaded, estimate)
    predictions = {"identified": estimate.phi}
    if loaded.cad is not None and not np.isnan(loaded.cad).any():
        predictions["CAD"], _ = cad_theta(loaded.model, loaded.cad, loaded.joint_values)
    seen = estimate.provenance.get(FITTED)
    validation = predicted(
        loaded.model,
        motions(loaded, experiment.validate, experiment.validation_processing, warned, tell),
        predictions,
        fitted=fitted or (None if seen is None else seen.split(", ")),
        base=loaded.base,
    )
    warned += [Warned("validation", "validation", message) for message in validation.warnings]
    return validation


def truth_of(loaded: Loaded, estimate: Estimate) -> TruthComparison | None:
    """Return the truth against the estimate, None for an experiment without truth."""
    from ident.compare import compare_truth

    return None if loaded.truth is None else compare_truth(estimate, loaded.truth)


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


def report(
    loaded: Loaded,
    estimate: Estimate,
    path: Path,
    *,
    comparison: Comparison | None,
    validation: Validation | None,
    truth: TruthComparison | None,
    command: str,
    regression: Regression | None = None,
    pictures: Path | None = None,
) -> None:
    """Write the report to `path` (HTML or PDF) and its figures to `pictures`, with the motions read once more."""
    from ident.report import write_report

    e = loaded.experiment
    write_report(
        path,
        estimate,
        model=loaded.model,
        fit_motions=_first_parts(loaded, e.fit, e.processing),
        validation_motions=() if validation is None else motions(loaded, e.validate, e.validation_processing, []),
        comparison=comparison,
        validation=validation,
        truth=truth,
        command=command,
        regression=regression,
        pictures=pictures,
    )


def _first_parts(loaded: Loaded, recordings: Iterable[str], processing: Processing) -> Iterator[Motion]:
    """Yield the motion of each recording, of a large one its first part."""
    for name in recordings:
        yield from islice(motions(loaded, [name], processing, []), 1)


def run(experiment: Experiment, out: Path | None = None, tell: Tell = silent, command: str = "") -> Result:
    """Do it all: read, check, fit, compare, validate, export, report. Files go to `out`, whole or not at all.

    `out`: by default results/NAME beside the experiment. Raises IdentError of some kind when there is no fit; then
    nothing is left behind. A fit is kept, with what could not be made of it in the result's `failed`.
    """
    from ident.estimate.storage import save_estimate
    from ident.export import with_validation

    loaded, warned, failed = load(experiment), list[Warned](), list[Failed]()
    with whole_folder(out or results_folder(experiment), FILES) as folder:
        estimate, regression = fit(loaded, warned, tell, command)
        comparison = compare(loaded, estimate)
        validation = None
        try:
            validation = validate(loaded, estimate, regression, warned, tell)
        except IdentError as cause:
            failed.append(Failed(VALIDATION, cause))
        estimate = with_validation(estimate, validation)  # a passed one lets the numbers out
        truth = truth_of(loaded, estimate)
        tell("writing results", 0, 1)
        save_regression(regression, folder / "factors.npz")
        save_estimate(estimate, folder / "estimate.json")
        warned += export_results(loaded, estimate, folder, failed)
        try:
            report(
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
    where = out or results_folder(experiment)
    return Result(loaded, estimate, regression, comparison, validation, truth, tuple(warned), tuple(failed), where)


def results_folder(experiment: Experiment) -> Path:
    """Return where the results go unless told otherwise: results/NAME beside the experiment's file."""
    return experiment.folder / "results" / experiment.name


# ---- checks --------------------------------------------------------------------------------------------------------


def _known_recordings(experiment: Experiment, manifest: Manifest) -> None:
    known = [r.name for r in manifest.recordings]
    for key, names in (("fit", experiment.fit), ("validate", experiment.validate)):
        for name in names:
            if name not in known:
                raise ConfigError(
                    f"'{manifest.file.name}' has no recording '{name}'{nearest(name, known)}",
                    file=experiment.file,
                    key=f"recordings.{key}",
                    fix=f"It has {', '.join(known)}",
                )


def _known_links(experiment: Experiment, model: Model) -> None:
    robot, bounds = model.robot, experiment.bounds
    alike = [link for group in bounds.equal for link in group]
    places = {"mass": bounds.mass, "com": bounds.com, "box": bounds.box, "ellipsoid": bounds.ellipsoid, "equal": alike}
    for key, links in places.items():
        for link in links:
            if link not in robot.links:
                raise ConfigError(
                    f"robot '{robot.name}' has no link '{link}'{nearest(link, robot.links)}",
                    file=experiment.file,
                    key=f"fit.bounds.{key}",
                    fix=f"Its moving links are {', '.join(robot.links)}",
                )
    known = {*model.names, *(f"{link}.c{axis}" for link in robot.links for axis in "xyz")}
    for name in bounds.pinned:
        if name not in known:
            raise ConfigError(
                f"the model has no parameter '{name}'{nearest(name, known)}",
                file=experiment.file,
                key="fit.bounds.pinned",
                fix=f"Pin {robot.links[0]}.m (kg), {robot.links[0]}.cx (m) and the like",
            )
    try:
        bounds.check(robot)
    except InputError as cause:
        raise ConfigError(cause.problem, file=experiment.file, key="fit.bounds", fix=cause.fix) from None


def _found(name: str, report: LogReport, processing: Processing) -> list[Warned]:
    """Return what is odd about a recording, except for what the processing takes care of."""
    answered = {"coarse position"}  # told by what is left of it
    if processing.resample_hz is not None:
        answered |= {"irregular sampling"}
    return [Warned(name, f.kind, f.message) for f in report.findings if f.kind not in answered]


def _rounded(log: Log, report: LogReport, processing: Processing) -> Iterator[Warned]:
    """Say how much of a recording's (or its first part's) accelerations is the rounding of coarse positions."""
    if processing.velocity == "measured" or not any(f.kind == "coarse position" for f in report.findings):
        return
    shares = rounding_share(log, processing, [step or 0.0 for step in report.quantum])
    told = [f"'{j}' {100 * s:.2g} %" for j, s in zip(log.joints, shares, strict=True) if s > 0.0]
    if told:
        message = f"of the acceleration, as processed, the steps of the position are {', '.join(told)}"
        worst = min(float(np.nanmax(shares)), 1.0)
        if worst > ROUNDED:
            message += f": inertias come out up to {100 * worst**2:.2g} % too small; low-pass the position more"
        yield Warned(log.name, "rounded position" if worst > ROUNDED else "coarse position", message)


def _delayed(loaded: Loaded, motion: Motion) -> Iterator[Warned]:
    """Warn where torque lags position, or leads it, by more than half a sample, and the residual shows it."""
    from ident.compare.delay import delays

    step = float(np.median(np.diff(motion.t)))
    found = delays(loaded.model, motion, base=loaded.base)
    for joint, delay, gain in zip(loaded.robot.joint_names, found.seconds, found.gain, strict=True):
        if abs(delay) > 0.5 * step and gain < WORTH:
            verb = "lags" if delay > 0 else "leads"
            yield Warned(
                motion.name,
                "delay",
                f"torque of '{joint}' {verb} position by {abs(delay) * 1e3:.3g} ms ({abs(delay) / step:.1f} samples;"
                f" without it the residual falls by {100 * (1 - gain):.0f} %); set delay_s if the recorder causes it",
            )
