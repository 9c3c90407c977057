"""Commands that make motions: `ident excite`, and `ident postures` and `ident sweep` for gravity or friction alone."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from ident import pipelines
from ident.cli.answers import answer, asked, parts_of, plain
from ident.cli.console import RobotPath, command_line, guarded, joint_numbers, numbers, say, show, tell_aside, tell_note
from ident.errors import InputError, plural
from ident.pipelines.wishes import ExciteWishes, MoveWishes, PostureWishes

if TYPE_CHECKING:
    from ident.excitation.search import Start
    from ident.pipelines.excitation import Excitation
    from ident.pipelines.moves import WrittenMoves
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
        if asked().quiet:
            return
        here = f"start {done.number + 1} of {total}, {done.seconds:.1f} s: "
        if done.value is None:
            here += "no motion that is proven to keep every limit"
        else:
            here += f"{MEANINGS[wishes.criterion][0]} {_meant(wishes.criterion, done.value)}"
        tell_aside(here if best is None else f"{here}; best {_meant(wishes.criterion, best)}")

    folder = folder_named(out, f"excitation-{arm.name}")
    _tell(pipelines.excite(robot, wishes, folder, told, command_line()), folder)


def _meant(criterion: str, value: float) -> str:
    return f"{math.exp(MEANINGS[criterion][1] * value):.4g}"


def _tell(found: Excitation, folder: Path) -> None:
    """Print what was found, what it is worth and what is proven."""
    from ident.report.excitation_text import gain_sentence, guarantees_table, worth_sentences, worth_table

    design, (si, scaled) = found.design, found.conditions
    done = [s for s in design.starts if s.value is not None]
    answer(
        robot=found.robot.name,
        duration=design.trajectory.duration,
        condition=si,
        condition_scaled=scaled,
        **parts_of(design, "ended", "value", "starts"),
        guarantees=[{**plain(g), "holds": g.holds} for g in design.guarantees],
        worth={"names": found.worth.base.names, "errors": found.worth.errors, "values": found.worth.values},
        notes=found.notes,
        path=folder,
    )
    ended = "" if design.ended.endswith("done") else f"; {design.ended}"
    say(
        f"{design.trajectory.duration:.4g} s for {found.robot.name}: condition number {si:.4g} (SI), {scaled:.3g} "
        f"(columns scaled); best of {len(done)} motions from {len(design.starts)} starts{ended}"
    )
    show(worth_table(found.worth, found.robot.slides), ("base parameter", *WORTH))
    say(*worth_sentences(found.worth))
    if found.before is not None:
        say(gain_sentence(found.before, found.worth))
    show(guarantees_table(design.guarantees), ("what", "reached", "limit", "spare"))
    kept = sum(g.holds for g in design.guarantees)
    less = f"; torques are of the bodies that are stated, without {found.lacks}" if found.lacks else ""
    say(f"proven for every instant: {kept} of {len(design.guarantees)} limits{less}")
    tell_note(*found.notes)
    for method in dict.fromkeys(g.method for g in design.guarantees):
        say(f"- {sum(g.method == method for g in design.guarantees)} by {method}")
    say(f"wrote {folder}; its predicted.csv says which combination of parameters each name stands for")


def _noise(text: str, robot: Robot) -> tuple[float, ...]:
    """Return one number, or one per joint."""
    values = numbers(text, "--noise", "Such as 0.1, or '1 1 0.5'")
    if not all(0 < x < math.inf for x in values):
        raise InputError(f"'{text}' are no standard deviations", key="--noise", fix="Give positive numbers")
    if len(values) not in (1, robot.n):
        raise InputError(f"'{text}' is not one number, nor {robot.n}", key="--noise", fix="Give one number per joint")
    return values


OutPath = Annotated[
    Path | None, "Folder, which gets trajectory.csv and trajectory.yaml; without: COMMAND-ROBOT", "--out -o"
]


@guarded
def postures(robot: RobotPath, tour: PostureWishes, wishes: MoveWishes, out: OutPath = None) -> None:
    """A tour of postures at rest that tell most about gravity's parameters: no friction, no acceleration."""
    import numpy as np

    found = pipelines.postures(robot, wishes, tour, out)
    assert found.postures is not None
    rest = f"at rest for {found.moves.resting.mean():.0%} of the time"
    _written(found, f"{len(found.postures)} postures, {found.moves.t[-1]:.4g} s, {rest}")
    if found.limits is not None:
        need, effort = found.limits.holding(found.postures), found.limits.effort
        k, j = np.unravel_index(int(np.argmax(need / effort)), need.shape)
        joint = found.robot.joints[int(j)]
        say(
            f"at rest the joints need most at posture {k + 1}: {need[k, j]:.4g} {joint.unit('torque')} at joint "
            f"'{joint.name}', wanted at most {effort[j]:.4g}; {_proven(found)}"
        )


@guarded
def sweep(
    robot: RobotPath,
    wishes: MoveWishes,
    speeds: Annotated[
        str | None, "Speeds \\[rad/s; m/s], such as '0.05 0.2 0.8'; without: 5, 10, 20 and 40 % of each joint's limit"
    ] = None,
    joints: Annotated[str | None, "Joints to sweep; without: all of them"] = None,
    posture: Annotated[str | None, "Where the others stand; without: the middle of the ranges"] = None,
    out: OutPath = None,
) -> None:
    """Each joint through its range at constant speeds, there and back: friction without inertia."""
    from ident.robot import read_robot

    arm = read_robot(robot)
    names = arm.joint_names if joints is None else tuple(joints.replace(",", " ").split())
    wanted = None if speeds is None else numbers(speeds, "--speeds", "Such as '0.05 0.2 0.8'")
    at = None if posture is None else joint_numbers(posture, arm, "--posture")
    found = pipelines.sweep(robot, wishes, speeds=wanted, joints=names, posture=at, out=out)
    count = len(found.speeds[names[0]])
    what = f"{plural(len(names), 'joint')} at {count} speeds, {found.moves.t[-1]:.4g} s"
    _written(found, f"{what}, at constant speed for {found.moves.constant.mean():.0%} of the time")
    if found.limits is not None:
        say(_proven(found))


def _written(found: WrittenMoves, what: str) -> None:
    moves = found.moves
    own = parts_of(found, "postures", "speeds", "share", "notes")
    resting, constant = moves.resting.mean(), moves.constant.mean()
    answer(robot=found.robot.name, duration=moves.t[-1], **own, resting=resting, constant=constant, path=found.folder)
    tell_note(*found.notes)
    say(f"{what}; wrote {found.folder}")


def _proven(found: WrittenMoves) -> str:
    need = f"no joint needs more than {found.share:.1%} of its torque limit less the margin"
    return f"on the whole way {need}, by a proven bound"
