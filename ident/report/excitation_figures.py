"""Figures of a designed motion: its limits, its torques, what it will be worth, and how the robot moves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ident.arrays import Array
from ident.errors import ExcitationError
from ident.excitation.kinematic_limits import ORDERS, UNITS, KinematicLimits
from ident.excitation.torque_limits import TorqueLimits
from ident.excitation.trajectory import Trajectory
from ident.excitation.worth import Worth
from ident.geometry.scene import Scene, carrier
from ident.geometry.shapes import Box, Capsule, Plane
from ident.report.excitation_text import PROMISES, Promise, promises, relative_errors
from ident.report.figures import AMBER, BAND, BLUE, GREEN, INK, LINE, MEASURED, MUTED, PAGE, PALE, RED, plain
from ident.report.text import number, unit
from ident.robot.frames import frame_poses
from ident.robot.robot import Robot
from ident.spatial.inertia import INERTIAL
from ident.spatial.pose import Pose

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH = 9.6  # inch
_ROOM = 0.12  # of a range, drawn beyond each limit
_SHADES: dict[Promise, tuple[str, str]] = {
    "well": (BLUE, "o"),
    "roughly": (GREEN, "s"),
    "weakly": (AMBER, "D"),
    "shown": (BLUE, "o"),
    "not shown": (RED, "X"),
}
_VIEW = (np.radians(-55.0), np.radians(24.0))  # azimuth and elevation of the eye
_ARC = np.linspace(-0.5 * np.pi, 0.5 * np.pi, 13)


def limits_figure(trajectory: Trajectory, limits: KinematicLimits) -> Figure:
    """Return position, velocity and acceleration of every joint over the motion, each between its limits.

    A row per joint, in its own units; beside each curve the share of the limit that is used, from the exact extremes
    (of a range: how far from its middle). Jerk gets a column where it uses more than half of a limit.
    Raises ExcitationError when the joints differ.
    """
    _same(trajectory.joints, limits.joints)
    t = _times(trajectory)
    lower = np.vstack([limits.lower, -limits.rates])
    upper = np.vstack([limits.upper, limits.rates])
    extremes = [trajectory.extremes(order) for order in range(4)]
    least, most = np.array([x[0] for x in extremes]), np.array([x[1] for x in extremes])
    used = _used(least, most, lower, upper)
    orders = range(4 if np.nan_to_num(used[3]).max() > 0.5 else 3)
    named = [[f"{ORDERS[o]} of {plain(joint)}" for joint in limits.joints] for o in orders]
    figure, grid = _sheet(
        trajectory.n,
        len(orders),
        _verdict(used[: len(orders)].ravel(), [name for row in named for name in row]),
        "Blue: the motion. Orange: the limits. At the right: greatest share used, exact at every instant",
    )
    for o in orders:
        values = trajectory.derivative(t, o)
        units = sorted({UNITS[kind][o] for kind in limits.kinds}, reverse=True)
        grid[0][o].set_title(f"{ORDERS[o]} [{_written('; '.join(units))}]", fontsize=9, color=INK)
        for j in range(trajectory.n):
            _curve(grid[j][o], t, values[:, j], (lower[o, j], upper[o, j]), float(used[o, j]))
    for j, joint in enumerate(limits.joints):
        slides = "\n(slides)" if limits.kinds[j] == "prismatic" and "revolute" in limits.kinds else ""
        _named(grid[j][0], plain(joint, 18) + slides)
    return figure


def torque_figure(trajectory: Trajectory, limits: TorqueLimits) -> Figure:
    """Return the torque of every joint over the motion, between its limits, and the total power where it is limited.

    The band is what Coulomb friction may add in either direction. Shares are those of the samples drawn.
    Raises ExcitationError when the joints differ.
    """
    robot = limits.model.robot
    _same(trajectory.joints, robot.joint_names)
    t = _times(trajectory)
    states = trajectory.states(t)
    tau, friction, effort = limits.torques(states), limits.coulomb, limits.effort
    units = ["N" if joint.kind == "prismatic" else "N m" for joint in robot.joints]
    used = _used((tau - friction).min(axis=0), (tau + friction).max(axis=0), -effort, effort)
    shares, names = used.tolist(), [f"torque of {plain(joint)}" for joint in robot.joint_names]
    panels = robot.n + int(np.isfinite(limits.power))
    columns = 1 if panels < 4 else 2
    power = ((np.abs(tau) + friction) * np.abs(states[1])).sum(axis=1)
    if np.isfinite(limits.power):
        shares, names = [*shares, float(power.max() / limits.power)], [*names, "total power"]
    figure, grid = _sheet(
        -(-panels // columns),
        columns,
        _verdict(np.array(shares), names, f" at {len(t)} instants"),
        "Blue: torque, in the band that Coulomb friction may add. Orange: limits. At the right: greatest share used",
        height=0.95,
    )
    flat = [axes for row in grid for axes in row]
    for j, joint in enumerate(robot.joint_names):
        if friction[j] > 0:
            band = (tau[:, j] - friction[j], tau[:, j] + friction[j])
            flat[j].fill_between(t, *band, color=PALE, linewidth=0, zorder=1)
        _curve(flat[j], t, tau[:, j], (-effort[j], effort[j]), float(used[j]), friction[j])
        _named(flat[j], f"{plain(joint, 18)}\n[{units[j]}]")
    if np.isfinite(limits.power):
        _curve(flat[robot.n], t, power, (-np.inf, limits.power), shares[-1])
        _named(flat[robot.n], "total power\n[W]")
    for axes in flat[panels:]:
        axes.set_visible(False)
    for axes in flat[max(0, panels - columns) : panels]:
        axes.tick_params(labelbottom=True)
        axes.set_xlabel("time [s]")
    return figure


_BEYOND = 100.0  # relative errors above this end in an arrow


def worth_figure(worth: Worth, prismatic: frozenset[str] = frozenset()) -> Figure:
    """Return the predicted standard error of every base parameter, links first, the largest of each group on top.

    Relative to the CAD value where the worth has one, else in the parameter's unit; prismatic: names of the joints that
    slide, for the units.
    """
    found, relative = promises(worth), relative_errors(worth)
    compared = worth.values is not None
    shown = relative if compared else worth.errors
    known = shown[np.isfinite(shown) & (shown > 0)]
    low, high = (float(known.min()), float(known.max())) if known.size else (0.01, 0.1)
    left = 10.0 ** np.floor(np.log10(low) - 0.05)
    right = max(10.0 ** np.ceil(np.log10(high) + 0.05), 10.0 * left, 2.0 if compared else 0.0)
    if compared:
        right = min(right, _BEYOND)  # a CAD value that is nearly 0 says nothing of the scale
    columns = _columns(_groups(worth.base.names, np.stack([np.where(np.isnan(shown), 0.0, shown), worth.errors])))
    longest = max(len(column) for column in columns)
    counts = [f"{found.count(p)} {p}" for p in ("roughly", "weakly", "not shown") if p in found]
    title = (
        f"{found.count('well')} of {len(found)} base parameters will be known to 10 % or better"
        if compared
        else f"{found.count('shown')} of {len(found)} base parameters will be known"
    )
    note = "Predicted standard errors, shorter is better. Each name stands for the combination that the table gives"
    if compared and (shown[np.isfinite(shown)] > right).any():
        note += f". Arrows: above {100 * right:g} %"
    figure, (row,) = _sheet(1, len(columns), ", ".join([title, *counts]), note, 0.16 * longest + 0.9)
    for axes, column in zip(row, columns, strict=True):
        for place, entry in enumerate(column):
            if isinstance(entry, str):
                continue
            colour, marker = _SHADES[found[entry]]
            if worth.values is not None and np.isnan(shown[entry]):
                none = "CAD says 0" if np.isfinite(worth.values[entry]) else "no CAD value"
                error = f"{none}; error {number(float(worth.errors[entry]), 2)} "
                said = error + unit(worth.base.names[entry], prismatic)
                box = {"facecolor": PAGE, "edgecolor": "none", "pad": 0.8}
                axes.text(left * 1.15, place, said, va="center", fontsize=7, color=INK, zorder=3, bbox=box)
                continue
            axes.axhline(place, color=LINE, linewidth=0.5, zorder=0)
            value = float(np.clip(shown[entry], left, right))
            axes.plot([left, value], [place, place], color=colour, linewidth=1.6, solid_capstyle="butt")
            beyond = float(shown[entry]) > right
            axes.plot([value], [place], ">" if beyond else marker, color=colour, markersize=4.5, clip_on=False)
        axes.set_xscale("log")
        axes.set_xlim(left, right)
        axes.set_ylim(longest - 0.4, -0.6)
        axes.set_yticks(range(len(column)), [_label(entry, worth, prismatic, compared) for entry in column])
        for entry, tick in zip(column, axes.get_yticklabels(), strict=True):
            tick.set(fontsize=7.5, fontweight="bold" if isinstance(entry, str) else "normal")
        axes.tick_params(axis="y", length=0)
        axes.grid(axis="y", visible=False)
        axes.minorticks_off()
        if compared:
            decades = 10.0 ** np.arange(np.log10(left), np.log10(right) + 0.5)
            axes.set_xticks(decades, [f"{100 * x:g} %" for x in decades])
            axes.axvline(1.0, color=INK, linewidth=1.0, linestyle="--")
            axes.set_xlabel("standard error / CAD value")
        else:
            axes.set_xlabel("standard error [unit of each parameter]")
    _promised(figure, found, compared)
    return figure


def poses_figure(robot: Robot, trajectory: Trajectory, scene: Scene | None = None, *, poses: int = 8) -> Figure:
    """Return `poses` postures at equal steps of the motion, seen from the same point and at the same scale.

    Links are lines between their frames' origins. With them: capsules, planes and boxes of the scene, the links' shadow
    on the first plane, and the path of the last frame. Raises ExcitationError when the joints differ or poses is not
    positive, RobotError when the scene names an unknown link.
    """
    _same(trajectory.joints, robot.joint_names)
    if poses < 1:
        raise ExcitationError(f"the number of poses is {poses}, wanted 1 or more")
    scene = scene or Scene()
    last = next((b.name for b in reversed(robot.fixed) if b.link == robot.n - 1), robot.links[-1])
    fine = _times(trajectory, 400)
    path = np.array([frame_poses(robot, q)[last].position for q in trajectory.derivative(fine, 0)])
    times = np.arange(poses) * trajectory.duration / (poses if trajectory.basis.periodic else max(poses - 1, 1))
    placed = [frame_poses(robot, q) for q in trajectory.derivative(times, 0)]
    skeletons = [_skeleton(robot, frames, last) for frames in placed]
    bodies = [[_moved(robot, capsule, frames) for capsule in scene.capsules] for frames in placed]

    around = [path, *(s for skeleton in skeletons for s in skeleton)]
    around += [
        end + sign * r * np.ones(3) for found in bodies for *ends, r in found for end in ends for sign in (-1, 1)
    ]
    cloud = np.vstack([np.atleast_2d(x) for x in around])
    middle, reach = (cloud.min(axis=0) + cloud.max(axis=0)) / 2.0, 0.5 * float(np.ptp(cloud, axis=0).max()) or 0.1
    corners = [_square(plane, middle, reach) for plane in scene.planes]
    near = [middle + np.clip(box.corners - middle, -1.3 * reach, 1.3 * reach) for box in scene.boxes]
    seen = _seen(np.vstack([cloud, *corners, *near]))[:, :2]
    centre, wide = (seen.max(axis=0) + seen.min(axis=0)) / 2.0, np.ptp(seen, axis=0)
    half = 0.53 * np.maximum(wide, 0.25 * wide.max() or 0.1)
    turned = 0.2 * float(half.min()) * _across(robot.joints[-1].axis)

    columns = min(poses, 4)
    rows = -(-poses // columns)
    height = WIDTH / columns * min(1.3, max(0.5, half[1] / half[0]))
    figure, grid = _sheet(
        rows,
        columns,
        f"The motion in {poses} poses, {trajectory.duration:.3g} s",
        f"Same scale and view. Blue: links. Orange: path of {plain(last)}, thick since the pose before. Black: how it "
        "is turned" + (". Outlines: collision capsules" if scene.capsules else ""),
        height,
    )
    flat = [axes for row in grid for axes in row]
    for k, axes in enumerate(flat[:poses]):
        _surroundings(axes, scene, corners)
        for plane in scene.planes[:1]:
            for line in skeletons[k]:
                shadow = _seen(line - np.outer(line @ plane.normal - plane.offset, plane.normal))
                axes.plot(shadow[:, 0], shadow[:, 1], color=MEASURED, linewidth=2.2, alpha=0.5, zorder=1.5)
        for order, (start, end, radius) in enumerate(sorted(bodies[k], key=lambda b: float(_seen(b[0] + b[1])[2]))):
            outline = capsule_outline(_seen(start)[:2], _seen(end)[:2], radius)
            axes.fill(*outline.T, facecolor=PAGE, edgecolor=MUTED, linewidth=0.9, zorder=2.0 + 1e-3 * order, alpha=0.9)
        for line in skeletons[k]:
            shown = _seen(line)
            axes.plot(shown[:, 0], shown[:, 1], "-o", color=BLUE, linewidth=2.4, markersize=3.2, zorder=3,
                      solid_capstyle="round")  # fmt: skip
        way = _seen(path)
        axes.plot(way[:, 0], way[:, 1], color=RED, linewidth=0.7, alpha=0.4, zorder=1.8)
        recent = path[(fine > times[max(k - 1, 0)]) & (fine < times[k])]
        done = _seen(np.vstack([placed[max(k - 1, 0)][last].position, recent, placed[k][last].position]))
        axes.plot(done[:, 0], done[:, 1], color=RED, linewidth=1.8, zorder=3.6)
        axes.plot(*done[-1, :2], "o", color=RED, markersize=4, zorder=4)
        hand = _seen(placed[k][last].position + np.outer([0.0, 1.0], placed[k][robot.links[-1]].rotation @ turned))
        axes.plot(hand[:, 0], hand[:, 1], color=INK, linewidth=1.6, zorder=3.9)
        axes.set_title(f"{times[k]:.3g} s", fontsize=9, color=INK)
    for axes in flat:
        axes.set_xlim(centre[0] - half[0], centre[0] + half[0])
        axes.set_ylim(centre[1] - half[1], centre[1] + half[1])
        axes.set_aspect("equal")
        axes.axis("off")
    _axes_of_base(flat[0], centre - half, 0.25 * float(half.min()))
    _scale(flat[poses - 1], centre + half * (1.0, -1.0), 0.6 * float(half[0]))
    return figure


def capsule_outline(start: ArrayLike, end: ArrayLike, radius: float) -> Array:
    """Return the outline (26, 2) of a capsule seen along a line: two half circles about the ends (2,) of its axis."""
    a, b = np.asarray(start, dtype=np.float64), np.asarray(end, dtype=np.float64)
    along = np.arctan2(*(b - a)[::-1])
    arcs = [
        end + radius * np.stack([np.cos(x), np.sin(x)], 1) for end, x in ((b, along + _ARC), (a, along + np.pi + _ARC))
    ]
    return np.concatenate(arcs)


def _same(joints: tuple[str, ...], wanted: tuple[str, ...]) -> None:
    if joints != wanted:
        raise ExcitationError(
            f"the trajectory moves {', '.join(joints)}, and the robot's joints are {', '.join(wanted)}",
            fix="Take the robot that the trajectory was made for",
        )


def _times(trajectory: Trajectory, least: int = 500) -> Array:
    return np.linspace(0.0, trajectory.duration, max(least, 20 * trajectory.basis.size))


def _used(least: Array, most: Array, lower: Array, upper: Array) -> Array:
    """Return the share of each range's half that is used, from its middle; of a range with one end, beyond or not."""
    with np.errstate(invalid="ignore"):
        both = np.maximum(upper + lower - 2.0 * least, 2.0 * most - upper - lower) / (upper - lower)
    one = np.where((least < lower) | (most > upper), np.inf, np.where(np.isinf(lower) & np.isinf(upper), np.nan, 0.0))
    return np.where(np.isfinite(lower) & np.isfinite(upper), both, one)


def _verdict(used: Array, names: Sequence[str], at: str = "") -> str:
    """Return the sentence over a figure: how near the nearest limit is."""
    if np.isnan(used).all():
        return "No limits to compare with"
    k = int(np.nanargmax(used))
    if used[k] > 1.0:
        return f"BEYOND A LIMIT: {names[k]}" + (f", {100 * used[k]:.4g} %" if np.isfinite(used[k]) else "")
    return f"Every limit is kept{at}. Nearest: {names[k]}, {_share(float(used[k]))} used"


def _share(used: float) -> str:
    """Return a share in percent, with a digit more where it decides."""
    return f"{100 * used:.1f} %" if 0.99 < used < 1.01 else f"{100 * used:.0f} %"


def _written(units: str) -> str:
    return units.replace("^2", "²").replace("^3", "³")


def _curve(axes: Axes, t: Array, y: Array, ends: tuple[float, float], used: float, band: float = 0.0) -> None:
    """Draw one curve between its limits, and the share used beside it."""
    beyond = used > 1.0
    axes.plot(t, y, color=RED if beyond else BLUE, linewidth=1.4, zorder=2)
    finite = [x for x in ends if np.isfinite(x)]
    low, high = min([*finite, float(y.min()) - band]), max([*finite, float(y.max()) + band])
    room = _ROOM * (high - low) or 1.0
    axes.set_ylim(low - room, high + room)
    axes.set_xlim(0.0, t[-1])
    for x, far in zip(ends, (low - room, high + room), strict=True):
        if np.isfinite(x):
            axes.axhspan(min(x, far), max(x, far), color=BAND, linewidth=0, zorder=0)
            axes.axhline(x, color=RED, linewidth=1.1, zorder=1)
    if len(finite) == 2:
        near = finite[1] - finite[0] < 0.5 * (high - low)  # then there is no room for the middle's number
        ticks = finite if near else [finite[0], sum(finite) / 2.0, finite[1]]
        axes.set_yticks(ticks, [f"{x:.3g}".replace("-", "−") for x in ticks])
    said = "no\nlimit" if np.isnan(used) else "beyond" if np.isinf(used) else "kept" if used == 0.0 else _share(used)
    told = axes.text(1.015, 0.5, said, transform=axes.transAxes, va="center", fontsize=8)
    told.set(color=RED if beyond else MUTED if np.isnan(used) else INK, fontweight="bold" if used > 0.9 else "normal")


def _named(axes: Axes, name: str) -> None:
    axes.set_ylabel(name, fontsize=8.5, rotation=0, ha="right", va="center", color=INK)


def _sheet(rows: int, columns: int, title: str, note: str, height: float = 0.72) -> tuple[Figure, list[list[Axes]]]:
    """Return a Figure of rows x columns axes, each row so high [inch], with a title and a note that explains it."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    total = 0.95 + rows * height
    figure = Figure(figsize=(WIDTH, total), layout="constrained")
    FigureCanvasAgg(figure)
    made: Any = figure.subplots(rows, columns, squeeze=False, sharex=True)
    figure.text(0.008, 1.0 - 0.06 / total, title, va="top", fontsize=11, fontweight="bold", color=INK).set_in_layout(
        False
    )
    figure.text(0.008, 1.0 - 0.29 / total, note, va="top", fontsize=8.5, color=MUTED).set_in_layout(False)
    engine = figure.get_layout_engine()
    if engine is not None:
        engine.set(rect=(0.004, 0.0, 0.992, 1.0 - 0.5 / total))  # type: ignore[call-arg]
    for axes in made.ravel():
        axes.set_facecolor("none")
        axes.grid(color=LINE, linewidth=0.5)
        axes.set_axisbelow(True)
        axes.tick_params(labelsize=7.5, colors=INK, length=2.5, width=0.6)
        axes.xaxis.label.set(fontsize=8.5, color=INK)
        for side, spine in axes.spines.items():
            spine.set(color=MUTED, linewidth=0.6, visible=side in ("left", "bottom"))
    for axes in made[-1]:
        axes.set_xlabel("time [s]", fontsize=8.5)
    return figure, [list(row) for row in made]


def _groups(names: Sequence[str], sizes: Array) -> list[tuple[str, list[int]]]:
    """Return base parameters by link, and those of joints by what they are; each group's largest first.

    sizes (2, b): what to sort by, and what decides between equals.
    """
    found: dict[str, list[int]] = {}
    for k, name in enumerate(names):
        of, _, part = name.rpartition(".")
        found.setdefault(of if part in INERTIAL else part.replace("_", " "), []).append(k)
    return [(head, sorted(members, key=lambda k: tuple(-sizes[:, k]))) for head, members in found.items()]


def _columns(groups: list[tuple[str, list[int]]]) -> list[list[str | int]]:
    """Return the groups with their heads, in one column, or two of about the same length."""
    blocks: list[list[str | int]] = [[head, *members] for head, members in groups]
    total = sum(len(block) for block in blocks)
    if total < 16 or len(blocks) < 2:
        return [[entry for block in blocks for entry in block]]
    lengths = np.cumsum([len(block) for block in blocks])[:-1]
    cut = int(np.argmin(np.maximum(lengths, total - lengths))) + 1
    return [[entry for block in part for entry in block] for part in (blocks[:cut], blocks[cut:])]


def _label(entry: str | int, worth: Worth, prismatic: frozenset[str], compared: bool) -> str:
    if isinstance(entry, str):
        return plain(entry)
    name = worth.base.names[entry]
    of, _, part = name.rpartition(".")
    short = plain(part if part in INERTIAL else of, 22)
    return short if compared else f"{short} [{unit(name, prismatic) or '-'}]"


def _promised(figure: Figure, found: Sequence[Promise], compared: bool) -> None:
    """Put the legend below the axes."""
    from matplotlib.lines import Line2D

    seen = [p for p in PROMISES if p in found and not (p == "shown" and compared)]  # those have words instead of a mark
    handles = [
        Line2D([], [], color=_SHADES[p][0], marker=_SHADES[p][1], markersize=4.5, linewidth=1.6,
               label=f"{p} ({found.count(p)}): {PROMISES[p]}")
        for p in seen
    ]  # fmt: skip
    figure.legend(handles=handles, loc="outside lower left", ncols=2, frameon=False, fontsize=8,
                  labelcolor=INK)  # fmt: skip


def _seen(points: Array) -> Array:
    """Return points (..., 3) of the base frame as seen: to the right, up, towards the eye [m]."""
    a, e = _VIEW
    right = [-np.sin(a), np.cos(a), 0.0]
    up = [-np.sin(e) * np.cos(a), -np.sin(e) * np.sin(a), np.cos(e)]
    eye = [np.cos(e) * np.cos(a), np.cos(e) * np.sin(a), np.sin(e)]
    return np.asarray(points @ np.array([right, up, eye]).T)


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


def _surroundings(axes: Axes, scene: Scene, corners: list[Array]) -> None:
    eye = np.array([np.cos(_VIEW[1]) * np.cos(_VIEW[0]), np.cos(_VIEW[1]) * np.sin(_VIEW[0]), np.sin(_VIEW[1])])
    for plane, square in zip(scene.planes, corners, strict=True):
        if len(square):
            behind = float(plane.normal @ eye) > 0
            axes.fill(
                *_seen(square)[:, :2].T, facecolor=BAND if behind else "none", edgecolor=LINE, linewidth=0.8, zorder=1
            )
    solid: list[tuple[Box, str]] = [(box, "-") for box in scene.boxes]
    solid += [(room, ":") for room in scene.workspace if isinstance(room, Box)]
    for box, style in solid:
        shown = _seen(box.corners)
        for i in range(8):
            for k in range(i):
                if (i ^ k) in (1, 2, 4):
                    axes.plot(*shown[[i, k], :2].T, style, color=MUTED, linewidth=1.0, zorder=1.6)


def _axes_of_base(axes: Axes, corner: Array, length: float) -> None:
    """Draw the directions of the base frame's axes in a corner."""
    x, y = (corner + 1.3 * length).tolist()
    look = {"arrowstyle": "-|>", "color": INK, "linewidth": 0.8, "mutation_scale": 6, "shrinkA": 0, "shrinkB": 0}
    for name, (right, up) in zip("xyz", (length * _seen(np.eye(3))[:, :2]).tolist(), strict=True):
        axes.annotate("", (x + right, y + up), (x, y), arrowprops=look)
        axes.text(x + 1.3 * right, y + 1.3 * up, name, fontsize=7.5, color=INK, ha="center", va="center")


def _scale(axes: Axes, corner: Array, longest: float) -> None:
    """Draw a round length below the longest into a corner."""
    power = 10.0 ** np.floor(np.log10(longest))
    length = next(x * power for x in (5.0, 2.0, 1.0) if x * power <= longest)
    right, y = corner[0], corner[1] + 0.1 * longest
    axes.plot([right - length, right], [y, y], color=INK, linewidth=1.6, solid_capstyle="butt")
    axes.text(
        right - length / 2.0, y + 0.06 * longest, f"{length:g} m", fontsize=7.5, color=INK, ha="center", va="bottom"
    )
