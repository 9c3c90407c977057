"""What a designed motion will be worth and what is proven of it: tables and sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from ident.arrays import Array
from ident.errors import plural
from ident.excitation.information import Worth
from ident.excitation.limits import Guarantee
from ident.report.text import MISSING, Table, Tone, number, percent, table, unit

Promise = Literal["well", "roughly", "weakly", "shown", "not shown"]
WELL = 0.1  # of the CAD value: up to this error a parameter counts as well determined
_NO_SIZE = 1e-9  # a CAD value below this share of the error is a zero, and nothing to compare with

#: Verdict on a base parameter: its predicted error against its CAD value.
PROMISES: dict[Promise, str] = {
    "well": "error up to 10 % of the CAD value",
    "roughly": "error up to the CAD value",
    "weakly": "error above the CAD value",
    "shown": "no CAD value to compare with",
    "not shown": "hidden by this motion",
}
_TONES: dict[Promise, Tone] = {"well": "good", "roughly": "", "weakly": "unknown", "shown": "", "not shown": "bad"}
_KINDS = ("position", "velocity", "acceleration", "jerk", "torque", "total power", "clearance")
_LONGEST = 12  # names in a sentence


def relative_errors(worth: Worth) -> Array:
    """Return predicted error / |CAD value| (b,); NaN where CAD gives none, or zero; infinite where nothing is shown."""
    if worth.values is None:
        return np.where(np.isinf(worth.errors), np.inf, np.nan)
    size = np.abs(worth.values)
    size = np.where(size > _NO_SIZE * np.where(np.isinf(worth.errors), 0.0, worth.errors), size, np.nan)
    return np.where(np.isinf(worth.errors), np.inf, worth.errors / size)


def promises(worth: Worth) -> tuple[Promise, ...]:
    """Return the verdict on each base parameter, as PROMISES explains them."""
    relative = relative_errors(worth)
    steps = [np.isnan(relative), np.isinf(relative), relative <= WELL, relative <= 1.0]
    return tuple(np.select(steps, ["shown", "not shown", "well", "roughly"], "weakly").tolist())


def worth_table(worth: Worth, prismatic: frozenset[str] = frozenset()) -> Table:
    """Return one row per base parameter: CAD value, predicted standard error, verdict, combination.

    prismatic: names of the joints that slide, for the units.
    """
    found = promises(worth)
    rows = [
        (
            name,
            unit(name, prismatic),
            MISSING if worth.values is None else number(float(worth.values[k])),
            "not shown" if found[k] == "not shown" else number(float(worth.errors[k]), 3),
            f"{relative:.3g} times" if 10.0 <= relative < np.inf else percent(float(relative)),
            found[k],
            worth.base.expression(k),
        )
        for k, (name, relative) in enumerate(zip(worth.base.names, relative_errors(worth), strict=True))
    ]
    columns = ("base parameter", "unit", "CAD", "predicted standard error", "of the CAD value", "shown", "combination")
    return table("What the motion will be worth", columns, rows, [_TONES[p] for p in found])


def guarantees_table(guarantees: Sequence[Guarantee]) -> Table:
    """Return one row per guarantee: what, reached, limit, spare, method; each kind's nearest to its limit first.

    Spare is a share of the limit; for positions, of the joint's range; for clearances, a length beyond what is wanted.
    """
    found = sorted(((g, *_spare(g, guarantees)) for g in guarantees), key=lambda one: (_kind(one[0]), one[1]))
    rows = []
    for g, _, spare in found:
        shown = raised(g.unit)
        wanted = "at least" if g.at_least else "at most"
        rows.append((g.what, f"{g.reached:.4g} {shown}", f"{wanted} {g.limit:.4g} {shown}", spare, g.method))
    tones: list[Tone] = ["" if g.holds else "bad" for g, *_ in found]
    return table("Proven at every instant", ("what", "reached", "limit", "spare", "method"), rows, tones)


def raised(units: str) -> str:
    """Return units with their powers as raised digits."""
    return units.replace("^2", "²").replace("^3", "³")


def worth_sentences(worth: Worth) -> list[str]:
    """Return what the motion will show, and what it will not and why: structure, or limits and too short a motion."""
    found = promises(worth)
    total = len(found)
    told = []
    if worth.values is None:
        told.append(f"The motion shows {total - found.count('not shown')} of {total} base parameters.")
    else:
        told.append(
            f"The motion determines {found.count('well')} of {total} base parameters to within a tenth of their CAD "
            f"values, and {found.count('roughly')} more to within the values themselves."
        )
        weak = [name for name, p in zip(worth.base.names, found, strict=True) if p == "weakly"]
        if weak:
            told.append(
                f"Weakly determined, with an error above the CAD value: {_some('base', weak)}. Larger or longer "
                "motion, more periods or less noise would help, where the limits allow it."
            )
        if "shown" in found:
            told.append(f"Without a CAD value, or with a zero, to compare the error with: {found.count('shown')}.")
    if worth.hidden:
        told.append(
            "Hidden in this motion, though another could show them (limits keep joints from moving enough, or there "
            f"are too few harmonics): {_some('base', worth.hidden)}."
        )
    if worth.structural:
        told.append(
            "Never shown, whatever the motion, because no torque of this robot depends on them: "
            f"{_some('standard', worth.structural)}."
        )
    if worth.combined:
        told.append(
            "Shown only in combinations with others, whatever the motion, because of how the joints are arranged (the "
            f"column 'combination' of the table has them): {_some('standard', worth.combined)}."
        )
    told.append(
        "Predicted errors hold for torque noise that is independent from sample to sample, and for a model that is "
        "right: they are the least that can be expected."
    )
    return told


def _some(kind: str, names: Sequence[str]) -> str:
    """Return how many parameters of a kind there are, and the names of the first."""
    more = f" and {len(names) - _LONGEST} more" if len(names) > _LONGEST else ""
    return f"{plural(len(names), f'{kind} parameter')}, {', '.join(names[:_LONGEST])}{more}"


def _kind(g: Guarantee) -> int:
    what = g.what.removeprefix("least ").removeprefix("greatest ")
    return next((k for k, kind in enumerate(_KINDS) if what.startswith(kind)), len(_KINDS))


def _spare(g: Guarantee, guarantees: Sequence[Guarantee]) -> tuple[float, str]:
    """Return what is left up to the limit, as a number to sort by and in words."""
    left = g.reached - g.limit if g.at_least else g.limit - g.reached
    bare = g.what.removeprefix("least ").removeprefix("greatest ")
    if bare != g.what:  # one end of a range
        other = next((x for x in guarantees if x is not g and x.what.endswith(bare)), None)
        if other is not None:
            share = left / abs(g.limit - other.limit)
            return share, f"{100 * share:.3g} % of the range"
    elif g.limit != 0 and not g.at_least:
        return left / abs(g.limit), f"{100 * left / abs(g.limit):.3g} %"
    return left, f"{1e3 * left:.3g} mm" if g.unit == "m" else f"{left:.3g} {g.unit}"


def gain_sentence(before: Worth, after: Worth) -> str:
    """Return what the motion adds to the logs already taken."""
    shown = np.isfinite(before.errors) & np.isfinite(after.errors)
    new = len(before.hidden) - len(after.hidden)
    told = f"The logs alone do not show {len(before.hidden)} of {len(shown)} base parameters"
    told += f"; with this motion {new} more are shown." if before.hidden else "."
    if shown.any():
        old, now = before.errors[shown], after.errors[shown]
        names = np.array(before.base.names)[shown]
        least, worst = int(np.argmin(old / now)), int(np.argmax(old))
        told += (
            f" Of the others the worst predicted error, of {names[worst]}, falls from {old[worst]:.3g} to "
            f"{now[worst]:.3g}, {old[worst] / now[worst]:.3g} times less, and the worst of all is now {now.max():.3g}, "
            f"of {names[int(np.argmax(now))]}; errors fall {np.median(old / now):.3g} times in the median, and "
            f"{old[least] / now[least]:.3g} times at least ({names[least]})."
        )
    return told
