"""Search for a good motion from many starts; what is returned is proven to keep every constraint at every instant.

The merit is infinite outside its domain. scipy's BFGS and L-BFGS-B interpolate through infinite values and break down
there; the line search of `minimise` only halves.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from ident.arrays import Array
from ident.errors import ExcitationError
from ident.excitation.limits import Guarantee
from ident.excitation.problem import Problem
from ident.excitation.trajectory import Trajectory
from ident.jit import one_thread

_WEIGHTS = (1.0, 0.1, 0.01, 0.003)  # of the barrier, one after the other
_STEPS = 400
_GAIN = 1e-3  # of the criterion, in ten steps: a tenth of a percent
_POSTURES = 300
_TIGHT = 0.01  # share of every range that is kept free at the samples; more is taken where the proof asks for it
_ROUNDS = 6


#: Criterion, free coefficients and guarantees of a motion.
_Found = tuple[float, Array, tuple[Guarantee, ...]]


@dataclass(frozen=True)
class Start:
    """One start of the search: its number, what it reached, and how long it took [s]; value None: nothing proven."""

    number: int
    value: float | None
    seconds: float


@dataclass(frozen=True, eq=False)
class Design:
    """The best motion found. value: the criterion's; factor (b, b): R of its information; guarantees: what is proven.

    starts: all that were made, in order; ended: why the search stopped.
    """

    trajectory: Trajectory
    value: float
    factor: Array
    guarantees: tuple[Guarantee, ...]
    starts: tuple[Start, ...]
    ended: str

    @property
    def proven(self) -> bool:
        """Whether every constraint is proven to hold at every instant."""
        return all(g.holds for g in self.guarantees)


def search(
    problem: Problem,
    *,
    starts: int = 10,
    seed: int = 0,
    seconds: float = 60.0,
    warm: Sequence[Trajectory] = (),
    progress: Callable[[Start, float | None], None] | None = None,
    score: Callable[[Trajectory], float] | None = None,
) -> Design:
    """Return the best of `starts` searches from random motions, after those from the `warm` ones.

    Start k depends on seed and k alone, so that a search can be taken up again with a warm motion and another seed.
    seconds: no start begins, and none goes on, after that time; an interrupt ends the search like that, too.
    progress(start, best value) is called after each start. score: of what the starts lead to, the motion of the largest
    one is returned, instead of that with the best criterion.
    Raises ExcitationError, saying which constraint was in the way, when no start led to a motion that keeps all.
    """
    began = time.monotonic()

    def over() -> bool:
        return time.monotonic() - began > seconds

    best: _Found | None = None
    least = np.inf
    done: list[Start] = []
    obstacles: list[str] = []
    ended = f"{starts} starts done"
    for number in range(len(warm) + starts):
        if done and over():
            ended = f"time budget of {seconds:g} s used up"
            break
        since = time.monotonic()
        rng = np.random.default_rng([seed, number])
        first = problem.coordinates(warm[number]) if number < len(warm) else None
        try:
            with one_thread():
                found = _start(problem, rng, first, over, obstacles)
            rank = np.inf if found is None else -score(problem.trajectory(found[1])) if score else found[0]
            if found is not None and (best is None or rank < least):
                best, least = found, rank
            done.append(Start(number, None if found is None else found[0], time.monotonic() - since))
            if progress is not None:
                progress(done[-1], None if best is None else best[0])
        except KeyboardInterrupt:
            if best is None:
                raise
            ended = "interrupted"
            break
    if best is None:
        what = max(set(obstacles), key=obstacles.count) if obstacles else "time ran out"
        none = f"no motion that keeps every limit was found in {len(done)} starts"
        fix = "Widen that limit, change the start posture, lower the base frequency, or allow more time"
        raise ExcitationError(f"{none}; in the way was: {what}", fix=fix)
    value, z, guarantees = best
    return Design(problem.trajectory(z), value, problem.factor(z), guarantees, tuple(done), ended)


def _start(
    problem: Problem, rng: np.random.Generator, z: Array | None, over: Callable[[], bool], obstacles: list[str]
) -> _Found | None:
    """Return what one start leads to, or None; never worse than a given z."""
    tight = (_TIGHT,) * len(problem.constraints)
    given = None
    if z is not None:
        guarantees = tuple(g for found in problem.guarantees(z) for g in found)
        if all(g.holds for g in guarantees):
            given = problem.criterion(problem.factor(z))[0], z, guarantees
    anchor = _anchor(problem, rng, tight, over, obstacles)
    if anchor is None:
        return given
    z = _inside(problem, anchor, rng.normal(size=anchor.shape) if z is None else z - anchor, tight, near=z is not None)
    inverse = None
    for weight in _WEIGHTS:
        z, inverse = minimise(partial(problem.merit, weight=weight, tight=tight), z, inverse, _STEPS, _GAIN, over)
    found = _proven(problem, anchor, z, inverse, tight, over, obstacles)
    if found is None:
        return given
    z, guarantees = found
    value = problem.criterion(problem.factor(z))[0]
    return given if given is not None and given[0] <= value else (value, z, guarantees)


def _proven(
    problem: Problem,
    anchor: Array,
    z: Array,
    inverse: Array | None,
    tight: tuple[float, ...],
    over: Callable[[], bool],
    obstacles: list[str],
) -> tuple[Array, tuple[Guarantee, ...]] | None:
    """Return a motion near z whose constraints are all proven: tightened and improved again, in the end only shrunk."""
    for attempt in range(_ROUNDS + 12):
        each = problem.guarantees(z)
        broken = [next((g for g in found if not g.holds), None) for found in each]
        if not any(broken):
            return z, tuple(g for found in each for g in found)
        if attempt < _ROUNDS:
            tight = tuple(2.0 * t + 0.005 if b else t for t, b in zip(tight, broken, strict=True))
            if np.isinf(problem.barrier(anchor, tight)):
                break
            z = _inside(problem, anchor, z - anchor, tight, near=True)
            merit = partial(problem.merit, weight=_WEIGHTS[-1], tight=tight)
            z, inverse = minimise(merit, z, inverse, 100, _GAIN, over)
        else:
            z = anchor + 0.9 * (z - anchor)
    obstacles.extend(str(b) for b in broken if b)
    return None


def _inside(problem: Problem, anchor: Array, way: Array, tight: tuple[float, ...], *, near: bool) -> Array:
    """Return anchor + s way, inside all constraints: nearly the whole way when `near`, else two thirds of what fits."""
    length, factor = (1.0, 0.98) if near else (1e3, 0.8)
    while np.isinf(problem.barrier(anchor + length * way, tight)):
        length *= factor
        if near and length < 0.5:
            factor = 0.8
    return np.asarray(anchor + (length if near else 2.0 / 3.0 * length) * way)


def _anchor(
    problem: Problem, rng: np.random.Generator, tight: tuple[float, ...], over: Callable[[], bool], obstacles: list[str]
) -> Array | None:
    """Return a motion inside all constraints: standing still in some posture, or found by reducing what is violated."""
    still = _constant(problem)
    z = np.zeros((len(problem.joints), problem.free.shape[1]))
    if still is not None:
        for posture in _postures(problem, rng):
            z = np.outer(posture, still)
            if np.isfinite(problem.barrier(z, tight)):
                return z
    for _ in range(3):
        z, _ = minimise(partial(_violation, problem, tight), z, None, 200, 1e-6, over)
        if np.isfinite(problem.barrier(z, tight)):
            return z
        least = np.concatenate([m.min(axis=0) for m in problem.margins(z)])
        obstacles.append([name for c in problem.constraints for name in c.names][int(np.argmin(least))])
        z = z + 0.1 * rng.normal(size=z.shape)
    return None


def _constant(problem: Problem) -> Array | None:
    """Return the coordinates (k,) of standing still at q = 1, None where ends are prescribed or it is not possible."""
    if problem.particular.any():
        return None
    ones = np.ones(len(problem.times))
    values = problem.basis.values(problem.times, 0) @ problem.free
    found, *_ = np.linalg.lstsq(values, ones, rcond=1e-12)
    return np.asarray(found) if np.abs(values @ found - ones).max() < 1e-9 else None


def _postures(problem: Problem, rng: np.random.Generator) -> Array:
    """Return postures (many, n) inside the joint ranges, the middle first."""
    limits = [joint.limits for joint in problem.information.columns.model.robot.joints]
    lower = np.array([max(x.lower, min(-np.pi, x.upper - 1.0)) for x in limits])
    upper = np.array([min(x.upper, max(np.pi, x.lower + 1.0)) for x in limits])
    middle, half = (lower + upper) / 2.0, (upper - lower) / 2.0
    draws = rng.uniform(-0.9, 0.9, (_POSTURES, len(limits)))
    draws[0] = 0.0
    return np.asarray(middle + half * draws)


def _violation(problem: Problem, tight: tuple[float, ...], z: Array) -> tuple[float, Array]:
    """Return the sum of squares of what the margins lack, with its gradient."""
    states = problem.states(z)
    total, bars = 0.0, np.zeros((4, *states[0].shape))
    for constraint, t in zip(problem.constraints, tight, strict=True):
        lack = np.maximum(2.0 * t - constraint.margins(states), 0.0)
        total += float((lack**2).sum())
        bars += constraint.pull_back(states, -2.0 * lack)
    return total, problem.gradient(bars)


_ARMIJO, _CURVATURE = 1e-4, 0.9
_TRIALS = 30

Merit = Callable[[Array], tuple[float, Array]]


def minimise(
    merit: Merit, z: Array, inverse: Array | None, steps: int, gain: float, stop: Callable[[], bool]
) -> tuple[Array, Array]:
    """Return where `merit` is (locally) least, starting from z where it is finite, and the inverse Hessian found.

    merit(z): value and gradient, of the shape of z. inverse (z.size, z.size): from an earlier run, or None.
    Ends after `steps` steps, ten steps that gain less than `gain` together, or when stop() says so.
    """
    value, gradient = merit(z)
    history = [value]
    first = inverse is None
    if inverse is None:
        inverse = np.eye(z.size) * (0.1 / max(float(np.linalg.norm(gradient)), 1e-300))
    for _ in range(steps):
        if stop():
            break
        step = -(inverse @ gradient.ravel()).reshape(z.shape)
        slope = float((step * gradient).sum())
        if slope >= 0.0:
            break
        found = _line_search(merit, z, value, step, slope)
        if found is None:
            break
        length, value, after = found
        s, y = length * step.ravel(), (after - gradient).ravel()
        curvature = float(s @ y)
        if curvature > 1e-12 * np.linalg.norm(s) * np.linalg.norm(y):
            if first:
                inverse = np.eye(z.size) * (curvature / float(y @ y))
                first = False
            inverse = _updated(inverse, s, y, curvature)
        z, gradient = z + length * step, after
        history.append(value)
        if len(history) > 10 and history[-11] - value < gain:
            break
    return z, inverse


def _line_search(merit: Merit, z: Array, value: float, step: Array, slope: float) -> tuple[float, float, Array] | None:
    """Return a length that satisfies the weak Wolfe conditions, value and gradient there; None when there is none."""
    shortest, longest, length = 0.0, np.inf, 1.0
    best: tuple[float, float, Array] | None = None
    for _ in range(_TRIALS):
        found, gradient = merit(z + length * step)
        if not found <= value + _ARMIJO * length * slope:
            longest = length
        else:
            best = (length, found, gradient)
            if float((gradient * step).sum()) >= _CURVATURE * slope:
                break
            shortest = length
        length = (shortest + longest) / 2.0 if np.isfinite(longest) else 2.0 * length
    return best


def _updated(inverse: Array, s: Array, y: Array, curvature: float) -> Array:
    """Return the BFGS update of an inverse Hessian."""
    hy = inverse @ y
    scale = (1.0 + float(y @ hy) / curvature) / curvature
    return np.asarray(inverse + scale * np.outer(s, s) - (np.outer(hy, s) + np.outer(s, hy)) / curvature)
