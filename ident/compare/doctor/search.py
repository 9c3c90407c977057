"""The search for the mistakes that explain the logs best: a beam of hypotheses, then exchanges one by one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from ident.arrays import Array
from ident.compare.doctor.evidence import Evidence, deviations, student
from ident.compare.doctor.hypotheses import (
    EXTRA,
    GAIN,
    UNEXPLAINED,
    ExtraBody,
    Hypothesis,
    InLinks,
    Move,
    Space,
    Swapped,
    TorqueGain,
    TorqueSign,
    Unexplained,
    can_exist,
)
from ident.compare.doctor.mistakes import Mistake, parameters_of

#: Log odds that a mistake must have against the same table without it: a thousand to one.
MARGIN = float(np.log(1000.0))
MOST = 3  # mistakes
_BEAM = 5
_IMPOSSIBLE = 25.0  # log odds against a link of the table that cannot exist
_SAME = 0.3  # tolerances within which two readings are the same


@dataclass(frozen=True, eq=False)
class Option:
    """A move and what the log probability (with the prior) of the hypothesis is after it."""

    move: Move
    score: float


@dataclass(eq=False)
class Search:
    """Scores of hypotheses about one table (n, 10) under the logs; look(view, gains) returns their evidence.

    broad: whether a whole table may be wrong in no known way.
    """

    space: Space
    table: Array
    look: Callable[[str, Array], Evidence]
    effective: Array
    broad: bool = True
    _seen: dict[tuple[str, bytes], Evidence] = field(default_factory=dict)
    _fits: dict[tuple[str, bytes], float] = field(default_factory=dict)
    _links: dict[tuple[int, bytes], Array | None] = field(default_factory=dict)
    _expanded: dict[tuple[frozenset[Move], bool], list[Option]] = field(default_factory=dict)

    def evidence(self, state: Hypothesis) -> Evidence:
        """Return the evidence at the hypothesis' view and gains."""
        key = (state.view, np.round(state.gains, 3).tobytes())
        if key not in self._seen:
            self._seen[key] = self.look(state.view, state.gains)
        return self._seen[key]

    def log_prior(self, moves: tuple[Move, ...]) -> float:
        """Return the log of the odds of these moves beforehand."""
        return float(sum(self.space.log_prior(m) for m in moves))

    def score(self, state: Hypothesis) -> float:
        """Return the log probability of the logs and the moves."""
        E = self.evidence(state)
        residual, covariance = self.totals(E, state)
        fit = E.fit(state.gains, self.effective)
        found = E.log_probability(residual[None], covariance[None])[0]
        return float(found) + fit + self.log_prior(state.moves) - self._penalty(state)

    def options(self, state: Hypothesis) -> list[Option]:
        """Return every single move from a hypothesis with its score, best first."""
        key = (frozenset(state.moves), self.broad)
        if key not in self._expanded:
            self._expanded[key] = sorted(self._options(state), key=lambda o: -o.score)
        return self._expanded[key]

    def best(self) -> tuple[Hypothesis, Hypothesis | None]:
        """Return the best hypothesis, and the best other one within the margin, reached from another start.

        Two things are not found one step at a time: an extra body beside other mistakes looks like many small ones; and
        "all numbers are off" is said quickly, where a few mistakes of single links may say as much.
        """
        reached = [self._beam()]
        if reached[0].moves:
            if not reached[0].extras:
                carried = (self._beam(extra) for extra in self._extras(reached[0]))
                reached += [state for state in carried if self._carries(state)]
            if any(_sweeping(m) for state in reached for m in state.moves):
                self.broad = False
                reached.append(self._beam())
                self.broad = True
        best, *others = sorted(reached, key=self.score, reverse=True)
        near = [o for o in others if self.score(o) > self.score(best) - MARGIN]
        return best, next((o for o in near if any(not _in(m, o.moves) for m in best.moves)), None)

    def _extras(self, state: Hypothesis) -> list[ExtraBody]:
        """Return extra bodies on the last link, of sizes after the links'."""
        size = round(max(float(np.median(np.linalg.norm(state.bodies[:, 1:4], axis=1))), 0.03), 3)
        typical = float(np.median(np.abs(state.bodies[:, 0])))
        return [ExtraBody(self.space.n - 1, float(f"{share * typical:.2g}"), size) for share in EXTRA]

    def _carries(self, state: Hypothesis) -> bool:
        """Return whether the extra bodies of a hypothesis, if there are any, can exist."""
        return all(can_exist_within(*self.extra_body(self.without(state, e), e)) for e in state.extras)

    def _beam(self, *seed: Move) -> Hypothesis:
        """Return the best hypothesis of a beam over up to three mistakes from a seed, improved by exchanges."""
        start = self.space.of(self.table, seed)
        beam, found = [start], {frozenset(seed): (self.score(start), start)}
        for depth in range(len(seed), MOST):
            before = max(s for s, _ in found.values())
            fresh: dict[frozenset[Move], tuple[float, Hypothesis, Move]] = {}
            for state in beam:
                for option in self.options(state)[: 2 * _BEAM]:
                    moves = frozenset((*state.moves, option.move))
                    if len(moves) > depth and (moves not in fresh or option.score > fresh[moves][0]):
                        fresh[moves] = (option.score, state, option.move)
            chosen = sorted(fresh.values(), key=lambda f: -f[0])[:_BEAM]
            beam = [self.space.after(state, move) for _, state, move in chosen]
            found |= {frozenset(s.moves): (self.score(s), s) for s in beam}
            if depth > len(seed) and max(s for s, _ in found.values()) <= before:
                break
        return self.settled(max(found.values(), key=lambda f: f[0])[1])

    def settled(self, state: Hypothesis) -> Hypothesis:
        """Exchange, drop and add moves one at a time until nothing is better; links in no known way wrong may be more.

        A move stays only if the hypothesis without it is less probable by MARGIN.
        """
        for _ in range(4 * self.space.n + 10):
            score = self.score(state)
            better: tuple[float, Hypothesis] | None = None
            for move in state.moves:
                less = self.without(state, move)
                alone = self.score(less)
                if alone > score - MARGIN:
                    better = max(better or (alone, less), (alone, less), key=lambda b: b[0])
                elif len(self.options(less)) and self.options(less)[0].score > score + 1e-6:
                    to = self.space.after(less, self.options(less)[0].move)
                    if self.score(to) > score + 1e-6 and (better is None or self.score(to) > better[0]):
                        better = (self.score(to), to)
            if better is None:
                named = sum(not isinstance(m, Unexplained) for m in state.moves)
                for option in self.options(state):
                    if option.score < score + MARGIN:
                        break
                    if named >= MOST and not isinstance(option.move, Unexplained):
                        continue
                    to = self.space.after(state, option.move)
                    if self.score(to) > score + MARGIN:
                        better = (option.score, to)
                        break
            if better is None:
                return state
            state = better[1]
        return state

    def without(self, state: Hypothesis, move: Move) -> Hypothesis:
        """Return the hypothesis with one move less."""
        return self.space.of(self.table, tuple(m for m in state.moves if m != move))

    def rivals(self, state: Hypothesis, move: Move) -> tuple[float, list[Option]]:
        """Return the log odds of a hypothesis against it without one move, and what else could stand in its place.

        The options' scores are log odds against the hypothesis, best (nearest to or above 0) first.
        """
        score, less = self.score(state), self.without(state, move)
        others = [Option(o.move, o.score - score) for o in self.options(less) if not alike(o.move, move)]
        return score - self.score(less), others

    def deviation(self, state: Hypothesis) -> float:
        """Return the root mean square of the differences between logs and reading, in standard deviations."""
        E = self.evidence(state)
        residual, covariance = self.totals(E, state)
        squares = residual @ np.linalg.solve(covariance + np.eye(E.size), residual)
        return float(np.sqrt(squares / max(E.size, 1)))

    def extra_body(self, state: Hypothesis, extra: ExtraBody) -> tuple[Array, Array]:
        """Return the extra body (10,) that a hypothesis without it asks for, and a root (10, 10) of its covariance."""
        E = self.evidence(state)
        return E.extra_body(*self.totals(E, state), extra)

    def expected(
        self, E: Evidence, covariance: Array, i: int, right: Array, wrong: Array, share: float
    ) -> float | None:
        """Return the log odds to expect of the right numbers of link i against wrong ones; None where they are alike.

        covariance (d, d): beside the fit's own 1, with the right numbers.
        """
        if _same(right, wrong, share):
            return None
        d = E.size
        mean, part = E.link(i, right, share)
        other, wide = E.link(i, wrong, share)
        S, T = covariance + np.eye(d), covariance - part + wide + np.eye(d)
        delta = mean - other
        inverse = np.linalg.inv(T)
        squares = np.array([d, delta @ inverse @ delta + np.sum(inverse * S)])
        logdets = np.array([np.linalg.slogdet(S)[1], np.linalg.slogdet(T)[1]])
        logs = student(squares, logdets, d)
        return float(logs[0] - logs[1])

    def _penalty(self, state: Hypothesis) -> float:
        origin = self.space.setting.about_origin
        return _IMPOSSIBLE * sum(not can_exist(b, origin) for b in state.bodies)

    def totals(self, E: Evidence, state: Hypothesis) -> tuple[Array, Array]:
        """Return the residual (d,) and the covariance (d, d) beside the fit's own, and leave parts in the cache."""
        residual = E.y @ (state.gains / E.gains) - E.stated
        covariance = E.B @ E.B.T
        for i, body in enumerate(self.space.parameters(state)):
            mean, part = E.link(i, body, float(state.shares[i]))
            residual, covariance = residual - mean, covariance + part
        for extra in state.extras:
            mean, part = E.extra(extra)
            residual, covariance = residual - mean, covariance + part
        return residual, covariance

    def _options(self, state: Hypothesis) -> list[Option]:
        E, space, n = self.evidence(state), self.space, self.space.n
        residual, covariance = self.totals(E, state)
        fit = E.fit(state.gains, self.effective)
        base = self.log_prior(state.moves) + fit
        parameters = space.parameters(state)
        origin = space.setting.about_origin
        bad = [not can_exist(b, origin) for b in state.bodies]
        now = [E.link(i, parameters[i], float(state.shares[i])) for i in range(n)]

        moves: list[Move] = []
        residuals, covariances, penalties = [], [], []

        def add(move: Move, changes: dict[int, tuple[Array, Array]], mended: int) -> None:
            r, S = residual, covariance
            for i, (mean, part) in changes.items():
                r, S = r + now[i][0] - mean, S - now[i][1] + part
            moves.append(move)
            residuals.append(r)
            covariances.append(S)
            penalties.append(_IMPOSSIBLE * (sum(bad) - mended))

        whole: dict[Mistake, dict[int, tuple[Array, Array]]] = {}
        for mistake, i in space.link_moves():
            body = self._mended(mistake, i, state.bodies[i])
            if body is None:
                continue
            change = E.link(i, body, float(state.shares[i]))
            whole.setdefault(mistake, {})[i] = change
            move = InLinks(mistake, (i,))
            if move not in state.moves:
                add(move, {i: change}, int(bad[i]))
        for each, changes in whole.items():
            move = InLinks(each, tuple(range(n)))
            if len(changes) > 1 and move not in state.moves and self._fits_all(each, state, changes):
                add(move, changes, sum(bad[i] for i in changes))
        for a in range(n):
            for b in range(a + 1, n):
                if not _same(parameters[a], parameters[b], space.share):
                    swap = {i: E.link(i, parameters[k], float(state.shares[i])) for i, k in ((a, b), (b, a))}
                    add(Swapped(a, b), swap, 0)
        for times in UNEXPLAINED:
            wide = {i: E.link(i, parameters[i], times * space.share) for i in range(n)}
            for i in range(n):
                if state.shares[i] < times * space.share:
                    add(Unexplained((i,), times), {i: wide[i]}, 0)
            if self.broad and n > 1 and state.shares.min() < times * space.share:
                add(Unexplained(tuple(range(n)), times), wide, 0)
        if not state.extras:
            for extra in self._extras(state):
                mean, part = E.extra(extra)
                if self._positive(E, residual, covariance, extra):
                    moves.append(extra)
                    residuals.append(residual - mean)
                    covariances.append(covariance + part)
                    penalties.append(_IMPOSSIBLE * sum(bad))
        logs = E.log_probability(np.array(residuals), np.array(covariances)) - np.array(penalties)
        found = [Option(m, float(x) + base + space.log_prior(m)) for m, x in zip(moves, logs, strict=True)]
        return found + self._torque_options(E, state, residual, covariance, _IMPOSSIBLE * sum(bad))

    def _torque_options(
        self, E: Evidence, state: Hypothesis, residual: Array, covariance: Array, penalty: float
    ) -> list[Option]:
        prior, space = self.log_prior(state.moves), self.space
        found: list[Option] = []
        used = {m.joint for m in state.moves if isinstance(m, TorqueSign | TorqueGain)}
        grid = np.exp(np.linspace(-np.log(GAIN), np.log(GAIN), 401))
        for j in range(space.n):
            if j in used:
                continue
            direction = E.y[:, j] * (state.gains[j] / E.gains[j])
            flip = space.after(state, TorqueSign(j))
            log = E.log_probability((residual - 2.0 * direction)[None], covariance[None])[0]
            score = float(log) + E.fit(flip.gains, self.effective) + prior - penalty
            found.append(Option(TorqueSign(j), score + space.log_prior(TorqueSign(j))))
            peak, cost = 1.0, 0.0
            for _ in range(2):
                values = E.along(residual, covariance, direction, grid)
                values += E.fits_along(state.gains, j, grid, self.effective)
                k = int(np.argmax(values))
                peak = float(grid[k])
                cost = float(np.log(np.trapezoid(np.exp(values - values[k]), np.log(grid)) / (2 * np.log(GAIN))))
                step = float(np.log(grid[1] / grid[0]))
                grid_next = peak * np.exp(np.linspace(-20 * step, 20 * step, 401))
                if cost > np.log(20 * step / (2 * np.log(GAIN))):
                    break
                grid = grid_next
            grid = np.exp(np.linspace(-np.log(GAIN), np.log(GAIN), 401))
            if abs(np.log(peak)) > 0.01:
                gain = TorqueGain(j, round(peak, 4), max(cost, -20.0))
                score = float(values[k]) + prior - penalty
                found.append(Option(gain, score + space.log_prior(gain)))
        if not state.view:
            for view in space.views:
                to = space.after(state, view)
                found.append(Option(view, self.score(to)))
        return found

    def _mended(self, mistake: Mistake, i: int, body: Array) -> Array | None:
        """Return the parameters (10,) of a body without a mistake; None where that changes nothing or cannot exist."""
        key = (hash((type(mistake), mistake)), body.tobytes() + bytes([i]))
        if key not in self._links:
            origin = self.space.setting.about_origin
            mended = mistake.undone(body, i, self.space.setting)
            found = None
            if can_exist(mended, origin):
                before, after = parameters_of(np.array([body, mended]), origin)
                found = None if _same(before, after, self.space.share) else after
            self._links[key] = found
        return self._links[key]

    def _fits_all(self, mistake: Mistake, state: Hypothesis, changes: dict[int, tuple[Array, Array]]) -> bool:
        """Return whether every link that the mistake would change can exist without it."""
        origin = self.space.setting.about_origin
        return all(
            i in changes or can_exist(mistake.undone(b, i, self.space.setting), origin)
            for i, b in enumerate(state.bodies)
        )

    def _positive(self, E: Evidence, residual: Array, covariance: Array, extra: ExtraBody) -> bool:
        """Return whether the extra body that the logs ask for is one that can exist, within its errors."""
        body, root = E.extra_body(residual, covariance, extra)
        return can_exist_within(body, root)


def can_exist_within(body: Array, root: Array, times: float = 2.0) -> bool:
    """Return whether parameters (10,) with covariance root @ root.T may be those of a body that can exist."""
    from ident.spatial.inertia import pseudo_inertia

    J = pseudo_inertia(body)
    values, vectors = np.linalg.eigh(J)
    if values[0] >= 0:
        return bool(body[0] > 0)
    v = vectors[:, 0]
    spread = np.linalg.norm([v @ pseudo_inertia(column) @ v for column in root.T])
    return bool(values[0] > -times * spread and body[0] > 0)


def _same(a: Array, b: Array, share: float) -> bool:
    """Return whether two bodies' parameters (10,) are alike within a part of the tolerance of the smaller of them."""
    if abs(a[0] - b[0]) > _SAME * share * min(abs(a[0]), abs(b[0])):
        return False
    size = np.minimum(*(np.linalg.norm(deviations(x, share), axis=1) for x in (a, b)))
    return bool((np.abs(a - b) <= _SAME * size + 1e-12).all())


def _sweeping(move: Move) -> bool:
    return isinstance(move, Unexplained) and len(move.links) > 1


def _in(move: Move, moves: tuple[Move, ...]) -> bool:
    return any(alike(move, m) for m in moves)


def alike(a: Move, b: Move) -> bool:
    """Return whether two moves are one and the same finding, perhaps of another size."""
    match a, b:
        case TorqueGain(), TorqueGain():
            return a.joint == b.joint
        case Unexplained(), Unexplained():
            return a.links == b.links
        case ExtraBody(), ExtraBody():
            return True
    return a == b
