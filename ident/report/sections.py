"""Two sections of a report: on what is identifiable, the map of the links' parameters and what the logs show worst; and
on the fitted model let go, simulated under the logged torques, against what was measured.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from ident.arrays import Array
from ident.compare import conditioning
from ident.compare.difference import Comparison
from ident.compare.rollout import WINDOW_S, Rollout, rollout
from ident.errors import ModelError, plural, sentence
from ident.estimate.estimate import Estimate
from ident.logs.motion import Motion
from ident.model.model import Model
from ident.regression.regression import Regression
from ident.report import figures, text
from ident.report.drawings import agreeing, correlated, identifiability
from ident.report.figures import BLUE, MEASURED, MUTED, RED
from ident.report.parts import Block, Drawing, Map, Section, pictured
from ident.report.picture import Axis, Line, Panel, Picture, Strip, short
from ident.report.symbols import Short
from ident.robot.robot import Robot
from ident.spatial.inertia import INERTIAL

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
    estimate: Estimate,
    slides: frozenset[str],
    comparison: Comparison | None,
    regression: Regression | None,
    next_motion: str,
    short: Short,
) -> Section:
    """Return the section; regression: the factors of the fit, None where they are not known.

    next_motion: the command that designs a motion which adds to the logs; short: of what is long.
    """
    states = identifiability(estimate)
    known = (
        f"{sum(row.count('alone') for row in states)} of {10 * len(states)} link parameters are known by the data alone"
    )
    figure = partial(figures.identifiability_figure, estimate.links, INERTIAL, states, title=known)
    drawn = Drawing("identifiability", known, "Which link parameters the data determine", figure)
    standard = text.standard_rows(estimate, comparison, slides)
    cells, combined = _known(estimate, slides, short)
    weak = Block(
        "What the logs show worst",
        items=tuple(_weakest(estimate, regression)),
        note=_TOGETHER,
        drawings=tuple(correlated(estimate)),
        table=standard,
        opened=False,
    )
    shown = Block(words=f"{_ALONE} {known}.", drawings=(drawn,), map=cells, table=combined, opened=False)
    with np.errstate(divide="ignore", invalid="ignore"):
        wide = estimate.covariance.half_widths(0.95) / np.abs(estimate.phi)
    wide, bound = np.where(np.isfinite(wide), wide, np.inf), [held.partition(" ")[0] for held in estimate.active]
    order = [int(k) for k in np.argsort(-wide) if wide[k] > 1.0 and estimate.base.names[k] not in bound]
    worst = [estimate.base.names[k] for k in order[:_NAMED]]
    named = f", first of all {', '.join(worst)}" if worst else ""
    told = (
        f"{int(np.sum(wide > 1.0))} of {len(wide)} base parameters have a 95 % interval wider than their value{named}"
    )
    words = f"{told}. This designs a motion that adds what these logs lack:"
    agree = Block(
        "What single parts of the logs decide",
        note=_AGREE,
        drawings=() if regression is None else tuple(agreeing(estimate, regression)),
        opened=False,
    )
    wider = Block("What the next motion would improve", words=words, paste=next_motion)
    return Section(
        "identifiable",
        "What is identifiable",
        (shown, weak, *([agree] if agree.drawings else []), wider),
        "What is identifiable",
    )


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


def _drawings(found: Rollout, robot: Robot) -> Iterator[Drawing]:
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
        yield pictured(f"simulation_{j + 1}", about, Picture(title, panels))


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
