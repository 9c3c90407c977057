"""The command `ident excite`."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ident.cli_dynamics import RobotPath, _state
from ident.console import command_line, guarded, progress, say, show

if TYPE_CHECKING:
    from ident.excitation.search import Start
    from ident.excite import Excitation
    from ident.robot import Robot

Share = "share kept free, such as 0.05"


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
    duration: Annotated[float, typer.Option("--duration", help="Length of one period [s]")] = 10.0,
    harmonics: Annotated[int, typer.Option("--harmonics", help="Harmonics of the Fourier series")] = 5,
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
        float, typer.Option("--position-margin", help="Kept from both ends of every range [rad; m]")
    ] = 0.0,
    rate_margin: Annotated[
        float, typer.Option("--rate-margin", help=f"Of velocity, acceleration and jerk limits: {Share}")
    ] = 0.0,
    torque_margin: Annotated[float, typer.Option("--torque-margin", help=f"Of torque and power limits: {Share}")] = 0.0,
    power: Annotated[float | None, typer.Option("--power", help="Limit of the joints' total power [W]")] = None,
    rate: Annotated[float, typer.Option("--rate", help="Rate of logging and of the sampled files [Hz]")] = 100.0,
    periods: Annotated[int, typer.Option("--periods", help="How often the motion is played")] = 1,
    friction: Annotated[
        bool, typer.Option("--friction/--no-friction", help="With viscous and Coulomb friction and an offset per joint")
    ] = True,
    starts: Annotated[int, typer.Option("--starts", help="Random motions to start from")] = 10,
    seconds: Annotated[float, typer.Option("--seconds", help="Time budget of the search")] = 60.0,
    seed: Annotated[int | None, typer.Option("--seed", help="Of the random motions")] = None,
    resume: Annotated[
        Path | None, typer.Option("--resume", metavar="TRAJECTORY", help="Go on from this trajectory.json")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Folder; without: excitation-ROBOT")] = None,
) -> None:
    """Design a motion that makes the parameters identifiable and keeps every limit at every instant."""
    from ident.excite import Wishes, write_excitation
    from ident.excite import excite as designed
    from ident.robot import read_robot

    arm = read_robot(robot)
    wishes = Wishes(
        robot=robot,
        cad=cad,
        scene=scene,
        after=after,
        resume=resume,
        harmonics=harmonics,
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
        periods=periods,
        starts=starts,
        seed=seed,
        seconds=seconds,
        friction=friction,
    )
    total = starts + (resume is not None)
    with progress() as tell:

        def told(done: Start, best: float | None) -> None:
            tell(f"searching, {criterion}: {'none yet' if best is None else f'{best:.4g}'}", done.number + 1, total)

        found = designed(wishes, told)
    folder = out or Path(f"excitation-{arm.name}")
    write_excitation(found, folder, command_line())
    _tell(found, folder)


def _tell(found: Excitation, folder: Path) -> None:
    """Print what was found, what it is worth and what is proven."""
    from ident.report.excitation_text import guarantees_table, unidentified, worth_table

    design, (si, scaled) = found.design, found.conditions
    done = [s for s in design.starts if s.value is not None]
    say(
        f"{design.trajectory.duration:.4g} s for {found.robot.name}: condition number {si:.4g} (SI), {scaled:.3g} "
        f"(columns scaled); best of {len(done)} motions from {len(design.starts)} starts ({design.ended})"
    )
    show(worth_table(found.worth))
    for sentence in unidentified(found.worth):
        say(sentence)
    show(guarantees_table(design.guarantees))
    kept = sum(g.holds for g in design.guarantees)
    say(f"proven for every instant: {kept} of {len(design.guarantees)} limits")
    for note in found.notes:
        typer.echo(f"note: {note}", err=True)
    say(f"wrote {folder}")


def _noise(text: str | None, robot: Robot) -> tuple[float, ...] | None:
    """Return one number, or one per joint."""
    from ident.errors import InputError

    if text is None:
        return None
    try:
        values = tuple(float(word) for word in text.replace(",", " ").split())
    except ValueError:
        raise InputError(f"'{text}' is no list of numbers", key="--noise") from None
    if len(values) not in (1, robot.n):
        raise InputError(f"'{text}' is not one number, nor {robot.n}", key="--noise", fix="Give one number per joint")
    return values


def _posture(text: str | None, robot: Robot, key: str) -> tuple[float, ...] | None:
    return None if text is None else tuple(_state(text, robot, key).tolist())
