"""How well a robot and a log, as they are read, explain each other.

Each channel's noise being unknown, a reading with torques B tau is as probable as

    log p = N (log |det B| - 1/2 sum_j log E_j) + const,

E_j being the mean squared error of joint j's torque on stretches left out of a least-squares fit, or
that of links that can exist on all stretches where this is larger: a mistake that only impossible bodies make up for
costs. N is the number of independent rows: of all, over the time within which what is left of the joint where that is
longest resembles itself.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ident.arrays import Array
from ident.compare.causes.normal import Blocks, factor_of, solved, solved_for
from ident.compare.causes.reading import STRETCHES, Reading, Rows
from ident.dynamics.rigid_body import inverse_dynamics
from ident.errors import IdentError
from ident.estimate.bounds import Bounds
from ident.estimate.cones import Coordinates
from ident.estimate.log_det_newton import LogDetNewton
from ident.estimate.prior import Prior, neutral_prior
from ident.model.model import Model
from ident.model.term import names
from ident.regression.base import BaseParameters
from ident.regression.compress import Columns, packed_columns, rows_with

#: Of the square of a change that a value makes: what is left of one that parameters make up for.
_SPANNED = 1e-7
#: No error counts as smaller than this share of the torque.
_LEAST = 1e-5
_ROUNDS = 4
#: Windows of the rows that count by themselves, and how often they are weighed, where some may be off.
_WINDOWS, _STEADY = 40, 6
#: What resembles itself by less than this is independent.
_ALIKE = 0.1
#: Rows of a recording for each column of a joint that is fitted to it alone.
_ENOUGH = 10
#: What has been found lifts what was tried before by so many times its own log odds at most, and LOW more.
TWICE, LOW = 2.0, 50.0
#: Columns of readings that are kept, for most mistakes leave those of the states, or of joint terms, as they are.
_KEPT = 9

_T = TypeVar("_T")


@dataclass(frozen=True, eq=False)
class Weighed:
    """A reading, how probable it is (`log`, up to a constant), and what it leaves.

    errors (K, n): mean squared errors of the torques, stretch by stretch, when they are left out; torques (n,): mean
    squares of the torques themselves; noise (n,); phi (p,): parameters, of least size where only their sums show; gram
    (p + 1, p + 1): of all rows divided by the noise. bodies: whether links that can exist have been asked for, and
    excess (n,): the mean squared errors of those, which have theta (p,), None where none were found.
    """

    reading: Reading
    log: float
    errors: Array
    torques: Array
    noise: Array
    phi: Array
    gram: Array
    bodies: bool = False
    excess: Array = field(default_factory=lambda: np.zeros(0))
    theta: Array | None = None

    @property
    def left(self) -> Array:
        """Mean squared error of each joint (n,)."""
        mean = self.errors.mean(axis=0)
        return np.asarray(np.maximum(mean, self.excess) if self.bodies else mean)

    def channels(self, x: Array) -> Array:
        """Return what there is of each joint (..., n) in the order of the log's torques."""
        found = np.zeros_like(x)
        found[..., np.argmax(np.abs(self.reading.torques), axis=1)] = x
        return found

    @property
    def relative(self) -> float:
        """Error over all joints, relative to the torque."""
        return float(np.sqrt(self.left.sum() / self.torques.sum())) if self.torques.any() else float("nan")


class Tried:
    """Log odds of what was tried beside earlier readings, by a name of it.

    What has been found since may lift any of them by TWICE what it explains itself: what is hopeless for all that is
    not tried again. least: log odds of links that can exist, above which any counts.
    """

    def __init__(self) -> None:
        self._odds: dict[Hashable, tuple[float, float]] = {}
        self._found, self.least = 0.0, 0.0

    def since(self, found: float) -> None:
        """Count a cause that has been found, by its log odds."""
        self._found += found

    def tell(self, name: Hashable, odds: float) -> float:
        """Keep and return the log odds of what has been tried."""
        self._odds[name] = odds, self._found
        return odds

    def hopeless(self, name: Hashable) -> bool:
        """Return whether what has been tried must be expected to explain less than nothing still."""
        odds, found = self._odds.get(name, (0.0, 0.0))
        return odds + TWICE * (self._found - found - self.least) < -LOW


class Weigher:
    """Weighs readings of the same rows under one kind of model. robot, terms: `model`; prior: of its links.

    plain: the reading of the files as they are, weighed by all rows; independent: how many of these are; tried: beside
    readings before.
    """

    def __init__(self, model: Model, rows: Rows, prior: Prior):
        self._model, self.rows, self._prior = model, rows, prior
        self._columns: dict[tuple[str, str], Columns] = {}
        self._made: dict[tuple[object, ...], Any] = {}
        self.tried = Tried()
        self.independent = float(len(rows.keep))
        self.plain = self.weighed(Reading.plain(model.robot), left_out=False)
        if self.takes_load(self.plain):
            self.plain = self.weighed(self.plain.reading, left_out=False)
        self.independent = self._independent(self.plain)

    def takes_load(self, state: Weighed) -> bool:
        """Return whether friction grows with load, and take the joints' load from what a reading tells, from now on.

        A load of given links would follow each mistake, and mistakes make up for what is off in these links.
        """
        some = any("load" in getattr(term, "needs", ()) for term in self.columns(state.reading).model.terms)
        if some:
            self.rows, self._made = _with_load(self.rows, state), {}
        return some

    def columns(self, reading: Reading) -> Columns:
        """Return where the columns of the model of this reading's robot stand."""
        key = reading.robot.fingerprint(), repr(reading.terms)
        if key not in self._columns:
            model = replace(self._model, robot=reading.robot, terms=(*self._model.terms, *reading.terms))
            self._columns[key] = packed_columns(model, BaseParameters.each(model.names))
        return self._columns[key]

    def weighed(
        self, reading: Reading, *, left_out: bool = True, bodies: bool = False, weights: Array | None = None
    ) -> Weighed:
        """Return what a reading is worth; bodies: whether links must be able to exist.

        left_out: whether errors are those of stretches left out; else those of a fit to all rows, which is faster.
        weights (N,): of the rows, all 1 by default.
        """
        columns, keep = self.columns(reading), self.kept(reading)
        n, p = reading.robot.n, len(columns.base.kept)
        blocks, tau = self._blocks(columns, reading, weights)
        grams, counts = blocks.grams(tau), np.maximum(keep.sum(axis=0), 1)

        def squares(phi: Array) -> Array:
            each, own = zip(blocks.places, grams, strict=True), np.append(phi, -1.0)
            return np.array([max(float(own[at] @ g @ own[at]), 0.0) for at, g in each])

        torques = np.array([g[-1, -1] for g in grams]) / counts
        least = _LEAST**2 * torques.max() + 1e-300
        noise, phi = np.sqrt(np.maximum(torques, least)), np.zeros(p)
        for _ in range(_ROUNDS):
            phi = solved(blocks.summed(grams, noise))
            noise = np.sqrt(np.maximum(squares(phi) / counts, least))
            # a joint without motor would else make all parameters small
            noise = np.where(torques > least, noise, noise[torques > least].max(initial=0.0) or 1.0)
        whole = blocks.summed(grams, noise)
        errors = (squares(phi) / counts)[None]
        if left_out:
            errors = np.zeros((STRETCHES, n))
            for k, (first, last) in enumerate(self.rows.stretches):
                without = solved(whole - blocks.summed(blocks.grams(tau, k), noise))
                for j, used in enumerate(columns.parameters):
                    part = tau[first:last, j]
                    left = blocks.rows[j][first:last] @ without[list(used)] - part
                    # what only this stretch shows is no evidence: to say nothing of it errs by the torque
                    errors[k, j] = min(left @ left, part @ part) / max(int(keep[first:last, j].sum()), 1)
            some = np.array([keep[first:last].any() for first, last in self.rows.stretches])
            errors[~some] = errors[some].mean(axis=0)  # a stretch that is ignored is no evidence
        found = Weighed(reading, 0.0, errors, torques, noise, phi, whole)
        if bodies:
            theta = self._possible(columns, whole, float(counts.sum()))
            excess = torques if theta is None else squares(theta) / counts
            found = replace(found, bodies=True, excess=excess, theta=theta)
        return replace(found, log=self._log(found))

    def steady(self, reading: Reading) -> Weighed:
        """Return a reading weighed so that windows count the less the more they are off: the least sum of their rms."""
        state = self.weighed(reading, left_out=False)
        first = np.arange(0, len(self.rows.keep), max(len(self.rows.keep) // _WINDOWS, 1))
        size = np.diff([*first, len(self.rows.keep)])
        for _ in range(_STEADY):
            squares = np.mean((self.residual(state) * self.kept(reading) / state.noise) ** 2, axis=1)
            rms = np.sqrt(np.add.reduceat(squares, first) / size)
            weights = np.repeat(1.0 / np.maximum(rms, np.median(rms) + 1e-300), size)
            state = self.weighed(reading, left_out=False, weights=weights / weights.max())
        return state

    def told(self, reading: Reading, inertials: Array) -> Weighed:
        """Return what links (n, 10) leave of the torques, joint terms by least squares of all rows; no `log`."""
        columns, keep = self.columns(reading), self.kept(reading)
        p, rigid = len(columns.base.kept), columns.model.n_rigid
        Y, tau = self.packed(columns, reading)
        theta, gram = np.zeros(p), np.zeros((p + 1, p + 1))
        theta[:rigid] = inertials.ravel()
        for j, ((start, stop), used) in enumerate(zip(columns.span, columns.parameters, strict=True)):
            links = [k for k, i in enumerate(used) if i < rigid]
            left = tau[:, j] - Y[:, start : stop - 1][:, links] @ theta[[used[k] for k in links]]
            block = np.column_stack([Y[:, start : stop - 1], left]) * keep[:, j, None]
            gram[np.ix_([*used, p], [*used, p])] += block.T @ block / max(float(block[:, -1] @ block[:, -1]), 1e-300)
        own = np.arange(rigid, p + 1)
        theta[rigid:] = solved(gram[np.ix_(own, own)])
        counts = np.maximum(keep.sum(axis=0), 1)
        left = _residual(columns, Y, tau, theta) * keep
        torques = np.sum((tau * keep) ** 2, axis=0) / counts
        errors = np.sum(left**2, axis=0) / counts
        return Weighed(reading, np.nan, errors[None], torques, np.sqrt(errors), theta, gram, theta=theta)

    def kept(self, reading: Reading) -> NDArray[np.bool_]:
        """Return which rows (N, n) of each joint count."""
        if not reading.ignored:
            return self.rows.keep
        return np.asarray(self.rows.keep & ~self.rows.within(reading.ignored)[:, None])

    def residual(self, state: Weighed) -> Array:
        """Return what a reading leaves of each torque (N, n)."""
        columns = self.columns(state.reading)
        return _residual(columns, *self.packed(columns, state.reading), state.phi)

    def slopes(self, state: Weighed, to: Reading, step: float) -> tuple[float, float]:
        """Return the value of which the torques are explained best, and its worth in log p, by Gauss and Newton.

        state: the reading at 0; to: the reading at a small step, of the difference.
        """
        columns = self.columns(state.reading)
        changed = replace(columns, model=replace(columns.model, robot=to.robot))  # a value adds no columns
        Y, tau = self.packed(columns, state.reading)
        r = _residual(columns, Y, tau, state.phi)
        # in the units of the torques as they are read now: noise is no less where a gain is smaller
        units = np.linalg.solve(to.torques.T, state.reading.torques.T)
        ahead = _residual(changed, *self.packed(changed, to), state.phi)
        ahead *= np.exp(state.reading.steeper(self.rows) - to.steeper(self.rows))
        d = (ahead @ units - r) / step
        weights = self.kept(state.reading) / state.noise**2
        rd, dd = float(np.sum(weights * r * d)), float(np.sum(weights * d * d))
        cross = np.zeros(len(state.phi))
        for j, ((start, stop), used) in enumerate(zip(columns.span, columns.parameters, strict=True)):
            cross[list(used)] += Y[:, start : stop - 1].T @ (weights[:, j] * d[:, j])
        G = state.gram[:-1, :-1]
        hidden = solved_for(G, cross)
        left = dd - float(cross @ hidden)
        along = rd - float((state.gram[:-1, -1] - G @ state.phi) @ hidden)
        if left <= _SPANNED * dd:
            return 0.0, 0.0
        share = self.independent / max(len(self.rows.keep), 1)
        return -along / left, 0.5 * share * along**2 / left

    def left_in_log(self, state: Weighed) -> Array:
        """Return what a reading leaves of each torque of the log (N, n), of links that can exist where there are."""
        columns = self.columns(state.reading)
        theta = state.phi if state.theta is None else state.theta
        left = _residual(columns, *self.packed(columns, state.reading), theta)
        left *= np.exp(-state.reading.steeper(self.rows))
        for k, j in state.reading.turned:
            left[self.rows.within([(k, -np.inf, np.inf)]), j] *= -1.0
        return np.asarray(np.linalg.solve(state.reading.torques, left.T).T)

    def predicted(self, state: Weighed, t: Array, q: Array, qd: Array, qdd: Array) -> Array:
        """Return the torques (N, n) that a log of a motion t (N,), q, qd, qdd (N, n) would have under a reading."""
        keep = np.ones(q.shape, dtype=bool)
        moved = copy(self)
        rows = Rows(t, q, qd, qdd, np.zeros_like(q), (0,), (((), 1),), keep, ((0, len(t)),), {"time": t})
        moved.rows, moved._made = _with_load(rows, state), {}
        return -moved.left_in_log(
            replace(state, reading=replace(state.reading, loads=(), apart=(), turned=(), rubbing=(), ignored=()))
        )

    def packed(self, columns: Columns, reading: Reading) -> tuple[Array, Array]:
        """Return the rows of packed columns (N, width) and of torques (N, n), those of loads taken out of the latter.

        The columns are kept: nobody may write into them.
        """
        rows = reading.of(self.rows)
        tau = self.rows.left(rows.tau)
        key = self._key(columns, reading)
        Y: Array = self._once(key, lambda: self.rows.left(self._columns_of(columns, reading, rows)))
        for stretches, body in reading.loads:
            at = self.rows.within(stretches)
            for joint, ((start, _), used) in enumerate(zip(columns.span, columns.parameters, strict=True)):
                for place, i in last_link(used, reading.robot.n).items():
                    tau[at, joint] -= Y[at, start + place] * body[i]
        return Y, tau

    def _key(self, columns: Columns, reading: Reading) -> tuple[object, ...]:
        """Return what tells the columns of a reading from others'."""
        own = columns.model.terms[len(self._model.terms) :]
        states = (*reading.moved, columns.model.robot.fingerprint(), repr(own))
        rubbing = tuple((k, exponents.tobytes()) for k, exponents in reading.rubbing)
        return *states, reading.weightless.tobytes(), reading.warming.tobytes(), rubbing, reading.blurred

    def _blocks(self, columns: Columns, reading: Reading, weights: Array | None) -> tuple[Blocks, Array]:
        """Return the columns of the rows that count, and torques (N, n), times the roots of weights (N,)."""
        (Y, tau), p = self.packed(columns, reading), len(columns.base.kept)
        rows = self.kept(reading).astype(float) if weights is None else self.kept(reading) * np.sqrt(weights)[:, None]

        def made() -> Blocks:
            each = (Y[:, start : stop - 1] * rows[:, j, None] for j, (start, stop) in enumerate(columns.span))
            return Blocks(list(each), [np.array([*used, p]) for used in columns.parameters], self.rows.stretches)

        key = "blocks", *self._key(columns, reading), reading.ignored
        return (self._once(key, made) if weights is None else made()), tau * rows

    def _columns_of(self, columns: Columns, reading: Reading, rows: Rows) -> Array:
        """Return the packed columns (M, width) of the samples that a reading makes of the rows."""
        model = columns.model
        key = "terms", *reading.moved, repr(model.terms[len(self._model.terms) :])
        # friction was chosen for velocities as they are declared: a clock that is off bends its law, and tells nothing
        qd = reading.clock * rows.qd
        terms: Array = self._once(key, lambda: model.term_columns(rows.q, qd, rows.qdd, signals=rows.signals))
        packed = rows_with(columns, rows.q, rows.qd, rows.qdd, terms)
        if reading.weightless.any():
            still = reading.robot.with_gravity(np.zeros(3))
            without = replace(columns, model=replace(columns.model, robot=still))
            other = rows_with(without, rows.q, rows.qd, rows.qdd, terms)
            for j in np.flatnonzero(reading.weightless):
                packed[:, slice(*columns.span[j])] = other[:, slice(*columns.span[j])]
        if reading.warming.any() or reading.rubbing:
            rubs, more = rubbing_of(columns.model), reading.warming * rows.passed[:, None]
            for k, exponents in reading.rubbing:
                more[rows.parts[k]] += exponents
            for j in np.flatnonzero(more.any(axis=0)):
                rubbing = columns.span[j][0] + np.flatnonzero(rubs[list(columns.parameters[j])])
                packed[:, rubbing] *= np.exp(more[:, j])[:, None]
        if reading.blurred:
            for part in self.rows.parts:
                packed[part] = _filtered(packed[part], rows.t[part], reading.blurred)
        return packed

    def _once(self, key: tuple[object, ...], make: Callable[[], _T]) -> _T:
        """Return what is made anew only where it is none of the last that were asked for."""
        found: Any = self._made.pop(key, None)
        made: _T = make() if found is None else found
        self._made[key] = made
        if len(self._made) > _KEPT:
            del self._made[next(iter(self._made))]
        return made

    def _possible(self, columns: Columns, whole: Array, samples: float) -> Array | None:
        """Return theta (p,) of links that can exist; None where none are found."""
        model, base = columns.model, columns.base
        factor = factor_of(whole)
        prior = neutral_prior(model.robot) if all(self._prior.neutral) else self._prior  # as large as that robot
        try:
            with np.errstate(all="ignore"):
                coordinates = Coordinates.of(model, prior, factor, base)
                return LogDetNewton(model, base, coordinates, Bounds()).plain(factor, samples)
        except (IdentError, np.linalg.LinAlgError):
            return None

    def _log(self, found: Weighed) -> float:
        shares = found.left / np.maximum(found.torques.max(), 1e-300)
        size = float(np.linalg.slogdet(found.reading.torques)[1] + found.reading.steeper(self.rows).mean(axis=0).sum())
        floor = np.maximum(shares, _LEAST**2)
        varying = found.torques > _LEAST**2 * found.torques.max()
        scale = float(np.log(np.maximum(found.torques.max(), 1e-300)))
        level = np.log(floor[varying])
        if found.reading.ignored:  # what is ignored counts as no better known than the torque itself
            share = float(self.rows.within(found.reading.ignored).mean())
            level += share * (np.log(found.torques[varying] / found.torques.max()) - level)
        return self.independent * (size - 0.5 * float(np.sum(level + scale)))

    def _independent(self, start: Weighed) -> float:
        """Return how many rows are independent, as what is left in each joint resembles itself.

        What fades, or differs from one recording to the next, is taken out before, by a fit to each recording alone
        where it has rows enough: else a drift hides its own evidence.
        """
        Y = self.packed(self.columns(start.reading), start.reading)[0]
        r, tau = self.residual(start), self.rows.left(self.rows.tau)
        passed = self.rows.passed[:, None]
        slow, steady = self.rows.left(passed * self.rows.tau), self.rows.left(passed)[:, 0]
        for k in range(len(self.rows.starts)):
            own = self.rows.within([(k, -np.inf, np.inf)])
            for j, (first, stop) in enumerate(self.columns(start.reading).span):
                parts = [slow[own, j], steady[own]]
                if len(self.rows.starts) > 1:
                    enough = own.sum() > _ENOUGH * (stop - first)
                    parts += list(Y[own, first : stop - 1].T) if enough else [tau[own, j], np.ones(int(own.sum()))]
                basis = np.column_stack(parts)
                r[own, j] -= basis @ np.linalg.lstsq(basis, r[own, j])[0]
        found = []
        for j in range(r.shape[1]):
            x = r[:, j] - r[:, j].mean()
            if not x.any():
                continue
            spectrum = np.abs(np.fft.rfft(x, 2 * len(x))) ** 2
            alike = np.fft.irfft(spectrum)[: len(x)]
            alike = alike / alike[0]
            last = int(np.argmax(alike < _ALIKE)) or len(x)
            found.append(len(x) / (1.0 + 2.0 * float(np.sum(alike[1:last]))))
        return min(found, default=float(len(r)))


def _with_load(rows: Rows, state: Weighed) -> Rows:
    """Return samples with the load on the joints that a reading's parameters tell."""
    read, robot = state.reading.of(rows), state.reading.robot
    links = state.phi[: 10 * robot.n].reshape(robot.n, 10)
    return replace(rows, signals=rows.signals | {"load": inverse_dynamics(robot, links, read.q, read.qd, read.qdd)})


def _residual(columns: Columns, Y: Array, tau: Array, phi: Array) -> Array:
    """Return what parameters leave of the torques (N, n)."""
    own = zip(columns.span, columns.parameters, strict=True)
    return np.asarray(tau - np.column_stack([Y[:, start : stop - 1] @ phi[list(used)] for (start, stop), used in own]))


def rubbing_of(model: Model) -> NDArray[np.bool_]:
    """Return which parameters (p,) are friction."""
    own = [each.kind.friction for each in model.terms for _ in names(each, model.robot)]
    return np.array([False] * model.n_rigid + own)


def _filtered(x: Array, t: Array, constant: float) -> Array:
    """Return columns (M, k) at times t (M,) behind a low-pass of first order with a time constant [s]."""
    from scipy.signal import lfilter

    share = 1.0 / (1.0 + constant / max(float(np.median(np.diff(t))), 1e-9))
    return np.asarray(lfilter([share], [1.0, share - 1.0], x, axis=0, zi=(1.0 - share) * x[:1])[0])


def last_link(parameters: Sequence[int], n: int) -> dict[int, int]:
    """Return which of a joint's columns, of these parameters, are which of the last link's ten."""
    return {place: i - 10 * (n - 1) for place, i in enumerate(parameters) if 10 * (n - 1) <= i < 10 * n}
