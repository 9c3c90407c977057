"""The command `ident payload`: what a robot carries, and the drive gains where the load's mass is known."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ident.cli.console import file_out, guarded, progress, say, show, warn

if TYPE_CHECKING:
    from ident.estimate.drive_gains import DriveGains
    from ident.estimate.payload import IdentifiedPayload, LoadedErrors, PayloadFigures
    from ident.experiment import Experiment
    from ident.pipelines.loaded import Loaded
    from ident.pipelines.warned import Warned
    from ident.regression import Regression
    from ident.robot import Robot
    from ident.spatial.pose import Pose


@guarded
def payload(
    experiment: Annotated[
        Path, typer.Argument(metavar="EXPERIMENT", help="Experiment whose fitted recordings are without the load")
    ],
    loaded: Annotated[
        list[str], typer.Option("--loaded", metavar="RECORDING", help="Recording with the load; repeat for more")
    ],
    frame: Annotated[
        str | None, typer.Option("--frame", help="Frame that the load is told in: a link, or one fixed to it (flange)")
    ] = None,
    flange: Annotated[
        str | None, typer.Option("--flange", help="Frame that is the flange, which calls need; else the robot file's")
    ] = None,
    against: Annotated[
        Path | None, typer.Option("--against", metavar="ESTIMATE", help="Robot as identified, instead of a fit")
    ] = None,
    known_mass: Annotated[
        float | None, typer.Option("--known-mass", metavar="KG", help="Mass of the load: finds the drive gains")
    ] = None,
    gain_error: Annotated[
        float, typer.Option("--gain-error", metavar="PERCENT", help="Standard error of the drive gains", min=0, max=100)
    ] = 0.0,
    own: Annotated[
        list[str] | None,
        typer.Option("--own", metavar="TERM", help="Joint term, such as offset, with other values under load"),
    ] = None,
    validate: Annotated[
        list[str] | None, typer.Option("--validate", metavar="RECORDING", help="Recording with the load, held out")
    ] = None,
    form: Annotated[
        str | None, typer.Option("--format", metavar="FORMAT", help="Controller to write the call for: ur, franka ...")
    ] = None,
    out: Annotated[
        str | None, typer.Option("--out", "-o", metavar="PATH", help="File for the call, instead of the screen")
    ] = None,
    unvalidated: Annotated[
        bool, typer.Option("--unvalidated", help="Write the call although no --validate passed, and say so in it")
    ] = False,
    date: Annotated[str | None, typer.Option("--date", help="Date in the file's head, instead of today's")] = None,
) -> None:
    """Identify the load that some recordings carry and others do not."""
    from ident.errors import EstimationError, InputError
    from ident.estimate.payload import (
        identify_payload,
        identify_payload_against,
        loaded_errors,
        own_columns,
        scaled_torques,
    )
    from ident.experiment import read_experiment
    from ident.export import identified_load, payload_format_named
    from ident.files import file_word, write_whole
    from ident.robot.frames import declared_flange

    held_out = tuple(validate or ())
    if form is None and (out is not None or unvalidated):
        raise InputError("no controller is named", key="--format", fix="Add --format, such as --format ur")
    writer = None if form is None else payload_format_named(form)
    if against is not None and known_mass is not None:
        raise InputError(
            "drive gains need the recordings without load themselves", key="--known-mass", fix="Leave out --against"
        )
    if known_mass is not None and gain_error:
        raise InputError("the drive gains are identified", key="--gain-error", fix="Leave it out, or --known-mass")
    read = read_experiment(experiment)
    _require_apart(read, loaded, held_out)

    from ident.estimate.drive_gains import drive_gains
    from ident.estimate.storage import load_estimate
    from ident.pipelines import steps as pipeline
    from ident.pipelines.loaded import load

    warned: list[Warned] = []
    with progress() as tell:
        item = load(read)
        if writer is not None or flange is not None:
            flange = declared_flange(item.robot, flange)
        carrier, pose, shown = _frame(item.robot, frame or flange or item.robot.flange)
        own_columns(item.base, own or ())
        if known_mass is not None:
            _require_one_gain(item, [*read.fit, *loaded, *held_out])
        estimate = None if against is None else load_estimate(against)
        if estimate is not None:
            pipeline.require_same_model(item, estimate)
            _require_not_fitted(estimate.provenance.get(pipeline.FITTED, ""), loaded, held_out)
        with_load = _factors(item, loaded, warned, tell)
        gains = None
        if estimate is not None:
            found = identify_payload_against(item.model, estimate, with_load, link=carrier, own=own or ())
        else:
            without = _factors(item, read.fit, warned, tell)
            if known_mass is None:
                found = identify_payload(item.model, without, with_load, link=carrier, own=own or ())
            else:
                gains = drive_gains(item.model, without, with_load, known_mass, link=carrier, own=own or ())
                found = gains.payload
        scale = [1.0] * item.robot.n if gains is None else gains.scale.tolist()
        errors = [loaded_errors(found, scaled_torques(with_load, scale))]
        if held_out:
            errors.append(loaded_errors(found, scaled_torques(_factors(item, held_out, warned, tell), scale)))

    warn(warned)
    figures = found.at(pose, gain_error=gain_error / 100)
    origin = against.name if against is not None else ", ".join(read.fit)
    say(f"load on {found.link} of {item.robot.name}, seen from {shown}: {', '.join(loaded)} against {origin}", "bold")
    _show_figures(found, figures)
    _show_verdict(found, figures, errors, held_out, gain_error)
    if gains is not None:
        _show_gains(gains, item)
    elif found.shows_mass:
        _show_joints(found, item.robot)
    if writer is not None:
        if gains is not None and not gains_known(gains):
            raise EstimationError(f"a load of {gains.mass:g} kg is not seen in the recordings, so no call was written.")
        verdict = _admitted(errors[1] if held_out else None, unvalidated)
        when = datetime.now(UTC).strftime("%Y-%m-%d") if date is None else date
        lines = (
            f"Robot '{item.robot.name}'; recordings {', '.join(loaded)} against {origin}; {when}.",
            f"Result: sha256 {hashlib.sha256(repr((found.link, found.body.tolist())).encode()).hexdigest()}.",
        )
        told = identified_load(found, item.robot, flange, gain_error=gain_error / 100, validation=verdict, origin=lines)
        text = writer.write(told)
        if out is None:
            typer.echo(text, nl=False)
        else:
            path = file_out(f"{file_word(item.robot.name, 'robot')}_payload{writer.suffix}")(out)
            say(f"wrote {write_whole(path, text)}")


# ---- what is read --------------------------------------------------------------------------------------------------


def _require_apart(experiment: Experiment, loaded: Sequence[str], held_out: Sequence[str]) -> None:
    from ident.errors import InputError

    seen = dict.fromkeys(experiment.fit, f"recordings.fit of {experiment.file.name}")
    for option, names in (("--loaded", loaded), ("--validate", held_out)):
        for name in names:
            if name in seen:
                raise InputError(
                    f"recording '{name}' is given already as {seen[name]}",
                    key=option,
                    fix="Give each recording once: without load, with load, or with load and held out",
                )
            seen[name] = option


def _require_not_fitted(fitted: str, loaded: Sequence[str], held_out: Sequence[str]) -> None:
    from ident.errors import InputError

    for name in (*loaded, *held_out):
        if name in fitted.split(", "):
            raise InputError(
                f"the estimate was fitted on '{name}' as the robot without load", key="--against", fix="Fit it without"
            )


def _require_one_gain(item: Loaded, names: Sequence[str]) -> None:
    """Raise InputError where one factor per joint cannot stand for the drive gains."""
    import numpy as np

    from ident.errors import InputError

    first, *others = [item.manifest.recording(name).torque for name in names]
    for name, signal in zip(names[1:], others, strict=True):
        if (signal.unit, signal.gain, signal.side) != (first.unit, first.gain, first.side):
            raise InputError(
                f"'{names[0]}' and '{name}' have other units or gains of torque",
                key="--known-mass",
                fix="Give all recordings the same layout of torque, so that one correction holds for all",
            )
    transmission = item.robot.transmission
    if first.side == "motor" and transmission is not None:
        coupled = transmission.matrix - np.diag(np.diag(transmission.matrix))
        if coupled.any():
            raise InputError(
                "the robot's motors are coupled, so that a drive gain is not a factor of one joint's torque",
                key="--known-mass",
            )


def _frame(robot: Robot, name: str | None) -> tuple[str, Pose | None, str]:
    """Return carrying link, the frame's pose in it (None: its own), and how it is called."""
    from ident.errors import InputError
    from ident.estimate.payload import carrying_link
    from ident.model import Model
    from ident.robot.frames import moving_frame

    try:
        if name is None:
            link = robot.links[carrying_link(Model(robot), None)]
            return link, None, f"its own frame {link}"
        carrier, pose = moving_frame(robot, name)
    except InputError as unknown:
        raise InputError(unknown.problem, key="--frame", fix=unknown.fix) from None
    return robot.links[carrier], pose, name


def _factors(item: Loaded, names: Sequence[str], warned: list[Warned], tell: object) -> Regression:
    from ident.pipelines import steps as pipeline
    from ident.regression import compress

    motions = pipeline.motions(item, names, item.experiment.processing, warned, tell)  # type: ignore[arg-type]
    return compress(item.model, motions, base=item.base)


# ---- what is told --------------------------------------------------------------------------------------------------


def _show_figures(found: IdentifiedPayload, figures: PayloadFigures) -> None:
    import numpy as np

    from ident.report.text import MISSING, table, with_error

    rows, tones = [], []
    kept = found.known_mass

    def told(name: str, value: float, error: float, unit: str) -> None:
        half = float(figures.half_width(error))
        known = bool(np.isfinite(half))
        rows.append((name, with_error(value, half) if known else MISSING, unit))
        tones.append("" if known else "unknown")

    if kept:
        rows.append(("mass", f"{figures.mass:g} (given)", "kg"))
        tones.append("")
    else:
        told("mass", figures.mass, figures.mass_error, "kg")
    for axis, value, error in zip("xyz", figures.com, figures.com_error, strict=True):
        told(f"centre {axis}", value, error, "m")
    for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)):
        told(f"I{'xyz'[i]}{'xyz'[j]} about the centre", figures.inertia[i, j], figures.inertia_error[i, j], "kg m²")
    show(table("", ("number", "value ± 95 %", "unit"), rows, tones))  # type: ignore[arg-type]


def _show_verdict(
    found: IdentifiedPayload,
    figures: PayloadFigures,
    errors: Sequence[LoadedErrors],
    held_out: Sequence[str],
    gain_error: float,
) -> None:
    from ident.report.text import percent

    if not found.shows_mass:
        say("These motions do not show the load's mass: move the joints that lift it.", "yellow")
    elif not found.seen:
        say("No load is seen: the mass does not differ from zero, so there is no centre to speak of.", "yellow")
    else:
        edge = " The free fit could not, so it lies at the edge; error bars are those of the free fit." * found.edge
        say(f"This body can exist (its pseudo-inertia is positive semidefinite, exactly).{edge}")
    for e, what in zip(errors, ("fitted", "held-out"), strict=False):
        say(
            f"Torque error on {what} {', '.join(e.recordings)}: {percent(e.with_load_total)} with the load,"
            f" {percent(e.without_total)} without."
        )
    if held_out:
        passed = errors[1].passed
        say(f"Validation {'passed' if passed else 'failed'}.", "green" if passed else "bold red")
    how = (
        "a jackknife over segments"
        if found.kind == "cluster-by-segment"
        else "residuals taken as independent: too short"
    )
    if found.known_mass:
        say(f"Error bars: {how}. The given mass is taken as exact.")
    elif gain_error:
        say(f"Error bars: {how}, and drive gains known to {gain_error:g} % each, their effects added up.")
    else:
        say(
            f"Error bars: {how}. They do not hold the drive gains: torques that are all 10 % too large make the load"
            " 10 % too heavy. Say how well the gains are known with --gain-error, or weigh the load: --known-mass."
        )


def _show_joints(found: IdentifiedPayload, robot: Robot) -> None:
    parts = [
        f"{name} {100 * part / found.free[0]:.0f} %"
        for name, part in zip(robot.joint_names, found.by_joint[:, 0], strict=True)
        if abs(part) >= 0.005 * abs(found.free[0])
    ]
    if parts and found.seen:
        say(f"The mass comes from {', '.join(parts)}: so much does it change with the gain of each.")


def _show_gains(gains: DriveGains, item: Loaded) -> None:
    import numpy as np

    from ident.logs.units import RAW, kind_of
    from ident.report.text import number, table, with_error

    signal, n = item.manifest.recording(item.experiment.fit[0]).torque, len(gains.joints)
    unit = (signal.unit,) * n if isinstance(signal.unit, str) else signal.unit
    given = np.broadcast_to(np.asarray(signal.gain, dtype=np.float64), n)
    rows = []
    for j, (joint, half) in enumerate(zip(gains.joints, gains.half_widths(), strict=True)):
        raw = kind_of(unit[j], "torque") == RAW
        factor, size = float(gains.scale[j]), float(given[j])
        told = with_error(factor * size, float(half) * abs(size)) if raw and np.isfinite(half) else "n/a"
        factors = with_error(factor, float(half)) if np.isfinite(half) else "n/a"
        rows.append(
            (
                joint,
                factors,
                told,
                number(size) if raw else "n/a",
                f"{'N' if joint in item.slides else 'N m'}/{unit[j]}" if raw else "",
            )
        )
    columns = ("joint", "torque times ± 95 %", "drive gain ± 95 %", "given", "unit")
    show(table(f"drive gains from a load of {gains.mass:g} kg", columns, rows))
    if gains_known(gains):
        say("The load above belongs to these gains; put them into the data set to use them.")
    else:
        say(
            f"No load of {gains.mass:g} kg is seen: no gain differs from zero. Use neither the gains nor the load; give"
            " recordings that carry it and move it.",
            "bold red",
        )


def gains_known(gains: DriveGains) -> bool:
    """Return whether some joint's factor differs from zero: else the load of known mass is not seen."""
    return bool((gains.scale > gains.half_widths()).any())


def _admitted(held_out: LoadedErrors | None, unvalidated: bool) -> str:
    """Return what the file says about the validation; UnusableError where it forbids writing."""
    from ident.errors import UnusableError
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
