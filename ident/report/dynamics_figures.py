"""Figures of a robot at work: a gravity load over two joints, a simulation over time; a designed motion in poses, with
links, what is around them, and the path of the last frame.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ident.arrays import Array
from ident.dynamics import gravity_load
from ident.errors import ExcitationError, ModelError, require_known
from ident.excitation.trajectory import Trajectory
from ident.geometry.scene import Box, Capsule, Plane, Scene, carrier
from ident.report.body_figures import CIRCLE, hull
from ident.report.designed import instants, require_same
from ident.report.figures import AMBER, BAND, BLUE, GREEN, INK, LINE, MUTED, PAGE, RED, empty, figure_of, plain, view
from ident.report.picture import WIDE, Axis, Dots, Line, Mark, Note, Outline, Panel, Picture, short
from ident.robot.robot import UNITS, Joint, Robot, frame_poses
from ident.simulation.run import Simulation
from ident.spatial.inertia import Pose

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
    """Return positions, speeds, torques and energy over time; joints that slide have panels of their own."""
    robot, t = simulation.plant.robot, simulation.t
    time, turns, panels = Axis("time", "s"), len(_COLOURS), list[Panel]()
    drawn = (
        ("position", simulation.q, "deg", "m"),
        ("speed", simulation.qd, "deg/s", "m/s"),
        ("drive torque", simulation.tau, *UNITS["torque"]),
    )
    for slides in (False, True):
        own = [(j, joint) for j, joint in enumerate(robot.joints) if joint.slides == slides]
        for what, values, *units in drawn if own else ():
            shown = np.degrees(values) if units[slides].startswith("deg") else values
            looks = ((j, joint.name, _COLOURS[j % turns], "--" if j >= turns else "") for j, joint in own)
            curves = (Line(t, shown[:, j], colour, name, 1.6, dash) for j, name, colour, dash in looks)
            panels.append(Panel(time, Axis(what, units[slides]), tuple(curves)))
    energies = (("kinetic", simulation.kinetic), ("potential", simulation.potential), ("sum", simulation.energy))
    curves = (Line(t, x, INK, name, 1.6, dash) for (name, x), dash in zip(energies, (":", "--", ""), strict=True))
    panels.append(Panel(time, Axis("energy", "J"), tuple(curves)))
    law = simulation.friction_law
    note = f"{law[:1].upper()}{law[1:]}"
    if simulation.stopped:
        note += f". Stopped: {simulation.stopped}"
    return figure_of(Picture(f"{robot.name}: {simulation.method}", tuple(panels), 2, note, WIDE))


_VIEW = view(-55.0, 24.0)


def poses_figure(robot: Robot, trajectory: Trajectory, scene: Scene | None = None, *, poses: int = 8) -> Figure:
    """Return `poses` postures at equal steps of the motion, seen from the same point and at the same scale.

    Links are lines between their frames' origins. With them: capsules, planes and boxes of the scene, the links' shadow
    on the first plane, and the path of the last frame. Raises ExcitationError when the joints differ or poses is not
    positive, RobotError when the scene names an unknown link.
    """
    require_same(trajectory.joints, robot.joint_names)
    if poses < 1:
        raise ExcitationError(f"the number of poses is {poses}, wanted 1 or more")
    scene = scene or Scene()
    last = next((b.name for b in reversed(robot.fixed) if b.link == robot.n - 1), robot.links[-1])
    fine = instants(trajectory, 400)
    path = np.array([frame_poses(robot, q)[last].position for q in trajectory.derivative(fine, 0)])
    times = np.arange(poses) * trajectory.duration / (poses if trajectory.basis.periodic else max(poses - 1, 1))
    placed = [frame_poses(robot, q) for q in trajectory.derivative(times, 0)]
    skeletons = [_skeleton(robot, frames, last) for frames in placed]
    bodies = [[_moved(robot, capsule, frames) for capsule in scene.capsules] for frames in placed]

    corners, centre, half = _window(path, skeletons, bodies, scene)
    turned = 0.2 * float(half.min()) * _across(robot.joints[-1].axis)

    columns = min(poses, 4)
    low, high = centre - half, centre + half
    across, up = (Axis(limits=(float(a), float(b))) for a, b in zip(low, high, strict=True))
    height = WIDE / columns * min(1.3, max(0.5, half[1] / half[0]))
    way, panels = _seen(path)[:, :2], list[Panel]()
    for k, frames in enumerate(placed):
        recent = path[(fine > times[max(k - 1, 0)]) & (fine < times[k])]
        done = _seen(np.vstack([placed[max(k - 1, 0)][last].position, recent, frames[last].position]))[:, :2]
        hand = _seen(frames[last].position + np.outer([0.0, 1.0], frames[robot.links[-1]].rotation @ turned))
        marks = [
            *_surroundings(scene, corners),
            *_shadow(scene, skeletons[k]),
            Outline(way, RED, width=0.6),
            *_links(skeletons[k], bodies[k]),
            Outline(done, RED, width=2.4),
            Outline(hand[:, :2], INK, width=2.1),
            Dots(done[-1:, 0], done[-1:, 1], RED),
        ]
        marks += _axes_of_base(low, 0.25 * float(half.min())) if k == 0 else []
        marks += _scale(centre + half * (1.0, -1.0), 0.6 * float(half[0])) if k == poses - 1 else []
        panels.append(Panel(across, up, tuple(marks), height, f"{times[k]:.3g} s", equal=True))
    note = (
        f"Same scale and view. Blue: links. Orange: path of {short(last)}, thick since the pose before. Black: how it"
        f" is turned{'. Outlines: collision capsules' if scene.capsules else ''}"
    )
    title = f"The motion in {poses} poses, {trajectory.duration:.3g} s"
    return figure_of(Picture(title, tuple(panels), columns, note, WIDE))


def _window(
    path: Array, skeletons: list[list[Array]], bodies: list[list[tuple[Array, Array, float]]], scene: Scene
) -> tuple[list[Array], Array, Array]:
    """Return the planes' corners, and the middle and half the size (2,) of what is to be seen."""
    around = [path, *(s for skeleton in skeletons for s in skeleton)]
    around += [
        end + sign * r * np.ones(3) for found in bodies for *ends, r in found for end in ends for sign in (-1, 1)
    ]
    cloud = np.vstack([np.atleast_2d(x) for x in around])
    middle, reach = (cloud.min(axis=0) + cloud.max(axis=0)) / 2.0, 0.5 * float(np.ptp(cloud, axis=0).max()) or 0.1
    corners = [_square(plane, middle, reach) for plane in scene.planes]
    near = [middle + np.clip(box.corners - middle, -1.3 * reach, 1.3 * reach) for box in scene.boxes]
    seen = _seen(np.vstack([cloud, *corners, *near]))[:, :2]
    wide = np.ptp(seen, axis=0)
    half = 0.53 * np.maximum(wide, 0.25 * wide.max() or 0.1)
    return corners, (seen.max(axis=0) + seen.min(axis=0)) / 2.0, half


def _shadow(scene: Scene, skeleton: list[Array]) -> Iterator[Mark]:
    """Yield the shadow of links on the first plane."""
    for plane in scene.planes[:1]:
        for line in skeleton:
            shadow = line - np.outer(line @ plane.normal - plane.offset, plane.normal)
            yield Outline(_seen(shadow)[:, :2], LINE, width=2.9)


def _links(skeleton: list[Array], bodies: list[tuple[Array, Array, float]]) -> Iterator[Mark]:
    """Yield the links in one pose and their capsules, the nearest last."""
    for start, end, radius in sorted(bodies, key=lambda b: float(_seen(b[0] + b[1])[2])):
        yield Outline(capsule_outline(_seen(start)[:2], _seen(end)[:2], radius), MUTED, PAGE, width=1.2, opacity=0.9)
    for line in skeleton:
        shown = _seen(line)[:, :2]
        yield from (Outline(shown, BLUE, width=3.2), Dots(shown[:, 0], shown[:, 1], BLUE, size=4.3))


def capsule_outline(start: ArrayLike, end: ArrayLike, radius: float) -> Array:
    """Return the outline (points, 2) of a capsule seen along a line: that of circles about its axis' ends (2,)."""
    return hull(np.concatenate([np.asarray(at) + radius * CIRCLE.T for at in (start, end)]))


def _seen(points: Array) -> Array:
    """Return points (..., 3) of the base frame as seen: to the right, up, towards the eye [m]."""
    return np.asarray(points @ _VIEW.T)


def _skeleton(robot: Robot, frames: dict[str, Pose], last: str) -> list[Array]:
    """Return a line (2, 3) from each link's parent to the link, and one to the last frame."""
    ends = [(robot.base if p < 0 else robot.links[p], link) for p, link in zip(robot.parents, robot.links, strict=True)]
    if last not in robot.links:
        ends.append((robot.links[-1], last))
    return [np.stack([frames[a].position, frames[b].position]) for a, b in ends]


def _moved(robot: Robot, capsule: Capsule, frames: dict[str, Pose]) -> tuple[Array, Array, float]:
    carrier(robot, capsule.link)  # says so when there is no such link
    pose = frames[capsule.link]
    start, end = (pose.rotation @ x + pose.position for x in (capsule.start, capsule.end))
    return start, end, capsule.radius


def _across(axis: Array) -> Array:
    """Return the unit vector (3,) of the frame that is most perpendicular to an axis."""
    return np.asarray(np.eye(3)[int(np.argmin(np.abs(axis)))])


def _square(plane: Plane, middle: Array, reach: float) -> Array:
    """Return the corners (4, 3) of the part of a plane next to the robot; none (0, 3) where it is far."""
    height = float(middle @ plane.normal) - plane.offset
    if abs(height) > 2.0 * reach:
        return np.zeros((0, 3))
    foot = middle - height * plane.normal
    first = np.cross(plane.normal, _across(plane.normal))
    first /= np.linalg.norm(first)
    second = np.cross(plane.normal, first)
    reach *= 0.65  # seen over its corner, the square is wider than its edges
    return np.array([foot + reach * (x * first + y * second) for x, y in ((1, 1), (1, -1), (-1, -1), (-1, 1))])


def _surroundings(scene: Scene, corners: list[Array]) -> Iterator[Mark]:
    """Yield planes, which are filled where seen from their front, and the edges of boxes, dotted of a workspace."""
    for plane, square in zip(scene.planes, corners, strict=True):
        if len(square):
            front = float(_VIEW[2] @ plane.normal) > 0
            yield Outline(_seen(np.vstack([square, square[:1]]))[:, :2], LINE, BAND if front else "", width=1.1)
    solid: list[tuple[Box, str]] = [(box, "") for box in scene.boxes]
    solid += [(room, ":") for room in scene.workspace if isinstance(room, Box)]
    edges = [(i, k) for i in range(8) for k in range(i) if (i ^ k) in (1, 2, 4)]
    yield from (Outline(_seen(box.corners)[[i, k], :2], MUTED, dash=dash) for box, dash in solid for i, k in edges)


def _axes_of_base(corner: Array, length: float) -> Iterator[Mark]:
    """Yield the directions of the base frame's axes in a corner."""
    start = corner + 1.3 * length
    for name, way in zip("xyz", length * _seen(np.eye(3))[:, :2], strict=True):
        yield Outline(np.array([start, start + way]), INK, width=1.1)
        x, y = (start + 1.3 * way).tolist()
        yield Note(x, y, name, INK, "center")


def _scale(corner: Array, longest: float) -> Iterator[Mark]:
    """Yield a round length below the longest in a corner."""
    power = 10.0 ** np.floor(np.log10(longest))
    length = next(x * power for x in (5.0, 2.0, 1.0) if x * power <= longest)
    right, y = float(corner[0]), float(corner[1]) + 0.1 * longest
    yield Outline(np.array([[right - length, y], [right, y]]), INK, width=2.1)
    yield Note(right - length / 2.0, y + 0.16 * longest, f"{length:g} m", INK, "center")
