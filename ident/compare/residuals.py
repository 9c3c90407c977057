"""What residuals hint at: terms that the model lacks, each judged on stretches that it was not fitted to.

A candidate column z of joint j's equation is worth something when tau = Y phi + z c, with phi free for all joints,
predicts the other half of the recording better than tau = Y phi. Candidates are taken one after the other, the best
one first, so that one fault is named once. The gain of a torque sensor is such a column, too (z = Y_j phi): the
parameters that joint j shares with other joints forbid it. A delay is worth something beside any law of friction, and
beside a load that is smoothed alike at both sides: rough accelerations look late otherwise, or early
(`experiments/benchmarks/skew.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from ident.arrays import Array
from ident.jit import one_thread
from ident.logs.filter import decimate
from ident.logs.motion import Motion
from ident.model import LoadFriction, NonlinearViscous, Stribeck, ViscousAsymmetry
from ident.model.model import Model, torque
from ident.model.terms import kinds, plain
from ident.regression.base import BaseParameters, r_factor
from ident.regression.compress import Columns, packed_columns, packed_rows
from ident.regression.regression import lengths
from ident.tables import below

Kind = Literal["delay", "friction", "drift", "spring", "coupling", "gain", "offset"]
#: All that are tried.
KINDS: tuple[Kind, ...] = get_args(Kind)
#: Widths of tanh, relative to a joint's largest speed, that stand in for any law of friction.
_WIDTHS = (0.01, 0.03, 0.15, 0.5)

#: Laws of Coulomb friction without a jump.
SMOOTH = below("model", "coulomb = { tanh = 0.05 }") + ", or `coulomb = { dahl = 0.001 }` in its place"
#: A hint lowers the squared residual of its joint by at least this share of what is left, and of what there was.
LEAST, LEAST_AT_FIRST = 0.05, 0.03
_SAMPLES = 60_000  # looked at where the log is thinned by filters
_ROWS = 12_000  # looked at in all
_LEAST_ROWS = 3_000  # looked at of each of many recordings
_NAMED = 4  # recordings that a sentence names
_PIECES = 10  # stretches, taken alternately for the fit and for the test
_SHIFTS = (-12, -4, -1, 1, 4, 12)  # samples: torque jumps with the direction, so a slope does not tell its delay
_SPANNED = 1e-7  # of a column's square: what is left of a column that the model has already


@dataclass(frozen=True)
class Hint:
    """A term that joint `joint` (and for a coupling `other`) seems to lack; `what` names it within its kind.

    value: its coefficient [SI]: seconds for a delay, relative for a gain, None where several columns take part.
    share: by which the norm of what the model cannot explain falls, on stretches not used for the fit: of this
    joint's residual, for a gain of all joints' (each divided by its noise). recordings: those that show it, of
    `looked_at`; () where one only was looked at.
    """

    joint: str
    kind: Kind
    what: str
    value: float | None
    share: float
    other: str | None = None
    recordings: tuple[str, ...] = ()
    looked_at: int = 1


def hints_of_all(
    model: Model, motions: Sequence[Motion], theta: Array, sigma: Array, *, base: BaseParameters
) -> tuple[Hint, ...] | None:
    """Return the hints of all recordings, each fault once, with the recordings that show it; None where none is judged.

    Each recording is judged by itself (`residual_hints`): a fault of the recorder may be in one of them alone. A hint
    has the figures of the recording that shows it best; first come those that most recordings show.
    """
    rows = max(_ROWS // max(len(motions), 1), _LEAST_ROWS)
    found: dict[tuple[str, Kind, str | None], list[Hint]] = {}
    looked = ((m.name, residual_hints(model, m, theta, sigma, base=base, rows=rows)) for m in motions)
    judged = [(name, hints) for name, hints in looked if hints is not None]
    for name, hints in judged:
        for hint in hints:
            told = replace(hint, recordings=(name,), looked_at=len(judged)) if len(motions) > 1 else hint
            found.setdefault((hint.joint, hint.kind, hint.other), []).append(told)
    if not judged:
        return None
    merged = [
        replace(max(same, key=lambda h: h.share), recordings=tuple(r for h in same for r in h.recordings))
        for same in found.values()
    ]
    return tuple(sorted(merged, key=lambda h: (-len(h.recordings), -h.share)))


@dataclass(frozen=True, eq=False)
class _Candidate:
    joint: int
    kind: Kind | None  # None: no hint, but what looks like a delay
    what: str
    columns: Array
    other: int | None = None


def residual_hints(
    model: Model, motion: Motion, theta: Array, sigma: Array, *, base: BaseParameters, rows: int = _ROWS
) -> tuple[Hint, ...] | None:
    """Return the hints in the order of what they explain; None where the recording is too short to judge.

    theta (p,): parameters that predict the torque; sigma (n,): torque noise that weights the joints [N m; N].
    rows: how many are looked at, at most, after the thinning of the fit.
    """
    count = min(len(motion.q), _SAMPLES * rows // _ROWS) if motion.decimation else len(motion.q)
    part = slice(0, count)
    states, signals = (motion.q[part], motion.qd[part], motion.qdd[part]), motion.signals(part)
    predicted = torque(model, theta, *states, signals=signals)
    found = list(_candidates(motion, part, predicted))
    if not found:
        return None
    columns = packed_columns(model, base)
    terms = model.term_columns(*states, signals=signals)
    keep = motion.keep
    if motion.decimation:
        Y = decimate(packed_rows(columns, motion, terms, 0, count), motion.decimation)
        together = decimate(np.concatenate([c.columns for c in found], axis=1), motion.decimation)
        z = np.split(together, _places(found)[1:-1], axis=1)
        keep = keep[: len(Y)]
    else:
        every = slice(0, count, -(-count // rows))
        thin = _every(motion, every.step)
        Y = packed_rows(columns, thin, terms[:, every], 0, len(thin.q))
        z, keep = [c.columns[every] for c in found], keep[every]
    weights, b = 1.0 / np.where(sigma > 0, sigma, 1.0), len(base.names)
    found = [replace(c, columns=weights[c.joint] * x) for c, x in zip(found, z, strict=True)]
    for j, (start, stop) in enumerate(columns.span):
        Y[:, start:stop] *= weights[j]
    fold = np.arange(len(Y)) * _PIECES // max(len(Y), 1) % 2
    with one_thread():
        first, second = (_factors(columns, b, Y, found, keep & (fold == k)[:, None]) for k in (0, 1))
        if not (first and second):
            return None
        both = [np.concatenate(pair) for pair in zip(first, second, strict=True)]
        halved, whole = [_left(first, second, b), _left(second, first, b)], _left(both, both, b)
    return tuple(_selected(model.robot.joint_names, found, halved, whole))


def _every(motion: Motion, step: int) -> Motion:
    """Return every `step`-th sample of a motion that is not thinned."""
    s = slice(None, None, step)
    return Motion(
        motion.name, motion.t[s], motion.q[s], motion.qd[s], motion.qdd[s], motion.tau[s], motion.keep[s]
    )  # fmt: skip


def _candidates(motion: Motion, part: slice, predicted: Array) -> Iterator[_Candidate]:
    """Yield every joint's candidates, with columns (N, c).

    A joint that nothing drives has no torque to be late, wrongly scaled or mixed with another's.
    """
    t, q, qd, qdd = motion.t[part], motion.q[part], motion.qd[part], motion.qdd[part]
    age = (t - t.mean()) / max(float(np.ptp(t)), 1e-9)
    moving = np.ptp(q, axis=0) > 0
    asymmetry = ViscousAsymmetry.kind  # said below, as what friction does
    rubbing = {kind: term for kind, term in plain().items() if term.kind.friction and term.kind != asymmetry}
    for j in np.flatnonzero(moving):
        v, load, driven = qd[:, j], predicted[:, j], bool(np.any(motion.tau[part, j]))
        sign, top = np.sign(v), float(np.abs(v).max()) or 1.0
        smooth = [_delayed(t, load, k) * k - _delayed(t, load, -k) * k for k in _SHIFTS if k > 0 and len(t) > 1]
        laws = [np.tanh(v / (width * top)) for width in _WIDTHS]
        yield _Candidate(int(j), None, "no delay", np.stack([*smooth, *laws, *map(np.abs, laws)], axis=1))
        single: list[tuple[Kind, str, Array]] = [
            *(("delay", "delay", _delayed(t, load, shift)) for shift in _SHIFTS if len(t) > 1),
            ("gain", "gain", load),
            ("offset", "offset", np.ones(len(t))),
            *(("friction", kind, term().column(q[:, j], v, qdd[:, j])) for kind, term in rubbing.items()),
            ("friction", "at low speed", sign * np.exp(-np.abs(v) / (0.05 * top))),
            ("friction", "at low speed", sign * np.exp(-np.abs(v) / (0.15 * top))),
            ("friction", "bent", v * np.abs(v)),
            ("friction", "by direction", np.abs(v)),
            ("friction", "by load", sign * np.abs(load)),
            ("drift", "sign", sign * age),
            ("drift", "speed", v * age),
            ("spring", "spring", q[:, j]),
        ]
        for kind, what, column in single:
            if kind in ("delay", "gain") and not driven:
                continue
            yield _Candidate(int(j), kind, what, column[:, None])
        for k in np.flatnonzero(moving):
            if k != j:
                drive = np.stack([qd[:, k], np.sign(qd[:, k]), qdd[:, k]], axis=1)
                yield _Candidate(int(j), "coupling", "movement", drive, int(k))
                if driven:
                    yield _Candidate(int(j), "coupling", "torque", predicted[:, k : k + 1], int(k))


def _delayed(t: Array, load: Array, shift: int) -> Array:
    """Return by how much a torque changes when it is late by some samples, per second of delay."""
    late = shift * float(np.median(np.diff(t)))
    return np.asarray((np.interp(t - late, t, load) - load) / late)


def _factors(columns: Columns, b: int, Y: Array, found: list[_Candidate], keep: NDArray[np.bool_]) -> list[Array]:
    """Return per joint a factor of [Y | Z tau] (rows, b + m + 1), nothing when it is too short."""
    places = _places(found)
    factors = []
    for j, (start, stop) in enumerate(columns.span):
        own = [c for c, candidate in enumerate(found) if candidate.joint == j]
        rows, used = Y[keep[:, j]], (b + x for c in own for x in range(places[c], places[c + 1]))
        extra = (found[c].columns[keep[:, j]] for c in own)
        block = np.column_stack([rows[:, start : stop - 1], *extra, rows[:, stop - 1]])
        hinting = block.shape[1] - sum(found[c].columns.shape[1] for c in own if found[c].kind is None)
        if len(block) < 3 * hinting and own:
            return []
        R = r_factor(block)
        spread = np.zeros((len(R), b + places[-1] + 1))
        spread[:, [*columns.parameters[j], *used, -1]] = R
        factors.append(spread)
    return factors


def _places(found: list[_Candidate]) -> list[int]:
    """Return where the columns of each candidate begin, and where the last ones end."""
    return [0, *np.cumsum([c.columns.shape[1] for c in found]).tolist()]


def _left(train: list[Array], test: list[Array], b: int) -> Array:
    """Return Gram matrices (n + 1, m + 1, m + 1) of what Y phi leaves of [Z tau], phi from the training half.

    The first one is the training half's own, the others are each joint's in the test half.
    """
    whole = np.concatenate(train)
    Y, E = whole[:, :b], whole[:, b:]
    size = lengths(Y)
    P = np.linalg.lstsq(Y / size, E, rcond=1e-10)[0] / size[:, None]
    left = [x[:, b:] - x[:, :b] @ P for x in (whole, *test)]
    spanned = np.square(left[0]).sum(axis=0) <= _SPANNED * np.square(E).sum(axis=0)
    for x in left:
        x[:, :-1][:, spanned[:-1]] = 0.0
    return np.array([x.T @ x for x in left])


def _selected(joints: tuple[str, ...], found: list[_Candidate], grams: list[Array], whole: Array) -> Iterator[Hint]:
    """Yield the hints; grams: of both halves, each tested on the other one; whole: of all, fitted and tested alike.

    A term has to be worth it in all three: a half may be so poor that a wrong term improves what it predicts.
    """
    places = _places(found)
    alike = {x.joint: list(range(a, b)) for x, (a, b) in zip(found, pairwise(places), strict=True) if x.kind is None}
    chosen: list[int] = []
    named: set[tuple[int, Kind | None, int | None]] = set()
    now, fitted = [_squares(g, []) for g in grams], _squares(whole, [])
    first, first_fitted = now, fitted
    for _ in range(4 * len(joints)):
        best: tuple[float, int, list[Array], list[int]] | None = None
        for c, candidate in enumerate(found):
            own = list(range(places[c], places[c + 1]))
            if candidate.kind is None or not any(g[0][own, own].any() for g in grams) or set(own) & set(chosen):
                continue
            after = [_squares(g, chosen + own) for g in grams]
            gains = [float((a - b).sum()) for a, b in zip(now, after, strict=True)]
            j = candidate.joint
            least = max(LEAST * sum(a[j] for a in now), LEAST_AT_FIRST * sum(a[j] for a in first))
            if min(gains) <= 0 or sum(gains) <= max(least, 0.0 if best is None else best[0]):
                continue
            before, left = _explained(candidate, now, after)
            if left > (1.0 - LEAST) * before:  # it helps other joints only: their halves are poor, no fault of this one
                continue
            if candidate.kind == "delay":
                given = chosen + alike[j]
                worth = [float((_squares(g, given) - _squares(g, given + own)).sum()) for g in grams]
                if min(worth) <= 0 or sum(worth) <= least:
                    continue
            in_all = float((fitted - _squares(whole, chosen + own)).sum())
            if in_all > max(LEAST * fitted[j], LEAST_AT_FIRST * first_fitted[j]):
                best = sum(gains), c, after, own
        if best is None:
            return
        _, c, after, own = best
        candidate = found[c]
        chosen += own
        fitted = _squares(whole, chosen)
        value = float(_solved(whole[0], chosen)[-1]) if len(own) == 1 else None
        before, left = _explained(candidate, now, after)
        now = after
        key = (candidate.joint, candidate.kind, candidate.other)
        if candidate.kind and key not in named:  # what is left of one kind is not another fault
            named.add(key)
            yield Hint(
                joints[candidate.joint],
                candidate.kind,
                candidate.what,
                value,
                1.0 - float(np.sqrt(max(left, 0.0) / before)),
                None if candidate.other is None else joints[candidate.other],
            )


def _explained(candidate: _Candidate, now: list[Array], after: list[Array]) -> tuple[float, float]:
    """Return the squares that a term has to explain and what it leaves: its joint's, for a gain those of all joints."""
    mine: slice | int = slice(None) if candidate.kind == "gain" else candidate.joint
    before, left = (float(sum(x[mine].sum() for x in y)) for y in (now, after))
    return before, left


def _squares(gram: Array, chosen: list[int]) -> Array:
    """Return each joint's squared residual (n,) in the test half with the chosen columns fitted in the other one."""
    if not chosen:
        return np.asarray(gram[1:, -1, -1])
    c = _solved(gram[0], chosen)
    test = gram[1:]
    cross = test[:, chosen, -1] @ c
    return np.asarray(test[:, -1, -1] - 2.0 * cross + np.einsum("i,jik,k->j", c, test[:, chosen][:, :, chosen], c))


def _solved(gram: Array, chosen: list[int]) -> Array:
    """Return the least-squares coefficients of the chosen columns from a Gram matrix."""
    G = gram[np.ix_(chosen, chosen)]
    size = np.sqrt(np.where(np.diag(G) > 0, np.diag(G), 1.0))
    return np.asarray(
        np.linalg.pinv(G / np.outer(size, size), rcond=1e-9, hermitian=True) @ (gram[chosen, -1] / size) / size
    )


def sentence(hint: Hint, prismatic: frozenset[str] = frozenset()) -> str:
    """Return a hint in plain words, with what to do; `prismatic`: names of the joints that slide."""
    unit, way = ("N", "m") if hint.joint in prismatic else ("N m", "rad")
    value = hint.value or 0.0
    told = {
        "delay": f"measured torque {'lags' if value > 0 else 'leads'} the prediction by about {abs(value) * 1e3:.2g}"
        " ms; set delay_s if the recorder causes it",
        "gain": f"measured torque is {abs(value):.1%} {'larger' if value > 0 else 'smaller'} than the other joints"
        " allow; check torque constant, gear ratio and unit",
        "offset": f"the residual is {value:.3g} {unit} on average; add an offset",
        "drift": f"friction {'grows' if value > 0 else 'falls'} by {float(f'{abs(value):.2g}'):g} {unit}"
        + (f" at 1 {way}/s" if hint.what == "speed" else "")
        + " from the first row to the last; warm the robot up before, or fit the warm part alone (start_s)",
        "spring": f"the residual follows position ({value:.3g} {unit}/{way}); a spring, balancer, hose or cable is"
        " missing from the model",
        "coupling": f"the residual follows the {hint.what} of {hint.other}; look for a coupled transmission"
        if hint.what == "movement"
        else f"the residual follows the torque of {hint.other}; look for crosstalk of the sensors or a coupled drive",
    }
    friction = {name: f"the residual {kind.trace}; {kind.words} is missing" for name, kind in kinds().items()} | {
        "at low speed": "friction near standstill is "
        + ("larger" if value > 0 else "smaller")
        + " than the law says; "
        + f"try {below('model', f'{Stribeck.kind.key} = {Stribeck.kind.example}') if value > 0 else SMOOTH}",
        "bent": f"friction bends with speed more than its law; try {NonlinearViscous.kind.key}, or another power of it",
        "by direction": f"friction at speed differs between the two directions; try {ViscousAsymmetry.kind.key} = true",
        "by load": f"friction grows with the load on the joint, as that of gears does; try {LoadFriction.kind.key}",
    }
    what = friction[hint.what] if hint.kind == "friction" else told[hint.kind]
    whose = "what no joint explains falls" if hint.kind == "gain" else "its residual falls"
    shown = ", ".join(f"“{name}”" for name in hint.recordings[:_NAMED])
    more = f" and {len(hint.recordings) - _NAMED} more" if len(hint.recordings) > _NAMED else ""
    where = f" Seen in {len(hint.recordings)} of {hint.looked_at} recordings: {shown}{more}." if shown else ""
    return f"{hint.joint}: {what}. With that, {whose} by {hint.share:.0%}.{where}"


@dataclass(frozen=True, eq=False)
class Residuals:
    """Recordings put one after the other: t (N,) [s] of each one's own clock, its states q, qd and residual (N, n).

    names: the recordings, starts: their first rows.
    """

    names: tuple[str, ...]
    starts: tuple[int, ...]
    t: Array
    q: Array
    qd: Array
    residual: Array

    def rms(self) -> Array:
        """Return the root mean square of each joint's residual in each recording (k, n) [N m; N]."""
        parts = pairwise((*self.starts, len(self.t)))
        return np.array([np.sqrt(np.mean(self.residual[a:b] ** 2, axis=0)) for a, b in parts])


def residuals(model: Model, theta: Array, motions: Sequence[Motion]) -> Residuals:
    """Return measured less predicted torque of motions that have samples, at least one of them."""
    left = [m.tau - torque(model, theta, m.q, m.qd, m.qdd, signals=m.signals()) for m in motions]
    starts = np.cumsum([0, *(len(m.t) for m in motions[:-1])])
    return Residuals(
        tuple(m.name for m in motions),
        tuple(starts.tolist()),
        np.concatenate([m.t for m in motions]),
        np.concatenate([m.q for m in motions]),
        np.concatenate([m.qd for m in motions]),
        np.concatenate(left),
    )
