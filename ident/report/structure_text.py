"""What a choice of joint terms found, as a table and in sentences."""

from __future__ import annotations

from ident.errors import plural
from ident.estimate.estimate import Structure, TriedTerm
from ident.report.text import Table, Tone, percent, table


def tried_rows(found: Structure) -> Table:
    """Return each candidate with what it takes from the left-out error, its standard error, and why it is not taken."""
    rows = [(t.candidate, f"{100 * t.gain:+.1f} %", f"{100 * t.error:.1f} %", t.reason or "taken") for t in found.tried]
    tones: list[Tone] = ["" if t.reason else "good" for t in found.tried]
    return table("Terms tried", ("candidate", "gain", "standard error", "taken, or why not"), rows, tones)


def selection_sentences(found: Structure) -> list[str]:
    """Return what the choice rests on, and what it is worth."""
    if found.note:
        return [f"Nothing was tried: {found.note}."]
    said = [f"Judged on {plural(found.segments, 'short segment')} left out in {plural(found.folds, 'part')}."]
    if not found.lines:
        said.append(f"No term is worth it: {percent(found.before)} of the torque is missed with the model as it is.")
        return [*said, *given_up(found)]
    return [
        *said,
        f"Missed of the torque that is left out: {percent(found.before)} before, {percent(found.after)} with the terms"
        f" that are taken, {percent(found.honest)} where they are chosen without what they are judged on.",
    ]


def way_to(found: Structure) -> list[TriedTerm]:
    """Return the terms that were taken one after the other, also those that were given up at the end."""
    return [tried for step in found.steps for tried in step if not tried.reason]


def given_up(found: Structure) -> list[str]:
    """Return a sentence on terms that were taken on the way and not in the end, where that is so of all."""
    on_the_way = [] if found.lines else [t.candidate for t in way_to(found)]
    why = dict.fromkeys(t.reason for t in found.tried if t.candidate in on_the_way)
    names = " and ".join(on_the_way)
    return [f"Taken on the way and given up: {names}; {'; '.join(why)}."] if on_the_way else []
