"""What a robot carries, and the drive gains where the load's mass is known: `ident payload`."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ident.errors import EstimationError, InputError, UnusableError
from ident.estimate.storage import load_estimate
from ident.experiment import Experiment, read_experiment
from ident.export import identified_load, payload_format_named
from ident.files import FITTED, dated
from ident.model import Model
from ident.payload.drive_gains import DriveGains, drive_gains
from ident.payload.payload import (
    IdentifiedPayload,
    LoadedErrors,
    PayloadFigures,
    carrying_link,
    identify_payload,
    identify_payload_against,
    loaded_errors,
    own_columns,
)
from ident.pipelines.loaded import Loaded, load
from ident.pipelines.steps import Warned, log_warned, motions, require_same_model
from ident.pipelines.wishes import PayloadWishes
from ident.regression import Regression, compress
from ident.robot import Robot
from ident.robot.robot import declared_flange, moving_frame
from ident.spatial.inertia import Pose
from ident.tell import Tell, logged

_PLAIN = PayloadWishes()


@dataclass(frozen=True, eq=False)
class FoundLoad:
    """What a robot carries: the load, its figures in a frame, and how well they explain the torques.

    frame: how the figures' frame is called. origin: the robot without load, as recordings or a file. errors: on the
    recordings with the load, then, where there are any, on those held out. gains: where the mass was given.
    """

    wishes: PayloadWishes
    loaded: Loaded
    payload: IdentifiedPayload
    figures: PayloadFigures
    frame: str
    flange: str | None
    recordings: tuple[str, ...]
    origin: str
    errors: tuple[LoadedErrors, ...]
    gains: DriveGains | None
    warnings: tuple[Warned, ...]

    @property
    def gains_known(self) -> bool:
        """Whether some joint's factor differs from zero: else the load of known mass is not seen."""
        return self.gains is not None and bool((self.gains.scale > self.gains.half_widths()).any())

    def call(self, *, unvalidated: bool = False, date: str | None = None) -> str:
        """Return the call that tells the controller `wishes.form` the load.

        unvalidated: although no recording was held out, or the load failed on it; the call says so. date: in its
        head, today's by default. Raises EstimationError for a load that is not seen, UnusableError without validation.
        """
        if self.gains is not None and not self.gains_known:
            mass = self.gains.mass
            raise EstimationError(f"a load of {mass:g} kg is not seen in the recordings, so no call was written.")
        found, robot = self.payload, self.loaded.robot
        verdict = _admitted(self.errors[1] if self.errors[1:] else None, unvalidated)
        when = dated(date)
        lines = (
            f"Robot '{robot.name}'; recordings {', '.join(self.recordings)} against {self.origin}; {when}.",
            f"Result: sha256 {hashlib.sha256(repr((found.link, found.body.tolist())).encode()).hexdigest()}.",
        )
        error = self.wishes.gain_error / 100
        told = identified_load(found, robot, self.flange, gain_error=error, validation=verdict, origin=lines)
        return payload_format_named(self.wishes.form or "").write(told)


def payload(
    experiment: str | Path, recordings: Sequence[str], wishes: PayloadWishes = _PLAIN, *, tell: Tell = logged
) -> FoundLoad:
    """Identify the load that some recordings carry and those that the experiment fits do not.

    Raises InputError for wishes that cannot be meant, ConfigError, RobotError, LogError for the files, EstimationError
    where no load that can exist is found.
    """
    held_out = tuple(wishes.validate or ())
    if wishes.form is not None:
        payload_format_named(wishes.form)
    if wishes.against is not None and wishes.known_mass is not None:
        problem = "drive gains need the recordings without load themselves"
        raise InputError(problem, key="--known-mass", fix="Leave out --against")
    if not 0 <= wishes.gain_error <= 100:
        raise InputError(f"is {wishes.gain_error:g}, wanted 0 to 100 %", key="--gain-error")
    if wishes.known_mass is not None and wishes.gain_error:
        raise InputError("the drive gains are identified", key="--gain-error", fix="Leave it out, or --known-mass")
    read = read_experiment(experiment)
    _require_apart(read, recordings, held_out)
    item, warned = load(read), list[Warned]()
    flange = wishes.flange
    if wishes.form is not None or flange is not None:
        flange = declared_flange(item.robot, flange)
    carrier, pose, shown = frame_of(item.robot, wishes.frame or flange or item.robot.flange)
    own = wishes.own or ()
    own_columns(item.base, own)

    def factors(names: Sequence[str]) -> Regression:
        return compress(item.model, motions(item, names, read.processing, warned, tell), base=item.base)

    if wishes.known_mass is not None:
        _require_one_gain(item, [*read.fit, *recordings, *held_out])
    gains = None
    if wishes.against is not None:
        estimate = load_estimate(wishes.against)
        require_same_model(item, estimate)
        fitted = estimate.provenance.get(FITTED, "").split(", ")
        if name := next((name for name in (*recordings, *held_out) if name in fitted), ""):
            problem = f"the estimate was fitted on '{name}' as the robot without load"
            raise InputError(problem, key="--against", fix="Fit it without")
        with_load = factors(recordings)
        found = identify_payload_against(item.model, estimate, with_load, link=carrier, own=own)
    else:
        with_load = factors(recordings)
        without = factors(read.fit)
        if wishes.known_mass is None:
            found = identify_payload(item.model, without, with_load, link=carrier, own=own)
        else:
            gains = drive_gains(item.model, without, with_load, wishes.known_mass, link=carrier, own=own)
            found = gains.payload
    scale = [1.0] * item.robot.n if gains is None else gains.scale.tolist()
    errors = [loaded_errors(found, with_load.scaled(scale))]
    if held_out:
        errors.append(loaded_errors(found, factors(held_out).scaled(scale)))
    figures = found.at(pose, gain_error=wishes.gain_error / 100)
    origin = ", ".join(read.fit) if wishes.against is None else wishes.against.name
    log_warned(warned)
    return FoundLoad(
        wishes, item, found, figures, shown, flange, tuple(recordings), origin, tuple(errors), gains, tuple(warned)
    )


def _require_apart(experiment: Experiment, loaded: Sequence[str], held_out: Sequence[str]) -> None:
    seen = dict.fromkeys(experiment.fit, f"recordings.fit of {experiment.file.name}")
    for option, names in (("--loaded", loaded), ("--validate", held_out)):
        for name in names:
            if name in seen:
                fix = "Give each recording once: without load, with load, or with load and held out"
                raise InputError(f"recording '{name}' is given already as {seen[name]}", key=option, fix=fix)
            seen[name] = option


def _require_one_gain(item: Loaded, names: Sequence[str]) -> None:
    """Raise InputError where one factor per joint cannot stand for the drive gains."""
    first, *others = [item.manifest.recording(name).torque for name in names]
    for name, signal in zip(names[1:], others, strict=True):
        if (signal.unit, signal.gain, signal.side) != (first.unit, first.gain, first.side):
            problem = f"'{names[0]}' and '{name}' have other units or gains of torque"
            fix = "Give all recordings the same layout of torque, so that one correction holds for all"
            raise InputError(problem, key="--known-mass", fix=fix)
    transmission = item.robot.transmission
    if first.side == "motor" and transmission is not None:
        coupled = transmission.matrix - np.diag(np.diag(transmission.matrix))
        if coupled.any():
            problem = "the robot's motors are coupled, so that a drive gain is not a factor of one joint's torque"
            raise InputError(problem, key="--known-mass")


def frame_of(robot: Robot, name: str | None) -> tuple[str, Pose | None, str]:
    """Return carrying link, the frame's pose in it (None: its own), and how it is called."""
    try:
        if name is None:
            link = robot.links[carrying_link(Model(robot), None)]
            return link, None, f"its own frame {link}"
        carrier, pose = moving_frame(robot, name)
    except InputError as unknown:
        raise InputError(unknown.problem, key="--frame", fix=unknown.fix) from None
    return robot.links[carrier], pose, name


def _admitted(held_out: LoadedErrors | None, unvalidated: bool) -> str:
    """Return what the file says about the validation; UnusableError where it forbids writing."""
    from ident.report.text import percent

    if held_out is not None and held_out.passed:
        where = ", ".join(held_out.recordings)
        return f"Validation passed: torque error {percent(held_out.with_load_total)} on held-out {where}."
    why = "was not validated on a held-out recording with the load" if held_out is None else "failed its validation"
    if not unvalidated:
        raise UnusableError(
            f"the load {why}, so no call was written. Hold one out with --validate, or ask for it with --unvalidated."
        )
    return f"WARNING: NOT VALIDATED, written on request although the load {why}."
