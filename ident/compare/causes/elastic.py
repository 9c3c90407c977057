"""What a CAD table may ask for at a joint that the model lacks: a spring, or what balances gravity.

Links that are free make up for both about as well as for gravity, which a table does not.
"""

from __future__ import annotations

from ident.compare.causes.mistakes import pulled
from ident.model.model import Model
from ident.model.springs import Spring
from ident.model.term import Term, names
from ident.structure.waves import rippled

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
