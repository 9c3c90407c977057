"""Figures of dynamics: a gravity load over two joints, and a simulation over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ident.arrays import Array
from ident.dynamics import gravity_load
from ident.errors import ModelError, require_known
from ident.report.figures import AMBER, BLUE, GREEN, INK, LINE, MUTED, RED, empty, plain
from ident.robot.robot import UNITS, Joint, Robot
from ident.simulation.run import Simulation

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_COLOURS = (BLUE, RED, GREEN, AMBER, "#8a5fb0", MUTED, "#56b4e9")


def gravity_surface(
    robot: Robot, inertials: Array, joints: tuple[str, str], q: Array, points: int = 61
) -> tuple[Array, Array, Array]:
    """Return a, b (points,) [rad; m] over both joints' ranges and their gravity loads (points, points, 2) [N m; N].

    Load [i, k] is at a[i], b[k]; the other joints stand at q (n,). A joint without limits turns once around. What is no
    more than rounding beside the largest load of all joints is 0.
    Raises ModelError for an unknown joint, or a prismatic one without limits.
    """
    require_known(joints, robot.joint_names, ModelError, f"robot '{robot.name}' has no joint")
    if joints[0] == joints[1]:
        raise ModelError(f"a surface needs two different joints, got '{joints[0]}' twice")
    index = [robot.joint_names.index(name) for name in joints]
    a, b = (np.linspace(*_range(robot.joints[j]), points) for j in index)
    grid = np.tile(np.asarray(q, dtype=np.float64), (points * points, 1))
    grid[:, index[0]], grid[:, index[1]] = np.repeat(a, points), np.tile(b, points)
    load = gravity_load(robot, inertials, grid)
    load = np.where(np.abs(load) <= 1e-13 * np.abs(load).max(), 0.0, load)
    return a, b, load[:, index].reshape(points, points, 2)


def _range(joint: Joint) -> tuple[float, float]:
    if joint.limits.ends is not None:
        return joint.limits.ends
    if joint.slides:
        problem = f"joint '{joint.name}' slides without limits, so there is no range to draw"
        raise ModelError(problem, fix="Give the joint limits in the robot file")
    return -np.pi, np.pi


def gravity_figure(robot: Robot, inertials: Array, joints: tuple[str, str], q: Array) -> Figure:
    """Return both joints' gravity loads over their ranges, as level lines over two angles in degrees."""
    from matplotlib.ticker import MaxNLocator

    a, b, load = gravity_surface(robot, inertials, joints, q)
    chosen = [robot.joints[robot.joint_names.index(name)] for name in joints]
    (x, x_unit), (y, y_unit) = (
        (values, "m") if joint.slides else (np.degrees(values), "deg")
        for values, joint in zip((a, b), chosen, strict=True)
    )
    figure = empty(9.6, 4.0)
    for axes, joint, torque in zip(figure.subplots(1, 2), chosen, np.moveaxis(load, 2, 0), strict=True):
        axes.set(xlabel=f"{plain(joints[0])} [{x_unit}]", ylabel=f"{plain(joints[1])} [{y_unit}]")
        most = float(np.abs(torque).max())
        if not most:
            axes.set(xlim=(x[0], x[-1]), ylim=(y[0], y[-1]))
            axes.set_title(f"Gravity load of {plain(joint.name)}: none", fontsize=10)
            axes.text(0.5, 0.5, "gravity acts on it nowhere", transform=axes.transAxes, ha="center", color=MUTED)
            continue
        levels = MaxNLocator(12, symmetric=True).tick_values(-most, most)
        drawn = axes.contourf(x, y, torque.T, levels=levels, cmap="RdBu_r")
        lines = axes.contour(x, y, torque.T, levels=levels, colors=INK, linewidths=0.4)
        axes.clabel(lines, fontsize=6)
        unit = joint.unit("torque")
        axes.set_title(f"Gravity load of {plain(joint.name)}: at most {most:.3g} {unit}", fontsize=10)
        figure.colorbar(drawn, ax=axes, label=f"torque that holds {plain(joint.name)} [{unit}]")
    return figure


def simulation_figure(simulation: Simulation) -> Figure:
    """Return positions, speeds, torques and energy over time."""
    robot = simulation.plant.robot
    slides = [joint.slides for joint in robot.joints]
    figure = empty(9.6, 6.0)
    axes = figure.subplots(2, 2, sharex=True).ravel()
    drawn = (
        ("Position", simulation.q, "deg", "m"),
        ("Speed", simulation.qd, "deg/s", "m/s"),
        ("Drive torque", simulation.tau, *UNITS["torque"]),
    )
    for place, (title, values, turning, sliding) in zip(axes, drawn, strict=False):
        other = place.twinx() if any(slides) and not all(slides) else place  # metres have an axis of their own
        if other is not place:
            other.set_ylabel(f"{sliding} (dashed)", fontsize=8)
            place.set_ylabel(turning, fontsize=8)
        lines = []
        for j, (name, slide) in enumerate(zip(robot.joint_names, slides, strict=True)):
            shown = values[:, j] if slide or turning == "N m" else np.degrees(values[:, j])
            dash = "--" if (slide and other is not place) or j >= len(_COLOURS) else "-"
            where = other if slide else place
            colour = _COLOURS[j % len(_COLOURS)]
            lines += where.plot(simulation.t, shown, dash, color=colour, label=plain(name), linewidth=1.2)
        unit = "" if other is not place else f" [{sliding if all(slides) else turning}]"
        place.set_title(f"{title}{unit}", fontsize=10)
        if title == "Position":  # below the axes: each joint's line is free there, whatever it does
            figure.legend(
                handles=lines, loc="outside lower center", ncols=min(len(lines), 8), fontsize=8, frameon=False
            )
    energies = (("kinetic", simulation.kinetic), ("potential", simulation.potential), ("sum", simulation.energy))
    for (name, values), colour in zip(energies, _COLOURS, strict=False):
        axes[3].plot(simulation.t, values, color=colour, label=name, linewidth=1.2)
    axes[3].set_title("Energy [J]", fontsize=10)
    axes[3].legend(fontsize=7)
    for place in axes:
        place.grid(color=LINE, linewidth=0.5)
    for place in axes[2:]:
        place.set_xlabel("time [s]")
    law = simulation.friction_law
    note = f"{robot.name}: {simulation.method}. {law[:1].upper()}{law[1:]}"
    if simulation.stopped:
        note += f". Stopped: {simulation.stopped}"
    figure.suptitle(plain(note, len(note)), fontsize=8, wrap=True)
    return figure
