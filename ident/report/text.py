"""Tables as text: what the command line prints and the report shows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from ident.arrays import Array
from ident.errors import plural, sentence
from ident.files import CHOSEN
from ident.robot.robot import DESCRIPTIONS, UNITS
from ident.spatial.inertia import INERTIAL

if TYPE_CHECKING:  # numbers alone ask for none of these
    from ident.compare.difference import Comparison, TruthComparison, Verdict
    from ident.compare.validate import Predicted, Validation
    from ident.estimate.estimate import Estimate

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
    """A table of texts: a title, column heads, rows, and one tone per row ("" where nothing is to be said).

    short: what a report shows in place of a text of the last column; copies of the table have the text.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    tones: tuple[Tone, ...]
    short: Mapping[str, str] = field(default_factory=dict)


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
    from ident.model.terms import kind_of

    kind = kind_of(part)
    return "" if kind is None else kind.unit("prismatic" if of in prismatic else "revolute").replace("^2", "²")


def summary_sentences(
    estimate: Estimate, comparison: Comparison | None = None, validation: Validation | None = None
) -> list[str]:
    """Return what a reader needs to know, in plain words."""
    how, called = _ESTIMATORS.get(estimate.estimator, estimate.estimator), cad_called(comparison)
    drawn = "" if estimate.prior is None else f", drawn to {estimate.prior}{_weight(estimate)}"
    told = [f"{estimate.robot} has {plural(len(estimate.joints), 'joint')}. The fit is {how}{drawn}."]
    told.append(f"Its torque misses the fitted logs by {percent(estimate.relative_total)}.")
    if validation is not None:
        told[-1] = told[-1][:-1] + f"; {_held_out(validation, called)}"
    told.append(_feasibility(estimate))
    if comparison is not None:
        words: dict[Verdict, tuple[str, str]] = {
            "contradicted": (f"contradicts {comparison.source}", f"contradict {comparison.source}"),
            "agrees": ("agrees", "agree"),
            "not determined": ("is not determined", "are not determined"),
        }
        if comparison.count("not comparable"):
            value = "CAD value" if called == "CAD" else f"value in {called}"
            words["not comparable"] = (f"has no {value}", f"have no {value}")
        counts = [f"{comparison.count(v)} {words[v][comparison.count(v) != 1]}" for v in words]
        taken = "" if estimate.calibration else "; zeros and gains are taken for right, [calibrate] lets them be off"
        told.append(f"Of {len(comparison.rows)} base parameters, {', '.join(counts[:-1])} and {counts[-1]}{taken}.")
    return told


def cad_called(comparison: Comparison | None) -> str:
    """Return what CAD is called: by its file where that describes a whole robot, else "CAD"."""
    source = "" if comparison is None else comparison.source
    return source if source.lower().endswith(DESCRIPTIONS) else "CAD"


def _weight(estimate: Estimate) -> str:
    """Return how strongly a fit is drawn to its prior, and why so."""
    if not estimate.weight:
        return " only where the data leave freedom"
    tried = any(w == estimate.weight for w, _ in estimate.selection)
    why = "chosen by cross-validation" if tried else "the least that the noise of the logs asks for"
    return f" with weight {number(estimate.weight, 2)}{f' ({why})' if estimate.selection else ''}"


def band(validation: Validation) -> str:
    """Return in which band torque and prediction are compared, nothing where they are as logged."""
    return "" if validation.band_hz is None else f" below {validation.band_hz:.2g} Hz"


def banded(validation: Validation, total: Predicted) -> str:
    """Return the band of an error, and the errors with rows where joints stand and of the torque before that filter."""
    more = [("with rows at standstill ", total.every_total), ("raw ", total.raw_total)]
    told = [f"{word}{percent(x)}" for word, x in more if x is not None and percent(x) != percent(total.relative_total)]
    return band(validation) + (f" ({', '.join(told)})" if told else "")


def summary_rows(estimate: Estimate) -> Table:
    """Return the result in a few lines: label and value."""
    rows: list[tuple[str, str, Tone]] = [
        ("robot", f"{estimate.robot}, {plural(len(estimate.joints), 'joint')}", ""),
        ("estimator", _ESTIMATORS.get(estimate.estimator, estimate.estimator), ""),
        ("prior", MISSING if estimate.prior is None else f"{estimate.prior}, weight {number(estimate.weight, 2)}", ""),
        ("error on the fitted logs", percent(estimate.relative_total), ""),
    ]
    feasible: dict[bool | None, tuple[str, Tone]] = {
        True: ("yes", "good"), False: ("NO", "bad"), None: ("not asked", "unknown")
    }  # fmt: skip
    rows.append(("every link can exist", *feasible[estimate.feasible]))
    if estimate.theta is not None:
        rows.append(("everything is plausible", *feasible[not estimate.implausible]))
    conditions = f"{number(estimate.condition, 3)}; {number(estimate.condition_scaled, 3)}"
    rows.append(("condition number (SI; scaled)", conditions, ""))
    rows.append(("error bars", f"{estimate.covariance.kind}, {estimate.covariance.clusters} segments", ""))
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
    from ident.compare.difference import decided_by

    names, who = estimate.base.standard, decided_by(estimate)
    cells: dict[str, Iterable[str]] = {"parameter": names, "unit": [unit(name, prismatic) for name in names]}
    if comparison is not None:
        cells["CAD"] = [number(float(x)) for x in comparison.theta]
    cells |= {"identified": [number(estimate.value(name)) for name in names], "decided by": [who[x] for x in names]}
    return by_column("Standard parameters", cells, ["good" if who[name] == "data" else "" for name in names])


def residual_rows(estimate: Estimate, prismatic: frozenset[str] = frozenset()) -> Table:
    """Return one row per joint: samples, residual and relative error on the fitted logs."""
    rows = []
    for joint, *sizes in zip(estimate.joints, estimate.rows, estimate.rms, estimate.relative, strict=True):
        samples, rms, relative = map(float, sizes)
        unit = UNITS["torque"][joint in prismatic]
        rows.append((joint, f"{samples:.0f}", f"{number(rms, 3)} {unit}", percent(relative)))
    rows.append(("all", str(int(estimate.rows.sum())), "", percent(estimate.relative_total)))
    slow = ", each joint's rows at standstill left out" * (len(set(estimate.rows.tolist())) > 1)
    return table(f"Residual on the fitted logs{slow}", ("joint", "samples", "RMS residual", "of the torque"), rows)


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
        every, raws = [p.every_total for p in r.predictions], [p.raw_total for p in r.predictions]
        if None not in every:
            rows.append((r.recording, kept, "all, with rows at standstill", "", *map(percent, every)))
        if None not in raws:
            rows.append((r.recording, kept, "all, raw", "", *map(percent, raws)))
        tones += [tone] * (len(rows) - len(tones))
    columns = ("recording", "held out", "joint", "samples", *(f"error, {n}" for n in validation.names))
    return table("Prediction of recordings", columns, rows, tones)


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
    rows = [(str(k), str(v)) for k, v in estimate.provenance.items() if k != CHOSEN]
    rows.append(("command", command or MISSING))
    return table("Provenance", ("", ""), rows)


def _held_out(validation: Validation, called: str) -> str:
    """Return the end of the sentence about the error; called: what CAD is called."""
    from ident.compare.validate import ZERO

    totals = [(called if n == "CAD" else n, validation.total(n)) for n in validation.names if n != ZERO]
    if not totals or totals[0][1] is None:
        return "no other recording was there to validate it."
    own = f"it misses {validation.unseen} by {percent(totals[0][1].relative_total)}{banded(validation, totals[0][1])}"
    rest = [f"{name} alone by {percent(x.relative_total)}" for name, x in totals[1:] if x is not None]
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


def truth_rows(
    truth: TruthComparison, comparison: Comparison | None, estimate: Estimate, slides: frozenset[str]
) -> Table:
    """Return truth, CAD and identified of every base parameter of a simulation."""
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
        "within 95 %": [{True: "yes", False: "no", None: MISSING}[r.within_95] for r in truth.rows],
        "CAD is": [c.verdict if c else MISSING for c in cad],
    }
    title = "Truth, CAD and identified, on the combinations that torque can show"
    return by_column(title, cells, [TONES[c.verdict] if c else "" for c in cad])
