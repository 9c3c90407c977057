"""From a robot's files to a folder with the motion, its proof and what it will be worth: `ident excite` in steps."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np

from ident.arrays import Array
from ident.cad import read_cad, require_consistent
from ident.compare.cad import cad_theta
from ident.config import read_experiment
from ident.errors import ExcitationError
from ident.excitation.criteria import CRITERIA, condition, scaled_condition
from ident.excitation.design_problem import design_problem
from ident.excitation.fourier import Fourier
from ident.excitation.fourier_polynomial import FourierAndPolynomial
from ident.excitation.kinematic_limits import KinematicLimits
from ident.excitation.problem import Problem
from ident.excitation.scene import Scene
from ident.excitation.scene_file import read_scene
from ident.excitation.search import Design, Start, search
from ident.excitation.storage import load_trajectory, save_trajectory
from ident.excitation.torque_limits import TorqueLimits
from ident.excitation.trajectory import Trajectory
from ident.excitation.worth import Worth, worth
from ident.excitation.write_c import write_c
from ident.excitation.write_csv import write_csv
from ident.excitation.write_ros2 import write_ros2
from ident.model import Model, Offset, SmoothCoulomb, Viscous
from ident.model.term import Term
from ident.pipeline import load, motions, whole_folder
from ident.provenance import provenance, sha256
from ident.regression import Regression, compress
from ident.robot import Robot, read_robot

FILES = (
    "trajectory.json",
    "trajectory.csv",
    "trajectory.yaml",
    "trajectory.h",
    "predicted.csv",
    "limits.png",
    "torque.png",
    "poses.png",
    "predicted.png",
)
_NOISE = 0.01  # of the torque limit, where nothing is stated
_WIDTH = {"revolute": 0.05, "prismatic": 0.005}  # rad/s, m/s: over which friction turns around in the design


@dataclass(frozen=True)
class Wishes:
    """What the user asks for; None: chosen from the robot.

    cad, scene, resume: files; after: an experiment whose logs count already. harmonics, duration [s]: of the motion.
    noise: standard deviation of the measured torques, one number or one per joint [N m; N].
    start, end: postures (n,) [rad; m]. position_margin [rad; m]; the other margins are shares; power [W].
    rate_hz: of logging and of the sampled files; periods: how often the motion is played.
    """

    robot: Path
    cad: Path | None = None
    scene: Path | None = None
    after: Path | None = None
    resume: Path | None = None
    harmonics: int = 5
    duration: float = 10.0
    criterion: str = "d"
    noise: tuple[float, ...] | None = None
    start: tuple[float, ...] | None = None
    end: tuple[float, ...] | None = None
    position_margin: float = 0.0
    rate_margin: float = 0.0
    torque_margin: float = 0.0
    power: float = math.inf
    rate_hz: float = 100.0
    periods: int = 1
    starts: int = 10
    seed: int | None = None
    seconds: float = 60.0
    friction: bool = True


@dataclass(frozen=True, eq=False)
class Excitation:
    """What was designed, for whom, from what. notes: sentences that its user has to know."""

    wishes: Wishes
    robot: Robot
    problem: Problem
    design: Design
    worth: Worth
    scene: Scene | None
    seed: int
    notes: tuple[str, ...]
    inputs: dict[str, str] = field(default_factory=dict)

    @property
    def conditions(self) -> tuple[float, float]:
        """Condition number of the regressor in SI units, and with columns of length one."""
        return tuple(math.exp(c(self.design.factor)[0]) for c in (condition, scaled_condition))  # type: ignore[return-value]


def excite(wishes: Wishes, progress: Callable[[Start, float | None], None] | None = None) -> Excitation:
    """Return the best motion found within the robot's limits.

    Raises RobotError, CadError, ConfigError, LogError from the files; ExcitationError when what is asked for makes no
    sense, or no motion was found, saying which limit is in the way.
    """
    if wishes.criterion not in CRITERIA:
        raise ExcitationError(
            f"no criterion is called '{wishes.criterion}'", fix=f"Choose one of {', '.join(CRITERIA)}"
        )
    notes: list[str] = []
    robot = read_robot(wishes.robot)
    inputs = {wishes.robot.name: sha256(wishes.robot)}
    model, theta, prior, noise = _known(wishes, robot, notes, inputs)
    scene = None
    if wishes.scene is not None:
        scene = read_scene(wishes.scene, robot)
        inputs[wishes.scene.name] = sha256(wishes.scene)
    else:
        notes.append("no scene is given: nothing keeps the robot from touching itself or its surroundings")
    if theta is None:
        notes.append("no CAD values are given: torques are not limited")
    basis: Fourier | FourierAndPolynomial
    base = 2.0 * math.pi / wishes.duration if wishes.duration > 0 else math.nan
    if wishes.start is not None and wishes.end is not None and wishes.end != wishes.start:
        basis = FourierAndPolynomial(base, wishes.harmonics)
    else:
        basis = Fourier(base, wishes.harmonics)
    warm: tuple[Trajectory, ...] = ()
    seed = wishes.seed
    if wishes.resume is not None:
        stored = load_trajectory(wishes.resume)
        warm = (stored.for_robot(robot),)
        if stored.trajectory.basis != basis:
            raise ExcitationError(
                "has another basis than the one asked for",
                file=wishes.resume,
                fix="Give the same --duration and --harmonics again",
            )
        if seed is None:
            seed = int(stored.design.get("seed", 0)) + 1
    problem = design_problem(
        model,
        basis,
        noise=noise,
        criterion=CRITERIA[wishes.criterion],
        theta=theta,
        scene=scene,
        start=wishes.start,
        end=wishes.end,
        position_margin=wishes.position_margin,
        rate_margin=wishes.rate_margin,
        torque_margin=wishes.torque_margin,
        power=wishes.power,
        prior=prior,
        rate_hz=wishes.rate_hz,
        periods=wishes.periods,
    )
    seed = seed or 0
    design = search(problem, starts=wishes.starts, seed=seed, seconds=wishes.seconds, warm=warm, progress=progress)
    value = worth(problem.information.base, design.factor, theta)
    return Excitation(wishes, robot, problem, design, value, scene, seed, tuple(notes), inputs)


def write_excitation(found: Excitation, out: Path, command: str = "") -> None:
    """Write trajectory, samples, predicted errors and pictures to the folder `out`, all of it or nothing."""
    from ident.report.excitation_figures import limits_figure, poses_figure, torque_figure, worth_figure

    trajectory, robot, rate = found.design.trajectory, found.robot, found.wishes.rate_hz
    rows = trajectory.playback(rate, found.wishes.periods)
    with whole_folder(out, FILES) as folder:
        save_trajectory(
            folder / "trajectory.json", trajectory, robot, certificate=certificate(found), design=facts(found, command)
        )
        write_csv(folder / "trajectory.csv", robot, *rows)
        write_ros2(folder / "trajectory.yaml", robot, *rows)
        write_c(folder / "trajectory.h", robot, trajectory)
        (folder / "predicted.csv").write_text(_predicted(found.worth), encoding="utf-8")
        for constraint in found.problem.constraints:
            if isinstance(constraint, KinematicLimits):
                limits_figure(trajectory, constraint).savefig(folder / "limits.png", dpi=110)
            if isinstance(constraint, TorqueLimits):
                torque_figure(trajectory, constraint).savefig(folder / "torque.png", dpi=110)
        poses_figure(robot, trajectory, found.scene).savefig(folder / "poses.png", dpi=110)
        worth_figure(found.worth).savefig(folder / "predicted.png", dpi=110)


def certificate(found: Excitation) -> dict[str, object]:
    """Return what is proven, with which margins, against which robot, parameters and scene."""
    return {
        "proven": found.design.proven,
        "robot": found.robot.fingerprint(),
        "inputs": found.inputs,
        "guarantees": [asdict(g) for g in found.design.guarantees],
        "not covered": list(found.notes),
    }


def facts(found: Excitation, command: str) -> dict[str, object]:
    """Return how the design came about: settings, search, figures."""
    w, (si, scaled) = found.wishes, found.conditions
    return {
        "criterion": w.criterion,
        "value": found.design.value,
        "condition": si,
        "condition_scaled": scaled,
        "noise": found.problem.information.noise.tolist(),
        "rate_hz": w.rate_hz,
        "periods": w.periods,
        "margins": {"position": w.position_margin, "rates": w.rate_margin, "torque": w.torque_margin},
        "seed": found.seed,
        "starts": len(found.design.starts),
        "ended": found.design.ended,
        "provenance": dict(provenance(found.inputs, command or "ident excite")),
    }


def _known(
    wishes: Wishes, robot: Robot, notes: list[str], inputs: dict[str, str]
) -> tuple[Model, Array | None, Regression | None, Array]:
    """Return the model, CAD's theta, factors of logs already taken, and the torque noise."""
    if wishes.after is not None:
        return _after(wishes, robot, notes, inputs)
    terms: list[Term] = []
    if wishes.friction:
        terms = [Viscous(), *_coulomb(robot), Offset()]
    model = Model(robot, tuple(terms))
    theta = None
    if wishes.cad is not None:
        table = read_cad(wishes.cad)
        require_consistent(table)
        inputs[wishes.cad.name] = table.sha256
        known = {k: v for k, v in table.joint_values.items() if k in model.names}
        theta, _ = cad_theta(model, table.for_robot(robot), known)
    elif robot.inertials is not None and np.isfinite(robot.inertials).all():
        theta, _ = cad_theta(model, robot.inertials, {})
    return model, theta, None, _noise(wishes, robot, notes)


def _coulomb(robot: Robot) -> list[Term]:
    found: list[Term] = []
    for kind, width in _WIDTH.items():
        joints = tuple(joint.name for joint in robot.joints if joint.kind == kind)
        if joints:
            found.append(SmoothCoulomb(width, joints))
    return found


def _after(
    wishes: Wishes, robot: Robot, notes: list[str], inputs: dict[str, str]
) -> tuple[Model, Array | None, Regression | None, Array]:
    """Return model, CAD values, factors and noise of an experiment whose logs count already."""
    from ident.estimate import wls

    assert wishes.after is not None
    if wishes.cad is not None:
        raise ExcitationError("--cad and --after are both given", fix="The experiment names its own CAD table")
    loaded = load(read_experiment(wishes.after))
    if loaded.robot.fingerprint() != robot.fingerprint():
        raise ExcitationError(
            f"is about another robot, '{loaded.robot.name}'", file=wishes.after, fix="Give the robot of that experiment"
        )
    inputs |= loaded.inputs
    experiment = loaded.experiment
    regression = compress(loaded.model, motions(loaded, experiment.fit, experiment.processing, []), base=loaded.base)
    theta = None
    if loaded.cad is not None and not np.isnan(loaded.cad).any():
        theta, _ = cad_theta(loaded.model, loaded.cad, loaded.joint_values)
    if wishes.noise is not None:
        return loaded.model, theta, regression, _noise(wishes, robot, notes)
    noise = np.asarray(wls(loaded.model, regression).rms)
    notes.append(f"torque noise taken from the residuals of '{experiment.name}'")
    return loaded.model, theta, regression, noise


def _noise(wishes: Wishes, robot: Robot, notes: list[str]) -> Array:
    """Return the torque noise (n,)."""
    if wishes.noise is not None:
        noise = np.array(wishes.noise, dtype=np.float64)
        return np.full(robot.n, noise[0]) if len(noise) == 1 else noise
    limits = np.array([joint.limits.effort for joint in robot.joints])
    notes.append("torque noise taken as 1 % of each torque limit, 1 N m (N) where there is none; state it with --noise")
    return np.where(np.isfinite(limits) & (limits > 0), _NOISE * limits, 1.0)


def _predicted(value: Worth) -> str:
    """Return the predicted errors as CSV."""
    lines = ["base_parameter,grouping,predicted_standard_error,cad_value"]
    for k, (name, error) in enumerate(zip(value.base.names, value.errors, strict=True)):
        cad = "" if value.values is None else repr(float(value.values[k]))
        lines.append(f'{name},"{value.base.expression(k)}",{float(error)!r},{cad}')
    return "\n".join(lines) + "\n"
