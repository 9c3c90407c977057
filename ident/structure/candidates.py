"""What a model may be given besides its terms: one kind of joint term, at all joints that move.

What the logs cannot carry is there with the reason. Joint by joint a column is borrowed for what another one lacks;
joints of a robot are alike in what they have, but for ripples, whose waves each residual shows. Left out
because they harm motions that are faster or wider than the logs: powers of the speed above 1, load without the sign of
the speed, load times speed, travels of 0.1 rad, polynomials of the position.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ident.arrays import Array, significant
from ident.logs.motion import Motion
from ident.model import (
    Balancer,
    Hysteresis,
    LoadFriction,
    Model,
    NonlinearViscous,
    RippleSine,
    SmoothCoulomb,
    Spring,
    Stribeck,
    Thermal,
    ViscousAsymmetry,
    WarmUp,
)
from ident.model.term import Kind, Term, numbers
from ident.structure.waves import rippled

#: Speeds of Stribeck friction, relative to each joint's own (99th percentile): those tried first; the least and most.
SPEEDS, SPEED = (0.02, 0.05, 0.1, 0.2, 0.4), (0.01, 0.6)
#: The tanh of Stribeck friction is so many times narrower where the model has no width; this much at least.
NARROW, NARROWER = 10.0, 2.0
#: Ways of hysteresis friction [rad; m], likewise.
WAYS, WAY = (1e-4, 3e-4, 1e-3, 3e-3, 1e-2), (5e-5, 2e-2)
#: Powers of nonlinear viscous friction, likewise.
POWERS, POWER = (0.3, 0.6), (0.15, 0.8)
#: Times in which joints warm up, relative to the longest log, likewise; how long [s] a log has to be.
TIMES, TIME, LASTING = (0.1, 0.3, 1.0), (0.05, 1.5), 120.0
#: Change of a joint's temperature [K] beside which its friction is looked at.
WARMER = 3.0
#: Share of the error that ripple has to be worth: its waves are the best of hundreds, and one of them fits anything.
OF_MANY = 0.05
#: Why there is no ripple, and no balancer, to try.
NO_WAVE = "no wave is strong in both halves of what is missed"
NO_BALANCER = "no joint's position explains what is missed as a balancer would"
#: Share of the error that a balancer has to be worth: its geometry is what fits best, and a robot has few.
OF_MECHANISM = 0.2
#: Ratios of shapes that are tried beside those taken, round after round; the first round has the candidates' own.
RATIOS = (1.4, 1.15)
#: Powers of a ratio that are tried.
STEPS = (-2, -1, 0, 1, 2)
#: A joint is at rest below this share of the fastest one's speed.
RESTING = 1e-3
#: Relative step of the differences; columns are smooth in their numbers, so that 1e-8 of the derivative is lost.
_STEP = 1e-4


@dataclass(frozen=True)
class Candidate:
    """Joint terms that are tried together, and what they have to be worth.

    words: what they are; errors: standard errors of the gain that are asked for; share: of the left-out error.
    shape: the number that they share, if any; reshaped: returns the candidate with another one, None out of bounds;
    round: how often the shape was looked for more exactly. reason: why the logs cannot carry it, "" where they can.
    alike: whether a joint has it likely where others surely have; if not, it is the best of many, and has to be surer.
    numbers: those of its terms that are fitted, all in one ratio where there is a `shape`, of which `usual` is taken
    where the logs do not tell it; slopes: derivatives of terms whose numbers are each fitted by itself.
    """

    words: str
    terms: tuple[Term, ...]
    errors: float = 2.0
    share: float = 0.01
    shape: float | None = None
    reshaped: Callable[[float], Candidate | None] | None = None
    round: int = 0
    reason: str = ""
    alike: bool = True
    numbers: tuple[str, ...] = ()
    usual: float | None = None
    slopes: tuple[Term, ...] = ()

    @property
    def kind(self) -> Kind:
        """The kind of all its terms: of candidates of one kind a model has one."""
        return self.terms[0].kind

    @property
    def settled(self) -> bool:
        """Whether its shapes, if any, have been through all rounds."""
        return (self.shape is None and not self.slopes) or self.round > len(RATIOS)

    def near(self) -> list[Candidate]:
        """Return the candidate and those whose shape is one or two ratios of its round larger or smaller."""
        if self.settled or self.shape is None:
            return [self]
        return list(dict.fromkeys(self.at(RATIOS[self.round - 1] ** k) for k in STEPS))

    def at(self, ratio: float) -> Candidate:
        """Return the candidate with so many times its shape, as it is where that is out of bounds."""
        found = None if self.shape is None or self.reshaped is None else self.reshaped(self.shape * ratio)
        return self if found is None else replace(found, round=self.round)

    def settled_at(self, shape: float | None) -> Candidate:
        """Return the candidate with a shape that is not looked for more exactly, as it is where that is None."""
        moved = self if shape is None or self.shape is None else self.at(shape / self.shape)
        return replace(moved, round=len(RATIOS) + 1)


@dataclass(frozen=True)
class Renamed:
    """A candidate's term under a name of its own, so that one model can have terms of a kind side by side."""

    term: Any
    number: int

    @property
    def kind(self) -> Kind:
        """The kind of the term, its name with the candidate's number."""
        own: Kind = self.term.kind
        return replace(own, name=f"{own.name}#{self.number}")

    def __getattr__(self, name: str) -> Any:
        """Return what the term has."""
        if name == "term" or name.startswith("__"):  # a copy asks before there is one
            raise AttributeError(name)
        return getattr(self.term, name)


@dataclass(frozen=True)
class Slope:
    """d column / d log x, where the term's numbers (names) are all multiplied by x: a joint term of its own."""

    term: Any
    numbers: tuple[str, ...]

    @property
    def kind(self) -> Kind:
        """The kind of the term, with another name."""
        own: Kind = self.term.kind
        return replace(own, name=f"{own.name}'{self.numbers[0]}")

    def column(self, q: Array, qd: Array, qdd: Array, **signals: Array) -> Array:
        """Return the central difference of the columns of slightly larger and slightly smaller numbers."""
        ahead, behind = (
            replace(self.term, **{x: (1.0 + way) * getattr(self.term, x) for x in self.numbers}).column(
                q, qd, qdd, **signals
            )
            for way in (_STEP, -_STEP)
        )
        return np.asarray((ahead - behind) / (2.0 * _STEP))

    def __getattr__(self, name: str) -> Any:
        """Return what the term has."""
        if name in ("term", "numbers") or name.startswith("__"):  # a copy asks before there is one
            raise AttributeError(name)
        return getattr(self.term, name)


_WAVES = ("per_turn",)
#: What may stand for something else has to be worth so much: standard errors, share of the error.
_MORE: dict[str, Any] = {"errors": 3.0, "share": 0.02}


def candidates(
    model: Model,
    motions: Sequence[Motion],
    inertials: Array | None = None,
    waves: Mapping[str, Sequence[float]] | None = None,
    balancers: Sequence[Term] = (),
) -> tuple[Candidate, ...]:
    """Return what a model may be given: kinds that it does not have, at the joints that move.

    inertials (n, 10): bodies whose load friction may grow with, such as CAD's; None for no such friction. waves: by
    joint, waves per turn of ripples that residuals show; balancers: those that residuals show.
    """
    fastest = np.max([np.percentile(np.abs(m.qd), 99, axis=0) for m in motions], axis=0)
    names = model.robot.joint_names
    moving = {j: float(v) for j, v in zip(names, fastest, strict=True) if v > RESTING * fastest.max()}
    joints = tuple(moving)
    makers = [(SPEEDS, _stribeck(model, moving)), (WAYS, _hysteresis(joints)), (POWERS, _nonlinear(moving))]
    shaped = (make(shape) for shapes, make in makers for shape in shapes)
    found = [candidate for candidate in shaped if candidate is not None]
    found.append(Candidate("viscous that differs by direction", (ViscousAsymmetry(joints),)))
    load: tuple[Term, ...] = (LoadFriction(joints=joints),)
    if inertials is not None:
        load = tuple(LoadFriction(joints=joints).at_work(model.terms, model.robot, inertials))
    without = "" if inertials is not None else "the logs tell no load with which it may grow"
    found.append(Candidate("friction that grows with load", load, reason=without))
    found.append(Candidate(Spring.kind.words, (Spring(joints),), **_MORE))
    found += _warming(motions, names, joints)
    if waves:
        found.append(ripple([(joint, n) for joint, own in waves.items() for n in own]))
    else:
        found.append(replace(ripple([(joint, 1.0) for joint in joints]), reason=NO_WAVE))
    found.append(balanced(balancers) if balancers else replace(balanced([Balancer(joints=joints)]), reason=NO_BALANCER))
    has = {term.kind.name for term in model.terms}
    return tuple(c for c in found if c.terms and c.kind.name not in has)


def with_given(every: Sequence[Candidate], terms: Sequence[Term]) -> list[Candidate]:
    """Return candidates, of the kinds of some terms these alone, with their shapes.

    Terms whose numbers differ from joint to joint are tried as they are, others at all joints that move.
    """
    own = {name: tuple(t for t in terms if t.kind.name == name) for name in dict.fromkeys(t.kind.name for t in terms)}
    found = [candidate for candidate in every if candidate.kind.name not in own]
    for name, alike in own.items():
        number = numbers(alike[0])[0]
        values = {getattr(term, number) for term in alike}
        first = next((c for c in every if c.kind.name == name and c.numbers == (number,)), None)
        if first is not None and first.usual is not None and len(values) == 1 and first.kind != Stribeck.kind:
            found.append(first.settled_at(values.pop()))
        else:
            found.append(Candidate(alike[0].kind.words, alike, numbers=(number,)))
    return found


def balanced(terms: Sequence[Term], share: float = OF_MECHANISM) -> Candidate:
    """Return balancers of known geometry, of some joints."""
    return Candidate(Balancer.kind.words, tuple(terms), alike=False, share=share)


def ripple(by_joint: Sequence[tuple[str, float]]) -> Candidate:
    """Return ripples with these waves per turn, of some joints."""
    terms = rippled(by_joint)
    slopes = tuple(Slope(term, _WAVES) for term in terms)
    words = RippleSine.kind.key
    return Candidate(words, terms, alike=False, numbers=_WAVES, slopes=slopes, errors=3.0, share=OF_MANY)


def _warming(motions: Sequence[Motion], names: Sequence[str], joints: tuple[str, ...]) -> Iterator[Candidate]:
    """Yield friction that follows the temperature, and where none was measured the time since a log's start."""
    warm = [m.temperature for m in motions if m.temperature is not None]
    words, lasting = WarmUp.kind.words, float(max(m.t[-1] for m in motions))
    if len(warm) < len(motions):
        yield Candidate(Thermal.kind.words, (Thermal(joints=joints),), reason="no temperature was logged")
    else:
        every = np.concatenate(warm)
        change = dict(zip(names, np.ptp(every, axis=0), strict=True))
        own = tuple(j for j in joints if change[j] >= WARMER)
        law = Thermal(significant(float(every.mean()), 3), own or joints)
        little = f"temperatures change by {max(change.values()):.2g} K, and it takes {WARMER:g}"
        yield Candidate(Thermal.kind.words, (law,), reason="" if own else little, **_MORE)
        if own:
            return
    if lasting < LASTING:
        short = f"the longest log lasts {lasting:.0f} s, and it takes {LASTING:g}"
        yield Candidate(words, (WarmUp(joints=joints),), reason=short)
        return

    def at(share: float) -> Candidate | None:
        law = WarmUp(significant(share * lasting, 3), joints)
        told = f"{words} in {law.time:g} s"
        found = Candidate(told, (law,), shape=share, reshaped=at, numbers=("time",), usual=TIMES[1], **_MORE)
        return found if _within(share, TIME) else None

    yield from (found for found in map(at, TIMES) if found is not None)


def _hysteresis(joints: tuple[str, ...]) -> Callable[[float], Candidate | None]:
    def at(way: float) -> Candidate | None:
        law = Hysteresis(significant(way, 3), joints)
        words = f"hysteresis over {law.way:g}"
        found = Candidate(words, (law,), shape=way, reshaped=at, numbers=("way",), usual=WAYS[2])
        return found if _within(way, WAY) else None

    return at


def _nonlinear(speeds: dict[str, float]) -> Callable[[float], Candidate | None]:
    def at(power: float) -> Candidate | None:
        terms = tuple(
            NonlinearViscous(significant(power, 3), (joint,), significant(v, 3)) for joint, v in speeds.items()
        )
        words = f"nonlinear viscous, power {significant(power, 3):g}"
        found = Candidate(words, terms, shape=power, reshaped=at, numbers=("power",), usual=POWERS[1])
        return found if _within(power, POWER) else None

    return at


def _stribeck(model: Model, speeds: dict[str, float]) -> Callable[[float], Candidate | None]:
    """Return what makes Stribeck friction at a share of each joint's speed, where its tanh is narrower than that."""
    laws = (law for law in model.terms if isinstance(law, SmoothCoulomb))
    widths = {joint: law.tanh for law in laws for joint in law.joints or speeds}
    both = ("speed",) if widths else ("speed", "width")

    def at(share: float) -> Candidate | None:
        terms = []
        for joint, fastest in speeds.items():
            speed = significant(share * fastest, 3)
            width = widths.get(joint, significant(speed / NARROW, 3))
            if speed >= NARROWER * width:
                terms.append(Stribeck(speed, width, (joint,)))
        words = f"Stribeck below {significant(100 * share, 3):g} % of the speed"
        found = Candidate(words, tuple(terms), shape=share, reshaped=at, numbers=both, usual=SPEEDS[2])
        return found if terms and _within(share, SPEED) else None

    return at


def _within(x: float, bounds: tuple[float, float]) -> bool:
    return bounds[0] <= x <= bounds[1]
