"""Least squares on the compressed factor, the noise of each joint that its equations are weighed with, and the weights
of rows that do not belong, by Huber's loss, found in turn with the parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import tee
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ident.arrays import Array
from ident.errors import EstimationError
from ident.logs.motion import Motion
from ident.model.model import Model
from ident.model.standard import Offset
from ident.regression.base import BaseParameters, base_parameters, r_factor, stacked
from ident.regression.compress import Columns, compress, packed_columns, pieces
from ident.regression.regression import Regression, all_but_each, left_out, lengths, squared_residuals, upper_gram
from ident.spatial.inertia import INERTIAL

_ROUNDS = 5
#: A joint of whose torque, its mean apart, the fit explains less than this share has no say in what is weighed how.
EXPLAINED = 0.05
#: A torque that its joint's own terms (friction, drive, spring, offset) explain up to this share was computed.
_LAW = 1e-3
#: Least diagonal of a Cholesky factor with columns of unit length whose square has enough digits left.
_DIGITS = 1e-4
#: Reciprocal condition number, as LAPACK estimates it, of a factor that no decision on singular values could doubt.
_REGULAR = 1e-5
_CONSTANT = 1e-18  # of the sum of squares: what rounding leaves of a torque that is its mean
_SINGULAR = 1e-9  # of the largest singular value of the column-scaled factor
_PREDICTING = 1e-5  # the same, of what is to predict other rows
#: Parts that are missed by so many times what a fit of all leaves, when they are left out, say nothing of each other.
UNTOLD = 3.0


@dataclass(frozen=True, eq=False)
class _Weighed:
    """Each joint's noise (n,); which torques are not explained, constant, and laws of their own terms (n,)."""

    sigma: Array
    unexplained: NDArray[np.bool_]
    constant: NDArray[np.bool_]
    computed: NDArray[np.bool_]


#: What `_weighed` found for each regression that still lives.
_KNOWN: WeakKeyDictionary[Regression, _Weighed] = WeakKeyDictionary()


def joint_noise(regression: Regression) -> Array:
    """Return each joint's residual standard deviation (n,) [N m; N] under weights that it is consistent with.

    Gautier (1997) takes it from ordinary least squares, where noisy joints spoil the parameters, and so the residuals,
    of quiet ones; weighing and estimating in turn settles after a few rounds. A joint that has no torque of its own
    (passive, not recorded, or a law of friction that was computed) is fitted by bodies that weigh nothing: its
    residual falls to zero, its weight grows, and the others are ruined. So where the fit explains less than EXPLAINED
    of a joint's torque, or its own terms all of it, its noise is at least the largest of the other joints; and nobody's
    is less than what its readings show (`Regression.least_noise`). Raises EstimationError where no joint has a torque
    of its own.
    """
    return _weighed(regression).sigma.copy()


def unexplained(regression: Regression) -> NDArray[np.bool_]:
    """Return of which joints' torques (n,), their mean apart, the fit explains less than EXPLAINED; raises likewise."""
    return _weighed(regression).unexplained.copy()


def _weighed(regression: Regression) -> _Weighed:
    """Return each joint's noise and which torques are not explained, but for the case that none is.

    One after the other, the least explained first: its weight may be what spoils the next.
    """
    if regression not in _KNOWN:
        offsets = [name.endswith(f".{Offset.kind.name}") for name in regression.base.names]
        own = _left(regression, np.array(offsets))  # about the mean where the model has the joint's offset
        constant = np.asarray(own <= _CONSTANT * regression.squared_torques)
        if constant.all():
            raise EstimationError("every joint's torque is zero or constant: there is nothing that a fit could explain")
        computed = _laws(regression)
        _KNOWN[regression] = _Weighed(*_weigh(regression, own, constant, constant | computed), constant, computed)
    return _KNOWN[regression]


def _weigh(
    regression: Regression, own: Array, constant: NDArray[np.bool_], none: NDArray[np.bool_]
) -> tuple[Array, NDArray[np.bool_]]:
    while not none.all():
        sigma = _noise(regression, none)
        left = regression.squared_residuals(solve(regression, sigma)) / np.where(none, np.inf, own)
        if left.max() <= 1.0 - EXPLAINED:
            return sigma, none
        none[np.argmax(left)] = True
    return _noise(regression, constant), constant


def _laws(regression: Regression) -> NDArray[np.bool_]:
    """Return which joints' torques (n,) are sums of their own terms, with no link in them: no motor's ever is."""
    links = [name.rpartition(".")[2] in INERTIAL for name in regression.base.standard]
    own = (regression.base.K[:, links] == 0).all(axis=1)
    return np.asarray(_left(regression, own) <= _LAW**2 * regression.squared_torques)


def _left(regression: Regression, columns: NDArray[np.bool_]) -> Array:
    """Return the sum of squares of each torque (n,) that these of the base parameters' columns (b,) leave."""
    chosen = np.append(columns, True)
    each = [r_factor(r[:, chosen[k]]) for r, k in zip(regression.joint_factors, regression.columns, strict=True)]
    told = (len(R) == 1 or regular(R[:, :-1] / lengths(R[:, :-1])) for R in each)
    pairs = zip(each, told, strict=True)
    return np.array([R[-1, -1] ** 2 if all_ else np.sum((R @ np.append(solved(R), -1.0)) ** 2) for R, all_ in pairs])


def _noise(regression: Regression, none: NDArray[np.bool_]) -> Array:
    sigma = np.ones(regression.n_joints)
    for _ in range(_ROUNDS):
        sigma = residual_sigma(regression, _roughly(regression, sigma))
        sigma[none] = np.maximum(sigma[none], sigma[~none].max())
    return sigma


def residual_sigma(regression: Regression, phi: ArrayLike) -> Array:
    """Return each joint's residual standard deviation (n,) at phi, one degree of freedom taken per column.

    It is never less than the noise that the torque's readings show by themselves.
    """
    phi = np.asarray(phi, dtype=np.float64)
    ssr = squared_residuals(regression, regression.joint_factors, phi)
    sigma = np.sqrt(ssr / np.maximum(regression.rows - regression.ranks, 1))
    # An exact fit leaves rounding only; weights then need a floor to stay finite.
    floor = 1e-9 * np.sqrt(regression.squared_torques / np.maximum(regression.rows, 1)) + 1e-15
    return np.asarray(np.maximum(np.maximum(sigma, floor), regression.least_noise))


def torque_findings(regression: Regression, joints: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return a sentence on each torque that the fit does not explain, and on each that is no measurement.

    Constant or another's torque is none; zero may be that of a joint without motor.
    """
    known = _weighed(regression)
    constant, none, computed = known.constant, known.unexplained, known.computed
    told, unusable = list[str](), list[str]()
    for j in np.flatnonzero(none & (np.array(regression.rows) > 0)):
        what = "the fit explains next to nothing of the torque"
        if constant[j]:
            what = f"{'constant' if regression.squared_torques[j] else 'zero'} torque in all rows"
        elif computed[j]:
            what = "friction and the like, with no link in it, explain all of the torque"
        (unusable if constant[j] and regression.squared_torques[j] else told).append(
            f"{what} of '{joints[j]}' (without motor, or not recorded?): its equation counts no more than that of"
            " the noisiest joint. If a motor drives it, give its torque, or the `gain` nan"
        )
    energy = regression.energies
    same = ~(np.abs(energy[:, :, None] - energy[:, None]) > 1e-9 * energy[:, None]).any(axis=0)
    for i, j in zip(*np.nonzero(np.triu(same & ~constant & ~constant[:, None], 1)), strict=True):
        pair = f"'{joints[i]}' and '{joints[j]}'"
        unusable.append(f"the torques of {pair} are the same numbers: is a column named twice?")
    return tuple(told), tuple(unusable)


def solve(regression: Regression, sigma: ArrayLike) -> Array:
    """Return the least-squares phi (b,), of least norm (in scaled columns) where the logs leave it open."""
    return solved(regression.factor(sigma))


def solved(factor: Array, least: float = _SINGULAR) -> Array:
    """Return argmin ||R phi - z|| (b,) of a factor [R z], of least norm (in scaled columns) where it is open.

    least: of what singular values, relative to the largest, nothing is said.
    """
    R, z = factor[:, :-1], factor[:, -1]
    scale = np.linalg.norm(R, axis=0)
    seen = scale > 0
    scale = np.where(seen, scale, 1.0)
    if regular(R / scale):
        from scipy.linalg.lapack import dtrtrs

        return np.asarray(dtrtrs(R[:-1].T, z[:-1], lower=1, trans=1)[0])
    try:
        found = np.linalg.lstsq(R / scale, z, rcond=least)[0]
    except np.linalg.LinAlgError:  # divide and conquer does not always end
        from scipy.linalg import lstsq

        found = lstsq(R / scale, z, cond=least, lapack_driver="gelss")[0]
    return np.asarray(np.where(seen, found / scale, 0.0))


def squared_left_out(factors: Sequence[Array], judged: Sequence[Array] | None = None) -> Array:
    """Return the squared error of each factor [R z], predicted by the least squares of all the others.

    judged: the same stretches, where they are judged otherwise than fitted.
    """
    return squared_errors(judged or factors, without_each(factors))


def without_each(factors: Sequence[Array]) -> list[Array]:
    """Return the factor of all but each of them."""
    return list(map(stacked, all_but_each(factors, lambda a, b: stacked([a, b]))))


def squared_errors(judged: Sequence[Array], fitted: Sequence[Array]) -> Array:
    """Return the squared error of each factor [R z], predicted by the least squares of the one it is paired with."""
    pairs = zip(judged, (solved(factor, _PREDICTING) for factor in fitted), strict=True)
    return np.array([np.sum((factor @ np.append(phi, -1.0)) ** 2) for factor, phi in pairs])


def stretch_factors(regression: Regression, sigma: ArrayLike, stretches: int) -> list[Array]:
    """Return the factors of so many stretches of the segments, or of each segment where those are fewer."""
    names = [s.identity for s in regression.segments]
    parts = [part.tolist() for part in np.array_split(names, min(stretches, len(names)))]
    return [alone.factor(sigma) for _, alone in left_out(regression, parts)]


def regular(R: Array) -> bool:
    """Return whether R (b + 1, b), columns of length one, is triangular and far from singular: all is determined."""
    from scipy.linalg.lapack import dgecon

    from ident.regression.kernels import is_upper

    if R.shape[0] != R.shape[1] + 1 or not R.shape[1] or not is_upper(R):
        return False
    found, _ = dgecon(R[:-1], np.abs(R[:-1]).sum(axis=0).max())  # R is its own LU
    return bool(found > _REGULAR)


def _roughly(regression: Regression, sigma: Array) -> Array:
    """Return least-squares phi (b,) from the normal equations where they have enough digits for residuals."""
    found = _normal(regression, sigma)
    return solve(regression, sigma) if found is None else found[1]


def columns_factor(regression: Regression, sigma: ArrayLike) -> Array:
    """Return a triangle R (b or more, b) with the singular values of the regressor, joints divided by sigma (n,)."""
    found = _normal(regression, sigma)
    return regression.factor(sigma)[:, :-1] if found is None else np.tril(found[0])


def _normal(regression: Regression, sigma: ArrayLike) -> tuple[Array, Array] | None:
    """Return Cholesky's factor (b, b), a lower half, of the normal equations and their phi (b,).

    None where digits are too few.
    """
    from scipy.linalg.lapack import dposv

    if not regression.seen.all():
        return None
    gram = upper_gram(regression, regression.joint_factors, sigma)
    R, phi, failed = dposv(gram[:-1, :-1].T, gram[:-1, -1], lower=1)
    enough = not failed and (R.diagonal() > _DIGITS * np.sqrt(gram.diagonal()[:-1])).all()
    return (R, phi) if enough else None


def triangular(rows: Array, centre: Array) -> tuple[Array, Array]:
    """Return rows and centre, turned so that rows are upper triangular: as many norms, half the numbers."""
    Q, R = np.linalg.qr(rows)
    return R, Q.T @ centre


#: Residuals beyond so many standard deviations count by their size, not its square: 95 % efficient on normal noise.
TUNING = 1.345
#: A row of so small a weight, more than TUNING / FAR standard deviations off, is told.
FAR = 0.25
#: Rows that far off are one stretch where so little time is between them [s].
APART_S = 0.1
#: Weights and parameters are found in turn so often.
ROUNDS = 5
#: A normal deviate's median distance from its mean.
_MEDIAN = 0.6745


@dataclass(frozen=True)
class Stretch:
    """Rows of a recording, from `start` to `stop` [s], in which a joint's torque does not belong to the rest.

    far: how many of its rows count for less than FAR.
    """

    recording: str
    joint: str
    start: float
    stop: float
    far: int

    def __str__(self) -> str:
        at = f"{self.start:.2f} to {self.stop:.2f} s" if self.far > 1 else f"{self.start:.2f} s"
        return f"'{self.joint}' at {at}"


@dataclass(frozen=True, eq=False)
class Reweighted:
    """Factors whose rows have the weights of Huber's loss.

    far (n,): rows of each joint that count for less than FAR; odd: where.
    """

    regression: Regression
    far: Array
    odd: tuple[Stretch, ...]


def reweighted(model: Model, motions: Callable[[], Iterable[Motion]], base: BaseParameters | None = None) -> Reweighted:
    """Return the factors of motions, each row weighed by how far it is from the fit of all (Huber 1981).

    Iteratively reweighted least squares of the base parameters, from least squares on; each joint's scale is the median
    of its residuals. What is fitted to the factors, with constraints or a prior, has the loss of those parameters as
    its own. motions is called once a round, so that logs larger than memory can be read again.
    Raises what `compress` raises, and EstimationError where no torque can be explained.
    """
    base = base or base_parameters(model)
    columns = packed_columns(model, base)
    found = Reweighted(compress(model, motions(), base=base), np.zeros(model.robot.n), ())
    sigma = joint_noise(found.regression)
    for _ in range(ROUNDS):
        found, sigma = _one_round(columns, motions(), solve(found.regression, sigma), sigma)
    return found


def _one_round(columns: Columns, motions: Iterable[Motion], phi: Array, sigma: Array) -> tuple[Reweighted, Array]:
    """Return the factors with the weights of one round, and the scale of the residuals (n,)."""
    scales, counts, far, odd = list[Array](), list[Array](), np.zeros(len(sigma)), list[Stretch]()

    def weights(motion: Motion) -> Array:
        left = np.abs(residuals(columns, motion, phi))
        rows = zip(left.T, motion.keep.T, strict=True)
        scales.append(np.array([np.median(x[k]) if k.any() else 0.0 for x, k in rows]) / _MEDIAN)
        counts.append(motion.keep.sum(axis=0))
        own = TUNING * sigma / np.maximum(left, TUNING * sigma)
        far[:] += np.sum((own < FAR) & motion.keep, axis=0)
        odd.extend(_stretches(columns.model.robot.joint_names, motion, (own < FAR) & motion.keep))
        return np.asarray(own)

    fitted, weighed = tee(motions)  # the second is never more than a motion behind
    regression = compress(columns.model, fitted, base=columns.base, weights=map(weights, weighed))
    scale = np.sum(np.array(scales) * counts, axis=0) / np.maximum(np.sum(counts, axis=0), 1)
    found = Reweighted(regression, far, tuple(odd))
    return found, np.asarray(np.maximum(np.where(scale > 0.0, scale, sigma), regression.least_noise))


def _stretches(joints: Sequence[str], motion: Motion, far: NDArray[np.bool_]) -> Iterator[Stretch]:
    """Yield where rows (rows, n) are far."""
    t = motion.t[:: max(1, -(-len(motion.t) // len(far)))][: len(far)]
    for joint, own in zip(joints, far.T, strict=True):
        rows = np.flatnonzero(own)
        for part in np.split(rows, np.flatnonzero(np.diff(t[rows]) > APART_S) + 1) if len(rows) else ():
            yield Stretch(motion.name, joint, float(t[part[0]]), float(t[part[-1]]), len(part))


def residuals(columns: Columns, motion: Motion, phi: Array) -> Array:
    """Return what base parameters phi leave of each joint's torque (rows, n), thinned, where rows are not kept too."""
    found = []
    for piece in pieces(columns, motion):
        left = [
            piece[:, start : stop - 1] @ phi[list(own)] - piece[:, stop - 1]
            for (start, stop), own in zip(columns.span, columns.parameters, strict=True)
        ]
        found.append(np.column_stack(left))
    return np.concatenate(found)
