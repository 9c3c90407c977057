"""Torques over time, read from a table such as a simulation is written to."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ident.errors import LogError, ModelError
from ident.logs.columns import read_chunks
from ident.logs.manifest import TextFormat
from ident.robot.robot import Robot
from ident.simulation.torques import SampledTorque
from ident.simulation.write import TIME, columns


def read_torques(path: str | Path, robot: Robot) -> SampledTorque:
    """Return the torques in a .csv or .parquet file with the columns `t [s]`, `joint1.tau [N m]` and so on.

    One column per joint of the robot, in any order, [N] for a prismatic joint; other columns are left alone, so that
    the table of a simulation drives another one. Raises LogError naming the file, and the column and row where there
    is one, for a file or column that is not there, what is no finite number, and times that do not increase.
    """
    path = Path(path)
    if path.suffix not in (".csv", ".parquet"):
        raise LogError(f"ends in '{path.suffix}'", file=path, fix="Torques are read from .csv and .parquet")
    if not path.is_file():
        raise LogError("there is no such file", file=path)
    names = [TIME, *columns(robot, "tau")]
    chunks = read_chunks(path, path.name, {"all": [(None, name) for name in names]}, TextFormat(header=True))
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
