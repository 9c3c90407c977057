"""Motions for gravity and for friction alone: `ident postures` and `ident sweep`."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ident.arrays import Array
from ident.errors import ExcitationError, InputError
from ident.excitation.limits import TorqueLimits, require_clear, require_torque, soft_told, torque_limits
from ident.excitation.moves import (
    RAMP,
    Moves,
    position_range,
    posture_tour,
    static_postures,
    velocity_sweep,
    with_accelerations,
)
from ident.excitation.trajectory import write_csv, write_ros2
from ident.files import file_word, whole_folder
from ident.geometry.distance import clearances
from ident.geometry.scene import Scene
from ident.geometry.scene_file import read_scene
from ident.model import Model
from ident.pipelines.excitation import friction_terms
from ident.pipelines.known_torques import stated, unlimited
from ident.pipelines.wishes import MoveWishes, PostureWishes
from ident.robot import Robot, read_robot

_ATTEMPTS = 20  # choices of postures before the way between them is given up
_SHARES = (0.05, 0.1, 0.2, 0.4)  # of each joint's limit of velocity: spread as friction's curve bends
#: What the folder of a motion holds: samples, and a ROS 2 message.
MOTION = ("trajectory.csv", "trajectory.yaml")
_MOVES, _POSTURES = MoveWishes(), PostureWishes()


@dataclass(frozen=True, eq=False)
class WrittenMoves:
    """A motion, the folder that holds it, and what its user has to know.

    limits: torque limits at the known parameters, None where torques were not checked; share: what the joints need of
    them on the whole way at most, by a proven bound. postures (k, n) [rad; m]: where the motion rests, of a tour.
    speeds [rad/s; m/s]: of the joints of a sweep.
    """

    robot: Robot
    moves: Moves
    folder: Path
    limits: TorqueLimits | None
    share: float
    notes: tuple[str, ...]
    postures: Array | None = None
    speeds: Mapping[str, Sequence[float]] = field(default_factory=dict)


def postures(
    robot: str | Path, wishes: MoveWishes = _MOVES, tour: PostureWishes = _POSTURES, out: str | Path | None = None
) -> WrittenMoves:
    """Write a tour of postures at rest that tell most about gravity's parameters: no friction, no acceleration.

    out: folder, by default postures-ROBOT. Raises RobotError and CadError for the files, ExcitationError where no tour
    within the limits is found; its notes (`__notes__`) say which joints cannot hold which postures.
    """
    found, given = list[str](), read_robot(robot)
    path = folder_named(out, f"postures-{given.name}")
    arm = _accelerated(given, tour.velocity, wishes.acceleration, found)
    scene = None if wishes.scene is None else read_scene(wishes.scene, arm)
    limits, share = _torque_limits(arm, wishes, found), 0.0
    tried: list[Array] = []

    def allowed(q: Array) -> NDArray[np.bool_]:
        free = np.ones(len(q), dtype=bool)
        if scene is not None:
            free &= (clearances(scene, arm, q) > scene.margins(arm)).all(axis=1)
        if limits is not None:
            tried[:] = [limits.holding(q)]
            free &= (tried[0] <= limits.effort).all(axis=1)
        return free

    with _told_with(found):
        try:
            for attempt in range(_ATTEMPTS):  # postures may be free where the way between them is not
                seed = tour.seed + attempt
                chosen = static_postures(Model(arm), tour.number, margin=wishes.margin, seed=seed, allowed=allowed)
                ramp, fastest = wishes.acceleration, tour.velocity
                moves = posture_tour(arm, chosen, wishes.rate, hold=tour.hold, velocity=fastest, acceleration=ramp)
                try:
                    if scene is not None:
                        require_clear(scene, arm, moves.t, moves.q)
                    if limits is not None:
                        share = require_torque(limits, moves)
                    break
                except ExcitationError:
                    if attempt == _ATTEMPTS - 1:
                        raise
        finally:
            if limits is not None and tried:
                found += _left_out(limits, tried[0])
        _write(moves, arm, scene, path, found)
    return WrittenMoves(arm, moves, path, limits, share, tuple(found), chosen)


def sweep(
    robot: str | Path,
    wishes: MoveWishes = _MOVES,
    *,
    speeds: Mapping[str, Sequence[float]] | Sequence[float] | None = None,
    joints: Sequence[str] | None = None,
    posture: ArrayLike | None = None,
    out: str | Path | None = None,
) -> WrittenMoves:
    """Write a motion of each joint through its range at constant speeds, there and back: friction without inertia.

    speeds [rad/s; m/s]: of every joint, or by its name; by default shares of its limit. joints: which, by default all.
    posture (n,) [rad; m]: where the others stand, by default the middle of the ranges. out: folder, by default
    sweep-ROBOT. Raises InputError for a joint without a limit of velocity, RobotError, CadError, ExcitationError.
    """
    found, arm = list[str](), read_robot(robot)
    path = folder_named(out, f"sweep-{arm.name}")
    wanted = _speeds(arm, arm.joint_names if joints is None else joints, speeds)
    fastest = max((max(values) for values in wanted.values() if values), default=None)
    arm = _accelerated(arm, fastest, wishes.acceleration, found)
    at = np.mean(position_range(arm, wishes.margin), axis=0) if posture is None else posture
    limits = _torque_limits(arm, wishes, found)
    with _told_with(found):
        moves = velocity_sweep(arm, wanted, at, wishes.rate, acceleration=wishes.acceleration, margin=wishes.margin)
        share = 0.0 if limits is None else require_torque(limits, moves)
        _write(moves, arm, None if wishes.scene is None else read_scene(wishes.scene, arm), path, found)
    return WrittenMoves(arm, moves, path, limits, share, tuple(found), speeds=wanted)


def folder_named(out: str | Path | None, default: str) -> Path:
    """Return the folder to write; InputError for what looks like a file's name."""
    if out is None:
        return Path(file_word(default, "motion"))
    out = Path(out)
    if out.suffix.lower() in (".csv", ".yaml", ".yml", ".json") and not out.is_dir():
        problem = f"'{out.name}' is a file's name, wanted a folder for trajectory.csv and others"
        raise InputError(problem, key="--out", fix=f"Such as --out {out.stem}")
    return out


@contextlib.contextmanager
def _told_with(notes: list[str]) -> Iterator[None]:
    """Give an error what its user has to know besides."""
    try:
        yield
    except InputError as cause:
        for note in notes:
            cause.add_note(note)
        raise


def _accelerated(robot: Robot, velocity: float | None, acceleration: float | None, notes: list[str]) -> Robot:
    """Return the robot with limits of acceleration; note which its file does not state, and its soft limits."""
    notes += soft_told(robot)
    limited, taken = with_accelerations(robot, velocity)
    if taken and acceleration is None:
        least, most = min(taken.values()), max(taken.values())
        said = f"{least:.4g}" if least == most else f"{least:.4g} to {most:.4g}"
        notes.append(
            f"{robot.name} states no limit of acceleration for {', '.join(taken)}: {said} (rad/s^2; m/s^2) taken,"
            f" top speed in {RAMP:g} s; --acceleration sets another"
        )
    return limited


def _speeds(
    robot: Robot, names: Sequence[str], given: Mapping[str, Sequence[float]] | Sequence[float] | None
) -> dict[str, list[float]]:
    """Return the speeds [rad/s; m/s] of each joint: the given ones, or shares of its limit."""
    if isinstance(given, Mapping):
        return {name: list(values) for name, values in given.items()}
    if given is not None:
        return {name: list(given) for name in names}
    limits = {joint.name: joint.limits.velocity for joint in robot.joints}
    for name in names:
        if math.isinf(limits.get(name, 0.0)):
            problem = f"joint '{name}' states no limit of velocity to take shares of"
            raise InputError(problem, key="--speeds", fix="Give the speeds, such as --speeds '0.05 0.2 0.8'")
    return {name: [share * limits.get(name, 0.0) for share in _SHARES] for name in names}


def _torque_limits(robot: Robot, wishes: MoveWishes, notes: list[str]) -> TorqueLimits | None:
    """Return the limits at the parameters that are given, None where there is nothing to check, and note so."""
    model = Model(robot, tuple(friction_terms(robot)))
    theta, absent = stated(model, wishes.cad, {})
    if theta is None:
        notes.append("no inertials of all links are given (--cad): torques were not checked")
        return None
    notes += unlimited(robot, theta, absent)
    found = torque_limits(model, theta, margin=wishes.torque_margin)
    if np.isinf(found.effort).all():
        notes.append("torques were not checked")
        return None
    return found


def _left_out(limits: TorqueLimits, need: Array) -> list[str]:
    """Return which joints cannot hold how many of the random postures, which need (N, n)."""
    notes = []
    for j, (joint, most) in enumerate(zip(limits.model.robot.joints, limits.effort, strict=True)):
        times = int((need[:, j] > most).sum())
        if times:
            notes.append(
                f"{times} of {len(need)} random postures were left out because joint '{joint.name}' may need up to "
                f"{need[:, j].max():.4g} {joint.unit('torque')} to hold them, wanted at most {most:.4g}"
            )
    return notes


def _write(moves: Moves, robot: Robot, scene: Scene | None, path: Path, notes: list[str]) -> None:
    """Write the motion to a folder, once it is known to touch nothing."""
    if scene is not None:
        require_clear(scene, robot, moves.t, moves.q)
    else:
        notes.append("no scene is given: nothing keeps the robot from touching itself or its surroundings")
    with whole_folder(path, MOTION) as folder:
        for name, write in zip(MOTION, (write_csv, write_ros2), strict=True):
            write(folder / name, robot, moves.t, moves.q, moves.qd, moves.qdd)
