"""A sampled motion as CSV."""

from __future__ import annotations

import csv
import io
from pathlib import Path

from numpy.typing import ArrayLike

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
