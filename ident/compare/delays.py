"""Delays of positions, told from how the torques of all joints follow them, whatever the law of friction."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ident.arrays import Array
from ident.estimate.least_squares import solved, squared_errors, without_each
from ident.logs.check import out_of_reach
from ident.logs.filter import BLOCK, decimate, thinned
from ident.logs.motion import Motion
from ident.model.model import Model, torque
from ident.model.standard import Dahl
from ident.regression.base import BaseParameters, base_parameters, r_factor
from ident.regression.compress import Columns, packed_columns, rows_with

#: Samples that are looked at; stretches of them that are left out in turn; rows that each has at least.
_SAMPLES, FOLDS, _LEAST = 20_000, 10, 20
#: Delays are claimed where they take this share from the error of what is left out, and in so many stretches; or both
#: of the latter: drives that give way to torque where positions are commanded made one stretch worse.
GAIN, _IN_STRETCHES = 0.01, 9
LARGE_GAIN, _IN_MOST = 0.2, 8
#: A delay longer than that [s] takes this share: columns of torques that are swapped look like one of 0.1 s or so.
LONG_S, LONG_GAIN = 0.06, 0.6
#: Friction remembers its way where that takes this share from the error, beside its own delays, or any with fewer ones.
REMEMBERED = 0.3
#: They are tried where they take this share each, as far as a straight line tells that.
TRIED = 0.005
#: Widths of tanh, relative to a joint's largest speed, that stand in for any law of friction.
_WIDTHS = (0.03, 0.15, 0.5)
#: Ways [rad; m] of friction that remembers its way, likewise: it lags behind a motion that turns around, too.
_WAYS = (0.0001, 0.0005, 0.002, 0.008)
#: Delays are looked for within so many seconds or samples, whichever is more, and one of all joints within so many
#: seconds; passes, and the change [samples] after which there is no other.
REACH_S, REACH, REACH_ALL_S, _PASSES, _CHANGE = 0.02, 5.0, 0.15, 10, 0.02
#: Times are one that differ by this share of a step at most.
_SAME = 1e-9
#: No joint's residual counts as smaller than this share of the largest.
_SMALLEST = 0.05


@dataclass(frozen=True, eq=False)
class Delays:
    """Per joint: seconds (n,) by which its positions are older than torques and other positions; 0: none is claimed.

    gain: the error of stretches left out, with the delays taken out, over that without.
    """

    seconds: Array
    gain: float = 1.0


def delays(model: Model, motion: Motion, *, base: BaseParameters | None = None) -> Delays:
    """Return the delays of positions without which stretches that are left out are predicted better.

    Least squares over base parameters, laws of friction beside the model's, and the derivative of the torques by each
    joint's delay (Gauss-Newton). Joints are taken one by one or all together, the most gainful first, and each in view
    of the delays that were found before: where friction turns around, a straight line tells little of a long one.
    Friction that remembers its way lags behind the motion, too: delays are looked for beside laws of friction with and
    without a memory, and those count that leave least. Torques that are all late are the same as positions that are all
    early. Looks at the first 20,000 samples. The limits were set on simulated arms (`experiments/benchmarks/skew.py`).
    """
    n, columns = model.robot.n, packed_columns(model, base or base_parameters(model))
    none, zero, states = Delays(np.zeros(n)), np.zeros(n), _States(motion)
    keep = motion.keep[: len(_thin(motion, motion.tau[:_SAMPLES]))]
    if len(keep) < FOLDS * _LEAST:
        return none
    own = [*range(len(columns.base.kept)), -1]  # without the laws beside the model's, whose derivative nobody knows
    rows = [A[k][:, own] for A, k in zip(_rows(columns, motion, states, zero, np.zeros(0)), keep.T, strict=True)]
    phi = solved(r_factor(np.concatenate(rows)))
    left = [A @ np.append(phi, -1.0) for A in rows]
    noise = np.array([np.sqrt(np.mean(r**2)) if len(r) else 0.0 for r in left])
    noise = np.maximum(noise, _SMALLEST * noise.max())
    if not noise.all():
        return none
    beside, alone = (_Search(columns, motion, states, keep, phi, noise, ways) for ways in (_WAYS, ()))
    given = beside.at(np.zeros((n, 0)), zero)
    first = len(columns.base.kept) + len(_WIDTHS) * n
    own = [*range(first), *range(first + len(_WAYS) * n, given.factors[0].shape[1])]  # without what remembers
    factors = [r_factor(factor[:, own]) for factor in given.factors]
    plain = _judged(given.ways, zero, factors)
    without, found = alone.searched(plain), beside.searched(given)
    fewer = found.ways.shape[1] < without.ways.shape[1]
    remembers = found.errors.sum() < (1.0 if fewer else 1.0 - REMEMBERED) ** 2 * without.errors.sum()
    before, after = (given, found) if remembers else (plain, without)
    gain = _gain(before, after)
    return Delays(after.late, gain) if gain else none


@dataclass(frozen=True, eq=False)
class _Found:
    """Delays `late` (n,) [s] along `ways` (n, k), factors of s stretches with them, squared errors (s,) left out.

    rest: the factors of all other stretches.
    """

    ways: Array
    late: Array
    factors: list[Array]
    rest: list[Array]
    errors: Array


def _gain(before: _Found, after: _Found) -> float:
    """Return the factor by which the error is smaller where that counts, and in enough stretches; else 0."""
    gain, better = float(np.sqrt(after.errors.sum() / before.errors.sum())), int(np.sum(after.errors < before.errors))
    long = np.abs(after.late).max(initial=0.0) > LONG_S
    each = ((LONG_GAIN, _IN_STRETCHES),) if long else ((GAIN, _IN_STRETCHES), (LARGE_GAIN, _IN_MOST))
    return gain if any(gain < 1.0 - share and better >= least for share, least in each) else 0.0


@dataclass(frozen=True, eq=False)
class _Search:
    """Delays of a motion beside laws of friction, those that remember `presliding` ways [rad; m] among them.

    keep (M, n): which rows count; phi (b,): base parameters, by which torques change with a delay; noise (n,) [N m; N].
    """

    columns: Columns
    motion: Motion
    states: _States
    keep: NDArray[np.bool_]
    phi: Array
    noise: Array
    presliding: tuple[float, ...]

    def at(self, ways: Array, late: Array) -> _Found:
        """Return what is left out with delays `late` (n,), which are free along `ways` (n, k)."""
        rows = _rows(self.columns, self.motion, self.states, late, self.phi, self.presliding)
        rows = [A / s for A, s in zip(rows, self.noise, strict=True)]
        factors = [
            r_factor(np.concatenate([A[part][k[part]] for A, k in zip(rows, self.keep.T, strict=True)]))
            for part in np.array_split(np.arange(len(self.keep)), FOLDS)
        ]
        return _judged(ways, late, factors)

    def searched(self, found: _Found) -> _Found:
        """Return delays along more ways, as long as each takes TRIED from the error."""
        while ways := _late_ways(found):
            tried = (self.refined(replace(found, ways=np.column_stack([found.ways, way]))) for way in ways)
            best = min((x for x in tried if x is not None), key=lambda x: float(x.errors.sum()), default=found)
            if best.errors.sum() > (1.0 - TRIED) ** 2 * found.errors.sum():
                break
            found = best
        return found

    def refined(self, found: _Found) -> _Found | None:
        """Return the delays along the ways that least squares ask for (Gauss-Newton), None beyond reach."""
        step = float(np.median(np.diff(self.motion.t)))
        reach = max(REACH_S, REACH * step)
        for _ in range(_PASSES):
            change = found.ways @ solved(_along(np.concatenate(found.factors), found.ways))[-found.ways.shape[1] :]
            late = found.late + change
            if np.abs(late - np.median(late)).max() > reach or np.abs(late).max() > max(reach, REACH_ALL_S):
                return None
            found = self.at(found.ways, late)
            if np.abs(change).max() < _CHANGE * step:
                break
        return found


def _judged(ways: Array, late: Array, factors: list[Array]) -> _Found:
    rest = without_each(factors)
    return _Found(ways, late, factors, rest, _left_out(factors, rest, ways[:, :0]))


def _late_ways(found: _Found) -> list[Array]:
    """Return which joints may be late (n,) besides those of its ways, where one takes TRIED from the error.

    All together, and the single joint that takes most.
    """
    n, ways = len(found.ways), found.ways
    if ways.shape[1] == n:
        return []
    free = [way for way in (np.ones(n), *np.eye(n)) if not (way == ways.T).all(axis=1).any()]
    errors = [_left_out(found.factors, found.rest, np.column_stack([ways, way])).sum() for way in free]
    best = free[int(np.argmin(errors))]
    if min(errors) > (1.0 - TRIED) ** 2 * _left_out(found.factors, found.rest, ways).sum():
        return []
    return [way for way in free if way.all() or way is best]


def _thin(motion: Motion, x: Array) -> Array:
    return decimate(x, motion.decimation) if motion.decimation else x


class _States:
    """The first samples of a motion, t (M,) [s] and q_qd_qdd (3, M, n), and what they are a little later."""

    def __init__(self, motion: Motion):
        self.t = motion.t[:_SAMPLES]
        self.q_qd_qdd = np.stack([motion.q[: len(self.t)], motion.qd[: len(self.t)], motion.qdd[: len(self.t)]])
        self._splines: dict[int, Callable[[Array], Array]] = {}

    def later(self, now: Array, j: int, seconds: float) -> Array:
        """Return states (3, M, n) that are `now` but for joint j, which is so much [s] later than logged."""
        found, step = now.copy(), float(np.median(np.diff(self.t)))
        at = np.clip(self.t + seconds, self.t[0], self.t[-1])
        k = np.searchsorted(self.t, at - _SAME * step)
        if np.abs(self.t[k] - at).max() <= _SAME * step:
            found[:, :, j] = self.q_qd_qdd[:, k, j]
            return found
        if j not in self._splines:
            from scipy.interpolate import make_interp_spline  # half of SciPy, for times between samples alone

            # straight lines between samples would take noise away from accelerations, at any delay
            self._splines[j] = make_interp_spline(self.t, self.q_qd_qdd[:, :, j].T)
        found[:, :, j] = self._splines[j](at).T
        return found


def _rows(
    columns: Columns, motion: Motion, given: _States, late: Array, phi: Array, ways: tuple[float, ...] = ()
) -> list[Array]:
    """Return each joint's rows (M, width): base parameters, friction, delays beyond `late` (n,) [s], torque.

    given: the motion's states; phi: by which torques change with a delay; none given: those columns and friction's are
    zero. ways [rad; m]: of friction that remembers its way.
    """
    n, b = columns.model.robot.n, len(columns.base.kept)
    t, tau = motion.t[:_SAMPLES], motion.tau[:_SAMPLES]
    step, signals = float(np.median(np.diff(t))), motion.signals(slice(_SAMPLES))
    now = given.q_qd_qdd
    for own in np.flatnonzero(late).tolist():
        now = given.later(now, own, float(late[own]))
    theta = columns.base.theta(phi if len(phi) else 0.0)
    q, qd, qdd = now
    fastest = np.abs(qd).max(axis=0)
    laws = [np.tanh(qd / np.where(fastest > 0, w * fastest, 1.0)) for w in _WIDTHS if len(phi)]
    laws += [Dahl(way).column(q.T, qd.T, qdd.T).T for way in ways if len(phi)]
    change = []
    for j in range(n if len(phi) else 0):
        at = (given.later(now, j, float(late[j]) + ahead) for ahead in (step, -step))
        after, before = (torque(columns.model, theta, *states, signals=signals) for states in at)
        change.append((after - before) / (2.0 * step))
    terms = columns.model.term_columns(q, qd, qdd, signals=signals)
    parts = (slice(a, a + BLOCK) for a in range(0, len(q), BLOCK))
    blocks = (rows_with(columns, q[own], qd[own], qdd[own], terms[:, own]) for own in parts)
    packed = np.concatenate(list(thinned(blocks, motion.decimation)))
    beside = _thin(motion, np.stack([tau, *laws, *change], axis=1))
    found = []
    for i, (start, stop) in enumerate(columns.span):
        A = np.zeros((len(packed), b + len(laws) * n + n + 1))
        A[:, list(columns.parameters[i])] = packed[:, start : stop - 1]
        A[:, -1] = beside[:, 0, i]
        if change:
            A[:, b + i : -n - 1 : n] = beside[:, 1 : 1 + len(laws), i]
            A[:, -n - 1 : -1] = beside[:, 1 + len(laws) :, i]
        found.append(A)
    return found


def _left_out(factors: list[Array], rest: list[Array], ways: Array) -> Array:
    """Return the squared error of each stretch, fitted to the rest of them, with delays free along `ways` (n, k)."""
    return squared_errors(*([_along(factor, ways) for factor in each] for each in (factors, rest)))


def _along(rows: Array, ways: Array) -> Array:
    """Return a factor with the delays along `ways` (n, k) in place of those of the joints."""
    first = rows.shape[1] - 1 - len(ways)
    last = np.column_stack([rows[:, first:-1] @ ways, rows[:, -1]])
    if np.tril(rows[:, :first], -1).any():
        return np.column_stack([rows[:, :first], last])
    triangle = np.zeros((first + last.shape[1],) * 2)  # of the last columns alone it is none as they are
    triangle[:first] = np.column_stack([rows[:first, :first], last[:first]])
    triangle[first:, first:] = r_factor(last[first:])
    return triangle


def late_positions(model: Model, motions: Iterable[Motion], base: BaseParameters | None = None) -> tuple[float, ...]:
    """Return by how much the positions of each joint are late [s], as more than half of the motions show it."""
    # in another unit nothing that the residual shows is a delay
    sound = [m for m in motions if not out_of_reach(m.q, model.robot)]
    found = [delays(model, m, base=base).seconds for m in sound]
    if not found:
        return ()
    ranked = np.sort(found, axis=0)
    middle = ranked[[(len(found) - 1) // 2, len(found) // 2]]  # of two motions that differ neither is believed
    agreed = np.where(np.prod(middle, axis=0) > 0, np.sign(middle[0]) * np.abs(middle).min(axis=0), 0.0)
    return tuple(float(f"{x:.2g}") for x in agreed)
