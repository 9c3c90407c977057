"""Several results on one page: compared (before and after service, arm A and arm B; also as a PDF and pictures), and a
fleet: which robots stand out, which have drifted, who could not be fitted, and each parameter.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from ident.compare.difference import Change, Difference, friction_curve
from ident.errors import plural
from ident.estimate.covariance import half_widths
from ident.estimate.estimate import Estimate
from ident.report import pictures, text
from ident.report.figures import AMBER, BLUE, GREEN, MEASURED, MUTED, PALE, RED
from ident.report.parts import Block, Card, Report, Section
from ident.report.picture import Axis, Band, Dots, Line, Mark, Note, Panel, Picture, Strip, short
from ident.report.text import Table, Tone
from ident.report.verdict import Judgement
from ident.robot.robot import UNITS
from ident.spatial.inertia import INERTIAL

if TYPE_CHECKING:
    import pandas as pd

_TONES: dict[str, Tone] = {"changed": "bad", "same": "good", "unclear": "unknown", "not determined": "unknown"}
_RULE = (
    "A parameter changed when its difference is larger than chance explains, with at most one false alarm in a hundred"
    " comparisons. The results count as independent of each other."
)
_SPEED = 2.0  # rad/s or m/s that friction is drawn up to: the results do not say how fast the joints moved


def gather_changes(
    named: Sequence[tuple[str, Estimate]],
    found: Sequence[Change],
    *,
    command: str | None = None,
    prismatic: frozenset[str] | None = None,
) -> Report:
    """Return what the comparison of named results with the first of them shows; found: what `changes` returns.

    prismatic: names of the joints that slide; None where that is not known: then friction has "SI" for its unit.
    """
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
    sections = [Section("change", "What changed", (Block(drawings=tuple(_differences(named, found))),))]
    if frictions:
        curves = Block(drawings=tuple(_curves(named, prismatic)))
        sections.append(Section("friction", "Friction", (curves, *frictions)))
    return Report(
        title=f"{named[0][1].robot}: {' against '.join(name for name, _ in named)}",
        verdict=judgement(named[0][0], found),
        cards=tuple(card for c in found for card in _cards(c)),
        sentences=tuple(sentences(named[0][0], found, prismatic)),
        note=_RULE,
        sections=(*sections, Section("all", "All of it", (*compared, *about))),
    )


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


def _differences(named: Sequence[tuple[str, Estimate]], found: Sequence[Change]) -> Iterator[Picture]:
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
            yield drawn.called(f"change_{k}", f"Differences of {c.name} from {named[0][0]} in standard errors")


def _curves(named: Sequence[tuple[str, Estimate]], slides: frozenset[str] | None) -> Iterator[Picture]:
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
            yield drawn.called(f"friction_{j + 1}", f"Friction of {joint} over velocity in each result")


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


_FLEET_RULE = (
    "A robot stands out where chance does not set a parameter so far from the median of all robots, with at most one"
    " false alarm in a hundred pages; it has drifted where chance does not set it so far from the earlier table."
)
_DRAWN, _TOLD, _ROWS, _NAMED = 12, 5, 200, 3
_TICKS = 16  # names below a picture


def gather_fleet(
    title: str, table: pd.DataFrame, failed: Mapping[str, str], *, against: str | Path | None = None, command: str = ""
) -> Report:
    """Return what the page of a fleet's table (`ident.compare.difference.compared`) shows.

    failed: robots that could not be fitted, and why; against: the earlier table.
    """
    out, moved = (table[table[which]] for which in ("stands_out", "drifted"))
    robots = int(table["robot"].nunique())
    counts = int(out["robot"].nunique()), int(moved["robot"].nunique())
    sections = [Section("out", "Who stands out", tuple(_blocks(table, out, "deviation")))]
    if against is not None:
        sections.append(Section("drift", "Drift", (Block(table=_rows("Drifted", moved, "drift")),)))
    if failed:
        lost = text.table("Not fitted", ("robot", "why"), list(failed.items()), ["bad"] * len(failed))
        sections.append(Section("failed", "Not fitted", (Block(table=lost),)))
    about = text.table("Provenance", ("what", "value"), [("command", command or text.MISSING)])
    every = Block(table=_summary(table)), Block(table=about, opened=False)
    sections.append(Section("all", "All of it", every))
    cards = [
        Card("robots", str(robots), f"of {robots + len(failed)} fitted", "bad" if failed else "good"),
        Card("stand out", str(counts[0]), "from the others", "unknown" if counts[0] else "good"),
    ]
    if against is not None:
        cards.append(Card("drifted", str(counts[1]), f"since {Path(against).name}", "unknown" if counts[1] else "good"))
    verdicts = table.drop_duplicates("robot")["verdict"].value_counts()
    cards += [Card(str(said).lower(), str(count), f"of {robots} robots") for said, count in verdicts.items()]
    return Report(
        title=title,
        verdict=_judgement(robots, counts, failed),
        cards=tuple(cards),
        sentences=tuple(farthest(out, "deviation")) + tuple(farthest(moved, "drift")),
        note=_FLEET_RULE,
        elsewhere="fleet.parquet has their numbers",
        sections=tuple(sections),
    )


def _judgement(robots: int, counts: tuple[int, int], failed: Mapping[str, str]) -> Judgement:
    lost = f" {plural(len(failed), 'robot')} could not be fitted." if failed else ""
    if not any(counts):
        return Judgement("unknown" if failed else "good", "Nothing stands out", f"{robots} robots are alike.{lost}")
    found = [f"{n} {what}" for n, what in zip(counts, ("stand out", "have drifted"), strict=True) if n]
    return Judgement("unknown", "Look at these", f"Of {robots} robots, {' and '.join(found)}.{lost}")


def farthest(rows: pd.DataFrame, off: str) -> Iterator[str]:
    """Yield what is farthest off, of each robot the worst; off: "deviation" or "drift"."""
    reference, of = ("median", "the fleet's") if off == "deviation" else ("earlier", "its earlier")
    worst = _worst(rows, off).drop_duplicates("robot")
    for row in worst.head(_TOLD).to_dict("records"):
        size = f"{abs(row[off]):.1f} {'spreads' if off == 'deviation' else 'standard errors'}"
        yield (
            f"'{row['robot']}': {row['parameter']} is {text.number(row['value'])} {row['unit']}, {of}"
            f" {text.number(row[reference])} ({size} off)."
        )
    if len(worst) > _TOLD:
        yield f"{len(worst) - _TOLD} more robots; see the table."


def _worst(rows: pd.DataFrame, off: str) -> pd.DataFrame:
    return rows.reindex(rows[off].abs().sort_values(ascending=False, kind="stable").index)


def _blocks(table: pd.DataFrame, out: pd.DataFrame, off: str) -> Iterator[Block]:
    """Yield the pictures of the parameters in which robots are farthest off, and who stands out in which."""
    first = _worst(out, off)["parameter"].tolist() + _worst(table[table[off].notna()], off)["parameter"].tolist()
    drawn = tuple(drawing(table, name) for name in list(dict.fromkeys(first))[:_DRAWN])
    more = "Each parameter over the robots with its 95 % interval, those first in which a robot is farthest off."
    yield Block(words=more if drawn else "Too few robots to say what is usual.", drawings=drawn)
    yield Block(table=_rows("Who stands out", out, off))


def drawing(table: pd.DataFrame, parameter: str) -> Picture:
    """Return a parameter of each robot with its interval over the robots in their order; who stands out is apart.

    The farthest are named; of more than sixteen robots not all are named below the axis.
    """
    rows = table[(table["parameter"] == parameter) & (table["standard_error"] > 0)]
    wide = {dof: float(half_widths(1.0, max(int(dof), 1))) for dof in rows["dof"].unique()}
    half = (rows["standard_error"] * rows["dof"].map(wide)).to_numpy()
    y, strange, names = rows["value"].to_numpy(), rows["stands_out"].to_numpy(dtype=bool), rows["robot"].tolist()
    median, spread, unit = rows.iloc[0][["median", "spread", "unit"]]
    x, many = np.arange(len(y), dtype=float), len(y) > 200
    marks: list[Mark] = [Strip("y", median - spread, median + spread, PALE, "spread", opacity=0.6)]
    for chosen, colour, label in ((~strange, MEASURED, "robot ± 95 %"), (strange, RED, "stands out")):
        if chosen.any():
            ends = np.column_stack([y - half, y + half, np.full(len(y), np.nan)])[chosen].ravel()
            marks.append(Line(np.repeat(x[chosen], 3), ends, colour, label, 0.8 if many else 1.6))
            marks.append(Dots(x[chosen], y[chosen], colour, size=2.0 if many else 4.0))
    marks.append(Strip("y", median, median, BLUE, "median"))
    for k in sorted(np.flatnonzero(strange).tolist(), key=lambda k: -abs(y[k] - median))[:_NAMED]:
        side: Literal["left", "right"] = "left" if k > 0.75 * len(x) else "right"
        marks.append(Note(float(k), float(y[k]), short(names[k], 16), RED, side))
    ticks = tuple((float(k), short(names[k], 16)) for k in range(0, len(names), -(-len(names) // _TICKS)))
    across = Axis("robot", limits=(-0.02 * len(x) - 0.5, 1.02 * len(x) - 0.5), ticks=ticks, named=True)
    told = f"{strange.sum()} of {len(y)} robots stand out" if strange.any() else f"{len(y)} robots are alike"
    panel = Panel(across, Axis(short(parameter, 20), unit), tuple(marks), 250.0)
    about = f"{parameter} of each robot with its interval of 95 %, the median of all and their spread"
    name = f"fleet_{parameter.replace('.', '_')}"
    return Picture(f"{short(parameter)}: {told}", (panel,)).called(name, about)


def _rows(title: str, rows: pd.DataFrame, off: str) -> Table:
    reference, counted = ("median", "spreads off") if off == "deviation" else ("earlier", "standard errors off")
    shown = _worst(rows, off).head(_ROWS)
    cells: dict[str, Iterable[str]] = {
        **{name: shown[name] for name in ("robot", "parameter", "unit")},
        "value ± 95 %": map(text.with_error, shown["value"], 1.96 * shown["standard_error"]),
        reference: map(text.number, shown[reference]),
        counted: map(text.signed, shown[off]),
        "the robot's fit": shown["verdict"],
    }
    more = f", the first {_ROWS} of {len(rows)}" if len(rows) > _ROWS else ""
    return text.by_column(title + more, cells, ["bad"] * len(shown))


def _summary(table: pd.DataFrame) -> Table:
    """Return a row for each parameter: median, spread, usual standard error, and the two ends."""
    cells = []
    for name, rows in table.groupby("parameter", sort=False):
        known = rows[rows["standard_error"] > 0]
        ends = (known["value"].min(), known["value"].max())
        usual = (rows["median"].iloc[0], rows["spread"].iloc[0], known["standard_error"].median())
        numbers = [text.number(float(x)) if np.isfinite(x) else text.MISSING for x in (*usual, *ends)]
        cells.append(
            (str(name), str(rows["unit"].iloc[0]), str(len(known)), *numbers, str(int(rows["stands_out"].sum())))
        )
    columns = ("parameter", "unit", "robots", "median", "spread", "standard error", "least", "greatest", "stand out")
    return text.table("All parameters", columns, cells)
