"""Mistakes of a CAD table in words."""

from __future__ import annotations

import numpy as np

from ident.arrays import Array
from ident.compare.doctor.hypotheses import (
    NO_GRAVITY,
    ExtraBody,
    Hypothesis,
    InLinks,
    Move,
    OtherView,
    Swapped,
    TorqueGain,
    Unexplained,
)
from ident.compare.doctor.search import Search
from ident.robot.robot import Robot
from ident.spatial.inertia import to_com

#: Where a mistake is that all links have.
WHOLE = "the whole table"
#: What is said of a log whose torques have no part of gravity.
WITHOUT = "torques are without gravity, as after a drive that takes it out"
_LEFT_OUT = "carries a body that CAD leaves out"
_TOO_MANY = "holds a body too many in CAD (a component counted twice, or one of a neighbour's?)"
_DENSITY = "masses and tensors are off by one factor, the centres are right (densities that nobody has set?)"
_PART_WORDS = {
    "mass": "mass is off, the other numbers are right (overridden?)",
    "density": "mass and tensor are off by one factor, the centre is right (another material, or mass overridden?)",
    "centre": "centre of mass is off, mass and tensor about it are right",
    "tensor": "tensor is off by about {:.0f} %, mass and centre are right",
}


def described(move: Move, robot: Robot, search: Search, best: Hypothesis) -> tuple[str, str]:
    """Return where a mistake is and what it is, in words."""
    match move:
        case InLinks(mistake, links):
            return _where(links, robot), str(mistake)
        case Swapped((a, b)):
            what = "the two have each other's numbers (report of the wrong link)"
            return f"{robot.links[a]} and {robot.links[b]}", what
        case Unexplained((i,), share, part) if part != "all":
            return robot.links[i], _PART_WORDS[part].format(100 * share) + _asked(search, best, move)
        case Unexplained((_, _, *_), _, "density", (factor,)):
            return WHOLE, f"{_DENSITY}: the logs ask for {factor:.3g} times as much"
        case Unexplained(links, share):
            off = f"numbers are off by about {100 * share:.0f} %"
            return _where(links, robot), f"{off}, and no mistake of the list explains it"
        case ExtraBody():
            less = search.without(best, move) if move in best.moves else best
            body, root = search.extra_body(less, move)
            said, body = (_LEFT_OUT, body) if move.mass > 0 else (_TOO_MANY, -body)
            return robot.links[move.link], f"{said}: {_body_words(body, root)}"
        case TorqueGain(joint, factor):
            other = "torque is recorded with the other sign" if factor < 0 else ""
            return robot.joint_names[joint], other or f"torque has to be multiplied by {factor:.3g}"
        case OtherView(name) if name == NO_GRAVITY:
            return "all joints", WITHOUT
        case OtherView(name, kind):
            if kind == "gravity":
                return "robot", f"gravity points along {name.removeprefix('gravity ')} of the base, not as described"
            where, of_joint, what = name.partition(": ")
            return (where, what) if of_joint else ("robot", f"geometry is {name}, not as described")


def _where(links: tuple[int, ...], robot: Robot) -> str:
    return WHOLE if len(links) > 1 else robot.links[links[0]]


#: A mass whose standard error is more than that share of it is hardly known.
_HARDLY = 0.5


def _body_words(body: Array, root: Array) -> str:
    """Return mass, centre and radii of gyration of a body in words, with what its errors leave of them."""
    mass, center, inertia = to_com(body)
    errors = np.linalg.norm(root, axis=1)
    told = f"mass {mass:.3g} kg (standard error {errors[0]:.2g})"
    if errors[0] > _HARDLY * mass:  # nor is the centre known then
        moments, off = (", ".join(f"{x:.{k}g}" for x in h[1:4]) for h, k in ((body, 3), (errors, 2)))
        return f"{told}, mass times centre ({moments}) kg m (standard errors {off})"
    c = ", ".join(f"{x:.3g}" for x in center)
    moments = np.maximum(np.linalg.eigvalsh(inertia), 0.0)
    principal = ", ".join(f"{x:.2g}" for x in moments)
    shift = ", ".join(f"{x:.2g}" for x in errors[1:4] / mass)
    return (
        f"{told}, centre ({c}) m (standard errors {shift}), "
        f"principal moments {principal} kg m^2 (standard error {errors[4:].max():.2g})"
    )


def _asked(search: Search, best: Hypothesis, move: Unexplained) -> str:
    """Return what the logs ask for in place of numbers that are off, in words."""
    if not move.asked:
        return ""
    (i,) = move.links
    body = search.space.inertials(best)[i]
    root = search.errors(best, i) if move in best.moves else np.zeros((10, 11))
    if move.part == "density":
        return f": the logs ask for {move.asked[0]:.3g} times as much"
    shown = ", ".join(f"{x:.4g}" for x in move.asked)
    if move.part == "mass":
        return f": the logs ask for {shown} kg" + (
            f" (standard error {np.linalg.norm(root[0]):.2g})" if root.any() else ""
        )
    errors = np.linalg.norm(root[1:4] - np.outer(body[1:4] / body[0], root[0]), axis=1) / body[0]
    said = ", ".join(f"{x:.2g}" for x in errors)
    return f": the logs ask for ({shown}) m" + (f" (standard errors {said})" if root.any() else "")
