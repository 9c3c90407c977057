"""The command `ident excite`."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from ident.cli.console import command_line, guarded, say, show, tell_aside
from ident.cli.options import RobotPath, joint_numbers, numbers
from ident.pipelines.wishes import ExciteWishes

if TYPE_CHECKING:
    from ident.excitation.search import Start
    from ident.pipelines.excitation import Excitation
    from ident.robot import Robot

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
    wishes: ExciteWishes,
    noise: Annotated[str | None, "Torque noise [N m; N]: one number, or one per joint"] = None,
    start: Annotated[str | None, "Posture to start from at rest, such as '0 30 deg'"] = None,
    end: Annotated[str | None, "Posture to end in at rest; without: where it starts"] = None,
    out: Annotated[Path | None, "Folder; without: excitation-ROBOT", "--out -o"] = None,
) -> None:
    """Design a motion that makes the parameters identifiable and keeps every limit at every instant."""
    from ident.pipelines import excite as designed
    from ident.pipelines.moves import folder_named
    from ident.robot import read_robot

    arm = read_robot(robot)
    wishes = replace(
        wishes,
        noise=None if noise is None else _noise(noise, arm),
        start=None if start is None else tuple(joint_numbers(start, arm, "--start").tolist()),
        end=None if end is None else tuple(joint_numbers(end, arm, "--end").tolist()),
    )
    total = wishes.starts + (wishes.resume is not None)

    def told(done: Start, best: float | None) -> None:
        here = f"start {done.number + 1} of {total}, {done.seconds:.1f} s: "
        if done.value is None:
            here += "no motion that is proven to keep every limit"
        else:
            here += f"{MEANINGS[wishes.criterion][0]} {_meant(wishes.criterion, done.value)}"
        tell_aside(here if best is None else f"{here}; best {_meant(wishes.criterion, best)}")

    folder = folder_named(out, f"excitation-{arm.name}")
    _tell(designed(robot, wishes, folder, told, command_line()), folder)


def _meant(criterion: str, value: float) -> str:
    return f"{math.exp(MEANINGS[criterion][1] * value):.4g}"


def _tell(found: Excitation, folder: Path) -> None:
    """Print what was found, what it is worth and what is proven."""
    from ident.report.excitation_text import gain_sentence, guarantees_table, worth_sentences, worth_table

    design, (si, scaled) = found.design, found.conditions
    done = [s for s in design.starts if s.value is not None]
    ended = "" if design.ended.endswith("done") else f"; {design.ended}"
    say(
        f"{design.trajectory.duration:.4g} s for {found.robot.name}: condition number {si:.4g} (SI), {scaled:.3g} "
        f"(columns scaled); best of {len(done)} motions from {len(design.starts)} starts{ended}"
    )
    show(worth_table(found.worth, found.robot.slides), ("base parameter", *WORTH))
    for sentence in worth_sentences(found.worth):
        say(sentence)
    if found.before is not None:
        say(gain_sentence(found.before, found.worth))
    show(guarantees_table(design.guarantees), ("what", "reached", "limit", "spare"))
    kept = sum(g.holds for g in design.guarantees)
    say(f"proven for every instant: {kept} of {len(design.guarantees)} limits")
    for note in found.notes:
        tell_aside(f"note: {note}")
    for method in dict.fromkeys(g.method for g in design.guarantees):
        say(f"- {sum(g.method == method for g in design.guarantees)} by {method}")
    say(f"wrote {folder}; its predicted.csv says which combination of parameters each name stands for")


def _noise(text: str, robot: Robot) -> tuple[float, ...]:
    """Return one number, or one per joint."""
    from ident.errors import InputError

    values = numbers(text, "--noise", "Such as 0.1, or '1 1 0.5'")
    if not all(0 < x < math.inf for x in values):
        raise InputError(f"'{text}' are no standard deviations", key="--noise", fix="Give positive numbers")
    if len(values) not in (1, robot.n):
        raise InputError(f"'{text}' is not one number, nor {robot.n}", key="--noise", fix="Give one number per joint")
    return values
