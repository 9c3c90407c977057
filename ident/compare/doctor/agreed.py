"""What is to be kept of a table: numbers on which explanations agree that cannot be told apart, and links to free."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

import numpy as np

from ident.arrays import Array
from ident.cad.check import GYRATION
from ident.compare.doctor.evidence import spread
from ident.compare.doctor.hypotheses import (
    PARTS,
    REACH,
    ExtraBody,
    Hypothesis,
    InLinks,
    Move,
    Space,
    Swapped,
    Unexplained,
    can_exist,
    touched,
)
from ident.compare.doctor.mistakes import natural
from ident.compare.doctor.search import MARGIN, Option, Search, alike
from ident.spatial.inertia import from_com, to_com

#: No override makes a number so many times larger or smaller: one that asks for what a known mistake leaves is that.
GROSS = 5.0
#: Numbers that are off by this share or more, and nobody knows why, are not worth keeping; the second where it may be
#: another link that is off.
FREED = (0.3, 1.0)
#: Log odds from which on what has a name is told in place of what has none; by how much a body, with ten numbers of its
#: own, may be less probable than that.
LIKELY, BODY = float(np.log(30.0)), 2.0 * MARGIN
#: Of components with all that is hollow in them: motors, grippers, boards [kg/m^3].
DENSITY = 1000.0


def unknown(space: Space, best: Hypothesis, right: Hypothesis, asserted: Collection[Move]) -> dict[str, str]:
    """Return the links whose numbers no mistake that is sure makes right, and why."""
    robot, found = space.setting.robot, dict[int, str]()
    for i, (body, inertials) in enumerate(zip(right.numbers, space.inertials(right), strict=True)):
        if why := _impossible(space, body, inertials):
            found[i] = why
    alone = Counter(i for move in best.moves for i in touched(move))
    found |= {i: "too much is wrong with it" for i, count in alone.items() if count > 2 and i not in found}
    for move in best.moves:
        match move:
            case Unexplained(links, share, "all" | "tensor") if share >= FREED[move not in asserted]:
                found |= dict.fromkeys(links, "no mistake of the list explains how far its numbers are off")
            case Unexplained(links, share) if move not in asserted and share >= FREED[True]:
                found |= dict.fromkeys(links, "what is wrong with it cannot be told apart")
            case ExtraBody(link, mass):
                off = "carries a body that the table leaves out" if mass > 0 else "holds a body too many"
                found[link] = f"it {off}"
            case InLinks(_, (i,)) if move not in asserted:
                found[i] = "what is wrong with it cannot be told apart"
            case Swapped(links) if move not in asserted:
                found |= dict.fromkeys(links, "what is wrong with it cannot be told apart")
    for a, b in (m.links for m in best.moves if isinstance(m, Swapped)):
        for i, other in ((a, b), (b, a)):
            if other in found:  # whose numbers it would have
                found.setdefault(i, found[other])
    return {robot.links[i]: why for i, why in sorted(found.items())}


def _impossible(space: Space, body: Array, inertials: Array) -> str:
    """Return why numbers (10,) as declared are no link's, "" where they may be."""
    if not can_exist(body, space.setting.about_origin):
        return "a body with these numbers cannot exist"
    radius = float(np.sqrt(np.linalg.eigvalsh(to_com(inertials)[2])[2] / body[0]))
    return "" if GYRATION[0] <= radius <= GYRATION[1] else f"its radius of gyration would be {radius:.2g} m"


def told_by(search: Search, state: Hypothesis) -> Hypothesis:
    """Return a hypothesis that says of each link only what the logs show of it.

    A mistake of the whole table is seen in its links. One that another mistake touches may hide it there, so that
    nothing but its prior speaks for it: then it is told of the others, one by one.
    """
    least = search.score(state) - MARGIN
    for move in state.moves:
        match move:
            case InLinks(mistake, (_, _, *_) as links):
                rest = tuple(m for m in state.moves if m is not move)
                but = {i: InLinks(mistake, tuple(k for k in links if k != i)) for m in rest for i in touched(m)}
                hidden = [i for i, m in but.items() if search.score(search.space.of(search.table, (m, *rest))) > least]
                if hidden:
                    single = (InLinks(mistake, (i,)) for i in links if i not in hidden)
                    return told_by(search, search.space.of(search.table, (*single, *rest)))
    return state


def what_is_left(
    search: Search,
    best: Hypothesis,
    right: Hypothesis,
    links: Collection[str],
    may: Mapping[Move, Sequence[tuple[Hypothesis, float]]],
) -> dict[str, tuple[Array, Array]]:
    """Return mean (10,) and covariance (10, 10) of the inertials of links over all that these may be, by its odds.

    right, links: of `unknown`. may: what each mistake that is not sure may be, with log odds. What all of it has in
    common is so held as a right table's numbers are. Left out is a link of which nothing is to be kept: its numbers
    are no link's, or wrong in several ways.
    """
    space, found, robot = search.space, dict[str, tuple[Array, Array]](), search.space.setting.robot
    for i in map(robot.links.index, links):
        own = [m for m in best.moves if i in touched(m) or (isinstance(m, ExtraBody) and m.link == i)]
        whole = any(isinstance(m, Unexplained) and m.part == "all" and len(m.links) > 1 for m in best.moves)
        impossible = _impossible(space, right.numbers[i], space.inertials(right)[i])
        if impossible or len(own) > 1 or whole:
            continue
        bodies, covariances, weights = list[Array](), list[Array](), list[float]()
        for state, odds in [each for move in own for each in may.get(move, ())] or [(best, 0.0)]:
            own_extras = (x for x in state.extras if x.link == i)
            extras = [_ball(search.extra_body(search.without(state, x), x)[0], x) for x in own_extras]
            body = space.inertials(state)[i]
            far = np.linalg.norm(body[1:4]) > robot.reach * abs(body[0])
            if not far and not _impossible(space, state.numbers[i], body):
                roots = [spread(body) * search.shares(state)[i], *map(spread, extras)]
                bodies.append(body + sum(extras, np.zeros(10)))
                covariances.append(np.sum([root @ root.T for root in roots], axis=0))
                weights.append(float(np.exp(odds)))
        if bodies:
            between = np.cov(np.array(bodies).T, aweights=weights, ddof=0)
            mean = np.average(bodies, axis=0, weights=weights)
            found[robot.links[i]] = mean, between + np.average(covariances, axis=0, weights=weights)
    return found


def _ball(asked: Array, extra: ExtraBody) -> Array:
    """Return inertials (10,) that logs ask for, of an extra body, as a ball's of the density of components.

    Its mass leaves the centre within an extra body's reach: moments may tell more than the mass.
    """
    mass = np.copysign(max(abs(asked[0]), float(np.linalg.norm(asked[1:4])) / (REACH * extra.radius)), extra.mass)
    radius = np.cbrt(abs(mass) * 3.0 / (4.0 * np.pi * DENSITY))
    return from_com(mass, asked[1:4] / mass, 0.4 * mass * radius**2 * np.eye(3))


def nameless(move: Move) -> bool:
    """Return whether a move says that numbers are off, and no more."""
    return isinstance(move, Unexplained) and not move.asked


def instead_of(
    space: Space,
    best: Hypothesis,
    less: Hypothesis,
    move: Move,
    odds: float,
    rivals: Sequence[Option],
    near: list[Option],
) -> tuple[Hypothesis, Move, float, list[Option]]:
    """Return what is told of a move, as a hypothesis and a move, its log odds against that, and what is near it.

    In place of numbers that are off in no known way what can be mended is told first, or a body.
    """
    least = -BODY if getattr(move, "part", "") == "all" else -MARGIN  # a tensor that is off alone is no body
    known = [*near, *(o for o in rivals if isinstance(o.move, ExtraBody) and least < o.score <= -MARGIN)]
    named = next((o for o in known if odds + o.score > LIKELY and not nameless(o.move)), None)
    if named is None or not nameless(move):
        return best, move, 0.0, near
    others = [Option(move, 0.0), *(o for o in near if not alike(o.move, named.move))]
    return space.after(less, named.move), named.move, named.score, others


def contained(space: Space, less: Hypothesis, move: Move, other: Move) -> bool:
    """Return whether another move asks for the numbers that a known gross mistake of one link leaves, and has no name.

    less: the hypothesis without either.
    """
    match move, other:
        case InLinks(_, (i,)), Unexplained((k,), _, _, asked) if i == k and asked:
            given, one, two = (natural(space.inertials(h), False) for h in (less, *_after(space, less, move, other)))
            with np.errstate(divide="ignore", invalid="ignore"):
                gross = np.nanmax(np.abs(np.log(np.abs(one[i] / given[i])))) > np.log(GROSS)
            return bool(gross and _differences(one[i], two[i]).max() < FREED[0])
    return False


def agreement(space: Space, less: Hypothesis, told: Move, rivals: Sequence[Option]) -> Array | None:
    """Return shares (n, 11) that hold what rivals make of a link's numbers; None where mass or centre is not known."""
    found = np.zeros((space.n, 11))
    for other in (option.move for option in rivals):
        match told, other:
            case ((InLinks(_, (i,)) | Unexplained((i,), _, _, (_, *_))), (InLinks(_, (k,)) | Unexplained((k,)))) if (
                i == k
            ):
                one, two = (natural(space.inertials(h), False)[i] for h in _after(space, less, told, other))
                off = _differences(one, two)
                if off[:2].max() >= FREED[0]:
                    return None
                if isinstance(other, Unexplained) and not other.asked:
                    off = np.maximum(off, other.share * PARTS[other.part][[0, 1, 4]])
                found[i] = np.maximum(
                    found[i], np.concatenate([off[:1], np.repeat(np.minimum(off, 1.0)[1:], (3, 6)), [0]])
                )
            case _:
                return None
    return found


def _after(space: Space, less: Hypothesis, *moves: Move) -> list[Hypothesis]:
    return [space.after(less, move) for move in moves]


def _differences(one: Array, two: Array) -> Array:
    """Return how far masses, centres and tensors of two bodies (10,) about their centres lie apart, as shares (3,)."""
    tensors = np.abs(one[4:]).max(), np.abs(two[4:]).max()
    size = max(np.linalg.norm(one[1:4]), np.linalg.norm(two[1:4]), np.sqrt(tensors[0] / abs(one[0])), 1e-9)
    off = np.abs(one - two)
    return np.array([off[0] / abs(one[0]), off[1:4].max() / size, off[4:].max() / max(*tensors, 1e-300)])
