"""Which balancers logs show: a pull along the line between a fixed point and a crank, of unknown geometry.

The lever of a balancer is a sum of sines of multiples of the angle from its dead point, and so is that of a coil spring
in its place: columns of these, of each joint, and one Gram matrix say what any dead point and any crank would take from
the misfit of the whole fit. The best ones of each joint are judged as any candidate is; steps of Gauss and Newton then
go on from the best of these. It has to miss less than a spring, and than what a tilted base has: a sine and a cosine of
the position, and to be a share of its joint's torque.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from ident.arrays import Array, or_one, significant
from ident.model import Balancer, BalancerSpring, Spring
from ident.model.springs import BALANCES
from ident.model.term import Term
from ident.structure.candidates import Candidate, balanced
from ident.structure.judge import Judge, Logs, compared, size
from ident.structure.shapes import BEFORE, Places, refined
from ident.structure.waves import rippled

#: Dead points [rad] and cranks, relative to the way to the fixed point, that are tried; what the latter is kept within.
DEAD, CRANKS, CRANK = 0.5 + 2.0 * np.pi * np.arange(48) / 48, (0.1, 0.2, 0.3, 0.45, 0.6, 0.75), (0.05, 0.97)
#: A balancer is looked at closely where it takes so much from the square of what is missed, in that of the noise.
SHOWN = 0.3
#: Share of the error that a pull that grows with the length takes from that of a steady one; and either, however unlike
#: the stretches are, from that of a spring, and of a sine and a cosine.
MORE = 0.1
#: Sines in a lever; points of a turn that they are found from; of a column's square, what others may leave of it.
_SINES, _POINTS, _OWN = 8, 64, 1e-6
#: A step of the geometry that is none: a pull is large beside what it leaves.
_NEAR = 1e-4

#: A steady pull, alone or with one that grows with the length; both of one geometry, of one joint.
Pull = tuple[Balancer] | tuple[Balancer, BalancerSpring]


def balancers(logs: Logs) -> tuple[Balancer | BalancerSpring, ...]:
    """Return the balancers, of one joint each, that the logs show; arms relative to the way to the fixed point, 1 m.

    The noise is what a fit with any lever at all leaves: beside what a balancer leaves, bodies would be held too much.
    """
    found, harmonics = list[Pull](), Harmonics(logs)
    while tried := list(harmonics.best(found)):
        missed = _missed(logs, harmonics, [found, *([*found, pull] for pull in tried)])
        best = min(range(len(tried)), key=lambda k: size(missed[k + 1]))
        if compared(balanced(tried[best]), missed[0], missed[best + 1]).reason:
            break
        own = tried[best][0].joints or ("",)
        starts = [_refined(logs, [*found, pull]) for pull in tried if pull[0].joints == own]
        starts = [pulls for pulls in starts if CRANK[0] < pulls[-1][0].crank < CRANK[1]]
        others = [(Spring(own),), rippled([(own[0], 1.0)])]
        missed = _missed(logs, harmonics, [*([*found, other] for other in others), *starts])
        left = missed[len(others) :]
        order = sorted(range(len(starts)), key=lambda k: size(left[k]))
        if not order:
            break
        best = order[0]
        steady = next((k for k in order if len(starts[k][-1]) == 1), best)
        if steady != best and compared(balanced(starts[best][-1], MORE), left[steady], left[best]).reason:
            best = steady
        sure = replace(balanced(starts[best][-1], MORE), errors=0.0)
        if any(compared(sure, other, left[best]).reason for other in missed[: len(others)]):
            break
        if _share(logs, harmonics, starts[best]) < BALANCES:
            break
        found = starts[best]
    return tuple(replace(t, dead=significant(t.dead, 6), crank=significant(t.crank, 6)) for pull in found for t in pull)


def _missed(logs: Logs, harmonics: Harmonics, each: Sequence[Sequence[Sequence[Term]]]) -> list[Array]:
    """Return the errors (2, s) of what is left out, of a model with the terms of each of some sets."""
    pool = [Candidate("", tuple(t for own in terms for t in own)) for terms in each]
    judge = Judge(logs.evidence(pool), noise=harmonics.noise)
    return [judge.weighed(judge.left_out(columns, judge.folds)) for columns in logs.places(pool)]


def _share(logs: Logs, harmonics: Harmonics, pulls: Sequence[Pull]) -> float:
    """Return how large the last of some pulls is, as a share of the torque of its joint."""
    pool = [Candidate("", pull) for pull in pulls]
    judge, places = Judge(logs.evidence(pool), noise=harmonics.noise), logs.places(pool)
    theta = judge.fitted([c for columns in places for c in columns], judge.folds)
    return float(judge.shares(theta)[places[-1]].sum())


def _refined(logs: Logs, found: Sequence[Pull]) -> list[Pull]:
    """Return balancers with the geometry at which the whole fit misses least."""
    starts = np.cumsum([0, *map(len, found)])
    places: list[Places] = [
        tuple((k, number) for k in range(a, b)) for a, b in pairwise(starts) for number in ("dead", "crank")
    ]

    def moved(terms: Sequence[Any], moves: Array) -> list[Any]:
        each = list(terms)
        for group, x in zip(places, np.exp(moves), strict=True):
            for k, number in group:
                value = getattr(each[k], number) * x
                each[k] = replace(each[k], **{number: float(np.clip(value, *CRANK) if number == "crank" else value)})
        return each

    terms = [t for pull in found for t in pull]
    terms = refined(logs, terms, places, np.full(len(places), BEFORE), np.zeros(len(places)), moved, _NEAR)
    return [tuple(terms[a:b]) for a, b in pairwise(starts)]  # type: ignore[misc]


class Harmonics:
    """What any balancer takes from the misfit of a model: the Gram matrix of sines and cosines of joint positions."""

    def __init__(self, logs: Logs):
        robot, each = logs.model.robot, np.arange(1, _SINES + 1)
        joints = [joint for joint in robot.joint_names if joint not in robot.slides]
        pool = [Candidate("", rippled([(joint, float(k)) for k in each])) for joint in joints]
        places = logs.places(pool)
        wide = Judge(logs.evidence(pool), [c for columns in places for c in columns])
        self.noise = wide.sigma, wide.effective
        gram, own = wide.gram(wide.folds), list(range(wide.evidence.own))
        size = or_one(np.sqrt(np.diag(gram)))
        size[-1] = 1.0
        gram = gram / np.outer(size, size) + np.diag([*np.full(len(gram) - 1, 1e-9), 0.0])
        self._places = {joint: np.array(columns) for joint, columns in zip(joints, places, strict=True)}
        self._size = {joint: size[columns] / size[columns].max() for joint, columns in self._places.items()}
        self._rows = dict(zip(robot.joint_names, wide.evidence.regression.rows.tolist(), strict=True))
        first = [*own, *(c for columns in places for c in columns[:2])]
        self._left = [gram - gram[:, x] @ np.linalg.solve(gram[np.ix_(x, x)], gram[x]) for x in (own, first)]
        self._tried = [(float(dead), crank) for dead in DEAD for crank in CRANKS]
        self._levers = [
            np.column_stack([lever(law(dead, 1.0, crank)) for dead, crank in self._tried])
            for law in (Balancer, BalancerSpring)
        ]

    def best(self, beside: Sequence[Pull]) -> Iterator[Pull]:
        """Yield what takes most at each other joint beside some, steady and growing, where it takes SHOWN.

        Once as it is, once beside any sine and cosine of positions, which bodies that are held may lack.
        """
        known = {joint for pull in beside for joint in pull[0].joints or ()}
        for left in self._left:
            for term in (t for pull in beside for t in pull):
                (joint,) = term.joints or ("",)
                left = _without(left, self._places[joint], lever(term) * self._size[joint])  # noqa: PLW2901
            for joint in self._places:
                if joint not in known:
                    yield from self._best(left, joint)

    def _best(self, left: Array, joint: str) -> Iterator[Pull]:
        columns = self._places[joint]
        steady, more = (each * self._size[joint][:, None] for each in self._levers)
        block, at = left[np.ix_(columns, columns)], left[columns, -1]
        along = np.sum(steady * (block @ steady), axis=0)
        clear = along > _OWN * np.sum(steady**2, axis=0)
        shared = np.where(clear, np.sum(steady * (block @ more), axis=0) / np.where(clear, along, 1.0), 0.0)
        gains = _gains(steady, block, at)
        both = gains + _gains(more - shared * steady, block, at)
        if max(both) > SHOWN * self._rows[joint]:
            (dead, crank), (other, arm) = (self._tried[int(np.argmax(x))] for x in (gains, both))
            yield (Balancer(dead, 1.0, crank, joints=(joint,)),)
            yield Balancer(other, 1.0, arm, joints=(joint,)), BalancerSpring(other, 1.0, arm, (joint,))


def _gains(ways: Array, block: Array, at: Array) -> Array:
    """Return what each way (k, g) takes from the misfit; block (k, k), at (k,): its columns', with the torque."""
    squares = np.sum(ways * (block @ ways), axis=0)
    clear = squares > _OWN * np.sum(ways**2, axis=0)
    return np.where(clear, (at @ ways) ** 2 / np.where(clear, squares, 1.0), 0.0)


def _without(left: Array, columns: Array, way: Array) -> Array:
    """Return a Gram matrix of what is left of all columns beside one that is a sum of some."""
    along = left[:, columns] @ way
    square = float(way @ along[columns])
    return left - np.outer(along, along) / square if square > _OWN * float(way @ way) else left


def lever(term: Balancer | BalancerSpring) -> Array:
    """Return of which sines and cosines (2 k,) of multiples of the position a balancer's column is the sum."""
    angle, each = 2.0 * np.pi * np.arange(_POINTS) / _POINTS, np.arange(1, _SINES + 1)
    sines = np.sin(np.outer(each, angle)) @ replace(term, dead=0.0).column(angle, 0.0, 0.0) * (2.0 / _POINTS)
    return np.column_stack([np.cos(each * term.dead) * sines, -np.sin(each * term.dead) * sines]).ravel()
