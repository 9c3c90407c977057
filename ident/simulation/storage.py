"""A simulation as a table, the manifest by which `ident.logs` reads it as a log, and torques read from such tables."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ident.errors import InputError, LogError, ModelError
from ident.files import csv_cell, write_whole
from ident.logs.log import read_log
from ident.logs.manifest import TextFormat, manifest_of, read_manifest, recordings_of
from ident.logs.readers.formats import Request, read_chunks
from ident.robot.robot import Robot
from ident.simulation.run import Simulation
from ident.simulation.torques import SampledTorque

if TYPE_CHECKING:
    import pandas as pd


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


def manifest_text(simulation: Simulation, file: str, name: str = "simulation") -> str:
    """Return a `dataset.toml` that reads `file`, written beside it by `write_simulation`, as the recording `name`."""

    def signal(quantity: str) -> str:
        units = simulation.plant.robot.units(QUANTITIES[quantity])
        return f"{{ columns = {json.dumps(columns(simulation.plant.robot, quantity))}, unit = {json.dumps(units)} }}"

    note = f"simulated by {simulation.method}; {simulation.friction_law}"
    if simulation.stopped:
        note += f"; stopped: {simulation.stopped}"
    return (
        f"[dataset]\nname = {json.dumps(name)}\nnote = {json.dumps(note)}\n\n"
        f'[signals]\ntime = {{ column = "{TIME}", unit = "s" }}\nposition = {signal("q")}\n'
        f"velocity = {signal('qd')}\ntorque = {signal('tau')}\n\n"
        f"[[recording]]\nname = {json.dumps(name)}\nfile = {json.dumps(file)}\n"
    )


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
