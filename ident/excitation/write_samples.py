"""A sampled motion as CSV, and as a ROS 2 message trajectory_msgs/msg/JointTrajectory in YAML."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

from numpy.typing import ArrayLike

from ident.arrays import Array
from ident.excitation.rows import checked_rows, ends_at_rest, origin
from ident.files import csv_cell, write_whole
from ident.robot.robot import Robot


def write_csv(path: str | Path, robot: Robot, t: ArrayLike, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> Path:
    """Write t (N,), q, qd, qdd (N, n), as `Trajectory.playback` returns them, whole or not at all, every digit kept.

    Two lines that begin with # name the robot and its fingerprint; then column names such as `t [s]`, `joint1.q [rad]`,
    `joint1.qd [rad/s]`, `joint1.qdd [rad/s^2]`, all q first.
    Raises ExcitationError when the arrays do not fit the robot, InputError when the place cannot be written to.
    """
    rows = checked_rows(robot, t, q, qd, qdd)
    out = io.StringIO()
    out.write(f"# Motion for {origin(robot)}\n")
    out.write(f"# SI units, one row per time; starts and ends at rest: {'yes' if ends_at_rest(rows) else 'NO'}\n")
    writer = csv.writer(out, lineterminator="\n")
    named = list(zip(robot.joint_names, robot.units("position"), strict=True))
    columns = [("q", ""), ("qd", "/s"), ("qdd", "/s^2")]
    writer.writerow(["t [s]", *(csv_cell(f"{name}.{x} [{unit}{per}]") for x, per in columns for name, unit in named)])
    for k, time in enumerate(rows.t.tolist()):
        writer.writerow([time, *rows.q[k].tolist(), *rows.qd[k].tolist(), *rows.qdd[k].tolist()])
    return write_whole(path, out.getvalue())


def write_ros2(path: str | Path, robot: Robot, t: ArrayLike, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> Path:
    """Write t (N,), q, qd, qdd (N, n), as `Trajectory.playback` returns them, whole or not at all.

    Each row is a point with positions, velocities, accelerations [SI] and time_from_start to the nanosecond; a zero
    stamp means "start now". `ros2 topic pub --once TOPIC trajectory_msgs/msg/JointTrajectory "$(cat FILE)"` sends it.
    Raises ExcitationError when the arrays do not fit the robot, InputError when the place cannot be written to.
    """
    rows = checked_rows(robot, t, q, qd, qdd)
    lines = [
        "# trajectory_msgs/msg/JointTrajectory",
        f"# Motion for {origin(robot)}",
        "# rad, rad/s, rad/s^2 for revolute and m, m/s, m/s^2 for prismatic joints",
        f"# starts and ends at rest: {'yes' if ends_at_rest(rows) else 'NO'}",
        "header: {stamp: {sec: 0, nanosec: 0}, frame_id: ''}",
        f"joint_names: [{', '.join(json.dumps(name) for name in robot.joint_names)}]",
        "points:",
    ]
    for k, time in enumerate(rows.t.tolist()):
        sec, nanosec = divmod(round(time * 1e9), 10**9)
        lines += [
            f"- positions: {_list(rows.q[k])}",
            f"  velocities: {_list(rows.qd[k])}",
            f"  accelerations: {_list(rows.qdd[k])}",
            f"  time_from_start: {{sec: {sec}, nanosec: {nanosec}}}",
        ]
    return write_whole(path, "\n".join(lines) + "\n")


def _list(values: Array) -> str:
    return f"[{', '.join(_number(x) for x in values.tolist())}]"


def _number(x: float) -> str:
    """Return every digit of x, with the point without which YAML 1.1 takes 1e-05 for a word."""
    text = repr(x)
    return text if "." in text else text.replace("e", ".0e")
