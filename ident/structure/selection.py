"""Selection of joint terms by what they take from the error of what is left out, and pruning of single ones.

A term is taken where its gain, paired segment by segment with the model without it, is so many standard errors and such
a share of the error; the largest gain first. The error is weighed twice, by each joint's noise, which gives small
joints a say, and as the torque that is missed: one of both has to ask for a term, and the other not to be against it.
It goes again where that is no longer so beside the others. Its shape is then looked for between those that were tried,
and the noise is that which the better model leaves; both in turn.
Single columns go whose squared Wald statistic is below the logarithm of the effective number of samples (Schwarz,
"Estimating the dimension of a model", Annals of Statistics 6, 1978). How much of the gain is the choice's own optimism
is measured by choosing once more without each fold, and predicting that fold (Cawley, Talbot, "On over-fitting in model
selection", JMLR 11, 2010): where nothing is gained so, nothing is chosen.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from ident.arrays import Array
from ident.estimate.estimate import Structure, TriedTerm
from ident.estimate.prior import Prior
from ident.logs.motion import Motion
from ident.model import Balancer, Model
from ident.model.term import Term, along, chosen, shape
from ident.model.terms import lines
from ident.regression import BaseParameters, compress
from ident.regression.compress import Known
from ident.structure.balancers import balancers
from ident.structure.candidates import NO_WAVE, RATIOS, STEPS, Candidate, candidates, ripple, with_given
from ident.structure.judge import Judge, Logs, compared, renamed, shortened, size, told_by_the_rest
from ident.structure.shapes import as_usual, at_joints, beyond, finest, fitted_shapes, together
from ident.structure.waves import apart, shifted, waves
from ident.tell import Tell, logged

#: How often shapes are looked for more exactly, at most.
ROUNDS = 8
#: How often terms and the noise that they leave are chosen in turn, at most.
TURNS = 4
#: Fewest short segments that a choice is made with.
FEWEST = 12
#: Squared Wald statistic below which a joint lacks a term that others surely have.
DOUBTFUL = 2.0
#: Joints at least that surely have a term which one more of them has, too, where no other one lacks it.
MANY = 3
#: Share of the torque missed on what is left out that all terms together have to take.
SHARE = 0.01
#: Why what passed at first is not taken in the end.
UNSEEN = "chosen without what it is judged on, nothing is gained"
PRUNED = "no joint's own number can be told from zero"
LATER = "another one takes more"
GONE = "taken on the way, and given up beside the others"


@dataclass(frozen=True)
class Selection:
    """Joint terms that logs support beside a model's own, the model with them, and how they were chosen.

    pulls: by base parameter, as `fitted_shapes` has them.
    """

    model: Model
    structure: Structure
    terms: tuple[Term, ...] = ()
    pulls: Mapping[str, tuple[float, ...]] = field(default_factory=dict)


def selected(
    model: Model,
    motions: Sequence[Motion],
    prior: Prior,
    base: BaseParameters,
    inertials: Array | None = None,
    tell: Tell = logged,
    worth: float = 0.0,
    aside: Mapping[str, str] | None = None,
    given: Sequence[Term] = (),
    known: Known | None = None,
) -> Selection:
    """Return the model with the joint terms that the motions support, and what was tried.

    prior: bodies that the fit is drawn to; base: the model's base parameters; inertials (n, 10): as `candidates` has
    them; aside: endings of the parameters of what is not to be tried, with the reason; given: terms whose shapes are
    known, by which those kinds are tried; known: what is kept of the motions. The model as it is where
    segments are too few, or shapes that are not yet looked for exactly take less than `worth` from the left-out error.
    """
    short, levels = shortened([m for m in motions if m.keep.any()])
    if len(levels) < FEWEST:
        note = f"the logs have {len(levels)} short segments, and a choice takes {FEWEST}"
        return Selection(model, Structure(note=note))
    known = known or Known()
    usual = compress(model, short, base=base, known=known)
    found = told_by_the_rest(model, prior, usual, levels)
    if found is None:
        note = "each part of the logs moves as no other does, which says nothing of terms: log longer, or more motions"
        return Selection(model, Structure(note=note))
    logs = Logs(model, tuple(short), prior, base, found.evidence.fold, known)
    shown, pulls = waves(model, short, found.fitted((), found.folds)), balancers(logs)
    every = [
        replace(one, reason=(aside or {}).get(one.kind.name, one.reason))
        for one in with_given(candidates(model, short, inertials, shown, pulls), given)
    ]
    pool = [one for one in every if not one.reason]
    begun = [one for one in pool if one.kind == Balancer.kind]  # beside it the noise is another one
    search = Search(logs, pool, begun)
    if worth and search.gain < worth:
        return Selection(model, Structure(note=f"the logs support no terms that are worth {100 * worth:g} %"))
    for number in range(ROUNDS):
        tell("trying terms", number, ROUNDS + 1)
        if search.settled:
            break
        search = search.finer()
    tell("trying terms", ROUNDS, ROUNDS + 1)
    search = search.refined()
    choice = search.selection()
    untold = tuple(shape for shape in choice.structure.shapes if not shape.told)
    if untold:
        again = search.usual({shape.kind for shape in untold})
        if {one.kind.name for one in again.taken} == {one.kind.name for one in search.taken}:  # else it is far off
            choice = again.selection()
            shapes = as_usual(choice.structure.shapes, untold)
            choice = replace(choice, structure=replace(choice.structure, shapes=shapes))
    tell("trying terms", ROUNDS + 1, ROUNDS + 1)
    tried, nan = choice.structure.tried, float("nan")
    unable = {one.kind.name: one for one in every if one.kind.name not in {t.kind for t in tried}}
    told = (TriedTerm(one.words, kind, nan, nan, reason=one.reason or NO_WAVE) for kind, one in unable.items())
    return replace(choice, structure=replace(choice.structure, tried=(*tried, *told)))


class Search:
    """Terms and the noise that they leave, chosen in turn from a pool of candidates.

    begun: candidates of the pool that are taken at first.
    """

    def __init__(self, logs: Logs, pool: Sequence[Candidate], begun: Sequence[Candidate] = ()):
        slopes = [Candidate("", candidate.slopes) for candidate in pool]
        places = logs.places([*pool, *slopes])
        self._logs, self._pool = logs, tuple(pool)
        self._places, self._slopes = places[: len(pool)], places[len(pool) :]
        self._evidence = logs.evidence([*pool, *slopes])
        self._torques = self._evidence.regression.squared_torques.sum()
        self._taken = [self._pool.index(candidate) for candidate in begun]
        for _ in range(TURNS):
            self._judge = Judge(self._evidence, self._columns(self._taken))
            self._known: dict[tuple[tuple[int, ...], tuple[int, ...]], Array] = {}
            before, self._taken = self._taken, self._chosen(self._taken, self._judge.folds)
            if self._taken == before:
                break

    @cached_property
    def _joints(self) -> list[list[list[int]]]:
        """Each candidate's columns, those together that one joint has of one law."""
        found, robot = [], self._logs.model.robot
        for candidate, places in zip(self._pool, self._places, strict=True):
            laws: dict[object, list[int]] = {}
            owners = [(joint, shape(term)) for term in candidate.terms for joint in along(term, robot)[0]]
            for place, (joint, numbers) in zip(places, owners, strict=True):
                laws.setdefault((joint, *numbers.items()), []).append(place)
            found.append(list(laws.values()))
        return found

    @property
    def taken(self) -> list[Candidate]:
        """The candidates that are taken."""
        return [self._pool[k] for k in self._taken]

    @property
    def gain(self) -> float:
        """By what share the torque missed on what is left out falls with what is taken."""
        before, after = (self._errors(taken, self._judge.folds)[1].sum() for taken in ([], self._taken))
        return 1.0 - float(np.sqrt(after / before)) if before > 0 else 0.0

    @property
    def settled(self) -> bool:
        """Whether no shape of what is taken is to be looked for more exactly."""
        return all(candidate.settled for candidate in self.taken)

    def finer(self) -> Search:
        """Return the search that goes on with shapes nearer to those that are taken, and the best of other kinds."""
        others = [self._pool[k] for k, _ in self._beside(self._taken).values()]
        if any(candidate.slopes for candidate in others):
            left = self._waves()
            others = [c for c in others if not c.slopes] + ([ripple(left)] if left else [])
        begun = self._advanced()
        return Search(self._logs, [*others, *(near for candidate in begun for near in candidate.near())], begun)

    def usual(self, kinds: set[str]) -> Search:
        """Return the search that goes on with the usual shape of what is taken of some kinds."""
        others = [self._pool[k] for k, _ in self._beside(self._taken).values()]
        begun = [one.settled_at(one.usual) if one.kind.name in kinds else one for one in self.taken]
        return Search(self._logs, [*others, *begun], begun)

    def refined(self) -> Search:
        """Return the search that goes on with shapes of what is taken at which the whole fit misses least, together."""
        begun = finest(self._logs, self.taken)
        others = (self._pool[k] for k, _ in self._beside(self._taken).values())
        return Search(self._logs, [*others, *begun], begun) if begun != self.taken else self

    def _advanced(self) -> list[Candidate]:
        """Return what is taken, each a round further: at the end, with the shape at which the whole fit misses least.

        Beside a newcomer all shapes are looked for again; one at the end of those that were tried is tried on.
        """
        last = len(RATIOS)
        both = zip(self._taken, self.taken, strict=True)
        taken = [self._shifted(k) if one.slopes and not one.settled else one for k, one in both]
        if any(not candidate.settled and not candidate.round for candidate in taken):
            return [replace(c, round=min(c.round, last - 1) + 1) for c in taken]
        between = {k: self._neighbours(k) for k, c in enumerate(taken) if c.round == last}
        steps = self._newton({k: both for k, both in between.items() if len(both) == 2})
        found = []
        for k, candidate in enumerate(taken):
            at_an_end = k in between and k not in steps and len(candidate.near()) == len(STEPS)
            moved = candidate.at(RATIOS[-1] ** steps.get(k, 0.0))
            found.append(replace(moved, round=candidate.round + (not at_an_end)))
        return found

    def _waves(self) -> list[tuple[str, float]]:
        """Return joints and waves per turn of the ripple that is left beside what is taken."""
        columns, own = self._columns(self._taken), len(self._logs.model.names)
        theta = self._judge.fitted(columns, self._judge.folds)
        model = replace(self._logs.model, terms=(*self._logs.model.terms, *renamed(self.taken)))
        shown = waves(model, self._logs.short, np.concatenate([theta[:own], theta[columns]]))
        return [(joint, n) for joint, each in shown.items() for n in each]

    def _shifted(self, k: int) -> Candidate:
        """Return a candidate of the pool that is taken with numbers at which its terms fit better.

        What is not sure goes, what is shown beside it comes.
        """
        candidate, columns, every = self._pool[k], self._columns(self._taken), self._judge.folds
        wald = dict(zip(columns, self._judge.squared_wald(columns, every), strict=True))
        theta = self._judge.fitted([*columns, *self._slopes[k]], every)
        found = shifted(candidate.terms, theta[self._places[k]], theta[self._slopes[k]])
        ratios = [max(wald[c] for c in self._places[k][i : i + 2]) for i in range(0, len(candidate.terms), 2)]
        order = sorted(zip(ratios, found, strict=True), key=lambda one: -one[0])
        sure = [one for ratio, one in order if ratio > 2 * np.log(self._judge.effective)]
        known = apart([], sure or found)  # two that came together are one
        return replace(ripple(apart(known, self._waves())), round=candidate.round)

    def _newton(self, between: dict[int, list[int]]) -> dict[int, float]:
        """Return a step of Newton's method, in ratios, to the least misfit over the logarithms of some shapes.

        between: by place among those taken, the places of the next smaller and the next larger shape. No step goes
        farther than what was tried. What is left out would tell the shapes less exactly than all.
        """

        def misfit(*ways: tuple[int, int]) -> float:
            own = dict(enumerate(self._taken)) | {k: between[k][way] for k, way in ways}
            return self._judge.misfit(self._columns(list(own.values())))

        moving, centre = list(between), misfit()
        below, above = (np.array([misfit((k, way)) for k in moving]) for way in (0, 1))
        bend = np.diag(above + below - 2.0 * centre)
        for a, j in enumerate(moving):
            for b, k in enumerate(moving[:a]):
                bend[a, b] = bend[b, a] = misfit((j, 1), (k, 1)) - above[a] - above[b] + centre
        if not moving or np.linalg.eigvalsh(bend)[0] <= 0.0:
            return dict.fromkeys(moving, 0.0)
        steps = np.clip(np.linalg.solve(bend, 0.5 * (below - above)), -2.0, 2.0)
        return dict(zip(moving, steps.tolist(), strict=True))

    def _neighbours(self, place: int) -> list[int]:
        """Return the places of the next smaller and the next larger shape of what is taken, where both were tried."""
        own = self._pool[self._taken[place]]
        alike = [k for k, c in enumerate(self._pool) if c.kind == own.kind and c.round == own.round]
        alike.sort(key=lambda k: self._pool[k].shape or 0.0)
        at = alike.index(self._taken[place])
        return [alike[at - 1], alike[at + 1]] if 0 < at < len(alike) - 1 else []

    def selection(self) -> Selection:
        """Return what is selected, single columns pruned, and what the choice is worth.

        Where nothing is gained by choosing without what is judged, as many steps of the choice as gain something.
        """
        judge, model, every = self._judge, self._logs.model, self._judge.folds
        without, rests = judge.left_out([], every), [[f for f in every if f != k] for k in every]
        chosen = [self._chosen([], rest) for rest in rests] if self._taken else []
        found = Structure(self._relative(without), segments=len(self._logs.fold), folds=len(every), steps=self._steps())
        found, honest, least = replace(found, after=found.before), float("nan"), size(self._judge.weighed(without))
        for count in range(len(self._taken), 0, -1):
            columns = self._pruned(self._taken[:count], every)
            own = (
                self._pruned(c if count == len(self._taken) else c[:count], r)
                for c, r in zip(chosen, rests, strict=True)
            )
            unseen = np.concatenate(
                [judge.errors(judge.fitted(c, r), [k]) for k, c, r in zip(every, own, rests, strict=True)]
            )
            honest = self._relative(unseen) if np.isnan(honest) else honest
            with_terms = judge.left_out(columns, every)
            errors = (unseen, with_terms)
            falls = max(map(self._relative, errors)) <= (1.0 - SHARE) * found.before
            if columns and falls and max(size(judge.weighed(each)) for each in errors) < least:
                break
            if not columns:
                return Selection(model, replace(found, tried=self._told(self._taken[:count], columns)))
        else:
            return Selection(model, replace(found, tried=self._told([], []), honest=honest))
        found = replace(found, after=self._relative(with_terms), honest=self._relative(unseen))
        found = replace(found, tried=self._told(self._taken[:count], columns))
        each = self._terms(columns)
        terms = tuple(term for own in each for term in own)
        whole = replace(model, terms=(*model.terms, *terms))
        groups = [group for own, one in zip(each, self._pool, strict=True) for group in together(own, one)]
        base = self._logs.base.widened(whole.names)
        shapes, pulls = fitted_shapes(whole, base, self._logs.short, groups, self._logs.known)
        terms = beyond(terms, shapes)
        found = replace(found, lines=lines(terms), shapes=shapes)
        return Selection(replace(model, terms=(*model.terms, *terms)), found, terms, pulls)

    def _chosen(self, begun: Sequence[int], every: Sequence[int]) -> list[int]:
        """Return the candidates that are taken on some folds: forward, shapes exchanged, backward, until all stays."""
        taken, gone = list(begun), set[str]()
        while True:
            kinds = {self._pool[k].kind.name for k in taken} | gone
            passing = [
                k
                for k, candidate in enumerate(self._pool)
                if candidate.kind.name not in kinds and not self._step(taken, k, every).reason
            ]
            if passing:
                taken.append(min(passing, key=lambda k: size(self._errors([*taken, k], every))))
                continue
            exchanged = self._exchanged(taken, every)
            failing = [k for k in exchanged if self._step([x for x in exchanged if x != k], k, every).reason]
            if not failing:
                if exchanged == taken:
                    return taken
                taken = exchanged
                continue
            worst = min(failing, key=lambda k: size(self._errors([x for x in exchanged if x != k], every)))
            gone.add(self._pool[worst].kind.name)  # what was not worth it beside the others does not come again
            taken = [k for k in exchanged if k != worst]

    def _exchanged(self, taken: Sequence[int], every: Sequence[int]) -> list[int]:
        """Return candidates with the best shape of each kind, beside those of the others."""
        found = list(taken)
        for place in range(len(found)):
            kind = self._pool[found[place]].kind.name
            alike = [k for k, candidate in enumerate(self._pool) if candidate.kind.name == kind]
            each = [[*found[:place], k, *found[place + 1 :]] for k in alike]
            found = min(each, key=lambda those: size(self._errors(those, every)))
        return found

    def _pruned(self, taken: Sequence[int], every: Sequence[int]) -> list[int]:
        """Return the columns of candidates that the logs tell from zero, the least certain ones left out at a time.

        A candidate needs a joint that is sure. Beside it a doubtful one stays: joints of a robot are alike.
        """
        left, sure = [(k, joint) for k in taken for joint in self._joints[k]], np.log(self._judge.effective)
        while left:
            columns = [c for _, joint in left for c in joint]
            wald = dict(zip(columns, self._judge.squared_wald(columns, every), strict=True))
            ratios = [max(wald[c] for c in joint) for _, joint in left]
            surely = Counter(k for (k, _), ratio in zip(left, ratios, strict=True) if ratio >= sure)
            limits = [self._limit(k, surely[k], sure) for k, _ in left]
            failing = [
                x for x, (ratio, limit) in enumerate(zip(ratios, limits, strict=True)) if ratio < limit or not ratio
            ]
            if not failing:
                break
            left.pop(min(failing, key=lambda x: ratios[x]))
        return [c for _, joint in left for c in joint]

    def _limit(self, k: int, surely: int, sure: float) -> float:
        """Return the squared Wald statistic that a joint of a candidate needs which so many joints surely have."""
        if not self._pool[k].alike:
            return 2 * sure
        if not surely:
            return sure
        return 0.0 if MANY <= surely >= len(self._joints[k]) - 1 else DOUBTFUL

    def _told(self, kept: Sequence[int], columns: Sequence[int]) -> tuple[TriedTerm, ...]:
        """Return the best candidate of each kind, beside those that are kept of what is taken."""
        best = self._declined(kept, GONE)
        for k in self._taken:
            own = self._step([x for x in self._taken if x != k], k, self._judge.folds)
            reason = "" if set(self._places[k]) & set(columns) else PRUNED if k in kept else UNSEEN
            best[own.kind] = replace(own, reason=reason)
        return tuple(best[kind] for kind in dict.fromkeys(c.kind.name for c in self._pool))

    def _beside(self, taken: Sequence[int]) -> dict[str, tuple[int, TriedTerm]]:
        """Return by kind the best candidate that is not among some that are taken: its place, and what it is worth."""
        best: dict[str, tuple[int, TriedTerm]] = {}
        has = {self._pool[k].kind.name for k in taken}
        for k, candidate in enumerate(self._pool):
            kind = candidate.kind.name
            if kind not in has:
                one = self._step(taken, k, self._judge.folds)
                if kind not in best or one.gain > best[kind][1].gain:
                    best[kind] = k, one
        return best

    def _declined(self, taken: Sequence[int], why: str) -> dict[str, TriedTerm]:
        """Return what these are worth, with a reason for each, `why` where it has no other."""
        return {kind: replace(one, reason=one.reason or why) for kind, (_, one) in self._beside(taken).items()}

    def _steps(self) -> tuple[tuple[TriedTerm, ...], ...]:
        """Return the way to the terms that are taken, the largest gain first, with what was tried at each step."""
        left, taken, found = list(self._taken), list[int](), list[tuple[TriedTerm, ...]]()
        while True:
            best = self._declined(taken, LATER if left else GONE)
            if left:
                after = min(left, key=lambda k: size(self._errors([*taken, k], self._judge.folds)))
                own = self._step(taken, after, self._judge.folds)
                best[own.kind] = replace(own, reason="")
            found.append(tuple(best.values()))
            if not left:
                return tuple(found)
            left.remove(after)
            taken.append(after)

    def _step(self, taken: Sequence[int], k: int, every: Sequence[int]) -> TriedTerm:
        after = self._errors([*taken, k], every)
        found = compared(self._pool[k], self._errors(taken, every), after)
        return replace(found, missed=float(np.sqrt(after[1].sum() / self._torques)))

    def _errors(self, taken: Sequence[int], every: Sequence[int]) -> Array:
        """Return each segment's left-out errors (2, s), as `Judge.weighed` has them."""
        key = tuple(sorted(taken)), tuple(every)
        if key not in self._known:
            self._known[key] = self._judge.weighed(self._judge.left_out(self._columns(key[0]), every))
        return self._known[key]

    def _relative(self, errors: Array) -> float:
        """Return errors (s, n) relative to the torque of all segments."""
        return float(np.sqrt(errors.sum() / self._torques))

    def _columns(self, taken: Sequence[int]) -> list[int]:
        return [c for k in taken for c in self._places[k]]

    def _terms(self, columns: Sequence[int]) -> list[list[Term]]:
        """Return each candidate's terms of some columns, each at the joints that they are of."""
        found: list[list[Any]] = []
        for candidate, places in zip(self._pool, self._places, strict=True):
            start = places[0]
            found.append([])
            for term in candidate.terms:
                joints = [self._logs.model.robot.joint_names[j] for j in chosen(term.joints, self._logs.model.robot)]
                kept = tuple(j for k, j in enumerate(joints) if start + k in columns)
                start += len(joints)
                if kept:
                    found[-1].append(at_joints(term, kept))
        return found
