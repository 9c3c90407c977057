"""Figures of a designed motion: its limits, its torques, and what it will be worth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ident.arrays import Array
from ident.errors import ExcitationError
from ident.excitation.information import Worth
from ident.excitation.limits import ORDERS, KinematicLimits, TorqueLimits
from ident.excitation.trajectory import Trajectory
from ident.report.excitation_text import PROMISES, Promise, promises, raised, relative_errors
from ident.report.figures import AMBER, BAND, BLUE, GREEN, INK, LINE, MUTED, PAGE, PALE, RED, empty, keep, plain, style
from ident.report.text import number, unit
from ident.robot.robot import UNITS
from ident.spatial.inertia import INERTIAL

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


def limits_figure(trajectory: Trajectory, limits: KinematicLimits) -> Figure:
    """Return position, velocity and acceleration of every joint over the motion, each between its limits.

    A row per joint, in its own units; beside each curve the share of the limit that is used, from the exact extremes
    (of a range: how far from its middle). Jerk gets a column where it uses more than half of a limit.
    Raises ExcitationError when the joints differ.
    """
    require_same(trajectory.joints, limits.joints)
    t = instants(trajectory)
    lower = np.vstack([limits.lower, -limits.rates])
    upper = np.vstack([limits.upper, limits.rates])
    extremes = [trajectory.extremes(order) for order in range(4)]
    least, most = np.array([x[0] for x in extremes]), np.array([x[1] for x in extremes])
    used = _used(least, most, lower, upper)
    orders = range(4 if np.nan_to_num(used[3]).max() > 0.5 else 3)
    named = [[f"{ORDERS[o]} of {plain(joint)}" for joint in limits.joints] for o in orders]
    figure, grid = sheet(
        trajectory.n,
        len(orders),
        _verdict(used[: len(orders)].ravel(), [name for row in named for name in row], of=" of the motion"),
        "Blue: the motion. Orange: the limits, but for torques. At the right: greatest share used, at every instant",
    )
    for o in orders:
        values = trajectory.derivative(t, o)
        units = sorted({UNITS[ORDERS[o]][kind == "prismatic"] for kind in limits.kinds}, reverse=True)
        grid[0][o].set_title(f"{ORDERS[o]} [{raised('; '.join(units))}]", fontsize=9, color=INK)
        for j in range(trajectory.n):
            _curve(grid[j][o], t, values[:, j], (lower[o, j], upper[o, j]), used[o, j])
    for j, joint in enumerate(limits.joints):
        slides = "\n(slides)" if limits.kinds[j] == "prismatic" and "revolute" in limits.kinds else ""
        _named(grid[j][0], plain(joint, 18) + slides)
    return figure


def torque_figure(trajectory: Trajectory, limits: TorqueLimits) -> Figure:
    """Return the torque of every joint over the motion, between its limits, and the total power where it is limited.

    The band is what Coulomb friction, and what is not sure, may add in either direction. Shares are those of the
    samples drawn.
    Raises ExcitationError when the joints differ.
    """
    robot = limits.model.robot
    require_same(trajectory.joints, robot.joint_names)
    t = instants(trajectory)
    states = trajectory.states(t)
    tau, friction, effort = limits.torques(states), limits.coulomb, limits.effort
    units = robot.units("torque")
    used = _used((tau - friction).min(axis=0), (tau + friction).max(axis=0), -effort, effort)
    shares, names = used.tolist(), [f"torque of {plain(joint)}" for joint in robot.joint_names]
    torques = f"torque; {limits.lacks} not in it" if limits.lacks else "torque"
    panels = robot.n + int(np.isfinite(limits.power))
    columns = 1 if panels < 4 else 2
    power = ((np.abs(tau) + friction) * np.abs(states[1])).sum(axis=1)
    if np.isfinite(limits.power):
        shares, names = [*shares, float(power.max() / limits.power)], [*names, "total power"]
    figure, grid = sheet(
        -(-panels // columns),
        columns,
        _verdict(
            np.array(shares), names, f", with {limits.lacks} left out" if limits.lacks else f" at {len(t)} instants"
        ),
        f"Blue: {torques}, in the band that may come on top. Orange: limits. At the right: greatest share used",
        height=0.95,
    )
    flat = [axes for row in grid for axes in row]
    for j, joint in enumerate(robot.joint_names):
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
    good: tuple[Promise, str] = ("well", " to 10 % or better") if compared else ("shown", "")
    title = f"{found.count(good[0])} of {len(found)} base parameters will be known{good[1]}"
    note = "Predicted standard errors, shorter is better. Each name stands for the combination that the table gives"
    if compared and (shown[np.isfinite(shown)] > right).any():
        note += f". Arrows: above {100 * right:g} %"
    figure, (row,) = sheet(1, len(columns), ", ".join([title, *counts]), note, 0.16 * longest + 0.9)
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
        axes.set(xscale="log", xlim=(left, right), ylim=(longest - 0.4, -0.6))
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


def require_same(joints: tuple[str, ...], wanted: tuple[str, ...]) -> None:
    """Raise ExcitationError unless a trajectory moves the robot's joints."""
    if joints != wanted:
        problem = f"the trajectory moves {', '.join(joints)}, and the robot's joints are {', '.join(wanted)}"
        raise ExcitationError(problem, fix="Take the robot that the trajectory was made for")


def instants(trajectory: Trajectory, least: int = 500) -> Array:
    """Return the times [s] at which a motion is drawn."""
    return np.linspace(0.0, trajectory.duration, max(least, 20 * trajectory.basis.size))


def _used(least: Array, most: Array, lower: Array, upper: Array) -> Array:
    """Return the share of each range's half that is used, from its middle; of a range with one end, beyond or not."""
    with np.errstate(invalid="ignore"):
        both = np.maximum(upper + lower - 2.0 * least, 2.0 * most - upper - lower) / (upper - lower)
    one = np.where((least < lower) | (most > upper), np.inf, np.where(np.isinf(lower) & np.isinf(upper), np.nan, 0.0))
    return np.where(np.isfinite(lower) & np.isfinite(upper), both, one)


def _verdict(used: Array, names: Sequence[str], at: str = "", of: str = "") -> str:
    """Return the sentence over a figure: how near the nearest limit is."""
    if np.isnan(used).all():
        return "No limits to compare with"
    k = int(np.nanargmax(used))
    if used[k] > 1.0:
        return f"BEYOND A LIMIT: {names[k]}" + (f", {100 * used[k]:.4g} %" if np.isfinite(used[k]) else "")
    return f"Every limit{of} is kept{at}. Nearest: {names[k]}, {_share(float(used[k]))} used"


def _share(used: float) -> str:
    """Return a share in percent, with a digit more where it decides."""
    return f"{100 * used:.1f} %" if 0.99 < used < 1.01 else f"{100 * used:.0f} %"


def _curve(axes: Axes, t: Array, y: Array, ends: tuple[float, float], used: float, band: float = 0.0) -> None:
    """Draw one curve, in a band that may come on top, between its limits, and the share used beside it."""
    beyond = used > 1.0
    if band > 0:
        axes.fill_between(t, y - band, y + band, color=PALE, linewidth=0, zorder=1)
    axes.plot(t, y, color=RED if beyond else BLUE, linewidth=1.4, zorder=2)
    finite = [x for x in ends if np.isfinite(x)]
    low, high = min([*finite, float(y.min()) - band]), max([*finite, float(y.max()) + band])
    room = _ROOM * (high - low) or 1.0
    axes.set(xlim=(0.0, t[-1]), ylim=(low - room, high + room))
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


def sheet(rows: int, columns: int, title: str, note: str, height: float = 0.72) -> tuple[Figure, list[list[Axes]]]:
    """Return a Figure of rows x columns axes, each row so high [inch], with a title and a note that explains it."""
    total = 0.95 + rows * height
    figure = empty(WIDTH, total)
    made: Any = figure.subplots(rows, columns, squeeze=False, sharex=True)
    figure.text(0.008, 1.0 - 0.06 / total, title, va="top", size=11, weight="bold", color=INK, in_layout=False)
    figure.text(0.008, 1.0 - 0.29 / total, note, va="top", size=8.5, color=MUTED, in_layout=False)
    keep(figure, 0.004, 0.5)
    for axes in made.ravel():
        style(axes, 7.5)
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
    handles = []
    for p in seen:
        colour, marker = _SHADES[p]
        told = f"{p} ({found.count(p)}): {PROMISES[p]}"
        handles.append(Line2D([], [], color=colour, marker=marker, markersize=4.5, linewidth=1.6, label=told))
    figure.legend(handles=handles, loc="outside lower left", ncols=2, frameon=False, fontsize=8, labelcolor=INK)
