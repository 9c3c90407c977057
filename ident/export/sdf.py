"""SDFormat: a new file from the robot, or the numbers put into an existing one (see `sdf_edit`).

Source: sdformat, sdf/1.7/inertial.sdf ("the origin of the inertial reference frame needs to be at the center of
gravity", a symmetric rotational inertia matrix by ixx ... izz) and joint.sdf (axis/dynamics damping, friction;
limit effort, velocity); pose relative_to.
"""

from __future__ import annotations

import math
from xml.sax.saxutils import escape, quoteattr

from ident.arrays import Array
from ident.errors import InfeasibleError
from ident.export.identified import DAMPING, FRICTION, Identified, Written, on_axis
from ident.export.sdf_edit import edited
from ident.export.text import number, numbers, xml_comment
from ident.export.urdf import roll_pitch_yaw
from ident.robot.robot import Joint
from ident.robot.urdf_write import com_numbers
from ident.spatial.pose import Pose

TARGET = "an SDF"
CONVENTIONS = (
    "Units: SI, rad. inertial: pose is the centre of mass in the link's frame; ixx ... izz about that centre, link",
    "axes, entries of the inertia tensor (ixy = -integral of x y dm). dynamics: damping = viscous, friction = Coulomb.",
    "The base's mass is not identified: readers give a link without <inertial> 1 kg.",
)


def write_sdf(item: Identified) -> Written:
    """Return SDF 1.7: the given SDF edited in place, or a new one.

    In a new file a link's frame has the link's axes and its origin on the joint's line; what was fixed to a link is a
    frame, its mass part of the link's. SDF has no drive inertia: a note says so. Raises ModelError without a robot.
    """
    notes = item.left_out(DAMPING, FRICTION)
    comment = xml_comment((*item.head, *CONVENTIONS, *notes))
    damping, friction = item.per_joint(DAMPING), item.per_joint(FRICTION)
    if item.source is not None:
        robot = item.geometry(TARGET)
        return Written(edited(item.source, robot, item.inertials, damping, friction, comment, inertial), notes)
    robot, placements, inertials = on_axis(item, TARGET)
    gravity = numbers(robot.gravity)
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', comment, '<sdf version="1.7">']
    lines += [f"  <!-- gravity in the root link's frame: {gravity} m/s^2; a model's file does not state it -->"]
    lines += [f"  <model name={quoteattr(robot.name)} canonical_link={quoteattr(robot.base)}>"]
    lines += [f"    <link name={quoteattr(robot.base)}/>"]
    for i, (joint, place) in enumerate(zip(robot.joints, placements, strict=True)):
        parent = robot.base if joint.parent < 0 else robot.links[joint.parent]
        lines += [
            f"    <link name={quoteattr(robot.links[i])}>",
            f"      <pose relative_to={quoteattr(joint.name)}>0 0 0 0 0 0</pose>",
            f"      {inertial(inertials[i])}",
            "    </link>",
            f"    <joint name={quoteattr(joint.name)} type={quoteattr(joint.kind)}>",
            f"      <pose relative_to={quoteattr(parent)}>{pose_text(place)}</pose>",
            f"      <parent>{escape(parent)}</parent>",
            f"      <child>{escape(robot.links[i])}</child>",
            "      <axis>",
            f"        <xyz>{numbers(joint.axis)}</xyz>",
            _limit(joint),
            *_dynamics(damping.get(joint.name), friction.get(joint.name)),
            "      </axis>",
            "    </joint>",
        ]
    for body in robot.fixed:
        to = robot.base if body.link < 0 else robot.links[body.link]
        point = robot.joints[body.link].point if body.link >= 0 else 0.0
        place = Pose(body.pose.rotation, body.pose.position - point)
        lines += [
            f"    <frame name={quoteattr(body.name)} attached_to={quoteattr(to)}>",
            f"      <pose relative_to={quoteattr(to)}>{pose_text(place)}</pose>",
            "    </frame>",
        ]
    return Written("\n".join([*lines, "  </model>", "</sdf>"]) + "\n", notes)


def inertial(body: Array) -> str:
    """Return <inertial> of a body (10,), on one line."""
    mass, com, tensor = com_numbers(body)
    if mass <= 0:
        raise InfeasibleError("a link has no mass, and SDF knows no such link. Choose another target, such as urdf.")
    names = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
    entries = "".join(f"<{k}>{number(v)}</{k}>" for k, v in zip(names, tensor, strict=True))
    return (
        f"<inertial><pose>{numbers(com)} 0 0 0</pose><mass>{number(mass)}</mass><inertia>{entries}</inertia></inertial>"
    )


def pose_text(pose: Pose) -> str:
    """Return x y z roll pitch yaw."""
    return f"{numbers(pose.position)} {numbers(roll_pitch_yaw(pose.rotation))}"


def _limit(joint: Joint) -> str:
    limits = joint.limits
    values = {"lower": limits.lower, "upper": limits.upper, "effort": limits.effort, "velocity": limits.velocity}
    if not math.isfinite(limits.lower) or not math.isfinite(limits.upper):
        values |= {"lower": -1e16, "upper": 1e16}
    inside = "".join(f"<{k}>{number(v)}</{k}>" for k, v in values.items() if math.isfinite(v))
    return f"        <limit>{inside}</limit>"


def _dynamics(damping: float | None, friction: float | None) -> list[str]:
    values = {"damping": damping, "friction": friction}
    inside = "".join(f"<{k}>{number(v)}</{k}>" for k, v in values.items() if v is not None)
    return [f"        <dynamics>{inside}</dynamics>"] if inside else []
