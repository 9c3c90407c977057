"""From an experiment's logs to their factors: by this process, or by workers, long recordings part by part.

Workers read the rows of their parts by themselves, where the format allows that (Parquet). Parts are cut, and what
became of them is joined, as by one process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

from ident.compare.settled import drift, in_the_band
from ident.errors import IdentError, plural
from ident.estimate.covariance import default_covariance
from ident.estimate.least_squares import FAR, joint_noise, reweighted, solve
from ident.logs import LogReport, Motion, check_log, locate
from ident.logs.automatic import as_lines
from ident.logs.check import together
from ident.logs.log import changed, hashed
from ident.logs.process import Prepared, repeats
from ident.logs.stream import Plan, plan_parts, read_part, without_margin
from ident.pipelines.cluster import at_workers, mapped, results, submitted
from ident.pipelines.factors import Factors, of_processing, of_recording
from ident.pipelines.factors import joined as joined_factors
from ident.pipelines.loaded import Loaded
from ident.pipelines.steps import Warned, delayed, findings_of, first_parts, motions, processing_of, rounded
from ident.regression.compress import ARITY, Keyed, gathered, joined, packed_columns, require_rows, segments_of
from ident.regression.regression import Regression, repeats_joined
from ident.tell import Tell, logged

if TYPE_CHECKING:
    from distributed import Client, Future

#: So many stretches of a recording that do not belong to the rest are named.
MOST_TOLD = 5
#: What does not belong for so long [s] is no spike.
TOUCH_S = 0.2
#: Size and time of change of a recording's files, by which a change is noticed without reading them again.
Stamps = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Long:
    """A recording that is read in parts: how, its files' SHA-256 and stamps."""

    plan: Plan
    inputs: dict[str, str]
    stamps: Stamps


@dataclass(frozen=True, eq=False)
class Ready:
    """A part, filtered: what was found in it, and its last time stamp [s]."""

    prepared: Prepared
    report: LogReport
    end: float
    rounding: tuple[Warned, ...]

    @property
    def own(self) -> int:
        """Number of samples that the part adds to the motion."""
        return max(self.prepared.stop - self.prepared.first, 0)

    def __sizeof__(self) -> int:
        """Return the bytes of its signals: Dask leaves what is large where it is, and takes other objects for small."""
        return sum(x.nbytes for x in vars(self.prepared).values() if isinstance(x, np.ndarray))


@dataclass(frozen=True)
class Before:
    """What came before a part: so many samples of the motion; after how many it repeats itself."""

    samples: int = 0
    every: float | None = None


@dataclass(frozen=True, eq=False)
class Piece:
    """What became of some consecutive parts: segments, reports with their last stamps, what else was found."""

    segments: Keyed
    reports: tuple[tuple[LogReport, float], ...]
    rounding: tuple[Warned, ...]
    shown: tuple[Warned, ...]
    repeats: bool


def compressed(
    loaded: Loaded, warned: Sequence[Warned] = (), tell: Tell = logged, client: Client | None = None
) -> Factors:
    """Return the factors of an experiment's fitted recordings; warned: what is known of them already.

    client: whose workers read and compress them, if any (`cluster.sharing`); the result is the same to the last digit.
    Raises LogError for the logs, RegressionError where no row is left.
    """
    processing, names = processing_of(loaded), loaded.experiment.fit
    settled, doing = replace(loaded, processing=processing), "reading logs"
    if client is None:
        each = list(mapped(None, of_recording, settled, names, tell, doing))
    else:
        each = _shared_out(client, settled, tell, doing)
    found = joined_factors(each)
    require_rows(found.regression)
    if loaded.experiment.loss == "huber":
        found = _weighed(settled, found, tell)
    said = [*warned, *of_processing(loaded, processing), *found.warned]
    bias = _bias(settled, found.regression, said)
    return replace(found, warned=tuple(said), pulls=loaded.pulls, bias=bias)


def _bias(loaded: Loaded, found: Regression, warned: list[Warned]) -> Mapping[str, float]:
    """Return the bias that the filters leave in base parameters; where it is large, it is added to `warned`."""
    fit, judged = processing_of(loaded)
    names, logs, second = loaded.base.names, loaded.experiment.fit, in_the_band(fit, judged)
    if second is None:
        return {}
    whole = repeats_joined(found)
    try:
        sigma = joint_noise(whole)
        variances = default_covariance(whole, sigma, solve(whole, sigma)).standard_errors ** 2
        pairs = zip(first_parts(loaded, logs, fit), first_parts(loaded, logs, second), strict=True)
        off = drift(packed_columns(loaded.model, loaded.base), pairs, variances)
    except IdentError:  # the fit says so
        return {}
    if count := int(off.shown.sum()):
        from ident.report.text import percent

        k = int(np.argmax(np.where(off.shown, off.bias**2 / variances, 0.0)))
        more = f" and {plural(count - 1, 'more base parameter')} depend" if count > 1 else " depends"
        lines = ", ".join(as_lines(second, fit))
        one, other = off.first[k], off.second[k]
        apart = percent(abs(one - other) / max(abs(one), abs(other)))
        values = f"{one:.4g} as fitted, {other:.4g} ({apart} off) with {lines}"
        message = f"{names[k]}{more} on the cut-off of the positions: {values}; intervals are widened by that"
        warned.append(Warned("processing", "cut-off", f"{message}. [processing] with these lines fits so"))
    return dict(zip(names, off.bias.tolist(), strict=True))


def _weighed(loaded: Loaded, found: Factors, tell: Tell) -> Factors:
    """Return factors whose rows have the weights of Huber's loss, and say how many hardly count."""
    names = loaded.experiment.fit

    def again() -> Iterator[Motion]:
        return motions(loaded, names, processing_of(loaded)[0], [], tell)

    robust = reweighted(loaded.model, again, loaded.base)
    rows = robust.regression.rows
    joints = zip(loaded.robot.joint_names, robust.far, rows, strict=True)
    counted = [f"'{joint}' {far:.0f} of {whole}" for joint, far, whole in joints if far]
    message = f"rows whose weight is below {FAR:g}, as they do not belong to the rest: {', '.join(counted) or 'none'}"
    told = [Warned("loss = 'huber'", "left out", message)]
    for name in dict.fromkeys(stretch.recording for stretch in robust.odd):
        own = sorted((x for x in robust.odd if x.recording == name), key=lambda x: -x.far)
        more = f" and {len(own) - MOST_TOLD} more" if len(own) > MOST_TOLD else ""
        message = f"what does not belong to the rest counts for little: {', '.join(map(str, own[:MOST_TOLD]))}{more}"
        touched = any(stretch.stop - stretch.start >= TOUCH_S for stretch in own)
        told.append(Warned(name, "stretch" if touched else "left out", message))
    return replace(found, regression=robust.regression, warned=(*found.warned, *told))


def _shared_out(client: Client, loaded: Loaded, tell: Tell, doing: str) -> list[Factors]:
    names, common = loaded.experiment.fit, at_workers(client, loaded)
    futures = [submitted(client, begun, common, name) for name in names]
    first: list[Factors | Long] = list(results(client, futures, names, tell, doing))
    long = {name: found for name, found in zip(names, first, strict=True) if isinstance(found, Long)}
    futures = [in_parts(client, common, found) for found in long.values()]
    made: Iterator[Factors] = results(client, futures, list(long), tell, "reading long logs")
    return [next(made) if isinstance(found, Long) else found for found in first]


def begun(loaded: Loaded, name: str) -> Factors | Long:
    """Return a recording's factors, or how it is read in parts where it is long and of a format that allows that."""
    plan = plan_parts(loaded.manifest, name, loaded.robot, processing_of(loaded)[0])
    if plan is None:
        return of_recording(loaded, name)
    stamps = _stamps(loaded, name)
    return Long(plan, hashed(loaded.manifest, name), stamps)


def in_parts(client: Client, common: Future, long: Long) -> Future:
    """Return the factors to come of a long recording; common: the experiment, at the workers."""

    def task(function: Callable[..., object], *given: object) -> Future:
        return submitted(client, function, *given)

    before: Future | Before = Before()
    pieces = []
    for number in range(len(long.plan.parts)):
        ready = task(_read, common, long, number)
        pieces.append(task(_compressed, common, long, ready, before))
        before = task(_counted, long, ready, before)
    while len(pieces) > 1:
        pieces = [task(_together, pieces[k : k + ARITY]) for k in range(0, len(pieces), ARITY)]
    return task(_finished, common, long, pieces[0], before)


# ---- what workers do -----------------------------------------------------------------------------------------------


def _read(loaded: Loaded, long: Long, number: int) -> Ready:
    plan = long.plan
    try:
        log = read_part(loaded.manifest, loaded.robot, plan, number)
    finally:
        if _stamps(loaded, plan.name) != long.stamps:
            raise changed(plan.file)
    own = without_margin(log)
    report = check_log(own, loaded.robot)
    rounding = tuple(rounded(own, report, plan.processing)) if number == 0 else ()
    prepared = plan.prepared(log, plan.parts[number][0] - log.margin[0])
    return Ready(prepared, report, float(own.t[-1]), rounding)


def _counted(long: Long, ready: Ready, before: Before) -> Before:
    return Before(before.samples + ready.own, _every(long, ready, before))


def _every(long: Long, ready: Ready, before: Before) -> float | None:
    """Return after how many samples the motion repeats itself: its first part that has any decides."""
    first = before.samples == 0 and ready.own > 0
    return repeats(ready.prepared, long.plan.processing) if first else before.every


def _compressed(loaded: Loaded, long: Long, ready: Ready, before: Before) -> Piece:
    reports = ((ready.report, ready.end),)
    if not ready.own:
        return Piece({}, reports, ready.rounding, (), False)
    motion = long.plan.motion(ready.prepared, before.samples, _every(long, ready, before))
    segments = segments_of(packed_columns(loaded.model, loaded.base), motion)
    told = before.samples == 0 and loaded.experiment.processing is not None
    return Piece(segments, reports, ready.rounding, tuple(delayed(loaded, motion)) if told else (), motion.repeats)


def _together(pieces: Sequence[Piece]) -> Piece:
    return Piece(
        joined([piece.segments for piece in pieces]),
        tuple(x for piece in pieces for x in piece.reports),
        tuple(x for piece in pieces for x in piece.rounding),
        tuple(x for piece in pieces for x in piece.shown),
        any(piece.repeats for piece in pieces),
    )


def _finished(loaded: Loaded, long: Long, piece: Piece, all_of_it: Before) -> Factors:
    name, model, processing = long.plan.name, loaded.model, processing_of(loaded)
    if not all_of_it.samples:
        raise long.plan.nothing_left()
    first, *others = piece.reports
    report = reduce(lambda found, part: together(found, *part), others, first[0])
    warned = (*findings_of(name, report, processing[0]), *piece.rounding, *piece.shown)
    regression = gathered(packed_columns(model, loaded.base), piece.segments)
    repeated = (name,) if piece.repeats else ()
    return Factors(regression, loaded.robot.name, model.shapes, processing, long.inputs, warned, repeated)


def _stamps(loaded: Loaded, recording: str) -> Stamps:
    files = [locate(loaded.manifest, file).stat() for file in loaded.manifest.recording(recording).files]
    return tuple((found.st_size, found.st_mtime_ns) for found in files)
