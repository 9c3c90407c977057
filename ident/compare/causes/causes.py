"""What is wrong with a robot file or a log, in the order of what explains it best."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import log
from typing import Any

import numpy as np

from ident.arrays import Array
from ident.compare.causes.geometries import DH, Described, Geometry
from ident.compare.causes.mistakes import PRIOR, Mistake, mistakes
from ident.compare.causes.ordinary import DRIFTS, Candidate, ordinary, unlike
from ident.compare.causes.reading import STRETCHES, Reading, rows_of
from ident.compare.causes.slides import slid
from ident.compare.causes.sought import sought
from ident.compare.causes.tables import Found, Table, may_examine, table_faults
from ident.compare.causes.terms import lacking
from ident.compare.causes.touches import spoils_little, touches
from ident.compare.causes.traces import trace_of
from ident.compare.causes.weighing import Weighed, Weigher
from ident.compare.doctor import Diagnosis
from ident.estimate.estimate import Trace
from ident.estimate.prior import Prior
from ident.jit import one_thread
from ident.logs.motion import Motion
from ident.model.model import Model
from ident.tell import Tell, logged

#: Log odds at which something is asserted: a thousand to one.
MARGIN = log(1000.0)
#: What explains this share of what the best one does, in log p, cannot be told apart from it: no model is exact.
ALIKE = 0.9
#: A mistake takes at least this share from the error of some joint, or of all, in so many of the stretches left out.
LEAST, LEAST_OF_ALL, AGREED = 0.05, 0.03, 9
#: Mistakes that are looked for together, and how many are looked at closely each time.
MOST, CLOSE = 3, 8
#: A mistake without a value takes this share from the error of some joint: those that did harm took 66 % and more (24
#: of seed 777, `experiments/benchmarks/mistakes.py`); a zero that is far off, for which bodies make up, at least that.
#: What may take less.
GROSS, GROSS_ZERO, MILD = 0.5, 0.3, ("load", "touch", "term", "position scale")
#: What a factor of a position that is off 1 by more than that takes from all joints together: hysteresis takes 7 % for
#: one, a balancer that no spring stands for 9.
OF_SCALE, FAR_SCALE = 0.2, 0.1
#: What makes the error of all torques together larger than this many times is no mistake.
RISEN = 1.01
_STEP = 1e-4
_PASSES = 3
#: Worth of a value in log p, by its slope, below which it is not looked at.
_WORTH = 3.0
#: A value so near to the largest that is looked for is none.
_END = 0.95


@dataclass(frozen=True, eq=False)
class Cause:
    """A mistake that explains the logs: value where it has one; error before and after (over all joints, relative).

    what, mend: in words; log_odds: against the same reading without it; rivals: what explains the logs as well, in
    words; ordinary: no larger than any robot's, or it cannot be told apart from what is. joints, joints_before,
    joints_after (n,): names of the joints, and errors of each torque of the log; trace: of the joint that shows it
    best. pair: the log as it is read without it, and without the first rival; None where there is none. by_table:
    whether errors are of what the CAD table predicts, in place of stretches left out.
    """

    mistake: Mistake
    value: float
    what: str
    mend: str
    log_odds: float
    before: float
    after: float
    rivals: tuple[str, ...]
    ordinary: bool
    joints: tuple[str, ...]
    joints_before: tuple[float, ...]
    joints_after: tuple[float, ...]
    trace: Trace
    pair: tuple[Weighed, Weighed] | None = None
    by_table: bool = False

    @property
    def asserted(self) -> bool:
        """Whether nothing else explains the logs as well."""
        return not self.rivals

    @property
    def where(self) -> str:
        """The joint or file that it is in."""
        return self.mistake.where


@dataclass(frozen=True, eq=False)
class Examination:
    """Causes by what they take from the error and their odds, the reading without them, and its error (relative).

    table: whether a CAD table was examined, too, None without one: what the log has to be read without may forbid it.
    diagnosis: of that table, if it was. firm: the reading that is known for sure, with which a table is examined.
    """

    causes: tuple[Cause, ...]
    reading: Reading
    error: float
    asked: int
    independent: float
    table: bool | None = None
    weigher: Weigher | None = None
    diagnosis: Diagnosis | None = None
    firm: Reading | None = None

    def apart(self, cause: Cause, t: Array, q: Array, qd: Array, qdd: Array) -> float:
        """Return how far torques of a motion lie apart if a cause or its first rival is right, in noise of each joint.

        t (N,) [s], q, qd, qdd (N, n); root mean square of all joints; 0 without a rival.
        """
        if cause.pair is None or self.weigher is None:
            return 0.0
        one, other = (self.weigher.predicted(state, t, q, qd, qdd) for state in cause.pair)
        noise = np.maximum(np.sqrt(cause.pair[0].channels(cause.pair[0].left)), 1e-300)
        return float(np.sqrt(np.mean(((one - other) / noise) ** 2)))


@one_thread()
def examined(
    model: Model,
    motions: Sequence[Motion],
    prior: Prior,
    geometries: Mapping[str, Geometry] | None = None,
    tell: Tell = logged,
    table: Table | None = None,
    described: Described = DH,
    *,
    timed: bool = False,
    rate_hz: float = 0.0,
) -> Examination:
    """Return what is wrong with the robot, the logs, the model or a CAD table, if anything is.

    model: as it was fitted; motions: those of the fit; prior: of its links; geometries: other robots, by what was
    mistaken in theirs; described: what the robot is described by; timed: whether velocities bear the time out; rate_hz:
    as it is declared of logs without stamps, 0 of others.
    Mistakes are looked for one after the other, those of the table when the others are mended. Each is weighed on
    samples here and there, the best of them on rows that are thinned as the fit thins them, with links that can exist.
    """
    duration = max(float(np.ptp(m.t)) for m in motions)
    rows_hz = max((len(m.t) - 1) / max(float(np.ptp(m.t)), 1e-9) for m in motions)
    travel = np.max([np.ptp(m.q, axis=0) for m in motions], axis=0)
    every = mistakes(model.robot, geometries, duration, rows_hz, described, travel)
    rough, fine = (Weigher(model, rows_of(motions, thinned=thinned), prior) for thinned in (False, True))
    reading, causes = Reading.plain(model.robot), list[Cause]()
    firm = reading  # without mistakes of an ordinary size, which known bodies need not have
    names, noise = [m.name for m in motions], np.max([np.asarray(m.noise) for m in motions], axis=0)
    now = fine.weighed(reading, bodies=True)
    for round_ in range(MOST):
        tell("weighing mistakes", round_, MOST)
        asked = (
            *(m for m in every if not (timed and m.kind == "clock")),
            *sought(rough, reading, prior, described, 0.0 if timed else rate_hz, names),
            *touches(fine, reading, names),
            *lacking(model, reading, motions, prior, _links(now, model.robot.n)),
        )
        among = Counter(m.kind for m in asked)
        candidates = _weighed(rough, fine, reading, asked, among, now)
        worth = [c for c in candidates if c.log > now.log + MARGIN and _material(now, c.weighed, c.mistake, c.value)]
        worth = [c for c in worth if not unlike(c.mistake, c.value) or stands(fine, reading, c, candidates, among)]
        if not worth:
            break
        best = worth[0]
        rough.tried.since(best.log - now.log)
        apart = max(MARGIN, (1.0 - ALIKE) * (best.log - now.log))
        near = [c for c in candidates if c.log > best.log - apart and not _same(c, best)]  # material or not
        slight = ordinary((best, *near), now, noise) or spoils_little(fine, now, best.weighed, best.mistake)
        causes.append(_cause(best, near, now, fine, slight))
        reading, now = best.weighed.reading, best.weighed
        if fine.takes_load(now) and rough.takes_load(now):
            now = fine.weighed(reading, bodies=True)
        firm = firm if slight else best.mistake.without(firm, best.value)
    told = slid(fine, model, reading, prior) if may_examine(reading) else []
    reading = told[-1].after.reading if told else reading
    causes += [of_table(f, fine) for f in told]
    firm = reading if told else firm
    tell("weighing mistakes", MOST, MOST)
    rows = fine.independent
    found = Examination(_ordered(causes), reading, now.relative, len(asked), rows, weigher=fine, firm=firm)
    return found if table is None else with_table(found, model, motions, table)


@one_thread()
def with_table(found: Examination, model: Model, motions: Sequence[Motion], table: Table) -> Examination:
    """Return an examination of these motions with what is wrong with a CAD table, where the logs can be read as found.

    model: as it was fitted.
    """
    assert found.weigher is not None
    assert found.firm is not None
    if not may_examine(found.reading):
        return replace(found, table=False)
    of_cad, diagnosis = table_faults(found.weigher, model, found.firm, motions, table)
    causes = _ordered([*found.causes, *(of_table(f, found.weigher) for f in of_cad)])
    return replace(found, causes=causes, table=True, diagnosis=diagnosis)


def _ordered(causes: Sequence[Cause]) -> tuple[Cause, ...]:
    """Return causes, those first that are no ordinary ones, not of a table, and take most from the error."""
    return tuple(sorted(causes, key=lambda c: (c.ordinary, c.mistake.file == "table", -_taken(c), -c.log_odds)))


def _cause(best: Candidate, near: Sequence[Candidate], now: Weighed, fine: Weigher, slight: bool) -> Cause:
    """Return the best mistake with those near it as its rivals; slight: whether it is as any robot has it."""
    what, mend = best.mistake.words(best.value)
    if best.mistake.kind in DRIFTS and near:
        others = (c.mistake.words(c.value)[1] for c in near if c.mistake.kind in DRIFTS)
        mend = "; or ".join(dict.fromkeys((mend, *others)))
    rivals = tuple(f"{c.mistake.where}: {c.mistake.words(c.value)[0]}" for c in near)
    pair, odds = (best.weighed, near[0].weighed) if near else None, best.log - now.log
    own: dict[str, Any] = {"value": best.value, "log_odds": odds, "rivals": rivals, "ordinary": slight, "pair": pair}
    return _shown(fine, now, best.weighed, best.mistake, what, mend, **own)


def _shown(
    weigher: Weigher, before: Weighed, after: Weighed, mistake: Mistake, what: str, mend: str, **own: Any
) -> Cause:
    """Return a mistake as a cause, by what readings with it and without it leave; own: what else is known of it."""
    robot = before.reading.robot
    return Cause(
        mistake=mistake,
        what=what,
        mend=mend,
        before=before.relative,
        after=comparable(before, after),
        joints=robot.joint_names,
        joints_before=_joints(before),
        joints_after=_joints(after),
        trace=trace_of(weigher, before, after, robot, mistake.where),
        **own,
    )


def _taken(cause: Cause) -> int:
    """Return what a cause takes from the error, in steps of e: what takes far more is mended first."""
    return round(log(max(cause.before - cause.after, 1e-6)))


def _links(state: Weighed, n: int) -> Array | None:
    """Return the links (n, 10) that a reading has been fitted with, None where none that can exist were found."""
    return None if state.theta is None else state.theta[: 10 * n].reshape(n, 10)


def comparable(before: Weighed, after: Weighed) -> float:
    """Return the error over all joints after a change, relative to the torques as large as they were before it."""
    torques, other = before.channels(before.torques), after.channels(after.torques)
    scale = np.where(other > 0.0, torques / np.where(other > 0.0, other, 1.0), 1.0)
    return float(np.sqrt(np.sum(scale * after.channels(after.left)) / torques.sum()))


def of_table(found: Found, weigher: Weigher) -> Cause:
    """Return a fault of a table as a cause."""
    m, fault = found.mistake, found.fault
    own = {"value": 0.0, "log_odds": fault.log_odds, "rivals": fault.rivals, "ordinary": found.ordinary}
    return _shown(weigher, found.before, found.after, m, m.what, m.mend, by_table=True, **own)


def _weighed(
    rough: Weigher, fine: Weigher, reading: Reading, asked: Sequence[Mistake], among: Mapping[str, int], now: Weighed
) -> list[Candidate]:
    """Return the best candidates, the most probable first."""
    plain = rough.weighed(reading, left_out=False)
    possible = rough.weighed(reading, left_out=False, bodies=True)
    rough.tried.least = possible.log - plain.log
    found = list[Candidate]()
    for mistake in asked:
        value, cost = 0.0, _prior(mistake, among, rough)
        if mistake.size is not None:
            value, worth = _along(rough, plain, reading, mistake)
            size = mistake.size
            if worth < _WORTH or not size.least <= abs(value) <= _END * size.most:  # something else is wrong
                continue
            cost += _surprise(mistake, value, worth)
        name = mistake.kind, mistake.where, mistake.what
        if mistake.size is not None or not rough.tried.hopeless(name):
            weighed = rough.weighed(mistake.without(reading, value), left_out=False)
            rough.tried.tell(name, weighed.log - plain.log)
            found.append(Candidate(mistake, value, weighed, weighed.log + cost))
    found.sort(key=lambda c: -c.log)
    close = list[Candidate]()
    least = possible.log
    for c in found:  # links that must be able to exist explain no more
        if (len(close) >= CLOSE and c.log < sorted((x.log for x in close), reverse=True)[CLOSE - 1]) or c.log < least:
            break
        weighed = rough.weighed(c.weighed.reading, left_out=False, bodies=True)
        close.append(Candidate(c.mistake, c.value, weighed, c.log - c.weighed.log + weighed.log))
    close = sorted(close, key=lambda c: -c.log)[:CLOSE]
    return sorted((_closely(fine, reading, c, now, among) for c in close), key=lambda c: -c.log)


def _closely(fine: Weigher, reading: Reading, c: Candidate, now: Weighed, among: Mapping[str, int]) -> Candidate:
    """Return a candidate with its value and its probability by the rows of the fit."""
    value, cost = c.value, _prior(c.mistake, among, fine)
    weighed = fine.weighed(c.mistake.without(reading, value), bodies=True)
    if c.mistake.size is not None:
        value, _ = _along(fine, fine.weighed(c.weighed.reading, left_out=False), reading, c.mistake, value, 1)
        again = fine.weighed(c.mistake.without(reading, value), bodies=True)
        value, weighed = (value, again) if again.log > weighed.log else (c.value, weighed)
        cost += _surprise(c.mistake, value, max(weighed.log - now.log, 1.0))
    return Candidate(c.mistake, value, weighed, weighed.log + cost)


def stands(fine: Weigher, reading: Reading, c: Candidate, among: Sequence[Candidate], kinds: Mapping[str, int]) -> bool:
    """Return whether a value far off still explains the logs beside gains, as any robot has, that explain more."""
    better = [x for x in among if x.log > c.log and x.mistake.size and abs(x.value) <= x.mistake.size.ordinary]
    if not better:
        return True
    for x in better:
        reading = x.mistake.without(reading, x.value)
    now = fine.weighed(reading, bodies=True)
    again = replace(c, weighed=fine.weighed(c.mistake.without(reading, c.value), bodies=True))
    again = _closely(fine, reading, again, now, kinds)
    return again.log > now.log + MARGIN and unlike(again.mistake, again.value)


def _prior(mistake: Mistake, among: Mapping[str, int], weigher: Weigher) -> float:
    """Return the log of how probable a mistake is beforehand.

    Ten parameters of its own cost a load their share; each sign beside the first is one of as many as there are joints.
    """
    own = 5.0 * log(max(weigher.independent, 2.0)) if mistake.kind == "load" else 0.0
    own += log(weigher.plain.reading.robot.n) * mistake.where.count(" and ") if mistake.kind == "signs" else 0.0
    return log(PRIOR[mistake.kind] / among[mistake.kind]) - own


def _along(
    weigher: Weigher, state: Weighed, reading: Reading, mistake: Mistake, start: float = 0.0, passes: int = _PASSES
) -> tuple[float, float]:
    """Return the value that explains most, by Gauss and Newton from a start that `state` weighs, and its worth."""
    assert mistake.size is not None
    value, best, worth = start, state, 0.0
    for k in range(passes):
        ahead = mistake.without(reading, value + _STEP * mistake.size.usual)
        step, gain = weigher.slopes(best, ahead, _STEP * mistake.size.usual)
        if k == 0 and gain < _WORTH and not start:
            return 0.0, 0.0
        step = float(np.clip(value + step, -mistake.size.most, mistake.size.most)) - value
        for _ in range(3):
            after = weigher.weighed(mistake.without(reading, value + step), left_out=False)
            if after.log > best.log:
                break
            step /= 2
        else:
            break
        value, best = value + step, after
        worth = best.log - state.log
        if abs(step) < 0.02 * abs(value):
            break
    return value, worth


def _surprise(mistake: Mistake, value: float, worth: float) -> float:
    """Return the log of how probable a value is that explains so much, by a wide distribution about 0 (Cauchy's)."""
    assert mistake.size is not None
    error = abs(value) / np.sqrt(2.0 * worth)
    return float(
        -np.log1p((value / mistake.size.usual) ** 2) - np.log(max(mistake.size.usual / max(error, 1e-300), 1.0))
    )


def _material(before: Weighed, after: Weighed, mistake: Mistake, value: float) -> bool:
    """Return whether the error of all joints falls by LEAST_OF_ALL, or by LEAST in one, and in nearly all stretches.

    That of one joint is enough for a value, or a touch; else a mistake is gross, and takes the share GROSS from one. A
    load, a touch is in some of the stretches alone. Of a gear ratio all joints together miss less, too: of a joint that
    has little but friction it bends the law. What is `unlike` what is ordinary may take any share.
    """
    scale = before.channels(before.torques) / np.maximum(after.channels(after.torques), 1e-300)
    was, left = before.channels(before.left), after.channels(after.left) * scale
    share = np.sqrt(left / np.maximum(was, 1e-300))
    least = 1e-12 * np.maximum(was, 1e-300)
    total = np.exp(0.5 * float(np.mean(np.log(np.maximum(left, least) / np.maximum(was, 1e-300)))))
    enough = (mistake.size is not None or mistake.kind == "touch") and float(share.min()) < 1.0 - LEAST
    enough |= unlike(mistake, value)
    if (total > 1.0 - LEAST_OF_ALL and not enough) or total > 1.0:
        return False
    whole = float(np.sqrt(left.sum() / max(was.sum(), 1e-300)))
    turned = 1.0 - (OF_SCALE if mistake.size is None or abs(value) > FAR_SCALE else LEAST_OF_ALL)
    if whole > (turned if mistake.kind == "position scale" else RISEN):
        return False
    gross = GROSS_ZERO if mistake.kind == "zero" else GROSS
    if mistake.size is None and mistake.kind not in MILD and float(share.min()) > 1.0 - gross:
        return False
    if after.bodies and before.bodies and (before.excess > 1.05 * before.errors.mean(axis=0)).any():
        return True  # only impossible bodies made up for it: that is no matter of stretches
    each, without = before.channels(before.errors), after.channels(after.errors) * scale
    fell = np.log(np.maximum(without, least)).sum(axis=1) < np.log(np.maximum(each, least)).sum(axis=1)
    return int(np.sum(fell)) >= (1 if mistake.kind in ("load", "touch", "apart") else AGREED * STRETCHES // 10)


def _joints(weighed: Weighed) -> tuple[float, ...]:
    """Return the error of each torque of the log (n,), relative to it."""
    torques = weighed.channels(weighed.torques)
    return tuple(np.sqrt(weighed.channels(weighed.left) / np.where(torques > 0, torques, np.inf)).tolist())


def _same(a: Candidate, b: Candidate) -> bool:
    return a.mistake.kind == b.mistake.kind and a.mistake.where == b.mistake.where and a.mistake.what == b.mistake.what
