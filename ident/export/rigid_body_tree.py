"""MATLAB Robotics System Toolbox: a script that makes a rigidBodyTree, and a MAT file with the same numbers.

Source: mathworks.com, rigidBody: Inertia = [Ixx Iyy Izz Iyz Ixz Ixy] "relative to the body frame" (its origin),
CenterOfMass in the body frame; rigidBodyJoint: JointAxis in the joint's frame, setFixedTransform.
"""

from __future__ import annotations

import numpy as np

from ident.export.identified import Identified, Written, on_axis
from ident.export.mat import mat_file
from ident.export.text import comment, matlab, number, numbers, rows
from ident.robot.urdf_write import com_numbers

TARGET = "a rigidBodyTree"
CONVENTIONS = (
    "Units: SI, rad. Frame of a body: the link's axes, its origin on the joint's line (as in a URDF).",
    "Inertia = [Ixx Iyy Izz Iyz Ixz Ixy] about the body frame's ORIGIN (not the centre of mass), tensor signs",
    "(Ixy = -integral of x y dm). rigidBodyTree has no drive inertia and no joint friction.",
)
_ORDER = (4, 7, 9, 8, 6, 5)


def write_rigid_body_tree(item: Identified) -> Written:
    """Return a MATLAB script that makes `robot`, a rigidBodyTree; raises ModelError without a robot."""
    robot, placements, inertials = on_axis(item, TARGET)
    notes = item.left_out()
    lines = [*comment((*item.head, *CONVENTIONS, *notes), "%"), "robot = rigidBodyTree('DataFormat', 'row');"]
    lines += [f"robot.BaseName = {matlab(robot.base)};", f"robot.Gravity = [{numbers(robot.gravity)}];"]
    for i, (joint, place) in enumerate(zip(robot.joints, placements, strict=True)):
        mass, com, _ = com_numbers(inertials[i])
        parent = robot.base if joint.parent < 0 else robot.links[joint.parent]
        lines += [
            "",
            f"body = rigidBody({matlab(robot.links[i])});",
            f"body.Joint = rigidBodyJoint({matlab(joint.name)}, '{joint.kind}');",
            f"setFixedTransform(body.Joint, {rows(place.matrix)});",
            f"body.Joint.JointAxis = [{numbers(joint.axis)}];",
            f"body.Mass = {number(mass)};",
            f"body.CenterOfMass = [{numbers(com)}];",
            f"body.Inertia = [{numbers(inertials[i][list(_ORDER)])}];",
            f"addBody(robot, body, {matlab(parent)});",
        ]
        limits = joint.limits
        if np.isfinite([limits.lower, limits.upper]).all():
            lines.insert(-1, f"body.Joint.PositionLimits = [{numbers([limits.lower, limits.upper])}];")
    return Written("\n".join(lines) + "\n", notes)


def write_rigid_body_tree_mat(item: Identified) -> Written:
    """Return a MAT file with what the script has, one row a body; raises ModelError without a robot."""
    robot, placements, inertials = on_axis(item, TARGET)
    notes = item.left_out()
    numbers_of = [com_numbers(body) for body in inertials]
    parents = [robot.base if p < 0 else robot.links[p] for p in robot.parents]
    return Written(
        mat_file({
            "about": "\n".join((*item.head, *CONVENTIONS, *notes)),
            "body": np.array(robot.links, dtype=object),
            "joint": np.array(robot.joint_names, dtype=object),
            "jointType": np.array([j.kind for j in robot.joints], dtype=object),
            "parent": np.array(parents, dtype=object),
            "fixedTransform": np.stack([p.matrix for p in placements], axis=-1),
            "jointAxis": np.array([j.axis for j in robot.joints]),
            "Mass": np.array([[m] for m, _, _ in numbers_of]),
            "CenterOfMass": np.array([c for _, c, _ in numbers_of]),
            "Inertia": inertials[:, list(_ORDER)],
            "Gravity": np.array([robot.gravity]),
        }),
        notes,
    )  # fmt: skip
