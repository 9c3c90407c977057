"""The search for the mistakes that explain the logs best: a beam of hypotheses, then exchanges one by one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ident.arrays import Array
from ident.compare.doctor.evidence import Evidence, log_student, reach, root_of, spread, student
from ident.compare.doctor.hypotheses import (
    EXTRA,
    GAIN,
    PARTS,
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
_STRICT = (0.005, 0.015)  # tolerances that are tried beside the one learnt
_NEAR = 15.0  # log odds that exchanges may make up for
_FAR = 3.0  # a number that is off alone is off by no more than so many times itself
_SAME = 0.3  # tolerances within which two readings are the same


@dataclass(frozen=True, eq=False)
class Option:
    """A move and what the log probability (with the prior) of the hypothesis is after it."""

    move: Move
    score: float


@dataclass(frozen=True, eq=False)
class _Readings:
    """What one link's numbers may be: mistakes (k), parameters (k, 10) without them, and the `spread` (k, 10, 11)."""

    mistakes: tuple[Mistake, ...]
    parameters: Array
    spreads: Array


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
    _links: dict[tuple[int, bytes, str], _Readings] = field(default_factory=dict)
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
        return float(found) + fit + self.log_prior(state.moves) - self.penalty(state)

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

        Some things are not found one step at a time: an extra body beside other mistakes looks like many small ones;
        "all numbers are off" is said quickly, where a few mistakes of single links may say as much; and so is that the
        tolerance is large, where all numbers but those of a few links may be right to much less.
        """
        reached = [self._beam()]
        reached += self._strict(reached[0])
        if reached[0].moves:
            if not reached[0].extras:
                for k, extra in enumerate(self._extras(reached[0])):
                    last = any(_touches(m, self.space.n - 1) for state in reached for m in state.moves)
                    carried = self._beam(extra) if k < 2 or last else reached[0]
                    if carried.moves != reached[0].moves and self._carries(carried):
                        reached.append(carried)
            if any(_sweeping(m) for state in reached for m in state.moves):
                self.broad = False
                reached.append(self._beam())
                self.broad = True
        best, *others = sorted(reached, key=self.score, reverse=True)
        near = [o for o in others if self.score(o) > self.score(best) - MARGIN]
        return best, next((o for o in near if any(not _in(m, o.moves) for m in best.moves)), None)

    def _strict(self, state: Hypothesis) -> list[Hypothesis]:
        """Return what explains the logs where right numbers are better than this hypothesis has them."""
        found = []
        for tolerance in _STRICT:
            if self.space.tolerances[0] < tolerance < self.tolerance(state) / 2:
                strict = replace(
                    self, space=replace(self.space, tolerances=(tolerance,)), broad=False, _links={}, _expanded={}
                )
                to = strict.space.of(self.table, ())
                for _ in range(MOST + 1):
                    option = strict.options(to)[0]
                    if option.score < strict.score(to) + MARGIN:
                        break
                    to = self.space.after(to, option.move)
                if self.score(to) > self.score(state) - _NEAR:
                    found.append(self.settled(to))
        return found

    def _extras(self, state: Hypothesis) -> list[ExtraBody]:
        """Return extra bodies on the last link, of sizes after the links', likely ones first."""
        size = max(float(np.median(np.linalg.norm(state.bodies[:, 1:4], axis=1))), 0.03)
        typical = float(np.median(np.abs(state.bodies[:, 0])))
        sizes = [(float(f"{share * typical:.2g}"), round(times * size, 3)) for share, times in EXTRA]
        extras = [ExtraBody(self.space.n - 1, mass, radius) for mass, radius in sizes]
        return sorted(extras, key=lambda e: -self.score(self.space.after(state, e)))

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
        self, E: Evidence, covariance: Array, i: int, right: Array, wrong: Array, shares: Array
    ) -> float | None:
        """Return the log odds to expect of the right numbers of link i against wrong ones; None where they are alike.

        covariance (d, d): beside the fit's own 1, with the right numbers; shares (11,): tolerances of the link.
        """
        if _same(right, wrong, float(shares[:10].min())):
            return None
        d = E.size
        (mean, B), (other, wide) = ((m, root * shares) for m, root in (E.link(i, right), E.link(i, wrong)))
        S, T = covariance + np.eye(d), covariance + wide @ wide.T - B @ B.T + np.eye(d)
        delta = mean - other
        inverse = np.linalg.inv(T)
        squares = np.array([d, delta @ inverse @ delta + np.sum(inverse * S)])
        logdets = np.array([np.linalg.slogdet(S)[1], np.linalg.slogdet(T)[1]])
        logs = student(squares, logdets, d)
        return float(logs[0] - logs[1])

    def errors(self, state: Hypothesis, i: int) -> Array:
        """Return a root (10, 11) of the covariance of link i's parameters, by the logs and the hypothesis together."""
        E, shares = self.evidence(state), self.shares(state)
        _, covariance = self.totals(E, state, self.tolerance(state))
        body = self.space.parameters(state)[i]
        B = E.link(i, body)[1] * shares[i]
        inner = np.eye(11) - B.T @ np.linalg.solve(covariance + np.eye(E.size), B)
        values, vectors = np.linalg.eigh((inner + inner.T) / 2)
        return np.asarray(E.roots(i, spread(body)[None])[0] * shares[i] @ (vectors * np.sqrt(np.maximum(values, 0.0))))

    def shares(self, state: Hypothesis) -> Array:
        """Return the tolerances (n, 11) of all numbers under a hypothesis."""
        return np.maximum(state.shares, self.tolerance(state) * PARTS["all"])

    def penalty(self, state: Hypothesis) -> float:
        """Return the log odds against links of a hypothesis that cannot exist."""
        origin = self.space.setting.about_origin
        return _IMPOSSIBLE * sum(not can_exist(b, origin) for b in state.bodies)

    def totals(self, E: Evidence, state: Hypothesis, tolerance: float) -> tuple[Array, Array]:
        """Return the residual (d,) and the covariance (d, d) beside the fit's own."""
        p = self._parts(E, state, (tolerance,))
        return p.residual, p.covariances()[0] - np.eye(E.size)

    def _parts(self, E: Evidence, state: Hypothesis, tolerances: tuple[float, ...] = ()) -> _Parts:
        """Return residual and covariance, the latter link by link."""
        residual = E.y @ (state.gains / E.gains) - E.stated
        fixed = np.eye(E.size) + E.B @ E.B.T
        links = [E.link(i, body) for i, body in enumerate(self.space.parameters(state))]
        for extra in state.extras:
            mean, part = E.extra(extra)
            residual, fixed = residual - mean, fixed + part
        means = np.array([m for m, _ in links])
        least = np.multiply.outer(tolerances or self.space.tolerances, PARTS["all"])
        shares = np.maximum(least[:, None], state.shares)
        return _Parts(residual - means.sum(axis=0), fixed, means, np.array([root for _, root in links]), shares)

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

        # one link at a time, in the ten directions or fewer that it can change
        whole: dict[Mistake, dict[int, tuple[Array, Array]]] = {}
        for i, alone in enumerate(_links_alone(E, p)):
            readings = self._readings(i, state.bodies[i], state.view)
            roots = E.roots(i, readings.spreads)
            shares = np.repeat(p.shares[:, i : i + 1], len(roots), axis=1)
            moves = [InLinks(m, (i,)) for m in readings.mistakes]
            add(moves, alone.logs(E, readings.parameters, roots, shares), [bad[i]] * len(moves))
            A = E.A[:, 10 * i : 10 * i + 10]
            for mistake, mean, root in zip(readings.mistakes, readings.parameters @ A.T, A @ roots, strict=True):
                whole.setdefault(mistake, {})[i] = (mean, root)
            root = E.roots(i, spread(now[i])[None])[0]
            for part, which in PARTS.items():
                if part != "all" and any(alike(Unexplained((i,), 0.0, part), m) for m in state.moves):
                    continue
                levels = np.array([u for u in UNEXPLAINED if u > least and (u * which > state.shares[i]).any()])
                shares = np.maximum(p.shares[:, i : i + 1], levels[:, None] * which)
                same, roots = np.repeat(now[i : i + 1], len(levels), 0), np.repeat(root[None], len(levels), 0)
                logs = alone.logs(E, same, roots, shares)
                if part in ("all", "tensor") or not len(levels):
                    add([Unexplained((i,), float(u), part) for u in levels], logs, [0] * len(levels))
                    continue
                # the torques are quadratic in the centre: about the one that the logs ask for
                g, k = divmod(int(np.argmax(logs)), logs.shape[1])
                asked, off = alone.asked(E, space, i, state.bodies[i], part, shares[g, k], g)
                moved = space.with_asked(state.bodies[i], part, asked)
                if can_exist(moved, space.setting.about_origin):
                    body = parameters_of(moved[None], space.setting.about_origin)
                    roots = np.repeat(E.roots(i, spread(body[0])[None]), len(levels), 0)
                    logs = alone.logs(E, np.repeat(body, len(levels), 0), roots, shares)
                    costs = -0.5 * np.sum(off**2) / levels**2
                    wider = [
                        Unexplained((i,), float(u), part, asked, c) for u, c in zip(levels, costs.tolist(), strict=True)
                    ]
                    add(wider, logs, [0] * len(wider))

        # several links at once
        units = p.roots[..., :10] @ p.roots[..., :10].transpose(0, 2, 1)
        widened = [bool(x.any()) for x in state.shares]
        spreads = p.spreads()
        squares = np.square(space.tolerances)[:, None, None]
        others: list[tuple[Move, Array, Array, int]] = []

        def several(move: Move, changes: Mapping[int, tuple[Array, Array]], mended: int = 0) -> None:
            residual, unit, covariance = p.residual.copy(), np.zeros_like(p.fixed), p.fixed
            for i in range(n):
                mean, root = changes.get(i, (p.means[i], p.roots[i]))
                residual += p.means[i] - mean
                if widened[i]:
                    B = root * p.shares[:, i, None]
                    covariance = covariance + (B @ B.transpose(0, 2, 1) if i in changes else spreads[:, i])
                else:
                    unit += root[:, :10] @ root[:, :10].T if i in changes else units[i]
            others.append((move, residual, covariance + squares * unit, mended))

        for each, changes in whole.items():
            if len(changes) > 1 and self._fits_all(each, state, changes):
                several(InLinks(each, tuple(range(n))), changes, sum(bad[i] for i in changes))
        for a in range(n):
            for b in range(a + 1, n):
                if not _same(now[a], now[b], least):
                    several(Swapped(a, b), {a: E.link(a, now[b]), b: E.link(b, now[a])})
        for u in UNEXPLAINED:
            if self.broad and n > 1 and u > max(state.shares[:, :10].min(), most):
                wide = replace(p, shares=np.maximum(p.shares, u * PARTS["all"]))
                others.append((Unexplained(tuple(range(n)), u), p.residual, wide.covariances(), 0))
        if others:
            sets, residuals, covariances, mends = zip(*others, strict=True)
            add(sets, log_student(np.array(residuals)[:, None], np.array(covariances)).T, mends)
        if not state.extras:
            tolerance = self.tolerance(state)
            for extra in self._extras(state):
                if can_exist_within(*E.extra_body(*self.totals(E, state, tolerance), extra)):
                    mean, added = E.extra(extra)
                    logs = log_student((p.residual - mean)[None], p.covariances() + added)
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
            for half in (np.log(GAIN), 20 * step):  # a narrow peak falls between the steps of the first grid
                grid = peak * np.exp(np.linspace(-half, half, 401))
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

    def _readings(self, i: int, body: Array, view: str) -> _Readings:
        """Return what link i's numbers (10,) are without each mistake, where that changes them and can exist."""
        view = view if view in self.space.geometries else ""  # gravity is none of a mistake's business
        key = (i, body.tobytes(), view)
        if key not in self._links:
            setting, least = self.space.setting_in(view), self.space.tolerances[0]
            before = parameters_of(body[None], setting.about_origin)[0]
            size = _sizes(spread(before))
            mistakes, parameters, spreads = [], [], []
            for mistake in (m for m, link in self.space.link_moves() if link == i):
                mended = mistake.undone(body, i, setting)
                if can_exist(mended, setting.about_origin):
                    after = parameters_of(mended[None], setting.about_origin)[0]
                    root = spread(after)
                    if not _within(before, after, size, _sizes(root), least):
                        mistakes.append(mistake)
                        parameters.append(after)
                        spreads.append(root)
            self._links[key] = _Readings(
                tuple(mistakes), np.array(parameters).reshape(-1, 10), np.array(spreads).reshape(-1, 10, 11)
            )
        return self._links[key]

    def _fits_all(self, mistake: Mistake, state: Hypothesis, changes: dict[int, tuple[Array, Array]]) -> bool:
        """Return whether every link that the mistake would change can exist without it."""
        origin = self.space.setting.about_origin
        return all(
            i in changes or can_exist(mistake.undone(b, i, self.space.setting_in(state.view)), origin)
            for i, b in enumerate(state.bodies)
        )


@dataclass(frozen=True, eq=False)
class _Parts:
    """A hypothesis in the space of the evidence.

    residual (d,); fixed (d, d): covariance that no tolerance changes, the fit's own 1 among it; means (n, d) and
    roots (n, d, 11) of the links; shares (g, n, 11): for each tolerance those of all numbers.
    """

    residual: Array
    fixed: Array
    means: Array
    roots: Array
    shares: Array

    def spreads(self) -> Array:
        """Return the covariance (g, n, d, d) that each link adds, for each tolerance."""
        B = self.roots * self.shares[:, :, None, :]
        return B @ B.transpose(0, 1, 3, 2)

    def covariances(self) -> Array:
        """Return the covariance (g, d, d) for each tolerance."""
        return np.asarray(self.fixed + self.spreads().sum(axis=1))


@dataclass(frozen=True, eq=False)
class _Alone:
    """What one link has to explain, for each tolerance of the others: in the ten directions or fewer that it can.

    w (g, m) = R (g, m, 10) @ its parameters + noise of unit variance; squares and logdets (g,): of all else.
    """

    w: Array
    R: Array
    squares: Array
    logdets: Array

    def asked(
        self, E: Evidence, space: Space, i: int, body: Array, part: str, shares: Array, g: int
    ) -> tuple[tuple[float, ...], float]:
        """Return what the logs ask for in place of a part of a body (10,) that is off, and by what share it is off.

        Gauss-Newton, as the parameters are quadratic in the centre. shares (11,): tolerances; g: which of the others'.
        """
        origin, which = space.setting.about_origin, PARTS[part] > 0
        start = now = parameters_of(body[None], origin)[0]
        asked: tuple[float, ...] = ()
        for _ in range(4 if part == "centre" else 1):
            B = self.R[g] @ (E.roots(i, spread(now)[None])[0] * shares)
            far = (now[1:4] / now[0] - start[1:4] / start[0]) / reach(now)
            residual = self.w[g] - self.R[g] @ now
            if part == "centre":
                residual = residual + B[:, 1:4] @ (far / shares[1:4])
            off = (B.T @ np.linalg.solve(np.eye(len(B)) + B @ B.T, residual))[which] * shares[which]
            off = np.clip(off, -_FAR, _FAR)
            if part == "centre":
                asked = tuple(float(f"{x:.5g}") for x in start[1:4] / start[0] + off * reach(now))
                off = off * reach(now) / reach(start)
            else:
                asked = (float(f"{(1.0 + off[0]) * (start[0] if part == 'mass' else 1.0):.5g}"),)
            now = parameters_of(space.with_asked(body, part, asked)[None], origin)[0]
        return asked, float(np.linalg.norm(off))

    def logs(self, E: Evidence, bodies: Array, roots: Array, shares: Array) -> Array:
        """Return the log probability (g, k) of bodies (k, 10), off by shares (g, k, 11) of roots (k, 10, 11)."""
        g, m = self.w.shape
        k = len(bodies)
        B = (self.R.reshape(g * m, 10) @ roots.transpose(1, 0, 2).reshape(10, k * 11)).reshape(g, m, k, 11)
        B = B.transpose(0, 2, 1, 3) * shares[:, :, None]
        residuals = self.w[:, None] - (self.R @ bodies.T).transpose(0, 2, 1)
        covariances = np.eye(m) + B @ B.transpose(0, 1, 3, 2)
        return log_student(residuals, covariances, E.size, self.squares[:, None], self.logdets[:, None])


def _links_alone(E: Evidence, p: _Parts) -> list[_Alone]:
    """Return for each link what is left for it when all others are as the hypothesis has them."""
    n = len(p.means)
    others = np.tensordot(p.spreads(), 1.0 - np.eye(n), axes=(1, 0))  # (g, d, d, n)
    L = root_of(p.fixed + others.transpose(0, 3, 1, 2), E.size)
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
        L = root_of(p.covariances(), len(p.residual))
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
    return _within(a, b, _sizes(spread(a)), _sizes(spread(b)), share)


def _sizes(root: Array) -> Array:
    """Return by how much each parameter (10,) changes if all numbers are off by a share of 1; root (10, 11)."""
    return np.asarray(np.sqrt(np.sum(root[:, :10] ** 2, axis=1)))


def _within(a: Array, b: Array, size_a: Array, size_b: Array, share: float) -> bool:
    if abs(a[0] - b[0]) > _SAME * share * min(abs(a[0]), abs(b[0])):
        return False
    return bool((np.abs(a - b) <= _SAME * share * np.minimum(size_a, size_b) + 1e-12).all())


def _touches(move: Move, link: int) -> bool:
    """Return whether a move says that the numbers of a link are wrong."""
    match move:
        case InLinks(_, links) | Unexplained(links):
            return link in links
        case Swapped(a, b):
            return link in (a, b)
    return False


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
            return a.links == b.links and a.part == b.part
        case ExtraBody(), ExtraBody():
            return True
    return a == b
