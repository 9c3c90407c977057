"""The section of a report on the fitted model let go: simulated under the logged torques, against what was measured."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ident.arrays import Array
from ident.compare.rollout import WINDOW_S, Rollout, rollout
from ident.errors import ModelError, plural, sentence
from ident.estimate.estimate import Estimate
from ident.logs.motion import Motion
from ident.model.model import Model
from ident.report import text
from ident.report.figures import BLUE, MEASURED, MUTED, RED
from ident.report.parts import Block, Drawing, Section, pictured
from ident.report.picture import Axis, Line, Panel, Picture, Strip, short
from ident.robot.robot import Robot

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
