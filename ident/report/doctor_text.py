"""What is wrong with CAD tables, robot files and logs, in sentences."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ident.cad.table import Cad
from ident.compare.causes.tables import changed_by, in_units_of
from ident.compare.doctor import TOLERANCES, Diagnosis

if TYPE_CHECKING:
    from ident.compare.causes.causes import Cause, Examination
    from ident.estimate.interval import Intervals

_SHOWN = 10  # numbers of one fault
_FELT = 0.05  # of its error is a change of a joint's error that is shown


def examination_sentences(found: Examination, files: Mapping[str, str], fitted: Sequence[str]) -> list[str]:
    """Return what is wrong with an experiment, by its odds; causes begin with PROBLEM, ordinary ones with note.

    files: names of the files that a mistake may be "in": robot, log, model, table; fitted: recordings.
    """
    robot, log = files["robot"], files["log"]
    left_out = f"stretches of {', '.join(fitted)} that are left out"
    said = [f"{found.asked} mistakes in {robot}, {log} and [model] weighed on {left_out}"]
    if found.table is not None:
        later = "and those of {} by what the torques say" if found.table else "{} is examined once that is mended"
        said[0] += f"; {later.format(files['table'])}"
    for cause in found.causes:
        said += _cause(cause, files[cause.mistake.file], robot)
    if not found.causes:
        said.append("none of them explains the torques better than the files as they are")
    would = "would then be" if any(c.mistake.file != "table" for c in found.causes) else "is"
    said.append(f"{100 * found.error:.3g} % of the torque {would} missed on stretches left out")
    return said


def odds_in_words(log_odds: float) -> str:
    """Return natural logarithms of odds as a person would say them."""
    power = log_odds / math.log(10.0)
    if power < math.log10(3.0):
        return "It is hardly more likely than that nothing is wrong."
    if power >= 9.0:
        return "The odds are more than a thousand million to one."
    rounded = float(f"{10.0**power:.1g}")
    return f"The odds are {rounded:,.0f} to one."


def lines_in(mend: str) -> str:
    """Return the lines of a file that a remedy names, as they are pasted; "" where it names none."""
    named = re.search(r"((?:`[^`]+`(?: and )?)+) below (\[\w+\])", mend)
    lines = re.findall(r"`(\w+ = [^`]+)`", named[1] if named else mend)
    return "\n".join([named[2], *lines] if named else lines)


def _cause(cause: Cause, file: str, robot: str) -> list[str]:
    odds = f"odds 10^{min(cause.log_odds / 2.302585, 999):.0f} to 1"
    of = "what CAD predicts misses" if cause.by_table else "error on stretches left out"
    before, after = (f"{100 * x:.3g} %" for x in (cause.before, cause.after))
    missed = f"{of} {before}, without that {after}; " if before != after else ""
    decides = [f"    what decides: `ident excite {robot} --after . --decide`, and that motion's log"]
    return [
        f"{_head(cause.ordinary, cause.asserted)}: {cause.where}: {cause.what}",
        f"    {missed}{odds}",
        f"    {_joints(cause)}",
        *(f"    cannot be told apart from: {rival}" for rival in cause.rivals[:_SHOWN]),
        f"    {file}: {cause.mend}",
        *(decides if cause.pair else []),
    ]


def _head(slight: bool, asserted: bool) -> str:
    return "note, of an ordinary size" if slight else "PROBLEM" if asserted else "PROBLEM, of several possible"


def _joints(cause: Cause) -> str:
    """Return which joints' errors change without a mistake, those that change most first."""
    joints = list(zip(cause.joints, cause.joints_before, cause.joints_after, strict=True))
    changed = sorted(((name, a, b) for name, a, b in joints if abs(a - b) > _FELT * a), key=lambda x: x[2] - x[1])
    told = [f"{name} {_short(a)} -> {_short(b)}" for name, a, b in changed]
    if len(told) < len(joints):
        told.append("the others as before" if told else f"no error changes by {100 * _FELT:g} % of itself")
    return f"joint by joint: {', '.join(told)}"


def _short(share: float) -> str:
    """Return a share in percent with two digits."""
    return f"{100 * share:.0f} %" if share >= 0.1 else f"{100 * share:.2g} %"


def diagnosis_sentences(diagnosis: Diagnosis, cad: Cad) -> list[str]:
    """Return what the doctor says of a table; mistakes begin with PROBLEM, numbers are in the table's own units."""
    before, after = diagnosis.deviation
    share = f"{100 * diagnosis.tolerance:.2g} %"
    found = [
        f"{cad.source}: {diagnosis.combinations} combinations that the logs determine and CAD states",
        f"differences in standard deviations (of the fit and a tolerance of {share}{_learnt(diagnosis)}): "
        f"{before:.3g} as given, {after:.3g} without what was found",
    ]
    if not diagnosis.faults:
        found.append("no mistake of the list is shown")
        if _beyond(diagnosis):
            said = f"yet the differences are larger than numbers that are right within {share} would have them"
            if diagnosis.learnt is None:
                found.append(f"{said}; without --tolerance it is learnt from the logs, which shows more")
            else:
                found.append(f"{said}: the table as a whole is off by more, no single number stands out")
    for fault in diagnosis.faults:
        found.append(f"{_head(fault.slight, fault.asserted)}: {fault.where}: {fault.what}")
        found += [f"    {fault.sure}", f"    {fault.evidence}"]
        changed = changed_by(fault)
        shown = changed[:_SHOWN]
        found += [f"    {in_units_of(cad, *numbers)}" for numbers in shown]
        if len(changed) > len(shown):
            found.append(f"    and {len(changed) - len(shown)} more numbers")
    for u in diagnosis.undecidable:
        found.append(f"cannot be decided: {u.where}: {', '.join(u.kinds)}; {u.why}")
    return found + [f"note: {note}" for note in diagnosis.notes]


def freed_sentences(diagnosis: Diagnosis) -> list[str]:
    """Return which links are freed from the table, and why."""
    solid, mean = "a solid body's of its size", "the mean of what it may be, by its odds"
    return [
        f"PROBLEM: {link} is freed from the table: {why}; what the logs leave open of it is "
        f"{mean if link in diagnosis.left else solid}"
        for link, why in diagnosis.unknown.items()
    ]


def interval_sentences(allowed: Intervals) -> list[str]:
    """Return what the table of intervals holds."""
    said = [
        f"intervals.csv: the truth lies in all intervals at once with {100 * allowed.level:.3g} % confidence; an "
        "end that is left out is open; tensors are about the links' origins"
    ]
    if allowed.excess > 1:
        said.append(
            "no links that can exist explain the logs within their noise, so that the intervals may be too narrow"
        )
    return said


def _learnt(diagnosis: Diagnosis) -> str:
    """Return where the tolerance comes from, in words; nothing for one that was given."""
    if diagnosis.learnt is None:
        return ""
    low, high = diagnosis.learnt
    ends = f"{100 * low:.2g} to {100 * high:.2g} %"
    if low == TOLERANCES[-1]:
        ends = "that or more"
    elif high == TOLERANCES[0]:
        ends = "that or less"
    return f", learnt from the logs: {ends}"


def _beyond(diagnosis: Diagnosis) -> bool:
    """Return whether CAD's differences are larger than in one right table of a thousand."""
    from scipy.special import chdtri

    d = diagnosis.combinations
    return bool(d and d * diagnosis.deviation[0] ** 2 > chdtri(d, 0.001))
