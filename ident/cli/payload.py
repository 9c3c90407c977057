"""The command `ident payload`: what a robot carries, and the drive gains where the load's mass is known."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ident.cli.console import guarded, progress, say, show, warn
from ident.cli.options import file_out
from ident.pipelines.wishes import PayloadWishes

if TYPE_CHECKING:
    from ident.estimate.payload import IdentifiedPayload, PayloadFigures
    from ident.pipelines.loads import FoundLoad
    from ident.robot import Robot


@guarded
def payload(
    experiment: Annotated[
        Path, typer.Argument(metavar="EXPERIMENT", help="Experiment whose fitted recordings are without the load")
    ],
    loaded: Annotated[list[str], "Recording with the load; repeat for more", "RECORDING"],
    wishes: PayloadWishes,
    out: Annotated[str | None, "File for the call, instead of the screen", "--out -o PATH"] = None,
    unvalidated: Annotated[
        bool, "Write the call although no --validate passed, and say so in it", "--unvalidated"
    ] = False,
    date: Annotated[str | None, "Date in the file's head, instead of today's"] = None,
) -> None:
    """Identify the load that some recordings carry and others do not."""
    from ident.errors import InputError
    from ident.export import payload_format_named
    from ident.files import file_word, write_whole
    from ident.pipelines import payload as identified

    if wishes.form is None and (out is not None or unvalidated):
        raise InputError("no controller is named", key="--format", fix="Add --format, such as --format ur")
    with progress() as tell:
        found = identified(experiment, loaded, wishes, tell=tell)
    warn(found.warnings)
    robot = found.loaded.robot
    what = f"{', '.join(loaded)} against {found.origin}"
    say(f"load on {found.payload.link} of {robot.name}, seen from {found.frame}: {what}", "bold")
    _show_figures(found.payload, found.figures)
    _show_verdict(found)
    if found.gains is not None:
        _show_gains(found)
    elif found.payload.shows_mass:
        _show_joints(found.payload, robot)
    if wishes.form is None:
        return
    text = found.call(unvalidated=unvalidated, date=date)
    if out is None:
        typer.echo(text, nl=False)
    else:
        name = f"{file_word(robot.name, 'robot')}_payload{payload_format_named(wishes.form).suffix}"
        say(f"wrote {write_whole(file_out(name)(out), text)}")


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


def _show_verdict(found: FoundLoad) -> None:
    from ident.report.text import percent

    load, errors, gain_error = found.payload, found.errors, found.wishes.gain_error
    if not load.shows_mass:
        say("These motions do not show the load's mass: move the joints that lift it.", "yellow")
    elif not load.seen:
        say("No load is seen: the mass does not differ from zero, so there is no centre to speak of.", "yellow")
    else:
        edge = " The free fit could not, so it lies at the edge; error bars are those of the free fit." * load.edge
        say(f"This body can exist (its pseudo-inertia is positive semidefinite, exactly).{edge}")
    for e, what in zip(errors, ("fitted", "held-out"), strict=False):
        say(
            f"Torque error on {what} {', '.join(e.recordings)}: {percent(e.with_load_total)} with the load,"
            f" {percent(e.without_total)} without."
        )
    if errors[1:]:
        passed = errors[1].passed
        say(f"Validation {'passed' if passed else 'failed'}.", "green" if passed else "bold red")
    how = (
        "a jackknife over segments"
        if load.kind == "cluster-by-segment"
        else "residuals taken as independent: too short"
    )
    if load.known_mass:
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


def _show_gains(found: FoundLoad) -> None:
    import numpy as np

    from ident.logs.units import RAW, kind_of
    from ident.report.text import number, table, with_error

    gains, item = found.gains, found.loaded
    assert gains is not None
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
                f"{item.robot.units('torque')[j]}/{unit[j]}" if raw else "",
            )
        )
    columns = ("joint", "torque times ± 95 %", "drive gain ± 95 %", "given", "unit")
    show(table(f"drive gains from a load of {gains.mass:g} kg", columns, rows))
    if found.gains_known:
        say("The load above belongs to these gains; put them into the data set to use them.")
    else:
        say(
            f"No load of {gains.mass:g} kg is seen: no gain differs from zero. Use neither the gains nor the load; give"
            " recordings that carry it and move it.",
            "bold red",
        )
