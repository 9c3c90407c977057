"""Torques over time, read from a table such as a simulation is written to, or from a recording."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ident.errors import LogError, ModelError
from ident.logs.log import read_log
from ident.logs.manifest import TextFormat, manifest_of, read_manifest, recordings_of
from ident.logs.readers.formats import read_chunks
from ident.logs.readers.request import Request
from ident.robot.robot import Robot
from ident.simulation.torques import SampledTorque
from ident.simulation.write import TIME, columns


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
        raise LogError(
            f"ends in '{path.suffix}'", file=path, fix="Give a .csv or .parquet file, or one that a dataset.toml names"
        )
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
