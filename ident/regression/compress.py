"""From motion to factors: the regressor is built, thinned, masked and factorised in pieces that fit the cache."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import count, islice, repeat
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ident.arrays import Array, checked, frozen
from ident.dynamics.rigid_body import Tree, batch, packed_regressor, room, tree
from ident.errors import ModelError, RegressionError
from ident.logs.filter import BLOCK, in_eights, thinned
from ident.logs.motion import Motion
from ident.model.model import Model
from ident.model.term import NO_SIGNALS, entries
from ident.regression.base import BaseParameters, base_parameters, stacked
from ident.regression.regression import Regression, Segment, merged, once

#: Parts of a recording that are joined at once, then so many of what came of them, and so on: whoever made them.
ARITY = 8
#: What segments of one stretch have in common, in the order in which they come.
Keyed = dict[str | tuple[str, int], Segment]
_CHUNK = 8192  # rows per piece: large enough for every core, small enough for the cache
#: Numbers of the bodies' rows that are kept for models of other terms.
KEPT = 8_000_000
#: Joint terms whose columns are made at once, which are long before they are thinned.
TERMS = 28


@dataclass(frozen=True, eq=False)
class Columns:
    """Where each joint's regressor columns and torque stand, side by side, in one packed row.

    Joint j owns the columns span[j]; parameters[j] are the base parameters they belong to, its
    torque follows them. `rigid` (n, n, 10) is the kernel's map, with one waste column at the end, after as many columns
    of zeros as make `width` a multiple of 8; `terms` are (entry, column) pairs for the joint terms.
    """

    model: Model
    base: BaseParameters
    parameters: tuple[tuple[int, ...], ...]
    span: tuple[tuple[int, int], ...]
    rigid: NDArray[np.int64]
    terms: tuple[tuple[int, int], ...]
    width: int
    known: Known | None = None

    @cached_property
    def tree(self) -> Tree:
        """The robot as the kernel reads it."""
        return tree(self.model.robot)


@dataclass(frozen=True, eq=False)
class Bodies:
    """The rigid bodies' columns of a motion's blocks, as `columns` has them, turned into triangles, joint by joint.

    rows[j] (blocks, m): joint j's rows that count, one beyond the last where there are fewer; Q[j] (blocks, m, l), R[j]
    (blocks, l, k) of its k columns there; tau (rows, n): the thinned torque; states: q, qd, qdd, joint after joint.
    """

    columns: Columns
    motion: Motion
    rows: tuple[NDArray[np.intp], ...]
    Q: tuple[Array, ...]
    R: tuple[Array, ...]
    tau: Array
    states: tuple[Array, ...]

    @property
    def size(self) -> int:
        """How many numbers it holds."""
        return sum(x.size for x in self.Q)

    def are(self, columns: Columns, motion: Motion) -> bool:
        """Return whether these are a motion's, for the same robot and base parameters."""
        own = self.motion
        same = _moved(own) == _moved(motion) and own.tau is motion.tau and own.blocks == motion.blocks
        same = same and self.columns.model.robot is columns.model.robot and np.array_equal(own.keep, motion.keep)
        return same and self.columns.base.kept == tuple(k for k in columns.base.kept if k < columns.model.n_rigid)


@dataclass(frozen=True, eq=False)
class Known:
    """Bodies of motions, for models that differ by their joint terms, whose columns are turned beside them.

    No more than KEPT numbers are kept; of further motions all rows are made anew. Of joint terms, the thinned columns
    of the last model, by what they depend on (`_moved`).
    """

    _bodies: list[Bodies] = field(default_factory=list)
    _terms: dict[tuple[object, ...], dict[str, Array]] = field(default_factory=dict)

    def factors(self, columns: Columns, motion: Motion) -> list[tuple[Array, ...]] | None:
        """Return each block's factors, joint by joint; None where there are too many to be kept."""
        bodies = self._of(columns, motion)
        if bodies is None:
            return None
        terms = self._thinned(columns.model, motion, bodies.states)
        found = []
        for j, (first, last) in enumerate(columns.span):
            Q, R = bodies.Q[j], bodies.R[j]
            (blocks, inner, k), width = R.shape, last - first
            more = np.zeros((len(bodies.tau) + 1, width - k))
            more[:-1, -1] = bodies.tau[:, j]
            for entry, column in columns.terms:
                if first <= column < last:
                    more[:-1, column - first - k] += terms[entry]
            beside = more[bodies.rows[j]]
            along = Q.swapaxes(1, 2) @ beside
            beside -= Q @ along
            left = np.asarray(np.linalg.qr(beside, mode="r"))
            whole = np.zeros((blocks, width, width))
            whole[:, :inner, :k], whole[:, :inner, k:] = R, along
            whole[:, inner : inner + left.shape[1], k:] = left
            found.append(whole)
        return list(zip(*found, strict=True))

    def _of(self, columns: Columns, motion: Motion) -> Bodies | None:
        for bodies in self._bodies:
            if bodies.are(columns, motion):
                return bodies
        model, base = replace(columns.model, terms=()), columns.base
        r, p = sum(k < model.n_rigid for k in base.kept), model.n_rigid
        rigid = packed_columns(model, BaseParameters(base.names[:r], base.kept[:r], base.K[:r, :p], model.names))
        longest = max(stop - start for start, stop in motion.blocks)
        size = len(motion.blocks) * longest * rigid.span[-1][1]
        if sum(bodies.size for bodies in self._bodies) + size > KEPT:
            return None
        self._bodies.append(_turned(rigid, motion, longest))
        return self._bodies[-1]

    def _thinned(self, model: Model, motion: Motion, states: tuple[Array, ...]) -> list[Array]:
        """Return the joint terms' columns (rows,) of a motion, thinned, one for each of the model's `term_entries`."""
        had, names = self._terms.get(_moved(motion), {}), [repr(term) for term in model.terms]
        new = {name: term for name, term in zip(names, model.terms, strict=True) if name not in had}
        for k in range(0, len(new), TERMS):
            some = dict(islice(new.items(), k, k + TERMS))
            had = had | dict(zip(some, _thin(replace(model, terms=tuple(some.values())), motion, states), strict=True))
        self._terms[_moved(motion)] = {name: had[name] for name in names}
        return [column for name in names for column in had[name]]


def _thin(model: Model, motion: Motion, states: tuple[Array, ...]) -> list[Array]:
    """Return the columns (k, rows) of each of a model's joint terms, thinned; states: as of `Bodies`."""
    every, step = model.term_columns(*states, signals=motion.signals()), 4 * BLOCK  # these rows are short ones
    blocks = (in_eights(every[:, a : a + step].T) for a in range(0, every.shape[1], step))
    thin = np.ascontiguousarray(np.concatenate(list(thinned(blocks, motion.decimation))).T)
    ends = np.cumsum([len(entries(term, model.robot)) for term in model.terms])
    return np.split(thin, ends)[:-1]


def _moved(motion: Motion) -> tuple[object, ...]:
    """Return what joint terms' columns depend on, as arrays that live: those of a motion that `Bodies` hold."""
    needed = (motion.t, motion.q, motion.qd, motion.qdd, motion.temperature, motion.run_up)
    return (*map(id, needed), motion.decimation)


def _turned(columns: Columns, motion: Motion, longest: int) -> Bodies:
    """Return the bodies of a motion none of whose blocks is longer; columns: of a model without joint terms."""
    packed = np.concatenate([*pieces(columns, motion), np.zeros((1, columns.width))])
    starts, stops = np.array(motion.blocks).T[:, :, None]
    places = starts + np.arange(longest)
    within, places = places < stops, np.minimum(places, motion.rows - 1)
    rows, Q, R = list[NDArray[np.intp]](), list[Array](), list[Array]()
    for j, (first, last) in enumerate(columns.span):
        rows.append(np.where(within & motion.keep[places, j], places, motion.rows))
        q, r = np.linalg.qr(packed[rows[-1], first : last - 1])
        Q.append(q)
        R.append(r)
    tau = packed[:-1, [last - 1 for _, last in columns.span]]
    states = tuple(map(np.asfortranarray, (motion.q, motion.qd, motion.qdd)))
    return Bodies(columns, motion, tuple(rows), tuple(Q), tuple(R), tau, states)


def packed_columns(model: Model, base: BaseParameters) -> Columns:
    """Lay out the columns of the kept parameters that each joint's torque can show."""
    robot = model.robot
    place = {standard: k for k, standard in enumerate(base.kept)}
    wanted: list[list[int]] = []
    for j in range(robot.n):
        rigid = [10 * i + k for i in robot.carried_by(j) for k in range(10)]
        own = {k for joint, k in model.term_entries if joint == j}
        wanted.append(sorted(place[k] for k in {*rigid, *own} if k in place))
    starts = np.concatenate([[0], np.cumsum([len(w) + 1 for w in wanted])])
    width = -(-(int(starts[-1]) + 1) // 8) * 8
    rigid_map = np.full((robot.n, robot.n, 10), width - 1, dtype=np.int64)
    column = [{b: int(starts[j]) + c for c, b in enumerate(w)} for j, w in enumerate(wanted)]
    for j in range(robot.n):
        for i in robot.carried_by(j):
            for k in range(10):
                b = place.get(10 * i + k)
                if b is not None:
                    rigid_map[j, i, k] = column[j][b]
    terms = tuple((e, column[j][place[k]]) for e, (j, k) in enumerate(model.term_entries) if k in place)
    span = tuple((int(starts[j]), int(starts[j + 1])) for j in range(robot.n))
    return Columns(model, base, tuple(map(tuple, wanted)), span, rigid_map, terms, width)


def compress(
    model: Model,
    motions: Motion | Iterable[Motion],
    *,
    base: BaseParameters | None = None,
    weights: ArrayLike | Iterable[ArrayLike] | None = None,
    known: Known | None = None,
) -> Regression:
    """Return the factors of one or many motions, taken one after the other so that memory stays flat.

    motions: a Motion, or any iterable of them such as a generator over a log larger than memory. `base` saves
    the structural analysis when it is known already. weights (rows,) or (rows, n), rows those after decimation:
    what each sample's squared residual counts, such as the weights of a robust loss (Huber's, Tukey's) or 1 / variance;
    one array for each motion, where motions is no Motion. A sample of weight 0 is left out. known: what is kept of
    these motions for models of other joint terms.
    Raises ModelError when a motion has another number of joints, RegressionError when it comes twice or none is given,
    or for weights of another shape, negative or not finite.
    """
    columns = replace(packed_columns(model, base or base_parameters(model)), known=known)
    return require_rows(compress_any(columns, motions, weights))


def compress_any(
    columns: Columns, motions: Motion | Iterable[Motion], weights: ArrayLike | Iterable[ArrayLike] | None = None
) -> Regression:
    """Return the factors as `compress` does, without segments where no row is left."""
    seen: dict[str, str] = {}
    single = isinstance(motions, Motion)
    each: Iterator[Any] = repeat(None) if weights is None else iter([weights] if single else weights)  # type: ignore[arg-type]

    def parts() -> Iterator[Keyed]:
        for number, motion in enumerate([motions] if isinstance(motions, Motion) else motions):
            counts: Any = next(each, weights)
            if counts is weights and not single and weights is not None:
                raise RegressionError(f"{number} motions have weights, there are more", fix="Give one array for each")
            found = segments_of(columns, motion, counts)
            for segment in found.values():
                once(segment, seen)
            yield found

    return gathered(columns, reduced(parts()))


def segments_of(columns: Columns, motion: Motion, weights: ArrayLike | None = None) -> Keyed:
    """Return the segments of one motion, by recording and stretch where it repeats one, else each by itself."""
    found: Keyed = {}
    for key, segment in _segments(columns, motion, _roots(motion, weights)):
        found[key] = merged(found[key], segment) if key in found else segment
    return found


def joined(parts: Sequence[Keyed]) -> Keyed:
    """Return the segments of some parts, those of one stretch as one."""
    same: dict[str | tuple[str, int], list[Segment]] = {}
    for part in parts:
        for key, segment in part.items():
            same.setdefault(key, []).append(segment)
    return {key: merged(*segments) for key, segments in same.items()}


def reduced(parts: Iterable[Keyed]) -> Keyed:
    """Return the segments of all parts: those of ARITY neighbours joined, then those of ARITY of these, and so on."""
    levels: list[list[Keyed]] = []
    for part in parts:
        joint = part
        for depth in count():  # a level that is full is joined and becomes a part of the next one
            if depth == len(levels):
                levels.append([])
            levels[depth].append(joint)
            if len(levels[depth]) < ARITY:
                break
            joint, levels[depth] = joined(levels[depth]), []
    left: list[Keyed] = []
    for level in levels:
        left = [joined([*level, *left])] if level or left else []
    return left[0] if left else {}


def gathered(columns: Columns, segments: Keyed) -> Regression:
    """Return the factors of segments."""
    found = tuple(segments.values())
    return Regression(columns.model.fingerprint(), columns.base, columns.parameters, found)


def require_rows(regression: Regression) -> Regression:
    """Return the factors; RegressionError where they hold no row."""
    if not regression.segments:
        problem = "no row of the motions is left to fit"
        raise RegressionError(problem, fix="Does the robot move? Check masks, time window and recordings")
    return regression


def _roots(motion: Motion, weights: ArrayLike | None) -> Array | None:
    """Return the square roots (rows, n) of a motion's weights."""
    if weights is None:
        return None
    n = motion.q.shape[1]
    given = frozen(weights, (None,) * np.ndim(weights), f"weights of '{motion.name}'", RegressionError)
    given = given[:, None] if given.ndim == 1 else given
    if given.shape not in ((motion.rows, 1), (motion.rows, n)):
        raise RegressionError(f"weights of '{motion.name}' have shape {given.shape}, wanted ({motion.rows}, {n})")
    if (given < 0).any():
        raise RegressionError(f"a weight of '{motion.name}' is negative: {given.min():g}")
    return np.sqrt(np.broadcast_to(given, (motion.rows, n)))


def _segments(columns: Columns, motion: Motion, roots: Array | None) -> Iterator[tuple[str | tuple[str, int], Segment]]:
    """Yield each block's segment with its key: the recording and its stretch where it repeats one, else its own."""
    n = columns.model.robot.n
    if motion.q.shape[1] != n:
        raise ModelError(f"motion '{motion.name}' has {motion.q.shape[1]} joints, the robot has {n}")
    identity = motion.fingerprint() if roots is None else f"{motion.fingerprint()}|{_digest(roots.tobytes())}"
    keep = motion.keep if roots is None else motion.keep & (roots > 0)
    numbers = [number for number, (start, stop) in enumerate(motion.blocks) if keep[start:stop].any()]
    for number, factors in _factors(columns, motion, keep, roots, numbers):
        start, stop = motion.blocks[number]
        stretch = motion.stretches[number] if motion.stretches else None
        place = number if stretch is None else stretch
        name = motion.name if len(motion.blocks) == 1 else f"{motion.name}[{place + 1}]"
        digest = _digest(f"{identity}|{number + 1}".encode())
        counts, noise = (tuple(np.asarray(x).tolist()) for x in (keep[start:stop].sum(axis=0), motion.noise))
        key = digest if stretch is None else (motion.name, stretch)
        yield key, Segment(digest, name, motion.name, counts, factors, noise)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _factors(
    columns: Columns, motion: Motion, keep: NDArray[np.bool_], roots: Array | None, numbers: list[int]
) -> Iterator[tuple[int, tuple[Array, ...]]]:
    """Yield some blocks of a motion, by their number, with each joint's R factor, from one pass over its rows."""
    from ident.regression.kernels import update_factors

    kept = None if columns.known is None or roots is not None else columns.known.factors(columns, motion)
    if kept is not None:
        yield from ((number, kept[number]) for number in numbers)
        return
    widths = [last - first for first, last in columns.span]
    starts = np.array([first for first, _ in columns.span] + [columns.span[-1][1]])
    lanes: dict[int, Array] = {}
    for number, first, piece in _cut(pieces(columns, motion), motion.blocks, numbers):
        start, stop = motion.blocks[number]
        if number not in lanes:
            # Their number depends on the rows alone, so that the result does not depend on the machine.
            count = min(max((stop - start) // 4096, 1), 8)
            lanes[number] = np.zeros((count, len(widths), max(widths), max(widths)))
        last = first + len(piece)
        if roots is not None:
            own = np.repeat(roots[first:last], widths, axis=1)
            weighted = piece * np.pad(own, ((0, 0), (0, columns.width - own.shape[1])))
        update_factors(piece if roots is None else weighted, keep[first:last], starts, lanes[number])
        if last == stop:
            found = lanes.pop(number)
            yield number, tuple(stacked([f[j, :k, :k].copy() for f in found]) for j, k in enumerate(widths))


def pieces(columns: Columns, motion: Motion) -> Iterator[Array]:
    """Yield the packed rows of a motion, thinned, one after the other."""
    N, size = len(motion.q), BLOCK if motion.decimation else _CHUNK
    terms = columns.model.term_columns(motion.q, motion.qd, motion.qdd, signals=motion.signals())  # some remember
    return thinned(
        (packed_rows(columns, motion, terms, a, min(a + size, N)) for a in range(0, N, size)), motion.decimation
    )


def _cut(
    pieces: Iterator[Array], blocks: tuple[tuple[int, int], ...], numbers: list[int]
) -> Iterator[tuple[int, int, Array]]:
    """Yield the parts of consecutive pieces that lie in a block: the block's number, the first row, the rows."""
    row = 0
    for piece in pieces:
        for number in numbers:
            first, last = max(blocks[number][0], row), min(blocks[number][1], row + len(piece))
            if first < last:
                yield number, first, piece[first - row : last - row]
        row += len(piece)


def packed_rows(columns: Columns, motion: Motion, terms: Array, first: int, last: int) -> Array:
    """Return the packed regressor and torque columns (last - first, width) of some samples of a motion.

    terms: the joint terms' columns of the whole motion, as `Model.term_columns` returns them.
    """
    part = slice(first, last)
    out, states = np.empty((last - first, columns.width)), (motion.q[part], motion.qd[part], motion.qdd[part])
    packed_regressor(columns.tree, states, columns.rigid, terms[:, part], columns.terms, out)  # a motion is sound
    for j, (_, stop) in enumerate(columns.span):
        out[:, stop - 1] = motion.tau[first:last, j]
    return out


def state_rows(
    columns: Columns,
    q: Array,
    qd: Array,
    qdd: Array,
    *,
    signals: Mapping[str, Array] = NO_SIGNALS,
    out: Array | None = None,
) -> Array:
    """Return the packed regressor columns (N, width) of states (N, n), zero in the columns of the torque.

    columns: `packed_columns` of a model: columns.span[j] are those of joint j, of the base parameters
    columns.parameters[j] and, as the last one, of its torque; what stands behind all of them means nothing. signals: as
    of `ident.model.regressor`; `out` (N, width), C-contiguous, is filled and returned when given.
    Raises ModelError when shapes do not fit the robot or a number is not finite.
    """
    return rows_with(columns, q, qd, qdd, columns.model.term_columns(q, qd, qdd, signals=signals), out)


def rows_with(columns: Columns, q: Array, qd: Array, qdd: Array, terms: Array, out: Array | None = None) -> Array:
    """Return the packed regressor columns (N, width) of states (N, n) and columns of joint terms, as `state_rows`."""
    states = batch(columns.model.robot, q=q, qd=qd, qdd=qdd)
    out = room((len(states[0]), columns.width), out)
    packed_regressor(columns.tree, states, columns.rigid, terms, columns.terms, out)
    return out


def pull_back(columns: Columns, q: Array, qd: Array, qdd: Array, weights: Array) -> Array:
    """Return the derivative (3, N, n) of sum(weights * state_rows) with respect to q, qd, qdd.

    weights (N, width); the torque's and the waste column's do not count.
    """
    from ident.dynamics.kernels import regressor_pull_back_rows

    model = columns.model
    q, qd, qdd = batch(model.robot, q=q, qd=qd, qdd=qdd)
    weights = weights.copy()
    weights[:, -1] = 0.0  # parameters that are not kept point there
    out = np.empty((len(q), 3 * model.robot.n))
    regressor_pull_back_rows(columns.tree, q, qd, qdd, columns.rigid, checked(weights, weights.shape, "weights"), out)
    entries = np.zeros((len(model.term_entries), len(q)))
    for entry, column in columns.terms:
        entries[entry] = weights[:, column]
    rigid = out.reshape(len(q), 3, model.robot.n).transpose(1, 0, 2)
    return np.asarray(rigid + model.term_pull_back(q, qd, qdd, entries))
