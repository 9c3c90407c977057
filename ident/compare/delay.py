"""Positions that a log has late: found from how the torques of all joints follow them, whatever the law of friction."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ident.arrays import Array
from ident.estimate.least_squares import solved, squared_left_out
from ident.logs.filter import decimate
from ident.logs.motion import Motion
from ident.model.model import Model, torque
from ident.regression.base import BaseParameters, base_parameters, r_factor
from ident.regression.compress import Columns, packed_columns, state_rows

#: Samples that are looked at; stretches of them that are left out in turn; rows that each has at least.
_SAMPLES, FOLDS, _LEAST = 20_000, 10, 20
#: Delays are claimed where they take this share from the error of what is left out, and in so many stretches.
GAIN, AGREED = 0.01, 9
#: They are tried where they take this share each, as far as a straight line tells that.
TRIED = 0.005
#: Widths of tanh, relative to a joint's largest speed, that stand in for any law of friction.
_WIDTHS = (0.03, 0.15, 0.5)
#: Delays are looked for within so many seconds or samples, whichever is more; passes.
REACH_S, REACH, _PASSES = 0.02, 5.0, 3
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

    Least squares over base parameters, a smooth law of friction beside the model's, and the derivative of the torques
    by each joint's delay (Gauss-Newton). Joints are taken one by one or all together, the most gainful first. Torques
    that are all late are the same as positions that are all early. Looks at the first 20,000 samples. The limits were
    set on simulated arms (`experiments/benchmarks/skew.py`).
    """
    n, columns = model.robot.n, packed_columns(model, base or base_parameters(model))
    none, zero = Delays(np.zeros(n)), np.zeros(n)
    keep = motion.keep[: len(_thin(motion, motion.tau[:_SAMPLES]))]
    if len(keep) < FOLDS * _LEAST:
        return none
    own = [*range(len(columns.base.kept)), -1]  # without the law beside the model's, whose derivative nobody knows
    rows = [A[k][:, own] for A, k in zip(_rows(columns, motion, zero, np.zeros(0)), keep.T, strict=True)]
    phi = solved(r_factor(np.concatenate(rows)))
    left = [A @ np.append(phi, -1.0) for A in rows]
    noise = np.array([np.sqrt(np.mean(r**2)) if len(r) else 0.0 for r in left])
    noise = np.maximum(noise, _SMALLEST * noise.max())
    if not noise.all():
        return none

    def stretches(late: Array) -> list[Array]:
        rows = [A / s for A, s in zip(_rows(columns, motion, late, phi), noise, strict=True)]
        return [
            r_factor(np.concatenate([A[part][k[part]] for A, k in zip(rows, keep.T, strict=True)]))
            for part in np.array_split(np.arange(len(keep)), FOLDS)
        ]

    given = stretches(zero)
    ways, late = _gainful(given, n), zero
    for _ in range(_PASSES if ways.size else 0):
        late = late + ways @ solved(_along(np.concatenate(stretches(late)), ways))[-ways.shape[1] :]
        if np.abs(late).max() > max(REACH_S, REACH * np.median(np.diff(motion.t))):
            return none
    before = _left_out(given, ways[:, :0])
    after = _left_out(stretches(late), ways[:, :0]) if ways.size else before
    gain = float(np.sqrt(after.sum() / before.sum()))
    return Delays(late, gain) if gain < 1.0 - GAIN and np.sum(after < before) >= AGREED else none


def _gainful(factors: list[Array], n: int) -> Array:
    """Return which joints are late (n, k), one by one or all together, as long as each takes TRIED from the error."""
    candidates, ways = [np.ones(n), *np.eye(n)], np.zeros((n, 0))
    best = _left_out(factors, ways).sum()
    while ways.shape[1] < n:
        errors = [_left_out(factors, np.column_stack([ways, way])).sum() for way in candidates]
        k = int(np.argmin(errors))
        if errors[k] > (1.0 - TRIED) ** 2 * best:
            break
        ways, best = np.column_stack([ways, candidates.pop(k)]), errors[k]
    return ways


def _thin(motion: Motion, x: Array) -> Array:
    return decimate(x, motion.decimation) if motion.decimation else x


def _rows(columns: Columns, motion: Motion, late: Array, phi: Array) -> list[Array]:
    """Return each joint's rows (M, width): base parameters, friction, delays beyond `late` (n,) [s], torque.

    phi: by which torques change with a delay; none given: those columns and friction's are zero.
    """
    n, b = columns.model.robot.n, len(columns.base.kept)
    t, tau = motion.t[:_SAMPLES], motion.tau[:_SAMPLES]
    step, signals = float(np.median(np.diff(t))), motion.signals(slice(_SAMPLES))
    now = np.stack([motion.q[: len(t)], motion.qd[: len(t)], motion.qdd[: len(t)]])
    given = now

    def state(j: int, late: float) -> Array:
        """Return q, qd, qdd (3, M, n) with joint j so much [s] later."""
        found, at = now.copy(), np.clip(t + late, t[0], t[-1])
        k = np.searchsorted(t, at - _SAME * step)
        if np.abs(t[k] - at).max() <= _SAME * step:
            found[:, :, j] = given[:, k, j]
            return found
        from scipy.interpolate import make_interp_spline  # half of SciPy, for times between samples alone

        # straight lines between samples would take noise away from accelerations, at any delay
        found[:, :, j] = make_interp_spline(t, given[:, :, j].T)(at).T
        return found

    for own in np.flatnonzero(late).tolist():
        now = state(own, float(late[own]))
    theta = columns.base.theta(phi if len(phi) else 0.0)
    q, qd, qdd = now
    fastest = np.abs(qd).max(axis=0)
    smooth = [np.tanh(qd / np.where(fastest > 0, w * fastest, 1.0)) for w in _WIDTHS if len(phi)]
    change = []
    for j in range(n if len(phi) else 0):
        at = (state(j, float(late[j]) + ahead) for ahead in (step, -step))
        after, before = (torque(columns.model, theta, *states, signals=signals) for states in at)
        change.append((after - before) / (2.0 * step))
    packed = _thin(motion, state_rows(columns, q, qd, qdd, signals=signals))
    beside = _thin(motion, np.stack([tau, *smooth, *change], axis=1))
    found = []
    for i, (start, stop) in enumerate(columns.span):
        A = np.zeros((len(packed), b + len(_WIDTHS) * n + n + 1))
        A[:, list(columns.parameters[i])] = packed[:, start : stop - 1]
        A[:, -1] = beside[:, 0, i]
        if change:
            A[:, b + i : -n - 1 : n] = beside[:, 1 : 1 + len(_WIDTHS), i]
            A[:, -n - 1 : -1] = beside[:, 1 + len(_WIDTHS) :, i]
        found.append(A)
    return found


def _left_out(factors: list[Array], ways: Array) -> Array:
    """Return the squared error of each stretch when it is left out, with delays free along `ways` (n, k)."""
    return squared_left_out([_along(factor, ways) for factor in factors])


def _along(rows: Array, ways: Array) -> Array:
    """Return rows with the delays along `ways` (n, k) in place of those of the joints."""
    first = rows.shape[1] - 1 - len(ways)
    return np.column_stack([rows[:, :first], rows[:, first:-1] @ ways, rows[:, -1]])
