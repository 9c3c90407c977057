"""What a model may be given besides its terms: one kind of joint term, at all joints that move.

Joint by joint a column is borrowed for what another one lacks; joints of a robot are alike in what they have. Left out
because they harm motions that are faster or wider than the logs: powers of the speed above 1, load without the sign of
the speed, load times speed, travels of 0.1 rad, polynomials of the position.
"""

from __future__ import annotations

from collections.abc import Sequence
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

#: Speeds of Stribeck friction, relative to each joint's own (99th percentile); least ratio to the width of the tanh.
SPEEDS, WIDER = (0.02, 0.05, 0.1, 0.2, 0.4), 2.0
#: Ways of hysteresis friction [rad; m].
WAYS = (1e-4, 3e-4, 1e-3, 3e-3, 1e-2)
#: Powers of nonlinear viscous friction.
POWERS = (0.3, 0.6)
#: A joint is at rest below this share of the fastest one's speed.
RESTING = 1e-3


@dataclass(frozen=True)
class Candidate:
    """Joint terms that are tried together, and what they have to be worth.

    words: what they are; errors: standard errors of the gain that are asked for; share: of the left-out error.
    """

    words: str
    terms: tuple[Term, ...]
    errors: float = 2.0
    share: float = 0.01

    @property
    def kind(self) -> Kind:
        """The kind of all its terms: of candidates of one kind a model has one."""
        return self.terms[0].kind


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
    moving = tuple(j for j, speed in zip(names, fastest, strict=True) if speed > RESTING * fastest.max())
    speeds = dict(zip(names, fastest.tolist(), strict=True))
    found = [*_stribeck(model, moving, speeds)]
    found += [Candidate(f"hysteresis over {way:g}", (Hysteresis(way, moving),)) for way in WAYS]
    found += [Candidate(f"nonlinear viscous, power {power:g}", (NonlinearViscous(power, moving),)) for power in POWERS]
    found.append(Candidate("viscous that differs by direction", (ViscousAsymmetry(moving),)))
    if inertials is not None:
        load = tuple(LoadFriction(joints=moving).at_work(model.terms, model.robot, inertials))
        found.append(Candidate("friction that grows with load", load))
    found.append(Candidate(Spring.kind.words, (Spring(moving),), errors=3.0, share=0.02))
    has = {term.kind.name for term in model.terms}
    return tuple(c for c in found if c.terms and c.kind.name not in has)


def _stribeck(model: Model, joints: tuple[str, ...], speeds: dict[str, float]) -> list[Candidate]:
    """Return Stribeck friction at shares of each joint's speed, where its tanh is narrower than that."""
    widths = {j: law.tanh for law in model.terms if isinstance(law, SmoothCoulomb) for j in law.joints or joints}
    found = []
    for share in SPEEDS:
        terms = []
        for joint in joints:
            speed = _two_digits(share * speeds[joint])
            width = widths.get(joint, _two_digits(0.1 * speed))
            if speed >= WIDER * width:
                terms.append(Stribeck(speed, width, (joint,)))
        if terms:
            found.append(Candidate(f"Stribeck below {share:.0%} of the speed", tuple(terms)))
    return found


def _two_digits(x: float) -> float:
    return float(f"{x:.2g}")
