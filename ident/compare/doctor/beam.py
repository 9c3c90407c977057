"""The search for the mistakes that explain the logs best: a beam of hypotheses, then exchanges one by one."""

from __future__ import annotations

from dataclasses import replace

from ident.compare.doctor.hypotheses import Hypothesis, Move, Unexplained
from ident.compare.doctor.search import MARGIN, Search, alike

MOST = 3  # mistakes
_BEAM = 5
_STRICT = (0.005, 0.015)  # tolerances that are tried beside the one learnt
_NEAR = 15.0  # log odds that exchanges may make up for


def best(search: Search) -> tuple[Hypothesis, Hypothesis | None]:
    """Return the best hypothesis, and the best other one within the margin, reached from another start.

    Some things are not found one step at a time: gravity and the sign of a torque may hide each other; an extra body
    beside other mistakes looks like many small ones; "all numbers are off" is said quickly, where a few mistakes of
    single links may say as much; and so is that the tolerance is large, where all numbers but those of a few links may
    be right to much less.
    """
    reached = [_beam(search)]
    reached += _strict(search, reached[0])
    for view in search.space.views if not reached[0].view else ():
        seen = search.space.of(search.table, (view,))
        if (option := search.best_option(seen, search.score(reached[0]))) is not None:
            reached.append(settled(search, search.space.after(seen, option.move)))
    if reached[0].moves:
        if not reached[0].extras:
            likely = [x for x in search.extra_bodies(reached[0], search.space.n - 1) if x.mass > 0]
            likely.sort(key=lambda x: -search.score(search.space.after(reached[0], x)))
            for k, extra in enumerate(likely):
                wrong = {i for state in reached for m in state.moves for i in getattr(m, "links", ())}
                last = search.space.n - 1 in wrong
                carried = _beam(search, extra) if k < 2 or last else reached[0]
                if carried.moves != reached[0].moves and _carries(search, carried):
                    reached.append(carried)
        if any(isinstance(m, Unexplained) and len(m.links) > 1 for state in reached for m in state.moves):
            search.broad = False
            reached.append(_beam(search))
            search.broad = True
    best, *others = sorted(reached, key=search.score, reverse=True)
    near = [o for o in others if search.score(o) > search.score(best) - MARGIN]
    return best, next((o for o in near if any(not any(alike(m, x) for x in o.moves) for m in best.moves)), None)


def _strict(search: Search, state: Hypothesis) -> list[Hypothesis]:
    """Return what explains the logs where right numbers are better than this hypothesis has them."""
    found = []
    for tolerance in _STRICT:
        if search.space.tolerances[0] < tolerance < search.tolerance(state) / 2:
            strict = replace(search, space=replace(search.space, tolerances=(tolerance,)), broad=False, _expanded={})
            to = strict.space.of(search.table, ())
            for _ in range(MOST + 1):
                option = strict.options(to)[0]
                if option.score < strict.score(to) + MARGIN:
                    break
                to = search.space.after(to, option.move)
            if search.score(to) > search.score(state) - _NEAR:
                found.append(settled(search, to))
    return found


def _carries(search: Search, state: Hypothesis) -> bool:
    """Return whether the extra bodies of a hypothesis, if there are any, can exist."""
    links = search.space.inertials(state)
    return all(e.may_be(*search.extra_body(search.without(state, e), e), links[e.link]) for e in state.extras)


def _beam(search: Search, *seed: Move) -> Hypothesis:
    """Return the best hypothesis of a beam over up to three mistakes from a seed, improved by exchanges."""
    start = search.space.of(search.table, seed)
    beam, found = [start], {frozenset(seed): (search.score(start), start)}
    for depth in range(len(seed), MOST):
        before = max(s for s, _ in found.values())
        fresh: dict[frozenset[Move], tuple[float, Hypothesis, Move]] = {}
        for state in beam:
            for option in search.options(state)[: 2 * _BEAM]:
                moves = frozenset((*state.moves, option.move))
                if len(moves) > depth and (moves not in fresh or option.score > fresh[moves][0]):
                    fresh[moves] = (option.score, state, option.move)
        chosen = sorted(fresh.values(), key=lambda f: -f[0])[:_BEAM]
        beam = [search.space.after(state, move) for _, state, move in chosen]
        found |= {frozenset(s.moves): (search.score(s), s) for s in beam}
        if depth > len(seed) and max(s for s, _ in found.values()) <= before:
            break
    return settled(search, max(found.values(), key=lambda f: f[0])[1])


def settled(search: Search, state: Hypothesis) -> Hypothesis:
    """Exchange, drop and add moves one at a time until nothing is better; links in no known way wrong may be more.

    A move stays only if the hypothesis without it is less probable by MARGIN.
    """
    for _ in range(4 * search.space.n + 10):
        score = search.score(state)
        better: tuple[float, Hypothesis] | None = None
        for move in state.moves:
            less = search.without(state, move)
            alone = search.score(less)
            if alone > score - MARGIN:
                better = max(better or (alone, less), (alone, less), key=lambda b: b[0])
            elif len(search.options(less)) and search.options(less)[0].score > score + 1e-6:
                to = search.space.after(less, search.options(less)[0].move)
                if search.score(to) > score + 1e-6 and (better is None or search.score(to) > better[0]):
                    better = (search.score(to), to)
        if better is None:
            named = sum(not isinstance(m, Unexplained) for m in state.moves)
            for option in search.options(state):
                if option.score < score + MARGIN:
                    break
                if named >= MOST and not isinstance(option.move, Unexplained):
                    continue
                to = search.space.after(state, option.move)
                if search.score(to) > score + MARGIN:
                    better = (option.score, to)
                    break
        if better is None:
            return state
        state = better[1]
    return state
