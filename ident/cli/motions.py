"""Commands that make and simulate motions: `ident excite`; `ident postures` and `ident sweep` for gravity or friction
alone; `ident dynamics` and `ident codegen`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from ident import pipelines
from ident.cli.console import RobotPath, answer, asked, command_line, out_option, progress, say, show, tell_aside
from ident.errors import InputError, plural
from ident.pipelines.answers import parts_of, plain
from ident.pipelines.wishes import (
    JOINT_NUMBERS,
    ExciteWishes,
    MoveWishes,
    PostureWishes,
    joint_numbers,
    noise_of,
    numbers,
)
from ident.tell import LOG

if TYPE_CHECKING:
    from ident.arrays import Array
    from ident.excitation.search import Start
    from ident.pipelines.excitation import Excitation
    from ident.pipelines.moves import WrittenMoves
    from ident.pipelines.plants import Dynamics


WORTH = ("unit", "CAD", "predicted standard error", "of the CAD value", "shown")

#: What the number is whose logarithm, times the factor, each criterion makes small.
MEANINGS = {
    "d": ("mean error (geometric)", 0.5),
    "a": ("root of the summed variances", 0.5),
    "e": ("error of the worst combination", 1.0),
    "condition": ("condition number (SI)", 1.0),
    "scaled-condition": ("condition number (columns scaled)", 1.0),
    "worst-error": ("worst error", 1.0),
}


def excite(
    robot: RobotPath,
    wishes: ExciteWishes,
    noise: Annotated[str | None, "Torque noise [N m; N]: one number, or one per joint"] = None,
    start: Annotated[str | None, "Posture to start from at rest, such as '0 30 deg'"] = None,
    end: Annotated[str | None, "Posture to end in at rest; without: where it starts"] = None,
    out: Annotated[Path | None, "Folder; without: excitation-ROBOT", "--out -o"] = None,
) -> None:
    """Design a motion that makes the parameters identifiable and keeps every limit at every instant."""
    from ident.pipelines.moves import folder_named
    from ident.robot import read_robot

    arm = read_robot(robot)
    wishes = replace(
        wishes,
        noise=None if noise is None else noise_of(noise, arm),
        start=None if start is None else tuple(joint_numbers(start, arm, "--start").tolist()),
        end=None if end is None else tuple(joint_numbers(end, arm, "--end").tolist()),
    )
    total = wishes.starts + (wishes.resume is not None)

    def told(done: Start, best: float | None) -> None:
        if asked().quiet:
            return
        here = f"start {done.number + 1} of {total}, {done.seconds:.1f} s: "
        if done.value is None:
            here += "no motion that is proven to keep every limit"
        else:
            here += f"{MEANINGS[wishes.criterion][0]} {_meant(wishes.criterion, done.value)}"
        tell_aside(here if best is None else f"{here}; best {_meant(wishes.criterion, best)}")

    folder = folder_named(out, f"excitation-{arm.name}")
    _tell(pipelines.excite(robot, wishes, folder, told, command_line()), folder)


def _meant(criterion: str, value: float) -> str:
    return f"{math.exp(MEANINGS[criterion][1] * value):.4g}"


def _tell(found: Excitation, folder: Path) -> None:
    """Print what was found, what it is worth and what is proven."""
    from ident.report.designed import gain_sentence, guarantees_table, worth_sentences, worth_table

    design, (si, scaled) = found.design, found.conditions
    done = [s for s in design.starts if s.value is not None]
    answer(
        robot=found.robot.name,
        duration=design.trajectory.duration,
        condition=si,
        condition_scaled=scaled,
        **parts_of(design, "ended", "value", "starts"),
        guarantees=[{**plain(g), "holds": g.holds} for g in design.guarantees],
        worth={"names": found.worth.base.names, "errors": found.worth.errors, "values": found.worth.values},
        notes=found.notes,
        path=folder,
    )
    ended = "" if design.ended.endswith("done") else f"; {design.ended}"
    say(
        f"{design.trajectory.duration:.4g} s for {found.robot.name}: condition number {si:.4g} (SI), {scaled:.3g} "
        f"(columns scaled); best of {len(done)} motions from {len(design.starts)} starts{ended}"
    )
    show(worth_table(found.worth, found.robot.slides), ("base parameter", *WORTH))
    say(*worth_sentences(found.worth))
    if found.before is not None:
        say(gain_sentence(found.before, found.worth))
    show(guarantees_table(design.guarantees), ("what", "reached", "limit", "spare"))
    kept = sum(g.holds for g in design.guarantees)
    less = f"; torques are of the bodies that are stated, without {found.lacks}" if found.lacks else ""
    say(f"proven for every instant: {kept} of {len(design.guarantees)} limits{less}")
    for note in found.notes:
        LOG.info(note)
    for method in dict.fromkeys(g.method for g in design.guarantees):
        say(f"- {sum(g.method == method for g in design.guarantees)} by {method}")
    say(f"wrote {folder}; its predicted.csv says which combination of parameters each name stands for")


OutPath = Annotated[
    Path | None, "Folder, which gets trajectory.csv and trajectory.yaml; without: COMMAND-ROBOT", "--out -o"
]


def postures(robot: RobotPath, tour: PostureWishes, wishes: MoveWishes, out: OutPath = None) -> None:
    """A tour of postures at rest that tell most about gravity's parameters: no friction, no acceleration."""
    import numpy as np

    found = pipelines.postures(robot, wishes, tour, out)
    assert found.postures is not None
    rest = f"at rest for {found.moves.resting.mean():.0%} of the time"
    _written(found, f"{len(found.postures)} postures, {found.moves.t[-1]:.4g} s, {rest}")
    if found.limits is not None:
        need, effort = found.limits.holding(found.postures), found.limits.effort
        k, j = np.unravel_index(int(np.argmax(need / effort)), need.shape)
        joint = found.robot.joints[int(j)]
        say(
            f"at rest the joints need most at posture {k + 1}: {need[k, j]:.4g} {joint.unit('torque')} at joint "
            f"'{joint.name}', wanted at most {effort[j]:.4g}; {_proven(found)}"
        )


def sweep(
    robot: RobotPath,
    wishes: MoveWishes,
    speeds: Annotated[
        str | None, "Speeds \\[rad/s; m/s], such as '0.05 0.2 0.8'; without: 5, 10, 20 and 40 % of each joint's limit"
    ] = None,
    joints: Annotated[str | None, "Joints to sweep; without: all of them"] = None,
    posture: Annotated[str | None, "Where the others stand; without: the middle of the ranges"] = None,
    out: OutPath = None,
) -> None:
    """Each joint through its range at constant speeds, there and back: friction without inertia."""
    from ident.robot import read_robot

    arm = read_robot(robot)
    names = arm.joint_names if joints is None else tuple(joints.replace(",", " ").split())
    wanted = None if speeds is None else numbers(speeds, "--speeds", "Such as '0.05 0.2 0.8'")
    at = None if posture is None else joint_numbers(posture, arm, "--posture")
    found = pipelines.sweep(robot, wishes, speeds=wanted, joints=names, posture=at, out=out)
    count = len(found.speeds[names[0]])
    what = f"{plural(len(names), 'joint')} at {count} speeds, {found.moves.t[-1]:.4g} s"
    _written(found, f"{what}, at constant speed for {found.moves.constant.mean():.0%} of the time")
    if found.limits is not None:
        say(_proven(found))


def _written(found: WrittenMoves, what: str) -> None:
    moves = found.moves
    own = parts_of(found, "postures", "speeds", "share", "notes")
    resting, constant = moves.resting.mean(), moves.constant.mean()
    answer(robot=found.robot.name, duration=moves.t[-1], **own, resting=resting, constant=constant, path=found.folder)
    for note in found.notes:
        LOG.info(note)
    say(f"{what}; wrote {found.folder}")


def _proven(found: WrittenMoves) -> str:
    need = f"no joint needs more than {found.share:.1%} of its torque limit less the margin"
    return f"on the whole way {need}, by a proven bound"


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
    from ident.report.checked_text import mass_rows, torque_rows

    model, found = known.model, known.torques(*state)
    title = "Torque = D(q) qdd + C(q, qd) qd + g(q)"
    if model.terms:
        kinds = dict.fromkeys(name.rsplit(".", 1)[1].replace("_", " ") for name in model.names[model.n_rigid :])
        title += f" + joint terms ({', '.join(kinds)})"
    joints = [{"name": joint.name, "unit": joint.unit("torque")} for joint in model.robot.joints]
    answer(kind="torques", joints=joints, parts=found.parts, mass_matrix=found.mass_matrix)
    show(torque_rows(title, model.robot, found.parts))
    show(mass_rows(model.robot, found.mass_matrix))


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
