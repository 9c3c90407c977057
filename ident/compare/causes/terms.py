"""Joint terms that a model lacks: what `ident.structure` thinks of, friction that is left out, springs, balancers.

And what a CAD table may ask for at a joint, a spring, or what balances gravity: links that are free make up for both
about as well as for gravity, which a table does not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from ident.arrays import Array
from ident.compare.causes import undone
from ident.compare.causes.mistakes import Mistake, pulled
from ident.compare.causes.reading import Reading
from ident.errors import ModelError
from ident.estimate.prior import Prior
from ident.logs.motion import Motion
from ident.model import Balancer, Coulomb, DriveInertia, Model, Offset, Spring, Thermal, Viscous, WarmUp
from ident.model.term import Term, names
from ident.model.terms import lines
from ident.structure.candidates import candidates
from ident.structure.waves import rippled
from ident.tables import below

#: Shares of a joint's torque that no model of friction has all of, and that other parts may have.
FRICTION, PART = 0.05, 0.02
#: What is looked for joint by joint, and what is among the mistakes of a log.
OTHERWISE = (Spring.kind, Thermal.kind, WarmUp.kind)
#: What is usual, and how it is called where a model lacks it.
USUAL: dict[Any, str] = {
    Viscous: "viscous friction",
    Coulomb: "Coulomb friction",
    Offset: "an offset of the torque",
    DriveInertia: "the inertia of the drive",
}


def lacking(
    model: Model, reading: Reading, motions: Sequence[Motion], prior: Prior, fitted: Array | None = None
) -> Iterator[Mistake]:
    """Yield joint terms that a model lacks besides those of a reading.

    prior: of the links: friction may grow with the load of those that are not neutral. Balancers balance the prior's
    links, or the `fitted` ones (n, 10) where all of the prior's are neutral: nobody knows where gravity pulls those.
    """
    robot, links = model.robot, prior.inertials if fitted is None or not all(prior.neutral) else fitted
    own = replace(model, terms=(*model.terms, *reading.terms))
    for kind, words in USUAL.items():
        without = tuple(j for j in robot.joint_names if f"{j}.{kind.kind.name}" not in own.names)
        if without:
            where = "all joints" if len(without) == robot.n else " and ".join(without)
            every = None if len(without) == robot.n else without
            yield _mistake(where, f"the model lacks {words}", (kind(joints=every),), PART)
    for found in candidates(own, motions, None if all(prior.neutral) else prior.inertials):
        if not found.reason and found.kind not in OTHERWISE:
            yield _mistake("all joints", f"the model lacks {found.kind.words}", found.terms, FRICTION)
    for joint in robot.joints:
        parts: list[tuple[str, Any]] = [("a spring", Spring((joint.name,)))]
        with suppress(ModelError):  # it slides, or gravity does not turn it
            parts += [("a balancer", x) for x in Balancer(joints=(joint.name,)).at_work((), robot, links)]
        for words, part in parts:
            if not set(names(part, robot)) & set(own.names):
                yield _mistake(joint.name, f"the model lacks {words} at it", (part,), PART)


def _mistake(where: str, what: str, terms: tuple[Term, ...], slight: float) -> Mistake:
    mend = f"add it: {below('model', *lines(terms))}"
    if any(isinstance(term, Spring) for term in terms):
        mend += "; if a balancer acts there, `balancer` with its geometry"
    return Mistake("term", where, what, mend, undone.lacking(terms), slight=slight)


#: What is lacking, after the joint.
SPRING = "the model lacks a spring at it"
#: A counterweight, and a spring that pulls on a crank, are a sine and a cosine of the position and little else.
BALANCED = "the model lacks what balances it: a counterweight, or a spring on a crank"


def elastic(model: Model) -> dict[str, tuple[Term, ...]]:
    """Return the terms that each joint may have which the model lacks, by `JOINT: what is lacking`.

    A spring, and a wave of one turn where a joint turns and gravity pulls it.
    """
    robot, found = model.robot, dict[str, tuple[Term, ...]]()
    for joint, heavy in zip(robot.joint_names, pulled(robot), strict=True):
        for what in (SPRING, BALANCED) if heavy and joint not in robot.slides else (SPRING,):
            terms = lacked(joint, what)
            if not {name for term in terms for name in names(term, robot)} & set(model.names):
                found[f"{joint}: {what}"] = terms
    return found


def lacked(joint: str, what: str) -> tuple[Term, ...]:
    """Return the terms that are lacking at a joint in these words."""
    return rippled([(joint, 1.0)]) if what == BALANCED else (Spring((joint,)),)
