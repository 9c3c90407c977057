"""The commands `ident dynamics` and `ident codegen`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ident.cli.console import JOINT_NUMBERS, guarded, joint_numbers, progress, say, show, tell_aside
from ident.cli.options import file_out

if TYPE_CHECKING:
    from ident.arrays import Array
    from ident.model import Model
    from ident.robot.robot import Robot
    from ident.simulation import Simulation, TorqueFunction

RobotPath = Annotated[Path, typer.Argument(metavar="ROBOT", help="Robot (.urdf, .toml)")]
CadPath = Annotated[
    Path | None,
    typer.Option(
        "--cad", help="CAD table (its springs are slack at 0); without: the robot's own numbers, friction too"
    ),
]
_MOST = 2_000_000  # samples of a simulation
_PICTURES = (".png", ".svg", ".pdf")


@guarded
def dynamics(
    robot: RobotPath,
    cad: CadPath = None,
    estimate: Annotated[
        Path | None,
        typer.Option("--estimate", help="estimate.json of this robot: its links, friction and other joint terms"),
    ] = None,
    q: Annotated[str | None, typer.Option("--q", help=f"Position: {JOINT_NUMBERS}")] = None,
    qd: Annotated[str | None, typer.Option("--qd", help="Speed, likewise")] = None,
    qdd: Annotated[str | None, typer.Option("--qdd", help="Acceleration, likewise")] = None,
    surface: Annotated[
        str | None, typer.Option("--surface", help="Two joints, 'joint2 joint3': draw their gravity loads to --plot")
    ] = None,
    simulate: Annotated[
        float | None, typer.Option("--simulate", metavar="SECONDS", help="Simulate from --q, --qd on")
    ] = None,
    torque: Annotated[
        str | None,
        typer.Option(
            "--torque",
            help="Drive torques of the simulation: one constant per joint [N m; N], a recording's file that a"
            " dataset.toml names, or a .csv or .parquet table with the columns 't \\[s]', 'joint1.tau [N m]' and so on,"
            " as --out writes it",
        ),
    ] = None,
    limits: Annotated[
        bool, typer.Option("--limits/--no-limits", help="Stop the simulation at the limits of the joints")
    ] = True,
    step: Annotated[
        float | None, typer.Option("--step", help="Fixed step of RK4 \\[s]; without: an adaptive solver")
    ] = None,
    friction: Annotated[bool, typer.Option("--friction/--no-friction", help="With the friction that is known")] = True,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            parser=file_out("simulation.csv"),
            metavar="PATH",
            help="Table of the simulation, .csv or .parquet",
        ),
    ] = None,
    plot: Annotated[Path | None, typer.Option("--plot", help="Picture to write, .png, .svg or .pdf")] = None,
) -> None:
    """Torques at a state, gravity loads over two joints' ranges, or a simulation."""
    from ident.errors import InputError

    for path, endings in ((out, (".csv", ".parquet")), (plot, _PICTURES)):  # before any work is done for it
        if path is not None and path.suffix not in endings:
            raise InputError(f"ends in '{path.suffix}'", file=path, fix=f"Choose one of {', '.join(endings)}")
    for key, given in (("--torque", torque), ("--step", step)):
        if given is not None and simulate is None:
            raise InputError("is for a simulation", key=key, fix="Add --simulate SECONDS")
    unused: dict[str, object] = {}
    if surface is not None:
        unused = {"--simulate": simulate, "--qd": qd, "--qdd": qdd, "--out": out}
    elif simulate is not None:
        unused = {"--qdd": qdd}
    elif out is not None or plot is not None:
        key = "--plot" if out is None else "--out"
        raise InputError("there is nothing to write", key=key, fix="Add --simulate SECONDS or --surface 'A B'")
    for key, value in unused.items():
        if value is not None:
            what = (
                "the gravity loads of --surface" if surface is not None else "a simulation, which finds accelerations"
            )
            raise InputError(f"means nothing for {what}", key=key, fix="Leave it out")
    if estimate is None:
        model, theta = _model(*_numbers(robot, cad))
    elif cad is None:
        model, theta = _identified(robot, estimate)
    else:
        raise InputError("both give the numbers of the links", key="--cad, --estimate", fix="Give one of them")
    model, theta = (model, theta) if friction else _frictionless(model, theta)
    arm, parameters = model.robot, theta[: model.n_rigid].reshape(-1, 10)
    state = [joint_numbers(text, arm, key) for text, key in ((q, "--q"), (qd, "--qd"), (qdd, "--qdd"))]
    _beyond(arm, state[0], wrong=simulate is not None and surface is None and limits)
    if surface is not None:
        _surface(arm, parameters, surface, state[0], plot)
    elif simulate is not None:
        _simulate(model, theta, state, simulate, torque, step, limits, out, plot)
    else:
        _torques(model, theta, state)


@guarded
def codegen(
    robot: RobotPath,
    cad: CadPath = None,
    c: Annotated[Path | None, typer.Option("--c", metavar="FOLDER", help="Write C99, source and header, here")] = None,
    python: Annotated[Path | None, typer.Option("--python", metavar="FILE", help="Write a numpy module")] = None,
    latex: Annotated[Path | None, typer.Option("--latex", metavar="FILE", help="Write the equations")] = None,
    symbolic: Annotated[
        bool, typer.Option("--symbolic", help="Leave the link parameters open even where numbers are known")
    ] = False,
) -> None:
    """Write inverse dynamics, regressor, D, C and g of a robot as code or equations."""
    from ident.errors import InputError
    from ident.export.code import write_c, write_latex, write_python
    from ident.robot import read_robot

    if c is None and python is None and latex is None:
        raise InputError("no target is given", key="--c", fix="Add --c FOLDER, --python FILE or --latex FILE")
    for what, path, ending in (("a Python module", python, ".py"), ("a LaTeX document", latex, ".tex")):
        if path is not None and path.suffix != ending:  # before any is written
            raise InputError(f"{what} ends in {ending}, not in '{path.suffix}'", file=path)
    if c is not None and c.exists() and not c.is_dir():
        raise InputError(f"'{c.name}' is no folder", key="--c", fix="Name a folder, which may be new")
    arm = read_robot(robot)
    open_ = symbolic or (cad is None and arm.inertials is None)
    _, parameters, joint_values = (arm, None, {}) if open_ else _numbers(robot, cad)
    say("link parameters are arguments of the code" if open_ else "link parameters are worked into the code")
    if joint_values:
        say("friction and other joint terms are not in the code")
    written: list[Path] = []
    if c is not None:
        written += write_c(c, arm, parameters)
    if python is not None:
        written.append(write_python(python, arm, parameters))
    if latex is not None:
        written.append(write_latex(latex, arm, parameters))
    say(f"wrote {', '.join(str(path) for path in written)}")


def _numbers(robot: Path, cad: Path | None) -> tuple[Robot, Array, dict[str, float]]:
    """Return the robot, its links' parameters (n, 10) and the joint parameters that are known."""
    import numpy as np

    from ident.cad import read_cad, require_consistent
    from ident.errors import CadError
    from ident.robot import read_robot
    from ident.spatial.inertia import consistency

    arm = read_robot(robot)
    if cad is not None:
        table = read_cad(cad)
        require_consistent(table)
        return arm, np.asarray(table.for_robot(arm)), dict(table.joint_values)
    if arm.inertials is None or not np.isfinite(arm.inertials).all():
        raise CadError("does not give the inertials of every link", file=robot, fix="Add --cad with a CAD table")
    for link, body in zip(arm.links, np.asarray(arm.inertials), strict=True):
        found = consistency(body)
        least = min(found.mass, found.moments[0], found.triangle_gap)
        if not found.consistent and least < -1e-9 * max(abs(found.mass), found.moments[2]):  # not by rounding
            tell_aside(f"warning: {robot.name}: link '{link}' cannot exist: {'; '.join(found.failures())}")
    return arm, np.asarray(arm.inertials), _joint_dynamics(robot, arm)


def _joint_dynamics(robot: Path, arm: Robot) -> dict[str, float]:
    """Return damping and friction of the URDF that a robot file is, or names."""
    from ident.pipelines.loaded import urdf_source
    from ident.robot.urdf import read_joint_dynamics

    urdf = urdf_source(robot)
    given = {} if urdf is None else read_joint_dynamics(urdf)
    values: dict[str, float] = {}
    for joint in arm.joint_names:
        damping, friction = given.get(joint) or (0.0, 0.0)
        if min(damping, friction) < 0:
            said = f"damping {damping:g} and friction {friction:g}: less than 0 drives the joint"
            tell_aside(f"warning: {robot.name}: joint '{joint}' has {said}")
        values |= {f"{joint}.{kind}": x for kind, x in (("viscous", damping), ("coulomb", friction)) if x}
    return values


def _beyond(robot: Robot, q: Array, *, wrong: bool) -> None:
    """Refuse (where it is wrong) or warn of a position outside its joint's limits: often degrees taken for radians."""
    from ident.errors import InputError

    for joint, x in zip(robot.joints, q, strict=True):
        if not joint.limits.lower - 1e-9 <= x <= joint.limits.upper + 1e-9:
            unit = "rad" if joint.kind == "revolute" else "m"
            hint = " (for degrees, end --q with deg)" if joint.kind == "revolute" else ""
            low, high = joint.limits.lower, joint.limits.upper
            problem = f"{joint.name} at {x:g} {unit} is outside its limits {low:g} to {high:g} {unit}{hint}"
            if wrong:
                raise InputError(problem, key="--q", fix="Start inside, or add --no-limits")
            tell_aside(f"warning: {problem}")


def _torques(model: Model, theta: Array, state: list[Array]) -> None:
    """Print the torque of each joint and what it is made of, and the mass matrix."""
    import numpy as np

    from ident.dynamics import bias, gravity_load, inverse_dynamics, mass_matrix
    from ident.model import torque
    from ident.report.text import number, table

    robot, parameters = model.robot, theta[: model.n_rigid].reshape(-1, 10)
    q, qd, qdd = (x[None] for x in state)
    load = gravity_load(robot, parameters, q)[0]
    moving = bias(robot, parameters, q, qd)[0]
    bodies = inverse_dynamics(robot, parameters, q, qd, qdd)[0]
    columns = {"D qdd": bodies - moving, "C qd": moving - load, "gravity": load}
    title = "Torque = D(q) qdd + C(q, qd) qd + g(q)"
    total = bodies
    if model.terms:
        total = torque(model, theta, q, qd, qdd)[0]
        columns["joint terms"] = total - bodies
        kinds = dict.fromkeys(name.rsplit(".", 1)[1].replace("_", " ") for name in model.names[model.n_rigid :])
        title += f" + joint terms ({', '.join(kinds)})"
    columns["torque"] = total
    rows = []
    for joint, row in zip(robot.joints, _rounded(np.array(list(columns.values())).T), strict=True):
        rows.append((joint.name, "N m" if joint.kind == "revolute" else "N", *(number(float(x)) for x in row)))
    show(table(title, ("joint", "unit", *columns), rows))
    d = _rounded(mass_matrix(robot, parameters, q)[0])
    names = robot.joint_names
    entries = [(name, *(number(float(x)) for x in row)) for name, row in zip(names, d, strict=True)]
    show(table("Mass matrix D(q) [kg m^2; kg m; kg]", ("", *names), entries))


def _rounded(values: Array) -> Array:
    """Return values (n, m) with 0 in place of what is no more than rounding beside the largest."""
    import numpy as np

    return np.where(np.abs(values) < 1e-14 * np.abs(values).max(), 0.0, values)


def _surface(robot: Robot, parameters: Array, joints: str, q: Array, plot: Path | None) -> None:
    """Draw the gravity loads of two joints."""
    from ident.errors import InputError
    from ident.report.dynamics_figures import gravity_figure, gravity_surface
    from ident.report.text import number

    names = joints.replace(",", " ").split()
    if len(names) != 2:
        raise InputError(f"'{joints}' is not two joints", key="--surface", fix="Give two names, as 'joint2 joint3'")
    pair = (names[0], names[1])
    _, _, load = gravity_surface(robot, parameters, pair, q)
    for name, values in zip(names, (load[..., 0], load[..., 1]), strict=True):
        unit = "N m" if robot.joints[robot.joint_names.index(name)].kind == "revolute" else "N"
        say(f"gravity load of {name}: {number(float(values.min()))} to {number(float(values.max()))} {unit}")
    if plot is not None:
        _draw(gravity_figure(robot, parameters, pair, q), plot)


def _simulate(
    model: Model,
    theta: Array,
    state: list[Array],
    seconds: float,
    torque: str | None,
    step: float | None,
    limits: bool,
    out: Path | None,
    plot: Path | None,
) -> None:
    """Simulate, say what came of it, and write what was asked for."""
    import numpy as np

    from ident.errors import InputError
    from ident.report.dynamics_figures import simulation_figure
    from ident.simulation import plant, simulate, simulate_fixed, write_simulation

    if not 0 < seconds < np.inf:
        raise InputError(f"{seconds} is no time to simulate", key="--simulate", fix="Give a positive number of seconds")
    if step is not None and not 0 < step < np.inf:
        raise InputError(f"{step} is no step", key="--step", fix="Give a positive number of seconds")
    if seconds > _MOST * (step or 1e-3):
        raise InputError(
            f"{seconds:g} s in steps of {step or 1e-3:g} s are more than {_MOST:,} samples",
            key="--simulate",
            fix="Simulate a shorter time",
        )
    drives = _drives(torque, model.robot)
    plant_ = plant(model, theta)
    found: Simulation
    with progress() as tell:
        if step is None:
            times = np.linspace(0.0, seconds, max(round(seconds * 1000), 1) + 1)
            found = simulate(plant_, state[0], state[1], times, drives, stop_at_limits=limits, tell=tell)
        else:
            found = simulate_fixed(plant_, state[0], state[1], seconds, step, drives, stop_at_limits=limits, tell=tell)
    samples = f"{len(found.t)} sample{'s' if len(found.t) > 1 else ''}"
    say(f"simulated {model.robot.name} for {found.t[-1]:g} s: {found.method}, {samples}")
    say(f"friction: {found.friction_law}")
    if found.stopped:
        say(f"stopped: {found.stopped}", "yellow")
    if out is not None:
        say(f"wrote {write_simulation(found, out)}")
    if plot is not None:
        _draw(simulation_figure(found), plot)


def _drives(torque: str | None, robot: Robot) -> TorqueFunction:
    """Return the torques that --torque names: none, constants or a table."""
    import numpy as np

    from ident.errors import InputError
    from ident.simulation import read_torques

    if torque is not None and (Path(torque.strip()).suffix in (".csv", ".parquet") or Path(torque.strip()).is_file()):
        return read_torques(torque.strip(), robot)
    words = [] if torque is None else torque.replace(",", " ").split()
    try:
        values = np.array([float(word) for word in words]) if words else np.zeros(robot.n)
    except ValueError:
        raise InputError(
            f"'{torque}' is no list of torques",
            key="--torque",
            fix="Give one number a joint, or a .csv or .parquet file",
        ) from None
    if len(values) != robot.n or not np.isfinite(values).all():
        raise InputError(
            f"'{torque}' is not {robot.n} finite torques, one for each of {', '.join(robot.joint_names)}",
            key="--torque",
        )
    return lambda t, q, qd: values


def _identified(robot: Path, estimate: Path) -> tuple[Model, Array]:
    """Return the model that was fitted, and its theta."""
    from ident.errors import EstimationError
    from ident.estimate import fitted_model
    from ident.estimate.storage import load_estimate
    from ident.robot import read_robot

    found = load_estimate(estimate)
    if found.theta is None:
        raise EstimationError(
            f"{estimate.name}: '{found.estimator}' determines base parameters only, no links to move. "
            "Use the constrained fit.",
            estimate=found,
        )
    return fitted_model(found, read_robot(robot)), found.theta


def _frictionless(model: Model, theta: Array) -> tuple[Model, Array]:
    """Return the model without its friction terms; a coupled motor keeps its inertia alone."""
    import numpy as np

    from ident.model import Model

    kinds = ("viscous", "nonlinear_viscous", "coulomb", "load_friction")
    terms = [(t, [name.rpartition(".")[2] in kinds for name in t.names(model.robot)]) for t in model.terms]
    kept = tuple(term for term, friction in terms if not all(friction))
    at = {name: k for k, name in enumerate(model.names)}
    less = Model(model.robot, kept)
    values = [0.0 if name.rpartition(".")[2] in kinds else theta[at[name]] for name in less.names]
    return less, np.array(values)


def _model(robot: Robot, parameters: Array, joint_values: dict[str, float]) -> tuple[Model, Array]:
    """Return the model with a term for each kind of joint parameter that is known, and its theta."""
    import numpy as np

    from ident.model import Coulomb, DriveInertia, Model, Offset, Spring, Viscous

    terms, values = [], []
    for kind, suffix in (
        (DriveInertia, "drive_inertia"),
        (Viscous, "viscous"),
        (Coulomb, "coulomb"),
        (Offset, "offset"),
        (Spring, "stiffness"),
    ):
        joints = tuple(name for name in robot.joint_names if f"{name}.{suffix}" in joint_values)
        if joints:
            terms.append(kind(joints=joints))
            values += [joint_values[f"{name}.{suffix}"] for name in joints]
    return Model(robot, tuple(terms)), np.concatenate([np.ravel(parameters), values])


def _draw(figure: Any, path: Path) -> None:
    """Write a figure, whole or not at all."""
    import io

    from ident.files import write_whole
    from ident.report.fonts import legible

    content = io.BytesIO()
    legible(figure).savefig(content, format=path.suffix[1:], dpi=130)
    say(f"wrote {write_whole(path, content.getvalue())}")
