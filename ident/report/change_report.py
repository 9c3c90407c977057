"""The comparison of results as a page, a PDF and pictures: before and after service, arm A and arm B."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from ident.compare.difference import Change, Difference, changes, friction_curve
from ident.estimate.estimate import Estimate
from ident.report import pictures, text
from ident.report.figures import AMBER, BLUE, GREEN, MUTED, RED
from ident.report.page import known_format, write
from ident.report.parts import Block, Card, Drawing, Report, Section, pictured
from ident.report.picture import Band, Line, Mark, short
from ident.report.text import Table, Tone
from ident.report.verdict import Judgement
from ident.robot.robot import UNITS
from ident.spatial.inertia import INERTIAL

_TONES: dict[str, Tone] = {"changed": "bad", "same": "good", "unclear": "unknown", "not determined": "unknown"}
_RULE = (
    "A parameter changed when its difference is larger than chance explains, with at most one false alarm in a hundred"
    " comparisons. The results count as independent of each other."
)
_SPEED = 2.0  # rad/s or m/s that friction is drawn up to: the results do not say how fast the joints moved


def write_comparison(
    path: str | Path,
    named: Sequence[tuple[str, Estimate]],
    *,
    command: str | None = None,
    pictures: str | Path | None = None,
    prismatic: frozenset[str] | None = None,
) -> Path:
    """Write the comparison of named results to `path`, by its ending as HTML or PDF, whole or not at all.

    Each is compared with the first one. pictures: a folder that gets every figure as PNG and SVG. prismatic: names of
    the joints that slide; None where that is not known: then friction has "SI" for its unit. Raises what `changes`
    raises, and InputError for another ending or a file that cannot be written.
    """
    path = known_format(path)
    found = changes(named)
    compared = tuple(Block(table=_table(named[0][0], c, prismatic), opened=k == 0) for k, c in enumerate(found))
    rows = [
        (name, e.estimator, text.percent(e.relative_total), text.number(e.condition_scaled, 3), e.covariance.kind)
        for name, e in named
    ]
    heads = ("result", "estimator", "error on its logs", "condition number", "error bars")
    origins = [(name, str(k), str(v)) for name, e in named for k, v in e.provenance.items()]
    origins.append(("", "command", command or text.MISSING))
    tables = text.table("The fits", heads, rows), text.table("Provenance", ("result", "what", "value"), origins)
    about = tuple(Block(table=table, opened=False) for table in tables)
    frictions = tuple(Block(table=t) for c in found if (t := _table(named[0][0], c, prismatic, friction=True)).rows)
    sections = [Section("change", "What changed", (Block(drawings=tuple(_differences(named, found))),), "What changed")]
    if frictions:
        curves = Block(drawings=tuple(_curves(named, prismatic)))
        sections.append(Section("friction", "Friction", (curves, *frictions), "Friction"))
    report = Report(
        title=f"{named[0][1].robot}: {' against '.join(name for name, _ in named)}",
        verdict=judgement(named[0][0], found),
        cards=tuple(card for c in found for card in _cards(c)),
        sentences=tuple(sentences(named[0][0], found, prismatic)),
        note=_RULE,
        sections=(*sections, Section("all", "All of it", (*compared, *about), "All of it")),
    )
    return write(report, path, pictures)


def judgement(first: str, found: Sequence[Change]) -> Judgement:
    """Return what changed, in one line."""
    moved = sum(c.count("changed") for c in found)
    rows = sum(len(c.rows) for c in found)
    if not moved:
        return Judgement("good", "No change", f"None of {rows} base parameters differs from '{first}' beyond chance.")
    friction = sum(r.friction for c in found for r in c.rows if r.verdict == "changed")
    where = "all of them friction" if friction == moved else f"{friction} of them friction"
    told = f"{moved} of {rows} base parameters differ from '{first}' by more than chance, {where}."
    return Judgement("unknown", "Only friction changed" if friction == moved else "Changed", told)


def sentences(first: str, found: Sequence[Change], slides: frozenset[str] | None = None) -> Iterator[str]:
    """Yield what changed most, and how friction did."""
    for c in found:
        moved = sorted((r for r in c.rows if r.verdict == "changed"), key=lambda r: -abs(r.standard_errors))
        for row in moved[:5]:
            way = "rose" if row.difference > 0 else "fell"
            yield (
                f"'{c.name}': {row.name} {way} from {text.number(row.reference)} to {text.number(row.identified)}"
                f" {_unit(row.name, slides)} ({_relative(row)}, {abs(row.standard_errors):.1f} standard errors)."
            )
        if len(moved) > 5:
            yield f"'{c.name}': {len(moved) - 5} more changed; see the table."
        left = c.count("not determined")
        if left:
            yield f"'{c.name}': {left} base parameters are not determined in one of the two: not compared."


def _relative(row: Difference) -> str:
    return "from zero" if row.reference == 0 else f"{row.difference / abs(row.reference):+.1%}".replace("%", " %")


def _cards(change: Change) -> Iterator[Card]:
    bad = change.count("changed")
    yield Card(f"changed: {change.name}", str(bad), f"of {len(change.rows)} base parameters", "bad" if bad else "good")
    yield Card("the same within 95 %", str(change.count("same")), f"{change.count('unclear')} unclear", "good")


def _differences(named: Sequence[tuple[str, Estimate]], found: Sequence[Change]) -> Iterator[Drawing]:
    words = ("same", "changed", "unclear")
    for k, c in enumerate(found, start=1):
        rows = [r for r in c.rows if not np.isnan(r.standard_errors)]
        if rows:
            drawn = pictures.comparison_picture(
                [(r.name, r.standard_errors, r.verdict if r.verdict in words else words[-1]) for r in rows],
                c.boundary,
                title=f"{short(c.name)}: {c.count('changed')} of {len(rows)} base parameters changed",
                label=f"({short(c.name, 14)} − {short(named[0][0], 14)}) / standard error",
                words=words,
            )
            yield pictured(f"change_{k}", f"Differences of {c.name} from {named[0][0]} in standard errors", drawn)


def _curves(named: Sequence[tuple[str, Estimate]], slides: frozenset[str] | None) -> Iterator[Drawing]:
    velocity = np.linspace(-_SPEED, _SPEED, 401)
    for j, joint in enumerate(named[0][1].joints):
        curves = [(name, friction_curve(estimate, joint, velocity)) for name, estimate in named]
        known = [(name, *curve) for name, curve in curves if curve is not None]
        if len(known) == len(named):
            marks = list[Mark]()
            for k, (name, law, error) in enumerate(known):
                colour = (BLUE, RED, GREEN, AMBER, MUTED)[k % 5]
                marks.append(Band(velocity, law - 1.96 * error, law + 1.96 * error, colour, opacity=0.25))  # of 95 %
                marks.append(Line(velocity, law, colour, short(name), 1.8, ("", "--", ":")[k % 3]))
            units = ("SI", "SI") if slides is None else (UNITS[x][joint in slides] for x in ("torque", "velocity"))
            drawn = pictures.friction_picture(short(joint), *units, *marks)
            yield pictured(f"friction_{j + 1}", f"Friction of {joint} over velocity in each result", drawn)


def _table(first: str, change: Change, slides: frozenset[str] | None, *, friction: bool = False) -> Table:
    """Return all base parameters with a tone for what changed, or friction alone with its relative change."""
    columns = ("unit", first, change.name, "difference ± 95 %", "in standard errors", "verdict")
    if friction:
        chosen = [r for r in change.rows if r.friction]
        rows, tones = [(*_row(r, slides), _relative(r)) for r in chosen], [_TONES[r.verdict] for r in chosen]
        return text.table(f"Friction: {change.name} against {first}", ("friction", *columns, "change"), rows, tones)
    tones = [_TONES[r.verdict] if r.verdict != "same" else "" for r in change.rows]
    title = f"All base parameters: {change.name} against {first}"
    return text.table(title, ("base parameter", *columns), [_row(r, slides) for r in change.rows], tones)


def _row(r: Difference, slides: frozenset[str] | None) -> tuple[str, ...]:
    return (
        r.name,
        _unit(r.name, slides),
        text.number(r.reference),
        text.number(r.identified),
        text.with_error(r.difference, 1.96 * r.standard_error),
        text.signed(r.standard_errors),
        r.verdict,
    )


def _unit(name: str, slides: frozenset[str] | None) -> str:
    link = name.rpartition(".")[2] in INERTIAL
    return "SI" if slides is None and not link else text.unit(name, slides or frozenset())
