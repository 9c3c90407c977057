"""Simscape Multibody: a MATLAB script with one structure a link for Inertia and solid blocks.

Source: mathworks.com, sm/ug/specify-custom-inertia: CenterOfMass, MomentsOfInertia [Ixx Iyy Izz], ProductsOfInertia
[Iyz Izx Ixy] about the centre of mass, axes parallel to the block's frame, products negated (tensor signs).
"""

from __future__ import annotations

from ident.export.identified import ARMATURE, DAMPING, FRICTION, Identified, Written
from ident.export.text import comment, matlab, number, numbers
from ident.robot.urdf_write import com_numbers

CONVENTIONS = (
    "Units: kg, m, kg m^2, rad. Frame: the link's own. Inertia block, type Custom: CenterOfMass in that frame;",
    "MomentsOfInertia [Ixx Iyy Izz] and ProductsOfInertia [Iyz Izx Ixy] about the CENTRE of mass, axes parallel to the",
    "frame, tensor signs (Iyz = -integral of y z dm). Joint blocks: DampingCoefficient is viscous friction, SI;",
    "driveInertia and coulomb have no parameter of a joint block: use an Inertia and a friction block on its shaft.",
)


def write_simscape(item: Identified) -> Written:
    """Return a MATLAB script that makes `link` and `joint` structure arrays, named by their fields `name`."""
    notes = item.left_out(ARMATURE, DAMPING, FRICTION)
    lines = [*comment((*item.head, *CONVENTIONS, *notes), "%"), "clear link joint"]
    for k, (name, body) in enumerate(zip(item.estimate.links, item.inertials, strict=True), 1):
        mass, com, (xx, xy, xz, yy, yz, zz) = com_numbers(body)
        lines += [
            f"link({k}).name = {matlab(name)};",
            f"link({k}).Mass = {number(mass)};",
            f"link({k}).CenterOfMass = [{numbers(com)}];",
            f"link({k}).MomentsOfInertia = [{numbers([xx, yy, zz])}];",
            f"link({k}).ProductsOfInertia = [{numbers([yz, xz, xy])}];",
        ]
    drive, viscous, coulomb = (item.values(kind) for kind in (ARMATURE, DAMPING, FRICTION))
    for k, name in enumerate(item.estimate.joints, 1):
        lines += [
            f"joint({k}).name = {matlab(name)};",
            f"joint({k}).DampingCoefficient = {number(viscous[k - 1])};",
            f"joint({k}).driveInertia = {number(drive[k - 1])};",
            f"joint({k}).coulomb = {number(coulomb[k - 1])};",
        ]
    return Written("\n".join(lines) + "\n", notes)
