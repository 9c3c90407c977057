"""The commands `ident postures` and `ident sweep`: motions for gravity and for friction alone."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ident.cli.console import guarded, joint_numbers, say, tell_aside
from ident.cli.dynamics import RobotPath
from ident.cli.excite import folder_named

if TYPE_CHECKING:
    from ident.arrays import Array
    from ident.excitation.moves import Moves
    from ident.excitation.torque_limits import TorqueLimits
    from ident.robot.robot import Robot

_ATTEMPTS = 20  # choices of postures before the way between them is given up
_SHARES = (0.05, 0.1, 0.2, 0.4)  # of each joint's limit of velocity: spread as friction's curve bends
#: What the folder of a motion holds: samples, and a ROS 2 message.
MOTION = ("trajectory.csv", "trajectory.yaml")
OutPath = Annotated[
    Path | None, typer.Option("--out", "-o", help=f"Folder, which gets {' and '.join(MOTION)}; without: COMMAND-ROBOT")
]
Rate = Annotated[float, typer.Option("--rate", help="Rate of the file [Hz]")]
ScenePath = Annotated[Path | None, typer.Option("--scene", help="scene.toml: what must not touch on the whole way")]
Margin = Annotated[float, typer.Option("--margin", help="Kept from both ends of every range \\[rad; m]")]
Slow = Annotated[
    float | None,
    typer.Option(
        "--acceleration",
        help="Acceleration, where below the joint's limit \\[rad/s^2; m/s^2]; without both: top speed in 0.5 s",
    ),
]
CadPath = Annotated[
    Path | None, typer.Option("--cad", help="CAD table for the torque limits; without: the robot's own numbers")
]
TorqueMargin = Annotated[float, typer.Option("--torque-margin", help="Of torque limits: share kept free, such as 0.05")]


@guarded
def postures(
    robot: RobotPath,
    number: Annotated[int, typer.Option("--number", "-n", help="How many postures")] = 30,
    hold: Annotated[float, typer.Option("--hold", help="Time at each posture \\[s]")] = 1.0,
    velocity: Annotated[
        float | None, typer.Option("--velocity", help="Velocity, where below the joint's limit \\[rad/s; m/s]")
    ] = None,
    acceleration: Slow = None,
    margin: Margin = 0.0,
    cad: CadPath = None,
    torque_margin: TorqueMargin = 0.0,
    scene: ScenePath = None,
    seed: Annotated[int, typer.Option("--seed", help="Of the candidates")] = 0,
    rate: Rate = 100.0,
    out: OutPath = None,
) -> None:
    """A tour of postures at rest that tell most about gravity's parameters: no friction, no acceleration."""
    import numpy as np
    from numpy.typing import NDArray

    from ident.errors import ExcitationError
    from ident.excitation.path_clearance import require_clear
    from ident.excitation.path_torque import holding_torque, require_torque
    from ident.excitation.postures import posture_tour, static_postures
    from ident.geometry.distance import clearances
    from ident.geometry.scene_file import read_scene
    from ident.model import Model
    from ident.robot import read_robot

    path = folder_named(out, f"postures-{read_robot(robot).name}")
    arm = _with_accelerations(read_robot(robot), velocity, acceleration)
    where = None if scene is None else read_scene(scene, arm)
    limits, share = _torque_limits(arm, cad, torque_margin), 0.0
    tried: list[Array] = []

    def allowed(q: Array) -> NDArray[np.bool_]:
        found = np.ones(len(q), dtype=bool)
        if where is not None:
            found &= (clearances(where, arm, q) > where.margins(arm)).all(axis=1)
        if limits is not None:
            tried[:] = [holding_torque(limits, q)]
            found &= (tried[0] <= limits.effort).all(axis=1)
        return found

    try:
        for attempt in range(_ATTEMPTS):  # postures may be free where the way between them is not
            chosen = static_postures(Model(arm), number, margin=margin, seed=seed + attempt, allowed=allowed)
            moves = posture_tour(arm, chosen, rate, hold=hold, velocity=velocity, acceleration=acceleration)
            try:
                if where is not None:
                    require_clear(where, arm, moves.t, moves.q)
                if limits is not None:
                    share = require_torque(limits, moves)
                break
            except ExcitationError:
                if attempt == _ATTEMPTS - 1:
                    raise
    finally:
        if limits is not None and tried:
            _left_out(limits, tried[0])
    _write(moves, arm, scene, path)
    say(
        f"{len(chosen)} postures, {moves.t[-1]:.4g} s, at rest for {moves.resting.mean():.0%} of the time; wrote {path}"
    )
    if limits is not None:
        need = holding_torque(limits, chosen)
        k, j = np.unravel_index(int(np.argmax(need / limits.effort)), need.shape)
        say(
            f"at rest the joints need most at posture {k + 1}: {need[k, j]:.4g} {_unit(arm, int(j))} at joint "
            f"'{arm.joint_names[j]}', wanted at most {limits.effort[j]:.4g}; {_proven(share)}"
        )


@guarded
def sweep(
    robot: RobotPath,
    speeds: Annotated[
        str | None,
        typer.Option(
            "--speeds",
            help="Speeds \\[rad/s; m/s], such as '0.05 0.2 0.8'; without: 5, 10, 20 and 40 % of each joint's limit",
        ),
    ] = None,
    joints: Annotated[str | None, typer.Option("--joints", help="Joints to sweep; without: all of them")] = None,
    posture: Annotated[
        str | None, typer.Option("--posture", help="Where the others stand; without: the middle of the ranges")
    ] = None,
    acceleration: Slow = None,
    margin: Margin = 0.0,
    cad: CadPath = None,
    torque_margin: TorqueMargin = 0.0,
    scene: ScenePath = None,
    rate: Rate = 100.0,
    out: OutPath = None,
) -> None:
    """Each joint through its range at constant speeds, there and back: friction without inertia."""
    import numpy as np

    from ident.excitation.moves import position_range
    from ident.excitation.path_torque import require_torque
    from ident.excitation.velocity_sweep import velocity_sweep
    from ident.robot import read_robot

    arm = read_robot(robot)
    path = folder_named(out, f"sweep-{arm.name}")
    names = arm.joint_names if joints is None else tuple(joints.replace(",", " ").split())
    wanted = _speeds(arm, names, speeds)
    fastest = max((max(values) for values in wanted.values() if values), default=None)
    arm = _with_accelerations(arm, fastest, acceleration)
    middle = np.mean(position_range(arm, margin), axis=0)
    at = middle if posture is None else joint_numbers(posture, arm, "--posture")
    limits = _torque_limits(arm, cad, torque_margin)
    moves = velocity_sweep(arm, wanted, at, rate, acceleration=acceleration, margin=margin)
    share = None if limits is None else require_torque(limits, moves)
    _write(moves, arm, scene, path)
    what = f"{len(names)} joint{'s' if len(names) > 1 else ''} at {len(wanted[names[0]])} speeds"
    say(f"{what}, {moves.t[-1]:.4g} s, at constant speed for {moves.constant.mean():.0%} of the time; wrote {path}")
    if share is not None:
        say(_proven(share))


def _with_accelerations(robot: Robot, velocity: float | None, acceleration: float | None) -> Robot:
    """Return the robot with limits of acceleration, and say which of them its file does not state."""
    from ident.excitation.moves import RAMP, with_accelerations

    limited, taken = with_accelerations(robot, velocity)
    if taken and acceleration is None:
        least, most = min(taken.values()), max(taken.values())
        said = f"{least:.4g}" if least == most else f"{least:.4g} to {most:.4g}"
        tell_aside(
            f"note: {robot.name} states no limit of acceleration for {', '.join(taken)}: {said} (rad/s^2; m/s^2) taken,"
            f" top speed in {RAMP:g} s; --acceleration sets another"
        )
    return limited


def _speeds(robot: Robot, names: tuple[str, ...], given: str | None) -> dict[str, list[float]]:
    """Return the speeds [rad/s; m/s] of each joint: the given ones, or shares of its limit."""
    from ident.errors import InputError

    if given is not None:
        try:
            return {name: [float(word) for word in given.replace(",", " ").split()] for name in names}
        except ValueError:
            raise InputError(f"'{given}' is no list of numbers", key="--speeds", fix="Such as '0.05 0.2 0.8'") from None
    limits = {joint.name: joint.limits.velocity for joint in robot.joints}
    for name in names:
        if math.isinf(limits.get(name, 0.0)):
            problem = f"joint '{name}' states no limit of velocity to take shares of"
            raise InputError(problem, key="--speeds", fix="Give the speeds, such as --speeds '0.05 0.2 0.8'")
    return {name: [share * limits.get(name, 0.0) for share in _SHARES] for name in names}


def _torque_limits(robot: Robot, cad: Path | None, margin: float) -> TorqueLimits | None:
    """Return the limits at the parameters that are given, None where there is nothing to check, and say so."""
    import numpy as np

    from ident.excitation.torque_limits import torque_limits
    from ident.model import Model
    from ident.pipelines.excitation import friction_terms, stated, unlimited

    model = Model(robot, tuple(friction_terms(robot)))
    theta, absent = stated(model, cad, {})
    if theta is None:
        tell_aside("note: no inertials of all links are given (--cad): torques were not checked")
        return None
    for note in unlimited(robot, theta, absent):
        tell_aside(f"note: {note}")
    found = torque_limits(model, theta, margin=margin)
    if np.isinf(found.effort).all():
        tell_aside("note: torques were not checked")
        return None
    return found


def _left_out(limits: TorqueLimits, need: Array) -> None:
    """Note which joints cannot hold how many of the random postures, which need (N, n)."""
    robot = limits.model.robot
    for j, most in enumerate(limits.effort):
        times = int((need[:, j] > most).sum())
        if times:
            tell_aside(
                f"note: {times} of {len(need)} random postures were left out because joint '{robot.joint_names[j]}' "
                f"may need up to {need[:, j].max():.4g} {_unit(robot, j)} to hold them, wanted at most {most:.4g}"
            )


def _unit(robot: Robot, j: int) -> str:
    return "N m" if robot.joints[j].kind == "revolute" else "N"


def _proven(share: float) -> str:
    return (
        f"on the whole way no joint needs more than {share:.1%} of its torque limit less the margin, by a proven bound"
    )


def _write(moves: Moves, robot: Robot, scene: Path | None, path: Path) -> None:
    """Write the motion to a folder, once it is known to touch nothing."""
    from ident.excitation.path_clearance import require_clear
    from ident.excitation.write_csv import write_csv
    from ident.excitation.write_ros2 import write_ros2
    from ident.files import whole_folder
    from ident.geometry.scene_file import read_scene

    if scene is not None:
        require_clear(read_scene(scene, robot), robot, moves.t, moves.q)
    else:
        tell_aside("note: no scene is given: nothing keeps the robot from touching itself or its surroundings")
    with whole_folder(path, MOTION) as folder:
        for name, write in zip(MOTION, (write_csv, write_ros2), strict=True):
            write(folder / name, robot, moves.t, moves.q, moves.qd, moves.qdd)
