"""A motion of all joints, coefficients in a basis; its file, and samples for controllers.

Trajectories are JSON (basis, coefficients, fingerprint, guarantees), sampled motions CSV, and YAML for ROS 2.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ident.arrays import Array, checked, frozen
from ident.errors import ExcitationError
from ident.excitation.bases import Basis, Fourier, FourierAndPolynomial, count, end_conditions, positive
from ident.files import write_whole
from ident.robot.robot import Robot
from ident.tables import JsonFormat

_NUMBERS = 4_000_000  # values of basis functions at a time, so that memory is flat


@dataclass(frozen=True, eq=False)
class Trajectory:
    """q_j(t) = sum_k coefficients[j, k] b_k(t) for the joints named [rad; m].

    coefficients (n, basis.size). Raises ExcitationError when they do not fit basis and joints, are not finite, or a
    name is empty, repeated or not printable.
    """

    basis: Basis
    coefficients: Array
    joints: tuple[str, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "joints", tuple(self.joints))
        if not self.joints:
            raise ExcitationError("a trajectory needs at least one joint")
        for name in self.joints:
            if not isinstance(name, str) or not name or not name.isprintable():
                raise ExcitationError(f"{name!r:.60} cannot be the name of a joint", fix="Use printable characters")
            if self.joints.count(name) > 1:
                raise ExcitationError(f"joint '{name}' is named twice")
        shape = (len(self.joints), self.basis.size)
        object.__setattr__(self, "coefficients", frozen(self.coefficients, shape, "coefficients", ExcitationError))
        if np.abs(self.coefficients).max() > 1e12:  # so that derivatives do not overflow
            raise ExcitationError("a coefficient is beyond 1e12, which no robot can follow")

    @property
    def n(self) -> int:
        """Number of joints."""
        return len(self.joints)

    @property
    def duration(self) -> float:
        """Length of the motion, which is the period of a periodic one [s]."""
        return self.basis.duration

    def derivative(self, t: ArrayLike, order: int) -> Array:
        """Return the time derivative of order 0..4 of q at t (N,) [s], (N, n).

        Raises ExcitationError when a time is not finite, or outside 0..duration of a motion that is not periodic.
        """
        t = checked(t, (None,), "t", ExcitationError)
        if not self.basis.periodic and len(t):
            past = 1e-9 * self.duration
            if t.min() < -past or t.max() > self.duration + past:
                worst = t.min() if t.min() < -past else t.max()
                raise ExcitationError(f"the motion lasts from 0 to {self.duration:g} s, asked for {worst:g} s")
        found = np.empty((len(t), self.n))
        few = max(1, _NUMBERS // self.basis.size)
        for k in range(0, len(t), few):
            found[k : k + few] = self.basis.values(t[k : k + few], order) @ self.coefficients.T
        return found

    def states(self, t: ArrayLike) -> tuple[Array, Array, Array]:
        """Return q, qd, qdd at t (N,) [s], each (N, n) [rad, rad/s, rad/s^2; m ...]; errors as of `derivative`."""
        return self.derivative(t, 0), self.derivative(t, 1), self.derivative(t, 2)

    def extremes(self, order: int) -> tuple[Array, Array]:
        """Return the least and greatest value (n,) of the derivative of order 0..3 over the whole duration."""
        return self.basis.extremes(self.coefficients, count(order, "the order of the derivative", 0, 3))

    def sample(self, rate_hz: float) -> tuple[Array, Array, Array, Array]:
        """Return t (N,), q, qd, qdd (N, n) of one duration at t = k / rate_hz, from 0 on.

        The end is left out of a periodic motion, so that repeating the rows repeats the motion when duration * rate_hz
        is whole. Other motions include it; where it falls between two times, the later one holds the end's state.
        Raises ExcitationError for a rate that is not positive.
        """
        return self._rows(rate_hz, self.duration, self.basis.periodic)

    def playback(self, rate_hz: float, periods: int = 1) -> tuple[Array, Array, Array, Array]:
        """Return t (N,), q, qd, qdd (N, n) as a controller plays them: that many periods, start and end included.

        Times are k / rate_hz; where the end falls between two, the later one holds the end's state.
        Raises ExcitationError for a rate that is not positive, or several periods of a motion that has none.
        """
        if count(periods, "the number of periods", 1, 10**6) > 1 and not self.basis.periodic:
            raise ExcitationError(f"the motion is not periodic and cannot be played {periods} times")
        return self._rows(rate_hz, periods * self.duration, False)

    def at_rest(self) -> bool:
        """Return whether velocity and acceleration vanish at start and end, to 1e-9 of their greatest magnitudes."""
        for order in (1, 2):
            least, most = self.extremes(order)
            ends = np.abs(end_conditions(self.basis, (order,)) @ self.coefficients.T)
            if (ends > 1e-9 * np.maximum(-least, most)).any():
                return False
        return True

    def _rows(self, rate_hz: float, end: float, without_end: bool) -> tuple[Array, Array, Array, Array]:
        rate = positive(rate_hz, "the sampling rate [Hz]")
        steps = end * rate
        if steps > 1e7:
            raise ExcitationError(f"{end:g} s at {rate:g} Hz are {steps:.3g} samples, wanted 1e7 at most")
        last = int(np.ceil(steps * (1 - 1e-12)))  # a whole number of steps stays whole under rounding
        t = np.arange(last if without_end else last + 1) / rate
        return (t, *self.states(np.minimum(t, end)))


FORMAT = JsonFormat(
    "ident-trajectory-1",
    "a trajectory",
    Path(__file__).with_name("trajectory.schema.json"),
    ExcitationError,
    again="Design the trajectory again",
    given="Give a file written by `ident excite`",
)
_BASES: dict[str, type[Fourier]] = {"fourier": Fourier, "fourier_and_polynomial": FourierAndPolynomial}


@dataclass(frozen=True, eq=False)
class StoredTrajectory:
    """A trajectory, the robot it was designed for, what is guaranteed for that robot, and how it came about.

    units: "rad" or "m" for each joint; `certificate` and `design` are plain JSON objects.
    """

    trajectory: Trajectory
    robot: str
    fingerprint: str
    units: tuple[str, ...]
    certificate: Mapping[str, Any]
    design: Mapping[str, Any]

    def for_robot(self, robot: Robot) -> Trajectory:
        """Return the trajectory; ExcitationError when it was designed for another robot than this."""
        require_joints(self.trajectory.joints, robot)
        if self.fingerprint != robot.fingerprint():
            other = f"robot {self.robot!r:.60} with fingerprint {self.fingerprint[:12]}"
            problem = (
                f"the trajectory was designed for {other}, this is {robot.name!r:.60} with {robot.fingerprint()[:12]}"
            )
            raise ExcitationError(problem, fix="Design it again: its certificate holds for the other robot only")
        return self.trajectory


def save_trajectory(
    path: str | Path,
    trajectory: Trajectory,
    robot: Robot,
    *,
    certificate: Mapping[str, Any] | None = None,
    design: Mapping[str, Any] | None = None,
) -> Path:
    """Write a trajectory to `path` (JSON), whole or not at all, every digit kept.

    certificate: what is guaranteed, with which margins; design: criterion, seed, time ...; both as JSON objects.
    Raises ExcitationError when the joints are not the robot's, the basis is none of the two of this package, or a
    given object holds what JSON cannot; InputError when the place cannot be written to.
    """
    path = Path(path)
    require_joints(trajectory.joints, robot)
    kind = next((name for name, basis in _BASES.items() if type(trajectory.basis) is basis), None)
    if kind is None:
        raise ExcitationError(f"the basis {type(trajectory.basis).__name__} has no place in a file", file=path)
    numbers = asdict(trajectory.basis)  # type: ignore[call-overload]
    of_joints = zip(trajectory.joints, robot.units("position"), trajectory.coefficients.tolist(), strict=True)
    joints = [{"name": name, "unit": unit, "coefficients": row} for name, unit, row in of_joints]
    document = {
        "format": FORMAT.name,
        "robot": robot.name,
        "fingerprint": robot.fingerprint(),
        "basis": {"kind": kind, **numbers},
        "joints": joints,
        "certificate": dict(certificate or {}),
        "design": dict(design or {}),
    }
    return write_whole(path, FORMAT.text(document, path))


def load_trajectory(path: str | Path) -> StoredTrajectory:
    """Read a trajectory written by `save_trajectory`; coefficients come back to the last digit.

    Raises ExcitationError, naming file and key, when it is not such a file or its parts contradict each other.
    """
    path = Path(path)
    document = FORMAT.read(path)
    joints, kind = document["joints"], _BASES[document["basis"].pop("kind")]
    numbers = {field.name: {"type": "number"} for field in fields(kind)}
    schema = {"properties": numbers, "required": [*numbers], "additionalProperties": False}
    FORMAT.check(document["basis"], path, schema, "basis")
    rows = [joint["coefficients"] for joint in joints]
    where = "basis"
    try:
        basis = kind(**document["basis"])
        for k, row in enumerate(rows):
            if len(row) != basis.size:
                where = f"joints[{k + 1}].coefficients"
                raise ExcitationError(f"has {len(row)} numbers, the basis needs {basis.size}")
        where = "joints"
        trajectory = Trajectory(basis, np.array(rows), tuple(joint["name"] for joint in joints))
    except ExcitationError as cause:
        raise ExcitationError(cause.problem, file=path, key=where, fix=FORMAT.again) from None
    units = tuple(joint["unit"] for joint in joints)
    return StoredTrajectory(
        trajectory, document["robot"], document["fingerprint"], units, document["certificate"], document["design"]
    )


def write_csv(path: str | Path, robot: Robot, t: ArrayLike, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> Path:
    """Write t (N,), q, qd, qdd (N, n), as `Trajectory.playback` returns them, whole or not at all, every digit kept.

    Two lines that begin with # name the robot and its fingerprint; then column names such as `t [s]`, `joint1.q [rad]`,
    `joint1.qd [rad/s]`, `joint1.qdd [rad/s^2]`, all q first.
    Raises ExcitationError when the arrays do not fit the robot, InputError when the place cannot be written to.
    """
    import pandas as pd

    from ident.simulation.run import TIME, columns

    rows, at_rest = _checked(robot, t, q, qd, qdd)
    about = f"# Motion for {origin(robot)}\n# SI units, one row per time; starts and ends at rest: {at_rest}\n"
    names = [TIME, *(name for quantity in ("q", "qd", "qdd") for name in columns(robot, quantity))]
    table = pd.DataFrame(np.column_stack(rows), columns=names)
    return write_whole(path, about + table.to_csv(index=False, lineterminator="\n"))


def write_ros2(path: str | Path, robot: Robot, t: ArrayLike, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> Path:
    """Write t (N,), q, qd, qdd (N, n), as `Trajectory.playback` returns them, whole or not at all.

    Each row is a point with positions, velocities, accelerations [SI] and time_from_start to the nanosecond; a zero
    stamp means "start now". `ros2 topic pub --once TOPIC trajectory_msgs/msg/JointTrajectory "$(cat FILE)"` sends it.
    Raises ExcitationError when the arrays do not fit the robot, InputError when the place cannot be written to.
    """
    rows, at_rest = _checked(robot, t, q, qd, qdd)
    lines = [
        "# trajectory_msgs/msg/JointTrajectory",
        f"# Motion for {origin(robot)}",
        "# rad, rad/s, rad/s^2 for revolute and m, m/s, m/s^2 for prismatic joints",
        f"# starts and ends at rest: {at_rest}",
        "header: {stamp: {sec: 0, nanosec: 0}, frame_id: ''}",
        f"joint_names: [{', '.join(json.dumps(name) for name in robot.joint_names)}]",
        "points:",
    ]
    for time, *state in zip(*(x.tolist() for x in rows), strict=True):
        sec, nanosec = divmod(round(time * 1e9), 10**9)
        lines += [
            f"- positions: {_list(state[0])}",
            f"  velocities: {_list(state[1])}",
            f"  accelerations: {_list(state[2])}",
            f"  time_from_start: {{sec: {sec}, nanosec: {nanosec}}}",
        ]
    return write_whole(path, "\n".join(lines) + "\n")


def _list(values: list[float]) -> str:
    """Return numbers with every digit, and with the point without which YAML 1.1 takes 1e-05 for a word."""
    return f"[{', '.join(x if '.' in x else x.replace('e', '.0e') for x in map(repr, values))}]"


def _checked(robot: Robot, t: ArrayLike, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> tuple[tuple[Array, ...], str]:
    """Return t, q, qd, qdd, and "yes" or "NO": no velocity and acceleration at both ends, to 1e-9 of their greatest.

    Raises ExcitationError when they do not fit the robot, or times do not ascend.
    """
    t = checked(t, (None,), "t", ExcitationError)
    if not len(t):
        raise ExcitationError("the motion has no samples")
    if (np.diff(t) <= 0).any() or t[0] < 0:
        raise ExcitationError("the times of a motion must ascend from zero or later")
    states = [checked(x, (len(t), robot.n), name, ExcitationError) for x, name in ((q, "q"), (qd, "qd"), (qdd, "qdd"))]
    at_rest = all((np.abs(x[[0, -1]]) <= 1e-9 * np.abs(x).max(axis=0)).all() for x in states[1:])
    return (t, *states), "yes" if at_rest else "NO"


def origin(robot: Robot) -> str:
    """Return 'robot "NAME", fingerprint HASH' in ASCII, on one line."""
    return f"robot {json.dumps(robot.name)}, fingerprint {robot.fingerprint()}"


def require_joints(joints: tuple[str, ...], robot: Robot) -> None:
    """Raise ExcitationError unless the joints are the robot's, in its order."""
    if joints != robot.joint_names:
        has = f"robot {robot.name!r:.60} has {', '.join(robot.joint_names)}"
        problem = f"the trajectory moves {', '.join(joints)}, {has}"
        raise ExcitationError(problem, fix="Give all joints in the robot's order")
