"""Prediction of torque on other recordings, with the CAD-only and the zero prediction beside it; what it leaves."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from math import prod

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ident.arrays import Array, frozen
from ident.errors import ModelError
from ident.estimate.covariance import Covariance, half_widths
from ident.logs.filter import decimate
from ident.logs.motion import Motion
from ident.model.model import Model, torque
from ident.model.term import RECORDED
from ident.regression.base import BaseParameters, base_parameters
from ident.regression.compress import compress
from ident.regression.regression import Regression, repeated_in
from ident.shown import Shown, shows

#: Name of the prediction that says no torque at all; its relative error is 1.
ZERO = "zero"
#: A joint that stands is held by friction where so many times its own is missed: it may be of either sign.
HELD = 2.0
#: A standing joint's torques are none where their squares are so small a part of what is missed there, thinning having
#: smeared those of the motion before and after, and so little is missed where it moves.
NONE, FOLLOWED = 0.25, 0.15
#: It stands in more than this share of the rows, or only turns round.
STANDS = 0.05
#: Brakes hold the robot where all joints stand with less than this share of their usual torques, in so many rows; of
#: thinned rows so many more on both sides have a part of it.
QUIET, BRAKED, SMEARED = 0.1, 20, 3
#: A slow way there and back [rad; m], in so many rows each.
WAY, STEPS = 0.1, 201


@dataclass(frozen=True, eq=False)
class Predicted:
    """How one set of parameters predicts one recording's torque.

    squared (n,), energy (n,): sums of squared residuals and of squared torques per joint; samples (n,). every (2, n):
    the same sums with the rows in which a joint stands; None where these count. raw (2, n): the sums of all rows as
    they are before thinning; None where nothing is thinned.
    """

    name: str
    squared: Array
    energy: Array
    samples: Array
    raw: Array | None = None
    every: Array | None = None

    @property
    def rms(self) -> Array:
        """Residual of each joint (n,) [N m; N], NaN where no sample is left."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(np.sqrt(self.squared / self.samples))

    @property
    def relative(self) -> Array:
        """||tau - tau_hat|| / ||tau|| of each joint (n,), NaN where the torque is zero throughout."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(np.where(self.energy > 0, np.sqrt(self.squared / self.energy), np.nan))

    @property
    def relative_total(self) -> float:
        """||tau - tau_hat|| / ||tau|| over all joints."""
        return _relative(self.squared, self.energy)

    @property
    def raw_total(self) -> float | None:
        """The same of the torque before thinning, None where nothing is thinned."""
        return None if self.raw is None else _relative(*self.raw)

    @property
    def every_total(self) -> float | None:
        """The same with the rows in which joints stand, None where these count."""
        return None if self.every is None else _relative(*self.every)


def _relative(squared: Array, energy: Array) -> float:
    return float(np.sqrt(squared.sum() / energy.sum())) if energy.sum() > 0 else float("nan")


@dataclass(frozen=True, eq=False)
class ValidatedRecording:
    """One recording: its samples per joint (n,), whether it was kept out of the fit (None: not known), predictions.

    again: whether its motion is one that was fitted.
    """

    recording: str
    held_out: bool | None
    samples: Array
    predictions: tuple[Predicted, ...]
    again: bool = False

    def of(self, name: str) -> Predicted:
        """Return the prediction of that name."""
        return next(p for p in self.predictions if p.name == name)


@shows
@dataclass(frozen=True, eq=False)
class Validation:
    """Predictions on recordings. `names`: of the predictions, zero last; `units`: of each joint's torque.

    unusable: sentences on torques that are no measurement; no prediction of them means anything. band_hz [Hz]: torque
    and prediction are compared below it, where thinning has taken away the rest; None: as they are. noise (n,): how
    noisy the readings of each torque are at least, in that band [N m; N]; None: not known. allowed (n,): half the width
    of the fit's 95 % intervals, as torque on what was held out [N m; N, rms]; None: not known. apart: whether some are
    of other files than those that were fitted.
    """

    joints: tuple[str, ...]
    units: tuple[str, ...]
    names: tuple[str, ...]
    recordings: tuple[ValidatedRecording, ...]
    warnings: tuple[str, ...] = ()
    unusable: tuple[str, ...] = ()
    band_hz: float | None = None
    noise: Array | None = None
    allowed: Array | None = None
    apart: bool = True

    def shown(self) -> Shown:
        """Return each recording's error relative to the torque, of every prediction."""
        rows = [
            (
                r.recording,
                {True: "yes", False: "NO", None: "?"}[r.held_out],
                *(f"{p.relative_total:.3%}" for p in r.predictions),
            )
            for r in self.recordings
        ]
        return "Prediction of recordings", ("recording", "held out", *self.names), rows

    @property
    def held_out(self) -> tuple[ValidatedRecording, ...]:
        """The recordings that are known to have been kept out of the fit: only these validate anything."""
        return tuple(r for r in self.recordings if r.held_out)

    @property
    def unseen(self) -> str:
        """What was kept out of the fit, in words."""
        if self.held_out and all(r.again for r in self.held_out):
            return "repeats of a fitted motion"
        return "motions never seen" if self.apart else "other rows of the fitted log"

    def missed(self, name: str) -> Array:
        """Return what a prediction misses of each torque (n,), relative to it: the error without the readings' noise.

        NaN where no recording was held out.
        """
        total = self.total(name)
        if total is None or self.noise is None:
            return np.full(len(self.joints), np.nan) if total is None else total.relative
        with np.errstate(invalid="ignore", divide="ignore"):
            share = np.sqrt(np.maximum(1.0 - (self.noise / total.rms) ** 2, 0.0))
        return np.asarray(np.where(total.rms > 0, share, 0.0) * total.relative)

    @property
    def opposed(self) -> bool:
        """Whether the bodies of CAD predict less of the torques than none do, as where gravity is upside down."""
        cad = self.total("CAD") if "CAD" in self.names else None
        return cad is not None and cad.relative_total > 1.0

    def total(self, name: str) -> Predicted | None:
        """Return one prediction over all held-out recordings together, None when there is none."""
        parts = [r.of(name) for r in self.held_out]
        if not parts:
            return None
        raws = [p.raw for p in parts if p.raw is not None]
        every = [np.array([p.squared, p.energy]) if p.every is None else p.every for p in parts]
        return Predicted(
            name,
            np.sum([p.squared for p in parts], axis=0),
            np.sum([p.energy for p in parts], axis=0),
            np.sum([p.samples for p in parts], axis=0),
            None if len(raws) < len(parts) else np.sum(raws, axis=0),
            None if all(p.every is None for p in parts) else np.sum(every, axis=0),
        )


def validate(
    model: Model,
    motions: Motion | Iterable[Motion],
    predictions: Mapping[str, ArrayLike],
    *,
    fitted: Regression | Collection[str] | None,
    base: BaseParameters | None = None,
    standing: ArrayLike = 0.0,
    covariance: Covariance | None = None,
) -> Validation:
    """Return how well each prediction gives the torque of each recording, joint by joint.

    motions: recordings, or parts of them, taken one after the other so that memory stays flat; masks and thinning
    are those of the fit, for the sums come from the same factors. predictions: name -> theta (p,) or phi (b,), such as
    {"identified": estimate.phi, "CAD": cad_theta(...)[0]}; the zero prediction is added. fitted: what the fit
    saw, as its factors or the names of its recordings; None when that is not known. A recording that was in the
    fit (by name, or the same numbers) is marked `held_out = False` and warned of: it shows the fit and validates
    nothing. standing, one or (n,): a joint slower than this [rad/s; m/s] stands, and friction then holds any torque up
    to its own, which no law of the speed predicts. Such rows do not count where what the first prediction misses in
    them is no more than this, or brakes hold the robot; `Predicted.every` has them. covariance: of the fit's phi.
    Raises ModelError for parameters of a wrong length or a prediction called "zero", and what `compress` raises.
    """
    if ZERO in predictions:
        raise ModelError("a prediction is called 'zero'", fix="Give it another name")
    base = base or base_parameters(model)
    phis = {name: _phi(base, model, values, name) for name, values in predictions.items()}
    phis[ZERO] = np.zeros(len(base.names))
    bands, sums = list[float](), dict[tuple[str, str], Array]()
    slow = np.broadcast_to(np.asarray(standing, dtype=np.float64), (model.robot.n,))

    def heard() -> Iterator[Motion]:
        for motion in (motions,) if isinstance(motions, Motion) else motions:
            if motion.band_hz is not None:
                bands.append(motion.band_hz)
            if motion.band_hz is not None or slow.any():
                for key, phi in (((motion.name, name), phi) for name, phi in phis.items()):
                    sums[key] = sums.get(key, 0.0) + _sums(model, base, phi, motion, slow)
            yield motion

    regression = compress(model, heard(), base=base)
    recordings, warnings = [], []
    for recording in regression.recordings:
        part = regression.only([recording])
        held_out, again, why = _held_out(part, recording, fitted)
        warnings += [why] if why else []
        energy, rows = part.squared_torques, part.rows
        every = {name: np.array([part.squared_residuals(phi), energy, rows]) for name, phi in phis.items()}
        held = np.zeros(len(slow), dtype=bool)
        if slow.any():
            most = HELD * _friction(model, base, phis[first := next(iter(phis))], slow)
            held, braked = _standing(every[first], sums[recording, first], most)
            warnings += _braked(recording, [j for j, x in zip(model.robot.joint_names, braked, strict=True) if x])
        found = list[Predicted]()
        for name, all_rows in every.items():
            own = sums.get((recording, name))
            squared, energy, samples = all_rows if own is None else np.where(held, own[2:5], all_rows - own[5:])
            as_logged = None if own is None or not bands else own[:2]
            with_still = all_rows[:2] if slow.any() else None
            found.append(Predicted(name, squared, energy, samples.astype(int), as_logged, with_still))
        recordings.append(ValidatedRecording(recording, held_out, found[0].samples, tuple(found), again))
    return Validation(
        model.robot.joint_names,
        model.robot.units("torque"),
        tuple(phis),
        tuple(recordings),
        tuple(warnings),
        band_hz=min(bands, default=None),
        noise=np.array(regression.least_noise),
        allowed=_allowed(regression, recordings, covariance),
    )


def _allowed(
    regression: Regression, recordings: Sequence[ValidatedRecording], covariance: Covariance | None
) -> Array | None:
    """Return half the width (n,) of 95 % intervals of the torque, rms over what was held out: trace(Y_j' Y_j C) / N."""
    held_out = [r.recording for r in recordings if r.held_out]
    if covariance is None or not held_out:
        return None
    part, known = regression.only(held_out), np.nan_to_num(covariance.matrix)
    each = zip((F[:, :-1] for F in part.joint_factors), part.parameters, strict=True)
    squares = np.array([np.sum((R @ known[np.ix_(of, of)]) * R) for R, of in each])
    return half_widths(np.sqrt(np.maximum(squares, 0.0) / np.maximum(part.rows, 1)), covariance.dof)


def _standing(every: Array, sums: Array, most: Array) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return where (n,) rows in which a joint stands do not count: friction holds it, or something that is not logged.

    every (3, n): sums of squared residuals and torques, and rows; sums (8, n): as of `_sums`; most (n,): what friction
    may hold. Where brakes hold the whole robot for a while, these rows never count, and the others stand as they do.
    """
    moving, off = sums[2:5], sums[5:]
    still, moves = every - moving, moving[2] > 0
    others = still - off
    within, followed = others[0] <= others[2] * most**2, moving[0] < FOLLOWED**2 * moving[1]
    braked = moves & ~within & followed & (still[1] < NONE * still[0]) & (still[2] > STANDS * every[2])
    return moves & (within | braked), braked | (off[0] > off[2] * most**2)


def _braked(recording: str, joints: Sequence[str]) -> list[str]:
    """Return that torques of standing joints are no measurement of what holds them."""
    if not joints:
        return []
    said = f"{recording}: where {', '.join(joints)} stand, their torques are next to zero, and are not where they move"
    return [
        f"{said}: brakes hold them, or the drives are off. These rows do not count; `rows` in dataset.toml cuts them"
    ]


def _sums(model: Model, base: BaseParameters, phi: Array, motion: Motion, slow: Array) -> Array:
    """Return sums (8, n): squared residuals and squared torques as logged; these and rows where joints move, and where
    brakes hold all of them.

    The latter six are of thinned rows. slow (n,): a joint that is slower stands [rad/s; m/s].
    """
    residual = motion.tau - torque(model, base.theta(phi), motion.q, motion.qd, motion.qdd, signals=motion.signals())
    keep = np.repeat(motion.keep, prod(motion.decimation), axis=0)[: len(motion.q)]
    logged = [np.sum(keep * x**2, axis=0) for x in (residual, motion.tau)]
    r, tau, qd = (decimate(x, motion.decimation) if motion.decimation else x for x in (residual, motion.tau, motion.qd))
    moves = np.abs(qd) >= slow
    each = (motion.keep & rows for rows in (moves, _held_by_brakes(motion, slow)))
    parts = ([*(np.sum(rows * x**2, axis=0) for x in (r, tau)), rows.sum(axis=0)] for rows in each)
    return np.array([*logged, *chain.from_iterable(parts)])


def _held_by_brakes(motion: Motion, slow: Array) -> NDArray[np.bool_]:
    """Return which thinned rows (M, 1) are of stretches without any torque in which, for the most part, no joint moves.

    Thinning smears the torque of before and after.
    """
    none = np.all(np.abs(motion.tau) <= QUIET * np.sqrt(np.mean(motion.tau**2, axis=0)), axis=1)
    stands, step = np.all(np.abs(motion.qd) < slow, axis=1), prod(motion.decimation)
    ends, found = np.flatnonzero(np.diff(none, prepend=False, append=False)), np.zeros((len(motion.keep), 1), bool)
    for begin, end in zip(ends[::2], ends[1::2], strict=True):
        if end - begin >= BRAKED and np.mean(stands[begin:end]) > 0.5:
            smeared = SMEARED * (step > 1)
            found[max(begin // step - smeared, 0) : -(-end // step) + smeared] = True
    return found


def _friction(model: Model, base: BaseParameters, phi: Array, slow: Array) -> Array:
    """Return by how much friction holds each joint (n,) [N m; N]: half of what a slow way there and back differ by."""
    n, theta = model.robot.n, base.theta(phi)
    there = np.linspace(0.0, 1.0, STEPS)[:, None]
    q, qd = np.vstack([there, there[-2::-1]]) * WAY, np.repeat(np.array([1.0, -1.0]), (STEPS, STEPS - 1))[:, None]
    signals = {name: np.zeros(len(q)) for name in RECORDED}
    tau = torque(
        model, theta, np.tile(q, n), np.maximum(slow, WAY / STEPS) * qd, np.zeros((len(q), n)), signals=signals
    )
    return np.asarray(np.abs(tau[STEPS // 2] - tau[-STEPS // 2]) / 2.0)


def _held_out(
    part: Regression, recording: str, fitted: Regression | Collection[str] | None
) -> tuple[bool | None, bool, str | None]:
    """Return whether the fit never saw this recording, whether it saw its motion, and a warning where it did or where
    that is not known.
    """
    if fitted is None:
        return None, False, f"It is not known whether the fit saw recording '{recording}'; its errors may flatter."
    if isinstance(fitted, Regression):
        seen = {s.identity: s.recording for s in fitted.segments}
        same = [seen[s.identity] for s in part.segments if s.identity in seen]
        names: Collection[str] = fitted.recordings
        again = repeated_in(part, fitted) is not None
    else:
        same, names, again = [], fitted, False
    if recording in names:
        return False, True, f"Same recording: '{recording}' was fitted; its errors show the fit and validate nothing."
    if same:
        return False, True, f"Same recording: '{recording}' holds the same numbers as '{same[0]}', which was fitted."
    return True, again, None


def _phi(base: BaseParameters, model: Model, values: ArrayLike, name: str) -> Array:
    p, b = len(model.names), len(base.names)
    given = np.shape(values)
    if given == (p,):
        return np.asarray(base.K @ frozen(values, (p,), f"prediction '{name}'", ModelError))
    if given == (b,):
        return frozen(values, (b,), f"prediction '{name}'", ModelError)
    problem = f"prediction '{name}' has shape {given}, wanted ({p},) standard or ({b},) base parameters"
    raise ModelError(problem, fix="Use parameters of the same model")


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
