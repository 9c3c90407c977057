"""Regression: the R factors of a model's base parameters, segment by segment, one per joint. Add them with +."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, reduce
from itertools import accumulate, chain
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ident.arrays import Array, frozen, or_one
from ident.errors import RegressionError
from ident.model.standard import DriveInertia, Viscous
from ident.regression.base import BLOCK, LARGE, BaseParameters, gram_of, r_factor, stacked
from ident.shown import Shown, shows
from ident.spatial.inertia import INERTIAL

#: A column whose norm is below this share of the largest one's is rounding: each entry is a sum with terms as large as
#: gravity's, rounded to 2e-16 of them, and filters add some digits more. The least of real ones, squares of speeds of
#: 1e-4 rad/s, are at 1e-9.
ROUNDING = 1e-12
#: Root mean square difference of two recordings' moments, columns scaled to one, below which both show one motion.
#: Periods of one motion are within 0.007 of each other on real logs, different motions of a robot 0.10 or more apart.
ALIKE = 0.03
#: The same where one motion was logged on another day, or filtered otherwise, by arms of so many joints: at most 0.153,
#: of different motions 0.20 and more (44 draws of six-axis arms).
AGAIN, MANY = 0.175, 6
TOGETHER, FEW = 256, 4  # recordings that are compared with all before at once; every so many columns tell most apart
#: Kinds of parameters whose columns are smooth functions of the motion.
SMOOTH = (*INERTIAL, DriveInertia.kind.name, Viscous.kind.name)
_T = TypeVar("_T")


@dataclass(frozen=True, eq=False)
class Segment:
    """R factors of [Y_j | tau_j] over one stretch of a recording, with its repeats where the motion is periodic.

    factors[j] (k_j + 1, k_j + 1), upper triangular: its first k_j columns belong to the base parameters that joint
    j's torque can show, the last to the measured torque. rows[j]: how many samples went in.
    noise[j]: its torque's noise [N m; N], at least. `identity` (hex) names the very numbers, so that nothing is counted
    twice.
    """

    identity: str
    name: str
    recording: str
    rows: tuple[int, ...]
    factors: tuple[Array, ...]
    noise: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "noise", self.noise or (0.0,) * len(self.rows))


def merged(first: Segment, *others: Segment) -> Segment:
    """Return the segment that holds the rows of all."""
    if not others:
        return first
    each = (first, *others)
    identity = hashlib.sha256("|".join(s.identity for s in each).encode()).hexdigest()
    rows = tuple(map(sum, zip(*(s.rows for s in each), strict=True)))
    factors = tuple(stacked(same) for same in zip(*(s.factors for s in each), strict=True))
    noise = np.min([s.noise for s in each], axis=0)
    return Segment(identity, first.name, first.recording, rows, factors, tuple(noise.tolist()))


def left_out(regression: Regression, parts: Sequence[Sequence[str]]) -> Iterator[tuple[Regression, Regression]]:
    """Yield the regression without each part (identities of segments) in turn, and the part alone.

    Each has a segment or two that hold all rows.
    """
    known = {s.identity: s for s in regression.segments}
    each = [merged(*(known[identity] for identity in part)) for part in parts]
    for part, rest in zip(each, all_but_each(each, merged), strict=True):
        yield replace(regression, segments=rest), replace(regression, segments=(part,))


def all_but_each(each: Sequence[_T], merge: Callable[[_T, _T], _T]) -> Iterator[tuple[_T, ...]]:
    """Yield, for each in turn, what is before it and what is behind it, merged: the cost is linear in their number."""
    before = list(accumulate(each[:-1], merge))
    after = list(accumulate(each[:0:-1], merge))[::-1]
    for k in range(len(each)):
        yield (*before[max(k - 1, 0) : k], *after[k : k + 1])


def restricted(regression: Regression, kept: Sequence[int]) -> Regression:
    """Return the factors of some base parameters alone, by their places."""
    base = regression.base
    place = {k: i for i, k in enumerate(kept)}
    own = [[c for c, k in enumerate(columns) if k in place] for columns in regression.parameters]
    names, kept_ = tuple(base.names[k] for k in kept), tuple(base.kept[k] for k in kept)
    return replace(
        regression,
        base=BaseParameters(names, kept_, base.K[list(kept)], base.standard),
        parameters=tuple(tuple(place[k] for k in columns if k in place) for columns in regression.parameters),
        segments=regression.mapped(lambda j, F: _of_columns(F, own[j])),
    )


def _of_columns(F: Array, own: list[int]) -> Array:
    """Return R (k + 1, k + 1) of k columns of an upper triangle F and its torque; that of the first is a part of F."""
    k = len(own)
    if own != list(range(k)):
        same = next(c for c, place in enumerate(own) if c != place)  # so many columns are upper triangular as they are
        found = np.zeros((k + 1, k + 1))
        found[:same] = F[:same, [*own, -1]]
        found[same:, same:] = r_factor(F[same:, [*own[same:], -1]])
        return found
    found = F[: k + 1, [*own, -1]]
    found[k] = np.append(np.zeros(k), np.linalg.norm(F[k:, -1]))
    return found


def once(segment: Segment, seen: dict[str, str]) -> None:
    """Add a segment's identity and name to those `seen`; raises RegressionError when it is there already."""
    if segment.identity in seen:
        problem = f"segment '{segment.name}' holds the same numbers as '{seen[segment.identity]}'"
        raise RegressionError(problem, fix="Give each recording once; counting it twice makes error bars too small")
    seen[segment.identity] = segment.name


@shows
@dataclass(frozen=True, eq=False)
class Regression:
    """All that the estimators need of any number of logs.

    model: fingerprint of the model; base: its base parameters phi; parameters[j]: which of them the torque of
    joint j can show, in the order of the factors' columns; segments: the factors.
    Raises RegressionError when a segment occurs twice.
    """

    model: str
    base: BaseParameters
    parameters: tuple[tuple[int, ...], ...]
    segments: tuple[Segment, ...]

    def __post_init__(self) -> None:
        seen: dict[str, str] = {}
        for segment in self.segments:
            once(segment, seen)

    def __add__(self, other: Regression) -> Regression:
        """Return the factors of both; RegressionError for another model's factors or the same segment twice."""
        if other.model != self.model:
            problem = "the factors belong to another model (robot, gravity or terms differ)"
            raise RegressionError(problem, fix="Compress the logs again with one and the same model")
        if other.base.kept != self.base.kept:
            problem = "the factors are of other base parameters, as another release of ident chose them"
            raise RegressionError(problem, fix="Compress the logs again with one and the same release")
        return replace(self, segments=self.segments + other.segments)

    def shown(self) -> Shown:
        """Return what is to be shown of it."""
        rows = int(self.rows.max()) if self.segments else 0
        told = [
            ("base parameters", f"{len(self.base.names)}: {', '.join(self.base.names[:5])}, ..."),
            ("joints", f"{self.n_joints}, {rows} rows each at most"),
            ("recordings", f"{len(self.recordings)}: {', '.join(self.recordings[:5])}"),
            ("segments", str(len(self.segments))),
        ]
        return "Regression", ("", ""), told

    @property
    def n_joints(self) -> int:
        """Number of joints."""
        return len(self.parameters)

    @property
    def recordings(self) -> tuple[str, ...]:
        """Names of the recordings, in order of appearance."""
        return tuple(dict.fromkeys(s.recording for s in self.segments))

    @cached_property
    def rows(self) -> Array:
        """Number of samples per joint (n,)."""
        return np.asarray(np.sum([s.rows for s in self.segments], axis=0))

    def only(self, recordings: Collection[str]) -> Regression:
        """Return the segments of some recordings; RegressionError when there is none."""
        chosen = tuple(s for s in self.segments if s.recording in recordings)
        if not chosen:
            raise RegressionError(f"no segment of {sorted(recordings)}; there are {list(self.recordings)}")
        return replace(self, segments=chosen)

    def without(self, identities: Collection[str]) -> Regression:
        """Return all but some segments; RegressionError when nothing is left."""
        left = tuple(s for s in self.segments if s.identity not in identities)
        if not left:
            raise RegressionError("every segment was left out")
        return replace(self, segments=left)

    def mapped(self, change: Callable[[int, Array], Array]) -> tuple[Segment, ...]:
        """Return the segments with change(j, F) in the place of the factor F of each joint j."""
        return tuple(
            replace(s, factors=tuple(change(j, factor) for j, factor in enumerate(s.factors))) for s in self.segments
        )

    def scaled(self, gains: ArrayLike) -> Regression:
        """Return the factors of the same logs with the measured torque of each joint multiplied by its gain (n,)."""
        gains = frozen(gains, (self.n_joints,), "gains", RegressionError)
        return replace(self, segments=self.mapped(lambda j, F: np.column_stack([F[:, :-1], gains[j] * F[:, -1]])))

    def shifted(self, phi: ArrayLike) -> Regression:
        """Return the factors of the same logs, in one segment, with the torque of phi (b,) added to what they hold."""
        phi = frozen(phi, (len(self.base.names),), "phi", RegressionError)

        def moved(F: Array, change: Array) -> Array:
            found = F.copy()
            found[:, -1] += F[:, :-1] @ change
            return found

        of = zip(self.joint_factors, self.parameters, strict=True)
        factors = tuple(moved(F, phi[list(own)]) for F, own in of)
        found = replace(self, segments=(Segment("", "shifted", "shifted", tuple(self.rows), factors),))
        found._factors.update({sigma: moved(F, phi * self.seen) for sigma, F in self._factors.items()})
        return found

    @cached_property
    def joint_factors(self) -> tuple[Array, ...]:
        """R factor of each joint over all segments."""
        if len(self.segments) == 1:
            return self.segments[0].factors
        return tuple(map(stacked, zip(*(s.factors for s in self.segments), strict=True)))

    @cached_property
    def joint_grams(self) -> tuple[Array, ...]:
        """Upper half of R'R of each joint's factor."""
        return tuple(map(gram_of, self.joint_factors))

    def factor(self, sigma: ArrayLike) -> Array:
        """Return R (b + 1, b + 1) of all joints' equations, each divided by its sigma (n,).

        ||R[:, :b] phi - R[:, b]||^2 is the weighted sum of squared residuals. Read-only: the next asker gets the same.
        """
        key = np.asarray(sigma, dtype=np.float64).tobytes()
        if key not in self._factors:
            large = len(self.base.names) >= LARGE
            found = _weighted_factor(self, sigma) if large else r_factor(weighted_rows(self, self.joint_factors, sigma))
            found.setflags(write=False)
            self._factors[key] = found
        return self._factors[key]

    @cached_property
    def _factors(self) -> dict[bytes, Array]:
        return {}

    def squared_residuals(self, phi: ArrayLike) -> Array:
        """Return the sum of squared torque residuals of each joint (n,) at base parameters phi (b,)."""
        phi = frozen(phi, (len(self.base.names),), "phi", RegressionError)
        return squared_residuals(self, self.joint_factors, phi)

    @cached_property
    def least_noise(self) -> Array:
        """Floor of each joint's torque noise (n,) [N m; N], as the readings show it by themselves."""
        squares = sum(np.multiply(s.rows, np.square(s.noise)) for s in self.segments)
        return np.asarray(np.sqrt(squares / np.maximum(self.rows, 1)))

    @cached_property
    def columns(self) -> tuple[NDArray[np.intp], ...]:
        """Where each joint's columns, its torque last, stand among those of all."""
        return tuple(np.array([*found, len(self.base.names)]) for found in self.parameters)

    @cached_property
    def squared_torques(self) -> Array:
        """Sum of squared measured torques of each joint (n,)."""
        return np.asarray(self.energies.sum(axis=0))

    @cached_property
    def energies(self) -> Array:
        """Sum of squared measured torques of each segment and joint (G, n)."""
        return np.array([[r[:, -1] @ r[:, -1] for r in s.factors] for s in self.segments])

    @cached_property
    def ranks(self) -> NDArray[np.int64]:
        """How many columns of each joint's factor (n,) are none of rounding."""
        found = [np.abs(np.diag(r)[:-1]) > 1e-9 * np.abs(r).max() for r in self.joint_factors]
        return np.array([np.count_nonzero(some) for some in found])

    @cached_property
    def seen(self) -> NDArray[np.bool_]:
        """Which base parameters' columns (b,) are more than ROUNDING in these logs."""
        squares = np.zeros(len(self.base.names) + 1)
        for r, columns in zip(self.joint_factors, self.columns, strict=True):
            squares[columns] += np.einsum("ij,ij->j", r, r)
        return np.asarray(squares[:-1] > ROUNDING**2 * squares[:-1].max(initial=0.0))

    def unseen(self) -> tuple[str, ...]:
        """Base parameters whose column is zero in these logs but for rounding: nothing can be said of them."""
        return tuple(name for name, seen in zip(self.base.names, self.seen, strict=True) if not seen)


def weighted_rows(regression: Regression, factors: tuple[Array, ...], sigma: ArrayLike) -> Array:
    """Return per-joint factors stacked as rows (k, b + 1), each divided by its sigma (n,); unseen columns are zero."""
    stacked = np.zeros((sum(len(r) for r in factors), len(regression.base.names) + 1))
    row = 0
    for r, columns, s in zip(factors, regression.columns, _positive(regression, sigma), strict=True):
        stacked[row : row + len(r), columns] = r / s
        row += len(r)
    stacked[:, :-1] *= regression.seen
    return stacked


def _positive(regression: Regression, sigma: ArrayLike) -> Array:
    sigma = frozen(sigma, (regression.n_joints,), "sigma", RegressionError)
    if not (sigma > 0).all():
        raise RegressionError(f"every joint's sigma must be positive, got {sigma.tolist()}")
    return sigma


def _weighted_factor(regression: Regression, sigma: ArrayLike) -> Array:
    """Return R (b + 1, b + 1) of the `weighted_rows` of all segments.

    Joint by joint from the last, each triangle under the factor so far, in the columns that the two have.
    """
    from scipy.linalg.lapack import dtpqrt

    from ident.regression.kernels import is_upper

    b, seen = len(regression.base.names), np.append(regression.seen, True)
    R, have = np.zeros((0, 0)), np.zeros(0, dtype=np.intp)
    each = zip(regression.joint_factors, regression.columns, _positive(regression, sigma), strict=True)
    for r, columns, s in reversed(list(each)):
        own, new = np.union1d(have, columns), r if is_upper(r) else r_factor(r)
        wider, rows = np.zeros((len(own), len(own)), order="F"), np.zeros((len(new), len(own)), order="F")
        at = np.searchsorted(own, have)
        wider[np.ix_(at, at)] = R
        rows[:, np.searchsorted(own, columns)] = new / s * seen[columns]
        R, have = dtpqrt(len(rows), min(BLOCK, len(own)), wider, rows, overwrite_a=1, overwrite_b=1)[0], own
    found = np.zeros((b + 1, b + 1))
    found[np.ix_(have, have)] = R
    return found


def weighted_gram(regression: Regression, factors: tuple[Array, ...], sigma: ArrayLike) -> Array:
    """Return rows' @ rows (b + 1, b + 1) of `weighted_rows`, which costs a tenth of their R and half of the digits."""
    seen, gram = np.append(regression.seen, True), upper_gram(regression, factors, sigma)
    return np.asarray((gram + np.triu(gram, 1).T) * (seen[:, None] & seen))


def upper_gram(regression: Regression, factors: tuple[Array, ...], sigma: ArrayLike) -> Array:
    """Return the upper half (b + 1, b + 1) of `weighted_gram`, zeros below it; unseen columns as they are."""
    from ident.regression.kernels import add_at, add_square

    gram = np.zeros((len(regression.base.names) + 1,) * 2)
    add, parts = (add_at, regression.joint_grams) if factors is regression.joint_factors else (add_square, factors)
    for columns, part, s in zip(regression.columns, parts, np.asarray(sigma, dtype=np.float64), strict=True):
        add(gram, np.ascontiguousarray(part), columns, s**-2.0)
    return gram


def torque_columns(regression: Regression, z: Array) -> Array:
    """Return z (k,), such as the last of `weighted_rows`, as one column per joint (k, n), zero in the others' rows."""
    joint = np.repeat(np.arange(regression.n_joints), [len(r) for r in regression.joint_factors])
    return np.where(joint[:, None] == np.arange(regression.n_joints), z[:, None], 0.0)


def lengths(columns: Array) -> Array:
    """Return each column's length, 1 for empty ones."""
    return or_one(np.linalg.norm(columns, axis=0))


def squared_residuals(regression: Regression, factors: tuple[Array, ...], phi: Array) -> Array:
    """Return ||Y_j phi - tau_j||^2 of each joint (n,) from per-joint factors."""
    whole = np.append(phi, -1.0)
    return np.array([np.sum((r @ whole[at]) ** 2) for r, at in zip(factors, regression.columns, strict=True)])


def repeats_joined(regression: Regression) -> Regression:
    """Return the regression with the recordings of one motion as one, segment by segment, named after the first.

    What a model leaves out shows once more in every repeat. So to leave one out, and to take it for independent of the
    others, would measure how well a motion is fitted that was seen.
    """
    parts: dict[str, list[Segment]] = {}
    for segment in regression.segments:
        parts.setdefault(segment.recording, []).append(segment)
    if len(parts) <= 1:
        return regression
    moments = np.array([_moments(replace(regression, segments=tuple(part))) for part in parts.values()])
    motions: dict[int, list[str]] = {}
    for name, first in zip(parts, _first_alike(moments).tolist(), strict=True):
        motions.setdefault(first, []).append(name)
    if len(motions) == len(parts):
        return regression
    joined = (_joined([parts[name] for name in names]) for names in motions.values())
    return replace(regression, segments=tuple(chain.from_iterable(joined)))


def repeated_in(recording: Regression, whole: Regression) -> str | None:
    """Return the recording of `whole` whose motion one recording shows again, None where there is none."""
    own = _moments(recording)
    other = ((name, _moments(whole.only([name]))) for name in whole.recordings)
    most = AGAIN if len(recording.rows) >= MANY else ALIKE
    return next((name for name, found in other if _apart(own, found) < most), None)


def _first_alike(moments: Array) -> NDArray[np.intp]:
    """Return the first recording (r,) that shows each one's motion; moments (r, s, s): of each.

    Few pairs are compared in full. With s = (x - c) / (x + c) of the diagonals x, for any positive c, the difference of
    two s is at most that of x against the mean of these: |s - s'| <= ALIKE b where the motions are one; and no part
    of the moments is farther apart than the whole.
    """
    first, b, diagonals = np.arange(len(moments)), moments.shape[1], np.einsum("kii->ki", moments)
    few = np.ascontiguousarray(moments[:, ::FEW, ::FEW])
    centre = np.median(diagonals, axis=0)
    signs = (diagonals - centre) / or_one(diagonals + centre)
    squares = np.sum(signs**2, axis=1)
    most = (ALIKE * b) ** 2 * (1.0 + 1e-9) + 1e-9
    for begin in range(0, len(first), TOGETHER):
        stop = min(begin + TOGETHER, len(first))
        near = squares[begin:stop, None] + squares[:stop] - 2.0 * signs[begin:stop] @ signs[:stop].T < most
        for k in range(begin, stop):
            some = np.flatnonzero(near[k - begin, :k] & (first[:k] == np.arange(k)))
            some = some[(_apart(few[k], few[some]) * few.shape[1]) ** 2 < most]
            first[k] = next((i for i in some if _apart(moments[k], moments[i]) < ALIKE), k)
    return first


def _moments(regression: Regression) -> Array:
    """Return the mean products (s, s) of the smooth columns: noise at standstill moves those by the sign of a speed."""
    mean = upper_gram(regression, regression.joint_factors, np.sqrt(np.maximum(regression.rows, 1.0)))
    found = mean[_smooth(regression.base.names)]
    return np.asarray(found + np.triu(found, 1).T)


@lru_cache(maxsize=4)
def _smooth(names: tuple[str, ...]) -> tuple[NDArray[np.intp], ...]:
    return np.ix_(*[[k for k, name in enumerate(names) if name.rpartition(".")[2] in SMOOTH]] * 2)


def _apart(one: Array, others: Array) -> Array:
    """Return the root mean square difference (...) of moments (s, s) from others (..., s, s), columns scaled to one."""
    share = 1.0 / or_one((one.diagonal() + others.diagonal(axis1=-2, axis2=-1)) / 2)
    squares = ((one - others) ** 2 @ share[..., None])[..., 0]
    return np.asarray(np.sqrt((squares * share).sum(axis=-1)) / len(one))


def _joined(each: list[list[Segment]]) -> list[Segment]:
    """Return as many segments as the recording with the fewest has, each with what the others have in its place."""
    number = min(map(len, each))
    places: list[list[Segment]] = [[] for _ in range(number)]
    for segments in each:
        for k, segment in enumerate(segments):
            places[k * number // len(segments)].append(segment)
    return [reduce(merged, place) for place in places]
