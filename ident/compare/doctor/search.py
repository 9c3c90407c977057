"""How probable hypotheses about a table are under the logs, and every single move from one of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

import numpy as np

from ident.arrays import Array
from ident.compare.doctor.conditional import Alone, Along, Parts, Readings, links_alone, over_tolerances, readings, same
from ident.compare.doctor.evidence import Evidence, log_student, spread, student
from ident.compare.doctor.hypotheses import (
    EXTRA,
    GAIN,
    PARTS,
    SINGLE,
    UNEXPLAINED,
    ExtraBody,
    Hypothesis,
    InLinks,
    Move,
    Space,
    Swapped,
    TorqueGain,
    Unexplained,
    can_exist,
    excludes,
)
from ident.compare.doctor.mistakes import FACTORS, Mistake, inertials_of

#: Log odds that a mistake must have against the same table without it: a thousand to one.
MARGIN = float(np.log(1000.0))
#: Angles [rad] by which zeros may be off that are taken from their slopes, the middle one 0.
ANGLES = np.deg2rad(np.linspace(-20.0, 20.0, 401))
_IMPOSSIBLE = 25.0  # log odds against a link of the table that cannot exist
#: One density of all links differs by more than that [log], by none of the known factors, within so much [log]; and the
#: log of the share of factors that do as well.
_OTHER, _NEAR, _OF_ALL = 0.2, 0.05, -4.0
_DENSER = 100.0  # an overridden mass, its tensor scaled with it, is that far off; kg and g are another mistake


#: Moves, their log probabilities (tolerances, moves), and how many links that cannot exist each mends.
_Scored = tuple[Sequence[Move], Array, Sequence[int]]


@dataclass(frozen=True, eq=False)
class Option:
    """A move and what the log probability (with the prior) of the hypothesis is after it."""

    move: Move
    score: float


@dataclass(eq=False)
class Search:
    """Scores of hypotheses about one table (n, 10) under the logs; look(view, gains) returns their evidence.

    broad: whether a whole table may be wrong in no known way. gain_error, zero_error [rad]: standard deviations of
    the gains that torques, and of the zeros that joints have without anybody's mistake.
    """

    space: Space
    table: Array
    look: Callable[[str, Array], Evidence]
    effective: Array
    broad: bool = True
    gain_error: float = 0.0
    zero_error: float = 0.0
    _seen: dict[tuple[str, bytes], Evidence] = field(default_factory=dict)
    _links: dict[tuple[int, bytes, str], Readings] = field(default_factory=dict)
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
        found = over_tolerances(self._logs(E, state))
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

    def most(self, state: Hypothesis) -> float:
        """Return what moves of links can lift the score of a hypothesis to at most: all logs say is what it says."""
        E = self.evidence(state)
        peak = student(np.zeros(()), 0.0, E.size)
        return float(peak) + E.fit(state.gains, self.effective) + self.log_prior(state.moves)

    def best_option(self, state: Hypothesis, bar: float) -> Option | None:
        """Return the best single move from a hypothesis, None where it is not above a bar."""
        if self.most(state) > bar:
            found = self.options(state)[:1]
        else:  # torques alone may still be otherwise
            p = self._parts(self.evidence(state), state)
            found = self._torque_options(self.evidence(state), state, p, self.penalty(state))
        return max((o for o in found if o.score > bar), key=lambda o: o.score, default=None)

    def options(self, state: Hypothesis) -> list[Option]:
        """Return every single move from a hypothesis with its score, best first."""
        key = (frozenset(state.moves), self.broad)
        if key not in self._expanded:
            self._expanded[key] = sorted(self._options(state), key=lambda o: -o.score)
        return self._expanded[key]

    def extra_bodies(self, state: Hypothesis, link: int) -> list[ExtraBody]:
        """Return extra bodies on a link, and bodies too many, of sizes after the links'."""
        size = max(float(np.median(np.linalg.norm(state.numbers[:, 1:4], axis=1))), 0.03)
        typical = float(np.median(np.abs(state.numbers[:, 0])))
        sizes = [(float(f"{share * typical:.2g}"), round(times * size, 3)) for share, times in EXTRA]
        return [ExtraBody(link, sign * mass, radius) for sign in (1, -1) for mass, radius in sizes]

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
        if same(right, wrong, float(shares[:10].min())):
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
        body = self.space.inertials(state)[i]
        B = E.link(i, body)[1] * shares[i]
        inner = np.eye(11) - B.T @ np.linalg.solve(covariance + np.eye(E.size), B)
        values, vectors = np.linalg.eigh((inner + inner.T) / 2)
        return np.asarray(E.roots(i, spread(body)[None])[0] * shares[i] @ (vectors * np.sqrt(np.maximum(values, 0.0))))

    def shares(self, state: Hypothesis) -> Array:
        """Return the tolerances (n, 11) of all numbers under a hypothesis."""
        return np.maximum(state.shares, self.tolerance(state) * PARTS["all"])

    def penalty(self, state: Hypothesis) -> float:
        """Return the log odds against links of a hypothesis that cannot exist."""
        return _IMPOSSIBLE * sum(self._bad(state))

    def _bad(self, state: Hypothesis) -> list[bool]:
        """Return which links cannot exist; what is off by as much as it is large may be of any material."""
        made = state.shares[:, :10].max(axis=1) < 1.0
        return [not x for x in can_exist(state.numbers, self.space.setting.about_origin, made=made)]

    def totals(self, E: Evidence, state: Hypothesis, tolerance: float) -> tuple[Array, Array]:
        """Return the residual (d,) and the covariance (d, d) beside the fit's own."""
        p = self._parts(E, state, (tolerance,))
        return p.residual, p.covariances()[0] - np.eye(E.size)

    def _parts(self, E: Evidence, state: Hypothesis, tolerances: tuple[float, ...] = ()) -> Parts:
        """Return residual and covariance, the latter link by link."""
        residual = E.y @ (state.gains / E.gains) - E.stated
        off = self.gain_error * E.y * (state.gains / E.gains)
        zeros = self.zero_error * E.zeros
        fixed = np.eye(E.size) + E.B @ E.B.T + off @ off.T + zeros @ zeros.T
        links = [E.link(i, body) for i, body in enumerate(self.space.inertials(state))]
        for extra in state.extras:
            mean, part = E.extra(extra)
            residual, fixed = residual - mean, fixed + part
        means = np.array([m for m, _ in links])
        least = np.multiply.outer(tolerances or self.space.tolerances, PARTS["all"])
        shares = np.maximum(least[:, None], state.shares)
        return Parts(residual - means.sum(axis=0), fixed, means, np.array([root for _, root in links]), shares)

    def _options(self, state: Hypothesis) -> list[Option]:
        E = self.evidence(state)
        p = self._parts(E, state)
        base = self.log_prior(state.moves) + E.fit(state.gains, self.effective)
        bad = self._bad(state)
        found: list[Option] = []
        for moves, logs, mended in self._scored(E, state, p, bad):
            for move, score, less in zip(moves, over_tolerances(logs), mended, strict=True):
                if not any(move == m or excludes(move, m) for m in state.moves):
                    penalty = _IMPOSSIBLE * (sum(bad) - less)
                    found.append(Option(move, float(score) + base + self.space.log_prior(move) - penalty))
        return found + self._torque_options(E, state, p, _IMPOSSIBLE * sum(bad))

    def _scored(self, E: Evidence, state: Hypothesis, p: Parts, bad: Sequence[bool]) -> Iterator[_Scored]:
        """Yield moves of links with their log probabilities (g, k), and how many impossible links each mends."""
        whole: dict[Mistake, dict[int, tuple[Array, Array]]] = {}
        for i, alone in enumerate(links_alone(E, p)):  # in the ten directions or fewer that a link can change
            readings = self._readings(i, state.numbers[i], state.view)
            roots = E.roots(i, readings.spreads)
            shares = np.repeat(p.shares[:, i : i + 1], len(roots), axis=1)
            moves = [InLinks(m, (i,)) for m in readings.mistakes]
            yield moves, alone.logs(E, readings.inertials, roots, shares), [bad[i]] * len(moves)
            A = E.A[:, 10 * i : 10 * i + 10]
            for mistake, mean, root in zip(readings.mistakes, readings.inertials @ A.T, A @ roots, strict=True):
                if mistake.kind != SINGLE:
                    whole.setdefault(mistake, {})[i] = (mean, root)
            parts = [
                x for x in PARTS if x == "all" or not any(alike(Unexplained((i,), 0.0, x), m) for m in state.moves)
            ]
            wider, logs = self._parts_off(E, state, p, alone, i, parts)
            less = bad[i] and can_exist(state.numbers[i], self.space.setting.about_origin, made=False)
            yield wider, logs, [(less and m.share >= 1.0) or (bad[i] and bool(m.asked)) for m in wider]
            if not state.extras:
                carried, logs = self._carried(E, state, p, alone, i)
                yield carried, logs, [0] * len(carried)
        yield from self._several(E, state, p, bad, whole)

    def _carried(self, E: Evidence, state: Hypothesis, p: Parts, alone: Alone, i: int) -> tuple[list[ExtraBody], Array]:
        """Return the bodies that link i may carry beside its own numbers, and the logs (g, k)."""
        totals = self.totals(E, state, self.tolerance(state))
        body = self.space.inertials(state)[i]
        extras = [x for x in self.extra_bodies(state, i) if x.may_be(*E.extra_body(*totals, x), body)]
        if not extras:
            return [], np.empty((len(p.shares), 0))
        roots = np.array([np.column_stack([E.roots(i, spread(body)[None])[0], x.root]) for x in extras])
        shares = np.column_stack([p.shares[:, i], np.ones((len(p.shares), 10))])
        bodies = body + np.array([x.mean for x in extras])
        return extras, alone.logs(E, bodies, roots, np.repeat(shares[:, None], len(extras), axis=1))

    def _parts_off(
        self, E: Evidence, state: Hypothesis, p: Parts, alone: Alone, i: int, parts: Sequence[str]
    ) -> tuple[list[Unexplained], Array]:
        """Return that a part of one link's numbers is off, by each share that is more than now, and the logs (g, k)."""
        space, origin = self.space, self.space.setting.about_origin
        cases = [
            (part, u)
            for part in parts
            for u in UNEXPLAINED
            if u > space.tolerances[0] and (u * PARTS[part] > state.shares[i]).any()
        ]
        if not cases:
            return [], np.empty((len(p.shares), 0))
        shares = np.maximum(p.shares[:, i : i + 1], np.array([u * PARTS[part] for part, u in cases]))
        bodies = np.repeat(space.inertials(state)[i][None], len(cases), axis=0)
        roots = np.repeat(E.roots(i, spread(bodies[0])[None]), len(cases), axis=0)
        logs = alone.logs(E, bodies, roots, shares)
        moves = [Unexplained((i,), u, part) for part, u in cases]
        # the torques are quadratic in the centre: about the one that the logs ask for
        moved, impossible = [], []
        for part in (x for x in ("mass", "density", "centre") if x in parts):
            at = [k for k, case in enumerate(cases) if case[0] == part]
            if not at:
                continue
            g, k = divmod(int(np.argmax(logs[:, at])), len(at))
            asked, off = alone.asked(E, space, i, state.numbers[i], part, shares[g, at[k]], g)
            numbers = space.with_asked(state.numbers[i], part, asked)
            strange = part == "density" and not 1.0 / _DENSER < asked[0] < _DENSER
            if strange or not can_exist(numbers, origin):
                impossible += at
                continue
            moved += at
            bodies[at] = inertials_of(numbers, origin)
            roots[at] = E.roots(i, spread(bodies[at[0]])[None])
            for k in at:
                moves[k] = replace(moves[k], asked=asked, cost=float(-0.5 * off**2 / moves[k].share ** 2))
        if moved:
            logs[:, moved] = alone.logs(E, bodies[moved], roots[moved], shares[:, moved])
        kept = [k for k in range(len(cases)) if k not in impossible]
        return [moves[k] for k in kept], logs[:, kept]

    def _several(
        self,
        E: Evidence,
        state: Hypothesis,
        p: Parts,
        bad: Sequence[bool],
        whole: Mapping[Mistake, Mapping[int, tuple[Array, Array]]],
    ) -> Iterator[_Scored]:
        """Yield moves of several links at once; whole: what each link that a mistake changes adds without it."""
        n, now, least = self.space.n, self.space.inertials(state), self.space.tolerances[0]
        units = p.roots[..., :10] @ p.roots[..., :10].transpose(0, 2, 1)
        widened = [bool(x.any()) for x in state.shares]
        spreads = p.spreads()
        squares = np.square(self.space.tolerances)[:, None, None]
        found: list[tuple[Move, Array, Array, int]] = []

        def add(move: Move, changes: Mapping[int, tuple[Array, Array]], mended: int = 0) -> None:
            residual, unit, covariance = p.residual.copy(), np.zeros_like(p.fixed), p.fixed
            for i in range(n):
                mean, root = changes.get(i, (p.means[i], p.roots[i]))
                residual += p.means[i] - mean
                if widened[i]:
                    B = root * p.shares[:, i, None]
                    covariance = covariance + (B @ B.transpose(0, 2, 1) if i in changes else spreads[:, i])
                else:
                    unit += root[:, :10] @ root[:, :10].T if i in changes else units[i]
            found.append((move, residual, covariance + squares * unit, mended))

        for each, changes in whole.items():
            if len(changes) > 1 and self._fits_all(each, state, changes):
                add(InLinks(each, tuple(range(n))), changes, sum(bad[i] for i in changes))
        for a, b in combinations(range(n), 2):
            if not same(now[a], now[b], least):
                add(Swapped((a, b)), {a: E.link(a, now[b]), b: E.link(b, now[a])})
        factor = max(float(f"{p.factor():.3g}"), 1e-9)
        near = (abs(abs(np.log(factor)) - np.log(known)) < _NEAR for known in FACTORS)
        if n > 1 and _OTHER < abs(np.log(factor)) < np.log(_DENSER) and not any(near):
            density = Unexplained(tuple(range(n)), 0.0, "density", (factor,), _OF_ALL)
            add(density, {i: E.link(i, factor * now[i]) for i in range(n)})
        for u in UNEXPLAINED:
            if self.broad and n > 1 and u > max(state.shares[:, :10].min(), self.space.tolerances[-1]):
                wide = replace(p, shares=np.maximum(p.shares, u * PARTS["all"]))
                off = Unexplained(tuple(range(n)), u)
                less = sum(bad) - sum(self._bad(self.space.after(state, off)))
                found.append((off, p.residual, wide.covariances(), less))
        if found:
            moves, residuals, covariances, mended = zip(*found, strict=True)
            yield moves, log_student(np.array(residuals)[:, None], np.array(covariances)).T, mended

    def zeros_asked(self, state: Hypothesis) -> dict[int, float]:
        """Return by how much [rad] zeros are off, each alone, where that is MARGIN likelier than that none is."""
        E = self.evidence(state)
        along = Along.of(self._parts(E, state), E.zeros)
        found = {}
        for j in np.flatnonzero(E.zeros.any(axis=0)).tolist():
            logs = along.logs(j, 1.0 - ANGLES)
            if logs.max() > logs[len(ANGLES) // 2] + MARGIN:
                found[j] = float(ANGLES[np.argmax(logs)])
        return found

    def _torque_options(self, E: Evidence, state: Hypothesis, p: Parts, penalty: float) -> list[Option]:
        prior, space = self.log_prior(state.moves), self.space
        found: list[Option] = []
        used = {m.joint for m in state.moves if isinstance(m, TorqueGain)}
        directions = E.y * (state.gains / E.gains)
        along = Along.of(p, directions)
        step = 2 * np.log(GAIN) / 400
        for j in range(space.n):
            if j in used or not E.y[:, j].any():  # without a torque there is no gain
                continue
            flip = TorqueGain(j, -1.0)
            fit = E.fit(space.after(state, flip).gains, self.effective)
            score = float(along.logs(j, np.array([-1.0]))[0]) + fit + prior - penalty
            found.append(Option(flip, score + space.log_prior(flip)))
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

    def _readings(self, i: int, body: Array, view: str) -> Readings:
        """Return what link i's numbers (10,) are without each mistake, where that changes them and can exist."""
        if view.startswith("gravity") or view in self.space.terms:  # which are none of a mistake's business
            view = ""
        key = (i, body.tobytes(), view)
        if key not in self._links:
            self._links[key] = readings(self.space, i, body, view)
        return self._links[key].beside(inertials_of(body, self.space.setting.about_origin), self.space.tolerances[0])

    def _fits_all(self, mistake: Mistake, state: Hypothesis, changes: Mapping[int, tuple[Array, Array]]) -> bool:
        """Return whether every link that the mistake would change can exist without it."""
        origin = self.space.setting.about_origin
        return all(
            i in changes or can_exist(mistake.undone(b, i, self.space.setting_in(state.view)), origin)
            for i, b in enumerate(state.numbers)
        )


def alike(a: Move, b: Move) -> bool:
    """Return whether two moves are one and the same finding, perhaps of another size."""
    match a, b:
        case TorqueGain(), TorqueGain():
            return a.joint == b.joint and a.kind == b.kind
        case Unexplained(), Unexplained():
            return a.links == b.links and a.part == b.part
        case ExtraBody(), ExtraBody():
            return a.link == b.link
    return a == b
