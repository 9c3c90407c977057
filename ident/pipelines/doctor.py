"""An experiment examined: what is wrong with its robot file, its logs, its model or its CAD table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from ident.compare.causes.causes import RISEN, Cause, Examination, examined, of_table, with_table
from ident.compare.causes.geometries import described_by, geometries
from ident.compare.causes.lags import lag, lags_below
from ident.compare.causes.mistakes import BLURRED, LATE, STAMPED, WEIGHTLESS, mistakes
from ident.compare.causes.ordinary import Screened, screened, unreached
from ident.compare.causes.reading import Reading, rows_of
from ident.compare.causes.tables import Table, faults_told, scales_all, table_search
from ident.compare.causes.touches import ROBUST
from ident.compare.causes.weighing import Weigher
from ident.compare.doctor import Diagnosis
from ident.compare.doctor.doctor import exact_search
from ident.compare.doctor.hypotheses import OtherView, TorqueGain
from ident.compare.doctor.search import MARGIN
from ident.compare.doctor.words import WHOLE
from ident.errors import CadError, LogError
from ident.estimate import Estimate
from ident.estimate.estimate import NamedCause
from ident.estimate.prior import Prior, cad_prior
from ident.experiment import Experiment, read_experiment
from ident.logs.automatic import JUDGED, lagging
from ident.logs.check import CLOCK_OFF, tempo
from ident.logs.motion import Motion
from ident.logs.process import Processing
from ident.pipelines.loaded import Loaded, load
from ident.pipelines.own_model import chosen_instead
from ident.pipelines.select import with_terms
from ident.pipelines.stated_tables import stated_table
from ident.pipelines.steps import Result, Warned, first_parts, processing_of
from ident.pipelines.suspicions import (
    badly_predicted,
    beyond_limits,
    certain,
    guessed,
    harmless,
    heavy_drives,
    known_well,
    mirrored,
    suspicious,
    tied,
    vouched_for,
    worse_in_all,
)
from ident.regression import Regression
from ident.tell import Tell, logged

#: Log odds above it are not told apart.
_CERTAIN = 2000.0


@dataclass(frozen=True, eq=False)
class Examined:
    """An experiment with all that it names read, and what is wrong with it.

    own: its [model], where that is a gross mistake; the rest is what shows beside the terms that the logs choose then.
    """

    loaded: Loaded
    examination: Examination
    own: NamedCause | None = None


def doctor(experiment: Experiment | str | Path, tell: Tell = logged) -> Examined:
    """Weigh what may be wrong with an experiment's robot file, fitted logs, model and CAD table.

    Raises what `load` raises, CadError for a table that cannot be read, LogError for the logs.
    """
    experiment = experiment if isinstance(experiment, Experiment) else read_experiment(experiment)
    try:
        found = load(experiment)
    except CadError:  # a table that cannot exist is examined, no prior
        found = load(replace(experiment, cad="none"))
    other = chosen_instead(found, tell) if experiment.own_model else None
    gross = other if other is not None and other.gross else None
    loaded = with_terms(found, list[Warned](), tell) if gross is None else gross.loaded
    seen = examination(loaded, tell, table=stated_table(replace(loaded, experiment=experiment)))
    return Examined(loaded, seen, None if gross is None else gross.cause)


def contradicted(result: Result, table: Table) -> bool:
    """Return whether a known mistake in a table is likelier than the table as given, by the fit's factors."""
    if result.regression is None:
        return False
    search = table_search(result.loaded.model, result.regression, table)
    for each in (search, exact_search(search) or search):
        start = each.space.start(each.table)
        options = each.options(start)
        if options and options[0].score > each.score(start) + MARGIN:
            return True
    return False


def examination(
    loaded: Loaded,
    tell: Tell = logged,
    motions: Sequence[Motion] = (),
    *,
    kept: bool = False,
    table: Table | None = None,
) -> Examination:
    """Return what is wrong with a loaded experiment. Raises LogError where no recording has rows.

    motions: its fitted ones where they are at hand; kept: whether those for validation are examined, too; table: of
    CAD, where that is examined.
    """
    fit, judged = processing_of(loaded)
    names = loaded.experiment.fit + (loaded.experiment.validate if kept else ())
    processing, tempos = replace(fit, position_hz=judged.position_hz) if kept else fit, list[float]()
    given = motions or first_parts(loaded, names, processing, lambda log: tempos.append((tempo(log) or (0.0, 0))[0]))
    parts = [m for m in given if m.keep.any()]
    if not parts:
        raise LogError("no row of the fitted recordings is left", fix="Does the robot move? Check masks and window")
    others = geometries(loaded.experiment.robot, loaded.robot) if loaded.robot.transmission is None else {}
    robot = described_by(loaded.experiment.robot)
    timed = bool(tempos) and max(abs(x - 1.0) for x in tempos) < CLOCK_OFF
    counted = {r.time.rate_hz or 0.0 for r in loaded.manifest.recordings if r.name in names}
    rate_hz = counted.pop() if len(counted) == 1 else 0.0
    found = examined(loaded.model, parts, loaded.prior, others, tell, table, robot, timed=timed, rate_hz=rate_hz)
    locked = {joint: (f"{joint}: {what}",) for joint, what, _ in tied(loaded)}
    causes = tuple(replace(c, rivals=(*locked.get(c.where, ()), *c.rivals)) for c in found.causes)
    found = replace(found, causes=causes)
    return beside_loss(found) if loaded.experiment.loss == "huber" else found


def beside_loss(found: Examination, predicts: bool = False) -> Examination:
    """Return what is wrong where the loss is huber: it is not proposed again.

    predicts: whether motions never seen are predicted well; then touches, whose rows hardly count, are no causes.
    """
    said = (replace(c, mend=c.mend.removesuffix(ROBUST)) for c in found.causes)
    return replace(found, causes=tuple(c for c in said if not (predicts and c.mistake.kind == "touch")))


def _fitted(loaded: Loaded, processing: Processing | None = None) -> list[Motion]:
    """Return the fitted motions that have rows; processing: in place of that of the fit."""
    return [m for m in first_parts(loaded, loaded.experiment.fit, processing) if m.keep.any()]


def files_of(loaded: Loaded) -> dict[str, str]:
    """Return the name of each file that a mistake may be in."""
    e = loaded.experiment
    cad = e.cad if isinstance(e.cad, Path) else e.robot
    return {"robot": e.robot.name, "log": e.data.name, "model": e.file.name, "table": cad.name}


def causes_of(found: Examination, loaded: Loaded, *, terms: bool = True) -> tuple[NamedCause, ...]:
    """Return each cause that is no ordinary one; terms: also joint terms that the model lacks.

    Where a choice of terms has been made, or a [model] given, what is lacking shows in what is predicted; but one that
    takes most, and leaves less than half, is named alone: what is found beside it may be a matter of its shape.
    """
    worst = max(found.causes, key=lambda c: c.before - c.after, default=None)
    lacking = not terms and worst is not None and worst.mistake.kind == "term" and worst.after < LESS * worst.before
    given = (np.abs(np.broadcast_to(r.torque.gain, loaded.robot.n)) for r in loaded.manifest.recordings)
    scaled = max((np.sum(x != 1.0) for x in given if np.any(x == 1.0)), default=0)  # of all joints: the unit's own
    several = scaled + sum(c.mistake.kind in _SCALED for c in found.causes) > 1
    numbers = tuple(f"{where}: " for where in (WHOLE, *loaded.robot.links))
    return tuple(
        _named(c, loaded, several=several)
        for c in found.causes
        if not c.ordinary
        and (c is worst if lacking else terms or c.mistake.kind != "term")
        # the same numbers of CAD that ask for it may be off
        and not (c.by_table and c.mistake.file in ("robot", "log") and any(r.startswith(numbers) for r in c.rivals))
    )


def _named(cause: Cause, loaded: Loaded, *, several: bool = False) -> NamedCause:
    """Return a cause as an estimate keeps it; several: whether torques of several joints are to be multiplied."""
    return NamedCause(
        cause.where,
        cause.what,
        files_of(loaded)[cause.mistake.file],
        f"{cause.mend}; {_SCALE}" if several and cause.mistake.kind in _SCALED else cause.mend,
        cause.rivals,
        loaded.robot.joint_names,
        cause.joints_before,
        cause.joints_after,
        (cause.before, cause.after),
        min(cause.log_odds, _CERTAIN),
        cause.trace,
        cause.by_table,
    )


def with_bodies(
    loaded: Loaded, tell: Tell, seen: Examination | None = None
) -> tuple[Examination, tuple[NamedCause, ...]]:
    """Return what is wrong with robot file and logs if CAD's bodies are about right; what they lack is no cause.

    seen: an examination of them by the fitted recordings, where there is one.
    """
    table = stated_table(loaded)
    if seen is None:
        seen = examination(loaded, tell, table=table)
    elif seen.table is None and table is not None:
        seen = with_table(seen, loaded.model, _fitted(loaded), table)
    beside = replace(seen, causes=tuple(c for c in seen.causes if c.mistake.file != "table"))
    return seen, causes_of(beside, loaded, terms=False)


#: A term that leaves less than this share of the error is what the model lacks, whatever was chosen.
LESS = 0.5
#: Torques that have to be multiplied by something, and what to know of several.
_SCALED = ("torque gain", "gear")
_SCALE = (
    "torques of several joints are in no known unit (percent of what is rated?), and all of them known up to a factor:"
    " look the unit up, and write `guessed = true` beside gains that you have not"
)


@dataclass(frozen=True)
class Anew:
    """What to fit an experiment with once more: late torques [s], what CAD asks for at joints (joint and
    words -> evidence), and the prior of a CAD table without its mistakes.
    """

    late: float = 0.0
    springs: Mapping[tuple[str, str], str] = field(default_factory=dict)
    prior: Prior | None = None


def doctored(result: Result, tell: Tell) -> tuple[Estimate, tuple[Warned, ...], Anew | None]:
    """Return the estimate with what is wrong with the files, where the result looks like that, and what to know.

    A mistake in a CAD table that spoils neither bodies nor predictions is no reason to hold the result back. Where
    torques are late, and nothing else is wrong, joints have springs or the table's mistakes are sure: that, else None.
    """
    moved = _fitted(result.loaded)
    beyond = [*beyond_limits(result.loaded.robot, moved), *heavy_drives(result)]
    if guesses := list(guessed(result.loaded)):
        return replace(result.estimate, causes=certain(result, [*beyond, *guesses])), (), None
    estimate, warned, anew = _weighed(result, moved, tell)
    if estimate.causes and (own := _of_own_model(result.loaded, estimate.causes, tell)):
        return replace(estimate, causes=(own,)), (), None
    beyond += mirrored(result.loaded.robot, moved) if estimate.causes and moved else ()
    if beyond:  # whatever else seems wrong follows from it
        seen = tuple(c for c in estimate.causes if "position" in c.what)
        others = (c for c in estimate.causes if seen and c not in seen)
        return replace(estimate, causes=(*(seen or certain(result, beyond)), *others)), (), None
    if estimate.causes and (locked := list(tied(result.loaded))):
        leaders = {joint for joint, _, _ in locked}
        others = (c for c in estimate.causes if leaders.isdisjoint(c.where.split(" and ")))
        first = certain(result, locked, result.loaded.experiment.robot.name)
        return replace(estimate, causes=(*first, *others)), (), None
    return estimate, warned, anew


def _weighed(result: Result, motions: Sequence[Motion], tell: Tell) -> tuple[Estimate, tuple[Warned, ...], Anew | None]:
    """Return what `doctored` does where neither a guess nor a limit decides."""
    loaded, estimate = result.loaded, result.estimate
    slopes = screened(loaded.model, motions, loaded.prior) if motions else Screened(False, "")
    late = 1e3 * lagging(processing_of(loaded)[0])
    hidden = (
        "" if vouched_for(result) else slopes.hidden,
        unreached(loaded.robot, motions) if motions else "",
        f"whether positions are commanded ones, or torques filtered: they come {late:.2g} ms later" if late else "",
    )
    estimate = replace(estimate, hidden="; ".join(filter(None, hidden)))
    odd, table = suspicious(result) or slopes.odd, _doubted_table(result)
    if not odd:
        return _of_known_bodies(result, estimate, table, motions, tell)
    opposed = result.validation is not None and result.validation.opposed
    if opposed and table is None:  # the robot file's own bodies know more than ones that are free
        seen, found = with_bodies(loaded, tell)
        if found:
            return replace(estimate, causes=found), (), None
    beside = beside_loss if loaded.experiment.loss == "huber" else lambda x, _: x
    predicts = result.validation is not None and not worse_in_all(result)
    kept = badly_predicted(result)
    seen = beside(examination(loaded, tell, kept=kept, table=table), predicts)
    if not isinstance(loaded.experiment.cad, Path):  # a description's own bodies are rough, or placeholders, often
        seen = replace(seen, causes=tuple(c for c in seen.causes if c.mistake.file != "table" or c.asserted))
    found = causes_of(seen, loaded, terms=False)
    if not found and kept:  # what differs from one recording to the next may hide it
        seen = beside(examination(loaded, tell), predicts)
        found = causes_of(seen, loaded, terms=False)
    if not found and estimate.implausible and not opposed:
        seen, found = with_bodies(loaded, tell, seen)
        found = found or causes_of(seen, loaded)  # bodies stand for what the model lacks
    if not found and seen.diagnosis is not None:  # the table has been asked
        return replace(estimate, causes=()), tuple(_differs(result, seen.diagnosis)), None
    if not found:
        return _of_known_bodies(result, estimate, table, motions, tell, seen)
    of_table, springs = tuple(c for c in found if c.by_table), _springs(found, loaded)
    elsewhere = any(c.mistake.file in ("robot", "log") for c in seen.causes if c.by_table and not c.ordinary)
    alone = of_table == found and not elsewhere
    prior = mended_prior(loaded, seen.diagnosis) if alone and seen.diagnosis else None
    if prior is None and not (harmless(result) and alone):
        found = tuple(c for c in found if not already_doubted(c, estimate.implausible))
        found, late = _how_late(loaded, found, seen)
        return replace(estimate, causes=found), (), Anew(late, springs)
    told = tuple(Warned("PROBLEM", f"table: {c.what}", str(c)) for c in of_table)
    return replace(estimate, noted=of_table), told, Anew(springs=springs, prior=prior)


def _springs(found: Sequence[NamedCause], loaded: Loaded) -> dict[tuple[str, str], str]:
    """Return joints at which a CAD table, and nothing else, asks for a spring or a balancer, with the evidence."""
    asked = (c for c in found if c.by_table and c.file == files_of(loaded)["model"] and not c.rivals)
    return {
        (c.where, c.what): "{:.3g} % missed without, {:.3g} % with it".format(*(100 * x for x in c.total))
        for c in asked
    }


def _doubted_table(result: Result) -> Table | None:
    """Return the CAD table where its numbers are far off, or a known mistake in it is likely; else None."""
    table = stated_table(result.loaded)
    if table is None or result.comparison is None:
        return None
    return table if result.comparison.far or contradicted(result, table) else None


def _of_known_bodies(
    result: Result,
    estimate: Estimate,
    table: Table | None,
    motions: Sequence[Motion],
    tell: Tell,
    asked: Examination | None = None,
) -> tuple[Estimate, tuple[Warned, ...], Anew | None]:
    """Return what `doctored` does where only CAD's bodies may tell; table: theirs, if doubted; asked: seen without."""
    loaded = result.loaded
    found, of_cad, prior = tuple[NamedCause, ...](), tuple[Cause, ...](), None
    late, elsewhere, diagnosis = 0.0, False, None if asked is None else asked.diagnosis
    if known_well(result):
        whole, found = with_bodies(loaded, tell, asked)
        diagnosis = whole.diagnosis
        found, late = _how_late(loaded, found, whole)
        of_cad = tuple(c for c in whole.causes if c.mistake.file == "table" and not c.ordinary and c.asserted)
        prior = mended_prior(loaded, diagnosis) if diagnosis else None
    elif table is not None and result.regression is not None:
        of_cad, diagnosis, elsewhere = corrected(loaded, result.regression, motions, table)
        prior = mended_prior(loaded, diagnosis) if of_cad and not elsewhere else None
        found = with_bodies(loaded, tell, asked)[1] if elsewhere else ()
    if found or elsewhere or not of_cad:
        told = () if found else tuple(_differs(result, diagnosis))
        return replace(estimate, causes=found), told, Anew(late, _springs(found, loaded))
    named = tuple(_named(c, loaded) for c in of_cad)
    told = tuple(Warned("PROBLEM", f"table: {c.what}", str(c)) for c in named)
    return replace(estimate, noted=named), told, Anew(prior=prior)


def _of_own_model(loaded: Loaded, causes: Sequence[NamedCause], tell: Tell) -> NamedCause | None:
    """Return an experiment's own [model] as what is wrong where the terms that its logs choose in its place leave none
    of the causes that were named, and no more of the torque than these would.
    """
    other = chosen_instead(loaded, tell) if loaded.experiment.own_model else None
    if other is None or other.after > RISEN * min(cause.total[1] for cause in causes):
        return None
    if causes_of(examination(other.loaded, tell), other.loaded, terms=False):
        return None
    return other.cause


def _differs(result: Result, diagnosis: Diagnosis | None) -> Iterator[Warned]:
    """Yield that numbers of CAD are off by more than right ones mostly are; diagnosis: of these, if it was made."""
    experiment, far = result.loaded.experiment, result.comparison.wrong if result.comparison is not None else ()
    if far:
        most = max(far, key=lambda r: abs(r.difference) / r.scale)
        share = f"{most.name} by {100 * abs(most.difference) / most.scale:.0f} % of the numbers in it"
        more = f", and {len(far) - 1} more" if len(far) > 1 else ""
        said = f"differs from the fit by more than right numbers mostly do ({share}{more})"
        none = diagnosis is not None and not diagnosis.faults
        said += ", and no known mistake explains it" if none else ": `ident doctor` looks for the mistake"
        yield Warned((experiment.cad if isinstance(experiment.cad, Path) else experiment.robot).name, "table", said)


def _late(cause: Cause) -> bool:
    """Return whether all torques may be late by the value of a cause.

    Slow motions pass a filter so, and friction that was chosen for late torques makes a delay look like one.
    """
    alike = any(word in rival for rival in cause.rivals for word in (LATE, BLURRED, STAMPED))
    return cause.mistake.kind in ("delay", "blur") and not cause.ordinary and (cause.asserted or alike)


def _how_late(loaded: Loaded, found: tuple[NamedCause, ...], seen: Examination) -> tuple[tuple[NamedCause, ...], float]:
    """Return causes, and by how much torques are to be read late [s] where these say nothing else."""
    lagging = found and all(LATE in c.what or BLURRED in c.what for c in found)
    doubted = next((c for c in seen.causes if _late(c)), None) if lagging else None
    return (found, 0.0) if doubted is None else _lagging(loaded, found[0], doubted.value)


def _lagging(loaded: Loaded, cause: NamedCause, value: float) -> tuple[tuple[NamedCause, ...], float]:
    """Return the cause that torques lag, and by how much they are to be read late [s]: 0 where a filter is likelier.

    cause, value: as found beside the friction of the model. Where friction without memory shows no lag, it holds if it
    shows where the motion is, too, else there is none: above that a controller's answer to noise looks like a lead.
    """
    found = lag(loaded.model, _fitted(loaded), loaded.prior)
    if found is None:
        fit, judged = processing_of(loaded)
        slow = replace(fit, decimation=(*judged.decimation, int(JUDGED / 2.0)))  # below twice the fastest motion's band
        shows = lags_below(loaded.model, _fitted(loaded, slow), loaded.prior, value)
        return ((cause,), value) if shows else ((), 0.0)
    if found.late:
        return (cause,), found.value
    delay, blur = (next(m for m in mistakes(loaded.robot) if m.kind == kind) for kind in ("delay", "blur"))
    what, mend = blur.words(found.value)
    rivals = (f"{delay.where}: {delay.words(found.value)[0]}",) if found.alike else ()
    return (replace(cause, what=what, mend=mend, rivals=rivals),), 0.0


def already_doubted(cause: NamedCause, doubts: Sequence[str]) -> bool:
    """Return whether a torque that may lack gravity is doubted by more than the gain of that cause would explain."""
    small = any(doubt.startswith(f"{cause.where} is logged with") for doubt in doubts)
    return small and any(WEIGHTLESS in rival for rival in cause.rivals)


# ---- a CAD table that the fitted logs contradict: which mistakes of it are sure, and the prior without them --------

#: Differences to a corrected table, in their standard deviations, where all of its mistakes are known.
EXPLAINED = 2.0


def corrected(
    loaded: Loaded, regression: Regression, motions: Sequence[Motion], table: Table
) -> tuple[tuple[Cause, ...], Diagnosis, bool]:
    """Return mistakes of a table that are no slight ones, by the factors of a fit and its motions; what was seen; and
    whether robot file or logs are likelier to be wrong than the table.
    """
    search = table_search(loaded.model, regression, table, motions)
    weigher, reading = Weigher(loaded.model, rows_of(motions, thinned=True), loaded.prior), Reading.plain(loaded.robot)
    told, diagnosis = faults_told(weigher, reading, search, table)
    found = [f for f in told if not f.ordinary]
    elsewhere = any(isinstance(f.fault.move, OtherView | TorqueGain) for f in found)
    causes = tuple(of_table(f, weigher) for f in found if f.fault.asserted)
    return causes, diagnosis, elsewhere


def mended_prior(loaded: Loaded, diagnosis: Diagnosis) -> Prior | None:
    """Return the prior of a table without its mistakes, None where these are not sure or not all that is wrong."""
    sure = diagnosis.faults and all(f.asserted and not scales_all(f) for f in diagnosis.faults)
    if not sure or diagnosis.deviation[1] >= EXPLAINED:
        return None
    robot, bodies = loaded.robot, diagnosis.corrected.copy()  # neutral bodies for links of which it says nothing sure
    bodies[[robot.links.index(link) for link in diagnosis.unknown]] = np.nan
    for link, (mean, _) in diagnosis.left.items():
        bodies[robot.links.index(link)] = mean
    return cad_prior(robot, bodies, f"{loaded.cad_source} without its mistakes", loaded.prior.joint_values)
