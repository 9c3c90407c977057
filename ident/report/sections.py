"""Two sections of a report: on what is identifiable, the map of the links' parameters and what the logs show worst; and
on the fitted model let go, simulated under the logged torques, against what was measured.

Sums of parameters stand there in short: symbols with the link's number in place of names, the robot's lengths in place
of coefficients, equal ones before brackets.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations, groupby, product

import numpy as np

from ident.arrays import Array
from ident.compare import conditioning
from ident.compare.difference import Comparison
from ident.compare.rollout import WINDOW_S, Rollout, rollout
from ident.errors import ModelError, plural, sentence
from ident.estimate.estimate import Estimate
from ident.logs.motion import Motion
from ident.model.model import Model
from ident.model.standard import DriveInertia
from ident.regression.base import BaseParameters
from ident.regression.regression import Regression
from ident.report import figures, text
from ident.report.drawings import agreeing, correlated, identifiability
from ident.report.figures import BLUE, MEASURED, MUTED, RED
from ident.report.parts import Block, Map, Section
from ident.report.picture import Axis, Line, Panel, Picture, Strip, short
from ident.report.pictures import states_picture
from ident.report.text import Table, table
from ident.robot.robot import Robot
from ident.spatial.inertia import INERTIAL

_COLUMNS = ("number", "link", "joint", "lengths [m]")
_ONE = 1e-9  # a coefficient that is nearer to 1 is not written
_SAME = 1e-9  # a coefficient is a product of lengths up to rounding
#: What `expression` says of a base parameter -> the same in short.
Short = dict[str, str]
_SHORT = {DriveInertia.kind.name: "Ia"}


def numbered(links: Sequence[str], joints: Sequence[str], lengths: Mapping[str, float] = {}) -> Table:
    """Return the table of numbers in symbols: each link, the joint that moves it, and where that stands [m]."""
    rows = []
    for k, names in enumerate(zip(links, joints, strict=True), 1):
        own = [f"{symbol} = {size:.6g}" for symbol, size in lengths.items() if symbol[1:] == str(k)]
        rows.append((str(k), *names, ", ".join(own)))
    about = "Numbers in symbols: m3 is the mass of link 3, Ia3 the drive inertia of its joint, x3 how far along x that"
    return table(f"{about} stands from the one before (equal lengths have one symbol)", _COLUMNS, rows)


def lengths(robot: Robot) -> dict[str, float]:
    """Return how far [m] joints stand along x, y and z of the link before, without sign: each length once."""
    found: dict[str, float] = {}
    for k, joint in enumerate(robot.joints, 1):
        for axis, size in zip("xyz", np.abs(joint.placement.position).tolist(), strict=True):
            if joint.parent >= 0 and size > _SAME and all(abs(size - x) > _SAME * x for x in found.values()):
                found[f"{axis}{k}"] = size
    return found


def in_short(
    base: BaseParameters, links: Sequence[str], joints: Sequence[str], lengths: Mapping[str, float] = {}
) -> Short:
    """Return each base parameter in short, such as `Ixx2 - Iyy2 - x3 (m3 + ... + m7)`, by what `expression` says."""
    known = _products(lengths)
    of_link, of_joint = ({name: k for k, name in enumerate(names, 1)} for names in (links, joints))
    symbols = []
    for name in base.standard:
        owner, _, part = name.rpartition(".")
        k = (of_link if part in INERTIAL else of_joint).get(owner)
        symbols.append(name if k is None else f"{_SHORT.get(part, part)}{k}")
    return {base.expression(k): _sum(base, k, symbols, known) for k in range(len(base.names))}


def short_of(estimate: Estimate, robot: Robot) -> Short:
    """Return each base parameter of an estimate in short, by what `expression` says."""
    return in_short(estimate.base, estimate.links, estimate.joints, lengths(robot))


def _products(lengths: Mapping[str, float]) -> dict[str, tuple[int, float]]:
    """Return what coefficients are made of, the simplest first: powers of a metre, and size.

    Lengths, their squares and products, twice those, sums and differences of squares; reciprocals; how far joints stand
    from each other along one direction, as sums of two lengths of it, then of three.
    """
    pairs = list(combinations(lengths.items(), 2))
    found = {a: (1, x) for a, x in lengths.items()} | {f"{a}²": (2, x * x) for a, x in lengths.items()}
    found |= {f"{a} {b}": (2, x * y) for (a, x), (b, y) in pairs}
    found |= {f"2 {a}": (n, 2.0 * x) for a, (n, x) in found.items()}
    for pair in pairs:
        (b, y), (a, x) = sorted(pair, key=lambda own: own[1])
        found |= {f"({a}² + {b}²)": (2, x * x + y * y), f"({a}² - {b}²)": (2, x * x - y * y)}
    for three in combinations(lengths.items(), 3):
        found[f"({' + '.join(f'{a}²' for a, _ in three)})"] = 2, sum(x * x for _, x in three)
    found |= {f"{a}{power}": (n, x**n) for a, x in lengths.items() for power, n in (("⁻¹", -1), ("⁻²", -2))}
    for count in (2, 3):
        for name, x in _along(lengths, count).items():
            found |= {name: (1, x), f"2 {name}": (1, 2.0 * x), f"{name}²": (2, x * x)}
            found |= {f"{a} {name}": (2, x * y) for a, y in lengths.items()}
    return found


def _along(lengths: Mapping[str, float], count: int) -> dict[str, float]:
    """Return sums of so many lengths along one direction, with whatever signs, that are above zero."""
    found = {}
    for own in combinations(lengths.items(), count):
        for signs in product((1.0, -1.0), repeat=count) if len({symbol[0] for symbol, _ in own}) == 1 else ():
            parts = sorted(zip(signs, own, strict=True), key=lambda part: -part[0])  # one with a plus first
            size = sum(sign * x for sign, (_, x) in parts)
            if size > _SAME:
                found[f"({_joined([(sign > 0, symbol) for sign, (symbol, _) in parts])})"] = size
    return found


def _sum(base: BaseParameters, k: int, symbols: Sequence[str], known: Mapping[str, tuple[int, float]]) -> str:
    """Return a sum with its coefficients as lengths or three digits, the parameter that names it first."""
    groups: dict[str, list[tuple[bool, str]]] = {}
    for i in (base.kept[k], *(int(i) for i in np.flatnonzero(base.K[k]) if i != base.kept[k])):
        c = float(base.K[k, i])
        metres = _metres(base.standard[base.kept[k]]) - _metres(base.standard[i])
        exact = (symbol for symbol, (n, x) in known.items() if n == metres and abs(abs(c) - x) < _SAME * x)
        size = "" if abs(abs(c) - 1.0) < _ONE else next(exact, f"{abs(c):.3g}")
        groups.setdefault(size, []).append((c > 0, symbols[i]))
    parts = []
    for size, members in groups.items():
        if not size or len(members) == 1:
            parts += [(up, f"{size} {symbol}".lstrip()) for up, symbol in members]
        else:
            parts.append((members[0][0], f"{size} ({_joined([(up == members[0][0], s) for up, s in members])})"))
    return _joined(parts)


def _metres(name: str) -> int:
    """Return the power of a metre in the unit of a parameter: of a mass 0, of h 1, of what is about rotation 2."""
    part = name.rpartition(".")[2]
    return 0 if part == "m" else 1 if part[0] == "h" else 2


def _joined(parts: Sequence[tuple[bool, str]]) -> str:
    """Return parts with their signs, the first has none; of one symbol for links in a row the first and the last."""
    runs = groupby(enumerate(parts), lambda at: (at[1][0], at[1][1].rstrip("0123456789"), _number(at[1][1]) - at[0]))
    said: list[tuple[bool, str]] = []
    for (_, name, _), run in runs:
        own = [part for _, part in run]
        skipped = len(own) > 3 and name.isalpha()
        said += [own[0], (own[0][0], "..."), own[-1]] if skipped else own
    return said[0][1] + "".join(f" {'+' if up else '-'} {part}" for up, part in said[1:])


def _number(symbol: str) -> int:
    digits = symbol[len(symbol.rstrip("0123456789")) :]
    return int(digits) if digits else 0


_WEAK = 3.0  # a direction is worth a sentence when its parameters show so many times less together
_NAMED = 3  # base parameters that the logs show worst
_TOGETHER = "Blue: two errors have the same sign, red: opposite signs; the stronger, the less the logs tell them apart."
_AGREE = (
    "What leaving out each segment changes of each base parameter, over that change's rms. The intervals take segments"
    " as independent and their changes as nearly normal: where the line rises far above the dashed one, few parts of"
    " the logs decide the numbers, and the intervals are too narrow."
)
_ALONE = (
    "Most link parameters move no torque by themselves. What the data do not decide was taken from the prior, where"
    " there is one."
)


def identifiable_section(
    estimate: Estimate, robot: Robot, comparison: Comparison | None, regression: Regression | None, next_motion: str
) -> Section:
    """Return the section; regression: the factors of the fit, None where they are not known.

    next_motion: the command that designs a motion which adds to the logs.
    """
    states, slides = identifiability(estimate), robot.slides
    alone = sum(row.count("alone") for row in states)
    known = f"{alone} of {10 * len(states)} link parameters are known by the data alone"
    picture = states_picture(estimate.links, INERTIAL, states, title=known)
    drawn = picture.called("identifiability", "Which link parameters the data determine", "map")
    standard, together = text.standard_rows(estimate, comparison, slides), tuple(correlated(estimate))
    cells, combined = _known(estimate, slides, short_of(estimate, robot))
    shown = Block(words=f"{_ALONE} {known}.", drawings=(drawn,), map=cells, table=combined, opened=False)
    said = tuple(_weakest(estimate, regression))
    weak = Block("What the logs show worst", "", said, note=_TOGETHER, drawings=together, table=standard, opened=False)
    decided = () if regression is None else tuple(agreeing(estimate, regression))
    agree = [Block("What single parts of the logs decide", note=_AGREE, drawings=decided)] if decided else []
    with np.errstate(divide="ignore", invalid="ignore"):
        wide = estimate.covariance.half_widths(0.95) / np.abs(estimate.phi)
    wide, bound = np.where(np.isfinite(wide), wide, np.inf), [held.partition(" ")[0] for held in estimate.active]
    order = [int(k) for k in np.argsort(-wide) if wide[k] > 1.0 and estimate.base.names[k] not in bound]
    worst = [estimate.base.names[k] for k in order[:_NAMED]]
    named = f", first of all {', '.join(worst)}" if worst else ""
    many = f"{int(np.sum(wide > 1.0))} of {len(wide)} base parameters"
    words = f"{many} have a 95 % interval wider than their value{named}. This designs a motion that adds what these"
    wider = Block("What the next motion would improve", words=f"{words} logs lack:", paste=next_motion)
    return Section("identifiable", "What is identifiable", (shown, weak, *agree, wider))


def _weakest(estimate: Estimate, regression: Regression | None) -> Iterator[str]:
    scaled = estimate.condition_scaled
    yield (
        f"Condition number {text.number(scaled, 3)} with columns of unit length and noise weights"
        f" ({text.number(estimate.condition, 3)} in SI units): an error of the torque of 1 % can become one of up to"
        f" {text.number(scaled, 3)} % in the combination that the logs show worst."
    )
    if regression is None:
        return
    weak = [d for d in conditioning.weakest_directions(regression, estimate.sigma) if d.times >= _WEAK]
    if not weak:
        yield "No combination of parameters is shown much worse than its parts."
    yield from (conditioning.sentence(d) for d in weak)


def _known(estimate: Estimate, slides: frozenset[str], short: Short) -> tuple[Map, text.Table]:
    """Return the map of what is known of each link's parameters, and the same as a table, with their combinations."""
    halves, cells, rows = estimate.covariance.half_widths(0.95), [], []
    for i, (link, states) in enumerate(zip(estimate.links, identifiability(estimate), strict=True)):
        own = []
        for k, state in enumerate(states):
            name, means = f"{link}.{INERTIAL[k]}", figures.STATES[state][2]
            sums = [estimate.base.expression(int(b)) for b in np.flatnonzero(estimate.base.K[:, 10 * i + k])]
            unit, say = text.unit(name, slides), f"{name}: {means}"
            if state == "alone":
                b = estimate.base.names.index(name)
                say += f": {text.with_error(float(estimate.phi[b]), float(halves[b]))} {unit}"
            elif state in ("sum", "logs"):
                say += ": " + "; ".join(short[x] for x in sums)
            own.append((state, say))
            rows.append((name, unit, means, "; ".join(sums) or text.MISSING))
        cells.append((link, tuple(own)))
    columns = ("parameter", "unit", "known", "combination")
    found = text.table("Which parameters are known, and in which combinations", columns, rows)
    brief = {row[-1]: "; ".join(short.get(x, x) for x in row[-1].split("; ")) for row in rows}
    return tuple(cells), replace(found, short=brief)


_SAID = (
    f"Every {WINDOW_S:g} s the simulation is set to the measured position and velocity, and then left to the logged"
    " torques alone: no controller holds it. The lower curve shows how soon an error of torque becomes one of position."
)


def simulated(estimate: Estimate, model: Model, motions: Sequence[tuple[str, Motion]]) -> Iterator[Section]:
    """Yield the section on the first motion, where there is any; where the model cannot be simulated it says why."""
    if not motions:
        return
    try:
        found = rollout(model, estimate.for_torque, motions[0][1])
    except ModelError as cause:
        block = Block(words=f"This model was not simulated: {sentence(cause.problem)}")
    else:
        block = Block(
            f"“{found.recording}”, {plural(len(found.t), 'start')}",
            _SAID,
            note=f"Friction: {found.law}.",
            drawings=tuple(_drawings(found, model.robot)),
            link="simulation",
            table=_rows(found, model.robot),
        )
    yield Section("simulation", "Does it move as the robot did?", (block,), "Simulation")


def _drawings(found: Rollout, robot: Robot) -> Iterator[Picture]:
    """Yield each joint's position, measured and simulated, and how far apart both are."""
    t, off, moved = _with_gaps(found.t), found.off(WINDOW_S), np.median(found.moved, axis=0)
    for j, joint in enumerate(robot.joints):
        measured, own = (_with_gaps(x[:, :, j]) for x in (found.measured, found.simulated))
        unit, error = joint.unit("position"), text.number(float(np.median(off[:, j])), 2)
        above = Line(t, measured, MEASURED, "measured", 2.6), Line(t, own, BLUE, "simulated", 1.1)
        below = Strip("y", 0.0, 0.0, MUTED), Line(t, own - measured, RED, "off", 1.1)
        panels = (
            Panel(Axis(link="simulation"), Axis("position", unit), above, 146.0),
            Panel(Axis("time", "s", link="simulation"), Axis("off", unit), below, 100.0),
        )
        title = (
            f"{short(joint.name)}: {error} {unit} off {WINDOW_S:g} s later, of {text.number(moved[j], 2)} {unit} moved"
        )
        about = f"Measured and simulated position of {joint.name} in {found.recording}"
        yield Picture(title, panels).called(f"simulation_{j + 1}", about)


def _with_gaps(windows: Array) -> Array:
    """Return windows (W, K) one after the other, with NaN after each."""
    return np.column_stack([windows, np.full(len(windows), np.nan)]).ravel()


def _rows(found: Rollout, robot: Robot) -> text.Table:
    """Return how far off each joint is after some times, beside how far it moves."""
    coasted = np.abs(found.coasted - found.measured[:, -1])
    columns = {
        "joint": robot.joint_names,
        "unit": robot.units("position"),
        f"moves within {WINDOW_S:g} s": np.median(found.moved, axis=0),
        **{f"off after {s:g} s": np.median(found.off(s), axis=0) for s in (0.2 * WINDOW_S, 0.5 * WINDOW_S, WINDOW_S)},
        "one start in ten: more than": np.quantile(found.off(WINDOW_S), 0.9, axis=0, method="higher"),
        "off at constant velocity": np.median(coasted, axis=0),
    }
    cells = {
        head: [x if isinstance(x, str) else text.number(float(x), 2) for x in own] for head, own in columns.items()
    }
    return text.by_column("Simulated less measured position: medians over the starts", cells)
