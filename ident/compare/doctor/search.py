"""The search for the mistakes that explain the logs best: a beam of hypotheses, then exchanges one by one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ident.arrays import Array
from ident.compare.doctor.evidence import Evidence, deviations, log_student, student
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


@dataclass(frozen=True, eq=False)
class _Readings:
    """What one link's numbers may be: mistakes (k), parameters (k, 10) without them, roots (k, 10, 10) if all were off.

    The roots are those of the covariances when every number may be off by a share of 1.
    """

    mistakes: tuple[Mistake, ...]
    parameters: Array
    roots: Array


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
    _links: dict[tuple[int, bytes], _Readings] = field(default_factory=dict)
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
        fit = E.fit(state.gains, self.effective)
        found = _over_tolerances(self._logs(E, state))
        return float(found) + fit + self.log_prior(state.moves) - self._penalty(state)

    def _logs(self, E: Evidence, state: Hypothesis) -> Array:
        """Return the log probability of the logs for each tolerance (g,)."""
        p = self._parts(E, state)
        return log_student(p.residual[None], p.covariances())

    def weights(self, state: Hypothesis) -> Array:
        """Return how probable each tolerance (g,) is under a hypothesis."""
        logs = self._logs(self.evidence(state), state)
        found = np.exp(logs - logs.max())
        return np.asarray(found / found.sum())

    def tolerance(self, state: Hypothesis) -> float:
        """Return the tolerance under a hypothesis: the root mean square of those that are probable."""
        return float(np.sqrt(self.weights(state) @ np.square(self.space.tolerances)))

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

    def deviation(self, state: Hypothesis, tolerance: float) -> float:
        """Return the root mean square of the differences between logs and reading, in standard deviations."""
        E = self.evidence(state)
        residual, covariance = self.totals(E, state, tolerance)
        squares = residual @ np.linalg.solve(covariance + np.eye(E.size), residual)
        return float(np.sqrt(squares / max(E.size, 1)))

    def extra_body(self, state: Hypothesis, extra: ExtraBody) -> tuple[Array, Array]:
        """Return the extra body (10,) that a hypothesis without it asks for, and a root (10, 10) of its covariance."""
        E = self.evidence(state)
        return E.extra_body(*self.totals(E, state, self.tolerance(self.space.after(state, extra))), extra)

    def expected(
        self, E: Evidence, covariance: Array, i: int, right: Array, wrong: Array, share: float
    ) -> float | None:
        """Return the log odds to expect of the right numbers of link i against wrong ones; None where they are alike.

        covariance (d, d): beside the fit's own 1, with the right numbers.
        """
        if _same(right, wrong, share):
            return None
        d = E.size
        mean, part = E.link(i, right)
        other, wide = E.link(i, wrong)
        S, T = covariance + np.eye(d), covariance + share**2 * (wide - part) + np.eye(d)
        delta = mean - other
        inverse = np.linalg.inv(T)
        squares = np.array([d, delta @ inverse @ delta + np.sum(inverse * S)])
        logdets = np.array([np.linalg.slogdet(S)[1], np.linalg.slogdet(T)[1]])
        logs = student(squares, logdets, d)
        return float(logs[0] - logs[1])

    def _penalty(self, state: Hypothesis) -> float:
        origin = self.space.setting.about_origin
        return _IMPOSSIBLE * sum(not can_exist(b, origin) for b in state.bodies)

    def totals(self, E: Evidence, state: Hypothesis, tolerance: float) -> tuple[Array, Array]:
        """Return the residual (d,) and the covariance (d, d) beside the fit's own."""
        p = self._parts(E, state)
        shares = np.maximum(state.shares, tolerance)
        return p.residual, p.fixed - np.eye(E.size) + np.tensordot(shares**2, p.parts, 1)

    def _parts(self, E: Evidence, state: Hypothesis) -> _Parts:
        """Return residual and covariance, the latter link by link."""
        residual = E.y @ (state.gains / E.gains) - E.stated
        fixed = np.eye(E.size) + E.B @ E.B.T
        links = [E.link(i, body) for i, body in enumerate(self.space.parameters(state))]
        for extra in state.extras:
            mean, part = E.extra(extra)
            residual, fixed = residual - mean, fixed + part
        means, parts = np.array([m for m, _ in links]), np.array([p for _, p in links])
        shares = np.maximum(np.array(self.space.tolerances)[:, None], state.shares)
        return _Parts(residual - means.sum(axis=0), fixed, means, parts, shares)

    def _options(self, state: Hypothesis) -> list[Option]:
        E, space, n = self.evidence(state), self.space, self.space.n
        p = self._parts(E, state)
        base = self.log_prior(state.moves) + E.fit(state.gains, self.effective)
        bad = [not can_exist(b, space.setting.about_origin) for b in state.bodies]
        now = space.parameters(state)
        least, most = space.tolerances[0], space.tolerances[-1]
        found: list[Option] = []

        def add(moves: Sequence[Move], logs: Array, mended: Sequence[int]) -> None:
            for move, score, less in zip(moves, _over_tolerances(logs), mended, strict=True):
                if move not in state.moves:
                    penalty = _IMPOSSIBLE * (sum(bad) - less)
                    found.append(Option(move, float(score) + base + space.log_prior(move) - penalty))

        residuals: list[Array] = []
        covariances: list[Array] = []
        others: list[Move] = []
        mends: list[int] = []

        def full(move: Move, changes: Mapping[int, tuple[Array, Array]], shares: Array, mended: int = 0) -> None:
            means, parts = p.means.copy(), p.parts.copy()
            for i, (mean, part) in changes.items():
                means[i], parts[i] = mean, part
            others.append(move)
            residuals.append(p.residual + (p.means - means).sum(axis=0))
            covariances.append(p.fixed + np.tensordot(shares**2, parts, 1))
            mends.append(mended)

        whole: dict[Mistake, dict[int, tuple[Array, Array]]] = {}
        for i, alone in enumerate(_links_alone(E, p)):
            readings = self._readings(i, state.bodies[i])
            roots = E.roots(i, readings.roots)
            shares = np.repeat(p.shares[:, i : i + 1], len(roots), axis=1)
            moves = [InLinks(m, (i,)) for m in readings.mistakes]
            add(moves, alone.logs(E, readings.parameters, roots, shares), [bad[i]] * len(moves))
            A = E.A[:, 10 * i : 10 * i + 10]
            means, B = readings.parameters @ A.T, A @ roots
            for mistake, mean, part in zip(readings.mistakes, means, B @ B.transpose(0, 2, 1), strict=True):
                whole.setdefault(mistake, {})[i] = (mean, part)
            wider = [u for u in UNEXPLAINED if u > max(state.shares[i], least)]
            same, root = np.repeat(now[i : i + 1], len(wider), 0), E.roots(i, deviations(now[i], 1.0)[None])
            shares = np.maximum(p.shares[:, i : i + 1], wider)
            logs = alone.logs(E, same, np.repeat(root, len(wider), 0), shares)
            add([Unexplained((i,), u) for u in wider], logs, [0] * len(wider))
        for each, changes in whole.items():
            if len(changes) > 1 and self._fits_all(each, state, changes):
                full(InLinks(each, tuple(range(n))), changes, p.shares, sum(bad[i] for i in changes))
        for a in range(n):
            for b in range(a + 1, n):
                if not _same(now[a], now[b], least):
                    full(Swapped(a, b), {a: E.link(a, now[b]), b: E.link(b, now[a])}, p.shares)
        for u in UNEXPLAINED:
            if self.broad and n > 1 and u > max(state.shares.min(), most):
                full(Unexplained(tuple(range(n)), u), {}, np.maximum(p.shares, u))
        if others:
            add(others, log_student(np.array(residuals)[:, None], np.array(covariances)).T, mends)
        if not state.extras:
            tolerance = self.tolerance(state)
            for extra in self._extras(state):
                if can_exist_within(*E.extra_body(*self.totals(E, state, tolerance), extra)):
                    mean, part = E.extra(extra)
                    logs = log_student((p.residual - mean)[None], p.covariances() + part)
                    add([extra], logs[:, None], [0])
        return found + self._torque_options(E, state, p, _IMPOSSIBLE * sum(bad))

    def _torque_options(self, E: Evidence, state: Hypothesis, p: _Parts, penalty: float) -> list[Option]:
        prior, space = self.log_prior(state.moves), self.space
        found: list[Option] = []
        used = {m.joint for m in state.moves if isinstance(m, TorqueSign | TorqueGain)}
        directions = E.y * (state.gains / E.gains)
        along = _Along.of(p, directions)
        step = 2 * np.log(GAIN) / 400
        for j in range(space.n):
            if j in used:
                continue
            flip = space.after(state, TorqueSign(j))
            score = float(along.logs(j, np.array([-1.0]))[0]) + E.fit(flip.gains, self.effective) + prior - penalty
            found.append(Option(TorqueSign(j), score + space.log_prior(TorqueSign(j))))
            peak, cost = 1.0, 0.0
            for reach in (np.log(GAIN), 20 * step):  # a narrow peak falls between the steps of the first grid
                grid = peak * np.exp(np.linspace(-reach, reach, 401))
                values = along.logs(j, grid) + E.fits_along(state.gains, j, grid, self.effective)
                k = int(np.argmax(values))
                peak = float(grid[k])
                cost = float(np.log(np.trapezoid(np.exp(values - values[k]), np.log(grid)) / (2 * np.log(GAIN))))
                if cost > np.log(20 * step / (2 * np.log(GAIN))):
                    break
            if abs(np.log(peak)) > 0.01:
                gain = TorqueGain(j, round(peak, 4), max(cost, -20.0))
                score = float(values[k]) + prior - penalty
                found.append(Option(gain, score + space.log_prior(gain)))
        if not state.view:
            for view in space.views:
                to = space.after(state, view)
                found.append(Option(view, self.score(to)))
        return found

    def _readings(self, i: int, body: Array) -> _Readings:
        """Return what link i's numbers (10,) are without each mistake, where that changes them and can exist."""
        key = (i, body.tobytes())
        if key not in self._links:
            setting, least = self.space.setting, self.space.tolerances[0]
            before = parameters_of(body[None], setting.about_origin)[0]
            mistakes, parameters = [], []
            for mistake in (m for m, link in self.space.link_moves() if link == i):
                mended = mistake.undone(body, i, setting)
                if can_exist(mended, setting.about_origin):
                    after = parameters_of(mended[None], setting.about_origin)[0]
                    if not _same(before, after, least):
                        mistakes.append(mistake)
                        parameters.append(after)
            roots = np.array([deviations(x, 1.0) for x in parameters]).reshape(-1, 10, 10)
            self._links[key] = _Readings(tuple(mistakes), np.array(parameters).reshape(-1, 10), roots)
        return self._links[key]

    def _fits_all(self, mistake: Mistake, state: Hypothesis, changes: dict[int, tuple[Array, Array]]) -> bool:
        """Return whether every link that the mistake would change can exist without it."""
        origin = self.space.setting.about_origin
        return all(
            i in changes or can_exist(mistake.undone(b, i, self.space.setting), origin)
            for i, b in enumerate(state.bodies)
        )


@dataclass(frozen=True, eq=False)
class _Parts:
    """A hypothesis in the space of the evidence.

    residual (d,); fixed (d, d): covariance that no tolerance changes, the fit's own 1 among it; means (n, d) and
    parts (n, d, d) of the links, the covariances for shares of 1; shares (g, n): for each tolerance that of each link.
    """

    residual: Array
    fixed: Array
    means: Array
    parts: Array
    shares: Array

    def covariances(self) -> Array:
        """Return the covariance (g, d, d) for each tolerance."""
        return np.asarray(self.fixed + np.tensordot(self.shares**2, self.parts, 1))


@dataclass(frozen=True, eq=False)
class _Alone:
    """What one link has to explain, for each tolerance of the others: in the ten directions or fewer that it can.

    w (g, m) = R (g, m, 10) @ its parameters + noise of unit variance; squares and logdets (g,): of all else.
    """

    w: Array
    R: Array
    squares: Array
    logdets: Array

    def logs(self, E: Evidence, bodies: Array, roots: Array, shares: Array) -> Array:
        """Return the log probability (g, k) of bodies (k, 10) whose numbers are off by shares (g, k) of roots."""
        g, m = self.w.shape
        k = len(bodies)
        B = (self.R.reshape(g * m, 10) @ roots.transpose(1, 0, 2).reshape(10, k * 10)).reshape(g, m, k, 10)
        B = B.transpose(0, 2, 1, 3) * shares[..., None, None]
        residuals = self.w[:, None] - (self.R @ bodies.T).transpose(0, 2, 1)
        covariances = np.eye(m) + B @ B.transpose(0, 1, 3, 2)
        return log_student(residuals, covariances, E.size, self.squares[:, None], self.logdets[:, None])


def _links_alone(E: Evidence, p: _Parts) -> list[_Alone]:
    """Return for each link what is left for it when all others are as the hypothesis has them."""
    n = len(p.means)
    others = p.shares[:, None, :] ** 2 * (1.0 - np.eye(n))  # (g, n, n)
    L = np.linalg.cholesky(p.fixed + np.tensordot(others, p.parts, 1))
    right = np.stack([np.column_stack([E.A[:, 10 * i : 10 * i + 10], p.residual + p.means[i]]) for i in range(n)])
    z = np.linalg.solve(L, np.broadcast_to(right, (len(L), *right.shape)))
    Q, R = np.linalg.qr(z[..., :10])
    w = (Q.transpose(0, 1, 3, 2) @ z[..., 10:])[..., 0]
    squares = np.sum((z[..., 10:] - Q @ w[..., None])[..., 0] ** 2, axis=-1)
    logdets = 2.0 * np.sum(np.log(np.diagonal(L, axis1=-2, axis2=-1)), axis=-1)
    return [_Alone(w[:, i], R[:, i], squares[:, i], logdets[:, i]) for i in range(n)]


@dataclass(frozen=True, eq=False)
class _Along:
    """Inner products (g, n + 1, n + 1) of the directions of all joints' torques and of the residual; logdets (g,)."""

    products: Array
    logdets: Array
    d: int

    @classmethod
    def of(cls, p: _Parts, directions: Array) -> _Along:
        """Return the products under the inverse covariance of each tolerance."""
        L = np.linalg.cholesky(p.covariances())
        z = np.linalg.solve(
            L, np.broadcast_to(np.column_stack([directions, p.residual]), (*L.shape[:2], len(p.means) + 1))
        )
        logdets = 2.0 * np.sum(np.log(np.diagonal(L, axis1=-2, axis2=-1)), axis=-1)
        return cls(z.transpose(0, 2, 1) @ z, logdets, len(p.residual))

    def logs(self, joint: int, factors: Array) -> Array:
        """Return the log probability (k,) over all tolerances when the torque of a joint is multiplied by factors."""
        vv, rv, rr = (self.products[:, a, b, None] for a, b in ((joint, joint), (-1, joint), (-1, -1)))
        change = factors - 1.0
        squares = np.maximum(rr + 2.0 * rv * change + vv * change**2, 0.0)
        return _over_tolerances(student(squares, self.logdets[:, None], self.d))


def _over_tolerances(logs: Array) -> Array:
    """Return the log (...) of the mean over the tolerances of probabilities whose logs (g, ...) these are."""
    most = logs.max(axis=0)
    return np.asarray(most + np.log(np.mean(np.exp(logs - most), axis=0)))


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
