"""Featherstone's spatial_v2: a MATLAB script that makes the model structure.

Source: R. Featherstone, Spatial v2 (royfeatherstone.org/spatial/v2): model.NB, parent, jtype (Rz, Pz), Xtree, I,
gravity; mcI(m, c, Ic) with Ic about the centre of mass. Vector of spatial_v2_extended: m, h, Ixx Iyy Izz Iyz Ixz Ixy.
"""

from __future__ import annotations

import numpy as np

from ident.export.identified import Identified, Written, moved, on_axis
from ident.export.matching import z_along
from ident.export.text import comment, matlab, number, numbers, rows
from ident.robot.urdf_write import com_numbers
from ident.spatial.pose import Pose

TARGET = "a spatial_v2 script"
CONVENTIONS = (
    "Units: SI, rad. Frame of body i: origin on joint i's line, z along it; model.frame{i} is that frame's rotation",
    "seen from the link's own axes. mcI(mass, centre, tensor): tensor about the CENTRE of mass, tensor signs",
    "(Ixy = -integral of x y dm). model.a{i} (spatial_v2_extended): m, h (3), Ixx Iyy Izz Iyz Ixz Ixy about the body",
    "frame's ORIGIN.",
)
_EXTENDED = (0, 1, 2, 3, 4, 7, 9, 8, 6, 5)


def write_spatial_v2(item: Identified) -> Written:
    """Return a MATLAB script that makes `model` for ID, FDab, HandC ...; raises ModelError without a robot."""
    robot, placements, inertials = on_axis(item, TARGET)
    notes = item.left_out()
    turns = [Pose(z_along(joint.axis), np.zeros(3)) for joint in robot.joints]
    lines = [*comment((*item.head, *CONVENTIONS, *notes), "%"), "model = struct();", f"model.NB = {robot.n};"]
    lines.append(f"model.parent = [{' '.join(str(p + 1) for p in robot.parents)}];")
    lines.append(f"model.gravity = [{numbers(robot.gravity)}];")
    for i, (joint, place) in enumerate(zip(robot.joints, placements, strict=True)):
        before = Pose.identity() if joint.parent < 0 else turns[joint.parent].inverse()
        tree = before @ place @ turns[i]
        turned = moved(inertials[i], turns[i].inverse())
        mass, com, (xx, xy, xz, yy, yz, zz) = com_numbers(turned)
        about_com = rows([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        k = i + 1
        lines += [
            *comment([f"joint {k}: {joint.name}"], "%"),
            f"model.name{{{k}}} = {matlab(joint.name)};",
            f"model.jtype{{{k}}} = '{'Rz' if joint.kind == 'revolute' else 'Pz'}';",
            f"model.frame{{{k}}} = {rows(turns[i].rotation)};",
            # rot wants the coordinate transform from parent to child, the transpose of the child seen from the parent
            f"model.Xtree{{{k}}} = blkdiag({rows(tree.rotation.T)}, {rows(tree.rotation.T)}) * "
            f"xlt([{numbers(tree.position)}]);",
            f"model.I{{{k}}} = mcI({number(mass)}, [{numbers(com)}], {about_com});",
            f"model.a{{{k}}} = [{numbers(turned[list(_EXTENDED)], '; ')}];",
        ]
    return Written("\n".join(lines) + "\n", notes)
