"""The commands `ident postures` and `ident sweep`: motions for gravity and for friction alone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from ident.cli.console import guarded, say, tell_aside
from ident.cli.options import RobotPath, joint_numbers, numbers
from ident.pipelines.wishes import MoveWishes, PostureWishes

if TYPE_CHECKING:
    from ident.pipelines.moves import WrittenMoves

OutPath = Annotated[
    Path | None, "Folder, which gets trajectory.csv and trajectory.yaml; without: COMMAND-ROBOT", "--out -o"
]


@guarded
def postures(robot: RobotPath, tour: PostureWishes, wishes: MoveWishes, out: OutPath = None) -> None:
    """A tour of postures at rest that tell most about gravity's parameters: no friction, no acceleration."""
    import numpy as np

    from ident.excitation.path import holding_torque
    from ident.pipelines import postures as found_postures

    found = found_postures(robot, wishes, tour, out)
    assert found.postures is not None
    rest = f"at rest for {found.moves.resting.mean():.0%} of the time"
    _tell(found, f"{len(found.postures)} postures, {found.moves.t[-1]:.4g} s, {rest}")
    if found.limits is not None:
        need, effort = holding_torque(found.limits, found.postures), found.limits.effort
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
    from ident.pipelines import sweep as found_sweep
    from ident.robot import read_robot

    arm = read_robot(robot)
    names = arm.joint_names if joints is None else tuple(joints.replace(",", " ").split())
    wanted = None if speeds is None else numbers(speeds, "--speeds", "Such as '0.05 0.2 0.8'")
    at = None if posture is None else joint_numbers(posture, arm, "--posture")
    found = found_sweep(robot, wishes, speeds=wanted, joints=names, posture=at, out=out)
    count = len(found.speeds[names[0]])
    what = f"{len(names)} joint{'s' if len(names) > 1 else ''} at {count} speeds, {found.moves.t[-1]:.4g} s"
    _tell(found, f"{what}, at constant speed for {found.moves.constant.mean():.0%} of the time")
    if found.limits is not None:
        say(_proven(found))


def _tell(found: WrittenMoves, what: str) -> None:
    for note in found.notes:
        tell_aside(f"note: {note}")
    say(f"{what}; wrote {found.folder}")


def _proven(found: WrittenMoves) -> str:
    need = f"no joint needs more than {found.share:.1%} of its torque limit less the margin"
    return f"on the whole way {need}, by a proven bound"
