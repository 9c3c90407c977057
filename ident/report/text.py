"""Tables as text: what the command line prints and the report shows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ident.arrays import Array
from ident.compare.difference import Comparison, TruthComparison, Verdict, decided_by
from ident.compare.validate import ZERO, Predicted, Validation
from ident.errors import plural, sentence
from ident.estimate.estimate import Estimate
from ident.export.gate import VERDICT, with_validation
from ident.model.terms import kind_of
from ident.spatial.inertia import INERTIAL

Tone = Literal["good", "bad", "unknown", ""]
MISSING = "n/a"

TONES: dict[str, Tone] = {"agrees": "good", "contradicted": "bad", "not determined": "unknown", "not comparable": ""}
_ESTIMATORS = {
    "ols": "ordinary least squares (base parameters only)",
    "wls": "weighted least squares (base parameters only)",
    "constrained": "least squares over bodies that can exist",
    "constrained ols": "ordinary least squares over bodies that can exist",
    "regularised": "least squares regularised towards the prior, whether its bodies can exist or not",
    "regularised ols": "ordinary least squares regularised towards the prior, whether its bodies can exist or not",
}


@dataclass(frozen=True)
class Table:
    """A table of texts: a title, column heads, rows, and one tone per row ("" where nothing is to be said)."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    tones: tuple[Tone, ...]


def table(
    title: str, columns: tuple[str, ...], rows: Sequence[tuple[str, ...]], tones: Sequence[Tone] | None = None
) -> Table:
    """Return a Table; without tones, none is set."""
    return Table(title, columns, tuple(rows), tuple(tones or [""] * len(rows)))


def by_column(title: str, cells: Mapping[str, Iterable[str]], tones: Sequence[Tone] | None = None) -> Table:
    """Return the Table of columns by their heads, all equally long."""
    return table(title, tuple(cells), list(zip(*cells.values(), strict=True)), tones)


def number(value: float | None, digits: int = 4) -> str:
    """Return a number with so many significant digits, "n/a" where there is none."""
    if value is None or math.isnan(value):
        return MISSING
    return "infinite" if math.isinf(value) else f"{value + 0.0:.{digits}g}"


def signed(value: float) -> str:
    """Return a number of standard errors with its sign, "n/a" for NaN."""
    return MISSING if math.isnan(value) else f"{value:+.1f}"


def percent(share: float | None) -> str:
    """Return a share in percent with three significant digits, "n/a" where there is none."""
    if share is None or not math.isfinite(share):
        return MISSING
    return f"{100 * share:#.3g}".rstrip(".") + " %"


def with_error(value: float, half_width: float | None) -> str:
    """Return value and half width with the digits that it allows, such as "0.0412 ± 0.0002", or "not determined"."""
    if half_width is None or not math.isfinite(half_width):
        return "not determined"
    if half_width <= 0:
        return f"{number(value)} ± {MISSING}"
    digits = 1 - math.floor(math.log10(half_width))  # two digits of the half width
    power = math.floor(math.log10(max(abs(value), half_width)))
    if -4 <= power <= 4:
        return f"{value:.{max(digits, 0)}f} ± {half_width:.{max(digits, 0)}f}"
    scale, places = 10.0**power, max(power + digits, 0)
    return f"({value / scale:.{places}f} ± {half_width / scale:.{places}f})e{power}"


def unit(name: str, prismatic: frozenset[str] = frozenset()) -> str:
    """Return the SI unit of a parameter by its name; `prismatic`: names of the joints that slide."""
    of, _, part = name.rpartition(".")
    if part in INERTIAL:
        return "kg" if part == "m" else "kg m" if part[0] == "h" else "kg m²"
    kind = kind_of(part)
    return "" if kind is None else kind.unit("prismatic" if of in prismatic else "revolute").replace("^2", "²")


def summary_sentences(
    estimate: Estimate, comparison: Comparison | None = None, validation: Validation | None = None
) -> list[str]:
    """Return what a reader needs to know, in plain words."""
    how = _ESTIMATORS.get(estimate.estimator, estimate.estimator)
    drawn = "" if estimate.prior is None else f", drawn to {estimate.prior}{_weight(estimate)}"
    told = [f"{estimate.robot} has {plural(len(estimate.joints), 'joint')}. The fit is {how}{drawn}."]
    told.append(f"Its torque misses the fitted logs by {percent(estimate.relative_total)}.")
    if validation is not None:
        told[-1] = told[-1][:-1] + f"; {_held_out(validation)}"
    told.append(_feasibility(estimate))
    if comparison is not None:
        words: dict[Verdict, tuple[str, str]] = {
            "contradicted": (f"contradicts {comparison.source}", f"contradict {comparison.source}"),
            "agrees": ("agrees", "agree"),
            "not determined": ("is not determined", "are not determined"),
        }
        if comparison.count("not comparable"):
            words["not comparable"] = ("has no CAD value", "have no CAD value")
        counts = [f"{comparison.count(v)} {words[v][comparison.count(v) != 1]}" for v in words]
        told.append(f"Of {len(comparison.rows)} base parameters, {', '.join(counts[:-1])} and {counts[-1]}.")
    return told


def _weight(estimate: Estimate) -> str:
    """Return how strongly a fit is drawn to its prior, and why so."""
    if not estimate.weight:
        return " only where the data leave freedom"
    tried = any(w == estimate.weight for w, _ in estimate.selection)
    why = "chosen by cross-validation" if tried else "the least that the noise of the logs asks for"
    return f" with weight {number(estimate.weight, 2)}{f' ({why})' if estimate.selection else ''}"


@dataclass(frozen=True)
class Judgement:
    """The first line of a report: what to make of the result, and why."""

    tone: Tone
    headline: str
    reason: str


#: Above this share of the torque, over all joints or in one, a prediction that passes is called rough; so is one that
#: misses so much more of what was never seen than of what was fitted, and this share of the torque or more.
ROUGH, ROUGH_JOINT = 0.15, 0.5
WORSE, WORSE_SHARE = 3.0, 0.075
#: Above this share the noise of a joint's readings is not to hide what the model misses of it.
QUIET = 0.3


def questions(estimate: Estimate, validation: Validation | None = None) -> list[str]:
    """Return what a result rests on, a line each: a complete model, believable numbers, motions predicted."""
    missed = np.where(np.isfinite(estimate.missed), estimate.missed, 0.0)
    worst = int(np.argmax(missed))
    left = f"{percent(estimate.relative_total)} of the torque of the fitted logs is left"
    if estimate.floor is not None and estimate.floor.any():
        left += (
            f"; without the noise of its readings most is left at {estimate.joints[worst]}, {percent(missed[worst])}"
        )
    told = [f"Is the model complete? {'Yes' if complete(estimate) else 'No'}: {left}."]
    doubts = [*(cause.short for cause in estimate.causes), *estimate.implausible]
    if estimate.feasible is False:
        doubts.append("a link cannot exist")
    links = "links need not exist" if estimate.feasible is None else "every link can exist"
    bounds = f"; {len(estimate.active)} at their bound" if estimate.active else ""
    said = f"No: {doubts[0]}" if doubts else f"Yes: {links}{bounds}, and no mistake in robot file or logs shows"
    told.append(f"Are the numbers believable? {said}.")
    total = None if validation is None else validation.total(validation.names[0])
    if validation is None or total is None:
        return [*told, "Does it predict? Not known: no recording was kept from the fit."]
    error = f"{percent(total.relative_total)} of the torque{banded(validation, total)} of motions never seen is missed"
    passed = with_validation(estimate, validation, validation.names[0]).provenance[VERDICT].startswith("passed")
    left = _left(estimate, validation, total)
    quiet = _quiet(validation, total)
    more = f"; {'; '.join(x for x in (left, quiet) if x)}" if left or quiet else ""
    good = passed and total.relative_total <= ROUGH and not left
    return [*told, f"Does it predict? {'Yes' if good else 'No'}: {error}{more}."]


def complete(estimate: Estimate) -> bool:
    """Return whether the model leaves little more than noise of the fitted logs, in all joints and in each."""
    with np.errstate(divide="ignore", invalid="ignore"):
        energy = estimate.rows * (estimate.rms / estimate.relative) ** 2
    seen = np.isfinite(energy) & np.isfinite(estimate.missed)
    missed, energy = estimate.missed[seen], energy[seen]
    whole = float(np.sqrt(np.sum(energy * missed**2) / np.sum(energy))) if energy.any() else 0.0
    return whole <= ROUGH and bool((missed <= ROUGH_JOINT).all())


def verdict(estimate: Estimate, validation: Validation | None = None) -> Judgement:
    """Return whether the numbers can be used, in plain words."""
    if estimate.feasible is False:
        return Judgement("bad", "Do not use", "At least one link of these numbers cannot exist.")
    if estimate.causes:
        return Judgement("bad", "Do not use yet", sentence(f"Mend first: {estimate.causes[0]}"))
    if estimate.implausible:
        return Judgement("bad", "Do not use", sentence(f"Not to be believed: {'; '.join(estimate.implausible)}"))
    total = None if validation is None else validation.total(validation.names[0])
    if validation is None or total is None:
        reason = "No recording that the fit never saw was predicted, so it is not known how good these numbers are."
        return Judgement("unknown", "Not validated", reason)
    missed = f"{percent(total.relative_total)} of the torque{banded(validation, total)}"
    error = f"motions never seen are predicted within {missed}"
    judged = with_validation(estimate, validation, validation.names[0]).provenance[VERDICT]
    if not judged.startswith("passed"):
        return Judgement("bad", "Do not use yet", f"Validation {judged.partition(';')[0]}; {error}.")
    left = _left(estimate, validation, total)
    if total.relative_total > ROUGH or left:
        return Judgement("unknown", "Rough", f"Better than nothing, but {error}{f'; {left}' if left else ''}.")
    if not complete(estimate):
        return Judgement("unknown", "Rough", f"{questions(estimate, validation)[0]} {error[0].upper()}{error[1:]}.")
    links = "every link can exist" if estimate.feasible else "only combinations of parameters are known"
    quiet = _quiet(validation, total)
    said = f"{error[0].upper()}{error[1:]}, and {links}{f'; {quiet}' if quiet else ''}"
    return Judgement("good", "Ready to use", f"{said}.")


def _left(estimate: Estimate, validation: Validation, total: Predicted) -> str:
    """Return which joints are predicted badly for what their readings allow, or how much worse than fitted; "": none.

    A joint is rough where QUIET of its torque is missed beyond the noise of its readings, or ROUGH_JOINT with it.
    """
    each = zip(validation.joints, validation.missed(total.name), total.relative, strict=True)
    rough = [
        f"{joint} {percent(missed if missed > QUIET else relative)}"
        for joint, missed, relative in each
        if missed > QUIET or relative > ROUGH_JOINT
    ]
    if rough:
        return (
            f"of single joints more is missed than the noise of their readings: {', '.join(rough)}; log motions that"
            " load these joints more, or say in [model] what acts on them"
        )
    if total.relative_total > max(WORSE * estimate.relative_total, WORSE_SHARE):
        return (
            f"only {percent(estimate.relative_total)} of the fitted ones is, so something differs between the"
            " recordings (load, warmth, gain), or the fitted ones move too little: fit more of them"
        )
    return ""


def _quiet(validation: Validation, total: Predicted) -> str:
    """Return the joints that are missed by QUIET or more because of the noise of their readings, "" for none."""
    each = zip(validation.joints, validation.missed(total.name), total.relative, strict=True)
    told = [f"{joint} {percent(relative)}" for joint, missed, relative in each if missed <= QUIET < relative]
    return f"the noise of their readings allows no better than: {', '.join(told)}" if told else ""


def band(validation: Validation) -> str:
    """Return in which band torque and prediction are compared, nothing where they are as logged."""
    return "" if validation.band_hz is None else f" below {validation.band_hz:.2g} Hz"


def banded(validation: Validation, total: Predicted) -> str:
    """Return the band of an error, and the error of the torque as it was before that filter, where there is one."""
    return band(validation) + ("" if total.raw_total is None else f" (raw {percent(total.raw_total)})")


def warnings(estimate: Estimate, validation: Validation | None = None) -> list[str]:
    """Return everything that a reader must not overlook."""
    found = list(estimate.warnings)
    if estimate.feasible is False:
        found.append("A link of this estimate cannot exist; it is not exported.")
    found += [sentence(f"Implausible: {doubt}") for doubt in estimate.implausible if doubt not in found]
    if estimate.covariance.kind == "classical":
        found.append(
            "The error bars take residuals as independent from sample to sample; on filtered logs they are too small."
        )
    open_ = [n for n, e in zip(estimate.base.names, estimate.covariance.standard_errors, strict=True) if not e >= 0]
    if open_:
        shown = ", ".join(open_[:6]) + (", ..." if len(open_) > 6 else "")
        found.append(f"These logs do not determine {len(open_)} base parameters: {shown}.")
    if validation is None:
        found.append("Nothing was validated: the error on motions never seen is not known.")
    else:
        found += validation.warnings
    return list(dict.fromkeys(found))


def summary_rows(
    estimate: Estimate, comparison: Comparison | None = None, validation: Validation | None = None
) -> Table:
    """Return the result in a few lines: label and value."""
    rows: list[tuple[str, str, Tone]] = [
        ("robot", f"{estimate.robot}, {plural(len(estimate.joints), 'joint')}", ""),
        ("estimator", _ESTIMATORS.get(estimate.estimator, estimate.estimator), ""),
        ("prior", MISSING if estimate.prior is None else f"{estimate.prior}, weight {number(estimate.weight, 2)}", ""),
        ("error on the fitted logs", percent(estimate.relative_total), ""),
    ]
    for name in validation.names if validation is not None else ():
        total = validation.total(name) if validation is not None else None
        if name != ZERO:
            rows.append((f"error on other recordings, {name}", percent(total.relative_total if total else None), ""))
    feasible: dict[bool | None, tuple[str, Tone]] = {
        True: ("yes", "good"), False: ("NO", "bad"), None: ("not asked", "unknown")
    }  # fmt: skip
    rows.append(("every link can exist", *feasible[estimate.feasible]))
    if estimate.theta is not None:
        rows.append(("everything is plausible", *feasible[not estimate.implausible]))
    conditions = f"{number(estimate.condition, 3)}; {number(estimate.condition_scaled, 3)}"
    rows.append(("condition number (SI; scaled)", conditions, ""))
    rows.append(("error bars", f"{estimate.covariance.kind}, {estimate.covariance.clusters} segments", ""))
    if comparison is not None:
        rows += [(f"base parameters: {word}", str(comparison.count(word)), tone) for word, tone in TONES.items()]
    return table("Result", ("", ""), [row[:2] for row in rows], [tone for _, _, tone in rows])


def comparison_rows(comparison: Comparison, prismatic: frozenset[str] = frozenset()) -> Table:
    """Return one row per base parameter: CAD, identified with its 95 % interval, difference, verdict, combination."""
    rows = comparison.rows
    cells: dict[str, Iterable[str]] = {
        "base parameter": [r.name for r in rows],
        "unit": [unit(r.name, prismatic) for r in rows],
        "CAD": [number(r.reference) for r in rows],
        "identified ± 95 %": [with_error(r.identified, r.half_width) for r in rows],
        "difference / standard error": [signed(r.standard_errors) for r in rows],
        "verdict": [r.verdict for r in rows],
        "combination": [r.expression for r in rows],
    }
    return by_column(f"Base parameters against {comparison.source}", cells, [TONES[r.verdict] for r in rows])


def base_rows(estimate: Estimate, prismatic: frozenset[str] = frozenset()) -> Table:
    """Return one row per base parameter where there is no CAD to compare with."""
    halves = estimate.covariance.half_widths(0.95)
    names = estimate.base.names
    cells: dict[str, Iterable[str]] = {
        "base parameter": names,
        "unit": [unit(name, prismatic) for name in names],
        "identified ± 95 %": [with_error(float(x), float(h)) for x, h in zip(estimate.phi, halves, strict=True)],
        "combination": [estimate.base.expression(k) for k in range(len(names))],
    }
    return by_column("Base parameters", cells)


def standard_rows(
    estimate: Estimate, comparison: Comparison | None = None, prismatic: frozenset[str] = frozenset()
) -> Table:
    """Return one row per standard parameter: CAD where there is one to compare with, identified, who decided on it."""
    decided = decided_by(estimate)
    rows: list[tuple[str, ...]] = [
        (name, unit(name, prismatic), number(estimate.value(name)), decided[name]) for name in estimate.base.standard
    ]
    columns: tuple[str, ...] = ("parameter", "unit", "identified", "decided by")
    if comparison is not None:
        columns = (*columns[:2], "CAD", *columns[2:])
        rows = [(*r[:2], number(float(x)), *r[2:]) for r, x in zip(rows, comparison.theta, strict=True)]
    tones: list[Tone] = ["good" if row[-1] == "data" else "" for row in rows]
    return table("Standard parameters", columns, rows, tones)


def residual_rows(estimate: Estimate, prismatic: frozenset[str] = frozenset()) -> Table:
    """Return one row per joint: samples, residual and relative error on the fitted logs."""
    rows = [
        (
            joint,
            str(int(estimate.rows[j])),
            f"{number(float(estimate.rms[j]), 3)} {'N' if joint in prismatic else 'N m'}",
            percent(float(estimate.relative[j])),
        )
        for j, joint in enumerate(estimate.joints)
    ]
    rows.append(("all", str(int(estimate.rows.sum())), "", percent(estimate.relative_total)))
    return table("Residual on the fitted logs", ("joint", "samples", "RMS residual", "of the torque"), rows)


def recording_rows(names: Sequence[str], rms: Array, joints: Sequence[str], units: Sequence[str]) -> Table:
    """Return one row per fitted recording: each joint's RMS residual (k, n) [units] over all samples."""
    rows = [(name, *(number(float(x), 3) for x in row)) for name, row in zip(names, rms, strict=True)]
    columns = ("recording", *(f"{joint} [{unit}]" for joint, unit in zip(joints, units, strict=True)))
    return table("RMS residual of each fitted recording, noise included", columns, rows)


def validation_rows(validation: Validation) -> Table:
    """Return one row per recording and joint: RMSE of each prediction, and its error relative to the torque."""
    rows: list[tuple[str, ...]] = []
    tones: list[Tone] = []
    for r in validation.recordings:
        kept = {True: "yes", False: "NO: same recording", None: "not known"}[r.held_out]
        tone: Tone = "" if r.held_out else "unknown"
        for j, (joint, unit) in enumerate(zip(validation.joints, validation.units, strict=True)):
            cells = [f"{number(float(p.rms[j]), 3)} {unit} ({percent(float(p.relative[j]))})" for p in r.predictions]
            rows.append((r.recording, kept, joint, str(int(r.samples[j])), *cells))
        totals = [percent(p.relative_total) for p in r.predictions]
        rows.append((r.recording, kept, f"all{band(validation)}", str(int(r.samples.sum())), *totals))
        raws = [p.raw_total for p in r.predictions]
        if None not in raws:
            rows.append((r.recording, kept, "all, raw", "", *map(percent, raws)))
        tones += [tone] * (len(rows) - len(tones))
    columns = ("recording", "held out", "joint", "samples", *(f"error, {n}" for n in validation.names))
    return table("Prediction of recordings", columns, rows, tones)


def truth_rows(truth: TruthComparison, prismatic: frozenset[str] = frozenset()) -> Table:
    """Return one row per base parameter against the truth of a simulation."""
    cells = {
        "base parameter": [r.name for r in truth.rows],
        "unit": [unit(r.name, prismatic) for r in truth.rows],
        "true": [number(r.reference) for r in truth.rows],
        "identified": [number(r.identified) for r in truth.rows],
        "difference / standard error": [signed(r.standard_errors) for r in truth.rows],
        "within 95 %": [{True: "yes", False: "no", None: MISSING}[r.within_95] for r in truth.rows],
    }
    return by_column("Against the truth", cells)


def figures_rows(estimate: Estimate) -> Table:
    """Return the numbers about the fit itself: conditioning, error bars, solver, constraints."""
    fixed, total = len(estimate.fixed_by_data), len(estimate.base.standard)
    rows = [
        ("condition number, SI", number(estimate.condition, 3)),
        ("condition number, noise weights and unit columns", number(estimate.condition_scaled, 3)),
        ("base parameters", str(len(estimate.base.names))),
        ("standard parameters fixed by the data alone", f"{fixed} of {total}"),
        ("covariance", f"{estimate.covariance.kind}, {estimate.covariance.clusters} segments"),
        ("degrees of freedom of the intervals", str(estimate.covariance.dof)),
        ("solver", estimate.solver or MISSING),
        ("prior", estimate.prior or "none"),
        ("weight of the prior", number(estimate.weight, 3)),
        ("constraints at their bound", "; ".join(estimate.active) or "none"),
    ]
    return table("About the fit", ("", ""), rows)


def provenance_rows(estimate: Estimate, command: str | None = None) -> Table:
    """Return versions, hashes of inputs, and the exact command."""
    rows = [(str(k), str(v)) for k, v in estimate.provenance.items()]
    rows.append(("command", command or MISSING))
    return table("Provenance", ("", ""), rows)


def _held_out(validation: Validation) -> str:
    """Return the end of the sentence about the error."""
    totals = [(name, validation.total(name)) for name in validation.names if name != ZERO]
    if not totals or totals[0][1] is None:
        return "no other recording was there to validate it."
    own = f"it misses recordings never seen by {percent(totals[0][1].relative_total)}{banded(validation, totals[0][1])}"
    rest = [f"{name} alone by {percent(total.relative_total)}" for name, total in totals[1:] if total is not None]
    return ", ".join([own, *rest]) + "."


def _feasibility(estimate: Estimate) -> str:
    if estimate.theta is None:
        return "Only combinations of parameters are known, so whether the links can exist was not asked."
    if estimate.feasible and estimate.implausible:
        doubts = "; ".join(estimate.implausible)
        return sentence(f"Every link can exist, but not everything is to be believed: {doubts}")
    if estimate.feasible:
        return "Every link can exist: checked exactly, on the digits that are written."
    return "At least one link CANNOT exist. Do not use these numbers for simulation or control."


def side_by_side_rows(
    truth: TruthComparison, comparison: Comparison | None, estimate: Estimate, slides: frozenset[str]
) -> Table:
    """Return truth, CAD and identified of every base parameter."""
    compared = {r.name: r for r in comparison.rows} if comparison else {}
    cad = [compared.get(r.name) for r in truth.rows]
    halves = estimate.covariance.half_widths(0.95).tolist()
    cells = {
        "base parameter": [r.name for r in truth.rows],
        "unit": [unit(r.name, slides) for r in truth.rows],
        "truth": [number(r.reference) for r in truth.rows],
        "CAD": [number(c.reference if c else None) for c in cad],
        "identified ± 95 %": [with_error(r.identified, half) for r, half in zip(truth.rows, halves, strict=True)],
        "off truth [s.e.]": [signed(r.standard_errors) for r in truth.rows],
        "CAD is": [c.verdict if c else MISSING for c in cad],
    }
    title = "Truth, CAD and identified, on the combinations that torque can show"
    return by_column(title, cells, [TONES[c.verdict] if c else "" for c in cad])
