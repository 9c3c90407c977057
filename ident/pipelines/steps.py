"""From an experiment that is loaded to its results, step by step; what came of it, and what to look at."""

from __future__ import annotations

import logging
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import islice
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from ident.arrays import Array
from ident.errors import ConfigError, IdentError, UnusableError, cut, require_known
from ident.estimate import Estimate
from ident.experiment import Experiment
from ident.logs import Log, LogReport, Manifest, Motion, Processing, check_log, iter_logs, iter_motions
from ident.logs.automatic import OPEN, SPARSE, band_alone, reaching
from ident.logs.check import END, NOTES, START, together
from ident.logs.manifest import Recording
from ident.logs.motion import segment_length, split
from ident.logs.process import noise_share
from ident.pipelines.loaded import Loaded, shapes_of
from ident.regression import Regression, base_parameters
from ident.regression.compress import Known
from ident.robot import Robot
from ident.robot.unknown import Calibrated, applied, by_kind, corrected_robot
from ident.tell import LOG, Tell, logged

if TYPE_CHECKING:
    from ident.compare import Comparison, TruthComparison, Validation
    from ident.compare.settled import CutOffs

#: Kinds of findings of torques that are no measurement of what the motors did, and of time: no fit makes up for them.
UNUSABLE = ("constant torque", "copied torque", "cut-off torque", "unsigned torque", "start transient", "clock")
#: Kinds of advice that a mistake in robot file or logs makes void: residuals and the choice of filters follow from it.
VOID = ("delay", "rounded position", "more terms")


@dataclass(frozen=True)
class Warned:
    """Something that the user should know: about which recording (or part of the work), what kind, and the sentence."""

    about: str
    kind: str
    message: str

    def __str__(self) -> str:
        return f"{self.about}: {self.message}"


def log_warned(warned: Sequence[Warned]) -> None:
    """Log what the user should know: the same of several recordings once, and the first of a kind (of files, all)."""
    once: dict[tuple[str, str], dict[str, None]] = {}
    for w in warned:
        once.setdefault((w.kind, w.message), {})[w.about] = None
    groups: dict[tuple[str, str], list[str]] = {}
    for (kind, message), about in once.items():
        groups.setdefault((", ".join(about), kind), []).append(message)
    for (recordings, kind), same in groups.items():
        shown = same if kind == "export" else same[:1]
        more = f" ({len(same) - 1} more like it: in the report)" if len(same) > len(shown) else ""
        for message in shown:
            LOG.log(logging.INFO if kind in NOTES else logging.WARNING, "%s: %s%s", recordings, message, more)


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
    """An experiment, its estimate, and what else was asked for: None where that is nothing.

    regression: the factors that were fitted. warnings: what to look at. failed: what could not be made of the fit.
    path: the folder or file that was written.
    """

    loaded: Loaded
    estimate: Estimate
    regression: Regression | None = None
    comparison: Comparison | None = None
    validation: Validation | None = None
    truth: TruthComparison | None = None
    warnings: tuple[Warned, ...] = ()
    failed: tuple[Failed, ...] = ()
    path: Path | None = None

    def without_advice(self) -> Result:
        """Return the result without advice that its named causes make void.

        What rounded positions do below a cut-off that somebody set, or without one, is so whatever else is wrong.
        """
        if not self.estimate.causes:
            return self
        experiment = self.loaded.experiment
        chosen = experiment.processing is None and "position_hz" in (experiment.by_hand or OPEN)[0].left
        void = [w for w in self.warnings if w.kind in VOID and (chosen or w.kind != "rounded position")]
        said = set(map(str, void))
        estimate = replace(self.estimate, warnings=tuple(w for w in self.estimate.warnings if w not in said))
        return replace(self, estimate=estimate, warnings=tuple(w for w in self.warnings if w not in void))

    def figures(self) -> dict[str, float]:
        """Return all figures by the names that [expected] uses.

        `base_parameters`, `condition`, `condition_scaled`; `fit` and `fit.JOINT`: relative error of the fit [1];
        `RECORDING` and `RECORDING.JOINT`: relative error on a validation recording; `phi.NAME`: a base parameter [SI];
        `se.NAME`: its standard error; `theta.NAME`: a standard parameter; `mass.largest` [kg].
        """
        e = self.estimate
        found = {"base_parameters": float(len(e.phi)), "condition": e.condition, "condition_scaled": e.condition_scaled}
        found["fit"] = e.relative_total
        found |= {f"fit.{joint}": float(x) for joint, x in zip(e.joints, e.relative, strict=True)}
        found |= {f"phi.{name}": float(x) for name, x in zip(e.base.names, e.phi, strict=True)}
        errors = e.covariance.standard_errors
        found |= {f"se.{name}": float(x) for name, x in zip(e.base.names, errors, strict=True)}
        if e.theta is not None and e.inertials is not None:
            found |= {f"theta.{name}": float(x) for name, x in zip(e.base.standard, e.theta, strict=True)}
            found["mass.largest"] = float(e.inertials[:, 0].max())
        for recording in self.validation.recordings if self.validation else ():
            predicted = recording.of("identified")
            found[recording.recording] = predicted.relative_total
            for joint, x in zip(e.joints, predicted.relative, strict=True):
                found[f"{recording.recording}.{joint}"] = float(x)
        return found


@dataclass(frozen=True)
class Checked:
    """One expected figure: value and tolerance from [expected], and what was found."""

    name: str
    wanted: float
    tolerance: float
    found: float

    @property
    def met(self) -> bool:
        """Whether the figure lies within its tolerance; NaN never does."""
        return abs(self.found - self.wanted) <= self.tolerance


def check_expected(result: Result) -> tuple[Checked, ...]:
    """Return each figure that the experiment expects beside what was found.

    Raises ConfigError for a name that the result has no figure for.
    """
    experiment, known = result.loaded.experiment, result.figures()
    require_known(experiment.expected, known, experiment.error, "the result has no figure", key="expected")
    return tuple(Checked(name, value, tol, known[name]) for name, (value, tol) in experiment.expected.items())


#: The cut-offs that were tried on the fitted logs of an experiment, as long as it is there.
CUT_OFFS: WeakKeyDictionary[Experiment, CutOffs] = WeakKeyDictionary()


@lru_cache(maxsize=4)
def processing_of(loaded: Loaded) -> tuple[Processing, Processing]:
    """Return how recordings are processed to be fitted and to be predicted: as the experiment says, or as the fitted
    ones ask; what is predicted is judged no narrower than it moves."""
    if loaded.processing is not None:
        return loaded.processing
    from ident.compare.settled import settled

    given = loaded.experiment.processing, loaded.experiment.validation_processing
    if given[0] is not None and given[1] is not None:
        return given[0], given[1]
    fitted = [next(iter_logs(loaded.manifest, name, loaded.robot)) for name in loaded.experiment.fit]
    early = np.full(loaded.robot.n, -loaded.late)  # torques that are late are positions that are early
    hands = loaded.experiment.by_hand or OPEN

    def heard(tried: CutOffs) -> None:
        CUT_OFFS[loaded.experiment] = tried

    fit, judged = (_later(x, early) for x in settled(loaded.model, fitted, loaded.base, hands, heard))
    return fit, reaching_kept(loaded, judged)


def reaching_kept(loaded: Loaded, judged: Processing) -> Processing:
    """Return where predictions are judged: as `judged`, unless the recordings kept for that move too fast for it."""
    with suppress(IdentError):  # whoever validates says what is wrong with them
        kept = [next(iter_logs(loaded.manifest, name, loaded.robot)) for name in loaded.experiment.validate]
        return reaching(judged, kept, (loaded.experiment.by_hand or OPEN)[1].left)
    return judged


def motions(
    loaded: Loaded, recordings: Iterable[str], processing: Processing | None, warned: list[Warned], tell: Tell = logged
) -> Iterator[Motion]:
    """Yield the motions of some recordings, one after the other, large ones in parts, so that memory stays flat.

    processing: None for that of the fitted recordings. What `check_log` finds is added to `warned`, except for what
    the processing takes care of. Raises LogError.
    """
    processing = processing or processing_of(loaded)[0]
    names = list(recordings)
    for number, name in enumerate(names):
        tell("reading logs", number, len(names))
        yield from _checked(loaded, name, processing, warned)
    tell("reading logs", len(names), len(names))


def _checked(loaded: Loaded, name: str, processing: Processing, warned: list[Warned]) -> Iterator[Motion]:
    """Yield the motions of a recording, each part checked on its way; what was found is told before what they show."""
    report: LogReport | None = None
    rounding, told = list[Warned](), len(warned)

    def heard(log: Log) -> None:
        nonlocal report
        part = check_log(log, loaded.robot)
        if report is None:
            rounding.extend(rounded(log, part, processing))
        report = together(report, part, float(log.t[-1]))

    yield from iter_motions(loaded.manifest, name, loaded.robot, processing, heard=heard)
    if report is not None:
        warned[told:told] = [*findings_of(name, report, processing), *rounding]


def require_same_model(loaded: Loaded, estimate: Estimate) -> None:
    """Raise ConfigError when the estimate is of another model than the experiment's."""
    if estimate.base.standard != loaded.model.names:
        own = [name for name in estimate.base.standard if name not in loaded.model.names]
        more = [name for name in loaded.model.names if name not in estimate.base.standard]
        apart = [f"{has} {cut(', '.join(some))}" for has, some in (("alone has", own), ("lacks", more)) if some]
        told = " and ".join(apart) or "has the same parameters in another order"
        raise ConfigError(
            f"the estimate is of another model of '{estimate.robot}' than this experiment's of '{loaded.robot.name}':"
            f" it {told}",
            file=loaded.experiment.file,
            fix="Give the experiment that the estimate comes from, or fit again",
        )


def as_calibrated(loaded: Loaded, found: Sequence[Calibrated]) -> Loaded:
    """Return the experiment with robot, manifest and processing as calibrated; `described` keeps the robot."""
    used, values = applied(found)
    if not used:
        return loaded
    robot = corrected_robot(loaded.robot, used, values)
    model = replace(loaded.model, robot=robot)
    gain, lost, late = by_kind(robot, used, values)
    fit, judged = processing_of(loaded)
    return replace(
        loaded,
        robot=robot,
        described=loaded.robot,
        model=model,
        base=base_parameters(model),
        manifest=_with_gains(loaded.manifest, robot, gain, lost),
        processing=(_later(fit, late), _later(judged, late)),
    )


def _with_gains(manifest: Manifest, robot: Robot, gain: Array, lost: Array) -> Manifest:
    if (gain == 1.0).all() and not lost.any():
        return manifest

    def changed(recording: Recording) -> Recording:
        own = np.broadcast_to(np.asarray(recording.torque.gain), len(gain)) / gain
        ratio = np.diag(robot.transmission.matrix) if recording.torque.side == "motor" and robot.transmission else 1.0
        more = np.asarray(recording.torque.saturation) * gain**2 + lost * ratio**2  # of two small ones the sum
        torque = replace(recording.torque, gain=tuple(own.tolist()), saturation=tuple(more.tolist()))
        return replace(recording, torque=torque)

    return replace(manifest, recordings=tuple(map(changed, manifest.recordings)))


def _later(processing: Processing, late: Array) -> Processing:
    if not late.any():
        return processing
    own = np.broadcast_to(np.asarray(processing.position_delay_s), len(late)) + late
    return replace(processing, position_delay_s=tuple(own.tolist()))


def compared(loaded: Loaded, estimate: Estimate) -> Comparison | None:
    """Return CAD against the estimate, None for an experiment without CAD."""
    from ident.compare import compare_with

    if loaded.cad is None:
        return None
    require_same_model(loaded, estimate)
    return compare_with(estimate, loaded.cad, loaded.joint_values, loaded.cad_source or "", loaded.robot)


def truth_of(loaded: Loaded, estimate: Estimate) -> TruthComparison | None:
    """Return the truth against the estimate, None for an experiment without truth."""
    from ident.compare import compare_truth

    return None if loaded.truth is None else compare_truth(estimate, loaded.truth)


def reported(result: Result, path: Path, command: str, pictures: Path | None = None, *, summary: bool = False) -> None:
    """Write the report, or its first page alone, to `path` (HTML or PDF) and its figures to `pictures`.

    The motions are read once more.
    """
    from ident.report import gather, write_report

    loaded, e = result.loaded, result.loaded.experiment
    held_out = e.validate if result.validation else ()
    fit, judged = processing_of(loaded)
    report = gather(
        result.estimate,
        model=loaded.model,
        fit=first_parts(loaded, e.fit, e.processing),
        held_out=next(motions(loaded, held_out, judged, []), None),
        comparison=result.comparison,
        validation=result.validation,
        truth=result.truth,
        command=command,
        regression=result.regression,
        next_motion=shlex.join(["ident", "excite", str(e.robot), "--after", str(e.file)]),
        shapes=shapes_of(loaded),
        filtered=None if summary else (next(iter_logs(loaded.manifest, e.fit[0], loaded.robot)), fit),
    )
    write_report(report.summary if summary else report, path, pictures)


def first_parts(
    loaded: Loaded,
    recordings: Iterable[str],
    processing: Processing | None,
    heard: Callable[[Log], object] | None = None,
) -> Iterator[Motion]:
    """Yield the motion of each recording, of a large one its first part; nothing is said of what is odd in them.

    heard: called with each log before it is processed.
    """
    processing = processing or processing_of(loaded)[0]
    for name in recordings:
        yield from map(_cut_anew, islice(iter_motions(loaded.manifest, name, loaded.robot, processing, heard=heard), 1))


def _cut_anew(motion: Motion) -> Motion:
    """Return the first part of a long recording, which has few of its segments, with as many as a whole one has."""
    seconds = float(motion.t[-1] - motion.t[0])
    usual = segment_length(seconds, motion.band_hz or inf)
    if motion.stretches or seconds < 2.0 * usual * len(motion.blocks):
        return motion
    first, stop = motion.blocks[0][0], motion.blocks[-1][1]
    return replace(motion, blocks=split(first, stop, usual / seconds * motion.rows)[0])


class FirstParts:
    """What reads the first parts of an experiment's fitted recordings, once for each processing, and holds them.

    known: what models of other joint terms have in common there.
    """

    def __init__(self, loaded: Loaded):
        self.known = Known()
        self.read = cache(lambda processing: list(first_parts(loaded, loaded.experiment.fit, processing)))


#: The rounding of positions is worth a warning above this share of the acceleration: 1 % of an inertia.
ROUNDED, FINE = 0.1, 1e-3  # and below the other no note


def findings_of(name: str, report: LogReport, processing: Processing) -> list[Warned]:
    """Return what is odd about a recording, except for what the processing takes care of; what that leaves out."""
    left = [f for f in report.findings if f.kind != "coarse position"]  # told by what is left of it
    ends = enumerate((START, END))
    cut = {kind: processing.left_out(report.dt_median, end) / report.dt_median for end, kind in ends}  # rows
    without = [f.kind in cut and len(f.rows) <= cut[f.kind] for f in left]
    without = [
        out or (f.kind == "spikes" and processing.spikes == "interpolated")
        for f, out in zip(left, without, strict=True)
    ]
    return [
        Warned(name, "left out", f"{f.message.rsplit(':', 1)[0]}: left out") if out else Warned(name, f.kind, f.message)
        for f, out in zip(left, without, strict=True)
    ]


def unusable(warned: Iterable[Warned]) -> tuple[str, ...]:
    """Return a sentence on each torque that is no measurement, and on time that velocities contradict."""
    return tuple(str(w) for w in warned if w.kind in UNUSABLE)


def rounded(log: Log, report: LogReport, processing: Processing) -> Iterator[Warned]:
    """Say how much of a recording's (or its first part's) accelerations is rounding or white noise of its positions.

    And where rows are so few that nothing makes accelerations of them.
    """
    band = band_alone(log)
    if band is not None and (times := band.rows_per_period) < SPARSE:
        few = f"rows come only {times:.2g} times as fast as the motion's band reaches, {log.rate_hz / times:.2g} Hz"
        sought = "so its accelerations are rough, and no mistakes are sought by them"
        yield Warned(log.name, "few rows", f"{few}, {sought}: log faster, or move slower")
    if processing.velocity == "measured":
        return
    coarse = any(f.kind == "coarse position" for f in report.findings)
    steps = np.array([step or 0.0 for step in report.quantum])
    noise = steps / np.sqrt(12.0) if coarse else np.zeros(log.n) if band is None else band.noise
    shares = noise_share(log, processing, noise)
    told = [f"{100 * s:.2g} % at '{j}'" for j, s in zip(log.joints, shares, strict=True) if s > FINE]
    worst = min(float(np.max(shares, where=np.isfinite(shares), initial=0.0)), 1.0)
    if told and (coarse or worst > ROUNDED):
        what = "the encoders' resolution" if coarse else "noise of the positions"
        message = f"part of the accelerations is {what}: {', '.join(told)}"
        if worst > ROUNDED:
            message += f": inertias come out up to {100 * worst**2:.2g} % too small; low-pass the position more"
        yield Warned(log.name, "rounded position" if worst > ROUNDED else "coarse position", message)


def delayed(loaded: Loaded, motion: Motion) -> Iterator[Warned]:
    """Warn where the positions of some joints are late, or early."""
    from ident.compare.delays import late_positions

    late = late_positions(loaded.model, [motion], loaded.base)
    told = [f"'{joint}' by {x * 1e3:g} ms" for joint, x in zip(loaded.robot.joint_names, late, strict=False) if x]
    if told:
        message = (
            f"positions are read late: {', '.join(told)} (early where negative; torques and other joints say so);"
            " set position_delay_s"
        )
        yield Warned(motion.name, "delay", message)
