"""A designed motion: what it will be worth, and what is proven of it, as tables, sentences and pictures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from ident.arrays import Array
from ident.errors import ExcitationError, plural
from ident.excitation.information import Worth
from ident.excitation.limits import ORDERS, Guarantee, KinematicLimits, TorqueLimits
from ident.excitation.trajectory import Trajectory
from ident.report.figures import AMBER, BAND, BLUE, GREEN, INK, PALE, RED, figure_of
from ident.report.picture import WIDE, Axis, Band, Line, Mark, Note, Panel, Picture, Strip, rows, short
from ident.report.pictures import AROUND, ROW, judged
from ident.report.text import MISSING, Table, Tone, number, percent, table, unit
from ident.robot.robot import UNITS
from ident.spatial.inertia import INERTIAL

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Promise = Literal["well", "roughly", "weakly", "shown", "not shown"]
WELL = 0.1  # of the CAD value: up to this error a parameter counts as well determined
_NO_SIZE = 1e-9  # a CAD value below this share of the error is a zero, and nothing to compare with

#: Verdict on a base parameter, its predicted error against its CAD value: in words, in a table, colour and sign.
PROMISES: dict[Promise, tuple[str, Tone, str, str]] = {
    "well": ("error up to 10 % of the CAD value", "good", BLUE, "o"),
    "roughly": ("error up to the CAD value", "", GREEN, "s"),
    "weakly": ("error above the CAD value", "unknown", AMBER, "D"),
    "shown": ("no CAD value to compare with", "", BLUE, "o"),
    "not shown": ("hidden by this motion", "bad", RED, "D"),
}
_KINDS = ("position", "velocity", "acceleration", "jerk", "torque", "total power", "clearance")
_LONGEST = 12  # names in a sentence


def relative_errors(worth: Worth) -> Array:
    """Return predicted error / |CAD value| (b,); NaN where CAD gives none, or zero; infinite where nothing is shown."""
    if worth.values is None:
        return np.where(np.isinf(worth.errors), np.inf, np.nan)
    size = np.abs(worth.values)
    size = np.where(size > _NO_SIZE * np.where(np.isinf(worth.errors), 0.0, worth.errors), size, np.nan)
    return np.where(np.isinf(worth.errors), np.inf, worth.errors / size)


def promises(worth: Worth) -> tuple[Promise, ...]:
    """Return the verdict on each base parameter, as PROMISES explains them."""
    relative = relative_errors(worth)
    steps = [np.isnan(relative), np.isinf(relative), relative <= WELL, relative <= 1.0]
    return tuple(np.select(steps, ["shown", "not shown", "well", "roughly"], "weakly").tolist())


def worth_table(worth: Worth, prismatic: frozenset[str] = frozenset()) -> Table:
    """Return one row per base parameter: CAD value, predicted standard error, verdict, combination.

    prismatic: names of the joints that slide, for the units.
    """
    found = promises(worth)
    rows = [
        (
            name,
            unit(name, prismatic),
            MISSING if worth.values is None else number(float(worth.values[k])),
            "not shown" if found[k] == "not shown" else number(float(worth.errors[k]), 3),
            f"{relative:.3g} times" if 10.0 <= relative < np.inf else percent(float(relative)),
            found[k],
            worth.base.expression(k),
        )
        for k, (name, relative) in enumerate(zip(worth.base.names, relative_errors(worth), strict=True))
    ]
    columns = ("base parameter", "unit", "CAD", "predicted standard error", "of the CAD value", "shown", "combination")
    return table("What the motion will be worth", columns, rows, [PROMISES[p][1] for p in found])


def guarantees_table(guarantees: Sequence[Guarantee]) -> Table:
    """Return one row per guarantee: what, reached, limit, spare, method; each kind's nearest to its limit first.

    Spare is a share of the limit; for positions, of the joint's range; for clearances, a length beyond what is wanted.
    """
    found = sorted(((g, *_spare(g, guarantees)) for g in guarantees), key=lambda one: (_kind(one[0]), one[1]))
    rows = []
    for g, _, spare in found:
        shown = raised(g.unit)
        wanted = "at least" if g.at_least else "at most"
        rows.append((g.what, f"{g.reached:.4g} {shown}", f"{wanted} {g.limit:.4g} {shown}", spare, g.method))
    tones: list[Tone] = ["" if g.holds else "bad" for g, *_ in found]
    return table("Proven at every instant", ("what", "reached", "limit", "spare", "method"), rows, tones)


def raised(units: str) -> str:
    """Return units with their powers as raised digits."""
    return units.replace("^2", "²").replace("^3", "³")


def worth_sentences(worth: Worth) -> list[str]:
    """Return what the motion will show, and what it will not and why: structure, or limits and too short a motion."""
    found = promises(worth)
    total = len(found)
    told = []
    if worth.values is None:
        told.append(f"The motion shows {total - found.count('not shown')} of {total} base parameters.")
    else:
        told.append(
            f"The motion determines {found.count('well')} of {total} base parameters to within a tenth of their CAD "
            f"values, and {found.count('roughly')} more to within the values themselves."
        )
        weak = [name for name, p in zip(worth.base.names, found, strict=True) if p == "weakly"]
        if weak:
            told.append(
                f"Weakly determined, with an error above the CAD value: {_some('base', weak)}. Larger or longer "
                "motion, more periods or less noise would help, where the limits allow it."
            )
        if "shown" in found:
            told.append(f"Without a CAD value, or with a zero, to compare the error with: {found.count('shown')}.")
    if worth.hidden:
        told.append(
            "Hidden in this motion, though another could show them (limits keep joints from moving enough, or there "
            f"are too few harmonics): {_some('base', worth.hidden)}."
        )
    if worth.structural:
        told.append(
            "Never shown, whatever the motion, because no torque of this robot depends on them: "
            f"{_some('standard', worth.structural)}."
        )
    if worth.combined:
        told.append(
            "Shown only in combinations with others, whatever the motion, because of how the joints are arranged (the "
            f"column 'combination' of the table has them): {_some('standard', worth.combined)}."
        )
    told.append(
        "Predicted errors hold for torque noise that is independent from sample to sample, and for a model that is "
        "right: they are the least that can be expected."
    )
    return told


def _some(kind: str, names: Sequence[str]) -> str:
    """Return how many parameters of a kind there are, and the names of the first."""
    more = f" and {len(names) - _LONGEST} more" if len(names) > _LONGEST else ""
    return f"{plural(len(names), f'{kind} parameter')}, {', '.join(names[:_LONGEST])}{more}"


def _kind(g: Guarantee) -> int:
    what = g.what.removeprefix("least ").removeprefix("greatest ")
    return next((k for k, kind in enumerate(_KINDS) if what.startswith(kind)), len(_KINDS))


def _spare(g: Guarantee, guarantees: Sequence[Guarantee]) -> tuple[float, str]:
    """Return what is left up to the limit, as a number to sort by and in words."""
    left = g.reached - g.limit if g.at_least else g.limit - g.reached
    bare = g.what.removeprefix("least ").removeprefix("greatest ")
    if bare != g.what:  # one end of a range
        other = next((x for x in guarantees if x is not g and x.what.endswith(bare)), None)
        if other is not None:
            share = left / abs(g.limit - other.limit)
            return share, f"{100 * share:.3g} % of the range"
    elif g.limit != 0 and not g.at_least:
        return left / abs(g.limit), f"{100 * left / abs(g.limit):.3g} %"
    return left, f"{1e3 * left:.3g} mm" if g.unit == "m" else f"{left:.3g} {g.unit}"


def gain_sentence(before: Worth, after: Worth) -> str:
    """Return what the motion adds to the logs already taken."""
    shown = np.isfinite(before.errors) & np.isfinite(after.errors)
    new = len(before.hidden) - len(after.hidden)
    told = f"The logs alone do not show {len(before.hidden)} of {len(shown)} base parameters"
    told += f"; with this motion {new} more are shown." if before.hidden else "."
    if shown.any():
        old, now = before.errors[shown], after.errors[shown]
        names = np.array(before.base.names)[shown]
        least, worst = int(np.argmin(old / now)), int(np.argmax(old))
        told += (
            f" Of the others the worst predicted error, of {names[worst]}, falls from {old[worst]:.3g} to "
            f"{now[worst]:.3g}, {old[worst] / now[worst]:.3g} times less, and the worst of all is now {now.max():.3g}, "
            f"of {names[int(np.argmax(now))]}; errors fall {np.median(old / now):.3g} times in the median, and "
            f"{old[least] / now[least]:.3g} times at least ({names[least]})."
        )
    return told


def limits_figure(trajectory: Trajectory, limits: KinematicLimits) -> Figure:
    """Return position, velocity and acceleration of every joint over the motion, each between its limits.

    A row per joint, in its own units; above each curve the share of the limit that is used, from the exact extremes
    (of a range: how far from its middle). Jerk gets a column where it uses more than half of a limit.
    Raises ExcitationError when the joints differ.
    """
    require_same(trajectory.joints, limits.joints)
    t = instants(trajectory)
    lower = np.vstack([limits.lower, -limits.rates])
    upper = np.vstack([limits.upper, limits.rates])
    extremes = np.array([trajectory.extremes(order) for order in range(4)])
    used = _used(extremes[:, 0], extremes[:, 1], lower, upper)
    orders = range(4 if np.nan_to_num(used[3]).max() > 0.5 else 3)
    panels, names = list[Panel](), list[str]()
    for j, joint in enumerate(limits.joints):
        slides = limits.kinds[j] == "prismatic" and "revolute" in limits.kinds
        for o in orders:
            units = sorted({UNITS[ORDERS[o]][kind == "prismatic"] for kind in limits.kinds}, reverse=True)
            head = "" if j else f"{ORDERS[o]} [{raised('; '.join(units))}]\n"
            named = f"{head}{short(joint, 18)}{' (slides)' if slides else ''}"
            y = trajectory.derivative(t, o)[:, j]
            panels.append(_curve(named, t, y, (lower[o, j], upper[o, j]), used[o, j]))
            names.append(f"{ORDERS[o]} of {short(joint)}")
    title = _verdict(used[: len(orders)].T.ravel(), names, of=" of the motion")
    note = "Blue: the motion. Orange: the limits, but for torques. Above: greatest share used, at every instant"
    return _over_time(title, note, panels, len(orders))


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
    used = _used((tau - friction).min(axis=0), (tau + friction).max(axis=0), -effort, effort).tolist()
    names = [f"torque of {short(joint)}" for joint in robot.joint_names]
    panels = [
        _curve(f"{short(name, 18)} [{own}]", t, tau[:, j], (-effort[j], effort[j]), used[j], friction[j])
        for j, (name, own) in enumerate(zip(robot.joint_names, robot.units("torque"), strict=True))
    ]
    if np.isfinite(limits.power):
        power = ((np.abs(tau) + friction) * np.abs(states[1])).sum(axis=1)
        used, names = [*used, float(power.max() / limits.power)], [*names, "total power"]
        panels.append(_curve("total power [W]", t, power, (-np.inf, limits.power), used[-1]))
    at = f", with {limits.lacks} left out" if limits.lacks else f" at {len(t)} instants"
    torques = f"torque; {limits.lacks} not in it" if limits.lacks else "torque"
    note = f"Blue: {torques}, in the band that may come on top. Orange: limits. Above: greatest share used"
    return _over_time(_verdict(np.array(used), names, at), note, panels, 1 if len(panels) < 4 else 2)


_ROOM = 0.12  # of a range, drawn beyond each limit
_BEYOND = 100.0  # relative errors above this are written out
_ONE_COLUMN = 16  # so many rows and more stand in two


def worth_figure(worth: Worth, prismatic: frozenset[str] = frozenset()) -> Figure:
    """Return the predicted standard error of every base parameter, links first, the largest of each group on top.

    Relative to the CAD value where the worth has one, else in the parameter's unit; prismatic: names of the joints that
    slide, for the units.
    """
    found, relative, names = promises(worth), relative_errors(worth), worth.base.names
    compared = worth.values is not None
    shown = relative if compared else worth.errors
    known = shown[np.isfinite(shown) & (shown > 0)]
    low, high = (float(known.min()), float(known.max())) if known.size else (0.01, 0.1)
    left = 10.0 ** np.floor(np.log10(low) - 0.05)
    right = max(10.0 ** np.ceil(np.log10(high) + 0.05), 10.0 * left, 2.0 if compared else 0.0)
    if compared:
        right = min(right, _BEYOND)  # a CAD value that is nearly 0 says nothing of the scale
    good: tuple[Promise, str] = ("well", " to 10 % or better") if compared else ("shown", "")
    counts = [f"{found.count(p)} {p}" for p in ("roughly", "weakly", "not shown") if p in found]
    title = f"{found.count(good[0])} of {len(found)} base parameters will be known{good[1]}"
    note = "Predicted standard errors, shorter is better. Each name stands for the combination that the table gives"
    words = {p: own for p, own in PROMISES.items() if p in found and not (p == "shown" and compared)}  # those are told
    looks = {p: (colour, sign, f"{p} ({found.count(p)}): {said}") for p, (said, _, colour, sign) in words.items()}
    axis = Axis("standard error", "unit of each parameter", (left, right), "log")
    if compared:
        decades = 10.0 ** np.arange(np.log10(left), np.log10(right) + 0.5)
        ticks = tuple((float(x), f"{100 * x:g} %") for x in decades)
        axis = Axis("standard error / CAD value", "", (left, 3.0 * right), "log", ticks=ticks)
    order = _sorted(names, np.nan_to_num(shown, posinf=np.inf), worth.errors)
    parts = np.array_split(order, 1 if len(order) < _ONE_COLUMN else 2)
    panels = []
    for part in parts:
        silent = np.isnan(shown[part])
        ends = np.full(len(part), left), *[np.clip(np.where(silent, left, shown[part]), left, right)] * 2
        verdicts = ["" if none else found[k] for k, none in zip(part, silent, strict=True)]
        behind = [Strip("x", 1.0, 1.0, INK, dash="--")] if compared else []
        notes = _notes(worth, shown, part.tolist(), (left, right), prismatic)
        labels = [_label(names[k]) + ("" if compared else f" [{unit(names[k], prismatic) or '-'}]") for k in part]
        down = rows([*labels, *[""] * (len(parts[0]) - len(part))], 40)
        marks = *behind, *judged(verdicts, ends, looks), *notes
        panels.append(Panel(axis, down, marks, AROUND + ROW * len(parts[0])))
    return figure_of(Picture(", ".join([title, *counts]), tuple(panels), len(panels), note, WIDE))


def _label(name: str) -> str:
    """Return a parameter's name, of a long one the beginning and what it is."""
    of, _, part = name.rpartition(".")
    return f"{short(of, 18)}.{part}"


def _notes(
    worth: Worth, shown: Array, part: Sequence[int], ends: tuple[float, float], prismatic: frozenset[str]
) -> Iterator[Note]:
    """Yield what stands in place of bars without a CAD value, and the sizes of those that end at the edge."""
    for place, k in enumerate(part):
        if worth.values is not None and np.isnan(shown[k]):
            none = "CAD says 0" if np.isfinite(worth.values[k]) else "no CAD value"
            error = f"{number(float(worth.errors[k]), 2)} {unit(worth.base.names[k], prismatic)}"
            yield Note(ends[0], place, f"{none}; error {error}", INK)
        elif ends[1] < shown[k] < np.inf:
            yield Note(ends[1], place, f"{100 * shown[k]:.2g} %", INK)


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


def _curve(title: str, t: Array, y: Array, ends: tuple[float, float], used: float, band: float = 0.0) -> Panel:
    """Return one curve, in a band that may come on top, between its limits; the title says what share is used."""
    finite = [x for x in ends if np.isfinite(x)]
    reached = [float(y.min()) - band, float(y.max()) + band]
    low, high = min(*finite, *reached), max(*finite, *reached)
    room = _ROOM * (high - low) or 1.0
    edges = [(x, far) for x, far in zip(ends, (low - room, high + room), strict=True) if np.isfinite(x)]
    marks: tuple[Mark, ...] = (
        *(Strip("y", min(edge), max(edge), BAND) for edge in edges),
        *([Band(t, y - band, y + band, PALE)] if band > 0 else []),
        Line(t, y, RED if used > 1.0 else BLUE, width=1.9),
        *(Strip("y", x, x, RED) for x, _ in edges),
    )
    least, most = (end if np.isfinite(end) else at for end, at in zip(ends, reached, strict=True))
    near = most - least < 0.5 * (high - low)  # then there is no room for the middle's number
    ticks = (least, most) if near else (least, (least + most) / 2.0, most)
    named = tuple((x, f"{x if abs(x) > 1e-3 * room else 0.0:.3g}".replace("-", "−")) for x in ticks)
    down = Axis(limits=(low - room, high + room), ticks=named, named=True)
    said = "no limit" if np.isnan(used) else "beyond" if np.isinf(used) else "kept" if used == 0.0 else _share(used)
    return Panel(Axis(limits=(0.0, float(t[-1]))), down, marks, 86.0 + 15.0 * title.count("\n"), f"{title}: {said}")


def _over_time(title: str, note: str, panels: Sequence[Panel], columns: int) -> Figure:
    """Return panels over time, which the lowest of each column name."""
    named = [replace(p, x=replace(p.x, label="time", unit="s"), height=p.height + 30.0) for p in panels[-columns:]]
    return figure_of(Picture(title, (*panels[:-columns], *named), columns, note, WIDE))


def _sorted(names: Sequence[str], *sizes: Array) -> list[int]:
    """Return the places of base parameters by link, and those of joints by what they are; each group's largest first.

    sizes (b,): what to sort by, and what decides between equals.
    """
    groups = [of if part in INERTIAL else part for of, _, part in (name.rpartition(".") for name in names)]
    first = list(dict.fromkeys(groups))
    return sorted(range(len(names)), key=lambda k: (first.index(groups[k]), *(-size[k] for size in sizes)))
