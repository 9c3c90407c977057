"""Orocos KDL: a C++ header with one function that returns the tree.

Source: orocos_kdl API, RigidBodyInertia(m, oc, Ic): "the rotational inertia in the cog"; RotationalInertia(Ixx, Iyy,
Izz, Ixy, Ixz, Iyz); a Segment's inertia is given in its tip frame, a Joint's origin and axis in the parent's tip frame.
A tree numbers its joints in the order they are added, and depth first when it is copied (Tree::operator=, addTree), as
the position solver does: depth first, as written here, both are the same. Measured with 1.5.1.
"""

from __future__ import annotations

from ident.export.identified import ARMATURE, DAMPING, Identified, Written
from ident.export.text import comment, number, numbers, plain, quoted
from ident.robot.robot import Robot
from ident.robot.urdf_write import com_numbers

TARGET = "a KDL header"
CONVENTIONS = (
    "Units: SI, rad. Frame: the link's own (the segment's tip). RigidBodyInertia(mass, centre, RotationalInertia):",
    "tensor about the CENTRE of mass, link axes, order Ixx Iyy Izz Ixy Ixz Iyz, tensor signs (Ixy = -integral x y dm).",
    "Joint(name, origin, axis, type, scale, offset, inertia, damping): inertia = drive inertia, damping = viscous.",
    "TreeIdSolver_RNE, ChainIdSolver_RNE and ChainDynParam use the joint's inertia in full, damping not at all.",
)


def write_kdl(item: Identified) -> Written:
    """Return a C++ header with `inline KDL::Tree identified_tree()`; raises ModelError without a robot."""
    robot = item.geometry(TARGET)
    notes = item.left_out(ARMATURE, DAMPING)
    inertia, damping = item.values(ARMATURE), item.values(DAMPING)
    lines = [*comment((*item.head, *CONVENTIONS, *notes), "//"), "#pragma once", "#include <kdl/tree.hpp>", ""]
    order = _depth_first(robot)
    lines += [f"// the order of q: {plain(', '.join(robot.joints[i].name for i in order))}"]
    lines += [f"// gravity in the base frame: {numbers(robot.gravity)} m/s^2", "inline KDL::Tree identified_tree() {"]
    lines.append(f"  KDL::Tree tree({quoted(robot.base)});")
    for i in order:
        joint = robot.joints[i]
        mass, com, (xx, xy, xz, yy, yz, zz) = com_numbers(item.inertials[i])
        place = joint.placement
        point = place.position + place.rotation @ joint.point
        parent = robot.base if joint.parent < 0 else robot.links[joint.parent]
        kind = "RotAxis" if not joint.slides else "TransAxis"
        lines += [
            "  tree.addSegment(",
            f"      KDL::Segment({quoted(robot.links[i])},",
            f"                   KDL::Joint({quoted(joint.name)}, KDL::Vector({numbers(point, ', ')}),",
            f"                              KDL::Vector({numbers(place.rotation @ joint.axis, ', ')}),",
            f"                              KDL::Joint::{kind}, 1, 0, {number(inertia[i])}, {number(damping[i])}),",
            f"                   KDL::Frame(KDL::Rotation({numbers(place.rotation.ravel(), ', ')}),",
            f"                              KDL::Vector({numbers(place.position, ', ')})),",
            f"                   KDL::RigidBodyInertia({number(mass)}, KDL::Vector({numbers(com, ', ')}),",
            f"                       KDL::RotationalInertia({numbers([xx, yy, zz, xy, xz, yz], ', ')}))),",
            f"      {quoted(parent)});",
        ]
    lines += ["  return tree;", "}"]
    return Written("\n".join(lines) + "\n", notes)


def _depth_first(robot: Robot, parent: int = -1) -> list[int]:
    children = [i for i, joint in enumerate(robot.joints) if joint.parent == parent]
    return [k for i in children for k in (i, *_depth_first(robot, i))]
