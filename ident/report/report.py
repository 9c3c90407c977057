"""The report of an estimate: its figures, tables and sentences, gathered once and written as HTML, PDF or pictures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ident.arrays import Array
from ident.compare import conditioning, residual_hints
from ident.compare.cad import Comparison
from ident.compare.residuals import Residuals, residuals
from ident.compare.truth import TruthComparison
from ident.compare.validate import ZERO, Validation
from ident.errors import InputError, ModelError
from ident.estimate.estimate import Estimate
from ident.files import write_whole
from ident.logs.motion import Motion
from ident.model.model import Model, torque
from ident.model.offset import Offset
from ident.model.term import Term, names, rubs, shape
from ident.regression.compress import compress
from ident.regression.regression import Regression
from ident.report import figures, text
from ident.report.charts import page_data, recording_data, stretches
from ident.report.figures import plain
from ident.report.inertia_figure import inertia_figure, links_named
from ident.report.parts import Card, Cell, Drawing, Report
from ident.report.pdf import pdf
from ident.report.residual_figure import alike_for, residual_figure
from ident.spatial.inertia import INERTIAL

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Endings that `write_report` knows.
FORMATS = (".html", ".htm", ".pdf")
_WORSE = 2.0  # a recording is worth a sentence when its residual is so many times that of the others
_STRONG, _FELT = 0.5, 0.02  # a hint belongs to the verdict: it explains so much of a residual of so much of the torque
_MOST_HINTS = 6  # those that most recordings show, and of these the strongest, come first
_WEAK = 3.0  # a direction is worth a sentence when its parameters show so many times less together


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
    regression: Regression | None = None,
    pictures: str | Path | None = None,
) -> Path:
    """Write the report of an estimate to `path`, by its ending as HTML or PDF, whole or not at all.

    The torque of the first motion of each kind is drawn; residuals, friction and hints are those of all fitted
    recordings (of a streamed recording: of its first part). regression: the factors of the fit, where they are at hand;
    else those of the fitted motions say what is weak.
    pictures: a folder that gets every figure as PNG and SVG, too.
    Raises ModelError when estimate and model have other parameters, InputError for another ending or when a file cannot
    be written.
    """
    path = known_format(path)
    report = gather(
        estimate,
        model=model,
        fit=_first_parts(fit_motions),
        held_out=next(iter(validation_motions), None),
        comparison=comparison,
        validation=validation,
        truth=truth,
        command=command,
        regression=regression,
    )
    if pictures is not None:
        write_pictures(pictures, report.drawings)
    if path.suffix.lower() == ".pdf":
        return write_whole(path, pdf(report))
    return write_whole(path, html(report))


def _first_parts(motions: Iterable[Motion]) -> list[Motion]:
    """Return the first motion of each name: streamed recordings come in parts."""
    found: dict[str, Motion] = {}
    for motion in motions:
        found.setdefault(motion.name, motion)
    return list(found.values())


def known_format(path: str | Path) -> Path:
    """Return the path; raises InputError for an ending that no report has."""
    path = Path(path)
    if path.suffix.lower() not in FORMATS:
        raise InputError(f"a report ends in {', '.join(FORMATS)}, got '{path.suffix}'", file=path)
    return path


def write_pictures(folder: str | Path, drawings: Iterable[Drawing]) -> list[Path]:
    """Write every figure as PNG and as SVG on white to a folder; raises InputError when that cannot be written."""
    written = []
    for drawing in drawings:
        figure = drawing.figure()
        written.append(write_whole(Path(folder) / f"{drawing.name}.png", figures.png(figure)))
        written.append(write_whole(Path(folder) / f"{drawing.name}.svg", figures.svg_file(figure, drawing.description)))
    return written


def gather(
    estimate: Estimate,
    *,
    model: Model,
    fit: Sequence[Motion],
    held_out: Motion | None,
    comparison: Comparison | None = None,
    validation: Validation | None = None,
    truth: TruthComparison | None = None,
    command: str | None = None,
    regression: Regression | None = None,
) -> Report:
    """Return what a report shows; fit: one motion of each fitted recording, held_out: the motion to draw.

    Raises ModelError as `write_report`.
    """
    if estimate.base.standard != model.names:
        raise ModelError(
            f"the estimate of '{estimate.robot}' has other parameters than the model",
            fix="Use the robot and the terms that were fitted",
        )
    theta = estimate.for_torque
    slides = frozenset(j.name for j in model.robot.joints if j.kind == "prismatic")
    first = fit[0] if fit else None
    drawn = [(name, m) for name, m in (("held-out", held_out), ("fitted", first)) if m is not None]
    predicted = [torque(model, theta, m.q, m.qd, m.qdd) for _, m in drawn]
    judged = [m for m in fit or [m for _, m in drawn] if len(m.t)]
    left = residuals(model, theta, judged) if judged else None
    if regression is None and fit:
        regression = compress(model, fit, base=estimate.base)
    hints = residual_hints.hints_of_all(model, judged, theta, estimate.sigma, base=estimate.base)
    drawings = [
        *_errors(validation),
        *_identifiable(estimate),
        *_comparisons(comparison),
        *_inertias(estimate, model, comparison, [m for _, m in drawn]),
        *_selection(estimate),
    ]
    units = ["N m" if j.kind == "revolute" else "N" for j in model.robot.joints]
    most = [stretches(len(m.t), model.robot.n, len(drawn)) for _, m in drawn]
    for place, ((section, motion), tau) in enumerate(zip(drawn, predicted, strict=True)):
        drawings += _torques(model, motion, tau, section, place)
    if left is not None:
        drawings += _residuals(model, left)
        drawings += _frictions(model, theta, left)
    tables = {
        "compared": text.comparison_rows(comparison, slides) if comparison else text.base_rows(estimate, slides),
        "standard": text.standard_rows(comparison, slides) if comparison else text.parameter_rows(estimate, slides),
        "residual": text.residual_rows(estimate, slides),
        "numbers": text.figures_rows(estimate),
        "provenance": text.provenance_rows(estimate, command),
        "combinations": _combinations(estimate, slides),
    }
    if left is not None and len(judged) > 1:
        tables["recordings"] = text.recording_rows(left.names, left.rms(), estimate.joints, units)
    if validation is not None:
        tables["validation"] = text.validation_rows(validation)
    if truth is not None:
        tables["truth"] = text.truth_rows(truth, slides)
    return Report(
        robot=estimate.robot,
        verdict=_lacking(text.verdict(estimate, validation), hints, estimate, slides),
        sentences=tuple(text.summary_sentences(estimate, comparison, validation)),
        cards=tuple(cards(estimate, comparison, validation)),
        warnings=tuple(text.warnings(estimate, comparison, validation)),
        hints=(*_hinted(hints, [m.name for m in judged], slides), *_worse(left, estimate.joints, units)),
        notes={
            "cad": comparison.notes if comparison else (),
            "weak": tuple(_weakest(estimate, regression)),
            "truth": _truth_sentence(truth),
            "links": (links_named(estimate.links),),
        },
        tables=tables,
        drawings=tuple(drawings),
        map=tuple(_map(estimate, slides)),
        recordings=tuple(
            (f"{'Motion never seen' if s == 'held-out' else 'Fitted recording'} “{m.name}”", _drawn_as(len(m.t), k))
            for (s, m), k in zip(drawn, most, strict=True)
        ),
        data=page_data(
            [
                recording_data(m.t, m.tau, tau, units, most=k)
                for (_, m), tau, k in zip(drawn, predicted, most, strict=True)
            ]
        ),
    )


def html(report: Report) -> str:
    """Return the page."""
    return page("report.html.j2", report=report)


def page(template: str, **shown: Any) -> str:
    """Return a page of this folder's templates, with the script whose hash lets it run."""
    import base64
    import hashlib

    from jinja2 import Environment, PackageLoader, StrictUndefined

    script = Path(__file__).with_name("report.js").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    environment = Environment(
        loader=PackageLoader("ident.report", ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(template).render(
        script=script,
        script_hash=f"sha256-{digest}",
        colours=figures.COLOURS,
        states=figures.STATES,
        parameters=INERTIAL,
        **shown,
    )


def friction_law(model: Model, theta: Array, joint: int, velocity: Array) -> Array:
    """Return the torque (m,) of friction and offset on joint `joint` at steady velocity (m,), all else at rest."""
    qd = np.zeros((len(velocity), model.robot.n))
    qd[:, joint] = velocity
    travel = np.cumsum(qd, axis=0)  # one second at each speed: friction that builds up has done so
    columns = model.term_columns(travel, qd, np.zeros_like(qd))
    law = np.zeros(len(velocity))
    steady = {
        name for term in model.terms if term.kind == Offset.kind or rubs(term) for name in names(term, model.robot)
    }
    for (j, k), column in zip(model.term_entries, columns, strict=True):
        if j == joint and model.names[k] in steady:
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


# ---- sentences -----------------------------------------------------------------------------------------------------


def _lacking(
    judged: text.Judgement, hints: tuple[residual_hints.Hint, ...] | None, estimate: Estimate, slides: frozenset[str]
) -> text.Judgement:
    """Return the verdict with the strongest hint, where one term would explain most of a joint's residual."""
    error = dict(zip(estimate.joints, estimate.relative, strict=True))
    strong = [h for h in hints or () if h.share >= _STRONG and error.get(h.joint, 0.0) >= _FELT]
    if judged.tone != "good" or not strong:
        return judged
    most = residual_hints.sentence(max(strong, key=lambda h: h.share), slides)
    return text.Judgement("unknown", "Usable, but the model lacks a term", f"{judged.reason} {most}")


def _hinted(hints: tuple[residual_hints.Hint, ...] | None, names: list[str], slides: frozenset[str]) -> list[str]:
    if not names:
        return []
    if hints is None:
        shown = ", ".join(f"“{name}”" for name in names)
        verb = "is" if len(names) == 1 else "are"
        return [f"{shown} {verb} too short, or masked too much, to judge what the model lacks."]
    if not hints:
        return [
            "Nothing systematic was found: no delay, friction, spring, coupling or gain that was tried improves the"
            " prediction of stretches that it was not fitted to."
        ]
    said = [residual_hints.sentence(hint, slides) for hint in hints[:_MOST_HINTS]]
    weaker = len(hints) - len(said)
    return [*said, f"{weaker} weaker hint{'s are' if weaker > 1 else ' is'} left out."] if weaker > 0 else said


def _worse(left: Residuals | None, joints: Sequence[str], units: Sequence[str]) -> Iterator[str]:
    """Yield a sentence on each recording that the common parameters predict much worse than the others."""
    if left is None or len(left.names) < 2:
        return
    rms = left.rms()
    for k, name in enumerate(left.names):
        usual = np.median(np.delete(rms, k, axis=0), axis=0)
        worst = int(np.argmax(rms[k] / np.where(usual > 0, usual, np.inf)))
        if rms[k, worst] > _WORSE * usual[worst] > 0:
            yield (
                f"{joints[worst]}: the residual of “{name}” is {text.number(rms[k, worst], 3)} {units[worst]} rms, of"
                f" the others {text.number(usual[worst], 3)}; look for another load, offset or temperature in it."
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


def _truth_sentence(truth: TruthComparison | None) -> tuple[str, ...]:
    if truth is None or truth.largest is None:
        return ()
    return (
        f"{text.percent(truth.coverage)} of the 95 % intervals hold the true value; "
        f"the largest difference is {truth.largest:.1f} standard errors.",
    )


def _drawn_as(samples: int, most: int) -> str:
    if samples <= most:
        return f"All {samples:,} samples are drawn, with their noise, also those that thinning and masks leave out."
    return (
        f"{samples:,} samples: the least and the largest of every {samples / most:.1f} are drawn, with their noise, "
        "also those that thinning and masks leave out."
    )


def _map(estimate: Estimate, slides: frozenset[str]) -> Iterator[tuple[str, tuple[Cell, ...]]]:
    for i, (link, row) in enumerate(zip(estimate.links, identifiability(estimate), strict=True)):
        cells = []
        for k, state in enumerate(row):
            name = f"{link}.{INERTIAL[k]}"
            say = f"{name}: {figures.STATES[state][2]}"
            if state == "alone":
                say += f": {_value(estimate, name)} {text.unit(name, slides)}"
            elif state in ("sum", "logs"):
                say += ": " + "; ".join(_sums(estimate, 10 * i + k))
            cells.append(Cell(state, figures.STATES[state][1], say))
        yield link, tuple(cells)


def _value(estimate: Estimate, name: str) -> str:
    k = estimate.base.names.index(name)
    return text.with_error(float(estimate.phi[k]), float(estimate.covariance.half_widths(0.95)[k]))


def _sums(estimate: Estimate, k: int) -> list[str]:
    """Return the base parameters that a standard parameter is part of, as sums."""
    return [estimate.base.expression(int(b)) for b in np.flatnonzero(estimate.base.K[:, k])]


def _combinations(estimate: Estimate, slides: frozenset[str]) -> text.Table:
    rows = [
        (
            f"{link}.{INERTIAL[k]}",
            text.unit(f"{link}.{INERTIAL[k]}", slides),
            figures.STATES[state][2],
            "; ".join(_sums(estimate, 10 * i + k)) or text.MISSING,
        )
        for i, (link, states) in enumerate(zip(estimate.links, identifiability(estimate), strict=True))
        for k, state in enumerate(states)
    ]
    columns = ("parameter", "unit", "known", "combination")
    return text.table("Which parameters are known, and in which combinations", columns, rows)


# ---- figures -------------------------------------------------------------------------------------------------------


def _torques(model: Model, motion: Motion, predicted: Array, section: str, place: int) -> Iterator[Drawing]:
    for j, joint in enumerate(model.robot.joints):
        measured = motion.tau[:, j]
        energy = float(np.linalg.norm(measured))
        share = float(np.linalg.norm(measured - predicted[:, j])) / energy if energy > 0 else None
        title = f"{plain(joint.name)}: prediction misses {text.percent(share)} of the torque, noise included"

        def draw(j: int = j, title: str = title) -> Figure:
            unit = "N m" if model.robot.joints[j].kind == "revolute" else "N"
            return figures.torque_figure(motion.t, motion.tau[:, j], predicted[:, j], title=title, unit=unit)

        name = f"torque_{section}_{j + 1}"
        about = f"Measured and predicted torque of {joint.name} in {motion.name}"
        yield Drawing(name, section, _spoken(title), about, draw, (place, j))


def _residuals(model: Model, left: Residuals) -> Iterator[Drawing]:
    for j, joint in enumerate(model.robot.joints):
        unit, position = ("N m", "rad") if joint.kind == "revolute" else ("N", "m")
        residual = left.residual[:, j]
        lasting, alike = alike_for(left.t, residual, left.starts)
        rms = float(np.sqrt(np.mean(residual**2))) if len(residual) else float("nan")
        correlated = f"{text.number(1e3 * lasting, 2)} ms" if lasting < 0.0995 else f"{text.number(lasting, 2)} s"
        title = f"{plain(joint.name)}: {text.number(rms, 3)} {unit} rms left, correlated for {correlated}"

        def draw(j: int = j, title: str = title, unit: str = unit, position: str = position) -> Figure:
            return residual_figure(
                left.t, left.residual[:, j], left.qd[:, j], left.q[:, j], title=title, unit=unit,
                position_unit=position, starts=left.starts,
            )  # fmt: skip

        about = f"Residual of {joint.name} over time, velocity and position, and its autocorrelation;"
        about += f" {text.number(alike, 2)} samples count as one"
        yield Drawing(f"residual_{j + 1}", "residual", _spoken(title), about, draw)


def _frictions(model: Model, theta: Array, left: Residuals) -> Iterator[Drawing]:
    rubbing = {name: term for term in model.terms if term.kind.friction for name in names(term, model.robot)}
    for j, joint in enumerate(model.robot.joints):
        own = dict.fromkeys(k for i, k in model.term_entries if i == j and model.names[k] in rubbing)
        if not any(rubs(rubbing[model.names[k]]) for k in own):
            continue
        unit, velocity_unit = ("N m", "rad/s") if joint.kind == "revolute" else ("N", "m/s")
        said = [_said(rubbing[model.names[k]], theta[k], joint.kind) for k in own]
        title = f"{plain(joint.name)}: {', '.join(said)}"

        def draw(j: int = j, title: str = title, unit: str = unit, velocity_unit: str = velocity_unit) -> Figure:
            velocity = left.qd[:, j]
            reach = 1.05 * float(np.abs(velocity).max(initial=0.0)) or 1.0
            grid = np.linspace(-reach, reach, 601)
            return figures.friction_figure(
                velocity,
                left.residual[:, j] + friction_law(model, theta, j, velocity),
                grid,
                friction_law(model, theta, j, grid),
                title=title,
                unit=unit,
                velocity_unit=velocity_unit,
            )

        yield Drawing(f"friction_{j + 1}", "friction", _spoken(title), f"Friction of {joint.name} over velocity", draw)


def _said(term: Term, value: float, joint_kind: str) -> str:
    """Return a friction parameter with its unit in words."""
    unit = term.kind.unit(joint_kind).removeprefix("1")
    for name, number in shape(term).items():
        unit = unit.replace(name, f"{number:g}")
    return f"{term.kind.words.removesuffix(' friction')} {text.number(value, 3)} {unit}".rstrip()


def _errors(validation: Validation | None) -> Iterator[Drawing]:
    if validation is None:
        return
    totals = {n: validation.total(n) for n in validation.names if n != ZERO}
    relative = {n: t.relative for n, t in totals.items() if t is not None}
    own = totals[validation.names[0]]
    if own is None:
        return
    title = f"Motions never seen: {text.percent(own.relative_total)} error over all joints"
    about = "Relative prediction error of each joint on recordings kept out of the fit"
    joints = validation.joints
    yield Drawing("errors", "errors", title, about, lambda: figures.error_figure(joints, relative, title=title))


def _comparisons(comparison: Comparison | None) -> Iterator[Drawing]:
    rows = [r for r in comparison.rows if r.standard_errors_off is not None] if comparison else []
    if comparison is None or not rows:
        return
    bad = comparison.count("contradicted")
    told = f"The data contradict CAD in {bad} of {len(rows)} base parameters"
    title = told if bad else f"No contradiction with CAD in {len(rows)} base parameters"
    verdicts = [r.verdict for r in rows]
    names = [r.name for r in rows]
    off, boundary = [r.standard_errors_off or 0.0 for r in rows], comparison.boundary
    yield Drawing(
        "cad_standard_errors",
        "cad",
        title,
        told,
        lambda: figures.comparison_figure(names, off, verdicts, boundary, title=title),
    )
    sized = [r for r in rows if r.scale and r.half_width is not None and r.difference is not None]
    if not sized:
        return
    widths = [(r.half_width or 0.0) / (r.scale or 1.0) for r in sized]
    differences = [(r.difference or 0.0) / (r.scale or 1.0) for r in sized]
    within = sum(abs(d) < 0.1 for d in differences)
    said = f"{within} of {len(sized)} base parameters are within 10 % of CAD's size"
    yield Drawing(
        "cad_intervals",
        "cad",
        said,
        said,
        lambda: figures.interval_figure(
            [r.name for r in sized], differences, widths, [r.verdict for r in sized], title=said
        ),
    )


def _identifiable(estimate: Estimate) -> Iterator[Drawing]:
    states = identifiability(estimate)
    known = sum(row.count("alone") for row in states)
    title = f"{known} of {10 * len(states)} link parameters are known by the data alone"
    yield Drawing(
        "identifiability",
        "map",
        title,
        "Which link parameters the data determine",
        lambda: figures.identifiability_figure(estimate.links, INERTIAL, states, title=title),
    )


def _inertias(
    estimate: Estimate, model: Model, comparison: Comparison | None, motions: list[Motion]
) -> Iterator[Drawing]:
    inertials = estimate.inertials
    if inertials is None:
        return
    n = len(estimate.links)
    cad = None
    if comparison is not None:
        cad = np.array([np.nan if r.cad is None else r.cad for r in comparison.standard[: 10 * n]]).reshape(n, 10)
    q = np.median(motions[-1].q, axis=0) if motions else np.zeros(n)
    title = f"The {n} links as solid ellipsoids of the same mass and inertia"
    yield Drawing(
        "inertia_ellipsoids",
        "inertia",
        title,
        f"{title}, on the robot",
        lambda: inertia_figure(model.robot, q, inertials, cad, title=title, named="CAD"),
    )


def _selection(estimate: Estimate) -> Iterator[Drawing]:
    tried = [(w, e) for w, e in estimate.selection if w > 0 and np.isfinite(e)]
    if len(tried) < 2 or not estimate.weight:
        return
    weights, errors = zip(*tried, strict=True)
    chosen = estimate.weight
    title = f"The prior has weight {chosen:.2g}: what left-out data and the noise ask for"
    yield Drawing(
        "prior_weight",
        "selection",
        title,
        "Cross-validation error over the weight of the prior",
        lambda: figures.selection_figure(weights, errors, chosen, title=title),
    )


def _spoken(title: str) -> str:
    """Return a figure's title as text: `plain` escapes what matplotlib would read as mathematics."""
    return title.replace(r"\$", "$")
