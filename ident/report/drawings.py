"""The figures of a report, each with its title: what it shows, in numbers."""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np

from ident.arrays import Array
from ident.compare.difference import Comparison
from ident.compare.validate import ZERO, Residuals, Validation
from ident.errors import plural
from ident.estimate.covariance import jackknife
from ident.estimate.estimate import Estimate, NamedCause, Structure
from ident.logs.motion import Motion
from ident.model.model import Model
from ident.model.standard import Offset
from ident.model.term import Term, names, rubs, shape
from ident.regression.regression import Regression
from ident.report import pictures, text
from ident.report.body_figures import NO_SHAPES, Shapes, in_space, inertia_picture
from ident.report.figures import BLUE, GREEN, INK, MEASURED, MUTED, RED
from ident.report.outcome_text import way_to
from ident.report.picture import Axis, Cells, Dots, Line, Mark, Note, Panel, Picture, Strip, rows, short, sparse
from ident.report.pictures import AROUND, AT_ZERO, WORDS, alike_for, bars, residual_picture, signed

_TOGETHER = 0.9  # a correlation beyond which two parameters are known little better than their sum
_MEANS = 16  # of what a mistake explains


def torques(model: Model, motion: Motion, predicted: Array, name: str, most: int) -> Iterator[Picture]:
    """Yield each joint's measured and predicted torque (N, n), zoomed together; most: stretches that are kept."""
    for j, joint in enumerate(model.robot.joints):
        t, measured, own, unit = motion.t, motion.tau[:, j], predicted[:, j], joint.unit("torque")
        energy = float(np.linalg.norm(measured))
        share = float(np.linalg.norm(measured - own)) / energy if energy > 0 else None
        curves = (
            Line(t, measured, MEASURED, "measured", 2.6, most=most),
            Line(t, own, BLUE, "predicted", 1.1, most=most),
        )
        left = AT_ZERO, Line(t, measured - own, RED, "residual", 0.9, most=most)
        panels = (
            Panel(Axis(link=name), Axis("torque", unit), curves, 146.0),
            Panel(Axis("time", "s", link=name), Axis("residual", unit), left, 100.0),
        )
        title = f"{short(joint.name)}: prediction misses {text.percent(share)} of the torque, noise included"
        about = f"Measured and predicted torque of {joint.name} in {motion.name}"
        yield Picture(title, panels).called(f"torque_{name}_{j + 1}", about)


def left_over(model: Model, left: Residuals) -> Iterator[Picture]:
    """Yield each joint's residual."""
    for j, joint in enumerate(model.robot.joints):
        unit, residual = joint.unit("torque"), left.residual[:, j]
        lasting, alike = alike_for(left.t, residual, left.starts)
        rms = float(np.sqrt(np.mean(residual**2))) if len(residual) else float("nan")
        correlated = f"{text.number(1e3 * lasting, 2)} ms" if lasting < 0.0995 else f"{text.number(lasting, 2)} s"
        about = f"Residual of {joint.name} over time, velocity and position, and its autocorrelation;"
        title = f"{short(joint.name)}: {text.number(rms, 3)} {unit} rms left, correlated for {correlated}"
        drawn = residual_picture(left, j, joint, title=title)
        yield drawn.called(f"residual_{j + 1}", f"{about} {text.number(alike, 2)} samples count as one")


def frictions(model: Model, theta: Array, left: Residuals) -> Iterator[Picture]:
    """Yield the friction of each joint that has any, with the samples that it was fitted to."""
    rubbing = {name: term for term in model.terms if term.kind.friction for name in names(term, model.robot)}
    for j, joint in enumerate(model.robot.joints):
        own = dict.fromkeys(k for i, k in model.term_entries if i == j and model.names[k] in rubbing)
        if not any(rubs(rubbing[model.names[k]]) for k in own):
            continue
        said = [_said(rubbing[model.names[k]], theta[k], joint.kind) for k in own]
        velocity = left.qd[:, j]
        reach = 1.05 * float(np.abs(velocity).max(initial=0.0)) or 1.0
        grid = np.linspace(-reach, reach, 601)
        samples = left.residual[:, j] + friction_law(model, theta, j, velocity)
        dots = Dots(*sparse(velocity, samples), MEASURED, "measured less rigid body", 2.0)
        law = Line(grid, friction_law(model, theta, j, grid), BLUE, "fitted law", 2.2)
        title = f"{short(joint.name)}: {', '.join(said)}"
        drawn = pictures.friction_picture(title, joint.unit("torque"), joint.unit("velocity"), dots, law)
        yield drawn.called(f"friction_{j + 1}", f"Friction of {joint.name} over velocity")


def _said(term: Term, value: float, joint_kind: str) -> str:
    """Return a friction parameter with its unit in words."""
    unit = term.kind.unit(joint_kind).removeprefix("1")
    for name, number in shape(term).items():
        unit = unit.replace(name, f"{number:g}")
    return f"{term.kind.words.removesuffix(' friction')} {text.number(value, 3)} {unit}".rstrip()


def friction_law(model: Model, theta: Array, joint: int, velocity: Array) -> Array:
    """Return the torque (m,) of friction and offset on joint `joint` at steady velocity (m,), all else at rest."""
    qd = np.zeros((len(velocity), model.robot.n))
    qd[:, joint] = velocity
    travel = np.cumsum(qd, axis=0)  # one second at each speed: friction that builds up has done so
    steady = Model(model.robot, tuple(term for term in model.terms if term.kind == Offset.kind or rubs(term)))
    law = np.zeros(len(velocity))
    for (j, k), column in zip(steady.term_entries, steady.term_columns(travel, qd, np.zeros_like(qd)), strict=True):
        if j == joint:
            law += theta[model.index(steady.names[k])] * column
    return law


def errors(validation: Validation | None) -> Iterator[Picture]:
    """Yield the errors of predictions on recordings kept out of the fit, where there are any."""
    if validation is None:
        return
    totals = {n: validation.total(n) for n in validation.names if n != ZERO}
    relative = {n: t.relative for n, t in totals.items() if t is not None}
    own = totals[validation.names[0]]
    if own is not None:
        band = text.band(validation)
        unseen = validation.unseen
        title = f"{unseen[0].upper()}{unseen[1:]}: {text.percent(own.relative_total)} error over all joints{band}"
        about = f"Relative prediction error{band} of each joint on recordings kept out of the fit"
        yield pictures.error_picture(validation.joints, relative, title=title).called("errors", about)


def evidence(cause: NamedCause, k: int) -> Iterator[Picture]:
    """Yield the errors of all joints with the k-th mistake and without it, where they differ."""
    if cause.before == cause.after:
        return
    before, after = (text.percent(x) for x in cause.total)
    errors = {"as the files are": cause.before, "without the mistake": cause.after}
    of, whose = "Stretches left out", "on stretches that the fit left out"
    if cause.by_table:
        of, whose = "What CAD predicts", "of what CAD's numbers predict"
    about = f"Error of each joint {whose}, with the mistake and without it"
    title = f"{of}: {before} error, {after} without the mistake"
    yield pictures.error_picture(cause.joints, errors, title=title, colours=(RED, BLUE)).called(f"mistake_{k}", about)


def traces(cause: NamedCause, k: int) -> Iterator[Picture]:
    """Yield what is left of one joint's torque with the k-th mistake and without it, against what explains it.

    The line is the mean of what the mistake adds, in stretches that hold equally many samples.
    """
    trace = cause.trace
    if trace is None:
        return
    unit = trace.torque_unit
    was, rest = (text.number(float(np.sqrt(np.mean(np.square(x)))), 3) for x in (trace.before, trace.after))
    title = f"{short(trace.joint)}: {was} {unit} rms left, {rest} without the mistake"
    about = f"What is left of the torque of {trace.joint} over {trace.along} and over time"
    t, x, before, after = (np.array(values) for values in (trace.t, trace.x, trace.before, trace.after))
    parts = [p for p in np.array_split(np.argsort(x, kind="stable"), _MEANS) if len(p)]
    centres, means = (np.array([values[p].mean() for p in parts]) for values in (x, before - after))
    clouds = (
        Dots(x, before, RED, "as the files are", 4.0),
        Dots(x, after, BLUE, "without the mistake", 4.0),
        Line(centres, means, INK, "what the mistake explains", 2.2),
    )
    curves, left = (Line(t, before, RED, width=1.1), Line(t, after, BLUE, width=1.1)), Axis("residual", unit)
    over = Panel(Axis(trace.along, trace.unit), left, (AT_ZERO, *clouds), 230.0)
    drawn = Picture(title, (over, Panel(Axis("time", "s"), left, (AT_ZERO, *curves), 150.0)))
    yield drawn.called(f"mistake_{k}_torque", about)


def comparisons(comparison: Comparison | None) -> Iterator[Picture]:
    """Yield the base parameters against CAD: in standard errors, and with 95 % intervals as shares of CAD's size."""
    rows = [r for r in comparison.rows if not np.isnan(r.standard_errors)] if comparison else []
    if comparison is None or not rows:
        return
    bad = comparison.count("contradicted")
    told = f"The data contradict CAD in {bad} of {len(rows)} base parameters"
    title = told if bad else f"No contradiction with CAD in {len(rows)} base parameters"
    off = [(r.name, r.standard_errors, r.verdict) for r in rows]
    yield pictures.comparison_picture(off, comparison.boundary, title=title).called("cad_standard_errors", told)
    sized = [
        (r, 100.0 * r.difference / r.scale, 100.0 * r.half_width / r.scale)
        for r in rows
        if r.scale and r.half_width is not None and r.difference is not None
    ]
    if not sized:
        return
    x, half = np.array([sizes for _, *sizes in sized]).T
    said = f"{int(np.sum(np.abs(x) < 10.0))} of {len(sized)} base parameters are within 10 % of CAD's size"
    x, half = np.clip(x, -1e6, 1e6), np.clip(half, 0.0, 1e6)
    reach = max(15.0, 1.3 * float((np.abs(x) + half).max(initial=0.0)))
    far = [10.0**k for k in range(1, 7) if 10.0**k < 0.8 * reach]
    far = far if len(far) <= 3 else far[::2]
    ticks = tuple((t, f"{signed(t)} %" if t else "0") for t in (*(-t for t in reversed(far)), 0.0, *far))
    label = "(identified − CAD) / size of CAD ± 95 %"
    axis = Axis(label, limits=(-reach, reach), scale="symlog", edge=10.0, ticks=ticks)
    drawn = bars(said, axis, [(r.name, r.verdict) for r, *_ in sized], (x - half, x + half, x), WORDS)
    yield drawn.called("cad_intervals", said)


def identifiability(estimate: Estimate) -> list[list[str]]:
    """Return per link and parameter: "alone", "sum", "logs" (the logs do not show it) or "never"."""
    K, links = estimate.base.K, len(estimate.links)
    shown = np.isfinite(estimate.covariance.standard_errors)
    alone = np.isin(estimate.base.standard, estimate.fixed_by_data)
    states = np.select([alone, (K[shown] != 0).any(axis=0), (K != 0).any(axis=0)], ["alone", "sum", "logs"], "never")
    return np.asarray(states[: 10 * links]).reshape(links, 10).tolist()


def correlated(estimate: Estimate) -> Iterator[Picture]:
    """Yield how the base parameters' errors go together."""
    values, names = correlations(estimate.covariance.matrix), estimate.base.names
    if len(names) < 2 or not np.isfinite(values).any():
        return
    a, b = np.unravel_index(int(np.nanargmax(np.abs(values))), values.shape)
    strong = int(np.sum(np.triu(np.abs(values), 1) > _TOGETHER))
    count = f"{plural(strong, 'pair')} beyond {_TOGETHER}" if strong else f"none beyond {_TOGETHER}"
    title = f"Correlation of base parameters: {count}, {short(names[a])} and {short(names[b])} {values[a, b]:+.2f}"
    limits, ticks = (-0.5, len(names) - 0.5), tuple((float(k), short(name)) for k, name in enumerate(names))
    across, down = (Axis(limits=ends, ticks=ticks, named=True) for ends in (limits, limits[::-1]))
    drawn = Picture(title, (Panel(across, down, (Cells(values),), 2.0 * AROUND + 12.0 * len(names)),))
    yield drawn.called("correlation", "Correlation of the errors of all base parameters with each other")


def agreeing(estimate: Estimate, regression: Regression) -> Iterator[Picture]:
    """Yield what each segment alone changes of the base parameters, against the normal law of the intervals."""
    from scipy.special import ndtri

    changes = jackknife(regression, estimate.sigma, estimate.phi)
    known = np.flatnonzero(np.isfinite(estimate.covariance.standard_errors) & changes.any(axis=0))
    changes = changes[:, known]
    if estimate.covariance.kind == "classical" or not changes.size:
        return
    shares = np.abs(changes / np.sqrt(np.mean(changes**2, axis=0)))
    k, b = np.unravel_index(int(np.argmax(shares)), shares.shape)
    normal, found = -ndtri((np.arange(shares.size) + 0.5) / shares.size / 2.0)[::-1], np.sort(shares, axis=None)
    which = f"{short(regression.segments[k].name)} moves {short(estimate.base.names[known[b]])} most"
    title = f"{which}: {found[-1]:.1f} rms (chance: {normal[-1]:.1f})"
    marks = Line(normal, normal, MUTED, width=1.0, dash="--"), Line(normal, found, RED, width=1.8)
    panel = Panel(Axis("quantile of a normal one", "-"), Axis("change / its rms", "-"), marks)
    about = "Changes of base parameters by single segments, against normal ones"
    yield Picture(title, (panel,)).called("segments", about)


def correlations(covariance: Array) -> Array:
    """Return the correlations (b, b) of a covariance, NaN for what is not determined and on the diagonal."""
    sizes = np.sqrt(np.diag(covariance))
    with np.errstate(divide="ignore", invalid="ignore"):
        values = covariance / np.outer(sizes, sizes)
    np.fill_diagonal(values, np.nan)
    return np.asarray(np.where(np.isfinite(values), values, np.nan))


def inertias(
    estimate: Estimate, model: Model, comparison: Comparison | None, motions: list[Motion], shapes: Shapes = NO_SHAPES
) -> Iterator[Picture]:
    """Yield the links as ellipsoids on the robot, where bodies are known."""
    inertials = estimate.inertials
    if inertials is None:
        return
    n = len(estimate.links)
    cad = None if comparison is None else comparison.theta[: 10 * n].reshape(n, 10)
    q = np.median(motions[-1].q, axis=0) if motions else np.zeros(n)
    title = f"The {n} links as solid ellipsoids of the same mass and inertia"
    about = f"{title}, on the robot"
    space = in_space(model.robot, q, inertials, cad, shapes=shapes)
    yield inertia_picture(space, title).called("inertia_ellipsoids", about, json.dumps(space, allow_nan=False))


def path_of_terms(found: Structure) -> Iterator[Picture]:
    """Yield how joint terms were chosen one after the other, where any were tried."""
    if not found.steps:
        return
    way = way_to(found)
    shares = f"{text.percent(found.before)} missed becomes {text.percent(found.after)}"
    title = f"{plural(len(way), 'kind')} of joint terms: {shares}"
    if not found.lines:
        title = "Taken on the way, and all given up" if way else "No joint term is worth it"
    names = ["the model as it is", *(f"+ {one.candidate}" for one in way), "in the end"]
    missed = 100.0 * np.array([found.before, *(one.missed for one in way), found.after])
    error = 2.0 * np.array([0.0, *(one.error * share for one, share in zip(way, missed, strict=False)), 0.0])
    others = [(100.0 * one.missed, k) for k, step in enumerate(found.steps, 1) for one in step if one.reason]
    rest, at = np.array(others).reshape(-1, 2).T
    place = np.arange(len(missed), dtype=np.float64)
    ends = np.column_stack([missed - error, missed + error, np.full(len(missed), np.nan)]).ravel()
    honest = [100.0 * found.honest] if np.isfinite(found.honest) else []
    reach = [*missed, *rest, *ends[np.isfinite(ends)], *honest]
    span = (max(reach) - min(reach)) or 1.0
    marks: tuple[Mark, ...] = (
        *(Strip("x", x, x, GREEN, "chosen by other parts", "--") for x in honest),
        Dots(rest, at, MUTED, "tried, not taken", 5.0),
        Line(missed, place, BLUE, width=1.0, dash=":"),
        Line(ends, np.repeat(place, 3), BLUE, "± 2 standard errors", 1.7),
        Dots(missed, place, BLUE, "taken", 8.0, "D"),
        *(Note(value, k - 0.3, f"{value:#.3g} %", INK) for k, value in enumerate(missed)),
    )
    axis = Axis("torque missed on what is left out", "%", (min(reach) - 0.05 * span, max(reach) + 0.32 * span))
    drawn = Picture(title, (Panel(axis, rows(names), marks, AROUND + 30.0 * len(names)),))
    yield drawn.called("steps", "Torque missed on what is left out after each joint term that was taken")


def selection(estimate: Estimate) -> Iterator[Picture]:
    """Yield how the prior's weight was chosen, where it was."""
    tried = [(w, e) for w, e in estimate.selection if w > 0 and np.isfinite(e)]
    if len(tried) < 2 or not estimate.weight:
        return
    weights, errors = np.array(tried).T
    excess = 100.0 * (errors / errors.min() - 1.0)
    at = float(np.interp(np.log(estimate.weight), np.log(weights), excess))  # it may lie between those tried
    marks = (
        Line(weights, excess, BLUE, "tried", 1.6),
        Dots(weights, excess, BLUE, size=5.0),
        Dots(np.array([estimate.weight]), np.array([at]), RED, f"chosen: {estimate.weight:.2g}", 9.0, "D"),
    )
    axis, most = Axis("error above the least", "%"), float(excess.max())
    if most > 100.0:
        ticks = (0.0, 10.0, *(10.0**k for k in range(2, 7) if 10.0**k <= 2.0 * most))
        named = tuple((x, f"{x:g}") for x in ticks)
        axis = Axis(axis.label, "%", (-3.0, 1.5 * most), "symlog", edge=10.0, ticks=named)
    title = f"The prior has weight {estimate.weight:.2g}: what left-out data and the noise ask for"
    drawn = Picture(title, (Panel(Axis("weight of the prior", "-", scale="log"), axis, marks),))
    yield drawn.called("prior_weight", "Cross-validation error over the weight of the prior")
