"""MATLAB Robotics System Toolbox: a script that makes a rigidBodyTree, and a MAT file with the same numbers."""

from __future__ import annotations

import numpy as np

from ident.export.identified import Identified, Written
from ident.export.mat import mat_file
from ident.export.script import Script, links
from ident.robot.urdf_write import com_numbers

TARGET = "a rigidBodyTree"
CONVENTIONS = (
    "Units: SI, rad. Frame of a body: the link's axes, its origin on the joint's line (as in a URDF).",
    "Inertia = [Ixx Iyy Izz Iyz Ixz Ixy] about the body frame's ORIGIN (not the centre of mass), tensor signs",
    "(Ixy = -integral of x y dm). rigidBodyTree has no drive inertia and no joint friction.",
)


write_rigid_body_tree = Script("rigid_body_tree.m.j2", TARGET, frame="on line", conventions="\n".join(CONVENTIONS))


def write_rigid_body_tree_mat(item: Identified) -> Written:
    """Return a MAT file with what the script has, one row a body; raises ModelError without a robot."""
    robot, notes = item.geometry(TARGET), item.left_out()
    placed = links(item, robot, frame="on line")
    numbers_of = [com_numbers(link.body) for link in placed]
    return Written(
        mat_file({
            "about": "\n".join((*item.head, *CONVENTIONS, *notes)),
            "body": np.array(robot.links, dtype=object),
            "joint": np.array(robot.joint_names, dtype=object),
            "jointType": np.array([j.kind for j in robot.joints], dtype=object),
            "parent": np.array([link.parent for link in placed], dtype=object),
            "fixedTransform": np.stack([link.place.matrix for link in placed], axis=-1),
            "jointAxis": np.array([j.axis for j in robot.joints]),
            "Mass": np.array([[m] for m, _, _ in numbers_of]),
            "CenterOfMass": np.array([c for _, c, _ in numbers_of]),
            "Inertia": np.array([link.body for link in placed])[:, [4, 7, 9, 8, 6, 5]],
            "Gravity": np.array([robot.gravity]),
        }),
        notes,
    )  # fmt: skip
