"""What a simulation found, and what both ways of simulating share: start, slope, limits, runaway.

A simulation as a table, the manifest by which `ident.logs` reads it as a log, and torques read from such tables.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ident.arrays import Array, checked
from ident.dynamics.rigid_body import singular
from ident.errors import InputError, LogError, ModelError
from ident.files import csv_cell, write_whole
from ident.jit import one_thread
from ident.logs.log import read_log
from ident.logs.manifest import TextFormat, manifest_of, read_manifest, recordings_of
from ident.logs.readers.formats import Request, read_chunks
from ident.robot.robot import Robot
from ident.simulation.plant import Plant, accelerations, mass_matrices, require_inertia
from ident.simulation.torques import Drives, SampledTorque, Stop, TorqueFunction, no_torque

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Simulation:
    """The motion of a plant at the times t (N,) [s].

    q, qd, qdd, tau (N, n) [rad, rad/s, rad/s^2, N m; m, m/s, m/s^2, N]: tau is the torque of the drives at the joints,
    as a log has it, friction included. kinetic, potential (N,) [J]: of bodies and drives; of gravity, springs and
    offsets. stopped: why the simulation ended before its last time, None when it did not; t then ends there.
    friction_law: what became of friction, in words. method: the solver and its tolerances or step. evaluations: how
    many times the acceleration was computed. state: see `at`.
    """

    plant: Plant
    t: Array
    q: Array
    qd: Array
    qdd: Array
    tau: Array
    kinetic: Array
    potential: Array
    stopped: str | None
    friction_law: str
    method: str
    evaluations: int
    state: Callable[[Array], Array]

    @property
    def energy(self) -> Array:
        """Kinetic and potential energy (N,) [J]."""
        return np.asarray(self.kinetic + self.potential)

    def at(self, t: ArrayLike) -> tuple[Array, Array]:
        """Return q, qd (M, n) at any times (M,) [s] between the first and the last.

        By the solver's own interpolation; after fixed steps, by the cubic through both ends of a step and their slopes.
        Raises ModelError for times outside.
        """
        at = checked(t, (None,), "t", ModelError)
        if at.size and not (self.t[0] <= at.min() and at.max() <= self.t[-1]):
            wrong = at.min() if at.min() < self.t[0] else at.max()
            raise ModelError(f"t = {wrong:g} s is outside the simulation, {self.t[0]:g} s to {self.t[-1]:g} s")
        y = self.state(at) if len(self.t) > 1 else np.tile(np.concatenate([self.q[0], self.qd[0]]), (len(at), 1))
        n = self.plant.robot.n
        return y[:, :n], y[:, n:]


#: No joint of a robot moves faster [rad/s; m/s]: a simulation that does is running away.
RUNAWAY = 1e4

#: A position this far beyond a limit [rad; m] is beyond it; rounding is not.
BEYOND = 1e-9


def start(
    plant: Plant,
    q: ArrayLike,
    qd: ArrayLike,
    torque: TorqueFunction | None,
    times: Array,
    *,
    period: float | None,
    limits: bool,
) -> tuple[Array, Drives]:
    """Return the first state (2 n,) and the drives; ModelError for what cannot be simulated at the times (N,) [s]."""
    first, last = float(times[0]), float(times[-1])
    n = plant.robot.n
    state = np.concatenate([checked(q, (n,), "q", ModelError), checked(qd, (n,), "qd", ModelError)])
    require_inertia(plant, state[None, :n])
    for joint, x, (low, high) in zip(plant.robot.joints, state[:n], plant.limits.T, strict=True):
        if limits and not low - BEYOND <= x <= high + BEYOND:
            unit = joint.unit("position")
            problem = f"joint '{joint.name}' starts at {x:g} {unit}, outside its limits {low:g} to {high:g} {unit}"
            raise ModelError(problem, fix="Start inside, or set stop_at_limits=False")
    if torque is not None and not callable(torque):
        fix = "Wrap torques over time, (N, n) at the times (N,), as SampledTorque(times, torques)"
        raise ModelError(f"torque must be a function of t, q and qd, got {type(torque).__name__}", fix=fix)
    if isinstance(torque, SampledTorque):
        if torque.tau.shape[1] != n:
            raise ModelError(f"the sampled torques have {torque.tau.shape[1]} columns, the robot has {n} joints")
        if torque.t[0] > first or torque.t[-1] < last - 1e-9 * (last - first):
            covered = f"the sampled torques cover {torque.t[0]:g} s to {torque.t[-1]:g} s"
            fix = "Simulate a shorter time, or give torques for all of it"
            raise ModelError(f"{covered}, the simulation {first:g} s to {last:g} s", fix=fix)
    drives = Drives(plant, no_torque if torque is None else torque, period)
    with one_thread():
        drives.begin(first, state[:n].copy(), state[n:].copy())
    return state, drives


class Slope:
    """dy/dt of the state y = (q, qd), for one state (2 n,) or several side by side (2 n, k)."""

    def __init__(self, plant: Plant, drives: Drives) -> None:
        self.plant, self.drives, self.evaluations = plant, drives, 0

    def __call__(self, t: float, y: Array) -> Array:
        """Return dy/dt in the shape of y, NaN for a state that is not finite.

        Raises Stop where a joint moves nothing, and what the drives raise.
        """
        n = self.plant.robot.n
        rows = y.reshape(2 * n, -1).T
        self.evaluations += len(rows)
        if not np.isfinite(rows).all():  # a trial step of the solver that went too far: it will try a shorter one
            return np.full(y.shape, np.nan)
        q, qd = rows[:, :n].copy(), rows[:, n:].copy()
        tau = np.array([self.drives(float(t), x, v) for x, v in zip(q, qd, strict=True)])
        try:
            qdd = accelerations(self.plant, q, qd, tau)
        except ModelError as cause:
            raise Stop(f"{cause.problem} at t = {float(t):g} s", cause.fix) from cause
        if np.isnan(qdd).any() and np.abs(qd).max() < RUNAWAY:  # the state is no reason for it
            at = q[np.isnan(qdd).any(axis=1)][:1]
            raise Stop(f"{singular(self.plant.robot, mass_matrices(self.plant, at)[0])} at t = {float(t):g} s")
        return np.concatenate([qd, qdd], axis=1).T.reshape(y.shape)


def runaway(plant: Plant, t: float, last: Array, y: Array) -> str | None:
    """Return the reason to stop when a joint moves faster than any robot's, or is not finite, one step after last."""
    n = plant.robot.n
    if np.isfinite(y).all() and np.abs(y[n:]).max() < RUNAWAY:
        return None
    # Where nothing is finite any more, the joint that was fastest before.
    j = int(np.argmax(np.abs(y[n:] if np.isfinite(y).all() else last[n:])))
    joint, before, now = plant.robot.joints[j], float(last[n + j]), float(y[n + j])
    unit = joint.unit("velocity")
    return f"joint '{joint.name}' ran away: {before:.3g} {unit}, then {now:.3g} {unit} at t = {t:g} s"


def limit_reached(
    plant: Plant, t0: float, t1: float, state: Callable[[float], Array], points: int
) -> tuple[float, str] | None:
    """Return when, between t0 and t1, a joint first reached a limit of its position, and the reason in words.

    state(t) (2 n,): looked at `points` times, so that a joint that leaves and returns within a long step is seen.
    """
    from scipy.optimize import brentq

    joints = plant.robot.joints
    low, high = plant.limits + np.array([[-BEYOND], [BEYOND]])
    before = t0
    for t in np.linspace(t0, t1, points + 1)[1:]:
        q = state(float(t))[: len(joints)]
        found = []
        for j in np.flatnonzero((q < low) | (q > high)):
            side, limit = ("lower", joints[j].limits.lower) if q[j] < low[j] else ("upper", joints[j].limits.upper)

            def over(x: float, j: int = int(j), limit: float = limit) -> float:
                return float(state(x)[j]) - limit

            crosses = over(before) * over(float(t)) < 0
            at = float(brentq(over, before, float(t), xtol=1e-12)) if crosses else before
            unit = joints[j].unit("position")
            reason = f"joint '{joints[j].name}' reached its {side} limit {limit:g} {unit} at t = {at:.6g} s"
            found.append((at, reason))
        if found:
            return min(found)
        before = float(t)
    return None


def whole_ratio(a: float, b: float) -> int | None:
    """Return a / b when it is a whole number up to rounding, else None."""
    ratio = a / b
    return round(ratio) if abs(ratio - round(ratio)) < 1e-6 and round(ratio) >= 1 else None


def whole(value: object, name: str) -> int:
    """Return value as an int; ModelError when it is not a whole number from 1 on."""
    if isinstance(value, (int, np.integer)) and value >= 1:
        return int(value)
    raise ModelError(f"{name} must be a whole number of steps from 1 on, got {value}")


def positive(value: float, name: str) -> float:
    """Return value as a float; ModelError when it is not a positive time."""
    if not 0 < value < np.inf:
        raise ModelError(f"{name} must be a positive time [s], got {value}")
    return float(value)


#: The column of times.
TIME = "t [s]"

#: What each quantity is.
QUANTITIES = {"q": "position", "qd": "velocity", "qdd": "acceleration", "tau": "torque"}


def columns(robot: Robot, quantity: str) -> list[str]:
    """Return the names of the columns of q, qd, qdd or tau, such as `joint1.tau [N m]`."""
    return [csv_cell(f"{joint.name}.{quantity} [{joint.unit(QUANTITIES[quantity])}]") for joint in robot.joints]


def to_frame(simulation: Simulation) -> pd.DataFrame:
    """Return one row per time, with columns such as `t [s]`, `joint1.q [rad]`, `joint1.tau [N m]`, `kinetic [J]`."""
    import pandas as pd

    names, parts = [TIME], [simulation.t[:, None]]
    for quantity in QUANTITIES:
        names += columns(simulation.plant.robot, quantity)
        parts.append(getattr(simulation, quantity))
    names += ["kinetic [J]", "potential [J]"]
    parts += [simulation.kinetic[:, None], simulation.potential[:, None]]
    return pd.DataFrame(np.concatenate(parts, axis=1), columns=names)


def write_simulation(simulation: Simulation, path: str | Path) -> Path:
    """Write the table of `to_frame` to a .csv or .parquet file, whole or not at all, every digit kept.

    Raises InputError for another ending, or when the place cannot be written to.
    """
    path = Path(path)
    if path.suffix == ".csv":
        return write_whole(path, to_frame(simulation).to_csv(index=False, lineterminator="\n"))
    if path.suffix == ".parquet":
        content = io.BytesIO()
        to_frame(simulation).to_parquet(content, index=False)
        return write_whole(path, content.getvalue())
    raise InputError(f"ends in '{path.suffix}'", file=path, fix="Choose a name that ends in .csv or .parquet")


def read_torques(path: str | Path, robot: Robot) -> SampledTorque:
    """Return the torques of a recording that a dataset.toml names, or of a table with columns `joint1.tau [N m]`.

    A file that a dataset.toml beside or above it names is read by that: its columns, units and gains. Else it is a .csv
    or .parquet file with the columns `t [s]`, `joint1.tau [N m]` and so on, one per joint of the robot, in any order,
    [N] for a prismatic joint; other columns are left alone, so that the table of a simulation drives another one.
    Raises LogError naming the file, and the column and row where there is one, for a file or column that is not there,
    what is no finite number, and times that do not increase.
    """
    path = Path(path)
    manifest = manifest_of(path) if path.is_file() else None
    if manifest is not None:
        names = recordings_of(manifest, path)
        if len(names) > 1:
            problem = f"{manifest.name} makes several recordings of it: {', '.join(names)}"
            raise LogError(problem, file=path, fix="Copy the rows that are wanted to a file of their own")
        log = read_log(read_manifest(manifest), names[0], robot)
        return SampledTorque(log.t, log.tau)
    if path.suffix not in (".csv", ".parquet"):
        problem = f"ends in '{path.suffix}'"
        raise LogError(problem, file=path, fix="Give a .csv or .parquet file, or one that a dataset.toml names")
    if not path.is_file():
        raise LogError("there is no such file", file=path)
    names = [TIME, *columns(robot, "tau")]
    wanted = {"all": [(None, name) for name in names]}
    chunks = read_chunks(Request(path, path.name, wanted, TextFormat(header=True)))
    parts = [np.array(chunk["all"], dtype=np.float64) for chunk in chunks]
    t, *tau = np.concatenate(parts, axis=1) if parts else np.empty((len(names), 0))
    for name, values in zip(names, (t, *tau), strict=True):
        lost = np.flatnonzero(~np.isfinite(values))
        if len(lost):
            raise LogError(f"row {lost[0] + 1} is {values[lost[0]]}, wanted a finite number", file=path, key=name)
    try:
        return SampledTorque(t, np.transpose(tau))
    except ModelError as cause:
        raise LogError(cause.problem, file=path, key=TIME, fix=cause.fix) from None
