"""The report: one HTML file that needs nothing else, with figures, tables, warnings and provenance."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ident.arrays import Array
from ident.compare.cad import Comparison
from ident.compare.truth import TruthComparison
from ident.compare.validate import ZERO, Validation
from ident.errors import ModelError
from ident.estimate.estimate import Estimate
from ident.files import write_whole
from ident.logs.motion import Motion
from ident.model.model import Model, torque
from ident.report import figures, text
from ident.report.figures import plain
from ident.spatial.inertia import INERTIAL

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Picture:
    """A figure as <svg> text."""

    svg: str


@dataclass(frozen=True)
class Card:
    """One number of the first screen."""

    label: str
    value: str
    note: str
    tone: text.Tone = ""


def write_report(
    path: str | Path,
    estimate: Estimate,
    *,
    model: Model,
    fit_motions: Iterable[Motion],
    validation_motions: Iterable[Motion],
    comparison: Comparison | None = None,
    validation: Validation | None = None,
    truth: TruthComparison | None = None,
    command: str | None = None,
) -> Path:
    """Write the report of an estimate to `path` (HTML), whole or not at all.

    The first motion of each kind is drawn (of a streamed recording: its first part); tables hold them all.
    Raises ModelError when estimate and model have other parameters, InputError when the file cannot be written.
    """
    if estimate.base.standard != model.names:
        raise ModelError(
            f"the estimate of '{estimate.robot}' has other parameters than the model",
            fix="Use the robot and the terms that were fitted",
        )
    page = render(
        estimate,
        model=model,
        fit=next(iter(fit_motions), None),
        held_out=next(iter(validation_motions), None),
        comparison=comparison,
        validation=validation,
        truth=truth,
        command=command,
    )
    return write_whole(path, page)


def render(
    estimate: Estimate,
    *,
    model: Model,
    fit: Motion | None,
    held_out: Motion | None,
    comparison: Comparison | None,
    validation: Validation | None,
    truth: TruthComparison | None,
    command: str | None,
) -> str:
    """Return the page; `fit` and `held_out` are the motions to draw."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    theta = prediction_theta(estimate)
    slides = frozenset(j.name for j in model.robot.joints if j.kind == "prismatic")
    environment = Environment(
        loader=PackageLoader("ident.report", ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("report.html.j2").render(
        robot=estimate.robot,
        sentences=text.summary_sentences(estimate, comparison, validation),
        cards=cards(estimate, comparison, validation),
        warnings=text.warnings(estimate, comparison, validation),
        held_out=None if held_out is None else (held_out.name, _torques(model, theta, held_out)),
        fitted=None if fit is None else (fit.name, _torques(model, theta, fit)),
        errors=_errors(validation),
        comparison=_comparison(comparison),
        compared=text.comparison_rows(comparison, slides) if comparison else text.base_rows(estimate, slides),
        notes=comparison.notes if comparison else (),
        standard=text.standard_rows(comparison, slides) if comparison else text.parameter_rows(estimate, slides),
        friction=[] if fit is None else _frictions(model, theta, fit),
        identifiable=_identifiable(estimate),
        selection=_selection(estimate),
        residual=text.residual_rows(estimate, slides),
        validation=text.validation_rows(validation) if validation else None,
        truth=text.truth_rows(truth, slides) if truth else None,
        truth_sentence=_truth_sentence(truth),
        numbers=text.figures_rows(estimate),
        provenance=text.provenance_rows(estimate, command),
        colours=figures.COLOURS,
    )


def prediction_theta(estimate: Estimate) -> Array:
    """Return a theta (p,) that predicts what phi predicts: theta itself, or phi on the parameters kept and 0 else."""
    if estimate.theta is not None:
        return estimate.theta
    theta = np.zeros(len(estimate.base.standard))
    theta[list(estimate.base.kept)] = estimate.phi
    return theta


def friction_law(model: Model, theta: Array, joint: int, velocity: Array) -> Array:
    """Return the torque (m,) of friction and offset on joint `joint` at steady velocity (m,), the others at rest."""
    qd = np.zeros((len(velocity), model.robot.n))
    qd[:, joint] = velocity
    travel = np.cumsum(qd, axis=0)  # one second at each speed: friction that builds up has done so
    columns = model.term_columns(travel, qd, np.zeros_like(qd))
    law = np.zeros(len(velocity))
    for (j, k), column in zip(model.term_entries, columns, strict=True):
        if j == joint and not model.names[k].endswith(".stiffness"):
            law += theta[k] * column
    return law


def identifiability(estimate: Estimate) -> list[list[str]]:
    """Return per link and parameter: "alone", "sum", "logs" (the logs do not show it) or "never"."""
    K = estimate.base.K
    shown = np.isfinite(estimate.covariance.standard_errors)
    alone, ever, now = set(estimate.fixed_by_data), (K != 0).any(axis=0), (K[shown] != 0).any(axis=0)

    def state(k: int) -> str:
        if estimate.base.standard[k] in alone:
            return "alone"
        return "sum" if now[k] else "logs" if ever[k] else "never"

    return [[state(10 * i + k) for k in range(10)] for i in range(len(estimate.links))]


def cards(estimate: Estimate, comparison: Comparison | None, validation: Validation | None) -> list[Card]:
    """Return the numbers of the first screen."""
    found = []
    if validation is not None:
        own = validation.total(validation.names[0])
        rest = [(n, validation.total(n)) for n in validation.names[1:] if n != ZERO]
        note = ", ".join(f"{n} alone: {text.percent(t.relative_total)}" for n, t in rest if t)
        value = text.percent(own.relative_total if own else None)
        found.append(Card("torque error, motions never seen", value, note))
    found.append(
        Card("torque error, fitted logs", text.percent(estimate.relative_total), "norm of error / norm of torque")
    )
    feasible = {True: ("yes", "checked exactly"), False: ("NO", "do not use"), None: ("n/a", "combinations only")}
    value, note = feasible[estimate.feasible]
    tone: text.Tone = "good" if estimate.feasible else "bad" if estimate.feasible is False else "unknown"
    found.append(Card("every link can exist", value, note, tone))
    if comparison is not None:
        bad, good = comparison.count("contradicted"), comparison.count("agrees")
        found.append(Card("CAD contradicted", str(bad), "base parameters", "bad" if bad else ""))
        left = comparison.count("not determined"), comparison.count("not comparable")
        found.append(Card("CAD confirmed", str(good), f"{left[0]} not determined, {left[1]} without CAD value", "good"))
    return found


def _torques(model: Model, theta: Array, motion: Motion) -> list[Picture]:
    predicted = torque(model, theta, motion.q, motion.qd, motion.qdd)
    found = []
    for j, joint in enumerate(model.robot.joints):
        measured = motion.tau[:, j]
        energy = float(np.linalg.norm(measured))
        share = float(np.linalg.norm(measured - predicted[:, j])) / energy if energy > 0 else None
        figure = figures.torque_figure(
            motion.t,
            measured,
            predicted[:, j],
            title=f"{plain(joint.name)}: prediction misses {text.percent(share)} of the torque, noise included",
            unit="N m" if joint.kind == "revolute" else "N",
        )
        found.append(_picture(figure, f"Measured and predicted torque of {joint.name} in {motion.name}"))
    return found


def _frictions(model: Model, theta: Array, motion: Motion) -> list[Picture]:
    names = model.names
    residual = motion.tau - torque(model, theta, motion.q, motion.qd, motion.qdd)
    found = []
    for j, joint in enumerate(model.robot.joints):
        own = {names[k].rpartition(".")[2]: theta[k] for i, k in model.term_entries if i == j}
        if not own.keys() & {"viscous", "coulomb"}:
            continue
        turns = joint.kind == "revolute"
        unit, velocity_unit = ("N m", "rad/s") if turns else ("N", "m/s")
        velocity = motion.qd[:, j]
        reach = 1.05 * float(np.abs(velocity).max(initial=0.0)) or 1.0
        grid = np.linspace(-reach, reach, 601)
        said = []
        if "coulomb" in own:
            said.append(f"Coulomb {text.number(own['coulomb'], 3)} {unit}")
        if "viscous" in own:
            said.append(f"viscous {text.number(own['viscous'], 3)} {unit} s/{'rad' if turns else 'm'}")
        figure = figures.friction_figure(
            velocity,
            residual[:, j] + friction_law(model, theta, j, velocity),
            grid,
            friction_law(model, theta, j, grid),
            title=f"{plain(joint.name)}: {', '.join(said)}",
            unit=unit,
            velocity_unit=velocity_unit,
        )
        found.append(_picture(figure, f"Friction of {joint.name} over velocity"))
    return found


def _errors(validation: Validation | None) -> Picture | None:
    if validation is None:
        return None
    totals = {n: validation.total(n) for n in validation.names if n != ZERO}
    relative = {n: t.relative for n, t in totals.items() if t is not None}
    if not relative:
        return None
    own = totals[validation.names[0]]
    title = "" if own is None else f"Motions never seen: {text.percent(own.relative_total)} error over all joints"
    figure = figures.error_figure(validation.joints, relative, title=title)
    return _picture(figure, "Relative prediction error of each joint on recordings kept out of the fit")


def _comparison(comparison: Comparison | None) -> Picture | None:
    rows = [r for r in comparison.rows if r.standard_errors_off is not None] if comparison else []
    if comparison is None or not rows:
        return None
    bad = comparison.count("contradicted")
    told = f"The data contradict CAD in {bad} of {len(rows)} base parameters"
    figure = figures.comparison_figure(
        [r.name for r in rows],
        [r.standard_errors_off or 0.0 for r in rows],
        [r.verdict for r in rows],
        comparison.boundary,
        title=told if bad else f"No contradiction with CAD in {len(rows)} base parameters",
    )
    return _picture(figure, told)


def _identifiable(estimate: Estimate) -> Picture:
    states = identifiability(estimate)
    known = sum(row.count("alone") for row in states)
    figure = figures.identifiability_figure(
        estimate.links,
        INERTIAL,
        states,
        title=f"{known} of {10 * len(states)} link parameters are known by the data alone",
    )
    return _picture(figure, "Which link parameters the data determine")


def _selection(estimate: Estimate) -> Picture | None:
    tried = [(w, e) for w, e in estimate.selection if w > 0 and np.isfinite(e)]
    if len(tried) < 2 or not estimate.weight:
        return None
    weights, errors = zip(*tried, strict=True)
    figure = figures.selection_figure(
        weights, errors, estimate.weight, title=f"A prior weight of {estimate.weight:.2g} predicts left-out data best"
    )
    return _picture(figure, "Cross-validation error over the weight of the prior")


def _picture(figure: Figure, description: str) -> Picture:
    return Picture(figures.svg(figure, description))


def _truth_sentence(truth: TruthComparison | None) -> str:
    if truth is None or truth.largest is None:
        return ""
    return (
        f"{text.percent(truth.coverage)} of the 95 % intervals hold the true value; "
        f"the largest difference is {truth.largest:.1f} standard errors."
    )
