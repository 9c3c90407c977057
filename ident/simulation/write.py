"""A simulation as a table, and the manifest by which `ident.logs` reads the table as a log."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ident.errors import InputError
from ident.files import csv_cell, write_whole
from ident.robot.robot import Robot
from ident.simulation.simulation import Simulation

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
