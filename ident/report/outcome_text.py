"""What a choice of joint terms, a calibration and the searches for a load and for what is wrong with CAD tables, robot
files and logs found: tables, sentences, lines to paste.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ident.cad.table import Cad
from ident.compare.causes.tables import changed_by, in_units_of
from ident.compare.doctor import TOLERANCES, Diagnosis
from ident.errors import plural
from ident.estimate import Estimate
from ident.estimate.estimate import FittedShape, NamedCause, Structure, TriedTerm
from ident.logs.manifest import RAW, kind_of
from ident.model.terms import kinds
from ident.report.text import MISSING, Table, Tone, number, percent, table, with_error
from ident.robot.unknown import SATURATIONS, Calibrated

if TYPE_CHECKING:
    from ident.compare.causes.causes import Cause, Examination
    from ident.estimate.interval import Intervals
    from ident.logs.manifest import Signal
    from ident.payload.drive_gains import DriveGains
    from ident.payload.payload import IdentifiedPayload, LoadedErrors, PayloadFigures
    from ident.robot import Robot


def tried_rows(found: Structure) -> Table:
    """Return each candidate with what it takes from the left-out error, its standard error, and why it is not taken."""
    rows = [(t.candidate, _percent(t.gain, "+.1f"), _percent(t.error, ".1f"), t.reason or "taken") for t in found.tried]
    tones: list[Tone] = ["" if t.reason else "good" for t in found.tried]
    return table("Terms tried", ("candidate", "gain", "standard error", "taken, or why not"), rows, tones)


def _percent(share: float, digits: str) -> str:
    return f"{100 * share:{digits}} %" if math.isfinite(share) else "n/a"


def selection_sentences(found: Structure) -> list[str]:
    """Return what the choice rests on, and what it is worth."""
    if found.note:
        return [f"Nothing was tried: {found.note}."]
    said = [f"Judged on {plural(found.segments, 'short segment')} left out in {plural(found.folds, 'part')}."]
    if not found.lines:
        said.append(f"No term is worth it: {percent(found.before)} of the torque is missed with the model as it is.")
        names = [tried.candidate for tried in way_to(found)]
        why = dict.fromkeys(tried.reason for tried in found.tried if tried.candidate in names)
        return [*said, *([f"Taken on the way and given up: {' and '.join(names)}; {'; '.join(why)}."] if names else [])]
    return [
        *said,
        f"Missed of the torque that is left out: {percent(found.before)} before, {percent(found.after)} with the terms"
        f" that are taken, {percent(found.honest)} where they are chosen without what they are judged on.",
        *map(shape_sentence, found.shapes),
    ]


def shape_sentence(shape: FittedShape) -> str:
    """Return a fitted number with its 95 % interval, or that the logs do not tell it."""
    values = " to ".join(f"{x:.3g}" for x in dict.fromkeys((min(shape.values), max(shape.values))))
    words = f"{shape.number} of {kinds()[shape.kind].words}"
    owners = sorted({name.rpartition(".")[0] for name in shape.parameters})
    at = f" at {', '.join(owners)}" if len(owners) < 4 else ""
    if not shape.told:
        return f"The logs do not tell the {words}{at}: {values} is taken."
    low, high = (math.exp(way * shape.half) - 1.0 for way in (-1, 1))
    return f"The {words}{at}: {values}, within {100 * low:+.3g} to {100 * high:+.3g} % at 95 %."


def way_to(found: Structure) -> list[TriedTerm]:
    """Return the terms that were taken one after the other, also those that were given up at the end."""
    return [tried for step in found.steps for tried in step if not tried.reason]


#: SI unit -> what is shown, and how many of it are one SI unit.
_SHOWN = {"rad": ("deg", 180.0 / math.pi), "m": ("mm", 1e3), "s": ("ms", 1e3), "1": ("", 1.0)}
_SHOWN |= {unit: (unit, 1.0) for unit in SATURATIONS}


#: Kind of an unknown -> what to write: of its name, value as shown, in SI, and owner.
_LINES = {
    "zero": "{0}: add {1} to its offset (a DH table: times its sign; a URDF has none: `offset` of the position in"
    " dataset.toml, in rad or m)",
    "length": "{0}: add {1}",
    "saturation": "dataset.toml, torque: saturation = {1} at {3}",
    "skew": "{0}: position_delay_s = {2:.4g} of that joint in [processing]",
}
_GRAVITY = (
    "robot.toml, instead of its gravity or mounting_rpy: gravity = [{}] (a URDF or MJCF has no tilt: a robot.toml"
    ' with this line and urdf = "FILE")'
)


def calibration_rows(estimate: Estimate) -> Table:
    """Return one row per unknown that was asked for: value, standard error, what is said of it."""
    rows = [(c.unknown.name, *_sized(c), c.said) for c in estimate.calibration]
    return table("Calibration", ("unknown", "value", "standard error", "said of it"), rows)


def shared_factor(found: Iterable[Calibrated], joints: int) -> str:
    """Return what no torque tells where the gains of all joints were asked for, "" where they were not."""
    if {c.unknown.joint for c in found if c.unknown.kind == "gain"} < set(range(joints)):
        return ""
    return (
        "All gains share one factor with all masses, inertias and frictions, which no torque tells: it is shared out by"
        " what was known of gains and bodies beforehand. The standard errors hold it; ratios of gains are known better."
    )


def lines_to_paste(
    found: Sequence[Calibrated], gravity: Sequence[float], gains: float | Sequence[float] = ()
) -> tuple[str, ...]:
    """Return what to write into the robot's file and dataset.toml so that the description itself is right.

    gravity (3,) [m/s^2]: of the robot, tilts taken out; gains: of the data set's torque, those found taken out.
    """
    told = [
        _LINES[c.unknown.kind].format(c.unknown.name, _sized(c)[0], c.value, c.unknown.name.rpartition(".")[0])
        for c in found
        if c.applied and c.unknown.kind in _LINES
    ]
    if any(c.applied and c.unknown.kind == "tilt" for c in found):
        told.insert(0, _GRAVITY.format(", ".join(f"{x:.6g}" for x in gravity)))
    if any(c.applied and c.unknown.kind == "gain" for c in found) and not isinstance(gains, float):
        told.append(f"dataset.toml, torque: gain = [{', '.join(f'{x:.6g}' for x in gains)}]")
    return tuple(told)


def _sized(found: Calibrated) -> tuple[str, str]:
    unit, share = _SHOWN[found.unknown.unit]
    error = number(found.error * share, 2) if math.isfinite(found.error) else ""
    return f"{number(found.value * share, 4)} {unit}".strip(), f"{error} {unit}".strip() if error else ""


def figures_rows(found: IdentifiedPayload, figures: PayloadFigures) -> Table:
    """Return mass, centre and tensor about it, each with its 95 % error."""
    told = [
        ("mass", figures.mass, figures.mass_error, "kg"),
        *((f"centre {axis}", *x, "m") for axis, *x in zip("xyz", figures.com, figures.com_error, strict=True)),
        *(
            (f"I{'xyz'[i]}{'xyz'[j]} about the centre", figures.inertia[i, j], figures.inertia_error[i, j], "kg m²")
            for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
        ),
    ]
    rows, tones = [], list[Tone]()
    for name, value, error, unit in told:
        half, given = float(figures.half_width(error)), found.known_mass and name == "mass"
        shown = f"{value:g} (given)" if given else with_error(value, half) if np.isfinite(half) else MISSING
        rows.append((name, shown, unit))
        tones.append("" if given or np.isfinite(half) else "unknown")
    return table("", ("number", "value ± 95 %", "unit"), rows, tones)


def gains_rows(gains: DriveGains, signal: Signal, robot: Robot) -> Table:
    """Return what each joint's torque, a `signal` of the data set, is to be multiplied by, and so its gain."""
    n = len(gains.joints)
    unit = (signal.unit,) * n if isinstance(signal.unit, str) else signal.unit
    given = np.broadcast_to(np.asarray(signal.gain, dtype=np.float64), n)
    rows = []
    for j, (joint, half) in enumerate(zip(gains.joints, gains.half_widths(), strict=True)):
        raw = kind_of(unit[j], "torque") == RAW
        factor, size = float(gains.scale[j]), float(given[j])
        told = with_error(factor * size, float(half) * abs(size)) if raw and np.isfinite(half) else "n/a"
        factors = with_error(factor, float(half)) if np.isfinite(half) else "n/a"
        own = f"{robot.units('torque')[j]}/{unit[j]}" if raw else ""
        rows.append((joint, factors, told, number(size) if raw else "n/a", own))
    columns = ("joint", "torque times ± 95 %", "drive gain ± 95 %", "given", "unit")
    return table(f"drive gains from a load of {gains.mass:g} kg", columns, rows)


def load_sentences(
    load: IdentifiedPayload, errors: Sequence[LoadedErrors], gain_error: float
) -> Iterator[tuple[str, Tone]]:
    """Yield what to make of a load: errors on recordings with it, then held-out ones; of drive gains in percent."""
    if not load.shows_mass:
        yield "These motions do not show the load's mass: move the joints that lift it.", "unknown"
    elif not load.seen:
        yield "No load is seen: the mass does not differ from zero, so there is no centre to speak of.", "unknown"
    else:
        edge = " The free fit could not, so it lies at the edge; error bars are those of the free fit." * load.edge
        yield f"This body can exist (its pseudo-inertia is positive semidefinite, exactly).{edge}", ""
    for e, what in zip(errors, ("fitted", "held-out"), strict=False):
        missed = f"{percent(e.with_load_total)} with the load, {percent(e.without_total)} without"
        yield f"Torque error on {what} {', '.join(e.recordings)}: {missed}.", ""
    if errors[1:]:
        yield ("Validation passed.", "good") if errors[1].passed else ("Validation failed.", "bad")
    segments = load.kind == "cluster-by-segment"
    how = "a jackknife over segments" if segments else "residuals taken as independent: too short"
    more = (
        ". They do not hold the drive gains: torques that are all 10 % too large make the load 10 % too heavy. Say how"
        " well the gains are known with --gain-error, or weigh the load: --known-mass."
    )
    if load.known_mass:
        more = ". The given mass is taken as exact."
    elif gain_error:
        more = f", and drive gains known to {gain_error:g} % each, their effects added up."
    yield f"Error bars: {how}{more}", ""


def load_by_joint(found: IdentifiedPayload, robot: Robot) -> Iterator[str]:
    """Yield by how much the mass changes with the gain of each joint."""
    parts = [
        f"{name} {100 * part / found.free[0]:.0f} %"
        for name, part in zip(robot.joint_names, found.by_joint[:, 0], strict=True)
        if abs(part) >= 0.005 * abs(found.free[0])
    ]
    if parts and found.seen:
        yield f"The mass comes from {', '.join(parts)}: so much does it change with the gain of each."


_LISTED = 10  # numbers of one fault
_FELT = 0.05  # of its error is a change of a joint's error that is shown


def examination_sentences(
    found: Examination, files: Mapping[str, str], fitted: Sequence[str], own: NamedCause | None = None
) -> list[str]:
    """Return what is wrong with an experiment, by its odds; causes begin with PROBLEM, ordinary ones with note.

    files: names of the files that a mistake may be "in": robot, log, model, table; fitted: recordings; own: its
    [model], where that is a mistake, and all else was examined beside the terms that the logs choose.
    """
    robot, log = files["robot"], files["log"]
    left_out = f"stretches of {', '.join(fitted)} that are left out"
    said = [f"{found.asked} mistakes in {robot}, {log} and [model] weighed on {left_out}"]
    if found.table is not None:
        later = "and those of {} by what the torques say" if found.table else "{} is examined once that is mended"
        said[0] += f"; {later.format(files['table'])}"
    if own is not None:
        before, after = (percent(x) for x in own.total)
        missed = f"    error on stretches left out {before}, without that {after}"
        said += [f"PROBLEM: {own.short}", missed, f"    {own.file}: {own.mend}"]
    for cause in found.causes:
        said += _cause(cause, files[cause.mistake.file], robot)
    if not found.causes:
        beside = "the files as they are" if own is None else "these terms do"
        said.append(f"none of them explains the torques better than {beside}")
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
        *(f"    cannot be told apart from: {rival}" for rival in cause.rivals[:_LISTED]),
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
        shown = changed[:_LISTED]
        found += [f"    {in_units_of(cad, *numbers)}" for numbers in shown]
        if len(changed) > len(shown):
            found.append(f"    and {len(changed) - len(shown)} more numbers")
    return found + _undecidable(diagnosis) + [f"note: {note}" for note in diagnosis.notes]


def _undecidable(diagnosis: Diagnosis) -> list[str]:
    """Return of each kind of mistake the links of which it cannot be decided, at all or in some of its ways."""
    whole, parts = defaultdict[str, list[str]](list), defaultdict[str, list[str]](list)
    for u in diagnosis.undecidable:
        for said in u.kinds:
            kind, partly, _ = said.partition(" (")
            (parts if partly else whole)[kind].append(u.where)
    found, n = [], len(diagnosis.corrected)
    for kind in dict.fromkeys([*whole, *parts]):
        each = ((how, of[kind]) for how, of in (("", whole), ("in part ", parts)) if of[kind])
        told = (how + ("every link" if len(links) == n > 1 else ", ".join(links)) for how, links in each)
        found.append(f"    {kind}: {'; '.join(told)}")
    head = "cannot be decided, as no motion of this fit shows it beyond CAD's tolerance, or it would change no number:"
    return [head, *found] if found else []


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
