"""The command `ident excite`."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ident.cli.console import command_line, guarded, joint_numbers, say, show, tell_aside
from ident.cli.dynamics import RobotPath

if TYPE_CHECKING:
    from ident.excitation.search import Start
    from ident.excitation.worth import Worth
    from ident.pipelines.excitation import Excitation
    from ident.robot import Robot

Share = "share kept free, such as 0.05"

WORTH = ("unit", "CAD", "predicted standard error", "of the CAD value", "shown")

#: What the number is whose logarithm, times the factor, each criterion makes small.
MEANINGS = {
    "d": ("mean error (geometric)", 0.5),
    "a": ("root of the summed variances", 0.5),
    "e": ("error of the worst combination", 1.0),
    "condition": ("condition number (SI)", 1.0),
    "scaled-condition": ("condition number (columns scaled)", 1.0),
    "worst-error": ("worst error", 1.0),
}


@guarded
def excite(
    robot: RobotPath,
    cad: Annotated[
        Path | None, typer.Option("--cad", help="CAD table for the torque limits; without: the robot's own numbers")
    ] = None,
    scene: Annotated[Path | None, typer.Option("--scene", help="scene.toml: what must not touch")] = None,
    after: Annotated[
        Path | None, typer.Option("--after", metavar="EXPERIMENT", help="Add to what this experiment's logs tell")
    ] = None,
    duration: Annotated[float, typer.Option("--duration", help="Length of one period \\[s]")] = 10.0,
    harmonics: Annotated[
        int | None, typer.Option("--harmonics", help="Harmonics of the Fourier series; without: 5")
    ] = None,
    splines: Annotated[
        int | None, typer.Option("--splines", help="Instead: intervals of a periodic B-spline of fifth degree")
    ] = None,
    criterion: Annotated[
        str, typer.Option("--criterion", help="d, a, e, condition, scaled-condition or worst-error")
    ] = "d",
    noise: Annotated[
        str | None, typer.Option("--noise", help="Torque noise [N m; N]: one number, or one per joint")
    ] = None,
    start: Annotated[
        str | None, typer.Option("--start", help="Posture to start from at rest, such as '0 30 deg'")
    ] = None,
    end: Annotated[
        str | None, typer.Option("--end", help="Posture to end in at rest; without: where it starts")
    ] = None,
    position_margin: Annotated[
        float, typer.Option("--position-margin", help="Kept from both ends of every range \\[rad; m]")
    ] = 0.0,
    rate_margin: Annotated[
        float, typer.Option("--rate-margin", help=f"Of velocity, acceleration and jerk limits: {Share}")
    ] = 0.0,
    torque_margin: Annotated[float, typer.Option("--torque-margin", help=f"Of torque and power limits: {Share}")] = 0.0,
    power: Annotated[float | None, typer.Option("--power", help="Limit of the joints' total power [W]")] = None,
    rate: Annotated[float, typer.Option("--rate", help="Rate of the sampled files, the controller's [Hz]")] = 100.0,
    log_rate: Annotated[
        float | None,
        typer.Option("--log-rate", help="Torque readings per second [Hz]; without: --rate, or that of --after's logs"),
    ] = None,
    periods: Annotated[int, typer.Option("--periods", help="How often the motion is played")] = 1,
    friction: Annotated[
        bool, typer.Option("--friction/--no-friction", help="With viscous and Coulomb friction and an offset per joint")
    ] = True,
    drive_inertia: Annotated[
        bool, typer.Option("--drive-inertia/--no-drive-inertia", help="With the inertia of each joint's drive")
    ] = False,
    starts: Annotated[int, typer.Option("--starts", help="Random motions to start from")] = 10,
    seconds: Annotated[float, typer.Option("--seconds", help="Time budget of the search \\[s]")] = 60.0,
    seed: Annotated[int | None, typer.Option("--seed", help="Of the random motions")] = None,
    resume: Annotated[
        Path | None, typer.Option("--resume", metavar="TRAJECTORY", help="Go on from this trajectory.json")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Folder; without: excitation-ROBOT")] = None,
) -> None:
    """Design a motion that makes the parameters identifiable and keeps every limit at every instant."""
    from ident.errors import InputError
    from ident.pipelines.excitation import Wishes, excite_to
    from ident.robot import read_robot

    if harmonics is not None and splines is not None:
        raise InputError("is given beside --harmonics", key="--splines", fix="Give one of the two")
    arm = read_robot(robot)
    wishes = Wishes(
        robot=robot,
        cad=cad,
        scene=scene,
        after=after,
        resume=resume,
        harmonics=5 if harmonics is None else harmonics,
        splines=splines,
        duration=duration,
        criterion=criterion,
        noise=_noise(noise, arm),
        start=_posture(start, arm, "--start"),
        end=_posture(end, arm, "--end"),
        position_margin=position_margin,
        rate_margin=rate_margin,
        torque_margin=torque_margin,
        power=math.inf if power is None else power,
        rate_hz=rate,
        log_hz=log_rate,
        periods=periods,
        starts=starts,
        seed=seed,
        seconds=seconds,
        friction=friction,
        drive_inertia=drive_inertia,
    )
    total = starts + (resume is not None)

    def told(done: Start, best: float | None) -> None:
        here = f"start {done.number + 1} of {total}, {done.seconds:.1f} s: "
        if done.value is None:
            here += "no motion that is proven to keep every limit"
        else:
            here += f"{MEANINGS[criterion][0]} {_meant(criterion, done.value)}"
        tell_aside(here if best is None else f"{here}; best {_meant(criterion, best)}")

    folder = folder_named(out, f"excitation-{arm.name}")
    found = excite_to(wishes, folder, told, command_line())
    _tell(found, folder)


def folder_named(out: Path | None, default: str) -> Path:
    """Return the folder to write; InputError for what looks like a file's name."""
    from ident.errors import InputError
    from ident.files import file_word

    if out is not None and out.suffix.lower() in (".csv", ".yaml", ".yml", ".json") and not out.is_dir():
        problem = f"'{out.name}' is a file's name, wanted a folder for trajectory.csv and others"
        raise InputError(problem, key="--out", fix=f"Such as --out {out.stem}")
    return out or Path(file_word(default, "motion"))


def _meant(criterion: str, value: float) -> str:
    return f"{math.exp(MEANINGS[criterion][1] * value):.4g}"


def _tell(found: Excitation, folder: Path) -> None:
    """Print what was found, what it is worth and what is proven."""
    from ident.report.excitation_text import guarantees_table, worth_sentences, worth_table

    design, (si, scaled) = found.design, found.conditions
    done = [s for s in design.starts if s.value is not None]
    ended = "" if design.ended.endswith("done") else f"; {design.ended}"
    say(
        f"{design.trajectory.duration:.4g} s for {found.robot.name}: condition number {si:.4g} (SI), {scaled:.3g} "
        f"(columns scaled); best of {len(done)} motions from {len(design.starts)} starts{ended}"
    )
    show(worth_table(found.worth, found.slides), ("base parameter", *WORTH))
    for sentence in worth_sentences(found.worth):
        say(sentence)
    if found.before is not None:
        say(_gain(found.before, found.worth))
    show(guarantees_table(design.guarantees), ("what", "reached", "limit", "spare"))
    kept = sum(g.holds for g in design.guarantees)
    say(f"proven for every instant: {kept} of {len(design.guarantees)} limits")
    for note in found.notes:
        tell_aside(f"note: {note}")
    for method in dict.fromkeys(g.method for g in design.guarantees):
        say(f"- {sum(g.method == method for g in design.guarantees)} by {method}")
    say(f"wrote {folder}; its predicted.csv says which combination of parameters each name stands for")


def _gain(before: Worth, after: Worth) -> str:
    """Return what the motion adds to the logs already taken."""
    import numpy as np

    shown = np.isfinite(before.errors) & np.isfinite(after.errors)
    new = len(before.hidden) - len(after.hidden)
    told = f"The logs alone do not show {len(before.hidden)} of {len(shown)} base parameters"
    told += f"; with this motion {new} more are shown." if before.hidden else "."
    if shown.any():
        old, now = before.errors[shown], after.errors[shown]
        names = np.array(before.base.names)[shown]
        least, worst = int(np.argmin(old / now)), int(np.argmax(old))
        told += (
            f" Of the others the worst predicted error, of {names[worst]}, falls from {old[worst]:.3g} to "
            f"{now[worst]:.3g}, {old[worst] / now[worst]:.3g} times less, and the worst of all is now {now.max():.3g}, "
            f"of {names[int(np.argmax(now))]}; errors fall {np.median(old / now):.3g} times in the median, and "
            f"{old[least] / now[least]:.3g} times at least ({names[least]})."
        )
    return told


def _noise(text: str | None, robot: Robot) -> tuple[float, ...] | None:
    """Return one number, or one per joint."""
    from ident.errors import InputError

    if text is None:
        return None
    try:
        values = tuple(float(word) for word in text.replace(",", " ").split())
    except ValueError:
        raise InputError(f"'{text}' is no list of numbers", key="--noise", fix="Such as 0.1, or '1 1 0.5'") from None
    if not all(0 < x < math.inf for x in values):
        raise InputError(f"'{text}' are no standard deviations", key="--noise", fix="Give positive numbers")
    if len(values) not in (1, robot.n):
        raise InputError(f"'{text}' is not one number, nor {robot.n}", key="--noise", fix="Give one number per joint")
    return values


def _posture(text: str | None, robot: Robot, key: str) -> tuple[float, ...] | None:
    return None if text is None else tuple(joint_numbers(text, robot, key).tolist())
