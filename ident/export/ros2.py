"""ROS 2 parameter file (YAML) for a controller node.

Source: ROS 2 (docs.ros.org), parameter files: node name or /**, then ros__parameters, then nested names with scalars
or lists of one type. Names of the parameters are this project's own: ROS 2 defines none for link inertias.
"""

from __future__ import annotations

from ident.export.identified import ARMATURE, DAMPING, FRICTION, Identified, Written
from ident.export.text import comment, number, numbers, quoted
from ident.model import Offset, Spring

CONVENTIONS = (
    "Units: SI, rad; prismatic joints: N, m. inertia: Ixx Ixy Ixz Iyy Iyz Izz about the link frame's ORIGIN, link",
    "axes, tensor signs (Ixy = -integral of x y dm); first_moment = mass * centre of mass in the link frame.",
    "Torque = rigid body + drive_inertia * qdd + viscous * qd + coulomb * sign(qd) + offset + stiffness * (q - rest).",
)
_KINDS = (ARMATURE, DAMPING, FRICTION, Offset.kind, Spring.kind)


def write_ros2(item: Identified) -> Written:
    """Return a YAML file of parameters under /**; lists follow link_names and joint_names."""
    notes = item.left_out(*_KINDS)
    e = item.estimate
    lines = [*comment((*item.head, *CONVENTIONS, *notes), "#"), "/**:", "  ros__parameters:", "    identified:"]
    lines.append(f"      robot: {quoted(e.robot)}")
    if item.robot is not None:
        lines.append(f"      gravity: [{numbers(item.robot.gravity, ', ')}]")
    lines.append(f"      link_names: [{', '.join(quoted(x) for x in e.links)}]")
    lines.append(f"      joint_names: [{', '.join(quoted(x) for x in e.joints)}]")
    lines.append("      links:")
    for link, body in zip(e.links, item.inertials, strict=True):
        lines += [
            f"        {quoted(link)}:",
            f"          mass: {number(body[0])}",
            f"          first_moment: [{numbers(body[1:4], ', ')}]",
            f"          inertia: [{numbers(body[4:], ', ')}]",
        ]
    held = {kind.name: item.per_joint(kind) for kind in _KINDS}
    if any(held.values()):
        lines.append("      joints:")
        for joint in e.joints:
            own = {kind: values[joint] for kind, values in held.items() if joint in values}
            if own:
                lines += [f"        {quoted(joint)}:", *(f"          {k}: {number(v)}" for k, v in own.items())]
    return Written("\n".join(lines) + "\n", notes)
