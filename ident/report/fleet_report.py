"""The page of a fleet: which robots stand out, which have drifted, who could not be fitted, and each parameter."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from ident.errors import plural
from ident.estimate.covariance import half_widths
from ident.report import text
from ident.report.figures import BLUE, MEASURED, PALE, RED
from ident.report.page import write
from ident.report.parts import Block, Card, Drawing, Report, Section, pictured
from ident.report.picture import Axis, Dots, Line, Mark, Note, Panel, Picture, Strip, short
from ident.report.text import Table
from ident.report.verdict import Judgement

if TYPE_CHECKING:
    import pandas as pd

_RULE = (
    "A robot stands out where chance does not set a parameter so far from the median of all robots, with at most one"
    " false alarm in a hundred pages; it has drifted where chance does not set it so far from the earlier table."
)
_DRAWN, _TOLD, _ROWS, _NAMED = 12, 5, 200, 3
_TICKS = 16  # names below a picture


def write_fleet(
    path: str | Path,
    title: str,
    table: pd.DataFrame,
    failed: Mapping[str, str],
    *,
    against: str | Path | None = None,
    command: str = "",
) -> Path:
    """Write the page of a fleet's table (`ident.compare.difference.compared`) to `path`, whole or not at all.

    failed: robots that could not be fitted, and why; against: the earlier table. Raises InputError where the file
    cannot be written.
    """
    out, moved = (table[table[which]] for which in ("stands_out", "drifted"))
    robots = int(table["robot"].nunique())
    counts = int(out["robot"].nunique()), int(moved["robot"].nunique())
    sections = [Section("out", "Who stands out", tuple(_blocks(table, out, "deviation")), "stands out")]
    if against is not None:
        sections.append(Section("drift", "Drift", (Block(table=_rows("Drifted", moved, "drift")),), "drift"))
    if failed:
        lost = text.table("Not fitted", ("robot", "why"), list(failed.items()), ["bad"] * len(failed))
        sections.append(Section("failed", "Not fitted", (Block(table=lost),), "not fitted"))
    about = text.table("Provenance", ("what", "value"), [("command", command or text.MISSING)])
    every = Block(table=_summary(table)), Block(table=about, opened=False)
    sections.append(Section("all", "All of it", every, "all"))
    cards = [
        Card("robots", str(robots), f"of {robots + len(failed)} fitted", "bad" if failed else "good"),
        Card("stand out", str(counts[0]), "from the others", "unknown" if counts[0] else "good"),
    ]
    if against is not None:
        cards.append(Card("drifted", str(counts[1]), f"since {Path(against).name}", "unknown" if counts[1] else "good"))
    verdicts = table.drop_duplicates("robot")["verdict"].value_counts()
    cards += [Card(str(said).lower(), str(count), f"of {robots} robots") for said, count in verdicts.items()]
    report = Report(
        title=title,
        verdict=_judgement(robots, counts, failed),
        cards=tuple(cards),
        sentences=tuple(sentences(out, "deviation")) + tuple(sentences(moved, "drift")),
        note=_RULE,
        sections=tuple(sections),
    )
    return write(report, Path(path))


def _judgement(robots: int, counts: tuple[int, int], failed: Mapping[str, str]) -> Judgement:
    lost = f" {plural(len(failed), 'robot')} could not be fitted." if failed else ""
    if not any(counts):
        return Judgement("unknown" if failed else "good", "Nothing stands out", f"{robots} robots are alike.{lost}")
    found = [f"{n} {what}" for n, what in zip(counts, ("stand out", "have drifted"), strict=True) if n]
    return Judgement("unknown", "Look at these", f"Of {robots} robots, {' and '.join(found)}.{lost}")


def sentences(rows: pd.DataFrame, off: str) -> Iterator[str]:
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


def drawing(table: pd.DataFrame, parameter: str) -> Drawing:
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
    return pictured(name, about, Picture(f"{short(parameter)}: {told}", (panel,)))


def _rows(title: str, rows: pd.DataFrame, off: str) -> Table:
    reference, counted = ("median", "spreads off") if off == "deviation" else ("earlier", "standard errors off")
    shown = _worst(rows, off).head(_ROWS)
    cells = [
        (
            row["robot"],
            row["parameter"],
            row["unit"],
            text.with_error(row["value"], 1.96 * row["standard_error"]),
            text.number(row[reference]),
            text.signed(row[off]),
            row["verdict"],
        )
        for row in shown.to_dict("records")
    ]
    more = f", the first {_ROWS} of {len(rows)}" if len(rows) > _ROWS else ""
    columns = ("robot", "parameter", "unit", "value ± 95 %", reference, counted, "the robot's fit")
    return text.table(title + more, columns, cells, ["bad"] * len(cells))


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
