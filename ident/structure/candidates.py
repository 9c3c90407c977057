"""What a model may be given besides its terms: one kind of joint term, at all joints that move.

Joint by joint a column is borrowed for what another one lacks; joints of a robot are alike in what they have. Left out
because they harm motions that are faster or wider than the logs: powers of the speed above 1, load without the sign of
the speed, load times speed, travels of 0.1 rad, polynomials of the position.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ident.arrays import Array
from ident.logs.motion import Motion
from ident.model import (
    Hysteresis,
    LoadFriction,
    Model,
    NonlinearViscous,
    SmoothCoulomb,
    Spring,
    Stribeck,
    ViscousAsymmetry,
)
from ident.model.term import Kind, Term

#: Speeds of Stribeck friction, relative to each joint's own (99th percentile): those tried first; the least and most.
SPEEDS, SPEED = (0.02, 0.05, 0.1, 0.2, 0.4), (0.01, 0.6)
#: The tanh of Stribeck friction is so many times narrower where the model has no width; this much at least.
NARROW, NARROWER = 10.0, 2.0
#: Ways of hysteresis friction [rad; m], likewise.
WAYS, WAY = (1e-4, 3e-4, 1e-3, 3e-3, 1e-2), (5e-5, 2e-2)
#: Powers of nonlinear viscous friction, likewise.
POWERS, POWER = (0.3, 0.6), (0.15, 0.8)
#: A joint is at rest below this share of the fastest one's speed.
RESTING = 1e-3


@dataclass(frozen=True)
class Candidate:
    """Joint terms that are tried together, and what they have to be worth.

    words: what they are; errors: standard errors of the gain that are asked for; share: of the left-out error.
    shape: the number that they share, if any; reshaped: returns the candidate with another one, None out of bounds.
    """

    words: str
    terms: tuple[Term, ...]
    errors: float = 2.0
    share: float = 0.01
    shape: float | None = None
    reshaped: Callable[[float], Candidate | None] | None = None

    @property
    def kind(self) -> Kind:
        """The kind of all its terms: of candidates of one kind a model has one."""
        return self.terms[0].kind

    def finer(self, ratio: float) -> list[Candidate]:
        """Return the candidate first, then those whose shape is one or two ratios larger or smaller."""
        if self.shape is None or self.reshaped is None:
            return [self]
        others = (self.reshaped(self.shape * ratio**k) for k in (-2, -1, 1, 2))
        return [self, *(other for other in others if other is not None)]


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


def candidates(model: Model, motions: Sequence[Motion], inertials: Array | None = None) -> tuple[Candidate, ...]:
    """Return what a model may be given: kinds that it does not have, at the joints that move.

    inertials (n, 10): bodies whose load friction may grow with, such as CAD's; None for no such friction.
    """
    fastest = np.max([np.percentile(np.abs(m.qd), 99, axis=0) for m in motions], axis=0)
    names = model.robot.joint_names
    moving = {j: float(v) for j, v in zip(names, fastest, strict=True) if v > RESTING * fastest.max()}
    joints = tuple(moving)
    makers = [(SPEEDS, _stribeck(model, moving)), (WAYS, _hysteresis(joints)), (POWERS, _nonlinear(joints))]
    shaped = (make(shape) for shapes, make in makers for shape in shapes)
    found = [candidate for candidate in shaped if candidate is not None]
    found.append(Candidate("viscous that differs by direction", (ViscousAsymmetry(joints),)))
    if inertials is not None:
        load = tuple(LoadFriction(joints=joints).at_work(model.terms, model.robot, inertials))
        found.append(Candidate("friction that grows with load", load))
    found.append(Candidate(Spring.kind.words, (Spring(joints),), errors=3.0, share=0.02))
    has = {term.kind.name for term in model.terms}
    return tuple(c for c in found if c.terms and c.kind.name not in has)


def _hysteresis(joints: tuple[str, ...]) -> Callable[[float], Candidate | None]:
    def at(way: float) -> Candidate | None:
        law = Hysteresis(_digits(way), joints)
        found = Candidate(f"hysteresis over {law.way:g}", (law,), shape=way, reshaped=at)
        return found if _within(way, WAY) else None

    return at


def _nonlinear(joints: tuple[str, ...]) -> Callable[[float], Candidate | None]:
    def at(power: float) -> Candidate | None:
        law = NonlinearViscous(_digits(power), joints)
        found = Candidate(f"nonlinear viscous, power {law.power:g}", (law,), shape=power, reshaped=at)
        return found if _within(power, POWER) else None

    return at


def _stribeck(model: Model, speeds: dict[str, float]) -> Callable[[float], Candidate | None]:
    """Return what makes Stribeck friction at a share of each joint's speed, where its tanh is narrower than that."""
    laws = (law for law in model.terms if isinstance(law, SmoothCoulomb))
    widths = {joint: law.tanh for law in laws for joint in law.joints or speeds}

    def at(share: float) -> Candidate | None:
        terms = []
        for joint, fastest in speeds.items():
            speed = _digits(share * fastest)
            width = widths.get(joint, _digits(speed / NARROW))
            if speed >= NARROWER * width:
                terms.append(Stribeck(speed, width, (joint,)))
        words = f"Stribeck below {_digits(100 * share):g} % of the speed"
        found = Candidate(words, tuple(terms), shape=share, reshaped=at)
        return found if terms and _within(share, SPEED) else None

    return at


def _within(x: float, bounds: tuple[float, float]) -> bool:
    return bounds[0] <= x <= bounds[1]


def _digits(x: float) -> float:
    return float(f"{x:.3g}")
