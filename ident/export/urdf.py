"""Identified parameters as URDF: into the file that the robot came from, or as a new one."""

from __future__ import annotations

import math

import numpy as np

from ident.estimate.estimate import Estimate, require_same
from ident.export.existing import commented
from ident.export.identified import ARMATURE, DAMPING, FRICTION, Identified, Written
from ident.export.text import filled, placed_links, xml_comment
from ident.robot.robot import GRAVITY, Joint, Robot
from ident.robot.urdf import parse_document, parse_urdf, to_robot
from ident.robot.urdf_write import with_origins, without_outweighed, write_urdf
from ident.robot.xml import Urdf, exchanged, parse_xml
from ident.spatial.inertia import Pose, transformed

CONVENTIONS = (
    "Units: SI, rad. inertial: origin is the centre of mass in the link's frame, rpy 0; ixx ... izz about that centre,",
    "link axes, entries of the inertia tensor (ixy = -integral of x y dm). dynamics: damping = viscous friction,",
    "friction = Coulomb friction.",
)
_UNKNOWN = 1e9  # stands for a limit that is not known: URDF demands a number


def write_identified_urdf(item: Identified) -> Written:
    """Return the given URDF with the links, damping (viscous) and friction (Coulomb) exchanged, or a new one.

    In the given file nothing else changes, except for a comment before the root that says where the numbers come
    from; a joint for which the model has neither friction term keeps its <dynamics>. Without it the robot gets a new
    file, see `new_urdf`. Raises ModelError when neither is given, and what `write_urdf` raises.
    MuJoCo drops the mass of a URDF's root link when it reads it; the root's mass is not identified and not changed.
    """
    content, massless = _content(item)
    head, more = _about(item)
    notes = (*massless, *more)
    item.per_joint(ARMATURE)  # refused where negative, as for the other simulators
    about = (*head, *CONVENTIONS, *_frames(parse_document(content)), *notes)
    start, end, comment = commented(content, parse_xml(content), xml_comment(about))
    return exchanged(content, [(start, end, comment)]), notes


def _content(item: Identified) -> tuple[bytes, tuple[str, ...]]:
    """Return the file without its comment, and which links took the mass of what is fixed to them."""
    estimate, robot, given = item.estimate, item.robot, item.source
    damping, friction = item.per_joint(DAMPING), item.per_joint(FRICTION)
    dynamics = {joint: (damping.get(joint, 0.0), friction.get(joint, 0.0)) for joint in {**damping, **friction}}
    if given is not None:
        if robot is None:  # that of the document, with the joints held at zero that the estimate does not have
            urdf = parse_document(given.data, file=given.name)
            robot = to_robot(urdf, lock=_held(urdf, estimate))
            require_same(estimate, robot)
        source, massless = without_outweighed(given.data, robot, item.inertials)
        written = write_urdf(source, robot, item.inertials, dynamics)
        return with_origins(written, robot, item.estimate.corrected(robot)), massless
    robot = item.geometry("a URDF")
    source, moved = new_urdf(robot)
    same = parse_urdf(source, gravity=robot.gravity)  # depth first, which a robot of another origin need not be
    order = [robot.links.index(link) for link in same.links]
    inertials = np.array([transformed(item.inertials[i], moved[i]) for i in order])
    return write_urdf(source, same, inertials, dynamics), ()


def new_urdf(robot: Robot) -> tuple[bytes, tuple[Pose, ...]]:
    """Return a URDF without inertials, and for each link its frame seen from the frame that the URDF gives the link.

    In a URDF a joint's axis passes through its child link's origin. Where the robot's does not (standard DH), the
    link's frame is shifted, its axes kept. Fixed frames are kept; limits that are not known are written as 1e9.
    """
    placed = placed_links(robot, "on line")
    back = [link.shift.inverse() for link in placed]
    text = filled(
        "urdf.urdf.j2",
        robot=robot,
        gravity=" ".join(f"{g:.9g}" for g in robot.gravity),
        links=placed,
        seen=lambda pose, link: pose if link < 0 else back[link] @ pose,
        on_line=lambda link: link.joint.placement @ link.shift,
        kind_of=lambda joint: joint.kind if joint.slides or joint.limits.ends else "continuous",
        limits=_limits,
    )
    return text.encode(), tuple(back)


def _limits(joint: Joint, kind: str) -> str:
    known = joint.limits
    ends = {"effort": known.effort, "velocity": known.velocity}
    if kind != "continuous":
        ends = {"lower": known.lower, "upper": known.upper, **ends}
    shown = {k: v if math.isfinite(v) else math.copysign(_UNKNOWN, v) for k, v in ends.items()}
    return " ".join(f'{k}="{v!r}"' for k, v in shown.items())


def _about(item: Identified) -> tuple[tuple[str, ...], tuple[str, ...]]:
    robot = item.robot
    head, (*notes,) = item.about(DAMPING, FRICTION)
    if robot is not None:
        gravity = item.estimate.corrected(robot).gravity if item.source is not None else robot.gravity
        if not np.array_equal(gravity, GRAVITY):
            notes.append(f"A URDF does not state gravity: it is {gravity.tolist()} m/s^2 in the base frame.")
    elif item.source is not None and (held := _held(parse_document(item.source.data), item.estimate)):
        notes.append(f"Held at zero, as no robot file is given that says where: {', '.join(held)}.")
    return head, tuple(notes)


def _frames(urdf: Urdf) -> list[str]:
    """Return what is to be known of links without <inertial>, whose mass readers do not all take for 0."""
    names = [link.name for link in urdf.links.values() if link.inertial is None and link.name != urdf.root]
    told = f"Without inertial: {', '.join(names)}. PyBullet 3.2.7 takes 1 kg for each: give them one of mass 0 for it."
    return [told] if names else []


def _held(urdf: Urdf, estimate: Estimate) -> list[str]:
    """Return the document's joints that the estimate does not have."""
    return [j.name for j in urdf.joints.values() if j.kind != "fixed" and j.name not in estimate.joints]
