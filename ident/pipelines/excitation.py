"""From a robot's files to a folder with the motion, its proof and what it will be worth: `ident excite` in steps."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from ident.arrays import Array
from ident.compare.difference import cad_theta
from ident.errors import ExcitationError, IdentError, InputError, need, require_known
from ident.estimate import Estimate
from ident.estimate.least_squares import joint_noise
from ident.excitation.bases import Fourier, FourierAndPolynomial, count, positive
from ident.excitation.information import CRITERIA, Worth, condition, scaled_condition, worth
from ident.excitation.limits import KinematicLimits, TorqueLimits, soft_told
from ident.excitation.problem import Problem, design_problem
from ident.excitation.search import Design, Start, search
from ident.excitation.trajectory import Trajectory, load_trajectory, save_trajectory, write_csv, write_ros2
from ident.export.code.c import write_trajectory
from ident.files import csv_cell, csv_text, hashes, provenance, whole_folder, write_whole
from ident.geometry.scene import Scene
from ident.geometry.scene_file import read_scene
from ident.logs import Motion
from ident.logs.check import NOTES
from ident.model import DriveInertia, Model, Offset, SmoothCoulomb, Viscous
from ident.model.term import Term, follows_motion
from ident.pipelines.doctor import doctor
from ident.pipelines.estimated import as_run, results_folder
from ident.pipelines.known_torques import KnownTorques, Stated, known_torques, stated
from ident.pipelines.loaded import Loaded, described_in, load
from ident.pipelines.steps import Warned, motions
from ident.pipelines.wishes import ExciteWishes
from ident.regression import Regression, base_parameters, compress
from ident.robot import Robot, read_robot

FILES = (
    "trajectory.json", "trajectory.csv", "trajectory.yaml", "trajectory.h",
    "predicted.csv", "limits.png", "torque.png", "poses.png", "predicted.png",
)  # fmt: skip
_SAMPLES = 1e6  # rows of the sampled files: 100 MB each
_NARROW = 0.2  # rad: no arm is that stiff
_APART = 0.1  # of what is left unexplained
_NOISE = 0.01  # of the torque limit, where nothing is stated
_WIDTH = {"revolute": 0.05, "prismatic": 0.005}  # rad/s, m/s: over which friction turns around in the design


_WHATEVER = ExciteWishes()


@dataclass(frozen=True, eq=False)
class Excitation:
    """What was designed, for whom, from what.

    before: what the logs already taken are worth, None without. notes: sentences that its user has to know.
    """

    wishes: ExciteWishes
    robot: Robot
    problem: Problem
    design: Design
    worth: Worth
    before: Worth | None
    scene: Scene | None
    seed: int
    notes: tuple[str, ...]
    inputs: dict[str, str]

    @property
    def lacks(self) -> str:
        """What is not in the torques that are limited, in words; "" for nothing."""
        limits = [c for c in self.problem.constraints if isinstance(c, TorqueLimits) and c.names]
        return limits[0].lacks if limits else ""

    @property
    def conditions(self) -> tuple[float, float]:
        """Condition number of the regressor in SI units, and with columns of length one."""
        return tuple(math.exp(c(self.design.factor)[0]) for c in (condition, scaled_condition))  # type: ignore[return-value]


@dataclass(frozen=True, eq=False)
class _Known:
    """What is known before the search: model, what CAD says, logs taken, noise (n,).

    torques: of what limits count with, None where nothing is known.
    """

    model: Model
    said: Stated
    prior: Regression | None
    noise: Array
    log_hz: float
    torques: KnownTorques | None


def excite(
    robot: str | Path,
    wishes: ExciteWishes = _WHATEVER,
    out: str | Path | None = None,
    progress: Callable[[Start, float | None], None] | None = None,
    command: str = "",
) -> Excitation:
    """Return the best motion found within the robot's limits.

    out: folder for trajectory, samples, predicted errors and pictures, all of it or nothing; None: nothing is written.
    progress: called after each start with what it found and the best value so far. command: kept as provenance.
    Raises RobotError, CadError, ConfigError, LogError from the files; ExcitationError or ModelError when what is asked
    for makes no sense; ExcitationError when no motion was found, saying which limit is in the way; InputError, before
    any search, when `out` cannot be written or holds other files.
    """
    if out is None:
        return _designed(Path(robot), wishes, progress)
    need("matplotlib")
    with whole_folder(out, FILES) as folder:
        found = _designed(Path(robot), wishes, progress)
        try:
            _write(found, folder, command)
        except OSError as cause:
            raise InputError(f"cannot be written: {cause.strerror}", file=out, fix="Choose another --out") from None
    return found


def _designed(file: Path, wishes: ExciteWishes, progress: Callable[[Start, float | None], None] | None) -> Excitation:
    _sensible(wishes)
    notes: list[str] = []
    robot = read_robot(file)
    inputs = hashes(file, described_in(file))
    known = _known(wishes, robot, notes, inputs)
    spans = [j.limits.upper - j.limits.lower for j in robot.joints if not j.slides]
    if spans and max(spans) < _NARROW:
        notes.append(
            f"no joint can turn by more than {math.degrees(max(spans)):.2g} degrees: are the limits in radians, but "
            'declared as angle = "deg"?'
        )
    scene = None if wishes.scene is None else read_scene(wishes.scene, robot)
    inputs |= hashes(wishes.scene)
    if scene is None:
        notes.append("no scene is given: nothing keeps the robot from touching itself or its surroundings")
    elsewhere = wishes.start is not None and wishes.end is not None and wishes.end != wishes.start
    kind = FourierAndPolynomial if elsewhere else Fourier
    basis = kind(2.0 * math.pi / wishes.duration, wishes.order)
    warm, seed = _resumed(wishes, robot, basis)
    notes += soft_told(robot)
    power = math.inf if wishes.power is None else wishes.power
    problem = design_problem(
        known.model,
        basis,
        noise=known.noise,
        criterion=CRITERIA[wishes.criterion],
        theta=None if known.torques is None else known.torques.limits(wishes.torque_margin, power),
        scene=scene,
        start=wishes.start,
        end=wishes.end,
        position_margin=wishes.position_margin,
        rate_margin=wishes.rate_margin,
        power=power,
        prior=known.prior,
        rate_hz=known.log_hz,
        periods=wishes.periods,
    )
    score = _deciding(wishes, notes) if wishes.decide else None
    try:
        design = search(
            problem, starts=wishes.starts, seed=seed, seconds=wishes.seconds, warm=warm, progress=progress, score=score
        )
    except np.linalg.LinAlgError:
        count_of_all = len(problem.information.base.names)
        told = f"motions of {wishes.order} harmonics within these limits do not show all {count_of_all} base parameters"
        fix = "Use more harmonics, a longer period, or a model with fewer terms"
        raise ExcitationError(told, fix=fix) from None
    if score is not None:
        apart = score(design.trajectory)
        notes.append(
            f"on this motion their torques differ by {apart:.2g} of what either leaves unexplained"
            if apart > _APART
            else "no motion that was found decides: both predict the same torques"
        )
    value = _worth(known, problem, design.factor)
    before = None if problem.information.prior is None else _worth(known, problem, problem.information.prior)
    return Excitation(wishes, robot, problem, design, value, before, scene, seed, tuple(notes), inputs)


def _write(found: Excitation, folder: Path, command: str) -> None:
    from ident.report.designed import limits_figure, torque_figure, worth_figure
    from ident.report.dynamics_figures import poses_figure
    from ident.report.figures import save_figure

    trajectory, robot = found.design.trajectory, found.robot
    rows = trajectory.playback(found.wishes.rate, found.wishes.periods)
    save_trajectory(
        folder / "trajectory.json", trajectory, robot, certificate=certificate(found), design=facts(found, command)
    )
    write_csv(folder / "trajectory.csv", robot, *rows)
    write_ros2(folder / "trajectory.yaml", robot, *rows)
    write_trajectory(folder / "trajectory.h", robot, trajectory)
    write_whole(folder / "predicted.csv", _predicted(found.worth))
    for constraint in found.problem.constraints:
        if isinstance(constraint, KinematicLimits):
            save_figure(limits_figure(trajectory, constraint), folder / "limits.png", 110)
        if isinstance(constraint, TorqueLimits):
            save_figure(torque_figure(trajectory, constraint), folder / "torque.png", 110)
    save_figure(poses_figure(robot, trajectory, found.scene), folder / "poses.png", 110)
    save_figure(worth_figure(found.worth, found.robot.slides), folder / "predicted.png", 110)


def certificate(found: Excitation) -> dict[str, object]:
    """Return what is proven, with which margins, against which robot, parameters and scene."""
    return {
        "proven": found.design.proven,
        "robot": found.robot.fingerprint(),
        "inputs": found.inputs,
        "guarantees": [asdict(g) for g in found.design.guarantees],
        "notes": list(found.notes),
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
        "rate_hz": w.rate,
        "log_hz": found.problem.rate_hz,
        "periods": w.periods,
        "margins": {"position": w.position_margin, "rates": w.rate_margin, "torque": w.torque_margin},
        "power": w.power,
        "friction": w.friction,
        "drive_inertia": w.drive_inertia,
        "start": w.start,
        "end": w.end,
        "seed": found.seed,
        "starts": len(found.design.starts),
        "ended": found.design.ended,
        "provenance": dict(provenance(found.inputs, command or "ident excite")),
    }


def _sensible(wishes: ExciteWishes) -> None:
    """Raise ExcitationError for wishes that cannot be meant."""
    fix = f"Choose one of {', '.join(CRITERIA)}"
    require_known([wishes.criterion], CRITERIA, ExcitationError, "no criterion is called", fix=fix)
    positive(wishes.duration, "the duration of a period [s]")
    count(wishes.order, "the number of harmonics", 2)  # one alone is never at rest
    count(wishes.starts, "the number of starts", 1, 100_000)
    count(wishes.periods, "the number of periods", 1, 10**6)
    if wishes.seed is not None:
        count(wishes.seed, "the seed", 0, 2**63)
    if not 0 < wishes.seconds < math.inf:
        raise ExcitationError(f"the time budget is {wishes.seconds:g} s, wanted a positive number")
    samples = wishes.duration * wishes.periods * positive(wishes.rate, "the sampling rate [Hz]")
    if samples > _SAMPLES:
        fix = "Lower the sampling rate, or play the one period of trajectory.json several times"
        raise ExcitationError(f"the sampled files would have {samples:.3g} rows, wanted {_SAMPLES:g} at most", fix=fix)


def _resumed(wishes: ExciteWishes, robot: Robot, basis: Fourier) -> tuple[tuple[Trajectory, ...], int]:
    """Return the motion to go on from, if any, and the seed: without a wish, the next one after the stored search's."""
    if wishes.resume is None:
        return (), wishes.seed or 0
    stored = load_trajectory(wishes.resume)
    trajectory = stored.for_robot(robot)
    if stored.trajectory.basis != basis:
        own = stored.trajectory.basis
        stands = f"is a {type(own).__name__} motion of {own.duration:.6g} s with {own.size} coefficients per joint"
        asked = f"the one asked for is {type(basis).__name__}, {basis.duration:.6g} s, {basis.size}"
        fix = "Give the same --duration, --harmonics, --start and --end again"
        raise ExcitationError(f"{stands}, {asked}", file=wishes.resume, fix=fix)
    seed = stored.design.get("seed")
    after = seed + 1 if type(seed) is int and 0 <= seed < 2**62 else 0
    return (trajectory,), after if wishes.seed is None else wishes.seed


def _worth(known: _Known, problem: Problem, factor: Array) -> Worth:
    """Return predicted errors beside CAD values, NaN where CAD leaves out a part of the combination."""
    base = problem.information.base
    theta, absent = known.said
    found = worth(base, factor, theta)
    if found.values is None:
        return found
    unknown = np.isin(base.standard, absent)
    return replace(found, values=np.where((base.K[:, unknown] != 0).any(axis=1), np.nan, found.values))


def _known(wishes: ExciteWishes, robot: Robot, notes: list[str], inputs: dict[str, str]) -> _Known:
    if wishes.after is not None:
        return _after(wishes, robot, notes, inputs)
    terms: list[Term] = [DriveInertia()] if wishes.drive_inertia else []
    if wishes.friction:
        terms += friction_terms(robot)
    model = Model(robot, tuple(terms))
    said = stated(model, wishes.cad, inputs)
    torques = known_torques(wishes.estimate, model, said, notes, inputs)
    return _Known(model, said, None, _noise(wishes, robot, notes), wishes.log_rate or wishes.rate, torques)


def friction_terms(robot: Robot) -> list[Term]:
    """Return viscous and smooth Coulomb friction and an offset per joint."""
    found: list[Term] = [Viscous()]
    for kind, width in _WIDTH.items():
        joints = tuple(joint.name for joint in robot.joints if joint.kind == kind)
        if joints:
            found.append(SmoothCoulomb(width, joints))
    return [*found, Offset()]


def _after(wishes: ExciteWishes, robot: Robot, notes: list[str], inputs: dict[str, str]) -> _Known:
    """Return what an experiment says, as its last run has it, whose logs count already."""
    assert wishes.after is not None
    if wishes.cad is not None:
        raise ExcitationError("--cad and --after are both given", fix="The experiment names its own CAD table")
    if wishes.drive_inertia or not wishes.friction:
        flag = "--drive-inertia" if wishes.drive_inertia else "--no-friction"
        raise ExcitationError(f"{flag} and --after are both given", fix="The experiment has a model of its own")
    before = load(wishes.after)
    if before.robot.fingerprint() != robot.fingerprint():
        other = f"'{before.robot.name}' of '{before.experiment.robot.name}'"
        problem = f"the experiment of --after is about another robot, {other}"
        raise ExcitationError(problem, fix="Give that robot's file, or an experiment of this robot")
    loaded, found = _as_run(before, notes)
    inputs |= loaded.inputs
    experiment, warned, rates = loaded.experiment, list[Warned](), list[float]()

    def watched() -> Iterator[Motion]:
        for motion in motions(loaded, experiment.fit, None, warned):
            rates.append((len(motion.t) - 1) / float(motion.t[-1] - motion.t[0]) / math.prod(motion.decimation))
            yield motion

    regression = compress(loaded.model, watched(), base=loaded.base)
    notes.extend(f"{w.about}: {w.message}" for w in warned if w.kind not in NOTES)
    said: Stated = None, ()
    if loaded.cad is not None and not np.isnan(loaded.cad).any():
        values = {name: x for name, x in loaded.joint_values.items() if name in loaded.model.names}
        said = cad_theta(loaded.model, loaded.cad, values)
    torques = _torques_after(wishes, loaded, said, notes, inputs)
    if wishes.noise is not None:
        noise = _noise(wishes, robot, notes)
    else:
        noise = joint_noise(regression) if found is None else found.sigma
        whose = f"the logs of '{experiment.name}' leave" if found is None else "the last run leaves"
        notes.append(f"torque noise taken from what {whose} unexplained: {', '.join(f'{s:.3g}' for s in noise)}")
    log_hz = wishes.log_rate
    if log_hz is None:
        log_hz = min(rates)
        notes.append(f"torques count {log_hz:.4g} times a second, as in the processed logs of '{experiment.name}'")
    return _Known(loaded.model, said, regression, noise, log_hz, torques)


def _as_run(before: Loaded, notes: list[str]) -> tuple[Loaded, Estimate | None]:
    """Return the experiment with the joint terms that its last run chose, but those that the motion does not tell."""
    loaded, found = as_run(before)
    terms = loaded.model.terms
    left = dict.fromkeys(term.kind.words for term in terms if not follows_motion(term))
    if found is not None and terms != before.model.terms:
        kinds = dict.fromkeys(term.kind.key for term in terms if follows_motion(term))
        notes.append(f"the model is that of {results_folder(loaded.experiment).name}'s last run: {', '.join(kinds)}")
    if left:
        notes.append(f"the motion is designed without {' and '.join(left)}, which it does not decide")
        model = replace(loaded.model, terms=tuple(filter(follows_motion, terms)))
        loaded = replace(loaded, model=model, base=base_parameters(model))
    return loaded, found


def _torques_after(
    wishes: ExciteWishes, loaded: Loaded, said: Stated, notes: list[str], inputs: dict[str, str]
) -> KnownTorques | None:
    """Return the torques of --estimate, of the experiment's last run, or of what CAD says."""
    model, own = loaded.model, results_folder(loaded.experiment) / "estimate.json"
    described = replace(model, robot=loaded.described or loaded.robot)  # an estimate has its own calibration
    if wishes.estimate is not None:
        return known_torques(wishes.estimate, described, said, notes, inputs)
    if own.is_file():
        try:
            return known_torques(own, described, said, notes, inputs)
        except IdentError as cause:
            notes.append(f"{own.parent.name}/{own.name} is not used for the torques: {cause}")
    else:
        notes.append(
            f"there is no {own.parent.name}/{own.name}: with one, of `ident run`, torques are those that were"
            " identified"
        )
    return known_torques(None, model, said, notes, inputs)


def _deciding(wishes: ExciteWishes, notes: list[str]) -> Callable[[Trajectory], float]:
    """Return how far the torques of a motion lie apart under two causes that the logs taken cannot tell apart."""
    if wishes.after is None:
        raise InputError("is given without --after", key="--decide", fix="Name the experiment that was examined")
    found = doctor(wishes.after)
    pairs = [c for c in found.examination.causes if c.pair is not None]
    if not pairs:
        raise ExcitationError("there are no two causes to decide between", file=wishes.after, fix="Ask `ident doctor`")
    cause = min(pairs, key=lambda c: c.ordinary)

    def apart(motion: Trajectory) -> float:
        return found.examination.apart(cause, *motion.sample(wishes.rate))

    notes.append(f"chosen of all starts to decide between {cause.where}: {cause.what}, and {cause.rivals[0]}")
    return apart


def _noise(wishes: ExciteWishes, robot: Robot, notes: list[str]) -> Array:
    """Return the torque noise (n,)."""
    if wishes.noise is not None:
        noise = np.array(wishes.noise, dtype=np.float64)
        return np.full(robot.n, noise[0]) if len(noise) == 1 else noise
    limits = np.array([joint.limits.effort for joint in robot.joints])
    notes.append("torque noise taken as 1 % of each torque limit, 1 N m (N) where there is none; state it with --noise")
    return np.where(np.isfinite(limits) & (limits > 0), _NOISE * limits, 1.0)


def _predicted(value: Worth) -> str:
    """Return the predicted errors as CSV."""
    rows = []
    for k, (name, error) in enumerate(zip(value.base.names, value.errors, strict=True)):
        cad = "" if value.values is None or np.isnan(value.values[k]) else repr(float(value.values[k]))
        rows.append((name, csv_cell(value.base.expression(k)), repr(float(error)), cad))
    return csv_text(("base_parameter", "combination", "predicted_standard_error", "cad_value"), rows)
