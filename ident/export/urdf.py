"""Identified parameters as URDF: into the file that the robot came from, or as a new one."""

from __future__ import annotations

import math
from xml.sax.saxutils import quoteattr

import numpy as np

from ident.arrays import Array
from ident.estimate.estimate import Estimate, require_same
from ident.export.identified import ARMATURE, DAMPING, FRICTION, Identified, Written
from ident.export.matching import commented
from ident.export.text import xml_comment
from ident.robot.robot import GRAVITY, Joint, Robot
from ident.robot.urdf import parse_document, parse_urdf, to_robot
from ident.robot.urdf_write import without_outweighed, write_urdf
from ident.robot.xml import exchanged, parse_xml
from ident.spatial.inertia import transformed
from ident.spatial.pose import Pose, axis_angle

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
    notes = (*massless, *_notes(item))
    item.per_joint(ARMATURE)  # refused where negative, as for the other simulators
    start, end, comment = commented(content, parse_xml(content), xml_comment((*item.head, *CONVENTIONS, *notes)))
    return Written(exchanged(content, [(start, end, comment)]), notes)


def _content(item: Identified) -> tuple[bytes, tuple[str, ...]]:
    """Return the file without its comment, and which links took the mass of what is fixed to them."""
    estimate, robot, given = item.estimate, item.robot, item.source
    dynamics = _dynamics(item)
    if given is not None:
        if robot is None:
            robot = _identified_in(given.data, given.name, estimate)
        source, massless = given.data, tuple[str, ...]()
        if item.fixed_massless:
            source, massless = without_outweighed(source, robot, item.inertials)
        return write_urdf(source, robot, item.inertials, dynamics), massless
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
    shifts = [Pose(np.eye(3), joint.point) for joint in robot.joints]  # URDF's frame seen from the robot's
    back = [s.inverse() for s in shifts]
    gravity = " ".join(f"{g:.9g}" for g in robot.gravity)
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f"<!-- Written by ident. Gravity acts along ({gravity}) m/s^2 in the root link's frame. -->",
        f"<robot name={quoteattr(robot.name)}>",
        f"  <link name={quoteattr(robot.base)}/>",
    ]
    for joint, link, shift in zip(robot.joints, robot.links, shifts, strict=True):
        parent = robot.base if joint.parent < 0 else robot.links[joint.parent]
        origin = joint.placement @ shift
        if joint.parent >= 0:
            origin = back[joint.parent] @ origin
        unlimited = math.isinf(joint.limits.lower) or math.isinf(joint.limits.upper)
        kind = "continuous" if not joint.slides and unlimited else joint.kind
        lines += [
            f"  <link name={quoteattr(link)}>",
            "  </link>",
            *_joint_lines(joint.name, kind, parent, link, origin),
            f'    <axis xyz="{_numbers(joint.axis)}"/>',
            _limit(joint, kind),
            "  </joint>",
        ]
    for body in robot.fixed:
        parent = robot.base if body.link < 0 else robot.links[body.link]
        origin = body.pose if body.link < 0 else back[body.link] @ body.pose
        lines += [
            f"  <link name={quoteattr(body.name)}/>",
            *_joint_lines(f"{body.name}_fixed", "fixed", parent, body.name, origin),
            "  </joint>",
        ]
    return ("\n".join([*lines, "</robot>"]) + "\n").encode(), tuple(back)


def _joint_lines(name: str, kind: str, parent: str, child: str, origin: Pose) -> list[str]:
    return [
        f'  <joint name={quoteattr(name)} type="{kind}">',
        f"    <parent link={quoteattr(parent)}/>",
        f"    <child link={quoteattr(child)}/>",
        f'    <origin xyz="{_numbers(origin.position)}" rpy="{_numbers(roll_pitch_yaw(origin.rotation))}"/>',
    ]


def _limit(joint: Joint, kind: str) -> str:
    known = joint.limits
    ends = {"effort": known.effort, "velocity": known.velocity}
    if kind != "continuous":
        ends = {"lower": known.lower, "upper": known.upper, **ends}
    shown = {k: v if math.isfinite(v) else math.copysign(_UNKNOWN, v) for k, v in ends.items()}
    return "    <limit " + " ".join(f'{k}="{v!r}"' for k, v in shown.items()) + "/>"


def _numbers(values: Array) -> str:
    return " ".join(repr(float(x) + 0.0) for x in values)  # + 0.0: no -0.0


def roll_pitch_yaw(rotation: Array) -> Array:
    """Return (roll, pitch, yaw) [rad] with Rz(yaw) Ry(pitch) Rx(roll) = rotation, to rounding everywhere.

    The yaw is taken out before the others are read, so that near pitch = 90 deg the three still belong together.
    """
    level = math.hypot(rotation[0, 0], rotation[1, 0])  # 0: any yaw will do
    yaw = math.atan2(rotation[1, 0], rotation[0, 0]) if level > 1e-14 else 0.0
    left = axis_angle([0, 0, 1], -yaw) @ rotation
    return np.array([math.atan2(-left[1, 2], left[1, 1]), math.atan2(-left[2, 0], left[0, 0]), yaw])


def _dynamics(item: Identified) -> dict[str, tuple[float, float] | None]:
    value = {name: x for name, x in item.terms.items() if name not in item.unknown}
    found: dict[str, tuple[float, float] | None] = {}
    for joint in item.estimate.joints:
        damping, friction = (value.get(f"{joint}.{kind.name}") for kind in (DAMPING, FRICTION))
        none = damping is None and friction is None
        found[joint] = None if none else (float(damping or 0.0), float(friction or 0.0))
    return found


def _notes(item: Identified) -> tuple[str, ...]:
    robot = item.robot
    written = {f"{joint}.{kind.name}" for joint in item.estimate.joints for kind in (DAMPING, FRICTION)}
    left = [name for name in item.terms if name not in written and name not in item.unknown]
    notes = []
    if left:
        notes.append(f"A URDF has no place for {', '.join(left)}: the controller has to add them.")
    if robot is not None and not np.array_equal(robot.gravity, GRAVITY):
        notes.append(f"A URDF does not state gravity: it is {robot.gravity.tolist()} m/s^2 in the base frame.")
    return tuple(notes)


def _identified_in(source: bytes, file: str, estimate: Estimate) -> Robot:
    """Return the robot of the document, with the joints held that the estimate does not have."""
    urdf = parse_document(source, file=file)
    held = [j.name for j in urdf.joints.values() if j.kind != "fixed" and j.name not in estimate.joints]
    robot = to_robot(urdf, lock=held)
    require_same(estimate, robot)
    return robot
