"""What is known of a robot's dynamics, and what follows from it: `ident dynamics` and `ident codegen`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from ident.arrays import Array
from ident.cad import read_cad, require_consistent
from ident.dynamics import bias, gravity_load, inverse_dynamics, mass_matrix
from ident.errors import CadError, EstimationError, InputError
from ident.estimate import fitted_model
from ident.estimate.storage import load_estimate
from ident.model import Coulomb, Model, Viscous, torque
from ident.model.terms import plain
from ident.pipelines.loaded import described_in
from ident.robot import Robot, read_robot
from ident.robot.urdf import read_joint_dynamics
from ident.simulation import Simulation, TorqueFunction, plant, read_torques, simulate, simulate_fixed
from ident.spatial.inertia import consistency
from ident.tell import Tell, logged

_MOST = 2_000_000  # samples of a simulation


@dataclass(frozen=True, eq=False)
class Torques:
    """The torques (n,) [N m; N] of each part of the equations of motion at a state, and D(q) (n, n).

    parts: "D qdd", "C qd", "gravity", where there are any "joint terms", and their sum "torque".
    """

    parts: Mapping[str, Array]
    mass_matrix: Array


@dataclass(frozen=True, eq=False)
class Dynamics:
    """A model with numbers: theta (p,) in the order of its names [SI]. warnings: what is odd about the numbers."""

    model: Model
    theta: Array
    warnings: tuple[str, ...] = ()

    @property
    def inertials(self) -> Array:
        """The inertials of the links (n, 10)."""
        return self.theta[: self.model.n_rigid].reshape(-1, 10)

    def torques(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> Torques:
        """Return what moves the robot at a state, each (n,) [rad, rad/s, rad/s^2; m ...], and what it is made of."""
        robot, links = self.model.robot, self.inertials
        at, speed, acceleration = (np.asarray(x, dtype=np.float64)[None] for x in (q, qd, qdd))
        load = gravity_load(robot, links, at)[0]
        moving = bias(robot, links, at, speed)[0]
        total = bodies = inverse_dynamics(robot, links, at, speed, acceleration)[0]
        parts = {"D qdd": bodies - moving, "C qd": moving - load, "gravity": load}
        if self.model.terms:
            total = torque(self.model, self.theta, at, speed, acceleration)[0]
            parts["joint terms"] = total - bodies
        return Torques(parts | {"torque": total}, mass_matrix(robot, links, at)[0])

    def simulate(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        seconds: float,
        *,
        drives: TorqueFunction | None = None,
        step: float | None = None,
        limits: bool = True,
        tell: Tell = logged,
    ) -> Simulation:
        """Return the motion from a state (n,) on, under drive torques (by default none).

        step: of RK4 [s], by default adaptive steps and 1000 samples a second. limits: stop at the joints' limits.
        Raises InputError for times that cannot be meant, and ModelError for a model that cannot be simulated.
        """
        for key, value, what in (("--simulate", seconds, "time to simulate"), ("--step", step, "step")):
            if value is not None and not 0 < value < np.inf:
                raise InputError(f"{value} is no {what}", key=key, fix="Give a positive number of seconds")
        if seconds > _MOST * (step or 1e-3):
            problem = f"{seconds:g} s in steps of {step or 1e-3:g} s are more than {_MOST:,} samples"
            raise InputError(problem, key="--simulate", fix="Simulate a shorter time")
        known = plant(self.model, self.theta)
        state = np.asarray(q, dtype=np.float64), np.asarray(qd, dtype=np.float64)
        if step is not None:
            return simulate_fixed(known, *state, seconds, step, drives, stop_at_limits=limits, tell=tell)
        times = np.linspace(0.0, seconds, max(round(seconds * 1000), 1) + 1)
        return simulate(known, *state, times, drives, stop_at_limits=limits, tell=tell)


def dynamics(
    robot: str | Path, *, cad: Path | None = None, estimate: Path | None = None, friction: bool = True
) -> Dynamics:
    """Return the model of a robot with the numbers of a CAD table, an estimate, or of its own description.

    friction False: without the friction that is known; a coupled motor keeps its inertia alone. Raises RobotError,
    CadError, ModelError for the files, EstimationError for an estimate that knows no links, InputError for both.
    """
    if estimate is not None and cad is not None:
        raise InputError("both give the numbers of the links", key="--cad, --estimate", fix="Give one of them")
    arm, warned = read_robot(robot), list[str]()
    if estimate is not None:
        model, theta = _identified(arm, estimate)
    else:
        model, theta = _model(arm, *known_numbers(arm, Path(robot), cad, warned))
    if not friction:  # a coupled motor keeps its inertia alone
        less = Model(model.robot, tuple(term for term in model.terms if not term.kind.friction))
        model, theta = less, theta[[model.index(name) for name in less.names]]
    return Dynamics(model, theta, tuple(warned))


def codegen(
    robot: str | Path,
    *,
    cad: Path | None = None,
    c: Path | None = None,
    python: Path | None = None,
    latex: Path | None = None,
    symbolic: bool = False,
) -> tuple[tuple[Path, ...], tuple[str, ...]]:
    """Write inverse dynamics, regressor, D, C and g as C99 (a folder), a numpy module (.py) and equations (.tex).

    symbolic: the link parameters are arguments even where numbers are known. Returns the files and what to know of
    them. Raises InputError, before any is written, for targets that cannot be meant; RobotError and CadError.
    """
    from ident.export.code import write_c, write_latex, write_python

    if c is None and python is None and latex is None:
        raise InputError("no target is given", key="--c", fix="Add --c FOLDER, --python FILE or --latex FILE")
    for what, path, ending in (("a Python module", python, ".py"), ("a LaTeX document", latex, ".tex")):
        if path is not None and path.suffix != ending:
            raise InputError(f"{what} ends in {ending}, not in '{path.suffix}'", file=path)
    if c is not None and c.exists() and not c.is_dir():
        raise InputError(f"'{c.name}' is no folder", key="--c", fix="Name a folder, which may be new")
    arm, warned = read_robot(robot), list[str]()
    inertials, joint_values = None, dict[str, float]()
    if not (symbolic or (cad is None and arm.inertials is None)):
        inertials, joint_values = known_numbers(arm, Path(robot), cad, warned)
    written = [] if c is None else [*write_c(c, arm, inertials)]
    written += [] if python is None else [write_python(python, arm, inertials)]
    written += [] if latex is None else [write_latex(latex, arm, inertials)]
    told = f"link parameters are {'arguments of' if inertials is None else 'worked into'} the code"
    more = ["friction and other joint terms are not in the code"] if joint_values else []
    return tuple(written), (*(f"warning: {w}" for w in warned), told, *more)


def known_numbers(robot: Robot, file: Path, cad: Path | None, warned: list[str]) -> tuple[Array, dict[str, float]]:
    """Return the links' inertials (n, 10) and the joint parameters of a CAD table, or of the robot's own file.

    What is odd about the robot's own numbers is added to `warned`. Raises CadError where links are not known.
    """
    if cad is not None:
        table = read_cad(cad)
        require_consistent(table)
        return np.asarray(table.for_robot(robot)), dict(table.joint_values)
    if robot.inertials is None or not np.isfinite(robot.inertials).all():
        raise CadError("does not give the inertials of every link", file=file, fix="Add --cad with a CAD table")
    for link, body in zip(robot.links, robot.inertials, strict=True):
        found = consistency(body)
        least = min(found.mass, found.moments[0], found.triangle_gap)
        if not found.consistent and least < -1e-9 * max(abs(found.mass), found.moments[2]):  # not by rounding
            warned.append(f"{file.name}: link '{link}' cannot exist: {'; '.join(found.failures())}")
    urdf = described_in(file)
    given = {} if urdf is None else read_joint_dynamics(urdf)
    values: dict[str, float] = {}
    for joint in robot.joint_names:
        damping, dry = given.get(joint) or (0.0, 0.0)
        if min(damping, dry) < 0:
            said = f"damping {damping:g} and friction {dry:g}: less than 0 drives the joint"
            warned.append(f"{file.name}: joint '{joint}' has {said}")
        values |= {f"{joint}.{term.kind.name}": x for term, x in ((Viscous, damping), (Coulomb, dry)) if x}
    return robot.inertials, values


def outside(robot: Robot, q: Array) -> tuple[str, ...]:
    """Return which joints stand outside their limits at q (n,): often degrees are taken for radians."""
    told = []
    for joint, x in zip(robot.joints, q, strict=True):
        low, high = joint.limits.lower, joint.limits.upper
        if not low - 1e-9 <= x <= high + 1e-9:
            unit, hint = joint.unit("position"), "" if joint.slides else " (for degrees, end --q with deg)"
            told.append(f"{joint.name} at {x:g} {unit} is outside its limits {low:g} to {high:g} {unit}{hint}")
    return tuple(told)


def drive_torques(text: str | None, robot: Robot) -> TorqueFunction:
    """Return the torques that a text names: none, one constant a joint [N m; N], or a table's or recording's file."""
    words = "" if text is None else text.strip()
    if Path(words).suffix in (".csv", ".parquet") or Path(words).is_file():
        return read_torques(words, robot)
    try:
        values = np.array([float(word) for word in words.replace(",", " ").split()]) if words else np.zeros(robot.n)
    except ValueError:
        problem = f"'{text}' is no list of torques"
        raise InputError(problem, key="--torque", fix="Give one number a joint, or a .csv or .parquet file") from None
    if len(values) != robot.n or not np.isfinite(values).all():
        problem = f"'{text}' is not {robot.n} finite torques, one for each of {', '.join(robot.joint_names)}"
        raise InputError(problem, key="--torque")
    return lambda t, q, qd: values


def _identified(robot: Robot, estimate: Path) -> tuple[Model, Array]:
    """Return the model that was fitted, and its theta."""
    found = load_estimate(estimate)
    if found.theta is None:
        problem = f"{estimate.name}: '{found.estimator}' determines base parameters only, no links to move."
        raise EstimationError(f"{problem} Use the constrained fit.", estimate=found)
    return fitted_model(found, robot), found.theta


def _model(robot: Robot, inertials: Array, joint_values: dict[str, float]) -> tuple[Model, Array]:
    """Return the model with a term for each kind of joint parameter that is known, and its theta."""
    terms, values = [], []
    for kind, term in plain().items():
        joints = tuple(name for name in robot.joint_names if f"{name}.{kind}" in joint_values)
        if joints:
            terms.append(term(joints=joints))
            values += [joint_values[f"{name}.{kind}"] for name in joints]
    return Model(robot, tuple(terms)), np.concatenate([np.ravel(inertials), values])
