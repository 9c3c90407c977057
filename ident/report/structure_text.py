"""What a choice of joint terms found, as a table and in sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ident.errors import plural
from ident.report.text import Table, percent, table

if TYPE_CHECKING:
    from ident.structure import Selection


def tried_rows(found: Selection) -> Table:
    """Return each candidate with what it takes from the left-out error, its standard error, and why it is not taken."""
    rows = [
        (t.candidate.words, f"{100 * t.gain:+.1f} %", f"{100 * t.error:.1f} %", t.reason or "taken")
        for t in found.tried
    ]
    tones = ["good" if not t.reason else "" for t in found.tried]
    return table("Terms tried", ("candidate", "gain", "standard error", "taken, or why not"), rows, tones)  # type: ignore[arg-type]


def selection_sentences(found: Selection) -> list[str]:
    """Return what the choice rests on, and what it is worth."""
    if found.note:
        return [f"Nothing was tried: {found.note}."]
    said = [f"Judged on {plural(found.segments, 'short segment')} left out in {plural(found.folds, 'part')}."]
    if not found.terms:
        return [*said, f"No term is worth it: {percent(found.before)} of the torque is missed with the model as it is."]
    return [
        *said,
        f"Missed of the torque that is left out: {percent(found.before)} before, {percent(found.after)} with the terms"
        f" that are taken, {percent(found.honest)} where they are chosen without what they are judged on.",
    ]
