"""The commands `ident dynamics` and `ident codegen`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from ident import pipelines
from ident.cli.answers import answer, parts_of
from ident.cli.console import (
    JOINT_NUMBERS,
    RobotPath,
    guarded,
    joint_numbers,
    out_option,
    progress,
    say,
    show,
    tell_aside,
)
from ident.errors import InputError, plural
from ident.tell import LOG

if TYPE_CHECKING:
    from ident.arrays import Array
    from ident.pipelines.plants import Dynamics

CadPath = Annotated[
    Path | None, "CAD table (its springs are slack at 0); without: the robot's own numbers, friction too"
]


@dataclass(frozen=True)
class Asked:
    """What is asked of a robot's dynamics: torques at a state, gravity loads of two joints, or a simulation."""

    q: Annotated[str | None, f"Position: {JOINT_NUMBERS}"] = None
    qd: Annotated[str | None, "Speed, likewise"] = None
    qdd: Annotated[str | None, "Acceleration, likewise"] = None
    surface: Annotated[str | None, "Two joints, 'joint2 joint3': draw their gravity loads to --plot"] = None
    simulate: Annotated[float | None, "Simulate from --q, --qd on", "--simulate SECONDS"] = None
    torque: Annotated[
        str | None,
        "Drive torques of the simulation: one constant per joint [N m; N], a recording's file that a"
        " dataset.toml names, or a .csv or .parquet table with the columns 't \\[s]', 'joint1.tau [N m]' and so on,"
        " as --out writes it",
    ] = None
    limits: Annotated[bool, "Stop the simulation at the limits of the joints"] = True
    step: Annotated[float | None, "Fixed step of RK4 \\[s]; without: an adaptive solver"] = None
    out: Annotated[Path | None, out_option("simulation.csv", "Table of the simulation, .csv or .parquet")] = None
    plot: Annotated[Path | None, "Picture to write, .png, .svg or .pdf"] = None

    def check(self) -> None:
        """Raise InputError for an option that means nothing for what is asked, or a file that cannot be written."""
        for path, endings in ((self.out, (".csv", ".parquet")), (self.plot, (".png", ".svg", ".pdf"))):
            if path is not None and path.suffix not in endings:
                raise InputError(f"ends in '{path.suffix}'", file=path, fix=f"Choose one of {', '.join(endings)}")
        what, unused = "a simulation, which finds accelerations", ["qdd"]
        if self.surface is not None:
            what, unused = "the gravity loads of --surface", ["simulate", "qd", "qdd", "out"]
        for key in ("torque", "step"):
            if getattr(self, key) is not None and self.simulate is None:
                raise InputError("is for a simulation", key=f"--{key}", fix="Add --simulate SECONDS")
        if self.surface is None and self.simulate is None:
            what, unused = "", ["out", "plot"]
        for key in unused:
            if getattr(self, key) is not None and what:
                raise InputError(f"means nothing for {what}", key=f"--{key}", fix="Leave it out")
            if getattr(self, key) is not None:
                fix = "Add --simulate SECONDS or --surface 'A B'"
                raise InputError("there is nothing to write", key=f"--{key}", fix=fix)


@guarded
def dynamics(
    robot: RobotPath,
    asked: Asked,
    cad: CadPath = None,
    estimate: Annotated[Path | None, "estimate.json of this robot: its links, friction and other joint terms"] = None,
    friction: Annotated[bool, "With the friction that is known"] = True,
) -> None:
    """Torques at a state, gravity loads over two joints' ranges, or a simulation."""
    from ident.pipelines.plants import outside

    asked.check()  # before any work
    known = pipelines.dynamics(robot, cad=cad, estimate=estimate, friction=friction)
    for warning in known.warnings:
        LOG.warning(warning)
    arm = known.model.robot
    state = [joint_numbers(getattr(asked, key), arm, f"--{key}") for key in ("q", "qd", "qdd")]
    for problem in outside(arm, state[0]):
        if asked.simulate is not None and asked.surface is None and asked.limits:
            raise InputError(problem, key="--q", fix="Start inside, or add --no-limits")
        LOG.warning(problem)
    if asked.surface is not None:
        _surface(known, asked.surface, state[0], asked.plot)
    elif asked.simulate is not None:
        _simulate(known, state, asked, asked.simulate)
    else:
        _torques(known, state)


@guarded
def codegen(
    robot: RobotPath,
    cad: CadPath = None,
    c: Annotated[Path | None, "Write C99, source and header, here", "FOLDER"] = None,
    python: Annotated[Path | None, "Write a numpy module", "FILE"] = None,
    latex: Annotated[Path | None, "Write the equations", "FILE"] = None,
    symbolic: Annotated[bool, "Leave the link parameters open even where numbers are known", "--symbolic"] = False,
) -> None:
    """Write inverse dynamics, regressor, D, C and g of a robot as code or equations."""
    written, notes = pipelines.codegen(robot, cad=cad, c=c, python=python, latex=latex, symbolic=symbolic)
    answer(files=written, notes=notes)
    for note in notes:
        (tell_aside if note.startswith("warning") else say)(note)
    say(f"wrote {', '.join(str(path) for path in written)}")


def _torques(known: Dynamics, state: list[Array]) -> None:
    """Print the torque of each joint and what it is made of, and the mass matrix."""
    import numpy as np

    from ident.report.text import number, table

    model, found = known.model, known.torques(*state)
    title = "Torque = D(q) qdd + C(q, qd) qd + g(q)"
    if model.terms:
        kinds = dict.fromkeys(name.rsplit(".", 1)[1].replace("_", " ") for name in model.names[model.n_rigid :])
        title += f" + joint terms ({', '.join(kinds)})"
    joints = [{"name": joint.name, "unit": joint.unit("torque")} for joint in model.robot.joints]
    answer(kind="torques", joints=joints, parts=found.parts, mass_matrix=found.mass_matrix)
    rows = [
        (joint.name, joint.unit("torque"), *(number(float(x)) for x in row))
        for joint, row in zip(model.robot.joints, _rounded(np.array(list(found.parts.values())).T), strict=True)
    ]
    show(table(title, ("joint", "unit", *found.parts), rows))
    names = model.robot.joint_names
    d = zip(names, _rounded(found.mass_matrix), strict=True)
    entries = [(name, *(number(float(x)) for x in row)) for name, row in d]
    show(table("Mass matrix D(q) [kg m^2; kg m; kg]", ("", *names), entries))


def _rounded(values: Array) -> Array:
    """Return values (n, m) with 0 in place of what is no more than rounding beside the largest."""
    import numpy as np

    return np.where(np.abs(values) < 1e-14 * np.abs(values).max(), 0.0, values)


def _surface(known: Dynamics, joints: str, q: Array, plot: Path | None) -> None:
    """Draw the gravity loads of two joints."""
    from ident.report.dynamics_figures import gravity_figure, gravity_surface
    from ident.report.figures import save_figure
    from ident.report.text import number

    names, robot = joints.replace(",", " ").split(), known.model.robot
    if len(names) != 2:
        raise InputError(f"'{joints}' is not two joints", key="--surface", fix="Give two names, as 'joint2 joint3'")
    pair = (names[0], names[1])
    _, _, load = gravity_surface(robot, known.inertials, pair, q)
    answer(kind="surface", joints=names, lowest=load.min(axis=(0, 1)), highest=load.max(axis=(0, 1)), path=plot)
    for name, values in zip(names, (load[..., 0], load[..., 1]), strict=True):
        unit = robot.joints[robot.joint_names.index(name)].unit("torque")
        say(f"gravity load of {name}: {number(float(values.min()))} to {number(float(values.max()))} {unit}")
    if plot is not None:
        say(f"wrote {save_figure(gravity_figure(robot, known.inertials, pair, q), plot)}")


def _simulate(known: Dynamics, state: list[Array], asked: Asked, seconds: float) -> None:
    """Simulate, say what came of it, and write what was asked for."""
    from ident.pipelines.plants import drive_torques
    from ident.report.dynamics_figures import simulation_figure
    from ident.report.figures import save_figure
    from ident.simulation import write_simulation

    robot = known.model.robot
    drives = drive_torques(asked.torque, robot)
    with progress() as tell:
        found = known.simulate(
            state[0], state[1], seconds, drives=drives, step=asked.step, limits=asked.limits, tell=tell
        )
    own = parts_of(found, "method", "friction_law", "stopped", "t", "q", "qd", "qdd", "tau")
    answer(kind="simulation", joints=robot.joint_names, **own, files=[p for p in (asked.out, asked.plot) if p])
    say(f"simulated {robot.name} for {found.t[-1]:g} s: {found.method}, {plural(len(found.t), 'sample')}")
    say(f"friction: {found.friction_law}")
    if found.stopped:
        say(f"stopped: {found.stopped}", style="yellow")
    if asked.out is not None:
        say(f"wrote {write_simulation(found, asked.out)}")
    if asked.plot is not None:
        say(f"wrote {save_figure(simulation_figure(found), asked.plot)}")
